// SPDX-License-Identifier: Apache-2.0
// catapult.mjs VIEWER TRACE [PICTURE]: what the viewer of chrome://tracing makes of a JSON trace, as
// one JSON line: counts of slices, instants, arrows and points they leave from, sums, also by category and name, samples of each
// counter's series with their sum, bounds, threads, warnings.
//
// VIEWER is the folder with catapult_trace_viewer.html. It runs in Chromium, which is driven through
// its own debugging protocol on a pipe, so that no package beside the viewer is needed.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

const [viewer, trace, picture] = process.argv.slice(2);
const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css'};
const server = http.createServer((request, response) => {
  const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
  const file = name === '/trace' ? trace : path.join(viewer, path.normalize(name));
  fs.readFile(file, (error, data) => {
    response.writeHead(error ? 404 : 200,
        {'content-type': types[path.extname(file)] ?? 'application/octet-stream'});
    response.end(error ? '' : data);
  });
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;

const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'rbwp-viewer-'));
const chromium = spawn(process.env.CHROMIUM ?? 'chromium', [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--window-size=1600,900', '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank',
], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
// Its folder is the caller's to remove ($TMPDIR): its processes end some time after it.
const end = (code) => {
  chromium.on('exit', () => process.exit(code));
  chromium.kill();
};

const waiting = new Map();
let next = 1, rest = '';
chromium.stdio[4].setEncoding('utf8'); // a character may come in two pieces
chromium.stdio[4].on('data', (data) => {
  const messages = (rest + data).split('\0');
  rest = messages.pop();
  for (const message of messages.map((text) => JSON.parse(text))) {
    const answer = waiting.get(message.id);
    if (answer) answer(message);
  }
});
const call = (method, params = {}, sessionId) => new Promise((done, failed) => {
  const id = next++;
  waiting.set(id, (message) => message.error ? failed(new Error(message.error.message))
                                             : done(message.result));
  chromium.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
});

// Runs in the page.
async function look(draw) {
  while (!(window.tr && tr.Model && tr.importer && tr.importer.Import))
    await new Promise((done) => setTimeout(done, 50));
  const text = await (await fetch('/trace')).text();
  const model = new tr.Model();
  new tr.importer.Import(model).importTraces([text]);
  const seen = {slices: 0, departures: 0, instants: model.instantEvents.length, arrows: model.flowEvents.length,
    duration_ms: 0, first_ms: Infinity, last_ms: -Infinity, threads: [], counters: {},
    warnings: model.importWarnings.map((warning) => warning.message)};
  const spans = new Map;
  for (const process of Object.values(model.processes)) {
    for (const counter of Object.values(process.counters))
      for (const series of counter.series)
        seen.counters[`${counter.name}.${series.name}`] =
            [series.samples.length, series.samples.reduce((sum, sample) => sum + sample.value, 0)];
    seen.instants += process.instantEvents.length;
    for (const thread of Object.values(process.threads)) {
      seen.threads.push(thread.name);
      for (const slice of thread.sliceGroup.slices) {
        if (slice.didNotFinish || slice.category === 'loss') continue;
        if (slice.category === 'link' && !slice.duration) {
          seen.departures++;
          continue;
        }
        seen.slices++;
        seen.duration_ms += slice.duration;
        const key = JSON.stringify([slice.category, slice.title]), sums = spans.get(key) ?? [0, 0];
        spans.set(key, [sums[0] + 1, sums[1] + slice.duration]);
        seen.first_ms = Math.min(seen.first_ms, slice.start);
        seen.last_ms = Math.max(seen.last_ms, slice.end);
      }
    }
  }
  seen.spans = [...spans].map(([key, sums]) => [...JSON.parse(key), ...sums]);
  if (draw) {
    const container = document.createElement('track-view-container');
    const view = document.createElement('tr-ui-timeline-view');
    container.id = 'track_view_container';
    view.track_view_container = container;
    Polymer.dom(view).appendChild(container);
    view.globalMode = true;
    Polymer.dom(document.body).appendChild(view);
    view.model = model;
    await new Promise((done) => setTimeout(done, 2000));
  }
  return JSON.stringify(seen);
}

try {
  const {targetId} = await call('Target.createTarget', {url: `${origin}/catapult_trace_viewer.html`});
  const {sessionId} = await call('Target.attachToTarget', {targetId, flatten: true});
  const evaluate = async (expression) => {
    const answer = await call('Runtime.evaluate',
        {expression, awaitPromise: true, returnByValue: true}, sessionId);
    if (answer.exceptionDetails)
      throw new Error(answer.exceptionDetails.exception?.description ?? 'exception in the page');
    return answer.result.value;
  };
  while (!await evaluate(`location.origin === '${origin}' && document.readyState === 'complete'`))
    await new Promise((done) => setTimeout(done, 50));
  const seen = await evaluate(`(${look})(${picture ? 'true' : 'false'})`);
  await new Promise((done) => process.stdout.write(seen + '\n', done)); // or the end comes before its reader
  if (picture) {
    const {data} = await call('Page.captureScreenshot', {format: 'png'}, sessionId);
    fs.writeFileSync(picture, Buffer.from(data, 'base64'));
  }
  end(0);
} catch (error) {
  console.error(String(error));
  end(1);
}
