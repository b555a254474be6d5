#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The second worked example of SPEC.md (section 13.2): its bytes, and as the text shows them.

usage: make_example.py       prints the dump and the table of what is where
"""

import struct

import make_rbwp as m
from test_tables import names, numbers, rows, schema, varint

ZERO = m.T0
THREAD_1, THREAD_2 = 0x1001, 0x1002


def zigzag(value):
    return value << 1 if value >= 0 else -value * 2 - 1


def deltas(*values):
    before, out = 0, b""
    for value in values:
        out += varint(zigzag(value - before))
        before = value
    return 2, out


def thread_info(thread, records, name):
    return struct.pack("<QQqqQH6x", thread, thread - 0x1000 + 500, ZERO, 0, records, len(name)), name


def blocks():
    """(bytes, what they are) of each block, in the order of the file."""
    at = ZERO + 1000
    later = [m.begin(m.ts8(at + 10_000), 1), m.end(m.ts8(at + 9_000)), m.begin(m.ts2(2_000), 1), m.end(m.ts4(40_000))]
    calls = [m.begin(m.ts8(at), 1), m.fine_begin(m.ts2(100), 5), m.fine_end(m.ts2(200)), m.end(m.ts2(50))]
    calls += [m.begin(m.ts2(100), 1), m.end(m.ts2(100))] * 20
    gpu = [m.begin(m.ts8(at + 500), 2), m.gpu_work(m.ts2(700), 0x1D00000000000003, 2, at + 600, at + 1150), m.end(m.ts2(5))]
    depth = rows(1, [deltas(at, at + 100, at + 90), numbers(3, 4, 300)], 3, table=1, times=(at, at + 100))
    job = rows(1, [deltas(at + 100, at + 300), (3, varint(200)), numbers(1, 0), numbers(2, 3), (5, varint(3) + varint(0) + b"a/b")],
               2, table=2, times=(at + 100, at + 300))
    columns = ((4, 1, 0, b"start", b""), (5, 2, 0, b"ran", b""), (6, 4, 0, b"what", b""), (7, 0, 1, b"at_depth", b""),
               (8, 0, 0, b"path", b""))
    return [
        (m.block(later, base=at + 10_000, thread=THREAD_1, sequence=1),
         "block of thread 1001, sequence 1: 4 records, which follow those of sequence 0 (at 00b6). The second one, "
         "`d7 97 9c fe 36 2a 27 10` `02`, is 1000 ns before the first, so it has the 8-byte form: COARSE_END"),
        (schema(1, ((4, 1, 0, b"at", b""), (1, 7, 0, b"depth", b"jobs")), b"queue_depth"),
         "`tsch`: table 1, \"queue_depth\", version 1: at, a time, role 1 (start); depth, u64 in jobs, role 7 (counter)"),
        (m.block(calls, base=at, thread=THREAD_1, sequence=0, compress=True),
         "block of thread 1001, sequence 0: 44 records, 161 bytes of data (`a1 00 00 00`) in a zlib stream of {stored}"),
        (names(1, b"copy"), "`name`: number 1 is \"copy\""),
        (schema(2, columns, b"job"),
         "`tsch`: table 2, \"job\": start, ran (a duration, role 2: stop), what (a name, role 4), at_depth (a row of table 1), path (bytes)"),
        (depth, "`rows` of table 1, 3 of them from number 1 on. Column 0 has code 2: the second time is 100 ns after the first, "
         "the third one 10 ns before that, zigzag 19 = `13`. Column 1 has code 1: 3, 4, 300 = `ac 02`"),
        (job, "`rows` of table 2: code 3, all ran for 200 ns = `c8 01`; names 1 and none; rows 2 and 3 of table 1; code 5, paths of 3 bytes and 0"),
        (m.block(gpu, base=at + 500, thread=THREAD_2, sequence=7),
         "block of thread 1002, sequence 7, 3 records: `02 bc` `21`, 700 ns into a call of slot 2, is GPU_WORK: processor "
         "1d00000000000003, slot 2, start, and stop 550 ns behind it"),
        (m.opaque(b"xdemready"), "a private opaque block: what is in it only its program knows"),
    ]


def pieces():
    """(bytes, what they are), from the first to the last byte."""
    made = blocks()
    items = m.work_item(1, b"flush") + m.work_item(2, b"gpu")
    subs = m.sub_item(5, 1, b"dma")
    body = b"".join(block for block, _ in made)
    end = m.HEADER_BYTES + len(body)
    head = m.header(end, 2, 1, zero=ZERO)
    file = head + body + items + subs
    out = [(head, f"header: level 2, 2 work items, 1 sub-item, tables at {end:04x}")]
    out += [(block, text.format(stored=len(block) - 32)) for block, text in made]
    out.append((items + subs, "slot 1 is \"flush\", slot 2 \"gpu\"; sub-item 5 is \"dma\""))
    for section, text in sections(file, made, end):
        out.append((section, text))
    trailer = b"".join(part for part, _ in out)[len(file):]
    out.append((m.footer(len(file), trailer), f"footer: trailer at {len(file):04x}, {len(trailer)} bytes"))
    return out


def sections(file, made, end):
    starts = [36]
    for block, _ in made:
        starts.append(starts[-1] + len(block))
    threads = [thread_info(THREAD_1, 48, b"worker"), thread_info(THREAD_2, 3, b"")]
    at = ZERO + 1000
    whole = m.index_entry(file, 36, end - 36, 51, at, at + 51_000, 0, len(made))
    size = [len(block) for block, _ in made]

    def span(first, last, table, count, first_row, last_row, times=(0, 0), numbers_of=None):
        inside = [size[i] for i in numbers_of]
        return m.table_range(starts[first], starts[last + 1] - starts[first], table, len(inside), count, first_row,
                             last_row, times, 0, sum(inside))

    ranges = [span(1, 5, 1, 3, 1, 3, (at, at + 100), (1, 5)), span(3, 3, 0, 1, 1, 1, (0, 0), (3,)),
              span(4, 6, 2, 2, 1, 2, (at + 100, at + 300), (4, 6))]
    return [
        (m.section(b"WRIT", b"demo"), "section WRIT"),
        (m.table_section(b"THRD", [entry for entry, _ in threads], 48, b"".join(name for _, name in threads)),
         "section THRD: two entries of 48 bytes, then their names, \"worker\" and none"),
        (m.tabl(file, end, 2, 1), "section TABL"),
        (m.table_section(b"INDX", [whole], 56),
         "section INDX: one range, 9 blocks with 51 records of several threads; its smallest time is in the third block"),
        (m.table_section(b"TIDX", ranges, 80),
         "section TIDX: table 1 from its schema to its rows, with other blocks between them; names; table 2"),
        (m.section(b"xdem", b"\x07"), "a section of a program's own"),
    ]


def example():
    return b"".join(part for part, _ in pieces())


def main():
    file = example()
    for at in range(0, len(file), 16):
        row = file[at:at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        print(f"{at:04x}  {row.hex(' '):47}  |{text}|")
    print("\n| file offset | bytes | what |\n|---|---|---|")
    at = 0
    for part, text in pieces():
        print(f"| {at:04x} | {len(part)} | {text} |")
        at += len(part)


if __name__ == "__main__":
    main()
