/* SPDX-License-Identifier: Apache-2.0 */
/* Records into blocks: each form of a time at its limits, full blocks, headers, all levels. */
#include "rbwp_reader.h"
#include "sealed_block.h"
#include "rbwp_writer.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_BITS ((INT64_C(1) << RBWP_TIME_BITS) - 1)

static struct rbwp_block_encoder *new_encoder(uint32_t bytes, int level)
{
    struct rbwp_block_encoder *encoder;
    assert_int_equal(rbwp_block_encoder_new(bytes, level, &encoder), RBWP_OK);
    return encoder;
}

/* A reader over one block, behind a file header made here. */
struct one_block {
    uint8_t *file;
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct rbwp_record_iterator iterator;
};

static struct one_block open_block(const struct rbwp_sealed_block *sealed)
{
    struct one_block one = {.file = calloc(1, RBWP_FILE_HEADER_BYTES + sealed->bytes_count)};
    memcpy(one.file, "RBWP\1\0\1", 7);
    memcpy(one.file + RBWP_FILE_HEADER_BYTES, sealed->bytes, sealed->bytes_count);
    assert_int_equal(rbwp_reader_open_memory(one.file, RBWP_FILE_HEADER_BYTES + sealed->bytes_count,
                                             NULL, &one.reader, NULL),
                     RBWP_OK);
    assert_int_equal(rbwp_reader_next_block(one.reader, &one.block), RBWP_OK);
    rbwp_record_first(&one.block, &one.iterator);
    return one;
}

static void close_block(struct one_block *one)
{
    struct rbwp_block none;
    struct rbwp_record record;
    assert_false(rbwp_record_next(&one->iterator, &record));
    assert_int_equal(rbwp_reader_next_block(one->reader, &none), RBWP_END);
    assert_int_equal(rbwp_reader_problem_count(one->reader), 0);
    rbwp_reader_close(one->reader);
    free(one->file);
}

/* The shortest form that holds a delta: 15 bits, 30 bits, else (or backwards) absolute. */
static void test_time_forms(void **state)
{
    (void)state;
    static const struct {
        int64_t first_ns, delta_ns;
        int first_bytes, bytes;
    } forms[] = {
        {0, 0, 2, 2},
        {32767, 32767, 2, 2},
        {32768, 32768, 4, 4},
        {(1 << 30) - 1, (1 << 30) - 1, 4, 4},
        {1 << 30, 1 << 30, 8, 8},
        {INT64_C(1700000000000000000), 1, 8, 2},
        {INT64_C(1700000000000000000), -1, 8, 8},
        {LEFT_BITS, 0, 8, 2},
        {LEFT_BITS, -LEFT_BITS, 8, 8},
        {5, LEFT_BITS - 5, 2, 8},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct rbwp_block_encoder *encoder = new_encoder(64, 0);
        int64_t first = forms[i].first_ns, second = first + forms[i].delta_ns;
        assert_int_equal(rbwp_block_encoder_put(encoder, first, RBWP_COARSE_END, 0), RBWP_OK);
        assert_int_equal(rbwp_block_encoder_put(encoder, second, RBWP_COARSE_END, 0), RBWP_OK);
        struct rbwp_sealed_block sealed;
        assert_int_equal(rbwp_block_encoder_seal(encoder, 1, 2, &sealed), RBWP_OK);
        assert_int_equal(sealed.first_ns, first < second ? first : second);
        assert_int_equal(sealed.last_ns, first < second ? second : first);
        struct one_block one = open_block(&sealed);
        struct rbwp_record record;
        assert_int_equal(one.block.header.base_time_ns, first);
        assert_true(rbwp_record_next(&one.iterator, &record));
        assert_int_equal(record.time_ns, first);
        assert_int_equal(record.time_bytes, forms[i].first_bytes);
        assert_true(rbwp_record_next(&one.iterator, &record));
        assert_int_equal(record.time_ns, second);
        assert_int_equal(record.time_bytes, forms[i].bytes);
        close_block(&one);
        rbwp_block_encoder_free(encoder);
    }
}

