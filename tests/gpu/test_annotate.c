/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User ranges on the timeline of GPUs, from plain records. Guards: one annotation for each (device,
 * stream, range), from the first start to the last stop of its kernels, copies and sets; nothing
 * that was not asked for, lies outside the window or is of the host; no interval lost because its
 * range or its correlation's record came late; ids of 64 bits; a session that begins knows nothing
 * of the one before; and, for records at random in any order, what a search by brute force finds.
 */
#include "rbwp_annotate.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { USER = RBWP_EXTERNAL_USER, OPERATOR = RBWP_EXTERNAL_OPERATOR };
#define ID 1234u

static struct rbwp_annotator *new_annotator(struct rbwp_annotator_config config)
{
    struct rbwp_annotator *annotator;
    config.size = sizeof config;
    config.requested = config.requested ? config.requested : RBWP_ACTIVITIES_ANNOTATED;
    assert_int_equal(rbwp_annotator_new(&config, &annotator), RBWP_OK);
    return annotator;
}

static void know(struct rbwp_annotator *annotator, uint64_t id, uint64_t parent)
{
    rbwp_annotator_range(annotator, &(struct rbwp_annotate_range){id, parent, id + 1, ~id});
}

static void add(struct rbwp_annotator *annotator, unsigned kind, uint64_t stream,
                uint64_t correlation, int64_t start_ns, int64_t stop_ns)
{
    rbwp_annotator_activity(annotator, &(struct rbwp_annotate_activity){.kind = kind,
                                                                        .stream = stream,
                                                                        .correlation = correlation,
                                                                        .start_ns = start_ns,
                                                                        .stop_ns = stop_ns});
}

static void correlate_example(struct rbwp_annotator *annotator)
{
    for (uint64_t correlation = 77; correlation <= 79; correlation++)
        rbwp_annotator_correlate(annotator, USER, correlation, ID);
}

/* A launch, a kernel and a copy on stream 7, a kernel on stream 9. */
static void work_example(struct rbwp_annotator *annotator)
{
    add(annotator, RBWP_ACTIVITY_RUNTIME, 42, 77, 600, 700);
    add(annotator, RBWP_ACTIVITY_KERNEL, 7, 77, 1000, 1500);
    add(annotator, RBWP_ACTIVITY_COPY, 7, 78, 1600, 1700);
    add(annotator, RBWP_ACTIVITY_KERNEL, 9, 79, 900, 1200);
}

static size_t finish(struct rbwp_annotator *annotator, const struct rbwp_annotation **list_out)
{
    size_t count;
    assert_int_equal(rbwp_annotator_finish(annotator, list_out, &count), RBWP_OK);
    return count;
}

static void assert_annotation(const struct rbwp_annotation *annotation, uint64_t stream,
                              uint64_t range, int64_t start_ns, int64_t stop_ns)
{
    assert_int_equal(annotation->stream, stream);
    assert_int_equal(annotation->range, range);
    assert_int_equal(annotation->name, range + 1);
    assert_int_equal(annotation->start_ns, start_ns);
    assert_int_equal(annotation->stop_ns, stop_ns);
}

static struct rbwp_annotate_counts counts_of(const struct rbwp_annotator *annotator)
{
    struct rbwp_annotate_counts counts;
    rbwp_annotator_counts(annotator, &counts);
    return counts;
}

static void assert_example(struct rbwp_annotator *annotator)
{
    const struct rbwp_annotation *list;
    assert_int_equal(finish(annotator, &list), 2);
    assert_annotation(&list[0], 7, ID, 1000, 1700);
    assert_annotation(&list[1], 9, ID, 900, 1200);
    assert_int_equal(list[0].activities, 2);
    assert_int_equal(list[0].tag, ~(uint64_t)ID);
}

/* ---- one property each ------------------------------------------------------------ */

/* Two kinds of ids apart, the last record counts, a third kind is counted and nothing else. */
static void test_kinds(void **state)
{
    (void)state;
    struct rbwp_annotator *annotator = new_annotator((struct rbwp_annotator_config){0});
    uint64_t id;
    rbwp_annotator_correlate(annotator, USER, 77, 5);
    rbwp_annotator_correlate(annotator, OPERATOR, 77, 6);
    rbwp_annotator_correlate(annotator, OPERATOR, 78, 7);
    rbwp_annotator_correlate(annotator, 5, 77, 9);
    assert_true(rbwp_annotator_external(annotator, USER, 77, &id) && id == 5);
    assert_true(rbwp_annotator_external(annotator, OPERATOR, 77, &id) && id == 6);
    assert_false(rbwp_annotator_external(annotator, USER, 78, &id));
    assert_false(rbwp_annotator_external(annotator, 5, 77, &id));
    rbwp_annotator_correlate(annotator, USER, 77, ID);
    assert_true(rbwp_annotator_external(annotator, USER, 77, &id) && id == ID);
    assert_int_equal(counts_of(annotator).unknown_kind, 1);
    rbwp_annotator_free(annotator);
}

