# SPDX-License-Identifier: Apache-2.0
# What the file tells of launches is shown, wherever it stands in the file: each GPU span leads back to the thread and
# time of its launch and to the call around it, with bounds, and ends without the bias of its GPU (unless --raw-times).
# Rows of gpu_activity are the records' work, counted once; a row without a record is work, too.
. "$(dirname "$0")/lib.sh"

"$MAKE_MODEL" "$work/gpux.bin" gpux && "$MAKE_MODEL" "$work/rows.bin" rows || fail "make_model"
"$RBWP" info "$work/rows.bin" | grep -q '^GPU .*busy .* ns (spread' || fail "rbwp info does not tell of the GPU"

"$PYTHON" - "$RBWP" "$work" "$here" <<'P' || fail "model"
import json, math, os, sqlite3, subprocess, sys

rbwp, work, here = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here, here + "/../python"]
import parquet_reader
from report_page import Page
T = 1700000000000000000
WORKS = 72


def run(*args):
    done = subprocess.run([rbwp, *args], capture_output=True)
    assert done.returncode == 0, (args, done.returncode, done.stderr)
    return done.stdout


def check_links(path, works, others):
    events = json.loads(run("export", "--to", "chrome", path))["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts.keys() == ends.keys()
    flows = [(starts[key]["ts"], end["ts"]) for key, end in ends.items() if 5 <= end["ts"] < 5.1]
    assert sorted(flows) == others, flows
    ends = {key: end for key, end in ends.items() if not 5 <= end["ts"] < 5.1}
    assert len(ends) == works, len(ends)
    right = 0
    for key, end in ends.items():
        number = round(end["ts"] - 0.6)
        start = starts[key]
        right += names[start["tid"]] == "thread 0x%x" % (200 if number % 2 else 100) and \
            round(start["ts"] * 1000) == 1000 * number + 50
    assert right == works, f"{right} of {works} launches are right"


def check_times(path, works):
    for more, length in ([], 300), (["--raw-times"], 400):
        rows = [json.loads(line) for line in run("export", "--to", "ndjson", *more, path).splitlines()]
        gpu = sorted((row for row in rows if row["category"] == "gpu"), key=lambda row: row["start_ns"])
        assert [row["start_ns"] for row in gpu] == [T + 1000 * i + 600 for i in range(works)]
        assert {row["duration_ns"] for row in gpu} == {length}, more
        assert len({row["id"] for row in rows}) == len(rows)
        yield [row["name"] for row in gpu]


def check_database(path):
    """Tables whose schema says not how to show them are tables of a database; names that SQLite has for the same are told apart."""
    done = subprocess.run([rbwp, "export", "-o", f"{work}/rows.sqlite", path], capture_output=True, text=True)
    if "without SQLite" in done.stderr:
        return
    assert done.returncode == 0 and "sqlite: dropped" not in done.stderr, done
    db = sqlite3.connect(f"{work}/rows.sqlite")
    assert db.execute("SELECT * FROM rows_setting ORDER BY row").fetchall() == [(0, 1, "limit", 0, T, b"a,b"), (0, 2, "limit", -1, T, b"a,b")]
    assert db.execute('SELECT * FROM "rows_Setting_2" ORDER BY row').fetchall() == [(0, 1, 2.0**64, "NaN", None, None, 5), (0, 2, 1, 0.5, "limit", 1, 6)]
    assert db.execute("SELECT table_name, sql_table, column_name, sql_column, type, role, unit FROM table_column ORDER BY rowid").fetchall()[4:] == [
        ("Setting", "rows_Setting_2", *c, None, None)
        for c in (("row", "row_2", "u64"), ("", "_2", "f64"), ('a"b', 'a"b', "name"), ('A"B', 'A"B_2', "row"), ("_2", "_2_2", "duration"))]
    db.close()


def check_parquet(path):
    """Each is a Parquet file beside that of spans; through a pipe they are counted."""
    done = subprocess.run([rbwp, "export", "-o", f"{work}/rows.parquet", path], capture_output=True, text=True)
    assert done.returncode == 0 and "row" not in done.stderr, done
    settings, odd = (parquet_reader.File(f"{work}/rows.{name}.parquet") for name in ("setting", "Setting"))
    rows = lambda file: list(zip(*(file.column(c.name) for c in file.columns)))
    assert [c.name for c in settings.columns] == ["process", "row", "name", "value", "since", "text"]
    assert rows(settings) == [("node 0", 1, "limit", 0, T, b"a,b"), ("node 0", 2, "limit", -1, T, b"a,b")], rows(settings)
    assert [c.name for c in odd.columns] == ["process", "row", "row_2", "_2", 'a"b', 'A"B_2', "_2_2"]
    assert str(rows(odd)) == str([("node 0", 1, 2**64 - 1, math.nan, None, None, 5), ("node 0", 2, 1, 0.5, "limit", 1, 6)]), rows(odd)
    done = subprocess.run([rbwp, "export", "--to", "parquet", "-o", "-", path], capture_output=True)
    assert done.returncode == 0 and b"parquet: dropped 3 links, 80 values of counters, 4 rows of tables" in done.stderr, done.stderr
    done = subprocess.run([rbwp, "export", "-o", f"{work}/rows.parquet", path], capture_output=True, text=True)
    filtered = subprocess.run([rbwp, "export", "-f", "-o", f"{work}/few.sqlite", "--thread", "100", path], capture_output=True)
    assert b"without SQLite" in filtered.stderr or b"sqlite: dropped 4 rows of tables that filters know nothing of" in filtered.stderr, filtered
    os.unlink(f"{work}/rows.parquet")
    again = subprocess.run([rbwp, "export", "-o", f"{work}/rows.parquet", path], capture_output=True, text=True)
    assert (done.returncode, again.returncode) == (1, 3) and "rows.setting.parquet" in again.stderr and "4 rows of tables" in again.stderr, again


def check_timeline(path):
    """A counter is a line of its own, as high as its value then; behind it stands the greatest."""
    shown = run("timeline", "--ascii", "--width", "100", path).decode().splitlines()
    bars, top = next(line for line in shown if line.startswith("queue_depth in load"))[20:].rsplit(None, 1)
    # 0, 0.5 ... 9.5 in 3.8 us of 73: it climbs from the foot to the top, and stays there.
    steps = [" .:-=+*#@".index(c) for c in bars]
    assert top == "9.5" and steps == sorted(steps) and 0 < steps[0] < 8 and steps[-1] == 8, (bars, top)


def check_spans(path):
    spans = [json.loads(line) for line in run("dump", "--spans", "--ndjson", path).splitlines()]
    calls = {span["id"]: span for span in spans if span["kind"] == "coarse"}
    works = [span for span in spans if span["kind"] == "gpu"]
    assert len(works) == WORKS and len(calls) == 2 * WORKS
    for i, span in enumerate(works):
        assert (span["launch"], span["launched"]) == (T + 1000 * i + 50, T + 1000 * i + 90), span
        call = calls[span["launch_id"]]
        assert call["thread_id"] == span["launch_thread_id"] == (200 if i % 2 else 100), (i, span, call)
        assert call["begin"] == T + 1000 * i
        assert (span["start_bound"], span["stop_bound"], span["duration_least"], span["duration_most"]) == \
            (30, 20, 350, 450), span


def check_tables(path):
    rows = [json.loads(line) for line in run("export", "--to", "ndjson", path).splitlines()]
    rows = sorted((row for row in rows if row["category"] == "range"), key=lambda row: row["id"])
    assert [(row["track"], row["track_kind"], row["name"], row["start_ns"] - T, row["duration_ns"]) for row in rows] == \
        [("note", "table", "copying", 500 + 200 * i, 1000) for i in range(3)] + \
        [("mark", "table", "arrived", 5000 + i, 0) for i in range(4)], rows
    rows = run("export", "--to", "csv", "--from", str(T + 1600), "--until", str(T + 5000), path)
    assert rows.count(b",range,") == 2, rows  # what reaches into the window


def check_stats(path):
    told = json.loads(run("stats", "--json", path))
    gpu, = told["gpus"]
    assert gpu["launch_latency"]["count"] == gpu["with_bounds"] == WORKS + 1
    assert gpu["launch_latency"]["min"] == gpu["launch_latency"]["max"] == 550
    assert (gpu["busy"], gpu["certain_busy"]) == (300 * (WORKS + 1), 250 * (WORKS + 1))
    counters = {counter["name"]: counter for counter in told["counters"]}
    assert len(counters) == 4 and told["samples"] == 80 and told["table_rows"] == 4
    backwards = counters["queue_depth out depth"]
    assert [backwards[key] for key in ("unit", "samples", "min", "max", "last")] == ["items", 20, 1, 39, 1], backwards
    assert [counters["queue_depth in load"][key] for key in ("mean", "max")] == [4.5, 9.5]
    assert [(row["name"], row["count"]) for row in told["ranges"]] == [("copying", 3), ("arrived", 4)]
    for first, links in ((50, 76), (51, 75)):  # a launch at the first moment is in the window
        assert json.loads(run("stats", "--json", "--from", str(T + first), path))["links"] == links, first
    text = run("stats", path).decode()
    assert "GPU launches" in text and "Counters" in text and "Ranges" in text, text


def check_page(path):
    run("report", "-f", "-o", work + "/page.html", path)
    page = Page(work + "/page.html")
    assert list(page.bounds()) == [(30, 20)] * (WORKS + 1)
    gpu, = (track for track in page.data["tracks"] if track["kind"] == "gpu")
    assert [gpu["launch_latency"]["count"], gpu["launch_latency"]["mean"], gpu["with_bounds"], gpu["certain_busy"]] == \
        [WORKS + 1, 550, WORKS + 1, 250 * (WORKS + 1)], gpu
    counters = {track["name"]: track for track in page.data["tracks"] if track["kind"] == "counter"}
    assert [counters["queue_depth in load"]["counter"][key] for key in ("samples", "min", "mean", "max")] == \
        [20, "0", "4.5", "9.5"], counters
    # Its line has each of them: least, mean, greatest and last value of each cell with samples.
    line = counters["queue_depth in load"]["line"]
    cells = line["cells"]
    # Values 0, 0.5 ... 9.5 each 200 ns: no cell has samples more than its length apart.
    assert [c[0] for c in cells] == sorted({i * 200 // line["width"] for i in range(20)}) and line["width"] * 512 > 3800 >= line["width"] * 256, line
    for place, *values in cells:
        held = [i / 2 for i in range(20) if i * 200 // line["width"] == place]
        assert values == [min(held), sum(held) / len(held), max(held), held[-1]], (place, values)


check_links(work + "/gpux.bin", WORKS, [])
check_links(work + "/rows.bin", WORKS + 1, [(0.5, 5.0), (0.7, 5.001), (0.9, 5.002)])
assert list(check_times(work + "/gpux.bin", WORKS)) == [["slot 1"] * WORKS] * 2
assert list(check_times(work + "/rows.bin", WORKS + 1)) == [["even kernel", "odd kernel"] * 36 + ["even kernel"]] * 2
check_spans(work + "/gpux.bin")
check_spans(work + "/rows.bin")
check_tables(work + "/rows.bin")
check_database(work + "/rows.bin")
check_parquet(work + "/rows.bin")
check_timeline(work + "/rows.bin")
check_stats(work + "/rows.bin")
check_page(work + "/rows.bin")
P
finish
