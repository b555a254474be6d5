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

const time = (title, field) => ({title, value: row => row[field], text: row => duration(row[field])});
const count = (title, field) => ({title, value: row => row[field]});
const processColumn = {title: "Process", left: true, value: track => data.processes[track.owner].name, text: track => data.processes[track.owner].name};
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

function kindTable(parent, kinds, first, whole, wholeTitle) {
  const own = {share: shareColumn(wholeTitle, kind => Number(kind.total) / whole),
    max: {title: "Longest", value: kind => kind.max, fill: (cell, kind) => go(cell, duration(kind.max), () => goToLongest(kind))}};
  table(parent, [nameColumn("Name"), ...first, ...columnsOf("kinds", ["category", "item", "name"], kinds, own),
    histogramColumn(kinds, "histogram", kind => kindColours[kind.number])], kinds, first.length + 2, (cell, kind) => {
      add(cell, "div", `${kind.name}: ${exact(kind.count)} finished, ${exact(kind.total)} ns in all, from ${exact(kind.min)} to ${exact(kind.max)} ns`, "quiet");
      largeHistogram(cell, kind.histogram, kindColours[kind.number], "spans");
    });
}

const workerTime = extent * Math.max(1, workers.length);
const CATEGORY_TITLES = {am: "active message", xfer: "transfer", deppart: "partitioning", reap: "GPU reap", waiting: "waiting", sub_item: "other"};

/* In this tab, that of GPUs, or that of waits. */
const TRACK_COLUMNS = ["name", "spans", "busy", "idle", "busy_share", "gaps", "longest_gap", "certain_busy",
  ...["count", "mean", "p50", "p99", "max"].map(key => `launch_latency.${key}`)];
function fillWorkers(parent) {
  table(parent, [
    {title: "Worker", left: true, value: track => track.name},
    processColumn,
    {title: "OS id", value: track => track.os_id, text: track => Number(track.os_id) ? String(track.os_id) : ""},
    shareColumn("Busy", track => Number(track.busy) / extent), time("Busy time", "busy"), count("Calls", "outermost"), count("Spans", "spans"), lostColumn,
    ...columnsOf("tracks", TRACK_COLUMNS, workers)], workers, 3);
  fillConcurrency(parent);
}
function fillConcurrency(parent) {
  const levels = data.concurrency_ns.map(Number);
  if (!levels.length) return;
  add(parent, "p", data.merged ? "How long that many workers of a node were busy at the same time, all nodes together:" : "How long that many workers were busy at the same time:", "caption");
  const rows = levels.map((ns, number) => ({number, ns})).filter(row => row.ns > 0);
  table(parent, [{title: "Busy workers", value: row => row.number}, time("Time", "ns"), shareColumn("Of the run", row => row.ns / extent / (data.merged ? data.processes.length : 1)),
    {title: "", left: true, value: row => row.number, text: () => ""}], rows, 0);
}

const launchesOf = track => track.launch_latency || {count: 0, mean: 0, p99: 0};
const gapColumn = title => ({title, value: track => track.longest_gap, fill: (cell, track) => go(cell, duration(track.longest_gap),
  () => goToTime(track.number, Number(track.longest_gap_at), Number(track.longest_gap)))});
function fillGpus(parent) {
  table(parent, [
    {title: "GPU", left: true, value: track => track.name},
    processColumn,
    shareColumn("Busy", track => Number(track.busy) / extent), time("Busy time", "busy"),
    ...(gpus.some(track => track.with_bounds) ? [time("Certain", "certain_busy")] : []),
    ...(gpus.some(track => launchesOf(track).count) ? [{title: "Launch to start", value: track => launchesOf(track).mean, text: track => duration(launchesOf(track).mean)},
      {title: "p99", value: track => launchesOf(track).p99, text: track => duration(launchesOf(track).p99)}] : []), count("Work", "spans"), count("Gaps", "gaps"),
    gapColumn("Longest gap"), ...columnsOf("tracks", TRACK_COLUMNS, gpus)], gpus, 2);
  add(parent, "p", `GPU work by the work item that launched it. ${exact(data.links)} pieces of it are linked to a call: select one, and press g or Go. Where the file tells no launch the link is inferred: it leads to the latest call of the slot that had begun before the work.`, "caption");
  kindTable(parent, gpuWork, [{title: "Slot", value: kind => kind.item, text: kind => String(kind.item)}], extent * Math.max(1, gpus.length), "Of GPU time");
}

/* The mean is over time. */
function fillCounters(parent) {
  const value = (title, key) => ({title, value: track => Number(track[key]), text: track => `${track[key]} ${track.unit}`});
  const shown = counters.filter(track => track.counter).map(track => ({...track, ...track.counter}));
  table(parent, [{title: "Counter", left: true, value: track => track.name},
    processColumn,
    count("Samples", "samples"), value("Least", "min"), value("Mean", "mean"), value("Greatest", "max"),
    ...columnsOf("counters", ["name", "samples", "min", "mean", "max"], shown)], shown, 0);
}

function fillWaits(parent) {
  const waiting = workers.map(track => ({...track, wait_ns: Math.max(0, extent - Number(track.busy)),
    waited: track.waits.slice(1).reduce((sum, value) => sum + Number(value), 0)}));
  add(parent, "p", "A wait is the time between two calls of a worker. Before its first call and after its last one it waits too, but these are not counted as waits.", "caption");
  table(parent, [{title: "Worker", left: true, value: track => track.name}, time("Not busy", "wait_ns"),
    shareColumn("Of the run", track => track.wait_ns / extent), count("Waits", "waited"),
    gapColumn("Longest"),
    histogramColumn(waiting, "waits", () => "var(--accent)")], waiting, 1, (cell, track) => largeHistogram(cell, track.waits, "var(--accent)", "waits"));
  const longest = data.waits.map(([track, start, length]) => ({track, start: Number(start), length: Number(length)}));
  add(parent, "p", "The longest waits:", "caption");
  table(parent, [{title: "Worker", left: true, value: wait => data.tracks[wait.track].name, text: wait => data.tracks[wait.track].name},
    {title: "From", value: wait => wait.start, text: wait => moment(wait.start, 1000)},
    {title: "Wait", value: wait => wait.length, fill: (cell, wait) => go(cell, duration(wait.length), () => goToTime(wait.track, wait.start, wait.length))}],
  longest, 2);
}

