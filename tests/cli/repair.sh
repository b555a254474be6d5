# SPDX-License-Identifier: Apache-2.0
# repair makes whole files of crashed, torn and damaged ones, with and without a live file, never
# touches its inputs, and its result is what rbwp check, the dump and the strict reader accept.
. "$(dirname "$0")/lib.sh"

# The golden files that a crash or a defect left: all good blocks, strict readers accept it.
for name in crash_killed crash_cut_in_data crash_header_only defect_discard_rotate; do
    cp "$GOLDEN/$name.bin" "$work/$name.bin"
    expect_exit 3 "$RBWP" repair "$work/$name.bin"
    check "$name is as it was" cmp "$GOLDEN/$name.bin" "$work/$name.bin"
    expect_exit 0 "$RBWP" check "$work/$name.repaired.bin"
    expect_exit 0 "$PYTHON" "$here/../python/compare.py" --good "$dump" "$work/$name.repaired.bin"
    "$PYTHON" - "$RBWP" "$GOLDEN/$name.json" "$work/$name.repaired.bin" <<'P' || fail "$name: blocks"
import json, subprocess, sys
rbwp, golden, path = sys.argv[1:]
got = json.loads(subprocess.run([rbwp, "dump", path], capture_output=True).stdout)
golden = json.load(open(golden))
blocks = golden["blocks"] if "blocks" in golden else golden["good_blocks_before"]
assert len(got["blocks"]) == len(blocks)
for block, expected in zip(got["blocks"], blocks):
    assert all(block[key] == expected[key] for key in expected), expected
assert got["finalized"] and got["valid"]
P
    # Once more: the same bytes, and nothing lost.
    expect_exit 0 "$RBWP" repair "$work/$name.repaired.bin" -o "$work/again"
    check "$name: repaired twice" cmp "$work/again" "$work/$name.repaired.bin"
    grep -q "the same bytes" "$work/out" || fail "$name: not told that it was whole"
    rm "$work/again"
done

# Where the result goes.
cp "$GOLDEN/gaps.bin" "$work/noextension"
expect_exit 0 "$RBWP" repair "$work/noextension"
check "default name" test -f "$work/noextension.repaired"
expect_exit 1 "$RBWP" repair "$work/noextension"
expect_error "$work/noextension.repaired: exists; give -f to overwrite it"
expect_exit 0 "$RBWP" repair -f "$work/noextension"
expect_exit 1 "$RBWP" repair -f "$work/noextension" -o "$work/noextension"
expect_error "is an input too"
check "the input is left" cmp "$GOLDEN/gaps.bin" "$work/noextension"
expect_exit 1 "$RBWP" repair "$work/noextension" -o "$work/none/a.bin"
expect_error "$work/none/a.bin: cannot be created: No such file or directory"
[ "$(stat -c %a "$work/noextension.repaired")" = "$(touch "$work/x" && stat -c %a "$work/x")" ] || fail "mode"
expect_exit 2 "$RBWP" repair
expect_exit 2 "$RBWP" repair -
expect_exit 2 "$RBWP" repair a b
expect_exit 2 "$RBWP" repair --live a --no-live b
for bad in /dev/null "$work" "$work/none"; do
    expect_exit 1 "$RBWP" repair "$bad" -o "$work/bad"
    expect_one_line
    check "nothing is left of a failure" test ! -e "$work/bad"
done
ls "$work" | grep -q '\.......$' && ls "$work" | grep '\.bin\.......$' && fail "a temporary file is left"

# A pair: FILE with one block and FILE.live with the rest.
"$PYTHON" - "$here" "$work" <<'P' || fail "making a pair"
import sys
sys.path.insert(0, sys.argv[1])
import live_make as live, rbwp_make as rbwp
work = sys.argv[2]
Z = live.ZERO
data = rbwp.file([rbwp.block(7, 0, [(Z + 10, "cb", 3), (Z + 20, "ce")])], zero_time=Z, finalised=False)
log = [live.sample(0), live.slot(3, b"flush"), live.sub_item(9, 1, b"copy"), live.thread(7, b"worker"),
       live.sample(1000), live.thread(8, b"other")]
chunks = [live.chunk(7, 100, 0, [(0, "cb", 3), (5, "fb", 9), (6, "fe", 0), (9, "ce", 0)]),
          live.chunk(7, 10, 1, [(0, "cb", 3), (10, "ce", 0)]),
          live.chunk(8, 2000, 2, [(0, "cb", 3)])]
