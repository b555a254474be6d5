/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gpu_channel.c - GPU channels do what the host's channels do, byte for byte.
 *
 *     test_gpu_channel cuda|hip|opencl [--driver PATH] [--compiler PATH] [--source] [--rounds N]
 *                      [--small]
 *
 * Each case is carried out twice, by a host channel on host memory and by a GPU channel on a copy
 * of it, and all memory is compared, what lies around the elements too: so an element that was not
 * written, and a byte that was written beside one, both show. Targets begin as noise. Runs on
 * machines without a test framework. Exit status 77: there is no such device here.
 */
#include "../unit/test_channel_reference.h"
#include "rbwp_gpu_channel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { EXIT_SKIPPED = 77, BATCH_MAX = 12, WAIT_S = 120 };

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct {
    struct rbwp_work_manager *manager;
    struct rbwp_gpu_device *device;
    struct rbwp_channel *host;
    struct rbwp_gpu_channel *gpu;
    bool from_source, small, lacks_f64;
    unsigned rounds;
} test;

static void must(enum rbwp_status status, const struct rbwp_error *error)
{
    if (status == RBWP_OK)
        return;
    fprintf(stderr, "status %d: %s\n", status, error->text);
    exit(1);
}

/* ---- what came of transfers ------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* guards all */
    pthread_cond_t changed;
    unsigned good, bad, stopped;
    uint64_t last_id;
    bool in_order;
} ended = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void note_end(void *argument, const struct rbwp_transfer_result *result)
{
    (void)argument;
    pthread_mutex_lock(&ended.lock);
    if (result->status == RBWP_OK)
        ended.good++;
    else if (result->status == RBWP_E_STATE)
        ended.stopped++;
    else
        ended.bad++;
    ended.in_order = ended.in_order && result->id > ended.last_id;
    ended.last_id = result->id;
    pthread_cond_broadcast(&ended.changed);
    pthread_mutex_unlock(&ended.lock);
}

static void expect_ends_begin(void)
{
    pthread_mutex_lock(&ended.lock);
    ended.good = ended.bad = ended.stopped = 0;
    ended.last_id = 0;
    ended.in_order = true;
    pthread_mutex_unlock(&ended.lock);
}

/* Waits until so many have ended well. */
static void expect_good(unsigned count)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    pthread_mutex_lock(&ended.lock);
    while (ended.good + ended.bad + ended.stopped < count)
        if (pthread_cond_timedwait(&ended.changed, &ended.lock, &until) != 0) {
            fprintf(stderr, "%u of %u transfers ended in %d s\n", ended.good, count, WAIT_S);
            exit(1);
        }
    CHECK(ended.good == count);
    pthread_mutex_unlock(&ended.lock);
}

/* ---- one transfer ------------------------------------------------------------------- */

static struct rbwp_gpu_buffer device_buffer(uint64_t bytes)
{
    struct rbwp_gpu_buffer buffer;
    struct rbwp_error error;
    must(rbwp_gpu_buffer_alloc(test.device, bytes, &buffer, &error), &error);
    return buffer;
}

static void submit(const struct rbwp_gpu_transfer *transfer)
{
    struct rbwp_error error;
    must(rbwp_gpu_channel_submit(test.gpu, transfer, NULL, &error), &error);
}

static struct rbwp_gpu_transfer flat(uint64_t bytes)
{
    return (struct rbwp_gpu_transfer){.size = sizeof(struct rbwp_gpu_transfer),
                                      .what = {.size = sizeof(struct rbwp_transfer),
                                               .kind = RBWP_TRANSFER_COPY,
                                               .dimensions = 1,
                                               .element_bytes = 1,
                                               .extent = {bytes},
                                               .done = note_end}};
}

static void upload(struct rbwp_gpu_buffer buffer, void *from)
{
    struct rbwp_gpu_transfer t = flat(buffer.bytes);
    t.what.source.memory = from;
    t.target = buffer;
    expect_ends_begin();
    submit(&t);
    expect_good(1);
}

static void download(void *to, struct rbwp_gpu_buffer buffer)
{
    struct rbwp_gpu_transfer t = flat(buffer.bytes);
    t.what.target.memory = to;
    t.source = buffer;
    expect_ends_begin();
    submit(&t);
    expect_good(1);
}

