/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading a file while it grows (rbwp_reader_options.follow), and of
 * a live file that speaks for what the file does not have yet.
 */
#include "live_support.h"
#include "rbwp_recover.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct growing {
    FILE *file;
    struct rbwp_reader *reader;
};

static void grow(struct growing *growing, const void *data, size_t size)
{
    assert_int_equal(fwrite(data, 1, size, growing->file), size);
    assert_int_equal(fflush(growing->file), 0);
}

static struct growing follow(const struct bytes *start)
{
    struct growing growing = {.file = tmpfile()};
    struct rbwp_reader_options options = {.size = sizeof options, .follow = true};
    grow(&growing, start->data, start->size);
    assert_int_equal(rbwp_reader_open_fd(fileno(growing.file), &options, &growing.reader, NULL),
                     RBWP_OK);
    return growing;
}

static void stop(struct growing *growing)
{
    rbwp_reader_close(growing->reader);
    fclose(growing->file);
}

/* Guards: a file is seen to be finalised before its last blocks are read, so that they have their
 * names; a look moves nothing on. */
static void names_before_the_last_blocks(void **state)
{
    (void)state;
    struct bytes whole = load_example(), start = {0};
    put(&start, whole.data, 36);
    memset(start.data + 20, 0, 16);
    struct growing growing = follow(&start);
    struct rbwp_block block;
    assert_int_equal(rbwp_reader_look_again(growing.reader), RBWP_AGAIN);
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_AGAIN);
    grow(&growing, whole.data + 36, whole.size - 36);
    assert_int_equal(rbwp_reader_look_again(growing.reader), RBWP_AGAIN);
    assert_int_equal(pwrite(fileno(growing.file), whole.data, 36, 0), 36);
    assert_int_equal(rbwp_reader_tables(growing.reader)->work_item_count, 0);
    assert_int_equal(rbwp_reader_look_again(growing.reader), RBWP_END);
    assert_true(rbwp_reader_tables(growing.reader)->work_item_count > 0);
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_OK);
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_END);
    assert_int_equal(rbwp_reader_problem_count(growing.reader), 0);
    stop(&growing);
    bytes_free(&start);
    bytes_free(&whole);
}

/* Guards: at each byte that a file grows by, the reader hands out a block as soon as it is whole,
 * once, and never takes the part that is there for damage; the tables come at the end. */
static void every_byte(void **state)
{
    (void)state;
    struct bytes whole = load_example(), start = {0};
    size_t descriptor = 91;
    put(&start, whole.data, 36);
    memset(start.data + 20, 0, 16);
    struct growing growing = follow(&start);
    struct rbwp_block block;
    for (size_t size = 36; size < whole.size; size++) {
        assert_int_equal(rbwp_reader_next_block(growing.reader, &block),
                         size == descriptor ? RBWP_OK : RBWP_AGAIN);
        if (size == descriptor)
            assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_AGAIN);
        if (size == descriptor)
            break;
        grow(&growing, whole.data + size, 1);
    }
    grow(&growing, whole.data + descriptor, whole.size - descriptor);
    assert_int_equal(rbwp_reader_tables(growing.reader)->work_item_count, 0);
    assert_int_equal(pwrite(fileno(growing.file), whole.data + 20, 16, 20), 16);
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_END);
    assert_int_equal(rbwp_reader_problem_count(growing.reader), 0);
    assert_int_equal(rbwp_reader_tables(growing.reader)->work_item_count, 1);
    assert_non_null(rbwp_reader_trailer(growing.reader));
    stop(&growing);
    bytes_free(&whole);
    bytes_free(&start);
}

/* Guards: blocks that come between two looks, and the end at once with them. */
static void many_at_once(void **state)
{
    (void)state;
    struct bytes start = {0}, more = {0};
    put_header(&start, 0, 0, 0);
    struct growing growing = follow(&start);
    struct rbwp_block block;
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_AGAIN);
    for (uint32_t i = 0; i < 5; i++)
        put_zlib_block(&more, 1, i, 40000, LIVE_T);
    grow(&growing, more.data, more.size);
    uint8_t offset[8] = {0};
    uint64_t end = start.size + more.size;
    for (int i = 0; i < 8; i++)
        offset[i] = (uint8_t)(end >> 8 * i);
    assert_int_equal(pwrite(fileno(growing.file), offset, 8, 28), 8);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_OK);
        assert_int_equal(block.header.sequence, i);
    }
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_END);
    assert_int_equal(rbwp_reader_problem_count(growing.reader), 0);
    stop(&growing);
    bytes_free(&start);
    bytes_free(&more);
}

