# SPDX-License-Identifier: Apache-2.0
"""The sums of rbwp stats equal those computed here from the plain span dump: counts, totals, self
times, least and most exactly, quantiles within 1/64; busy times, gaps and concurrency of threads
and GPUs exactly. Guards filters, several files, damaged files and hostile options."""
import collections
import csv
import fcntl
import json
import os
import pty
import random
import re
import struct
import subprocess
import termios

import pytest
import rbwp_make as m


def spans(rbwp, *args, code=0):
    return [s for s in map(json.loads, rbwp("dump", "--spans", "--ndjson", *args, code=code).lines) if not s.get("stray")]


def union(intervals):
    """Length of the union, number and longest of its gaps, and its pieces."""
    pieces = []
    for low, high in sorted(intervals):
        if pieces and low <= pieces[-1][1]:
            pieces[-1][1] = max(pieces[-1][1], high)
        else:
            pieces.append([low, high])
    gaps = [b[0] - a[1] for a, b in zip(pieces, pieces[1:])]
    return sum(h - l for l, h in pieces), len(gaps), max(gaps, default=0), pieces


def time_of(span):
    return span["open_until"] - span["begin"] if span.get("open") else span["duration"] or 0


def check_rows(rows, found, children):
    want = collections.defaultdict(list)
    for s in found:
        item = s["sub_item"] if s["kind"] == "fine" else s["slot"]
        want[item, s["name"] if s["name"] is not None else f"{'sub-item' if s['kind'] == 'fine' else 'slot'} {item}"].append(s)
    assert len(rows) == len(want) and {(r["item"], r["name"]) for r in rows} == set(want), (rows, want.keys())
    assert [r["total"] for r in rows] == sorted((r["total"] for r in rows), reverse=True)
    for r in rows:
        mine = want[r["item"], r["name"]]
        whole = [s for s in mine if s["finished"]]
        lengths = sorted(max(s["end"] - s["begin"], 0) for s in whole)
        still = [s for s in mine if s.get("open")]
        assert (r["count"], r["unfinished"], r["open"]) == (len(whole), len(mine) - len(whole), len(still))
        assert r["open_time"] == sum(s["open_until"] - s["begin"] for s in still)
        assert r["total"] == sum(lengths) + r["open_time"]
        inside = sum(time_of(c) for s in whole + still for c in children[s["file"], s["id"]])
        assert r["self"] == r["total"] - inside
        if lengths:
            assert (r["min"], r["max"], r["mean"]) == (lengths[0], lengths[-1], sum(lengths) // len(lengths))
        for key, permille in (("p50", 500), ("p90", 900), ("p99", 990)):
            exact = lengths[(len(lengths) * permille + 999) // 1000 - 1] if lengths else 0
            assert abs(r[key] - exact) <= exact / 64


def clipped(found, low, high):
    """Of spans that reach out of the window what lies in it."""
    out = []
    for s in found:
        if s["finished"] and (s["begin"] < low or s["end"] > high):
            s = dict(s, begin=max(s["begin"], low), end=min(s["end"], high), cut=True)
            s["duration"] = s["end"] - s["begin"]
            if s["duration"] <= 0:
                continue
        out.append(s)
    return out


def check(rbwp, *paths, options=(), code=0, threads=True):
    stats = rbwp("stats", "--json", *options, *paths, code=code).json
    found = [s for p in paths for s in spans(rbwp, *options, p, code=code)]
    window = dict(zip(options[::2], options[1::2]))
    low, high = int(window.get("--from", -(1 << 70))), int(window.get("--to", 1 << 70))
    found = clipped(found, low, high)
    assert stats["cut"] == sum("cut" in s for s in found), (options, stats["cut"])
    children = collections.defaultdict(list)
    for s in found:
        if s["parent"]:
            children[s["file"], s["parent"]].append(s)
    by_kind = {k: [s for s in found if s["kind"] == k] for k in ("coarse", "fine", "gpu")}
    check_rows(stats["work_items"], by_kind["coarse"], children)
    check_rows(stats["sub_items"], by_kind["fine"], children)
    check_rows(stats["gpu_work"], by_kind["gpu"], children)
    assert stats["spans"] == len(found), (options, stats["spans"], len(found))
    if not threads or not all(s["finished"] for s in found):
        return stats
    host = by_kind["coarse"] + by_kind["fine"]
    if options:  # the run is what was recorded in the window, whatever else the filters leave of it
        times = [r["ts"] for b in rbwp("dump", *paths).json["blocks"] for r in b["records"]]
        low, high = max(low, min(times)), min(high, max(times))
    else:
        low, high = min(s["begin"] for s in host), max(s["end"] for s in host)
    assert (stats["first"], stats["last"], stats["extent"]) == (low, high, high - low)
    ends = []
    for t in stats["threads"]:
        mine = [s for s in host if s["thread_id"] == t["id"]]
        busy, gaps, longest, pieces = union((s["begin"], s["end"]) for s in mine)
        assert (t["busy"], t["idle"], t["gaps"], t["longest_gap"]) == (busy, high - low - busy, gaps, longest)
        assert (t["spans"], t["unfinished"]) == (len(mine), 0)
        ends += [e for l, h in pieces for e in ((l, 1), (h, -1))]
    assert stats["worker_busy"] == sum(t["busy"] for t in stats["threads"])
    levels, at, level = collections.Counter(), low, 0
    for time, step in sorted(ends):
        levels[level] += time - at
        at, level = time, level + step
    levels[level] += high - at
    assert stats["concurrency"]["busy_workers"] == [levels[i] for i in range(len(stats["concurrency"]["busy_workers"]))]
    assert sum(stats["concurrency"]["busy_workers"]) == high - low and not any(v for k, v in levels.items() if k >= len(stats["concurrency"]["busy_workers"]))
    assert sum(stats["concurrency"]["busy"]) == stats["worker_busy"]
    for g in stats["gpus"]:
        mine = [s for s in by_kind["gpu"] if s["proc_id"] == g["id"]]
        # Processor ids of different files may be equal; their tracks are then apart.
        if len(paths) == 1:
            assert g["spans"] == len(mine) and g["busy"] == union((s["begin"], max(s["begin"], s["end"])) for s in mine)[0]
    calls = sorted((s["duration"] for s in by_kind["coarse"]), reverse=True)
    assert [c["duration"] for c in stats["longest"]] == calls[:10]
    return stats


def written(path, data):
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def threads(golden):
    return golden / "multi_thread.bin"


@pytest.mark.parametrize("name", ["multi_thread", "level2_all_types", "level2_all_types_zlib", "level1_one_thread", "straddle", "gaps", "gpu_work", "discard"])
def test_sums(rbwp, golden, name):
    check(rbwp, f"{golden}/{name}.bin")


def test_sums_of_several_files(rbwp, golden, work):
    check(rbwp, *m.same_run(work, [f"{golden}/{n}.bin" for n in ("multi_thread", "level2_all_types")]), threads=False)


def test_filters(rbwp, threads):
    found = spans(rbwp, threads)
    middle = sorted(s["begin"] for s in found)[300]
    for options in (["--from", str(middle)], ["--to", str(middle)], ["--slot", "2"], ["--kind", "fine"], ["--kind", "coarse"],
                    ["--min-duration", "200ns"], ["--thread", str(found[0]["thread_id"])]):
        check(rbwp, threads, options=options)


def test_much_inside_a_call(rbwp, work):
    """A call with more inside than is held back comes late; deep nesting; back to back; equal times."""
    records = [(1000, "cb", 1)]
    for i in range(70000):
        records += [(1010 + 20 * i, "fb", i % 3), (1010 + 20 * i + 1 + i % 17, "fe")]
    records += [(1010 + 20 * 70000, "ce"), (1010 + 20 * 70000, "cb", 2), (1010 + 20 * 70000, "ce")]
    blocks = [m.block(1, i, records[1000 * i:1000 * i + 1000], compress=True) for i in range(len(records) // 1000 + 1)]
    deep = [(2000 + i, "fb", 5) for i in range(500)] + [(9000 + 3 * i, "fe") for i in range(500)]
    blocks.append(m.block(2, 0, deep))
    check(rbwp, written(work / "late", m.file(blocks, [(1, b"one"), (2, b"two")], [(0, 0, b"a"), (1, 1, b"b"), (2, 2, b"c"), (5, 3, b"d")])))


def test_many_sizes(rbwp, work):
    r = random.Random(5)
    records, at = [], 5000
    for i in range(3000):
        length = r.choice((0, 1, 63, 64, 65, 1000, 123456, 10**9, 10**12)) + r.randrange(3)
        records += [(at, "cb", r.randrange(4)), (at + length, "ce")]
        at += length + r.randrange(100)
    check(rbwp, written(work / "sizes", m.file([m.block(1, 0, records)], [(i, b"item %d" % i) for i in range(3)])))


def test_unfinished(rbwp, work):
    records = [(100, "cb", 1), (110, "fb", 2), (120, "fe"), (200, "cb", 2), (220, "ce"), (300, "cb", 1), (310, "fb", 2)]
    stats = check(rbwp, written(work / "open", m.file([m.block(1, 0, records)], [(1, b"one"), (2, b"two")], [(2, 0, b"sub")])))
    assert [(w["name"], w["count"], w["unfinished"]) for w in stats["work_items"]] == [("two", 1, 0), ("one", 0, 2)]


@pytest.mark.parametrize("name, code", [("crash_cut_in_data", 3), ("crash_killed", 0), ("crash_header_only", 0), ("defect_discard_rotate", 3), ("empty", 0)])
def test_damaged_and_cut(rbwp, golden, name, code):
    """They give what the dump gives."""
    check(rbwp, f"{golden}/{name}.bin", code=code, threads=False)


def test_losses_empty_polls_and_a_slot_of_two_names(rbwp, extended):
    stats = rbwp("stats", "--json", "--by", "slot", extended).json
    assert stats["lost_records"] == 1234 and stats["processes"][0]["empty_polls"] == 17
    assert [(l["cause"], l["records"], l.get("calls"), l["first"], l["last"]) for l in stats["losses"]] == [("dropped", 1234, None, 2000, 2100),
                                                                                                            ("stray end", 0, 2, 0, 0)]
    assert sorted((w["item"], w["name"], w["count"]) for w in stats["work_items"]) == [(3, "new", 2), (3, "old", 2), (4, "other", 1)]
    assert "threads" not in stats and "longest" not in stats
    text = rbwp("stats", extended).text
    assert text.startswith("LOST 1,234 records") and "\033" not in text


def test_colours(rbwp, extended):
    assert "\033[31mLOST" in rbwp("stats", "--color", "always", extended).text
    assert "\033" not in rbwp("stats", "--color=never", extended).text


def test_top(rbwp, threads):
    for top in (0, 1, 5):
        assert len(rbwp("stats", "--json", "--top", str(top), threads).json["longest"]) == top


def test_titles_in_order(rbwp, golden, threads):
    lines = rbwp("stats", f"{golden}/gpu_work.bin").lines
    titles = [l for l in lines if l and l[0].isupper()]
    assert titles == ["GPU work", "Work items", "Threads", "GPUs", "Workers busy at the same time", "Longest calls"]
    # Work whose times lie outside of the run has no share of it, and columns stay apart however long a time is.
    assert ["1", "18446744073", "s", "-"] in [l.split()[:4] for l in lines] and not any(float(w[:-1]) > 100 for l in lines for w in l.split()
                                                                                        if re.fullmatch(r"[0-9.]+%", w)), lines
    assert "\nSub-items\n" in rbwp("stats", threads).text


def test_head(rbwp, golden, work):
    single = written(work / "single", m.file([m.block(1, 0, [(100, "cb", 1), (110, "ce")])], [(1, b"one")]))
    assert rbwp("stats", single).text.startswith("1 span in 10 ns, 1 worker busy")
    assert "1 worker busy" in rbwp("stats", f"{golden}/gaps.bin").text


LONG = b"a name that is much longer than any terminal is wide " * 3


@pytest.fixture(scope="module")
def wide(shared):
    records = [(100, "cb", 1), (123556, "ce"), (200000, "cb", 2), (200100, "ce")]
    return written(shared / "wide", m.file([m.block(1, 0, records)], [(1, LONG), (2, b"short")]))


def on_terminal(rbwp, columns, path):
    """The lines of all tables at that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([rbwp.path, "stats", "--color", "never", path], stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the end of a terminal
        pass
    assert process.wait() == 0
    return shown.decode().splitlines()


@pytest.mark.parametrize("pipe", [True, False])
def test_fits_the_width(rbwp, wide, pipe):
    """A pipe has whole names behind columns that leave room for them, a terminal has them shortened."""
    for columns in (60, 80, 100, 130, 200):
        lines = rbwp("stats", wide, env={"COLUMNS": str(columns)}).lines if pipe else on_terminal(rbwp, columns, wide)
    head = lines[3]
    assert head.endswith("  name") and len(head) + 14 <= columns, (columns, pipe, head)
    assert [w in head for w in ("total", "max", "p90", "id")] == [True, columns > 60, columns > 100, columns > 100], (columns, head)
    if pipe:
        assert any(l.rstrip().endswith(LONG.decode().rstrip()) for l in lines)
    else:
        assert all(len(l) <= max(columns, 87) for l in lines[2:]) and any(".." in l for l in lines), (columns, lines)
        call = next(l for l in lines[lines.index("Longest calls") :] if ".." in l)  # the thread has 20 columns
        assert call.endswith("  thread 0x1") and len(call) == max(columns, 77) - 20 + len("  thread 0x1")


def test_quantiles_have_three_digits(rbwp, wide):
    assert any(" 123 us " in l and "123.5 us" in l for l in rbwp("stats", wide, env={"COLUMNS": "200"}).lines)


def flat(row, prefix=""):
    for key, value in row.items():
        if isinstance(value, dict) and key != "args":
            yield from flat(value, key + "_")
        elif not isinstance(value, (dict, list)) and not key.endswith("_hex"):
            yield prefix + key, value


def same(cell, value):
    return type(value)(cell) == value if isinstance(value, (int, float)) and not isinstance(value, bool) else cell == ("" if value is None else value)

@pytest.mark.parametrize("name", ["extended", "gpu_work", "multi_thread"])
def test_csv(rbwp, golden, extended, name):
    """It has the cells that JSON has: of parts of a row PART_KEY, without lists."""
    file = extended if name == "extended" else golden / f"{name}.bin"
    result = rbwp("stats", "--json", "--findings", file).json
    result |= rbwp("stats", "--json", file).json
    result["nodes"] = rbwp("stats", "--json", "--by=node", file).json["nodes"]["list"]
    for table, rows in result.items():
        if isinstance(rows, list) and table != "processes":
            lines = list(csv.DictReader(rbwp("stats", "--csv", table, file).lines))
            assert len(lines) == len(rows), (table, lines, rows)
            for line, row in zip(lines, rows):
                cells = dict(flat(row))
                assert set(cells) <= set(line), (table, cells, line)
                assert all(same(line[key], value) or table == "findings" or "\\" in line[key] for key, value in cells.items()), (table, line, cells)


@pytest.mark.parametrize("words", [("--csv", "none"), ("--csv", "threads", "--json"), ("--csv", "threads", "--critical-path")])
def test_refused_csv(rbwp, threads, words):
    assert rbwp("stats", *words, threads, code=2).out == b""


def test_pipe(rbwp, threads):
    piped = rbwp("stats", "--json", "--by=slot", "-", stdin=threads.read_bytes()).json
    assert piped["work_items"] == rbwp("stats", "--json", threads).json["work_items"]


def test_name_that_would_move_the_cursor(rbwp, work):
    path = written(work / "name", m.file([m.block(1, 0, [(100, "cb", 1), (110, "ce")])], [(1, b"\x1b[2J\xff")]))
    assert "\033" not in rbwp("stats", path).text
    assert rbwp("stats", "--json", path).json


def test_no_trace(rbwp, work):
    written(work / "empty", b"")
    written(work / "text", b"text\n")
    (work / "no_files").mkdir()
    for bad in ("empty", "text", "no_files", "none"):
        assert rbwp("stats", work / bad, code=1).in_one_line().out == b""


@pytest.mark.parametrize("options", ["", "--by thing", "--top -1", "--top x", "--top 10001", "--top 99999999999999999999", "--color red", "--color="])
def test_refused_options(rbwp, golden, options):
    assert rbwp("stats", *options.split(), *[golden / "gaps.bin"] * (options != ""), code=2).in_one_line().out == b""


def test_output_is_not_overwritten(rbwp, golden, work):
    rbwp("stats", "-o", work / "out.txt", golden / "gaps.bin", env={"NO_COLOR": "1"})
    rbwp("stats", "-o", work / "out.txt", golden / "gaps.bin", code=1).says("exists")
