/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_queue [ROUNDS]: what it costs to record the queueing delay.
 *
 * Handing over and a begin with that ticket beside a begin without, in turns, each with its end:
 * how many ns it is more, and how many times two clock reads (it makes one more). 15 ns were asked
 * for where two reads take 20.7, so 0.72 times them are asked for anywhere. By CPU time of the
 * thread, so that others who use the machine do not count; medians of many short rounds.
 */
#include "bench.h"
#include "rbwp_queue.h"

#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 1000, ROUNDS_MAX = 20000 };
#define TARGET_NS 15.0
#define TARGET_TIMES 0.72 /* two reads */

static volatile uint64_t last;
static unsigned slot;

/* Functions of their own: so what a loop takes does not depend on what stands around it. */

static __attribute__((noinline)) double read_ns(void)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < CALLS; i++)
        last = rbwp_now_ticks();
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / CALLS;
}

static __attribute__((noinline)) double calls_ns(void)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < CALLS; i++) {
        rbwp_begin(slot);
        rbwp_end();
    }
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / CALLS;
}

static __attribute__((noinline)) double queued_ns(void)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < CALLS; i++) {
        struct rbwp_ticket ticket;
        rbwp_enqueue(slot, &ticket);
        rbwp_begin_with(slot, ticket);
        rbwp_end();
    }
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / CALLS;
}

int main(int argc, char **argv)
{
    static double reads[ROUNDS_MAX], calls[ROUNDS_MAX], more[ROUNDS_MAX], times[ROUNDS_MAX];
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    require(rounds > 0 && rounds <= ROUNDS_MAX, "1 to 20000 rounds");
    require(rbwp_work_item_register("a job", &slot) == RBWP_OK, "register");
    require(rbwp_thread_attach("bench") == RBWP_OK, "attach");
    struct rbwp_session *session = start_session(1);
    for (long i = 0; i < rounds; i++) {
        calls[i] = calls_ns();
        more[i] = queued_ns() - calls[i];
        reads[i] = read_ns();
        times[i] = more[i] / (2 * reads[i]);
    }
    struct rbwp_session_summary summary = stop_session(session);
    size_t count = (size_t)rounds;
    double ns = median(more, count), read = median(reads, count);
    printf("a bare clock read            %6.1f ns\n", read);
    printf("a begin and its end          %6.1f ns\n", median(calls, count));
    figure_at_most("enqueue and begin_with, more than begin", ns, "ns", TARGET_NS);
    figure_at_most("enqueue and begin_with, more than begin, beside two bare reads",
                   median(times, count), "x", TARGET_TIMES);
    figure("enqueue and begin_with, more than begin and a bare read", ns - read, "ns");
    printf("in the file                  %6.1f bytes of two calls, one of them with a ticket\n",
           (double)summary.bytes / (double)rounds / CALLS);
    return 0;
}
