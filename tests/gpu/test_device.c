/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_device.c - the header for kernels (rbwp_device.h), on the host with emulated threads: what
 * it writes is what the formats say, word by word, and never outside of the buffers, whatever a
 * kernel is given. Built in several variants of its switches (CMakeLists.txt), which must not be
 * seen.
 */
#include "rbwp_device.h"
#include "le_words.h"
#include "rbwp_events.h"
#include "rbwp_lanes.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GUARD UINT64_C(0x5ca1ab1e5ca1ab1e)

static void at(uint64_t time)
{
    rbwp_dev_emulated.time = time;
}

/* The calling thread is the leader of whatever it inits, in that block of so many. */
static void in_block(unsigned block, unsigned blocks)
{
    rbwp_dev_emulated = (struct rbwp_dev_emulated){.block = {block}, .blocks = {blocks}};
}

static void start_lane(struct rbwp_dev_lanes *lane, unsigned kind, void *buffer, unsigned block,
                       unsigned group, unsigned max_records)
{
    in_block(block, 2);
    rbwp_dev_lanes_init(lane, kind, buffer, 4, group, 2, 2, 1, max_records);
}

/* ---- lanes ------------------------------------------------------------------------- */

/* Guards: all words of a version 1 buffer, the header's included, as others write them. */
static void test_version_1(void **state)
{
    (void)state;
    static const uint64_t golden[17] = {
        0x0000000200000002,
        0xffffffe000000000,
        0xfffffff000001004,
        0x0000010000002014,
        0x0000011000003ffc,
        0x0000004000000001,
        0x0000002000001005,
        0x0000018000002015,
        0,
        0x0000006000000003,
        0x000000300000100a,
        0x000001a000002003,
        0,
        0,
        0x0000005000001003,
        0,
        0,
    };
    uint64_t buffer[17] = {0};
    struct rbwp_dev_lanes lane[4];
    for (unsigned l = 0; l < 4; l++)
        start_lane(&lane[l], RBWP_DEV_V1, buffer, l / 2, l % 2, 4);
    at(0xffffffe0), rbwp_dev_lanes_begin(&lane[0], 0);
    at(0xfffffff0), rbwp_dev_lanes_begin(&lane[1], 1);
    at(0x100000040), rbwp_dev_lanes_end(&lane[0], 0);
    at(0x100000020), rbwp_dev_lanes_end(&lane[1], 1);
    at(0x100000030), rbwp_dev_lanes_instant(&lane[1], 2);
    at(0x100000050), rbwp_dev_lanes_finalize(&lane[1]);
    at(0x100000060), rbwp_dev_lanes_finalize(&lane[0]);
    at(0x100000100), rbwp_dev_lanes_begin(&lane[2], 5);
    at(0x100000110), rbwp_dev_lanes_begin(&lane[3], 1023);
    at(0x100000180), rbwp_dev_lanes_end(&lane[2], 5);
    at(0x1000001a0), rbwp_dev_lanes_finalize(&lane[2]);
    assert_memory_equal(buffer, golden, sizeof golden);
}

/* Guards: the header is there whichever group of whichever block begins. */
static void test_header_by_any_group(void **state)
{
    (void)state;
    uint64_t buffer[17] = {0};
    struct rbwp_dev_lanes lane;
    rbwp_dev_emulated.thread[0] = 64; /* thread 0 never comes here */
    start_lane(&lane, RBWP_DEV_V1, buffer, 1, 1, 4);
    assert_int_equal(buffer[0], 0x0000000200000002);
}

/* Guards: a lane of n records stores n - 1 and its finalize, counts the rest, and touches nothing
 * behind its last slot. */
