#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs noted of calls, and counters. Guards: an argument is the call's in which it was given, whatever order
# blocks come in and a nanosecond off, texts are put together, values of other types and versions do no harm, and a row
# of no call is shown as nothing; a counter has its own name and unit, and with another unit is another one. stats adds
# up calls by value, by power of two where these are many, and the longest calls, also those of sums that were kept,
# say what they were about.
. "$(dirname "$0")/lib.sh"

PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "args"
import json, os, pty, re, sqlite3, struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.path.insert(0, here)
import ranges_make
from make_rbwp import begin, block, end, fine_begin, fine_end, finalised, sub_item, table_section, ts8, with_trailer, work_item
from ranges_make import T0

ARGUMENT = [("begun", 4, 1), ("thread", 1, 10), ("key", 6, 4), ("type", 1, 0), ("value", 1, 0)]
COUNTER = [("time", 4, 1), ("counter", 6, 4), ("value", 2, 7), ("unit", 6, 0)]
NAMES = [b"bytes", b"path", b"jobs", b"waiting", b"kB"]
BYTES, PATH, JOBS, WAITING, KB = range(1, 6)
f64, eight = lambda x: struct.unpack("<Q", struct.pack("<d", x))[0], lambda t: int.from_bytes(t, "little")
# The calls of ranges_make begin at T0, on threads 7 and 8.
ROWS = [(1, 7, PATH, 5, eight(b"/var/lib")), (1, 7, PATH, 6, eight(b"/x")), (1, 7, BYTES, 1, 2**64 - 1), (0, 8, BYTES, 2, 2**64 - 5),
        (0, 8, BYTES, 3, f64(0.5)), (0, 8, PATH, 4, JOBS), (0, 8, PATH, 4, 2**40), (0, 8, PATH, 5, 0), (0, 8, 0, 1, 7), (0, 8, BYTES, 9, 9),
        (50, 7, BYTES, 1, 1), (0, 9, BYTES, 1, 2)]
COUNTS = [(5, WAITING, 3, JOBS), (10, WAITING, 2**64 - 1, JOBS), (10, WAITING, 8, KB), (20, PATH, 1, 0)]


def run(*words):
    done = subprocess.run([rbwp, *words], capture_output=True)
    assert done.returncode == 0, (words, done)
    return done.stdout


def calls(path):
    spans = [json.loads(line) for line in run("export", "--to", "ndjson", path).splitlines()]
    assert [s["category"] for s in spans] == ["bgwork"] * 2, spans
    return {s["thread_id"]: s.get("args") for s in spans}


path = f"{work}/args.bin"
shift = lambda rows: [(T0 + row[0], *row[1:]) for row in rows]
ranges_make.write(path, NAMES, ("argument", ARGUMENT, shift(ROWS)), ("counter", COUNTER, shift(COUNTS)))
made = calls(path)
assert made[7] == {"path": "/var/lib/x", "bytes": 2**64 - 1}, made
lines = run("export", "--to", "ndjson", path).decode()
for part in ('"bytes":-5', '"bytes":0.5', '"path":"jobs"', '"path":""', '"?":7'):
    assert part in lines, (part, lines)

# A trailer without TIDX, which a file with tables may lack (SPEC.md 10.13).
open(f"{work}/no_tidx.bin", "wb").write(with_trailer(open(path, "rb").read(), table_section(b"THRD", [], 48)))
assert calls(f"{work}/no_tidx.bin") == made

base = f"{work}/args.sqlite"
if b"without SQLite" not in subprocess.run([rbwp, "export", "-o", base, path], capture_output=True).stderr:
    db = sqlite3.connect(base)
    assert ("path", "/var/lib/x") in db.execute("select name.name, value from arg join name on name.id = arg.name").fetchall()
counters = {(t["name"], t["unit"], t["samples"], t["min"], t["max"]) for t in json.loads(run("stats", "--json", path))["counters"]}
assert counters == {("waiting", "jobs", 2, -1, 3), ("waiting", "kB", 1, 8, 8), ("path", "", 1, 1, 1)}, counters
chrome = json.loads(run("export", "--to", "chrome", path))["traceEvents"]
assert [e["args"]["path"] for e in chrome if e.get("args", {}).get("bytes") == 2**64 - 1] == ["/var/lib/x"]
for form in ("perfetto", "firefox", "csv", "kineto", "folded", "npz", "parquet"):
    run("export", "-f", "-o", f"{work}/out", "--to", form, path)