/* A block of any size takes what fits, then says so; sealed, it begins afresh with an absolute
 * time. */
static void test_full(void **state)
{
    (void)state;
    for (uint32_t bytes = 64; bytes < 200; bytes++) {
        struct rbwp_block_encoder *encoder = new_encoder(bytes, 0);
        struct rbwp_sealed_block sealed;
        assert_int_equal(rbwp_block_encoder_seal(encoder, 1, 0, &sealed), RBWP_END);
        const struct rbwp_record gpu = {.time_ns = INT64_MAX, .kind = RBWP_GPU_WORK, .slot = 255};
        for (unsigned block = 0; block < 3; block++) {
            unsigned count = 0;
            while (rbwp_block_encoder_add(encoder, &gpu) == RBWP_OK)
                count++;
            /* 34 bytes for the first, 28 for those without a delta; each may ask for 34 */
            assert_int_equal(count, bytes < 34 + 34 ? 1 : 2 + (bytes - 68) / 28);
            assert_int_equal(rbwp_block_encoder_seal(encoder, 77, block, &sealed), RBWP_OK);
            assert_int_equal(sealed.records, count);
            assert_int_equal(sealed.bytes_count, RBWP_BLOCK_HEADER_BYTES + 34 + 28 * (count - 1));
            struct one_block one = open_block(&sealed);
            assert_int_equal(one.block.header.thread_id, 77);
            assert_int_equal(one.block.header.sequence, block);
            struct rbwp_record record;
            for (unsigned i = 0; i < count; i++) {
                assert_true(rbwp_record_next(&one.iterator, &record));
                assert_int_equal(record.time_ns, LEFT_BITS); /* 62 bits of it */
            }
            close_block(&one);
        }
        rbwp_block_encoder_free(encoder);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct rbwp_block_encoder *encoder = (void *)1;
    assert_int_equal(rbwp_block_encoder_new(63, 0, &encoder), RBWP_E_INVALID);
    assert_null(encoder);
    assert_int_equal(rbwp_block_encoder_new(RBWP_BLOCK_BYTES_MAX + 1, 0, &encoder), RBWP_E_INVALID);
    assert_int_equal(rbwp_block_encoder_new(64, 10, &encoder), RBWP_E_INVALID);
    assert_int_equal(rbwp_block_encoder_new(64, -2, &encoder), RBWP_E_INVALID);
    rbwp_block_encoder_free(NULL);
    encoder = new_encoder(0, -1);
    for (unsigned kind = 0; kind < 300; kind++) {
        bool known = kind == RBWP_COARSE_BEGIN || kind == RBWP_COARSE_END ||
                     kind == RBWP_FINE_BEGIN || kind == RBWP_FINE_END;
        assert_int_equal(rbwp_block_encoder_put(encoder, 1, kind, 0),
                         known ? RBWP_OK : RBWP_E_INVALID);
    }
    struct rbwp_sealed_block sealed;
    assert_int_equal(rbwp_block_encoder_seal(encoder, 1, 0, &sealed), RBWP_OK);
    assert_int_equal(sealed.records, 4); /* what was refused has left nothing */
    struct one_block one = open_block(&sealed);
    struct rbwp_record record;
    while (rbwp_record_next(&one.iterator, &record))
        assert_int_equal(record.time_ns, 1);
    close_block(&one);
    rbwp_block_encoder_free(encoder);
}

static struct rbwp_record some_record(uint64_t number)
{
    static const uint8_t kinds[] = {RBWP_COARSE_BEGIN, RBWP_FINE_BEGIN, RBWP_FINE_END,
                                    RBWP_COARSE_END, RBWP_GPU_WORK};
    uint64_t random = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    random ^= random >> 29;
    struct rbwp_record record = {.time_ns = INT64_C(1700000000000000000) + (int64_t)number * 900 +
                                            (int64_t)(random % 800),
                                 .kind = kinds[number % 40 ? number % 4 : 4]};
    if (record.kind == RBWP_COARSE_BEGIN || record.kind == RBWP_GPU_WORK)
        record.slot = (uint8_t)(random >> 20 & 15);
    if (record.kind == RBWP_FINE_BEGIN)
        record.sub_item = (uint16_t)(random >> 30);
    if (record.kind == RBWP_GPU_WORK) {
        record.proc_id = random;
        record.start_ns = INT64_MIN + (int64_t)(random >> 1);
        record.stop_ns = record.time_ns;
    }
    return record;
}

/* All levels and sizes, a block of hundreds of pieces among them; larger levels are not larger. */
static void test_levels(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {64, 100, 1024, 65536, 300000, 16 << 20};
    for (int level = -1; level <= 9; level++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint64_t number = 0, read = 0, goal = i == 5 ? level > 3 ? 20000 : 400000 : 30000;
            struct rbwp_block_encoder *encoder = new_encoder(sizes[i], level);
            while (read < goal) {
                struct rbwp_record record;
                while (number < goal && (record = some_record(number),
                                         rbwp_block_encoder_add(encoder, &record) == RBWP_OK))
                    number++;
                struct rbwp_sealed_block sealed;
                assert_int_equal(rbwp_block_encoder_seal(encoder, 1, 0, &sealed), RBWP_OK);
                struct one_block one = open_block(&sealed);
                assert_int_equal(one.block.header.records, number - read);
                bool stored = one.block.header.stored_bytes == 0;
                assert_true(level != 0 || stored);
                assert_true(level == 0 || sizes[i] < 1024 || sealed.records < 100 || !stored);
                for (; rbwp_record_next(&one.iterator, &record); read++) {
                    struct rbwp_record expected = some_record(read);
                    assert_int_equal(record.time_ns, expected.time_ns);
                    assert_int_equal(record.kind, expected.kind);
                    assert_int_equal(record.slot, expected.slot);
                    assert_int_equal(record.sub_item, expected.sub_item);
                    assert_true(record.proc_id == expected.proc_id);
                    assert_true(record.start_ns == expected.start_ns);
                    assert_true(record.stop_ns == expected.stop_ns);
                }
                assert_int_equal(read, number);
                close_block(&one);
            }
            rbwp_block_encoder_free(encoder);
        }
    }
}

