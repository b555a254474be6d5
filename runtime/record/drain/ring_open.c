/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_open.h"

#include "chunk_encoder.h"
#include "chunk_pool.h"

/* begin_ns holds ticks until the whole chunk has been passed. */
static void ring_open_push(struct ring_open *open, uint16_t kind, uint64_t word)
{
    if (open->count == LIVE_RING_OPEN_MAX) {
        open->deeper++;
        return;
    }
    open->open[open->count++] = (struct live_ring_open){
        .begin_ns = (int64_t)live_event_ticks(word), .kind = kind, .id = live_event_id(word)};
}

/* An item's end ends its sub-items, too; ends without a begin are none of ours. */
static void ring_open_pop(struct ring_open *open, uint16_t kind)
{
    uint32_t count = open->count;
    if (kind == RBWP_FINE_BEGIN && open->deeper) {
        open->deeper--;
        return;
    }
    if (kind == RBWP_COARSE_BEGIN)
        while (count > 0 && open->open[count - 1].kind != kind)
            count--;
    if (count > 0 && open->open[count - 1].kind == kind) {
        open->count = count - 1;
        open->deeper = 0;
    }
}

bool ring_open_pass(struct ring_open *open, const struct chunk *chunk,
                    struct shared_timeline *timeline)
{
    uint32_t older = open->count;
    bool has_fine = false;
    for (uint32_t i = 0; i < chunk->used; i++) {
        uint64_t word = __atomic_load_n(&chunk->words[i], __ATOMIC_RELAXED);
        switch (live_event_record_kind(word)) {
        case RBWP_COARSE_BEGIN:
        case RBWP_FINE_BEGIN:
            ring_open_push(open, live_event_record_kind(word), word);
            break;
        case RBWP_COARSE_END:
            ring_open_pop(open, RBWP_COARSE_BEGIN);
            break;
        case RBWP_FINE_END:
            ring_open_pop(open, RBWP_FINE_BEGIN);
            break;
        case RBWP_GPU_WORK:
            i += LIVE_GPU_EVENT_WORDS - 1;
            break;
        default:
            i = chunk->used - 1;
        }
        has_fine |= live_event_record_kind(word) == RBWP_FINE_BEGIN;
        older = open->count < older ? open->count : older;
    }
    for (uint32_t i = older; i < open->count; i++)
        open->open[i].begin_ns = shared_timeline_ns(
            timeline, chunk->epoch, chunk->base_ticks + (uint64_t)open->open[i].begin_ns);
    return has_fine;
}
