/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h: a run as it was takes as long as it did, to the nanosecond; and changed, what its links
 * allow. */
#include "replay.h"
#include "unit.h"

enum { A = 1, B, C, INDEX, LOCK, T1 = 0, T2, T3, STREAM };

static struct replay replay;
static struct replay_change changes[2];
static struct replay_ask ask;

static int start(void **state)
{
    (void)state;
    replay = (struct replay){0};
    ask = (struct replay_ask){.changes = changes, .launch = 1};
    return 0;
}

static int stop(void **state)
{
    (void)state;
    replay_free(&replay);
    return 0;
}

static void span(uint32_t track, uint8_t kind, uint32_t name, int64_t start_ns, int64_t stop_ns,
                 uint32_t depth)
{
    replay_add(&replay, &(struct critical_step){.what = STEP_SPAN,
                                                .kind = kind,
                                                .track = track,
                                                .name = name,
                                                .from_ns = start_ns,
                                                .time_ns = stop_ns,
                                                .other = depth});
}

static void lead(uint8_t kind, uint32_t from, int64_t from_ns, uint32_t to, int64_t to_ns)
{
    replay_add(&replay, &(struct critical_step){.what = STEP_LINK,
                                                .kind = kind,
                                                .track = to,
                                                .other = from,
                                                .from_ns = from_ns,
                                                .time_ns = to_ns});
}

static void change(uint32_t outer, uint32_t name, double factor)
{
    changes[ask.change_count++] = (struct replay_change){name, outer, factor};
}

/* As it was, with calls on any worker and on their own ones, and changed. */
static void assert_takes(uint64_t was_ns, uint64_t changed_ns)
{
    uint64_t ns;
    assert_true(replay_make(&replay, &ask));
    assert_int_equal(replay.last_ns - replay.first_ns, was_ns);
    for (unsigned pinned = 0; pinned < 2; pinned++) {
        assert_true(replay_run(&replay, &ask, false, pinned, &ns));
        assert_int_equal(ns, was_ns);
    }
    assert_true(replay_run(&replay, &ask, true, false, &ns));
    assert_int_equal(ns, changed_ns);
}

/* A gap that no link explains stays. */
static void own_time_is_scaled(void **state)
{
    (void)state;
    span(T1, WALK_WORK, A, 1000, 1100, 0);
    span(T1, WALK_WORK, B, 1150, 1250, 0);
    change(TRACE_NONE, A, 0.5);
    assert_takes(250, 200);
}

/* A sub-item, inside of one name alone. */
static void a_part_is_scaled(void **state)
{
    (void)state;
    span(T1, WALK_WORK, A, 0, 100, 0);
    span(T1, WALK_WORK, INDEX, 20, 80, 1);
    span(T1, WALK_WORK, B, 100, 200, 0);
    span(T1, WALK_WORK, INDEX, 120, 180, 1);
    change(A, INDEX, 0.5);
    assert_takes(200, 170);
}

/* Four jobs of 100, 100, 100 and 50 that T1 hands over at once, on two workers. */
static void four_jobs(void)
{
    span(T1, WALK_WORK, C, 0, 10, 0);
    span(T2, WALK_WORK, A, 12, 112, 0);
    span(T3, WALK_WORK, A, 12, 112, 0);
    span(T2, WALK_WORK, A, 115, 215, 0);
    span(T3, WALK_WORK, B, 114, 164, 0);
    lead(TRACE_WAIT_FOR, T1, 10, T2, 12);
    lead(TRACE_WAIT_FOR, T1, 10, T3, 12);
    lead(TRACE_WAIT_FOR, T1, 10, T2, 115);
    lead(TRACE_WAIT_FOR, T1, 10, T3, 114);
}

static void a_worker_more(void **state)
{
    (void)state;
    four_jobs();
    ask.workers = 4;
    assert_takes(215, 113); /* what passes before each begin stays: 3 of the third */
    assert_int_equal(replay.workers, 2);
}

static void a_worker_less(void **state)
{
    (void)state;
    four_jobs();
    ask.workers = 1;
    assert_takes(215, 10 + 2 + 100 + 2 + 100 + 3 + 100 + 2 + 50);
}

/* Who waits for a free worker goes to the one that is free first. */
static void an_item_is_faster(void **state)
{
    (void)state;
    four_jobs();
    change(TRACE_NONE, A, 0.5);
    assert_takes(215, 10 + 2 + 50 + 3 + 50);
}

/* T2 ends T1's wait, in which it was late by 5. */
static void wait_for_a_wake(void)
{
    span(T1, WALK_WORK, A, 0, 200, 0);
    span(T1, WALK_WAIT, LOCK, 20, 105, 9);
    span(T1, WALK_READY, LOCK, 100, 105, 10);
    span(T2, WALK_WORK, B, 0, 150, 0);
    lead(TRACE_WAKE, T2, 100, T1, 100);
}

