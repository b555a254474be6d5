# SPDX-License-Identifier: Apache-2.0
"""Chrome Trace JSON in every form that people have comes out as the spans that it says, to the nanosecond; what is odd is reported and
costs nothing else; JSON cut at any byte keeps the events that are whole."""
import gzip
import json
import os
import random

import pytest

# SHARE: "2/3" is every third byte, from the second on; fuzz_chrome looks at such text as well.
PART, PARTS = map(int, os.environ.get("SHARE", "1/1").split("/"))


@pytest.fixture
def export(rbwp, work):
    """export(data, option, ..., code=0): the spans, what was reported. Data are bytes, a text, or what is to be JSON."""
    def spans(data, *options, code=0):
        if not isinstance(data, bytes):
            data = data.encode() if isinstance(data, str) else json.dumps(data).encode()
        (work / "t").write_bytes(data)
        done = rbwp("export", "--to=ndjson", *options, work / "t", code=code)
        return [json.loads(line) for line in done.lines], done.error

    return spans


def flat(spans):
    return sorted((s["start_ns"], s["duration_ns"], s["process"], s["track"], s["category"], s["name"]) for s in spans)


def x(name, ts, dur, pid=1, tid=2, **more):
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


SIMPLE = [x("a", 1.5, 2), x("b", 10, 0.001), {"dur": 7, "args": {"deep": [[{"ph": "E"}]]}, "tid": 2, "pid": 1, "ts": 20, "name": "c", "ph": "X"}]
SPANS = [(1500, 2000, "process 1", "thread 2", "other", "a"), (10000, 1, "process 1", "thread 2", "other", "b"),
         (20000, 7000, "process 1", "thread 2", "other", "c")]
TEXT = json.dumps(SIMPLE)


@pytest.mark.parametrize("data", [
    TEXT, json.dumps({"displayTimeUnit": "ns", "traceEvents": SIMPLE, "otherData": {"k": None}}), gzip.compress(TEXT.encode()), TEXT[:-1], TEXT[:-1] + ",\n",
    "\ufeff" + TEXT, " \n" + TEXT], ids=["array", "object", "packed", "no bracket", "comma at the end", "byte order mark", "space"])
def test_forms(export, data):
    """An array or an object, packed or not, with or without the last bracket, members in any order."""
    spans, error = export(data)
    assert not error and flat(spans) == SPANS


def test_times(export):
    """To the nanosecond where doubles cannot, as strings and with exponents."""
    for ts, ns in (("1700000000123456.789", 1700000000123456789), ('"1700000000123456.789"', 1700000000123456789), ("1e3", 1000000), ("1.25E-1", 125),
                   ("-0.5", -500), ("0.0004999", 0), ("12345678.9015", 12345678902), ("2", 2000), ("00000000000000000000000001.5", 1500)):
        spans, _ = export(f'[{{"ph":"X","name":"a","ts":{ts},"dur":0.25,"pid":1,"tid":1}}]')
        assert (spans[0]["start_ns"], spans[0]["duration_ns"]) == (ns, 250), ts


@pytest.mark.parametrize("ts", ["1e400", "99999999999999999999", '"now"', "-"])
def test_times_that_cannot_be(export, ts):
    spans, error = export(f'[{{"ph":"X","name":"a","ts":{ts},"dur":1,"pid":1,"tid":1}},{json.dumps(x("b", 1, 1))}]', code=3)
    assert [s["name"] for s in spans] == ["b"] and "times that cannot be" in error


def test_metadata_of_other_names(export):
    """As long as those that give names; they name nothing."""
    nicks = ({"ph": "M", "name": name, "pid": 1, "tid": 2, "args": {"name": "nick"}} for name in ("thread_nick", "process_nick"))
    spans, _ = export([x("a", 1, 1), *nicks])
    assert flat(spans) == [(1000, 1000, "process 1", "thread 2", "other", "a")]


