#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi_cost.py LIBRARY - what librbwp-threads.so costs a ping-pong of 8 bytes between two ranks that know nothing of it
(tests/threads/late_rank.c), in turns of a plain and a recorded job, under each MPI library that is here. A round trip has four calls one
after the other; of each kind of job the least counts, and the median is shown beside it."""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import figure

TURNS = 9
TRIPS = 2000  # in a block; late_rank has the least of 100 blocks
CALLS = 4
LIMIT_NS = 100
SOURCE = pathlib.Path(__file__).parents[1] / "tests" / "threads" / "late_rank.c"
OPTIONS = {"mpich": ["-launcher", "fork"], "openmpi": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]}


def trip(flavour, program, variables):
    command = [f"mpiexec.{flavour}", *OPTIONS[flavour], "-n", "2", "env", *variables, program, str(TRIPS)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split()[0])


def main(library):
    with tempfile.TemporaryDirectory() as folder:
        for flavour in OPTIONS:
            program = pathlib.Path(folder) / flavour
            compiler = shutil.which(f"mpicc.{flavour}")
            if not compiler or subprocess.run([compiler, "-O2", SOURCE, "-o", program]).returncode:
                print(f"not measured: {flavour} is not installed")
                continue
            recorded = [f"LD_PRELOAD={os.path.abspath(library)}", f"RBWP_THREADS_FILE={folder}/{flavour}-%p.bin"]
            took = [[trip(flavour, program, variables) for variables in ([], recorded)] for _ in range(TURNS)]
            (plain, least), medians = map(min, zip(*took)), [statistics.median(times) for times in zip(*took)]
            figure.show(f"{flavour}, a round trip, plain", plain, "ns")
            figure.show(f"{flavour}, a round trip, recorded", least, "ns")
            figure.show(f"{flavour}, a recorded call takes more, by medians", (medians[1] - medians[0]) / CALLS, "ns")
            figure.show(f"{flavour}, a recorded call takes more", (least - plain) / CALLS, "ns", "at most", LIMIT_NS)


main(*sys.argv[1:])
