# SPDX-License-Identifier: Apache-2.0
"""Whatever the model holds is in each export, or the export says that it dropped it: arguments of every type, categories, correlation,
bounds, launches, counters, the tree of tracks, links of every kind, whichever end comes first by its clock."""
import collections
import csv
import json
import math
import sqlite3

import parquet_reader
import pytest
from firefox_profile import Profile
from perfetto_decode import Trace, many, one

T = 1_700_000_000_000_000_000
ARGS = {"bytes": 2**64 - 1, "delta": -5, "ratio": 0.1, "whole": 2.0, "bad": "NaN", "last": True, "due": T + 77, "took": 12, "kernel": "saxpy",
        "note": 'a"b\ufffd', "shape": [1, {"x": 2}]}


@pytest.fixture(scope="module")
def export(run, program, shared):
    """export(form): the file, what was reported."""
    def made(form):
        done = run(program("MAKE_EVERYTHING"), form, shared / form, code=None)
        if "built without SQLite" in done.error:
            pytest.skip("this build is without SQLite")
        assert done.code == 0, done.error
        return shared / form, done.error.strip()

    return made


@pytest.fixture(scope="module")
def chrome(export):
    path, said = export("chrome")
    assert said == ""
    return json.loads(path.read_text())["traceEvents"]


def chrome_spans(events):
    return {(e["name"], e["ts"]): e for e in events if e["ph"] == "X"}


def test_chrome_tracks(chrome):
    names = {e["tid"]: e["args"] for e in chrome if e["name"] == "thread_name"}
    assert names[900]["name"] == "worker" and names[900]["rbwp_kind"] == "thread"
    tids = {a["name"]: t for t, a in names.items()}
    tree = {a["name"]: names[next(t for t in names if names[t]["rbwp_track"] == a["rbwp_parent"])]["name"] for a in names.values() if "rbwp_parent" in a}
    assert tree == {"stream 7": "GPU 2.1", "power": "GPU 2.1"} and names[tids["power"]]["rbwp_unit"] == "W"


def test_chrome_spans(chrome):
    spans = chrome_spans(chrome)
    work_ = spans["cpu work", 1.2]
    assert work_["cat"] == "cpu_op" and {k: v for k, v in work_["args"].items() if k != "rbwp"} == ARGS, work_
    assert type(work_["args"]["whole"]) is float and work_["args"]["rbwp"] == {"correlation": "99"}
    assert spans["launch", 1.0]["args"] == {"slot": 3} and spans["answer", 1.5]["cat"] == "task"
    assert [e["ts"] for e in chrome if e["ph"] == "i" and e["cat"] == "range"] == [1.25]
    first = spans["saxpy", 1.04]["args"]["rbwp"]
    assert first == {"correlation": "100", "start_uncertain_ns": 3, "stop_uncertain_ns": 4, "certain_ns": 5, "launch_ns": str(T + 1050), "launch_track": 0,
                     "launch_thread": "0xabc"}, first
    assert spans["saxpy", 1.095]["args"]["rbwp"]["inferred"] is True


def test_chrome_counters(chrome):
    counters = collections.defaultdict(list)
    for e in chrome:
        if e["ph"] == "C":
            counters[e["name"]].append((e["ts"], e["args"]["value"]))
    assert counters == {"queue depth": [(1.0, 0), (1.1, 2**53 + 1), (1.2, -4)], "power": [(1.01, 70.5), (1.02, 0.1)]}, counters
    assert type(counters["queue depth"][1][1]) is int


def test_chrome_arrows(chrome):
    """Of one number each, none later than its end, both ends inside a span of their row."""
    spans = chrome_spans(chrome)
    begins, ends = ({e["id"]: e for e in chrome if e["ph"] == ph} for ph in "sf")
    assert sum(e["ph"] in "sf" for e in chrome) == len(begins) + len(ends) == 12 and begins.keys() == ends.keys()
    assert collections.Counter((e["cat"], e["name"]) for e in begins.values()) == {("launch", "launch"): 4, ("dependency", "dependency"): 1,
                                                                                   ("message", "ping"): 1}
    for number, begin in begins.items():
        end = ends[number]
        assert (begin["cat"], begin["name"]) == (end["cat"], end["name"]) and begin["ts"] <= end["ts"], (begin, end)
        for e in begin, end:
            assert any(s["tid"] == e["tid"] and s["ts"] <= e["ts"] <= s["ts"] + s["dur"] for s in spans.values()), e


