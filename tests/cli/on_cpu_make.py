# SPDX-License-Identifier: Apache-2.0
"""Files whose tables call_cpu and thread_cpu say whether calls ran (SPEC.md, appendix A)."""
import ranges_make
import rbwp_make as m
from make_rbwp import HEADER_BYTES, table_range

T = 10**18
MS = 10**6
ITEMS = [(1, b"serve"), (2, b"idle")]
CALL_CPU = [("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("slot", 1, 15), ("running", 2, 0), ("runnable", 2, 0), ("voluntary", 2, 0),
            ("involuntary", 2, 0), ("minor_faults", 2, 0), ("major_faults", 2, 0), ("cpu_begin", 1, 0), ("cpu_end", 1, 0)]
THREAD_CPU = [("time", 4, 1), ("thread", 1, 10), ("known", 1, 0)]  # version 1
SUMS = [("since", 4, 0), ("ran", 2, 0)]  # what version 2 has besides


def file(calls, split=(), known=(), stop=100, sums=()):
    """calls: (thread, slot, start, length); split: (thread, start, length, running, runnable), -1 is not known; known: (thread,
    time, 0 or 1); sums: (thread, since, time, ran). Times in ms."""
    records = {}
    for thread, slot, start, length in calls:
        records.setdefault(thread, []).append((T + int(start * MS), "cb", slot))
        records[thread] += [(T + int((start + length) * MS), "ce")] if length else []
    blocks = [m.block(thread, i, rows) for i, (thread, rows) in enumerate(records.items())]
    rows = [(T + int(start * MS), T + int((start + length) * MS), thread, 1, *(int(x * MS) % 2**64 if x >= 0 else 2**64 - 1 for x in (running, runnable)),
             1, 0, 0, 0, 0, 0) for thread, start, length, running, runnable in split]
    states = [(T + int(time * MS), thread, one, T + int(time * MS), 2**64 - 1)[:5 if sums else 3] for thread, time, one in known]
    states += [(T + int(time * MS), thread, 1, T + int(since * MS), int(ran * MS)) for thread, since, time, ran in sums]
    ranges = []
    for number, (name, columns, made) in enumerate((("call_cpu", CALL_CPU, rows), ("thread_cpu", THREAD_CPU + (SUMS if sums else []), states)), 1):
        at, ours = HEADER_BYTES + sum(map(len, blocks)), ranges_make.table(number, name, columns, made) if made else []
        blocks += ours
        ranges += [table_range(at, sum(map(len, ours)), number, len(ours), len(made), 1, len(made), (made[0][0], made[-1][0]))] if made else []
    threads = sorted(records)
    table = m.table_section(b"THRD", [m.thread_entry(t, 2, 4711 + t, T, name=b"t%d" % t) for t in threads], b"".join(b"t%d" % t for t in threads))
    return m.with_trailer(m.file(blocks, ITEMS, zero_time=T), m.info(start=T, stop=T + int(stop * MS)), table, *([m.table_section(b"TIDX", ranges)] if ranges else []))


# t1 serves: it runs, then waits for 3 ms and is ready to run for 1 ms of 10; of one call nothing is known to the end, of t4's, which
# has a row, nothing at all. t2 and t3 hardly run.
CALLS = [(1, 1, 0, 40), (1, 1, 40, 10), (1, 1, 60, 20), (2, 2, 0, 100), (3, 2, 10, 80), (4, 1, 5, 30)]
SPLIT = [(1, 40, 10, 6, 1), (1, 60, 20, 5, -1), (2, 0, 100, 0.01, 0), (4, 5, 30, -1, -1), (3, 10, 80, 0.02, 0.5)]
KNOWN = [(0, 0, 1), (4, 0, 0)]  # of all threads, and of one
WHOLE = file(CALLS, SPLIT, KNOWN)


def states_of(rows):
    """By thread: running, runnable, waiting in ns. rows: (thread, duration, did all of it run, and of its parts those that are known)."""
    sums = {}
    for thread, duration, ran, *parts in rows:
        parts = [duration, 0, 0] if ran else [int(part or 0) for part in parts]
        sums[thread] = [a + b for a, b in zip(sums.get(thread, [0, 0, 0]), parts)]
    return sums
