/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of lanes are read as they were written, and whatever else is in one is counted by kind.
 * Guards: the words of a buffer made by hand, times that wrap, each anomaly on its own, dialects by
 * tags made by others, the layout of version 2, anchors and heartbeats, and that no bytes make the
 * decoder leave its memory or look twice at what is open.
 */
#include "golden_lanes.h"
#include "le_words.h"
#include "rbwp_durations.h"
#include "rbwp_lanes.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 65
#define SPANS 64

struct decoded {
    enum rbwp_status status;
    struct rbwp_error error;
    struct rbwp_lanes_stats stats;
    struct rbwp_lane_span spans[SPANS];
    size_t count;
};

static const struct rbwp_lanes_layout nothing_known = {.size = sizeof nothing_known};

static struct decoded decode(const void *buffer, size_t bytes, struct rbwp_lanes_layout wanted)
{
    struct decoded decoded = {0};
    wanted.size = sizeof wanted;
    decoded.status = rbwp_lanes_decode_array(buffer, bytes, &wanted, decoded.spans, SPANS,
                                             &decoded.count, &decoded.stats, &decoded.error);
    return decoded;
}

static struct decoded decode_good(const void *buffer, size_t bytes, struct rbwp_lanes_layout wanted)
{
    struct decoded decoded = decode(buffer, bytes, wanted);
    assert_int_equal(decoded.status, RBWP_OK);
    return decoded;
}

static void assert_span(const struct decoded *decoded, size_t at, unsigned block, unsigned group,
                        unsigned event, int64_t start_ns, int64_t stop_ns, unsigned kind)
{
    assert_true(at < decoded->count);
    const struct rbwp_lane_span *span = &decoded->spans[at];
    assert_int_equal(span->block, block);
    assert_int_equal(span->group, group);
    assert_int_equal(span->event, event);
    assert_int_equal(span->start_ns, start_ns);
    assert_int_equal(span->stop_ns, stop_ns);
    assert_int_equal(span->kind, kind);
}

/* ---- what is written by hand ------------------------------------------------------ */

static void a_buffer_made_by_hand(void **state)
{
    (void)state;
    struct decoded got = decode_good(golden_lanes, sizeof golden_lanes, nothing_known);
    assert_int_equal(got.count, 5);
    assert_span(&got, 0, 0, 0, 0, 0, 96, RBWP_LANE_SPAN);
    assert_span(&got, 1, 0, 1, 1, 16, 64, RBWP_LANE_SPAN);
    assert_span(&got, 2, 1, 0, 5, 288, 416, RBWP_LANE_SPAN);
    assert_span(&got, 3, 0, 1, 2, 80, 80, RBWP_LANE_INSTANT);
    assert_span(&got, 4, 1, 1, 1023, 304, 304, RBWP_LANE_UNENDED);
    assert_int_equal(got.stats.records, 11);
    assert_int_equal(got.stats.lanes, 4);
    assert_int_equal(got.stats.finalized, 3);
    assert_int_equal(got.stats.unended, 1);
    assert_int_equal(got.stats.heartbeats, 0);
    assert_int_equal(got.stats.deepest, 1);
    assert_int_equal(got.stats.absolute, 0);
    assert_int_equal(got.stats.first_ns, 0);
    assert_int_equal(got.stats.last_ns, 416);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 0);
}

static void its_durations(void **state)
{
    (void)state;
    struct rbwp_durations *durations = rbwp_durations_new();
    struct rbwp_lanes_stats stats;
    size_t count;
    assert_int_equal(rbwp_lanes_decode(golden_lanes, sizeof golden_lanes, NULL,
                                       rbwp_durations_take_lanes, durations, &stats, NULL),
                     RBWP_OK);
    const struct rbwp_duration *rows = rbwp_durations_rows(durations, &count);
    static const struct rbwp_duration want[] = {
        {0, 0, 1, 96, 96, 96, 96, 96, 0},
        {0, 5, 1, 128, 128, 128, 128, 128, 0},
        {1, 1, 1, 48, 48, 48, 48, 48, 0},
        {1, 1023, 0, 0, 0, 0, 0, 0, 1},
    };
    assert_int_equal(count, 4);
    assert_memory_equal(rows, want, sizeof want);
    rbwp_durations_free(durations);
}

