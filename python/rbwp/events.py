# SPDX-License-Identifier: Apache-2.0
"""Device events on the host: Tracing owns one rank's buffers and hands kernels the context array that says where they
are; decode_events reads buffers, EventTrace is what was read.

The array is the contract: 3 + N entries of 64 bits where tracing is off, and 19 + N where it may be on, for N ranks;
whoever owns the ranks' heaps only has to say where they begin."""

import ctypes
import os
import tempfile
import warnings
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, TextIO, Tuple

import numpy as np
import numpy.typing as npt

from . import memory
from .durations import Duration, print_durations, table_of
from .lanes import Names
from .native import (EVENT_COLUMNS, TAKE_EVENTS, WIDE_COLUMNS, CEventsContext, CEventsDump, CEventsSource,
                     CEventsStats, c_error, checked_names, checked_number, checked_path, export, library, names_options,
                     optional, refuse)

RANKS_MAX = 1 << 20
EVENTS_MAX = 2**31 - 1
DUMP_HEADER_BYTES = 128

# struct rbwp_device_event.
EVENT = np.dtype([("start_ticks", "<i8"), ("stop_ticks", "<i8"), ("start_ns", "<i8"), ("stop_ns", "<i8"),
                  ("address", "<i8"), ("id", "<i4"), ("program", "<i4"), ("pid_m", "<i4"), ("pid_n", "<i4"),
                  ("rank", "<i4"), ("target_rank", "<i4"), ("xcc", "<i4"), ("cu", "<i4"), ("op", "<i4"),
                  ("bytes", "<i4")])
DAMAGE = ("unwritten", "backwards", "other_rank", "bad_bytes")


def event_name(event: int) -> str:
    """The built-in name of an event id, or unknown_<id>."""
    return optional(library().rbwp_events_name(event)) or f"unknown_{event}"


# ---- the context -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Context:
    """A context array taken apart. Addresses are the device's; the columns' are in the order of EVENT_COLUMNS."""
    rank: int
    heaps: Tuple[int, ...]
    enabled: bool = False
    max_events: int = 0
    counter: int = 0
    op_counter: int = 0
    columns: Tuple[int, ...] = (0,) * len(EVENT_COLUMNS)

    def encode(self) -> npt.NDArray[np.int64]:
        """19 + N entries; zeros behind the flag where tracing is off."""
        known = (self.max_events, self.counter, self.op_counter, *self.columns)
        behind = known if self.enabled else (0,) * len(known)
        return np.array([self.rank, len(self.heaps), *self.heaps, int(self.enabled), *behind], np.int64)


def decode_context(context: memory.Array) -> Context:
    """Takes a context array of either length apart. RbwpError: it is none, or entries are missing."""
    words = memory.checked_array("context", context, (64,), 3).view(np.int64)
    found, error = CEventsContext(size=ctypes.sizeof(CEventsContext)), c_error()
    refuse(library().rbwp_events_decode_context(words.ctypes.data, len(words), found, error), error, "context")
    return Context(found.rank, tuple(found.heaps[:found.ranks]), bool(found.enabled), found.max_events,
                   found.counter, found.op_counter, tuple(found.columns))


