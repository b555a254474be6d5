/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.c - see index.h. When all ranges are used, neighbours are joined in
 * pairs and later ranges take twice as many blocks. So ranges are of about one
 * size, and their number stays between half of the maximum and the maximum,
 * however long the file gets. Sums are combined; nothing is read again.
 */
#include "index.h"

#include "crc32c.h"

#include <stdlib.h>

enum rbwp_status index_init(struct block_index *index)
{
    *index = (struct block_index){.blocks_per_range = 1};
    index->ranges = calloc(INDEX_RANGES_MAX, sizeof *index->ranges);
    return index->ranges ? RBWP_OK : RBWP_E_MEMORY;
}

void index_free(struct block_index *index)
{
    free(index->ranges);
    *index = (struct block_index){0};
}

void index_join(struct rbwp_index_range *a, const struct rbwp_index_range *b)
{
    /* A range without records has no times and no thread (SPEC.md R63). */
    if (a->records == 0) {
        a->first_ns = b->first_ns;
        a->last_ns = b->last_ns;
        a->thread_id = b->thread_id;
    } else if (b->records) {
        if (b->first_ns < a->first_ns)
            a->first_ns = b->first_ns;
        if (b->last_ns > a->last_ns)
            a->last_ns = b->last_ns;
        if (b->thread_id != a->thread_id)
            a->thread_id = 0;
    }
    a->crc32c = crc32c_combine(a->crc32c, b->crc32c, b->bytes);
    a->bytes += b->bytes;
    a->records += b->records;
    a->blocks += b->blocks;
}

static void join_pairs(struct block_index *index)
{
    for (uint32_t i = 0; i < index->count / 2; i++) {
        struct rbwp_index_range joined = index->ranges[2 * i];
        index_join(&joined, &index->ranges[2 * i + 1]);
        index->ranges[i] = joined;
    }
    index->count /= 2;
    index->blocks_per_range *= 2;
}

void index_add(struct block_index *index, const struct rbwp_index_range *block)
{
    struct rbwp_index_range *last = index->count ? &index->ranges[index->count - 1] : NULL;
    if (last && last->blocks < index->blocks_per_range) {
        index_join(last, block);
        return;
    }
    if (index->count == INDEX_RANGES_MAX)
        join_pairs(index);
    index->ranges[index->count++] = *block;
}
