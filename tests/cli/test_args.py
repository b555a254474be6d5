# SPDX-License-Identifier: Apache-2.0
"""What programs noted of calls, and counters. Guards: an argument is the call's in which it was given, whatever order
blocks come in and a nanosecond off, texts are put together, values of other types and versions do no harm, and a row
of no call is shown as nothing; a counter has its own name and unit, and with another unit is another one. stats adds
up calls by value, by power of two where these are many, and the longest calls, also those of sums that were kept,
say what they were about."""
import json
import os
import pty
import re
import sqlite3
import struct
import subprocess
import time

import pytest
import ranges_make
from make_rbwp import begin, block, end, fine_begin, fine_end, finalised, sub_item, table_section, ts8, with_trailer, work_item
from ranges_make import T0

ARGUMENT = [("begun", 4, 1), ("thread", 1, 10), ("key", 6, 4), ("type", 1, 0), ("value", 1, 0)]
COUNTER = [("time", 4, 1), ("counter", 6, 4), ("value", 2, 7), ("unit", 6, 0)]
NAMES = [b"bytes", b"path", b"jobs", b"waiting", b"kB"]
BYTES, PATH, JOBS, WAITING, KB = range(1, 6)
f64, eight = lambda x: struct.unpack("<Q", struct.pack("<d", x))[0], lambda t: int.from_bytes(t, "little")
# The calls of ranges_make begin at T0, on threads 7 and 8.
ROWS = [(1, 7, PATH, 5, eight(b"/var/lib")), (1, 7, PATH, 6, eight(b"/x")), (1, 7, BYTES, 1, 2**64 - 1), (0, 8, BYTES, 2, 2**64 - 5),
        (0, 8, BYTES, 3, f64(0.5)), (0, 8, PATH, 4, JOBS), (0, 8, PATH, 4, 2**40), (0, 8, PATH, 5, 0), (0, 8, 0, 1, 7), (0, 8, BYTES, 9, 9),
        (50, 7, BYTES, 1, 1), (0, 9, BYTES, 1, 2)]
COUNTS = [(5, WAITING, 3, JOBS), (10, WAITING, 2**64 - 1, JOBS), (10, WAITING, 8, KB), (20, PATH, 1, 0)]


def shift(rows):
    return [(T0 + row[0], *row[1:]) for row in rows]


def with_arguments(path, rows, names=NAMES):
    ranges_make.write(path, names, ("argument", ARGUMENT, shift(rows)))
    return path


def text_rows(text, thread=7):
    return [(0, thread, PATH, 5 if at == 0 else 6, eight(text[at:at + 8])) for at in range(0, len(text), 8)]


@pytest.fixture(scope="module")
def path(shared):
    ranges_make.write(shared / "args.bin", NAMES, ("argument", ARGUMENT, shift(ROWS)), ("counter", COUNTER, shift(COUNTS)))
    return shared / "args.bin"


@pytest.fixture
def spans(rbwp):
    return lambda path, code=0: [json.loads(line) for line in rbwp("export", "--to", "ndjson", path, code=code).lines]


@pytest.fixture
def calls(spans):

    def found(path):
        listed = spans(path)
        assert [s["category"] for s in listed] == ["bgwork"] * 2
        return {s["thread_id"]: s.get("args") for s in listed}

    return found


@pytest.fixture
def by(rbwp):
    """(value, count, max) of each value of a key, and the calls without."""

    def found(key, path, *options):
        made = rbwp("stats", "--json", "--by", f"arg:{key}", *options, path).json["arguments"]
        assert made["key"] == key
        return [(v["name"], v["count"], v["max"]) for v in made["values"]], made["calls_without"]

    return found


def test_arguments_of_calls(rbwp, calls, path):
    assert calls(path)[7] == {"path": "/var/lib/x", "bytes": 2**64 - 1}
    lines = rbwp("export", "--to", "ndjson", path).text
    for part in ('"bytes":-5', '"bytes":0.5', '"path":"jobs"', '"path":""', '"?":7'):
        assert part in lines


def test_no_index_of_tables(calls, path, work):
    """A trailer without TIDX, which a file with tables may lack (SPEC.md 10.13)."""
    (work / "no_tidx.bin").write_bytes(with_trailer(path.read_bytes(), table_section(b"THRD", [], 48)))
    assert calls(work / "no_tidx.bin") == calls(path)


