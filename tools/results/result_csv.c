/* SPDX-License-Identifier: Apache-2.0 */
#include "result_print.h"
#include "plain_text.h"
#include "terminal_text.h"
#include "text_name.h"

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

/* The keys, or the cells of a row (NULL: of a part that is not there). */
static bool put_line(struct out *out, const struct result_column *columns, const char *only,
                     const char *prefix, const void *all, const struct result_at *at, bool more)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        if (column->part) {
            struct result_at part = at ? result_part(column, at) : (struct result_at){0};
            if (!column->key || result_is_among(only, column->key))
                more =
                    put_line(out, column->part, column->key || column->only ? column->only : only,
                             column->key ? column->key : prefix, all, at ? &part : NULL, more);
            continue;
        }
        if (!column->key || !result_is_among(only, column->key) || column->list ||
            column->unit == RESULT_OWN || !result_is_there(column, all))
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

/* A list by its key, among the columns and those of their parts. at is the row, and becomes that of
 * the part: without one if that is not there. */
static const struct result_column *list_in(const struct result_column *columns, const char *key,
                                           struct result_at *at)
{
    const struct result_column *found = NULL;
    for (; columns->unit != RESULT_END && !found; columns++) {
        if (columns->list && strcmp(columns->key, key) == 0)
            found = columns;
        if (columns->part) {
            struct result_at part = result_part(columns, at);
            found = list_in(columns->part, key, &part);
            *at = found ? part : *at;
        }
    }
    return found;
}

/* The same (inner_out) among the columns of one of the lists. */
static const struct result_column *list_of(const struct result_column *columns, const char *key,
                                           const struct result_column **inner_out)
{
    for (*inner_out = NULL; columns->unit != RESULT_END; columns++) {
        struct result_at none = {0};
        if (columns->list && strcmp(columns->key, key) == 0)
            return columns;
        if (columns->list && (*inner_out = list_in(columns->list->columns, key, &none)))
            return columns;
    }
    return NULL;
}

static void put_inner(struct out *out, const struct result_column *list,
                      const struct result_column *inner, const void *all,
                      const struct result_at *at)
{
    struct result_at part = at ? *at : (struct result_at){0};
    struct result_rows rows = {.count = 1};
    if (at && list_in(list->list->columns, inner->key, &part))
        rows = part.row ? result_list(inner, &part) : (struct result_rows){.count = 0};
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct result_at row = result_row(&rows, part.all, part.row, i);
        bool more = put_line(out, list->list->columns, list->only, "", all, at, false);
        (void)put_line(out, inner->list->columns, NULL, list->only ? "" : inner->key, all,
                       at ? &row : NULL, more);
        out_text(out, "\n");
    }
}

static void put_rows(struct out *out, const struct result_column *list,
                     const struct result_column *inner, const struct result_rows *rows,
                     const void *all, bool keys)
{
    for (uint32_t line = keys ? 0 : 1; line <= rows->count; line++) {
        const struct result_at row =
            line ? result_row(rows, all, NULL, line - 1) : (struct result_at){0};
        const struct result_at *at = line ? &row : NULL;
        if (inner) {
            put_inner(out, list, inner, all, at);
            continue;
        }
        (void)put_line(out, list->list->columns, NULL, "", all, at, false);
        out_text(out, "\n");
    }
}

void result_csv(struct out *out, const struct result_table *table, const struct result_rows *rows,
                const void *all, bool keys)
{
    put_rows(out, &(struct result_column){.list = table}, NULL, rows, all, keys);
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
    put_rows(out, list, inner, &rows, at->all, keys);
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

/* ---- cell text ------------------------------------------------------------------------------- */
/*
 * Cells. What is escaped holds no tab and no line end, so TSV has it as it is and CSV only quotes.
 */

/* A quote within quotes is doubled. */
static void put_quoted(struct out *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out_bytes(out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
}

static bool needs_quotes(struct trace_text text)
{
    for (uint32_t i = 0; i < text.bytes; i++)
        if (strchr("\",\n\r", text.text[i]) && text.text[i])
            return true;
    return text.bytes && (text.text[0] == ' ' || text.text[text.bytes - 1] == ' ');
}

/* True when a spreadsheet calculates instead of showing: = + - @, as ASCII or U+FF1D, FF0B, FF0D,
 * FF20; and for the apostrophe that says so. */
static bool needs_apostrophe(struct trace_text text)
{
    static const char wide[] = "\x9d\x8b\x8d\xa0";
    if (text.bytes == 0)
        return false;
    if (text.bytes >= 3 && memcmp(text.text, "\xef\xbc", 2) == 0)
        return memchr(wide, text.text[2], sizeof wide - 1);
    return memchr("=+-@'", text.text[0], 5);
}

/* True for what is the same in every kind of cell. */
static bool is_plain(struct trace_text text)
{
    static const char special[3] = {'"', ',', '\\'};
    return text.bytes && text_is_plain(text.text, text.bytes, special) && text.text[0] != ' ' &&
           text.text[text.bytes - 1] != ' ' && !needs_apostrophe(text);
}

void cell_csv(struct out *out, struct trace_text text, bool raw)
{
    if (is_plain(text)) { /* nearly all */
        out_bytes(out, text.text, text.bytes);
        return;
    }
    const char *quote = needs_quotes(text) ? "\"" : "", *at = text.text;
    size_t left = text.bytes;
    out_text(out, quote);
    if (!raw && needs_apostrophe(text))
        out_text(out, "'");
    if (!*quote && raw)
        out_bytes(out, at, left);
    else if (!*quote)
        text_name(out, at, left);
    else if (raw)
        put_quoted(out, at, left);
    else
        while (left > 0) {
            char shown[1024];
            put_quoted(out, shown, terminal_text_piece(&at, &left, shown, sizeof shown));
        }
    out_text(out, quote);
}

static void put_raw_tsv(struct out *out, struct trace_text text)
{
    static const char special[] = "\t\n\r\\", written[] = "tnr\\";
    for (uint32_t i = 0; i < text.bytes; i++) {
        const char *found = text.text[i] ? strchr(special, text.text[i]) : NULL;
        if (found) {
            char pair[2] = {'\\', written[found - special]};
            out_bytes(out, pair, 2);
        } else {
            out_bytes(out, &text.text[i], 1);
        }
    }
}

void cell_tsv(struct out *out, struct trace_text text, bool raw)
{
    if (is_plain(text)) {
        out_bytes(out, text.text, text.bytes);
        return;
    }
    if (raw) {
        put_raw_tsv(out, text);
        return;
    }
    if (needs_apostrophe(text))
        out_text(out, "'");
    text_name(out, text.text, text.bytes);
}
