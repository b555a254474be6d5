/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_queue.h - jobs whose results are taken in order, on whatever threads a caller has.
 *
 * The format's library starts no threads. What has work that can go on at the same time cuts it
 * into jobs of a queue, and its caller says how queues run them: on the threads of a command, or,
 * with job_queues_own, one after the other by who takes them. What comes of it is the same.
 */
#ifndef JOB_QUEUE_H
#define JOB_QUEUE_H

#include <stddef.h>

/* Of queues that open returned, one thread at a time: */
struct job_queues {
    void *context;

    /* Jobs of so many bytes, zeroed once: what run leaves in one is there when it is used again.
     * run sees nothing but its job. NULL without memory. */
    void *(*open)(void *context, size_t job_bytes, void (*run)(void *job));
    /* Calls stop for each job when none runs any more. */
    void (*close)(void *queue, void (*stop)(void *job));

    /* A job to be filled, the same until it is submitted; NULL when all are: take one first. */
    void *(*next)(void *queue);
    void (*submit)(void *queue);
    /* The oldest that was submitted, done; NULL if there is none. Valid until the next next. */
    void *(*take)(void *queue);
};

extern const struct job_queues job_queues_own;

#endif /* JOB_QUEUE_H */
