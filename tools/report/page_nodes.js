/* SPDX-License-Identifier: Apache-2.0 */
/* How busy nodes were: a row each, time from left to right, the share of their workers that was busy
 * as colour. Of more nodes than there are lines a line is the mean of several. */
"use strict";

const NODE_ROW_MOST = 18, NODES_HEIGHT = 460;
const SHARES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const nodeMap = document.getElementById("node-map"), nodeText = document.getElementById("node-text");
const nodes = data.nodes.map(node => ({...node, name: node.process, shares: Uint8Array.from(node.shares, letter => SHARES.indexOf(letter))}));
const nodeColumns = nodes.length ? nodes[0].shares.length : 0;
let nodesShown = nodes, nodesByShare = false;

/* The nodes of a line of the picture. */
function nodesOf(line, count) {
  return nodesShown.slice(Math.floor(line * nodesShown.length / count), Math.max(1, Math.floor((line + 1) * nodesShown.length / count)));
}
const nodeLines = () => Math.min(nodesShown.length, NODES_HEIGHT);
const nodeHeight = () => Math.max(1, Math.min(NODE_ROW_MOST, Math.floor(NODES_HEIGHT / nodesShown.length)));

function drawNodes() {
  if (nodes.length < 2) return;
  const count = nodeLines(), height = nodeHeight(), ratio = window.devicePixelRatio;
  const width = nodeMap.clientWidth;
  nodeMap.style.height = `${count * height}px`;
  nodeMap.width = Math.round(width * ratio);
  nodeMap.height = Math.round(count * height * ratio);
  const context = nodeMap.getContext("2d");
  context.scale(ratio, ratio);
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  const left = column => Math.round(column * width / nodeColumns);
  for (let line = 0; line < count; line++) {
    const here = nodesOf(line, count);
    for (let column = 0; column < nodeColumns; column++) {
      context.globalAlpha = here.reduce((sum, node) => sum + node.shares[column], 0) / here.length / 63;
      if (context.globalAlpha > 0)
        context.fillRect(left(column), line * height, left(column + 1) - left(column), height - (height > 3 ? 1 : 0));
    }
  }
}

/* {nodes, column} at a place of the picture. */
function nodePlace(event) {
  const box = nodeMap.getBoundingClientRect();
  const line = Math.floor((event.clientY - box.top) / nodeHeight()), column = Math.floor((event.clientX - box.left) / box.width * nodeColumns);
  return line < 0 || line >= nodeLines() || column < 0 || column >= nodeColumns ? null : {nodes: nodesOf(line, nodeLines()), column};
}
const nodeTime = column => whole[0] + (whole[1] - whole[0]) * column / nodeColumns;

function fillNodes() {
  const panel = document.getElementById("nodes");
  if (nodes.length < 2) return;
  panel.hidden = false;
  if (data.rows.length) nodeText.textContent += " Click for the timeline there.";
  const mean = nodes.reduce((sum, node) => sum + node.share, 0) / nodes.length;
  const busiest = nodes.reduce((best, node) => node.share > best.share ? node : best);
  document.getElementById("node-figures").textContent = `${exact(nodes.length)} nodes, busy for ${percent(mean)} on average; ${busiest.name} for ${percent(busiest.share)}` +
    (mean > 0 ? `, ${(busiest.share / mean).toFixed(2)} times as much` : "");
  nodeMap.addEventListener("mousemove", event => {
    const place = nodePlace(event);
    if (!place) return;
    const share = place.nodes.reduce((sum, node) => sum + node.shares[place.column], 0) / place.nodes.length / 63;
    nodeText.textContent = `${place.nodes[0].name}${place.nodes.length > 1 ? ` and ${exact(place.nodes.length - 1)} more` : ""}: ${percent(share)} of the workers at ${moment(nodeTime(place.column), (whole[1] - whole[0]) / nodeColumns)}`;
  });
  nodeMap.addEventListener("click", event => {
    const place = nodePlace(event), width = (whole[1] - whole[0]) / nodeColumns;
    if (place && data.rows.length) show(nodeTime(place.column) - width, nodeTime(place.column) + 2 * width);
  });
  document.getElementById("node-order").addEventListener("click", event => {
    nodesByShare = !nodesByShare;
    nodesShown = nodesByShare ? nodes.slice().sort((a, b) => b.share - a.share) : nodes;
    event.target.textContent = nodesByShare ? "By number" : "Busiest first";
    drawNodes();
  });
  window.addEventListener("resize", drawNodes);
}
function fillNodeTable(parent) {
  table(parent, columnsOf("nodes", nodes, {node: "Node", process: "Process", workers: "Workers", share: "Busy", busy: "Busy time", lost_records: lostColumn, longest_gap: null}),
    nodes, "share");
}
