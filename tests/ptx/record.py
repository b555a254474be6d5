#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rbwp record --ptx: a program that does what Triton and the collector do is found in the profile; what it prints, its
exit status and the signal that ends it are as without; and what cannot be recorded is one line."""
import json
import os
import pathlib
import signal
import subprocess
import sys

PROGRAM = "--program"


def program():
    """Assembles a kernel with what the environment names, and leaves a launch of it."""
    from lib import CORPUS
    from machine import Machine
    cubin, folder = pathlib.Path(f"cubin-{os.getpid()}"), pathlib.Path(os.environ["RBWP_PTX_DIR"])
    subprocess.run([os.environ["TRITON_PTXAS_PATH"], "-v", "--gpu-name=sm_90a", CORPUS / "fixture_a.ptx", "-o", cubin], check=True)
    assert os.access(os.environ["CUDA_INJECTION64_PATH"], os.R_OK)
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
        assert not os.listdir(os.environ[name]) and not os.environ[name].startswith("user"), os.environ[name]
    assert "TRITON_CACHE_MANAGER" not in os.environ
    text = cubin.read_text()
    map_json = json.loads(next(folder.glob("*.map.json")).read_text())
    memory = bytearray(map_json["buffer_bytes"]) + bytearray(256)
    gpu = Machine(text, memory, {"rbwp_ptx_buffer": Machine.BASE, "rbwp_ptx_dropped": 0},
                  {"k_param_0": Machine.BASE + map_json["buffer_bytes"], "k_param_1": 2}, clock=1000, step=10)
    for thread in range(64):
        gpu.thread(ntid_x=64, tid_x=thread, smid=3, warpid=thread // 32)
    (folder / "1-1.raw").write_bytes(memory[:map_json["buffer_bytes"]])
    launch = {"raw": "1-1.raw", "map": f"{map_json['hash']}.map.json", "kernel": "k", "pid": 1, "device": 0, "stream": 7, "grid": [1, 1, 1],
              "block": [64, 1, 1], "launch_ns": 1000, "launched_ns": 2000, "done_ns": 90000,
              "anchors": [{"device_ns": 500, "host_ns": 1500, "bound_ns": 20}]}
    skipped = {"skipped": "limit", "map": launch["map"], "kernel": "k", "count": 4}
    (folder / "launches-1.ndjson").write_text(json.dumps(launch) + "\n" + json.dumps(skipped) + "\n")
    print(os.environ["RBWP_PTX_LAUNCHES"], text.count("%clock64"), sys.stdin.read())
    sys.exit(int(sys.argv[2]))


if sys.argv[1:2] == [PROGRAM]:
    program()

from lib import RBWP, WORK, check, finish  # noqa: E402  (it makes a folder)

FAKE = WORK / "ptxas"
FAKE.write_text('#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in *.ptx) in=$1;; -o) out=$2;; esac; shift; done\ncp "$in" "$out"\n')
FAKE.chmod(0o755)
INJECT = WORK / "librbwp-inject.so"
INJECT.write_bytes(b"")
ENVIRONMENT = {**os.environ, "TRITON_PTXAS_PATH": str(FAKE), "RBWP_INJECT": str(INJECT), "TMPDIR": str(WORK / "tmp"),
               "TRITON_CACHE_DIR": "user-triton", "TORCHINDUCTOR_CACHE_DIR": "user-inductor", "TRITON_CACHE_MANAGER": "theirs",
               "LC_ALL": "C"}
(WORK / "tmp").mkdir()
OWN = [sys.executable, "-B", pathlib.Path(__file__).resolve(), PROGRAM]


def record(*words, code=0, stdin="", **environment):
    """(standard output, lines of standard error)"""
    done = subprocess.run([RBWP, "record", *map(str, words)], input=stdin, capture_output=True, text=True, timeout=60, cwd=WORK,
                          env={**ENVIRONMENT, **environment})
    check(f"exit of {words}: {done.stderr}", done.returncode, code)
    check("nothing is left behind", os.listdir(WORK / "tmp"), [])
    return done.stdout, done.stderr.splitlines()


def profile():
    """A profile and a page of one run; the program's input, output and exit status pass through."""
    out, errors = record("--ptx", "--mode", "block", "--kernel", "k", "-t", "0-31", "--ptx-launches", 3, "-o", "a.bin",
                         "--report", "a.html", "--", *OWN, 5, stdin="its input", code=5)
    check("its output", out.split(" ", 1)[0] + out.rsplit(" ", 2)[1] + out.rsplit(" ", 1)[1], "3itsinput\n")
    check("summary", (errors[0].startswith("a.bin: 1 launch of 1 kernel, "), errors[1].startswith("4 launches are not in it")), (True, True))
    check("hottest lines", (errors[2].split()[:3], len(errors) > 3), (["share", "cycles", "count"], True))
    rows = subprocess.run([RBWP, "tables", "--table", "kernel_block", "--as", "ndjson", WORK / "a.bin"], capture_output=True, text=True, check=True)
    check("kernels", {json.loads(row)["kernel"] for row in rows.stdout.splitlines()}, {"k"})
    check("the page", "<html" in (WORK / "a.html").read_text()[:500], True)
    # What is there is not overwritten, and not after hours either.
    out, errors = record("--ptx", "-o", "a.bin", "--", "echo", "it ran")
    check("it runs all the same", (out, len(errors), "a.bin" in errors[0]), ("it ran\n", 1, True))


