/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the rows, the axis and the strip of the whole run. Knows the view, leaves what changes it to
 * page_timeline.js. A row is drawn span by span where there are single spans and few enough of
 * them in sight, else from its summary: the height of a bar is how busy the row was. */
"use strict";

const AXIS = 26, ROW = 18, INNER_ROW = 12, WAIT_ROW = 5, COUNTER = 34, TRACK_GAP = 7, PROCESS = 26;
const WIDE_GUTTER = 204, NARROW_GUTTER = 92, NARROW = 640;
let GUTTER = WIDE_GUTTER;
const LEAST_VIEW_NS = 16, SPANS_A_PIXEL = 4, TEXT_LEAST = 34, UNPACK_MS = 10;

const overview = document.getElementById("overview"), canvas = document.getElementById("rows");
const view = {from: runFrom, to: runTo, top: 0, height: 0, width: 0, hover: null, selected: null, range: null, links: [],
  matches: null, only: null, ready: true, unpackMs: 0, tilesWanted: 0, mode: ""};
const ink = {};

function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["bg", "panel", "text", "quiet", "line", "line-soft", "accent", "red", "shade"])
    ink[name] = style.getPropertyValue("--" + name).trim();
}
function isDark(colour) {
  const value = parseInt(colour.slice(1), 16);
  return (value >> 16) * .3 + (value >> 8 & 255) * .59 + (value & 255) * .11 < 140;
}
/* Stripes, dots and crosses over a colour. */
const patterns = (() => {
  const draws = [null, (c, n) => [-n, 0, n].forEach(x => (c.moveTo(x, n), c.lineTo(x + n, 0))), (c, n) => c.rect(n / 2 - 1, n / 2 - 1, 1.5, 1.5),
    (c, n) => (c.moveTo(0, n / 2), c.lineTo(n, n / 2), c.moveTo(n / 2, 0), c.lineTo(n / 2, n))];
  return draws.map(draw => {
    if (!draw) return null;
    const tile = document.createElement("canvas"), context = tile.getContext("2d");
    tile.width = tile.height = 6;
    context.strokeStyle = "rgba(255, 255, 255, .5)";
    context.beginPath();
    draw(context, 6);
    context.stroke();
    return context.createPattern(tile, "repeat");
  });
})();
const kindInks = kindColours.map(colour => isDark(colour) ? "#ffffff" : "#16202c");

/* ---- where rows are -------------------------------------------------------------- */

let lines = [], contentHeight = 0;
/* Anew when something is folded or unfolded. */
function layOut() {
  let y = 4, process = -1;
  lines = [];
  data.rows.forEach(row => row.line = null);
  for (const track of tracksAsShown) {
    if (!track.rows.length && !track.line && !track.allRows.length || !isSeen(track)) continue;
    if (track.owner !== process) {
      process = track.owner;
      const {name, host} = data.processes[process];
      lines.push({y, height: PROCESS, title: host && host !== name ? `${name}, ${host}` : name});
      y += PROCESS;
    }
    if (isFold(track)) {
      lines.push({y, height: ROW, fold: true, track, label: true});
      y += ROW + 1;
    }
    track.rows.sort((a, b) => a.lane - b.lane || a.depth - b.depth);
    track.rows.forEach((row, place) => {
      const height = track.of !== undefined ? WAIT_ROW : row.depth === 0 ? ROW : INNER_ROW;
      lines.push({y, height, row, track, label: place === 0 && !isFold(track)});
      row.line = lines[lines.length - 1];
      y += height + 1;
    });
    if (track.line) {
      lines.push({y, height: COUNTER, counter: track.line, track, label: true});
      y += COUNTER + 1;
    }
    y += isInside(track) ? 1 : TRACK_GAP;
    if (besideOf(track).some(other => other.rows.length)) y -= TRACK_GAP - 2; /* they lie close to whom they are of */
  }
  contentHeight = y;
}
layOut();

const scale = () => (view.to - view.from) / Math.max(1, view.width - GUTTER); /* ns a pixel */
const xOf = time => GUTTER + (time - view.from) / scale();
const timeAt = x => view.from + (x - GUTTER) * scale();

