/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: pieces in a file, in the order of writing, and a last one in memory. */
#include "spool.h"
#include "message.h"
#include "temporary_file.h"
#include "thread_map.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spool_stored {
    uint64_t offset, bytes;
};

/* It is not whole: a message says why, once. */
static void spool_fail(struct spool *spool, const char *why)
{
    message_once(&spool->failed, "%s; the rest is dropped", why);
}

void spool_free(struct spool *spool)
{
    for (uint32_t i = 0; i < spool->count; i++) {
        free(spool->streams[i].text);
        free(spool->streams[i].pieces);
    }
    free(spool->streams);
    if (spool->fd >= 0)
        close(spool->fd);
}

uint32_t spool_add_stream(struct spool *spool)
{
    if (!GROW_ZEROED(spool->streams, spool->room, spool->count + 1)) {
        spool_fail(spool, "out of memory");
        return SPOOL_NONE;
    }
    return spool->count++;
}

static void spool_write_piece(struct spool *spool, struct spool_stream *stream)
{
    if (spool->fd < 0 && (spool->fd = temporary_file()) < 0)
        spool->failed = true; /* with the message given */
    if (spool->failed)
        return;
    if (!GROW_ZEROED(stream->pieces, stream->piece_room, stream->piece_count + 1)) {
        spool_fail(spool, "out of memory");
        return;
    }
    if (!write_all(spool->fd, stream->text, stream->used)) {
        message("a temporary file cannot be written: %s (set TMPDIR to a larger folder)",
                strerror(errno));
        spool->failed = true;
        return;
    }
    stream->pieces[stream->piece_count++] = (struct spool_stored){spool->file_bytes, stream->used};
    spool->file_bytes += stream->used;
    stream->used = 0;
}

char *spool_room_slow(struct spool *spool, uint32_t number, size_t bytes)
{
    if (spool->failed)
        return NULL;
    struct spool_stream *stream = &spool->streams[number];
    if (stream->used + bytes > spool->piece_bytes && stream->used)
        spool_write_piece(spool, stream);
    if (!spool->failed && !grow_array(&stream->text, &stream->room, stream->used + bytes, 1))
        spool_fail(spool, "out of memory");
    return spool->failed ? NULL : stream->text + stream->used;
}

/* ---- what is in it --------------------------------------------------------------------- */

static uint32_t spool_piece_count(const struct spool *spool, uint32_t number)
{
    const struct spool_stream *stream = &spool->streams[number];
    return stream->piece_count + (stream->used != 0);
}

/* Its pieces, in order; what was put between spool_room and spool_end is in one of them. They stay
 * where they are until more is put into the stream. */
static struct spool_piece spool_piece_at(const struct spool *spool, uint32_t number, uint32_t piece)
{
    const struct spool_stream *stream = &spool->streams[number];
    if (piece < stream->piece_count)
        return (struct spool_piece){NULL, stream->pieces[piece].offset,
                                    stream->pieces[piece].bytes};
    return (struct spool_piece){stream->text, 0, stream->used};
}

/* The same, since a piece cannot be read: an errno. */
static void spool_fail_to_read(struct spool *spool, int reason)
{
    message_once(&spool->failed, "a temporary file cannot be read back: %s",
                 reason ? strerror(reason) : "it is cut");
}

void spool_copy(struct spool *spool, uint32_t number, struct out *out)
{
    uint32_t count = spool_piece_count(spool, number);
    for (uint32_t i = 0; i < count && !spool->failed; i++) {
        struct spool_piece piece = spool_piece_at(spool, number, i);
        if (piece.text)
            out_bytes(out, piece.text, piece.bytes);
        else if (!out_from_file(out, spool->fd, piece.offset, piece.bytes))
            spool_fail_to_read(spool, errno);
    }
}

/* ---- spool print ----------------------------------------------------------------------------- */
/*
 * A job is a list of parts: pieces of streams, and of what was said between them. Its text is
 * written by a job of another queue, one after the other: so the system's part of writing is also
 * done by any thread.
 */

enum { JOB_BYTES = 8 << 10 }; /* from here on it is passed on */

struct part {
    value_text_fn *text; /* NULL: it was said, as so many bytes */
    bool first;
    struct spool_piece piece;
};

struct print_job {
    struct spool_print *print;
    struct part *parts;
    uint32_t count, room;
    size_t bytes;        /* of all parts */
    struct buffer said;  /* between streams */
    struct buffer piece; /* that was read */
    struct buffer text;
    bool unread;
    int read_errno;
};

struct write_job {
    struct spool_print *print;
    struct buffer text;
};

struct spool_print {
    struct spool *spool;
    struct out *out; /* of the writing jobs */
    atomic_bool out_failed;
    int64_t origin_ns;
    struct out between;
    struct ordered_jobs *jobs, *writes;
    struct print_job *job; /* that is being filled; NULL: none */
};

/* ---- on any thread ----------------------------------------------------------------------- */

static void print_piece(struct print_job *job, const struct part *part)
{
    const char *values = part->piece.text;
    if (!values) {
        job->piece.count = 0;
        char *room = (char *)buffer_reserve(&job->piece, part->piece.bytes);
        if (!room)
            return;
        job->unread =
            !read_all_at(job->print->spool->fd, room, part->piece.bytes, part->piece.offset);
        job->read_errno = errno;
        values = room;
    }
    if (!job->unread)
        part->text(job->print->origin_ns, &job->text, values, part->piece.bytes, part->first);
}

