/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_map.h - small numbers for thread ids.
 *
 * Thread ids are arbitrary 64-bit values. The map gives each the next small
 * number, in order of first appearance, so that its users keep plain arrays.
 * A hostile file can invent a thread per block; the map takes at most
 * THREAD_MAP_MAX of them, which bounds every such array.
 */
#ifndef THREAD_MAP_H
#define THREAD_MAP_H

#include "grow.h"
#include "index_map.h"

#define THREAD_MAP_MAX (1u << 20)
#define THREAD_NONE UINT32_MAX

struct thread_map {
    uint64_t *ids; /* by number */
    struct index_map places;
    uint32_t count, room;
    bool full; /* a thread was turned away, or memory ran out */
};

/* The number of a thread, new or known; THREAD_NONE when there is no room. Zero is an empty map. */
uint32_t thread_map_number(struct thread_map *map, uint64_t thread_id);
/* The same, for who keeps an array of entries by number: makes room in *array first (grow.h), so
 * that it has an entry for each number that the map knows. */
uint32_t thread_map_place(struct thread_map *map, uint64_t thread_id, void *array,
                          uint32_t *capacity, size_t entry_bytes);
/* The number of a known thread, or THREAD_NONE. */
uint32_t thread_map_find(const struct thread_map *map, uint64_t thread_id);
void thread_map_free(struct thread_map *map);

#endif /* THREAD_MAP_H */
