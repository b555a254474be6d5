# SPDX-License-Identifier: Apache-2.0
"""Kernels in Triton for h200_python.py. Pairs that are compared, with and without tracing, are functions of one name."""

import triton
import triton.language as tl

from rbwp import triton as device
from rbwp.triton import PUT, DeviceTracing, Lanes, read_time

chiplet, compute_unit, warp_in_block = device._code.chiplet, device._code.compute_unit, device._code.warp_in_block
lowest, payload_bytes, fence_block = device._code.lowest, device._code.payload_bytes, device._code.fence_block


@triton.jit
def cycles():
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


# ---- one thing each ---------------------------------------------------------------------------------


@triton.jit
def time_and_place(out):
    at = out + tl.program_id(0) * 6
    tl.store(at, read_time())
    fence_block()
    tl.store(at + 1, compute_unit())
    tl.store(at + 2, chiplet())
    tl.store(at + 3, warp_in_block())
    tl.store(at + 4, tl.program_id(0))
    tl.store(at + 5, read_time())


@triton.jit
def operands(out, values):
    row = tl.arange(0, 64)
    square = row[:, None] * 64 + row[None, :]
    tl.store(out, lowest(values + 5))
    tl.store(out + 1, lowest(values + 7 + row))
    tl.store(out + 2, lowest(values + 9 + square))
    tl.store(out + 3, payload_bytes(values, None))
    tl.store(out + 4, payload_bytes(values + row, row < 10))
    tl.store(out + 5, payload_bytes(values + square, square % 2 == 0))
    tl.store(out + 6, payload_bytes(values, tl.program_id(0) == 0))


# ---- events --------------------------------------------------------------------------------------------


@triton.jit
def event_scalar(context, target, target_rank, TRACING: tl.constexpr):
    pid = tl.program_id(0)
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    handle = tracing.record_event_start(PUT, target_rank, target + pid, pid, 1)
    tl.store(target + pid, pid)
    tracing.record_event_end(handle)


def _puts():

    @triton.jit
    def put(context, source, target, count, target_rank, TRACING: tl.constexpr, BLOCK: tl.constexpr):
        pid = tl.program_id(0)
        tracing = DeviceTracing.initialize(context, tracing=TRACING)
        at = pid * BLOCK + tl.arange(0, BLOCK)
        mask = at < count
        values = tl.load(source + at, mask=mask)
        handle = tracing.record_event_start(PUT, target_rank, target + at, pid, 2, mask)
        tl.store(target + at, values, mask=mask)
        tracing.record_event_end(handle)

    return put


def _plain_puts():

    @triton.jit
    def put(context, source, target, count, target_rank, TRACING: tl.constexpr, BLOCK: tl.constexpr):
        pid = tl.program_id(0)
        at = pid * BLOCK + tl.arange(0, BLOCK)
        mask = at < count
        values = tl.load(source + at, mask=mask)
        tl.store(target + at, values, mask=mask)

    return put


put, plain_put = _puts(), _plain_puts()


@triton.jit
def put_remote(context, source, count, target_rank, TRACING: tl.constexpr, BLOCK: tl.constexpr):
    """Into the target rank's heap, whose place the context tells."""
    pid = tl.program_id(0)
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    target = tl.cast(tl.load(context + 2 + target_rank), tl.pointer_type(tl.int64))
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    handle = tracing.record_event_start(PUT, target_rank, target + at, pid, 0, mask)
    tl.store(target + at, tl.load(source + at, mask=mask), mask=mask)
    tracing.record_event_end(handle)


@triton.jit
def put_square(context, target, target_rank, TRACING: tl.constexpr, MASKED: tl.constexpr):
    pid = tl.program_id(0)
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    rows, columns = tl.arange(0, 8), tl.arange(0, 16)
    at = pid * 128 + rows[:, None] * 16 + columns[None, :]
    if MASKED:
        mask = (rows[:, None] < 5) & (columns[None, :] < 3)
        handle = tracing.record_event_start(PUT, target_rank, target + at, pid, 3, mask)
        tl.store(target + at, at, mask=mask)
    else:
        handle = tracing.record_event_start(PUT, target_rank, target + at, pid, 3)
        tl.store(target + at, at)
    tracing.record_event_end(handle)


@triton.jit
def nested_events(context, target, rounds, TRACING: tl.constexpr):
    """Events within events and within a loop, ended in the order of their beginning."""
    pid = tl.program_id(0)
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    for turn in range(rounds):
        outer = tracing.record_event_start(2048, 0, target, pid, turn)
        inner = tracing.record_event_start(3072, 0, target, pid, turn)
        tl.store(target + pid, turn)
        tracing.record_event_end(outer)
        tracing.record_event_end(inner)


@triton.jit
def wrong_mask(context, target, TRACING: tl.constexpr):
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    tracing.record_event_start(PUT, 0, target + tl.arange(0, 16), 0, 0, tl.arange(0, 8) < 4)


@triton.jit
def wrong_lane_event(buffer, TRACING: tl.constexpr):
    lane = Lanes.init(buffer, 4, 0, 1, 4, 16, enabled=TRACING)
    lane = lane.begin(1024)
    lane.finalize()


# ---- lanes ----------------------------------------------------------------------------------------------


def _lanes():

    @triton.jit
    def lanes(buffer, stride, num_groups, num_blocks, max_records, drops, rounds, out, ENABLED: tl.constexpr,
              VERSION: tl.constexpr, FENCE: tl.constexpr):
        lane = Lanes.init(buffer, stride, 0, num_groups, num_blocks, max_records, drops, enabled=ENABLED,
                          version=VERSION, fence=FENCE)
        total = tl.load(out)
        for turn in range(rounds):
            lane = lane.begin(1)
            for _ in range(8):
                total = total * 3 + turn
            lane = lane.end(1)
            lane = lane.instant(2)
            lane = lane.heartbeat()
        lane.finalize()
        tl.store(out + tl.program_id(0), total)

    return lanes


def _plain_lanes():

    @triton.jit
    def lanes(buffer, stride, num_groups, num_blocks, max_records, drops, rounds, out, ENABLED: tl.constexpr,
              VERSION: tl.constexpr, FENCE: tl.constexpr):
        total = tl.load(out)
        for turn in range(rounds):
            for _ in range(8):
                total = total * 3 + turn
        tl.store(out + tl.program_id(0), total)

    return lanes


lanes, plain_lanes = _lanes(), _plain_lanes()

# ---- cost -------------------------------------------------------------------------------------------------


@triton.jit
def event_cost(context, out, rounds, TRACING: tl.constexpr):
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    before = cycles()
    for turn in range(rounds):
        handle = tracing.record_event_start(PUT, 1, out, turn, 0)
        tracing.record_event_end(handle)
    tl.store(out + tl.program_id(0), cycles() - before)


@triton.jit
def lane_cost(buffer, stride, num_blocks, max_records, out, rounds, ENABLED: tl.constexpr, VERSION: tl.constexpr,
              FENCE: tl.constexpr):
    lane = Lanes.init(buffer, stride, 0, 1, num_blocks, max_records, enabled=ENABLED, version=VERSION, fence=FENCE)
    before = cycles()
    for _ in range(rounds):
        lane = lane.begin(1)
        lane = lane.end(1)
    after = cycles()
    lane.finalize()
    tl.store(out + tl.program_id(0), after - before)
