/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation.h - operations, step by step.
 *
 * An operation keeps references to the spaces that it needs and to those that
 * it makes. Between begin and end a step does a little of it, so that whoever
 * calls can look at the clock. The ways of going on of those with a field have a file each; all of
 * them put boxes into builders in order, so no step looks at all of anything.
 */
#ifndef OPERATION_H
#define OPERATION_H

#include "bands.h"
#include "rbwp_partition.h"
#include "space.h"

/* ---- the values of points, fetched a piece at a time ----------------------------------------- */

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

/* The values of the points of a piece, of at most FIELD_PIECE_POINTS. */
void field_fetch(const struct field *field, const struct bands_piece *piece,
                 union field_values *values);
/* Value number i as a box. */
void field_box(const struct field *field, const union field_values *values, size_t i,
               struct span box_out[BANDS_LEVELS]);

/* ---- operation ------------------------------------------------------------------------------- */

enum { OPERATION_STRETCHES = 512 }; /* of a merge in one step */

struct operation;

struct operation_class {
    bool (*begin)(struct operation *operation); /* makes progress; false: no memory */
    bool (*step)(struct operation *operation);  /* true while there is more; sets failed */
    void (*end)(struct operation *operation);   /* frees what begin made; progress is not NULL */
};

/* A colour, and which result has its points. */
struct operation_color {
    int64_t color;
    size_t result;
};

struct operation {
    const struct operation_class *class;
    enum rbwp_partition_kind kind;
    size_t count; /* of sources, and of colours */
    struct rbwp_space *domain;
    struct rbwp_space **sources, **others; /* others: count of them, of a single one all the same */
    struct operation_color *colors;        /* sorted */
    struct field field;

    size_t results_count;
    struct rbwp_space **results;
    struct bands *made; /* the set of each result, as far as they are made */

    void *progress; /* the class's own, NULL before begin */
    bool failed;    /* no memory */
};

/*
 * Checks what a caller wrote and keeps copies and references. results_out gets the pending results
 * with a reference each. *operation_out is NULL unless RBWP_OK is returned; *reason_out says why
 * not (static text).
 */
enum rbwp_status operation_new(const struct rbwp_partition *partition, const void *maker,
                               struct operation **operation_out, struct rbwp_space **results_out,
                               const char **reason_out);
/* RBWP_AGAIN while there is more; RBWP_OK when all results are made, or what went wrong. */
enum rbwp_status operation_step(struct operation *operation);
/* Settles the results with a status and frees the operation. */
void operation_end(struct operation *operation, enum rbwp_status status);

extern const struct operation_class operation_by_field, operation_image, operation_preimage;

#endif /* OPERATION_H */
