/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name lookup: sorted arrays and a binary search. Of two entries for one slot
 * or sub-item in a table the first one counts (R33, R34); of two uses of a
 * slot from the same time on the later one, for the first has ended.
 */
#include "name_lookup.h"

#include "sorted.h"
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is named by its code: threads by the function that they were started with ---------- */
/*
 * The file has FILE+0xADDRESS (BuildId: ID) of such a thread, work item or sub-item (SPEC.md 10).
 * What is shown is the function's name, if that FILE is there, else FILE+0xADDRESS without folders.
 */

#define ID_BEGIN " (BuildId: "
enum { STARTS_MAX = 1024 /* functions of a recording that are looked for */ };

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

/* time_ns: as in unwind.h. Without memory names stay as they are. */
static void thread_names_resolve(struct names *names, const struct name_set *set, int64_t time_ns)
{
    struct start_place place;
    for (size_t i = 0; i < set->count; i++) {
        struct name *name = &set->names[i];
        if (!parse_start(name, &place))
            continue;
        const char *function = find_start(names, name, &place, time_ns);
        const char *slash = memrchr(name->text, '/', place.path.bytes);
        const uint32_t folders = slash ? (uint32_t)(slash + 1 - name->text) : 0;
        name->text = function ? function : name->text + folders;
        name->bytes = function ? (uint32_t)strlen(function) : place.shown_bytes - folders;
    }
}

/* ---- names of a file ------------------------------------------------------------------------- */

static struct name make_name(uint64_t id, int64_t from_ns, const char *text, uint32_t bytes)
{
    return (struct name){.id = id, .from_ns = from_ns, .text = text, .bytes = bytes};
}

static int name_lookup_compare(const void *left, const void *right)
{
    const struct name *a = left, *b = right;
    SORTED_BY(a, b, id);
    SORTED_BY(a, b, from_ns);
    return (a->text > b->text) - (a->text < b->text);
}

static bool name_lookup_reserve(struct name_set *set, size_t count)
{
    set->names = calloc(count ? count : 1, sizeof *set->names);
    return set->names != NULL;
}

static void name_lookup_sort(struct name_set *set)
{
    qsort(set->names, set->count, sizeof *set->names, name_lookup_compare);
}

/* Slots by the trailer's uses; the table names those for all times before. */
static bool load_slots(struct name_set *set, const struct rbwp_tables *tables,
                       const struct rbwp_trailer *trailer)
{
    uint32_t uses = trailer ? trailer->slot_use_count : 0;
    if (!name_lookup_reserve(set, (size_t)tables->work_item_count + uses))
        return false;
    bool used[RBWP_SLOTS_MAX] = {false};
    for (uint32_t i = 0; i < uses; i++) {
        const struct rbwp_slot_use *use = &trailer->slot_uses[i];
        set->names[set->count++] = make_name(use->slot, use->from_ns, use->name, use->name_bytes);
        if (use->slot < RBWP_SLOTS_MAX)
            used[use->slot] = true;
    }
    for (uint32_t i = 0; i < tables->work_item_count; i++) {
        const struct rbwp_work_item_name *item = &tables->work_items[i];
        if (item->slot < RBWP_SLOTS_MAX) {
            if (used[item->slot])
                continue;
            used[item->slot] = true;
        }
        set->names[set->count++] = make_name(item->slot, INT64_MIN, item->name, item->name_bytes);
    }
    name_lookup_sort(set);
    return true;
}

static bool load_sub_items(struct name_set *set, const struct rbwp_tables *tables)
{
    if (!name_lookup_reserve(set, tables->sub_item_count))
        return false;
    for (uint32_t i = 0; i < tables->sub_item_count; i++) {
        const struct rbwp_sub_item_name *item = &tables->sub_items[i];
        set->names[i] = make_name(item->id, INT64_MIN, item->name, item->name_bytes);
        set->names[i].type = item->type;
    }
    set->count = tables->sub_item_count;
    name_lookup_sort(set);
    /* The first entry of each id stays. */
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++)
        if (kept == 0 || set->names[kept - 1].id != set->names[i].id)
            set->names[kept++] = set->names[i];
    set->count = kept;
    return true;
}

static void set_kind(struct name *name, const struct rbwp_sub_item_kind *kind)
{
    name->waits = kind->flags & RBWP_KIND_WAITS;
    name->kind = kind->name;
    name->kind_bytes = kind->name_bytes;
}

/* Of several kinds of a sub-item or slot the first counts; a slot has it at all times. */
static void load_kinds(struct names *names, const struct rbwp_trailer *trailer)
{
    for (uint32_t i = trailer ? trailer->sub_item_kind_count : 0; i-- > 0;) {
        const struct rbwp_sub_item_kind *kind = &trailer->sub_item_kinds[i];
        if (kind->flags & RBWP_KIND_OF_SLOT) {
            for (size_t n = 0; n < names->slots.count; n++)
                if (names->slots.names[n].id == kind->id)
                    set_kind(&names->slots.names[n], kind);
            continue;
        }
        struct name *name = names_find(&names->sub_items, kind->id, INT64_MIN);
        if (name)
            set_kind(name, kind);
    }
}

static bool load_threads(struct name_set *set, const struct rbwp_trailer *trailer)
{
    uint32_t count = trailer ? trailer->thread_count : 0;
    if (!name_lookup_reserve(set, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct rbwp_thread_info *thread = &trailer->threads[i];
        set->names[i] =
            make_name(thread->thread_id, thread->attached_ns, thread->name, thread->name_bytes);
    }
    set->count = count;
    name_lookup_sort(set);
    return true;
}

bool names_load(struct names *names, const struct rbwp_reader *reader)
{
    const struct rbwp_tables *tables = rbwp_reader_tables(reader);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    *names = (struct names){0};
    if (load_slots(&names->slots, tables, trailer) && load_sub_items(&names->sub_items, tables) &&
        load_threads(&names->threads, trailer)) {
        load_kinds(names, trailer);
        const struct name_set *sets[] = {&names->slots, &names->sub_items, &names->threads};
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
            thread_names_resolve(names, sets[i], trailer ? trailer->start_ns : 0);
        return true;
    }
    names_free(names);
    return false;
}

void names_free(struct names *names)
{
    free(names->slots.names);
    free(names->sub_items.names);
    free(names->threads.names);
    for (uint32_t i = 0; i < names->start_count; i++)
        free(names->starts[i].function);
    free(names->starts);
    *names = (struct names){0};
}

struct name *names_find(const struct name_set *set, uint64_t id, int64_t time_ns)
{
    struct name *names = set->names;
    size_t at; /* names before it are not after (id, time) */
    SORTED_FIND(at, set->count,
                names[at].id < id || (names[at].id == id && names[at].from_ns <= time_ns));
    if (at > 0 && names[at - 1].id == id)
        return &names[at - 1];
    return at < set->count && names[at].id == id ? &names[at] : NULL;
}
