# SPDX-License-Identifier: Apache-2.0
"""What still ran when the data ended has run until the last sign of life (the session's stop; the
last record of a whole file without trailer), counts as busy, is marked open in every view and
export, and comes first. Nothing is taken to have run on whose end may be missing: its thread
ended or lost records, the file was damaged there or not finalised."""
import csv
import json
import sqlite3

import parquet_reader
import pytest
import rbwp_make as m
from perfetto_decode import Trace
from report_page import Page

T = 10**18
MS = 10**6
ITEMS, SUBS = [(1, b"hang"), (2, b"quick")], [(3, 1, b"wait")]
HUNG = [(T, "cb", 2), (T + MS, "ce"), (T + 2 * MS, "cb", 1), (T + 3 * MS, "fb", 3)]
OTHER = [(T + 10 * MS, "cb", 2), (T + 11 * MS, "ce")]
BLOCKS = [m.block(7, 0, HUNG), m.block(8, 0, OTHER)]
WHOLE = m.file(BLOCKS, ITEMS, SUBS, zero_time=T)
THREADS = m.table_section(b"THRD", [m.thread_entry(7, 4, 4711, T, name=b"bio"), m.thread_entry(8, 2, 4712, T, name=b"main")], b"biomain")
INFO = m.info(start=T, stop=T + 7002 * MS)
FINE, CALL = ("fine", T + 3 * MS), ("coarse", T + 2 * MS)
BAD = bytearray(m.block(8, 0, OTHER))
BAD[32 + 8] = 0x55


@pytest.fixture
def opened(rbwp, work):
    """The spans that are open in a file with these bytes."""

    def found(data, code=0):
        (work / "made").write_bytes(data)
        spans = rbwp("dump", "--spans", work / "made", code=code).json
        assert all((s["end"], s["duration"], s["finished"]) == (None, None, False) for s in spans if s.get("open"))
        return [(s["kind"], s["begin"], s["open_until"]) for s in spans if s.get("open")]

    return found


@pytest.fixture(scope="module")
def stopped(shared):
    (shared / "stopped").write_bytes(m.with_trailer(WHOLE, INFO, THREADS))
    return shared / "stopped"


def test_until_the_stop(rbwp, opened, stopped):
    """Without a trailer until the last record of any thread."""
    assert opened(stopped.read_bytes()) == [(*FINE, T + 7002 * MS), (*CALL, T + 7002 * MS)]
    rbwp("dump", "--spans", stopped).says("2 spans were still open when it ended")
    assert opened(WHOLE) == [(*FINE, T + 11 * MS), (*CALL, T + 11 * MS)]
    assert opened(m.with_trailer(WHOLE, m.info(start=T, stop=T + 1), THREADS)) == [(*FINE, FINE[1]), (*CALL, CALL[1])]


def test_thread_that_ended(opened):
    ended = m.table_section(b"THRD", [m.thread_entry(7, 4, 4711, T, T + 5 * MS)])
    assert opened(m.with_trailer(WHOLE, INFO, ended)) == []
    again = m.table_section(b"THRD", [m.thread_entry(7, 2, 1, T, T + MS), m.thread_entry(7, 2, 2, T + MS)])
    assert len(opened(m.with_trailer(WHOLE, INFO, again))) == 2


@pytest.mark.parametrize("thread, cause, last, count", [
    (7, 1, T + 4 * MS, 0), (0, 3, T + 4 * MS, 0), (7, 3, 0, 0), (8, 1, T + 4 * MS, 2), (7, 1, T + 2 * MS - 1, 2), (7, 1, T + 2 * MS, 1), (7, 6, T + 4 * MS, 2)])
def test_losses(opened, thread, cause, last, count):
    losses = m.table_section(b"LOSS", [m.loss_entry(thread, 1, cause, last, last)])
    assert len(opened(m.with_trailer(WHOLE, INFO, THREADS, losses))) == count


def test_not_finalised(opened):
    assert opened(m.file(BLOCKS, zero_time=T, finalised=False)) == []


def test_damage(opened):
    for place in ([m.block(7, 0, HUNG), bytes(BAD)], [m.block(7, 0, HUNG), bytes(BAD), m.block(9, 0, OTHER)]):
        assert opened(m.with_trailer(m.file(place, ITEMS, SUBS, zero_time=T), INFO), code=3) == []
    before = m.file([bytes(BAD), m.block(7, 0, HUNG)], ITEMS, SUBS, zero_time=T)
    assert len(opened(m.with_trailer(before, INFO), code=3)) == 2


