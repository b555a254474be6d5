# SPDX-License-Identifier: Apache-2.0
"""report_page_make.py CLI_FOLDER OUTPUT_FOLDER: files for report_page.sh: busy.bin, with enough spans for many tiles,
GPU work and polls; evil.bin, whose names would run as script if they were markup; many_lanes.bin, with what kernels noted
inside; probes.bin, with what probes in their instructions recorded; queued.bin, with work that waited
and says what it was about; counted.bin, with counters, ranges that never ended and a range of an odd name; other.bin,
in which one item takes twice as long as in busy.bin."""
import random
import sys

sys.path.insert(0, sys.argv[1])
import kernels_make
import ranges_make
import rbwp_make as m

rng = random.Random(7)
ZERO = 1700000000000000000


def worker(count):
    records, now = [], ZERO + rng.randrange(1000)
    for i in range(count):
        now += rng.randrange(100, 2500) if i % 3000 else 4000000
        slot = rng.randrange(4)
        records.append((now, "cb", slot))
        for _ in range(rng.randrange(3)):
            begin = now + rng.randrange(1, 300)
            now = begin + rng.randrange(50, 900)
            records += [(begin, "fb", rng.randrange(3)), (now, "fe")]
        now += rng.randrange(20, 3000)
        records.append((now, "ce"))
        if slot == 2:
            records.append((now, "gpu", 0x1D << 56, 2, now + 10, now + 90))
    return records


def write_busy(name, slower):
    """The same each time, but for the calls of slot 3, which take longer by so many ns."""
    rng.seed(7)
    blocks = []
    for thread in range(4):
        records, later, slot = [], 0, None
        for at, kind, *fields in worker(6000):
            slot = fields[0] if kind == "cb" else slot
            later += slower if kind == "ce" and slot == 3 else 0
            records.append((at + later, kind, *(fields[:2] + [f + later for f in fields[2:]] if kind == "gpu" else fields)))
        for start in range(0, len(records), 4000):
            blocks.append(m.block(0x7F0000000000 + thread, len(blocks), records[start : start + 4000], True))
    slots = [(0, b"active messages"), (1, b"disk writer"), (2, b"kernel launcher"), (3, b"timer wheel")]
    with open(f"{sys.argv[2]}/{name}.bin", "wb") as file:
        file.write(m.file(blocks, slots, [(0, 0, b"SpawnTaskReply"), (1, 1, b"memcpy channel"), (2, 2, b"by field op")], ZERO))


write_busy("busy", 0)
write_busy("other", 2500)
evil = [b"</script><script>document.title='broken'</script>", b"<img src=x onerror=\"document.title='broken'\">", b"\x00\x1b[2J\xff\xfe"]
calls = [r for i in range(3) for r in ((1000 + 100 * i, "cb", i), (1010 + 100 * i, "fb", i), (1020 + 100 * i, "fe"), (1050 + 100 * i, "ce"))]
with open(f"{sys.argv[2]}/evil.bin", "wb") as file:
    file.write(m.file([m.block(7, 0, calls)], list(enumerate(evil)), [(i, 0, n) for i, n in enumerate(evil)]))
kernels_make.many(f"{sys.argv[2]}/many_lanes.bin", 24, 40)
kernels_make.probes(f"{sys.argv[2]}/probes.bin", f"{sys.argv[2]}/probes.py")

# Thread 7 hands work over at 50; thread 8, busy until 400, takes it up then, and notes that it is of 4096 bytes.
T0, call = ranges_make.T0, lambda start, stop: [ranges_make.begin(ranges_make.ts8(ranges_make.T0 + start)), ranges_make.end(ranges_make.ts8(ranges_make.T0 + stop))]
queue = [("enqueued", 4, 1), ("begun", 4, 2), ("thread", 1, 10), ("slot", 1, 0), ("from", 1, 0)]
noted = [("begun", 4, 1), ("thread", 1, 10), ("key", 6, 4), ("type", 1, 0), ("value", 1, 0)]
blocks = [ranges_make.block(call(0, 100), T0, 7), ranges_make.block(call(20, 400) + call(400, 500), T0 + 20, 8), ranges_make.names(1, b"bytes")]
with open(f"{sys.argv[2]}/queued.bin", "wb") as file:
    file.write(ranges_make.finalised(blocks + ranges_make.table(1, "queued", queue, [(T0 + 50, T0 + 400, 8, 0, 7)])
                                     + ranges_make.table(2, "argument", noted, [(T0 + 400, 8, 1, 1, 4096)]), zero=T0))

# Two counters, of which one has one value, and ranges in each other, of which one has no end.
counter = [("time", 4, 1), ("counter", 6, 4), ("value", 2, 7), ("unit", 6, 0)]
counts = [(T0 + at, 1, value % (1 << 64), 2) for at, value in ((10, 3), (400, -1), (900, 8))] + [(T0 + 700, 3, 5, 0)]
marked = [(T0 + 100, T0 + 900, 7, 4, 1, 0, 0, 0, 0, 0), (T0 + 200, T0 + 300, 7, 5, 2, 0, 1, 0, 0, 0), (T0 + 500, 0, 7, 5, 3, 0, 1, 0, 0, 0)]
ranges_make.write(f"{sys.argv[2]}/counted.bin", [b"waiting", b"jobs", b"load", b"outer", b"<b>inner</b> with a name that is longer than its bar"],
                  ("counter", counter, counts), ("range", ranges_make.RANGE, marked))
