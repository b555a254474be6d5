# SPDX-License-Identifier: Apache-2.0
"""info counts what the dump shows; the trailer's facts (threads, losses, clock, session, reused slots) and opaque blocks come through
info, dump, names and filters. What happened to the clocks meanwhile is reported: the wall clock was set, the machine slept, the counter
was set back, the system does not trust it."""
import collections
import csv
import json
import os
import pathlib
import shutil
import struct

import pytest
import rbwp_make as m

HERE = pathlib.Path(__file__).parent
FILES = sorted(pathlib.Path(os.environ["GOLDEN"]).glob("*.bin"))
DAMAGED = ("crash_cut_in_data", "defect_discard_rotate")
S, T = 10**9, 1_700_000_000 * 10**9


def check_counts(full, info):
    """Those of info are those of the dump."""
    records = [(b, r) for b in full["blocks"] for r in b["records"]]
    kinds = collections.Counter(r["type"] for _, r in records)
    assert {k: v for k, v in info["kinds"].items() if v} == kinds
    calls = collections.Counter(r["slot"] for _, r in records if r["type"] == "COARSE_BEGIN")
    gpu = collections.Counter(r["slot"] for _, r in records if r["type"] == "GPU_WORK")
    assert {s["slot"]: s["calls"] for s in info["slot_counts"] if s["calls"]} == calls
    assert {s["slot"]: s["gpu_work"] for s in info["slot_counts"] if s["gpu_work"]} == gpu
    subs = collections.Counter(r["sub_item"] for _, r in records if r["type"] == "FINE_BEGIN")
    assert {s["sub_item"]: s["begins"] for s in info["sub_item_counts"]} == subs
    per_thread = collections.Counter(b["thread_id"] for b, _ in records)
    assert {t["thread_id"]: t["records"] for t in info["thread_counts"]} == per_thread
    assert (info["block_count"], info["record_count"]) == (full["block_count"], full["record_count"])
    assert info["data_size"] == sum(b["data_size"] for b in full["blocks"])
    assert info["stored_size"] == sum(b["compressed_size"] or b["data_size"] for b in full["blocks"])
    if records:
        times = [r["ts"] for _, r in records]
        assert (info["first"], info["last"]) == (min(times), max(times))
    for key in ("header", "work_items", "sub_items", "incomplete_tail", "problems", "finalized", "valid", "file_size"):
        assert info[key] == full[key], key


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_counts_are_those_of_the_dump(rbwp, path):
    code = 3 if path.stem in DAMAGED else 0
    full, info = rbwp("dump", path, code=code).json, rbwp("info", "--json", path, code=code).json
    check_counts(full, info)
    text = rbwp("info", path, code=code).text
    assert f"records      {info['record_count']:,}: " in text and ("DAMAGED" in text) == (code == 3)
    assert ("NEVER FINALISED" in text) == (not full["finalized"])
    piped = rbwp("info", "--json", "-", code=code, stdin=path.read_bytes()).json
    assert {**piped, "file": str(path)} == info
    quick = rbwp("info", "--json", "--quick", path, code=(0, code)).json
    assert "kinds" not in quick and quick["work_items"] == full["work_items"]


def test_two_files(rbwp, golden):
    both = rbwp("info", "--json", golden / "gaps.bin", golden / "empty.bin").json
    assert [f["record_count"] for f in both] == [160, 0]


def test_csv_of_two_files(rbwp, golden):
    """One line of keys for both, and each line begins with its file."""
    names = [golden / "gaps.bin", golden / "empty.bin"]
    both = rbwp("info", "--json", *names).json
    for table, counts in ("files", [1, 1]), ("work_items", [len(f["work_items"]) for f in both]):
        found = csv.DictReader(rbwp("info", "--csv", table, *names).lines)
        assert [row["file"] for row in found] == [str(name) for name, count in zip(names, counts) for _ in range(count)], table


@pytest.fixture(scope="module")
def path(extended):
    """What only our files have. make_extended.c is the other half of this."""
    return extended


@pytest.fixture(scope="module")
def dumped(rbwp, path):
    return rbwp("dump", path)


@pytest.fixture(scope="module")
def text(rbwp, path):
    return rbwp("info", path).text


