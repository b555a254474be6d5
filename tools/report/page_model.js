/* SPDX-License-Identifier: Apache-2.0 */
/* What the page holds: tables, summaries, tiles of single spans. Times are nanoseconds from the
 * first span of a worker, and shown since the run's zero. Summaries and tiles are unpacked when first looked at. */
"use strict";

const data = JSON.parse(new TextDecoder().decode(unpackElement("data0")));
const extent = Math.max(1, Number(data.extent_ns)); /* as the tables have it */
/* What the timeline shows at first: all, unless some of it lies very far from the workers. */
const whole = [Number(data.first), Number(data.last)];
const isFar = whole[1] - whole[0] > 4 * Number(data.focus_ns) + 1e6;
const [runFrom, runTo] = isFar ? [0, Math.max(1, Number(data.focus_ns))] : [whole[0], Math.max(whole[0] + 1, whole[1])];
const runLength = runTo - runFrom;

/* ---- numbers as text ---------------------------------------------------------- */

/* A place on the axis, since the run's zero as the tools write it and take it, with as many digits
 * as a step needs. */
const sinceZero = Number(data.since_zero_ns);
function moment(ns, step) {
  const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
  const time = (ns + sinceZero) / 1e9;
  return `${time < 0 ? "" : "+"}${time.toFixed(digits)}s`;
}
/* What is to be said of the end of a span: flags 1 it is not known, 2 it still ran. */
function endOf(span, separator) {
  return span.flags & 2 ? `${separator}still open` : span.flags & 1 ? `${separator}until last seen` : "";
}
/* ---- tracks and rows ---------------------------------------------------------- */

const TRACK_ORDER = {life: -1, thread: 0, processor: 1, gpu: 2, channel: 3, stream: 4, sm: 5, lane: 6, async: 7, table: 8, counter: 9};
data.rows = data.rows.map(([track, lane, depth, spans], number) => ({track, lane, depth, spans, number}));
data.tracks.forEach((track, number) => {
  track.number = number;
  track.rows = [];
});
data.rows.forEach(row => data.tracks[row.track].rows.push(row));
data.kinds.forEach((kind, number) => {
  kind.number = number;
  kind.all = Number(kind.count) + Number(kind.unfinished);
  kind.waits = Number(kind.waits) || ["queued", "wait", "waiting"].includes(kind.category); /* nobody was busy with it */
});

for (const loss of data.losses) if (!loss.timed) delete loss.first;

/* Where it is known whether calls ran, GPUs come before threads, and threads that hardly ran last. */
const knowsCpu = data.tracks.some(track => track.running !== undefined);
const isHelper = track => knowsCpu && track.kind === "thread" && Number(track.busy) * 100 < extent;
const trackRank = track => !knowsCpu ? 0 : isHelper(track) ? 2 : ["gpu", "channel", "stream"].includes(track.kind) ? 0 : 1;
const tracksInOrder = data.tracks.slice().sort((a, b) => a.owner - b.owner || trackRank(a) - trackRank(b) ||
  TRACK_ORDER[a.kind] - TRACK_ORDER[b.kind] || naturally(a.name, b.name) || a.number - b.number);
const isWorker = track => track.kind === "thread" || track.kind === "processor";
const isSubItem = kind => ["am", "xfer", "deppart", "reap", "waiting", "sub_item"].includes(kind.category);
const isGpuWork = kind => kind.category === "gpu";

/* ---- colours: by name, so that one name looks the same everywhere; from the 13th on
 * they have patterns, too -------------------------------------------------------- */

const PALETTE = ["#4e79a7", "#d9993a", "#3a9d8d", "#9a6fb0", "#73b3d8", "#a58a3c", "#d58bb0", "#5d9c52",
  "#7a86c6", "#c67c50", "#8dbd9c", "#94806f"];
const PATTERNS = 4;
const looks = (() => {
  const totals = new Map(), looks = new Map(), used = new Set();
  for (const kind of data.kinds) totals.set(kind.name, (totals.get(kind.name) || 0) + Number(kind.total));
  const names = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a));
  for (const name of names) {
    let at = 0;
    for (let i = 0; i < name.length; i++) at = Math.imul(at ^ name.charCodeAt(i), 0x01000193) >>> 0;
    at = ((at ^ at >>> 13) >>> 0) % PALETTE.length;
    while (used.has(at)) at = (at + 5) % PALETTE.length;
    looks.set(name, {colour: PALETTE[at], pattern: Math.floor(looks.size / PALETTE.length) % PATTERNS});
    if (used.add(at).size === PALETTE.length) used.clear();
  }
  return looks;
})();
const colourOf = name => looks.has(name) ? looks.get(name).colour : "#8a8f98";
const kindColours = data.kinds.map(kind => colourOf(kind.name));
const kindPatterns = data.kinds.map(kind => looks.get(kind.name).pattern);

/* ---- where single spans are ---------------------------------------------------- */

/* Stretches with all spans, as [from, to]. */
const detailed = (() => {
  if (data.detail.all) return [[-Infinity, Infinity]];
  const windows = data.detail.windows, stretches = [];
  const width = Math.floor(Number(data.focus_ns) / windows.length) + 1;
  for (let i = 0; i < windows.length; i++) {
    if (windows[i] !== "1") continue;
    const last = stretches[stretches.length - 1];
    if (last && last[1] === i * width) last[1] += width;
    else stretches.push([i * width, (i + 1) * width]);
  }
  if (windows[0] === "1") stretches[0][0] = -Infinity;
  if (windows[windows.length - 1] === "1") stretches[stretches.length - 1][1] = Infinity;
  return stretches;
})();
/* The view as [from, to, has single spans]. */
function stretchesOf(from, to) {
  const list = [];
  for (const [start, stop] of detailed) {
    if (stop <= from || start >= to) continue;
    if (start > from) list.push([from, start, false]);
    from = Math.max(from, start);
    list.push([from, Math.min(to, stop), true]);
    from = Math.min(to, stop);
  }
  if (from < to) list.push([from, to, false]);
  return list;
}

