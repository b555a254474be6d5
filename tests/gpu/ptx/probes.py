# SPDX-License-Identifier: Apache-2.0
"""Kernels with probes: made by the command, assembled, their buffers read. Cells are read here by their description
(rbwp-ptx(1)), so that the command's own reading is not what it is checked by."""

import glob
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass

import numpy as np
from corpus import CORPUS

RBWP = os.environ.get("RBWP_COMMAND", "rbwp")
PTXAS = shutil.which("ptxas") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/ptxas"))), "ptxas")
MODES = ("block", "single", "entire", "config", "cfg", "mma", "warp")
WIDE_HEAD, WIDE_CELL, COMPAT_CELL = 32, 32, 16
NOTHING_FOUND = "no probe was put in"

_folder = tempfile.TemporaryDirectory(prefix="rbwp-ptx-")
FOLDER = pathlib.Path(_folder.name)
_count = 0


def new_path(ending):
    global _count
    _count += 1
    return FOLDER / f"{_count}{ending}"


def text_of(name, target=None):
    """A file of the corpus, for another target where one is given."""
    text = (CORPUS / f"{name}.ptx").read_text()
    return re.sub(r"\.target .*", f".target {target}", text) if target else text


@dataclass
class Made:
    """PTX with probes and the map of its buffer; map is None where a mode found nothing to time."""
    text: str
    map: dict
    map_path: pathlib.Path


def instrument(text, *options):
    source, out, map_json = new_path(".ptx"), new_path(".out.ptx"), new_path(".json")
    source.write_text(text)
    done = subprocess.run([RBWP, "ptx", "instrument", "-f", "-o", out, "--map", map_json, *map(str, options), source],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"instrument {options}: {done.stderr.strip()}")
    probes = None if NOTHING_FOUND in done.stderr else json.loads(map_json.read_text())
    return Made(out.read_text(), probes, map_json)


@dataclass
class Assembled:
    cubin: bytes
    registers: int
    spill_bytes: int


