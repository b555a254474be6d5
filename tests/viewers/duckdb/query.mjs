// SPDX-License-Identifier: Apache-2.0
// query.mjs MODULES QUERY...: runs queries in DuckDB (from the folder MODULES), prints the rows of
// each as a line of JSON. 64-bit integers come as strings.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [modules, ...queries] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(resolve(modules, 'x.js'))('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:')).connect();
for (const query of queries) {
  const reader = await connection.runAndReadAll(query);
  console.log(JSON.stringify(reader.getRowObjectsJson()));
}
