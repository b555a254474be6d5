# SPDX-License-Identifier: Apache-2.0
"""rbwp top shows of each item of running programs how many ended, how long they took and what is open, by file, folder,
process and all of the user's, once or again and again, in its order; a program that is gone is reported in one line."""
import csv
import fcntl
import io
import json
import mmap
import os
import pty
import shutil
import struct
import subprocess
import termios
import time

import pytest
import why_make
from json_schema import validate


@pytest.fixture(scope="module")
def top(rbwp):
    return lambda *words, code=0: rbwp("top", *words, code=code, timeout=60)


@pytest.fixture(scope="module")
def items(top):

    def listed(*words):
        # Of all programs of the user some may be others' that end just now.
        done = top("--once", "--json", "-d", "3600s", *words, code=0 if words else None)
        if words:
            done.silent()
        return [json.loads(line) for line in done.lines]

    return listed


@pytest.fixture(scope="module")
def one_line(top):

    def refused(text, *words, code=1):
        assert top(*words, code=code).says(text).in_one_line().out == b""

    return refused


class Running:
    """A program that has ended two ticks and has a flush open."""

    def __init__(self, victim, folder):
        self.folder, self.path = folder, str(folder / "run.bin")
        self.process = subprocess.Popen([victim, self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(b"ttfb")
        self.process.stdin.flush()
        assert self.process.stdout.read(4) == b"ttfb"
        self.pid = str(self.process.pid)

    def end(self):
        self.process.stdin.close()
        return self.process.wait(60)


@pytest.fixture(scope="module")
def running(program, golden, shared):
    victim, folder = program("LIVE_VICTIM"), shared / "programs"
    folder.mkdir()
    shutil.copyfile(golden / "level2_all_types.bin", folder / "old.bin")
    made = Running(victim, folder)
    yield made
    assert made.end() == 0


@pytest.fixture(scope="module")
def found(items, running):
    return {item["name"]: item for item in items(running.pid)}


def test_items(found, running):
    tick, flush, step = found["tick"], found["flush"], found["step"]
    assert (tick["ended"], tick["open"], flush["ended"], flush["open"], step["ended"]) == (2, 1, 0, 1, 2)
    assert tick["call"] and not step["call"] and 0 < tick["max"] <= tick["total"] <= 2 * tick["max"]
    assert 0 < flush["busy"] <= flush["open_for"] and flush["max"] == 0 and flush["file"] == running.path


@pytest.mark.parametrize("what", ["file", "folder", "all"])
def test_named_by(items, running, found, what):
    words = {"file": [running.path], "folder": [running.folder], "all": []}[what]
    seen = {item["name"]: item for item in items(*words) if item["file"] == running.path}
    assert seen.keys() == found.keys()
    # The clock is known better as time goes by, so that a duration may be another by little.
    assert seen["flush"]["open_for"] > found["flush"]["open_for"]
    assert abs(seen["tick"]["total"] - found["tick"]["total"]) <= 2 + found["tick"]["total"] // 100


def test_order(items, running, found):
    assert [item["name"] for item in items("--sort", "calls", "-l", "2", running.path)] == ["step", "tick"]
    names = [item["name"] for item in items("--sort", "name", running.path)]
    assert names == sorted(names) and len(names) == len(found)
    assert items("-s", "open", running.path)[0]["name"] == "flush"


def test_json_is_what_its_schema_says(rbwp, found):
    schema = rbwp("help", "--schema", "top").json
    assert [text for item in found.values() for text in validate(schema, item, "top", set())] == []


def test_csv_has_the_cells_of_json(top, running, found):
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(top("--once", "--csv", "items", "-d", "3600s", running.path).text))}
    assert rows.keys() == found.keys() and all(row.keys() == found["tick"].keys() for row in rows.values())
    assert all(rows[name][key] == str(found[name][key]) for name in found for key in ("ended", "open", "file", "program"))
    assert rows["tick"]["call"] == "true"


def test_again_and_again(top, running, found):
    """Keys of CSV stand above the first look alone; text has its heads each time."""
    lines = top("--once", "-d", "3600s", running.path).lines
    assert lines[0].startswith("1 program, 2 threads with calls") and len(lines) == 2 + len(found)
    twice = top("-n", "2", "-d", "100ms", "--csv", "items", running.path).lines
    assert twice.count(",".join(found["tick"])) == 1 and len({line.split(",")[0] for line in twice}) == 3
    blocks = top("-n", "2", "-d", "100ms", running.path).text.split("\n\n")
    assert len(blocks) == 3 and blocks[2] == "" and blocks[0].splitlines()[1] == blocks[1].splitlines()[1]


def test_terminal(rbwp, running, found):
    """On it as many as it has room for, each time from its first line."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 5, 80, 0, 0))
    process = subprocess.Popen([rbwp.path, "top", "-n", "1", "-d", "100ms", running.path], stdout=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    assert process.wait(60) == 0
    screen = os.read(ours, 65536).decode()
    assert screen.startswith("\033[H\033[2J") and len(screen.splitlines()) == 2 + 2 < 2 + len(found)
    os.close(ours)


def test_program_that_did_nothing(top, running):
    """It is one, too."""
    lines = top("--once", "-d", "100ms", running.folder / "old.bin").lines
    assert lines[0].startswith("1 program, 0 threads with calls, 0.00 busy") and len(lines) == 2


def test_why_calls_were_slow(top, work, monkeypatch):
    """A line has the first cause of rbwp why in the window, of the name on which most hangs; without slow calls in it there is none."""
    monkeypatch.setattr(why_make, "T", time.time_ns() - 30 * 10**9)
    made = why_make.Recording().ordinary().ordinary(thread=3, slot=why_make.COMPACTION)
    for start in 100, 300, 500, 700, 750:
        made.call(2, start, 30).call(2, start + 35, 20, why_make.COMPACTION)
    path = made.write(work / "slow.bin")
    lines = top("--once", "-d", "3600s", path).lines
    assert lines[1].startswith("request: 5 of 105 took 29.0 ms longer each: 100 % its own CPU time (rbwp why ") and len(lines) == 5, lines
    assert len(top("--once", "-d", "1s", path).lines) == 2


def test_program_that_is_gone(one_line, program, work):
    gone = Running(program("LIVE_VICTIM"), work)
    assert gone.end() == 0
    one_line("no such process", "--once", gone.pid)


def test_no_such_process(one_line):
    one_line("no such process", "--once", "999999999")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
def test_file_without_an_end(rbwp, one_line, work, make):
    """A process may say that it records to one: neither top nor stacks read that."""
    make(work / "endless")
    with open(work / "endless.live", "w+b") as live:
        live.truncate(1 << 20)
        mapped = mmap.mmap(live.fileno(), 1 << 20)
        one_line("which is no regular file", "--once", str(os.getpid()))
        rbwp("stacks", str(os.getpid()), code=1, timeout=60).says("which is no regular file")
        mapped.close()


def test_no_file(one_line, work):
    one_line("cannot be opened", "--once", work / "none.bin")


def test_usage(one_line):
    one_line("unit", "-d", "5", code=2)
    one_line("'nothing' is no table that --json has", "--csv", "nothing", code=2)
    one_line("--csv does not go with --json", "--csv", "items", "--json", code=2)
