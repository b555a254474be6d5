/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry is stored whole before the segment's count says so, and the count of
 * all that ever came is stored last: whoever looks in between misses the entry,
 * whose chunk is not committed yet. A segment that is used again says first
 * that it holds nothing.
 */
#include "ring.h"

#include "crc32c.h"
#include "grow.h"
#include "live.h"
#include "recover_part.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENTS_WANTED 128u /* so much of what is kept goes at a time */
#define SEGMENT_BYTES_MIN (512u << 10)
#define SEGMENTS_FIRST 2u
#define NOBODY_READS UINT64_MAX

struct ring_segment {
    uint8_t *at; /* in the live file: written, never read */
    uint64_t number;
    uint32_t used;
    int64_t latest_ns;
    uint64_t last_ticket;
    uint64_t end; /* records and rows that ever came, up to its last */
};

struct ring {
    pthread_mutex_t lock;
    uint64_t keep_bytes;
    int64_t keep_ns;
    uint32_t segment_bytes;
    struct ring_segment *segments;
    size_t count, capacity, current;
    uint64_t last_number;
    bool full;                  /* the disk had no room for another segment */
    _Atomic uint64_t read_from; /* segments from this number on are still to be read */
    _Atomic uint64_t dropping;
    struct live_ring_facts facts;
};

/* ---- segments ---------------------------------------------------------------------------- */

static struct live_ring_head *head_of(const struct ring_segment *segment)
{
    return (struct live_ring_head *)(void *)segment->at;
}

static bool add_segment(struct ring *ring)
{
    if (!grow_array(&ring->segments, &ring->capacity, ring->count + 1, sizeof *ring->segments))
        return false;
    uint8_t *at = live_segment(LIVE_RING, ring->segment_bytes, NULL);
    if (!at)
        return false;
    ring->segments[ring->count++] = (struct ring_segment){.at = at};
    return true;
}

static void empty(struct ring_segment *segment)
{
    __atomic_store_n(&head_of(segment)->number, 0, __ATOMIC_RELEASE);
    segment->number = 0;
}

/* One that holds nothing, or else the one that was filled first. */
static size_t oldest(const struct ring *ring)
{
    size_t found = 0;
    for (size_t i = 1; i < ring->count; i++)
        if (ring->segments[i].number < ring->segments[found].number)
            found = i;
    return found;
}

static void note_dropped(struct ring *ring, const struct ring_segment *segment)
{
    const uint64_t cut = ring->facts.cut_records + ring->facts.cut_rows;
    if (segment->end > cut)
        atomic_store(&ring->dropping, segment->end - cut);
}

static void use(struct ring *ring, size_t place)
{
    struct ring_segment *segment = &ring->segments[place];
    if (segment->number) {
        note_dropped(ring, segment);
        empty(segment);
    }
    atomic_thread_fence(memory_order_seq_cst); /* it holds nothing, before anything in it changes */
    segment->number = ++ring->last_number;
    segment->used = 0;
    segment->latest_ns = INT64_MIN;
    segment->last_ticket = 0;
    head_of(segment)->bytes = 0;
    __atomic_store_n(&head_of(segment)->number, segment->number, __ATOMIC_RELEASE);
    ring->current = place;
}

static bool ring_may_grow(const struct ring *ring)
{
    return !ring->full && (ring->count + 1) * (uint64_t)ring->segment_bytes <= ring->keep_bytes;
}

static void next_segment(struct ring *ring)
{
    size_t place = oldest(ring);
    if (ring->segments[place].number && ring_may_grow(ring)) {
        ring->full = !add_segment(ring);
        place = oldest(ring);
    }
    use(ring, place);
}

/* ---- life --------------------------------------------------------------------------------- */

