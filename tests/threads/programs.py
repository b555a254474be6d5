#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""programs.py [TOPIC...] - programs that know nothing of the library run as they did, whatever they do, and what they waited for
is recorded: a pool of threads in Python, a database that is written, Node's pool, Redis, a shell with children;
cancellation, longjmp, fork, vfork. Without TOPIC all of them; 77: the topic's program is not here."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import recorded
from tested_machine import PYTHON, has

POOL = """
import concurrent.futures, time
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    list(pool.map(lambda _: time.sleep(0.02), range(12)))
"""
DATABASE = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("create table t (x)")
for i in range(8):
    db.execute("insert into t values (?)", (i,))
    db.commit()
"""


def lacks(program):
    print(f"skipped: {program} is not installed")
    sys.exit(77)


def kinds(recording, thread=None):
    return [row["kind"] for row in recording.waits if thread in (None, row["thread"])]


def test_pool(folder):
    """Each task sleeps once, on a thread of the pool that its main thread made."""
    recorded.run([PYTHON, "-c", POOL], folder / "pool.bin")
    recording = recorded.Recording(folder / "pool.bin")
    main = min(recording.threads)
    workers = sorted(set(recording.threads) - {main})
    assert len(workers) == 3, recording.threads
    sleeps = [row for row in recording.waits if row["kind"] == "sleep"]
    assert len(sleeps) == 12 and {row["thread"] for row in sleeps} <= set(workers), sleeps
    for worker in workers:
        first = next(row for row in recording.waits if row["thread"] == worker)
        assert (first["kind"], first["waker"]) == ("start", main), first
    woken = [row for row in recording.waits if row["thread"] in workers and row["kind"] not in ("sleep", "start")]
    assert woken and any(row["waker"] for row in woken), woken


NODE = """
const crypto = require('crypto');
const hash = () => { for (let i = 0; i < 6; i++) crypto.pbkdf2('a', 'b', 500, 64, 'sha512', () => {}); };
hash();
setTimeout(hash, 50);
"""


def test_node(folder):
    """Its event loop waits for epoll, by a timer at least, for the pool may be done first; it wakes libuv's pool."""
    if not has("node"):
        lacks("node")
    recorded.run(["node", "-e", NODE], folder / "node.bin")
    recording = recorded.Recording(folder / "node.bin")
    woken = {row["thread"] for row in recording.waits if row["kind"] == "condition variable" and row["waker"]}
    assert len(recording.threads) > 4 and len(woken) >= 4, recording.threads
    assert "epoll" in kinds(recording, min(recording.threads)), kinds(recording)


def redis_server(folder):
    """Debian's redis-tools has the server's program, too, which is what it is called; redis-server would start it."""
    if not has("redis-benchmark") or not (has("redis-server") or has("redis-check-rdb")):
        lacks("redis-server")
    if has("redis-server"):
        return "redis-server"
    (folder / "redis-server").symlink_to(shutil.which("redis-check-rdb"))
    return folder / "redis-server"


def test_redis(folder):
    """Its loop waits for clients, its three background threads for jobs."""
    socket = folder / "socket"
    with subprocess.Popen([redis_server(folder), "--port", "0", "--unixsocket", socket, "--save", ""], cwd=folder,
                          stdout=subprocess.DEVNULL, env=recorded.environment(folder / "redis.bin")) as server:
        while not socket.exists() and server.poll() is None:
            time.sleep(0.01)
        subprocess.run(["redis-benchmark", "-s", socket, "-n", "2000", "-P", "16", "-t", "set", "-q"], check=True,
                       stdout=subprocess.DEVNULL)
        server.terminate()
    recording = recorded.Recording(folder / "redis.bin")
    main = min(recording.threads)
    names = {thread["name"] for thread in recording.threads.values()}
    assert {"bio_close_file", "bio_aof_fsync", "bio_lazy_free"} <= names, names
    assert "epoll" in kinds(recording, main), kinds(recording, main)
    for worker in set(recording.threads) - {main}:
        assert kinds(recording, worker)[-1] == "condition variable", kinds(recording, worker)


def strace_counts(folder, command):
    """How often the program synchronised a file, as the system saw it; None where strace cannot say."""
    if not shutil.which("strace"):
        return None
    done = subprocess.run(["strace", "-f", "-e", "trace=fsync,fdatasync", "-o", folder / "strace", *command])
    if done.returncode != 0:
        return None
    return (folder / "strace").read_text().count("sync(")


def test_database(folder):
    command = [PYTHON, "-c", DATABASE]
    recorded.run([*command, folder / "one.db"], folder / "db.bin", RBWP_THREADS_LEAST_US="0")
    recording = recorded.Recording(folder / "db.bin")
    count = kinds(recording).count("fsync")
    expected = strace_counts(folder, [*command, folder / "two.db"])
    assert count >= 9 if expected is None else count == expected, (count, expected)
    assert kinds(recording).count("write") >= 9, kinds(recording)


def test_odd_ways(folder):
    text = recorded.run([os.environ["WITNESS"], "odd"], folder / "odd.bin", RBWP_THREADS_LEAST_US="20000")
    recording = recorded.Recording(folder / "odd.bin")
    main, other = sorted(recording.threads)
    expected = [line.split("\t")[1] for line in text.splitlines()]
    expected.insert(1, "sleep")  # that it jumped out of
    assert [kind for kind in kinds(recording, main) if kind != "join"] == ["start", *expected], recording.waits
    cancelled = [row for row in recording.waits if row["thread"] == other]
    assert [(row["kind"], row["outcome"]) for row in cancelled] == [("start", 0), ("semaphore", 1)], cancelled
    assert "LD_PRELOAD" not in recorded.run(["env"], folder / "alone.bin")


def test_children(folder):
    """A file for each program that was started, if the name can tell them apart."""
    recorded.run(["sh", "-c", "sleep 0.02; exit 0"], folder / "shell%p.bin")
    files = [recorded.Recording(path) for path in folder.glob("shell*.bin")]
    assert len(files) == 2 and any("sleep" in kinds(file) for file in files), [kinds(file) for file in files]


def test_what_programs_see(folder):
    """Descriptors are numbered as ever; without a place for the file the program runs, and a line says why."""
    show = [PYTHON, "-c", "import os; print(os.open('/dev/null', 0), flush=True); os._exit(3)"]
    for file in folder / "seen.bin", folder / "no such folder" / "seen.bin":
        done = subprocess.run(show, env=recorded.environment(file), capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (3, "3\n"), done
        assert done.stderr.count("\n") == (0 if file.exists() else 1), done.stderr
    assert subprocess.run(show, env={**recorded.environment(""), "RBWP_THREADS_FILE": ""}).returncode == 3


with tempfile.TemporaryDirectory() as name:
    for topic in sys.argv[1:] or ["pool", "database", "node", "redis", "odd_ways", "children", "what_programs_see"]:
        globals()[f"test_{topic}"](pathlib.Path(name))
print("threads programs: all passed")