static void on_host(const struct rbwp_transfer *transfer)
{
    struct rbwp_error error;
    struct rbwp_transfer t = *transfer;
    t.done = note_end;
    expect_ends_begin();
    must(rbwp_channel_submit(test.host, &t, NULL, &error), &error);
    expect_good(1);
}

static uint8_t *noise(struct dice *dice, size_t bytes)
{
    uint8_t *memory = malloc(bytes ? bytes : 1);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (uint8_t)roll(dice);
    return memory;
}

static void expect_same(const uint8_t *expected, const uint8_t *found, size_t bytes,
                        const char *what, unsigned round)
{
    for (size_t i = 0; i < bytes; i++)
        if (expected[i] != found[i]) {
            fprintf(stderr, "%s, round %u: byte %zu of %zu is %02x, not %02x\n", what, round, i,
                    bytes, found[i], expected[i]);
            exit(1);
        }
}

/* ---- random shapes, in batches ---------------------------------------------------------- */

/* Memory of both sides of a batch, with the transfers' regions at odd distances. */
struct pool {
    uint8_t *source, *target;
    size_t source_bytes, target_bytes;
};

static size_t place_in(uint8_t **pool, size_t *pool_bytes, struct dice *dice, const uint8_t *from,
                       size_t bytes)
{
    /* Half of them where wide units are possible. */
    const size_t gap = roll_below(dice, 2) ? roll_below(dice, 40) : -*pool_bytes % 64;
    const size_t at = *pool_bytes + gap;
    *pool = realloc(*pool, at + bytes);
    for (size_t i = *pool_bytes; i < at; i++)
        (*pool)[i] = (uint8_t)roll(dice);
    memcpy(*pool + at, from, bytes);
    *pool_bytes = at + bytes;
    return at;
}

static enum rbwp_transfer_kind random_kind(struct dice *dice)
{
    return (enum rbwp_transfer_kind)(RBWP_TRANSFER_COPY + roll_below(dice, 4));
}

/* A tidy matrix, as programs have them: rows of whole elements, what tiles and wide units want. */
static void make_tidy(struct dice *dice, struct random_transfer *r)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 16};
    struct rbwp_transfer *t = &r->transfer;
    t->dimensions = 2 + (uint32_t)roll_below(dice, 2);
    if (t->kind != RBWP_TRANSFER_REDUCE)
        t->element_bytes = sizes[roll_below(dice, 5)];
    memset(t->order, 0, sizeof t->order);
    memset(t->source.stride_bytes, 0, sizeof t->source.stride_bytes);
    memset(t->target.stride_bytes, 0, sizeof t->target.stride_bytes);
    if (t->kind == RBWP_TRANSFER_TRANSPOSE && t->dimensions == 3 && roll_below(dice, 2))
        memcpy(t->order, (const uint8_t[]){1, 0, 2}, 3);
    uint64_t elements = 1;
    for (unsigned d = 0; d < t->dimensions; d++)
        elements *= t->extent[d] = 1 + roll_below(dice, d < 2 ? 90 : 4);
    r->source_bytes = r->target_bytes = (size_t)elements * t->element_bytes + 2 * RANDOM_MARGIN;
    if (t->dimensions == 2 && roll_below(dice, 2)) {
        const uint64_t pad = t->element_bytes * roll_below(dice, 5);
        t->source.stride_bytes[1] = (int64_t)(t->extent[0] * t->element_bytes + pad);
        r->source_bytes += (size_t)(pad * t->extent[1]);
    }
    r->source_first = r->target_first = RANDOM_MARGIN;
    free(r->source), free(r->target);
    r->source = malloc(r->source_bytes), r->target = malloc(r->target_bytes);
    random_bytes(dice, t, r->source, r->source_bytes, r->source_first);
    random_bytes(dice, t, r->target, r->target_bytes, r->target_first);
}

static void make_case(struct dice *dice, enum rbwp_transfer_kind kind, struct random_transfer *r)
{
    do {
        random_transfer_make(dice, kind, 40, r);
        const bool lacks =
            kind == RBWP_TRANSFER_REDUCE && r->transfer.reduce_type == RBWP_REDUCE_F64;
        if (r->source_bytes + r->target_bytes < 4u << 20 && !(lacks && test.lacks_f64))
            break;
        random_transfer_free(r);
    } while (true);
    if (roll_below(dice, 3) == 0)
        make_tidy(dice, r);
}

