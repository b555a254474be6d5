# SPDX-License-Identifier: Apache-2.0
"""Copies of buffers that kernels wrote become durations, the JSON of those whose formats they are, and profiles.
Guards: numbers and names of buffers made by hand, in each form; iris's JSON to the order of its members and the names
of its files; microseconds, clock offsets and rows of what overlaps; lanes below their GPU, which they keep no busier;
damage reported by kind with exit 3, and files that are something else."""
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys

import perfetto_decode
import pytest


@pytest.fixture(scope="module")
def files(run, shared):
    """The folder of all that lanes_make.py makes."""
    run(sys.executable, "-B", pathlib.Path(__file__).with_name("lanes_make.py"), shared)
    return shared


@pytest.fixture(scope="module")
def lanes(rbwp, files):
    return lambda *words, code=0: rbwp("lanes", *words, code=code, cwd=files)


@pytest.fixture(scope="module")
def events(rbwp, files):
    return lambda *words, code=0: rbwp("events", *words, code=code, cwd=files)


@pytest.fixture(scope="module")
def iris(events):
    return lambda *words: events("--to", "iris", *words)


@pytest.fixture
def load(files):
    return lambda name: json.loads((files / name).read_text())


def times(trace):
    return [(e["ts"], e.get("dur"), e["ph"]) for e in trace["traceEvents"] if e["ph"] != "M"]


def has_line(text, pattern):
    return re.search(f"^{pattern}$", text, re.M) is not None


# ---- durations
def test_durations(lanes):
    done = lanes("v1.bin").says("1 begins have no end")
    assert has_line(done.text, r"group_0 +event_5 +1( +0\.128){6} +0")
    assert has_line(done.text, r"group_1 +event_1023 +0( +0\.000){6} +1")
    assert has_line(done.text, "group +event +n +total us +mean us +min us +p50 us +p99 us +max us +unmatched")
    for name in "v1.npy", "rows.npy":
        assert lanes(name).out == done.out


def test_durations_by_block(lanes):
    rows = [line.split()[:4] for line in lanes("--by-block", "v1.bin").lines]
    assert rows == [["block", "group", "event", "n"], ["0", "group_0", "event_0", "1"], ["0", "group_1", "event_1", "1"], ["1", "group_0", "event_5", "1"],
                    ["1", "group_1", "event_1023", "0"]]
    assert has_line(lanes("--by-block", "--json", "v1.bin").text, r'\{"block":1,"group":"group_0","event":"event_5","n":1,.*')
    assert has_line(lanes("--json", "v1.bin").text, r'\{"group":"group_0","event":"event_5","n":1,.*')


def test_durations_of_events(events):
    text = events("r0.evt", "r1.evt").says("2 of 6 events had no slot").text
    assert has_line(text, r"rank 0 +store +1( +8\.000){6} +0")
    assert has_line(text, "rank 0 +unknown_99 +0 .* 1")
    assert has_line(events("--events", "99=gather", "r0.evt").text, "rank 0 *gather .*")


# ---- damage, and what is something else
def test_damage(lanes, events, files):
    lanes("bad.bin", code=3).says("damaged: 1 records with the tag of another lane", "damaged: 1 times before that of the record before")
    lanes("cut.npy", code=3).says("the file is not as long as its head says")
    (files / "long.bin").write_bytes((files / "v1.bin").read_bytes() + b"abc")
    lanes("long.bin", code=3).says("bytes stand behind its records")
    events("cut.evt", code=3).says("events are missing, as the file is cut")


def test_full_lanes(lanes):
    lanes("whole.bin").says("1 lanes have finalize in their last slot: records are missing if")
    lanes("brim.bin").says("1 lanes are full: records may be missing")


def test_other_files(lanes, events):
    for name in "float", "fortran":
        lanes(f"{name}.npy", code=1).says("is a NumPy file, but")
    lanes("r0.evt", code=1)
    events("v1.bin", code=1)
    events("v1.npy", code=1)
    for name in "nofield", "narrow":
        events("--clock", "1000000000", f"{name}.npy", code=1).says("its records have no field op_index of 4 bytes")
    events("r0.evt", "r0.evt", code=1).says("are both of rank 0")
    lanes("--stride", "3", "v1.bin", code=1).says("lanes would share slots")


