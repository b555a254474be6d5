/* SPDX-License-Identifier: Apache-2.0 */
/* Counting: one pass, a lookup or two for each record. */
#include "info.h"

#include "format_fields.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

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
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        info->kinds[record.kind & (INFO_KINDS - 1)]++;
        if (record.kind == RBWP_COARSE_BEGIN)
            slot_rows_find(&info->slots, record.slot, record.time_ns)->calls++;
        else if (record.kind == RBWP_FINE_BEGIN) {
            info->sub_items[record.sub_item]++;
            info->last_sub_item =
                record.sub_item > info->last_sub_item ? record.sub_item : info->last_sub_item;
        } else if (record.kind == RBWP_GPU_WORK)
            slot_rows_find(&info->slots, record.slot, record.time_ns)->gpu++;
    }
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

/* The rows of an array that are wanted; false without memory. */
static bool info_choose(struct result_rows *rows, const void *first, size_t stride, uint32_t count,
                        bool (*wanted)(const void *row))
{
    uint32_t many = 0;
    for (uint32_t i = 0; i < count; i++)
        many += wanted((const char *)first + i * stride);
    *rows = result_ordered(first, stride, many);
    rows->count = 0;
    for (uint32_t i = 0; rows->order && i < count; i++)
        if (wanted(rows->first + i * stride))
            rows->order[rows->count++] = i;
    return rows->order;
}

static bool slot_is_used(const void *row)
{
    const struct slot_row *slot = row;
    return slot->calls || slot->gpu;
}

static bool slot_is_known(const void *row)
{
    return slot_is_used(row) || ((const struct slot_row *)row)->name;
}

static bool sub_item_is_used(const void *row)
{
    return *(const uint64_t *)row;
}

static bool info_finish(struct info *info)
{
    const struct slot_rows *slots = &info->slots;
    info->file = file_shown_of(info->input, &info->tables, info->opaque_blocks);
    info->losses = losses_total(info->file.trailer);
    return info_choose(&info->used_slots, slots->rows, sizeof *slots->rows, slots->count,
                       slot_is_used) &&
           info_choose(&info->known_slots, slots->rows, sizeof *slots->rows, slots->count,
                       slot_is_known) &&
           info_choose(&info->used_sub_items, info->sub_items, sizeof *info->sub_items,
                       info->last_sub_item + 1, sub_item_is_used);
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
    if (info_finish(info))
        return true;
    message("out of memory");
    info_free(info);
    return false;
}

void info_free(struct info *info)
{
    free(info->sub_items);
    free(info->threads);
    free(info->used_slots.order);
    free(info->known_slots.order);
    free(info->used_sub_items.order);
    file_tables_end(&info->tables);
    thread_map_free(&info->map);
    slot_rows_free(&info->slots);
    names_free(&info->names);
}

/* ---- columns -------------------------------------------------------------------------------- */

static struct result_cell name_cell(const struct name *name)
{
    return name ? result_bytes((struct trace_text){name->text, name->bytes}) : result_nothing();
}

#define KIND(kind) RESULT_PLAIN(#kind, RESULT_COUNT, struct info, kinds[RBWP_##kind])
const struct result_column info_kind_columns[] = {KIND(COARSE_BEGIN), KIND(COARSE_END),
                                                  KIND(FINE_BEGIN),   KIND(FINE_END),
                                                  KIND(GPU_WORK),     RESULT_LAST};

#define SLOT(field) RESULT_FIELD(struct slot_row, field)
RESULT_MAKES(slot_name, slot_row, name_cell(row->name))

static void show_slot(struct out *out, const struct result_at *at)
{
    const struct slot_row *slot = at->row;
    out_text(out, ((const struct info *)at->all)->counted ? "  " : " ");
    (void)info_show_kind(out, slot->name);
    info_show_name(out, slot->name);
}

static const struct result_column slot_columns[] = {
    {"calls", NULL, 13, RESULT_ID, SLOT(calls), .after = " calls"},
    {"gpu_work", NULL, 10, RESULT_ID, SLOT(gpu), .after = " GPU"},
    {"slot", NULL, 7, RESULT_ID, SLOT(slot)},
    {"name", "name", 0, RESULT_TEXT, RESULT_MADE(slot_name, 0), .nullable = true,
     .show = show_slot},
    RESULT_LAST};
const struct result_table info_slots_table = {
    "slot_counts", NULL, slot_columns, "slot,calls,gpu_work,name", NULL, 0};

