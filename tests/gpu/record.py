#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rbwp record: what GPUs did and the ranges around it are in the profile of a program that nobody changed, in one file with what
its threads did; however it ends, in each of its processes, in windows; what it records itself, while it runs, too. What is not
there is one line, and the program's streams, status and signals are as without. On a fake driver."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import annotations
from tested_machine import PYTHON

RBWP, PROGRAM = os.environ["RBWP"], os.environ["PROGRAM"]
ENVIRONMENT = {**os.environ, "RBWP_CUDA": os.environ["DRIVER"], "RBWP_CUPTI": os.environ["DRIVER"], "LC_ALL": "C"}
TRAIN = 20 * 13  # kernels

# Where dlsym is stood in for, on x86-64 and AArch64 (inject_hooks.c): what drivers' names are asked for goes by it.
STANDS_IN = pathlib.Path(RBWP).read_bytes()[18] in (62, 183)

def record(folder, *words, code=0, what=None, options=(), file="out.bin", **more):
    """(standard output, lines of standard error)"""
    source = ["--what", what] if what else []
    done = subprocess.run([RBWP, "record", *source, "-f", "-o", folder / file, *options, "--", *words], capture_output=True,
                          text=True, timeout=60, env={**ENVIRONMENT, **more})
    assert done.returncode == code, (words, done)
    return done.stdout, done.stderr.splitlines()


def rows(path):
    return annotations.tables(path)


def is_good(path):
    subprocess.run([RBWP, "check", path], check=True, stdout=subprocess.DEVNULL)


def check_lines(messages, path, title, section, whole):
    """The summary's lines of one kind: the five that took longest, each once, as stats has them."""
    sums = json.loads(subprocess.run([RBWP, "stats", "--json", path], capture_output=True, check=True).stdout)
    made = {row["name"]: row for row in sums[section]}
    whole = sums["extent"] if whole else sum(row["total"] for row in made.values())
    at = next(i for i, line in enumerate(messages) if line.endswith(f"  {title}"))
    lines = [line.split(None, 6) for line in messages[at + 1:at + 1 + min(len(made), 5)]]
    shown = [made[line[6]] for line in lines]
    assert [row["total"] for row in shown] == sorted((row["total"] for row in made.values()), reverse=True)[:5], (messages, made)
    assert len({row["name"] for row in shown}) == len(shown), messages
    assert [line[0] for line in lines] == [f"{100 * row['total'] / whole:.1f}%" for row in shown], (messages, shown)
    assert [line[3] for line in lines] == [f"{row['count']:,}" for row in shown], (messages, shown)
    assert not messages[at + 1 + len(lines):] or not messages[at + 1 + len(lines)].lstrip()[:1].isdigit(), messages


def test_all_of_it(folder):
    """One file with work, ranges and waits; a summary, a page; annotations are what the kernels say."""
    out, messages = record(folder, PROGRAM, "train", options=["--report", folder / "page.html"])
    found = rows(folder / "out.bin")
    is_good(folder / "out.bin")
    work = found["gpu_activity"]
    assert out == f"{TRAIN} kernels\n" and [row["kind"] for row in work].count(0) == TRAIN, (out, len(work))
    assert [row["kind"] for row in work].count(1) == 20 and found["wait"] and len(found["range"]) == 20 * 4
    assert all(row["begin"] <= row["start"] <= row["stop"] and row["thread"] and row["range"] for row in work)
    names = subprocess.run([RBWP, "stats", "--by", "thread", folder / "out.bin"], capture_output=True, check=True, text=True).stdout
    assert "record_program" in names and "rbwp-inject" not in names, names  # our own thread is none of the program's
    assert annotations.check(RBWP, folder / "out.bin") == 20 * (2 + 1 + 2 + 1)
    exported = subprocess.run([RBWP, "export", "--to", "kineto", "--outer-ranges", folder / "out.bin"], capture_output=True, check=True)
    events = [event for event in json.loads(exported.stdout)["traceEvents"] if event["ph"] == "X"]
    count = lambda category, **args: sum(event["cat"] == category and args.items() <= event["args"].items() for event in events)
    assert count("kernel", grid=[3, 2, 1], block=[64, 1, 1], **{"registers per thread": 32, "shared memory": 16}) == TRAIN
    assert count("gpu_memcpy", bytes=32) == 20 and count("gpu_user_annotation") == 120, exported.stderr
    text = "\n".join(messages)
    for part in (f"out.bin: {TRAIN} kernels and 20 copies and sets on 1 GPU in ", "GPU 0: busy ", " gaps, the longest ",
                 "top kernels", "  first", "ranges, on the GPU", "  forward", "busiest threads", "longest run intervals",
                 "from signal to run: "):
        assert part in text, (part, messages)
    check_lines(messages, folder / "out.bin", "top kernels", "gpu_work", False)
    check_lines(messages, folder / "out.bin", "ranges, on the GPU", "gpu_ranges", True)
    assert "<html" in (folder / "page.html").read_text()[:200]
    assert sorted(path.name for path in folder.iterdir()) == ["out.bin", "page.html"], list(folder.iterdir())


