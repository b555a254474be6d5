#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""P13: rbwp-ptxas in the place of ptxas. The real one gets its arguments with the PTX that has probes,
or, whatever went wrong, what it would have got, and one line says why."""
import json
import mmap
import os
import pathlib
import re
import subprocess

from lib import CORPUS, RBWP, WORK, check, finish

STAND_IN = WORK / "rbwp-ptxas"
STAND_IN.symlink_to(RBWP)
A = CORPUS / "fixture_a.ptx"
LOG = WORK / "log.json"
TMP = WORK / "tmp"
TMP.mkdir()

# A ptxas that keeps what it was called with, and takes no PTX in which REFUSED stands.
FAKE = WORK / "bin" / "ptxas"
FAKE.parent.mkdir()
FAKE.write_text(f"""#!/usr/bin/env python3
import json, os, pathlib, sys
calls = json.loads(pathlib.Path({str(LOG)!r}).read_text())
inputs = [word for word in sys.argv[1:] if word.endswith(".ptx")]
text = pathlib.Path(inputs[0]).read_text() if inputs and os.path.exists(inputs[0]) else ""
calls.append(dict(words=sys.argv[1:], text=text))
pathlib.Path({str(LOG)!r}).write_text(json.dumps(calls))
if os.environ.get("REFUSED") and os.environ["REFUSED"] in text:
    print("error in line 1", file=sys.stderr)
    sys.exit(255)
if "-o" in sys.argv:
    pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).write_text("cubin")
if "-v" in sys.argv:
    print("ptxas info: 32 registers", file=sys.stderr)
if "--version" in sys.argv:
    print("ptxas: fake")
