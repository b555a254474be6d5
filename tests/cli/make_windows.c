/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp-make-windows FILE ROUNDS [DUMPS [FLAG...]]: records what makes time windows hard, and writes
 * a dump, FILE.dump-N, in the middle of every DUMPS-th round. Threads with short calls; with
 * sub-items in sub-items, some of which nobody ends; with calls inside of sub-items; one with a
 * call as long as all; one that begins late and one that detaches, both with something open; GPU
 * work that ends long after its launch, or has no call before it; ranges, a counter and arguments
 * of calls; calls that did no work. Prints the first and the last time.
 */
#include "rbwp_args.h"
#include "rbwp_counter.h"
#include "rbwp_range.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 6, GPU = 5 };

static unsigned quick, deep, whole, sub_item, counter;
static uint64_t key, range_name;
static pthread_barrier_t turn;

static void call(unsigned slot, unsigned subs, bool unended)
{
    rbwp_begin(slot);
    for (unsigned i = 0; i < subs; i++) {
        rbwp_fine_begin(sub_item);
        rbwp_fine_begin(sub_item + 1);
        rbwp_fine_end();
        if (!unended)
            rbwp_fine_end();
    }
    rbwp_end();
}

static void short_calls(unsigned round)
{
    for (int i = 0; i < 1000; i++) {
        rbwp_begin(quick);
        rbwp_set_worked(i % 3 != 0);
        rbwp_end();
    }
    rbwp_begin(quick);
    rbwp_arg_u64(key, round);
    int64_t now_ns = rbwp_now_ns();
    rbwp_end();
    if (round % 4 == 0)
        rbwp_gpu_work(GPU, quick, now_ns - 100000, now_ns + 1000);
    if (round % 4 == 2 && round < 16) /* nobody launched it */
        rbwp_gpu_work(GPU + 1, whole + 1, now_ns - 1000, now_ns + 1000);
    rbwp_counter(counter, round);
}

/* What goes on from round to round is begun in one and ended in another. */
static void one_round(int thread, unsigned round)
{
    switch (thread) {
    case 0:
        short_calls(round);
        break;
    case 1:
        for (int i = 0; i < 100; i++)
            call(deep, 1 + round % 5, round % 2);
        break;
    case 2:
        if (round % 7 == 0)
            rbwp_fine_begin(sub_item + 2);
        call(deep, 10, false);
        if (round % 7 == 5)
            rbwp_fine_end();
        break;
    case 3:
        if (round == 0)
            rbwp_begin(whole);
        for (int i = 0; i < 300; i++) {
            rbwp_fine_begin(sub_item);
            rbwp_fine_end();
        }
        break;
    case 4:
        rbwp_range_push(range_name, round);
        if (round % 5 == 0)
            call(quick, 3, false);
        rbwp_range_pop();
        break;
    default:
        call(quick, round % 2, false);
    }
}

static void *work(void *context)
{
    const unsigned *rounds = context;
    static int threads;
    int thread = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    bool late = thread == 5;
    if (!late && rbwp_thread_attach(NULL) != RBWP_OK)
        abort();
    for (unsigned round = 0; round < *rounds; round++) {
        pthread_barrier_wait(&turn);
        if (late && round == *rounds / 2 && rbwp_thread_attach("late") != RBWP_OK)
            abort();
        if (!late || round >= *rounds / 2)
            one_round(thread, round);
        if (late && round == *rounds / 2 + 3)
            rbwp_begin(whole);
    }
    if (thread == 2)
        rbwp_begin(deep);
    if (thread == 2)
        (void)rbwp_thread_detach();
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn); /* the session has ended: what was open is open */
    return NULL;
}

static void prepare(void)
{
    if (rbwp_work_item_register("quick", &quick) != RBWP_OK ||
        rbwp_work_item_register("deep", &deep) != RBWP_OK ||
        rbwp_work_item_register("whole", &whole) != RBWP_OK ||
        rbwp_sub_item_register(RBWP_AM_HANDLER, "outer", &sub_item) != RBWP_OK ||
        rbwp_sub_item_register(RBWP_AM_HANDLER, "inner", &(unsigned){0}) != RBWP_OK ||
        rbwp_sub_item_register(RBWP_AM_HANDLER, "around calls", &(unsigned){0}) != RBWP_OK ||
        rbwp_counter_register("rounds", "", &counter) != RBWP_OK)
        abort();
    key = rbwp_arg_key("round");
    range_name = rbwp_range_name("range");
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_session *session;
    pthread_t threads[THREADS];
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    rbwp_session_defaults(&config);
    config.logfile = argv[1];
    config.level = 2;
    config.stored = true;
    config.block_bytes = 4096;
    config.cap_bytes = 400 << 10; /* and chunks are small */
    unsigned dumps = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    argc -= argc > 3 ? 3 : argc - 1;
    if (argc > 1 && rbwp_session_parse(&config, &argc, argv + 3, NULL) != RBWP_OK)
        return 1;
    prepare();
    if (rounds == 0 || pthread_barrier_init(&turn, NULL, THREADS + 1) != 0 ||
        rbwp_session_start(&config, &session, NULL) != RBWP_OK)
        return 1;
    int64_t first_ns = rbwp_now_ns();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &rounds) != 0)
            return 1;
    for (unsigned i = 0; i <= rounds; i++) {
        pthread_barrier_wait(&turn);
        if (dumps && i % dumps == dumps - 1 && rbwp_session_dump(session, NULL, 0, NULL) != RBWP_OK)
            return 1;
    }
    int64_t last_ns = rbwp_now_ns();
    if (rbwp_session_stop(session, NULL) != RBWP_OK)
        return 1;
    pthread_barrier_wait(&turn);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%" PRId64 " %" PRId64 "\n", first_ns, last_ns);
    return 0;
}
