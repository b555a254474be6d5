/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: nanosleep leaves the word of the rseq area as it was, as on a kernel that does not
 * clear it behind a system call. With LATE set, the thread loses its CPU once on the way to the
 * first such wait, which clears the word.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern const ptrdiff_t __rseq_offset __attribute__((weak));

static atomic_bool spins;

static void *rival_spin(void *unused)
{
    while (atomic_load(&spins))
        ;
    return unused;
}

static long times_preempted(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

/* Shares its CPU with a thread that spins, until it was taken from it. */
static void lose_the_cpu(void)
{
    const long before = times_preempted();
    cpu_set_t all, one;
    pthread_t rival;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    atomic_store(&spins, true);
    if (pthread_create(&rival, NULL, rival_spin, NULL) != 0)
        abort();
    while (times_preempted() == before)
        ;
    atomic_store(&spins, false);
    pthread_join(rival, NULL);
    sched_setaffinity(0, sizeof all, &all);
}

__attribute__((visibility("default"))) int nanosleep(const struct timespec *wanted,
                                                     struct timespec *left)
{
    char *thread_pointer;
    if (!&__rseq_offset)
        return (int)syscall(SYS_nanosleep, wanted, left);
    static atomic_bool lost;
    if (getenv("LATE") && !atomic_exchange(&lost, true))
        lose_the_cpu();
#ifdef __x86_64__
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
#else
    __asm__("mrs %0, tpidr_el0" : "=r"(thread_pointer));
#endif
    volatile uint64_t *word = (volatile uint64_t *)(thread_pointer + __rseq_offset + 8);
    const uint64_t before = *word;
    const int result = (int)syscall(SYS_nanosleep, wanted, left);
    *word = before;
    return result;
}
