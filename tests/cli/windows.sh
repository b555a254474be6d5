# SPDX-License-Identifier: Apache-2.0
# Time windows by a file's marks (SPEC.md, 10.18) are what the whole file gives: of what was open when they began, lasts
# through them, ends behind them or never; of GPU work, tables and threads that come or go. Only the parts that they need are
# read, damage in these is told as ever, and marks that are wrong or another file's are found by rbwp check and not believed.
. "$(dirname "$0")/lib.sh"
times=$("$MAKE_WINDOWS" "$work/marked.rbwp" 120) || fail "make_windows"

"$PYTHON" - "$RBWP" "$here" "$work" $times <<'P' || fail "windows"
import os, random, re, struct, subprocess, sys

rbwp, here, work, begin, end = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
sys.dont_write_bytecode = True
sys.path[:0] = [here, os.path.join(here, "..", "python")]
import rbwp_make as m
import rbwp_reader


def run(folder, *args):
    done = subprocess.run([rbwp, *args], capture_output=True, cwd=folder)
    return done.returncode, done.stderr, done.stdout


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


def write(name, file):
    os.makedirs(os.path.dirname(f"{work}/{name}"), exist_ok=True)
    with open(f"{work}/{name}", "wb") as out:
        out.write(file)


def both(name, file):
    """The same file by its marks, and without them."""
    write(f"by/{name}", file)
    write(f"whole/{name}", changed(file, b"MARK", -24, "4s", b"xARK"))


# ---- marks that are wrong ----
T = 10**18
one = [m.block(1, 0, [(T, "cb", 1), (T + 1, "fb", 2)]), m.block(2, 1, [(T + 2, "gpu", 5, 1, T - 9, T + 1)]),
       m.block(1, 2, [(T + 3, "fe"), (T + 4, "ce")])]
plain = m.file(one, [(1, b"one")], [(2, 0, b"two")], zero_time=T)
ends = [36 + sum(map(len, one[:i])) for i in range(4)]
index = [struct.pack("<QQQqqQII", a, b - a, *v, 1, m.crc32c(plain[a:b])) for a, b, v in
         zip(ends, ends[1:], ((2, T, T + 1, 1), (1, T + 2, T + 2, 2), (2, T + 3, T + 4, 1)))]
opened = [struct.pack("<QqHB5x", 1, *item) for item in ((T, 1, 1), (T + 1, 2, 17))] * 2
marks = [struct.pack("<QIIQqq", at, m.crc32c(plain[36:at]), count, *gpu) for at, count, gpu in
         zip(ends, (0, 2, 2, 0), ((0, 0, 0), (1, T - 9, T + 1), (0, 0, 0), (0, 0, 0)))]
first = [struct.pack("<QQqq", 1, ends[0], T, T + 4), struct.pack("<QQqq", 2, ends[1], T + 2, T + 2)]


def made():
    return m.with_trailer(plain, m.table_section(b"INDX", index), m.table_section(b"MARK", marks),
                          m.table_section(b"OPEN", opened), m.table_section(b"FRST", first))


def expect(name, file, *rules):
    write("wrong.bin", file)
    code, _, out = run(work, "check", "wrong.bin")
    found = [problem["rule"] for problem in rbwp_reader.parse(file)["problems"]]
    assert found == list(rules), (name, found)
    assert code == (3 if rules else 0) and all(f"SPEC.md {rule})".encode() in out for rule in rules), (name, code, out)


good = made()
expect("good", good)
expect("other sum", changed(good, b"MARK", 40 + 8, "<I", 5), "R68")
expect("other place", changed(good, b"MARK", 40, "<Q", ends[1] + 1), "R68")
expect("of another file", changed(good, b"MARK", 120 + 8, "<I", 5))
expect("other begin", changed(good, b"OPEN", 8, "<q", T + 1), "R69")
expect("other count", changed(good, b"MARK", 40 + 12, "<I", 1), "R69")
expect("other GPU work", changed(good, b"MARK", 40 + 24, "<q", T), "R70")
expect("other first block", changed(good, b"FRST", 32 + 8, "<Q", ends[2]), "R72")
expect("other last time", changed(good, b"FRST", 24, "<q", T + 3), "R72")
for at, layout in ((40, "<Q"), (52, "<I"), (56, "<Q"), (64, "<q")):
    for value in (0, 1, 2**31 - 1, T):
        if value < 2**32 or layout != "<I":
            both("wild.bin", changed(changed(good, b"MARK", at, layout, value), b"OPEN", 0, "<Q", value))
            assert run(f"{work}/by", "stats", "--from", str(T + 3), "wild.bin")[0] in (0, 1)

# ---- windows ----
whole = open(f"{work}/marked.rbwp", "rb").read()
code, _, out = run(work, "check", "marked.rbwp")
assert code == 0, out
count = struct.unpack_from("<I", whole, dict(sections(whole))[b"MARK"] + 20)[0]
assert count > 3, f"{count} marks"
both("f.bin", whole)


