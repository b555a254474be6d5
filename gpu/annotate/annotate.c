/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activities wait until the correlations have come, so that those may come in any order and
 * the last record of one counts; then each extends what its range has on its stream. Ranges around
 * others are credited at the end, from what these have.
 */
#include "rbwp_annotate.h"

#include "grow.h"
#include "index_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- items found by a key of up to three words, in the order in which they came -------------- */
/* An item begins with its key. Pointers to items are valid until the next add or clear. */

struct key {
    uint64_t word[3];
};

struct key_table {
    size_t item_bytes;
    uint32_t items_max;
    void *items;
    uint32_t count, room;
    struct index_map places;
};

static void *key_table_at(const struct key_table *table, uint32_t number)
{
    return (char *)table->items + number * table->item_bytes;
}

static uint64_t key_hash(const struct key *key)
{
    return hash_pair(hash_pair(key->word[2], key->word[1]), key->word[0]);
}

/* NULL: there is none. */
static void *key_table_find(const struct key_table *table, const struct key *key)
{
    const uint64_t hash = key_hash(key);
    for (uint32_t step = 0, i; (i = index_map_next(&table->places, hash, &step)) != INDEX_NONE;)
        if (memcmp(key_table_at(table, i), key, sizeof *key) == 0)
            return key_table_at(table, i);
    return NULL;
}

/* The item, made of zeroes if there is none. NULL: no room or no memory for it. */
static void *key_table_add(struct key_table *table, const struct key *key)
{
    void *item = key_table_find(table, key);
    if (item || table->count >= table->items_max ||
        !grow_array32(&table->items, &table->room, table->count + 1, table->item_bytes) ||
        !index_map_add(&table->places, key_hash(key), table->count))
        return item;
    item = key_table_at(table, table->count++);
    memset(item, 0, table->item_bytes);
    memcpy(item, key, sizeof *key);
    return item;
}

static void key_table_clear(struct key_table *table)
{
    table->count = 0;
    index_map_clear(&table->places);
}

static void key_table_free(struct key_table *table)
{
    free(table->items);
    index_map_free(&table->places);
}

/* ---- annotate -------------------------------------------------------------------------------- */

enum { ENTRIES_MAX = 1 << 20, OUTER_MAX = 1024 };

struct correlation {
    struct key key; /* the correlation */
    uint64_t id[2]; /* by enum rbwp_external_kind */
    bool told[2];
    bool used; /* by an activity */
};

struct range {
    struct key key; /* its id */
    uint64_t parent, name, tag;
};

/* From the first start to the last stop. */
struct stretch {
    int64_t start_ns, stop_ns;
    uint64_t activities; /* 0: none, the times mean nothing */
};

struct annotated {
    struct key key;     /* device, stream, range */
    struct stretch own; /* of what was launched in it itself, */
    struct stretch all; /* and in ranges inside; made by finish */
};

struct rbwp_annotator {
    struct rbwp_annotator_config config;
    int64_t start_ns, stop_ns;
    struct key_table correlations, ranges, annotated;
    struct rbwp_annotate_activity *waiting; /* for their correlation, in the order of coming */
    uint32_t waiting_count, waiting_room;
    struct rbwp_annotation *made;
    struct rbwp_annotate_counts counts;
};

/* ---- sessions --------------------------------------------------------------- */

enum rbwp_status rbwp_annotator_new(const struct rbwp_annotator_config *config,
                                    struct rbwp_annotator **annotator_out)
{
    *annotator_out = NULL;
    if (config->size < sizeof config->size)
        return RBWP_E_INVALID;
    struct rbwp_annotator *annotator = calloc(1, sizeof *annotator);
    if (!annotator)
        return RBWP_E_MEMORY;
    size_t bytes = config->size < sizeof *config ? config->size : sizeof *config;
    memcpy(&annotator->config, config, bytes);
    uint32_t *most = &annotator->config.entries_max;
    if (*most == 0)
        *most = ENTRIES_MAX;
    annotator->correlations =
        (struct key_table){.item_bytes = sizeof(struct correlation), .items_max = *most};
    annotator->ranges = (struct key_table){.item_bytes = sizeof(struct range), .items_max = *most};
    annotator->annotated =
        (struct key_table){.item_bytes = sizeof(struct annotated), .items_max = *most};
    rbwp_annotator_begin(annotator, INT64_MIN, INT64_MAX);
    *annotator_out = annotator;
    return RBWP_OK;
}

void rbwp_annotator_free(struct rbwp_annotator *annotator)
{
    if (!annotator)
        return;
    key_table_free(&annotator->correlations);
    key_table_free(&annotator->ranges);
    key_table_free(&annotator->annotated);
    free(annotator->waiting);
    free(annotator->made);
    free(annotator);
}

void rbwp_annotator_begin(struct rbwp_annotator *annotator, int64_t start_ns, int64_t stop_ns)
{
    annotator->start_ns = start_ns;
    annotator->stop_ns = stop_ns;
    key_table_clear(&annotator->correlations);
    key_table_clear(&annotator->ranges);
    key_table_clear(&annotator->annotated);
    annotator->waiting_count = 0;
    annotator->counts = (struct rbwp_annotate_counts){0};
}

