# SPDX-License-Identifier: Apache-2.0
"""The critical path inside a process. Guards: a wait leads to who ended it, a call to who handed it over, from the run's end or a named
call's; pieces and shares add up to the run."""
import pytest
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
