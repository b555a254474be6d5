/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what parts built upon the recorder may ask of a session: opaque blocks reach the file
 * whole or are refused, losses are counted where they happened, hooks are called in order, facts of
 * GPUs get into the trailer.
 */
#include "opaque_queue.h"
#include "record_extend.h"
#include "record_support.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* Blocks and bytes behind their tags, of one tag. */
static void count_blocks(const char *path, const char *tag, unsigned *blocks_out, size_t *bytes_out)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    *blocks_out = 0;
    *bytes_out = 0;
    assert_int_equal(rbwp_reader_open(path, NULL, &reader, NULL), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        if (block.header.records || memcmp(block.data, tag, 4) != 0)
            continue;
        ++*blocks_out;
        *bytes_out += block.header.data_bytes - 4;
        for (uint32_t i = 4; i < block.header.data_bytes; i++)
            assert_int_equal(block.data[i], 0x5a);
    }
    rbwp_reader_close(reader);
}

static void test_blocks_reach_the_file(void **state)
{
    (void)state;
    uint8_t data[3000];
    memset(data, 0x5a, sizeof data);
    assert_int_equal(rbwp_extend_block("xtst", data, 1), RBWP_E_STATE);
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_extend_thread(), 0);
    assert_int_equal(rbwp_extend_block("xtst", data, 0), RBWP_OK); /* no need to be attached */
    assert_int_equal(rbwp_thread_attach("extends"), RBWP_OK);
    assert_int_equal(rbwp_extend_block("1tst", data, 1), RBWP_E_INVALID);
    size_t bytes = 0;
    for (unsigned i = 0; i < 100; i++) {
        rbwp_begin(3);
        assert_int_equal(rbwp_extend_block("xtst", data, i * 30), RBWP_OK);
        rbwp_end();
        bytes += i * 30;
    }
    uint64_t self = rbwp_extend_thread();
    stop(session);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    struct recorded recorded = read_back(config.logfile);
    unsigned blocks;
    size_t bytes_found;
    count_blocks(config.logfile, "xtst", &blocks, &bytes_found);
    assert_int_equal(blocks, 101);
    assert_int_equal(bytes_found, bytes);
    assert_int_equal(recorded.events, 200);
    assert_int_equal(thread_named(&recorded, "extends")->thread_id, self);
    recorded_free(&recorded);
}

/* A session that writes nothing beyond version 1 refuses. */
static void test_strict_refuses(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    config.strict = true;
    assert_int_equal(rbwp_thread_attach("extends"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_extend_block("xtst", "Z", 1), RBWP_E_STATE);
    stop(session);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* What waits is bounded, and counts less again when it is taken. */
static void test_queue_is_bounded(void **state)
{
    (void)state;
    struct opaque_queue queue;
    const uint32_t quarter = RBWP_EXTEND_BYTES_MAX / 4;
    char *data = calloc(1, quarter);
    assert_non_null(data);
    opaque_queue_init(&queue);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(opaque_queue_push(&queue, "xtst", data, quarter), RBWP_OK);
    assert_int_equal(opaque_queue_push(&queue, "xtst", data, 1), RBWP_E_LIMIT);
    struct opaque_block *block = opaque_queue_pop(&queue);
    assert_int_equal(block->size_bytes, quarter);
    free(block);
    assert_int_equal(opaque_queue_push(&queue, "last", data, 1), RBWP_OK);
    for (unsigned i = 0; i < 4; i++) {
        block = opaque_queue_pop(&queue);
        assert_memory_equal(block->tag, i < 3 ? "xtst" : "last", 4);
        free(block);
    }
    assert_null(opaque_queue_pop(&queue));
    assert_int_equal(opaque_queue_push(&queue, "xtst", data, 1),
                     RBWP_OK); /* freed with the queue */
    opaque_queue_free(&queue);
    free(data);
}

static enum rbwp_extend_moment moments[4];
static unsigned moment_count, level_seen[4];

static void note_moment(enum rbwp_extend_moment moment)
{
    level_seen[moment_count] = (unsigned)rbwp_level_;
    moments[moment_count++] = moment;
    rbwp_extend_loss(RBWP_LOSS_GPU_PENDING, 5); /* only the first finds a session */
}

/* A hook runs before the end, when recording works, and after it; losses it counts are in the file.
 */
static void test_hooks(void **state)
{
    (void)state;
    assert_int_equal(rbwp_extend_at_end(note_moment), RBWP_OK);
    assert_int_equal(rbwp_extend_at_end(note_moment), RBWP_OK); /* once is enough */
    struct rbwp_session_config config = test_config(1);
    assert_int_equal(rbwp_thread_attach("extends"), RBWP_OK);
    stop(start(&config));
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    assert_int_equal(moment_count, 2);
    assert_int_equal(moments[0], RBWP_EXTEND_STOPPING);
    assert_int_equal(moments[1], RBWP_EXTEND_STOPPED);
    assert_int_equal(level_seen[0], 1);
    assert_int_equal(level_seen[1], 0);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_PENDING), 5);
    assert_int_equal(all_losses(&recorded), 5);
    recorded_free(&recorded);
    moment_count = 0;
}

/* The last that was said of a processor is in the trailer. */
static void test_gpus(void **state)
{
    (void)state;
    struct rbwp_gpu_info gpu = {
        .proc_id = 1, .rounds = 3, .bias_ns = -7, .name_bytes = 3, .name = "one"};
    assert_int_equal(rbwp_extend_gpu(&gpu), RBWP_OK);
    gpu.proc_id = 2;
    gpu.name = "two";
    assert_int_equal(rbwp_extend_gpu(&gpu), RBWP_OK);
    gpu.proc_id = 1;
    gpu.name = "new";
    gpu.spread_ns = 9;
    assert_int_equal(rbwp_extend_gpu(&gpu), RBWP_OK);
    struct rbwp_session_config config = test_config(1);
    stop(start(&config));
    moment_count = 0;
    struct recorded recorded = read_back(config.logfile);
    const struct rbwp_trailer *trailer = recorded.trailer;
    assert_int_equal(trailer->gpu_count, 2);
    assert_int_equal(trailer->gpus[0].proc_id, 1);
    assert_int_equal(trailer->gpus[0].bias_ns, -7);
    assert_int_equal(trailer->gpus[0].spread_ns, 9);
    assert_memory_equal(trailer->gpus[0].name, "new", 3);
    assert_int_equal(trailer->gpus[1].spread_ns, 0);
    assert_memory_equal(trailer->gpus[1].name, "two", 3);
    recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_reach_the_file),
        cmocka_unit_test(test_strict_refuses),
        cmocka_unit_test(test_queue_is_bounded),
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
