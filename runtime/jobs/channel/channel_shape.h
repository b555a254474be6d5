/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_shape.h - the loops of a transfer, checked and simplified.
 *
 * Turns what a caller wrote (extents, strides, order, defaults) into the
 * shortest nest of loops that visits the same elements. All arithmetic on the
 * caller's numbers happens here, with every overflow refused; what comes out
 * may be added up without further checks.
 */
#ifndef CHANNEL_SHAPE_H
#define CHANNEL_SHAPE_H

#include "rbwp_channel.h"

/* RBWP_OK, or RBWP_E_INVALID with *reason_out saying what is wrong (static text). */
enum rbwp_status channel_shape_make(const struct rbwp_transfer *transfer,
                                    struct rbwp_transfer_shape *shape_out, const char **reason_out);

/* True when both sides are one run of bytes along loop 0. */
static inline bool channel_shape_is_run(const struct rbwp_transfer_shape *shape)
{
    return shape->source_stride[0] == (int64_t)shape->element_bytes &&
           shape->target_stride[0] == (int64_t)shape->element_bytes;
}

#endif /* CHANNEL_SHAPE_H */
