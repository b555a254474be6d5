/* SPDX-License-Identifier: Apache-2.0 */
/* A set of span ids. */
#include "linked_spans.h"
#include "thread_map.h"

#include <stdlib.h>

bool linked_spans_add(struct linked_spans *linked, uint64_t span)
{
    uint64_t page = span / LINKED_PAGE_SPANS, bit = span % LINKED_PAGE_SPANS;
    if (page >= UINT32_MAX ||
        !thread_array_grow(&linked->pages, &linked->count, (uint32_t)page + 1, sizeof(uint64_t *)))
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
