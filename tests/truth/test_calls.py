# SPDX-License-Identifier: Apache-2.0
"""What the table call_cpu says of calls: against what the kernel counted for the threads themselves, and, as root with tracefs,
against its trace of the scheduler, call by call."""
import bisect
import csv
import ctypes
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

RBWP, CALLS, IDLE, SLEEPERS, READS, KEPT_WORD = (os.environ[name] for name in ("RBWP", "CALLS", "IDLE", "SLEEPERS", "READS", "KEPT_WORD"))
TRACING = Path("/sys/kernel/tracing")
LINE = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)$")
CALL_NUMBERS = {"x86_64": {"rseq": 334, "getrusage": 98, "clock_gettime": 228, "pread64": 17},
                "aarch64": {"rseq": 293, "getrusage": 165, "clock_gettime": 113, "pread64": 67}}[os.uname().machine]
TIMES_AS_LONG = int(os.environ.get("RBWP_TIMES_AS_LONG", "1"))  # a system call takes, where an emulator plays the processor
EDGE_NS = 3_000 * TIMES_AS_LONG  # of a call, where a switch may be counted on either side: the trace has microseconds


def rbwp(*args):
    return subprocess.run([RBWP, *map(str, args)], capture_output=True, text=True, check=True).stdout


def table(path, name):
    return list(csv.DictReader(io.StringIO(rbwp("tables", "--table", name, path))))


