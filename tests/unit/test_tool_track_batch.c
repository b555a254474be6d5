/* SPDX-License-Identifier: Apache-2.0 */
/* track_batch.h: from the order of ends to that of begins, each span with its own detail. */
#include "span_order.h"
#include "track_batch.h"
#include "unit.h"

#include <string.h>
#include <stdlib.h>

struct seen {
    struct trace_span *spans; /* in the order in which they came */
    size_t count;
};

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(spans[i].track, 3);
        if (i > 0 && !(spans[i].flags & TRACE_LATE))
            assert_true(span_order(&spans[i - 1], &spans[i]) < 0);
        const struct trace_detail *detail = details ? trace_detail_of(details, &spans[i]) : NULL;
        assert_int_equal(detail ? detail->correlation : 0, spans[i].id % 2 ? spans[i].id : 0);
    }
    seen->spans = realloc(seen->spans, (seen->count + count) * sizeof *spans);
    memcpy(seen->spans + seen->count, spans, count * sizeof *spans);
    seen->count += count;
}

struct fixture {
    struct seen seen;
    struct trace *trace;
    struct track_batch batch;
};

static void start(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    fixture->trace =
        trace_new(&(struct trace_sink){.context = &fixture->seen, .spans = take_spans}, 0);
    assert_non_null(fixture->trace);
    track_batch_start(&fixture->batch, 3);
}

static void stop(struct fixture *fixture)
{
    track_batch_free(&fixture->batch);
    trace_free(fixture->trace);
    free(fixture->seen.spans);
}

static void add(struct fixture *fixture, int64_t start_ns, int64_t stop_ns, bool outermost)
{
    struct trace_span span = {
        .start_ns = start_ns, .stop_ns = stop_ns, .id = (uint64_t)start_ns + 1};
    struct trace_detail detail = {.words = sizeof detail / 8, .correlation = span.id};
    struct trace_span *made = track_batch_next(&fixture->batch, fixture->trace);
    assert_non_null(made);
    *made = span;
    assert_true(track_batch_add(&fixture->batch, span.id % 2 ? &detail : NULL, outermost));
}

/* A tree comes inner ones first and leaves outer ones first; one that is open stays back. */
static void trees_leave_in_order(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture);
    add(&fixture, 2, 3, false);
    add(&fixture, 4, 5, false);
    add(&fixture, 1, 6, false);
    add(&fixture, 0, 9, true);
    add(&fixture, 11, 12, false); /* its outermost one has not ended */
    track_batch_pass(&fixture.batch, fixture.trace);
    assert_int_equal(fixture.seen.count, 4);
    static const int64_t starts[] = {0, 1, 2, 4, 10, 11};
    static const uint16_t depths[] = {0, 1, 2, 2, 0, 1};
    add(&fixture, 10, 20, true);
    track_batch_finish(&fixture.batch, fixture.trace);
    assert_int_equal(fixture.seen.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(fixture.seen.spans[i].start_ns, starts[i]);
        assert_int_equal(fixture.seen.spans[i].depth, depths[i]);
        assert_int_equal(fixture.seen.spans[i].row, 0);
        assert_int_equal(fixture.seen.spans[i].flags, 0);
    }
    stop(&fixture);
}

/* What is inside a call without end is not held back for ever: the call comes late, in a lane in
 * which it overlaps nothing. */
static void too_much_inside_makes_the_outer_one_late(void **state)
{
    (void)state;
    enum { INSIDE = TRACK_BATCH_SPANS + 10 };
    struct fixture fixture;
    start(&fixture);
    for (int64_t i = 0; i < INSIDE; i++)
        add(&fixture, 10 + 2 * i, 11 + 2 * i, false);
    assert_int_equal(fixture.seen.count, TRACK_BATCH_SPANS); /* memory is bounded */
    add(&fixture, 5, 20 + 2 * INSIDE, true);
    track_batch_finish(&fixture.batch, fixture.trace);
    assert_int_equal(fixture.seen.count, INSIDE + 1);
    size_t late = 0;
    for (size_t i = 0; i < fixture.seen.count; i++) {
        const struct trace_span *span = &fixture.seen.spans[i];
        late += span->flags & TRACE_LATE ? 1 : 0;
        if (span->start_ns == 5)
            assert_true(span->flags & TRACE_LATE && span->row == 1);
    }
    assert_int_equal(late, 1);
    stop(&fixture);
}

/* Deep trees: the depth is what it is, and the order is by length where begins are equal. */
static void deep_trees(void **state)
{
    (void)state;
    enum { DEEP = 3000 };
    struct fixture fixture;
    start(&fixture);
    for (int64_t i = DEEP - 1; i >= 0; i--)
        add(&fixture, i / 2, 10000 - i, i == 0);
    track_batch_finish(&fixture.batch, fixture.trace);
    assert_int_equal(fixture.seen.count, DEEP);
    for (int64_t i = 0; i < DEEP; i++) {
        assert_int_equal(fixture.seen.spans[i].stop_ns, 10000 - i);
        assert_int_equal(fixture.seen.spans[i].depth, i);
    }
    stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_leave_in_order),
        cmocka_unit_test(too_much_inside_makes_the_outer_one_late),
        cmocka_unit_test(deep_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
