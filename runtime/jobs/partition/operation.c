/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c - operations: checked, begun, ended; and those on whole sets. */
#include "operation.h"

#include <stdlib.h>

/* ---- the values of points, fetched a piece at a time ----------------------------------------- */

static const char *check_colors(struct field *field)
{
    const uint32_t bytes = field->given.color_bytes;
    if (field->given.rectangles)
        return "a field of colours has rectangles set";
    if (bytes != 0 && bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return "color_bytes is not 1, 2, 4 or 8";
    if (field->given.fill && bytes != 0 && bytes != 8)
        return "color_bytes is not 8 and the field is computed";
    field->value_bytes = bytes != 0 ? bytes : 8;
    return NULL;
}

static const char *check_strides(struct field *field, unsigned point_dimensions)
{
    int64_t *stride = field->given.stride_bytes;
    if (stride[0] == 0)
        stride[0] = (int64_t)field->value_bytes;
    for (unsigned d = 1; d < point_dimensions; d++)
        if (stride[d] == 0)
            return "a stride of a field in memory, beyond dimension 0, is 0";
    for (unsigned d = point_dimensions; d < RBWP_SPACE_DIMENSIONS_MAX; d++)
        stride[d] = 0;
    return NULL;
}

/* Checks a field of points of so many dimensions. NULL, or what is wrong. */
static const char *field_init(struct field *field, const struct rbwp_field *given,
                              unsigned point_dimensions, unsigned value_dimensions)
{
    const char *reason = NULL;
    *field = (struct field){.given = *given, .dimensions = value_dimensions};
    if (!given->values == !given->fill)
        return "a field has neither values nor fill, or both";
    if (value_dimensions == 0)
        reason = check_colors(field);
    else
        field->value_bytes =
            given->rectangles ? sizeof(struct rbwp_rectangle) : value_dimensions * sizeof(int64_t);
    return reason || given->fill ? reason : check_strides(field, point_dimensions);
}

/* ---- unions, intersections and differences of pairs
 * -------------------------------------------------------------------- */

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
}

static const struct operation_class operation_set = {sizeof(struct set), 0, begin_pair, set_step,
                                                     set_end};

/* ---- the union of all ------------------------------------------------------------------------ */

struct union_all {
    size_t source; /* next */
    struct bands_gather gather;
};

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
}

static const struct operation_class operation_union_all = {sizeof(struct union_all), 0, NULL,
                                                           union_all_step, union_all_end};

/* ---- operation ------------------------------------------------------------------------------- */

static const struct operation_class *const classes[] = {
    [RBWP_PARTITION_BY_FIELD] = &operation_by_field,   [RBWP_PARTITION_IMAGE] = &operation_image,
    [RBWP_PARTITION_PREIMAGE] = &operation_preimage,   [RBWP_PARTITION_UNION] = &operation_set,
    [RBWP_PARTITION_INTERSECTION] = &operation_set,    [RBWP_PARTITION_DIFFERENCE] = &operation_set,
    [RBWP_PARTITION_UNION_ALL] = &operation_union_all,
};

static bool has_field(enum rbwp_partition_kind kind)
{
    return kind <= RBWP_PARTITION_PREIMAGE;
}

static bool has_others(enum rbwp_partition_kind kind)
{
    return kind >= RBWP_PARTITION_UNION && kind <= RBWP_PARTITION_DIFFERENCE;
}

static bool has_sources(enum rbwp_partition_kind kind)
{
    return kind != RBWP_PARTITION_BY_FIELD;
}

/* ---- checks --------------------------------------------------------------------- */

static const char *check_fields(const struct rbwp_partition *partition)
{
    const enum rbwp_partition_kind kind = partition->kind;
    if (kind < RBWP_PARTITION_BY_FIELD || kind > RBWP_PARTITION_UNION_ALL)
        return "kind is not one of enum rbwp_partition_kind";
    if (partition->count == 0)
        return "count is 0";
    if (has_field(kind) && !partition->domain)
        return "domain is NULL";
    if (has_sources(kind) && !partition->sources)
        return "sources is NULL";
    if (has_others(kind) && !partition->others)
        return "others is NULL";
    if (has_others(kind) && partition->others_count != 1 &&
        partition->others_count != partition->count)
        return "others_count is neither 1 nor count";
    if (kind == RBWP_PARTITION_BY_FIELD && !partition->colors)
        return "colors is NULL";
    return NULL;
}

