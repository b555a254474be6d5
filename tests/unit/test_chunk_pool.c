/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of chunks: the cap, chunks that are clean and never given out twice, memory that ends.
 */
#include "chunk_pool.h"
#include "folder.h"
#include "live.h"

#include "unit.h"
#include "wrapped.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic int maps_left; /* how many more times there is memory; negative: always */
static _Atomic size_t mapped_bytes, unmapped_bytes;

/* The linker gives us the calls of mmap, under the name that the C library's header chose. */
void *REAL_(mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *WRAP_(mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *WRAP_(mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (maps_left == 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if (maps_left > 0)
        maps_left--;
    mapped_bytes += size;
    return REAL_(mmap)(at, size, protection, flags, fd, offset);
}
WRAP_TOO_(mmap);

/* Chunks get smaller with the cap, so that a few threads can share it, within bounds. */
static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t cap_bytes;
        size_t chunk_bytes;
    } sizes[] = {{0, 128 << 10},         {1, 4 << 10},         {64 << 10, 4 << 10},
                 {1 << 20, 64 << 10},    {2 << 20, 128 << 10}, {1 << 30, 128 << 10},
                 {UINT64_MAX, 128 << 10}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct chunk_pool *pool = chunk_pool_new(sizes[i].cap_bytes);
        assert_non_null(pool);
        assert_int_equal(chunk_bytes(pool), sizes[i].chunk_bytes);
        struct chunk *chunk;
        assert_int_equal(chunk_get(pool, false, &chunk), RBWP_OK);
        assert_int_equal(chunk_words(pool),
                         (sizes[i].chunk_bytes - sizeof(struct live_chunk_head)) /
                             sizeof(uint64_t));
        assert_int_equal((uintptr_t)chunk->words % 64, 0); /* a cache line of their own */
        chunk_put(pool, chunk, 0);
        chunk_pool_free(pool);
    }
    chunk_pool_free(NULL);
}

/* No more than the cap is given out, except beyond it on demand; what comes back goes out again. */
static void test_cap(void **state)
{
    (void)state;
    enum { CAP = 16 };
    struct chunk_pool *pool = chunk_pool_new(CAP * 4096);
    struct chunk *chunks[CAP + 2];
    for (int i = 0; i < CAP; i++) {
        assert_int_equal(chunk_get(pool, false, &chunks[i]), RBWP_OK);
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(chunks[i], chunks[j]);
    }
    assert_int_equal(chunk_get(pool, false, &chunks[CAP]), RBWP_AGAIN);
    assert_null(chunks[CAP]);
    assert_int_equal(chunk_get(pool, true, &chunks[CAP]), RBWP_OK);
    assert_int_equal(chunk_pool_peak_bytes(pool), (CAP + 1) * 4096);
    chunk_put(pool, chunks[3], 0);
    assert_int_equal(chunk_get(pool, false, &chunks[CAP + 1]), RBWP_AGAIN); /* still one too many */
    chunk_put(pool, chunks[4], 0);
    assert_int_equal(chunk_get(pool, false, &chunks[3]), RBWP_OK);
    assert_int_equal(chunk_get(pool, false, &chunks[4]), RBWP_AGAIN);
    assert_int_equal(chunk_pool_peak_bytes(pool), (CAP + 1) * 4096);
    chunk_pool_free(pool);
}

/* Each word of each chunk leads to it, in whatever segment; what is no word of any leads to none.
 */
static void test_find(void **state)
{
    (void)state;
    enum { CHUNKS = 40 }; /* of 128 KiB: five segments */
    struct chunk_pool *pool = chunk_pool_new(0);
    struct chunk *chunks[CHUNKS];
    uint64_t other = 0;
    assert_null(chunk_pool_find(pool, &other));
    for (int i = 0; i < CHUNKS; i++)
        assert_int_equal(chunk_get(pool, false, &chunks[i]), RBWP_OK);
    for (int i = 0; i < CHUNKS; i++) {
        assert_ptr_equal(chunk_pool_find(pool, chunks[i]->words), chunks[i]);
        assert_ptr_equal(chunk_pool_find(pool, chunks[i]->words + chunk_words(pool) - 1),
                         chunks[i]);
    }
    assert_null(chunk_pool_find(pool, &other));
    assert_null(chunk_pool_find(pool, NULL));
    chunk_pool_free(pool);
}

/* A chunk comes clean, whoever had it before. */
static void test_clean(void **state)
{
    (void)state;
    struct chunk_pool *pool = chunk_pool_new(8192);
    uint32_t words = chunk_words(pool);
    for (uint32_t used = 0; used <= words; used += 100) {
        struct chunk *chunk;
        assert_int_equal(chunk_get(pool, false, &chunk), RBWP_OK);
        for (uint32_t i = 0; i < words; i++)
            assert_int_equal(chunk->words[i], 0);
        for (uint32_t i = 0; i < used; i++)
            chunk->words[i] = UINT64_MAX;
        chunk_put(pool, chunk, used);
    }
    chunk_pool_free(pool);
}

int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size)
{
    unmapped_bytes += size;
    return __real_munmap(at, size);
}

