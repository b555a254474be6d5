#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines of a Triton kernel take its time: clock probes around each, in a kernel that has no markers. Run twice: the
second run leaves out the probes that the first one showed to be of no use."""

import argparse
import os

import torch
import triton
import triton.language as tl
from rbwp.native import run_command

import rbwp.ptx


@triton.jit
def softmax(source, result, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(source + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(result + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", default=".", help="folder for what is written (default: this one)")
    out = parser.parse_args().out

    source = torch.randn(1823, 781, device="cuda")
    result, active = torch.empty_like(source), None
    for _ in range(2):
        with rbwp.ptx.instrument("warp", target_file="ptx_lines.py", t_start=0, t_end=31, active_list=active) as inst:
            softmax[(len(source), )](source, result, source.shape[1], BLOCK=1024)
            torch.cuda.synchronize()
            for pair in inst.pairs()[:5]:
                print(f"line {pair.line}: {pair.count} times, {pair.mean_cycles:.0f} cycles each, {pair.total_cycles} in all")
        print(f"{len(inst.launches()[0].map['probes'])} probes")
        active = inst.active_probes()
    torch.testing.assert_close(result, torch.softmax(source, 1))
    path = os.path.join(out, "ptx_lines")
    inst.save(path)
    inst.to_rbwp(path + ".bin")
    run_command(["report", "--force", "--output", path + ".html", path + ".bin"])
    print(f"wrote {path}/ {path}.bin {path}.html")


if __name__ == "__main__":
    main()
