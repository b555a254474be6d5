/* SPDX-License-Identifier: Apache-2.0 */
/* format_fields.c - see format_fields.h. Offsets in the file are those of SPEC.md. */
#include "format_fields.h"

#include "buffer.h"
#include "trailer.h"

#include <string.h>

/* ---- header, blocks, descriptor tables ------------------------------------------------------ */

static const struct field file_header_fields[] = {
    FIELD(rbwp_file_header, version, 4, "version"),
    FIELD(rbwp_file_header, flags, 6, "flags"),
    FIELD(rbwp_file_header, node, 8, "node_id"),
    FIELD(rbwp_file_header, zero_time_ns, 12, "zero_time"),
    FIELD(rbwp_file_header, work_items, 20, "work_item_count"),
    FIELD(rbwp_file_header, sub_items, 24, "sub_item_count"),
    FIELD(rbwp_file_header, descriptor_offset, 28, "descriptor_offset"),
};
const struct layout file_header_layout = LAYOUT(file_header_fields);

static const struct field block_header_fields[] = {
    FIELD(rbwp_block_header, thread_id, 0, "thread_id"),
    FIELD(rbwp_block_header, sequence, 8, "sequence"),
    FIELD(rbwp_block_header, records, 12, "record_count"),
    FIELD(rbwp_block_header, base_time_ns, 16, "base_timestamp"),
    FIELD(rbwp_block_header, data_bytes, 24, "data_size"),
    FIELD(rbwp_block_header, stored_bytes, 28, "compressed_size"),
};
const struct layout block_header_layout = LAYOUT(block_header_fields);

static const struct field work_item_fields[] = {
    FIELD(rbwp_work_item_name, slot, 0, "slot"),
    FIELD_TEXT_OF(rbwp_work_item_name, name, 2, "name"),
};
const struct layout work_item_layout = LAYOUT(work_item_fields);

static const struct field sub_item_fields[] = {
    FIELD(rbwp_sub_item_name, id, 0, "id"),
    FIELD_NAMED(rbwp_sub_item_name, type, 2, "type", rbwp_sub_item_type_name),
    FIELD_TEXT_OF(rbwp_sub_item_name, name, 3, "name"),
};
const struct layout sub_item_layout = LAYOUT(sub_item_fields);

/* ---- the trailer ---------------------------------------------------------------------------- */

static const char *clock_kind_name(unsigned kind)
{
    static const char *const names[] = {"unknown", "tsc", "monotonic", "user"};
    return names[kind < sizeof names / sizeof names[0] ? kind : 0];
}

static const struct field info_fields[] = {
    FIELD(rbwp_trailer, process_id, 0, "process_id"),
    FIELD(rbwp_trailer, nodes, 8, "nodes"),
    FIELD(rbwp_trailer, level, 12, "level"),
    FIELD(rbwp_trailer, start_ns, 16, "start"),
    FIELD(rbwp_trailer, stop_ns, 24, "stop"),
    FIELD(rbwp_trailer, cap_bytes, 32, "cap_bytes"),
    FIELD(rbwp_trailer, peak_bytes, 40, "peak_bytes"),
    FIELD(rbwp_trailer, discarded, 48, "discarded"),
};

static const struct field clock_fields[] = {
    FIELD_NAMED(rbwp_trailer, clock_kind, 0, "kind", clock_kind_name),
    FIELD(rbwp_trailer, clock_flags, 4, "flags"),
    FIELD(rbwp_trailer, clock_hz, 8, "hz"),
    FIELD(rbwp_trailer, clock_error_ns, 16, "error_ns"),
};

static const struct field tables_fields[] = {
    FIELD(trailer, tables.offset, 0, NULL),      FIELD(trailer, tables.bytes, 8, NULL),
    FIELD(trailer, tables.work_items, 16, NULL), FIELD(trailer, tables.sub_items, 20, NULL),
    FIELD(trailer, tables.crc32c, 24, NULL),
};

static const struct field thread_fields[] = {
    FIELD(rbwp_thread_info, thread_id, 0, "thread_id"),
    FIELD_TEXT_OF(rbwp_thread_info, name, 40, "name"),
    FIELD(rbwp_thread_info, os_id, 8, "os_id"),
    FIELD(rbwp_thread_info, attached_ns, 16, "attached"),
    FIELD(rbwp_thread_info, detached_ns, 24, "detached"),
    FIELD(rbwp_thread_info, records, 32, "record_count"),
};

