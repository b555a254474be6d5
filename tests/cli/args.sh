#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs noted of calls, and counters. Guards: an argument is the call's in which it was given, whatever order
# blocks come in and a nanosecond off, texts are put together, values of other types and versions do no harm, and a row
# of no call is shown as nothing; a counter has its own name and unit, and with another unit is another one.
. "$(dirname "$0")/lib.sh"

PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "args"
import json, sqlite3, struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.path.insert(0, here)
import ranges_make
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

base = f"{work}/args.sqlite"
run("export", "-o", base, path)
db = sqlite3.connect(base)
assert ("path", "/var/lib/x") in db.execute("select name.name, value from arg join name on name.id = arg.name").fetchall()
counters = {(t["name"], t["unit"], t["samples"], t["min"], t["max"]) for t in json.loads(run("stats", "--json", path))["counters"]}
assert counters == {("waiting", "jobs", 2, -1, 3), ("waiting", "kB", 1, 8, 8), ("path", "", 1, 1, 1)}, counters
chrome = json.loads(run("export", "--to", "chrome", path))["traceEvents"]
assert [e["args"]["path"] for e in chrome if e.get("args", {}).get("bytes") == 2**64 - 1] == ["/var/lib/x"]
for form in ("perfetto", "firefox", "csv", "kineto", "folded", "npz", "parquet"):
    run("export", "-f", "-o", f"{work}/out", "--to", form, path)

# Columns of other types, as strangers may have them: a table like any other.
ranges_make.write(f"{work}/other.bin", NAMES, ("argument", [("begun", 4, 1), ("thread", 1, 10), ("key", 1, 0), ("type", 1, 0), ("value", 1, 0)],
                                               shift(ROWS)))
assert "args" in run("export", "--to", "ndjson", f"{work}/other.bin").decode()
P
finish
