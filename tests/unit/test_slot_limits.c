/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a slot decide which items are recorded: one that lasted less than the slot's least
 * leaves no trace, wherever its events lie, one of a disabled slot neither, and what was dropped
 * is counted; one as long as the alarm is recorded and reported. To the tick, by a clock of the
 * test.
 */
#include "record_support.h"

#include "clock.h"
#include "slot_limits.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void lasting(unsigned slot, uint64_t ticks, unsigned fine_pairs)
{
    rbwp_begin_at(slot, fake_now);
    for (unsigned i = 0; i < fine_pairs; i++) {
        rbwp_fine_begin(i % 7);
        rbwp_fine_end();
    }
    fake_now += ticks;
    rbwp_end_at(fake_now);
}

static uint64_t left_out(unsigned slot)
{
    thread_registry_lock();
    uint64_t count = slot_limits_left_out(slot);
    thread_registry_unlock();
    return count;
}

static int use_clock(void **state)
{
    (void)state;
    fake_step = 0;
    fake_now = 1000000;
    clock_replace(fake_clock);
    return 0;
}

static int clear(void **state)
{
    (void)state;
    for (unsigned slot = 0; slot < 8; slot++)
        slot_limits_clear(slot);
    slot_limits_on_alarm(NULL);
    clock_replace(NULL);
    return 0;
}

/* One tick decides, on the inlined side and on the slow one, in one chunk and over several. */
static void test_least(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(2);
    struct rbwp_session *session = start(&config);
    static const unsigned fine_pairs[] = {0, 1, 300, 1000};
    char expected[32768] = "", *end = expected;
    uint64_t before = left_out(1);
    slot_limits_set_least(1, 500); /* this clock's ticks are nanoseconds */
    for (size_t i = 0; i < 4; i++) {
        lasting(1, 499, fine_pairs[i]);
        lasting(1, 500, i == 1 ? 1 : 0);
        lasting(2, 0, 0);
        end += sprintf(end, "B1 %sE B2 E ", i == 1 ? "F0 f " : "");
    }
    slot_limits_set_least(1, 0);
    lasting(1, 0, 0);
    strcpy(end, "B1 E");
    assert_int_equal(left_out(1) - before, 4);
    struct rbwp_session_summary summary = stop(session);
    assert_int_equal(summary.discarded + summary.lost_records + summary.misuse_calls, 0);
    assert_calls(expected);
}

/* A disabled slot is dropped however long its items last; sub-items outside stay, GPU work stays.
 */
static void test_disabled(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    uint64_t before = left_out(3);
    slot_limits_set_disabled(3, true);
    assert_true(slot_limits_of(3).disabled);
    lasting(3, 0, 0);
    lasting(3, UINT64_C(1) << 40, 2);
    rbwp_begin(3);
    rbwp_end(); /* looks before it reads the clock */
    lasting(4, 1, 0);
    rbwp_fine_begin(5);
    lasting(3, 7, 1);
    rbwp_fine_end();
    rbwp_begin_at(3, fake_now);
    rbwp_fine_begin(6);
    rbwp_gpu_work(1, 3, 10, 20);
    rbwp_fine_end();
    rbwp_end();
    slot_limits_set_disabled(3, false);
    lasting(3, 0, 0);
    assert_int_equal(left_out(3) - before, 4);
    (void)stop(session);
    assert_calls("B4 E F5 f B3 F6 G3 f E B3 E");
}

static unsigned rung_slot, rings;
static uint64_t rung_ticks;

static void note_ring(unsigned slot, uint64_t begin_ticks, uint64_t end_ticks)
{
    rings++;
    rung_slot = slot;
    rung_ticks = end_ticks - begin_ticks;
}

/* The alarm rings for each item as long as it, which is recorded, and for no other. */
static void test_alarm(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(2);
    struct rbwp_session *session = start(&config);
    slot_limits_on_alarm(note_ring);
    slot_limits_set_least(5, 10);
    slot_limits_set_alarm(5, 1000);
    lasting(5, 9, 0);
    lasting(5, 10, 0);
    lasting(5, 999, 0);
    assert_int_equal(rings, 0);
    lasting(5, 1000, 0);
    assert_int_equal(rings, 1);
    assert_int_equal(rung_ticks, 1000);
    lasting(5, 70000, 600); /* over several chunks */
    lasting(6, 70000, 0);
    assert_int_equal(rings, 2);
    assert_int_equal(rung_slot, 5);
    assert_int_equal(rung_ticks, 70000);
    slot_limits_set_alarm(5, 5); /* below the least: what is recorded rings */
    lasting(5, 7, 0);
    lasting(5, 10, 0);
    assert_int_equal(rings, 3);
    slot_limits_set_alarm(5, SLOT_LIMITS_NONE);
    lasting(5, 1000000, 0);
    assert_int_equal(rings, 3);
    (void)stop(session);
}

static void *leaves_out(void *argument)
{
    (void)argument;
    assert_int_equal(rbwp_thread_attach("other"), RBWP_OK);
    for (int i = 0; i < 100; i++)
        lasting(7, 0, 0);
    return NULL;
}

/* What a thread dropped is counted when it is gone; a slot that is released has no limits. */
static void test_counts_of_threads(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_work_item_register_at(7, "brief"), RBWP_OK);
    slot_limits_set_least(7, 1);
    uint64_t before = left_out(7);
    pthread_t thread;
    pthread_create(&thread, NULL, leaves_out, NULL);
    pthread_join(thread, NULL);
    lasting(7, 0, 0);
    assert_int_equal(left_out(7) - before, 101);
    assert_int_equal(rbwp_work_item_release(7), RBWP_OK);
    lasting(7, 0, 0);
    assert_int_equal(left_out(7) - before, 101);
    (void)stop(session);
    assert_calls("B7 E");
}

/* What a file of settings says of slots holds for its session, and in the next one no more. */
static void test_settings_end_with_their_session(void **state)
{
    (void)state;
    const char *path = test_path("settings");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("least quiet 100s\ndisable never\n", file) >= 0 && fclose(file) == 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(rbwp_work_item_register_at(4, "quiet"), RBWP_OK);
    struct rbwp_session_config config = test_config(1);
    config.settings = path;
    for (int session = 0; session < 2; session++) {
        struct rbwp_session *running = start(&config);
        if (session == 0)
            assert_int_equal(rbwp_work_item_register_at(5, "never"), RBWP_OK);
        lasting(4, 7, 0);
        lasting(5, 7, 0);
        lasting(6, 7, 0);
        (void)stop(running);
        assert_calls(session == 0 ? "B6 E" : "B4 E B5 E B6 E");
        config.settings = NULL;
    }
    assert_int_equal(rbwp_work_item_release(4), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(5), RBWP_OK);
}

static int attach_main(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_least, use_clock, clear),
        cmocka_unit_test_setup_teardown(test_disabled, use_clock, clear),
        cmocka_unit_test_setup_teardown(test_alarm, use_clock, clear),
        cmocka_unit_test_setup_teardown(test_counts_of_threads, use_clock, clear),
        cmocka_unit_test_setup_teardown(test_settings_end_with_their_session, use_clock, clear),
    };
    return cmocka_run_group_tests_name("slot limits", tests, attach_main, NULL);
}
