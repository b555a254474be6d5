# SPDX-License-Identifier: Apache-2.0
"""How long work waited before it ran. Guards: each row is a span named after its work item, and an arrow from the thread that
handed over to the one that took up; they make nobody busier; rows without a known thread or slot do no harm."""
import json
import sqlite3

import pytest
import ranges_make
from ranges_make import T0

QUEUED = [("enqueued", 4, 1), ("begun", 4, 2), ("thread", 1, 10), ("slot", 1, 0), ("from", 1, 0)]
ROWS = [(100, 400, 7, 0, 8), (200, 1200, 7, 0, 8), (300, 300, 8, 0, 7), (350, 380, 8, 0, 0), (500, 900, 8, 1 << 40, 7)]


def made(path, rows):
    ranges_make.write(str(path), [b"x"], ("queued", QUEUED, [(T0 + a, T0 + b, *rest) for a, b, *rest in rows]))
    return path


@pytest.fixture(scope="module")
def queued(shared):
    return made(shared / "queued.bin", ROWS)


def test_each_row_is_a_span(rbwp, queued):
    spans = [json.loads(line) for line in rbwp("export", "--to", "ndjson", queued).lines]
    waits = sorted((s["start_ns"] - T0, s["duration_ns"], s["name"]) for s in spans if s["category"] == "queued")
    assert waits == [(100, 300, "slot 0"), (200, 1000, "slot 0"), (300, 0, "slot 0"), (350, 30, "slot 0")]


def test_nobody_is_busier(rbwp, queued, work):
    stats = rbwp("stats", "--json", queued).json
    without = rbwp("stats", "--json", made(work / "none.bin", [(0, 0, 7, 0, 0)])).json
    one, = (r for r in stats["queued"] if r["item"] == 0)
    assert (one["count"], one["total"], one["max"]) == (4, 1330, 1000)
    assert [t["busy"] for t in stats["threads"]] == [t["busy"] for t in without["threads"]]
    assert stats["work_items"] == without["work_items"]


def test_shown_where_asked(rbwp, queued):
    assert "Queue delay of work items" in rbwp("stats", "--by", "slot", queued).text
    assert "queued" not in rbwp("stats", "--by", "thread", "--json", queued).json


def test_links_in_sqlite(rbwp, queued, work):
    base = work / "queued.sqlite"
    if "without SQLite" in rbwp("export", "-o", base, queued, code=None).error:
        pytest.skip("this build is without SQLite")
    links = sqlite3.connect(base).execute("select kind, from_ns, to_ns from link order by 2, 3").fetchall()
    assert [(k, a - T0, b - T0) for k, a, b in links] == [("wait", 100, 400), ("wait", 200, 1200), ("wait", 300, 300)]


@pytest.mark.parametrize("form", ["chrome", "perfetto", "firefox", "csv", "kineto", "folded"])
def test_exports(rbwp, queued, work, form):
    rbwp("export", "-o", work / "out", "--to", form, queued)


def test_report(rbwp, queued, work):
    rbwp("report", "-o", work / "page.html", queued)


def test_chrome_arrows_leave_from_points(rbwp, work):
    """In Chrome JSON an arrow leaves from a point in time of its own: viewers would bind it to whatever ended before on that
    thread. Read back, all arrows that reach a call are there, and the points are not."""
    rows = [(T0 - 50, T0, 7, 0, 8), (T0 - 30, T0, 7, 0, 8)]
    path, form = work / "outside.bin", work / "outside.json"
    ranges_make.write(str(path), [b"x"], ("queued", QUEUED, rows))
    rbwp("export", "-o", form, path)
    events = json.loads(form.read_text())["traceEvents"]
    place = lambda e: (e["ts"], e["pid"], e["tid"])
    leaves, points = [place(e) for e in events if e["ph"] == "s"], [place(e) for e in events if e.get("cat") == "link"]
    assert len(leaves) == 2 and points == leaves
    again = rbwp("export", "--to", "chrome", form).json["traceEvents"]
    assert sorted(place(e) for e in again if e["ph"] == "s") == sorted(leaves) and len(again) == len(events)
