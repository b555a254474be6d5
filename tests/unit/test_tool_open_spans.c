/* SPDX-License-Identifier: Apache-2.0 */
/* event_spans.h: begins and ends by key, many of them at once. */
#include "event_spans.h"
#include "trace_span.h"
#include "unit.h"

enum { KEYS = 3 * OPEN_SPANS_CELLS };

static struct open_spans open_now;

static void push(uint64_t key, int64_t start_ns)
{
    const struct trace_span span = {.start_ns = start_ns, .id = key};
    assert_true(open_spans_push(&open_now, key, &span, NULL));
}

static int64_t pop(uint64_t key)
{
    struct trace_span span = {.start_ns = -1};
    struct trace_detail *detail;
    if (!open_spans_pop(&open_now, key, &span, &detail))
        return -1;
    assert_int_equal(span.id, key);
    assert_null(detail);
    return span.start_ns;
}

/* More keys than there are lists: each end finds its own key's newest begin, whatever was opened
 * beside it and in whatever order, once. */
static void each_finds_its_own(void **state)
{
    (void)state;
    for (int64_t round = 0; round < 2; round++)
        for (uint64_t key = 1; key <= KEYS; key++)
            push(key, (int64_t)key * 10 + round);
    for (int64_t round = 2; round-- > 0;)
        for (uint64_t key = 1; key <= KEYS; key++)
            assert_int_equal(pop(key), (int64_t)key * 10 + round);
    for (uint64_t key = 1; key <= KEYS; key++)
        assert_int_equal(pop(key), -1);
    open_spans_free(&open_now);
}

/* What is closed makes room; what is left comes out once. */
static void room_is_used_again(void **state)
{
    (void)state;
    struct trace_span span;
    struct trace_detail *detail;
    open_now = (struct open_spans){0};
    for (int64_t i = 0; i < 10000; i++) {
        push(5, i);
        assert_int_equal(pop(5), i);
    }
    assert_int_equal(open_now.count, 1);
    push(5, 1);
    push(6, 2);
    assert_true(open_spans_pop_any(&open_now, &span, &detail));
    assert_true(open_spans_pop_any(&open_now, &span, &detail));
    assert_false(open_spans_pop_any(&open_now, &span, &detail));
    open_spans_free(&open_now);
}

/* Guards: the room grows to all that is promised, and what is left of so many comes out at once. */
static void as_many_as_promised_are_kept(void **state)
{
    (void)state;
    open_now = (struct open_spans){0};
    for (uint32_t key = 1; key <= OPEN_SPANS_MAX; key++)
        push(key, 0);
    assert_false(open_spans_push(&open_now, 1, &(struct trace_span){0}, NULL));
    assert_int_equal(pop(77), 0);
    push(77, 7);
    assert_int_equal(pop(77), 7);
    open_spans_free(&open_now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_finds_its_own),
        cmocka_unit_test(room_is_used_again),
        cmocka_unit_test(as_many_as_promised_are_kept),
    };
    return cmocka_run_group_tests_name("open_spans", tests, NULL, NULL);
}
