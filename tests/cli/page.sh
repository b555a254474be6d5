#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages of rbwp report and rbwp diff --report, run by node alone in as much of a browser as they need (page_dom.mjs): what is
# drawn and written is what the commands tell of the same files. What a real browser makes of them is tests/viewers' business.
. "$(dirname "$0")/lib.sh"
command -v node >/dev/null || { echo "skipped: no node here (Debian: nodejs)"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$here/../viewers/report_page_make.py" "$here" "$work" || fail "report_page_make.py"
mkdir "$work/job"
"$MAKE_JOB" -r 400 -s 8 -o 900000 -d 9000 "$work/job" 12 >/dev/null || fail "make_job"
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$here" "$work/dump.bin" <<'P' || fail "dump.bin"
import struct, sys
sys.path.insert(0, sys.argv[1])
import rbwp_make as m
kept = m.table_section(b"KEPT", [struct.pack("<qQQQQQIIH6x", 1010, 607968, 0, 1, 0, 0, 2, 0, 0)])
open(sys.argv[2], "wb").write(m.with_trailer(m.file([m.block(7, 0, [(1020, "cb", 3), (1050, "ce")])]), m.info(stop=2000), kept))
P
"$MAKE_JOB" -r 20 -s 2 "$work/merged" 66 >/dev/null || fail "make_job"
cp "$GOLDEN/gaps.bin" "$GOLDEN/gpu_work.bin" "$work" && cp "$GOLDEN/crash_killed.bin" "$work/killed.bin"
for input in busy.bin queued.bin many_lanes.bin probes.bin dump.bin counted.bin killed.bin gaps.bin gpu_work.bin job merged; do
    "$RBWP" report "$work/$input" -f -o "$work/${input%.bin}.html" 2>/dev/null || fail "report $input"
done
"$RBWP" report "$work/busy.bin" --detail 0 -f -o "$work/busy0.html" 2>/dev/null || fail "report --detail 0"
"$RBWP" dump --spans "$work/busy.bin" >"$work/busy.json" || fail "dump"
"$RBWP" export --to folded "$work/busy.bin" >"$work/busy.folded" 2>/dev/null || fail "folded"
"$RBWP" stats --json --by node "$work/job" >"$work/job.json" 2>/dev/null || fail "stats"
"$RBWP" stats --json "$work/busy.bin" >"$work/stats.json" 2>/dev/null || fail "stats"
"$RBWP" stats --json --by kernel "$work/many_lanes.bin" >"$work/lanes.json" 2>/dev/null || fail "stats --by kernel"
"$RBWP" export --to ndjson "$work/queued.bin" >"$work/queued.ndjson" 2>/dev/null || fail "ndjson"
"$RBWP" diff --all --json --report "$work/diff.html" "$work/busy.bin" "$work/other.bin" >"$work/diff.json" 2>/dev/null
[ -z "${PAGE_UNREAD:-}" ] || finish # a sanitizer has nothing to tell of what node does
node "$here/page.mjs" "$work" ${PAGE_CHANGE:+"$PAGE_CHANGE"} && node "$here/page_tour.mjs" "$work" "$here/page.frozen" ${PAGE_CHANGE:+"$PAGE_CHANGE"} || fail "the pages"
finish
