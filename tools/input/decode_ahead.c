/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses the next blocks, or, of an archive, the next chunks. Both have a head and a payload that
 * says how long it is; the jobs are the same. */
#include "decode_ahead.h"
#include "chunk_ahead.h"
#include "rbwp_decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAD_BYTES RBWP_BLOCK_HEADER_BYTES
_Static_assert(HEAD_BYTES == CHUNK_AHEAD_HEAD_BYTES, "of blocks and of chunks");

struct decode_job {
    int fd;
    uint64_t offset;
    uint32_t payload_bytes, room;
    uint8_t *payload;
    struct rbwp_decoder *decoder; /* of a block */
    struct rbwp_block block;
    struct chunk_holder *holder; /* of a chunk */
    bool good;
};

struct decode_ahead {
    struct rbwp_reader *reader;
    struct ordered_jobs *jobs;
    int fd;
    bool archive;         /* jobs are chunks */
    uint64_t next_offset; /* of the next guess */
    bool stuck;           /* no guess can be made at next_offset */
};

static bool read_all(int fd, void *to, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static void stop_job(void *context)
{
    struct decode_job *job = context;
    rbwp_decoder_free(job->decoder);
    chunk_holder_free(job->holder);
    free(job->payload);
}

static void run_job(void *context)
{
    struct decode_job *job = context;
    job->good =
        read_all(job->fd, job->payload, job->payload_bytes, job->offset + HEAD_BYTES) &&
        (job->holder ? chunk_holder_decode(job->holder, job->payload)
                     : rbwp_decoder_run(job->decoder, job->payload, &job->block) == RBWP_OK);
}

static bool decode_ahead_reserve(struct decode_job *job, uint32_t bytes)
{
    if (bytes <= job->room)
        return true;
    free(job->payload);
    job->payload = malloc(bytes);
    job->room = job->payload ? bytes : 0;
    return job->payload;
}

/* Each: bytes of the payload behind this head; 0: none to decode. */
static uint32_t guess_block(struct decode_job *job, const uint8_t *head)
{
    if (!job->decoder && !(job->decoder = rbwp_decoder_new(DECODE_AHEAD_BYTES)))
        return 0;
    job->block = (struct rbwp_block){.offset = job->offset};
    rbwp_decoder_header(head, &job->block.header);
    return rbwp_decoder_payload_bytes(job->decoder, &job->block.header);
}

static uint32_t guess_chunk(struct decode_job *job, const uint8_t *head)
{
    if (!job->holder && !(job->holder = chunk_holder_new()))
        return 0;
    return chunk_holder_begin(job->holder, head);
}

/* Fills the job with what is at next_offset. */
static bool guess(struct decode_ahead *ahead, struct decode_job *job)
{
    uint8_t head[HEAD_BYTES];
    if (!read_all(ahead->fd, head, sizeof head, ahead->next_offset))
        return false;
    job->fd = ahead->fd;
    job->offset = ahead->next_offset;
    job->payload_bytes = ahead->archive ? guess_chunk(job, head) : guess_block(job, head);
    return job->payload_bytes && decode_ahead_reserve(job, job->payload_bytes);
}

static void guess_more(struct decode_ahead *ahead)
{
    struct decode_job *job;
    while (!ahead->stuck && (job = ordered_jobs_next(ahead->jobs))) {
        if (!guess(ahead, job)) {
            ahead->stuck = true;
            return;
        }
        ahead->next_offset += HEAD_BYTES + (uint64_t)job->payload_bytes;
        ordered_jobs_submit(ahead->jobs);
    }
}

static bool same_header(const struct rbwp_block_header *a, const struct rbwp_block_header *b)
{
    return a->thread_id == b->thread_id && a->sequence == b->sequence && a->records == b->records &&
           a->base_time_ns == b->base_time_ns && a->data_bytes == b->data_bytes &&
           a->stored_bytes == b->stored_bytes;
}

/* The job of what is at this offset; NULL: there is none. */
static struct decode_job *take_job(struct decode_ahead *ahead, uint64_t offset)
{
    guess_more(ahead);
    struct decode_job *job = ordered_jobs_take(ahead->jobs);
    if (!job || job->offset != offset) { /* begin anew here */
        while (ordered_jobs_take(ahead->jobs))
            ;
        ahead->next_offset = offset;
        ahead->stuck = false;
        guess_more(ahead);
        job = ordered_jobs_take(ahead->jobs);
    }
    return job && job->good ? job : NULL;
}

static bool decode_ahead_on_block(void *context, struct rbwp_block *block)
{
    struct decode_job *job = take_job(context, block->offset);
    if (!job || !same_header(&job->block.header, &block->header))
        return false;
    job->block.index = block->index;
    *block = job->block;
    return true;
}

static const struct chunk_holder *take_chunk(void *context, uint64_t offset)
{
    struct decode_job *job = take_job(context, offset);
    return job ? job->holder : NULL;
}

struct decode_ahead *decode_ahead_start(struct rbwp_reader *reader, int fd,
                                        struct job_threads *threads)
{
    if (job_threads_count(threads) < 2)
        return NULL;
    struct decode_ahead *ahead = calloc(1, sizeof *ahead);
    if (ahead)
        ahead->jobs = ordered_jobs_new(threads, sizeof(struct decode_job), run_job);
    if (!ahead || !ahead->jobs) {
        free(ahead);
        return NULL;
    }
    ahead->reader = reader;
    ahead->fd = fd;
    ahead->stuck = true; /* until the reader says where it is */
    ahead->archive = rbwp_reader_is_archive(reader);
    if (ahead->archive)
        reader_set_chunks(reader, take_chunk, ahead);
    else
        rbwp_reader_set_decoded(reader, decode_ahead_on_block, ahead);
    return ahead;
}

void decode_ahead_stop(struct decode_ahead *ahead)
{
    if (!ahead)
        return;
    rbwp_reader_set_decoded(ahead->reader, NULL, NULL);
    reader_set_chunks(ahead->reader, NULL, NULL);
    ordered_jobs_free(ahead->jobs, stop_job);
    free(ahead);
}
