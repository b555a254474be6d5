/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition.c - partitioners: the queue of operations and the work item that serves it.
 *
 * The lock guards the queue alone and is held for a few instructions. The
 * operation at its head belongs to the work item's do_work, which never runs
 * twice at once; after rbwp_work_remove, to the thread that frees.
 */
#include "operation.h"
#include "rbwp_record.h"
#include "failure.h"

#include <pthread.h>
#include <stdlib.h>

struct job {
    struct job *next;
    struct operation *operation;
    rbwp_partition_done_fn done;
    void *argument;
    struct rbwp_partition_result result;
};

struct rbwp_partitioner {
    /* Never change between new and free. */
    struct rbwp_work_manager *manager;
    struct rbwp_work_handle handle;

    pthread_mutex_t lock;
    struct job *first, **last; /* under lock; the first one is under way */
    uint64_t last_id;          /* under lock */
    bool closing;              /* under lock */
};

/* ---- names of the sub-items --------------------------------------------------- */

/* One per kind for the whole process: ids are scarce and never come back. */
enum { KINDS = RBWP_PARTITION_UNION_ALL + 1 };
static unsigned sub_item_of[KINDS];
static enum rbwp_status sub_items_status;
static pthread_once_t sub_items_once = PTHREAD_ONCE_INIT;

static void register_sub_items(void)
{
    static const char *const names[KINDS] = {
        [RBWP_PARTITION_BY_FIELD] = "by field op",
        [RBWP_PARTITION_IMAGE] = "image op",
        [RBWP_PARTITION_PREIMAGE] = "preimage op",
        [RBWP_PARTITION_UNION] = "union op",
        [RBWP_PARTITION_INTERSECTION] = "intersection op",
        [RBWP_PARTITION_DIFFERENCE] = "difference op",
    };
    for (unsigned k = 0; k < KINDS && sub_items_status == RBWP_OK; k++)
        if (names[k])
            sub_items_status = rbwp_sub_item_register(RBWP_DEPPART_OP, names[k], &sub_item_of[k]);
    sub_item_of[RBWP_PARTITION_UNION_ALL] = sub_item_of[RBWP_PARTITION_UNION];
}

/* ---- the queue ---------------------------------------------------------------- */

/* False when the partitioner is being freed. */
static bool queue_put(struct rbwp_partitioner *partitioner, struct job *job, uint64_t *id_out)
{
    pthread_mutex_lock(&partitioner->lock);
    const bool taken = !partitioner->closing;
    if (taken) {
        job->result.id = ++partitioner->last_id;
        *id_out = job->result.id;
        *partitioner->last = job;
        partitioner->last = &job->next;
    }
    pthread_mutex_unlock(&partitioner->lock);
    return taken;
}

static struct job *queue_head(struct rbwp_partitioner *partitioner)
{
    pthread_mutex_lock(&partitioner->lock);
    struct job *job = partitioner->first;
    pthread_mutex_unlock(&partitioner->lock);
    return job;
}

static void end_head(struct rbwp_partitioner *partitioner, enum rbwp_status status)
{
    pthread_mutex_lock(&partitioner->lock);
    struct job *job = partitioner->first;
    partitioner->first = job->next;
    if (!partitioner->first)
        partitioner->last = &partitioner->first;
    pthread_mutex_unlock(&partitioner->lock);
    job->result.status = status;
    operation_end(job->operation, status);
    if (job->done)
        job->done(job->argument, &job->result);
    free(job);
}

/* ---- the work ----------------------------------------------------------------- */

/* One micro-operation. */
static enum rbwp_status progress(struct job *job, struct rbwp_deadline deadline)
{
    enum rbwp_status status;
    job->result.micro_operations++;
    rbwp_fine_begin(sub_item_of[job->operation->kind]);
    do
        status = operation_step(job->operation);
    while (status == RBWP_AGAIN && !rbwp_deadline_passed(deadline));
    rbwp_fine_end();
    return status;
}

static bool partition_serve(void *argument, struct rbwp_deadline deadline)
{
    struct rbwp_partitioner *const partitioner = argument;
    struct job *job = queue_head(partitioner);
    if (!job)
        rbwp_set_worked(false);
    for (; job; job = queue_head(partitioner)) {
        const enum rbwp_status status = progress(job, deadline);
        if (status != RBWP_AGAIN)
            end_head(partitioner, status);
        if (rbwp_deadline_passed(deadline))
            break;
    }
    return queue_head(partitioner) != NULL;
}

