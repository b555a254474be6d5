/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_wire.h - the fields of a protobuf message, one after the other.
 *
 * Nothing is copied: bytes point into the message. What is no message ends as
 * if it were shorter, and bad says so.
 */
#ifndef PERFETTO_WIRE_H
#define PERFETTO_WIRE_H

#include "trace_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire_message {
    const uint8_t *at, *end;
    bool bad;
};

enum wire_shape { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint32_t number;
    uint32_t shape;       /* enum wire_shape */
    uint64_t value;       /* of numbers */
    const uint8_t *bytes; /* of WIRE_BYTES */
    size_t count;
};

static inline bool wire_varint(struct wire_message *message, uint64_t *value_out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        uint8_t byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value_out = value;
            return true;
        }
    }
    message->bad = true;
    return false;
}

static inline bool wire_fixed(struct wire_message *message, size_t bytes, uint64_t *value_out)
{
    message->bad = (size_t)(message->end - message->at) < bytes;
    for (size_t i = 0; !message->bad && i < bytes; i++)
        *value_out |= (uint64_t)*message->at++ << 8 * i;
    return !message->bad;
}

/* False at the end, and where bad. */
static inline bool wire_next(struct wire_message *message, struct wire_field *field)
{
    uint64_t tag;
    if (message->bad || message->at == message->end || !wire_varint(message, &tag))
        return false;
    *field = (struct wire_field){.number = (uint32_t)(tag >> 3), .shape = tag & 7};
    message->bad = tag >> 3 == 0 || tag >> 32;
    switch (field->shape) {
    case WIRE_VARINT:
        return !message->bad && wire_varint(message, &field->value);
    case WIRE_FIXED64:
        return !message->bad && wire_fixed(message, 8, &field->value);
    case WIRE_FIXED32:
        return !message->bad && wire_fixed(message, 4, &field->value);
    case WIRE_BYTES:
        if (message->bad || !wire_varint(message, &field->value))
            return false;
        message->bad = field->value > (uint64_t)(message->end - message->at);
        if (message->bad)
            return false;
        field->bytes = message->at;
        field->count = (size_t)field->value;
        message->at += field->count;
        return true;
    default:
        message->bad = true;
        return false;
    }
}

static inline struct wire_message wire_inside(const struct wire_field *field)
{
    size_t count = field->shape == WIRE_BYTES ? field->count : 0;
    return (struct wire_message){.at = field->bytes,
                                 .end = count ? field->bytes + count : field->bytes};
}

static inline struct trace_text wire_text(const struct wire_field *field)
{
    bool fits = field->shape == WIRE_BYTES && field->count <= UINT32_MAX;
    return (struct trace_text){fits && field->count ? (const char *)field->bytes : "",
                               fits ? (uint32_t)field->count : 0};
}

#endif /* PERFETTO_WIRE_H */
