#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A warp-specialised kernel in Gluon with a lane for each partition: a producer loads tiles into shared memory, a
consumer computes on them, and both note how long they wait for each other. Wants a GPU as new as Hopper."""

import argparse
import inspect
import os

import rbwp
import torch
from rbwp.native import run_command

from rbwp.gluon import Lanes
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

BLOCKS, TILES, TILE, STAGES = 132, 40, 4096, 3
WAIT, LOAD, COMPUTE = (gl.constexpr(event) for event in (1, 2, 3))
LAYOUT = gl.constexpr(gl.BlockedLayout([4], [32], [4], [0]))


@gluon.jit
def consume(lane_arguments, source, result, buffers, ready, empty, TRACING: gl.constexpr, TILES: gl.constexpr,
            TILE: gl.constexpr, STAGES: gl.constexpr):
    words, stride, groups, blocks, records = lane_arguments
    lane = Lanes.init(words, stride, 1, groups, blocks, records, enabled=TRACING)
    total = gl.full([TILE], 0, gl.float32, layout=LAYOUT)
    for tile in range(TILES):
        slot = tile % STAGES
        lane = lane.begin(WAIT)
        mbarrier.wait(ready.index(slot), tile // STAGES & 1)
        lane = lane.end(WAIT)
        lane = lane.begin(COMPUTE)
        values = buffers.index(slot).load(LAYOUT)
        mbarrier.arrive(empty.index(slot), count=1)
        for _ in range(16):
            values = values * 0.5 + 1.0
        total += values
        lane = lane.end(COMPUTE)
    lane.finalize()
    gl.store(result + gl.program_id(0) * TILE + gl.arange(0, TILE, layout=LAYOUT), total)


@gluon.jit
def produce(lane_arguments, source, result, buffers, ready, empty, TRACING: gl.constexpr, TILES: gl.constexpr,
            TILE: gl.constexpr, STAGES: gl.constexpr):
    words, stride, groups, blocks, records = lane_arguments
    lane = Lanes.init(words, stride, 0, groups, blocks, records, enabled=TRACING)
    for tile in range(TILES):
        slot = tile % STAGES
        lane = lane.begin(WAIT)
        mbarrier.wait(empty.index(slot), tile // STAGES & 1 ^ 1)
        lane = lane.end(WAIT)
        lane = lane.begin(LOAD)
        at = (gl.program_id(0) * TILES + tile) * TILE + gl.arange(0, TILE, layout=LAYOUT)
        buffers.index(slot).store(gl.load(source + at))
        mbarrier.arrive(ready.index(slot), count=1)
        lane = lane.end(LOAD)
    lane.finalize()


@gluon.jit
def pipeline(words, stride, groups, blocks, records, source, result, TRACING: gl.constexpr, TILES: gl.constexpr,
             TILE: gl.constexpr, STAGES: gl.constexpr, PAIRS: gl.constexpr):
    """PAIRS: warp_specialize takes pairs of function and arguments, as newer Triton's does."""
    shared: gl.constexpr = gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[0])
    buffers = gl.allocate_shared_memory(gl.float32, [STAGES, TILE], shared)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(ready.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    lane_arguments = (words, stride, groups, blocks, records)
    if PAIRS:
        gl.warp_specialize([
            (consume, (lane_arguments, source, result, buffers, ready, empty, TRACING, TILES, TILE, STAGES)),
            (produce, (lane_arguments, source, result, buffers, ready, empty, TRACING, TILES, TILE, STAGES)),
        ], [4], [96])
    else:
        gl.warp_specialize((lane_arguments, source, result, buffers, ready, empty, TRACING, TILES, TILE, STAGES),
                           consume,
                           (lane_arguments, source, result, buffers, ready, empty, TRACING, TILES, TILE, STAGES),
                           [produce], [4], [96])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", default=".", help="folder for what is written (default: this one)")
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)

    source = torch.randn(BLOCKS * TILES * TILE, device="cuda")
    result = torch.zeros(BLOCKS, TILE, device="cuda")
    lanes = rbwp.LaneBuffer(BLOCKS, 2, 4 * TILES + 1, events={1: "wait", 2: "load", 3: "compute"},
                            groups=["producer", "consumer"])
    pairs = "functions_and_args" in inspect.signature(gl.warp_specialize).parameters
    for _ in range(2):  # the first one is cold
        lanes.reset()
        pipeline[(BLOCKS, )](*lanes.arguments(), source, result, TRACING=True, TILES=TILES, TILE=TILE, STAGES=STAGES,
                             PAIRS=pairs, num_warps=4, maxnreg=128)
        torch.cuda.synchronize()

    wanted = source.view(BLOCKS, TILES, TILE)
    for _ in range(16):
        wanted = wanted * 0.5 + 1.0
    torch.testing.assert_close(result, wanted.sum(1), atol=1e-2, rtol=1e-3)
    trace = lanes.decode()
    assert trace.damage == 0 and trace.stats["finalized"] == 2 * BLOCKS, trace.stats
    assert trace.stats["spans"] == 2 * BLOCKS * 2 * TILES, trace.stats
    trace.print_durations()
    print(f"of the consumer's computing, {overlap(trace):.0%} ran while its producer was loading")
    path = os.path.join(out, "gluon_pipeline")
    trace.to_rbwp(path + ".bin")
    trace.to_perfetto(path + ".pftrace")
    run_command(["report", "--force", "--output", path + ".html", path + ".bin"])
    print(f"wrote {path}.bin {path}.pftrace {path}.html")


def overlap(trace):
    """The share of the consumers' computing during which the producer of the same block loads."""
    spans, both, all_ns = trace.spans, 0, 0
    for block in range(BLOCKS):
        own = spans[spans["block"] == block]
        loads, computes = (own[own["event"] == event] for event in (2, 3))
        for compute in computes:
            starts = loads["start_ns"].clip(compute["start_ns"], compute["stop_ns"])
            stops = loads["stop_ns"].clip(compute["start_ns"], compute["stop_ns"])
            both += int((stops - starts).sum())
            all_ns += int(compute["stop_ns"] - compute["start_ns"])
    return both / max(1, all_ns)


if __name__ == "__main__":
    main()
