# SPDX-License-Identifier: Apache-2.0
# Damaged and foreign input gives what can be read, a message with place and rule, and the right
# exit code; the JSON stays valid. Guards against crashes, silence, and false success.
. "$(dirname "$0")/lib.sh"

# Nothing that could be read: exit 1, one line, nothing on standard output.
bad() {
    for tool in "$RBWP dump" "$RBWP dump --ndjson" "$RBWP dump --spans --ndjson" "$RBWP info"; do
        expect_exit 1 $tool "$1"
        expect_error "$1: $2"
        expect_one_line
        expect_no_output
    done
}
echo "this is a text file, not a trace of anything" >"$work/text"
: >"$work/empty"
printf 'RBWP\001\000' >"$work/short"
bad "$work/text" ""
bad "$work/empty" ""
bad "$work/short" ""
bad "$work/none" "cannot be opened: No such file or directory"
bad "$work" "is a folder"
if [ "$(id -u)" -ne 0 ]; then
    cp "$GOLDEN/gaps.bin" "$work/secret"
    chmod 000 "$work/secret"
    bad "$work/secret" "cannot be opened: Permission denied"
fi

# One bad file among good ones: the good ones are there, exit 1.
expect_exit 1 "$dump" "$GOLDEN/gaps.bin" "$work/text" "$GOLDEN/empty.bin"
check "the good files of several" "$PYTHON" -c "
import json; a = json.load(open('$work/out')); assert [f['record_count'] > 0 for f in a] == [True, False]"

# A file cut at any place: valid JSON, whole blocks only, exit 3 as soon as a block was read.
"$PYTHON" - "$RBWP" "$GOLDEN/crash_killed.bin" "$work" <<'P' || fail "cut files"
import json, subprocess, sys
rbwp, path, work = sys.argv[1:]
whole = open(path, "rb").read()
second = json.loads(subprocess.run([rbwp, "dump", path], capture_output=True, check=True).stdout)["blocks"][1]["offset"]
for size in (36, 37, 67, 68, 500, second - 1, second, second + 1, second + 31, second + 32, second + 33, len(whole) - 1, len(whole)):
    cut = f"{work}/cut"
    open(cut, "wb").write(whole[:size])
    done = subprocess.run([rbwp, "dump", cut], capture_output=True)
    got = json.loads(done.stdout)
    blocks = 2 if size == len(whole) else 1 if size >= second else 0
    clean = size in (36, second, len(whole))
    assert got["block_count"] == blocks == len(got["blocks"]), (size, got["block_count"])
    assert done.returncode == (0 if clean else 3 if blocks else 1), (size, done.returncode)
    assert (got["incomplete_tail"] is None) == clean, size
    if not clean:
        start = second if blocks else 36
        tail = got["incomplete_tail"]
        assert (tail["offset"], tail["bytes"]) == (start, size - start), (size, tail)
        assert f"at file offset {start} ".encode() in done.stderr, done.stderr
    assert got["valid"]
P

# A damaged block in the middle: the blocks around it are there, and the report names it.
"$PYTHON" - "$RBWP" "$GOLDEN/multi_thread.bin" "$work" <<'P' || fail "a damaged block"
import json, re, subprocess, sys
rbwp, path, work = sys.argv[1:]
good = json.loads(subprocess.run([rbwp, "dump", path], capture_output=True, check=True).stdout)
victim = good["blocks"][1]
data = bytearray(open(path, "rb").read())
data[victim["offset"] + 32 + victim["records"][3]["offset"] + victim["records"][3]["ts_bytes"]] = 0x77
torn = f"{work}/torn"
open(torn, "wb").write(data)
done = subprocess.run([rbwp, "dump", torn], capture_output=True)
got = json.loads(done.stdout)
assert done.returncode == 3
assert got["blocks"] == [b for b in good["blocks"] if b is not victim]
assert got["work_items"] == good["work_items"] and not got["valid"]
assert re.search(rf"^{torn}: \w+: .*, at file offset {victim['offset']} \(SPEC.md R\d+\)$", done.stderr.decode(), re.M), done.stderr
assert b"partly read" in done.stderr
P

# A file of garbage behind a good header: the report is bounded.
"$PYTHON" - "$GOLDEN/multi_thread.bin" "$work/garbage" <<'P'
import random, sys
r = random.Random(5)
good = open(sys.argv[1], "rb").read()
block = good[36:36 + 1600]
noise = bytes(r.getrandbits(8) for _ in range(300))
open(sys.argv[2], "wb").write(good[:20] + bytes(16) + b"".join(block[:700] + noise for _ in range(200)))
P
"$dump" "$work/garbage" >"$work/out" 2>"$work/err"
code=$?
[ $code -eq 3 ] || [ $code -eq 1 ] || fail "garbage: exit $code"
[ "$(wc -l <"$work/err")" -le 23 ] || fail "garbage: $(wc -l <"$work/err") lines of report"
check "garbage: valid JSON" "$PYTHON" -m json.tool "$work/out" "$work/tool.json"
finish
