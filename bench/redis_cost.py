#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""redis_cost.py RBWP [ROUNDS] - what `rbwp record --what threads` costs redis-server under redis-benchmark, pipelined: requests a
second, of two plain servers and two recorded ones by turns, each round in another order. Nothing where Redis is not installed."""
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import figure

RECORDED = {"plain": False, "recorded": True, "recorded again": True, "plain again": False}
REQUESTS, PIPELINED = 200000, 16


def start(folder, name, rbwp):
    socket = folder / name
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""]
    if RECORDED[name]:
        command = [rbwp, "record", "--what", "threads", "-o", folder / f"{name}.bin", "--", *command]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not socket.exists() and server.poll() is None:
        time.sleep(0.01)
    return server


def requests_a_second(socket):
    """Of one run of the client, by its own clock."""
    begin = time.monotonic()
    subprocess.run(["redis-benchmark", "-s", socket, "-n", str(REQUESTS), "-P", str(PIPELINED), "-t", "set", "-q"], check=True, stdout=subprocess.DEVNULL)
    return REQUESTS / (time.monotonic() - begin)


def main(rbwp, rounds):
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        print("not here: redis-server and redis-benchmark")
        return
    chance, took = random.Random(1), {name: [] for name in RECORDED}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        servers = [start(folder, one, rbwp) for one in RECORDED]
        for turn in range(rounds + 1):
            for one in chance.sample(list(RECORDED), len(RECORDED)):
                rate = requests_a_second(folder / one)
                if turn:  # the first fills the databases
                    took[one].append(rate)
        for server in servers:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
    both = [statistics.median(rate for name, each in took.items() if RECORDED[name] is recorded for rate in each) for recorded in (False, True)]
    figure.show("redis-server, requests a second", both[0] / 1e6, "M")
    figure.show("redis-server, a second plain one", statistics.median(took["plain again"]) / statistics.median(took["plain"]), "x the first")
    figure.show("redis-server, threads recorded, requests a second", 100 * both[1] / both[0], "% of plain", "at least", 97)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 30)