/* Without memory a get fails, leaves the counts as they were and keeps nothing. */
static void test_no_memory(void **state)
{
    (void)state;
    struct chunk_pool *pool = chunk_pool_new(0);
    struct chunk *chunk;
    maps_left = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(chunk_get(pool, i % 2 != 0, &chunk), RBWP_E_MEMORY);
        assert_null(chunk);
    }
    chunk_pool_stock(pool, NULL); /* fails quietly */
    assert_int_equal(chunk_pool_peak_bytes(pool), 0);
    maps_left = 1; /* a segment needs two */
    mapped_bytes = unmapped_bytes = 0;
    assert_int_equal(chunk_get(pool, false, &chunk), RBWP_E_MEMORY);
    assert_true(mapped_bytes > 0);
    assert_int_equal(unmapped_bytes, mapped_bytes);
    maps_left = 2;
    unsigned given = 0;
    while (chunk_get(pool, false, &chunk) == RBWP_OK)
        given++;
    assert_int_equal(given, (512 << 10) / chunk_bytes(pool));
    maps_left = -1;
    assert_int_equal(chunk_get(pool, false, &chunk), RBWP_OK);
    chunk_pool_free(pool);
}

/* Guards: segments grow from small ones, and chunks of all of them, of every size, lie apart, each
 * in its own memory. */
static void test_growing_segments(void **state)
{
    (void)state;
    static const uint64_t caps[] = {0, 64 << 10, 1 << 20};
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        struct chunk_pool *pool = chunk_pool_new(caps[i]);
        size_t count = (17 << 20) / chunk_bytes(pool), words = chunk_words(pool);
        struct chunk **chunks = calloc(count, sizeof(struct chunk *));
        for (size_t n = 0; n < count; n++) {
            assert_int_equal(chunk_get(pool, true, &chunks[n]), RBWP_OK);
            assert_int_equal(chunks[n]->words[0], 0);
            assert_int_equal(chunks[n]->words[words - 1], 0);
            chunks[n]->words[0] = chunks[n]->words[words - 1] = n + 1;
            chunks[n]->head->thread_id = n + 1;
        }
        for (size_t n = 0; n < count; n++) {
            assert_int_equal(chunks[n]->words[0], n + 1);
            assert_int_equal(chunks[n]->words[words - 1], n + 1);
            assert_int_equal(chunks[n]->head->thread_id, n + 1);
        }
        assert_int_equal(chunk_pool_unprotected_bytes(pool), 20 << 20); /* .5 .5 1 2 4 4 4 4 */
        free(chunks);
        chunk_pool_free(pool);
    }
}

/* Stock is ready for use, and never beyond the cap. */
static void test_stock(void **state)
{
    (void)state;
    struct chunk_pool *pool = chunk_pool_new(2 * 4096);
    struct chunk *chunk;
    for (int i = 0; i < 3; i++)
        chunk_pool_stock(pool, NULL);
    maps_left = 0;
    assert_int_equal(chunk_get(pool, false, &chunk), RBWP_OK);
    assert_int_equal(chunk_get(pool, false, &chunk), RBWP_OK);
    assert_int_equal(chunk_get(pool, false, &chunk), RBWP_AGAIN);
    maps_left = -1;
    chunk_pool_free(pool);
}

/* Chunks in stock are made in the live file where they are, and none that somebody has is touched.
 */
