/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of device events are iris's, byte for byte, and are read whatever is in them. Guards: the
 * arrays and their order, contexts of both lengths, events made by hand with one that is dropped
 * and one that never ended, clocks of other rates, offsets and drift, names and those that are not
 * known, and dumps that are cut anywhere.
 */
#include "golden_events.h"
#include "rbwp_durations.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct taken {
    struct rbwp_device_event events[16];
    size_t count;
};

static bool take(void *context, const struct rbwp_device_event *events, size_t count)
{
    struct taken *taken = context;
    assert_true(taken->count + count <= 16);
    memcpy(taken->events + taken->count, events, count * sizeof *events);
    taken->count += count;
    return true;
}

static struct rbwp_events_stats read_events(const struct rbwp_events_source *source,
                                            struct taken *taken)
{
    struct rbwp_events_stats stats;
    *taken = (struct taken){0};
    assert_int_equal(rbwp_events_decode(source, take, taken, &stats, NULL), RBWP_OK);
    return stats;
}

static void arrays_are_those_of_iris(void **state)
{
    (void)state;
    static const char *const names[] = {
        "event_id", "pid",       "pid_m",   "pid_n",           "cur_rank", "target_rank",  "xcc_id",
        "cu_id",    "timestamp", "address", "duration_cycles", "op_index", "payload_size",
    };
    unsigned bytes = 0;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        assert_string_equal(rbwp_events_column_name(i), names[i]);
        assert_int_equal(rbwp_events_column_bytes(i), i >= 8 && i <= 10 ? 8 : 4);
        bytes += rbwp_events_column_bytes(i);
    }
    assert_int_equal(bytes, RBWP_EVENTS_BYTES);
    assert_int_equal(sizeof names / sizeof names[0], RBWP_EVENTS_COLUMNS);
    assert_null(rbwp_events_column_name(RBWP_EVENTS_COLUMNS));
}

static void contexts(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {1, 2, 8};
    for (size_t i = 0; i < 3; i++) {
        uint32_t n = ranks[i];
        int64_t heaps[8] = {100, 200, 300, 400, 500, 600, 700, 800}, words[27];
        struct rbwp_events_context context = {.size = sizeof context,
                                              .rank = n - 1,
                                              .ranks = n,
                                              .heaps = heaps,
                                              .max_events = 1000,
                                              .counter = 11,
                                              .op_counter = 12,
                                              .enabled = true},
                                   got = {.size = sizeof got};
        for (unsigned c = 0; c < RBWP_EVENTS_COLUMNS; c++)
            context.columns[c] = 1000 + c;
        assert_int_equal(rbwp_events_encode_context(&context, words, 18 + n, NULL), RBWP_E_LIMIT);
        assert_int_equal(rbwp_events_encode_context(&context, words, 19 + n, NULL), RBWP_OK);
        assert_int_equal(words[0], n - 1);
        assert_int_equal(words[1], n);
        assert_int_equal(words[1 + n], n * 100);
        assert_int_equal(words[2 + n], 1);
        assert_int_equal(words[3 + n], 1000);
        assert_int_equal(words[4 + n], 11);
        assert_int_equal(words[5 + n], 12);
        assert_int_equal(words[6 + n], 1000);
        assert_int_equal(words[18 + n], 1012);
        assert_int_equal(rbwp_events_decode_context(words, 19 + n, &got, NULL), RBWP_OK);
        assert_ptr_equal(got.heaps, words + 2);
        got.heaps = heaps;
        assert_memory_equal(&got, &context, sizeof got);
        assert_int_equal(rbwp_events_decode_context(words, 18 + n, &got, NULL), RBWP_E_TRUNCATED);
        context.enabled = false;
        assert_int_equal(rbwp_events_encode_context(&context, words, 27, NULL), RBWP_OK);
        for (unsigned w = 2 + n; w < 19 + n; w++)
            assert_int_equal(words[w], 0);
        for (size_t count = 3 + n; count <= 19 + n; count += 16) {
            assert_int_equal(rbwp_events_decode_context(words, count, &got, NULL), RBWP_OK);
            assert_false(got.enabled);
            assert_int_equal(got.max_events, 0);
            assert_int_equal(got.counter, 0);
        }
        assert_int_equal(rbwp_events_decode_context(words, 2 + n, &got, NULL), RBWP_E_TRUNCATED);
    }
}