# ---- what was read ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class EventTrace:
    """Decoded events of one rank. events has the fields of EVENT; stats says what was found, and counts by kind what
    was wrong."""
    events: npt.NDArray[Any]
    stats: Dict[str, int]
    rank: int = 0
    names: Dict[int, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (f"<rbwp.EventTrace: rank {self.rank}, {len(self.events)} events, "
                f"{(self.stats['last_ns'] - self.stats['first_ns']) / 1e9:.9g} s, {self.dropped} dropped, "
                f"{self.damage} damaged>")

    @property
    def damage(self) -> int:
        return sum(self.stats[name] for name in DAMAGE)

    @property
    def dropped(self) -> int:
        """Events that found no slot."""
        return self.stats["dropped"]

    def event_name(self, event: int) -> str:
        return self.names.get(event) or event_name(event)

    def durations(self) -> List[Duration]:
        return table_of(self.events, "rbwp_durations_take_events", lambda rank: f"rank {rank}", self.event_name)

    def print_durations(self, file: Optional[TextIO] = None) -> None:
        print_durations(self.durations(), file)


def decode_events(columns: Mapping[str, memory.Array], counter: int, *, rank: int = 0, clock_hz: int = 10**9,
                  offset_ns: int = 0, drift_ppb: int = 0, drift_from_ticks: int = 0,
                  names: Names = None) -> EventTrace:
    """Reads the 13 arrays, by the names of EVENT_COLUMNS, of which the device has given out `counter` slots.

    clock_hz: ticks in a second, 100 000 000 on AMD. offset_ns: what this rank's clock is ahead of the others'
    common one, so that ranks share an axis; it grows by drift_ppb from drift_from_ticks on."""
    arrays = _checked_columns(columns)
    known = checked_names("names", names)
    source = CEventsSource(size=ctypes.sizeof(CEventsSource), max_events=len(arrays["event_id"]))
    for name, value, least, most in (("counter", counter, 0, 2**32 - 1), ("rank", rank, -1, RANKS_MAX - 1),
                                     ("clock_hz", clock_hz, 1, 10**12), ("offset_ns", offset_ns, -2**62, 2**62),
                                     ("drift_ppb", drift_ppb, -2**62, 2**62),
                                     ("drift_from_ticks", drift_from_ticks, -2**62, 2**62)):
        setattr(source, name, checked_number(name, value, least, most))
    for index, name in enumerate(EVENT_COLUMNS):
        source.columns[index] = arrays[name].ctypes.data

    parts: List[npt.NDArray[Any]] = []

    def take(_context: Any, first: int, count: int) -> bool:
        parts.append(np.frombuffer(ctypes.string_at(first, count * EVENT.itemsize), EVENT))
        return True

    stats, error = CEventsStats(), c_error()
    refuse(
        library().rbwp_events_decode_sized(source, TAKE_EVENTS(take), None, stats, ctypes.sizeof(stats), error), error,
        "columns")
    found = {name: int(getattr(stats, name)) for name, *_ in stats._fields_}
    return EventTrace(np.concatenate(parts) if parts else np.zeros(0, EVENT), found, max(rank, 0), known)


def _checked_columns(columns: Mapping[str, memory.Array]) -> Dict[str, npt.NDArray[Any]]:
    arrays = {}
    for name in EVENT_COLUMNS:
        if name not in columns:
            raise ValueError(f"columns: {name} is missing")
        arrays[name] = memory.checked_array(name, columns[name], (64 if name in WIDE_COLUMNS else 32,))
        if len(arrays[name]) != len(arrays["event_id"]):
            raise ValueError(f"{name}: {len(arrays[name])} values, and event_id has {len(arrays['event_id'])}")
    return arrays


# ---- a rank's buffers --------------------------------------------------------------------------------


def rank_path(path: str, rank: int) -> str:
    """PATH with _rank<r> before its last extension."""
    stem, extension = os.path.splitext(path)
    return f"{stem}_rank{rank}{extension}"


class Tracing:
    """Device events of one rank of num_ranks. heap_bases: where each rank's heap begins, of whatever library.

    tracing = Tracing(rank, num_ranks, heap_bases)
    tracing.enable(max_events=100_000)
    kernel[grid](..., tracing.get_device_context(), ...)
    tracing.export("trace.json")

    Before enable every call is harmless and kernels write nothing. device: as PyTorch names them, or "numpy"; None:
    the present GPU. names: of event ids of one's own. clock_hz: ticks in a second of the device's clock; None: as
    the device is, 10^9 on NVIDIA and 10^8 on AMD."""

    def __init__(self, rank: int, num_ranks: int, heap_bases: "Sequence[int] | memory.Array", *, device: Any = None,
                 names: Names = None, clock_hz: Optional[int] = None) -> None:
        self.num_ranks = checked_number("num_ranks", num_ranks, 1, RANKS_MAX)
        self.rank = checked_number("rank", rank, 0, self.num_ranks - 1)
        self.heap_bases = self._checked_heaps(heap_bases)
        self.device = memory.default_device() if device is None else device
        self.names = checked_names("names", names)
        self.clock_hz = _clock_of(self.device) if clock_hz is None else checked_number("clock_hz", clock_hz, 1, 10**12)
        self.offset_ns = 0  # what this rank's clock is ahead of the common one, as align found it
        self.offset_bound_ns = 0
        self.max_events = 0
        self.columns: Dict[str, memory.Array] = {}
        self.counters: memory.Array = None  # two neighbours: events, and operations
        self._context: memory.Array = None

    def _checked_heaps(self, heap_bases: Any) -> Tuple[int, ...]:
        if not hasattr(heap_bases, "__iter__"):
            raise TypeError(f"heap_bases: {self.num_ranks} addresses are wanted, not {type(heap_bases).__name__}")
        values = memory.to_host(heap_bases).ravel().tolist() if hasattr(heap_bases, "dtype") else list(heap_bases)
        if len(values) != self.num_ranks:
            raise ValueError(f"heap_bases: {len(values)} addresses for {self.num_ranks} ranks")
        bases = [checked_number("heap_bases", value, -2**63, 2**64 - 1) for value in values]
        return tuple(base - 2**64 if base >= 2**63 else base for base in bases)

    def __repr__(self) -> str:
        slots = f"{self.max_events} slots on {self.device}" if self.enabled else "not enabled"
        return f"<rbwp.Tracing: rank {self.rank} of {self.num_ranks}, {slots}>"

    @property
    def enabled(self) -> bool:
        return self.max_events > 0

    def enable(self, max_events: int = 1_000_000) -> None:
        """Switches tracing on, with new buffers of 64 bytes an event. Contexts that were handed out before stay as
        they are."""
        count = checked_number("max_events", max_events, 1, EVENTS_MAX)
        self.columns = {name: memory.zeros(count, 64 if name in WIDE_COLUMNS else 32, self.device)
                        for name in EVENT_COLUMNS}
        self.counters = memory.zeros(2, 32, self.device)
        self.max_events = count
        self._context = None

    def reset(self) -> None:
        """Forgets what was recorded: both counters become 0. No kernel that traces may be running."""
        if not self.enabled:
            warnings.warn("reset: tracing is not enabled", stacklevel=2)
            return
        memory.clear(self.counters)

    def align(self, rounds: int = 32) -> Tuple[int, int]:
        """Measures what this rank's clock is ahead of the host's (clocks.py), for decoding and exports from now on; the
        offset and its bound, in ns. For ranks on several GPUs; in one process or on one machine the host's is common."""
        from .clocks import clock_offset
        self.offset_ns, self.offset_bound_ns = clock_offset(self.device, clock_hz=self.clock_hz, rounds=rounds)
        return self.offset_ns, self.offset_bound_ns

    def get_device_context(self) -> memory.Array:
        """The context array for kernels, in the device's memory: 19 + N entries, whose flag says whether tracing is
        on."""
        if self._context is None:
            self._context = memory.from_host(self._described().encode(), self.device)
        return self._context

    def _described(self) -> Context:
        if not self.enabled:
            return Context(self.rank, self.heap_bases)
        first = memory.address(self.counters)
        return Context(self.rank, self.heap_bases, True, self.max_events, first, first + 4,
                       tuple(memory.address(self.columns[name]) for name in EVENT_COLUMNS))

    def counts(self) -> Tuple[int, int]:
        """Events that were begun, and those of them that found no slot. Waits for the device."""
        if not self.enabled:
            return 0, 0
        begun = int(memory.to_host(self.counters).view(np.uint32)[0])
        return begun, max(0, begun - self.max_events)

    def _stored(self) -> "tuple[npt.NDArray[np.uint32], Dict[str, npt.NDArray[Any]]]":
        """Both counters, and the slots in use: a copy per array, and none of what was not written."""
        counters = memory.to_host(self.counters).view(np.uint32).copy()
        used = min(int(counters[0]), self.max_events)
        return counters, {name: memory.to_host(array[:used]) for name, array in self.columns.items()}

    def decode(self) -> EventTrace:
        """What was recorded so far; nothing where tracing is off. Waits for the device."""
        if not self.enabled:
            return EventTrace(np.zeros(0, EVENT), {name: 0 for name, *_ in CEventsStats._fields_}, self.rank,
                              self.names)
        counters, columns = self._stored()
        return decode_events(columns, int(counters[0]), rank=self.rank, clock_hz=self.clock_hz,
                             offset_ns=self.offset_ns, names=self.names)

    def save(self, path: "os.PathLike[str] | str") -> None:
        """Writes the buffers as they are into one file, for `rbwp events`."""
        target = checked_path("path", path)
        counters, columns = self._stored()
        used = len(columns["event_id"])
        dump = CEventsDump(size=ctypes.sizeof(CEventsDump), rank=self.rank, ranks=self.num_ranks,
                           max_events=self.max_events, counter=int(counters[0]), op_counter=int(counters[1]),
                           stored=used, clock_hz=self.clock_hz, offset_ns=self.offset_ns,
                           offset_bound_ns=self.offset_bound_ns)
        header, error = ctypes.create_string_buffer(DUMP_HEADER_BYTES), c_error()
        refuse(library().rbwp_events_encode_dump(dump, header, error), error, "path")
        with open(target, "wb") as file:
            file.write(header.raw)
            for name in EVENT_COLUMNS:
                file.write(np.ascontiguousarray(columns[name]).tobytes())

    def export(self, path: "os.PathLike[str] | str" = "trace.json", merge: bool = False, *,
               raw_cycles: bool = False, iris: bool = False) -> List[str]:
        """Writes this rank's events to PATH with _rank<r> before its extension; the files that were written.

        The extension says the form: .pftrace is Perfetto's, .bin a profile with the table device_event for all of
        rbwp's commands, anything else JSON for chrome://tracing and Perfetto. iris: the JSON that iris writes, in
        microseconds; raw_cycles: the same in the device's ticks. merge: all ranks call it, and rank 0 writes PATH as
        well, with the events of all, once theirs lie beside it: in one process, rank 0 exports last; in several,
        torch.distributed is to be initialised, and their folder is one. Not enabled: a warning and no files."""
        target = checked_path("path", path)
        if not self.enabled:
            warnings.warn("export: tracing is not enabled", stacklevel=2)
            return []
        dump = rank_path(target, self.rank) + ".rbwpevt"
        self.save(dump)
        own = rank_path(target, self.rank)
        form = "iris" if iris or raw_cycles else FORMS.get(os.path.splitext(target)[1], "chrome")
        options = [*names_options(events=self.names), *["--raw-cycles"] * raw_cycles]
        # Of iris's form the command makes the ranks' names itself.
        export("events", [dump], form, target if form == "iris" else own, options)
        if not merge:
            os.remove(dump)
            return [own]
        _meet()
        written = [own]
        if self.rank == 0:
            dumps = [rank_path(target, rank) + ".rbwpevt" for rank in range(self.num_ranks)]
            missing = [rank for rank, other in enumerate(dumps) if not os.path.exists(other)]
            if missing:
                raise ValueError(f"merge: rank {missing[0]} has not exported to {dumps[missing[0]]} yet")
            _merge(dumps, form, target, options)
            for other in dumps:
                os.remove(other)
            written.append(target)
        _meet()
        return written


def _clock_of(device: Any) -> int:
    if device == "numpy":
        return 10**9
    import torch
    return 10**8 if getattr(torch.version, "hip", None) else 10**9


def _meet() -> None:
    """Waits for the other processes, where there are any."""
    try:
        import torch.distributed as distributed
    except ImportError:
        return
    if distributed.is_available() and distributed.is_initialized():
        distributed.barrier()


FORMS = {".pftrace": "perfetto", ".perfetto-trace": "perfetto", ".bin": "rbwp"}


def _merge(dumps: Sequence[str], form: str, target: str, options: Sequence[str]) -> None:
    """One file of all dumps. Of iris's form the command writes the ranks' again, which are there: into a folder that goes."""
    with tempfile.TemporaryDirectory(prefix=".rbwp-", dir=os.path.dirname(target) or ".") as folder:
        made = os.path.join(folder, os.path.basename(target))
        export("events", dumps, form, made, [*options, *["--merge"] * (form == "iris")])
        os.replace(made, target)
