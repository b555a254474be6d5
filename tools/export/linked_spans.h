/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linked_spans.h - which spans a link leads to.
 *
 * A viewer's arrow ends in the span itself, so who writes a span has to know
 * that links to it came before. One bit a span, in pages that are made when
 * a link comes: 13 MB for a hundred million spans that all have one.
 */
#ifndef LINKED_SPANS_H
#define LINKED_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#define LINKED_PAGE_SPANS (1u << 16)

struct linked_spans {
    uint64_t **pages; /* NULL where there is none */
    uint32_t count;
};

/* False when out of memory. Zero is an empty set. */
bool linked_spans_add(struct linked_spans *linked, uint64_t span);
void linked_spans_free(struct linked_spans *linked);

static inline bool linked_spans_has(const struct linked_spans *linked, uint64_t span)
{
    uint64_t page = span / LINKED_PAGE_SPANS, bit = span % LINKED_PAGE_SPANS;
    return page < linked->count && linked->pages[page] &&
           (linked->pages[page][bit / 64] >> bit % 64 & 1);
}

#endif /* LINKED_SPANS_H */
