/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_partition.h - dependent partitioning as background work.
 *
 * An index space is a set of points of one to three dimensions: any number of
 * rectangles, as sparse as they may be. Operations compute spaces from spaces
 * and from data: the points whose field has a given colour, the points that
 * the pointers of a space lead to (image), the points whose pointers lead into
 * a space (preimage), and unions, intersections and differences.
 *
 *     struct rbwp_partitioner *partitioner;
 *     rbwp_partitioner_new(manager, "partitioning", -1, &partitioner, &error);
 *     struct rbwp_space *grid, *tile[4], *halo[4];
 *     rbwp_space_new(2, &(struct rbwp_rectangle){.high = {1000, 1000}}, 1, &grid, &error);
 *     rbwp_partition_submit(partitioner, &by_owner, tile, NULL, &error);
 *     rbwp_partition_submit(partitioner, &neighbours_of_tiles, halo, NULL, &error);
 *     rbwp_work_drain(manager);
 *
 * A partitioner is a work item of a manager (rbwp_work.h) with a queue of
 * operations, which workers carry out in the order of submission. Results are
 * there at once, as spaces that are not ready yet; they may be given to further
 * operations of the same partitioner without waiting. Several partitioners run
 * side by side.
 *
 * In a profile the partitioner is the work item, under its own name, and each
 * micro-operation, which is what one operation did in one time slice, is a
 * level-2 sub-item of type RBWP_DEPPART_OP: "by field op", "image op",
 * "preimage op", "union op", "intersection op" or "difference op".
 *
 * Threads: any call may be made from any thread, do_work and done included, unless it says
 * otherwise. No call waits for an operation but the ones that say so.
 */
#ifndef RBWP_PARTITION_H
#define RBWP_PARTITION_H

#include "rbwp_work.h"

RBWP_C_BEGIN_

#define RBWP_SPACE_DIMENSIONS_MAX 3
/* No coordinate of a space is smaller than its negative, none larger than it. */
#define RBWP_SPACE_COORDINATE_MAX (INT64_C(1) << 62)

/* ---- index spaces ----------------------------------------------------------------- */

/* The points with low[d] <= p[d] < high[d] in each dimension. Dimension 0 varies fastest. What it
 * says of dimensions that its space does not have is not looked at, and given as 0 and 1. */
struct rbwp_rectangle {
    int64_t low[RBWP_SPACE_DIMENSIONS_MAX];
    int64_t high[RBWP_SPACE_DIMENSIONS_MAX];
};

/*
 * A set of points that never changes, opaque. It is counted: who gets one from a call owns a
 * reference and ends it with rbwp_space_release. Spaces with the same points have the same
 * rectangles, however they were made: the last dimension is cut where the set changes, each of
 * these slabs likewise into rows, and each of these into runs.
 */
struct rbwp_space;

/*
 * Makes a space of the points that lie in any of the rectangles; they may overlap, come in any
 * order, and be empty (low >= high). At once, on the calling thread. *space_out is the caller's,
 * NULL on failure. RBWP_E_INVALID: dimensions not 1 to 3, a coordinate out of range; RBWP_E_MEMORY.
 * error may be NULL.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_space_new(unsigned dimensions,
                                                       const struct rbwp_rectangle *rectangles,
                                                       size_t count, struct rbwp_space **space_out,
                                                       struct rbwp_error *error);

/* One more reference to the same space; returns it. */
RBWP_API struct rbwp_space *rbwp_space_keep(const struct rbwp_space *space);
/* Ends a reference; the last one frees the space. NULL is fine. */
RBWP_API void rbwp_space_release(struct rbwp_space *space);

/*
 * RBWP_OK: its points are known, and what the thread that computed them wrote before is seen.
 * RBWP_AGAIN: the operation that makes it has not ended. Otherwise the status it ended with.
 * The calls below take a space that is not ready for an empty one.
 */
RBWP_API enum rbwp_status rbwp_space_status(const struct rbwp_space *space);
/* 1 to 3; also of a space that is not ready. */
RBWP_API unsigned rbwp_space_dimensions(const struct rbwp_space *space);
/* How many points, UINT64_MAX if there are more. Takes time by the number of rectangles. */
RBWP_API uint64_t rbwp_space_points(const struct rbwp_space *space);
/* How many rectangles; no two share a point. */
RBWP_API size_t rbwp_space_rectangles(const struct rbwp_space *space);
/* The rectangle number index, in order of low: by the last dimension first. All 0 if there is none
 * of that number. */
RBWP_API struct rbwp_rectangle rbwp_space_rectangle(const struct rbwp_space *space, size_t index);
/* The smallest rectangle around all points; all 0 if there are none. */
RBWP_API struct rbwp_rectangle rbwp_space_bounds(const struct rbwp_space *space);
/* point has as many coordinates as the space has dimensions. */
RBWP_API bool rbwp_space_contains(const struct rbwp_space *space, const int64_t *point);
/* True if both are ready and have the same dimensions and points. */
RBWP_API bool rbwp_space_equal(const struct rbwp_space *a, const struct rbwp_space *b);

/* ---- fields -------------------------------------------------------------------------- */

/*
 * Writes the values of count points, packed: the point that is given, the one after it along
 * dimension 0, and so on. Runs on a worker; should be short.
 */
typedef void (*rbwp_field_fn)(void *argument, const int64_t *point, size_t count, void *values);

/*
 * A value for each point. For RBWP_PARTITION_BY_FIELD it is a colour: a signed integer of
 * color_bytes (1, 2, 4 or 8, and 0 for 8). For an image or preimage it is a point: an int64_t for
 * each dimension of the space it points into; or, with rectangles, a struct rbwp_rectangle.
 */
