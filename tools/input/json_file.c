/* SPDX-License-Identifier: Apache-2.0 */
/* File parts as JSON. None of this is in a hurry. */
#include "json_file.h"
#include "format_fields.h"
#include "json_text.h"
#include "recorded_command.h"

#include <string.h>

static void line_feed(struct out *out)
{
    out_text(out, ",\n");
}

void json_head(struct out *out, const struct input *input)
{
    json_name(out, "file", input->path, strlen(input->path));
    line_feed(out);
    json_open(out, "header", '{');
    json_plain(out, "magic", RBWP_MAGIC);
    json_members(out, &file_header_layout, rbwp_reader_header(input->reader));
    out_text(out, "}");
}

/* ---- damage ------------------------------------------------------------- */

static void incomplete_tail(struct out *out, const struct rbwp_reader *reader)
{
    const struct rbwp_problem *problem = NULL, *cut = NULL;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++)
        if (problem->cut_tail)
            cut = problem;
    if (!cut) {
        json_null(out, "incomplete_tail");
        return;
    }
    json_open(out, "incomplete_tail", '{');
    json_u64(out, "offset", cut->error.offset);
    json_u64(out, "bytes", cut->skipped_bytes);
    json_plain(out, "reason", cut->has_block ? "block data cut" : "block header cut");
    if (cut->has_block)
        json_members(out, &block_header_layout, &cut->block);
    out_text(out, "}");
}

static void one_problem(struct out *out, const struct rbwp_problem *problem)
{
    const struct rbwp_error *error = &problem->error;
    json_open_line(out);
    json_known_u64(out, "offset", error->offset != UINT64_MAX, error->offset);
    json_plain(out, "section", error->section);
    json_u64(out, "rule", error->rule);
    json_plain(out, "status", rbwp_status_text(error->status));
    json_name(out, "message", error->text, strlen(error->text));
    json_u64(out, "skipped_bytes", problem->skipped_bytes);
    json_bool(out, "cut_tail", problem->cut_tail);
    out_text(out, "}");
}

static void problems(struct out *out, const struct rbwp_reader *reader,
                     const struct file_tables *tables)
{
    json_u64(out, "problem_count", rbwp_reader_problem_count(reader) + tables->broken);
    line_feed(out);
    json_open(out, "problems", '[');
    const struct rbwp_problem *problem;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++)
        one_problem(out, problem);
    for (uint32_t i = 0; i < tables->problem_count; i++)
        one_problem(out, &(struct rbwp_problem){.error = tables->problems[i]});
    out_text(out, "]");
}

/* True when no rule is broken; a file that just stops is incomplete, not invalid. */
static bool is_valid(const struct rbwp_reader *reader)
{
    const struct rbwp_problem *problem;
    uint64_t cuts = 0;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++)
        cuts += problem->cut_tail;
    return rbwp_reader_problem_count(reader) == cuts;
}

/* ---- trailer ------------------------------------------------------------ */

static void command_line(struct out *out, const struct rbwp_trailer *trailer)
{
    struct recorded_command arguments = recorded_command_of(trailer);
    const char *text;
    size_t bytes;
    json_open(out, "command", '[');
    while (recorded_command_next(&arguments, &text, &bytes)) {
        json_separate(out);
        json_string(out, text, bytes);
    }
    out_text(out, "]");
}

static void section_entries(struct out *out, const struct trailer_section *section,
                            const struct rbwp_trailer *trailer)
{
    json_elements(out, &section->layout, member_pointer(trailer, section->array),
                  section->element_bytes, trailer_entry_count(section, trailer));
}

/* What is no array of entries: the session, and the clock with its samples. */
static void session(struct out *out, const struct rbwp_trailer *trailer)
{
    json_open(out, "session", '{');
    json_name(out, "host", trailer->host, trailer->host_bytes);
    command_line(out, trailer);
    json_name(out, "writer", trailer->writer, trailer->writer_bytes);
    json_members(out, &trailer_section_of("INFO")->layout, trailer);
    out_text(out, "},\n");
    json_open(out, "clock", '{');
    json_members(out, &trailer_section_of("CLCK")->layout, trailer);
    json_open(out, "samples", '[');
    section_entries(out, trailer_section_of("SAMP"), trailer);
    out_text(out, "]}");
}

/* Of the trailer and of the table gpu_device: a file tells of a GPU in one of them. */
static void gpus(struct out *out, const struct rbwp_trailer *trailer,
                 const struct gpu_devices *devices)
{
    const struct trailer_section *section = trailer_section_of("GPUD");
    line_feed(out);
    json_open(out, "gpus", '[');
    if (trailer)
        section_entries(out, section, trailer);
    json_elements(out, &section->layout, devices->list, section->element_bytes, devices->count);
    out_text(out, "]");
}

/* Sections that the format does not name; what is in them only their program knows. */
static void unknown_sections(struct out *out, const struct rbwp_trailer *trailer)
{
    line_feed(out);
    json_open(out, "unknown_sections", '[');
    for (uint32_t i = 0; i < trailer->section_count; i++) {
        json_open_line(out);
        json_name(out, "tag", trailer->sections[i].tag, sizeof trailer->sections[i].tag);
        json_u64(out, "length", trailer->sections[i].bytes);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void trailer_members(struct out *out, const struct rbwp_trailer *trailer)
{
    line_feed(out);
    session(out, trailer);
    for (unsigned i = 0; i < TRAILER_SECTIONS; i++) {
        const struct trailer_section *section = &trailer_sections[i];
        if (!section->key)
            continue;
        line_feed(out);
        json_open(out, section->key, '[');
        section_entries(out, section, trailer);
        out_text(out, "]");
    }
    unknown_sections(out, trailer);
}

void json_tail(struct out *out, const struct input *input, const struct file_tables *tables_seen)
{
    const struct rbwp_reader *reader = input->reader;
    const struct rbwp_tables *tables = rbwp_reader_tables(reader);
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    json_u64(out, "file_size", rbwp_reader_size(reader));
    json_bool(out, "finalized", rbwp_reader_header(reader)->descriptor_offset != 0);
    json_bool(out, "valid", is_valid(reader) && tables_seen->broken == 0);
    line_feed(out);
    incomplete_tail(out, reader);
    line_feed(out);
    json_array(out, "work_items", &work_item_layout, tables->work_items, sizeof *tables->work_items,
               tables->work_item_count);
    line_feed(out);
    json_array(out, "sub_items", &sub_item_layout, tables->sub_items, sizeof *tables->sub_items,
               tables->sub_item_count);
    if (trailer)
        trailer_members(out, trailer);
    if (trailer || tables_seen->gpus.count)
        gpus(out, trailer, &tables_seen->gpus);
    line_feed(out);
    problems(out, reader, tables_seen);
}

void json_table_counts(struct out *out, const struct file_tables *tables_seen)
{
    const struct rbwp_catalog *catalog = tables_seen->catalog;
    json_open(out, "table_counts", '[');
    for (uint32_t i = 0; i < rbwp_catalog_schema_count(catalog); i++) {
        const struct rbwp_schema *schema = rbwp_catalog_schema(catalog, i);
        json_separate(out);
        out_text(out, "{");
        json_u64(out, "table", schema->table);
        json_name(out, "name", schema->name, schema->name_bytes);
        json_u64(out, "row_count", rbwp_catalog_row_count(catalog, i));
        out_text(out, "}");
    }
    out_text(out, "]");
}