/* Bytes of a block of records whose times are random in their last bits. */
static size_t sealed_bytes(int level, bool hurries)
{
    struct rbwp_block_encoder *encoder = new_encoder(65536, level);
    uint32_t state = 1;
    int64_t time_ns = 1;
    size_t bytes = 0;
    block_encoder_hurry(encoder, hurries);
    for (int block = 0; block < 4; block++) {
        enum rbwp_status status = RBWP_OK;
        for (unsigned i = 0; status == RBWP_OK; i++) {
            state = state * 1664525 + 1013904223;
            time_ns += 20 + (state >> 27);
            status = rbwp_block_encoder_put(encoder, time_ns,
                                            i % 2 ? RBWP_COARSE_END : RBWP_COARSE_BEGIN, 0);
        }
        struct rbwp_sealed_block sealed;
        assert_int_equal(rbwp_block_encoder_seal(encoder, 1, 0, &sealed), RBWP_OK);
        bytes += sealed.bytes_count;
    }
    rbwp_block_encoder_free(encoder);
    return bytes;
}

/* A higher level is never larger, and who is in a hurry leaves at most an eighth more. */
static void test_levels_shrink(void **state)
{
    (void)state;
    const size_t fast = sealed_bytes(1, false), hurried = sealed_bytes(1, true);
    assert_in_range(hurried, fast, fast + fast / 8);
    for (int level = 2; level <= 5; level++)
        assert_int_equal(sealed_bytes(level, true), fast);
    for (int level = 6; level <= 9; level++)
        assert_true(sealed_bytes(level, true) <= hurried);
}

