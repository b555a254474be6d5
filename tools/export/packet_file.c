/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of packets. A chunk is a job: its memory stays with it and is used
 * again. The encoder starts anew with each, so the bytes are the same however
 * many threads there are.
 */
#include "deflater.h"
#include "message.h"
#include "perfetto_trace.h"
#include "temporary_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {

    COPY_BYTES = 64 << 10
};

struct packet_chunk {
    bool deflate;
    size_t bytes, marks; /* of packets */
    size_t packed_bytes; /* 0: they stay as they are */
    uint8_t *packets, *packed;
    uint32_t *mark;
    struct deflater *encoder;
};

/* ---- one chunk -------------------------------------------------------------------- */

static void packet_file_stop_chunk(void *job)
{
    struct packet_chunk *chunk = job;
    free(chunk->packets);
    free(chunk->packed);
    free(chunk->mark);
    deflater_free(chunk->encoder);
}

static bool packet_file_start_chunk(struct packet_chunk *chunk, bool deflate)
{
    size_t room = PACKET_CHUNK_BYTES + DEFLATER_SLACK;
    chunk->deflate = deflate;
    if (!chunk->packets)
        chunk->packets = malloc(room);
    if (!chunk->mark)
        chunk->mark =
            malloc((PACKET_CHUNK_BYTES / PACKET_MARKED_BYTES_MIN + 1) * 2 * sizeof *chunk->mark);
    if (deflate && !chunk->packed)
        chunk->packed = malloc(room);
    if (deflate && !chunk->encoder)
        chunk->encoder = deflater_new(true);
    return chunk->packets && chunk->mark && (!deflate || (chunk->packed && chunk->encoder));
}

static void packet_file_run_chunk(void *job)
{
    struct packet_chunk *chunk = job;
    chunk->packed_bytes = 0;
    if (!chunk->deflate)
        return;
    chunk->packed_bytes = deflater_run(chunk->encoder, chunk->packets, chunk->bytes, chunk->mark,
                                       chunk->marks, chunk->packed);
}

/* Where the bytes of a chunk that has run are, and in head what stands before them. */
static const uint8_t *chunk_output(const struct packet_chunk *chunk, uint8_t head[2 * PB_HEAD_MAX],
                                   size_t *head_bytes, size_t *bytes)
{
    *head_bytes = 0;
    *bytes = chunk->packed_bytes ? chunk->packed_bytes : chunk->bytes;
    if (!chunk->packed_bytes)
        return chunk->packets;
    uint8_t inner[PB_HEAD_MAX];
    size_t inner_bytes = (size_t)(pb_head(inner, PF_PACKET_COMPRESSED_PACKETS, *bytes) - inner);
    uint8_t *end = pb_head(head, PF_TRACE_PACKET, inner_bytes + *bytes);
    memcpy(end, inner, inner_bytes);
    *head_bytes = (size_t)(end - head) + inner_bytes;
    return chunk->packed;
}

/* ---- streams of packets ------------------------------------------------------------- */

static void packet_file_fail(struct packet_file *file, const char *why)
{
    message_once(&file->failed, "spans are missing: %s", why);
}

static void packet_file_write_chunk(struct packet_file *file, const struct packet_chunk *chunk)
{
    uint8_t head[2 * PB_HEAD_MAX];
    size_t head_bytes, bytes;
    const uint8_t *data = chunk_output(chunk, head, &head_bytes, &bytes);
    out_bytes(file->out, (const char *)head, head_bytes);
    out_bytes(file->out, (const char *)data, bytes);
}

static void keep_chunk(struct packet_file *file, const struct packet_chunk *chunk)
{
    uint8_t head[2 * PB_HEAD_MAX];
    size_t head_bytes, bytes;
    const uint8_t *data = chunk_output(chunk, head, &head_bytes, &bytes);
    if (file->last_fd < 0 && (file->last_fd = temporary_file()) < 0)
        file->failed = true; /* with the message given */
    else if (!write_all(file->last_fd, (const char *)head, head_bytes) ||
             !write_all(file->last_fd, (const char *)data, bytes))
        packet_file_fail(file, strerror(errno));
}

