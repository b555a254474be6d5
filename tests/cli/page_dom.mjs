// SPDX-License-Identifier: Apache-2.0
// As much of a browser as the pages of rbwp need, for node alone: elements in a tree, events, canvases that note what is
// drawn on them. openPage(file) runs a page's script in it and gives its window.
import {readFileSync} from "node:fs";
import vm from "node:vm";

const VOID = new Set(["meta", "input", "br", "link", "hr"]);
const HEIGHT = 900;
let WIDTH = 1204;
const compiled = new Map(); /* what was run in pages */

/* What a canvas was asked to draw: [{name, given, fill, alpha, align, stroke}]; the rest of a context is taken and forgotten. */
function context2d() {
  const calls = [], state = {fillStyle: "", globalAlpha: 1, textAlign: "left"};
  return new Proxy(state, {
    get: (_, name) => name in state ? state[name] : name === "calls" ? calls : name === "measureText" ? text => ({width: 6 * text.length}) :
      name === "createPattern" ? () => "pattern" : (...given) => {
        if (name === "clearRect") calls.length = 0;
        calls.push({name, given, fill: state.fillStyle, alpha: state.globalAlpha, align: state.textAlign, stroke: state.strokeStyle});
      },
    set: (_, name, value) => (state[name] = value, true),
  });
}

