/* SPDX-License-Identifier: Apache-2.0 */
/* A piece ends with an empty stored block, which brings the next one to a whole byte. */
#include "gzip_pieces.h"

#include <stdlib.h>
#include <zlib.h>

enum { PIECE_BYTES = 128 << 10, WINDOW_BYTES = 32 << 10, LEVEL = 6 };

struct piece {
    struct gzip_file *file;
    uint8_t *text, *packed;
    uint32_t before, count;
    size_t packed_bytes, packed_room; /* packed_bytes 0: it failed */
    uint32_t crc;
    bool ready; /* stream is initialised */
    z_stream stream;
};

struct gzip_pieces {
    struct ordered_jobs *jobs;
};

static uint8_t *new_text(void)
{
    return malloc(WINDOW_BYTES + PIECE_BYTES);
}

static void run(void *job)
{
    struct piece *piece = job;
    z_stream *stream = &piece->stream;
    uint8_t *begin = piece->text + piece->before;
    deflateReset(stream);
    if (piece->before)
        deflateSetDictionary(stream, piece->text, piece->before);
    stream->next_in = begin;
    stream->avail_in = piece->count;
    stream->next_out = piece->packed;
    stream->avail_out = (uInt)piece->packed_room;
    bool done = deflate(stream, Z_SYNC_FLUSH) == Z_OK && stream->avail_in == 0;
    piece->packed_bytes = done ? stream->total_out : 0;
    piece->crc = (uint32_t)crc32(crc32(0, NULL, 0), begin, piece->count);
}

static void stop(void *job)
{
    struct piece *piece = job;
    if (piece->ready)
        deflateEnd(&piece->stream);
    free(piece->text);
    free(piece->packed);
}

struct gzip_pieces *gzip_pieces_new(struct job_threads *threads)
{
    struct gzip_pieces *pieces = calloc(1, sizeof *pieces);
    if (pieces && (pieces->jobs = ordered_jobs_new(threads, sizeof(struct piece), run)))
        return pieces;
    free(pieces);
    return NULL;
}

void gzip_pieces_free(struct gzip_pieces *pieces)
{
    if (pieces)
        ordered_jobs_free(pieces->jobs, stop);
    free(pieces);
}

/* ---- pieces in, pieces out ------------------------------------------------------------- */

static void write_piece(const struct piece *piece)
{
    struct gzip_file *file = piece->file;
    file->failed |= piece->packed_bytes == 0;
    if (file->failed)
        return;
    out_bytes(file->out, (const char *)piece->packed, piece->packed_bytes);
    file->crc = (uint32_t)crc32_combine(file->crc, piece->crc, (z_off_t)piece->count);
    file->bytes += piece->count;
}

static bool make_ready(struct piece *piece)
{
    if (piece->ready)
        return true;
    if (deflateInit2(&piece->stream, LEVEL, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    piece->ready = true;
    piece->packed_room = deflateBound(&piece->stream, PIECE_BYTES) + 16;
    piece->packed = malloc(piece->packed_room);
    piece->text = new_text();
    return piece->packed && piece->text;
}

/* The file's text goes with the piece; the piece's own, which was written, becomes the file's. */
static void submit(struct gzip_file *file)
{
    struct ordered_jobs *jobs = file->pieces->jobs;
    struct piece *piece;
    while (!(piece = ordered_jobs_next(jobs)))
        write_piece(ordered_jobs_take(jobs));
    file->failed |= !make_ready(piece);
    if (file->failed || file->count == 0)
        return;
    uint8_t *text = file->text;
    uint32_t all = file->before + file->count, kept = all < WINDOW_BYTES ? all : WINDOW_BYTES;
    file->text = piece->text;
    memcpy(file->text, text + all - kept, kept);
    piece->file = file;
    piece->text = text;
    piece->before = file->before;
    piece->count = file->count;
    file->before = kept;
    file->count = 0;
    ordered_jobs_submit(jobs);
}

/* ---- a file ---------------------------------------------------------------------------- */

bool gzip_file_start(struct gzip_file *file, struct gzip_pieces *pieces, struct out *out)
{
    /* No name and no time in it: the same data give the same file. 255: system not told. */
    static const char head[] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)255};
    *file = (struct gzip_file){
        .out = out, .pieces = pieces, .text = new_text(), .crc = (uint32_t)crc32(0, NULL, 0)};
    if (!file->text)
        return false;
    out_bytes(out, head, sizeof head);
    return true;
}

void gzip_file_put(struct gzip_file *file, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    while (count > 0 && !file->failed) {
        size_t room = PIECE_BYTES - file->count, part = count < room ? count : room;
        memcpy(file->text + file->before + file->count, from, part);
        file->count += (uint32_t)part;
        from += part;
        count -= part;
        if (file->count == PIECE_BYTES)
            submit(file);
    }
}

bool gzip_file_finish(struct gzip_file *file)
{
    struct piece *piece;
    char end[10] = {3, 0}; /* an empty block, the last one */
    submit(file);
    while ((piece = ordered_jobs_take(file->pieces->jobs)))
        write_piece(piece);
    for (int i = 0; i < 4; i++) {
        end[2 + i] = (char)(file->crc >> 8 * i);
        end[6 + i] = (char)(file->bytes >> 8 * i);
    }
    if (!file->failed)
        out_bytes(file->out, end, sizeof end);
    free(file->text);
    return !file->failed;
}
