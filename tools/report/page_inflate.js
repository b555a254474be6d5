/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks the data of the page: base64, then raw deflate (RFC 1951).
 *
 * Written here rather than left to DecompressionStream: that one answers later, is not in every
 * browser, and a tile has to be there when it is drawn. */
"use strict";

const FAST_BITS = 10;

/* Codes up to FAST_BITS are looked up, longer ones walked bit by bit. */
function huffman(lengths) {
  const count = new Uint16Array(17), first = new Uint16Array(17), next = new Uint16Array(17);
  const symbols = new Uint16Array(lengths.length), fast = new Uint16Array(1 << FAST_BITS);
  for (const length of lengths) count[length]++;
  count[0] = 0;
  for (let bits = 1, code = 0; bits < 16; bits++) {
    first[bits + 1] = first[bits] + count[bits];
    code = (code + count[bits - 1]) << 1;
    next[bits] = code;
  }
  lengths.forEach((bits, symbol) => {
    if (!bits) return;
    symbols[first[bits]++] = symbol;
    const code = next[bits]++;
    if (bits > FAST_BITS) return;
    let reversed = 0;
    for (let i = 0; i < bits; i++) reversed |= (code >> i & 1) << (bits - 1 - i);
    for (let i = reversed; i < 1 << FAST_BITS; i += 1 << bits) fast[i] = symbol << 4 | bits;
  });
  return {count, symbols, fast};
}

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67,
  83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5,
  5, 5, 0];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const FIXED_LENGTHS = Array.from({length: 288}, (_, i) => i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);

function inflate(input) {
  let output = new Uint8Array(Math.max(1024, input.length * 4)), size = 0;
  let at = 0, hold = 0, held = 0;
  const need = count => {
    while (held < count) {
      hold |= (at < input.length ? input[at] : 0) << held;
      if (at++ > input.length + 8) throw new Error("packed data end early");
      held += 8;
    }
  };
  const take = count => {
    need(count);
    const value = hold & (1 << count) - 1;
    hold >>>= count;
    held -= count;
    return value;
  };
  const decode = code => {
    need(15);
    const entry = code.fast[hold & (1 << FAST_BITS) - 1];
    if (entry) {
      hold >>>= entry & 15;
      held -= entry & 15;
      return entry >> 4;
    }
    for (let bits = 1, value = 0, first = 0, index = 0; bits < 16; bits++) {
      value |= take(1);
      const count = code.count[bits];
      if (value - first < count) return code.symbols[index + value - first];
      index += count;
      first = first + count << 1;
      value <<= 1;
    }
    throw new Error("packed data are damaged");
  };
  const room = count => {
    if (size + count <= output.length) return;
    const larger = new Uint8Array(Math.max(output.length * 2, size + count));
    larger.set(output);
    output = larger;
  };
  const stored = () => {
    const drop = held >> 3;
    at -= drop;
    hold = held = 0;
    const count = input[at] | input[at + 1] << 8;
    room(count);
    output.set(input.subarray(at + 4, at + 4 + count), size);
    size += count;
    at += 4 + count;
  };
  const codes = () => {
    const literals = take(5) + 257, distances = take(5) + 1, coded = take(4) + 4;
    const lengths = new Array(19).fill(0), all = [];
    for (let i = 0; i < coded; i++) lengths[CODE_ORDER[i]] = take(3);
    const code = huffman(lengths);
    while (all.length < literals + distances) {
      const symbol = decode(code);
      if (symbol < 16) all.push(symbol);
      else {
        const value = symbol === 16 ? all[all.length - 1] : 0;
        let count = symbol === 16 ? 3 + take(2) : symbol === 17 ? 3 + take(3) : 11 + take(7);
        while (count--) all.push(value);
      }
    }
    return [huffman(all.slice(0, literals)), huffman(all.slice(literals, literals + distances))];
  };
  for (let last = 0; !last;) {
    last = take(1);
    const type = take(2);
    if (type === 0) {
      stored();
      continue;
    }
    const [literal, distance] =
      type === 1 ? [huffman(FIXED_LENGTHS), huffman(new Array(30).fill(5))] : codes();
    for (let symbol; (symbol = decode(literal)) !== 256;) {
      room(258);
      if (symbol < 256) {
        output[size++] = symbol;
        continue;
      }
      const length = LENGTH_BASE[symbol - 257] + take(LENGTH_BITS[symbol - 257]);
      const step = decode(distance), bits = step < 4 ? 0 : (step >> 1) - 1;
      const back = (step < 4 ? step : (2 + (step & 1)) << bits) + take(bits) + 1;
      for (let i = 0; i < length; i++, size++) output[size] = output[size - back];
    }
  }
  return output.subarray(0, size);
}

function unpack(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return inflate(bytes);
}

const packedTexts = new Map();
function packedText(id) {
  if (!packedTexts.has(id)) packedTexts.set(id, document.getElementById(id).textContent);
  return packedTexts.get(id);
}

/* The element's bytes, aligned for typed arrays. */
function unpackElement(id) {
  return unpack(packedText(id)).slice();
}
