/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_map.h"
#include "thread_table.h"

#include <stdlib.h>

uint32_t thread_map_find(const struct thread_map *map, uint64_t thread_id)
{
    for (uint32_t step = 0, i; (i = index_map_next(&map->places, thread_id, &step)) != INDEX_NONE;)
        if (map->ids[i] == thread_id)
            return i;
    return THREAD_NONE;
}

uint32_t thread_map_number(struct thread_map *map, uint64_t thread_id)
{
    uint32_t known = thread_map_find(map, thread_id);
    if (known != THREAD_NONE)
        return known;
    if (map->count == THREAD_MAP_MAX ||
        !grow_array32(&map->ids, &map->room, map->count + 1, sizeof *map->ids) ||
        !index_map_add(&map->places, thread_id, map->count)) {
        map->full = true;
        return THREAD_NONE;
    }
    map->ids[map->count] = thread_id;
    return map->count++;
}

uint32_t thread_map_place(struct thread_map *map, uint64_t thread_id, void *array,
                          uint32_t *capacity, size_t entry_bytes)
{
    uint32_t known = thread_map_find(map, thread_id);
    if (known != THREAD_NONE)
        return known;
    if (!grow_zeroed32(array, capacity, map->count + 1, entry_bytes)) {
        map->full = true;
        return THREAD_NONE;
    }
    return thread_map_number(map, thread_id);
}

void thread_map_free(struct thread_map *map)
{
    free(map->ids);
    index_map_free(&map->places);
    *map = (struct thread_map){0};
}

/* ---- threads with what is known of them ------------------------------------------------------ */

struct thread_entry *thread_table_find(const struct thread_table *table, uint64_t thread_id)
{
    uint32_t number = thread_map_find(&table->map, thread_id);
    return number == THREAD_NONE ? NULL : &table->entries[number];
}

struct thread_entry *thread_table_add(struct thread_table *table, uint64_t thread_id)
{
    struct thread_entry *known = thread_table_find(table, thread_id);
    if (known || table->map.count == THREAD_TABLE_MAX)
        return known;
    uint32_t number = thread_map_place(&table->map, thread_id, &table->entries, &table->room,
                                       sizeof *table->entries);
    if (number == THREAD_NONE)
        return NULL;
    table->entries[number].info.thread_id = thread_id;
    return &table->entries[number];
}

void thread_table_free(struct thread_table *table)
{
    free(table->entries);
    thread_map_free(&table->map);
    *table = (struct thread_table){0};
}
