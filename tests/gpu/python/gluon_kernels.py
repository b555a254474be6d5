# SPDX-License-Identifier: Apache-2.0
"""Kernels in Gluon for h200_python.py. Pairs that are compared, with and without tracing, are functions of one name.
Four warps a program."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from rbwp import gluon as device
from rbwp.gluon import PUT, DeviceTracing, Lanes, read_time

chiplet, compute_unit, warp_in_block = device._code.chiplet, device._code.compute_unit, device._code.warp_in_block
lowest, payload_bytes, fence_block = device._code.lowest, device._code.payload_bytes, device._code.fence_block

ROW = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))
SQUARE = gl.constexpr(gl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0]))
WIDE = gl.constexpr(gl.BlockedLayout([8], [32], [4], [0]))


@gluon.jit
def cycles():
    return gl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=gl.int64, is_pure=False, pack=1)


# ---- one thing each ---------------------------------------------------------------------------------


@gluon.jit
def time_and_place(out):
    at = out + gl.program_id(0) * 6
    gl.store(at, read_time())
    fence_block()
    gl.store(at + 1, compute_unit())
    gl.store(at + 2, chiplet())
    gl.store(at + 3, warp_in_block())
    gl.store(at + 4, gl.program_id(0))
    gl.store(at + 5, read_time())


@gluon.jit
def operands(out, values):
    row = gl.arange(0, 64, layout=ROW)
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, SQUARE))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, SQUARE))
    square = rows[:, None] * 64 + columns[None, :]
    gl.store(out, lowest(values + 5))
    gl.store(out + 1, lowest(values + 7 + row))
    gl.store(out + 2, lowest(values + 9 + square))
    gl.store(out + 3, payload_bytes(values, None))
    gl.store(out + 4, payload_bytes(values + row, row < 10))
    gl.store(out + 5, payload_bytes(values + square, square % 2 == 0))
    gl.store(out + 6, payload_bytes(values, gl.program_id(0) == 0))


# ---- events --------------------------------------------------------------------------------------------


@gluon.jit
def event_scalar(context, target, target_rank, TRACING: gl.constexpr):
    pid = gl.program_id(0)
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    handle = tracing.record_event_start(PUT, target_rank, target + pid, pid, 1)
    gl.store(target + pid, pid)
    tracing.record_event_end(handle)


def _puts():

    @gluon.jit
    def put(context, source, target, count, target_rank, TRACING: gl.constexpr, BLOCK: gl.constexpr):
        pid = gl.program_id(0)
        tracing = DeviceTracing.initialize(context, tracing=TRACING)
        at = pid * BLOCK + gl.arange(0, BLOCK, layout=ROW)
        mask = at < count
        values = gl.load(source + at, mask=mask)
        handle = tracing.record_event_start(PUT, target_rank, target + at, pid, 2, mask)
        gl.store(target + at, values, mask=mask)
        tracing.record_event_end(handle)

    return put


def _plain_puts():

    @gluon.jit
    def put(context, source, target, count, target_rank, TRACING: gl.constexpr, BLOCK: gl.constexpr):
        pid = gl.program_id(0)
        at = pid * BLOCK + gl.arange(0, BLOCK, layout=ROW)
        mask = at < count
        values = gl.load(source + at, mask=mask)
        gl.store(target + at, values, mask=mask)

    return put


put, plain_put = _puts(), _plain_puts()


@gluon.jit
def put_remote(context, source, count, target_rank, TRACING: gl.constexpr, BLOCK: gl.constexpr):
    """Into the target rank's heap, whose place the context tells."""
    pid = gl.program_id(0)
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    target = gl.cast(gl.load(context + 2 + target_rank), gl.pointer_type(gl.int64))
    at = pid * BLOCK + gl.arange(0, BLOCK, layout=ROW)
    mask = at < count
    handle = tracing.record_event_start(PUT, target_rank, target + at, pid, 0, mask)
    gl.store(target + at, gl.load(source + at, mask=mask), mask=mask)
    tracing.record_event_end(handle)


