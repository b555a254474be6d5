#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutated.py GOLDEN: 500 changed golden files through the commands of rbwp.

Each of dump, info, check and repair ends by itself with one of its exit codes, within a second of
processor time and a bound on memory, and without a word of a sanitizer, whatever the file. What
repair makes is whole: rbwp check finds nothing in it but items that begin twice (R21), if a valid
block says so. A sanitized build brings the bound on single
allocations with it (ASAN_OPTIONS), and has ten times the time, as its code has ten times to do; an emulated
machine has RBWP_TIMES_AS_LONG times the time, and the emulator's own memory beside it.

From the environment: REPLAY (fuzz_reader_replay, which changes the files), RBWP, SANITIZED; SHARE: "1/2" is
every second one, from the first on.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

REPLAY, RBWP = os.environ["REPLAY"], os.environ["RBWP"]
SANITIZED = os.environ.get("SANITIZED", "")
PART, PARTS = map(int, os.environ.get("SHARE", "1/1").split("/"))
EMULATED = int(os.environ.get("RBWP_TIMES_AS_LONG", "0"))
FILES, CPU_SECONDS = 500, 10 if SANITIZED else EMULATED or 1
HANGS_AFTER_SECONDS = 120  # for a child that sleeps; on a machine with much else to do
RESIDENT_KB_MAX = 128 << 10  # says nothing with a sanitizer's shadow, or an emulator's memory


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(*arguments):
    """The exit code and the output, when the command kept to the bounds."""
    where = " ".join(arguments)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as told:
        child = subprocess.Popen([RBWP, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=told,
                                 preexec_fn=limit)
        watchdog = threading.Timer(HANGS_AFTER_SECONDS, child.kill)
        watchdog.start()
        _, status, usage = os.wait4(child.pid, 0)
        watchdog.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        text = told.read()[-2000:].decode(errors="replace")
        out.seek(0)
        output = out.read()
    assert child.returncode in (0, 1, 3), f"{where}: exit {child.returncode}: {text}"
    assert "Sanitizer" not in text and "runtime error" not in text, f"{where}: {text}"
    assert SANITIZED or EMULATED or usage.ru_maxrss <= RESIDENT_KB_MAX, f"{where}: {usage.ru_maxrss} KB of memory"
    return child.returncode, output


def run_all(path):
    repaired = path + ".repaired"
    codes = [run(*command)[0] for command in (("dump", path), ("info", path), ("check", path),
                                              ("repair", path, "-o", repaired))]
    if os.path.exists(repaired):
        rules = {found["rule"] for found in json.loads(run("check", "--json", repaired)[1])["breaks"]}
        assert rules <= {"R21"}, f"what repair made of {path} breaks {rules}"
        os.unlink(repaired)
    else:
        assert codes[-1] == 1, f"repair of {path}: exit {codes[-1]}, and no file"
    return tuple(codes)


def main():
    golden = sorted(os.path.join(sys.argv[1], name) for name in os.listdir(sys.argv[1]) if name.endswith(".bin"))
    with tempfile.TemporaryDirectory() as folder:
        each = -(-FILES // len(golden))
        subprocess.run([REPLAY, "--mutate", str(each), "--keep", folder, *golden], check=True,
                       stdout=subprocess.DEVNULL)
        paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        assert len(paths) >= FILES, f"{len(paths)} files"
        paths = paths[PART - 1::PARTS]
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            codes = list(pool.map(run_all, paths))
    told = {name: {code: sum(c[i] == code for c in codes) for code in (0, 1, 3)}
            for i, name in enumerate(("dump", "info", "check", "repair"))}
    print(f"{len(paths)} files; exit codes: {told}")
    # Else the files were not changed, or the commands did not look.
    assert told["check"][0] < len(paths) * 0.75 and told["dump"][0] > 0 and told["repair"][3] > 0, told


main()
