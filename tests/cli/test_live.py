# SPDX-License-Identifier: Apache-2.0
"""--live shows what a program has recorded so far, in every tool: its calls are counted as soon as they have returned, with their names,
also of a program that records hardly anything, so that nothing of it is in its file for minutes; what it is in now is open until now.
After kill -9 the same is shown up to there. The file and the live file stay as they are."""
import csv
import io
import json
import os
import shutil

import pytest
from victim import Victim


@pytest.fixture
def victim(program, work):
    running = Victim([program("LIVE_VICTIM")], work / "run.bin")
    yield running
    running.kill()


@pytest.fixture
def tool(rbwp):
    def output(*words):
        done = rbwp(*words, timeout=60)
        assert "repair" not in done.error
        return done.text

    return output


@pytest.fixture
def everywhere(tool, victim, work):
    """everywhere(ticks): every tool sees so many ticks; and one flush that is open."""
    def look(ticks):
        path = victim.path
        before = {name: open(name, "rb").read(4096) for name in (path, path + ".live")}
        stats = json.loads(tool("stats", "--live", "--json", path))
        calls = {r["name"]: (r["count"], r["unfinished"]) for r in stats["work_items"]}
        assert calls["tick"] == (ticks, 0) and calls["flush"][1] == 1
        assert {t["name"] for t in stats["threads"]} == {"main worker", "flusher"}, stats["threads"]
        text = tool("stats", "--live", path)
        assert "flush" in text.splitlines()[0] or "flush" in text.split("\n\n")[0]
        assert "tick" in tool("timeline", "--live", "--width", "80", path)
        assert "main worker" in tool("timeline", "--live", path)
        table = list(csv.DictReader(io.StringIO(tool("export", "--live", "--to", "csv", path))))
        assert sum(r["name"] == "tick" for r in table) == ticks
        tool("report", "--live", "--force", "-o", f"{work}/page.html", path)
        diff = json.loads(tool("diff", "--live", "--json", path, path))
        assert {r["name"]: r["a"]["count"] for r in diff["rows"]}["tick"] == ticks
        shown = tool("tail", "--live", "-n", "1000", path)
        assert shown.count("tick") == ticks and "main worker" in shown
        spans = [json.loads(line) for line in tool("dump", "--live", "--spans", "--ndjson", path).splitlines()]
        assert sum(s["name"] == "tick" for s in spans) == ticks
        assert json.loads(tool("info", "--live", "--json", path))["work_items"]
        tool("split", "--live", "--by-thread", "--force", "-o", f"{work}/part.bin", path)
        parts = [json.loads(tool("stats", "--json", part)) for part in work.glob("part*")]
        assert sum(row["count"] for part in parts for row in part["work_items"] if row["name"] == "tick") == ticks
        assert before == {name: open(name, "rb").read(4096) for name in before}

    return look


def test_program_that_runs_until_it_is_killed(victim, everywhere):
    victim.record(b"ttf")
    everywhere(3)
    victim.record(b"tt")
    everywhere(5)
    victim.kill()
    everywhere(5)


@pytest.mark.parametrize("command", ["stats", "timeline", "info", "tail", "dump"])
def test_hint(rbwp, victim, command):
    """Without --live."""
    victim.record(b"ttf")
    rbwp(command, victim.path, code=None).says("is being written", "--live shows them")
    assert "--live" in rbwp(command, "--help").text


def test_live_file_that_may_not_be_read(run, rbwp, victim, work):
    """What needs it says so and shows nothing, what does not says that it was ignored."""
    victim.record(b"ttf")
    victim.kill()
    path, theirs, counts = victim.path, work / "theirs", work / "counts"  # counts: of a build for coverage, which says where it may not write them
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    shutil.copy(rbwp.path, work / "rbwp")
    theirs.mkdir()
    counts.mkdir()
    for name, mode in ((work, 0o755), (theirs, 0o777), (counts, 0o777), (path, 0o644), (path + ".live", 0)):
        os.chmod(name, mode)
    for command, code in ((["stats", "--live"], 1), (["export", "--live", "--to", "csv"], 1), (["tail", "--live"], 1), (["stats"], 0), (["info"], 0),
                          (["repair", "-o", theirs / "whole.bin"], 1)):
        done = run(work / "rbwp", *command, path, code=code, env={"GCOV_PREFIX": str(counts)}, **nobody).in_one_line()
        done.says(path + ".live: ", "cannot open the live file: Permission denied")
        assert code == 0 or not done.out, command
    assert not os.listdir(theirs)


def test_live_file_that_is_none(rbwp, victim, work):
    """One line, and nothing is shown."""
    victim.record(b"ttf")
    victim.kill()
    with open(victim.path + ".live", "wb") as file:
        file.write(b"no live file" * 1000)
    for command in (["stats"], ["timeline"], ["report", "-o", work / "no.html"], ["export", "--to", "csv"], ["tail"], ["dump"]):
        rbwp(*command, "--live", victim.path, code=1).in_one_line().says(victim.path + ".live: ")
    assert not (work / "no.html").exists()
