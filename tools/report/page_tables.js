/* SPDX-License-Identifier: Apache-2.0 */
/* The figures above the timeline and the tables below it. */
"use strict";

/* ---- figures and alerts ------------------------------------------------------------ */

const sumOf = (list, field) => list.reduce((sum, entry) => sum + BigInt(entry[field]), 0n);
const kindsWith = test => data.kinds.filter(test);
const calls = kindsWith(kind => kind.category === "bgwork"), subItems = kindsWith(isSubItem), gpuWork = kindsWith(isGpuWork);
const ranges = kindsWith(kind => kind.category === "range"), gpuRanges = kindsWith(kind => kind.category === "annotation"), queued = kindsWith(kind => kind.category === "queued");
const counters = data.tracks.filter(track => track.kind === "counter");
const others = kindsWith(kind => kind.category !== "bgwork" && kind.category !== "range" && kind.category !== "annotation" && kind.category !== "queued" && !isSubItem(kind) && !isGpuWork(kind));
const workers = data.tracks.filter(isWorker), gpus = data.tracks.filter(track => track.kind === "gpu");
const workerPart = Number(data.worker_busy_ns) / (extent * Math.max(1, workers.length));

function figure(title, text, id, red) {
  const box = add(document.getElementById("figures"), "div", undefined, red ? "figure red" : "figure");
  add(box, "div", title);
  const value = add(box, "b", text);
  if (id) value.id = id;
}
const KEPT_DROPPED = /^process\.(\d+)\.kept\.dropped_records$/;
function fillFigures() {
  const unfinished = sumOf(data.kinds, "unfinished");
  figure("Run", duration(data.extent_ns), "figure-run");
  figure("Spans", exact(data.spans), "figure-spans");
  if (calls.length) figure("Calls", exact(sumOf(calls, "count")), "figure-calls");
  if (subItems.length) figure("Sub-items", exact(sumOf(subItems, "count")), "figure-sub-items");
  if (gpuWork.length) figure("GPU work", exact(sumOf(gpuWork, "count")), "figure-gpu");
  if (others.length) figure("Other spans", exact(sumOf(others, "count")), "figure-other");
  if (workers.length) figure(`Busy, of ${exact(workers.length)} worker${workers.length > 1 ? "s" : ""}`, percent(workerPart), "figure-busy");
  if (unfinished > 0n) figure("End not known", exact(unfinished), "figure-unfinished");
  const notKept = data.facts.filter(([key]) => KEPT_DROPPED.test(key)).reduce((sum, [, value]) => sum + BigInt(value), 0n);
  figure(notKept ? "Records lost or not kept" : "Records lost", exact(BigInt(data.lost) + notKept), "figure-lost", Number(data.lost) > 0);
}

