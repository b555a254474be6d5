#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""openmp_cost.py LIBRARY - what librbwp-ompt.so costs a loop that makes tasks (bench_openmp.c), in turns of a plain and a recorded
process; the least of all turns of each. Without clang and its OpenMP nothing is measured, and that is said."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import figure

TURNS = 15
TASKS_MS = 10  # of each round
LOOPS = 0, 250, 500, 1000, 4000  # numbers that a task adds
LIMIT = 1.03
LONG_NS = 2000  # from which length on


def least(program, loops, tasks, environment):
    return float(subprocess.run([program, str(loops), str(tasks)], env=environment, capture_output=True, text=True, check=True).stdout)


def main(library):
    if not os.path.isfile(library):
        sys.exit(f"{library}: no such library; without it nothing is recorded")
    clang = next(filter(None, map(shutil.which, ("clang", "clang-14"))), None)
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "bench_openmp"
        source = pathlib.Path(__file__).with_name("bench_openmp.c")
        if not clang or subprocess.run([clang, "-O2", "-fopenmp", source, "-o", program], capture_output=True).returncode:
            print("not measured: clang with its OpenMP is not installed (Debian: clang, libomp-dev)")
            return
        plain = {**os.environ, "OMP_NUM_THREADS": "1"}
        recorded = {**plain, "OMP_TOOL_LIBRARIES": os.path.abspath(library), "RBWP_FLAGS": f"-bgworkprofile_logfile {folder}/omp.bin"}
        for loops in LOOPS:
            tasks = max(100, int(TASKS_MS * 1e6 / (60 + 4 * loops)))
            took = [[least(program, loops, tasks, environment) for environment in (plain, recorded)] for _ in range(TURNS)]
            before, after = map(min, zip(*took))
            figure.show(f"OpenMP, a task of {before:.0f} ns takes more", after - before, "ns")
            limit = ("at most", LIMIT) if before >= LONG_NS else ()
            figure.show(f"OpenMP, a loop of tasks of {before:.0f} ns, recorded", after / before, "times plain", *limit)


main(*sys.argv[1:])