/* A record that replaces another counts for work that came between the two. */
static void test_last_record_counts(void **state)
{
    (void)state;
    const struct rbwp_annotation *list;
    struct rbwp_annotator *annotator = new_annotator((struct rbwp_annotator_config){0});
    know(annotator, 5, 0);
    know(annotator, ID, 0);
    rbwp_annotator_correlate(annotator, USER, 77, 5);
    add(annotator, RBWP_ACTIVITY_KERNEL, 7, 77, 10, 20);
    rbwp_annotator_correlate(annotator, USER, 77, ID);
    assert_int_equal(finish(annotator, &list), 1);
    assert_annotation(&list[0], 7, ID, 10, 20);
    rbwp_annotator_free(annotator);
}

static void test_example(void **state)
{
    (void)state;
    struct rbwp_annotator *annotator = new_annotator((struct rbwp_annotator_config){0});
    rbwp_annotator_begin(annotator, 0, 5000);
    know(annotator, ID, 0);
    correlate_example(annotator);
    work_example(annotator);
    assert_example(annotator);
    rbwp_annotator_free(annotator);
}

static void test_only_when_asked_for(void **state)
{
    (void)state;
    static const uint32_t requested[] = {RBWP_ACTIVITY_BIT(RBWP_ACTIVITY_KERNEL) |
                                             RBWP_ACTIVITY_BIT(RBWP_ACTIVITY_COPY),
                                         RBWP_ACTIVITY_BIT(RBWP_ACTIVITY_ANNOTATION)};
    const struct rbwp_annotation *list;
    for (int i = 0; i < 2; i++) {
        struct rbwp_annotator *annotator =
            new_annotator((struct rbwp_annotator_config){.requested = requested[i]});
        know(annotator, ID, 0);
        correlate_example(annotator);
        work_example(annotator);
        assert_int_equal(finish(annotator, &list), 0);
        rbwp_annotator_free(annotator);
    }
}

struct lookup {
    unsigned refusals, asked;
};

static bool find(void *context, uint64_t id, struct rbwp_annotate_range *range_out)
{
    struct lookup *lookup = context;
    if (lookup->asked++ < lookup->refusals)
        return false;
    range_out->name = id + 1;
    return true;
}

/* The first question is answered with "not yet". */
static void test_asks_again(void **state)
{
    (void)state;
    const struct rbwp_annotation *list;
    for (int strict = 0; strict < 2; strict++) {
        struct lookup lookup = {.refusals = 1};
        struct rbwp_annotator *annotator = new_annotator(
            (struct rbwp_annotator_config){.strict = strict, .find = find, .context = &lookup});
        correlate_example(annotator);
        work_example(annotator);
        assert_int_equal(finish(annotator, &list), 2);
        assert_annotation(&list[0], 7, ID, strict ? 1600 : 1000, 1700);
        assert_annotation(&list[1], 9, ID, 900, 1200);
        assert_int_equal(counts_of(annotator).too_early, strict);
        assert_int_equal(lookup.asked, 2);
        rbwp_annotator_free(annotator);
    }
}

/* Answered with "no" for ever: counted, and emitted when it is known in the end. */
static void test_unresolved(void **state)
{
    (void)state;
    const struct rbwp_annotation *list;
    struct lookup lookup = {.refusals = 1000};
    struct rbwp_annotator *annotator =
        new_annotator((struct rbwp_annotator_config){.find = find, .context = &lookup});
    correlate_example(annotator);
    work_example(annotator);
    assert_int_equal(finish(annotator, &list), 0);
    assert_int_equal(counts_of(annotator).unresolved, 2);
    know(annotator, ID, 0);
    assert_example(annotator);
    assert_int_equal(counts_of(annotator).unresolved, 0);
    rbwp_annotator_free(annotator);
}

