# SPDX-License-Identifier: Apache-2.0
"""Lane buffers on the host: LaneBuffer makes one that kernels write to (Lanes of rbwp.triton or rbwp.gluon, or
rbwp_device.h), decode_lanes reads one, LaneTrace is what was read."""

import ctypes
import os
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, TextIO, Union

import numpy as np
import numpy.typing as npt

from . import memory
from .durations import Duration, print_durations, table_of
from .native import (CLanesLayout, CLanesStats, c_error, checked_names, checked_number, checked_path, export, library,
                     names_options, refuse)

Names = Union[Sequence[str], Mapping[int, str], None]

DIALECTS = ("auto", "v1", "flashinfer", "mirage", "v2")
LANES_MAX = 1 << 20
HEADER_WORDS = {1: 1, 2: 8}
RECORD_WORDS = {1: 1, 2: 2}

# struct rbwp_lane_span.
SPAN = np.dtype([("start_ns", "<i8"), ("stop_ns", "<i8"), ("block", "<u4"), ("group", "<u4"), ("event", "<u4"),
                 ("task", "<u4"), ("sm", "<u4"), ("kind", "u1"), ("warp", "u1"), ("unused", "<u2")])
KIND_SPAN, KIND_INSTANT, KIND_UNENDED, KIND_STRAY_END = range(4)
DAMAGE = ("stray_ends", "misplaced", "holes", "backwards", "after_finalize", "outside", "too_deep", "cut")


@dataclass(frozen=True)
class LaneTrace:
    """A decoded lane buffer. spans has the fields of SPAN, among them kind; stats says what was found, and counts by
    kind what was wrong."""
    spans: npt.NDArray[Any]
    stats: Dict[str, int]
    layout: Dict[str, int]
    events: Dict[int, str] = field(default_factory=dict)
    groups: Dict[int, str] = field(default_factory=dict)
    words: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64), repr=False)

    def __repr__(self) -> str:
        return (f"<rbwp.LaneTrace: {len(self.spans)} spans in {self.stats['lanes']} lanes, "
                f"{(self.stats['last_ns'] - self.stats['first_ns']) / 1e9:.9g} s, {self.damage} damaged>")

    @property
    def damage(self) -> int:
        """How many things are wrong with the buffer; 0 of a sound one."""
        return sum(self.stats[name] for name in DAMAGE)

    def event_name(self, event: int) -> str:
        return self.events.get(event, f"event_{event}")

    def group_name(self, group: int) -> str:
        return self.groups.get(group, f"group_{group}")

    def durations(self) -> List[Duration]:
        return table_of(self.spans, "rbwp_durations_take_lanes", self.group_name, self.event_name)

    def print_durations(self, file: Optional[TextIO] = None) -> None:
        print_durations(self.durations(), file)

    def save(self, path: "os.PathLike[str] | str") -> None:
        """Writes the buffer as it was, for `rbwp lanes`."""
        self.words.astype("<u8").tofile(checked_path("path", path))

    def to_chrome(self, path: "os.PathLike[str] | str") -> None:
        """Writes a JSON trace for chrome://tracing and Perfetto: a process per block, a thread per group."""
        self._export("chrome", path)

    def to_perfetto(self, path: "os.PathLike[str] | str") -> None:
        """Writes a native Perfetto trace (.pftrace)."""
        self._export("perfetto", path)

    def to_rbwp(self, path: "os.PathLike[str] | str") -> None:
        """Writes a profile with the table lane_span, for `rbwp report` and all the other commands."""
        self._export("rbwp", path)

    def _export(self, form: str, path: "os.PathLike[str] | str") -> None:
        target = checked_path("path", path)
        options = ["--dialect", DIALECTS[self.layout["dialect"]]]
        if self.layout["dialect"] != DIALECTS.index("v2"):
            options += ["--stride", str(self.layout["stride"])]
        if self.layout["anchor_device"]:
            host_ns = self.layout["anchor_host_ns"]
            options += ["--anchor", f"{self.layout['anchor_device']}" + (f"={host_ns}" if host_ns else "")]
        with tempfile.TemporaryDirectory(prefix="rbwp-") as folder:
            dump = os.path.join(folder, "lanes.bin")
            self.save(dump)
            export("lanes", [dump], form, target, options + names_options(events=self.events, groups=self.groups))