/* Nearest rank: of 1 to 200 the median is 100 and the 99th percentile 198, whatever their order. */
static void percentiles(void **state)
{
    (void)state;
    struct rbwp_durations *durations = rbwp_durations_new();
    size_t count;
    for (uint64_t i = 0; i < 200; i++)
        assert_true(rbwp_durations_add(durations, 3, 7, 1 + i * 77 % 200));
    assert_true(rbwp_durations_add(durations, 2, 7, 5));
    const struct rbwp_duration *rows = rbwp_durations_rows(durations, &count);
    static const struct rbwp_duration want = {3, 7, 200, 20100, 1, 200, 100, 198, 0};
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].p99_ns, 5);
    assert_memory_equal(&rows[1], &want, sizeof want);
    rbwp_durations_free(durations);
}

/* ---- what is wrong ------------------------------------------------------------------ */

/* One lane: a header, then the records. */
static struct decoded one_lane(const uint64_t *records, size_t count)
{
    uint64_t words[WORDS] = {0x0000000100000001};
    memcpy(words + 1, records, count * sizeof *records);
    le_words(words, count + 1);
    return decode_good(words, (count + 1) * sizeof *words, nothing_known);
}

#define RECORD(time, lane, event, type)                                                            \
    ((uint64_t)(uint32_t)(time) << 32 | (uint32_t)(lane) << 12 | (uint32_t)(event) << 2 | (type))
#define BEGIN(time, event) RECORD(time, 0, event, 0)
#define END(time, event) RECORD(time, 0, event, 1)
#define ONE_LANE(...)                                                                              \
    one_lane((const uint64_t[]){__VA_ARGS__},                                                      \
             sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void each_anomaly_is_counted(void **state)
{
    (void)state;
    struct decoded got = ONE_LANE(END(5, 1), BEGIN(6, 1), END(7, 1), 0);
    assert_int_equal(got.stats.stray_ends, 1);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 1);
    assert_int_equal(got.stats.spans, 1);
    assert_span(&got, 0, 0, 0, 1, 0, 0, RBWP_LANE_STRAY_END);

    got = ONE_LANE(BEGIN(5, 1), RECORD(6, 0, 0, 3), BEGIN(7, 2), END(8, 2), 0);
    assert_int_equal(got.stats.after_finalize, 2);
    assert_int_equal(got.stats.unended, 1);
    assert_span(&got, 0, 0, 0, 1, 0, 1, RBWP_LANE_UNENDED);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 2);

    got = ONE_LANE(BEGIN(5, 1), RECORD(6, 3, 1, 1), 0);
    assert_int_equal(got.stats.misplaced, 1);
    assert_int_equal(got.stats.spans, 1);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 1);

    got = ONE_LANE(BEGIN(5, 1), 0, 0, END(9, 1), 0, BEGIN(10, 2), END(11, 2), 0);
    assert_int_equal(got.stats.holes, 2);
    assert_int_equal(got.stats.spans, 2);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 2);

    got = ONE_LANE(BEGIN(100, 1), END(60, 1), BEGIN(110, 2), END(120, 2), 0);
    assert_int_equal(got.stats.backwards, 1);
    assert_span(&got, 0, 0, 0, 1, 0, 0, RBWP_LANE_SPAN);
    assert_span(&got, 1, 0, 0, 2, 10, 20, RBWP_LANE_SPAN);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 1);
}