open(f"{work}/pair.bin", "wb").write(data)
live.write(f"{work}/pair.bin.live", log, chunks, committed=len(data), ticket=1)
live.write(f"{work}/other.live", log, chunks, committed=len(data), ticket=1, zero=Z + 1)
open(f"{work}/early.bin", "wb").close()
live.write(f"{work}/early.bin.live", log, chunks[:1])
P
expect_exit 0 "$RBWP" repair --json "$work/pair.bin"
"$PYTHON" - "$RBWP" "$work" <<'P' || fail "a pair"
import json, subprocess, sys
rbwp, work = sys.argv[1:]
report = json.load(open(f"{work}/out"))
assert not report["lost"] and report["live"] == f"{work}/pair.bin.live" and not report["running"]
assert (report["kept_records"], report["live_records"], report["result_records"]) == (2, 5, 7), report
lines = [json.loads(l) for l in subprocess.run([rbwp, "dump", "--ndjson", f"{work}/pair.repaired.bin"],
                                               capture_output=True, check=True).stdout.splitlines()]
Z = 1_700_000_000_000_000_000
assert [(l["thread"], l["ts"] - Z, l["type"], l.get("name")) for l in lines] == [
    ("worker", 10, "COARSE_BEGIN", "flush"), ("worker", 20, "COARSE_END", None),
    ("worker", 100, "COARSE_BEGIN", "flush"), ("worker", 105, "FINE_BEGIN", "copy"),
    ("worker", 106, "FINE_END", None), ("worker", 109, "COARSE_END", None),
    ("other", 2000, "COARSE_BEGIN", "flush")], lines
P
expect_exit 0 "$RBWP" check "$work/pair.repaired.bin"
expect_exit 0 "$PYTHON" "$here/../python/compare.py" --good "$dump" "$work/pair.repaired.bin"
expect_exit 0 "$RBWP" repair "$work/early.bin"
expect_exit 0 "$RBWP" check "$work/early.repaired.bin"
expect_exit 1 "$RBWP" repair "$work/pair.bin" -o "$work/bad" --live "$work/other.live"
expect_error "$work/other.live: belongs to another file"
expect_error "--no-live repairs without it"
expect_one_line
expect_exit 3 "$RBWP" repair "$work/pair.bin" -o "$work/without" --no-live
grep -q "LOST  *all names" "$work/out" || fail "names are lost and it is not told"

# The result is for nobody that the input is not for; an output never takes the place of a live file.
for mode in 600 640 644; do
    cp "$GOLDEN/crash_killed.bin" "$work/mode.bin"
    chmod $mode "$work/mode.bin"
    (umask 022 && expect_exit 3 "$RBWP" repair -f "$work/mode.bin" -o "$work/mode.out")
    [ "$(stat -c %a "$work/mode.out")" = $mode ] || fail "mode $mode became $(stat -c %a "$work/mode.out")"
done
chmod 600 "$work/early.bin.live"
cp -p "$work/early.bin.live" "$work/alone.bin.live"
expect_exit 0 "$RBWP" repair "$work/alone.bin" -o "$work/alone.out"
[ "$(stat -c %a "$work/alone.out")" = 600 ] || fail "mode of a live file alone"
for command in "dump --live" "dump" "check"; do
    cp "$work/pair.bin.live" "$work/kept"
    expect_exit 1 "$RBWP" $command -f -o "$work/pair.bin.live" "$work/pair.bin"
    expect_error "is an input too"
    check "$command leaves the live file" cmp "$work/kept" "$work/pair.bin.live"
done

# What the program counted as in neither file: told, in the losses, and never "nothing lost".
"$PYTHON" - "$here" "$work" <<'P' || fail "making pairs with something missing"
import sys
sys.path.insert(0, sys.argv[1])
import live_make as live, rbwp_make as rbwp
work = sys.argv[2]
Z = live.ZERO
for name in live.LOST:
    data = rbwp.file([rbwp.block(7, 0, [(Z + 10, "cb", 3), (Z + 20, "ce")])], zero_time=Z, finalised=False)
    open(f"{work}/{name}.bin", "wb").write(data)
    log = [live.sample(0), live.slot(3, b"flush"), live.thread(7, b"worker"), live.sample(1000)]
    live.write(f"{work}/{name}.bin.live", log, [], committed=len(data), ticket=1, **{name: 3})
P
for name in unwritten_records unwritten_blocks unprotected_chunks unlogged_slot unlogged_thread lost_dropped lost_stalled; do
    expect_exit 3 "$RBWP" repair "$work/$name.bin"
    grep -q "LOST" "$work/out" && ! grep -q "nothing lost" "$work/out" || fail "$name: not told"
    expect_exit 0 "$RBWP" check "$work/$name.repaired.bin"
    for file in "$work/$name.bin" "$work/$name.repaired.bin"; do
        expect_exit 0 "$RBWP" info "$file"
        case $name in
        unwritten_blocks) ;;
        unlogged*) grep -q "^left out  *3 " "$work/out" || fail "$name: info $file" ;;
        unprotected*) grep -q "LOST .*up to 1,512 more died with the program" "$work/out" || fail "$name: info $file" ;;
        *) grep -q "^LOST  *3 records" "$work/out" || fail "$name: info $file" ;;
        esac
    done
done

