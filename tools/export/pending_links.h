/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending_links.h - arrows whose begin is written, and whose end comes with its span.
 *
 * An arrow's two ends have the same number. Nearly all are launches of which a
 * span has one: for these a bit is kept, and the number is the
 * span's. Others are kept one by one.
 */
#ifndef PENDING_LINKS_H
#define PENDING_LINKS_H

#include "thread_map.h"
#include "trace_link.h"

/* Which spans a link leads to.
 *
 * A viewer's arrow ends in the span itself, so who writes a span has to know
 * that links to it came before. One bit a span, in pages that are made when
 * a link comes: 13 MB for a hundred million spans that all have one. */

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

/* Of numbers that are not a span's. */
#define PENDING_OTHER (UINT64_C(1) << 62)

struct pending_link {
    uint64_t number;
    int64_t from_ns;
    uint32_t label, from_track;
    uint32_t next; /* index + 1 of the next one to the same span, 0 none */
    enum trace_link_kind kind;
};

struct pending_links {
    struct linked_spans launches;
    struct thread_map spans; /* of the others */
    uint32_t *first;         /* by number in spans: index + 1 */
    struct pending_link *others;
    uint32_t first_room, room, count;
};

/* The number that the arrow has, from its begin on; 0 without room. Zero is an empty set. */
uint64_t pending_links_add(struct pending_links *links, const struct trace_link *link);
/* Keeps one by itself, under a number of the caller's. False without room. */
bool pending_links_keep(struct pending_links *links, const struct trace_link *link,
                        uint64_t number);
/* The number of an arrow both of whose ends are written at once. */
static inline uint64_t pending_links_number(const struct trace_link *link)
{
    return PENDING_OTHER | link->id;
}
void pending_links_free(struct pending_links *links);

/* The span has a launch whose number is its own. */
static inline bool pending_links_launch(const struct pending_links *links, uint64_t span)
{
    return linked_spans_has(&links->launches, span);
}
/* The first and the next one of the others; NULL: no more. */
static inline const struct pending_link *pending_links_of(const struct pending_links *links,
                                                          uint64_t span)
{
    uint32_t number = links->count ? thread_map_find(&links->spans, span) : THREAD_NONE;
    return number == THREAD_NONE ? NULL : &links->others[links->first[number] - 1];
}
static inline const struct pending_link *pending_links_next(const struct pending_links *links,
                                                            const struct pending_link *link)
{
    return link->next ? &links->others[link->next - 1] : NULL;
}

#endif /* PENDING_LINKS_H */
