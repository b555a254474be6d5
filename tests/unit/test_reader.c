/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reader.c: the walk over whole, unfinished, cut and damaged files. */
#include "format_support.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T INT64_C(1700000000000000000)

static const enum way ways[] = {BY_MEMORY, BY_FILE, BY_STREAM};

/* What reading a file to its end came to. */
struct outcome {
    enum rbwp_status status;
    unsigned blocks;
    uint32_t sequences[64];
    uint64_t problem_count;
    struct rbwp_problem problems[8];
};

static struct outcome read_through(const struct bytes *file, enum way way,
                                   const struct rbwp_reader_options *options)
{
    struct outcome outcome = {0};
    struct opened opened = open_way(file, way, options);
    outcome.status = opened.status;
    if (opened.reader) {
        struct rbwp_block block;
        while ((outcome.status = rbwp_reader_next_block(opened.reader, &block)) == RBWP_OK)
            if (outcome.blocks < 64)
                outcome.sequences[outcome.blocks++] = block.header.sequence;
        outcome.problem_count = rbwp_reader_problem_count(opened.reader);
        for (unsigned i = 0; i < 8 && rbwp_reader_problem(opened.reader, i); i++)
            outcome.problems[i] = *rbwp_reader_problem(opened.reader, i);
    } else {
        outcome.problems[0].error = opened.error;
    }
    close_way(&opened);
    return outcome;
}

/* Reads in all three ways, which must agree, and returns what came of it. */
static struct outcome read_same(const struct bytes *file)
{
    char *first = read_all(file, BY_MEMORY);
    for (unsigned i = 1; i < 3; i++) {
        char *text = read_all(file, ways[i]);
        assert_string_equal(text, first);
        free(text);
    }
    free(first);
    return read_through(file, BY_MEMORY, NULL);
}

/* Three blocks behind a header that was not finalised; offsets has their places and the end. */
static struct bytes three_blocks(size_t offsets[4])
{
    struct bytes file = {0};
    put_header(&file, 0, 0, 0);
    for (uint32_t i = 0; i < 3; i++) {
        offsets[i] = file.size;
        (i == 1 ? put_zlib_block : put_block)(&file, 10 + i, i, 200, T + i);
    }
    offsets[3] = file.size;
    return file;
}

/* The same with empty tables. */
static struct bytes three_blocks_finalised(size_t offsets[4])
{
    struct bytes file = three_blocks(offsets);
    set_le(&file, 28, file.size, 8);
    return file;
}

/* Guards: the listing in SPEC.md is a file that reads as its table says, with and without trailer.
 */
static void example_of_the_spec_reads(void **state)
{
    (void)state;
    struct bytes file = load_example();
    for (unsigned strict = 0; strict < 2; strict++) {
        struct opened opened = open_way(&file, BY_MEMORY, NULL);
        struct rbwp_block block;
        struct rbwp_record_iterator iterator;
        struct rbwp_record record;
        const struct rbwp_file_header *header = rbwp_reader_header(opened.reader);
        assert_int_equal(header->node, 3);
        assert_int_equal(header->zero_time_ns, INT64_C(1699999999999999000));
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
        assert_int_equal(block.header.thread_id, UINT64_C(1234605616436508552));
        assert_int_equal(block.header.sequence, 5);
        static const int64_t times[] = {T, T + 250, T + 33017, T + 65785};
        static const unsigned kinds[] = {1, 0x11, 0x12, 2};
        rbwp_record_first(&block, &iterator);
        for (unsigned i = 0; i < 4; i++) {
            assert_true(rbwp_record_next(&iterator, &record));
            assert_int_equal(record.time_ns, times[i]);
            assert_int_equal(record.kind, kinds[i]);
        }
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
        assert_int_equal(rbwp_reader_problem_count(opened.reader), 0);
        const struct rbwp_tables *tables = rbwp_reader_tables(opened.reader);
        assert_memory_equal(tables->work_items[0].name, "flush", 5);
        assert_memory_equal(tables->sub_items[0].name, "copy", 4);
        assert_int_equal(rbwp_reader_trailer(opened.reader) == NULL, strict);
        close_way(&opened);
        file.size -= 180; /* "without its last 180 bytes it is the strict form" */
    }
    bytes_free(&file);
}

