/* SPDX-License-Identifier: Apache-2.0 */
/* stats_fill.h - what fills sums (stats.c), for those who fill them with sums. */
#ifndef STATS_FILL_H
#define STATS_FILL_H

#include "stats.h"

void stats_fail(struct stats *stats);
/* Room for so many, the new ones zero. False, with the message given, when out of memory. */
bool stats_grow(struct stats *stats, void *array, uint32_t *room, uint32_t count, size_t bytes);
/* What the program calls the spans of a row; the first that comes counts. */
void stats_name_kind(struct stats *stats, uint32_t row, struct trace_text kind);
/* Number of the row, which is there already or made. TRACE_NONE when out of memory. */
uint32_t stats_add_row(struct stats *stats, uint8_t category, uint32_t item,
                       struct trace_text name);
/* Of more than most the longest stay; the arguments of the others are freed. */
void stats_keep_longest(struct stats_call *heap, uint32_t *count, uint32_t most,
                        struct stats_call call);

#endif /* STATS_FILL_H */