/* Begins with an empty chunk. */
static void packet_file_fill(struct packets *packets, struct packet_chunk *chunk)
{
    packets->chunk = chunk;
    packets->start = packets->next = chunk->packets;
    packets->limit = chunk->packets + PACKET_CHUNK_BYTES;
    packets->mark = chunk->mark;
}

static void close_chunk(struct packets *packets)
{
    packets->chunk->bytes = (size_t)(packets->next - packets->start);
    packets->chunk->marks = (size_t)(packets->mark - packets->chunk->mark);
}

/* The chunk that is full is used again when there is no memory for another: its packets are
 * lost. */
static void next_chunk(struct packet_file *file)
{
    struct packet_chunk *chunk;
    close_chunk(&file->packets);
    ordered_jobs_submit(file->jobs);
    while (!(chunk = ordered_jobs_next(file->jobs)))
        packet_file_write_chunk(file, ordered_jobs_take(file->jobs));
    if (!packet_file_start_chunk(chunk, file->deflate)) {
        while ((chunk = ordered_jobs_take(file->jobs)))
            packet_file_write_chunk(file, chunk);
        chunk = file->packets.chunk;
        packet_file_fail(file, "out of memory");
    }
    packet_file_fill(&file->packets, chunk);
}

void packet_flush(struct packets *packets)
{
    struct packet_file *file = packets->file;
    if (packets == &file->packets) {
        next_chunk(file);
        return;
    }
    close_chunk(packets);
    packet_file_run_chunk(packets->chunk);
    keep_chunk(file, packets->chunk);
    packet_file_fill(packets, packets->chunk);
}

/* ---- the file ----------------------------------------------------------------------- */

bool packet_file_start(struct packet_file *file, struct out *out, struct job_threads *threads,
                       bool deflate)
{
    *file = (struct packet_file){.out = out, .last_fd = -1, .deflate = deflate};
    file->packets.file = file->last.file = file;
    file->jobs = ordered_jobs_new(threads, sizeof(struct packet_chunk), packet_file_run_chunk);
    file->last.chunk = calloc(1, sizeof *file->last.chunk);
    struct packet_chunk *chunk = file->jobs ? ordered_jobs_next(file->jobs) : NULL;
    if (chunk && file->last.chunk && packet_file_start_chunk(chunk, deflate) &&
        packet_file_start_chunk(file->last.chunk, deflate)) {
        packet_file_fill(&file->packets, chunk);
        packet_file_fill(&file->last, file->last.chunk);
        return true;
    }
    message("out of memory");
    ordered_jobs_free(file->jobs, packet_file_stop_chunk);
    if (file->last.chunk)
        packet_file_stop_chunk(file->last.chunk);
    free(file->last.chunk);
    return false;
}

static void copy_last(struct packet_file *file)
{
    char buffer[COPY_BYTES];
    ssize_t got = 0;
    for (off_t at = 0; file->last_fd >= 0; at += got) {
        got = pread(file->last_fd, buffer, sizeof buffer, at);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            break;
        out_bytes(file->out, buffer, (size_t)got);
    }
    if (got < 0)
        packet_file_fail(file, strerror(errno));
    close_chunk(&file->last);
    packet_file_run_chunk(file->last.chunk);
    packet_file_write_chunk(file, file->last.chunk);
}

bool packet_file_finish(struct packet_file *file)
{
    struct packet_chunk *chunk;
    close_chunk(&file->packets);
    ordered_jobs_submit(file->jobs);
    while ((chunk = ordered_jobs_take(file->jobs)))
        packet_file_write_chunk(file, chunk);
    copy_last(file);
    ordered_jobs_free(file->jobs, packet_file_stop_chunk);
    packet_file_stop_chunk(file->last.chunk);
    free(file->last.chunk);
    if (file->last_fd >= 0)
        close(file->last_fd);
    return !file->failed;
}
