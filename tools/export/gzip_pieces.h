/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip_pieces.h - gzip files of one member each, compressed in pieces by all threads.
 *
 * Files that are written side by side share one queue of pieces, so memory is a
 * piece a file and a few of the queue's. A piece knows the last 32 KiB before
 * it, so that cutting costs a few bytes each; how many threads there are
 * changes nothing.
 */
#ifndef GZIP_PIECES_H
#define GZIP_PIECES_H

#include "ordered_jobs.h"
#include "out.h"

struct gzip_pieces;

/* NULL without memory. */
struct gzip_pieces *gzip_pieces_new(struct job_threads *threads);
/* All of its files are finished. NULL is fine. */
void gzip_pieces_free(struct gzip_pieces *pieces);

struct gzip_file {
    struct out *out;
    struct gzip_pieces *pieces;
    uint8_t *text; /* what came before, then the piece that is being filled */
    uint32_t before, count;
    uint32_t crc;
    uint64_t bytes;
    bool failed;
};

/* The file does not move until it is finished. False without memory. */
bool gzip_file_start(struct gzip_file *file, struct gzip_pieces *pieces, struct out *out);
void gzip_file_put(struct gzip_file *file, const void *bytes, size_t count);
/* False when something could not be compressed. */
bool gzip_file_finish(struct gzip_file *file);

#endif /* GZIP_PIECES_H */