struct batch {
    unsigned count;
    struct random_transfer r[BATCH_MAX];
    struct rbwp_gpu_transfer gpu[BATCH_MAX];
    struct pool pool;
};

static void make_batch(struct dice *dice, struct batch *batch)
{
    const bool one_kind = roll_below(dice, 2);
    const enum rbwp_transfer_kind kind = random_kind(dice);
    *batch = (struct batch){.count = 1 + (unsigned)roll_below(dice, BATCH_MAX)};
    for (unsigned i = 0; i < batch->count; i++) {
        struct random_transfer *r = &batch->r[i];
        make_case(dice, one_kind ? kind : random_kind(dice), r);
        struct rbwp_gpu_transfer *t = &batch->gpu[i];
        *t = (struct rbwp_gpu_transfer){
            .size = sizeof *t, .what = r->transfer, .independent = roll_below(dice, 4) != 0};
        t->what.done = note_end;
        t->source_offset_bytes =
            r->source_first + place_in(&batch->pool.source, &batch->pool.source_bytes, dice,
                                       r->source, r->source_bytes);
        t->target_offset_bytes =
            r->target_first + place_in(&batch->pool.target, &batch->pool.target_bytes, dice,
                                       r->target, r->target_bytes);
    }
}

/* The same on the host, in the pools. */
static void batch_on_host(struct batch *batch)
{
    for (unsigned i = 0; i < batch->count; i++) {
        struct rbwp_transfer t = batch->r[i].transfer;
        t.source.memory = batch->pool.source + batch->gpu[i].source_offset_bytes;
        t.target.memory = batch->pool.target + batch->gpu[i].target_offset_bytes;
        on_host(&t);
    }
}

/* Guards: every kind, over shapes, strides, sizes, alignments and batches, is as on the host. */
static void random_batches(struct dice *dice)
{
    for (unsigned round = 0; round < test.rounds; round++) {
        struct batch batch;
        make_batch(dice, &batch);
        const struct pool *pool = &batch.pool;
        struct rbwp_gpu_buffer source = device_buffer(pool->source_bytes);
        struct rbwp_gpu_buffer target = device_buffer(pool->target_bytes);
        uint8_t *found = malloc(pool->target_bytes), *intact = malloc(pool->source_bytes);
        upload(source, pool->source);
        upload(target, pool->target);
        expect_ends_begin();
        for (unsigned i = 0; i < batch.count; i++) {
            batch.gpu[i].source = source;
            batch.gpu[i].target = target;
            submit(&batch.gpu[i]);
        }
        expect_good(batch.count);
        CHECK(ended.in_order);
        download(found, target);
        download(intact, source);
        expect_same(pool->source, intact, pool->source_bytes, "a source", round);
        batch_on_host(&batch);
        expect_same(pool->target, found, pool->target_bytes, "random batches", round);
        rbwp_gpu_buffer_free(test.device, &source);
        rbwp_gpu_buffer_free(test.device, &target);
        for (unsigned i = 0; i < batch.count; i++)
            random_transfer_free(&batch.r[i]);
        free(found), free(intact), free(pool->source), free(pool->target);
    }
}

/* ---- host memory on one side ------------------------------------------------------------- */

struct runs {
    struct rbwp_transfer transfer;
    size_t source_bytes, target_bytes, source_first, target_first;
};

/* Runs of bytes in rows and planes, with gaps, backwards, repeated, in any order of the strides. */
static void make_runs(struct dice *dice, struct runs *runs)
{
    struct rbwp_transfer *t = &runs->transfer;
    *t = (struct rbwp_transfer){.size = sizeof *t, .kind = RBWP_TRANSFER_COPY, .element_bytes = 1};
    t->dimensions = 2 + (uint32_t)roll_below(dice, 2);
    t->extent[0] = 1 + roll_below(dice, 300);
    for (unsigned d = 1; d < t->dimensions; d++)
        t->extent[d] = 1 + roll_below(dice, 25);
    const uint32_t run = (uint32_t)t->extent[0];
    runs->source_bytes =
        2 * RANDOM_MARGIN + random_layout(dice, &t->extent[1], t->dimensions - 1, run, true,
                                          &t->source.stride_bytes[1], &runs->source_first);
    runs->target_bytes =
        2 * RANDOM_MARGIN + random_layout(dice, &t->extent[1], t->dimensions - 1, run, false,
                                          &t->target.stride_bytes[1], &runs->target_first);
    runs->source_first += RANDOM_MARGIN;
    runs->target_first += RANDOM_MARGIN;
}

