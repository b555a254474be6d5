/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_lists.h"
#include "grow.h"
#include "message.h"
#include "sorted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- loc_map.json ---------------------------------------------------------------------- */

bool ptx_loc_map_add(struct ptx_loc_map *map, uint32_t id, int64_t loc)
{
    if (!ptx_items_grow(&map->entries, map->count, &map->room, sizeof *map->entries))
        return false;
    map->entries[map->count++] = (struct ptx_loc_entry){id, loc};
    return true;
}

SORTED_COMPARE(ptx_lists_by_id, struct ptx_loc_entry, it->id)

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

static void cut_text(const struct json_scan *scan, char *to, size_t room)
{
    size_t count = scan->text_bytes < room ? scan->text_bytes : room - 1;
    memcpy(to, scan->text, count);
    to[count] = '\0';
}

/* The token's text as a number from low to high. */
static bool ptx_json_number(struct json_scan *scan, int64_t low, int64_t high, int64_t *number_out)
{
    char text[32], *end;
    if (scan->text_bytes == 0 || scan->text_bytes >= sizeof text)
        return ptx_json_wrong(scan, "a number is missing");
    cut_text(scan, text, sizeof text);
    errno = 0;
    *number_out = strtoll(text, &end, 10);
    return (errno == 0 && *end == '\0' && *number_out >= low && *number_out <= high) ||
           ptx_json_wrong(scan, "a number is out of range");
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

SORTED_COMPARE(by_number, uint32_t, *it)

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

/* ---- ptx json -------------------------------------------------------------------------------- */

bool ptx_items_grow(void *items, uint32_t count, uint32_t *room, size_t item_bytes)
{
    return count < PTX_ITEMS_MAX && grow_array32(items, room, count + 1, item_bytes);
}

bool ptx_json_wrong(struct json_scan *scan, const char *what)
{
    if (!*scan->problem)
        snprintf(scan->problem, sizeof scan->problem, "%s", what);
    return false;
}

bool ptx_json_read(const char *path, ptx_json_fn *read, void *context)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        message_plain("%s: %s", path, strerror(errno));
        return false;
    }
    struct json_scan *scan = malloc(sizeof *scan);
    bool good = false;
    if (!scan || !json_scan_start(scan, fd)) {
        message("out of memory");
    } else {
        good = read(scan, context);
        if (!good)
            message_plain("%s: %s", path, *scan->problem ? scan->problem : "it is cut");
        json_scan_stop(scan);
    }
    free(scan);
    close(fd);
    return good;
}

bool ptx_json_take_number(struct json_scan *scan, int64_t low, int64_t high, int64_t *number_out)
{
    if (json_scan_next(scan) != JSON_NUMBER)
        return ptx_json_wrong(scan, "a number is missing");
    return ptx_json_number(scan, low, high, number_out);
}

bool ptx_json_take_text(struct json_scan *scan, char *to, size_t room)
{
    if (json_scan_next(scan) != JSON_TEXT || scan->text_bytes >= room)
        return ptx_json_wrong(scan, "a text is missing or too long");
    cut_text(scan, to, room);
    return true;
}

static bool take_u64(struct json_scan *scan, uint64_t *number_out)
{
    char text[32], *end;
    if (json_scan_next(scan) != JSON_NUMBER || scan->text_bytes >= sizeof text)
        return ptx_json_wrong(scan, "a number is missing");
    cut_text(scan, text, sizeof text);
    errno = 0;
    *number_out = strtoull(text, &end, 10);
    return (errno == 0 && *end == '\0' && *text != '-') ||
           ptx_json_wrong(scan, "a number is out of range");
}

static bool take_value(struct json_scan *scan, const struct ptx_member *member, void *to)
{
    uint64_t number = 0;
    int64_t value = 0;
    if (member->type == PTX_WHOLE_TEXT)
        return ptx_json_take_text(scan, to, member->bytes);
    if (member->type == PTX_TEXT) {
        if (json_scan_next(scan) != JSON_TEXT)
            return ptx_json_wrong(scan, "a text is missing");
        cut_text(scan, to, member->bytes);
        return true;
    }
    if (member->type == PTX_U64 ? !take_u64(scan, &number)
                                : !ptx_json_take_number(scan, member->low, member->high, &value))
        return false;
    number |= (uint64_t)value;
    if (member->bytes == sizeof(uint32_t))
        *(uint32_t *)to = (uint32_t)number;
    else
        *(uint64_t *)to = number;
    return true;
}

bool ptx_json_take_member(struct json_scan *scan, const struct ptx_member *table, size_t count,
                          void *to)
{
    for (size_t i = 0; i < count; i++)
        if (json_scan_is(scan, table[i].key))
            return take_value(scan, &table[i], (char *)to + table[i].at);
    enum json_token token = json_scan_next(scan);
    if (token == JSON_END)
        return ptx_json_wrong(scan, "it ends too early");
    json_scan_skip(scan, token);
    return true;
}
