/* SPDX-License-Identifier: Apache-2.0 */
/* block.h for programs. */
#include "rbwp_decoder.h"

#include "block.h"

#include <stdlib.h>

struct rbwp_decoder {
    struct block_decoder block;
};

struct rbwp_decoder *rbwp_decoder_new(uint32_t block_bytes_max)
{
    struct rbwp_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder)
        decoder->block.block_bytes_max = block_bytes_limit(block_bytes_max);
    return decoder;
}

void rbwp_decoder_free(struct rbwp_decoder *decoder)
{
    if (!decoder)
        return;
    block_decoder_free(&decoder->block);
    free(decoder);
}

void rbwp_decoder_header(const uint8_t bytes[RBWP_BLOCK_HEADER_BYTES],
                         struct rbwp_block_header *header_out)
{
    block_header_decode(bytes, header_out);
}

uint32_t rbwp_decoder_payload_bytes(const struct rbwp_decoder *decoder,
                                    const struct rbwp_block_header *header)
{
    struct rbwp_error ignored;
    bool valid = block_header_check(&decoder->block, header, 0, &ignored) == RBWP_OK;
    return valid ? block_payload_bytes(header) : 0;
}

enum rbwp_status rbwp_decoder_run(struct rbwp_decoder *decoder, const uint8_t *payload,
                                  struct rbwp_block *block)
{
    struct rbwp_error ignored;
    return block_decode(&decoder->block, payload, block, &ignored);
}
