/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of verify.c: each rule that only the verifier checks, broken once. */
#include "format_support.h"
#include "rbwp_verify.h"
#include "rbwp_writer.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T INT64_C(1700000000000000000)

/* The rules broken, in the order reported. */
struct breaks {
    unsigned rules[32], count, stop_after;
    bool cut;
};

static bool note(void *context, const struct rbwp_problem *problem)
{
    struct breaks *breaks = context;
    if (breaks->count < 32)
        breaks->rules[breaks->count] = problem->error.rule;
    breaks->cut = problem->cut_tail;
    breaks->count++;
    return breaks->count != breaks->stop_after;
}

static struct breaks verify(const struct bytes *file)
{
    struct breaks breaks = {0}, streamed = {0};
    struct rbwp_verify_result result, stream_result;
    struct rbwp_error error;
    enum rbwp_status status =
        rbwp_verify_memory(file->data, file->size, note, &breaks, &result, &error);
    assert_int_equal(status, RBWP_OK);
    assert_int_equal(result.breaks + result.cut, breaks.count);
    /* A stream gives the same verdict, though it learns of the index at its end. */
    struct opened opened = open_pipe_way(file);
    assert_int_equal(rbwp_verify_fd(opened.fd, note, &streamed, &stream_result, NULL), RBWP_OK);
    assert_memory_equal(&streamed, &breaks, sizeof(breaks));
    assert_memory_equal(&stream_result, &result, sizeof(result));
    close_way(&opened);
    return breaks;
}

static void expect_only(const struct bytes *file, unsigned rule)
{
    struct breaks breaks = verify(file);
    assert_int_equal(breaks.count, 1);
    assert_int_equal(breaks.rules[0], rule);
}

static enum rbwp_status append(void *context, const void *bytes, size_t count)
{
    put(context, bytes, count);
    return RBWP_OK;
}

static enum rbwp_status patch(void *context, uint64_t offset, const void *bytes, size_t count)
{
    struct bytes *file = context;
    memcpy(file->data + offset, bytes, count);
    return RBWP_OK;
}

/* A file of two threads, two blocks each, with a trailer that has threads and losses as given. */
static struct bytes file_with(const struct rbwp_thread_info *threads, uint32_t thread_count,
                              const struct rbwp_loss *losses, uint32_t loss_count,
                              struct bytes blocks[], unsigned block_count)
{
    struct bytes file = {0};
    struct rbwp_sink sink = {&file, append, patch};
    struct rbwp_writer *writer;
    struct rbwp_trailer trailer = {.level = 1,
                                   .threads = threads,
                                   .thread_count = thread_count,
                                   .losses = losses,
                                   .loss_count = loss_count};
    assert_int_equal(rbwp_writer_new(&sink, 0, T, false, &writer), RBWP_OK);
    for (unsigned i = 0; i < block_count; i++) {
        struct rbwp_reader *reader;
        struct rbwp_block block; /* the test's own blocks are measured by a reader */
        struct bytes alone = {0};
        put_header(&alone, 0, 0, 0);
        put(&alone, blocks[i].data, blocks[i].size);
        assert_int_equal(rbwp_reader_open_memory(alone.data, alone.size, NULL, &reader, NULL),
                         RBWP_OK);
        assert_int_equal(rbwp_reader_next_block(reader, &block), RBWP_OK);
        struct rbwp_sealed_block sealed = {blocks[i].data,       (uint32_t)blocks[i].size,
                                           block.header.records, block.header.thread_id,
                                           block.first_ns,       block.last_ns};
        assert_int_equal(rbwp_writer_add_block(writer, &sealed), RBWP_OK);
        rbwp_reader_close(reader);
        bytes_free(&alone);
        bytes_free(&blocks[i]);
    }
    assert_int_equal(rbwp_writer_finish(writer, NULL, 0, NULL, 0, &trailer), RBWP_OK);
    rbwp_writer_free(writer);
    return file;
}

/* A file without records. */
static struct bytes file_of(const struct rbwp_trailer *trailer)
{
    struct bytes file = {0};
    struct rbwp_sink sink = {&file, append, patch};
    struct rbwp_writer *writer;
    assert_int_equal(rbwp_writer_new(&sink, 0, T, false, &writer), RBWP_OK);
    assert_int_equal(rbwp_writer_finish(writer, NULL, 0, NULL, 0, trailer), RBWP_OK);
    rbwp_writer_free(writer);
    return file;
}