def test_usage(lanes, events):
    for words in ("--dialect cupti v1.bin", "--clock 0 v1.bin", "--anchor 0=7 v1.bin", "--anchor 5x7 v1.bin", "--anchor 5= v1.bin", "--to rbwp v1.bin",
                  "--to warpscope v1.bin v1.npy"):
        lanes(*words.split(), code=2)
    for words in "--merge r0.evt", "--to iris r0.evt r1.evt":
        events(*words.split(), code=2)
    for offset in ("1", "=5", "0=", "0=5x", "0=5:", "0=5:x", "0=:5", "0=5:7x", "0=-"):
        events("--offset", offset, "r0.evt", code=2).says("is no RANK=NS or RANK=NS:BOUND")


# ---- iris: files and names
SYSTEM = ["process_name", "command_line", "hostname", "gpu_device_name", "gpu_total_memory_gb", "gpu_arch", "gpu_cu_count", "gpu_num_xcc", "rocm_version"]


@pytest.fixture(scope="module")
def raw(iris, files):
    """The text of rank 0, of two that were merged."""
    iris("--raw-cycles", "--merge", "-o", "raw.json", "r1.evt", "r0.evt")
    return (files / "raw_rank0.json").read_text()


@pytest.fixture(scope="module")
def merged(iris, files):
    iris("--merge", "-o", "us.json", "r0.evt", "r1.evt")
    return json.loads((files / "us.json").read_text())


def test_iris_exactly(raw):
    """The first event as text, members in order, what has no end or no length is an instant."""
    text, raw = raw, json.loads(raw)
    first = {"name": "put", "cat": "iris", "ts": 5000, "pid": 0, "tid": "XCC2_CU5",
             "args": {"program_id": 7, "pid_m": 1, "pid_n": 2, "target_rank": 1, "address": "0x7f0010002000", "xcc_id": 2,
                      "cu_id": 5, "op_index": 0, "payload_size": 32}, "ph": "X", "dur": 600}
    assert json.dumps(raw["traceEvents"][0]) == json.dumps(first)
    assert [e["name"] for e in raw["traceEvents"]] == ["put", "store", "unknown_99", "atomic_add", "process_name"]
    assert times(raw) == [(5000, 600, "X"), (5100, 800, "X"), (5200, None, "i"), (5300, None, "i")]
    assert raw["traceEvents"][1]["tid"] == "XCC2_CU5"
    assert list(raw["traceEvents"][2]) == ["name", "cat", "ts", "pid", "tid", "args", "ph", "s"]
    assert json.dumps(raw["traceEvents"][4]) == json.dumps(
        {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "Rank 0"}})
    assert list(raw) == ["traceEvents", "displayTimeUnit", "metadata"] and raw["displayTimeUnit"] == "ns"
    meta = raw["metadata"]
    assert list(meta) == ["schema_version", "num_events", "rank", "world_size", "time_unit", "fields", *SYSTEM, "recorded",
                          "dropped"]
    assert (meta["schema_version"], meta["num_events"], meta["world_size"]) == ("1.1", 4, 2)
    assert meta["time_unit"] == "raw cycles (s_memrealtime @ 100MHz)" and (meta["recorded"], meta["dropped"]) == (6, 2)
    assert list(meta["fields"]) == ["name", "cat", "ts", "pid", "tid", "ph", "dur", "args"]
    assert text == json.dumps(raw, indent=2)  # as Python writes it


def test_iris_of_one_rank(iris, raw, files):
    iris("--raw-cycles", "-o", "plain", "r0.evt")
    assert (files / "plain_rank0").read_text() == raw
    for name in "r0.npy", "r0.arrays":
        assert iris("--raw-cycles", "--clock", "100MHz", "--count", "6", "--ranks", "2", name).text.replace(name, "r0.evt") == raw


def test_rank_alone(events):
    """It reports at least so many."""
    done = events("--to", "iris", "--rank", "3", "r0.npy", code=3).says("4 events are of another rank")
    assert '"world_size": 4,' in done.text


