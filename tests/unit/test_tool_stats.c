/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: what counts where, span by span: nesting, lanes, late and unfinished spans, links
 * to filters, the longest calls, losses. Sums over files are tested on the command (cli). */
#include "stats.h"
#include "trace_span.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct stats stats;
    struct trace *trace;
    uint32_t process, thread, gpu;
    uint64_t id;
};

static void start(struct fixture *fixture, bool orphans)
{
    *fixture = (struct fixture){0};
    stats_start(&fixture->stats, &(struct stats_options){.top = 3, .orphans = orphans});
    struct trace_sink sink = stats_sink(&fixture->stats);
    fixture->trace = trace_new(&sink, 0);
    fixture->process =
        trace_add_process(fixture->trace, (struct trace_process){.name = trace_text("node 0")});
    fixture->thread = trace_add_track(
        fixture->trace, (struct trace_track){.kind = TRACE_THREAD, .name = trace_text("worker")});
    fixture->gpu = trace_add_track(
        fixture->trace, (struct trace_track){.kind = TRACE_GPU, .name = trace_text("GPU")});
}

static void stop(struct fixture *fixture)
{
    trace_free(fixture->trace); /* the sums must not need it */
    stats_free(&fixture->stats);
}

static struct trace_span span(struct fixture *fixture, const char *name, int64_t start_ns,
                              int64_t stop_ns, uint16_t depth)
{
    return (struct trace_span){.start_ns = start_ns,
                               .stop_ns = stop_ns,
                               .id = ++fixture->id,
                               .track = fixture->thread,
                               .depth = depth,
                               .category = depth ? TRACE_AM : TRACE_CALL,
                               .name =
                                   trace_add_name(fixture->trace, name, (uint32_t)strlen(name))};
}

static void add(struct fixture *fixture, struct trace_span added)
{
    trace_add_spans(fixture->trace, &added, 1, NULL);
}

static const struct stats_row *row(const struct fixture *fixture, const char *name)
{
    for (uint32_t i = 0; i < fixture->stats.row_count; i++)
        if (strcmp(fixture->stats.rows[i].name.text, name) == 0)
            return &fixture->stats.rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void self_time_is_without_what_is_inside(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, false);
    add(&f, span(&f, "outer", 0, 100, 0));
    add(&f, span(&f, "inner", 10, 40, 1));
    add(&f, span(&f, "innermost", 20, 30, 2));
    add(&f, span(&f, "inner", 50, 60, 1));
    add(&f, span(&f, "outer", 100, 110, 0));
    add(&f, span(&f, "outer", 150, 160, 0));
    stats_finish(&f.stats);
    assert_int_equal(row(&f, "outer")->total_ns, 120);
    assert_int_equal(stats_self_ns(row(&f, "outer")), 80);
    assert_int_equal(stats_self_ns(row(&f, "inner")), 30);
    assert_int_equal(stats_self_ns(row(&f, "innermost")), 10);
    assert_int_equal(row(&f, "outer")->min_ns, 10);
    assert_int_equal(row(&f, "outer")->max_ns, 100);
    const struct stats_track *track = &f.stats.tracks[f.thread];
    assert_int_equal(track->busy.busy_ns, 120);
    assert_int_equal(track->busy.gaps, 1);
    assert_int_equal(track->busy.longest_gap_ns, 40);
    assert_int_equal(track->busy.longest_gap_at_ns, 110);
    assert_int_equal(stats_extent_ns(&f.stats), 160);
    assert_int_equal(f.stats.concurrency.level_ns[0], 40);
    assert_int_equal(f.stats.concurrency.level_ns[1], 120);
    stop(&f);
}

/* What waits makes nobody busy: inside a call (waits in waits count once), outside of one, and
 * whatever begins or ends with the call. */
