# SPDX-License-Identifier: Apache-2.0
"""Chrome JSON holds every span of the dump with its times to the nanosecond, is strict JSON in
UTF-8 whatever the names are, keeps to 31-bit numbers and to threads whose spans nest, also for who
adds up in doubles, and its compressed form is the same text, whatever the number of threads."""
import collections
import decimal
import gzip
import json
import zlib

import export_expect as x
import pytest

decimal.getcontext().prec = 60


def ns(text, origin=0):
    """Exact: the text has three decimals."""
    value = decimal.Decimal(text) * 1000
    assert value == int(value) and text[-4] == "."
    return int(value) + origin


def duration_ns(text):
    """Where spans abut it is a little less (chrome_rows.c), by far less than half a nanosecond."""
    value = decimal.Decimal(text) * 1000
    whole = int(value.to_integral_value())
    assert text[-4] == "." or text[-7] == "." and 0 < whole - value <= decimal.Decimal("0.4")
    return whole


def adds_up(rows):
    """Spans nest for a reader with doubles, whether it counts from 0 or from the first of a row."""
    for row in rows:
        first = min(ts for ts, _ in row)
        for zero in 0.0, first:
            assert x.nested([[(ts - zero, ts - zero + dur) for ts, dur in row]]), row[:5]


def load(data):
    return json.loads(data.decode("utf-8"), parse_float=str, parse_constant=lambda c: 1 / 0)


def check(rbwp, path, code=0):
    want = x.spans(rbwp.path, path)
    data = x.export(rbwp.path, "chrome", path, "-j", "1", code=code)
    assert x.export(rbwp.path, "chrome", path, "-j", "3", code=code) == data
    trace = load(data)
    origin = int(trace["otherData"]["origin_ns"])
    have, rows, doubles = collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
    for e in trace["traceEvents"]:
        assert 0 < e["pid"] < 2**31 and 0 <= e.get("tid", 0) < 2**31
        if e["ph"] == "X":
            start = ns(e["ts"], origin)
            stop = start + duration_ns(e["dur"])
            unfinished = e.get("args", {}).get("unfinished")
            have[x.Span(e["cat"], e["name"], start, None if unfinished else stop)] += 1
            rows[e["pid"], e["tid"]].append((start, stop))
            doubles[e["pid"], e["tid"]].append((float(e["ts"]), float(e["dur"])))
    assert have == want, (path, have - want, want - have)
    assert x.nested(rows.values())
    if all(abs(stop - origin) < 10**15 for row in rows.values() for _, stop in row):
        adds_up(doubles.values())
    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert set(rows) <= named
    tids = [tid for _, tid in named]
    assert len(set(tids)) == len(tids)
    return trace, rows


@pytest.fixture(scope="module")
def many(shared):
    """A file with more than is held back of one call."""
    x.many_inside(shared / "many.bin")
    return shared / "many.bin"


def test_every_file(rbwp, golden):
    x.every_file(rbwp.path, "chrome", golden, lambda path, code: check(rbwp, path, code))


def test_hostile_names(rbwp, work):
    x.hostile_names(work / "hostile.bin")
    trace, _ = check(rbwp, work / "hostile.bin")
    assert any(e["name"] == 'quote " backslash \\ slash /' for e in trace["traceEvents"])


def test_gpu_work_that_overlaps(rbwp, work):
    x.overlapping_gpu(work / "overlap.bin")
    trace, rows = check(rbwp, work / "overlap.bin")
    events = trace["traceEvents"]
    gpu = [e for e in events if e.get("cat") == "gpu"]
    assert len({e["tid"] for e in gpu}) == 4 and all(e["args"]["slot"] == 3 and e["args"]["rbwp"]["inferred"] for e in gpu), gpu
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {names[e["tid"]] for e in gpu} == {"GPU 0.1", "GPU 0.2", "GPU 0.2 / 1", "GPU 0.2 / 2"}
    order = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    lanes = {n: order[t] for t, n in names.items()}
    assert lanes["GPU 0.1"] != lanes["GPU 0.2"] and lanes["GPU 0.2"] + 1 == lanes["GPU 0.2 / 1"]
    # Arrows: each begins inside a call and ends at a piece of GPU work, by the same id, a string.
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(begins) == len(ends) == 8 and begins.keys() == ends.keys()
    for flow, begin in begins.items():
        end = ends[flow]
        assert flow.startswith("0x") and end["bp"] == "e"
        assert (begin["cat"], begin["name"]) == (end["cat"], end["name"])
        at = ns(begin["ts"], 10**18)
        assert any(start <= at < stop for start, stop in rows[begin["pid"], begin["tid"]])
        assert ns(begin["ts"]) <= ns(end["ts"])
        assert ns(end["ts"], 10**18) in {start for start, _ in rows[end["pid"], end["tid"]]}


@pytest.mark.parametrize("zero", [0, 10**13, 10**14])  # of the run: how many decimals a double has left
def test_spans_that_abut(rbwp, work, zero):
    x.abutting(work / "abutting.bin", zero)
    check(rbwp, work / "abutting.bin")


def test_many_inside(rbwp, many):
    check(rbwp, many)


def test_unfinished(rbwp, work):
    x.unfinished(work / "unfinished.bin")
    check(rbwp, work / "unfinished.bin")


def test_losses_and_facts(rbwp, extended):
    trace, _ = check(rbwp, extended)
    assert {e["pid"] for e in trace["traceEvents"]} == {4242}
    losses = [e for e in trace["traceEvents"] if e.get("cat") == "loss"]
    assert any(e["args"] == {"records": 1234, "first_ns": "2000", "last_ns": "2100"} for e in losses)
    assert trace["otherData"]["lost_records"] == str(sum(e["args"]["records"] for e in losses)) != "0"
    assert all(e["ph"] == "i" and e["s"] in "tp" and e["cname"] for e in losses)
    assert trace["otherData"]["process.0.writer"] == "make_extended"


def test_zero_has_no_sign(rbwp, work):
    """What begins at the zero time begins at 0."""
    (work / "zero.bin").write_bytes(x.m.file([x.m.block(1, 0, [(10**18, "cb", 1), (10**18 + 5, "ce")])], zero_time=10**18))
    text = rbwp("export", "--to", "chrome", work / "zero.bin").text
    assert '"ts":0.000,' in text and "-0.000" not in text


def test_compressed(rbwp, many, work):
    """The same text in one member, also over many pieces, by any number of threads."""
    text, packed = rbwp("export", "--to", "chrome", many).out, set()
    assert len(text) > 4 << 20
    for threads in "125":
        path = work / f"many{threads}.json.gz"
        rbwp("export", "-j", threads, "-o", path, many)
        packed.add(path.read_bytes())
        unzip = zlib.decompressobj(31)
        assert unzip.decompress(path.read_bytes()) == text and unzip.eof and not unzip.unused_data
    assert len(packed) == 1


def test_nothing_compressed(rbwp, golden, work):
    rbwp("export", "-o", work / "e.json.gz", golden / "empty.bin")
    assert load(gzip.open(work / "e.json.gz").read())["traceEvents"]


def test_full_disk(rbwp, on_full_disk, golden, many, small_files, work):
    on_full_disk("export", "--to", "chrome", golden / "gaps.bin")
    partial = work / "partial.json.gz"
    rbwp("export", "-o", partial, many, code=1, **small_files(4096))
    assert not partial.exists()
