# SPDX-License-Identifier: Apache-2.0
"""run.py LIBRARY RBWP - the tests of the Python package, by an interpreter that has NumPy: this one, or the system's.

Without one it ends with 77 and says so (Debian: python3-numpy)."""

import importlib.util
import os
import sys
import unittest

if importlib.util.find_spec("numpy") is None:
    other = "/usr/bin/python3"
    if os.environ.get("RBWP_TEST_PYTHON") or not os.access(other, os.X_OK):
        print("skipped: no Python with NumPy here (Debian: python3-numpy)")
        sys.exit(77)
    os.environ["RBWP_TEST_PYTHON"] = other
    os.execv(other, [other, "-B", *sys.argv])

os.environ["RBWP_LIBRARY"], os.environ["RBWP_COMMAND"] = sys.argv[1:3]
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "..", "python")]
result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.discover(here))
for case, reason in result.skipped:
    print(f"skipped: {case.id()}: {reason}")
sys.exit(not result.wasSuccessful())