/* With one side on the device; the result in *found. */
static void copy_runs(const struct runs *runs, uint8_t *source, const uint8_t *target,
                      bool to_device, uint8_t *found)
{
    struct rbwp_gpu_transfer t = {.size = sizeof t, .what = runs->transfer};
    t.what.done = note_end;
    memcpy(found, target, runs->target_bytes);
    if (to_device) {
        t.target = device_buffer(runs->target_bytes);
        t.target_offset_bytes = runs->target_first;
        t.what.source.memory = source + runs->source_first;
        upload(t.target, found);
    } else {
        t.source = device_buffer(runs->source_bytes);
        t.source_offset_bytes = runs->source_first;
        t.what.target.memory = found + runs->target_first;
        upload(t.source, source);
    }
    expect_ends_begin();
    submit(&t);
    expect_good(1);
    if (to_device)
        download(found, t.target);
    rbwp_gpu_buffer_free(test.device, &t.target);
    rbwp_gpu_buffer_free(test.device, &t.source);
}

/* Guards: copies to and from host memory, which are the engine's in one call or in many. */
static void copies_with_the_host(struct dice *dice)
{
    for (unsigned round = 0; round < test.rounds; round++) {
        struct runs runs;
        make_runs(dice, &runs);
        uint8_t *source = noise(dice, runs.source_bytes), *target = noise(dice, runs.target_bytes);
        uint8_t *found = malloc(runs.target_bytes), *other = malloc(runs.target_bytes);
        copy_runs(&runs, source, target, true, found);
        copy_runs(&runs, source, target, false, other);
        struct rbwp_transfer host = runs.transfer;
        host.source.memory = source + runs.source_first;
        host.target.memory = target + runs.target_first;
        on_host(&host);
        expect_same(target, found, runs.target_bytes, "host to device", round);
        expect_same(target, other, runs.target_bytes, "device to host", round);
        free(source), free(target), free(found), free(other);
    }
}

/* ---- how it is carried out ------------------------------------------------------------- */

static uint64_t kernels_so_far(void)
{
    struct rbwp_gpu_channel_launches counts;
    rbwp_gpu_channel_counts(test.gpu, &counts);
    return counts.kernels;
}

/* Strided copies from even to odd bytes of one buffer. */
static void submit_strided(struct rbwp_gpu_channel *channel, struct rbwp_gpu_buffer buffer,
                           unsigned transfers, bool independent)
{
    struct rbwp_error error;
    for (unsigned i = 0; i < transfers; i++) {
        struct rbwp_gpu_transfer t = flat(10);
        t.what.source.stride_bytes[0] = t.what.target.stride_bytes[0] = 2;
        t.source = t.target = buffer;
        t.source_offset_bytes = i * 20;
        t.target_offset_bytes = i * 20 + 1;
        t.independent = independent;
        must(rbwp_gpu_channel_submit(channel, &t, NULL, &error), &error);
    }
}

/* Guards: independent transfers that wait together are one launch, six at most; those that depend
 * on each other never are. (On a device that runs blocks one after the other, results don't tell.)
 */
