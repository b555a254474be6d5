/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_stage.c - second stage: compress chunks, several at a time.
 *
 * Each chunk becomes a gzip member of its own, so chunks do not depend on
 * each other, and gunzip and tar read the members as one stream. A chunk takes
 * tens of milliseconds, a slice is a tenth of one: so it goes through deflate
 * a few kilobytes at a time.
 */
#include "pack_job.h"

enum { PIECE_BYTES = 4096 };

/* Returns true when the chunk is done. */
static bool deflate_piece(struct pack_stage *stage)
{
    struct chunk *const chunk = stage->chunk;
    z_stream *const stream = &stage->stream;
    const size_t left = chunk->plain_bytes - stream->total_in;
    const bool last = left <= PIECE_BYTES;
    stream->next_in = chunk->plain + stream->total_in;
    stream->avail_in = last ? (uInt)left : PIECE_BYTES;
    return deflate(stream, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
}

static bool take_chunk(struct pack_stage *stage)
{
    stage->chunk = chunks_take_full(&stage->job->chunks);
    if (!stage->chunk)
        return false;
    (void)deflateReset(&stage->stream);
    stage->stream.next_out = stage->chunk->packed;
    stage->stream.avail_out = (uInt)stage->chunk->packed_room; /* deflateBound: always enough */
    return true;
}

static void pack_stage_pass_on(struct pack_stage *stage)
{
    struct pack_job *const job = stage->job;
    stage->chunk->packed_bytes = stage->stream.total_out;
    chunks_put_packed(&job->chunks, stage->chunk);
    stage->chunk = NULL;
    (void)rbwp_work_make_active(job->manager, job->write.item);
}

bool pack_stage_run(void *argument, struct rbwp_deadline deadline)
{
    struct pack_stage *const stage = argument;
    if (!stage->chunk && !take_chunk(stage)) {
        rbwp_set_worked(false);
        return false;
    }
    bool done, over;
    rbwp_fine_begin(stage->deflate_sub_item);
    do {
        done = deflate_piece(stage) || atomic_load(&stage->job->failed);
        over = rbwp_deadline_passed(deadline);
    } while (!done && !over);
    rbwp_fine_end();
    if (done)
        pack_stage_pass_on(stage);
    return true;
}
