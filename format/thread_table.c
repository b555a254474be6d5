/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing, at most half full; ids are mixed first because writers may count them up. */
#include "thread_table.h"

#include <stdlib.h>

#define CELLS_FIRST 64u

static uint32_t *thread_table_find_cell(const struct thread_table *table, uint64_t thread_id)
{
    uint64_t mixed = thread_id * 0x9e3779b97f4a7c15u;
    uint32_t mask = table->cell_count - 1;
    for (uint32_t at = (uint32_t)(mixed >> 32) & mask;; at = (at + 1) & mask) {
        uint32_t *cell = &table->cells[at];
        if (*cell == 0 || table->entries[*cell - 1].info.thread_id == thread_id)
            return cell;
    }
}

static bool thread_table_grow(struct thread_table *table)
{
    uint32_t cell_count = table->cell_count ? table->cell_count * 2 : CELLS_FIRST;
    struct thread_entry *entries = realloc(table->entries, cell_count / 2 * sizeof *table->entries);
    if (!entries)
        return false;
    table->entries = entries;
    uint32_t *cells = calloc(cell_count, sizeof *cells);
    if (!cells)
        return false;
    free(table->cells);
    table->cells = cells;
    table->cell_count = cell_count;
    for (uint32_t number = 0; number < table->count; number++)
        *thread_table_find_cell(table, entries[number].info.thread_id) = number + 1;
    return true;
}

struct thread_entry *thread_table_find(const struct thread_table *table, uint64_t thread_id)
{
    uint32_t cell = table->count ? *thread_table_find_cell(table, thread_id) : 0;
    return cell ? &table->entries[cell - 1] : NULL;
}

struct thread_entry *thread_table_add(struct thread_table *table, uint64_t thread_id)
{
    struct thread_entry *known = thread_table_find(table, thread_id);
    if (known)
        return known;
    if (table->count == THREAD_TABLE_MAX ||
        (table->count == table->cell_count / 2 && !thread_table_grow(table)))
        return NULL;
    struct thread_entry *entry = &table->entries[table->count];
    *thread_table_find_cell(table, thread_id) = ++table->count;
    *entry = (struct thread_entry){.info.thread_id = thread_id};
    return entry;
}

void thread_table_free(struct thread_table *table)
{
    free(table->entries);
    free(table->cells);
    *table = (struct thread_table){0};
}
