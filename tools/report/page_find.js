/* SPDX-License-Identifier: Apache-2.0 */
/* Finds kinds of spans by their names, and single spans of a kind one after the other. */
"use strict";

const FIND_TILES = 1500; /* looked through for one key */

/* The span that begins next after (direction 1) or before (-1) another, of the rows' wanted kinds. */
function findSpan(rows, from, direction, wanted) {
  let best = null, left = FIND_TILES;
  const isCloser = start => direction > 0 ? start > from.start && (!best || start < best.start)
                                          : start < from.start && (!best || start > best.start);
  for (const row of rows) {
    const tiles = direction > 0 ? row.tiles : row.tiles.slice().reverse();
    for (const tile of tiles) {
      if (direction > 0 ? tile.last <= from.start : tile.first >= from.start) continue;
      if (best && (direction > 0 ? tile.first > best.start : tile.until < best.start)) break;
      if (left-- === 0) return best;
      const {starts, stops, kinds, flags, count} = spansOf(tile);
      for (let i = 0; i < count; i++)
        if (isCloser(starts[i]) && wanted(kinds[i]))
          best = {row, start: starts[i], stop: stops[i], kind: kinds[i], flags: flags[i], ...boundsOf(tile, i)};
    }
  }
  return best;
}

const searchBox = document.getElementById("search"), foundText = document.getElementById("found");

/* Kinds by name, and what the legend switched on. */
function match() {
  const text = searchBox.value.trim().toLowerCase();
  if (!text && view.only === null) {
    view.matches = null;
    foundText.textContent = "";
    fillResults(null);
  } else {
    const kinds = data.kinds.filter(kind => text ? kind.name.toLowerCase().includes(text) : kind.name === view.only);
    view.matches = new Set(kinds.map(kind => kind.number));
    const spans = kinds.reduce((sum, kind) => sum + kind.all, 0), total = kinds.reduce((sum, kind) => sum + Number(kind.total), 0);
    foundText.textContent = kinds.length ? `${exact(spans)} spans, ${duration(total)}, ${percent(total / workerTime)} of worker time` : "no match";
    fillResults(text ? kinds : null);
  }
  document.querySelectorAll("#legend span").forEach(entry =>
    entry.classList.toggle("off", view.matches !== null && !entry.kinds.some(number => view.matches.has(number))));
  redraw();
}
const RESULTS = 8;
/* The kinds that a search found, each with what it is in sum. */
function fillResults(kinds) {
  const box = document.getElementById("results");
  box.textContent = "";
  box.hidden = !kinds || !kinds.length || data.merged;
  if (box.hidden) return;
  const parent = add(box, "div", undefined, "scrolls");
  table(parent, columnsOf("", kinds, {name: nameColumn("Found"), category: {title: "Kind", form: "text", text: kind => describe(kind)}, all: "Count", total: time("Total"),
    share: shareColumn("Of worker time", kind => Number(kind.total) / workerTime), max: longestColumn}), kinds, "total", undefined, RESULTS);
}
function showOnly(name) {
  view.only = view.only === name ? null : name;
  searchBox.value = "";
  match();
}
function stepMatch(direction) {
  if (!view.matches || !view.matches.size) return;
  const from = view.selected || {start: direction > 0 ? view.from : view.to};
  const found = findSpan(data.rows, from, direction, kind => view.matches.has(kind));
  if (found) goTo(found);
  else foundText.textContent = direction > 0 ? "no later match" : "no earlier match";
}
searchBox.addEventListener("input", () => {
  view.only = null;
  match();
});
searchBox.addEventListener("keydown", event => {
  if (event.key === "Enter") stepMatch(event.shiftKey ? -1 : 1);
  if (event.key !== "Escape") return;
  searchBox.value = "";
  match();
  searchBox.blur();
});

function fillLegend() {
  const legend = document.getElementById("legend"), byName = new Map();
  for (const kind of data.kinds) {
    if (!byName.has(kind.name)) byName.set(kind.name, {name: kind.name, kinds: [], total: 0});
    byName.get(kind.name).kinds.push(kind.number);
    byName.get(kind.name).total += Number(kind.total);
  }
  const entries = [...byName.values()].sort((a, b) => b.total - a.total);
  for (const {name, kinds} of entries.slice(0, 24)) {
    const entry = add(legend, "span");
    swatch(entry, kinds[0]);
    entry.append(name);
    entry.kinds = kinds;
    entry.title = "Click: show this one alone";
    pressable(entry, () => showOnly(name));
  }
  if (entries.length > 24) add(legend, "i", `and ${entries.length - 24} more`, "quiet");
}
