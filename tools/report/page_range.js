/* SPDX-License-Identifier: Apache-2.0 */
/* A range of time that is marked: what was done in it, by item, and the command that shows the same. */
"use strict";

const SUM_MS = 12, SUM_ROWS = 12, SOURCES_NAMED = 16;

/* ---- adding up ----------------------------------------------------------------------- */

/* Sums of a range by number of kind. exact: of single spans; else some of it is of summaries, which
 * know of a cell its main kind only. Steps through the rows, so that it can be done a bit at a time. */
function* sumSteps(from, to, sums) {
  const sumOf = kind => sums.kinds.get(kind) || sums.kinds.set(kind, {kind, begun: 0, time: 0, longest: 0, at: null}).get(kind);
  const addTile = (row, tile, low, high) => {
    const {starts, stops, kinds, count} = spansOf(tile);
    for (let i = 0; i < count; i++) {
      if (stops[i] < low || starts[i] >= high) continue;
      const sum = sumOf(kinds[i]), length = stops[i] - starts[i];
      if (starts[i] >= low) sum.begun++;
      sum.time += Math.max(0, Math.min(stops[i], high) - Math.max(starts[i], low));
      if (length > sum.longest || !sum.at) [sum.longest, sum.at] = [length, {row, start: starts[i]}];
    }
  };
  const addCells = (row, low, high) => {
    const cells = cellsOf(row, (to - from) / 2000), {width} = cells;
    const last = Math.min(cells.count - 1, Math.floor((high - cells.start) / width));
    for (let i = Math.max(0, Math.floor((low - cells.start) / width)); i <= last; i++) {
      const start = cells.start + i * width, part = (Math.min(high, start + width) - Math.max(low, start)) / width;
      if (!cells.busy[cells.at + i] || part <= 0 || !data.kinds[cells.kinds[cells.at + i]]) continue;
      const sum = sumOf(cells.kinds[cells.at + i]);
      sum.begun += cells.begun[cells.at + i] * part;
      sum.time += cells.busy[cells.at + i] / 255 * width * part;
    }
  };
  for (const row of data.rows) {
    for (const [low, high, single] of stretchesOf(from, to)) {
      if (!single) sums.exact = false;
      for (const tile of single ? tilesIn(row, low, high) : []) {
        addTile(row, tile, low, high);
        yield;
      }
      if (!single) addCells(row, low, high);
    }
    yield;
  }
}

let summing = 0;
/* Calls show when all is added up; a later call makes an earlier one stop. */
function sumRange(from, to, show) {
  const number = ++summing, sums = {from, to, kinds: new Map(), exact: true}, steps = sumSteps(from, to, sums);
  const go = () => {
    if (number !== summing) return;
    for (const until = performance.now() + SUM_MS; performance.now() < until;)
      if (steps.next().done) return show(sums);
    setTimeout(go, 0);
  };
  go();
}

/* ---- showing --------------------------------------------------------------------------- */

const sumsBox = document.getElementById("sums");

function fillSums({from, to, kinds, exact: isExact}) {
  const all = [...kinds.values()].sort((a, b) => b.time - a.time || b.begun - a.begun), time = Math.max(1, to - from);
  const about = isExact ? "" : "about ";
  sumsBox.textContent = "";
  sumsBox.hidden = false;
  const head = add(sumsBox, "div", undefined, "sums-head");
  add(head, "b", `${duration(to - from)} from ${moment(from, time / 1000)} to ${moment(to, time / 1000)}`);
  const button = (text, act) => add(head, "button", text).addEventListener("click", act);
  button("Zoom", () => show(from, to));
  button("Clear", () => setRange(null));
  if (!isExact) add(head, "span", "The page has not all single spans of it: sums are about right.", "quiet");
  if (!all.length) return void add(sumsBox, "p", "Nothing ran here.", "quiet");
  const parent = add(sumsBox, "div", undefined, "scrolls");
  table(parent, columnsOf("", all, {name: {title: "Name", left: true, value: sum => data.kinds[sum.kind].name, fill: (cell, sum) => {
      swatch(cell, sum.kind);
      cell.append(data.kinds[sum.kind].name);
    }},
    category: {title: "Kind", form: "text", value: sum => data.kinds[sum.kind].category},
    begun: {title: "Begun", text: sum => about + exact(Math.round(sum.begun))},
    time: {title: "Time", text: sum => about + duration(sum.time)},
    share: shareColumn("Of the range", sum => sum.time / time / (workers.length || 1)),
    mean: {title: "Mean", value: sum => sum.time / Math.max(1, sum.begun), text: sum => sum.begun >= 1 ? about + duration(sum.time / sum.begun) : "\u2013"},
    longest: {title: "Longest", fill: (cell, sum) => sum.at
      ? go(cell, duration(sum.longest), () => goToTime(sum.at.row.track, sum.at.start, sum.longest)) : cell.append("\u2013")}}),
  all, "time", undefined, SUM_ROWS);
}

