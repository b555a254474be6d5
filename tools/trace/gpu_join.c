/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted by processor, start and stop, facts first: those of one group are held until the records
 * of the group have come. */
#include "gpu_join.h"
#include "message.h"

#include <stddef.h>
#include <stdlib.h>

enum { GROUP_FACTS = 256 }; /* of works with one start and stop; further ones stand for none */

/* Most items are works, many millions of them, so a fact lies behind its item. */
struct item {
    struct gpu_work work; /* of a fact only processor, start and stop */
    uint64_t order;       /* of coming; facts have the top bit clear */
    uint32_t payload;     /* the sorter's: of a fact there is one */
    uint32_t unused;
};
#define IS_WORK (UINT64_C(1) << 63)

struct fact_payload {
    _Alignas(8) uint32_t words; /* whole words also where 64 bits need no alignment to 64 */
    uint32_t unused;
    struct gpu_fact fact;
};
_Static_assert(sizeof(struct fact_payload) % sizeof(uint64_t) == 0, "it is whole words");

struct group {
    void (*found)(void *context, const struct gpu_work *work, const struct gpu_fact *fact);
    void *context;
    struct gpu_work first; /* whose processor and times it has */
    bool any;
    struct gpu_fact facts[GROUP_FACTS];
    bool taken[GROUP_FACTS];
    uint32_t fact_count, taken_count; /* taken_count: the first that may be left */
};

static int compare_works(const struct gpu_work *a, const struct gpu_work *b)
{
    if (a->proc_id != b->proc_id)
        return a->proc_id < b->proc_id ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->stop_ns > b->stop_ns) - (a->stop_ns < b->stop_ns);
}

static int compare(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int order = compare_works(&a->work, &b->work);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static const struct merge_order items_order = {.what = "GPU spans",
                                               .item_bytes = sizeof(struct item),
                                               .payload_at = offsetof(struct item, payload),
                                               .compare = compare};

void gpu_join_start(struct gpu_join *join)
{
    *join = (struct gpu_join){0};
    merge_sorter_start(&join->items, &items_order);
}

void gpu_join_stop(struct gpu_join *join)
{
    merge_sorter_stop(&join->items);
}

void gpu_join_work(struct gpu_join *join, const struct gpu_work *work)
{
    const struct item item = {.work = *work, .order = join->next++ | IS_WORK};
    merge_sorter_add(&join->items, &item, NULL);
}

void gpu_join_fact(struct gpu_join *join, const struct gpu_fact *fact)
{
    const struct item item = {
        .work = {.proc_id = fact->proc_id, .start_ns = fact->start_ns, .stop_ns = fact->stop_ns},
        .order = join->next++};
    const struct fact_payload payload = {.words = sizeof payload / sizeof(uint64_t), .fact = *fact};
    merge_sorter_add(&join->items, &item, (const void *)&payload);
}

/* Rows that found no record are work all the same. */
static void end_group(struct group *group)
{
    for (uint32_t i = group->taken_count; i < group->fact_count; i++)
        if (!group->taken[i] && group->facts[i].is_row)
            group->found(group->context, NULL, &group->facts[i]);
    group->fact_count = group->taken_count = 0;
}

static const struct gpu_fact *fact_of(struct group *group, const struct gpu_work *work)
{
    while (group->taken_count < group->fact_count && group->taken[group->taken_count])
        group->taken_count++;
    for (uint32_t i = group->taken_count; i < group->fact_count; i++) {
        const struct gpu_fact *fact = &group->facts[i];
        if (group->taken[i] || (fact->slot != GPU_ANY_SLOT && fact->slot != work->slot))
            continue;
        group->taken[i] = true;
        return fact;
    }
    return NULL;
}

static bool take(void *context, const void *sorted, const uint64_t *payload)
{
    struct group *group = context;
    const struct item *item = sorted;
    if (!group->any || compare_works(&group->first, &item->work) != 0)
        end_group(group);
    group->any = true;
    group->first = item->work;
    if (item->order & IS_WORK) {
        group->found(group->context, &item->work, fact_of(group, &item->work));
    } else if (group->fact_count < GROUP_FACTS) {
        group->taken[group->fact_count] = false;
        group->facts[group->fact_count++] =
            ((const struct fact_payload *)(const void *)payload)->fact;
    }
    return true;
}

bool gpu_join_finish(struct gpu_join *join,
                     void (*found)(void *context, const struct gpu_work *work,
                                   const struct gpu_fact *fact),
                     void *context)
{
    struct group *group = calloc(1, sizeof *group);
    if (!group) {
        message("GPU spans are missing: out of memory");
        return false;
    }
    group->found = found;
    group->context = context;
    merge_sorter_finish(&join->items, take, group);
    end_group(group);
    free(group);
    return !join->items.failed;
}