def decode_lanes(buffer: memory.Array, *, dialect: str = "auto", num_blocks: int = 0, num_groups: int = 0,
                 stride: int = 0, max_records: int = 0, clock_hz: int = 0, anchor_device: int = 0,
                 anchor_host_ns: int = 0, events: Names = None, groups: Names = None) -> LaneTrace:
    """Reads a lane buffer: 64-bit integers of NumPy or PyTorch, or bytes. What is 0 the buffer's header says; a buffer
    of version 1 does not say its stride (0: one slot a lane), nor the timer's 64 bits near its first record
    (anchor_device, and CLOCK_MONOTONIC then). Damage is counted, not raised; RbwpError: there is no
    header to read it by."""
    words = memory.checked_array("buffer", buffer, (64,), 1).view(np.uint64)
    if dialect not in DIALECTS:
        raise ValueError(f"dialect: {dialect!r} is not one of {', '.join(DIALECTS)}")
    wanted = CLanesLayout(size=ctypes.sizeof(CLanesLayout), dialect=DIALECTS.index(dialect))
    for name, value, most in (("num_blocks", num_blocks, LANES_MAX), ("num_groups", num_groups, LANES_MAX),
                              ("stride", stride, 2**32 - 1), ("max_records", max_records, 2**32 - 1),
                              ("clock_hz", clock_hz, 2**63 - 1), ("anchor_device", anchor_device, 2**64 - 1),
                              ("anchor_host_ns", anchor_host_ns, 2**63 - 1)):
        setattr(wanted, name, checked_number(name, value, 0, most))
    event_names, group_names = checked_names("events", events), checked_names("groups", groups)

    lib, error = library(), c_error()
    layout = CLanesLayout(size=ctypes.sizeof(CLanesLayout))
    refuse(lib.rbwp_lanes_find_layout(words.ctypes.data, words.nbytes, wanted, layout, error), error, "buffer")
    spans = np.zeros(len(words), SPAN)
    stats, count = CLanesStats(), ctypes.c_size_t()
    refuse(
        lib.rbwp_lanes_decode_array_sized(words.ctypes.data, words.nbytes, wanted, spans.ctypes.data, len(spans),
                                          ctypes.byref(count), stats, ctypes.sizeof(stats), error), error, "buffer")
    return LaneTrace(spans[:count.value].copy(), _numbers(stats), _numbers(layout), event_names, group_names,
                     words.copy())


def _numbers(struct: ctypes.Structure) -> Dict[str, int]:
    return {name: int(getattr(struct, name)) for name, *_ in struct._fields_}


class LaneBuffer:
    """A buffer for num_blocks x num_groups lanes of max_records records each, the one of finalize among them.

    lanes = LaneBuffer(grid, 2, 256, events={1: "wait", 2: "compute"}, groups=["producer", "consumer"])
    kernel[(grid,)](..., *lanes.arguments())      buffer, stride, num_groups, num_blocks, max_records
    lanes.decode().print_durations()

    version 2 has times of 64 bits and SM ids, at twice the size. device: as PyTorch names them, or "numpy"; None:
    the present GPU."""

    def __init__(self, num_blocks: int, num_groups: int, max_records: int, *, version: int = 1,
                 device: Any = None, events: Names = None, groups: Names = None) -> None:
        self.version = checked_number("version", version, 1, 2)
        self.num_blocks = checked_number("num_blocks", num_blocks, 1, LANES_MAX)
        self.num_groups = checked_number("num_groups", num_groups, 1, LANES_MAX)
        self.max_records = checked_number("max_records", max_records, 1, 2**31 - 1)
        self.stride = self.num_blocks * self.num_groups
        if self.stride > LANES_MAX:
            raise ValueError(f"num_blocks: with num_groups that is {self.stride} lanes, more than {LANES_MAX}")
        self.events, self.groups = checked_names("events", events), checked_names("groups", groups)
        self.device = memory.default_device() if device is None else device
        count = HEADER_WORDS[self.version] + self.stride * self.max_records * RECORD_WORDS[self.version]
        self.buffer = memory.zeros(count, 64, self.device)
        self.drops = memory.zeros(self.stride, 32, self.device)
        self._write_header()

    def __repr__(self) -> str:
        return (f"<rbwp.LaneBuffer: {self.num_blocks} x {self.num_groups} lanes of {self.max_records} records, "
                f"version {self.version}, on {self.device}>")

    def arguments(self) -> "tuple[memory.Array, int, int, int, int]":
        """For kernels: buffer, stride, num_groups, num_blocks, max_records."""
        return self.buffer, self.stride, self.num_groups, self.num_blocks, self.max_records

    def reset(self) -> None:
        """Empties the buffer, for the next launch. None may be running."""
        memory.clear(self.buffer)
        memory.clear(self.drops)
        self._write_header()

    def dropped(self) -> int:
        """Records that found no room, as the lanes counted them at their end."""
        return int(memory.to_host(self.drops).view(np.uint32).sum())

    def decode(self) -> LaneTrace:
        """What the kernels wrote; waits for those that run."""
        return decode_lanes(self.buffer, dialect=f"v{self.version}", events=self.events, groups=self.groups,
                            **self._known())

    def _known(self) -> Dict[str, int]:
        """What decoding needs beyond the header: of version 1, all of it, as nothing may have been written."""
        if self.version == 2:
            return {}
        return {"num_blocks": self.num_blocks, "num_groups": self.num_groups, "stride": self.stride,
                "max_records": self.max_records}

    def _write_header(self) -> None:
        if self.version == 1:
            return
        layout = CLanesLayout(size=ctypes.sizeof(CLanesLayout), dialect=DIALECTS.index("v2"),
                              num_blocks=self.num_blocks, num_groups=self.num_groups, stride=self.stride,
                              max_records=self.max_records, clock_hz=10**9,
                              anchor_host_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        header, error = np.zeros(8, np.int64), c_error()
        refuse(library().rbwp_lanes_write_header(layout, header.ctypes.data, header.nbytes, error), error, "version")
        self.buffer[:8] = memory.from_host(header, self.device)
