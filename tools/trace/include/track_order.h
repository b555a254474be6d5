/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track_order.h - the order in which tracks are shown, the same in all views.
 *
 * By process, then threads before GPUs and the like, then by name, with
 * numbers in it as numbers: worker 2 before worker 10.
 */
#ifndef TRACK_ORDER_H
#define TRACK_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct trace_track;

/* Below, at or above 0 as for qsort. */
int track_order(const struct trace_track *a, const struct trace_track *b);

/* Numbers of count tracks in that order, in memory that the caller frees; NULL without memory.
 * tracks: an array of structs of that many bytes, which begin with their struct trace_track. */
uint32_t *track_order_all(const void *tracks, size_t bytes, uint32_t count);

#endif /* TRACK_ORDER_H */
