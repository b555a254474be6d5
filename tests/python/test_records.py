# SPDX-License-Identifier: Apache-2.0
"""Timestamps in every form and at every limit, and every kind of record with its payload (section 5)."""

import unittest

import rbwp_reader
from make_rbwp import (PAIR, T0, begin, block, end, fine_begin, fine_end, finalised, gpu_work, ts2, ts4, ts8)


class RecordCase(unittest.TestCase):
    def records(self, *encoded, base=T0, **fields):
        result = rbwp_reader.parse(finalised([block(list(encoded), base=base, **fields)]))
        self.assertEqual(result["problems"], [])
        return result["blocks"][0]["records"]

    def times(self, *encoded, **fields):
        return [(record["ts"], record["ts_bytes"]) for record in self.records(*encoded, **fields)]


class Timestamps(RecordCase):
    def test_limits_of_the_forms(self):
        """Each form at its smallest and largest value; differences count from the record before."""
        self.assertEqual(
            self.times(begin(ts8(T0)), end(ts2(0)), begin(ts2(32767)), end(ts4(0)), begin(ts4((1 << 30) - 1))),
            [(T0, 8), (T0, 2), (T0 + 32767, 2), (T0 + 32767, 4), (T0 + 32767 + (1 << 30) - 1, 4)])

    def test_absolute_limits(self):
        highest = (1 << 62) - 1
        self.assertEqual(self.times(begin(ts8(0)), end(ts8(highest)), begin(ts8(0)), base=0),
                         [(0, 8), (highest, 8), (0, 8)])

    def test_first_record_counts_from_zero(self):
        """Not from the base time (which would double it), and not from the block before."""
        self.assertEqual(self.times(begin(ts2(1000)), base=1000), [(1000, 2)])
        self.assertEqual(self.times(begin(ts4(1 << 29)), base=1 << 29), [(1 << 29, 4)])
        blocks = [block(PAIR), block([begin(ts2(9))], base=9, sequence=1)]
        self.assertEqual(rbwp_reader.parse(finalised(blocks))["blocks"][1]["records"][0]["ts"], 9)

    def test_absolute_in_the_middle_and_backwards(self):
        self.assertEqual(self.times(begin(ts8(T0)), end(ts8(T0 - 10)), begin(ts2(3))),
                         [(T0, 8), (T0 - 10, 8), (T0 - 7, 2)])

    def test_times_beyond_62_bits(self):
        """The top two bits are lost; the base time keeps them and agrees in the other 62. No reduction of sums."""
        self.assertEqual(self.times(begin(ts8(-5)), end(ts2(7)), base=-5), [((1 << 62) - 5, 8), ((1 << 62) + 2, 2)])
        self.assertEqual(self.times(begin(ts8((1 << 62) + 4)), base=(1 << 62) + 4), [(4, 8)])

    def test_base_time_differs(self):
        result = rbwp_reader.parse(finalised([block(PAIR, base=T0 + 1)]))
        self.assertEqual((result["blocks"], result["problems"][0]["rule"]), ([], "R19"))


class Kinds(RecordCase):
    def test_payloads_at_their_limits(self):
        records = self.records(begin(ts8(T0), 255), fine_begin(ts2(1), 65535), fine_end(ts2(1)),
                               gpu_work(ts2(1), (1 << 64) - 1, 255, -(1 << 63), (1 << 63) - 1), end(ts2(1)))
        self.assertEqual([(r["offset"], r["type"]) for r in records],
                         [(0, "COARSE_BEGIN"), (10, "FINE_BEGIN"), (15, "FINE_END"), (18, "GPU_WORK"),
                          (46, "COARSE_END")])
        self.assertEqual((records[0]["slot"], records[1]["sub_item"]), (255, 65535))
        self.assertEqual([records[3][key] for key in ("proc_id", "slot", "start", "stop")],
                         [(1 << 64) - 1, 255, -(1 << 63), (1 << 63) - 1])

    def test_byte_order(self):
        """Big-endian timestamp, little-endian payload: 0x0102 is not 0x0201 on either side."""
        record = self.records(bytes.fromhex("0102 11 0403"), base=0x0102)[0]
        self.assertEqual((record["ts"], record["sub_item"]), (0x0102, 0x0304))

    def test_compressed(self):
        self.assertEqual(self.records(*PAIR * 50, compress=True), self.records(*PAIR * 50))

    def test_every_other_kind_is_refused(self):
        for kind in set(range(256)) - {0x01, 0x02, 0x11, 0x12, 0x21}:
            result = rbwp_reader.parse(finalised([block([ts8(T0) + bytes([kind, 0])])]))
            self.assertEqual((result["blocks"], result["problems"][0]["rule"]), ([], "R17"), hex(kind))


if __name__ == "__main__":
    unittest.main()
