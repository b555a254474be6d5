# SPDX-License-Identifier: Apache-2.0
# A time that people read is "+4.535612345s" since the run's zero, in every tool, and every filter
# takes it as it was printed; also in files of several processes, whose times count from one zero.
. "$(dirname "$0")/lib.sh"
"$PYTHON" - "$here" "$work" <<'P' || exit 1
import sys
here, work = sys.argv[1:]
sys.path.insert(0, here)
import rbwp_make as make
Z = 1_700_000_000_000_000_000


def write(name, node, start, slots):
    records = []
    for number, slot in enumerate(slots):
        begin = Z + start + 100_000_000 * number
        records += [(begin, "cb", slot), (begin + 1_234_567 * (number + 1), "ce")]
    data = make.file([make.block(7, 1, records)], [(slot, b"item %d" % slot) for slot in slots], zero_time=Z, node=node)
    open(f"{work}/{name}", "wb").write(data)


write("a.bin", 0, 4_535_612_345, [1, 2, 3])
write("b.bin", 1, 5_000_000_001, [4, 5, 6])
write("early.bin", 0, -1_500_000_000, [1, 2, 3])
P
cd "$work" || exit 1

# What is shown has no time since 1970.
for call in "stats a.bin" "stats a.bin b.bin" "timeline a.bin" "info a.bin" "tail a.bin" "tail --records a.bin" \
    "split --every 100ms a.bin"; do
    expect_exit 0 "$RBWP" $call
    grep -Eq '[0-9]{18}' out && fail "$call shows a time since 1970: $(grep -E '[0-9]{18}' out)"
    grep -q '+4\.[56][0-9]*s' out || fail "$call shows no time since the zero: $(cat out)"
done
expect_exit 0 "$RBWP" timeline a.bin
grep -q '^from +4\.53' out || fail "the timeline's head: $(head -1 out)"
expect_exit 0 "$RBWP" tail -n 1 a.bin
grep -Eq '^ *\+4\.739316046s +3\.703 ms  thread 7  item 3$' out || fail "tail: $(cat out)"

# Filters take what stats prints: just that call is there, by every tool.
starts() {
    "$RBWP" stats --by slot --top 10 "$@" | grep -Eo '[+-][0-9]+\.[0-9]{9}s'
}
for files in "a.bin b.bin" "early.bin"; do
    [ "$(starts $files | wc -l)" -ge 3 ] || fail "no start times of $files"
    for start in $(starts $files); do
        # The end is one nanosecond behind the start.
        end=$("$PYTHON" -c 'import sys; t = int(sys.argv[1][:-1].replace(".", "")) + 1; print("%s%d.%09ds" % ("+-"[t < 0], abs(t) // 10**9, abs(t) % 10**9))' "$start")
        expect_exit 0 "$RBWP" stats --json --from "$start" --until "$end" $files
        grep -q '"spans":1,' out || fail "$start of $files: $(head -c 300 out)"
        expect_exit 0 "$RBWP" export --to csv --from "$start" --until "$end" $files
        [ "$(wc -l <out)" -eq 2 ] || fail "export of $start: $(cat out)"
        expect_exit 0 "$RBWP" timeline --width 60 --from "$start" --until "$end" $files
        grep -qF "from $start, " out || fail "timeline of $start: $(head -1 out)"
    done
done
starts early.bin | grep -q '^-1\.500000000s$' || fail "a time before the zero: $(starts early.bin)"
expect_exit 0 "$RBWP" dump --spans --ndjson --from +4.535612345s --to +4.535612346s a.bin
[ "$(wc -l <out)" -eq 1 ] || fail "dump: $(cat out)"

# The page counts alike.
expect_exit 0 "$RBWP" report -o page.html a.bin
"$PYTHON" - "$here" page.html <<'P' || fail "the page's zero"
import sys
sys.path.insert(0, sys.argv[1])
import report_page
data = report_page.Page(sys.argv[2]).data
assert int(data["since_zero_ns"]) == 4_535_612_345, data["since_zero_ns"]
assert int(data["origin_ns"]) - int(data["since_zero_ns"]) == 1_700_000_000_000_000_000
P
finish
