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

#include <stdatomic.h>

/* ---- space ----------------------------------------------------------------------------------- */
/*
 * Index spaces: a set of points with references and a status.
 *
 * A space that an operation will make is pending. Its set is written once, by
 * the operation, before the status becomes RBWP_OK, and never again.
 */

struct rbwp_space {
    atomic_size_t references; /* dropped: release; by the last one: acquire */
    _Atomic int status;       /* enum rbwp_status. Settled: release; read: acquire */
    unsigned dimensions;
    const void *maker; /* the partitioner that is to make it; only to be compared */
    struct bands bands;
};

/* A pending one with one reference. NULL without memory. */
struct rbwp_space *space_pending(unsigned dimensions, const void *maker);
/* Ends the wait. With RBWP_OK the space takes the set over, otherwise it is not looked at. */
void space_settle(struct rbwp_space *space, enum rbwp_status status, struct bands *bands);

/* A rectangle as levels see it: 0 to 1 in dimensions that the space has not. */
void space_box(const struct rbwp_rectangle *rectangle, unsigned dimensions,
               struct span box_out[BANDS_LEVELS]);

/* Why a call of this room was refused: fills error, which may be NULL, and returns status. */
enum rbwp_status partition_refuse(struct rbwp_error *error, enum rbwp_status status,
                                  const char *reason);

/* ---- operation ------------------------------------------------------------------------------- */

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
    size_t bytes, bytes_each;                   /* of progress; for each source or colour */
    void (*begin)(struct operation *operation); /* progress is 0; NULL: that is enough */
    bool (*step)(struct operation *operation);  /* true while there is more; sets failed */
    void (*end)(struct operation *operation);   /* frees what progress has */
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