def test_halves(folder):
    for what, works, ranges, waits in (("gpu", 280, 0, 0), ("ranges", 0, 80, 0), ("gpu,threads", 280, 0, 1), ("gpu,ranges", 280, 80, 0)):
        _, messages = record(folder, PROGRAM, "train", what=what)
        found = rows(folder / "out.bin")
        assert any("/out.bin: 80 ranges in " in line for line in messages) == (what == "ranges"), messages
        if what == "ranges":
            check_lines(messages, folder / "out.bin", "ranges", "ranges", True)
        assert (len(found["gpu_activity"]), len(found["range"]), bool(found["wait"])) == (works, ranges, bool(waits)), what


def test_ranges_first(folder):
    """The session ends while CUPTI and the driver are there, though it began before these: with work that ends with the process."""
    for what, more in ("gpu,ranges", {}), ("gpu,ranges,threads", {}), ("gpu,ranges,threads", {"RBWP_CUPTI": "/nowhere"}):
        record(folder, PROGRAM, "early", what=what, **more)
        found = rows(folder / "out.bin")
        assert (len(found["gpu_activity"]), len(found["range"])) == (281, 81), (what, more, len(found["gpu_activity"]))


def test_stays(folder):
    """The session outlasts CUPTI where threads are recorded as well: nobody asks for work then."""
    record(folder, PROGRAM, "stays", what="gpu,threads")
    assert len(rows(folder / "out.bin")["gpu_activity"]) == 280


def test_size(folder):
    """At most 12 bytes a kernel, and all of them."""
    record(folder, PROGRAM, "loop", "20000", what="gpu")
    found = rows(folder / "out.bin")["gpu_activity"]
    size = (folder / "out.bin").stat().st_size
    assert len(found) == 20000 and size <= 12 * 20000, (len(found), size / 20000)


def test_ends(folder):
    for how, code in (("_exit", 6), ("term", -signal.SIGTERM), ("exec", 0)):
        record(folder, PROGRAM, how, code=code, what="gpu,ranges")
        found = rows(folder / "out.bin")
        least = 0 if how == "exec" else 280  # what CUPTI had not handed over goes with the program
        assert len(found["range"]) == 80 and len(found["gpu_activity"]) >= least, (how, len(found["gpu_activity"]))
        assert not list(folder.glob("*.live")), how


def test_processes(folder):
    """Each has a file of its own, in whichever way they are named."""
    for file, pattern, count in (("out.bin", "out*.bin", 2), ("each-%p.bin", "each-*.bin", 2)):
        _, messages = record(folder, PROGRAM, "children", code=5, what="gpu,ranges", file=file)
        found = [len(rows(path)["gpu_activity"]) for path in folder.glob(pattern)]
        assert found == [280] * count and messages[0].count(f" and {count - 1} more: {2 * TRAIN} kernels and"), (file, found, messages)


def test_beside_another(folder):
    """A rank that still runs writes to a file of the same pattern: that is left alone."""
    flags = f"-bgworkprofile 1 -bgworkprofile_logfile {folder / 'each-1.bin'}"
    with subprocess.Popen([PROGRAM, "work", "100000"], stdout=subprocess.PIPE, text=True, env={**ENVIRONMENT, "RBWP_FLAGS": flags}) as other:
        other.stdout.readline()
        _, messages = record(folder, PROGRAM, "train", what="gpu,ranges", file="each-%p.bin")
        assert messages[0].count(f": {TRAIN} kernels and") and (folder / "each-1.bin.live").exists(), messages
        other.terminate()


def test_windows(folder):
    record(folder, PROGRAM, "train", what="gpu,ranges", options=["--capture-range", "ProfilerStep#3"])
    found = rows(folder / "out.bin")
    assert len(found["gpu_activity"]) == 14 and len(found["range"]) == 4, len(found["gpu_activity"])
    _, messages = record(folder, PROGRAM, "train", what="gpu,ranges", options=["--after", "100s"])
    assert messages == ["rbwp record: nothing is recorded: no GPU was used, no range was marked"], messages