static void test_stock_in_the_live_file(void **state)
{
    (void)state;
    enum { COUNT = 60 }; /* of several segments */
    char path[] = "/var/tmp/rbwp_pool.XXXXXX";
    struct chunk *chunk[COUNT];
    const int fd = mkstemp(path);
    struct folder folder;
    assert_true(folder_open(&folder, path) && live_open(fd, &folder.held, folder_name(path)));
    struct chunk_pool *pool = chunk_pool_new(0);
    const uint32_t words = chunk_words(pool);
    for (uint64_t i = 0; i < COUNT; i++) {
        chunk_pool_stock(pool, NULL);
        assert_int_equal(chunk_get(pool, false, &chunk[i]), RBWP_OK);
        assert_false(chunk[i]->unprotected);
        for (uint32_t k = 0; k < words; k++) {
            assert_true(chunk[i]->words[k] == 0);
            chunk[i]->words[k] = i + 1;
        }
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t word;
        const size_t bytes = chunk_bytes(pool);
        assert_true(chunk[i]->words[0] == i + 1 && chunk[i]->words[words - 1] == i + 1);
        assert_int_equal(pread(fd, &word, 8, (off_t)(chunk[i]->file_offset + bytes - 8)), 8);
        assert_true(word == i + 1);
    }
    chunk_pool_free(pool);
    live_close(true);
    assert_int_equal(access(path, F_OK), -1);
    folder_close(&folder);
}

/* Whoever takes more than there is in stock asks for more; waiting for that then ends at once. */
static void test_low_stock_is_told(void **state)
{
    (void)state;
    struct chunk_pool *pool = chunk_pool_new(0);
    struct chunk *chunk;
    chunk_pool_stock(pool, NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            assert_int_equal(chunk_get(pool, false, &chunk), RBWP_OK);
        alarm(60); /* nobody asked: the wait would not end */
        chunk_pool_wait_low(pool);
        alarm(0);
        chunk_pool_stock(pool, NULL);
    }
    chunk_pool_free(pool);
}

/* The keeper and recording threads make chunks at the same time, and it ends when told to, also
 * while it waits. */
static void test_keeper(void **state)
{
    (void)state;
    struct chunk_pool *pool = chunk_pool_new(0);
    struct chunk *chunk;
    struct chunk_keeper *keeper = chunk_keeper_start(pool);
    assert_non_null(keeper);
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(chunk_get(pool, false, &chunk), RBWP_OK);
        assert_int_equal(chunk->words[0], 0); /* nobody else's */
        chunk->words[0] = i + 1;
    }
    chunk_keeper_stop(keeper);
    chunk_pool_free(pool);
    keeper = chunk_keeper_start(pool = chunk_pool_new(2 * 4096));
    chunk_keeper_stop(keeper); /* with nothing asked for */
    chunk_pool_free(pool);
}

enum { THREADS = 4, TURNS = 20000, HELD = 5 };

/* Writes its own mark into each chunk it has; another owner's mark, or dirt, would be seen. */
static void *take_and_give(void *argument)
{
    struct chunk_pool *pool = argument;
    uint64_t mark = (uint64_t)pthread_self();
    struct chunk *held[HELD] = {0};
    for (unsigned i = 0; i < TURNS; i++) {
        struct chunk **chunk = &held[i * 7 % HELD];
        if (*chunk) {
            assert_true((*chunk)->words[0] == mark && (*chunk)->words[20] == mark);
            chunk_put(pool, *chunk, 21);
            *chunk = NULL;
        } else if (chunk_get(pool, i % 16 == 0, chunk) == RBWP_OK) {
            assert_true((*chunk)->words[0] == 0 && (*chunk)->words[20] == 0);
            (*chunk)->words[0] = (*chunk)->words[20] = mark;
        }
    }
    for (int i = 0; i < HELD; i++)
        if (held[i])
            chunk_put(pool, held[i], 21);
    return NULL;
}

/* Many threads, fewer chunks: none is ever given to two, and all are there at the end. */
static void test_threads(void **state)
{
    (void)state;
    enum { CAP = 8 };
    struct chunk_pool *pool = chunk_pool_new(CAP * 4096);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, pool), 0);
    for (int i = 0; i < 200; i++)
        chunk_pool_stock(pool, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct chunk *chunk;
    for (int i = 0; i < CAP; i++)
        assert_int_equal(chunk_get(pool, false, &chunk), RBWP_OK);
    assert_int_equal(chunk_get(pool, false, &chunk), RBWP_AGAIN);
    chunk_pool_free(pool);
}

static int have_memory(void **state)
{
    (void)state;
    maps_left = -1;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_stock),
        cmocka_unit_test(test_stock_in_the_live_file),
        cmocka_unit_test(test_low_stock_is_told),
        cmocka_unit_test(test_keeper),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_growing_segments),
    };
    return cmocka_run_group_tests_name("chunk_pool", tests, have_memory, NULL);
}