def passes():
    """The second run has fewer probes, and its profile is the one that is kept; so is the folder, on demand."""
    out, errors = record("--ptx", "--passes", 2, "--ptx-launches", 3, "-fo", "b.bin", "--folder", "kept", "--", *OWN, 0)
    probes = [int(line.split()[1]) for line in out.splitlines() if line.strip()]
    check(f"two runs ({errors})", (len(probes), probes[1] < probes[0]), (2, True))
    check("folders", sorted(os.listdir(WORK / "kept")), ["active", "first", "second"])
    check("one profile", (WORK / "b.bin").exists(), True)
    out, errors = record("--ptx", "--passes", 2, "--ptx-launches", 3, "-fo", "b.bin", "--", *OWN, 4, code=4)
    check("not again after a failure", (len(out.splitlines()), errors[1].startswith("b.bin: 1 launch of 1 kernel, ")), (1, True))


def ends():
    """The program's end is ours."""
    record("--ptx", "--", "sh", "-c", "kill -TERM $$", code=-signal.SIGTERM)
    record("--ptx", "--", "sh", "-c", "kill -KILL $$", code=-signal.SIGKILL)
    _, errors = record("--ptx", "--", "no-such-command", code=127)
    check("not found", "no-such-command: No such file" in errors[0], True)
    record("--ptx", "--", WORK, code=126)
    # What is sent to us is handed on; what the terminal sends to both is the program's matter.
    with subprocess.Popen([RBWP, "record", "--ptx", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do read line; done"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT, cwd=WORK) as running:
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGTERM)
        running.stdin.write("on\n")  # sh runs a trap when its read is over
        running.stdin.flush()
        check("handed on", running.wait(timeout=60), 9)


def nothing():
    """One line says why there is nothing."""
    def says(what, *words, code=0, **environment):
        _, errors = record(*words, code=code, **environment)
        check(f"one line: {errors}", (len(errors), what in " ".join(errors)), (1, True))
    says("no kernel was compiled", "--ptx", "--", "true")
    says("no kernel was compiled", "--ptx", "--passes", 2, "--", "true")
    says("no GPU was used", "--ptx", "--", "sh", "-c", ': >"$RBWP_PTX_DIR/x.map.json"')
    says("no kernel with probes was launched", "--ptx", "--", "sh", "-c", ': >"$RBWP_PTX_DIR/x.map.json"; : >"$RBWP_PTX_DIR/launches-1.ndjson"')
    says("librbwp-inject.so are not beside it", "--ptx", "--", "true", RBWP_INJECT="/nowhere/lib.so")
    says("nowhere/x.bin: No such file", "--ptx", "-o", "nowhere/x.bin", "--", "true")
    says("ptxas/x: Not a directory", "--ptx", "--folder", "ptxas/x", "--", "true")
    says("no command given", "--ptx", code=2)
    says("a blank cannot be in it", "--ptx", "--kernel", "a b", "--", "true")
    says("standard output is the program's", "--ptx", "-o", "-", "--", "true", code=2)


profile()
passes()
ends()
nothing()
finish()
