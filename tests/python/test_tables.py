# SPDX-License-Identifier: Apache-2.0
"""Tables (section 9.2): schemas, names and rows as written, and R44-R49, each named while the rest is read."""

import struct
import unittest

import rbwp_reader
from make_rbwp import T0, finalised, opaque, table_range, table_section, with_trailer


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def schema(table=1, columns=((1, 0, 0, b"a", b""),), name=b"t", version=1, count=None):
    fixed = b"".join(struct.pack("<BBHHBx", kind, role, of, len(text), len(unit))
                     for kind, role, of, text, unit in columns)
    names = b"".join(text + unit for *_, text, unit in columns)
    count = len(columns) if count is None else count
    return opaque(b"tsch" + struct.pack("<IHHH2x", table, version, count, len(name)) + fixed + name + names)


def names(first, *texts):
    return opaque(b"name" + struct.pack("<II", first, len(texts)) +
                  b"".join(struct.pack("<I", len(text)) for text in texts) + b"".join(texts))


def rows(first, columns, count, table=1, times=(0, 0), compress=False):
    heads = b"".join(struct.pack("<B3xI", code, len(data)) for code, data in columns)
    head = struct.pack("<IIQqqI4x", table, count, first, *times, len(columns))
    return opaque(b"rows" + head + heads + b"".join(data for _, data in columns), compress=compress)


def numbers(*values):
    return 1, b"".join(map(varint, values))


def parse(*blocks):
    return rbwp_reader.parse(finalised(list(blocks)))


class Tables(unittest.TestCase):
    def test_every_type_and_code(self):
        columns = ((4, 1, 0, b"at", b""), (5, 2, 0, b"for", b""), (6, 4, 0, b"what", b""), (2, 7, 0, b"depth", b"1/s"),
                   (3, 0, 0, b"share", b""), (8, 0, 0, b"note", b""), (7, 12, 1, b"in", b""), (1, 11, 0, b"id", b""))
        delta = b"".join(varint(step) for step in (2 * T0, 20, 9))  # T0, T0 + 10, T0 + 5
        half = struct.pack("<3d", 0.5, -1.5, 0.25)
        words = (5, varint(1) + varint(0) + varint(2) + b"xyz")
        minus = (4, varint(2) + varint((1 << 64) - 1) + varint(7) + bytes([0, 1, 0]))
        block = rows(1, [(2, delta), (3, varint(9)), numbers(2, 1, 0), minus, (0, half), words, numbers(0, 1, 1),
                         numbers(300, 7, 8)], 3, times=(T0, T0 + 10))
        for compressed in (block, rows(4, [numbers(0, 0, 0)], 3, compress=True)):
            self.assertTrue(compressed)
        result = parse(names(1, b"copy", b"flush"), schema(columns=columns, name=b"work"), block)
        self.assertEqual(result["problems"], [])
        self.assertEqual(result["names"], {1: "copy", 2: "flush"})
        [table] = result["schemas"]
        self.assertEqual((table["table"], table["version"], table["name"]), (1, 1, "work"))
        self.assertEqual([(c["name"], c["type"], c["role"], c["unit"]) for c in table["columns"]][3],
                         ("depth", "i64", 7, "1/s"))
        self.assertEqual([row["row"] for row in table["rows"]], [1, 2, 3])
        self.assertEqual([row["values"] for row in table["rows"]],
                         [[T0, 9, 2, -1, 0.5, "x", 0, 300], [T0 + 10, 9, 1, 7, -1.5, "", 1, 7],
                          [T0 + 5, 9, 0, -1, 0.25, "yz", 1, 8]])

    def test_missing_columns_are_zero(self):
        two = ((1, 0, 0, b"a", b""), (8, 0, 0, b"b", b""))
        result = parse(schema(columns=two), rows(5, [numbers(1, 2)], 2, compress=True))
        self.assertEqual(result["problems"], [])
        self.assertEqual(result["schemas"][0]["rows"],
                         [{"row": 5, "values": [1, ""]}, {"row": 6, "values": [2, ""]}])

    def expect(self, rule, bad):
        result = parse(schema(), names(1, b"x"), rows(1, [numbers(1, 2)], 2), bad, rows(3, [numbers(3)], 1))
        self.assertEqual([problem["rule"] for problem in result["problems"]], [rule])
        self.assertEqual([row["row"] for row in result["schemas"][0]["rows"]], [1, 2, 3])

    def test_rules(self):
        self.expect("R44", schema(table=0))
        self.expect("R44", schema(table=2, columns=((9, 0, 0, b"a", b""),)))
        self.expect("R44", schema(table=2, columns=()))
        self.expect("R44", schema(table=2, count=2))
        self.expect("R45", schema(columns=((2, 0, 0, b"a", b""),)))
        self.expect("R46", schema(table=2, columns=((7, 0, 3, b"a", b""),)))
        self.expect("R47", names(1, b"y"))
        self.expect("R47", names(2))
        self.expect("R48", rows(3, [numbers(1)], 2))
        self.expect("R48", rows(3, [], 0))
        self.expect("R48", rows(3, [numbers(1), numbers(1)], 1))
        self.expect("R48", rows(3, [(1, varint(1) + b"\0")], 1))
        self.expect("R48", rows(3, [(6, varint(1))], 1))
        self.expect("R48", rows(3, [(5, varint(0))], 1))
        self.expect("R48", rows(3, [numbers(1)], 1, times=(1, 1)))
        self.expect("R48", rows(3, [(1, b"\xff" * 9 + b"\2")], 1))
        self.expect("R49", rows(1, [numbers(1)], 1, table=7))
        self.expect("R49", rows(2, [numbers(1)], 1))

    def test_references(self):
        for kind, of, cells, rule in ((6, 0, (0, 1), None), (6, 0, (2, 1), "R49"), (7, 1, (1, 2), None),
                                      (7, 1, (3, 0), "R49"), (7, 2, (0, 1), None), (7, 2, (1, 0), "R49")):
            with self.subTest(kind=kind, of=of, cells=cells):
                result = parse(names(1, b"x"), schema(), rows(1, [numbers(5, 6)], 2),
                               schema(table=2, columns=((kind, 0, of, b"r", b""),)),
                               rows(1, [numbers(*cells)], 2, table=2))
                self.assertEqual([problem["rule"] for problem in result["problems"]], [rule] if rule else [])


