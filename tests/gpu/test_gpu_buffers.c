/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that kernels write: their memory, the way back, the device's clock, and rows in the
 * profile. Guards: what a kernel finds (zeroes, header, context with addresses of its own memory),
 * that one copy brings all back, that a reset forgets and drops are counted, that a time of the
 * device is where it belongs on the session's line, within the bound, below the launch, however
 * long after the reset its kernel ran; that what lies there of another generation is not read; and
 * that a driver that fails leaves nothing behind. Run once for each API: test_gpu_buffers
 * cuda|hip|opencl.
 */
#include "fake_support.h"
#include "golden_lanes.h"
#include "le_words.h"
#include "rbwp_device.h"
#include "rbwp_device_buffers.h"
#include "rows_support.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HZ 1000000000u /* of fake_timer */

static bool is_opencl(void)
{
    return test_gpu.api == RBWP_GPU_OPENCL;
}

static struct rbwp_device_lanes_config lanes_config(uint32_t dialect)
{
    static const struct rbwp_device_name events[] = {{0, "wait"}, {5, "store"}},
                                         groups[] = {{1, "consumer"}};
    struct rbwp_device_lanes_config config = {.size = sizeof config,
                                              .count_drops = true,
                                              .events = events,
                                              .event_count = 2,
                                              .groups = groups,
                                              .group_count = 1};
    config.layout = (struct rbwp_lanes_layout){.size = sizeof config.layout,
                                               .dialect = dialect,
                                               .num_blocks = 2,
                                               .num_groups = 2,
                                               .max_records = 4};
    return config;
}

static struct rbwp_device_lanes *new_lanes(struct rbwp_gpu_device *device, uint32_t dialect)
{
    struct rbwp_device_lanes_config config = lanes_config(dialect);
    struct rbwp_device_lanes *lanes;
    assert_int_equal(rbwp_device_lanes_new(device, &config, &lanes, NULL), RBWP_OK);
    return lanes;
}

static struct rbwp_device_clock *new_clock(struct rbwp_gpu_device *device)
{
    struct rbwp_device_clock *clock;
    assert_int_equal(rbwp_device_clock_new(device, 0, &clock, NULL), RBWP_OK);
    return clock;
}

/* ---- clocks ---------------------------------------------------------------------- */

/* Of two sets, a second apart, on a device of 100 MHz that gains 20 us in it. */
static void test_fit(void **state)
{
    (void)state;
    const struct rbwp_device_clock_sample first[] = {{1000, 9000, 500, 9500, 77},
                                                     {20000, 20400, 30000, 30410, 100}},
                                          last[] = {{1000020000, 1000020600, 5, 1005, 100002100}},
                                          backwards[] = {{0, 1, 0, 1, 99}},
                                          no[] = {{5, 4, 0, 1, 9}};
    struct rbwp_device_clock_line line = {.size = sizeof line};
    assert_int_equal(rbwp_device_clock_fit(first, 2, NULL, 0, 100000000, &line, NULL), RBWP_OK);
    assert_int_equal(line.offset_ns, 1000 - 20200);
    assert_int_equal(line.monotonic_offset_ns, 1000 - 30205);
    assert_int_equal(line.bound_ns, 205 + 10);
    assert_int_equal(line.drift_ppb, 0);
    assert_int_equal(rbwp_device_clock_ns(&line, 200), 2000 + 19200);
    assert_int_equal(rbwp_device_clock_fit(first, 2, last, 1, 100000000, &line, NULL), RBWP_OK);
    assert_int_equal(line.bound_ns, 500 + 10);
    assert_in_range(line.drift_ppb, 19500, 20000); /* 19900 ns in 1.00002 s */
    assert_in_range(rbwp_device_clock_ns(&line, 100002100), 1000020300 - 2, 1000020300 + 2);
    assert_int_equal(rbwp_device_clock_fit(first, 2, backwards, 1, HZ, &line, NULL),
                     RBWP_E_INVALID);
    assert_int_equal(rbwp_device_clock_fit(no, 1, NULL, 0, HZ, &line, NULL), RBWP_E_INVALID);
    assert_int_equal(rbwp_device_clock_fit(first, 2, NULL, 0, 0, &line, NULL), RBWP_E_INVALID);
}

