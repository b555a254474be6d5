/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the records of a launch were made: every number that ptx_timing.h speaks of, for launches
 * whose times can be worked out by hand.
 */
#include "ptx_cell.h"
#include "ptx_timing.h"
#include "unit.h"

#include <string.h>

enum { LANES = 2, ROWS = 2, WRONG = 100000, LOW = 1000, HIGH = 9000 };
#define GHZ UINT64_C(1000000000)

/* ---- made ------------------------------------------------------------------------------------ */

/* A record of a lane; gt: what the timer said at its end. */
struct made_record {
    uint64_t start, end, gt;
};
struct made_lane {
    uint64_t gt, clock;
    struct made_record record[ROWS];
};

static struct ptx_cell cells[ROWS * LANES];
static uint8_t bytes[PTX_WIDE_BYTES * (1 + LANES * (ROWS + 1))];

static void store_u64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static struct ptx_matrix matrix_of(bool wide, const struct made_lane lanes[LANES])
{
    memset(bytes, 0, sizeof bytes);
    for (uint32_t l = 0; l < LANES; l++) {
        uint8_t *at = bytes + PTX_WIDE_BYTES * (1 + l * (ROWS + 1));
        store_u64(at, lanes[l].gt);
        store_u64(at + 8, lanes[l].clock);
        for (uint32_t r = 0; r < ROWS; r++) {
            const struct made_record *record = &lanes[l].record[r];
            cells[r * LANES + l] = (struct ptx_cell){1, 2, record->start, record->end};
            store_u64(at + PTX_WIDE_BYTES * (r + 1) + 16, record->gt);
        }
    }
    return (struct ptx_matrix){.rows = ROWS,
                               .lanes = LANES,
                               .cells = cells,
                               .capacity = ROWS,
                               .wide = wide ? bytes : NULL};
}

/* Of 8 us. */
static struct ptx_launch launch_at(int64_t start_ns, int64_t stop_ns, uint64_t clock_hz)
{
    return (struct ptx_launch){.launch_ns = LOW,
                               .launched_ns = LOW,
                               .done_ns = HIGH,
                               .start_ns = start_ns,
                               .stop_ns = stop_ns,
                               .clock_hz = clock_hz};
}

