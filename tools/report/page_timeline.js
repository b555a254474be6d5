/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the view, shows what is under the pointer, and what is selected. */
"use strict";

const tip = document.getElementById("tip");
let frame = 0;

function redraw() {
  if (!frame) frame = requestAnimationFrame(() => {
    frame = 0;
    view.width = canvas.clientWidth;
    GUTTER = view.width < NARROW ? NARROW_GUTTER : WIDE_GUTTER;
    view.height = Math.round(Math.min(contentHeight + AXIS + 6, Math.max(260, window.innerHeight * .58)));
    view.top = Math.max(0, Math.min(view.top, contentHeight + AXIS - view.height));
    drawRows();
    drawOverview();
    const step = axisStep() / 10;
    document.getElementById("range").textContent =
      `${moment(Math.max(Math.min(runFrom, view.to), view.from), step)} to ${moment(view.to, step)}, ${duration(view.to - view.from)} shown`;
    document.getElementById("mode").textContent = view.mode;
    fillCommand();
    notePlace();
    if (!view.ready) redraw();
  });
}

function show(from, to) {
  const wanted = Math.max(LEAST_VIEW_NS, to - from), middle = (from + to) / 2;
  const low = Math.min(whole[0], runFrom), high = Math.max(whole[1], runTo), edge = (high - low) * .01, most = (high - low) + 2 * edge;
  const width = Math.min(wanted, most);
  from = Math.max(low - edge, Math.min(middle - width / 2, high + edge - width));
  view.from = from;
  view.to = from + width;
  redraw();
}
function zoom(factor, centre = (view.from + view.to) / 2) {
  const width = Math.max(LEAST_VIEW_NS, (view.to - view.from) * factor), part = (centre - view.from) / (view.to - view.from);
  show(centre - width * part, centre + width * (1 - part));
}
function pan(part) {
  const step = (view.to - view.from) * part;
  show(view.from + step, view.to + step);
}
function scrollRows(pixels) {
  view.top += pixels;
  redraw();
}
let fitted_view = null;
function fit() {
  show(runFrom - runLength * .004, runTo + runLength * .004);
  fitted_view = {from: view.from, to: view.to};
}
const isWhole = () => fitted_view && view.from === fitted_view.from && view.to === fitted_view.to;

/* ---- what is where --------------------------------------------------------------- */

/* The span of a row at a time, or the nearest one within a few pixels. */
function spanAt(row, time) {
  const slack = scale() * 3;
  let best = null, distance = Infinity;
  if (!stretchesOf(time, time + 1)[0][2]) return null;
  for (const tile of tilesIn(row, time - slack, time + slack)) {
    const {starts, stops, kinds, flags, count} = spansOf(tile);
    for (let i = 0; i < count; i++) {
      const away = time < starts[i] ? starts[i] - time : time > stops[i] ? time - stops[i] : 0;
      if (away > slack || away >= distance) continue;
      distance = away;
      best = {row, start: starts[i], stop: stops[i], kind: kinds[i], flags: flags[i], ...boundsOf(tile, i)};
    }
  }
  return best;
}
function lineAt(y) {
  const place = y - AXIS + view.top;
  return y < AXIS ? null : lines.find(line => line.track && place >= line.y - 1 && place <= line.y + line.height);
}
function isDrawnSingly(row, time) {
  const [from, to, single] = stretchesOf(view.from, view.to).find(([a, b]) => time >= a && time <= b) || [0, 0, false];
  return isSingly(row, from, to, single);
}
function cellAt(row, time) {
  const cells = cellsOf(row, scale() * 2.5), i = Math.floor((time - cells.start) / cells.width), at = cells.at + i;
  if (i < 0 || i >= cells.count) return null;
  return {width: cells.width, begun: cells.begun[at], busy: cells.busy[at] / 255, kind: cells.kinds[at]};
}

/* ---- the tip --------------------------------------------------------------------- */

function paintPattern(element, kind) {
  if (kindPatterns[kind]) element.classList.add(`pattern${kindPatterns[kind]}`);
}
/* The look of a kind. */
function swatch(parent, kind) {
  const box = add(parent, "i", undefined, "swatch");
  box.style.backgroundColor = kindColours[kind] || "#8a8f98";
  paintPattern(box, kind);
}

