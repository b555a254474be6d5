/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_stream.h - rows of a table that come nearly in the order of their times, into that of their
 * tracks, block by block.
 *
 * The file's index of tables says from which time on rows may still come. What starts before that
 * is ready when its block has come; the rest waits for the next one, its cells kept. So nothing is
 * sorted but the rows of a block or a few, and memory does not grow with the table. Tables
 * of which too much would have to wait, or that have no index, are not for this: span_sorter.h.
 */
#ifndef ROW_STREAM_H
#define ROW_STREAM_H

#include "rbwp_table.h"

struct trace_axis;

/* What was found out of rows before their spans are made, by row. */
struct row_marks {
    int64_t *start_ns, *stop_ns;
    uint64_t *id;
    uint32_t *track, *name; /* track: TRACE_NONE for a row that is not wanted */
    uint32_t room;
};
/* Zero is none. False without memory. */
bool row_marks_reserve(struct row_marks *marks, uint32_t rows);
void row_marks_free(struct row_marks *marks);

struct row_stream;

/* Of a table without columns of bytes. *stream_out is NULL when it is not for this. Times were
 * put on the axis, which stays. False without memory. */
bool row_stream_new(const struct rbwp_trailer *trailer, const struct rbwp_schema *schema,
                    const struct trace_axis *axis, struct row_stream **stream_out);
void row_stream_free(struct row_stream *stream);

/* All rows that wait and those of the next block behind them, the first of which is *first_out.
 * NULL without memory: the block is lost. */
const struct rbwp_rows *row_stream_add(struct row_stream *stream, const struct rbwp_rows *rows,
                                       uint32_t *first_out);
/* Of these rows; the caller fills those from *first_out on. */
struct row_marks *row_stream_marks(struct row_stream *stream);
/* Those that are ready: rows by track, each track's in order. all: whatever may still come. NULL
 * without memory. */
const uint32_t *row_stream_ready(struct row_stream *stream, bool all, uint32_t *count_out);
/* These do not wait any more. False without memory: the others are lost, too. */
bool row_stream_drop(struct row_stream *stream);

/* Rows that wait, NULL for none. */
const struct rbwp_rows *row_stream_left(const struct row_stream *stream);

#endif /* ROW_STREAM_H */
