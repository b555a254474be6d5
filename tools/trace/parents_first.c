/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By their names the children's "run.4711.bin" stand before the parent's "run.bin". Process ids are
 * given again: a parent is of the same machine, and the youngest that is not younger than its
 * child. Files may hold anything: nobody becomes his own ancestor.
 */
#include "parents_first.h"

#include <stdlib.h>
#include <string.h>

struct place {
    const struct trace_identity *identity;
    int at;                              /* in the order of the command line */
    int parent, first_child, next_child; /* such places; -1: none */
};

static int compare_ids(const void *left, const void *right)
{
    const struct place *a = *(const struct place *const *)left;
    const struct place *b = *(const struct place *const *)right;
    if (a->identity->os_id != b->identity->os_id)
        return a->identity->os_id < b->identity->os_id ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* The first of those that are sorted by process id whose id is not smaller. */
static int find_id(struct place *const *sorted, int count, uint64_t os_id)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle]->identity->os_id < os_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool descends(const struct place *places, int from, int ancestor)
{
    while (from >= 0 && from != ancestor)
        from = places[from].parent;
    return from == ancestor;
}

static int parent_of(const struct place *places, struct place *const *sorted, int count, int at)
{
    const struct trace_identity *child = places[at].identity;
    int64_t born_ns = 0;
    int found = -1;
    if (!child->parent || !child->has_boot)
        return -1;
    for (int i = find_id(sorted, count, child->parent);
         i < count && sorted[i]->identity->os_id == child->parent; i++) {
        const struct trace_identity *other = sorted[i]->identity;
        if (!other->has_boot || memcmp(other->boot_id, child->boot_id, sizeof child->boot_id) ||
            other->start_ns > child->start_ns || (found >= 0 && other->start_ns <= born_ns))
            continue;
        found = sorted[i]->at;
        born_ns = other->start_ns;
    }
    return descends(places, found, at) ? -1 : found;
}

/* From the last on: each child is put before those that were given later. */
static void join(struct place *places, struct place *const *sorted, int count,
                 struct trace_source *sources)
{
    for (int i = count; i-- > 0;) {
        int parent = parent_of(places, sorted, count, i);
        if (parent < 0)
            continue;
        places[i].parent = parent;
        places[i].next_child = places[parent].first_child;
        places[parent].first_child = i;
        sources[i].facts.identity.has_family = true;
        sources[parent].facts.identity.has_family = true;
    }
}

/* The place behind this one in its family; -1: it is the last. */
static int next_of(const struct place *places, int at)
{
    if (places[at].first_child >= 0)
        return places[at].first_child;
    while (places[at].parent >= 0 && places[at].next_child < 0)
        at = places[at].parent;
    return places[at].next_child;
}

static void move(struct trace_source *sources, struct trace_source *ordered,
                 const struct place *places, int count)
{
    int moved = 0;
    for (int i = 0; i < count; i++)
        for (int at = places[i].parent < 0 ? i : -1; at >= 0; at = next_of(places, at))
            ordered[moved++] = sources[at];
    memcpy(sources, ordered, (size_t)count * sizeof *sources);
}

void parents_first(struct trace_source *sources, int count)
{
    size_t most = (size_t)count + 1;
    struct place *places = calloc(most, sizeof *places);
    struct place **sorted = calloc(most, sizeof *sorted);
    struct trace_source *ordered = calloc(most, sizeof *ordered);
    for (int i = 0; places && sorted && i < count; i++) {
        places[i] = (struct place){&sources[i].facts.identity, i, -1, -1, -1};
        sorted[i] = &places[i];
    }
    if (places && sorted && ordered && count > 1) {
        qsort(sorted, (size_t)count, sizeof *sorted, compare_ids);
        join(places, sorted, count, sources);
        move(sources, ordered, places, count);
    }
    free(places);
    free(sorted);
    free(ordered);
}