enum { ITEM_ID, ITEM_TYPE, ITEM_KIND, ITEM_NAME };

/* The number of a row is that of the sub-item. */
static struct result_cell sub_item_made(const struct result_at *at, int what)
{
    const struct info *info = at->all;
    const struct name *name = names_find(&info->names.sub_items, at->number, info->last_ns);
    if (what == ITEM_ID)
        return result_u64(at->number);
    if (what == ITEM_TYPE)
        return name ? result_word(rbwp_sub_item_type_name(name->type)) : result_nothing();
    if (what == ITEM_KIND)
        return name && name->kind_bytes
                   ? result_bytes((struct trace_text){name->kind, name->kind_bytes})
                   : result_nothing();
    return name_cell(name);
}

static const struct result_column info_sub_item_columns[] = {
    {"begins", NULL, 0, RESULT_COUNT, .bytes = sizeof(uint64_t)},
    RESULT_PLAIN_MADE("sub_item", RESULT_ID, sub_item_made, ITEM_ID),
    {"sub_item_type", NULL, 0, RESULT_WORD, RESULT_MADE(sub_item_made, ITEM_TYPE),
     .nullable = true},
    {"sub_item_kind", NULL, 0, RESULT_TEXT, RESULT_MADE(sub_item_made, ITEM_KIND),
     .optional = true},
    {"name", NULL, 0, RESULT_TEXT, RESULT_MADE(sub_item_made, ITEM_NAME), .nullable = true},
    RESULT_LAST};
static const struct result_table info_sub_items_table = {
    "sub_item_counts", NULL, info_sub_item_columns, "", NULL, 0};

#define THREAD(field) RESULT_FIELD(struct info_thread, field)
static const struct name *name_of_thread(const struct result_at *at)
{
    const struct info_thread *thread = at->row;
    return names_find(&((const struct info *)at->all)->names.threads, thread->thread_id,
                      thread->first_ns);
}

RESULT_MAKES(thread_name, info_thread, name_cell(name_of_thread(at)))

static void show_thread(struct out *out, const struct result_at *at)
{
    out_text(out, "  ");
    info_show_name(out, name_of_thread(at));
}

static const struct result_column thread_columns[] = {
    {"blocks", NULL, 7, RESULT_ID, THREAD(blocks), .after = " blocks"},
    {"records", NULL, 13, RESULT_ID, THREAD(records), .after = " records"},
    {"thread_id", NULL, 22, RESULT_ID, THREAD(thread_id)},
    {"thread", "thread", 0, RESULT_TEXT, RESULT_MADE(thread_name, 0), .nullable = true,
     .show = show_thread},
    {"first", NULL, 0, RESULT_TIME, THREAD(first_ns)},
    {"last", NULL, 0, RESULT_TIME, THREAD(last_ns)},
    RESULT_LAST};
const struct result_table info_threads_table = {
    "thread_counts",   NULL, thread_columns, "thread_id,records,blocks,thread", NULL,
    INFO_THREADS_SHOWN};

RESULT_MAKES(tag_text, info_tag, result_bytes((struct trace_text){row->tag, row->bytes}))
static const struct result_column tag_columns[] = {
    RESULT_PLAIN_MADE("tag", RESULT_TEXT, tag_text, 0),
    RESULT_PLAIN("blocks", RESULT_COUNT, struct info_tag, blocks),
    RESULT_PLAIN("data_size", RESULT_COUNT, struct info_tag, data_bytes), RESULT_LAST};
static const struct result_table tags_table = {"opaque_blocks", NULL, tag_columns, "", NULL, 0};

static struct result_rows tag_rows(const struct result_at *at)
{
    const struct info *info = at->row;
    return result_array(info->tags, sizeof *info->tags, info->tag_count);
}

/* Threads as counted in the blocks. */
struct result_rows info_thread_rows(const struct info *info)
{
    const uint32_t room = info->thread_capacity;
    return result_array(info->threads, sizeof *info->threads,
                        info->map.count < room ? info->map.count : room);
}

static struct result_rows thread_rows(const struct result_at *at)
{
    return info_thread_rows(at->row);
}

#define INFO(field) RESULT_FIELD(struct info, field)
RESULT_MAKES(archive_bytes, info,
             input_archive_bytes(row->input) ? result_u64(input_archive_bytes(row->input))
                                             : result_nothing())
RESULT_MAKES(info_time, info,
             row->file.records ? result_i64(what ? row->last_ns : row->first_ns) : result_nothing())