@pytest.fixture(scope="module")
def perfetto(export):
    path, said = export("perfetto")
    assert said == ""
    return Trace(path.read_bytes())


def test_perfetto_tracks(perfetto):
    tree = {perfetto.track_name(u): perfetto.track_name(one(d, 5)) for u, d in perfetto.tracks.items()
            if one(d, 5) in perfetto.tracks and one(d, 5) not in perfetto.processes}
    assert tree == {"stream 7": "GPU 2.1", "power": "GPU 2.1"}, tree


def test_perfetto_counters(perfetto):
    counters = {perfetto.track_name(u): [(t - T, v) for t, v in rows] for u, rows in perfetto.counters.items()}
    assert counters == {"queue depth": [(1000, 0), (1100, 2**53 + 1), (1200, -4)], "power": [(1010, 70.5), (1020, 0.1)]}, counters
    unit, = [many(d[8][0]) for d in perfetto.tracks.values() if one(d, 2) == b"power"]
    assert one(unit, 6) == b"W"


def test_perfetto_spans(perfetto):
    spans = {(s.name, s.start - T): s for s in perfetto.slices}
    args = dict(spans["cpu work", 1200].args)
    assert math.isnan(args.pop("bad")) and args == {**{k: v for k, v in ARGS.items() if k != "bad"}, "kernel": b"saxpy", "note": ARGS["note"].encode()}, args
    assert spans["saxpy", 1095].args == {"slot": 3, "launch_ns": T + 1050, "launch_thread": 0xABC, "launch_inferred": 1, "start_uncertain_ns": 3,
                                         "stop_uncertain_ns": 4, "certain_ns": 5}, spans["saxpy", 1095].args


def test_perfetto_arrows(perfetto):
    """None is lost; one between threads adds nothing to see, others an instant."""
    assert len(perfetto.arrows) == 6 and sum(s.category == "link" for s in perfetto.slices) == 5, perfetto.arrows
    ends = [(kind, name, perfetto.slices[b].name, perfetto.slices[e].name, perfetto.slices[e].start - T) for kind, name, b, e in perfetto.arrows]
    launches = [("link", "launch", "launch", "saxpy", t) for t in (1040, 1061, 1080, 1095)]
    assert sorted(ends) == [("link", "dependency", "dependency", "saxpy", 1080), *launches, ("message", "ping", "cpu work", "answer", 1500)]


def test_perfetto_facts(perfetto):
    facts = [s.start - T for s in perfetto.slices if s.category == "fact"]
    assert facts == [1000], facts  # where there is something to see


@pytest.fixture(scope="module")
def ndjson(export):
    path, said = export("ndjson")
    assert said.endswith("ndjson: dropped 2 links, 5 values of counters, 1 mark of a loss")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_ndjson(ndjson):
    gpu = {"proc_id": 0x1D00020000000001, "stream": 7, "correlation": 103, "launch_ns": T + 1050, "launch_thread_id": 0xABC, "launch_span": 1,
           "launch_inferred": True, "start_uncertain_ns": 3, "stop_uncertain_ns": 4, "certain_ns": 5}
    assert {k: v for k, v in ndjson[-1].items() if k in gpu} == gpu and "thread_id" not in ndjson[-1], ndjson[-1]
    assert ndjson[1]["args"] == ARGS and ndjson[1]["own_category"] == "cpu_op" and ndjson[1]["correlation"] == 99


