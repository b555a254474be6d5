# SPDX-License-Identifier: Apache-2.0
# What still ran when the data ended has run until the last sign of life (the session's stop; the
# last record of a whole file without trailer), counts as busy, is marked open in every view and
# export, and comes first. Nothing is taken to have run on whose end may be missing: its thread
# ended or lost records, the file was damaged there or not finalised.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "open spans"
import csv, json, sqlite3, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here, f"{here}/../python"]
import parquet_reader
import rbwp_make as m
from perfetto_decode import Trace
from report_page import Page

T = 10**18
MS = 10**6
ITEMS, SUBS = [(1, b"hang"), (2, b"quick")], [(3, 1, b"wait")]


def run(*arguments, code=0):
    done = subprocess.run([rbwp, *arguments], capture_output=True)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done


def write(name, data):
    with open(f"{work}/{name}", "wb") as file:
        file.write(data)
    return f"{work}/{name}"


def open_spans(path, code=0):
    spans = json.loads(run("dump", "--spans", path, code=code).stdout)
    assert all((s["end"], s["duration"], s["finished"]) == (None, None, False) for s in spans if s.get("open"))
    return [(s["kind"], s["begin"], s["open_until"]) for s in spans if s.get("open")]


HUNG = [(T, "cb", 2), (T + MS, "ce"), (T + 2 * MS, "cb", 1), (T + 3 * MS, "fb", 3)]
OTHER = [(T + 10 * MS, "cb", 2), (T + 11 * MS, "ce")]
blocks = [m.block(7, 0, HUNG), m.block(8, 0, OTHER)]
whole = m.file(blocks, ITEMS, SUBS, zero_time=T)
threads = m.table_section(b"THRD", [m.thread_entry(7, 4, 4711, T, name=b"bio"), m.thread_entry(8, 2, 4712, T, name=b"main")], b"biomain")
info = m.info(start=T, stop=T + 7002 * MS)
stopped = write("stopped", m.with_trailer(whole, info, threads))
FINE, CALL = ("fine", T + 3 * MS), ("coarse", T + 2 * MS)

# Until the stop; without a trailer until the last record of any thread.
assert open_spans(stopped) == [(*FINE, T + 7002 * MS), (*CALL, T + 7002 * MS)]
assert b"2 spans were still open when it ended" in run("dump", "--spans", stopped).stderr
assert open_spans(write("version1", whole)) == [(*FINE, T + 11 * MS), (*CALL, T + 11 * MS)]
assert open_spans(write("early", m.with_trailer(whole, m.info(start=T, stop=T + 1), threads))) == [(*FINE, FINE[1]), (*CALL, CALL[1])]

# Not where its end may be missing.
ended = m.table_section(b"THRD", [m.thread_entry(7, 4, 4711, T, T + 5 * MS)])
assert open_spans(write("ended", m.with_trailer(whole, info, ended))) == []
again = m.table_section(b"THRD", [m.thread_entry(7, 2, 1, T, T + MS), m.thread_entry(7, 2, 2, T + MS)])
assert len(open_spans(write("again", m.with_trailer(whole, info, again)))) == 2
for thread, cause, last, count in ((7, 1, T + 4 * MS, 0), (0, 3, T + 4 * MS, 0), (7, 3, 0, 0), (8, 1, T + 4 * MS, 2),
                                   (7, 1, T + 2 * MS - 1, 2), (7, 1, T + 2 * MS, 1), (7, 6, T + 4 * MS, 2)):
    losses = m.table_section(b"LOSS", [m.loss_entry(thread, 1, cause, last, last)])
    path = write("lost", m.with_trailer(whole, info, threads, losses))
    assert len(open_spans(path)) == count, (thread, cause, last)
assert open_spans(write("running", m.file(blocks, zero_time=T, finalised=False))) == []
bad = bytearray(m.block(8, 0, OTHER))
bad[32 + 8] = 0x55
for place in ([m.block(7, 0, HUNG), bytes(bad)], [m.block(7, 0, HUNG), bytes(bad), m.block(9, 0, OTHER)]):
    path = write("damaged", m.with_trailer(m.file(place, ITEMS, SUBS, zero_time=T), info))
    assert open_spans(path, code=3) == []
path = write("behind", m.with_trailer(m.file([bytes(bad), m.block(7, 0, HUNG)], ITEMS, SUBS, zero_time=T), info))
assert len(open_spans(path, code=3)) == 2

