/* SPDX-License-Identifier: Apache-2.0 */
/* operation_set.c - unions, intersections and differences. */
#include "operation.h"

#include <stdlib.h>

/* ---- of pairs -------------------------------------------------------------------- */

struct set {
    size_t result; /* under way */
    struct bands_merge merge;
};

static void begin_pair(struct operation *operation)
{
    struct set *set = operation->progress;
    const enum bands_operation wanted = operation->kind == RBWP_PARTITION_UNION ? BANDS_UNION
                                        : operation->kind == RBWP_PARTITION_INTERSECTION
                                            ? BANDS_INTERSECTION
                                            : BANDS_DIFFERENCE;
    bands_merge_begin(&set->merge, wanted, &operation->sources[set->result]->bands,
                      &operation->others[set->result]->bands);
}

static bool set_begin(struct operation *operation)
{
    operation->progress = calloc(1, sizeof(struct set));
    if (operation->progress)
        begin_pair(operation);
    return operation->progress != NULL;
}

static bool set_step(struct operation *operation)
{
    struct set *set = operation->progress;
    if (bands_merge_step(&set->merge, OPERATION_STRETCHES))
        return true;
    if (!bands_finish(&set->merge.result, &operation->made[set->result])) {
        operation->failed = true;
        return false;
    }
    if (++set->result == operation->count)
        return false;
    begin_pair(operation);
    return true;
}

static void set_end(struct operation *operation)
{
    struct set *set = operation->progress;
    bands_builder_free(&set->merge.result);
    free(set);
}

const struct operation_class operation_set = {set_begin, set_step, set_end};

/* ---- of all ------------------------------------------------------------------------ */

struct union_all {
    size_t source; /* next */
    struct bands_gather gather;
};

static bool union_all_begin(struct operation *operation)
{
    operation->progress = calloc(1, sizeof(struct union_all));
    return operation->progress != NULL;
}

static bool union_all_step(struct operation *operation)
{
    struct union_all *all = operation->progress;
    if (bands_gather_step(&all->gather, OPERATION_STRETCHES))
        return true;
    if (all->gather.closing) {
        operation->failed = !bands_gather_finish(&all->gather, &operation->made[0]);
        return false;
    }
    if (all->source < operation->count) {
        struct bands bands = bands_borrow(&operation->sources[all->source++]->bands);
        bands_gather_put(&all->gather, &bands);
    } else {
        bands_gather_close(&all->gather);
    }
    return true;
}

static void union_all_end(struct operation *operation)
{
    struct union_all *all = operation->progress;
    bands_gather_free(&all->gather);
    free(all);
}

const struct operation_class operation_union_all = {union_all_begin, union_all_step, union_all_end};
