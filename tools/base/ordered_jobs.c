/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lock for all: a job is thousands of records, so it is taken seldom. A
 * queue is a ring; its jobs wait for a thread in the order of submitting, in
 * a list that goes through all queues. Of a serial queue one job at most is in
 * the list or runs; the next one then goes to the front, for it has waited.
 */
#include "ordered_jobs.h"
#include "job_queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOBS_PER_THREAD = 2, DEFAULT_MAX = 8, SERIAL_SLOTS = 16 };

struct waiting_job {
    struct waiting_job *next;
    struct ordered_jobs *queue;
    void *job;
    bool done; /* lock */
};

struct job_threads {
    pthread_mutex_t lock;
    pthread_cond_t submitted, done;
    struct waiting_job *first, **last; /* lock: not taken by a thread yet */
    bool stop;                         /* lock */
    unsigned started;
    pthread_t threads[];
};

struct ordered_jobs {
    struct job_threads *threads;
    job_fn *run;
    bool serial;
    unsigned slots;
    uint64_t submitted, taken; /* submitted is written with the lock */
    uint64_t finished;         /* lock: of a serial queue */
    struct waiting_job *ring;
    char *memory;
};

/* ---- threads ---------------------------------------------------------------------- */

/* With the lock held; NULL if none waits. */
static struct waiting_job *first_waiting(struct job_threads *threads)
{
    struct waiting_job *job = threads->first;
    if (!job)
        return NULL;
    threads->first = job->next;
    if (!threads->first)
        threads->last = &threads->first;
    return job;
}

/* With the lock held. */
static void wait_first(struct job_threads *threads, struct waiting_job *job)
{
    job->next = threads->first;
    threads->first = job;
    if (!job->next)
        threads->last = &job->next;
    pthread_cond_signal(&threads->submitted);
}

/* With the lock held before and after. */
static void run_job(struct job_threads *threads, struct waiting_job *job)
{
    struct ordered_jobs *queue = job->queue;
    pthread_mutex_unlock(&threads->lock);
    queue->run(job->job);
    pthread_mutex_lock(&threads->lock);
    job->done = true;
    if (queue->serial && ++queue->finished < queue->submitted)
        wait_first(threads, &queue->ring[queue->finished % queue->slots]);
    pthread_cond_broadcast(&threads->done);
}

static void *work(void *context)
{
    struct job_threads *threads = context;
    pthread_mutex_lock(&threads->lock);
    while (!threads->stop) {
        struct waiting_job *job = first_waiting(threads);
        if (job)
            run_job(threads, job);
        else
            pthread_cond_wait(&threads->submitted, &threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
    return NULL;
}

static unsigned default_threads(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 1 ? 1 : cpus > DEFAULT_MAX ? DEFAULT_MAX : (unsigned)cpus;
}

struct job_threads *job_threads_new(unsigned threads)
{
    unsigned count = threads == 0 ? default_threads() : threads;
    count = count > JOB_THREADS_MAX ? JOB_THREADS_MAX : count;
    struct job_threads *made = calloc(1, sizeof *made + count * sizeof made->threads[0]);
    if (!made)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->submitted, NULL);
    pthread_cond_init(&made->done, NULL);
    made->last = &made->first;
    while (made->started + 1 < count &&
           pthread_create(&made->threads[made->started], NULL, work, made) == 0)
        made->started++;
    return made;
}

unsigned job_threads_count(const struct job_threads *threads)
{
    return threads->started + 1;
}

void job_threads_free(struct job_threads *threads)
{
    if (!threads)
        return;
    pthread_mutex_lock(&threads->lock);
    threads->stop = true;
    pthread_cond_broadcast(&threads->submitted);
    pthread_mutex_unlock(&threads->lock);
    for (unsigned i = 0; i < threads->started; i++)
        pthread_join(threads->threads[i], NULL);
    pthread_cond_destroy(&threads->done);
    pthread_cond_destroy(&threads->submitted);
    pthread_mutex_destroy(&threads->lock);
    free(threads);
}

/* ---- a queue ---------------------------------------------------------------------- */

static struct ordered_jobs *ordered_jobs_make(struct job_threads *threads, unsigned slots,
                                              size_t job_bytes, job_fn *run)
{
    struct ordered_jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs)
        return NULL;
    *jobs = (struct ordered_jobs){.threads = threads, .run = run, .slots = slots};
    jobs->ring = calloc(jobs->slots, sizeof *jobs->ring);
    jobs->memory = calloc(jobs->slots, job_bytes);
    if (!jobs->ring || !jobs->memory) {
        free(jobs->ring);
        free(jobs->memory);
        free(jobs);
        return NULL;
    }
    for (unsigned i = 0; i < jobs->slots; i++)
        jobs->ring[i] = (struct waiting_job){.queue = jobs, .job = jobs->memory + i * job_bytes};
    return jobs;
}

