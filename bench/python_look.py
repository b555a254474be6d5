#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_look.py RBWP - what a look at a waiting thread takes (`rbwp record --what threads --stacks 10ms`): processor time of all threads that
the program has not made, a look: at threads of C, whose stack alone is kept, at Python threads in 2 functions, and in 50."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import figure

THREADS, ROUNDS, WAIT_S = 10, 6, 0.2
KINDS = {"C": 0, "Python, 2 functions": 2, "Python, 50 functions": 50}


def wait(depth):
    if depth > 1:
        wait(depth - 1)
    else:
        for _ in range(ROUNDS):
            time.sleep(WAIT_S)


def wait_in_c():
    """Threads without a state of Python's: each round has its own."""
    libc, ids = ctypes.CDLL(None), [ctypes.c_ulong() for _ in range(THREADS)]
    for _ in range(ROUNDS):
        for one in ids:
            libc.pthread_create(ctypes.byref(one), None, libc.usleep, ctypes.c_void_p(int(WAIT_S * 1e6)))
        for one in ids:
            libc.pthread_join(one, None)


def program(depth):
    """Prints what ran in threads that are not its own: the recorder's."""
    threads = [threading.Thread(target=wait, args=(depth,)) for _ in range(THREADS if depth else 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not depth:
        wait_in_c()
    time.sleep(0.2)
    print(sum(int(pathlib.Path(task.path, "schedstat").read_text().split()[0]) for task in os.scandir("/proc/self/task") if int(task.name) != os.getpid()))


def measured(rbwp, path, depth, limit):
    """What the recorder's threads ran, and how many looks have a stack and how many of Python's frames they have."""
    done = subprocess.run([rbwp, "record", "--what", "threads", "--stacks", limit, "-f", "-o", path, "--", sys.executable, "-B", __file__, "--program", str(depth)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    tables = {t["name"]: t["row_count"] for t in json.loads(subprocess.check_output([rbwp, "tables", "--json", path]))["tables"]}
    return int(done.stdout), tables.get("open_call", 0), tables.get("python_frame", 0)


def main(rbwp):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "look.bin")
        for name, depth in KINDS.items():
            (ran, looks, frames), (idle, none, _) = (measured(rbwp, path, depth, limit) for limit in ("10ms", "10s"))
            figure.show(f"a look at a waiting thread, {name}", (ran - idle) / (looks - none) / 1000, "us")
            print(f"  {looks} looks, {frames / looks:.1f} frames of Python each")


if __name__ == "__main__":
    if sys.argv[1] == "--program":
        program(int(sys.argv[2]))
    else:
        main(os.path.abspath(sys.argv[1]))
