# SPDX-License-Identifier: Apache-2.0
"""rbwp stacks shows of each thread what it is in and since when, of a program that runs, by its file and by its process, of one that died,
and of a finished file; and says why where it cannot."""
import csv
import io
import json
import os

import pytest
from victim import Victim


@pytest.fixture
def victim(program, work):
    running = Victim([program("LIVE_VICTIM")], work / "run.bin")
    running.record(b"tf")
    yield running
    running.kill()


@pytest.fixture(scope="module")
def stacks(rbwp):
    return lambda *words, code=0: rbwp("stacks", *words, code=code, timeout=60)


@pytest.fixture(scope="module")
def tracks(stacks):
    return lambda *words: {t["track"]: t for t in map(json.loads, stacks("--json", *words).silent().lines)}


def is_in(found, thread, name):
    call, = found[thread]["stack"]
    assert call["name"] == name and call["begin"] + call["for_ns"] == found[thread]["now"], found
    assert 0 <= call["for_ns"] < 600e9, found


def test_running_program_by_its_file(tracks, victim):
    found = tracks(victim.path)
    is_in(found, "flusher", "flush")
    main = found["main worker"]
    assert main["stack"] == [] and main["last"] == "tick" and main["idle_ns"] >= 0, found


def test_running_program_by_its_process(tracks, victim):
    victim.record(b"b")
    first, then = tracks(victim.path), tracks(victim.pid)
    is_in(then, "main worker", "tick")
    is_in(then, "flusher", "flush")
    assert then["flusher"]["stack"][0]["begin"] == first["flusher"]["stack"][0]["begin"]
    assert then["flusher"]["now"] > first["flusher"]["now"], "the clock stands"


def test_csv(stacks, tracks, victim):
    """A thread a line, and a call a line behind its thread."""
    victim.record(b"b")
    rows = list(csv.DictReader(io.StringIO(stacks("--csv", "tracks", victim.path).text)))
    assert {row["track"] for row in rows} == tracks(victim.path).keys() and not any(row["idle_ns"] for row in rows), rows
    rows = list(csv.DictReader(io.StringIO(stacks("--csv", "stack", victim.path).text)))
    assert {(row["track"], row["stack_name"]) for row in rows} == {("main worker", "tick"), ("flusher", "flush")}, rows
    assert all(int(row["stack_begin"]) + int(row["stack_for_ns"]) == int(row["now"]) for row in rows), rows


def test_text(stacks, victim):
    victim.record(b"b")
    lines = stacks(victim.pid).lines
    assert f"process {victim.pid}, at +" in lines[0] and len(lines) == 3, lines
    assert lines[1].split()[0] == "flusher" and "flush  for " in lines[1], lines
    victim.record(b"e")
    text = stacks(victim.path).text
    assert "idle for" in text and "last: tick" in text


def test_live_file_that_somebody_removed(stacks, victim):
    """As who removes the folder does."""
    os.unlink(victim.path + ".live")
    assert not stacks(victim.pid, code=1).says("somebody removed").in_one_line().out


def test_program_that_died(stacks, tracks, victim):
    victim.kill()
    is_in(tracks(victim.path), "flusher", "flush")
    assert not stacks(victim.pid, code=1).says("no such process").out


def test_finished_file(stacks, tracks, golden):
    finished = tracks(golden / "level2_all_types.bin")
    assert finished and all(t["stack"] == [] and t["idle_ns"] >= 0 for t in finished.values())
    assert min(t["idle_ns"] for t in finished.values()) == 0
    assert stacks(golden / "empty.bin").text == "no spans\n"


def test_process_that_does_not_record(stacks):
    stacks(str(os.getpid()), code=1).says("records nothing now")


def test_usage(stacks, work):
    stacks("--csv", "tasks", work / "run.bin", code=2).says("is no table")
    stacks(code=2).says("no FILE or PID")