static void only_independent_ones_join(void)
{
    enum { TRANSFERS = 12 };
    struct rbwp_error error;
    struct rbwp_work_manager *manager; /* launches when the test says so */
    struct rbwp_gpu_channel *channel;
    struct rbwp_gpu_channel_launches counts;
    const struct rbwp_work_config work = {
        .size = sizeof work, .no_workers = true, .slice_ns = 1000000000};
    must(rbwp_work_start(&work, &manager, &error), &error);
    const struct rbwp_gpu_channel_config config = {.size = sizeof config,
                                                   .device = test.device,
                                                   .manager = manager,
                                                   .compile = test.from_source,
                                                   .name = "by hand"};
    must(rbwp_gpu_channel_new(&config, &channel, &error), &error);
    struct rbwp_gpu_buffer buffer = device_buffer(1000);
    expect_ends_begin();
    submit_strided(channel, buffer, TRANSFERS, true);
    CHECK(rbwp_work_run(manager, 0) == RBWP_OK);
    expect_good(TRANSFERS);
    rbwp_gpu_channel_counts(channel, &counts);
    CHECK(counts.kernels == TRANSFERS / 6);
    expect_ends_begin();
    submit_strided(channel, buffer, TRANSFERS, false);
    CHECK(rbwp_work_run(manager, 0) == RBWP_OK);
    expect_good(TRANSFERS);
    rbwp_gpu_channel_counts(channel, &counts);
    CHECK(counts.kernels == TRANSFERS / 6 + TRANSFERS);
    CHECK(rbwp_gpu_channel_free(channel) == RBWP_OK);
    CHECK(rbwp_work_stop(manager, true, NULL) == RBWP_OK);
    rbwp_gpu_buffer_free(test.device, &buffer);
}

/* Guards: columns to columns of one matrix, whose rows reach over each other, are a kernel's. */
static void within_one_buffer(struct dice *dice)
{
    enum { PITCH = 64, ROWS = 50 };
    uint8_t *cells = noise(dice, PITCH * ROWS), *found = malloc(PITCH * ROWS);
    struct rbwp_gpu_buffer buffer = device_buffer(PITCH * ROWS);
    struct rbwp_gpu_transfer t = flat(20);
    upload(buffer, cells);
    t.what.dimensions = 2;
    t.what.extent[1] = ROWS;
    t.what.source.stride_bytes[1] = t.what.target.stride_bytes[1] = PITCH;
    t.source = t.target = buffer;
    t.source_offset_bytes = 3;
    t.target_offset_bytes = 30;
    const uint64_t before = kernels_so_far();
    expect_ends_begin();
    submit(&t);
    expect_good(1);
    CHECK(kernels_so_far() - before == 1);
    download(found, buffer);
    for (unsigned row = 0; row < ROWS; row++)
        memcpy(cells + row * PITCH + 30, cells + row * PITCH + 3, 20);
    expect_same(cells, found, PITCH * ROWS, "within one buffer", 0);
    rbwp_gpu_buffer_free(test.device, &buffer);
    free(cells), free(found);
}

/* ---- large ones ------------------------------------------------------------------------------ */

static void large_case(struct rbwp_transfer what, size_t source_bytes, size_t target_bytes,
                       uint64_t kernels, struct dice *dice, const char *name)
{
    uint8_t *source = malloc(source_bytes), *target = noise(dice, target_bytes);
    for (size_t i = 0; i + 4 <= source_bytes; i += 4) {
        const uint32_t word = (uint32_t)(i / 4) * 2654435761u;
        const float number = (float)(word % 7);
        const bool is_float =
            what.kind == RBWP_TRANSFER_REDUCE && what.reduce_type == RBWP_REDUCE_F32;
        memcpy(source + i, is_float ? (const void *)&number : (const void *)&word, 4);
    }
    if (what.kind == RBWP_TRANSFER_REDUCE)
        memset(target, 0, target_bytes);
    uint8_t *found = malloc(target_bytes);
    struct rbwp_gpu_transfer gpu = {.size = sizeof gpu, .what = what};
    gpu.what.done = note_end;
    gpu.source = device_buffer(source_bytes);
    gpu.target = device_buffer(target_bytes);
    upload(gpu.source, source);
    upload(gpu.target, target);
    expect_ends_begin();
    const uint64_t before = kernels_so_far();
    submit(&gpu);
    expect_good(1);
    CHECK(kernels_so_far() - before == kernels);
    download(found, gpu.target);
    what.source.memory = source;
    what.target.memory = target;
    on_host(&what);
    expect_same(target, found, target_bytes, name, 0);
    rbwp_gpu_buffer_free(test.device, &gpu.source);
    rbwp_gpu_buffer_free(test.device, &gpu.target);
    free(source), free(target), free(found);
}

