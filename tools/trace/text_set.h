/* SPDX-License-Identifier: Apache-2.0 */
/* text_set.h - texts, numbered from 0 in the order of adding, found by a hash. */
#ifndef TEXT_SET_H
#define TEXT_SET_H

#include "trace.h"

struct text_set {
    struct trace_text *texts; /* by number; the caller's bytes */
    uint32_t *cells;          /* numbers + 1; 0 is a free cell */
    uint32_t count, cell_count;
};

/* TRACE_NONE if it is not there. Zero is an empty set. */
uint32_t text_set_find(const struct text_set *set, struct trace_text text);
/* One that is not there. False when out of memory. */
bool text_set_add(struct text_set *set, struct trace_text text);
void text_set_free(struct text_set *set);

#endif /* TEXT_SET_H */