function alertLine(text, red) {
  return add(document.getElementById("alerts"), "p", text, red ? "alert red" : "alert");
}
const OPEN_SHOWN = 5;
function fillOpen() {
  const shown = data.open.slice(0, OPEN_SHOWN), more = Number(data.open_spans) - shown.length;
  for (const {track, name, start, duration: length, hung, noted} of shown)
    alertLine(`${hung ? "Hung" : "Still open"}: for ${duration(length)} in ${name} on ${data.tracks[track].name}, since ${moment(start, 1000)}${noted.length ? `: ${argumentText(noted)}` : ""}`, hung > 0);
  if (more > 0) alertLine(`${exact(more)} ${shown.length ? "more " : ""}span${more === 1 ? " was" : "s were"} still open when this ended.`);
}
function fillAlerts() {
  fillOpen();
  if (data.merged)
    alertLine(`This page is of the sums of ${exact(data.processes.length)} files, without a timeline of their spans: rbwp report shows that of 64 files at most, or of any with -\u2060-\u2060from and -\u2060-\u2060to.`);
  const problems = data.facts.filter(([key, value]) => key.endsWith(".problems") && value !== "0");
  const strays = data.facts.filter(([key, value]) => key.endsWith(".ends_without_begin") && value !== "0");
  if (Number(data.lost) > 0)
    alertLine(`${exact(data.lost)} records were lost when this was recorded: what is shown is not everything. See Losses below; red stretches of the timeline are where it happened.`, true);
  const told = [[KEPT_DROPPED, count => `has the newest part of a recording; ${count} records before it were not kept`],
    [/^process\.(\d+)\.left_out\.(.*)$/, (count, what) => `${count} ${what.replaceAll("_", " ")} had no room in its tables`],
    [/^process\.(\d+)\.lost\.cause_(.*)$/, (count, cause) => `${count} losses of cause ${cause}, which this version does not know`]];
  for (const [pattern, text] of told)
    for (const [key, value] of data.facts) {
      const found = pattern.exec(key);
      if (found && value !== "0") alertLine(`${data.processes[Number(found[1])].source}: ${text(exact(value), found[2])}.`);
    }
  for (const {what, text} of data.findings)
    if (what === "refused") alertLine(text, true);
  for (const [key, value] of problems)
    alertLine(`${data.processes[Number(key.split(".")[1])].source}: damaged in ${exact(value)} place${value === "1" ? "" : "s"}; what could be read is shown.`, true);
  for (const [key, value] of strays)
    alertLine(`${data.processes[Number(key.split(".")[1])].source}: ${exact(value)} end${value === "1" ? "" : "s"} without a begin could not be shown.`);
  if (!data.detail.all)
    alertLine(`The page has ${exact(data.detail.spans)} of ${exact(data.spans)} spans one by one: all those in the stretches that are not hatched, and summaries of everything elsewhere. All numbers are of the whole run. A larger -\u2060-\u2060detail gives more.`);
  if (Number(data.hidden) > 0)
    alertLine(`${exact(data.hidden)} spans are in the tables but not on the timeline: they lie too deep, or on rows beyond what a page has.`);
  if (Number(data.args_left_out) > 0) alertLine(`The page has not the arguments of ${exact(data.args_left_out)} spans: only of the first ones and of the longest calls.`);
  if (isFar) alertLine(`Some spans lie far from what the workers did: from ${duration(whole[0])} to ${duration(whole[1])}. The timeline begins with the workers; shares of time are of all.`);
  if (Math.max(-whole[0], whole[1]) > 2 ** 53) alertLine("Times so far away are rounded on the timeline.");
  if (!data.tracks.length || Number(data.spans) === 0) alertLine("There are no spans in this file.");
}

/* ---- histograms ----------------------------------------------------------------------- */

function largeHistogram(parent, histogram, colour, unit) {
  const [first, ...counts] = histogram;
  if (first === undefined) return void add(parent, "span", "Nothing to count.", "quiet");
  const most = Math.max(...counts.map(Number)), step = Math.max(9, Math.min(24, 900 / counts.length)), height = 150;
  const width = Math.max(220, counts.length * step + 60);
  const picture = shape(parent, "svg", {width, height: height + 34, role: "img", "aria-label": "histogram"});
  counts.forEach((count, i) => {
    const bucket = first + i, bar = Number(count) ? Math.max(1.5, Number(count) / most * height) : 0;
    const rect = shape(picture, "rect", {x: 10 + i * step, y: height + 8 - bar, width: step - 1.5, height: bar, fill: colour, rx: 1});
    shape(rect, "title").textContent = `${exact(count)} ${unit} from about ${duration(bucketStart(bucket))} to ${duration(bucketStart(bucket + 1))}`;
    if (bucket % 4 === 0 && (step * 4 > 52 || bucket / 4 % 2 === 0))
      shape(picture, "text", {x: 10 + i * step, y: height + 25}).textContent = duration(bucketStart(bucket));
  });
  shape(picture, "rect", {x: 10, y: height + 8, width: counts.length * step, height: 1, fill: "var(--line)"});
}

/* ---- tables ------------------------------------------------------------------------------ */

const time = title => ({title, form: "duration"});
const processColumn = {title: "Process", form: "text", value: ({owner}) => data.processes[owner].name};
const osIdColumn = {title: "OS id", text: ({os_id}) => Number(os_id) ? String(os_id) : ""};
const lostColumn = {title: "Lost", value: row => Number(row.lost_records),
  fill: (cell, row) => add(cell, "span", exact(row.lost_records), Number(row.lost_records) ? "red-text" : "quiet")};
function nameColumn(title) {
  return {title, left: true, value: kind => kind.name, fill: (cell, kind) => {
    swatch(cell, kind.number);
    cell.append(kind.name);
    if (kind.kind) add(cell, "span", ` [${kind.kind}]`, "quiet");
  }};
}
function histogramColumn(rows, field, colour) {
  const axis = histogramAxis(rows, field);
  return {title: `Histogram, ${axisText(axis)}`, left: true, value: row => Number(row[field][0] || 0),
    fill: (cell, row) => sparkline(cell, row[field], colour(row), axis)};
}