static const struct field loss_fields[] = {
    FIELD(rbwp_loss, thread_id, 0, "thread_id"),
    FIELD_NAMED(rbwp_loss, cause, 32, "cause", rbwp_loss_cause_name),
    FIELD(rbwp_loss, count, 8, "count"),
    FIELD(rbwp_loss, first_ns, 16, "first"),
    FIELD(rbwp_loss, last_ns, 24, "last"),
};

static const struct field sample_fields[] = {
    FIELD(rbwp_clock_sample, ticks, 0, "ticks"),
    FIELD(rbwp_clock_sample, time_ns, 8, "ts"),
    FIELD(rbwp_clock_sample, monotonic_ns, 16, "monotonic"),
    FIELD(rbwp_clock_sample, realtime_ns, 24, "realtime"),
};

static const struct field slot_use_fields[] = {
    FIELD(rbwp_slot_use, slot, 16, "slot"),
    FIELD_TEXT_OF(rbwp_slot_use, name, 18, "name"),
    FIELD(rbwp_slot_use, from_ns, 0, "from"),
    FIELD(rbwp_slot_use, to_ns, 8, "to"),
};

static const struct field gpu_fields[] = {
    FIELD(rbwp_gpu_info, proc_id, 0, "proc_id"),
    FIELD_TEXT_OF(rbwp_gpu_info, name, 32, "name"),
    FIELD(rbwp_gpu_info, api, 8, "api"),
    FIELD(rbwp_gpu_info, rounds, 12, "bias_rounds"),
    FIELD(rbwp_gpu_info, bias_ns, 16, "bias"),
    FIELD(rbwp_gpu_info, spread_ns, 24, "bias_spread"),
    FIELD(rbwp_gpu_info, idle_rounds, 40, "idle_rounds"),
    FIELD(rbwp_gpu_info, idle_bias_ns, 48, "idle_bias"),
    FIELD(rbwp_gpu_info, idle_spread_ns, 56, "idle_spread"),
};

static const struct field left_fields[] = {
    FIELD_NAMED(rbwp_left, kind, 0, "kind", rbwp_left_kind_name),
    FIELD(rbwp_left, entries, 8, "entries"),
    FIELD(rbwp_left, records, 16, "records"),
};

static const struct field process_fields[] = {
    FIELD(rbwp_process_info, boot_id, 0, "boot_id"),
    FIELD(rbwp_process_info, start_ns, 16, "start_since_boot"),
    FIELD_TEXT_OF(rbwp_process_info, title, 24, "name"),
};

static const struct field job_fields[] = {
    FIELD_NAMED(rbwp_job_fact, what, 0, "what", rbwp_job_what_name),
    FIELD(rbwp_job_fact, number, 8, "number"),
    FIELD_TEXT_OF(rbwp_job_fact, text, 4, "name"),
};

static const struct field node_clock_fields[] = {
    FIELD(rbwp_node_clock, time_ns, 0, "time"),
    FIELD(rbwp_node_clock, offset_ns, 8, "offset"),
    FIELD(rbwp_node_clock, bound_ns, 16, "bound"),
    FIELD(rbwp_node_clock, reference, 24, "reference"),
};

static const struct field kept_fields[] = {
    FIELD(rbwp_kept, from_ns, 0, "from"),
    FIELD(rbwp_kept, dropped_records, 8, "dropped_records"),
    FIELD(rbwp_kept, dropped_rows, 16, "dropped_rows"),
    FIELD(rbwp_kept, dropped_bytes, 24, "dropped_bytes"),
    FIELD(rbwp_kept, keep_bytes, 32, "keep_bytes"),
    FIELD(rbwp_kept, keep_ns, 40, "keep_ns"),
    FIELD_NAMED(rbwp_kept, why, 48, "why", rbwp_kept_why_name),
    FIELD(rbwp_kept, part, 52, "part"),
    FIELD_TEXT_OF(rbwp_kept, text, 56, "name"),
};

static const struct field kind_fields[] = {
    FIELD(rbwp_sub_item_kind, id, 0, "id"),
    FIELD(rbwp_sub_item_kind, flags, 4, "flags"),
    FIELD_TEXT_OF(rbwp_sub_item_kind, name, 2, "name"),
};

