/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing, at most half full. */
#include "text_set.h"
#include "text_hash.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash(struct trace_text text)
{
    uint64_t value = text_hash(TEXT_HASH_FIRST, text.text, text.bytes);
    return (uint32_t)(value ^ value >> 32);
}

/* The cell that holds the text, or the free one where it belongs. */
static uint32_t *find_cell(const struct text_set *set, struct trace_text text)
{
    for (uint32_t i = hash(text);; i++) {
        uint32_t *cell = &set->cells[i & (set->cell_count - 1)];
        if (*cell == 0)
            return cell;
        const struct trace_text *known = &set->texts[*cell - 1];
        if (known->bytes == text.bytes && memcmp(known->text, text.text, text.bytes) == 0)
            return cell;
    }
}

uint32_t text_set_find(const struct text_set *set, struct trace_text text)
{
    uint32_t found = set->cell_count ? *find_cell(set, text) : 0;
    return found ? found - 1 : TRACE_NONE;
}

static bool grow(struct text_set *set)
{
    uint32_t cell_count = set->cell_count ? set->cell_count * 2 : 1024;
    struct trace_text *texts = realloc(set->texts, cell_count / 2 * sizeof *texts);
    if (texts)
        set->texts = texts;
    uint32_t *cells =
        texts && cell_count > set->cell_count ? calloc(cell_count, sizeof *cells) : NULL;
    if (!cells)
        return false;
    free(set->cells);
    set->cells = cells;
    set->cell_count = cell_count;
    for (uint32_t i = 0; i < set->count; i++)
        *find_cell(set, set->texts[i]) = i + 1;
    return true;
}

bool text_set_add(struct text_set *set, struct trace_text text)
{
    if (set->count * 2 == set->cell_count && !grow(set))
        return false;
    uint32_t *cell = find_cell(set, text);
    set->texts[set->count] = text;
    *cell = ++set->count;
    return true;
}

void text_set_free(struct text_set *set)
{
    free(set->texts);
    free(set->cells);
    *set = (struct text_set){0};
}