static void check_capacity(unsigned max_records)
{
    uint64_t buffer[1 + 4 * 5] = {0}, expected[1 + 4 * 5] = {0};
    uint32_t drops[5] = {77, 77, 77, 77, 77};
    const unsigned stored = max_records ? max_records - 1 : 0;
    for (unsigned i = 1 + 4 * max_records; i < 1 + 4 * 5; i++)
        buffer[i] = expected[i] = GUARD;
    struct rbwp_dev_lanes lane;
    start_lane(&lane, RBWP_DEV_V1, buffer, 1, 1, max_records);
    rbwp_dev_lanes_drops(&lane, drops);
    for (unsigned i = 0; i < 10; i++)
        at(100 + i), rbwp_dev_lanes_instant(&lane, i);
    for (unsigned twice = 0; twice < 2; twice++)
        at(200), rbwp_dev_lanes_finalize(&lane);
    at(300), rbwp_dev_lanes_begin(&lane, 7);
    for (unsigned i = 0; i < stored; i++)
        expected[1 + 3 + 4 * i] = (uint64_t)(100 + i) << 32 | 3 << 12 | i << 2 | 2;
    if (max_records) {
        expected[0] = 0x0000000200000002;
        expected[1 + 3 + 4 * stored] = UINT64_C(200) << 32 | 3 << 12 | 3;
    }
    assert_memory_equal(buffer, expected, sizeof buffer);
    assert_int_equal(drops[3], max_records ? 10 - stored : 77);
    assert_int_equal(drops[2] + drops[4], 2 * 77);
}

static void test_capacity(void **state)
{
    (void)state;
    for (unsigned max_records = 0; max_records <= 4; max_records++)
        check_capacity(max_records);
}

