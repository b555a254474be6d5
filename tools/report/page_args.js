/* SPDX-License-Identifier: Apache-2.0 */
/* What the program noted of single spans: key and value each. */
"use strict";

/* By track, kind and start; unpacked when first asked for. */
const spanArguments = (() => {
  let found = null;
  const read = () => {
    const bytes = unpackElement("args0"), view = new DataView(bytes.buffer), text = new TextDecoder();
    const origin = BigInt(data.origin_ns), all = new Map();
    let at = 0;
    const number = () => {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = bytes[at++];
        value += (byte & 127) * scale;
        if (!(byte > 127)) return value;
      }
    };
    while (at < bytes.length) {
      const track = number(), kind = number(), start = Number(view.getBigInt64(at, true) - origin), list = [];
      at += 8;
      for (const end = number() + at; at < end;) {
        const [, keyBytes, valueBytes] = bytes.subarray(at, at + 3);
        at += 3;
        list.push([text.decode(bytes.subarray(at, at + keyBytes)), text.decode(bytes.subarray(at + keyBytes, at + keyBytes + valueBytes))]);
        at += keyBytes + valueBytes;
      }
      all.set(`${track} ${kind} ${start}`, list);
    }
    return all;
  };
  return span => (found || (found = read())).get(`${span.row.track} ${span.kind} ${span.start}`) || [];
})();
/* "bytes = 4,096": numbers as all others. */
const argumentValue = value => /^-?\d{1,20}$/.test(value) ? exact(value) : value;
const argumentText = list => list.map(([key, value]) => `${key} = ${argumentValue(value)}`).join(", ");