@pytest.fixture(scope="module")
def info(rbwp, path):
    return rbwp("info", "--json", path).json


def test_dump_reports_losses(dumped, path):
    assert dumped.error.splitlines() == [
        f"{path}: 1234 records are missing (dropped): rbwp info tells which",
        f"{path}: 2 calls not recorded: an end without its begin; begin and end on the same thread, as often",
        f"{path}: 1000000 threads had no room in its tables",
        f"{path}: 7 slot uses had no room in its tables"]


def test_session_and_clock(dumped):
    full = dumped.json
    assert full["session"]["host"] == "host \u00e9" and full["session"]["command"] == ["prog", "a b", "", "c\"d", ""]
    assert full["session"]["process_id"] == 4242 and full["session"]["level"] == 2 and full["session"]["discarded"] == 17
    assert full["clock"]["kind_name"] == "tsc" and full["clock"]["hz"] == 2300000000 and len(full["clock"]["samples"]) == 6


def test_what_had_no_room(dumped, text):
    full = dumped.json
    assert full["left_out"] == [{"kind": 1, "kind_name": "threads", "entries": 1000000, "records": 2000000},
                                {"kind": 2, "kind_name": "slot uses", "entries": 7, "records": 0}]
    assert full["unknown_sections"] == [{"tag": "xtst", "length": 9}]
    assert "  section 'xtst': 9 bytes\n" in text
    assert "left out     1,000,000 threads, with 2,000,000 records, are not in the tables\n" in text


def test_threads_and_losses(dumped):
    full = dumped.json
    assert [(t["thread_id"], t["name"], t["os_id"]) for t in full["threads"]] == [(11, "cleaner", 900), (2**64 - 1, "", 901)]
    losses = [(loss.get("cause_name", loss["cause"]), loss["thread_id"], loss["count"]) for loss in full["losses"]]
    assert losses in ([("dropped", 11, 1234), ("stray end", 0, 2)], [(1, 11, 1234), (7, 0, 2)])


def test_opaque_blocks(dumped):
    full = dumped.json
    opaque = [b for b in full["blocks"] if b.get("opaque")]
    assert len(opaque) == full["opaque_block_count"] == 1 and opaque[0]["tag"] == "xtst" and opaque[0]["records"] == []
    assert full["block_count"] == len(full["blocks"]) == 3 and full["record_count"] == 10


def test_slot_that_was_used_again(rbwp, path):
    """One that was released has the name of its time."""
    lines = [json.loads(line) for line in rbwp("dump", "--ndjson", path).lines]
    assert [(l["ts"], l["name"], l["thread"]) for l in lines if l["type"] == "COARSE_BEGIN"] == [
        (1000, "old", "cleaner"), (3000, "new", "cleaner"), (3050, "new", "cleaner"), (4000, "old", "cleaner"),
        (3100, "other", "")]
    for source, stdin in (path, b""), ("-", path.read_bytes()):
        got = rbwp("dump", "--slot", "new", "--thread", "clean*", source, stdin=stdin).json
        assert [r["ts"] for b in got["blocks"] for r in b["records"]] == [3000, 3010, 3050, 3060]


def test_text(text):
    assert "LOST         1,234 records; 2 calls refused" in text
    assert "  1,234 records: dropped, thread cleaner (11), +0.000001100s to" in text
    assert "prog 'a b' '' c\"d ''\n" in text and "2,300,000,000 Hz, error at most 40 ns, 6 samples\n" in text and "opaque 'xtst': 1 blocks" in text
    assert text.index("LOST") < text.index("session")


def test_names_where_nothing_ran(rbwp, golden):
    """They are shown where nothing ran at all; beside others they are counted."""
    assert "0 calls         0 GPU  gpu reap\n" in rbwp("info", golden / "empty.bin").text
    gpu = rbwp("info", golden / "gpu_work.bin").text
    assert "active message handlers" not in gpu and "  ... and 3 without calls (--json shows all)\n" in gpu


def test_sums_of_losses(info):
    assert (info["lost_records"], info["refused_calls"]) == (1234, 2)


