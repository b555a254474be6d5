# SPDX-License-Identifier: Apache-2.0
"""rbwp ctl lists the processes that record and changes what one records, without code in it: what is dropped is counted and stored in
the file; a pause cuts what is open and is no misuse; stop makes the file whole and start begins another, which the program's own stop
ends; a program that does not record yet may be started, by a signal too; and a process that cannot be controlled, or must not be
believed, is reported in one line."""
import csv
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest
from json_schema import validate
from victim import Victim

SETTINGS = "-bgworkprofile_settings"
OBEYED = set("\x1b\x07\r\x9b\u202e")  # by terminals


@pytest.fixture
def record(program):
    """record(path, flags="", command=...): a Victim that records into the file."""
    victim, started = program("LIVE_VICTIM"), []

    def start(path, flags="", command=(victim,)):
        started.append(Victim(command, path, flags))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def ctl(rbwp):
    def command(*words, code=0):
        done = rbwp("ctl", *words, code=code, timeout=150)
        if code:
            done.in_one_line()
            assert not done.out
        return done.error if code else done.text

    return command


@pytest.fixture
def calls(rbwp):
    def of(path, part=1):
        rbwp("check", "-q", path)
        done = rbwp("stats", "--json", path)
        alone = f"{path}: begins with part {part} of a recording: what is in the parts before is dropped\n"
        assert done.error == (alone if part > 1 else "")
        return {name["name"]: name["count"] for name in done.json["work_items"] + done.json["sub_items"]}

    return of


def listens(pid):
    with open("/proc/net/unix") as sockets:
        return f"@rbwp-ctl/{os.geteuid()}/{pid}/" in sockets.read()


def name_of(program, user=os.geteuid()):
    with open("/proc/net/unix") as sockets:
        name, = [line.split("@")[1].strip() for line in sockets if f"@rbwp-ctl/{user}/{program.pid}/" in line]
    return name


def say(name, words):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(b"\0" + name.encode())
        peer.send(words)
        return peer.recv(100000)


def serve(parent, answers):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fake:
        fake.bind(f"\0rbwp-ctl/{os.geteuid()}/{os.getpid()}/0".encode())
        fake.listen(1)
        with open("/proc/self/comm", "w") as comm:
            comm.write("\x1b[31mfake")
        for answer in answers:
            peer = fake.accept()[0]
            peer.recv(10000)
            peer.send(answer)
        while os.getppid() == parent:
            time.sleep(0.05)


@pytest.fixture
def fake():
    """fake(answer, ...): a process that answers so, and then says nothing."""
    parent, children = os.getpid(), []

    def start(*answers):
        child = os.fork()
        if child:
            children.append(child)
            return child
        try:
            serve(parent, answers)
        finally:
            os._exit(1)

    yield start
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_list_and_schema(rbwp, record, ctl, work):
    path = f"{work}/run.bin"
    program = record(path)
    pid = program.pid
    line, = [line for line in ctl().splitlines() if line.split()[0] == pid]
    assert line.split()[2:4] == ["yes", "2"] and line.endswith(path), line
    assert "recording: yes\nlevel: 2\n" in ctl(pid) and "slot 0: tick\nslot 1: flush\n" in ctl(pid, "status")
    listed, = [process for process in json.loads(ctl("--json")) if process["pid"] == int(pid)]
    assert listed["recording"] == "yes" and listed["file"] == path, listed
    schema = rbwp("help", "--schema", "ctl").json
    assert not list(validate(schema, listed, "ctl", set())), listed
    row, = [row for row in csv.DictReader(io.StringIO(ctl("--csv", "processes"))) if row["pid"] == pid]
    assert row["refused"] == "" and all(row[key] == str(listed[key]) for key in listed.keys() - {"for"}), (row, listed)
    assert "--csv is for the list" in ctl("--csv", "processes", pid, code=2)
    one = json.loads(ctl(pid, "--json"))
    assert (one["program"], one["level"], one["slot 1"], "refused" in one) == (listed["program"], "2", "flush", False), one
    program.end()
    assert f"there is no process {pid}" in ctl(pid, "status", code=1)


