/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_names.h"

#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#define ID_BEGIN " (BuildId: "
enum { STARTS_MAX = 256 /* functions of a recording that are looked for */ };

/* The parts of FILE+0xADDRESS (BuildId: ID), of which the last may be missing. */
struct start_place {
    struct rbwp_text path, build_id;
    uint64_t address;
    uint32_t shown_bytes; /* up to the address */
};

static int thread_names_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static bool parse_id(const char *at, const char *end, struct rbwp_text *id_out)
{
    const size_t begin = sizeof ID_BEGIN - 1;
    *id_out = (struct rbwp_text){0};
    if (at == end)
        return true;
    if ((size_t)(end - at) <= begin + 1 || memcmp(at, ID_BEGIN, begin) != 0 || end[-1] != ')')
        return false;
    *id_out = (struct rbwp_text){at + begin, (uint32_t)((size_t)(end - at) - begin - 1)};
    for (uint32_t i = 0; i < id_out->bytes; i++)
        if (thread_names_digit(id_out->text[i]) < 0)
            return false;
    return true;
}

/* The path may have anything in it: what counts is behind its last +0x. */
static bool parse_start(const struct name *name, struct start_place *place_out)
{
    const char *at = name->text, *end = at + name->bytes, *mark = NULL;
    if (name->bytes == 0 || *at != '/' || memchr(at, '\0', name->bytes))
        return false;
    for (const char *found = at; (found = memmem(found, (size_t)(end - found), "+0x", 3)); found++)
        mark = found;
    if (!mark)
        return false;
    *place_out = (struct start_place){.path = {at, (uint32_t)(mark - at)}};
    for (at = mark + 3; at < end && thread_names_digit(*at) >= 0; at++)
        place_out->address = place_out->address << 4 | (unsigned)thread_names_digit(*at);
    place_out->shown_bytes = (uint32_t)(at - name->text);
    return at > mark + 3 && at - mark <= 3 + 16 && parse_id(at, end, &place_out->build_id);
}

/* NULL: not known, or not looked for. */
static const char *find_start(struct names *names, const struct name *name,
                              const struct start_place *place, int64_t time_ns)
{
    for (uint32_t i = 0; i < names->start_count; i++)
        if (names->starts[i].bytes == name->bytes &&
            memcmp(names->starts[i].text, name->text, name->bytes) == 0)
            return names->starts[i].function;
    if (names->start_count == STARTS_MAX ||
        (!names->starts && !(names->starts = calloc(STARTS_MAX, sizeof *names->starts))))
        return NULL;
    const struct code_file file = {.path = place->path, .build_id = place->build_id};
    struct thread_start *start = &names->starts[names->start_count++];
    *start = (struct thread_start){name->text, name->bytes,
                                   unwind_function(&file, place->address, time_ns)};
    return start->function;
}

void thread_names_resolve(struct names *names, int64_t time_ns)
{
    struct start_place place;
    for (size_t i = 0; i < names->threads.count; i++) {
        struct name *name = &names->threads.names[i];
        if (!parse_start(name, &place))
            continue;
        const char *function = find_start(names, name, &place, time_ns);
        const char *slash = memrchr(name->text, '/', place.path.bytes);
        const uint32_t folders = slash ? (uint32_t)(slash + 1 - name->text) : 0;
        name->text = function ? function : name->text + folders;
        name->bytes = function ? (uint32_t)strlen(function) : place.shown_bytes - folders;
    }
}

void thread_names_free(struct names *names)
{
    for (uint32_t i = 0; i < names->start_count; i++)
        free(names->starts[i].function);
    free(names->starts);
}
