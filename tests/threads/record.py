#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rbwp record --what threads: the program runs as without, whatever it is and however it ends, and what its threads did is
in the profile: that of the program which is executed last, whole even if it was killed; and what cannot be recorded is one
line."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import recorded
from tested_machine import PYTHON  # its programs come first in PATH

RBWP, WITNESS, LONE = os.environ["RBWP"], os.environ["WITNESS"], os.environ["LONE"]


def record(folder, *words, code=0, options=(), stdin="", file="out.bin", **more):
    """(standard output, lines of standard error)"""
    done = subprocess.run([RBWP, "record", "--what", "threads", "-f", "-o", folder / file, *options, "--", *words],
                          input=stdin, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "RBWP_THREADS": os.environ["THREADS"], **more})
    assert done.returncode == code, (done, code)
    return done.stdout, done.stderr.splitlines()


def kinds(folder, file="out.bin"):
    return [row["kind"] for row in recorded.Recording(folder / file).waits]


def test_streams_and_status(folder):
    out, messages = record(folder, "sh", "-c", "cat; sleep 0.02; exit 7", stdin="in", code=7, options=["--report", folder / "page"])
    assert out == "in" and "child process" in kinds(folder), (out, kinds(folder))
    assert any(line.startswith(f"{folder}/out.bin: 1 thread in ") for line in messages), messages
    assert "<html" in (folder / "page").read_text()[:200], "no page"


def test_executed_last(folder):
    """Programs that only start others, as env does, are not what is recorded."""
    out, messages = record(folder, "env", "sh", "-c", f"true; exec {WITNESS} odd")
    recording = recorded.Recording(folder / "out.bin")
    assert pathlib.Path(WITNESS).name in {thread["name"] for thread in recording.threads.values()}, recording.threads
    assert not list(folder.glob("*crashed*")) and out.count("wait ") > 4, (out, messages)


def test_executed_earlier(folder):
    """A name for each process: what it executed before is kept as well, whole, and none of it crashed."""
    first = f"import os, time\ntime.sleep(0.02)\nos.execv('{PYTHON}', ['{PYTHON}', '-c', 'import time; [time.sleep(0.02) for _ in range(2)]'])"
    _, messages = record(folder, PYTHON, "-c", first, file="%p.bin")
    last, = folder.glob("*.bin")
    before, = folder.glob("*.bin.*")
    assert before.name == f"{last.name}.earlier-{last.stem}", list(folder.iterdir())
    assert [kinds(folder, path.name).count("sleep") for path in (before, last)] == [1, 2], messages
    assert any(" and 1 more: " in line for line in messages), messages


def test_killed(folder):
    _, messages = record(folder, "sh", "-c", "sleep 0.02; kill -9 $$", code=-signal.SIGKILL)
    assert "child process" in kinds(folder) and not (folder / "out.bin.live").exists(), messages


def test_ends(folder):
    """However a program ends, what a thread does until then is in the profile, and no thread of it is hung."""
    for way, code in {"exit": 3, "_exit": 3, "quick": 3, "abort": -signal.SIGABRT, "kill": -signal.SIGKILL,
                      "term": -signal.SIGTERM}.items():
        _, messages = record(folder, LONE, "end", way, code=code)
        recording = recorded.Recording(folder / "out.bin")
        main, spinner = sorted(recording.threads)
        stretches = [stretch for stretch in recording.stretches if stretch[0] == spinner]
        assert len(stretches) == 1 and stretches[0][3], (way, stretches)
        assert stretches[0][3] - stretches[0][2] > 150_000_000, (way, stretches)
        assert not any("open" in line for line in messages), (way, messages)
        shown = subprocess.run([RBWP, "stats", "--findings", folder / "out.bin"], capture_output=True, text=True, check=True)
        assert "hung" not in shown.stdout, (way, shown.stdout)


def test_names(folder):
    """A thread without a name has the address of the function that it was started with, which tools find the name of; one that it
    gives itself stays."""
    record(folder, LONE, "end", "exit", code=3)
    named = sorted(thread["name"] for thread in recorded.Recording(folder / "out.bin").threads.values())
    build_id = subprocess.run(["readelf", "-n", LONE], capture_output=True, text=True, check=True).stdout.split("Build ID: ")[1].split()[0]
    symbols = subprocess.run(["nm", LONE], capture_output=True, text=True, check=True).stdout.splitlines()
    spin, = (int(line.split()[0], 16) for line in symbols if line.endswith(" spin"))
    assert named == [f"{os.path.realpath(LONE)}+{spin:#x} (BuildId: {build_id})", pathlib.Path(LONE).name], (named, hex(spin))
    shown = subprocess.run([RBWP, "stats", folder / "out.bin"], capture_output=True, text=True, check=True).stdout
    with_libdw = "libdw" in subprocess.run(["ldd", RBWP], capture_output=True, text=True, check=True).stdout
    name = "spin" if with_libdw else f"{pathlib.Path(LONE).name}+{spin:#x}"
    assert re.search(rf" {re.escape(name)}( |$)", shown, re.M), shown
    program = ("import ctypes, threading\n"
               "name = lambda: ctypes.CDLL(None).prctl(15, b'by prctl', 0, 0, 0)\n"
               "threads = [threading.Thread(target=f) for f in (name, str)]\n"
               "[t.start() for t in threads]; [t.join() for t in threads]")
    record(folder, PYTHON, "-c", program)
    names = [thread["name"] for thread in recorded.Recording(folder / "out.bin").threads.values()]
    assert names.count("by prctl") == 1 and sum("+0x" in name for name in names) == 1, names


