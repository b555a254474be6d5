/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free list is a stack of chunk indices; its head carries a count that
 * changes with every push, so that a pop that was overtaken fails instead of
 * linking a stale chunk (the ABA case).
 */
#include "chunk_pool.h"

#include "live.h"
#include "helper_thread.h"
#include "tables.h"
#include "test_point.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_BYTES_MAX (128u << 10) /* fills one 64 KiB block at level 1 */
#define CHUNK_BYTES_MIN (4u << 10)
#define CHUNKS_PER_CAP 16u /* a small cap is still shared by a few threads */
/* In stock: a share of what is in use, since what grows will grow, between these. */
#define STOCK_CHUNKS_MIN 4u
#define STOCK_CHUNKS_MAX 64u
#define STOCK_SHARE 4u
/* The first two segments have so many bytes, each further one as many as all before it, until they
 * have LIVE_SEGMENT_BYTES_MAX. */
#define SEGMENT_BYTES_MIN (512u << 10)
#define SEGMENTS_SMALL 4u
#define SEGMENTS_MAX LIVE_SEGMENTS_MAX /* 256 GiB: "unlimited" */

#define ROOM_CHUNKS 16u /* with less below the cap it is near */
#define LARGE_USE_BYTES_MAX (256u << 20)
#define LARGE_USE_CAP_BYTES_MIN (64u << 20)

#define PUBLISHED (UINT64_C(1) << 32)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct chunk_pool {
    size_t chunk_bytes;
    uint32_t cap_chunks;
    _Atomic uint32_t in_use;
    _Atomic uint32_t peak;
    _Atomic uint64_t of_rows;  /* in use for rows, and PUBLISHED for each that was published */
    _Atomic uint32_t made;     /* chunks that have an index */
    _Atomic uint64_t free_top; /* count << 32 | index + 1 */
    atomic_flag mapping;       /* a thread is making a segment */
    _Atomic uint64_t anonymous_bytes;
    _Atomic bool asked;                            /* since the stock was last looked at */
    sem_t low;                                     /* posted when that becomes true */
    _Atomic(struct chunk *) segment[SEGMENTS_MAX]; /* one for each chunk of it */
};

_Static_assert(sizeof(struct live_chunk_head) == 64, "a chunk's head is one cache line");
_Static_assert(SEGMENT_BYTES_MIN << (SEGMENTS_SMALL - 1) == LIVE_SEGMENT_BYTES_MAX,
               "they grow up to it");

/* ---- where a chunk is ----------------------------------------------------------- */

struct place {
    uint32_t segment, at; /* the at-th chunk of it */
};

static uint32_t segment_bytes(uint32_t segment)
{
    if (segment < 2)
        return SEGMENT_BYTES_MIN;
    return segment < SEGMENTS_SMALL ? SEGMENT_BYTES_MIN << (segment - 1) : LIVE_SEGMENT_BYTES_MAX;
}

static struct place chunk_pool_place_of(const struct chunk_pool *pool, uint32_t index)
{
    uint64_t offset = index * (uint64_t)pool->chunk_bytes, begin = 0;
    uint32_t segment = 0;
    while (segment < SEGMENTS_SMALL && offset - begin >= segment_bytes(segment))
        begin += segment_bytes(segment++);
    uint64_t rest = offset - begin, large = rest / LIVE_SEGMENT_BYTES_MAX;
    return (struct place){segment + (uint32_t)large,
                          (uint32_t)((rest - large * LIVE_SEGMENT_BYTES_MAX) / pool->chunk_bytes)};
}

static uint32_t chunks_in(const struct chunk_pool *pool, uint32_t segment)
{
    return (uint32_t)(segment_bytes(segment) / pool->chunk_bytes);
}

/* ---- life ----------------------------------------------------------------------- */

