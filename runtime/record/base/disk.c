/* SPDX-License-Identifier: Apache-2.0 */
#include "in_process.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

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

/* ---- a limit on the size of files ------------------------------------------------------------ */

static bool is_pending(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGXFSZ) == 1;
}

void size_signal_hold(struct size_signal *state)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGXFSZ);
    state->was_pending = is_pending(); /* somebody else's: not ours to take */
    pthread_sigmask(SIG_BLOCK, &mask, &state->old_mask);
}

void size_signal_release(const struct size_signal *state)
{
    static const struct timespec at_once = {0, 0};
    int host_errno = errno;
    if (!state->was_pending && is_pending()) {
        sigset_t mask;
        sigemptyset(&mask);
        sigaddset(&mask, SIGXFSZ);
        sigtimedwait(&mask, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &state->old_mask, NULL);
    errno = host_errno;
}
