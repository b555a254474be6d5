# SPDX-License-Identifier: Apache-2.0
"""What the examples of two ranks share: a heap for each, on two GPUs that reach each other's memory or on one, and what
becomes of the events in the end. A program over several processes would get its heaps' addresses from its library."""

import argparse
import os

import rbwp
import torch
from rbwp.native import run_command

RANKS = 2


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--gpus", type=int, choices=(1, 2), help="how many (default: 2 where there are 2)")
    parser.add_argument("--out", default=".", help="folder for what is written (default: this one)")
    options = parser.parse_args()
    there = torch.cuda.device_count()
    gpus = options.gpus or min(2, there)
    if gpus > there:
        parser.error(f"--gpus {gpus}: {there} here")
    if gpus == 2 and not torch.cuda.can_device_access_peer(0, 1):
        parser.error("--gpus 2: they do not reach each other's memory")
    os.makedirs(options.out, exist_ok=True)
    return [torch.device("cuda", rank % gpus) for rank in range(RANKS)], options.out


def heaps(devices, *shape, dtype):
    """An array for each rank, all of a shape, and that each GPU may write to the other's."""
    arrays = [torch.zeros(shape, dtype=dtype, device=device) for device in devices]
    for array in arrays:  # a copy between two GPUs makes PyTorch open the way
        for other in arrays:
            array.copy_(other)
    return arrays


def tracings(devices, arrays, names):
    bases = [array.data_ptr() for array in arrays]
    ranks = [rbwp.Tracing(rank, RANKS, bases, device=device, names=names) for rank, device in enumerate(devices)]
    for rank, tracing in enumerate(ranks):
        offset_ns, bound_ns = tracing.align()
        print(f"rank {rank}: its clock is {offset_ns} ns ahead of the host's, {bound_ns} ns more or less")
    return ranks


def wait(devices):
    for device in devices:
        torch.cuda.synchronize(device)


def show(ranks, out, name):
    """Durations of each rank, and the same events as a profile, its report, and a trace for Perfetto."""
    for tracing in ranks:
        trace = tracing.decode()
        assert trace.damage == 0 and trace.dropped == 0, trace.stats
        trace.print_durations()
    for form in ("bin", "pftrace"):
        path = os.path.join(out, f"{name}.{form}")
        for tracing in reversed(ranks):  # rank 0 last: it writes the file of all
            written = tracing.export(path, merge=True)
        print("wrote", *written)
    report = os.path.join(out, f"{name}.html")
    run_command(["report", "--force", "--output", report, os.path.join(out, f"{name}.bin")])
    print("wrote", report)
