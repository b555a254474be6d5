# SPDX-License-Identifier: Apache-2.0
"""The parts of a file are valid RBWP files and hold what the original has: every record but those at cuts is in one part, the time of
each thread and name adds up, names, threads and losses stay. Guards cuts at boundaries, filters as dump's, the refusal to overwrite,
and hostile input."""
import collections
import csv
import glob
import io
import json
import os
import shutil
import struct

import pytest
import rbwp_make as m
import rbwp_reader
from json_schema import validate
from make_rbwp import T0, begin, block, end, finalised, opaque, section, ts2, ts8, with_trailer
from test_tables import names, numbers, rows, schema, varint


@pytest.fixture
def dump(rbwp):
    return lambda path, *options: rbwp("dump", *options, path).json


@pytest.fixture
def spans(rbwp):
    return lambda path: [json.loads(line) for line in rbwp("dump", "--spans", "--ndjson", path).lines]


@pytest.fixture(scope="module")
def document_schema(rbwp):
    return rbwp("help", "--schema", "split").json


@pytest.fixture
def split(rbwp, work, document_schema):
    """split(source, option, ...): the parts, by number."""
    folder = f"{work}/parts"

    def parts_of(source, *options, valid=True):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        shutil.copy(source, f"{folder}/a.bin")
        document = rbwp("split", "--json", *options, f"{folder}/a.bin").json
        assert not list(validate(document_schema, document, "split", set())), document
        rows = list(csv.DictReader(io.StringIO(rbwp("split", "-f", "--csv", "parts", *options, f"{folder}/a.bin").text)))
        assert rows == [{key: "" if value is None else str(value) for key, value in part.items()} for part in document["parts"]], rows
        out = rbwp("split", "-f", *options, f"{folder}/a.bin").text
        os.unlink(f"{folder}/a.bin")
        parts = sorted(glob.glob(f"{folder}/*"))
        assert out.splitlines()[-1] == f"{len(parts)} files; {document['cuts']} cuts through spans", out
        assert [(part["file"], part["bytes"]) for part in document["parts"]] == [(part, os.path.getsize(part)) for part in parts], document
        for part in parts:
            if valid:
                check = rbwp("check", "--json", part).json
                assert not check["breaks"], (part, check)
        return parts

    return parts_of


def sums(found):
    """Time by thread, kind and name; only of whole spans."""
    out = collections.Counter()
    for s in found:
        if s["finished"]:
            out[s["thread_id"], s["kind"], s.get("sub_item", s["slot"])] += s["duration"] or 0
    return out

def records(dumped):
    return collections.Counter((b["thread_id"], json.dumps({k: v for k, v in r.items() if k != "offset" and k != "encoding"}, sort_keys=True))
                               for b in dumped["blocks"] for r in b["records"])

