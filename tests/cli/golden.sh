# SPDX-License-Identifier: Apache-2.0
# The JSON of every golden file has the keys and values of its expected content, exactly; from a
# pipe too; several files give an array. Guards the promise that other readers' scripts rely on.
. "$(dirname "$0")/lib.sh"

for file in "$GOLDEN"/*.bin; do
    name=$(basename "$file" .bin)
    "$dump" "$file" >"$work/$name.json" 2>"$work/err"
    code=$?
    check "$name" "$PYTHON" "$here/compare_golden.py" "$GOLDEN/$name.json" "$work/$name.json" "$code"
    cat "$file" | "$dump" - >"$work/pipe.json" 2>"$work/err"
    [ $? -eq $code ] || fail "$name: another exit code from a pipe"
    check "$name from a pipe" "$PYTHON" "$here/compare_golden.py" "$GOLDEN/$name.json" "$work/pipe.json" "$code"
    sed 's/"file":"[^"]*"/"file":""/' "$work/$name.json" >"$work/a"
    sed 's/"file":"[^"]*"/"file":""/' "$work/pipe.json" >"$work/b"
    cmp -s "$work/a" "$work/b" || fail "$name: a pipe gives other JSON than the file"
done

expect_exit 0 "$dump" "$GOLDEN/gaps.bin" "$GOLDEN/empty.bin" "$GOLDEN/multi_thread.bin"
expect_silence
check "several files" "$PYTHON" - "$work/out" "$GOLDEN" <<'P'
import json, sys
array = json.load(open(sys.argv[1]))
assert [f["file"] for f in array] == [f"{sys.argv[2]}/{n}.bin" for n in ("gaps", "empty", "multi_thread")]
assert [f["record_count"] for f in array] == [
    json.load(open(f"{sys.argv[2]}/{n}.json"))["record_count"] for n in ("gaps", "empty", "multi_thread")]
P
finish