function sized(element, height) {
  const ratio = window.devicePixelRatio, width = element.clientWidth;
  if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    element.style.height = height + "px";
  }
  const context = element.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "middle";
  return context;
}

/* ---- one row ---------------------------------------------------------------------- */

const isDim = kind => view.matches !== null && !view.matches.has(kind);

function drawCells(context, row, y, height, from, to) {
  const cells = cellsOf(row, scale() * 2.5), {width} = cells;
  const low = Math.max(0, Math.floor((from - cells.start) / width));
  const high = Math.min(cells.count - 1, Math.floor((to - cells.start) / width));
  let colour = "";
  for (let i = low; i <= high; i++) {
    const share = cells.busy[cells.at + i], begun = cells.begun[cells.at + i];
    if (!share && !begun) continue;
    const kind = cells.kinds[cells.at + i], start = cells.start + i * width;
    const left = Math.round(xOf(Math.max(start, from))), right = Math.round(xOf(Math.min(start + width, to)));
    const wanted = kindColours[kind] || "#8a8f98";
    if (wanted !== colour) context.fillStyle = colour = wanted;
    context.globalAlpha = isDim(kind) ? .13 : data.kinds[kind] && data.kinds[kind].waits ? .45 : 1;
    const bar = Math.max(1.5, share / 255 * height);
    context.fillRect(left, y + height - bar, Math.max(1, right - left), bar);
  }
  context.globalAlpha = 1;
}

const textWidths = new Map();
function fitted(context, text, room) {
  if (!textWidths.has(text)) {
    if (textWidths.size > 20000) textWidths.clear();
    textWidths.set(text, context.measureText(text).width);
  }
  const width = textWidths.get(text);
  if (width <= room) return text;
  const letters = Math.floor(text.length * room / width) - 1;
  return letters > 2 ? text.slice(0, letters) + "\u2026" : "";
}

/* Of what was not on a CPU the rest is paler, above what was, as in summaries. */
function drawSpan(context, kind, flags, off, left, right, y, height, wide) {
  const shown = Math.max(left, GUTTER - 1), width = Math.max(1, Math.min(right, view.width + 1) - shown);
  const alpha = isDim(kind) ? .13 : data.kinds[kind].waits ? .45 : 1, drawn = width > 4 ? width - .6 : width;
  context.globalAlpha = off ? alpha * .45 : alpha;
  context.fillStyle = kindColours[kind] || "#8a8f98";
  context.fillRect(shown, y, drawn, height);
  context.globalAlpha = alpha;
  if (off) context.fillRect(shown, y + height * off, drawn, height * (1 - off));
  if (kindPatterns[kind] && width > 4 && height > WAIT_ROW) {
    context.fillStyle = patterns[kindPatterns[kind]];
    context.fillRect(shown, y, width - .6, height);
  }
  if (flags & 1) { /* its end is not known */
    context.fillStyle = ink.red;
    context.fillRect(Math.min(right, view.width) - 2.5, y, 2.5, height);
  }
  if (!wide || width < TEXT_LEAST || height < 11) return;
  context.globalAlpha = isDim(kind) ? .13 : 1;
  context.fillStyle = data.kinds[kind].waits || off >= .5 ? ink.text : kindInks[kind] || "#16202c";
  context.fillText(fitted(context, data.kinds[kind].name, width - 9), shown + 5, y + height / 2 + .5);
}

function drawSpans(context, tiles, y, height, from, to) {
  const step = scale();
  for (const tile of tiles) {
    const {starts, stops, kinds, flags, off, count} = spansOf(tile);
    let last = -1;
    for (let i = 0; i < count; i++) {
      if (stops[i] < from || starts[i] > to) continue;
      const left = GUTTER + (Math.max(starts[i], from) - view.from) / step;
      const right = GUTTER + (Math.min(stops[i], to) - view.from) / step;
      if (right - left < .8) { /* one for each pixel is enough */
        if (Math.floor(left) === last) continue;
        last = Math.floor(left);
      }
      drawSpan(context, kinds[i], flags[i], off[i], left, right, y, height, true);
    }
  }
  context.globalAlpha = 1;
}