/* Guards: cut at every byte, an unfinished file gives its whole blocks and says where it stops,
 * without calling it damage. */
static void unfinished_files_may_stop_anywhere(void **state)
{
    (void)state;
    size_t offsets[4];
    struct bytes file = three_blocks(offsets);
    size_t whole = file.size;
    for (file.size = 36; file.size < whole; file.size++) {
        struct outcome outcome = read_through(&file, BY_MEMORY, NULL);
        unsigned blocks = file.size >= offsets[2] ? 2 : file.size >= offsets[1];
        bool between =
            file.size == offsets[0] || file.size == offsets[1] || file.size == offsets[2];
        assert_int_equal(outcome.status, RBWP_END);
        assert_int_equal(outcome.blocks, blocks);
        assert_int_equal(outcome.problem_count, !between);
        if (between)
            continue;
        const struct rbwp_problem *problem = &outcome.problems[0];
        assert_true(problem->cut_tail);
        assert_int_equal(problem->error.offset, offsets[blocks]);
        assert_int_equal(problem->skipped_bytes, file.size - offsets[blocks]);
        assert_int_equal(problem->has_block, problem->skipped_bytes >= 32);
        assert_int_equal(problem->error.rule, problem->skipped_bytes >= 32 ? 11 : 10);
        if (problem->has_block)
            assert_int_equal(problem->block.sequence, blocks);
    }
    bytes_free(&file);
}

/* Guards: the same of a file that says it is whole is no mere cut: R5 says that its end is gone.
 */
static void finalised_files_may_not_stop(void **state)
{
    (void)state;
    size_t offsets[4];
    struct bytes file = three_blocks_finalised(offsets);
    struct outcome outcome = read_same(&file);
    assert_int_equal(outcome.problem_count, 0);
    file.size = offsets[2] + 100;
    outcome = read_same(&file);
    assert_int_equal(outcome.blocks, 2);
    assert_int_equal(outcome.problem_count, 2);
    assert_int_equal(outcome.problems[0].error.rule, 11);
    assert_false(outcome.problems[0].cut_tail);
    assert_int_equal(outcome.problems[1].error.rule, 5);
    assert_int_equal(outcome.problems[1].error.offset, file.size);
    bytes_free(&file);
}

/* Guards: a damaged block is reported with its bytes, and all others are kept; in each way. */
static void damage_costs_one_block(void **state)
{
    (void)state;
    size_t offsets[4];
    for (unsigned damaged = 0; damaged < 3; damaged++) {
        struct bytes file = three_blocks_finalised(offsets);
        file.data[offsets[damaged] + 40] ^= 0xff; /* the first kind, or inside the zlib stream */
        struct outcome outcome = read_same(&file);
        assert_int_equal(outcome.blocks, 2);
        assert_int_equal(outcome.sequences[0], damaged == 0);
        assert_int_equal(outcome.sequences[1], damaged == 2 ? 1 : 2);
        assert_int_equal(outcome.problem_count, 1);
        assert_int_equal(outcome.problems[0].error.offset, offsets[damaged]);
        assert_int_equal(outcome.problems[0].skipped_bytes,
                         offsets[damaged + 1] - offsets[damaged]);
        assert_true(outcome.problems[0].has_block);
        bytes_free(&file);
    }
}

/* Guards: erratum E1: two threads' writes of one block each, mixed; blocks inside and behind the
 * torn one are found. */
static void interleaved_blocks_are_survived(void **state)
{
    (void)state;
    struct bytes file = {0}, a = {0}, b = {0};
    put_block(&a, 1, 0, 300, T);
    put_block(&b, 2, 1, 250, T + 5);
    put_header(&file, 0, 0, 0);
    put(&file, a.data, 32); /* header of a, header of b, data of b, data of a */
    put(&file, b.data, b.size);
    put(&file, a.data + 32, a.size - 32);
    put_block(&file, 3, 2, 10, T);
    struct outcome outcome = read_same(&file);
    assert_int_equal(outcome.blocks, 2);
    assert_int_equal(outcome.sequences[0], 1);
    assert_int_equal(outcome.sequences[1], 2);
    assert_int_equal(outcome.problem_count, 2);
    assert_int_equal(outcome.problems[1].skipped_bytes, a.size - 32);
    bytes_free(&a);
    bytes_free(&b);
    bytes_free(&file);
}

