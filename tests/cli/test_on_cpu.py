# SPDX-License-Identifier: Apache-2.0
"""Whether calls ran. Guards: a call's time on a CPU, ready to run and blocked, and what is not known, add up to its duration in
every view; who sleeps is not busy; who is idle all the time does not fill the findings, and who has ended does not hang; a file
that knows nothing of it looks as if there were no such thing."""
import csv
import io
import json
import sqlite3

import on_cpu_make as made
import parquet_reader
import pytest
from perfetto_decode import Trace
from report_page import Page

MS = made.MS
PARTS = ("running", "runnable", "waiting", "not_known")


@pytest.fixture(scope="module")
def known(shared):
    (shared / "known.bin").write_bytes(made.WHOLE)
    return shared / "known.bin"


@pytest.fixture(scope="module")
def unknown(shared):
    (shared / "unknown.bin").write_bytes(made.file(made.CALLS))
    return shared / "unknown.bin"


def ms(row, *keys):
    return tuple(row[key] / MS for key in keys)


def test_work_items(rbwp, known):
    serve, idle = sorted(rbwp("stats", "--json", known).json["work_items"], key=lambda row: row["item"])
    assert ms(serve, *PARTS) == (40 + 6 + 5, 1, 3, 15 + 30)
    assert ms(idle, *PARTS) == (0.03, 0.5, 99.99 + 79.48, 0)
    for row in (serve, idle):
        assert sum(row[part] for part in PARTS) == row["total"]


def test_threads(rbwp, known):
    stats = rbwp("stats", "--json", known).json
    t1, t2, t3, t4 = sorted(stats["threads"], key=lambda row: row["id"])
    assert ms(t1, "busy", "running", "not_known", "runnable", "waiting") == (66, 51, 15, 1, 3)
    assert ms(t2, "busy", "runnable", "waiting", "idle") == (0.01, 0, 99.99, 0)
    assert ms(t3, "busy", "runnable", "waiting", "idle") == (0.02, 0.5, 79.48, 20)
    assert ms(t4, "busy", "running", "not_known") == (30, 0, 30)
    for row in (t1, t2, t3, t4):
        assert row["busy"] + row["waiting"] + row["runnable"] + row["idle"] == stats["extent"]
    assert stats["worker_busy"] == sum(row["busy"] for row in stats["threads"])


def threads_of(rbwp, file, *options):
    return sorted(rbwp("stats", "--json", *options, file).json["threads"], key=lambda row: row["id"])


def test_threads_that_ran_outside_of_calls(rbwp, work):
    """A thread ran for as long as its own clock says, and before and behind that what its calls did; never longer than the run. In a
    window, or with a filter, calls alone count, as in files of version 1, whose views have no such column."""
    file = work / "summed"
    file.write_bytes(made.file(CALLS := [*made.CALLS, (1, 1, 90, 4)], made.SPLIT, made.KNOWN, sums=[(1, 80, 85, 4), (1, 40, 80, 33), (2, 0, 100, 20), (3, 0, 100, 1000)]))
    t1, t2, t3, t4 = threads_of(rbwp, file)
    assert ms(t1, "busy", "running", "running_outside", "not_known") == (70, 40 + 33 + 4 + 4, 26, 15)
    assert ms(t2, "running", "running_outside", "waiting") == (20, 19.99, 99.99)
    assert t3["running"] == rbwp("stats", "--json", file).json["extent"]  # what cannot be
    assert ms(t4, "running", "running_outside", "not_known") == (0, 0, 30)
    (work / "before").write_bytes(made.file(CALLS, made.SPLIT, made.KNOWN))
    before = threads_of(rbwp, work / "before")
    assert [ms(row, "running") for row in before] == [(55,), (0.01,), (0.02,), (0,)] and not any("running_outside" in row for row in before)
    assert threads_of(rbwp, file, "--to", "+100ms") == threads_of(rbwp, work / "before", "--to", "+100ms")
    kept = ("--cache", work / "kept")  # sums of the file, and those that were kept
    assert [t1, t2, t3, t4] == threads_of(rbwp, file, *kept) == threads_of(rbwp, file, *kept) and len(list((work / "kept").iterdir()))
    assert " running   outside  runnable " in rbwp("stats", "--by", "thread", file).text
    assert " outside " not in rbwp("stats", "--by", "thread", work / "before").text
    rbwp("report", "-o", work / "summed.html", file)
    assert ["running_outside", "outside"] in [column[:2] for column in Page(work / "summed.html").data["columns"]["tracks"]]


