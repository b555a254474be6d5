# SPDX-License-Identifier: Apache-2.0
"""`rbwp why` of programs with a fault of which all is known (faults.c, plain.c) names that fault, and of the same programs
without it names nothing.

Each program prints what it measured by its own clock. On a machine that does other things, too, threads wait for a CPU: that
share is known, too ("runnable_ns"), and so much `preempted` is right beside each fault. A run that the machine disturbed is
repeated; the least disturbed of some counts. Where that one was disturbed much, a wrong answer is no failure, but a case that
was skipped."""
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "mpi"))
import mpirun  # noqa: E402

RBWP, FAULTS, PLAIN, SERVER, DEADLOCK, THREADS = (os.environ[name] for name in ("RBWP", "FAULTS", "PLAIN", "SERVER", "DEADLOCK", "THREADS"))
FOLDER = pathlib.Path(os.environ.get("FAULTS_FOLDER", "."))  # on a disk, as fsync is one of the faults
WHOLE = os.environ.get("FAULTS_WHOLE") == "1"

KINDS = {
    "rare call": ("rare_step", "rare_spin", "plain_rare"),
    "lock": ("lock_call", "plain_mutex", "plain_rwlock"),
    "preemption": ("preempted", "preempted_calls", "plain_preempted"),
    "page faults": ("faults_malloc", "faults_file", "plain_faults"),
    "queue": ("behind_call", "behind_same", "behind_manager"),
    "argument": ("argument_tenant", "argument_path", "argument_two"),
    "period": ("period_self", "period_lock", "plain_period"),
    "disk": ("plain_fsync", "fsync_call", "fsync_step"),
    "all stand still": ("everyone_stopped", "everyone_safepoint", "plain_stopped"),
    "late peer": ("late_rank", "late_handler", "plain_late"),
}
LONG = [*(("mpi_late", "mpi_collective") if os.environ["MPI"] else ()), *(("gpu_long", "gpu_behind") if os.environ["FAULTS_GPU"] else ())]  # in the whole form alone
# One of each kind in the short form.
MODES = [mode for modes in KINDS.values() for mode in (modes if WHOLE else modes[:1])] + (LONG if WHOLE else [])

# Other words for the same truth, if who or what is to blame is named with them, too.
ALSO = {
    "argument_path": ("wait",),  # of calls with that path
    "argument_tenant": ("self",),  # of calls with that tenant
    "argument_two": ("self",),
    "everyone_safepoint": ("lock", "wait"),  # for the call that holds all
    "fsync_step": ("wait", "sub_item"),  # the program itself calls that step a wait
    "late_handler": ("sub_item", "wait"),  # the peer's own calls are as slow: their step
    "late_rank": ("behind",),  # likewise: in their queue
    "rare_step": ("self",),  # of that step
}

LEAST_RIGHT, LEAST_ASSIGNED, MOST_OFF = 0.9, 0.95, 0.1
TRIES = 3
PRESSED = 0.8  # of a run in which threads wait for a CPU all the time: a queue is long then, whatever is in it
QUIET, BUSY = 5, {"with": 25, "without": 100}  # of Case.disturbed: not tried again; and what is wrong then says nothing


