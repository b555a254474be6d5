/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the partitioning operations, each against the same by cells, and of the partitioner: its
 * queue, its spaces that are not ready, its refusals, its threads, and the profile it leaves. */
#include "partition_support.h"
#include "record_support.h"
#include "sanitized.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Random cases show nothing to who looks for races; a few do for the rest. */
#ifdef __SANITIZE_THREAD__
enum { TRIALS = 5 };
#else
enum { TRIALS = 80 };
#endif
enum { PARTS_MAX = 5 };

/* ---- memory that runs out ------------------------------------------------------------ */

static long allocations_left = -1; /* -1: no end */

static bool may_allocate(void)
{
    if (allocations_left > 0)
        allocations_left--;
    return allocations_left != 0;
}

/* Visible: some linkers have shared libraries refer to them too. */
#pragma GCC visibility push(default)
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
    return may_allocate() ? __real_realloc(memory, bytes) : NULL;
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return may_allocate() ? __real_calloc(count, bytes) : NULL;
}
#pragma GCC visibility pop

/* ---- a manager, a partitioner, an operation ------------------------------------------- */

/* Without workers the only thread is the test's own, and slices are over at once. */
static struct rbwp_work_manager *manager_with(unsigned workers)
{
    const struct rbwp_work_config config = {
        .size = sizeof config, .no_workers = workers == 0, .workers = workers, .slice_ns = 1};
    struct rbwp_work_manager *manager;
    struct rbwp_error error;
    if (rbwp_work_start(&config, &manager, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return manager;
}

static struct rbwp_partitioner *partitioner_on(struct rbwp_work_manager *manager, const char *name)
{
    struct rbwp_partitioner *partitioner;
    struct rbwp_error error;
    if (rbwp_partitioner_new(manager, name, -1, &partitioner, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return partitioner;
}

static void finish(struct rbwp_partitioner *partitioner, struct rbwp_work_manager *manager)
{
    assert_int_equal(rbwp_partitioner_free(partitioner), RBWP_OK);
    assert_int_equal(rbwp_work_stop(manager, true, NULL), RBWP_OK);
}

static void submit(struct rbwp_partitioner *partitioner, const struct rbwp_partition *partition,
                   struct rbwp_space **results)
{
    struct rbwp_error error;
    if (rbwp_partition_submit(partitioner, partition, results, NULL, &error) != RBWP_OK)
        fail_msg("%s", error.text);
}

static void release_all(struct rbwp_space **spaces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rbwp_space_release(spaces[i]);
}

/* ---- the queue ------------------------------------------------------------------------------ */

static _Atomic int queue_turn; /* 1: the first operation has ended, 2: the second is in the queue */

static void wait_for_turn(int turn)
{
    while (atomic_load_explicit(&queue_turn, memory_order_relaxed) < turn)
        sched_yield();
}

static void let_submit(void *argument, const struct rbwp_partition_result *result)
{
    (void)argument;
    (void)result;
    atomic_store_explicit(&queue_turn, 1, memory_order_relaxed);
    wait_for_turn(2);
}

/* For ThreadSanitizer: an operation comes while another ends, ordered in time alone
 * (test_locks.c). */
static void operations_come_while_others_end(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_with(1);
    struct rbwp_partitioner *partitioner = partitioner_on(manager, "queue");
    struct cube cube;
    struct rbwp_space *space = random_space(1, 3, &cube), *results[2];
    struct rbwp_partition partition = {.size = sizeof partition,
                                       .kind = RBWP_PARTITION_UNION_ALL,
                                       .count = 1,
                                       .sources = (const struct rbwp_space **)&space,
                                       .done = let_submit};
    submit(partitioner, &partition, &results[0]);
    wait_for_turn(1);
    partition.done = NULL;
    submit(partitioner, &partition, &results[1]);
    atomic_store_explicit(&queue_turn, 2, memory_order_relaxed);
    rbwp_work_drain(manager);
    check_space(results[1], &cube);
    release_all(results, 2);
    rbwp_space_release(space);
    finish(partitioner, manager);
}

/* ---- random cases ------------------------------------------------------------------------ */

/* One case: spaces and their cubes, a field and what it holds for every cell. */
struct trial {
    struct rbwp_work_manager *manager;
    struct rbwp_partitioner *partitioner;
    unsigned dimensions, value_dimensions;
    size_t count;
    struct rbwp_space *domain, *source[PARTS_MAX], *other[PARTS_MAX], *result[PARTS_MAX];
    struct cube domain_cube, source_cube[PARTS_MAX], other_cube[PARTS_MAX];
    int64_t color[CUBE_CELLS];
    struct rbwp_rectangle value[CUBE_CELLS]; /* a point is one of a cell */
    uint8_t stored[CUBE_CELLS * sizeof(struct rbwp_rectangle) + 1];
    bool rectangles;
};

static void trial_begin(struct trial *trial, unsigned round)
{
    trial->dimensions = 1 + random_below(3);
    trial->value_dimensions = 1 + random_below(3);
    trial->count = 1 + random_below(PARTS_MAX);
    trial->rectangles = round % 2;
    memset(trial->result, 0, sizeof trial->result);
}

/* A field in memory at an odd address, laid out in some way, or computed. */
static struct rbwp_field field_at(struct trial *trial, size_t value_bytes, unsigned way)
{
    const int64_t gap = (int64_t)value_bytes + (way == 1 ? 3 : 0);
    struct rbwp_field field = {.values = trial->stored + 1, .rectangles = trial->rectangles};
    for (unsigned d = 0; d < 3; d++)
        field.origin[d] = d < trial->dimensions ? CUBE_LOW : 0;
    field.stride_bytes[0] = way == 0 ? 0 : gap;
    field.stride_bytes[1] = gap * CUBE_SIDE;
    field.stride_bytes[2] = gap * CUBE_SIDE * CUBE_SIDE;
    return field;
}

/* Where the value of a cell is stored. */
static uint8_t *stored_at(struct trial *trial, const struct rbwp_field *field, size_t value_bytes,
                          const int64_t point[3])
{
    int64_t offset = (point[0] - field->origin[0]) *
                     (field->stride_bytes[0] ? field->stride_bytes[0] : (int64_t)value_bytes);
    for (unsigned d = 1; d < trial->dimensions; d++)
        offset += (point[d] - field->origin[d]) * field->stride_bytes[d];
    return trial->stored + 1 + offset;
}

static void fill_colors(void *argument, const int64_t *point, size_t count, void *values)
{
    const struct trial *trial = argument;
    int64_t *color = values;
    for (size_t i = 0; i < count; i++)
        color[i] = trial->color[cube_cell(trial->dimensions, point) + (int)i];
}

static void fill_values(void *argument, const int64_t *point, size_t count, void *values)
{
    const struct trial *trial = argument;
    for (size_t i = 0; i < count; i++) {
        const struct rbwp_rectangle *value =
            &trial->value[cube_cell(trial->dimensions, point) + (int)i];
        if (trial->rectangles)
            memcpy((struct rbwp_rectangle *)values + i, value, sizeof *value);
        else
            memcpy((int64_t *)values + i * trial->value_dimensions, value->low,
                   trial->value_dimensions * sizeof(int64_t));
    }
}

static struct rbwp_field random_colors(struct trial *trial)
{
    const uint32_t bytes = 1u << random_below(4);
    const unsigned way = random_below(3);
    struct rbwp_field field = field_at(trial, bytes, way);
    int64_t point[3];
    field.rectangles = false;
    field.color_bytes = bytes;
    for (int cell = -1; cube_next(trial->dimensions, &cell, point);) {
        /* Long runs and short ones, and one colour that nobody asks for. */
        trial->color[cell] =
            random_below(4) && cell > 0 ? trial->color[cell - 1] : (int64_t)random_below(7) - 3;
        const bool is_big =
            __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; /* its small bytes are the last */
        memcpy(stored_at(trial, &field, bytes, point),
               (const char *)&trial->color[cell] + (is_big ? sizeof(int64_t) - bytes : 0), bytes);
    }
    if (way == 2)
        field = (struct rbwp_field){.fill = fill_colors, .argument = trial};
    return field;
}

static struct rbwp_field random_values(struct trial *trial)
{
    const size_t bytes = trial->rectangles ? sizeof(struct rbwp_rectangle)
                                           : trial->value_dimensions * sizeof(int64_t);
    const unsigned way = trial->rectangles ? 2 * random_below(2) : random_below(3);
    struct rbwp_field field = field_at(trial, bytes, way);
    int64_t point[3];
    for (int cell = -1; cube_next(trial->dimensions, &cell, point);) {
        struct rbwp_rectangle *value = &trial->value[cell];
        *value = random_rectangle(trial->value_dimensions);
        for (unsigned d = 0; d < 3 && !trial->rectangles; d++) {
            if (random_below(100) == 0)
                value->low[d] = random_below(2) ? INT64_MAX : INT64_MIN;
            value->high[d] = value->low[d] < INT64_MAX ? value->low[d] + 1 : value->low[d];
        }
        memcpy(stored_at(trial, &field, bytes, point), value, bytes);
    }
    if (way == 2) {
        field.values = NULL;
        field.fill = fill_values;
        field.argument = trial;
    }
    return field;
}

static void trial_run(struct trial *trial, struct rbwp_partition *partition)
{
    partition->size = sizeof *partition;
    partition->count = trial->count;
    submit(trial->partitioner, partition, trial->result);
    rbwp_work_drain(trial->manager);
}

static void trial_end(struct trial *trial)
{
    release_all(trial->result, PARTS_MAX);
}

/* Runs random cases, with time slices that end at once and with a worker. */
static void run_trials(void (*one)(struct trial *trial))
{
    struct trial *trial = calloc(1, sizeof *trial);
    for (unsigned workers = 0; workers < 2; workers++) {
        trial->manager = manager_with(workers);
        trial->partitioner = partitioner_on(trial->manager, "trials");
        for (unsigned round = 0; round < TRIALS; round++) {
            trial_begin(trial, round);
            one(trial);
            trial_end(trial);
        }
        finish(trial->partitioner, trial->manager);
    }
    free(trial);
}

static void one_by_field(struct trial *trial)
{
    const int64_t colors[PARTS_MAX] = {2, -3, 0, 99, -1};
    const struct rbwp_field field = random_colors(trial);
    trial->domain = random_space(trial->dimensions, 8, &trial->domain_cube);
    trial_run(trial, &(struct rbwp_partition){.kind = RBWP_PARTITION_BY_FIELD,
                                              .domain = trial->domain,
                                              .colors = colors,
                                              .field = field});
    for (size_t i = 0; i < trial->count; i++) {
        struct cube expected = {.dimensions = trial->dimensions};
        int64_t point[3];
        for (int cell = -1; cube_next(trial->dimensions, &cell, point);)
            expected.has[cell] = trial->domain_cube.has[cell] && trial->color[cell] == colors[i];
        check_space(trial->result[i], &expected);
    }
    rbwp_space_release(trial->domain);
}

/* Guards: result i of by field has the points of colour i, whatever the field's layout. */
static void by_field_is_by_color(void **state)
{
    (void)state;
    run_trials(one_by_field);
}

static void one_image(struct trial *trial)
{
    const struct rbwp_field field = random_values(trial);
    const unsigned into = trial->value_dimensions;
    trial->domain = random_space(into, 8, &trial->domain_cube);
    for (size_t i = 0; i < trial->count; i++)
        trial->source[i] = random_space(trial->dimensions, 5, &trial->source_cube[i]);
    trial_run(trial, &(struct rbwp_partition){.kind = RBWP_PARTITION_IMAGE,
                                              .domain = trial->domain,
                                              .sources = (const struct rbwp_space **)trial->source,
                                              .field = field});
    for (size_t i = 0; i < trial->count; i++) {
        struct cube expected = {.dimensions = into};
        int64_t point[3];
        for (int cell = 0; cell < CUBE_CELLS; cell++)
            if (trial->source_cube[i].has[cell])
                cube_add(&expected, &trial->value[cell]);
        for (int cell = -1; cube_next(into, &cell, point);)
            expected.has[cell] &= trial->domain_cube.has[cell];
        check_space(trial->result[i], &expected);
    }
    rbwp_space_release(trial->domain);
    release_all(trial->source, trial->count);
}

/* Guards: result i of an image is all that the values of source i lead to in the domain. */
static void images_are_where_values_lead(void **state)
{
    (void)state;
    run_trials(one_image);
}

static bool leads_into(const struct rbwp_rectangle *value, const struct cube *cube)
{
    int64_t point[3];
    for (int cell = -1; cube_next(cube->dimensions, &cell, point);)
        if (cube->has[cell] && rectangle_has(value, cube->dimensions, point))
            return true;
    return false;
}

static void one_preimage(struct trial *trial)
{
    const struct rbwp_field field = random_values(trial);
    trial->domain = random_space(trial->dimensions, 4, &trial->domain_cube);
    for (size_t i = 0; i < trial->count; i++)
        trial->source[i] = random_space(trial->value_dimensions, 5, &trial->source_cube[i]);
    trial_run(trial, &(struct rbwp_partition){.kind = RBWP_PARTITION_PREIMAGE,
                                              .domain = trial->domain,
                                              .sources = (const struct rbwp_space **)trial->source,
                                              .field = field});
    for (size_t i = 0; i < trial->count; i++) {
        struct cube expected = {.dimensions = trial->dimensions};
        int64_t point[3];
        for (int cell = -1; cube_next(trial->dimensions, &cell, point);)
            expected.has[cell] = trial->domain_cube.has[cell] &&
                                 leads_into(&trial->value[cell], &trial->source_cube[i]);
        check_space(trial->result[i], &expected);
    }
    rbwp_space_release(trial->domain);
    release_all(trial->source, trial->count);
}

/* Guards: result i of a preimage is all of the domain whose value leads into source i. */
static void preimages_are_where_values_come_from(void **state)
{
    (void)state;
    run_trials(one_preimage);
}

static void one_set_operation(struct trial *trial)
{
    const enum rbwp_partition_kind kind = RBWP_PARTITION_UNION + random_below(3);
    const size_t others = random_below(2) ? 1 : trial->count;
    for (size_t i = 0; i < trial->count; i++)
        trial->source[i] = random_space(trial->dimensions, 12, &trial->source_cube[i]);
    for (size_t i = 0; i < others; i++)
        trial->other[i] = random_space(trial->dimensions, 12, &trial->other_cube[i]);
    trial_run(trial, &(struct rbwp_partition){.kind = kind,
                                              .sources = (const struct rbwp_space **)trial->source,
                                              .others = (const struct rbwp_space **)trial->other,
                                              .others_count = others});
    for (size_t i = 0; i < trial->count; i++) {
        struct cube expected = {.dimensions = trial->dimensions};
        const struct cube *a = &trial->source_cube[i], *b = &trial->other_cube[others == 1 ? 0 : i];
        for (int cell = 0; cell < CUBE_CELLS; cell++)
            expected.has[cell] = kind == RBWP_PARTITION_UNION ? a->has[cell] || b->has[cell]
                                 : kind == RBWP_PARTITION_INTERSECTION
                                     ? a->has[cell] && b->has[cell]
                                     : a->has[cell] && !b->has[cell];
        check_space(trial->result[i], &expected);
    }
    release_all(trial->source, trial->count);
    release_all(trial->other, others);
}

/* Guards: unions, intersections and differences, pair by pair and all with one. */
static void set_operations_are_by_cell(void **state)
{
    (void)state;
    run_trials(one_set_operation);
}

static void one_union_of_all(struct trial *trial)
{
    struct cube expected = {.dimensions = trial->dimensions};
    for (size_t i = 0; i < trial->count; i++) {
        trial->source[i] = random_space(trial->dimensions, 4, &trial->source_cube[i]);
        for (int cell = 0; cell < CUBE_CELLS; cell++)
            expected.has[cell] |= trial->source_cube[i].has[cell];
    }
    trial_run(trial,
              &(struct rbwp_partition){.kind = RBWP_PARTITION_UNION_ALL,
                                       .sources = (const struct rbwp_space **)trial->source});
    check_space(trial->result[0], &expected);
    release_all(trial->source, trial->count);
}

/* Guards: the union of all has the points of each. */
static void the_union_of_all_has_all(void **state)
{
    (void)state;
    run_trials(one_union_of_all);
}

/* ---- large ones -------------------------------------------------------------------------- */

enum { MANY = 60000 };

static void fill_scattered(void *argument, const int64_t *point, size_t count, void *values)
{
    (void)argument;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)values)[i] = (point[0] + (int64_t)i) * 7919 % MANY;
}

static void note_micro_operations(void *argument, const struct rbwp_partition_result *result)
{
    assert_int_equal(result->status, RBWP_OK);
    *(uint64_t *)argument = result->micro_operations;
}

/* Guards: an operation over many points is split, so that none holds its worker up; many small sets
 * that come in any order are put together right. */
static void a_large_operation_takes_many_slices(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_with(0);
    struct rbwp_partitioner *partitioner = partitioner_on(manager, "large");
    struct rbwp_space *line, *odd, *image, *rest;
    struct rbwp_rectangle *rectangles = calloc(MANY / 2, sizeof *rectangles);
    uint64_t micro[2] = {0, 0};
    for (int64_t i = 0; i < MANY / 2; i++)
        rectangles[i] = (struct rbwp_rectangle){.low = {2 * i + 1}, .high = {2 * i + 2}};
    assert_int_equal(rbwp_space_new(1, &(struct rbwp_rectangle){.high = {MANY}}, 1, &line, NULL),
                     RBWP_OK);
    assert_int_equal(rbwp_space_new(1, rectangles, MANY / 2, &odd, NULL), RBWP_OK);
    submit(partitioner,
           &(struct rbwp_partition){.size = sizeof(struct rbwp_partition),
                                    .kind = RBWP_PARTITION_IMAGE,
                                    .count = 1,
                                    .domain = line,
                                    .sources = (const struct rbwp_space *[]){odd},
                                    .field = {.fill = fill_scattered},
                                    .done = note_micro_operations,
                                    .argument = &micro[0]},
           &image);
    submit(partitioner,
           &(struct rbwp_partition){.size = sizeof(struct rbwp_partition),
                                    .kind = RBWP_PARTITION_DIFFERENCE,
                                    .count = 1,
                                    .sources = (const struct rbwp_space *[]){line},
                                    .others = (const struct rbwp_space *[]){image},
                                    .others_count = 1,
                                    .done = note_micro_operations,
                                    .argument = &micro[1]},
           &rest);
    rbwp_work_drain(manager);
    assert_in_range(micro[0], MANY / 2 / 256, UINT64_MAX);
    assert_in_range(micro[1], MANY / 512, UINT64_MAX);
    /* 7919 is odd and MANY even: odd numbers lead to odd ones, all of them. */
    assert_true(rbwp_space_equal(image, odd));
    assert_int_equal(rbwp_space_points(rest), MANY / 2);
    assert_true(rbwp_space_contains(rest, &(int64_t){0}));
    release_all((struct rbwp_space *[]){line, odd, image, rest}, 4);
    free(rectangles);
    finish(partitioner, manager);
}

/* ---- the queue ------------------------------------------------------------------------- */

static struct rbwp_space *line_of(int64_t low, int64_t high)
{
    struct rbwp_space *space;
    const struct rbwp_rectangle rectangle = {.low = {low}, .high = {high}};
    assert_int_equal(rbwp_space_new(1, &rectangle, 1, &space, NULL), RBWP_OK);
    return space;
}

static struct rbwp_partition pair_of(enum rbwp_partition_kind kind,
                                     const struct rbwp_space *const *source,
                                     const struct rbwp_space *const *other)
{
    return (struct rbwp_partition){.size = sizeof(struct rbwp_partition),
                                   .kind = kind,
                                   .count = 1,
                                   .sources = source,
                                   .others = other,
                                   .others_count = 1};
}

/* Guards: results may be given on before they are ready, and say so until they are; the caller may
 * let go of what an operation needs. */
static void results_are_given_on_before_they_are_ready(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_with(0);
    struct rbwp_partitioner *partitioner = partitioner_on(manager, "chain");
    struct rbwp_space *sum = line_of(0, 1);
    for (int64_t i = 1; i <= 50; i++) {
        struct rbwp_space *more = line_of(2 * i, 2 * i + 1), *next;
        const struct rbwp_space *source = sum, *other = more;
        const struct rbwp_partition both = pair_of(RBWP_PARTITION_UNION, &source, &other);
        submit(partitioner, &both, &next);
        rbwp_space_release(sum);
        rbwp_space_release(more);
        sum = next;
        assert_int_equal(rbwp_space_status(sum), RBWP_AGAIN);
        assert_int_equal(rbwp_space_dimensions(sum), 1);
        assert_int_equal(rbwp_space_points(sum), 0);
        assert_false(rbwp_space_equal(sum, sum));
    }
    rbwp_work_drain(manager);
    assert_int_equal(rbwp_space_points(sum), 51);
    assert_int_equal(rbwp_space_rectangles(sum), 51);
    rbwp_space_release(sum);
    finish(partitioner, manager);
}

/* Counts the operations that a freed partitioner ends, and tries to submit another each time. */
struct freed {
    struct rbwp_partitioner *partitioner;
    struct rbwp_partition partition;
    unsigned ended;
    enum rbwp_status submit_status;
};

static void expect_ended(void *argument, const struct rbwp_partition_result *result)
{
    struct freed *freed = argument;
    struct rbwp_space *space;
    assert_int_equal(result->status, RBWP_E_STATE);
    freed->ended++;
    freed->submit_status =
        rbwp_partition_submit(freed->partitioner, &freed->partition, &space, NULL, NULL);
    if (freed->submit_status != RBWP_OK)
        assert_null(space);
    rbwp_space_release(space);
}

/* Guards: freeing a partitioner ends what is queued, half done or not begun, and tells; the results
 * and those made of them have that status, and spaces outlive it; a done that submits then is
 * refused.
 */
static void freeing_ends_what_is_queued(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_with(0);
    struct rbwp_partitioner *partitioner = partitioner_on(manager, "freed");
    struct rbwp_space *line = line_of(0, MANY), *result[2];
    const struct rbwp_space *lines[1] = {line};
    struct freed freed = {.partitioner = partitioner,
                          .partition = pair_of(RBWP_PARTITION_UNION, lines, lines)};
    struct rbwp_partition image = {.size = sizeof image,
                                   .kind = RBWP_PARTITION_IMAGE,
                                   .count = 1,
                                   .domain = line,
                                   .sources = (const struct rbwp_space *[]){line},
                                   .field = {.fill = fill_scattered},
                                   .done = expect_ended,
                                   .argument = &freed};
    submit(partitioner, &image, &result[0]);
    image.sources = (const struct rbwp_space *[]){result[0]};
    submit(partitioner, &image, &result[1]);
    for (unsigned slices = 0; slices < 20; slices++)
        assert_int_equal(rbwp_work_run(manager, 0), RBWP_OK);
    finish(partitioner, manager);
    assert_int_equal(freed.ended, 2);
    assert_int_equal(freed.submit_status, RBWP_E_STATE);
    assert_int_equal(rbwp_space_status(result[0]), RBWP_E_STATE);
    assert_int_equal(rbwp_space_status(result[1]), RBWP_E_STATE);

    /* What needs a space that came to nothing comes to nothing. */
    struct rbwp_space *third;
    manager = manager_with(0);
    partitioner = partitioner_on(manager, "after");
    freed.partitioner = partitioner;
    image.sources = (const struct rbwp_space *[]){result[1]};
    submit(partitioner, &image, &third);
    rbwp_work_drain(manager);
    assert_int_equal(freed.ended, 3);
    assert_int_equal(freed.submit_status, RBWP_OK);
    assert_int_equal(rbwp_space_status(third), RBWP_E_STATE);
    finish(partitioner, manager);
    release_all((struct rbwp_space *[]){line, result[0], result[1], third}, 4);
}

/* ---- refusals -------------------------------------------------------------------------- */

struct refusal {
    const char *text;
    struct rbwp_partition partition;
};

static void check_refusals(struct rbwp_partitioner *partitioner, struct refusal *refusals,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rbwp_space *results[2] = {NULL, NULL};
        struct rbwp_error error = {.text = ""};
        uint64_t id = 7;
        refusals[i].partition.size = sizeof(struct rbwp_partition);
        const enum rbwp_status status =
            rbwp_partition_submit(partitioner, &refusals[i].partition, results, &id, &error);
        if (!strstr(error.text, refusals[i].text))
            fail_msg("'%s' was expected to say '%s'", error.text, refusals[i].text);
        assert_int_equal(status, error.status);
        assert_true(status == RBWP_E_INVALID || status == RBWP_E_STATE);
        assert_int_equal(id, 0);
        assert_null(results[0]);
        assert_null(results[1]);
    }
}

/* Guards: each wrong field of an operation is refused by name, and leaves nothing behind. */
static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_with(0);
    struct rbwp_partitioner *one = partitioner_on(manager, "one");
    struct rbwp_partitioner *two = partitioner_on(manager, "two");
    struct cube cube;
    struct rbwp_space *line = line_of(0, 4), *plane = random_space(2, 3, &cube), *pending;
    const struct rbwp_space *lines[2] = {line, line}, *mixed[2] = {line, plane};
    const struct rbwp_space *none[2] = {line, NULL}, *late[1];
    const int64_t colors[2] = {5, 5};
    const int64_t values[4] = {0};
    const struct rbwp_field memory = {.values = values};
    const struct rbwp_partition both = pair_of(RBWP_PARTITION_UNION, lines, lines);
    submit(two, &both, &pending);
    late[0] = pending;
#define OF(kind_) .kind = RBWP_PARTITION_##kind_, .count = 2
    struct refusal refusals[] = {
        {"kind", {.kind = 0, .count = 1}},
        {"kind", {.kind = 8, .count = 1}},
        {"count is 0", {.kind = RBWP_PARTITION_UNION_ALL, .sources = lines}},
        {"domain is NULL", {OF(BY_FIELD), .colors = colors, .field = memory}},
        {"colors is NULL", {OF(BY_FIELD), .domain = line, .field = memory}},
        {"colour comes twice", {OF(BY_FIELD), .domain = line, .colors = colors, .field = memory}},
        {"sources is NULL", {OF(IMAGE), .domain = line, .field = memory}},
        {"others is NULL", {OF(UNION), .sources = lines, .others_count = 1}},
        {"others_count", {OF(UNION), .sources = lines, .others = lines, .others_count = 3}},
        {"a space is NULL", {OF(UNION_ALL), .sources = none}},
        {"different dimensions", {OF(UNION_ALL), .sources = mixed}},
        {"different dimensions",
         {OF(DIFFERENCE), .sources = lines, .others = &mixed[1], .others_count = 1}},
        {"another partitioner", {.kind = RBWP_PARTITION_UNION_ALL, .count = 1, .sources = late}},
        {"neither values nor fill", {OF(IMAGE), .domain = line, .sources = lines}},
        {"or both",
         {OF(IMAGE), .domain = line, .sources = lines,
          .field = {.values = values, .fill = fill_scattered}}},
        {"color_bytes",
         {OF(BY_FIELD), .domain = line, .colors = colors,
          .field = {.values = values, .color_bytes = 3}}},
        {"color_bytes",
         {OF(BY_FIELD), .domain = line, .colors = colors,
          .field = {.fill = fill_scattered, .color_bytes = 4}}},
        {"rectangles",
         {OF(BY_FIELD), .domain = line, .colors = colors,
          .field = {.values = values, .rectangles = true}}},
        {"a stride",
         {OF(PREIMAGE), .domain = plane, .sources = lines, .field = {.values = values}}},
    };
    check_refusals(one, refusals, sizeof refusals / sizeof *refusals);
    rbwp_work_drain(manager);
    struct rbwp_space *result;
    submit(one,
           &(struct rbwp_partition){.size = sizeof(struct rbwp_partition),
                                    .kind = RBWP_PARTITION_UNION_ALL,
                                    .count = 1,
                                    .sources = late},
           &result);
    rbwp_work_drain(manager);
    assert_true(rbwp_space_equal(result, line));
    release_all((struct rbwp_space *[]){line, plane, pending, result}, 4);
    assert_int_equal(rbwp_partitioner_free(two), RBWP_OK);
    assert_int_equal(rbwp_partitioner_free(NULL), RBWP_OK);
    finish(one, manager);
}

