/* SPDX-License-Identifier: Apache-2.0 */
/* span_sorter.h: any number of spans comes out by track and in order, through temporary files, each
 * with its detail, and what cannot be sorted is counted. row_stream.h: rows of blocks that overlap
 * in time come out by track and in order as soon as nothing can come before them, and a wrong index
 * loses none. */
#include "row_stream.h"
#include "span_detail.h"
#include "span_order.h"
#include "span_sorter.h"
#include "trace_axis.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
/* Of a program that was started without standard input. */
static void the_file_may_be_descriptor_0(void **state)
{
    (void)state;
    int input = dup(0);
    close(0);
    check_sorted(2 * MERGE_SORTER_ITEMS + 1, 2);
    if (input > 0) {
        dup2(input, 0);
        close(input);
    }
}

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

/* ---- rows ------------------------------------------------------------------------ */

enum { ROW_BLOCKS = 48, BLOCK_ROWS = 64, TRACKS = 5 };

static const struct rbwp_column columns[] = {
    {.type = RBWP_COLUMN_TIME, .role = RBWP_ROLE_START, .name = "start", .name_bytes = 5},
    {.type = RBWP_COLUMN_U64, .name = "number", .name_bytes = 6},
};
static const struct rbwp_schema schema = {
    .table = 3, .version = 1, .column_count = 2, .name = "t", .name_bytes = 1, .columns = columns};

struct blocks {
    uint64_t starts[ROW_BLOCKS][BLOCK_ROWS], numbers[ROW_BLOCKS][BLOCK_ROWS];
    struct rbwp_table_range ranges[ROW_BLOCKS + 1];
    struct rbwp_trailer trailer;
};

/* Of three writers: each block is of 1000 ns that begin in the midst of two others. Ranges have two
 * blocks each. */
static void make_blocks(struct blocks *blocks)
{
    uint64_t random = 7;
    *blocks = (struct blocks){.trailer = {.table_ranges = blocks->ranges}};
    blocks->ranges[blocks->trailer.table_range_count++] =
        (struct rbwp_table_range){.table = 2, .blocks = 1, .rows = 9, .last_row = 9};
    for (uint64_t b = 0; b < ROW_BLOCKS; b++) {
        int64_t first_ns = INT64_MAX, last_ns = 0;
        for (uint32_t i = 0; i < BLOCK_ROWS; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            int64_t start_ns = (int64_t)(400 * b + (random >> 33) % 1000);
            blocks->starts[b][i] = (uint64_t)start_ns;
            blocks->numbers[b][i] = BLOCK_ROWS * b + i;
            first_ns = start_ns < first_ns ? start_ns : first_ns;
            last_ns = start_ns > last_ns ? start_ns : last_ns;
        }
        struct rbwp_table_range *range = &blocks->ranges[blocks->trailer.table_range_count];
        if (b % 2 == 0)
            *range = (struct rbwp_table_range){
                .table = 3, .first_row = BLOCK_ROWS * b + 1, .first_ns = first_ns};
        range->blocks++;
        range->rows += BLOCK_ROWS;
        range->last_row = BLOCK_ROWS * (b + 1);
        range->first_ns = first_ns < range->first_ns ? first_ns : range->first_ns;
        range->last_ns = last_ns > range->last_ns ? last_ns : range->last_ns;
        blocks->trailer.table_range_count += b % 2;
    }
}

struct passed {
    bool seen[ROW_BLOCKS * BLOCK_ROWS];
    int64_t last_ns[TRACKS];
    uint32_t count, late;
};

static void pass_ready(struct row_stream *stream, const struct rbwp_rows *rows, bool all,
                       struct passed *passed)
{
    uint32_t count;
    const struct row_marks *marks = row_stream_marks(stream);
    const uint32_t *ready = row_stream_ready(stream, all, &count);
    assert_non_null(ready);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = rows->cells[1][ready[i]];
        uint32_t track = marks->track[ready[i]];
        assert_int_equal(marks->id[ready[i]], number + 1);
        assert_int_equal(track, number % TRACKS);
        assert_int_equal(marks->start_ns[ready[i]], rows->cells[0][ready[i]] + 5);
        passed->late += marks->start_ns[ready[i]] < passed->last_ns[track];
        passed->last_ns[track] = marks->start_ns[ready[i]];
        assert_false(passed->seen[number]);
        passed->seen[number] = true;
        passed->count++;
    }
    assert_true(row_stream_drop(stream));
}