class IndexOfTables(unittest.TestCase):
    """Section TIDX: R65 and R66. Two tables, names, and one block of no table between them."""

    BLOCKS = [schema(7), rows(1, [numbers(1, 2)], 2, table=7), names(1, b"x"), schema(2), opaque(b"xtst"),
              rows(5, [numbers(9)], 1, table=7), rows(10, [numbers(3)], 1, table=2)]

    def ranges(self):
        """As few as can be: those of tables 7 and 2 lie across each other."""
        at, size = [36], [len(block) for block in self.BLOCKS]
        for one in size:
            at.append(at[-1] + one)
        return [[at[0], at[6] - at[0], 7, 3, 3, 1, 5, (0, 0), 0, size[0] + size[1] + size[5]],
                [at[2], size[2], 0, 1, 1, 1, 1],
                [at[3], at[7] - at[3], 2, 2, 1, 10, 10, (0, 0), 0, size[3] + size[6]]]

    def rules(self, ranges):
        entries = [table_range(*values) for values in ranges]
        result = rbwp_reader.parse(with_trailer(finalised(self.BLOCKS), table_section(b"TIDX", entries, 80)))
        return sorted({problem["rule"] for problem in result["problems"]})

    def test_good(self):
        self.assertEqual(self.rules(self.ranges()), [])
        self.assertEqual(self.rules(self.ranges()[::-1]), [])
        split = self.ranges()
        split[2:] = [[split[2][0], len(self.BLOCKS[3]), 2, 1, 0, 0, 0],
                     [split[2][0] + split[2][1] - len(self.BLOCKS[6]), len(self.BLOCKS[6]), 2, 1, 1, 10, 10]]
        self.assertEqual(self.rules(split), [])

    def test_every_value(self):
        for at, rule in ((0, "R65"), (1, "R65"), (2, "R65"), (3, "R66"), (4, "R66"), (5, "R66"), (6, "R66"), (8, "R66"),
                         (9, "R66")):
            bad = self.ranges()
            bad[0][at] += 1
            self.assertEqual(self.rules(bad), [rule], at)
        for times in ((1, 0), (0, 1)):
            bad = self.ranges()
            bad[0][7] = times
            self.assertEqual(self.rules(bad), ["R66"])

    def test_left_out_and_twice(self):
        for gone in range(3):
            self.assertEqual(self.rules(self.ranges()[:gone] + self.ranges()[gone + 1:]), ["R65"])
        self.assertEqual(self.rules(self.ranges() + self.ranges()[:1]), ["R65"])
        self.assertEqual(self.rules([]), ["R65"])


if __name__ == "__main__":
    unittest.main()