static void test_renumber(void **state)
{
    (void)state;
    struct rbwp_block_encoder *encoder = new_encoder(64, 0);
    struct rbwp_sealed_block sealed;
    assert_int_equal(rbwp_block_encoder_put(encoder, 1, RBWP_COARSE_BEGIN, 300), RBWP_OK);
    assert_int_equal(rbwp_block_encoder_seal(encoder, UINT64_MAX, 1, &sealed), RBWP_OK);
    uint8_t copy[64];
    memcpy(copy, sealed.bytes, sealed.bytes_count);
    sealed_block_renumber(copy, UINT32_MAX);
    sealed.bytes = copy;
    struct one_block one = open_block(&sealed);
    assert_int_equal(one.block.header.sequence, UINT32_MAX);
    assert_int_equal(one.block.header.thread_id, UINT64_MAX);
    struct rbwp_record record;
    assert_true(rbwp_record_next(&one.iterator, &record));
    close_block(&one);
    rbwp_block_encoder_free(encoder);
}

/* The recorder's way into a block leaves what everybody's leaves, and refuses the same records at
 * the block's end; also the first of a block, and those at the limits of each form of a time. */
static void test_quick_way(void **state)
{
    (void)state;
    enum { RECORDS = 4000 };
    static const unsigned kinds[] = {RBWP_COARSE_BEGIN, RBWP_COARSE_END, RBWP_FINE_BEGIN,
                                     RBWP_FINE_END};
    static const unsigned payloads[] = {1, 0, 2, 0};
    static const int64_t steps_ns[] = {0, 1, 32767, 32768, (1 << 30) - 1, 1 << 30, -1};
    struct rbwp_block_encoder *plain = new_encoder(1000, 0), *quick = new_encoder(1000, 0);
    struct block_cursor cursor;
    uint32_t random = 1, blocks = 0, refused = 0;
    int64_t time_ns = 1700000000000000000;
    block_cursor_open(quick, &cursor);
    for (int i = 0; i < RECORDS;) {
        unsigned kind = kinds[random >> 20 & 3], id = random >> 8 & 0xff;
        int64_t next_ns = time_ns + (random >> 29 ? 100 : steps_ns[(random >> 24) % 7]);
        enum rbwp_status status = rbwp_block_encoder_put(plain, next_ns, kind, id);
        if (!block_cursor_put(&cursor, next_ns, kind, payloads[random >> 20 & 3], id)) {
            refused++;
            block_cursor_close(&cursor, quick);
            assert_int_equal(rbwp_block_encoder_put(quick, next_ns, kind, id), status);
            block_cursor_open(quick, &cursor);
        }
        if (status == RBWP_OK) {
            time_ns = next_ns;
            random = random * 1664525 + 1013904223;
            i++;
            continue;
        }
        struct rbwp_sealed_block block[2];
        block_cursor_close(&cursor, quick);
        assert_int_equal(rbwp_block_encoder_seal(plain, 7, blocks, &block[0]), RBWP_OK);
        assert_int_equal(rbwp_block_encoder_seal(quick, 7, blocks++, &block[1]), RBWP_OK);
        assert_int_equal(block[0].bytes_count, block[1].bytes_count);
        assert_memory_equal(block[0].bytes, block[1].bytes, block[0].bytes_count);
        assert_true(block[0].records == block[1].records && block[0].last_ns == block[1].last_ns &&
                    block[0].first_ns == block[1].first_ns);
        block_cursor_open(quick, &cursor);
    }
    block_cursor_close(&cursor, quick);
    assert_in_range(blocks, 10, RECORDS);
    assert_in_range(refused, 2 * blocks, RECORDS / 2); /* most go the quick way */
    rbwp_block_encoder_free(plain);
    rbwp_block_encoder_free(quick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_forms),    cmocka_unit_test(test_full),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_levels),
        cmocka_unit_test(test_levels_shrink), cmocka_unit_test(test_renumber),
        cmocka_unit_test(test_quick_way),
    };
    return cmocka_run_group_tests_name("block_encoder", tests, NULL, NULL);
}
