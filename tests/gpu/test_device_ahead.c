/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that ask for their slot in advance. Guards: each event has the slot that was asked for
 * before it, the slot left over is marked as none, and decoding leaves that out and counts it; a
 * full buffer stays within its bounds; off writes nothing.
 */
#define RBWP_DEV_EVENT_AHEAD 1
#define RBWP_DEV_EVENT_COUNTERS 4
#include "rbwp_device.h"
#include "le_words.h"
#include "rbwp_events.h"
#include "unit.h"

#include <string.h>

#define SLOTS 4

static struct {
    uint32_t counters[2];
    _Alignas(8) char columns[RBWP_EVENTS_COLUMNS][(SLOTS + 1) * 8]; /* zeros behind the last cell */
    int64_t context[RBWP_EVENTS_CONTEXT_WORDS(1)];
} buffers;

static void fill(bool enabled)
{
    memset(&buffers, 0, sizeof buffers);
    struct rbwp_events_context context = {.size = sizeof context,
                                          .ranks = 1,
                                          .max_events = SLOTS,
                                          .counter = (uintptr_t)&buffers.counters[0],
                                          .op_counter = (uintptr_t)&buffers.counters[1],
                                          .enabled = enabled};
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++)
        context.columns[i] = (uintptr_t)buffers.columns[i];
    struct rbwp_error error;
    assert_int_equal(
        rbwp_events_encode_context(&context, buffers.context, sizeof buffers.context / 8, &error),
        RBWP_OK);
}

static bool keep(void *ids, const struct rbwp_device_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((int32_t *)ids)[events[i].op] = events[i].id;
    return true;
}

static struct rbwp_events_stats decode(int32_t ids[SLOTS])
{
    struct rbwp_events_source source = {.size = sizeof source, .max_events = SLOTS};
    struct rbwp_events_stats stats;
    source.counter = buffers.counters[0];
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        source.columns[i] = buffers.columns[i];
        /* Emulated threads store as the host does. */
        if (rbwp_events_column_bytes(i) == 8)
            le_words((uint64_t *)(void *)buffers.columns[i], SLOTS);
        else
            le_halves((uint32_t *)(void *)buffers.columns[i], SLOTS);
    }
    memset(ids, 0, SLOTS * sizeof *ids);
    assert_int_equal(rbwp_events_decode(&source, keep, ids, &stats, NULL), RBWP_OK);
    return stats;
}

/* Two blocks, of one event and of `more`. */
static void two_blocks(unsigned more)
{
    struct rbwp_dev_events first, second;
    rbwp_dev_emulated.step = 10;
    rbwp_dev_events_init(&first, buffers.context, 1);
    rbwp_dev_events_init(&second, buffers.context, 1);
    rbwp_dev_events_end(&first, rbwp_dev_events_start(&first, 7, 0, NULL, 0, 0, 0));
    for (unsigned i = 0; i < more; i++) {
        struct rbwp_dev_event event;
        rbwp_dev_events_open(&second, &event, 8 + i, 0, NULL, 0, 0, 0);
        rbwp_dev_events_close(&second, &event);
    }
    rbwp_dev_events_finish(&first);
    rbwp_dev_events_finish(&second);
    assert_int_equal(rbwp_dev_events_start(&first, 9, 0, NULL, 0, 0, 0), 0); /* too late */
}

static void test_slots_left_over(void **state)
{
    (void)state;
    int32_t ids[SLOTS];
    fill(true);
    two_blocks(1);
    const struct rbwp_events_stats stats = decode(ids);
    assert_int_equal(buffers.counters[0], 4);
    assert_int_equal(buffers.counters[1], 4);
    assert_int_equal(stats.events, 2);
    assert_int_equal(stats.spans, 2);
    assert_int_equal(stats.unused, 2);
    assert_int_equal(rbwp_events_damage(&stats), 0);
    assert_int_equal(ids[0], 7); /* in the order of asking */
    assert_int_equal(ids[1], 8);
}

static void test_full(void **state)
{
    (void)state;
    int32_t ids[SLOTS];
    fill(true);
    two_blocks(5);
    const struct rbwp_events_stats stats = decode(ids);
    assert_int_equal(buffers.counters[0], 8);
    assert_int_equal(buffers.counters[1], 8);
    assert_int_equal(stats.events, 3);
    assert_int_equal(stats.unused, 1);
    assert_int_equal(stats.dropped, 4);
    for (unsigned i = 0; i < RBWP_EVENTS_COLUMNS; i++) {
        static const char zeros[8];
        assert_memory_equal(&buffers.columns[i][SLOTS * rbwp_events_column_bytes(i)], zeros, 4);
    }
}

static void test_off(void **state)
{
    (void)state;
    fill(false);
    two_blocks(2);
    assert_int_equal(buffers.counters[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_left_over),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