/* Spaces of a list: all there, of the same dimensions as the first, none of another maker's. */
static enum rbwp_status check_spaces(const struct rbwp_space *const *spaces, size_t count,
                                     unsigned dimensions, const void *maker,
                                     const char **reason_out)
{
    for (size_t i = 0; i < count; i++) {
        const struct rbwp_space *space = spaces[i];
        if (!space) {
            *reason_out = "a space is NULL";
            return RBWP_E_INVALID;
        }
        if (space->dimensions != dimensions) {
            *reason_out = "spaces that go together have different dimensions";
            return RBWP_E_INVALID;
        }
        if (space->maker != maker && rbwp_space_status(space) == RBWP_AGAIN) {
            *reason_out = "a space is not ready yet, and another partitioner makes it";
            return RBWP_E_STATE;
        }
    }
    return RBWP_OK;
}

static enum rbwp_status check_all_spaces(const struct rbwp_partition *partition, const void *maker,
                                         const char **reason_out)
{
    enum rbwp_status status = RBWP_OK;
    unsigned dimensions = 0;
    if (has_field(partition->kind))
        status =
            check_spaces(&partition->domain, 1, partition->domain->dimensions, maker, reason_out);
    if (status == RBWP_OK && has_sources(partition->kind)) {
        dimensions = partition->sources[0] ? partition->sources[0]->dimensions : 0;
        status = check_spaces(partition->sources, partition->count, dimensions, maker, reason_out);
    }
    if (status == RBWP_OK && has_others(partition->kind))
        status =
            check_spaces(partition->others, partition->others_count, dimensions, maker, reason_out);
    return status;
}

static const char *check_field(const struct rbwp_partition *partition, struct field *field)
{
    switch (partition->kind) {
    case RBWP_PARTITION_BY_FIELD:
        return field_init(field, &partition->field, partition->domain->dimensions, 0);
    case RBWP_PARTITION_IMAGE:
        return field_init(field, &partition->field, partition->sources[0]->dimensions,
                          partition->domain->dimensions);
    case RBWP_PARTITION_PREIMAGE:
        return field_init(field, &partition->field, partition->domain->dimensions,
                          partition->sources[0]->dimensions);
    default:
        return NULL;
    }
}

/* ---- copies ---------------------------------------------------------------------- */

static int by_color(const void *a, const void *b)
{
    const struct operation_color *x = a, *y = b;
    return x->color < y->color ? -1 : x->color > y->color;
}

static const char *sort_colors(struct operation *operation, const int64_t *colors)
{
    for (size_t i = 0; i < operation->count; i++)
        operation->colors[i] = (struct operation_color){colors[i], i};
    qsort(operation->colors, operation->count, sizeof *operation->colors, by_color);
    for (size_t i = 1; i < operation->count; i++)
        if (operation->colors[i].color == operation->colors[i - 1].color)
            return "a colour comes twice";
    return NULL;
}

static void keep_all(struct rbwp_space **kept, const struct rbwp_space *const *spaces, size_t count,
                     size_t given)
{
    for (size_t i = 0; i < count; i++)
        kept[i] = rbwp_space_keep(spaces[given == 1 ? 0 : i]);
}

/* Of the arrays; what is not needed is made all the same, and stays empty. */
static bool make_arrays(struct operation *operation)
{
    const size_t count = operation->count;
    operation->sources = calloc(count, sizeof(struct rbwp_space *));
    operation->others = calloc(count, sizeof(struct rbwp_space *));
    operation->colors = calloc(count, sizeof *operation->colors);
    operation->results = calloc(operation->results_count, sizeof(struct rbwp_space *));
    operation->made = calloc(operation->results_count, sizeof *operation->made);
    return operation->sources && operation->others && operation->colors && operation->results &&
           operation->made;
}

static bool make_results(struct operation *operation, const void *maker,
                         struct rbwp_space **results_out)
{
    const struct rbwp_space *like =
        has_field(operation->kind) ? operation->domain : operation->sources[0];
    for (size_t i = 0; i < operation->results_count; i++) {
        operation->results[i] = space_pending(like->dimensions, maker);
        if (!operation->results[i])
            return false;
    }
    for (size_t i = 0; i < operation->results_count; i++)
        results_out[i] = rbwp_space_keep(operation->results[i]);
    return true;
}

