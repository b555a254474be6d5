# SPDX-License-Identifier: Apache-2.0
"""Filters choose the same records as a plain computation over the unfiltered dump, in every shape, and the block layout and both counts
stay. Guards each condition, its edges and combinations."""
import fnmatch
import itertools
import json

import pytest
import rbwp_make as m


@pytest.fixture(scope="module")
def dump(rbwp):
    """dump(option, ..., path=path): of the file, or its bytes by a pipe; if no record is shown the exit status is 1, with a line."""
    def read(*options, path, pipe=False, nothing=False):
        done = rbwp("dump", *options, "-" if pipe else path, stdin=path.read_bytes() if pipe else b"", code=1 if nothing else 0)
        assert done.error.count("\n") == (1 if nothing else 0), done.error
        return [json.loads(line) for line in done.lines] if "--ndjson" in options else done.json

    return read


def wanted(records, conditions, names):
    """Records of one thread, in order, that the conditions take."""
    call, out = None, []
    for r in records:
        if r["type"] == "COARSE_BEGIN":
            call = r["slot"]
        slot = r["slot"] if r["type"] == "GPU_WORK" else call
        if r["type"] == "COARSE_END":
            call = None
        if "from" in conditions and r["ts"] < conditions["from"]:
            continue
        if "to" in conditions and r["ts"] >= conditions["to"]:
            continue
        if "slots" in conditions and not any(
                slot is not None and (slot == s or isinstance(s, str) and fnmatch.fnmatchcase(names.get(slot, ""), s))
                for s in conditions["slots"]):
            continue
        if "kinds" in conditions and not any(r["type"].startswith(k) for k in conditions["kinds"]):
            continue
        out.append(r)
    return out


def combinations(full):
    """Options, and what they mean: each alone, every fourth combination."""
    zero = full["header"]["zero_time"]
    times = sorted(r["ts"] for b in full["blocks"] for r in b["records"])
    threads = sorted({b["thread_id"] for b in full["blocks"]})
    middle, late = times[len(times) // 2], times[3 * len(times) // 4]
    choices = [
        [([], {})],
        [([], {}), (["--from", str(middle)], {"from": middle}),
         (["--from", f"+{middle - zero}ns", "--to", str(late)], {"from": middle, "to": late}),
         (["--to", "+0.000001s"], {"to": zero + 1000})],
        [([], {}), (["--slot", "1"], {"slots": [1]}), (["--slot", "0x2"], {"slots": [2]}),
         (["--slot", "*e*p*"], {"slots": ["*e*p*"]}),
         (["--slot", "mem?py chan*", "--slot", "7"], {"slots": ["mem?py chan*", 7]}),
         (["--slot", "no such"], {"slots": ["no such"]})],
        [([], {}), (["--kind", "fine"], {"kinds": ["FINE"]}), (["--kind", "GPU,coarse_end"], {"kinds": ["GPU", "COARSE_END"]}),
         (["--kind=COARSE_BEGIN", "--kind=gpu_work"], {"kinds": ["COARSE_BEGIN", "GPU_WORK"]})],
        [([], {}), (["--thread", str(threads[-1])], {"thread": threads[-1]}),
         (["--thread", hex(threads[0])], {"thread": threads[0]})],
    ]
    for number, choice in enumerate(itertools.product(*choices), 1):
        options = [word for one in choice for word in one[0]]
        if options and (len(options) <= 2 or number % 4 == 0):
            yield options, {key: value for one in choice for key, value in one[1].items()}


def kept(full, conditions, names):
    """Blocks with the records that the conditions take."""
    by_thread = {}
    for b in sorted(full["blocks"], key=lambda b: b["sequence"]):
        by_thread.setdefault(b["thread_id"], []).extend(dict(r, at=(b["offset"], r["offset"])) for r in b["records"])
    keep = {r["at"] for t, rs in by_thread.items() if conditions.get("thread", t) == t for r in wanted(rs, conditions, names)}
    expected = []
    for b in full["blocks"]:
        records = [r for r in b["records"] if (b["offset"], r["offset"]) in keep]
        if records:
            expected.append(dict(b, records=records, records_shown=len(records)))
    return expected


@pytest.mark.parametrize("name", ["multi_thread", "gpu_work", "straddle", "level2_all_types_zlib"])
def test_filters_of_records(dump, golden, name):
    path = golden / f"{name}.bin"
    full = dump(path=path)
    names = {i["slot"]: i["name"] for i in full["work_items"]}
    tried = 0
    for tried, (options, conditions) in enumerate(combinations(full), 1):
        expected = kept(full, conditions, names)
        flat = [r for b in expected for r in b["records"]]
        got = dump(*options, path=path, pipe=tried % 7 == 0, nothing=not flat)
        assert got["blocks"] == expected, options
        assert got["record_count"] == full["record_count"] and got["block_count"] == full["block_count"], options
        assert got["records_shown"] == len(flat) and got["blocks_shown"] == len(expected), options
        if tried % 5 == 0:
            lines = dump(*options, "--ndjson", path=path, pipe=tried % 10 == 0, nothing=not flat)
            assert [(line["ts"], line["type"]) for line in lines] == [(r["ts"], r["type"]) for r in flat], options
            for line, r in zip(lines, flat):
                assert line.get("slot") == r.get("slot") and ("slot" not in line or line["name"] == names.get(line["slot"]))
    assert tried > 62


def put(path, *records, **more):
    path.write_bytes(m.file([m.block(1, 0, records)], **more))
    return path


def test_times_relative_to_the_first_record(dump, work):
    path = put(work / "nozero", *[(5000 + i, "fb", i) for i in range(10)], zero_time=0)
    assert [r["ts"] for r in dump("--from", "+3ns", "--to", "+5ns", "--ndjson", path=path)] == [5003, 5004]


def test_outside_of_calls_is_no_slot(dump, work):
    path = put(work / "outside", (1, "cb", 1), (2, "fb", 5), (3, "fe"), (4, "ce"), (5, "fb", 5), (6, "fe"), (7, "ce"))
    assert [r["ts"] for r in dump("--slot", "1", "--ndjson", path=path)] == [1, 2, 3, 4]


def test_filters_of_spans(rbwp, golden):
    """Any part in the range, least duration, unfinished ones kept."""
    spans = lambda *options: rbwp("dump", "--spans", *options, golden / "multi_thread.bin").json
    full = spans()
    begins = sorted(s["begin"] for s in full)
    start, stop = begins[len(begins) // 3], begins[len(begins) // 2]
    assert spans("--from", str(start), "--to", str(stop)) == [s for s in full if s["end"] >= start and s["begin"] < stop]
    lengths = sorted(s["duration"] for s in full)
    least = lengths[len(lengths) // 2]
    assert 0 < least < lengths[-1]
    assert spans("--min-duration", f"{least}ns") == [s for s in full if s["duration"] >= least]
    assert spans("--kind", "fine", "--slot", "2") == [s for s in full if s["kind"] == "fine" and s["slot"] == 2]
    assert spans("--thread", str(full[0]["thread_id"])) == [s for s in full if s["thread_id"] == full[0]["thread_id"]]
    assert len(spans("--kind", "fine", "--slot", "2")) > 0


def test_durations_that_are_none(rbwp, work):
    """What ends before it begins lasted for no time; what has no end, for nobody knows how long."""
    path = put(work / "odd.bin", (1000, "cb", 0), (900, "ce"), (2000, "cb", 0), (2100, "ce"), (3000, "cb", 0))
    assert [s["begin"] for s in rbwp("dump", "--spans", "--min-duration", "50ns", path).json] == [2000, 3000]
