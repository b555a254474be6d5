# SPDX-License-Identifier: Apache-2.0
"""compare.py must see differences: it is run against commands that print what the reader finds, slightly altered."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import compare
from test_example import example

HERE = pathlib.Path(__file__).resolve().parent
COMMAND = """#!{python}
import json, sys
sys.path.insert(0, {here!r})
import rbwp_reader
result = rbwp_reader.parse(open(sys.argv[1], "rb").read())
status = 3 if result["problems"] else 0
{alteration}
json.dump(result, sys.stdout)
sys.exit(status)
"""


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "example.bin"
        self.file.write_bytes(example())

    def compare(self, alteration="", *options):
        command = self.folder / "dump"
        command.write_text(COMMAND.format(python=sys.executable, here=str(HERE), alteration=alteration))
        command.chmod(0o755)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = compare.main([*options, str(command), str(self.file)])
        return status, output.getvalue()

    def test_agreement(self):
        status, output = self.compare()
        self.assertEqual((status, output.count("\n")), (0, 1))
        self.assertEqual(self.compare("", "--good"), (status, output))
        self.assertIn("1 blocks, 4 records; ", output)
        self.assertNotIn("not printed", output)

    def test_nested_and_missing_extensions(self):
        status, output = self.compare("result = {k: result[k] for k in result if k not in ('index', 'writer')}"
                                      " | {'more': {'writer': result['writer']}}")
        self.assertEqual(status, 0)
        self.assertIn("not printed: index\n", output)

    def test_bytes_that_are_no_text(self):
        self.assertEqual(self.compare("result |= {'writer': '?', 'writer_hex': b'demo'.hex()}")[0], 0)
        self.assertEqual(self.compare("result |= {'writer_hex': b'dema'.hex()}")[0], 1)

    def test_every_difference_is_seen(self):
        for alteration in ("result['blocks'][0]['records'][3]['ts'] += 1", "del result['blocks'][0]['records'][3]",
                           "del result['blocks'][0]['records'][0]['slot']", "result['blocks'] = []",
                           "result['header']['node_id'] = '3'", "del result['incomplete_tail']",
                           "result['index'][0]['crc32c'] += 1", "result['writer'] = 'x'", "status = 3",
                           "result = None", "print('x')", "sys.exit(139)"):
            status, output = self.compare(alteration)
            self.assertEqual((status, "DIFFERENT" in output), (1, True), alteration)

    def test_damage_must_be_reported(self):
        self.file.write_bytes(example()[:-1])
        self.assertEqual(self.compare()[0], 0)
        self.assertEqual(self.compare("status = 0")[0], 1)
        self.assertEqual(self.compare("", "--good")[0], 1)
        self.file.write_bytes(b"RBWX" + example()[4:])
        self.assertEqual(self.compare()[0], 0)


if __name__ == "__main__":
    unittest.main()