/* Thread and sum are not shown; times, which come last, where there are records. */
static const struct field range_fields[] = {
    FIELD(rbwp_index_range, crc32c, 52, NULL),      FIELD(rbwp_index_range, thread_id, 40, NULL),
    FIELD(rbwp_index_range, offset, 0, "offset"),   FIELD(rbwp_index_range, bytes, 8, "bytes"),
    FIELD(rbwp_index_range, blocks, 48, "blocks"),  FIELD(rbwp_index_range, records, 16, "records"),
    FIELD(rbwp_index_range, first_ns, 24, "first"), FIELD(rbwp_index_range, last_ns, 32, "last"),
};

static const struct field table_range_fields[] = {
    FIELD(rbwp_table_range, offset, 0, NULL),       FIELD(rbwp_table_range, bytes, 8, NULL),
    FIELD(rbwp_table_range, block_bytes, 16, NULL), FIELD(rbwp_table_range, table, 24, NULL),
    FIELD(rbwp_table_range, blocks, 28, NULL),      FIELD(rbwp_table_range, rows, 32, NULL),
    FIELD(rbwp_table_range, first_row, 40, NULL),   FIELD(rbwp_table_range, last_row, 48, NULL),
    FIELD(rbwp_table_range, first_ns, 56, NULL),    FIELD(rbwp_table_range, last_ns, 64, NULL),
    FIELD(rbwp_table_range, thread_id, 72, NULL),
};

static const struct field mark_fields[] = {
    FIELD(rbwp_mark, offset, 0, NULL),        FIELD(rbwp_mark, crc32c, 8, NULL),
    FIELD(rbwp_mark, open_count, 12, NULL),   FIELD(rbwp_mark, gpu_works, 16, NULL),
    FIELD(rbwp_mark, gpu_first_ns, 24, NULL), FIELD(rbwp_mark, gpu_last_ns, 32, NULL),
};

static const struct field open_item_fields[] = {
    FIELD(rbwp_open_item, thread_id, 0, NULL),
    FIELD(rbwp_open_item, begin_ns, 8, NULL),
    FIELD(rbwp_open_item, id, 16, NULL),
    FIELD(rbwp_open_item, kind, 18, NULL),
};

static const struct field first_block_fields[] = {
    FIELD(rbwp_first_block, thread_id, 0, NULL),
    FIELD(rbwp_first_block, offset, 8, NULL),
    FIELD(rbwp_first_block, first_ns, 16, NULL),
    FIELD(rbwp_first_block, last_ns, 24, NULL),
};

#define TRAILER_AT(member) offsetof(struct rbwp_trailer, member)
#define FIXED(tag, bytes, fields)                                                                  \
    {                                                                                              \
        tag, SECTION_FIXED, bytes, bytes, 0, 0, 0, LAYOUT(fields), NULL                            \
    }
