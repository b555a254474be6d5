/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.c - see index.h. When all ranges are used, neighbours are joined in
 * pairs and later ranges take twice as many blocks. So ranges are of about one
 * size, and their number stays between half of the maximum and the maximum,
 * however long the file gets. Sums are combined; nothing is read again.
 */
#include "index.h"

#include "bytes.h"
#include "crc32c.h"
#include "rbwp_table.h"

#include <stdlib.h>
#include <string.h>

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

/* A range without what is counted has no times and no thread (SPEC.md R63). */
#define JOIN_TIMES(a, b, counted)                                                                  \
    do {                                                                                           \
        if ((a)->counted == 0) {                                                                   \
            (a)->first_ns = (b)->first_ns;                                                         \
            (a)->last_ns = (b)->last_ns;                                                           \
            (a)->thread_id = (b)->thread_id;                                                       \
        } else if ((b)->counted) {                                                                 \
            if ((b)->first_ns < (a)->first_ns)                                                     \
                (a)->first_ns = (b)->first_ns;                                                     \
            if ((b)->last_ns > (a)->last_ns)                                                       \
                (a)->last_ns = (b)->last_ns;                                                       \
            if ((b)->thread_id != (a)->thread_id)                                                  \
                (a)->thread_id = 0;                                                                \
        }                                                                                          \
    } while (0)

void index_join(struct rbwp_index_range *a, const struct rbwp_index_range *b)
{
    JOIN_TIMES(a, b, records);
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

/* ---- tables ---------------------------------------------------------------------------------- */

/* When all ranges are used, later ones take twice as many blocks, and neighbours of one table that
 * are small enough for that are joined. */

#define TAG_BYTES 4u
#define NAMES_LOOK_BYTES (TAG_BYTES + 8)
#define SCHEMA_LOOK_BYTES (TAG_BYTES + 4)

/* ---- a block of a table
 * --------------------------------------------------------------------------- */

static bool rows_range(const struct rbwp_block_header *header, const uint8_t *head,
                       struct rbwp_table_range *range)
{
    range->rows = load_le32(head + 4);
    range->first_row = load_le64(head + 8);
    range->first_ns = load_le_i64(head + 16);
    range->last_ns = load_le_i64(head + 24);
    range->thread_id = header->thread_id;
    return range->rows && range->first_row &&
           !__builtin_add_overflow(range->first_row, range->rows - 1, &range->last_row);
}

static bool names_range(const uint8_t *head, struct rbwp_table_range *range)
{
    range->first_row = load_le32(head);
    range->rows = load_le32(head + 4);
    range->last_row = range->first_row + range->rows - 1;
    return range->first_row && range->rows;
}

bool table_range_of(const struct rbwp_block_header *header, const uint8_t *begin, size_t count,
                    struct rbwp_table_range *range_out)
{
    *range_out = (struct rbwp_table_range){.blocks = 1};
    if (header->records || count < SCHEMA_LOOK_BYTES)
        return false;
    const uint8_t *head = begin + TAG_BYTES;
    if (memcmp(begin, RBWP_NAMES_TAG, TAG_BYTES) == 0)
        return count >= NAMES_LOOK_BYTES && names_range(head, range_out);
    bool rows = memcmp(begin, RBWP_ROWS_TAG, TAG_BYTES) == 0;
    if (!rows && memcmp(begin, RBWP_SCHEMA_TAG, TAG_BYTES) != 0)
        return false;
    range_out->table = load_le32(head);
    if (range_out->table == 0 || range_out->table > RBWP_TABLES_MAX)
        return false;
    return !rows || (count >= TABLE_LOOK_BYTES && rows_range(header, head, range_out));
}

void table_range_join(struct rbwp_table_range *a, const struct rbwp_table_range *b)
{
    if (a->rows == 0) /* as a schema has none */
        a->first_row = b->first_row;
    JOIN_TIMES(a, b, rows);
    if (b->rows)
        a->last_row = b->last_row;
    a->bytes = b->offset + b->bytes - a->offset;
    a->block_bytes += b->block_bytes;
    a->rows += b->rows;
    a->blocks += b->blocks;
}

/* ---- the index of tables
 * --------------------------------------------------------------------------- */

void table_index_free(struct table_index *index)
{
    free(index->ranges);
    free(index->last);
    *index = (struct table_index){0};
}

/* To the last range of its table if that may take so many blocks, else behind all. There is room.
 */
static void put_range(struct table_index *index, struct rbwp_table_range range)
{
    uint16_t *last = &index->last[range.table];
    struct rbwp_table_range *before = *last ? &index->ranges[*last - 1] : NULL;
    if (before && range.blocks <= index->blocks_per_range - before->blocks) {
        table_range_join(before, &range);
        return;
    }
    index->ranges[index->count++] = range;
    *last = (uint16_t)index->count;
}

static void join_neighbours(struct table_index *index)
{
    uint32_t count = index->count;
    index->blocks_per_range *= 2;
    index->count = 0;
    for (uint32_t i = 0; i < count; i++)
        index->last[index->ranges[i].table] = 0;
    for (uint32_t i = 0; i < count; i++)
        put_range(index, index->ranges[i]);
}

static bool table_index_start(struct table_index *index)
{
    index->blocks_per_range = 1;
    index->ranges = calloc(TABLE_RANGES_MAX, sizeof *index->ranges);
    index->last = calloc(RBWP_TABLES_MAX + 1u, sizeof *index->last);
    return index->ranges && index->last;
}

void table_index_add(struct table_index *index, const struct rbwp_table_range *block)
{
    if (!index->gave_up && !index->ranges)
        index->gave_up = !table_index_start(index);
    while (!index->gave_up && index->count == TABLE_RANGES_MAX) {
        join_neighbours(index);
        index->gave_up = index->blocks_per_range > UINT32_MAX / 2;
    }
    if (index->gave_up)
        index->count = 0;
    else
        put_range(index, *block);
}
