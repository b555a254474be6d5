# SPDX-License-Identifier: Apache-2.0
"""Block rules, opaque blocks, and the way back to whole blocks behind damage (sections 4, 8 and 9)."""

import struct
import unittest
import zlib

import rbwp_reader
from make_rbwp import PAIR, T0, begin, block, end, finalised, fine_begin, header, opaque, ts2, ts8

GOOD = block(PAIR, sequence=1)
PAIR_BYTES = b"".join(PAIR)


def rules(result):
    return [problem["rule"] for problem in result["problems"]]


class BlockRules(unittest.TestCase):
    def expect(self, rule, bad, behind=GOOD):
        """The bad block breaks this rule and is left out; the good one behind it is found."""
        result = rbwp_reader.parse(finalised([bad, behind]))
        self.assertEqual(rules(result), [rule])
        self.assertEqual(result["problems"][0]["offset"], 36)
        self.assertEqual([b["sequence"] for b in result["blocks"]], [1])
        self.assertEqual(result["block_count"], 1)
        self.assertEqual(result["record_count"], 2)

    def test_r10_header_does_not_fit(self):
        result = rbwp_reader.parse(finalised([GOOD, bytes(31)]))
        self.assertEqual((rules(result), result["block_count"], result["incomplete_tail"]), (["R10"], 1, None))

    def test_r11_payload_does_not_fit(self):
        self.expect("R11", block(PAIR_BYTES, count=2000, data_size=8000))

    def test_r12_sizes(self):
        self.expect("R12", block(PAIR_BYTES, count=1 << 20, data_size=(16 << 20) + 1))
        self.expect("R12", block(PAIR_BYTES, count=2, stored_size=(16 << 20) + 1))

    def test_r13_count_and_size(self):
        self.expect("R13", block(PAIR_BYTES, count=5))
        self.expect("R13", block(bytes(35), count=1))

    def test_r14_impossible_expansion(self):
        self.expect("R14", block(bytes(10), count=1000, data_size=10321, stored_size=10))

    def test_r15_zlib(self):
        packed = zlib.compress(PAIR_BYTES)
        wrong_sum = packed[:-1] + bytes([packed[-1] ^ 1])
        for name, payload, data_size in (("no zlib", b"\xff" * 20, 13), ("sum", wrong_sum, 13), ("more", packed, 12),
                                         ("less", packed, 14), ("rest", packed + b"\0", 13),
                                         ("raw deflate", packed[2:-4], 13), ("cut", packed[:-1], 13)):
            with self.subTest(name):
                self.expect("R15", block(payload, count=2, data_size=data_size, stored_size=len(payload)))

    def test_r16_count(self):
        self.expect("R16", block(PAIR_BYTES, count=1))
        self.expect("R16", block(PAIR_BYTES, count=3))

    def test_r18_cut_record(self):
        for bytes_there, count in ((4, 1), (7, 1), (8, 1), (9, 1), (11, 2), (12, 2)):
            self.expect("R18", block(PAIR_BYTES[:bytes_there], count=count))

    def test_r20_twice(self):
        result = rbwp_reader.parse(finalised([GOOD, GOOD, opaque(b"note"), opaque(b"note")]))
        self.assertEqual((rules(result), result["block_count"], result["opaque_block_count"]), (["R20"], 4, 2))

    def test_r21_turns(self):
        result = rbwp_reader.parse(finalised([block([begin(ts8(T0)), begin(ts2(1))])]))
        self.assertEqual((rules(result), result["block_count"]), (["R21"], 1))
        straddling = [block([end(ts8(T0)), begin(ts2(1))])]
        self.assertEqual(rules(rbwp_reader.parse(finalised(straddling))), [])

    def test_r22_level(self):
        blocks = [block([fine_begin(ts8(T0))])]
        self.assertEqual(rules(rbwp_reader.parse(finalised(blocks, flags=0))), ["R22"])
        self.assertEqual(rules(rbwp_reader.parse(finalised(blocks, flags=1))), [])


class Order(unittest.TestCase):
    def test_sequence_gaps_and_wrap(self):
        """File order is not sequence order, other threads take numbers, and 2^32 - 1 comes before 0."""
        numbers = (1, 0xFFFFFFFE, 3, 0xFFFFFFFF, 0)
        blocks = [block(PAIR, sequence=number) for number in numbers] + [block(PAIR, thread=8, sequence=2)]
        result = rbwp_reader.parse(finalised(blocks))
        self.assertEqual(rules(result), [])
        ordered = rbwp_reader.blocks_of_thread(result["blocks"], 7)
        self.assertEqual([b["sequence"] for b in ordered], [0xFFFFFFFE, 0xFFFFFFFF, 0, 1, 3])


