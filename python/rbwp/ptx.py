# SPDX-License-Identifier: Apache-2.0
"""Clock probes in the kernels of a script, for as long as a context is open:

    with rbwp.ptx.instrument(mode="warp", target_file="script.py") as inst:
        kernel[grid](...)
    inst.summary()
    inst.export_chrome_trace("trace.json")

Results may be asked for inside the context, too: they are of the launches so far. What is compiled in the context gets probes, by rbwp-ptxas in the place of ptxas; the collector, librbwp-inject.so, gives
their variable a buffer at each launch and reads it back. Kernels that were compiled before are compiled again, and none
with probes is left behind: _triton.py has that. Under `rbwp record --ptx` the collector is there already."""

import atexit
import configparser
import ctypes
import functools
import json
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, TextIO, Tuple, Type, Union

import numpy as np
import numpy.typing as npt

from . import _triton, memory
from .native import RbwpError, checked_number, checked_path, inject_library, run_command, stand_in

MODES = ("block", "single", "entire", "config", "cfg", "mma", "warp")
OURS = ("cfg", "mma", "warp")
BINDINGS = ("variable", "param")
WIDE_BYTES = 32
_TEXTS = {".original.ptx": "original.ptx", ".probes.ptx": "instrumented.ptx"}  # as rbwp-ptxas calls them, and save()
Active = Union[str, "os.PathLike[str]", Mapping[str, Any], None]


# ---- what was recorded -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slot:
    """The n-th record of each lane of a launch. probe_site is the first lane's, line its source line, or -1; the arrays
    have one value a lane, clocks in cycles, 0 where a lane has no such record."""
    kernel: str
    slot: int
    probe_site: int
    line: int
    start_idx: npt.NDArray[np.int64]
    end_idx: npt.NDArray[np.int64]
    start_time: npt.NDArray[np.int64]
    end_time: npt.NDArray[np.int64]

    @property
    def duration(self) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = self.end_time - self.start_time
        return found

    @property
    def mean_cycles(self) -> float:
        """Of all lanes, those without a record too."""
        return float(self.duration.mean()) if len(self.start_time) else 0.0

    @property
    def loc(self) -> int:
        return self.line


@dataclass(frozen=True)
class Pair:
    """All records of a kernel with one START and one END, in all launches. Cycles are less what an empty pair takes;
    end differs from start where a taken branch leads from the one to the other."""
    kernel: str
    start: int
    end: int
    line: int
    file: str
    count: int
    total_cycles: int
    min_cycles: int
    p50_cycles: int
    p99_cycles: int
    max_cycles: int

    @property
    def mean_cycles(self) -> float:
        return self.total_cycles / self.count


@dataclass(frozen=True)
class Launch:
    """One launch: what the collector says of it (info), the map of its probes, and its buffer as it was (raw_path).
    cells: records by slot and lane, each START's probe, END's, START's clock, END's; 0 where there is none."""
    kernel: str
    map: Dict[str, Any]
    map_path: str
    raw_path: str
    cells: npt.NDArray[np.int64] = field(repr=False)
    info: Dict[str, Any] = field(default_factory=dict)
    pair_cycles: int = 0

    @property
    def dropped(self) -> int:
        """Records that found no room."""
        return int(self.info.get("dropped", 0))

    @property
    def shape(self) -> "Tuple[int, ...]":
        """Of mode config: threads of a block in x, y, z, blocks in x, y, z, all threads."""
        if self.map["mode"] != "config":
            raise ValueError(f"mode: {self.map['mode']} does not write the launch's shape, config does")
        return tuple(np.fromfile(self.raw_path, "<u8", 7).tolist())

    def line(self, probe: int) -> int:
        return int(self._probes.get(probe, {}).get("loc", -1))

    def file(self, probe: int) -> str:
        return str(self.map["files"].get(str(self._probes.get(probe, {}).get("file")), ""))

    def slots(self) -> List[Slot]:
        return [Slot(self.kernel, number, int(row[0, 0]), self.line(int(row[0, 0])), *(row[:, i] for i in range(4)))
                for number, row in enumerate(self.cells)]

    @functools.cached_property
    def _probes(self) -> Dict[int, Dict[str, Any]]:
        return {probe["id"]: probe for probe in self.map["probes"]}