enum rbwp_status ring_new(uint64_t keep_bytes, int64_t keep_ns, struct ring **ring_out)
{
    *ring_out = NULL;
    struct ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return RBWP_E_MEMORY;
    uint64_t bytes = keep_bytes / SEGMENTS_WANTED / LIVE_UNIT_BYTES * LIVE_UNIT_BYTES;
    ring->segment_bytes = bytes < SEGMENT_BYTES_MIN        ? SEGMENT_BYTES_MIN
                          : bytes > LIVE_SEGMENT_BYTES_MAX ? LIVE_SEGMENT_BYTES_MAX
                                                           : (uint32_t)bytes;
    pthread_mutex_init(&ring->lock, NULL);
    atomic_init(&ring->read_from, NOBODY_READS);
    ring->keep_bytes = keep_bytes;
    ring->keep_ns = keep_ns;
    while (ring->count < SEGMENTS_FIRST)
        if (!add_segment(ring)) {
            ring_free(ring);
            return RBWP_E_IO;
        }
    use(ring, 0);
    ring->facts = (struct live_ring_facts){.keep_bytes = keep_bytes, .keep_ns = (uint64_t)keep_ns};
    live_set_ring(&ring->facts);
    *ring_out = ring;
    return RBWP_OK;
}

void ring_free(struct ring *ring)
{
    if (!ring)
        return;
    pthread_mutex_destroy(&ring->lock);
    free(ring->segments);
    free(ring);
}

void ring_hold(struct ring *ring, bool on)
{
    if (on)
        pthread_mutex_lock(&ring->lock);
    else
        pthread_mutex_unlock(&ring->lock);
}

/* ---- a reader ----------------------------------------------------------------------------- */

void ring_read_begin(struct ring *ring)
{
    ring_hold(ring, true); /* what is under way may take a segment yet, nothing behind it */
    atomic_store(&ring->read_from, 1);
    ring_hold(ring, false);
}

void ring_read_passed(struct ring *ring, uint64_t number)
{
    uint64_t from = atomic_load(&ring->read_from);
    while (from <= number && !atomic_compare_exchange_weak(&ring->read_from, &from, number + 1))
        ;
}

void ring_read_end(struct ring *ring)
{
    atomic_store(&ring->read_from, NOBODY_READS);
}

static bool is_to_be_read(const struct ring *ring, const struct ring_segment *segment)
{
    return segment->number >= atomic_load(&ring->read_from);
}

bool ring_awaits_reader(const struct ring *ring)
{
    const struct ring_segment *next = &ring->segments[oldest(ring)];
    return next->number && !ring_may_grow(ring) && is_to_be_read(ring, next);
}

/* ---- filling ------------------------------------------------------------------------------ */

static size_t padded(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static size_t entry_bytes(const struct ring_chunk *chunk)
{
    size_t bytes = sizeof(struct live_ring_entry);
    for (uint32_t i = 0; i < chunk->block_count; i++)
        bytes += sizeof(struct live_ring_block) + padded(chunk->blocks[i].bytes_count);
    return bytes;
}

static void ring_describe(const struct ring *ring, const struct ring_chunk *chunk,
                          struct live_ring_entry *entry_out)
{
    struct live_ring_entry entry = {
        .blocks = chunk->block_count,
        .ticket = chunk->ticket,
        .thread_id = chunk->thread_id,
        .first_ns = chunk->first_ns,
        .last_ns = chunk->last_ns,
        .table = chunk->table,
        .rows = chunk->rows,
        .first_row = chunk->first_row,
        .records_before = ring->facts.records,
        .rows_before = ring->facts.rows,
        .bytes_before = ring->facts.bytes,
        .latest_before_ns = ring->facts.latest_ns,
        .has_fine = chunk->has_fine,
    };
    for (uint32_t i = 0; i < chunk->block_count; i++) {
        const struct rbwp_sealed_block *block = &chunk->blocks[i];
        entry.block_bytes += block->bytes_count;
        entry.records += block->records;
        if (chunk->table == 0 && (i == 0 || block->first_ns < entry.first_ns))
            entry.first_ns = block->first_ns;
        if (chunk->table == 0 && (i == 0 || block->last_ns > entry.last_ns))
            entry.last_ns = block->last_ns;
    }
    if (chunk->open) {
        entry.open_count = (uint16_t)chunk->open->count;
        memcpy(entry.open, chunk->open->open, sizeof entry.open);
    }
    *entry_out = entry;
}

static uint8_t *ring_put(uint8_t *to, const void *bytes, size_t count)
{
    memcpy(to, bytes, count);
    return to + padded(count);
}

static void put_blocks(uint8_t *to, const struct ring_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->block_count; i++) {
        const struct rbwp_sealed_block *sealed = &chunk->blocks[i];
        const struct live_ring_block block = {
            .bytes = sealed->bytes_count,
            .records = sealed->records,
            .first_ns = sealed->first_ns,
            .last_ns = sealed->last_ns,
            .crc32c = crc32c(0, sealed->bytes, sealed->bytes_count),
        };
        to = ring_put(to, &block, sizeof block);
        to = ring_put(to, sealed->bytes, sealed->bytes_count);
    }
}

