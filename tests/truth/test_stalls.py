# SPDX-License-Identifier: Apache-2.0
"""What is on record of calls and waits that last, while they last: rows of open_call, stack_word and code_file, against what a program
knows of itself (tests/truth/stalls.c, deadlock.c)."""
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

RBWP, STALLS, STALLS_PYTHON, DEADLOCK, MALLOC_HELD, PLAIN, THREADS, NM = (os.environ[name] for name in ("RBWP", "STALLS", "STALLS_PYTHON", "DEADLOCK", "MALLOC_HELD", "PLAIN", "THREADS", "NM"))
LIMIT_NS = 40_000_000
KINDS = ("mutex", "rwlock", "condition", "semaphore", "nanosleep", "read", "poll", "epoll", "futex", "loop", "handler", "allocator",
         "memory", "fault", "flock", "accept", "connect")
ALONE = ("malloc", "constructor", "python", "exit", "child")  # each in a process of its own
CALLS_PYTHON = '''
import ctypes, sys, time
def inner():
    time.sleep(0.16)
def middle():
    inner()
def outer():
    middle()
library = ctypes.CDLL(sys.argv[1])
function = ctypes.CFUNCTYPE(None)(outer)
words = [word.encode() for word in sys.argv[1:]]
sys.exit(library.stalls_call_back(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None), function))
'''
CALLED = [("inner", "<string>", 4), ("middle", "<string>", 6), ("outer", "<string>", 8)]
RUNNING = ("loop", "handler", "memory")
FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]


def rbwp(*args):
    return subprocess.run([RBWP, *map(str, args)], capture_output=True, text=True, check=True).stdout


def table(path, name):
    """Its rows; none if there is no such table."""
    done = subprocess.run([RBWP, "tables", "--table", name, path], capture_output=True, text=True)
    assert done.returncode == 0 or "no table" in done.stderr, done.stderr
    return [{key: int(text) if re.fullmatch(r"-?\d+", text) else text for key, text in row.items()} for row in csv.DictReader(io.StringIO(done.stdout))]


def threads_of(path):
    """The file's number of each thread, by the system's."""
    return {thread["os_id"]: thread["thread_id"] for thread in json.loads(rbwp("info", "--json", path))["threads"]}


def functions_of(program):
    """Address in the file and size of each function."""
    shown = subprocess.run([NM, "-S", program], capture_output=True, text=True, check=True).stdout
    return {name: (int(at, 16), int(size, 16)) for at, size, _, name in (line.split() for line in shown.splitlines() if len(line.split()) == 4)}


class Run:
    """looks: rows of open_call by kind; words: (place, word) of each look that has a stack, by thread and time."""

    def __init__(self, path, program, printed):
        self.program = program
        threads = threads_of(path)
        self.kinds = {line[1]: line for line in printed if line[0] == "kind"}
        self.begins = [(line[1], *map(int, line[2:])) for line in printed if line[0] == "call"]
        self.kept = [(int(line[1]), int(line[2])) for line in printed if line[0] == "kept"]
        self.missing = {line[1] for line in printed if line[0] == "none"}
        opened = table(path, "open_call")
        self.looks = {kind: [row for row in opened if row["thread"] == threads[int(line[2])]] for kind, line in self.kinds.items()}
        self.code = table(path, "code_file")
        self.words, self.python = {}, {}
        for row in table(path, "python_frame"):
            self.python.setdefault((row["thread"], row["time"]), []).append((row["function"], row["file"], row["line"]))
        for row in table(path, "stack_word"):
            self.words.setdefault((row["thread"], row["time"]), []).append((row["place"], row["word"]))

    def code_of(self, address):
        return next((row for row in self.code if row["start"] <= address < row["end"]), None)

    def stack(self, look):
        return self.words.get((look["thread"], look["time"]), [])

    def calls(self, kind):
        """The looks of each call that have a stack whose first words are code."""
        calls = {}
        for look in self.looks[kind]:
            words = self.stack(look)
            returns = [word for place, word in words if place > 2 and self.code_of(word)]
            calls.setdefault(look["since"], [])
            if words and words[0][0] == 0 and self.code_of(words[0][1]) and returns:
                calls[look["since"]].append(look)
        return calls


