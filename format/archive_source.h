/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_source.h - an archive as the bytes of the version-1 file that it holds.
 *
 * Chunks are decoded when their bytes are asked for, one is held. Of a stream they come in their
 * order, and none comes again; otherwise they are found by the places at the archive's end, or, if
 * that is missing, by going from one to the next.
 */
#ifndef ARCHIVE_SOURCE_H
#define ARCHIVE_SOURCE_H

#include "chunk_ahead.h"
#include "chunk_code.h"
#include "rbwp_format.h"
#include "source.h"

/* ---- what stands in an archive beside that which its chunks hold (SPEC.md, section 16) ------- */

#define ARCHIVE_VERSION 0x0101u /* of the header: version 1, archived in the first way */

#define ARCHIVE_CHUNK_HEAD_BYTES 32u
#define ARCHIVE_FOOTER_BYTES 32u
#define ARCHIVE_PLACE_BYTES 16u
#define ARCHIVE_CHUNK_BYTES_MAX (18u << 20) /* that a chunk gives: a block and a bit */

enum archive_tag { ARCHIVE_BLOCKS, ARCHIVE_BYTES, ARCHIVE_INDEX, ARCHIVE_TAGS };

struct archive_chunk {
    enum archive_tag tag;
    uint32_t payload_bytes;
    uint64_t place; /* where its bytes are in the version-1 file */
    uint32_t bytes;
    uint32_t records;
    uint32_t crc32c; /* of the payload */
};
void archive_chunk_encode(const struct archive_chunk *chunk, const uint8_t *payload,
                          uint8_t head[ARCHIVE_CHUNK_HEAD_BYTES]);
/* False: it is no head of a chunk (R81). */
bool archive_chunk_decode(const uint8_t head[ARCHIVE_CHUNK_HEAD_BYTES],
                          struct archive_chunk *chunk_out);

struct archive_footer {
    uint64_t index_offset; /* of the head of the chunk of places */
    uint64_t bytes;        /* of the version-1 file */
    uint32_t chunks;       /* that give it */
};
void archive_footer_encode(const struct archive_footer *footer,
                           uint8_t bytes[ARCHIVE_FOOTER_BYTES]);
bool archive_footer_decode(const uint8_t bytes[ARCHIVE_FOOTER_BYTES],
                           struct archive_footer *footer_out);

/* ---- a chunk of an archive and the bytes of the plain file that it gives --------------------- */

/* Zeros are a valid start. */
struct chunk_holder {
    struct archive_chunk chunk;
    uint8_t *data; /* chunk.bytes of them, once decoded */
    size_t data_room;
    struct chunk_decoder decoder;
};

/* ---- archive source -------------------------------------------------------------------------- */

struct archive_place {
    uint64_t offset; /* of the chunk in the archive */
    uint64_t place;  /* of its bytes */
};

struct archive {
    struct source inner;
    uint8_t header[RBWP_FILE_HEADER_BYTES]; /* with version 1 */
    struct archive_place *places;
    size_t count, room;
    uint64_t bytes;       /* of the version-1 file; of a stream: seen so far */
    uint64_t next_offset; /* of a stream's next chunk; where the search for chunks ended */
    bool at_end;          /* a stream's last chunk was seen */
    bool cut;             /* its end is missing */

    struct archive_chunk chunk; /* the one that is held */
    bool has_chunk;
    struct rbwp_error wrong;         /* status RBWP_OK: chunk and held go together */
    const struct chunk_holder *held; /* own, or of who decodes ahead */
    struct chunk_holder own;
    chunk_taken_fn *taken; /* NULL: nobody decodes ahead */
    void *taken_context;
    size_t looked; /* at so many heads of the chunk, up to the block at looked_place */
    uint64_t looked_place;
};

/* Whether these are the first bytes of one. */
bool archive_begins(const uint8_t *bytes, size_t count);

/* Takes over inner, also on failure. RBWP_E_IO, RBWP_E_MEMORY, RBWP_E_CORRUPT. */
enum rbwp_status archive_open(struct source *inner, struct archive **archive_out,
                              struct rbwp_error *error);
/* See reader_set_chunks. */
void archive_set_chunks(struct archive *archive, chunk_taken_fn *taken, void *context);
/* NULL is fine. */
void archive_close(struct archive *archive);

/*
 * Shows the bytes from offset on, to the end of a chunk; none behind the last one. Valid until the
 * next call. RBWP_E_CORRUPT: their chunk is damaged, and goes to archive_damage_end.
 */
enum rbwp_status archive_view(struct archive *archive, uint64_t offset, struct view *view_out,
                              struct rbwp_error *error);

/* Where the damaged chunk ends that has this byte; 0: the chunk held is not damaged, or another. */
uint64_t archive_damage_end(const struct archive *archive, uint64_t offset);

/* Whether the block at this offset, which was viewed last, was compressed before. Ascending. */
bool archive_block_packed(struct archive *archive, uint64_t offset);

#endif /* ARCHIVE_SOURCE_H */
