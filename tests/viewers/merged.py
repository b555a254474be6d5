# SPDX-License-Identifier: Apache-2.0
"""merged.py RBWP HERE WORK ASSETS [BGPACK]: two runs in every format that tells of all spans, each read by a program or
reader that shares no code with the exporter, come to the same counts, sums and ends: what bgpack
recorded at level 2, and a merge of three nodes, a Legion Prof log and a Chrome trace."""
import collections
import csv
import json
import os
import sqlite3
import subprocess
import sys

rbwp, here, work, assets, bgpack = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [f"{here}/../cli", f"{here}/../python"]
import legion_log
import legion_make as legion
import parquet_reader
import rbwp_make as m

T = 1_700_000_000_000_000_000
Sums = collections.namedtuple("Sums", "count total first last")


def sums(spans):
    """Of (start, duration) pairs."""
    spans = list(spans)
    return Sums(len(spans), sum(d for _, d in spans), min(s for s, _ in spans), max(s + d for s, d in spans))


def three_nodes():
    files = []
    for node in range(3):
        records = [r for i in range(500) for r in ((T + 1000 * i + node, "cb", i % 3), (T + 1000 * i + node + 100, "fb", 1),
                                                   (T + 1000 * i + node + 300, "fe"), (T + 1000 * i + node + 400 + i, "ce"))]
        files.append(f"{work}/n{node}.bin")
        with open(files[-1], "wb") as file:
            file.write(m.file([m.block(7, 0, records)], [(s, b"item %d" % s) for s in range(3)], [(1, 0, b"handler")], T, 1, node))
    proc = legion.proc(1, 1)
    rows = legion.head("A", 1, 3, T) + [("ProcDesc", {"proc_id": proc, "kind": 2})]
    rows += [("TaskInfo", {"op_id": i + 1, "proc_id": proc, "start": 700 * i, "stop": 700 * i + 90, "fevent": legion.event(1, i + 1)}) for i in range(200)]
    with open(f"{work}/log", "wb") as file:
        file.write(legion.log("A", rows))
    events = [{"ph": "X", "name": f"kernel {i % 5}", "ts": 3 * i, "dur": 2, "pid": 9, "tid": 9} for i in range(300)]
    with open(f"{work}/torch.json", "w") as file:
        json.dump({"traceEvents": events, "baseTimeNanoseconds": T}, file)
    return files + [f"{work}/log", f"{work}/torch.json"], 3 * 1000 + 200 + 300


def make(command, kind, inputs, name):
    out = f"{work}/{name}"
    done = subprocess.run([rbwp, command, "--to", kind, "-f", "-o", out, *inputs], capture_output=True)
    assert done.returncode == 0, (kind, done.stderr)
    return out


def perfetto(trace, origin):
    """(sums, complaints) as Perfetto's trace processor has them."""
    done = subprocess.run(["node", f"{here}/perfetto.mjs", f"{assets}/trace-processor", trace,
                           "select count(*), sum(dur), min(ts), max(ts + dur) from slice where category not in ('link', 'loss', 'fact')",
                           "select name, value from stats where value != 0 and severity not in ('info')"], capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    (row,), errors = [json.loads(line) for line in done.stdout.splitlines() if line[:1] in b"[{"]
    count, total, first, last = (int(v) for v in row)
    return Sums(count, total, first + origin, last + origin), errors


def check(command, inputs, count=None):
    lines = [json.loads(line) for line in open(make(command, "ndjson", inputs, "out.ndjson"))]
    want = sums((s["start_ns"], s["duration_ns"]) for s in lines)
    assert count is None or want.count == count, want
    chrome = make(command, "chrome", inputs, "out.json")
    origin = int(json.load(open(chrome))["otherData"]["origin_ns"])
    for trace, zero in (chrome, origin), (make(command, "perfetto", inputs, "out.pftrace"), 0):
        have, errors = perfetto(trace, zero)
        assert have == want and errors == [], (trace, have, want, errors)
    rows = csv.DictReader(open(make(command, "csv", inputs, "out.csv"), newline=""))
    assert sums((int(r["start_ns"]), int(r["duration_ns"])) for r in rows) == want
    base = sqlite3.connect(make(command, "sqlite", inputs, "out.sqlite"))
    assert base.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert Sums(*base.execute("select count(*), sum(duration_ns), min(start_ns), max(start_ns + duration_ns) from span").fetchone()) == want
    table = parquet_reader.File(make(command, "parquet", inputs, "out.parquet"))
    assert sums(zip(table.column("start"), table.column("duration_ns"))) == want
    folded = [line.rsplit(" ", 1) for line in open(make(command, "folded", inputs, "out.folded"))]
    assert folded and all(int(own) >= 0 for _, own in folded)
    make(command, "legion", inputs, "prof_%.gz")
    log = legion_log.Log()  # which refuses whatever Legion Prof would
    for name in sorted(f for f in os.listdir(work) if f.startswith("prof_")):
        log.load(open(f"{work}/{name}", "rb").read())
        os.unlink(f"{work}/{name}")
    assert len(log.check().spans()) == want.count
    print(f"{command}: {want.count} spans, {want.total} ns, alike in all formats")


check("merge", *three_nodes())
if bgpack:
    profile = f"{work}/pack.bin"
    subprocess.run([bgpack, "-q", "-f", "-bgwork", "2", "-bgworkprofile", "2", "-bgworkprofile_logfile", profile, f"{here}/..", f"{work}/pack.tgz"], check=True)
    check("export", [profile])
