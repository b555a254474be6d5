// SPDX-License-Identifier: Apache-2.0
// page.mjs FOLDER [CHANGE]: the checks of test_page.py, which made the folder. CHANGE: a file of JSON, [[old line, new line] ...], by
// which the pages are changed before they run (tests/long/mutants_scripts).
import {readFileSync} from "node:fs";
import assert from "node:assert/strict";
import {openPage} from "./page_dom.mjs";

const [, , folder, changes] = process.argv;
const read = name => readFileSync(`${folder}/${name}`, "utf8"), json = name => JSON.parse(read(name));
const change = text => changes ? JSON.parse(readFileSync(changes, "utf8")).reduce((all, [before, after]) => all.replace(`\n${before}\n`, () => `\n${after}\n`), text) : text;
const open = name => {
  const page = openPage(`${folder}/${name}.html`, change);
  page.idle();
  page.byId = id => page.document.getElementById(id);
  page.drawnOn = id => page.byId(id).getContext().calls;
  page.drawnRects = (id, fits = () => true) => page.drawnOn(id).filter(call => call.name === "fillRect" && fits(call)).map(({given: [left, top, width, height], fill, alpha}) => ({left, top, width, height, fill, alpha}));
  page.openTable = title => {
    page.byId("tabs").querySelectorAll("button").find(button => button.textContent === title).click();
    return page.byId("tables");
  };
  page.tableTexts = parent => parent.querySelectorAll("tbody tr").map(row => row.cells.map(cell => cell.textContent));
  return page;
};
const near = (is, wanted, within, what) => assert.ok(Math.abs(is - wanted) <= within, `${what}: ${is}, not ${wanted} within ${within}`);
const plain = value => JSON.parse(JSON.stringify(value));

/* ---- numbers as text, by themselves ---------------------------------------------------------------- */

function texts(page) {
  const told = source => plain(page.run(source));
  assert.deepEqual(told("[exact(1234567), exact(999), exact(-1000), exact('1000')]"), ["1,234,567", "999", "-1,000", "1,000"]);
  assert.deepEqual(told("[0, 999, 999.4, 1000, 9994, 9995, 99949, 99950, 999499, 999500, 1e6, 999.5e6, 12.34e9, 2e13, -1500].map(duration)"),
    ["0 ns", "999 ns", "999 ns", "1.00 \u00b5s", "9.99 \u00b5s", "10.0 \u00b5s", "99.9 \u00b5s", "100 \u00b5s", "999 \u00b5s", "1.00 ms", "1.00 ms", "1.00 s", "12.3 s", "20,000 s", "-1.50 \u00b5s"]);
  assert.deepEqual(told("[0, .0009, .001, .5, 1, NaN, Infinity].map(percent)"), ["0.0 %", "<0.1 %", "0.1 %", "50.0 %", "100.0 %", "\u2013", "\u2013"]);
  assert.deepEqual(told("[bucketStart(0), bucketStart(4), bucketStart(40)]"), [1, 2, 1024]);
  assert.deepEqual(told("histogramAxis([{h: [3, 1, 1]}, {h: [7, 1, 0, 2]}, {h: [9]}, {h: null}], 'h')"), {first: 3, last: 10});
  assert.deepEqual(told("histogramAxis([{h: [9]}], 'h')"), {first: 0, last: 1});
}

/* Bars of a histogram: as high as counts, none for nothing, on the axis of all rows. */
function histograms(page) {
  page.run("globalThis.at = document.createElement('div'); sparkline(at, [4, 10, 0, 5], 'red', {first: 4, last: 10})");
  const bars = page.run("at").querySelectorAll("rect").filter(bar => bar.attributes.fill === "red").map(({attributes: a}) => [a.x, a.y, a.height, a.width].map(Number));
  assert.deepEqual(bars, [[0, 1, 19, 19.7], [40, 10.5, 9.5, 19.7]]);
}

/* Sorted by a click on a head, down at first where it is a number; rows beyond the limit behind a button. */
function tables(page) {
  page.run(`globalThis.at = document.createElement('div');
    table(at, [{key: "name", title: "Name", left: true, value: row => row.name}, {key: "n", title: "N", value: row => row.n}], Array.from({length: 60}, (_, n) => ({name: "r" + n, n})), "n")`);
  const box = page.run("at"), column = i => page.tableTexts(box).map(cells => cells[i]).filter(text => text !== undefined), heads = () => box.querySelectorAll("th").map(head => head.textContent);
  assert.deepEqual([column(0).slice(0, 2), column(1).length, heads(), page.tableTexts(box).at(-1)], [["r59", "r58"], 50, ["Name", "N \u2193"], ["10 more"]]);
  box.querySelectorAll("th")[1].click();
  assert.deepEqual([column(1)[0], heads()], ["0", ["Name", "N \u2191"]]);
  box.querySelectorAll("th")[0].click();
  assert.deepEqual([column(0).slice(0, 3), heads()], [["r0", "r1", "r2"], ["Name \u2191", "N"]]);
  box.querySelectorAll("th")[0].click();
  assert.deepEqual(column(0).slice(0, 2), ["r59", "r58"]);
  box.querySelectorAll("th")[0].click();
  box.querySelectorAll("a")[0].click();
  assert.deepEqual([column(0).length, column(0).at(-1)], [60, "r59"]);
}

/* A column of rbwp stats that the page has no place of its own for is shown behind those that have one. */
function addedColumns() {
  const page = open("busy"), [kind] = page.run("calls"), [track] = page.run("workers"), [call] = page.run("data.longest");
  page.run('data.columns.kinds.push(["outer.deep", "deep", "duration"]); data.columns.tracks.push(["waiting", "waited", "share"]); data.columns.calls.push(["tries", "tries", "number"])');
  assert.ok(!page.openTable("Work items").textContent.includes("Deep")); /* no row has it */
  kind.outer = {deep: 12345};
  track.waiting = .25;
  call.tries = 98765;
  for (const [tab, title, text] of [["Work items", "Deep", "12.3 \u00b5s"], ["Workers", "Waited", "25.0 %"], ["Longest calls", "Tries", "98,765"]]) {
    const shown = page.openTable(tab).textContent;
    assert.ok(shown.includes(title) && shown.includes(text), shown);
  }
}

/* ---- a page of several nodes ---------------------------------------------------------------------------- */

