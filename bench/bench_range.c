/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_range [ROUNDS]: what a named range costs its thread.
 *
 * A push with its pop beside two bare clock reads, in turns: how many ns it is more, and how many
 * times them (5 ns were asked for where two reads take 20.7, so 0.24 times them anywhere). The same
 * without a session, beside an empty loop. By CPU time of the thread, so that others who use the
 * machine do not count; medians of many short rounds, one behind the other: then the chunks are
 * there, and their writer is awake. The mean has those in which memory has to be found, as a thread
 * that does nothing else makes more than a GB of rows a second. A million a second come last: each
 * chunk wakes the writer then, and had been written out by it.
 */
#include "bench.h"
#include "rbwp_range.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 1000, ROUNDS_MAX = 20000, PAUSE_NS = 1000000 };
#define TARGET_NS 5.0
#define TARGET_TIMES 0.24 /* two reads */

static volatile uint64_t last;

/* Functions of their own: so what a loop takes does not depend on what stands around it. */

static __attribute__((noinline)) double reads_ns(void)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 2 * PAIRS; i++)
        last = rbwp_now_ticks();
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / PAIRS;
}

static __attribute__((noinline)) double ranges_ns(uint64_t name)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < PAIRS; i++) {
        rbwp_range_push(name, i);
        rbwp_range_pop();
    }
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / PAIRS;
}

static __attribute__((noinline)) double nothing_ns(void)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < PAIRS; i++)
        last = i;
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / PAIRS;
}

static __attribute__((noinline)) double off_ns(uint64_t name)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < PAIRS; i++) {
        rbwp_range_push(name, i);
        last = i;
        rbwp_range_pop();
    }
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / PAIRS;
}

static double reads[ROUNDS_MAX], times[ROUNDS_MAX], more[ROUNDS_MAX], off[ROUNDS_MAX];

static struct rbwp_session_summary measure(uint64_t name, long rounds, long pause_ns)
{
    const struct timespec pause = {0, pause_ns};
    struct rbwp_session *session = start_session(1);
    for (long i = 0; i < rounds; i++) {
        if (pause_ns)
            nanosleep(&pause, NULL);
        reads[i] = reads_ns();
        more[i] = ranges_ns(name) - reads[i];
        times[i] = more[i] / reads[i];
    }
    return stop_session(session);
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    require(rounds > 0 && rounds <= ROUNDS_MAX, "1 to 20000 rounds");
    uint64_t name = rbwp_range_name("a range");
    for (long i = 0; i < rounds; i++)
        off[i] = off_ns(name) - nothing_ns();
    struct rbwp_session_summary summary = measure(name, rounds, 0);
    size_t count = (size_t)rounds;
    printf("two bare clock reads    %6.1f ns\n", median(reads, count));
    figure_at_most("a range, more than two clock reads", median(more, count), "ns", TARGET_NS);
    figure_at_most("a range, more than two clock reads, beside them", median(times, count), "x",
                   TARGET_TIMES);
    figure("a range, more than two clock reads, in the mean", mean(more, count), "ns");
    printf("the same, no session    %6.2f ns\n", median(off, count));
    printf("in the file             %6.1f bytes a range\n",
           (double)summary.bytes / (double)rounds / PAIRS);
    (void)measure(name, rounds, PAUSE_NS);
    figure("a range, a million a second, more than two clock reads", median(more, count), "ns");
    return 0;
}