static void test_clock_of_a_device(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_device_clock *clock;
    struct rbwp_error error;
    enum rbwp_status status = rbwp_device_clock_new(device, 0, &clock, &error);
    assert_int_equal(status, is_opencl() ? RBWP_E_UNSUPPORTED : RBWP_OK);
    for (int round = 0; round < 2 && clock; round++) {
        struct rbwp_device_clock_line line = {.size = sizeof line};
        rbwp_device_clock_get(clock, &line);
        assert_int_equal(line.hz, HZ); /* as HIP's driver reports, which is not the usual rate */
        int64_t before_ns = rbwp_now_ns();
        int64_t told_ns = rbwp_device_clock_ns(&line, fake_timer());
        int64_t after_ns = rbwp_now_ns();
        int64_t bound_ns = (int64_t)line.bound_ns + 100000; /* drifts from this moment on */
        assert_true(line.bound_ns > 0 && told_ns >= before_ns - bound_ns &&
                    told_ns <= after_ns + bound_ns);
        assert_int_equal(rbwp_device_clock_again(clock, NULL), RBWP_OK);
    }
    rbwp_device_clock_free(clock);
    rbwp_gpu_device_close(device);
}

/* ---- lanes ------------------------------------------------------------------------- */

static void test_lanes_there_and_back(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_device_lanes_config config = lanes_config(RBWP_LANES_V1);
    struct rbwp_device_lanes *lanes;
    struct rbwp_error error;
    enum rbwp_status status = rbwp_device_lanes_new(device, &config, &lanes, &error);
    assert_int_equal(status, is_opencl() ? RBWP_E_UNSUPPORTED : RBWP_OK);
    if (lanes) {
        struct rbwp_device_memory buffer = rbwp_device_lanes_buffer(lanes);
        uint64_t *words = buffer.native;
        size_t bytes;
        assert_int_equal(buffer.bytes, sizeof golden_lanes);
        assert_int_equal(rbwp_device_lanes_drops(lanes).bytes, 16);
        assert_int_equal(words[0], golden_lanes[0]);
        for (int i = 1; i < GOLDEN_LANES_WORDS; i++)
            assert_int_equal(words[i], 0);
        memcpy(words, golden_lanes, sizeof golden_lanes);
        unsigned copies = fake_count("copy");
        assert_int_equal(rbwp_device_lanes_read(lanes, NULL, NULL), RBWP_OK);
        assert_int_equal(fake_count("copy"), copies + 1);
        assert_memory_equal(rbwp_device_lanes_memory(lanes, &bytes), golden_lanes,
                            sizeof golden_lanes);
        assert_int_equal(bytes, sizeof golden_lanes);
        assert_int_equal(rbwp_device_lanes_reset(lanes, 1, NULL), RBWP_OK);
        assert_int_equal(load_le64(words), 2ull << 32 | 1);
        assert_int_equal(words[9], 0);
        assert_int_equal(rbwp_device_lanes_reset(lanes, 3, NULL), RBWP_E_INVALID);
    }
    rbwp_device_lanes_free(lanes);
    rbwp_gpu_device_close(device);
}

/* As a kernel would: a span of 1000 ns of event 5 in each lane, and one that never ends. */
static void run_kernel(struct rbwp_device_lanes *lanes, long long start)
{
    uint64_t *words = rbwp_device_lanes_buffer(lanes).native;
    uint32_t *drops = rbwp_device_lanes_drops(lanes).native;
    for (uint64_t lane = 0; lane < 4; lane++) {
        words[1 + lane] = (uint64_t)(uint32_t)start << 32 | lane << 12 | 5 << 2;
        words[5 + lane] = (uint64_t)(uint32_t)(start + 1000) << 32 | lane << 12 | 5 << 2 | 1;
    }
    words[9] = (uint64_t)(uint32_t)(start + 2000) << 32 | 7 << 2;
    le_words(words + 1, 9);
    store_le32(&drops[2], 3);
}

static void assert_name(const struct read_table *table, uint64_t number, const char *name)
{
    struct rbwp_text text = rbwp_catalog_name(table->catalog, number);
    assert_int_equal(text.bytes, strlen(name));
    assert_memory_equal(text.text, name, text.bytes);
}

/* Columns of SPEC.md, 9.3. */
enum { START, STOP, PROCESSOR, LAUNCH, BLOCK, GROUP, SM, EVENT, KIND, BOUND };

