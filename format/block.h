/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - one block: its header, its payload, its records (SPEC.md, sections 4, 5 and 9).
 */
#ifndef BLOCK_H
#define BLOCK_H

#include "rbwp_reader.h"

#include <zlib.h>

void block_header_encode(const struct rbwp_block_header *header,
                         uint8_t bytes[RBWP_BLOCK_HEADER_BYTES]);
void block_header_decode(const uint8_t bytes[RBWP_BLOCK_HEADER_BYTES],
                         struct rbwp_block_header *header_out);

/* Bytes of payload as stored. */
static inline uint32_t block_payload_bytes(const struct rbwp_block_header *header)
{
    return header->stored_bytes ? header->stored_bytes : header->data_bytes;
}

/* What a caller's wish comes to: 0 is the most there may be. */
static inline uint32_t block_bytes_limit(uint32_t wanted)
{
    return wanted == 0 || wanted > RBWP_BLOCK_BYTES_MAX ? RBWP_BLOCK_BYTES_MAX : wanted;
}

/* True for four ASCII letters or digits, the first a letter (R41). */
bool block_tag_valid(const uint8_t tag[4]);

/* Inflates into memory that is used again for each block. Zeros are a valid start. */
struct block_decoder {
    uint32_t block_bytes_max;
    uint8_t *data;
    uint32_t capacity;
    struct inflater *inflater;
    z_stream zlib; /* for what the inflater does not take, and for beginnings */
    bool zlib_ready;
};
void block_decoder_free(struct block_decoder *decoder);

/* Checks what the header alone says: R12, R13, R14, R40. offset is the block's, for error. */
enum rbwp_status block_header_check(const struct block_decoder *decoder,
                                    const struct rbwp_block_header *header, uint64_t offset,
                                    struct rbwp_error *error);

/*
 * Decodes and checks the payload of a header that passed block_header_check: R15 to R19, R41, R42.
 * Fills data, first_ns and last_ns of block (header and offset are set by the caller). data is the
 * payload itself or the decoder's memory. RBWP_OK, RBWP_E_CORRUPT, RBWP_E_VERSION (R42),
 * RBWP_E_MEMORY.
 */
enum rbwp_status block_decode(struct block_decoder *decoder, const uint8_t *payload,
                              struct rbwp_block *block, struct rbwp_error *error);

/*
 * Copies the first bytes of the data, at most want of them, from the first count bytes of the
 * payload: how many these give; -1: they are no zlib stream, or there is no memory.
 */
int block_begin(struct block_decoder *decoder, const struct rbwp_block_header *header,
                const uint8_t *payload, size_t count, uint8_t *begin, uint32_t want);

/*
 * A cheap look at the first bytes of the payload of a header with records: can this be a block?
 * count may be less than the whole payload, and is taken as promising if it is too little to say.
 */
bool block_looks_valid(struct block_decoder *decoder, const struct rbwp_block_header *header,
                       const uint8_t *payload, size_t count);

#endif /* BLOCK_H */