/* What each kind needs, and what it should come to with all the memory it asks for. */
static bool submit_each_kind(struct rbwp_partitioner *partitioner,
                             struct rbwp_work_manager *manager, const struct rbwp_space *plane,
                             const struct rbwp_space *line)
{
    const struct rbwp_space *planes[2] = {plane, plane}, *lines[2] = {line, line};
    const struct rbwp_partition kinds[] = {
        {.kind = RBWP_PARTITION_BY_FIELD,
         .domain = plane,
         .colors = (const int64_t[]){0, 1},
         .field = {.fill = fill_scattered}},
        {.kind = RBWP_PARTITION_IMAGE,
         .domain = line,
         .sources = planes,
         .field = {.fill = fill_scattered}},
        {.kind = RBWP_PARTITION_PREIMAGE,
         .domain = plane,
         .sources = lines,
         .field = {.fill = fill_scattered}},
        {.kind = RBWP_PARTITION_DIFFERENCE, .sources = lines, .others = lines, .others_count = 1},
        {.kind = RBWP_PARTITION_UNION_ALL, .sources = planes},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct rbwp_partition partition = kinds[i];
        struct rbwp_space *results[2] = {NULL, NULL};
        partition.size = sizeof partition;
        partition.count = 2;
        const enum rbwp_status status =
            rbwp_partition_submit(partitioner, &partition, results, NULL, NULL);
        assert_true(status == RBWP_OK || status == RBWP_E_MEMORY);
        rbwp_work_drain(manager);
        const enum rbwp_status ended = status == RBWP_OK ? rbwp_space_status(results[0]) : status;
        assert_true(ended == RBWP_OK || ended == RBWP_E_MEMORY);
        all &= ended == RBWP_OK;
        release_all(results, 2);
    }
    return all;
}

