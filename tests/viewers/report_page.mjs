// SPDX-License-Identifier: Apache-2.0
// report_page.mjs MODULES PAGE DUMP WORK DETAIL: see report_page.sh.
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";
import {execFileSync} from "node:child_process";
import assert from "node:assert/strict";

const [, , modules, file, dumpFile, work, detail] = process.argv;
const puppeteer = createRequire(`${modules}/`)("puppeteer-core");
const name = file.split("/").pop().replace(".html", "");
const isInside = name === "many_lanes", isProbed = name === "probes", isQueued = name === "queued", isTables = isInside || isProbed || isQueued; /* their spans are rows of tables, of which dump --spans has none */
const spans = JSON.parse(readFileSync(dumpFile, "utf8")).filter(span => span.begin !== null);
const browser = await (puppeteer.default || puppeteer).connect({browserWSEndpoint: process.env.BROWSER});
const context = await browser.createBrowserContext(), page = await context.newPage();
const complaints = [];
page.on("console", message => message.text().includes("willReadFrequently") || complaints.push(`${message.type()}: ${message.text()}`));
page.on("pageerror", error => complaints.push(error.message));
page.on("request", request => request.url() === `file://${file}` || complaints.push(`asks for ${request.url()}`));

const settle = () => page.evaluate(() => new Promise(done => {
  const look = () => requestAnimationFrame(() => rbwpReport.view.ready ? requestAnimationFrame(done) : look());
  look();
}));
const press = async (key, times = 1) => {
  for (let i = 0; i < times; i++) await page.keyboard.press(key);
  await settle();
};
const view = () => page.evaluate(() => ({from: rbwpReport.view.from, to: rbwpReport.view.to, mode: rbwpReport.view.mode}));
/* Share of the pixels of the rows, right of the labels, that are not background. */
const painted = () => page.evaluate(() => {
  const rows = document.getElementById("rows"), {width, height, data} = rows.getContext("2d").getImageData(180, 30, rows.width - 190, rows.height - 34);
  let count = 0;
  for (let i = 3; i < data.length; i += 4) if (data[i] > 0) count++;
  return count / (width * height);
});
const shoot = async level => process.env.SHOTS && page.screenshot({path: `${process.env.SHOTS}/${name}-${detail}-${level}.png`});
const shown = id => page.evaluate(id => document.getElementById(id)?.textContent.replaceAll(",", ""), id);
const finished = kind => spans.filter(span => span.kind === kind && span.finished).length;

