/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of index.c: bounded, without gaps, and true whatever was joined. */
#include "format_support.h"
#include "index.h"
#include "unit.h"

#include <stdlib.h>

#define BLOCK_BYTES 40u
#define BLOCKS_MAX (5 * INDEX_RANGES_MAX + 77)

/* Block number i of the tests. Every third has no records, as an opaque block. */
static struct rbwp_index_range block_number(const uint8_t *file, uint32_t i)
{
    bool opaque = i % 3 == 1;
    return (struct rbwp_index_range){
        .offset = 36 + (uint64_t)i * BLOCK_BYTES,
        .bytes = BLOCK_BYTES,
        .records = opaque ? 0 : i + 1,
        .first_ns = opaque ? 0 : 1000 - (int64_t)(i % 7),
        .last_ns = opaque ? 0 : 2000 + (int64_t)(i % 11),
        .thread_id = opaque    ? 0
                     : i < 403 ? 5
                               : 6,
        .blocks = 1,
        .crc32c = slow_crc32c(file + (size_t)i * BLOCK_BYTES, BLOCK_BYTES),
    };
}

/* Sums up the blocks of a range the slow way and compares. */
static void check_range(const struct rbwp_index_range *range, const uint8_t *file, uint32_t first)
{
    uint64_t records = 0, thread = 0;
    int64_t first_ns = 0, last_ns = 0;
    bool any = false, several = false;
    for (uint32_t i = first; i < first + range->blocks; i++) {
        struct rbwp_index_range block = block_number(file, i);
        if (block.records == 0)
            continue;
        first_ns = !any || block.first_ns < first_ns ? block.first_ns : first_ns;
        last_ns = !any || block.last_ns > last_ns ? block.last_ns : last_ns;
        several = several || (any && thread != block.thread_id);
        thread = block.thread_id;
        records += block.records;
        any = true;
    }
    assert_int_equal(range->records, records);
    assert_int_equal(range->first_ns, first_ns);
    assert_int_equal(range->last_ns, last_ns);
    assert_int_equal(range->thread_id, several ? 0 : thread);
    assert_int_equal(range->bytes, (uint64_t)range->blocks * BLOCK_BYTES);
    assert_int_equal(range->crc32c,
                     slow_crc32c(file + (size_t)first * BLOCK_BYTES, (size_t)range->bytes));
}

/* Guards: after any number of blocks the ranges are at most 4096, follow each other from 36 on,
 * and each says what its blocks say. */
static void ranges_are_bounded_and_true(void **state)
{
    (void)state;
    struct block_index index;
    uint8_t *file = malloc((size_t)BLOCKS_MAX * BLOCK_BYTES);
    uint64_t random = 3;
    for (size_t i = 0; i < (size_t)BLOCKS_MAX * BLOCK_BYTES; i++)
        file[i] = (uint8_t)next_random(&random);
    assert_int_equal(index_init(&index), RBWP_OK);
    for (uint32_t count = 1; count <= BLOCKS_MAX; count++) {
        struct rbwp_index_range block = block_number(file, count - 1);
        index_add(&index, &block);
        assert_true(index.count <= INDEX_RANGES_MAX);
        bool look = count < 20 || count % 4096 < 2 || count == BLOCKS_MAX;
        if (!look)
            continue;
        uint32_t first = 0;
        for (uint32_t i = 0; i < index.count; i++) {
            assert_int_equal(index.ranges[i].offset, 36 + (uint64_t)first * BLOCK_BYTES);
            check_range(&index.ranges[i], file, first);
            if (i + 1 < index.count) /* all of one size, but for the last */
                assert_int_equal(index.ranges[i].blocks, index.ranges[0].blocks);
            first += index.ranges[i].blocks;
        }
        assert_int_equal(first, count);
    }
    assert_true(index.count > INDEX_RANGES_MAX / 2);
    index_free(&index);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_bounded_and_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