static void waits_are_no_busy_time(void **state)
{
    (void)state;
    static const struct {
        int64_t start_ns, stop_ns;
        uint16_t depth;
        uint8_t category;
    } added_spans[] = {
        {0, 100, 0, TRACE_CALL},      {0, 30, 1, TRACE_WAITING},  {10, 20, 2, TRACE_WAITING},
        {40, 60, 1, TRACE_AM},        {50, 60, 2, TRACE_WAITING}, {90, 100, 1, TRACE_WAITING},
        {120, 150, 0, TRACE_WAITING}, {130, 140, 1, TRACE_CALL},  {160, 200, 0, TRACE_CALL}};
    struct fixture f;
    start(&f, false);
    f.stats.options.cells = true;
    for (size_t i = 0; i < sizeof added_spans / sizeof added_spans[0]; i++) {
        struct trace_span added =
            span(&f, "span", added_spans[i].start_ns, added_spans[i].stop_ns, added_spans[i].depth);
        added.category = added_spans[i].category;
        add(&f, added);
    }
    stats_finish(&f.stats);
    const struct stats_track *track = &f.stats.tracks[f.thread];
    assert_int_equal(track->busy.busy_ns, 50 + 10 + 40);
    assert_int_equal(track->waiting_ns, 50 + 30);
    assert_int_equal(f.stats.worker_waiting_ns, 80);
    assert_int_equal(f.stats.concurrency.levels, 2);
    assert_int_equal(f.stats.concurrency.level_ns[0], 100);
    assert_int_equal(f.stats.concurrency.level_ns[1], 100);
    assert_int_equal(busy_cells_between(&f.stats.processes[f.process].cells, 0, 1024), 100);
    stop(&f);
}

/* Contents of a long call come before it, and some after it: as if all were in order. */
static void late_spans_count_as_others(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, false);
    struct trace_span outer = span(&f, "outer", 0, 1000, 0);
    outer.flags = TRACE_LATE;
    outer.row = 1;
    for (int i = 0; i < 10; i++) {
        struct trace_span inner = span(&f, "inner", 100 * i + 10, 100 * i + 30, 0);
        inner.parent = outer.id;
        inner.category = TRACE_AM;
        if (i == 7)
            add(&f, outer);
        add(&f, inner);
    }
    stats_finish(&f.stats);
    assert_int_equal(stats_self_ns(row(&f, "outer")), 800);
    assert_int_equal(row(&f, "inner")->count, 10);
    assert_int_equal(f.stats.tracks[f.thread].busy.busy_ns, 1000);
    assert_int_equal(f.stats.tracks[f.thread].busy.gaps, 0);
    assert_int_equal(f.stats.tracks[f.thread].calls, 1);
    stop(&f);
}

/* With calls filtered out their sub-items are what keeps a thread busy. */
static void orphans_count_where_parents_were_filtered_out(void **state)
{
    (void)state;
    for (int orphans = 0; orphans < 2; orphans++) {
        struct fixture f;
        start(&f, orphans);
        struct trace_span inner = span(&f, "inner", 10, 30, 0);
        inner.parent = 77;
        add(&f, inner);
        stats_finish(&f.stats);
        assert_int_equal(f.stats.tracks[f.thread].busy.busy_ns, orphans ? 20 : 0);
        stop(&f);
    }
}

static void unfinished_spans_have_no_duration(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, false);
    struct trace_span open = span(&f, "call", 0, 500, 0);
    open.flags = TRACE_UNFINISHED;
    add(&f, open);
    add(&f, span(&f, "inner", 10, 20, 1)); /* must not make the self time of "call" less */
    add(&f, span(&f, "call", 600, 700, 0));
    stats_finish(&f.stats);
    assert_int_equal(row(&f, "call")->count, 1);
    assert_int_equal(row(&f, "call")->unfinished, 1);
    assert_int_equal(row(&f, "call")->total_ns, 100);
    assert_int_equal(stats_self_ns(row(&f, "call")), 100);
    assert_int_equal(f.stats.tracks[f.thread].busy.busy_ns, 600);
    assert_int_equal(f.stats.longest_count, 1);
    stop(&f);
}