static void test_lanes_in_the_profile(void **state)
{
    (void)state;
    if (is_opencl())
        return;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_device_clock *clock = new_clock(device);
    struct rbwp_device_lanes *lanes = new_lanes(device, RBWP_LANES_V1);
    struct rbwp_session *session = start_session(1);
    struct rbwp_gpu_bracket work;
    struct rbwp_lanes_stats stats;
    struct rbwp_gpu_facts facts;
    assert_int_equal(rbwp_device_lanes_record(lanes, clock, 0, &stats, NULL), RBWP_E_STATE);
    assert_int_equal(rbwp_device_lanes_reset(lanes, 0, NULL), RBWP_OK);
    rbwp_gpu_bracket_begin(&work, stream, 3);
    int64_t before_ns = rbwp_now_ns();
    run_kernel(lanes, fake_timer());
    int64_t after_ns = rbwp_now_ns();
    fake_enqueue(gpu_stream_native(stream));
    uint64_t launch = rbwp_gpu_bracket_launch(&work);
    rbwp_gpu_bracket_end(&work);
    poll_all(device);
    assert_int_equal(rbwp_device_lanes_read(lanes, stream, NULL), RBWP_OK);
    assert_int_equal(rbwp_device_lanes_record(lanes, clock, launch, &stats, NULL), RBWP_OK);
    assert_int_equal(stats.spans, 4);
    assert_int_equal(stats.unended, 1);
    assert_int_equal(stats.dropped, 3);
    assert_int_equal(rbwp_lanes_damage(&stats), 0);
    rbwp_gpu_device_facts(device, &facts);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    struct read_table table = read_table(test_config(1).logfile, "lane_span");
    assert_int_equal(table.rows, 5);
    assert_true(launch && works.facts == 1 && works.fact[0].correlation == launch);
    const uint64_t *row = read_table_row(&table, 3), *last = read_table_row(&table, 4);
    int64_t bound_ns = (int64_t)row[BOUND] + 100000;
    assert_true(row[BOUND] > 0);
    assert_true((int64_t)row[START] >= before_ns - bound_ns);
    assert_true((int64_t)row[START] <= after_ns + bound_ns);
    assert_int_equal(row[STOP] - row[START], 1000);
    assert_int_equal(row[PROCESSOR], facts.proc_id);
    assert_int_equal(row[LAUNCH], launch);
    assert_int_equal(row[BLOCK], 1);
    assert_int_equal(row[SM], UINT64_MAX);
    assert_int_equal(row[KIND], 0);
    assert_name(&table, row[GROUP], "consumer");
    assert_name(&table, row[EVENT], "store");
    assert_int_equal(last[KIND], 2);
    assert_name(&table, last[GROUP], "group_0");
    assert_name(&table, last[EVENT], "event_7");
    read_table_free(&table);
    works_free(&works);
    recorded_free(&recorded);
    rbwp_device_lanes_free(lanes);
    rbwp_device_clock_free(clock);
    close_stream(stream);
    rbwp_gpu_device_close(device);
}

/* The first span's start, of what was just read. */
static int64_t first_start_ns(struct rbwp_device_lanes *lanes, struct rbwp_device_clock *clock)
{
    struct rbwp_session *session = start_session(1);
    struct rbwp_lanes_stats stats;
    assert_int_equal(rbwp_device_lanes_read(lanes, NULL, NULL), RBWP_OK);
    assert_int_equal(rbwp_device_lanes_record(lanes, clock, 0, &stats, NULL), RBWP_OK);
    assert_int_equal(stats.spans, 4);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    struct read_table table = read_table(test_config(1).logfile, "lane_span");
    int64_t start_ns = (int64_t)read_table_row(&table, 0)[START];
    read_table_free(&table);
    works_free(&works);
    recorded_free(&recorded);
    return start_ns;
}

/* A kernel of version 1 that waited for long behind others, so that 32 bits of its times wrapped.
 */