def test_sqlite(rbwp, path, work):
    base = work / "args.sqlite"
    if "without SQLite" in rbwp("export", "-o", base, path, code=None).error:
        pytest.skip("this build is without SQLite")
    db = sqlite3.connect(base)
    assert ("path", "/var/lib/x") in db.execute("select name.name, value from arg join name on name.id = arg.name").fetchall()


def test_counters(rbwp, path):
    counters = {(t["name"], t["unit"], t["samples"], t["min"], t["max"]) for t in rbwp("stats", "--json", path).json["counters"]}
    assert counters == {("waiting", "jobs", 2, -1, 3), ("waiting", "kB", 1, 8, 8), ("path", "", 1, 1, 1)}


def test_chrome(rbwp, path):
    chrome = rbwp("export", "--to", "chrome", path).json["traceEvents"]
    assert [e["args"]["path"] for e in chrome if e.get("args", {}).get("bytes") == 2**64 - 1] == ["/var/lib/x"]


@pytest.mark.parametrize("form", ["perfetto", "firefox", "csv", "kineto", "folded", "npz", "parquet"])
def test_exports(rbwp, path, work, form):
    rbwp("export", "-o", work / "out", "--to", form, path)
    assert (work / "out").stat().st_size


KEYS = [b"slot", b"rbwp", b"unfinished", b"open", b"item", b"stream", b"arg.slot", b"arg.x", b"launch_ns", b"certain_ns"]


@pytest.fixture(scope="module")
def keys(shared):
    return with_arguments(shared / "keys.bin", [(0, 7, i + 1, 1, 100 + i) for i in range(len(KEYS))], KEYS)


def test_keys_that_exports_write_themselves(spans, keys):
    """An argument of that name is neither lost nor taken for theirs, there and back."""
    first = spans(keys)[0]
    assert first["args"] == {key.decode(): 100 + i for i, key in enumerate(KEYS)} and "stream" not in first


@pytest.mark.parametrize("form", ["chrome", "kineto", "perfetto"])
def test_keys_there_and_back(rbwp, spans, keys, work, form):
    rbwp("export", "-o", work / "out", "--to", form, keys)
    of = lambda path: [[s.get(k) for k in ("args", "item", "open", "finished", "duration_ns")] for s in spans(path)]
    assert of(work / "out") == of(keys) != []


