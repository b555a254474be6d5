/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free list is a stack of chunk indices; its head carries a count that
 * changes with every push, so that a pop that was overtaken fails instead of
 * linking a stale chunk (the ABA case).
 */
#include "chunk_pool.h"

#include "live.h"
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
#define STOCK_CHUNKS_MAX 32u
#define STOCK_SHARE 4u
#define SEGMENT_BYTES LIVE_SEGMENT_BYTES
#define SEGMENTS_MAX LIVE_SEGMENTS_MAX /* 256 GiB: "unlimited" */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct chunk_pool {
    size_t chunk_bytes;
    uint32_t per_segment;
    uint32_t cap_chunks;
    _Atomic uint32_t in_use;
    _Atomic uint32_t peak;
    _Atomic uint32_t made;     /* chunks that have an index */
    _Atomic uint64_t free_top; /* count << 32 | index + 1 */
    atomic_flag mapping;       /* a thread is making a segment */
    _Atomic uint32_t anonymous_count;
    _Atomic bool asked;                   /* since the stock was last looked at */
    sem_t low;                            /* posted when that becomes true */
    _Atomic bool anonymous[SEGMENTS_MAX]; /* ours to unmap; the others are the live file's */
    _Atomic(uint8_t *) segment[SEGMENTS_MAX];
};

/* What recovery relies on. */
_Static_assert(offsetof(struct chunk, thread_id) == offsetof(struct live_chunk_head, thread_id) &&
                   offsetof(struct chunk, base_ticks) ==
                       offsetof(struct live_chunk_head, base_ticks) &&
                   offsetof(struct chunk, ticket) == offsetof(struct live_chunk_head, ticket),
               "a chunk begins as the live file says");
_Static_assert(offsetof(struct chunk, words) == 64 && sizeof(struct chunk) == 64,
               "a chunk's head is one cache line");

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
    pool->per_segment = (uint32_t)(SEGMENT_BYTES / pool->chunk_bytes);
    uint64_t all = (uint64_t)pool->per_segment * SEGMENTS_MAX;
    uint64_t cap = cap_bytes ? cap_bytes / pool->chunk_bytes : all;
    pool->cap_chunks = (uint32_t)(cap < 2 ? 2 : cap > all ? all : cap);
    return pool;
}

void chunk_pool_free(struct chunk_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < SEGMENTS_MAX; i++) {
        uint8_t *segment = atomic_load_explicit(&pool->segment[i], memory_order_relaxed);
        if (segment && atomic_load_explicit(&pool->anonymous[i], memory_order_relaxed))
            munmap(segment, SEGMENT_BYTES);
        else if (!segment &&
                 i * pool->per_segment >= atomic_load_explicit(&pool->made, memory_order_relaxed))
            break;
    }
    sem_destroy(&pool->low);
    free(pool);
}

uint32_t chunk_words(const struct chunk_pool *pool)
{
    return (uint32_t)((pool->chunk_bytes - sizeof(struct chunk)) / sizeof(uint64_t));
}

size_t chunk_bytes(const struct chunk_pool *pool)
{
    return pool->chunk_bytes;
}

uint64_t chunk_pool_unprotected_bytes(const struct chunk_pool *pool)
{
    return (uint64_t)atomic_load_explicit(&pool->anonymous_count, memory_order_relaxed) *
           SEGMENT_BYTES;
}

uint64_t chunk_pool_peak_bytes(const struct chunk_pool *pool)
{
    return (uint64_t)atomic_load_explicit(&pool->peak, memory_order_relaxed) * pool->chunk_bytes;
}

static struct chunk *chunk_at(struct chunk_pool *pool, uint32_t index)
{
    /* acquire: pairs with the release that published the segment */
    uint8_t *segment =
        atomic_load_explicit(&pool->segment[index / pool->per_segment], memory_order_acquire);
    return (struct chunk *)(void *)(segment + index % pool->per_segment * pool->chunk_bytes);
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

/* A segment of the live file, or, when it has no more room, of memory that a crash loses. */
static uint8_t *map_segment(struct chunk_pool *pool, uint32_t number)
{
    uint8_t *segment = live_segment(LIVE_CHUNKS);
    if (segment)
        return segment;
    segment = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (segment == MAP_FAILED)
        return NULL;
    atomic_store_explicit(&pool->anonymous[number], true, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool->anonymous_count, 1, memory_order_relaxed);
    return segment;
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
        uint8_t *fresh = has_segment(pool, number) ? NULL : map_segment(pool, number);
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
        if (!make_segment(pool, index / pool->per_segment))
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&pool->made, &index, index + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    struct chunk *chunk = chunk_at(pool, index);
    if (ready)
        (void)madvise(chunk, pool->chunk_bytes, MADV_POPULATE_WRITE);
    chunk->index = index;
    return chunk;
}

/* ---- stock ---------------------------------------------------------------------- */

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

static bool may_grow(struct chunk_pool *pool)
{
    return atomic_load_explicit(&pool->made, memory_order_relaxed) < pool->cap_chunks;
}

void chunk_pool_ask(struct chunk_pool *pool)
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
    if (stock(pool) < stock_wanted(before) / 2 && may_grow(pool))
        chunk_pool_ask(pool);
    return RBWP_OK;
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
    memset(chunk->words, 0, used * sizeof chunk->words[0]);
    push_free(pool, chunk);
    atomic_fetch_sub_explicit(&pool->in_use, 1, memory_order_relaxed);
}

/* The segment after the one in use is mapped ahead as well. */
static void stock_segment(struct chunk_pool *pool)
{
    uint32_t ahead = atomic_load_explicit(&pool->made, memory_order_relaxed) + pool->per_segment;
    if (ahead < pool->cap_chunks)
        (void)make_segment(pool, ahead / pool->per_segment);
}

void chunk_pool_stock(struct chunk_pool *pool)
{
    for (;;) {
        uint32_t in_use = atomic_load_explicit(&pool->in_use, memory_order_relaxed);
        stock_segment(pool);
        if (!may_grow(pool) || stock(pool) >= stock_wanted(in_use))
            return;
        struct chunk *chunk = make_chunk(pool, true);
        if (!chunk)
            return;
        push_free(pool, chunk);
    }
}
