/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h - what spans are, numbered: a category, an item and a name.
 *
 * One kind is one colour and one row of the page's tables.
 */
#ifndef KINDS_H
#define KINDS_H

#include "trace.h"

struct kind {
    uint32_t name, item;
    uint8_t category;
    bool waits; /* nobody is busy with it */
    uint64_t longest_ns;
    int64_t longest_start_ns;
    uint64_t hollow, hollow_ns; /* spans with nothing inside, and their time */
};

struct kinds {
    struct kind *list;
    uint32_t *cells; /* hash table of numbers + 1; 0 is a free cell */
    uint32_t count, room, cell_count;
};

/* The number of a span's kind, UINT32_MAX without memory. */
uint32_t kinds_number(struct kinds *kinds, const struct trace_span *span);
void kinds_free(struct kinds *kinds);

#endif /* KINDS_H */