/* Guards: no_resync stops at the first damage, and still reads the tables. */
static void resync_can_be_refused(void **state)
{
    (void)state;
    size_t offsets[4];
    struct bytes file = three_blocks(offsets);
    set_le(&file, 20, 1, 4);
    set_le(&file, 28, file.size, 8);
    put(&file, "\7\0\1\0x", 5);
    file.data[offsets[1] + 60] ^= 0xff;
    struct rbwp_reader_options options = {.size = sizeof(options), .no_resync = true};
    for (unsigned i = 0; i < 3; i++) {
        struct opened opened = open_way(&file, ways[i], &options);
        struct rbwp_block block;
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
        assert_int_equal(rbwp_reader_tables(opened.reader)->work_item_count, 1);
        assert_int_equal(rbwp_reader_problem_count(opened.reader), 1);
        assert_int_equal(rbwp_reader_problem(opened.reader, 0)->skipped_bytes,
                         offsets[3] - offsets[1]);
        close_way(&opened);
    }
    bytes_free(&file);
}

/* Guards: block_bytes_max refuses a larger block before memory is asked for. */
static void block_bound_is_kept(void **state)
{
    (void)state;
    size_t offsets[4];
    struct bytes file = three_blocks_finalised(offsets);
    struct rbwp_reader_options options = {.size = sizeof(options), .block_bytes_max = 500};
    struct outcome outcome = read_through(&file, BY_MEMORY, &options);
    assert_int_equal(outcome.blocks, 0);
    assert_int_equal(outcome.problems[0].error.rule, 12);
    bytes_free(&file);
}

/* Guards: opaque blocks are handed out; one that must be understood stops all reading, for good
 * (R42), also behind damage. */
static void opaque_blocks_are_handed_out_or_refused(void **state)
{
    (void)state;
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        struct bytes file = {0};
        put_header(&file, 0, 0, 0);
        put_block(&file, 1, 0, 20, T);
        if (damaged)
            file.data[36 + 32 + 8] = 0xee;
        put_block_header(&file, 0, 0, 0, 0, 6, 0);
        put(&file, damaged ? "Notehi" : "notehi", 6);
        put_block_header(&file, 0, 0, 0, 0, 4, 0);
        put(&file, "Must", 4);
        put_block(&file, 1, 1, 20, T);
        struct outcome outcome = read_same(&file);
        assert_int_equal(outcome.status, RBWP_E_VERSION);
        assert_int_equal(outcome.blocks, damaged ? 0 : 2);
        assert_int_equal(outcome.problem_count, 1 + damaged);
        assert_int_equal(outcome.problems[damaged].error.rule, 42);
        struct opened opened = open_way(&file, BY_MEMORY, NULL);
        struct rbwp_block block;
        while (rbwp_reader_next_block(opened.reader, &block) == RBWP_OK)
            if (block.header.records == 0) {
                struct rbwp_record_iterator iterator;
                struct rbwp_record record;
                assert_memory_equal(block.data, "notehi", 6);
                rbwp_record_first(&block, &iterator);
                assert_false(rbwp_record_next(&iterator, &record));
            }
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_E_VERSION);
        assert_int_equal(rbwp_reader_problem_count(opened.reader), 1 + damaged);
        close_way(&opened);
        bytes_free(&file);
    }
}

/* Guards: problems of header, tables and trailer are noted by rule; blocks and tables stand. */
static void broken_tails_are_noted(void **state)
{
    (void)state;
    struct bytes file = load_example();
    size_t whole = file.size;
    static const struct {
        size_t offset;
        uint64_t value;
        unsigned size, rule;
    } cases[] = {
        {28, 20, 8, 5}, /* a descriptor offset inside the header */
        {20, 9, 4, 30}, /* more work items than there are */
        {20, 0, 8, 50}, /* tables that end before the trailer begins */
        {20, 70000, 4, 31},
        {257, 108, 8, 50},
        {265, 147, 8, 50},
        {110, 9, 1, 51},
        {265, UINT64_C(1) << 32, 8, 52},
        {277, 1u << 20, 4, 53},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_le(&file, cases[i].offset, cases[i].value, cases[i].size);
        struct outcome outcome = read_same(&file);
        assert_int_equal(outcome.status, RBWP_END);
        assert_int_equal(outcome.blocks, 1);
        bool found = false;
        for (unsigned p = 0; p < outcome.problem_count; p++)
            found = found || outcome.problems[p].error.rule == cases[i].rule;
        assert_true(found);
        bytes_free(&file);
        file = load_example();
    }
    file.size = whole - 1; /* R35: bytes that are no trailer */
    struct outcome outcome = read_same(&file);
    assert_int_equal(outcome.problem_count, 1);
    assert_int_equal(outcome.problems[0].error.rule, 35);
    assert_int_equal(outcome.problems[0].error.offset, 109);
    bytes_free(&file);
}