function severalNodes() {
  const page = open("job"), stats = json("job.json"), nodes = plain(page.run("data.nodes.map(({process, workers, busy, shares}) => ({name: process, workers, busy: Number(busy), shares}))"));
  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", extent = Number(stats.extent);
  assert.equal(nodes.length, 12);
  assert.equal(page.byId("nodes").hidden, false);
  assert.equal(nodes.reduce((sum, node) => sum + node.busy, 0), Number(stats.worker_busy));
  const share = node => node.busy / (extent * node.workers), mean = nodes.reduce((sum, node) => sum + share(node), 0) / 12, best = nodes.reduce((a, b) => share(b) > share(a) ? b : a);
  const percent = part => `${(100 * part).toFixed(1)} %`;
  assert.equal(page.byId("node-figures").textContent, `12 nodes, busy for ${percent(mean)} on average; ${best.name} for ${percent(share(best))}, ${(share(best) / mean).toFixed(2)} times as much`);
  /* A row a node, each cell as dark as its share. */
  const columns = nodes[0].shares.length, check = order => {
    const wanted = order.flatMap((node, line) => [...node.shares].map((letter, column) => ({line, column, alpha: LETTERS.indexOf(letter) / 63})).filter(cell => cell.alpha > 0));
    const rects = page.drawnRects("node-map");
    assert.equal(rects.length, wanted.length);
    wanted.forEach(({line, column, alpha}, i) => {
      near(rects[i].alpha, alpha, 1e-9, "alpha");
      assert.deepEqual([rects[i].top, rects[i].height, rects[i].left, rects[i].left + rects[i].width],
        [18 * line, 17, Math.round(column * 1204 / columns), Math.round((column + 1) * 1204 / columns)]);
    });
  };
  assert.equal(page.byId("node-map").style.height, "216px");
  check(nodes);
  page.byId("node-order").click();
  assert.equal(page.byId("node-order").textContent, "By number");
  const at = (line, column) => ({clientX: (column + .5) * 1204 / columns, clientY: 18 * line + 9});
  page.byId("node-map").getContext().calls.length = 0; /* a canvas that is given its size is empty */
  page.run("drawNodes()");
  check(nodes.slice().sort((a, b) => share(b) - share(a)));
  page.byId("node-map").fire("mousemove", at(0, 3));
  assert.ok(page.byId("node-text").textContent.startsWith(`${best.name}: ${percent(LETTERS.indexOf(best.shares[3]) / 63).replace("0.0 %", "0.0 %")} of the workers at +`), page.byId("node-text").textContent);
  page.byId("node-map").fire("mousemove", {clientX: -5, clientY: 3});
  assert.ok(page.byId("node-text").textContent.startsWith(best.name));
  page.byId("node-map").fire("click", at(2, columns - 2));
  page.idle();
  const [from, to] = plain(page.run("whole")), width = (to - from) / columns, view = plain(page.run("({from: view.from, to: view.to})"));
  near(view.to - view.from, 3 * width, width * .01, "three columns");
  assert.ok(view.from < from + (columns - 2) * width && view.to > from + (columns - 1) * width);
  /* More nodes than lines: each node is in one line, and a line's nodes are about as many as any other's. */
  page.run("nodesShown = Array.from({length: 1000}, (_, i) => ({i, shares: [63]}))");
  const places = plain(page.run("Array.from({length: nodeLines()}, (_, line) => nodesOf(line, nodeLines()).map(node => node.i))"));
  assert.deepEqual([places.length, page.run("nodeHeight()"), places.flat()], [460, 1, Array.from({length: 1000}, (_, i) => i)]);
  assert.ok(places.every(line => line.length >= 2 && line.length <= 3));
  const told = page.tableTexts(page.openTable("Nodes")).map(cells => cells.slice(1, 3));
  assert.deepEqual(told.map(String).sort(), nodes.map(node => String([node.name, node.workers])).sort());
}

/* ---- what workers did, by what lay in what -------------------------------------------------------------- */

function flame(page) {
  const totals = new Map();
  for (const line of read("busy.folded").trim().split("\n").filter(line => line.split(";")[1].startsWith("thread"))) {
    const [path, ns] = [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))], names = path.split(";").slice(2);
    names.forEach((_, i) => totals.set(names.slice(0, i + 1).join(";"), (totals.get(names.slice(0, i + 1).join(";")) || 0) + ns));
  }
  const stacks = page.run("stacks"), path = node => node.parent && node.parent.parent ? `${path(node.parent)};${node.name}` : node.name;
  const told = new Map([...stacks].slice(1).filter(node => totals.has(path(node))).map(node => [path(node), node.total]));
  assert.deepEqual([...told].sort(), [...totals].sort());
  const box = page.openTable("Flame").querySelectorAll("button").filter(bar => bar.classList.contains("flame"));
  const whole = stacks[0].total, bar = text => box.find(bar => bar.textContent === text);
  for (const [name, total] of totals) if (!name.includes(";")) {
    near(parseFloat(bar(name).style.width), 100 * total / whole, 1e-6, name);
    assert.equal(bar(name).style.top, "21px");
    assert.ok(bar(name).title.startsWith(`${name}: `) && bar(name).title.includes(" of what workers did, "), bar(name).title);
  }
  /* Beside each other without a gap, the longest first; what is inside lies below. */
  const first = box.filter(bar => bar.style.top === "21px").map(bar => [parseFloat(bar.style.left), parseFloat(bar.style.width)]);
  first.reduce((left, [at, width]) => (near(at, left, 1e-6, "left"), left + width), 0);
  assert.deepEqual(first.map(([, width]) => width), first.map(([, width]) => width).sort((a, b) => b - a));
  assert.ok(box.some(bar => bar.style.top === "42px") && box[0].textContent === "all workers" && box[0].style.width === "100%");
  bar("disk writer").click();
  const inside = page.byId("tables").querySelectorAll("button").filter(bar => bar.classList.contains("flame"));
  assert.deepEqual(inside.slice(0, 2).map(bar => [bar.textContent, bar.className, bar.style.width, bar.style.top]), [["all workers", "flame above", "100%", "0px"], ["disk writer", "flame", "100%", "21px"]]);
  near(parseFloat(inside[2].style.width), 100 * totals.get(`disk writer;${inside[2].textContent}`) / totals.get("disk writer"), 1e-6, "inside");
}

/* The stacks of slow calls are drawn in the same way: what was called, below it the frames from the outermost on. */
function slowStacks(page) {
  const bars = () => page.openTable("Stacks of slow calls").querySelectorAll("button").filter(bar => bar.classList.contains("flame"));
  assert.deepEqual(bars().map(bar => [bar.textContent, bar.style.top]), [["slow calls", "0px"], ["serve", "21px"], ["libx.so+0x510", "42px"], ["libx.so+0x520", "42px"],
    ["mutex", "21px"], ["libx.so+0x510", "42px"]]);
  near(parseFloat(bars()[1].style.width), 100 * 1100 / 1900, 1e-6, "serve");
  assert.equal(bars()[4].title, "mutex: 800 ms, 42.1 % of the time of slow calls, 1 times");
}

/* ---- the timeline ------------------------------------------------------------------------------------------ */

