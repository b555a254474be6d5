#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# exported_files: what the recorder wrote at level 2, on several threads (records alone: the dump
# numbers spans without rows of tables), comes out of the Parquet
# and SQLite exports span by span as rbwp-dump tells it.
. "$(dirname "$0")/lib.bash"
cli=$(cd "$(dirname "$0")/../cli" 2>/dev/null && pwd)

mkdir tree && for i in $(seq 300); do head -c 20000 /dev/urandom >"tree/$i"; done
expect 0 "$BGPACK" -bgwork 3 -bgworkprofile 2 -bgworkprofile_strict 1 -bgworkprofile_logfile pack.bin tree archive.tar.gz
for format in parquet sqlite; do
    # A build without SQLite says so; tests/cli/test_export_sqlite.py looks at that.
    "$RBWP" export --to "$format" -o "probe.$format" pack.bin 2>err || { grep -q 'built without SQLite' err && continue; }
    expect 0 "${PYTHON:-python3}" -B "$cli/check_$format.py" "$RBWP" "$work/pack.bin" 0 "$work/out.$format"
    expect_output 'rows agree'
done
finish
