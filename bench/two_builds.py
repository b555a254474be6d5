#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""two_builds.py OLD_RBWP NEW_RBWP MAKE_PROFILE [MILLIONS [ROUNDS]] - whether a change made the commands slower: CPU time and memory of
stats, report and each export, of two builds beside each other on CPUs of their own; targets are 1.03 times the old ones.
stats and report read MILLIONS of records (100), the exports a tenth of them. What both took is the median of ROUNDS (3)."""
import os
import statistics
import sys
import tempfile

import figure

FORMATS = ["chrome", "csv", "firefox", "folded", "kineto", "legion", "ndjson", "npz", "parquet", "perfetto", "speedscope", "sqlite", "tsv"]


def start(cpus, command):
    """The command as a child on these CPUs, what it prints thrown away."""
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, cpus)
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(2):
            os.dup2(null, number)
        os.execv(command[0], command)
    return child


def end(child, command):
    """CPU seconds and MB of a child that has ended well."""
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def main(old, new, make_profile, millions="100", rounds="3"):
    cpus = sorted(os.sched_getaffinity(0))
    half = min(4, len(cpus) // 2)
    places = cpus[:half], cpus[half : 2 * half]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        whole, part, out = f"{folder}/whole.bin", f"{folder}/part.bin", [f"{folder}/out{i}" for i in range(2)]
        for path, size in (whole, float(millions)), (part, float(millions) / 10):
            end(start(cpus, make := [make_profile, "-t", "16", "-g", "4", path, str(size)]), make)
        jobs = {"stats": ["stats", "-j2", whole], "report": ["report", "-f", "-j2", whole, "-o"]}
        jobs |= {f"export to {name}": ["export", "-f", "-j2", "--to", name, part, "-o"] for name in FORMATS}
        for name, words in jobs.items():
            took = [], []
            for turn in range(int(rounds)):
                commands = [[build, *words, *([path] if words[-1] == "-o" else [])] for build, path in zip((old, new), out)]
                children = [start(places[i ^ turn & 1], commands[i]) for i in range(2)]
                for i in range(2):
                    took[i].append(end(children[i], commands[i]))
            (old_s, old_mb), (new_s, new_mb) = ([statistics.median(column) for column in zip(*side)] for side in took)
            print(f"{name:20} {old_s:7.2f} s {old_mb:6.0f} MB, then {new_s:7.2f} s {new_mb:6.0f} MB")
            figure.show(f"{name}, CPU", new_s / old_s, "times the old build", "at most", 1.03)
            figure.show(f"{name}, memory", new_mb / old_mb, "times the old build", "at most", 1.03)


if __name__ == "__main__":
    if not 4 <= len(sys.argv) <= 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