static void slots_of_no_lane_and_full_lanes(void **state)
{
    (void)state;
    uint64_t words[] = {
        0x0000000100000002, BEGIN(5, 1), RECORD(5, 1, 1, 0), 0, 77, END(6, 1), 0, 0, 0, 99};
    struct rbwp_lanes_layout layout = {.stride = 4, .max_records = 2};
    le_words(words, sizeof words / sizeof *words);
    struct decoded got = decode_good(words, sizeof words, layout);
    assert_int_equal(got.stats.outside, 2);
    assert_int_equal(got.stats.full, 1);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 2);
    got = decode_good(words, 5 * sizeof *words, layout);
    assert_int_equal(got.stats.cut, 1);
    assert_int_equal(got.stats.unended, 2);
}

/* The last begin of an event is ended first; other events may end in between. */
static void begins_and_ends_nest_by_event(void **state)
{
    (void)state;
    struct decoded got =
        ONE_LANE(BEGIN(10, 1), BEGIN(20, 1), BEGIN(30, 2), END(40, 1), END(50, 2), END(60, 1));
    assert_int_equal(got.count, 3);
    assert_span(&got, 0, 0, 0, 1, 10, 30, RBWP_LANE_SPAN);
    assert_span(&got, 1, 0, 0, 2, 20, 40, RBWP_LANE_SPAN);
    assert_span(&got, 2, 0, 0, 1, 0, 50, RBWP_LANE_SPAN);
    assert_int_equal(got.stats.deepest, 3);
    assert_int_equal(got.stats.full, 1);
}

/* Begins alone, more than may be open: the oldest are given up, so that an end is found at once. */
static void what_is_open_is_bounded(void **state)
{
    (void)state;
    const size_t records = 200000;
    uint64_t *words = calloc(records + 1, sizeof *words);
    struct rbwp_lanes_stats stats;
    words[0] = 0x0000000100000001;
    for (size_t i = 0; i < records; i++)
        words[i + 1] = i % 2 ? END(i + 1, 2) : BEGIN(i + 1, 1);
    le_words(words, records + 1);
    assert_int_equal(rbwp_lanes_decode(words, (records + 1) * 8, NULL, NULL, NULL, &stats, NULL),
                     RBWP_OK);
    assert_int_equal(stats.too_deep, records / 2 - 64);
    assert_int_equal(stats.unended, records / 2);
    assert_int_equal(stats.stray_ends, records / 2);
    assert_int_equal(stats.deepest, 64);
    free(words);
}

static void assert_refused(const void *buffer, size_t bytes, struct rbwp_lanes_layout wanted,
                           enum rbwp_status status)
{
    struct decoded got = decode(buffer, bytes, wanted);
    assert_int_equal(got.status, status);
    assert_int_equal(got.error.status, status);
    assert_true(got.error.text[0]);
    assert_int_equal(got.count, 0);
}

static void headers_that_cannot_be(void **state)
{
    (void)state;
    uint64_t words[17];
    memcpy(words, golden_lanes, sizeof words);
    assert_refused(words, 8, nothing_known, RBWP_E_TRUNCATED);
    assert_refused(words, 4 * 8, nothing_known, RBWP_E_TRUNCATED);
    assert_refused(words, sizeof words, (struct rbwp_lanes_layout){.num_blocks = 3},
                   RBWP_E_INVALID);
    assert_refused(words, sizeof words, (struct rbwp_lanes_layout){.stride = 3}, RBWP_E_INVALID);
    assert_refused(words, sizeof words, (struct rbwp_lanes_layout){.dialect = RBWP_LANES_V2},
                   RBWP_E_CORRUPT);
    assert_refused(words, sizeof words, (struct rbwp_lanes_layout){.dialect = 9}, RBWP_E_INVALID);
    words[0] = 0xffffffffffffffff;
    assert_refused(words, sizeof words, nothing_known, RBWP_E_CORRUPT);
    words[0] = 0;
    assert_refused(words, sizeof words, nothing_known, RBWP_E_CORRUPT);
    struct decoded got = decode_good(words, sizeof words,
                                     (struct rbwp_lanes_layout){.num_blocks = 2, .num_groups = 2});
    assert_int_equal(got.stats.spans, 3);
}

