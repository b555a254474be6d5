/* SPDX-License-Identifier: Apache-2.0 */
/* What probes recorded in kernels: the source with what each line took, who followed whom, and the way to an SM's blocks on
 * the timeline. */
"use strict";

const PROBES_DRAWN = 300, CODE_ROWS = 4000, SMS_LISTED = 160;

/* ---- the data ------------------------------------------------------------------------ */

const sourceOf = new Map(data.sources.map(source => [source.path, source]));
const linesInKernels = data.kernel_lines.map(kernel => ({...kernel, name: kernel.kernel || "(no name)", columns: columnsOf("lines", kernel.lines, {place: null, share: null}),
  between: Number(kernel.between_ns) / (Number(kernel.recorded_ns) + Number(kernel.between_ns) || 1),
  lines: kernel.lines.map(line => ({...line, line: Number(line.line), source: line.line ? sourceOf.get(line.file) : undefined})),
  probes: kernel.probes.map(({probe, place, count, cycles}) => ({id: Number(probe), place, count: Number(count), cycles})),
  edges: kernel.edges.map(({from, to, count}) => ({from: Number(from), to: Number(to), count: Number(count)}))}));
const partOf = (kernel, {cycles}) => Number(kernel.cycles) ? cycles / kernel.cycles : 0;

/* ---- the source ------------------------------------------------------------------------- */

/* A line: numbers where it has records, and its text. */
function codeRow(body, kernel, number, line, text) {
  const row = add(body, "tr"), cell = (value, name) => add(row, "td", value, name);
  const bar = cell(undefined, "heat");
  if (line) {
    const part = partOf(kernel, line);
    add(bar, "i").style.width = `${Math.min(100, part * 100)}%`;
    add(bar, "span", percent(part));
    row.title = `${line.place}: ${exact(line.count)} times, ${exact(line.cycles)} cycles, at most ${exact(line.max)}`;
  }
  for (const column of kernel.columns) line ? addCell(row, column, line) : cell("", "r");
  const kind = line && data.kinds.find(({name, category}) => name === line.place && category === "range");
  const name = number === undefined ? "\u2013" : String(number);
  if (kind) go(cell(undefined, "r"), name, () => goToLongest(kind));
  else cell(name, "r quiet");
  cell(text, "text");
}
function codeTable(parent, kernel) {
  const element = add(parent, "table", undefined, "code"), head = add(add(element, "thead"), "tr");
  for (const {title, left} of [{title: "Share", left: true}, ...kernel.columns, {title: "Line"}, {title: "Source", left: true}]) add(head, "th", title, left ? "" : "r");
  return add(element, "tbody");
}
/* Lines of one file: with its text all of them from the first to the last, else those with records. */
function fillSource(parent, kernel, source) {
  const lines = kernel.lines.filter(line => line.source === source).sort((a, b) => a.line - b.line || naturally(a.place, b.place));
  const first = lines[0].line, last = lines[lines.length - 1].line, texts = source ? source.lines : [];
  add(parent, "h3", source ? source.path : "Without a source line");
  const body = codeTable(parent, kernel), text = number => texts[number - source.first];
  const plain = !texts.length || last - first >= CODE_ROWS;
  if (source && !texts.length) add(parent, "p", "The source was not found when this page was made: see -\u2060-\u2060source of rbwp report.", "caption");
  if (plain) return lines.slice(0, CODE_ROWS).forEach(line => codeRow(body, kernel, line.line || undefined, line, source && text(line.line) || line.place));
  for (let number = Math.max(source.first, first - 3), at = 0; number <= last + 3 && number < source.first + texts.length; number++) {
    if (!lines[at] || lines[at].line !== number) codeRow(body, kernel, number, undefined, text(number));
    for (; lines[at] && lines[at].line === number; at++) codeRow(body, kernel, number, lines[at], text(number));
  }
}

/* ---- control flow ------------------------------------------------------------------------ */

