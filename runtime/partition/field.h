/* SPDX-License-Identifier: Apache-2.0 */
/* field.h - the values of points, fetched a piece at a time. */
#ifndef FIELD_H
#define FIELD_H

#include "bands_walk.h"
#include "rbwp_partition.h"
#include "space.h"

enum { FIELD_PIECE_POINTS = 128 };

/* Room for the values of a piece, as they are stored or filled in. */
union field_values {
    int64_t number[FIELD_PIECE_POINTS * BANDS_LEVELS];
    struct rbwp_rectangle rectangle[FIELD_PIECE_POINTS];
};

struct field {
    struct rbwp_field given;
    unsigned dimensions; /* of the space that it points into; 0: its values are colours */
    size_t value_bytes;
};

/* Checks a field of points of so many dimensions. NULL, or what is wrong. */
const char *field_init(struct field *field, const struct rbwp_field *given,
                       unsigned point_dimensions, unsigned value_dimensions);
/* The values of the points of a piece, of at most FIELD_PIECE_POINTS. */
void field_fetch(const struct field *field, const struct bands_piece *piece,
                 union field_values *values);
int64_t field_color(const struct field *field, const union field_values *values, size_t i);
/* Value number i as a box. */
void field_box(const struct field *field, const union field_values *values, size_t i,
               struct span box_out[BANDS_LEVELS]);

#endif /* FIELD_H */
