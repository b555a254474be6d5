# SPDX-License-Identifier: Apache-2.0
"""check_parquet.py RBWP FILE CODE OUTPUT: exports FILE and holds every value of OUTPUT against the dump."""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [here, os.path.join(os.path.dirname(here), "python")]
import export_check as x
import parquet_reader

COLUMNS = ["start", "duration_ns", "process", "track", "track_kind", "category", "name", "depth", "lane", "item", "id", "parent", "finished", "instant", "open",
           "node", "process_id", "os_thread_id", "thread_id", "proc_id", "stream", "correlation", "launch", "launch_thread_id", "launch_span", "launch_inferred",
           "start_uncertain_ns", "stop_uncertain_ns", "certain_ns", "own_category", "args"]
GROUP_ROWS = 128 << 10


def check(rbwp, path, code, output):
    want = x.expected(rbwp, path, code)
    x.export(rbwp, path, output, "-f", code=code, kind="parquet")
    file = parquet_reader.File(output)
    assert [c.name for c in file.columns] == COLUMNS
    assert [c.name for c in file.columns if c.optional] == ["parent"] + COLUMNS[16:]
    start = file.columns[0]
    assert start.logical == {8: {1: False, 2: {3: {}}}}, start.logical  # nanoseconds
    assert all(c.converted == 0 and c.logical == {1: {}} for c in file.columns if c.kind == parquet_reader.BYTE_ARRAY)
    assert [len(g["id"]) for g in file.groups[:-1]] == [GROUP_ROWS] * (len(file.groups) - 1)
    rows = {name: file.column(name) for name in COLUMNS}
    assert sorted(rows["id"]) == sorted(want), path
    for id, begin, duration, name, parent, category, finished in zip(*(rows[c] for c in ("id", "start", "duration_ns", "name", "parent", "category", "finished"))):
        assert (begin, name, parent, category) == (want[id][0], x.repaired(want[id][2]), want[id][3], want[id][4]), (path, id, want[id])
        assert finished == (want[id][1] is not None), (path, id)
        assert not finished or duration == min(want[id][1], 2**63 - 1), (path, id, duration, want[id])
    assert all(rows["process"])  # a title, or the node
    assert file.facts["process.0.file"] == path and not any(rows["instant"])
    place = {id: (begin + duration, depth) for id, begin, duration, depth in zip(*(rows[c] for c in ("id", "start", "duration_ns", "depth")))}
    for parent, begin, depth in zip(rows["parent"], rows["start"], rows["depth"]):
        assert parent not in place or begin >= place[parent][0] or depth > place[parent][1], (path, parent)
    return file


if __name__ == "__main__":
    found = check(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
    print(f"{found.rows} rows agree; {os.path.getsize(sys.argv[4]) / max(1, found.rows):.2f} bytes a span")