function spansInSight(tiles, from, to) {
  let count = 0;
  for (const tile of tiles) {
    const part = (Math.min(tile.last, to) - Math.max(tile.first, from)) / Math.max(1, tile.last - tile.first);
    count += tile.count * Math.min(1, Math.max(0, part));
  }
  return count;
}

/* True when a stretch of a row is drawn span by span: they are few for its width on the screen. */
function isSingly(row, from, to, single) {
  if (!single) return false;
  const tiles = tilesIn(row, from, to);
  return tiles.length < TILE_CACHE / 8 && spansInSight(tiles, from, to) < SPANS_A_PIXEL * ((to - from) / scale() + 2);
}

/* True when all tiles are unpacked. Unpacks UNPACK_MS long in a frame, one at least: the time that
 * drawing takes does not count, or rows drawn late would never get theirs. */
function unpackTiles(tiles) {
  for (const tile of tiles) {
    if (isLoaded(tile)) continue;
    if (view.unpackMs <= 0) {
      view.ready = false;
      return false;
    }
    const begun = performance.now();
    spansOf(tile);
    view.unpackMs -= Math.max(.05, performance.now() - begun);
  }
  return true;
}

function drawRow(context, line, y) {
  const tally = {spans: 0, cells: 0};
  for (const [from, to, single] of stretchesOf(view.from, view.to)) {
    const tiles = isSingly(line.row, from, to, single) ? tilesIn(line.row, from, to) : null;
    if (tiles && (view.tilesWanted += tiles.length) < TILE_CACHE && unpackTiles(tiles)) {
      drawSpans(context, tiles, y, line.height, from, to);
      tally.spans++;
    } else {
      drawCells(context, line.row, y, line.height, from, to);
      tally.cells++;
    }
  }
  return tally;
}

/* ---- counters ------------------------------------------------------------------------ */

/* What a cell has, and until when its last value holds. */
function* counterCells({from, width, cells}) {
  for (let i = 0; i < cells.length; i++) {
    const [place, least, mean, greatest, last] = cells[i], start = Number(from) + place * Number(width);
    const until = i + 1 < cells.length ? Number(from) + cells[i + 1][0] * Number(width) : Infinity;
    yield {start, stop: Math.min(until, start + Number(width)), until, least, mean, greatest, last};
  }
}
/* Values from the foot to the top of a row; 0 is in it. */
function counterScale(track, y, height) {
  const low = Math.min(0, Number(track.counter.min)), high = Math.max(0, Number(track.counter.max)), room = height - 3;
  return value => y + height - 1.5 - (high > low ? (value - low) / (high - low) : 0) * room;
}
/* A band from the least to the greatest of each cell, and a line through the means, which stays
 * where the last value was until the next sample. */
function drawCounter(context, line, y) {
  const yOf = counterScale(line.track, y, line.height), at = time => Math.max(GUTTER - 2, Math.min(view.width + 2, xOf(time)));
  const path = [];
  context.fillStyle = context.strokeStyle = ink.accent;
  context.globalAlpha = .25;
  for (const cell of counterCells(line.counter)) {
    if (cell.until < view.from || cell.start > view.to) continue;
    const left = at(cell.start), right = at(cell.stop), end = at(Math.min(cell.until, view.to)), top = yOf(cell.greatest);
    context.fillRect(left, top, Math.max(1, right - left), Math.max(1, yOf(cell.least) - top));
    path.push([left, yOf(cell.mean)], [right, yOf(cell.mean)]);
    if (end > right) path.push([right, yOf(cell.last)], [end, yOf(cell.last)]);
  }
  context.globalAlpha = 1;
  context.lineWidth = 1.2;
  context.beginPath();
  path.forEach(([px, py], i) => i ? context.lineTo(px, py) : context.moveTo(px, py));
  context.stroke();
}
/* The cell around a time; null before the first. */
function counterAt({counter}, time) {
  let found = null;
  for (const cell of counterCells(counter)) if (cell.start <= time) found = cell;
  return found;
}

