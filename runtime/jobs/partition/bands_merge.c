/* SPDX-License-Identifier: Apache-2.0 */
/* bands_merge.c - union, intersection and difference of sets, a piece at a time. */
#include "bands_merge.h"

/* A stretch, and in which span of each side it lies. */
struct stretch {
    struct span span;
    size_t index[2]; /* NOWHERE: not in this side */
};
#define NOWHERE SIZE_MAX

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool sweep_next(struct sweep *sweep, struct stretch *out)
{
    int64_t low = INT64_MAX, high = INT64_MAX;
    const struct span *head[2] = {NULL, NULL};
    for (unsigned s = 0; s < 2; s++) {
        while (sweep->next[s] < sweep->end[s] &&
               sweep->spans[s][sweep->next[s]].high <= sweep->from)
            sweep->next[s]++;
        if (sweep->next[s] == sweep->end[s])
            continue;
        head[s] = &sweep->spans[s][sweep->next[s]];
        low = smaller(low, head[s]->low);
    }
    if (!head[0] && !head[1])
        return false;
    if (low < sweep->from)
        low = sweep->from;
    for (unsigned s = 0; s < 2; s++) {
        const bool within = head[s] && head[s]->low <= low;
        out->index[s] = within ? sweep->next[s] : NOWHERE;
        if (head[s])
            high = smaller(high, within ? head[s]->high : head[s]->low);
    }
    out->span = (struct span){low, high};
    sweep->from = high;
    return true;
}

/* Starts the sweep of a level, through the children of a stretch of the level above. */
static void descend(struct bands_merge *merge, unsigned level, const struct stretch *above)
{
    struct sweep *sweep = &merge->sweep[level];
    *sweep = (struct sweep){.from = INT64_MIN};
    for (unsigned s = 0; s < 2; s++) {
        const struct bands *side = merge->side[s];
        sweep->spans[s] = side->level[level].spans;
        if (!above) {
            sweep->end[s] = side->level[level].count;
        } else if (above->index[s] != NOWHERE) {
            sweep->next[s] = side->level[level + 1].first[above->index[s]];
            sweep->end[s] = bands_children_end(side, level + 1, above->index[s]);
        }
    }
    merge->level = level;
}

/* Points of the result may lie in the stretch; in a run all do. */
static bool is_wanted(const struct bands_merge *merge, const struct stretch *stretch)
{
    const bool in_a = stretch->index[0] != NOWHERE, in_b = stretch->index[1] != NOWHERE;
    switch (merge->operation) {
    case BANDS_UNION:
        return true;
    case BANDS_INTERSECTION:
        return in_a && in_b;
    case BANDS_DIFFERENCE:
        return in_a && !(in_b && merge->level == 0);
    }
    return false;
}

void bands_merge_begin(struct bands_merge *merge, enum bands_operation operation,
                       const struct bands *a, const struct bands *b)
{
    *merge = (struct bands_merge){.operation = operation, .side = {a, b}};
    descend(merge, BANDS_LEVELS - 1, NULL);
}

bool bands_merge_step(struct bands_merge *merge, unsigned stretches)
{
    struct stretch stretch;
    for (; stretches > 0 && !merge->result.failed; stretches--) {
        if (!sweep_next(&merge->sweep[merge->level], &stretch)) {
            if (merge->level == BANDS_LEVELS - 1)
                return false;
            merge->level++;
        } else if (is_wanted(merge, &stretch)) {
            merge->at[merge->level] = stretch.span;
            if (merge->level == 0)
                bands_put(&merge->result, merge->at);
            else
                descend(merge, merge->level - 1, &stretch);
        }
    }
    return !merge->result.failed;
}

/* ---- the union of many --------------------------------------------------------------- */

void bands_gather_put(struct bands_gather *gather, struct bands *bands)
{
    gather->carry = *bands;
    *bands = (struct bands){.borrowed = false};
    gather->level = 0;
    gather->carrying = true;
}

void bands_gather_close(struct bands_gather *gather)
{
    gather->closing = true;
    gather->carrying = true;
    gather->level = 0;
}

static void end_merge(struct bands_gather *gather)
{
    bands_free(&gather->held[gather->level]);
    bands_free(&gather->carry);
    if (!bands_finish(&gather->merge.result, &gather->carry))
        gather->failed = true;
    gather->is_held &= ~(UINT64_C(1) << gather->level);
    gather->merging = false;
    if (gather->level + 1 < GATHER_LEVELS)
        gather->level++;
}

bool bands_gather_step(struct bands_gather *gather, unsigned stretches)
{
    if (gather->merging) {
        if (!bands_merge_step(&gather->merge, stretches))
            end_merge(gather);
        return true;
    }
    if (!gather->carrying || gather->failed)
        return false;
    if (gather->closing && gather->is_held)
        gather->level = (unsigned)__builtin_ctzll(gather->is_held);
    if (gather->is_held >> gather->level & 1) {
        bands_merge_begin(&gather->merge, BANDS_UNION, &gather->held[gather->level],
                          &gather->carry);
        gather->merging = true;
        return true;
    }
    if (!gather->closing) {
        gather->held[gather->level] = gather->carry;
        gather->carry = (struct bands){.borrowed = false};
        gather->is_held |= UINT64_C(1) << gather->level;
        gather->carrying = false;
    }
    return false;
}

bool bands_gather_finish(struct bands_gather *gather, struct bands *bands_out)
{
    const bool failed = gather->failed;
    *bands_out = failed ? (struct bands){.borrowed = false} : gather->carry;
    if (!failed)
        gather->carry = (struct bands){.borrowed = false};
    bands_gather_free(gather);
    return !failed;
}

void bands_gather_free(struct bands_gather *gather)
{
    for (unsigned i = 0; i < GATHER_LEVELS; i++)
        bands_free(&gather->held[i]);
    bands_free(&gather->carry);
    bands_builder_free(&gather->merge.result);
    *gather = (struct bands_gather){.closing = false};
}
