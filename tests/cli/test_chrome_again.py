# SPDX-License-Identifier: Apache-2.0
"""Our own Chrome JSON, read and written again, is the same: every event, argument, counter, arrow, process and track, though numbers that
only distinguish things may differ; as CSV it is what the file itself is."""
import collections
import csv
import io
import json

import pytest


def events(path):
    """Without what only distinguishes: numbers of processes, threads, tracks and arrows."""
    with open(path) as file:
        trace = json.load(file)["traceEvents"]
    names = {(e["name"], e.get("tid", e["pid"])): e["args"]["name"] for e in trace if e["name"] in ("process_name", "thread_name")}
    tracks = {e["args"].get("rbwp_track"): e["args"]["name"] for e in trace if e["name"] == "thread_name" and not e["args"].get("rbwp_row")}
    seen = collections.Counter()
    for e in trace:
        if e["name"].endswith("sort_index"):
            continue
        e["pid"] = names["process_name", e["pid"]]
        if e.get("tid"):
            e["tid"] = names["thread_name", e["tid"]]
        if e["ph"] in "stfC":
            e.pop("id", None)
        if "dur" in e:
            e["dur"] = round(e["dur"], 3)
        args = e.get("args", {})
        args.pop("rbwp_source", None)
        args.pop("rbwp_track", None)
        for holder, key in ((args, "rbwp_parent"), (args.get("rbwp", {}), "launch_track")):
            if key in holder:
                holder[key] = tracks[holder[key]]
        seen[json.dumps(e, sort_keys=True)] += 1
    return seen


@pytest.fixture
def again(rbwp, work):
    """again(path): the number of events, which are the same when they are written again."""
    def written(path):
        done = rbwp("export", "-o", work / "again.json", path)
        assert "nowhere" not in done.error
        one, two = events(path), events(work / "again.json")
        assert one == two
        return sum(one.values())

    return written


def rows(rbwp, path):
    text = rbwp("export", "--to=csv", path, code=(0, 3)).text
    return sorted(tuple(v for k, v in row.items() if k not in ("id", "parent")) for row in csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("name", ["level2_all_types_zlib", "multi_thread", "discard", "crash_killed", "defect_discard_rotate", "empty"])
def test_golden_files(rbwp, golden, again, work, name):
    path = golden / f"{name}.bin"
    rbwp("export", "-o", work / "1.json", path, code=(0, 3))
    assert again(work / "1.json") > 0
    assert rows(rbwp, work / "1.json") == rows(rbwp, path)


@pytest.fixture(scope="module")
def recording(golden):
    return golden / "multi_thread.bin"


@pytest.fixture(scope="module")
def exported(rbwp, recording, shared):
    """By form; "twice" was made of another export."""
    paths = {}
    for form in ("chrome", "kineto", "perfetto", "legion"):
        paths[form] = shared / f"own.{form}"
        rbwp("export", "--to", form, "-o", paths[form], recording)
    paths["twice"] = shared / "own.json"
    rbwp("export", "-o", paths["twice"], paths["perfetto"])
    return paths


def test_items_of_exports(rbwp, recording, exported):
    def items(path):
        spans = (json.loads(line) for line in rbwp("export", "--to=ndjson", path).lines)
        return collections.Counter((s["name"], s["category"], s["item"]) for s in spans)

    assert items(exported["chrome"]) == items(exported["perfetto"]) == items(recording)
    assert len({item for *_, item in items(recording)}) > 1


def test_recording_and_its_export(rbwp, golden, recording, exported, work):
    """They would count twice: refused, in either order, also after another export, and merged if it is asked for all the same."""
    out, twice = work / "2.json", exported["twice"]
    for pair in [(recording, made) for made in exported.values()] + [(twice, recording), (exported["chrome"], exported["kineto"])]:
        rbwp("merge", "-f", "-o", out, *pair, code=1).says("it would count twice")
    rbwp("merge", "-f", "--force-merge", "-o", out, recording, twice)
    rbwp("merge", "-f", "-o", out, golden / "gaps.bin", twice)


def test_all_that_a_trace_can_hold(run, program, again, work):
    path = work / "1.json"
    run(program("MAKE_EVERYTHING"), "chrome", path)
    trace = json.loads(path.read_text())
    trace["otherData"].update({"rbwp.version": "0", "origin_ns": "1700000000000000000"})
    path.write_text(json.dumps(trace))
    assert again(path) > 30


def test_long_arguments(rbwp, work):
    """Longer than the buffer they are written through: whole, as JSON and in a row."""
    long = {f"k{i:03}": "x" * 254 for i in range(1000)}  # as much as is kept of one event; with commas and colons 264,000 bytes
    event = {"ph": "X", "name": "long", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": long}
    (work / "1.json").write_text(json.dumps({"traceEvents": [event]}))
    written = rbwp("export", "--to=chrome", work / "1.json").json["traceEvents"]
    assert [e["args"] for e in written if e["ph"] == "X"] == [long]
    usual = csv.field_size_limit(1 << 20)
    row, = csv.DictReader(io.StringIO(rbwp("export", "--to=csv", work / "1.json").text))
    csv.field_size_limit(usual)
    assert json.loads(row["args"]) == long
