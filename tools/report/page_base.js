/* SPDX-License-Identifier: Apache-2.0 */
/* What pages have in common: numbers as text, elements, tables, histograms. */
"use strict";

const naturally = new Intl.Collator("en", {numeric: true}).compare;

/* ---- numbers as text ---------------------------------------------------------- */

function exact(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
function duration(ns) {
  ns = Number(ns);
  const size = Math.abs(ns);
  if (size < 1000) return `${Math.round(ns)} ns`;
  const [scale, unit] = size < 999.5e3 ? [1e3, "\u00b5s"] : size < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
  const value = ns / scale;
  return value < 1e4 ? `${value.toFixed(Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0)} ${unit}` : `${exact(Math.round(value))} s`;
}
function percent(part) {
  return !isFinite(part) ? "\u2013" : part > 0 && part < .001 ? "<0.1 %" : `${(part * 100).toFixed(1)} %`;
}

/* ---- elements ------------------------------------------------------------------ */

function add(parent, name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
}
/* By mouse and by keyboard. */
function pressable(element, act) {
  element.tabIndex = 0;
  element.setAttribute("role", "button");
  element.addEventListener("click", act);
  element.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    act(event);
  });
}
function go(cell, text, target) {
  pressable(add(cell, "a", text), target);
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Columns: {title, value (to sort by), text or fill(cell, row), left, key}. sortBy: a key. At first there are limit rows, and a way to
 * the rest. */
const TABLE_ROWS = 50, TABLE_ROWS_MOST = 1000;
function table(parent, columns, rows, sortBy, more, limit = TABLE_ROWS) {
  const element = add(parent, "table"), head = add(add(element, "thead"), "tr"), body = add(element, "tbody");
  let order = columns.findIndex(({key}) => key === sortBy), descending = !columns[order].left;
  const draw = () => {
    const value = columns[order].value, sorted = rows.slice().sort((a, b) => {
      const x = value(a), y = value(b);
      return (typeof x === "string" ? naturally(x, y) : Number(x) - Number(y)) * (descending ? -1 : 1);
    });
    body.textContent = "";
    head.querySelectorAll("th").forEach((cell, i) => {
      cell.className = (columns[i].left ? "" : "r ") + (i === order ? "on" : "");
      cell.setAttribute("aria-sort", i === order ? descending ? "descending" : "ascending" : "none");
      cell.textContent = columns[i].title + (i === order ? descending ? " \u2193" : " \u2191" : "");
    });
    for (const row of sorted.slice(0, limit)) drawTableRow(body, columns, row, more);
    if (sorted.length <= limit) return;
    const last = add(add(body, "tr"), "td", limit < TABLE_ROWS_MOST ? "" : `and ${exact(sorted.length - limit)} more`, "quiet");
    last.colSpan = columns.length;
    if (limit < TABLE_ROWS_MOST) go(last, `${exact(sorted.length - limit)} more`, () => {
      limit = TABLE_ROWS_MOST;
      draw();
    });
  };
  columns.forEach((column, i) => {
    const cell = add(head, "th");
    cell.tabIndex = 0;
    const sort = () => {
      descending = i === order ? !descending : !column.left;
      order = i;
      draw();
    };
    cell.addEventListener("click", sort);
    cell.addEventListener("keydown", event => event.key === "Enter" && sort());
  });
  draw();
}
function addCell(line, column, row) {
  const cell = add(line, "td", undefined, column.left ? "" : "r");
  if (column.fill) column.fill(cell, row);
  else cell.textContent = column.text ? column.text(row) : column.left ? column.value(row) : exact(column.value(row));
  return cell;
}
function drawTableRow(body, columns, row, more) {
  const line = add(body, "tr");
  for (const column of columns) {
    const cell = addCell(line, column, row);
    if (column.left && cell.textContent.length > 40) cell.title = cell.textContent; /* what does not fit */
  }
  if (!more) return;
  line.style.cursor = "pointer";
  line.tabIndex = 0;
  line.addEventListener("keydown", event => event.key === "Enter" && event.target === line && line.click());
  line.addEventListener("click", event => {
    if (event.target.closest("a")) return;
    if (line.classList.toggle("open")) {
      const extra = document.createElement("tr");
      extra.className = "more";
      const cell = add(extra, "td");
      cell.colSpan = columns.length;
      more(cell, row);
      line.after(extra);
    } else line.nextSibling.remove();
  });
}
function shareColumn(title, part) {
  return {title, value: part, fill: (cell, row) => {
    cell.append(percent(part(row)));
    add(add(cell, "span", undefined, "share"), "i").style.width = `${Math.min(100, part(row) * 100)}%`;
  }};
}
/* The columns of the result table name that some row has: those of first in its order, then the others in the table's. A member of
 * first or own is the title of the column with that key, what it has in place of the table's (form: of the value), or null: it is
 * not shown. The page's own columns are members of first, too. */
function columnsOf(name, rows, first, own = {}) {
  const titles = new Map((data.columns[name] || []).map(([key, title, form]) => [key, {title: title.replace(/^[a-z](?=[a-z])/, letter => letter.toUpperCase()), form}]));
  const changes = {...first, ...own};
  return [...new Set([...Object.keys(first), ...titles.keys()])].filter(key => changes[key] !== null).map(key => {
    const change = typeof changes[key] === "string" ? {title: changes[key]} : changes[key];
    const {title, form = "number", value = row => key.split(".").reduce((part, member) => part === undefined ? part : part[member], row) ?? "", ...rest} = {...titles.get(key), ...change};
    if (rows.length && !rows.some(row => value(row) !== "")) return null;
    const text = row => value(row) === "" ? "" : form === "duration" ? duration(value(row)) : form === "time" ? moment(Number(value(row)), 1000) : form === "number" ? exact(value(row)) : String(value(row));
    return {key, left: form === "text", text, ...form === "share" ? shareColumn(title, value) : {title, value}, ...rest};
  }).filter(column => column);
}

/* ---- histograms ----------------------------------------------------------------------- */

const SVG = "http://www.w3.org/2000/svg";
function shape(parent, name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  parent.append(element);
  return element;
}
const bucketStart = bucket => 2 ** (bucket / 4);

/* From the least to the greatest bucket of all rows, so that what stands below each other can be compared. */
function histogramAxis(rows, field) {
  const all = rows.map(row => row[field]).filter(histogram => histogram && histogram.length > 1);
  const first = Math.min(...all.map(histogram => histogram[0])), last = Math.max(...all.map(histogram => histogram[0] + histogram.length - 1));
  return all.length ? {first, last} : {first: 0, last: 1};
}
const axisText = ({first, last}) => `${duration(bucketStart(first))} to ${duration(bucketStart(last))}`;

function sparkline(parent, histogram, colour, axis) {
  const [begin, ...counts] = histogram, most = Math.max(...counts.map(Number)), width = 120, height = 20;
  const picture = shape(parent, "svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "histogram"});
  const step = width / Math.max(1, axis.last - axis.first);
  for (let power = Math.ceil(axis.first / 4); power * 4 < axis.last; power += 10) /* each about 1000 times the one before */
    shape(picture, "rect", {x: (power * 4 - axis.first) * step, y: 0, width: .6, height, fill: "var(--line)"});
  counts.forEach((count, i) => {
    const bar = Number(count) ? Math.max(1, Number(count) / most * (height - 1)) : 0;
    if (bar) shape(picture, "rect", {x: (begin + i - axis.first) * step, y: height - bar, width: Math.max(.8, step - .3), height: bar, fill: colour});
  });
}
