#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job of many nodes costs the tools: many_files.py RBWP MAKE_JOB [FILES [RECORDS]].

One process and two, each with a half of the files (--shard), take turns. CPU time is what each process took; of two,
what counts is the one that took longer: on a machine with two idle CPUs the time on the clock is that.
"""
import os
import subprocess
import sys
import tempfile
import time

import figure

ROUNDS = 3


def started(*command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finished(process):
    """(CPU seconds, most memory in MB) of it."""
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, process.args
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def run(*command):
    began = time.monotonic()
    cpu, memory = finished(started(*command))
    return time.monotonic() - began, cpu, memory


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def show(what, taken):
    seconds, cpu, memory = (median(column) for column in zip(*taken))
    print(f"{what:42} {seconds:7.2f} s, {cpu:6.2f} s of CPU, {memory:5.0f} MB", flush=True)
    return seconds, memory


def shards(rbwp, command, folder):
    whole, halves = [], []
    for _ in range(ROUNDS):
        whole.append(finished(started(rbwp, *command, "-j", "1", folder))[0])
        both = [started(rbwp, *command, "-j", "1", "--shard", f"{part}/2", folder) for part in (0, 1)]
        halves.append(max(finished(process)[0] for process in both))
    ratio = median(a / b for a, b in zip(whole, halves))
    print(f"{command[0]} by two processes with --shard           {ratio:5.2f} times as fast: {median(whole):.2f} s of CPU, {median(halves):.2f} s each")
    figure.show(f"4096 files, {command[0]} by two processes", ratio, "x one", "at least", 1.7)


def main():
    rbwp, make_job = sys.argv[1:3]
    files, records = (int(word) for word in (sys.argv[3:] + ["4096", "10000"][len(sys.argv) - 3 :]))
    with tempfile.TemporaryDirectory() as work:
        folder = f"{work}/job"
        subprocess.run([make_job, "-c", "3", "-o", "1000000", "-d", "2000", "-r", str(records), "-t", "4", "-s", "20", folder, str(files)], check=True)
        size = sum(entry.stat().st_size for entry in os.scandir(folder))
        print(f"{files} files of {records} records, {size / 1e6:.0f} MB, {os.cpu_count()} CPUs")
        stats = [rbwp, "stats", folder]
        seconds, memory = show("stats", [run(*stats) for _ in range(ROUNDS)])
        figure.show("4096 files, stats", seconds, "s", "at most", 20)
        figure.show("4096 files, stats, memory", memory, "MB", "at most", 300)
        show("stats, sums kept for the next time", [run(*stats, "--cache", f"{work}/kept")])
        show("stats, from sums that were kept", [run(*stats, "--cache", f"{work}/kept") for _ in range(ROUNDS)])
        show("stats in one pass", [run(*stats, "--by", "message")])
        show("report, from sums that were kept", [run(rbwp, "report", "--cache", f"{work}/kept", "-o", "-", folder)])
        shards(rbwp, ["stats"], folder)
        shards(rbwp, ["export", "--to", "csv"], folder)


main()
