/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_reduce.h - the arithmetic of reductions.
 *
 * One function for each operation and type, over one row of numbers.
 */
#ifndef CHANNEL_REDUCE_H
#define CHANNEL_REDUCE_H

#include "rbwp_channel.h"

/* target[i] = target[i] op source[i] for count numbers, strides in bytes; target_stride 0 folds. */
typedef void (*channel_reduce_fn)(uint8_t *target, int64_t target_stride, const uint8_t *source,
                                  int64_t source_stride, size_t count);

/* NULL for an operation or type that does not exist. */
channel_reduce_fn channel_reduce_find(enum rbwp_reduce_op op, enum rbwp_reduce_type type);

#endif /* CHANNEL_REDUCE_H */
