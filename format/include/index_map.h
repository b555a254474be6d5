/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_map.h - finds the elements of an array by a hash of their key.
 *
 * The array is its user's, and so is what makes two keys the same: the map knows places in the
 * array and hashes. Open addressing, at most half full; hashes are kept, so that the map grows
 * without the array and most keys that differ are never compared.
 *
 *     for (uint32_t step = 0, i; (i = index_map_next(&map, hash, &step)) != INDEX_NONE;)
 *         if (list[i].key == key)
 *             return i;
 */
#ifndef INDEX_MAP_H
#define INDEX_MAP_H

#include "hash.h"

#include <stdbool.h>

#define INDEX_NONE UINT32_MAX

/* Zeros are an empty map. */
struct index_map {
    struct index_cell {
        uint32_t place;  /* hash_place of the hash */
        uint32_t number; /* index + 1; 0: free */
    } * cells;
    uint32_t cell_count, count;
};

/* The next element that may have the key, INDEX_NONE: no more. *step is 0 at first. */
static inline uint32_t index_map_next(const struct index_map *map, uint64_t hash, uint32_t *step)
{
    const uint32_t place = hash_place(hash);
    while (map->cell_count) {
        const struct index_cell *cell = &map->cells[(place + (*step)++) & (map->cell_count - 1)];
        if (cell->number == 0)
            break;
        if (cell->place == place)
            return cell->number - 1;
    }
    return INDEX_NONE;
}

/* An element whose key is not there. False without memory; the map is as it was then. */
bool index_map_add(struct index_map *map, uint64_t hash, uint32_t index);
/* An element that is there. */
void index_map_remove(struct index_map *map, uint64_t hash, uint32_t index);
/* All of them; as many as there were can be added without memory. */
void index_map_clear(struct index_map *map);
void index_map_free(struct index_map *map);

#endif /* INDEX_MAP_H */
