/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain MODE with|without FOLDER - as faults.c, of a program that does not record itself: its
 * threads run for a while and wait for a while, and some of these times are long.
 */
#include "measure.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORKERS_MAX 4
#define RUN_NS (700 * MS)
#define CALLS_LEAST 120 /* a run is longer on a machine that has no CPU for it */
#define CALL_NS (MS / 10)
#define PERIOD_NS (150 * MS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static int64_t began_ns;

static bool is_over(unsigned calls)
{
    const int64_t run_ns = now_ns() - began_ns;
    return run_ns >= RUN_NS && (calls > CALLS_LEAST || run_ns >= 3 * RUN_NS);
}

static bool is_slow(unsigned number, unsigned of)
{
    return with_fault && number % of == of / 2;
}

static pthread_t start(const char *name, void *(*run)(void *), void *argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, argument);
    pthread_setname_np(thread, name);
    return thread;
}

/* ---- workers ------------------------------------------------------------------------------------
 */

typedef void (*work_fn)(unsigned number);
static int64_t pause_ns;

static void *work_loop(void *work)
{
    for (unsigned number = 1; !is_over(number); number++) {
        const struct begun begun = measure_begin();
        (*(work_fn *)work)(number);
        measure_end(begun, begun.since_ns);
        sleep_ns(pause_ns);
    }
    return NULL;
}