/* Noise, at every length: within bounds (a sanitizer looks), and every slot is accounted for. */
static void noise(void **state)
{
    (void)state;
    uint64_t words[256], random = 88172645463325252u;
    struct rbwp_lane_span spans[256];
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < 256; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            words[i] = random >> 60 ? random : 0;
        }
        if (round % 4)
            words[0] = 0x0000000200000000 | (1 + random % 50);
        if (round % 3 == 0) {
            words[1] = 2 | (uint64_t)(round % 8) << 32;
            words[2] = 2 | 3ull << 32;
            words[3] = 6 | 20ull << 32;
        }
        le_words(words, 256);
        if (round % 3 == 0)
            memcpy(words, RBWP_LANES_MAGIC, 8);
        struct rbwp_lanes_layout layout = {.size = sizeof layout, .dialect = (uint32_t)round % 5};
        struct rbwp_lanes_stats stats;
        size_t count, bytes = (size_t)(random % (sizeof words + 1));
        void *copy = malloc(bytes ? bytes : 1);
        memcpy(copy, words, bytes);
        if (rbwp_lanes_decode_array(copy, bytes, &layout, spans, 256, &count, &stats, NULL) ==
            RBWP_OK)
            assert_int_equal(stats.records, 2 * stats.spans + stats.unended + stats.stray_ends +
                                                stats.instants + stats.heartbeats +
                                                stats.finalized + stats.after_finalize);
        free(copy);
    }
}

/* ---- dialects ------------------------------------------------------------------------ */

static void tags_of_others(void **state)
{
    (void)state;
    static const struct rbwp_lanes_tag flashinfer = {.sm = 131, .lane = 77, .event = 3, .type = 1};
    static const struct rbwp_lanes_tag mirage = {.task = 9, .lane = 37, .event = 12};
    static const struct rbwp_lanes_tag v1 = {.lane = 3, .event = 1023};
    struct rbwp_lanes_tag parts;
    assert_int_equal(rbwp_lanes_tag_make(RBWP_LANES_FLASHINFER, &flashinfer), 0x8304d00d);
    assert_int_equal(rbwp_lanes_tag_make(RBWP_LANES_MIRAGE, &mirage), 0x00492830);
    assert_int_equal(rbwp_lanes_tag_make(RBWP_LANES_V1, &v1), 0x3ffc);
    rbwp_lanes_tag_parts(RBWP_LANES_FLASHINFER, 0x8304d00d, &parts);
    assert_memory_equal(&parts, &flashinfer, sizeof parts);
    rbwp_lanes_tag_parts(RBWP_LANES_MIRAGE, 0x00492830, &parts);
    assert_memory_equal(&parts, &mirage, sizeof parts);
    rbwp_lanes_tag_parts(RBWP_LANES_V1, 0x3ffc, &parts);
    assert_memory_equal(&parts, &v1, sizeof parts);
}

static uint64_t tagged(unsigned dialect, uint32_t time, struct rbwp_lanes_tag tag)
{
    return (uint64_t)time << 32 | rbwp_lanes_tag_make(dialect, &tag);
}

