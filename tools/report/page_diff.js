/* SPDX-License-Identifier: Apache-2.0 */
/* Two sides beside each other: how busy they were over time, and their rows, each with both histograms on one axis. */
"use strict";

const data = JSON.parse(new TextDecoder().decode(unpackElement("data0")));
const SIDES = ["A", "B"], SIDE_COLOURS = ["var(--accent)", "var(--heat)"], REPEATED = data.sides.some(side => side.files.length > 1);
const SHARES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/* Of both sides' sums, and those that are the rows' own; what is compared has the metric's name, unless each row says which. */
const MEASURE = {rows: data.rows.some(row => row.by) ? "of" : data.by, launches: data.by === "net" ? "mean" : data.by};
data.columns.sides = data.columns.rows.filter(([key]) => key.startsWith("a.")).map(([key, ...column]) => [key.slice(2), ...column]);
for (const name of ["rows", "launches", "counters"])
  data.columns[name] = data.columns[name].filter(([key]) => !key.includes(".")).map(([key, title, form]) => [key, title.replace("of ", `${MEASURE[name]} `), form]);
const VERDICTS = {slower: 0, more: 0, new: 1, gone: 2, faster: 3, less: 3, same: 4};

/* ---- both sides -------------------------------------------------------------------- */

const longest = Math.max(1, ...data.sides.map(side => Number(side.extent_ns)));

/* How busy the workers were, on an axis that both have in common. */
function course(parent, side, colour) {
  const width = 600, height = 54, scale = Number(side.extent_ns) / longest;
  const picture = shape(parent, "svg", {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "how busy its workers were over time"});
  const step = width * scale / side.course.length;
  [...side.course].forEach((letter, i) => {
    const bar = SHARES.indexOf(letter) / 63 * (height - 4);
    if (bar > 0) shape(picture, "rect", {x: i * step, y: height - bar, width: step, height: bar, fill: colour});
  });
  shape(picture, "rect", {x: width * scale - 1, y: 0, width: 1, height, fill: "var(--quiet)"});
}
function fillSide(side, i) {
  const box = add(document.getElementById("sides"), "div", undefined, "side panel"), head = add(box, "div", undefined, "side-head");
  add(head, "b", SIDES[i]).style.color = SIDE_COLOURS[i];
  add(head, "span", side.files.length > 1 ? `${side.files[0]} and ${side.files.length - 1} more run${side.files.length > 2 ? "s" : ""}` : side.files[0]);
  const busy = Number(side.busy_ns) / Math.max(1, Number(side.extent_ns) * side.workers);
  add(box, "div", `${duration(side.extent_ns)}, ${exact(side.spans)} spans, ${exact(side.workers)} worker${side.workers === 1 ? "" : "s"} busy ${percent(busy)}` +
    (side.files.length > 1 ? " (the first run)" : ""), "quiet num");
  course(box, side, SIDE_COLOURS[i]);
  if (Number(side.lost) > 0) add(document.getElementById("alerts"), "p", `${exact(side.lost)} records of ${SIDES[i]} were lost: its sums are too small.`, "alert red");
}

/* ---- rows ----------------------------------------------------------------------------- */