struct ordered_jobs *ordered_jobs_new(struct job_threads *threads, size_t job_bytes, job_fn *run)
{
    unsigned count = job_threads_count(threads);
    return ordered_jobs_make(threads, count > 1 ? count * JOBS_PER_THREAD : 1, job_bytes, run);
}

struct ordered_jobs *ordered_jobs_new_serial(struct job_threads *threads, size_t job_bytes,
                                             job_fn *run)
{
    struct ordered_jobs *jobs = ordered_jobs_make(
        threads, job_threads_count(threads) > 1 ? SERIAL_SLOTS : 1, job_bytes, run);
    if (jobs)
        jobs->serial = true;
    return jobs;
}

void ordered_jobs_free(struct ordered_jobs *jobs, job_fn *stop)
{
    if (!jobs)
        return;
    while (ordered_jobs_take(jobs))
        ;
    for (unsigned i = 0; stop && i < jobs->slots; i++)
        stop(jobs->ring[i].job);
    free(jobs->ring);
    free(jobs->memory);
    free(jobs);
}

void *ordered_jobs_next(struct ordered_jobs *jobs)
{
    return jobs->submitted - jobs->taken < jobs->slots
               ? jobs->ring[jobs->submitted % jobs->slots].job
               : NULL;
}

void ordered_jobs_submit(struct ordered_jobs *jobs)
{
    struct job_threads *threads = jobs->threads;
    struct waiting_job *job = &jobs->ring[jobs->submitted % jobs->slots];
    pthread_mutex_lock(&threads->lock);
    job->done = false;
    if (!jobs->serial || jobs->finished == jobs->submitted) {
        job->next = NULL;
        *threads->last = job;
        threads->last = &job->next;
        pthread_cond_signal(&threads->submitted);
    }
    jobs->submitted++;
    pthread_mutex_unlock(&threads->lock);
}

void *ordered_jobs_take(struct ordered_jobs *jobs)
{
    struct job_threads *threads = jobs->threads;
    if (jobs->taken == jobs->submitted)
        return NULL;
    struct waiting_job *job = &jobs->ring[jobs->taken++ % jobs->slots];
    pthread_mutex_lock(&threads->lock);
    while (!job->done) {
        struct waiting_job *other = first_waiting(threads);
        if (other)
            run_job(threads, other);
        else
            pthread_cond_wait(&threads->done, &threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
    return job->job;
}

/* ---- for the format's library ------------------------------------------------------------ */

static void *open_queue(void *threads, size_t job_bytes, job_fn *run)
{
    return ordered_jobs_new(threads, job_bytes, run);
}

static void close_queue(void *queue, job_fn *stop)
{
    ordered_jobs_free(queue, stop);
}

static void *next_of_queue(void *queue)
{
    return ordered_jobs_next(queue);
}

static void submit_to_queue(void *queue)
{
    ordered_jobs_submit(queue);
}

static void *take_from_queue(void *queue)
{
    return ordered_jobs_take(queue);
}

struct job_queues ordered_jobs_queues(struct job_threads *threads)
{
    return (struct job_queues){
        .context = threads,
        .open = open_queue,
        .close = close_queue,
        .next = next_of_queue,
        .submit = submit_to_queue,
        .take = take_from_queue,
    };
}

/* ---- jobs option ----------------------------------------------------------------------------- */
/* How many threads. */

bool jobs_option_store(void *value, const char *text, struct option_error *error)
{
    unsigned threads = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits > 0 && digits <= 3 && text[digits] == '\0' && sscanf(text, "%u", &threads) == 1 &&
        threads >= 1 && threads <= JOB_THREADS_MAX) {
        *(unsigned *)value = threads;
        return true;
    }
    return option_wrong(error, "is no number of threads from 1 to %d", JOB_THREADS_MAX);
}
