// SPDX-License-Identifier: Apache-2.0
// page_tour.mjs FOLDER FROZEN [CHANGE]: everything that the pages of test_page.py show and draw while somebody clicks through them:
// each tab and what it unfolds, each key, the pointer all over the timeline. It has to stay as it was frozen: a line of FROZEN is a
// part of a tour and the sum of what was seen on it. PAGE_SHOW=FOLDER writes what was seen, for diff; PAGE_FREEZE=1 takes it
// for what has to be seen from now on. CHANGE: see page.mjs.
import {createHash} from "node:crypto";
import {readFileSync, writeFileSync} from "node:fs";
import {openPage} from "./page_dom.mjs";

const [, , folder, frozen, changes] = process.argv;
const change = text => changes ? JSON.parse(readFileSync(changes, "utf8")).reduce((all, [before, after]) => all.replace(`\n${before}\n`, () => `\n${after}\n`), text) : text;
/* Less what another day, machine or version would change. */
const settled = text => text.replaceAll(folder, "FOLDER").replace(/\d\.\d{3,}(?:e-?\d+)?/g, number => String(Math.round(1000 * number) / 1000)).replace(/\b1[67]\d{17}\b/g, "TIME")
  .replace(/(rbwp|version) \d+\.\d+\.\d+/g, "$1 VERSION");

/* An element, what it says and has, and those in it; of a canvas what is drawn on it. Scripts, and what is packed into the page, nobody sees. */
function written(node, depth = 0) {
  if (typeof node === "string") return node.trim() ? `${" ".repeat(depth)}"${node}"\n` : "";
  if (["script", "style"].includes(node.name)) return "";
  const {name, id, className, title, hidden, value, type, tabIndex, checked, shown, colSpan, style, attributes, context} = node;
  const has = Object.entries({id, className, title, hidden, value, type, tabIndex, checked, shown, colSpan, ...attributes, ...style})
    .filter(([, value]) => value && typeof value !== "function").map(([key, value]) => `${key}=${value}`);
  const drawn = context ? context.calls.map(({name, given, fill, alpha, align, stroke}) => `${" ".repeat(depth + 1)}${[name, ...given, fill, alpha, align, stroke].join(" ")}\n`) : [];
  return `${" ".repeat(depth)}${[name, ...has].join(" ")}\n${drawn.join("")}${node.nodes.map(one => written(one, depth + 1)).join("")}`;
}

class Tour {
  seen = "";
  constructor(name) {
    this.page = openPage(`${folder}/${name}.html`, change);
    this.byId = id => this.page.document.getElementById(id);
    this.has = name => this.page.run(`typeof ${name} !== "undefined"`);
    this.note("opened");
  }
  /* Does something, and notes what is new since the last time, of what it may have changed. */
  note(what, act = () => {}, ids = ["body"]) {
    const prevented = act();
    this.page.idle(300);
    const place = this.page.place, state = this.has("view") ? this.page.run("JSON.stringify([view.from, view.to, view.top, view.mode, view.only, view.range, document.title, document.documentElement.dataset.theme])") : "";
    this.seen += `== ${what} ${prevented} ${place} ${state}\n` + ids.map(id => id === "body" ? this.page.document.body : this.byId(id)).filter(one => one).map(one => written(one)).join("");
  }
}

/* What is looked at while the timeline is moved; pages without one have none of these. */
const SEEN = ["rows", "range", "found", "selected", "sums", "tip"];

