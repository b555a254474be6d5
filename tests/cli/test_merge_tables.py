# SPDX-License-Identifier: Apache-2.0
"""Files with tables, merged: each process has its own rows, names, GPU (with its own bias) and counters, whatever
numbers the files give to names and processors; links lead from one file to the other where keys do."""
import collections
import json
import re

import pytest

T = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def files(run, program, shared):
    a, b = shared / "a", shared / "b"
    run(program("MAKE_MODEL"), a, "rows", "0", "1")
    run(program("MAKE_MODEL"), b, "rows", "1", "0")
    return a, b


def spans(rbwp, *files):
    """By process: what each span says, without the numbers that only a trace gives."""
    found = collections.defaultdict(list)
    rows = [json.loads(line) for line in rbwp("merge", "--to=ndjson", *files).lines]
    by_id = {r["id"]: r for r in rows}
    assert len(by_id) == len(rows)
    for r in rows:
        launcher = by_id.get(r.get("launch_span"))
        assert not r.get("launch_span") or launcher["process"] == r["process"]
        made = {k: v for k, v in r.items() if k not in ("id", "parent", "launch_span", "process")}
        made["launcher"] = launcher and (launcher["track"], launcher["start_ns"])
        found[r["process"]].append(json.dumps(made, sort_keys=True))
    return {process: sorted(rows) for process, rows in found.items()}


class Chrome:
    def __init__(self, rbwp, *files):
        done = rbwp("merge", "--to=chrome", *files)
        self.error, events = done.error, done.json["traceEvents"]
        process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        track = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        place = lambda e: (process[e["pid"]], track[e["pid"], e["tid"]], e["ts"])
        ends = {ph: {(e["cat"], e["name"], e["id"]): place(e) for e in events if e["ph"] == ph} for ph in "sf"}
        assert ends["s"].keys() == ends["f"].keys()
        self.links = sorted((key[1], *ends["s"][key], *ends["f"][key]) for key in ends["s"])
        self.counters = collections.defaultdict(list)
        for e in events:
            if e["ph"] == "C":
                self.counters[process[e["pid"]], e["name"]].append((e["ts"], *e["args"].values()))


@pytest.fixture(scope="module")
def charts(rbwp, files):
    """Of each alone, and of both."""
    a, b = files
    return Chrome(rbwp, a), Chrome(rbwp, b), Chrome(rbwp, a, b)


@pytest.fixture(scope="module")
def launches(charts):
    return [[l for l in c.links if l[0] == "launch"] for c in charts]


def test_spans(rbwp, files):
    a, b = files
    one, two, both = spans(rbwp, a), spans(rbwp, b), spans(rbwp, a, b)
    assert both == {"node 0": one["node 0"], "node 1": two["node 1"]} and len(one) == len(two) == 1
    for process, stop in ("node 0", 300), ("node 1", 250):
        works = [json.loads(s) for s in both[process] if '"category": "gpu"' in s]
        assert len(works) == 73 and {w["duration_ns"] for w in works} == {stop} and {w["track"] for w in works} == {"GPU 0x5"}
        assert {w["name"] for w in works} == {"even kernel", "odd kernel"} and all((w["start_ns"] - T) // 1000 % 2 == (w["name"][0] == "o") for w in works)


def test_counters(charts):
    one, two, both = charts
    assert len(both.counters) == 8 and both.counters == {**one.counters, **two.counters}, both.counters.keys()
    assert all(len(set(values)) == 20 for values in both.counters.values()), {k: len(v) for k, v in both.counters.items()}


def test_launches(launches):
    assert launches[2] == sorted(launches[0] + launches[1]) and len(launches[0]) == len(launches[1]) == 73
    assert all(l[1] == l[4] for l in launches[2])


def test_links_from_file_to_file(charts, launches):
    """Keys are another file's: nothing in one alone, all in both."""
    one, two, both = charts
    assert one.links == launches[0] and two.links == launches[1], (len(one.links), len(two.links))
    across = [l for l in both.links if l[0] != "launch"]
    ends = [(f"node {1 - n}", round(0.5 + i / 5, 3), f"node {n}", 5 + i / 1000) for n in (0, 1) for i in range(3)]
    assert sorted((l[1], l[3], l[4], l[6]) for l in across) == sorted(ends)
    assert "7 ends of links lead nowhere" in one.error and "2 ends of links lead nowhere" in both.error


def test_dropped_rows(charts):
    dropped = [int(re.search(r"dropped (\d+) rows of tables", c.error)[1]) for c in charts]
    assert dropped[2] == dropped[0] + dropped[1] > 2


def test_stats_agree(rbwp, files, charts):
    stats = rbwp("stats", "--json", *files).json
    assert stats["links"] == len(charts[2].links) and stats["spans"] == 2 * 224