function fillCounterTip(line, time) {
  const {track} = line, cell = counterAt(line, time);
  if (!cell) return false;
  const value = number => `${Number(number.toPrecision(6))} ${track.unit}`.trim();
  tip.textContent = "";
  add(tip, "b", track.name);
  if (time >= cell.stop) add(tip, "div", `${value(cell.last)} since the last sample`);
  else add(tip, "div", cell.least === cell.greatest ? value(cell.least) : `${value(cell.least)} to ${value(cell.greatest)}, mean ${value(cell.mean)} in ${duration(cell.stop - cell.start)}`);
  return true;
}

function fillTip(line, time) {
  if (line.counter) return fillCounterTip(line, time);
  if (line.fold) return fillFoldTip(line, time);
  const {row, track} = line, span = isDrawnSingly(row, time) ? spanAt(row, time) : null;
  tip.textContent = "";
  if (span) {
    const kind = data.kinds[span.kind];
    swatch(tip, span.kind);
    add(tip, "b", kind.name);
    add(tip, "div", `${duration(span.stop - span.start)} (${exact(span.stop - span.start)} ns)${endOf(span, ", ")}`);
    add(tip, "div", `begins at ${moment(span.start, Math.max(1, axisStep() / 100))}`);
    add(tip, "div", `${describe(kind)} on ${track.name}`);
    for (const one of spanArguments({...span, row}).slice(0, 6)) add(tip, "div", argumentText([one]));
    return true;
  }
  if (isDrawnSingly(row, time)) return false;
  const cell = cellAt(row, time);
  if (!cell || (!cell.begun && !cell.busy)) return false;
  const kind = data.kinds[cell.kind];
  swatch(tip, cell.kind);
  add(tip, "b", kind ? `mostly ${kind.name}` : `${exact(cell.begun)} begun`);
  add(tip, "div", `${percent(cell.busy)} busy, ${exact(cell.begun)} begun in ${duration(cell.width)}`);
  add(tip, "div", `${track.name}, summary${stretchesOf(time, time + 1)[0][2] ? ": zoom in for single spans" : " only: single spans did not fit into the page"}`);
  return true;
}

function describe(kind) {
  const names = {bgwork: `work item, slot ${kind.item}`, am: "active message", xfer: "transfer channel",
    deppart: "partitioning operation", reap: "GPU reap", waiting: "wait", sub_item: "sub-item", gpu: `GPU work of slot ${kind.item}`,
    task: "task", call: "call", wait: "wait", copy: "copy", queued: `work of slot ${kind.item} that waited`};
  return (kind.kind ? `${kind.kind}: ` : "") + (names[kind.category] || kind.category) + (isSubItem(kind) ? `, sub-item ${kind.item}` : "");
}

function hoverAt(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const line = x >= GUTTER - 4 ? lineAt(y) : null;
  tip.hidden = !line || !fillTip(line, timeAt(x));
  if (tip.hidden) return;
  tip.style.left = Math.max(8, Math.min(event.clientX + 16, window.innerWidth - tip.offsetWidth - 12)) + "px";
  tip.style.top = Math.max(8, Math.min(event.clientY + 18, window.innerHeight - tip.offsetHeight - 12)) + "px";
}

/* ---- the selection ---------------------------------------------------------------- */

function linksOf(span) {
  const {track} = span.row, isCall = isWorker(data.tracks[track]), found = [];
  if (span.row.depth > 0) return found;
  for (const tile of linkTiles) {
    if (tile.first > (isCall ? span.stop : span.start) || tile.last < span.start || (!isCall && tile.owner !== track)) continue;
    for (const link of cached(tile, readLinks))
      if (isCall && link.fromTrack === track && link.from >= span.start && link.from < span.stop || tile.owner === track && link.to === span.start)
        found.push({...link, toTrack: tile.owner});
  }
  return found;
}
/* The span that begins then, else the outermost one around. */
function firstSpanAt(track, time) {
  for (const row of data.tracks[track].rows) {
    for (const tile of tilesIn(row, time, time)) {
      const {starts, stops, kinds, flags} = spansOf(tile);
      let i = starts.indexOf(time);
      if (i < 0) i = starts.findIndex((start, at) => start < time && time < stops[at]);
      if (i >= 0) return {row, start: starts[i], stop: stops[i], kind: kinds[i], flags: flags[i], ...boundsOf(tile, i)};
    }
  }
  return null;
}

/* Of GPU work: how wrong its ends may be; inside a kernel: of which block and launch. */
function boundsOf(tile, i) {
  const {early, late, blocks, launches: of} = spansOf(tile);
  if (blocks) return {block: blocks[i], launch: of[i]};
  return early ? {early: early[i], late: late[i]} : {};
}

