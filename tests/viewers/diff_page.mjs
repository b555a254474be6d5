// SPDX-License-Identifier: Apache-2.0
// diff_page.mjs MODULES PAGE DIFF WORK: the page of rbwp diff --report shows what --json has (see report_page.sh).
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";
import assert from "node:assert/strict";

const [, , modules, file, diffFile, work] = process.argv;
const puppeteer = createRequire(`${modules}/`)("puppeteer-core");
const rows = JSON.parse(readFileSync(diffFile, "utf8")).rows;
const browser = await (puppeteer.default || puppeteer).connect({browserWSEndpoint: process.env.BROWSER});
const context = await browser.createBrowserContext();
try {
  const page = await context.newPage(), complaints = [];
  page.on("console", message => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", error => complaints.push(error.message));
  page.on("request", request => request.url() === `file://${file}` || complaints.push(`asks for ${request.url()}`));
  await page.setViewport({width: 1440, height: 1000});
  await page.goto(`file://${file}`, {waitUntil: "load"});
  const shown = () => page.evaluate(() => [...document.querySelectorAll("#rows > table > tbody > tr")].filter(row => row.querySelector(".verdict")).map(row => [row.cells[0].textContent, row.cells[1].textContent]));
  const wanted = rows.map(row => [row.verdict, row.name]);
  assert.ok(wanted.some(([verdict]) => verdict === "same") && wanted.some(([verdict]) => verdict === "slower"));
  assert.deepEqual(await shown(), wanted.filter(([verdict]) => verdict !== "same"));
  await page.click("#all");
  assert.deepEqual(await shown(), wanted);
  /* A row opens by key: both sides, and as many bars as they have buckets. */
  await page.focus("#rows tbody tr");
  await page.keyboard.press("Enter");
  const bars = await page.evaluate(() => document.querySelectorAll("#rows tr.more svg rect title").length);
  const buckets = await page.evaluate(() => ["a", "b"].reduce((sum, side) => sum + rbwpDiff.data.rows[0][side].histogram.length - 1, 0));
  assert.ok(bars > 0 && bars === buckets, `${bars} of ${buckets}`);
  assert.equal(await page.evaluate(() => document.querySelectorAll("#rows tr.more table tbody tr").length), 2);
  await page.type("#search", rows[0].name.slice(0, 5));
  assert.ok((await shown()).every(([, name]) => name.includes(rows[0].name.slice(0, 5))));
  await page.setViewport({width: 390, height: 800});
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
  if (process.env.SHOTS) await page.screenshot({path: `${process.env.SHOTS}/diff.png`});
  assert.deepEqual(complaints, []);
} catch (error) {
  console.error(`FAILED: the page of a diff: ${error.message}`);
  process.exitCode = 1;
} finally {
  await context.close();
  await browser.disconnect();
}
