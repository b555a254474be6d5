# SPDX-License-Identifier: Apache-2.0
"""Time windows by a file's marks (SPEC.md, 10.18) are what the whole file gives: of what was open when they began, lasts
through them, ends behind them or never; of GPU work, tables and threads that come or go. Only the parts that they need are
read, damage in these is reported as ever, and marks that are wrong or another file's are found by rbwp check and not believed."""
import random
import re
import struct

import pytest
import rbwp_make as m
import rbwp_reader

T = 10**18


def sections(file):
    at, size = struct.unpack_from("<QQ", file, len(file) - 32)
    end = at + size
    while at < end:
        tag, _, length = struct.unpack_from("<4sIQ", file, at)
        yield tag, at
        at += 16 + length


def changed(file, tag, at, layout, value):
    """With another value in the first entry of a section (or its tag, at -24), and the right sum."""
    file = bytearray(file)
    struct.pack_into(layout, file, dict(sections(file))[tag] + 24 + at, value)
    first, size = struct.unpack_from("<QQ", file, len(file) - 32)
    struct.pack_into("<I", file, len(file) - 16, rbwp_reader.crc32c(file[first:first + size]))
    return bytes(file)

class Made:
    """A file of these blocks with marks, of which some are open; `ends` are where blocks begin and the last one ends."""

    def __init__(self, blocks, items, index, opened, marks, first):
        plain, ends = m.file(blocks, *items, zero_time=T), [36 + sum(map(len, blocks[:i])) for i in range(len(blocks) + 1)]
        rows = [struct.pack("<QQQqqQII", a, b - a, *entry, 1, m.crc32c(plain[a:b])) for a, b, entry in zip(ends, ends[1:], index)]
        marks = [struct.pack("<QIIQqq", at, m.crc32c(plain[36:at]), *mark) for at, mark in zip(ends, marks)]
        first = [struct.pack("<QQqq", thread, ends[block], *times) for thread, block, *times in first]
        self.ends, self.file = ends, m.with_trailer(plain, m.table_section(b"INDX", rows), m.table_section(b"MARK", marks),
                                                    m.table_section(b"OPEN", [struct.pack("<QqHB5x", 1, *item) for item in opened]),
                                                    m.table_section(b"FRST", first))


NONE = 0, 0, 0  # no GPU work
SMALL = Made([m.block(1, 0, [(T, "cb", 1), (T + 1, "fb", 2)]), m.block(2, 1, [(T + 2, "gpu", 5, 1, T - 9, T + 1)]),
              m.block(1, 2, [(T + 3, "fe"), (T + 4, "ce")])],
             ([(1, b"one")], [(2, 0, b"two")]), [(2, T, T + 1, 1), (1, T + 2, T + 2, 2), (2, T + 3, T + 4, 1)], [(T, 1, 1), (T + 1, 2, 17)] * 2,
             [(0, *NONE), (2, 1, T - 9, T + 1), (2, *NONE), (0, *NONE)], [(1, 0, T, T + 4), (2, 1, T + 2, T + 2)])
# One thread, whose calls go from block to block.
CALLS = Made([m.block(1, i, [(T + 100 * i + 1, "ce")] * (i > 0) + [(T + 100 * i + 2, "cb", 1), (T + 100 * i + 50, "ce"), (T + 100 * i + 60, "cb", 1)])
              for i in range(40)], ([(1, b"one")],), [(3 + (i > 0), T + 100 * i + 1 + (i == 0), T + 100 * i + 60, 1) for i in range(40)],
             [(T + 100 * i + 60, 1, 1) for i in range(40)], [(i > 0, *NONE) for i in range(41)], [(1, 0, T + 2, T + 3960)])
SLOT_0 = Made([m.block(1, i, [(T + 100 * i + 1, "ce")] * (i > 0) + [(T + 100 * i + 60, "cb", 5 * (i > 0))]) for i in range(39)]
              + [m.block(1, 39, [(T + 3901, "ce"), (T + 3902, "gpu", 5, 0, T + 3905, T + 3990)])], ([(0, b"zero")],),
              [(1 + (i > 0), T + 100 * i + (1 if i else 60), T + 100 * i + (60 if i < 39 else 2), 1) for i in range(40)],
              [(T + 100 * i + 60, 5 * (i > 0), 1) for i in range(39)],
              [(0 < i < 40, *((1, T + 3905, T + 3990) if i == 39 else NONE)) for i in range(41)], [(1, 0, T + 60, T + 3902)])


class Windows:
    """The same file by its marks, and without them."""

    def __init__(self, rbwp, folder):
        self.rbwp, self.by, self.whole = rbwp, folder / "by", folder / "whole"
        self.by.mkdir()
        self.whole.mkdir()

    def write(self, file):
        (self.by / "f.bin").write_bytes(file)
        (self.whole / "f.bin").write_bytes(changed(file, b"MARK", -24, "4s", b"xARK"))

    def run(self, *args):
        return [self.rbwp(*args, "f.bin", cwd=folder, code=None) for folder in (self.by, self.whole)]

    def same(self, *args):
        one, other = self.run(*args)
        assert (one.code, one.err) == (other.code, other.err)
        assert one.out or one.code
        assert lines(args, one.out) == lines(args, other.out)
        return one


