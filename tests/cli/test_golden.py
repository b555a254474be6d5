# SPDX-License-Identifier: Apache-2.0
"""The JSON of every golden file has the keys and values of its expected content, exactly; from a pipe too; several files give an array.
Guards the promise that other readers' scripts rely on."""
import json
import os
import pathlib

import pytest

FILES = sorted(pathlib.Path(os.environ["GOLDEN"]).glob("*.bin"))


def subset(expected, actual, where):
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert key in actual, f"{where}.{key} is missing"
            subset(value, actual[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(expected) == len(actual), f"{where}: {len(actual)} entries instead of {len(expected)}"
        for i, value in enumerate(expected):
            subset(value, actual[i], f"{where}[{i}]")
    else:
        assert type(expected) is type(actual) and expected == actual, f"{where}: {actual!r}, not {expected!r}"


def check(expected, actual, code):
    """Of expected, every key has its value in actual."""
    if expected.get("valid", True):
        subset(expected, actual, "file")
        for block in actual["blocks"]:
            assert len(block["records"]) == block["record_count"]
        assert actual["problem_count"] == (1 if expected["incomplete_tail"] else 0)
        assert code == (3 if expected["incomplete_tail"] else 0)
        return
    good, bad = expected.pop("good_blocks_before"), expected.pop("first_bad_block")
    subset(expected, actual, "file")
    subset(good, actual["blocks"][:len(good)], "blocks")
    assert actual["problems"][0]["offset"] == bad["offset"] and actual["problems"][0]["rule"] > 0
    assert all(b["offset"] != bad["offset"] for b in actual["blocks"])
    assert code == 3


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_expected_content(rbwp_dump, path):
    done = rbwp_dump(path, code=None)
    check(json.loads(path.with_suffix(".json").read_text()), done.json, done.code)
    piped = rbwp_dump("-", stdin=path.read_bytes(), code=done.code)
    assert piped.text.replace('"file":"-"', f'"file":"{path}"') == done.text


def test_several_files(rbwp_dump, golden):
    names = "gaps", "empty", "multi_thread"
    array = rbwp_dump(*(golden / f"{name}.bin" for name in names)).silent().json
    assert [f["file"] for f in array] == [f"{golden}/{name}.bin" for name in names]
    assert [f["record_count"] for f in array] == [json.loads((golden / f"{name}.json").read_text())["record_count"] for name in names]