function timeline(page) {
  const spans = JSON.parse(read("busy.json").replace(/"begin":(\d+)/g, '"begin":"$1"')).filter(span => span.kind === "coarse" && span.begin !== null);
  const origin = BigInt(page.run("data.origin_ns")), runFrom = page.run("runFrom"), runLength = page.run("runLength");
  const told = page.run("lines").filter(line => line.row && line.row.depth === 0 && page.run("data.tracks")[line.row.track].kind === "thread");
  const threads = [...new Set(spans.map(span => span.thread_id))].sort((a, b) => a - b);
  assert.equal(told.length, threads.length);
  const start = span => Number(BigInt(span.begin) - origin) , colours = new Set(page.run("kindColours"));
  /* A stretch with few spans: each is a bar of its colour from its begin to its end. */
  const thread = span => threads.indexOf(span.thread_id), middle = start(spans[Math.floor(spans.length / 2)]);
  page.run(`show(${middle}, ${middle + 100000})`);
  page.idle();
  const {from, to} = plain(page.run("({from: view.from, to: view.to})")), x = time => 204 + (time - from) * 1000 / (to - from);
  assert.equal(page.run("view.mode"), "single spans");
  near(to - from, 100000, 1, "what is shown");
  told.forEach((line, i) => {
    const wanted = spans.filter(span => thread(span) === i && start(span) + span.duration >= from && start(span) <= to).sort((a, b) => start(a) - start(b));
    const rects = page.drawnRects("rows", rect => colours.has(rect.fill) && rect.given[1] === 26 + line.y - page.run("view.top") && rect.given[3] === line.height);
    assert.ok(wanted.length > 5 && rects.length === wanted.length, `${rects.length} bars, ${wanted.length} spans`);
    wanted.forEach((span, n) => {
      near(rects[n].left, Math.max(204, x(start(span))), .01, "left");
      near(rects[n].left + rects[n].width, Math.min(1204, x(start(span) + span.duration)), 1.01, "right");
      assert.equal(rects[n].fill, page.run(`colourOf(${JSON.stringify(span.name)})`));
    });
  });
  /* What is under the pointer, and what the keys do. */
  const some = spans.find(span => thread(span) === 0 && start(span) > from + 20000), row = told[0].row, under = page.run("spanAt")(row, start(some) + 1);
  assert.deepEqual([under.start, under.stop - under.start], [start(some), some.duration]);
  const shown = () => plain(page.run("[view.from, view.to]")), pressed = (key, more) => (page.key(key, more), page.idle(), shown());
  const moved = pressed("d");
  near(moved[0] - from, .2 * (to - from), 1, "a step to the right");
  near(pressed("a")[0], from, 1, "and back");
  const closer = pressed("w");
  near(closer[1] - closer[0], (to - from) / 1.5, 1, "closer");
  near((closer[0] + closer[1]) / 2, (from + to) / 2, 1, "with the same middle");
  pressed("s");
  assert.deepEqual(pressed("d", {ctrlKey: true}), shown());
  page.run("rbwpReport.select")(under);
  page.idle();
  assert.ok(page.byId("selected").textContent.includes(some.name));
  pressed("]");
  const next = spans.filter(span => thread(span) === 0 && start(span) > start(some)).sort((a, b) => start(a) - start(b))[0];
  assert.equal(page.run("view.selected").start, start(next));
  pressed("[");
  assert.equal(page.run("view.selected").start, start(some));
  pressed("f");
  assert.ok(shown()[1] - shown()[0] < 1e5);
  /* A search: how many, how long; and everything else is pale. */
  page.byId("search").value = "DISK";
  page.byId("search").fire("input");
  page.idle();
  const found = spans.filter(span => span.name === "disk writer"), total = found.reduce((sum, span) => sum + (span.finished ? span.duration : 0), 0);
  assert.ok(page.byId("found").textContent.startsWith(`${page.run("exact")(found.length)} spans, ${page.run("duration")(total)}, `), page.byId("found").textContent);
  assert.ok(page.drawnRects("rows", rect => colours.has(rect.fill)).every(rect => rect.alpha === (rect.fill === page.run("colourOf('disk writer')") ? 1 : .13)));
  pressed("Escape");
  assert.deepEqual([page.byId("found").textContent, page.run("view.selected"), page.byId("search").value], ["", null, ""]);
  pressed("0");
  near(shown()[0], runFrom - runLength * .004, 1, "the whole run");
  /* The whole run: bars of the rows and of the strip are as high as the share that was busy, on the whole. */
  const busy = told.map((_, i) => spans.filter(span => thread(span) === i).reduce((sum, span) => sum + span.duration, 0));
  assert.notEqual(page.run("view.mode"), "single spans");
  const rough = open("busy0"); /* without single spans */
  assert.equal(rough.run("view.mode"), "summary");
  rough.run("lines").filter(line => line.row && line.row.depth === 0).slice(0, told.length).forEach((line, i) => {
    const bottom = 26 + line.y - rough.run("view.top") + line.height;
    const heights = new Float64Array(1000); /* cells may be narrower than a pixel */
    for (const rect of rough.drawnRects("rows", rect => colours.has(rect.fill) && rect.given[1] + rect.given[3] === bottom)) {
      assert.ok(rect.height >= 1.5 && rect.height <= line.height && rect.width >= 1 && rect.width <= 3);
      for (let x = rect.left; x < Math.min(1204, rect.left + rect.width); x++) heights[x - 204] = Math.max(heights[x - 204], rect.height);
    }
    near(heights.reduce((sum, height) => sum + height) / (line.height * 1000), busy[i] / (runLength * 1.008), .08, "a row's bars");
  });
  const row0 = rough.run("data.rows")[0], cells = rough.run("cellsOf")(row0, rough.run("scale()") * 2.5);
  for (const i of [0, 7, cells.count - 1]) for (const part of [.25, .75])
    near(rough.run("cellAt")(row0, cells.start + (i + part) * cells.width).busy, cells.busy[cells.at + i] / 255, 1e-9, "the cell under the pointer");
  assert.deepEqual([-1, cells.count].map(i => rough.run("cellAt")(row0, cells.start + (i + .5) * cells.width)), [null, null]);
  rough.run("globalThis.asked = []; globalThis.cellsAsked = cellsOf; cellsOf = (row, width) => (asked.push(width), cellsAsked(row, width)); workerShares(321); cellsOf = cellsAsked");
  assert.ok(rough.run("asked").length === told.length && rough.run("asked").every(width => Math.abs(width / (runLength / 321) - 1.5) < 1e-9), "the strip's cells are one and a half pixels wide at most");
  const names = rough.drawnOn("overview").map(call => call.name);
  assert.ok(names.includes("clip") && names.filter(name => name === "save").length === names.filter(name => name === "restore").length, "stripes where single spans are missing stay in their place");
  assert.deepEqual(names.slice(names.indexOf("save"), names.indexOf("restore")).filter((name, i, all) => name !== all[i - 1] && name !== "lineTo" && (name !== "moveTo" || all[i - 1] === "beginPath")),
    ["save", "beginPath", "rect", "clip", "beginPath", "moveTo", "stroke"]);
  const strip = page.drawnRects("overview", rect => rect.given[2] === 1 && rect.fill === "ink--accent");
  near(strip.length, 1000, 1, "pixels of the strip");
  near(strip.reduce((sum, bar) => sum + bar.height, 0) / 34 / 1000, busy.reduce((a, b) => a + b) / busy.length / runLength, .01, "the strip");
  assert.ok(strip.every(bar => Math.abs(bar.top + bar.height - 41) < 1e-9));
  const quarter = strip.slice(0, 250).reduce((sum, bar) => sum + bar.height, 0) / 34 / 250, inQuarter = spans.reduce((sum, span) =>
    sum + Math.max(0, Math.min(start(span) + span.duration, runFrom + runLength / 4) - Math.max(start(span), runFrom)), 0) / busy.length / (runLength / 4);
  near(quarter, inQuarter, .02, "the strip's first quarter");
}

/* ---- what is written and drawn around the spans, and what pointer and keys do ------------------------------- */

const shownOf = page => plain(page.run("({from: view.from, to: view.to, top: view.top, width: view.width, height: view.height})"));
const xIn = page => (({from, to}) => time => 204 + (time - from) * 1000 / (to - from))(shownOf(page));
const textsOn = (page, id, fits = () => true) => page.drawnOn(id).filter(call => call.name === "fillText" && fits(call)).map(({given: [text, left, top], fill, alpha, align}) => ({text, left, top, fill, alpha, align}));
const callsOn = (page, id, name) => page.drawnOn(id).filter(call => call.name === name).map(call => call.given);
const viewFor = (page, from, to) => (page.run(`show(${from}, ${to})`), page.idle());
/* Every span of the page, by its row. */
const spansOfRow = (page, row) => [...row.tiles].flatMap(tile => {
  const {starts, stops, kinds, flags, count} = page.run("spansOf")(tile);
  return Array.from({length: count}, (_, i) => ({start: starts[i], stop: stops[i], kind: kinds[i], flags: flags[i]}));
});
const fittedText = (text, room) => 6 * text.length <= room ? text : (letters => letters > 2 ? `${text.slice(0, letters)}\u2026` : "")(Math.floor(room / 6 + 1e-9) - 1);

/* Each span in sight is a bar in its row, and its name is written in it where there is room. */
function spansDrawn(page) {
  page.run("clear()");
  const kinds = page.run("data.kinds"), colours = page.run("kindColours"), middle = page.run("runFrom + runLength * .37");
  let labels = 0, cut = 0;
  for (const width of [3000, 12000, 50000]) {
    viewFor(page, middle, middle + width);
    const {from, to, top} = shownOf(page), x = xIn(page);
    assert.equal(page.run("view.mode"), "single spans");
    for (const line of page.run("lines")) {
      if (!line.row) continue;
      const y = 26 + line.y - top, wanted = spansOfRow(page, line.row).filter(span => span.stop >= from && span.start <= to).map(span => {
        const left = Math.max(203, Math.max(204, x(span.start))), right = Math.min(1204, x(span.stop)), room = Math.max(1, right - left);
        return {...span, left, width: room > 4 ? room - .6 : room, room, narrow: right - left < .8};
      });
      const rects = page.drawnRects("rows", rect => rect.given[1] === y && rect.given[3] === line.height && colours.includes(rect.fill));
      if (!wanted.some(span => span.narrow)) assert.equal(rects.length, wanted.length);
      else assert.ok(rects.length <= wanted.length && rects.length >= wanted.filter(span => !span.narrow).length);
      const written = textsOn(page, "rows", ({given}) => given[1] > 204 && given[2] === y + line.height / 2 + .5);
      const named = wanted.filter(span => span.room >= 34 && line.height >= 11);
      assert.deepEqual(written.map(({text}) => text), named.map(({kind, room}) => fittedText(kinds[kind].name, room - 9)));
      named.forEach((span, i) => {
        near(written[i].left, span.left + 5, 1e-6, "a name's left");
        assert.ok(written[i].alpha === 1 && written[i].align === "left");
        const [red, green, blue] = [1, 3, 5].map(at => parseInt(colours[span.kind].slice(at, at + 2), 16));
        assert.equal(written[i].fill, kinds[span.kind].waits ? "ink--text" : red * .3 + green * .59 + blue * .11 < 140 ? "#ffffff" : "#16202c");
        labels++;
        cut += written[i].text.endsWith("\u2026");
      });
      wanted.filter(span => !span.narrow).forEach(span => assert.ok(rects.some(rect => Math.abs(rect.left - span.left) < 1e-6 && Math.abs(rect.width - span.width) < 1e-6 &&
        rect.fill === colours[span.kind] && rect.alpha === (kinds[span.kind].waits ? .45 : 1)), `a span at ${span.left}`));
    }
  }
  assert.ok(labels > 20 && cut > 0);
}

