/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_gpu.c - what brackets cost on a real device.
 *
 *     bench_gpu API [ROUNDS [DRIVER_LIBRARY [COMPILER_LIBRARY]]]
 *
 * Prints three things: the host's time per bracket beside that of its two event records, the
 * throughput of bracketed empty launches beside bare ones, and whether many kernels on four streams
 * have one record each. (How true their times are says bench_gpu_times.) Ratios and differences
 * within one run count; the rest depends on the machine.
 */
#include "bench_gpu.h"
#include "rbwp_record.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_DEFAULT 15u
#define LAUNCHES 200000u
#define LAUNCHES_EACH 100000u

/* ---- throughput ------------------------------------------------------------------- */

static double launches_per_second(struct bench *b, unsigned count, bool bracketed)
{
    double begin = clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < count; i++) {
        struct rbwp_gpu_bracket bracket;
        if (bracketed)
            rbwp_gpu_bracket_begin(&bracket, b->stream[0], 1);
        launch_empty(b, 0);
        if (bracketed)
            rbwp_gpu_bracket_end(&bracket);
    }
    check(b, b->backend->stream_wait(b->context, b->native[0]), "wait");
    double rate = count / (clock_ns(CLOCK_MONOTONIC) - begin) * 1e9;
    rbwp_work_drain(b->manager);
    return rate;
}

static void throughput(struct bench *b)
{
    double bare[3], bracketed[3], ratio[3];
    unsigned count = b->facts.on_cpu ? LAUNCHES / 20 : LAUNCHES;
    struct rbwp_session *session = start_session(1);
    for (unsigned round = 0; round < 3; round++) {
        bare[round] = launches_per_second(b, count, false);
        bracketed[round] = launches_per_second(b, count, true);
        ratio[round] = bracketed[round] / bare[round];
    }
    struct rbwp_session_summary summary = stop_session(session);
    printf("throughput, %u empty launches: bare %.0f/s, bracketed %.0f/s: %.1f %% (at least 85), "
           "lost %llu\n",
           count, median(bare, 3), median(bracketed, 3), 100 * median(ratio, 3),
           (unsigned long long)summary.lost_records);
}

/* ---- four streams ------------------------------------------------------------------------------
 */

struct launcher {
    pthread_t thread;
    struct bench *b;
    unsigned stream, count;
};

static void *launch_many(void *argument)
{
    struct launcher *launcher = argument;
    struct bench *b = launcher->b;
    struct gpu_attached saved;
    require(rbwp_thread_attach("launcher") == RBWP_OK, "attach");
    check(b, b->backend->attach(b->context, &saved), "attach");
    for (unsigned i = 0; i < launcher->count; i++) {
        struct rbwp_gpu_bracket bracket;
        rbwp_gpu_bracket_begin(&bracket, b->stream[launcher->stream], launcher->stream);
        launch_empty(b, launcher->stream);
        rbwp_gpu_bracket_end(&bracket);
    }
    b->backend->detach(b->context, &saved);
    (void)rbwp_thread_detach();
    return NULL;
}

struct counts {
    uint64_t of_slot[256], negative;
};

static void count_work(void *context, const struct rbwp_record *record)
{
    struct counts *counts = context;
    counts->of_slot[record->slot]++;
    counts->negative += record->stop_ns < record->start_ns;
}

static void four_streams(struct bench *b)
{
    struct launcher launcher[STREAMS];
    struct counts counts = {{0}, 0};
    unsigned count = b->facts.on_cpu ? LAUNCHES_EACH / 50 : LAUNCHES_EACH;
    struct rbwp_session *session = start_session(1);
    for (unsigned i = 0; i < STREAMS; i++) {
        launcher[i] = (struct launcher){.b = b, .stream = i, .count = count};
        require(pthread_create(&launcher[i].thread, NULL, launch_many, &launcher[i]) == 0,
                "thread");
    }
    for (unsigned i = 0; i < STREAMS; i++)
        pthread_join(launcher[i].thread, NULL);
    for (unsigned i = 0; i < STREAMS; i++)
        wait_for(b, i);
    struct rbwp_session_summary summary = stop_session(session);
    each_work(count_work, &counts);
    bool good = counts.negative == 0 && summary.lost_records == 0;
    printf("streams: %u kernels each, records", count);
    for (unsigned i = 0; i < STREAMS; i++) {
        printf(" %llu", (unsigned long long)counts.of_slot[i]);
        good &= counts.of_slot[i] == count;
    }
    printf(", negative %llu, lost %llu: %s\n", (unsigned long long)counts.negative,
           (unsigned long long)summary.lost_records, good ? "good" : "WRONG");
}

int main(int argc, char **argv)
{
    struct bench b = {.rounds = ROUNDS_DEFAULT};
    enum rbwp_gpu_api api =
        api_of(argv[1], "bench_gpu cuda|hip|opencl [ROUNDS [DRIVER [COMPILER]]]");
    if (argc > 2 && atoi(argv[2]) > 0)
        b.rounds = (unsigned)atoi(argv[2]) < ROUNDS_MAX ? (unsigned)atoi(argv[2]) : ROUNDS_MAX;
    char *none[] = {NULL, NULL};
    open_bench(&b, api, argc > 3 ? argv + 3 : none);
    (void)host_cost(&b);
    throughput(&b);
    four_streams(&b);
    close_bench(&b);
    return 0;
}
