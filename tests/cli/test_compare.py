# SPDX-License-Identifier: Apache-2.0
"""rbwp compare runs two commands by turns and judges them as rbwp diff judges the folders that it leaves. A program that fails, leaves
nothing or is stopped ends it without a verdict. Guards whose runs are removed: none that it did not make."""
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as xml

import pytest
import rbwp_make as m

STOPPED = -signal.SIGTERM


@pytest.fixture
def victim(program):
    return program("COMPARE_VICTIM")


@pytest.fixture
def compare(rbwp, work):
    """compare(option, ..., a=[word, ...], b=[...]): in `work`, with what programs record of themselves."""
    def command(*options, a, b, code=0, **env):
        return rbwp("compare", "--what", "work", *options, "--", *map(str, a), "--", *map(str, b), code=code, cwd=work, env={"COMPARE_NOTES": str(work / "notes"), **env})

    return command


def test_verdict(compare, rbwp, victim, work):
    """By turns, as diff says of the folders; the other way round it is good."""
    done = compare("-n", "5", "--threshold", "50", "--json", "--junit", "x.xml", "--report", "p.html", a=[victim, 2], b=[victim, 80], code=4).says("run 5 of 5: a ")
    assert (work / "notes").read_text().split() == "2 80 2 80 80 2 2 80 80 2 2 80".split()  # one to warm up
    row, = done.json["rows"]
    assert (row["name"], row["verdict"], row["a"]["count"]) == ("work", "slower", 15) and done.json["interleaved"] == "yes" and done.json["judged"]
    folders = work / "rbwp-compare" / "a", work / "rbwp-compare" / "b"
    assert [sorted(os.listdir(folder)) for folder in folders] == [["01", "02", "03", "04", "05"]] * 2
    assert rbwp("diff", "--threshold", "50", "--json", *folders, code=4).json == done.json
    case, = xml.parse(work / "x.xml").getroot().iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("bgwork", "work") and "threshold 50 %" in case.find("failure").get("message")
    assert (work / "p.html").stat().st_size
    compare("-n", "5", "-f", "--warm-up", "0", "--threshold", "50", a=[victim, 80], b=[victim, 2])


def test_level_and_flags(compare, rbwp, victim, work):
    """Where the program is to record to is replaced, on its command line and in its environment; other flags count."""
    fine = lambda side: rbwp("info", "--json", work / "out" / side / "01").json["session"]["level"]
    for flags in ["-bgworkprofile_logfile", "own.bin"], ["--bgworkprofile_logfile=own.bin"]:
        compare("-n", "1", "-f", "-o", "out", "--level", "1", a=[victim, 1], b=[victim, "-bgworkprofile", "2", *flags, 1],
                RBWP_FLAGS="-bgworkprofile_logfile own.bin -bgworkprofile_compress 0")
        assert not (work / "own.bin").exists() and (fine("a"), fine("b")) == (1, 2)


def test_programs_that_record_nothing_of_themselves(rbwp, work):
    """What is asked for of them alone is nothing; so it is said."""
    rbwp("compare", "--what", "work", "-n", "1", "--", "true", "--", "true", code=1, cwd=work).says("true (a) left no recording: nothing is judged")


@pytest.mark.parametrize("a, b, says", [([1, "fail"], [1], "(a) ended with exit status 7: nothing is judged"), ([1], [1, "fail"], "(b) ended with exit status 7"),
                                        ([1], [1, "crash"], "(b) was ended by signal 9 (Killed)")])
def test_program_that_fails(compare, victim, work, a, b, says):
    done = compare("-n", "3", "--threshold", "1", a=[victim, *a], b=[victim, *b], code=1).says(says)
    assert not done.out and len((work / "notes").read_text().split()) == 1 + (a == [1])


def test_program_that_is_none(compare, work):
    compare(a=["./none"], b=["true"], code=1).says("./none: No such file", "./none (a) ended with exit status 127")