sys.exit(int(os.environ.get("STATUS", "0")))
""")
FAKE.chmod(0o755)


def call(*words, code=0, program=STAND_IN, **environment):
    """(calls of the fake, standard output, standard error)"""
    LOG.write_text("[]")
    base = {"PATH": f"{WORK / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(TMP)}
    run = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=60, cwd=WORK,
                         env={**os.environ, **base, **{k: str(v) for k, v in environment.items()}})
    check(f"exit of {words}", run.returncode, code)
    check("nothing is left behind", list(TMP.iterdir()), [])
    return json.loads(LOG.read_text()), run.stdout, run.stderr


def as_triton():
    """As Triton calls it: the same arguments but the input, which has probes; what -v says is handed on."""
    words = ["-lineinfo", "-v", "--gpu-name=sm_90a", A, "-o", WORK / "out.cubin"]
    calls, _, errors = call(*words, RBWP_PTX_OPTIONS="--mode block --kernel k -t 0-3", RBWP_PTX_DIR=WORK / "maps")
    check("one call", len(calls), 1)
    check("arguments", [w for i, w in enumerate(calls[0]["words"]) if i != 3], [str(w) for i, w in enumerate(words) if i != 3])
    check("probes", calls[0]["text"].count("%clock64"), 24)
    check("what it said", errors, "ptxas info: 32 registers\n")
    check("its output", (WORK / "out.cubin").read_text(), "cubin")
    maps = list((WORK / "maps").iterdir())
    map_json = json.loads(maps[0].read_text())
    check("its map", (maps[0].name, len(maps), map_json["lanes"]), (f"{map_json['hash']}.map.json", 1, 4))
    # The module says itself which map it has and what buffer it needs (gpu/ptx/include/ptx_shape.h).
    words = re.search(r"rbwp_ptx_shape\[8\] = \{([^}]*)\}", calls[0]["text"])[1]
    check("the shape", [int(word, 16) for word in words.split(", ")],
          [int.from_bytes(b"RXSHAPE1", "little"), int(map_json["hash"], 16), map_json["buffer_bytes"], map_json["capacity"], 4, 1, 1, 0])
    kept = call(A, RBWP_PTX_DIR=WORK / "kept", RBWP_PTX_KEEP=1)[0][0]["text"]
    texts = {path.name.partition(".")[2]: path.read_text() for path in (WORK / "kept").iterdir()}
    check("both texts", (texts["original.ptx"], texts["probes.ptx"]), (A.read_text(), kept))
    check("no shape without the variable", "rbwp_ptx_shape" in call(A, RBWP_PTX_OPTIONS="--bind append")[0][0]["text"], False)
    calls, _, _ = call(A, "-o", "x.cubin")
    check("what it writes is no input", "rbwp_ptx_buffer" in call(A, "-o", "out.ptx")[0][0]["text"], True)
    check("by default", ("rbwp_ptx_buffer" in calls[0]["text"], "%smid" in calls[0]["text"]), (True, True))
    calls, _, _ = call(A, RBWP_PTXAS=FAKE, PATH="/usr/bin:/bin")
    check("by its path", len(calls), 1)
    # Under the name of ptxas it finds the next one.
    (WORK / "front").mkdir()
    (WORK / "front" / "ptxas").symlink_to(RBWP)
    calls, _, _ = call(A, program=WORK / "front" / "ptxas", PATH=f"{WORK / 'front'}:{WORK / 'bin'}:{os.environ['PATH']}")
    check("the next one on PATH", "rbwp_ptx_buffer" in calls[0]["text"], True)


def of_triton():
    """A process that has Triton loaded gets the ptxas that Triton brings, whatever is on PATH; and the one that it has for
    newer GPUs where it is for such."""
    package = WORK / "site" / "triton"
    library = package / "_C" / "libtriton.so"
    for folder in (library.parent, package / "backends" / "nvidia" / "bin"):
        folder.mkdir(parents=True)
    library.write_bytes(b"library")
    for name in ("ptxas", "ptxas-blackwell"):
        path = package / "backends" / "nvidia" / "bin" / name
        path.write_text(f"#!/bin/sh\necho {name} of Triton\n")
        path.chmod(0o755)
    with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        for words, found in ((["--version"], "ptxas"), (["--gpu-name=sm_90a", "x"], "ptxas"),
                             (["--gpu-name=sm_120a", "x"], "ptxas-blackwell")):
            check(f"with Triton: {words}", call(*words)[1], f"{found} of Triton\n")
        check("named", call("--version", RBWP_PTXAS=FAKE)[1], "ptxas: fake\n")
    check("without Triton", call("--version")[1], "ptxas: fake\n")


def passes_through():
    """Without PTX among the arguments nothing is touched."""
    calls, output, errors = call("--version")
    check("version", (calls[0]["words"], output, errors), (["--version"], "ptxas: fake\n", ""))
    calls, _, _ = call("in.cubin", "-o", "out.ptx", STATUS=3, code=3)
    check("an output is no input", calls[0]["words"], ["in.cubin", "-o", "out.ptx"])
    calls, _, errors = call(A, CORPUS / "fixture_b.ptx")
    check("two inputs", (calls[0]["words"], errors), ([str(A), str(CORPUS / "fixture_b.ptx")], ""))


def falls_back():
    """Each failure: the original PTX, the status of the real one, one line."""
    bad = WORK / "bad.ptx"
    bad.write_text(".version 8.0\n.entry k()\n{\n\tret\n}\n")

    def fell(why, calls_wanted, *words, **environment):
        calls, _, errors = call(*words, **environment)
        check(f"{why}: calls", len(calls), calls_wanted)
        check(f"{why}: the original", (calls[-1]["words"], calls[-1]["text"]), ([str(w) for w in words], words[0].read_text()))
        check(f"{why}: one line ({errors})", (errors.count("\n"), why in errors, errors.startswith("rbwp-ptxas: ")), (1, True, True))
    fell(f"{bad} goes on without probes: {bad}:4:2: no semicolon ends this", 1, bad, "-o", "x.cubin")
    fell("'all'", 1, A, RBWP_PTX_OPTIONS="--mode all")
    fell("'nonsense' is no option", 1, A, RBWP_PTX_OPTIONS="nonsense")
    fell("has not 64 bits", 1, A, RBWP_PTX_OPTIONS="--param k_param_1")
    fell("does not take the text with probes", 2, A, REFUSED="rbwp_ptx_")
    (WORK / "file").write_text("")
    fell("file", 1, A, RBWP_PTX_DIR=WORK / "file" / "maps")
    # What the real one says of its own is its own, and its status is ours.
    calls, _, errors = call(bad, REFUSED="ret", code=255)
    check("its own error", (len(calls), errors.splitlines()[1:]), (1, ["error in line 1"]))
    calls, _, errors = call(WORK / "nowhere.ptx", STATUS=1, code=1)
    check("no input", (calls[0]["words"], "No such file" in errors), ([str(WORK / "nowhere.ptx")], True))
    (WORK / "empty").mkdir()
    if not pathlib.Path("/usr/local/cuda/bin/ptxas").exists():
        _, _, errors = call(A, PATH=WORK / "empty", code=127)
        check("no ptxas", "no ptxas: set RBWP_PTXAS to its path" in errors, True)
    _, _, errors = call(A, RBWP_PTXAS=WORK / "empty" / "ptxas", code=127)
    check("not where it should be", "No such file" in errors, True)


as_triton()
of_triton()
passes_through()
falls_back()
finish()