# First in stats, and in its sums.
text = run("stats", stopped).stdout.decode().splitlines()
assert text[0] == "hung for 7.000 s in  hang  on  bio  since +0.002000000s", text[0]
assert text[1] == "hung for 6.999 s in  wait  on  bio  since +0.003000000s", text[1]
stats = json.loads(run("stats", "--json", stopped).stdout)
assert [(o["name"], o["category"], o["start"], o["duration"], o["thread"]) for o in stats["open"]] == [
    ("hang", "bgwork", T + 2 * MS, 7000 * MS, "bio"), ("wait", "xfer", T + 3 * MS, 6999 * MS, "bio")]
row = next(w for w in stats["work_items"] if w["name"] == "hang")
assert (row["count"], row["open"], row["open_time"], row["total"], row["self"], row["mean"]) == (0, 1, 7000 * MS, 7000 * MS, MS, 0), row
assert next(t for t in stats["threads"] if t["name"] == "bio")["busy"] == 7001 * MS
assert [c["name"] for c in stats["longest"]] == ["quick", "quick"]

# The first alerts of the page, and marked on its timeline.
run("report", stopped, "-o", f"{work}/open.html")
page = Page(f"{work}/open.html")
named = [(page.data["tracks"][t]["name"], page.data["kinds"][k]["name"], start, length, hung) for t, k, start, length, hung, _ in page.data["open"]]
assert named == [("bio", "hang", 2 * MS, 7000 * MS, 1), ("bio", "wait", 3 * MS, 6999 * MS, 1)] and page.data["open_spans"] == 2, named
assert sorted((flags, stop - start) for _, _, flags, start, stop in page.spans() if flags) == [(3, 6999 * MS), (3, 7000 * MS)]

# Stopped while at work is no news: short ones are counted, not listed.
short = write("short", m.with_trailer(whole, m.info(start=T, stop=T + 2 * MS + 5000), threads))
text = run("stats", short).stdout.decode()
assert text.startswith("2 spans were still open when it ended\n") and "hung" not in text, text

# Nor is it hung as long as others of its kind took longer.
usual = m.file([m.block(7, 0, [(T, "cb", 1), (T + 10 * MS, "ce"), (T + 10 * MS, "cb", 1)])], ITEMS, SUBS, zero_time=T)
text = run("stats", write("usual", m.with_trailer(usual, m.info(start=T, stop=T + 12 * MS)))).stdout.decode()
assert text.startswith("still open for 2.000 ms in  hang"), text

# In the timeline, and marked in each export.
lines = run("timeline", "--ascii", "--width", "98", stopped).stdout.decode().splitlines()
bio = next(line for line in lines if line.startswith("bio"))
assert bio.count("@") == 70, bio
event = [e for e in json.loads(run("export", "--to", "chrome", stopped).stdout)["traceEvents"] if e["ph"] == "X" and e["name"] == "hang"]
assert [(e["args"], round(float(e["dur"]), 3)) for e in event] == [({"unfinished": True, "open": True, "slot": 1}, 7000000.0)], event
rows = list(csv.DictReader(run("export", "--to", "csv", stopped).stdout.decode().splitlines()))
assert [(r["name"], r["duration_ns"]) for r in rows if r["open"] == "1"] == [("hang", str(7000 * MS)), ("wait", str(6999 * MS))]
lines = map(json.loads, run("export", "--to", "ndjson", stopped).stdout.splitlines())
assert [o["name"] for o in lines if o["open"] is True] == ["hang", "wait"]
slices = Trace(run("export", "--to", "perfetto", stopped).stdout).slices
assert sorted(s.name for s in slices if s.args.get("open")) == ["hang", "wait"]
assert b"hang 1000000\n" in run("export", "--to", "folded", stopped).stdout
run("export", "-o", f"{work}/open.parquet", stopped)
assert sum(parquet_reader.File(f"{work}/open.parquet").column("open")) == 2
done = subprocess.run([rbwp, "export", "-o", f"{work}/open.db", stopped], capture_output=True)
if b"built without SQLite" not in done.stderr:
    db = sqlite3.connect(f"{work}/open.db")
    assert db.execute("SELECT name, duration_ns FROM span_view WHERE open ORDER BY start_ns").fetchall() == [("hang", 7000 * MS), ("wait", 6999 * MS)]
P
finish
