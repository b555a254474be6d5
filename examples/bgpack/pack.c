/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.c - pack a directory tree into a compressed tar with background work.
 *
 * Sets up the stages, starts the first one and waits for the end: the reader
 * has ended and every chunk is free again. A failure ends the job the same
 * way, each stage then letting go of what it holds.
 */
#include "pack_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PACK_GZIP_WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };

void pack_job_fail(struct pack_job *job, enum rbwp_status status, const char *what, int os_errno)
{
    pthread_mutex_lock(&job->end_lock);
    if (job->error.status == RBWP_OK) {
        job->error.status = status;
        job->error.os_errno = os_errno;
        snprintf(job->error.text, sizeof job->error.text, "%s: %s", what,
                 os_errno ? strerror(os_errno) : rbwp_status_text(status));
    }
    pthread_mutex_unlock(&job->end_lock);
    atomic_store(&job->failed, true);
}

void pack_job_check_end(struct pack_job *job)
{
    if (!atomic_load(&job->read_ended) || !chunks_are_idle(&job->chunks))
        return;
    pthread_mutex_lock(&job->end_lock);
    job->ended = true;
    pthread_cond_signal(&job->ended_changed);
    pthread_mutex_unlock(&job->end_lock);
}

void pack_job_release(struct pack_job *job, struct chunk *chunk)
{
    chunks_put_free(&job->chunks, chunk);
    (void)rbwp_work_make_active(job->manager, job->read.item);
    pack_job_check_end(job);
}

/* ---- setting up ------------------------------------------------------------------- */

static enum rbwp_status add_item(struct pack_job *job, const char *name, rbwp_do_work_fn run,
                                 void *argument, struct rbwp_work_handle *item)
{
    return rbwp_work_add(job->manager, name, run, argument, -1, item);
}

static enum rbwp_status set_up_names(struct pack_job *job)
{
    unsigned deflate_sub_item = 0;
    enum rbwp_sub_item_type step; /* the format's own kinds are for what Realm does */
    enum rbwp_status status = rbwp_sub_item_kind_register("step", 0, &step);
    if (status == RBWP_OK)
        status = rbwp_sub_item_register(step, "bgpack walk and headers", &job->read.walk_sub_item);
    if (status == RBWP_OK)
        status = rbwp_sub_item_register(step, "bgpack queue a member", &job->write.queue_sub_item);
    if (status == RBWP_OK)
        status = rbwp_sub_item_register(step, "bgpack deflate", &deflate_sub_item);
    for (unsigned i = 0; i < job->options->packers; i++)
        job->packers[i].deflate_sub_item = deflate_sub_item;
    return status;
}

static enum rbwp_status set_up_packers(struct pack_job *job)
{
    enum rbwp_status status = RBWP_OK;
    for (unsigned i = 0; i < job->options->packers && status == RBWP_OK; i++) {
        struct pack_stage *const stage = &job->packers[i];
        char name[32];
        stage->job = job;
        if (deflateInit2(&stage->stream, job->options->level, Z_DEFLATED, PACK_GZIP_WINDOW_BITS,
                         MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
            return RBWP_E_MEMORY;
        snprintf(name, sizeof name, "bgpack compress %u", i);
        status = add_item(job, name, pack_stage_run, stage, &stage->item);
    }
    return status;
}

static enum rbwp_status set_up_chunks(struct pack_job *job)
{
    const size_t room = deflateBound(&job->packers[0].stream, CHUNK_BYTES);
    const unsigned count = 2 * job->options->packers + 2;
    return chunks_make(&job->chunks, count, room) ? RBWP_OK : RBWP_E_MEMORY;
}

static enum rbwp_status set_up_ends(struct pack_job *job)
{
    struct read_stage *const read = &job->read;
    struct write_stage *const write = &job->write;
    enum rbwp_status status = add_item(job, "bgpack read", read_stage_run, job, &read->item);
    if (status == RBWP_OK)
        status = add_item(job, "bgpack write", write_stage_run, job, &write->item);
    if (status == RBWP_OK)
        status = rbwp_channel_new(job->manager, "bgpack file reads", -1, &read->channel, NULL);
    if (status == RBWP_OK)
        status = rbwp_channel_new(job->manager, "bgpack archive writes", -1, &write->channel, NULL);
    return status;
}

static enum rbwp_status pack_set_up(struct pack_job *job)
{
    enum rbwp_status status = set_up_names(job);
    if (status == RBWP_OK)
        status = set_up_packers(job);
    if (status == RBWP_OK)
        status = set_up_chunks(job);
    if (status == RBWP_OK)
        status = set_up_ends(job);
    return status;
}

/* Takes down whatever was set up; handles and pointers that are still 0 are no items. */
static void take_down(struct pack_job *job)
{
    (void)rbwp_channel_free(job->read.channel);
    (void)rbwp_channel_free(job->write.channel);
    (void)rbwp_work_remove(job->manager, job->read.item);
    (void)rbwp_work_remove(job->manager, job->write.item);
    for (unsigned i = 0; i < job->options->packers; i++) {
        (void)rbwp_work_remove(job->manager, job->packers[i].item);
        (void)deflateEnd(&job->packers[i].stream);
    }
    if (job->chunks.count > 0)
        chunks_free(&job->chunks);
}

static struct pack_job *job_new(struct rbwp_work_manager *manager, struct tree *tree,
                                const struct pack_options *options)
{
    struct stat archive = {0};
    struct pack_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    (void)fstat(options->archive, &archive);
    job->manager = manager;
    job->tree = tree;
    job->options = options;
    job->archive_device = archive.st_dev;
    job->archive_inode = archive.st_ino;
    job->read.file = -1;
    pthread_mutex_init(&job->end_lock, NULL);
    pthread_cond_init(&job->ended_changed, NULL);
    return job;
}

static void run_to_end(struct pack_job *job)
{
    (void)rbwp_work_make_active(job->manager, job->read.item);
    pthread_mutex_lock(&job->end_lock);
    while (!job->ended)
        pthread_cond_wait(&job->ended_changed, &job->end_lock);
    pthread_mutex_unlock(&job->end_lock);
}

enum rbwp_status pack_tree(struct rbwp_work_manager *manager, struct tree *tree,
                           const struct pack_options *options, struct pack_totals *totals_out,
                           struct rbwp_error *error)
{
    struct pack_job *job = job_new(manager, tree, options);
    if (!job) {
        *error = (struct rbwp_error){.status = RBWP_E_MEMORY, .text = "no memory to begin with"};
        return RBWP_E_MEMORY;
    }
    const enum rbwp_status status = pack_set_up(job);
    if (status == RBWP_OK)
        run_to_end(job);
    else
        pack_job_fail(job, status, "setting up the work items", 0);
    take_down(job);
    *totals_out = job->totals;
    *error = job->error;
    const enum rbwp_status ended = job->error.status;
    pthread_cond_destroy(&job->ended_changed);
    pthread_mutex_destroy(&job->end_lock);
    free(job);
    return ended;
}
