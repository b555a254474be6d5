# SPDX-License-Identifier: Apache-2.0
"""Clock probes in Triton kernels by the names of the Triton PTX instrumenter:

    with TritonInstrument(mode="block", t_start=0, t_end=127, output_dir="output") as inst:
        time_buffer = inst.allocate_buffer(n_probes_estimate=128, n_threads=128)
        kernel[grid](..., time_buffer, BLOCK=128)      the last argument that is no constexpr
        torch.cuda.synchronize()
        results = inst.get_results(export_path="output/raw")
        inst.print_summary(results)
        inst.export_chrome_trace("output/trace.json", results)

instrument_ptx, builder and sanitize (also as sanitizer.sanitize) work on text and files, without a GPU. All of it is
rbwp.ptx and the command rbwp ptx."""

import json
import os
import tempfile
import warnings
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, TextIO, Tuple, Type, Union

import numpy as np
import numpy.typing as npt

from .. import memory, ptx
from ..native import checked_number, checked_path, run_command

__all__ = ["TritonInstrument", "builder", "instrument_ptx", "sanitize", "sanitizer", "sub_block"]

Results = Dict[int, Dict[str, Any]]
Path = Union[str, "os.PathLike[str]"]
COLUMNS = ("start_idx", "end_idx", "start_time", "end_time")


# ---- text and files ----------------------------------------------------------------------------------


@dataclass
class sub_block:
    """A block of one source line: its first and last line in the PTX, from 1 on, and what is in it."""
    entry: int
    exit: int
    file: int
    loc: int
    is_start: bool
    is_end: bool
    is_sync: bool
    mma_lines: List[int] = field(default_factory=list)
    empty_lines: List[int] = field(default_factory=list)


def builder(lines: Sequence[str]) -> List[sub_block]:
    """The blocks of the first kernel in a PTX text, in its order; with the lines' ends or without."""
    with tempfile.TemporaryDirectory(prefix="rbwp-") as folder:
        source = _write(folder, "in.ptx", "\n".join(line.rstrip("\n") for line in lines) + "\n")
        functions = json.loads(run_command(["ptx", "blocks", "--json", source]))["functions"]
    blocks: List[Dict[str, Any]] = next((function["blocks"] for function in functions
                                         if function["kind"] == "entry"), [])
    return [sub_block(mma_lines=block.pop("mma"), empty_lines=block.pop("empty"), **block) for block in blocks]


def instrument_ptx(ptx_str: str, mode: str = "block", t_start: int = 0, t_end: int = 127, target_file: int = 1,
                   active_list: ptx.Active = None, *, n_probes_estimate: int = 256) -> Tuple[str, Dict[int, int], int]:
    """The text with probes in its first kernel, the source line of each, and how many there are. n_probes_estimate:
    records that the kernel makes room for in the buffer, which must have it."""
    wanted = ptx.instrument(mode, t_start=t_start, t_end=t_end, target_file=target_file, active_list=active_list,
                            n_probes_estimate=n_probes_estimate, bind="param")
    with tempfile.TemporaryDirectory(prefix="rbwp-") as folder:
        source, lines, map_path = (os.path.join(folder, name) for name in ("in.ptx", "lines.json", "map.json"))
        _write(folder, "in.ptx", ptx_str)
        text = run_command(["ptx", "instrument", *wanted._words(), "--map", map_path, "--loc-map", lines, source])
        with open(lines, encoding="utf-8") as file:
            found = {int(probe): int(line) for probe, line in json.load(file).items()}
        with open(map_path, encoding="utf-8") as file:
            return text, found, len(json.load(file)["probes"])


def sanitize(raw_csv: Path, loc_map_path: Path, output_path: Path, dead: bool = True, merge: bool = True) -> Dict[str, Any]:
    """Writes the list of active probes: without those that never fired (dead), neighbours of one line merged (merge)."""
    target = checked_path("output_path", output_path)
    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    run_command(["ptx", "sanitize", "--force", "--loc-map", checked_path("loc_map_path", loc_map_path),
                 *["--keep-dead"] * (not dead), *["--keep-neighbours"] * (not merge), "--output", target,
                 checked_path("raw_csv", raw_csv)])
    with open(target, encoding="utf-8") as file:
        found: Dict[str, Any] = json.load(file)
    return found


