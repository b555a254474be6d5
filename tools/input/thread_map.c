/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing, at most half full; ids are mixed first because writers may count them up. */
#include "thread_map.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *thread_map_find_cell(const struct thread_map *map, uint64_t thread_id)
{
    uint64_t mixed = thread_id * 0x9e3779b97f4a7c15u;
    uint32_t mask = map->cell_count - 1;
    for (uint32_t at = (uint32_t)(mixed >> 32) & mask;; at = (at + 1) & mask) {
        uint32_t *cell = &map->cells[at];
        if (*cell == 0 || map->ids[*cell - 1] == thread_id)
            return cell;
    }
}

static bool thread_map_grow(struct thread_map *map)
{
    uint32_t cell_count = map->cell_count ? map->cell_count * 2 : 64;
    uint64_t *ids = realloc(map->ids, cell_count / 2 * sizeof *ids);
    if (!ids)
        return false;
    map->ids = ids;
    uint32_t *cells = calloc(cell_count, sizeof *cells);
    if (!cells)
        return false;
    free(map->cells);
    map->cells = cells;
    map->cell_count = cell_count;
    for (uint32_t number = 0; number < map->count; number++)
        *thread_map_find_cell(map, map->ids[number]) = number + 1;
    return true;
}

uint32_t thread_map_find(const struct thread_map *map, uint64_t thread_id)
{
    uint32_t known = map->count ? *thread_map_find_cell(map, thread_id) : 0;
    return known ? known - 1 : THREAD_NONE;
}

uint32_t thread_map_number(struct thread_map *map, uint64_t thread_id)
{
    uint32_t known = thread_map_find(map, thread_id);
    if (known != THREAD_NONE)
        return known;
    if (map->count == THREAD_MAP_MAX ||
        (map->count == map->cell_count / 2 && !thread_map_grow(map))) {
        map->full = true;
        return THREAD_NONE;
    }
    uint32_t *cell = thread_map_find_cell(map, thread_id);
    map->ids[map->count] = thread_id;
    *cell = ++map->count;
    return map->count - 1;
}

uint32_t thread_map_place(struct thread_map *map, uint64_t thread_id, void *array,
                          uint32_t *capacity, size_t entry_bytes)
{
    uint32_t known = thread_map_find(map, thread_id);
    if (known != THREAD_NONE)
        return known;
    if (!thread_array_grow(array, capacity, map->count + 1, entry_bytes)) {
        map->full = true;
        return THREAD_NONE;
    }
    return thread_map_number(map, thread_id);
}

void thread_map_free(struct thread_map *map)
{
    free(map->ids);
    free(map->cells);
    *map = (struct thread_map){0};
}

bool thread_array_grow(void *array, uint32_t *capacity, uint32_t count, size_t entry_bytes)
{
    return grow_zeroed32(array, capacity, count, entry_bytes);
}
