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
#include "parquet_encode.h"

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
    int64_t last; /* spool_print */
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

/* ---- spool print ----------------------------------------------------------------------------- */
/*
 * Streams of a spool that hold values, which become text when all is written.
 *
 * Values take a tenth of the room of their text, and are made into it by all threads. What a writer
 * says between two streams goes through the same queue, so that all is in its order and small
 * streams wait for each other no more than large ones.
 */

/* Numbers in the streams of a spool: as few bytes as they need, seven bits in
 * each.
 *
 * Of numbers that lie near the ones before them the difference is kept, which begins anew with
 * every piece, so that a piece can be read without the others. The inner loops of some exports:
 * hence inline. */

/* ---- written ------------------------------------------------------------------------------- */

static inline char *put_short(char *at, uint64_t value)
{
    return (char *)store_varint((uint8_t *)at, value);
}

/* The difference of value from the last one of the piece, at at, which spool_room gave. */
static inline char *put_difference(struct spool *spool, uint32_t stream, char *at, int64_t value)
{
    struct spool_stream *of = &spool->streams[stream];
    int64_t last = at == of->text ? 0 : of->last;
    int64_t step = (int64_t)((uint64_t)value - (uint64_t)last);
    of->last = value;
    return put_short(at, zigzag(step));
}

/* A value alone. Nothing is said of a spool that failed. */
static inline void spool_put_number(struct spool *spool, uint32_t stream, uint64_t value)
{
    char *at = spool_room(spool, stream, VARINT_BYTES_MAX);
    if (at)
        spool_end(spool, stream, put_short(at, value));
}
static inline void spool_put_near(struct spool *spool, uint32_t stream, int64_t value)
{
    char *at = spool_room(spool, stream, VARINT_BYTES_MAX);
    if (at)
        spool_end(spool, stream, put_difference(spool, stream, at, value));
}

/* ---- read again ------------------------------------------------------------------------------ */

/* A piece: at its beginning last is 0. */
struct spool_values {
    const char *at;
    int64_t last;
};

static inline uint64_t get_short(struct spool_values *values)
{
    uint64_t value = 0;
    uint8_t byte;
    unsigned shift = 0;
    do {
        byte = (uint8_t)*values->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && shift < 64);
    return value;
}
static inline int64_t get_near(struct spool_values *values)
{
    uint64_t step = get_short(values);
    values->last = (int64_t)((uint64_t)values->last + (step >> 1 ^ (0 - (step & 1))));
    return values->last;
}

struct spool_print;

/* The text of the values in a piece; first: none of their stream came before. On any thread. */
typedef void value_text_fn(int64_t origin_ns, struct buffer *to, const char *values, size_t bytes,
                           bool first);

/* origin_ns is what text functions get. NULL without memory. */
struct spool_print *spool_print_new(struct spool *spool, struct out *out, int64_t origin_ns,
                                    struct job_threads *threads);
/* Where what stands between streams is written. */
struct out *spool_print_between(struct spool_print *print);
/* All values of a stream, which nothing more comes into. */
void spool_print_stream(struct spool_print *print, uint32_t stream, value_text_fn *text);
/* All of it is in out, unless the spool has failed. NULL is fine. */
void spool_print_finish(struct spool_print *print);

/* A stream of text. */
value_text_fn spool_print_text;

#endif /* SPOOL_H */