@gluon.jit
def put_square(context, target, target_rank, TRACING: gl.constexpr, MASKED: gl.constexpr):
    pid = gl.program_id(0)
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    rows = gl.arange(0, 8, layout=gl.SliceLayout(1, SQUARE))
    columns = gl.arange(0, 16, layout=gl.SliceLayout(0, SQUARE))
    at = pid * 128 + rows[:, None] * 16 + columns[None, :]
    if MASKED:
        mask = (rows[:, None] < 5) & (columns[None, :] < 3)
        handle = tracing.record_event_start(PUT, target_rank, target + at, pid, 3, mask)
        gl.store(target + at, at, mask=mask)
    else:
        handle = tracing.record_event_start(PUT, target_rank, target + at, pid, 3)
        gl.store(target + at, at)
    tracing.record_event_end(handle)


@gluon.jit
def nested_events(context, target, rounds, TRACING: gl.constexpr):
    """Events within events and within a loop, ended in the order of their beginning."""
    pid = gl.program_id(0)
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    for turn in range(rounds):
        outer = tracing.record_event_start(2048, 0, target, pid, turn)
        inner = tracing.record_event_start(3072, 0, target, pid, turn)
        gl.store(target + pid, turn)
        tracing.record_event_end(outer)
        tracing.record_event_end(inner)


@gluon.jit
def wrong_mask(context, target, TRACING: gl.constexpr):
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    tracing.record_event_start(PUT, 0, target + gl.arange(0, 16, layout=ROW), 0, 0, gl.arange(0, 8, layout=ROW) < 4)


@gluon.jit
def wrong_lane_event(buffer, TRACING: gl.constexpr):
    lane = Lanes.init(buffer, 4, 0, 1, 4, 16, enabled=TRACING)
    lane = lane.begin(1024)
    lane.finalize()


# ---- lanes ----------------------------------------------------------------------------------------------


def _lanes():

    @gluon.jit
    def lanes(buffer, stride, num_groups, num_blocks, max_records, drops, rounds, out, ENABLED: gl.constexpr,
              VERSION: gl.constexpr, FENCE: gl.constexpr):
        lane = Lanes.init(buffer, stride, 0, num_groups, num_blocks, max_records, drops, enabled=ENABLED,
                          version=VERSION, fence=FENCE)
        total = gl.load(out)
        for turn in range(rounds):
            lane = lane.begin(1)
            for _ in range(8):
                total = total * 3 + turn
            lane = lane.end(1)
            lane = lane.instant(2)
            lane = lane.heartbeat()
        lane.finalize()
        gl.store(out + gl.program_id(0), total)

    return lanes


def _plain_lanes():

    @gluon.jit
    def lanes(buffer, stride, num_groups, num_blocks, max_records, drops, rounds, out, ENABLED: gl.constexpr,
              VERSION: gl.constexpr, FENCE: gl.constexpr):
        total = gl.load(out)
        for turn in range(rounds):
            for _ in range(8):
                total = total * 3 + turn
        gl.store(out + gl.program_id(0), total)

    return lanes


lanes, plain_lanes = _lanes(), _plain_lanes()


@gluon.jit
def lane_work(buffer, stride, num_blocks, max_records, rounds, out, GROUP: gl.constexpr, ENABLED: gl.constexpr,
              VERSION: gl.constexpr):
    """One partition's part: its own lane, with its group's number as the event."""
    lane = Lanes.init(buffer, stride, GROUP, 3, num_blocks, max_records, enabled=ENABLED, version=VERSION)
    total = gl.load(out + GROUP)
    for turn in range(rounds):
        lane = lane.begin(GROUP + 1)
        for _ in range(64):
            total = total * 3 + turn
        lane = lane.end(GROUP + 1)
    lane.finalize()
    gl.store(out + GROUP, total)


@gluon.jit
def first_partition(buffer, stride, num_blocks, max_records, rounds, out, ENABLED: gl.constexpr,
                    VERSION: gl.constexpr):
    lane_work(buffer, stride, num_blocks, max_records, rounds, out, 0, ENABLED, VERSION)


@gluon.jit
def second_partition(buffer, stride, num_blocks, max_records, rounds, out, ENABLED: gl.constexpr,
                     VERSION: gl.constexpr):
    lane_work(buffer, stride, num_blocks, max_records, rounds, out, 1, ENABLED, VERSION)