@pytest.fixture
def windows(rbwp, work):
    return Windows(rbwp, work)


def lines(args, out):
    """In order: tracks may come in another one, and have numbers by it. Without the numbers of spans, which rows of tables share."""
    rows = out.splitlines()
    if "csv" in args and rows:
        cells = [row.split(b",") for row in rows]
        numbers = [i for i, cell in enumerate(cells[0]) if cell in (b"id", b"parent", b"launch_span")]
        rows = [b",".join(cell for i, cell in enumerate(row) if i not in numbers) for row in cells]
    return sorted(re.sub(rb'("rbwp_track"|"rbwp_parent"|"sort_index"):\d+|("tid"):4194\d{3}', rb"\1\2", row) for row in rows)


@pytest.mark.parametrize("file, rules", [
    pytest.param(SMALL.file, [], id="good"),
    pytest.param(changed(SMALL.file, b"MARK", 40 + 8, "<I", 5), ["R68"], id="other sum"),
    pytest.param(changed(SMALL.file, b"MARK", 40, "<Q", SMALL.ends[1] + 1), ["R68"], id="other place"),
    pytest.param(changed(SMALL.file, b"MARK", 120 + 8, "<I", 5), [], id="of another file"),
    pytest.param(changed(SMALL.file, b"OPEN", 8, "<q", T + 1), ["R69"], id="other begin"),
    pytest.param(changed(SMALL.file, b"MARK", 40 + 12, "<I", 1), ["R69"], id="other count"),
    pytest.param(changed(SMALL.file, b"MARK", 40 + 24, "<q", T), ["R70"], id="other GPU work"),
    pytest.param(changed(SMALL.file, b"FRST", 32 + 8, "<Q", SMALL.ends[2]), ["R72"], id="other first block"),
    pytest.param(changed(SMALL.file, b"FRST", 24, "<q", T + 3), ["R72"], id="other last time"),
    pytest.param(CALLS.file, [], id="calls"), pytest.param(SLOT_0.file, [], id="slot 0")])
def test_check(rbwp, work, file, rules):
    (work / "f.bin").write_bytes(file)
    assert [problem["rule"] for problem in rbwp_reader.parse(file)["problems"]] == rules
    text = rbwp("check", work / "f.bin", code=3 if rules else 0).text
    assert (": good" in text) == (not rules)
    assert all(f"SPEC.md {rule})" in text for rule in rules)


def test_wild_marks(windows):
    for at, layout in ((40, "<Q"), (52, "<I"), (56, "<Q"), (64, "<q")):
        for value in (0, 1, 2**31 - 1, T):
            if value < 2**32 or layout != "<I":
                windows.write(changed(changed(SMALL.file, b"MARK", at, layout, value), b"OPEN", 0, "<Q", value))
                assert windows.run("stats", "--from", str(T + 3))[0].code in (0, 1)


def test_windows_of_a_recording(rbwp, run, program, windows, work):
    path = work / "marked.rbwp"
    begin, end = map(int, run(program("MAKE_WINDOWS"), path, "120").text.split())
    rbwp("check", path)
    whole = path.read_bytes()
    assert struct.unpack_from("<I", whole, dict(sections(whole))[b"MARK"] + 20)[0] > 3
    windows.write(whole)
    chance = random.Random(7)
    commands = (("stats", "--json"), ("export", "-t", "chrome"), ("report", "--json"), ("timeline",), ("export", "-t", "csv"))
    for i in range(12):
        from_ns = chance.randrange(begin, end)
        until_ns = from_ns + (end - begin) // chance.choice((7, 50, 1000))
        window = ("--from", str(from_ns), "--until", str(until_ns))
        windows.same(*commands[i % len(commands)], *(window[:2] if i == 5 else window[2:] if i == 6 else window),
             *(("--thread", "late") if i == 7 else ("--min-duration", "9us") if i == 8 else ()))


def test_what_is_read(windows):
    windows.write(CALLS.file)
    window = ("export", "-t", "csv", "--from", "+3000ns", "--until", "+3030ns")
    rows = windows.same(*window).out.splitlines()
    assert len(rows) == 3 and rows[1].startswith(b"%d,41," % (T + 2960))
    late = windows.same(*window[:-1], "+3065ns").out.splitlines()
    assert late[-1].startswith(b"%d,41," % (T + 3060))
    ends = CALLS.ends
    for at, code in ((ends[5], 0), (ends[35], 0), (ends[29], 0), (ends[30], 3)):
        damaged = bytearray(CALLS.file)
        damaged[at + 32:at + 40] = b"\xff" * 8
        windows.write(bytes(damaged))
        by, whole = windows.run(*window)
        assert (by.code, whole.code) == (code, 3), at
        if code:
            assert (by.err, by.out) == (whole.err, whole.out)
        else:
            assert by.out.splitlines() == rows


def test_work_of_slot_0(windows):
    """It belongs to the call before it, however far before the window that began."""
    windows.write(SLOT_0.file)
    launched = [row for row in windows.same("export", "-t", "ndjson", "--from", "+3900ns").out.splitlines() if b'"gpu"' in row]
    assert len(launched) == 1 and b'"launch_ns":%d' % (T + 60) in launched[0]
