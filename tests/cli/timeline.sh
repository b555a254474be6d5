# SPDX-License-Identifier: Apache-2.0
# Bars and letters of rbwp timeline are those computed here from the spans, column by column; its
# width is what was asked for; losses are marked; no colours and no blocks where they are not wanted.
. "$(dirname "$0")/lib.sh"
"$MAKE_EXTENDED" "$work/extended.bin" || fail "make_extended"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "timeline"
import collections, json, os, subprocess, sys

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m

LABEL, TAIL = 20, 8


def run(*args, code=0, locale="C"):
    done = subprocess.run([rbwp, *args], capture_output=True, env=dict(os.environ, LC_ALL=locale))
    assert done.returncode == code, (args, done)
    return done.stdout.decode()


def spans(path):
    return [json.loads(l) for l in run("dump", "--spans", "--ndjson", path).splitlines()]


plain = " .:-=+*#@"
path = f"{golden}/multi_thread.bin"
found = [s for s in spans(path) if s["depth"] == 0]
low, high = min(s["begin"] for s in found), max(s["end"] for s in found)
for width in (40, 100, 250):
    columns = width - LABEL - TAIL
    step = (high - low) // columns + 1
    window = ["--from", str(low), "--to", str(low + step * columns)]
    lines = run("timeline", "--width", str(width), *window, path).splitlines()
    threads = list(dict.fromkeys(s["thread_id"] for s in found))
    assert lines[1] == "node 3"
    legend = dict((l.split()[0], l.split(None, 1)[1]) for l in lines[3 + 2 * len(threads):])
    assert all(len(l) <= width for l in lines[2:3 + 2 * len(threads)])
    rows = {lines[i][:LABEL].strip(): (lines[i], lines[i + 1]) for i in range(2, 2 + 2 * len(threads), 2)}
    # Every 20 columns a tick with its time, as filters take it.
    ticks = lines[2 + 2 * len(threads)]
    zero = json.loads(run("info", "--json", path))["header"]["zero_time"]
    assert [i for i, c in enumerate(ticks) if c == "|"] == list(range(LABEL, LABEL + columns, 20)), ticks
    for i, text in enumerate(ticks[LABEL:].split("|")[1:-1]):
        assert abs(float(text.strip().strip("+s")) * 1e9 - (low + 20 * i * step - zero)) <= step * 20, (i, text)
    assert len(rows) == len(threads)
    for t in threads:
        name = f"thread 0x{t:x}"
        bars, letters = rows[name[:LABEL - 3] + ".." if len(name) > LABEL - 1 else name]
        bars, share, letters = bars[LABEL:LABEL + columns], bars[LABEL + columns:], letters[LABEL:]
        total = 0
        for c in range(columns):
            a, b = low + c * step, low + (c + 1) * step
            names = collections.Counter()
            for s in found:
                if s["thread_id"] == t and s["begin"] < b and s["end"] > a:
                    names[s["name"] or f"slot {s['slot']}"] += min(s["end"], b) - max(s["begin"], a)
            busy = sum(names.values())
            total += busy
            level = int(busy / step * 8 + 0.5) or (1 if busy else 0)
            assert bars[c] == plain[level], (t, c, bars, level)
            if busy:
                best = max(names.values())
                assert names[legend[letters[c]]] == best, (t, c, names, letters[c])
            else:
                assert letters[c] == ".", (t, c)
        assert share.strip() == f"{100 * total / step / columns:.1f}%", (share, total)

# The range that is found while reading has every span and the same sums.
lines = run("timeline", "--width", "140", path).splitlines()
shares = sorted(float(l[-7:].strip("% ")) for l in lines[2:10:2])
zero = json.loads(run("info", "--json", path))["header"]["zero_time"]
assert lines[0].startswith("from +") and zero + int(lines[0].split()[1].strip("+s,").replace(".", "")) <= low
busy = sorted(100 * sum(s["end"] - s["begin"] for s in found if s["thread_id"] == t) / (high - low) for t in threads)
assert all(abs(a - b) < 1 for a, b in zip(shares, busy)), (shares, busy)

