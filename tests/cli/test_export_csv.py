# SPDX-License-Identifier: Apache-2.0
"""CSV, TSV and NDJSON, read back with Python's own modules, hold each span of the dump; names of any bytes (quotes, line feeds, tabs,
backslashes, no UTF-8) come back as they were, from cells that are made safe and from raw ones."""
import csv
import json
import re

import export_check as x
import pytest

COLUMNS = "start_ns duration_ns process track track_kind category name depth lane item id parent finished open".split()
LATER = ("thread_id proc_id stream correlation launch_ns launch_thread_id launch_span launch_inferred start_uncertain_ns stop_uncertain_ns certain_ns"
         " own_category args").split()
ALL = COLUMNS + LATER
SURROGATES = dict(encoding="utf-8", errors="surrogateescape", newline="")


@pytest.fixture(autouse=True)
def long_fields():
    usual = csv.field_size_limit(1 << 20)
    yield
    csv.field_size_limit(usual)


def plain(field):
    """What a safe cell stands for."""
    if "\\" not in field and field[:1] != "'":
        return field
    back = lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1][1:], 16)])
    return re.sub(rb"\\(\\|x[0-9a-f]{2})", back, field.removeprefix("'").encode()).decode("utf-8", "surrogateescape")


def safe_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    return header, [[plain(field) for field in row] for row in rows]


def safe_tsv(path):
    with open(path, encoding="utf-8", newline="") as file:
        lines = file.read().split("\n")
    assert lines.pop() == ""
    header, *rows = (line.split("\t") for line in lines)
    return header, [[plain(field) for field in row] for row in rows]


def raw_csv(path):
    with open(path, **SURROGATES) as file:
        header, *rows = csv.reader(file, strict=True)
    return header, rows


def raw_tsv(path):
    with open(path, **SURROGATES) as file:
        lines = file.read().split("\n")
    assert lines.pop() == ""
    back = lambda field: re.sub(r"\\(.)", lambda m: {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[m[1]], field) if "\\" in field else field
    header, *rows = ([back(field) for field in line.split("\t")] for line in lines)
    return header, rows


def read_ndjson(path):
    with open(path, encoding="utf-8", newline="") as file:
        objects = [json.loads(line) for line in file.read().split("\n")[:-1]]
    for o in objects:
        assert o["finished"] in (True, False) and type(o["finished"]) is bool
        assert list(o)[:6] == COLUMNS[:6]
        o["finished"], o["open"] = int(o["finished"]), int(o["open"])
        if "name_hex" in o:
            o["name"] = bytes.fromhex(o["name_hex"]).decode("utf-8", "surrogateescape")
        assert not set(o) - set(ALL) - {"name_hex", "track_hex", "process_hex"}, o
        if "launch_inferred" in o:
            o["launch_inferred"] = int(o["launch_inferred"])
    return ALL, [[str(o[c]) for c in COLUMNS] + [str(o.get(c, "")) for c in LATER] for o in objects]


def check(rbwp, work, path, code):
    """Each form holds the spans of the dump."""
    want = x.expected(rbwp.path, path, code)
    tables = []
    for kind, options, read in (("csv", [], safe_csv), ("tsv", [], safe_tsv), ("ndjson", [], read_ndjson),
                                ("csv", ["--raw-text"], raw_csv), ("tsv", ["--raw-text"], raw_tsv)):
        x.export(rbwp.path, path, f"{work}/out.{kind}", "-f", *options, code=code)
        header, rows = read(f"{work}/out.{kind}")
        assert header == ALL and all(len(r) == len(ALL) for r in rows), (path, kind, header)
        tables.append(rows)
    assert all(t == tables[0] for t in tables), path
    rows = [dict(zip(ALL, r)) for r in tables[0]]
    assert sorted(int(r["id"]) for r in rows) == sorted(want), path
    for r in rows:
        begin, duration, name, parent, category = want[int(r["id"])]
        assert r["thread_id"].isdigit() != r["proc_id"].isdigit(), r
        assert (int(r["start_ns"]), int(r["parent"]), r["category"]) == (begin, parent or 0, category), (path, r)
        assert r["name"].encode("utf-8", "surrogateescape") == name, (path, r)
        assert r["finished"] == str(int(duration is not None)) and (duration is None or int(r["duration_ns"]) == duration), (path, r)


def test_golden_files(rbwp, golden, work):
    for path, code in x.golden_files(str(golden)):
        check(rbwp, work, path, code)


def test_hard_files(rbwp, work):
    for path, code in x.hard_files(str(work), blocks=6):  # several buffers
        check(rbwp, work, path, code)
