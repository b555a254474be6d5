# SPDX-License-Identifier: Apache-2.0
"""What the file says of GPUs is shown; --gpu-bias moves the end of GPU work of known bias, not before
its start, in all shapes and from a stream, by the bias of busy or idle streams, and leaves everything else;
spans say between what the duration lies; broken facts are R43."""
import json

import pytest

T = 1700000000000000000
STORED = [(1000, 2000), (2900, 3000), (3000, 4000), (900, 800), (6000, 9000)]
CORRECTED = [(1000, 1750), (2900, 2900), (3000, 4000), (900, 800), (6000, 7600)]


@pytest.fixture(scope="module")
def gpu(run, program, shared):
    run(program("MAKE_GPU"), shared / "gpu.bin")
    return shared / "gpu.bin"


def times(pairs, first, last):
    return [(pair[first] - T, pair[last] - T) for pair in pairs]


@pytest.mark.parametrize("expected, options", [(STORED, []), (CORRECTED, ["--gpu-bias"])])
def test_times(rbwp, gpu, expected, options):
    dump = lambda *words, **more: rbwp("dump", *options, *words, **more).silent()  # one GPU of known bias is enough
    for done in dump(gpu), dump("-", stdin=gpu.read_bytes()):
        assert times(done.json["blocks"][0]["records"], "start", "stop") == expected
    assert times([json.loads(line) for line in dump("--ndjson", gpu).lines], "start", "stop") == expected
    assert times(dump("--spans", gpu).json, "begin", "end") == expected


def test_facts(rbwp, gpu):
    full = rbwp("dump", gpu).json
    assert full["gpus"] == [
        {"proc_id": 5, "name": "first", "api": 0, "bias_rounds": 101, "bias": 250, "bias_spread": 30,
         "idle_rounds": 99, "idle_bias": 1400, "idle_spread": 60},
        {"proc_id": 6, "name": "second", "api": 2, "bias_rounds": 0, "bias": 0, "bias_spread": 0,
         "idle_rounds": 0, "idle_bias": 0, "idle_spread": 0}]
    facts = full["blocks"][1]
    assert (facts["tag"], facts["gpu"]["proc_id"]) == ("gpux", 5)
    assert facts["gpu"]["entries"] == [
        {"start": T + 1000, "stop": T + 2000, "launch": T + 950, "thread_id": 78, "start_gap": 40, "stop_gap": 2**32 - 1,
         "launched": T + 960, "launching": 0, "idle": False},
        {"start": T + 2900, "stop": T + 3000, "launch": T + 2000, "thread_id": 0, "start_gap": 0, "stop_gap": 1,
         "launched": T + 2100, "launching": 0, "idle": False},
        {"start": T + 6000, "stop": T + 9000, "launch": T + 5200, "thread_id": 78, "start_gap": 70, "stop_gap": 80,
         "launched": T + 6000, "launching": 500, "idle": True}]


def test_spans(rbwp, gpu):
    spans = rbwp("dump", "--spans", gpu).json
    vague = next(s for s in spans if s["begin"] == T + 1000)
    assert (vague["duration"], vague["duration_least"]) == (1000, 0)  # nobody had looked for longer than that
    assert spans[0]["duration_least"] == 0  # its stop may be wrong by more than it took
    assert "launch" not in spans[2]  # has no facts
    span = rbwp("dump", "--spans", "--gpu-bias", gpu).json[4]
    assert (span["launch"], span["launched"], span["launching"], span["idle"]) == (T + 5200, T + 6000, 500, True)
    assert (span["duration_least"], span["duration"], span["duration_most"]) == (1450, 1600, 2250)


def test_info(rbwp, gpu):
    info = rbwp("info", gpu).text
    assert "first (5), bias of busy streams 250 ns (spread 30 ns, 101 rounds), bias of idle streams 1400 ns" in info
    assert "second (6), bias of busy streams not measured, bias of idle streams not measured" in info


def test_no_known_bias(rbwp, golden):
    """Said so, times as stored."""
    bare = golden / "gpu_work.bin"
    assert rbwp("dump", "--gpu-bias", bare).says("no bias").out == rbwp("dump", bare).out


def test_check(rbwp, run, program, gpu, work):
    rbwp("check", gpu)
    run(program("MAKE_GPU"), work / "broken.bin", "broken")
    broken = rbwp("check", work / "broken.bin", code=3)
    assert "R43" in broken.text + broken.error


def test_second_reader(second_reader, gpu):
    second_reader(gpu)