/* Overlaps on other lanes count once as busy time, and do not nest. GPUs are no workers. */
static void overlaps_count_once(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, false);
    add(&f, span(&f, "call", 0, 1000, 0));
    for (uint16_t lane = 0; lane < 3; lane++) {
        struct trace_span kernel = span(&f, "kernel", 100 * lane, 100 * lane + 150, 0);
        kernel.track = f.gpu;
        kernel.category = TRACE_GPU_WORK;
        kernel.row = lane;
        add(&f, kernel);
    }
    stats_finish(&f.stats);
    assert_int_equal(f.stats.tracks[f.gpu].busy.busy_ns, 350);
    assert_int_equal(row(&f, "kernel")->total_ns, 450);
    assert_int_equal(stats_self_ns(row(&f, "kernel")), 450);
    assert_int_equal(f.stats.workers, 1);
    assert_int_equal(f.stats.worker_busy_ns, 1000);
    assert_int_equal(f.stats.concurrency.levels, 2);
    stop(&f);
}

/* Rows differ by category, item and name; names that several items share are not mixed up. */
static void rows_are_kinds_of_work(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, false);
    for (int i = 0; i < 3000; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %d", i % 1000);
        struct trace_span work = span(&f, name, i, i + 1, 0);
        work.item = (uint32_t)(i / 2000);
        add(&f, work);
    }
    stats_finish(&f.stats);
    assert_int_equal(f.stats.row_count, 2000);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f.stats.row_count; i++) {
        assert_int_equal(f.stats.rows[i].count, f.stats.rows[i].item ? 1 : 2);
        sum += f.stats.rows[i].total_ns;
    }
    assert_int_equal(sum, 3000);
    stop(&f);
}

static void longest_calls_are_kept_in_order(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, false);
    for (int i = 0; i < 100; i++)
        add(&f, span(&f, "call", 1000 * i, 1000 * i + (i * 37) % 100, 0));
    stats_finish(&f.stats);
    assert_int_equal(f.stats.longest_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.stats.longest[i].duration_ns, 99 - i);
        assert_int_equal(f.stats.longest[i].start_ns % 1000, 0);
    }
    stop(&f);
}

static void losses_and_empty_polls_are_told(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, false);
    trace_add_loss(f.trace, (struct trace_loss){
                                .track = f.thread, .cause = trace_text("dropped"), .count = 5});
    for (int i = 0; i < 2000; i++)
        trace_add_loss(f.trace, (struct trace_loss){
                                    .track = TRACE_NONE, .cause = trace_text("io"), .count = 1});
    trace_add_fact(f.trace, "process.0.discarded", "%d", 17);
    trace_add_fact(f.trace, "process.9.discarded", "%d", 18);
    trace_add_fact(f.trace, "process.0.discarded.more", "%d", 19);
    stats_finish(&f.stats);
    assert_int_equal(f.stats.lost_records, 2005);
    assert_int_equal(f.stats.loss_count, STATS_LOSSES_MAX);
    assert_int_equal(f.stats.tracks[f.thread].lost_records, 5);
    assert_int_equal(f.stats.processes[0].empty_polls, 17);
    assert_int_equal(stats_extent_ns(&f.stats), 0);
    stop(&f);
}

/* A range makes nobody busy, and what it encloses counts as if it were not there: calls in ranges
 * are outermost, sub-items of these calls are not. */
static void ranges_are_no_work(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, false);
    struct trace_span step = span(&f, "step", 0, 1000, 0);
    step.category = TRACE_RANGE;
    add(&f, step);
    step = span(&f, "part", 100, 500, 1);
    step.category = TRACE_RANGE;
    add(&f, step);
    struct trace_span call = span(&f, "call", 110, 150, 2);
    call.category = TRACE_CALL;
    add(&f, call);
    add(&f, span(&f, "inner", 120, 130, 3));
    call = span(&f, "call", 600, 610, 1);
    call.category = TRACE_CALL;
    add(&f, call);
    add(&f, span(&f, "call", 2000, 2005, 0));
    stats_finish(&f.stats);
    const struct stats_track *track = &f.stats.tracks[f.thread];
    assert_int_equal(track->busy.busy_ns, 55);
    assert_int_equal(track->calls, 3);
    assert_int_equal(f.stats.concurrency.level_ns[1], 55);
    assert_int_equal(stats_self_ns(row(&f, "call")), 45);
    assert_int_equal(row(&f, "step")->total_ns, 1000);
    stop(&f);
}