static void contexts_that_cannot_be(void **state)
{
    (void)state;
    static const int64_t wrong[][2] = {{0, 0}, {2, 2}, {-1, 2}, {0, -1}, {0, INT64_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t words[32] = {wrong[i][0], wrong[i][1]};
        struct rbwp_events_context got = {.size = sizeof got};
        struct rbwp_error error;
        assert_int_equal(rbwp_events_decode_context(words, 32, &got, &error), RBWP_E_CORRUPT);
        assert_true(error.text[0]);
    }
}

static void events_made_by_hand(void **state)
{
    (void)state;
    struct rbwp_events_source source = golden_source(&golden_events);
    struct taken taken;
    struct rbwp_events_stats stats = read_events(&source, &taken);
    static const struct rbwp_device_event want[] = {
        {5000, 5600, 50000, 56000, 0x7f0010002000, 3, 7, 1, 2, 0, 1, 2, 5, 0, 32},
        {5100, 5900, 51000, 59000, 0x7f0010002020, 1, 8, 1, 3, 0, 1, 2, 5, 1, 0},
        {5200, 0, 52000, 52000, 0, 99, 9, 0, 0, 0, 0, 0, 0, 2, 0},
        {5300, 5300, 53000, 53000, 0x10, 5, 9, 0, 0, 0, 1, 0, 1, 3, 4},
    };
    assert_int_equal(taken.count, 4);
    assert_memory_equal(taken.events, want, sizeof want);
    assert_int_equal(stats.events, 4);
    assert_int_equal(stats.spans, 2);
    assert_int_equal(stats.unended, 1);
    assert_int_equal(stats.counted, 6);
    assert_int_equal(stats.dropped, 2);
    assert_int_equal(stats.first_ns, 50000);
    assert_int_equal(stats.last_ns, 59000);
    assert_int_equal(rbwp_events_damage(&stats), 0);
}

/* Two ranks' clocks, 900 ticks (9 us) apart; and one that gains 10000 ppb. */
static void clocks_of_ranks(void **state)
{
    (void)state;
    struct rbwp_events_source source = golden_source(&golden_rank1);
    struct taken taken;
    source.offset_ns = 9000;
    read_events(&source, &taken);
    assert_int_equal(taken.events[0].start_ns, 31000);
    assert_int_equal(taken.events[0].stop_ns, 31100);
    source.offset_ns = -9000;
    read_events(&source, &taken);
    assert_int_equal(taken.events[0].start_ns, 49000);
    source.offset_ns = 0;
    source.drift_ppb = 10000000;
    source.drift_from_ticks = 3000;
    read_events(&source, &taken);
    assert_int_equal(taken.events[0].start_ns, 40000 - 100);
    source = golden_source(&golden_events);
    source.clock_hz = 0; /* NVIDIA's: a tick is a nanosecond */
    read_events(&source, &taken);
    assert_int_equal(taken.events[0].stop_ns - taken.events[0].start_ns, 600);
}

static void what_is_wrong_is_counted(void **state)
{
    (void)state;
    struct golden_events events = golden_events;
    struct rbwp_events_source source;
    struct taken taken;
    events.timestamp[0] = 0;
    store_le_i64(&events.end[1], 5099);
    store_le32(&events.narrow[RBWP_EVENTS_CUR_RANK][2], 1);
    events.narrow[RBWP_EVENTS_PAYLOAD_SIZE][3] = -1;
    source = golden_source(&golden_events);
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        source.columns[i] = events.narrow[i];
    source.columns[RBWP_EVENTS_TIMESTAMP] = events.timestamp;
    source.columns[RBWP_EVENTS_END] = events.end;
    source.counter = UINT32_MAX; /* as a negative one of 32 bits */
    struct rbwp_events_stats stats = read_events(&source, &taken);
    assert_int_equal(stats.unwritten, 1);
    assert_int_equal(stats.backwards, 1);
    assert_int_equal(stats.other_rank, 1);
    assert_int_equal(stats.bad_bytes, 1);
    assert_int_equal(rbwp_events_damage(&stats), 4);
    assert_int_equal(stats.dropped, UINT32_MAX - 4u);
    assert_int_equal(taken.count, 3);
    assert_int_equal(taken.events[0].stop_ns, taken.events[0].start_ns);
}

/* A second capture in the same buffers has none of the first one's events: counters alone say how
 * many there are. */
static void reset_is_by_the_counters(void **state)
{
    (void)state;
    struct rbwp_events_source source = golden_source(&golden_events);
    struct taken taken;
    source.counter = 0;
    struct rbwp_events_stats stats = read_events(&source, &taken);
    assert_int_equal(taken.count, 0);
    assert_int_equal(stats.events + stats.dropped, 0);
    source.counter = 1;
    read_events(&source, &taken);
    assert_int_equal(taken.count, 1);
}

static void names(void **state)
{
    (void)state;
    static const char *const want[] = {"load",        "store",      "get",        "put",
                                       "copy",        "atomic_add", "atomic_sub", "atomic_cas",
                                       "atomic_xchg", "atomic_xor", "atomic_and", "atomic_or",
                                       "atomic_min",  "atomic_max"};
    char text[RBWP_EVENTS_NAME_BYTES];
    for (int32_t i = 0; i < 14; i++)
        assert_string_equal(rbwp_events_name(i), want[i]);
    assert_null(rbwp_events_name(14));
    assert_string_equal(rbwp_events_name(RBWP_EVENTS_USER_MOVES), "fetch");
    assert_string_equal(rbwp_events_name(RBWP_EVENTS_USER_COMPUTES), "compute");
    assert_string_equal(rbwp_events_name(RBWP_EVENTS_USER_SYNCS + 1), "barrier");
    assert_string_equal(rbwp_events_name_of(99, text), "unknown_99");
    assert_string_equal(rbwp_events_name_of(INT32_MIN, text), "unknown_-2147483648");
}

static void their_durations(void **state)
{
    (void)state;
    struct rbwp_events_source source = golden_source(&golden_events);
    struct rbwp_durations *durations = rbwp_durations_new();
    struct rbwp_events_stats stats;
    size_t count;
    assert_int_equal(
        rbwp_events_decode(&source, rbwp_durations_take_events, durations, &stats, NULL), RBWP_OK);
    const struct rbwp_duration *rows = rbwp_durations_rows(durations, &count);
    static const struct rbwp_duration want[] = {{0, 1, 1, 8000, 8000, 8000, 8000, 8000, 0},
                                                {0, 3, 1, 6000, 6000, 6000, 6000, 6000, 0},
                                                {0, 5, 1, 0, 0, 0, 0, 0, 0},
                                                {0, 99, 0, 0, 0, 0, 0, 0, 1}};
    assert_int_equal(count, 4);
    assert_memory_equal(rows, want, sizeof want);
    rbwp_durations_free(durations);
}

/* ---- dumps ------------------------------------------------------------------------------ */

static size_t make_dump(uint8_t *to)
{
    struct rbwp_events_dump dump = {.size = sizeof dump,
                                    .ranks = 2,
                                    .max_events = GOLDEN_EVENTS,
                                    .counter = 6,
                                    .op_counter = 6,
                                    .stored = GOLDEN_EVENTS,
                                    .clock_hz = GOLDEN_HZ,
                                    .offset_ns = -5,
                                    .offset_bound_ns = 70,
                                    .drift_ppb = 3,
                                    .drift_from_ticks = 5000};
    struct rbwp_events_source source = golden_source(&golden_events);
    size_t count = RBWP_EVENTS_DUMP_HEADER_BYTES;
    assert_int_equal(rbwp_events_encode_dump(&dump, to, NULL), RBWP_OK);
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        size_t bytes = GOLDEN_EVENTS * rbwp_events_column_bytes(i);
        memcpy(to + count, source.columns[i], bytes);
        count += bytes;
    }
    return count;
}

