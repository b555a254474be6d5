# SPDX-License-Identifier: Apache-2.0
"""PyTorch's (Kineto's) form of Chrome JSON. Guards: events have the members, categories, places and arguments that its readers
go by (the example's annotations to the digit, a nanosecond wider, not before 0); a rank, and streams and correlations of all GPU
work, so that Holistic Trace Analysis pairs each kernel with its launch; every arrow has both ends, inside events of their
threads, never back in time; any name is strict JSON; what never ended is marked; and our own reader reads all of it back."""
import collections
import decimal
import gzip
import json
import pathlib
import re
import sqlite3

import export_expect as x
import pytest
import ranges_make
from ranges_make import RANGE

ACTIVITY = ranges_make.ACTIVITY + [("kind", 1, 0), ("bytes", 1, 0), ("graph_node", 1, 0), ("call", 6, 0)]
DEVICE = [("processor", 1, 11), ("name", 6, 4), ("multiprocessors", 1, 0), ("memory", 1, 0)]
# What Holistic Trace Analysis knows of arguments: 'validate_trace_format' goes by it.
ARGUMENTS = {**dict.fromkeys(("External id", "correlation", "bytes", "device", "stream", "registers per thread", "shared memory", "sort_index"), int),
             "finished": str, "labels": str}

GRID = 7889238 * 10**9
ZERO = 215 * GRID
BIG = (1 << 40) + 5
decimal.getcontext().prec = 60


def ns(text):
    value = decimal.Decimal(text) * 1000
    assert value == int(value) and text[-4] == "."
    return int(value)


def load(text):
    """Strictly; times as they are written."""
    return json.loads(text.decode("utf-8"), parse_float=str, parse_constant=lambda c: 1 / 0)


def exported(rbwp, path, *more, code=0):
    return rbwp("export", "--to", "kineto", *more, path, code=code).out


def kineto(rbwp, path, *more, code=0):
    return load(exported(rbwp, path, *more, code=code))


