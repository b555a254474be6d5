/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that is long awake before it waits by a system call that nobody wraps: reads that take
 * long and do not block, then the wait. Prints how long it waited, and what it ran in all, in ns.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 8 << 20, READS = 200 };

static long ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void wait_unseen(const struct timespec *limit)
{
    static int word;
#ifdef __x86_64__
    long result;
    register const struct timespec *timeout __asm__("r10") = limit;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_futex), "D"(&word), "S"(FUTEX_WAIT), "d"(0), "r"(timeout)
                     : "rcx", "r11", "memory");
#else
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, limit);
#endif
}

int main(void)
{
    char *bytes = malloc(BYTES);
    const int zero = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < READS; i++)
        if (read(zero, bytes, BYTES) != BYTES)
            return 1;
    const long since = ns_of(CLOCK_MONOTONIC);
    wait_unseen(&(struct timespec){0, 60000000});
    const long waited = ns_of(CLOCK_MONOTONIC) - since;
    free(bytes);
    printf("%ld %ld\n", waited, ns_of(CLOCK_THREAD_CPUTIME_ID));
    return 0;
}
