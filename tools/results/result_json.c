/* SPDX-License-Identifier: Apache-2.0 */
#include "result_print.h"
#include "json_text.h"

#include <inttypes.h>

/* ---- JSON Schema ----------------------------------------------------------------------------- */
/* Documents as JSON Schema (2020-12), by the columns that print them. */

/* What a unit is in JSON, and what is said of it. */
static const struct {
    const char *type, *what;
} units[] = {
    [RESULT_COUNT] = {"\"integer\"", "how many"},
    [RESULT_ID] = {"\"integer\"", "a number that names something"},
    [RESULT_NUMBER] = {"\"integer\"", "a number of the file (SPEC.md)"},
    [RESULT_SIGNED] = {"\"integer\"", "a number of the file, which may be below 0 (SPEC.md)"},
    [RESULT_NS] = {"\"integer\"", "a duration in nanoseconds"},
    [RESULT_ROUGH_NS] = {"\"integer\"", "a duration in nanoseconds, within 1.6 %"},
    [RESULT_MICROS] = {"\"number\"", "a duration in microseconds"},
    [RESULT_TIME] = {"\"integer\"", "nanoseconds on the trace's axis"},
    [RESULT_SHARE] = {"\"number\"", "a share of the whole, which is 1"},
    [RESULT_RATIO] = {"\"number\"", "a ratio"},
    [RESULT_REAL] = {"\"number\",\"null\"", "a number; null: it is not finite"},
    [RESULT_DECIMAL] = {"\"number\",\"string\"", "a number, or its name if it is not finite"},
    [RESULT_TEXT] = {"\"string\"", "text"},
    [RESULT_STRING] = {"\"string\"", "text"},
    [RESULT_NAME] = {"\"string\"", "text"},
    [RESULT_HEX] = {"\"string\"", "bytes in hexadecimal"},
    [RESULT_WORD] = {"\"string\"", "a word"},
    [RESULT_CHOICE] = {"\"string\"", "one of several words"},
    [RESULT_BOOL] = {"\"boolean\"", "yes or no"},
};

/* From its first member on. */
static void put_object(struct out *out, const struct result_column *columns, const char *only,
                       bool nullable);

static void put_words(struct out *out, const struct result_column *column)
{
    json_open(out, "enum", '[');
    for (int i = 0; i < column->what; i++) {
        json_separate(out);
        json_string(out, column->words[i], strlen(column->words[i]));
    }
    out_text(out, "]");
}

static void put_type(struct out *out, const struct result_column *column)
{
    if (column->part) {
        out_text(out, "{");
        put_object(out, column->part, column->only, column->nullable);
    } else if (column->list) {
        out_text(out, "{\"type\":\"array\",\"items\":{");
        put_object(out, column->list->columns, NULL, false);
        out_text(out, "}");
    } else if (column->unit == RESULT_OWN || column->put) {
        out_text(out, column->form ? column->form : "{}");
    } else {
        const char *type = units[column->unit].type;
        const bool several = column->nullable || strchr(type, ',');
        out_format(out, "{\"type\":%s%s%s%s", several ? "[" : "", type,
                   column->nullable ? ",\"null\"" : "", several ? "]" : "");
        json_plain(out, "description", units[column->unit].what);
        if (column->unit == RESULT_CHOICE && !column->get && column->what)
            put_words(out, column);
        out_text(out, "}");
    }
}

/* A name that is not UTF-8 is followed by its bytes. */
static void put_properties(struct out *out, const struct result_column *columns, const char *only)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        if (column->part && !column->key)
            put_properties(out, column->part, column->only);
        if (!column->key || !result_is_among(only, column->key))
            continue;
        json_separate(out);
        out_text(out, "\n");
        json_key(out, column->key);
        put_type(out, column);
        if (column->unit == RESULT_TEXT || column->unit == RESULT_STRING ||
            column->unit == RESULT_NAME)
            out_format(out, ",\"%s_hex\":{\"type\":\"string\"}", column->key);
    }
}

/* What stands behind a pointer may be missing. */
static void put_required(struct out *out, const struct result_column *columns, const char *only)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        if (column->optional || column->there ||
            (column->unit == RESULT_PART_AT && !column->nullable))
            continue;
        if (column->part && !column->key)
            put_required(out, column->part, column->only);
        if (!column->key || !result_is_among(only, column->key))
            continue;
        json_separate(out);
        json_string(out, column->key, strlen(column->key));
    }
}

static void put_object(struct out *out, const struct result_column *columns, const char *only,
                       bool nullable)
{
    json_key(out, "type");
    out_text(out, nullable ? "[\"object\",\"null\"]" : "\"object\"");
    json_open(out, "properties", '{');
    put_properties(out, columns, only);
    out_text(out, "}");
    json_open(out, "required", '[');
    put_required(out, columns, only);
    out_text(out, "]");
    json_bool(out, "additionalProperties", false);
    out_text(out, "}");
}

