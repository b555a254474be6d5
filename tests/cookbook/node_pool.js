// SPDX-License-Identifier: Apache-2.0
// node_pool.js - a server in small: every 5 ms it asks for a file's state, and every 2 s there are six passwords to hash, 100 ms each.
const crypto = require("crypto"), fs = require("fs");
let ticks = 0, worst = 0;
const timer = setInterval(() => {
  const begin = process.hrtime.bigint();
  fs.stat(".", () => { worst = Math.max(worst, Number(process.hrtime.bigint() - begin) / 1e6); });
  for (let i = 0; ticks % 400 == 199 && i < 6; i++)
    crypto.pbkdf2("password", "salt", 200000, 32, "sha256", () => {});
  if (++ticks == 2000)
    clearInterval(timer);
}, 5);
process.on("exit", () => console.log(`the slowest stat took ${worst.toFixed(1)} ms`));