/* Guards: with the option, and only with it, the finalize record has the drops. */
static void test_drops_in_tag(void **state)
{
    (void)state;
    static const struct {
        unsigned kind, records;
        uint64_t finalize;
    } cases[] = {
        {RBWP_DEV_V1, 12, 0x0000000900000003},
        {RBWP_DEV_V1 | RBWP_DEV_DROPS_IN_TAG, 12, 0x0000000900000003 | 11 << 2},
        {RBWP_DEV_V1 | RBWP_DEV_DROPS_IN_TAG, 1, 0x0000000900000003},
        {RBWP_DEV_V1 | RBWP_DEV_DROPS_IN_TAG, 5000, 0x0000000900000003 | 1023 << 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t buffer[9] = {0};
        struct rbwp_dev_lanes lane;
        start_lane(&lane, cases[i].kind, buffer, 0, 0, 2);
        at(9);
        for (unsigned k = 0; k < cases[i].records; k++)
            rbwp_dev_lanes_begin(&lane, 0);
        rbwp_dev_lanes_finalize(&lane);
        assert_int_equal(buffer[1 + 4], cases[i].finalize);
    }
}

/* Guards: a lane that is off, or has no room by what init is given, writes nothing at all. */
static void test_lanes_off(void **state)
{
    (void)state;
    static const struct {
        unsigned shift, stride, group, groups, blocks;
        int leader;
    } cases[] = {
        {0, 4, 0, 2, 2, 0},         /* not the leader */
        {0, 4, 2, 2, 2, 1},         /* group out of range */
        {0, 4, 0, 2, 1, 1},         /* block out of range */
        {0, 4, 0, 0, 2, 1},         /* no groups */
        {0, 3, 0, 2, 2, 1},         /* lanes would overlap */
        {0, 0, 0, 1u << 16, 17, 1}, /* more lanes than tags */
        {0, 0, 0, 1u << 31, 4, 1},  /* the product wraps */
        {4, 4, 0, 2, 2, 1},         /* not aligned */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned kind = RBWP_DEV_V1; kind <= RBWP_DEV_V2; kind++) {
            _Alignas(16) uint64_t buffer[64], expected[64];
            memset(buffer, 0x5a, sizeof buffer), memset(expected, 0x5a, sizeof expected);
            struct rbwp_dev_lanes lane;
            in_block(1, 2);
            rbwp_dev_lanes_init(&lane, kind, (char *)buffer + cases[i].shift, cases[i].stride,
                                cases[i].group, cases[i].groups, cases[i].blocks, cases[i].leader,
                                4);
            rbwp_dev_lanes_begin(&lane, 1);
            rbwp_dev_lanes_finalize(&lane);
            assert_memory_equal(buffer, expected, sizeof buffer);
        }
    struct rbwp_dev_lanes none;
    start_lane(&none, RBWP_DEV_V1, NULL, 0, 0, 4);
    rbwp_dev_lanes_drops(&none, NULL);
    rbwp_dev_lanes_anchor(&none, NULL);
    rbwp_dev_lanes_instant(&none, 1);
    rbwp_dev_lanes_heartbeat(&none);
    rbwp_dev_lanes_finalize(&none);
}

/* Guards: a record is never an empty slot: the one that would be is a tick late. */
static void test_never_empty(void **state)
{
    (void)state;
    _Alignas(16) uint64_t buffer[8 + 2 * 8] = {0};
    struct rbwp_dev_lanes lane;
    start_lane(&lane, RBWP_DEV_V1, buffer, 0, 0, 2);
    at(UINT64_C(7) << 32), rbwp_dev_lanes_begin(&lane, 0);
    assert_int_equal(buffer[1], UINT64_C(1) << 32);
    memset(buffer, 0, sizeof buffer);
    start_lane(&lane, RBWP_DEV_V2, buffer, 0, 0, 2);
    at(0), rbwp_dev_lanes_begin(&lane, 0);
    assert_int_equal(buffer[8], 1);
}

/* Guards: blocks are numbered as the format says, x first. */
static void test_block_number(void **state)
{
    (void)state;
    uint64_t buffer[1 + 24] = {0};
    struct rbwp_dev_lanes lane;
    rbwp_dev_emulated =
        (struct rbwp_dev_emulated){.block = {1, 2, 3}, .blocks = {2, 3, 4}, .time = 5};
    rbwp_dev_lanes_init(&lane, RBWP_DEV_V1, buffer, 0, 0, 1, 24, 1, 1);
    rbwp_dev_lanes_finalize(&lane);
    assert_int_equal(buffer[1 + 23], UINT64_C(5) << 32 | 23 << 12 | 3);
}

/* Guards: version 2's records, of 16 bytes and of 8, its clock, and the anchor that the first lane
 * leaves in the header. */
static void test_version_2(void **state)
{
    (void)state;
    _Alignas(16) uint64_t buffer[8 + 2 * 4 * 3] = {0};
    struct rbwp_dev_lanes lane;
    in_block(1, 2);
    rbwp_dev_emulated.thread[0] = 5, rbwp_dev_emulated.thread[1] = 1;
    rbwp_dev_emulated.threads[0] = 96, rbwp_dev_emulated.threads[1] = 2; /* thread 101: warp 3 */
    rbwp_dev_emulated.sm = 131;
    at(0x500000000);
    rbwp_dev_lanes_init(&lane, RBWP_DEV_V2, buffer, 4, 1, 2, 2, 1, 3);
    at(0x512345678), rbwp_dev_lanes_begin(&lane, 9);
    at(0x512345679), rbwp_dev_lanes_end(&lane, 9);
    at(0x51234567a), rbwp_dev_lanes_end(&lane, 9);
    at(0x51234567b), rbwp_dev_lanes_finalize(&lane);
    static const uint64_t expected[] = {0x512345678, UINT64_C(0x0003008300003024),
                                        0x512345679, UINT64_C(0x0003008300003025),
                                        0x51234567b, UINT64_C(0x0000000100003003)};
    assert_int_equal(buffer[5], 0x500000000); /* byte 40 */
    for (unsigned k = 0; k < 3; k++)
        assert_memory_equal(&buffer[8 + 2 * (3 + 4 * k)], &expected[2 * k], 16);

    buffer[1] =
        UINT64_C(0xa500000000000002); /* a generation, in each record; finalize has 24 bits */
    at(0x520000000), start_lane(&lane, RBWP_DEV_V2, buffer, 0, 0, 2);
    at(0x520000001), rbwp_dev_lanes_instant(&lane, 9);
    assert_int_equal(buffer[9], UINT64_C(0xa500000000000026));
    lane.dropped = 0x1000000;
    at(0x520000002), rbwp_dev_lanes_finalize(&lane);
    assert_int_equal(buffer[9 + 2 * 4], UINT64_C(0xa5ffffff00000003));

    memset(&buffer[8], 0, sizeof buffer - 64);
    at(0x600000000), start_lane(&lane, RBWP_DEV_V2 | RBWP_DEV_SHORT, buffer, 1, 1, 3);
    at(0x612345678), rbwp_dev_lanes_begin(&lane, 9);
    assert_int_equal(buffer[5], 0x500000000); /* the first one's stays */
    assert_int_equal(buffer[8 + 3], UINT64_C(0x1234567800003024));
    start_lane(&lane, RBWP_DEV_V2 | RBWP_DEV_CLOCK, buffer, 0, 0, 3);
    rbwp_dev_emulated.clock = 4321, rbwp_dev_lanes_begin(&lane, 9);
    assert_int_equal(buffer[8], 4321);
}

struct seen {
    struct rbwp_lane_span spans[64];
    size_t count;
};

static bool see(void *context, const struct rbwp_lane_span *spans, size_t count)
{
    struct seen *seen = context;
    assert_true(seen->count + count <= 64);
    memcpy(&seen->spans[seen->count], spans, count * sizeof *spans);
    seen->count += count;
    return true;
}

/* What the decoder makes of a buffer, heartbeats left out. */
static struct seen decode(const void *buffer, size_t bytes, uint64_t anchor)
{
    const struct rbwp_lanes_layout wanted = {
        .size = sizeof wanted, .dialect = RBWP_LANES_V1, .anchor_device = anchor};
    struct rbwp_lanes_stats stats;
    struct rbwp_error error;
    struct seen seen = {.count = 0};
    uint64_t words[256];
    assert_true(bytes <= sizeof words);
    memcpy(words, buffer, bytes);
    /* Emulated threads store as the host does. */
    le_words(words, bytes / 8);
    const enum rbwp_status status =
        rbwp_lanes_decode(words, bytes, &wanted, see, &seen, &stats, &error);
    assert_int_equal(status, RBWP_OK);
    assert_int_equal(rbwp_lanes_damage(&stats), 0);
    return seen;
}

/* Guards: with heartbeats and an anchor 8-byte records have times in full, in lanes that are silent
 * for long, that begin late, or both; without they do not. */
static void test_heartbeat(void **state)
{
    (void)state;
    const uint64_t second = 1000000000, zero = 77 * second;
    uint64_t buffer[1 + 4 * 40] = {0}, anchor = 0;
    struct rbwp_dev_lanes early, late;
    rbwp_dev_emulated = (struct rbwp_dev_emulated){.blocks = {2}, .time = zero};
    rbwp_dev_lanes_init(&early, RBWP_DEV_V1 | RBWP_DEV_HEARTBEAT, buffer, 4, 0, 2, 2, 1, 40);
    rbwp_dev_lanes_anchor(&early, &anchor);
    at(zero + 1), rbwp_dev_lanes_begin(&early, 1);
    at(zero + 15 * second), rbwp_dev_lanes_end(&early, 1);
    at(zero + 19 * second), rbwp_dev_lanes_heartbeat(&early);
    at(zero + 24 * second), rbwp_dev_lanes_finalize(&early);
    rbwp_dev_lanes_init(&late, RBWP_DEV_V1 | RBWP_DEV_HEARTBEAT, buffer, 4, 1, 2, 2, 1, 40);
    rbwp_dev_lanes_anchor(&late, &anchor);
    at(zero + 30 * second), rbwp_dev_lanes_begin(&late, 2);
    at(zero + 30 * second + 96), rbwp_dev_lanes_end(&late, 2);
    assert_int_equal(anchor, zero);

    const struct seen seen = decode(buffer, sizeof buffer, anchor);
    unsigned found = 0;
    for (size_t i = 0; i < seen.count; i++) {
        const struct rbwp_lane_span *span = &seen.spans[i];
        const uint64_t start = span->event == 1 ? zero + 1 : zero + 30 * second;
        const uint64_t stop = span->event == 1 ? zero + 15 * second : zero + 30 * second + 96;
        if (span->kind != RBWP_LANE_SPAN)
            continue;
        assert_int_equal(span->start_ns, start);
        assert_int_equal(span->stop_ns, stop);
        found++;
    }
    assert_int_equal(found, 2);
}

/* Guards: a lane that is full of heartbeats is full; nothing goes beyond it. */
static void test_heartbeat_fills_lane(void **state)
{
    (void)state;
    uint64_t buffer[1 + 4 * 4] = {[1 + 4 * 3] = GUARD};
    uint32_t drops[4] = {0};
    struct rbwp_dev_lanes lane;
    start_lane(&lane, RBWP_DEV_V1 | RBWP_DEV_HEARTBEAT, buffer, 0, 0, 3);
    rbwp_dev_lanes_drops(&lane, drops);
    at(UINT64_C(60000000000)), rbwp_dev_lanes_begin(&lane, 1);
    rbwp_dev_lanes_finalize(&lane);
    assert_int_equal(drops[0], 1);
    assert_int_equal(buffer[1] & 0xfff, 1023 << 2 | 2);
    assert_int_equal(buffer[1 + 8] & 0xfff, 3);
    assert_int_equal(buffer[1 + 12], GUARD);
}

/* Guards: the macros are the functions. */
static void test_macros(void **state)
{
    (void)state;
    uint64_t buffer[1 + 4] = {0};
    in_block(0, 1);
    at(9);
    RBWP_DEV_LANES(lane);
    RBWP_DEV_LANES_INIT(lane, RBWP_DEV_V1, buffer, 1, 0, 1, 1, 1, 4);
    RBWP_DEV_BEGIN(lane, 3);
    RBWP_DEV_END(lane, 3);
    RBWP_DEV_INSTANT(lane, 4);
    RBWP_DEV_HEARTBEAT_NOW(lane);
    RBWP_DEV_FINALIZE(lane);
#if RBWP_DEVICE_ENABLED
    static const uint64_t expected[] = {0x100000001, 0x90000000c, 0x90000000d, 0x900000012,
                                        0x900000003};
#else
    static const uint64_t expected[5];
#endif
    assert_memory_equal(buffer, expected, sizeof expected);
    RBWP_DEV_EVENTS(events);
    RBWP_DEV_EVENTS_INIT(events, NULL, 1);
    RBWP_DEV_EVENT_START(events, handle, RBWP_DEV_PUT, 1, NULL, 0, 0, 0);
    RBWP_DEV_EVENT_END(events, handle);
}

/* ---- events -------------------------------------------------------------------------- */

#define ROOM 8192

/* The buffers of a rank, each with a guard behind its last cell. */
struct buffers {
    uint32_t counters[3]; /* as words 0 and 1 side by side, or 0 and 2 apart */
    _Alignas(8) char columns[RBWP_EVENTS_COLUMNS][(ROOM + 1) * 8];
    int64_t context[19 + 8], heaps[8];
};
static struct buffers buffers;

static uint32_t *counter_of_ops(bool apart)
{
    return &buffers.counters[apart ? 2 : 1];
}

static void fill_buffers(unsigned ranks, unsigned rank, int64_t max_events, bool apart,
                         bool enabled)
{
    memset(&buffers, 0, sizeof buffers);
    assert_int_equal((uintptr_t)buffers.counters % 8, 0);
    struct rbwp_events_context context = {
        .size = sizeof context,
        .rank = rank,
        .ranks = ranks,
        .heaps = buffers.heaps,
        .max_events = max_events,
        .counter = (uintptr_t)buffers.counters,
        .op_counter = (uintptr_t)counter_of_ops(apart),
        .enabled = enabled,
    };
    for (unsigned i = 0; i < ranks; i++)
        buffers.heaps[i] = 0x7f0000000000 + 0x1000 * (int64_t)i;
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        context.columns[i] = (uintptr_t)buffers.columns[i];
        const size_t end =
            (size_t)(max_events < ROOM ? max_events : ROOM) * rbwp_events_column_bytes(i);
        memcpy(&buffers.columns[i][end], &(uint64_t){GUARD}, 8);
    }
    struct rbwp_error error;
    assert_int_equal(
        rbwp_events_encode_context(&context, buffers.context, sizeof buffers.context / 8, &error),
        RBWP_OK);
}