void result_schema(struct out *out, const char *title, const struct result_column *columns)
{
    out_text(out, "{");
    json_plain(out, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_plain(out, "title", title);
    put_object(out, columns, NULL, false);
    out_text(out, "\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */
/* Times are integers in nanoseconds. */

static void put_real(struct out *out, double value)
{
    if (value - value == 0)
        out_format(out, "%.17g", value);
    else
        out_text(out, "null"); /* infinite, or no number */
}

void result_json_number(struct out *out, const struct result_column *column,
                        const struct result_cell *cell)
{
    if (column->unit == RESULT_BOOL)
        out_text(out, cell->u64 ? "true" : "false");
    else if (column->unit == RESULT_SHARE || column->unit == RESULT_RATIO)
        out_format(out, "%.6f", cell->f64);
    else if (column->unit == RESULT_REAL)
        put_real(out, cell->f64);
    else if (column->unit == RESULT_DECIMAL)
        json_f64(out, cell->f64);
    else if (column->unit == RESULT_MICROS)
        out_format(out, "%" PRIu64 ".%03u", cell->u64 / 1000, (unsigned)(cell->u64 % 1000));
    else if (cell->kind == RESULT_I64)
        out_i64(out, cell->i64);
    else
        out_u64(out, cell->u64);
}

static void put_members(struct out *out, const struct result_column *columns, const char *only,
                        const struct result_at *at);

static void put_list(struct out *out, const struct result_table *table,
                     const struct result_rows *rows, const void *all, const void *parent,
                     const struct result_column *column)
{
    const char *between = !column ? "\n" : column->one_line ? "" : column->indent ? "\n  " : "\n";
    json_open(out, table->key, '[');
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct result_at at = result_row(rows, all, parent, i);
        out_format(out, "%s%s", i ? "," : "", between);
        result_json_object(out, table->columns, &at);
    }
    out_text(out, column && column->closed ? "\n]" : "]");
}

static void result_json_put_part(struct out *out, const struct result_column *column,
                                 const struct result_at *at)
{
    const struct result_at part = result_part(column, at);
    if (column->new_line)
        out_text(out, ",\n");
    if (!part.row && column->nullable)
        json_null(out, column->key);
    if (!part.row)
        return;
    if (column->key)
        json_open(out, column->key, '{');
    put_members(out, column->part, column->only, &part);
    out_text(out, column->key ? "}" : "");
}

static void put_member(struct out *out, const struct result_column *column,
                       const struct result_at *at)
{
    if (column->list) {
        const struct result_rows rows = result_list(column, at);
        bool same_line = (column->same_line || column->one_line) && !column->new_line;
        out_text(out, same_line || out_last(out) == '{' ? "" : ",\n");
        put_list(out, column->list, &rows, at->all, at->row, column);
        return;
    }
    if (column->new_line)
        out_text(out, ",\n");
    if (column->put) {
        column->put(out, at);
        return;
    }
    const struct result_cell cell = result_cell(column, at);
    if (column->unit == RESULT_HEX) {
        json_key(out, column->key);
        json_hex(out, cell.text, cell.bytes);
    } else if (cell.kind == RESULT_BYTES) {
        json_name(out, column->key, cell.bytes ? cell.text : "", cell.bytes);
    } else if (cell.kind == RESULT_NOTHING) {
        if (!column->optional)
            json_null(out, column->key);
    } else if (column->unit == RESULT_CHOICE) {
        json_plain(out, column->key, column->words[cell.u64]);
    } else {
        json_key(out, column->key);
        result_json_number(out, column, &cell);
    }
}

static void put_members(struct out *out, const struct result_column *columns, const char *only,
                        const struct result_at *at)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++)
        if (column->part)
            result_json_put_part(out, column, at);
        else if (column->key && result_is_among(only, column->key) &&
                 result_is_there(column, at->all))
            put_member(out, column, at);
}

void result_json_members(struct out *out, const struct result_column *columns,
                         const struct result_at *at)
{
    put_members(out, columns, NULL, at);
}

void result_json_object(struct out *out, const struct result_column *columns,
                        const struct result_at *at)
{
    out_text(out, "{");
    put_members(out, columns, NULL, at);
    out_text(out, "}");
}

void result_json_lines(struct out *out, const struct result_column *columns,
                       const struct result_at *at)
{
    out_text(out, "{");
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        out_text(out, column == columns ? "" : ",\n");
        put_member(out, column, at);
    }
    out_text(out, "}\n");
}

void result_json_list(struct out *out, const struct result_table *table,
                      const struct result_rows *rows, const void *all)
{
    out_text(out, ",\n");
    put_list(out, table, rows, all, NULL, NULL);
}