# Spans that come before those seen first, and hostile times.
blocks = [m.block(1, 0, [(10**15, "cb", 1), (10**15 + 100, "ce")]), m.block(2, 0, [(2000, "cb", 2), (10**14, "ce")]), m.block(3, 0, [(2**61, "cb", 1), (2**61 + 5, "ce")])]
open(f"{work}/wide", "wb").write(m.file(blocks, [(1, b"one"), (2, b"two")]))
lines = run("timeline", "--width", "100", f"{work}/wide").splitlines()
assert len(lines) == 3 + 6 + 2, lines
open(f"{work}/two", "wb").write(m.file(blocks[:2], [(1, b"one"), (2, b"two")]))
lines = run("timeline", "--width", "100", f"{work}/two").splitlines()
assert lines[3].strip(". ") == "B" and lines[5].strip(". ").strip("A") == "" and 5 <= lines[5].count("A") <= 9, lines

# GPU work that overlaps is busy time once: 100-300 and 200-400 are 300 of 400.
records = [(50, "cb", 1), (60, "gpu", 9, 1, 100, 300), (70, "gpu", 9, 1, 200, 400), (450, "ce")]
open(f"{work}/gpu", "wb").write(m.file([m.block(1, 0, records)], [(1, b"one")], zero_time=1))
lines = run("timeline", "--width", "68", "--from", "40", "--to", "440", f"{work}/gpu").splitlines()
assert lines[4].startswith("GPU 0x9") and lines[4].endswith(" 75.0%"), lines
assert lines[4][LABEL:LABEL + 40] == " " * 6 + "@" * 30 + " " * 4, lines

# Tracks stand by process, then by name, numbers as numbers, whichever came first; stats has the same order.
paths = []
for node, ids in ((0, (14, 0, 8, 5, 2, 10)), (1, (3,))):
    blocks = [m.block(i, 0, [(1000 + 10 * at, "cb", 1), (2000 + at, "ce")]) for at, i in enumerate(ids)]
    paths.append(f"{work}/order{node}")
    open(paths[-1], "wb").write(m.file(blocks, [(1, b"one")], node=node))
want = [f"thread 0x{i:x}" for i in sorted((14, 0, 8, 5, 2, 10))] + ["thread 0x3"]
want = want[:4] + ["thread 0xa", "thread 0xe"] + want[6:]
lines = run("timeline", *paths).splitlines()
assert [l for l in lines if l.startswith("node ")] == ["node 0", "node 1"], lines
assert [l[:LABEL].strip() for l in lines if l.startswith("thread")] == want, lines
text = run("stats", "--by", "thread", *paths)
assert [l.split("  ")[-2] for l in text.splitlines() if "  thread 0x" in l] == want, text

# Zeros before a number count for nothing, and a zero is a number.
lines = ["007 t", "10 t", "t 0", "t 00", "t 1", "t 007", "t 10"]
events = [{"ph": "M", "name": "thread_name", "pid": 1, "tid": at, "args": {"name": name}} for at, name in enumerate(reversed(lines))]
events += [{"ph": "X", "name": "x", "pid": 1, "tid": at, "ts": 1, "dur": 1} for at in range(len(lines))]
open(f"{work}/zeros", "w").write(json.dumps(events))
have = [l[:LABEL].strip() for l in run("timeline", f"{work}/zeros").splitlines()]
have = [l for l in have if l in lines]
assert have[:2] + sorted(have[2:4]) + have[4:] == lines, have

# A cell with more names than are kept: whoever has most of the time wins, though others came first and
# are longer one by one.
records, at = [], 1000
for item, length in [(i, 100) for i in (1, 2, 3, 4)] + [(8, 60)] * 12:
    records += [(at, "cb", item), (at + length, "ce")]
    at += length
open(f"{work}/many", "wb").write(m.file([m.block(1, 0, records)], [(i, b"item %d" % i) for i in range(1, 10)]))
lines = run("timeline", "--width", "68", "--from", "1000", "--to", str(1000 + 40 * 2400), f"{work}/many").splitlines()
assert lines[3][LABEL] == "A" and [l for l in lines if l.startswith("  A  ")] == ["  A  item 8"], lines

# Losses; colours; blocks.
lost = run("timeline", "--width", "90", "--from", "900", "--to", "4100", f"{work}/extended.bin")
assert lost.startswith("LOST 1234 records\nREFUSED 2 calls\n") and "!" in lost.splitlines()[4] and "\033" not in lost
assert "\033[31m!\033[0m" in run("timeline", "--color", "always", f"{work}/extended.bin")
assert "\u2588" in run("timeline", path, locale="C.UTF-8") and "\u2588" not in run("timeline", "--ascii", path, locale="C.UTF-8")
assert run("timeline", path).isascii()
for name, code in (("empty", 0), ("crash_header_only", 0), ("crash_killed", 0), ("crash_cut_in_data", 3), ("defect_discard_rotate", 3), ("gpu_work", 0)):
    text = run("timeline", f"{golden}/{name}.bin", code=code)
    # Without spans there is no time to begin with: it was one before 1970.
    assert text == "no spans\n" if name in ("empty", "crash_header_only") else text.startswith(("LOST ", "SKIPPED ") if code else "from "), (name, text)
