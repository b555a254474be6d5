#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""crash.py SCENARIO RUNS: kills a recording program, or fills its disk, or both, at random moments.

kill  SIGKILL while four threads record at level 2. Afterwards rbwp repair must give a file with at
      least the records whose calls had returned, thread by thread, with all names, that rbwp check
      and the independent strict reader accept.
memory  The same with FILE.live in memory (-bgworkprofile_live 2).
closed, moved, rotated
      The same of a program that closes all descriptors and takes their numbers for files of its own,
      which stay empty; that goes to another directory, with a FILE relative to the one before; and
      whose recording is cut into files beside those of an earlier run, which stay as they are: each
      record is in a part, or in what repair makes of FILE.
lone, children
      The same of an unmodified program under rbwp record --what threads: one with a single thread, and
      one that forks meanwhile, whose children have a file each (-o NAME-%p.bin). Each sleep that a
      thread came back from is in its process's file.
disk  The disk is full (or fails) from a random write on. The program must finish its work, the file
      be valid as it is, and records in it plus records reported as lost be all that were made.

full  No file may grow beyond a few megabytes, and then SIGKILL. Whatever is missing then must be
      counted: the records found, those reported as unwritten and as lost, and the most that can have
      been in memory without a file are at least those that were made, and close to them.

From the environment: VICTIM, UNMODIFIED, FAULTS and RBWP_THREADS (preloaded objects), RBWP, SEED.
"""
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

for room in ("python", "threads"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", room))
import rbwp_reader  # noqa: E402
import recorded  # noqa: E402

# Of what the program tells in its machine's words (RBWP_BYTE_ORDER: that of one that is emulated).
ORDER = {"big": ">", "little": "<"}[os.environ.get("RBWP_BYTE_ORDER", sys.byteorder)]
VICTIM, RBWP, FAULTS = (os.environ[name] for name in ("VICTIM", "RBWP", "FAULTS"))
THREADS, LINE = 4, 64


def counters(path):
    """Records completed, by thread, and whether the thread had its name."""
    data = open(path, "rb").read()
    return [struct.unpack_from(ORDER + "QQ", data, i * LINE) for i in range(THREADS)]


def taken_back(path):
    """Records of the items that were empty."""
    data = open(path, "rb").read()
    return sum(struct.unpack_from(ORDER + "Q", data, i * LINE + 16)[0] for i in range(THREADS))


def rbwp(*arguments):
    done = subprocess.run([RBWP, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def check_clean(path, context):
    """The file as the strict reader sees it."""
    code, out, err = rbwp("check", path)
    assert code == 0, f"{context}: rbwp check: exit {code}: {out}{err}"
    try:
        return rbwp_reader.parse_strict(open(path, "rb").read())
    except rbwp_reader.Refused as refused:
        raise AssertionError(f"{context}: strict reader: {refused}") from None


def records_by_thread(path, parsed):
    """Records in the file by the thread's name."""
    code, out, err = rbwp("info", "--json", path)
    assert code == 0, err
    names = {thread["thread_id"]: thread["thread"] for thread in json.loads(out)["thread_counts"]}
    count = {}
    for block in filter(lambda one: one["record_count"], parsed["blocks"]):
        name = names[block["thread_id"]]
        assert name is not None, f"a block of a thread without a name: {block['thread_id']}"
        count[name] = count.get(name, 0) + block["record_count"]
    return count


def memory_once(folder, run, rng):
    return kill_once(folder, run, rng, "-bgworkprofile_live", "2")


