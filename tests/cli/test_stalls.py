# SPDX-License-Identifier: Apache-2.0
"""What a thread waits for and who holds it (tables open_call, stack_word, code_file). Guards: a deadlock is named, however many threads
are in it, and none that is not there; a wait that is over is no wait; a holder that is not recorded is not made up; rows may hold
anything; a file without such rows looks as if there were no such thing."""
import csv
import io
import json
import os
import threading

import pytest
from report_page import Page
from stalls_make import MS, Recording, at, os_id, stacked, two


def whole(done):
    """Nothing is said but that calls were open."""
    assert all("still open when it ended" in line for line in done.error.splitlines()), done.error
    return done


@pytest.fixture
def tracks(rbwp, work):
    def of(recording, *words):
        lines = whole(rbwp("stacks", "--json", *words, recording.write(work / "a.bin"))).lines
        return {t["track"]: t for t in map(json.loads, lines)}
    return of


@pytest.fixture
def text(rbwp, work):
    return lambda recording, *words: whole(rbwp("stacks", *words, recording.write(work / "a.bin"))).text


def test_system_call(tracks, text):
    """Its name, which later recordings have, is shown with what is waited for."""
    recording = Recording().call(1, 0).look(1, 900, 100, "mutex", 160, 2, 203, called="futex")
    assert {"system_call": 203, "system_call_name": "futex"}.items() <= tracks(recording)["t1"]["waits"].items()
    assert "waits for mutex 160 in futex for 900.000 ms" in text(recording)


def test_two(tracks, text):
    found = tracks(two())
    wait = found["t1"]["waits"]
    assert wait == {"kind": "mutex", "object": 0xa0, "since": at(100), "for_ns": 900 * MS, "looked_at": at(900), "system_call": 203,
                    "holder": os_id(2), "held_by": "t2", "deadlock": 1}
    assert found["t2"]["waits"]["deadlock"] == 1 and found["t2"]["waits"]["held_by"] == "t1"
    assert "deadlock" not in found["t3"]["waits"] and found["t3"]["waits"]["held_by"] == "t1"
    lines = text(two()).splitlines()
    assert lines[-1] == "deadlock: t1 (4711) holds mutex 176 and waits for mutex 160, held by t2 (4712); t2 (4712) holds mutex 160 and waits for mutex 176, held by t1 (4711)"
    assert any("t3" in line and line.endswith(f"waits for mutex 176 for 700.000 ms, held by t1 ({os_id(1)}), which waits for mutex 160 for 900.000 ms") for line in lines), lines


def test_is_why(rbwp, work):
    """A wait that has not ended is no call: what a deadlock holds up is the answer all the same, and so is a lock that is held at the end."""
    for recording, line, waits in ((two(), "deadlock: t1 (4711) holds mutex 176", [("t3", "t1"), ("t1", "t2")]),
                                   (Recording().call(3, 0).mutex(1, 100, 0xa0, 3), "t1 (4711) waits for mutex 160", [("t1", "t3")])):
        found = whole(rbwp("why", "--json", recording.write(work / "a.bin"))).json
        assert [(cause["cause"], cause["by"]["thread"]) for cause in found["causes"]] == [("lock", by) for _, by in waits], found
        assert found["slow"]["calls"] == (3 if len(waits) == 2 else 1) and found["slow"]["excess_ns"] >= 900 * MS
        text = whole(rbwp("why", work / "a.bin")).text
        assert text.startswith(line) and "     held by t" in text, text
    assert json.loads(whole(rbwp("why", "--json", Recording().call(1, 0).mutex(1, 100, 0xa0, 99).write(work / "a.bin"))).text)["causes"] == []


def test_three_and_apart(tracks, text):
    threads = Recording(threads=6)
    for thread, (since, holder) in {1: (100, 2), 2: (110, 3), 3: (120, 1), 4: (130, 5), 5: (140, 4), 6: (150, 4)}.items():
        threads.mutex(thread, since, 0x7f0000000000 + thread, holder)
    found = tracks(threads)
    assert [found[f"t{i}"]["waits"].get("deadlock") for i in range(1, 7)] == [1, 1, 1, 2, 2, None]
    one, other = [line for line in text(threads).splitlines() if line.startswith("deadlock")]
    assert one.count("; ") == 2 and "t3 (4713) holds mutex 0x7f0000000002 and waits for mutex 0x7f0000000003, held by t1 (4711)" in one
    assert other.count("; ") == 1


