// SPDX-License-Identifier: Apache-2.0
// perfetto.mjs ENGINE TRACE QUERY...: answers of Perfetto's trace processor, one JSON line a query.
//
// ENGINE is a folder with the trace processor as WebAssembly and its glue for browsers. The glue is
// loaded as a worker would load it; three places in it are changed on the way: no probe for 64-bit
// memory, the WebAssembly given as bytes, and the bridge within reach.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import {pathToFileURL} from 'node:url';

const [engine, trace, ...queries] = process.argv.slice(2);
const base = pathToFileURL(path.resolve(engine)).href + '/';
console.warn = () => {};
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
Object.defineProperty(globalThis, 'location', {value: {href: base}, configurable: true});
globalThis.rbwpWasm = new Uint8Array(fs.readFileSync(path.join(engine, 'trace_processor.wasm')));

let glue = fs.readFileSync(path.join(engine, 'engine_bundle.node.js'), 'utf8');
const change = (from, to) => {
  if (!glue.includes(from)) throw new Error(`the glue has no '${from}'`);
  glue = glue.replace(from, to);
};
change('this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;');
change('locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.rbwpWasm,');
change('const wasmBridge = new wasm_bridge_1.WasmBridge();',
    'const wasmBridge = globalThis.rbwpBridge = new wasm_bridge_1.WasmBridge();');
vm.runInThisContext(glue, {filename: 'engine_bundle.js'});

const {EngineBase} = await import(base + 'engine.mjs');
const channel = new MessageChannel();
class Engine extends EngineBase {
  id = 'rbwp';
  mode = 'WASM';
  constructor(port) {
    super();
    this.port = port;
    port.onmessage = (message) => {
      if (message.data instanceof Uint8Array) this.onRpcResponseBytes(message.data);
    };
  }
  rpcSendRequestBytes(bytes) {
    this.port.postMessage(bytes);
  }
}
globalThis.rbwpBridge.initialize(channel.port1);
const processor = new Engine(channel.port2);
const file = fs.openSync(trace, 'r');
const piece = Buffer.alloc(8 << 20);
for (let bytes; (bytes = fs.readSync(file, piece, 0, piece.length, null)) > 0;)
  await processor.parse(new Uint8Array(piece.subarray(0, bytes)));
await processor.notifyEof();

let answers = '';
for (const query of queries) {
  const result = await processor.query(query);
  if (result.error()) throw new Error(`${query}: ${result.error()}`);
  const columns = result.columns(), rows = [];
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(columns.map((column) => {
      const value = row.get(column);
      return typeof value === 'bigint' ? value.toString() : value;
    }));
  answers += JSON.stringify(rows) + '\n';
}
process.stdout.write(answers, () => process.exit(0));
