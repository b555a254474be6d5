/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf.h - the wire form of protocol buffers, as far as it is written here.
 *
 * Every call writes at a place that has room and returns the end. A message
 * inside a message is written behind pb_open and closed with pb_close, which
 * puts its length into three bytes; ones that are small and many, whose length
 * is known, begin with pb_head. Header only:
 * the calls are in the inner loop of an exporter.
 */
#ifndef PROTOBUF_H
#define PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PB_VARINT_MAX 10
#define PB_HEAD_MAX (2 * PB_VARINT_MAX)
#define PB_MESSAGE_MAX ((1u << 21) - 1) /* behind pb_open */

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2 };

static inline uint8_t *pb_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *pb_tag(uint8_t *at, unsigned field, enum pb_type type)
{
    return pb_varint(at, field << 3 | type);
}

static inline uint8_t *pb_u64(uint8_t *at, unsigned field, uint64_t value)
{
    return pb_varint(pb_tag(at, field, PB_VARINT), value);
}

static inline uint8_t *pb_fixed64(uint8_t *at, unsigned field, uint64_t value)
{
    at = pb_tag(at, field, PB_FIXED64);
    for (int i = 0; i < 8; i++)
        *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

/* What stands before a message, text or bytes of known length. */
static inline uint8_t *pb_head(uint8_t *at, unsigned field, size_t bytes)
{
    return pb_varint(pb_tag(at, field, PB_BYTES), bytes);
}

static inline uint8_t *pb_bytes(uint8_t *at, unsigned field, const void *data, size_t bytes)
{
    at = pb_head(at, field, bytes);
    if (bytes)
        memcpy(at, data, bytes);
    return at + bytes;
}

static inline uint8_t *pb_text(uint8_t *at, unsigned field, const char *text)
{
    return pb_bytes(at, field, text, strlen(text));
}

/* Begins a message; what is returned is its inside and goes to pb_close. */
static inline uint8_t *pb_open(uint8_t *at, unsigned field)
{
    return pb_tag(at, field, PB_BYTES) + 3;
}
/* A varint may have more bytes than it needs. */
static inline uint8_t *pb_close(uint8_t *inside, uint8_t *end)
{
    size_t bytes = (size_t)(end - inside);
    inside[-3] = (uint8_t)(bytes | 0x80);
    inside[-2] = (uint8_t)(bytes >> 7 | 0x80);
    inside[-1] = (uint8_t)(bytes >> 14);
    return end;
}

#endif /* PROTOBUF_H */