static void test_window(void **state)
{
    (void)state;
    const struct rbwp_annotation *list;
    struct rbwp_annotator *annotator = new_annotator((struct rbwp_annotator_config){0});
    rbwp_annotator_begin(annotator, 900, 1500);
    know(annotator, ID, 0);
    correlate_example(annotator);
    work_example(annotator);
    add(annotator, RBWP_ACTIVITY_SET, 7, 77, 899, 1000);
    add(annotator, RBWP_ACTIVITY_SET, 7, 77, 1400, 1399);
    assert_int_equal(finish(annotator, &list), 2);
    assert_annotation(&list[0], 7, ID, 1000, 1500);
    assert_annotation(&list[1], 9, ID, 900, 1200);
    assert_int_equal(counts_of(annotator).out_of_window, 2);
    assert_int_equal(counts_of(annotator).backwards, 1);
    rbwp_annotator_free(annotator);
}

/* Ranges, correlations and work in each order. */
static void test_any_order(void **state)
{
    (void)state;
    static const char *const orders[] = {"rcw", "rwc", "crw", "cwr", "wrc", "wcr"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct rbwp_annotator *annotator = new_annotator((struct rbwp_annotator_config){0});
        for (const char *step = orders[i]; *step; step++) {
            if (*step == 'r')
                know(annotator, ID, 0);
            else
                (*step == 'c' ? correlate_example : work_example)(annotator);
            rbwp_annotator_settle(annotator);
        }
        assert_example(annotator);
        rbwp_annotator_free(annotator);
    }
}

static void test_sessions(void **state)
{
    (void)state;
    const struct rbwp_annotation *list;
    struct rbwp_annotator *annotator = new_annotator((struct rbwp_annotator_config){0});
    know(annotator, ID, 0);
    correlate_example(annotator);
    work_example(annotator);
    add(annotator, RBWP_ACTIVITY_KERNEL, 7, 1000, 1, 2);
    assert_example(annotator);
    assert_int_equal(counts_of(annotator).unclaimed, 1);
    rbwp_annotator_begin(annotator, INT64_MIN, INT64_MAX);
    add(annotator, RBWP_ACTIVITY_KERNEL, 7, 77, 1000, 1500);
    assert_int_equal(finish(annotator, &list), 0);
    assert_int_equal(counts_of(annotator).unclaimed, 1);
    rbwp_annotator_free(annotator);
}

static void test_host_makes_none(void **state)
{
    (void)state;
    const struct rbwp_annotation *list;
    struct rbwp_annotator *annotator =
        new_annotator((struct rbwp_annotator_config){.requested = UINT32_MAX});
    know(annotator, ID, 0);
    correlate_example(annotator);
    for (unsigned kind = RBWP_ACTIVITY_RUNTIME; kind < 40; kind++)
        add(annotator, kind, 7, 77, 1000, 1500);
    assert_int_equal(finish(annotator, &list), 0);
    rbwp_annotator_free(annotator);
}

static void test_wide_ids(void **state)
{
    (void)state;
    const uint64_t id = (UINT64_C(1) << 40) + 5, device = UINT64_C(3) << 50;
    const struct rbwp_annotation *list;
    struct rbwp_annotator *annotator = new_annotator((struct rbwp_annotator_config){0});
    know(annotator, id, 0);
    know(annotator, 5, 0);
    rbwp_annotator_correlate(annotator, USER, id << 8, id);
    rbwp_annotator_activity(annotator, &(struct rbwp_annotate_activity){.device = device,
                                                                        .stream = id + 1,
                                                                        .correlation = id << 8,
                                                                        .start_ns = INT64_MIN,
                                                                        .stop_ns = INT64_MAX});
    assert_int_equal(finish(annotator, &list), 1);
    assert_annotation(&list[0], id + 1, id, INT64_MIN, INT64_MAX);
    assert_int_equal(list[0].device, device);
    rbwp_annotator_free(annotator);
}

/* Work of an inner range belongs to those around it when that is asked for, and only then; circles
 * of parents, which a broken file may have, end. */