const NODE = {width: 300, height: 22, step: 40, lane: 26};

/* Arcs on one side, each in the first lane where no other one is beside it; short ones first. */
function laneArcs(arcs) {
  const lanes = [];
  for (const arc of arcs.sort((a, b) => a.bottom - a.top - (b.bottom - b.top))) {
    arc.lane = lanes.findIndex(taken => taken.every(({top, bottom}) => arc.bottom < top || arc.top > bottom));
    if (arc.lane < 0) arc.lane = lanes.push([]) - 1;
    lanes[arc.lane].push(arc);
  }
  return lanes.length;
}
/* Some probes only end records: labels that are never come to but by a jump. */
function withEnds({probes, edges}) {
  const ends = new Map(), known = new Set(probes.map(({id}) => id));
  for (const {to, count} of edges) if (!known.has(to)) ends.set(to, (ends.get(to) || 0) + count);
  return probes.concat([...ends].map(([id, count]) => ({id, count, cycles: 0})));
}
/* Probes from top to bottom as they stand in the kernel; what goes on to the next one is between them, jumps on are on the right,
 * loops on the left. */
function drawFlow(parent, kernel) {
  const probes = withEnds(kernel), shown = probes.slice().sort((a, b) => b.count - a.count).slice(0, PROBES_DRAWN).sort((a, b) => a.id - b.id);
  const place = new Map(shown.map(({id}, at) => [id, at])), most = Math.max(1, ...kernel.edges.map(({count}) => count));
  const edges = kernel.edges.filter(({from, to}) => place.has(from) && place.has(to)).map(({from, to, count}) => {
    const a = place.get(from), b = place.get(to);
    return {from, to, count, a, b, top: Math.min(a, b), bottom: Math.max(a, b)};
  });
  const loops = edges.filter(({a, b}) => b <= a), jumps = edges.filter(({a, b}) => b > a + 1);
  const left = 60 + laneArcs(loops) * NODE.lane, right = left + NODE.width, width = right + laneArcs(jumps) * NODE.lane + 80;
  const picture = shape(parent, "svg", {width, height: shown.length * NODE.step + 12, role: "img", "aria-label": "control flow"});
  const pen = count => 1 + 3 * Math.log1p(count) / Math.log1p(most), middle = at => at * NODE.step + 8 + NODE.height / 2;
  const edge = (path, {from, to, count}, x, y, anchor) => {
    const line = shape(picture, "path", {d: path, class: "edge", "stroke-width": pen(count)});
    shape(line, "title").textContent = `probe ${from} to ${to}: ${exact(count)} times`;
    shape(picture, "text", {x, y, "text-anchor": anchor}).textContent = exact(count);
  };
  for (const one of edges.filter(({a, b}) => b === a + 1)) {
    const x = left + 24, y = middle(one.a) + NODE.height / 2;
    edge(`M${x} ${y}V${y + NODE.step - NODE.height}`, one, x + 8, y + 13, "start");
  }
  for (const one of loops) {
    const x = left - 10 - one.lane * NODE.lane, from = middle(one.a) + 5, to = middle(one.b) - 5;
    edge(`M${left} ${from}H${x}V${to}H${left}m-5 -3l5 3l-5 3`, one, x - 3, (from + to) / 2 + 4, "end");
  }
  for (const one of jumps) {
    const x = right + 10 + one.lane * NODE.lane, from = middle(one.a) + 5, to = middle(one.b) - 5;
    edge(`M${right} ${from}H${x}V${to}H${right}m5 -3l-5 3l5 3`, one, x + 3, (from + to) / 2 + 4, "start");
  }
  for (const [at, probe] of shown.entries()) {
    const y = at * NODE.step + 8, name = probe.place || "(only ends)";
    shape(picture, "rect", {x: left, y, width: NODE.width, height: NODE.height, rx: 4, class: "probe"});
    shape(picture, "rect", {x: left, y, width: Math.min(1, partOf(kernel, probe)) * NODE.width, height: NODE.height, rx: 4, class: "hot"});
    const label = shape(picture, "text", {x: left + 8, y: y + 15, class: "label"});
    label.textContent = `${probe.id}  ${name.length > 34 ? `${name.slice(0, 33)}\u2026` : name}`;
    shape(label, "title").textContent = `probe ${probe.id}, ${name}: ${exact(probe.count)} times, ${exact(probe.cycles)} cycles`;
    shape(picture, "text", {x: right - 8, y: y + 15, "text-anchor": "end"}).textContent = `${exact(probe.count)} \u00d7`;
  }
  if (shown.length < probes.length)
    add(parent, "p", `The ${exact(shown.length)} of ${exact(probes.length)} probes that were gone through most often.`, "caption");
}