def test_phases(export):
    """Begin and end, nested and on two threads; asynchronous ones that overlap; instants; what has no partner."""
    events = [
        {"ph": "B", "name": "outer", "ts": 1, "pid": 1, "tid": 1}, {"ph": "B", "name": "inner", "ts": 2, "pid": 1, "tid": 1},
        {"ph": "B", "name": "other", "ts": 2.5, "pid": 1, "tid": 2}, {"ph": "E", "ts": 3, "pid": 1, "tid": 1}, {"ph": "E", "ts": 9, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 4, "pid": 1, "tid": 2}, {"ph": "E", "ts": 5, "pid": 1, "tid": 2},
        {"ph": "b", "cat": "io", "id": "0x1", "name": "read", "ts": 1, "pid": 1, "tid": 1},
        {"ph": "b", "cat": "io", "id": 2, "name": "write", "ts": 2, "pid": 1, "tid": 1},
        {"ph": "n", "cat": "io", "id": 2, "name": "mark", "ts": 2.5, "pid": 1, "tid": 1},
        {"ph": "e", "cat": "io", "id": "0x1", "name": "read", "ts": 3, "pid": 1, "tid": 7},
        {"ph": "e", "cat": "io", "id2": {"global": 2}, "name": "write", "ts": 4, "pid": 1, "tid": 1},
        {"ph": "i", "name": "tick", "s": "t", "ts": 6, "pid": 1, "tid": 2}, {"ph": "B", "name": "never", "ts": 7, "pid": 1, "tid": 2},
        {"ph": "i", "name": "tock", "s": "g", "ts": 8, "pid": 1, "tid": 2}, {"ph": "C", "name": "c", "ts": 1, "pid": 1, "args": {"v": 1}},
        {"ph": "P", "name": "p", "ts": 1, "pid": 1, "tid": 1}, {"ph": "X", "name": "no time", "pid": 1, "tid": 1}, x("back", 5, -1), "text", 7,
    ]
    spans, error = export(events, code=3)
    p = "process 1"
    assert flat(spans) == sorted([
        (1000, 8000, p, "thread 1", "other", "outer"), (2000, 1000, p, "thread 1", "other", "inner"), (2500, 1500, p, "thread 2", "other", "other"),
        (1000, 2000, p, "async io", "other", "read"), (2000, 2000, p, "async io", "other", "write"), (2500, 0, p, "async io", "other", "mark"),
        (6000, 0, p, "thread 2", "other", "tick"), (7000, 1000, p, "thread 2", "other", "never"), (8000, 0, p, "thread 2", "other", "tock"),
        (5000, 0, p, "thread 2", "other", "back")])
    assert not next(s for s in spans if s["name"] == "never")["finished"]
    for said in ("1 ends have no begin", "1 begins have no end", "by phase: 1 P (samples)\n", "2 elements of its array are no events",
                 "1 events have no time", "1 events end before they begin"):
        assert said in error


def test_id_is_a_member_of_its_own(export):
    """What others hold is none, and one that is a text or a number there is as good as none."""
    ends = [{"ph": ph, "cat": "io", "name": "read", "ts": ts, "pid": 1, "tid": 1, "id": "0x1", **more}
            for ph, ts, more in (("b", 1, {"scope": {"global": 9}, "id2": 7}), ("e", 3, {}))]
    spans, error = export(ends)
    assert not error and flat(spans) == [(1000, 2000, "process 1", "async io", "other", "read")]


ASYNC = [{"ph": ph, "cat": "req", "id": i, "name": name, "ts": ts, "pid": 1, "tid": 1} for ph, i, name, ts in (
    ("b", 1, "outer", 1), ("b", 2, "inner", 2), ("b", 1, "part", 3), ("e", 1, "part", 4), ("e", 2, "inner", 5), ("e", 1, "outer", 9), ("b", 3, "next", 10),
    ("e", 3, "next", 11),
    ("S", 1, "old", 20), ("S", 1, "older", 21), ("T", 1, "old", 22), ("F", 1, "old", 23), ("F", 1, "older", 24))]


def test_asynchronous_spans(export):
    """Those of different ids are no parents and children, each has a row; those of one id nest. Old phases are read as new ones."""
    spans, error = export(ASYNC)
    assert not error
    assert sorted((s["start_ns"], s["duration_ns"], s["name"], s["depth"], s["lane"]) for s in spans) == [
        (1000, 8000, "outer", 0, 0), (2000, 3000, "inner", 0, 1), (3000, 1000, "part", 1, 0), (10000, 1000, "next", 0, 0),
        (20000, 3000, "old", 0, 0), (21000, 3000, "older", 0, 1), (22000, 0, "old", 1, 0)]


def test_other_kinds_are_listed(export):
    """What is dropped, by kind."""
    others = ({"ph": ph, "name": "n", "id": 1, "ts": 1, "pid": 1, "tid": 1} for ph in "NNOD(vq")
    _, error = export([x("a", 1, 1), *others, {"name": "none"}])
    assert "events dropped, by phase: 1 of no known phase, 1 ( (contexts), 1 D (objects), 2 N (objects), 1 O (objects), 1 q, 1 v (memory dumps)\n" in error