/* Where the longest span of a kind is: tracks are not known, so all rows are asked. */
function goToLongest(kind) {
  const start = Number(kind.longest_at);
  for (const track of data.tracks)
    for (const row of track.rows)
      for (const tile of tilesIn(row, start, start)) {
        const spans = spansOf(tile);
        for (let i = 0; i < spans.count; i++)
          if (spans.starts[i] === start && spans.kinds[i] === kind.number) {
            document.getElementById("timeline").scrollIntoView({block: "nearest"});
            return goTo({row, start, stop: spans.stops[i], kind: kind.number, flags: spans.flags[i]});
          }
      }
  goToTime(undefined, start, Number(kind.max));
}

const longestColumn = {title: "Longest", fill: (cell, kind) => go(cell, duration(kind.max), () => goToLongest(kind))};

function kindTable(parent, kinds, first, whole, wholeTitle) {
  const own = {share: shareColumn(wholeTitle, kind => Number(kind.total) / whole), max: longestColumn};
  const columns = columnsOf("kinds", kinds, {name: nameColumn("Name"), item: null, category: null, ...first}, own);
  table(parent, [...columns, histogramColumn(kinds, "histogram", kind => kindColours[kind.number])], kinds, "total", (cell, kind) => {
    add(cell, "div", `${kind.name}: ${exact(kind.count)} finished, ${exact(kind.total)} ns in all, from ${exact(kind.min)} to ${exact(kind.max)} ns`, "quiet");
    largeHistogram(cell, kind.histogram, kindColours[kind.number], "spans");
  });
}

const workerTime = extent * Math.max(1, workers.length);
const CATEGORY_TITLES = {am: "active message", xfer: "transfer", deppart: "partitioning", reap: "GPU reap", waiting: "waiting", sub_item: "other"};

const NO_LAUNCHES = Object.fromEntries(["count", "mean", "p50", "p99", "max"].map(key => [`launch_latency.${key}`, null]));
function fillWorkers(parent) {
  table(parent, columnsOf("tracks", workers, {name: "Worker", process: processColumn, os_id: osIdColumn, busy_share: "Busy", busy: "Busy time", outermost: "Calls",
    spans: "Spans", lost_records: lostColumn, idle: null, gaps: null, longest_gap: null, certain_busy: null, ...NO_LAUNCHES}), workers, "busy_share");
  fillConcurrency(parent);
}
function fillConcurrency(parent) {
  const levels = data.concurrency_ns.map(Number);
  if (!levels.length) return;
  add(parent, "p", data.merged ? "How long that many workers of a node were busy at the same time, all nodes together:" : "How long that many workers were busy at the same time:", "caption");
  const rows = levels.map((ns, number) => ({number, ns})).filter(row => row.ns > 0);
  table(parent, columnsOf("", rows, {number: "Busy workers", ns: time("Time"), share: shareColumn("Of the run", row => row.ns / extent / (data.merged ? data.processes.length : 1)),
    rest: {title: "", left: true, value: row => row.number, text: () => ""}}), rows, "number");
}

const gapColumn = title => ({title, fill: (cell, track) => go(cell, duration(track.longest_gap),
  () => goToTime(track.number, Number(track.longest_gap_at), Number(track.longest_gap)))});
function fillGpus(parent) {
  const launched = gpus.some(({launch_latency: latency}) => latency && latency.count), bounded = gpus.some(track => track.with_bounds);
  table(parent, columnsOf("tracks", gpus, {name: "GPU", process: processColumn, busy_share: "Busy", busy: "Busy time", certain_busy: bounded ? "Certain" : null,
    "launch_latency.mean": launched ? "Launch to start" : null, "launch_latency.p99": launched ? "p99" : null, spans: "Work", gaps: "Gaps",
    longest_gap: gapColumn("Longest gap"), idle: null, "launch_latency.count": null, "launch_latency.p50": null, "launch_latency.max": null}), gpus, "busy_share");
  add(parent, "p", `GPU work by the work item that launched it. ${exact(data.links)} pieces of it are linked to a call: select one, and press g or Go. Where the file tells no launch the link is inferred: it leads to the latest call of the slot that had begun before the work.`, "caption");
  kindTable(parent, gpuWork, {item: "Slot"}, extent * Math.max(1, gpus.length), "Of GPU time");
}

