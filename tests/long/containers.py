#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""containers.py BUILD [ROUNDS] - whether calls ran, as the table call_cpu says it of a program in an unprivileged container (podman with
runc, its default seccomp filter, user 65534, perf_event_paranoid 4), against the scheduler's trace and the program's own counts: alone,
with Debian's tcmalloc (google-perftools, preloaded), and with critical sections (rseq) of the program's own, whose counts have to be
right. As root, which is who may read the trace; needs podman, runc, libgoogle-perftools4, tracefs. 5 s a round."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

build = Path(sys.argv[1]).resolve()
os.environ |= {"RBWP": f"{build}/tools/rbwp", "CALLS": f"{build}/tests/truth/rbwp-truth-calls", **dict.fromkeys(("IDLE", "SLEEPERS", "READS", "KEPT_WORD"), "")}
sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "truth")]
import test_calls as truth

PODMAN = ["podman", "--storage-driver", "vfs", "--runtime", "runc", "--cgroup-manager", "cgroupfs"]
IMAGE = "rbwp-truth-calls"
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def tcmalloc():
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return next((line.split()[-1] for line in listed.splitlines() if "libtcmalloc_minimal.so.4" in line), None)


def make_image(*programs):
    """What they are linked with, and nothing else."""
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        for program in programs:
            linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
            for file in (program, *re.findall(r"(/\S+) \(", linked)):
                place = Path(root + os.path.abspath(file))
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
        archive = subprocess.run(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE, check=True).stdout
        subprocess.run([*PODMAN, "import", "-q", "-", IMAGE], input=archive, stdout=subprocess.DEVNULL, check=True)


def numbers_outside(found, stop):
    """Of the program's threads by their numbers in the container: theirs outside of it, which the trace has."""
    while not stop.is_set():
        for path in Path("/proc").glob("[0-9]*/task/*/status"):
            try:
                text = path.read_text()
            except OSError:
                continue
            if numbers := re.search(r"^NSpid:\t(\d+)\t(\d+)$", text, re.M) if text.startswith("Name:\trbwp-truth-call") else None:
                found[int(numbers[2])] = int(numbers[1])
        time.sleep(0.05)


def record(work, *mode, **environment):
    words = [word for name, value in (environment | {"RBWP_CLOCK": "monotonic"}).items() for word in ("-e", f"{name}={value}")]
    return truth.record(work, *mode, under=[*PODMAN, "run", "--rm", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--user", "65534:65534",
                                            "-v", f"{work}:{work}", *words, IMAGE])


def check(title, *mode, **environment):
    with tempfile.TemporaryDirectory() as folder:
        work, outside, stop = Path(folder), {}, threading.Event()
        work.chmod(0o777)
        watcher = threading.Thread(target=numbers_outside, args=(outside, stop))
        watcher.start()
        try:
            path, printed, away = truth.traced(lambda: record(work, *mode, **environment))
        finally:
            stop.set()
            watcher.join()
        print(f"{title}:")
        assert {line[0] for line in printed} == {"clock", "kind"}, printed  # nothing of a count that is wrong
        away = {inside: away.get(number, []) for inside, number in outside.items()}
        spans, rows = truth.calls_of(path), truth.table(path, "call_cpu")
        if mode == ("section",):  # not known from half-way on
            truth.not_known_from_half_way(path)
            since = {thread: time for thread, known, time in truth.columns_of(truth.table(path, "thread_cpu"), "thread", "known", "time") if not known}
            spans = [span for span in spans if span["start_ns"] < since.get(span["thread_id"], 0)]
            print(f"not known from half-way on: {len(since)} threads of {len(away) - 1}; before:")
        else:
            truth.agrees(truth.summed(path, printed))
        truth.agrees_with_the_trace(spans, rows, away)


def main(rounds):
    library = tcmalloc()
    make_image(os.environ["CALLS"], *([library] if library else []))
    before = PARANOID.read_text()
    PARANOID.write_text("4")
    try:
        for _ in range(rounds):
            check("in a container")
            check("critical sections of the program's own", "section")
            if library:
                check("beside tcmalloc", LD_PRELOAD=library)
            else:
                print("not here: libtcmalloc_minimal.so.4 (libgoogle-perftools4)")
    finally:
        PARANOID.write_text(before)
        subprocess.run([*PODMAN, "rmi", "-f", IMAGE], stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