def rbwp(*words):
    done = subprocess.run([RBWP, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def record_job(mode, fault, folder):
    """The files of two ranks, in a folder, and what both measured together."""
    path = folder / f"{mode}.{fault}"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    status, said, text = mpirun.launch(2, ["env", f"RBWP_THREADS={THREADS}", RBWP, "record", "--what", "threads", "--stacks", "10ms", "-o", f"{path}/%r.bin",
                                           "--", os.environ["FAULTS_MPI"], mode, fault, str(folder)])
    assert status == 0, text
    one, other = (json.loads(line) for line in said.splitlines() if line.startswith("{"))
    return path, one | {key: one[key] + other[key] for key in ("calls", "slow", "excess_ns", "noise_ns", "runnable_ns", "runnable_all_ns")}


def record(mode, fault, folder):
    """Its file, and what it measured."""
    began, pressed = time.monotonic(), pressure_s()
    path, truth = (record_job if mode.startswith("mpi_") else record_program)(mode, fault, folder)
    return path, truth | {"pressure": (pressure_s() - pressed) / (time.monotonic() - began)}


def record_program(mode, fault, folder):
    path = folder / f"{mode}.{fault}.bin"
    if mode.startswith("plain_"):
        command = [RBWP, "record", "--what", "threads", "--stacks", "10ms", "-f", "-o", path, "--", PLAIN]
    else:
        path.unlink(missing_ok=True)
        command = [os.environ["FAULTS_GPU"] if mode.startswith("gpu_") else FAULTS, "-bgworkprofile", "2", "-bgworkprofile_cpu", "1", "-bgworkprofile_stacks", "10ms", "-bgworkprofile_logfile", path]
    done = subprocess.run([*map(str, command), mode, fault, str(folder)], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"RBWP_THREADS": THREADS})
    assert done.returncode == 0, done
    return path, json.loads(done.stdout.splitlines()[-1])


def pressure_s():
    """For how long some thread of this machine has waited for a CPU by now; 0 where the kernel does not count it."""
    path = pathlib.Path("/proc/pressure/cpu")
    return int(re.search(r"^some .*total=(\d+)", path.read_text(), re.M)[1]) / 1e6 if path.exists() else 0


def disturbance(truth, fault):
    """How much of what is slow the machine did: without a fault in ms, with it as a share."""
    if fault == "without":
        return truth["noise_ns"] / 1e6
    machine = truth["noise_ns"] - truth["excess_ns"]
    if truth["is_runnable"]:  # the other calls, of 2 ms of CPU time, had to wait, too
        machine += max(truth["median_ns"] - 2_200_000, 0) * truth["calls"]
    else:
        machine += truth["runnable_ns"]
    return 100 * machine / max(truth["excess_ns"], 1)


class Case:
    """The least disturbed run, and what is said of it."""

    def __init__(self, mode, fault, folder, again=0):
        self.mode, self.fault = mode, fault
        runs = []
        for _ in range(TRIES):
            path, truth = record(mode, fault, folder)
            kept = path.with_suffix(f".{fault}.{again}.{len(runs)}")
            shutil.rmtree(kept, ignore_errors=True)
            runs.append((disturbance(truth, fault), len(runs), truth, path.rename(kept)))
            if runs[-1][0] < QUIET:
                break
        self.disturbed, _, self.truth, self.path = min(runs)

    @property
    def is_busy(self):
        return self.disturbed > BUSY[self.fault] or (self.truth["pressure"] > PRESSED and not self.truth["is_runnable"])

    @functools.cached_property
    def wrong(self):
        return list(self.problems() if self.fault == "with" else self.false_causes())

    def skip_if_busy(self, problems):
        if problems and self.is_busy:
            pytest.skip(f"skipped: {self.mode} {self.fault} its fault: the machine is too busy: {self.disturbed:.0f} {'%' if self.fault == 'with' else 'ms'}")

    @functools.cached_property
    def why(self):
        document = json.loads(rbwp("why", "--json", self.path))
        assert document["schema"] == "rbwp-why-1"
        return document

    @functools.cached_property
    def recorded(self):
        """What the program measured, from the spans in the file: calls with their time in a queue, or waits."""
        spans = [json.loads(line) for line in rbwp("export", "--to", "ndjson", self.path).splitlines()]
        spans = [span for span in spans if span.get("name") == self.truth["call"]]
        queued = {(span["thread_id"], span["start_ns"] + span["duration_ns"]): span["duration_ns"] for span in spans if span.get("own_category") == "queued"}
        took = [span["duration_ns"] + max(queued.get((span["thread_id"], span["start_ns"] + off), 0) for off in (-1, 0, 1))
                for span in spans if span["category"] == "bgwork" or span.get("own_category") in ("wait", "mpi_wait")]
        usual = statistics.median(took)
        return sum(ns - usual for ns in took if ns - usual > self.truth["stall_ns"] / 6)

    @property
    def by_machine(self):
        """Of the time that is slow, what threads waited for a CPU because others had it."""
        return 0 if self.truth["is_runnable"] else self.truth["runnable_ns"]

    @property
    def causes(self):
        """Without what the machine did to the program."""
        most = 1.1 * self.by_machine + 2_000_000
        return [cause for cause in self.why["causes"] if cause["cause"] != "preempted" or cause["excess_ns"] > most]

    @property
    def first(self):
        return self.causes[0] if self.causes else {"cause": "nothing", "where": {}, "by": {}}

    @property
    def assigned(self):
        """The share of the slow calls' time that has a cause."""
        return sum(cause["excess_ns"] for cause in self.why["causes"] if cause["cause"] != "unknown") / max(self.why["slow"]["excess_ns"], 1)

    def excess_bounds(self):
        """Of what is slow, by the program's own clock. What the machine did may count or not."""
        return (1 - MOST_OFF) * (self.truth["excess_ns"] - self.by_machine), (1 + MOST_OFF) * max(self.truth["excess_ns"], self.truth["noise_ns"])

    def problems(self):
        """What is wrong with the answer: a line each."""
        truth, slow = self.truth, self.why["slow"]
        if self.first["cause"] not in (truth["cause"], *ALSO.get(self.mode, ())):
            yield f"{self.first['cause']} is first, not {truth['cause']}"
        if truth["by"] and self.first["cause"] != "everyone" and truth["by"] not in texts_of(self.first):
            yield f"{truth['by']} is not named: {texts_of(self.first)}"
        if truth["period_ns"]:
            every_ns = slow.get("period", {}).get("every_ns", 0)
            if abs(every_ns - truth["period_ns"]) > MOST_OFF * truth["period_ns"]:
                yield f"its period is {truth['period_ns']} ns, not {every_ns}"
        if self.assigned < LEAST_ASSIGNED:
            yield f"{self.assigned:.1%} of the excess has a cause"
        least, most = self.excess_bounds()
        if not least <= slow["excess_ns"] <= most:
            yield f"the excess is {slow['excess_ns'] / 1e6:.1f} ms, not {truth['excess_ns'] / 1e6:.1f}"

    def false_causes(self):
        """Causes that are named without the fault, beyond what the machine did to the program."""
        of_machine = ("unknown", "preempted") if self.mode.startswith("mpi_") else ("unknown",)  # ranks poll, also where they do not measure
        named = [cause for cause in self.why["causes"] if cause["cause"] not in of_machine]
        return named if sum(cause["excess_ns"] for cause in named) > 1.1 * self.truth["noise_ns"] + 1_000_000 else []


def texts_of(cause):
    """All that is named with a cause; an argument as key=value."""
    def of(value):
        if isinstance(value, dict):
            if {"key", "value"} <= value.keys():
                yield f"{value['key']}={value['value']}"
            for inner in value.values():
                yield from of(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from of(inner)
        elif isinstance(value, str):
            yield value
    return list(of([cause.get("where"), cause.get("by")]))


@pytest.fixture(scope="module")
def cases():
    """Each case is run once; twice more where the answer is wrong, of which both must be right then: a machine that others use
    may have made one fault more than the program's."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {}

    def case(mode, fault):
        if (mode, fault) not in found:
            first = Case(mode, fault, FOLDER)
            others = [Case(mode, fault, FOLDER, again) for again in (1, 2)] if first.wrong and not first.is_busy else []
            found[mode, fault] = others[0] if others and not any(other.wrong for other in others) else first
            found[mode, fault].wrong_before = first.wrong if found[mode, fault] is not first else []
        return found[mode, fault]
    return case


@pytest.mark.parametrize("mode", MODES)
def test_file_has_what_the_program_measured(cases, mode):
    """Without this the rest says nothing of `rbwp why`."""
    case = cases(mode, "with")
    least, most = case.excess_bounds()
    good = case.truth["slow"] > 0 and least <= case.recorded <= most
    case.skip_if_busy(not good)
    assert good, (case.recorded, case.truth)


@pytest.mark.parametrize("mode", MODES)
def test_fault_is_named(cases, mode):
    case = cases(mode, "with")
    problems = list(case.problems())
    case.skip_if_busy(problems)
    assert not problems, (problems, case.truth, case.why)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_named_without_it(cases, mode):
    case = cases(mode, "without")
    case.skip_if_busy(case.false_causes())
    assert not case.false_causes(), (case.truth, case.why)


def test_nearly_all_are_right(cases):
    """At least 27 of 30 have the right cause first, with 95 % of the time that is slow; and without a fault there is none."""
    print(f"\n{'case':20} {'true cause':12} {'named first':12} {'assigned':>8} {'excess ms':>10} {'measured':>9} {'machine':>8}  without the fault")
    right = judged = false = 0
    for mode in MODES:
        case, without = cases(mode, "with"), cases(mode, "without")
        problems, named = list(case.problems()), without.false_causes()
        is_judged = not problems or not case.is_busy
        right, judged, false = right + (not problems), judged + is_judged, false + (0 if without.is_busy else len(named))
        print(f"{mode:20} {case.truth['cause']:12} {case.first['cause']:12} {case.assigned:8.1%} {case.why['slow']['excess_ns'] / 1e6:10.1f} "
              f"{case.truth['excess_ns'] / 1e6:9.1f} {case.disturbed:7.0f}%  {' '.join(cause['cause'] for cause in named) or '-'}"
              f" ({without.disturbed:.0f} ms by the machine)  {'; '.join(problems)}{'' if is_judged else ' (not judged)'}"
              f"{''.join(f' (one of three recordings: {one})' for one in case.wrong_before + without.wrong_before)}")
    print(f"right {right} of {len(MODES)}, of which {judged} are judged; named without a fault: {false}")
    assert right >= LEAST_RIGHT * judged and false == 0


# ---- programs as they come: in the whole form (tests/long) -------------------------------------------------------------------

real = pytest.mark.real


def why(path):
    return json.loads(rbwp("why", "--json", path))


@real
def test_rare_calls_among_many_short_ones(tmp_path):
    """Of 100,000 calls of microseconds some take 100 ms. At level 1, without a word of what the thread did, the cause is unknown."""
    path = tmp_path / "rare.bin"
    done = subprocess.run([FAULTS, "-bgworkprofile", "1", "-bgworkprofile_logfile", path, "rare_sleep", "with", tmp_path], capture_output=True, text=True, check=True)
    truth, document = json.loads(done.stdout), why(path)
    if disturbance(truth, "with") > BUSY["with"]:
        pytest.skip("skipped: rare calls among short ones: the machine is too busy")
    assert document["slow"]["name"] == "request" and document["slow"]["calls"] == truth["slow"], (truth, document)
    assert abs(document["slow"]["excess_ns"] - truth["excess_ns"]) <= MOST_OFF * truth["excess_ns"], (truth, document)
    assert document["unknown"]["share"] >= LEAST_ASSIGNED, document


def ask(port, number, first):
    """So many requests, one in 250 of which is a scan."""
    numbers = random.Random(first)
    for i in range(first, first + number):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"scan" if i % 250 == 100 else b"%s %d" % (numbers.choice((b"get", b"set")), numbers.randrange(4096)))
            connection.recv(64)


@real
def test_server_whose_table_is_locked_while_it_is_counted(tmp_path):
    path = tmp_path / "server.bin"
    command = [RBWP, "record", "--what", "threads", "--stacks", "10ms", "-o", path, "--", SERVER, "3000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ | {"RBWP_THREADS": THREADS}) as server:
        port = int(server.stdout.readline())
        clients = [threading.Thread(target=ask, args=(port, 750, 750 * i)) for i in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert server.wait(60) == 0
    document = why(path)
    assert document["slow"]["name"] == "mutex" and document["causes"][0]["cause"] == "lock", document


@real
def test_deadlock_of_two_mutexes(tmp_path):
    """tests/truth/deadlock.c: it is killed, and both waits are open at the end."""
    path = tmp_path / "dead.bin"
    command = [RBWP, "record", "--what", "threads", "--stacks", "20ms", "-o", path, "--", DEADLOCK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ | {"RBWP_THREADS": THREADS}) as record:
        threads = [int(record.stdout.readline().split()[2]) for _ in range(2)]
        (program,) = {int(re.search(r"^Tgid:\t(\d+)", open(f"/proc/{thread}/status").read(), re.M)[1]) for thread in threads}
        time.sleep(1)  # how long they have waited by then
        os.kill(program, signal.SIGKILL)
    document = why(path)
    assert document["causes"] and document["causes"][0]["cause"] == "lock" and document["slow"]["excess_ns"] > 1_000_000_000, document