/* Guards: wherever memory runs out, the operation ends with RBWP_E_MEMORY and leaks nothing, and
 * those after it go on. */
static void running_out_of_memory_is_told(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_with(0);
    struct rbwp_partitioner *partitioner = partitioner_on(manager, "poor");
    struct rbwp_space *line = line_of(0, 700), *plane;
    struct rbwp_rectangle rectangles[40];
    for (int64_t i = 0; i < 40; i++)
        rectangles[i] =
            (struct rbwp_rectangle){.low = {i * 7, i}, .high = {i * 7 + 40, i + 1 + i % 2}};
    assert_int_equal(rbwp_space_new(2, rectangles, 40, &plane, NULL), RBWP_OK);
    bool all = false;
    long budget = 0;
    for (; !all; budget++) {
        struct rbwp_space *space;
        allocations_left = budget + 1;
        all = submit_each_kind(partitioner, manager, plane, line);
        if (rbwp_space_new(2, rectangles, 40, &space, NULL) == RBWP_OK)
            rbwp_space_release(space);
        else
            all = false;
        allocations_left = -1;
    }
    assert_in_range(budget, 50, 5000);
    release_all((struct rbwp_space *[]){line, plane}, 2);
    finish(partitioner, manager);
}

/* ---- threads ----------------------------------------------------------------------------- */