function select(span) {
  const box = document.getElementById("selected");
  view.selected = span;
  view.links = span ? linksOf(span) : [];
  box.textContent = span ? "" : "Nothing selected.";
  redraw();
  if (!span) return;
  const kind = data.kinds[span.kind], list = add(box, "dl");
  const item = (title, text) => {
    const pair = add(list, "div");
    add(pair, "dt", title);
    return add(pair, "dd", text);
  };
  const title = add(list, "div");
  swatch(title, span.kind);
  add(title, "b", kind.name);
  item("is", describe(kind));
  item("on", data.tracks[span.row.track].name);
  item("from", exactMoment(span.start));
  item("took", `${duration(span.stop - span.start)} = ${exact(span.stop - span.start)} ns${endOf(span, " ")}`);
  for (const [key, value] of spanArguments(span)) item(`${key} =`, argumentValue(value));
  if (span.early || span.late)
    item("certain to", `${duration(span.early)} at its start, ${duration(span.late)} at its end`);
  showInside(item, span);
  for (const link of view.links.slice(0, 8)) showLink(item, span, link);
}
function showInside(item, span) {
  const track = data.tracks[span.row.track], launch = launchOf(span);
  if (isInside(track)) item("of", `${track.level > 2 ? `${track.above.name}, ` : ""}block ${exact(span.block)}`);
  if (launch) add(item("in", launch.name), "button", "Go").addEventListener("click", goInside);
  else if (launchesOn(track).some(one => one.start === span.start && one.stop === span.stop))
    add(item("inside", "what its warps did"), "button", "Go").addEventListener("click", goInside);
}
/* Work that was handed over waited; who takes up what it handed over itself is both ends. */
function showLink(item, span, link) {
  const isFrom = link.fromTrack === span.row.track && link.from >= span.start && link.from < span.stop && link.to !== span.start;
  const track = data.tracks[isFrom ? link.toTrack : link.fromTrack], isHanded = isWorker(data.tracks[link.toTrack]);
  const titles = isHanded ? ["handed work to", "handed over by"] : ["launched work on", "launched by a call on"];
  const place = item(titles[isFrom ? 0 : 1], `${track.name}, ${duration(link.to - link.from)} ${isFrom ? "later" : "before"}`);
  if (isHanded && !isFrom) showMeanwhile(item, link);
  const button = add(place, "button", "Go");
  button.addEventListener("click", () => follow(link, !isFrom));
}
const MEANWHILE = 3;
/* What stood before it: what its worker did while it waited, the longest first. */
function showMeanwhile(item, {toTrack, from, to}) {
  const sums = new Map();
  if (to - from < 1 || !stretchesOf(from, to).every(([, , single]) => single)) return;
  for (const row of data.tracks[toTrack].rows.filter(row => row.depth === 0))
    for (const tile of tilesIn(row, from, to)) {
      const {starts, stops, kinds, count} = spansOf(tile);
      for (let i = 0; i < count; i++) {
        const part = Math.min(stops[i], to) - Math.max(starts[i], from);
        if (part > 0) sums.set(kinds[i], (sums.get(kinds[i]) || 0) + part);
      }
    }
  const all = [...sums].sort((a, b) => b[1] - a[1]).slice(0, MEANWHILE);
  item("behind", all.length ? all.map(([kind, time]) => `${data.kinds[kind].name} for ${duration(time)}`).join(", ") + ` on ${data.tracks[toTrack].name}`
    : `nothing: ${data.tracks[toTrack].name} did nothing meanwhile`);
}
function follow(link, back) {
  const target = firstSpanAt(back ? link.fromTrack : link.toTrack, back ? link.from : link.to);
  if (target) goTo(target);
  else show(link.from - 20000, link.to + 20000);
}
function bringRow(row) {
  reveal(data.tracks[row.track]);
  const {y, height} = row.line, room = view.height - AXIS;
  if (y < view.top || y + height > view.top + room) view.top = y - room / 2;
}
/* Selects a span and shows it, with what is around. */
function goTo(span, width) {
  const length = Math.max(span.stop - span.start, 1), wanted = width || Math.max(length * 4, 400);
  bringRow(span.row);
  show((span.start + span.stop - wanted) / 2, (span.start + span.stop + wanted) / 2);
  select(span);
}
/* Where a table says that something is; the span itself may not be in the page. */
function goToTime(track, start, length) {
  const row = data.tracks[track] && data.tracks[track].rows[0];
  const span = track === undefined ? null : firstSpanAt(track, start);
  document.getElementById("timeline").scrollIntoView({block: "nearest"});
  if (span) return goTo(span);
  if (row) bringRow(row);
  select(null);
  show(start - length, start + 2 * length + 100);
}
/* The next (1) or previous (-1) span of the selected one's row. */
function stepSpan(direction) {
  const chosen = view.selected;
  if (!chosen) return;
  const found = findSpan([chosen.row], chosen, direction, () => true);
  if (found) goTo(found, view.to - view.from);
}