def test_damaged_header(rbwp, spans, calls, path, work):
    """That of a block of records leads past the argument's blocks: what is behind it is found all the same."""
    data = bytearray(path.read_bytes())
    struct.pack_into("<2I", data, 36 + 24, len(data) - 200, 0)
    struct.pack_into("<I", data, 36 + 12, (len(data) - 200) // 10)
    (work / "damaged.bin").write_bytes(data)
    assert [s["args"]["path"] for s in spans(work / "damaged.bin", code=3)] == [calls(path)[8]["path"]]


def test_sums_by_value(rbwp, by, path):
    """Few numbers, texts, no such key."""
    assert by("bytes", path) == ([("-5", 1, 10000), ("0.5", 1, 10000), (str(2**64 - 1), 1, 10000)], 0)
    assert sorted(by("path", path)[0]) == [("", 1, 10000), ("/var/lib/x", 1, 10000), ("?", 1, 10000), ("jobs", 1, 10000)]
    assert by("nobody", path) == ([], 2)
    assert "Calls by bytes" in rbwp("stats", "--by", "arg:bytes", path).text


def test_many_numbers(by, work):
    many = [(0, 7, BYTES, 1, i) for i in range(40)] + [(0, 7, BYTES, 2, 2**64 - 6), (0, 7, BYTES, 3, f64(-0.75)), (0, 7, BYTES, 3, f64(0))]
    values, without = by("bytes", with_arguments(work / "many.bin", many))
    assert [v[:2] for v in values] == [("-4 to -7", 1), ("-0.5 to below -1", 1), ("0", 1), ("0", 1), ("1", 1), ("2 to 3", 2), ("4 to 7", 4), ("8 to 15", 8),
                                       ("16 to 31", 16), ("32 to 63", 8)] and without == 1, values


TEXTS = [b"SELECT t1.a FROM t1 WHERE id = 17 AND s = 'it''s'", b"SELECT t1.a FROM t1 WHERE id = 0x2F AND s = 'b\\'x'",
         b"SELECT t1.a FROM t1 WHERE id = 1.5 AND s = \"c", b"SELECT t1.b FROM t2 WHERE id = 17 AND s = ''"]
PIECES = [row for i, text in enumerate(TEXTS) for row in text_rows(text, 7 + i % 2)]


def test_texts_that_differ_in_literals(rbwp, by, work):
    """They differ in these alone: numbers and quoted strings, not what is part of a word."""
    texts = with_arguments(work / "texts.bin", PIECES)
    assert sorted(v[0] for v in by("path", texts)[0]) == sorted(t.decode() for t in TEXTS)
    folded, _ = by("path", texts, "--fold-literals")
    assert sorted(v[:2] for v in folded) == [("SELECT t1.a FROM t1 WHERE id = ? AND s = ?", 3), ("SELECT t1.b FROM t2 WHERE id = ? AND s = ?", 1)]


def test_more_texts_than_cells(by, work):
    """Of the table that finds them: each is one value, with all its calls."""
    items = [b"item %d" % i for i in range(700)]
    blocks = [block([e for i in range(1400) for e in (begin(ts8(T0 + 20 * i)), end(ts8(T0 + 20 * i + 10)))], T0, 7), ranges_make.names(1, b"path", *items)]
    blocks += ranges_make.table(1, "argument", ARGUMENT, [(T0 + 20 * i, 7, 1, 4, 2 + i % 700) for i in range(1400)])
    (work / "items.bin").write_bytes(finalised(blocks, zero=T0))
    found, _ = by("path", work / "items.bin", "--top", "1000")
    assert sorted((name.encode(), count) for name, count, _ in found) == sorted((text, 2) for text in items)


def test_first_pieces_not_kept(by, work):
    """As at the beginning of a dump: the rest is not shown as if it were all."""
    rest = with_arguments(work / "rest.bin", PIECES[2:])
    assert ("\u2026" + TEXTS[0][16:].decode()) in [v[0] for v in by("path", rest)[0]]


def test_longest_calls(rbwp, path):
    for words in (["--top", "5"], ["--cache", "beside"], ["--cache", "beside"]):
        longest = rbwp("stats", "--json", *words, path).json["longest"]
    assert {c["thread_id"]: c["args"] for c in longest}[7] == {"path": "/var/lib/x", "bytes": 2**64 - 1}, longest
    assert "path=/var/lib/x" in rbwp("stats", path).text


def test_long_text_on_a_terminal(rbwp, work):
    """It is cut there, in a file it is whole."""
    text = b"/var/lib/" + b"0123456789" * 8
    path = with_arguments(work / "long.bin", text_rows(text))
    ours, theirs = pty.openpty()
    process = subprocess.Popen([rbwp.path, "stats", path], stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the end of a terminal
        pass
    assert process.wait() == 0 and b"path=" + text in rbwp("stats", path).out
    cut, = re.findall(rb"path=(/var\S*)", shown)
    assert len(cut.decode()) == 40 and text.startswith(cut[:36])


@pytest.mark.parametrize("words", [["arg:"], ["arg:a", "--by", "arg:b"]])
def test_refused_keys(rbwp, path, words):
    rbwp("stats", "--by", *words, path, code=2)


def with_kinds(path, records, kinds, names, zero=T0):
    file = finalised([block(records, zero, 7)], [work_item(0, b"compaction")], [sub_item(4, 0, b"for room"), sub_item(5, 0, b"merge")], zero=zero)
    path.write_bytes(with_trailer(file, table_section(b"KIND", [struct.pack("<HHI8x", *kind) for kind in kinds], 16, names)))
    return path


RECORDS = [begin(ts8(T0)), fine_begin(ts8(T0 + 100), 4), fine_end(ts8(T0 + 400)), fine_begin(ts8(T0 + 500), 5), fine_end(ts8(T0 + 600)), end(ts8(T0 + 1000))]
WAITING_ITEM = [(0, 5, 3), (5, 6, 0), (999, 5, 3)], b"stallleveldstall"


def test_kinds_of_a_programs_own(rbwp, spans, work):
    """In the trailer: one that waits makes nobody busy, the other has its name."""
    kind = with_kinds(work / "kind.bin", RECORDS, [(4, 5, 1), (5, 6, 0), (4, 1, 0), (9, 0, 1)], b"stallleveldx")
    named = {s["name"]: s for s in spans(kind)}
    assert (named["for room"]["category"], named["for room"]["own_category"]) == ("waiting", "stall")
    assert (named["merge"]["category"], named["merge"]["own_category"]) == ("sub_item", "leveld")
    made = rbwp("stats", "--json", kind).json
    thread, = made["threads"]
    assert (thread["busy"], thread["waiting"], thread["idle"], made["worker_waiting"]) == (700, 300, 0, 300)
    text = rbwp("stats", kind).text
    assert ", waiting 30.0 %" in text and "(waited 300 ns)" in text
    assert "stall (waits) for room" in rbwp("info", kind).text
    assert '"sub_item_kind":"leveld"' in rbwp("dump", "--spans", kind).text
    rbwp("report", "-o", work / "page.html", kind)


def test_work_item_that_waits(rbwp, work):
    """Its thread is busy with what is in it alone, in stats and timeline."""
    kind = with_kinds(work / "kind.bin", RECORDS, *WAITING_ITEM)
    made = rbwp("stats", "--json", kind).json
    thread, = made["threads"]
    assert (thread["busy"], thread["waiting"]) == (400, 1000)
    assert [row["name"] for row in made["work_items"]] == ["compaction"], made["work_items"]
    assert "stall (waits) compaction" in rbwp("info", kind).text
    assert " 40.0%" in rbwp("timeline", kind).text  # 400 ns of its call's 1000, as in stats


def top(rbwp, path):
    return [(i["name"], i["busy"], i["waiting"]) for i in map(json.loads, rbwp("top", "--once", "--json", "--sort", "name", "-d", "3600s", path).lines)]


def test_work_item_that_waits_in_top(rbwp, work):
    t = time.time_ns()
    records = [begin(ts8(t)), fine_begin(ts8(t + 500), 5), fine_end(ts8(t + 600)), end(ts8(t + 1000)), fine_begin(ts8(t + 2000), 4), fine_end(ts8(t + 2300))]
    shown = {name: times for name, *times in top(rbwp, with_kinds(work / "kind.bin", records, *WAITING_ITEM, zero=t))}
    assert shown["compaction"] == [0, 1000] and shown["merge"][0] == 100


def test_wait_in_top(rbwp, work):
    """It takes its time off each thing around it."""
    t = time.time_ns()
    records = [begin(ts8(t)), fine_begin(ts8(t + 100), 5), fine_begin(ts8(t + 200), 4), fine_end(ts8(t + 500)), fine_end(ts8(t + 900)), end(ts8(t + 1000))]
    shown = top(rbwp, with_kinds(work / "kind.bin", records, [(4, 5, 1)], b"stall", zero=t))
    assert shown == [("compaction", 700, 300), ("for room", 0, 300), ("merge", 500, 300)]


def test_long_table(rbwp, work):
    """Text says how many rows of it are only in --json."""
    path = work / "counters.bin"
    ranges_make.write(path, [b"counter %d" % i for i in range(1007)], ("counter", COUNTER, [(T0 + i, 1 + i, i, 0) for i in range(1007)]))
    assert "\n  ... and 7 more (--json has all)\n" in rbwp("stats", path).text
    assert len(rbwp("stats", "--json", path).json["counters"]) == 1007


def test_counter_in_a_row_that_is_a_span(spans, work):
    """It is an argument of it."""
    columns = [("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("depth", 1, 7), ("size", 1, 16)]
    ranges_make.write(work / "depth.bin", NAMES, ("job", columns, [(T0 + 10, T0 + 60, 7, JOBS, 3, 4096)]))
    job, = [s for s in spans(work / "depth.bin") if s["name"] == "jobs"]
    assert job["args"] == {"size": 4096, "depth": 3}


def test_columns_of_other_types(rbwp, work):
    """As strangers may have them: a table like any other."""
    columns = [("begun", 4, 1), ("thread", 1, 10), ("key", 1, 0), ("type", 1, 0), ("value", 1, 0)]
    ranges_make.write(work / "other.bin", NAMES, ("argument", columns, shift(ROWS)))
    assert "args" in rbwp("export", "--to", "ndjson", work / "other.bin").text