/* Guards: transfers of more than one launch, and reductions in two stages. */
static void large_transfers(struct dice *dice)
{
    struct rbwp_transfer t = {.size = sizeof t,
                              .kind = RBWP_TRANSFER_TRANSPOSE,
                              .dimensions = 2,
                              .element_bytes = 4,
                              .extent = {5003, 3701}};
    const size_t bytes = (size_t)t.extent[0] * t.extent[1] * 4;
    large_case(t, bytes, bytes, 2, dice, "a large transpose");
    t.kind = RBWP_TRANSFER_COPY;
    t.source.stride_bytes[1] = RBWP_STRIDE_FIXED; /* rows again and again: not for the engine */
    large_case(t, bytes, bytes, 2, dice, "a large copy");
    t = (struct rbwp_transfer){.size = sizeof t,
                               .kind = RBWP_TRANSFER_REDUCE,
                               .dimensions = 1,
                               .reduce_op = RBWP_REDUCE_SUM,
                               .reduce_type = RBWP_REDUCE_F32,
                               .extent = {3000001}, /* the sum is exact */
                               .target.stride_bytes = {RBWP_STRIDE_FIXED}};
    large_case(t, 4 * 3000001, 4, 2, dice, "a large sum");
    t.reduce_type = RBWP_REDUCE_I32;
    t.reduce_op = RBWP_REDUCE_PROD;
    large_case(t, 4 * 3000001, 4, 2, dice, "a large product");
    t.reduce_op = RBWP_REDUCE_MIN;
    t.dimensions = 2;
    t.extent[0] = 100001, t.extent[1] = 37;
    t.target.stride_bytes[1] = 4;
    large_case(t, 4 * 100001 * 37, 4 * 37, 2, dice, "37 large minima");
    t.dimensions = 3; /* fold the first and the last */
    t.extent[0] = 301, t.extent[1] = 7, t.extent[2] = 211;
    t.target.stride_bytes[2] = RBWP_STRIDE_FIXED;
    large_case(t, 4 * 301 * 7 * 211, 4 * 7, 2, dice, "7 minima of planes");
}

/* ---- order, threads, ends
 * ------------------------------------------------------------------------ */

/* Guards: without `independent`, a transfer sees what the one before it wrote. */
static void transfers_go_in_order(struct dice *dice)
{
    enum { CELLS = 500 };
    uint8_t *cells = noise(dice, CELLS * 3);
    struct rbwp_gpu_buffer buffer = device_buffer(CELLS * 3);
    upload(buffer, cells);
    expect_ends_begin();
    for (unsigned i = 0; i + 1 < CELLS; i++) {
        struct rbwp_gpu_transfer t = flat(2);
        t.what.source.stride_bytes[0] = t.what.target.stride_bytes[0] = 2; /* a kernel's */
        t.source = t.target = buffer;
        t.source_offset_bytes = i * 3;
        t.target_offset_bytes = i * 3 + 3;
        submit(&t);
    }
    expect_good(CELLS - 1);
    for (unsigned i = 3; i < CELLS * 3; i++)
        if (i % 3 != 1)
            cells[i] = cells[i % 3];
    uint8_t *found = malloc(CELLS * 3);
    download(found, buffer);
    expect_same(cells, found, CELLS * 3, "a chain", 0);
    rbwp_gpu_buffer_free(test.device, &buffer);
    free(cells), free(found);
}

static struct rbwp_gpu_buffer shared_target;

static void *submit_many(void *argument)
{
    const unsigned self = *(const unsigned *)argument;
    for (unsigned i = 0; i < 100; i++) {
        const uint8_t byte = (uint8_t)(self + 1);
        struct rbwp_gpu_transfer t = flat(1000);
        t.what.kind = RBWP_TRANSFER_FILL;
        t.what.fill = &byte;
        t.target = shared_target;
        t.target_offset_bytes = (self * 100 + i) * 1000;
        submit(&t);
    }
    return NULL;
}

