#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""librbwp-ompt.so in a program that knows nothing of it (omp_tasks.c): the calls of regions and the sub-items are as many as the
program counts, also of one that kills itself; they lie in one another; threads have names. What is over ends in time. Without a session, or under a runtime of another version,
the program runs as it is, and one line says why; so it does with another tool first, and then it is the runtime that says so."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

LIBRARY, RBWP = (os.environ[name] for name in ("LIBRARY", "RBWP"))
HERE = pathlib.Path(__file__).parent
CLANG = next(filter(None, map(shutil.which, ("clang", "clang-14"))), None)
ROUNDS = 5


def build(folder):
    """gcc's libgomp has no such interface."""
    made = CLANG and subprocess.run([CLANG, "-O1", "-fopenmp", HERE / "omp_tasks.c", "-o", folder / "omp_tasks"], capture_output=True)
    if not made or made.returncode:
        print("skipped: clang with its OpenMP is not installed (Debian: clang, libomp-dev)")
        sys.exit(77)
    subprocess.run([CLANG, "-fsyntax-only", f"-I{HERE.parent}/gpu", f"-I{HERE.parents[1]}/runtime/collect", HERE / "abi_ompt.c"],
                   check=True)
    return folder / "omp_tasks"


def run(folder, *words, flags="", program=None, **more):
    environment = {**os.environ, "OMP_TOOL_LIBRARIES": LIBRARY, "RBWP_FLAGS": f"-bgworkprofile_logfile {folder}/omp.bin {flags}", **more}
    done = subprocess.run([program or PROGRAM, folder / "counts", str(ROUNDS), *words], env=environment, capture_output=True, text=True, timeout=60)
    names = "parts", "nested", "parents", "leaves"
    return done, dict(zip(names, struct.unpack("4q", (folder / "counts").read_bytes())))


def stats(file):
    shown = subprocess.run([RBWP, "stats", "--json", file], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)


def counted(found):
    """How many calls of regions begin; sub-items by kind and name."""
    calls = sum(row["count"] + row["open"] for row in found["work_items"])
    kinds = {}
    for row in found["sub_items"]:
        kinds.setdefault(row["kind"], {})[row["name"]] = row["count"] + row["open"]
    return calls, kinds


def leaves_of(found, counts):
    """Of tasks in which nothing is done but by themselves."""
    return next(row for row in found["sub_items"] if row["kind"] == "task" and row["count"] == counts["leaves"])


def test_untied(folder):
    """The runtime reports the end of an untied task's piece as if another one interrupted it: no task lies in such a piece, and
    each task that makes tasks has one piece more."""
    done, counts = run(folder, "untied")
    found = stats(folder / "omp.bin")
    assert done.returncode == 0 and counts["leaves"] == 400, (done, counts)
    pieces = next(row for row in found["sub_items"] if row["kind"] == "task" and row["count"] != counts["leaves"])
    assert pieces["count"] == 2 * counts["parents"], (found["sub_items"], counts)


def test_counts(folder):
    done, counts = run(folder, flags="-bgworkprofile_logfile nowhere/omp.bin", RBWP_COLLECT_FILE=f"{folder}/omp.bin")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    subprocess.run([RBWP, "check", folder / "omp.bin"], check=True, stdout=subprocess.DEVNULL)
    found = stats(folder / "omp.bin")
    calls, kinds = counted(found)
    regions = sum(kinds["region"].values())
    assert calls + regions == counts["parts"] + counts["nested"] == 9 * ROUNDS, (found, counts)
    assert regions == 2 * ROUNDS, kinds  # the parts of threads that were in a region already
    assert sorted(kinds["task"].values()) == sorted([counts["parents"], counts["leaves"]]), (kinds, counts)
    assert leaves_of(found, counts)["self"] == leaves_of(found, counts)["total"], found["sub_items"]
    assert kinds["wait"]["taskwait"] == counts["parents"], kinds
    assert 1 <= kinds["wait"]["critical"] <= 3 * ROUNDS, kinds
    names = {row["name"] for row in found["threads"]}
    assert "omp_tasks" in names and "OpenMP thread 1" in names, names
    assert not any(row.get("open") for row in found["work_items"]), found["work_items"]
    assert all("omp_tasks" not in row["name"] for row in found["work_items"]), found["work_items"]  # functions, not addresses


def test_idle(folder):
    """A thread is in the runtime until the next region; where there is none its part has ended with the region all the same."""
    run(folder, "idle")
    info = json.loads(subprocess.run([RBWP, "info", "--json", folder / "omp.bin"], capture_output=True, text=True, check=True).stdout)
    last, stop = stats(folder / "omp.bin")["last"], info["session"]["stop"]
    assert stop - last > 200_000_000, (last, stop)


def test_gcc(folder):
    """What gcc compiles runs under LLVM's OpenMP, too, where that is preloaded."""
    program = folder / "omp_gcc"
    made = subprocess.run(["gcc", "-O1", "-fopenmp", HERE / "omp_tasks.c", "-o", program], capture_output=True, text=True)
    libomp = subprocess.run([CLANG, "-print-file-name=libomp.so.5"], capture_output=True, text=True, check=True).stdout.strip()
    if made.returncode or not os.path.isabs(libomp):
        print("skipped: a program of gcc's under LLVM's OpenMP:", made.stderr or libomp)
        return
    done, counts = run(folder, program=program, LD_PRELOAD=libomp)
    calls, kinds = counted(stats(folder / "omp.bin"))
    assert done.returncode == 0 and calls + sum(kinds["region"].values()) == counts["parts"] + counts["nested"], (kinds, counts)
    assert sorted(kinds["task"].values()) == sorted([counts["parents"], counts["leaves"]]), (kinds, counts)


