# SPDX-License-Identifier: Apache-2.0
"""What iris's kernels call, around the device code of this package; executed for Triton and for Gluon as _kernel_code.py
is, with that module's classes there already. Do not import it; import rbwp.compat.iris or rbwp.compat.iris_gluon."""

from typing import Any

NoTracing: Any
OurTracing: Any  # _kernel_code.py's DeviceTracing
aggregate: Any
constexpr_function: Any
dsl: Any
jit: Any


@aggregate
class ContextOff:
    """A context without tracing: ctx.tracing has the same calls, and nothing of the device in it."""
    tracing: NoTracing

    @constexpr_function
    def __init__(self, tracing):
        self.tracing = tracing


@aggregate
class DeviceContext:
    """ctx = DeviceContext.initialize(context_tensor, rank, world_size, tracing=TRACING)
    handle = ctx.tracing.record_event_start(event_id=TraceEvent().put, target_rank=..., address=..., pid_m=..., pid_n=...)
    ctx.tracing.record_event_end(handle)

    rank and world_size are what the array says, whatever is given."""
    tracing: OurTracing

    @constexpr_function
    def __init__(self, tracing):
        self.tracing = tracing

    @jit
    def initialize(context_tensor, rank=0, world_size=0, tracing: dsl.constexpr = False):
        if tracing:
            return DeviceContext(OurTracing.initialize(context_tensor))
        else:
            return ContextOff(NoTracing())


@aggregate
class IrisDeviceCtx:
    """The same in Gluon: IrisDeviceCtx.initialize(context_tensor, tracing=TRACING)."""
    tracing: OurTracing

    @constexpr_function
    def __init__(self, tracing):
        self.tracing = tracing

    @jit
    def initialize(context_tensor, tracing: dsl.constexpr = False):
        return DeviceContext.initialize(context_tensor, tracing=tracing)


@aggregate
class DeviceTracing:
    """Without a context of their library: DeviceTracing.initialize(context_tensor, rank, world_size, tracing=TRACING)."""
    enabled: dsl.constexpr

    @constexpr_function
    def __init__(self):
        self.enabled = dsl.constexpr(False)

    @jit
    def initialize(context_tensor, rank=0, world_size=0, tracing: dsl.constexpr = False):
        if tracing:
            return OurTracing.initialize(context_tensor)
        else:
            return NoTracing()


@aggregate
class TraceEvent:
    """Numbers of events, known at compile time: TraceEvent().put."""
    load: dsl.constexpr
    store: dsl.constexpr
    get: dsl.constexpr
    put: dsl.constexpr
    copy: dsl.constexpr
    atomic_add: dsl.constexpr
    atomic_sub: dsl.constexpr
    atomic_cas: dsl.constexpr
    atomic_xchg: dsl.constexpr
    atomic_xor: dsl.constexpr
    atomic_and: dsl.constexpr
    atomic_or: dsl.constexpr
    atomic_min: dsl.constexpr
    atomic_max: dsl.constexpr
    fetch: dsl.constexpr
    compute: dsl.constexpr
    reduce: dsl.constexpr
    wait: dsl.constexpr
    barrier: dsl.constexpr

    @constexpr_function
    def __init__(self):
        self.load, self.store, self.get = dsl.constexpr(0), dsl.constexpr(1), dsl.constexpr(2)
        self.put, self.copy = dsl.constexpr(3), dsl.constexpr(4)
        self.atomic_add, self.atomic_sub = dsl.constexpr(5), dsl.constexpr(6)
        self.atomic_cas, self.atomic_xchg = dsl.constexpr(7), dsl.constexpr(8)
        self.atomic_xor, self.atomic_and = dsl.constexpr(9), dsl.constexpr(10)
        self.atomic_or, self.atomic_min, self.atomic_max = dsl.constexpr(11), dsl.constexpr(12), dsl.constexpr(13)
        self.fetch, self.compute, self.reduce = dsl.constexpr(1024), dsl.constexpr(2048), dsl.constexpr(2049)
        self.wait, self.barrier = dsl.constexpr(3072), dsl.constexpr(3073)
