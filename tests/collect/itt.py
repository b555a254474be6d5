#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""librbwp-itt.so in a program with oneTBB that knows nothing of it (tbb_tasks.cpp): as many tasks as it counts, also where it kills
itself; threads have names, and tasks those of the functions that made them. Tasks that a program marks itself, by a table as ITT hands it over: their names, and one in another. What
has another version of the interface, and what cannot be recorded, goes on as it is, and one line says why."""
import ctypes
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

LIBRARY, RBWP = (os.environ[name] for name in ("LIBRARY", "RBWP"))
HERE = pathlib.Path(__file__).parent
TASKS = 1100


class Function(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("at_first", ctypes.c_void_p), ("none", ctypes.c_void_p),
                ("groups", ctypes.c_uint)]


class Global(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_ubyte * 8), ("version", ctypes.c_ulong * 3), ("state", ctypes.c_long * 3),
                ("mutex", ctypes.c_char * 40), ("library", ctypes.c_void_p * 3), ("functions", ctypes.POINTER(Function))]


class Id(ctypes.Structure):
    _fields_ = [("part", ctypes.c_ulonglong * 3)]


def marks(version):
    """A program's side, in a process of its own: twice two tasks in another one, by this table."""
    names = b"__itt_task_begin", b"__itt_task_end", b"__itt_thread_set_name", b"__itt_nobody_knows"
    found = (ctypes.c_void_p * len(names))()
    table = (Function * (len(names) + 1))(*(Function(name, ctypes.addressof(found) + 8 * i) for i, name in enumerate(names)))
    handed = Global(magic=(ctypes.c_ubyte * 8)(*b"\xed\xab\xab\xec\x0d\xee\xda\x30"), version=(ctypes.c_ulong * 3)(version),
                    functions=table)
    for _ in range(2):  # as by two parts of a program
        ctypes.CDLL(LIBRARY).__getattr__("__itt_api_init")(ctypes.byref(handed), 0xffff)
    print([bool(place) for place in found])
    if not found[0]:
        return
    begin = ctypes.CFUNCTYPE(None, ctypes.c_char_p, Id, Id, ctypes.POINTER(ctypes.c_char_p))(found[0])
    end, name = (ctypes.CFUNCTYPE(None, ctypes.c_char_p)(place) for place in found[1:3])
    domain, texts = b"a domain", [ctypes.c_char_p(text) for text in (b"frame", b"draw")]
    name(b"the painter")
    for _ in range(2):
        begin(domain, Id(), Id(), ctypes.byref(texts[0]))
        for _ in range(2):
            begin(domain, Id(), Id(), ctypes.byref(texts[1]))
            end(domain)
        end(domain)
    end(domain)  # one too many


def run(command, folder, flags=""):
    environment = {**os.environ, "INTEL_LIBITTNOTIFY64": LIBRARY, "RBWP_FLAGS": f"-bgworkprofile_logfile {folder}/itt.bin {flags}"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def stats(file):
    return json.loads(subprocess.run([RBWP, "stats", "--json", file], capture_output=True, text=True, check=True).stdout)


def tasks(file):
    """By the function that made them."""
    found = {}
    for row in stats(file)["work_items"]:
        name = next((word for word in ("loop", "many_tasks") if word in row["name"]), row["name"])
        found[name] = found.get(name, 0) + row["count"] + row["open"]
    return found


def test_onetbb(folder):
    made = subprocess.run(["g++", "-O1", HERE / "tbb_tasks.cpp", "-o", folder / "tbb_tasks", "-ltbb"], capture_output=True, text=True)
    if made.returncode:
        print("skipped: oneTBB's headers are not installed (Debian: g++, libtbb-dev)")
        return
    done = run([folder / "tbb_tasks", folder / "counts"], folder)
    count, = struct.unpack("q", (folder / "counts").read_bytes())
    assert (done.returncode, done.stderr, count) == (0, "", TASKS) and tasks(folder / "itt.bin") == {"loop": TASKS - 100, "many_tasks": 100}, (done, count, stats(folder / "itt.bin"))
    names = {row["name"] for row in stats(folder / "itt.bin")["threads"]}
    assert names <= {"tbb_tasks", "TBB Worker Thread"} and "tbb_tasks" in names, names
    (folder / "counts").unlink()
    done = run([folder / "tbb_tasks", folder / "counts", "kill"], folder)
    count, = struct.unpack("q", (folder / "counts").read_bytes())
    subprocess.run([RBWP, "repair", folder / "itt.bin", "-o", folder / "whole.bin"], check=True, stdout=subprocess.DEVNULL)
    assert done.returncode == -9 and 0 <= sum(tasks(folder / "whole.bin").values()) - count <= 3, (done, count)  # begun, and not counted yet
    done = run([folder / "tbb_tasks", folder / "counts"], folder, flags="-bgworkprofile_nothing")
    assert done.returncode == 0 and done.stderr.startswith("rbwp: ITT is not recorded: ") and done.stderr.count("\n") == 1, done


def test_marks(folder):
    done = run([sys.executable, __file__, "marks", "3"], folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[True, True, True, False]\n", ""), done
    found = stats(folder / "itt.bin")
    assert [(row["name"], row["count"]) for row in found["work_items"]] == [("frame", 2)], found["work_items"]
    assert [(row["kind"], row["name"], row["count"]) for row in found["sub_items"]] == [("task", "draw", 4)], found["sub_items"]
    assert [row["name"] for row in found["threads"]] == ["the painter"], found["threads"]


def test_other_version(folder):
    done = run([sys.executable, __file__, "marks", "4"], folder)
    assert (done.returncode, done.stdout) == (0, "[False, False, False, False]\n"), done
    assert done.stderr == "rbwp: ITT is not recorded: another version of its interface\n", done.stderr
    assert not (folder / "itt.bin").exists()


if sys.argv[1:2] == ["marks"]:
    marks(int(sys.argv[2]))
    sys.exit()
for test in (test_onetbb, test_marks, test_other_version):
    with tempfile.TemporaryDirectory() as name:
        test(pathlib.Path(name))
print("itt: all passed")
