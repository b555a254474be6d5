/* SPDX-License-Identifier: Apache-2.0 */
/* What workers did, added up by what lay in what, and the stacks of slow calls: a bar is as wide as its
 * time, what stands below it was inside. A click makes a bar the whole width. */
"use strict";

const FLAME_LEAST = .0005, FLAME_ROW = 21; /* of the width; pixels */

/* Nodes, parents first, with their own time. */
function addUp(nodes) {
  for (const node of nodes) node.total = node.self;
  for (let i = nodes.length - 1; i > 0; i--) {
    nodes[i].parent.total += nodes[i].total;
    nodes[i].parent.below.push(nodes[i]);
  }
  nodes.forEach(node => node.below.sort((a, b) => b.total - a.total || naturally(a.name, b.name)));
  return nodes;
}
const stacks = (() => {
  const nodes = [{parent: null, kind: null, name: "all workers", count: 0, self: 0, below: []}];
  for (const [parent, kind, count, self] of data.stacks)
    nodes.push({parent: nodes[parent], kind, name: data.kinds[kind] ? data.kinds[kind].name : "?", count, self: Number(self), below: []});
  return addUp(nodes);
})();
const slowStacks = (() => {
  const nodes = [{parent: null, kind: null, name: "slow calls", count: 0, self: 0, below: []}], places = new Map();
  for (const {call, frames, samples, total} of data.slow_stacks || []) {
    let node = nodes[0], path = "";
    for (const name of [call, ...frames.split(";")]) {
      path += `;${name}`;
      if (!places.has(path)) {
        places.set(path, {parent: node, kind: null, name, count: 0, self: 0, below: []});
        nodes.push(places.get(path));
      }
      node = places.get(path);
      node.count += Number(samples);
    }
    node.self += Number(total);
  }
  return addUp(nodes);
})();

function flameText(node, flame) {
  const whole = flame.nodes[0].total || 1;
  return `${node.name}: ${duration(node.total)}, ${percent(node.total / whole)} of ${flame.of}` +
    (node.count ? `, ${exact(node.count)} times` : "") + (node.below.length && node.kind !== null ? `; ${duration(node.self)} of it in nothing below` : "");
}
function drawFlame(box, text, flame) {
  let deepest = 0;
  const put = (node, left, width, level, isAbove) => {
    if (width < FLAME_LEAST) return;
    deepest = Math.max(deepest, level);
    const bar = add(box, "button", node.name, isAbove ? "flame above" : "flame");
    bar.type = "button";
    bar.style.left = `${left * 100}%`;
    bar.style.width = `${width * 100}%`;
    bar.style.top = `${level * FLAME_ROW}px`;
    bar.title = flameText(node, flame);
    if (node.kind !== null) {
      bar.style.background = kindColours[node.kind];
      bar.style.color = kindInks[node.kind];
      paintPattern(bar, node.kind);
      if (isDim(node.kind)) bar.style.opacity = .25;
    }
    bar.addEventListener("click", () => {
      flame.root = node;
      fillFlameBox(box, text, flame);
    });
    bar.addEventListener("focus", () => text.textContent = flameText(node, flame));
    bar.addEventListener("mouseenter", () => text.textContent = flameText(node, flame));
  };
  const above = [];
  for (let node = flame.root.parent; node; node = node.parent) above.unshift(node);
  above.forEach((node, level) => put(node, 0, 1, level, true));
  const grow = (node, left, level) => {
    put(node, left, node.total / (flame.root.total || 1), level, false);
    for (const child of node.below) {
      if (child.total / (flame.root.total || 1) < FLAME_LEAST) break;
      grow(child, left, level + 1);
      left += child.total / (flame.root.total || 1);
    }
  };
  grow(flame.root, 0, above.length);
  box.style.height = `${(deepest + 1) * FLAME_ROW}px`;
}
function fillFlameBox(box, text, flame) {
  box.textContent = "";
  drawFlame(box, text, flame);
  text.textContent = flameText(flame.root, flame);
}
const workerFlame = {nodes: stacks, root: stacks[0], of: "what workers did"};
const slowFlame = {nodes: slowStacks, root: slowStacks[0], of: "the time of slow calls"};
function fillFlameOf(parent, flame, caption) {
  add(parent, "p", `${caption} Click a bar to look closer, one above to go back.`, "caption");
  const box = add(parent, "div", undefined, "flames"), text = add(parent, "p", "", "caption num");
  text.setAttribute("aria-live", "polite");
  fillFlameBox(box, text, flame);
}
function fillFlame(parent) {
  fillFlameOf(parent, workerFlame, "Time of all workers together, by what lay in what: a work item, and below it what ran inside.");
}
function fillSlow(parent) {
  fillFlameOf(parent, slowFlame, "Stacks of slow calls, by the functions that they were in when they were looked at. A ? is a frame that was guessed.");
}
