#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""freeze.py hang|ext4: a disk that stands still does not stop who records (-bgworkprofile_live 2).

While the disk of FILE stands still, recording calls go on; at the cap they wait for -bgworkprofile_stall,
then drop and count. A stop gives up and says how many records are not on the disk. Nothing is lost but what
was counted: FILE is written when the disk goes on, or repaired when the process has ended before.

hang  The disk is a preloaded object: runs everywhere.
ext4  A file system of its own on a loop device, frozen (fsfreeze). Without the right to do that: exit 77.

From the environment: PACER, FAULTS (the preloaded object), RBWP.
"""
import json
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import time

PACER, RBWP, FAULTS = (os.environ[name] for name in ("PACER", "RBWP", "FAULTS"))
RECORDERS, LINE, SKIPPED = 2, 64, 77
SECONDS = 60  # for what is to happen soon, on a machine with much else to do
MODES = {"plain": [], "keep": ["-bgworkprofile_keep", "64M"], "rotate": ["-bgworkprofile_rotate", "2M"]}


class Hang:
    """While a file is there, calls that write to *.bin do not return."""

    def __init__(self, folder):
        self.folder, self.file = folder, os.path.join(folder, "stands-still")
        self.environment = dict(os.environ, LD_PRELOAD=FAULTS, FAULT_HANG=self.file)

    def freeze(self):
        open(self.file, "w").close()

    def thaw(self):
        os.unlink(self.file)

    def end(self):
        pass


class Ext4:
    def __init__(self, folder):
        image, self.folder, self.environment = folder + "/image", folder + "/mounted", dict(os.environ)
        os.mkdir(self.folder)
        with open(image, "wb") as file:
            file.truncate(256 << 20)
        for command in (["mkfs.ext4", "-q", "-F", image], ["mount", "-o", "loop", image, self.folder]):
            try:
                done = subprocess.run(command, capture_output=True, text=True)
            except OSError as missing:
                self.skip(str(missing))
            if done.returncode:
                self.skip(f"{' '.join(command)}: {done.stderr.strip()}")
        try:
            self.freeze()
            self.thaw()
        except (OSError, subprocess.CalledProcessError) as refused:
            self.end()
            self.skip(str(refused))

    @staticmethod
    def skip(why):
        print(f"skipped: no file system of our own can be frozen here: {why}")
        sys.exit(SKIPPED)

    def freeze(self):
        subprocess.run(["fsfreeze", "-f", self.folder], check=True, capture_output=True)

    def thaw(self):
        subprocess.run(["fsfreeze", "-u", self.folder], check=True, capture_output=True)

    def end(self):
        subprocess.run(["umount", "-l", self.folder], check=True)


def until(what, is_so):
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end, f"not within {SECONDS} s: {what}"
        time.sleep(0.002)


def done(tally):
    data = open(tally, "rb").read()
    return [struct.unpack_from("=Q", data, i * LINE)[0] for i in range(RECORDERS)]


def go_on(tally, calls, what):
    """Each thread makes so many more calls."""
    wanted = [n + calls for n in done(tally)]
    until(what, lambda: all(n >= w for n, w in zip(done(tally), wanted)))


def rbwp(*arguments):
    ran = subprocess.run([RBWP, *arguments], capture_output=True, text=True)
    assert ran.returncode in (0, 3), f"rbwp {arguments}: exit {ran.returncode}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def kept_and_lost(path):
    info = json.loads(rbwp("info", "--json", path))
    return info["record_count"], info["lost_records"]


def stop(program):
    program.stdin.write("s")
    program.stdin.flush()
    assert select.select([program.stdout], [], [], SECONDS)[0], f"the stop does not give up within {SECONDS} s"
    stopped = json.loads(program.stdout.readline())
    assert stopped["status"] != 0 and "stands still" in stopped["text"], f"the stop says: {stopped}"
    return stopped


def once(disk, mode, stays):
    folder, tally = disk.folder, os.path.join(os.path.dirname(disk.folder), "tally")
    path = os.path.join(folder, mode + "-%t.bin" if mode == "rotate" else mode + ".bin")
    open(tally, "wb").write(bytes(LINE * (RECORDERS + 1)))
    program = subprocess.Popen(
        [PACER, path, tally, "-bgworkprofile_live", "2", "-bgworkprofile_bufsize", "1", "-bgworkprofile_stall", "100",
         *MODES[mode]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=disk.environment)
    go_on(tally, 100, "it records")
    disk.freeze()
    try:
        go_on(tally, 2000, "calls go on while the disk stands still")
        program.stdin.write("f")
        program.stdin.flush()
        go_on(tally, 200000, "calls go on at the cap")
        stopped = stop(program)
        if not stays:
            program.stdin.close()
            if isinstance(disk, Hang):
                program.kill()  # a thread in the kernel is waited for there: it takes the thaw
                program.wait()
    except BaseException:
        program.kill()
        raise
    finally:
        disk.thaw()
    path = path.replace("%t", "0")
    if stays:
        until("FILE is written when the disk goes on", lambda: not os.path.lexists(path + ".live"))
        program.stdin.close()
    program.wait(SECONDS)
    made = 2 * sum(done(tally))
    if mode == "plain":
        assert 0 < int(re.search(r"up to (\d+) records", stopped["text"]).group(1)) <= made, stopped
        if os.path.lexists(path + ".live"):
            rbwp("repair", path, "-o", path + ".whole.bin")
            path += ".whole.bin"
        rbwp("check", path)
        kept, lost = kept_and_lost(path)
        assert kept + lost == made and lost > 0, f"{kept} in the file, {lost} counted as lost, {made} made"


def clean(folder):
    for name in os.listdir(folder):
        file = os.path.join(folder, name)
        if os.path.islink(file):
            os.unlink(os.readlink(file))
        if not os.path.isdir(file):
            os.unlink(file)


def main():
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1] == "hang":
            os.mkdir(folder + "/disk")
        disk = Hang(folder + "/disk") if sys.argv[1] == "hang" else Ext4(folder)
        try:
            for mode, stays in (("plain", True), ("plain", False), ("keep", True), ("rotate", True)):
                try:
                    once(disk, mode, stays)
                except AssertionError as failed:
                    sys.exit(f"FAILED: {mode}{'' if stays else ', ended while the disk stood still'}: {failed}")
                finally:
                    clean(disk.folder)
        finally:
            disk.end()
    print("calls went on, and nothing is missing that was not counted")


main()
