/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_lists.h"
#include "ptx_json.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- loc_map.json ---------------------------------------------------------------------- */

bool ptx_loc_map_add(struct ptx_loc_map *map, uint32_t id, int64_t loc)
{
    if (!ptx_items_grow(&map->entries, map->count, &map->room, sizeof *map->entries))
        return false;
    map->entries[map->count++] = (struct ptx_loc_entry){id, loc};
    return true;
}

static int ptx_lists_by_id(const void *a, const void *b)
{
    const struct ptx_loc_entry *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

void ptx_loc_map_finish(struct ptx_loc_map *map)
{
    uint32_t kept = 0;
    if (map->count == 0)
        return;
    qsort(map->entries, map->count, sizeof *map->entries, ptx_lists_by_id);
    for (uint32_t i = 1; i < map->count; i++) {
        kept += map->entries[i].id != map->entries[kept].id;
        map->entries[kept] = map->entries[i];
    }
    map->count = kept + 1;
}

int64_t ptx_loc_map_find(const struct ptx_loc_map *map, uint32_t id, bool *known_out)
{
    const struct ptx_loc_entry *found =
        map->count ? bsearch(&(struct ptx_loc_entry){.id = id}, map->entries, map->count,
                             sizeof *map->entries, ptx_lists_by_id)
                   : NULL;
    *known_out = found != NULL;
    return found ? found->loc : -1;
}

void ptx_loc_map_write(struct out *out, const struct ptx_loc_map *map)
{
    out_text(out, map->count ? "{\n" : "{");
    for (uint32_t i = 0; i < map->count; i++)
        out_format(out, "  \"%" PRIu32 "\": %" PRId64 "%s\n", map->entries[i].id,
                   map->entries[i].loc, i + 1 < map->count ? "," : "");
    out_text(out, "}");
}

static bool read_loc_map(struct json_scan *scan, void *context)
{
    struct ptx_loc_map *map = context;
    enum json_token token;
    int64_t id, loc;
    if (json_scan_next(scan) != JSON_OBJECT)
        return ptx_json_wrong(scan, "it is no object of probes and lines");
    while ((token = json_scan_next(scan)) == JSON_KEY) {
        if (!ptx_json_number(scan, 0, UINT32_MAX, &id))
            return false;
        if (json_scan_next(scan) != JSON_NUMBER || !ptx_json_number(scan, -1, UINT32_MAX, &loc))
            return ptx_json_wrong(scan, "a line is no number");
        if (!ptx_loc_map_add(map, (uint32_t)id, loc))
            return ptx_json_wrong(scan, PTX_ITEMS_NO_ROOM);
    }
    return token == JSON_OBJECT_END;
}

bool ptx_loc_map_read(struct ptx_loc_map *map, const char *path)
{
    *map = (struct ptx_loc_map){0};
    bool read = ptx_json_read(path, read_loc_map, map);
    if (read)
        ptx_loc_map_finish(map);
    else
        ptx_loc_map_free(map);
    return read;
}

void ptx_loc_map_free(struct ptx_loc_map *map)
{
    free(map->entries);
    *map = (struct ptx_loc_map){0};
}

/* ---- active_probes.json ---------------------------------------------------------------- */

bool ptx_id_list_add(struct ptx_id_list *list, uint32_t id)
{
    if (!ptx_items_grow(&list->ids, list->count, &list->room, sizeof *list->ids))
        return false;
    list->ids[list->count++] = id;
    return true;
}

static void write_list(struct out *out, const char *key, const struct ptx_id_list *list)
{
    out_format(out, "  \"%s\": {\n    \"list\": [", key);
    for (uint32_t i = 0; i < list->count; i++)
        out_format(out, "%s\n      %" PRIu32, i ? "," : "", list->ids[i]);
    out_text(out, list->count ? "\n    ]\n  }" : "]\n  }");
}

void ptx_active_write(struct out *out, const struct ptx_active *active)
{
    out_text(out, "{\n");
    write_list(out, "active_start", &active->start);
    out_text(out, ",\n");
    write_list(out, "active_end", &active->end);
    out_text(out, "\n}");
}

static bool read_numbers(struct json_scan *scan, struct ptx_id_list *list)
{
    enum json_token token;
    int64_t id;
    if (json_scan_next(scan) != JSON_ARRAY)
        return ptx_json_wrong(scan, "a list is missing");
    while ((token = json_scan_next(scan)) == JSON_NUMBER) {
        if (!ptx_json_number(scan, 0, UINT32_MAX, &id))
            return false;
        if (!ptx_id_list_add(list, (uint32_t)id))
            return ptx_json_wrong(scan, PTX_ITEMS_NO_ROOM);
    }
    return token == JSON_ARRAY_END || ptx_json_wrong(scan, "a probe is no number");
}

/* {"list": [...]} */
static bool read_list(struct json_scan *scan, struct ptx_id_list *list)
{
    enum json_token token;
    if (json_scan_next(scan) != JSON_OBJECT)
        return ptx_json_wrong(scan, "a list is missing");
    while ((token = json_scan_next(scan)) == JSON_KEY) {
        if (json_scan_is(scan, "list")) {
            if (!read_numbers(scan, list))
                return false;
        } else {
            json_scan_skip(scan, json_scan_next(scan));
        }
    }
    return token == JSON_OBJECT_END;
}

static bool ptx_lists_read_active(struct json_scan *scan, void *context)
{
    struct ptx_active *active = context;
    enum json_token token;
    int found = 0;
    if (json_scan_next(scan) != JSON_OBJECT)
        return ptx_json_wrong(scan, "it is no object of lists");
    while ((token = json_scan_next(scan)) == JSON_KEY) {
        struct ptx_id_list *list = json_scan_is(scan, "active_start") ? &active->start
                                   : json_scan_is(scan, "active_end") ? &active->end
                                                                      : NULL;
        found += list != NULL;
        if (!list)
            json_scan_skip(scan, json_scan_next(scan));
        else if (!read_list(scan, list))
            return false;
    }
    if (token != JSON_OBJECT_END)
        return false;
    return found == 2 || ptx_json_wrong(scan, "active_start or active_end is missing");
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_list(struct ptx_id_list *list)
{
    if (list->count > 0)
        qsort(list->ids, list->count, sizeof *list->ids, by_number);
}

bool ptx_active_read(struct ptx_active *active, const char *path)
{
    *active = (struct ptx_active){0};
    bool read = ptx_json_read(path, ptx_lists_read_active, active);
    sort_list(&active->start);
    sort_list(&active->end);
    if (!read)
        ptx_active_free(active);
    return read;
}

void ptx_active_free(struct ptx_active *active)
{
    free(active->start.ids);
    free(active->end.ids);
    *active = (struct ptx_active){0};
}