def test_locks(folder):
    """A lock in a program's data has its symbol's name, one that is inside of it with how far."""
    record(folder, LONE, "locked")
    if "libdw" not in subprocess.run(["ldd", RBWP], capture_output=True, text=True, check=True).stdout:
        return
    why = [RBWP, "why", "--name", "mutex", "--slower-than", "200ms", folder / "out.bin"]
    shown = json.loads(subprocess.run([*why, "--json"], capture_output=True, text=True, check=True).stdout)
    assert {"shared_locks", "shared_locks+0x28"} <= {cause["where"].get("object_name") for cause in shown["causes"]}, shown
    text = subprocess.run(why, capture_output=True, text=True, check=True).stdout
    assert "mutex shared_locks+0x28;" in text and "mutex shared_locks;" in text, text


def test_no_mpi(folder):
    """Our functions of MPI are there, its library is not: a call of one fails, and does nothing else."""
    out, _ = record(folder, PYTHON, "-c", "import ctypes; print(ctypes.CDLL(None).MPI_Barrier(0))")
    assert out == "16\n", out


def test_unseen(folder):
    """A futex that a runtime waits for by a system call of its own is no row of waits. stats shows the time as waiting all the same, and
    from 100 ms on the call is on record with what it is in."""
    record(folder, LONE, "unseen")
    assert "futex" not in kinds(folder), kinds(folder)
    looks = [row for row in recorded.Recording(folder / "out.bin").rows("open_call") if row["kind"] == "call"]
    names = recorded.Recording(folder / "out.bin").file["names"]
    assert looks and all(names[row["system_call_name"]] == "futex" and row["object"] for row in looks), looks
    shown = json.loads(subprocess.run([RBWP, "stats", "--json", folder / "out.bin"], capture_output=True, text=True, check=True).stdout)
    assert max(thread["waiting"] for thread in shown["threads"]) >= 300_000_000, shown["threads"]


def test_title(folder):
    """What a server writes over its arguments is the name of the process, also where it was killed."""
    for way in "alone", "threads":
        record(folder, LONE, "titled", way, code=-signal.SIGKILL, file=f"{way}.bin")
        shown = subprocess.run([RBWP, "processes", "--json", folder / f"{way}.bin"], capture_output=True, text=True, check=True).stdout
        assert json.loads(shown)["name"] == "lone: working", (way, shown)


def test_each_process(folder):
    record(folder, "sh", "-c", "sleep 0.02; exit 0", file="each%p.bin")
    assert any("sleep" in kinds(folder, path.name) for path in folder.glob("each*.bin")), list(folder.iterdir())


CLOSES = """
import os, sys, threading
os.closerange(3, 1024)
theirs = [os.open(f"{sys.argv[1]}/{number}", os.O_RDWR | os.O_CREAT, 0o600) for number in range(900)]
thread = threading.Thread(target=lambda: [threading.Event().wait(0.001) for _ in range(100)])
thread.start()
thread.join()
print([number for number in theirs if os.fstat(number).st_size])
"""


def test_closes_all_descriptors(folder):
    """A daemon closes all descriptors, ours too, and gets their numbers for its own files, which stay as they are."""
    (folder / "theirs").mkdir()
    out, messages = record(folder, PYTHON, "-c", CLOSES, folder / "theirs")
    assert out == "[]\n" and len(kinds(folder)) > 90, (out, messages)


def test_part(folder):
    """One end of the time alone is heeded, too: nothing lies that late, or that early; and the whole in what is long enough."""
    for options, said in ((["--after", "100s"], "nothing was recorded at --from or later"), (["--for", "1ms"], "nothing was recorded before the end"),
                          (["--after", "1ms"], None), (["--for", "100s"], None)):
        _, messages = record(folder, "sh", "-c", "sleep 0.05; exec sh -c 'sleep 0.01; exit 0'", options=options)
        assert said in str(messages) if said else "nothing" not in str(messages), (options, messages)
        assert "child process" in kinds(folder), (options, messages)


FORKS = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        time.sleep(0.03)
        os._exit(0)
for _ in range(3):
    os.wait()
if os.fork() == 0:
    os.setsid()
    os._exit(0)
