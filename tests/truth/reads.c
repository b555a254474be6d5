/* SPDX-License-Identifier: Apache-2.0 */
/* reads [late] - one thread that is long awake before it waits by a system call that nobody wraps:
 * reads that take long and do not block, then the wait. late: it computes, and then reads what does
 * not block, or for 9 ms what does. Prints how long it waited, and what it ran in all, in ns.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* A read is taken for one that does not wait if the last one did not, so the end of what was
 * computed before is recorded behind the wait. */
static void compute_and_read(int zero)
{
    char byte;
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    for (int round = 0; round < 10; round++) {
        if (read(zero, &byte, 1) != 1)
            abort();
        for (const long end = ns_of(CLOCK_THREAD_CPUTIME_ID) + 60000000;
             ns_of(CLOCK_THREAD_CPUTIME_ID) < end;)
            ;
        if (fork() == 0) {
            usleep(9000);
            _exit(write(ends[1], "x", 1) != 1);
        }
        if (read(ends[0], &byte, 1) != 1 || wait(NULL) < 0)
            abort();
    }
    printf("0 %ld\n", ns_of(CLOCK_THREAD_CPUTIME_ID));
    exit(0);
}

int main(int argc, char **argv)
{
    (void)argv;
    char *bytes = malloc(BYTES);
    const int zero = open("/dev/zero", O_RDONLY);
    if (argc > 1)
        compute_and_read(zero);
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
