#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cpu_times.py RBWP [FILE] - what `rbwp record --what threads` says that the threads of zstd ran, beside the kernel's own count of
each (/proc/PID/task/TID/schedstat, read until it ends). FILE is compressed; without it, 60 MB of numbers."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import figure

LEAST_NS = 500_000_000  # of a thread that is compared: what it ran behind the last reading is missing


def read_counts(pid, ran):
    try:
        for task in os.scandir(f"/proc/{pid}/task"):
            ran[int(task.name)] = int(pathlib.Path(task.path, "schedstat").read_text().split()[0])
    except (OSError, IndexError, ValueError):
        pass  # it has ended meanwhile


def child_of(pid):
    while True:
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "zstd":
                return int(child)
        time.sleep(0.001)


def main(rbwp, path):
    if not shutil.which("zstd"):
        print("not here: zstd")
        return
    with tempfile.TemporaryDirectory() as folder:
        if not path:
            path = pathlib.Path(folder, "numbers")
            path.write_text("".join(f"{i * i}\n" for i in range(4_000_000)))
        trace = pathlib.Path(folder, "threads.bin")
        recording = subprocess.Popen([rbwp, "record", "--what", "threads", "-o", trace, "--", "zstd", "-q", "-12", "-T3", path, "-o", f"{folder}/out"],
                                     stderr=subprocess.DEVNULL)
        pid, ran = child_of(recording.pid), {}
        while recording.poll() is None:
            read_counts(pid, ran)
            time.sleep(0.002)
        said = json.loads(subprocess.check_output([rbwp, "stats", "--json", trace]))["threads"]
    off = [abs(thread["running"] / ran[thread["os_id"]] - 1) for thread in said if ran.get(thread["os_id"], 0) > LEAST_NS]
    figure.show("zstd, threads that are compared", len(off), "", "at least", 3)
    figure.show("zstd, CPU time of a thread, off by at most", 100 * max(off), "%", "at most", 2)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
