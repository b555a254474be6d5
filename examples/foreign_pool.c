/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_pool.c - the recorder alone, inside a thread pool that knows nothing of it.
 *
 * The first half stands for a pool that a program has already: plain pthreads
 * that take jobs from a counter. The second half is what recording it takes.
 * Run it with -bgworkprofile 1 (or 2) and look at bgwork_0.bin with rbwp-dump.
 */
#include "rbwp_args.h"
#include "rbwp_counter.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* ---- somebody else's pool ------------------------------------------------------- */

enum { POOL_THREADS = 3, JOBS = 300 };

struct pool {
    atomic_int next_job;
    void (*thread_begins)(unsigned number);
    void (*run_job)(int job);
};

struct pool_thread {
    pthread_t thread;
    struct pool *pool;
    unsigned number;
};

static void *pool_loop(void *argument)
{
    const struct pool_thread *self = argument;
    self->pool->thread_begins(self->number);
    for (int job; (job = atomic_fetch_add(&self->pool->next_job, 1)) < JOBS;)
        self->pool->run_job(job);
    return NULL;
}

static int pool_run(struct pool *pool)
{
    struct pool_thread threads[POOL_THREADS];
    unsigned started = 0;
    for (; started < POOL_THREADS; started++) {
        threads[started] = (struct pool_thread){.pool = pool, .number = started};
        if (pthread_create(&threads[started].thread, NULL, pool_loop, &threads[started]) != 0)
            break;
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i].thread, NULL);
    return started > 0;
}

static int terms_of(int job)
{
    return 2000 + 50 * (job % 7);
}

static double job_itself(int job)
{
    double sum = 0;
    for (int i = 1; i < terms_of(job); i++)
        sum += 1.0 / i;
    return sum;
}

/* ---- recording it ------------------------------------------------------------------ */

static unsigned slot, part, jobs_left;
static uint64_t terms, parity;
static _Atomic double result;

static void attach(unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "pool thread %u", number);
    (void)rbwp_thread_attach(name); /* thread exit detaches */
}

static void recorded_job(int job)
{
    rbwp_begin(slot);
    rbwp_fine_begin(part); /* seen at level 2 */
    atomic_store(&result, job_itself(job));
    rbwp_fine_end();
    if (job % 10 != 0) { /* what it was about, and how much is left: at level 2, too */
        rbwp_arg_u64(terms, (uint64_t)terms_of(job));
        rbwp_arg_text(parity, job % 2 ? "odd" : "even");
        rbwp_counter(jobs_left, JOBS - 1 - job);
    }
    rbwp_set_worked(job % 10 != 0); /* say that every tenth found nothing to do: no record */
    rbwp_end();
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_session *session = NULL;
    struct rbwp_session_summary summary;
    struct rbwp_error error = {.text = "no slot, sub-item or counter left"};
    enum rbwp_sub_item_type arithmetic; /* a kind of our own */
    struct pool pool = {.thread_begins = attach, .run_job = recorded_job};

    terms = rbwp_arg_key("terms");
    parity = rbwp_arg_key("parity");
    rbwp_session_defaults(&config);
    if (rbwp_work_item_register("harmonic sums", &slot) != RBWP_OK ||
        rbwp_sub_item_kind_register("arithmetic", 0, &arithmetic) != RBWP_OK ||
        rbwp_sub_item_register(arithmetic, "one sum", &part) != RBWP_OK ||
        rbwp_counter_register("jobs left", "jobs", &jobs_left) != RBWP_OK ||
        rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK) {
        fprintf(stderr, "foreign_pool: %s\n", error.text);
        return 2;
    }
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK)
        fprintf(stderr, "foreign_pool: %s\n", error.text); /* and work unprofiled */
    const int ran = pool_run(&pool);
    const enum rbwp_status status = rbwp_session_stop(session, &summary);
    if (session)
        printf("%s: %llu records, %llu empty calls left no trace\n", summary.path,
               (unsigned long long)summary.records, (unsigned long long)summary.discarded);
    return ran && status == RBWP_OK ? 0 : 1;
}
