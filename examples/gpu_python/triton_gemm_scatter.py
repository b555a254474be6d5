#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A product of matrices in Triton whose tiles go to all ranks: each rank has half of the columns, computes its tiles,
and stores each into its own heap and the other rank's. The product of a tile and each store are events; warm-up
launches run with tracing compiled in and off on the host."""

import torch
import triton
import triton.language as tl
from two_ranks import RANKS, arguments, heaps, show, tracings, wait

from rbwp.triton import PUT, STORE, DeviceTracing

COMPUTE = tl.constexpr(2048)
M, N, K = 2048, 2048, 1024  # N: of all ranks
TILE_M, TILE_N, TILE_K = 128, 128, 64


@triton.jit
def gemm_scatter(context, a, b, columns, width, depth, rank, TRACING: tl.constexpr, WORLD: tl.constexpr,
                 TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    """columns: of this rank's part; width: of the whole; depth: of the sum."""
    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    pid = tl.program_id(0)
    across = tl.cdiv(columns, TILE_N)
    pid_m = pid // across
    pid_n = pid % across
    rows = pid_m * TILE_M + tl.arange(0, TILE_M)
    own = pid_n * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)

    handle = tracing.record_event_start(COMPUTE, rank, a + pid_m * TILE_M * depth, pid_m, pid_n)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for step in range(0, depth, TILE_K):
        left = tl.load(a + rows[:, None] * depth + (step + inner)[None, :])
        right = tl.load(b + (step + inner)[:, None] * columns + own[None, :])
        total = tl.dot(left, right, total)
    tile = total.to(tl.float16)
    tracing.record_event_end(handle)

    mask = (rows[:, None] >= 0) & (own[None, :] < columns)
    for target in tl.static_range(WORLD):
        heap = tl.cast(tl.load(context + 2 + target), tl.pointer_type(tl.float16))
        places = heap + rows[:, None] * width + (rank * columns + own)[None, :]
        event = tl.where(rank == target, STORE, PUT)
        handle = tracing.record_event_start(event, target, places, pid_m, pid_n, mask)
        tl.store(places, tile, mask=mask)
        tracing.record_event_end(handle)


def main():
    devices, out = arguments(__doc__.split("\n", maxsplit=1)[0])
    torch.manual_seed(1)
    a = torch.randn(M, K, dtype=torch.float16) / 32
    b = torch.randn(K, N, dtype=torch.float16) / 32
    parts = [b[:, rank * N // RANKS:(rank + 1) * N // RANKS].contiguous() for rank in range(RANKS)]
    left = [a.to(device) for device in devices]
    right = [part.to(device) for part, device in zip(parts, devices)]
    results = heaps(devices, M, N, dtype=torch.float16)
    ranks = tracings(devices, results, {2048: "multiply"})
    tiles = M // TILE_M * (N // RANKS // TILE_N)

    def launch():
        for rank, device in enumerate(devices):
            with torch.cuda.device(device):
                gemm_scatter[(tiles, )](ranks[rank].get_device_context(), left[rank], right[rank], N // RANKS, N, K,
                                        rank, TRACING=True, WORLD=RANKS, TILE_M=TILE_M, TILE_N=TILE_N, TILE_K=TILE_K)
        wait(devices)

    for _ in range(10):
        launch()
    for tracing in ranks:
        tracing.enable(tiles * (1 + RANKS))
    launch()

    wanted = left[0] @ right[0], left[0] @ right[1].to(devices[0])
    for result in results:
        torch.testing.assert_close(result.to(devices[0]), torch.cat(wanted, 1), atol=2e-2, rtol=2e-2)
    print(f"{tiles} tiles a rank on {len(set(devices))} GPU(s): the product is right")
    show(ranks, out, "triton_gemm_scatter")


if __name__ == "__main__":
    main()
