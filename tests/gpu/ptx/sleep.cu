/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each warp of a block takes one of three branches and sleeps there for a stated time. All that a branch
 * consists of is one source line (hence macros: what is inlined has lines of its own), so the time of
 * that line is what h200_ptx.py reads here: the number behind SLEEP.
 */
#define READ_NS(ns) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns))
#define NANOSLEEP(ns) asm volatile("nanosleep.u32 %0;" ::"r"(ns))

/* A sleep takes up to twice what it is told, so half of what is left. */
#define SLEEP(ns)                                                                                                      \
    for (long long now, left = ns; left > 0; left = begin + (ns)-now) {                                                \
        NANOSLEEP(left > 200 ? (unsigned)left / 2 : 20);                                                               \
        READ_NS(now);                                                                                                  \
    }

extern "C" __global__ void branches(long long *out_ns)
{
    unsigned warp = threadIdx.x / 32;
    long long begin, end;
    READ_NS(begin);
    if (warp == 0)
        SLEEP(40000)
    else if (warp == 1)
        SLEEP(100000)
    else
        SLEEP(250000)
    READ_NS(end);
    out_ns[blockIdx.x * blockDim.x + threadIdx.x] = end - begin;
}
