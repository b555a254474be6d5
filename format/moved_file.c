/* SPDX-License-Identifier: Apache-2.0 */
/* moved_file.c - see moved_file.h. */
#include "moved_file.h"

#include "bytes.h"
#include "crc32c.h"
#include "reader_error.h"
#include "table_index.h"

#include <inttypes.h>
#include <stdlib.h>

#define SECTION_HEAD_BYTES 16u
#define TABLE_HEAD_BYTES 8u

struct moved_range {
    uint8_t *entry;
    uint64_t offset, end; /* before */
    uint64_t bytes;       /* of its own blocks, those seen so far */
    uint64_t offset_now, end_now, bytes_now;
    uint32_t table;
};

static struct place place_of(uint64_t offset, enum rule rule)
{
    return (struct place){"trailer", offset, rule};
}

/* ---- the tail -------------------------------------------------------------------------------- */

static int by_table_and_offset(const void *left, const void *right)
{
    const struct moved_range *a = left, *b = right;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool take_ranges(struct moved_file *moved, uint8_t *entries, uint32_t entry_bytes,
                        uint32_t count)
{
    moved->ranges = calloc(count ? count : 1, sizeof *moved->ranges);
    if (!moved->ranges)
        return false;
    moved->range_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *entry = entries + (size_t)i * entry_bytes;
        moved->ranges[i] = (struct moved_range){
            .entry = entry,
            .offset = load_le64(entry),
            .end = load_le64(entry) + load_le64(entry + 8),
            .table = load_le32(entry + 24),
        };
    }
    qsort(moved->ranges, count, sizeof *moved->ranges, by_table_and_offset);
    return true;
}

/* A section of a trailer that was decoded, so it fills what it says (R55, R57, R58). */
static bool take_section(struct moved_file *moved, const uint8_t *tag, uint8_t *payload)
{
    bool index = memcmp(tag, "INDX", 4) == 0, ranges = memcmp(tag, "TIDX", 4) == 0;
    if (memcmp(tag, "TABL", 4) == 0)
        moved->tables = payload;
    if (!index && !ranges)
        return true;
    uint32_t entry_bytes = load_le32(payload), count = load_le32(payload + 4);
    if (ranges)
        return take_ranges(moved, payload + TABLE_HEAD_BYTES, entry_bytes, count);
    moved->index = payload + TABLE_HEAD_BYTES;
    moved->index_bytes = entry_bytes;
    moved->index_count = count;
    return true;
}

enum rbwp_status moved_file_begin(struct moved_file *moved, const struct rbwp_reader *reader,
                                  struct rbwp_error *error)
{
    const struct tail *tail = reader_tail(reader);
    *moved = (struct moved_file){.offset = RBWP_FILE_HEADER_BYTES};
    moved->tail = malloc(tail->buffer.count ? tail->buffer.count : 1);
    if (!moved->tail)
        return error_set_memory(error, "trailer");
    if (tail->buffer.count)
        memcpy(moved->tail, tail->buffer.bytes, tail->buffer.count);
    moved->tail_bytes = tail->buffer.count;
    if (!tail->has_trailer)
        return RBWP_OK;
    moved->footer = moved->tail + moved->tail_bytes - FOOTER_BYTES;
    moved->trailer = moved->tail + (load_le64(moved->footer) - tail->offset);
    for (uint8_t *section = moved->trailer; section < moved->footer;) {
        if (!take_section(moved, section, section + SECTION_HEAD_BYTES))
            return error_set_memory(error, "trailer");
        section += SECTION_HEAD_BYTES + load_le64(section + 8);
    }
    if (moved->tables && load_le64(moved->tables) != tail->offset)
        return error_set(error, RBWP_E_CORRUPT, place_of(tail->offset, RULE_TABLES_TWICE),
                         "header and trailer disagree about the descriptor tables");
    return RBWP_OK;
}