/* ---- the public calls ------------------------------------------------------------ */

enum rbwp_status rbwp_partitioner_new(struct rbwp_work_manager *manager, const char *name,
                                      int domain, struct rbwp_partitioner **partitioner_out,
                                      struct rbwp_error *error)
{
    *partitioner_out = NULL;
    pthread_once(&sub_items_once, register_sub_items);
    if (sub_items_status != RBWP_OK)
        return partition_refuse(error, sub_items_status,
                                "no sub-item ids left to name operations with");
    struct rbwp_partitioner *partitioner = calloc(1, sizeof *partitioner);
    if (!partitioner)
        return partition_refuse(error, RBWP_E_MEMORY, "no memory for a partitioner");
    partitioner->manager = manager;
    partitioner->last = &partitioner->first;
    pthread_mutex_init(&partitioner->lock, NULL);
    const enum rbwp_status status =
        rbwp_work_add(manager, name, partition_serve, partitioner, domain, &partitioner->handle);
    if (status != RBWP_OK) {
        pthread_mutex_destroy(&partitioner->lock);
        free(partitioner);
        return partition_refuse(error, status, "the manager does not take another work item");
    }
    *partitioner_out = partitioner;
    return RBWP_OK;
}

static size_t results_of(const struct rbwp_partition *partition)
{
    return partition->kind == RBWP_PARTITION_UNION_ALL ? 1 : partition->count;
}

static void drop_results(const struct rbwp_partition *partition, struct rbwp_space **results)
{
    for (size_t i = 0; i < results_of(partition); i++) {
        rbwp_space_release(results[i]);
        results[i] = NULL;
    }
}

/* Takes the job over. *id_out is 0 unless it is queued. */
static enum rbwp_status queue_operation(struct rbwp_partitioner *partitioner, struct job *job,
                                        const struct rbwp_partition *partition,
                                        struct rbwp_space **results, uint64_t *id_out,
                                        const char **reason_out)
{
    const enum rbwp_status status =
        operation_new(partition, partitioner, &job->operation, results, reason_out);
    if (status != RBWP_OK) {
        free(job);
        return status;
    }
    job->done = partition->done;
    job->argument = partition->argument;
    if (queue_put(partitioner, job, id_out)) /* from here on the job may be gone */
        return RBWP_OK;
    *reason_out = "the partitioner is being freed and takes no more operations";
    operation_end(job->operation, RBWP_E_STATE);
    free(job);
    drop_results(partition, results);
    return RBWP_E_STATE;
}

enum rbwp_status rbwp_partition_submit(struct rbwp_partitioner *partitioner,
                                       const struct rbwp_partition *given,
                                       struct rbwp_space **results_out, uint64_t *id_out,
                                       struct rbwp_error *error)
{
    struct rbwp_partition partition;
    const char *reason;
    uint64_t id = 0;
    if (id_out)
        *id_out = 0;
    enum rbwp_status status =
        sized_take(&partition, sizeof partition, given, "rbwp_partition", error);
    if (status != RBWP_OK)
        return status;
    for (size_t i = 0; i < results_of(&partition); i++)
        results_out[i] = NULL;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return partition_refuse(error, RBWP_E_MEMORY, "no memory to queue an operation");
    status = queue_operation(partitioner, job, &partition, results_out, &id, &reason);
    if (status != RBWP_OK)
        return partition_refuse(error, status, reason);
    if (id_out)
        *id_out = id;
    (void)rbwp_work_make_active(partitioner->manager, partitioner->handle);
    return RBWP_OK;
}

enum rbwp_status rbwp_partitioner_free(struct rbwp_partitioner *partitioner)
{
    if (!partitioner)
        return RBWP_OK;
    const enum rbwp_status status = rbwp_work_remove(partitioner->manager, partitioner->handle);
    if (status != RBWP_OK)
        return status;
    pthread_mutex_lock(&partitioner->lock);
    partitioner->closing = true;
    pthread_mutex_unlock(&partitioner->lock);
    while (queue_head(partitioner))
        end_head(partitioner, RBWP_E_STATE);
    pthread_mutex_destroy(&partitioner->lock);
    free(partitioner);
    return RBWP_OK;
}
