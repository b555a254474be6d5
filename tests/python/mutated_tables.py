#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutated_tables.py RBWP-DUMP RBWP: tables that cannot be, and that random bytes were put into.

Guards: both readers leave out the same blocks by the same rules, R44-R49, and read the same cells in all the others;
rbwp check names what the second reader does. The first files have one lie each, those that a hostile writer
would think of; the others have bytes of their table blocks changed at random, always the same ones.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import compare
import rbwp_reader
from make_rbwp import T0, finalised, opaque
from test_tables import names, numbers, rows, schema, varint

RANDOM_FILES = 120
TABLE_RULES = {f"R{number}" for number in range(44, 50)}
COLUMNS = ((4, 1, 0, b"at", b""), (5, 2, 0, b"for", b""), (6, 4, 0, b"what", b""), (2, 7, 0, b"depth", b"1/s"),
           (3, 0, 0, b"share", b""), (8, 0, 0, b"note", b""), (7, 12, 1, b"in", b""), (7, 0, 2, b"of", b""))
DELTA = (2, b"".join(varint(step) for step in (2 * T0, 20, 9)))
PARTS = (4, varint(2) + varint((1 << 64) - 1) + varint(7) + bytes([0, 1, 0]))
HALVES = (0, struct.pack("<3d", 0.5, -1.5, 0.1))
NOTES = (5, varint(2) + varint(0) + varint(3) + b"\xffabcd")


def block(first, **others):
    columns = [DELTA, (3, varint(9)), numbers(2, 1, 0), PARTS, HALVES, NOTES, numbers(0, first, 0), numbers(0, 1, 2)]
    for at, column in others.items():
        columns[int(at[1:])] = column
    return rows(first, columns, 3, times=(T0, T0 + 10))


GOOD = [names(1, b"copy", b"fl\xc3\xbcsh"), schema(2, name=b"other"), rows(1, [numbers(5, 6)], 2, table=2),
        schema(columns=COLUMNS, name=b"work"), block(1)]
END = [block(101), names(40, b"later"), block(201, c2=numbers(40, 3, 2))]
MANY = (1 << 32) - 1

LIES = {
    "R44": [schema(3, columns=((kind, 0, of, b"a", b""),)) for kind, of in ((0, 0), (9, 0), (255, 0), (7, 0), (1, 2))]
    + [schema(3, count=65535), schema(3, columns=()), schema(0), schema(65536), opaque(b"tsch"), opaque(b"tsch" + bytes(11)),
       opaque(b"tsch" + struct.pack("<IHHH2x", 3, 1, 257, 0) + bytes(8 * 257))],
    "R45": [schema(2, name=b"another"), schema(2, version=2, name=b"other")],
    "R46": [schema(3, columns=((7, 0, 4, b"a", b""),)), schema(3, columns=((7, 0, 65535, b"a", b""),))],
    "R47": [names(2, b"again"), names(0, b"zero"), names(3), opaque(b"name" + struct.pack("<II", 3, MANY)), opaque(b"name"),
            opaque(b"name" + struct.pack("<IIII", 3, 2, MANY, 5) + b"abcd")],
    "R48": [block(11, c0=numbers(1, 2)), block(11, c1=(3, varint(9) * 2)), block(11, c2=(3, b"")), block(11, c5=numbers(1, 2, 3)),
            block(11, c3=(4, varint(257) + bytes(300))), block(11, c3=(4, varint(2) + bytes([1, 2]) + bytes([0, 1, 2]))),
            block(11, c3=(4, varint(MANY) + bytes(3))), block(11, c4=(0, bytes(23))), block(11, c4=(6, bytes(24))),
            block(11, c5=(5, varint(MANY) * 3)), block(11, c5=(5, varint(1) * 3 + b"ab")), block(11, c0=(1, b"\xff" * 30)),
            rows(11, [(3, varint(T0))], MANY, times=(T0, T0)), rows(11, [(3, varint(T0))], 1 << 20, times=(T0, T0)),
            rows(11, [(3, varint(T0))], 0, times=(T0, T0)), rows(11, [(3, varint(0))] * 9, 3), rows(11, [], 3, times=(1, 1)),
            rows(11, [DELTA], 3, times=(T0, T0 + 9)), opaque(b"rows"), rows((1 << 64) - 1, [numbers(1, 2)], 2, table=2)],
    "R49": [block(3), block(0), rows(11, [numbers(1)], 1, table=3), rows(11, [numbers(1)], 1, table=MANY),
            block(11, c2=numbers(3, 0, 0)), block(11, c2=(3, varint((1 << 64) - 1))), block(11, c6=numbers(11, 0, 0)),
            block(11, c6=numbers(12, 11, 0)), block(11, c6=(3, varint((1 << 64) - 1))), block(11, c7=numbers(0, 3, 0))],
}


def lies():
    """Each between good blocks, with the rule that it breaks; all of them in one file at the end."""
    every = []
    for rule, bad in LIES.items():
        for one in bad:
            every.append(one)
            yield rule, [*GOOD, one, *END]
    yield None, [*GOOD, *every, *END]


def changed(blocks, source):
    """Bytes behind the tags of some blocks, changed: as chance has it, or to values that are likely to hurt."""
    blocks = [bytearray(one) for one in blocks]
    for _ in range(source.choice((1, 1, 1, 2, 5))):
        one = source.choice(blocks)
        at = source.randrange(36, len(one)) if source.random() < 0.5 else source.randrange(36, min(len(one), 120))
        one[at] = source.choice((0, 1, 5, 0x7F, 0x80, 0xFF, one[at] ^ 1 << source.randrange(8), source.randrange(256)))
    return [bytes(one) for one in blocks]


def rules_of_check(rbwp, path):
    done = subprocess.run([rbwp, "check", "--json", path], capture_output=True, check=False)
    return [(found["rule"], found["offset"]) for found in json.loads(done.stdout)["breaks"]]


def judge(commands, path, blocks):
    """The rules that the file breaks, of which all three say the same."""
    dump, rbwp = commands
    file = finalised(blocks)
    path.write_bytes(file)
    compare.compare_file(dump, str(path))
    parsed = [(problem["rule"], problem["offset"]) for problem in rbwp_reader.parse(file)["problems"]]
    checked = rules_of_check(rbwp, str(path))
    assert parsed == checked, f"the reader finds {parsed}, rbwp check {checked}"
    return [rule for rule, _ in parsed]


def main(dump, rbwp):
    source, seen, whole = random.Random(9), set(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "file.bin"
        assert judge((dump, rbwp), path, GOOD + END) == []
        for rule, blocks in lies():
            found = judge((dump, rbwp), path, blocks)
            assert rule in (*found, None) and set(found) <= TABLE_RULES, f"{rule} expected, {found} found"
        for number in range(RANDOM_FILES):
            try:
                found = judge((dump, rbwp), path, changed(GOOD + END, source))
            except (compare.Difference, AssertionError) as difference:
                sys.exit(f"file {number} of those with random bytes: {difference}")
            seen.update(found)
            whole += not found
    assert seen >= TABLE_RULES - {"R46"} and 0 < whole < RANDOM_FILES / 2, (seen, whole)
    print(f"{RANDOM_FILES} files with random bytes, {whole} of them whole; rules broken: {sorted(seen)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
