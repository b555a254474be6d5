/* SPDX-License-Identifier: Apache-2.0 */
/* Times are integers in nanoseconds. */
#include "result_print.h"
#include "json_text.h"

static void put_real(struct out *out, double value)
{
    if (value - value == 0)
        out_format(out, "%.17g", value);
    else
        out_text(out, "null"); /* infinite, or no number */
}

static void put_cell(struct out *out, const struct result_column *column,
                     const struct result_cell *cell)
{
    switch (column->unit) {
    case RESULT_TEXT:
        json_name(out, column->key, cell->bytes ? cell->text : "", cell->bytes);
        return;
    case RESULT_WORD:
        json_key(out, column->key);
        json_string(out, cell->text, cell->bytes);
        return;
    case RESULT_CHOICE:
        json_plain(out, column->key, column->words[cell->u64]);
        return;
    case RESULT_BOOL:
        json_bool(out, column->key, cell->u64 != 0);
        return;
    case RESULT_SHARE:
        json_key(out, column->key);
        out_format(out, "%.6f", cell->f64);
        return;
    case RESULT_REAL:
        json_key(out, column->key);
        put_real(out, cell->f64);
        return;
    default:
        json_key(out, column->key);
        if (cell->kind == RESULT_I64)
            out_i64(out, cell->i64);
        else if (cell->kind == RESULT_U64)
            out_u64(out, cell->u64);
        else
            out_text(out, "null");
    }
}

static bool put_members(struct out *out, const struct result_column *columns,
                        const struct result_at *at, bool more);
static void put_list(struct out *out, const struct result_table *table,
                     const struct result_rows *rows, const void *all, const void *parent);

/* True if there is a member now. */
static bool put_part(struct out *out, const struct result_column *column,
                     const struct result_at *at, bool more)
{
    const struct result_at part = result_part(column, at);
    if (!part.row)
        return more;
    if (!column->key)
        return put_members(out, column->part, &part, more);
    out_text(out, more ? "," : "");
    json_key(out, column->key);
    result_json_object(out, column->part, &part);
    return true;
}

static bool put_member(struct out *out, const struct result_column *column,
                       const struct result_at *at, bool more)
{
    if (column->part)
        return put_part(out, column, at, more);
    if (!column->key)
        return more;
    if (column->list) {
        const struct result_rows rows = result_list(column, at);
        out_text(out, column->same_line ? "," : ",\n");
        put_list(out, column->list, &rows, at->all, at->row);
        return true;
    }
    if (column->put) {
        column->put(out, at, true);
        return true;
    }
    const struct result_cell cell = result_cell(column, at);
    if (column->optional && cell.kind == RESULT_NOTHING)
        return more;
    out_text(out, more ? "," : "");
    put_cell(out, column, &cell);
    return true;
}

static bool put_members(struct out *out, const struct result_column *columns,
                        const struct result_at *at, bool more)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++)
        more = put_member(out, column, at, more);
    return more;
}

void result_json_members(struct out *out, const struct result_column *columns,
                         const struct result_at *at, bool more)
{
    (void)put_members(out, columns, at, more);
}

void result_json_object(struct out *out, const struct result_column *columns,
                        const struct result_at *at)
{
    out_text(out, "{");
    (void)put_members(out, columns, at, false);
    out_text(out, "}");
}

static void put_list(struct out *out, const struct result_table *table,
                     const struct result_rows *rows, const void *all, const void *parent)
{
    json_key(out, table->key);
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct result_at at = result_row(rows, all, parent, i);
        out_text(out, i ? ",\n" : "[\n");
        result_json_object(out, table->columns, &at);
    }
    out_text(out, rows->count ? "]" : "[]");
}

void result_json_list(struct out *out, const struct result_table *table,
                      const struct result_rows *rows, const void *all)
{
    out_text(out, ",\n");
    put_list(out, table, rows, all, NULL);
}
