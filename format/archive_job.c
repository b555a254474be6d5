/* SPDX-License-Identifier: Apache-2.0 */
/* archive_job.c - see archive_job.h. */
#include "archive_job.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

#define ARCHIVE_JOB_COMPRESS_BYTES_MIN 64u /* smaller data are stored as they are */

/* ---- filling --------------------------------------------------------------------------------- */

void archive_job_begin(struct archive_job *job, uint64_t place)
{
    job->place = place;
    job->plain.count = job->packed.count = 0;
    job->records = 0;
}

bool archive_job_add(struct archive_job *job, const struct rbwp_block *block, bool packed)
{
    uint8_t head[RBWP_BLOCK_HEADER_BYTES], flag = packed;
    struct rbwp_block_header header = block->header;
    header.stored_bytes = 0;
    block_header_encode(&header, head);
    buffer_append(&job->plain, head, sizeof head);
    buffer_append(&job->plain, block->data, header.data_bytes);
    buffer_append(&job->packed, &flag, 1);
    job->records += header.records;
    return !job->plain.failed && !job->packed.failed;
}

bool archive_job_is_full(const struct archive_job *job, unsigned chunks)
{
    return job->records >= ARCHIVE_JOB_RECORDS * chunks ||
           job->plain.count >= (size_t)ARCHIVE_JOB_BYTES * chunks;
}

/* The block at *at, whose data are where they lie in the job; *at goes behind it. */
static struct rbwp_block next_block(const struct archive_job *job, size_t *at)
{
    struct rbwp_block block = {.offset = job->place + *at};
    block_header_decode(job->plain.bytes + *at, &block.header);
    block.data = job->plain.bytes + *at + RBWP_BLOCK_HEADER_BYTES;
    *at += RBWP_BLOCK_HEADER_BYTES + (size_t)block.header.data_bytes;
    return block;
}

/* ---- to a chunk ------------------------------------------------------------------------------ */

static enum archive_job_status encode(struct archive_job *job)
{
    if (!job->begun && !(job->begun = chunk_encoder_begin(&job->encoder)))
        return ARCHIVE_JOB_NO_MEMORY;
    for (size_t at = 0, i = 0; at < job->plain.count; i++) {
        struct rbwp_block block = next_block(job, &at);
        if (!chunk_encoder_add(&job->encoder, &block.header, block.data, job->packed.bytes[i]))
            return ARCHIVE_JOB_NO_MEMORY;
    }
    job->out.count = 0;
    return chunk_encoder_finish(&job->encoder, &job->out) ? ARCHIVE_JOB_DONE
                                                          : ARCHIVE_JOB_NO_MEMORY;
}

/* The chunk gives just these blocks again, or the archive is not written. */
static enum archive_job_status archive_job_compare(struct archive_job *job)
{
    job->decoded.count = 0;
    uint8_t *to = buffer_reserve(&job->decoded, job->plain.count + CHUNK_SLACK);
    if (!to)
        return ARCHIVE_JOB_NO_MEMORY;
    const char *wrong =
        chunk_decode(&job->decoder, job->out.bytes, job->out.count, to, job->plain.count);
    if (wrong == chunk_no_memory)
        return ARCHIVE_JOB_NO_MEMORY;
    bool same = !wrong && memcmp(to, job->plain.bytes, job->plain.count) == 0;
    return same ? ARCHIVE_JOB_DONE : ARCHIVE_JOB_DIFFERS;
}

void archive_job_pack(void *context)
{
    struct archive_job *job = context;
    job->status = encode(job);
    if (job->status == ARCHIVE_JOB_DONE)
        job->status = archive_job_compare(job);
}

/* ---- out of one ------------------------------------------------------------------------------ */

static bool begin_unpacking(struct archive_job *job)
{
    if (job->begun) {
        deflater_forget(job->of_records);
        return true;
    }
    job->of_records = deflater_new(false);
    job->of_tables = deflater_new(true);
    return job->begun = job->of_records && job->of_tables;
}

/* Where a record's kind stands, for each. NULL without memory. */
static const uint32_t *find_units(struct archive_job *job, const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    uint32_t count = 0;
    if (!grow_array(&job->unit, &job->unit_room, block->header.records, sizeof *job->unit))
        return NULL;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record))
        job->unit[count++] = record.offset + record.time_bytes;
    return job->unit;
}

/* The compressed data at to, which has room; 0 if they do not get smaller. False without memory. */
static bool compress_data(struct archive_job *job, const struct rbwp_block *block, uint8_t *to,
                          size_t *bytes_out)
{
    uint32_t bytes = block->header.data_bytes, records = block->header.records;
    const uint32_t *unit = records ? find_units(job, block) : NULL;
    *bytes_out = 0;
    if (records && !unit)
        return false;
    if (bytes >= ARCHIVE_JOB_COMPRESS_BYTES_MIN)
        *bytes_out = deflater_run(records ? job->of_records : job->of_tables, block->data, bytes,
                                  unit, records, to);
    return true;
}

/* Head and payload of the block, as the version-1 file is to have them. */
static bool archive_job_put_block(struct archive_job *job, const struct rbwp_block *block,
                                  bool packed)
{
    struct rbwp_block_header header = block->header;
    size_t data_bytes = header.data_bytes, stored = 0;
    uint8_t *to = buffer_reserve(&job->out, RBWP_BLOCK_HEADER_BYTES + data_bytes + DEFLATER_SLACK);
    if (!to || (packed && !compress_data(job, block, to + RBWP_BLOCK_HEADER_BYTES, &stored)))
        return false;
    if (stored == 0)
        memcpy(to + RBWP_BLOCK_HEADER_BYTES, block->data, data_bytes);
    header.stored_bytes = (uint32_t)stored;
    block_header_encode(&header, to);
    job->out.count += RBWP_BLOCK_HEADER_BYTES + (stored ? stored : data_bytes);
    return true;
}

void archive_job_unpack(void *context)
{
    struct archive_job *job = context;
    /* What compresses looks at whole words. */
    bool good = begin_unpacking(job) && buffer_reserve(&job->plain, DEFLATER_SLACK);
    job->out.count = 0;
    for (size_t at = 0, i = 0; good && at < job->plain.count; i++) {
        struct rbwp_block block = next_block(job, &at);
        good = archive_job_put_block(job, &block, job->packed.bytes[i]);
    }
    job->status = good ? ARCHIVE_JOB_DONE : ARCHIVE_JOB_NO_MEMORY;
}

void archive_job_stop(void *context)
{
    struct archive_job *job = context;
    chunk_encoder_end(&job->encoder);
    chunk_decoder_free(&job->decoder);
    deflater_free(job->of_records);
    deflater_free(job->of_tables);
    buffer_free(&job->plain);
    buffer_free(&job->packed);
    buffer_free(&job->out);
    buffer_free(&job->decoded);
    free(job->unit);
}
