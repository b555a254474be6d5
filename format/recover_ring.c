/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_ring.c - see recover_ring.h. Blocks are copied as they are: their sums say that they are
 * what their process wrote, so nothing is decoded, and a ring of 64 MiB costs little more than its
 * copy.
 */
#include "recover_ring.h"

#include "block.h"
#include "crc32c.h"
#include "reader_error.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>

/* The blocks in the ring of a live file, oldest first.
 *
 * Its process may go on: it fills the ring behind what is read, and takes segments away before it.
 * A segment is copied, and counts if it is still the same one then. That nothing is missing behind
 * one that counted, the process must leave alone what was not passed: it can be seen how far that
 * is. */

struct live_ring_part { /* a segment in use */
    uint64_t number, offset;
    uint32_t bytes; /* of it */
};

/* Zeros are no valid start: live_ring_open. */
struct live_ring_walk {
    const struct live_file *live;
    /* May be set, when it is open: segments up to this number will not be looked at again. */
    void (*passed)(void *context, uint64_t number);
    void *context;
    struct live_ring_part *parts;
    size_t count, capacity, next;
    bool memory_failed;
    uint8_t *bytes; /* of the segment that is read */
    size_t size, at;
    uint64_t damaged; /* segments and entries that cannot be */
    uint64_t gone;    /* segments that were used again, or emptied, before they were copied */
};

static bool live_ring_read_head(const struct live_file *live, uint64_t offset,
                                struct live_ring_head *head)
{
    return live_file_read(live, offset, head, sizeof *head) == sizeof *head;
}

static bool live_ring_note(void *context, const struct live_segment *segment)
{
    struct live_ring_walk *walk = context;
    struct live_ring_head head;
    if (segment->bytes <= sizeof head || !live_ring_read_head(walk->live, segment->offset, &head) ||
        head.number == 0)
        return true;
    if (!grow_array(&walk->parts, &walk->capacity, walk->count + 1, sizeof *walk->parts)) {
        walk->memory_failed = true;
        return false;
    }
    walk->parts[walk->count++] =
        (struct live_ring_part){head.number, segment->offset, segment->bytes};
    return true;
}

