/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: pieces in a file, in the order of writing, and a last one in memory. */
#include "spool.h"
#include "grow.h"
#include "message.h"
#include "temporary_file.h"
#include "thread_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spool_stored {
    uint64_t offset, bytes;
};

void spool_fail(struct spool *spool, const char *why)
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
    if (!grow_zeroed32(&spool->streams, &spool->room, spool->count + 1, sizeof *spool->streams)) {
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
    if (!grow_zeroed32(&stream->pieces, &stream->piece_room, stream->piece_count + 1,
                       sizeof *stream->pieces)) {
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

uint32_t spool_piece_count(const struct spool *spool, uint32_t number)
{
    const struct spool_stream *stream = &spool->streams[number];
    return stream->piece_count + (stream->used != 0);
}

struct spool_piece spool_piece_at(const struct spool *spool, uint32_t number, uint32_t piece)
{
    const struct spool_stream *stream = &spool->streams[number];
    if (piece < stream->piece_count)
        return (struct spool_piece){NULL, stream->pieces[piece].offset,
                                    stream->pieces[piece].bytes};
    return (struct spool_piece){stream->text, 0, stream->used};
}

bool spool_read(const struct spool *spool, const struct spool_piece *piece, void *to)
{
    return read_all_at(spool->fd, to, piece->bytes, piece->offset);
}

void spool_fail_to_read(struct spool *spool, int reason)
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