static void check_guards(size_t max_events)
{
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        assert_memory_equal(&buffers.columns[i][max_events * rbwp_events_column_bytes(i)],
                            &(uint64_t){GUARD}, 8);
}

static int64_t cell(unsigned column, size_t slot)
{
    if (rbwp_events_column_bytes(column) == 4)
        return ((int32_t *)(void *)buffers.columns[column])[slot];
    return ((int64_t *)(void *)buffers.columns[column])[slot];
}

/* A start of the golden example, by the block of that number. */
static unsigned golden_start(struct rbwp_dev_events *events, unsigned slot)
{
    static const struct {
        unsigned id, pid, m, n, target, xcc, cu, start, bytes;
        uint64_t address;
    } golden[] = {
        {3, 7, 1, 2, 1, 2, 5, 5000, 32, 0x7f0010002000},
        {1, 8, 1, 3, 1, 2, 5, 5100, 0, 0x7f0010002020},
        {99, 9, 0, 0, 0, 0, 0, 5200, 0, 0},
        {5, 9, 0, 0, 1, 0, 1, 5300, 4, 0x10},
        {0, 9, 0, 0, 0, 0, 1, 5400, 0, 0},
        {0, 9, 0, 0, 0, 0, 1, 5500, 0, 0},
    };
    in_block(golden[slot].pid, 16);
    rbwp_dev_emulated.xcc = golden[slot].xcc;
    rbwp_dev_emulated.sm = golden[slot].cu;
    rbwp_dev_events_init(events, buffers.context, 1);
    at(golden[slot].start);
    return rbwp_dev_events_start(events, golden[slot].id, golden[slot].target,
                                 (void *)(uintptr_t)golden[slot].address, golden[slot].m,
                                 golden[slot].n, golden[slot].bytes);
}

