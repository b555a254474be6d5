/* SPDX-License-Identifier: Apache-2.0 */
/* span_sorter.h: any number of spans comes out by track and in order, through temporary files, each
 * with its detail, and what cannot be sorted is told. */
#include "span_detail.h"
#include "span_order.h"
#include "span_sorter.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct seen {
    struct trace_span last;
    uint64_t count, ids;
};

/* Spans whose id is a multiple of 3 have one: their id as an argument and id % 100 bytes of text.
 */
static void check_detail(const struct trace_span *span, const struct trace_details *details)
{
    const struct trace_detail *detail = trace_detail_of(details, span);
    assert_int_equal(detail != NULL, span->id % 3 == 0);
    if (!detail)
        return;
    assert_int_equal(detail->arg_count, 2);
    assert_int_equal(detail->correlation, span->id + 1);
    assert_int_equal(trace_args_of(detail)[0].key, 5);
    assert_int_equal(trace_args_of(detail)[0].value.u64, span->id);
    struct trace_text text = trace_arg_text(detail, &trace_args_of(detail)[1]);
    assert_int_equal(text.bytes, span->id % 100);
    for (uint32_t i = 0; i < text.bytes; i++)
        assert_int_equal(text.text[i], 'a' + (char)(span->id % 26));
}

static const struct trace_detail *make_detail(struct detail_maker *maker, uint64_t id)
{
    char text[100];
    memset(text, 'a' + (int)(id % 26), sizeof text);
    span_detail_start(maker);
    if (id % 3)
        return span_detail_finish(maker);
    maker->head.correlation = id + 1;
    span_detail_arg(maker, 5, TRACE_ARG_U64, id);
    span_detail_text(maker, 6, TRACE_ARG_TEXT, (struct trace_text){text, (uint32_t)(id % 100)});
    return span_detail_finish(maker);
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(spans[i].track, spans[0].track); /* a batch has one track */
        check_detail(&spans[i], details);
        if (seen->count && seen->last.track == spans[i].track)
            assert_true(span_order(&seen->last, &spans[i]) < 0);
        else if (seen->count)
            assert_true(seen->last.track < spans[i].track);
        seen->last = spans[i];
        seen->count++;
        seen->ids += spans[i].id;
    }
}

static struct trace *new_trace(struct seen *seen)
{
    *seen = (struct seen){0};
    struct trace *trace = trace_new(&(struct trace_sink){.context = seen, .spans = take_spans}, 0);
    assert_non_null(trace);
    return trace;
}

static void add(struct span_sorter *sorter, uint64_t count)
{
    struct detail_maker maker = {0};
    srand(7);
    for (uint64_t id = 1; id <= count; id++) {
        int64_t start_ns = rand() % 1000000;
        span_sorter_add(sorter,
                        &(struct trace_span){.track = (uint32_t)rand() % 3,
                                             .id = id,
                                             .start_ns = start_ns,
                                             .stop_ns = start_ns + rand() % 50},
                        make_detail(&maker, id));
    }
    span_detail_free(&maker);
}

static void check_sorted(uint64_t count, uint64_t pieces)
{
    struct span_sorter sorter;
    struct seen seen;
    struct trace *trace = new_trace(&seen);
    span_sorter_start(&sorter);
    add(&sorter, count);
    assert_int_equal(sorter.spans.piece_count, pieces);
    span_sorter_finish(&sorter, trace);
    assert_false(sorter.failed);
    assert_int_equal(seen.count, count);
    assert_int_equal(seen.ids, count * (count + 1) / 2); /* each one once */
    span_sorter_stop(&sorter);
    trace_free(trace);
}

static void sorts_in_memory(void **state)
{
    (void)state;
    check_sorted(0, 0);
    check_sorted(1, 0);
    check_sorted(5000, 0);
    check_sorted(MERGE_SORTER_ITEMS, 0);
}

/* The last piece is a short one, once of a single span. */
static void sorts_through_a_file(void **state)
{
    (void)state;
    check_sorted(MERGE_SORTER_ITEMS + 1, 1);
    check_sorted(MERGE_SORTER_ITEMS * UINT64_C(2) + 12345, 2);
}

/* Without a place for temporary files spans are missing: said, remembered, and no crash. */
static void a_failing_file_is_told(void **state)
{
    (void)state;
    struct span_sorter sorter;
    struct seen seen;
    struct trace *trace = new_trace(&seen);
    setenv("TMPDIR", "/nonexistent", 1);
    span_sorter_start(&sorter);
    add(&sorter, MERGE_SORTER_ITEMS + 2);
    unsetenv("TMPDIR");
    assert_true(sorter.failed);
    span_sorter_finish(&sorter, trace);
    assert_true(sorter.failed);
    span_sorter_stop(&sorter);
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_in_memory),
        cmocka_unit_test(sorts_through_a_file),
        cmocka_unit_test(a_failing_file_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