def waits_for_process(pid):
    """It has found the other one."""
    with contextlib.suppress(FileNotFoundError):  # closed meanwhile
        return any("pidfd" in os.readlink(path) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return False


def test_work(folder):
    """Of a program with librbwp: by its flags, and while it runs."""
    record(folder, PROGRAM, "work", what="work")
    subprocess.run([RBWP, "check", folder / "out.bin"], check=True, stdout=subprocess.DEVNULL)
    record(folder, PROGRAM, "work")  # its own file, beside that of its threads
    assert len(list(folder.glob("out.work-*.bin"))) == 1, list(folder.iterdir())
    flags = f"-bgworkprofile 2 -bgworkprofile_logfile {folder / 'own.bin'}"
    with subprocess.Popen([PROGRAM, "work", "100000"], stdout=subprocess.PIPE, text=True, env={**ENVIRONMENT, "RBWP_FLAGS": flags}) as running:
        running.stdout.readline()
        before = time.time_ns()
        command = [RBWP, "record", "--pid", str(running.pid), "-f", "-o", folder / "now.bin"]
        done = subprocess.run([*command, "--for", "60ms"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and " calls" in done.stderr and running.poll() is None, done
        info = json.loads(subprocess.run([RBWP, "info", "--json", folder / "now.bin"], capture_output=True, check=True).stdout)
        is_good(folder / "now.bin")
        # Without an end it lasts until it is stopped, or the program ends.
        with subprocess.Popen(command, stderr=subprocess.PIPE) as asking:
            while asking.poll() is None and not waits_for_process(asking.pid):
                time.sleep(0.005)
            time.sleep(0.1)  # for calls of it, on a machine with much else to do
            running.terminate()
            assert asking.wait(timeout=60) == 0, asking.stderr.read()
    assert info["record_count"] > 2 and before <= info["first"] < info["last"] <= time.time_ns(), info
    done = subprocess.run([RBWP, "record", "--pid", str(os.getpid())], capture_output=True, text=True)
    assert done.returncode == 1 and "does not record itself" in done.stderr, done


def test_not_there(folder):
    """One line, and the program runs."""
    for words, code, more in ((["true"], 0, {}), ([PROGRAM, "cpu"], 0, {}), (["no such program"], 127, {}),
                              ([PROGRAM, "train"], 0, {"RBWP_INJECT": "/nowhere/lib.so"}), ([PROGRAM, "train"], 0, {"RBWP_CUPTI": "/nowhere", "RBWP_INJECT_EVENTS": "0"})):
        (folder / "out.bin").unlink(missing_ok=True)
        _, messages = record(folder, *words, code=code, what="gpu", **more)
        said = [line for line in messages if line.startswith("rbwp")]
        assert 1 <= len(said) <= 2 and not (folder / "out.bin").exists(), (words, messages)
    # A program finds no driver where there is none, and all else as ever.
    asks = "import ctypes; c = ctypes.CDLL(None); assert not hasattr(c, 'cuLaunchKernel') and not hasattr(c, 'cuNothing') and c.strlen(b'abc') == 3"
    if STANDS_IN:
        record(folder, PYTHON, "-c", asks, what="gpu")
    _, messages = record(folder, "true")  # what is there is recorded, and what is not is no news
    assert not any("GPU" in line for line in messages), messages


def test_events(folder):
    """Without CUPTI, or where another tool has it, work is timed by events: all of it, each in its range, none before its call."""
    theirs = {"CUDA_INJECTION64_PATH": "/nowhere/theirs.so"}
    for what, more in (("gpu,ranges", {"RBWP_CUPTI": "/nowhere"}), ("gpu,ranges", theirs), (None, {"RBWP_INJECT_EVENTS": "1"})):
        (folder / "out.bin").unlink(missing_ok=True)
        _, messages = record(folder, PROGRAM, "train", what=what, **more)
        said = [line for line in messages if line.startswith("rbwp")]
        assert len(said) == (what is not None) and all("timed by events" in line for line in said), messages
        assert any(f": {TRAIN} kernels and 20 copies and sets on 1 GPU in " in line for line in messages), messages
        is_good(folder / "out.bin")
        work = rows(folder / "out.bin")["gpu_activity"]
        assert all(row["begin"] <= row["start"] <= row["stop"] and row["begin"] <= row["end"] and row["thread"] and row["range"] for row in work)
        assert {row["name"] for row in work} == {"first", "Memcpy HtoD"} and len({row["correlation"] for row in work}) == 280, work[0]
        assert annotations.check(RBWP, folder / "out.bin") == 20 * (2 + 1 + 2 + 1)
    for how, code in (("_exit", 6), ("term", -signal.SIGTERM)):
        record(folder, PROGRAM, how, code=code, what="gpu,ranges", **theirs)
        assert len(rows(folder / "out.bin")["gpu_activity"]) == 280, how
    record(folder, PROGRAM, "children", code=5, what="gpu,ranges", file="each-%p.bin", **theirs)
    assert [len(rows(path)["gpu_activity"]) for path in folder.glob("each-*.bin")] == [280] * 2


def test_usage(folder):
    for words in (["--what", "gpu,nothing", "--", "true"], ["--what", "gpu"], ["--ptx", "--for", "5s", "--", "true"], ["--for", "5", "--", "true"],
                  ["--what", "work", "--capture-range", "x", "--", "true"], ["--pid", "1", "--", "true"], ["--pid", "1", "--what", "gpu"],
                  ["--capture-signal", "KILL", "--", "true"]):
        done = subprocess.run([RBWP, "record", *words], capture_output=True, text=True, cwd=folder)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, (words, done)


for test in (test_all_of_it, test_halves, test_ranges_first, test_stays, test_size, test_ends, test_processes, test_beside_another, test_windows, test_work,
             test_not_there, *[test_events] * STANDS_IN, test_usage):
    with tempfile.TemporaryDirectory() as name:
        test(pathlib.Path(name))
print("record: all passed")
