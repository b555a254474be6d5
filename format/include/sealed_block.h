/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealed_block.h - what the recorder does to blocks that others have no need of (rbwp_writer.h):
 * the way in for its many records, and what is done to finished ones.
 */
#ifndef SEALED_BLOCK_H
#define SEALED_BLOCK_H

#include "bytes.h"
#include "rbwp_writer.h"

struct yield_hook;

/*
 * Where an encoder's next records go, for records of work items and sub-items that nearly all come
 * shortly after each other. Between open and close nothing else is called of the encoder. A record
 * that is put here has the same bytes as by rbwp_block_encoder_put; one that is refused (a block's
 * first, one out of order or long after the last, one that there is no room for) is for that to
 * put, after the close.
 */
struct block_cursor {
    uint8_t *data;
    uint64_t at, limit; /* in data; a record begins before the limit */
    uint32_t *unit;
    uint64_t previous_ns;
};
void block_cursor_open(const struct rbwp_block_encoder *encoder, struct block_cursor *cursor_out);
void block_cursor_close(const struct block_cursor *cursor, struct rbwp_block_encoder *encoder);

/* Of one of the four kinds that are no GPU work, with so many bytes of the id (0, a slot's 1, a
 * sub-item's 2). Eight bytes are stored at once: there is slack behind the data. */
static inline bool block_cursor_put(struct block_cursor *cursor, int64_t time_ns, unsigned kind,
                                    unsigned payload, unsigned id)
{
    const uint64_t time = (uint64_t)time_ns & ((UINT64_C(1) << RBWP_TIME_BITS) - 1);
    const uint64_t delta = time - cursor->previous_ns;
    const uint64_t body = (uint64_t)id << 8 | kind;
    uint64_t at = cursor->at;
    if (at >= cursor->limit)
        return false;
    if (__builtin_expect(delta < 1u << 15, 1)) {
        store_le64(cursor->data + at, body << 16 | __builtin_bswap16((uint16_t)delta));
        at += 2;
    } else if (delta < 1u << 30) {
        store_be32(cursor->data + at, (uint32_t)delta | 2u << 30);
        store_le64(cursor->data + at + 4, body);
        at += 4;
    } else {
        return false;
    }
    *cursor->unit++ = (uint32_t)at;
    cursor->at = at + 1 + payload;
    cursor->previous_ns = time;
    return true;
}

/* From the next seal on: whether compression at level 1 takes half the time, for up to a tenth more
 * bytes. Other levels know no hurry. */
void block_encoder_hurry(struct rbwp_block_encoder *encoder, bool hurries);

/* Run while a block is compressed; NULL: none. */
void block_encoder_yield_by(struct rbwp_block_encoder *encoder, struct yield_hook *yield_hook);

/* Gives a finished block another sequence number, in the caller's copy of its bytes. */
void sealed_block_renumber(uint8_t *bytes, uint32_t sequence);

#endif /* SEALED_BLOCK_H */