os._exit(5)
"""


def test_forked(folder):
    """A file for each child that waits; or who has none, also of one that the program does not wait for."""
    _, messages = record(folder, PYTHON, "-c", FORKS, code=5, TMPDIR=str(folder))
    line, = [line for line in messages if "forked" in line]
    assert line.startswith("4 processes that it forked are not recorded (python"), messages
    assert f"-o {folder}/out.%p.bin" in line and line.count(", ") in (2, 3), line
    _, messages = record(folder, PYTHON, "-c", FORKS, code=5, file="forked-%p.bin")
    assert not [line for line in messages if "forked " in line], messages
    sleeps = sorted(kinds(folder, path.name).count("sleep") for path in folder.glob("forked-*.bin"))
    assert sleeps == [0, 1, 1, 1], sleeps
    assert not list(folder.glob("rbwp-children-*")), "the list stays"


def test_not_recorded(folder):
    """One line, no file, and the program runs."""
    cases = [(["no such program"], 127)]
    for name, words in {"static": ["cc", "-static"], "musl": ["musl-gcc"], "asan": ["gcc", "-fsanitize=address"],
                        "tsan": ["gcc", "-fsanitize=thread"], "clang": ["clang-19", "-fsanitize=address"]}.items():
        if shutil.which(words[0]) and link(words, folder / name):
            cases.append(([folder / name], 5))
        else:
            print(f"skipped: a program of {' '.join(words)}, which is not here, or does not make one that runs")
    if os.getuid() == 0:
        shutil.copy("/bin/true", folder / "privileged")
        os.chown(folder / "privileged", 65534, 65534)
        os.chmod(folder / "privileged", 0o4755)
        cases.append(([folder / "privileged"], 0))
    for words, code in cases:
        _, messages = record(folder, *words, code=code, file="none.bin")
        assert len(messages) == 1 and not (folder / "none.bin").exists(), (words, messages)
    _, messages = record(folder, "true", file="no folder/out.bin")
    assert len(messages) == 1, messages


def link(words, program):
    """False: not here, or what was linked does not run here (TSan where addresses are at random)."""
    source = "int main(void) { return 5; }"
    linked = subprocess.run([*words, "-x", "c", "-o", program, "-"], input=source, text=True, stderr=subprocess.DEVNULL)
    return linked.returncode == 0 and subprocess.run([program], stderr=subprocess.DEVNULL).returncode == 5


def test_library_of_another(folder):
    """A library that lies beside rbwp but is another user's, or for all to write, is not loaded into the program."""
    (folder / "bin").mkdir()
    program = shutil.copy(RBWP, folder / "bin" / "rbwp")
    library = shutil.copy(os.environ["THREADS"], folder / "librbwp-threads.so")
    environment = {name: value for name, value in os.environ.items() if name != "RBWP_THREADS"}
    makers = [lambda: None, lambda: os.chmod(library, 0o777)]
    if os.getuid() == 0:
        makers.append(lambda: (os.chmod(library, 0o755), os.chown(library, 65534, 65534)))
    for number, make in enumerate(makers):
        make()
        done = subprocess.run([program, "record", "--what", "threads", "-o", folder / f"{number}.bin", "--", "sleep", "0.01"],
                              capture_output=True, text=True, env=environment, timeout=60)
        assert (folder / f"{number}.bin").exists() == (number == 0), (number, done)
        assert number == 0 or f"{library}: others than this user and root may write it" in done.stderr.replace("bin/../", ""), done


def test_ranks(folder):
    """Ranks that record side by side tell each of its own; a script of a job, of all."""
    for rank in range(3):
        rank_is = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "3"}
        _, messages = record(folder, "sh", "-c", f"sleep 0.01; touch {folder}/rank-*.bin; exit 0", file="rank-%p.bin", **rank_is)
        summary, = [line for line in messages if " thread" in line and " in " in line]
        assert summary.startswith(f"{folder}/rank-") and " and 2 more: 3 threads" in summary, messages
    script = {"SLURM_PROCID": "0", "SLURM_NTASKS": "3"}
    ranks = "for r in 0 1 2; do OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3 sleep 0.01; done"
    _, messages = record(folder, "sh", "-c", ranks, file="job-%p.bin", **script)
    assert any(" and 3 more: 4 threads" in line for line in messages), messages


def test_usage(folder):
    for words in (["--what", "nothing", "--", "true"], ["--what", "threads"], ["--what", "threads", "--ptx", "--", "true"]):
        done = subprocess.run([RBWP, "record", *words], capture_output=True, text=True, cwd=folder)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, (words, done)


for test in (test_streams_and_status, test_executed_last, test_executed_earlier, test_killed, test_ends, test_names, test_locks, test_no_mpi, test_unseen, test_title, test_each_process, test_forked, test_not_recorded, test_ranks,
             test_closes_all_descriptors, test_part, test_library_of_another, test_usage):
    with tempfile.TemporaryDirectory() as name:
        test(pathlib.Path(name))
print("threads record: all passed")