def test_csv_and_tsv_are_ndjson(export, ndjson):
    (commas, said), (tabs, said_tabs) = export("csv"), export("tsv")
    with open(commas, newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    tabs = [line.split("\t") for line in tabs.read_text().splitlines()]
    assert [list(r.values()) for r in rows] == tabs[1:] and list(rows[0]) == tabs[0]
    for row, o in zip(rows, ndjson, strict=True):
        assert row.keys() >= o.keys()
        for k, v in row.items():
            if k == "args" and v:
                assert json.loads(v) == o[k]
            else:
                assert v == (str(int(o[k])) if isinstance(o.get(k), bool) else o[k] if k == "args" and k in o else str(o.get(k, ""))), (k, o)
    for form, said in ("csv", said), ("tsv", said_tabs):
        assert said.endswith(f"{form}: dropped 2 links, 5 values of counters, 1 mark of a loss")


def test_parquet_is_ndjson(export, ndjson):
    path, said = export("parquet")
    file = parquet_reader.File(str(path))
    names = [c.name for c in file.columns]
    rows = [dict(zip(names, row)) for row in zip(*(file.column(n) for n in names))]
    assert len(rows) == len(ndjson) == 8
    for row, o in zip(rows, map(dict, ndjson)):  # what is not known is null there, and not there here
        assert row.pop("start") == o.pop("start_ns") and row.pop("launch") == o.pop("launch_ns", None)
        assert (row.pop("node"), row.pop("process_id")) == (2, 4242) and row.pop("os_thread_id") == {"worker": 900, "other": 901}.get(o["track"])
        assert row.pop("instant") == (o["name"] == "mark") and (row.pop("parent") or 0) == o.pop("parent")
        assert json.loads(row.pop("args") or "{}") == o.pop("args", {}) and {k: v for k, v in row.items() if v is not None} == o, (row, o)
    assert said.endswith("parquet: dropped 2 links, 5 values of counters")


def test_sqlite(export):
    path, said = export("sqlite")
    db = sqlite3.connect(path)
    one_row = lambda query: db.execute(query).fetchone()
    args = dict(db.execute("SELECT arg_view.name, value FROM arg_view JOIN span_view ON span_view.id = span WHERE span_view.name = 'cpu work'"))
    assert args == {**ARGS, "bytes": float(2**64 - 1), "last": 1, "shape": '[1,{"x":2}]'}, args
    assert one_row("SELECT own_category, correlation FROM detail WHERE span = 2") == ("cpu_op", 99)
    assert one_row("SELECT * FROM detail ORDER BY span DESC") == (8, None, None, 103, T + 1050, "0xabc", 0, 1, 1, 3, 4, 5)
    assert db.execute("SELECT parent, counter, unit, at_ns, value FROM counter_view").fetchall() == [
        (None, "queue depth", None, 1000, 0), (None, "queue depth", None, 1100, 2**53 + 1), (None, "queue depth", None, 1200, -4),
        ("GPU 2.1", "power", "W", 1010, 70.5), ("GPU 2.1", "power", "W", 1020, 0.1)]
    assert db.execute("SELECT kind, label, from_span, to_span FROM link WHERE kind != 'launch' ORDER BY kind").fetchall() == [("dependency", None, 1, 7),
                                                                                                                              ("message", "ping", 2, 4)]
    assert one_row("SELECT count(*) FROM gpu_launch") == (4,)
    assert said == ""


def test_speedscope(export):
    path, said = export("speedscope")
    assert len(json.loads(path.read_text())["profiles"]) == 3
    assert said.endswith("speedscope: dropped 6 links, 5 values of counters, 1 point in time, 1 span's arguments, 1 mark of a loss")


def test_folded(export):
    _, said = export("folded")
    assert said.endswith("folded: dropped 6 links, 5 values of counters, 1 point in time, 1 span's arguments, 1 mark of a loss")


@pytest.fixture(scope="module")
def firefox(export):
    path, said = export("firefox")
    assert said == "rbwp: firefox: dropped 2 links"
    return Profile(path.read_text())


def test_firefox_tracks(firefox):
    assert [t.name for t in firefox.threads] == ["other", "worker", "GPU 2.1, stream 7"] and {t.process for t in firefox.threads} == {"node 2"}


def test_firefox_spans(firefox):
    rows = {t.name: t for t in firefox.threads}
    markers = {(m.name, m.start): m for m in rows["worker"].markers + rows["GPU 2.1, stream 7"].markers}
    data = markers["cpu work", 200 + 1000].data
    # What JavaScript cannot count is a text.
    assert {k[4:]: v for k, v in data.items() if k.startswith("arg.")} == {**ARGS, "bytes": str(2**64 - 1), "due": str(T + 77), "shape": '[1,{"x":2}]'}, data
    assert data["own_category"] == "cpu_op" and data["correlation"] == "99" and markers["mark", 1250].stop is None
    assert markers["saxpy", 1095].data == {
        "type": "span", "slot": 3, "correlation": "103", "launch_ms": 0.00105, "launch_thread_id": str(0xABC), "launch_span": "1", "launch_inferred": "yes",
        "start_uncertain_ns": "3", "stop_uncertain_ns": "4", "certain_ns": "5"}, markers["saxpy", 1095]


def test_firefox_counters_and_losses(firefox):
    assert [(c.name, c.process, c.values) for c in firefox.counters] == [
        ("GPU 2.1, power (W)", "node 2", [(1010, 70.5), (1020, 70.5 + (0.1 - 70.5))]), ("queue depth", "node 2", [(1000, 0), (1100, 2**53 + 1), (1200, -4)])]
    assert firefox.extra["Lost"] == {"a full buffer": "12 records"}
