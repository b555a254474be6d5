/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds by a hash table at most half full. */
#include "kinds.h"

#include <stdlib.h>

static uint32_t *find_cell(const struct kinds *kinds, uint8_t category, uint32_t item,
                           uint32_t name)
{
    uint32_t hash = (name * 0x9e3779b1u ^ item) * 0x85ebca6bu + category;
    for (uint32_t at = hash ^ hash >> 15;; at++) {
        uint32_t *cell = &kinds->cells[at & (kinds->cell_count - 1)];
        if (*cell == 0)
            return cell;
        const struct kind *kind = &kinds->list[*cell - 1];
        if (kind->name == name && kind->item == item && kind->category == category)
            return cell;
    }
}

static bool grow(struct kinds *kinds)
{
    uint32_t count = kinds->cell_count ? kinds->cell_count * 2 : 256;
    uint32_t *cells = calloc(count, sizeof *cells);
    struct kind *list = realloc(kinds->list, count / 2 * sizeof *list);
    if (list)
        kinds->list = list;
    if (!cells || !list) {
        free(cells);
        return false;
    }
    free(kinds->cells);
    kinds->cells = cells;
    kinds->cell_count = count;
    kinds->room = count / 2;
    for (uint32_t i = 0; i < kinds->count; i++)
        *find_cell(kinds, list[i].category, list[i].item, list[i].name) = i + 1;
    return true;
}

uint32_t kinds_number(struct kinds *kinds, const struct trace_span *span)
{
    if (kinds->count == kinds->room && !grow(kinds))
        return UINT32_MAX;
    uint32_t *cell = find_cell(kinds, span->category, span->item, span->name);
    if (*cell == 0) {
        kinds->list[kinds->count++] =
            (struct kind){.name = span->name, .item = span->item, .category = span->category};
        *cell = kinds->count;
    }
    return *cell - 1;
}

void kinds_free(struct kinds *kinds)
{
    free(kinds->list);
    free(kinds->cells);
}
