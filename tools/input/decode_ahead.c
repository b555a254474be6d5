/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses the next blocks. */
#include "decode_ahead.h"
#include "rbwp_decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct decode_job {
    int fd;
    uint32_t payload_bytes, room;
    uint8_t *payload;
    struct rbwp_decoder *decoder;
    struct rbwp_block block;
    bool good;
};

struct decode_ahead {
    struct rbwp_reader *reader;
    struct ordered_jobs *jobs;
    int fd;
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
    free(job->payload);
}

static void run_job(void *context)
{
    struct decode_job *job = context;
    job->good = read_all(job->fd, job->payload, job->payload_bytes,
                         job->block.offset + RBWP_BLOCK_HEADER_BYTES) &&
                rbwp_decoder_run(job->decoder, job->payload, &job->block) == RBWP_OK;
}

static bool reserve(struct decode_job *job, uint32_t bytes)
{
    if (bytes <= job->room)
        return true;
    free(job->payload);
    job->payload = malloc(bytes);
    job->room = job->payload ? bytes : 0;
    return job->payload;
}

/* Fills the job with the block at next_offset. */
static bool guess(struct decode_ahead *ahead, struct decode_job *job)
{
    uint8_t bytes[RBWP_BLOCK_HEADER_BYTES];
    if (!job->decoder && !(job->decoder = rbwp_decoder_new(DECODE_AHEAD_BYTES)))
        return false;
    if (!read_all(ahead->fd, bytes, sizeof bytes, ahead->next_offset))
        return false;
    job->block = (struct rbwp_block){.offset = ahead->next_offset};
    rbwp_decoder_header(bytes, &job->block.header);
    job->payload_bytes = rbwp_decoder_payload_bytes(job->decoder, &job->block.header);
    job->fd = ahead->fd;
    return job->payload_bytes && reserve(job, job->payload_bytes);
}

static void guess_more(struct decode_ahead *ahead)
{
    struct decode_job *job;
    while (!ahead->stuck && (job = ordered_jobs_next(ahead->jobs))) {
        if (!guess(ahead, job)) {
            ahead->stuck = true;
            return;
        }
        ahead->next_offset += RBWP_BLOCK_HEADER_BYTES + (uint64_t)job->payload_bytes;
        ordered_jobs_submit(ahead->jobs);
    }
}

static bool same_header(const struct rbwp_block_header *a, const struct rbwp_block_header *b)
{
    return a->thread_id == b->thread_id && a->sequence == b->sequence && a->records == b->records &&
           a->base_time_ns == b->base_time_ns && a->data_bytes == b->data_bytes &&
           a->stored_bytes == b->stored_bytes;
}

static bool take(void *context, struct rbwp_block *block)
{
    struct decode_ahead *ahead = context;
    guess_more(ahead);
    struct decode_job *job = ordered_jobs_take(ahead->jobs);
    if (!job || job->block.offset != block->offset) { /* begin anew here */
        while (ordered_jobs_take(ahead->jobs))
            ;
        ahead->next_offset = block->offset;
        ahead->stuck = false;
        guess_more(ahead);
        job = ordered_jobs_take(ahead->jobs);
    }
    if (!job)
        return false;
    bool good = job->good && same_header(&job->block.header, &block->header);
    if (good) {
        job->block.index = block->index;
        *block = job->block;
    }
    return good;
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
    rbwp_reader_set_decoded(reader, take, ahead);
    return ahead;
}

void decode_ahead_stop(struct decode_ahead *ahead)
{
    if (!ahead)
        return;
    rbwp_reader_set_decoded(ahead->reader, NULL, NULL);
    ordered_jobs_free(ahead->jobs, stop_job);
    free(ahead);
}
