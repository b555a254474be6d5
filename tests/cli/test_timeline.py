# SPDX-License-Identifier: Apache-2.0
"""Bars and letters of rbwp timeline are those computed here from the spans, column by column; its width is what was asked for; losses
are marked; no colours and no blocks where they are not wanted."""
import collections
import json
import sqlite3
import struct

import pytest
import rbwp_make as m

LABEL, TAIL = 20, 8
BARS = " .:-=+*#@"
MS = 10**6


@pytest.fixture(scope="session")
def timeline(rbwp):
    return lambda *options, code=0, locale="C": rbwp("timeline", *options, code=code, env={"LC_ALL": locale}).text


@pytest.fixture(scope="module")
def path(golden):
    return golden / "multi_thread.bin"


@pytest.fixture(scope="module")
def found(rbwp, path):
    spans = [json.loads(line) for line in rbwp("dump", "--spans", "--ndjson", path).lines]
    return [s for s in spans if s["depth"] == 0]


@pytest.fixture(scope="module")
def zero(rbwp, path):
    return rbwp("info", "--json", path).json["header"]["zero_time"]


def check_ticks(ticks, columns, low, step, zero):
    """Every 20 columns one with its time, as filters take it."""
    assert [i for i, c in enumerate(ticks) if c == "|"] == list(range(LABEL, LABEL + columns, 20)), ticks
    for i, text in enumerate(ticks[LABEL:].split("|")[1:-1]):
        assert abs(float(text.strip().strip("+s")) * 1e9 - (low + 20 * i * step - zero)) <= step * 20, (i, text)


def check_row(spans, low, step, row, legend):
    """Bars, share and letters of a thread."""
    columns = len(row[1]) - LABEL
    bars, share, letters = row[0][LABEL:LABEL + columns], row[0][LABEL + columns:], row[1][LABEL:]
    total = 0
    for c in range(columns):
        a, b = low + c * step, low + (c + 1) * step
        names = collections.Counter()
        for s in spans:
            if s["begin"] < b and s["end"] > a:
                names[s["name"] or f"slot {s['slot']}"] += min(s["end"], b) - max(s["begin"], a)
        busy = sum(names.values())
        total += busy
        level = int(busy / step * 8 + 0.5) or (1 if busy else 0)
        assert bars[c] == BARS[level], (c, bars, level)
        if busy:
            assert names[legend[letters[c]]] == max(names.values()), (c, names, letters[c])
        else:
            assert letters[c] == ".", c
    assert share.strip() == f"{100 * total / step / columns:.1f}%", (share, total)


@pytest.mark.parametrize("width", [40, 100, 250])
def test_bars_and_letters(timeline, path, found, zero, width):
    low, high = min(s["begin"] for s in found), max(s["end"] for s in found)
    columns = width - LABEL - TAIL
    step = (high - low) // columns + 1
    window = ["--from", str(low), "--to", str(low + step * columns)]
    lines = timeline("--width", str(width), *window, path).splitlines()
    threads = list(dict.fromkeys(s["thread_id"] for s in found))
    assert lines[1] == "node 3"
    legend = dict((l.split()[0], l.split(None, 1)[1]) for l in lines[3 + 2 * len(threads):])
    assert all(len(l) <= width for l in lines[2:3 + 2 * len(threads)])
    rows = {lines[i][:LABEL].strip(): (lines[i], lines[i + 1]) for i in range(2, 2 + 2 * len(threads), 2)}
    check_ticks(lines[2 + 2 * len(threads)], columns, low, step, zero)
    assert len(rows) == len(threads)
    for t in threads:
        name = f"thread 0x{t:x}"
        row = rows[name[:LABEL - 3] + ".." if len(name) > LABEL - 1 else name]
        assert len(row[1]) == LABEL + columns
        check_row([s for s in found if s["thread_id"] == t], low, step, row, legend)


def test_range_found_while_reading(timeline, path, found, zero):
    """It has every span and the same sums."""
    low, high = min(s["begin"] for s in found), max(s["end"] for s in found)
    lines = timeline("--width", "140", path).splitlines()
    shares = sorted(float(l[-7:].strip("% ")) for l in lines[2:10:2])
    assert lines[0].startswith("from +") and zero + int(lines[0].split()[1].strip("+s,").replace(".", "")) <= low
    busy = sorted(100 * sum(s["end"] - s["begin"] for s in found if s["thread_id"] == t) / (high - low) for t in {s["thread_id"] for s in found})
    assert all(abs(a - b) < 1 for a, b in zip(shares, busy)), (shares, busy)