static struct bytes simple_file(void)
{
    struct bytes blocks[4] = {0};
    const struct rbwp_thread_info threads[] = {{.thread_id = 1, .records = 26, .name = ""},
                                               {.thread_id = 2, .records = 10, .name = ""},
                                               {.thread_id = 2, .records = 4, .name = ""}};
    put_block(&blocks[0], 1, 0, 6, T);
    put_block(&blocks[1], 2, 1, 4, T);
    put_block(&blocks[2], 2, 3, 10, T);
    put_zlib_block(&blocks[3], 1, 2, 20, T);
    return file_with(threads, 3, NULL, 0, blocks, 4);
}

/* Guards: a good file has no breaks, threads with several entries included. */
static void good_file_is_good(void **state)
{
    (void)state;
    struct bytes file = simple_file();
    assert_int_equal(verify(&file).count, 0);
    bytes_free(&file);
}

/* Guards: R20 in blocks far apart; R21 in one block, and its excuse by counted losses. */
static void blocks_are_compared(void **state)
{
    (void)state;
    struct bytes blocks[3] = {0};
    put_block(&blocks[0], 1, 7, 6, T);
    put_block(&blocks[1], 2, 7, 6, T); /* another thread may have the same number */
    put_block(&blocks[2], 1, 7, 6, T);
    struct bytes file = file_with(NULL, 0, NULL, 0, blocks, 3);
    expect_only(&file, 20);
    bytes_free(&file);

    for (unsigned cause = 0; cause <= RBWP_LOSS_CAUSE_MAX; cause++) {
        struct rbwp_loss loss = {.cause = cause, .count = 1};
        bool excused = (cause >= 1 && cause <= 5) || cause == RBWP_LOSS_SIGNAL ||
                       cause == RBWP_LOSS_UNPROTECTED || cause == RBWP_LOSS_OVERWRITTEN;
        put_block(&blocks[0], 1, 7, 6, T);
        blocks[0].data[32 + 12] = RBWP_FINE_END; /* begin, no end, begin */
        file = file_with(NULL, 0, &loss, cause != 0, blocks, 1);
        set_le(&file, 6, 1, 2);
        assert_int_equal(verify(&file).count, !excused);
        if (!excused)
            assert_int_equal(verify(&file).rules[0], 21);
        bytes_free(&file);
    }
}

/* Guards: R22: fine records in a file that says level 1. */
static void fine_records_need_level_2(void **state)
{
    (void)state;
    struct bytes file = load_example();
    assert_int_equal(verify(&file).count, 0);
    set_le(&file, 6, 0, 2);
    expect_only(&file, 22);
    bytes_free(&file);
}

/* Guards: R6, and R32 to R34 in a file. */
static void header_and_tables_are_checked(void **state)
{
    (void)state;
    struct bytes file = {0};
    put_header(&file, 1, 0, 0);
    expect_only(&file, 6);
    set_le(&file, 28, 36, 8);
    put(&file, "\0\1\0\0", 4);
    expect_only(&file, 32);
    bytes_free(&file);
}

/* Guards: R61: a changed name, a changed count. */
static void tables_are_summed(void **state)
{
    (void)state;
    struct bytes file = load_example();
    file.data[0x5f] ^= 1;
    expect_only(&file, 61);
    bytes_free(&file);
    file = load_example();
    set_le(&file, 0xa1, 2, 4); /* TABL's work-item count */
    seal_trailer(&file);
    expect_only(&file, 61);
    bytes_free(&file);
}

/* Where the entry of INDX in the example begins. */
#define EXAMPLE_RANGE 0xc9

/* Guards: R62 to R64: each field of an index range, changed alone. */
static void index_is_compared(void **state)
{
    (void)state;
    static const struct {
        unsigned offset, size, rule;
    } fields[] = {{0, 8, 62},  {8, 8, 62},  {16, 8, 63}, {24, 8, 63},
                  {32, 8, 63}, {40, 8, 63}, {48, 4, 63}, {52, 4, 64}};
    for (unsigned i = 0; i < 8; i++) {
        struct bytes file = load_example();
        file.data[EXAMPLE_RANGE + fields[i].offset] ^= 1;
        seal_trailer(&file);
        struct breaks breaks = verify(&file);
        assert_true(breaks.count >= 1);
        for (unsigned b = 0; b < breaks.count; b++)
            assert_int_equal(breaks.rules[b], fields[i].rule);
        bytes_free(&file);
    }
    /* The last range is missing. */
    struct bytes shorter = simple_file();
    size_t entries = shorter.size - 32 - 4 * 56;
    memmove(shorter.data + shorter.size - 32 - 56, shorter.data + shorter.size - 32, 32);
    shorter.size -= 56;
    set_le(&shorter, entries - 16, 8 + 3 * 56, 8);
    set_le(&shorter, entries - 4, 3, 4);
    seal_trailer(&shorter);
    expect_only(&shorter, 62);
    bytes_free(&shorter);
    /* A flipped bit in a payload that still decodes is found by the sum alone. */
    struct bytes file = load_example();
    file.data[0x4d] ^= 1; /* the slot */
    expect_only(&file, 64);
    bytes_free(&file);
}

