# SPDX-License-Identifier: Apache-2.0
"""File header and descriptor tables: what is refused, what is reported, what is kept (sections 3, 7, 14)."""

import struct
import unittest

import rbwp_reader
from make_rbwp import PAIR, block, finalised, header, sub_item, work_item

BLOCK = block(PAIR)


def rules(result):
    return [problem["rule"] for problem in result["problems"]]


class Header(unittest.TestCase):
    def test_refused_files(self):
        whole = finalised([BLOCK])
        for rule, file in (("R1", b""), ("R1", whole[:35]), ("R2", b"RBWQ" + whole[4:]),
                           ("R3", finalised([BLOCK], version=2)), ("R4", finalised([BLOCK], flags=0x0100)),
                           ("R4", finalised([BLOCK], flags=0x8000))):
            result = rbwp_reader.parse(file)
            self.assertEqual((rules(result), result["blocks"]), ([rule], []))
            self.assertTrue(result["refused"])
            self.assertRaises(rbwp_reader.Refused, rbwp_reader.parse_strict, file)

    def test_ignored_flags(self):
        result = rbwp_reader.parse(finalised([BLOCK], flags=0x00FE))
        self.assertEqual((rules(result), result["header"]["flags"], result["block_count"]), ([], 0x00FE, 1))

    def test_fields_at_their_limits(self):
        result = rbwp_reader.parse(header(node=0xFFFFFFFF, zero=-(1 << 63)))
        self.assertEqual((result["header"]["node_id"], result["header"]["zero_time"]), (0xFFFFFFFF, -(1 << 63)))

    def test_r5_keeps_the_blocks(self):
        for offset in (1, 35, 1 << 20, (1 << 64) - 1):
            result = rbwp_reader.parse(finalised([BLOCK], descriptor_offset=offset))
            self.assertEqual((rules(result), result["block_count"], result["finalized"]), (["R5"], 1, True))

    def test_r6_counts_are_ignored(self):
        result = rbwp_reader.parse(header(items=3) + BLOCK)
        self.assertEqual((rules(result), result["block_count"], result["work_items"]), (["R6"], 1, []))

    def test_older_layout(self):
        """Erratum E3; and a cut file whose offset merely looks like a short table entry is not taken for one."""
        older = header(items=1)[:28] + work_item(3, b"flush") + bytes(40)
        self.assertEqual(rules(rbwp_reader.parse(older)), ["E3"])
        whole = finalised([BLOCK], [work_item(3, b"flush")])
        self.assertEqual(whole[28], len(whole) - 9)  # reads as slot 81, a name of 0 bytes
        self.assertEqual(rules(rbwp_reader.parse(whole[:60])), ["R5", "R10"])


class Tables(unittest.TestCase):
    def parse(self, items=(), subs=(), **fields):
        return rbwp_reader.parse(finalised([BLOCK], items, subs, **fields))

    def test_names_of_any_bytes(self):
        longest = b"n" * 65535
        result = self.parse([work_item(255, b""), work_item(0, longest)], [sub_item(65535, 3, b"\0\xff")])
        self.assertEqual(rules(result), [])
        self.assertEqual([item["name"] for item in result["work_items"]], ["", longest.decode()])
        self.assertEqual(result["sub_items"], [{"id": 65535, "type": 3, "type_name": "GPU_REAP", "name": "\0\udcff"}])

    def test_other_types_are_kept(self):
        self.assertEqual(self.parse(subs=[sub_item(1, 200, b"x")])["sub_items"], [{"id": 1, "type": 200, "name": "x"}])

    def test_r30_keeps_the_entries_before_the_break(self):
        result = self.parse([work_item(1, b"one"), work_item(2, b"two")[:-1]])
        self.assertEqual((rules(result), result["work_items"]), (["R30"], [{"slot": 1, "name": "one"}]))
        result = self.parse([work_item(1, b"one")], [sub_item(2, 0, b"two"), sub_item(3, 0, b"")[:-1]])
        self.assertEqual((rules(result), len(result["work_items"]), len(result["sub_items"])), (["R30"], 1, 1))
        self.assertEqual(result["block_count"], 1)

    def test_r31_counts(self):
        result = self.parse([work_item(n & 0xFF, b"") for n in range(65537)])
        self.assertEqual((rules(result), result["block_count"]), (["R31"], 1))

    def test_r32_to_r34(self):
        result = self.parse([work_item(300, b"a"), work_item(1, b"b"), work_item(1, b"c")],
                            [sub_item(5, 0, b"d"), sub_item(5, 1, b"e")])
        self.assertEqual(rules(result), ["R32", "R33", "R34"])
        self.assertEqual(len(result["work_items"] + result["sub_items"]), 5)

    def test_r35_other_bytes_behind(self):
        result = self.parse(behind=b"more")
        self.assertEqual((rules(result), result["block_count"]), (["R35"], 1))
        self.assertEqual(rules(rbwp_reader.parse(header(36) + b"RBWP.END")), ["R50"])

    def test_strict_reader_does_not_look_behind(self):
        file = finalised([BLOCK], [work_item(1, b"one")], behind=struct.pack("<Q", 1) * 9)
        self.assertEqual(rbwp_reader.parse_strict(file)["work_items"], [{"slot": 1, "name": "one"}])


if __name__ == "__main__":
    unittest.main()