#define TEXT(tag, member)                                                                          \
    {                                                                                              \
        tag, SECTION_TEXT, 0, 0, 1, TRAILER_AT(member), TRAILER_AT(member##_bytes), {NULL, 0},     \
            NULL                                                                                   \
    }
#define TABLE(tag, bytes, least, array, count, element, fields, key)                               \
    {                                                                                              \
        tag, SECTION_TABLE, bytes, least, sizeof(struct element), TRAILER_AT(array),               \
            TRAILER_AT(count), LAYOUT(fields), key                                                 \
    }
const struct trailer_section trailer_sections[TRAILER_SECTIONS] = {
    FIXED("INFO", 56, info_fields),
    FIXED("CLCK", 24, clock_fields),
    FIXED("TABL", 32, tables_fields),
    TEXT("HOST", host),
    TEXT("CMDL", command),
    TEXT("WRIT", writer),
    TABLE("THRD", 48, 48, threads, thread_count, rbwp_thread_info, thread_fields, "threads"),
    TABLE("LOSS", 40, 40, losses, loss_count, rbwp_loss, loss_fields, "losses"),
    TABLE("SAMP", 32, 32, samples, sample_count, rbwp_clock_sample, sample_fields, NULL),
    TABLE("SLOT", 24, 24, slot_uses, slot_use_count, rbwp_slot_use, slot_use_fields, "slot_uses"),
    TABLE("GPUD", 64, 40, gpus, gpu_count, rbwp_gpu_info, gpu_fields, NULL),
    TABLE("LEFT", 24, 24, left, left_count, rbwp_left, left_fields, "left_out"),
    TABLE("PROC", 32, 32, processes, process_count, rbwp_process_info, process_fields, "processes"),
    TABLE("JOBM", 16, 16, job_facts, job_fact_count, rbwp_job_fact, job_fields, "job"),
    TABLE("NCLK", 32, 32, node_clocks, node_clock_count, rbwp_node_clock, node_clock_fields,
          "node_clocks"),
    TABLE("KEPT", 64, 64, kept, kept_count, rbwp_kept, kept_fields, "kept"),
    TABLE("KIND", 16, 16, sub_item_kinds, sub_item_kind_count, rbwp_sub_item_kind, kind_fields,
          "sub_item_kinds"),
    TABLE("INDX", 56, 56, index, index_count, rbwp_index_range, range_fields, NULL),
    TABLE("TIDX", 80, 80, table_ranges, table_range_count, rbwp_table_range, table_range_fields,
          NULL),
    TABLE("MARK", 40, 40, marks, mark_count, rbwp_mark, mark_fields, NULL),
    TABLE("OPEN", 24, 24, open_items, open_item_count, rbwp_open_item, open_item_fields, NULL),
    TABLE("FRST", 32, 32, first_blocks, first_block_count, rbwp_first_block, first_block_fields,
          NULL),
};

const struct trailer_section *trailer_section_of(const void *tag)
{
    for (unsigned i = 0; i < TRAILER_SECTIONS; i++)
        if (memcmp(tag, trailer_sections[i].tag, 4) == 0)
            return &trailer_sections[i];
    return NULL;
}

uint32_t trailer_entry_count(const struct trailer_section *section,
                             const struct rbwp_trailer *trailer)
{
    uint32_t count;
    memcpy(&count, (const char *)trailer + section->count, sizeof count);
    return count;
}

bool trailer_entries_equal(const char *tag, const void *a, const void *b)
{
    return fields_equal(&trailer_section_of(tag)->layout, a, b);
}

/* ---- encoder and decoder --------------------------------------------------------------------- */

/* Members are moved by memcpy, since their types differ. */

/* From the struct to the file or back: for numbers both ways are the same. */
static void field_copy(const struct field *field, void *to, const void *from)
{
    if (field->type == FIELD_BYTES)
        memcpy(to, from, field->bytes);
    else
        copy_le(to, from, field->bytes);
}

void fields_put(const struct layout *layout, const void *from, uint8_t *to)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        field_copy(field, to + field->at, (const char *)from + field->member);
    }
}

void fields_take(const struct layout *layout, const uint8_t *from, void *to)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        field_copy(field, (char *)to + field->member, from + field->at);
    }
}

bool fields_equal(const struct layout *layout, const void *a, const void *b)
{
    bool equal = true;
    for (size_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        equal = equal && memcmp((const char *)a + field->member, (const char *)b + field->member,
                                field->bytes) == 0;
    }
    return equal;
}

const void *member_pointer(const void *from, size_t member)
{
    const void *value;
    memcpy(&value, (const char *)from + member, sizeof value);
    return value;
}

void member_set_pointer(void *to, size_t member, const void *value)
{
    memcpy((char *)to + member, &value, sizeof value);
}

/* A number of at most 64 bits, sign-extended if it is signed. */
static uint64_t field_number(const struct field *field, const void *from)
{
    uint8_t bytes[8] = {0};
    copy_le(bytes, (const char *)from + field->member, field->bytes);
    return load_le64(bytes);
}

const struct field *fields_text(const struct layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        if (layout->fields[i].type == FIELD_TEXT)
            return &layout->fields[i];
    return NULL;
}

void field_put_text(const struct field *text, const void *from, struct buffer *buffer)
{
    buffer_append(buffer, member_pointer(from, text->text), field_number(text, from));
}

bool field_take_text(const struct field *text, struct cursor *cursor, void *to)
{
    const uint8_t *bytes = cursor_take(cursor, field_number(text, to));
    member_set_pointer(to, text->text, bytes);
    return bytes;
}