def put(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


GOLDEN = ("multi_thread", "level2_all_types", "straddle", "gaps", "gpu_work", "discard", "level1_one_thread")


@pytest.fixture(params=GOLDEN)
def path(golden, request):
    return golden / f"{request.param}.bin"


def test_by_time(dump, spans, split, path):
    """In three widths."""
    whole, all_spans = dump(path), spans(path)
    host = [s for s in all_spans if s["kind"] != "gpu"]
    zero = whole["header"]["zero_time"]
    last = max(r["ts"] for b in whole["blocks"] for r in b["records"])
    fixed = lambda p: (p["work_items"], p["sub_items"], p["header"]["zero_time"])
    for count in (1, 3, 17):
        every = max((last - zero) // count + 1, 1)
        parts = split(path, "--every", str(every))
        found = [spans(p) for p in parts]
        flat = [s for f in found for s in f]
        assert sums(flat) == sums(all_spans)
        assert all(s["finished"] for s in flat)
        for p, f in zip(parts, found):
            number = int(p.split(".")[-2])
            low, high = zero + number * every, zero + (number + 1) * every
            assert fixed(dump(p)) == fixed(whole)
            for s in f:
                if s["kind"] != "gpu":
                    assert (low <= s["begin"] or number == 0) and s["end"] <= high, (number, s)
        # A span is in as many parts as it touches.
        cut = lambda s: max(0, (s["end"] - 1 - zero) // every) - max(0, (s["begin"] - zero) // every) if s["end"] > s["begin"] else 0
        assert len(flat) == len(all_spans) + sum(cut(s) for s in host), count


def test_by_thread(dump, split, path):
    """Nothing is cut, every record is in one part."""
    whole = dump(path)
    parts = [dump(part) for part in split(path, "--by-thread")]
    assert len(parts) == len({b["thread_id"] for b in whole["blocks"]})
    total = collections.Counter()
    for part in parts:
        assert len({b["thread_id"] for b in part["blocks"]}) == 1
        total += records(part)
    assert total == records(whole)


def test_window_of_time(dump, spans, split, path):
    """All there is in it, cut at its ends."""
    times = [r["ts"] for b in dump(path)["blocks"] for r in b["records"]]
    first, last = min(times), max(times)
    low, high = first + (last - first) // 3, first + (last - first) // 2
    part, = split(path, "--from", str(low), "--to", str(high))
    want = collections.Counter()
    for s in spans(path):
        if s["kind"] != "gpu" and s["begin"] < high and s["end"] > low:
            want[s["thread_id"], s["kind"], s.get("sub_item", s["slot"])] += min(s["end"], high) - max(s["begin"], low)
    got = sums([s for s in spans(part) if s["kind"] != "gpu"])
    assert +got == +want


def test_filters_of_records_are_those_of_dump(dump, split, golden):
    path = golden / "multi_thread.bin"
    stamps = lambda dumped: collections.Counter((b["thread_id"], r["ts"], r["type"]) for b in dumped["blocks"] for r in b["records"])
    for options in (["--kind", "fine"], ["--slot", "2"], ["--thread", str(dump(path)["blocks"][0]["thread_id"])]):
        part, = split(path, *options)
        want = stamps(dump(path, *options))
        assert stamps(dump(part)) == want and want, options


@pytest.fixture
def long(work):
    """long(record, ...): a file of one thread."""
    return lambda *records, **named: put(f"{work}/long.bin", m.file([m.block(7, 0, records)], **named))


def test_call_over_many_windows(spans, split, long):
    """With a sub-item open and nothing else recorded meanwhile."""
    path = long((1000, "cb", 3), (1010, "fb", 9), (1990, "fe"), (2000, "ce"), (2000, "cb", 3), (2050, "ce"), work_items=[(3, b"three")],
                sub_items=[(9, 1, b"nine")])
    parts = split(path, "--every", "100ns")
    assert len(parts) == 11, parts
    found = [[(s["kind"], s["begin"] - 1000, s["end"] - 1000) for s in spans(p)] for p in parts]
    assert found[0] == [("fine", 10, 100), ("coarse", 0, 100)], found[0]
    assert found[5] == [("fine", 500, 600), ("coarse", 500, 600)], found[5]
    assert found[9] == [("fine", 900, 990), ("coarse", 900, 1000)], found[9]
    assert found[10] == [("coarse", 1000, 1050)], found[10]


@pytest.mark.parametrize("ends", [(1 + 5756,), tuple(range(602, 6000, 600))])
def test_span_over_thousands_of_parts(rbwp, work, long, ends):
    """It is refused before any file is made for it, on one jump or on several."""
    path = long((1000, "cb", 3), *((1000 + 100 * e, "fb", 9) for e in ends), (1000 + 2000000, "ce"))
    rbwp("split", "--every", "100ns", "-o", f"{work}/jump.bin", path, code=1).says("more than 1000 parts in which nothing")
    assert not glob.glob(f"{work}/jump*")


def test_span_over_hundreds_of_parts(split, long):
    assert len(split(long((1000, "cb", 3), (1000 + 100 * 200, "ce")), "--every", "100ns", valid=False)) == 200


def test_unfinished_call_stays_so(spans, split, long):
    """In the part where the thread was last seen."""
    path = long((1000, "cb", 3), (1200, "cb", 4), (1250, "ce"), (1300, "cb", 5))
    found = [s for p in split(path, "--every", "100ns", valid=False) for s in spans(p)]
    assert [(s["slot"], s["begin"], s["end"]) for s in found] == [(3, 1000, 1100), (3, 1100, 1200), (3, 1200, None), (4, 1200, 1250), (5, 1300, None)], found


@pytest.mark.parametrize("options, count", [(["--every", "1us"], 3), (["--by-thread"], 2), (["--kind", "coarse"], 1)])
def test_trailer(rbwp, split, extended, options, count):
    """Threads, losses where they began, empty calls once."""
    info = lambda p: rbwp("info", "--json", p).json
    whole = info(extended)
    parts = [info(p) for p in split(extended, *options)]
    assert len(parts) == count
    for of in ("lost_records", "refused_calls"):
        assert sum(p[of] for p in parts) == whole[of], (options, of)
    assert sum(p["session"]["discarded"] for p in parts) == 17, options
    for p in parts:
        assert [t["thread"] if "thread" in t else t["name"] for t in p["threads"]] == [t["thread"] if "thread" in t else t["name"] for t in whole["threads"]]
        assert [t["thread_id"] for t in p["threads"]] == [11, 2**64 - 1]
        assert p["unknown_sections"] == whole["unknown_sections"] == [{"tag": "xtst", "length": 9}]
        assert p["session"]["command"] == whole["session"]["command"] and p["slot_uses"] == whole["slot_uses"]
    if options[0] == "--every":
        assert [p["lost_records"] for p in parts] == [1234, 0, 0], options


def test_losses_outside_the_window(rbwp, split, extended):
    """They are not reported; those of no known time are."""
    part, = split(extended, "--from", "3000")
    info = rbwp("info", "--json", part).json
    assert info["lost_records"] == 0 and info["refused_calls"] == 2


SPANS = ((4, 0, 0, b"noted", b""), (4, 1, 0, b"start", b""), (1, 10, 0, b"thread", b""), (6, 4, 0, b"what", b""),
         (7, 12, 7, b"in", b""), (8, 0, 0, b"text", b""), (1, 11, 0, b"id", b""))
COUNTS = ((5, 0, 0, b"wait", b""), (7, 5, 7, b"of", b""))  # no time


def plain(*values):
    return 0, struct.pack(f"<{len(values)}Q", *values)


def span_rows(first, count):
    ids = range(first, first + count)
    text = (5, b"".join(varint(i % 3) for i in ids) + b"".join(b"ab"[:i % 3] for i in ids))
    return rows(first, [plain(*(T0 for i in ids)), plain(*(T0 + 100 * i for i in ids)), numbers(*(3 + i % 2 for i in ids)),
                        numbers(*(i % 3 for i in ids)), numbers(*(i // 2 for i in ids)), text, numbers(*(1000 + i for i in ids))],
                count, table=7, times=(T0, T0 + 100 * (first + count - 1)), compress=count % 2)


TABLED = [schema(7, SPANS, b"span"), names(1, b"copy", b"flush"), span_rows(1, 10), schema(2, COUNTS, b"wait"), names(5, b"late"),
          block([begin(ts8(T0 + 1000)), end(ts2(900))], base=T0 + 1000, thread=3), span_rows(20, 11), opaque(b"xtst"),
          rows(1, [numbers(5, 6, 7), numbers(1, 30, 8)], 3, table=2), span_rows(40, 5), schema(3, name=b"empty")]
FROM, TO = T0 + 500, T0 + 2300


def table_rows(result, table):
    original = rbwp_reader.parse(finalised(TABLED))
    assert not original["problems"], original["problems"]
    found = {s["table"]: s for s in result["schemas"]}
    assert sorted(found) == [2, 3, 7] and result["names"] == original["names"] and not result["problems"], result["problems"]
    assert [s["columns"] for s in result["schemas"]] == [s["columns"] for s in original["schemas"]]
    return [r["values"] for r in found[table]["rows"]], [r["row"] for r in found[table]["rows"]]


@pytest.mark.parametrize("options, place, keep, kept_waits", [
    (["--every", "1500ns"], None, None, [5, 6, 7]),
    (["--by-thread"], lambda v: v[2], None, [5, 6, 7]),
    (["--from", str(FROM), "--to", str(TO)], None, lambda v: FROM <= v[1] < TO, [5, 6, 7]),
    (["--thread", "4"], None, lambda v: v[2] == 4, []),
    (["--slot", "0"], None, None, [5, 6, 7]),
])
def test_rows_of_tables(split, work, options, place, keep, kept_waits):
    """Each row is in the one part of its time or thread, with its cells, and what names a row names the same one or none; all parts
    have the schemas and names; other conditions leave rows alone."""
    source = put(f"{work}/tables.bin", with_trailer(finalised(TABLED), section(b"WRIT", b"t")))
    all_spans, all_numbers = table_rows(rbwp_reader.parse(finalised(TABLED)), 7)
    old_id = dict(zip(all_numbers, (v[6] for v in all_spans)))
    got, waits = [], []
    for path in split(source, *options):
        with open(path, "rb") as file:
            part = rbwp_reader.parse(file.read())
        cells, row_numbers = table_rows(part, 7)
        assert row_numbers == list(range(1, len(cells) + 1))
        assert len({place(v) for v in cells} if place else ()) <= 1
        mine = {v[6]: number for v, number in zip(cells, row_numbers)}
        for v in cells:
            of = old_id.get(all_spans[[a[6] for a in all_spans].index(v[6])][4])
            assert v[4] == mine.get(of, 0), (options, v)
            got.append([*v[:4], *v[5:]])
        for wait, of in table_rows(part, 2)[0]:
            waits.append(wait)
            assert of == mine.get({5: 1001, 6: 1030, 7: 1008}[wait], 0), (options, wait, of)
        assert part["table_ranges"]
    assert sorted(got) == sorted([*v[:4], *v[5:]] for v in all_spans if not keep or keep(v))
    assert sorted(waits) == kept_waits


def test_rows_that_break_a_rule(rbwp, work):
    broken = put(f"{work}/broken_table.bin", finalised(TABLED[:3] + [rows(2, [numbers(1)], 1, table=7)] + TABLED[3:]))
    done = rbwp("split", "-o", f"{work}/left.bin", "--every", "1s", broken, code=3).says("R49")
    assert "26 rows of tables" not in done.error and "29 rows of tables" in done.text


@pytest.fixture
def gaps(golden, work):
    return shutil.copy(golden / "gaps.bin", work / "gaps.bin")


def test_nothing_is_overwritten(rbwp, golden, gaps):
    rbwp("split", "--by-thread", gaps)
    rbwp("split", "--by-thread", gaps, code=1).says("exists; give -f")
    rbwp("split", "-f", "--by-thread", gaps)
    rbwp("split", "-f", "--slot", "1", "-o", gaps, gaps, code=1).says("is the input")
    assert gaps.read_bytes() == (golden / "gaps.bin").read_bytes()


def test_too_many_parts(rbwp, golden, work):
    done = rbwp("split", "--every", "1ns", "-o", work / "many.bin", golden / "multi_thread.bin", code=1).says("more than 10000 parts")
    assert not done.out and not list(work.iterdir())


def test_pipe(rbwp, gaps, work):
    rbwp("split", "--by-thread", gaps)
    rbwp("split", "--by-thread", "-o", work / "piped.bin", "-", stdin=gaps.read_bytes())
    assert (work / "piped.0000.bin").read_bytes() == (work / "gaps.0000.bin").read_bytes()


def test_damaged_files(rbwp, golden, work):
    rbwp("split", "--by-thread", "-o", work / "cut.bin", golden / "crash_cut_in_data.bin", code=3)
    rbwp("check", work / "cut.0000.bin")
    rbwp("split", "--by-thread", "-o", work / "killed.bin", golden / "crash_header_only.bin")


def test_no_rbwp_files(rbwp, work):
    put(work / "empty", b"")
    put(work / "text", b"text\n")
    for bad in (work / "empty", work / "text", work, work / "none"):
        assert not rbwp("split", "--by-thread", bad, code=1).in_one_line().out


def test_usage(rbwp, gaps):
    for options in ("", "--every 0", "--every x", "--every -1", "--every 1s --by-thread", "--min-duration 1 --every 1s",
                    "--kind COARSE_BEGIN", "--every 99999999999999999999s"):
        rbwp("split", *options.split(), gaps, code=2).in_one_line()
    rbwp("split", "--by-thread", "-", code=2)