/* ---- the mouse -------------------------------------------------------------------- */

let drag = null;
let marking = null;
/* Shift, or on the axis: marks a range. */
const isMarking = event => event.shiftKey || event.clientY - canvas.getBoundingClientRect().top < AXIS;
const timeUnder = event => timeAt(Math.max(GUTTER, event.clientX - canvas.getBoundingClientRect().left));
canvas.addEventListener("pointerdown", event => {
  if (event.button) return;
  canvas.setPointerCapture(event.pointerId);
  if (isMarking(event)) {
    marking = {time: timeUnder(event), x: event.clientX};
    tip.hidden = true;
    return;
  }
  drag = {x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: view.top, moved: false};
});
canvas.addEventListener("pointermove", event => {
  if (marking) {
    const time = timeUnder(event);
    if (Math.abs(event.clientX - marking.x) > 2) setRange({from: Math.round(Math.min(marking.time, time)), to: Math.round(Math.max(marking.time, time))});
    return;
  }
  canvas.style.cursor = isMarking(event) ? "text" : "";
  if (!drag) return hoverAt(event);
  const x = event.clientX - drag.x, y = event.clientY - drag.y;
  if (!drag.moved && Math.abs(x) + Math.abs(y) < 4) return;
  drag.moved = true;
  tip.hidden = true;
  view.top = drag.top - y;
  show(drag.from - x * scale(), drag.to - x * scale());
});
canvas.addEventListener("pointerup", event => {
  if (marking) {
    if (Math.abs(event.clientX - marking.x) <= 2) setRange(null);
    marking = null;
    canvas.focus({preventScroll: true});
    return;
  }
  const clicked = drag && !drag.moved, box = canvas.getBoundingClientRect();
  drag = null;
  canvas.focus({preventScroll: true});
  if (!clicked) return;
  const line = lineAt(event.clientY - box.top), time = timeAt(event.clientX - box.left);
  if (line && line.fold) clickFold(line, event.clientX - box.left, time);
  else if (line && line.row) select(isDrawnSingly(line.row, time) ? spanAt(line.row, time) : null);
});
canvas.addEventListener("pointercancel", () => drag = marking = null);
canvas.addEventListener("pointerleave", () => tip.hidden = true);
canvas.addEventListener("dblclick", event => {
  const time = timeAt(event.clientX - canvas.getBoundingClientRect().left);
  if (view.selected) goTo(view.selected);
  else zoom(1 / 4, time);
});
canvas.addEventListener("wheel", event => {
  const time = timeAt(event.clientX - canvas.getBoundingClientRect().left), unit = event.deltaMode ? 30 : 1;
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (event.ctrlKey || event.metaKey) zoom(Math.exp(event.deltaY * unit * .004), time);
  else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) pan(sideways * unit / view.width);
  else {
    const before = view.top, most = Math.max(0, contentHeight + AXIS - view.height);
    view.top = Math.max(0, Math.min(most, before + event.deltaY * unit));
    if (view.top === before) return; /* the page scrolls */
    redraw();
  }
  event.preventDefault();
}, {passive: false});

let range = null;
const overviewTime = event => (event.clientX - overview.getBoundingClientRect().left - GUTTER) / Math.max(1, overview.clientWidth - GUTTER) * runLength + runFrom;
overview.addEventListener("pointerdown", event => {
  overview.setPointerCapture(event.pointerId);
  range = overviewTime(event);
});
overview.addEventListener("pointermove", event => {
  if (range === null) return;
  const time = overviewTime(event);
  if (Math.abs(time - range) > runLength / overview.clientWidth * 3) show(Math.min(range, time), Math.max(range, time));
});
overview.addEventListener("pointerup", event => {
  const time = overviewTime(event), width = view.to - view.from;
  if (range !== null && Math.abs(time - range) <= runLength / overview.clientWidth * 3) show(time - width / 2, time + width / 2);
  range = null;
});
window.addEventListener("resize", redraw);