/* ---- an SM over time ----------------------------------------------------------------------- */

/* The kernel's longest launch on that GPU, with the SM's warps in sight. */
function goToSm(track, kernel) {
  const [launch] = launchesOn(track.gpu).filter(({name}) => name === kernel.name).sort((a, b) => b.stop - b.start - (a.stop - a.start));
  reveal(track);
  opened.add(track);
  layOut();
  view.top = lines.find(line => line.track === track).y - 8;
  document.getElementById("timeline").scrollIntoView({block: "nearest"});
  if (launch) show(launch.start - (launch.stop - launch.start) * .02, launch.stop + (launch.stop - launch.start) * .02);
  redraw();
}
function fillSms(parent, kernel) {
  const sms = data.tracks.filter(track => isFold(track) && track.level === 2 && track.above.name === "blocks").sort((a, b) => naturally(a.name, b.name));
  if (!sms.length) return;
  const text = add(parent, "p", "Its blocks over time: ", "caption");
  sms.slice(0, SMS_LISTED).forEach((track, i) => {
    if (i) text.append(", ");
    go(text, track.name, () => goToSm(track, kernel));
  });
  if (sms.length > SMS_LISTED) text.append(` and ${exact(sms.length - SMS_LISTED)} more, on the timeline`);
}

/* ---- the tab ----------------------------------------------------------------------------------- */

function fillKernel(parent, kernel) {
  add(parent, "p", `${exact(kernel.launches)} launch${Number(kernel.launches) === 1 ? "" : "es"} recorded, ${exact(kernel.lanes)} lanes (threads that recorded, of each launch), ${exact(kernel.records)} records, ${exact(kernel.cycles)} cycles. ${(100 * kernel.between).toFixed(1)} % of the lanes' time lie between records: what probes store, and code that has none.`, "caption");
  fillSms(parent, kernel);
  for (const source of new Set(kernel.lines.slice().sort((a, b) => b.cycles - a.cycles).map(line => line.source))) fillSource(parent, kernel, source);
  add(parent, "h3", "Control flow");
  add(parent, "p", "How often lanes went from one probe to the next, in the order in which probes stand in the kernel: on to the next one between the boxes, jumps on the right, loops on the left. A box is as full as its share of the cycles.", "caption");
  drawFlow(parent, kernel);
}
function fillLines(parent) {
  add(parent, "p", "What probes in the instructions recorded, added up by source line. Shares are of the cycles of all lanes, less what a probe itself takes; a line's time has in it what other warps did meanwhile, and the assembler may move instructions across probes: read shares, and mistrust lines of a few cycles. Count: how often it was gone through. p50, p99: cycles of one time. Spread: how far lanes lie apart, 1 \u2212 least / greatest of their sums.", "caption");
  const box = add(parent, "div", undefined, "kernels"), below = add(parent, "div");
  const open = number => {
    below.textContent = "";
    [...box.children].forEach((button, i) => button.setAttribute("aria-pressed", i === number));
    fillKernel(below, linesInKernels[number]);
  };
  linesInKernels.forEach(({name}, number) => {
    const button = add(box, "button", name);
    button.type = "button";
    button.addEventListener("click", () => open(number));
  });
  open(0);
}
