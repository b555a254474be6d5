/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - many texts that grow at the same time, to be written one behind the other.
 *
 * Spans of tracks come mixed, and some formats want those of a track, or one
 * field of all of them, in one piece. Each stream keeps its last
 * piece_bytes in memory; what came before lies in one temporary file.
 */
#ifndef SPOOL_H
#define SPOOL_H

#include "out.h"

#include <stdbool.h>
#include <stdint.h>

#define SPOOL_PIECE_BYTES (32u << 10)
#define SPOOL_NONE UINT32_MAX

/* Bytes of a stream that lie together. */
struct spool_piece {
    const char *text; /* NULL: in the file */
    uint64_t offset, bytes;
};
struct spool_stored;
struct spool_stream {
    char *text; /* the last piece */
    size_t used, room;
    struct spool_stored *pieces;
    uint32_t piece_count, piece_room;
    int64_t last; /* spool_print.h */
};
struct spool {
    struct spool_stream *streams;
    uint32_t count, room;
    size_t piece_bytes;
    int fd; /* -1: none yet */
    uint64_t file_bytes;
    bool failed; /* a message was given */
};

#define SPOOL_EMPTY ((struct spool){.piece_bytes = SPOOL_PIECE_BYTES, .fd = -1})
void spool_free(struct spool *spool);

/* The number of a new stream, which counts up from 0; SPOOL_NONE when it failed. */
uint32_t spool_add_stream(struct spool *spool);
/* At least bytes of room at the end of a stream; write there, then spool_end with the end. NULL
 * when it failed. */
static inline char *spool_room(struct spool *spool, uint32_t stream, size_t bytes);
static inline void spool_end(struct spool *spool, uint32_t stream, const char *end);
/* All of a stream. */
void spool_copy(struct spool *spool, uint32_t stream, struct out *out);
/* Its pieces, in order; what was put between spool_room and spool_end is in one of them. They stay
 * where they are until more is put into the stream. */
uint32_t spool_piece_count(const struct spool *spool, uint32_t stream);
struct spool_piece spool_piece_at(const struct spool *spool, uint32_t stream, uint32_t number);
/* Of one in the file, on any thread. False with errno set, to 0 where the file is cut. */
bool spool_read(const struct spool *spool, const struct spool_piece *piece, void *to);
/* It is not whole: a message says why, once. */
void spool_fail(struct spool *spool, const char *why);
/* The same, since a piece cannot be read: an errno. */
void spool_fail_to_read(struct spool *spool, int reason);

/* The side of spool_room for what does not fit. */
char *spool_room_slow(struct spool *spool, uint32_t stream, size_t bytes);

static inline char *spool_room(struct spool *spool, uint32_t stream, size_t bytes)
{
    const struct spool_stream *at = &spool->streams[stream];
    size_t used = at->used + bytes;
    if (spool->failed || used > at->room || used > spool->piece_bytes)
        return spool_room_slow(spool, stream, bytes);
    return at->text + at->used;
}
static inline void spool_end(struct spool *spool, uint32_t stream, const char *end)
{
    struct spool_stream *at = &spool->streams[stream];
    at->used = (size_t)(end - at->text);
}

#endif /* SPOOL_H */
