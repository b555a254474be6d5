/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <stdatomic.h>

#define STALL_NS_MIN 1000000000 /* a slow disk, on a busy machine */

static _Atomic uint64_t begun, ended;

void disk_call_begin(void)
{
    atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);
}

void disk_call_end(void)
{
    atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
}

void disk_after_fork(void)
{
    atomic_store_explicit(&begun, atomic_load_explicit(&ended, memory_order_relaxed),
                          memory_order_relaxed);
}

bool disk_stands_still(struct disk_watch *watch, int64_t stall_ns)
{
    const uint64_t now_ended = atomic_load_explicit(&ended, memory_order_relaxed);
    const bool waits = atomic_load_explicit(&begun, memory_order_relaxed) != now_ended;
    watch->still_ns = waits && now_ended == watch->ended ? watch->still_ns + DISK_LOOK_NS : 0;
    watch->ended = now_ended;
    return watch->still_ns >= (stall_ns < STALL_NS_MIN ? STALL_NS_MIN : stall_ns);
}
