# SPDX-License-Identifier: Apache-2.0
# Writing: errors are told and end in exit 1, a reader that goes away is no error, nothing is
# overwritten unasked, and no part of a file stands where a whole one should. Guards against the silent full disk.
. "$(dirname "$0")/lib.sh"
gaps=$GOLDEN/gaps.bin

for mode in "dump" "dump --ndjson" "dump --spans" "info" "info --json" "--help" "dump --help" "--version"; do
    case $mode in *-help | --version) file= ;; *) file=$gaps ;; esac
    "$RBWP" $mode $file >/dev/full 2>"$work/err"
    [ $? -eq 1 ] || fail "$mode to a full disk does not exit 1"
    expect_error "standard output: cannot be written: No space left on device"
    expect_one_line
    "$RBWP" $mode $file >&- 2>"$work/err"
    [ $? -eq 1 ] || fail "$mode without a standard output does not exit 1"
done

"$RBWP" report "$gaps" >&- 2>"$work/err"
[ $? -eq 1 ] || fail "report without a standard output does not exit 1"
expect_error "standard output: cannot be written"
{
    "$RBWP" report "$GOLDEN/gpu_work.bin" 2>"$work/err"
    echo $? >"$work/code"
} | head -c 10 >/dev/null
[ "$(cat "$work/code")" -eq 0 ] || fail "report to a closed pipe: exit $(cat "$work/code")"

# What is no text does not go to a terminal unless asked for.
"$PYTHON" - "$RBWP" "$gaps" <<'P' || fail "binary formats and terminals"
import os, pty, subprocess, sys

rbwp, gaps = sys.argv[1:]
for kind, options, code in (("perfetto", [], 2), ("parquet", [], 2), ("perfetto", ["-o", "-"], 0), ("csv", [], 0)):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([rbwp, "export", "-t", kind, *options, gaps], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the end of a terminal
        pass
    error = process.stderr.read()
    assert process.wait() == code and bool(shown) == (code == 0), (kind, options, process.returncode, shown[:50])
    assert code == 0 or f"{kind} is nothing for a terminal: give -o FILE, or -o -".encode() in error, error
P

# A closed pipe: quiet, and not a failure.
big="$GOLDEN/gpu_work.bin $GOLDEN/gpu_work.bin $GOLDEN/gpu_work.bin $GOLDEN/gpu_work.bin"
{
    "$dump" $big $big 2>"$work/err"
    echo $? >"$work/code"
} | head -c 10 >/dev/null
[ "$(cat "$work/code")" -eq 0 ] || fail "closed pipe: exit $(cat "$work/code")"
expect_silence

expect_exit 0 "$dump" "$gaps"
cp "$work/out" "$work/want"
expect_exit 0 "$dump" -o "$work/new" "$gaps"
expect_no_output
cmp -s "$work/new" "$work/want" || fail "-o writes something else"
expect_exit 0 "$dump" -o - "$gaps"
cmp -s "$work/out" "$work/want" || fail "-o - is not standard output"

echo precious >"$work/old"
expect_exit 1 "$dump" -o "$work/old" "$gaps"
expect_error "$work/old: exists; give -f to overwrite it"
[ "$(cat "$work/old")" = precious ] || fail "overwritten without -f"
expect_exit 0 "$dump" -fo "$work/old" "$gaps"
cmp -s "$work/old" "$work/want" || fail "-f does not overwrite"

# The output is an input: refused even with -f, and the input is unharmed.
cp "$gaps" "$work/in.bin"
ln -s in.bin "$work/link.bin"
expect_exit 1 "$dump" -f -o "$work/link.bin" "$work/in.bin"
expect_error "is an input too"
cmp -s "$gaps" "$work/in.bin" || fail "the input was destroyed"

# A file that cannot be written whole is not left behind; a device is.
expect_exit 1 "$dump" -o "$work/no/such/folder" "$gaps"
expect_error "cannot be created: No such file or directory"
expect_exit 1 "$dump" -f -o /dev/full "$gaps"
[ -e /dev/full ] || fail "/dev/full is gone"
(
    ulimit -f 8
    trap '' XFSZ
    exec "$dump" -o "$work/partial" "$GOLDEN/gpu_work.bin"
) >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail "a file over the limit does not exit 1"
[ ! -e "$work/partial" ] || fail "a partial file was left behind"

# Who is killed while it writes leaves no part of a file, nor takes the one that was there, which its successor has the rights of.
if "$PYTHON" -c 'import os, sys; os.open(sys.argv[1], os.O_TMPFILE | os.O_WRONLY)' "$work" 2>/dev/null; then
    echo precious >"$work/old"
    chmod 640 "$work/old"
    for to in kineto perfetto csv; do
        for file in fresh old; do
            (
                ulimit -c 0
                ulimit -f 1
                exec "$RBWP" export -f --to $to --no-deflate -o "$work/$file" "$GOLDEN/gpu_work.bin"
            ) 2>/dev/null
            [ $? -gt 128 ] || fail "$to was not killed"
        done
        [ "$(cat "$work/old")" = precious ] || fail "a killed $to took the old file"
        [ "$(ls "$work" | grep -c '^fresh\|part')" -eq 0 ] || fail "a killed $to left $(ls "$work")"
    done
    expect_exit 0 "$dump" -f -o "$work/old" "$gaps"
    cmp -s "$work/old" "$work/want" || fail "-f does not overwrite"
    [ "$(stat -c %a "$work/old")" = 640 ] || fail "the rights are others"
    ln "$work/old" "$work/other"
    expect_exit 0 "$dump" -f -o "$work/old" "$GOLDEN/empty.bin"
    cmp -s "$work/old" "$work/other" || fail "one of two names has another file"
fi
finish
