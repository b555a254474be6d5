/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mill.c - matrices that go through a lane: up, transposed and summed there, down, checked.
 *
 * A place holds the memory of one matrix and walks through the steps: each
 * step submits transfers, and the done of the last of them takes the next. No
 * thread waits for anything. Checking is a work item of its own, since a done
 * should be short. Numbers are small and whole, so every sum is exact.
 */
#include "mill.h"

#include "rbwp_record.h"

#include <math.h>
#include <stdio.h>

static unsigned compare_sub_item;
static pthread_once_t compare_once = PTHREAD_ONCE_INIT;

static void register_compare(void)
{
    enum rbwp_sub_item_type step;
    if (rbwp_sub_item_kind_register("step", 0, &step) != RBWP_OK ||
        rbwp_sub_item_register(step, "gpu_transpose compare", &compare_sub_item) != RBWP_OK)
        compare_sub_item = 0;
}

static float number_at(uint64_t matrix, uint64_t row, uint64_t column)
{
    return (float)((matrix * 13 + row * 31 + column * 17) % 251);
}

/* ---- steps -------------------------------------------------------------------------- */

/* One failed: the matrix is given up once nothing of it is under way. */
static void note_failure(struct mill_place *place, const struct rbwp_error *error)
{
    struct mill *mill = place->mill;
    pthread_mutex_lock(&mill->lock);
    place->failed = true;
    if (mill->error.status == RBWP_OK)
        mill->error = *error;
    pthread_mutex_unlock(&mill->lock);
}

static void transfer_done(void *argument, const struct rbwp_transfer_result *result)
{
    struct mill_place *place = argument;
    if (result->status != RBWP_OK) {
        struct rbwp_error error = {.status = result->status};
        snprintf(error.text, sizeof error.text, "a transfer ended with: %s",
                 rbwp_status_text(result->status));
        note_failure(place, &error);
    }
    if (__atomic_sub_fetch(&place->awaited, 1, __ATOMIC_ACQ_REL) == 0)
        place->next_step(place);
}

static struct rbwp_gpu_transfer matrix_transfer(struct mill_place *place,
                                                enum rbwp_transfer_kind kind)
{
    return (struct rbwp_gpu_transfer){.size = sizeof(struct rbwp_gpu_transfer),
                                      .what = {.size = sizeof(struct rbwp_transfer),
                                               .kind = kind,
                                               .dimensions = 2,
                                               .element_bytes = sizeof(float),
                                               .extent = {place->mill->columns, place->mill->rows},
                                               .done = transfer_done,
                                               .argument = place}};
}

static void submit(struct mill_place *place, enum lane_way way,
                   const struct rbwp_gpu_transfer *transfer)
{
    struct rbwp_error error;
    if (lane_submit(place->mill->lane, way, transfer, &error))
        return;
    const struct rbwp_transfer_result refused = {.status = error.status};
    note_failure(place, &error);
    transfer_done(place, &refused);
}

static void arrive(struct mill_place *place)
{
    struct mill *mill = place->mill;
    pthread_mutex_lock(&mill->lock);
    place->next = mill->arrived;
    mill->arrived = place;
    pthread_mutex_unlock(&mill->lock);
    (void)rbwp_work_make_active(mill->manager, mill->checker);
}

static void go_down(struct mill_place *place)
{
    struct rbwp_gpu_transfer t = matrix_transfer(place, RBWP_TRANSFER_COPY);
    place->awaited = 2;
    place->next_step = arrive;
    t.source = place->on_transposed;
    t.what.target.memory = place->transposed;
    submit(place, LANE_DOWN, &t);
    t.source = place->on_sums;
    t.what.dimensions = 1;
    t.what.target.memory = place->sums;
    submit(place, LANE_DOWN, &t);
}

static void compute(struct mill_place *place)
{
    static const float zero = 0;
    struct rbwp_gpu_transfer t = matrix_transfer(place, RBWP_TRANSFER_TRANSPOSE);
    place->awaited = 3;
    place->next_step = go_down;
    t.source = place->on_matrix;
    t.target = place->on_transposed;
    submit(place, LANE_ON, &t);

    t = matrix_transfer(place, RBWP_TRANSFER_FILL);
    t.what.dimensions = 1;
    t.what.fill = &zero;
    t.target = place->on_sums;
    submit(place, LANE_ON, &t);

    t = matrix_transfer(place, RBWP_TRANSFER_REDUCE); /* all rows into one */
    t.what.reduce_op = RBWP_REDUCE_SUM;
    t.what.reduce_type = RBWP_REDUCE_F32;
    t.what.target.stride_bytes[1] = RBWP_STRIDE_FIXED;
    t.source = place->on_matrix;
    t.target = place->on_sums;
    submit(place, LANE_ON, &t);
}

