# SPDX-License-Identifier: Apache-2.0
# Whatever the model holds is in each export, or the export says that it left it out: arguments of
# every type, categories, correlation, bounds, launches, counters, the tree of tracks, links of every
# kind, whichever end comes first by its clock.
. "$(dirname "$0")/lib.sh"

for kind in chrome csv firefox ndjson parquet perfetto speedscope folded sqlite tsv; do
    "$MAKE_EVERYTHING" "$kind" "$work/out.$kind" 2>"$work/err.$kind" ||
        grep -q "built without SQLite" "$work/err.$kind" || fail "$kind"
done
"$PYTHON" - "$here" "$work" <<'P' || fail "what the model holds"
import collections, csv, json, math, sqlite3, sys

here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here, here + "/../python"]
from firefox_profile import Profile
import parquet_reader
from perfetto_decode import Trace, many, one

T = 1_700_000_000_000_000_000
ARGS = {"bytes": 2**64 - 1, "delta": -5, "ratio": 0.1, "whole": 2.0, "bad": "NaN", "last": True, "due": T + 77, "took": 12, "kernel": "saxpy",
        "note": 'a"b\ufffd', "shape": [1, {"x": 2}]}


def said(kind):
    return open(f"{work}/err.{kind}").read().strip()


def chrome():
    events = json.load(open(f"{work}/out.chrome"))["traceEvents"]
    names = {e["tid"]: e["args"] for e in events if e["name"] == "thread_name"}
    assert names[900]["name"] == "worker" and names[900]["rbwp_kind"] == "thread"
    tids = {a["name"]: t for t, a in names.items()}
    tree = {a["name"]: names[next(t for t in names if names[t]["rbwp_track"] == a["rbwp_parent"])]["name"] for a in names.values() if "rbwp_parent" in a}
    assert tree == {"stream 7": "GPU 2.1", "power": "GPU 2.1"} and names[tids["power"]]["rbwp_unit"] == "W"
    spans = {(e["name"], e["ts"]): e for e in events if e["ph"] == "X"}
    work_ = spans["cpu work", 1.2]
    assert work_["cat"] == "cpu_op" and {k: v for k, v in work_["args"].items() if k != "rbwp"} == ARGS, work_
    assert type(work_["args"]["whole"]) is float and work_["args"]["rbwp"] == {"correlation": "99"}
    assert spans["launch", 1.0]["args"] == {"slot": 3} and spans["answer", 1.5]["cat"] == "task"
    assert [e["ts"] for e in events if e["ph"] == "i" and e["cat"] == "range"] == [1.25]
    first = spans["saxpy", 1.04]["args"]["rbwp"]
    assert first == {"correlation": "100", "start_uncertain_ns": 3, "stop_uncertain_ns": 4, "certain_ns": 5, "launch_ns": str(T + 1050), "launch_track": 0,
                     "launch_thread": "0xabc"}, first
    assert spans["saxpy", 1.095]["args"]["rbwp"]["inferred"] is True
    counters = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "C":
            counters[e["name"]].append((e["ts"], e["args"]["value"]))
    assert counters == {"queue depth": [(1.0, 0), (1.1, 2**53 + 1), (1.2, -4)], "power": [(1.01, 70.5), (1.02, 0.1)]}, counters
    assert type(counters["queue depth"][1][1]) is int
    # Arrows: of one number each, none later than its end, both ends inside a span of their row.
    begins, ends = ({e["id"]: e for e in events if e["ph"] == ph} for ph in "sf")
    assert sum(e["ph"] in "sf" for e in events) == len(begins) + len(ends) == 12 and begins.keys() == ends.keys()
    assert collections.Counter((e["cat"], e["name"]) for e in begins.values()) == {("launch", "launch"): 4, ("dependency", "dependency"): 1, ("message", "ping"): 1}
    for number, begin in begins.items():
        end = ends[number]
        assert (begin["cat"], begin["name"]) == (end["cat"], end["name"]) and begin["ts"] <= end["ts"], (begin, end)
        for e in begin, end:
            assert any(s["tid"] == e["tid"] and s["ts"] <= e["ts"] <= s["ts"] + s["dur"] for s in spans.values()), e
    assert said("chrome") == "", said("chrome")


