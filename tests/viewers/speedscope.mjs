// SPDX-License-Identifier: Apache-2.0
// speedscope.mjs RELEASE FILE...: what speedscope's own importer makes of each file, one JSON line a
// file: its profiles (name, unit, events) and for each frame how often it was opened and for how long.
//
// RELEASE is the folder of speedscope's page. Its script is run without one: the last statement, which
// draws, becomes one that hands out the importer and the form that it saves.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [release, ...files] = process.argv.slice(2);
const script = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
let page = fs.readFileSync(path.join(release, script), 'utf8');
const find = (pattern) => {
  const found = page.match(pattern);
  if (!found) throw new Error(`the page has no ${pattern}`);
  return found;
};
const importer = find(/\(await ([\w$]+)\)\.importProfilesFromArrayBuffer\(/)[1];
const saved = find(/let e=([\w$]+)\(t\),n=new Blob\(\[JSON\.stringify\(e\)\]/)[1];
const drawing = find(/console\.log\(`speedscope v[^]*\)\;\}\)\(\);/);
page = page.slice(0, drawing.index) + `globalThis.speedscope={importer:${importer},saved:${saved}}})();`;

const warnings = [];
console.warn = (text) => warnings.push(text);
const nothing = new Proxy(function() {}, {get: (_, key) => key === Symbol.toPrimitive ? () => '' : nothing, apply: () => nothing, construct: () => nothing, set: () => true});
Object.assign(globalThis, {window: globalThis, document: nothing, location: {hash: ''}, localStorage: nothing, matchMedia: () => nothing, addEventListener: () => {}, FontFace: nothing});
console.log = () => {};
vm.runInThisContext(page, {filename: script});

const scales = {nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9};
for (const file of files) {
  const bytes = fs.readFileSync(file);
  const group = await (await globalThis.speedscope.importer).importProfilesFromArrayBuffer(path.basename(file), bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  if (!group) throw new Error(`${file}: speedscope does not know what it is`);
  const form = group ? globalThis.speedscope.saved(group) : {profiles: []}, frames = {};
  for (const profile of form.profiles) {
    const open = [];
    for (const event of profile.events) {
      if (event.type === 'O') {
        open.push(event);
        continue;
      }
      const begin = open.pop(), sum = frames[form.shared.frames[begin.frame].name] ??= {count: 0, ns: 0};
      sum.count++;
      sum.ns += (event.at - begin.at) * scales[profile.unit];
    }
  }
  for (const name in frames) frames[name].ns = Math.round(frames[name].ns);
  const profiles = form.profiles.map((p) => ({name: p.name, unit: p.unit, events: p.events.length}));
  process.stdout.write(JSON.stringify({file: path.basename(file), profiles, frames, warnings: warnings.splice(0)}) + '\n');
}
