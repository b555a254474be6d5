/* SPDX-License-Identifier: Apache-2.0 */
#include "wakeup.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the call takes it, whatever the C library makes of struct timespec on 32 bits. */
struct kernel_timespec {
    long seconds, ns;
};

void wakeup_call(struct wakeup *wakeup)
{
    int host_errno = errno;
    if (atomic_exchange_explicit(&wakeup->called, 1, memory_order_release) == 0)
        syscall(SYS_futex, &wakeup->called, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = host_errno;
}

static bool was_called(struct wakeup *wakeup)
{
    return atomic_exchange_explicit(&wakeup->called, 0, memory_order_acquire) != 0;
}

bool wakeup_wait(struct wakeup *wakeup, int64_t ns)
{
    const struct kernel_timespec most = {(long)(ns / 1000000000), (long)(ns % 1000000000)};
    if (was_called(wakeup))
        return true;
    long result = syscall(SYS_futex, &wakeup->called, FUTEX_WAIT_PRIVATE, 0, &most, NULL, 0);
    bool over = result != 0 && errno == ETIMEDOUT;
    return was_called(wakeup) || !over;
}
