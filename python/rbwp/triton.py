# SPDX-License-Identifier: Apache-2.0
"""For kernels in Triton: DeviceTracing for events and Lanes for lane records, as _kernel_code.py has them.

    from rbwp.triton import DeviceTracing, Lanes, PUT

    @triton.jit
    def kernel(..., context, TRACING: tl.constexpr):
        tracing = DeviceTracing.initialize(context, tracing=TRACING)
        handle = tracing.record_event_start(PUT, target_rank, pointers, pid_m, pid_n, mask)
        tl.store(pointers, values, mask=mask)
        tracing.record_event_end(handle)

Without tracing, which is decided at compile time, the kernel is the one without these lines."""

from typing import Any

import triton
import triton.language as tl

from . import _dialect

_code = _dialect.load("rbwp._triton_code", tl, triton.jit)
DeviceTracing: Any = _code.DeviceTracing
Lanes: Any = _code.Lanes
read_time: Any = _code.read_time

LOAD, STORE, GET, PUT, COPY = (tl.constexpr(event) for event in range(5))
ATOMIC_ADD, ATOMIC_SUB, ATOMIC_CAS, ATOMIC_XCHG, ATOMIC_XOR, ATOMIC_AND, ATOMIC_OR, ATOMIC_MIN, ATOMIC_MAX = (
    tl.constexpr(event) for event in range(5, 14))


@triton.jit
def store_time(out):  # type: ignore[no-untyped-def]
    """For clocks.py: the device's time."""
    tl.store(out, read_time())