# A block that is there twice is kept, as all good blocks; the result is then not called whole.
"$PYTHON" - "$here" "$work" <<'P' || fail "making a doubled block"
import sys
sys.path.insert(0, sys.argv[1])
import live_make as live, rbwp_make as rbwp
work = sys.argv[2]
Z = live.ZERO
block = rbwp.block(7, 0, [(Z + 10, "cb", 3), (Z + 20, "ce")])
data = rbwp.file([block, block], zero_time=Z, finalised=False)
open(f"{work}/doubled.bin", "wb").write(data)
live.write(f"{work}/doubled.bin.live", [live.sample(0), live.thread(7, b"worker")], [], committed=len(data), ticket=1)
P
expect_exit 3 "$RBWP" repair "$work/doubled.bin"
grep -q "doubled.repaired.bin: repaired, but not whole" "$work/out" || fail "a doubled block is not told"
grep -q "NOTE  *1 breaks of rules" "$work/out" || fail "the break is not counted"
grep -q "kept as it is stored: .*R20" "$work/err" || fail "the rule is not named: $(cat "$work/err")"
expect_exit 3 "$RBWP" check "$work/doubled.repaired.bin"

# A full disk: the report says so, and nothing is left.
if [ -w /dev/full ]; then
    (
        ulimit -f 1
        trap '' XFSZ
        "$RBWP" repair "$GOLDEN/crash_killed.bin" -o "$work/full.bin" >"$work/out" 2>"$work/err"
    )
    [ $? -eq 1 ] || fail "a disk without room: exit status"
    expect_error "the result cannot be written: File too large"
    check "nothing is left without room" test "$(ls "$work" | grep -c full)" -eq 0
fi

# Each byte behind the header is kept or told as damaged.
expect_exit 3 "$RBWP" repair --json -o "$work/torn" "$GOLDEN/../bad/torn_blocks/input.bin"
"$PYTHON" -c "
import json; r = json.load(open('$work/out'))
assert r['damaged_places'] == 2 and 36 + r['kept_bytes'] + r['damaged_bytes'] == r['file_size'], r" || fail "damaged bytes"

# What the trailer holds is kept, sections of other programs included.
"$MAKE_EXTENDED" "$work/extended.bin" && printf '\377' | dd of="$work/extended.bin" bs=1 seek=52 conv=notrunc status=none
expect_exit 3 "$RBWP" repair "$work/extended.bin"
"$RBWP" info "$work/extended.repaired.bin" >"$work/out"
grep -q "section 'xtst': 9 bytes" "$work/out" || fail "a section of another program is lost"
"$PYTHON" -c "assert b'xtst\0\0\0\0\t\0\0\0\0\0\0\0some\0data' in open('$work/extended.repaired.bin', 'rb').read()" || fail "its bytes"

# Reading the pair as it is: names from the live file, the newest records only with --live.
expect_exit 0 "$RBWP" dump --ndjson "$work/pair.bin"
[ "$(grep -c '"name":"flush"' "$work/out")" -eq 1 ] || fail "dump: names of the live file"
expect_error "its program died: its newest records are in"
expect_exit 0 "$RBWP" dump --ndjson --live "$work/pair.bin"
[ "$(wc -l <"$work/out")" -eq 7 ] || fail "dump --live: $(wc -l <"$work/out") records"
expect_silence
expect_exit 0 "$RBWP" info --json "$work/pair.bin"
"$PYTHON" -c "
import json; i = json.load(open('$work/out'))
assert [w['name'] for w in i['work_items']] == ['flush'] and not i['finalized'] and i['record_count'] == 2
assert [t['name'] for t in i['threads']] == ['worker', 'other']" || fail "info: names of the live file"
expect_exit 0 "$RBWP" info "$work/pair.bin"
grep -q "NEVER FINALISED: the writer did not stop; names from its live file" "$work/out" &&
    grep -q '^records  *2:' "$work/out" || fail "info: of a pair"
expect_exit 0 "$RBWP" info --live "$work/pair.bin"
grep -q "shown with what its live file has" "$work/out" && grep -q '^records  *7:' "$work/out" ||
    fail "info --live: of a pair"
cp "$work/other.live" "$work/without.live"
expect_exit 0 "$RBWP" info "$work/without"
cp "$work/pair.bin" "$work/strange.bin"
cp "$work/other.live" "$work/strange.bin.live"
expect_exit 0 "$RBWP" dump "$work/strange.bin"
expect_error "$work/strange.bin.live: ignored: it was written beside another file"

# Whether tables or trailer could not be read, of every broken file that can be repaired.
for input in "$here"/../bad/*/input.bin; do
    rm -f "$work/mended"
    "$RBWP" repair --json "$input" -o "$work/mended" >"$work/out" 2>"$work/err"
    grep -q '"tail_damaged":true' "$work/out" && basename "$(dirname "$input")"
done >"$work/tails"
check "files with a damaged tail" test "$(echo $(cat "$work/tails"))" = \
    "bytes_behind_tables end_missing tables_cut tables_without_end trailer_sum"
finish