def perfetto():
    trace = Trace(open(f"{work}/out.perfetto", "rb").read())
    tree = {trace.track_name(u): trace.track_name(one(d, 5)) for u, d in trace.tracks.items() if one(d, 5) in trace.tracks and one(d, 5) not in trace.processes}
    assert tree == {"stream 7": "GPU 2.1", "power": "GPU 2.1"}, tree
    counters = {trace.track_name(u): [(t - T, v) for t, v in rows] for u, rows in trace.counters.items()}
    assert counters == {"queue depth": [(1000, 0), (1100, 2**53 + 1), (1200, -4)], "power": [(1010, 70.5), (1020, 0.1)]}, counters
    unit, = [many(d[8][0]) for d in trace.tracks.values() if one(d, 2) == b"power"]
    assert one(unit, 6) == b"W"
    spans = {(s.name, s.start - T): s for s in trace.slices}
    args = dict(spans["cpu work", 1200].args)
    assert math.isnan(args.pop("bad")) and args == {**{k: v for k, v in ARGS.items() if k != "bad"}, "kernel": b"saxpy", "note": ARGS["note"].encode()}, args
    assert spans["saxpy", 1095].args == {"slot": 3, "launch_ns": T + 1050, "launch_thread": 0xABC, "launch_inferred": 1, "start_uncertain_ns": 3,
                                         "stop_uncertain_ns": 4, "certain_ns": 5}, spans["saxpy", 1095].args
    # No arrow is lost; one between threads adds nothing to see, others an instant.
    assert len(trace.arrows) == 6 and sum(s.category == "link" for s in trace.slices) == 5, trace.arrows
    ends = [(kind, name, trace.slices[b].name, trace.slices[e].name, trace.slices[e].start - T) for kind, name, b, e in trace.arrows]
    assert sorted(ends) == [("link", "dependency", "dependency", "saxpy", 1080)] + [("link", "launch", "launch", "saxpy", t) for t in (1040, 1061, 1080, 1095)] + [
        ("message", "ping", "cpu work", "answer", 1500)], ends
    facts = [s.start - T for s in trace.slices if s.category == "fact"]
    assert facts == [1000], facts  # where there is something to see
    assert said("perfetto") == "", said("perfetto")