/* Guards: the worked example of iris's buffers, 6 events into 4 slots; with the counters side by
 * side and apart. */
static void check_golden_events(bool apart)
{
    static const int64_t expected[4][RBWP_EVENTS_COLUMNS] = {
        {3, 7, 1, 2, 0, 1, 2, 5, 5000, (intptr_t)0x7f0010002000, 5600, 0, 32},
        {1, 8, 1, 3, 0, 1, 2, 5, 5100, (intptr_t)0x7f0010002020, 5900, 1, 0},
        {99, 9, 0, 0, 0, 0, 0, 0, 5200, 0, 0, 2, 0},
        {5, 9, 0, 0, 0, 1, 0, 1, 5300, 0x10, 5300, 3, 4},
    };
    fill_buffers(2, 0, 4, apart, true);
    struct rbwp_dev_events events[6];
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(golden_start(&events[i], i), i);
    at(5300), rbwp_dev_events_end(&events[3], 3);
    at(5600), rbwp_dev_events_end(&events[0], 0);
    at(5900), rbwp_dev_events_end(&events[1], 1);
    at(6000), rbwp_dev_events_end(&events[5], 5), rbwp_dev_events_end(&events[5], ~0u);
    for (unsigned slot = 0; slot < 4; slot++)
        for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
            assert_int_equal(cell(i, slot), expected[slot][i]);
    assert_int_equal(buffers.counters[0], 6);
    assert_int_equal(*counter_of_ops(apart), 6);
    assert_int_equal(buffers.counters[apart ? 1 : 2], 0);
    check_guards(4);
}

