// SPDX-License-Identifier: Apache-2.0
// page.mjs FOLDER [CHANGE]: the checks of page.sh, which made the folder. CHANGE: a file of JSON, [[old line, new line] ...], by
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
    table(at, [{title: "Name", left: true, value: row => row.name}, {title: "N", value: row => row.n}], Array.from({length: 60}, (_, n) => ({name: "r" + n, n})), 1)`);
  const box = page.run("at"), column = i => page.tableTexts(box).map(cells => cells[i]).filter(text => text !== undefined), heads = () => box.querySelectorAll("th").map(head => head.textContent);
  assert.deepEqual([column(0).slice(0, 2), column(1).length, heads(), page.tableTexts(box).at(-1)], [["r59", "r58"], 50, ["Name", "N \u2193"], ["10 more"]]);
  box.querySelectorAll("th")[1].click();
  assert.deepEqual([column(1)[0], heads()], ["0", ["Name", "N \u2191"]]);
  box.querySelectorAll("th")[0].click();
  assert.deepEqual([column(0).slice(0, 3), heads()], [["r0", "r1", "r2"], ["Name \u2191", "N"]]);
  box.querySelectorAll("a")[0].click();
  assert.deepEqual([column(0).length, column(0).at(-1)], [60, "r59"]);
}

/* ---- a page of several nodes ---------------------------------------------------------------------------- */

function severalNodes() {
  const page = open("job"), stats = json("job.json"), nodes = plain(page.run("data.nodes.map(([process, workers, busy, lost, shares]) => ({name: data.processes[process].name, workers, busy: Number(busy), shares}))"));
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
  const names = rough.drawnOn("overview").map(call => call.name);
  assert.ok(names.includes("clip") && names.filter(name => name === "save").length === names.filter(name => name === "restore").length, "stripes where single spans are missing stay in their place");
  const strip = page.drawnRects("overview", rect => rect.given[2] === 1 && rect.fill === "ink--accent");
  near(strip.length, 1000, 1, "pixels of the strip");
  near(strip.reduce((sum, bar) => sum + bar.height, 0) / 34 / 1000, busy.reduce((a, b) => a + b) / busy.length / runLength, .01, "the strip");
  assert.ok(strip.every(bar => Math.abs(bar.top + bar.height - 41) < 1e-9));
  const quarter = strip.slice(0, 250).reduce((sum, bar) => sum + bar.height, 0) / 34 / 250, inQuarter = spans.reduce((sum, span) =>
    sum + Math.max(0, Math.min(start(span) + span.duration, runFrom + runLength / 4) - Math.max(start(span), runFrom)), 0) / busy.length / (runLength / 4);
  near(quarter, inQuarter, .02, "the strip's first quarter");
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
      near(parseFloat(line.querySelector("i").style.width), 100 * row.busy / extent, 1e-6, "the bar");
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
  page.run("clear()");
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
  page.key("x");
  page.idle();
  page.key("x");
  page.idle();
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
  const ratio = row => Number(row.b.value) / Number(row.a.value), change = row => Number(row.b.total_ns ?? row.b.total) - Number(row.a.total_ns ?? row.a.total);
  shown().forEach((line, i) => {
    const own = plain(page.run(`(({a, b, verdict}) => ({a, b, verdict}))(data.rows.find(row => row.name === ${JSON.stringify(rows[i].name)} && row.category === ${JSON.stringify(rows[i].category)}))`));
    assert.equal(line.cells[3].textContent, ` ${ratio(own).toFixed(3)}`);
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
    page.run(`fillTracks("launches", "Launch to start", [{verdict: "slower", name: "GPU 0", a: 2, b: 3, noisy: 1}, {verdict: "same", name: "GPU 1", unit: "W", a: 0, b: 3}], [["Value", "b", exact]])`);
    return page.tableTexts(page.byId("launches"));
  };
  page.byId("all").checked = false;
  assert.deepEqual(tracks(), [["slower noise", "GPU 0", "1.500", "3"]]);
  page.byId("search").value = "gpu 1";
  assert.deepEqual(tracks(), [["same", "GPU 1 (W)", "\u2013", "3"]]);
  page.byId("search").value = "nothing";
  assert.deepEqual([tracks(), page.byId("launches").textContent], [[], ""]);
  page.byId("search").value = "";
  page.byId("all").checked = true;
  assert.equal(tracks().length, 2);
}

const busy = open("busy");
for (const check of [texts, histograms, tables, timeline, flame, sums, workersAndGpus, ranges]) check(busy);
for (const name of ["queued", "probes"]) {
  const page = open(name);
  for (const button of page.byId("tabs").querySelectorAll("button")) button.click();
  page.idle();
}
const lost = name => open(name).byId("figures").textContent;
assert.match(lost("dump"), /Records lost or not kept607,968$/);
assert.match(lost("busy"), /Records lost0$/);
noted();
severalNodes();
inside();
diff();
console.log("pages: all passed");