def test_killed(folder):
    done, counts = run(folder, "kill")
    assert done.returncode == -9, done
    subprocess.run([RBWP, "repair", folder / "omp.bin", "-o", folder / "whole.bin"], check=True, stdout=subprocess.DEVNULL)
    calls, kinds = counted(stats(folder / "whole.bin"))
    for found, count in ((sorted(kinds["task"].values()), sorted([counts["parents"], counts["leaves"]])),
                         ([calls + sum(kinds["region"].values())], [counts["parts"] + counts["nested"]])):
        assert all(0 <= more - less <= 3 for more, less in zip(found, count)), (kinds, counts)  # begun, and not counted yet


def test_not_recorded(folder):
    for flags, said in (("-bgworkprofile 0", ""), ("-bgworkprofile_nothing", "rbwp: OpenMP is not recorded: ")):
        done, counts = run(folder, flags=flags)
        assert done.returncode == 0 and counts["leaves"] >= 400, (done, counts)
        assert done.stderr.startswith(said) and done.stderr.count("\n") == bool(said), done.stderr
        assert not (folder / "omp.bin").exists()
    again = "import ctypes, sys; lib = ctypes.CDLL(sys.argv[1]); lib.ompt_start_tool.restype = ctypes.c_void_p; " \
            "print([lib.ompt_start_tool(version, b'a runtime') is None for version in (201307, 201611, 203001)])"
    done = subprocess.run([sys.executable, "-c", again, LIBRARY], capture_output=True, text=True, check=True)
    assert done.stdout == "[True, False, True]\n", done.stdout
    assert done.stderr.splitlines() == [f"rbwp: OpenMP is not recorded: version {version} of its tool interface (a runtime) is not known"
                                        for version in (201307, 203001)], done.stderr


OTHER_TOOL = """
#include <omp-tools.h>
#include <stdio.h>
static int begin(ompt_function_lookup_t lookup, int device, ompt_data_t *tool) { fputs("another tool\\n", stderr); return 1; }
static void end(ompt_data_t *tool) {}
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {begin, end, {0}};
    return &result;
}
"""


def test_other_tool(folder):
    """The runtime asks one tool alone: the program runs with whichever comes first, and with one of its own. Ours is not asked then, and
    cannot say so: the runtime does, if it is to."""
    (folder / "tool.c").write_text(OTHER_TOOL)
    tool, program = folder / "tool.so", folder / "with_tool"
    subprocess.run([CLANG, "-shared", "-fPIC", folder / "tool.c", "-o", tool], check=True)
    subprocess.run([CLANG, "-O1", "-fopenmp", HERE / "omp_tasks.c", folder / "tool.c", "-o", program, "-rdynamic"], check=True)
    for libraries, started, recorded in ((f"{tool}:{LIBRARY}", None, False), (f"{LIBRARY}:{tool}", None, True), (LIBRARY, program, False)):
        done, counts = run(folder, program=started, OMP_TOOL_LIBRARIES=libraries)
        said = "" if recorded else "another tool\n"
        assert (done.returncode, done.stderr, counts["leaves"]) == (0, said, 80 * ROUNDS), (libraries, done, counts)
        assert (folder / "omp.bin").exists() == recorded, libraries
        (folder / "counts").unlink()  # the program would count on
        if recorded:
            assert leaves_of(stats(folder / "omp.bin"), counts)
            (folder / "omp.bin").unlink()
    done, _ = run(folder, OMP_TOOL_LIBRARIES=f"{tool}:{LIBRARY}", OMP_TOOL_VERBOSE_INIT="stderr")
    assert f"Searching for ompt_start_tool in {tool}... Success" in done.stderr and LIBRARY not in done.stderr.partition("Opening")[2], done.stderr


def test_runtime_without_tasks(folder):
    """One that cannot report what is needed: the tool asks the runtime to go on without it, and there is no session."""
    code = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
LOOKUP = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
BEGIN = ctypes.CFUNCTYPE(ctypes.c_int, LOOKUP, ctypes.c_int, ctypes.c_void_p)
lib.ompt_start_tool.restype = ctypes.POINTER(ctypes.c_void_p)
set_callback = SET(lambda event, callback: 1 if event == 5 else 5)
lookups = [LOOKUP(lambda name: None), LOOKUP(lambda name: ctypes.cast(set_callback, ctypes.c_void_p).value)]
print([BEGIN(lib.ompt_start_tool(201811, b'r')[0])(lookup, 0, None) for lookup in lookups])
"""
    environment = {**os.environ, "RBWP_FLAGS": f"-bgworkprofile_logfile {folder}/omp.bin"}
    done = subprocess.run([sys.executable, "-c", code, LIBRARY], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "[0, 0]\n", done
    assert done.stderr.splitlines() == ["rbwp: OpenMP is not recorded: its runtime does not report regions and tasks"] * 2, done.stderr


with tempfile.TemporaryDirectory() as built:
    PROGRAM = build(pathlib.Path(built))
    for test in (test_counts, test_untied, test_idle, test_gcc, test_killed, test_not_recorded, test_other_tool, test_runtime_without_tasks):
        with tempfile.TemporaryDirectory() as name:
            test(pathlib.Path(name))
print("openmp: all passed")
