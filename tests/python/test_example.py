# SPDX-License-Identifier: Apache-2.0
"""The worked example of SPEC.md, taken from the document itself: an edit that breaks it fails here."""

import pathlib
import re
import unittest

import rbwp_reader

SPEC = pathlib.Path(__file__).resolve().parents[2] / "SPEC.md"
DUMP_LINE = re.compile(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2}) +\|(.*)\|$", re.MULTILINE)


def example():
    file = b""
    for offset, row, text in DUMP_LINE.findall(SPEC.read_text(encoding="utf-8")):
        raw = bytes.fromhex(row)
        if int(offset, 16) != len(file):
            raise ValueError(f"the example lacks bytes before {offset}")
        if text != "".join(chr(byte) if 32 <= byte < 127 else "." for byte in raw):
            raise ValueError(f"hex and text differ at {offset}")
        file += raw
    return file


class Example(unittest.TestCase):
    def setUp(self):
        self.file = example()
        self.result = rbwp_reader.parse(self.file)

    def test_size_and_no_problem(self):
        self.assertEqual(len(self.file), 289)
        self.assertEqual(self.result["problems"], [])

    def test_header_and_tables(self):
        self.assertEqual(self.result["header"], {
            "magic": "RBWP", "version": 1, "flags": 1, "node_id": 3, "zero_time": 1699999999999999000,
            "work_item_count": 1, "sub_item_count": 1, "descriptor_offset": 91})
        self.assertEqual(self.result["work_items"], [{"slot": 7, "name": "flush"}])
        self.assertEqual(self.result["sub_items"],
                         [{"id": 2, "type": 1, "type_name": "XFER_CHANNEL", "name": "copy"}])

    def test_block(self):
        self.assertEqual(self.result["blocks"], [{
            "offset": 36, "thread_id": 1234605616436508552, "sequence": 5, "record_count": 4,
            "base_timestamp": 1700000000000000000, "data_size": 23, "compressed_size": 0, "records": [
                {"ts": 1700000000000000000, "ts_bytes": 8, "offset": 0, "type": "COARSE_BEGIN", "slot": 7},
                {"ts": 1700000000000000250, "ts_bytes": 2, "offset": 10, "type": "FINE_BEGIN", "sub_item": 2},
                {"ts": 1700000000000033017, "ts_bytes": 2, "offset": 15, "type": "FINE_END"},
                {"ts": 1700000000000065785, "ts_bytes": 4, "offset": 18, "type": "COARSE_END"}]}])

    def test_trailer(self):
        self.assertEqual(self.result["trailer"], {"offset": 109, "size": 148})
        self.assertEqual(self.result["writer"], "demo")
        self.assertEqual(self.result["tables"], {"descriptor_offset": 91, "size": 18, "work_item_count": 1,
                                                 "sub_item_count": 1, "crc32c": 0x8DF9CA61})
        self.assertEqual(self.result["index"], [{
            "offset": 36, "size": 55, "record_count": 4, "min_time": 1700000000000000000,
            "max_time": 1700000000000065785, "thread_id": 1234605616436508552, "block_count": 1,
            "crc32c": 0xE49630CA}])

    def test_strict_form(self):
        """Without its trailer it is the strict form of the same; the strict reader reads both alike."""
        strict = rbwp_reader.parse_strict(self.file[:-180])
        self.assertEqual(rbwp_reader.parse(self.file[:-180])["problems"], [])
        self.assertEqual(strict | {"file_size": 289}, rbwp_reader.parse_strict(self.file))
        self.assertEqual(strict["blocks"], self.result["blocks"])


if __name__ == "__main__":
    unittest.main()
