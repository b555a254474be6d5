# SPDX-License-Identifier: Apache-2.0
"""Device events by iris's names. On the host, with any object that knows its rank and the ranks' heaps, or without:

    tracing = Tracing(ctx)                     ctx: get_rank, get_num_ranks and get_heap_bases
    tracing.enable(max_events=1_000_000)
    kernel[grid](tracing.get_device_context(), ..., TRACING=True)
    tracing.export("trace.json", merge=True)

In Triton kernels DeviceContext, TraceEvent and DeviceTracing, which want Triton and are made when they are asked for;
rbwp.compat.iris_gluon has those for Gluon. Loads and stores of other ranks' memory are not here: they are iris's."""

import importlib
import json
import os
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, Optional

from .. import events, memory
from ..events import event_name
from ..lanes import Names

__all__ = ["EVENT_NAMES", "DeviceContext", "DeviceTracing", "TraceEvent", "Tracing"]

_CODE = Path(__file__).with_name("_iris_code.py")


def device_code(language: str) -> ModuleType:
    """The device's classes for "triton" or "gluon"."""
    from .. import _dialect
    base = importlib.import_module(f"rbwp.{language}")._code
    return _dialect.load(f"rbwp.compat._iris_{language}", base.dsl, base.jit, _CODE,
                         {"OurTracing": base.DeviceTracing, "NoTracing": base.NoTracing})


def __getattr__(name: str) -> Any:
    if name == "EVENT_NAMES":
        found: Any = {event: event_name(event) for event in range(14)}
    elif name in __all__:
        found = getattr(sys.modules.get("rbwp.compat._iris_triton") or device_code("triton"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def _system(device: Any) -> Dict[str, Any]:
    """What iris's metadata say of the program's machine; what is not known is not there."""
    known: Dict[str, Any] = {"process_name": os.path.basename(sys.argv[0]), "command_line": " ".join(sys.argv),
                             "hostname": socket.gethostname()}
    if str(device) in ("numpy", "cpu"):
        return known
    import torch
    found = torch.cuda.get_device_properties(device)
    amd = getattr(torch.version, "hip", None)
    arch = getattr(found, "gcnArchName", None) if amd else f"sm_{found.major}{found.minor}"
    known.update(gpu_device_name=found.name, gpu_total_memory_gb=f"{found.total_memory / 2**30:.2f}",
                 gpu_arch=arch or "unknown", gpu_cu_count=found.multi_processor_count)
    if amd:
        known["rocm_version"] = [int(part) for part in amd.split(".")[:2]]
    return known


class Tracing(events.Tracing):
    """Tracing of the rank that iris_instance is of: an object with get_rank(), get_num_ranks() and get_heap_bases(), or
    None for a single one. Other arguments: rbwp.Tracing's."""

    def __init__(self, iris_instance: Any = None, *, device: Any = None, names: Names = None,
                 clock_hz: Optional[int] = None) -> None:
        self.iris = iris_instance
        of = (0, 1, [0]) if iris_instance is None else (
            iris_instance.get_rank(), iris_instance.get_num_ranks(), iris_instance.get_heap_bases())
        super().__init__(*of, device=device, names=names, clock_hz=clock_hz)

    @property
    def trace_buffers(self) -> Dict[str, memory.Array]:
        return self.columns

    @property
    def trace_counter(self) -> memory.Array:
        """Events that were begun, as an array of one; None where tracing is off."""
        return None if self.counters is None else self.counters[:1]

    def export(self, filename: "os.PathLike[str] | str" = "trace.json", merge: bool = False,  # type: ignore[override]
               *, raw_cycles: bool = True) -> Dict[str, Any]:
        """Writes FILENAME with _rank<r> before its extension, as iris does, in ticks; raw_cycles=False: in microseconds
        on the ranks' common clock, a thread for each of the events that overlap. merge: all ranks call it, rank 0 last
        if they are of one process, and it writes FILENAME, too. What was written last here: of this rank, or merged
        (another rank than 0: {}, and where tracing is off)."""
        written = super().export(filename, merge, raw_cycles=raw_cycles, iris=True)
        system, found = _system(self.device), {}
        for path in written:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            found["metadata"].update(system)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(found, file, indent=2)
        return {} if merge and self.rank else found