P

gaps=$GOLDEN/gaps.bin
: >"$work/empty"
echo text >"$work/text"
for bad in "$work/empty" "$work/text" "$work/no_files" "$work/none"; do
    expect_exit 1 "$RBWP" timeline "$bad"
    expect_no_output
    expect_one_line
done
for options in "" "--width 39 $gaps" "--width 1001 $gaps" "--width x $gaps" "--width 99999999999999999999 $gaps" "--color x $gaps"; do
    expect_exit 2 "$RBWP" timeline $options
    expect_one_line
    expect_no_output
done
expect_exit 1 "$RBWP" timeline --from 9223372036854775807 "$gaps"
expect_exit 0 "$RBWP" timeline --from 0 --to 9223372036854775807 "$gaps"
expect_exit 1 "$RBWP" timeline --from 5 --to 4 "$gaps"

# Work that waits makes nobody busy: in the timeline as in the sums.
"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "waits"
import json, sqlite3, struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m

MS = 10**6
kinds = struct.pack("<II", 16, 2) + struct.pack("<HHI8x", 9, 4, 1) + struct.pack("<HHI8x", 8, 4, 3) + b"waitwait"
plain = m.file(
    [
        m.block(1, 0, [(1000, "cb", 5), (1000 + MS, "fb", 9), (1000 + 9 * MS, "fe"), (1000 + 10 * MS, "ce")]),
        m.block(2, 1, [(1000, "cb", 8), (1000 + 10 * MS, "ce")]),
        m.block(3, 2, [(1000, "cb", 5), (1000 + 10 * MS, "ce")]),
    ],
    work_items=[(5, b"WORK"), (8, b"WAITS")],
    sub_items=[(9, 0, b"wait")],
)
path = f"{work}/waits.bin"
with open(path, "wb") as out:
    out.write(m.with_trailer(plain, struct.pack("<4sIQ", b"KIND", 0, len(kinds)) + kinds))
sums = json.loads(subprocess.run([rbwp, "stats", "--json", path], capture_output=True).stdout)
assert [t["busy"] for t in sums["threads"]] == [2 * MS, 0, 10 * MS], sums["threads"]
shown = subprocess.run([rbwp, "timeline", "--width", "100", path], capture_output=True, text=True).stdout
shares = [line.split()[-1] for line in shown.splitlines() if line.startswith("thread")]
assert shares == ["20.0%", "0.0%", "99.9%"], shown
subprocess.run([rbwp, "export", "-o", f"{work}/waits.db", path], check=True)
rows = sqlite3.connect(f"{work}/waits.db").execute("SELECT spans, busy_ns, busy_share FROM thread_busy ORDER BY first_ns, thread").fetchall()
assert rows == [(1, 2 * MS, 0.2), (0, 0, 0.0), (1, 10 * MS, 1.0)], rows

# Work in a wait is work, and a wait in a wait counts once.
inner = [(1000, "cb", 8), (2000, "fb", 7), (2500, "fb", 9), (2600, "fe"), (3000, "fe"), (4000, "ce")]
plain = m.file(
    [
        m.block(1, 0, [(1000, "cb", 5), (1100, "fb", 9), (1200, "fb", 9), (1300, "fe"), (1400, "fe"), (1500, "ce"), *[(t + 1000, *r) for t, *r in inner]]),
    ],
    work_items=[(5, b"WORK"), (8, b"WAITS")],
    sub_items=[(7, 0, b"work"), (9, 0, b"wait")],
)
with open(path, "wb") as out:
    out.write(m.with_trailer(plain, struct.pack("<4sIQ", b"KIND", 0, len(kinds)) + kinds))
busy = json.loads(subprocess.run([rbwp, "stats", "--json", path], capture_output=True).stdout)["threads"][0]
subprocess.run([rbwp, "export", "-f", "-o", f"{work}/waits.db", path], check=True)
rows = sqlite3.connect(f"{work}/waits.db").execute("SELECT spans, busy_ns FROM thread_busy").fetchall()
assert rows == [(busy["outermost"], busy["busy"])], (rows, busy)
P
finish