def lines():
    with open(f"{work}/out.csv", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    tabs = [line.split("\t") for line in open(f"{work}/out.tsv").read().splitlines()]
    assert [list(r.values()) for r in rows] == tabs[1:] and list(rows[0]) == tabs[0]
    objects = [json.loads(line) for line in open(f"{work}/out.ndjson")]
    gpu = {"proc_id": 0x1D00020000000001, "stream": 7, "correlation": 103, "launch_ns": T + 1050, "launch_thread_id": 0xABC, "launch_span": 1,
           "launch_inferred": True, "start_uncertain_ns": 3, "stop_uncertain_ns": 4, "certain_ns": 5}
    assert {k: v for k, v in objects[-1].items() if k in gpu} == gpu and "thread_id" not in objects[-1], objects[-1]
    assert objects[1]["args"] == ARGS and objects[1]["own_category"] == "cpu_op" and objects[1]["correlation"] == 99
    for row, o in zip(rows, objects):
        assert row.keys() >= o.keys()
        for k, v in row.items():
            assert (json.loads(v) if k == "args" and v else v) == (str(int(o[k])) if isinstance(o.get(k), bool) else o[k] if k == "args" and k in o else str(o.get(k, ""))), (k, v, o)
    for kind in "csv", "ndjson", "tsv":
        assert said(kind).endswith(f"{kind}: dropped 2 links, 5 values of counters, 1 mark of a loss"), said(kind)


def parquet():
    file = parquet_reader.File(f"{work}/out.parquet")
    names = [c.name for c in file.columns]
    rows = [dict(zip(names, row)) for row in zip(*(file.column(n) for n in names))]
    objects = [json.loads(line) for line in open(f"{work}/out.ndjson")]
    for row, o in zip(rows, objects):  # what is not known is null there, and not there here
        assert row.pop("start") == o.pop("start_ns") and row.pop("launch") == o.pop("launch_ns", None)
        assert (row.pop("node"), row.pop("process_id")) == (2, 4242) and row.pop("os_thread_id") == {"worker": 900, "other": 901}.get(o["track"])
        assert row.pop("instant") == (o["name"] == "mark") and (row.pop("parent") or 0) == o.pop("parent")
        assert json.loads(row.pop("args") or "{}") == o.pop("args", {}) and {k: v for k, v in row.items() if v is not None} == o, (row, o)
    assert len(rows) == len(objects) == 8
    assert said("parquet").endswith("parquet: dropped 2 links, 5 values of counters"), said("parquet")


def sqlite():
    if "without SQLite" in said("sqlite"):
        return
    db = sqlite3.connect(f"{work}/out.sqlite")
    one_row = lambda query: db.execute(query).fetchone()
    args = dict(db.execute("SELECT arg_view.name, value FROM arg_view JOIN span_view ON span_view.id = span WHERE span_view.name = 'cpu work'"))
    assert args == {**ARGS, "bytes": float(2**64 - 1), "last": 1, "shape": '[1,{"x":2}]'}, args
    assert one_row("SELECT own_category, correlation FROM detail WHERE span = 2") == ("cpu_op", 99)
    assert one_row("SELECT * FROM detail ORDER BY span DESC") == (8, None, None, 103, T + 1050, "0xabc", 0, 1, 1, 3, 4, 5)
    assert db.execute("SELECT parent, counter, unit, at_ns, value FROM counter_view").fetchall() == [
        (None, "queue depth", None, 1000, 0), (None, "queue depth", None, 1100, 2**53 + 1), (None, "queue depth", None, 1200, -4),
        ("GPU 2.1", "power", "W", 1010, 70.5), ("GPU 2.1", "power", "W", 1020, 0.1)]
    assert db.execute("SELECT kind, label, from_span, to_span FROM link WHERE kind != 'launch' ORDER BY kind").fetchall() == [("dependency", None, 1, 7), ("message", "ping", 2, 4)]
    assert one_row("SELECT count(*) FROM gpu_launch") == (4,)
    assert said("sqlite") == "", said("sqlite")


def speedscope():
    assert len(json.load(open(f"{work}/out.speedscope"))["profiles"]) == 3
    assert said("speedscope").endswith("speedscope: dropped 6 links, 5 values of counters, 1 point in time, 1 span's arguments, 1 mark of a loss"), said("speedscope")


def firefox():
    profile = Profile(open(f"{work}/out.firefox").read())
    rows = {t.name: t for t in profile.threads}
    assert list(rows) == ["other", "worker", "GPU 2.1, stream 7"] and {t.process for t in profile.threads} == {"node 2"}
    markers = {(m.name, m.start): m for m in rows["worker"].markers + rows["GPU 2.1, stream 7"].markers}
    data = markers["cpu work", 200 + 1000].data
    # What JavaScript cannot count is a text.
    assert {k[4:]: v for k, v in data.items() if k.startswith("arg.")} == {**ARGS, "bytes": str(2**64 - 1), "due": str(T + 77), "shape": '[1,{"x":2}]'}, data
    assert data["own_category"] == "cpu_op" and data["correlation"] == "99" and markers["mark", 1250].stop is None
    assert markers["saxpy", 1095].data == {
        "type": "span", "slot": 3, "correlation": "103", "launch_ms": 0.00105, "launch_thread_id": str(0xABC), "launch_span": "1", "launch_inferred": "yes",
        "start_uncertain_ns": "3", "stop_uncertain_ns": "4", "certain_ns": "5"}, markers["saxpy", 1095]
    assert [(c.name, c.process, c.values) for c in profile.counters] == [
        ("GPU 2.1, power (W)", "node 2", [(1010, 70.5), (1020, 70.5 + (0.1 - 70.5))]), ("queue depth", "node 2", [(1000, 0), (1100, 2**53 + 1), (1200, -4)])], profile.counters
    assert profile.extra["Lost"] == {"a full buffer": "12 records"}
    assert said("firefox") == "rbwp: firefox: dropped 2 links", said("firefox")


chrome()
firefox()
perfetto()
lines()
parquet()
sqlite()
speedscope()
assert said("folded").endswith("folded: dropped 6 links, 5 values of counters, 1 point in time, 1 span's arguments, 1 mark of a loss"), said("folded")
P
finish
