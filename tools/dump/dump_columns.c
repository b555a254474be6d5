/* SPDX-License-Identifier: Apache-2.0 */
#include "dump_columns.h"

#include "json_text.h"
#include "table_export.h"

/* Of what is written elsewhere. */
#define KEY(name, of)                                                                              \
    {                                                                                              \
        .key = name, .unit = of                                                                    \
    }
#define KEY_OR_NULL(name, of)                                                                      \
    {                                                                                              \
        .key = name, .unit = of, .nullable = true                                                  \
    }
#define MAY(name, of)                                                                              \
    {                                                                                              \
        .key = name, .unit = of, .optional = true                                                  \
    }
#define MAY_OR_NULL(name, of)                                                                      \
    {                                                                                              \
        .key = name, .unit = of, .optional = true, .nullable = true                                \
    }

/* ---- tables --------------------------------------------------------------------------------- */

const struct result_column dump_schema_columns[] = {
    {NULL, NULL, 0, RESULT_PART, .part = table_head_columns},
    {NULL, NULL, 0, RESULT_PART, .part = table_columns_columns},
    RESULT_LAST};

static void put_column_names(struct out *out, const struct result_at *at)
{
    const struct rbwp_schema *schema = ((const struct rbwp_rows *)at->row)->schema;
    json_open(out, "columns", '[');
    for (uint32_t c = 0; c < schema->column_count; c++) {
        json_separate(out);
        json_string(out, schema->columns[c].name, schema->columns[c].name_bytes);
    }
    out_text(out, "]");
}

#define TEXTS "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define ROWS(field) RESULT_FIELD(struct rbwp_rows, field)
const struct result_column dump_rows_columns[] = {
    {NULL, NULL, 0, RESULT_PART_AT, ROWS(schema), .part = table_head_columns},
    {"first_row", NULL, 0, RESULT_ID, ROWS(first_row)},
    {"row_count", NULL, 0, RESULT_COUNT, ROWS(rows)},
    {"first", NULL, 0, RESULT_TIME, ROWS(first_ns)},
    {"last", NULL, 0, RESULT_TIME, ROWS(last_ns)},
    {"columns", NULL, 0, RESULT_OWN, .put = put_column_names, .form = TEXTS},
    RESULT_LAST};

RESULT_MAKES(broken_message, rbwp_error, result_word(row->text))
const struct result_column dump_broken_columns[] = {
    RESULT_PLAIN("rule", RESULT_ID, struct rbwp_error, rule),
    RESULT_PLAIN_MADE("message", RESULT_TEXT, broken_message, 0), RESULT_LAST};

/* ---- blocks --------------------------------------------------------------------------------- */

#define GPU(key, unit, field) RESULT_PLAIN(key, unit, struct rbwp_gpu_extra, field)
RESULT_MAKES(gpu_idle, rbwp_gpu_extra, result_u64(row->flags &RBWP_GPU_EXTRA_IDLE))
const struct result_column dump_gpu_columns[] = {
    GPU("start", RESULT_TIME, start_ns),
    GPU("stop", RESULT_TIME, stop_ns),
    GPU("launch", RESULT_TIME, launch_ns),
    GPU("thread_id", RESULT_ID, thread_id),
    GPU("start_gap", RESULT_NS, start_gap_ns),
    GPU("stop_gap", RESULT_NS, stop_gap_ns),
    GPU("launched", RESULT_TIME, launched_ns),
    GPU("launching", RESULT_NS, launching_ns),
    RESULT_PLAIN_MADE("idle", RESULT_BOOL, gpu_idle, 0),
    RESULT_LAST};
static const struct result_table gpu_table = {"entries", NULL, dump_gpu_columns, "", NULL, 0};
static const struct result_column gpu_columns[] = {
    KEY("proc_id", RESULT_ID), {"entries", NULL, 0, RESULT_LIST, .list = &gpu_table}, RESULT_LAST};

static const struct result_column names_columns[] = {
    KEY("first", RESULT_ID), {"names", NULL, 0, RESULT_OWN, .form = TEXTS}, RESULT_LAST};

static const struct result_column table_columns[] = {
    {NULL, NULL, 0, RESULT_PART, .part = dump_rows_columns},
    {"rows", NULL, 0, RESULT_OWN, .form = "{\"type\":\"array\",\"items\":{\"type\":\"array\"}}"},
    MAY("rows_shown", RESULT_COUNT),
    RESULT_LAST};

static const struct result_column record_columns[] = {
    KEY("ts", RESULT_TIME),      KEY("ts_bytes", RESULT_COUNT),
    KEY("offset", RESULT_COUNT), KEY("type", RESULT_WORD),
    MAY("slot", RESULT_ID),      MAY("sub_item", RESULT_ID),
    MAY("proc_id", RESULT_ID),   MAY("start", RESULT_TIME),
    MAY("stop", RESULT_TIME),    RESULT_LAST};
static const struct result_table records_table = {"records", NULL, record_columns, "", NULL, 0};

