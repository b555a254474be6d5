# SPDX-License-Identifier: Apache-2.0
"""The critical path inside a process. Guards: a wait leads to who ended it, a call to who handed it over, from the run's end or a named
call's; pieces and shares add up to the run."""
import json

import pytest
from report_page import Page
from why_make import COMPACTION, MS, Recording


def walked(rbwp, path, *words):
    got = rbwp("stats", "--critical-path", "--json", *words, path).json
    assert sum(p["duration"] for p in got["pieces"]) == sum(s["duration"] for s in got["shares"]) == got["last"] - got["first"]
    assert all(a["start"] + a["duration"] == b["start"] for a, b in zip(got["pieces"], got["pieces"][1:]))
    return [(p["thread"], p["kind"], p.get("name"), round(p["duration"] / MS, 3)) for p in got["pieces"]]


@pytest.fixture(scope="module")
def recording(shared):
    """t1 hands a call to t2, which waits in it for t3's lock."""
    made = Recording().call(1, 0, 20).call(2, 15, 60, queued=10).call(3, 5, 45, COMPACTION).wait(2, 30, 20, waker=3)
    return made.call(1, 40, 10).write(shared / "path.bin")


def test_wait_leads_to_its_waker(rbwp, recording):
    assert walked(rbwp, recording) == [("t3", "idle", "compaction", 5.0), ("t3", "work", "compaction", 45.0), ("t2", "work", "request", 25.0)]


def test_call_leads_to_its_ticket(rbwp, work):
    path = Recording().call(1, 0, 20).call(2, 15, 60, queued=10).write(work / "ticket.bin")
    assert walked(rbwp, path) == [("t1", "work", "request", 10.0), ("t2", "queue", "request", 5.0), ("t2", "work", "request", 60.0)]
    text = rbwp("stats", "--critical-path", "--top", "2", path).text
    assert text.startswith("Critical path over a run of 75.000 ms\n\n   share   pieces       time  kind          thread\n   80.0%        1   60.00 ms  work          t2  request\n")
    assert text.endswith("... and 1 more (--json has all)\n")


def test_of_a_call(rbwp, recording):
    assert walked(rbwp, recording, "--of", "comp*") == [("t3", "idle", "compaction", 5.0), ("t3", "work", "compaction", 45.0)]
    rbwp("stats", "--critical-path", "--of", "none", recording, code=1).says("no call is called 'none'")
    rbwp("stats", "--of", "request", recording, code=2).says("--of is of --critical-path")


def test_nothing_ran(rbwp, work):
    rbwp("stats", "--critical-path", Recording().write(work / "empty.bin"), code=1).says("nothing ran in these files")


def test_on_the_page(rbwp, recording, work):
    """The rows of stats, the longest first; of a file without links, where each thread's work is a path of its own, there is none."""
    rbwp("report", "-o", work / "page.html", recording)
    shares = rbwp("stats", "--critical-path", "--json", recording).json["shares"]
    page = Page(work / "page.html").data
    assert page["critical"] == [{**share, "share": pytest.approx(share["share"])} for share in shares] and len(shares) == 3
    rbwp("report", "-f", "-o", work / "page.html", Recording().call(1, 0, 20).write(work / "lone.bin"))
    assert "critical" not in Page(work / "page.html").data


def test_in_perfetto(rbwp, recording, work):
    """A track of its own has the pieces; without a path all else is written, other formats refuse the option."""
    path = work / "path.pftrace"
    rbwp("export", "--critical-path", "-o", path, recording)
    spans = [json.loads(line) for line in rbwp("export", "--to", "ndjson", path).lines if line.startswith("{")]
    track = [(span["name"], span["start_ns"], span["duration_ns"]) for span in spans if span["track"] == "critical path"]
    pieces = rbwp("stats", "--critical-path", "--json", recording).json["pieces"]
    assert track == [(f"{piece['kind']}: {piece['name']}, {piece['thread']}", piece["start"], piece["duration"]) for piece in pieces] and len(track) == 3
    lone = Recording().call(1, 0, 20).write(work / "lone.bin")
    rbwp("export", "--critical-path", "-f", "-o", path, lone).says("no critical path is known")
    rbwp("export", "--critical-path", "-o", work / "x.csv", recording, code=2).says("--critical-path is for perfetto, not for csv")
