#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_item.py [ROUNDS] - what an item of the Python package costs, by turns with an empty loop, and a step of asyncio's tasks:
processor time of the thread, median of rounds. The library is RBWP_LIBRARY's, or that of the tree."""
import asyncio
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "python")]
import figure
import rbwp

CALLS = 20000


def loop_ns(work):
    start = time.thread_time_ns()
    for _ in range(CALLS):
        work()
    return (time.thread_time_ns() - start) / CALLS


async def hop():
    for _ in range(CALLS):
        await asyncio.sleep(0)


def step_ns(records):
    """Of a task, from one await to the next."""
    async def steps():
        if records:
            rbwp.record_tasks()
        start = time.thread_time_ns()
        await asyncio.get_running_loop().create_task(hop())
        return (time.thread_time_ns() - start) / CALLS
    return asyncio.run(steps())


def main(rounds):
    item = rbwp.item("bench item")

    def recorded():
        with item:
            pass

    def made():
        with rbwp.item("bench item", tenant=7):
            pass

    def empty():
        pass

    shown = []
    with tempfile.TemporaryDirectory() as folder:
        for level in (0, 1, 2):
            rbwp.start(level=level, logfile=os.path.join(folder, "item.bin"))
            took = [[loop_ns(work) for work in (empty, recorded, made)] for _ in range(rounds)]
            steps = [step_ns(True) - step_ns(False) for _ in range(rounds)]
            rbwp.stop()
            shown.append([statistics.median(each[which] - each[0] for each in took) for which in (1, 2)] + [statistics.median(steps)])
    figure.show("an item in Python, without a session", shown[0][0] / 1000, "us")
    figure.show("an item in Python, level 1", shown[1][0] / 1000, "us", "at most", 1)
    figure.show("an item in Python, made anew with an argument, level 2", shown[2][1] / 1000, "us")
    figure.show("a step of a task of asyncio, level 1", shown[1][2] / 1000, "us")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
