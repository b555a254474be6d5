#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An all-gather in Gluon over two ranks: each stores its part into its own heap and puts it into the other rank's, a
block at a time, and each of these is an event."""

import torch
from two_ranks import RANKS, arguments, heaps, show, tracings, wait

from rbwp.gluon import PUT, STORE, DeviceTracing
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

COUNT = 1 << 20  # 64-bit values of a rank
BLOCK = 4096


@gluon.jit
def all_gather(context, part, count, rank, TRACING: gl.constexpr, WORLD: gl.constexpr, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    pid = gl.program_id(0)
    at = pid * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = at < count
    values = gl.load(part + at, mask=mask)
    for target in gl.static_range(WORLD):
        heap = gl.cast(gl.load(context + 2 + target), gl.pointer_type(gl.int64))
        places = heap + rank * count + at
        event = gl.where(rank == target, STORE, PUT)
        handle = tracing.record_event_start(event, target, places, pid, target, mask)
        gl.store(places, values, mask=mask)
        tracing.record_event_end(handle)


def main():
    devices, out = arguments(__doc__.split("\n", maxsplit=1)[0])
    parts = [torch.arange(COUNT, dtype=torch.int64, device=device) * RANKS + rank
             for rank, device in enumerate(devices)]
    gathered = heaps(devices, RANKS * COUNT, dtype=torch.int64)
    ranks = tracings(devices, gathered, {})
    blocks = (COUNT + BLOCK - 1) // BLOCK

    def launch():
        for rank, device in enumerate(devices):
            with torch.cuda.device(device):
                all_gather[(blocks, )](ranks[rank].get_device_context(), parts[rank], COUNT, rank, TRACING=True,
                                       WORLD=RANKS, BLOCK=BLOCK, num_warps=4)
        wait(devices)

    for _ in range(3):
        launch()
    for tracing in ranks:
        tracing.enable(blocks * RANKS)
    launch()

    wanted = torch.cat([part.cpu() for part in parts])
    for result in gathered:
        assert torch.equal(result.cpu(), wanted), "the parts are not where they belong"
    for rank, tracing in enumerate(ranks):
        events = tracing.decode().events
        sent = [(int(event["target_rank"]), int(event["bytes"])) for event in events if event["id"] == 3]
        assert sent == [(1 - rank, 8 * BLOCK)] * blocks, "a put that says something else"
    print(f"{blocks} blocks a rank on {len(set(devices))} GPU(s): all parts are everywhere")
    show(ranks, out, "gluon_all_gather")


if __name__ == "__main__":
    main()
