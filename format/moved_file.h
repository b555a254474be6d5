/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moved_file.h - what a trailer says of places and sums, when all blocks of the file get others
 * (SPEC.md, sections 10.1, 10.8 and 10.13).
 *
 * Blocks stay the same and in their order, only their stored sizes change; so the ranges of both
 * indexes stay what they are, and no byte of the tail but places, sizes and sums.
 */
#ifndef MOVED_FILE_H
#define MOVED_FILE_H

#include "block.h"
#include "reader.h"

struct moved_range; /* of TIDX */

struct moved_file {
    uint8_t *tail; /* tables and trailer, to be written behind the blocks */
    size_t tail_bytes;
    uint64_t offset; /* of the next block, now */

    uint8_t *index; /* entries of INDX in the tail; NULL: there are none */
    uint32_t index_bytes, index_count, index_next;
    uint64_t range_offset; /* of the range that is being gone through, now */
    uint32_t crc_before, crc_now;

    struct moved_range *ranges; /* by table and offset */
    uint32_t range_count;
    uint8_t *tables;  /* of TABL; NULL: there is none */
    uint8_t *footer;  /* NULL: there is no trailer */
    uint8_t *trailer; /* its sections */
};

/* Of a reader that is no stream, before its first block. RBWP_E_MEMORY. End it in each case. */
enum rbwp_status moved_file_begin(struct moved_file *moved, const struct rbwp_reader *reader,
                                  struct rbwp_error *error);
void moved_file_end(struct moved_file *moved);

/* The next block, as it was stored and as it is to be: head and payload. RBWP_E_CORRUPT: the
 * trailer does not fit the blocks, or the sum of a range is wrong. */
enum rbwp_status moved_file_block(struct moved_file *moved, const struct rbwp_block *block,
                                  struct view before, const uint8_t head[RBWP_BLOCK_HEADER_BYTES],
                                  struct view payload, struct rbwp_error *error);

/* Behind the last block: the tail is then as it is to be written at moved->offset. */
enum rbwp_status moved_file_finish(struct moved_file *moved, struct rbwp_error *error);

#endif /* MOVED_FILE_H */
