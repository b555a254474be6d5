/* SPDX-License-Identifier: Apache-2.0 */
/* Arrows under way. */
#include "pending_links.h"

#include <stdlib.h>

/* A set of span ids. */

bool linked_spans_add(struct linked_spans *linked, uint64_t span)
{
    uint64_t page = span / LINKED_PAGE_SPANS, bit = span % LINKED_PAGE_SPANS;
    if (page >= UINT32_MAX ||
        !grow_zeroed32(&linked->pages, &linked->count, (uint32_t)page + 1, sizeof(uint64_t *)))
        return false;
    uint64_t **bits = &linked->pages[page];
    if (!*bits && !(*bits = calloc(LINKED_PAGE_SPANS / 64, sizeof **bits)))
        return false;
    (*bits)[bit / 64] |= UINT64_C(1) << bit % 64;
    return true;
}

void linked_spans_free(struct linked_spans *linked)
{
    for (uint32_t i = 0; i < linked->count; i++)
        free(linked->pages[i]);
    free(linked->pages);
}

/* Its begin is before its end, so that nothing has to be known of it but that it is there. */
static bool is_plain(const struct pending_links *links, const struct trace_link *link)
{
    return link->kind == TRACE_LAUNCH && link->label == 0 && link->from_ns < link->to_ns &&
           !linked_spans_has(&links->launches, link->to_span);
}

bool pending_links_keep(struct pending_links *links, const struct trace_link *link, uint64_t number)
{
    uint32_t place = thread_map_place(&links->spans, link->to_span, &links->first,
                                      &links->first_room, sizeof *links->first);
    if (place == THREAD_NONE ||
        !grow_zeroed32(&links->others, &links->room, links->count + 1, sizeof *links->others))
        return false;
    links->others[links->count] = (struct pending_link){.number = number,
                                                        .from_ns = link->from_ns,
                                                        .label = link->label,
                                                        .from_track = link->from_track,
                                                        .next = links->first[place],
                                                        .kind = link->kind};
    links->first[place] = ++links->count;
    return true;
}

uint64_t pending_links_add(struct pending_links *links, const struct trace_link *link)
{
    if (is_plain(links, link))
        return linked_spans_add(&links->launches, link->to_span) ? link->to_span : 0;
    uint64_t number = pending_links_number(link);
    return pending_links_keep(links, link, number) ? number : 0;
}

void pending_links_free(struct pending_links *links)
{
    linked_spans_free(&links->launches);
    thread_map_free(&links->spans);
    free(links->first);
    free(links->others);
}