/* Begins with the next matrix, if one is left. */
static void go_up(struct mill_place *place)
{
    struct mill *mill = place->mill;
    pthread_mutex_lock(&mill->lock);
    const bool begins = mill->begun < mill->wanted;
    place->number = begins ? mill->begun++ : 0;
    pthread_mutex_unlock(&mill->lock);
    if (!begins)
        return;
    for (uint64_t row = 0; row < mill->rows; row++)
        for (uint64_t column = 0; column < mill->columns; column++) {
            place->matrix[row * mill->columns + column] = number_at(place->number, row, column);
            place->transposed[row * mill->columns + column] = NAN;
        }
    place->failed = false;
    place->awaited = 1;
    place->next_step = compute;
    struct rbwp_gpu_transfer t = matrix_transfer(place, RBWP_TRANSFER_COPY);
    t.what.source.memory = place->matrix;
    t.target = place->on_matrix;
    submit(place, LANE_UP, &t);
}

/* ---- checking -------------------------------------------------------------------------- */

static bool is_right(const struct mill_place *place)
{
    const struct mill *mill = place->mill;
    for (uint64_t column = 0; column < mill->columns; column++) {
        float sum = 0;
        for (uint64_t row = 0; row < mill->rows; row++) {
            const float number = number_at(place->number, row, column);
            sum += number;
            if (place->transposed[column * mill->rows + row] != number)
                return false;
        }
        if (place->sums[column] != sum)
            return false;
    }
    return true;
}

/* Checks one matrix that has arrived, and sends the next on its way. */
static bool check(void *argument, struct rbwp_deadline deadline)
{
    struct mill *mill = argument;
    (void)deadline; /* a matrix is the piece of work here */
    pthread_mutex_lock(&mill->lock);
    struct mill_place *place = mill->arrived;
    if (place)
        mill->arrived = place->next;
    const bool more = mill->arrived != NULL;
    pthread_mutex_unlock(&mill->lock);
    if (!place) {
        rbwp_set_worked(false);
        return false;
    }
    rbwp_fine_begin(compare_sub_item);
    const bool right = !place->failed && is_right(place);
    rbwp_fine_end();
    pthread_mutex_lock(&mill->lock);
    mill->checked++;
    mill->wrong += !right && !place->failed;
    mill->failed += place->failed;
    pthread_mutex_unlock(&mill->lock);
    go_up(place);
    return more;
}

/* ---- begin and end ------------------------------------------------------------------------ */

static bool place_init(struct mill_place *place, struct mill *mill)
{
    const uint64_t bytes = mill->rows * mill->columns * sizeof(float);
    const uint64_t row_bytes = mill->columns * sizeof(float);
    place->mill = mill;
    return lane_memory(mill->lane, bytes, (void **)&place->matrix) &&
           lane_memory(mill->lane, bytes, (void **)&place->transposed) &&
           lane_memory(mill->lane, row_bytes, (void **)&place->sums) &&
           lane_buffer(mill->lane, bytes, &place->on_matrix) &&
           lane_buffer(mill->lane, bytes, &place->on_transposed) &&
           lane_buffer(mill->lane, row_bytes, &place->on_sums);
}

bool mill_begin(struct mill *mill, struct lane *lane, struct rbwp_work_manager *manager,
                uint64_t rows, uint64_t columns, uint64_t matrices)
{
    *mill = (struct mill){
        .lane = lane, .manager = manager, .rows = rows, .columns = columns, .wanted = matrices};
    pthread_mutex_init(&mill->lock, NULL);
    pthread_once(&compare_once, register_compare);
    mill->error.status =
        rbwp_work_add(manager, "gpu_transpose check", check, mill, -1, &mill->checker);
    for (unsigned i = 0; i < MILL_PLACES && mill->error.status == RBWP_OK; i++)
        if (!place_init(&mill->place[i], mill))
            mill->error.status = RBWP_E_MEMORY;
    if (mill->error.status != RBWP_OK) {
        snprintf(mill->error.text, sizeof mill->error.text, "it cannot begin: %s",
                 rbwp_status_text(mill->error.status));
        return false;
    }
    for (unsigned i = 0; i < MILL_PLACES; i++)
        go_up(&mill->place[i]);
    return true;
}

void mill_end(struct mill *mill)
{
    if (mill->checker.generation != 0)
        (void)rbwp_work_remove(mill->manager, mill->checker);
    for (unsigned i = 0; i < MILL_PLACES; i++) {
        struct mill_place *place = &mill->place[i];
        lane_memory_free(mill->lane, place->matrix);
        lane_memory_free(mill->lane, place->transposed);
        lane_memory_free(mill->lane, place->sums);
        lane_buffer_free(mill->lane, &place->on_matrix);
        lane_buffer_free(mill->lane, &place->on_transposed);
        lane_buffer_free(mill->lane, &place->on_sums);
    }
    pthread_mutex_destroy(&mill->lock);
}
