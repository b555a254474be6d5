#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that a library loaded into them easily breaks (lone.c) run as they did, and are recorded: one that must have one
thread until it makes one, and its forked children; a child without fork's handlers, which must not write into its parent's
file; handlers that leave calls, or fork; cancellation; an allocator that is locked while
a process forks."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import recorded

LONE = os.environ["LONE"]
SLEEPS, LAST_SLEEPS = 2500, 20  # as in lone.c
NANOSLEEP, CLOCK_NANOSLEEP = 35, 230


def run(folder, way):
    recorded.run([LONE, way], folder / f"{way}-%p.bin")
    files = sorted(folder.glob(f"{way}-*.bin"), key=lambda path: path.stat().st_mtime_ns)
    assert not list(folder.glob("*.live")) or way in ("clone", "fork"), list(folder.iterdir())
    return [recorded.Recording(path) for path in files]


def count_sleeps(recording):
    return sum(row["kind"] == "sleep" for row in recording.waits)


def test_alone(folder):
    """Its chunks get full before it has a thread: it writes them itself. A file for each child that waits, and for its own child."""
    recordings = run(folder, "alone")
    sleeps = sorted((count_sleeps(recording), len(recording.threads)) for recording in recordings)
    assert sleeps == [(0, 1), (SLEEPS + 3, 2), (SLEEPS + 3, 2), (SLEEPS + 3, 2), (2 * SLEEPS + 3, 2)], sleeps


def test_clone(folder):
    recording, = run(folder, "clone")
    assert count_sleeps(recording) == 2 * LAST_SLEEPS and len(recording.threads) == 1, (count_sleeps(recording), recording.threads)


def test_jump(folder):
    recording, = run(folder, "jump")
    assert [row["kind"] for row in recording.waits][-LAST_SLEEPS:] == ["sleep"] * LAST_SLEEPS, recording.waits[-30:]
    for before, after in zip(recording.stretches, recording.stretches[1:]):
        assert before[3] <= after[2], (before, after)


def test_fork(folder):
    assert len(run(folder, "fork")) > 1


def test_cancel(folder):
    recording, = run(folder, "cancel")
    assert len(recording.threads) == 2, recording.threads


def test_sleep_that_ends_late(folder):
    """It is stopped while it sleeps: the row says how long after its time the sleep ended."""
    with subprocess.Popen(["sleep", "0.1"], env=recorded.environment(folder / "late.bin")) as sleeper:
        before = now = ""
        while now != before or not now.startswith((f"{NANOSLEEP} ", f"{CLOCK_NANOSLEEP} ")):
            before = now
            time.sleep(0.01)  # the recorder sleeps too, for less, when it begins
            now = pathlib.Path(f"/proc/{sleeper.pid}/syscall").read_text()
        sleeper.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        sleeper.send_signal(signal.SIGCONT)
    row, = (row for row in recorded.Recording(folder / "late.bin").waits if row["kind"] == "sleep")
    assert row["delay"] > 0 and abs(row["stop"] - row["start"] - row["delay"] - 100_000_000) < 1_000_000 and row["waker"] == 0, row


def test_allocator(folder):
    """It is locked while our handlers run in a child (allocator.c)."""
    recorded.run([os.environ["ALLOCATOR"]], folder / "%p.bin")
    assert [len(recorded.Recording(path).threads) for path in folder.glob("*.bin")] == [3] * 4, list(folder.iterdir())


for topic in sys.argv[1:] or ["alone", "clone", "jump", "fork", "cancel", "sleep_that_ends_late", "allocator"]:
    with tempfile.TemporaryDirectory() as name:
        globals()[f"test_{topic}"](pathlib.Path(name))
print("threads lone: all passed")
