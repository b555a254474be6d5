/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_support.h"

#include "rbwp_table.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct rbwp_gpu_config test_gpu = {.size = sizeof test_gpu, .no_bias = true};

struct rbwp_gpu_device *open_device(struct rbwp_work_manager *manager)
{
    struct rbwp_gpu_config config = test_gpu;
    struct rbwp_gpu_device *device;
    struct rbwp_error error = {.text = ""};
    config.manager = manager;
    if (rbwp_gpu_device_open(&config, &device, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return device;
}

struct rbwp_gpu_stream *open_stream(struct rbwp_gpu_device *device, enum rbwp_gpu_use use)
{
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_attached saved;
    struct rbwp_gpu_stream *stream;
    struct rbwp_error error = {.text = ""};
    void *native = NULL;
    assert_int_equal(context->backend->attach(context, &saved), GPU_OK);
    assert_int_equal(context->backend->stream_create(context, &native), GPU_OK);
    context->backend->detach(context, &saved);
    if (rbwp_gpu_stream_open(device, native, use, &stream, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return stream;
}

void close_stream(struct rbwp_gpu_stream *stream)
{
    struct gpu_context *context = gpu_stream_context(stream);
    const struct gpu_backend *backend = context->backend;
    struct gpu_driver *driver = context->driver;
    unsigned ordinal = context->ordinal;
    void *native = gpu_stream_native(stream);
    struct gpu_attached saved;
    assert_int_equal(rbwp_gpu_stream_close(stream), RBWP_OK);
    assert_int_equal(backend->context_open(driver, ordinal, NULL, &context), GPU_OK);
    assert_int_equal(backend->attach(context, &saved), GPU_OK);
    assert_int_equal(backend->stream_destroy(context, native), GPU_OK);
    backend->detach(context, &saved);
    backend->context_close(context);
}

void poll_all(struct rbwp_gpu_device *device)
{
    assert_int_equal(rbwp_gpu_drain(device, 20000000000), RBWP_OK);
    assert_int_equal(rbwp_gpu_poll(device), RBWP_END);
}

/* ---- what the file says ---------------------------------------------------------- */

static uint64_t cell(const struct rbwp_rows *rows, const char *name, uint32_t row)
{
    const struct rbwp_schema *schema = rows->schema;
    for (uint32_t i = 0; i < schema->column_count; i++)
        if (schema->columns[i].name_bytes == strlen(name) &&
            memcmp(schema->columns[i].name, name, strlen(name)) == 0)
            return rows->cells[i][row];
    fail_msg("no column %s", name);
    return 0;
}

static void add_rows(struct works *works, const struct rbwp_rows *rows)
{
    works->fact = realloc(works->fact, (works->facts + rows->rows) * sizeof *works->fact);
    assert_non_null(works->fact);
    for (uint32_t i = 0; i < rows->rows; i++)
        works->fact[works->facts++] = (struct work_fact){
            .proc_id = cell(rows, "processor", i),
            .stream = cell(rows, "stream", i),
            .slot = cell(rows, "slot", i),
            .correlation = cell(rows, "correlation", i),
            .start_ns = (int64_t)cell(rows, "start", i),
            .stop_ns = (int64_t)cell(rows, "stop", i),
            .launch_ns = (int64_t)cell(rows, "begin", i),
            .launched_ns = (int64_t)cell(rows, "end", i),
            .thread_id = cell(rows, "thread", i),
            .start_gap_ns = (int64_t)cell(rows, "start_bound", i),
            .stop_gap_ns = (int64_t)cell(rows, "stop_bound", i),
            .launching_ns = (int64_t)cell(rows, "launching", i),
            .idle = cell(rows, "idle", i),
            .range = cell(rows, "range", i),
        };
}

static void add_devices(struct works *works, const struct rbwp_rows *rows,
                        const struct rbwp_catalog *catalog)
{
    works->gpu = realloc(works->gpu, (works->gpus + rows->rows) * sizeof *works->gpu);
    assert_non_null(works->gpu);
    for (uint32_t i = 0; i < rows->rows; i++) {
        struct rbwp_gpu_facts facts = {
            .proc_id = cell(rows, "processor", i),
            .bias_rounds = (unsigned)cell(rows, "rounds", i),
            .bias_ns = (int64_t)cell(rows, "bias", i),
            .bias_spread_ns = (int64_t)cell(rows, "bias_spread", i),
            .idle_rounds = (unsigned)cell(rows, "idle_rounds", i),
            .idle_bias_ns = (int64_t)cell(rows, "idle_bias", i),
            .idle_spread_ns = (int64_t)cell(rows, "idle_bias_spread", i),
            .multiprocessors = (unsigned)cell(rows, "multiprocessors", i),
            .memory_bytes = cell(rows, "memory", i),
        };
        struct rbwp_text name = rbwp_catalog_name(catalog, cell(rows, "name", i));
        assert_true(name.bytes < sizeof facts.name);
        memcpy(facts.name, name.text, name.bytes);
        for (size_t j = 0; j < works->gpus; j++) /* a device has one row a session */
            assert_int_not_equal(works->gpu[j].proc_id, facts.proc_id);
        works->gpu[works->gpus++] = facts;
    }
}

/* A block of a table, or another one without records. */
static bool is_table(const struct rbwp_schema *schema, const char *name)
{
    return schema->name_bytes == strlen(name) && memcmp(schema->name, name, strlen(name)) == 0;
}

static void add_table(struct works *works, struct rbwp_catalog *catalog,
                      const struct rbwp_block *block)
{
    struct rbwp_rows rows;
    struct rbwp_error error;
    enum rbwp_status status = rbwp_catalog_take(catalog, block, &rows, &error);
    if (status < 0)
        fail_msg("%s", error.text);
    if (status != RBWP_OK)
        return;
    if (is_table(rows.schema, "gpu_activity"))
        add_rows(works, &rows);
    else if (is_table(rows.schema, "gpu_device"))
        add_devices(works, &rows, catalog);
}

static void add_records(struct works *works, const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        if (record.kind != RBWP_GPU_WORK)
            continue;
        if ((works->works & (works->works - 1)) == 0) {
            size_t room = works->works ? 2 * works->works : 1;
            works->work = realloc(works->work, room * sizeof record);
            assert_non_null(works->work);
        }
        works->work[works->works++] = record;
    }
}

struct works read_works(const char *path)
{
    struct works works = {0};
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct rbwp_catalog *catalog = rbwp_catalog_new();
    assert_non_null(catalog);
    assert_int_equal(rbwp_reader_open(path, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        if (block.header.records)
            add_records(&works, &block);
        else
            add_table(&works, catalog, &block);
    }
    rbwp_catalog_free(catalog);
    rbwp_reader_close(reader);
    return works;
}

void works_free(struct works *works)
{
    free(works->work);
    free(works->fact);
    free(works->gpu);
    *works = (struct works){0};
}

const struct rbwp_record *work_of_slot(const struct works *works, unsigned slot)
{
    const struct rbwp_record *found = NULL;
    for (size_t i = 0; i < works->works; i++) {
        if (works->work[i].slot != slot)
            continue;
        if (found)
            fail_msg("slot %u has more than one record", slot);
        found = &works->work[i];
    }
    if (!found)
        fail_msg("slot %u has no record", slot);
    return found;
}

static int by_times(const void *a, const void *b)
{
    const int64_t *x = a, *y = b; /* start, stop */
    int by_start = (x[0] > y[0]) - (x[0] < y[0]);
    return by_start ? by_start : (x[1] > y[1]) - (x[1] < y[1]);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void assert_ids_differ(const struct works *works)
{
    uint64_t *id = calloc(works->facts + 1, sizeof *id);
    assert_non_null(id);
    for (size_t i = 0; i < works->facts; i++)
        id[i] = works->fact[i].correlation;
    qsort(id, works->facts, sizeof *id, by_number);
    for (size_t i = 0; i < works->facts; i++)
        assert_true(id[i] != 0 && (i == 0 || id[i] != id[i - 1]));
    free(id);
}

static void assert_gpus_known(const struct works *works)
{
    for (size_t i = 0; i < works->facts; i++) {
        size_t rows = 0;
        for (size_t gpu = 0; gpu < works->gpus; gpu++)
            rows += works->gpu[gpu].proc_id == works->fact[i].proc_id;
        assert_int_equal(rows, 1);
        assert_true(works->fact[i].stream != 0);
    }
}

void assert_works_whole(const struct works *works)
{
    assert_ids_differ(works);
    assert_gpus_known(works);
    assert_int_equal(works->works, works->facts);
    int64_t(*record)[2] = calloc(works->works + 1, sizeof *record);
    int64_t(*fact)[2] = calloc(works->works + 1, sizeof *fact);
    assert_non_null(record);
    assert_non_null(fact);
    for (size_t i = 0; i < works->works; i++) {
        const struct work_fact *one_work = &works->fact[i];
        record[i][0] = works->work[i].start_ns;
        record[i][1] = works->work[i].stop_ns;
        fact[i][0] = one_work->start_ns;
        fact[i][1] = one_work->stop_ns;
        assert_true(record[i][0] <= record[i][1]);
        assert_true(one_work->launch_ns <= one_work->start_ns);
        if (one_work->idle)
            assert_true(one_work->start_ns == one_work->launched_ns ||
                        one_work->start_ns == one_work->stop_ns);
        else
            assert_true(one_work->launching_ns == 0 && one_work->launched_ns <= one_work->start_ns);
    }
    qsort(record, works->works, sizeof *record, by_times);
    qsort(fact, works->works, sizeof *fact, by_times);
    assert_memory_equal(record, fact, works->works * sizeof *record);
    free(record);
    free(fact);
}

/* ---- copies ------------------------------------------------------------------------- */

#define BYTES 40000u

struct box {
    uint64_t width, height, depth;
    uint64_t to_at, to_row, to_slice, from_at, from_row, from_slice;
};

static void loop_copy(uint8_t *to, const uint8_t *from, const struct box *b)
{
    for (uint64_t z = 0; z < b->depth; z++)
        for (uint64_t y = 0; y < b->height; y++)
            memcpy(to + b->to_at + z * b->to_slice + y * b->to_row,
                   from + b->from_at + z * b->from_slice + y * b->from_row, b->width);
}

struct copier {
    const struct gpu_backend *backend;
    struct gpu_context *context;
    void *stream;
    uint8_t *host, *back, *expected;
    struct gpu_memory a, b;
};

static void put(struct copier *c, struct gpu_copy copy)
{
    assert_int_equal(gpu_copy(c->context, &copy, c->stream), GPU_OK);
}

static struct gpu_copy whole(const struct gpu_memory *to, uint8_t *to_host,
                             const struct gpu_memory *from, uint8_t *from_host)
{
    return (struct gpu_copy){.dst = {.device = to, .host = to_host},
                             .src = {.device = from, .host = from_host},
                             .width_bytes = BYTES,
                             .height = 1,
                             .depth = 1};
}

static struct gpu_copy_side side(const struct gpu_memory *device, uint8_t *host, uint64_t at,
                                 uint64_t row, uint64_t slice)
{
    return (struct gpu_copy_side){device, host, NULL, at, row, slice};
}

/* The box from host to a, from a to b, from b to host, each strided. */
static void check_box(struct copier *c, const struct box *box)
{
    memset(c->back, 0xee, BYTES);
    put(c, whole(&c->a, NULL, NULL, c->back));
    put(c, whole(&c->b, NULL, NULL, c->back));
    assert_int_equal(c->backend->stream_wait(c->context, c->stream), GPU_OK);
    struct gpu_copy copy = {.width_bytes = box->width, .height = box->height, .depth = box->depth};
    copy.src = side(NULL, c->host, box->from_at, box->from_row, box->from_slice);
    copy.dst = side(&c->a, NULL, box->to_at, box->to_row, box->to_slice);
    put(c, copy);
    copy.src = side(&c->a, NULL, box->to_at, box->to_row, box->to_slice);
    copy.dst = side(&c->b, NULL, box->from_at, box->from_row, box->from_slice);
    put(c, copy);
    copy.src = side(&c->b, NULL, box->from_at, box->from_row, box->from_slice);
    copy.dst = side(NULL, c->back, box->to_at, box->to_row, box->to_slice);
    put(c, copy);
    assert_int_equal(c->backend->stream_wait(c->context, c->stream), GPU_OK);
    memset(c->expected, 0xee, BYTES);
    loop_copy(c->expected, c->host, box);
    assert_memory_equal(c->back, c->expected, BYTES);
}

void check_copies(struct rbwp_gpu_device *device, struct rbwp_gpu_stream *stream)
{
    static const struct box boxes[] = {
        {1, 1, 1, 0, 0, 0, 0, 0, 0},           {3001, 1, 1, 17, 0, 0, 5, 0, 0},
        {33, 20, 1, 7, 50, 0, 3, 64, 0},       /* 2-D */
        {64, 16, 4, 0, 64, 1024, 0, 64, 1024}, /* 3-D without gaps */
        {30, 5, 6, 11, 40, 400, 9, 32, 320},   /* whole rows a slice */
        {30, 5, 6, 11, 40, 411, 9, 32, 333},   /* not whole rows a slice */
        {10, 1, 7, 1, 0, 100, 2, 0, 55},       /* slices of one row */
    };
    struct copier c = {.context = gpu_stream_context(stream), .stream = gpu_stream_native(stream)};
    (void)device;
    c.backend = c.context->backend;
    struct gpu_attached saved;
    void *host[3];
    assert_int_equal(c.backend->attach(c.context, &saved), GPU_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(c.backend->host_alloc(c.context, BYTES, &host[i]), GPU_OK);
    c.host = host[0];
    c.back = host[1];
    c.expected = host[2];
    assert_int_equal(c.backend->memory_alloc(c.context, BYTES, &c.a), GPU_OK);
    assert_int_equal(c.backend->memory_alloc(c.context, BYTES, &c.b), GPU_OK);
    for (unsigned i = 0; i < BYTES; i++)
        c.host[i] = (uint8_t)(i * 131 + i / 251);
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++)
        check_box(&c, &boxes[i]);
    struct gpu_copy beyond = whole(&c.a, NULL, NULL, c.host);
    beyond.dst.offset_bytes = 1;
    assert_int_equal(gpu_copy(c.context, &beyond, c.stream), GPU_INVALID);
    c.backend->memory_free(c.context, &c.a);
    c.backend->memory_free(c.context, &c.b);
    for (unsigned i = 0; i < 3; i++)
        c.backend->host_free(c.context, host[i]);
    c.backend->detach(c.context, &saved);
}
