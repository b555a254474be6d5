/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name lookup: sorted arrays and a binary search. Of two entries for one slot
 * or sub-item in a table the first one counts (R33, R34); of two uses of a
 * slot from the same time on the later one, for the first has ended.
 */
#include "name_lookup.h"

#include "thread_names.h"

#include <stdint.h>
#include <stdlib.h>

static struct name make_name(uint64_t id, int64_t from_ns, const char *text, uint32_t bytes)
{
    return (struct name){.id = id, .from_ns = from_ns, .text = text, .bytes = bytes};
}

static int name_lookup_compare(const void *left, const void *right)
{
    const struct name *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
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

/* Of a sorted table. */
static void keep_first_entries(struct name_set *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++)
        if (kept == 0 || set->names[kept - 1].id != set->names[i].id)
            set->names[kept++] = set->names[i];
    set->count = kept;
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
    keep_first_entries(set);
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
        thread_names_resolve(names, trailer ? trailer->start_ns : 0);
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
    thread_names_free(names);
    *names = (struct names){0};
}

struct name *names_find(const struct name_set *set, uint64_t id, int64_t time_ns)
{
    size_t low = 0, high = set->count; /* names before low are not after (id, time) */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct name *name = &set->names[middle];
        if (name->id < id || (name->id == id && name->from_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && set->names[low - 1].id == id)
        return &set->names[low - 1];
    return low < set->count && set->names[low].id == id ? &set->names[low] : NULL;
}
