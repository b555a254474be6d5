/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels noted inside: tracks below a GPU, which fold (all of a GPU, an SM or block, a group of warps), and the
 * launches that they lie under. Draws what is folded as one row, and kernels above what is not. */
"use strict";

const OPEN_PLACES = 16, OPEN_ROWS = 48, KERNELS_DRAWN = 400;

/* ---- the tree ---------------------------------------------------------------------- */

const isInside = track => track.parent !== undefined;
data.tracks.forEach(track => track.below = []);
for (const track of data.tracks) { /* those above come first */
  if (!isInside(track)) continue;
  track.above = data.tracks[track.parent];
  track.above.below.push(track);
  track.gpu = track.above.gpu || track.above;
  track.level = (track.above.level || 0) + 1;
}
const rowsBelow = track => track.below.reduce((rows, below) => rows.concat(rowsBelow(below)), track.rows);
const isFold = track => isInside(track) && track.below.length > 0;
for (const track of data.tracks) track.allRows = isFold(track) ? rowsBelow(track) : [];

/* Few of them are seen at once. */
const opened = new Set();
for (const {below} of data.tracks.filter(track => !isInside(track)))
  for (const all of below.filter(isFold)) {
    if (all.below.length <= OPEN_PLACES) opened.add(all);
    if (all.allRows.length <= OPEN_ROWS) all.below.filter(isFold).forEach(place => opened.add(place));
  }
const isSeen = track => !isInside(track) || !isInside(track.above) || opened.has(track.above) && isSeen(track.above);

/* Of a worker: how long its work had waited. */
const besides = new Map();
for (const track of data.tracks) if (track.of !== undefined) besides.set(track.of, [...(besides.get(track.of) || []), track]);
const besideOf = track => besides.get(track.number) || [];

/* Behind each track those below it, by name: SM 2 before SM 10. */
const tracksAsShown = (() => {
  const shown = [];
  const add = track => {
    shown.push(track, ...besideOf(track));
    track.below.sort((a, b) => naturally(a.name, b.name) || a.number - b.number).forEach(add);
  };
  tracksInOrder.filter(track => !isInside(track) && track.of === undefined).forEach(add);
  return shown;
})();

/* ---- kernels ------------------------------------------------------------------------ */

const launches = data.inside_launches.map(([gpu, kernel, start, length, id]) =>
  ({gpu, kernel, start, stop: start + Number(length), id: Number(id), name: data.inside[kernel].kernel}));
const launchesOn = gpu => gpu.launched || (gpu.launched = launches.filter(launch => launch.gpu === gpu.number));
/* That a span inside belongs to: by its id, else the last one that is around it. */
function launchOf(span) {
  const track = data.tracks[span.row.track];
  if (!isInside(track)) return null;
  const all = launchesOn(track.gpu), around = all.filter(launch => launch.start <= span.start && launch.stop >= span.stop);
  return span.launch && all.find(launch => launch.id === span.launch) || around[around.length - 1] || null;
}
const launchAt = (gpu, time) => launchesOn(gpu).filter(launch => launch.start <= time && launch.stop >= time).pop();

/* ---- what is folded, as one row ------------------------------------------------------- */

/* How many of the rows' lanes are busy and wait, about, in each of the columns of a stretch. */
function togetherIn(track, from, to, columns) {
  const key = `${from} ${to} ${columns}`, width = (to - from) / columns;
  if (track.together && track.together.key === key) return track.together;
  const busy = new Float32Array(columns), waiting = new Float32Array(columns);
  for (const row of track.allRows) {
    const cells = cellsOf(row, width), last = Math.min(cells.count - 1, Math.floor((to - cells.start) / cells.width));
    for (let i = Math.max(0, Math.floor((from - cells.start) / cells.width)); i <= last; i++) {
      const share = cells.busy[cells.at + i] / 255, kind = data.kinds[cells.kinds[cells.at + i]];
      if (!share) continue;
      const left = (cells.start + i * cells.width - from) / width, right = left + cells.width / width;
      for (let x = Math.max(0, Math.floor(left)); x < Math.min(columns, right); x++) {
        const part = share * (Math.min(right, x + 1) - Math.max(left, x));
        if (kind && kind.waits) waiting[x] += part;
        if (row.depth === 0 ? !(kind && kind.waits) : kind && kind.waits) busy[x] += row.depth === 0 ? part : -part;
      }
    }
  }
  const lanes = Math.max(1, track.allRows.filter(row => row.depth === 0).length);
  return track.together = {key, busy, waiting, lanes, width};
}
const FOLD_COLUMN = 2; /* pixels */
const togetherInView = track => togetherIn(track, view.from, view.to, Math.max(1, Math.ceil((view.width - GUTTER) / FOLD_COLUMN)));

