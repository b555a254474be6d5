# SPDX-License-Identifier: Apache-2.0
"""Python functions of a thread that stands still: rows of python_frame, against what the program itself knows of its frames
(stands_still.py), and how the tools show them. With the Python that runs this and others that are installed."""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest
from test_stalls import RBWP, THREADS, rbwp, table, threads_of, whole

HERE = pathlib.Path(__file__).parent
PROGRAM = HERE / "stands_still.py"
INTERPRETS = "_PyEval_EvalFrameDefault"
HOME = {"PYTHONHOME": sys.base_prefix}  # for a copy of the interpreter


def python_of(version):
    """Its path; None if it is not installed. The one that runs this is asked first."""
    if "%d.%d" % sys.version_info[:2] == version:
        return sys.executable
    found = shutil.which(f"python{version}")
    runs = found and subprocess.run([found, "-c", "pass"], capture_output=True).returncode == 0
    return found if runs else None


def python_or_skip(version):
    found = python_of(version)
    if not found:
        pytest.skip(f"python{version} is not installed")
    return found


def environment(path, **more):
    return os.environ | {"LD_PRELOAD": THREADS, "RBWP_THREADS_FILE": str(path), "RBWP_THREADS_STACKS": "20ms", "PYTHONUTF8": "1"} | more


def frames_of(path):
    """Rows of each look in the order of the file, by thread and time."""
    frames = {}
    for row in table(path, "python_frame"):
        frames.setdefault((row["thread"], row["time"]), []).append(row)
    return frames


def looks_of(path):
    """Those that have a stack."""
    stacks = {(row["thread"], row["time"]) for row in table(path, "stack_word")}
    return [look for look in table(path, "open_call") if (look["thread"], look["time"]) in stacks]


class Run:
    def __init__(self, python, path):
        command = [RBWP, "record", "--what", "threads", "--stacks", "20ms", "-o", path, "--", python, PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | {"RBWP_THREADS": THREADS, "PYTHONUTF8": "1"})
        assert done.returncode == 0, done.stderr
        threads = threads_of(path)
        self.path, self.frames = path, frames_of(path)
        self.notes = [(kind, threads[os_id], began, ended, chain) for kind, os_id, began, ended, chain in map(json.loads, done.stdout.splitlines())]
        looks = looks_of(path)
        self.looks = {}  # of a kind: the look, what its thread was in
        for kind, thread, began, ended, chain in self.notes:
            mine = [look for look in looks if look["thread"] == thread and look["time"] < ended]
            # A wait is that of this kind if it has begun in it; who runs does so up to the end, but not yet when it had begun.
            mine = [look for look in mine if (began + 100_000_000 < look["time"] < began + 1_700_000_000 if kind == "busy" else began <= look["since"])]
            self.looks.setdefault(kind, []).extend((look, chain) for look in mine)


@pytest.fixture(scope="module", params=["3.11", "3.12"])
def run(request, tmp_path_factory):
    return Run(python_or_skip(request.param), tmp_path_factory.mktemp("python") / "still.bin")


def test_each_look_has_the_functions_and_lines(run, capsys):
    looks = [(kind, look, chain) for kind, list_ in run.looks.items() for look, chain in list_]
    with capsys.disabled():
        print(f"{len(looks)} looks with a stack: " + ", ".join(f"{kind} {len(list_)}" for kind, list_ in run.looks.items()))
    assert len(looks) >= 20 and all(run.looks.values())
    for kind, look, chain in looks:
        rows = run.frames.get((look["thread"], look["time"]), [])
        assert [row["depth"] for row in rows] == list(range(min(len(chain), 128))), (kind, look)
        for row, (name, file, lines) in zip(rows, chain):
            assert (row["function"], row["file"]) == (name, file) and row["line"] in lines, (kind, look, row, lines)


def test_frames_say_which_were_called_by_c(run):
    """key by sorted, and what a thread began with; outer by Thread.run, in a way that C has a part in before 3.12."""
    for look, _ in run.looks["called"]:
        entries = {row["function"]: row["entry"] for row in run.frames[look["thread"], look["time"]]}
        assert entries["Kinds.called.<locals>.key"] == entries["Thread._bootstrap"] == 1
        assert entries["Kinds.called"] == entries["middle"] == entries["Thread.run"] == 0


