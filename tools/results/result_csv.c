/* SPDX-License-Identifier: Apache-2.0 */
#include "result_print.h"
#include "cell_text.h"

#include <string.h>

/* A cell in its column of the line; what is not there is empty. */
static void result_csv_put_cell(struct out *out, const struct result_column *column,
                                const struct result_cell *cell)
{
    if (cell->kind == RESULT_NOTHING)
        return;
    if (column->unit == RESULT_CHOICE)
        out_text(out, column->words[cell->u64]);
    else if (cell->kind == RESULT_BYTES)
        cell_csv(out, (struct trace_text){cell->bytes ? cell->text : "", cell->bytes}, false);
    else
        result_json_number(out, column, cell);
}

static bool is_shown(const struct result_column *column)
{
    return column->key && !column->list && column->unit != RESULT_OWN;
}

/* The keys, or the cells of a row (NULL: of a part that is not there). */
static bool put_line(struct out *out, const struct result_column *columns, const char *only,
                     const char *prefix, const struct result_at *at, bool more)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        if (column->part) {
            struct result_at part = at ? result_part(column, at) : (struct result_at){0};
            more = put_line(out, column->part, column->only, column->key ? column->key : prefix,
                            at ? &part : NULL, more);
            continue;
        }
        if (!is_shown(column) || !result_is_among(only, column->key))
            continue;
        out_text(out, more ? "," : "");
        more = true;
        if (!at)
            out_format(out, "%s%s%s", prefix, *prefix ? "_" : "", column->key);
        else if (at->row || column->get == NULL) {
            struct result_cell cell = at->row ? result_cell(column, at) : result_nothing();
            result_csv_put_cell(out, column, &cell);
        }
    }
    return more;
}

void result_csv(struct out *out, const struct result_table *table,
                const struct result_column *inner, const struct result_rows *rows, const void *all,
                bool keys)
{
    for (uint32_t line = keys ? 0 : 1; line <= rows->count; line++) {
        const struct result_at at =
            line ? result_row(rows, all, NULL, line - 1) : (struct result_at){0};
        const struct result_rows own =
            line && inner ? result_list(inner, &at) : (struct result_rows){.count = 1};
        for (uint32_t i = 0; i < own.count; i++) {
            const struct result_at row = result_row(&own, all, at.row, i);
            bool more = put_line(out, table->columns, NULL, "", line ? &at : NULL, false);
            if (inner)
                (void)put_line(out, inner->list->columns, NULL, inner->key, line ? &row : NULL,
                               more);
            out_text(out, "\n");
        }
    }
}

/* A list by its key, among the columns or (inner_out) among those of one of their lists. */
static const struct result_column *list_of(const struct result_column *columns, const char *key,
                                           const struct result_column **inner_out)
{
    for (*inner_out = NULL; columns->unit != RESULT_END; columns++) {
        const struct result_column *none;
        if (columns->list && strcmp(columns->key, key) == 0)
            return columns;
        if (columns->list && (*inner_out = list_of(columns->list->columns, key, &none)))
            return columns;
    }
    return NULL;
}

bool result_has_list(const struct result_column *columns, const char *csv)
{
    const struct result_column *inner;
    return !csv || list_of(columns, csv, &inner);
}

static void put_csv(struct out *out, const struct result_column *columns, const char *csv,
                    bool keys, const struct result_at *at)
{
    const struct result_column *inner, *list = list_of(columns, csv, &inner);
    const struct result_rows rows = result_list(list, at);
    result_csv(out, list->list, inner, &rows, at->all, keys);
}

void result_document(struct out *out, const struct result_column *columns, const char *csv,
                     const void *all, const void *row)
{
    const struct result_at at = {all, row, NULL, 0};
    if (csv) {
        put_csv(out, columns, csv, true, &at);
        return;
    }
    result_json_object(out, columns, &at);
    out_text(out, "\n");
}

void result_lines(struct out *out, const struct result_column *columns, const char *csv, bool keys,
                  const void *all)
{
    const struct result_at at = {all, all, NULL, 0};
    const struct result_rows rows = result_list(columns, &at);
    if (csv)
        put_csv(out, columns, csv, keys, &at);
    for (uint32_t i = 0; !csv && i < rows.count; i++) {
        const struct result_at row = result_row(&rows, all, NULL, i);
        result_json_object(out, columns->list->columns, &row);
        out_text(out, "\n");
    }
}