def test_what_is_dropped_is_in_the_file(rbwp, record, ctl, calls, work):
    path, again = f"{work}/run.bin", f"{work}/again.bin"
    program = record(path)
    pid = program.pid
    ctl(pid, "disable", "tick")
    program.record(b"tt")
    assert "slot 0: tick, disabled, 2 left out\n" in ctl(pid), ctl(pid)
    ctl(pid, "enable", "0")
    ctl(pid, "least", "tick", "1000s")
    program.record(b"t")
    assert "slot 0: tick, least 1000 s, 3 left out\n" in ctl(pid), ctl(pid)
    ctl(pid, "least", "tick", "0")
    ctl(pid, "level", "1")
    program.record(b"t")  # without its sub-item
    ctl(pid, "level", "2")
    program.record(b"b")
    ctl(pid, "level", "0")
    assert "recording: paused" in ctl(pid)
    program.record(b"t")
    ctl(pid, "level", "2")
    program.record(b"et")  # of the end nobody knows the begin
    for words in ("level 9", "level", "fly", "disable 256", "disable nobody", "least tick 3", "least tick 1h", "start"):
        assert f"process {pid}: " in ctl(pid, *words.split(), code=1), words
    assert path in ctl(pid, "stop")
    assert calls(path) == {"tick": 4, "step": 2, "flush": 0} or calls(path) == {"tick": 4, "step": 2}, calls(path)
    rows = rbwp("tables", "--table", "control", path).lines[1:]
    assert [row.split(",")[-4:] for row in rows] == [
        ["disable", "0", "tick", "0"], ["enable", "0", "tick", "0"], ["least", "0", "tick", str(10**12)],
        ["least", "0", "tick", "0"], ["level", "0", "", "1"], ["level", "0", "", "2"], ["left out", "0", "tick", "3"],
        ["level", "0", "", "0"], ["level", "0", "", "2"], ["stop", "0", "", "0"], ["left out", "0", "tick", "3"],
    ]
    assert rbwp("info", "--json", path).json["losses"] == []
    program.record(b"t")
    assert "nothing is being recorded" in ctl(pid, "stop", code=1)
    assert again in ctl(pid, "start", "-o", again, "-l", "1")
    program.record(b"ttts")  # its own stop ends it
    assert calls(again) == {"tick": 3}, calls(again)
    program.end()


def test_note_of_what_a_crash_loses(record, ctl, work):
    """Here FILE.live's name is too long."""
    program = record(f"{work}/{'k' * 247}.bin", "-bgworkprofile_keep 2M -bgworkprofile_signal USR1=dump")
    assert "\nnote: a crash loses what is not written yet" in ctl(program.pid), ctl(program.pid)
    program.end()


def test_signals_without_end_make_some_dumps(record, ctl, work):
    """Those that are dropped are counted."""
    end = time.monotonic() + 60
    program = record(f"{work}/stormed.bin", "-bgworkprofile_keep 2M -bgworkprofile_signal USR1=dump")
    while "dumps left out: " not in ctl(program.pid):
        assert time.monotonic() < end, "not one of the dumps that signals asked for is dropped"
        program.process.send_signal(signal.SIGUSR1)
    assert len([name for name in os.listdir(work) if name.startswith("stormed.bin.dump-")]) == 16
    assert "note:" not in ctl(program.pid)
    program.end()


def test_start_later(record, ctl, calls, work):
    """What is not recorded at first may be started later; by a signal as well. FILE is not written over."""
    program = record(f"{work}/later.bin", "-bgworkprofile 0 -bgworkprofile_ctl 1 -bgworkprofile_signal USR2=start,USR1=stop")
    assert ctl(program.pid).startswith("recording: no\n")
    ctl(program.pid, "start")
    program.record(b"tt")
    ctl(program.pid, "stop")

    def wait_for(what):
        while what not in ctl(program.pid):
            time.sleep(0.01)

    program.process.send_signal(signal.SIGUSR2)
    wait_for("recording: yes")
    program.record(b"t")
    program.process.send_signal(signal.SIGUSR1)
    wait_for("recording: no")
    program.end()
    assert calls(f"{work}/later.bin") == {"tick": 2} and calls(f"{work}/later-2.bin") == {"tick": 1}