function drawTogether(context, line, y) {
  const {busy, waiting, lanes} = togetherInView(line.track), room = line.height;
  for (let x = 0; x < busy.length; x++) {
    const low = Math.max(0, busy[x]) / lanes * room, high = waiting[x] / lanes * room, left = GUTTER + x * FOLD_COLUMN;
    if (low > 0) {
      context.fillStyle = ink.accent;
      context.fillRect(left, y + room - Math.max(1, low), FOLD_COLUMN, Math.max(1, low));
    }
    if (high > 0) {
      context.fillStyle = ink.accent;
      context.globalAlpha = .35;
      context.fillRect(left, y + room - low - high, FOLD_COLUMN, high);
      context.globalAlpha = 1;
    }
  }
}

/* ---- kernels above lanes ---------------------------------------------------------------- */

const launchesInView = gpu => launchesOn(gpu).filter(launch => launch.stop >= view.from && launch.start <= view.to);
function drawKernels(context, line, y) {
  const drawn = launchesInView(line.track.gpu);
  context.globalAlpha = .8;
  for (const {start, stop, name} of drawn.slice(0, KERNELS_DRAWN * 10)) {
    const left = Math.max(GUTTER - 1, xOf(start)), width = Math.max(1, Math.min(xOf(stop), view.width + 1) - left);
    context.fillStyle = colourOf(name);
    context.fillRect(left, y + 2, width, line.height - 4);
    if (width < TEXT_LEAST) continue;
    context.fillStyle = isDark(colourOf(name)) ? "#ffffff" : "#16202c";
    context.fillText(fitted(context, name, width - 9), left + 5, y + line.height / 2 + .5);
  }
  context.globalAlpha = 1;
}
/* Where they begin and end, behind the rows. */
function drawKernelEdges(context, line, y) {
  const drawn = launchesInView(line.track.gpu);
  if (drawn.length > KERNELS_DRAWN) return;
  for (const {start, stop} of drawn) {
    const left = Math.max(GUTTER - 1, xOf(start)), right = Math.min(view.width, xOf(stop));
    context.fillStyle = ink.shade;
    context.fillRect(left, y, right - left, line.height + 1);
    context.fillStyle = ink.line;
    for (const time of [start, stop]) if (xOf(time) >= GUTTER) context.fillRect(Math.round(xOf(time)), y, 1, line.height + 1);
  }
}
function drawFold(context, line, y) {
  if (!opened.has(line.track)) drawTogether(context, line, y);
  else if (line.track.level === 1) drawKernels(context, line, y);
}

/* ---- what the user does ------------------------------------------------------------------ */