def test_what_rounding_leaves_is_no_wait(rbwp, work):
    """1 ns of two clocks that are rounded; 2 us are some."""
    for running, said in (19.999999, False), (19.998, True):
        (work / "rounded").write_bytes(made.file(made.CALLS[2:3], [(1, 60, 20, running, 0)], [(0, 0, 1)]))
        assert ("(waited " in rbwp("stats", "--by", "thread", work / "rounded").text) is said


def test_csv_and_text(rbwp, known):
    rows = list(csv.DictReader(io.StringIO(rbwp("stats", "--csv", "work_items", known).text)))
    assert [row["running"] for row in rows if row["name"] == "serve"] == [str(51 * MS)]
    text = rbwp("stats", "--by", "slot", "--columns", "total,running,runnable,waiting,not known", known).lines
    assert any(line.split() == ["total", "running", "runnable", "waiting", "not", "known", "name"] for line in text)
    order = [line for line in rbwp("stats", "--by", "thread", known).lines if line.lstrip()[:1].isdigit() and "  t" in line]
    assert [line.split("  t")[1][0] for line in order] == ["1", "4", "2", "3"]


def test_longest_calls(rbwp, known):
    longest = rbwp("stats", "--json", known).json["longest"][0]
    assert ms(longest, "duration", "running", "runnable", "waiting") == (100, 0.01, 0, 99.99)


def test_nothing_is_known(rbwp, unknown):
    stats = rbwp("stats", "--json", unknown)
    for word in PARTS[:2] + PARTS[3:]:
        assert f'"{word}"' not in stats.text
        assert word not in rbwp("stats", "--csv", "threads", unknown).text
    assert sum(row["busy"] for row in stats.json["threads"]) == (70 + 100 + 80 + 30) * MS


@pytest.mark.parametrize("by, verdict", [("total", "same"), ("running", "faster"), ("waiting", "slower")])
def test_diff(rbwp, work, known, by, verdict):
    """As long as before, but now they wait."""
    (work / "waits.bin").write_bytes(made.file(made.CALLS, [(t, s, n, 0, 0) for t, _, s, n in made.CALLS]))
    rows = rbwp("diff", "--json", "--min-count", "1", "--by", by, known, work / "waits.bin").json["rows"]
    assert [row["verdict"] for row in rows if row["name"] == "serve"] == [verdict]


def sides(rbwp, work, before, after, *options, code=0, runs=6):
    """What diff says of runs of two sides, of which each is (factor of the lengths, calls as (running, runnable) parts of theirs; -1: not known)."""
    for name, (factor, serve, idle) in ("before", before), ("after", after):
        calls = [(t, s, at * factor, n * factor) for t, s, at, n in made.CALLS]
        parts = [(t, at, n, *(n * part if part >= 0 else -1 for part in (idle if s == 2 else serve))) for t, s, at, n in calls if (idle if s == 2 else serve)]
        (work / name).write_bytes(made.file(calls, parts, [(0, 0, 1)] if parts else []))
    return rbwp("diff", *[word for _ in range(runs) for word in ("--before", work / "before", "--after", work / "after")], *options, code=code)


def rows_of(done):
    return {row["name"]: row for row in done.json["rows"]}


BUSY, HALF, BARE = (1, 0), (.5, .5), ()  # of a call's time: running, ready to run; nothing is known


def test_diff_by_default(rbwp, work):
    """Net, of files that say when calls ran, as text and JSON say; else mean, and why. What was asked for is no news."""
    ready = sides(rbwp, work, (1, BUSY, BUSY), (1, HALF, HALF), "--json")
    assert ready.json["by"] == "net" and {row["verdict"] for row in ready.json["rows"]} == {"faster"} and "by" not in ready.json["rows"][0]
    assert ready.json == sides(rbwp, work, (1, BUSY, BUSY), (1, HALF, HALF), "--json", "--by", "net").json
    text = sides(rbwp, work, (1, BUSY, BUSY), (1, HALF, HALF)).text
    assert " net A " in text and "By net: the mean without the time that calls were ready to run" in text and "By mean" not in text
    for before, after in ((BARE, BARE), (BARE, HALF), (HALF, BARE)):  # of one side is of none
        found = sides(rbwp, work, (1, before, before), (1, after, after), "--json", "--all").json
        assert found["by"] == "mean" and {row["verdict"] for row in found["rows"]} == {"same"} and "mean_ratio" not in found["rows"][0]
        why = "By mean, not by net: when calls ran is not known in all files (-bgworkprofile_cpu)\n"
        assert why in sides(rbwp, work, (1, before, before), (1, after, after)).text
        assert why not in sides(rbwp, work, (1, before, before), (1, after, after), "--by", "mean").text