/* The mean is over time. */
function fillCounters(parent) {
  const value = (title, key) => ({title, value: track => Number(track[key]), text: track => `${track[key]} ${track.unit}`});
  const shown = counters.filter(track => track.counter).map(track => ({...track, ...track.counter}));
  table(parent, columnsOf("counters", shown, {name: "Counter", process: processColumn, samples: "Samples", min: value("Least", "min"), mean: value("Mean", "mean"),
    max: value("Greatest", "max")}), shown, "name");
}

function fillWaits(parent) {
  const waiting = workers.map(track => ({...track, wait_ns: Math.max(0, extent - Number(track.busy)),
    waited: track.waits.slice(1).reduce((sum, value) => sum + Number(value), 0)}));
  add(parent, "p", "A wait is the time between two calls of a worker. Before its first call and after its last one it waits too, but these are not counted as waits.", "caption");
  table(parent, columnsOf("", waiting, {name: {title: "Worker", form: "text"}, wait_ns: time("Not busy"), share: shareColumn("Of the run", track => track.wait_ns / extent),
    waited: "Waits", longest_gap: gapColumn("Longest"), waits: histogramColumn(waiting, "waits", () => "var(--accent)")}), waiting, "wait_ns", (cell, track) => largeHistogram(cell, track.waits, "var(--accent)", "waits"));
  const longest = data.waits.map(([track, start, length]) => ({track, start: Number(start), length: Number(length)}));
  add(parent, "p", "The longest waits:", "caption");
  table(parent, columnsOf("", longest, {track: {title: "Worker", form: "text", value: wait => data.tracks[wait.track].name}, start: {title: "From", form: "time"},
    length: {title: "Wait", fill: (cell, wait) => go(cell, duration(wait.length), () => goToTime(wait.track, wait.start, wait.length))}}), longest, "length");
}

function fillPolls(parent) {
  const discarded = sumOf(data.processes, "empty_polls");
  add(parent, "p", `${exact(discarded)} calls found nothing to do and left no trace.` + (subItems.length
    ? " Below: calls in which no sub-item ran. For a work item that reports its work by sub-items, these are polls that found nothing." +
      (data.facts.some(([key, value]) => key.endsWith(".level") && value === "1") ? " Files of level 1 have no sub-items: all of their calls count here." : "")
    : " This run has no sub-items (level 1), so empty polls that were kept cannot be told from others."), "caption");
  if (!subItems.length) return;
  table(parent, columnsOf("", calls, {name: nameColumn("Work item"), item: "Slot", count: "Calls", hollow: "With nothing inside",
    part: shareColumn("Of its calls", kind => Number(kind.hollow) / Math.max(1, kind.all)), hollow_ns: time("Time in them"),
    share: shareColumn("Of worker time", kind => Number(kind.hollow_ns) / workerTime)}), calls, "hollow_ns");
}

function fillLongest(parent) {
  const rows = data.longest.filter(call => data.kinds[call.row]).map(call => ({...call, number: call.row}));
  const columns = columnsOf("calls", rows, {name: nameColumn("Call"), track: {title: "On", form: "text", value: call => data.tracks[call.track].name}, start: "From",
    duration: {title: "Took", fill: (cell, call) => go(cell, duration(call.duration), () => goToTime(call.track, call.start, Number(call.duration)))}});
  table(parent, [...columns, ...columnsOf("", rows, {noted: {title: "Arguments", form: "text", value: call => argumentText(call.noted)}})], rows, "duration");
}

function fillCritical(parent) {
  add(parent, "p", "The chain of work and waits that ends last: from the end of the run back, over waits to who ended them, queues to who handed over, launches and messages. What it has most of has to become faster for the run to end sooner.", "caption");
  const several = data.processes.length > 1;
  table(parent, columnsOf("critical", data.critical, {name: {title: "Name", form: "text"}, kind: "Kind", thread: {title: "On", form: "text"}, process: several ? {title: "Process", form: "text"} : null}),
    data.critical, "share");
}