/* Names and shares beside the rows, times above them, the strip's frame, the bar that scrolls. */
function around(page) {
  const stats = json("stats.json"), extent = page.run("extent"), middle = page.run("runFrom + runLength * .6");
  for (const width of [700, 4e5, 3e6, page.run("runLength")]) {
    viewFor(page, middle - width / 2, middle + width / 2);
    const {from, to, top, height} = shownOf(page), x = xIn(page), scale = (to - from) / 1000;
    const labels = textsOn(page, "rows", ({given}) => given[1] <= 204 && given[2] > 26), content = page.run("contentHeight");
    for (const line of page.run("lines").filter(line => line.label && line.row && line.track.kind === "thread" && line.track.of === undefined)) {
      const at = labels.filter(label => label.top === 26 + line.y - top + line.height / 2 + .5), row = stats.threads.find(row => row.name === line.track.name);
      assert.deepEqual(at.map(({text, left, align}) => [text, left, align]), [[page.run("percent")(row.busy / extent), 192, "right"], [fittedText(line.track.name, 120), 14, "left"]]);
    }
    const step = page.run("axisStep()"), power = 10 ** Math.floor(Math.log10(step) + 1e-9), zero = page.run("sinceZero");
    assert.ok([1, 2, 5].includes(Math.round(step / power * 1e6) / 1e6) && step >= scale * 110 && step <= scale * 110 * 2.5 + 1, `a step of ${step}`);
    const times = [];
    for (let time = Math.ceil((from + zero) / step) * step - zero; time <= to; time += step) times.push(time);
    const told = textsOn(page, "rows", ({given, fill}) => given[2] === 12 && fill === "ink--quiet"), seen = times.filter(time => x(time) < 1154);
    assert.deepEqual(told.map(({text}) => text), seen.map(time => page.run("moment")(time, step)));
    told.forEach((text, i) => near(text.left, x(seen[i]) + 4, .01, "a time"));
    assert.deepEqual(page.drawnRects("rows", ({given}) => given[1] === 21 && given[2] === 1 && given[3] === 5).map(tick => tick.left), times.map(time => Math.round(x(time))));
    assert.deepEqual(page.drawnRects("rows", ({given, fill}) => given[1] === 26 && fill === "ink--line-soft").map(({left, width, height}) => [left, width, height]),
      times.map(time => [Math.round(x(time)), 1, height - 26]));
    const room = height - 26, thumb = page.drawnRects("rows", ({given, fill, alpha}) => given[0] === 1198 && given[2] === 4 && alpha === .5);
    assert.deepEqual(thumb.map(({top, height}) => [top, height]), content <= room ? [] : [[26 + top / content * room, Math.max(20, room * room / content)]]);
    const [runFrom, length] = plain(page.run("[runFrom, runLength]")), over = time => 204 + (time - runFrom) / length * 1000, left = over(from), right = Math.max(left + 2, over(to));
    const shades = page.drawnRects("overview", ({fill, alpha}) => fill === "ink--bg" && alpha === .6);
    assert.deepEqual(shades.map(({left, top, width, height}) => [left, top, width, height]), [[204, 0, Math.max(0, left - 204), 46], [right, 0, 1204 - right, 46]]);
    assert.deepEqual(callsOn(page, "overview", "strokeRect"), [[left + .5, .5, right - left - 1, 45]]);
    assert.ok(textsOn(page, "overview").some(({text, left, top}) => text === `${page.run("duration(runLength)")} in all` && left === 14 && top === 32));
    assert.equal(page.byId("range").textContent, page.run("(step => `${moment(Math.max(Math.min(runFrom, view.to), view.from), step)} to ${moment(view.to, step)}, ${duration(view.to - view.from)} shown`)")(step / 10));
  }
}

/* A marked range: drawn where it is, with its length; its sums are those of its spans. */
function marked(page) {
  const [runFrom, runLength, workers] = plain(page.run("[runFrom, runLength, workers.length]")), from = Math.round(runFrom + .3 * runLength), to = Math.round(from + .1 * runLength);
  const [duration, exact, percent, kinds] = ["duration", "exact", "percent", "data.kinds"].map(name => page.run(name)), sums = new Map();
  for (const row of page.run("data.rows")) for (const {start, stop, kind} of spansOfRow(page, row)) {
    if (stop < from || start >= to) continue;
    const sum = sums.get(kind) || sums.set(kind, {begun: 0, time: 0, longest: 0}).get(kind);
    sum.begun += start >= from;
    sum.time += Math.min(stop, to) - Math.max(start, from);
    sum.longest = Math.max(sum.longest, stop - start);
  }
  viewFor(page, from - 1e6, to + 1e6);
  page.run(`setRange({from: ${from}, to: ${to}})`);
  page.idle();
  const wanted = [...sums].sort(([, a], [, b]) => b.time - a.time || b.begun - a.begun).map(([kind, {begun, time, longest}]) =>
    [kinds[kind].name, kinds[kind].category, exact(begun), duration(time), percent(time / (to - from) / workers), begun >= 1 ? duration(time / begun) : "\u2013", duration(longest)].map(text => text.trim()));
  assert.deepEqual(page.tableTexts(page.byId("sums")).map(cells => cells.map(text => text.trim())), wanted);
  assert.ok(page.byId("sums").textContent.startsWith(`${duration(to - from)} from `) && !page.byId("sums").textContent.includes("about"));
  const x = xIn(page), {height} = shownOf(page), [left, right] = [x(from), x(to)];
  const shades = page.drawnRects("rows", ({fill, alpha}) => fill === "ink--accent" && [.12, .8].includes(alpha)).map(({left, top, width, height}) => [left, top, width, height]);
  assert.deepEqual(shades.flat().map(value => Math.round(value * 100)), [[left, 0, right - left, height], [Math.round(left) - .5, 0, 1, height], [Math.round(right) - .5, 0, 1, height]].flat().map(value => Math.round(value * 100)));
  const [text] = textsOn(page, "rows", ({given, fill}) => given[2] === 12 && fill === "ink--text");
  assert.deepEqual([text.text, text.align], [duration(to - from), "center"]);
  near(text.left, (left + right) / 2, 1e-6, "the length's middle");
  assert.equal(page.run("commandOf('stats')"), `rbwp stats --from ${page.run("exactMoment")(from)} --to ${page.run("exactMoment")(to)} ${page.run("quoted(data.processes[0].source)")}`);
  /* Without single spans it is about as much. */
  const rough = open("busy0");
  rough.run(`setRange({from: ${from}, to: ${to}})`);
  rough.idle();
  assert.ok(rough.byId("sums").textContent.includes("about"));
  rough.run(`globalThis.taken = null; sumRange(${from}, ${to}, sums => globalThis.taken = sums)`);
  rough.idle();
  const taken = [...rough.run("taken.kinds").values()], all = key => [...sums.values()].reduce((sum, one) => sum + one[key], 0), have = key => taken.reduce((sum, one) => sum + one[key], 0);
  near(have("time") / all("time"), 1, .05, "about the time");
  near(have("begun") / all("begun"), 1, .05, "about as many");
  page.run("setRange(null)");
  page.idle();
  assert.ok(page.byId("sums").hidden && page.drawnRects("rows", ({alpha}) => alpha === .12).length === 0);
}

