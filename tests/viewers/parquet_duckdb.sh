#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# parquet_duckdb: DuckDB, which shares no code and no author with us, reads our Parquet files and
# finds in them what the dump has: counts, sums, ends of time, names; and uses the bounds of row
# groups. DuckDB is fetched with npm (version and hashes in duckdb/package-lock.json) into
# VIEWERS_DIR, once; without npm or a network the test is skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${RBWP:?the rbwp command}" "${GOLDEN:?the folder of golden files}" "${VIEWERS_DIR:?where to keep DuckDB}"

. "$here/npm_modules.bash"
npm_modules duckdb DuckDB || skip "$why"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -B "$here/parquet_duckdb.py" "$RBWP" "$GOLDEN" "$here/duckdb/query.mjs" "$modules" "$work" "$MAKE_MODEL" || exit 1
echo "parquet_duckdb: all passed"
