/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_args [ROUNDS]: what an argument and a counter's value cost.
 *
 * A begin and its end with one argument, with four, and with a text, beside one without, in turns;
 * and a counter's value beside the clock read that it makes. 12 ns were asked for where two reads
 * take 20.7, so 0.58 times them are asked for anywhere. By CPU time of the thread, so that others
 * who use the machine do not count; medians of many short rounds.
 */
#include "bench.h"
#include "rbwp_args.h"
#include "rbwp_counter.h"

#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 1000, ROUNDS_MAX = 20000 };
#define TARGET_NS 12.0
#define TARGET_TIMES 0.58 /* two reads */

static volatile uint64_t last;
static unsigned slot, counter;
static uint64_t bytes_key, file_key;

enum what { NOTHING, ONE, FOUR, TEXT, KINDS };

static inline void argue(enum what what, uint64_t i)
{
    for (unsigned j = 0; j < (what == ONE ? 1u : what == FOUR ? 4u : 0u); j++)
        rbwp_arg_u64(bytes_key, i + j);
    if (what == TEXT)
        rbwp_arg_text(file_key, "000123.ldb");
}

static inline double calls_ns(enum what what)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < CALLS; i++) {
        rbwp_begin(slot);
        argue(what, i);
        rbwp_end();
    }
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / CALLS;
}

static double counter_ns(void)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int64_t i = 0; i < CALLS; i++)
        rbwp_counter(counter, i);
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / CALLS;
}

static double read_ns(void)
{
    double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < CALLS; i++)
        last = rbwp_now_ticks();
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / CALLS;
}

int main(int argc, char **argv)
{
    static double more[KINDS][ROUNDS_MAX], times[KINDS][ROUNDS_MAX], counted[ROUNDS_MAX];
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    require(rounds > 0 && rounds <= ROUNDS_MAX, "1 to 20000 rounds");
    require(rbwp_work_item_register("a job", &slot) == RBWP_OK, "register");
    require(rbwp_counter_register("depth", "jobs", &counter) == RBWP_OK, "register");
    require(rbwp_thread_attach("bench") == RBWP_OK, "attach");
    bytes_key = rbwp_arg_key("bytes");
    file_key = rbwp_arg_key("file");
    struct rbwp_session *session = start_session(2);
    for (long i = 0; i < rounds; i++) {
        double plain_ns = calls_ns(NOTHING);
        more[ONE][i] = calls_ns(ONE) - plain_ns;
        more[FOUR][i] = (calls_ns(FOUR) - plain_ns) / 4;
        more[TEXT][i] = calls_ns(TEXT) - plain_ns;
        double read = read_ns();
        counted[i] = counter_ns() - read;
        times[ONE][i] = more[ONE][i] / (2 * read);
        times[TEXT][i] = more[TEXT][i] / (2 * read);
    }
    struct rbwp_session_summary summary = stop_session(session);
    size_t count = (size_t)rounds;
    figure_at_most("an argument", median(more[ONE], count), "ns", TARGET_NS);
    printf("an argument, one of four     %6.1f ns more\n", median(more[FOUR], count));
    figure_at_most("an argument, a text of 10 bytes", median(more[TEXT], count), "ns", TARGET_NS);
    figure_at_most("an argument, beside two bare reads", median(times[ONE], count), "x",
                   TARGET_TIMES);
    figure_at_most("an argument, a text of 10 bytes, beside two bare reads",
                   median(times[TEXT], count), "x", TARGET_TIMES);
    printf("a counter's value            %6.1f ns more than a clock read\n",
           median(counted, count));
    printf("in the file                  %6.1f bytes of 4 calls, 5 arguments, a text and a value\n",
           (double)summary.bytes / (double)rounds / CALLS);
    return 0;
}