function pointer(page) {
  const [runFrom, runLength] = plain(page.run("[runFrom, runLength]")), middle = spansOfRow(page, page.run("data.rows")[0])[1000].start - 4000, fire = (id, kind, more) => (page.byId(id).fire(kind, {button: 0, pointerId: 1, shiftKey: false, ctrlKey: false, metaKey: false, deltaX: 0, deltaY: 0, deltaMode: 0, ...more}), page.idle(), shownOf(page));
  const lines = page.run("lines"), line = lines.find(line => line.row), y = () => 26 + line.y - page.run("view.top") + 4, start = () => (viewFor(page, middle, middle + 10000), page.run("view.top = 0"), page.run("redraw()"), page.idle(), shownOf(page));
  const same = (is, wanted, what) => (near(is.from, wanted.from, 1, `${what}, from`), near(is.to, wanted.to, 1, `${what}, to`));
  /* Dragged; what is under the pointer stays there. */
  let at = start();
  const ns = 10, drag = (dx, dy = 0) => (fire("rows", "pointerdown", {clientX: 600, clientY: y()}), fire("rows", "pointermove", {clientX: 600 + dx, clientY: y() + dy}), fire("rows", "pointerup", {clientX: 600 + dx, clientY: y() + dy}));
  same(drag(100), {from: at.from - 100 * ns, to: at.to - 100 * ns}, "dragged");
  at = start();
  same(drag(-250), {from: at.from + 250 * ns, to: at.to + 250 * ns}, "dragged back");
  fire("rows", "pointermove", {clientX: 900, clientY: y()});
  same(shownOf(page), {from: at.from + 250 * ns, to: at.to + 250 * ns}, "let go");
  /* The wheel: zooms around the pointer, goes sideways, scrolls. */
  at = start();
  const share = .25, zoomed = fire("rows", "wheel", {clientX: 204 + 250, clientY: y(), ctrlKey: true, deltaY: -100});
  near(zoomed.to - zoomed.from, (at.to - at.from) * Math.exp(-.4), 1, "zoomed");
  near(zoomed.from + share * (zoomed.to - zoomed.from), at.from + share * (at.to - at.from), 1, "around the pointer");
  at = start();
  same(fire("rows", "wheel", {clientX: 600, clientY: y(), deltaX: 120}), {from: at.from + 120 / 1204 * 1e4, to: at.to + 120 / 1204 * 1e4}, "sideways");
  at = start();
  same(fire("rows", "wheel", {clientX: 600, clientY: y(), deltaY: 4, deltaMode: 1, shiftKey: true}), {from: at.from + 120 / 1204 * 1e4, to: at.to + 120 / 1204 * 1e4}, "with shift, by lines");
  at = start();
  const most = Math.max(0, page.run("contentHeight") + 26 - at.height);
  assert.equal(fire("rows", "wheel", {clientX: 600, clientY: y(), deltaY: 1e6}).top, most);
  assert.equal(fire("rows", "wheel", {clientX: 600, clientY: y(), deltaY: -1e6}).top, 0);
  /* Marked with shift, and on the axis; a click there takes it away. */
  for (const more of [{shiftKey: true, clientY: 60}, {clientY: 10}]) {
    at = start();
    fire("rows", "pointerdown", {clientX: 704, ...more});
    fire("rows", "pointermove", {clientX: 404, ...more});
    fire("rows", "pointerup", {clientX: 404, ...more});
    assert.deepEqual(plain(page.run("view.range")), {from: Math.round(at.from + 2000), to: Math.round(at.from + 5000)});
    fire("rows", "pointerdown", {clientX: 500, ...more});
    fire("rows", "pointerup", {clientX: 501, ...more});
    assert.equal(page.run("view.range"), null);
  }
  /* A click selects, and the span's frame is where it is; a second one shows it. */
  at = start();
  const span = spansOfRow(page, line.row).find(({start, stop}) => start > at.from + 1000 && stop < at.to - 1000 && stop - start > 60), x = xIn(page), press = {clientX: (x(span.start) + x(span.stop)) / 2, clientY: y()};
  fire("rows", "pointerdown", press);
  fire("rows", "pointerup", press);
  assert.deepEqual([page.run("view.selected.start"), page.run("view.selected.stop")], [span.start, span.stop]);
  const [[left, top, width, height]] = callsOn(page, "rows", "strokeRect");
  near(left, x(span.start) - 1, 1e-6, "the frame's left");
  near(width, x(span.stop) - x(span.start) + 2, 1e-6, "the frame's width");
  assert.deepEqual([top, height], [26 + line.y - at.top - 1, line.height + 2]);
  assert.equal(page.drawnOn("rows").find(({name}) => name === "strokeRect").stroke, "ink--text");
  const told = page.byId("selected").textContent, took = span.stop - span.start;
  for (const text of [page.run("data.kinds")[span.kind].name, line.track.name, page.run("exactMoment")(span.start), `${page.run("duration")(took)} = ${page.run("exact")(took)} ns`]) assert.ok(told.includes(text), told);
  same(fire("rows", "dblclick", press), {from: (span.start + span.stop) / 2 - Math.max(2 * took, 200), to: (span.start + span.stop) / 2 + Math.max(2 * took, 200)}, "the span");
  page.run("select(null)");
  at = start();
  const closer = fire("rows", "dblclick", {clientX: 204 + 250, clientY: y()});
  near(closer.to - closer.from, (at.to - at.from) / 4, 1, "a quarter");
  near(closer.from + .25 * (closer.to - closer.from), at.from + .25 * (at.to - at.from), 1, "around the pointer");
  /* What the tip says of a span, and of none. */
  at = start();
  fire("rows", "pointermove", press);
  assert.equal(page.byId("tip").hidden, false);
  for (const text of [page.run("data.kinds")[span.kind].name, `${page.run("duration")(took)} (${page.run("exact")(took)} ns)`, `on ${line.track.name}`]) assert.ok(page.byId("tip").textContent.includes(text), text);
  fire("rows", "pointermove", {...press, clientX: 100});
  assert.equal(page.byId("tip").hidden, true);
  assert.deepEqual([10, 26 + line.y - at.top, 26 + line.y - at.top + line.height, 26 + line.y - at.top - 2].map(place => page.run("lineAt")(place) === line), [false, true, true, false]);
  /* Of a summary. */
  page.run("fit()");
  page.idle();
  const rough = open("busy0"), bar = rough.drawnRects("rows", rect => rough.run("kindColours").includes(rect.fill))[3];
  rough.byId("rows").fire("pointermove", {clientX: bar.left + .5, clientY: 26 + rough.run("lines").find(line => line.row).y + 4});
  assert.ok(rough.byId("tip").textContent.includes("summary only") && /mostly .* busy, [\d,]+ begun in/.test(rough.byId("tip").textContent), rough.byId("tip").textContent);
  /* The strip: a stretch of it, and a click. */
  fire("overview", "pointerdown", {clientX: 304});
  same(fire("overview", "pointermove", {clientX: 504}), {from: runFrom + .1 * runLength, to: runFrom + .3 * runLength}, "a stretch of the strip");
  fire("overview", "pointerup", {clientX: 504});
  at = shownOf(page);
  fire("overview", "pointerdown", {clientX: 704});
  same(fire("overview", "pointerup", {clientX: 704}), {from: runFrom + .4 * runLength, to: runFrom + .6 * runLength}, "a click");
}

