/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reorder window. To make room, the oldest arrival leaves, and before it
 * all blocks of its thread with lower numbers. The window is small, so plain
 * scans do.
 */
#include "reorder.h"

#include <stdlib.h>
#include <string.h>

void reorder_start(struct reorder *reorder, reorder_fn *pass, void *context)
{
    *reorder = (struct reorder){.pass = pass, .context = context};
}

/* Numbers wrap around at 2^32. */
static bool before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* True when a later block of the thread was passed on already. */
static bool note_passed(struct reorder *reorder, const struct rbwp_block_header *header)
{
    uint32_t number = thread_map_number(&reorder->threads, header->thread_id);
    if (number == THREAD_NONE || !GROW_ZEROED(reorder->last, reorder->last_capacity, number + 1))
        return false;
    struct reorder_thread *last = &reorder->last[number];
    bool late = last->seen && before(header->sequence, last->last_sequence);
    if (!late)
        *last = (struct reorder_thread){true, header->sequence};
    return late;
}

static void pass_on(struct reorder *reorder, unsigned at)
{
    struct reorder_entry entry = reorder->window[at];
    memmove(&reorder->window[at], &reorder->window[at + 1],
            (reorder->count - at - 1) * sizeof entry);
    reorder->count--;
    reorder->bytes -= entry.block.header.data_bytes;
    bool late = note_passed(reorder, &entry.block.header);
    reorder->late_blocks += late;
    reorder->pass(reorder->context, &entry.block, late);
    free(entry.data);
}

/* The block of the oldest arrival's thread that has the lowest number. */
static unsigned first_of_oldest(const struct reorder *reorder)
{
    unsigned best = 0;
    for (unsigned i = 1; i < reorder->count; i++) {
        const struct rbwp_block_header *header = &reorder->window[i].block.header;
        const struct rbwp_block_header *least = &reorder->window[best].block.header;
        if (header->thread_id == least->thread_id && before(header->sequence, least->sequence))
            best = i;
    }
    return best;
}

bool reorder_push(struct reorder *reorder, const struct rbwp_block *block)
{
    size_t bytes = block->header.data_bytes;
    while (reorder->count == REORDER_BLOCKS ||
           (reorder->count > 0 && reorder->bytes + bytes > REORDER_BYTES))
        pass_on(reorder, first_of_oldest(reorder));
    uint8_t *data = malloc(bytes ? bytes : 1);
    if (!data)
        return false;
    memcpy(data, block->data, bytes);
    struct reorder_entry *entry = &reorder->window[reorder->count++];
    *entry = (struct reorder_entry){*block, data};
    entry->block.data = data;
    reorder->bytes += bytes;
    return true;
}

void reorder_flush(struct reorder *reorder)
{
    while (reorder->count > 0)
        pass_on(reorder, first_of_oldest(reorder));
}

void reorder_next_file(struct reorder *reorder)
{
    reorder_flush(reorder);
    const uint64_t late_blocks = reorder->late_blocks;
    reorder_stop(reorder);
    reorder_start(reorder, reorder->pass, reorder->context);
    reorder->late_blocks = late_blocks;
}

void reorder_stop(struct reorder *reorder)
{
    for (unsigned i = 0; i < reorder->count; i++)
        free(reorder->window[i].data);
    reorder->count = 0;
    thread_map_free(&reorder->threads);
    free(reorder->last);
}
