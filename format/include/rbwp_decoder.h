/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_decoder.h - decode single blocks, out of order and on any thread.
 *
 * For programs that read a file with several threads: they walk the block
 * headers ahead of the reader, decode with one decoder a thread, and hand the
 * results to the reader (rbwp_reader_set_decoded), which stays the one that
 * judges the file.
 */
#ifndef RBWP_DECODER_H
#define RBWP_DECODER_H

#include "rbwp_reader.h"

RBWP_C_BEGIN_

struct rbwp_decoder; /* one per thread at a time */

/* NULL without memory. To be freed by rbwp_decoder_free, which takes NULL. block_bytes_max as in
 * rbwp_reader_options. */
RBWP_API struct rbwp_decoder *rbwp_decoder_new(uint32_t block_bytes_max);
RBWP_API void rbwp_decoder_free(struct rbwp_decoder *decoder);

/* The header as it stands in the file. */
RBWP_API void rbwp_decoder_header(const uint8_t bytes[RBWP_BLOCK_HEADER_BYTES],
                                  struct rbwp_block_header *header_out);

/* Bytes of payload behind this header; 0 if it is not valid (no block has none). */
RBWP_API uint32_t rbwp_decoder_payload_bytes(const struct rbwp_decoder *decoder,
                                             const struct rbwp_block_header *header);

/*
 * Inflates and checks the payload of block->header, which has a valid header, and fills data
 * (valid until the next run, or the payload itself), first_ns and last_ns. RBWP_OK,
 * RBWP_E_CORRUPT, RBWP_E_VERSION (an opaque block that must be understood), RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_decoder_run(struct rbwp_decoder *decoder, const uint8_t *payload, struct rbwp_block *block);

RBWP_C_END_
#endif /* RBWP_DECODER_H */