struct chunk_pool *chunk_pool_new(uint64_t cap_bytes)
{
    struct chunk_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    sem_init(&pool->low, 0, 0);
    pool->chunk_bytes = CHUNK_BYTES_MAX;
    while (cap_bytes && pool->chunk_bytes > CHUNK_BYTES_MIN &&
           pool->chunk_bytes * CHUNKS_PER_CAP > cap_bytes)
        pool->chunk_bytes /= 2;
    uint64_t all =
        (uint64_t)(LIVE_SEGMENT_BYTES_MAX / pool->chunk_bytes) * (SEGMENTS_MAX - SEGMENTS_SMALL);
    uint64_t cap = cap_bytes ? cap_bytes / pool->chunk_bytes : all;
    pool->cap_chunks = (uint32_t)(cap < 2 ? 2 : cap > all ? all : cap);
    return pool;
}

void chunk_pool_free(struct chunk_pool *pool)
{
    if (!pool)
        return;
    for (uint32_t i = 0; i < SEGMENTS_MAX; i++) {
        struct chunk *chunks = atomic_load_explicit(&pool->segment[i], memory_order_relaxed);
        if (!chunks)
            break; /* they are made in order */
        if (chunks[0].unprotected)
            munmap(chunks[0].head, segment_bytes(i));
        munmap(chunks, chunks_in(pool, i) * sizeof *chunks);
    }
    sem_destroy(&pool->low);
    free(pool);
}

uint32_t chunk_words(const struct chunk_pool *pool)
{
    return (uint32_t)((pool->chunk_bytes - sizeof(struct live_chunk_head)) / sizeof(uint64_t));
}

size_t chunk_bytes(const struct chunk_pool *pool)
{
    return pool->chunk_bytes;
}

uint64_t chunk_pool_unprotected_bytes(const struct chunk_pool *pool)
{
    return atomic_load_explicit(&pool->anonymous_bytes, memory_order_relaxed);
}

uint64_t chunk_pool_peak_bytes(const struct chunk_pool *pool)
{
    return (uint64_t)atomic_load_explicit(&pool->peak, memory_order_relaxed) * pool->chunk_bytes;
}

/* ---- getting -------------------------------------------------------------------- */

static struct chunk *chunk_at(struct chunk_pool *pool, uint32_t index)
{
    struct place place = chunk_pool_place_of(pool, index);
    /* acquire: pairs with the release that published the segment */
    return &atomic_load_explicit(&pool->segment[place.segment], memory_order_acquire)[place.at];
}

const struct chunk *chunk_pool_find(struct chunk_pool *pool, const uint64_t *word)
{
    const struct chunk *chunks;
    for (uint32_t i = 0; i < SEGMENTS_MAX &&
                         (chunks = atomic_load_explicit(&pool->segment[i], memory_order_acquire));
         i++) {
        const uintptr_t offset = (uintptr_t)word - (uintptr_t)chunks[0].head;
        if (offset < segment_bytes(i))
            return &chunks[offset / pool->chunk_bytes];
    }
    return NULL;
}

static struct chunk *pop_free(struct chunk_pool *pool)
{
    /* acquire: the words that whoever pushed the chunk cleared */
    uint64_t top = atomic_load_explicit(&pool->free_top, memory_order_acquire);
    while ((uint32_t)top != 0) {
        struct chunk *chunk = chunk_at(pool, (uint32_t)top - 1);
        uint64_t next = atomic_load_explicit(&chunk->next_free, memory_order_relaxed);
        TEST_POINT("pop: next read");
        if (atomic_compare_exchange_weak_explicit(&pool->free_top, &top, (top >> 32) << 32 | next,
                                                  memory_order_acquire, memory_order_acquire))
            return chunk;
    }
    return NULL;
}