@gluon.jit
def third_partition(buffer, stride, num_blocks, max_records, rounds, out, ENABLED: gl.constexpr,
                    VERSION: gl.constexpr):
    lane_work(buffer, stride, num_blocks, max_records, rounds, out, 2, ENABLED, VERSION)


@gluon.jit
def specialized_lanes(buffer, stride, num_blocks, max_records, rounds, out, ENABLED: gl.constexpr,
                      VERSION: gl.constexpr, PAIRS: gl.constexpr):
    """A lane in each partition. PAIRS: warp_specialize takes pairs of function and arguments (newer Triton)."""
    if PAIRS:
        gl.warp_specialize([
            (first_partition, (buffer, stride, num_blocks, max_records, rounds, out, ENABLED, VERSION)),
            (second_partition, (buffer, stride, num_blocks, max_records, rounds, out, ENABLED, VERSION)),
            (third_partition, (buffer, stride, num_blocks, max_records, rounds, out, ENABLED, VERSION)),
        ], [4, 1], [64, 64])
    else:
        gl.warp_specialize((buffer, stride, num_blocks, max_records, rounds, out, ENABLED, VERSION), first_partition,
                           (buffer, stride, num_blocks, max_records, rounds, out, ENABLED, VERSION),
                           [second_partition, third_partition], [4, 1], [64, 64])


@gluon.jit
def event_work(context, target, rounds, GROUP: gl.constexpr, TRACING: gl.constexpr):
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    for turn in range(rounds):
        handle = tracing.record_event_start(PUT, GROUP, target + GROUP, GROUP, turn)
        gl.store(target + GROUP, turn)
        tracing.record_event_end(handle)


@gluon.jit
def first_events(context, target, rounds, TRACING: gl.constexpr):
    event_work(context, target, rounds, 0, TRACING)


@gluon.jit
def second_events(context, target, rounds, TRACING: gl.constexpr):
    event_work(context, target, rounds, 1, TRACING)


@gluon.jit
def specialized_events(context, target, rounds, TRACING: gl.constexpr, PAIRS: gl.constexpr):
    if PAIRS:
        gl.warp_specialize([(first_events, (context, target, rounds, TRACING)),
                            (second_events, (context, target, rounds, TRACING))], [4], [64])
    else:
        gl.warp_specialize((context, target, rounds, TRACING), first_events, (context, target, rounds, TRACING),
                           [second_events], [4], [64])


# ---- cost -------------------------------------------------------------------------------------------------


@gluon.jit
def event_cost(context, out, rounds, TRACING: gl.constexpr):
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    before = cycles()
    for turn in range(rounds):
        handle = tracing.record_event_start(PUT, 1, out, turn, 0)
        tracing.record_event_end(handle)
    gl.store(out + gl.program_id(0), cycles() - before)


@gluon.jit
def lane_cost(buffer, stride, num_blocks, max_records, out, rounds, ENABLED: gl.constexpr, VERSION: gl.constexpr,
              FENCE: gl.constexpr):
    lane = Lanes.init(buffer, stride, 0, 1, num_blocks, max_records, enabled=ENABLED, version=VERSION, fence=FENCE)
    before = cycles()
    for _ in range(rounds):
        lane = lane.begin(1)
        lane = lane.end(1)
    after = cycles()
    lane.finalize()
    gl.store(out + gl.program_id(0), after - before)


# ---- bandwidth ----------------------------------------------------------------------------------------------


@gluon.jit
def copy(context, source, target, TRACING: gl.constexpr, TILES: gl.constexpr):
    """TILES tiles of 1024 values a program, with an event for each."""
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    first = gl.program_id(0) * TILES
    for tile in range(TILES):
        at = (first + tile) * 1024 + gl.arange(0, 1024, layout=WIDE)
        handle = tracing.record_event_start(PUT, 1, target, first, tile)
        gl.store(target + at, gl.load(source + at))
        tracing.record_event_end(handle)


@gluon.jit
def plain_copy(context, source, target, TRACING: gl.constexpr, TILES: gl.constexpr):
    first = gl.program_id(0) * TILES
    for tile in range(TILES):
        at = (first + tile) * 1024 + gl.arange(0, 1024, layout=WIDE)
        gl.store(target + at, gl.load(source + at))