def kill_once(folder, run, rng, *more):
    path, tally = os.path.join(folder, f"k{run}.bin"), os.path.join(folder, f"k{run}.n")
    flags = rng.choice([[], ["-bgworkprofile_bufsize", "1"], ["-bgworkprofile_block", "4"],
                        ["-bgworkprofile_compress", "0"], ["-bgworkprofile_bufsize", "16"]])
    victim = subprocess.Popen([VICTIM, path, tally, *flags, *more])
    while not (os.path.exists(tally) and os.path.getsize(tally) == THREADS * LINE
               and sum(n for n, _ in counters(tally)) > 0):
        assert victim.poll() is None, "the victim ended by itself"
        time.sleep(0.0005)
    # Some ten chunks of each thread: what comes later is like it, and takes the reader in Python long.
    time.sleep(rng.expovariate(1 / 0.01))
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    made = counters(tally)
    out = os.path.join(folder, f"k{run}.fixed.bin")
    code, text, err = rbwp("repair", path, "-o", out)
    context = f"run {run} {flags}"
    assert code == 0, f"{context}: rbwp repair: exit {code}: {text}{err}"
    parsed = check_clean(out, context)
    found = records_by_thread(out, parsed)
    for i, (records, named) in enumerate(made):
        if named and records:
            got = found.get(f"victim {i}", 0)
            assert got >= records, f"{context}: thread {i}: {got} of {records} records"
    names = {item["name"] for item in parsed["work_items"]} | {s["name"] for s in parsed["sub_items"]}
    wanted = {f"victim item {i}" for i in range(5)} | {"copy", "fill"}
    assert wanted <= names, f"{context}: names missing: {wanted - names}"
    assert os.path.islink(path + ".live") == bool(more), f"{context}: where FILE.live is"
    memory = [os.readlink(path + ".live")] if more else []
    for leftover in (path, path + ".live", out, tally, *memory):
        os.unlink(leftover)
    return sum(records for records, _ in made)


def kill_at(victim, tally, moment_s, least=1):
    while not (os.path.exists(tally) and os.path.getsize(tally) == THREADS * LINE
               and sum(n for n, _ in counters(tally)) >= least):
        assert victim.poll() is None, "the victim ended by itself"
        time.sleep(0.0005)
    time.sleep(moment_s)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    return counters(tally)


def records_of(path, context):
    """By the thread's name, of a file that is whole and has lost nothing."""
    code, out, err = rbwp("check", path)
    assert code == 0, f"{context}: rbwp check: exit {code}: {out}{err}"
    info = json.loads(rbwp("info", "--json", path)[1])
    assert not info["losses"], f"{context}: {info['losses']}"
    return {thread["thread"]: thread["records"] for thread in info["thread_counts"]}


def repaired(path, context):
    code, text, err = rbwp("repair", path, "-o", path + ".fixed")
    assert code == 0, f"{context}: rbwp repair: exit {code}: {text}{err}"
    return path + ".fixed"


def assert_all_there(made, files, context):
    found = [records_of(path, context) for path in files]
    for i, (records, named) in enumerate(made):
        got = sum(file.get(f"victim {i}", 0) for file in found)
        assert not (named and records) or got >= records, f"{context}: thread {i}: {got} of {records} records"
    return sum(records for records, _ in made)


def does_once(does, folder, run, rng):
    """The program does that meanwhile; the folder of what it opens, or goes to, is elsewhere."""
    here, elsewhere, tally = (os.path.join(folder, f"{run}.{name}") for name in ("here", "elsewhere", "n"))
    os.mkdir(here)
    os.mkdir(elsewhere)
    flags = rng.choice([[], ["-bgworkprofile_bufsize", "1"], ["-bgworkprofile_sync", "1"], ["-bgworkprofile_keep", "1G"]])
    victim = subprocess.Popen([VICTIM, "run.bin", tally, *flags], cwd=here,
                              env=dict(os.environ, VICTIM_DOES=does, VICTIM_ELSEWHERE=elsewhere))
    made = kill_at(victim, tally, rng.expovariate(1 / 0.02))
    context = f"run {run} {does} {flags}"
    for name in os.listdir(elsewhere):
        assert os.path.getsize(os.path.join(elsewhere, name)) == 0, f"{context}: {name} was written to"
    assert does == "close" or not os.listdir(elsewhere), f"{context}: {os.listdir(elsewhere)}"
    total = assert_all_there(made, [repaired(os.path.join(here, "run.bin"), context)], context)
    shutil.rmtree(here)
    shutil.rmtree(elsewhere)
    return total


def closed_once(folder, run, rng):
    return does_once("close", folder, run, rng)


def moved_once(folder, run, rng):
    return does_once("move", folder, run, rng)