static void *map_anonymous(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* A segment of the live file, or, when it has no more room, of memory that a crash loses; and what
 * the process knows of its chunks. */
static struct chunk *map_segment(struct chunk_pool *pool, uint32_t number)
{
    uint32_t bytes = segment_bytes(number), count = chunks_in(pool, number);
    struct chunk *chunks = map_anonymous(count * sizeof *chunks);
    uint64_t offset = 0;
    uint8_t *memory = chunks ? live_segment(LIVE_CHUNKS, bytes, &offset) : NULL;
    bool unprotected = !memory;
    if (chunks && !memory)
        memory = map_anonymous(bytes);
    if (!memory) {
        if (chunks)
            munmap(chunks, count * sizeof *chunks);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++, memory += pool->chunk_bytes) {
        chunks[i].head = (struct live_chunk_head *)(void *)memory;
        chunks[i].words = (uint64_t *)(void *)(memory + sizeof(struct live_chunk_head));
        chunks[i].unprotected = unprotected;
        chunks[i].file_offset = offset + i * pool->chunk_bytes;
    }
    if (unprotected)
        atomic_fetch_add_explicit(&pool->anonymous_bytes, bytes, memory_order_relaxed);
    return chunks;
}

static bool has_segment(struct chunk_pool *pool, uint32_t number)
{
    return atomic_load_explicit(&pool->segment[number], memory_order_acquire) != NULL;
}

/* One thread at a time, so that no segment is made twice; the others wait the few system calls. */
static bool make_segment(struct chunk_pool *pool, uint32_t number)
{
    if (number >= SEGMENTS_MAX)
        return false;
    while (!has_segment(pool, number)) {
        if (atomic_flag_test_and_set_explicit(&pool->mapping, memory_order_acquire)) {
            sched_yield();
            continue;
        }
        struct chunk *fresh = has_segment(pool, number) ? NULL : map_segment(pool, number);
        if (fresh)
            atomic_store_explicit(&pool->segment[number], fresh, memory_order_release);
        bool there = has_segment(pool, number);
        atomic_flag_clear_explicit(&pool->mapping, memory_order_release);
        return there;
    }
    return true;
}

/*
 * ready: have all its pages now, in one call. A recording thread that finds nothing in stock does
 * without, and faults them in one by one: that costs more in all, but no single call waits for all.
 */
static struct chunk *make_chunk(struct chunk_pool *pool, bool ready)
{
    uint32_t index = atomic_load_explicit(&pool->made, memory_order_relaxed);
    do {
        if (!make_segment(pool, chunk_pool_place_of(pool, index).segment))
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&pool->made, &index, index + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    struct chunk *chunk = chunk_at(pool, index);
    if (ready) {
        if (!chunk->unprotected)
            live_fill(chunk->file_offset, pool->chunk_bytes);
        (void)madvise(chunk->head, pool->chunk_bytes, MADV_POPULATE_WRITE);
    }
    chunk->index = index;
    return chunk;
}

/* ---- stock ---------------------------------------------------------------------- */

bool chunk_pool_cap_is_small(const struct chunk_pool *pool)
{
    return pool->cap_chunks < LARGE_USE_CAP_BYTES_MIN / pool->chunk_bytes;
}

static uint32_t near_cap(const struct chunk_pool *pool)
{
    const uint32_t half = pool->cap_chunks / 2;
    return pool->cap_chunks - (half < ROOM_CHUNKS ? half : ROOM_CHUNKS);
}

static uint32_t large_use(const struct chunk_pool *pool)
{
    if (chunk_pool_cap_is_small(pool))
        return near_cap(pool);
    const uint32_t most = (uint32_t)(LARGE_USE_BYTES_MAX / pool->chunk_bytes);
    return pool->cap_chunks / 4 < most ? pool->cap_chunks / 4 : most;
}

bool chunk_pool_use_is_large(const struct chunk_pool *pool)
{
    return atomic_load_explicit(&pool->in_use, memory_order_relaxed) >= large_use(pool);
}

bool chunk_pool_is_near_cap(const struct chunk_pool *pool)
{
    return atomic_load_explicit(&pool->in_use, memory_order_relaxed) >= near_cap(pool);
}

static uint32_t stock_wanted(uint32_t in_use)
{
    uint32_t wanted = in_use / STOCK_SHARE;
    return wanted < STOCK_CHUNKS_MIN   ? STOCK_CHUNKS_MIN
           : wanted > STOCK_CHUNKS_MAX ? STOCK_CHUNKS_MAX
                                       : wanted;
}

/* Chunks that are made and free. Both counts move meanwhile: it may be off by a few. */
static uint32_t stock(struct chunk_pool *pool)
{
    uint32_t made = atomic_load_explicit(&pool->made, memory_order_relaxed);
    uint32_t in_use = atomic_load_explicit(&pool->in_use, memory_order_relaxed);
    return made > in_use ? made - in_use : 0;
}

static bool chunk_pool_may_grow(struct chunk_pool *pool)
{
    return atomic_load_explicit(&pool->made, memory_order_relaxed) < pool->cap_chunks;
}

/* Async-signal-safe. */
static void chunk_pool_ask(struct chunk_pool *pool)
{
    if (!atomic_exchange_explicit(&pool->asked, true, memory_order_acq_rel))
        sem_post(&pool->low);
}

void chunk_pool_wait_low(struct chunk_pool *pool)
{
    while (sem_wait(&pool->low) != 0 && errno == EINTR)
        ;
    /* acquire: what whoever asked did before */
    atomic_exchange_explicit(&pool->asked, false, memory_order_acq_rel);
}

enum rbwp_status chunk_get(struct chunk_pool *pool, bool beyond_cap, struct chunk **chunk_out)
{
    uint32_t before = atomic_fetch_add_explicit(&pool->in_use, 1, memory_order_relaxed);
    struct chunk *chunk = NULL;
    enum rbwp_status status = RBWP_AGAIN;
    if (before < pool->cap_chunks || beyond_cap) {
        chunk = pop_free(pool);
        if (!chunk)
            chunk = make_chunk(pool, false);
        status = chunk ? RBWP_OK : RBWP_E_MEMORY;
    }
    *chunk_out = chunk;
    if (!chunk) {
        atomic_fetch_sub_explicit(&pool->in_use, 1, memory_order_relaxed);
        return status;
    }
    uint32_t peak = atomic_load_explicit(&pool->peak, memory_order_relaxed);
    while (peak < before + 1 &&
           !atomic_compare_exchange_weak_explicit(&pool->peak, &peak, before + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    if (stock(pool) < stock_wanted(before) / 2 && chunk_pool_may_grow(pool))
        chunk_pool_ask(pool);
    if (chunk->unprotected)
        live_count_unprotected(true);
    return RBWP_OK;
}

uint32_t chunk_pool_rows_in_use(const struct chunk_pool *pool)
{
    return (uint32_t)atomic_load_explicit(&pool->of_rows, memory_order_relaxed);
}

void chunk_rows_published(struct chunk_pool *pool)
{
    atomic_fetch_add_explicit(&pool->of_rows, PUBLISHED, memory_order_relaxed);
}

enum rbwp_status chunk_get_for_rows(struct chunk_pool *pool, bool beyond_cap,
                                    struct chunk **chunk_out)
{
    uint64_t before = atomic_load_explicit(&pool->of_rows, memory_order_relaxed);
    *chunk_out = NULL;
    do {
        if ((uint32_t)before >= pool->cap_chunks / 2 && !beyond_cap)
            return before >= PUBLISHED ? RBWP_AGAIN : RBWP_E_BUSY;
    } while (!atomic_compare_exchange_weak_explicit(&pool->of_rows, &before, before + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    enum rbwp_status status = chunk_get(pool, beyond_cap, chunk_out);
    if (status != RBWP_OK)
        atomic_fetch_sub_explicit(&pool->of_rows, 1, memory_order_relaxed);
    return status;
}

/* The head says that there are no rows until then. */
void chunk_begin_rows(struct chunk *chunk, uint64_t thread_id, uint64_t base_ticks,
                      struct row_table *table)
{
    chunk->table = table;
    chunk->rows = 0;
    chunk->head->tick_columns = table->tick_columns;
    chunk->head->table = table->schema->table;
    chunk->head->columns = table->schema->column_count;
    chunk_begin(chunk, thread_id, base_ticks);
}

static void end_rows(struct chunk_pool *pool, struct chunk *chunk)
{
    chunk->table = NULL;
    chunk->head->rows = 0;
    chunk->head->table = 0;
    atomic_fetch_sub_explicit(&pool->of_rows, chunk->rows ? PUBLISHED + 1 : 1,
                              memory_order_relaxed);
}

static void push_free(struct chunk_pool *pool, struct chunk *chunk)
{
    uint64_t top = atomic_load_explicit(&pool->free_top, memory_order_relaxed);
    uint64_t fresh;
    do {
        atomic_store_explicit(&chunk->next_free, (uint32_t)top, memory_order_relaxed);
        fresh = ((top >> 32) + 1) << 32 | (chunk->index + 1);
        /* release: pairs with pop_free's acquire */
    } while (!atomic_compare_exchange_weak_explicit(&pool->free_top, &top, fresh,
                                                    memory_order_release, memory_order_relaxed));
}

void chunk_put(struct chunk_pool *pool, struct chunk *chunk, uint32_t used)
{
    if (chunk->table)
        end_rows(pool, chunk);
    /* The first word before the others, in whatever order memset goes: who reads FILE.live
     * meanwhile of a chunk that is elided sees no event that has lost a part. */
    __atomic_store_n(&chunk->words[0], (uint64_t)0, __ATOMIC_RELEASE);
    atomic_signal_fence(memory_order_seq_cst);
    memset(chunk->words, 0, used * sizeof chunk->words[0]);
    if (chunk->unprotected)
        live_count_unprotected(false);
    push_free(pool, chunk);
    atomic_fetch_sub_explicit(&pool->in_use, 1, memory_order_relaxed);
}

/* The segment after the one in use is mapped ahead as well, once there is some use. */
static void stock_segment(struct chunk_pool *pool, uint32_t in_use)
{
    uint32_t made = atomic_load_explicit(&pool->made, memory_order_relaxed);
    if (in_use < STOCK_CHUNKS_MIN || made == 0)
        return;
    uint32_t last = chunk_pool_place_of(pool, made - 1).segment;
    if (made + chunks_in(pool, last) < pool->cap_chunks)
        (void)make_segment(pool, last + 1);
}

void chunk_pool_stock(struct chunk_pool *pool, const atomic_bool *stopping)
{
    for (;;) {
        uint32_t in_use = atomic_load_explicit(&pool->in_use, memory_order_relaxed);
        stock_segment(pool, in_use);
        if (!chunk_pool_may_grow(pool) || stock(pool) >= stock_wanted(in_use))
            return;
        struct chunk *chunk = make_chunk(pool, true);
        if (!chunk)
            return;
        push_free(pool, chunk);
        if (!stopping)
            continue;
        if (atomic_load_explicit(stopping, memory_order_acquire))
            return;
        helper_thread_rest(); /* who was pushed aside for this one goes on before the next */
    }
}

/* ---- a thread that keeps chunks in stock ----------------------------------------------------- */

struct chunk_keeper {
    struct chunk_pool *pool;
    pthread_t thread;
    atomic_bool stopping;
};

static void *chunk_pool_keep(void *argument)
{
    struct chunk_keeper *keeper = argument;
    while (!atomic_load_explicit(&keeper->stopping, memory_order_acquire)) {
        chunk_pool_wait_low(keeper->pool);
        chunk_pool_stock(keeper->pool, &keeper->stopping);
    }
    return NULL;
}

struct chunk_keeper *chunk_keeper_start(struct chunk_pool *pool)
{
    struct chunk_keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        return NULL;
    keeper->pool = pool;
    chunk_pool_stock(pool, NULL); /* so that the first calls find something */
    if (helper_thread_start(&keeper->thread, "rbwp-memory", chunk_pool_keep, keeper) == 0)
        return keeper;
    free(keeper);
    return NULL;
}

void chunk_keeper_stop(struct chunk_keeper *keeper)
{
    if (!keeper)
        return;
    atomic_store_explicit(&keeper->stopping, true, memory_order_release);
    chunk_pool_ask(keeper->pool);
    if (!helper_thread_call_off(&keeper->thread))
        pthread_join(keeper->thread, NULL);
    free(keeper);
}
