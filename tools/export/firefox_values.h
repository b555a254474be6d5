/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_values.h - what of markers and samples is kept until the end, and the columns of JSON
 * that are made of it then, by all threads.
 *
 * A stream has values of one kind, behind each other without a gap.
 */
#ifndef FIREFOX_VALUES_H
#define FIREFOX_VALUES_H

#include "spool_print.h"

struct trace_span;

/* Milliseconds with six decimals, so many bytes at most. */
#define FIREFOX_MS_MAX 24
char *firefox_put_ms(char *at, int64_t ns);

/* Each adds a value, and says nothing of a spool that failed. */

/* What every marker has, and tail, the members that few have, each behind a comma. */
void firefox_keep_data(struct spool *spool, uint32_t stream, const struct trace_span *span,
                       const struct buffer *tail);
/* Its name, category, and whether it is an instant. */
void firefox_keep_what(struct spool *spool, uint32_t stream, const struct trace_span *span);
/* A time, on the axis of the trace, or none. */
void firefox_keep_end(struct spool *spool, uint32_t stream, int64_t time_ns, bool there);

/* Of streams of these values. */
value_text_fn firefox_data, firefox_names, firefox_phases, firefox_categories, firefox_ends;
/* Of times that were put as near ones, and of numbers: nanoseconds; stacks, UINT32_MAX for none. */
value_text_fn firefox_times, firefox_lengths, firefox_stacks;

#endif /* FIREFOX_VALUES_H */
