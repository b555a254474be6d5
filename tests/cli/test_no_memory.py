# SPDX-License-Identifier: Apache-2.0
"""Whichever allocation of a tool fails, it does not crash, and never gives less without saying so: the output is as it would have been, or
a line reports memory and the exit status is 1 or 3. SHARE: "2/4" is each fourth one, from the second on."""
import json
import os
import pathlib
import struct

import legion_make as legion
import pytest
import rbwp_make as m
import stalls_make as stalls

PART, PARTS = map(int, os.environ.get("SHARE", "1/1").split("/"))
SAID = "memory", "too many", "be held"
T = 1_700_000_000_000_000_000


@pytest.fixture
def starved(run, program, work):
    """starved(word, ..., failing=0): the command, whose allocation of this number fails."""
    path = program("NO_MEMORY")

    def command(*words, failing=0, code=None):
        return run(path, *words, env={"RBWP_FAIL_ALLOCATION": str(failing), "RBWP_ALLOCATIONS": f"{work}/count"}, timeout=60, code=code)

    return command


@pytest.fixture
def check(starved, work):
    """check(word, ..., output=path): of what it prints, or of a file that it writes, which `read` reads."""
    def each(*words, output=None, read=pathlib.Path.read_bytes):
        def made(done):
            return read(output) if output and output.exists() else done.out

        want = made(starved(*words, code=0))
        allocations = int((work / "count").read_text())
        for failing in range(PART, allocations + 1, PARTS):
            if output:
                output.unlink(missing_ok=True)
            done = starved(*words, failing=failing, code=(0, 1, 3))
            if done.code == 0:
                assert made(done) == want, (failing, "less, and nothing said", done.error)
            else:
                assert any(word in done.error for word in SAID), (failing, done.error)

    return each


@pytest.fixture(scope="module")
def file(shared):
    records = [(T + 5, "cb", 1), (T + 10, "fb", 2), (T + 20, "fe"), (T + 30, "ce"), (T + 35, "gpu", 77, 1, T + 12, T + 25)]
    (shared / "a.bin").write_bytes(m.file([m.block(7, 0, records)], [(1, b"item")], [(2, 1, b"sub")], zero_time=T))
    return shared / "a.bin"


def test_legion_log(check, work):
    proc = legion.proc(1, 1)
    rows = legion.head("A", 1, 3, T) + [("ProcDesc", {"proc_id": proc, "kind": 2})]
    rows += [("TaskInfo", {"op_id": i, "proc_id": proc, "start": 50 * i, "stop": 50 * i + 9, "fevent": legion.event(1, i)}) for i in (1, 2)]
    rows.append(("MessageInfo", {"op_id": 9, "lg_id": 1, "proc_id": proc, "spawn": 5, "create": 6, "ready": 6, "start": 200, "stop": 300,
                                 "creator": legion.event(0, 7), "fevent": legion.event(1, 50)}))
    (work / "log").write_bytes(legion.log("A", rows))
    check("merge", "--to=csv", "-j", "1", work / "log")


def test_chrome_json(check, work):
    events = [{"ph": "X", "name": "k", "ts": t, "dur": 5, "pid": 9, "tid": 9} for t in (1, 20)]
    events += [{"ph": "s", "name": "f", "id": 1, "ts": 2, "pid": 9, "tid": 9}, {"ph": "f", "name": "f", "id": 1, "ts": 21, "pid": 9, "tid": 9, "bp": "e"}]
    (work / "chrome").write_text(json.dumps({"traceEvents": events, "baseTimeNanoseconds": T}))
    check("merge", "--to=csv", "-j", "1", work / "chrome")


@pytest.mark.parametrize("form", ["legion", "speedscope", "firefox"])
def test_export(check, file, work, form):
    check("export", "--to", form, "-f", "-j", "1", "-o", work / "out", file, output=work / "out")


def test_stats(check, file):
    check("stats", "--json", "--findings", "-j", "1", file)


@pytest.mark.parametrize("words", ["stacks --json", "stats --by stack"])
def test_stacks(check, work, words):
    """Long calls and waits, whose files are not there."""
    recording = stalls.two().file(0x1000, 0x2000, 0, "/nowhere", "00").look(1, 950, 0, words=[(0, 0x1010), (1, 0x7000), (0x7000, 0x1020)])
    check(*words.split(), recording.write(work / "a.bin"))


def test_diff(check, file, work):
    check("diff", "--all", "-j", "1", "-f", "--report", work / "out.html", file, file, output=work / "out.html")


def test_report(check, file, work):
    check("report", "-f", "-o", work / "out.html", file, output=work / "out.html")


@pytest.fixture(scope="module")
def launches(shared):
    """A folder with what launches with probes left."""
    left = (pathlib.Path(__file__).parent.parent / "fuzz/corpus/ptx/launch_wide.bin").read_bytes()
    at, (lines, text) = 5, struct.unpack_from("<HH", left, 1)
    (shared / "folder").mkdir()
    for name, end in (("launches-1.ndjson", at + lines), ("m.map.json", at + lines + text), ("r.raw", len(left))):
        (shared / "folder" / name).write_bytes(left[at:end])
        at = end
    return shared / "folder"


def test_ptx_decode(check, starved, launches, work):
    """And stats of the profile that is made."""
    made = work / "made.bin"

    def rows(path):
        """Of the tables that a profile is about: without memory it may lack its index."""
        return [starved("tables", "--table", table, path).out for table in ("gpu_activity", "kernel_block")]

    check("ptx", "decode", "-f", "--rbwp", made, launches, output=made, read=rows)
    starved("ptx", "decode", "-f", "--rbwp", made, launches)
    check("stats", "--json", "--by=kernel", "-j", "1", made)


def test_ptx_sanitize(check, launches, work):
    number = json.loads((launches / "m.map.json").read_text())["hash"]
    check("ptx", "sanitize", "--dir", work / "active", launches, output=work / "active" / f"{number}.active.json")


def test_split(check, file, work):
    check("split", "--every=1s", "-f", "-o", work / "part.bin", file, output=work / "part.0000.bin")


def test_tail(check, file):
    check("tail", file)
