# SPDX-License-Identifier: Apache-2.0
"""check reports every break of the collection of broken files by its rule, as text and as JSON, and
tells good, cut, broken and unreadable apart by its exit status."""
import re
import shutil

import pytest
from test_example import examples


def test_golden_files(rbwp, golden):
    files = sorted(golden.glob("*.bin"))
    assert len(files) == 14
    for path in files:
        done = rbwp("check", path, code=3 if path.name.startswith(("defect_", "crash_cut")) else 0).silent()
        assert re.search("blocks?, .* records?,", done.lines[-1]), path


def test_broken_files(rbwp, golden):
    folders = [path.parent for path in sorted((golden.parent / "bad").glob("*/input.bin"))]
    assert len(folders) > 10
    for folder in folders:
        path = folder / "input.bin"
        expected = re.findall(r"^    (.+)$", (folder / "README.md").read_text(), re.M)
        done = rbwp("check", "--json", path, code=(1, 3)).silent()
        got, text = done.json, rbwp("check", path, code=done.code).silent()
        assert [b["message"] for b in got["breaks"]] == expected, path
        for line, broken in zip(text.lines, got["breaks"]):
            assert line.startswith(f"{path}: ") and line.endswith(broken["message"])
            assert f"(SPEC.md {broken['rule']})" in line
        assert not got["good"]
        assert rbwp("check", "-q", path, code=done.code).silent().out == b""


def test_several_files(rbwp, golden):
    files = rbwp("check", "--json", golden / "gaps.bin", golden / "defect_discard_rotate.bin", code=3).json
    assert [f["good"] for f in files] == [True, False]


def test_standard_input(rbwp, golden):
    with open(golden / "gaps.bin", "rb") as file:
        assert "standard input: good: 0 breaks; 1 block, 160 records, finalised" in rbwp("check", "-", stdin=file).lines


def test_what_cannot_be_opened(rbwp, work):
    rbwp("check", work / "none", code=1).says(f"{work}/none: cannot open the file: No such file or directory")
    rbwp("check", work, code=1)


def test_usage(rbwp, golden):
    rbwp("check", code=2)
    rbwp("check", "--json", "-q", golden / "gaps.bin", code=2)


def test_second_example_of_the_specification(rbwp, work):
    """As the text has it: good, and its tables are counted."""
    path = work / "example.bin"
    path.write_bytes(examples()[1])
    line = "good: 0 breaks; 3 blocks, 51 records, 5 rows in 2 tables (queue_depth 3, job 2), finalised, with trailer"
    assert any(l.endswith(line) for l in rbwp("check", path).lines)
    tables = '"tables":[{"table":1,"name":"queue_depth","row_count":3},{"table":2,"name":"job","row_count":2}]'
    assert '"table_count":2,"table_row_count":5,' + tables in rbwp("check", "--json", path).text


def test_live_file_is_mentioned(rbwp, golden, work):
    shutil.copy(golden / "crash_killed.bin", work / "a.bin")
    (work / "a.bin.live").touch()
    text = rbwp("check", work / "a.bin").text
    assert "never finalised" in text and "a live file is beside it" in text


def test_counts_of_its_writer(rbwp, extended):
    """A file that keeps all rules may lack records: they are reported."""
    assert f"{extended}: its writer counts 1234 records as missing, 1000007 entries had no room in its tables" in rbwp("check", extended).text
    assert '"lost_records":1234,"lost_records_most":0,"refused_calls":2,"left_out":1000007' in rbwp("check", "--json", extended).text
