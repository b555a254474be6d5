/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: pieces in a file, in the order of writing, and a last one in memory. */
#include "spool.h"
#include "message.h"
#include "temporary_file.h"
#include "thread_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spool_piece {
    uint64_t offset, bytes;
};

static void fail(struct spool *spool, const char *why)
{
    if (!spool->failed)
        message("%s; the rest is left out", why);
    spool->failed = true;
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
    if (!thread_array_grow(&spool->streams, &spool->room, spool->count + 1,
                           sizeof *spool->streams)) {
        fail(spool, "out of memory");
        return SPOOL_NONE;
    }
    return spool->count++;
}

static void write_piece(struct spool *spool, struct spool_stream *stream)
{
    if (spool->fd < 0 && (spool->fd = temporary_file()) < 0)
        spool->failed = true; /* with the message given */
    if (spool->failed)
        return;
    if (!thread_array_grow(&stream->pieces, &stream->piece_room, stream->piece_count + 1,
                           sizeof *stream->pieces)) {
        fail(spool, "out of memory");
        return;
    }
    if (!write_all(spool->fd, stream->text, stream->used)) {
        message("a temporary file cannot be written: %s (set TMPDIR to a larger folder)",
                strerror(errno));
        spool->failed = true;
        return;
    }
    stream->pieces[stream->piece_count++] = (struct spool_piece){spool->file_bytes, stream->used};
    spool->file_bytes += stream->used;
    stream->used = 0;
}

char *spool_room_slow(struct spool *spool, uint32_t number, size_t bytes)
{
    if (spool->failed)
        return NULL;
    struct spool_stream *stream = &spool->streams[number];
    if (stream->used + bytes > spool->piece_bytes && stream->used)
        write_piece(spool, stream);
    if (stream->used + bytes > stream->room && !spool->failed) {
        size_t room =
            2 * stream->room > stream->used + bytes ? 2 * stream->room : stream->used + bytes;
        char *moved = realloc(stream->text, room);
        if (!moved) {
            fail(spool, "out of memory");
            return NULL;
        }
        stream->text = moved;
        stream->room = room;
    }
    return spool->failed ? NULL : stream->text + stream->used;
}

void spool_copy(struct spool *spool, uint32_t number, struct out *out)
{
    const struct spool_stream *stream = &spool->streams[number];
    for (uint32_t i = 0; i < stream->piece_count && !spool->failed; i++)
        if (!out_from_file(out, spool->fd, stream->pieces[i].offset, stream->pieces[i].bytes)) {
            message("a temporary file cannot be read back: %s",
                    errno ? strerror(errno) : "it is cut");
            spool->failed = true;
        }
    if (!spool->failed && stream->used)
        out_bytes(out, stream->text, stream->used);
}
