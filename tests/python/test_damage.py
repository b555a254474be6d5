# SPDX-License-Identifier: Apache-2.0
"""Hostile and unlucky files are ordinary input: no cut and no flipped byte may raise anything but a report."""

import pathlib
import random
import unittest

import rbwp_reader
from test_example import example

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def whole_blocks(result, size):
    """How many blocks lie wholly in the first size bytes."""
    return sum(rbwp_reader.block_end(block) <= size for block in result["blocks"])


class Cuts(unittest.TestCase):
    def check_cut(self, file, whole, size):
        """Every block that was written whole is read, nothing is invented, and the end is accounted for."""
        result = rbwp_reader.parse(file[:size])
        rules = [problem["rule"] for problem in result["problems"]]
        if size < 36:
            self.assertEqual(rules, ["R1"])
            return
        self.assertEqual(result["blocks"], whole["blocks"][:whole_blocks(whole, size)])
        blocks_end = max([36] + [rbwp_reader.block_end(block) for block in result["blocks"]])
        offset = result["header"]["descriptor_offset"]
        cut_in_blocks = blocks_end < size and (offset == 0 or size < offset)
        self.assertEqual(result["incomplete_tail"] is not None, cut_in_blocks and offset == 0)
        if result["incomplete_tail"]:
            self.assertEqual(result["incomplete_tail"]["offset"], blocks_end)
            self.assertEqual(result["incomplete_tail"]["bytes"], size - blocks_end)
        if offset == 0:
            self.assertEqual(rules, [])
        elif size < offset:
            left_out = ["R10" if size - blocks_end < 32 else "R11"] if cut_in_blocks else []
            self.assertEqual(rules, ["R5"] + left_out)
        elif size < len(file):
            self.assertIn(rules, (["R30"], ["R35"], []))

    def test_small_files_at_every_byte(self):
        files = [example()]
        files += [(GOLDEN / f"{name}.bin").read_bytes()
                  for name in ("empty", "crash_header_only", "edge_first_4byte", "gaps", "level2_all_types_zlib")]
        for file in files:
            whole = rbwp_reader.parse(file)
            for size in range(len(file)):
                self.check_cut(file, whole, size)

    def test_large_file_around_its_blocks(self):
        file = (GOLDEN / "crash_killed.bin").read_bytes()
        whole = rbwp_reader.parse(file)
        second = whole["blocks"][1]["offset"]
        sizes = list(range(0, 36 + 40)) + list(range(second - 20, second + 60)) + list(range(100, len(file), 997))
        for size in sizes + list(range(len(file) - 20, len(file))):
            self.check_cut(file, whole, size)

    def test_cut_header_of_a_block(self):
        file = (GOLDEN / "crash_killed.bin").read_bytes()
        tail = rbwp_reader.parse(file[:36 + 31])["incomplete_tail"]
        self.assertEqual(tail, {"offset": 36, "bytes": 31, "reason": "block header cut"})


class Flips(unittest.TestCase):
    def survives(self, file):
        result = rbwp_reader.parse(file)
        self.assertEqual(result["block_count"], len(result["blocks"]))
        for problem in result["problems"]:
            self.assertTrue(problem["rule"] and problem["text"])
            self.assertTrue(0 <= problem["offset"] <= len(file))
        try:
            rbwp_reader.parse_strict(file)
        except rbwp_reader.Refused:
            pass

    def test_every_byte_of_the_example(self):
        good = example()
        for at in range(len(good)):
            for value in (0x00, 0xFF, good[at] ^ 0x01, good[at] ^ 0x80):
                self.survives(good[:at] + bytes([value]) + good[at + 1:])

    def test_random_damage(self):
        source = random.Random(20)
        for name in ("gaps", "level2_all_types_zlib", "multi_thread"):
            good = (GOLDEN / f"{name}.bin").read_bytes()
            for _ in range(40):
                bad = bytearray(good)
                for _ in range(source.randint(1, 20)):
                    bad[source.randrange(len(bad))] = source.randrange(256)
                self.survives(bytes(bad))

    def test_noise_behind_a_header(self):
        source = random.Random(21)
        head = example()[:36]
        for size in (1, 31, 32, 33, 500, 5000):
            self.survives(head + source.randbytes(size))


if __name__ == "__main__":
    unittest.main()
