/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libuv_pool - a program with libuv that knows nothing of RBWP: it asks for the state of a file and
 * has a computation made, each COUNT times, 100 at a time, and prints how many were done by the
 * pool and how many had been cancelled. "kill": itself, when half of the computations have begun.
 *
 *     libuv_pool COUNT [kill]
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum { AT_A_TIME = 100 };
static _Atomic long begun;
static long stated, cancelled, kill_at;

static void compute(uv_work_t *work)
{
    (void)work;
    if (++begun == kill_at) {
        char text[32];
        const int bytes = snprintf(text, sizeof text, "%ld\n", kill_at);
        (void)!write(1, text, (size_t)bytes);
        kill(getpid(), SIGKILL);
    }
}

static void computed(uv_work_t *work, int status)
{
    cancelled += status == UV_ECANCELED;
    free(work);
}

static void stat_done(uv_fs_t *file)
{
    stated += file->result == 0;
    uv_fs_req_cleanup(file);
    free(file);
}

int main(int argc, char **argv)
{
    const long count = argc > 1 ? atol(argv[1]) : 1000;
    kill_at = argc > 2 ? count / 2 : -1;
    for (long i = 0; i < count; i++) {
        uv_work_t *work = malloc(sizeof *work);
        uv_fs_t *file = malloc(sizeof *file);
        uv_queue_work(uv_default_loop(), work, compute, computed);
        uv_fs_stat(uv_default_loop(), file, "/", stat_done);
        if (i % 10 == 0)
            uv_cancel((uv_req_t *)work);
        if (i % AT_A_TIME == AT_A_TIME - 1)
            uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    printf("%ld %ld %ld\n", begun, stated, cancelled);
    return 0;
}
