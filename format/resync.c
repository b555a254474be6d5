/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resync.c - see resync.h.
 *
 * Every offset is tried, since blocks have no mark and no alignment. Three
 * sieves keep that fast: sizes and record count that agree (a few comparisons a
 * byte, garbage passes once in thousands), the first record's time against the
 * base time (62 bits), and then the whole block. What comes through all three
 * is a block, not chance.
 *
 * A hostile file can be made of places that pass the second sieve and fail the
 * third late. So the work spent on failures is counted and may not exceed a
 * multiple of the bytes passed; then the search is given up.
 */
#include "resync.h"

#include "bytes.h"
#include "rules.h"

#define SCAN_BYTES (64u << 10)
#define LOOK_BYTES 64u /* of payload, for the second sieve */
#define LOOK_COST 256u /* of the second sieve, in units of bytes decoded */
#define SPEND_FREE (64u << 20)
#define SPEND_PER_BYTE 16u

/* First sieve: R12, R13, R14 for a block with records, in the order that fails soonest. */
static bool sizes_agree(const uint8_t *header, uint32_t block_bytes_max)
{
    uint32_t data = load_le32(header + 24);
    if (data - RBWP_RECORD_BYTES_MIN > block_bytes_max - RBWP_RECORD_BYTES_MIN)
        return false;
    uint32_t stored = load_le32(header + 28), records = load_le32(header + 12);
    return stored <= block_bytes_max && records != 0 && records <= data / RBWP_RECORD_BYTES_MIN &&
           (uint64_t)records * RBWP_RECORD_BYTES_MAX >= data &&
           (stored == 0 || data <= (uint64_t)stored * ZLIB_EXPANSION_MAX);
}

/* Second and third sieve. RBWP_OK: a block; RBWP_END: none; RBWP_E_IO, RBWP_E_MEMORY. */
static enum rbwp_status try_offset(struct resync *resync, struct source *source,
                                   struct block_decoder *decoder, struct rbwp_block *block,
                                   uint64_t end, struct rbwp_error *error)
{
    struct view view;
    struct rbwp_error ignored;
    uint32_t payload_bytes = block_payload_bytes(&block->header);
    uint32_t look_bytes = payload_bytes < LOOK_BYTES ? payload_bytes : LOOK_BYTES;
    uint64_t payload = block->offset + RBWP_BLOCK_HEADER_BYTES;
    if (payload_bytes > end - payload)
        return RBWP_END;
    enum rbwp_status status = source_view(source, payload, look_bytes, &view, error);
    if (status != RBWP_OK)
        return status;
    resync->spent += LOOK_COST;
    if (view.count < look_bytes ||
        (block->header.records &&
         !block_looks_valid(decoder, &block->header, view.bytes, view.count)))
        return RBWP_END;
    status = source_view(source, payload, payload_bytes, &view, error);
    if (status != RBWP_OK)
        return status;
    if (view.count == payload_bytes) {
        status = block_decode(decoder, view.bytes, block, &ignored);
        /* A block that must be understood is a block: the reader refuses it, not the search. */
        if (status == RBWP_OK || status == RBWP_E_VERSION)
            return RBWP_OK;
        if (status == RBWP_E_MEMORY) {
            *error = ignored;
            return status;
        }
    }
    resync->spent += (uint64_t)payload_bytes + block->header.data_bytes;
    return RBWP_END;
}

static bool may_be_block(const uint8_t *header, uint64_t offset, struct resync_range range,
                         const struct block_decoder *decoder, struct rbwp_block *block_out)
{
    bool opaque = offset == range.block_end && load_le32(header + 12) == 0;
    if (!opaque && !sizes_agree(header, decoder->block_bytes_max))
        return false;
    *block_out = (struct rbwp_block){.offset = offset};
    block_header_decode(header, &block_out->header);
    struct rbwp_error ignored;
    return !opaque || block_header_check(decoder, &block_out->header, offset, &ignored) == RBWP_OK;
}

enum rbwp_status resync_find(struct resync *resync, struct source *source,
                             struct block_decoder *decoder, struct resync_range range,
                             uint64_t *offset_out, struct rbwp_error *error)
{
    for (uint64_t offset = range.from;;) {
        struct view view;
        uint64_t left = range.end - offset;
        size_t want = left < SCAN_BYTES ? (size_t)left : SCAN_BYTES;
        enum rbwp_status status = source_view(source, offset, want, &view, error);
        if (status != RBWP_OK)
            return status;
        if (view.count < RBWP_BLOCK_HEADER_BYTES) {
            *offset_out = offset + view.count;
            return RBWP_END;
        }
        size_t places = view.count - RBWP_BLOCK_HEADER_BYTES + 1, place = 0;
        struct rbwp_block block;
        while (place < places &&
               !may_be_block(view.bytes + place, offset + place, range, decoder, &block))
            place++;
        offset += place;
        if (place == places)
            continue;
        status = try_offset(resync, source, decoder, &block, range.end, error);
        if (status != RBWP_END) {
            *offset_out = block.offset;
            return status;
        }
        offset++;
        if (resync->spent > SPEND_FREE + offset * SPEND_PER_BYTE) {
            *offset_out = offset;
            return RBWP_E_LIMIT;
        }
    }
}