void moved_file_end(struct moved_file *moved)
{
    free(moved->tail);
    free(moved->ranges);
    *moved = (struct moved_file){0};
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* INDX: its ranges follow each other, so the next block is of the next one. */
static enum rbwp_status move_in_index(struct moved_file *moved, uint64_t offset, struct view before,
                                      struct view head, struct view payload,
                                      struct rbwp_error *error)
{
    if (!moved->index)
        return RBWP_OK;
    struct place misfit = place_of(offset, RULE_INDEX_RANGES);
    if (moved->index_next == moved->index_count)
        return error_set(error, RBWP_E_CORRUPT, misfit, "the index of blocks ends before they do");
    uint8_t *entry = moved->index + (size_t)moved->index_next * moved->index_bytes;
    uint64_t from = load_le64(entry), bytes = load_le64(entry + 8), end = offset + before.count;
    bool first = moved->range_offset == 0;
    if ((first ? offset != from : offset < from) || end - from > bytes)
        return error_set(error, RBWP_E_CORRUPT, misfit,
                         "the index of blocks does not fit the blocks");
    if (first) {
        moved->range_offset = moved->offset;
        moved->crc_before = moved->crc_now = 0;
    }
    moved->crc_before = crc32c(moved->crc_before, before.bytes, before.count);
    moved->crc_now = crc32c(moved->crc_now, head.bytes, head.count);
    moved->crc_now = crc32c(moved->crc_now, payload.bytes, payload.count);
    if (end - from < bytes)
        return RBWP_OK;
    if (moved->crc_before != load_le32(entry + 52))
        return error_set(error, RBWP_E_CORRUPT, place_of(from, RULE_INDEX_SUM),
                         "the sum of a range of blocks is wrong: a block in it was changed");
    store_le64(entry, moved->range_offset);
    store_le64(entry + 8, moved->offset + head.count + payload.count - moved->range_offset);
    store_le32(entry + 52, moved->crc_now);
    moved->range_offset = 0;
    moved->index_next++;
    return RBWP_OK;
}

/* The last range of the table that begins at this offset or before. */
static struct moved_range *find_range(const struct moved_file *moved, uint32_t table,
                                      uint64_t offset)
{
    struct moved_range *found = NULL;
    for (uint32_t low = 0, high = moved->range_count; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        struct moved_range *range = &moved->ranges[middle];
        bool before = range->table < table || (range->table == table && range->offset <= offset);
        if (before) {
            found = range;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found && found->table == table ? found : NULL;
}

/* TIDX: ranges of several tables lie in each other. */
static enum rbwp_status move_in_tables(struct moved_file *moved, const struct rbwp_block *block,
                                       uint64_t end, uint64_t bytes_now, struct rbwp_error *error)
{
    struct rbwp_table_range of_block;
    if (!moved->range_count || block->header.records ||
        !table_range_of(&block->header, block->data, block->header.data_bytes, &of_block))
        return RBWP_OK;
    struct moved_range *range = find_range(moved, of_block.table, block->offset);
    if (!range || end > range->end || (range->bytes_now == 0) != (block->offset == range->offset))
        return error_set(error, RBWP_E_CORRUPT, place_of(block->offset, RULE_TABLE_RANGES),
                         "the index of tables does not fit the blocks");
    if (range->bytes_now == 0)
        range->offset_now = moved->offset;
    range->bytes += end - block->offset;
    range->bytes_now += bytes_now;
    range->end_now = end == range->end ? moved->offset + bytes_now : 0;
    return RBWP_OK;
}

enum rbwp_status moved_file_block(struct moved_file *moved, const struct rbwp_block *block,
                                  struct view before, const uint8_t head[RBWP_BLOCK_HEADER_BYTES],
                                  struct view payload, struct rbwp_error *error)
{
    struct view head_view = {head, RBWP_BLOCK_HEADER_BYTES};
    uint64_t bytes_now = RBWP_BLOCK_HEADER_BYTES + payload.count;
    enum rbwp_status status =
        move_in_index(moved, block->offset, before, head_view, payload, error);
    if (status == RBWP_OK)
        status = move_in_tables(moved, block, block->offset + before.count, bytes_now, error);
    moved->offset += bytes_now;
    return status;
}

enum rbwp_status moved_file_finish(struct moved_file *moved, struct rbwp_error *error)
{
    if (moved->index && moved->index_next != moved->index_count)
        return error_set(error, RBWP_E_CORRUPT, place_of(NOWHERE, RULE_INDEX_RANGES),
                         "the index of blocks has ranges without blocks");
    for (uint32_t i = 0; i < moved->range_count; i++) {
        const struct moved_range *range = &moved->ranges[i];
        if (!range->end_now || range->bytes != load_le64(range->entry + 16))
            return error_set(error, RBWP_E_CORRUPT, place_of(range->offset, RULE_TABLE_RANGES),
                             "a range of the index of tables is not that of the blocks of its "
                             "table");
        store_le64(range->entry, range->offset_now);
        store_le64(range->entry + 8, range->end_now - range->offset_now);
        store_le64(range->entry + 16, range->bytes_now);
    }
    if (moved->tables)
        store_le64(moved->tables, moved->offset);
    if (moved->footer) {
        size_t bytes = (size_t)(moved->footer - moved->trailer);
        store_le64(moved->footer, moved->offset + (size_t)(moved->trailer - moved->tail));
        store_le32(moved->footer + 16, crc32c(0, moved->trailer, bytes));
    }
    return RBWP_OK;
}