function fillLosses(parent) {
  table(parent, columnsOf("losses", data.losses, {cause: {title: "Cause", left: true, fill: (cell, loss) => add(cell, "span", loss.cause, "red-text")},
    track: {title: "On", form: "text", value: loss => loss.track === undefined ? "not known, or several" : data.tracks[loss.track].name},
    count: {title: "How much", value: loss => loss.calls ?? loss.records,
      text: loss => loss.bytes && !Number(loss.records) ? `${exact(loss.bytes)} bytes` : loss.calls === undefined ? `${exact(loss.records)} records` : `${exact(loss.calls)} calls`},
    first: {title: "When", value: loss => loss.first || 0, fill: (cell, loss) => loss.first === undefined ? cell.append("not known")
      : go(cell, `${moment(loss.first, 1000)}, for ${duration(loss.last - loss.first)}`, () => goToTime(loss.track, loss.first, loss.last - loss.first))}}), data.losses, "count");
}

function fillAbout(parent) {
  add(parent, "p", `Written by rbwp ${data.version}. Times count from the zero time of the run, ${BigInt(data.origin_ns) - BigInt(data.since_zero_ns)} ns since 1970; the first span of a worker starts at ${moment(0, 1)}.`, "caption");
  const text = title => ({title, form: "text"});
  table(parent, columnsOf("", data.processes, {name: text("Process"), host: text("Host"), source: text("File"),
    command: {...text("Command"), value: process => process.command.replaceAll("\0", " ")}, os_id: osIdColumn}), data.processes, "name");
  table(parent, columnsOf("", data.facts, {fact: {...text("Fact"), value: fact => fact[0]}, value: {...text("Value"), value: fact => fact[1]}}), data.facts, "fact");
}

/* ---- tabs ----------------------------------------------------------------------------------- */

const nodeCount = data.nodes.length;
const TABS = [
  ["Work items", calls.length, parent => kindTable(parent, calls, {item: "Slot"}, workerTime, "Of worker time")],
  ["Sub-items", subItems.length, parent => kindTable(parent, subItems, {item: "Id", category: {title: "Type", value: kind => CATEGORY_TITLES[kind.category]}}, workerTime, "Of worker time")],
  ["Other work", others.length, parent => kindTable(parent, others, {category: "Type"}, workerTime, "Of worker time")],
  ["Queue delay", queued.length, parent => kindTable(parent, queued, {item: "Slot"}, extent, "Of the run")],
  ["Ranges", ranges.length, parent => kindTable(parent, ranges, {}, extent, "Of the run")],
  ["Ranges on GPUs", gpuRanges.length, parent => kindTable(parent, gpuRanges, {}, extent, "Of the run")],
  ["Critical path", (data.critical || []).length, fillCritical],
  ["Flame", data.stacks.length, fillFlame],
  ["Stacks of slow calls", (data.slow_stacks || []).length, fillSlow],
  ["Counters", counters.length, fillCounters],
  ["Nodes", nodeCount > 1, parent => fillNodeTable(parent)],
  ["Workers", workers.length, fillWorkers],
  ["GPUs", gpus.length, fillGpus],
  ["Lines in kernels", linesInKernels.length, fillLines],
  ["Inside kernels", data.inside.length, fillInside],
  ["Waits", data.waits.length, fillWaits],
  ["Empty polls", data.merged ? 0 : calls.length, fillPolls],
  ["Longest calls", data.longest.length, fillLongest],
  ["Losses", data.losses.length, fillLosses],
  ["About", 1, fillAbout],
].filter(([, any]) => any);
if (knowsCpu && gpus.length) TABS.unshift(...TABS.splice(TABS.findIndex(([title]) => title === "GPUs"), 1));

let openedTab = 0;
function openTab(number) {
  openedTab = number;
  const parent = document.getElementById("tables");
  parent.textContent = "";
  document.querySelectorAll("#tabs button").forEach((button, i) => {
    button.setAttribute("aria-selected", i === number);
    button.tabIndex = i === number ? 0 : -1;
  });
  TABS[number][2](parent);
  notePlace();
}
function fillTabs() {
  TABS.forEach(([title], number) => {
    const button = add(document.getElementById("tabs"), "button", title);
    button.type = "button";
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", "tables");
    button.addEventListener("click", () => openTab(number));
    button.addEventListener("keydown", event => {
      const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const next = (number + step + TABS.length) % TABS.length;
      openTab(next);
      document.querySelectorAll("#tabs button")[next].focus();
    });
  });
  openTab(0);
}
