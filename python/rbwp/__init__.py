# SPDX-License-Identifier: Apache-2.0
"""Buffers that GPU kernels record into, from Python: made, decoded, printed and exported.

Lanes: LaneBuffer, decode_lanes. Events: Tracing, decode_events. Device code for both is in rbwp.triton and rbwp.gluon,
which want Triton; all the rest wants NumPy and librbwp.so, and PyTorch only for memory of a GPU. Exports are made by the
command rbwp. Clock probes in kernels as they are: rbwp.ptx.instrument.

Recording of the program itself: start, item, stop.

Files of any program's threads, as NumPy columns: spans; over many processes: rbwp.dask.spans, which wants Dask."""

from . import ptx
from .columns import RbwpWarning, Spans, spans
from .durations import Duration, print_durations
from .events import Context, EventTrace, Tracing, decode_context, decode_events, event_name
from .groups import Group, Groups
from .lanes import LaneBuffer, LaneTrace, decode_lanes
from .native import RbwpError
from .recording import Summary, item, record_tasks, start, stop

__all__ = [
    "Context", "Duration", "EventTrace", "Group", "Groups", "LaneBuffer", "LaneTrace", "RbwpError", "RbwpWarning",
    "Spans", "Summary", "Tracing", "decode_context", "decode_events", "decode_lanes", "event_name", "item",
    "print_durations", "ptx", "record_tasks", "spans", "start", "stop"
]