def test_one_alone(text):
    """A mutex that its own thread locks again."""
    assert text(Recording().mutex(1, 100, 0xa0, 1)).splitlines()[-1] == "deadlock: t1 (4711) holds mutex 160 and waits for it"


def test_no_cycle_by_an_old_look(tracks):
    """t1 was looked at before t2 waited: t2 may have released since, what t1 waits for."""
    found = tracks(Recording().mutex(1, 100, 0xa0, 2, time=150).mutex(2, 200, 0xb0, 1))
    assert not any("deadlock" in found[t]["waits"] for t in ("t1", "t2")), found


def test_over(tracks):
    """The thread recorded something behind the look: the end of the wait, or another call."""
    found = tracks(two().wait(1, 100, 950).call(3, 950, 10))
    assert "waits" not in found["t1"] and "deadlock" not in found["t2"]["waits"] and "waits" not in found["t3"]


def test_still_waits_at_the_end(tracks):
    assert tracks(two().wait(1, 100, 1000, outcome=2))["t1"]["waits"]["deadlock"] == 1


def test_calls_at_futexes(tracks, text):
    """Of a call it is known when it was found at a lock: a deadlock if each was there when the next one was there already."""
    def calls(*looks, threads=2):
        recording = Recording(threads=threads).call(1, 0).call(2, 0)
        for thread, time, object, holder in looks:
            recording.look(thread, time, 0, object=object, holder=holder, system_call=203)
        return recording
    once = calls((1, 100, 0xa0, 2), (2, 200, 0xb0, 1))
    assert not any("deadlock" in track["waits"] for track in tracks(once).values())
    twice = calls((1, 100, 0xa0, 2), (2, 200, 0xb0, 1), (1, 400, 0xa0, 2), (2, 500, 0xb0, 1))
    found = tracks(twice)
    assert found["t1"]["waits"] == {"kind": "futex", "object": 0xa0, "since": at(100), "for_ns": 900 * MS, "looked_at": at(400), "system_call": 203,
                                    "holder": os_id(2), "held_by": "t2", "deadlock": 1}
    assert text(twice).splitlines()[-1].startswith("deadlock: t1 (4711) holds futex 176 and waits for futex 160, held by t2 (4712); t2 (4712) holds")
    between = calls((1, 100, 0xa0, 2), (2, 200, 0xb0, 1), (1, 300, 0, 0), (1, 400, 0xa0, 2), (2, 500, 0xb0, 1))
    assert tracks(between)["t1"]["waits"]["since"] == at(400)
    assert "waits" not in tracks(calls((1, 100, 0xa0, 2), (1, 300, 0, 0), (2, 300, 0, 0)))["t1"]


def test_call(tracks):
    """A call counts if it is open; what began in it, too."""
    recording = Recording().call(1, 0).call(2, 0, 950).look(1, 500, 0, object=0xa0, system_call=203).look(2, 500, 0)
    found = tracks(recording)
    assert found["t1"]["call"] == {"kind": "call", "object": 0xa0, "since": at(0), "for_ns": 1000 * MS, "looked_at": at(500), "system_call": 203}
    assert "call" not in found["t2"] and "waits" not in found["t2"]


def test_last_look_counts(tracks):
    found = tracks(Recording().mutex(1, 100, 0xa0, 2, time=200).mutex(1, 100, 0xa0, 3, time=400).mutex(1, 100, 0xa0, 0, time=800))
    assert found["t1"]["waits"]["looked_at"] == at(800) and "holder" not in found["t1"]["waits"]


def test_holder(text):
    """Not known, not recorded, in a call, idle, and one that recorded nothing."""
    recording = Recording(threads=6).call(4, 10).call(5, 10, 20)
    for thread, holder in ((1, 0), (2, 99), (3, 4)):
        recording.mutex(thread, 100, 0xa0 + thread, holder)
    lines = {line.split()[0]: line for line in text(recording).splitlines()}
    assert lines["t1"].endswith("waits for mutex 161 for 900.000 ms")
    assert lines["t2"].endswith("held by thread 99, of which nothing is recorded")
    assert lines["t3"].endswith(f"held by t4 ({os_id(4)}), which is in serve for 990.000 ms")
    assert text(Recording().call(2, 10, 20).mutex(1, 100, 0xa0, 2)).splitlines()[1].endswith("which is in no call for 970.000 ms")
    assert text(Recording().mutex(1, 100, 0xa0, 2)).splitlines()[1].endswith("which has recorded nothing")


