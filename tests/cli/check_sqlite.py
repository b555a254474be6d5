# SPDX-License-Identifier: Apache-2.0
"""check_sqlite.py RBWP FILE CODE OUTPUT: exports FILE and holds every row of OUTPUT against the dump."""

import os
import sqlite3
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import export_check as x

TABLES = {"detail", "arg", "counter", "table_column", "process", "track", "category", "name", "span", "link", "loss", "fact"}
VIEWS = {"span_view", "summary", "slot_summary", "track_busy", "thread_busy", "gpu_busy", "longest_calls", "gpu_launch", "arg_view", "counter_view"}


def union_ns(intervals):
    """How much time at least one of them takes."""
    total, reached = 0, None
    for start, stop in sorted(intervals):
        total += max(0, stop - (start if reached is None else max(start, reached)))
        reached = stop if reached is None else max(stop, reached)
    return total


def check_views(db, path):
    spans = db.execute("SELECT track, category, item, name, start_ns, duration_ns, id FROM span").fetchall()
    origin = int(db.execute("SELECT value FROM fact WHERE key = 'origin_ns'").fetchone()[0])
    fits = all(0 <= s[4] - origin < 2**62 and s[5] < 2**62 for s in spans)
    for view in VIEWS:
        if fits or view in ("gpu_launch", "longest_calls", "span_view"):
            db.execute(f"SELECT * FROM {view}").fetchall()
    if not fits:  # sums of times at the ends of what 64 bits hold are no numbers of 64 bits
        return
    assert db.execute("SELECT count(*), coalesce(sum(duration_ns), 0), min(start_ns) FROM span_view").fetchone() == (
        len(spans), sum(s[5] for s in spans), min((s[4] for s in spans), default=None)), path
    groups = {}
    for _, category, item, name, _, duration, _ in spans:
        groups.setdefault((category, item, name), []).append(duration)
    assert sorted(db.execute("SELECT calls, total_ns, min_ns, max_ns FROM summary")) == sorted(
        (len(d), sum(d), min(d), max(d)) for d in groups.values()), path
    busy = dict(db.execute("SELECT process || '/' || track, busy_ns FROM track_busy"))
    tracks = {}
    for track, _, _, _, start, duration, _ in spans:
        tracks.setdefault(track, []).append((start, start + duration))
    named = dict(db.execute("SELECT track.id, process.name || '/' || track.name FROM track JOIN process ON process.id = track.process"))
    if len(set(named.values())) == len(named):
        assert busy == {named[t]: union_ns(i) for t, i in tracks.items()}, path
    longest = [row[0] for row in db.execute("SELECT duration_ns FROM longest_calls")]
    calls = sorted((s[5] for s in spans if s[1] == 0), reverse=True)
    assert longest == calls[:100], path


def check(rbwp, path, code, output):
    want = x.expected(rbwp, path, code)
    x.export(rbwp, path, output, "-f", code=code, kind="sqlite")
    folder, name = os.path.split(output)
    assert [n for n in os.listdir(folder or ".") if n.startswith(name)] == [name], "something is left beside it"
    db = sqlite3.connect(output)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert db.execute("PRAGMA foreign_key_check").fetchall() == [] or code == 3, path
    assert {n for n, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")} == TABLES
    assert {n for n, in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")} == VIEWS
    rows = db.execute("SELECT span.id, start_ns, duration_ns, name.name, parent, category.name, finished, instant FROM span"
                      " LEFT JOIN name ON name.id = span.name LEFT JOIN category ON category.id = span.category").fetchall()
    assert sorted(r[0] for r in rows) == sorted(want), path
    for id, begin, duration, name, parent, category, finished, instant in rows:
        span = want[id]
        assert (begin, name, parent, category) == (span[0], x.repaired(span[2]).replace("\0", "\ufffd"), span[3], span[4]), (path, id, span)
        assert finished == (span[1] is not None) and not instant, (path, id)
        assert not finished or duration == min(span[1], 2**63 - 1), (path, id)
    facts = dict(db.execute("SELECT key, value FROM fact"))
    assert facts["process.0.file"] == path
    check_views(db, path)
    return db


if __name__ == "__main__":
    found = check(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
    print(found.execute("SELECT count(*) FROM span").fetchone()[0], "rows agree")
