/* SPDX-License-Identifier: Apache-2.0 */
/* Counting: one pass, a lookup or two for each record. */
#include "info.h"

#include "format_fields.h"
#include "json_file.h"
#include "json_line.h"
#include "json_text.h"
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

/* Rbwp info --json: the keys of the dump, without its blocks, and the counts. */

static void kinds(struct out *out, const struct info *info)
{
    json_open(out, "kinds", '{');
    for (int i = 0; i < INFO_KINDS; i++)
        json_u64(out, rbwp_kind_name(info_kind[i]), info->kinds[i]);
    out_text(out, "}");
}

static void slots(struct out *out, const struct info *info)
{
    json_open(out, "slot_counts", '[');
    for (uint32_t i = 0; i < info->slots.count; i++) {
        const struct slot_row *row = &info->slots.rows[i];
        if (!row->calls && !row->gpu)
            continue;
        json_open_line(out);
        json_u64(out, "calls", row->calls);
        json_u64(out, "gpu_work", row->gpu);
        json_named_slot_members(out, row->slot, row->name);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void info_json_sub_items(struct out *out, const struct info *info)
{
    json_open(out, "sub_item_counts", '[');
    for (unsigned id = 0; id < RBWP_SUB_ITEMS_MAX; id++) {
        if (!info->sub_items[id])
            continue;
        json_open_line(out);
        json_u64(out, "begins", info->sub_items[id]);
        json_sub_item_members(out, &info->names, id, info->last_ns);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void threads(struct out *out, const struct info *info)
{
    json_open(out, "thread_counts", '[');
    for (uint32_t i = 0; i < info->map.count && i < info->thread_capacity; i++) {
        const struct info_thread *thread = &info->threads[i];
        json_open_line(out);
        json_u64(out, "blocks", thread->blocks);
        json_u64(out, "records", thread->records);
        json_thread_members(out, &info->names, thread->thread_id, thread->first_ns);
        json_i64(out, "first", thread->first_ns);
        json_i64(out, "last", thread->last_ns);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void opaque(struct out *out, const struct info *info)
{
    json_open(out, "opaque_blocks", '[');
    for (unsigned i = 0; i < info->tag_count; i++) {
        json_separate(out);
        out_text(out, "{");
        json_name(out, "tag", info->tags[i].tag, info->tags[i].bytes);
        json_u64(out, "blocks", info->tags[i].blocks);
        json_u64(out, "data_size", info->tags[i].data_bytes);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void info_json_counts(struct out *out, const struct info *info)
{
    json_u64(out, "block_count", info->input->blocks);
    json_u64(out, "opaque_block_count", info->opaque_blocks);
    json_u64(out, "record_count", info->input->records);
    json_u64(out, "data_size", info->data_bytes);
    json_u64(out, "stored_size", info->file_bytes);
    uint64_t archive_bytes = input_archive_bytes(info->input);
    if (archive_bytes)
        json_u64(out, "archive_size", archive_bytes);
    if (info->input->records) {
        json_i64(out, "first", info->first_ns);
        json_i64(out, "last", info->last_ns);
    }
    static void (*const parts[])(struct out *, const struct info *) = {
        kinds, slots, info_json_sub_items, threads, opaque};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        out_text(out, ",\n");
        parts[i](out, info);
    }
    out_text(out, ",\n");
    json_table_counts(out, &info->tables);
}

/* Empty for a file that has none. Times, the last two members, only of ranges with records. */
static void info_json_index_ranges(struct out *out, const struct rbwp_trailer *trailer)
{
    const struct layout timed = trailer_section_of("INDX")->layout;
    const struct layout untimed = {timed.fields, timed.count - 2};
    json_open(out, "index", '[');
    for (uint32_t i = 0; trailer && i < trailer->index_count; i++) {
        const struct rbwp_index_range *range = &trailer->index[i];
        json_elements(out, range->records ? &timed : &untimed, range, sizeof *range, 1);
    }
    out_text(out, "],\n");
}

void info_json(struct out *out, const struct info *info)
{
    out_text(out, "{");
    json_head(out, info->input);
    out_text(out, ",\n");
    if (info->counted) {
        info_json_counts(out, info);
        out_text(out, ",\n");
    }
    if (info->index)
        info_json_index_ranges(out, rbwp_reader_trailer(info->input->reader));
    struct losses losses = losses_total(rbwp_reader_trailer(info->input->reader));
    json_u64(out, "lost_records", losses.records);
    json_u64(out, "lost_records_most", losses.records_most);
    json_u64(out, "refused_calls", losses.refused_calls);
    json_u64(out, "unknown_losses", losses.unknown);
    out_text(out, ",\n");
    json_tail(out, info->input, &info->tables);
    out_text(out, "}");
}
