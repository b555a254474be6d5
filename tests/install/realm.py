#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""realm.py SOURCE PREFIX WORK - contrib/realm/rbwp_realm.h records a manager of Realm's shape (tests/consumer/realm).

The manager counts what ran in a file of its own; profiles must say the same, whatever the level, the cap or the end.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time

SOURCE, PREFIX, WORK = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
LIB = PREFIX / os.environ["LIBDIR"]
ITEMS = ["activemsg handler", "memcpy channel", "deppart op queue"]
STEPS = ["engine::AskMessage", "engine::CopyTransfer", "engine::UnionOperation"]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done)
    return done.stdout


def manager(rounds, *flags):
    pathlib.Path("counters").write_bytes(bytes(48))
    return ["./manager", "counters", str(rounds), *flags]


def counted():
    """What the program itself has counted: calls by item, steps by item."""
    numbers = struct.unpack("=6Q", pathlib.Path("counters").read_bytes())
    return dict(zip(ITEMS, numbers)), dict(zip(STEPS, numbers[3:]))


def recorded(profile, unfinished=0):
    """The tables of rbwp stats, as counts by name, of a file that is whole and lost nothing."""
    run(PREFIX / "bin/rbwp", "check", profile)
    stats = json.loads(run(PREFIX / "bin/rbwp", "stats", "--json", profile))
    assert stats["lost_records"] == 0, stats["lost_records"]
    for row in stats["queued"]: # an item is active once at a time: its delays follow each other
        assert row["total"] <= stats["extent"], (row, stats["extent"])
    rows = [row for table in ("work_items", "sub_items") for row in stats[table]]
    assert sum(row["unfinished"] for row in rows) <= unfinished, rows
    return {table: {row["name"]: row.get("count", 0) for row in stats[table]} for table in ("work_items", "queued", "sub_items", "threads")}


def test_off():
    assert run(*manager(1000)) == "\n\n"
    assert counted() == (dict(zip(ITEMS, (1001, 1000, 1000))), dict(zip(STEPS, (3004, 1000, 1000))))
    assert not list(WORK.glob("*.bin*"))


def test_flags():
    """The recorder takes its own; a wrong one is reported and stops nothing."""
    assert run(*manager(1, "-ll:bgworkprofile=1", "-ll:bgslice", "9", "-ll:bgworkprofile_logfile", "flags.bin", "x")) == "\nleft: -ll:bgslice\nleft: 9\nleft: x\n\n"
    wrong = run(*manager(1, "-ll:bgworkprofile", "7")).splitlines()
    assert "bgworkprofile" in wrong[0] and wrong[1:] == ["left: -ll:bgworkprofile", "left: 7", ""], wrong
    assert recorded("flags.bin")["work_items"] == counted()[0]


def test_level_1():
    run(*manager(1000, "-ll:bgworkprofile", "1", "-ll:bgworkprofile_logfile", "one.bin"))
    found = recorded("one.bin")
    assert found["work_items"] == counted()[0] and not found["queued"] and not found["sub_items"], found


def test_level_2_at_a_small_cap():
    """Three threads, some 7 MB of records through 1 MB: nothing is lost; each call was made active once."""
    run(*manager(30000, "-ll:bgworkprofile", "2", "-ll:bgworkprofile_logfile", "two.bin", "-ll:bgworkprofile_bufsize", "1"))
    found = recorded("two.bin")
    calls, steps = counted()
    assert found["work_items"] == calls and found["queued"] == calls and found["sub_items"] == steps, (found, calls, steps)
    threads = set(found["threads"])
    assert threads & {"dedicated worker #1", "dedicated worker #2"}, threads
    assert any(name.startswith("thread ") for name in threads), threads # the one that lends itself


def test_kill():
    """What was counted is in the file, and of what was not at most one thing a thread."""
    process = subprocess.Popen(manager(0, "-ll:bgworkprofile", "2", "-ll:bgworkprofile_logfile", "killed.bin"))
    try:
        while min(counted()[0].values()) < 5000:
            assert process.poll() is None
            time.sleep(0.001)
    finally:
        process.kill()
        process.wait()
    run(PREFIX / "bin/rbwp", "repair", "killed.bin", "-o", "repaired.bin")
    found = recorded("repaired.bin", unfinished=12) # of each thread a call and three steps
    for table, least in zip(("work_items", "sub_items"), counted()):
        for name, count in least.items():
            assert count <= found[table][name] <= count + 3, (name, count, found[table][name])


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    os.chdir(WORK)
    os.environ.update(PKG_CONFIG_PATH=str(LIB / "pkgconfig"), LD_LIBRARY_PATH=str(LIB))
    run("g++", "-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", SOURCE / "contrib/realm", SOURCE / "tests/consumer/realm/manager.cpp",
        "-o", "manager", *run("pkg-config", "--cflags", "--libs", "rbwp").split(), "-pthread")
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            print(name, flush=True)
            test()


main()