/* The tag has no group: it is that of the slot. The dialect is seen from the tags. */
static void flashinfer_with_two_groups(void **state)
{
    (void)state;
    uint64_t words[13] = {2ull << 32 | 3};
    for (uint32_t lane = 0; lane < 6; lane++) {
        struct rbwp_lanes_tag tag = {.lane = lane / 2, .sm = 100 + lane / 2, .event = 3};
        words[1 + lane] = tagged(RBWP_LANES_FLASHINFER, 10 + lane, tag);
        tag.type = RBWP_LANES_END;
        words[7 + lane] = tagged(RBWP_LANES_FLASHINFER, 30 + lane * 2, tag);
    }
    struct rbwp_lanes_layout layout = {.size = sizeof layout};
    le_words(words, 13);
    assert_int_equal(rbwp_lanes_find_layout(words, sizeof words, NULL, &layout, NULL), RBWP_OK);
    assert_int_equal(layout.dialect, RBWP_LANES_FLASHINFER);
    struct decoded got = decode_good(words, sizeof words, nothing_known);
    assert_int_equal(got.count, 6);
    for (uint32_t lane = 0; lane < 6; lane++) {
        assert_span(&got, lane, lane / 2, lane % 2, 3, lane, 20 + lane * 2, RBWP_LANE_SPAN);
        assert_int_equal(got.spans[lane].sm, 100 + lane / 2);
    }
    assert_int_equal(rbwp_lanes_damage(&got.stats), 0);
}

/* Two tasks of one event in a lane, the second begun before the first ended: each has its own end.
 */
static void mirage_with_tasks(void **state)
{
    (void)state;
    uint64_t words[9] = {1ull << 32 | 2};
    static const uint32_t tasks[] = {9, 10, 9, 10};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t lane = 0; lane < 2; lane++)
            words[1 + i * 2 + lane] =
                tagged(RBWP_LANES_MIRAGE, 10 + i * 10,
                       (struct rbwp_lanes_tag){
                           .task = tasks[i], .lane = lane, .event = 12, .type = i / 2});
    le_words(words, 9);
    struct decoded got = decode_good(words, sizeof words, nothing_known);
    assert_int_equal(got.count, 4);
    assert_span(&got, 0, 0, 0, 12, 0, 20, RBWP_LANE_SPAN);
    assert_int_equal(got.spans[0].task, 9);
    assert_span(&got, 3, 1, 0, 12, 10, 30, RBWP_LANE_SPAN);
    assert_int_equal(got.spans[3].task, 10);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 0);
}

/* ---- anchors, heartbeats, version 2 ----------------------------------------------------- */

/* A lane that runs for 12 s: heartbeats carry its clock over two wraps; the anchor says where. */
static void heartbeats_and_the_anchor(void **state)
{
    (void)state;
    const uint64_t anchor = 0x123456789abcdef0;
    uint64_t words[WORDS] = {0x0000000100000001}, now = anchor - 1500000000;
    size_t count = 1;
    words[count++] = BEGIN(now, 4);
    for (int i = 0; i < 7; i++)
        words[count++] = RECORD(now += 1900000000, 0, RBWP_LANES_HEARTBEAT, 2);
    words[count++] = END(now += 7, 4);
    struct rbwp_lanes_layout layout = {.anchor_device = anchor};
    le_words(words, count);
    struct decoded got = decode_good(words, count * 8, layout);
    assert_int_equal(got.count, 1);
    assert_span(&got, 0, 0, 0, 4, (int64_t)anchor - 1500000000, (int64_t)now, RBWP_LANE_SPAN);
    assert_int_equal(got.stats.heartbeats, 7);
    assert_int_equal(got.stats.absolute, 1);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 0);
}

static struct rbwp_lanes_layout long_layout(void)
{
    return (struct rbwp_lanes_layout){.size = sizeof(struct rbwp_lanes_layout),
                                      .dialect = RBWP_LANES_V2,
                                      .num_blocks = 2,
                                      .num_groups = 2,
                                      .max_records = 4,
                                      .clock_hz = 500000000,
                                      .anchor_host_ns = 77,
                                      .grid_x = 2,
                                      .grid_y = 1,
                                      .grid_z = 1};
}