/* Launches that the source has count, inferred ones and those after the start do not; certain is
 * what bounds leave of the busy time. */
static void launches_and_bounds_of_a_gpu(void **state)
{
    static const struct {
        int64_t start_ns, stop_ns, launch_ns;
        uint64_t certain_ns, stop_uncertain_ns;
        uint32_t flags;
    } works[] = {{100, 200, 40, 80, 5, TRACE_HAS_LAUNCH | TRACE_HAS_BOUNDS},
                 {200, 300, 180, 0, 50, TRACE_HAS_LAUNCH | TRACE_HAS_BOUNDS},
                 {300, 400, 299, 90, 0, TRACE_HAS_LAUNCH | TRACE_INFERRED | TRACE_HAS_BOUNDS},
                 {400, 500, 450, 0, 0, TRACE_HAS_LAUNCH}};
    uint64_t words[32] = {0};
    struct trace_detail *detail = (void *)(words + 1);
    struct trace_details details = {.words = words, .count = 32};
    struct fixture f;
    (void)state;
    start(&f, false);
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
        struct trace_span work = span(&f, "work", works[i].start_ns, works[i].stop_ns, 0);
        work.track = f.gpu;
        work.category = TRACE_GPU_WORK;
        work.detail = 1;
        *detail = (struct trace_detail){.flags = works[i].flags,
                                        .launch_ns = works[i].launch_ns,
                                        .certain_ns = works[i].certain_ns,
                                        .stop_uncertain_ns = works[i].stop_uncertain_ns};
        trace_add_spans(f.trace, &work, 1, &details);
    }
    stats_finish(&f.stats);
    const struct launch_sums *sums = f.stats.tracks[f.gpu].launches;
    assert_int_equal(f.stats.tracks[f.gpu].busy.busy_ns, 400);
    assert_int_equal(sums->count, 2);
    assert_int_equal(sums->early, 1);
    assert_int_equal(sums->min_ns, 20);
    assert_int_equal(sums->max_ns, 60);
    assert_int_equal(launch_sums_mean_ns(sums), 40);
    assert_int_equal(launch_sums_quantile_ns(sums, 990), 60);
    assert_int_equal(sums->bounded, 3);
    assert_int_equal(sums->certain.busy_ns, 170);
    stop(&f);
}

/* A value holds until the next one: the mean is over time, not over samples. */
static void counters_have_a_mean_over_time(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, false);
    uint32_t counter = trace_add_track_below(
        f.trace, f.thread,
        (struct trace_track){.kind = TRACE_COUNTER, .name = trace_text("depth")});
    trace_add_samples(f.trace, counter,
                      (struct trace_sample[]){{0, true, {.i64 = 4}}, {10, true, {.i64 = -2}}}, 2);
    trace_add_samples(f.trace, counter, (struct trace_sample[]){{40, false, {.f64 = 0.5}}}, 1);
    stats_finish(&f.stats);
    const struct counter_sums *sums = f.stats.tracks[counter].counter;
    assert_int_equal(sums->count, 3);
    assert_true(sums->min == -2 && sums->max == 4 && sums->last == 0.5);
    assert_true(counter_sums_mean(sums) == (4. * 10 - 2. * 30) / 40);
    assert_int_equal(f.stats.samples, 3);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_time_is_without_what_is_inside),
        cmocka_unit_test(waits_are_no_busy_time),
        cmocka_unit_test(late_spans_count_as_others),
        cmocka_unit_test(orphans_count_where_parents_were_filtered_out),
        cmocka_unit_test(unfinished_spans_have_no_duration),
        cmocka_unit_test(overlaps_count_once),
        cmocka_unit_test(rows_are_kinds_of_work),
        cmocka_unit_test(longest_calls_are_kept_in_order),
        cmocka_unit_test(losses_and_empty_polls_are_told),
        cmocka_unit_test(ranges_are_no_work),
        cmocka_unit_test(launches_and_bounds_of_a_gpu),
        cmocka_unit_test(counters_have_a_mean_over_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