/* Guards: R54: a trailer section that must be understood refuses the file, at open where the
 * trailer can be seen, at the end of a stream. */
static void section_that_must_be_understood_refuses_the_file(void **state)
{
    (void)state;
    struct bytes file = load_example();
    file.data[109] = 'Z';
    file.data[113] = 1;
    seal_trailer(&file);
    for (unsigned i = 0; i < 3; i++) {
        struct outcome outcome = read_through(&file, ways[i], NULL);
        assert_int_equal(outcome.status, RBWP_E_VERSION);
        assert_int_equal(outcome.blocks, ways[i] == BY_STREAM);
        assert_int_equal(outcome.problems[0].error.rule, 54);
    }
    bytes_free(&file);
}

/* Guards: a header that could not be patched is made good by a whole trailer (section 10.8). */
static void tables_are_found_through_the_trailer(void **state)
{
    (void)state;
    struct bytes file = load_example();
    set_le(&file, 20, 0, 8);
    set_le(&file, 28, 0, 8);
    for (unsigned i = 0; i < 2; i++) {
        struct opened opened = open_way(&file, ways[i], NULL);
        struct rbwp_block block;
        assert_int_equal(rbwp_reader_tables(opened.reader)->work_item_count, 1);
        assert_non_null(rbwp_reader_trailer(opened.reader));
        assert_int_equal(rbwp_reader_header(opened.reader)->descriptor_offset, 0);
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
        assert_int_equal(rbwp_reader_problem_count(opened.reader), 0);
        close_way(&opened);
    }
    bytes_free(&file);
}

/* Guards: section 10.8 wants a whole trailer: one that does not begin where the tables end (R50)
 * finds none, and the blocks go on to the end of the file. */
static void tables_that_do_not_meet_the_trailer_are_not_used(void **state)
{
    (void)state;
    struct bytes file = load_example();
    set_le(&file, 20, 0, 8);
    set_le(&file, 28, 0, 8);
    set_le(&file, 0xa5, 0, 4); /* TABL: no sub-item, so that the tables end too early */
    seal_trailer(&file);
    for (unsigned i = 0; i < 2; i++) {
        struct opened opened = open_way(&file, ways[i], NULL);
        struct rbwp_block block;
        assert_int_equal(rbwp_reader_tables(opened.reader)->work_item_count, 0);
        assert_null(rbwp_reader_trailer(opened.reader));
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
        unsigned rules = 0, behind = 0;
        const struct rbwp_problem *problem;
        for (uint64_t p = 0; (problem = rbwp_reader_problem(opened.reader, p)); p++) {
            rules += problem->error.rule == 50;
            behind += problem->error.offset == 91 && problem->skipped_bytes == file.size - 91;
        }
        assert_int_equal(rules, 1);
        assert_int_equal(behind, 1);
        close_way(&opened);
    }
    bytes_free(&file);
}

/* Guards: a stream's tables and trailer are not there before its end, and are then. */
static void streams_learn_their_tables_at_the_end(void **state)
{
    (void)state;
    struct bytes file = load_example();
    struct opened opened = open_way(&file, BY_STREAM, NULL);
    struct rbwp_block block;
    assert_true(rbwp_reader_is_stream(opened.reader));
    assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
    assert_int_equal(rbwp_reader_tables(opened.reader)->work_item_count, 0);
    assert_null(rbwp_reader_trailer(opened.reader));
    assert_int_equal(rbwp_reader_rewind(opened.reader), RBWP_E_STATE);
    assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
    assert_int_equal(rbwp_reader_tables(opened.reader)->work_item_count, 1);
    assert_non_null(rbwp_reader_trailer(opened.reader));
    assert_int_equal(rbwp_reader_size(opened.reader), file.size);
    close_way(&opened);
    bytes_free(&file);
}

