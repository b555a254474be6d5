/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp info --json: the keys of the dump, without its blocks, and the counts. */
#include "info.h"
#include "format_fields.h"
#include "json_file.h"
#include "json_record.h"
#include "json_text.h"

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
