/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_depth.c - a counter of one's own in the profile: how many jobs wait in a queue.
 *
 * The first half stands for a program that knows nothing of profiling: two queues and the threads
 * that empty them. The second half is a table of its own, a row at each change of a queue. No
 * tool has to know it: the roles of the columns say that it is a counter, and of what.
 *
 *     queue_depth -bgworkprofile 1 && rbwp tables bgwork_0.bin
 */
#include "rbwp_rows.h"
#include "rbwp_session.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- a program's own queues -------------------------------------------------------- */

enum { QUEUES = 2, JOBS = 300, ROOM = 64 };

struct queue {
    const char *name;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned waiting, taken, length; /* length: of a job */
    uint64_t number;                 /* of the name, for whoever counts */
    void (*on_change)(const struct queue *queue);
};

static double do_job(unsigned length)
{
    double sum = 0;
    for (unsigned i = 1; i < length; i++)
        sum += 1.0 / i;
    return sum;
}

static void put(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->waiting == ROOM)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->waiting++;
    queue->on_change(queue);
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

/* False when all jobs have been taken. */
static bool take(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->waiting == 0 && queue->taken < JOBS)
        pthread_cond_wait(&queue->changed, &queue->lock);
    const bool taken = queue->taken < JOBS;
    if (taken) {
        queue->waiting--;
        queue->taken++;
        queue->on_change(queue);
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

static _Atomic double result;

static void *empty(void *argument)
{
    struct queue *queue = argument;
    while (take(queue))
        result = do_job(queue->length);
    return NULL;
}

static bool run(struct queue queues[QUEUES])
{
    pthread_t threads[QUEUES];
    for (int i = 0; i < QUEUES; i++)
        if (pthread_create(&threads[i], NULL, empty, &queues[i]) != 0)
            return false;
    for (int job = 0; job < JOBS; job++)
        for (int i = 0; i < QUEUES; i++)
            put(&queues[i]);
    for (int i = 0; i < QUEUES; i++)
        pthread_join(threads[i], NULL);
    return true;
}

/* ---- a table of them --------------------------------------------------------------- */

static const struct rbwp_column columns[] = {
    RBWP_COLUMN(TIME, START, "time", ""),
    RBWP_COLUMN(NAME, TRACK, "queue", ""),
    RBWP_COLUMN(U64, COUNTER, "depth", "jobs"),
    RBWP_COLUMN(U64, NONE, "taken", "jobs"),
};
static const struct rbwp_schema schema = RBWP_SCHEMA("queue_depth", 1, columns);
static unsigned table;

/* Once for each change, by whichever thread; nothing without a session. */
static void write_row(const struct queue *queue)
{
    const uint64_t cells[] = {(uint64_t)rbwp_now_ns(), queue->number, queue->waiting, queue->taken};
    rbwp_row_add(table, cells);
}

int main(int argc, char **argv)
{
    struct queue queues[QUEUES] = {{.name = "parse", .length = 500},
                                   {.name = "compaction", .length = 5000}};
    struct rbwp_session_config config;
    struct rbwp_session *session = NULL;
    struct rbwp_session_summary summary;
    struct rbwp_error error = {.text = "no room for another table"};

    for (int i = 0; i < QUEUES; i++) {
        pthread_mutex_init(&queues[i].lock, NULL);
        pthread_cond_init(&queues[i].changed, NULL);
        queues[i].on_change = write_row;
        (void)!rbwp_name_intern(queues[i].name, strlen(queues[i].name), &queues[i].number);
    }
    rbwp_session_defaults(&config);
    if (rbwp_table_register(&schema, &table) != RBWP_OK ||
        rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK) {
        fprintf(stderr, "queue_depth: %s\n", error.text);
        return 2;
    }
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK)
        fprintf(stderr, "queue_depth: %s\n", error.text); /* and work unprofiled */
    const bool ran = run(queues);
    const enum rbwp_status status = rbwp_session_stop(session, &summary);
    if (session)
        printf("%s: %d rows\n", summary.path, 2 * QUEUES * JOBS);
    return ran && status == RBWP_OK ? 0 : 1;
}
