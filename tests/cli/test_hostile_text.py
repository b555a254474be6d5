# SPDX-License-Identifier: Apache-2.0
"""No name and no file name reaches a terminal or a spreadsheet as anything but text: in every command
and text form there is no C0 or C1 control, no direction mark and no byte that is not UTF-8; a name
reads the same in all of them; JSON parses to the name itself; no CSV cell is a formula."""
import csv
import io
import os
import re

import pytest
import rbwp_make as m

OBEYED = [*range(0x20), 0x7F, *range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "'quoted", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "\t=1", "\r=1"]
NAMES = ["a%sb" % chr(c) for c in OBEYED] + FORMULAS + ["plain", 'semi;colon, "quoted"', "back\\slash", "\u202atext" * 2000]
NAMES = [n.encode() for n in NAMES] + [b"bad\xff", b"\x9b31m", b"cut\xe2\x80"]
assert len(NAMES) < 256


def shown(name):
    """As every text form shows it."""
    text = ""
    while name:
        for size in range(1, 5):
            try:
                c = name[:size].decode()
                break
            except UnicodeDecodeError:
                c = None
        part, name = name[:size if c else 1], name[size if c else 1:]
        text += "\\\\" if c == "\\" else c if c and ord(c) not in OBEYED else "".join("\\x%02x" % b for b in part)
    return text


@pytest.fixture(scope="module")
def path(shared):
    """Its name, and all in it."""
    records = [r for i in range(len(NAMES)) for r in ((1000 + 10 * i, "cb", i), (1001 + 10 * i, "fb", i), (1005 + 10 * i, "fe"), (1008 + 10 * i, "ce"))]
    path = os.path.join(os.fsencode(shared), "h\u202e\u009b".encode() + b"\xff\x1b.bin")
    with open(path, "wb") as file:
        file.write(m.file([m.block(1, 0, records)], list(enumerate(NAMES)), [(i, i % 4, n) for i, n in enumerate(NAMES)]))
    return path


@pytest.fixture(scope="module")
def harmless(rbwp):
    """What a command printed, in which nothing is obeyed."""

    def printed(*args, code=0):
        done = rbwp(*args, code=code)
        for stream in (done.out, done.err):
            text = stream.decode()
            assert not [c for c in text if ord(c) in OBEYED and c not in "\n\t"], text[:200]
        return done

    return printed


@pytest.mark.parametrize("command", [
    "dump", "dump --ndjson", "dump --spans", "info", "info --json", "stats --top 1000", "stats --json", "check", "check --json", "tail -n 1000",
    "tail --ndjson", "timeline", "timeline --ascii", "export -t ndjson", "export -t chrome"])
def test_command(harmless, path, command):
    assert harmless(*command.split(), path).out


def test_diff(harmless, path):
    assert harmless("diff", path, path).out
    assert harmless("diff", "--json", path, path).out


@pytest.mark.parametrize("command", ["dump", "info", "stats", "timeline", "tail", "check", "report", "export"])
def test_file_that_is_not_there(harmless, path, work, command):
    for wrong in (b"none\xe2\x80\xae\xc2\x9b", path + b"/x"):
        harmless(command, *(["-o", work / "out.csv"] if command not in ("check", "tail") else []), wrong, code=1)


def test_words(harmless, path):
    harmless("dump", "--thr\u202e", path, code=2)
    harmless("split", "--every", "1ms\u202e", path, code=2)


@pytest.mark.parametrize("command", ["stats --top 0", "tail -n 1000", "info"])
def test_same_in_all_text(harmless, path, command):
    text = harmless(*command.split(), path).text
    assert [n for n in NAMES if shown(n) not in text] == []


def test_same_in_folded(harmless, path):
    frames = {f for line in harmless("export", "-t", "folded", path).lines for f in line.rsplit(" ", 1)[0].split(";")[2:]}
    assert frames == {shown(n).replace(";", ",") for n in NAMES}


def test_json_is_the_name(harmless, path):
    items = harmless("dump", path).json["work_items"]
    assert [bytes.fromhex(item["name_hex"]) if "name_hex" in item else item["name"].encode() for item in items] == NAMES


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_cells(rbwp, harmless, path, kind):
    """Those of a formula have an apostrophe, numbers have not, and the name can be had back."""
    text = harmless("export", "-t", kind, path).text
    got = list(csv.reader(io.StringIO(text), strict=True)) if kind == "csv" else [l.split("\t") for l in text.splitlines()]
    column = got[0].index("name")
    for row in got[1:]:
        assert all(c.lstrip("-").isdigit() for c in row[:2] + row[7:14]), row
        assert not re.match("[=+@\\-\uff1d\uff0b\uff0d\uff20\t\r]", row[column])
    cells = {shown(n) for n in NAMES}
    assert {row[column][1:] if row[column].startswith("'") else row[column] for row in got[1:]} == cells
    assert len([row for row in got[1:] if row[column].startswith("'")]) == 2 * 9
    raw = rbwp("export", "-t", kind, "--raw-text", path).out
    assert b"'=1" not in raw and b"\xff" in raw and b"\x1b" in raw
