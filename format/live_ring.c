/* SPDX-License-Identifier: Apache-2.0 */
#include "live_ring.h"

#include "crc32c.h"
#include "grow.h"
#include "reader_error.h"

#include <stdlib.h>
#include <string.h>

static bool live_ring_read_head(const struct live_file *live, uint64_t offset,
                                struct live_ring_head *head)
{
    return live_file_read(live, offset, head, sizeof *head) == sizeof *head;
}

static bool note_segment(void *context, const struct live_segment *segment)
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

static int by_number(const void *left, const void *right)
{
    const struct live_ring_part *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

enum rbwp_status live_ring_open(struct live_ring_walk *walk, const struct live_file *live,
                                struct rbwp_error *error)
{
    *walk = (struct live_ring_walk){.live = live};
    enum rbwp_status status = live_file_ring(live, note_segment, walk, error);
    if (status == RBWP_OK && walk->count)
        qsort(walk->parts, walk->count, sizeof *walk->parts, by_number);
    if (walk->count)
        walk->bytes = malloc(LIVE_SEGMENT_BYTES_MAX);
    if (walk->memory_failed || (walk->count && !walk->bytes))
        return error_set_memory(error, "live file");
    return status;
}

void live_ring_close(struct live_ring_walk *walk)
{
    free(walk->parts);
    free(walk->bytes);
    *walk = (struct live_ring_walk){0};
}

static bool is_there(const struct live_ring_walk *walk, const struct live_ring_part *part,
                     struct live_ring_head *head_out)
{
    return live_ring_read_head(walk->live, part->offset, head_out) &&
           head_out->number == part->number;
}

static void read_part(struct live_ring_walk *walk, const struct live_ring_part *part)
{
    struct live_ring_head head;
    walk->at = walk->size = 0;
    if (!is_there(walk, part, &head)) {
        walk->gone++;
        return;
    }
    if (head.bytes > part->bytes - sizeof head) {
        walk->damaged++;
        return;
    }
    size_t got = live_file_read(walk->live, part->offset + sizeof head, walk->bytes, head.bytes);
    if (is_there(walk, part, &head))
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

bool live_ring_next(struct live_ring_walk *walk, struct live_ring_entry *entry_out,
                    const uint8_t **blocks_out, size_t *size_out)
{
    while (walk->at == walk->size || !live_ring_take_entry(walk, entry_out)) {
        if (walk->next == walk->count)
            return false;
        const struct live_ring_part *part = &walk->parts[walk->next++];
        read_part(walk, part);
        if (walk->passed)
            walk->passed(walk->context, part->number);
    }
    *blocks_out = walk->bytes + walk->at + sizeof *entry_out;
    *size_out = entry_out->bytes - sizeof *entry_out;
    walk->at += entry_out->bytes;
    return true;
}

bool live_ring_block(const uint8_t **blocks, size_t *size, struct live_ring_block *block_out,
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