/* ---- around the rows ---------------------------------------------------------------- */

function drawLabel(context, line, y) {
  if (line.track.of !== undefined && !line.label) return; /* the first one's stands here */
  context.fillStyle = ink.panel;
  context.fillRect(0, y - 1, GUTTER - 4, line.height + 2);
  if (!line.label) return;
  const {track} = line, busy = Number(track.busy) / extent;
  if (isInside(track)) return drawInsideLabel(context, line, y);
  if (track.of !== undefined) return drawWaitLabel(context, line, y);
  if (GUTTER < WIDE_GUTTER) return drawNarrowLabel(context, line, y);
  context.textAlign = "right";
  context.fillStyle = Number(track.lost_records) > 0 ? ink.red : ink.quiet;
  context.fillText(Number(track.lost_records) > 0 ? `lost ${exact(track.lost_records)}` : line.counter ? `\u2264 ${track.counter.max} ${track.unit}`.trim() : percent(busy), GUTTER - 12, y + line.height / 2 + .5);
  context.textAlign = "left";
  context.fillStyle = ink.text;
  context.fillText(fitted(context, track.name, GUTTER - 84), 14, y + line.height / 2 + .5);
}

/* How long the work of the worker above had waited. */
function drawWaitLabel(context, {track, row}, y) {
  context.textAlign = "right";
  context.fillStyle = ink.quiet;
  context.font = context.font.replace("11.5px", "10px");
  context.fillText(fitted(context, `${exact(track.spans)} ${track.name === "queued" ? "waits" : track.name}`, GUTTER - 24), GUTTER - 12, y + row.line.height / 2 + 1);
  context.font = context.font.replace("10px", "11.5px");
  context.textAlign = "left";
}
function drawNarrowLabel(context, {track, height}, y) {
  context.fillStyle = Number(track.lost_records) > 0 ? ink.red : ink.text;
  context.fillText(fitted(context, track.name, GUTTER - 14), 6, y + height / 2 + .5);
}

function drawInsideLabel(context, {track, fold, height}, y) {
  const left = 14 + 10 * (track.level - 1), name = fold ? `${opened.has(track) ? "\u25be" : "\u25b8"} ${track.name}` : track.name;
  context.textAlign = "right";
  context.fillStyle = ink.quiet;
  context.fillText(fold ? exact(track.below.length) : `${exact(track.spans)} spans`, GUTTER - 12, y + height / 2 + .5);
  context.textAlign = "left";
  context.fillStyle = ink.text;
  context.fillText(fitted(context, name, GUTTER - 96 - 10 * (track.level - 1)), left, y + height / 2 + .5);
}

function drawTitle(context, line, y) {
  context.fillStyle = ink.panel;
  context.fillRect(0, y, view.width, line.height);
  context.fillStyle = ink.quiet;
  context.font = "600 " + context.font;
  context.fillText(fitted(context, line.title, view.width - 40), 14, y + line.height / 2 + 2);
  context.font = context.font.replace(/^(normal )?(600|bold) /, "");
}

function axisStep() {
  const rough = scale() * 110, power = 10 ** Math.floor(Math.log10(rough));
  return Math.max(1, [1, 2, 5, 10].find(factor => factor * power >= rough) * power);
}

/* Where lines stand: whole steps from the run's zero. */
/* Zero may lie so far away that steps from it would be none. */
function* axisTimes(step) {
  const first = Math.ceil((view.from + sinceZero) / step) * step - sinceZero;
  for (let i = 0; first + i * step <= view.to; i++) yield first + i * step;
}

function drawGrid(context, height) {
  const step = axisStep();
  context.fillStyle = ink["line-soft"];
  for (const time of axisTimes(step)) context.fillRect(Math.round(xOf(time)), AXIS, 1, height - AXIS);
}

function hatch(context, left, right, y, height) {
  context.save();
  context.beginPath();
  context.rect(left, y, right - left, height);
  context.clip();
  context.strokeStyle = ink.quiet;
  context.globalAlpha = .55;
  context.beginPath();
  for (let x = left - height - left % 5; x < right; x += 5) {
    context.moveTo(x, y + height);
    context.lineTo(x + height, y);
  }
  context.stroke();
  context.restore();
}