static void test_outer(void **state)
{
    (void)state;
    const struct rbwp_annotation *list;
    for (int outer = 0; outer < 2; outer++) {
        struct rbwp_annotator *annotator =
            new_annotator((struct rbwp_annotator_config){.outer = outer});
        know(annotator, 1, 0);
        know(annotator, 2, 1);
        know(annotator, 3, 2);
        rbwp_annotator_correlate(annotator, USER, 10, 1);
        rbwp_annotator_correlate(annotator, USER, 30, 3);
        add(annotator, RBWP_ACTIVITY_KERNEL, 7, 30, 100, 200);
        add(annotator, RBWP_ACTIVITY_KERNEL, 7, 10, 300, 400);
        assert_int_equal(finish(annotator, &list), outer ? 3 : 2);
        assert_annotation(&list[0], 7, 1, outer ? 100 : 300, 400);
        if (outer)
            assert_annotation(&list[1], 7, 2, 100, 200);
        assert_annotation(&list[outer + 1], 7, 3, 100, 200);
        know(annotator, 1, 3);
        assert_int_equal(finish(annotator, &list), outer ? 3 : 2);
        assert_int_equal(list[0].activities, outer ? 2 : 1);
        know(annotator, 1, 2);
        assert_int_equal(finish(annotator, &list), outer ? 3 : 2);
        rbwp_annotator_free(annotator);
    }
}

/* A host of an older minor version has a shorter configuration and fewer counts. */
static void test_sizes(void **state)
{
    (void)state;
    struct rbwp_annotator *annotator;
    struct rbwp_annotator_config config = {.size = offsetof(struct rbwp_annotator_config, strict),
                                           .requested = RBWP_ACTIVITIES_ANNOTATED,
                                           .strict = true};
    const struct rbwp_annotation *list;
    assert_int_equal(rbwp_annotator_new(&config, &annotator), RBWP_OK);
    correlate_example(annotator);
    work_example(annotator);
    assert_int_equal(finish(annotator, &list), 0);
    know(annotator, ID, 0);
    assert_example(annotator);
    rbwp_annotator_free(annotator);
    config.size = 0;
    assert_int_equal(rbwp_annotator_new(&config, &annotator), RBWP_E_INVALID);
    rbwp_annotator_free(annotator);
    rbwp_annotator_free(NULL);
}

/* ---- at random ---------------------------------------------------------------------- */

enum { RANGES = 7, STREAMS = 3, CORRELATIONS = 12, EVENTS = 48, FROM_NS = 10, TO_NS = 90 };

static uint32_t seed;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

struct event {
    enum { RANGE, RECORD, ACTIVITY, SETTLE } what;
    struct rbwp_annotate_range range;
    uint64_t correlation, id;
    struct rbwp_annotate_activity activity;
};

static struct event any_event(void)
{
    struct event event = {.what = (unsigned)below(12) < 3 ? RECORD : ACTIVITY};
    uint64_t range = 1 + below(RANGES);
    event.correlation = below(CORRELATIONS);
    event.id = range;
    event.activity = (struct rbwp_annotate_activity){.kind = below(5),
                                                     .device = below(2),
                                                     .stream = below(STREAMS),
                                                     .correlation = below(CORRELATIONS),
                                                     .range = below(4) ? 0 : range,
                                                     .start_ns = below(100)};
    event.activity.stop_ns = event.activity.start_ns + (int64_t)below(12) - 1;
    return event;
}

/* Ranges 1 to RANGES - 1, each below one with a smaller number, somewhere among the others. */
static void make_events(struct event *events)
{
    for (int i = 0; i < EVENTS; i++)
        events[i] = any_event();
    for (uint64_t id = 1; id < RANGES; id++) {
        struct event *event = &events[id * (EVENTS / RANGES) + below(EVENTS / RANGES)];
        event->what = RANGE;
        event->range = (struct rbwp_annotate_range){id, below((uint32_t)id), id + 1, 0};
    }
}

static const struct rbwp_annotate_range *told_of(const struct event *events, uint64_t id)
{
    for (int i = 0; i < EVENTS; i++)
        if (events[i].what == RANGE && events[i].range.id == id)
            return &events[i].range;
    return NULL;
}

/* The range of an activity, 0 none. */
static uint64_t range_of(const struct event *events, const struct rbwp_annotate_activity *activity)
{
    uint64_t id = activity->range;
    if (activity->kind > RBWP_ACTIVITY_SET || activity->stop_ns < activity->start_ns ||
        activity->start_ns < FROM_NS || activity->stop_ns > TO_NS)
        return 0;
    for (int i = 0; !activity->range && i < EVENTS; i++)
        if (events[i].what == RECORD && events[i].correlation == activity->correlation)
            id = events[i].id;
    return id;
}

static bool belongs(const struct event *events, uint64_t inner, uint64_t range, bool outer)
{
    const struct rbwp_annotate_range *known = told_of(events, inner);
    for (; outer && known && known->id != range; known = told_of(events, known->parent))
        ;
    return known && known->id == range;
}