class Element {
  constructor(name) {
    Object.assign(this, {name, nodes: [], parent: null, attributes: {}, listeners: {}, dataset: {}, className: "", hidden: false, value: "", checked: false,
      style: {setProperty(key, value) { this[key] = value; }}});
  }
  get tagName() { return this.name.toUpperCase(); }
  get children() { return this.nodes.filter(node => node instanceof Element); }
  get cells() { return this.children; }
  get firstChild() { return this.nodes[0]; }
  get nextSibling() { return this.parent.nodes[this.parent.nodes.indexOf(this) + 1]; }
  get textContent() { return this.nodes.map(node => node instanceof Element ? node.textContent : node).join(""); }
  set textContent(text) { this.nodes = String(text) ? [String(text)] : []; }
  get classList() {
    const has = name => this.className.split(" ").includes(name);
    const put = (name, on) => (this.className = [...this.className.split(" ").filter(one => one && one !== name), ...on ? [name] : []].join(" "), on);
    return {contains: has, add: name => put(name, true), remove: name => put(name, false), toggle: (name, on = !has(name)) => put(name, on)};
  }
  get clientWidth() { return WIDTH; }
  get offsetWidth() { return 200; }
  get offsetHeight() { return 60; }
  getBoundingClientRect() { return {left: 0, top: 0, width: WIDTH, height: parseFloat(this.style.height) || HEIGHT, right: WIDTH, bottom: HEIGHT}; }
  getContext() { return this.context ??= context2d(); }
  append(...nodes) { for (const node of nodes) this.insert(node, this.nodes.length); }
  prepend(...nodes) { nodes.forEach((node, i) => this.insert(node, i)); }
  after(node) { this.parent.insert(node, this.parent.nodes.indexOf(this) + 1); }
  insert(node, at) {
    if (node instanceof Element) {
      node.remove();
      node.parent = this;
    }
    this.nodes.splice(at, 0, node instanceof Element ? node : String(node));
  }
  remove() {
    if (this.parent) this.parent.nodes.splice(this.parent.nodes.indexOf(this), 1);
    this.parent = null;
  }
  replaceChildren(...nodes) { this.nodes = []; this.append(...nodes); }
  setAttribute(key, value) { this.attributes[key] = String(value); }
  getAttribute(key) { return this.attributes[key] ?? null; }
  removeAttribute(key) { delete this.attributes[key]; }
  addEventListener(kind, act) { (this.listeners[kind] ??= []).push(act); }
  /* The element's listeners, then those of the elements around it. Whether one of them kept the browser from what it does. */
  fire(kind, more = {}) {
    let stopped = false, prevented = false;
    const event = {type: kind, target: this, preventDefault() { prevented = true; }, stopPropagation() { stopped = true; }, ...more};
    for (let node = this; node && !stopped; node = node.parent) for (const act of node.listeners[kind] || []) act(event);
    return prevented;
  }
  click() { this.fire("click"); }
  focus() { this.fire("focus"); }
  blur() {}
  select() {}
  showModal() { this.shown = true; }
  scrollIntoView() {}
  setPointerCapture() {}
  fits(selector) {
    const [, name, rest] = /^([a-z0-9]*)(.*)$/i.exec(selector);
    return (!name || name.toLowerCase() === this.name.toLowerCase()) && rest.split(/(?=[.#[])/).filter(Boolean).every(part =>
      part[0] === "." ? this.classList.contains(part.slice(1)) : part[0] === "#" ? this.id === part.slice(1) : this.getAttribute(part.slice(1, -1).split("=")[0]) !== null);
  }
  all(found = []) {
    for (const child of this.children) child.all((found.push(child), found));
    return found;
  }
  querySelectorAll(selectors) {
    return this.all().filter(element => selectors.split(",").some(selector => {
      const steps = selector.trim().split(/ (?:> )?/);
      if (!element.fits(steps.pop())) return false;
      for (let above = element.parent; above && steps.length; above = above.parent) if (above.fits(steps[steps.length - 1])) steps.pop();
      return !steps.length;
    }));
  }
  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }
  closest(selector) {
    for (let node = this; node; node = node.parent) if (node.fits(selector)) return node;
    return null;
  }
  contains(node) { return node === this || this.all().includes(node); }
}

function parse(text) {
  const root = new Element("html");
  let at = root;
  for (const [, close, name, given, body] of text.matchAll(/<(?:!doctype[^>]*|(\/?)([a-z0-9]+)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*>)([^<]*)/gi)) {
    if (!name) continue;
    if (close) at = at.parent && at.name === name ? at.parent : at;
    else {
      const element = name === "html" ? root : new Element(name);
      for (const [, key, value] of given.matchAll(/([a-z-]+)(?:="([^"]*)")?/g)) {
        element.setAttribute(key, value ?? "");
        if (["id", "value", "title"].includes(key)) element[key] = value;
        if (key === "class") element.className = value;
        if (key === "hidden") element.hidden = true;
      }
      if (name === "option" && at.name === "select") at.value ||= element.value || body.trim();
      if (element !== root) at.append(element);
      if (!VOID.has(name)) at = element;
    }
    if (body) at.append(body);
  }
  return root;
}

/* change: of the page's text, before it is run. idle(): runs what the page wants run later, until there is nothing. */
export function openPage(file, change = text => text) {
  const text = change(readFileSync(file, "utf8")), begin = text.lastIndexOf("<script>") + 8;
  const root = parse(text.slice(0, begin - 8)), later = [];
  const found = new Map(root.all().filter(element => element.id).map(element => [element.id, element]));
  const make = name => new Element(name);
  const document = {documentElement: root, body: root.querySelector("body"), title: "", createElement: make, createElementNS: (_, name) => make(name),
    getElementById: id => found.get(id) ?? root.all().find(element => element.id === id) ?? null, querySelectorAll: selectors => root.querySelectorAll(selectors),
    querySelector: selector => root.querySelector(selector), addEventListener: (kind, act) => root.addEventListener(kind, act), execCommand: () => true, activeElement: null};
  const outside = make("window"), queue = act => later.push(act), performance = {now: () => 0}; /* no machine is too slow */
  const window = {document, devicePixelRatio: 2, innerWidth: WIDTH, innerHeight: HEIGHT, location: {hash: "", href: "file:///page.html"}, history: {replaceState(state, title, place) { window.place = place; }},
    addEventListener: (kind, act) => outside.addEventListener(kind, act), fire: kind => outside.fire(kind), matchMedia: () => ({matches: false, addEventListener() {}}),
    getComputedStyle: () => ({fontFamily: "sans", getPropertyValue: name => `ink${name}`}), requestAnimationFrame: queue, requestIdleCallback: queue,
    setTimeout: queue, clearTimeout() {}, atob, performance, TextDecoder, TextEncoder, navigator: {clipboard: {writeText: async () => {}}}, Intl, console, structuredClone};
  window.window = window.self = window;
  vm.createContext(window);
  vm.runInContext(text.slice(begin, text.lastIndexOf("</script>")), window, {filename: "page.js", timeout: 20000});
  window.idle = (most = 2000) => {
    for (let turns = 0; later.length && turns < most; turns++) later.shift()(performance.now());
  };
  window.resize = width => {
    WIDTH = width;
    outside.fire("resize");
  };
  window.run = source => { /* a limit of time would start a thread for each */
    if (!compiled.has(source)) compiled.set(source, new vm.Script(source));
    return compiled.get(source).runInContext(window);
  };
  window.key = (key, more = {}) => root.fire("keydown", {key, target: document.body, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more});
  return window;
}