/* null: none. */
function setRange(range) {
  view.range = range && range.to - range.from >= 1 ? range : null;
  redraw();
  if (view.range) sumRange(range.from, range.to, fillSums);
  else {
    summing++;
    sumsBox.hidden = true;
    sumsBox.textContent = "";
  }
  fillCommand();
}

function drawRange(context) {
  if (!view.range) return;
  const left = Math.max(GUTTER, xOf(view.range.from)), right = Math.min(view.width, xOf(view.range.to));
  if (right < left) return;
  context.fillStyle = ink.accent;
  context.globalAlpha = .12;
  context.fillRect(left, 0, right - left, view.height);
  context.globalAlpha = .8;
  for (const x of [left, right]) context.fillRect(Math.round(x) - .5, 0, 1, view.height);
  context.globalAlpha = 1;
  const text = duration(view.range.to - view.range.from), width = context.measureText(text).width + 10;
  if (right - left < width) return;
  context.fillStyle = ink.panel;
  context.fillRect((left + right - width) / 2, 2, width, AXIS - 5);
  context.fillStyle = ink.text;
  context.textAlign = "center";
  context.fillText(text, (left + right) / 2, AXIS / 2 - 1);
  context.textAlign = "left";
}

/* ---- as a command ------------------------------------------------------------------------ */

const COMMANDS = {stats: ["rbwp stats", ""], timeline: ["rbwp timeline", ""], findings: ["rbwp stats --findings", ""],
  why: ["rbwp why", ""], spans: ["rbwp dump --spans", ""], report: ["rbwp report", " -o part.html"]};
const commandBox = document.getElementById("command"), commandKind = document.getElementById("command-kind");

/* As a shell takes it. What a terminal would obey is left out. */
function quoted(word) {
  const plain = word.replace(/[\x00-\x1f\x7f]/g, "?").replace(/^-(?=.)/, "./-");
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`;
}
/* To the nanosecond, as the tools take times. */
const exactMoment = ns => moment(ns, 1);
function commandOf(kind, part = view.range || (isWhole() ? null : view)) {
  const [words, end] = COMMANDS[kind];
  const files = [...new Set(data.processes.map(process => process.source))];
  const named = files.length <= SOURCES_NAMED ? files.map(quoted).join(" ") : `${quoted(files[0])} ...`;
  const times = part ? ` --from ${exactMoment(Math.floor(part.from))} --to ${exactMoment(Math.ceil(part.to))}` : "";
  return `${words}${times} ${named}${end}`;
}
function fillCommand() {
  commandBox.value = commandOf(commandKind.value);
}
async function copyCommand() {
  const said = document.getElementById("copied");
  fillCommand();
  let done = false;
  try {
    await navigator.clipboard.writeText(commandBox.value);
    done = true;
  } catch { /* not allowed, or not there: the old way */
    commandBox.select();
    done = document.execCommand("copy");
  }
  said.textContent = done ? "Copied." : "Press Ctrl+C.";
  setTimeout(() => said.textContent = "", 2500);
}
commandKind.addEventListener("change", fillCommand);
document.getElementById("copy").addEventListener("click", copyCommand);
