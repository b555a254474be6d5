# SPDX-License-Identifier: Apache-2.0
"""What rbwp.ptx meets of Triton, without it: a JITFunction that compiles a file of PTX through the assembler and the
cache that the environment or the knobs name, and keeps what it compiled as Triton does. Its GPU is machine.py of the
tests of rbwp ptx; what a launch leaves in the buffer is given to a collector, if one listens."""

import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "ptx"))
from machine import Machine  # noqa: E402

CORPUS = HERE.parent / "ptx" / "corpus"
# A ptxas whose machine code is the PTX.
PTXAS = """#!/bin/sh
[ "$1" = --version ] && echo "ptxas: release 13.0, fake" && exit
while [ $# -gt 1 ]; do
    case $1 in
    -o) out=$2 ;;
    *.ptx) in=$1 ;;
    esac
    shift
done
cp "$in" "$out"
"""


class Knob:
    """A name of triton.knobs: what was assigned, else the environment's."""

    def __init__(self, variable):
        self.variable = variable

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, group, owner):
        return self.of(group.__dict__.get(self.name) or os.environ.get(self.variable))

    def __set__(self, group, value):
        group.__dict__[self.name] = value

    def of(self, value):
        return value


class Tool(Knob):

    def of(self, value):
        return types.SimpleNamespace(path=value or Fake.ptxas)


class Nvidia:
    ptxas = Tool("TRITON_PTXAS_PATH")


class Cache:
    dir = Knob("TRITON_CACHE_DIR")


class Fake:
    """The modules in sys.modules, a ptxas of its own in a folder, and the collector."""
    ptxas = ""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        ptxas = self.folder / "ptxas"
        ptxas.write_text(PTXAS)
        ptxas.chmod(0o755)
        Fake.ptxas = str(ptxas)
        self.knobs = types.SimpleNamespace(nvidia=Nvidia(), cache=Cache())
        self.modules = {"triton": types.ModuleType("triton"), "triton.knobs": self.knobs,
                        "triton.runtime.jit": types.SimpleNamespace(JITFunction=JITFunction)}
        self.collected = self.folder / "collected"
        self.collected.mkdir()
        self.compiled = 0
        self.say({"clock": 1, "pid": os.getpid(), "monotonic_ns": 5000, "wall_ns": 1_700_000_000_000_005_000,
                  "command": "python3 t.py", "host": "h"})

    def collect(self, text, kernel, memory, dropped):
        """As the collector does: the buffer, the losses behind compat cells, and a line."""
        map_path = max(self.collected.glob("*.map.json"), key=lambda path: path.stat().st_mtime_ns)
        map_json = json.loads(map_path.read_text())
        raw = f"{os.getpid()}-{len(list(self.collected.glob('*.raw')))}.raw"
        tail = b"" if map_json["cells"] == "wide" else dropped.to_bytes(8, "little") + int(map_json["hash"], 16).to_bytes(8, "little")
        (self.collected / raw).write_bytes(bytes(memory[:map_json["buffer_bytes"]]) + tail)
        self.say({"raw": raw, "map": map_path.name, "kernel": kernel, "pid": os.getpid(), "tid": 21, "thread": "main",
                  "device": 0, "stream": 7, "grid": [1, 1, 1], "block": [2, 1, 1], "launch_ns": 10_000,
                  "launched_ns": 11_000, "done_ns": 20_000, "anchors": [], "start_ns": 0, "stop_ns": 0,
                  "dropped": dropped})

    def say(self, line):
        with open(self.collected / f"launches-{os.getpid()}.ndjson", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class JITFunction:
    """fixture_a.ptx, whose kernel k takes an address, a count and three addresses."""

    def __init__(self, fake, name="fixture_a"):
        self.fake, self.path = fake, CORPUS / f"{name}.ptx"
        self.device_caches = collections.defaultdict(dict)

    def run(self, count, threads=2, buffer=None):
        """The text that ran."""
        compiled = self.device_caches[0]
        if "kernel" not in compiled:
            compiled["kernel"] = self.compile()
        text = compiled["kernel"]
        map_json = next(iter(self.fake.collected.glob("*.map.json")), None)
        size = max([json.loads(path.read_text())["buffer_bytes"] for path in self.fake.collected.glob("*.map.json")] or [0])
        memory = bytearray(size + 64) if buffer is None else memoryview(buffer).cast("B")
        probed = "rbwp_ptx_buffer" in text
        machine = Machine(text, memory, {"rbwp_ptx_buffer": Machine.BASE if map_json else 0, "rbwp_ptx_dropped": 0},
                          {"k_param_0": Machine.BASE + len(memory) - 64, "k_param_1": count,
                           "k_param_2": Machine.BASE})
        for thread in range(threads):
            machine.thread(ntid_x=threads, tid_x=thread)
        if probed:
            self.fake.collect(text, "k", memory, machine.variables["rbwp_ptx_dropped"])
        return text

    def compile(self):
        """The key has the assembler's version in it and not its path."""
        self.fake.compiled += 1
        ptxas, folder = self.fake.knobs.nvidia.ptxas.path, pathlib.Path(self.fake.knobs.cache.dir)
        version = subprocess.run([ptxas, "--version"], check=True, capture_output=True).stdout
        cached = folder / hashlib.sha256(version + self.path.read_bytes()).hexdigest()
        if not cached.exists():
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run([ptxas, "-lineinfo", "-v", "--gpu-name=sm_90a", str(self.path), "-o", str(cached)], check=True)
        return cached.read_text()