class Opaque(unittest.TestCase):
    def test_unknown_small_tag_is_ignored(self):
        for compress in (False, True):
            file = finalised([opaque(b"note" + bytes(100), compress), GOOD])
            result = rbwp_reader.parse(file)
            self.assertEqual((rules(result), result["block_count"], result["opaque_block_count"]), ([], 2, 1))
            self.assertEqual((result["blocks"][0]["tag"], result["blocks"][0]["records"]), ("note", []))
            self.assertEqual(rbwp_reader.parse_strict(file)["blocks"][1], result["blocks"][1])

    def test_largest_block(self):
        file = finalised([opaque(b"note" + bytes((16 << 20) - 4), compress=True), GOOD])
        self.assertEqual((rules(rbwp_reader.parse(file)), rbwp_reader.parse_strict(file)["block_count"]), ([], 2))

    def test_strict_reader_does_not_look_inside(self):
        file = finalised([opaque(b"1abc"), block(b"\xff" * 9, count=0, stored_size=9), GOOD])
        self.assertEqual([b["record_count"] for b in rbwp_reader.parse_strict(file)["blocks"]], [0, 0, 2])

    def test_unknown_capital_tag_stops_there(self):
        file = finalised([block(PAIR), opaque(b"Next"), GOOD], [struct.pack("<HH", 3, 0)])
        result = rbwp_reader.parse(file)
        self.assertEqual((rules(result), [b["sequence"] for b in result["blocks"]]), (["R42"], [0]))

    def test_broken_ones(self):
        for rule, bad in (("R40", opaque(b"abc")), ("R41", opaque(b"1abc")), ("R41", opaque(b"ab-c")),
                          ("R41", opaque(b"\xe4bcd")), ("R15", block(b"\xff" * 9, count=0, stored_size=9))):
            result = rbwp_reader.parse(finalised([bad, GOOD]))
            self.assertEqual((rules(result), result["block_count"]), ([rule], 1))

    def test_found_only_at_the_end_of_the_damaged_block(self):
        bad = block(PAIR, base=1)
        result = rbwp_reader.parse(finalised([bad, opaque(b"note")]))
        self.assertEqual((rules(result), result["opaque_block_count"]), (["R19"], 1))
        result = rbwp_reader.parse(finalised([block(PAIR, count=9), opaque(b"note")]))
        self.assertEqual((rules(result), result["opaque_block_count"]), (["R13"], 1))
        result = rbwp_reader.parse(finalised([bad, b"\xff", opaque(b"note")]))
        self.assertEqual(result["opaque_block_count"], 0)


class Damage(unittest.TestCase):
    def test_block_inside_a_damaged_one(self):
        """Erratum E1: the data of one block begin, then a whole other block stands there."""
        outer = block(PAIR_BYTES + GOOD + PAIR_BYTES, count=9)
        result = rbwp_reader.parse(finalised([outer]))
        self.assertEqual([b["sequence"] for b in result["blocks"]], [1])
        self.assertEqual(result["blocks"][0]["offset"], 36 + 32 + len(PAIR_BYTES))

    def test_padding_with_zeros(self):
        """Erratum E13 is one report, and the blocks before stand."""
        result = rbwp_reader.parse(header() + GOOD + bytes(5000))
        self.assertEqual((rules(result), result["block_count"]), (["R40"], 1))
        self.assertIn("E13", result["problems"][0]["text"])

    def test_cut_is_no_damage_but_damage_before_blocks_is(self):
        cut = header() + GOOD + block(PAIR, sequence=2)[:-1]
        result = rbwp_reader.parse(cut)
        self.assertEqual(rules(result), [])
        self.assertEqual(result["incomplete_tail"], {
            "offset": 36 + len(GOOD), "bytes": 32 + 12, "reason": "block data cut", "thread_id": 7, "sequence": 2,
            "record_count": 2, "base_timestamp": T0, "data_size": 13, "compressed_size": 0})
        far = block(PAIR_BYTES, count=2000, data_size=8000)
        result = rbwp_reader.parse(header() + far + GOOD)
        self.assertEqual((rules(result), result["incomplete_tail"], result["block_count"]), (["R11"], None, 1))


if __name__ == "__main__":
    unittest.main()
