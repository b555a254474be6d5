/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_bytes.h - one encoded record (SPEC.md, section 5).
 *
 * The inner loop of every reader, so it is inline. It reads up to
 * RBWP_RECORD_BYTES_MAX bytes whatever the record's length is; near the end of
 * a block the caller passes a padded copy (record_tail).
 */
#ifndef RECORD_BYTES_H
#define RECORD_BYTES_H

#include "bytes.h"
#include "rbwp_format.h"

/* Bytes after the timestamp by kind: 1 + payload; 0 = no such kind. */
extern const uint8_t record_body_bytes[256];

/* Decodes the timestamp at bytes; the time before is *time_ns, which becomes this one. Returns its
 * length. */
static inline uint32_t record_time(const uint8_t *bytes, int64_t *time_ns)
{
    uint64_t word = load_be64(bytes);
    if (!(word >> 63)) {
        *time_ns += (int64_t)(word >> 48);
        return 2;
    }
    if (!(word >> 62 & 1)) {
        *time_ns += (int64_t)(word >> 32 & 0x3fffffff);
        return 4;
    }
    *time_ns = (int64_t)(word & ((UINT64_C(1) << RBWP_TIME_BITS) - 1));
    return 8;
}

/* The last bytes of a block, with zeros behind them. left < RBWP_RECORD_BYTES_MAX. */
struct record_tail {
    uint8_t bytes[2 * RBWP_RECORD_BYTES_MAX];
};
static inline const uint8_t *record_pad(struct record_tail *tail, const uint8_t *bytes, size_t left)
{
    memset(tail->bytes, 0, sizeof(tail->bytes));
    memcpy(tail->bytes, bytes, left);
    return tail->bytes;
}

#endif /* RECORD_BYTES_H */
