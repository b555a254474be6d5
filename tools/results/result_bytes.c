/* SPDX-License-Identifier: Apache-2.0 */
#include "result_bytes.h"
#include "histogram.h"
#include "trace_track.h"

#include <stdlib.h>
#include <string.h>

static uint64_t get_varint(struct result_bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = cursor_take(&bytes->in, 1);
        if (!byte)
            break;
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if (!(*byte & 0x80))
            return value;
    }
    bytes->broken = true;
    return 0;
}

void result_bytes_u64(struct result_bytes *bytes, uint64_t *value)
{
    if (bytes->out)
        buffer_varint(bytes->out, *value);
    else
        *value = get_varint(bytes);
}

void result_bytes_i64(struct result_bytes *bytes, int64_t *value)
{
    uint64_t stored = zigzag(*value);
    result_bytes_u64(bytes, &stored);
    *value = (int64_t)(stored >> 1 ^ (0 - (stored & 1)));
}

static void put_u32(struct result_bytes *bytes, uint32_t *value)
{
    uint64_t wide = *value;
    result_bytes_u64(bytes, &wide);
    bytes->broken |= wide > UINT32_MAX;
    *value = (uint32_t)wide;
}

void result_bytes_count(struct result_bytes *bytes, uint32_t *count, uint32_t most)
{
    put_u32(bytes, count);
    if (!bytes->out && (*count > bytes->in.left || *count > most || bytes->broken)) {
        bytes->broken = true;
        *count = 0;
    }
}

static void result_bytes_put_text(struct result_bytes *bytes, struct trace_text *value)
{
    put_u32(bytes, &value->bytes);
    if (bytes->out) {
        buffer_append(bytes->out, value->text, value->bytes);
        return;
    }
    const uint8_t *text = cursor_take(&bytes->in, value->bytes);
    char *copy = text && !bytes->broken ? malloc(value->bytes + (size_t)1) : NULL;
    bytes->broken |= !copy;
    value->text = copy;
    value->bytes = copy ? value->bytes : 0;
    if (copy) {
        memcpy(copy, text, value->bytes);
        copy[value->bytes] = '\0';
    }
}

static void put_histogram(struct result_bytes *bytes, struct histogram *histogram)
{
    put_u32(bytes, &histogram->first);
    result_bytes_count(bytes, &histogram->buckets, HISTOGRAM_BUCKETS);
    result_bytes_u64(bytes, &histogram->total);
    if (!bytes->out) {
        bytes->broken |= histogram->first > HISTOGRAM_BUCKETS - histogram->buckets;
        histogram->counts = calloc(histogram->buckets + (size_t)1, sizeof *histogram->counts);
        bytes->broken |= !histogram->counts;
    }
    for (uint32_t i = 0; i < histogram->buckets && !bytes->broken; i++)
        result_bytes_u64(bytes, &histogram->counts[i]);
}

static bool is_allowed(const struct result_bytes *bytes, const struct result_column *column,
                       uint64_t value)
{
    if (column->unit == RESULT_CHOICE)
        return value < (uint64_t)column->what;
    if (column->unit == RESULT_INDEX)
        return value < bytes->things[column->what] || (column->optional && value == TRACE_NONE);
    return column->bytes == sizeof value || value >> 8 * column->bytes == 0;
}

static void result_bytes_put_number(struct result_bytes *bytes, const struct result_column *column,
                                    void *field)
{
    uint64_t wide = 0;
    uint32_t narrow;
    if (column->unit == RESULT_TIME) {
        result_bytes_i64(bytes, field);
        return;
    }
    if (bytes->out)
        wide = result_number(column, field);
    result_bytes_u64(bytes, &wide);
    bytes->broken |= !is_allowed(bytes, column, wide);
    narrow = (uint32_t)wide;
    if (bytes->out)
        return;
    if (column->bytes == 1)
        *(uint8_t *)field = column->unit == RESULT_BOOL ? wide != 0 : (uint8_t)wide;
    else if (column->bytes == sizeof narrow)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &wide, sizeof wide);
}

/* Behind a pointer: made when it is read, unless another part of the row made it. */
static void result_bytes_put_part(struct result_bytes *bytes, const struct result_column *column,
                                  char *field)
{
    const struct result_column *columns = column->kept ? column->kept : column->part;
    if (column->unit == RESULT_PART) {
        result_bytes_row(bytes, columns, field);
        return;
    }
    void *part;
    memcpy(&part, field, sizeof part);
    uint64_t there = part != NULL;
    result_bytes_u64(bytes, &there);
    if (there && !bytes->out && !bytes->broken && !part) {
        part = calloc(1, column->stride);
        bytes->broken |= !part;
        memcpy(field, &part, sizeof part);
    }
    if (there && part)
        result_bytes_row(bytes, columns, part);
}

void result_bytes_row(struct result_bytes *bytes, const struct result_column *columns, void *row)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        char *field = (char *)row + column->offset;
        if (!column->bytes)
            continue;
        if (column->part || column->kept)
            result_bytes_put_part(bytes, column, field);
        else if (column->unit == RESULT_TEXT)
            result_bytes_put_text(bytes, (struct trace_text *)(void *)field);
        else if (column->unit == RESULT_HISTOGRAM)
            put_histogram(bytes, (struct histogram *)(void *)field);
        else
            result_bytes_put_number(bytes, column, field);
    }
}