static void run_workers(unsigned count, work_fn work, int64_t pause, const char *name,
                        void *(*beside)(void *))
{
    pthread_t threads[WORKERS_MAX + 1];
    pause_ns = pause;
    began_ns = now_ns();
    for (unsigned i = 0; i < count; i++)
        threads[i] = start("worker", work_loop, &work);
    if (beside)
        threads[count++] = start(name, beside, NULL);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* ---- run intervals --------------------------------------------------------------------------- */

static void spin_rarely(unsigned number)
{
    spin_cpu_ns(is_slow(number, 120) ? 60 * MS : CALL_NS);
}

static void rare(void)
{
    run_workers(1, spin_rarely, MS, NULL, NULL);
}

#define HOGS 12
static sem_t never;

/* By a wait of another kind than the workers' own. */
static void wait_until(int64_t at_ns)
{
    const struct timespec at = {at_ns / 1000000000, at_ns % 1000000000};
    while (sem_clockwait(&never, CLOCK_MONOTONIC, &at) != 0 && errno == EINTR)
        ;
}

static void *hog(void *unused)
{
    static const int64_t at_ns[] = {60 * MS, 330 * MS, 540 * MS};
    pin();
    for (unsigned i = 0; i < sizeof at_ns / sizeof at_ns[0]; i++) {
        const int64_t until_ns = began_ns + at_ns[i] + 110 * MS;
        wait_until(began_ns + at_ns[i]);
        while (with_fault && now_ns() < until_ns)
            ;
        wait_until(until_ns);
    }
    return unused;
}

static void preempted(void)
{
    pthread_t hogs[HOGS];
    began_ns = now_ns();
    for (unsigned i = 0; i < HOGS; i++)
        hogs[i] = start("hog", hog, NULL);
    run_workers(1, compute, 3 * MS, NULL, NULL);
    for (unsigned i = 0; i < HOGS; i++)
        pthread_join(hogs[i], NULL);
}

static struct pages pages;

static void touch(unsigned number)
{
    if (is_slow(number, 120))
        pages_fault(pages, 50 * MS);
    else
        pages_touch(pages);
}

static void faults(void)
{
    pages = pages_new(16 << 20);
    run_workers(1, touch, MS, NULL, NULL);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* Held while the thread sleeps, so that there are short waits for it, too. */
static void use_mutex(unsigned number)
{
    (void)number;
    pthread_mutex_lock(&lock);
    sleep_ns(CALL_NS);
    pthread_mutex_unlock(&lock);
}

static void hold_mutex(int64_t ns)
{
    pthread_mutex_lock(&lock);
    if (with_fault)
        sleep_ns(ns);
    pthread_mutex_unlock(&lock);
}

static void *compact(void *unused)
{
    static const int64_t at_ns[] = {90 * MS, 230 * MS, 480 * MS, 610 * MS};
    for (unsigned i = 0; i < sizeof at_ns / sizeof at_ns[0]; i++) {
        sleep_until(began_ns + at_ns[i]);
        hold_mutex(60 * MS);
    }
    return unused;
}

static void lock_mutex(void)
{
    run_workers(3, use_mutex, MS / 2, "compactor", compact);
}

static void *flush(void *unused)
{
    for (int64_t at_ns = PERIOD_NS / 2; at_ns < RUN_NS; at_ns += PERIOD_NS) {
        sleep_until(began_ns + at_ns);
        hold_mutex(40 * MS);
    }
    return unused;
}

static void period_mutex(void)
{
    run_workers(3, use_mutex, MS / 2, "flusher", flush);
}

/* One of the workers writes, in short. */
static void use_table(unsigned number)
{
    if (number % 4 == 0)
        pthread_rwlock_wrlock(&table);
    else
        pthread_rwlock_rdlock(&table);
    sleep_ns(CALL_NS);
    pthread_rwlock_unlock(&table);
}

static void *resize(void *unused)
{
    static const int64_t at_ns[] = {110 * MS, 280 * MS, 430 * MS, 590 * MS};
    for (unsigned i = 0; i < sizeof at_ns / sizeof at_ns[0]; i++) {
        sleep_until(began_ns + at_ns[i]);
        pthread_rwlock_wrlock(&table);
        if (with_fault)
            sleep_ns(60 * MS);
        pthread_rwlock_unlock(&table);
    }
    return unused;
}

static void lock_rwlock(void)
{
    run_workers(3, use_table, MS / 2, "resizer", resize);
}

static struct file file;
static atomic_bool is_filling; /* then nobody syncs: all of it is left to one commit */

static void commit(unsigned number)
{
    (void)number;
    if (!is_filling)
        file_sync(file);
}

/* Writes what is then to be synced: little, and now and then much. */
static void *fill(void *unused)
{
    for (unsigned number = 1; !is_over(number); number++) {
        const bool much = is_slow(number, 60);
        is_filling = much;
        file_write(file, much);
        is_filling = false;
        sleep_ns(3 * MS);
    }
    return unused;
}

static void sync_disk(void)
{
    file = file_new();
    run_workers(1, commit, 3 * MS, "filler", fill);
}

static void mostly_spin(unsigned number)
{
    (void)number;
    spin_ns(MS);
}

static void everyone(void)
{
    run_workers(2, mostly_spin, MS / 5, NULL, NULL);
}

/* ---- ranks that meet after each step ------------------------------------------------------------
 */

#define RANKS 3
static pthread_barrier_t meeting;
static const unsigned ranks[RANKS] = {0, 1, 2};

static void *run_rank(void *rank)
{
    const bool is_late = *(const unsigned *)rank == RANKS - 1;
    for (unsigned number = 1; number < 200; number++) {
        sleep_ns(is_late && is_slow(number, 50) ? 60 * MS : 2 * MS);
        const struct begun begun = measure_begin();
        pthread_barrier_wait(&meeting);
        measure_end(begun, begun.since_ns);
    }
    return NULL;
}

static void late(void)
{
    static const char *const names[RANKS] = {"rank 0", "rank 1", "rank 2"};
    pthread_t threads[RANKS];
    pthread_barrier_init(&meeting, NULL, RANKS);
    for (unsigned i = 0; i < RANKS; i++)
        threads[i] = start(names[i], run_rank, (void *)&ranks[i]);
    for (unsigned i = 0; i < RANKS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- all modes ------------------------------------------------------------------------------- */

static const struct mode modes[] = {
    {"plain_rare", rare, "self", "after sleep", "", .fault_ns = 60 * MS},
    {"plain_preempted", preempted, "preempted", "after sleep", "", .fault_ns = 24 * MS,
     .runnable = true},
    {"plain_faults", faults, "page_faults", "after sleep", "", .fault_ns = 50 * MS},
    {"plain_mutex", lock_mutex, "lock", "mutex", "compactor", .fault_ns = 60 * MS},
    {"plain_rwlock", lock_rwlock, "lock", "rwlock", "resizer", .fault_ns = 60 * MS},
    {"plain_period", period_mutex, "lock", "mutex", "flusher", .fault_ns = 40 * MS,
     .period_ns = PERIOD_NS},
    {"plain_fsync", sync_disk, "io", "fsync", "", .fault_ns = 60 * MS},
    {"plain_stopped", everyone, "everyone", "after sleep", "", .fault_ns = 60 * MS, .stops = true},
    {"plain_late", late, "wait", "barrier", "rank 2", .fault_ns = 60 * MS},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    const struct mode *mode = measure_mode(modes, argc, argv);
    if (!mode)
        return 2;
    measure_run(mode);
    return 0;
}