/* A row in eleven is not wanted. */
static void add_block(struct row_stream *stream, const struct blocks *blocks, uint32_t b,
                      struct passed *passed)
{
    uint32_t first;
    const uint64_t *cells[] = {blocks->starts[b], blocks->numbers[b]};
    const struct rbwp_rows block = {
        .schema = &schema, .first_row = BLOCK_ROWS * b + 1, .rows = BLOCK_ROWS, .cells = cells};
    const struct rbwp_rows *rows = row_stream_add(stream, &block, &first);
    assert_non_null(rows);
    struct row_marks *marks = row_stream_marks(stream);
    for (uint32_t i = first; i < rows->rows; i++) {
        uint64_t number = rows->cells[1][i];
        marks->start_ns[i] = marks->stop_ns[i] = (int64_t)rows->cells[0][i] + 5;
        marks->id[i] = number + 1;
        marks->track[i] = number % 11 ? (uint32_t)(number % TRACKS) : TRACE_NONE;
    }
    pass_ready(stream, rows, false, passed);
}

static void stream(const struct blocks *blocks, struct passed *passed, uint32_t *before_end_out)
{
    struct row_stream *stream;
    *passed = (struct passed){.count = 0};
    assert_true(
        row_stream_new(&blocks->trailer, &schema, &(struct trace_axis){.shift_ns = 5}, &stream));
    assert_non_null(stream);
    for (uint32_t b = 0; b < ROW_BLOCKS; b++)
        add_block(stream, blocks, b, passed);
    *before_end_out = passed->count;
    if (row_stream_left(stream))
        pass_ready(stream, row_stream_left(stream), true, passed);
    assert_null(row_stream_left(stream));
    row_stream_free(stream);
    assert_int_equal(passed->count, ROW_BLOCKS * BLOCK_ROWS - (ROW_BLOCKS * BLOCK_ROWS + 10) / 11);
}

static void rows_stream_in_order(void **state)
{
    struct blocks *blocks = calloc(1, sizeof *blocks);
    struct passed *passed = calloc(1, sizeof *passed);
    uint32_t before_end;
    (void)state;
    make_blocks(blocks);
    stream(blocks, passed, &before_end);
    assert_int_equal(passed->late, 0);
    assert_int_equal(before_end, passed->count); /* the last block has all behind it */
    free(passed);
    free(blocks);
}

static void a_wrong_index_loses_no_row(void **state)
{
    struct blocks *blocks = calloc(1, sizeof *blocks);
    struct passed *passed = calloc(1, sizeof *passed);
    uint32_t before_end;
    (void)state;
    make_blocks(blocks);
    for (uint32_t i = 1; i < blocks->trailer.table_range_count; i++) {
        blocks->ranges[i].first_ns += 700;
        blocks->ranges[i].last_ns += 700;
    }
    stream(blocks, passed, &before_end);
    assert_true(passed->late > 0);
    blocks->trailer.table_range_count = 3; /* the rest is not in it */
    stream(blocks, passed, &before_end);
    free(passed);
    free(blocks);
}

static void an_index_decides(void **state)
{
    struct row_stream *stream;
    struct rbwp_table_range ranges[2] = {
        {.table = 3, .rows = 64 << 20, .last_row = 64 << 20, .first_ns = 5, .last_ns = 9},
        {.table = 3, .rows = 1, .last_row = (64 << 20) + 1, .first_ns = 8, .last_ns = 9}};
    struct rbwp_trailer trailer = {.table_ranges = ranges, .table_range_count = 2};
    (void)state;
    assert_true(row_stream_new(&trailer, &schema, &(struct trace_axis){0},
                               &stream)); /* too many would wait */
    assert_null(stream);
    trailer.table_range_count = 0;
    assert_true(row_stream_new(&trailer, &schema, &(struct trace_axis){0}, &stream));
    assert_null(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_in_memory),
        cmocka_unit_test(sorts_through_a_file),
        cmocka_unit_test(the_file_may_be_descriptor_0),
        cmocka_unit_test(a_failing_file_is_told),
        cmocka_unit_test(rows_stream_in_order),
        cmocka_unit_test(a_wrong_index_loses_no_row),
        cmocka_unit_test(an_index_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
