#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# report_page: a real browser opens the page of rbwp report, from a file, with no network. No error
# reaches its console, the counts that it shows are those of the dump, keys lead from the whole run
# to single records, what kernels noted unfolds from a GPU to one group of warps,
# what probes recorded is shown by source line and leads to an SM, and each span that a search or a step reaches is one of the dump's.
# Chromium is the system's; puppeteer-core, which drives it, is fetched with npm (version and hashes in
# chromium/package-lock.json) into VIEWERS_DIR, once. Without one of them the test is skipped.
# The page of rbwp diff --report shows the rows of --json, opens them, and fits a narrow screen.
# SHOTS=FOLDER keeps screenshots.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${RBWP:?the rbwp command}" "${GOLDEN:?the folder of golden files}" "${VIEWERS_DIR:?where to keep puppeteer-core}"

. "$here/npm_modules.bash"
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)} ||
    skip "no chromium here"
export CHROMIUM
npm_modules chromium puppeteer-core || skip "$why"
work=$(mktemp -d) || exit 1
# One browser for all pages; each is opened in a context of its own, which the others leave nothing in.
"$CHROMIUM" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --remote-debugging-port=0 --user-data-dir="$work/profile" 2>"$work/browser" &
browser=$!
trap 'kill "$browser"; wait "$browser"; rm -rf "$work"' EXIT
for ((i = 0; i < 600; i++)); do
    BROWSER=$(sed -n 's/^DevTools listening on //p' "$work/browser")
    [[ $BROWSER ]] && break
    sleep 0.1
done
[[ $BROWSER ]] || { echo "the browser does not start: $(<"$work/browser")"; exit 1; }
export BROWSER
"${PYTHON:-python3}" -B "$here/report_page_make.py" "$here/../cli" "$work" || exit 1
failed=0
for input in "$work"/{busy,evil,many_lanes,probes,queued}.bin "$GOLDEN"/{multi_thread,level2_all_types,gpu_work,crash_killed,empty}.bin; do
    name=$(basename "$input" .bin)
    for detail in 32 0; do
        [[ $detail = 32 || $name = busy || $name = many_lanes || $name = probes ]] || continue
        "$RBWP" report "$input" --detail "$detail" -f -o "$work/$name.html" 2>/dev/null
        "$RBWP" dump --spans "$input" >"$work/$name.json" 2>/dev/null
        node "$here/report_page.mjs" "$modules" "$work/$name.html" "$work/$name.json" "$work" "$detail" || failed=1
    done
done
# The page of a diff: of a run and of one that differs from it.
"$RBWP" diff --all --json --report "$work/diff.html" "$work/busy.bin" "$work/other.bin" >"$work/diff.json" || failed=1
node "$here/diff_page.mjs" "$modules" "$work/diff.html" "$work/diff.json" "$work" || failed=1
((failed)) || echo "report_page: all passed"
exit $failed
