/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - where a reader's bytes come from: memory, a regular file or a stream, or the archive
 * in one of these.
 *
 * All three are looked at through source_view: some bytes at an offset. Offsets
 * must not go backwards (except for source_rewind), so that a stream needs to
 * keep no more than what lies between the last offset asked for and what was
 * read ahead.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "rbwp_format.h"

enum source_kind { SOURCE_MEMORY, SOURCE_FILE, SOURCE_STREAM };

struct source {
    enum source_kind kind;
    int fd;
    bool owns_fd;
    bool at_end;           /* the stream has ended; of a file: no more bytes come */
    uint64_t size;         /* memory: all; file: at open, less if it shrank; stream: bytes seen */
    const uint8_t *memory; /* SOURCE_MEMORY */
    uint8_t *window;       /* the others: file bytes from window_offset on, filled of them */
    uint64_t window_offset;
    size_t filled, capacity;
    struct archive *archive; /* the bytes are those of the file in it; NULL: they are as they are */
};

/* What source_view shows. Valid until the next call on the source. */
struct view {
    const uint8_t *bytes;
    size_t count;
};

enum rbwp_status source_open_path(struct source *source, const char *path,
                                  struct rbwp_error *error);
enum rbwp_status source_open_fd(struct source *source, int fd, struct rbwp_error *error);
void source_open_memory(struct source *source, const void *data, size_t size_bytes);
void source_close(struct source *source);

/*
 * If an archive begins here, source becomes the file that is in it: a stream if it was one, else
 * like a regular file. RBWP_E_CORRUPT of source_view is then a damaged chunk. On failure source is
 * closed.
 */
enum rbwp_status source_open_archive(struct source *source, struct rbwp_error *error);

/*
 * Shows `want` bytes from offset on, fewer only where the data end. RBWP_OK, RBWP_E_IO,
 * RBWP_E_MEMORY. want bounds the memory used, but for one read-ahead of fixed size.
 */
enum rbwp_status source_view(struct source *source, uint64_t offset, size_t want,
                             struct view *view_out, struct rbwp_error *error);

/* Of an archive: where the damaged chunk ends in which source_view did not show this byte, else 0;
 * and whether its end is missing, with error saying so. */
uint64_t source_damage_end(const struct source *source, uint64_t offset);
bool source_is_cut(const struct source *source, struct rbwp_error *error);

/* Copies bytes from anywhere in memory or a file, without moving the window. All or RBWP_E_IO (of
 * an archive RBWP_E_CORRUPT, too). */
enum rbwp_status source_copy(struct source *source, uint64_t offset, void *to, size_t count,
                             struct rbwp_error *error);

/* Takes the present size of a file, which may have grown since. RBWP_E_IO. */
enum rbwp_status source_look_again(struct source *source, struct rbwp_error *error);

/* Allows offsets from 0 again. Not for streams. */
void source_rewind(struct source *source);

#endif /* SOURCE_H */