def rotated_once(folder, run, rng):
    here, tally = os.path.join(folder, f"{run}"), os.path.join(folder, f"{run}.n")
    os.mkdir(here)
    earlier = [os.path.join(here, f"run-{part}.bin") for part in (1, 2, 5)]
    for path in earlier:
        with open(path, "w", encoding="ascii") as file:
            file.write("of an earlier run")
    victim = subprocess.Popen([VICTIM, os.path.join(here, "run-%t.bin"), tally, "-bgworkprofile_rotate", "2M",
                               "-bgworkprofile_stall", "60000", "-bgworkprofile_bufsize", "4", "-bgworkprofile_compress", "0"])
    made = kill_at(victim, tally, rng.uniform(0, 0.2), 3_000_000)  # more than the ring has room for
    context = f"run {run}"
    for path in earlier:
        assert open(path, encoding="ascii").read() == "of an earlier run", f"{context}: {path}"
        os.unlink(path)
    parts = {name for name in os.listdir(here) if name.endswith(".bin")} - {"run-0.bin"}
    assert parts == {f"run-{6 + i}.bin" for i in range(len(parts))}, f"{context}: {parts}"
    files = [os.path.join(here, name) for name in parts] + [repaired(os.path.join(here, "run-0.bin"), context)]
    total = assert_all_there(made, files, context)
    shutil.rmtree(here)
    return total


def sleeps_made(tally):
    """{process: {thread: sleeps}}, by the system's numbers."""
    numbers = struct.unpack(f"{ORDER}{os.path.getsize(tally) // 8}Q", open(tally, "rb").read())
    made = {}
    for process, thread, sleeps in zip(*(numbers[i::3] for i in (3, 4, 5))):
        if process:
            made.setdefault(process, {})[thread] = sleeps
    return made


def unmodified_once(folder, run, rng, file, *children):
    here, tally = os.path.join(folder, f"{run}"), os.path.join(folder, f"{run}.n")
    os.mkdir(here)
    recorder = subprocess.Popen([RBWP, "record", "--what", "threads", "-o", os.path.join(here, file), "--",
                                 os.environ["UNMODIFIED"], tally, *children], stderr=subprocess.PIPE, text=True)
    while not (os.path.exists(tally) and os.path.getsize(tally) and sleeps_made(tally)):
        assert recorder.poll() is None, f"the recorder ended by itself: {recorder.stderr.read()}"
        time.sleep(0.0005)
    time.sleep(rng.expovariate(1 / 0.1))
    first, = list(sleeps_made(tally))[:1]
    os.kill(first, signal.SIGKILL)
    reported = recorder.communicate()[1]
    made = sleeps_made(tally)
    context = f"run {run} {file}: {reported}"
    assert recorder.returncode == -signal.SIGKILL, f"{context}: exit {recorder.returncode}"
    for process, threads in made.items():
        path = os.path.join(here, file.replace("%p", str(process)))
        if not any(threads.values()):
            continue  # it may have been killed before it had a file
        assert os.path.exists(path), f"{context}: {threads} of process {process}, but {os.listdir(here)}"
        recording = recorded.Recording(path)
        for thread, sleeps in threads.items():
            number = recording.by_os_id.get(thread)
            got = sum(row["thread"] == number and row["kind"] == "sleep" for row in recording.waits)
            assert sleeps <= got <= sleeps + 1, f"{context}: process {process}, thread {thread}: {got} of {sleeps} sleeps"
    shutil.rmtree(here)
    os.unlink(tally)
    return sum(sum(threads.values()) for threads in made.values())


def lone_once(folder, run, rng):
    return unmodified_once(folder, run, rng, "run.bin")


def children_once(folder, run, rng):
    return unmodified_once(folder, run, rng, "run-%p.bin", "6")