def test_iris_merged(raw, load):
    """Ranks in order, the least time becomes 0."""
    merged = load("raw.json")
    assert times(merged) == [(1000, 600, "X"), (1100, 800, "X"), (1200, None, "i"), (1300, None, "i"), (0, 10, "X")]
    meta = merged["metadata"]
    assert list(meta) == ["schema_version", "total_events", "max_events", "time_unit", "world_size", "timestamp_offset",
                          "aligned", "fields", *SYSTEM, "ranks"]
    assert (meta["total_events"], meta["timestamp_offset"], meta["max_events"]) == (7, 4000, 4)
    assert meta["aligned"] == "minimum timestamp across all ranks"


def test_iris_in_microseconds(iris, merged, load, files):
    """With rows of what overlaps."""
    assert times(merged) == [(10, 6, "X"), (11, 8, "X"), (12, None, "i"), (13, None, "i"), (0, 0.1, "X")]
    text = (files / "us.json").read_text()
    assert '"dur": 6.000' in text and '"ts": 10.000' in text
    assert times(load("us_rank0.json"))[0] == (50, 6, "X")
    iris("-o", "nvidia.json", "nvidia.evt")
    assert times(load("nvidia_rank0.json"))[0] == (5, 0.6, "X")
    tracks = {}
    for e in merged["traceEvents"]:
        if e["ph"] == "X":
            tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
    assert (0, "XCC2_CU5") in tracks and (0, "XCC2_CU5 / 1") in tracks
    for spans in tracks.values():
        assert not any(a[0] < b[0] < a[1] < b[1] for a in spans for b in spans)


@pytest.mark.parametrize("words", ["r0.evt r1_ahead.evt", "--offset 1=9000:70 r0.evt r1.evt"])
def test_clock_offsets(iris, load, words):
    iris("--merge", "-f", "-o", "aligned.json", *words.split())
    trace = load("aligned.json")
    assert times(trace)[0][0] == 19 and times(trace)[4][0] == 0  # 50 us less 31 us
    assert trace["metadata"]["ranks"][1] == {"rank": 1, "recorded": 1, "dropped": 0, "clock_offset_ns": 9000, "clock_error_ns": 70, "clock_drift_ppb": 0}


def test_times_as_far_apart_as_can_be(iris, events):
    """Each difference is right, and no undefined behaviour (negating INT64_MIN)."""
    ends = ('"dur": 18446744073709551.615', '"dur": 9223372036854775.812', '"dur": 9223372036854775.800')
    assert sum(line.endswith(ends) for line in iris("far.evt").lines) == 3
    for form in "csv", "chrome", "rbwp":
        events("-f", "--to", form, "-o", f"far.{form}", "far.evt")


# ---- the other forms
@pytest.fixture(scope="module")
def profile(lanes, files):
    lanes("--to", "rbwp", "-o", "v1_profile.bin", "v1.bin")
    return files / "v1_profile.bin"


def test_warpscope(lanes):
    """A process a block, a thread a group, microseconds."""
    trace = lanes("--to", "warpscope", "--events", "wait,mma", "--groups", "load", "v1.bin").json["traceEvents"]
    spans = [(e["pid"], e["tid"], e["ts"], e["dur"], e["name"]) for e in trace if e["ph"] == "X"]
    assert spans == [(0, 0, 0, 0.096, "wait"), (0, 1, 0.016, 0.048, "mma"), (1, 0, 0.288, 0.128, "event_5"),
                     (1, 1, 0.304, 0, "event_1023")]
    assert [(e["pid"], e["tid"], e["ts"], e["name"]) for e in trace if e["ph"] == "i"] == [(0, 1, 0.08, "event_2")]
    assert trace[-1]["args"] == {"unclosed": True}
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in trace if e["ph"] == "M"}
    assert names == {(0, None): "block 0", (0, 0): "load", (0, 1): "group_1", (1, None): "block 1", (1, 0): "load",
                     (1, 1): "group_1"}