static const struct result_column count_columns[] = {
    {NULL, NULL, 0, RESULT_PART, INFO(file), .part = file_count_columns},
    RESULT_PLAIN("data_size", RESULT_COUNT, struct info, data_bytes),
    RESULT_PLAIN("stored_size", RESULT_COUNT, struct info, file_bytes),
    {"archive_size", NULL, 0, RESULT_COUNT, RESULT_MADE(archive_bytes, 0), .optional = true},
    {"first", NULL, 0, RESULT_TIME, RESULT_MADE(info_time, 0), .optional = true},
    {"last", NULL, 0, RESULT_TIME, RESULT_MADE(info_time, 1), .optional = true},
    {"kinds", NULL, 0, RESULT_PART, .part = info_kind_columns, .new_line = true},
    {"slot_counts", NULL, 0, RESULT_LIST, .list = &info_slots_table,
     RESULT_ROWS(struct info, used_slots), .indent = true},
    {"sub_item_counts", NULL, 0, RESULT_LIST, .list = &info_sub_items_table,
     RESULT_ROWS(struct info, used_sub_items), .indent = true},
    {"thread_counts", NULL, 0, RESULT_LIST, .list = &info_threads_table, .rows = thread_rows,
     .indent = true},
    {"opaque_blocks", NULL, 0, RESULT_LIST, .list = &tags_table, .rows = tag_rows, .one_line = true,
     .new_line = true},
    {NULL, NULL, 0, RESULT_PART, INFO(file), .part = file_table_columns},
    RESULT_LAST};

/* Times, the last two fields, only of ranges with records. */
static struct result_column range_fields[RESULT_FIELDS_MAX], range_times[RESULT_FIELDS_MAX];

static struct result_rows timed_range(const struct result_at *at)
{
    const struct rbwp_index_range *range = at->row;
    return result_part_row(range->records ? at->row : NULL);
}

static const struct result_column range_columns[] = {
    {NULL, NULL, 0, RESULT_PART, .part = range_fields},
    {NULL, NULL, 0, RESULT_PART_AT, .part = range_times, .rows = timed_range},
    RESULT_LAST};
static const struct result_table index_table = {"index", NULL, range_columns, "", NULL, 0};

static struct result_rows range_rows(const struct result_at *at)
{
    const struct rbwp_trailer *trailer = ((const struct info *)at->row)->file.trailer;
    if (!trailer)
        return result_array(NULL, 0, 0);
    return result_array(trailer->index, sizeof *trailer->index, trailer->index_count);
}

static const struct result_column index_columns[] = {
    {"index", NULL, 0, RESULT_LIST, .list = &index_table, .rows = range_rows, .indent = true},
    RESULT_LAST};

static struct result_rows if_counted(const struct result_at *at)
{
    return result_part_row(((const struct info *)at->row)->counted ? at->row : NULL);
}

static struct result_rows if_indexed(const struct result_at *at)
{
    return result_part_row(((const struct info *)at->row)->index ? at->row : NULL);
}

#define LOST(key, field) RESULT_PLAIN(key, RESULT_COUNT, struct info, losses.field)
static const struct result_column info_columns[] = {
    {NULL, NULL, 0, RESULT_PART, INFO(file), .part = file_head_columns},
    {NULL, NULL, 0, RESULT_PART_AT, .part = count_columns, .rows = if_counted},
    {NULL, NULL, 0, RESULT_PART_AT, .part = index_columns, .rows = if_indexed},
    {"lost_records", NULL, 0, RESULT_COUNT, INFO(losses.records), .new_line = true},
    LOST("lost_records_most", records_most),
    LOST("refused_calls", refused_calls),
    LOST("unknown_losses", unknown),
    {NULL, NULL, 0, RESULT_PART, INFO(file), .part = file_tail_columns},
    RESULT_LAST};
static const struct result_table files_table = {"files", NULL, info_columns, "", NULL, 0};

const struct result_column *info_document(void)
{
    static const struct result_column files[] = {{"files", NULL, 0, RESULT_LIST,
                                                  .list = &files_table, .only = "file",
                                                  .rows = result_itself},
                                                 RESULT_LAST};
    const struct layout ranges = trailer_section_of("INDX")->layout;
    file_columns_fill();
    result_fields(&(struct layout){ranges.fields, ranges.count - 2}, range_fields);
    result_fields(&(struct layout){ranges.fields + ranges.count - 2, 2}, range_times);
    return files;
}
