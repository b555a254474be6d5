# SPDX-License-Identifier: Apache-2.0
"""Programs that a library of ours is loaded into. Where the tested machine is emulated, they are that machine's:
RBWP_TEST_PROGRAMS names their folder, which comes first in PATH."""
import os
import shutil
import sys

FOLDER = os.environ.get("RBWP_TEST_PROGRAMS")
if FOLDER:
    os.environ["PATH"] = FOLDER + os.pathsep + os.environ["PATH"]
PYTHON = shutil.which("python3", path=FOLDER) if FOLDER else sys.executable


def has(*programs):
    return all(shutil.which(program, path=FOLDER) for program in programs)