def lines(args, out):
    """In order: tracks may come in another one, and have numbers by it. Without the numbers of spans, which rows of tables share."""
    rows = out.splitlines()
    if "csv" in args and rows:
        cells = [row.split(b",") for row in rows]
        numbers = [i for i, cell in enumerate(cells[0]) if cell in (b"id", b"parent", b"launch_span")]
        rows = [b",".join(cell for i, cell in enumerate(row) if i not in numbers) for row in cells]
    return sorted(re.sub(rb'("rbwp_track"|"rbwp_parent"|"sort_index"):\d+|("tid"):4194\d{3}', rb"\1\2", row) for row in rows)


def same(*args):
    one, other = run(f"{work}/by", *args, "f.bin"), run(f"{work}/whole", *args, "f.bin")
    assert one[:2] == other[:2], (args, one[:2], other[:2])
    ours, theirs = lines(args, one[2]), lines(args, other[2])
    assert ours == theirs, (args, sorted(set(ours) - set(theirs))[:3], sorted(set(theirs) - set(ours))[:3])
    return one


chance = random.Random(7)
commands = (("stats", "--json"), ("export", "-t", "chrome"), ("report", "--json"), ("timeline",), ("export", "-t", "csv"))
for i in range(12):
    from_ns = chance.randrange(begin, end)
    until_ns = from_ns + (end - begin) // chance.choice((7, 50, 1000))
    window = ("--from", str(from_ns), "--until", str(until_ns))
    same(*commands[i % len(commands)], *(window[:2] if i == 5 else window[2:] if i == 6 else window),
         *(("--thread", "late") if i == 7 else ("--min-duration", "9us") if i == 8 else ()))

# ---- what is read: one thread, whose calls go from block to block ----
blocks = [m.block(1, i, [(T + 100 * i + 1, "ce")] * (i > 0) + [(T + 100 * i + 2, "cb", 1), (T + 100 * i + 50, "ce"),
                         (T + 100 * i + 60, "cb", 1)]) for i in range(40)]
plain = m.file(blocks, [(1, b"one")], zero_time=T)
ends = [36 + sum(map(len, blocks[:i])) for i in range(41)]
index = [struct.pack("<QQQqqQII", a, b - a, 3 + (i > 0), T + 100 * i + 1 + (i == 0), T + 100 * i + 60, 1, 1, m.crc32c(plain[a:b]))
         for i, (a, b) in enumerate(zip(ends, ends[1:]))]
opened = [struct.pack("<QqHB5x", 1, T + 100 * i + 60, 1, 1) for i in range(40)]
marks = [struct.pack("<QIIQqq", at, m.crc32c(plain[36:at]), i > 0, 0, 0, 0) for i, at in enumerate(ends)]
first = [struct.pack("<QQqq", 1, 36, T + 2, T + 3960)]
file = made()
expect("calls", file)
both("f.bin", file)
window = ("export", "-t", "csv", "--from", "+3000ns", "--until", "+3030ns")
rows = same(*window)[2].splitlines()
assert len(rows) == 3 and rows[1].startswith(b"%d,41," % (T + 2960)), rows
late = same(*window[:-1], "+3065ns")[2].splitlines()
assert late[-1].startswith(b"%d,41," % (T + 3060)), late
for at, code in ((ends[5], 0), (ends[35], 0), (ends[29], 0), (ends[30], 3)):
    damaged = bytearray(file)
    damaged[at + 32:at + 40] = b"\xff" * 8
    both("f.bin", bytes(damaged))
    by, whole = run(f"{work}/by", *window, "f.bin"), run(f"{work}/whole", *window, "f.bin")
    assert (by[0], whole[0]) == (code, 3), (at, by)
    assert code or by[2].splitlines() == rows, by
    assert not code or by == whole, (by, whole)

# GPU work of slot 0 belongs to the call before it, however far before the window that began.
blocks = [m.block(1, i, [(T + 100 * i + 1, "ce")] * (i > 0) + [(T + 100 * i + 60, "cb", 5 * (i > 0))]) for i in range(39)]
blocks.append(m.block(1, 39, [(T + 3901, "ce"), (T + 3902, "gpu", 5, 0, T + 3905, T + 3990)]))
plain = m.file(blocks, [(0, b"zero")], zero_time=T)
ends = [36 + sum(map(len, blocks[:i])) for i in range(41)]
index = [struct.pack("<QQQqqQII", a, b - a, 1 + (i > 0), T + 100 * i + (1 if i else 60), T + 100 * i + (60 if i < 39 else 2), 1, 1, m.crc32c(plain[a:b]))
         for i, (a, b) in enumerate(zip(ends, ends[1:]))]
opened = [struct.pack("<QqHB5x", 1, T + 100 * i + 60, 5 * (i > 0), 1) for i in range(39)]
marks = [struct.pack("<QIIQqq", at, m.crc32c(plain[36:at]), 0 < i < 40, *((1, T + 3905, T + 3990) if i == 39 else (0, 0, 0))) for i, at in enumerate(ends)]
first = [struct.pack("<QQqq", 1, 36, T + 60, T + 3902)]
zero = made()
expect("slot 0", zero)
both("f.bin", zero)
launched = [row for row in same("export", "-t", "ndjson", "--from", "+3900ns")[2].splitlines() if b'"gpu"' in row]
assert len(launched) == 1 and b'"launch_ns":%d' % (T + 60) in launched[0], launched
P
finish
