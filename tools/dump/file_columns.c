/* SPDX-License-Identifier: Apache-2.0 */
/* File parts as JSON and CSV. None of this is in a hurry. */
#include "file_columns.h"

#include "format_fields.h"
#include "json_text.h"
#include "recorded_command.h"

/* ---- what is shown -------------------------------------------------------------------------- */

struct file_shown file_shown_of(const struct input *input, const struct file_tables *tables,
                                uint64_t opaque_blocks)
{
    const struct rbwp_reader *reader = input->reader;
    const struct rbwp_problem *problem;
    struct file_shown file = {.input = input,
                              .tables = tables,
                              .header = rbwp_reader_header(reader),
                              .names = rbwp_reader_tables(reader),
                              .trailer = rbwp_reader_trailer(reader),
                              .bytes = rbwp_reader_size(reader),
                              .blocks = input->blocks,
                              .opaque_blocks = opaque_blocks,
                              .records = input->records,
                              .problems = rbwp_reader_problem_count(reader) + tables->broken};
    uint64_t cuts = 0;
    for (; (problem = rbwp_reader_problem(reader, file.kept_problems)); file.kept_problems++) {
        cuts += problem->cut_tail;
        file.cut = problem->cut_tail ? problem : file.cut;
    }
    file.finalised = file.header->descriptor_offset != 0;
    file.valid = file.problems == cuts; /* a file that just stops is incomplete, not invalid */
    return file;
}

/* Of all columns of fields, in memory that is filled once. */
static struct result_column header_fields[RESULT_FIELDS_MAX], work_item_fields[RESULT_FIELDS_MAX],
    sub_item_fields[RESULT_FIELDS_MAX], section_fields[TRAILER_SECTIONS][RESULT_FIELDS_MAX];
struct result_column file_block_columns[RESULT_FIELDS_MAX];
static struct result_table section_tables[TRAILER_SECTIONS];

static const struct result_column *file_section_columns(const char *tag)
{
    return section_fields[trailer_section_of(tag) - trailer_sections];
}

/* ---- head ----------------------------------------------------------------------------------- */

#define SHOWN(field) RESULT_FIELD(struct file_shown, field)
RESULT_MAKES(file_magic, rbwp_file_header, result_word(RBWP_MAGIC))
RESULT_MAKES(file_path, file_shown, result_word(row->input->path))

static const struct result_column header_columns[] = {
    RESULT_PLAIN_MADE("magic", RESULT_WORD, file_magic, 0),
    {NULL, NULL, 0, RESULT_PART, .part = header_fields},
    RESULT_LAST};
const struct result_column file_head_columns[] = {
    RESULT_PLAIN_MADE("file", RESULT_TEXT, file_path, 0),
    {"header", NULL, 0, RESULT_PART_AT, SHOWN(header), .part = header_columns, .new_line = true},
    RESULT_LAST};

const struct result_column file_count_columns[] = {
    {"block_count", NULL, 0, RESULT_COUNT, SHOWN(blocks), .new_line = true},
    {"opaque_block_count", NULL, 0, RESULT_COUNT, SHOWN(opaque_blocks)},
    {"record_count", NULL, 0, RESULT_COUNT, SHOWN(records)},
    RESULT_LAST};

/* ---- tables --------------------------------------------------------------------------------- */

static const void *schema_row(const void *catalog, uint32_t number)
{
    return rbwp_catalog_schema(catalog, number);
}

struct result_rows file_table_rows(const struct file_shown *file)
{
    const struct rbwp_catalog *catalog = file->tables->catalog;
    return (struct result_rows){(const char *)catalog, .count = rbwp_catalog_schema_count(catalog),
                                .row = schema_row};
}

static struct result_cell counted_rows(const struct result_at *at, int what)
{
    const struct file_shown *file = at->parent;
    (void)what;
    return result_u64(rbwp_catalog_row_count(file->tables->catalog, at->number));
}

#define SCHEMA(field) RESULT_FIELD(struct rbwp_schema, field)
static const struct result_column counted_columns[] = {
    {"table", NULL, 7, RESULT_ID, SCHEMA(table)},
    {"name", NULL, 0, RESULT_NAME, RESULT_NAME_OF(struct rbwp_schema, name)},
    {"row_count", NULL, 13, RESULT_ID, RESULT_MADE(counted_rows, 0), .after = " rows of "},
    {NULL, "columns", 1, RESULT_ID, SCHEMA(column_count), .after = " columns"},
    RESULT_LAST};
const struct result_table file_counted_tables = {
    "table_counts", NULL, counted_columns, "table,row_count,columns,name", NULL, 64};

static struct result_rows table_rows(const struct result_at *at)
{
    return file_table_rows(at->row);
}

const struct result_column file_table_columns[] = {
    {"table_counts", NULL, 0, RESULT_LIST, .list = &file_counted_tables, .rows = table_rows,
     .one_line = true, .new_line = true},
    RESULT_LAST};