def test_json_of_other_programs(export):
    """It is refused, and named for what it is."""
    for data, said in (({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": []}, "profiles": []}, "speedscope"),
                       ({"nodes": [], "startTime": 1, "endTime": 2, "samples": [], "timeDeltas": []}, ".cpuprofile"),
                       ({"meta": {}, "libs": [], "threads": []}, "Firefox Profiler"),
                       ({"header": {"magic": "RBWP"}, "blocks": []}, "rbwp dump"), ({"a": 1}, "no array of traceEvents"),
                       ({"traceEvents": 5}, "no array of traceEvents"),
                       ([{"a": 1}], "with a phase"), ([1, 2], None), ({"name": "no phase", "ts": 1}, "traceEvents")):
        spans, error = export(data, code=1)
        assert not spans and (said is None or said in error and "export and merge read RBWP files, Legion" in error), (data, error)


def test_no_events(export):
    for data in ([], {"traceEvents": []}, {"traceEvents": [], "profiles": 1}):
        assert export(data)[0] == [], data


KINETO = {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "baseTimeNanoseconds": 1699999999000000000,
          "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
          "traceEvents": [x("aten::add", 10.001, 5, 77, 78, cat="cpu_op"), x("cudaLaunchKernel", 11, 1, 77, 78, cat="cuda_runtime"),
                          x("k", 20, 3, 0, 7, cat="kernel"), x("Memcpy", 30, 3, 0, 7, cat="gpu_memcpy"),
                          x("PyTorch Profiler (0)", 0, 100, "Spans", "PyTorch Profiler", cat="Trace"),
                          {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "ts": 0, "args": {"name": "python"}},
                          {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
                          {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7 "}},
                          {"ph": "M", "name": "thread_sort_index", "pid": 0, "tid": 7, "args": {"sort_index": 7}},
                          {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 110}], "traceName": "x"}


def test_pytorch(export):
    """Absolute by its base, ranks, names that stand behind, streams of a GPU, string pids."""
    spans, error = export(KINETO)
    base = 1699999999000000000
    assert not error
    assert flat(spans) == sorted([
        (base + 10001, 5000, "node 3 python", "thread 78", "other", "aten::add"),
        (base + 11000, 1000, "node 3 python", "thread 78", "call", "cudaLaunchKernel"),
        (base + 20000, 3000, "node 3 process 0 (GPU 0)", "stream 7 ", "gpu", "k"),
        (base + 30000, 3000, "node 3 process 0 (GPU 0)", "stream 7 ", "copy", "Memcpy"),
        (base, 100000, "node 3 process Spans", "PyTorch Profiler", "other", "PyTorch Profiler (0)"),
        (base + 110000, 0, "node 3 process ", "events", "other", "Record Window End")])
    assert {s["track_kind"] for s in spans if s["category"] in ("gpu", "copy")} == {"gpu"}


@pytest.fixture
def iris():
    return {"traceEvents": [{"name": "put", "cat": "iris", "ts": 5000, "pid": 0, "tid": "XCC2_CU5", "args": {"program_id": 7}, "ph": "X", "dur": 600},
                            {"name": "store", "cat": "iris", "ts": 5100, "pid": 0, "tid": "XCC2_CU5", "args": {}, "ph": "X", "dur": 800},
                            {"name": "unknown_99", "cat": "iris", "ts": 5200, "pid": 0, "tid": "XCC0_CU0", "args": {}, "ph": "i", "s": "t"},
                            {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "Rank 0"}}], "displayTimeUnit": "ns",
            "metadata": {"schema_version": "1.1", "num_events": 3, "rank": 0, "world_size": 2, "time_unit": "raw cycles (s_memrealtime @ 100MHz)",
                         "fields": {"ts": "x", "rank": "y"}}}


def test_iris(export, iris):
    """Raw cycles of 10 ns; the unit stands behind. Overlaps get a second lane."""
    spans, error = export(iris)
    assert flat(spans) == [(50000, 6000, "node 0 Rank 0", "XCC2_CU5", "other", "put"), (51000, 8000, "node 0 Rank 0", "XCC2_CU5", "other", "store"),
                           (52000, 0, "node 0 Rank 0", "XCC0_CU0", "other", "unknown_99")], error
    assert [s["lane"] for s in sorted(spans, key=lambda s: s["start_ns"])] == [0, 1, 0]
    assert [s["name"] for s in export(iris, "--until=+500ns")[0]] == ["put"]  # behind the first, whose unit it has


def test_iris_in_other_units(export, iris):
    iris["metadata"]["time_unit"] = "raw cycles (clock @ 1MHz)"
    spans, error = export(iris)
    assert [s["start_ns"] for s in spans] == [5000000, 5100000, 5200000] and not error, error
    iris["metadata"]["time_unit"] = "furlongs"
    assert "unit of time is not known" in export(iris, code=None)[1]


def test_names(export):
    """Of any kind; escapes; a broken pair becomes U+FFFD; no name at all."""
    spans, _ = export('[{"ph":"X","name":"q\\"\\\\\\u00e9\\ud83d\\ude00\\ud800\\n","ts":1,"dur":1,"pid":1,"tid":1},{"ph":"X","ts":2,"dur":1,"pid":1,"tid":1}]')
    assert [s["name"] for s in spans] == ['q"\\\u00e9\U0001f600\ufffd\n', "unnamed"]
    assert len(export([x("n" * 9000, 1, 1)])[0][0]["name"]) == 4096


@pytest.mark.parametrize("tail, said", [
    ("{", ""), ("nonsense", "no comma"), (", nonsense]", ""), (', {"a" 1}]', "a name without its value"), (", {1:2}]", "a member without a name"),
    ("}", "closes what is not open"),
    (", " + "[" * 300, "nested too deep"), (', {"a":"\\x"}]', "a broken string"), ('] 5', "something follows"), (', {"ph":', "cut"),
    (", @]", "begins no value")])
def test_broken_json(export, tail, said):
    """Reported with its place, what came before stays. Depth is bounded."""
    spans, error = export("[" + json.dumps(x("a", 1, 1)) + tail, code=3 if said else (0, 3))
    assert len(spans) == 1 and said in error


@pytest.mark.parametrize("text, said, code", [
    ("{", "", (0, 1, 3)), ("[", "", (0, 1, 3)), ("[]", "", (0, 1, 3)), ("{}", "", (0, 1, 3)), ('{"traceEvents": 5}', "", (0, 1, 3)), ("[x", "", 1),
    ('{"a" 5}', "no Chrome JSON", (0, 1, 3))])
def test_json_without_events(export, text, said, code):
    spans, error = export(text, code=code)
    assert not spans and said in error


@pytest.mark.parametrize("packed", [False, True])
def test_cut_at_every_byte(export, packed):
    """Whole events only, and never more than there were."""
    text = json.dumps(ASYNC[:6]).encode()
    data = gzip.compress(text) if packed else text
    for cut in range(1 + PART, len(data), PARTS):
        spans, _ = export(data[:cut], code=(0, 1, 3))
        assert packed or len(spans) <= 3, cut


def test_departure_at_the_moment_of_an_arrival(rbwp, work):
    """It comes before it, whatever the order of tracks and of the text."""
    flow = [x("early", 5, 1, tid=3), x("to", 10, 2, tid=2), x("from", 10, 2, tid=3),
            {"ph": "s", "cat": "q", "name": "q", "id": 7, "ts": 5, "pid": 1, "tid": 3},
            {"ph": "f", "bp": "e", "cat": "q", "name": "q", "id": 7, "ts": 10, "pid": 1, "tid": 2},
            {"ph": "s", "cat": "q", "name": "q", "id": 7, "ts": 10, "pid": 1, "tid": 3}]
    (work / "t").write_text(json.dumps(flow))
    arrows = rbwp("export", "--to=chrome", work / "t").json
    starts = [float(event["ts"]) for event in arrows["traceEvents"] if event["ph"] == "s"]
    assert starts == [5.0]  # from the first event on


def test_random_bytes_anywhere(rbwp, work):
    random.seed(PART)
    for _ in range(150 // PARTS):
        hurt = bytearray(json.dumps(KINETO).encode())
        for _ in range(random.randrange(1, 5)):
            hurt[random.randrange(len(hurt))] = random.choice(b'{}[]",:\\0e-\x00\xff')
        (work / "t").write_bytes(hurt)
        done = rbwp("export", "--to=ndjson", work / "t", code=(0, 1, 3))
        assert all(map(json.loads, done.lines)) and (done.code != 0 or done.lines)
