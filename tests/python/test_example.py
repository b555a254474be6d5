# SPDX-License-Identifier: Apache-2.0
"""The worked examples of SPEC.md, taken from the document itself: an edit that breaks one fails here."""

import pathlib
import re
import unittest

import make_example
import rbwp_reader

SPEC = pathlib.Path(__file__).resolve().parents[2] / "SPEC.md"
DUMP_LINE = re.compile(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2}) +\|(.*)\|$", re.MULTILINE)


def examples():
    """The files of all dumps, in the order of the text."""
    files = []
    for offset, row, text in DUMP_LINE.findall(SPEC.read_text(encoding="utf-8")):
        raw = bytes.fromhex(row)
        if int(offset, 16) == 0:
            files.append(b"")
        if int(offset, 16) != len(files[-1]):
            raise ValueError(f"the example lacks bytes before {offset}")
        if text != "".join(chr(byte) if 32 <= byte < 127 else "." for byte in raw):
            raise ValueError(f"hex and text differ at {offset}")
        files[-1] += raw
    return files


def example():
    return examples()[0]


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


class SecondExample(unittest.TestCase):
    """All that there is: each part is found in the bytes of the text, and the text says where."""

    def setUp(self):
        _, self.file = examples()
        self.result = rbwp_reader.parse(self.file)

    def test_no_problem(self):
        self.assertEqual((len(self.file), self.result["problems"]), (1388, []))
        rbwp_reader.parse_strict(self.file)

    def test_made_again(self):
        """But for the compressed stream, which depends on who compresses, the maker makes the same."""
        made = rbwp_reader.parse(make_example.example())
        for result in (made, self.result):
            for entry in result["index"] + [result["tables"], result["trailer"]]:
                entry.pop("crc32c", None)
        if len(make_example.example()) == len(self.file):
            self.assertEqual(made, self.result)

    def test_places(self):
        """The table behind the dump says where each part begins, and how long it is."""
        text = SPEC.read_text(encoding="utf-8").split("### 13.2")[1].split("## 14.")[0]
        said = [(int(at, 16), int(size)) for at, size in re.findall(r"^\| ([0-9a-f]{4}) \| (\d+) \|", text, re.MULTILINE)]
        self.assertEqual([at for at, _ in said], [sum(size for _, size in said[:i]) for i in range(len(said))])
        self.assertEqual(sum(size for _, size in said), len(self.file))
        self.assertEqual([at for at, _ in said[1:10]], [block["offset"] for block in self.result["blocks"]])

    def test_blocks(self):
        blocks = self.result["blocks"]
        self.assertEqual([(b["thread_id"], b["sequence"], b["record_count"], b["compressed_size"] > 0) for b in blocks
                          if b["record_count"]],
                         [(0x1001, 1, 4, False), (0x1001, 0, 44, True), (0x1002, 7, 3, False)])
        self.assertEqual([b["tag"] for b in blocks if not b["record_count"]],
                         ["tsch", "name", "tsch", "rows", "rows", "xdem"])
        times = [record["ts"] for record in blocks[0]["records"]]
        self.assertEqual(times[1] - times[0], -1000)
        [work] = [record for record in blocks[7]["records"] if record["type"] == "GPU_WORK"]
        self.assertEqual((work["proc_id"], work["slot"], work["stop"] - work["start"]), (0x1D00000000000003, 2, 550))

    def test_tables(self):
        at = 1700000000000001000
        self.assertEqual(self.result["names"], {1: "copy"})
        self.assertEqual([(s["table"], s["name"], [row["values"] for row in s["rows"]]) for s in self.result["schemas"]],
                         [(1, "queue_depth", [[at, 3], [at + 100, 4], [at + 90, 300]]),
                          (2, "job", [[at + 100, 200, 1, 2, "a/b"], [at + 300, 200, 0, 3, ""]])])

    def test_trailer(self):
        self.assertEqual([(r["table"], r["offset"], r["row_count"]) for r in self.result["table_ranges"]],
                         [(1, 0x60, 3), (0, 0xFA, 1), (2, 0x12E, 2)])
        self.assertEqual([(s["tag"], s["length"]) for s in self.result["unknown_sections"]], [("xdem", 1)])
        self.assertEqual([t["name"] for t in self.result["threads"]], ["worker", ""])


if __name__ == "__main__":
    unittest.main()