static struct ptx_timing found(const struct ptx_launch *launch, const struct ptx_matrix *matrix)
{
    struct ptx_timing timing;
    ptx_timing_find(&timing, launch, matrix);
    return timing;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void assert_unanchored(const struct ptx_timing *timing, int64_t low_ns, int64_t start_ns,
                              int64_t stop_ns, uint64_t bound_ns)
{
    assert_false(timing->anchored);
    assert_int_equal(timing->low_ns, low_ns);
    assert_int_equal(timing->high_ns, HIGH);
    assert_int_equal(timing->start_ns, start_ns);
    assert_int_equal(timing->stop_ns, stop_ns);
    assert_int_equal(timing->bound_ns, bound_ns);
}

/* Of a launch alone the kernel is as long as the time from its being there to its end. */
static void nothing_known(void **state)
{
    (void)state;
    static const int64_t launched_ns[][2] = {{1500, 1500},   {LOW, LOW},      {HIGH, HIGH},
                                             {LOW - 1, LOW}, {HIGH + 1, LOW}, {0, LOW}};
    for (size_t i = 0; i < sizeof launched_ns / sizeof *launched_ns; i++) {
        struct ptx_launch launch = launch_at(0, 7000, GHZ);
        launch.launched_ns = launched_ns[i][0];
        struct ptx_timing timing = found(&launch, NULL);
        int64_t low_ns = launched_ns[i][1], length_ns = HIGH - low_ns;
        assert_unanchored(&timing, low_ns, 0, length_ns, (uint64_t)length_ns);
        assert_int_equal(ptx_timing_host(&timing, 0), low_ns);
        assert_int_equal(ptx_timing_host(&timing, length_ns), HIGH);
        assert_int_equal(ptx_timing_host(&timing, length_ns + 1), HIGH);
        assert_int_equal(ptx_timing_host(&timing, -1), low_ns);
    }
}

/* Without anchors it ran somewhere in the launch. One that ended before it began is not known. */
static void device_times_alone(void **state)
{
    (void)state;
    static const struct {
        int64_t start_ns, stop_ns, then_start_ns, then_stop_ns;
        uint64_t bound_ns;
    } cases[] = {{500, 3500, 500, 3500, 5000}, {500, 500, 500, 500, 8000},
                 {500, 499, 0, 8000, 8000},    {500, 8499, 500, 8499, 1},
                 {500, 8500, 500, 8500, 8000}, {500, 100000, 500, 100000, 8000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ptx_launch launch = launch_at(cases[i].start_ns, cases[i].stop_ns, 3 * GHZ);
        struct ptx_timing timing = found(&launch, NULL);
        assert_unanchored(&timing, LOW, cases[i].then_start_ns, cases[i].then_stop_ns,
                          cases[i].bound_ns);
        assert_true(timing.cycles_per_ns == 3);
        assert_int_equal(ptx_timing_host(&timing, timing.start_ns + 100), LOW + 100);
    }
}

/* ---- anchors --------------------------------------------------------------------------------- */

enum { AHEAD = 100000 }; /* of the host is the device */

static struct ptx_anchor anchor_at(int64_t host_ns, int64_t more_ns, int64_t bound_ns)
{
    return (struct ptx_anchor){host_ns + AHEAD - more_ns, host_ns, bound_ns};
}

static struct ptx_launch with_anchors(int64_t start_ns, int64_t stop_ns, struct ptx_anchor first,
                                      struct ptx_anchor second)
{
    struct ptx_launch launch = launch_at(start_ns + AHEAD, stop_ns + AHEAD, GHZ);
    launch.anchors[0] = first;
    launch.anchors[1] = second;
    launch.anchor_count = 2;
    return launch;
}

/* The best one before and after the launch, the first of equal ones, or the only one. */
static void the_best_anchors(void **state)
{
    (void)state;
    struct ptx_launch launch =
        with_anchors(2000, 5000, anchor_at(500, 0, 30), anchor_at(LOW, 0, 10));
    launch.anchors[2] = anchor_at(900, 0, 10);
    launch.anchors[3] = anchor_at(LOW + 1, 0, 20);
    launch.anchors[4] = anchor_at(10000, 0, 15);
    launch.anchors[5] = anchor_at(11000, 0, 15);
    launch.anchor_count = 6;
    struct ptx_timing timing = found(&launch, NULL);
    assert_true(timing.anchored);
    assert_int_equal(timing.from.host_ns, LOW);
    assert_int_equal(timing.to.host_ns, 10000);
    assert_int_equal(timing.bound_ns, 15);
    assert_int_equal(ptx_timing_host(&timing, AHEAD + 2000), 2000);
    assert_int_equal(ptx_timing_host(&timing, AHEAD + 5000), 5000);
    assert_int_equal(ptx_timing_host(&timing, AHEAD + 900), LOW);
    assert_int_equal(ptx_timing_host(&timing, AHEAD + HIGH + 1), HIGH);
    for (int after = 0; after < 2; after++) {
        launch = with_anchors(2000, 5000, anchor_at(after ? 10000 : 500, 0, 30), launch.anchors[0]);
        launch.anchor_count = 1;
        timing = found(&launch, NULL);
        assert_true(timing.anchored);
        assert_int_equal(timing.from.host_ns, timing.to.host_ns);
        assert_int_equal(timing.bound_ns, 30);
        assert_int_equal(ptx_timing_host(&timing, AHEAD + 2000), 2000);
    }
}

/* Between anchors the offset goes from the one to the other; where they contradict each other one
 * of them is wrong by all of that. */
static void anchors_that_drift(void **state)
{
    (void)state;
    static const struct {
        int64_t until_ns, drift_ns;
        uint64_t bound_ns;
    } cases[] = {{10000, 40, 20},
                 {10000, -40, 20},
                 {10000, 42, 42},
                 {10000, -42, 42},
                 {5000500 + 2040, 2040, 20},
                 {5000500 + 2042, 2042, 2042},
                 {5000500 - 2042, -2042, 2042},
                 {4999500, 2000, 2000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ptx_launch launch = with_anchors(
            2000, 5000, anchor_at(500, 0, 20), anchor_at(cases[i].until_ns, cases[i].drift_ns, 10));
        launch.done_ns = 6000000;
        struct ptx_timing timing = found(&launch, NULL);
        assert_true(timing.anchored);
        assert_int_equal(timing.bound_ns, cases[i].bound_ns);
        int64_t apart_ns = timing.to.device_ns - timing.from.device_ns;
        int64_t half_ns = timing.from.device_ns + apart_ns / 2;
        assert_in_range(ptx_timing_host(&timing, half_ns) - (half_ns - AHEAD) -
                            cases[i].drift_ns / 2 + 1,
                        0, 2);
        int64_t beyond_ns = cases[i].until_ns < 100000 ? apart_ns : 50;
        assert_int_equal(ptx_timing_host(&timing, timing.to.device_ns + beyond_ns),
                         timing.to.host_ns + beyond_ns);
    }
    struct ptx_launch unknown =
        with_anchors(2000, 5000, anchor_at(500, 0, 20), anchor_at(10000, 0, 20));
    unknown.start_ns = unknown.stop_ns = 0; /* anchors of nothing */
    struct ptx_timing of_nothing = found(&unknown, NULL);
    assert_unanchored(&of_nothing, LOW, 0, HIGH - LOW, HIGH - LOW);
    const struct ptx_launch apart =
        with_anchors(2000, 5000, anchor_at(500, 0, 20), anchor_at(10000, 9501, 20));
    struct ptx_timing timing = found(&apart, NULL); /* the later one is earlier on the device */
    assert_unanchored(&timing, LOW, AHEAD + 2000, AHEAD + 5000, 5000);
}

/* A kernel that anchors put outside of its launch shows by how much they are wrong, up to a bound.
 */
static void anchors_that_do_not_fit(void **state)
{
    (void)state;
    static const struct {
        int64_t start_ns, stop_ns, bound_ns;
    } cases[] = {{LOW - 20, 5000, 20},
                 {LOW - 21, 5000, 21},
                 {2000, HIGH + 20, 20},
                 {2000, HIGH + 21, 21},
                 {LOW - 200, HIGH + 300, 300},
                 {LOW - 300, HIGH + 200, 300},
                 {LOW - WRONG + 80, 2000, WRONG - 80},
                 {2000, HIGH + 20 + WRONG, 20 + WRONG}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ptx_launch launch = with_anchors(
            cases[i].start_ns, cases[i].stop_ns, anchor_at(500, 0, 20), anchor_at(10000, 0, 20));
        struct ptx_timing timing = found(&launch, NULL);
        assert_true(timing.anchored);
        assert_int_equal(timing.bound_ns, cases[i].bound_ns);
    }
    const struct ptx_launch launch =
        with_anchors(2000, HIGH + 21 + WRONG, anchor_at(500, 0, 20), anchor_at(10000, 0, 20));
    struct ptx_timing timing = found(&launch, NULL);
    assert_unanchored(&timing, LOW, AHEAD + 2000, AHEAD + HIGH + 21 + WRONG, 8000);
}

/* ---- wide lanes ------------------------------------------------------------------------------ */

static void assert_lane(const struct ptx_timing *timing, uint32_t number, uint64_t clock,
                        int64_t device_ns, double cycles_per_ns, uint64_t bound_ns)
{
    struct ptx_lane_timing lane;
    ptx_timing_lane(timing, number, &lane);
    assert_int_equal(lane.clock, clock);
    assert_int_equal(lane.device_ns, device_ns);
    assert_true(lane.cycles_per_ns == cycles_per_ns);
    assert_int_equal(lane.bound_ns, bound_ns);
}

/* A lane's clock is a line through its head, in the middle of what the timer says of its records,
 * and the kernel is from the first that any of them says to the last. */
static void lines_of_wide_lanes(void **state)
{
    (void)state;
    static const struct made_lane lanes[LANES] = {
        {50000, 1000, {{1200, 1400, 50200}, {1600, 2000, 50500}}},
        {50100, 5000, {{5100, 5400, 50310}, {0}}}};
    struct ptx_matrix matrix = matrix_of(true, lanes);
    const struct ptx_launch launch = launch_at(0, 0, 2 * GHZ);
    struct ptx_timing timing = found(&launch, &matrix);
    assert_unanchored(&timing, LOW, 50000, 50500, 7500);
    assert_lane(&timing, 0, 1000, 50000, 2, 0);
    assert_lane(&timing, 1, 5000, 50105, 2, 5);
    struct ptx_lane_timing lane;
    ptx_timing_lane(&timing, 0, &lane);
    assert_int_equal(ptx_timing_at(&timing, &lane, 1200), LOW + 100);
    assert_int_equal(ptx_timing_at(&timing, &lane, 800), LOW);
    assert_int_equal(ptx_timing_at(&timing, &lane, UINT64_MAX), HIGH);
    lane.clock = UINT64_MAX;
    assert_int_equal(ptx_timing_at(&timing, &lane, 0), LOW);
    lane = (struct ptx_lane_timing){.clock = 1000, .device_ns = 50100, .cycles_per_ns = 2};
    assert_int_equal(ptx_timing_at(&timing, &lane, 900), LOW + 50);
}

/* Where the line is off, it and with it the kernel goes beyond what the timer said. */
static void lines_beyond_the_timer(void **state)
{
    (void)state;
    static const struct made_lane lanes[LANES] = {
        {50000, 1000, {{1000, 3000, 50900}, {0}}},
        {50010, 1000, {{1200, 1400, 50310}, {1600, 1800, 50350}}}};
    struct ptx_matrix matrix = matrix_of(true, lanes);
    const struct ptx_launch launch = launch_at(50020, 50800, 2 * GHZ);
    struct ptx_timing timing = found(&launch, &matrix);
    assert_unanchored(&timing, LOW, 49950, 50950, 7000);
    assert_lane(&timing, 0, 1000, 49950, 2, 50);
    assert_lane(&timing, 1, 1000, 50030, 2, 80);
    static const struct made_lane late[LANES] = {{50000, 1000, {{1000, 1400, 51000}, {0}}},
                                                 {50000, 1000, {{1000, 1400, 50200}, {0}}}};
    matrix = matrix_of(true, late);
    timing = found(&launch, &matrix);
    assert_unanchored(&timing, LOW, 50000, 51000, 7000);
    assert_lane(&timing, 0, 1000, 50400, 2, 400);
}

/* The clock's rate is that of lanes that ran for 10 us, each as long as it did; of a lane that ran
 * for 100 us its own. */
static void rates_of_clocks(void **state)
{
    (void)state;
    static const struct {
        uint64_t clock_hz, ns[LANES], cycles[LANES];
        double rate, own[LANES];
    } cases[] = {{2 * GHZ, {10000, 10000}, {30000, 50000}, 4, {4, 4}},
                 {2 * GHZ, {10000, 5000}, {30000, 15000}, 3, {3, 3}},
                 {2 * GHZ, {9999, 9999}, {30000, 30000}, 2, {2, 2}},
                 {0, {500, 500}, {1000, 2000}, 3, {3, 3}},
                 {GHZ, {100000, 100000}, {300000, 100000}, 2, {3, 1}},
                 {GHZ, {100000, 50000}, {300000, 0}, 3, {3, 3}},
                 {GHZ, {99999, 99999}, {3 * 99999, 99999}, 2, {2, 2}},
                 {0, {0, 0}, {1000, 1000}, 1, {1, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_lane lanes[LANES];
        for (uint32_t l = 0; l < LANES; l++) {
            const uint64_t end = 1000 + cases[i].cycles[l];
            lanes[l] = (struct made_lane){
                50000, 1000, {{900, 1000, 50000}, {end - 1, end, 50000 + cases[i].ns[l]}}};
        }
        struct ptx_matrix matrix = matrix_of(true, lanes);
        const struct ptx_launch launch = launch_at(0, 0, cases[i].clock_hz);
        struct ptx_timing timing = found(&launch, &matrix);
        assert_true(timing.cycles_per_ns == cases[i].rate);
        for (uint32_t l = 0; l < LANES; l++) {
            struct ptx_lane_timing lane;
            ptx_timing_lane(&timing, l, &lane);
            assert_true(lane.cycles_per_ns == cases[i].own[l]);
        }
    }
}

/* What cannot be a time is none: a lane without one is timed as a compat one; records that end
 * before they begin are none. */
static void broken_wide_lanes(void **state)
{
    (void)state;
    static const uint64_t no_times[] = {0, UINT64_C(1) << 62, UINT64_MAX};
    for (size_t i = 0; i < sizeof no_times / sizeof *no_times; i++) {
        const struct made_lane lanes[LANES] = {
            {no_times[i], 1, {{5000, 6000, no_times[i]}, {7000, 6999, 99999}}},
            {50000, 1000, {{1000, 5000, 52000}, {1500, 1400, 99999}}}};
        struct ptx_matrix matrix = matrix_of(true, lanes);
        const struct ptx_launch launch = launch_at(0, 0, 2 * GHZ);
        struct ptx_timing timing = found(&launch, &matrix);
        assert_unanchored(&timing, LOW, 50000, 52000, 6000);
        assert_lane(&timing, 0, 5000, 50000, 2, 1500);
        assert_lane(&timing, 1, 1000, 50000, 2, 0);
    }
    /* Of records only the timer's values are none. */
    const struct made_lane lanes[LANES] = {{50000, 1000, {{1000, 5000, 0}, {5000, 9000, 0}}},
                                           {50000, 1000, {{1000, 2000, 50500}, {0}}}};
    struct ptx_matrix matrix = matrix_of(true, lanes);
    const struct ptx_launch launch = launch_at(0, 0, 2 * GHZ);
    struct ptx_timing timing = found(&launch, &matrix);
    assert_unanchored(&timing, LOW, 50000, 54000, 4000);
    assert_lane(&timing, 0, 1000, 50000, 2, 0);
}

/* ---- compat lanes ---------------------------------------------------------------------------- */

/* They begin with the kernel, or as much later as they are shorter; none takes longer than it. */
static void compat_lanes(void **state)
{
    (void)state;
    static const struct made_lane lanes[LANES] = {{0, 0, {{3000, 3100, 0}, {100, 90, 0}}},
                                                  {0, 0, {{1100, 1100, 0}, {100, 400, 0}}}};
    struct ptx_matrix matrix = matrix_of(false, lanes);
    static const struct {
        uint64_t clock_hz;
        int64_t stop_ns;
        double rate;
        uint64_t bound_ns[LANES];
    } cases[] = {{GHZ, 52000, 1, {1900, 1000}}, {2 * GHZ, 50400, 2.5, {360, 0}},
                 {0, 50500, 2, {450, 0}},       {2 * GHZ, 50500, 2, {450, 0}},
                 {0, 50001, 1000, {0, 0}},      {0, 50000, 1, {0, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ptx_launch launch = launch_at(50000, cases[i].stop_ns, cases[i].clock_hz);
        struct ptx_timing timing = found(&launch, &matrix);
        assert_true(timing.cycles_per_ns == cases[i].rate);
        assert_lane(&timing, 0, 3000, 50000, cases[i].rate, cases[i].bound_ns[0]);
        assert_lane(&timing, 1, 100, 50000, cases[i].rate, cases[i].bound_ns[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known),           cmocka_unit_test(device_times_alone),
        cmocka_unit_test(the_best_anchors),        cmocka_unit_test(anchors_that_drift),
        cmocka_unit_test(anchors_that_do_not_fit), cmocka_unit_test(lines_of_wide_lanes),
        cmocka_unit_test(lines_beyond_the_timer),  cmocka_unit_test(rates_of_clocks),
        cmocka_unit_test(broken_wide_lanes),       cmocka_unit_test(compat_lanes),
    };
    return cmocka_run_group_tests_name("ptx timing", tests, NULL, NULL);
}
