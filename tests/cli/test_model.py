# SPDX-License-Identifier: Apache-2.0
"""What the file says of launches is shown, wherever it stands in the file: each GPU span leads back to the thread and
time of its launch and to the call around it, with bounds, and ends without the bias of its GPU (unless --raw-times).
Rows of gpu_activity are the records' work, counted once; a row without a record is work, too."""
import json
import math
import sqlite3

import parquet_reader
import pytest
from report_page import Page

T = 1700000000000000000
WORKS = 72


@pytest.fixture(scope="module")
def gpux(run, program, shared):
    run(program("MAKE_MODEL"), shared / "gpux.bin", "gpux")
    return shared / "gpux.bin"


@pytest.fixture(scope="module")
def rows(run, program, shared):
    run(program("MAKE_MODEL"), shared / "rows.bin", "rows")
    return shared / "rows.bin"


@pytest.fixture(params=["gpux", "rows"])
def path(request):
    return request.getfixturevalue(request.param)


def rows_of(done):
    return [json.loads(line) for line in done.lines]


def test_info(rbwp, rows):
    assert any(line.startswith("GPU ") and " ns (spread" in line.partition("busy ")[2] for line in rbwp("info", rows).lines)


@pytest.mark.parametrize("name, works, others", [("gpux", WORKS, []), ("rows", WORKS + 1, [(0.5, 5.0), (0.7, 5.001), (0.9, 5.002)])])
def test_links(rbwp, request, name, works, others):
    events = rbwp("export", "--to", "chrome", request.getfixturevalue(name)).json["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts.keys() == ends.keys()
    flows = [(starts[key]["ts"], end["ts"]) for key, end in ends.items() if 5 <= end["ts"] < 5.1]
    assert sorted(flows) == others
    ends = {key: end for key, end in ends.items() if not 5 <= end["ts"] < 5.1}
    assert len(ends) == works
    right = 0
    for key, end in ends.items():
        number = round(end["ts"] - 0.6)
        start = starts[key]
        right += names[start["tid"]] == "thread 0x%x" % (200 if number % 2 else 100) and \
            round(start["ts"] * 1000) == 1000 * number + 50
    assert right == works, f"{right} of {works} launches are right"


@pytest.mark.parametrize("name, works, names", [("gpux", WORKS, ["slot 1"] * WORKS), ("rows", WORKS + 1, ["even kernel", "odd kernel"] * 36 + ["even kernel"])])
@pytest.mark.parametrize("more, length", [([], 300), (["--raw-times"], 400)])
def test_times(rbwp, request, name, works, names, more, length):
    spans = rows_of(rbwp("export", "--to", "ndjson", *more, request.getfixturevalue(name)))
    gpu = sorted((row for row in spans if row["category"] == "gpu"), key=lambda row: row["start_ns"])
    assert [row["start_ns"] for row in gpu] == [T + 1000 * i + 600 for i in range(works)]
    assert {row["duration_ns"] for row in gpu} == {length}
    assert len({row["id"] for row in spans}) == len(spans)
    assert [row["name"] for row in gpu] == names


def test_tables_in_a_database(rbwp, rows, work):
    """Tables whose schema says not how to show them are tables of a database; names that SQLite takes for the same stay apart."""
    done = rbwp("export", "-o", work / "rows.sqlite", rows, code=None)
    if "without SQLite" in done.error:
        pytest.skip("this build is without SQLite")
    assert done.code == 0 and "sqlite: dropped" not in done.error
    db = sqlite3.connect(work / "rows.sqlite")
    assert db.execute("SELECT * FROM rows_setting ORDER BY row").fetchall() == [(0, 1, "limit", 0, T, b"a,b"), (0, 2, "limit", -1, T, b"a,b")]
    assert db.execute('SELECT * FROM "rows_Setting_2" ORDER BY row').fetchall() == [(0, 1, 2.0**64, "NaN", None, None, 5), (0, 2, 1, 0.5, "limit", 1, 6)]
    assert db.execute("SELECT table_name, sql_table, column_name, sql_column, type, role, unit FROM table_column ORDER BY rowid").fetchall()[4:] == [
        ("Setting", "rows_Setting_2", *c, None, None)
        for c in (("row", "row_2", "u64"), ("", "_2", "f64"), ('a"b', 'a"b', "name"), ('A"B', 'A"B_2', "row"), ("_2", "_2_2", "duration"))]
    db.close()
    rbwp("export", "-o", work / "few.sqlite", "--thread", "100", rows).says("sqlite: dropped 4 rows of tables that filters know nothing of")


def test_tables_as_parquet(rbwp, rows, work):
    """Each is a Parquet file beside that of spans; through a pipe they are counted."""
    out = work / "rows.parquet"
    assert "row" not in rbwp("export", "-o", out, rows).error
    settings, odd = (parquet_reader.File(f"{work}/rows.{name}.parquet") for name in ("setting", "Setting"))
    cells = lambda file: list(zip(*(file.column(c.name) for c in file.columns)))
    assert [c.name for c in settings.columns] == ["process", "row", "name", "value", "since", "text"]
    assert cells(settings) == [("node 0", 1, "limit", 0, T, b"a,b"), ("node 0", 2, "limit", -1, T, b"a,b")]
    assert [c.name for c in odd.columns] == ["process", "row", "row_2", "_2", 'a"b', 'A"B_2', "_2_2"]
    assert str(cells(odd)) == str([("node 0", 1, 2**64 - 1, math.nan, None, None, 5), ("node 0", 2, 1, 0.5, "limit", 1, 6)])
    rbwp("export", "--to", "parquet", "-o", "-", rows).says("parquet: dropped 3 links, 80 values of counters, 4 rows of tables")
    rbwp("export", "-o", out, rows, code=1)
    out.unlink()
    rbwp("export", "-o", out, rows, code=3).says("rows.setting.parquet", "4 rows of tables")


def test_timeline(rbwp, rows):
    """A counter is a line of its own, as high as its value then; behind it stands the greatest."""
    shown = rbwp("timeline", "--ascii", "--width", "100", rows).lines
    bars, top = next(line for line in shown if line.startswith("queue_depth in load"))[20:].rsplit(None, 1)
    # 0, 0.5 ... 9.5 in 3.8 us of 73: it climbs from the foot to the top, and stays there.
    steps = [" .:-=+*#@".index(c) for c in bars]
    assert top == "9.5" and steps == sorted(steps) and 0 < steps[0] < 8 and steps[-1] == 8, (bars, top)


def test_spans(rbwp, path):
    spans = rows_of(rbwp("dump", "--spans", "--ndjson", path))
    calls = {span["id"]: span for span in spans if span["kind"] == "coarse"}
    works = [span for span in spans if span["kind"] == "gpu"]
    assert len(works) == WORKS and len(calls) == 2 * WORKS
    for i, span in enumerate(works):
        assert (span["launch"], span["launched"]) == (T + 1000 * i + 50, T + 1000 * i + 90)
        call = calls[span["launch_id"]]
        assert call["thread_id"] == span["launch_thread_id"] == (200 if i % 2 else 100)
        assert call["begin"] == T + 1000 * i
        assert (span["start_bound"], span["stop_bound"], span["duration_least"], span["duration_most"]) == \
            (30, 20, 350, 450)


def test_tables(rbwp, rows):
    ranges = sorted((row for row in rows_of(rbwp("export", "--to", "ndjson", rows)) if row["category"] == "range"), key=lambda row: row["id"])
    assert [(row["track"], row["track_kind"], row["name"], row["start_ns"] - T, row["duration_ns"]) for row in ranges] == \
        [("note", "table", "copying", 500 + 200 * i, 1000) for i in range(3)] + \
        [("mark", "table", "arrived", 5000 + i, 0) for i in range(4)]
    window = rbwp("export", "--to", "csv", "--from", str(T + 1600), "--until", str(T + 5000), rows).out
    assert window.count(b",range,") == 2  # what reaches into the window


def test_stats(rbwp, rows):
    stats = rbwp("stats", "--json", rows).json
    gpu, = stats["gpus"]
    assert gpu["launch_latency"]["count"] == gpu["with_bounds"] == WORKS + 1
    assert gpu["launch_latency"]["min"] == gpu["launch_latency"]["max"] == 550
    assert (gpu["busy"], gpu["certain_busy"]) == (300 * (WORKS + 1), 250 * (WORKS + 1))
    counters = {counter["name"]: counter for counter in stats["counters"]}
    assert len(counters) == 4 and stats["samples"] == 80 and stats["table_rows"] == 4
    backwards = counters["queue_depth out depth"]
    assert [backwards[key] for key in ("unit", "samples", "min", "max", "last")] == ["items", 20, 1, 39, 1], backwards
    assert [counters["queue_depth in load"][key] for key in ("mean", "max")] == [4.5, 9.5]
    assert [(row["name"], row["count"]) for row in stats["ranges"]] == [("copying", 3), ("arrived", 4)]
    for first, links in ((50, 76), (51, 75)):  # a launch at the first moment is in the window
        assert rbwp("stats", "--json", "--from", str(T + first), rows).json["links"] == links
    text = rbwp("stats", rows).text
    assert "GPU launches" in text and "Counters" in text and "Ranges" in text


def test_page(rbwp, rows, work):
    rbwp("report", "-o", work / "page.html", rows)
    page = Page(work / "page.html")
    assert list(page.bounds()) == [(30, 20)] * (WORKS + 1)
    gpu, = (track for track in page.data["tracks"] if track["kind"] == "gpu")
    assert [gpu["launch_latency"]["count"], gpu["launch_latency"]["mean"], gpu["with_bounds"], gpu["certain_busy"]] == \
        [WORKS + 1, 550, WORKS + 1, 250 * (WORKS + 1)]
    counters = {track["name"]: track for track in page.data["tracks"] if track["kind"] == "counter"}
    assert [counters["queue_depth in load"]["counter"][key] for key in ("samples", "min", "mean", "max")] == \
        [20, "0", "4.5", "9.5"], counters
    # Its line has each of them: least, mean, greatest and last value of each cell with samples.
    line = counters["queue_depth in load"]["line"]
    cells = line["cells"]
    # Values 0, 0.5 ... 9.5 each 200 ns: no cell has samples more than its length apart.
    assert [c[0] for c in cells] == sorted({i * 200 // line["width"] for i in range(20)}) and line["width"] * 512 > 3800 >= line["width"] * 256
    for place, *values in cells:
        held = [i / 2 for i in range(20) if i * 200 // line["width"] == place]
        assert values == [min(held), sum(held) / len(held), max(held), held[-1]], (place, values)