def put(path, *file, **more):
    path.write_bytes(m.file(*file, **more))
    return path


def test_hostile_times(timeline, work):
    """And spans that come before those seen first."""
    blocks = [m.block(1, 0, [(10**15, "cb", 1), (10**15 + 100, "ce")]), m.block(2, 0, [(2000, "cb", 2), (10**14, "ce")]),
              m.block(3, 0, [(2**61, "cb", 1), (2**61 + 5, "ce")])]
    names = [(1, b"one"), (2, b"two")]
    lines = timeline("--width", "100", put(work / "wide", blocks, names)).splitlines()
    assert len(lines) == 3 + 6 + 2
    lines = timeline("--width", "100", put(work / "two", blocks[:2], names)).splitlines()
    assert lines[3].strip(". ") == "B" and lines[5].strip(". ").strip("A") == "" and 5 <= lines[5].count("A") <= 9, lines


def test_gpu_work_that_overlaps(timeline, work):
    """It is busy time once: 100-300 and 200-400 are 300 of 400."""
    records = [(50, "cb", 1), (60, "gpu", 9, 1, 100, 300), (70, "gpu", 9, 1, 200, 400), (450, "ce")]
    path = put(work / "gpu", [m.block(1, 0, records)], [(1, b"one")], zero_time=1)
    lines = timeline("--width", "68", "--from", "40", "--to", "440", path).splitlines()
    assert lines[4].startswith("GPU 0x9") and lines[4].endswith(" 75.0%"), lines
    assert lines[4][LABEL:LABEL + 40] == " " * 6 + "@" * 30 + " " * 4, lines


def test_order_of_tracks(rbwp, timeline, work):
    """By process, then by name, numbers as numbers, whichever came first; stats has the same order."""
    paths = []
    for node, ids in ((0, (14, 0, 8, 5, 2, 10)), (1, (3,))):
        blocks = [m.block(i, 0, [(1000 + 10 * at, "cb", 1), (2000 + at, "ce")]) for at, i in enumerate(ids)]
        paths.append(f"{work}/order{node}")

        put(work / f"order{node}", blocks, [(1, b"one")], node=node)
    want = [f"thread 0x{i:x}" for i in sorted((14, 0, 8, 5, 2, 10))] + ["thread 0x3"]
    want = want[:4] + ["thread 0xa", "thread 0xe"] + want[6:]
    lines = timeline(*paths).splitlines()
    assert [l for l in lines if l.startswith("node ")] == ["node 0", "node 1"], lines
    assert [l[:LABEL].strip() for l in lines if l.startswith("thread")] == want, lines
    text = rbwp("stats", "--by", "thread", *paths, env={"LC_ALL": "C"}).text
    assert [l.split("  ")[-2] for l in text.splitlines() if "  thread 0x" in l] == want, text


def test_zeros_before_a_number(timeline, work):
    """They count for nothing, and a zero is a number."""
    lines = ["007 t", "10 t", "t 0", "t 00", "t 1", "t 007", "t 10"]
    events = [{"ph": "M", "name": "thread_name", "pid": 1, "tid": at, "args": {"name": name}} for at, name in enumerate(reversed(lines))]
    events += [{"ph": "X", "name": "x", "pid": 1, "tid": at, "ts": 1, "dur": 1} for at in range(len(lines))]
    (work / "zeros").write_text(json.dumps(events))
    have = [line[:LABEL].strip() for line in timeline(work / "zeros").splitlines()]
    have = [name for name in have if name in lines]
    assert have[:2] + sorted(have[2:4]) + have[4:] == lines, have


def test_cell_with_more_names_than_are_kept(timeline, work):
    """The one with most of the time wins, though others came first and are longer one by one."""
    records, at = [], 1000
    for item, length in [(i, 100) for i in (1, 2, 3, 4)] + [(8, 60)] * 12:
        records += [(at, "cb", item), (at + length, "ce")]
        at += length
    path = put(work / "many", [m.block(1, 0, records)], [(i, b"item %d" % i) for i in range(1, 10)])
    lines = timeline("--width", "68", "--from", "1000", "--to", str(1000 + 40 * 2400), path).splitlines()
    assert lines[3][LABEL] == "A" and [l for l in lines if l.startswith("  A  ")] == ["  A  item 8"], lines


def test_losses(timeline, extended):
    lost = timeline("--width", "90", "--from", "900", "--to", "4100", extended)
    assert lost.startswith("LOST 1234 records\nREFUSED 2 calls\n") and "!" in lost.splitlines()[4] and "\033" not in lost
    assert "\033[31m!\033[0m" in timeline("--color", "always", extended)


