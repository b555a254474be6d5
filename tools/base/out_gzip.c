/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression in pieces. Each ends with an empty stored block, which brings
 * the next one to a whole byte: 5 bytes for OUT_GZIP_PIECE_BYTES of text.
 */
#include "out_gzip.h"
#include "message.h"

#include <stdlib.h>
#include <zlib.h>

enum { OUT_GZIP_PIECE_BYTES = 1 << 20, LEVEL = 1 };

struct gzip_piece {
    size_t bytes, packed_bytes; /* packed_bytes 0: it failed */
    size_t packed_room;
    unsigned char *text, *packed;
    uLong crc;
    bool ready; /* stream is initialised */
    z_stream stream;
};

struct gzip_layer {
    struct ordered_jobs *jobs;
    struct gzip_piece *piece; /* being filled */
    uLong crc;
    uint64_t bytes;
    bool failed;
};

bool out_gzip_wanted(const char *path)
{
    size_t bytes = path ? strlen(path) : 0;
    return bytes > 3 && strcmp(path + bytes - 3, ".gz") == 0;
}

/* ---- pieces -------------------------------------------------------------------------- */

static void stop_piece(void *job)
{
    struct gzip_piece *piece = job;
    if (piece->ready)
        deflateEnd(&piece->stream);
    free(piece->text);
    free(piece->packed);
}

static bool start_piece(struct gzip_piece *piece)
{
    piece->bytes = 0;
    if (piece->ready)
        return true;
    if (deflateInit2(&piece->stream, LEVEL, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    piece->ready = true;
    piece->packed_room = deflateBound(&piece->stream, OUT_GZIP_PIECE_BYTES) + 16;
    piece->text = malloc(OUT_GZIP_PIECE_BYTES);
    piece->packed = malloc(piece->packed_room);
    return piece->text && piece->packed;
}

static void run_piece(void *job)
{
    struct gzip_piece *piece = job;
    z_stream *stream = &piece->stream;
    deflateReset(stream);
    stream->next_in = piece->text;
    stream->avail_in = (uInt)piece->bytes;
    stream->next_out = piece->packed;
    stream->avail_out = (uInt)piece->packed_room;
    bool done = deflate(stream, Z_SYNC_FLUSH) == Z_OK && stream->avail_in == 0;
    piece->packed_bytes = done ? stream->total_out : 0;
    piece->crc = crc32(crc32(0, NULL, 0), piece->text, (uInt)piece->bytes);
}

static void out_gzip_fail(struct gzip_layer *layer)
{
    if (!layer->failed)
        message("out of memory; the output is cut");
    layer->failed = true;
}

static void out_gzip_write_piece(struct out *out, const struct gzip_piece *piece)
{
    struct gzip_layer *layer = out->layer_state;
    if (piece->packed_bytes == 0)
        out_gzip_fail(layer);
    if (layer->failed)
        return;
    out_write(out, (const char *)piece->packed, piece->packed_bytes);
    layer->crc = crc32_combine(layer->crc, piece->crc, (z_off_t)piece->bytes);
    layer->bytes += piece->bytes;
}

static void next_piece(struct out *out)
{
    struct gzip_layer *layer = out->layer_state;
    ordered_jobs_submit(layer->jobs);
    while (!(layer->piece = ordered_jobs_next(layer->jobs)))
        out_gzip_write_piece(out, ordered_jobs_take(layer->jobs));
    if (!start_piece(layer->piece))
        out_gzip_fail(layer);
}

static void take_bytes(struct out *out, const char *bytes, size_t count)
{
    struct gzip_layer *layer = out->layer_state;
    while (count > 0 && !layer->failed) {
        size_t room = OUT_GZIP_PIECE_BYTES - layer->piece->bytes,
               part = count < room ? count : room;
        memcpy(layer->piece->text + layer->piece->bytes, bytes, part);
        layer->piece->bytes += part;
        bytes += part;
        count -= part;
        if (layer->piece->bytes == OUT_GZIP_PIECE_BYTES)
            next_piece(out);
    }
}

/* ---- the member ------------------------------------------------------------------------ */

bool out_gzip_start(struct out *out, struct job_threads *threads)
{
    /* No name and no time in it: the same data give the same file. 255: system not told. */
    static const char head[] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)255};
    struct gzip_layer *layer = calloc(1, sizeof *layer);
    if (layer)
        layer->jobs = ordered_jobs_new(threads, sizeof(struct gzip_piece), run_piece);
    if (layer && layer->jobs)
        layer->piece = ordered_jobs_next(layer->jobs);
    if (!layer || !layer->piece || !start_piece(layer->piece)) {
        message("out of memory");
        if (layer)
            ordered_jobs_free(layer->jobs, stop_piece);
        free(layer);
        return false;
    }
    layer->crc = crc32(0, NULL, 0);
    out_flush(out);
    out_write(out, head, sizeof head);
    out->layer = take_bytes;
    out->layer_state = layer;
    return true;
}

static void write_end(struct out *out, const struct gzip_layer *layer)
{
    unsigned char end[10] = {3, 0}; /* an empty block, the last one */
    for (int i = 0; i < 4; i++) {
        end[2 + i] = (unsigned char)(layer->crc >> 8 * i);
        end[6 + i] = (unsigned char)(layer->bytes >> 8 * i);
    }
    out_write(out, (const char *)end, sizeof end);
}

bool out_gzip_finish(struct out *out)
{
    struct gzip_layer *layer = out->layer_state;
    struct gzip_piece *piece;
    out_flush(out);
    if (!layer->failed)
        ordered_jobs_submit(layer->jobs);
    while ((piece = ordered_jobs_take(layer->jobs)))
        out_gzip_write_piece(out, piece);
    if (!layer->failed)
        write_end(out, layer);
    bool whole = !layer->failed;
    ordered_jobs_free(layer->jobs, stop_piece);
    free(layer);
    out->layer = NULL;
    return whole;
}