/* Guards: a writer whose write failed takes its piece back and writes another one there. */
static void a_piece_is_taken_back(void **state)
{
    (void)state;
    struct bytes start = {0}, first = {0}, second = {0};
    put_header(&start, 0, 0, 0);
    put_block(&first, 1, 0, 30, LIVE_T);
    put_block(&second, 2, 0, 20, LIVE_T + 7);
    struct growing growing = follow(&start);
    struct rbwp_block block;
    grow(&growing, first.data, 60);
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_AGAIN);
    assert_int_equal(ftruncate(fileno(growing.file), 36), 0);
    assert_int_equal(fseek(growing.file, 36, SEEK_SET), 0);
    grow(&growing, second.data, second.size);
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_OK);
    assert_int_equal(block.header.thread_id, 2);
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_AGAIN);
    stop(&growing);
    bytes_free(&start);
    bytes_free(&first);
    bytes_free(&second);
}

/* Guards: a file that was truncated, or begun anew under the reader, is no longer the one that was
 * followed; a damaged block is passed as ever. */
static void not_the_same_file(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct bytes start = {0};
        put_header(&start, 0, 0, 0);
        size_t at = start.size;
        put_block(&start, 1, 0, 30, LIVE_T);
        start.data[at + 32 + 8] = 0x77;
        put_block(&start, 1, 1, 30, LIVE_T);
        struct growing growing = follow(&start);
        struct rbwp_block block;
        assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_OK);
        assert_int_equal(block.header.sequence, 1);
        assert_int_equal(rbwp_reader_problem_count(growing.reader), 1);
        assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_AGAIN);
        if (i == 0)
            assert_int_equal(ftruncate(fileno(growing.file), 40), 0);
        else
            assert_int_equal(pwrite(fileno(growing.file), "12345678", 8, 12), 8);
        assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_E_TRUNCATED);
        assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_E_TRUNCATED);
        stop(&growing);
        bytes_free(&start);
    }
}

/* Guards: names come from the live file while the file has none, and from the file as soon as it
 * has; another file's live file is not taken. */
static void names_of_the_live_file(void **state)
{
    (void)state;
    char path[] = "/tmp/follow-live-XXXXXX";
    close(mkstemp(path));
    struct live_maker maker;
    live_make(&maker, path);
    live_log_slot(&maker, 10, 3, "flush");
    live_log_thread(&maker, 7, "worker");
    live_make_done(&maker);
    struct rbwp_live *live;
    assert_int_equal(rbwp_live_open(path, &live, NULL), RBWP_OK);
    unlink(path);

    struct bytes start = {0}, tail = {0};
    put_header(&start, 0, 0, 0);
    struct growing growing = follow(&start);
    struct rbwp_block block;
    assert_null(rbwp_reader_trailer(growing.reader));
    assert_true(rbwp_reader_set_live(growing.reader, live));
    assert_int_equal(rbwp_reader_tables(growing.reader)->work_item_count, 1);
    assert_int_equal(rbwp_reader_trailer(growing.reader)->thread_count, 1);
    assert_true(rbwp_reader_set_live(growing.reader, NULL));
    assert_int_equal(rbwp_reader_tables(growing.reader)->work_item_count, 0);
    assert_true(rbwp_reader_set_live(growing.reader, live));
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_AGAIN);
    put(&tail, "\1\0\1\0a\2\0\1\0b", 10);
    grow(&growing, tail.data, tail.size);
    static const uint8_t patch[16] = {2, 0, 0, 0, 0, 0, 0, 0, 36};
    assert_int_equal(pwrite(fileno(growing.file), patch, 16, 20), 16);
    assert_int_equal(rbwp_reader_next_block(growing.reader, &block), RBWP_END);
    assert_int_equal(rbwp_reader_tables(growing.reader)->work_item_count, 2);
    assert_null(rbwp_reader_trailer(growing.reader));
    stop(&growing);

    set_le(&start, 8, 1, 4); /* another node */
    growing = follow(&start);
    assert_false(rbwp_reader_set_live(growing.reader, live));
    assert_null(rbwp_reader_trailer(growing.reader));
    stop(&growing);
    rbwp_live_close(live);
    bytes_free(&start);
    bytes_free(&tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_before_the_last_blocks),
        cmocka_unit_test(every_byte),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(a_piece_is_taken_back),
        cmocka_unit_test(not_the_same_file),
        cmocka_unit_test(names_of_the_live_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
