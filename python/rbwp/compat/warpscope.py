# SPDX-License-Identifier: Apache-2.0
"""Lane buffers by warpscope's names:

    prof = Profiler(num_blocks, num_groups, max_records_per_lane)
    launch(..., prof.ptr, prof.stride, prof.num_groups, prof.num_blocks, prof.max_records)
    trace = prof.decode(event_names=["wait", "work"], group_names=["producer", "consumer"])
    trace.print_durations()
    trace.to_perfetto("trace.json")

The device's side is rbwp_warpscope.h."""

import os
from typing import Any

from .. import memory
from ..events import FORMS
from ..lanes import LaneBuffer, LaneTrace, Names, decode_lanes
from ..native import checked_number, checked_path

__all__ = ["Profiler", "Trace", "write_chrome_trace"]


class Trace(LaneTrace):
    """What was recorded. to_perfetto writes what Perfetto opens, in the form that the suffix says."""

    def to_perfetto(self, path: "os.PathLike[str] | str") -> None:
        """.json is Chrome's JSON as warpscope has it, .json.gz as `rbwp export` does, .bin a profile, anything else
        Perfetto's own format."""
        name = checked_path("path", path)
        form = "chrome" if name.endswith(".json.gz") else FORMS.get(os.path.splitext(name)[1], "perfetto")
        self._export("warpscope" if name.endswith(".json") else form, name)


def _trace(found: LaneTrace) -> Trace:
    return Trace(**vars(found))


class Profiler(LaneBuffer):
    """A zeroed buffer for num_blocks x num_groups lanes. device: as of rbwp.LaneBuffer."""

    def __init__(self, num_blocks: int, num_groups: int, max_records_per_lane: int, *, device: Any = None) -> None:
        super().__init__(num_blocks, num_groups, max_records_per_lane, device=device)

    @property
    def ptr(self) -> int:
        """The buffer's address, for the kernel."""
        return memory.address(self.buffer)

    @property
    def max_records_per_lane(self) -> int:
        return self.max_records

    def decode(self, event_names: Names = None, group_names: Names = None) -> Trace:
        """What the kernels wrote; waits for those that run. An event without a name is event_<id>."""
        return _trace(decode_lanes(self.buffer, dialect="v1", events=event_names, groups=group_names, **self._known()))


def write_chrome_trace(data: memory.Array, count: int, events: Names, groups: Names,
                       path: "os.PathLike[str] | str") -> None:
    """Writes the first count words of a buffer as warpscope's Chrome JSON: a process a block, a thread a group."""
    words = data[:checked_number("count", count, 1, len(data))]
    decode_lanes(words, dialect="v1", events=events, groups=groups)._export("warpscope", path)