static void spool_print_run(void *context)
{
    struct print_job *job = context;
    const uint8_t *said = job->said.bytes;
    job->text.count = 0;
    if (job->said.failed)
        return; /* its parts promise more than is there */
    for (uint32_t i = 0; i < job->count && !job->unread; i++) {
        const struct part *part = &job->parts[i];
        if (part->text) {
            print_piece(job, part);
        } else {
            buffer_append(&job->text, said, part->piece.bytes);
            said += part->piece.bytes;
        }
    }
}

static void spool_print_stop(void *context)
{
    struct print_job *job = context;
    free(job->parts);
    buffer_free(&job->said);
    buffer_free(&job->piece);
    buffer_free(&job->text);
}

static void run_write(void *context)
{
    const struct write_job *job = context;
    struct out *out = job->print->out;
    out_large(out, (const char *)job->text.bytes, job->text.count);
    if (out_failed(out))
        atomic_store_explicit(&job->print->out_failed, true, memory_order_relaxed);
}

static void stop_write(void *context)
{
    struct write_job *job = context;
    buffer_free(&job->text);
}

/* ---- jobs ---------------------------------------------------------------------------------- */

/* The text and one that was written change places. */
static void spool_print_write_text(struct spool_print *print, struct print_job *job)
{
    struct write_job *write;
    while (!(write = ordered_jobs_next(print->writes)))
        (void)ordered_jobs_take(print->writes);
    struct buffer written = write->text;
    *write = (struct write_job){print, job->text};
    job->text = written;
    ordered_jobs_submit(print->writes);
}

static void end_job(struct spool_print *print, struct print_job *job)
{
    if (job->unread)
        spool_fail_to_read(print->spool, job->read_errno);
    else if (job->said.failed || job->piece.failed || job->text.failed)
        spool_fail(print->spool, "out of memory");
    else if (!print->spool->failed)
        spool_print_write_text(print, job);
}

static struct print_job *job_to_fill(struct spool_print *print)
{
    if (print->job)
        return print->job;
    while (!(print->job = ordered_jobs_next(print->jobs)))
        end_job(print, ordered_jobs_take(print->jobs));
    print->job->print = print;
    print->job->count = 0;
    print->job->bytes = 0;
    print->job->said.count = 0;
    return print->job;
}

static void spool_print_submit(struct spool_print *print)
{
    if (print->job)
        ordered_jobs_submit(print->jobs);
    print->job = NULL;
}

static void add_part(struct spool_print *print, const struct part *part)
{
    struct print_job *job = job_to_fill(print);
    if (!GROW_ARRAY(job->parts, job->room, job->count + 1)) {
        spool_fail(print->spool, "out of memory");
        return;
    }
    job->parts[job->count++] = *part;
    job->bytes += part->piece.bytes;
    if (job->bytes >= JOB_BYTES)
        spool_print_submit(print);
}

/* ---- what goes in -------------------------------------------------------------------------- */

static void spool_print_say(struct out *out, const char *bytes, size_t count)
{
    struct spool_print *print = out->layer_state;
    if (count == 0)
        return;
    buffer_append(&job_to_fill(print)->said, bytes, count);
    add_part(print, &(struct part){.piece.bytes = count});
}

static void free_print(struct spool_print *print)
{
    ordered_jobs_free(print->jobs, spool_print_stop);
    ordered_jobs_free(print->writes, stop_write);
    free(print->between.buffer);
    free(print);
}

struct spool_print *spool_print_new(struct spool *spool, struct out *out, int64_t origin_ns,
                                    struct job_threads *threads)
{
    struct spool_print *print = calloc(1, sizeof *print);
    if (!print)
        return NULL;
    *print = (struct spool_print){.spool = spool, .out = out, .origin_ns = origin_ns};
    print->between.layer = spool_print_say;
    print->between.layer_state = print;
    print->between.buffer = malloc(OUT_BUFFER_BYTES);
    print->jobs = ordered_jobs_new(threads, sizeof(struct print_job), spool_print_run);
    print->writes = ordered_jobs_new_serial(threads, sizeof(struct write_job), run_write);
    if (print->between.buffer && print->jobs && print->writes)
        return print;
    free_print(print);
    return NULL;
}

struct out *spool_print_between(struct spool_print *print)
{
    return &print->between;
}

static bool spool_print_is_full(struct spool_print *print)
{
    return print->spool->failed || atomic_load_explicit(&print->out_failed, memory_order_relaxed);
}

void spool_print_stream(struct spool_print *print, uint32_t stream, value_text_fn *text)
{
    uint32_t count = spool_piece_count(print->spool, stream);
    out_flush(&print->between);
    for (uint32_t i = 0; i < count && !spool_print_is_full(print); i++) {
        struct part part = {text, i == 0, spool_piece_at(print->spool, stream, i)};
        add_part(print, &part);
    }
}

void spool_print_finish(struct spool_print *print)
{
    struct print_job *job;
    if (!print)
        return;
    out_flush(&print->between);
    spool_print_submit(print);
    while ((job = ordered_jobs_take(print->jobs)))
        end_job(print, job);
    while (ordered_jobs_take(print->writes))
        ;
    free_print(print);
}

void spool_print_text(int64_t origin_ns, struct buffer *to, const char *values, size_t bytes,
                      bool first)
{
    (void)origin_ns;
    (void)first;
    buffer_append(to, values, bytes);
}
