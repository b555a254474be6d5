/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ordered_jobs.h - work on several threads whose results are taken in order.
 *
 * A command has one set of threads (job_threads) and any number of queues on
 * it (ordered_jobs). A queue has a fixed number of jobs, which bounds memory:
 * its owner fills a free one and submits it; the oldest comes back from take,
 * done. Who waits for a job runs jobs meanwhile, so that N threads are N at
 * work, and without any (-j 1) all is done in take, by the same code.
 *
 * A queue is used by one thread at a time; run is called on any thread, one
 * job at a time on one, and sees nothing but its job and, where jobs run one
 * after the other, what they share. Jobs may have queues of their own, whose
 * jobs wait for nobody.
 */
#ifndef ORDERED_JOBS_H
#define ORDERED_JOBS_H

#include "options.h"

#define JOB_THREADS_MAX 256

struct job_threads;

/* threads: at work at the same time, the caller's included; 0 = one a CPU, at most 8. Fewer when
 * the system has no more; NULL without memory. */
struct job_threads *job_threads_new(unsigned threads);
unsigned job_threads_count(const struct job_threads *threads);
/* All queues must be free. NULL is fine. */
void job_threads_free(struct job_threads *threads);

typedef void job_fn(void *job);

struct ordered_jobs;

/* Jobs of job_bytes, zeroed once: what run leaves in one is there when it is used again. NULL
 * without memory. */
struct ordered_jobs *ordered_jobs_new(struct job_threads *threads, size_t job_bytes, job_fn *run);
/* The same, but its jobs run one after the other, in the order of submitting. */
struct ordered_jobs *ordered_jobs_new_serial(struct job_threads *threads, size_t job_bytes,
                                             job_fn *run);
/* Calls stop, which may be NULL, for each job when none runs any more. NULL is fine. */
void ordered_jobs_free(struct ordered_jobs *jobs, job_fn *stop);

/* A job to be filled, the same until it is submitted; NULL when all are submitted: take one
 * first. */
void *ordered_jobs_next(struct ordered_jobs *jobs);
void ordered_jobs_submit(struct ordered_jobs *jobs);
/* The oldest that was submitted, done; NULL if there is none. Valid until the next call of next. */
void *ordered_jobs_take(struct ordered_jobs *jobs);

struct job_queues; /* job_queue.h */

/* These threads and queues for the format's library. Valid as long as the threads. */
struct job_queues ordered_jobs_queues(struct job_threads *threads);

/* ---- jobs option ----------------------------------------------------------------------------- */
/* The option -j N of all commands that use threads. */

#define JOBS_OPTION_HELP "threads at work; default: one a CPU, at most 8; -j 1 uses no others"

/* Stores an unsigned, 1 to JOB_THREADS_MAX. */
bool jobs_option_store(void *value, const char *text, struct option_error *error);

#endif /* ORDERED_JOBS_H */