def checked(trace):
    """What any file has to keep to."""
    events = trace["traceEvents"]
    spans = collections.defaultdict(list)
    for e in events:
        assert e["ph"] in "XiMCsf" and "ts" in e and e["pid"] is not None
        if e["ph"] == "X":
            order = [k for k in e]
            assert order in (["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"], ["ph", "cat", "name", "pid", "tid", "ts", "dur"])
            spans[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])))
        elif e["ph"] == "i":
            spans[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"])))
    begins, ends = collections.Counter(), collections.defaultdict(list)
    for e in events:
        if e["ph"] in "sf":
            at = ns(e["ts"])
            assert list(e) == ["ph", "id", "pid", "tid", "ts", "cat", "name"] + ["bp"] * (e["ph"] == "f") + ["args"] * ("args" in e) and e.get("bp", "e") == "e"
            assert any(start <= at <= stop for start, stop in spans[e["pid"], e["tid"]]), e
            if e["ph"] == "s":
                begins[e["id"]] += 1
                ends[e["id"]].append(at)
            else:
                assert begins[e["id"]] == 1 and at >= ends[e["id"]][0]
                ends[e["id"]].append(at)
    assert all(len(each) >= 2 for each in ends.values()) and set(begins) == set(ends)
    assert all(isinstance(number, int) and number < 2**53 for number in begins)
    last = events[-1]
    assert (last["ph"], last["s"], last["name"], last["pid"], last["tid"]) == ("i", "g", "Record Window End", "", "")
    assert trace["schemaVersion"] == 1 and trace["baseTimeNanoseconds"] % GRID == 0 and list(trace)[-1] == "traceName"
    return events, spans


def hta(text, trace):
    """The rules of Holistic Trace Analysis' parser: the rank by a regular expression, rows with dur and cat alone, GPU work by its stream
    and correlation, launches by the same correlation among the runtime's calls, types of arguments."""
    assert re.search(r'"rank":\s+(\d+)', text.decode()) and int(re.search(r'"rank":\s+(\d+)', text.decode())[1]) == trace["distributedInfo"]["rank"]
    rows = [e for e in trace["traceEvents"] if "dur" in e and "cat" in e and e["cat"] != "Trace"]
    arg = lambda e, key: e.get("args", {}).get(key, -1)
    on_gpu = [e for e in rows if arg(e, "stream") >= 0 and arg(e, "correlation") >= 0]
    assert {e["cat"] for e in on_gpu} <= {"kernel", "gpu_memcpy", "gpu_memset"} and all(e["cat"] not in ("kernel", "gpu_memcpy") or e in on_gpu for e in rows)
    calls = {arg(e, "correlation"): e for e in rows if re.match("(.+)_(runtime|driver)$", e["cat"])}
    assert len(calls) == sum(bool(re.match("(.+)_(runtime|driver)$", e["cat"])) for e in rows)  # else one kernel would be many in its joins
    for e in trace["traceEvents"]:
        assert all(isinstance(value, ARGUMENTS.get(key, object)) for key, value in e.get("args", {}).items() if key != "name"), e
    for e in on_gpu:
        launch = {"kernel": "cudaGraphLaunch" if "graph node id" in e["args"] else "cudaLaunchKernel", "gpu_memcpy": "cudaMemcpyAsync"}.get(e["cat"])
        assert isinstance(e["args"]["stream"], int) and isinstance(e["args"]["correlation"], int)
        assert (e["pid"], e["tid"]) == (e["args"]["device"], e["args"]["stream"])
        call = calls.get(e["args"]["correlation"])
        assert "call" in e["args"] or call is None or ns(call["ts"]) <= ns(e["ts"]) and call["pid"] != e["pid"] and call["name"] == launch
    return on_gpu, calls


def row(start, stop, name, number, id, parent=0, kind=0, thread=7):
    return (ZERO + start, ZERO + stop if stop else 0, thread, name, number, id, parent, kind, 0, 0)


def kernel(start, stop, stream, number, correlation, begin=0, end=0, name=3, kind=0, bytes=0, node=0, call=0):
    return (ZERO + start, ZERO + stop, 5, stream, 7, 0, ZERO + begin if begin else 0, ZERO + end if end else 0, name, correlation, number, kind, bytes, node,
            call)


@pytest.fixture(scope="module")
def example(shared):
    """The example of PyTorch's own pages, with one range more that never ends, and a graph whose call launches two."""
    path = shared / "example.bin"
    work = [kernel(1000, 1500, 7, 1, 77, 600, 700), kernel(1600, 1700, 7, 1, 78, 710, 720, 6, 1, 4096), kernel(900, 1200, 9, 1, 79, 730, 740, 4),
            kernel(2700, 2800, 7, 2, 80, 2650, 2660, node=3), kernel(2750, 2900, 9, 2, 80, 2650, 2660, node=4), kernel(4000, 4100, 0, 0, 0)]
    ranges_make.write(path, [b"user_function", b"open", b"k", b"k2", b"ProfilerStep#3", b"Memcpy HtoD (Pageable -> Device)"],
                      ("range", RANGE, [row(500, 2500, 1, 1, 1234), row(2600, 0, 2, 2, BIG, kind=0), row(3000, 3000, 5, 3, 9, kind=2)]),
                      ("gpu_activity", ACTIVITY, work), zero=ZERO, stop=5000)
    return path


@pytest.fixture(scope="module")
def nested(shared):
    path = shared / "nested.bin"
    ranges_make.write(path, [b"outer", b"middle", b"inner", b"k"],
                      ("range", RANGE, [row(500, 2500, 1, 1, 11), row(600, 2400, 2, 2, 12, 1), row(700, 2300, 3, 3, 13, 2)]),
                      ("gpu_activity", ACTIVITY, [kernel(1000, 1500, 7, 1, 77, 510, 520, 4), kernel(2000, 2802, 7, 3, 78, 710, 720, 4)]), zero=ZERO)
    return path


@pytest.fixture(scope="module")
def calls_file(shared):
    path = shared / "calls.bin"
    texts = [b"k", b"NVIDIA \"H200\"", *(text.encode() for text in GIVEN if text)]
    work = [kernel(1000 * i, 1000 * i + 500, 7, 0, 77 + i, 1000 * i - 500, 1000 * i - 400, 1, 1 if "Memcpy" in text else 2 if "Memset" in text else 0,
                   call=texts.index(text.encode()) + 1 if text else 0) for i, text in enumerate(GIVEN, 1)]
    devices = [((1 << 32) + 3, 2, 132, 150 * 10**9), ((1 << 32) + 4, 0, 0, 0), (5, 2, 7, 0)]
    ranges_make.write(path, texts, ("gpu_activity", ACTIVITY, work), ("gpu_device", DEVICE, devices), zero=ZERO, stop=20000)
    return path


@pytest.fixture(scope="module")
def zero(shared):
    path = shared / "zero.bin"
    ranges_make.write(path, [b"r", b"k"], ("range", RANGE, [row(1, 2500, 1, 1, 0)]),
                      ("gpu_activity", ACTIVITY, [kernel(0, 500, 7, 1, 77, name=2), kernel(400, 600, 7, 0, 78, name=2), kernel(600, 700, 7, 0, 79, name=2),
                                                  kernel(2000, 2100, 7, 0, 80, 1900, 1910, name=2), kernel(2000, 2300, 9, 0, 81, 1950, 1960, name=2)]),
                                                  zero=ZERO)
    return path


@pytest.fixture(scope="module")
def example_events(rbwp, example):
    """Its text, its events and those that last, by category."""
    text = exported(rbwp, example)
    trace = load(text)
    events, _ = checked(trace)
    assert trace["baseTimeNanoseconds"] == ZERO
    spans = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            spans[e["cat"]].append(e)
    return text, events, spans


def notes(rbwp, path, *options):
    found = [e for e in checked(kineto(rbwp, path, *options))[0] if e.get("cat") == "gpu_user_annotation"]
    return sorted((e["name"], e["pid"], e["tid"], e["ts"], e["dur"], e["args"].get("External id", 0)) for e in found)


def test_annotations(example_events):
    _, _, spans = example_events
    found = [(e["name"], e["pid"], e["tid"], e["ts"], e["dur"], e["args"]["External id"]) for e in spans["gpu_user_annotation"]]
    assert found == [("user_function", 0, 7, "0.999", "0.702", 1234), ("open", 0, 7, "2.699", "0.102", BIG), ("user_function", 0, 9, "0.899", "0.302", 1234),
                     ("open", 0, 9, "2.749", "0.152", BIG)]
    assert all(not {"stream", "device", "correlation"} & set(e["args"]) for e in spans["gpu_user_annotation"])


def test_kernels_and_their_launches(example_events):
    text, events, spans = example_events
    on_gpu, calls = hta(text, load(text))
    assert len(on_gpu) == 6 and sorted(calls) == [77, 78, 79, 80]
    assert [(e["name"], e["args"]["bytes"], e["args"]["stream"]) for e in on_gpu
            if e["cat"] == "gpu_memcpy"] == [("Memcpy HtoD (Pageable -> Device)", 4096, 7)], on_gpu
    k, = [e for e in on_gpu if e["args"]["correlation"] == 77]
    assert (k["cat"], k["name"], k["ts"], k["dur"], k["pid"], k["tid"]) == ("kernel", "k", "1.000", "0.500", 0, 7)
    assert list(k["args"])[:3] == ["device", "correlation", "launched"]
    assert (calls[77]["ts"], calls[77]["dur"], calls[77]["cat"]) == ("0.600", "0.100", "cuda_runtime")
    host = calls[77]["pid"], calls[77]["tid"]
    assert [(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "s" and e["id"] == 77] == [(*host, "0.600")]
    assert [(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "f" and e["id"] == 77] == [(0, 7, "1.000")]
    assert [(e["tid"], e["ts"]) for e in events if e["ph"] == "f" and e["id"] == 80] == [(7, "2.700"), (9, "2.750")]
    # Ranges stand on their thread, with the id that their annotations have; what never ended lasts to the window's end.
    user = {e["name"]: e for e in spans["user_annotation"]}
    assert all((e["pid"], e["tid"]) == host for e in user.values()) and user["user_function"]["args"]["External id"] == 1234
    assert (user["open"]["ts"], user["open"]["dur"], user["open"]["args"]["finished"]) == ("2.600", "2.400", "false") and events[-1]["ts"] == "5.000"
    assert [(e["name"], e["cat"], e["s"], e["ts"]) for e in events if e["ph"] == "i" and "cat" in e] == [("ProfilerStep#3", "cpu_instant_event", "t", "3.000")]
    metadata = {(e["name"], e["pid"], e.get("tid")): e["args"] for e in events if e["ph"] == "M"}
    assert metadata["process_labels", 0, 0] == {"labels": "GPU 0"} and metadata["process_sort_index", 0, 0] == {"sort_index": 5000000}
    assert metadata["process_labels", host[0], None] == {"labels": "CPU"} and metadata["process_sort_index", host[0], None] == {"sort_index": host[0]}
    assert metadata["thread_name", 0, 7]["name"] == "stream 7 " and metadata["thread_sort_index", 0, 7] == {"sort_index": 7}


# The functions that launched, as Kineto would have called them, and where HTA looks for launches (its get_runtime_launch_events_query knows
# the first six).
GIVEN = ["cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemsetD32Async", "", "cuLaunchKernelEx", "cuGraphLaunch",
         "cuMemcpyDtoH", "cudaLaunchCooperativeKernel", "cuSomethingNew"]
SHOWN = ["cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaLaunchKernel", "cuLaunchKernelEx",
         "cudaGraphLaunch", "cudaMemcpy", "cudaLaunchCooperativeKernel", "cudaLaunchKernel"]


def test_function_that_launched(rbwp, calls_file):
    text = exported(rbwp, calls_file)
    trace = load(text)
    events, _ = checked(trace)
    _, calls = hta(text, trace)
    assert [calls[78 + i]["name"] for i in range(len(GIVEN))] == SHOWN, calls
    assert all((call["cat"] == "cuda_driver") == call["name"].startswith("cu" + "L") for call in calls.values())
    assert [e["args"].get("call", "") for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")] == GIVEN
    assert trace["deviceProperties"] == [{"id": 3, "name": 'NVIDIA "H200"', "numSms": 132, "totalGlobalMem": 150 * 10**9},
                                         {"id": 2, "name": 'NVIDIA "H200"', "numSms": 7}]


def test_nested_ranges(rbwp, nested):
    """Work is credited to the innermost alone, as Kineto does, and to all around it where that is asked for; an outer range without a
    launch of its own has none then."""
    assert notes(rbwp, nested) == [("inner", 0, 7, "1.999", "0.804", 13), ("outer", 0, 7, "0.999", "0.502", 11)]
    assert notes(rbwp, nested, "--outer-ranges") == [("inner", 0, 7, "1.999", "0.804", 13), ("middle", 0, 7, "1.999", "0.804", 12),
                                                     ("outer", 0, 7, "0.999", "1.804", 11)]


def test_work_at_the_very_beginning(rbwp, zero):
    """Its annotation cannot begin before 0, and is as long as ever. What overlaps stands beside."""
    events, _ = checked(kineto(rbwp, zero))
    note, = [e for e in events if e.get("cat") == "gpu_user_annotation"]
    assert (note["ts"], note["dur"], note["args"]["External id"]) == ("0.000", "0.502", 1)
    tids = [e["tid"] for e in events if e.get("cat") == "kernel"]
    assert tids[0] == tids[2] == tids[4] == 7 != tids[1] and tids[3] == 9


def test_names_of_any_bytes(rbwp, work):
    path = work / "hostile.bin"
    x.hostile_names(path)
    events, _ = checked(kineto(rbwp, path))
    assert any(e["name"] == 'quote " backslash \\ slash /' for e in events)
    assert collections.Counter((e["name"], ns(e["ts"]), ns(e["dur"])) for e in events if e["ph"] == "X") == collections.Counter(
        (s.name, s.start - 10**18 // GRID * GRID, s.stop - s.start) for s in x.spans(rbwp.path, path).elements())


def links_of(rbwp, work, path):
    """The spans that links lead to."""
    done = rbwp("export", "-f", "-o", work / "links.sqlite", path, code=None)
    if "without SQLite" in done.error:
        return {}
    db = sqlite3.connect(f"{work}/links.sqlite")
    return collections.Counter(db.execute("SELECT link.kind, link.from_ns, name.name, span.start_ns, span.duration_ns "
                                          "FROM link LEFT JOIN span ON span.id = link.to_span "
                                          "LEFT JOIN name ON name.id = span.name"))


def all_of(rbwp, work, path):
    """Every span without what only tells apart, and the number of links."""
    rows = collections.Counter()
    for line in rbwp("export", "--to", "ndjson", path).lines:
        span = json.loads(line)
        for key in ("id", "parent", "launch_span"):
            span.pop(key, None)
        rows[json.dumps(span, sort_keys=True)] += 1
    chrome = rbwp("export", "--to", "chrome", path).json
    events = chrome["traceEvents"]
    names = {e["tid"]: e["args"]["name"].split(" / ")[0] for e in events if e["name"] == "thread_name"}
    others = collections.Counter((e["ph"], e["cat"], e["name"], names[e["tid"]], e["ts"]) for e in events if e["ph"] in "sf" or e.get("cat") == "loss")
    tracks = collections.Counter(json.dumps({k: v for k, v in e["args"].items() if k not in ("rbwp_track", "rbwp_parent", "sort_index", "rbwp_source")})
                                 for e in events if e["ph"] == "M" and not e["args"].get("rbwp_row"))
    counts = collections.Counter((e["name"], e["ts"], e["args"]["value"]) for e in events if e["ph"] == "C")
    return rows, links_of(rbwp, work, path), others, tracks, counts, {chrome["otherData"]["origin_ns"]: 1}


def again(rbwp, work, path, code=0):
    out = f"{work}/again.kineto.json"
    rbwp("export", "-f", "-o", out, path, code=code)
    done = rbwp("export", "--to", "csv", out)
    assert "nowhere" not in done.error
    assert load(pathlib.Path(out).read_bytes())["deviceProperties"] == kineto(rbwp, out)["deviceProperties"]
    for one, two in zip(all_of(rbwp, work, path), all_of(rbwp, work, out)):
        assert one == two, (path, sorted(set(one) - set(two))[:4], sorted(set(two) - set(one))[:4])
    return out


@pytest.mark.parametrize("name", ["example", "zero", "calls_file"])  # JSON has no names that are not UTF-8, and readers keep 4096 bytes
def test_own_files_read_back(rbwp, work, request, name):
    again(rbwp, work, request.getfixturevalue(name))


@pytest.mark.parametrize("name", ["level2_all_types_zlib", "multi_thread", "empty"])
def test_golden_files_read_back(rbwp, golden, work, name):
    checked(kineto(rbwp, golden / f"{name}.bin"))
    again(rbwp, work, golden / f"{name}.bin")


def test_times_of_centuries(rbwp, golden):
    """Which readers of JSON do not take."""
    checked(kineto(rbwp, golden / "gpu_work.bin"))


def test_model_read_back(rbwp, run, program, work):
    run(program("MAKE_MODEL"), work / "model.bin", "rows")
    checked(kineto(rbwp, work / "model.bin"))
    again(rbwp, work, work / "model.bin")


def test_overlapping_work_read_back(rbwp, work):
    path = work / "overlap.bin"
    x.overlapping_gpu(path)
    events, _ = checked(kineto(rbwp, path))
    assert all("correlation" in e["args"] for e in events if e.get("cat") == "kernel")
    again(rbwp, work, path)


def test_everything_read_back(rbwp, run, program, work):
    path = work / "1.json"
    run(program("MAKE_EVERYTHING"), "chrome", path)
    done = json.loads(path.read_text())
    done["otherData"].update({"rbwp.version": "0", "origin_ns": "1700000000000000000"})
    path.write_text(json.dumps(done))
    checked(kineto(rbwp, path))
    again(rbwp, work, path)


def test_merged(rbwp, run, program, work):
    """What was exported of each node, merged, is what both are merged, but for links from one node to the other."""
    nodes = [work / f"{node}.bin" for node in (0, 1)]
    parts = []
    for node, path in enumerate(nodes):
        run(program("MAKE_MODEL"), path, "rows", str(node), str(1 - node))
        parts.append(pathlib.Path(again(rbwp, work, path)).rename(work / f"{node}.kineto.json"))
    both, merged = work / "both.kineto.json", work / "parts.kineto.json"
    rbwp("merge", "-o", both, *nodes)
    checked(load(both.read_bytes()))
    again(rbwp, work, both)
    rbwp("merge", "-o", merged, *parts)
    for i, (one, two) in enumerate(zip(all_of(rbwp, work, both), all_of(rbwp, work, merged))):
        assert i in (1, 2) or one == two, (sorted(set(one) - set(two))[:4], sorted(set(two) - set(one))[:4])


def test_file_of_pytorch_itself(rbwp, work):
    """It keeps its words, arguments and places."""
    base = 1699999999000000000
    own = {"schemaVersion": 1, "deviceProperties": [{"id": 1, "name": "NVIDIA H100", "totalGlobalMem": 85899345920, "computeMajor": 9, "more": {"x": [1]},
                                                     "numSms": 132}, 5],
           "baseTimeNanoseconds": base, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 77, "tid": 78, "ts": 10.5, "dur": 5, "args": {"External id": 9, "Input Dims": [[2, 3], []]}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 78, "ts": 11, "dur": 1, "args": {"cbid": 211, "correlation": 5}},
        {"ph": "s", "id": 5, "pid": 77, "tid": 78, "ts": 11, "cat": "ac2g", "name": "ac2g"},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 7, "ts": 20, "dur": 3,
         "args": {"device": 1, "context": 1, "stream": 7, "correlation": 5, "grid": [1, 1, 1]}},
        {"ph": "f", "id": 5, "pid": 1, "tid": 7, "ts": 20, "cat": "ac2g", "name": "ac2g", "bp": "e"},
        {"ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 1, "tid": 7, "ts": 30, "dur": 1,
         "args": {"device": 1, "stream": 7, "correlation": 6, "bytes": 4}},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 1, "tid": 7, "ts": 19.999, "dur": 11.002, "args": {"External id": 12}},
        {"ph": "M", "name": "process_labels", "pid": 1, "tid": 0, "ts": 0, "args": {"labels": "GPU 1"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 7, "ts": 0, "args": {"name": "stream 7 "}}]}
    path = work / "own.json"
    path.write_text(json.dumps(own))
    text = exported(rbwp, path)
    trace = load(text)
    events, _ = checked(trace)
    assert trace["deviceProperties"] == [{"id": 1, "name": "NVIDIA H100", "numSms": 132, "totalGlobalMem": 85899345920}]
    assert trace["distributedInfo"] == {"rank": 3, "world_size": 8} and len(hta(text, trace)[0]) == 2
    strip = lambda args: {k: v for k, v in args.items() if k != "rbwp"}
    have = {(e["cat"], e["name"], e["pid"], e["tid"], ns(e["ts"]) + trace["baseTimeNanoseconds"] - base, json.dumps(strip(e["args"]))) for e in events
            if e["ph"] == "X"}
    want = {(e["cat"], e["name"], e["pid"], e["tid"], round(e["ts"] * 1000) - (e["cat"] == "gpu_user_annotation"), json.dumps(e["args"]))
            for e in own["traceEvents"] if e["ph"] == "X"}
    assert have == want, (have - want, want - have)
    assert sum(e["ph"] in "sf" for e in events) == 2
    again(rbwp, work, path)


def event(category, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


@pytest.mark.parametrize("runtime", ["xpu_runtime", "cuda_runtime"])
def test_annotations_of_a_profiler_without(rbwp, nested, work, runtime):
    """They are made when they are asked for: by the innermost range around each launch on its thread, once for each stream; GPUs are one
    process each, though no stream has a name. Those that a file has are believed."""
    made = [event("user_annotation", "step", 42, 42, 500, 2000, **{"External id": 1234}),
            event("user_annotation", "inner", 42, 42, 610, 30, **{"External id": 1 << 33}),
            event("user_annotation", "elsewhere", 42, 43, 500, 2000), event("user_annotation", "before", 42, 42, 400, 100)]
    for i, (category, stream, ts, dur) in enumerate([("gpu_memcpy", 7, 1000, 100), ("kernel", 9, 1300, 500), ("kernel", 9, 1900, 100),
                                                     ("kernel", 7, 2600, 50)]):
        launch = [600, 620, 650, 2500][i]  # the last one when the range is over
        made += [event(category, "k", 0, stream, ts, dur, device=0, stream=stream, correlation=77 + i),
                 event(runtime, "launch", 42, 42, launch, 5, correlation=77 + i),
                 {"ph": "s", "id": 77 + i, "pid": 42, "tid": 42, "ts": launch, "cat": "ac2g", "name": "ac2g"},
                 {"ph": "f", "id": 77 + i, "pid": 0, "tid": stream, "ts": ts, "cat": "ac2g", "name": "ac2g", "bp": "e"}]
    bare = work / "bare.json"
    write = lambda events: bare.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": events}))
    write(made)
    assert notes(rbwp, bare) == []
    inner = ("inner", 0, 9, "1299.999", "500.002", 1 << 33)
    assert notes(rbwp, bare, "--annotate") == [inner, ("step", 0, 7, "999.999", "100.002", 1234), ("step", 0, 9, "1899.999", "100.002", 1234)]
    outer = notes(rbwp, bare, "--annotate", "--outer-ranges")
    assert outer[1:] == [("step", 0, 7, "999.999", "100.002", 1234), ("step", 0, 9, "1299.999", "700.002", 1234)]
    rows = [json.loads(line) for line in rbwp("merge", "--to", "ndjson", "--annotate", "-o", "-", bare, nested).lines]
    assert sorted((r["name"], r["track"], r["duration_ns"]) for r in rows if r.get("category") == "annotation" and r["process"] == "process 0") == [
        ("inner", "stream 9", 500000), ("step", "stream 7", 100000), ("step", "stream 9", 700000)], rows
    again(rbwp, work, bare)
    write(made + [event("gpu_user_annotation", "its own", 0, 7, 999.999, 1.002)])
    assert [note[0] for note in notes(rbwp, bare, "--annotate")] == ["its own"]


def test_our_words_changed_by_a_stranger(rbwp, example, work):
    trace = rbwp("export", "--to", "kineto", example).json
    for e in trace["traceEvents"]:
        if e["ph"] == "X":
            e["dur"] = 0.001
            e.setdefault("args", {})["rbwp"] = {"made": 2**64 - 1, "track": 2**32 - 1, "as": "nothing", "start_ns": str(2**63 - 1), "item": -1, "own": 1}
        elif e["name"] == "thread_name":
            e["args"].update(rbwp_works=2**32 - 1, rbwp_track=2**32 - 1, rbwp_parent=2**32 - 1)
    odd = work / "odd.json"
    odd.write_text(json.dumps(trace))
    spans = [json.loads(line) for line in rbwp("export", "--to", "ndjson", odd).lines]
    assert len(spans) == 19 and all(0 <= s["duration_ns"] <= 1 and abs(s["start_ns"] - ZERO) < 10**6 for s in spans)


def test_compressed_by_its_name(rbwp, example, work):
    path = work / "a.pt.trace.json.gz"
    rbwp("export", "-o", path, example)
    packed = load(gzip.open(path).read())
    assert packed.pop("traceName") == str(path) and packed == {k: v for k, v in kineto(rbwp, example).items() if k != "traceName"}