def test_blocks_where_the_locale_has_them(timeline, path):
    assert "\u2588" in timeline(path, locale="C.UTF-8") and "\u2588" not in timeline("--ascii", path, locale="C.UTF-8")
    assert timeline(path).isascii()


@pytest.mark.parametrize("name, code, begin", [
    ("empty", 0, "no spans\n"), ("crash_header_only", 0, "no spans\n"), ("crash_killed", 0, "from "), ("gpu_work", 0, "from "),
    ("crash_cut_in_data", 3, ("LOST ", "SKIPPED ")), ("defect_discard_rotate", 3, ("LOST ", "SKIPPED "))])
def test_first_line(timeline, golden, name, code, begin):
    """Without spans there is no time to begin with: it was one before 1970."""
    text = timeline(golden / f"{name}.bin", code=code)
    assert text.startswith(begin) and ("no spans" in begin) == (text == "no spans\n")


def test_files_that_are_none(rbwp, work):
    (work / "empty").touch()
    (work / "text").write_text("text\n")
    (work / "no_files").mkdir()
    for name in ("empty", "text", "no_files", "none"):
        assert not rbwp("timeline", work / name, code=1).in_one_line().out


def test_usage(rbwp, golden):
    gaps = golden / "gaps.bin"
    for words in (["--width", "39", gaps], ["--width", "1001", gaps], ["--width", "x", gaps], ["--width", "99999999999999999999", gaps],
                  ["--color", "x", gaps], []):
        assert not rbwp("timeline", *words, code=2).in_one_line().out
    rbwp("timeline", "--from", "9223372036854775807", gaps, code=1)
    rbwp("timeline", "--from", "0", "--to", "9223372036854775807", gaps)
    rbwp("timeline", "--from", "5", "--to", "4", gaps, code=1)


def waits(path, blocks, sub_items):
    """A file in which some work items and sub-items are known to wait."""
    kinds = struct.pack("<II", 16, 2) + struct.pack("<HHI8x", 9, 4, 1) + struct.pack("<HHI8x", 8, 4, 3) + b"waitwait"
    plain = m.file(blocks, [(5, b"WORK"), (8, b"WAITS")], sub_items)
    path.write_bytes(m.with_trailer(plain, struct.pack("<4sIQ", b"KIND", 0, len(kinds)) + kinds))
    return path


def busy_rows(rbwp, path, columns):
    """Of the view thread_busy in SQLite."""
    base = path.with_suffix(".db")
    rbwp("export", "-o", base, path)
    return sqlite3.connect(base).execute(f"SELECT {columns} FROM thread_busy ORDER BY first_ns, thread").fetchall()


def test_work_that_waits_makes_nobody_busy(rbwp, work):
    """In the timeline as in the sums."""
    path = waits(work / "waits.bin", [
        m.block(1, 0, [(1000, "cb", 5), (1000 + MS, "fb", 9), (1000 + 9 * MS, "fe"), (1000 + 10 * MS, "ce")]),
        m.block(2, 1, [(1000, "cb", 8), (1000 + 10 * MS, "ce")]),
        m.block(3, 2, [(1000, "cb", 5), (1000 + 10 * MS, "ce")]),
    ], [(9, 0, b"wait")])
    threads = rbwp("stats", "--json", path).json["threads"]
    assert [t["busy"] for t in threads] == [2 * MS, 0, 10 * MS]
    shown = rbwp("timeline", "--width", "100", path).lines
    assert [line.split()[-1] for line in shown if line.startswith("thread")] == ["20.0%", "0.0%", "99.9%"]
    assert busy_rows(rbwp, path, "spans, busy_ns, busy_share") == [(1, 2 * MS, 0.2), (0, 0, 0.0), (1, 10 * MS, 1.0)]


def test_work_in_a_wait(rbwp, work):
    """It is work, and a wait in a wait counts once."""
    inner = [(1000, "cb", 8), (2000, "fb", 7), (2500, "fb", 9), (2600, "fe"), (3000, "fe"), (4000, "ce")]
    path = waits(work / "waits.bin", [
        m.block(1, 0, [(1000, "cb", 5), (1100, "fb", 9), (1200, "fb", 9), (1300, "fe"), (1400, "fe"), (1500, "ce"), *[(t + 1000, *r) for t, *r in inner]]),
    ], [(7, 0, b"work"), (9, 0, b"wait")])
    busy = rbwp("stats", "--json", path).json["threads"][0]
    assert busy_rows(rbwp, path, "spans, busy_ns") == [(busy["outermost"], busy["busy"])]