def test_first_in_stats(rbwp, stopped):
    """And in its sums."""
    text = rbwp("stats", stopped).lines
    assert text[0] == "hung for 7.000 s in  hang  on  bio  since +0.002000000s"
    assert text[1] == "hung for 6.999 s in  wait  on  bio  since +0.003000000s"
    stats = rbwp("stats", "--json", stopped).json
    assert [(o["name"], o["category"], o["start"], o["duration"], o["thread"]) for o in stats["open"]] == [
        ("hang", "bgwork", T + 2 * MS, 7000 * MS, "bio"), ("wait", "xfer", T + 3 * MS, 6999 * MS, "bio")]
    row = next(w for w in stats["work_items"] if w["name"] == "hang")
    assert (row["count"], row["open"], row["open_time"], row["total"], row["self"], row["mean"]) == (0, 1, 7000 * MS, 7000 * MS, MS, 0)
    assert next(t for t in stats["threads"] if t["name"] == "bio")["busy"] == 7001 * MS
    assert [c["name"] for c in stats["longest"]] == ["quick", "quick"]


def test_page(rbwp, stopped, work):
    """The first alerts, and marked on its timeline."""
    rbwp("report", stopped, "-o", work / "open.html")
    page = Page(work / "open.html")
    named = [(page.data["tracks"][o["track"]]["name"], page.data["kinds"][o["row"]]["name"], o["start"], o["duration"], o["hung"]) for o in page.data["open"]]
    assert named == [("bio", "hang", 2 * MS, 7000 * MS, 1), ("bio", "wait", 3 * MS, 6999 * MS, 1)] and page.data["open_spans"] == 2
    assert sorted((flags, stop - start) for _, _, flags, start, stop in page.spans() if flags) == [(3, 6999 * MS), (3, 7000 * MS)]


def test_short_ones(rbwp, work):
    """Stopped while at work is no news: short ones are counted, not listed."""
    (work / "short").write_bytes(m.with_trailer(WHOLE, m.info(start=T, stop=T + 2 * MS + 5000), THREADS))
    text = rbwp("stats", work / "short").text
    assert text.startswith("2 spans were still open when it ended\n") and "hung" not in text


def test_not_hung_as_long_as_others(rbwp, work):
    """Those of its kind."""
    usual = m.file([m.block(7, 0, [(T, "cb", 1), (T + 10 * MS, "ce"), (T + 10 * MS, "cb", 1)])], ITEMS, SUBS, zero_time=T)
    (work / "usual").write_bytes(m.with_trailer(usual, m.info(start=T, stop=T + 12 * MS)))
    assert rbwp("stats", work / "usual").text.startswith("still open for 2.000 ms in  hang")


def test_timeline(rbwp, stopped):
    bio = next(line for line in rbwp("timeline", "--ascii", "--width", "98", stopped).lines if line.startswith("bio"))
    assert bio.count("@") == 70


def test_chrome(rbwp, stopped):
    event = [e for e in rbwp("export", "--to", "chrome", stopped).json["traceEvents"] if e["ph"] == "X" and e["name"] == "hang"]
    assert [(e["args"], round(float(e["dur"]), 3)) for e in event] == [({"unfinished": True, "open": True, "slot": 1}, 7000000.0)], event


def test_text_exports(rbwp, stopped):
    rows = list(csv.DictReader(rbwp("export", "--to", "csv", stopped).lines))
    assert [(r["name"], r["duration_ns"]) for r in rows if r["open"] == "1"] == [("hang", str(7000 * MS)), ("wait", str(6999 * MS))]
    lines = map(json.loads, rbwp("export", "--to", "ndjson", stopped).lines)
    assert [o["name"] for o in lines if o["open"] is True] == ["hang", "wait"]
    assert b"hang 1000000\n" in rbwp("export", "--to", "folded", stopped).out


def test_perfetto(rbwp, stopped):
    slices = Trace(rbwp("export", "--to", "perfetto", stopped).out).slices
    assert sorted(s.name for s in slices if s.args.get("open")) == ["hang", "wait"]


def test_parquet(rbwp, stopped, work):
    rbwp("export", "-o", work / "open.parquet", stopped)
    assert sum(parquet_reader.File(f"{work}/open.parquet").column("open")) == 2


def test_sqlite(rbwp, stopped, work):
    done = rbwp("export", "-o", work / "open.db", stopped, code=None)
    if "built without SQLite" in done.error:
        pytest.skip("this build is without SQLite")
    db = sqlite3.connect(work / "open.db")
    assert db.execute("SELECT name, duration_ns FROM span_view WHERE open ORDER BY start_ns").fetchall() == [("hang", 7000 * MS), ("wait", 6999 * MS)]