def test_stopped(compare, rbwp, victim, work):
    """However the program takes it, nothing goes on, and it ends as it would have."""
    done = compare(a=[victim, 1, "stop"], b=[victim, 1], code=STOPPED).says("stopped in a run of")
    assert not done.out and (work / "notes").read_text().split() == ["1"]
    (work / "slow").write_text("#!/bin/sh\ntrap 'exit 0' INT\necho x > started\nwhile :; do sleep 0.1; done\n")
    (work / "slow").chmod(0o755)
    process = subprocess.Popen([rbwp.path, "compare", "-f", "--", "./slow", "--", "./slow"], cwd=work, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (work / "started").exists():
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and not out and b"stopped in a run of ./slow: nothing is judged" in error


def test_folder(compare, victim, work):
    """Nothing is removed that is no run."""
    compare("-n", "2", a=[victim, 1], b=[victim, 1])
    compare("-n", "1", a=[victim, 1], b=[victim, 1], code=1).says("a: is not empty (-f removes the runs in it)")
    compare("-n", "1", "-f", a=[victim, 1], b=[victim, 1])
    side = work / "rbwp-compare" / "b"
    assert os.listdir(side) == ["01"]
    (side / "01" / "mine").write_text("mine")
    (side / "02").mkdir()
    compare("-n", "1", "-f", a=[victim, 1], b=[victim, 1], code=1).says("b: is not empty, by more than runs")
    assert os.listdir(side / "01") == ["mine"] and not (side / "02").exists()
    for name in ("with blank", "with%p"):
        compare("-o", name, a=[victim, 1], b=[victim, 1], code=1).says("a blank or % cannot be in the name")


def test_usage(rbwp, work):
    for words in ("", "-- true", "-- true --", "-- -- true", "-- true -- true -- true", "-n 0 -- true -- true", "-n 65 -- true -- true", "--level 3 -- true -- true",
                  "--what x -- true -- true", "--warm-up x -- true -- true", "--csv none -- true -- true"):
        assert not rbwp("compare", *words.split(), code=2, cwd=work).in_one_line().out
    assert not os.listdir(work)


# ---- JUnit -----------------------------------------------------------------------------------

HOSTILE = "\"><failure/>&amp;&lt;\\ ' \x01\x1b[31m\u2028]]>\ufffe\U0001f600"


def cases(path):
    suite, = xml.parse(path).getroot()
    found = {case.get("name"): [child.tag for child in case] for case in suite}
    count = lambda tag: sum(tag in tags for tags in found.values())
    assert [int(suite.get(key)) for key in ("tests", "failures", "skipped", "errors")] == [len(found), count("failure"), count("skipped"), 0]
    return found


def test_junit(rbwp, work):
    """A case a row: failed if slower, skipped if not judged. Names are what they are, or as near as XML comes."""
    slots = {HOSTILE: 1, "same": 2, "rare": 3, "gone": 4, "new": 5, "no\udcfftext": 6}
    for side, ns, last in ("a", 100, "gone"), ("b", 300, "new"):
        lengths = [(HOSTILE, ns)] * 9 + [("same", 100)] * 9 + [("rare", 2 * ns)] + [(last, 5)] * 9 + [("no\udcfftext", 100)] * 9
        records, at = [], 1000
        for item, length in lengths:
            records += [(at, "cb", slots[item]), (at + length, "ce")]
            at += length + 7
        names = [(number, name.encode("utf-8", "surrogateescape")) for name, number in slots.items()]
        (work / side).write_bytes(m.file([m.block(1, 0, records)], names))
    again = [word for _ in range(6) for word in ("--before", work / "a", "--after", work / "b")]
    rbwp("diff", "--threshold", "5", "--min-count", "8", "--junit", work / "x.xml", *again, code=4)
    shown = HOSTILE.translate({1: "\ufffd", 0x1b: "\ufffd", 0x2028: "\ufffd", 0xfffe: "\ufffd"})
    assert cases(work / "x.xml") == {shown: ["failure"], "same": [], "rare": ["skipped"], "gone": ["skipped"], "new": ["skipped"], "no\ufffdtext": []}
    rbwp("diff", "--threshold", "5", "--min-count", "9", "--junit", work / "x.xml", "--force", work / "a", work / "b")
    assert set(map(tuple, cases(work / "x.xml").values())) == {("skipped",)}
    rbwp("diff", "--junit", work / "x.xml", work / "a", work / "b", code=1).says("exists")
