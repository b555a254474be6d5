# SPDX-License-Identifier: Apache-2.0
# What the scripts share: a folder of their own, expectations, the closing line.
# From the environment: BGPACK, FOREIGN_POOL, RBWP (built commands).
set -u
export LC_ALL=C
topic=$(basename "$0" .sh)
scripts=$(cd "$(dirname "$0")" && pwd)
: "${BGPACK:?the example}" "${FOREIGN_POOL:?the example}" "${RBWP:?the rbwp command}"
dump=$(dirname "$RBWP")/rbwp-dump
work=$(mktemp -d) || exit 1
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect EXIT COMMAND...: runs it with its output in $work/out and $work/err.
expect() {
    local wanted=$1 code
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    ((code == wanted)) || fail "exit $code instead of $wanted: $* ($(head -3 "$work/err"))"
}
expect_error() {
    grep -qF -- "$1" "$work/err" || fail "no '$1' in: $(cat "$work/err")"
}
expect_output() {
    grep -q -- "$1" "$work/out" || fail "no '$1' in: $(head -c 2000 "$work/out")"
}

finish() {
    ((failures == 0)) || exit 1
    echo "examples $topic: all passed"
}
