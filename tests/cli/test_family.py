# SPDX-License-Identifier: Apache-2.0
"""rbwp processes shows a program above its children and these above theirs, each once, with when its
recording began and ended; who runs still and who was killed, his child being alive. Of two
processes of one id the one that was there counts, and nobody is his own ancestor. In traces of a
family begin and end are marks, in stats they are none; a child's first call has its arguments."""
import csv
import json
import struct
import subprocess

import pytest
import rbwp_make as m
from report_page import Page

S, ZERO = 10**9, 1_700_000_000_000_000_000

GOES_ON = 5


def shown(rbwp, *words):
    return [json.loads(line) for line in rbwp("processes", "--json", *words).silent().lines]


def rows(rbwp, *words):
    return list(csv.DictReader(rbwp("export", "-t", "csv", *words).lines))


def marks(spans, process=""):
    """(process id, name) of begins and ends."""
    found = [(span["process"].split()[1], span["name"]) for span in spans if span["track_kind"] == "life"]
    return [mark for mark in found if process in ("", mark[0])]


class Family:
    """What was found of four processes while they ran, once the child was killed, and at the end."""

    def __init__(self, rbwp, program, folder):
        folder.mkdir()
        self.folder, self.rbwp, self.first = folder, rbwp, folder / "run.bin"
        eldest = subprocess.Popen([program, self.first], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.pids = [eldest.pid, *map(int, eldest.stdout.readline().split())]
            self.running = self.found()
            eldest.stdin.write(b"k")
            eldest.stdin.flush()
            assert eldest.stdout.read(1) == b"k"
            self.killed = self.found()
        finally:
            eldest.stdin.close()
        assert eldest.stdout.read() == b"" and eldest.wait() == 0  # the grandchild has the pipe, too
        self.ended = self.found()

    def found(self):
        found = shown(self.rbwp, self.folder)
        eldest, child, grandchild, younger = self.pids
        assert [(p["process"], p["depth"]) for p in found] == [(eldest, 0), (child, 1), (grandchild, 2), (younger, 1)]
        assert [p["parent"] for p in found][1:] == [eldest, child, eldest]
        assert all(p["name"] == "rbwp-family" and p["start"] <= p["last"] for p in found), found
        starts = [p["start"] for p in found]
        assert starts == sorted(starts)
        return found


@pytest.fixture(scope="module")
def family(rbwp, program, shared):
    return Family(rbwp, program("FAMILY"), shared / "all")


@pytest.fixture(scope="module")
def spans(rbwp, family):
    return rows(rbwp, "--live", family.folder)


def test_states(family):
    states = lambda found: [p["state"] for p in found]
    assert states(family.running) == ["runs", "runs", "runs", "ended"]
    assert states(family.killed) == ["runs", "died", "runs", "ended"]
    assert states(family.ended) == ["ended", "died", "ended", "ended"]
    assert [p["records"] for p in family.ended] == [14, None, 6, 10]


def test_order_in_views(rbwp, family):
    """Views of all files keep to that order; by their names it is another one."""
    stats = rbwp("stats", "--live", "--json", family.folder).json
    assert [int(p["name"].split()[1]) for p in stats["processes"]] == family.pids
    assert not stats.get("ranges")


def test_marks(family, spans):
    assert sorted(marks(spans)) == sorted((str(pid), mark) for pid, mark in zip(family.pids * 2, ["begins"] * 4 + ["ends", "died", "ends", "ends"]))


def test_repaired_says_that_it_died(rbwp, family, work):
    dead = [p["files"][0] for p in family.ended if p["state"] == "died"]
    rbwp("repair", "-o", work / "repaired.bin", *dead)
    assert [p["state"] for p in shown(rbwp, work / "repaired.bin")] == ["died"]
    found, child = marks(rows(rbwp, work / "repaired.bin", family.ended[0]["files"][0])), str(family.pids[1])
    assert (child, "died") in found and (child, "ends") not in found and len(found) == 4


def test_first_calls_have_their_arguments(spans):
    calls = [span for span in spans if span["name"] == "step"]
    assert len(calls) == 7 + 3 + 3 + 5
    assert all('"number":' in call["args"] for call in calls), calls


def test_timeline(rbwp, family):
    text = rbwp("timeline", "--live", "--width", "100", family.folder).text
    assert text.count("[") == 4 and text.count("]") == 3 and "x\n" in text
    assert "[" not in rbwp("timeline", family.first).text  # alone it is of no family


def test_page(rbwp, family, work):
    rbwp("report", "--live", "-o", work / "page.html", family.folder)
    kinds = Page(work / "page.html").data["kinds"]
    assert {kind["name"]: int(kind["count"]) for kind in kinds} == {"begins": 0, "ends": 0, "died": 0, "step": 18}


def test_text(rbwp, family):
    lines = rbwp("processes", family.folder).lines
    eldest, child, grandchild, younger = family.pids
    assert len(lines) == 5 and lines[0].split() == ["process", "start", "end", "threads", "records", "file"]
    assert lines[1].split()[:3] == [str(eldest), "rbwp-family", "+0.000000000s"]
    assert lines[2].startswith(f"  {child} rbwp-family ") and lines[2].split()[3] == "died"
    assert lines[3].startswith(f"    {grandchild} rbwp-family ") and lines[4].startswith(f"  {younger} ")


@pytest.fixture
def write(work):

    def written(name, pid, parent, born, at, boot=b"1" * 16, ahead=0, title=b"x", part=0, why=0):
        """A session from ZERO + at on, by a clock that is ahead."""
        begin = ZERO + at + ahead
        job = m.table_section(b"JOBM", [struct.pack("<IHHq", 9, 0, 0, parent)]) if parent else b""
        sections = [m.info(pid, begin, begin + S, 1), m.section(b"HOST", b"web"), job, m.table_section(b"THRD", [m.thread_entry(1, 2)]),
                    m.table_section(b"SAMP", [struct.pack("<Qqqq", 1, begin, 50 * S + at, ZERO + at)]),
                    m.table_section(b"PROC", [struct.pack("<16sqH6x", boot, born, len(title))], title)]
        if part:
            sections.append(m.table_section(b"KEPT", [struct.pack("<qQQQQQIIH6x", 0, 0, 0, 0, 0, 0, why, part, 0)]))
        path = work / name
        path.write_bytes(m.with_trailer(m.file([m.block(1, 0, [(begin + 1, "cb", 0), (begin + 2, "ce")])], [(0, b"work")], zero_time=begin), *sections))
        return str(path)

    return written


@pytest.fixture
def now(write):
    return write("now", 7, 0, 5 * S, 4 * S)


@pytest.fixture
def child(write):
    return write("child", 8, 7, 7 * S, 6 * S, ahead=-30 * S)


def tree(rbwp, *files):
    return [(p["process"], p["depth"], p["files"][0].rpartition("/")[2]) for p in shown(rbwp, *files)]


def test_process_id_of_several(rbwp, write, now, child):
    """It was another's before, is another's later, and on another machine."""
    old, then = write("old", 7, 0, 1 * S, 0), write("then", 7, 0, 9 * S, 8 * S)
    other = write("other", 7, 0, 6 * S, 5 * S, boot=b"2" * 16)
    assert tree(rbwp, child, then, other, now, old) == [(7, 0, "old"), (7, 0, "now"), (8, 1, "child"), (7, 0, "other"), (7, 0, "then")]
    assert [p["start"] - ZERO for p in shown(rbwp, old, child)] == [0, 6 * S]


def test_nobody_is_his_own_ancestor(rbwp, write):
    assert tree(rbwp, write("a", 3, 4, S, 0), write("b", 4, 3, S, 1)) == [(3, 0, "a"), (4, 1, "b")]
    assert tree(rbwp, write("self", 3, 3, S, 0)) == [(3, 0, "self")]


@pytest.mark.parametrize("part, why, wanted", [(1, GOES_ON, ["begins"]), (2, GOES_ON, []), (3, 0, ["ends"])])
def test_part_of_a_recording(rbwp, write, child, part, why, wanted):
    """Of a recording that is cut into files the first one begins, and the last one ends."""
    spans = rows(rbwp, write("cut", 7, 0, 5 * S, 4 * S, part=part, why=why), child)
    assert any(span["process"] == "x 7" for span in spans) and [name for _, name in marks(spans, "7")] == wanted


def test_parts_together(rbwp, write, child):
    """They are read together, in any order, but none of them twice."""
    parts = [write(f"cut{part}", 7, 0, 5 * S, 4 * S, part=part, why=GOES_ON if part < 3 else 0) for part in (3, 1, 2)]
    spans = [s for s in rows(rbwp, *parts, child) if s["process"].startswith("x 7")]
    assert sorted(name for _, name in marks(spans)) == ["begins", "ends"]
    assert len([s for s in spans if s["track_kind"] != "life"]) == 3
    rbwp("export", "-t", "csv", *parts, "--", parts[1], code=1).says("given twice")


def test_several_files_are_one_line(rbwp, write, now):
    again = write("again", 7, 0, 5 * S, 9 * S)
    both, = shown(rbwp, again, now)
    assert both["files"] == [now, again] and both["records"] == 4 and both["last"] - both["start"] == 6 * S
    assert f"{now} and 1 more" in rbwp("processes", now, again).text


def test_no_trailer(rbwp, work):
    (work / "bare").write_bytes(m.file([m.block(1, 0, [(5, "cb", 0), (6, "ce")])], [(0, b"work")]))
    assert "(process not known)" in rbwp("processes", work / "bare").text


def test_hostile_name(rbwp, write):
    text = rbwp("processes", write("evil", 9, 0, S, 0, title=b"\x1b[2J")).text
    assert "\x1b" not in text and "[2J" in text


def test_no_file(rbwp, work):
    assert "no such" in rbwp("processes", work / "absent", code=1).error.lower()
    rbwp("processes", code=2).says("no FILE")