const PARTS = {
  tabs(tour) {
    const buttons = tour.byId("tabs") ? tour.byId("tabs").querySelectorAll("button") : [];
    buttons.forEach((button, i) => {
      const tables = tour.byId("tables");
      tour.note(`tab ${button.textContent}`, () => button.click(), ["tabs", "tables"]);
      for (const body of tables.querySelectorAll("tbody")) for (const row of body.children.slice(0, 1)) tour.note("a row", () => row.click(), ["tables"]);
      for (const head of tables.querySelectorAll("th").slice(0, 2)) tour.note("a head", () => head.fire("keydown", {key: "Enter"}), ["tables"]);
      for (const link of [...tables.querySelectorAll("a").slice(-2), ...tables.querySelectorAll("button").slice(0, 2)])
        tour.note("a way", () => link.fire(i % 2 ? "click" : "keydown", {key: "Enter"}) || link.click(), [...SEEN, "tables"]);
      tour.note("an arrow", () => button.fire("keydown", {key: i % 2 ? "ArrowLeft" : "ArrowRight"}), ["tabs"]);
    });
  },
  unfold(tour) {
    for (const row of tour.byId("rows").querySelector("tbody").children.slice(0, 3)) tour.note("a row", () => row.click(), ["rows"]);
  },
  keys(tour) {
    const {page} = tour;
    page.run("typeof fit === 'function' && (clear(), fit())");
    for (const key of [..."wwd+", "ArrowDown", "ArrowLeft", ..."nN[]gkfrxc?t/", "Escape", ..."x0rq"]) tour.note(`key ${key}`, () => page.key(key), SEEN);
    for (const text of ["o", "nothing of that name", ""]) {
      tour.note(`search ${text}`, () => (tour.byId("search").value = text, tour.byId("search").fire("input")));
      for (const [key, shiftKey] of [["Enter", false], ["Enter", true]]) tour.note(`then ${key}`, () => tour.byId("search").fire("keydown", {key, shiftKey}), SEEN);
    }
    tour.note("all", () => tour.byId("all") && (tour.byId("all").checked = true, tour.byId("all").fire("change")));
  },
  pointer(tour) {
    if (!tour.has("view")) return;
    const {page} = tour, rows = tour.byId("rows"), fire = (id, kind, more, ids) => tour.note(`${kind} ${JSON.stringify(more)}`, () => tour.byId(id).fire(kind,
      {button: 0, pointerId: 1, shiftKey: false, ctrlKey: false, metaKey: false, deltaX: 0, deltaY: 0, deltaMode: 0, clientX: 0, clientY: 0, ...more}), ids);
    for (const zoom of [1, 400]) {
      page.run(`clear(); fit(); ${zoom} > 1 && show(runFrom + runLength * .36, runFrom + runLength * (.36 + 1 / ${zoom})); view.top = 0`);
      tour.note(`zoom ${zoom}`);
      for (let y = 4; y < Math.min(300, page.run("view.height")); y += 30) for (const x of [150, 230, 700]) fire("rows", "pointermove", {clientX: x, clientY: y}, ["tip"]);
      for (const [x, y] of [[500, 40], [700, 66], [100, 90]]) {
        fire("rows", "pointerdown", {clientX: x, clientY: y}, ["tip"]);
        fire("rows", "pointerup", {clientX: x + 1, clientY: y}, SEEN);
      }
      fire("rows", "dblclick", {clientX: 600}, SEEN);
      page.run("select(null)");
      for (const [from, to, more] of [[[500, 200], [560, 150], {}], [[700, 80], [640, 60], {shiftKey: true}], [[300, 8], [420, 9], {}], [[300, 8], [301, 8], {}]])
        ["pointerdown", "pointermove", "pointerup"].forEach((kind, i) => fire("rows", kind, {clientX: (i ? to : from)[0], clientY: (i ? to : from)[1], ...more}, SEEN));
      for (const more of [{deltaY: 50}, {deltaY: 50, ctrlKey: true}, {deltaX: 40, deltaY: 3}, {deltaY: -2, deltaMode: 1, shiftKey: true}, {deltaY: -1e5}, {deltaY: -10}])
        fire("rows", "wheel", {clientX: 400, ...more}, SEEN);
      for (const [kind, x] of [["pointermove", 400], ["pointerdown", 400], ["pointermove", 401], ["pointerup", 402], ["pointerdown", 400], ["pointermove", 600], ["pointerup", 600]]) fire("overview", kind, {clientX: x}, [...SEEN, "overview"]);
      for (const entry of tour.byId("legend").querySelectorAll("span").slice(0, 2)) tour.note("legend", () => entry.click(), [...SEEN, "results", "legend"]);
    }
    page.run("clear()");
    for (const value of ["stats", "findings", "timeline", "spans", "report"]) tour.note(value, () => (tour.byId("command-kind").value = value, tour.byId("command-kind").fire("change")), ["command"]);
    for (const link of tour.byId("findings").querySelectorAll("a, button")) tour.note("a finding", () => link.click());
    for (const place of ["#from=+0.0001s&to=+0.0002s&range=+0.00011s,+0.00012s&search=o&tab=Workers", "#tab=About&only=nobody&span=0,0,0,+0s", "#x&from=%&to=+9s&span=99,0,0,0s", "#range=+2s,+1s", ""])
      tour.note(`place ${place}`, () => (page.location.hash = place, page.fire("hashchange")));
    for (const width of [600, 240, 1204]) tour.note(`width ${width}`, () => page.resize(width), [...SEEN, "node-map"]);
    for (const [x, y] of [[10, 5], [600, 100], [1200, 214]]) for (const kind of ["mousemove", "click"]) fire("node-map", kind, {clientX: x, clientY: y}, ["nodes", "range"]);
    tour.note("order", () => tour.byId("node-order").click(), ["nodes"]);
  },
};

const wanted = new Set(readFileSync(frozen, "utf8").split("\n"));
const PAGES = {busy0: "tabs keys pointer", queued: "tabs keys pointer", counted: "tabs keys pointer", many_lanes: "tabs pointer", probes: "tabs keys", gpu_work: "tabs pointer", killed: "tabs",
  gaps: "tabs", dump: "tabs", job: "tabs pointer", merged: "tabs", diff: "keys unfold"};
const found = [];
for (const [name, parts] of Object.entries(PAGES)) {
  const tour = new Tour(name);
  for (const part of parts.split(" ")) {
    PARTS[part](tour);
    const seen = settled(tour.seen);
    if (process.env.PAGE_SHOW) writeFileSync(`${process.env.PAGE_SHOW}/${name}.${part}`, seen);
    found.push(`${name}.${part} ${createHash("sha256").update(seen).digest("hex").slice(0, 16)}`);
    tour.seen = "";
    if (changes && !wanted.has(found.at(-1))) process.exit(1); /* noticed */
  }
}
if (process.env.PAGE_FREEZE) writeFileSync(frozen, `${found.join("\n")}\n`);
const changed = process.env.PAGE_FREEZE ? [] : found.filter(line => !wanted.has(line)).map(line => line.split(" ")[0]);
if (changed.length) {
  console.log(`what the pages show has changed: ${changed.join(", ")} (PAGE_SHOW, PAGE_FREEZE: see page_tour.mjs)`);
  process.exit(1);
}
console.log("tours: all passed");
