/* SPDX-License-Identifier: Apache-2.0 */
/* span_batch.h: what partly overlaps goes side by side. */
#include "span_batch.h"
#include "unit.h"

#include <stdlib.h>

static void expect_place(struct lanes *lanes, int64_t start_ns, int64_t stop_ns, int lane,
                         int depth)
{
    uint16_t found;
    assert_int_equal(lanes_place(lanes, start_ns, stop_ns, false, &found), lane);
    assert_int_equal(found, depth);
}

/* Enclosed and abutting spans share a lane; only a partial overlap opens another. */
static void shares_a_lane_while_it_can(void **state)
{
    (void)state;
    struct lanes lanes = {0};
    expect_place(&lanes, 0, 100, 0, 0);
    expect_place(&lanes, 0, 100, 0, 1); /* equal ones nest */
    expect_place(&lanes, 10, 50, 0, 2);
    expect_place(&lanes, 50, 100, 0, 2); /* touches what ended */
    expect_place(&lanes, 60, 120, 1, 0);
    expect_place(&lanes, 70, 110, 1, 1);
    expect_place(&lanes, 80, 130, 2, 0);
    expect_place(&lanes, 100, 140, 0, 0); /* lane 0 is free again, the others are not */
    expect_place(&lanes, 200, 201, 0, 0);
    lanes_free(&lanes);
}

/* A late span may not stand among what its lane already shows. */
static void late_spans_follow_all_of_a_lane(void **state)
{
    (void)state;
    struct lanes lanes = {0};
    uint16_t depth;
    expect_place(&lanes, 100, 200, 0, 0);
    assert_int_equal(lanes_place(&lanes, 50, 150, true, &depth), 1);
    assert_int_equal(lanes_place(&lanes, 120, 130, true, &depth), 2);
    assert_int_equal(lanes_place(&lanes, 200, 210, true, &depth), 0);
    lanes_free(&lanes);
}

/* The promise to sinks, over random spans in order: two of a lane are disjoint or nested, and the
 * depth is the number of those around. */
static void random_spans_never_overlap_partly(void **state)
{
    (void)state;
    enum { SPANS = 600 };
    struct {
        int64_t start, stop;
        int lane;
    } placed[SPANS];
    struct lanes lanes = {0};
    srand(5);
    int64_t start = 0;
    for (int i = 0; i < SPANS; i++) {
        uint16_t depth;
        start += 1 + rand() % 3; /* no two begin at once: their order would be by length */
        placed[i].start = start;
        placed[i].stop = start + rand() % 40;
        placed[i].lane = lanes_place(&lanes, start, placed[i].stop, false, &depth);
        int around = 0;
        for (int j = 0; j < i; j++) {
            if (placed[j].lane != placed[i].lane || placed[j].stop <= start)
                continue;
            assert_true(placed[j].stop >= placed[i].stop);
            around++;
        }
        assert_int_equal(depth, around);
    }
    assert_true(lanes.count > 2);
    lanes_free(&lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_a_lane_while_it_can),
        cmocka_unit_test(late_spans_follow_all_of_a_lane),
        cmocka_unit_test(random_spans_never_overlap_partly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