def test_packed(lanes, iris, files):
    """A name that ends in .gz: the same text, packed, and the ranks' names keep the suffix."""
    for command, name, names in ((lambda *words: lanes("--to", "warpscope", *words, "v1.bin"), "lane", ["lane"]),
                                 (lambda *words: iris("--merge", *words, "r0.evt", "r1.evt"), "pair", ["pair", "pair_rank0", "pair_rank1"])):
        command("-o", f"{name}.json"), command("-o", f"{name}.json.gz")
        for file in names:
            assert gzip.decompress((files / f"{file}.json.gz").read_bytes()) == (files / f"{file}.json").read_bytes(), file


def places(trace):
    events = trace["traceEvents"]
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["name"] in ("process_name", "thread_name")}
    return {(e["pid"], e["tid"], names[e["pid"], None], names[e["pid"], e["tid"]]) for e in events if e["ph"] in "Xi"}


def test_chrome(rbwp, lanes, profile):
    """The same processes and threads, with a SM as the process where it is known."""
    blocks = places(lanes("--to", "chrome", "--events", "wait,mma", "--groups", "load", "v1.bin").json)
    assert blocks == {(0, 0, "block 0", "load"), (0, 1, "block 0", "group_1"), (1, 0, "block 1", "load"), (1, 1, "block 1", "group_1")}
    processes = places(rbwp("export", "--to", "chrome", "--block-processes", profile).json)
    assert {place[:3] for place in processes} == {place[:3] for place in blocks}
    assert places(lanes("--to", "chrome", "v2.bin").json) == {(77, 0, "SM 77", "group_0"), (77, 1, "SM 77", "group_1")}
    assert places(lanes("--to", "chrome", "--by-block", "v2.bin").json) == {(1, 0, "block 1", "group_0"), (2, 1, "block 2", "group_1")}


def test_perfetto(lanes, files):
    """By the independent reader: "wait" for 640 ns on its group below its block."""
    lanes("--events", "wait", "-o", "wait.pftrace", "wait.bin")
    trace = perfetto_decode.Trace((files / "wait.pftrace").read_bytes())
    (wait,) = [found for found in trace.slices if found.category != "fact"]
    assert (wait.name, wait.start, wait.stop) == ("wait", 0, 640)
    above, track = [], wait.track
    while track in trace.tracks:
        above.append(perfetto_decode.one(trace.tracks[track], 2, b"").decode())
        track = perfetto_decode.one(trace.tracks[track], 5)
    assert above[:4] == ["group_0", "block 0", "lanes", "GPU 0x0"]


def test_perfetto_by_protoc(lanes):
    if not shutil.which("protoc"):
        pytest.skip("no protoc here")
    packed = lanes("--no-deflate", "--to", "perfetto", "wait.bin").out
    assert subprocess.run(["protoc", "--decode_raw"], input=packed, capture_output=True, check=True).stdout


def test_lanes_in_the_model(lanes):
    """They are below their GPU, ranges and no work."""
    rows = [json.loads(line) for line in lanes("--to", "ndjson", "v1.bin").lines]
    assert {(row["category"], row["track_kind"]) for row in rows} == {("range", "lane")}
    assert sorted((row["track"], row["name"], row["start_ns"], row["duration_ns"]) for row in rows) == [
        ("group_0", "event_0", 0, 96), ("group_0", "event_5", 288, 128), ("group_1", "event_1", 16, 48),
        ("group_1", "event_1023", 304, 0), ("group_1", "event_2", 80, 0)], rows


def test_events_in_the_model(events):
    rows = [json.loads(line) for line in events("--to", "ndjson", "r0.evt", "r1_ahead.evt").lines]
    puts = {row["args"]["rank"]: row for row in rows if row["name"] == "put"}
    assert puts[0]["start_ns"] - puts[1]["start_ns"] == 19000 and puts[0]["args"]["target_rank"] == 1
    assert puts[1]["start_uncertain_ns"] == 70 and len({row["lane"] for row in rows if row["track"] == "XCC2_CU5"}) == 2


def test_gpu_is_no_busier(rbwp, profile):
    rbwp("check", profile)
    stats = rbwp("stats", "--json", profile).json
    assert [(gpu["name"], gpu["busy"]) for gpu in stats["gpus"]] == [("GPU 0x0", 0)], stats["gpus"]
