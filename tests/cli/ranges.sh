#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Named ranges of threads, and when their GPU work ran. Guards: a range is one span below its thread with its id, parent and
# value, whether one row or two tell of it, in whichever order; one that nobody ended lasts to the end and says so; for each GPU and
# stream an annotation spans all work of the range and of those inside, none that was launched elsewhere; it makes no GPU busier;
# what the file has annotated itself is shown as it is. Every export takes them.
. "$(dirname "$0")/lib.sh"

PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "ranges"
import json, struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.path.insert(0, here)
import ranges_make
import make_rbwp as m
from make_rbwp import table_section, with_trailer
from test_tables import names
from ranges_make import ACTIVITY, ANNOTATION, RANGE, T0

NAMES = [b"train", b"forward", b"mark", b"unseen"]
BIG = (1 << 40) + 5
HALF = struct.unpack("<Q", struct.pack("<d", 0.5))[0]


def row(start, stop, name, number, id, parent=0, kind=0, payload=(0, 0), thread=7):
    return (T0 + start, T0 + stop if stop else 0, thread, name, number, id, parent, kind, *payload)


def kernel(start, stop, stream, number, correlation):
    return (T0 + start, T0 + stop, 5, stream, 7, 0, T0 + start - 50, T0 + start - 20, 0, correlation, number)


RANGES = [
    row(2500, 9000, 1, 10, 1, 0, 16),              # the end of a range whose row comes later
    row(100, 0, 1, 10, 1),
    row(200, 900, 2, 11, BIG, 10, 0, (3, HALF)),
    row(300, 300, 3, 12, 3, 11, 2, (2, (1 << 64) - 7)),
    row(400, 0, 2, 13, 4, 10),                     # never ended
    row(5000, 5500, 2, 14, BIG, 11, 3, thread=8),  # goes on on another thread
    row(950, 990, 4, 15, 6, 0, 17),                # the half that is left of a range
]
WORKS = [kernel(1000, 1500, 7, 11, 1), kernel(1600, 1700, 7, 11, 2), kernel(900, 1200, 9, 11, 3), kernel(6000, 6200, 7, 14, 4),
         kernel(7000, 7100, 7, 0, 5), kernel(3000, 3100, 9, 10, 6), kernel(8000, 8100, 9, 99, 7)]


def write(path, *tables):
    ranges_make.write(path, NAMES, *tables)


def spans(path, *options):
    done = subprocess.run([rbwp, "export", "--to", "ndjson", *options, path], capture_output=True)
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(made, track):
    return sorted((s["start_ns"] - T0, s["duration_ns"], s["name"]) for s in made if s["track"] == track)


path = f"{work}/ranges.bin"
write(path, ("range", RANGE, RANGES), ("gpu_activity", ACTIVITY, WORKS))
made = spans(path)
assert of(made, "ranges") == [(100, 8900, "train"), (200, 700, "forward"), (300, 0, "mark"), (400, 9600, "forward"), (950, 40, "unseen"),
                              (5000, 500, "forward")], of(made, "ranges")
by_id = {s["args"]["range"]: s for s in made if s["track"] == "ranges"}
assert by_id[11]["args"] == {"id": BIG, "range": 11, "parent": 10, "payload": 0.5}, by_id[11]
assert by_id[12]["args"]["payload"] == -7 and by_id[10]["args"] == {"id": 1, "range": 10}
assert [s["args"]["range"] for s in made if s["track"] == "ranges" and not s["finished"]] == [13]
assert all(s["category"] == ("annotation" if s["track"].startswith("stream") else "range") for s in made if "range" in s.get("args", {}))
# Work of 14 is of 11, which it carries on, and of 10 around that. Range 99 is in no table.
assert of(made, "stream 7") == [(1000, 700 + 4500, "forward"), (1000, 5200, "train"), (6000, 200, "forward")], of(made, "stream 7")
assert of(made, "stream 9") == [(900, 300, "forward"), (900, 2200, "train")], of(made, "stream 9")
(forward,) = [s for s in made if s["track"] == "stream 9" and s["name"] == "forward"]
assert forward["args"] == {"id": BIG, "range": 11, "works": 1} and forward["track_kind"] == "stream", forward
assert len({s["id"] for s in made}) == len(made)

# Of a range with two beginnings and two ends, in the order in which they came, the inner ones belong together.
twice = [row(100, 0, 1, 20, 1), row(150, 0, 1, 20, 2), row(200, 900, 2, 20, 3, 0, 16), row(300, 950, 2, 20, 4, 0, 16)]
write(f"{work}/twice.bin", ("range", RANGE, twice))
found = sorted((s["start_ns"] - T0, s["duration_ns"], s["finished"], s["args"]["id"]) for s in spans(f"{work}/twice.bin") if s["track"] == "ranges")
assert found == [(100, 9900, False, 1), (150, 750, True, 2), (300, 650, True, 4)], found

# Of a window: works that touch it.
part = spans(path, "--from", str(T0 + 1100), "--until", str(T0 + 1650))
assert of(part, "stream 9") == [(900, 300, "forward"), (900, 300, "train")], of(part, "stream 9")

