# SPDX-License-Identifier: Apache-2.0
"""triton_script.py RESULTS.npz - kernels as tutorials have them, which know nothing of probes: what h200_ptx.py runs
as it is and under `rbwp record --ptx`. The results go to a file, to be compared bit for bit."""

import sys

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + columns, e / tl.sum(e, axis=0), mask=columns < n)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * K + inner[None, :]
    b = b_ptr + inner[:, None] * N + columns[None, :]
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        sums += tl.dot(tl.load(a), tl.load(b))
        a += BK
        b += BK * N
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sums.to(tl.float16))


@triton.jit
def layernorm_kernel(x_ptr, out_ptr, weight_ptr, bias_ptr, n, eps, BLOCK: tl.constexpr):
    x_ptr += tl.program_id(0) * n
    out_ptr += tl.program_id(0) * n
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, n, BLOCK):
        columns = at + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < n, other=0.0)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, n, BLOCK):
        columns = at + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < n, other=0.0)
        x = tl.where(columns < n, x - mean, 0.0)
        squares += x * x
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    for at in range(0, n, BLOCK):
        columns = at + tl.arange(0, BLOCK)
        mask = columns < n
        x = tl.load(x_ptr + columns, mask=mask)
        w = tl.load(weight_ptr + columns, mask=mask)
        b = tl.load(bias_ptr + columns, mask=mask)
        tl.store(out_ptr + columns, (x - mean) * scale * w + b, mask=mask)


@triton.jit
def branches_kernel(x_ptr, out_ptr, rounds, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if program % 3 == 0:
        for _ in range(rounds):
            x = x * 0.5 + 1.0
    elif program % 3 == 1:
        for _ in range(4 * rounds):
            x = tl.sin(x)
    else:
        x = x + 1.0
    tl.store(out_ptr + offsets, x)


# All configurations give the same numbers, whichever is the fastest this time.
@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 256}, num_warps=2),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 4096}, num_warps=8),
    ], key=["n"])
@triton.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    inner = 1.5957691216 * (x + 0.044715 * x * x * x)
    tl.store(out_ptr + offsets, x / (1 + tl.exp(-inner)), mask=mask)


def add(n=(1 << 20) - 5):
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(n, 1024), )](x, y, out, n, BLOCK=1024)
    return out


def softmax(rows=1823, n=781):
    x = torch.randn(rows, n, device="cuda")
    out = torch.empty_like(x)
    softmax_kernel[(rows, )](x, out, x.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return out


def matmul(size=1024):
    a, b = (torch.randn(size, size, device="cuda").half() for _ in range(2))
    out = torch.empty_like(a)
    matmul_kernel[(size // 128, size // 128)](a, b, out, size, size, size, BM=128, BN=128, BK=64, num_warps=8)
    return out


def layernorm(rows=512, n=3000):
    x = torch.randn(rows, n, device="cuda")
    out, weight, bias = torch.empty_like(x), torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    layernorm_kernel[(rows, )](x, out, weight, bias, n, 1e-5, BLOCK=1024)
    return out


def branches(programs=300):
    x = torch.randn(programs * 256, device="cuda")
    out = torch.empty_like(x)
    branches_kernel[(programs, )](x, out, 50, BLOCK=256)
    return out


def gelu(n=(1 << 22) - 3):
    x = torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    gelu_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]), )](x, out, n)
    return out


if __name__ == "__main__":
    torch.manual_seed(11)
    results = {make.__name__: make().cpu().numpy() for make in (add, softmax, matmul, layernorm, branches, gelu)}
    np.savez(sys.argv[1], **results)
