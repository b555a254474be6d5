/* SPDX-License-Identifier: Apache-2.0 */
/* Where one is in the page, as the part of its address behind #: it can be sent, and opened again.
 * #from=+1.2s&to=+1.3s&range=+1.21s,+1.22s&search=disk&tab=Workers&span=TRACK,LANE,DEPTH,+1.23s */
"use strict";

const PLACE_MS = 250;
let placeTimer = 0, placeShown = "";

const readMoment = text => {
  const found = /^([+-]?\d+(?:\.\d+)?)s$/.exec(text || "");
  return found ? Math.round(Number(found[1]) * 1e9) - sinceZero : NaN;
};

const rangePlace = ({from, to}) => `${exactMoment(from)},${exactMoment(to)}`;
/* Of a stretch, with as much around as goToFinding shows. */
const placeOf = ({from, to}) => `from=${exactMoment(from - (to - from) / 2)}&to=${exactMoment(to + (to - from) / 2)}&range=${rangePlace({from, to})}`;

function placeText() {
  const parts = [], chosen = view.selected, row = chosen && chosen.row;
  if (!isWhole()) parts.push(["from", exactMoment(view.from)], ["to", exactMoment(view.to)]);
  if (view.range) parts.push(["range", rangePlace(view.range)]);
  if (searchBox.value.trim()) parts.push(["search", searchBox.value.trim()]);
  else if (view.only !== null) parts.push(["only", view.only]);
  if (openedTab > 0) parts.push(["tab", TABS[openedTab][0]]);
  if (chosen) parts.push(["span", `${row.track},${row.lane},${row.depth},${exactMoment(chosen.start)}`]);
  return parts.map(([key, value]) => `${key}=${encodeURIComponent(value).replaceAll("%2B", "+").replaceAll("%2C", ",")}`).join("&");
}
/* Soon: while one moves, the address stays. */
function notePlace() {
  clearTimeout(placeTimer);
  placeTimer = setTimeout(() => {
    const text = placeText();
    if (text === placeShown) return;
    placeShown = text;
    try {
      history.replaceState(null, "", `#${text}`);
    } catch { /* pages in frames may not */ }
  }, PLACE_MS);
}

function selectPlace(text) {
  const [track, lane, depth] = text.split(",").map(Number), start = readMoment(text.split(",")[3]);
  const row = data.tracks[track] && data.tracks[track].rows.find(row => row.lane === lane && row.depth === depth);
  if (!row || isNaN(start)) return;
  const span = findSpan([row], {start: start - .5}, 1, () => true);
  if (span && Math.abs(span.start - start) < 1) {
    bringRow(row);
    select(span);
  }
}
let badPlace = null; /* the line that says what in the address makes no sense */

/* Whatever stands there: what makes no sense changes nothing, and is named. */
function goToPlace(text) {
  const wanted = new Map(), bad = [];
  for (const part of text.replace(/^#/, "").split("&").filter(part => part)) {
    const [key, value] = part.split("=");
    try {
      if (value === undefined) bad.push(part);
      else wanted.set(key, decodeURIComponent(value));
    } catch {
      bad.push(part);
    }
  }
  const from = readMoment(wanted.get("from")), to = readMoment(wanted.get("to"));
  const [low, high] = (wanted.get("range") || "").split(",").map(readMoment);
  const tab = TABS.findIndex(([title]) => title === wanted.get("tab"));
  searchBox.value = wanted.get("search") || "";
  view.only = wanted.has("only") ? wanted.get("only") : null;
  match();
  openTab(Math.max(0, tab));
  select(null);
  if (wanted.has("span")) selectPlace(wanted.get("span"));
  if (to > from) show(from, to);
  else fit();
  setRange(high > low ? {from: low, to: high} : null);
  const known = {from: to > from, to: to > from, range: high > low, tab: tab >= 0, search: true, span: view.selected,
    only: data.kinds.some(kind => kind.name === view.only)};
  for (const [key, value] of wanted) if (!known[key]) bad.push(`${key}=${value}`);
  if (badPlace) badPlace.remove();
  badPlace = bad.length ? alertLine(`This page has no place ${bad.join(", ")}, which its address asks for.`) : null;
  placeShown = placeText();
}
window.addEventListener("hashchange", () => location.hash.slice(1) !== placeShown && goToPlace(location.hash));