static void test_anchor_of_version_1(void **state)
{
    (void)state;
    static const int64_t waited_ns = 10000000000;
    if (is_opencl())
        return;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_device_clock *clock = new_clock(device);
    struct rbwp_device_lanes *lanes = new_lanes(device, RBWP_LANES_V1);
    for (int by_kernel = 0; by_kernel < 3; by_kernel++) {
        struct rbwp_device_memory anchor = rbwp_device_lanes_anchor(lanes);
        assert_int_equal(anchor.bytes, 8);
        assert_int_equal(rbwp_device_lanes_reset(lanes, 0, NULL), RBWP_OK);
        assert_int_equal(*(uint64_t *)anchor.native, 0);
        fake_timer_skip(waited_ns);
        if (by_kernel == 2)
            store_le_i64(anchor.native, fake_timer());
        else
            assert_int_equal(rbwp_device_lanes_mark(lanes, clock, by_kernel ? NULL : stream, NULL),
                             RBWP_OK);
        int64_t before_ns = rbwp_now_ns();
        run_kernel(lanes, fake_timer());
        int64_t late_ns = first_start_ns(lanes, clock) - before_ns;
        assert_in_range(late_ns, (by_kernel + 1) * waited_ns - 500000000,
                        (by_kernel + 1) * waited_ns + 500000000);
    }
    fake_fail("launch", code_of(RBWP_E_MEMORY), 0, 1);
    assert_int_equal(rbwp_device_lanes_mark(lanes, clock, stream, NULL), RBWP_E_MEMORY);
    rbwp_device_lanes_free(lanes);
    rbwp_device_clock_free(clock);
    close_stream(stream);
    rbwp_gpu_device_close(device);
}

/* A kernel of so many blocks, whose groups note spans. */
static void run_blocks(struct rbwp_device_lanes *lanes, unsigned blocks, unsigned spans)
{
    const struct rbwp_device_memory buffer = rbwp_device_lanes_buffer(lanes);
    /* Emulated threads load and store as the host does. */
    le_words(buffer.native, buffer.bytes / 8);
    for (unsigned lane = 0; lane < 2 * blocks; lane++) {
        struct rbwp_dev_lanes p;
        rbwp_dev_emulated = (struct rbwp_dev_emulated){
            .block = {lane / 2}, .blocks = {blocks}, .sm = 77, .step = 100};
        rbwp_dev_emulated.time = (uint64_t)fake_timer();
        rbwp_dev_lanes_init(&p, RBWP_DEV_V2, buffer.native, 0, lane % 2, 2, blocks, 1, 4);
        for (unsigned i = 0; i < spans; i++) {
            rbwp_dev_lanes_begin(&p, i);
            rbwp_dev_lanes_end(&p, i);
        }
        rbwp_dev_lanes_finalize(&p);
    }
    le_words(buffer.native, buffer.bytes / 8);
}

static struct rbwp_lanes_stats read_lanes(struct rbwp_device_lanes *lanes,
                                          struct rbwp_device_clock *clock)
{
    struct rbwp_lanes_stats stats;
    assert_int_equal(rbwp_device_lanes_read(lanes, NULL, NULL), RBWP_OK);
    assert_int_equal(rbwp_device_lanes_record(lanes, clock, 0, &stats, NULL), RBWP_OK);
    assert_int_equal(rbwp_lanes_damage(&stats), 0);
    return stats;
}

/* What a launch left is not zeroed, and never read with what the next ones leave. */
static void test_generations(void **state)
{
    (void)state;
    if (is_opencl())
        return;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_device_clock *clock = new_clock(device);
    struct rbwp_device_lanes_config config = lanes_config(RBWP_LANES_V2);
    struct rbwp_device_lanes *lanes;
    config.generations = true;
    assert_int_equal(rbwp_device_lanes_new(device, &config, &lanes, NULL), RBWP_OK);
    const uint64_t *words = rbwp_device_lanes_buffer(lanes).native;
    for (unsigned launch = 1; launch <= 2 * RBWP_LANES_GENERATIONS; launch++) {
        assert_int_equal(load_le64(&words[1]) >> 56, (launch - 1) % RBWP_LANES_GENERATIONS + 1);
        assert_int_equal(words[8] == 0, launch % RBWP_LANES_GENERATIONS == 1);
        run_blocks(lanes, 2, launch % 2);
        struct rbwp_lanes_stats stats = read_lanes(lanes, clock);
        assert_int_equal(stats.spans, 4 * (launch % 2));
        assert_int_equal(stats.finalized, 4);
        assert_int_equal(stats.stale, launch % RBWP_LANES_GENERATIONS == 1 ? 0
                                      : launch % 2                         ? 0
                                                                           : 4 * 2);
        assert_int_equal(rbwp_device_lanes_reset(lanes, 0, NULL), RBWP_OK);
    }
    run_blocks(lanes, 2, 2); /* full: a record of each is dropped */
    struct rbwp_lanes_stats stats = read_lanes(lanes, clock);
    assert_int_equal(stats.dropped, 4);
    assert_int_equal(rbwp_device_lanes_reset(lanes, 1, NULL),
                     RBWP_OK); /* lanes lie elsewhere now */
    run_blocks(lanes, 1, 1);
    stats = read_lanes(lanes, clock);
    assert_int_equal(stats.spans, 2);
    assert_int_equal(stats.dropped, 0);
    assert_int_equal(stats.stale, 2); /* in the fourth slot */

    /* A copy that was recorded has the time of its anchor, not when the buffer was reset. */
    struct timespec now;
    size_t bytes;
    fake_timer_skip(5000000000);
    assert_int_equal(rbwp_device_lanes_reset(lanes, 1, NULL), RBWP_OK);
    run_blocks(lanes, 1, 1);
    (void)read_lanes(lanes, clock);
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    words = rbwp_device_lanes_memory(lanes, &bytes);
    assert_in_range(load_le_i64(&words[6]) - now_ns, 4500000000, 5500000000);
    rbwp_device_lanes_free(lanes);

    config.layout.flags = RBWP_LANES_SHORT;
    assert_int_equal(rbwp_device_lanes_new(device, &config, &lanes, NULL), RBWP_E_UNSUPPORTED);
    assert_null(lanes);
    config = lanes_config(RBWP_LANES_V1);
    config.generations = true;
    assert_int_equal(rbwp_device_lanes_new(device, &config, &lanes, NULL), RBWP_E_UNSUPPORTED);
    rbwp_device_clock_free(clock);
    rbwp_gpu_device_close(device);
}

