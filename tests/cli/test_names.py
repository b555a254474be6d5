# SPDX-License-Identifier: Apache-2.0
"""Hostile names: the JSON is valid, the bytes can be had back exactly, and no name can move the cursor of a terminal through info or a
message."""
import json
import os

import pytest
import rbwp_make as m

NAMES = [b"", b"\0", b"a\"b\\c/d", bytes(range(256)), "gr\u00fc\u00df \u20ac \U0001f600".encode(), b"\xc3", b"ok\xc3\x28", b"\xed\xa0\x80",
         b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98", b"\x1b[2J\x1b]0;title\x07", "\u009b31m \u2028".encode(), b"x" * 65535,
         b"\xff" * 65535, b"\n\r\t\x7f", b"\\u0041", b"\xc3\xa9\xe9"]
RECORDS = [r for i in range(len(NAMES)) for r in ((1000 + 4 * i, "cb", i), (1001 + 4 * i, "fb", i + 100), (1002 + 4 * i, "fe"), (1003 + 4 * i, "ce"))]


def back(entry, key):
    """The bytes of a name, from its JSON."""
    return bytes.fromhex(entry[key + "_hex"]) if key + "_hex" in entry else entry[key].encode()


@pytest.fixture(scope="module")
def path(shared):
    """Its own name is hostile, too."""
    path = os.fsencode(shared) + b"/h\"o\x1bs\\t\xc3\xa9\xff"
    with open(path, "wb") as file:
        file.write(m.file([m.block(1, 0, RECORDS)], list(enumerate(NAMES)), [(i + 100, i % 6, name) for i, name in enumerate(NAMES)]))
    return path


@pytest.fixture(scope="module")
def full(rbwp, path):
    return rbwp("dump", path).silent().json


def lines(done):
    return [json.loads(line) for line in done.silent().out.split(b"\n")[:-1]]


def test_bytes_of_names(full, path):
    assert [back(i, "name") for i in full["work_items"]] == NAMES
    assert [back(i, "name") for i in full["sub_items"]] == NAMES
    assert back(full, "file") == path


def test_names_that_are_text(full):
    """They have no bytes beside it; others are shown byte by byte."""
    for entry, name in zip(full["work_items"], NAMES, strict=True):
        try:
            assert entry["name"] == name.decode() and "name_hex" not in entry
        except UnicodeDecodeError:
            assert "name_hex" in entry
    assert [i["name"] for i in full["work_items"][5:9]] == ["\u00c3", "ok\u00c3(", "\u00ed\u00a0\u0080", "\u00c0\u0080"]


def test_names_by_line(rbwp, path):
    records = lines(rbwp("dump", "--ndjson", path))
    assert [back(r, "name") for r in records if r["type"] == "COARSE_BEGIN"] == NAMES
    assert [back(r, "name") for r in records if r["type"] == "FINE_BEGIN"] == NAMES


def test_names_of_spans(rbwp, path):
    assert {back(s, "name") for s in rbwp("dump", "--spans", path).silent().json} == set(NAMES)


def test_names_in_info(rbwp, path):
    assert [back(i, "name") for i in rbwp("info", "--json", path).silent().json["slot_counts"]] == NAMES


def test_text(rbwp, path):
    """One line a name, no control character, and nothing that is not UTF-8."""
    text = rbwp("info", path).silent().out.decode()
    assert all(c == "\n" or not (ord(c) < 32 or 127 <= ord(c) < 160) for c in text)
    assert text.count("calls") == len(NAMES) and "\\x1b[2J" in text and "gr\u00fc\u00df \u20ac" in text


def test_glob_finds_bytes_that_are_no_text(rbwp, path):
    got = rbwp("dump", "--slot", b"ok\xc3*", "--kind", "COARSE_BEGIN", path).json
    assert [r["slot"] for b in got["blocks"] for r in b["records"]] == [6]


def test_two_entries_for_one_number(rbwp, work):
    """The first counts (R33, R34), whatever their order in memory."""
    twice = m.file([m.block(1, 0, RECORDS[:4])], [(0, b"first"), (0, b"second")], [(100, 1, b"one"), (100, 2, b"two")])
    (work / "twice").write_bytes(twice)
    records = lines(rbwp("dump", "--ndjson", work / "twice"))
    assert [r["name"] for r in records if "BEGIN" in r["type"]] == ["first", "one"]
    assert [r["sub_item_type"] for r in records if r["type"] == "FINE_BEGIN"] == ["XFER_CHANNEL"]


def test_messages(rbwp):
    done = rbwp("dump", b"/no\x1b[2J\n\xff", code=1).in_one_line()
    assert b"/no\\x1b[2J\\x0a\\xff: there is no such file" in done.err
