/* SPDX-License-Identifier: Apache-2.0 */
#include "index_map.h"

#include <stdlib.h>
#include <string.h>

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

/* What stands behind it moves up, so that it is found again. */
void index_map_remove(struct index_map *map, uint64_t hash, uint32_t index)
{
    const uint32_t mask = map->cell_count - 1;
    uint32_t hole = hash_place(hash) & mask;
    while (map->cells[hole].number != index + 1)
        hole = (hole + 1) & mask;
    for (uint32_t at = (hole + 1) & mask; map->cells[at].number; at = (at + 1) & mask)
        if (((at - map->cells[at].place) & mask) >= ((at - hole) & mask)) {
            map->cells[hole] = map->cells[at];
            hole = at;
        }
    map->cells[hole].number = 0;
    map->count--;
}

void index_map_clear(struct index_map *map)
{
    if (map->count)
        memset(map->cells, 0, map->cell_count * sizeof *map->cells);
    map->count = 0;
}

void index_map_free(struct index_map *map)
{
    free(map->cells);
    *map = (struct index_map){0};
}