/* ---- tiles ---------------------------------------------------------------------- */

const TILE_CACHE = 3000;
const linkTiles = [];
const tileCache = new Map();
data.rows.forEach(row => row.tiles = []);
(() => {
  const view = new DataView(unpackElement("index0").buffer);
  for (let at = 0; at + 40 <= view.byteLength; at += 40) {
    const word = place => view.getUint32(at + place, true);
    const tile = {first: view.getFloat64(at, true), last: view.getFloat64(at + 8, true), owner: word(16),
      count: word(20) & 0x7fffffff, element: word(24), offset: word(28), characters: word(32), number: at / 40};
    if (word(20) >>> 31) linkTiles.push(tile);
    else data.rows[tile.owner].tiles.push(tile);
  }
})();
/* Tiles come window by window; late spans make some longer than those behind them. */
for (const row of data.rows) {
  row.tiles.sort((a, b) => a.first - b.first || a.number - b.number);
  let until = -Infinity;
  for (const tile of row.tiles) tile.until = until = Math.max(until, tile.last);
}

/* Columns of numbers (page_timeline.c). */
function readColumns(tile) {
  const text = packedText("tiles" + tile.element).substring(tile.offset, tile.offset + tile.characters);
  const bytes = unpack(text);
  let at = 0;
  const number = () => {
    let value = 0, scale = 1, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  };
  const signed = () => {
    const value = number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  };
  return {number, signed};
}
/* In place of flags: so much of a call its thread was not on a CPU. */
const OFF = {2: .25, 5: .5, 6: .75, 7: .97};
function readSpans(tile) {
  const {number, signed} = readColumns(tile), count = tile.count;
  const starts = new Float64Array(count), stops = new Float64Array(count);
  const kinds = new Uint32Array(count), flags = new Uint8Array(count), off = new Float32Array(count);
  for (let i = 0; i < count; i++) starts[i] = signed();
  for (let i = 0, before = tile.first; i < count; i++) {
    before = starts[i] += before;
    stops[i] = before + number();
  }
  for (let i = 0; i < count; i++) {
    const value = number();
    kinds[i] = Math.floor(value / 8);
    off[i] = OFF[value % 8] || 0;
    flags[i] = off[i] ? 0 : value % 8;
  }
  const track = data.tracks[data.rows[tile.owner].track], spans = {starts, stops, kinds, flags, off, count};
  const more = () => new Float64Array(count).map(number);
  if (track.kind === "gpu") return {...spans, early: more(), late: more()};
  return isInside(track) ? {...spans, blocks: more(), launches: more()} : spans;
}
function readLinks(tile) {
  const {number, signed} = readColumns(tile), links = [];
  for (let i = 0, to = tile.first; i < tile.count; i++) links.push({to: to += signed()});
  for (const link of links) link.from = link.to - signed();
  for (const link of links) link.fromTrack = number();
  return links;
}
function cached(tile, read) {
  let found = tileCache.get(tile.number);
  if (found) tileCache.delete(tile.number);
  else found = read(tile);
  tileCache.set(tile.number, found);
  if (tileCache.size > TILE_CACHE) tileCache.delete(tileCache.keys().next().value);
  return found;
}
const spansOf = tile => cached(tile, readSpans);
const isLoaded = tile => tileCache.has(tile.number);

/* The tiles of a row that touch a stretch. */
function tilesIn(row, from, to) {
  let low = 0, high = row.tiles.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (row.tiles[middle].until < from) low = middle + 1;
    else high = middle;
  }
  const found = [];
  for (; low < row.tiles.length && row.tiles[low].first <= to; low++)
    if (row.tiles[low].last >= from) found.push(row.tiles[low]);
  return found;
}

/* ---- summaries ------------------------------------------------------------------ */

/* Level 0 is the finest; each next one has cells four times as wide. Rows have their own widths. */
const levels = [];
function levelOf(number) {
  if (levels[number]) return levels[number];
  const bytes = unpackElement("cells" + number), count = data.rows.length;
  const head = new DataView(bytes.buffer), places = [];
  let cells = 0;
  for (let i = 0; i < count; i++) {
    places.push({start: head.getFloat64(16 * i, true), count: head.getUint32(16 * i + 8, true), at: cells,
      width: 2 ** head.getUint32(16 * i + 12, true)});
    cells += places[i].count;
  }
  levels[number] = {
    places,
    begun: new Uint32Array(bytes.buffer, count * 16, cells),
    kinds: new Uint16Array(bytes.buffer, count * 16 + cells * 4, cells),
    busy: new Uint8Array(bytes.buffer, count * 16 + cells * 6, cells),
  };
  return levels[number];
}
/* A row's cells on the coarsest level where they are no wider than this, else on the finest. */
function cellsOf(row, width) {
  const coarsest = levelOf(data.levels - 1), {width: coarse} = coarsest.places[row.number];
  const up = Math.max(0, Math.ceil(Math.log2(coarse / width) / 2));
  const level = levelOf(Math.max(0, data.levels - 1 - up));
  return {...level.places[row.number], begun: level.begun, kinds: level.kinds, busy: level.busy};
}
