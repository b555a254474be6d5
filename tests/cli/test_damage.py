# SPDX-License-Identifier: Apache-2.0
"""Damaged and foreign input gives what can be read, a message with place and rule, and the right
exit code; the JSON stays valid. Guards against crashes, silence, and false success."""
import ctypes
import random
import re
import shutil

import pytest


@pytest.fixture
def bad(rbwp):
    """Nothing can be read: exit 1, one line, nothing on standard output."""

    def refused(path, reason, **more):
        for command in ("dump", "dump --ndjson", "dump --spans --ndjson", "info"):
            assert rbwp(*command.split(), path, code=1, **more).says(f"{path}: {reason}").in_one_line().out == b""

    return refused


@pytest.mark.parametrize("data", [b"this is a text file, not a trace of anything\n", b"", b"RBWP\001\000"])
def test_no_trace(bad, work, data):
    (work / "file").write_bytes(data)
    bad(work / "file", "")


def test_no_file(bad, work):
    bad(work / "none", "cannot be opened: No such file or directory")
    bad(work, "is a folder")


def test_secret_file(bad, golden, work):
    """Also where root may read all files, once he has dropped CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
    shutil.copy(golden / "gaps.bin", work / "secret")
    (work / "secret").chmod(0)
    libc, drop = ctypes.CDLL(None), 24  # PR_CAPBSET_DROP
    bad(work / "secret", "cannot be opened: Permission denied", preexec_fn=lambda: [libc.prctl(drop, capability, 0, 0, 0) for capability in (1, 2)])


def test_bad_file_among_good_ones(rbwp, golden, work):
    """The good ones are there, exit 1."""
    (work / "text").write_bytes(b"this is a text file\n")
    files = rbwp("dump", golden / "gaps.bin", work / "text", golden / "empty.bin", code=1).json
    assert [f["record_count"] > 0 for f in files] == [True, False]


def test_cut_at_any_place(rbwp, golden, work):
    """Valid JSON, whole blocks only, exit 3 as soon as a block was read."""
    path, cut = golden / "crash_killed.bin", work / "cut"
    whole = path.read_bytes()
    second = rbwp("dump", path).json["blocks"][1]["offset"]
    for size in (36, 37, 67, 68, 500, second - 1, second, second + 1, second + 31, second + 32, second + 33, len(whole) - 1, len(whole)):
        cut.write_bytes(whole[:size])
        blocks = 2 if size == len(whole) else 1 if size >= second else 0
        clean = size in (36, second, len(whole))
        done = rbwp("dump", cut, code=0 if clean else 3 if blocks else 1)
        got = done.json
        assert got["block_count"] == blocks == len(got["blocks"]), size
        assert (got["incomplete_tail"] is None) == clean, size
        if not clean:
            start = second if blocks else 36
            tail = got["incomplete_tail"]
            assert (tail["offset"], tail["bytes"]) == (start, size - start)
            done.says(f"at file offset {start} ")
        assert got["valid"]


def test_damaged_block(rbwp, golden, work):
    """The blocks around it are there, and the report names it."""
    path, torn = golden / "multi_thread.bin", work / "torn"
    good = rbwp("dump", path).json
    victim, data = good["blocks"][1], bytearray(path.read_bytes())
    data[victim["offset"] + 32 + victim["records"][3]["offset"] + victim["records"][3]["ts_bytes"]] = 0x77
    torn.write_bytes(data)
    done = rbwp("dump", torn, code=3).says("partly read")
    got = done.json
    assert got["blocks"] == [b for b in good["blocks"] if b is not victim]
    assert got["work_items"] == good["work_items"] and not got["valid"]
    assert re.search(rf"^{torn}: \w+: .*, at file offset {victim['offset']} \(SPEC.md R\d+\)$", done.error, re.M)


def test_garbage(rbwp, golden, work):
    """Behind a good header: the report is bounded."""
    r = random.Random(5)
    good = (golden / "multi_thread.bin").read_bytes()
    block = good[36:36 + 1600]
    noise = bytes(r.getrandbits(8) for _ in range(300))
    (work / "garbage").write_bytes(good[:20] + bytes(16) + b"".join(block[:700] + noise for _ in range(200)))
    done = rbwp("dump", work / "garbage", code=(1, 3))
    assert len(done.error.splitlines()) <= 23
    assert done.json