/* All there is to know of one place, by looking at everything. */
static struct rbwp_annotation search(const struct event *events, uint64_t device, uint64_t stream,
                                     uint64_t range, bool outer)
{
    struct rbwp_annotation found = {.start_ns = INT64_MAX, .stop_ns = INT64_MIN};
    for (int i = 0; i < EVENTS; i++) {
        const struct rbwp_annotate_activity *activity = &events[i].activity;
        if (events[i].what != ACTIVITY || activity->device != device ||
            activity->stream != stream ||
            !belongs(events, range_of(events, activity), range, outer))
            continue;
        found.activities++;
        if (activity->start_ns < found.start_ns)
            found.start_ns = activity->start_ns;
        if (activity->stop_ns > found.stop_ns)
            found.stop_ns = activity->stop_ns;
    }
    return found;
}

static void play(struct rbwp_annotator *annotator, const struct event *events)
{
    rbwp_annotator_begin(annotator, FROM_NS, TO_NS);
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].what == RANGE)
            rbwp_annotator_range(annotator, &events[i].range);
        else if (events[i].what == RECORD)
            rbwp_annotator_correlate(annotator, USER, events[i].correlation, events[i].id);
        else
            rbwp_annotator_activity(annotator, &events[i].activity);
    }
}

static void test_random(void **state)
{
    (void)state;
    struct rbwp_annotator *annotators[2] = {
        new_annotator((struct rbwp_annotator_config){0}),
        new_annotator((struct rbwp_annotator_config){.outer = true}),
    };
    for (seed = 1; seed < UINT32_C(3000000000); seed += UINT32_C(7654321)) {
        struct event events[EVENTS];
        const uint32_t round = seed;
        make_events(events);
        const bool outer = round & 1;
        const struct rbwp_annotation *list;
        play(annotators[outer], events);
        size_t count = finish(annotators[outer], &list), at = 0;
        for (uint64_t place = 0; place < 2 * STREAMS * (RANGES + 1); place++) {
            uint64_t range = place % (RANGES + 1), stream = place / (RANGES + 1) % STREAMS;
            uint64_t device = place / (RANGES + 1) / STREAMS;
            struct rbwp_annotation wanted = search(events, device, stream, range, outer);
            if (!wanted.activities)
                continue;
            assert_in_range(at, 0, count - 1);
            assert_int_equal(list[at].device, device);
            assert_int_equal(list[at].activities, wanted.activities);
            assert_annotation(&list[at], stream, range, wanted.start_ns, wanted.stop_ns);
            at++;
        }
        assert_int_equal(at, count);
        seed = round;
    }
    rbwp_annotator_free(annotators[0]);
    rbwp_annotator_free(annotators[1]);
}

/* Memory has a bound; what it costs is counted, to the last activity. */
static void test_bounded(void **state)
{
    (void)state;
    enum { MOST = 8, ROUNDS = 4000 };
    const struct rbwp_annotation *list;
    uint64_t emitted = 0, activities = 0;
    struct rbwp_annotator *annotator =
        new_annotator((struct rbwp_annotator_config){.entries_max = MOST});
    for (uint64_t id = 1; id <= MOST + 2; id++)
        know(annotator, id, 0);
    seed = 5;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t correlation = below(1000);
        if (below(2)) {
            rbwp_annotator_correlate(annotator, USER, correlation, 1 + below(MOST));
        } else {
            add(annotator, below(3), below(3), correlation, i, i + 1);
            emitted++;
        }
    }
    size_t count = finish(annotator, &list);
    const struct rbwp_annotate_counts counts = counts_of(annotator);
    for (size_t i = 0; i < count; i++)
        activities += list[i].activities;
    assert_in_range(count, 1, MOST);
    assert_int_equal(counts.lost_ranges, 2);
    assert_true(counts.lost_correlations && counts.lost_annotations && counts.unclaimed);
    assert_int_equal(activities + counts.lost_annotations + counts.unclaimed, emitted);
    rbwp_annotator_free(annotator);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),      cmocka_unit_test(test_last_record_counts),
        cmocka_unit_test(test_example),    cmocka_unit_test(test_only_when_asked_for),
        cmocka_unit_test(test_asks_again), cmocka_unit_test(test_unresolved),
        cmocka_unit_test(test_window),     cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_sessions),   cmocka_unit_test(test_host_makes_none),
        cmocka_unit_test(test_wide_ids),   cmocka_unit_test(test_outer),
        cmocka_unit_test(test_sizes),      cmocka_unit_test(test_random),
        cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
