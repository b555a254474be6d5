# SPDX-License-Identifier: Apache-2.0
"""Files of the first RBWP writer must decode to the JSON that was made from them by other means."""

import json
import pathlib
import unittest

import rbwp_reader

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def load(path):
    return path.read_bytes(), json.loads(path.with_suffix(".json").read_text())


class Golden(unittest.TestCase):
    def setUp(self):
        self.maxDiff = 2000
        self.paths = sorted(GOLDEN.glob("*.bin"))
        self.assertGreaterEqual(len(self.paths), 14)

    def test_good_files_decode_to_their_json(self):
        """Every key and value of the JSON, and no complaint about a file that is good or merely cut."""
        for path in self.paths:
            file, expected = load(path)
            if not expected.get("valid", True):
                continue
            with self.subTest(path.name):
                result = rbwp_reader.parse(file)
                self.assertEqual({key: result[key] for key in expected}, expected)
                self.assertEqual(result["problems"], [])

    def test_invalid_files_give_their_good_blocks_and_a_report(self):
        """Good blocks stand; the bad one is named by its offset, and trusted in nothing."""
        invalid = [load(path) for path in self.paths if not load(path)[1].get("valid", True)]
        self.assertTrue(invalid)
        for file, expected in invalid:
            result = rbwp_reader.parse(file)
            for key in ("file_size", "header", "work_items", "sub_items"):
                self.assertEqual(result[key], expected[key])
            good = expected["good_blocks_before"]
            shown = [{key: block[key] for key in wanted} for block, wanted in zip(result["blocks"], good)]
            self.assertEqual(shown, good)
            self.assertEqual([problem["offset"] for problem in result["problems"]],
                             [expected["first_bad_block"]["offset"]])
            self.assertIn(result["problems"][0]["rule"], ("R16", "R17"))  # erratum E2

    def test_strict_reader_agrees(self):
        """The strict reader is a second path through the code; cut and invalid files are refused by it."""
        for path in self.paths:
            file, expected = load(path)
            with self.subTest(path.name):
                if expected.get("valid", True) and expected["incomplete_tail"] is None:
                    result = rbwp_reader.parse_strict(file)
                    self.assertEqual({key: result[key] for key in expected}, expected)
                else:
                    self.assertRaises(rbwp_reader.Refused, rbwp_reader.parse_strict, file)


if __name__ == "__main__":
    unittest.main()