def record(work, *kinds):
    path, program = work / "stalls.bin", STALLS_PYTHON if "python" in kinds else STALLS
    flags = ["-bgworkprofile", "1", "-bgworkprofile_stacks", f"{LIMIT_NS}ns", "-bgworkprofile_logfile", str(path), "-bgworkprofile_children", "1"]
    start = [sys.executable, "-c", CALLS_PYTHON, program] if "python" in kinds else [program]
    done = subprocess.run([*start, *flags, *kinds], capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    if "child" in kinds:
        (path,) = (file for file in work.iterdir() if file != path)
    return Run(path, program, [line.split() for line in done.stdout.splitlines()])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The run of each kind."""
    together = record(tmp_path_factory.mktemp("together"))
    return dict.fromkeys(KINDS, together) | {kind: record(tmp_path_factory.mktemp(kind), kind) for kind in ALONE}


def kind_or_skip(run, kind):
    if kind in run.missing:
        pytest.skip(f"this system has no {kind} (userfaultfd)")


def test_nearly_each_call_has_a_look_with_its_stack(runs, capsys):
    """99 of 100 calls that are twice as long as the limit (here: four times). Nobody looks while the recorder itself waits for
    malloc's lock, which it takes when the first data of a kind are written; that is a matter of malloc_held."""
    begins, without, kept = 0, [], 0
    for run in set(runs.values()):
        calls = {kind: run.calls(kind) for kind in run.kinds}
        begins += len(run.begins)
        kept += len(run.kept)
        without += [(kind, begun) for kind, begun, until, end in run.begins if not any(looks for since, looks in calls[kind].items() if begun - 1_000_000 <= since <= until + 1_000_000)
                    and not any(start < end and begun < stop for start, stop in run.kept)]
    with capsys.disabled():
        print(f"{begins} calls of {sum(len(run.kinds) for run in set(runs.values()))} kinds, {len(without)} without a stack {without}, {kept} times the recorder waited for malloc's lock")
    assert begins >= 180 and kept <= 4 and len(without) <= begins // 100


def test_no_wait_is_interrupted(runs):
    for run in set(runs.values()):
        assert {kind: int(line[3]) for kind, line in run.kinds.items()} == dict.fromkeys(run.kinds, 0)


@pytest.mark.parametrize("kind", KINDS + ALONE)
def test_stack_has_the_function_that_stands_still(runs, kind):
    run = runs[kind]
    kind_or_skip(run, kind)
    functions = functions_of(run.program)
    at, size = functions["stall_loop" if kind == "handler" else f"stall_{kind}"]
    for look in (look for looks in run.calls(kind).values() for look in looks):
        words = [word for place, word in run.stack(look) if place == 0 or place > 2]
        in_file = [word - code["start"] + code["offset"] for word in words if (code := run.code_of(word)) and code["path"] == run.program]
        assert any(at <= address < at + size for address in in_file), (kind, look, list(map(hex, in_file)), hex(at))


@pytest.mark.parametrize("kind", KINDS + ALONE)
def test_look_says_what_the_thread_is_in(runs, kind):
    run = runs[kind]
    kind_or_skip(run, kind)
    looks = [look for look in run.looks[kind] if run.stack(look)]
    assert looks and {look["kind"] for look in looks} == {"call"}
    assert all(LIMIT_NS <= look["time"] - look["since"] for look in looks)
    for look in looks:
        assert (look["system_call"] == 0) == (kind in RUNNING or kind == "fault"), look
        assert (look["object"] != 0) == (look["system_call"] == FUTEX + 1), look
        assert (look["system_call_name"] == "futex") == (look["system_call"] == FUTEX + 1), look
        assert kind not in ("read", "nanosleep") or look["system_call_name"] in (kind, "clock_nanosleep"), look
    if kind in ("mutex", "malloc"):  # its holder is its keeper, a thread that records nothing
        assert all(look["holder"] not in (0, int(run.kinds[kind][2])) for look in looks)
    else:
        assert {look["holder"] for look in looks} == {0}


def test_stack_has_the_python_functions(runs):
    """Of a program that records itself: a call in C, and what it called of Python's. Other kinds have none."""
    run = runs["python"]
    looks = [look for looks in run.calls("python").values() for look in looks]
    assert len(looks) >= 8
    for look in looks:
        assert run.python.get((look["thread"], look["time"])) == CALLED, look
    assert not runs["mutex"].python


def test_file_has_no_data_of_the_program(runs):
    """What stands on a stack and points nowhere is not kept."""
    run = runs["mutex"]
    for words in run.words.values():
        stack = dict(words)[1]
        for place, word in words:
            assert place < 3 or stack <= place < stack + 32768
            assert run.code_of(word) or stack <= word < stack + (64 << 20), (place, hex(word))
        assert [place for place, _ in words] == sorted(place for place, _ in words)


def test_code_has_the_files_build_ids(runs):
    run = runs["mutex"]
    shown = subprocess.run(["readelf", "-n", STALLS], capture_output=True, text=True, check=True).stdout
    (own,) = {row["build_id"] for row in run.code if row["path"] == STALLS}
    assert own == re.search(r"Build ID: (\w+)", shown)[1]
    assert all(row["build_id"] for row in run.code if row["path"].startswith("/usr/lib"))
    assert len({row["start"] for row in run.code}) == len(run.code)


def test_age_doubles(runs):
    """A call is looked at again when its age is the limit's next multiple by a power of two, or later."""
    run = runs["mutex"]
    for looks in ([look for look in run.looks[kind] if look["since"] == since] for kind in run.kinds for since in run.calls(kind)):
        ages = [look["time"] - look["since"] for look in looks]
        powers = [(age // LIMIT_NS).bit_length() for age in ages]
        assert powers == sorted(set(powers)), ages


def whole(path):
    """What FILE and FILE.live have by now as a file."""
    made = path.with_suffix(".whole")
    rbwp("repair", "-f", path, "-o", made)
    return made


def deadlock(command, path, environment):
    """Its mutexes and their holders. It is killed when both waits have been looked at, and leaves FILE.live."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as program:
        try:
            mutexes = dict(tuple(map(int, program.stdout.readline().split()[1:])) for _ in range(2))
            until = time.monotonic() + 60
            while len({row["thread"] for row in table(whole(path), "open_call") if row["holder"]}) < 2:
                assert program.poll() is None and time.monotonic() < until
                time.sleep(0.05)
        finally:
            program.send_signal(signal.SIGKILL)
    assert path.with_name(path.name + ".live").exists()
    return mutexes


def check_cycle(mutexes, path, kind):
    """Each of the two waits for the mutex that the other one holds."""
    os_ids = {number: os_id for os_id, number in threads_of(path).items()}
    waits = {os_ids[row["thread"]]: row for row in table(path, "open_call") if row["kind"] == kind and row["holder"]}
    assert set(waits) == set(mutexes.values())
    for waiter, row in waits.items():
        assert row["object"] in mutexes and row["holder"] == mutexes[row["object"]] != waiter
        assert row["system_call"] == FUTEX + 1


def test_kill_leaves_who_waits_for_whom(tmp_path):
    path = tmp_path / "dead.bin"
    flags = ["-bgworkprofile", "1", "-bgworkprofile_stacks", "20ms", "-bgworkprofile_logfile", str(path)]
    mutexes = deadlock([DEADLOCK, *flags], path, os.environ)
    check_cycle(mutexes, whole(path), "call")
    assert table(whole(path), "stack_word") and table(whole(path), "code_file")


@pytest.mark.parametrize("stacks", ["", "20ms"])
def test_unmodified_program(tmp_path, stacks):
    path = tmp_path / "plain.bin"
    environment = os.environ | {"LD_PRELOAD": THREADS, "RBWP_THREADS_FILE": str(path), "RBWP_THREADS_STACKS": stacks}
    mutexes = deadlock([PLAIN], path, environment)
    check_cycle(mutexes, whole(path), "mutex")
    assert bool(table(whole(path), "stack_word")) == bool(stacks)


def test_record_passes_the_limit_on(tmp_path):
    """rbwp record makes the file whole that a killed program leaves."""
    path = tmp_path / "recorded.bin"
    command = [RBWP, "record", "--what", "threads", "--stacks", "20ms", "-o", str(path), "--", PLAIN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"RBWP_THREADS": THREADS}) as record:
        mutexes = dict(tuple(map(int, record.stdout.readline().split()[1:])) for _ in range(2))
        (program,) = {int(re.search(r"^Tgid:\t(\d+)", open(f"/proc/{thread}/status").read(), re.M)[1]) for thread in mutexes.values()}
        until = time.monotonic() + 60
        while not table(whole(path), "stack_word") and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.2)
        os.kill(program, signal.SIGKILL)
    check_cycle(mutexes, path, "mutex")
    assert table(path, "stack_word") and table(path, "code_file")


def test_malloc_is_held(tmp_path, capsys):
    """No look waits for malloc's lock, whoever holds it. 1,000 times; 100,000 in tests/long. Now and then the writer does, when its
    index of the file doubles."""
    path, count = tmp_path / "held.bin", os.environ["MALLOC_STALLS"]
    flags = ["-bgworkprofile", "1", "-bgworkprofile_stacks", "1ms", "-bgworkprofile_logfile", str(path)]
    done = subprocess.run([MALLOC_HELD, *flags, count], capture_output=True, text=True, check=True, timeout=1200)
    _, stalls, holder, waiter, kept = done.stdout.split()
    threads, opened, stacks = threads_of(path), table(path, "open_call"), {(row["thread"], row["time"]) for row in table(path, "stack_word")}
    looks = {name: [row for row in opened if row["thread"] == threads[int(name)] and (row["thread"], row["time"]) in stacks] for name in (holder, waiter)}
    with capsys.disabled():
        print(f"{stalls} stalls with malloc's lock, {len(looks[holder])} looks with a stack, {len(looks[waiter])} at who waited, {kept} waits of the recorder's")
    assert int(kept) <= min(int(count) // 100, 20)
    assert looks[holder] and len(looks[holder] + looks[waiter]) >= int(count) // 100
    assert int(holder) in {row["holder"] for row in looks[waiter]} <= {int(holder), 0}  # 0: let go meanwhile


def test_flag_takes_durations_alone():
    done = subprocess.run([STALLS, "-bgworkprofile", "1", "-bgworkprofile_stacks", "soon"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == '-bgworkprofile_stacks: "soon" is not a duration (500ms, 60s, 5min)\n'
