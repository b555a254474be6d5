/* SPDX-License-Identifier: Apache-2.0 */
/* What workers did, added up by what lay in what: a bar is as wide as its time, what stands below it
 * was inside. A click makes a bar the whole width. */
"use strict";

const FLAME_LEAST = .0005, FLAME_ROW = 21; /* of the width; pixels */

const stacks = (() => {
  const nodes = [{parent: null, kind: null, name: "all workers", count: 0, self: 0, below: []}];
  for (const [parent, kind, count, self] of data.stacks)
    nodes.push({parent: nodes[parent], kind, name: data.kinds[kind] ? data.kinds[kind].name : "?", count, self: Number(self), below: []});
  for (let i = nodes.length - 1; i >= 0; i--) nodes[i].total = nodes[i].self;
  for (let i = nodes.length - 1; i > 0; i--) { /* parents come first */
    nodes[i].parent.total += nodes[i].total;
    nodes[i].parent.below.push(nodes[i]);
  }
  nodes.forEach(node => node.below.sort((a, b) => b.total - a.total || naturally(a.name, b.name)));
  return nodes;
})();
let flameRoot = stacks[0];

function flameText(node) {
  const whole = stacks[0].total || 1;
  return `${node.name}: ${duration(node.total)}, ${percent(node.total / whole)} of what workers did` +
    (node.count ? `, ${exact(node.count)} times` : "") + (node.below.length && node.kind !== null ? `; ${duration(node.self)} of it in nothing below` : "");
}
function drawFlame(box, text) {
  let deepest = 0;
  const put = (node, left, width, level, isAbove) => {
    if (width < FLAME_LEAST) return;
    deepest = Math.max(deepest, level);
    const bar = add(box, "button", node.name, isAbove ? "flame above" : "flame");
    bar.type = "button";
    bar.style.left = `${left * 100}%`;
    bar.style.width = `${width * 100}%`;
    bar.style.top = `${level * FLAME_ROW}px`;
    bar.title = flameText(node);
    if (node.kind !== null) {
      bar.style.background = kindColours[node.kind];
      bar.style.color = kindInks[node.kind];
      paintPattern(bar, node.kind);
      if (isDim(node.kind)) bar.style.opacity = .25;
    }
    bar.addEventListener("click", () => {
      flameRoot = node;
      fillFlameBox(box, text);
    });
    bar.addEventListener("focus", () => text.textContent = flameText(node));
    bar.addEventListener("mouseenter", () => text.textContent = flameText(node));
  };
  const above = [];
  for (let node = flameRoot.parent; node; node = node.parent) above.unshift(node);
  above.forEach((node, level) => put(node, 0, 1, level, true));
  const grow = (node, left, level) => {
    put(node, left, node.total / (flameRoot.total || 1), level, false);
    for (const child of node.below) {
      if (child.total / (flameRoot.total || 1) < FLAME_LEAST) break;
      grow(child, left, level + 1);
      left += child.total / (flameRoot.total || 1);
    }
  };
  grow(flameRoot, 0, above.length);
  box.style.height = `${(deepest + 1) * FLAME_ROW}px`;
}
function fillFlameBox(box, text) {
  box.textContent = "";
  drawFlame(box, text);
  text.textContent = flameText(flameRoot);
}
function fillFlame(parent) {
  add(parent, "p", "Time of all workers together, by what lay in what: a work item, and below it what ran inside. Click a bar to look closer, one above to go back.", "caption");
  const box = add(parent, "div", undefined, "flames"), text = add(parent, "p", "", "caption num");
  text.setAttribute("aria-live", "polite");
  fillFlameBox(box, text);
}
