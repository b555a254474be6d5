#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# parquet_duckdb: DuckDB, which shares no code and no author with us, reads our Parquet files and
# finds in them what the dump tells: counts, sums, ends of time, names; and uses the bounds of row
# groups. DuckDB is fetched with npm (version and hashes in duckdb/package-lock.json) into
# VIEWERS_DIR, once; without npm or a network the test is skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${RBWP:?the rbwp command}" "${GOLDEN:?the folder of golden files}" "${VIEWERS_DIR:?where to keep DuckDB}"

skip() {
    echo "skipped: $*"
    exit 77
}
command -v node >/dev/null && command -v npm >/dev/null || skip "no node and npm here"
modules=$VIEWERS_DIR/duckdb
mkdir -p "$modules" && cp "$here"/duckdb/*.json "$modules"
if ! (cd "$modules" && npm ls --silent >/dev/null 2>&1); then
    (cd "$modules" && timeout 240 npm install --no-save --ignore-scripts --no-audit --no-fund >npm.log 2>&1)
    code=$?
    # Whatever is not the network's or the mirror's doing, above all a wrong hash, is a failure.
    if ((code == 124)) || grep -qE 'code (E404|ETARGET|ENOTFOUND|EAI_AGAIN|ECONN[A-Z]*|ENET[A-Z]*|ETIMEDOUT|ERR_SOCKET_TIMEOUT)' "$modules/npm.log"; then
        skip "npm cannot fetch DuckDB: $(grep -m 1 'error' "$modules/npm.log")"
    elif ((code)); then
        cat "$modules/npm.log"
        exit 1
    fi
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -B "$here/parquet_duckdb.py" "$RBWP" "$GOLDEN" "$here/duckdb/query.mjs" "$modules" "$work" "$MAKE_MODEL" || exit 1
echo "parquet_duckdb: all passed"