/* From match to match, by the legend, to where a table says; ends that cannot be passed. */
function ways(page) {
  const press = (key, more) => (page.key(key, more), page.idle(), page.run("view.selected && view.selected.start")), rows = [...page.run("data.rows")], kinds = page.run("data.kinds");
  page.run("clear(); fit()");
  page.byId("search").value = " memcpy ";
  page.byId("search").fire("input");
  const starts = rows.flatMap(row => spansOfRow(page, row).filter(({kind}) => kinds[kind].name === "memcpy channel").map(({start}) => start)).sort((a, b) => a - b);
  const seen = [press("n"), press("n"), press("n")];
  assert.deepEqual(seen, [...new Set(starts)].slice(0, 3));
  assert.deepEqual([press("N", {shiftKey: true}), press("N", {shiftKey: true}), press("N", {shiftKey: true})], [seen[1], seen[0], seen[0]]);
  assert.equal(page.byId("found").textContent, "no earlier match");
  const listed = page.tableTexts(page.byId("results")), [found] = kinds.filter(kind => kind.name === "memcpy channel");
  assert.deepEqual([listed.length, listed[0][0].trim(), listed[0][2], listed[0][3]], [1, found.name, page.run("exact")(found.all), page.run("duration")(found.total)]);
  page.byId("search").value = "no such";
  page.byId("search").fire("input");
  assert.deepEqual([page.byId("found").textContent, page.byId("results").hidden], ["no match", true]);
  page.run("clear()");
  const legend = page.byId("legend").querySelectorAll("span"), totals = legend.map(({kinds: of}) => [...of].reduce((sum, kind) => sum + Number(kinds[kind].total), 0));
  assert.deepEqual(totals, totals.slice().sort((a, b) => b - a));
  legend[0].click();
  page.idle();
  assert.deepEqual(legend.map(entry => entry.classList.contains("off")), legend.map((_, i) => i > 0));
  legend[0].click();
  page.idle();
  assert.ok(page.run("view.matches === null") && legend.every(entry => !entry.classList.contains("off")));
  const row = rows[0], wanted = spansOfRow(page, row)[40], other = kinds.find(kind => kind.name === "disk writer");
  page.run("goToTime")(row.track, wanted.start, wanted.stop - wanted.start);
  page.idle();
  assert.equal(page.run("view.selected.start"), wanted.start);
  near(shownOf(page).to - shownOf(page).from, Math.max(4 * (wanted.stop - wanted.start), 400), 1, "with what is around");
  assert.equal(page.run("firstSpanAt")(row.track, wanted.start + 1).start, wanted.start);
  assert.equal(page.run("firstSpanAt")(row.track, page.run("runFrom") - 1000), null);
  page.run("goToLongest")(other);
  page.idle();
  assert.equal(page.run("view.selected.stop - view.selected.start"), Math.max(...rows.flatMap(row => spansOfRow(page, row).filter(({kind}) => kind === other.number).map(({start, stop}) => stop - start))));
  const place = page.run("placeText()"), chosen = page.run("view.selected.start");
  page.run("clear(); fit()");
  page.openTable("Sub-items");
  assert.equal(page.run("placeText()"), "tab=Sub-items");
  page.run(`goToPlace(${JSON.stringify(place)})`);
  page.idle();
  assert.equal(page.run("view.selected.start"), chosen);
  /* No closer than 16 ns, no farther than a hundredth beyond the run. */
  viewFor(page, chosen, chosen + 1);
  near(shownOf(page).to - shownOf(page).from, 16, .01, "no closer");
  viewFor(page, -1e15, 1e15);
  const [low, high] = plain(page.run("[Math.min(whole[0], runFrom), Math.max(whole[1], runTo)]"));
  near(shownOf(page).from, low - .01 * (high - low), 1, "no farther back");
  near(shownOf(page).to, high + .01 * (high - low), 1, "no farther on");
  assert.deepEqual(plain(page.run(`["a b", "-x", "it's", "a\\nb", "plain-1.bin"].map(quoted)`)), ["'a b'", "./-x", "'it'\\''s'", "'a?b'", "plain-1.bin"]);
  page.run("clear(); fit()");
}

/* Work handed over: an arrow from who handed it over to whoever took it up, and the way along it. */
function links() {
  const page = open("queued"), taken = [...page.run("data.rows")].flatMap(row => row.depth === 0 ? spansOfRow(page, row).map(span => ({row, ...span})) : []).find(span => page.run("linksOf")(span).some(link => link.to === span.start));
  page.run("select")(taken);
  page.idle();
  const [link] = page.run("view.links"), x = xIn(page), {top} = shownOf(page), middleOf = track => 26 + page.run("data.tracks")[track].rows[0].line.y - top + 9;
  assert.equal(link.to - link.from, 350); /* report_page_make.py: handed over at 50, taken up at 400 */
  const [x0, x1, y0, y1] = [x(link.from), x(link.to), middleOf(link.fromTrack), middleOf(link.toTrack)], calls = page.drawnOn("rows").map(({name, given}) => JSON.stringify([name, ...given]));
  for (const wanted of [["moveTo", x0, y0], ["bezierCurveTo", x0 + 40, y0, x1 - 40, y1, x1, y1], ["arc", x0, y0, 3, 0, 7], ["moveTo", x1 + 1, y1], ["lineTo", x1 - 7, y1 - 4], ["lineTo", x1 - 7, y1 + 4]]) {
    const at = calls.findIndex(call => (([name, ...given]) => name === wanted[0] && given.length === wanted.length - 1 && given.every((value, i) => Math.abs(value - wanted[i + 1]) < 1e-6))(JSON.parse(call)));
    assert.ok(at >= 0, `no ${wanted}`);
  }
  assert.deepEqual(page.drawnOn("rows").filter(({name}) => name === "fill").map(({fill}) => fill), ["ink--accent", "ink--accent"]);
  for (const [left, upper, width, height] of callsOn(page, "rows", "rect").filter(([left]) => left === 201)) assert.deepEqual([left, upper, width, height], [201, 26, 1204, shownOf(page).height]);
  assert.equal(callsOn(page, "rows", "rect").filter(([left]) => left === 201).length, 2);
  assert.ok(/handed over by.*350 ns before.*behind.*for 350 ns/.test(page.byId("selected").textContent), page.byId("selected").textContent);
  page.key("g");
  page.idle();
  assert.ok(page.run("view.selected.row.track") === link.fromTrack && page.run("view.selected.start") <= link.from);
  assert.ok(page.byId("selected").textContent.includes("handed work to"));
  page.key("g");
  page.idle();
  assert.equal(page.run("view.selected.start"), taken.start);
}

