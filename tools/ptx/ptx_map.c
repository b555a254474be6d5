/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_map.h"
#include "json_text.h"
#include "message.h"
#include "sorted.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- PTX files ------------------------------------------------------------------------------- */

char *ptx_read_file(const char *path, size_t bytes_max, size_t *bytes_out)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = fd < 0 ? NULL : read_to_end(fd, bytes_max, bytes_out);
    if (!bytes)
        message_plain("%s: %s", standard ? "standard input" : path, strerror(errno));
    if (fd >= 0 && !standard)
        close(fd);
    return bytes;
}

bool ptx_source_open(struct ptx_source *source, const char *path)
{
    struct ptx_error error;
    source->path = strcmp(path, "-") == 0 ? "standard input" : path;
    source->text = ptx_read_file(path, PTX_BYTES_MAX, &source->bytes);
    if (!source->text)
        return false;
    if (ptx_parse(&source->module, source->text, source->bytes, &error))
        return true;
    ptx_source_error(source, &error);
    free(source->text);
    return false;
}

void ptx_source_close(struct ptx_source *source)
{
    ptx_free(&source->module);
    free(source->text);
}

void ptx_source_error(const struct ptx_source *source, const struct ptx_error *error)
{
    char line[PTX_EXCERPT_BYTES], caret[PTX_EXCERPT_BYTES];
    if (error->line == 0) {
        message_plain("%s: %s", source->path, error->reason);
        return;
    }
    ptx_excerpt(source->text, source->bytes, error, line, caret);
    message_plain("%s:%u:%u: %s", source->path, error->line, error->column, error->reason);
    message_plain("%s", line);
    message_plain("%s", caret);
}

/* ---- the map of a module --------------------------------------------------------------------- */
/* MAP.json: written with the names of what it holds, read by them, in any order. */

#define NAMES_MAX 4096 /* of files, or kernels, that are read */

/* ---- writing --------------------------------------------------------------------------- */

static void json_span(struct out *out, const struct ptx_source *source, struct ptx_span span)
{
    size_t count = span.end - span.begin;
    json_string(out, source->text + span.begin,
                count < PTX_MAP_NAME_MAX / 2 ? count : PTX_MAP_NAME_MAX / 2 - 1);
}

static void write_shape(struct out *out, const struct ptx_options *options,
                        const struct ptx_probes *probes)
{
    static const char *const bindings[] = {"variable", "append", "param"};
    out_format(out, ",\n\"mode\":\"%s\",\"cells\":\"%s\",\"lane\":\"%s\"",
               ptx_mode_name(options->mode), probes->cells == PTX_CELLS_WIDE ? "wide" : "compat",
               probes->lane == PTX_LANE_WARP ? "warp" : "thread");
    out_format(out, ",\n\"capacity\":%" PRIu32 ",\"lanes\":%" PRIu64 ",\"buffer_bytes\":%" PRIu64,
               options->capacity, probes->lanes, probes->buffer_bytes);
    out_format(out, ",\n\"binding\":\"%s\",\"parameter\":", bindings[options->binding]);
    json_string(out, probes->param, strlen(probes->param));
    out_text(out, ",\n\"threads\":[");
    for (uint32_t i = 0; i < options->range_count; i++)
        out_format(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
                   options->ranges[i].first, options->ranges[i].last, options->ranges[i].step);
    out_text(out, "]");
}

/* What the probes' numbers stand for, each once: files, or kernels. */
static void ptx_map_write_names(struct out *out, const struct ptx_source *source,
                                const struct ptx_probes *probes, bool files)
{
    uint32_t written[64], count = 0;
    out_format(out, ",\n\"%s\":{", files ? "files" : "kernels");
    for (uint32_t i = 0; i < probes->count && count < 64; i++) {
        uint32_t number = files ? probes->probes[i].file : probes->probes[i].kernel, known = 0;
        while (known < count && written[known] != number)
            known++;
        if (known < count)
            continue;
        written[count] = number;
        out_format(out, "%s\"%" PRIu32 "\":", count++ ? "," : "", number);
        json_span(out, source,
                  files ? ptx_file(&source->module, number)
                        : source->module.functions[number].name);
    }
    out_text(out, "}");
}

static void write_probe(struct out *out, const struct ptx_probe *probe)
{
    out_format(out, "{\"id\":%" PRIu32 ",\"kernel\":%" PRIu32 ",\"file\":%" PRIu32, probe->id,
               probe->kernel, probe->file);
    out_format(out, ",\"loc\":%" PRId64 ",", probe->loc);
    out_format(out, "\"entry\":%" PRIu32 ",\"exit\":%" PRIu32 ",\"start\":%s,\"end\":%s,",
               probe->entry, probe->exit, probe->start ? "true" : "false",
               probe->end ? "true" : "false");
    out_format(out, "\"class\":\"%s\"}", ptx_class_name(probe->unit));
}

