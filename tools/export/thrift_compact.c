/* SPDX-License-Identifier: Apache-2.0 */
/* The compact protocol: an id's step and a type share a byte, integers are zigzag varints. */
#include "thrift_compact.h"

enum { TYPE_TRUE = 1, TYPE_FALSE = 2, TYPE_LIST = 9, STEP_MAX = 15 };

static void field(struct thrift *thrift, int id, int type)
{
    int *last = &thrift->last_id[thrift->depth - 1], step = id - *last;
    *last = id;
    if (step > 0 && step <= STEP_MAX) {
        bytes_byte(thrift->to, (uint8_t)(step << 4 | type));
        return;
    }
    bytes_byte(thrift->to, (uint8_t)type);
    bytes_varint(thrift->to, zigzag(id));
}

void thrift_begin(struct thrift *thrift)
{
    thrift->last_id[thrift->depth++] = 0;
}

void thrift_end(struct thrift *thrift)
{
    bytes_byte(thrift->to, 0);
    thrift->depth--;
}

void thrift_struct(struct thrift *thrift, int id)
{
    field(thrift, id, THRIFT_STRUCT);
    thrift_begin(thrift);
}

void thrift_i8(struct thrift *thrift, int id, int8_t value)
{
    field(thrift, id, THRIFT_I8);
    bytes_byte(thrift->to, (uint8_t)value);
}

void thrift_i32(struct thrift *thrift, int id, int32_t value)
{
    field(thrift, id, THRIFT_I32);
    bytes_varint(thrift->to, zigzag(value));
}

void thrift_i64(struct thrift *thrift, int id, int64_t value)
{
    field(thrift, id, THRIFT_I64);
    bytes_varint(thrift->to, zigzag(value));
}

void thrift_bool(struct thrift *thrift, int id, bool value)
{
    field(thrift, id, value ? TYPE_TRUE : TYPE_FALSE);
}

static void binary(struct thrift *thrift, const void *bytes, size_t count)
{
    bytes_varint(thrift->to, count);
    bytes_put(thrift->to, bytes, count);
}

void thrift_binary(struct thrift *thrift, int id, const void *bytes, size_t count)
{
    field(thrift, id, THRIFT_BINARY);
    binary(thrift, bytes, count);
}

void thrift_text(struct thrift *thrift, int id, const char *text)
{
    thrift_binary(thrift, id, text, strlen(text));
}

void thrift_list(struct thrift *thrift, int id, enum thrift_type type, size_t count)
{
    field(thrift, id, TYPE_LIST);
    if (count < 15) {
        bytes_byte(thrift->to, (uint8_t)(count << 4 | type));
        return;
    }
    bytes_byte(thrift->to, (uint8_t)(0xf0 | type));
    bytes_varint(thrift->to, count);
}

void thrift_i32_element(struct thrift *thrift, int32_t value)
{
    bytes_varint(thrift->to, zigzag(value));
}

void thrift_text_element(struct thrift *thrift, const char *text)
{
    binary(thrift, text, strlen(text));
}