/* Counters and losses; no file of the above has any. */
function countersAndLosses(page) {
  page.run("clear(); fit(); globalThis.drawn = document.createElement('canvas').getContext('2d')");
  viewFor(page, 0, 100000);
  const context = page.run("drawn"), x = xIn(page), of = name => context.calls.filter(call => call.name === name);
  const line = {height: 34, track: {counter: {min: "-10", max: "30"}, unit: "W", name: "power"}, counter: {from: "0", width: "20000", cells: [[0, -10, 0, 30, 5], [1, 5, 5, 5, 5], [3, 10, 20, 30, 10]]}};
  page.run("drawCounter")(context, line, 100);
  const y = value => 132.5 - (value + 10) / 40 * 31, lefts = [0, 20000, 60000], bands = [[-10, 30], [5, 5], [10, 30]];
  of("fillRect").forEach(({given, fill, alpha}, i) => {
    [x(lefts[i]), y(bands[i][1]), x(lefts[i] + 20000) - x(lefts[i]), Math.max(1, y(bands[i][0]) - y(bands[i][1]))].forEach((wanted, at) => near(given[at], wanted, 1e-6, `a band's ${at}`));
    assert.deepEqual([fill, alpha], ["ink--accent", .25]);
  });
  assert.equal(of("fillRect").length, 3);
  const path = context.calls.filter(({name}) => ["moveTo", "lineTo"].includes(name)).map(({given}) => given), wanted = [[0, 0], [20000, 0], [20000, 5], [40000, 5], [40000, 5], [60000, 5], [60000, 20], [80000, 20], [80000, 10], [shownOf(page).to, 10]];
  assert.equal(path.length, wanted.length);
  path.forEach(([left, top], i) => (near(left, x(wanted[i][0]), 1e-6, "the line's time"), near(top, y(wanted[i][1]), 1e-6, "the line's value")));
  assert.deepEqual([-1, 1, 19999, 59999, 60000].map(time => page.run("counterAt")(line, time)?.mean), [undefined, 0, 0, 5, 20]);
  for (const [time, text] of [[1, "power-10 W to 30 W, mean 0 W in 20.0 \u00b5s"], [20001, "power5 W"], [40001, "power5 W since the last sample"]]) {
    assert.equal(page.run("fillTip")(line, time), true);
    assert.equal(page.byId("tip").textContent, text);
  }
  assert.equal(page.run("fillTip")(line, -1), false);
  /* How many waited: cut where it is longer than the room, which is 30 letters. */
  page.run("drawn.calls.length = 0; drawn.font = '11.5px sans'");
  for (const name of ["n".repeat(28), "n".repeat(29)]) page.run("drawWaitLabel")(context, {track: {spans: 1, name}, row: {line: {height: 10}}}, 100);
  assert.deepEqual(of("fillText").map(({given}) => given), [[`1 ${"n".repeat(28)}`, 192, 106], [`1 ${"n".repeat(27)}\u2026`, 192, 106]]);
  const track = page.run("data.rows[0].track"), place = page.run("data.rows[0].line");
  page.run(`data.losses.push({first: 10000, last: 30000, track: ${track}}, {first: 50000, last: 50000}, {})`);
  page.run("redraw()");
  page.idle();
  const red = page.drawnRects("rows", ({fill}) => fill === "ink--red").map(({left, top, width, height, alpha}) => [left, top, width, height, alpha].map(value => Math.round(100 * value)));
  const {height, top} = shownOf(page);
  assert.deepEqual(red, [[x(10000), 26 + place.y - top - 2, x(30000) - x(10000), place.height + 4, .28], [x(50000), 26, 2, height, .28]].map(rect => rect.map(value => Math.round(100 * value))));
  assert.deepEqual(page.drawnRects("overview", ({fill}) => fill === "ink--red").map(({top, height, alpha}) => [top, height, alpha]), [[0, 46, .9], [0, 46, .9]]);
  page.run("data.losses.splice(-3); redraw()");
  page.idle();
}

/* Sums of tables are those of the command. */
function sums(page) {
  const stats = json("stats.json"), exact = page.run("exact"), duration = page.run("duration");
  for (const [tab, rows] of [["Work items", stats.work_items], ["Sub-items", stats.sub_items]]) {
    const cells = page.tableTexts(page.openTable(tab)), heads = page.byId("tables").querySelectorAll("th").map(head => head.textContent.replace(/ [\u2191\u2193]$/, ""));
    assert.deepEqual(cells.map(row => row[0]).sort(), rows.map(row => row.name).sort());
    for (const row of rows) {
      const line = cells.find(cells => cells[0] === row.name), of = title => line[heads.indexOf(title)];
      assert.deepEqual([of("Count"), of("Total"), of("Mean"), of("p50"), of("p99"), of("Longest")].filter(text => text !== undefined),
        [["Count", exact(row.count)], ["Total", duration(row.total)], ["Mean", duration(row.mean)], ["p50", duration(row.p50)], ["p99", duration(row.p99)], ["Longest", duration(row.max)]]
          .filter(([title]) => heads.includes(title)).map(([, text]) => text), row.name);
    }
  }
}

/* Each worker and GPU as stats have it; shares are written, and drawn as bars of as many percent. */
function workersAndGpus(page) {
  const stats = json("stats.json"), percent = page.run("percent"), duration = page.run("duration"), exact = page.run("exact"), extent = page.run("extent");
  for (const [tab, rows, counted] of [["Workers", stats.threads, "spans"], ["GPUs", stats.gpus, "gaps"]]) {
    const lines = page.openTable(tab).querySelectorAll("tbody tr"), own = rows.filter(row => row.busy > 0);
    for (const row of own) {
      const line = lines.find(line => line.cells[0].textContent === row.name), told = line.cells.map(cell => cell.textContent);
      assert.ok(told.includes(percent(row.busy / extent)) && told.includes(duration(row.busy)) && told.includes(exact(row[counted])), `${tab} ${told}`);
      near(parseFloat(line.querySelector("i").style.width), 100 * row.busy / extent, 1e-4, "the bar");
    }
    assert.ok(own.length > 0);
  }
}

/* What the program noted of spans, by its name and value. */
function noted() {
  const page = open("queued"), wanted = new Map(), told = new Map(), put = (map, text) => map.set(text, (map.get(text) || 0) + 1);
  for (const line of read("queued.ndjson").trim().split("\n")) {
    const {name, args} = JSON.parse(line);
    if (args) for (const [key, value] of Object.entries(args)) put(wanted, `${name}: ${key} = ${value}`);
  }
  for (const row of page.run("data.rows")) for (const tile of row.tiles) {
    const spans = page.run("spansOf")(tile);
    for (let i = 0; i < spans.count; i++)
      for (const [key, value] of page.run("spanArguments")({row, kind: spans.kinds[i], start: spans.starts[i]})) put(told, `${page.run("data.kinds")[spans.kinds[i]].name}: ${key} = ${value}`);
  }
  assert.ok(told.size > 0);
  for (const [text, count] of told) assert.equal(count, wanted.get(text), text);
}

/* A marked range is summed up, and its address leads back to it. */
function ranges(page) {
  page.run("setRange({from: Math.round(runFrom + 1e6), to: Math.round(runFrom + 3e6)})");
  page.idle();
  assert.equal(page.byId("sums").hidden, false);
  const place = page.run("placeText()"), cells = page.tableTexts(page.byId("sums")), range = plain(page.run("view.range"));
  assert.ok(place.includes("range=+") && cells.length > 3, place);
  page.run("clear()");
  page.idle();
  assert.equal(page.byId("sums").hidden, true);
  page.run(`goToPlace(${JSON.stringify(place)})`);
  page.idle();
  assert.deepEqual([plain(page.run("view.range")), page.tableTexts(page.byId("sums"))], [range, cells]);
  /* A span is the one that starts there, to the ns; of what is nothing, the tab alone makes sense. */
  const row = page.run("data.rows[0]"), span = spansOfRow(page, row)[100];
  for (const [at, wanted] of [[0, span.start], [-1, undefined]]) {
    page.run(`goToPlace("#span=${row.track},${row.lane},${row.depth}," + exactMoment(${span.start + at}))`);
    assert.equal(page.run("view.selected?.start"), wanted);
  }
  page.run("goToPlace(`#tab=${TABS[0][0]}&from=+1s&to=+1s&range=+1s,+1s`)");
  assert.equal(page.run("badPlace.textContent"), "This page has no place from=+1s, to=+1s, range=+1s,+1s, which its address asks for.");
  page.run("goToPlace(''); clear()");
}

/* ---- what warps did ------------------------------------------------------------------------------------------ */

