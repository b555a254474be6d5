/* SPDX-License-Identifier: Apache-2.0 */
#include "size_signal.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

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