static void test_golden_events(void **state)
{
    (void)state;
    check_golden_events(false);
    check_golden_events(true);
}

/* Guards: an event that is written in one go is the same event. */
static void test_open_and_close(void **state)
{
    (void)state;
    fill_buffers(2, 1, 1, false, true);
    struct rbwp_dev_events events;
    struct rbwp_dev_event open[2];
    in_block(4, 5);
    rbwp_dev_emulated.sm = 9;
    rbwp_dev_events_init(&events, buffers.context, 1);
    for (unsigned i = 0; i < 2; i++)
        at(50 + i), rbwp_dev_events_open(&events, &open[i], 2, 0, (void *)64, 5, 6, 7);
    for (unsigned i = 0; i < 2; i++)
        at(60 + i), rbwp_dev_events_close(&events, &open[i]);
    static const int64_t expected[] = {2, 4, 5, 6, 1, 0, 0, 9, 50, 64, 60, 0, 7};
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        assert_int_equal(cell(i, 0), expected[i]);
    assert_int_equal(buffers.counters[0], 2);
    check_guards(1);
}

/* Guards: no count makes a counter wrap into a slot: what is beyond 2^31 is given up and taken
 * back. */
static void check_counter(uint32_t preset, bool apart)
{
    fill_buffers(1, 0, 4, apart, true);
    static struct buffers before;
    buffers.counters[0] = *counter_of_ops(apart) = preset;
    before = buffers;
    struct rbwp_dev_events events;
    in_block(0, 1);
    rbwp_dev_events_init(&events, buffers.context, 1);
    for (unsigned i = 0; i < 40; i++)
        rbwp_dev_events_end(&events, rbwp_dev_events_start(&events, 3, 0, NULL, 0, 0, 0));
    assert_memory_equal(buffers.columns, before.columns, sizeof buffers.columns);

    assert_int_equal(buffers.counters[0], UINT32_C(1) << 31);
    assert_int_equal(*counter_of_ops(apart), UINT32_C(1) << 31);
}