def test_csv(rbwp, work):
    rows = list(csv.DictReader(io.StringIO(rbwp("stacks", "--csv", "tracks", two().write(work / "a.bin")).text)))
    assert [(row["track"], row["waits_held_by"], row["waits_deadlock"]) for row in rows] == [("t1", "t2", "1"), ("t2", "t1", "1"), ("t3", "t1", "")]


def test_window(tracks):
    """What a thread did between a look and the window was not seen."""
    assert tracks(two(), "--from", f"{at(850)}")["t1"]["waits"]["deadlock"] == 1
    assert not any("waits" in track for track in tracks(two(), "--from", f"{at(950)}").values())
    assert "t1" not in tracks(two(), "--thread", "t3")


def words(count, start=0x7000):
    return [(0, 0x1010), (1, start), *((start + 8 * i, 0x1000 + i % 64) for i in range(count))]


HOSTILE = {
    "loop": Recording().look(1, 900, 0, "mutex", words=[(0, 0x1010), (1, 0x7000), (2, 0x7000), (0x7000, 0x7000), (0x7008, 0x1010)]).file(0x1000, 0x2000, 0, "/bin/sh"),
    "many": Recording().look(1, 900, 0, "mutex", words=words(20000)).file(0x1000, 0x2000, 0, "/bin/sh"),
    "same place": Recording().look(1, 900, 0, "mutex", words=[(0, 1), (0, 2), (1, 8), (1, 8), (8, 8), (8, 9)]),
    "no registers": Recording().look(1, 900, 0, "mutex", words=[(0x7000, 0x1010)]).file(0x1000, 0x2000, 0, "/bin/sh"),
    "edge": Recording().look(1, 900, 0, "mutex", words=[(0, 2**64 - 1), (1, 2**64 - 8), (2**64 - 8, 2**64 - 1)]).file(0, 2**64 - 1, 2**64 - 1, "/bin/sh"),
    "backwards": Recording().look(1, 900, 0, "mutex", words=words(4)).file(0x2000, 0x1000, 0, "/bin/sh"),
    "overlapping": Recording().look(1, 900, 0, "mutex", words=words(4)).file(0x1000, 0x3000, 0, "/bin/sh").file(0x1000, 0x2000, 0, "/bin/ls"),
    "times": Recording().look(1, 0, 900, "mutex").look(2, -900, 2000, "mutex").look(1, 0, 0, "").look(3, 2**32, 2**32),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_rows(tracks, text, name):
    assert tracks(HOSTILE[name]) and text(HOSTILE[name], "--native")


def test_two_files_at_one_address(tracks):
    """Nobody can say which of them it was then; the same one twice is one."""
    twice = HOSTILE["many"]
    frame = tracks(twice.file(0x1000, 0x2000, 0, "/bin/sh"))["t1"]["stack_frames"][0]
    assert frame["file"] == "/bin/sh" and frame["offset"] == 0x10
    assert "file" not in tracks(HOSTILE["overlapping"])["t1"]["stack_frames"][0]


@pytest.fixture(scope="module")
def bad_files(shared):
    os.mkfifo(shared / "fifo")
    (shared / "folder").mkdir()
    (shared / "empty").write_bytes(b"")
    (shared / "text").write_bytes(b"#!/bin/sh\n" * 500)
    whole = open("/bin/sh", "rb").read()
    for bytes_ in (4, 63, 64, 65, 500, 4096, len(whole) // 2):
        (shared / f"cut{bytes_}").write_bytes(whole[:bytes_])
    (shared / "link").symlink_to("fifo")
    return [f"{shared}/{name}" for name in os.listdir(shared)] + ["/dev/zero", "/dev/tty", "/nowhere", "relative", "/bin/sh\0x", "/proc/self/mem", "a" * 60000]


def test_hostile_paths(tracks, bad_files):
    """Nothing but regular files is opened, and none that is not what was mapped."""
    recording = Recording()
    for i, path in enumerate(bad_files):
        recording.file(0x10000 * (i + 1), 0x10000 * (i + 1) + 0x8000, 0x1000 * (i % 3), path, ("", "00" * 20, "xyz", "a" * 200)[i % 4])
        recording.look(1, 800 + i, 0, "mutex", words=[(0, 0x10000 * (i + 1) + 16), (1, 0x7000), (0x7000, 0x10000 * (i + 1) + 32)])
    found = tracks(recording)["t1"]
    assert len(found["stack_frames"]) == 1 and not found["whole"] and "function" not in found["stack_frames"][0]


def test_stack_of_an_earlier_look(tracks):
    """Of the same wait: the last one that is known."""
    found = tracks(stacked().mutex(2, 100, 0xa0, 3, time=950).mutex(1, 850, 0xa0, 0))
    assert found["t2"]["stack_frames"][0]["offset"] == 0x510 and found["t2"]["waits"]["looked_at"] == at(950)
    assert found["t1"]["stack_frames"][0]["offset"] == 0x520


PYTHON = [("inner", "/a/lib.py", 12, 0), ("C.outer;x", "/a/lib.py", 0, 1), (None, "run.py", 3, 1)]


def test_python_functions(rbwp, work, tracks, text):
    """Behind the C frames, as none of those is the interpreter's; of this look alone, and without the text that says that they are not known."""
    recording = stacked().python(1, 800, 0, *PYTHON).python(3, 300, 0, ("Python 3.99: frames not known", None, 0, 2))
    frames = tracks(recording)["t1"]["stack_frames"]
    assert [(f.get("function"), f.get("source"), f.get("line"), f.get("python")) for f in frames] == [
        (None, None, None, None), ("inner", "/a/lib.py", 12, True), ("C.outer;x", "/a/lib.py", None, True), (None, "run.py", 3, True)]
    shown = [line.strip() for line in text(recording).splitlines()]
    assert shown[shown.index("libx.so+0x520") + 1:][:3] == ["inner (lib.py:12)", "C.outer;x (lib.py)", "? (run.py:3)"]
    rows = rbwp("stats", "--by", "stack", "--json", work / "a.bin").json["slow_stacks"]
    assert sorted(row["frames"] for row in rows) == ["? (run.py:3);C.outer,x (lib.py);inner (lib.py:12);libx.so+0x520", "libx.so+0x510", "libx.so+0x510"]


def test_python_rows_may_hold_anything(tracks):
    """More frames than a stack has room for, entries and names of no meaning, rows of no look."""
    odd = [("f" * 4000, "g" * 4000, 2**63, 2**64 - 1), ("", "", 0, 2)] + [("f", "g", 1, 0)] * 1000
    recording = stacked().python(1, 800, 0, *odd).python(2, 5, 0, *PYTHON)
    recording.frames += [(at(800), 1, at(0), 0, 1, 1, 5, 1)]
    assert len(tracks(recording)["t1"]["stack_frames"]) == 512


def test_by_stack(rbwp, work):
    rows = rbwp("stats", "--by", "stack", "--json", stacked().write(work / "a.bin")).json["slow_stacks"]
    assert [(row["call"], row["frames"], row["samples"], row["total"] // MS, row["oldest"] // MS) for row in rows] == [
        ("mutex", "libx.so+0x510", 1, 800, 800), ("serve", "libx.so+0x510", 3, 700, 400), ("serve", "libx.so+0x520", 1, 400, 800)]
    lines = rbwp("stats", "--by", "stack", work / "a.bin").lines
    assert lines[-3].split() == ["1", "800.0", "ms", "800.0", "ms", "mutex", "libx.so+0x510"]
    assert len(rbwp("stats", "--csv", "slow_stacks", work / "a.bin").lines) == 4
    assert "slow_stacks" not in rbwp("stats", "--json", work / "a.bin").text


def test_stats_line(rbwp, work):
    """The deadlock, or the longest wait for what another thread holds; who waits for work is idle."""
    assert any(line == "t2 (4712) waits for mutex 160 for 900.000 ms, held by t3 (4713) (rbwp stacks FILE has the stacks)"
               for line in rbwp("stats", stacked().write(work / "a.bin")).lines)
    assert "deadlock: t1 (4711) holds" in rbwp("stats", "--live", two().write(work / "b.bin")).text
    assert "waits for" not in rbwp("stats", Recording().call(1, 0).wait(1, 10, 20).write(work / "c.bin")).text
    idle = Recording().call(1, 0).look(1, 200, 100, kind="condition variable", object=0xa0)
    assert "waits for" not in rbwp("stats", idle.write(work / "d.bin")).text


def test_top_line(rbwp, work):
    """Also where looks are older than what top shows: all of them count."""
    calls = Recording(threads=2).call(1, 0).call(2, 0)
    for time in (100, 200, 400):
        calls.look(1, time, 0, object=0xa0, holder=2).look(2, time + 1, 0, object=0xb0, holder=1)
    assert "deadlock: t1 (4711) holds" in rbwp("top", "--once", calls.write(work / "c.bin")).text
    assert "deadlock: t1 (4711) holds" in rbwp("top", "--once", two().write(work / "a.bin")).text
    assert "waits for" not in rbwp("top", "--once", Recording().mutex(1, 100, 0xa0, 2).wait(1, 100, 950).write(work / "b.bin")).text


def test_folded_and_speedscope(rbwp, work):
    path = stacked().write(work / "a.bin")
    assert rbwp("export", "--to", "folded", "--stacks", path).lines == [
        f"mutex;libx.so+0x510 {800 * MS}", f"serve;libx.so+0x510 {700 * MS}", f"serve;libx.so+0x520 {400 * MS}"]
    made = rbwp("export", "--to", "speedscope", "--stacks", path).json
    names = [frame["name"] for frame in made["shared"]["frames"]]
    profile, = made["profiles"]
    assert [[names[i] for i in sample] for sample in profile["samples"]] == [["mutex", "libx.so+0x510"], ["serve", "libx.so+0x510"], ["serve", "libx.so+0x520"]]
    assert profile["weights"] == [800 * MS, 700 * MS, 400 * MS] and profile["endValue"] == 1900 * MS
    assert "libx" not in rbwp("export", "--to", "folded", path).text


def test_arguments(rbwp, work):
    """Marks where looks were have the stack."""
    path = stacked().write(work / "a.bin")
    marks = [event["args"] for event in rbwp("export", "--to", "chrome", path).json["traceEvents"] if event["ph"] == "i"]
    assert sorted(mark["stack"] for mark in marks) == ["libx.so+0x510"] * 4 + ["libx.so+0x520"]
    rbwp("export", "--to", "perfetto", "--no-deflate", "-o", work / "a.pftrace", path)
    assert b"libx.so+0x520" in (work / "a.pftrace").read_bytes()
    rbwp("export", "--to", "sqlite", "-o", work / "a.sqlite", path)
    assert b"libx.so+0x520" in (work / "a.sqlite").read_bytes()


def test_page(rbwp, work):
    rbwp("report", "-f", "-o", work / "a.html", stacked().write(work / "a.bin"))
    rows = Page(work / "a.html").data["slow_stacks"]
    assert [(row["call"], row["frames"]) for row in rows] == [("mutex", "libx.so+0x510"), ("serve", "libx.so+0x510"), ("serve", "libx.so+0x520")]


def test_opens_no_fifo(tracks, work):
    """Whoever waits for a reader of it still waits."""
    os.mkfifo(work / "fifo")
    writer = threading.Thread(target=os.open, args=(work / "fifo", os.O_WRONLY), daemon=True)
    writer.start()
    tracks(Recording().look(1, 900, 0, "mutex", words=[(0, 0x1010), (1, 8)]).file(0x1000, 0x2000, 0, f"{work}/fifo"))
    writer.join(1)
    assert writer.is_alive()
    os.close(os.open(work / "fifo", os.O_RDONLY | os.O_NONBLOCK))


def test_without_libdw(program, run, work):
    """The instruction pointer alone."""
    recording = Recording().look(1, 900, 0, "mutex", words=words(40)).file(0x1000, 0x2000, 0x500, "/lib/libx.so")
    found = json.loads(run(program("NO_LIBDW"), "stacks", "--json", recording.write(work / "a.bin")).silent().lines[0])
    assert found["stack_frames"] == [{"address": 0x1010, "file": "/lib/libx.so", "offset": 0x510, "guessed": False}] and found["whole"] is False
    assert "libx.so+0x510\n" in run(program("NO_LIBDW"), "stacks", work / "a.bin").text


def test_nothing_is_known(rbwp, work):
    """Of a file without such tables."""
    path = Recording().call(1, 0).write(work / "a.bin")
    assert "waits" not in rbwp("stacks", "--json", path).text and "frames" not in rbwp("stacks", "--json", path).text