def test_diff_of_rows_by_two_measures(rbwp, work):
    """Of a row whose time ready to run some run does not know, the mean: it is no less than net. Other rows are by net."""
    unknown = (-1, -1)
    done = sides(rbwp, work, (1, BUSY, unknown), (2, HALF, HALF), "--json", "--threshold", "5", "--junit", work / "x.xml", "--report", work / "x.html", code=4)
    rows = rows_of(done)
    assert done.json["by"] == "net" and {name: (row["by"], row["verdict"], row["ratio"]) for name, row in rows.items()} == {
        "serve": ("net", "same", 1), "idle": ("mean", "slower", 2)}
    assert set(rows["idle"]["runs"]["a"]) == {90 * MS} and set(rows["serve"]["runs"]["b"]) == {25 * MS}
    assert 'message="mean 180.000 ms, was 90.000 ms' in (work / "x.xml").read_text()
    page = Page(work / "x.html").data
    assert ["by", "by", "text"] in page["columns"]["rows"] and [row["by"] for row in page["rows"]] == [row["by"] for row in done.json["rows"]]
    text = sides(rbwp, work, (1, BUSY, unknown), (2, HALF, HALF), "--all").text
    assert "  by        of A " in text and "slower   2.000  mean  90.00 ms" in text and "By mean: 1 row of which that time is not known\n" in text


@pytest.mark.parametrize("running, by", [(.9991, "net"), (.9989, "mean")])
def test_diff_of_what_is_known_of_nearly_all(rbwp, work, running, by):
    assert rows_of(sides(rbwp, work, (1, (running, -1), BUSY), (1, BUSY, BUSY), "--json"))["serve"].get("by", "net") == by


def test_diff_of_threads_that_starve_each_other(rbwp, work):
    """What is ready to run for longer is not slower, but it is shown, as the mean has it; which judges it if that is wanted."""
    sides_of = (1, BUSY, BUSY), (2, HALF, BUSY)
    done = sides(rbwp, work, *sides_of, "--json", "--threshold", "5", "--slot", "serve")
    row, = done.json["rows"]
    assert (row["verdict"], row["ratio"], row["mean_ratio"], row["slower_by_mean"], done.json["slower"]) == ("same", 1, 2, True, 0)
    assert sides(rbwp, work, *sides_of, "--json", "--threshold", "5", "--slot", "serve", "--by", "mean", code=4).json["rows"][0]["verdict"] == "slower"
    text = sides(rbwp, work, *sides_of, "--threshold", "5", "--slot", "serve").text
    assert "1 row is slower by mean alone" in text and "same     1.000  25.00 ms  25.00 ms     0.0%     2.000 " in text
    assert not rows_of(sides(rbwp, work, (1, BUSY, BUSY), (2, BUSY, BUSY), "--json"))["idle"]["slower_by_mean"]  # by both


def test_cache(rbwp, work, known):
    first = rbwp("stats", "--json", "--cache", work, known).text
    assert rbwp("stats", "--json", "--cache", work, known).text == first and '"not_known"' in first


def test_idle_threads_are_one_finding(rbwp, known, unknown):
    findings = rbwp("stats", "--json", "--findings", known).json["findings"]
    assert not any("t2" in f["text"] or "t3" in f["text"] for f in findings)
    assert findings[-1]["text"] == "2 threads ran for less than 1 % of the run"
    assert any("t3" in f["text"] for f in rbwp("stats", "--json", "--findings", unknown).json["findings"])


def test_ended_is_not_hung(rbwp, work):
    calls = [(1, 1, 0, 40), (2, 2, 0, 0)]
    for known, said in (((), 1), ([(1, 0, 1), (2, 0, 1)], 0)):
        (work / "open.bin").write_bytes(made.file(calls, [], known, 5000))
        findings = rbwp("stats", "--json", "--findings", work / "open.bin").json["findings"]
        assert sum(f["what"] == "hung" for f in findings) == said
        assert ("hung for" in rbwp("stats", work / "open.bin").text) == bool(said)


# Running, runnable and waiting of the spans by their thread and start, in ms; None is not known.
SPLIT = {(1, 0): (40, 0, 0), (1, 40): (6, 1, 3), (1, 60): (5, None, None), (2, 0): (0.01, 0, 99.99), (3, 10): (0.02, 0.5, 79.48),
         (4, 5): (None, None, None)}
KEYS = ("running_ns", "runnable_ns", "waiting_ns")