/* Guards: many threads may submit to one channel; each transfer is carried out once. */
static void threads_submit(void)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    unsigned self[THREADS];
    shared_target = device_buffer(THREADS * 100 * 1000);
    expect_ends_begin();
    for (unsigned i = 0; i < THREADS; i++) {
        self[i] = i;
        CHECK(pthread_create(&thread[i], NULL, submit_many, &self[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    expect_good(THREADS * 100);
    uint8_t *found = malloc((size_t)shared_target.bytes);
    download(found, shared_target);
    for (size_t i = 0; i < shared_target.bytes; i++)
        CHECK(found[i] == i / 100000 + 1);
    rbwp_gpu_buffer_free(test.device, &shared_target);
    free(found);
}

static void refused(const struct rbwp_gpu_transfer *t, enum rbwp_status wanted)
{
    uint64_t id = 7;
    struct rbwp_error error = {0};
    const enum rbwp_status status = rbwp_gpu_channel_submit(test.gpu, t, &id, &error);
    if (status != wanted || id != 0 || !error.text[0])
        fprintf(stderr, "status %d instead of %d: %s\n", status, wanted, error.text);
    CHECK(status == wanted && id == 0 && error.text[0]);
}

/* Guards: nothing outside a buffer is ever touched; what cannot be done is said. */
static void wrong_transfers_are_refused(void)
{
    struct rbwp_gpu_buffer buffer = device_buffer(1000);
    uint8_t bytes[1000] = {0};
    struct rbwp_gpu_transfer good = flat(1000), t;
    good.source = buffer;
    good.what.target.memory = bytes;
    t = good, t.size = 1, refused(&t, RBWP_E_INVALID);
    t = good, t.what.dimensions = 4, refused(&t, RBWP_E_INVALID);
    t = good, t.source_offset_bytes = 1, refused(&t, RBWP_E_INVALID);
    t = good, t.source_offset_bytes = UINT64_MAX, refused(&t, RBWP_E_INVALID);
    t = good, t.what.extent[0] = 1001, refused(&t, RBWP_E_INVALID);
    t = good, t.what.source.stride_bytes[0] = -1, refused(&t, RBWP_E_INVALID);
    t = good, t.what.target.memory = NULL, refused(&t, RBWP_E_INVALID);
    t = good, t.what.source.is_file = true, refused(&t, RBWP_E_INVALID);
    t = good, t.source.native = NULL, t.what.source.memory = bytes;
    refused(&t, RBWP_E_UNSUPPORTED);
    t = good, t.what.extent[0] = 500, t.what.source.stride_bytes[0] = 2;
    refused(&t, RBWP_E_UNSUPPORTED);
    t = good, t.what.kind = RBWP_TRANSFER_FILL, t.what.fill = bytes;
    refused(&t, RBWP_E_UNSUPPORTED);
    t = good, t.what.extent[0] = 0;
    expect_ends_begin();
    submit(&t);
    expect_good(1);
    rbwp_gpu_buffer_free(test.device, &buffer);
    rbwp_gpu_host_free(test.device, NULL); /* nothing, and from no device: nothing happens */
    rbwp_gpu_host_free(NULL, bytes);
}

/* Guards: freeing a channel with work in all stages ends each transfer once, and waits for what
 * runs. */
static void freeing_ends_what_is_queued(void)
{
    enum { TRANSFERS = 60 };
    struct rbwp_gpu_channel *channel;
    struct rbwp_error error;
    const struct rbwp_gpu_channel_config config = {.size = sizeof config,
                                                   .device = test.device,
                                                   .manager = test.manager,
                                                   .compile = test.from_source,
                                                   .name = "short-lived"};
    struct rbwp_gpu_buffer buffer = device_buffer(3 << 20);
    must(rbwp_gpu_channel_new(&config, &channel, &error), &error);
    const uint8_t byte[3] = {1, 2, 3};
    struct rbwp_gpu_transfer t = flat(1 << 20);
    t.what.kind = RBWP_TRANSFER_FILL;
    t.what.element_bytes = 3;
    t.what.fill = byte;
    t.target = buffer;
    expect_ends_begin();
    for (unsigned i = 0; i < TRANSFERS; i++)
        must(rbwp_gpu_channel_submit(channel, &t, NULL, &error), &error);
    CHECK(rbwp_gpu_channel_free(channel) == RBWP_OK);
    CHECK(ended.good + ended.stopped == TRANSFERS && ended.bad == 0);
    CHECK(ended.in_order);
    CHECK(rbwp_gpu_channel_free(NULL) == RBWP_OK);
    rbwp_gpu_buffer_free(test.device, &buffer);
}

/* ---- the program
 * ---------------------------------------------------------------------------------- */

static void open_all(struct rbwp_gpu_config config)
{
    struct rbwp_error error;
    const struct rbwp_work_config work = {.size = sizeof work, .workers = 2};
    must(rbwp_work_start(&work, &test.manager, &error), &error);
    config.manager = test.manager;
    const enum rbwp_status status = rbwp_gpu_device_open(&config, &test.device, &error);
    if (status == RBWP_E_UNSUPPORTED) {
        printf("skipped: %s\n", error.text);
        exit(EXIT_SKIPPED);
    }
    must(status, &error);
    const struct rbwp_gpu_channel_config channel = {.size = sizeof channel,
                                                    .device = test.device,
                                                    .manager = test.manager,
                                                    .name = "gpu transfers",
                                                    .compile = test.from_source};
    must(rbwp_gpu_channel_new(&channel, &test.gpu, &error), &error);
    must(rbwp_channel_new(test.manager, "host transfers", -1, &test.host, &error), &error);
}

static void find_out_about_f64(void)
{
    struct rbwp_gpu_buffer buffer = device_buffer(16);
    struct rbwp_gpu_transfer t = flat(1);
    t.what.kind = RBWP_TRANSFER_REDUCE;
    t.what.element_bytes = 8;
    t.what.reduce_op = RBWP_REDUCE_SUM;
    t.what.reduce_type = RBWP_REDUCE_F64;
    t.source = t.target = buffer;
    struct rbwp_error error;
    expect_ends_begin();
    const enum rbwp_status status = rbwp_gpu_channel_submit(test.gpu, &t, NULL, &error);
    test.lacks_f64 = status == RBWP_E_UNSUPPORTED;
    if (test.lacks_f64) {
        printf("64-bit floating point: %s\n", error.text);
    } else {
        must(status, &error);
        expect_good(1);
    }
    rbwp_gpu_buffer_free(test.device, &buffer);
}

static void close_all(void)
{
    CHECK(rbwp_channel_free(test.host) == RBWP_OK);
    CHECK(rbwp_gpu_channel_free(test.gpu) == RBWP_OK);
    CHECK(rbwp_gpu_device_close(test.device) == RBWP_OK);
    CHECK(rbwp_work_stop(test.manager, true, NULL) == RBWP_OK);
}

static struct rbwp_gpu_config take_arguments(int argc, char **argv)
{
    struct rbwp_gpu_config config = {.size = sizeof config, .no_bias = true};
    const char *api = argc > 1 ? argv[1] : "";
    while (config.api < 3 && strcmp(rbwp_gpu_api_name(config.api), api) != 0)
        config.api++;
    test.rounds = 150;
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--source") == 0)
            test.from_source = true;
        else if (strcmp(argv[i], "--small") == 0)
            test.small = true;
        else if (strcmp(argv[i], "--driver") == 0)
            config.driver_library = value, i++;
        else if (strcmp(argv[i], "--compiler") == 0)
            config.compiler_library = value, i++;
        else if (strcmp(argv[i], "--rounds") == 0)
            test.rounds = (unsigned)atoi(value), i++;
        else
            config.api = 3;
    }
    if (config.api == 3) {
        fprintf(stderr, "usage: test_gpu_channel cuda|hip|opencl [--driver PATH] "
                        "[--compiler PATH] [--source] [--rounds N] [--small]\n");
        exit(2);
    }
    return config;
}

int main(int argc, char **argv)
{
    struct dice dice = {2026};
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_all(take_arguments(argc, argv));
    struct rbwp_gpu_facts facts;
    rbwp_gpu_device_facts(test.device, &facts);
    printf("device: %s\n", facts.name);
    find_out_about_f64();
    wrong_transfers_are_refused();
    transfers_go_in_order(&dice);
    random_batches(&dice);
    copies_with_the_host(&dice);
    only_independent_ones_join();
    within_one_buffer(&dice);
    if (!test.small)
        large_transfers(&dice);
    threads_submit();
    freeing_ends_what_is_queued();
    struct rbwp_gpu_channel_launches counts;
    rbwp_gpu_channel_counts(test.gpu, &counts);
    printf("all passed: %llu transfers, %llu copies, %llu kernels\n",
           (unsigned long long)counts.transfers, (unsigned long long)counts.copies,
           (unsigned long long)counts.kernels);
    CHECK(counts.kernels > 0 && counts.copies > 0);
    close_all();
    return 0;
}