try {
  await page.setViewport({width: 1440, height: 1000});
  await page.emulateMediaFeatures([{name: "prefers-color-scheme", value: detail === "0" ? "light" : "dark"}]);
  await page.goto(`file://${file}`, {waitUntil: "load"});
  await settle();
  assert.equal(await page.title(), `${name}.bin - rbwp report`);
  if (!isTables) assert.equal(await shown("figure-spans"), String(spans.length));
  if (!isTables) for (const [id, kind] of [["figure-calls", "coarse"], ["figure-sub-items", "fine"], ["figure-gpu", "gpu"]])
    assert.equal(await shown(id) ?? "0", String(finished(kind)), id);
  /* The tables' rows add up to the same: the sums of their Count columns. */
  for (const [tab, kind] of [["Work items", "coarse"], ["Sub-items", "fine"]]) {
    const sum = await page.evaluate(title => {
      const button = [...document.querySelectorAll("#tabs button")].find(button => button.textContent === title);
      if (!button) return 0;
      button.click();
      const place = [...document.querySelectorAll("#tables th")].findIndex(cell => cell.textContent.startsWith("Count"));
      return [...document.querySelectorAll("#tables tbody tr")].reduce((sum, row) => sum + Number(row.cells[place].textContent.replaceAll(",", "")), 0);
    }, tab);
    assert.equal(sum, finished(kind), tab);
  }
  for (const button of await page.$$("#tabs button")) await button.evaluate(button => button.click()); /* all of them open */
  await shoot(0);

  const start = await view();
  assert.equal(await page.evaluate(() => rbwpReport.data.detail.all), detail !== "0" || !spans.length);
  if (name === "busy") {
    assert.notEqual(start.mode, "single spans");
    assert.ok(await painted() > .08, "the whole run is drawn");
    await press("w", 8);
    const closer = await view();
    assert.ok(closer.to - closer.from < (start.to - start.from) / 20);
    assert.equal(closer.mode, detail === "0" ? "summary" : "single spans");
    assert.ok(await painted() > .08, "a part of the run is drawn");
    await shoot(1);
    await press("d");
    assert.ok((await view()).from > closer.from);
    await press("0");
    assert.deepEqual(await view(), start);
    await press("/");
    await page.keyboard.type("disk");
    await press("Enter");
    await press("Escape");
  }
  if (name === "busy" && detail !== "0") {
    /* Where a search and some steps lead is one of the dump's spans, and can be seen. */
    const origin = BigInt(await page.evaluate(() => rbwpReport.data.origin_ns));
    const texts = readFileSync(dumpFile, "utf8");
    for (const key of ["", "]", "]", "n", "["]) {
      if (key) await press(key);
      const chosen = await page.evaluate(() => {
        const {start, stop, kind} = rbwpReport.view.selected;
        return {start, stop, name: rbwpReport.data.kinds[kind].name};
      });
      const begin = origin + BigInt(chosen.start), end = origin + BigInt(chosen.stop);
      assert.ok(texts.includes(`"name":"${chosen.name}","begin":${begin},"end":${end},`), `${chosen.name} from ${begin} to ${end}`);
    }
    await press("f");
    const closest = await view();
    assert.equal(closest.mode, "single spans");
    assert.ok(closest.to - closest.from < 1e5);
    await shoot(2);
    await press("Escape");
    assert.equal(await page.evaluate(() => rbwpReport.view.selected), null);
  }
  if (name === "busy") {
    /* A marked range adds up what the command that the page gives adds up, to the nanosecond, if all spans are in the page. */
    await page.evaluate(() => {
      const {data, setRange} = rbwpReport, middle = Math.round(Number(data.extent_ns) / 2);
      setRange({from: middle, to: middle + 2000000});
    });
    await page.waitForSelector("#sums table");
    const sums = await page.evaluate(() => [...document.querySelectorAll("#sums tbody tr")].filter(row => row.cells[1]?.textContent === "bgwork")
      .map(row => [row.cells[0].textContent, row.cells[2].textContent, row.cells[3].textContent]));
    const words = (await page.evaluate(() => document.getElementById("command").value)).split(" ");
    assert.deepEqual([words.slice(0, 3), words[4], words[6]], [["rbwp", "stats", "--from"], "--to", file.replace(".html", ".bin")], words.join(" "));
    const stats = JSON.parse(execFileSync(process.env.RBWP, ["stats", "--json", ...words.slice(2)], {maxBuffer: 1 << 26}));
    assert.equal(stats.extent, 2000000);
    const shownAs = await page.evaluate(totals => totals.map(total => duration(total)), stats.work_items.map(row => row.total));
    const wanted = stats.work_items.map((row, i) => [row.name, shownAs[i]]);
    if (detail === "0") assert.deepEqual(sums.map(([name]) => name).sort(), wanted.map(([name]) => name).sort());
    else assert.deepEqual(sums.map(([name, , time]) => [name, time]), wanted);
    assert.equal(sums.every(row => row[2].startsWith("about ")), detail === "0");
    assert.equal(await page.evaluate(() => {
      const {range} = rbwpReport.view;
      rbwpReport.setRange(null);
      rbwpReport.fit();
      const command = rbwpReport.commandOf("stats");
      rbwpReport.setRange(range);
      return command;
    }), `rbwp stats ${file.replace(".html", ".bin")}`);
    /* The address leads back to all of it. */
    await page.evaluate(() => {
      rbwpReport.show(1000000, 3000000);
      [...document.querySelectorAll("#tabs button")].find(button => button.textContent === "Workers").click();
      const search = document.getElementById("search");
      search.value = "disk & \u00e9=";
      search.dispatchEvent(new Event("input"));
    });
    const state = () => page.evaluate(() => {
      const {view} = rbwpReport, {from, to, range} = view;
      return [from, to, range, view.selected?.start, document.querySelector("#tabs [aria-selected=true]").textContent, document.getElementById("search").value];
    });
    const before = await state();
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes("disk & \u00e9="));
    const address = page.url();
    await page.goto("about:blank");
    complaints.length = 0;
    await page.goto(address, {waitUntil: "load"});
    await settle();
    assert.deepEqual(await state(), before);
    complaints.splice(0, complaints.length, ...complaints.filter(text => !text.startsWith("asks for file:")));
    await page.evaluate(() => rbwpReport.goToPlace("#from=x&to=+1s&range=3,%&span=9,9,9,+0s&tab=None&only=%00")); /* what makes no sense */
    /* Search: what was found, with its sums; Esc in the box ends it. */
    await press("/");
    await page.evaluate(() => document.getElementById("search").select());
    await page.keyboard.type("disk");
    assert.match(await shown("found"), /^\d+ spans \d.* of worker time$/);
    const [found] = await page.evaluate(() => [...document.querySelectorAll("#results tbody tr")].map(row => [row.cells[0].textContent, row.cells[2].textContent]));
    assert.deepEqual(found, ["disk writer", (await page.evaluate(() => String(rbwpReport.data.kinds.find(kind => kind.name === "disk writer" && kind.category === "bgwork").all))).replace(/\B(?=(\d{3})+$)/g, ",")]);
    await press("Escape");
    assert.deepEqual([await page.evaluate(() => rbwpReport.view.matches), await page.evaluate(() => document.getElementById("results").hidden)], [null, true]);
    /* With Shift the mouse marks; the command can be copied. */
    await press("0");
    await page.evaluate(() => document.getElementById("rows").scrollIntoView({block: "center"}));
    const box = await (await page.$("#rows")).boundingBox();
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + 400, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + 600, box.y + 90, {steps: 3});
    await page.mouse.up();
    await page.keyboard.up("Shift");
    const marked = await page.evaluate(() => rbwpReport.view.range), all = await view();
    assert.ok(Math.abs((marked.to - marked.from) / (all.to - all.from) - 200 / (box.width - 204)) < .02, JSON.stringify(marked));
    await press("c");
    await page.waitForFunction(() => /^(Copied|Press)/.test(document.getElementById("copied").textContent));
    await press("Escape");
    assert.equal(await page.evaluate(() => rbwpReport.view.range), null);
    /* A key moves the view away from under the pointer: what was said of it goes. */
    await page.mouse.move(box.x + 500, box.y + 60);
    await page.evaluate(() => document.getElementById("tip").hidden = false);
    await press("w");
    assert.ok(await page.evaluate(() => document.getElementById("tip").hidden));
    /* Bars of the flame view: as wide as their part, and what is inside is not wider than what it is in. */
    const flames = await page.evaluate(() => {
      const {stacks, data} = rbwpReport, sum = stacks.slice(1).reduce((sum, node) => sum + node.self, 0);
      [...document.querySelectorAll("#tabs button")].find(button => button.textContent === "Flame").click();
      const bars = [...document.querySelectorAll(".flame")], widths = bars.map(bar => bar.getBoundingClientRect().width);
      const first = bars[1], name = first.textContent;
      first.click();
      return {sum, total: stacks[0].total, busy: data.tracks.reduce((sum, track) => sum + (track.kind === "thread" ? Number(track.busy) : 0), 0), part: widths[1] / widths[0],
        wanted: stacks.find(node => node.name === name).total / stacks[0].total, whole: document.querySelectorAll(".flame")[1].style.width, inside: stacks.every(node => !node.parent || node.total <= node.parent.total)};
    });
    assert.deepEqual([flames.sum, flames.total], [flames.busy, flames.busy]);
    assert.ok(Math.abs(flames.part - flames.wanted) < .01 && flames.whole === "100%" && flames.inside, JSON.stringify(flames));
    /* Names are as they are, digits in them, too. */
    const names = await page.evaluate(() => {
      [...document.querySelectorAll("#tabs button")].find(button => button.textContent === "Workers").click();
      const first = document.querySelector("#tables table");
      return [[...first.tBodies[0].rows].map(row => row.cells[0].textContent).sort(), rbwpReport.data.tracks.filter(track => track.kind === "thread").map(track => track.name).sort()];
    });
    assert.deepEqual(names[0], names[1]);
    /* What stands out is at the top, and leads there. */
    const place = await page.evaluate(() => {
      const {findings} = rbwpReport, items = document.querySelectorAll("#findings li").length;
      const timed = findings.find(finding => finding.from !== undefined);
      if (timed) rbwpReport.goToFinding(timed);
      return {count: findings.length, items, timed, range: rbwpReport.view.range};
    });
    assert.ok(place.count > 0 && place.items === place.count, JSON.stringify(place));
    /* What one finding filtered and marked ends with the next; an address that makes no sense says so. */
    const filters = await page.evaluate(() => {
      const {goToFinding, data, view} = rbwpReport, seen = [];
      for (const finding of [{row: 1}, {track: 0, from: 100, to: 150}, {row: 1}, {row: 1}]) {
        goToFinding(finding);
        seen.push([view.only === data.kinds[1].name, view.matches?.size > 0, view.range?.from ?? null]);
      }
      return seen;
    });
    assert.deepEqual(filters, [[true, true, null], [false, false, 100], [true, true, null], [true, true, null]]);
    const alerts = async hash => page.evaluate(async hash => {
      location.hash = hash;
      await new Promise(done => addEventListener("hashchange", done, {once: true}));
      return document.getElementById("alerts").textContent;
    }, hash);
    assert.match(await alerts("tab=Nothing&from=x&bogus"), /no place bogus, tab=Nothing, from=x,/);
    assert.doesNotMatch(await alerts("tab=Workers"), /no place/);
    if (place.timed) assert.deepEqual(place.range, {from: place.timed.from, to: place.timed.to});
    await shoot(3);
    await press("Escape");
    /* Names beyond the palette, and a narrow screen: nothing is wider than it. */
    await page.setViewport({width: 390, height: 800});
    await settle();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
    await shoot(4);
    await page.setViewport({width: 1440, height: 1000});
    await settle();
  }
  if (isQueued) {
    /* Work that waited: a band below who took it up, an arrow, and what it stood behind. */
    const band = await page.evaluate(() => rbwpReport.lines.filter(line => line.track?.of !== undefined).map(line => [line.height, line.track.name]));
    assert.deepEqual(band, [[5, "queued"]]);
    const text = await page.evaluate(() => {
      const {data, findSpan, select, view} = rbwpReport;
      const row = data.rows.find(row => data.tracks[row.track].kind === "thread" && row.depth === 0 && Number(data.tracks[row.track].outermost) === 2);
      select(findSpan([row], {start: 399}, 1, () => true));
      return [view.links.length, document.getElementById("selected").textContent];
    });
    assert.equal(text[0], 1);
    assert.match(text[1], /from\+0\.000000400s.*handed over by.*, 350 ns before.*behindslot 0 for 350 ns on thread/);
    assert.match(text[1], /bytes =4,096/);
    const noted = await page.evaluate(() => {
      [...document.querySelectorAll("#tabs button")].find(button => button.textContent === "Longest calls").click();
      return [...document.querySelectorAll("#tables tbody tr")].map(row => row.cells[4].textContent);
    });
    assert.deepEqual(noted.sort(), ["", "", "bytes = 4,096"]);
    await press("Escape");
  }
  if (isInside) {
    /* Folded, it is a row below its GPU; a kernel of the table leads to its launch, with its SMs in sight; a span to its
     * lane, block and kernel; and back. */
    const rows = () => page.evaluate(() => rbwpReport.lines.filter(line => line.track?.parent !== undefined).length);
    const clickCell = (tab, text) => page.evaluate((tab, text) => {
      [...document.querySelectorAll("#tabs button")].find(button => button.textContent === tab).click();
      [...document.querySelectorAll("#tables a")].find(link => link.textContent === text).click();
    }, tab, text);
    assert.equal(await rows(), 1);
    /* Lanes run for 160 of 450 us; 0.6 of that they are busy, in full colour, the rest they wait. */
    const [busy, waiting] = await page.evaluate(() => {
      const {y, height} = rbwpReport.lines.find(line => line.fold), rows = document.getElementById("rows"), parts = [0, 0];
      const {data} = rows.getContext("2d").getImageData(206, y + 26, rows.width - 216, height);
      for (let i = 3; i < data.length; i += 4) if (data[i] > 60) parts[data[i] > 200 ? 0 : 1] += 4 / data.length;
      return parts;
    });
    assert.ok(busy + waiting > .3 && busy + waiting < .42 && busy / (busy + waiting) > .52 && busy / (busy + waiting) < .68, `${busy} busy, ${waiting} waiting`);
    await clickCell("Inside kernels", "pipeline");
    await settle();
    assert.equal(await rows(), 1 + 24);
    const kernel = await view(), [, , from, length] = await page.evaluate(() => rbwpReport.data.inside_launches[0]);
    assert.ok(kernel.from < from && kernel.from > from - length / 10 && kernel.to > from + length && kernel.to < from + length * 1.1);
    assert.ok(await painted() > .1, "a kernel is drawn");
    await shoot(1);
    assert.match(await page.evaluate(() => document.getElementById("tables").textContent), /pipelineproducer496.*60\.0 %.*40\.0 %.*producer and consumer50\.0 %/);
    await press("x");
    assert.equal(await rows(), await page.evaluate(() => 1 + 24 + rbwpReport.data.rows.filter(row => rbwpReport.data.tracks[row.track].parent !== undefined).length));
    await press("x");
    assert.equal(await rows(), 1);
    if (detail !== "0") {
      /* The second launch's first wait of block 7, hidden by the fold, unfolds it. */
      const chosen = await page.evaluate(() => {
        const {data, findSpan, select} = rbwpReport, [, , start] = data.inside_launches[1];
        const row = data.rows.find(row => data.tracks[row.track].name === "consumer" && data.tracks[data.tracks[row.track].parent].name === "SM 7" && row.depth === 0);
        select(findSpan([row], {start}, 1, kind => data.kinds[kind].name === "wait_full"));
        return {start, span: rbwpReport.view.selected};
      });
      assert.equal(chosen.span.stop - chosen.span.start, 200);
      assert.deepEqual([chosen.span.block, chosen.span.launch, chosen.span.start - chosen.start], [7, 2, 507]);
      await press("f");
      assert.match(await page.evaluate(() => document.getElementById("selected").textContent), /wait_full.*SM 7, block 7.*pipeline/);
      assert.equal(await rows(), 1 + 24 + 3);
      assert.ok((await view()).to - (await view()).from < 1000);
      await shoot(2);
      await press("k");
      assert.ok((await view()).from < chosen.start && (await view()).from > chosen.start - 5000);
    }
    await press("Escape");
  }
  if (isProbed) {
    /* The source with what each line took (kernels_make.py), the flow with its counts, the way to an SM's warps. */
    const openTab = () => page.evaluate(() => [...document.querySelectorAll("#tabs button")].find(button => button.textContent === "Lines in kernels").click());
    await openTab();
    await shoot(1);
    const cells = await page.evaluate(() => [...document.querySelectorAll("#tables table.code tbody tr")].map(row => [...row.cells].map(cell => cell.textContent)));
    assert.deepEqual(cells.map(row => [row[1], row[6], row[7]]), [["", "1", "# <script>document.title = 'broken'</script>"], ["", "2", "@triton.jit"],
      ["", "3", "def softmax(x, n):"], ["24", "4", "    row = tl.load(x)"], ["144", "5", "    for i in range(n):"], ["144", "6", "        row = row - tl.max(row)"],
      ["144", "7", "        if row > 0:"], ["72", "8", "            row = tl.exp(row)"], ["24", "9", "    tl.store(x, row)"]]);
    assert.deepEqual(cells[5].slice(0, 6), ["72.6 %", "144", "298,080", "1,967", "2,335", "23.1 %"]);
    assert.match(cells[7][0], /^12\.1 %$/);
    const bars = await page.evaluate(() => [...document.querySelectorAll("#tables .heat i")].map(bar => bar.getBoundingClientRect().width));
    assert.ok(bars[2] > 5 * bars[4] && bars[4] > bars[0] && bars[0] > 0, String(bars));
    const flow = await page.evaluate(() => [...document.querySelectorAll("#tables svg .edge title")].map(title => title.textContent).sort());
    assert.deepEqual(flow, ["0 to 2: 24", "1 to 2: 120", "2 to 3: 144", "3 to 4: 72", "3 to 5: 72", "4 to 6: 72", "5 to 6: 72", "6 to 1: 120", "6 to 7: 24"].map(text => `probe ${text} times`));
    assert.equal(await page.evaluate(() => document.querySelectorAll("#tables svg rect.probe").length), 8);
    await page.evaluate(() => [...document.querySelectorAll("#tables .kernels button")].find(button => button.textContent === "plain").click());
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("#tables table.code tbody tr")].map(row => row.cells[6].textContent + row.cells[7].textContent)), ["\u2013ptx:9"]);
    await openTab();
    await page.evaluate(() => [...document.querySelectorAll("#tables a")].find(link => link.textContent === "SM 1").click());
    await settle();
    const sm = await page.evaluate(() => rbwpReport.lines.map(line => line.track).filter(track => track?.above?.name === "SM 1").map(track => track.name));
    assert.deepEqual(sm, ["warp 0", "warp 1", "warp 2", "warp 3"]);
    const [, , from, length] = await page.evaluate(() => rbwpReport.data.inside_launches.find(([, kernel]) => rbwpReport.data.inside[kernel].kernel === "softmax")), now = await view();
    assert.ok(now.from < from && now.to > from + length && now.to - now.from < length * 1.1);
    assert.ok(await painted() > .1, "an SM's blocks are drawn");
    await shoot(2);
    if (detail !== "0") {
      await openTab();
      await page.evaluate(() => [...document.querySelectorAll("#tables table.code a")].find(link => link.textContent === "6").click());
      await settle();
      const chosen = await page.evaluate(() => {
        const {start, stop, kind} = rbwpReport.view.selected;
        return [stop - start, rbwpReport.data.kinds[kind].name];
      });
      assert.deepEqual(chosen, [1170, "probes.py:6"]);
      await press("Escape");
    }
  }
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), detail === "0" ? "light" : "dark");
  await press("t");
  assert.equal(await theme(), detail === "0" ? "dark" : "light");
  assert.equal(await page.title(), `${name}.bin - rbwp report`); /* no name ran as script */
  assert.deepEqual(complaints, []);
} catch (error) {
  console.error(`FAILED: ${name}, --detail ${detail}: ${error.message}`, complaints);
  process.exitCode = 1;
} finally {
  await context.close();
  await browser.disconnect();
}
