#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""why.py RBWP MAKE_PROFILE [ROUNDS] - what `rbwp why` takes of 10 M records, and what the findings add to `rbwp stats`: CPU time of one
thread and memory, the median of turns."""
import os
import statistics
import subprocess
import sys
import tempfile

import figure

MILLIONS = 10


def cost(command):
    """(seconds of CPU, bytes of memory at most)"""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        sys.exit(f"{command} ended with {running.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main(rbwp, make_profile, rounds):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile.bin")
        subprocess.run([make_profile, path, str(MILLIONS)], stdout=subprocess.DEVNULL, check=True)
        sums = [f"--by={what}" for what in ("slot", "sub-item", "thread", "node", "gpu", "kernel", "range", "counter", "message")]
        forms = {"why": ["why", "-j1"], "stats": ["stats", "-j1", *sums], "findings": ["stats", "-j1", *sums, "--findings"]}
        found = {form: [] for form in forms}
        for _ in range(rounds):
            for form, words in forms.items():
                found[form].append(cost([rbwp, *words, path]))
        for form in forms:
            print(f"{form:9} {', '.join(f'{seconds:.2f} s {size / 1e6:.0f} MB' for seconds, size in found[form])}")
    figure.show("why of 10 M records, CPU", statistics.median(seconds for seconds, _ in found["why"]), "s", "at most", 10)
    figure.show("why of 10 M records, memory", max(size for _, size in found["why"]) / 1e6, "MB", "at most", 500)
    pairs = zip(found["findings"], found["stats"])
    figure.show("findings, beside stats without them", statistics.median(with_[0] / without[0] for with_, without in pairs), "times", "at most", 1.2)


main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3)
