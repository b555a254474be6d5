# SPDX-License-Identifier: Apache-2.0
"""Buffers that GPU kernels record into, from Python: made, decoded, printed and exported.

Lanes: LaneBuffer, decode_lanes. Events: Tracing, decode_events. Device code for both is in rbwp.triton and rbwp.gluon,
which want Triton; all the rest wants NumPy and librbwp.so, and PyTorch only for memory of a GPU. Exports are made by the
command rbwp. Clock probes in kernels as they are: rbwp.ptx.instrument."""

from . import ptx
from .durations import Duration, print_durations
from .events import Context, EventTrace, Tracing, decode_context, decode_events, event_name
from .lanes import LaneBuffer, LaneTrace, decode_lanes
from .native import RbwpError

__all__ = [
    "Context", "Duration", "EventTrace", "LaneBuffer", "LaneTrace", "RbwpError", "Tracing", "decode_context",
    "decode_events", "decode_lanes", "event_name", "print_durations", "ptx"
]
