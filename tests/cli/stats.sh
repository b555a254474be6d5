# SPDX-License-Identifier: Apache-2.0
# The sums of rbwp stats equal those computed here from the plain span dump: counts, totals, self
# times, least and most exactly, quantiles within 1/64; busy times, gaps and concurrency of threads
# and GPUs exactly. Guards filters, several files, damaged files and hostile options.
. "$(dirname "$0")/lib.sh"
"$MAKE_EXTENDED" "$work/extended.bin" || fail "make_extended"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "sums"
import collections, csv, fcntl, json, os, pty, random, re, struct, subprocess, sys, termios

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m


def run(*args, code=0):
    done = subprocess.run([rbwp, *args], capture_output=True, text=True)
    assert done.returncode == code, (args, done)
    return done


def spans(*args, code=0):
    lines = run("dump", "--spans", "--ndjson", *args, code=code).stdout.splitlines()
    return [dict(s, file=s["file"]) for s in map(json.loads, lines) if not s.get("stray")]


def union(intervals):
    """Length of the union, number and longest of its gaps, and its pieces."""
    pieces = []
    for low, high in sorted(intervals):
        if pieces and low <= pieces[-1][1]:
            pieces[-1][1] = max(pieces[-1][1], high)
        else:
            pieces.append([low, high])
    gaps = [b[0] - a[1] for a, b in zip(pieces, pieces[1:])]
    return sum(h - l for l, h in pieces), len(gaps), max(gaps, default=0), pieces


def time_of(span):
    return span["open_until"] - span["begin"] if span.get("open") else span["duration"] or 0