class sanitizer:
    """The module of that name."""
    sanitize = staticmethod(sanitize)


def _write(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


# ---- the context -------------------------------------------------------------------------------------


class TritonInstrument:
    """A context in which kernels are compiled with probes that write to a buffer of allocate_buffer(). Behind it
    output_dir has original.ptx, instrumented.ptx, raw.npy, raw_csv and trace_json, analysis_dir loc_map_json and the
    list of active probes. Entered once."""

    def __init__(self, mode: str = "block", t_start: int = 0, t_end: int = 127, target_file: int = 1,
                 output_dir: Optional[Path] = "output", analysis_dir: Optional[Path] = "analysis",
                 active_list: ptx.Active = None, n_probes_estimate: int = 256, raw_csv: str = "raw.csv",
                 trace_json: str = "trace.json", loc_map_json: str = "loc_map.json", dump_ptx: bool = True,
                 **more: Any) -> None:
        """more: other arguments of rbwp.ptx.instrument, such as kernel and param."""
        self.output_dir, self.analysis_dir = output_dir, analysis_dir
        self._lists: Dict[str, str] = {}  # what sanitize() wrote, which stays when all is saved
        self._inner = ptx.instrument(mode, t_start=t_start, t_end=t_end, target_file=target_file, active_list=active_list,
                                     n_probes_estimate=n_probes_estimate, raw_csv=raw_csv, trace_json=trace_json,
                                     loc_map=loc_map_json, dump_ptx=dump_ptx, bind="param", **more)

    @classmethod
    def from_config(cls, config_path: Path = "config.ini") -> "TritonInstrument":
        """With all 15 keys of a config.ini; with [sanitizer] enable the list of active probes is obeyed if it is there."""
        options = ptx.config_options(config_path)
        return cls(loc_map_json=options.pop("loc_map"), **options)

    @property
    def mode(self) -> str:
        return self._inner.mode

    @property
    def time_buffer(self) -> Optional[memory.Array]:
        return self._inner._buffer

    @property
    def loc_map(self) -> Dict[int, int]:
        """The source line of each probe; empty until a kernel was compiled."""
        launch = self._launch()
        return {int(probe["id"]): int(probe["loc"]) for probe in launch.map["probes"]} if launch else {}

    def __enter__(self) -> "TritonInstrument":
        self._inner.__enter__()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._inner.__exit__(kind, error, trace)
        if error is not None or self.output_dir is None:
            return
        try:
            launch = self._launch()
        except ValueError as several:  # modules: whose records these are is not known
            warnings.warn(f"{several}; no files are written", stacklevel=2)
            return
        if launch is None:
            return
        output = checked_path("output_dir", self.output_dir)
        if self.analysis_dir is not None:
            self._inner._save_launch(launch, output, checked_path("analysis_dir", self.analysis_dir))
        else:
            with tempfile.TemporaryDirectory(prefix=".rbwp-") as nowhere:
                self._inner._save_launch(launch, output, nowhere)
        for path, text in self._lists.items():
            _write("", path, text)

    def allocate_buffer(self, n_probes_estimate: Optional[int] = None, n_threads: Optional[int] = None,
                        device: Any = None) -> memory.Array:
        """The buffer, zeroed, for n_probes_estimate records of n_threads: never smaller than what the context was made
        for, as kernels may have been compiled for that."""
        if n_probes_estimate is not None:
            self._inner._grow(checked_number("n_probes_estimate", n_probes_estimate, 1, 2**31 - 1))
        threads = None if n_threads is None else max(checked_number("n_threads", n_threads, 1, 2**31 - 1),
                                                     self._inner._lanes)
        return self._inner.allocate_buffer(None, threads, device)

    def _launch(self) -> Optional[ptx.Launch]:
        """What is in the buffer; None as long as no kernel got probes or there is no buffer."""
        if self._inner._buffer is None or not any(name.endswith(".map.json") for name in os.listdir(self._inner.folder)):
            return None
        return self._inner.launches()[-1]

    # ---- what was found

    def get_results(self, export_path: Optional[Path] = None) -> Results:
        """The records by slot, the n-th of each thread: probe_site and loc of the first thread's, start_idx, end_idx,
        start_time, end_time and duration of each thread, and mean_cycles, of all of them. Tensors where the buffer is
        one. export_path: the same as a table in PATH.npy and PATH.csv, four columns a thread."""
        if self._inner._buffer is None:
            raise RuntimeError("there is no buffer: call allocate_buffer() and pass it to the kernel")
        launch = self._launch()
        if launch is None:
            warnings.warn("no kernel was compiled with probes", stacklevel=2)
            return {}
        if export_path is not None:
            path = checked_path("export_path", export_path)
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            rows = launch.cells.reshape(len(launch.cells), -1)
            np.save(path + ".npy", rows)
            np.savetxt(path + ".csv", rows, "%d", ",")
        return {slot.slot: {"probe_site": slot.probe_site, "loc": slot.loc,
                            **{name: self._tensor(getattr(slot, name)) for name in (*COLUMNS, "duration")},
                            "mean_cycles": slot.mean_cycles} for slot in launch.slots()}

    def _tensor(self, values: npt.NDArray[np.int64]) -> memory.Array:
        return memory.from_host(values, "cpu") if memory.is_torch(self._inner._buffer) else values.copy()

    def print_summary(self, results: Results, file: Optional[TextIO] = None) -> None:
        """Prints a line for each slot; least and greatest are of durations above 0."""
        print(f"{'Slot':>6} {'Site':>6} {'Loc':>6} {'Mean Cycles':>14} {'Min':>12} {'Max':>12}", file=file)
        for number, slot in results.items():
            took = memory.to_host(slot["duration"])
            took = took[took > 0]
            mean, least, most = (took.mean(), took.min(), took.max()) if len(took) else (0.0, 0, 0)
            print(f"{number:6} {slot['probe_site']:6} {slot['loc']:6} {mean:14.1f} {least:12} {most:12}", file=file)

    def export_chrome_trace(self, path: Path, results: Results, chunk_size: int = 4096, workers: int = 16) -> None:
        """Writes the results as Chrome's JSON: a thread a thread, a cycle as a microsecond. chunk_size and workers are
        taken and not needed."""
        lines, events = self.loc_map, []
        for slot in results.values():
            columns = (memory.to_host(slot[name]).tolist() for name in COLUMNS)
            for thread, (start, end, begin, stop) in enumerate(zip(*columns)):
                if begin:
                    name = f"Line {lines[start]}" if start in lines else f"Probe {start}"
                    events.append(json.dumps({"name": name, "cat": name, "ph": "X", "ts": begin, "dur": stop - begin, "pid": 0,
                                              "tid": thread, "args": {"start_index": start, "end_index": end}}))
        target = checked_path("path", path)
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        _write("", target, '{"displayTimeUnit": "ns", "traceEvents": [\n' + ",\n".join(events) + "\n]}")

    def sanitize(self, path: Path, results: Results, dead: bool = True, merge: bool = True) -> Dict[str, Any]:
        """Writes the list of active probes that the results leave, for active_list of a second run."""
        rows = [np.stack([memory.to_host(slot[name]) for name in COLUMNS], 1).ravel() for slot in results.values()]
        with tempfile.TemporaryDirectory(prefix="rbwp-") as folder:
            raw, lines = os.path.join(folder, "raw.csv"), _write(folder, "lines.json", json.dumps(self.loc_map))
            np.savetxt(raw, np.array(rows, np.int64), "%d", ",")
            found = sanitize(raw, lines, path, dead, merge)
        target = os.path.abspath(checked_path("path", path))
        with open(target, encoding="utf-8") as file:
            self._lists[target] = file.read()
        return found