static int live_ring_by_number(const void *left, const void *right)
{
    const struct live_ring_part *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* RBWP_E_IO, RBWP_E_MEMORY. Close in each case. */
static enum rbwp_status live_ring_open(struct live_ring_walk *walk, const struct live_file *live,
                                       struct rbwp_error *error)
{
    *walk = (struct live_ring_walk){.live = live};
    enum rbwp_status status = live_file_ring(live, live_ring_note, walk, error);
    if (status == RBWP_OK && walk->count)
        qsort(walk->parts, walk->count, sizeof *walk->parts, live_ring_by_number);
    if (walk->count)
        walk->bytes = malloc(LIVE_SEGMENT_BYTES_MAX);
    if (walk->memory_failed || (walk->count && !walk->bytes))
        return error_set_memory(error, "live file");
    return status;
}

static void live_ring_close(struct live_ring_walk *walk)
{
    free(walk->parts);
    free(walk->bytes);
    *walk = (struct live_ring_walk){0};
}

static bool live_ring_is_there(const struct live_ring_walk *walk, const struct live_ring_part *part,
                               struct live_ring_head *head_out)
{
    return live_ring_read_head(walk->live, part->offset, head_out) &&
           head_out->number == part->number;
}

static void live_ring_read_part(struct live_ring_walk *walk, const struct live_ring_part *part)
{
    struct live_ring_head head;
    walk->at = walk->size = 0;
    if (!live_ring_is_there(walk, part, &head)) {
        walk->gone++;
        return;
    }
    if (head.bytes > part->bytes - sizeof head) {
        walk->damaged++;
        return;
    }
    size_t got = live_file_read(walk->live, part->offset + sizeof head, walk->bytes, head.bytes);
    if (live_ring_is_there(walk, part, &head))
        walk->size = got;
    else
        walk->gone++;
}

static bool live_ring_take_entry(struct live_ring_walk *walk, struct live_ring_entry *entry_out)
{
    size_t left = walk->size - walk->at;
    if (left < sizeof *entry_out) {
        walk->damaged += left > 0;
        return false;
    }
    memcpy(entry_out, walk->bytes + walk->at, sizeof *entry_out);
    if (entry_out->bytes < sizeof *entry_out || entry_out->bytes > left ||
        entry_out->bytes % 8 != 0 || entry_out->open_count > LIVE_RING_OPEN_MAX) {
        walk->damaged++;
        return false;
    }
    return true;
}

/* The next entry, and where its blocks are, until the next call; false behind the last. Its sizes
 * are whole; what is in it may be anything. */
static bool live_ring_next(struct live_ring_walk *walk, struct live_ring_entry *entry_out,
                           const uint8_t **blocks_out, size_t *size_out)
{
    while (walk->at == walk->size || !live_ring_take_entry(walk, entry_out)) {
        if (walk->next == walk->count)
            return false;
        const struct live_ring_part *part = &walk->parts[walk->next++];
        live_ring_read_part(walk, part);
        if (walk->passed)
            walk->passed(walk->context, part->number);
    }
    *blocks_out = walk->bytes + walk->at + sizeof *entry_out;
    *size_out = entry_out->bytes - sizeof *entry_out;
    walk->at += entry_out->bytes;
    return true;
}

/* The next block of so many bytes of blocks, which move behind it. False: there is none, or it
 * cannot be. */
static bool live_ring_block(const uint8_t **blocks, size_t *size, struct live_ring_block *block_out,
                            const uint8_t **bytes_out)
{
    if (*size < sizeof *block_out)
        return false;
    memcpy(block_out, *blocks, sizeof *block_out);
    const uint8_t *bytes = *blocks + sizeof *block_out;
    size_t left = *size - sizeof *block_out, padded = ((size_t)block_out->bytes + 7) / 8 * 8;
    if (block_out->bytes < RBWP_BLOCK_HEADER_BYTES || padded > left ||
        crc32c(0, bytes, block_out->bytes) != block_out->crc32c)
        return false;
    *bytes_out = bytes;
    *blocks = bytes + padded;
    *size = left - padded;
    return true;
}

/* All that ever came into the ring up to some entry of it. */
struct ever {
    uint64_t records, rows, bytes;
};

static bool block_fits(const struct live_ring_entry *entry, const struct live_ring_block *block,
                       const uint8_t *bytes, struct rbwp_block_header *header_out)
{
    block_header_decode(bytes, header_out);
    return header_out->records == block->records && (entry->table == 0) == (block->records > 0) &&
           (block->records == 0 || header_out->thread_id == entry->thread_id) &&
           block_payload_bytes(header_out) == block->bytes - RBWP_BLOCK_HEADER_BYTES;
}

/* What the thread had open before its first block in the result: a block of begins. */
static enum rbwp_status put_open(struct recover_ring *ring, const struct live_ring_entry *entry,
                                 uint32_t sequence)
{
    struct rbwp_block_encoder *encoder;
    struct rbwp_sealed_block sealed;
    enum rbwp_status status = rbwp_block_encoder_new(1024, 0, &encoder);
    if (status != RBWP_OK)
        return status;
    for (uint32_t i = 0; i < entry->open_count && status == RBWP_OK; i++) {
        const struct live_ring_open *open = &entry->open[i];
        bool known = open->kind == RBWP_COARSE_BEGIN ? open->id < RBWP_SLOTS_MAX
                                                     : open->kind == RBWP_FINE_BEGIN;
        if (known)
            status = rbwp_block_encoder_put(encoder, open->begin_ns, open->kind, open->id);
        else
            ring->damaged++;
    }
    if (status == RBWP_OK &&
        rbwp_block_encoder_seal(encoder, entry->thread_id, sequence, &sealed) == RBWP_OK) {
        status = rbwp_writer_add_block(ring->writer, &sealed);
        if (status == RBWP_OK)
            recover_tail_block(ring->tail, &sealed);
    }
    rbwp_block_encoder_free(encoder);
    return status;
}

static enum rbwp_status recover_ring_put_block(struct recover_ring *ring,
                                               const struct live_ring_entry *entry,
                                               const struct live_ring_block *block,
                                               const uint8_t *bytes,
                                               const struct rbwp_block_header *header)
{
    const struct rbwp_sealed_block sealed = {
        .bytes = bytes,
        .bytes_count = block->bytes,
        .records = block->records,
        .thread_id = block->records ? entry->thread_id : 0,
        .first_ns = block->first_ns,
        .last_ns = block->last_ns,
    };
    enum rbwp_status status = RBWP_OK;
    if (block->records && entry->open_count &&
        !thread_table_find(&ring->tail->seen, entry->thread_id))
        status = put_open(ring, entry, header->sequence - 1);
    if (status == RBWP_OK)
        status = writer_add_summed(ring->writer, &sealed, block->crc32c);
    if (status != RBWP_OK)
        return status;
    ring->blocks++;
    ring->bytes += block->bytes;
    if (block->records == 0)
        return RBWP_OK;
    ring->records += block->records;
    recover_tail_block(ring->tail, &sealed);
    if (!ring->has_sequence || (int32_t)(header->sequence - ring->sequence) > 0)
        ring->sequence = header->sequence;
    ring->has_sequence = true;
    return RBWP_OK;
}

static enum rbwp_status recover_ring_put_entry(struct recover_ring *ring,
                                               const struct live_ring_entry *entry,
                                               const uint8_t *blocks, size_t size)
{
    struct live_ring_block block;
    struct rbwp_block_header header;
    const uint8_t *bytes;
    enum rbwp_status status = RBWP_OK;
    bool usable = true;
    if (entry->table)
        status =
            recover_rows_precede(ring->rows, entry->table, entry->first_row, entry->rows, &usable);
    for (uint32_t i = 0; i < entry->blocks && status == RBWP_OK; i++) {
        if (!usable || !live_ring_block(&blocks, &size, &block, &bytes) ||
            !block_fits(entry, &block, bytes, &header)) {
            ring->damaged++;
            return RBWP_OK;
        }
        status = recover_ring_put_block(ring, entry, &block, bytes, &header);
    }
    ring->row_count += entry->rows;
    return status;
}

static uint64_t less(uint64_t all, uint64_t a, uint64_t b)
{
    all = all > a ? all - a : 0;
    return all > b ? all - b : 0;
}

/* All that came before the entry, or with it. */
static struct ever ever_to(const struct live_ring_entry *entry, bool with_it)
{
    return (struct ever){entry->records_before + (with_it ? entry->records : 0),
                         entry->rows_before + (with_it ? entry->rows : 0),
                         entry->bytes_before + (with_it ? entry->block_bytes : 0)};
}

/* What is not there: all that ever came less what was put, here and into the parts before. */
static void count_dropped(struct recover_ring *ring, const struct ever *ever,
                          const struct live_ring_facts *facts)
{
    struct rbwp_kept *kept = &ring->kept;
    ring->ever_records = ever->records;
    ring->ever_rows = ever->rows;
    ring->ever_bytes = ever->bytes;
    kept->dropped_records = less(ever->records, facts->cut_records, ring->records);
    kept->dropped_rows = less(ever->rows, facts->cut_rows, ring->row_count);
    kept->dropped_bytes = less(ever->bytes, facts->cut_bytes, ring->bytes);
    if (!kept->dropped_records && !kept->dropped_rows)
        kept->from_ns = 0;
}

enum rbwp_status recover_ring_copy(struct recover_ring *ring, bool *sink_out,
                                   struct rbwp_error *error)
{
    const struct live_ring_facts facts = ring->facts;
    struct live_ring_walk walk;
    struct live_ring_entry entry;
    struct ever ever = {facts.records, facts.rows, facts.bytes};
    const uint8_t *blocks;
    size_t size;
    bool any = false, any_ahead = false;
    int64_t dropped_ns = facts.latest_ns;
    *sink_out = false;
    enum rbwp_status status = live_ring_open(&walk, ring->live, error);
    walk.passed = ring->passed;
    walk.context = ring->context;
    while (status == RBWP_OK && live_ring_next(&walk, &entry, &blocks, &size)) {
        const bool is_ahead = entry.ticket > ring->live->commit.ticket; /* its chunk has it yet */
        if (entry.ticket == 0 || (is_ahead && any_ahead))
            continue;
        if (!any || entry.bytes_before != ever.bytes)
            dropped_ns = entry.latest_before_ns;
        ever = ever_to(&entry, !is_ahead);
        any_ahead |= is_ahead;
        if (is_ahead)
            continue;
        bool old = !any && entry.last_ns < ring->since_ns;
        if (old && entry.last_ns > dropped_ns)
            dropped_ns = entry.last_ns;
        ring->last_ticket = entry.ticket;
        if (old || entry.ticket <= facts.cut_ticket)
            continue;
        any = true;
        ring->fine |= entry.has_fine;
        status = recover_ring_put_entry(ring, &entry, blocks, size);
        *sink_out = status != RBWP_OK && status != RBWP_E_MEMORY;
    }
    /* The newest of what there was is gone, too. */
    if (walk.gone && !any_ahead && ever.bytes < facts.bytes) {
        ever = (struct ever){facts.records, facts.rows, facts.bytes};
        dropped_ns = facts.latest_ns;
    }
    ring->damaged += walk.damaged;
    live_ring_close(&walk);
    ring->kept.from_ns = dropped_ns + 1;
    ring->kept.keep_bytes = facts.part ? 0 : facts.keep_bytes;
    ring->kept.keep_ns = facts.keep_ns;
    ring->kept.part = facts.part;
    count_dropped(ring, &ever, &facts);
    return status;
}
