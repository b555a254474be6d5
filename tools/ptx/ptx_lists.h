/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_lists.h - two small JSON files, as compatible tools write them.
 *
 * loc_map.json: {"0": 21, "1": 22}: a probe's number and its source line. active_probes.json:
 * {"active_start": {"list": [0, 2]}, "active_end": {"list": [1, 2]}}.
 */
#ifndef PTX_LISTS_H
#define PTX_LISTS_H

#include "json_scan.h"
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

/* ---- ptx json -------------------------------------------------------------------------------- */
/* What the readers of small JSON files share. */

#define PTX_ITEMS_MAX (1u << 21) /* of any list */

#define PTX_ITEMS_NO_ROOM "out of memory, or too long a list"

typedef bool ptx_json_fn(struct json_scan *scan, void *context);

/* Opens path and has it read; false with the message given: the scan's problem, or that it is cut.
 */
bool ptx_json_read(const char *path, ptx_json_fn *read, void *context);

/* Always false; what is the problem, if there is none yet. */
bool ptx_json_wrong(struct json_scan *scan, const char *what);

/* The next token, which has to be a text that fits, or a number. */
bool ptx_json_take_text(struct json_scan *scan, char *to, size_t room);
bool ptx_json_take_number(struct json_scan *scan, int64_t low, int64_t high, int64_t *number_out);

/* A member of an object, and where its value goes. */
struct ptx_member {
    const char *key;
    enum {
        PTX_TEXT,       /* cut to its room */
        PTX_WHOLE_TEXT, /* wrong where it has no room */
        PTX_U64,        /* 64 bits without sign */
        PTX_NUMBER      /* from low to high */
    } type;
    size_t at, bytes;
    int64_t low, high;
};
#define PTX_MEMBER(type, key, of, member, low, high)                                               \
    {                                                                                              \
        key, type, offsetof(of, member), sizeof((of *)0)->member, low, high                        \
    }
/* The member whose key came, if the table has it; others are passed over. False: it is wrong. */
bool ptx_json_take_member(struct json_scan *scan, const struct ptx_member *table, size_t count,
                          void *to);
#define PTX_TAKE_MEMBER(scan, table, to)                                                           \
    ptx_json_take_member(scan, table, sizeof table / sizeof table[0], to)

/* Room for one item more behind count; items is a pointer to the array. False beyond the most, or
 * without memory. */
bool ptx_items_grow(void *items, uint32_t count, uint32_t *room, size_t item_bytes);

#endif /* PTX_LISTS_H */
