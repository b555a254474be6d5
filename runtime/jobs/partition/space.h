/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h - index spaces: a set of points with references and a status.
 *
 * A space that an operation will make is pending. Its set is written once, by
 * the operation, before the status becomes RBWP_OK, and never again.
 */
#ifndef SPACE_H
#define SPACE_H

#include "bands.h"
#include "rbwp_partition.h"

#include <stdatomic.h>

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

#endif /* SPACE_H */