enum { THREADS = 3, CHAINS = 40 };

struct crowd {
    struct rbwp_partitioner *partitioner;
    atomic_uint ended;
};

static void count_end(void *argument, const struct rbwp_partition_result *result)
{
    struct crowd *crowd = argument;
    assert_int_equal(result->status, RBWP_OK);
    atomic_fetch_add(&crowd->ended, 1);
}

static void *submit_chains(void *argument)
{
    struct crowd *crowd = argument;
    for (int64_t i = 0; i < CHAINS; i++) {
        struct rbwp_space *a = line_of(0, 100), *b = line_of(i, i + 10), *c, *d;
        const struct rbwp_space *spaces[2] = {a, b}, *middle;
        struct rbwp_partition partition =
            pair_of(RBWP_PARTITION_DIFFERENCE, &spaces[0], &spaces[1]);
        partition.done = count_end;
        partition.argument = crowd;
        submit(crowd->partitioner, &partition, &c);
        middle = c;
        partition.kind = RBWP_PARTITION_UNION;
        partition.sources = &middle;
        submit(crowd->partitioner, &partition, &d);
        while (rbwp_space_status(d) == RBWP_AGAIN)
            usleep(50);
        assert_true(rbwp_space_equal(d, a));
        release_all((struct rbwp_space *[]){a, b, c, d}, 4);
    }
    return NULL;
}