/* Guards: a second pass gives the same blocks and the same problems, once. */
static void rewind_reads_again(void **state)
{
    (void)state;
    size_t offsets[4];
    struct bytes file = three_blocks_finalised(offsets);
    file.data[offsets[1] + 60] ^= 0xff;
    put(&file, "behind", 6);
    for (unsigned i = 0; i < 2; i++) {
        struct opened opened = open_way(&file, ways[i], NULL);
        for (unsigned pass = 0; pass < 3; pass++) {
            struct rbwp_block block;
            assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
            assert_int_equal(block.offset, 36);
            assert_int_equal(block.index, 0);
            assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_OK);
            assert_int_equal(block.offset, offsets[2]);
            assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
            assert_int_equal(rbwp_reader_problem_count(opened.reader), 2);
            assert_int_equal(rbwp_reader_rewind(opened.reader), RBWP_OK);
            assert_int_equal(rbwp_reader_problem_count(opened.reader), 0);
        }
        close_way(&opened);
    }
    bytes_free(&file);
}

/* Guards: thousands of problems are counted, 1000 are kept, and memory is bounded. */
static void problems_are_bounded(void **state)
{
    (void)state;
    struct bytes file = {0};
    put_header(&file, 0, 0, 0);
    for (uint32_t i = 0; i < 1500; i++) {
        put_block(&file, 1, i, 6, T);
        file.data[file.size - 1] = 0xee;
        put_block(&file, 1, i, 6, T);
    }
    struct opened opened = open_way(&file, BY_MEMORY, NULL);
    struct rbwp_block block;
    unsigned blocks = 0;
    while (rbwp_reader_next_block(opened.reader, &block) == RBWP_OK)
        blocks++;
    assert_int_equal(blocks, 1500);
    assert_int_equal(rbwp_reader_problem_count(opened.reader), 1500);
    assert_non_null(rbwp_reader_problem(opened.reader, 999));
    assert_null(rbwp_reader_problem(opened.reader, 1000));
    close_way(&opened);
    bytes_free(&file);
}

/* Guards: what cannot be opened is an error with text, the output NULL; closing NULL is fine. */
static void unreadable_files_are_errors(void **state)
{
    (void)state;
    struct rbwp_reader *reader = (struct rbwp_reader *)state;
    struct rbwp_error error;
    assert_int_equal(rbwp_reader_open("/nonexistent", NULL, &reader, &error), RBWP_E_IO);
    assert_null(reader);
    assert_true(strlen(error.text) > 0);
    assert_int_equal(rbwp_reader_open("/nonexistent", NULL, &reader, NULL), RBWP_E_IO);
    assert_int_equal(rbwp_reader_open_memory("", 0, NULL, &reader, &error), RBWP_E_NOT_RBWP);
    assert_int_equal(rbwp_reader_open_memory("RBW", 3, NULL, &reader, &error), RBWP_E_TRUNCATED);
    assert_int_equal(rbwp_reader_open_memory("RBX", 3, NULL, &reader, NULL), RBWP_E_NOT_RBWP);
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(rbwp_reader_open_fd(fd, NULL, &reader, &error), RBWP_E_NOT_RBWP);
    close(fd);
    rbwp_reader_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_of_the_spec_reads),
        cmocka_unit_test(unfinished_files_may_stop_anywhere),
        cmocka_unit_test(finalised_files_may_not_stop),
        cmocka_unit_test(damage_costs_one_block),
        cmocka_unit_test(interleaved_blocks_are_survived),
        cmocka_unit_test(resync_can_be_refused),
        cmocka_unit_test(block_bound_is_kept),
        cmocka_unit_test(opaque_blocks_are_handed_out_or_refused),
        cmocka_unit_test(broken_tails_are_noted),
        cmocka_unit_test(section_that_must_be_understood_refuses_the_file),
        cmocka_unit_test(tables_are_found_through_the_trailer),
        cmocka_unit_test(tables_that_do_not_meet_the_trailer_are_not_used),
        cmocka_unit_test(streams_learn_their_tables_at_the_end),
        cmocka_unit_test(rewind_reads_again),
        cmocka_unit_test(problems_are_bounded),
        cmocka_unit_test(unreadable_files_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
