/* SPDX-License-Identifier: Apache-2.0 */
/* Counting: one pass, a lookup or two for each record. */
#include "info.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

const unsigned info_kind[INFO_KINDS] = {RBWP_COARSE_BEGIN, RBWP_COARSE_END, RBWP_FINE_BEGIN,
                                        RBWP_FINE_END, RBWP_GPU_WORK};

static void count_opaque(struct info *info, const struct rbwp_block *block)
{
    struct info_tag seen = {
        .bytes = block->header.data_bytes < 4 ? (uint8_t)block->header.data_bytes : 4};
    memcpy(seen.tag, block->data, seen.bytes);
    info->opaque_blocks++;
    unsigned at = 0;
    while (at < info->tag_count && (info->tags[at].bytes != seen.bytes ||
                                    memcmp(info->tags[at].tag, seen.tag, seen.bytes) != 0))
        at++;
    if (at == INFO_TAGS_MAX) {
        info->other_tag_blocks++;
        return;
    }
    if (at == info->tag_count)
        info->tags[info->tag_count++] = seen;
    info->tags[at].blocks++;
    info->tags[at].data_bytes += block->header.data_bytes;
}

static void count_records(struct info *info, const struct rbwp_block *block)
{
    uint64_t kinds[64] = {0}; /* by kind as stored */
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        kinds[record.kind & 63]++;
        if (record.kind == RBWP_COARSE_BEGIN)
            slot_rows_find(&info->slots, record.slot, record.time_ns)->calls++;
        else if (record.kind == RBWP_FINE_BEGIN)
            info->sub_items[record.sub_item]++;
        else if (record.kind == RBWP_GPU_WORK)
            slot_rows_find(&info->slots, record.slot, record.time_ns)->gpu++;
    }
    for (int i = 0; i < INFO_KINDS; i++)
        info->kinds[i] += kinds[info_kind[i]];
}

static void info_widen(int64_t *first_ns, int64_t *last_ns, const struct rbwp_block *block,
                       bool start)
{
    if (start || block->first_ns < *first_ns)
        *first_ns = block->first_ns;
    if (start || block->last_ns > *last_ns)
        *last_ns = block->last_ns;
}

/* Threads beyond the map's bound are in the totals only. */
static void count_thread(struct info *info, const struct rbwp_block *block)
{
    uint32_t number = thread_map_place(&info->map, block->header.thread_id, &info->threads,
                                       &info->thread_capacity, sizeof *info->threads);
    if (number == THREAD_NONE)
        return;
    struct info_thread *thread = &info->threads[number];
    thread->thread_id = block->header.thread_id;
    info_widen(&thread->first_ns, &thread->last_ns, block, thread->blocks == 0);
    thread->blocks++;
    thread->records += block->header.records;
}

static void count_block(struct info *info, const struct rbwp_block *block, bool first)
{
    const struct rbwp_block_header *header = &block->header;
    info->data_bytes += header->data_bytes;
    info->file_bytes += header->stored_bytes ? header->stored_bytes : header->data_bytes;
    info_widen(&info->first_ns, &info->last_ns, block, first);
    count_thread(info, block);
    count_records(info, block);
}

static void count_blocks(struct info *info, struct input *input)
{
    struct rbwp_block block;
    struct rbwp_rows rows;
    struct rbwp_error error;
    uint64_t record_blocks = 0;
    while (input_next(input, &block)) {
        if (block.header.records == 0) {
            count_opaque(info, &block);
            (void)file_tables_take(&info->tables, &block, &rows, &error);
        } else {
            count_block(info, &block, record_blocks++ == 0);
        }
    }
}

bool info_gather(struct info *info, struct input *input, bool quick)
{
    *info = (struct info){.input = input, .counted = !quick};
    info->sub_items = calloc(RBWP_SUB_ITEMS_MAX, sizeof *info->sub_items);
    if (!file_tables_begin(&info->tables, input)) {
        info_free(info);
        return false;
    }
    if (!info->sub_items || !names_load(&info->names, input->reader) ||
        !slot_rows_make(&info->slots, &info->names.slots)) {
        message("out of memory");
        info_free(info);
        return false;
    }
    if (!quick)
        count_blocks(info, input);
    return true;
}

void info_free(struct info *info)
{
    free(info->sub_items);
    free(info->threads);
    file_tables_end(&info->tables);
    thread_map_free(&info->map);
    slot_rows_free(&info->slots);
    names_free(&info->names);
}