function fillPolls(parent) {
  const discarded = sumOf(data.processes, "empty_polls");
  add(parent, "p", `${exact(discarded)} calls found nothing to do and left no trace.` + (subItems.length
    ? " Below: calls in which no sub-item ran. For a work item that reports its work by sub-items, these are polls that found nothing." +
      (data.facts.some(([key, value]) => key.endsWith(".level") && value === "1") ? " Files of level 1 have no sub-items: all of their calls count here." : "")
    : " This run has no sub-items (level 1), so empty polls that were kept cannot be told from others."), "caption");
  if (!subItems.length) return;
  table(parent, [nameColumn("Work item"), {title: "Slot", value: kind => kind.item, text: kind => String(kind.item)}, count("Calls", "count"),
    count("With nothing inside", "hollow"), shareColumn("Of its calls", kind => Number(kind.hollow) / Math.max(1, kind.all)),
    time("Time in them", "hollow_ns"), shareColumn("Of worker time", kind => Number(kind.hollow_ns) / workerTime)], calls, 5);
}

function fillLongest(parent) {
  const rows = data.longest.filter(call => data.kinds[call.row]).map(call => ({...call, number: call.row}));
  table(parent, [nameColumn("Call"), {title: "On", left: true, value: call => data.tracks[call.track].name},
    {title: "From", value: call => call.start, text: call => moment(call.start, 1000)},
    {title: "Took", value: call => call.duration, fill: (cell, call) => go(cell, duration(call.duration), () => goToTime(call.track, call.start, Number(call.duration)))},
    ...columnsOf("calls", ["start", "duration", "name"], rows),
    ...(rows.some(call => call.noted.length) ? [{title: "Arguments", left: true, value: call => argumentText(call.noted)}] : [])],
  rows, 3);
}

function fillLosses(parent) {
  table(parent, [{title: "Cause", left: true, value: loss => loss.cause, fill: (cell, loss) => add(cell, "span", loss.cause, "red-text")},
    {title: "On", left: true, value: loss => loss.track === undefined ? "" : data.tracks[loss.track].name,
      text: loss => loss.track === undefined ? "not known, or several" : data.tracks[loss.track].name},
    {title: "How much", value: loss => loss.calls ?? loss.records,
      text: loss => loss.bytes && !Number(loss.records) ? `${exact(loss.bytes)} bytes` : loss.calls === undefined ? `${exact(loss.records)} records` : `${exact(loss.calls)} calls`},
    {title: "When", value: loss => loss.first || 0, fill: (cell, loss) => loss.first === undefined ? cell.append("not known")
      : go(cell, `${moment(loss.first, 1000)}, for ${duration(loss.last - loss.first)}`, () => goToTime(loss.track, loss.first, loss.last - loss.first))},
    ...columnsOf("losses", [], data.losses)], data.losses, 2);
}

function fillAbout(parent) {
  add(parent, "p", `Written by rbwp ${data.version}. Times count from the zero time of the run, ${BigInt(data.origin_ns) - BigInt(data.since_zero_ns)} ns since 1970; the first span of a worker starts at ${moment(0, 1)}.`, "caption");
  table(parent, [{title: "Process", left: true, value: process => process.name}, {title: "Host", left: true, value: process => process.host, text: process => process.host},
    {title: "File", left: true, value: process => process.source, text: process => process.source},
    {title: "Command", left: true, value: process => process.command, text: process => process.command.replaceAll("\0", " ")},
    {title: "OS id", value: process => process.os_id, text: process => Number(process.os_id) ? String(process.os_id) : ""}], data.processes, 0);
  table(parent, [{title: "Fact", left: true, value: fact => fact[0], text: fact => fact[0]}, {title: "Value", left: true, value: fact => fact[1], text: fact => fact[1]}], data.facts, 0);
}

/* ---- tabs ----------------------------------------------------------------------------------- */

const nodeCount = data.nodes.length;
const TABS = [
  ["Work items", calls.length, parent => kindTable(parent, calls, [{title: "Slot", value: kind => kind.item, text: kind => String(kind.item)}], workerTime, "Of worker time")],
  ["Sub-items", subItems.length, parent => kindTable(parent, subItems, [{title: "Id", value: kind => kind.item, text: kind => String(kind.item)},
    {title: "Type", left: true, value: kind => CATEGORY_TITLES[kind.category], text: kind => CATEGORY_TITLES[kind.category]}], workerTime, "Of worker time")],
  ["Other work", others.length, parent => kindTable(parent, others, [{title: "Type", left: true, value: kind => kind.category, text: kind => kind.category}], workerTime, "Of worker time")],
  ["Queue delay", queued.length, parent => kindTable(parent, queued, [{title: "Slot", value: kind => kind.item, text: kind => String(kind.item)}], extent, "Of the run")],
  ["Ranges", ranges.length, parent => kindTable(parent, ranges, [], extent, "Of the run")],
  ["Ranges on GPUs", gpuRanges.length, parent => kindTable(parent, gpuRanges, [], extent, "Of the run")],
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
