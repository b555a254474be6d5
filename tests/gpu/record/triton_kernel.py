# SPDX-License-Identifier: Apache-2.0
"""A kernel in a file of its own, as Triton reads its source."""
import triton
import triton.language as tl


@triton.jit
def double(x, out, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < size), mask=at < size)
