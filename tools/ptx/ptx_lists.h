/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_lists.h - two small JSON files, as compatible tools write them.
 *
 * loc_map.json: {"0": 21, "1": 22}: a probe's number and its source line. active_probes.json:
 * {"active_start": {"list": [0, 2]}, "active_end": {"list": [1, 2]}}.
 */
#ifndef PTX_LISTS_H
#define PTX_LISTS_H

#include "out.h"

struct ptx_loc_entry {
    uint32_t id;
    int64_t loc;
};

/* In order of ids. */
struct ptx_loc_map {
    struct ptx_loc_entry *entries;
    uint32_t count, room;
};

struct ptx_id_list {
    uint32_t *ids;
    uint32_t count, room;
};
struct ptx_active {
    struct ptx_id_list start, end;
};

bool ptx_loc_map_add(struct ptx_loc_map *map, uint32_t id, int64_t loc);
/* Sorts, and of what was added twice keeps the last. */
void ptx_loc_map_finish(struct ptx_loc_map *map);
/* -1 where nothing is known. */
int64_t ptx_loc_map_find(const struct ptx_loc_map *map, uint32_t id, bool *known_out);
void ptx_loc_map_write(struct out *out, const struct ptx_loc_map *map);
/* False with the message given; free only after true. */
bool ptx_loc_map_read(struct ptx_loc_map *map, const char *path);
void ptx_loc_map_free(struct ptx_loc_map *map);

bool ptx_id_list_add(struct ptx_id_list *list, uint32_t id);
void ptx_active_write(struct out *out, const struct ptx_active *active);
/* Sorted. False with the message given; free only after true. */
bool ptx_active_read(struct ptx_active *active, const char *path);
void ptx_active_free(struct ptx_active *active);

#endif /* PTX_LISTS_H */
