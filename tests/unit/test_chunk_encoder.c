/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a chunk's events to blocks: times by a hand-made time line, bounds, and
 * records that are the same whatever the size of a block. Blocks are read by
 * the reader, behind a header made here.
 */
#include "chunk_encoder.h"

#include "chunk_pool.h"
#include "rbwp_reader.h"
#include "rbwp_record.h"
#include "thread_registry.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define T INT64_C(1700000000000000000)

static struct thread thread = {.thread_id = 77};
static struct shared_timeline timeline = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Two ticks a nanosecond for the first million ticks, then four ticks. */
static void make_line(void)
{
    timeline.line = (struct timeline){
        .sample = {{1000000, T, 0, 0}, {2000000, T + 500000, 0, 0}, {UINT64_C(1) << 60, 0, 0, 0}},
        .samples = 3};
    uint64_t rest = (UINT64_C(1) << 60) - 2000000;
    timeline.line.sample[2].time_ns = T + 500000 + (int64_t)(rest / 4);
}

static struct chunk *new_chunk(struct chunk_pool *pool, uint64_t base_ticks)
{
    struct chunk *chunk;
    assert_int_equal(chunk_get(pool, true, &chunk), RBWP_OK);
    chunk->thread = &thread;
    chunk->base_ticks = base_ticks;
    chunk->used = 0;
    return chunk;
}

static void put(struct chunk *chunk, unsigned kind, unsigned id, uint64_t since)
{
    chunk->words[chunk->used++] =
        since << RBWP_EVENT_TIME_SHIFT_ | id << RBWP_EVENT_KIND_BITS_ | kind;
}

static void put_gpu(struct chunk *chunk, unsigned slot, uint64_t since, uint64_t proc_id)
{
    put(chunk, RBWP_EVENT_GPU_, slot, since);
    chunk->words[chunk->used++] = proc_id;
    chunk->words[chunk->used++] = (uint64_t)INT64_MIN;
    chunk->words[chunk->used++] = (uint64_t)INT64_MAX;
}

/* Encodes the chunk; returns the records, to be freed. */
static struct rbwp_record *encode(const struct chunk *chunk, uint32_t words, uint32_t block_bytes,
                                  int level, int64_t floor_ns, int64_t ceiling_ns,
                                  size_t *count_out)
{
    struct chunk_encoder *encoder;
    uint32_t sequence = 5, blocks;
    assert_int_equal(chunk_encoder_new(words, block_bytes, level, &encoder), RBWP_OK);
    size_t size = RBWP_FILE_HEADER_BYTES, count = 0;
    chunk_encoder_run(encoder, chunk, &timeline, floor_ns, ceiling_ns);
    const struct rbwp_sealed_block *block = chunk_encoder_blocks(encoder, &sequence, &blocks);
    assert_int_equal(sequence, 5 + blocks);
    uint8_t *file = calloc(1, size);
    memcpy(file, "RBWP\1\0\1", 7);
    for (uint32_t i = 0; i < blocks; i++) {
        file = realloc(file, size + block[i].bytes_count);
        memcpy(file + size, block[i].bytes, block[i].bytes_count);
        size += block[i].bytes_count;
    }
    struct rbwp_record *record = calloc(chunk->used + 1, sizeof *record);
    struct rbwp_reader *reader;
    struct rbwp_block got;
    assert_int_equal(rbwp_reader_open_memory(file, size, NULL, &reader, NULL), RBWP_OK);
    for (uint32_t i = 0; rbwp_reader_next_block(reader, &got) == RBWP_OK; i++) {
        struct rbwp_record_iterator iterator;
        assert_int_equal(got.header.thread_id, 77);
        assert_int_equal(got.header.sequence, 5 + i);
        assert_true(got.header.data_bytes <= block_bytes);
        size_t before = count;
        for (rbwp_record_first(&got, &iterator); rbwp_record_next(&iterator, &record[count]);)
            count++;
        assert_int_equal(block[i].records, count - before);
        assert_int_equal(block[i].first_ns, record[before].time_ns);
        assert_int_equal(block[i].last_ns, record[count - 1].time_ns);
    }
    assert_int_equal(rbwp_reader_problem_count(reader), 0);
    rbwp_reader_close(reader);
    chunk_encoder_free(encoder);
    free(file);
    *count_out = count;
    return record;
}

/* Ticks become time by the piece of the line that they lie in; hours come out exact. */
static void test_times(void **state)
{
    (void)state;
    static const struct {
        uint64_t since;
        int64_t time_ns;
    } times[] = {
        {0, T + 100000}, /* ticks 1 200 000 */
        {2, T + 100001},
        {799998, T + 499999},
        {800000, T + 500000}, /* ticks 2 000 000: the second piece */
        {800004, T + 500001},
        {(UINT64_C(1) << 45) - 4, T + 500000 + ((INT64_C(1) << 45) - 4 - 800000) / 4},
    };
    enum { TIMES = sizeof times / sizeof times[0] };
    make_line();
    struct chunk_pool *pool = chunk_pool_new(65536);
    struct chunk *chunk = new_chunk(pool, 1200000);
    for (size_t i = 0; i < TIMES; i++)
        put(chunk, RBWP_EVENT_BEGIN_, (unsigned)i, times[i].since);
    size_t count;
    struct rbwp_record *record =
        encode(chunk, chunk_words(pool), 4096, 1, INT64_MIN, INT64_MAX, &count);
    assert_int_equal(count, TIMES);
    for (size_t i = 0; i < TIMES; i++) {
        assert_int_equal(record[i].time_ns, times[i].time_ns);
        assert_int_equal(record[i].slot, i);
    }
    free(record);
    chunk_pool_free(pool);
}