function toggleFold(track) {
  if (!opened.delete(track)) opened.add(track);
  layOut();
  redraw();
}
function toggleFolds() {
  const folds = data.tracks.filter(isFold), open = folds.some(track => !opened.has(track));
  folds.forEach(track => open ? opened.add(track) : opened.delete(track));
  layOut();
  redraw();
}
/* Opens what hides a track. */
function reveal(track) {
  if (isSeen(track)) return;
  for (let above = track.above; above; above = above.above) if (isFold(above)) opened.add(above);
  layOut();
}
/* A launch from its start to its stop, with what is inside in sight. */
function goToLaunch({gpu, start, stop}) {
  const all = data.tracks[gpu].below.find(isFold), margin = (stop - start) * .02;
  if (all) {
    opened.add(all);
    layOut();
    view.top = lines.find(line => line.track === data.tracks[gpu]).y - 8;
  }
  document.getElementById("timeline").scrollIntoView({block: "nearest"});
  show(start - margin, stop + margin);
}
/* From a span inside to its kernel, from a GPU's work into it. */
function goInside() {
  const chosen = view.selected;
  if (!chosen) return;
  const track = data.tracks[chosen.row.track];
  const launch = isInside(track) ? launchOf(chosen) : launchesOn(track).find(one => one.start === chosen.start && one.stop === chosen.stop);
  if (launch) goToLaunch(launch);
}
function clickFold(line, x, time) {
  const launch = x >= GUTTER && opened.has(line.track) && line.track.level === 1 ? launchAt(line.track.gpu, time) : null;
  if (launch) goToLaunch(launch);
  else toggleFold(line.track);
}
function fillFoldTip(line, time) {
  const {track} = line, launch = launchAt(track.gpu, time), {busy, waiting, lanes, width} = togetherInView(track);
  const x = Math.floor((time - view.from) / width);
  if (!launch && !(busy[x] > 0) && !(waiting[x] > 0)) return false;
  tip.textContent = "";
  add(tip, "b", launch ? launch.name : track.name);
  if (launch) add(tip, "div", `${duration(launch.stop - launch.start)}, from ${moment(launch.start, Math.max(1, axisStep() / 100))}`);
  add(tip, "div", `${track.name}: of ${exact(lanes)} lanes about ${percent(Math.max(0, busy[x]) / lanes)} busy, ${percent(waiting[x] / lanes)} waiting`);
  add(tip, "div", `Click to ${opened.has(track) ? track.level === 1 && launch ? "zoom to the kernel" : "fold" : "unfold"}`);
  return true;
}

/* ---- the table ----------------------------------------------------------------------------- */

const groupsInside = data.inside.flatMap((kernel, number) => kernel.groups.map(group =>
  ({...group, kernel, number})));
const overlapsInside = data.inside.flatMap((kernel, number) => kernel.overlaps.map(({groups, both, share}) =>
  ({kernel, number, name: groups.join(" and "), both: Number(both), share})));

const kernelName = ({kernel}) => kernel.kernel || "no work of a GPU around";
const kernelColumn = {title: "Kernel", left: true, value: kernelName, fill: (cell, row) => {
  const of = launches.filter(launch => launch.kernel === row.number).sort((a, b) => b.stop - b.start - (a.stop - a.start));
  if (of.length) go(cell, kernelName(row), () => goToLaunch(of[0]));
  else cell.append(kernelName(row));
}};
function fillInside(parent) {
  add(parent, "p", "What groups of warps noted inside kernels, as shares of the time of their blocks: from the first start to the last stop that any group of the block noted. A group does what its innermost span says: it waits in a span whose event is called wait\u2026 or barrier, or has an id of synchronisation (3072 to 4095) and no name; in any other it is busy; of the rest nothing is known. A kernel leads to its longest launch.", "caption");
  table(parent, columnsOf("groups", groupsInside, {kernel: kernelColumn, group: "Group", "kernel.launches": "Launches", lanes: "Lanes", spans: "Spans", instants: "Instants",
    unended: groupsInside.some(row => Number(row.unended)) ? "Never ended" : null, busy_share: "Busy", waiting_share: "Waiting", busy: "Busy time",
    waiting: "Waiting time", time: time("Block time")}), groupsInside, "kernel");
  if (!overlapsInside.length) return;
  add(parent, "p", "Two groups overlap while both are busy in the same block; the share is of the busy time of the one that was less busy: 100 % if it was hidden wholly behind the other.", "caption");
  table(parent, columnsOf("", overlapsInside, {kernel: kernelColumn, name: {title: "Groups", form: "text"}, share: {title: "Overlap", form: "share"}, both: time("Both busy")}),
    overlapsInside, "share");
}