void rbwp_annotator_counts_sized(const struct rbwp_annotator *annotator,
                                 struct rbwp_annotate_counts *counts_out, size_t counts_bytes)
{
    size_t known =
        sizeof annotator->counts < counts_bytes ? sizeof annotator->counts : counts_bytes;
    memset(counts_out, 0, counts_bytes);
    memcpy(counts_out, &annotator->counts, known);
}

/* ---- ranges ----------------------------------------------------------------- */

void rbwp_annotator_range(struct rbwp_annotator *annotator, const struct rbwp_annotate_range *range)
{
    struct range *known = key_table_add(&annotator->ranges, &(struct key){{range->id}});
    if (!known) {
        annotator->counts.lost_ranges++;
        return;
    }
    known->parent = range->parent;
    known->name = range->name;
    known->tag = range->tag;
}

/* NULL: not known yet. */
static const struct range *find_range(struct rbwp_annotator *annotator, uint64_t id)
{
    const struct key key = {{id}};
    struct rbwp_annotate_range told = {0};
    const struct range *known = key_table_find(&annotator->ranges, &key);
    if (known || !annotator->config.find)
        return known;
    if (!annotator->config.find(annotator->config.context, id, &told))
        return NULL;
    told.id = id;
    rbwp_annotator_range(annotator, &told);
    return key_table_find(&annotator->ranges, &key);
}

/* ---- correlations ------------------------------------------------------------ */

/* Without those whose activity has come, and without the oldest. */
static void correlations_keep(struct key_table *table, uint32_t oldest)
{
    const uint32_t count = table->count;
    key_table_clear(table);
    for (uint32_t i = oldest; i < count; i++) {
        const struct correlation *known = key_table_at(table, i);
        if (known->used)
            continue;
        index_map_add(&table->places, key_hash(&known->key), table->count);
        memmove(key_table_at(table, table->count++), known, sizeof *known);
    }
}

/* Those whose activity has come go first, then the older half. */
static void forget_some(struct rbwp_annotator *annotator)
{
    struct key_table *table = &annotator->correlations;
    rbwp_annotator_settle(annotator);
    correlations_keep(table, 0);
    if (table->count < table->items_max / 2)
        return;
    const uint32_t oldest = table->count - table->items_max / 2;
    annotator->counts.lost_correlations += oldest;
    correlations_keep(table, oldest);
}

void rbwp_annotator_correlate(struct rbwp_annotator *annotator, unsigned kind, uint64_t correlation,
                              uint64_t id)
{
    const struct key key = {{correlation}};
    struct key_table *table = &annotator->correlations;
    if (kind > RBWP_EXTERNAL_USER) {
        annotator->counts.unknown_kind++;
        return;
    }
    if (table->count == table->items_max && !key_table_find(table, &key))
        forget_some(annotator);
    struct correlation *known = key_table_add(table, &key);
    if (!known) {
        annotator->counts.lost_correlations++;
        return;
    }
    known->id[kind] = id;
    known->told[kind] = true;
}

bool rbwp_annotator_external(const struct rbwp_annotator *annotator, unsigned kind,
                             uint64_t correlation, uint64_t *id_out)
{
    const struct correlation *known =
        key_table_find(&annotator->correlations, &(struct key){{correlation}});
    if (kind > RBWP_EXTERNAL_USER || !known || !known->told[kind])
        return false;
    *id_out = known->id[kind];
    return true;
}

/* ---- activities --------------------------------------------------------------- */

static void extend(struct stretch *stretch, const struct stretch *by)
{
    if (!by->activities)
        return;
    if (!stretch->activities || by->start_ns < stretch->start_ns)
        stretch->start_ns = by->start_ns;
    if (!stretch->activities || by->stop_ns > stretch->stop_ns)
        stretch->stop_ns = by->stop_ns;
    stretch->activities += by->activities;
}

static void credit(struct rbwp_annotator *annotator, const struct rbwp_annotate_activity *activity,
                   uint64_t range)
{
    const struct stretch stretch = {activity->start_ns, activity->stop_ns, 1};
    if (!find_range(annotator, range) && annotator->config.strict) {
        annotator->counts.too_early++;
        return;
    }
    struct annotated *annotated = key_table_add(
        &annotator->annotated, &(struct key){{activity->device, activity->stream, range}});
    if (annotated)
        extend(&annotated->own, &stretch);
    else
        annotator->counts.lost_annotations++;
}

void rbwp_annotator_settle(struct rbwp_annotator *annotator)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < annotator->waiting_count; i++) {
        const struct rbwp_annotate_activity *activity = &annotator->waiting[i];
        struct correlation *known =
            key_table_find(&annotator->correlations, &(struct key){{activity->correlation}});
        if (known && known->told[RBWP_EXTERNAL_USER]) {
            known->used = true;
            credit(annotator, activity, known->id[RBWP_EXTERNAL_USER]);
        } else {
            annotator->waiting[left++] = *activity;
        }
    }
    annotator->waiting_count = left;
}

