/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libuv.c - a program as libuv's pool has many: a file's state is asked for every millisecond, and
 * now and then there are six computations of some 20 ms. libuv [SECONDS].
 */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { COMPUTATIONS = 6, STEPS = 12000000 };

static uv_timer_t tick;
static unsigned ticks, ticks_max;

static void compute(uv_work_t *work)
{
    volatile unsigned x = 1;
    for (unsigned i = 0; i < STEPS; i++)
        x = x * 1664525u + 1013904223u;
    (void)work;
}

static void computed(uv_work_t *work, int status)
{
    (void)status;
    free(work);
}

static void stat_done(uv_fs_t *stat)
{
    uv_fs_req_cleanup(stat);
    free(stat);
}

static void on_tick(uv_timer_t *timer)
{
    uv_fs_t *stat = malloc(sizeof *stat);
    if (!stat || uv_fs_stat(timer->loop, stat, ".", stat_done) != 0)
        exit(1);
    for (unsigned i = 0; ticks % 100 == 99 && i < COMPUTATIONS; i++) {
        uv_work_t *work = malloc(sizeof *work);
        if (!work || uv_queue_work(timer->loop, work, compute, computed) != 0)
            exit(1);
    }
    if (++ticks == ticks_max)
        uv_timer_stop(timer);
}

int main(int argc, char **argv)
{
    ticks_max = 1000 * (argc > 1 ? (unsigned)atoi(argv[1]) : 3);
    uv_timer_init(uv_default_loop(), &tick);
    uv_timer_start(&tick, on_tick, 1, 1);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
