/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of resync.c: which place is taken for the next block, and that the search stays bounded. */
#include "format_support.h"
#include "resync.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define T INT64_C(1700000000000000000)

static struct rbwp_error error;

/* Searches from `from` on; block_end as the damaged block would have it. */
static enum rbwp_status find(const struct bytes *file, uint64_t from, uint64_t block_end,
                             uint64_t *offset)
{
    struct resync resync = {0};
    struct block_decoder decoder = {.block_bytes_max = RBWP_BLOCK_BYTES_MAX};
    struct source source;
    source_open_memory(&source, file->data, file->size);
    enum rbwp_status status =
        resync_find(&resync, &source, &decoder,
                    (struct resync_range){.from = from, .end = UINT64_MAX, .block_end = block_end},
                    offset, &error);
    block_decoder_free(&decoder);
    source_close(&source);
    return status;
}

static void put_garbage(struct bytes *bytes, size_t size)
{
    uint64_t state = size;
    uint8_t *garbage = malloc(size);
    for (size_t i = 0; i < size; i++)
        garbage[i] = (uint8_t)next_random(&state);
    put(bytes, garbage, size);
    free(garbage);
}

/* Guards: the next block is found behind garbage of any length, stored or compressed. */
static void next_block_is_found(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 31, 32, 33, 1000, 65504, 65536, 65567, 200000};
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct bytes file = {0};
        uint64_t offset;
        put_garbage(&file, sizes[i / 2]);
        (i % 2 ? put_zlib_block : put_block)(&file, 1, 7, 300, T);
        assert_int_equal(find(&file, 0, 0, &offset), RBWP_OK);
        assert_int_equal(offset, sizes[i / 2]);
        assert_int_equal(find(&file, offset + 1, 0, &offset), RBWP_END);
        assert_int_equal(offset, file.size);
        bytes_free(&file);
    }
}

/* Guards: a block that is almost right (one flipped bit, wrong count, wrong base, cut) is not
 * taken, the good one behind it is. */
static void near_misses_are_passed(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct bytes file = {0};
        uint64_t offset;
        (kind % 2 ? put_zlib_block : put_block)(&file, 1, 7, 300, T);
        size_t good = file.size;
        if (kind < 2)
            file.data[good - 8] ^= 0x40;
        else
            set_le(&file, kind == 2 ? 12 : 16, kind == 2 ? 299 : T + 1, kind == 2 ? 4 : 8);
        put_block(&file, 1, 8, 20, T);
        assert_int_equal(find(&file, 0, 0, &offset), RBWP_OK);
        assert_int_equal(offset, good);
        bytes_free(&file);
    }
}

/* Guards: an opaque block is found where the damaged block says that it ends, and only there:
 * it is too easily mistaken. */
static void opaque_blocks_are_found_by_the_chain(void **state)
{
    (void)state;
    struct bytes file = {0};
    uint64_t offset;
    put_garbage(&file, 500);
    put_block_header(&file, 0, 0, 0, 0, 9, 0);
    put(&file, "note12345", 9);
    put_block(&file, 1, 7, 300, T);
    assert_int_equal(find(&file, 0, 0, &offset), RBWP_OK);
    assert_int_equal(offset, 541);
    assert_int_equal(find(&file, 0, 500, &offset), RBWP_OK);
    assert_int_equal(offset, 500);
    bytes_free(&file);
}

/* Guards: a megabyte of random bytes and one of zeros hold no block, and are passed quickly. */
static void garbage_holds_no_block(void **state)
{
    (void)state;
    struct bytes file = {0};
    uint64_t offset;
    put_garbage(&file, 1 << 20);
    file.data = realloc(file.data, file.capacity = 2 << 20);
    memset(file.data + file.size, 0, 1 << 20);
    file.size = 2 << 20;
    assert_int_equal(find(&file, 0, 0, &offset), RBWP_END);
    assert_int_equal(offset, file.size);
    bytes_free(&file);
}

/* Guards: a file made of block headers that look right and are wrong only at the end of megabytes
 * of data would cost a quadratic search; it is given up, with the work bounded by the file. */
static void hostile_candidates_are_given_up(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct bytes data = make_data(2500000, T);
    struct resync resync = {0};
    struct block_decoder decoder = {.block_bytes_max = RBWP_BLOCK_BYTES_MAX};
    struct source source;
    uint64_t offset;
    for (unsigned i = 0; i < 200; i++) {
        put_block_header(&file, 1, i, 2500001, T, (uint32_t)data.size, 0);
        put(&file, data.data, 10);
    }
    put(&file, data.data + 10, data.size);
    source_open_memory(&source, file.data, file.size);
    struct resync_range range = {.from = 0, .end = UINT64_MAX};
    enum rbwp_status status = resync_find(&resync, &source, &decoder, range, &offset, &error);
    assert_int_equal(status, RBWP_E_LIMIT);
    assert_true(resync.spent < (64u << 20) + 16 * file.size + 3 * data.size);
    bytes_free(&file);
    bytes_free(&data);
    block_decoder_free(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_block_is_found),
        cmocka_unit_test(near_misses_are_passed),
        cmocka_unit_test(opaque_blocks_are_found_by_the_chain),
        cmocka_unit_test(garbage_holds_no_block),
        cmocka_unit_test(hostile_candidates_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
