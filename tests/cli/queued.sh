#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How long work waited before it ran. Guards: each row is a span named after its work item, and an
# arrow from the thread that handed over to the one that took up; they make nobody busier; rows
# without a known thread or slot do no harm.
. "$(dirname "$0")/lib.sh"

PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "queued"
import json, sqlite3, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.path.insert(0, here)
import ranges_make
from ranges_make import T0

QUEUED = [("enqueued", 4, 1), ("begun", 4, 2), ("thread", 1, 10), ("slot", 1, 0), ("from", 1, 0)]
ROWS = [(100, 400, 7, 0, 8), (200, 1200, 7, 0, 8), (300, 300, 8, 0, 7), (350, 380, 8, 0, 0), (500, 900, 8, 1 << 40, 7)]


def run(*words):
    done = subprocess.run([rbwp, *words], capture_output=True)
    assert done.returncode == 0, (words, done)
    return done.stdout


def made(name, rows):
    path = f"{work}/{name}.bin"
    ranges_make.write(path, [b"x"], ("queued", QUEUED, [(T0 + a, T0 + b, *rest) for a, b, *rest in rows]))
    return path


path = made("queued", ROWS)
spans = [json.loads(l) for l in run("export", "--to", "ndjson", path).splitlines()]
waits = sorted((s["start_ns"] - T0, s["duration_ns"], s["name"]) for s in spans if s["category"] == "queued")
assert waits == [(100, 300, "slot 0"), (200, 1000, "slot 0"), (300, 0, "slot 0"), (350, 30, "slot 0")], waits
stats, without = json.loads(run("stats", "--json", path)), json.loads(run("stats", "--json", made("none", [(0, 0, 7, 0, 0)])))
one, = (r for r in stats["queued"] if r["item"] == 0)
assert (one["count"], one["total"], one["max"]) == (4, 1330, 1000), one
assert [t["busy"] for t in stats["threads"]] == [t["busy"] for t in without["threads"]]
assert stats["work_items"] == without["work_items"]
assert "Queue delay of work items" in run("stats", "--by", "slot", path).decode()
assert "queued" not in json.loads(run("stats", "--by", "thread", "--json", path))  # nobody asked for it
base = f"{work}/queued.sqlite"
if b"without SQLite" not in subprocess.run([rbwp, "export", "-o", base, path], capture_output=True).stderr:
    links = sqlite3.connect(base).execute("select kind, from_ns, to_ns from link order by 2, 3").fetchall()
    assert [(k, a - T0, b - T0) for k, a, b in links] == [("wait", 100, 400), ("wait", 200, 1200), ("wait", 300, 300)], links
for form in ("chrome", "perfetto", "firefox", "csv", "kineto", "folded"):
    run("export", "-f", "-o", f"{work}/out", "--to", form, path)
run("report", "-o", f"{work}/page.html", path)

# In Chrome JSON an arrow leaves from a point in time of its own: viewers would bind it to whatever ended before on that
# thread. Read back, all arrows that reach a call are there, and the points are not.
ROWS = [(T0 - 50, T0, 7, 0, 8), (T0 - 30, T0, 7, 0, 8)]
ranges_make.write(f"{work}/outside.bin", [b"x"], ("queued", QUEUED, ROWS))
run("export", "-f", "-o", f"{work}/outside.json", f"{work}/outside.bin")
events = json.load(open(f"{work}/outside.json"))["traceEvents"]
place = lambda e: (e["ts"], e["pid"], e["tid"])
leaves, points = [place(e) for e in events if e["ph"] == "s"], [place(e) for e in events if e.get("cat") == "link"]
assert len(leaves) == 2 and points == leaves, events
again = json.loads(run("export", "--to", "chrome", f"{work}/outside.json"))["traceEvents"]
assert sorted(place(e) for e in again if e["ph"] == "s") == sorted(leaves) and len(again) == len(events), again
P
finish