def disk_once(folder, run, rng):
    path, tally = os.path.join(folder, f"d{run}.bin"), os.path.join(folder, f"d{run}.n")
    environment = dict(os.environ, LD_PRELOAD=FAULTS, FAULT_ERRNO=rng.choice(["ENOSPC", "ENOSPC", "EIO"]),
                       FAULT_AFTER=str(rng.randrange(1, 60)))
    if rng.random() < 0.3:
        environment["FAULT_COUNT"] = str(rng.randrange(1, 20))
    if rng.random() < 0.3:
        environment["FAULT_SHORT"] = "1"
    done = subprocess.run([VICTIM, path, tally, "30000", "-bgworkprofile_bufsize", "1",
                           "-bgworkprofile_block", "4"], capture_output=True, text=True, env=environment)
    context = f"run {run} {environment['FAULT_ERRNO']} after {environment['FAULT_AFTER']}"
    assert done.returncode == 0, f"{context}: exit {done.returncode}: {done.stdout}{done.stderr}"
    made = sum(records for records, _ in counters(tally))
    assert made > 30000 * THREADS, f"{context}: the work was not done"
    if done.stdout.startswith("unprofiled: "):  # not even the header could be written
        return 0
    words = done.stdout.split()
    kept, lost = int(words[1]), int(words[3])
    # What finds no memory is lost before it is known whether it would have been taken back.
    most = made + taken_back(tally)
    assert made <= kept + lost <= most, f"{context}: {kept} in the file, {lost} reported as lost, {made} made, {most} at most"
    assert lost == 0 or "could not be written" in done.stdout, f"{context}: {done.stdout}"
    result = path
    if os.path.exists(path + ".live"):  # not even the tables could be written
        result = os.path.join(folder, f"d{run}.fixed.bin")
        code, text, err = rbwp("repair", path, "-o", result)
        assert code in (0, 3), f"{context}: rbwp repair: exit {code}: {text}{err}"
    check_clean(result, context)
    for leftover in {path, path + ".live", result, tally}:
        if os.path.exists(leftover):
            os.unlink(leftover)
    return lost


FULL_FLAGS = ["-bgworkprofile_stall", "100", "-bgworkprofile_bufsize", "16", "-bgworkprofile_compress", "0"]


def full_once(folder, run, rng):
    path, tally = os.path.join(folder, f"f{run}.bin"), os.path.join(folder, f"f{run}.n")
    limit = rng.choice([300 << 10, 1200 << 10, 1500 << 10, 2 << 20, 3 << 20])
    victim = subprocess.Popen(
        [VICTIM, path, tally, *FULL_FLAGS],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    while not (os.path.exists(tally) and os.path.getsize(tally) == THREADS * LINE
               and sum(n for n, _ in counters(tally)) > 400000):
        assert victim.poll() is None, "the victim ended by itself"
        time.sleep(0.0005)
    time.sleep(rng.expovariate(1 / 0.1))
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    made = sum(records for records, _ in counters(tally))
    out = os.path.join(folder, f"f{run}.fixed.bin")
    code, text, err = rbwp("repair", "--json", path, "-o", out)
    context = f"run {run}, limit {limit}"
    assert code in (0, 3), f"{context}: rbwp repair: exit {code}: {text}{err}"
    report = json.loads(text)
    assert code == 3 or not report["lost"], f"{context}: exit {code}: {report}"
    if not report["lost"]:  # killed before anything was: then nothing is missing
        assert report["result_records"] >= made, f"{context}: {made} made: {report}"
        return 0
    reported = report["unwritten_records"] + report["lost_records"]
    unknown = report["unprotected_records_most"]
    # Beyond what was made there are the calls under way and empty items, some of a chunk's.
    assert report["result_records"] + reported + unknown >= made, f"{context}: {made} made: {report}"
    assert report["result_records"] + reported <= made * 1.3 + 1000, f"{context}: {made} made: {report}"
    names = {thread["thread"] for thread in json.loads(rbwp("info", "--json", out)[1])["thread_counts"]}
    if report["unlogged_threads"] == 0:
        assert {f"victim {i}" for i in range(THREADS)} >= names, f"{context}: {names}"
    elif report["result_records"]:
        assert None in names, f"{context}: {names}"
    check_clean(out, context)
    text = rbwp("repair", "-f", path, "-o", out)[1]
    assert "nothing lost" not in text and "LOST" in text, f"{context}: {text}"
    for leftover in (path, path + ".live", out, tally):
        if os.path.exists(leftover):
            os.unlink(leftover)
    return reported


def main():
    scenario, runs = sys.argv[1], int(sys.argv[2])
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    rng, total = random.Random(seed), 0
    once = globals()[f"{scenario}_once"]
    with tempfile.TemporaryDirectory() as folder:
        for run in range(runs):
            try:
                total += once(folder, run, rng)
            except AssertionError as failed:
                sys.exit(f"FAILED (SEED={seed}): {failed}")
    what = "records lost, all told" if scenario in ("disk", "full") else "records made before the kills, none missing"
    print(f"{scenario}: {runs} runs, {total} {what} (seed {seed})")


main()
