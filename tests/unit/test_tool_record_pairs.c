/* SPDX-License-Identifier: Apache-2.0 */
/* record_pairs.h and reorder.h: the bounds on memory. What is paired is tested on whole files
 * (cli). */
#include "reorder.h"
#include "rbwp_writer.h"
#include "record_pairs.h"
#include "unit.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 1 << 20 };

struct counts {
    uint64_t finished, unfinished, strays;
    uint32_t depth_max;
};

static void count_pair(void *context, const struct record_pair *pair)
{
    struct counts *counts = context;
    counts->finished += pair->has_begin && pair->has_end;
    counts->unfinished += !pair->has_end;
    counts->strays += !pair->has_begin;
    if (pair->depth > counts->depth_max)
        counts->depth_max = pair->depth;
}

/* Encodes count records of a kind and hands them to the builder, block by block. */
static void feed(struct pair_builder *builder, uint32_t kind, uint32_t count)
{
    struct rbwp_block_encoder *encoder;
    struct rbwp_sealed_block sealed;
    assert_int_equal(rbwp_block_encoder_new(BLOCK_BYTES, 0, &encoder), RBWP_OK);
    struct rbwp_record record = {.kind = (uint8_t)kind, .time_ns = 1};
    while (count > 0) {
        while (count > 0 && rbwp_block_encoder_add(encoder, &record) == RBWP_OK)
            count--;
        assert_int_equal(rbwp_block_encoder_seal(encoder, 1, 0, &sealed), RBWP_OK);
        struct rbwp_block block = {.header = {.thread_id = 1, .records = sealed.records}};
        block.data = sealed.bytes + RBWP_BLOCK_HEADER_BYTES;
        block.header.data_bytes = sealed.bytes_count - RBWP_BLOCK_HEADER_BYTES;
        pair_builder_block(builder, &block);
    }
    rbwp_block_encoder_free(encoder);
}

/* A file of nothing but begins must not fill the memory: beyond the bound they are given up. */
static void open_spans_are_bounded(void **state)
{
    (void)state;
    struct counts counts = {0};
    struct pair_builder builder;
    pair_builder_start(&builder, count_pair, &counts);
    feed(&builder, RBWP_FINE_BEGIN, PAIRS_OPEN_MAX + 1000);
    assert_int_equal(counts.unfinished, 1000);
    assert_int_equal(builder.open_total, PAIRS_OPEN_MAX);
    assert_int_equal(counts.depth_max, PAIRS_OPEN_MAX + 999);
    feed(&builder, RBWP_FINE_END, PAIRS_OPEN_MAX + 1000);
    assert_int_equal(counts.finished, PAIRS_OPEN_MAX);
    assert_int_equal(counts.strays, 0);
    assert_int_equal(builder.open_total, 0);
    feed(&builder, RBWP_FINE_END, 1);
    assert_int_equal(counts.strays, 1);
    pair_builder_stop(&builder);
}

struct passed {
    uint64_t blocks, late;
    uint32_t sequences[2048];
};

static void note(void *context, const struct rbwp_block *block, bool late)
{
    struct passed *passed = context;
    passed->sequences[passed->blocks++] = block->header.sequence;
    passed->late += late;
}

/* The window holds a stated number of blocks and bytes, whatever the size of the blocks. */
static void window_is_bounded(void **state)
{
    (void)state;
    uint8_t *data = calloc(1, REORDER_BYTES / 4);
    struct passed passed = {0};
    struct reorder reorder;
    reorder_start(&reorder, note, &passed);
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t bytes = i % 3 == 0 ? REORDER_BYTES / 4 : i % 100;
        if (i >= 10)
            bytes = i % 100;
        struct rbwp_block block = {.header = {.sequence = i, .data_bytes = bytes}, .data = data};
        assert_true(reorder_push(&reorder, &block));
        assert_true(reorder.count <= REORDER_BLOCKS);
        assert_true(reorder.bytes <= REORDER_BYTES);
    }
    reorder_flush(&reorder);
    assert_int_equal(passed.blocks, 2000);
    assert_int_equal(passed.late, 0);
    for (uint32_t i = 0; i < 2000; i++)
        assert_int_equal(passed.sequences[i], i);
    reorder_stop(&reorder);
    free(data);
}

/* Put in order up to exactly the width of the window, and counted beyond it. */
static void window_has_its_width(void **state)
{
    (void)state;
    for (uint32_t late = 0; late <= 1; late++) {
        struct passed passed = {0};
        struct reorder reorder;
        reorder_start(&reorder, note, &passed);
        uint32_t before = REORDER_BLOCKS - 1 + late;
        for (uint32_t i = 0; i <= before; i++) {
            uint32_t sequence = i < before ? i + 1 : 0;
            struct rbwp_block block = {.header = {.sequence = sequence},
                                       .data = (const uint8_t *)""};
            assert_true(reorder_push(&reorder, &block));
        }
        reorder_flush(&reorder);
        assert_int_equal(passed.blocks, before + 1);
        assert_int_equal(passed.sequences[0], late);
        assert_int_equal(passed.late, late);
        assert_int_equal(reorder.late_blocks, late);
        reorder_stop(&reorder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(open_spans_are_bounded),
                                       cmocka_unit_test(window_is_bounded),
                                       cmocka_unit_test(window_has_its_width)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
