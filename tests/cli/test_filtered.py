# SPDX-License-Identifier: Apache-2.0
"""Filtered figures are true: spans are cut to the window, workers and the run are those that the
filter leaves, and what is of the whole run says so. Filters that leave nothing are reported in one line
that says why, with exit 1 and no output, by every command that has filters."""
import pytest
import rbwp_make as m

T, MS = 10**18, 10**6
WHY = {("--thread", "nobody"): "no thread is called 'nobody'", ("--thread", "77"): "no thread has the number '77'",
       ("--slot", "no*"): "no work item is called 'no*'", ("--slot", "99"): "no work item has the number '99'",
       ("--from", "+2s", "--until", "+1s"): "which is not after it", ("--from", "+5s"): "records are from +0.000000000s to +4.000000000s",
       ("--until", "5"): "records are from +0.000000000s to +4.000000000s", ("--kind", "gpu"): "nothing fits the filters",
       ("--thread", "1", "--slot", "2"): "nothing fits the filters"}
COMMANDS = ["stats", "stats --json", "timeline", "report -o OUT", "export -t csv", "export -t csv -o OUT", "export -t perfetto -o OUT",
            "export -t chrome -o OUT",
            "export -t parquet -o OUT", "export -t sqlite -o OUT", "export -t legion -o OUT", "export -t folded", "merge -t csv", "dump", "dump --ndjson",
            "dump --spans --ndjson", "split -o OUT", "diff"]


@pytest.fixture(scope="module")
def path(shared):
    """Thread 1 works from 0 to 1 s and is then idle to 4 s, thread 2 works from 0 to 4 s with one call."""
    one = [r for i in range(10) for r in ((T + i * 100 * MS, "cb", 1), (T + i * 100 * MS + 100 * MS - 1, "ce"))]
    two = [(T, "cb", 2), (T + 1000 * MS, "fb", 3), (T + 1500 * MS, "fe"), (T + 4000 * MS, "ce")]
    data = m.file([m.block(1, 0, one), m.block(2, 0, two)], [(1, b"short"), (2, b"long")], [(3, 0, b"inner")], zero_time=T)
    (shared / "run.bin").write_bytes(data)
    return shared / "run.bin"


@pytest.fixture
def stats(rbwp, path):
    return lambda *args: rbwp("stats", "--json", *args, path).json


def test_window(rbwp, stats, path):
    """One of 1 ms is 1 ms, though one call lasts 4 s."""
    found = stats("--from", "+500ms", "--to", "+501ms")
    assert (found["extent"], found["workers"], found["spans"], found["cut"], found["worker_busy"]) == (MS, 2, 2, 2, 2 * MS)
    assert [(r["name"], r["total"], r["share"]) for r in found["work_items"]] == [("long", MS, 0.5), ("short", MS, 0.5)]
    text = rbwp("stats", "--from", "+500ms", "--to", "+501ms", path).text
    assert text.startswith("2 spans in 1.000 ms, 2 workers busy 100.0 % of it\n2 of them reach out of the window: what lies inside counts\n")


def test_window_where_one_idles(stats):
    """It is there and idle; a nested span is cut inside its call."""
    found = stats("--from", "+1200ms", "--to", "+1300ms")
    assert (found["extent"], found["workers"], found["worker_busy"]) == (100 * MS, 2, 100 * MS)
    assert sorted((t["id"], t["busy"]) for t in found["threads"]) == [(1, 0), (2, 100 * MS)]
    assert (found["work_items"][0]["self"], found["sub_items"][0]["total"]) == (0, 100 * MS)


def test_window_beyond_the_run(stats):
    assert stats("--from", "+3s", "--to", "+9s")["extent"] == 1000 * MS


def test_one_thread(stats):
    """It is one worker, of the same run; its share is what it was."""
    whole, mine = stats(), stats("--thread", "1")
    assert (mine["workers"], mine["extent"]) == (1, whole["extent"])
    assert [t["busy_share"] for t in mine["threads"]] == [t["busy_share"] for t in whole["threads"] if t["id"] == 1]
    assert mine["worker_share"] == mine["threads"][0]["busy_share"]


def test_one_item(stats):
    """It keeps its share of all workers' time."""
    share = next(r["share"] for r in stats()["work_items"] if r["name"] == "short")
    assert stats("--slot", "short")["work_items"][0]["share"] == share


def test_diff_and_exports_have_spans_whole(rbwp, path):
    assert rbwp("diff", "--json", "--from", "+500ms", "--to", "+501ms", path, path).json["rows"][0]["a"]["total"] == 4000 * MS
    assert f"{T},{4000 * MS}," in rbwp("export", "-t", "csv", "--from", "+500ms", "--until", "+501ms", path).text


def test_timeline(rbwp, path):
    """It is cut, too: a column of the window, not of the call."""
    head = rbwp("timeline", "--width", "68", "--from", "+3s", "--to", "+5s", path).lines[0]
    assert "1.000 s" in head or "2.000 s" in head


def test_of_the_whole_run(rbwp, extended):
    """What is not of the window says so."""
    text = rbwp("stats", "--slot", "3", extended).text
    assert "LOST 1,234 records in the whole run" in text and "17 empty polls left no trace in the whole run" in text
    assert "whole run" not in rbwp("stats", extended).text


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_left(rbwp, path, work, command):
    files, out = [path, path] if command == "diff" else [path], work / "made"
    for options, why in WHY.items():
        done = rbwp(*command.replace("OUT", str(out)).split(), *options, *files, code=None)
        if "built without SQLite" in done.error:
            pytest.skip("this build is without SQLite")
        assert done.code == 1 and why in done.error and done.error.count("\n") == len(files)
        assert not done.out or command in ("dump", "diff")
        assert not out.exists()


def test_several_patterns_and_files(rbwp, path, work):
    """Of several patterns one may fit nothing; several files are one question."""
    rbwp("stats", "--thread", "1", "--thread", "nobody", path).silent()
    other = work / "other.bin"
    other.write_bytes(m.file([m.block(9, 0, [(T + 5, "cb", 9), (T + 9, "ce")])], [(9, b"else")], zero_time=T, node=1))
    assert "else" in rbwp("export", "-t", "csv", "--slot", "else", path, other).text
    rbwp("export", "-t", "csv", "--slot", "nothing", path, other, code=1).says("in all files: no work item is called 'nothing'")


@pytest.mark.parametrize("command", ["stats", "timeline", "dump", "split"])
def test_time_without_sign_or_unit(rbwp, path, command):
    """It is a mistake, and the message has the remedy."""
    rbwp(command, "--from", "2s", path, code=2).says("--from '2s' is in 1970: write +2s for a time since the start")
    rbwp(command, "--min-duration", "1.5", path, code=2).says("--min-duration '1.5' lacks a unit: s, ms, us or ns")


def test_time_since_1970(rbwp, path):
    assert rbwp("stats", "--from", "999999999s", path).silent().out
