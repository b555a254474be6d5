/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_lines.h - how counters went, to be drawn: least, mean and greatest value in cells of
 * time.
 *
 * A counter has COUNTER_CELLS cells of the same length, from its first sample
 * on. They begin short; where a sample lies behind the last one, two become one.
 */
#ifndef COUNTER_LINES_H
#define COUNTER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_sample;

enum { COUNTER_CELLS = 512, COUNTER_LINES_MAX = 1000 };

struct counter_cell {
    uint64_t count;
    double least, mean, greatest; /* of its samples */
    double last;                  /* which holds until the next one */
};

struct counter_line {
    int64_t first_ns;
    uint64_t cell_ns;
    struct counter_cell *cells; /* NULL: no samples, or beyond COUNTER_LINES_MAX */
};

/* Zero is none. */
struct counter_lines {
    struct counter_line *lines; /* by track */
    uint32_t count, drawn;
};

/* Samples ascend by time; those that are no number are passed over. False without memory. */
bool counter_lines_add(struct counter_lines *lines, uint32_t track,
                       const struct trace_sample *samples, size_t count);
/* NULL: there is none to draw. */
const struct counter_line *counter_lines_of(const struct counter_lines *lines, uint32_t track);
/* What it was in that time: its samples, or none and the value that held (last). False before the
 * first one. */
bool counter_line_between(const struct counter_line *line, int64_t from_ns, int64_t to_ns,
                          struct counter_cell *cell_out);
void counter_lines_free(struct counter_lines *lines);

#endif /* COUNTER_LINES_H */