static void test_counter_ends(void **state)
{
    (void)state;
    static const uint32_t presets[] = {0xfffffff0, 0x7ffffff0, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        check_counter(presets[i], false);
        check_counter(presets[i], true);
    }
}

/* Guards: contexts of any number of ranks, long or short, on or off; what is off writes nothing,
 * and a short context is not read beyond its end (it is made to its size, for the address
 * sanitizer). */
static void test_contexts(void **state)
{
    (void)state;
    for (unsigned ranks = 1; ranks <= 8; ranks *= 2) {
        struct rbwp_dev_events events;
        fill_buffers(ranks, ranks - 1, 4, false, true);
        rbwp_dev_events_init(&events, buffers.context, 1);
        assert_int_equal(events.rank, ranks - 1);
        assert_int_equal(events.max_events, 4);
        assert_int_equal(rbwp_dev_events_heap(&events, ranks - 1), buffers.heaps[ranks - 1]);
        assert_int_equal(rbwp_dev_events_heap(&events, ranks), 0);
        rbwp_dev_events_init(&events, buffers.context, 0); /* not the leader */
        assert_int_equal(rbwp_dev_events_start(&events, 3, 0, NULL, 0, 0, 0), 0);
        assert_int_equal(buffers.counters[0], 0);

        fill_buffers(ranks, 0, 4, false, false);
        const size_t words[] = {3 + ranks, 19 + ranks};
        for (unsigned i = 0; i < 2; i++) {
            int64_t *context = malloc(words[i] * 8);
            assert_non_null(context);
            memcpy(context, buffers.context, words[i] * 8);
            rbwp_dev_events_init(&events, context, 1);
            rbwp_dev_events_end(&events, rbwp_dev_events_start(&events, 3, 0, NULL, 0, 0, 0));
            assert_int_equal(events.max_events, 0);
            assert_int_equal(rbwp_dev_events_heap(&events, 0), buffers.heaps[0]);
            free(context);
        }
    }
}