static void a_waker_is_faster(void **state)
{
    (void)state;
    wait_for_a_wake();
    change(TRACE_NONE, B, 0.5);
    assert_takes(200, 150);
}

/* Whoever comes too late to be waited for makes nobody late. */
static void a_wait_is_not_needed(void **state)
{
    (void)state;
    wait_for_a_wake();
    change(TRACE_NONE, B, 0.1);
    assert_takes(200, 20 + 95);
}

static void nobody_waits(void **state)
{
    (void)state;
    wait_for_a_wake();
    change(TRACE_NONE, LOCK, 0);
    assert_takes(200, 150); /* T2's own */
}

/* Two kernels, the first one launched late, and a call that waits for the second one. */
static void launches_are_free(void **state)
{
    (void)state;
    span(T1, WALK_WORK, A, 0, 400, 0);
    span(T1, WALK_GPU_WAIT, C, 50, 360, 1);
    span(STREAM, WALK_GPU, B, 100, 200, 0);
    span(STREAM, WALK_GPU, B, 210, 350, 0);
    lead(TRACE_LAUNCH, T1, 20, STREAM, 100);
    lead(TRACE_LAUNCH, T1, 30, STREAM, 210);
    ask.launch = 0;
    assert_takes(400, 20 + 100 + 140 + 10 + 40);
}

/* A queue that is not in order: as it was takes something else, and each call on its thread not. */
static void the_newest_first(void **state)
{
    uint64_t ns;
    (void)state;
    span(T1, WALK_WORK, C, 0, 20, 0);
    span(T2, WALK_WORK, B, 100, 150, 0);
    span(T2, WALK_WORK, A, 160, 260, 0);
    lead(TRACE_WAIT_FOR, T1, 20, T2, 100);
    lead(TRACE_WAIT_FOR, T1, 10, T2, 160);
    assert_true(replay_make(&replay, &ask));
    assert_true(replay_run(&replay, &ask, false, false, &ns));
    assert_int_equal(ns, 20 + 100 + 80 + 50);
    assert_true(replay_run(&replay, &ask, false, true, &ns));
    assert_int_equal(ns, 260);
}

/* Each waits for what the other does later. */
static void no_end(void **state)
{
    uint64_t ns;
    (void)state;
    span(T1, WALK_WORK, A, 100, 200, 0);
    span(T2, WALK_WORK, B, 100, 200, 0);
    lead(TRACE_FLOW, T2, 150, T1, 100);
    lead(TRACE_FLOW, T1, 150, T2, 100);
    assert_true(replay_make(&replay, &ask));
    assert_false(replay_run(&replay, &ask, false, true, &ns));
}

/* Times of strangers. */
static void times_at_the_ends(void **state)
{
    uint64_t ns;
    (void)state;
    span(T1, WALK_WORK, A, -(INT64_C(1) << 61), INT64_C(1) << 61, 0);
    span(T1, WALK_WORK, A, INT64_C(1) << 61, (INT64_C(1) << 61) + 9, 0);
    change(TRACE_NONE, A, 1000);
    assert_true(replay_make(&replay, &ask));
    assert_true(replay_run(&replay, &ask, true, false, &ns));
    assert_false(replay.full);
    span(T1, WALK_WORK, A, INT64_MIN, INT64_MAX, 0);
    assert_true(replay.full);
}

static void nothing_comes(void **state)
{
    uint64_t ns;
    (void)state;
    assert_true(replay_make(&replay, &ask));
    assert_true(replay_run(&replay, &ask, true, false, &ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(own_time_is_scaled, start, stop),
        cmocka_unit_test_setup_teardown(a_part_is_scaled, start, stop),
        cmocka_unit_test_setup_teardown(a_worker_more, start, stop),
        cmocka_unit_test_setup_teardown(a_worker_less, start, stop),
        cmocka_unit_test_setup_teardown(an_item_is_faster, start, stop),
        cmocka_unit_test_setup_teardown(a_waker_is_faster, start, stop),
        cmocka_unit_test_setup_teardown(a_wait_is_not_needed, start, stop),
        cmocka_unit_test_setup_teardown(nobody_waits, start, stop),
        cmocka_unit_test_setup_teardown(launches_are_free, start, stop),
        cmocka_unit_test_setup_teardown(the_newest_first, start, stop),
        cmocka_unit_test_setup_teardown(no_end, start, stop),
        cmocka_unit_test_setup_teardown(times_at_the_ends, start, stop),
        cmocka_unit_test_setup_teardown(nothing_comes, start, stop),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