# Keys that exports write themselves: an argument of that name is neither lost nor taken for theirs, there and back.
KEYS = [b"slot", b"rbwp", b"unfinished", b"open", b"item", b"stream", b"arg.slot", b"arg.x", b"launch_ns", b"certain_ns"]
ranges_make.write(f"{work}/keys.bin", KEYS, ("argument", ARGUMENT, [(T0, 7, i + 1, 1, 100 + i) for i in range(len(KEYS))]))
lines = [json.loads(line) for line in run("export", "--to", "ndjson", f"{work}/keys.bin").splitlines()]
assert lines[0]["args"] == {key.decode(): 100 + i for i, key in enumerate(KEYS)} and "stream" not in lines[0], lines[0]
for form in ("chrome", "kineto", "perfetto"):
    run("export", "-f", "-o", f"{work}/keys.out", "--to", form, f"{work}/keys.bin")
    back = [json.loads(line) for line in run("export", "--to", "ndjson", f"{work}/keys.out").splitlines()]
    same = ("args", "item", "open", "finished", "duration_ns")
    assert [[s.get(k) for k in same] for s in back] == [[s.get(k) for k in same] for s in lines], (form, back)

# A damaged header of a block of records that leads past the argument's blocks: what is behind it is found all the same.
data = bytearray(open(path, "rb").read())
struct.pack_into("<2I", data, 36 + 24, len(data) - 200, 0)
struct.pack_into("<I", data, 36 + 12, (len(data) - 200) // 10)
open(f"{work}/damaged.bin", "wb").write(data)
done = subprocess.run([rbwp, "export", "--to", "ndjson", f"{work}/damaged.bin"], capture_output=True)
damaged = [json.loads(line) for line in done.stdout.splitlines()]
assert done.returncode == 3 and [s["args"]["path"] for s in damaged] == [made[8]["path"]], done

# Sums by value: few numbers, many of them, texts, no such key.
def by(key, path=path):
    made = json.loads(run("stats", "--json", "--by", f"arg:{key}", path))["arguments"]
    assert made["key"] == key
    return [(v["name"], v["count"], v["max"]) for v in made["values"]], made["calls_without"]


assert by("bytes") == ([("-5", 1, 10000), ("0.5", 1, 10000), (str(2**64 - 1), 1, 10000)], 0), by("bytes")
assert sorted(by("path")[0]) == [("", 1, 10000), ("/var/lib/x", 1, 10000), ("?", 1, 10000), ("jobs", 1, 10000)], by("path")
assert by("nobody") == ([], 2)
many = [(0, 7, BYTES, 1, i) for i in range(40)] + [(0, 7, BYTES, 2, 2**64 - 6), (0, 7, BYTES, 3, f64(-0.75)), (0, 7, BYTES, 3, f64(0))]
ranges_make.write(f"{work}/many.bin", NAMES, ("argument", ARGUMENT, shift(many)))
values, without = by("bytes", f"{work}/many.bin")
assert [v[:2] for v in values] == [("-4 to -7", 1), ("-0.5 to below -1", 1), ("0", 1), ("0", 1), ("1", 1), ("2 to 3", 2), ("4 to 7", 4), ("8 to 15", 8),
                                   ("16 to 31", 16), ("32 to 63", 8)] and without == 1, values
# Texts that differ in literals alone: numbers and quoted strings, not what is part of a word.
TEXTS = [b"SELECT t1.a FROM t1 WHERE id = 17 AND s = 'it''s'", b"SELECT t1.a FROM t1 WHERE id = 0x2F AND s = 'b\\'x'",
         b"SELECT t1.a FROM t1 WHERE id = 1.5 AND s = \"c", b"SELECT t1.b FROM t2 WHERE id = 17 AND s = ''"]
pieces = [(0, 7 + i % 2, PATH, 5 if at == 0 else 6, eight(text[at:at + 8])) for i, text in enumerate(TEXTS) for at in range(0, len(text), 8)]
ranges_make.write(f"{work}/texts.bin", NAMES, ("argument", ARGUMENT, shift(pieces)))
assert sorted(v[0] for v in by("path", f"{work}/texts.bin")[0]) == sorted(t.decode() for t in TEXTS), by("path", f"{work}/texts.bin")
# More texts than cells of the table that finds them: each is one value, with all its calls.
ITEMS = [b"item %d" % i for i in range(700)]
blocks = [block([e for i in range(1400) for e in (begin(ts8(T0 + 20 * i)), end(ts8(T0 + 20 * i + 10)))], T0, 7), ranges_make.names(1, b"path", *ITEMS)]
blocks += ranges_make.table(1, "argument", ARGUMENT, [(T0 + 20 * i, 7, 1, 4, 2 + i % 700) for i in range(1400)])
open(f"{work}/items.bin", "wb").write(finalised(blocks, zero=T0))
found = json.loads(run("stats", "--json", "--by", "arg:path", "--top", "1000", f"{work}/items.bin"))["arguments"]["values"]
assert sorted((v["name"].encode(), v["count"]) for v in found) == sorted((text, 2) for text in ITEMS), (len(found), found[:5])
# The first pieces were not kept, as at the beginning of a dump: the rest is not shown as if it were all.
ranges_make.write(f"{work}/rest.bin", NAMES, ("argument", ARGUMENT, shift(pieces[2:])))
assert ("\u2026" + TEXTS[0][16:].decode()) in [v[0] for v in by("path", f"{work}/rest.bin")[0]], by("path", f"{work}/rest.bin")
folded = json.loads(run("stats", "--json", "--by", "arg:path", "--fold-literals", f"{work}/texts.bin"))["arguments"]["values"]
assert sorted((v["name"], v["count"]) for v in folded) == [("SELECT t1.a FROM t1 WHERE id = ? AND s = ?", 3), ("SELECT t1.b FROM t2 WHERE id = ? AND s = ?", 1)], folded
assert "Calls by bytes" in run("stats", "--by", "arg:bytes", path).decode()
for words in (["--top", "5"], ["--cache", "beside"], ["--cache", "beside"]):
    longest = json.loads(run("stats", "--json", *words, path))["longest"]
    assert {c["thread_id"]: c["args"] for c in longest}[7] == {"path": "/var/lib/x", "bytes": 2**64 - 1}, longest
assert "path=/var/lib/x" in run("stats", path).decode()
# On a terminal a long text is cut, in a file it is whole.
LONG = b"/var/lib/" + b"0123456789" * 8
ranges_make.write(f"{work}/long.bin", NAMES, ("argument", ARGUMENT, shift([(0, 7, PATH, 5 if at == 0 else 6, eight(LONG[at:at + 8])) for at in range(0, len(LONG), 8)])))
ours, theirs = pty.openpty()
process = subprocess.Popen([rbwp, "stats", f"{work}/long.bin"], stdout=theirs)
os.close(theirs)
shown = b""
try:
    while piece := os.read(ours, 65536):
        shown += piece
except OSError:  # the end of a terminal
    pass
assert process.wait() == 0 and b"path=" + LONG in run("stats", f"{work}/long.bin")
cut, = re.findall(rb"path=(/var\S*)", shown)
assert len(cut.decode()) == 40 and LONG.startswith(cut[:36]), shown
for words in (["arg:"], ["arg:a", "--by", "arg:b"]):
    assert subprocess.run([rbwp, "stats", "--by", *words, path], capture_output=True).returncode == 2

# Kinds of a program's own, in the trailer: one that waits makes nobody busy, the other has its name.
records = [begin(ts8(T0)), fine_begin(ts8(T0 + 100), 4), fine_end(ts8(T0 + 400)), fine_begin(ts8(T0 + 500), 5), fine_end(ts8(T0 + 600)), end(ts8(T0 + 1000))]
kinds = [struct.pack("<HHI8x", 4, 5, 1), struct.pack("<HHI8x", 5, 6, 0), struct.pack("<HHI8x", 4, 1, 0), struct.pack("<HHI8x", 9, 0, 1)]
file = finalised([block(records, T0, 7)], [work_item(0, b"compaction")], [sub_item(4, 0, b"for room"), sub_item(5, 0, b"merge")], zero=T0)
kind = f"{work}/kind.bin"
open(kind, "wb").write(with_trailer(file, table_section(b"KIND", kinds, 16, b"stallleveldx")))
spans = {s["name"]: s for s in map(json.loads, run("export", "--to", "ndjson", kind).splitlines())}
assert (spans["for room"]["category"], spans["for room"]["own_category"]) == ("waiting", "stall"), spans
assert (spans["merge"]["category"], spans["merge"]["own_category"]) == ("sub_item", "leveld"), spans
made = json.loads(run("stats", "--json", kind))
thread, = made["threads"]
assert (thread["busy"], thread["waiting"], thread["idle"], made["worker_waiting"]) == (700, 300, 0, 300), thread
assert ", waiting 30.0 %" in run("stats", kind).decode() and "(waited 300 ns)" in run("stats", kind).decode()
assert "stall (waits) for room" in run("info", kind).decode()
assert '"sub_item_kind":"leveld"' in run("dump", "--spans", kind).decode()
run("report", "-o", f"{work}/page.html", kind)

# A work item that waits: its thread is busy with what is in it alone, in stats, timeline and top.
kinds = [struct.pack("<HHI8x", 0, 5, 3), struct.pack("<HHI8x", 5, 6, 0), struct.pack("<HHI8x", 999, 5, 3)]
open(kind, "wb").write(with_trailer(file, table_section(b"KIND", kinds, 16, b"stallleveldstall")))
made = json.loads(run("stats", "--json", kind))
thread, = made["threads"]
assert (thread["busy"], thread["waiting"]) == (400, 1000), thread
assert [row["name"] for row in made["work_items"]] == ["compaction"], made["work_items"]
assert "stall (waits) compaction" in run("info", kind).decode()
assert " 40.0%" in run("timeline", kind).decode(), run("timeline", kind).decode()  # 400 ns of its call's 1000, as in stats
t = __import__("time").time_ns()
records = [begin(ts8(t)), fine_begin(ts8(t + 500), 5), fine_end(ts8(t + 600)), end(ts8(t + 1000)), fine_begin(ts8(t + 2000), 4), fine_end(ts8(t + 2300))]
file = finalised([block(records, t, 7)], [work_item(0, b"compaction")], [sub_item(4, 0, b"for room"), sub_item(5, 0, b"merge")], zero=t)
open(kind, "wb").write(with_trailer(file, table_section(b"KIND", kinds, 16, b"stallleveldstall")))
shown = {i["name"]: i for i in map(json.loads, run("top", "--once", "--json", "-d", "3600s", kind).splitlines())}
assert (shown["compaction"]["busy"], shown["compaction"]["waiting"], shown["merge"]["busy"]) == (0, 1000, 100), shown

# A wait takes its time off each thing around it, in top, too.
kinds = [struct.pack("<HHI8x", 4, 5, 1)]
records = [begin(ts8(t)), fine_begin(ts8(t + 100), 5), fine_begin(ts8(t + 200), 4), fine_end(ts8(t + 500)), fine_end(ts8(t + 900)), end(ts8(t + 1000))]
file = finalised([block(records, t, 7)], [work_item(0, b"compaction")], [sub_item(4, 0, b"for room"), sub_item(5, 0, b"merge")], zero=t)
open(kind, "wb").write(with_trailer(file, table_section(b"KIND", kinds, 16, b"stall")))
shown = [(i["name"], i["busy"], i["waiting"]) for i in map(json.loads, run("top", "--once", "--json", "--sort", "name", "-d", "3600s", kind).splitlines())]
assert shown == [("compaction", 700, 300), ("for room", 0, 300), ("merge", 500, 300)], shown

# Text says how many rows of a long table it leaves to --json.
ranges_make.write(f"{work}/counters.bin", [b"counter %d" % i for i in range(1007)], ("counter", COUNTER, [(T0 + i, 1 + i, i, 0) for i in range(1007)]))
assert "\n  ... and 7 more (--json has all)\n" in run("stats", f"{work}/counters.bin").decode()
assert len(json.loads(run("stats", "--json", f"{work}/counters.bin"))["counters"]) == 1007

# A counter in a row that is a span is an argument of it.
ranges_make.write(f"{work}/depth.bin", NAMES, ("job", [("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("depth", 1, 7), ("size", 1, 16)],
                                               [(T0 + 10, T0 + 60, 7, JOBS, 3, 4096)]))
job, = [s for s in map(json.loads, run("export", "--to", "ndjson", f"{work}/depth.bin").splitlines()) if s["name"] == "jobs"]
assert job["args"] == {"size": 4096, "depth": 3}, job

# Columns of other types, as strangers may have them: a table like any other.
ranges_make.write(f"{work}/other.bin", NAMES, ("argument", [("begun", 4, 1), ("thread", 1, 10), ("key", 1, 0), ("type", 1, 0), ("value", 1, 0)],
                                               shift(ROWS)))
assert "args" in run("export", "--to", "ndjson", f"{work}/other.bin").decode()
P
finish
