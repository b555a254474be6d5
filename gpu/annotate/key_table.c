/* SPDX-License-Identifier: Apache-2.0 */
#include "key_table.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 64 };

void *key_table_at(const struct key_table *table, uint32_t number)
{
    return (char *)table->items + number * table->item_bytes;
}

/* splitmix64's last steps; ids that count up spread over all cells. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* The cell that has the key, or the free one where it belongs. */
static uint32_t *cell_of(const struct key_table *table, const struct key *key)
{
    uint32_t cells = 2 * table->room;
    uint64_t at = mix(key->word[0] + mix(key->word[1] + mix(key->word[2])));
    for (;; at++) {
        uint32_t *cell = &table->cells[at & (cells - 1)];
        if (!*cell || memcmp(key_table_at(table, *cell - 1), key, sizeof *key) == 0)
            return cell;
    }
}

static void index_again(struct key_table *table)
{
    memset(table->cells, 0, 2 * (size_t)table->room * sizeof *table->cells);
    for (uint32_t i = 0; i < table->count; i++)
        *cell_of(table, key_table_at(table, i)) = i + 1;
}

/* Room is a power of two, and so is the number of cells. */
static bool grow(struct key_table *table)
{
    uint32_t room = table->room ? 2 * table->room : ROOM_LEAST;
    uint32_t *cells = malloc(2 * (size_t)room * sizeof *cells);
    void *items = cells ? realloc(table->items, room * table->item_bytes) : NULL;
    if (!items) {
        free(cells);
        return false;
    }
    free(table->cells);
    table->cells = cells;
    table->items = items;
    table->room = room;
    index_again(table);
    return true;
}

void *key_table_find(const struct key_table *table, const struct key *key)
{
    uint32_t found = table->room ? *cell_of(table, key) : 0;
    return found ? key_table_at(table, found - 1) : NULL;
}

void *key_table_add(struct key_table *table, const struct key *key)
{
    void *item = key_table_find(table, key);
    if (item || table->count >= table->items_max || (table->count == table->room && !grow(table)))
        return item;
    *cell_of(table, key) = table->count + 1;
    item = key_table_at(table, table->count++);
    memset(item, 0, table->item_bytes);
    memcpy(item, key, sizeof *key);
    return item;
}

void key_table_keep(struct key_table *table, bool (*keep)(void *context, const void *item),
                    void *context)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (keep(context, key_table_at(table, i))) {
            if (kept != i)
                memcpy(key_table_at(table, kept), key_table_at(table, i), table->item_bytes);
            kept++;
        }
    table->count = kept;
    if (table->room)
        index_again(table);
}

void key_table_clear(struct key_table *table)
{
    table->count = 0;
    if (table->room)
        index_again(table);
}

void key_table_free(struct key_table *table)
{
    free(table->items);
    free(table->cells);
}