/* Times of 64 bits on a clock of 500 MHz, SMs, warps, and a finalize that says what was dropped. */
static void version_two(void **state)
{
    (void)state;
    struct rbwp_lanes_layout layout = long_layout(), found = {.size = sizeof found};
    uint64_t words[8 + 32] = {0};
    assert_int_equal(rbwp_lanes_bytes(&layout), sizeof words);
    assert_int_equal(rbwp_lanes_write_header(&layout, words, sizeof words, NULL), RBWP_OK);
    le_words(words, sizeof words / 8);
    assert_int_equal(words[1], 2);
    assert_int_equal(words[2], 2ull << 32 | 2);
    assert_int_equal(words[3], 4ull << 32 | 4);
    assert_int_equal(words[4], 500000000);
    assert_int_equal(words[6], 77);
    assert_int_equal(words[7], 1ull << 48 | 1ull << 32 | 2);
    uint64_t *lane = words + 8 + 3 * 2; /* block 1, group 1 */
    lane[0] = 10000000000, lane[1] = 0x0005008300003004 | 9ull << 48;
    lane[8] = 10000000100, lane[9] = 0x0005008300003005;
    lane[24] = 10000000200, lane[25] = 12ull << 32 | 0x3003;
    le_words(words, sizeof words / 8);
    struct decoded got = decode_good(words, sizeof words, nothing_known);
    assert_int_equal(got.count, 1);
    assert_span(&got, 0, 1, 1, 1, 20000000000, 20000000200, RBWP_LANE_SPAN);
    assert_int_equal(got.spans[0].sm, 0x83);
    assert_int_equal(got.spans[0].warp, 5);
    assert_int_equal(got.stats.dropped, 12);
    assert_int_equal(got.stats.finalized, 1);
    assert_int_equal(got.stats.full, 0);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 0);
    assert_int_equal(rbwp_lanes_find_layout(words, sizeof words, NULL, &found, NULL), RBWP_OK);
    layout.stride = 4;
    assert_memory_equal(&found, &layout, sizeof found);
    got = decode_good(words, sizeof words - 8, nothing_known);
    assert_int_equal(got.stats.cut, 1);
}

/* Records of other generations are as empty slots, wherever they lie; with records of 8 bytes there
 * is no such thing. */
static void version_two_used_again(void **state)
{
    (void)state;
    struct rbwp_lanes_layout layout = long_layout(), found = {.size = sizeof found};
    uint64_t words[8 + 40] = {0};
    layout.generation = 0xfe;
    layout.flags = RBWP_LANES_CYCLES;
    assert_int_equal(rbwp_lanes_write_header(&layout, words, sizeof words, NULL), RBWP_OK);
    le_words(words, sizeof words / 8);
    assert_int_equal(words[1], 0xfe00000100000002);
    for (unsigned i = 0; i < 20; i++) /* also where no lane is */
        words[8 + 2 * i] = 50 + i,
                      words[9 + 2 * i] = 0xfd00000000000000 | (i % 4) << 12 | i / 4 % 2;
    words[8] = 10000, words[9] = 0xfe01000200000004;
    words[16] = 10050, words[17] = 0xfe01000200000005;
    words[24] = 10060, words[25] = 0xfe00000c00000003;
    le_words(words, sizeof words / 8);
    struct decoded got = decode_good(words, sizeof words, nothing_known);
    assert_int_equal(got.count, 1);
    assert_span(&got, 0, 0, 0, 1, 20000, 20100, RBWP_LANE_SPAN);
    assert_int_equal(got.spans[0].warp, 1);
    assert_int_equal(got.stats.dropped, 12);
    assert_int_equal(got.stats.stale, 13);
    assert_int_equal(got.stats.records, 3);
    assert_int_equal(rbwp_lanes_damage(&got.stats), 0);
    assert_int_equal(rbwp_lanes_find_layout(words, sizeof words, NULL, &found, NULL), RBWP_OK);
    assert_int_equal(found.flags, RBWP_LANES_CYCLES);
    assert_int_equal(found.generation, 0xfe);
    store_le64(&words[1], load_le64(&words[1]) | (uint64_t)RBWP_LANES_SHORT << 32);
    assert_refused(words, sizeof words, nothing_known, RBWP_E_VERSION);
    layout.flags = RBWP_LANES_SHORT;
    assert_int_equal(rbwp_lanes_bytes(&layout), 0);
    layout = long_layout();
    layout.generation = 256;
    assert_int_equal(rbwp_lanes_bytes(&layout), 0);
    layout.dialect = RBWP_LANES_V1, layout.generation = 1;
    assert_int_equal(rbwp_lanes_bytes(&layout), 0);
}

