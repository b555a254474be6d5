#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is recorded of a program that knows its own waits is what that program saw: each wait, of its kind, inside the
call as the program timed it; who ended it, and when; between two waits a stretch that says what came before it. The
same of a program that is killed, and of what a thread waits for when the program ends."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import recorded

CLOCK_NS = 100_000  # two readers of two clocks, on a machine with other work
WITNESS = os.environ["WITNESS"]
# Where an interval was switched out its end stays, so that one about a short read may be two.
WHOLE = {"RBWP_THREADS_CPU": "0"}


def read_witness(text):
    """{os id: [(kind, before, after, waker, signal before, signal after)]}"""
    seen = {}
    for line in text.splitlines():
        head, kind, *numbers = line.split("\t")
        seen.setdefault(int(head.split()[1]), []).append((kind, *map(int, numbers)))
    return seen


def check_wait(recording, row, seen):
    kind, before, after, *waker = seen
    shift = recording.from_monotonic
    assert row["kind"] == kind, (row, seen)
    assert before + shift - CLOCK_NS <= row["start"] <= row["stop"] <= after + shift + CLOCK_NS, (row, seen, shift)
    if kind not in ("sleep", "join"):
        assert row["stop"] - row["start"] >= 25_000_000 - CLOCK_NS, row
    if waker:
        signalled = row["stop"] - row["delay"] - shift
        assert row["waker"] == recording.by_os_id[waker[0]], (row, seen)
        assert waker[1] - CLOCK_NS <= signalled <= waker[2] + CLOCK_NS, (row, seen, signalled)
    elif kind != "join":
        assert row["waker"] == 0, row


def check_stretches(recording, thread, waits):
    stretches = [call for call in recording.stretches if call[0] == thread]
    assert len(stretches) == len(waits), (len(stretches), len(waits))
    for wait, behind, (_, name, start, stop) in zip(waits, waits[1:] + [None], stretches):
        assert name == "after " + wait["kind"], (name, wait)
        assert abs(start - wait["stop"]) < CLOCK_NS, (start, wait)
        assert behind is None or abs(stop - behind["start"]) < CLOCK_NS, (stop, behind)


def was_timed(recording, row, lines):
    """Where the machine is slow, the guard of its condition and the writes of its lines are waited for, too: it times
    neither."""
    shift = recording.from_monotonic
    return any(before + shift - CLOCK_NS <= row["start"] and row["stop"] <= after + shift + CLOCK_NS
               for _, before, after, *_ in lines)


def check(recording, seen):
    for os_id, witnessed in seen.items():
        thread = recording.by_os_id[os_id]
        start, *waits = [row for row in recording.waits if row["thread"] == thread]
        assert start["kind"] == "start", start
        shown = [row for row in waits if row["outcome"] != 2]
        done = [row for row in shown if row["kind"] not in ("mutex", "write") or was_timed(recording, row, witnessed)]
        assert [row["kind"] for row in done] == [line[0] for line in witnessed], \
            ([row["kind"] for row in done], [line[0] for line in witnessed])
        for row, line in zip(done, witnessed):
            check_wait(recording, row, line)
        check_stretches(recording, thread, [start, *shown])


def threads_named(recording, name):
    return [thread["thread_id"] for thread in recording.threads.values() if thread["name"] == name]


def test_whole_run(folder):
    seen = read_witness(recorded.run([WITNESS], folder / "run.bin", RBWP_THREADS_LEAST_US="20000", **WHOLE))
    recording = recorded.Recording(folder / "run.bin")
    assert len(seen) == 2 and len(recording.threads) == 3, (seen.keys(), recording.threads)
    check(recording, seen)
    (main,), (worker,), (sleeper,) = (threads_named(recording, name)
                                      for name in (pathlib.Path(WITNESS).name, "the worker", "the sleeper"))
    for thread in worker, sleeper:
        start = next(row for row in recording.waits if row["thread"] == thread)
        assert start["waker"] == main and start["delay"] > 0, start
        assert abs(start["delay"] - (start["stop"] - start["start"])) <= CLOCK_NS, start
    join = [row for row in recording.waits if row["kind"] == "join"]
    assert [row["waker"] for row in join] == [worker], join
    last = [row for row in recording.waits if row["outcome"] == 2]
    assert [(row["thread"], row["kind"]) for row in last] == [(sleeper, "semaphore")], last