def test_calls_of_reused_slots(rbwp, path, text, info):
    """They count for the name that the slot had at that time; a name that comes back keeps its row."""
    rows = [(3, 2, "old"), (3, 2, "new"), (4, 1, "other")]
    listed = [line.split() for line in text[text.index("work items"):text.index("sub-items")].splitlines() if line]
    assert listed[0] == ["work", "items", "(3):"], listed
    assert [(int(slot), int(calls), name) for slot, calls, _, _, _, name in listed[1:]] == rows, listed
    for found in info, rbwp("info", "--json", "-", stdin=path.read_bytes()).json:
        assert [(s["slot"], s["calls"], s["name"]) for s in found["slot_counts"]] == rows


def test_quick(rbwp, path):
    assert "cleaner" in rbwp("info", "--quick", path).text


def test_index(rbwp, golden, path, dumped, info):
    """It has the blocks that the dump shows; a file without one has none."""
    ranges = rbwp("info", "--json", "--quick", "--index", path).json["index"]
    assert ranges and sum(r["blocks"] for r in ranges) == info["block_count"] and sum(r["records"] for r in ranges) == info["record_count"]
    times = [r["ts"] for b in dumped.json["blocks"] for r in b["records"]]
    assert (min(r["first"] for r in ranges if r["records"]), max(r["last"] for r in ranges if r["records"])) == (min(times), max(times))
    assert [r["offset"] for r in ranges] == [36 + sum(r["bytes"] for r in ranges[:i]) for i in range(len(ranges))]
    assert f"index ({len(ranges)}):\n  at 36: " in rbwp("info", "--quick", "--index", path).text
    assert rbwp("info", "--json", "--index", golden / "gaps.bin").json["index"] == [] and "index" not in info


def test_all_that_it_says(run, rbwp, program, golden, extended, work):
    """Of three files, to the letter: tables and losses, GPUs with their biases, compressed blocks."""
    shutil.copy(extended, work / "ext.bin")
    run(program("MAKE_GPU"), work / "gpu.bin")
    shutil.copy(golden / "level2_all_types_zlib.bin", work)
    said = "".join(rbwp("info", f"{name}.bin", cwd=work).text for name in ("ext", "gpu", "level2_all_types_zlib"))
    assert said == (HERE / "info_whole.txt").read_text()


USUAL = (S, S, S)


@pytest.mark.parametrize("flags, steps, expected", [
    (0, [USUAL, USUAL, (S + 900, S, S + 900)], []),
    (0, [USUAL, (S, S, S - 3600 * S)], ["+2.000000000s: the wall clock was set by -3600.000 s"]),
    (0, [USUAL, (S, S, S + 60 * S)], ["+2.000000000s: the wall clock was set by 60.000 s"]),
    (0, [(121 * S, S, 121 * S), USUAL], ["+1.000000000s: the machine had slept for 120.000 s"]),
    (0, [(-999 * S, S, 31 * S)], ["+1.000000000s: the machine had slept for 30.000 s", "+1.000000000s: the counter had been set back"]),
    (0, [(-999 * S, S, S)], ["+1.000000000s: the counter had been set back"]),
    (1, [USUAL], ["the system found the counter unstable, and did not trust it at the end"]),
], ids=["nothing", "set back", "set ahead", "slept", "slept, counter set back", "counter set back", "unstable"])
def test_clocks(rbwp, work, flags, steps, expected):
    """steps: by what ticks, monotonic and wall clock go on between samples."""
    ticks, monotonic, wall = 1000 * S, 50 * S, T
    samples = [struct.pack("<Qqqq", ticks, T, monotonic, wall)]
    for step in steps:
        ticks, monotonic, wall = ticks + step[0], monotonic + step[1], wall + step[2]
        samples.append(struct.pack("<Qqqq", ticks, T + monotonic - 50 * S, monotonic, wall))
    data = m.with_trailer(m.file([m.block(1, 0, [(T + 100, "cb", 0), (T + 200, "ce")])], [(0, b"work")], zero_time=T),
                          m.info(1, T, T + 9 * S, 1), m.section(b"CLCK", struct.pack("<IIQQ", 1, flags, S, 10)), m.table_section(b"SAMP", samples))
    (work / "clocks.bin").write_bytes(data)
    lines = rbwp("info", work / "clocks.bin").lines
    words = "wall clock was", "slept", "counter had", "unstable"
    assert [line.strip() for line in lines if any(word in line for word in words)] == expected