static void annotate_let_go(struct rbwp_annotator *annotator, uint32_t oldest)
{
    if (!oldest)
        return;
    annotator->counts.unclaimed += oldest;
    annotator->waiting_count -= oldest;
    memmove(annotator->waiting, annotator->waiting + oldest,
            annotator->waiting_count * sizeof *annotator->waiting);
}

static bool waiting_has_room(struct rbwp_annotator *annotator)
{
    return annotator->waiting_count < annotator->config.entries_max &&
           grow_array32(&annotator->waiting, &annotator->waiting_room, annotator->waiting_count + 1,
                        sizeof *annotator->waiting);
}

/* The older half goes where none finds its correlation. */
static bool annotate_make_room(struct rbwp_annotator *annotator)
{
    if (waiting_has_room(annotator))
        return true;
    rbwp_annotator_settle(annotator);
    if (!waiting_has_room(annotator))
        annotate_let_go(annotator, (annotator->waiting_count + 1) / 2);
    return annotator->waiting_room > 0;
}

void rbwp_annotator_activity(struct rbwp_annotator *annotator,
                             const struct rbwp_annotate_activity *activity)
{
    const uint32_t wanted =
        annotator->config.requested & RBWP_ACTIVITY_BIT(RBWP_ACTIVITY_ANNOTATION)
            ? annotator->config.requested
            : 0;
    if (activity->kind > RBWP_ACTIVITY_SYNC)
        annotator->counts.unknown_kind++;
    else if (activity->kind > RBWP_ACTIVITY_SET || !(wanted & RBWP_ACTIVITY_BIT(activity->kind)))
        return;
    else if (activity->stop_ns < activity->start_ns)
        annotator->counts.backwards++;
    else if (activity->start_ns < annotator->start_ns || activity->stop_ns > annotator->stop_ns)
        annotator->counts.out_of_window++;
    else if (activity->range)
        credit(annotator, activity, activity->range);
    else if (annotate_make_room(annotator))
        annotator->waiting[annotator->waiting_count++] = *activity;
    else
        annotator->counts.unclaimed++;
}

/* ---- annotations --------------------------------------------------------------- */

/* To the ranges around number's. Who comes past its own range, or goes on for longer than anybody
 * nests, goes in a circle. */
static void credit_outer(struct rbwp_annotator *annotator, uint32_t number)
{
    const struct annotated inner =
        *(const struct annotated *)key_table_at(&annotator->annotated, number);
    struct key key = inner.key;
    const struct range *range = find_range(annotator, key.word[2]);
    for (int i = 0; i < OUTER_MAX && range && range->parent; i++) {
        key.word[2] = range->parent;
        if (key.word[2] == inner.key.word[2])
            return;
        range = find_range(annotator, key.word[2]);
        struct annotated *outer =
            range ? key_table_add(&annotator->annotated, &key) : (struct annotated *)NULL;
        if (outer)
            extend(&outer->all, &inner.own);
        else if (range)
            annotator->counts.lost_annotations += inner.own.activities;
    }
}

static void sum_up(struct rbwp_annotator *annotator)
{
    struct key_table *table = &annotator->annotated;
    const uint32_t count = table->count;
    for (uint32_t i = 0; i < count; i++) {
        struct annotated *annotated = key_table_at(table, i);
        annotated->all = annotated->own;
    }
    for (uint32_t i = 0; annotator->config.outer && i < count; i++)
        credit_outer(annotator, i);
}

static int by_place(const void *left, const void *right)
{
    const struct rbwp_annotation *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return (a->range > b->range) - (a->range < b->range);
}

static size_t make_all(struct rbwp_annotator *annotator)
{
    size_t count = 0;
    annotator->counts.unresolved = 0;
    for (uint32_t i = 0; i < annotator->annotated.count; i++) {
        const struct annotated *annotated = key_table_at(&annotator->annotated, i);
        const struct range *range = find_range(annotator, annotated->key.word[2]);
        if (!range) {
            annotator->counts.unresolved++;
            continue;
        }
        annotator->made[count++] = (struct rbwp_annotation){
            .device = annotated->key.word[0],
            .stream = annotated->key.word[1],
            .range = annotated->key.word[2],
            .name = range->name,
            .tag = range->tag,
            .start_ns = annotated->all.start_ns,
            .stop_ns = annotated->all.stop_ns,
            .activities = annotated->all.activities,
        };
    }
    return count;
}

enum rbwp_status rbwp_annotator_finish(struct rbwp_annotator *annotator,
                                       const struct rbwp_annotation **annotations_out,
                                       size_t *count_out)
{
    *count_out = 0;
    *annotations_out = NULL;
    rbwp_annotator_settle(annotator);
    annotate_let_go(annotator, annotator->waiting_count);
    sum_up(annotator);
    free(annotator->made);
    annotator->made = calloc(annotator->annotated.count + 1u, sizeof *annotator->made);
    if (!annotator->made)
        return RBWP_E_MEMORY;
    *count_out = make_all(annotator);
    qsort(annotator->made, *count_out, sizeof *annotator->made, by_place);
    *annotations_out = annotator->made;
    return RBWP_OK;
}
