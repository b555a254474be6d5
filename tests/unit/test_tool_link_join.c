/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: ends of links find each other by key, in whatever order and from whichever source they
 * come, however many there are; what is alone is counted. */
#include "merge_sorter.h"
#include "trace.h"
#include "unit.h"

#include <stdlib.h>

enum { LINKS_MAX = 64 };

struct fixture {
    struct trace *trace;
    struct trace_link links[LINKS_MAX]; /* the first */
    uint64_t count, sum;                /* sum: of the spans at both ends */
};

static void take_link(void *context, const struct trace_link *link)
{
    struct fixture *fixture = context;
    if (fixture->count < LINKS_MAX)
        fixture->links[fixture->count] = *link;
    fixture->count++;
    fixture->sum += link->from_span ^ link->to_span;
}

static void start(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    fixture->trace = trace_new(&(struct trace_sink){.context = fixture, .link = take_link}, 0);
    assert_non_null(fixture->trace);
}

static void add(struct fixture *fixture, bool arrives, uint64_t key, int64_t time_ns, uint64_t span)
{
    trace_add_link_end(fixture->trace, &(struct trace_link_end){.arrives = arrives,
                                                                .kind = TRACE_MESSAGE,
                                                                .process = TRACE_NONE,
                                                                .track = arrives,
                                                                .key = key,
                                                                .time_ns = time_ns,
                                                                .span = span});
}

/* An arrival belongs to the latest departure that was not later; one before all to the first. */
static void arrivals_take_the_latest_departure(void **state)
{
    static const struct {
        bool arrives;
        int64_t time_ns;
        uint64_t span;
    } ends[] = {{true, 5, 105},  {true, 20, 120}, {false, 20, 20}, {true, 29, 129},
                {false, 10, 10}, {true, 30, 130}, {false, 30, 30}, {true, 9, 109}};
    static const uint64_t expected[][2] = {{10, 105}, {10, 109}, {20, 120}, {20, 129}, {30, 130}};
    struct fixture fixture;
    (void)state;
    for (unsigned turn = 0; turn < 8; turn++) { /* whichever comes first */
        start(&fixture);
        for (unsigned i = 0; i < 8; i++)
            add(&fixture, ends[(i * 3 + turn) % 8].arrives, 7, ends[(i * 3 + turn) % 8].time_ns,
                ends[(i * 3 + turn) % 8].span);
        trace_finish(fixture.trace);
        assert_int_equal(fixture.count, 5);
        for (unsigned i = 0; i < 5; i++) {
            assert_int_equal(fixture.links[i].from_span, expected[i][0]);
            assert_int_equal(fixture.links[i].to_span, expected[i][1]);
            assert_int_equal(fixture.links[i].kind, TRACE_MESSAGE);
        }
        assert_int_equal(trace_totals(fixture.trace)->lone_ends, 0);
        trace_free(fixture.trace);
    }
}

/* A key is its space's, its process's and its kind's alone. */
static void keys_of_others_are_not_joined(void **state)
{
    struct fixture fixture;
    (void)state;
    start(&fixture);
    struct trace_link_end end = {.kind = TRACE_LAUNCH, .key = 9, .process = 0, .span = 1};
    trace_add_link_end(fixture.trace, &end);
    end.arrives = true;
    end.space = 1;
    trace_add_link_end(fixture.trace, &end);
    end.space = 0;
    end.process = 1;
    trace_add_link_end(fixture.trace, &end);
    end.process = 0;
    end.kind = TRACE_WAKE;
    trace_add_link_end(fixture.trace, &end);
    end.kind = TRACE_LAUNCH;
    end.key = 10;
    trace_add_link_end(fixture.trace, &end);
    trace_finish(fixture.trace);
    assert_int_equal(fixture.count, 0);
    assert_int_equal(trace_totals(fixture.trace)->lone_ends, 5);
    trace_free(fixture.trace);
}

/* More than is held in memory: all departures, then all arrivals in another order. */
static void many_go_through_a_file(void **state)
{
    const uint64_t count = MERGE_SORTER_ITEMS; /* two pieces */
    struct fixture fixture;
    uint64_t sum = 0;
    (void)state;
    start(&fixture);
    for (uint64_t key = 0; key < count; key++) {
        add(&fixture, false, key * 7919 % count, (int64_t)key, key + 1);
        sum += (key + 1) ^ (key * 7919 % count);
    }
    for (uint64_t key = count; key-- > 0;)
        add(&fixture, true, key, 1 << 20, key);
    trace_finish(fixture.trace);
    assert_int_equal(fixture.count, count);
    assert_int_equal(fixture.sum, sum);
    assert_int_equal(trace_totals(fixture.trace)->lone_ends, 0);
    assert_int_equal(trace_totals(fixture.trace)->links, count);
    trace_free(fixture.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrivals_take_the_latest_departure),
        cmocka_unit_test(keys_of_others_are_not_joined),
        cmocka_unit_test(many_go_through_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