#define MAY_PART(key, columns)                                                                     \
    {                                                                                              \
        key, NULL, 0, RESULT_PART_AT, .part = columns                                              \
    }
static const struct result_column block_columns[] = {
    KEY("offset", RESULT_COUNT),
    {NULL, NULL, 0, RESULT_PART, .part = file_block_columns},
    {"records", NULL, 0, RESULT_LIST, .list = &records_table},
    MAY("records_shown", RESULT_COUNT),
    MAY("opaque", RESULT_BOOL),
    MAY("tag", RESULT_TEXT),
    MAY_PART("gpu", gpu_columns),
    MAY_PART("schema", dump_schema_columns),
    MAY_PART("names", names_columns),
    MAY_PART("table", table_columns),
    MAY_PART("broken", dump_broken_columns),
    RESULT_LAST};
static const struct result_table blocks_table = {"blocks", NULL, block_columns, "", NULL, 0};

/* ---- a file --------------------------------------------------------------------------------- */

static const struct result_column shown_columns[] = {
    RESULT_PLAIN("blocks_shown", RESULT_COUNT, struct blocks_shown, blocks),
    RESULT_PLAIN("records_shown", RESULT_COUNT, struct blocks_shown, records), RESULT_LAST};

const struct result_column dump_behind_blocks[] = {
    {NULL, NULL, 0, RESULT_PART, .part = file_count_columns},
    {NULL, NULL, 0, RESULT_PART_AT, RESULT_FIELD(struct dump_document, shown),
     .part = shown_columns},
    {NULL, NULL, 0, RESULT_PART, .part = file_table_columns},
    {NULL, NULL, 0, RESULT_PART, .part = file_tail_columns},
    RESULT_LAST};

const struct result_column *dump_columns(void)
{
    static const struct result_column columns[] = {
        {NULL, NULL, 0, RESULT_PART, .part = file_head_columns},
        {"blocks", NULL, 0, RESULT_LIST, .list = &blocks_table},
        {NULL, NULL, 0, RESULT_PART, .part = dump_behind_blocks},
        RESULT_LAST};
    file_columns_fill();
    return columns;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static const struct result_column sub_item_columns[] = {
    MAY("sub_item", RESULT_ID), MAY_OR_NULL("sub_item_type", RESULT_WORD),
    MAY("sub_item_kind", RESULT_TEXT), RESULT_LAST};

/* Of a record, of a table, or of a row of one. */
const struct result_column records_columns[] = {
    KEY("file", RESULT_TEXT),
    MAY("thread_id", RESULT_ID),
    MAY_OR_NULL("thread", RESULT_TEXT),
    MAY("ts", RESULT_TIME),
    KEY("type", RESULT_WORD),
    MAY("proc_id", RESULT_ID),
    MAY("slot", RESULT_ID),
    {NULL, NULL, 0, RESULT_PART, .part = sub_item_columns},
    MAY_OR_NULL("name", RESULT_TEXT),
    MAY("start", RESULT_TIME),
    MAY("stop", RESULT_TIME),
    MAY("table", RESULT_ID),
    MAY("version", RESULT_ID),
    {NULL, NULL, 0, RESULT_PART_AT, .part = table_columns_columns},
    MAY("row", RESULT_ID),
    {"cells", NULL, 0, RESULT_OWN, .form = "{\"type\":\"object\"}", .optional = true},
    RESULT_LAST};

const struct result_column spans_columns[] = {
    KEY("file", RESULT_TEXT),
    KEY("kind", RESULT_WORD),
    KEY("id", RESULT_ID),
    KEY_OR_NULL("parent", RESULT_ID),
    KEY("depth", RESULT_COUNT),
    KEY("thread_id", RESULT_ID),
    KEY_OR_NULL("thread", RESULT_TEXT),
    MAY("proc_id", RESULT_ID),
    KEY_OR_NULL("slot", RESULT_ID),
    {NULL, NULL, 0, RESULT_PART, .part = sub_item_columns},
    KEY_OR_NULL("name", RESULT_TEXT),
    KEY_OR_NULL("begin", RESULT_TIME),
    KEY_OR_NULL("end", RESULT_TIME),
    KEY_OR_NULL("duration", RESULT_NS),
    MAY("ts", RESULT_TIME),
    KEY("finished", RESULT_BOOL),
    MAY("stray", RESULT_BOOL),
    MAY("open", RESULT_BOOL),
    MAY("open_until", RESULT_TIME),
    MAY("launch", RESULT_TIME),
    MAY("launched", RESULT_TIME),
    MAY("launching", RESULT_NS),
    MAY("idle", RESULT_BOOL),
    MAY("launch_thread_id", RESULT_ID),
    MAY_OR_NULL("launch_id", RESULT_ID),
    MAY("start_bound", RESULT_NS),
    MAY("stop_bound", RESULT_NS),
    MAY("duration_least", RESULT_NS),
    MAY("duration_most", RESULT_NS),
    MAY("stream", RESULT_ID),
    MAY("correlation", RESULT_ID),
    MAY("work", RESULT_TEXT),
    RESULT_LAST};