def test_dump_of_what_is_kept(record, ctl, calls, work):
    program = record(f"{work}/kept.bin", "-bgworkprofile_keep 64M")
    program.record(b"tt")
    assert ctl(program.pid, "dump", "-o", f"{work}/dumped.bin", "--last", "100s") == f"{work}/dumped.bin\n"
    program.record(b"t")
    assert "call:tick>100s, met 0 times" in ctl(program.pid, "rule", "call:tick>100s")
    ctl(program.pid, "rule", "call:tick", code=1)
    assert calls(f"{work}/dumped.bin") == {"tick": 3, "step": 3}
    program.end()


def test_rotate(record, ctl, calls, work):
    program = record(f"{work}/cut-%t.bin", "-bgworkprofile_rotate 64M")
    assert ctl(program.pid, "rotate").strip() == f"{work}/cut-1.bin"
    program.record(b"t")
    program.end()
    assert sum(calls(f"{work}/cut-{number}.bin", number).get("tick", 0) for number in (1, 2)) == 2
    ctl(program.pid, "rotate", code=1)


@pytest.fixture
def settings(work):
    return work / "settings"


def test_settings_in_a_file(record, ctl, calls, work, settings):
    """Slots may be named before there are any. The environment wins. Reload reads it again."""
    settings.write_text('# quiet\n-bgworkprofile_ctl 0\n\n-bgworkprofile 1 # and no more\nleast "tick" 100s\n')
    program = record(f"{work}/settings.bin", f"-bgworkprofile_ctl 1 {SETTINGS} {settings}")
    assert "level: 1\n" in ctl(program.pid) and "slot 0: tick, least 100 s, 1 left out\n" in ctl(program.pid), ctl(program.pid)
    settings.write_text("-bgworkprofile=2\n-bgworkprofile_block 32\nleast tick 0\ndisable flush\n")
    assert ctl(program.pid, "reload") == "-bgworkprofile_block: when the program starts again\n"
    assert "level: 2\n" in ctl(program.pid) and "slot 0: tick, 1 left out\nslot 1: flush, disabled\n" in ctl(program.pid)
    program.record(b"t")
    for text in ("fly away\n", "disable 0\n", "least tick soon\n"):
        settings.write_text(text)
        assert "a line is a flag" in ctl(program.pid, "reload", code=1)
    program.end()
    assert calls(f"{work}/settings.bin") == {"tick": 1, "step": 1}


def test_settings_that_quote(record, ctl, work, settings):
    settings.write_text(f'-bgworkprofile_logfile "{work}/a#b.bin" # a "comment"\n')
    program = record(f"{work}/unused.bin", f"{SETTINGS} {settings}")
    assert f"file: {work}/a#b.bin\n" in ctl(program.pid), ctl(program.pid)
    program.end()


def test_settings_that_are_refused(run, program, work, settings):
    victim = program("LIVE_VICTIM")

    def refused(text, flags=f"{SETTINGS} {settings}"):
        run(victim, work / "none.bin", env={"RBWP_FLAGS": flags}, code=1).says(text).in_one_line()

    settings.write_text("disable 0\n")
    refused("a line is a flag")
    settings.write_text("-bgworkprofile 1\n-bgworkprofle 2\n")
    refused("did you mean '-bgworkprofile'?")
    settings.write_text("-bgworkprofile_block none\n")
    refused(f"in {settings}: value 'none'")
    settings.write_text("")
    for mode in (0o666, 0o660, 0o602):
        os.chmod(settings, mode)
        refused("others than this user and root may write it")
    os.symlink(settings, f"{work}/link")
    refused("cannot be read", f"{SETTINGS} {work}/link")
    refused("no regular file", f"{SETTINGS} {work}")


def test_who_does_not_listen(record, ctl, work):
    program = record(f"{work}/deaf.bin", "-bgworkprofile_ctl 0")
    assert "does not listen" in ctl(program.pid, "stop", code=1)
    assert program.pid not in [line.split()[0] for line in ctl().splitlines()]
    program.end()
    assert "no process id" in ctl("nobody", code=2)


