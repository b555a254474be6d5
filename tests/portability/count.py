#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count.py PORT OUTPUT REASONS NAMES SECONDS: what a run of ctest elsewhere came to. Exit status 1 if a test failed, or
was not run and REASONS ("TEST reason" a line) does not say why. NAMES: all tests of the project, if that file is there."""
import collections
import os
import re
import sys


def main(port, output, reasons, names, seconds):
    reasons = dict(line.rstrip("\n").split(" ", 1) for line in open(reasons))
    said, took = {}, 0.0
    for line in open(output, errors="replace"):
        if found := re.search(r"Test +#\d+: (\S+) \.+ *(\S.*?) +([\d.]+) sec", line):
            said[found[1]] = found[2].lstrip("*").rstrip()
            took += float(found[3])
    passed = [name for name, how in said.items() if how == "Passed"]
    skipped = [name for name, how in said.items() if how in ("Skipped", "Not Run")]
    failed = [f"{name} ({how})" for name, how in said.items() if name not in passed and name not in skipped]
    everything = open(names).read().split() if os.path.exists(names) else list(said)
    absent = [name for name in everything if name not in said] + skipped
    failed += [f"{name} (not run, and no reason given)" for name in absent if name not in reasons]
    why = collections.defaultdict(list)
    for name in absent:
        if name in reasons:
            why[reasons[name]].append(name)
    for reason, tests in why.items():
        print(f"not run: {' '.join(tests)}: {reason}")
    for name in failed:
        print(f"FAILED: {name}")
    print(f"{port}: {len(set(everything) | set(said))} tests, {len(passed)} passed, {len(failed)} failed, {sum(map(len, why.values()))} not run; "
          f"{seconds} s, {took:.0f} s of test time")
    return 1 if failed or not passed else 0


sys.exit(main(*sys.argv[1:]))
