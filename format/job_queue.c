/* SPDX-License-Identifier: Apache-2.0 */
/* job_queue.c - the queues of who has no threads: one job, which take runs. */
#include "job_queue.h"

#include <stdbool.h>
#include <stdlib.h>

struct own_queue {
    void (*run)(void *job);
    bool submitted;
    max_align_t job[];
};

static void *open_own(void *context, size_t job_bytes, void (*run)(void *job))
{
    (void)context;
    struct own_queue *queue = calloc(1, sizeof *queue + job_bytes);
    if (queue)
        queue->run = run;
    return queue;
}

static void close_own(void *context, void (*stop)(void *job))
{
    struct own_queue *queue = context;
    stop(queue->job);
    free(queue);
}

static void *next_own(void *context)
{
    struct own_queue *queue = context;
    return queue->submitted ? NULL : queue->job;
}

static void submit_own(void *context)
{
    struct own_queue *queue = context;
    queue->submitted = true;
}

static void *job_queue_take_own(void *context)
{
    struct own_queue *queue = context;
    if (!queue->submitted)
        return NULL;
    queue->submitted = false;
    queue->run(queue->job);
    return queue->job;
}

const struct job_queues job_queues_own = {
    .open = open_own,
    .close = close_own,
    .next = next_own,
    .submit = submit_own,
    .take = job_queue_take_own,
};