def test_who_only_says_that_it_is_one(ctl):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as liar:
        liar.bind(f"\0rbwp-ctl/{os.geteuid()}/1/0".encode())
        liar.listen()
        assert "another process or user" in ctl("1", "stop", code=1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as gone:
        gone.bind(f"\0rbwp-ctl/{os.geteuid()}/{os.getpid()}/0".encode())  # nobody listens any more
        assert "it has gone" in ctl(str(os.getpid()), "stop", code=1)


def test_requests_that_are_none(record, work):
    program = record(f"{work}/mine.bin")
    name = name_of(program)
    for words in (b"status", b"\0", b"x" * 9000, b"status\0" * 20, b"\xff\xfe\0"):
        assert say(name, words)[:1] == b"1", words
    assert say(name, b"status\0").startswith(b"0recording: yes")
    program.end()


def test_only_the_user_and_root_are_obeyed(record, work):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    program = record(f"{work}/mine.bin")
    name = name_of(program)
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        try:
            os._exit(0 if b"only root, and who has all rights" in say(name, b"stop\0") else 1)
        except OSError:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    program.end()


def test_answers_move_no_cursor(ctl, fake):
    """Neither in the list nor as an answer or a refusal."""
    bad = "a\x1b]0;x\x07\x1b[2J\r\x9b31m\u202e".encode()
    faker = fake(b"0recording: " + bad + b"\nfile: " + bad + b"\n", b"1" + bad, b"0" + bad + b"\nmore\n", b"1" + bad)
    while not listens(faker):
        time.sleep(0.01)
    shown = [next(line for line in ctl().splitlines() if line.split()[0] == str(faker)) for _ in range(2)]
    shown.append(ctl(str(faker)))
    shown.append(ctl(str(faker), code=1))
    assert not OBEYED & set("".join(shown)) and shown[2].endswith("\nmore\n"), shown
    assert all("a\\x1b]0;x\\x07" in text for text in shown[:3]) and "\\x1b[31mfake" in shown[0], shown


def test_who_does_not_answer(record, ctl, fake, work):
    """40 of them take as long as one."""
    mute = [fake() for _ in range(41)]
    program = record(f"{work}/answers.bin")
    while not all(map(listens, mute)):
        time.sleep(0.01)
    begin = time.monotonic()
    listed = ctl().splitlines()
    assert time.monotonic() - begin < 40, "they were waited for one after the other"
    assert sum(line.endswith("it does not answer (is it busy with another request?)") for line in listed) >= len(mute), listed
    rows = list(csv.DictReader(io.StringIO(ctl("--csv", "processes"))))
    assert sum(row["refused"].startswith("it does not answer") and not row["file"] for row in rows) >= len(mute), rows
    assert any(line.split()[0] == program.pid and line.endswith(f"{work}/answers.bin") for line in listed), listed
    program.end()


def test_who_is_stopped(record, ctl, work):
    """It is reported at once."""
    program = record(f"{work}/answers.bin")
    program.process.send_signal(signal.SIGSTOP)
    try:
        for words in (["status"], ["stop"]):
            assert "it is stopped (kill -CONT" in ctl(program.pid, *words, code=1)
    finally: # a stopped one would hold on to the test's output
        program.process.send_signal(signal.SIGCONT)
    program.end()


def test_rights_of_a_file(record, program, ctl, calls, work):
    """A program with the rights of the file that it executes does not listen by default. (Root can make such a file.)"""
    if os.geteuid() != 0 or os.statvfs(work).f_flag & os.ST_NOSUID:
        pytest.skip("no such file can be made here")
    raised = work / "raised"
    shutil.copyfile(program("LIVE_VICTIM"), raised)
    os.chown(raised, -1, 12345)
    os.chmod(raised, 0o2755)
    started = record(f"{work}/raised.bin", command=(raised,))
    assert "does not listen" in ctl(started.pid, "status", code=1)
    started.end()
    assert calls(f"{work}/raised.bin") == {"tick": 1, "step": 1}


def test_user_namespace_without_users(record, program, work):
    """All look the same there: nobody is obeyed."""
    if subprocess.run(["unshare", "-U", "true"], capture_output=True).returncode:
        pytest.skip("no user namespace can be made here")
    started = record(f"{work}/unmapped.bin", command=("unshare", "-U", program("LIVE_VICTIM")))
    with open("/proc/sys/kernel/overflowuid") as number:
        name = name_of(started, number.read().strip())
    for words in (b"status\0", b"stop\0"):
        assert b"only root, and who has all rights" in say(name, words), words
    started.end()