def test_program_is_killed(tmp_path):
    """What it was in is in FILE.live, and shown in place of the C frames that interpret it."""
    path = tmp_path / "killed.bin"
    kinds = ["sleep", "lock", "busy", "called"]
    with subprocess.Popen([sys.executable, PROGRAM, "forever", *kinds], env=environment(path)) as program:
        try:
            until = time.monotonic() + 60
            while not path.exists() or len({rows[0]["function"] for rows in frames_of(whole(path)).values()} & {"Kinds.sleep", "Kinds.lock", "Kinds.busy", "Kinds.called.<locals>.key"}) < 4:
                assert program.poll() is None and time.monotonic() < until
                time.sleep(0.05)
        finally:
            program.send_signal(signal.SIGKILL)
    assert path.with_name(path.name + ".live").exists()
    source = PROGRAM.read_text().splitlines()
    shown = [json.loads(line).get("stack_frames", []) for line in rbwp("stacks", "--json", path).splitlines()]
    stacks = {frames[i]["function"]: frames for frames in shown for i in range(len(frames)) if frames[i].get("python") and not any(f.get("python") for f in frames[:i])}
    assert set(stacks) >= {"Kinds.sleep", "Kinds.lock", "Kinds.busy", "Kinds.called.<locals>.key"}
    for name, wanted in (("Kinds.sleep", "time.sleep("), ("Kinds.lock", "lock.acquire("), ("Kinds.called.<locals>.key", "time.sleep(")):
        frames = stacks[name]
        python = [frame for frame in frames if frame.get("python")]
        assert wanted in source[python[0]["line"] - 1] and python[0]["source"] == str(PROGRAM)
        assert INTERPRETS not in [frame.get("function") for frame in frames]
        assert [f["function"] for f in python[-3:]] == ["Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"]
        assert frames[0].get("python") is None and frames[-1].get("python") is None, "C frames around them"
    called = [frame.get("function") for frame in stacks["Kinds.called.<locals>.key"]]
    assert called.index("Kinds.called") > called.index("Kinds.called.<locals>.key") + 1, "C frames of sorted between both"
    text = rbwp("stacks", path)
    assert f"Kinds.sleep (stands_still.py:{stacks['Kinds.sleep'][[bool(f.get('python')) for f in stacks['Kinds.sleep']].index(True)]['line']})\n" in text
    assert "middle (stands_still.py:" in text and INTERPRETS not in text


def test_exports_have_the_functions(run):
    """Stacks of slow calls, folded: the busy thread's run interval is a call that was looked at."""
    stats = json.loads(rbwp("stats", "--by", "stack", "--json", run.path))
    stacks = [row["frames"] for row in stats["slow_stacks"]]
    assert any(";outer (stands_still.py:" in stack and ";Kinds.busy (stands_still.py:" in stack for stack in stacks), stacks
    exported = run.path.with_suffix(".json")
    rbwp("export", "--to", "speedscope", "--stacks", "-o", exported, run.path)
    assert any(frame["name"].startswith("Kinds.busy (stands_still.py:") for frame in json.loads(exported.read_text())["shared"]["frames"])


# ---- Pythons of which nothing is known ---------------------------------------------------------


def changed_python(directory, old, new):
    """A copy of the interpreter that runs this, with other bytes; it has all that it needs of its own."""
    data = pathlib.Path(sys.executable).resolve().read_bytes()
    if old not in data:
        pytest.skip("the interpreter is in a library of its own")
    assert data.count(old) == 1 and len(old) == len(new)
    copy = directory / "python3"
    copy.write_bytes(data.replace(old, new))
    copy.chmod(0o755)
    return copy


def looked_at(python, path, **more):
    done = subprocess.run([python, PROGRAM, "sleep"], capture_output=True, text=True, timeout=60, env=environment(path, **more))
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2 and done.stderr == "", done.stderr
    assert looks_of(path)
    return [(row["function"], row["file"], row["line"], row["depth"], row["entry"]) for row in table(path, "python_frame")]


def test_other_version_is_not_known(tmp_path):
    version = sys.hexversion
    python = changed_python(tmp_path, struct.pack("<Q", version), struct.pack("<Q", version & 0xffff | 0x03630000))
    rows = looked_at(python, tmp_path / "other.bin", **HOME)
    assert set(rows) == {("Python 3.99: frames not known", "", 0, 0, 2)}
    frames = [json.loads(line).get("stack_frames") for line in rbwp("stacks", "--json", tmp_path / "other.bin").splitlines()]
    assert "Kinds" not in str(frames)


def test_version_before_its_release_is_not_known(tmp_path):
    python = changed_python(tmp_path, struct.pack("<Q", sys.hexversion), struct.pack("<Q", 0x030b00a7))
    assert set(looked_at(python, tmp_path / "early.bin", **HOME)) == {("Python 3.11: frames not known", "", 0, 0, 2)}


def test_interpreter_without_its_symbol_is_not_known(tmp_path):
    version = "%d.%d" % sys.version_info[:2]
    python = changed_python(tmp_path, b"\0_PyRuntime\0", b"\0_PyRunning\0")
    assert set(looked_at(python, tmp_path / "hidden.bin", **HOME)) == {(f"Python {version}: frames not known", "", 0, 0, 2)}


def test_python_without_symbols(tmp_path):
    """Neither its structures nor its version are to be found: it is a program like others."""
    data = pathlib.Path(changed_python(tmp_path, b"\0_PyRuntime\0", b"\0_PyRunning\0"))
    data.write_bytes(data.read_bytes().replace(b"\0Py_Version\0", b"\0Py_Running\0"))
    assert looked_at(data, tmp_path / "stripped.bin", **HOME) == []


@pytest.mark.parametrize("version", ["3.10", "3.13"])
def test_versions_beside_those_that_are_known(tmp_path, version):
    rows = looked_at(python_or_skip(version), tmp_path / "beside.bin")
    assert {row[0] for row in rows} == {"Python before 3.11: frames not known" if version == "3.10" else f"Python {version}: frames not known"}


# ---- offsets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_offsets_are_those_of_the_headers(tmp_path, version):
    python = python_or_skip(version)
    include = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.exists(os.path.join(include, "internal", "pycore_frame.h")):
        pytest.skip(f"headers of Python {version} are not installed (Debian: python3-dev)")
    subprocess.run([os.environ["CC"], f"-I{include}", HERE / "python_layout.c", "-o", tmp_path / "layout"], check=True)
    lines = [line.split() for line in subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout.splitlines()]
    assert len(lines) > 20 and all(ours == theirs for _, ours, theirs in lines), [line for line in lines if line[1] != line[2]]