def milli(value):
    return None if value in (None, "") else int(value) / MS


@pytest.mark.parametrize("form", ["csv", "tsv", "ndjson"])
def test_lines(rbwp, known, unknown, form):
    lines = rbwp("export", "--to", form, known).lines
    rows = [json.loads(line) for line in lines] if form == "ndjson" else csv.DictReader(lines, delimiter="\t" if form == "tsv" else ",")
    assert {(int(r["thread_id"]), (int(r["start_ns"]) - made.T) // MS): tuple(milli(r.get(key)) for key in KEYS) for r in rows} == SPLIT
    assert "running_ns" not in rbwp("export", "--to", form, unknown).text


def test_parquet_and_npz(rbwp, known, unknown, work):
    rbwp("export", "-o", work / "x.parquet", known)
    file = parquet_reader.File(f"{work}/x.parquet")
    found = zip(file.column("thread_id"), file.column("start"), *map(file.column, KEYS))
    assert {(thread, (start - made.T) // MS): tuple(map(milli, parts)) for thread, start, *parts in found} == SPLIT
    np = pytest.importorskip("numpy")
    rbwp("export", "-o", work / "x.npz", known)
    arrays = np.load(work / "x.npz")
    assert arrays["running_ns"].sum() == sum(a or 0 for a, *_ in SPLIT.values()) * MS and arrays["running_ns.known"].sum() == 5
    rbwp("export", "-o", work / "y.npz", unknown)
    assert "running_ns" not in np.load(work / "y.npz")


def test_sqlite(rbwp, known, unknown, work):
    if "without SQLite" in rbwp("export", "-o", work / "x.sqlite", known, code=None).error:
        pytest.skip("this build is without SQLite")
    rows = sqlite3.connect(work / "x.sqlite").execute(
        "select running_ns, runnable_ns, waiting_ns from span_cpu join span on span.id = span_cpu.span join track on track.id = span.track").fetchall()
    found = [tuple(map(milli, row)) for row in rows]
    assert len(found) == 5 and set(found) == set(SPLIT.values()) - {(None, None, None)}
    busy = sqlite3.connect(work / "x.sqlite").execute("select busy_ns from thread_busy").fetchall()
    assert sorted(one for one, in busy) == sorted(thread["busy"] for thread in rbwp("stats", "--json", known).json["threads"])
    rbwp("export", "-o", work / "y.sqlite", unknown)
    sqlite3.connect(work / "y.sqlite").execute("select * from thread_busy").fetchall()
    assert not sqlite3.connect(work / "y.sqlite").execute("select * from sqlite_master where name = 'span_cpu'").fetchall()


def test_viewers(rbwp, known, unknown):
    """Of a call that has a row its parts; of one that has none whether it ran. Of what says neither, nothing is known."""
    def said(args):
        return (int(args.get("ran", 0)), *map(args.get, KEYS))

    spans = [s for s in Trace(rbwp("export", "--to", "perfetto", known).out).slices if not s.instant]
    assert {said(s.args) for s in spans} == {
        (1, None, None, None), (0, 6 * MS, MS, 3 * MS), (0, 5 * MS, None, None), (0, 10_000, 0, 99_990_000),
        (0, 20_000, 500_000, 79_480_000), (0, None, None, None)}
    for form in ("chrome", "kineto"):
        events = rbwp("export", "--to", form, known).json["traceEvents"]
        found = [said(e["args"].get("rbwp", {})) for e in events if e["ph"] == "X"]
        assert sorted(map(str, found)) == sorted(str(said(s.args)) for s in spans)
    assert not any("ran" in s.args for s in Trace(rbwp("export", "--to", "perfetto", unknown).out).slices)


STATES_IN_SQLITE = """select track.name, duration_ns, 0, running_ns, runnable_ns, waiting_ns from span
    join span_cpu on span.id = span_cpu.span join track on track.id = span.track"""


def states_in_json(events):
    """Of the calls of Chrome's form, whose times are in us."""
    names = {e["tid"]: e["args"].get("rbwp_name", e["args"]["name"]) for e in events if e["name"] == "thread_name"}
    calls = [(e, e["args"].get("rbwp", {})) for e in events if e["ph"] == "X"]
    return made.states_of((names[e["tid"]], round(e["dur"] * 1000), "ran" in parts, *map(parts.get, KEYS)) for e, parts in calls)


@pytest.mark.parametrize("form", ["csv", "sqlite", "chrome", "kineto"])
def test_states_of_threads_by_other_readers(rbwp, known, work, form):
    """What readers that are not ours add up of an export is what rbwp stats says of each thread (others: tests/viewers/states.py)."""
    rbwp("export", "--to", form, "-o", work / "x", "-f", known)
    if form == "csv":
        with open(work / "x") as file:
            found = made.states_of((row["track"], 0, False, *map(row.get, KEYS)) for row in csv.DictReader(file))
    elif form == "sqlite":
        found = made.states_of(sqlite3.connect(work / "x").execute(STATES_IN_SQLITE))
    else:
        found = states_in_json(json.loads((work / "x").read_text())["traceEvents"])
    said = {t["name"]: [t["running"], t["runnable"], t["waiting"]] for t in rbwp("stats", "--json", known).json["threads"]}
    assert {name: found.get(name, [0, 0, 0]) for name in said} == said and any(waiting for *_, waiting in said.values())


def test_timeline(rbwp, known, unknown):
    """Threads that hardly ran come last; what was blocked has no letter."""
    lines = rbwp("timeline", "--ascii", "--width", "100", known).lines
    bars = [i for i, line in enumerate(lines) if line.rstrip().endswith("%")]
    assert [lines[i].split()[0] for i in bars] == ["t1", "t4", "t2", "t3"]
    assert [lines[i].rstrip()[-6:].strip() for i in bars] == ["66.0%", "30.0%", "0.0%", "0.0%"]
    below = [lines[i + 1].strip() for i in bars]
    assert set(below[2]) == {"-"} and "-" not in below[0] and "  -  blocked in a call" in lines
    assert not any("blocked" in line for line in rbwp("timeline", "--ascii", unknown).lines)


def test_timeline_json(rbwp, known, unknown):
    tracks = rbwp("timeline", "--json", known).json["tracks"]
    sums = {t["track"]: [round(sum(c[key] for c in t["columns"]) / MS, 1) for key in ("busy_ns", "runnable_ns", "waiting_ns")] for t in tracks}
    assert sums == {"t1": [66, 1, 3], "t2": [0, 0, 100], "t3": [0, 0.5, 79.5], "t4": [30, 0, 0]}
    assert "runnable_ns" not in rbwp("timeline", "--json", unknown).text


def test_page(rbwp, known, unknown, work):
    """Tooltips have the parts of calls with a row, tables the columns."""
    for path, there in ((known, True), (unknown, False)):
        rbwp("report", "-o", work / "page.html", "-f", path)
        page = Page(work / "page.html")
        noted = page.unpack(page.elements["args0"])
        assert (b"running6.000 ms" in noted) == there and (b"waiting99.99 ms" in noted) == there
        assert ["not_known", "not known", "duration"] in page.data["columns"]["kinds"] or not there
        assert [t.get("running") for t in page.data["tracks"] if t["name"] == "t1"] == [51 * MS if there else None]


def test_page_bars(rbwp, known, unknown, work):
    """A call drawn by itself has how much of it was not on a CPU, in steps of a quarter; without a row it is solid."""
    found = {}
    for path in known, unknown:
        rbwp("report", "-o", work / "bars.html", "-f", path)
        page = Page(work / "bars.html")
        names = [page.data["tracks"][row[0]]["name"] for row in page.data["rows"]]
        found[path] = {(names[row], round(start / MS)): flags for row, _, flags, start, _ in page.spans()}
    off = {("t1", 40): 5, ("t1", 60): 0, ("t2", 0): 7, ("t3", 10): 7}
    assert found[known] == {**dict.fromkeys(found[unknown], 0), **off} and len(off) < len(found[known]), found


def test_stacks(rbwp, known, unknown):
    """What an idle thread did last is no work where it did not run."""
    rows = {row["track"]: row for row in map(json.loads, rbwp("stacks", "--json", known).lines)}
    assert {name: ms(row, *(f"last_{part}_ns" for part in PARTS)) for name, row in rows.items() if "last_running_ns" in row} == {
        "t1": (5, 0, 0, 15), "t2": (0.01, 0, 99.99, 0), "t3": (0.02, 0.5, 79.48, 0)}
    lines = {line.split()[0]: line for line in rbwp("stacks", known).lines}
    assert lines["t1"].endswith(", 20.000 ms: running 5.000 ms, not known 15.000 ms"), lines
    assert lines["t2"].endswith(", 100.000 ms: running 10.000 us, waiting 99.990 ms"), lines
    assert lines["t3"].endswith(", 80.000 ms: running 20.000 us, runnable 500.000 us, waiting 79.480 ms"), lines
    assert lines["t4"].endswith(", 30.000 ms") and "running" not in rbwp("stacks", unknown).text
