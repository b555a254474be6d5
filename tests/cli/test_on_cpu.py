# SPDX-License-Identifier: Apache-2.0
"""Whether calls ran. Guards: a call's time on a CPU, ready to run and blocked, and what is not known, add up to its duration in
every view; who sleeps is not busy; who is idle all the time does not fill the findings, and who has ended does not hang; a file
that knows nothing of it looks as if there were no such thing."""
import csv
import io

import on_cpu_make as made
import pytest

MS = made.MS
PARTS = ("running", "runnable", "waiting", "not_known")


@pytest.fixture(scope="module")
def known(shared):
    (shared / "known.bin").write_bytes(made.WHOLE)
    return shared / "known.bin"


@pytest.fixture(scope="module")
def unknown(shared):
    (shared / "unknown.bin").write_bytes(made.file(made.CALLS))
    return shared / "unknown.bin"


def ms(row, *keys):
    return tuple(row[key] / MS for key in keys)


def test_work_items(rbwp, known):
    serve, idle = sorted(rbwp("stats", "--json", known).json["work_items"], key=lambda row: row["item"])
    assert ms(serve, *PARTS) == (40 + 6 + 5, 1, 3, 15 + 30)
    assert ms(idle, *PARTS) == (0.03, 0.5, 99.99 + 79.48, 0)
    for row in (serve, idle):
        assert sum(row[part] for part in PARTS) == row["total"]


def test_threads(rbwp, known):
    stats = rbwp("stats", "--json", known).json
    t1, t2, t3, t4 = sorted(stats["threads"], key=lambda row: row["id"])
    assert ms(t1, "busy", "running", "not_known", "runnable", "waiting") == (66, 51, 15, 1, 3)
    assert ms(t2, "busy", "runnable", "waiting", "idle") == (0.01, 0, 99.99, 0)
    assert ms(t3, "busy", "runnable", "waiting", "idle") == (0.02, 0.5, 79.48, 20)
    assert ms(t4, "busy", "running", "not_known") == (30, 0, 30)
    for row in (t1, t2, t3, t4):
        assert row["busy"] + row["waiting"] + row["runnable"] + row["idle"] == stats["extent"]
    assert stats["worker_busy"] == sum(row["busy"] for row in stats["threads"])


def test_csv_and_text(rbwp, known):
    rows = list(csv.DictReader(io.StringIO(rbwp("stats", "--csv", "work_items", known).text)))
    assert [row["running"] for row in rows if row["name"] == "serve"] == [str(51 * MS)]
    text = rbwp("stats", "--by", "slot", "--columns", "total,running,runnable,waiting,not known", known).lines
    assert any(line.split() == ["total", "running", "runnable", "waiting", "not", "known", "name"] for line in text)
    order = [line for line in rbwp("stats", "--by", "thread", known).lines if line.lstrip()[:1].isdigit() and "  t" in line]
    assert [line.split("  t")[1][0] for line in order] == ["1", "4", "2", "3"]


def test_longest_calls(rbwp, known):
    longest = rbwp("stats", "--json", known).json["longest"][0]
    assert ms(longest, "duration", "running", "runnable", "waiting") == (100, 0.01, 0, 99.99)


def test_nothing_is_known(rbwp, unknown):
    stats = rbwp("stats", "--json", unknown)
    for word in PARTS[:2] + PARTS[3:]:
        assert f'"{word}"' not in stats.text
        assert word not in rbwp("stats", "--csv", "threads", unknown).text
    assert sum(row["busy"] for row in stats.json["threads"]) == (70 + 100 + 80 + 30) * MS


@pytest.mark.parametrize("by, verdict", [("total", "same"), ("running", "faster"), ("waiting", "slower")])
def test_diff(rbwp, work, known, by, verdict):
    """As long as before, but now they wait."""
    (work / "waits.bin").write_bytes(made.file(made.CALLS, [(t, s, n, 0, 0) for t, _, s, n in made.CALLS]))
    rows = rbwp("diff", "--json", "--min-count", "1", "--by", by, known, work / "waits.bin").json["rows"]
    assert [row["verdict"] for row in rows if row["name"] == "serve"] == [verdict]


def test_cache(rbwp, work, known):
    first = rbwp("stats", "--json", "--cache", work, known).text
    assert rbwp("stats", "--json", "--cache", work, known).text == first and '"not_known"' in first


def test_idle_threads_are_one_finding(rbwp, known, unknown):
    findings = rbwp("stats", "--json", "--findings", known).json["findings"]
    assert not any("t2" in f["text"] or "t3" in f["text"] for f in findings)
    assert findings[-1]["text"] == "2 threads ran for less than 1 % of the run"
    assert any("t3" in f["text"] for f in rbwp("stats", "--json", "--findings", unknown).json["findings"])


def test_ended_is_not_hung(rbwp, work):
    calls = [(1, 1, 0, 40), (2, 2, 0, 0)]
    for known, said in (((), 1), ([(1, 0, 1), (2, 0, 1)], 0)):
        (work / "open.bin").write_bytes(made.file(calls, [], known, 5000))
        findings = rbwp("stats", "--json", "--findings", work / "open.bin").json["findings"]
        assert sum(f["what"] == "hung" for f in findings) == said
        assert ("hung for" in rbwp("stats", work / "open.bin").text) == bool(said)
