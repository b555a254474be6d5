/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_stage.c - last stage: put the compressed chunks into the archive in order.
 *
 * Where a chunk goes is known as soon as the one before it is compressed; the
 * writing itself is left to a transfer channel.
 */
#include "pack_job.h"

static void note_written(void *argument, const struct rbwp_transfer_result *result)
{
    struct chunk *const chunk = argument;
    struct pack_job *const job = chunk->owner;
    if (result->status != RBWP_OK)
        pack_job_fail(job, result->status, "writing the archive", result->os_errno);
    pack_job_release(job, chunk);
}

static void write_chunk(struct pack_job *job, struct chunk *chunk)
{
    struct write_stage *const write = &job->write;
    chunk->owner = job;
    const struct rbwp_transfer transfer = {
        .size = sizeof transfer,
        .kind = RBWP_TRANSFER_COPY,
        .dimensions = 1,
        .element_bytes = 1,
        .extent = {chunk->packed_bytes},
        .source.memory = chunk->packed,
        .target = {.is_file = true, .fd = job->options->archive, .offset_bytes = write->offset},
        .done = note_written,
        .argument = chunk};
    struct rbwp_error error;
    write->number++;
    write->offset += chunk->packed_bytes;
    job->totals.packed_bytes = write->offset;
    if (rbwp_channel_submit(write->channel, &transfer, NULL, &error) == RBWP_OK)
        return;
    pack_job_fail(job, error.status, error.text, 0);
    pack_job_release(job, chunk);
}

bool write_stage_run(void *argument, struct rbwp_deadline deadline)
{
    (void)deadline; /* a hand-over of a chunk takes no time */
    struct pack_job *const job = argument;
    struct chunk *chunk = chunks_take_packed(&job->chunks, job->write.number);
    if (!chunk) {
        rbwp_set_worked(false);
        return false;
    }
    rbwp_fine_begin(job->write.queue_sub_item);
    write_chunk(job, chunk);
    rbwp_fine_end();
    return true;
}
