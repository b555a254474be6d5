#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""new_table.py SOURCE - a known table is added by its .def alone: format/schema/tables.py writes it wherever tables stand, once, and
leaves everything else as it was."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1])
WRITTEN = ["SPEC.md", "docs/man/rbwp-tables.1", "python/rbwp/tables.py", "format/include/known_tables.h"]
TABLE = """/* a_job: a row for each job. */
#define VERSION_a_job 1
#define TABLE_a_job(COLUMN) \\
    COLUMN(a_job, start, TIME, START, "", 1, "when it began") \\
    COLUMN(a_job, kind, NAME, CATEGORY, "copy", 1, "what it is")
"""


def tables(root, what):
    return subprocess.run([sys.executable, "-B", root / "format/schema/tables.py", what], capture_output=True).returncode


def texts(root):
    return {path: (root / path).read_text() for path in WRITTEN}


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    shutil.copytree(SOURCE / "format/schema", root / "format/schema")
    for path in WRITTEN:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / path, root / path)
    before = texts(root)
    assert tables(root, "check") == 0
    (root / "format/schema/a_job.def").write_text(TABLE)
    assert tables(root, "check") == 1, "a table that stands nowhere was not seen"
    assert tables(root, "write") == 0 and tables(root, "check") == 0
    after = texts(root)
    assert tables(root, "write") == 0 and texts(root) == after, "a second time changes something"
    for path in WRITTEN:
        assert "a_job" in after[path], path
        missing = [line for line in before[path].splitlines() if "TABLE(" not in line and line not in after[path]]
        assert not missing, (path, missing)
    assert after["format/include/known_tables.h"].count("TABLE(a_job)") == 1
    assert after["SPEC.md"].count("<!-- a_job: begin -->") == 1