function inside() {
  const page = open("many_lanes"), launches = plain(page.run("launches"));
  assert.equal(page.run("opened.size"), 0); /* more than are seen at once */
  page.run("opened.add(lines.find(line => line.fold).track); layOut(); fit()");
  page.idle();
  const line = page.run("lines.find(line => line.fold && line.track.level === 1)");
  assert.ok(launches.length > 0);
  const check = () => {
    const {from, to, top} = plain(page.run("({from: view.from, to: view.to, top: view.top})")), x = time => 204 + (time - from) * 1000 / (to - from), y = 26 + line.y - top;
    const seen = launches.filter(({start, stop}) => stop >= from && start <= to);
    const bars = page.drawnRects("rows", rect => rect.given[1] === y + 2 && rect.given[3] === line.height - 4);
    assert.deepEqual(bars.map(bar => bar.fill), seen.map(launch => page.run("colourOf")(launch.name)));
    bars.forEach((bar, i) => {
      near(bar.left, Math.max(203, x(seen[i].start)), .01, "a kernel's left");
      near(bar.left + bar.width, Math.max(Math.max(203, x(seen[i].start)) + 1, Math.min(1205, x(seen[i].stop))), .01, "a kernel's right");
      assert.equal(bar.alpha, .8);
    });
    /* Behind the row a shade from begin to end, and a line at both, where they are in sight. */
    const shades = page.drawnRects("rows", rect => rect.fill === "ink--shade" && rect.given[1] === y && rect.given[3] === line.height + 1);
    assert.deepEqual(shades.map(shade => [shade.left, shade.left + shade.width].map(edge => Math.round(100 * edge))),
      seen.map(({start, stop}) => [Math.max(203, x(start)), Math.min(1204, x(stop))].map(edge => Math.round(100 * edge))));
    const edges = page.drawnRects("rows", rect => rect.fill === "ink--line" && rect.given[1] === y && rect.given[2] === 1 && rect.given[3] === line.height + 1).map(edge => edge.left);
    assert.deepEqual(edges, seen.flatMap(({start, stop}) => [start, stop]).map(x).filter(edge => edge >= 204).map(Math.round));
  };
  check();
  const row = page.run("data.rows.find(row => isInside(data.tracks[row.track]))");
  for (const launch of launches) /* what a span inside belongs to: by its number, else by its time */
    assert.deepEqual([[launch.start + 1, 0], [-5, launch.id]].map(([at, id]) => page.run("launchOf")({row, start: at, stop: at + 1, launch: id})?.start), [launch.start, launch.start]);
  assert.equal(page.run("launchOf")({row, start: -5, stop: -4, launch: 0}), null);
  const {start, stop} = launches[0];
  for (const [from, to] of [[start - 1000, stop + 1000], [start + (stop - start) / 4, stop + 1000], [start - 1000, stop - (stop - start) / 4]]) {
    page.run(`show(${from}, ${to})`);
    page.idle();
    check();
  }
  /* Folded, its lanes are one row: as high as the share of them that is busy. */
  const before = page.run("lines.length");
  page.run("opened.delete(lines.find(line => line.fold && line.track.level === 1).track); layOut(); fit()");
  page.idle();
  assert.ok(page.run("lines.length") < before);
  const busy = page.drawnRects("rows", rect => rect.fill === "ink--accent" && rect.given[2] === 2);
  assert.ok(busy.length > 10 && busy.every(bar => bar.height <= line.height + 1e-6));
  for (const [open, folded] of [["\u25be", "\u25b8"], ["\u25b8", "\u25be"]]) { /* all are opened, and folded, and drawn so */
    page.key("x");
    page.idle();
    const marks = textsOn(page, "rows").map(({text}) => text[0]);
    assert.ok(marks.includes(open) && !marks.includes(folded), `${marks}`);
  }
  const percent = page.run("percent"), duration = page.run("duration"), exact = page.run("exact");
  const title = page.byId("tabs").querySelectorAll("button").map(button => button.textContent).find(text => page.openTable(text).textContent.includes("Block time"));
  const told = page.tableTexts(page.openTable(title)), [kernel] = json("lanes.json").inside_kernels;
  kernel.groups.forEach(({group, lanes, spans, instants, busy_share: busy, waiting_share: waiting, ...of}) => {
    const line = told.find(cells => cells[1] === group);
    assert.deepEqual(line, [kernel.kernel, group, exact(kernel.launches), exact(lanes), exact(spans), exact(instants), percent(busy), percent(waiting), duration(of.busy), duration(of.waiting), duration(of.time)]);
  });
  assert.deepEqual(told.at(-1), [kernel.kernel, "producer and consumer", percent(kernel.overlaps[0].share), duration(kernel.overlaps[0].both)]);
}

/* ---- a diff ----------------------------------------------------------------------------------------------------- */

function diff() {
  const page = open("diff"), {rows} = json("diff.json"), shown = () => page.byId("rows").querySelectorAll("tbody tr").filter(row => row.querySelector(".verdict"));
  assert.ok(rows.some(row => row.verdict === "same") && rows.some(row => row.verdict === "slower"));
  assert.deepEqual(shown().map(row => row.cells.slice(0, 2).map(cell => cell.textContent)), rows.filter(row => row.verdict !== "same").map(row => [row.verdict, row.name]));
  page.byId("all").checked = true;
  page.byId("all").fire("change");
  assert.deepEqual(shown().map(row => row.cells[1].textContent), rows.map(row => row.name));
  const change = row => Number(row["total B"]) - Number(row["total A"]);
  shown().forEach((line, i) => {
    const own = plain(page.run(`data.rows.find(row => row.name === ${JSON.stringify(rows[i].name)} && row.category === ${JSON.stringify(rows[i].category)})`));
    assert.equal(line.cells[3].textContent, ` ${rows[i].ratio.toFixed(3)}`);
    assert.equal(line.cells.at(-1).textContent, `${change(own) < 0 ? "\u2212" : "+"}${page.run("duration")(Math.abs(change(own)))}`);
  });
  /* Twice as long is as far to the right as half as long is to the left; four times is all there is. */
  const bar = row => {
    page.run(`globalThis.at = document.createElement("div"); ratioBar(at, ${JSON.stringify(row)})`);
    const rect = page.run("at").querySelectorAll("rect")[1];
    return rect ? [Number(rect.attributes.x), Number(rect.attributes.width), rect.attributes.fill] : null;
  };
  assert.deepEqual(bar({ratio: 2, verdict: "slower"}), [45, 22.5, "var(--red)"]);
  assert.deepEqual(bar({ratio: .5, verdict: "faster"}), [22.5, 22.5, "var(--green)"]);
  assert.deepEqual(bar({ratio: 1, verdict: "same"}), [45, 1, "var(--quiet)"]);
  assert.deepEqual([bar({ratio: 4, verdict: "slower"}), bar({ratio: 99, verdict: "slower"})], [[45, 45, "var(--red)"], [45, 45, "var(--red)"]]);
  assert.deepEqual([bar({ratio: .25, verdict: "same"}), bar({ratio: .01, verdict: "same"})], [[0, 45, "var(--quiet)"], [0, 45, "var(--quiet)"]]);
  assert.deepEqual([bar({ratio: 0, verdict: "gone"}), bar({verdict: "new"})], [null, null]);
  /* Launches and counters: what changed, or what the search asks for, of all. */
  const tracks = () => {
    page.run(`data.launches = [{verdict: "slower", name: "GPU 0", ratio: 1.5, new: 3, noisy: 1}, {verdict: "same", name: "GPU 1", unit: "W", new: 3}];
      data.columns.launches.push(["new", "new", "number"]); fillTable("launches", "Launch to start"); data.columns.launches.pop()`);
    return page.tableTexts(page.byId("launches"));
  };
  page.byId("all").checked = false;
  assert.deepEqual(tracks(), [["slower noise", "GPU 0", " 1.500", "3"]]);
  page.byId("search").value = "gpu 1";
  assert.deepEqual(tracks(), [["same", "GPU 1 (W)", "3"]]);
  page.byId("search").value = "nothing";
  assert.deepEqual([tracks(), page.byId("launches").textContent], [[], ""]);
  page.byId("search").value = "";
  page.byId("all").checked = true;
  assert.equal(tracks().length, 2);
  /* A row that is slower by mean alone is shown, though it is the same, and says so; what is compared has the measure's name. */
  page.byId("all").checked = false;
  page.run(`data.rows = [{...data.rows.find(row => row.verdict === "same"), slower_by_mean: 1, noisy: undefined, by: "net"}]; fillAll(); globalThis.at = document.createElement("div"); fillMore(at, data.rows[0])`);
  assert.equal(shown().length, 1);
  assert.match(page.run("at").textContent, /^Slower by mean alone/);
  assert.ok(page.byId("rows").textContent.includes("Mean A"));
}

const busy = open("busy");
for (const check of [texts, histograms, tables, timeline, flame, sums, workersAndGpus, ranges, spansDrawn, around, marked, pointer, ways, countersAndLosses]) check(busy);
for (const name of ["queued", "probes"]) {
  const page = open(name);
  for (const button of page.byId("tabs").querySelectorAll("button")) button.click();
  page.idle();
}
slowStacks(open("slow"));
const lost = name => open(name).byId("figures").textContent;
assert.match(lost("dump"), /Records lost or not kept607,968$/);
assert.match(lost("busy"), /Records lost0$/);
noted();
links();
addedColumns();
severalNodes();
inside();
diff();
console.log("pages: all passed");
