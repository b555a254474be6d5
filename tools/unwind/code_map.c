/* SPDX-License-Identifier: Apache-2.0 */
#include "code_map.h"
#include "sorted.h"

#include <stdlib.h>
#include <string.h>

SORTED_COMPARE(by_start, struct code_range, it->start)

static bool same_range(const struct code_range *a, const struct code_range *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset &&
           strcmp(a->path, b->path) == 0 && strcmp(a->build_id, b->build_id) == 0;
}

/* Texts of a file may hold any bytes: what is behind a zero byte does not count. */
static bool copy_range(struct code_range *range, const struct code_file *file)
{
    const size_t path = file->path.bytes, id = file->build_id.bytes;
    char *text = malloc(path + id + 2);
    if (!text)
        return false;
    memcpy(text, path ? file->path.text : "", path);
    text[path] = '\0';
    memcpy(text + path + 1, id ? file->build_id.text : "", id);
    text[path + 1 + id] = '\0';
    *range = (struct code_range){.start = file->start,
                                 .end = file->end,
                                 .offset = file->offset,
                                 .path = text,
                                 .build_id = text + path + 1};
    return true;
}

/* Rows do not say when they were true: where two differ, nothing is known. */
static void mark_unsure(struct code_map *map)
{
    struct code_range *widest = map->ranges;
    for (uint32_t i = 1; i < map->count; i++) {
        struct code_range *range = &map->ranges[i];
        if (range->start < widest->end)
            range->unsure = widest->unsure = true;
        widest = range->end > widest->end ? range : widest;
    }
}

bool code_map_make(struct code_map *map, const struct code_file *files, uint32_t count)
{
    uint32_t kept = 0;
    *map = (struct code_map){calloc((size_t)count + 1, sizeof *map->ranges), 0};
    if (!map->ranges)
        return false;
    for (uint32_t i = 0; i < count && map->count < CODE_FILES_MAX; i++) {
        if (files[i].start >= files[i].end)
            continue;
        if (!copy_range(&map->ranges[map->count], &files[i]))
            return false;
        map->count++;
    }
    qsort(map->ranges, map->count, sizeof *map->ranges, by_start);
    for (uint32_t i = 0; i < map->count; i++)
        if (kept && same_range(&map->ranges[kept - 1], &map->ranges[i]))
            free(map->ranges[i].path);
        else
            map->ranges[kept++] = map->ranges[i];
    map->count = kept;
    mark_unsure(map);
    return true;
}

void code_map_free(struct code_map *map)
{
    for (uint32_t i = 0; map->ranges && i < map->count; i++)
        free(map->ranges[i].path);
    free(map->ranges);
}

const struct code_range *code_map_find(const struct code_map *map, uint64_t address)
{
    uint32_t behind;
    SORTED_FIND(behind, map->count, map->ranges[behind].start <= address);
    const struct code_range *range = behind ? &map->ranges[behind - 1] : NULL;
    return range && address < range->end && !range->unsure ? range : NULL;
}

struct unwound_frame code_map_frame(const struct code_map *map, uint64_t address)
{
    const struct code_range *range = code_map_find(map, address);
    struct unwound_frame frame = {.address = address, .offset = address};
    if (range) {
        frame.file = range->path[0] ? range->path : NULL;
        frame.offset = address - range->start + (frame.file ? range->offset : 0);
    }
    return frame;
}

const struct stack_word *stack_word_at(const struct stack_word *words, uint32_t count,
                                       uint64_t place)
{
    uint32_t at;
    SORTED_FIND(at, count, words[at].place < place);
    return at < count && words[at].place == place ? &words[at] : NULL;
}