/* ---- damage --------------------------------------------------------------------------------- */

enum { PROBLEM_OFFSET, PROBLEM_STATUS, PROBLEM_REASON, PROBLEM_MESSAGE };

static struct result_cell problem_made(const struct result_at *at, int what)
{
    const struct rbwp_problem *problem = at->row;
    if (what == PROBLEM_STATUS)
        return result_word(rbwp_status_text(problem->error.status));
    if (what == PROBLEM_REASON)
        return result_word(problem->has_block ? "block data cut" : "block header cut");
    if (what == PROBLEM_MESSAGE)
        return result_word(problem->error.text);
    return problem->error.offset == UINT64_MAX ? result_nothing()
                                               : result_u64(problem->error.offset);
}

static struct result_rows cut_block(const struct result_at *at)
{
    const struct rbwp_problem *cut = at->row;
    return result_part_row(cut->has_block ? &cut->block : NULL);
}

static const struct result_column cut_columns[] = {
    RESULT_PLAIN("offset", RESULT_COUNT, struct rbwp_problem, error.offset),
    RESULT_PLAIN("bytes", RESULT_COUNT, struct rbwp_problem, skipped_bytes),
    RESULT_PLAIN_MADE("reason", RESULT_WORD, problem_made, PROBLEM_REASON),
    {NULL, NULL, 0, RESULT_PART_AT, .part = file_block_columns, .rows = cut_block},
    RESULT_LAST};

static const struct result_column problem_columns[] = {
    {"offset", NULL, 0, RESULT_COUNT, RESULT_MADE(problem_made, PROBLEM_OFFSET), .nullable = true},
    RESULT_PLAIN("section", RESULT_STRING, struct rbwp_problem, error.section),
    RESULT_PLAIN("rule", RESULT_ID, struct rbwp_problem, error.rule),
    RESULT_PLAIN_MADE("status", RESULT_WORD, problem_made, PROBLEM_STATUS),
    RESULT_PLAIN_MADE("message", RESULT_TEXT, problem_made, PROBLEM_MESSAGE),
    RESULT_PLAIN("skipped_bytes", RESULT_COUNT, struct rbwp_problem, skipped_bytes),
    RESULT_PLAIN("cut_tail", RESULT_BOOL, struct rbwp_problem, cut_tail),
    RESULT_LAST};
static const struct result_table problems_table = {"problems", NULL, problem_columns, "", NULL, 0};

/* The reader's, then those of tables. */
static const void *problem_row(const void *shown, uint32_t number)
{
    const struct file_shown *file = shown;
    return number < file->kept_problems ? rbwp_reader_problem(file->input->reader, number)
                                        : &file->tables->problems[number - file->kept_problems];
}

static struct result_rows problem_rows(const struct result_at *at)
{
    const struct file_shown *file = at->row;
    return (struct result_rows){at->row, .count = file->kept_problems + file->tables->problem_count,
                                .row = problem_row};
}

/* ---- trailer -------------------------------------------------------------------------------- */

static void put_command(struct out *out, const struct result_at *at)
{
    struct recorded_command arguments = recorded_command_of(at->row);
    const char *text;
    size_t bytes;
    json_open(out, "command", '[');
    while (recorded_command_next(&arguments, &text, &bytes)) {
        json_separate(out);
        json_string(out, text, bytes);
    }
    out_text(out, "]");
}

#define TRAILER_NAME(key, field)                                                                   \
    {                                                                                              \
        key, NULL, 0, RESULT_NAME, RESULT_NAME_OF(struct rbwp_trailer, field)                      \
    }
