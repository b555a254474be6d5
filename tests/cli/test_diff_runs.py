# SPDX-License-Identifier: Apache-2.0
"""Which runs rbwp diff finds in folders: files behind each other are repeats, those of one job, one zero time or one time are one run;
and whether runs of both sides were made by turns."""
import struct

import pytest
import rbwp_make as m
from report_page import Page

START, SECOND = 1_700_000_000_000_000_000, 1_000_000_000


def write(path, begin, length=SECOND // 2, node=0, nodes=1, call=1000, trailer=True):
    """A recording from `begin` on (seconds), of two calls; of a process that began when it did."""
    path.parent.mkdir(parents=True, exist_ok=True)
    since = int(begin * SECOND)
    zero, number = START + since, 100 + int(10 * begin) + node
    records = [(zero + 5, "cb", 1), (zero + 5 + call, "ce"), (zero + 5000, "cb", 1), (zero + 5000 + call, "ce")]
    samples = [struct.pack("<Qqqq", i + 1, zero + i * length, 1000 * SECOND + since + i * length, zero + i * length) for i in range(2)]
    file = m.file([m.block(1, 0, records)], [(1, b"work")], zero_time=zero, node=node)
    path.write_bytes(m.with_trailer(file, m.info(number, zero, zero + length, nodes), m.section(b"HOST", b"web"), m.table_section(b"SAMP", samples),
                                    m.section(b"CLCK", struct.pack("<IIQQ", 1, 0, SECOND, 10)),
                                    m.table_section(b"PROC", [struct.pack("<16sqH6x", b"1" * 16, since + 1, 0)])) if trailer else file)


@pytest.fixture
def diff(rbwp, work):
    return lambda *words, code=0: rbwp("diff", "--json", *words, work / "a", work / "b", code=code)


def runs_of(done):
    return [len(done.json["rows"][0]["runs"][side]) for side in "ab"]


def test_files_behind_each_other_are_runs(diff, work):
    """So they are judged as those that are named one by one are; it is said, and can be contradicted."""
    for i in range(6):
        write(work / "a" / f"{i}.bin", 2 * i, call=1000 + i)
        write(work / "b" / f"{i}.bin", 2 * i + 1, call=2000 + i)
    done = diff("--threshold", "5", code=4).says(f"before: 6 runs in {work}/a (6 files of one process each)", "after: 6 runs in")
    assert runs_of(done) == [6, 6] and done.json["judged"] and done.json["interleaved"] == "yes"
    assert runs_of(diff("--quiet").silent()) == [6, 6]
    one = diff("--one-run")
    assert runs_of(one) == [1, 1] and one.json["rows"][0]["a"]["count"] == 12 and "runs in" not in one.error
    more = diff("--before", work / "b", "--after", work / "b" / "0.bin")
    assert runs_of(more) == [12, 7]


def test_files_of_one_run(diff, work):
    """Nodes with the zero time of their job, and what was recorded at the same time."""
    for node in range(3):
        write(work / "a" / f"{node}.bin", 10, node=node, nodes=3)
        write(work / "b" / f"{node}.bin", 20 + node / 10, call=3000)
    done = diff().says(f"before: 1 run in {work}/a (3 files, of one job or at the same time)", f"after: 1 run in {work}/b (3 files, of one job")
    assert runs_of(done) == [1, 1] and done.json["rows"][0]["b"]["count"] == 6 and done.json["interleaved"] == "unknown"


def test_file_that_was_not_finished(diff, work):
    """It is a run that begins when it does."""
    for i in range(3):
        write(work / "a" / f"{i}.bin", 2 * i, trailer=i != 1)
        write(work / "b" / f"{i}.bin", 2 * i + 1)
    assert runs_of(diff(code=(0, 3))) == [3, 3]


def test_jobs_in_one_folder(diff, work):
    """Each is a run."""
    for run in range(3):
        for node in range(2):
            write(work / "a" / f"{run}-{node}.bin", 10 * run, node=node, nodes=2)
            write(work / "b" / f"{run}-{node}.bin", 10 * run + 5, node=node, nodes=2, call=3000)
    assert runs_of(diff().says("before: 3 runs in", "(6 files, of one job or at the same time)")) == [3, 3]


def test_folders_in_a_folder(diff, work):
    """Each is a run, whatever is in it; beside files they are left alone, as hidden ones are."""
    for run in range(3):
        for file in range(2):
            write(work / "a" / str(run) / f"{file}.bin", 10 * run + 4 * file)
            write(work / "b" / str(run) / f"{file}.bin", 100 + 10 * run + 4 * file)
    write(work / "a" / ".hidden" / "x.bin", 70)
    done = diff().says(f"before: 3 runs in {work}/a (3 folders of one run each, 6 files)")
    assert runs_of(done) == [3, 3] and done.json["interleaved"] == "no"
    write(work / "a" / "x.bin", 80)
    assert runs_of(diff()) == [1, 3]
    (work / "b" / "empty").mkdir()
    diff(code=1).says("empty: is a folder without RBWP files")


def test_too_many_runs(diff, work):
    for run in range(65):
        write(work / "a" / f"{run:02}.bin", run)
    write(work / "b" / "0.bin", 100)
    diff(code=1).says("before: more than 64 runs")


def test_file_that_is_none(diff, work):
    write(work / "a" / "0.bin", 1)
    write(work / "b" / "0.bin", 2)
    (work / "b" / "1.bin").write_bytes((work / "b" / "0.bin").read_bytes()[:20])
    diff(code=1).says("1.bin")


@pytest.mark.parametrize("order, interleaved", [("ab" * 5, "yes"), ("abba" * 3, "yes"), ("a" * 5 + "b" * 5, "no"), ("b" * 5 + "a" * 5, "no"),
                                                ("aaa" + "b" * 6 + "aaa", "no"), ("ab", "unknown"), ("abab" + "aaaa" + "bbbb", "yes")])
def test_order_of_runs(diff, rbwp, work, order, interleaved):
    """It is known from the files' times; without them nothing is."""
    for at, side in enumerate(order):
        write(work / side / f"{at:02}.bin", at, call=2000 if side == "b" else 1000)
    assert diff().json["interleaved"] == interleaved
    shown = rbwp("diff", "--report", work / "page.html", work / "a", work / "b").text
    assert ("not made by turns" in shown) == (interleaved == "no")
    assert Page(work / "page.html").data["interleaved"] == interleaved
