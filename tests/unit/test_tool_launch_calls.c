/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_bias.h: the call around a launch, whether its record stands before or behind; each fact
 * once. */
#include "gpu_bias.h"
#include "unit.h"

enum { FACTS = 8, THREAD = 7 };

struct answers {
    uint32_t count;
    uint64_t call[FACTS];
};

static void on_answer(void *context, const struct gpu_fact *fact)
{
    struct answers *answers = context;
    assert_true(answers->count < FACTS);
    answers->call[answers->count++] = fact->call;
}

static void call(struct launch_calls *calls, uint64_t id, int64_t begin_ns, int64_t end_ns)
{
    launch_calls_add(calls, &(struct record_pair){.kind = PAIR_COARSE,
                                                  .id = id,
                                                  .thread_id = THREAD,
                                                  .has_begin = true,
                                                  .has_end = true,
                                                  .begin_ns = begin_ns,
                                                  .end_ns = end_ns});
}

static void launched(struct launch_calls *calls, int64_t launch_ns)
{
    launch_calls_fact(calls, &(struct gpu_fact){.thread_id = THREAD, .launch_ns = launch_ns});
}

static void a_call_that_is_known_answers_at_once(void **state)
{
    (void)state;
    struct answers answers = {0};
    struct launch_calls *calls = launch_calls_new(on_answer, &answers);
    assert_non_null(calls);
    call(calls, 1, 10, 20);
    call(calls, 2, 30, 40);
    static const int64_t times[] = {35, 40, 30, 20, 10, 25, 5};
    static const uint64_t want[] = {2, 2, 2, 1, 1, 0, 0};
    for (uint32_t i = 0; i < 7; i++) {
        launched(calls, times[i]);
        assert_int_equal(answers.count, i + 1);
        assert_int_equal(answers.call[i], want[i]);
    }
    assert_false(launch_calls_failed(calls));
    launch_calls_free(calls);
}

static void a_later_call_answers_what_waits(void **state)
{
    (void)state;
    struct answers answers = {0};
    struct launch_calls *calls = launch_calls_new(on_answer, &answers);
    launched(calls, 15);
    call(calls, 1, 10, 20);
    assert_int_equal(answers.count, 1);
    assert_int_equal(answers.call[0], 1);
    launched(calls, 25); /* between two calls */
    launched(calls, 41); /* behind all */
    assert_int_equal(answers.count, 1);
    call(calls, 2, 30, 40);
    assert_int_equal(answers.count, 2);
    assert_int_equal(answers.call[1], 0);
    launch_calls_finish(calls);
    assert_int_equal(answers.count, 3);
    assert_int_equal(answers.call[2], 0);
    launch_calls_finish(calls);
    assert_int_equal(answers.count, 3);
    launch_calls_free(calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_is_known_answers_at_once),
        cmocka_unit_test(a_later_call_answers_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
