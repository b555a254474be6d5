# SPDX-License-Identifier: Apache-2.0
"""How far a GPU's clock is from the host's, so that the times of several GPUs share an axis."""

import time
from typing import Any, Tuple

from .native import checked_number


def clock_offset(device: Any, *, clock_hz: int = 10**9, rounds: int = 32) -> Tuple[int, int]:
    """What the device's clock, in ns, is ahead of CLOCK_MONOTONIC, and how much that may be wrong: the tightest of
    `rounds` kernels that read it between two readings of the host's. Wants PyTorch and Triton."""
    count = checked_number("rounds", rounds, 1, 10**6)
    import torch

    from .triton import store_time
    with torch.cuda.device(device):
        cell = torch.zeros(1, dtype=torch.int64, device=device)
        store_time[(1, )](cell, num_warps=1)  # compiled before it is timed
        samples = []
        for _ in range(count):
            torch.cuda.synchronize(device)
            before_ns = time.monotonic_ns()
            store_time[(1, )](cell, num_warps=1)
            torch.cuda.synchronize(device)
            after_ns = time.monotonic_ns()
            samples.append((after_ns - before_ns, before_ns, int(cell.item())))
    width_ns, before_ns, ticks = min(samples)
    return ticks * 10**9 // clock_hz - (before_ns + width_ns // 2), (width_ns + 1) // 2
