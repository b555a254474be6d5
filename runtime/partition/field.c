/* SPDX-License-Identifier: Apache-2.0 */
/* field.c - the values of points, fetched a piece at a time. */
#include "field.h"

#include <string.h>

static const char *check_colors(struct field *field)
{
    const uint32_t bytes = field->given.color_bytes;
    if (field->given.rectangles)
        return "a field of colours has rectangles set";
    if (bytes != 0 && bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return "color_bytes is not 1, 2, 4 or 8";
    if (field->given.fill && bytes != 0 && bytes != 8)
        return "color_bytes is not 8 and the field is computed";
    field->value_bytes = bytes != 0 ? bytes : 8;
    return NULL;
}

static const char *check_strides(struct field *field, unsigned point_dimensions)
{
    int64_t *stride = field->given.stride_bytes;
    if (stride[0] == 0)
        stride[0] = (int64_t)field->value_bytes;
    for (unsigned d = 1; d < point_dimensions; d++)
        if (stride[d] == 0)
            return "a stride of a field in memory, beyond dimension 0, is 0";
    for (unsigned d = point_dimensions; d < RBWP_SPACE_DIMENSIONS_MAX; d++)
        stride[d] = 0;
    return NULL;
}

const char *field_init(struct field *field, const struct rbwp_field *given,
                       unsigned point_dimensions, unsigned value_dimensions)
{
    const char *reason = NULL;
    *field = (struct field){.given = *given, .dimensions = value_dimensions};
    if (!given->values == !given->fill)
        return "a field has neither values nor fill, or both";
    if (value_dimensions == 0)
        reason = check_colors(field);
    else
        field->value_bytes =
            given->rectangles ? sizeof(struct rbwp_rectangle) : value_dimensions * sizeof(int64_t);
    return reason || given->fill ? reason : check_strides(field, point_dimensions);
}

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

int64_t field_color(const struct field *field, const union field_values *values, size_t i)
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
