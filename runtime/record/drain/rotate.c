/* SPDX-License-Identifier: Apache-2.0 */
#include "rotate.h"

#include "clock.h"
#include "failure.h"
#include "helper_thread.h"
#include "session_config.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#define RETRY_NS INT64_C(10000000000) /* a file that could not be written is tried again then */

static dump_fn *_Atomic dumper; /* NULL before the first session */
static atomic_bool active;
static uint64_t part_bytes; /* these are set while it is not */
static int64_t part_ns;
static pthread_t thread;
static sem_t due;

static _Atomic int64_t begin_ns, retry_ns; /* of the part; CLOCK_MONOTONIC */
static atomic_bool posted, stopping;

static enum rbwp_status rotate_cut(bool while_it_ends, char *path_out, struct rbwp_error *error)
{
    const struct dump_wish wish = {
        .cut = true, .while_it_ends = while_it_ends, .why = RBWP_KEPT_ROTATED};
    int64_t now_ns = clock_now_ns(0);
    dump_fn *dump = dumper;
    if (!dump)
        return failure(error, RBWP_E_STATE, 0, "no profiling session is in progress");
    enum rbwp_status status = dump(&wish, path_out, error);
    if (status == RBWP_OK)
        atomic_store(&begin_ns, now_ns);
    atomic_store(&retry_ns, status == RBWP_OK ? 0 : now_ns + RETRY_NS);
    return status;
}

static void *cut_when_due(void *argument)
{
    char path[DUMP_PATH_BYTES_MAX];
    (void)argument;
    for (;;) {
        while (sem_wait(&due) != 0 && errno == EINTR)
            ;
        if (atomic_load(&stopping))
            return NULL;
        (void)rotate_cut(true, path,
                         NULL); /* what could not be written is in the ring, for the next one */
        atomic_store(&posted, false);
    }
}

static void post(void)
{
    if (!atomic_exchange(&posted, true))
        sem_post(&due);
}

void rotate_look(uint64_t bytes)
{
    if (!atomic_load(&active) || bytes == 0)
        return;
    int64_t now_ns = clock_now_ns(0);
    bool is_large = bytes >= part_bytes,
         is_old = part_ns && now_ns - atomic_load(&begin_ns) >= part_ns;
    if ((is_large || is_old) && now_ns >= atomic_load(&retry_ns))
        post();
}

bool rotate_hurry(void)
{
    if (!atomic_load(&active) || atomic_load(&retry_ns))
        return false;
    post();
    return true;
}

enum rbwp_status rotate_now(char *path_out, struct rbwp_error *error)
{
    return rotate_cut(false, path_out, error);
}

void rotate_begin_session(const struct session_settings *settings, dump_fn *dump)
{
    dumper = dump;
    if (!settings->rotate_bytes)
        return;
    part_bytes = settings->rotate_bytes;
    part_ns = settings->rotate_ns;
    atomic_store(&begin_ns, clock_now_ns(0));
    atomic_store(&retry_ns, 0);
    atomic_store(&posted, false);
    atomic_store(&stopping, false);
    sem_init(&due, 0, 0);
    atomic_store(&active, helper_thread_start(&thread, "rbwp-rotate", cut_when_due, NULL) == 0);
}

void rotate_end_session(void)
{
    if (!atomic_exchange(&active, false))
        return;
    atomic_store(&stopping, true);
    sem_post(&due);
    pthread_join(thread, NULL);
    sem_destroy(&due);
}

void rotate_after_fork(void)
{
    atomic_store(&active, false);
}
