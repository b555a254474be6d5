/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of block.c and record.c: every rule a block can break, and the three time forms. */
#include "block.h"
#include "format_support.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define T INT64_C(1700000000000000000)

static struct rbwp_error error;

/* Checks one block the way a reader does. Memory is exact, so that a look beyond it is found. */
static enum rbwp_status check(const struct bytes *bytes, struct rbwp_block *block)
{
    static struct block_decoder decoder; /* kept: a decoder is used for many blocks */
    decoder.block_bytes_max = RBWP_BLOCK_BYTES_MAX;
    *block = (struct rbwp_block){.offset = 36};
    block_header_decode(bytes->data, &block->header);
    enum rbwp_status status = block_header_check(&decoder, &block->header, 36, &error);
    if (status != RBWP_OK)
        return status;
    size_t payload_bytes = block_payload_bytes(&block->header);
    assert_int_equal(bytes->size, 32 + payload_bytes);
    uint8_t *payload = malloc(payload_bytes);
    memcpy(payload, bytes->data + 32, payload_bytes);
    status = block_decode(&decoder, payload, block, &error);
    free(payload);
    return status;
}

static void expect_break(const struct bytes *bytes, unsigned rule)
{
    struct rbwp_block block;
    assert_int_equal(check(bytes, &block), RBWP_E_CORRUPT);
    assert_int_equal(error.rule, rule);
    assert_int_equal(error.offset, 36);
}

/* A stored block of the data, with count records and base time T. */
static struct bytes block_of(const struct bytes *data, uint32_t records)
{
    struct bytes block = {0};
    put_block_header(&block, 1, 0, records, T, (uint32_t)data->size, 0);
    put(&block, data->data, data->size);
    return block;
}

/* Guards: 2, 4 and 8 bytes at their limits, the first delta taken to 0, times going backwards. */
static void times_decode_in_all_forms(void **state)
{
    (void)state;
    static const struct {
        uint64_t word;
        unsigned bytes;
        int64_t time_ns;
    } times[] = {
        {5, 2, 5},
        {32767, 2, 32772},
        {UINT32_C(2) << 30 | 32768, 4, 65540},
        {UINT32_C(2) << 30 | 0x3fffffff, 4, 65540 + 0x3fffffff},
        {UINT32_C(2) << 30, 4, 65540 + 0x3fffffff}, /* longer than necessary: allowed */
        {UINT64_C(3) << 62, 8, 0},
        {UINT64_MAX, 8, (INT64_C(1) << 62) - 1},
        {1, 2, INT64_C(1) << 62}, /* added in 64 bits, without reduction */
        {UINT32_C(2) << 30 | 3, 4, (INT64_C(1) << 62) + 3},
        {UINT64_C(3) << 62 | 7, 8, 7},
    };
    size_t count = sizeof(times) / sizeof(times[0]);
    struct bytes data = {0};
    for (size_t i = 0; i < count; i++) {
        put_be(&data, times[i].word, times[i].bytes);
        put_le(&data, RBWP_FINE_END, 1);
    }
    struct bytes bytes = block_of(&data, (uint32_t)count);
    set_le(&bytes, 16, 5, 8);
    struct block_decoder decoder = {.block_bytes_max = 4096};
    struct rbwp_block block = {0};
    block_header_decode(bytes.data, &block.header);
    assert_int_equal(block_decode(&decoder, bytes.data + 32, &block, &error), RBWP_OK);
    assert_int_equal(block.first_ns, 0);
    assert_int_equal(block.last_ns, (INT64_C(1) << 62) + 3);
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(&block, &iterator);
    for (size_t i = 0; i < count; i++) {
        assert_true(rbwp_record_next(&iterator, &record));
        assert_int_equal(record.time_ns, times[i].time_ns);
        assert_int_equal(record.time_bytes, times[i].bytes);
    }
    assert_false(rbwp_record_next(&iterator, &record));
    bytes_free(&bytes);
    bytes_free(&data);
    block_decoder_free(&decoder);
}

/* Guards: the payload of every kind, little-endian, negative GPU times kept. */
static void kinds_decode_with_their_payload(void **state)
{
    (void)state;
    struct bytes data = {0};
    put_be(&data, (uint64_t)T | UINT64_C(3) << 62, 8);
    put(&data, "\x01\xff", 2);
    put_be(&data, 1, 2);
    put(&data, "\x11\x34\x12", 3);
    put_be(&data, 2, 2);
    put_le(&data, 0x21, 1);
    put_le(&data, UINT64_C(0xf123456789abcdef), 8);
    put_le(&data, 254, 1);
    put_le(&data, (uint64_t)-3, 8);
    put_le(&data, (uint64_t)INT64_MIN, 8);
    struct bytes bytes = block_of(&data, 3);
    struct block_decoder decoder = {.block_bytes_max = 4096};
    struct rbwp_block block = {0};
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    block_header_decode(bytes.data, &block.header);
    assert_int_equal(block_decode(&decoder, bytes.data + 32, &block, &error), RBWP_OK);
    rbwp_record_first(&block, &iterator);
    assert_true(rbwp_record_next(&iterator, &record));
    assert_int_equal(record.slot, 255);
    assert_true(rbwp_record_next(&iterator, &record));
    assert_int_equal(record.sub_item, 0x1234);
    assert_int_equal(record.offset, 10);
    assert_int_equal(record.slot, 0); /* fields of other kinds are 0 */
    assert_true(rbwp_record_next(&iterator, &record));
    assert_int_equal(record.proc_id, UINT64_C(0xf123456789abcdef));
    assert_int_equal(record.slot, 254);
    assert_int_equal(record.start_ns, -3);
    assert_int_equal(record.stop_ns, INT64_MIN);
    assert_int_equal(record.time_ns, T + 3);
    bytes_free(&bytes);
    bytes_free(&data);
}

