/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of mutations of the golden files and the example: whatever the
 * bytes are, the reader and the verifier end, agree between memory and stream,
 * account for every byte, and stay inside their bound of memory. Under ASan and
 * UBSan this is a small fuzz run with fixed seeds.
 */
#include "format_support.h"
#include "rbwp_verify.h"
#include "unit.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 250 /* for each file */

static struct bytes subject(size_t number)
{
    return number == golden_count ? load_example() : load_golden(golden_names[number]);
}

/* One to four changes: a flipped bit, a special number, a cut, a removed or doubled piece. */
static void mutate(struct bytes *file, uint64_t *state)
{
    static const uint64_t special[] = {0,         1,          0x7f,       0xff,
                                       0xffff,    0x7fffffff, 0xffffffff, UINT64_MAX,
                                       INT64_MAX, 36,         16u << 20,  (16u << 20) + 1};
    for (unsigned changes = 1 + (unsigned)(next_random(state) % 4); changes && file->size;
         changes--) {
        /* Headers are small: half of the changes go to the first and last bytes. */
        size_t at = (size_t)(next_random(state) % file->size),
               near = (size_t)(next_random(state) % 100);
        if (next_random(state) % 4 == 0 && near < file->size)
            at = next_random(state) % 2 ? near : file->size - 1 - near;
        unsigned size = 1u << next_random(state) % 4;
        size_t length = (size_t)(next_random(state) % 200);
        switch (next_random(state) % 8) {
        case 0:
            file->size = at;
            break;
        case 1: /* a piece is missing */
            if (at + length < file->size) {
                memmove(file->data + at, file->data + at + length, file->size - at - length);
                file->size -= length;
            }
            break;
        case 2: /* a piece is there twice */
            if (at + length < file->size) {
                struct bytes longer = {0};
                put(&longer, file->data, at + length);
                put(&longer, file->data + at, file->size - at);
                bytes_free(file);
                *file = longer;
            }
            break;
        case 3:
        case 4:
            if (at + size <= file->size)
                set_le(file, at, special[next_random(state) % 12], size);
            break;
        default:
            file->data[at] ^= (uint8_t)(1u << next_random(state) % 8);
        }
    }
}

/* Reads through and accounts for every byte between header and the end of the blocks. */
static void read_and_account(const struct bytes *file)
{
    struct opened opened = open_way(file, BY_MEMORY, NULL);
    if (opened.reader) {
        struct rbwp_block block;
        enum rbwp_status status;
        uint64_t bytes = 36, skipped = 0, last = 0;
        while ((status = rbwp_reader_next_block(opened.reader, &block)) == RBWP_OK) {
            assert_true(block.offset >= last);
            assert_true(block.header.data_bytes <= RBWP_BLOCK_BYTES_MAX);
            last =
                block.offset + 32 +
                (block.header.stored_bytes ? block.header.stored_bytes : block.header.data_bytes);
            bytes += last - block.offset;
        }
        const struct rbwp_problem *problem;
        for (uint64_t i = 0; (problem = rbwp_reader_problem(opened.reader, i)); i++) {
            skipped += problem->skipped_bytes;
            assert_true(problem->error.text[0] && !strchr(problem->error.text, '\n'));
        }
        /* What became an archive is read as the file in it, whose places those are. */
        const bool archive = rbwp_reader_is_archive(opened.reader);
        assert_true(archive || bytes + skipped <= file->size);
        uint64_t offset = rbwp_reader_header(opened.reader)->descriptor_offset;
        if (!archive && status == RBWP_END && offset == 0 && !rbwp_reader_trailer(opened.reader))
            assert_int_equal(bytes + skipped, file->size);
        if (!archive && status == RBWP_END && offset >= 36 && offset <= file->size)
            assert_int_equal(bytes + skipped, offset);
    }
    close_way(&opened);
}

/* Guards: crash, hang, over-read and unaccounted bytes, for any input. */
static void mutated_files_are_ordinary_input(void **state)
{
    (void)state;
    uint64_t random = 20240229;
    for (size_t number = 0; number <= golden_count; number++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            struct bytes file = subject(number);
            struct rbwp_verify_result result;
            mutate(&file, &random);
            read_and_account(&file);
            enum rbwp_status status =
                rbwp_verify_memory(file.data, file.size, NULL, NULL, &result, NULL);
            assert_true(status <= RBWP_OK && status != RBWP_E_MEMORY && status != RBWP_E_IO);
            bytes_free(&file);
        }
}

/* Guards: memory, file and stream see the same in damaged files too. A trailer found from the end
 * of an unfinished file is the one thing that a stream cannot know. */
static void ways_agree_on_damage(void **state)
{
    (void)state;
    uint64_t random = 97;
    for (size_t number = 0; number <= golden_count; number++)
        for (unsigned round = 0; round < ROUNDS / 10; round++) {
            struct bytes file = subject(number);
            mutate(&file, &random);
            char *memory = read_all(&file, BY_MEMORY), *by_file = read_all(&file, BY_FILE);
            char *stream = read_all(&file, BY_STREAM);
            assert_string_equal(by_file, memory);
            bool same_start = !strncmp(memory, "open 0", 6) && !strncmp(stream, "open 0", 6);
            bool unfinished = file.size >= 36 && !memcmp(file.data + 28, "\0\0\0\0\0\0\0\0", 8);
            if (same_start && !unfinished)
                assert_string_equal(stream, memory);
            free(memory);
            free(by_file);
            free(stream);
            bytes_free(&file);
        }
}

/* Guards: every truncation of the example, the file that has all parts. */
static void every_truncation_is_ordinary_input(void **state)
{
    (void)state;
    struct bytes file = load_example();
    for (size_t whole = file.size; file.size > 0; file.size--) {
        struct rbwp_verify_result result;
        read_and_account(&file);
        enum rbwp_status status =
            rbwp_verify_memory(file.data, file.size, NULL, NULL, &result, NULL);
        assert_int_equal(status, file.size < 36 ? RBWP_E_TRUNCATED : RBWP_OK);
        bool strict = file.size == 109; /* ends with the tables: the strict form */
        if (file.size >= 36)
            assert_int_equal(result.breaks == 0, file.size == whole || strict);
    }
    bytes_free(&file);
}

static size_t heap_bytes(void)
{
#ifdef __GLIBC__
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0; /* not known */
#endif
}

/* Guards: sizes that a small file merely claims do not make us allocate them. (Sanitizers count
 * nothing here; the plain build does.) */
static void claims_do_not_allocate(void **state)
{
    (void)state;
    struct bytes file = {0};
    put_header(&file, 65536, 65536, 0);
    put_block_header(&file, 1, 0, 493447, 5, 16u << 20, 16u << 20);
    set_le(&file, 28, file.size, 8);
    put(&file, "more", 4);
    for (enum way way = BY_MEMORY; way <= BY_STREAM; way++) {
        size_t before = heap_bytes();
        struct opened opened = open_way(&file, way, NULL);
        struct rbwp_block block;
        assert_int_equal(opened.status, RBWP_OK);
        assert_int_equal(rbwp_reader_next_block(opened.reader, &block), RBWP_END);
        assert_true(heap_bytes() - before < 1 << 20);
        close_way(&opened);
    }
    bytes_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_files_are_ordinary_input),
        cmocka_unit_test(ways_agree_on_damage),
        cmocka_unit_test(every_truncation_is_ordinary_input),
        cmocka_unit_test(claims_do_not_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
