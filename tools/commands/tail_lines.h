/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail_lines.h - the lines of rbwp tail: the last ones kept, later ones printed at once.
 */
#ifndef TAIL_LINES_H
#define TAIL_LINES_H

#include "name_lookup.h"
#include "out.h"
#include "spans.h"

#define TAIL_LINES_MAX (1u << 20)

/* A line: a span, or a record with its thread. */
struct tail_line {
    bool is_record;
    struct span span;
    uint64_t thread_id;
    struct rbwp_record record;
};

struct tail_lines {
    struct out *out;
    const char *file;
    const struct names *names; /* may change between calls */
    int64_t zero_ns;           /* times are shown relative to it */
    bool ndjson;
    struct tail_line *ring; /* room for `most`; NULL once lines are printed at once */
    uint32_t most, next, count;
};

/* most may be 0: nothing is kept. False when out of memory. */
bool tail_lines_start(struct tail_lines *lines, uint32_t most);
void tail_lines_add(struct tail_lines *lines, const struct tail_line *line);
/* Prints what was kept; from here on lines are printed at once. */
void tail_lines_print(struct tail_lines *lines);
void tail_lines_free(struct tail_lines *lines);

#endif /* TAIL_LINES_H */