static void ring_count(struct ring *ring, const struct live_ring_entry *entry)
{
    ring->facts.records += entry->records;
    ring->facts.rows += entry->rows;
    ring->facts.bytes += entry->block_bytes;
    if (entry->last_ns > ring->facts.latest_ns)
        ring->facts.latest_ns = entry->last_ns;
    live_set_ring(&ring->facts);
}

enum rbwp_status ring_add(struct ring *ring, const struct ring_chunk *chunk)
{
    struct live_ring_entry entry;
    size_t bytes = entry_bytes(chunk), room = ring->segment_bytes - sizeof(struct live_ring_head);
    if (bytes > room)
        return RBWP_E_LIMIT;
    if (chunk->block_count == 0)
        return RBWP_OK;
    if (bytes > room - ring->segments[ring->current].used)
        next_segment(ring);
    struct ring_segment *segment = &ring->segments[ring->current];
    ring_describe(ring, chunk, &entry);
    entry.bytes = (uint32_t)bytes;
    uint8_t *to = segment->at + sizeof(struct live_ring_head) + segment->used;
    put_blocks(ring_put(to, &entry, sizeof entry), chunk);
    segment->used += (uint32_t)bytes;
    __atomic_store_n(&head_of(segment)->bytes, segment->used, __ATOMIC_RELEASE);
    if (entry.last_ns > segment->latest_ns)
        segment->latest_ns = entry.last_ns;
    segment->last_ticket = entry.ticket;
    ring_count(ring, &entry);
    segment->end = ring->facts.records + ring->facts.rows;
    return RBWP_OK;
}

void ring_age(struct ring *ring, int64_t now_ns)
{
    if (ring->keep_ns == 0)
        return;
    for (size_t i = 0; i < ring->count; i++) {
        struct ring_segment *segment = &ring->segments[i];
        if (i != ring->current && segment->number && !is_to_be_read(ring, segment) &&
            segment->latest_ns < now_ns - ring->keep_ns)
            empty(segment);
    }
}

void ring_cut(struct ring *ring, const struct recover_cut *cut, uint32_t part)
{
    struct live_ring_facts *facts = &ring->facts;
    facts->part = part;
    facts->cut_records = cut->records;
    facts->cut_rows = cut->rows;
    facts->cut_bytes = cut->bytes;
    facts->cut_ticket = cut->ticket;
    facts->told = cut->told;
    atomic_store(&ring->dropping, 0);
    live_set_ring(facts);
    for (size_t i = 0; i < ring->count; i++)
        if (i != ring->current && ring->segments[i].number &&
            ring->segments[i].last_ticket <= cut->ticket)
            empty(&ring->segments[i]);
}

uint64_t ring_bytes(const struct ring *ring)
{
    return ring->facts.bytes - ring->facts.cut_bytes;
}

uint64_t ring_dropping(const struct ring *ring)
{
    return atomic_load(&ring->dropping);
}

bool ring_is_full(const struct ring *ring)
{
    uint64_t uncut = 0;
    for (size_t i = 0; i < ring->count; i++)
        uncut += ring->segments[i].number && ring->segments[i].last_ticket > ring->facts.cut_ticket;
    uint64_t most = ring->full ? ring->count : ring->keep_bytes / ring->segment_bytes;
    return uncut + 1 >= most;
}