/* Guards: hostile contexts: no room, negative room, ranks that cannot be, no counters. */
static void test_hostile_contexts(void **state)
{
    (void)state;
    struct rbwp_dev_events events;
    rbwp_dev_events_init(&events, NULL, 1);
    rbwp_dev_events_end(&events, rbwp_dev_events_start(&events, 3, 0, NULL, 0, 0, 0));
    static const struct {
        unsigned word;
        int64_t value;
    } cases[] = {{4, 0}, {4, -1}, {4, INT64_MIN}, {1, -1}, {1, INT64_C(1) << 31}, {5, 0}, {6, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill_buffers(1, 0, 4, false, true);
        buffers.context[cases[i].word] = cases[i].value;
        rbwp_dev_events_init(&events, buffers.context, 1);
        rbwp_dev_events_end(&events, rbwp_dev_events_start(&events, 3, 0, NULL, 0, 0, 0));
        assert_int_equal(events.max_events, 0);
        assert_int_equal(buffers.counters[0], 0);
    }
    fill_buffers(1, 0, 4, false, true);
    buffers.context[4] = INT64_MAX; /* more than a slot's number says */
    rbwp_dev_events_init(&events, buffers.context, 1);
    assert_int_equal(events.max_events, INT32_MAX);
}

#define THREADS 8
#define EACH (ROOM / THREADS)

static void *start_many(void *apart)
{
    (void)apart;
    struct rbwp_dev_events events;
    rbwp_dev_events_init(&events, buffers.context, 1);
    rbwp_dev_emulated.step = 1;
    for (unsigned i = 0; i < EACH; i++)
        rbwp_dev_events_end(&events, rbwp_dev_events_start(&events, 1, 0, NULL, i, 0, 0));
    return NULL;
}

/* Guards: with many threads every number is given once, and no slot is written twice. */
static void check_threads(bool apart)
{
    static bool seen[ROOM];
    memset(seen, 0, sizeof seen);
    fill_buffers(1, 0, ROOM, apart, true);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_many, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned slot = 0; slot < ROOM; slot++) {
        const int64_t op = cell(RBWP_EVENTS_OP_INDEX, slot);
        assert_in_range(op, 0, ROOM - 1);
        assert_false(seen[op]);
        seen[op] = true;
        assert_true(cell(RBWP_EVENTS_END, slot) > cell(RBWP_EVENTS_TIMESTAMP, slot));
    }
    assert_int_equal(buffers.counters[0], ROOM);
    assert_int_equal(*counter_of_ops(apart), ROOM);
    check_guards(ROOM);
}

static void test_op_index(void **state)
{
    (void)state;
    check_threads(false);
    check_threads(true);
}

/* Guards: bytes of a masked block, for elements of all sizes, parts of bytes as well. */
static void test_payload(void **state)
{
    (void)state;
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        assert_int_equal(rbwp_dev_payload_bytes(0, bytes * 8), 0);
        assert_int_equal(rbwp_dev_payload_bytes(0x8000000000000005, bytes * 8), 3 * bytes);
        assert_int_equal(rbwp_dev_payload_bytes(UINT64_MAX, bytes * 8), 64 * bytes);
    }
    assert_int_equal(rbwp_dev_payload_bytes(0xf, 64), 32);
    assert_int_equal(rbwp_dev_payload_bytes(0x7, 4), 2); /* three halves of a byte */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_1),      cmocka_unit_test(test_header_by_any_group),
        cmocka_unit_test(test_capacity),       cmocka_unit_test(test_drops_in_tag),
        cmocka_unit_test(test_lanes_off),      cmocka_unit_test(test_never_empty),
        cmocka_unit_test(test_block_number),   cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_heartbeat),      cmocka_unit_test(test_heartbeat_fills_lane),
        cmocka_unit_test(test_macros),         cmocka_unit_test(test_golden_events),
        cmocka_unit_test(test_open_and_close), cmocka_unit_test(test_counter_ends),
        cmocka_unit_test(test_contexts),       cmocka_unit_test(test_hostile_contexts),
        cmocka_unit_test(test_op_index),       cmocka_unit_test(test_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