def check_rows(rows, found, children):
    want = collections.defaultdict(list)
    for s in found:
        item = s["sub_item"] if s["kind"] == "fine" else s["slot"]
        want[item, s["name"] if s["name"] is not None else f"{'sub-item' if s['kind'] == 'fine' else 'slot'} {item}"].append(s)
    assert len(rows) == len(want) and {(r["item"], r["name"]) for r in rows} == set(want), (rows, want.keys())
    assert [r["total"] for r in rows] == sorted((r["total"] for r in rows), reverse=True)
    for r in rows:
        mine = want[r["item"], r["name"]]
        whole = [s for s in mine if s["finished"]]
        lengths = sorted(max(s["end"] - s["begin"], 0) for s in whole)
        still = [s for s in mine if s.get("open")]
        assert (r["count"], r["unfinished"], r["open"]) == (len(whole), len(mine) - len(whole), len(still)), r
        assert r["open_time"] == sum(s["open_until"] - s["begin"] for s in still)
        assert r["total"] == sum(lengths) + r["open_time"], r
        inside = sum(time_of(c) for s in whole + still for c in children[s["file"], s["id"]])
        assert r["self"] == r["total"] - inside, (r, inside)
        if lengths:
            assert (r["min"], r["max"], r["mean"]) == (lengths[0], lengths[-1], sum(lengths) // len(lengths)), r
        for key, permille in (("p50", 500), ("p90", 900), ("p99", 990)):
            exact = lengths[(len(lengths) * permille + 999) // 1000 - 1] if lengths else 0
            assert abs(r[key] - exact) <= exact / 64, (r, key, exact)


def clipped(found, low, high):
    """Of spans that reach out of the window what lies in it."""
    out = []
    for s in found:
        if s["finished"] and (s["begin"] < low or s["end"] > high):
            s = dict(s, begin=max(s["begin"], low), end=min(s["end"], high), cut=True)
            s["duration"] = s["end"] - s["begin"]
            if s["duration"] <= 0:
                continue
        out.append(s)
    return out


def check(*paths, options=(), code=0, threads=True):
    stats = json.loads(run("stats", "--json", *options, *paths, code=code).stdout)
    found = [s for p in paths for s in spans(*options, p, code=code)]
    window = dict(zip(options[::2], options[1::2]))
    low, high = int(window.get("--from", -(1 << 70))), int(window.get("--to", 1 << 70))
    found = clipped(found, low, high)
    assert stats["cut"] == sum("cut" in s for s in found), (options, stats["cut"])
    children = collections.defaultdict(list)
    for s in found:
        if s["parent"]:
            children[s["file"], s["parent"]].append(s)
    by_kind = {k: [s for s in found if s["kind"] == k] for k in ("coarse", "fine", "gpu")}
    check_rows(stats["work_items"], by_kind["coarse"], children)
    check_rows(stats["sub_items"], by_kind["fine"], children)
    check_rows(stats["gpu_work"], by_kind["gpu"], children)
    assert stats["spans"] == len(found), (options, stats["spans"], len(found))
    if not threads or not all(s["finished"] for s in found):
        return stats
    host = by_kind["coarse"] + by_kind["fine"]
    if options:  # the run is what was recorded in the window, whatever else the filters leave of it
        times = [r["ts"] for b in json.loads(run("dump", *paths).stdout)["blocks"] for r in b["records"]]
        low, high = max(low, min(times)), min(high, max(times))
    else:
        low, high = min(s["begin"] for s in host), max(s["end"] for s in host)
    assert (stats["first"], stats["last"], stats["extent"]) == (low, high, high - low)
    ends = []
    for t in stats["threads"]:
        mine = [s for s in host if s["thread_id"] == t["id"]]
        busy, gaps, longest, pieces = union((s["begin"], s["end"]) for s in mine)
        assert (t["busy"], t["idle"], t["gaps"], t["longest_gap"]) == (busy, high - low - busy, gaps, longest), t
        assert (t["spans"], t["unfinished"]) == (len(mine), 0)
        ends += [e for l, h in pieces for e in ((l, 1), (h, -1))]
    assert stats["worker_busy"] == sum(t["busy"] for t in stats["threads"])
    levels, at, level = collections.Counter(), low, 0
    for time, step in sorted(ends):
        levels[level] += time - at
        at, level = time, level + step
    levels[level] += high - at
    assert stats["concurrency"]["busy_workers"] == [levels[i] for i in range(len(stats["concurrency"]["busy_workers"]))]
    assert sum(stats["concurrency"]["busy_workers"]) == high - low and not any(v for k, v in levels.items() if k >= len(stats["concurrency"]["busy_workers"]))
    assert sum(stats["concurrency"]["busy"]) == stats["worker_busy"]
    for g in stats["gpus"]:
        mine = [s for s in by_kind["gpu"] if s["proc_id"] == g["id"]]
        # Processor ids of different files may be equal; their tracks are then apart.
        if len(paths) == 1:
            assert g["spans"] == len(mine) and g["busy"] == union((s["begin"], max(s["begin"], s["end"])) for s in mine)[0], g
    calls = sorted((s["duration"] for s in by_kind["coarse"]), reverse=True)
    assert [c["duration"] for c in stats["longest"]] == calls[:10]
    return stats


names = ("multi_thread", "level2_all_types", "level2_all_types_zlib", "level1_one_thread", "straddle", "gaps", "gpu_work", "discard")
for name in names:
    check(f"{golden}/{name}.bin")
check(*m.same_run(work, [f"{golden}/{n}.bin" for n in ("multi_thread", "level2_all_types")]), threads=False)
path = f"{golden}/multi_thread.bin"
middle = sorted(s["begin"] for s in spans(path))[300]
for options in (["--from", str(middle)], ["--to", str(middle)], ["--slot", "2"], ["--kind", "fine"], ["--kind", "coarse"],
                ["--min-duration", "200ns"], ["--thread", str(spans(path)[0]["thread_id"])]):
    check(path, options=options)

# A call with more inside than is held back comes late; deep nesting; back to back; equal times.
records = [(1000, "cb", 1)]
for i in range(70000):
    records += [(1010 + 20 * i, "fb", i % 3), (1010 + 20 * i + 1 + i % 17, "fe")]
records += [(1010 + 20 * 70000, "ce"), (1010 + 20 * 70000, "cb", 2), (1010 + 20 * 70000, "ce")]
blocks = [m.block(1, i, records[1000 * i:1000 * i + 1000], compress=True) for i in range(len(records) // 1000 + 1)]
deep = [(2000 + i, "fb", 5) for i in range(500)] + [(9000 + 3 * i, "fe") for i in range(500)]
blocks.append(m.block(2, 0, deep))
open(f"{work}/late", "wb").write(m.file(blocks, [(1, b"one"), (2, b"two")], [(0, 0, b"a"), (1, 1, b"b"), (2, 2, b"c"), (5, 3, b"d")]))
check(f"{work}/late")

# Unfinished spans and those of many sizes.
r = random.Random(5)
records, at = [], 5000
for i in range(3000):
    length = r.choice((0, 1, 63, 64, 65, 1000, 123456, 10**9, 10**12)) + r.randrange(3)
    records += [(at, "cb", r.randrange(4)), (at + length, "ce")]
    at += length + r.randrange(100)
open(f"{work}/sizes", "wb").write(m.file([m.block(1, 0, records)], [(i, b"item %d" % i) for i in range(3)]))
check(f"{work}/sizes")
open(f"{work}/open", "wb").write(m.file([m.block(1, 0, [(100, "cb", 1), (110, "fb", 2), (120, "fe"), (200, "cb", 2), (220, "ce"), (300, "cb", 1), (310, "fb", 2)])],
                                      [(1, b"one"), (2, b"two")], [(2, 0, b"sub")]))
stats = check(f"{work}/open")
assert [(w["name"], w["count"], w["unfinished"]) for w in stats["work_items"]] == [("two", 1, 0), ("one", 0, 2)]

# Damaged and cut files give what the dump gives.
for name, code in (("crash_cut_in_data", 3), ("crash_killed", 0), ("crash_header_only", 0), ("defect_discard_rotate", 3), ("empty", 0)):
    check(f"{golden}/{name}.bin", code=code, threads=False)

# Losses, empty polls, a slot under two names.
stats = json.loads(run("stats", "--json", "--by", "slot", f"{work}/extended.bin").stdout)
assert stats["lost_records"] == 1234 and stats["processes"][0]["empty_polls"] == 17
assert [(l["cause"], l["records"], l.get("calls"), l["first"], l["last"]) for l in stats["losses"]] == [("dropped", 1234, None, 2000, 2100), ("stray end", 0, 2, 0, 0)]
assert sorted((w["item"], w["name"], w["count"]) for w in stats["work_items"]) == [(3, "new", 2), (3, "old", 2), (4, "other", 1)]
assert "threads" not in stats and "longest" not in stats
text = run("stats", f"{work}/extended.bin").stdout
assert text.startswith("LOST 1,234 records") and "\033" not in text, text
assert "\033[31mLOST" in run("stats", "--color", "always", f"{work}/extended.bin").stdout
assert "\033" not in run("stats", "--color=never", f"{work}/extended.bin").stdout
for top in (0, 1, 5):
    assert len(json.loads(run("stats", "--json", "--top", str(top), path).stdout)["longest"]) == top

# Every table has its title, in their order.
titles = [l for l in run("stats", f"{golden}/gpu_work.bin").stdout.splitlines() if l and l[0].isupper()]
assert titles == ["GPU work", "Work items", "Threads", "GPUs", "Workers busy at the same time", "Longest calls"], titles
# Work whose times lie outside of the run has no share of it, and columns stay apart however long a time is.
lines = run("stats", f"{golden}/gpu_work.bin").stdout.splitlines()
assert ["1", "18446744073", "s", "-"] in [l.split()[:4] for l in lines] and not any(float(w[:-1]) > 100 for l in lines for w in l.split() if re.fullmatch(r"[0-9.]+%", w)), lines
assert "\nSub-items\n" in run("stats", path).stdout
open(f"{work}/single", "wb").write(m.file([m.block(1, 0, [(100, "cb", 1), (110, "ce")])], [(1, b"one")]))
assert run("stats", f"{work}/single").stdout.startswith("1 span in 10 ns, 1 worker busy"), run("stats", f"{work}/single").stdout
assert "1 worker busy" in run("stats", f"{golden}/gaps.bin").stdout


def table(columns, pipe=True):
    """The lines of all tables at that width."""
    environment = dict(os.environ, COLUMNS=str(columns))
    if pipe:
        return subprocess.run([rbwp, "stats", f"{work}/wide"], capture_output=True, text=True, env=environment, check=True).stdout.splitlines()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([rbwp, "stats", "--color", "never", f"{work}/wide"], stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the end of a terminal
        pass
    assert process.wait() == 0
    return shown.decode().splitlines()


# Tables fit the width: a pipe has whole names behind columns that leave room for them, a terminal has
# them shortened. Quantiles have three digits.
long = b"a name that is much longer than any terminal is wide " * 3
open(f"{work}/wide", "wb").write(m.file([m.block(1, 0, [(100, "cb", 1), (123556, "ce"), (200000, "cb", 2), (200100, "ce")])], [(1, long), (2, b"short")]))
for columns in (60, 80, 100, 130, 200):
    for pipe in (True, False):
        lines = table(columns, pipe)
        head = lines[3]
        assert head.endswith("  name") and len(head) + 14 <= columns, (columns, pipe, head)
        assert [w in head for w in ("total", "max", "p90", "id")] == [True, columns > 60, columns > 100, columns > 100], (columns, head)
        if pipe:
            assert any(l.rstrip().endswith(long.decode().rstrip()) for l in lines)
        else:
            assert all(len(l) <= max(columns, 87) for l in lines[2:]) and any(".." in l for l in lines), (columns, lines)
            call = next(l for l in lines[lines.index("Longest calls") :] if ".." in l)  # the thread has 20 columns
            assert call.endswith("  thread 0x1") and len(call) == max(columns, 77) - 20 + len("  thread 0x1"), (columns, call)
assert any(" 123 us " in l and "123.5 us" in l for l in table(200)), table(200)

# A table as CSV has the cells that JSON has: of parts of a row PART_KEY, without lists.
def flat(row, prefix=""):
    for key, value in row.items():
        if isinstance(value, dict) and key != "args":
            yield from flat(value, key + "_")
        elif not isinstance(value, (dict, list)) and not key.endswith("_hex"):
            yield prefix + key, value


def same(cell, value):
    return type(value)(cell) == value if isinstance(value, (int, float)) and not isinstance(value, bool) else cell == ("" if value is None else value)


for file in (f"{work}/extended.bin", f"{golden}/gpu_work.bin", f"{golden}/multi_thread.bin", path):
    told = json.loads(run("stats", "--json", "--findings", file).stdout)
    told |= json.loads(run("stats", "--json", file).stdout)
    told["nodes"] = json.loads(run("stats", "--json", "--by=node", file).stdout)["nodes"]["list"]
    for table, rows in told.items():
        if isinstance(rows, list) and table != "processes":
            lines = list(csv.DictReader(run("stats", "--csv", table, file).stdout.splitlines()))
            assert len(lines) == len(rows), (table, lines, rows)
            for line, row in zip(lines, rows):
                cells = dict(flat(row))
                assert set(cells) <= set(line), (table, cells, line)
                assert all(same(line[key], value) or table == "findings" or "\\" in line[key] for key, value in cells.items()), (table, line, cells)
for words in (("--csv", "none"), ("--csv", "threads", "--json"), ("--csv", "threads", "--critical-path")):
    assert run("stats", *words, path, code=2).stdout == ""

# A pipe, and a name that would move the cursor.
piped = subprocess.run([rbwp, "stats", "--json", "--by=slot", "-"], input=open(path, "rb").read(), capture_output=True, check=True)
assert json.loads(piped.stdout)["work_items"] == json.loads(run("stats", "--json", path).stdout)["work_items"]
open(f"{work}/name", "wb").write(m.file([m.block(1, 0, [(100, "cb", 1), (110, "ce")])], [(1, b"\x1b[2J\xff")]))
assert "\033" not in run("stats", f"{work}/name").stdout
json.loads(run("stats", "--json", f"{work}/name").stdout)
P

gaps=$GOLDEN/gaps.bin
: >"$work/empty"
echo text >"$work/text"
for bad in "$work/empty" "$work/text" "$work/no_files" "$work/none"; do
    expect_exit 1 "$RBWP" stats "$bad"
    expect_no_output
    expect_one_line
done
for options in "" "--by thing $gaps" "--top -1 $gaps" "--top x $gaps" "--top 10001 $gaps" "--top 99999999999999999999 $gaps" \
    "--color red $gaps" "--color= $gaps"; do
    expect_exit 2 "$RBWP" stats $options
    expect_one_line
    expect_no_output
done
expect_exit 0 env NO_COLOR=1 "$RBWP" stats -o "$work/out.txt" "$gaps"
expect_exit 1 "$RBWP" stats -o "$work/out.txt" "$gaps"
expect_error "exists"
finish