/* No time is before the floor, after the ceiling, or before the one before it. */
static void test_bounds(void **state)
{
    (void)state;
    static const uint64_t since[] = {0, 400000, 100000, 500000, 20, 600000};
    static const int64_t expected[] = {50000, 200000, 200000, 250000, 250000, 260000};
    make_line();
    struct chunk_pool *pool = chunk_pool_new(65536);
    struct chunk *chunk = new_chunk(pool, 1000000);
    for (size_t i = 0; i < 6; i++)
        put(chunk, RBWP_EVENT_FINE_BEGIN_, 65535, since[i]);
    size_t count;
    struct rbwp_record *record =
        encode(chunk, chunk_words(pool), 4096, 0, T + 50000, T + 260000, &count);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(record[i].time_ns, T + expected[i]);
    free(record);
    chunk_pool_free(pool);
}

static bool same(const struct rbwp_record *a, const struct rbwp_record *b)
{
    return a->time_ns == b->time_ns && a->kind == b->kind && a->slot == b->slot &&
           a->sub_item == b->sub_item && a->proc_id == b->proc_id && a->start_ns == b->start_ns &&
           a->stop_ns == b->stop_ns;
}

/* A chunk full of random events of all kinds: every block size and level gives the same records. */
static void test_block_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1024, 1057, 65536, 16 << 20};
    make_line();
    struct chunk_pool *pool = chunk_pool_new(1 << 20);
    uint32_t words = chunk_words(pool);
    struct chunk *chunk = new_chunk(pool, 3000000);
    uint64_t random = 1, since = 0, events = 0;
    for (; chunk->used + 4 <= words; events++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        unsigned kind = 1 + (unsigned)(random >> 33) % 5;
        since += (random >> 40) % 7 == 0 ? random >> 34 : random >> 52;
        since &= (UINT64_C(1) << 45) - 1;
        if (kind == RBWP_EVENT_GPU_)
            put_gpu(chunk, (unsigned)(random >> 56), since, random);
        else
            put(chunk, kind, (unsigned)(kind == RBWP_EVENT_BEGIN_ ? random >> 56 : random >> 48),
                since);
    }
    struct rbwp_record *first = NULL;
    for (int level = 0; level <= 9; level++) {
        for (size_t i = 0; i < 4; i++) {
            size_t count;
            struct rbwp_record *record =
                encode(chunk, words, sizes[i], level, INT64_MIN, INT64_MAX, &count);
            assert_int_equal(count, events);
            if (!first) {
                first = record;
                continue;
            }
            for (size_t j = 0; j < count; j++)
                assert_true(same(&record[j], &first[j]));
            free(record);
        }
    }
    const uint64_t *word = chunk->words;
    for (size_t j = 0; j < events; j++) {
        unsigned id = *word >> RBWP_EVENT_KIND_BITS_ & 0xffff;
        switch (*word & 7) {
        case RBWP_EVENT_BEGIN_:
            assert_true(first[j].kind == RBWP_COARSE_BEGIN && first[j].slot == id);
            break;
        case RBWP_EVENT_FINE_BEGIN_:
            assert_true(first[j].kind == RBWP_FINE_BEGIN && first[j].sub_item == id);
            break;
        case RBWP_EVENT_END_:
            assert_int_equal(first[j].kind, RBWP_COARSE_END);
            break;
        case RBWP_EVENT_FINE_END_:
            assert_int_equal(first[j].kind, RBWP_FINE_END);
            break;
        default:
            assert_true(first[j].kind == RBWP_GPU_WORK && first[j].slot == id &&
                        first[j].proc_id == word[1] && first[j].start_ns == INT64_MIN &&
                        first[j].stop_ns == INT64_MAX);
            word += 3;
        }
        word++;
    }
    free(first);
    chunk_pool_free(pool);
}

/* A row and a record of one moment have one time, also if the first moment that is asked about was
 * before the line's start, as a forked child's first begin is: tools find a call's arguments by it.
 */
static void test_before_the_start(void **state)
{
    (void)state;
    struct shared_timeline young = {.lock = PTHREAD_MUTEX_INITIALIZER};
    timeline_begin(&young.line);
    const uint64_t start = young.line.sample[0].ticks;
    while (rbwp_now_ticks() <= start)
        ;
    const struct timeline_piece row = shared_timeline_piece(&young, clock_epoch(), start - 1000);
    const struct timeline_piece record = shared_timeline_piece(&young, clock_epoch(), start + 1);
    const uint64_t later =
        start + (UINT64_C(1) << 40); /* some minutes: the rates differ by little */
    assert_int_equal(timeline_piece_ns(&row, later), timeline_piece_ns(&record, later));
}

static void test_wrong_sizes(void **state)
{
    (void)state;
    struct chunk_encoder *encoder = (void *)1;
    assert_int_equal(chunk_encoder_new(100, 65536, 10, &encoder), RBWP_E_INVALID);
    assert_null(encoder);
    assert_int_equal(chunk_encoder_new(100, RBWP_BLOCK_BYTES_MAX + 1, 1, &encoder), RBWP_E_INVALID);
    assert_null(encoder);
    chunk_encoder_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),       cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_block_sizes), cmocka_unit_test(test_before_the_start),
        cmocka_unit_test(test_wrong_sizes),
    };
    return cmocka_run_group_tests_name("chunk_encoder", tests, NULL, NULL);
}
