# SPDX-License-Identifier: Apache-2.0
"""compare_golden.py EXPECTED ACTUAL EXIT_CODE: every key of EXPECTED has its value in ACTUAL."""
import json
import sys


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


expected, actual = (json.load(open(path)) for path in sys.argv[1:3])
code = int(sys.argv[3])
if expected.get("valid", True):
    subset(expected, actual, "file")
    for block in actual["blocks"]:
        assert len(block["records"]) == block["record_count"]
    assert actual["problem_count"] == (1 if expected["incomplete_tail"] else 0)
    assert code == (3 if expected["incomplete_tail"] else 0), f"exit code {code}"
else:
    good = expected.pop("good_blocks_before")
    bad = expected.pop("first_bad_block")
    subset(expected, actual, "file")
    subset(good, actual["blocks"][: len(good)], "blocks")
    assert actual["problems"][0]["offset"] == bad["offset"], actual["problems"]
    assert actual["problems"][0]["rule"] > 0
    assert all(b["offset"] != bad["offset"] for b in actual["blocks"])
    assert code == 3, f"exit code {code}"
