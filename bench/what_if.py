#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""what_if.py PROGRAM RBWP [ROUNDS]: what `rbwp why --what-if` predicts of each mode of bench_what_if, and what the changed program takes;
the error of each and the median. Exit status 1 if that is above 5 %."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

ASKS = {"item": ["--what-if=report=0.5"], "sub_item": ["--what-if=encode:index=0.5"], "worker": ["--workers=4"], "pipeline": ["--what-if=encode=0.5"],
        "pipeline_worker": ["--workers=2"], "lock": ["--what-if=lock=0"], "queue": ["--workers=48"], "turns": ["--what-if=write=0.5"]}


def run(program, mode, which, level):
    flags = f"-bgworkprofile {level} -bgworkprofile_cpu 0"
    done = subprocess.run([program, mode, which], env={**os.environ, "RBWP_FLAGS": flags}, stdout=subprocess.PIPE, check=True)
    return int(done.stdout)


def main():
    program, rbwp, rounds = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3
    errors = []
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for mode, ask in ASKS.items():
            found = []
            for _ in range(rounds):
                base = run(program, mode, "base", 2)
                said = subprocess.run([rbwp, "why", "--json", *ask, "bgwork_0.bin"], capture_output=True, text=True)
                measured = run(program, mode, "changed", 0)
                if said.returncode:
                    print(f"{mode:16} {said.stderr.strip()}")
                    continue
                rows = json.loads(said.stdout)["rows"]
                found.append((abs(rows[1]["replayed"] / measured - 1), base, rows[1]["replayed"], measured, rows[0]["change"], rows[0]["explained"]))
            if found:
                error, base, predicted, measured, same, explained = sorted(found)[len(found) // 2]
                print(f"{mode:16} was {base / 1e6:8.1f} ms, predicted {predicted / 1e6:8.1f}, measured {measured / 1e6:8.1f}, error {100 * error:5.2f} %, "
                      f"unchanged {100 * same:+.2f} %, explained {100 * explained:.1f} %")
            errors.append(statistics.median(f[0] for f in found) if found else 1)
    median = statistics.median(errors)
    print(f"median error {100 * median:.2f} %, the worst {100 * max(errors):.2f} %, of {len(errors)} pairs (at most 5 %)")
    return median > 0.05


sys.exit(main())