/* Guards: threads that submit to one partitioner and wait for their results get them whole. */
static void threads_share_a_partitioner(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = manager_with(2);
    struct crowd crowd = {.partitioner = partitioner_on(manager, "shared")};
    pthread_t threads[THREADS];
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, submit_chains, &crowd), 0);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    rbwp_work_drain(manager);
    assert_int_equal(crowd.ended, THREADS * CHAINS * 2);
    finish(crowd.partitioner, manager);
}

/* ---- the profile ------------------------------------------------------------------------- */

/* How often sub-items of a name, which must be of type RBWP_DEPPART_OP, begin. */
static uint64_t begins_of(const struct recorded *recorded, const char *name)
{
    const struct rbwp_tables *tables = recorded->tables;
    const struct rbwp_sub_item_name *sub_item = NULL;
    for (uint32_t i = 0; i < tables->sub_item_count; i++)
        if (tables->sub_items[i].name_bytes == strlen(name) &&
            memcmp(tables->sub_items[i].name, name, strlen(name)) == 0)
            sub_item = &tables->sub_items[i];
    if (!sub_item)
        fail_msg("no sub-item \"%s\"", name);
    assert_int_equal(sub_item->type, RBWP_DEPPART_OP);
    uint64_t begins = 0;
    for (size_t i = 0; i < recorded->events; i++)
        begins += recorded->event[i].record.kind == RBWP_FINE_BEGIN &&
                  recorded->event[i].record.sub_item == sub_item->id;
    return begins;
}