function drawAxis(context) {
  const step = axisStep();
  context.fillStyle = ink.panel;
  context.fillRect(0, 0, view.width, AXIS);
  context.fillStyle = ink.line;
  context.fillRect(0, AXIS - 1, view.width, 1);
  context.fillStyle = ink.quiet;
  for (const time of axisTimes(step)) {
    const x = xOf(time);
    context.fillRect(Math.round(x), AXIS - 5, 1, 5);
    if (x < view.width - 50) context.fillText(moment(time, step), x + 4, AXIS / 2 - 1);
  }
  if (!data.detail.all)
    for (const [from, to, single] of stretchesOf(view.from, view.to))
      if (!single) hatch(context, xOf(from), xOf(to), AXIS - 4, 4);
  context.fillStyle = ink.panel;
  context.fillRect(0, 0, GUTTER - 4, AXIS - 1);
}

function drawLosses(context, xFor, y, height, rows) {
  for (const loss of data.losses) {
    if (loss.first === undefined) continue;
    const left = xFor(loss.first), right = Math.max(left + 2, xFor(loss.last));
    const line = rows && loss.track !== undefined && data.tracks[loss.track].rows.length ? data.tracks[loss.track].rows[0].line : null;
    context.fillStyle = ink.red;
    context.globalAlpha = rows ? .28 : .9;
    if (line) context.fillRect(left, AXIS + line.y - view.top - 2, right - left, line.height + 4);
    else context.fillRect(left, y, right - left, height);
    context.globalAlpha = 1;
  }
}

function drawSelected(context) {
  const chosen = view.selected;
  if (!chosen || !chosen.row.line) return;
  const {line} = chosen.row, y = AXIS + line.y - view.top;
  const left = Math.max(xOf(chosen.start), GUTTER - 2), right = Math.min(xOf(chosen.stop), view.width + 2);
  context.save();
  context.beginPath();
  context.rect(GUTTER - 3, AXIS, view.width, view.height);
  context.clip();
  context.strokeStyle = ink.text;
  context.lineWidth = 2;
  if (right >= left) context.strokeRect(left - 1, y - 1, Math.max(3, right - left + 2), line.height + 2);
  context.strokeStyle = ink.accent;
  context.lineWidth = 1.5;
  for (const link of view.links) {
    const from = data.tracks[link.fromTrack].rows[0], to = data.tracks[link.toTrack].rows[0];
    if (!from || !to || !from.line || !to.line) continue;
    const x0 = xOf(link.from), x1 = xOf(link.to), y0 = AXIS + from.line.y - view.top + ROW / 2, y1 = AXIS + to.line.y - view.top + ROW / 2;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + 40, y0, x1 - 40, y1, x1, y1);
    context.stroke();
    context.beginPath();
    context.arc(x0, y0, 3, 0, 7);
    context.fillStyle = ink.accent;
    context.fill();
  }
  context.restore();
}

/* Where arrows end. */
function drawLinkHeads(context) {
  if (!view.selected) return;
  context.save();
  context.beginPath();
  context.rect(GUTTER - 3, AXIS, view.width, view.height);
  context.clip();
  context.fillStyle = ink.accent;
  for (const link of view.links) {
    const to = data.tracks[link.toTrack].rows[0];
    if (!to || !to.line) continue;
    const x = xOf(link.to), y = AXIS + to.line.y - view.top + ROW / 2;
    context.beginPath();
    context.moveTo(x + 1, y);
    context.lineTo(x - 7, y - 4);
    context.lineTo(x - 7, y + 4);
    context.fill();
  }
  context.restore();
}

/* What part of the rows is in sight. */
function drawScrollbar(context) {
  const room = view.height - AXIS;
  if (contentHeight <= room) return;
  context.fillStyle = ink.quiet;
  context.globalAlpha = .5;
  context.fillRect(view.width - 6, AXIS + view.top / contentHeight * room, 4, Math.max(20, room * room / contentHeight));
  context.globalAlpha = 1;
}