def refuse(number):
    """From now on the process's system calls of that number fail with EPERM."""
    code = b"".join(struct.pack("=HBBI", *each) for each in ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)))
    kept = ctypes.create_string_buffer(code, len(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(38, 1, 0, 0, 0) == 0  # no new privileges
    assert prctl(22, 2, struct.pack("@HP", 4, ctypes.addressof(kept))) == 0, ctypes.get_errno()  # seccomp, a filter


def record(work, *mode, under=(), refused=None, **environment):
    path = work / "calls.bin"
    flags = ["-bgworkprofile", "1", "-bgworkprofile_logfile", path]
    done = subprocess.run([*under, CALLS, *map(str, flags), *mode], cwd=work, capture_output=True, text=True, check=True, env=os.environ | environment,
                          preexec_fn=refused and (lambda: refuse(CALL_NUMBERS[refused])))
    assert done.stderr == ""
    return path, [line.split() for line in done.stdout.splitlines()]


def says_nothing(path):
    return rbwp("tables", path).find("_cpu") < 0


def calls_of(path):
    return [span for line in rbwp("export", "--to", "ndjson", path).splitlines() if (span := json.loads(line))["category"] == "bgwork"]


def columns_of(rows, *names):
    return [tuple(int(row[name]) for name in names) for row in rows]


def summed(path, printed):
    """By kind of call: what the kernel counted (calls, switched, ran), and what the file says."""
    slots = {item["name"]: item["slot"] for item in json.loads(rbwp("info", "--json", path))["work_items"]}
    spans, rows = calls_of(path), table(path, "call_cpu")
    found = {}
    for _, kind, *counts in (line for line in printed if line[0] == "kind"):
        of_kind = [row for row in rows if int(row["slot"]) == slots[kind]]
        with_row = sum(stop - start for start, stop in columns_of(of_kind, "start", "stop"))
        flagged = sum(voluntary + involuntary > 0 for voluntary, involuntary in columns_of(of_kind, "voluntary", "involuntary"))
        running = sum(span["duration_ns"] for span in spans if span["name"] == kind) - with_row + sum(int(row["running"]) for row in of_kind)
        found[kind] = (*map(int, counts), flagged, running)
    return found


def agrees(found):
    for kind, (calls, switched, ran_ns, flagged, running_ns) in found.items():
        print(kind, calls, switched, ran_ns, flagged, running_ns)
        assert switched - 2 <= flagged <= 1.1 * switched + (calls / 50 + 10) * TIMES_AS_LONG, kind
        around_ns = 10_000 * TIMES_AS_LONG * calls
        if kind != "tiny":
            assert 0.95 * ran_ns - around_ns <= running_ns <= 1.05 * ran_ns + around_ns, kind  # without what a host takes from a guest


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Nothing is said where the kernel or the C library does not show whether a thread was switched out: then nothing can be wrong."""
    if says_nothing(record(tmp_path_factory.mktemp("known"))[0]):
        pytest.skip("the kernel or the C library does not show whether a thread was switched out")


def not_known_from_half_way(path):
    rows, said = table(path, "call_cpu"), columns_of(table(path, "thread_cpu"), "thread", "known", "time")
    assert rows and all(cell >= -1 for row in rows for cell in map(int, row.values()))
    for thread, *_ in columns_of(rows, "thread"):
        since = min(time for of, known, time in said if of == thread and known == 0)
        assert all(known == 0 or time < since for of, known, time in said if of == thread)
        assert all(start <= since for of, start in columns_of(rows, "thread", "start") if of == thread)


def test_as_the_kernel_counts(tmp_path, known):
    path, printed = record(tmp_path)
    agrees(summed(path, printed))
    said = columns_of(table(path, "thread_cpu"), "thread", "known")
    assert said.count((0, 1)) == 1 and all(known == 1 for _, known in said), said  # of all threads


def test_the_program_closes_what_it_does_not_know(tmp_path):
    path, printed = record(tmp_path, "closed", RBWP_UNUSED="")
    assert {line[0] for line in printed} == {"clock", "kind"}  # nothing of its own files
    for start, stop, running, runnable in columns_of(table(path, "call_cpu"), "start", "stop", "running", "runnable"):
        most = (stop - start) * 1.0001 + 1  # times are rounded, and the counter's rate is known better when the file ends
        assert 0 <= running and running + max(runnable, 0) <= most


def test_few_descriptors(tmp_path, known):
    rows = table(record(tmp_path, "few")[0], "call_cpu")
    unknown = [(runnable, voluntary) for runnable, voluntary in columns_of(rows, "runnable", "voluntary") if runnable < 0]
    assert unknown and all(voluntary > 0 for _, voluntary in unknown)  # who never waited is known by its time on the CPU
    assert len({row["thread"] for row in rows if int(row["voluntary"]) > 0 and int(row["runnable"]) >= 0}) <= 3


def test_a_child_has_none_of_its_parents_counters(tmp_path):
    assert ["a", "child", "has", "0", "counters", "of", "its", "parent"] in record(tmp_path, "fork")[1]


def test_a_section_of_the_program_is_left_alone(tmp_path, known):
    path, printed = record(tmp_path, "section")
    assert {line[0] for line in printed} == {"clock", "kind"}  # the word was never changed
    not_known_from_half_way(path)


@pytest.mark.parametrize("mode", ["child", "short", "signals"])
def test_a_word_that_is_set_when(tmp_path, known, mode):
    """A thread with it forks (child), or ends (short), or a signal comes whose handler records."""
    path, printed = record(tmp_path, "-bgworkprofile_children", "1", mode)
    if mode == "child":
        (path,) = (file for file in tmp_path.glob("calls*") if file != path)
    agrees(summed(path, printed))


def test_faults_between_long_calls_are_of_none(tmp_path, known):
    faults = columns_of(table(record(tmp_path, "between")[0], "call_cpu"), "minor_faults")
    assert len(faults) == 200 and min(faults) == (0,) and sum(count for count, in faults) <= 5  # those of the recorder's own memory


@pytest.mark.parametrize("name", ["getrusage", "clock_gettime"])
def test_a_sandbox_that_refuses_to_say_it_half_way(tmp_path, known, name):
    not_known_from_half_way(record(tmp_path, "refused", str(CALL_NUMBERS[name]))[0])


def test_a_sandbox_that_refuses_to_read_half_way(tmp_path, known):
    path, printed = record(tmp_path, "refused", str(CALL_NUMBERS["pread64"]))
    agrees(summed(path, printed))
    times = columns_of(table(path, "call_cpu"), "runnable", "voluntary")
    assert any(runnable < 0 for runnable, _ in times) and all(voluntary > 0 for runnable, voluntary in times if runnable < 0)


@pytest.mark.parametrize("name", ["rseq", "getrusage"])
def test_a_sandbox_that_refuses_it_from_the_start(tmp_path, name):
    assert says_nothing(record(tmp_path, refused=name)[0])


def test_a_c_library_that_registers_nothing(tmp_path):
    assert says_nothing(record(tmp_path, GLIBC_TUNABLES="glibc.pthread.rseq=0")[0])  # as before glibc 2.35


def test_an_emulator_that_has_no_such_area(tmp_path):
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind here")
    assert says_nothing(record(tmp_path, under=("valgrind", "-q", "--tool=none"))[0])


def test_a_kernel_that_leaves_the_word_behind_a_wait(tmp_path):
    path, _ = record(tmp_path, LD_PRELOAD=KEPT_WORD)
    assert says_nothing(path)


def test_a_thread_that_loses_its_cpu_before_that_wait(tmp_path):
    path, _ = record(tmp_path, LD_PRELOAD=KEPT_WORD, LATE="1")  # the word is cleared by that, and not by the wait
    assert says_nothing(path)


def test_it_is_not_asked_where_it_is_not_wanted(tmp_path):
    path, _ = record(tmp_path, "-bgworkprofile_cpu", "0")
    assert says_nothing(path)


def test_a_wait_that_nobody_sees_is_no_work(tmp_path, known):
    path = tmp_path / "idle.bin"
    done = subprocess.run([RBWP, "record", "--what", "threads", "-o", path, "--", IDLE], capture_output=True, text=True, check=True)
    assert not re.search(r"s  idle \d, after", done.stderr), done.stderr  # among the longest run intervals
    threads = {thread["name"]: thread for thread in json.loads(rbwp("stats", "--json", path))["threads"]}
    for name in ("idle 1", "idle 2", "idle 3"):
        assert threads[name]["busy"] <= 25_000_000 and threads[name]["waiting"] > 300_000_000, threads[name]  # of 500 ms
    assert abs(threads["spins"]["busy"] - int(done.stdout.split()[0])) <= 0.02 * int(done.stdout.split()[0]) + 10_000_000


def test_sleeping_threads_do_not_run(tmp_path, known):
    """13 threads and the first one that each wait for 300 ms by another call: of it 5 % at most is time on a CPU, or not known."""
    path = tmp_path / "sleepers.bin"
    subprocess.run([RBWP, "record", "--what", "threads", "-o", path, "--", SLEEPERS], cwd=tmp_path, capture_output=True, check=True)
    busy = {thread["name"]: thread["busy"] for thread in json.loads(rbwp("stats", "--json", path))["threads"]}
    most = max(busy, key=busy.get)
    print(f"of 300 ms, {most} of {len(busy)} ran for the longest: {busy[most] / 3e6:.2f} %")
    assert len(busy) == 14 and busy[most] <= 15_000_000, busy


def record_reads(tmp_path, **environment):
    path = tmp_path / "reads.bin"
    done = subprocess.run([RBWP, "record", "--what", "threads", "-o", path, "--", READS], capture_output=True, text=True, check=True, env=os.environ | environment)
    reads = [row for row in table(path, "wait") if row["kind"] == "read"]
    longest = max(table(path, "call_cpu"), key=lambda row: int(row["stop"]) - int(row["start"]))
    return int(done.stdout.split()[0]), reads, {name: int(longest[name]) for name in ("start", "stop", "running", "runnable")}


def test_a_thread_that_was_long_awake_before_its_wait(tmp_path, known):
    waited, reads, longest = record_reads(tmp_path, RBWP_THREADS_LEAST_US="0")
    assert len(reads) >= 200
    assert longest["running"] >= 0, longest  # known, though the kernel was asked long before it began
    assert longest["stop"] - longest["start"] - longest["running"] >= 0.9 * waited  # of which it was ready for a while


def test_a_large_copy_is_no_wait(tmp_path, known):
    assert len(record_reads(tmp_path)[1]) < 100  # of 200 that took longer than a wait need: those that were switched out meanwhile


def test_a_wait_behind_what_ran_is_not_taken_off_it(tmp_path, known):
    """The end of a run interval that is recorded behind a wait."""
    path = tmp_path / "late.bin"
    done = subprocess.run([RBWP, "record", "--what", "threads", "-o", path, "--", READS, "late"], capture_output=True, text=True, check=True)
    ran = int(done.stdout.split()[1])
    (thread,) = json.loads(rbwp("stats", "--json", path))["threads"]
    assert 0.98 * ran <= thread["running"] <= 1.02 * ran, (ran, thread)
    in_calls = thread["running"] - thread.get("running_outside", 0)
    assert in_calls + thread["not_known"] >= 0.98 * ran, (ran, thread)


POLLS = """import os, select, signal, sys, threading, time
poll, went = select.poll(), threading.Event()
for each in range(200):
    poll.register(os.dup(os.pipe()[0]))
def run():
    start, more, sure = time.monotonic(), 20, 0
    while more:
        poll.poll(1)
        sum(range(1000))
        if sys.argv[1] == "lives" or time.monotonic() < start + 0.9:
            sure = time.thread_time_ns()
        more -= time.thread_time() > 0.03 if sys.argv[1] == "lives" else time.monotonic() > start + 1.1
    print(threading.get_native_id(), sure, time.thread_time_ns(), flush=True)
    if sys.argv[1] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    went.set()
    poll.poll()
threading.Thread(target=run, daemon=True).start()
went.wait()
"""


@pytest.mark.parametrize("end", ["lives", "dies"])
def test_cpu_time_inside_of_waits_is_its_threads(tmp_path, known, end):
    """A thread that waits by poll nearly all the time, and is in one when the session ends, or is killed: it ran what its clock says,
    of which a part is in no run interval; of one that is killed, what it ran up to its last row and its calls behind that."""
    path = tmp_path / "polls.bin"
    done = subprocess.run([RBWP, "record", "--what", "threads", "-o", path, "--", sys.executable, "-c", POLLS, end], capture_output=True, text=True)
    stats, (os_id, sure, ran) = json.loads(rbwp("stats", "--json", path)), map(int, done.stdout.split())
    (thread,) = (thread for thread in stats["threads"] if thread["os_id"] == os_id)
    print(sure, ran, thread, done.stderr)
    assert 0.98 * sure - 2_000_000 <= thread["running"] <= 1.02 * ran + 2_000_000 <= stats["extent"]
    assert thread["running_outside"] > 0.1 * sure and " outside  busiest threads" in done.stderr


# ---- the trace of the scheduler ---------------------------------------------------------------------------------------------


def start_tracing():
    instance = TRACING / "instances" / f"rbwp-{os.getpid()}"
    instance.mkdir()
    (instance / "trace_clock").write_text("mono")
    (instance / "buffer_size_kb").write_text("32768")
    for event in ("switch", "wakeup", "wakeup_new"):
        (instance / f"events/sched/sched_{event}/enable").write_text("1")
    (instance / "tracing_on").write_text("1")
    return instance


def read_switches(text, ns_of):
    """By thread: (ns, "out" or "in" or "wake", state). ns_of takes CLOCK_MONOTONIC to a time of the records."""
    events = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        ns = ns_of(int(match[4]) * 10**9 + int(match[5].ljust(9, "0")))
        fields = dict(re.findall(r"(\w+)=(\S+)", match[7]))
        if match[6] == "sched_switch":
            events.setdefault(int(fields["prev_pid"]), []).append((ns, "out", fields["prev_state"]))
            events.setdefault(int(fields["next_pid"]), []).append((ns, "in", ""))
        else:
            events.setdefault(int(fields["pid"]), []).append((ns, "wake", ""))
    return events


def intervals(events):
    """Of a thread: (from, to, what) of each time that it was runnable or blocked."""
    found, since, state = [], None, None
    for ns, kind, was in events:
        if kind == "out":
            since, state = ns, "runnable" if was.startswith("R") else "blocked"
        elif kind == "wake" and state == "blocked":
            found.append((since, ns, "blocked"))
            since, state = ns, "runnable"
        elif kind == "in" and state:
            found.append((since, ns, state))
            since = state = None
    return found


def compare(spans, rows, away):
    """How many calls the trace shows as switched out, how many of these have a row, how many have one that the trace does not show,
    and of those with one the difference of the time ready to run."""
    starts = {}
    for row in rows:
        starts.setdefault(int(row["thread"]), []).append((int(row["start"]), row))
    for of_thread in starts.values():  # threads share chunks, so that a later one's may be written first
        of_thread.sort(key=lambda one: one[0])
    switched = both = wrong = 0
    differences = []
    for span in spans:
        of_thread, of_rows = away.get(span["thread_id"] & 0xFFFFFFFF, []), starts.get(span["thread_id"], [])
        begin, end = span["start_ns"], span["start_ns"] + span["duration_ns"]
        at = bisect.bisect_left(of_rows, begin - 1, key=lambda one: one[0])
        row = of_rows[at][1] if at < len(of_rows) and of_rows[at][0] <= begin + 1 else None
        flagged = row is not None and int(row["voluntary"]) + int(row["involuntary"]) > 0
        at = bisect.bisect_left(of_thread, begin - 10**9, key=lambda one: one[0])
        near = [one for one in of_thread[max(at - 3, 0):] if one[0] < end + EDGE_NS and one[1] > begin - EDGE_NS]
        sure = any(one[0] > begin + EDGE_NS and one[0] < end - EDGE_NS for one in near)
        switched += sure
        both += sure and flagged
        wrong += flagged and not near
        if sure and flagged:
            runnable = sum(min(one[1], end) - max(one[0], begin) for one in near if one[2] == "runnable" and one[0] < end and one[1] > begin)
            differences.append((abs(int(row["runnable"]) - runnable), runnable))
    return switched, both, wrong, differences


def traced(make):
    """What make records, and by thread when the trace shows it as away: the path, what was printed, {thread: intervals}."""
    instance = start_tracing()
    try:
        path, printed = make()
        (instance / "tracing_on").write_text("0")
        text = (instance / "trace").read_text()
    finally:
        instance.rmdir()
    (ticks, at_ns), (late_ticks, late_ns) = (tuple(map(int, line[1:])) for line in printed if line[0] == "clock")
    switches = read_switches(text, lambda t: at_ns + (t - ticks) * (late_ns - at_ns) // (late_ticks - ticks))
    return path, printed, {tid: intervals(events) for tid, events in switches.items()}


def agrees_with_the_trace(spans, rows, away):
    switched, both, wrong, differences = compare(spans, rows, away)
    good = sum(off <= max(0.05 * runnable, 20_000 * TIMES_AS_LONG) for off, runnable in differences)
    print(f"switched out {switched}, of these flagged {both}; flagged, and not switched out {wrong}; "
          f"ready to run within max(5 %, 20 us): {good} of {len(differences)}")
    assert switched > 100 and switched - both <= max(3, 0.005 * switched) and wrong <= max(10, 0.01 * switched) * TIMES_AS_LONG
    assert good >= 0.9 * len(differences)


def test_as_the_scheduler_was_traced(tmp_path, known):
    if not os.access(TRACING / "instances", os.W_OK):
        pytest.skip("no tracefs that may be used")
    path, _, away = traced(lambda: record(tmp_path, RBWP_CLOCK="monotonic"))  # as the trace has it
    agrees_with_the_trace(calls_of(path), table(path, "call_cpu"), away)