# Flame graphs are of work: what ran, not what it was called or waited for.
folded = subprocess.run([rbwp, "export", "--to", "folded", path], capture_output=True, text=True)
assert "train" not in folded.stdout and "slot 0 10000\n" in folded.stdout, folded.stdout
assert "ranges and waits in queues" in folded.stderr, folded.stderr

# Two APIs number their GPUs apart: each has a name of its own.
apis = [kernel(10, 20, 7, 0, 1)[:2] + (api << 32,) + kernel(10, 20, 7, 0, 1)[3:] for api in (1, 3)]
write(f"{work}/apis.bin", ("gpu_activity", ACTIVITY, apis))
assert {s["track"] for s in spans(f"{work}/apis.bin") if s["track_kind"] == "gpu"} == {"GPU 0", "GPU 0 (OpenCL)"}

# What the trailer alone says of a GPU is a fact of the process.
data, name = open(f"{work}/apis.bin", "rb").read(), b"TITAN"
entry = struct.pack("<QIIqqH6x", 3 << 32, 3, 0, 0, 0, len(name))
with open(f"{work}/named.bin", "wb") as file:
    file.write(with_trailer(data, table_section(b"GPUD", [entry], len(entry), name)))
facts = json.loads(subprocess.run([rbwp, "export", "--to", "chrome", f"{work}/named.bin"], capture_output=True, check=True).stdout)["otherData"]
assert facts["process.0.gpu.opencl_0.name"] == "TITAN", facts

# A range that is still open is on its thread.
ranges_make.write(f"{work}/open.bin", [b"train"], ("range", RANGE, [row(100, 0, 1, 10, 1)]), stop=3 * 10**6)
stats = [subprocess.run([rbwp, "stats", *more, f"{work}/open.bin"], capture_output=True, check=True).stdout.decode() for more in ([], ["--json"])]
assert stats[0].startswith("still open for 2.999 ms in  train  on  thread 0x7  "), stats[0]
(still,) = json.loads(stats[1])["open"]
assert (still["name"], still["thread"], still["thread_id"]) == ("train", "thread 0x7", 7), still

# A row costs a few bits where each names a thread of its own. What 5 KB make of threads is bounded, and what is left out
# is not blamed on memory.
many = [row(i, i + 1, 1, i, i, thread=100 + i) for i in range(1, 5001)]
write(f"{work}/many.bin", ("range", RANGE, many))
done = subprocess.run([rbwp, "stats", "--json", f"{work}/many.bin"], capture_output=True, text=True)
assert (done.returncode, len(json.loads(done.stdout)["threads"])) == (3, 2 + 4096), done.stderr
assert done.stderr.count("more than 4096 threads in rows of tables alone: the others are left out") == 1, done.stderr

stats = json.loads(subprocess.run([rbwp, "stats", "--json", path], capture_output=True, check=True).stdout)
(gpu,) = stats["gpus"]
assert (gpu["spans"], gpu["busy"]) == (7, 1200), gpu
counted = lambda what: sorted((r["name"], r["count"], r["total"]) for r in stats[what])
assert counted("ranges") == [("forward", 2, 10800), ("mark", 1, 0), ("train", 1, 8900), ("unseen", 1, 40)], counted("ranges")
assert counted("gpu_ranges") == [("forward", 3, 5700), ("train", 2, 7400)], counted("gpu_ranges")

write(f"{work}/own.bin", ("range", RANGE, RANGES), ("gpu_activity", ACTIVITY, WORKS),
      ("annotation", ANNOTATION, [(T0 + 1, T0 + 2, 5, 7, 1, 10, 1)]))
own = spans(f"{work}/own.bin")
assert not any(s["track"].startswith("stream") for s in own)
assert of(own, "annotation 5") == [(1, 1, "train")], {s["track"] for s in own}

for form in ("chrome", "csv", "firefox", "folded", "legion", "parquet", "perfetto", "speedscope", "sqlite"):
    done = subprocess.run([rbwp, "export", "-f", "--to", form, "-o", f"{work}/out.{form}", path], capture_output=True)
    assert done.returncode == 0 or b"without SQLite" in done.stderr or form == "legion", (form, done)
chrome = json.load(open(f"{work}/out.chrome"))
assert sum(e.get("name") == "forward" and e["ph"] in "XBb" for e in chrome["traceEvents"]) == 6
subprocess.run([rbwp, "report", "-f", "-o", f"{work}/page.html", path], check=True, capture_output=True)
text = subprocess.run([rbwp, "stats", "--by", "range", path], capture_output=True, check=True, text=True).stdout
assert text.index("Ranges on GPUs") > text.index("Ranges"), text

# Names of numbers that are too large to be kept are none.
far, path = 2**32 - 1, f"{work}/far.bin"
blocks = [m.block([m.begin(m.ts8(T0)), m.end(m.ts8(T0 + 999))], T0, 7), names(far, b"far", b"farther")]
with open(path, "wb") as file:
    file.write(m.finalised(blocks + ranges_make.table(1, "range", RANGE, [row(100, 200, far, 10, 1), row(300, 400, far + 1, 11, 1)]), zero=T0))
assert of(spans(path), "ranges") == [(100, 100, "unnamed"), (300, 100, "unnamed")], spans(path)
P
finish
