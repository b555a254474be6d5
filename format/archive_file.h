/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_file.h - the parts of an archive other than what its chunks hold (SPEC.md, section 16).
 */
#ifndef ARCHIVE_FILE_H
#define ARCHIVE_FILE_H

#include "rbwp_format.h"

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

#endif /* ARCHIVE_FILE_H */