def assemble(text, arch="sm_90a"):
    """Through the real ptxas; RuntimeError with what it said. The numbers are the largest of the module's kernels."""
    source = new_path(".ptx")
    source.write_text(text)
    cubin = source.with_suffix(".cubin")
    done = subprocess.run([PTXAS, f"-arch={arch}", "-v", "-lineinfo", "-o", cubin, source], capture_output=True,
                          text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode:
        raise RuntimeError(f"ptxas for {arch}: {said.strip()[:400]}")
    most = lambda pattern: max(map(int, re.findall(pattern, said)), default=0)  # noqa: E731
    return Assembled(cubin.read_bytes(), most(r"Used (\d+) registers"), most(r"(\d+) bytes spill stores"))


class Traced:
    """A kernel with probes in a module of its own, and its buffer. on and off set the module's variable."""

    def __init__(self, cuda, made, assembled, kernel):
        self.cuda, self.made = cuda, made
        self.module = cuda.module(assembled.cubin)
        self.kernel = self.module.kernel(kernel)
        self.size = made.map["buffer_bytes"]
        self.buffer = cuda.zeros(self.size)

    def on(self):
        self.cuda.clear(self.buffer, self.size)
        self.module.set_variable("rbwp_ptx_buffer", self.buffer)

    def off(self):
        self.module.set_variable("rbwp_ptx_buffer", 0)

    def run(self, launch):
        self.kernel.launch(launch.grid, launch.block, launch.arguments, launch.shared)
        self.cuda.sync()

    def raw(self):
        return self.cuda.read(self.buffer, self.size)

    def dropped(self):
        """Of compat cells, whose count is a variable of the module."""
        if self.made.map["cells"] == "wide" or self.made.map["mode"] == "config":
            return 0
        return int.from_bytes(self.cuda.read(self.module.variable("rbwp_ptx_dropped"), 8), "little")

    def free(self):
        self.cuda.free(self.buffer)


# ---- machine code --------------------------------------------------------------------------------------

CS2R, CLOCK = 0x805, 80
# What a probe never is: loads, asynchronous copies, shared memory, barriers, tensor work (sm_80 to sm_90).
KERNELS_OWN = {0x981, 0x984, 0x988, 0xFAE, 0xB1D, 0x91D, 0x83B, 0x844, 0x23C, 0x9F0, 0x23E, 0x9AF, 0x91A, 0x9A7}


def gaps_of_code(cubin, kernel):
    """What stands in the machine code between an END's read of the clock and the next START's, in the order of the code:
    how many such gaps, the least and most instructions in one, and how many hold something that is not a probe's. All
    probes have the same shape, so reads of the clock are START and END in turns."""
    offset, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", cubin, offset + i * size) for i in range(count)]
    texts = cubin[rows[names][4]:][:rows[names][5]]
    row, = (row for row in rows if texts[row[0]:texts.index(b"\0", row[0])] == b".text." + kernel.encode())
    words = np.frombuffer(cubin[row[4]:row[4] + row[5]], "<u8").reshape(-1, 2)
    operations = (words[:, 0] & np.uint64(0xFFF)).astype(int)
    clocks, = np.nonzero((operations == CS2R) & ((words[:, 1] >> np.uint64(8)) & np.uint64(0xFF) == CLOCK))
    gaps = [operations[end + 1:start] for end, start in zip(clocks[1::2], clocks[2::2])]
    lengths = [len(gap) for gap in gaps] or [0]
    return len(gaps), min(lengths), max(lengths), sum(bool(KERNELS_OWN & set(gap.tolist())) for gap in gaps)


# ---- cells -------------------------------------------------------------------------------------------


@dataclass
class Lane:
    """One lane's records in their order, times in cycles; of wide cells the global timer too, and its head."""
    start_ids: np.ndarray
    end_ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    timer_ns: np.ndarray = None
    dropped: int = 0
    pair_cycles: int = 0
    head: tuple = (0, 0)  # global timer and clock at its beginning

    def pairs(self):
        return list(zip(self.start_ids.tolist(), self.end_ids.tolist()))

    def cycles(self):
        """Of each record, less what an empty pair takes."""
        return np.maximum(self.ends - self.starts - self.pair_cycles, 0)

    def whole(self):
        return int(self.ends[-1] - self.starts[0]) if len(self.starts) else 0


def _wide_lane(data, capacity):
    timer, clock = np.frombuffer(data[:16], "<u8").tolist()
    _, _, dropped, pair = np.frombuffer(data[16:32], "<u4").tolist()
    cells = np.frombuffer(data[WIDE_HEAD:], "<u8").reshape(capacity, 4)
    cells = cells[cells[:, 0] != 0].astype(np.uint64)
    ids = (cells[:, :2] >> np.uint64(32)) & np.uint64(0xFFFFF)
    stamps = (cells[:, :2] & np.uint64(0xFFFFFFFF)) | (cells[:, :2] >> np.uint64(52) << np.uint64(32))
    return Lane(ids[:, 0], ids[:, 1], stamps[:, 0].astype(np.int64), stamps[:, 1].astype(np.int64),
                cells[:, 2].astype(np.int64), dropped, pair, (timer, clock))


def _compat_lane(cells):
    cells = cells[(cells != 0).any(axis=1)].astype(np.int64)
    stamp = lambda column: (cells[:, column + 1] & 0xFFFF) << 32 | cells[:, column]  # noqa: E731
    return Lane(cells[:, 1] >> 16, cells[:, 3] >> 16, stamp(0), stamp(2))


def lanes(raw, map_json):
    """All lanes of a buffer."""
    count, capacity = map_json["lanes"], map_json["capacity"]
    if map_json["cells"] == "wide":
        assert raw[:8] in (b"RBWPPTX1", bytes(8)), "the buffer's magic is wrong"
        size = WIDE_HEAD + WIDE_CELL * capacity
        return [_wide_lane(raw[32 + i * size:32 + (i + 1) * size], capacity) for i in range(count)]
    cells = np.frombuffer(raw, "<u4").reshape(capacity, count, 4)
    return [_compat_lane(cells[:, i]) for i in range(count)]


def decoded_rows(made, raw):
    """What the command reads of the buffer: raw.npy."""
    path, folder = new_path(".raw"), new_path(".dir")
    path.write_bytes(raw)
    done = subprocess.run([RBWP, "ptx", "decode", "-f", "--map", made.map_path, "--dir", folder, path],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"decode: {done.stderr.strip()}")
    return np.load(folder / "raw.npy")
