# SPDX-License-Identifier: Apache-2.0
# check reports every break of the collection of broken files by its rule, as text and as JSON, and
# tells good, cut, broken and unreadable apart by its exit status.
. "$(dirname "$0")/lib.sh"

for file in "$GOLDEN"/*.bin; do
    case $file in
    */defect_* | */crash_cut*) expect_exit 3 "$RBWP" check "$file" ;;
    *) expect_exit 0 "$RBWP" check "$file" ;;
    esac
    expect_silence
    tail -1 "$work/out" | grep -q "blocks\?, .* records\?," || fail "no summary for $file"
done

"$PYTHON" - "$RBWP" "$here/../bad" "$work" <<'P' || fail "the broken files"
import json, pathlib, re, subprocess, sys
rbwp, bad, work = sys.argv[1:]
for folder in sorted(pathlib.Path(bad).iterdir()):
    if not folder.is_dir():
        continue
    path = str(folder / "input.bin")
    expected = re.findall(r"^    (.+)$", (folder / "README.md").read_text(), re.M)
    done = subprocess.run([rbwp, "check", "--json", path], capture_output=True)
    got = json.loads(done.stdout)
    text = subprocess.run([rbwp, "check", path], capture_output=True)
    assert done.returncode == text.returncode in (1, 3), (path, done.returncode, text)
    assert not done.stderr and not text.stderr, (path, done.stderr)
    assert [b["message"] for b in got["breaks"]] == expected, (path, got["breaks"], expected)
    for line, broken in zip(text.stdout.decode().splitlines(), got["breaks"]):
        assert line.startswith(f"{path}: ") and line.endswith(broken["message"]), line
        assert f"(SPEC.md {broken['rule']})" in line
    assert not got["good"]
    quiet = subprocess.run([rbwp, "check", "-q", path], capture_output=True)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (done.returncode, b"", b""), path
P

# Several files, standard input, and what cannot be opened.
expect_exit 3 "$RBWP" check --json "$GOLDEN/gaps.bin" "$GOLDEN/defect_discard_rotate.bin"
check "an array" "$PYTHON" -c "
import json; a = json.load(open('$work/out')); assert [f['good'] for f in a] == [True, False]"
"$RBWP" check - <"$GOLDEN/gaps.bin" >"$work/out" || fail "standard input"
grep -q "^standard input: good: 0 breaks; 1 block, 160 records, finalised$" "$work/out" || fail "$(cat "$work/out")"
expect_exit 1 "$RBWP" check "$work/none"
expect_error "$work/none: cannot open the file: No such file or directory"
expect_exit 1 "$RBWP" check "$work"
expect_exit 2 "$RBWP" check
expect_exit 2 "$RBWP" check --json -q "$GOLDEN/gaps.bin"

# The second example of SPEC.md, as the text has it: good, and its tables are counted.
"$PYTHON" - "$here/../python" "$work/example.bin" <<'P' || fail "the example"
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from test_example import examples
open(sys.argv[2], "wb").write(examples()[1])
P
expect_exit 0 "$RBWP" check "$work/example.bin"
grep -q "good: 0 breaks; 3 blocks, 51 records, 5 rows in 2 tables (queue_depth 3, job 2), finalised, with trailer$" "$work/out" ||
    fail "tables: $(cat "$work/out")"
expect_exit 0 "$RBWP" check --json "$work/example.bin"
grep -q '"table_count":2,"table_row_count":5,"tables":.{"table":1,"name":"queue_depth","row_count":3},{"table":2,"name":"job","row_count":2}]' \
    "$work/out" || fail "tables as JSON: $(cat "$work/out")"

# A live file beside it is mentioned.
cp "$GOLDEN/crash_killed.bin" "$work/a.bin"
: >"$work/a.bin.live"
expect_exit 0 "$RBWP" check "$work/a.bin"
grep -q "never finalised" "$work/out" && grep -q "a live file is beside it" "$work/out" || fail "live file"

# A file that keeps all rules may lack records: its writer's own counts are told.
"$MAKE_EXTENDED" "$work/lossy.bin" || fail "make_extended"
expect_exit 0 "$RBWP" check "$work/lossy.bin"
grep -qF "lossy.bin: its writer counts 1234 records as missing, 1000007 entries had no room in its tables" "$work/out" ||
    fail "losses: $(cat "$work/out")"
expect_exit 0 "$RBWP" check --json "$work/lossy.bin"
grep -qF '"lost_records":1234,"lost_records_most":0,"refused_calls":2,"left_out":1000007' "$work/out" || fail "losses in JSON"
finish
