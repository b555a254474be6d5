/* SPDX-License-Identifier: Apache-2.0 */
#include "index_map.h"

#include <stdlib.h>

#define CELLS_FIRST 64u

static void index_map_put(struct index_map *map, struct index_cell cell)
{
    uint32_t at = cell.place & (map->cell_count - 1);
    while (map->cells[at].number)
        at = (at + 1) & (map->cell_count - 1);
    map->cells[at] = cell;
    map->count++;
}

static bool index_map_grow(struct index_map *map)
{
    struct index_map larger = {.cell_count = map->cell_count ? 2 * map->cell_count : CELLS_FIRST};
    larger.cells = larger.cell_count ? calloc(larger.cell_count, sizeof *larger.cells) : NULL;
    if (!larger.cells)
        return false;
    for (uint32_t i = 0; i < map->cell_count; i++)
        if (map->cells[i].number)
            index_map_put(&larger, map->cells[i]);
    free(map->cells);
    *map = larger;
    return true;
}

bool index_map_add(struct index_map *map, uint64_t hash, uint32_t index)
{
    if (map->count == map->cell_count / 2 && !index_map_grow(map))
        return false;
    index_map_put(map, (struct index_cell){hash_place(hash), index + 1});
    return true;
}

void index_map_free(struct index_map *map)
{
    free(map->cells);
    *map = (struct index_map){0};
}