void ptx_map_write(struct out *out, const struct ptx_source *source,
                   const struct ptx_options *options, const struct ptx_probes *probes)
{
    out_format(out, "{\"rbwp_ptx_map\":1,\"hash\":\"%016" PRIx64 "\",\"module\":", probes->hash);
    json_string(out, source->path, strlen(source->path));
    write_shape(out, options, probes);
    ptx_map_write_names(out, source, probes, true);
    ptx_map_write_names(out, source, probes, false);
    out_format(out, ",\n\"ids\":%" PRIu32 ",\"probes\":[", probes->ids);
    for (uint32_t i = 0; i < probes->count; i++) {
        out_text(out, i ? ",\n" : "\n");
        write_probe(out, &probes->probes[i]);
    }
    out_text(out, "]}\n");
}

/* ---- reading --------------------------------------------------------------------------- */

static bool ptx_map_take_u64(struct json_scan *scan, uint64_t *number_out)
{
    int64_t number;
    if (!ptx_json_take_number(scan, 0, INT64_MAX, &number))
        return false;
    *number_out = (uint64_t)number;
    return true;
}

#define PROBE_U32(key) PTX_MEMBER(PTX_NUMBER, #key, struct ptx_map_probe, key, 0, UINT32_MAX)
static const struct ptx_member probe_members[] = {
    PROBE_U32(id),
    PROBE_U32(file),
    PROBE_U32(entry),
    PROBE_U32(exit),
    PROBE_U32(kernel),
    PTX_MEMBER(PTX_NUMBER, "loc", struct ptx_map_probe, loc, -1, UINT32_MAX),
    PTX_MEMBER(PTX_WHOLE_TEXT, "class", struct ptx_map_probe, unit, 0, 0),
};

#define MAP_NUMBER(key, high) PTX_MEMBER(PTX_NUMBER, #key, struct ptx_map, key, 0, high)
static const struct ptx_member map_members[] = {
    PTX_MEMBER(PTX_WHOLE_TEXT, "module", struct ptx_map, module, 0, 0),
    MAP_NUMBER(capacity, UINT32_MAX),
    MAP_NUMBER(ids, UINT32_MAX),
    MAP_NUMBER(lanes, INT64_MAX),
    MAP_NUMBER(buffer_bytes, INT64_MAX),
};

static bool take_probes(struct json_scan *scan, struct ptx_map *map)
{
    if (json_scan_next(scan) != JSON_ARRAY)
        return ptx_json_wrong(scan, "probes are no list");
    for (;;) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_ARRAY_END)
            return true;
        if (token != JSON_OBJECT)
            return ptx_json_wrong(scan, "a probe is no object");
        if (!ptx_items_grow(&map->probes, map->count, &map->room, sizeof *map->probes))
            return ptx_json_wrong(scan, PTX_ITEMS_NO_ROOM);
        struct ptx_map_probe *probe = &map->probes[map->count++];
        *probe = (struct ptx_map_probe){.loc = -1};
        while ((token = json_scan_next(scan)) == JSON_KEY)
            if (!PTX_TAKE_MEMBER(scan, probe_members, probe))
                return false;
        if (token != JSON_OBJECT_END)
            return ptx_json_wrong(scan, "a probe is cut");
    }
}

static bool ptx_map_take_names(struct json_scan *scan, struct ptx_map_names *names)
{
    if (json_scan_next(scan) != JSON_OBJECT)
        return ptx_json_wrong(scan, "names are no object");
    enum json_token token;
    while ((token = json_scan_next(scan)) == JSON_KEY) {
        char key[16] = "";
        if (scan->text_bytes >= sizeof key)
            return ptx_json_wrong(scan, "a number is too long");
        if (names->count == NAMES_MAX ||
            !ptx_items_grow(&names->names, names->count, &names->room, sizeof *names->names))
            return ptx_json_wrong(scan, PTX_ITEMS_NO_ROOM);
        memcpy(key, scan->text, scan->text_bytes);
        struct ptx_map_name *name = &names->names[names->count];
        name->number = (uint32_t)strtoul(key, NULL, 10);
        if (!ptx_json_take_text(scan, name->text, sizeof name->text))
            return false;
        names->count++;
    }
    return token == JSON_OBJECT_END || ptx_json_wrong(scan, "names are cut");
}

/* A list of first, last and step. */
static bool take_ranges(struct json_scan *scan, struct ptx_map *map)
{
    if (json_scan_next(scan) != JSON_ARRAY)
        return ptx_json_wrong(scan, "threads are no list");
    for (;;) {
        enum json_token token = json_scan_next(scan);
        if (token == JSON_ARRAY_END)
            return true;
        if (token != JSON_ARRAY || map->range_count == PTX_RANGES_MAX)
            return ptx_json_wrong(scan, "threads are no list of ranges, or too long a one");
        struct ptx_range *range = &map->ranges[map->range_count++];
        if (!ptx_map_take_u64(scan, &range->first) || !ptx_map_take_u64(scan, &range->last) ||
            !ptx_map_take_u64(scan, &range->step))
            return false;
        if (range->step == 0 || range->last < range->first ||
            json_scan_next(scan) != JSON_ARRAY_END)
            return ptx_json_wrong(scan, "a range of threads has a first, a last and a step");
    }
}