function drawRows() {
  const context = sized(canvas, view.height);
  const tally = {spans: 0, cells: 0};
  view.width = canvas.clientWidth;
  view.ready = true;
  view.unpackMs = UNPACK_MS;
  view.tilesWanted = 0; /* never more than are kept, or each frame would unpack them again */
  drawGrid(context, view.height);
  const inSight = lines.filter(line => line.y + line.height >= view.top && line.y < view.top + view.height - AXIS);
  for (const line of inSight) {
    if (isInside(line.track || {})) drawKernelEdges(context, line, AXIS + line.y - view.top);
    if (line.fold) drawFold(context, line, AXIS + line.y - view.top);
    if (line.counter) drawCounter(context, line, AXIS + line.y - view.top);
    if (!line.row) continue;
    const drawn = drawRow(context, line, AXIS + line.y - view.top);
    tally.spans += drawn.spans;
    tally.cells += drawn.cells;
  }
  drawLosses(context, xOf, AXIS, view.height, true);
  drawSelected(context);
  drawLinkHeads(context);
  for (const line of inSight)
    (line.track ? drawLabel : drawTitle)(context, line, AXIS + line.y - view.top);
  drawAxis(context);
  drawRange(context);
  drawScrollbar(context);
  view.mode = tally.cells === 0 ? "single spans" : tally.spans === 0 ? "summary" : "partly summary";
}

/* ---- the whole run ------------------------------------------------------------------ */

/* Mean busy share of the workers in each pixel. */
const overviewShares = new Map();
function workerShares(width) {
  if (overviewShares.has(width)) return overviewShares.get(width);
  const shares = new Float64Array(width), pixel = runLength / width;
  const rows = data.rows.filter(row => isWorker(data.tracks[row.track]) && row.depth === 0 && row.lane === 0);
  for (const row of rows) {
    const cells = cellsOf(row, pixel * 1.5);
    for (let i = 0; i < cells.count; i++) {
      const start = (cells.start + i * cells.width - runFrom) / pixel, stop = start + cells.width / pixel;
      for (let x = Math.max(0, Math.floor(start)); x < Math.min(width, stop); x++)
        shares[x] += cells.busy[cells.at + i] / 255 * (Math.min(stop, x + 1) - Math.max(start, x)) / rows.length;
    }
  }
  overviewShares.clear();
  overviewShares.set(width, shares);
  return shares;
}

function drawOverview() {
  const height = 46, context = sized(overview, height), left = GUTTER, width = Math.max(1, overview.clientWidth - GUTTER);
  const xFor = time => left + (time - runFrom) / runLength * width, shares = workerShares(Math.ceil(width));
  context.fillStyle = ink.accent;
  context.globalAlpha = .55;
  for (let x = 0; x < width; x++) {
    const bar = shares[x] * (height - 12);
    context.fillRect(left + x, height - 5 - bar, 1, bar);
  }
  context.globalAlpha = 1;
  if (!data.detail.all)
    for (const [from, to, single] of stretchesOf(runFrom, runTo)) if (!single) hatch(context, xFor(from), xFor(to), height - 4, 4);
  drawLosses(context, xFor, 0, height, false);
  const from = xFor(view.from), to = Math.max(from + 2, xFor(view.to));
  context.fillStyle = ink.bg;
  context.globalAlpha = .6;
  context.fillRect(left, 0, Math.max(0, from - left), height);
  context.fillRect(to, 0, left + width - to, height);
  context.globalAlpha = 1;
  context.strokeStyle = ink.text;
  context.strokeRect(from + .5, .5, to - from - 1, height - 1);
  context.fillStyle = ink.quiet;
  context.fillText(fitted(context, "busy workers", GUTTER - 10), GUTTER < WIDE_GUTTER ? 6 : 14, height / 2 - 7);
  context.fillText(fitted(context, `${duration(runLength)} in all`, GUTTER - 10), GUTTER < WIDE_GUTTER ? 6 : 14, height / 2 + 9);
}