struct rbwp_field {
    /* In memory: the value of point origin, and for each dimension of the points the distance in
     * bytes from one value to the next. stride_bytes[0] may be 0: packed. It is only read, needs no
     * alignment, and must stay valid until done is called. */
    const void *values;
    int64_t origin[RBWP_SPACE_DIMENSIONS_MAX];
    int64_t stride_bytes[RBWP_SPACE_DIMENSIONS_MAX];
    /* Or computed; values is NULL then. Colours are int64_t then. */
    rbwp_field_fn fill;
    void *argument; /* for fill */
    uint32_t color_bytes;
    bool rectangles;
};

/* ---- operations ------------------------------------------------------------------------- */

enum rbwp_partition_kind {
    RBWP_PARTITION_BY_FIELD = 1, /* result[i]: points of domain whose value is colors[i] */
    RBWP_PARTITION_IMAGE = 2,    /* result[i]: points of domain that are, or lie in, the value of a
                                    point of sources[i] */
    RBWP_PARTITION_PREIMAGE = 3, /* result[i]: points of domain whose value is, or has a point, in
                                    sources[i] */
    RBWP_PARTITION_UNION = 4,    /* result[i]: points of sources[i] or others[i] */
    RBWP_PARTITION_INTERSECTION = 5, /* result[i]: points of sources[i] and others[i] */
    RBWP_PARTITION_DIFFERENCE = 6,   /* result[i]: points of sources[i] that others[i] has not */
    RBWP_PARTITION_UNION_ALL = 7     /* result[0]: points of any of the sources */
};

/* How an operation ended. */
struct rbwp_partition_result {
    uint64_t id;               /* from rbwp_partition_submit */
    enum rbwp_status status;   /* RBWP_OK: all results are ready. RBWP_E_MEMORY. RBWP_E_STATE: the
                                  partitioner was freed. Or the status of a space it needed. All
                                  results have this status. */
    uint64_t micro_operations; /* time slices it got */
};

/*
 * Runs once for each submitted operation: on the worker that ended it, outside all locks and
 * outside the sub-item but inside the partitioner's work item; for operations that
 * rbwp_partitioner_free finds in the queue, on the thread that frees. It may submit operations,
 * also to this partitioner, but not free it.
 */
typedef void (*rbwp_partition_done_fn)(void *argument, const struct rbwp_partition_result *result);

/* An operation. Set size, leave what is not needed 0. Spaces stay the caller's. */
struct rbwp_partition {
    size_t size; /* sizeof(struct rbwp_partition) */
    enum rbwp_partition_kind kind;
    size_t count; /* of results, except of RBWP_PARTITION_UNION_ALL: of sources */
    const struct rbwp_space *domain;         /* by field, image, preimage */
    const struct rbwp_space *const *sources; /* count of them; all but by field */
    const struct rbwp_space *const *others;  /* union, intersection, difference */
    size_t others_count;                     /* count; or 1: the same for all sources */
    const int64_t *colors;                   /* by field: count of them, no two the same */
    struct rbwp_field field;                 /* by field and preimage: of the points of domain;
                                                image: of those of the sources */
    rbwp_partition_done_fn done;             /* may be NULL */
    void *argument;                          /* for done */
};

struct rbwp_partitioner; /* opaque */

/*
 * Makes a partitioner: adds a work item called name to the manager, for workers of NUMA domain
 * domain (-1 any). The manager must outlive it. *partitioner_out is the caller's until
 * rbwp_partitioner_free, and NULL on failure. RBWP_E_LIMIT, RBWP_E_STATE and RBWP_E_INVALID as
 * rbwp_work_add says; RBWP_E_MEMORY. error may be NULL. Never blocks.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_partitioner_new(struct rbwp_work_manager *manager, const char *name, int domain,
                     struct rbwp_partitioner **partitioner_out, struct rbwp_error *error);

/*
 * Queues an operation. Everything in *partition is copied, arrays of spaces and colours included;
 * the spaces are kept until it ends, a field's memory must stay valid. results_out gets the count
 * results (one of RBWP_PARTITION_UNION_ALL), the caller's references, which are ready when done is
 * called, perhaps before this call returns. *id_out (may be NULL) names the operation within the
 * partitioner, counting from 1.
 *
 * Otherwise nothing was queued, results_out has NULLs, *id_out is 0, and error (may be NULL) says
 * why: RBWP_E_INVALID for a field of the struct out of its range, for dimensions that do not go
 * together, for a colour that comes twice; RBWP_E_STATE for a space that another partitioner has
 * not finished, and when the partitioner is being freed; RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_partition_submit(struct rbwp_partitioner *partitioner, const struct rbwp_partition *partition,
                      struct rbwp_space **results_out, uint64_t *id_out, struct rbwp_error *error);

/*
 * Removes the work item, waiting for a slice of it that runs now, ends all operations that are left
 * with RBWP_E_STATE, calling their done on this thread, and frees the partitioner. To finish what
 * is queued first, rbwp_work_drain the manager. Spaces live on. No other thread may submit
 * meanwhile; a done that does is refused with RBWP_E_STATE. RBWP_OK, NULL included; RBWP_E_STATE,
 * and nothing was done, from inside the partitioner's own work item.
 */
RBWP_API enum rbwp_status rbwp_partitioner_free(struct rbwp_partitioner *partitioner);

RBWP_C_END_
#endif /* RBWP_PARTITION_H */