/* Guards: R60: a record count that is not that of the thread's blocks. */
static void thread_counts_are_compared(void **state)
{
    (void)state;
    struct bytes blocks[1] = {0};
    const struct rbwp_thread_info threads[] = {{.thread_id = 1, .records = 7, .name = ""},
                                               {.thread_id = 5, .records = 0, .name = ""}};
    put_block(&blocks[0], 1, 0, 6, T);
    struct bytes file = file_with(threads, 2, NULL, 0, blocks, 1);
    expect_only(&file, 60);
    bytes_free(&file);
}

/* Guards: R67: comparisons with another node's clock that do not follow each other. */
static void node_clocks_ascend(void **state)
{
    (void)state;
    struct rbwp_node_clock clocks[] = {{T, 5, 1, 0}, {T + 9, 5, 1, 0}, {T + 9, 6, 1, 0}};
    struct rbwp_trailer trailer = {.node_clocks = clocks, .node_clock_count = 2};
    struct bytes file = file_of(&trailer);
    struct breaks breaks = verify(&file);
    assert_int_equal(breaks.count, 0);
    bytes_free(&file);
    trailer.node_clock_count = 3;
    file = file_of(&trailer);
    expect_only(&file, 67);
    bytes_free(&file);
}

/* Guards: a cut is distinguished from breaks; what a reader notes comes through, in order. */
static void cuts_and_damage_are_passed_on(void **state)
{
    (void)state;
    struct bytes file = load_golden("crash_cut_in_data");
    struct breaks breaks = verify(&file);
    assert_int_equal(breaks.count, 1);
    assert_true(breaks.cut);
    bytes_free(&file);
    file = simple_file();
    file.data[36 + 40] = 0xee;
    breaks = verify(&file);
    assert_int_equal(breaks.rules[0], 17);
    assert_int_equal(breaks.rules[1], 62); /* and its range of the index holds no good block */
    assert_int_equal(breaks.count, 2);
    bytes_free(&file);
}

/* Guards: the callback can stop it; a file that cannot be opened or is refused says so. */
static void verification_stops_when_told(void **state)
{
    (void)state;
    struct bytes file = load_golden("defect_discard_rotate");
    struct breaks breaks = {.stop_after = 1};
    struct rbwp_verify_result result;
    struct rbwp_error error;
    file.data[36 + 40] = 0xee;
    assert_int_equal(rbwp_verify_memory(file.data, file.size, note, &breaks, &result, &error),
                     RBWP_END);
    assert_int_equal(breaks.count, 1);
    bytes_free(&file);

    breaks = (struct breaks){0};
    assert_int_equal(rbwp_verify_memory("RBWQ", 4, note, &breaks, &result, &error),
                     RBWP_E_NOT_RBWP);
    assert_int_equal(breaks.rules[0], 2);
    assert_int_equal(result.breaks, 1);
    assert_int_equal(rbwp_verify("/nonexistent", note, &breaks, &result, NULL), RBWP_E_IO);
    assert_int_equal(breaks.count, 1);

    struct bytes must = {0};
    put_header(&must, 0, 0, 0);
    put_block_header(&must, 0, 0, 0, 0, 4, 0);
    put(&must, "Must", 4);
    breaks = (struct breaks){0};
    assert_int_equal(rbwp_verify_memory(must.data, must.size, note, &breaks, &result, &error),
                     RBWP_E_VERSION);
    assert_int_equal(breaks.rules[0], 42);
    assert_int_equal(error.rule, 42);
    bytes_free(&must);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_file_is_good),
        cmocka_unit_test(blocks_are_compared),
        cmocka_unit_test(fine_records_need_level_2),
        cmocka_unit_test(header_and_tables_are_checked),
        cmocka_unit_test(tables_are_summed),
        cmocka_unit_test(index_is_compared),
        cmocka_unit_test(thread_counts_are_compared),
        cmocka_unit_test(node_clocks_ascend),
        cmocka_unit_test(cuts_and_damage_are_passed_on),
        cmocka_unit_test(verification_stops_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
