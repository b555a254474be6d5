# SPDX-License-Identifier: Apache-2.0
# What the scripts share: a folder of their own, expectations, the closing line.
# From the environment: RBWP (the command), GOLDEN (folder), MAN, MAKE_EXTENDED, MAKE_GPU, MAKE_MODEL, MAKE_EVERYTHING,
# PYTHON.
set -u
here=$(cd "$(dirname "$0")" && pwd)
topic=$(basename "$0" .sh)
: "${RBWP:?the rbwp command}" "${GOLDEN:?the folder of golden files}" "${PYTHON:=python3}"
dump=$(dirname "$RBWP")/rbwp-dump
interpreter=$PYTHON
work=$(mktemp -d) || exit 1
mkdir "$work/no_files" # a folder without any
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# expect_exit CODE COMMAND...: runs it with its output in $work/out and $work/err.
expect_exit() {
    expected=$1
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    [ "$code" -eq "$expected" ] || fail "exit $code instead of $expected: $* ($(head -1 "$work/err"))"
}

# expect_error TEXT: the last command said TEXT on standard error.
expect_error() {
    grep -qF -- "$1" "$work/err" || fail "no '$1' in: $(cat "$work/err")"
}
expect_one_line() {
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "not one line: $(cat "$work/err")"
}
expect_silence() {
    [ ! -s "$work/err" ] || fail "not silent: $(cat "$work/err")"
}
expect_no_output() {
    [ ! -s "$work/out" ] || fail "output where none should be: $(head -c 200 "$work/out")"
}

# "$PYTHON" - ARGUMENT...: a program on standard input, which says what failed (asserts.py).
run_python() {
    if [ "$1" = - ]; then
        shift
        set -- -B "$here/../cli/asserts.py" "$@"
    fi
    "$interpreter" "$@"
}
unset PYTHON # for who is called from here
PYTHON=run_python

# check WHAT COMMAND...: the command succeeds.
check() {
    what=$1
    shift
    "$@" || fail "$what"
}

finish() {
    [ "$failures" -eq 0 ] || {
        echo "cli $topic: $failures failed"
        exit 1
    }
    echo "cli $topic: all passed"
    exit 0
}
