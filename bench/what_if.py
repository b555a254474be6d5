#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""what_if.py PROGRAM RBWP [ROUNDS]: what `rbwp why --what-if` predicts of each mode of bench_what_if, and what the changed program takes;
the error of each, their median and 90th percentile. Exit status 1 if the median is above 5 % or the other above 15 %. Both
programs run by turns, and the median of what was predicted beside what was measured counts: so other load makes it neither more nor less."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import figure

ASKS = {"item": ["--what-if=report=0.5"], "sub_item": ["--what-if=encode:index=0.5"], "worker": ["--workers=4"], "pipeline": ["--what-if=encode=0.5"],
        "pipeline_worker": ["--workers=2"], "lock": ["--what-if=lock=0"], "queue": ["--workers=48"], "turns": ["--what-if=write=0.5"],
        "cpu_item": ["--what-if=report=0.5"], "cpu_sub_item": ["--what-if=encode:index=0.5"], "cpu_worker": ["--workers=2"],
        "cpu_pipeline": ["--what-if=encode=0.5"], "cpu_lock": ["--what-if=lock=0"], "cpu_queue": ["--workers=2"]}


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
            found, refused = [], ""
            for _ in range(rounds):
                base = run(program, mode, "base", 2)
                said = subprocess.run([rbwp, "why", "--json", *ask, "bgwork_0.bin"], capture_output=True, text=True)
                measured = run(program, mode, "changed", 0)
                if said.returncode:
                    refused = said.stderr.strip()
                else:
                    same, other = json.loads(said.stdout)["rows"]
                    found.append((other["replayed"] / measured, base, other["replayed"], measured, same))
            if not found:
                print(f"{mode:16} {refused}")
                errors.append(1)
                continue
            ratio, base, predicted, measured, same = sorted(found, key=lambda one: one[0])[len(found) // 2]
            errors.append(abs(ratio - 1))
            print(f"{mode:16} was {base / 1e6:8.1f} ms, predicted {predicted / 1e6:8.1f}, measured {measured / 1e6:8.1f}, error {100 * errors[-1]:5.2f} %, "
                  f"unchanged {100 * same['change']:+.2f} %, explained {100 * same['explained']:.1f} %")
    median, p90 = statistics.median(errors), statistics.quantiles(errors, n=10, method="inclusive")[-1]
    figure.show("what if, median error", 100 * median, "%", "at most", 5)
    figure.show("what if, 90th percentile of errors", 100 * p90, "%", "at most", 15)
    print(f"the worst {100 * max(errors):.2f} %, of {len(errors)} pairs")
    return median > 0.05 or p90 > 0.15


sys.exit(main())