/* One of words, by its place, which becomes the value of an enum. */
static bool ptx_map_take_word(struct json_scan *scan, const char *const *words, uint32_t count,
                              void *which_out)
{
    char word[16];
    uint32_t which = 0;
    if (!ptx_json_take_text(scan, word, sizeof word))
        return false;
    while (which < count && strcmp(word, words[which]) != 0)
        which++;
    memcpy(which_out, &which, sizeof which);
    return which < count || ptx_json_wrong(scan, "a word is not known");
}

static bool map_member(struct json_scan *scan, struct ptx_map *map)
{
    static const char *const cells[] = {"", "compat", "wide"}, *const lanes[] = {"", "thread",
                                                                                 "warp"};
    const char *modes[PTX_MODE_COUNT];
    char hash[24];
    for (int i = 0; i < PTX_MODE_COUNT; i++)
        modes[i] = ptx_mode_name((enum ptx_mode)i);
    if (json_scan_is(scan, "hash")) {
        bool taken = ptx_json_take_text(scan, hash, sizeof hash);
        map->hash = taken ? strtoull(hash, NULL, 16) : 0;
        return taken;
    }
    if (json_scan_is(scan, "mode"))
        return ptx_map_take_word(scan, modes, PTX_MODE_COUNT, &map->mode);
    if (json_scan_is(scan, "cells"))
        return ptx_map_take_word(scan, cells, 3, &map->cells);
    if (json_scan_is(scan, "lane"))
        return ptx_map_take_word(scan, lanes, 3, &map->lane);
    if (json_scan_is(scan, "files"))
        return ptx_map_take_names(scan, &map->files);
    if (json_scan_is(scan, "threads"))
        return take_ranges(scan, map);
    if (json_scan_is(scan, "kernels"))
        return ptx_map_take_names(scan, &map->kernels);
    return json_scan_is(scan, "probes") ? take_probes(scan, map)
                                        : PTX_TAKE_MEMBER(scan, map_members, map);
}

static bool read_members(struct json_scan *scan, void *context)
{
    struct ptx_map *map = context;
    enum json_token token;
    if (json_scan_next(scan) != JSON_OBJECT)
        return ptx_json_wrong(scan, "it is no map that rbwp ptx instrument wrote");
    while ((token = json_scan_next(scan)) == JSON_KEY)
        if (!map_member(scan, map))
            return false;
    if (token != JSON_OBJECT_END)
        return ptx_json_wrong(scan, "it is cut");
    if (map->hash == 0 || map->lanes == 0 || map->cells == PTX_CELLS_MODE || map->buffer_bytes == 0)
        return ptx_json_wrong(scan, "it is no map that rbwp ptx instrument wrote");
    return true;
}

SORTED_COMPARE(ptx_map_by_id, struct ptx_map_probe, it->id)

bool ptx_map_read(struct ptx_map *map, const char *path)
{
    *map = (struct ptx_map){0};
    if (!ptx_json_read(path, read_members, map)) {
        ptx_map_free(map);
        return false;
    }
    if (map->count > 0)
        qsort(map->probes, map->count, sizeof *map->probes, ptx_map_by_id);
    return true;
}

void ptx_map_free(struct ptx_map *map)
{
    free(map->probes);
    free(map->files.names);
    free(map->kernels.names);
    *map = (struct ptx_map){0};
}

const struct ptx_map_probe *ptx_map_find(const struct ptx_map *map, uint32_t id)
{
    uint32_t at;
    SORTED_FIND(at, map->count, map->probes[at].id < id);
    return at < map->count && map->probes[at].id == id ? &map->probes[at] : NULL;
}

bool ptx_map_locs(const struct ptx_map *map, struct ptx_loc_map *locs)
{
    *locs = (struct ptx_loc_map){0};
    for (uint32_t i = 0; i < map->count; i++)
        if (!ptx_loc_map_add(locs, map->probes[i].id, map->probes[i].loc))
            return message_fail("out of memory");
    ptx_loc_map_finish(locs);
    return true;
}

uint64_t ptx_map_lane(const struct ptx_map *map, uint64_t lane)
{
    for (uint32_t i = 0; i < map->range_count; i++) {
        const struct ptx_range *range = &map->ranges[i];
        uint64_t more = (range->last - range->first) / range->step;
        if (lane <= more)
            return range->first + lane * range->step;
        lane -= more + 1;
    }
    return UINT64_MAX;
}

const char *ptx_map_name(const struct ptx_map_names *names, uint32_t number)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (names->names[i].number == number)
            return names->names[i].text;
    return "";
}

const char *ptx_map_kernel(const struct ptx_map *map)
{
    return map->count ? ptx_map_name(&map->kernels, map->probes[0].kernel) : "";
}
