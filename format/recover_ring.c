/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_ring.c - see recover_ring.h. Blocks are copied as they are: their sums say that they are
 * what their process wrote, so nothing is decoded, and a ring of 64 MiB costs little more than its
 * copy.
 */
#include "recover_ring.h"

#include "block.h"
#include "live_ring.h"
#include "reader_error.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>

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