static void operation_free(struct operation *operation)
{
    for (size_t i = 0; operation->sources && i < operation->count; i++)
        rbwp_space_release(operation->sources[i]);
    for (size_t i = 0; operation->others && i < operation->count; i++)
        rbwp_space_release(operation->others[i]);
    for (size_t i = 0; operation->results && i < operation->results_count; i++)
        rbwp_space_release(operation->results[i]);
    for (size_t i = 0; operation->made && i < operation->results_count; i++)
        bands_free(&operation->made[i]);
    rbwp_space_release(operation->domain);
    free(operation->sources);
    free(operation->others);
    free(operation->results);
    free(operation->made);
    free(operation->colors);
    free(operation);
}

/* Of a partition that has passed the checks. */
static enum rbwp_status operation_fill(struct operation *operation,
                                       const struct rbwp_partition *partition,
                                       const char **reason_out)
{
    *reason_out = "no memory to queue an operation";
    if (!make_arrays(operation))
        return RBWP_E_MEMORY;
    if (has_field(operation->kind))
        operation->domain = rbwp_space_keep(partition->domain);
    if (has_sources(operation->kind))
        keep_all(operation->sources, partition->sources, operation->count, operation->count);
    if (has_others(operation->kind))
        keep_all(operation->others, partition->others, operation->count, partition->others_count);
    *reason_out = check_field(partition, &operation->field);
    if (!*reason_out && operation->kind == RBWP_PARTITION_BY_FIELD)
        *reason_out = sort_colors(operation, partition->colors);
    return *reason_out ? RBWP_E_INVALID : RBWP_OK;
}

enum rbwp_status operation_new(const struct rbwp_partition *partition, const void *maker,
                               struct operation **operation_out, struct rbwp_space **results_out,
                               const char **reason_out)
{
    *operation_out = NULL;
    *reason_out = check_fields(partition);
    if (*reason_out)
        return RBWP_E_INVALID;
    enum rbwp_status status = check_all_spaces(partition, maker, reason_out);
    if (status != RBWP_OK)
        return status;
    struct operation *operation = calloc(1, sizeof *operation);
    *reason_out = "no memory to queue an operation";
    if (!operation)
        return RBWP_E_MEMORY;
    operation->class = classes[partition->kind];
    operation->kind = partition->kind;
    operation->count = partition->count;
    operation->results_count = partition->kind == RBWP_PARTITION_UNION_ALL ? 1 : partition->count;
    status = operation_fill(operation, partition, reason_out);
    if (status == RBWP_OK && !make_results(operation, maker, results_out)) {
        *reason_out = "no memory for the results";
        status = RBWP_E_MEMORY;
    }
    if (status != RBWP_OK) {
        operation_free(operation);
        return status;
    }
    *operation_out = operation;
    return RBWP_OK;
}

/* ---- life --------------------------------------------------------------------------- */

/* What the operation that was to make a space ended with. */
static enum rbwp_status status_of(struct rbwp_space *const *spaces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (spaces[i] && rbwp_space_status(spaces[i]) != RBWP_OK)
            return rbwp_space_status(spaces[i]);
    return RBWP_OK;
}

static enum rbwp_status operation_begin(struct operation *operation)
{
    enum rbwp_status status = status_of(&operation->domain, 1);
    if (status == RBWP_OK)
        status = status_of(operation->sources, operation->count);
    if (status == RBWP_OK)
        status = status_of(operation->others, operation->count);
    if (status != RBWP_OK)
        return status;
    const struct operation_class *class = operation->class;
    operation->progress = calloc(1, class->bytes + operation->count * class->bytes_each);
    if (operation->progress && class->begin)
        class->begin(operation);
    return operation->progress ? RBWP_OK : RBWP_E_MEMORY;
}

enum rbwp_status operation_step(struct operation *operation)
{
    if (!operation->progress) {
        const enum rbwp_status status = operation_begin(operation);
        return status == RBWP_OK ? RBWP_AGAIN : status;
    }
    if (operation->class->step(operation))
        return RBWP_AGAIN;
    return operation->failed ? RBWP_E_MEMORY : RBWP_OK;
}

void operation_end(struct operation *operation, enum rbwp_status status)
{
    if (operation->progress)
        operation->class->end(operation);
    free(operation->progress);
    for (size_t i = 0; i < operation->results_count; i++)
        space_settle(operation->results[i], status, &operation->made[i]);
    operation_free(operation);
}
