/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_turn.h - whose turn it is on a stream: a lock for the few instructions of a bracket's begin
 * and end.
 *
 * Nearly always one thread launches on a stream, and what it pays for the lock it pays twice a
 * bracket. A mutex takes two atomic exchanges, one of them to learn whether somebody waits; this
 * takes one, and gives the turn back with a plain store. Who waits must look for that: a while at
 * once, then between naps, since the driver may hold a turn for milliseconds where its queue is
 * full.
 */
#ifndef RBWP_GPU_TURN_H
#define RBWP_GPU_TURN_H

#include <stdatomic.h>
#include <stdbool.h>

struct gpu_turn {
    _Atomic bool taken; /* zeroed: nobody's */
};

/* Waits until it is free. For gpu_turn_take alone. */
void gpu_turn_wait(struct gpu_turn *turn);

static inline void gpu_turn_take(struct gpu_turn *turn)
{
    while (atomic_exchange_explicit(&turn->taken, true, memory_order_acquire))
        gpu_turn_wait(turn);
}

static inline void gpu_turn_give(struct gpu_turn *turn)
{
    atomic_store_explicit(&turn->taken, false, memory_order_release);
}

#endif /* RBWP_GPU_TURN_H */