/* Guards: each micro-operation is a level-2 sub-item by the name of its operation. */
static void micro_operations_are_sub_items(void **state)
{
    (void)state;
    const struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_thread_attach("test"), RBWP_OK);
    struct rbwp_work_manager *manager = manager_with(0);
    struct rbwp_partitioner *partitioner = partitioner_on(manager, "profiled");
    struct rbwp_space *line = line_of(0, 2000), *result[2];
    const struct rbwp_space *lines[2] = {line, line};
    static const char *const names[] = {"by field op", "image op",        "preimage op",
                                        "union op",    "intersection op", "difference op"};
    uint64_t micro[RBWP_PARTITION_UNION_ALL + 1] = {0};
    for (unsigned k = RBWP_PARTITION_BY_FIELD; k <= RBWP_PARTITION_UNION_ALL; k++) {
        const struct rbwp_partition partition = {.size = sizeof partition,
                                                 .kind = k,
                                                 .count = 2,
                                                 .domain = line,
                                                 .sources = lines,
                                                 .others = lines,
                                                 .others_count = 2,
                                                 .colors = (const int64_t[]){0, 1},
                                                 .field = {.fill = fill_scattered},
                                                 .done = note_micro_operations,
                                                 .argument = &micro[k]};
        submit(partitioner, &partition, result);
        rbwp_work_drain(manager);
        release_all(result, k == RBWP_PARTITION_UNION_ALL ? 1 : 2);
        assert_in_range(micro[k], 2, 1000);
    }
    rbwp_space_release(line);
    finish(partitioner, manager);
    stop(session);
    struct recorded recorded = read_back(config.logfile);
    micro[RBWP_PARTITION_UNION] += micro[RBWP_PARTITION_UNION_ALL];
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(begins_of(&recorded, names[i]), micro[i + 1]);
    recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_come_while_others_end),
        cmocka_unit_test(by_field_is_by_color),
        cmocka_unit_test(images_are_where_values_lead),
        cmocka_unit_test(preimages_are_where_values_come_from),
        cmocka_unit_test(set_operations_are_by_cell),
        cmocka_unit_test(the_union_of_all_has_all),
        cmocka_unit_test(a_large_operation_takes_many_slices),
        cmocka_unit_test(results_are_given_on_before_they_are_ready),
        cmocka_unit_test(freeing_ends_what_is_queued),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(running_out_of_memory_is_told),
        cmocka_unit_test(threads_share_a_partitioner),
        cmocka_unit_test(micro_operations_are_sub_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