static void version_two_with_short_records(void **state)
{
    (void)state;
    struct rbwp_lanes_layout layout = long_layout();
    uint64_t words[8 + 16] = {0};
    layout.flags = RBWP_LANES_SHORT;
    layout.clock_hz = 0;
    layout.anchor_device = 0x5000000010;
    assert_int_equal(rbwp_lanes_bytes(&layout), sizeof words);
    assert_int_equal(rbwp_lanes_write_header(&layout, words, sizeof words, NULL), RBWP_OK);
    memcpy(words + 8, golden_lanes + 1, 16 * 8);
    struct decoded got = decode_good(words, sizeof words, nothing_known);
    assert_int_equal(got.count, 5);
    assert_span(&got, 0, 0, 0, 0, 0x4fffffffe0, 0x5000000040, RBWP_LANE_SPAN);
    assert_int_equal(got.stats.absolute, 1);
}

static void version_one_header_and_size(void **state)
{
    (void)state;
    struct rbwp_lanes_layout layout = long_layout();
    uint64_t word = 0;
    layout.dialect = RBWP_LANES_V1;
    assert_int_equal(rbwp_lanes_bytes(&layout), 17 * 8);
    assert_int_equal(rbwp_lanes_write_header(&layout, &word, 8, NULL), RBWP_OK);
    assert_int_equal(word, golden_lanes[0]);
    assert_int_equal(rbwp_lanes_write_header(&layout, &word, 7, NULL), RBWP_E_INVALID);
    layout.stride = 3;
    assert_int_equal(rbwp_lanes_bytes(&layout), 0);
    layout.stride = UINT32_MAX;
    layout.max_records = UINT32_MAX;
    layout.dialect = RBWP_LANES_V2;
    assert_int_equal(rbwp_lanes_bytes(&layout), 0);
}

/* ---- overlaps ------------------------------------------------------------------------- */

static void rows_for_what_overlaps(void **state)
{
    (void)state;
    static const uint64_t tracks[] = {1, 1, 1, 2, 1, 1};
    static const int64_t starts[] = {5000, 5100, 5200, 5100, 5900, 5050};
    static const int64_t stops[] = {5600, 5900, 5300, 5900, 6000, 5650};
    uint16_t rows[6];
    assert_int_equal(rbwp_overlap_rows(tracks, starts, stops, 6, rows), RBWP_OK);
    static const uint16_t want[] = {0, 2, 0, 0, 0, 1};
    assert_memory_equal(rows, want, sizeof want);
    assert_int_equal(rbwp_overlap_rows(NULL, NULL, NULL, 0, NULL), RBWP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_made_by_hand),
        cmocka_unit_test(its_durations),
        cmocka_unit_test(percentiles),
        cmocka_unit_test(each_anomaly_is_counted),
        cmocka_unit_test(slots_of_no_lane_and_full_lanes),
        cmocka_unit_test(begins_and_ends_nest_by_event),
        cmocka_unit_test(what_is_open_is_bounded),
        cmocka_unit_test(headers_that_cannot_be),
        cmocka_unit_test(noise),
        cmocka_unit_test(tags_of_others),
        cmocka_unit_test(flashinfer_with_two_groups),
        cmocka_unit_test(mirage_with_tasks),
        cmocka_unit_test(heartbeats_and_the_anchor),
        cmocka_unit_test(version_two),
        cmocka_unit_test(version_two_used_again),
        cmocka_unit_test(version_two_with_short_records),
        cmocka_unit_test(version_one_header_and_size),
        cmocka_unit_test(rows_for_what_overlaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