/* ---- events -------------------------------------------------------------------------- */

/* What a kernel does by its context: two events, of which one has no slot, and the counters. */
static void note_events(const int64_t *words, unsigned count)
{
    struct rbwp_events_context context = {.size = sizeof context};
    int64_t host_words[21];
    for (unsigned i = 0; i < 21; i++)
        host_words[i] = load_le_i64(&words[i]);
    assert_int_equal(rbwp_events_decode_context(host_words, 21, &context, NULL), RBWP_OK);
    uint32_t *counters = (uint32_t *)(uintptr_t)context.counter; /* NOLINT: the fake's memory */
    assert_int_equal(context.op_counter, context.counter + 4);
    for (unsigned i = 0; i < count; i++) {
        uint32_t slot = load_le32(&counters[0]);
        store_le32(&counters[0], slot + 1);
        store_le32(&counters[1], load_le32(&counters[1]) + 1);
        if (slot >= (uint64_t)context.max_events)
            continue;
        for (unsigned c = 0; c < RBWP_EVENTS_COLUMNS; c++) {
            int64_t value = c == RBWP_EVENTS_TIMESTAMP  ? fake_timer()
                            : c == RBWP_EVENTS_END      ? fake_timer() + 5000
                            : c == RBWP_EVENTS_EVENT_ID ? 3 + (int64_t)slot * 1021
                            : c == RBWP_EVENTS_CUR_RANK ? context.rank
                                                        : (int64_t)slot;
            unsigned bytes = rbwp_events_column_bytes(c);
            store_le_i64(&value, value);
            memcpy((char *)(uintptr_t)context.columns[c] + slot * bytes, &value, bytes);
        }
    }
}