/* Guards: R12, R13, R14 and R40 are found in the header, before anything is allocated for it. */
static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t records, data, stored;
        unsigned rule;
    } cases[] = {
        {1, (16u << 20) + 1, 0, 12},
        {1, 10, (16u << 20) + 1, 12},
        {1, UINT32_MAX, UINT32_MAX, 12},
        {4, 11, 0, 13},
        {1, 35, 0, 13},
        {UINT32_MAX, 40, 0, 13},
        {1, 0, 0, 13},
        {400, 8257, 8, 14},
        {500000, 16u << 20, 16256, 14},
        {0, 3, 0, 40},
        {0, 0, 0, 40},
        {0, 0, 12, 40},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bytes bytes = {0};
        put_block_header(&bytes, 1, 0, cases[i].records, T, cases[i].data, cases[i].stored);
        expect_break(&bytes, cases[i].rule);
        bytes_free(&bytes);
    }
}

/* Guards: R16 to R19 for stored data, with records cut at each possible place. */
static void damaged_records_are_found(void **state)
{
    (void)state;
    struct rbwp_block block;
    struct bytes data = make_data(20, T);
    struct bytes good = block_of(&data, 20);
    assert_int_equal(check(&good, &block), RBWP_OK);
    assert_int_equal(block.first_ns, T);
    assert_int_equal(block.last_ns, T + 1900);

    struct bytes wrong_count = block_of(&data, 19);
    expect_break(&wrong_count, 16);

    for (unsigned kind = 0; kind < 256; kind++) {
        struct bytes bad = block_of(&data, 20);
        bad.data[32 + 8] = (uint8_t)kind;
        bool known = kind == 1 || kind == 2 || kind == 0x11 || kind == 0x12 || kind == 0x21;
        if (!known)
            expect_break(&bad, 17);
        bytes_free(&bad);
    }
    /* The last record is an end: 2 + 1 bytes. The one before: 2 + 2. */
    for (uint32_t less = 1; less < 7; less++) {
        struct bytes cut = {data.data, data.size - less, 0};
        struct bytes bad = block_of(&cut, less == 3 ? 20 : less < 3 ? 20 : 19);
        expect_break(&bad, less == 3 ? 16 : 18);
        bytes_free(&bad);
    }
    struct bytes wrong_base = block_of(&data, 20);
    set_le(&wrong_base, 16, T + 1, 8);
    expect_break(&wrong_base, 19);
    set_le(&wrong_base, 16, T | UINT64_C(3) << 62, 8); /* the two bits that a record loses */
    assert_int_equal(check(&wrong_base, &block), RBWP_OK);
    bytes_free(&wrong_base);
    bytes_free(&wrong_count);
    bytes_free(&good);
    bytes_free(&data);
}

/* Guards: R15 in each way: not zlib, cut, wrong sum, too much, too little, bytes behind it. */
static void damaged_streams_are_found(void **state)
{
    (void)state;
    struct rbwp_block block;
    struct bytes good = {0};
    put_zlib_block(&good, 1, 0, 500, T);
    assert_int_equal(check(&good, &block), RBWP_OK);
    assert_int_equal(block.last_ns, T + 49900);
    uint32_t data_bytes = block.header.data_bytes, stored = block.header.stored_bytes;

    struct bytes bad = {0};
    put(&bad, good.data, good.size);
    for (size_t at = 32; at < bad.size; at++) {
        bad.data[at] ^= 0x10;
        expect_break(&bad, 15);
        bad.data[at] ^= 0x10;
    }
    set_le(&bad, 24, data_bytes + 1, 4);
    expect_break(&bad, 15);
    set_le(&bad, 24, data_bytes - 1, 4);
    expect_break(&bad, 15);
    set_le(&bad, 24, data_bytes, 4);
    put(&bad, "", 1);
    set_le(&bad, 28, stored + 1, 4);
    expect_break(&bad, 15);
    bad.size = good.size - 1;
    set_le(&bad, 28, stored - 1, 4);
    expect_break(&bad, 15);
    bytes_free(&bad);
    bytes_free(&good);
}

/* Guards: R41 and R42: small letters are ignored, capitals refused, anything else is damage. */
static void opaque_blocks_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *tag;
        enum rbwp_status status;
        unsigned rule;
    } cases[] = {
        {"note", RBWP_OK, 0},
        {"x001", RBWP_OK, 0},
        {"nOTE", RBWP_OK, 0},
        {"Note", RBWP_E_VERSION, 42},
        {"X001", RBWP_E_VERSION, 42},
        {"1abc", RBWP_E_CORRUPT, 41},
        {"ab c", RBWP_E_CORRUPT, 41},
        {"ab\0c", RBWP_E_CORRUPT, 41},
        {"\xe1"
         "bcd",
         RBWP_E_CORRUPT, 41},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rbwp_block block;
        struct bytes bytes = {0};
        put_block_header(&bytes, 0, 0, 0, 0, 6, 0);
        put(&bytes, cases[i].tag, 4);
        put(&bytes, "hi", 2);
        assert_int_equal(check(&bytes, &block), cases[i].status);
        if (cases[i].status != RBWP_OK)
            assert_int_equal(error.rule, cases[i].rule);
        bytes_free(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_decode_in_all_forms),
        cmocka_unit_test(kinds_decode_with_their_payload),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(damaged_records_are_found),
        cmocka_unit_test(damaged_streams_are_found),
        cmocka_unit_test(opaque_blocks_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