data.rows.forEach((row, order) => {
  row.order = order;
  row.change = Number(row["total B"] ?? 0) - Number(row["total A"] ?? 0);
});
/* Twice as long is as far to the right as half as long is to the left. */
function ratioBar(parent, row) {
  if (!isFinite(row.ratio) || row.ratio <= 0) return;
  const width = 90, far = Math.max(-1, Math.min(1, Math.log2(row.ratio) / 2)), left = far < 0 ? (1 + far) * width / 2 : width / 2;
  const picture = shape(parent, "svg", {width, height: 12, viewBox: `0 0 ${width} 12`, "aria-hidden": "true"});
  shape(picture, "rect", {x: width / 2, y: 0, width: 1, height: 12, fill: "var(--line)"});
  shape(picture, "rect", {x: left, y: 3, width: Math.max(1, Math.abs(far) * width / 2), height: 6, fill: row.verdict === "slower" ? "var(--red)" : row.verdict === "faster" ? "var(--green)" : "var(--quiet)"});
}
/* Of all runs together. */
function sideTable(parent, row) {
  const sides = [row.a, row.b].map((side, i) => ({...Number(side.count) ? side : {}, i}));
  table(parent, columnsOf("sides", sides, {i: {title: "", left: true, fill: (cell, {i}) => add(cell, "span", SIDES[i]).style.color = SIDE_COLOURS[i]}}), sides, "i");
}
/* Both histograms as shares of their side, one above, one below the axis that they share. */
function mirrored(parent, row) {
  const axis = histogramAxis([row.a, row.b], "histogram"), buckets = axis.last - axis.first, half = 70, step = Math.max(5, Math.min(24, 900 / Math.max(1, buckets)));
  const picture = shape(parent, "svg", {width: Math.max(220, buckets * step + 60), height: 2 * half + 30, role: "img", "aria-label": "histograms of both sides"});
  const parts = [row.a, row.b].map(side => side.histogram.slice(1).map(count => Number(count) / Math.max(1, Number(side.count))));
  const most = Math.max(...parts.flat(), 1e-9);
  [row.a, row.b].forEach((side, i) => parts[i].forEach((part, at) => {
    const bucket = side.histogram[0] + at, bar = part ? Math.max(1.5, part / most * half) : 0;
    const rect = shape(picture, "rect", {x: 10 + (bucket - axis.first) * step, y: i ? half + 20 : half - bar, width: Math.max(1, step - 1), height: bar, fill: SIDE_COLOURS[i]});
    shape(rect, "title").textContent = `${SIDES[i]}: ${exact(side.histogram[at + 1])} (${percent(part)}) from about ${duration(bucketStart(bucket))} to ${duration(bucketStart(bucket + 1))}`;
  }));
  for (let bucket = axis.first; bucket < axis.last; bucket++)
    if (bucket % 4 === 0 && (step * 4 > 52 || bucket / 4 % 4 === 0))
      shape(picture, "text", {x: 10 + (bucket - axis.first) * step, y: half + 14}).textContent = duration(bucketStart(bucket));
}
function fillMore(cell, row) {
  const why = row.noisy ? "Differs by more than the threshold, but runs of A and B lie among each other." : row.few ? `One side has fewer than ${exact(data.min_count)} spans.` :
    row.slower_by_mean ? "Slower by mean alone: it was ready to run for longer without a CPU, which other programs or its own threads had." : "";
  if (why) add(cell, "p", why, "quiet");
  sideTable(cell, row);
  const values = side => row.runs[side].map(value => value === null ? "none" : duration(value)).join(", ");
  if (REPEATED) add(cell, "p", `${row.by ?? data.by} of each run: A ${values("a")}; B ${values("b")}`, "quiet num");
  mirrored(cell, row);
}
const ratioColumn = {title: "B/A", fill: (cell, row) => {
  ratioBar(cell, row);
  cell.append(row.ratio === undefined ? "\u2013" : ` ${row.ratio.toFixed(3)}`);
}};
/* Rows that are not the same, or that the search asks for. */
function fillTable(id, title, own = {}, after = {}, more) {
  const text = document.getElementById("search").value.trim().toLowerCase(), all = document.getElementById("all").checked || text;
  const shown = data[id].filter(row => (all || row.verdict !== "same" || row.slower_by_mean) && row.name.toLowerCase().includes(text)), parent = document.getElementById(id);
  parent.textContent = "";
  if (!shown.length) return;
  if (title) add(parent, "h2", title);
  const columns = columnsOf(id, shown, {verdict: {title: "", left: true, value: row => String(VERDICTS[row.verdict]), fill: (cell, row) => {
    add(cell, "span", row.verdict, `verdict ${row.verdict}`);
    if (row.noisy) add(cell, "span", " noise", "quiet");
  }}, name: {title: "Name", form: "text", value: row => row.unit ? `${row.name} (${row.unit})` : row.name}}, {ratio: ratioColumn, ...own});
  table(parent, [...columns, ...columnsOf("", shown, after)], shown, after.change ? "change" : columns[2].key, more);
}
function fillAll() {
  fillTable("rows", "", REPEATED ? {} : {spread: null}, {change: {title: "Change of total", text: row => `${row.change < 0 ? "\u2212" : "+"}${duration(Math.abs(row.change))}`}}, fillMore);
  if (!document.getElementById("rows").textContent) add(document.getElementById("rows"), "p", document.getElementById("search").value.trim() ? "No such name." : "No row has changed.", "caption");
  fillTable("launches", "Launch to start");
  fillTable("counters", "Counters");
}
function summary() {
  const number = verdict => data.rows.filter(row => row.verdict === verdict).length, parts = [];
  for (const verdict of ["slower", "faster", "new", "gone"]) if (number(verdict)) parts.push(`${exact(number(verdict))} ${verdict}`);
  const noisy = data.rows.filter(row => row.noisy && !row.few).length, few = data.rows.filter(row => row.few).length;
  if (number("same")) parts.push(`${exact(number("same"))} the same within ${data.threshold_percent} %` +
    (noisy || few ? ` (${[noisy ? `${noisy} of them noise` : "", few ? `${few} too few` : ""].filter(Boolean).join(", ")})` : ""));
  const doubt = !data.judged && number("slower") ? `. What is slower may be so by chance: that takes ${data.runs_needed} runs a side` : "";
  const drift = data.interleaved === "no" ? ". The runs of A and B were not made by turns: a change may be one of the machine" : "";
  return `By ${data.by}: ${parts.join(", ") || "nothing to compare"}${doubt}${drift}`;
}

/* ---- the start -------------------------------------------------------------------------- */

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}
const switchTheme = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("search").addEventListener("input", fillAll);
document.getElementById("all").addEventListener("change", fillAll);
document.addEventListener("keydown", event => {
  if (event.target.closest && event.target.closest("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "t") switchTheme();
  if (event.key !== "/") return;
  event.preventDefault();
  document.getElementById("search").select();
});
const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
setTheme(dark.matches ? "dark" : "light");
const baseName = path => path.split("/").pop();
document.getElementById("source").textContent = `${data.sides[0].files[0]} \u2192 ${data.sides[1].files[0]}`;
document.title = `${baseName(data.sides[0].files[0])} and ${baseName(data.sides[1].files[0])} - rbwp diff`;
data.sides.forEach(fillSide);
document.getElementById("summary").textContent = summary();
fillAll();
/* For scripts that drive the page. */
window.rbwpDiff = {data};