static void dumps_come_back(void **state)
{
    (void)state;
    uint8_t bytes[512];
    size_t count = make_dump(bytes);
    struct rbwp_events_dump dump = {.size = sizeof dump};
    struct rbwp_events_source source = {.size = sizeof source};
    struct taken taken;
    assert_int_equal(count, 128 + GOLDEN_EVENTS * RBWP_EVENTS_BYTES);
    assert_int_equal(rbwp_events_decode_dump(bytes, count, &dump, &source, NULL), RBWP_OK);
    assert_int_equal(dump.offset_bound_ns, 70);
    assert_int_equal(dump.ranks, 2);
    assert_int_equal(source.offset_ns, -5);
    assert_int_equal(source.drift_from_ticks, 5000);
    struct rbwp_events_stats stats = read_events(&source, &taken);
    assert_int_equal(stats.events, 4);
    assert_int_equal(stats.dropped, 2);
    assert_int_equal(taken.events[1].stop_ticks, 5900);
    assert_int_equal(taken.events[0].start_ns, 50005);
}

/* Cut at every byte: what is whole in all arrays is read, nothing beyond (a sanitizer looks). */
static void dumps_cut_anywhere(void **state)
{
    (void)state;
    uint8_t bytes[512];
    size_t count = make_dump(bytes);
    for (size_t left = 0; left < count; left++) {
        struct rbwp_events_dump dump = {.size = sizeof dump};
        struct rbwp_events_source source = {.size = sizeof source};
        struct taken taken;
        uint8_t *part = malloc(left ? left : 1);
        memcpy(part, bytes, left);
        enum rbwp_status status = rbwp_events_decode_dump(part, left, &dump, &source, NULL);
        assert_int_equal(status, left < 8     ? RBWP_E_NOT_RBWP
                                 : left < 128 ? RBWP_E_TRUNCATED
                                              : RBWP_OK);
        if (status == RBWP_OK) {
            read_events(&source, &taken);
            assert_int_equal(taken.count, left < count - 16 ? 0 : 4 - (count - left + 3) / 4);
        }
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_those_of_iris), cmocka_unit_test(contexts),
        cmocka_unit_test(contexts_that_cannot_be),  cmocka_unit_test(events_made_by_hand),
        cmocka_unit_test(clocks_of_ranks),          cmocka_unit_test(what_is_wrong_is_counted),
        cmocka_unit_test(reset_is_by_the_counters), cmocka_unit_test(names),
        cmocka_unit_test(their_durations),          cmocka_unit_test(dumps_come_back),
        cmocka_unit_test(dumps_cut_anywhere),
    };
    golden_make(&golden_events);
    golden_make(&golden_rank1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