static struct result_column session_columns[] = {
    TRAILER_NAME("host", host),
    {"command", NULL, 0, RESULT_OWN, .put = put_command,
     .form = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    TRAILER_NAME("writer", writer),
    {.unit = RESULT_PART}, /* INFO */
    RESULT_LAST};
static struct result_column clock_columns[] = {{.unit = RESULT_PART}, /* CLCK */
                                               {.unit = RESULT_LIST}, /* SAMP */
                                               RESULT_LAST};

RESULT_MAKES(section_tag, rbwp_section,
             result_bytes((struct trace_text){row->tag, sizeof row->tag}))

static const struct result_column unknown_columns[] = {
    RESULT_PLAIN_MADE("tag", RESULT_TEXT, section_tag, 0),
    RESULT_PLAIN("length", RESULT_COUNT, struct rbwp_section, bytes), RESULT_LAST};
/* Sections that the format does not name; what is in them only their program knows. */
static const struct result_table unknown_table = {
    "unknown_sections", NULL, unknown_columns, "", NULL, 0};

/* A list of that key, in a row of struct rbwp_trailer. */
static struct result_column file_section_list(const char *tag, const char *key)
{
    const struct trailer_section *section = trailer_section_of(tag);
    struct result_table *table = &section_tables[section - trailer_sections];
    *table = (struct result_table){.key = key, .columns = file_section_columns(tag)};
    return (struct result_column){key,
                                  NULL,
                                  0,
                                  RESULT_LIST,
                                  .indent = true,
                                  .list = table,
                                  .offset = section->array,
                                  .count_at = section->count,
                                  .stride = section->element_bytes};
}

static struct result_column trailer_columns[TRAILER_SECTIONS + 4];

/* Of the trailer and of the table gpu_device: a file describes a GPU in one of them. */
static const void *gpu_row(const void *shown, uint32_t number)
{
    const struct file_shown *file = shown;
    const uint32_t first = file->trailer ? file->trailer->gpu_count : 0;
    return number < first ? &file->trailer->gpus[number] : &file->tables->gpus.list[number - first];
}

static struct result_rows gpu_rows(const struct result_at *at)
{
    const struct file_shown *file = at->row;
    const uint32_t first = file->trailer ? file->trailer->gpu_count : 0;
    return (struct result_rows){at->row, .count = first + file->tables->gpus.count, .row = gpu_row};
}

static struct result_rows gpus_if_any(const struct result_at *at)
{
    const struct file_shown *file = at->row;
    return result_part_row(file->trailer || file->tables->gpus.count ? at->row : NULL);
}

static struct result_table gpus_table = {.key = "gpus"};
static const struct result_column gpus_columns[] = {
    {"gpus", NULL, 0, RESULT_LIST, .list = &gpus_table, .rows = gpu_rows, .indent = true},
    RESULT_LAST};

/* ---- tail ----------------------------------------------------------------------------------- */

static const struct result_table work_items_table = {.key = "work_items",
                                                     .columns = work_item_fields};
static const struct result_table sub_items_table = {.key = "sub_items", .columns = sub_item_fields};
static const struct result_column file_names_columns[] = {
    {"work_items", NULL, 0, RESULT_LIST, .list = &work_items_table, .indent = true,
     RESULT_LIST_OF(struct rbwp_tables, work_items, work_item_count)},
    {"sub_items", NULL, 0, RESULT_LIST, .list = &sub_items_table, .indent = true,
     RESULT_LIST_OF(struct rbwp_tables, sub_items, sub_item_count)},
    RESULT_LAST};

const struct result_column file_tail_columns[] = {
    {"file_size", NULL, 0, RESULT_COUNT, SHOWN(bytes), .new_line = true},
    {"finalized", NULL, 0, RESULT_BOOL, SHOWN(finalised)},
    {"valid", NULL, 0, RESULT_BOOL, SHOWN(valid)},
    {"incomplete_tail", NULL, 0, RESULT_PART_AT, SHOWN(cut), .part = cut_columns, .nullable = true,
     .new_line = true},
    {NULL, NULL, 0, RESULT_PART_AT, SHOWN(names), .part = file_names_columns},
    {NULL, NULL, 0, RESULT_PART_AT, SHOWN(trailer), .part = trailer_columns},
    {NULL, NULL, 0, RESULT_PART_AT, .part = gpus_columns, .rows = gpus_if_any},
    {"problem_count", NULL, 0, RESULT_COUNT, SHOWN(problems), .new_line = true},
    {"problems", NULL, 0, RESULT_LIST, .list = &problems_table, .rows = problem_rows,
     .indent = true},
    RESULT_LAST};

/* What the format's lists of fields say. */
void file_columns_fill(void)
{
    struct result_column *next = trailer_columns;
    result_fields(&file_header_layout, header_fields);
    result_fields(&block_header_layout, file_block_columns);
    result_fields(&work_item_layout, work_item_fields);
    result_fields(&sub_item_layout, sub_item_fields);
    *next++ = (struct result_column){"session",       NULL, 0, RESULT_PART, .part = session_columns,
                                     .new_line = true};
    *next++ = (struct result_column){"clock",         NULL, 0, RESULT_PART, .part = clock_columns,
                                     .new_line = true};
    for (unsigned i = 0; i < TRAILER_SECTIONS; i++) {
        const struct trailer_section *section = &trailer_sections[i];
        result_fields(&section->layout, section_fields[i]);
        if (section->key)
            *next++ = file_section_list(section->tag, section->key);
    }
    *next++ = (struct result_column){"unknown_sections",
                                     NULL,
                                     0,
                                     RESULT_LIST,
                                     .list = &unknown_table,
                                     .indent = true,
                                     RESULT_LIST_OF(struct rbwp_trailer, sections, section_count)};
    *next = (struct result_column)RESULT_LAST;
    session_columns[3].part = file_section_columns("INFO");
    clock_columns[0].part = file_section_columns("CLCK");
    clock_columns[1] = file_section_list("SAMP", "samples");
    clock_columns[1].same_line = true;
    gpus_table.columns = file_section_columns("GPUD");
}