static void test_events(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    static const int64_t heaps[] = {111, 222};
    static const struct rbwp_device_name names[] = {{1024, "fetch block"}};
    struct rbwp_device_events_config config = {.size = sizeof config,
                                               .max_events = 2,
                                               .rank = 1,
                                               .ranks = 2,
                                               .heaps = heaps,
                                               .names = names,
                                               .name_count = 1};
    struct rbwp_device_events *events;
    enum rbwp_status status = rbwp_device_events_new(device, &config, &events, NULL);
    assert_int_equal(status, is_opencl() ? RBWP_E_UNSUPPORTED : RBWP_OK);
    if (events) {
        struct rbwp_device_clock *clock = new_clock(device);
        struct rbwp_events_stats stats;
        struct rbwp_events_dump dump = {.size = sizeof dump};
        struct rbwp_device_clock_line line = {.size = sizeof line};
        const int64_t *words = rbwp_device_events_context(events).native;
        assert_int_equal(load_le_i64(&words[3]), 222);
        assert_int_equal(load_le_i64(&words[4]), 1);
        note_events(words, 3);
        struct rbwp_session *session = start_session(1);
        unsigned copies = fake_count("copy");
        assert_int_equal(rbwp_device_events_read(events, NULL, NULL), RBWP_OK);
        assert_int_equal(fake_count("copy"), copies + 1);
        assert_int_equal(rbwp_device_events_record(events, clock, 9, &stats, NULL), RBWP_OK);
        assert_int_equal(stats.events, 2);
        assert_int_equal(stats.dropped, 1);
        assert_int_equal(rbwp_events_damage(&stats), 0);
        rbwp_device_events_dump(events, clock, &dump);
        assert_int_equal(dump.counter, 3);
        assert_int_equal(dump.stored, 2);
        rbwp_device_clock_get(clock, &line);
        assert_true(line.hz > 0 && line.from_ticks > 0 && line.bound_ns > 0);
        assert_int_equal(dump.clock_hz, line.hz);
        assert_int_equal(dump.offset_ns, line.monotonic_offset_ns);
        assert_int_equal(dump.offset_bound_ns, line.bound_ns);
        assert_int_equal(dump.drift_ppb, line.drift_ppb);
        assert_int_equal(dump.drift_from_ticks, line.from_ticks);
        assert_int_equal(rbwp_device_events_reset(events, NULL), RBWP_OK);
        assert_int_equal(rbwp_device_events_read(events, NULL, NULL), RBWP_OK);
        assert_int_equal(rbwp_device_events_record(events, clock, 9, &stats, NULL), RBWP_OK);
        assert_int_equal(stats.events, 0);
        assert_int_equal(rbwp_device_events_enable(events, false, NULL), RBWP_OK);
        assert_int_equal(words[4], 0);
        assert_int_equal(rbwp_device_events_enable(events, true, NULL), RBWP_OK);
        assert_int_equal(load_le_i64(&words[4]), 1);
        struct recorded recorded;
        struct works works = finish_session(session, &recorded);
        struct read_table table = read_table(test_config(1).logfile, "device_event");
        assert_int_equal(table.rows, 2);
        const uint64_t *row = read_table_row(&table, 1);
        assert_int_equal(row[2], 1); /* rank */
        assert_int_equal(row[4], 9); /* launch */
        assert_name(&table, row[5], "fetch block");
        assert_name(&table, read_table_row(&table, 0)[5], "put");
        assert_true(row[1] - row[0] >= 5000 && row[1] - row[0] < 1000000000);
        read_table_free(&table);
        works_free(&works);
        recorded_free(&recorded);
        rbwp_device_clock_free(clock);
    }
    rbwp_device_events_free(events);
    rbwp_gpu_device_close(device);
}

/* ---- a driver that fails --------------------------------------------------------------- */

static void test_failures(void **state)
{
    (void)state;
    if (is_opencl())
        return;
    static const char *const operations[] = {"stream_create", "host_alloc", "memory_alloc", "copy"};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        struct rbwp_gpu_device *device = open_device(NULL);
        struct rbwp_device_lanes_config config = lanes_config(RBWP_LANES_V2);
        struct rbwp_device_events_config small = {.size = sizeof small, .max_events = 2};
        struct rbwp_device_lanes *lanes;
        struct rbwp_device_events *events;
        struct rbwp_device_clock *clock;
        struct rbwp_error error;
        fake_fail(operations[i], code_of(RBWP_E_MEMORY), 0, 3);
        assert_int_equal(rbwp_device_lanes_new(device, &config, &lanes, &error), RBWP_E_MEMORY);
        assert_null(lanes);
        assert_true(error.text[0]);
        assert_int_equal(rbwp_device_events_new(device, &small, &events, NULL), RBWP_E_MEMORY);
        assert_null(events);
        assert_int_equal(rbwp_device_clock_new(device, HZ, &clock, NULL), RBWP_E_MEMORY);
        assert_null(clock);
        config.layout.max_records = 0;
        assert_int_equal(rbwp_device_lanes_new(device, &config, &lanes, NULL), RBWP_E_INVALID);
        small.rank = 1;
        assert_int_equal(rbwp_device_events_new(device, &small, &events, NULL), RBWP_E_INVALID);
        rbwp_gpu_device_close(device);
        fake_reset();
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fit, fake_setup),
        cmocka_unit_test_setup(test_clock_of_a_device, fake_setup),
        cmocka_unit_test_setup(test_lanes_there_and_back, fake_setup),
        cmocka_unit_test_setup(test_lanes_in_the_profile, fake_setup),
        cmocka_unit_test_setup(test_anchor_of_version_1, fake_setup),
        cmocka_unit_test_setup(test_generations, fake_setup),
        cmocka_unit_test_setup(test_events, fake_setup),
        cmocka_unit_test_setup(test_failures, fake_setup),
    };
    if (!fake_main(argc, argv))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
