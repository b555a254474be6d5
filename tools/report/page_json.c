/* SPDX-License-Identifier: Apache-2.0 */
#include "page_json.h"

#include "json_text.h"
#include "page_timeline.h"

#include <string.h>

enum { QUARTERS = 4 };

void page_comma(struct out *out)
{
    out_text(out, ",");
}

void page_exact(struct out *out, uint64_t value)
{
    const char *quote = value >> 53 ? "\"" : "";
    out_text(out, quote);
    out_u64(out, value);
    out_text(out, quote);
}

void page_number(struct out *out, const char *key, uint64_t value)
{
    json_key(out, key);
    page_exact(out, value);
}

void page_text(struct out *out, const char *key, struct trace_text text)
{
    json_key(out, key);
    json_string(out, text.text, text.bytes);
}

void page_end(struct out *out, const char *key, uint64_t value)
{
    json_u64(out, key, value);
    out_text(out, "}");
}

void page_begin_list(struct out *out, const char *key)
{
    json_key(out, key);
    out_text(out, "[");
}

void page_end_list(struct out *out)
{
    out_text(out, "],\n");
}

void page_numbers(struct out *out, bool more, const uint64_t *numbers, unsigned count)
{
    out_text(out, more ? ",[" : "[");
    for (unsigned i = 0; i < count; i++) {
        out_text(out, i ? "," : "");
        page_exact(out, numbers[i]);
    }
    out_text(out, "]");
}

/* ---- rows of result tables --------------------------------------------------------- */

static void page_cell(struct out *out, const struct result_column *column,
                      const struct result_cell *cell, int64_t zero_ns)
{
    if (cell->kind == RESULT_BYTES)
        json_string(out, cell->text, cell->bytes);
    else if (column->unit == RESULT_CHOICE)
        json_string(out, column->words[cell->u64], strlen(column->words[cell->u64]));
    else if (column->unit == RESULT_TIME)
        out_i64(out, time_step_ns(zero_ns, cell->i64));
    else if (column->unit == RESULT_REAL || column->unit == RESULT_DECIMAL)
        out_format(out, "\"%.6g\"", cell->f64);
    else if (cell->kind == RESULT_F64)
        out_format(out, "%.6f", cell->f64);
    else
        page_exact(out, cell->u64);
}

/* NULL: it is not in the page, or has a form of its own. */
static const char *key_of(const struct result_column *column)
{
    return column->unit == RESULT_OWN ? NULL : column->key ? column->key : column->title;
}

static void page_rows(struct out *out, const struct result_column *column,
                      const struct result_at *at, int64_t zero_ns)
{
    const struct result_rows rows = result_list(column, at);
    json_open(out, column->key, '[');
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct result_at row = result_row(&rows, at->all, at->row, i);
        out_text(out, i ? ",\n{" : "\n{");
        page_members(out, column->list->columns, &row, zero_ns);
        out_text(out, "}");
    }
    out_text(out, "]");
}

static void members_of(struct out *out, const struct result_column *columns, const char *only,
                       const struct result_at *at, int64_t zero_ns)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        if (column->part) {
            const struct result_at part = result_part(column, at);
            if (part.row && column->key)
                json_open(out, column->key, '{');
            if (part.row)
                members_of(out, column->part, column->only, &part, zero_ns);
            out_text(out, part.row && column->key ? "}" : "");
        } else if (column->list) {
            page_rows(out, column, at, zero_ns);
        } else if (column->unit == RESULT_HISTOGRAM) {
            page_histogram(out, "histogram",
                           (const void *)((const char *)at->row + column->offset));
        } else if (column->put && !column->not_on_page) {
            column->put(out, at);
        } else if (key_of(column) && result_is_among(only, key_of(column)) &&
                   result_is_there(column, at->all)) {
            const struct result_cell cell = result_cell(column, at);
            if (cell.kind == RESULT_NOTHING)
                continue;
            json_key(out, key_of(column));
            page_cell(out, column, &cell, zero_ns);
        }
    }
}

void page_members(struct out *out, const struct result_column *columns, const struct result_at *at,
                  int64_t zero_ns)
{
    members_of(out, columns, NULL, at, zero_ns);
}

static const char *page_form(enum result_unit unit)
{
    static const char *const forms[] = {
        [RESULT_COUNT] = "number",      [RESULT_ID] = "id",     [RESULT_NS] = "duration",
        [RESULT_ROUGH_NS] = "duration", [RESULT_TIME] = "time", [RESULT_SHARE] = "share",
        [RESULT_RATIO] = "real",        [RESULT_REAL] = "real"};
    return unit < sizeof forms / sizeof forms[0] && forms[unit] ? forms[unit] : "text";
}

static void put_titles(struct out *out, const struct result_column *columns, const void *all,
                       const char *part, const char *only)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        if (column->part)
            put_titles(out, column->part, all, column->key ? column->key : part, column->only);
        if (!column->title || !key_of(column) || column->part ||
            !result_is_among(only, key_of(column)) || !result_is_there(column, all))
            continue;
        json_separate(out);
        out_format(out, "[\"%s%s%s\",\"%s\",\"%s\"]", part, *part ? "." : "", key_of(column),
                   column->title, page_form(column->unit));
    }
}

void page_titles(struct out *out, const char *key, const struct result_column *columns,
                 const void *all)
{
    json_open(out, key, '[');
    put_titles(out, columns, all, "", NULL);
    out_text(out, "]");
}

/* ---- histograms ------------------------------------------------------------------ */

/* By the first five bits behind the highest one: 2^(1/4), 2^(2/4) and 2^(3/4) in 32nds. */
static unsigned quarter_of(uint64_t value)
{
    if (value < 2)
        return 0;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    unsigned part = (unsigned)(power < 5 ? value << (5 - power) : value >> (power - 5)) & 31;
    return power * QUARTERS + (part >= 6) + (part >= 13) + (part >= 22);
}

/* [first bucket, count, count, ...] */
void page_histogram(struct out *out, const char *key, const struct histogram *histogram)
{
    uint64_t counts[64 * QUARTERS] = {0};
    unsigned first = 64 * QUARTERS, last = 0;
    for (uint32_t i = 0; histogram && i < histogram->buckets; i++) {
        if (histogram->counts[i] == 0)
            continue;
        unsigned quarter = quarter_of(histogram_low(histogram->first + i));
        counts[quarter] += histogram->counts[i];
        first = quarter < first ? quarter : first;
        last = quarter > last ? quarter : last;
    }
    page_begin_list(out, key);
    if (first <= last)
        out_u64(out, first);
    for (unsigned i = first; i <= last; i++) {
        page_comma(out);
        page_exact(out, counts[i]);
    }
    out_text(out, "]");
}

char page_share_letter(double share)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return letters[share >= 1 ? 63 : (int)(share * 63 + 0.5)];
}
