/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, dark and light, and the start. */
"use strict";

const help = document.getElementById("help");

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readInk();
  redraw();
  drawNodes();
}
function switchTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function clear() {
  searchBox.value = "";
  view.only = null;
  select(null);
  match();
  setRange(null);
}
const KEYS = {
  w: () => zoom(1 / 1.5), s: () => zoom(1.5), "+": () => zoom(1 / 1.5), "=": () => zoom(1 / 1.5), "-": () => zoom(1.5),
  a: () => pan(-.2), d: () => pan(.2), ArrowLeft: () => pan(-.2), ArrowRight: () => pan(.2),
  ArrowUp: () => scrollRows(-60), ArrowDown: () => scrollRows(60), 0: fit,
  f: () => view.selected && goTo(view.selected), "[": () => stepSpan(-1), "]": () => stepSpan(1),
  g: () => {
    const link = view.links[0];
    if (link) follow(link, view.selected.row.track === link.toTrack);
  },
  c: copyCommand, r: () => setRange(view.range ? null : {from: Math.round(view.from), to: Math.round(view.to)}),
  k: goInside, x: toggleFolds,
  n: () => stepMatch(1), N: () => stepMatch(-1), "/": () => searchBox.select(), "?": () => help.showModal(), t: switchTheme,
  Escape: clear,
};
document.addEventListener("keydown", event => {
  const isTyping = event.target.closest && event.target.closest("input, select, dialog");
  const act = KEYS[event.key] || KEYS[event.key.toLowerCase()];
  if (!act || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key.startsWith("Arrow") && event.target !== canvas && event.target !== document.body) return;
  event.preventDefault();
  tip.hidden = true; /* what was under the pointer may be there no more */
  act();
});
document.querySelectorAll("[data-key]").forEach(button => button.addEventListener("click", () => KEYS[button.dataset.key]()));
document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("help-button").addEventListener("click", () => help.showModal());

/* ---- the start ---------------------------------------------------------------------- */

const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
const sources = [...new Set(data.processes.map(process => process.source.split("/").pop()))];
document.getElementById("source").textContent = sources.slice(0, 4).join(", ") + (sources.length > 4 ? ` and ${sources.length - 4} more` : "");
if (sources.length) document.title = `${sources[0]}${sources.length > 1 ? ` and ${sources.length - 1} more` : ""} - rbwp report`;
fillFigures();
fillAlerts();
fillFindings();
fillLegend();
fillNodes();
fillTabs();
if (data.merged) document.getElementById("timeline").hidden = true;
setTheme(dark.matches ? "dark" : "light");
fit();
if (location.hash.length > 1) goToPlace(location.hash);
/* For scripts that drive the page. */
window.rbwpReport = {data, view, show, fit, spanAt, findSpan, select, goToLaunch, launchOf, opened, setRange, stacks, goToFinding, findings, commandOf, goToPlace, placeText, get lines() { return lines; }};