def test_shown(folder):
    """Each wake-up is a link from a stretch of who signalled to a span of so long as the other one was free to run."""
    recorded.run([WITNESS], folder / "shown.bin", RBWP_THREADS_LEAST_US="20000", **WHOLE)
    recording = recorded.Recording(folder / "shown.bin")
    text = subprocess.run([os.environ["RBWP"], "export", "--to", "chrome", folder / "shown.bin"], check=True,
                          stdout=subprocess.PIPE).stdout
    events = json.loads(text)["traceEvents"]
    woken = [row for row in recording.waits if row["waker"]]
    delays = [event for event in events if event["name"] == "queue delay"]
    lasted, row_delays = sorted(event["dur"] * 1000 for event in delays), sorted(row["delay"] for row in woken)
    # A delay is counted by another rate than the times around it, which bound what is shown.
    assert len(lasted) == len(row_delays) and all(abs(a - b) <= 1 + b / 1000 for a, b in zip(lasted, row_delays)), (delays, row_delays)
    wakes = {kind: [event for event in events if event["name"] == "wake" and event["ph"] == kind] for kind in "sf"}
    assert len(wakes["s"]) == len(wakes["f"]) == len(woken), wakes
    starts = {event["id"]: event for event in wakes["s"]}
    assert all(event["ts"] == starts[event["id"]]["ts"] for event in wakes["f"]), wakes
    os_ids = sorted(recording.threads[row["waker"]]["os_id"] for row in woken)
    assert sorted(event["tid"] for event in wakes["s"]) == os_ids, wakes


def test_killed(folder):
    """What had been waited for is in the file, and main's last stretch has ended."""
    with subprocess.Popen([WITNESS, "forever"], stdout=subprocess.PIPE, text=True,
                          env=recorded.environment(folder / "killed.bin", RBWP_THREADS_LEAST_US="20000", **WHOLE)) as program:
        text = read_all_lines(program)
        while not is_asleep(program.pid):
            pass
        program.send_signal(signal.SIGKILL)
    recording = recorded.Recording(folder / "killed.bin")
    check(recording, read_witness(text))
    (main,) = threads_named(recording, pathlib.Path(WITNESS).name)
    assert recording.file["threads"] and all(call[3] for call in recording.stretches if call[0] == main)


def test_ready(folder):
    """Who found something each time asks without waiting first: what then waits is a wait all the same. (A call that
    found something may be one, too, where the machine was slow.)"""
    (seen,) = read_witness(recorded.run([WITNESS, "ready"], folder / "ready.bin", **WHOLE)).values()
    recording = recorded.Recording(folder / "ready.bin")
    shift = recording.from_monotonic
    for kind, before, after in seen:
        within = [row for row in recording.waits if row["kind"] == kind and row["outcome"] == 1
                  and before + shift - CLOCK_NS <= row["start"] <= row["stop"] <= after + shift + CLOCK_NS]
        assert len(within) == 1 and within[0]["stop"] - within[0]["start"] >= 29_000_000, (kind, before, within)


def test_others(folder):
    """Whatever the call is by which a thread sleeps: it waited so long, and was not busy."""
    (seen,) = read_witness(recorded.run([WITNESS, "others"], folder / "others.bin", **WHOLE)).values()
    recording = recorded.Recording(folder / "others.bin")
    shift, waits = recording.from_monotonic, [row for row in recording.waits if row["kind"] != "start"]
    for kind, before, after in seen:
        slept = [row["stop"] - row["start"] for row in waits if row["kind"] == kind
                 and before + shift - CLOCK_NS <= row["start"] <= row["stop"] <= after + shift + CLOCK_NS]
        assert sum(slept) > 0.9 * (after - before) - CLOCK_NS, (kind, before, after, slept)


def test_crowds(folder):
    """Of several that are woken at once each knows by whom."""
    recorded.run([WITNESS, "crowds"], folder / "crowds.bin", **WHOLE)
    recording = recorded.Recording(folder / "crowds.bin")
    (main,) = threads_named(recording, pathlib.Path(WITNESS).name)
    for kind in "futex", "condition variable", "rwlock", "barrier":
        woken = [row for row in recording.waits if row["kind"] == kind and row["thread"] != main]
        assert len({row["thread"] for row in woken}) == len(woken) == 3, (kind, woken)
        assert {(row["waker"], row["outcome"]) for row in woken} == {(main, 0)}, (kind, woken)
        assert all(0 < row["delay"] < row["stop"] - row["start"] for row in woken), (kind, woken)


def read_all_lines(program):
    lines = []
    for line in program.stdout:
        lines.append(line)
        if "\tjoin\t" in line:
            break
    return "".join(lines)


def is_asleep(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "S"


with tempfile.TemporaryDirectory() as name:
    test_whole_run(pathlib.Path(name))
    test_shown(pathlib.Path(name))
    test_killed(pathlib.Path(name))
    test_ready(pathlib.Path(name))
    test_others(pathlib.Path(name))
    test_crowds(pathlib.Path(name))
print("threads witness: all passed")
