# SPDX-License-Identifier: Apache-2.0
"""For kernels in Gluon: DeviceTracing for events and Lanes for lane records, as _kernel_code.py has them.

    from rbwp.gluon import DeviceTracing, Lanes, PUT

    @gluon.jit
    def kernel(..., context, TRACING: gl.constexpr):
        tracing = DeviceTracing.initialize(context, tracing=TRACING)
        handle = tracing.record_event_start(PUT, target_rank, pointers, pid_m, pid_n, mask)
        gl.store(pointers, values, mask=mask)
        tracing.record_event_end(handle)

Without tracing, which is decided at compile time, the kernel is the one without these lines."""

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from . import _dialect

_code = _dialect.load("rbwp._gluon_code", gl, gluon.jit)
DeviceTracing: Any = _code.DeviceTracing
Lanes: Any = _code.Lanes
read_time: Any = _code.read_time

LOAD, STORE, GET, PUT, COPY = (gl.constexpr(event) for event in range(5))
ATOMIC_ADD, ATOMIC_SUB, ATOMIC_CAS, ATOMIC_XCHG, ATOMIC_XOR, ATOMIC_AND, ATOMIC_OR, ATOMIC_MIN, ATOMIC_MAX = (
    gl.constexpr(event) for event in range(5, 14))
