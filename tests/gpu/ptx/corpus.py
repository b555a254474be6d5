# SPDX-License-Identifier: Apache-2.0
"""The kernels of tests/ptx/corpus that can run: what they are launched with, and what of memory they write."""

import pathlib
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "ptx" / "corpus"


@dataclass
class Launch:
    """One launch, with its memory on the device. outputs: address and bytes; times: what they hold is the time, and
    never twice the same."""
    grid: tuple
    block: tuple
    arguments: list
    outputs: list
    shared: int = 0
    times: bool = False

    def threads(self):
        return int(np.prod(self.grid)) * self.threads_of_block()

    def threads_of_block(self):
        return int(np.prod(self.block))


@dataclass
class Entry:
    file: str
    kernel: str
    prepare: Callable  # (cuda) -> Launch
    long: bool = field(default=False)  # runs long enough for times to be compared


def _random(shape, kind=np.float32):
    return np.random.default_rng(7).standard_normal(shape, dtype=np.float32).astype(kind)


def _pointers(*addresses):
    return [("u64", address) for address in addresses]


def _numbers(*numbers):
    return [("u32", number) for number in numbers]


def _add(cuda):
    n = (1 << 20) - 80
    out = cuda.zeros(4 * n)
    return Launch(((n + 1023) // 1024, 1, 1), (128, 1, 1),
                  _pointers(cuda.upload(_random(n)), cuda.upload(_random(n)[::-1].copy()), out) + _numbers(n) +
                  _pointers(0, 0), [(out, 4 * n)])


def _matmul(cuda, size=4096):
    a, b = (cuda.upload(_random((size, size), np.float16)) for _ in range(2))
    out = cuda.zeros(2 * size * size)
    return Launch((size // 128, size // 128, 1), (256, 1, 1),
                  _pointers(a, b, out) + _numbers(size, size, size, size, size, size) + _pointers(0, 0),
                  [(out, 2 * size * size)], shared=104 << 10)


def _layernorm(cuda, rows=4096, n=4096):
    out = cuda.zeros(4 * rows * n)
    x, w, b = (cuda.upload(_random(shape)) for shape in ((rows, n), n, n))
    return Launch((rows, 1, 1), (128, 1, 1),
                  _pointers(x, out, w, b) + _numbers(n, n) + [("f32", 1e-5)] + _pointers(0, 0), [(out, 4 * rows * n)],
                  shared=8 << 10)


def _reduce(cuda):
    n, blocks = 1 << 20, 256
    out = cuda.zeros(4 * blocks)
    return Launch((blocks, 1, 1), (256, 1, 1), _pointers(cuda.upload(_random(n)), out) + _numbers(n),
                  [(out, 4 * blocks)])


def _transpose(cuda):
    n = 1024
    out = cuda.zeros(4 * n * n)
    return Launch((n // 32, n // 32, 1), (32, 32, 1), _pointers(cuda.upload(_random((n, n))), out) + _numbers(n),
                  [(out, 4 * n * n)])


def _spin(cuda):
    out = cuda.zeros(16)
    return Launch((4, 1, 1), (64, 1, 1), [("u64", 50_000), ("u64", out)], [(out, 16)], times=True)


def _gtres(cuda):
    out = cuda.zeros(8 * 103)
    return Launch((1, 1, 1), (1, 1, 1), _pointers(out) + _numbers(103), [(out, 8 * 103)], times=True)


def _empty(cuda):
    return Launch((4, 1, 1), (32, 1, 1), [], [])


def fixture(count):
    """The kernel of fixture_a.ptx, whose records are known for each count of its loop."""

    def prepare(cuda):
        out = cuda.zeros(16)
        return Launch((1, 1, 1), (128, 1, 1), _pointers(out) + _numbers(count) + _pointers(0, 0, 0), [(out, 4)])

    return prepare


ENTRIES = [
    Entry("triton_add", "add_kernel", _add),
    Entry("triton_matmul", "matmul_kernel", _matmul, long=True),
    Entry("triton_layernorm", "layernorm_kernel", _layernorm, long=True),
    Entry("nvcc_k", "reduce", _reduce),
    Entry("nvcc_k", "transpose", _transpose),
    Entry("nvcc_k", "spin", _spin),
    Entry("nvcc_k", "gtres", _gtres),
    Entry("nvcc_k", "empty", _empty),
    Entry("fixture_a", "k", fixture(3)),
]


def find(kernel):
    return next(entry for entry in ENTRIES if entry.kernel == kernel)
