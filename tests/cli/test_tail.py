# SPDX-License-Identifier: Apache-2.0
"""tail shows the last lines of a file, and with -f what is added until it is finalised, removed or replaced, or its program died; names
that come later are used. What a program records is shown as soon as its call has ended, each record once, whether it is in FILE.live or
in FILE by then."""
import collections
import fcntl
import json
import os
import re
import signal
import subprocess
import time

import live_make as live
import pytest
import rbwp_make as make
from victim import Victim

Z = live.ZERO
LOG = [live.sample(0), live.thread(7, b"worker"), live.slot(3, b"flush")]


@pytest.fixture(autouse=True)
def patience():
    """What does not come would be waited for."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("options, shape", [([], ["--spans"]), (["--records"], [])])
def test_last_lines_are_those_of_dump(rbwp, golden, options, shape):
    path = golden / "level2_all_types.bin"
    assert rbwp("tail", "--ndjson", "-n", "25", *options, path).lines == rbwp("dump", *shape, "--ndjson", path).lines[-25:]


def test_number_of_lines(rbwp, golden):
    assert len(rbwp("tail", golden / "multi_thread.bin").lines) == 10
    assert rbwp("tail", "-n", "0", golden / "multi_thread.bin").out == b""
    rbwp("tail", "-n", "1000000", golden / "straddle.bin")


def test_inside_of_a_call_is_indented(rbwp, golden):
    text = rbwp("tail", "-n", "6", golden / "level2_all_types.bin").text
    assert re.search("thread [0-9]*    MemcpyXferDes$", text, re.M) and re.search("thread [0-9]*  memcpy channel$", text, re.M)


def test_of_a_file_with_a_defect(rbwp, golden):
    rbwp("tail", golden / "defect_discard_rotate.bin", code=3)


def test_finalised_is_not_waited_for(rbwp, golden):
    rbwp("tail", "-f", golden / "gaps.bin").says("finalised: 1 blocks, 160 records")


def test_usage(rbwp, golden, work):
    gaps = golden / "gaps.bin"
    for wrong in (["-n", "x"], ["-n", "-1"], ["-n", "99999999"], ["-n"], ["-f", "--live"]):
        rbwp("tail", *wrong, gaps, code=2)
    rbwp("tail", code=2)
    rbwp("tail", work / "none", code=1)


def call(number, slot=3):
    return make.block(7, number, [(Z + 1000 * number, "cb", slot), (Z + 1000 * number + 500, "ce")])


HEADER = make.file([], zero_time=Z, finalised=False)


class Growing:
    """A file that a program, which this is, writes, and its live file."""

    def __init__(self, rbwp, path):
        self.rbwp, self.path, self.tail = rbwp.path, f"{path}/growing.bin", None

    def begin(self, *blocks, suffix=""):
        with open(self.path + suffix, "wb") as file:
            file.write(HEADER + b"".join(blocks))

    def append(self, data):
        with open(self.path, "ab") as file:
            file.write(data)

    def hold(self, *chunks):
        """Writes FILE.live and locks it, as its program does."""
        self.live(*chunks)
        self.held = open(self.path + ".live", "rb+")
        fcntl.flock(self.held, fcntl.LOCK_EX)

    def live(self, *numbers, **lost):
        chunks = [live.chunk(7, int(1000 * n), 0, [(0, "cb", 3), (500, "ce", 0)]) for n in numbers]
        live.write(self.path + ".live", LOG, chunks, **lost)

    def die(self):
        fcntl.flock(self.held, fcntl.LOCK_UN)

    def finalise(self, whole):
        self.append(whole[os.path.getsize(self.path):])
        with open(self.path, "rb+") as file:
            file.write(whole[:36])

    def follow(self, *options):
        self.tail = subprocess.Popen([self.rbwp, "tail", "-f", *options, self.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def line(self):
        return self.tail.stdout.readline()

    def stop(self):
        self.tail.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.tail.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self):
        self.tail.send_signal(signal.SIGCONT)

    def rest(self):
        out, err = self.tail.communicate(timeout=20)
        assert self.tail.returncode == 0, err
        return out, err


@pytest.fixture
def growing(rbwp, work):
    grows = Growing(rbwp, work)
    yield grows
    if grows.tail:
        grows.tail.kill()
        grows.tail.wait()


def test_grows_until_it_is_finalised(growing):
    """In pieces; a new slot gets its name."""
    growing.begin(call(1))
    growing.hold()
    growing.follow("-n", "5")
    assert growing.line().split() == ["+0.000001500s", "500", "ns", "worker", "flush"]
    growing.append(call(2)[:40])
    growing.append(call(2)[40:])
    assert growing.line().split()[0] == "+0.000002500s"
    with open(growing.path + ".live", "rb+") as file:
        file.seek(live.HEAD_BYTES)
        file.write(b"".join(LOG + [live.slot(4, b"compact")]))
    growing.append(call(3, 4))
    assert growing.line().split()[-1] == "compact"
    growing.finalise(make.file([call(1), call(2), call(3, 4)], [(3, b"flush"), (4, b"compact")], zero_time=Z))
    out, err = growing.rest()
    assert out == "" and "finalised: 3 blocks, 6 records" in err and "being written" not in err, (out, err)


@pytest.mark.parametrize("options", [[], ["--records"]])
def test_names_never_vanish(rbwp, growing, work, options):
    """The last blocks, the tables and the end of FILE.live come at once."""
    full = f"{work}/full.bin"
    blocks = b"".join(call(number, 3 + number % 2) for number in range(1, 101))
    with open(full, "wb") as file:
        file.write(HEADER + blocks)
    live.write(full + ".live", LOG + [live.slot(4, b"compact")], [], committed=36 + len(blocks))
    rbwp("repair", full, "-o", full + ".whole")
    growing.begin(call(1, 4))
    growing.hold()
    growing.follow("-n", "1", *options)
    growing.line()
    growing.stop()
    with open(full + ".whole", "rb") as whole:
        growing.finalise(whole.read())
    os.unlink(growing.path + ".live")
    growing.go_on()
    out, err = growing.rest()
    assert "finalised: 100 blocks" in err and "being written" not in err, err
    assert out.count("worker") >= 99 and out.count("compact") == 49 and out.count("flush") == 50, out
    assert "slot" not in out and "thread" not in out, out


def test_program_dies(growing):
    growing.begin(call(1))
    growing.hold()
    growing.follow("--ndjson")
    assert '"name":"flush"' in growing.line()
    growing.die()
    out, err = growing.rest()
    assert "its program died" in err and "rbwp repair makes a whole file" in err, err


def test_dropped_blocks_count_for_neither_file(growing):
    """What comes behind what FILE had no room for is shown, and nothing twice. (Call 1 is in FILE.live; 1.5 comes, which begins when 1
    ends; then 1 is given up, and 3 comes.)"""
    growing.begin()
    growing.hold(1)
    growing.follow()
    assert growing.line().split()[:2] == ["+0.000001500s", "500"]
    for calls, lost, ends in ((1, 1.5), {}, "+0.000002000s"), ((1.5, 3), {"unwritten_records": 2}, "+0.000003500s"):
        growing.stop()
        growing.live(*calls, **lost)
        growing.go_on()
        assert growing.line().split()[:2] == [ends, "500"]
    growing.die()
    out, err = growing.rest()
    assert out == "" and "its program died" in err, (out, err)


def test_block_that_was_not_committed(growing):
    """Of a program that died: FILE.live has that call, too."""
    growing.begin(call(1))
    growing.live(1, 2)
    growing.follow()
    out, err = growing.rest()
    assert [line.split()[0] for line in out.splitlines()] == ["+0.000001500s", "+0.000002500s"], out


def test_replaced_then_removed(growing):
    """Without a live file."""
    growing.begin(call(1))
    growing.follow("--records")
    assert "COARSE_BEGIN" in growing.line() and "COARSE_END" in growing.line()
    growing.begin(call(9), suffix=".new")
    os.rename(growing.path + ".new", growing.path)  # at once: while there is none, the file has been removed
    assert growing.line().split()[0] == "+0.000009000s"
    assert growing.line().split()[1] == "COARSE_END"
    os.unlink(growing.path)
    out, err = growing.rest()
    assert "was replaced" in err and "was removed" in err, err


def test_ctrl_c(growing):
    growing.begin(call(1))
    growing.follow()
    growing.line()
    growing.tail.send_signal(signal.SIGINT)
    assert growing.tail.wait(timeout=20) == 0


def test_reader_of_the_output_goes_away(growing):
    growing.begin(call(1))
    growing.follow()
    growing.line()
    growing.tail.stdout.close()
    for number in range(2, 200):
        growing.append(call(number))
        time.sleep(0.02)
        if growing.tail.poll() is not None:
            break
    assert growing.tail.wait(timeout=20) == 0


class Tail:
    def __init__(self, rbwp, path, *options):
        self.process = subprocess.Popen([rbwp.path, "tail", "-f", "--ndjson", "-n", "1000000", *options, path],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []

    def read(self, count):
        """So many lines more: what they are, by thread."""
        return self.add([self.process.stdout.readline() for _ in range(count)])

    def finish(self):
        out, self.err = self.process.communicate()
        return self.add(out.splitlines())

    def add(self, lines):
        self.lines += map(json.loads, lines)
        return by_thread(self.lines[len(self.lines) - len(lines):])


def by_thread(lines):
    seen = collections.defaultdict(list)
    for line in lines:
        what = line.get("type") or line["kind"]
        if what not in ("TABLE", "ROW"):  # which tail does not show
            seen[line["thread_id"], line["thread"]].append((what, line.get("name")))
    return seen


def names(seen):
    return sorted((thread, len(lines)) for (_, thread), lines in seen.items())


@pytest.fixture
def path(work):
    return f"{work}/run.bin"


@pytest.fixture
def victim(program, path):
    running = Victim([program("LIVE_VICTIM")], path)
    yield running
    running.kill()


def test_program_that_records(rbwp, victim, path):
    """Ten calls of a program that goes on but does nothing more, which FILE has none of; then more."""
    records, spans = Tail(rbwp, path, "--records"), Tail(rbwp, path)
    victim.record(b"t" * 9)
    assert names(records.read(40)) == [("main worker", 40)]
    assert names(spans.read(20)) == [("main worker", 20)]
    assert os.path.getsize(path) < 100, "they are in FILE"
    victim.record(b"tx")
    assert names(records.read(8)) == [("main worker", 4), ("visitor", 4)]
    assert names(spans.read(4)) == [("main worker", 2), ("visitor", 2)]
    # What an open call recorded is shown when it has ended, and never if it did nothing. (The visitor
    # is shown by a look that was behind the call's begin.)
    for end in b"d", b"e":
        victim.record(b"bx")
        assert names(records.read(4)) == [("visitor", 4)]
        assert names(spans.read(2)) == [("visitor", 2)]
        victim.record(end + b"t")
        more = [kind for kinds in records.read(7 if end == b"e" else 4).values() for kind in kinds]
        assert more.count(("GPU_WORK", "tick")) == (end == b"e"), more
        spans.read(4 if end == b"e" else 2)

    # Its records move into FILE: full chunks, threads that have gone, and in the end all of it.
    for _ in range(3):
        victim.record(b"mtx")
        records.read(20008)
        spans.read(10004)
    assert os.path.getsize(path) > 1000, "none is in FILE"
    victim.record(b"bxtms")
    records.finish()
    spans.finish()
    for tail, options in (records, []), (spans, ["--spans"]):
        shown, whole = by_thread(tail.lines), by_thread(map(json.loads, rbwp("dump", "--ndjson", *options, path).lines))
        assert shown == whole, [(key, len(shown[key]), len(whole[key])) for key in shown | whole]
        assert "finalised" in tail.err and "5001 calls not recorded" in tail.err and tail.err.count("\n") == 2, tail.err


def test_killed_program(rbwp, victim, path):
    """The rest is shown, also of the call in which it died."""
    records, spans = Tail(rbwp, path, "--records"), Tail(rbwp, path)
    victim.record(b"t")
    records.read(8)
    spans.read(4)
    victim.record(b"b")
    victim.kill()
    assert list(records.finish().values()) == [[("COARSE_BEGIN", "tick"), ("GPU_WORK", "tick")]]
    assert names(spans.finish()) == [("main worker", 2)]
    for tail in records, spans:
        assert "its program died; rbwp repair" in tail.err and tail.err.count("\n") == 1, tail.err


@pytest.mark.parametrize("live_bytes", [None, b"no live file" * 1000], ids=["none", "wrong"])
def test_program_without_a_live_file(rbwp, victim, path, live_bytes):
    """FILE is followed alone, and that is said once."""
    os.unlink(path + ".live")
    if live_bytes:
        with open(path + ".live", "wb") as file:
            file.write(live_bytes)
    tail = Tail(rbwp, path, "--records")
    for _ in range(2):
        victim.record(b"x")
        assert names(tail.read(4)) == [(None, 4)]
    victim.record(b"s")
    tail.finish()
    assert len(tail.lines) == 12, len(tail.lines)
    assert tail.err.count("come to the file in blocks") == 1, tail.err
