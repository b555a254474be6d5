/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation_by_field.c - the points of a space by the colour of each.
 *
 * The points come in order, so those of a colour do too: each colour has a
 * builder, and a run of one colour is one box.
 */
#include "operation.h"

#include <stdlib.h>
#include <string.h>

/* ---- the values of points, for all that have fields ---- */

void field_fetch(const struct field *field, const struct bands_piece *piece,
                 union field_values *values)
{
    const struct rbwp_field *given = &field->given;
    if (given->fill) {
        given->fill(given->argument, piece->point, piece->count, values);
        return;
    }
    uint64_t offset = 0; /* wraps: the sum is what counts */
    for (unsigned d = 0; d < BANDS_LEVELS; d++)
        offset += (uint64_t)(piece->point[d] - given->origin[d]) * (uint64_t)given->stride_bytes[d];
    const uint8_t *from = (const uint8_t *)given->values + (int64_t)offset;
    const int64_t stride = given->stride_bytes[0];
    if (stride == (int64_t)field->value_bytes) {
        memcpy(values, from, piece->count * field->value_bytes);
        return;
    }
    for (size_t i = 0; i < piece->count; i++)
        memcpy((uint8_t *)values + i * field->value_bytes, from + (int64_t)i * stride,
               field->value_bytes);
}

static int64_t field_color(const struct field *field, const union field_values *values, size_t i)
{
    const uint8_t *at = (const uint8_t *)values + i * field->value_bytes;
    switch (field->value_bytes) {
    case 1:
        return (int8_t)*at;
    case 2: {
        int16_t color;
        memcpy(&color, at, sizeof color);
        return color;
    }
    case 4: {
        int32_t color;
        memcpy(&color, at, sizeof color);
        return color;
    }
    default:
        return values->number[i];
    }
}

void field_box(const struct field *field, const union field_values *values, size_t i,
               struct span box_out[BANDS_LEVELS])
{
    if (field->given.rectangles) {
        space_box(&values->rectangle[i], field->dimensions, box_out);
        return;
    }
    const int64_t *point = &values->number[i * field->dimensions];
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        const int64_t at = d < field->dimensions ? point[d] : 0;
        /* No space has a point at INT64_MAX: that box is empty. */
        box_out[d] = (struct span){at, at < INT64_MAX ? at + 1 : at};
    }
}

/* ---- by field ---- */

struct by_field {
    struct bands_walk walk;
    struct operation_color last; /* looked up */
    bool knows_last;
    union field_values values;
    struct bands_builder builders[]; /* one of each result */
};

static void by_field_begin(struct operation *operation)
{
    struct by_field *by_field = operation->progress;
    bands_walk_begin(&by_field->walk, &operation->domain->bands);
}

/* SIZE_MAX: of no result. */
static size_t result_of(const struct operation *operation, int64_t color)
{
    size_t begin = 0, end = operation->count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (operation->colors[middle].color == color)
            return operation->colors[middle].result;
        if (operation->colors[middle].color < color)
            begin = middle + 1;
        else
            end = middle;
    }
    return SIZE_MAX;
}

static void put_run(struct operation *operation, const struct bands_piece *piece, size_t begin,
                    size_t end, int64_t color)
{
    struct by_field *by_field = operation->progress;
    if (!by_field->knows_last || by_field->last.color != color) {
        by_field->last = (struct operation_color){color, result_of(operation, color)};
        by_field->knows_last = true;
    }
    if (by_field->last.result == SIZE_MAX)
        return;
    const int64_t x = piece->point[0], y = piece->point[1], z = piece->point[2];
    const struct span box[BANDS_LEVELS] = {
        {x + (int64_t)begin, x + (int64_t)end}, {y, y + 1}, {z, z + 1}};
    bands_put(&by_field->builders[by_field->last.result], box);
}

static bool by_field_finish(struct operation *operation)
{
    struct by_field *by_field = operation->progress;
    for (size_t i = 0; i < operation->count; i++)
        operation->failed |= !bands_finish(&by_field->builders[i], &operation->made[i]);
    return false;
}

static bool by_field_step(struct operation *operation)
{
    struct by_field *by_field = operation->progress;
    struct bands_piece piece;
    if (!bands_walk_next(&by_field->walk, FIELD_PIECE_POINTS, &piece))
        return by_field_finish(operation);
    field_fetch(&operation->field, &piece, &by_field->values);
    for (size_t begin = 0, end; begin < piece.count; begin = end) {
        const int64_t color = field_color(&operation->field, &by_field->values, begin);
        end = begin + 1;
        while (end < piece.count && field_color(&operation->field, &by_field->values, end) == color)
            end++;
        put_run(operation, &piece, begin, end, color);
    }
    return true;
}

static void by_field_end(struct operation *operation)
{
    struct by_field *by_field = operation->progress;
    for (size_t i = 0; i < operation->count; i++)
        bands_builder_free(&by_field->builders[i]);
}

const struct operation_class operation_by_field = {sizeof(struct by_field),
                                                   sizeof(struct bands_builder), by_field_begin,
                                                   by_field_step, by_field_end};