def _decoded(map_path: str, raw_path: str, folder: str, options: Sequence[str] = ()) -> npt.NDArray[np.int64]:
    """Records of a buffer as the command reads it, which refuses those that are not of this map."""
    run_command(["ptx", "decode", "--force", "--map", map_path, "--dir", folder, "--output", os.devnull, *options, raw_path])
    rows: npt.NDArray[np.int64] = np.load(os.path.join(folder, "raw.npy"))
    return rows.reshape(len(rows), rows.shape[1] // 4, 4)


def _empty_pair(told: Mapping[str, Any], raw_path: str) -> int:
    """What the lanes of a wide buffer measured an empty pair to take, at least."""
    if told["cells"] != "wide":
        return 0
    words = np.memmap(raw_path, "<u4", "r")[WIDE_BYTES // 4:]
    lane_words = WIDE_BYTES // 4 * (int(told["capacity"]) + 1)
    costs = words[:lane_words * int(told["lanes"])].reshape(-1, lane_words)[:, 7]
    return int(min(costs[costs > 0], default=0))


def _launch(map_path: str, raw_path: str, info: Dict[str, Any]) -> Launch:
    with open(map_path, encoding="utf-8") as file:
        told = json.load(file)
    kernel = str(info.get("kernel") or next(iter(told["kernels"].values()), ""))
    cells = np.zeros((0, 0, 4), np.int64)
    if told["mode"] != "config":
        with tempfile.TemporaryDirectory(prefix="rbwp-") as folder:
            cells = _decoded(map_path, raw_path, folder)
    return Launch(kernel, told, map_path, raw_path, cells, info, _empty_pair(told, raw_path))


def _at(ordered: npt.NDArray[Any], share: float) -> int:
    return int(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def _pairs(launches: Sequence[Launch]) -> List[Pair]:
    """Sums of all records of a kernel's module, by their two numbers; the slowest first."""
    groups: "Dict[Tuple[str, str, int, int], List[npt.NDArray[np.int64]]]" = {}
    of_hash = {}
    for launch in launches:
        records = launch.cells.reshape(-1, 4)
        records = records[records[:, 2] != 0]
        took = np.maximum(records[:, 3] - records[:, 2] - launch.pair_cycles, 0)
        for start, end in np.unique(records[:, :2], axis=0).tolist():
            here = (records[:, 0] == start) & (records[:, 1] == end)
            groups.setdefault((launch.kernel, launch.map["hash"], start, end), []).append(took[here])
        of_hash[launch.map["hash"]] = launch
    found = []
    for (kernel, name, start, end), parts in groups.items():
        took = np.sort(np.concatenate(parts))
        found.append(Pair(kernel, start, end, of_hash[name].line(start), of_hash[name].file(start), len(took),
                          int(took.sum()), int(took[0]), _at(took, 0.5), _at(took, 0.99), int(took[-1])))
    return sorted(found, key=lambda pair: -pair.total_cycles)


# ---- the collector -----------------------------------------------------------------------------------


_folder: Optional[str] = None  # that the collector writes to: one, for as long as the process lives
_own_folder: Optional[str] = None  # the same, where nobody else reads it


def _collect(launches: int) -> str:
    """The collector records so many launches of each kernel from now on: its folder. It is started if it is not there."""
    global _folder, _own_folder
    given = os.environ.get("CUDA_INJECTION64_PATH")
    path = given if _folder is None and given and os.environ.get("RBWP_PTX_DIR") else inject_library()
    collector: Any = ctypes.CDLL(path)
    if _folder is None and path == given:
        _folder = os.path.abspath(os.environ["RBWP_PTX_DIR"])  # it is `rbwp record --ptx` that we run under
    elif _folder is None:
        _folder = _own_folder = tempfile.mkdtemp(prefix="rbwp-ptx-")
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
        with _triton.environment({"RBWP_PTX_DIR": _folder}):
            collector.InitializeInjection()
    collector.rbwp_inject_ptx_again(launches)
    return _folder


def _lines(folder: str) -> List[str]:
    """What the collector has said of launches of this process."""
    try:
        with open(os.path.join(folder, f"launches-{os.getpid()}.ndjson"), encoding="utf-8") as file:
            return file.read().rpartition("\n")[0].splitlines()
    except FileNotFoundError:
        return []


def _bring(source: str, target: str) -> None:
    """Buffers are large: no second copy where there is a way without."""
    if os.path.exists(target):
        return
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


# ---- options -----------------------------------------------------------------------------------------


def _word(name: str, value: Any) -> str:
    """An option's value: such words are parted by blanks."""
    text = str(value)
    if not text or text.startswith("-") or len(text.split()) != 1 or text != text.strip():
        raise ValueError(f"{name}: {text!r} is empty, has a blank in it or begins with -")
    return text


def _one_of(name: str, value: Any, known: Sequence[str]) -> str:
    if value not in known:
        raise ValueError(f"{name}: {value!r} is not one of {', '.join(known)}")
    return str(value)


def _thread_set(threads: Any, first: int, last: int) -> str:
    if threads is None:
        if last < first:
            raise ValueError(f"t_end: {last} is less than t_start, {first}")
        return f"{first}-{last}"
    if isinstance(threads, str):
        return _word("threads", threads)
    return ",".join(str(checked_number("threads", thread, 0, 2**62)) for thread in threads) or _word("threads", "")


@dataclass(frozen=True)
class _Files:
    """What save() writes, and where; names are those of config.ini. Without analysis_dir all goes to output_dir."""
    output_dir: Optional[str]
    analysis_dir: Optional[str]
    dump_ptx: bool
    raw_csv: str
    trace_json: str
    loc_map: str
    active_json: str


class Instrumentation:
    """What instrument() gives. As a context it is entered once; results are there inside it and behind it."""

    def __init__(self, options: Sequence[str], mode: str, bind: str, active: Active, launches: int,
                 files: _Files, sanitizing: Sequence[str]) -> None:
        self.mode, self.bind = mode, bind
        self._options = list(options)
        self._active, self._limit, self._files, self._sanitizing = active, launches, files, list(sanitizing)
        self._buffer: Optional[memory.Array] = None
        self._capacity, self._lanes = 0, 0
        self._work = tempfile.mkdtemp(prefix="rbwp-ptx-")
        weakref.finalize(self, shutil.rmtree, self._work, ignore_errors=True)
        self._changed: Optional[Any] = None
        self._collected = ""  # the collector's folder, while the context is open
        self._taken = 0  # lines of the collector's that were taken, or are of launches before the context
        self._found: List[Launch] = []

    @property
    def folder(self) -> str:
        """Maps, buffers and lines of the launches of this context, as `rbwp ptx decode --rbwp` takes them; it goes with
        this object."""
        return self._work

    def __repr__(self) -> str:
        return f"<rbwp.ptx.Instrumentation: {' '.join(self._options)}, {len(self._found)} launches in {self._work}>"

    # ---- the context

    def __enter__(self) -> "Instrumentation":
        if self._changed is not None:
            raise RuntimeError("an instrumentation is entered once: call instrument() again")
        if self.bind == "variable":
            self._collected = _collect(self._limit)
            known = _lines(self._collected)
            self._taken = len(known)
            self._keep_lines([line for line in known if "clock" in json.loads(line)])  # what has the host's clocks
        variables = {
            "RBWP_PTX_DIR": self._collected or self.folder,
            "RBWP_PTX_OPTIONS": " ".join(self._words()),
            "RBWP_PTX_KEEP": "1" if self._files.dump_ptx else None,
        }
        self._changed = _triton.compiled_anew(stand_in(), os.path.join(self.folder, "cache"), variables)
        self._changed.__enter__()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        assert self._changed is not None
        if self.bind != "variable" and self._buffer is not None:
            memory.wait("numpy" if isinstance(self._buffer, np.ndarray) else self._buffer.device)
        self._changed.__exit__(kind, error, trace)
        shutil.rmtree(os.path.join(self.folder, "cache"), ignore_errors=True)
        self._take_launches()
        self._collected = ""
        if error is None and self._files.output_dir is not None:
            self.save()

    def _words(self) -> List[str]:
        """The command's options."""
        if self._active is None:
            return self._options
        path = os.path.join(self.folder, "active.json")
        if isinstance(self._active, Mapping):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self._active, file)
        else:
            shutil.copyfile(checked_path("active_list", self._active), path)
        return [*self._options, "--active", _word("TMPDIR", path)]

    def _grow(self, capacity: int) -> None:
        """Room for so many records in kernels that are compiled from now on, if that is more."""
        self._capacity = max(self._capacity, capacity)
        self._options[self._options.index("--capacity") + 1] = str(self._capacity)
        if self._changed is not None:
            os.environ["RBWP_PTX_OPTIONS"] = " ".join(self._words())

    def _take_launches(self) -> None:
        """The lines that came since the last time, with their files, while the context is open."""
        lines = _lines(self._collected)[self._taken:] if self._collected else []
        for line in lines:
            told = json.loads(line)
            texts = [told["map"].replace(".map.json", kind) for kind in _TEXTS] if "raw" in told else []
            for name in (told.get("raw"), told.get("map"), *texts):
                if name and (name not in texts or os.path.exists(os.path.join(self._collected, name))):
                    _bring(os.path.join(self._collected, name), os.path.join(self.folder, name))
            if told.get("raw") and self._collected == _own_folder:
                os.unlink(os.path.join(self._collected, told["raw"]))
        self._keep_lines(lines)
        self._taken += len(lines)

    def _keep_lines(self, lines: Sequence[str]) -> None:
        with open(os.path.join(self.folder, f"launches-{os.getpid()}.ndjson"), "a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    # ---- a buffer that the kernel has as a parameter

    def allocate_buffer(self, n_probes_estimate: Optional[int] = None, n_threads: Optional[int] = None,
                        device: Any = None) -> memory.Array:
        """For bind="param": the buffer to pass as the kernel's last argument, 32-bit integers that are 0. What it is
        sized by are capacity and threads, unless others are given, which then must not be fewer."""
        if self.bind == "variable":
            raise ValueError("bind: a variable of the module has the buffer's address, the kernel needs no parameter")
        count, threads = ((least if value is None else checked_number(name, value, least, 2**31 - 1))
                          for name, value, least in (("n_probes_estimate", n_probes_estimate, self._capacity),
                                                     ("n_threads", n_threads, self._lanes)))
        # A wide lane is a head and its cells; one head is the buffer's own.
        cells = count * threads if self.mode not in OURS and "wide" not in self._options else 2 * (count + 1) * threads + 2
        where = memory.default_device() if device is None else device
        self._buffer = memory.zeros(4 * max(cells, 4), 32, where)
        return self._buffer

    def _of_buffer(self) -> List[Launch]:
        if self._buffer is None:
            raise ValueError("bind: no buffer was made; call allocate_buffer() and pass it to the kernel")
        maps = sorted(name for name in os.listdir(self.folder) if name.endswith(".map.json"))
        if len(maps) != 1:
            raise ValueError(f"kernel: {len(maps)} modules got probes, and one of them wrote to the buffer; name it")
        map_path, raw_path = os.path.join(self.folder, maps[0]), os.path.join(self.folder, "buffer.raw")
        with open(map_path, encoding="utf-8") as file:
            size = int(json.load(file)["buffer_bytes"])
        with open(raw_path, "wb") as raw:
            raw.write(memory.to_host(self._buffer).tobytes()[:size])
        return [_launch(map_path, raw_path, {})]

    # ---- what was found

    def launches(self) -> List[Launch]:
        """The launches that were recorded, in their order; inside the context, those so far."""
        if self.bind != "variable":
            return self._of_buffer()
        told = [line for line in self._told() if "raw" in line]
        self._found += [_launch(os.path.join(self.folder, line["map"]), os.path.join(self.folder, line["raw"]), line)
                        for line in told[len(self._found):]]
        return list(self._found)

    def skipped(self) -> List[Dict[str, Any]]:
        """What the collector says of launches that were not recorded: kernel, why, and how many where that is known."""
        return [line for line in self._told() if "skipped" in line]

    def _told(self) -> List[Dict[str, Any]]:
        self._take_launches()
        return [json.loads(line) for line in _lines(self.folder)]

    def results(self) -> List[Slot]:
        """The slots of all launches."""
        return [slot for launch in self.launches() for slot in launch.slots()]

    def pairs(self) -> List[Pair]:
        """Sums over all lanes and launches, the longest first."""
        return _pairs(self.launches())

    def summary(self, file: Optional[TextIO] = None) -> None:
        """Prints each launch's slots and pairs, as `rbwp ptx decode` does."""
        for number, launch in enumerate(self.launches()):
            print(f"launch {number}: {launch.kernel}, {launch.dropped} records found no room", file=file)
            if self.mode == "config":
                print(f"block, grid, threads: {launch.shape}", file=file)
            else:
                print(run_command(["ptx", "decode", "--map", launch.map_path, launch.raw_path]), file=file)
        if not self.launches():
            print("nothing was recorded", file=file)

    def save(self, folder: "os.PathLike[str] | str | None" = None) -> List[str]:
        """Writes raw.npy, raw.csv, trace.json, loc_map.json, active_probes.json, original.ptx and instrumented.ptx into
        the folder, or, without one, where instrument() was given output_dir and analysis_dir, by the names it was given.
        Of several launches each has a folder KERNEL-NUMBER of its own in it, and if they are of one module, the files
        in the folder itself are the last launch's and the list of active probes is that of all. Returns where."""
        files = self._files
        output = files.output_dir if folder is None else checked_path("folder", folder)
        if output is None:
            raise ValueError("folder: neither save() nor instrument() was given one")
        analysis = files.analysis_dir or output if folder is None else output
        launches, made = self.launches(), []
        parts = {f"{launch.kernel}-{number}": launch for number, launch in enumerate(launches)} if len(launches) > 1 else {}
        modules = {launch.map["hash"] for launch in launches}
        if len(modules) == 1:
            parts = {"": launches[-1], **parts}
        for name, launch in parts.items():
            made.append(os.path.join(output, name) if name else output)
            self._save_launch(launch, made[-1], os.path.join(analysis, name))
        if len(modules) == 1 and (active := self.active_probes()):
            with open(os.path.join(analysis, files.active_json), "w", encoding="utf-8") as file:
                json.dump(active, file, indent=2)
        return made

    def _save_launch(self, launch: Launch, output: str, analysis: str) -> None:
        files = self._files
        os.makedirs(output, exist_ok=True)
        os.makedirs(analysis, exist_ok=True)
        if self.mode != "config":
            with tempfile.TemporaryDirectory(prefix=".rbwp-", dir=output) as folder:
                _decoded(launch.map_path, launch.raw_path, folder, self._sanitizing)
                for name, place in (("raw.npy", os.path.join(output, "raw.npy")),
                                    ("raw.csv", os.path.join(output, files.raw_csv)),
                                    ("trace.json", os.path.join(output, files.trace_json)),
                                    ("loc_map.json", os.path.join(analysis, files.loc_map)),
                                    ("active_probes.json", os.path.join(analysis, files.active_json))):
                    if name != "active_probes.json" or len(launch.cells):  # an empty list leaves no probe ever after
                        shutil.move(os.path.join(folder, name), place)
        for kind, name in _TEXTS.items():
            text = launch.map_path.replace(".map.json", kind)
            if files.dump_ptx and os.path.exists(text):
                shutil.copyfile(text, os.path.join(output, name))

    def active_probes(self) -> Dict[str, Any]:
        """What a second context can do with, as its active_list: the probes that fired, neighbours of one line merged
        (unless instrument() was asked otherwise). Of all launches; they must be of one module."""
        launches = self.launches()
        if len({launch.map["hash"] for launch in launches}) > 1:
            raise ValueError("kernel: several modules were recorded, and their probes have numbers of their own")
        if not any(len(launch.cells) for launch in launches):
            return {}
        with tempfile.TemporaryDirectory(prefix="rbwp-") as folder:
            if self.bind == "variable":
                run_command(["ptx", "sanitize", "--dir", folder, *self._sanitizing, self.folder])
            else:
                _decoded(launches[0].map_path, launches[0].raw_path, folder, self._sanitizing)
            made, = (name for name in os.listdir(folder) if "active" in name)
            with open(os.path.join(folder, made), encoding="utf-8") as file:
                found: Dict[str, Any] = json.load(file)
        return found

    def export_chrome_trace(self, path: "os.PathLike[str] | str") -> None:
        """Writes a JSON trace for chrome://tracing and Perfetto, a cycle as a microsecond: a thread a lane, and where
        there are several launches, a process each."""
        target = checked_path("path", path)
        events: List[Dict[str, Any]] = []
        for number, launch in enumerate(self.launches()):
            if self.mode == "config":
                continue
            with tempfile.TemporaryDirectory(prefix="rbwp-") as folder:
                _decoded(launch.map_path, launch.raw_path, folder)
                with open(os.path.join(folder, "trace.json"), encoding="utf-8") as file:
                    of_launch = json.load(file)["traceEvents"]
            if len(self.launches()) > 1:
                name = {"name": "process_name", "ph": "M", "pid": number, "args": {"name": f"{launch.kernel} {number}"}}
                of_launch = [name, *({**event, "pid": number} for event in of_launch)]
            events += of_launch
        with open(target, "w", encoding="utf-8") as file:
            text = ",\n".join(json.dumps(event) for event in events)
            file.write(f'{{"displayTimeUnit": "ns", "traceEvents": [\n{text}\n]}}')

    def to_rbwp(self, path: "os.PathLike[str] | str") -> None:
        """Writes a profile for `rbwp report` and all other commands: the launches with their blocks."""
        if self.bind != "variable":
            raise ValueError("bind: launches are known to the collector alone, whose buffer is a variable's")
        self._take_launches()
        run_command(["ptx", "decode", "--force", "--rbwp", checked_path("path", path), self.folder])


def instrument(mode: str = "block", *, target_file: Union[int, str, None] = None, kernel: str = "*", t_start: int = 0,
               t_end: int = 127, threads: Union[str, Sequence[int], None] = None, per: Optional[str] = None,
               cells: Optional[str] = None, n_probes_estimate: int = 256, active_list: Active = None,
               bind: str = "variable", param: Optional[str] = None, launches: int = 8,
               output_dir: "os.PathLike[str] | str | None" = None, analysis_dir: "os.PathLike[str] | str | None" = None,
               raw_csv: str = "raw.csv", trace_json: str = "trace.json", loc_map: str = "loc_map.json",
               active_json: str = "active_probes.json", dump_ptx: bool = True, dead: bool = True,
               merge: bool = True) -> Instrumentation:
    """A context in which kernels of Triton are compiled with probes; rbwp-ptx(1) says what the modes put where.

    target_file: number of a .file, or the end of its path, or "all". threads (warps, with per="warp" or mode="warp"):
    t_start to t_end, or any set as the command takes it, or numbers. n_probes_estimate: records that each has room
    for. active_list: a file or what active_probes() gave. bind: where probes find their buffer: "variable" (nothing
    changes), or "param", the kernel's last parameter, or the one that param names: allocate_buffer() makes it.
    launches: how many of each kernel are recorded. output_dir: save() is called behind the context and writes there,
    into analysis_dir what is about probes, by these names (dump_ptx: original.ptx and instrumented.ptx, too). dead,
    merge: active_probes() leaves out probes that never fired, merges neighbours of one line."""
    words = ["--mode", _one_of("mode", mode, MODES), "--kernel", _word("kernel", kernel)]
    if target_file is not None:
        words += ["--file", _word("target_file", target_file if isinstance(target_file, str) else
                                  checked_number("target_file", target_file, 0, 2**31 - 1))]
    first, last = checked_number("t_start", t_start, 0, 2**62), checked_number("t_end", t_end, 0, 2**62)
    chosen = _thread_set(threads, first, last)
    capacity = checked_number("n_probes_estimate", n_probes_estimate, 1, 2**31 - 1)
    words += ["--threads", chosen, "--capacity", str(capacity), "--bind", _one_of("bind", bind, BINDINGS)]
    for name, value, known in (("per", per, ("thread", "warp")), ("cells", cells, ("compat", "wide"))):
        if value is not None:
            words += [f"--{name}", _one_of(name, value, known)]
    if param is not None:
        if bind != "param":
            raise ValueError("param: it is for bind='param'")
        words += ["--param", _word("param", param)]
    limit = checked_number("launches", launches, 1, 2**31 - 1)
    where, analysis = (None if folder is None else checked_path(name, folder)
                       for name, folder in (("output_dir", output_dir), ("analysis_dir", analysis_dir)))
    names = (checked_path(name, text) for name, text in (("raw_csv", raw_csv), ("trace_json", trace_json),
                                                         ("loc_map", loc_map), ("active_json", active_json)))
    sanitizing = ([] if dead else ["--keep-dead"]) + ([] if merge else ["--keep-neighbours"])
    made = Instrumentation(words, mode, bind, active_list, limit, _Files(where, analysis, bool(dump_ptx), *names), sanitizing)
    made._capacity, made._lanes = capacity, _count(chosen)
    return made


def _count(threads: str) -> int:
    """How many threads are in a set."""
    total = 0
    for part in threads.split(","):
        numbers, _, step = part.partition("/")
        first, _, last = numbers.partition("-")
        try:
            total += (int(last or first) - int(first)) // int(step or 1) + 1
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"threads: {part!r} is not N, A-B or A-B/STEP") from None
    return total


# What a config.ini may say, as instrument() calls it; what stands for a key that is not there.
_KEYS = (("instrument", "mode", str, "block"), ("instrument", "target_file", int, 1), ("instrument", "t_start", int, 0),
         ("instrument", "t_end", int, 127), ("instrument", "n_probes_estimate", int, 256),
         ("output", "output_dir", str, "output"), ("output", "raw_csv", str, "raw.csv"),
         ("output", "trace_json", str, "trace.json"), ("output", "dump_ptx", bool, True),
         ("analysis", "analysis_dir", str, "analysis"), ("analysis", "loc_map", str, "loc_map.json"),
         ("analysis", "active_list", str, "active_probes.json"), ("sanitizer", "enable", bool, False),
         ("sanitizer", "dead", bool, True), ("sanitizer", "merge", bool, True))


def from_config(path: "os.PathLike[str] | str", **more: Any) -> Instrumentation:
    """instrument() with what a config.ini of compatible tools says; arguments that are given come first. Files go where
    `rbwp ptx --config` reads and writes them. With [sanitizer] enable, the active_list in analysis_dir is obeyed if it
    is there: the first run writes it."""
    return instrument(**config_options(path, **more))


def config_options(path: "os.PathLike[str] | str", **more: Any) -> Dict[str, Any]:
    """The arguments of instrument() that from_config() gives it."""
    name = checked_path("path", path)
    config = configparser.ConfigParser(inline_comment_prefixes=(";", "#"), interpolation=None, strict=False)
    with open(name, encoding="utf-8") as file:
        try:
            config.read_file(file)
        except configparser.Error as error:
            raise RbwpError(f"{name}: {error}") from None
    options: Dict[str, Any] = {}
    for section, key, kind, fallback in _KEYS:
        if section == "sanitizer" and not config.has_section(section):
            fallback = False
        text = config.get(section, key, fallback=None)
        try:
            options[key] = fallback if text is None else config.getboolean(section, key) if kind is bool else kind(text)
        except ValueError:
            raise RbwpError(f"{name}: {key}: {text!r} is no {'number' if kind is int else 'yes or no'}") from None
    options["active_json"] = options.pop("active_list")
    enable = options.pop("enable")
    options.update(more)
    active = os.path.join(options["analysis_dir"] or options["output_dir"], options["active_json"])
    if enable and os.path.exists(active):
        options.setdefault("active_list", active)
    return options
