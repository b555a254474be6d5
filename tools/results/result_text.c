/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names stand last in a line, so that no name, however wide, moves a column. Tables fit the width:
 * of the columns the least needed are dropped until there is room for names, which a terminal gets
 * shortened.
 */
#include "quantity.h"
#include "result_print.h"
#include "text_name.h"

#include <inttypes.h>
#include <string.h>

/* ---- which columns ----------------------------------------------------------------------- */

static unsigned width_of(const struct result_place *place)
{
    int width = place->column->width;
    return (unsigned)(width < 0 ? 2 - width : width);
}

/* What it is called in the table's lists: a part's columns share a name. */
static bool is_titled(const struct result_place *place, const char *title, size_t bytes)
{
    const char *own = place->column->title;
    return own && strlen(own) == bytes && memcmp(own, title, bytes) == 0;
}

void result_layout_drop(struct result_layout *layout, const char *title, size_t bytes)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < layout->count; i++) {
        if (is_titled(&layout->columns[i], title, bytes))
            layout->taken -= width_of(&layout->columns[i]);
        else
            layout->columns[kept++] = layout->columns[i];
    }
    layout->count = kept;
}

static void result_text_add(struct result_layout *layout, const struct result_column *columns,
                            const char *titles, const void *all, bool names)
{
    for (const char *at = titles; *at; at += *at == ',') {
        size_t bytes = strcspn(at, ",");
        struct result_place place;
        if (layout->count < RESULT_COLUMNS_MAX && result_find(columns, at, bytes, &place) &&
            result_is_there(place.column, all) && (place.column->width == 0) == names) {
            layout->columns[layout->count++] = place;
            layout->taken += width_of(&place);
        }
        at += bytes;
    }
}

struct result_layout result_layout(const struct result_view *view, const struct result_table *table,
                                   const char *wanted, unsigned reserve)
{
    struct result_layout layout = {.count = 0};
    result_text_add(&layout, table->columns, wanted ? wanted : table->text, view->all, false);
    result_text_add(&layout, table->columns, table->text, view->all, true);
    const char *least = wanted || !table->least_needed ? "" : table->least_needed;
    while (*least && layout.taken + 2 + RESULT_NAME_COLUMNS > view->width) {
        size_t bytes = strcspn(least, ",");
        result_layout_drop(&layout, least, bytes);
        least += bytes + (least[bytes] == ',');
    }
    layout.taken += reserve;
    return layout;
}

/* ---- titles ------------------------------------------------------------------------------- */

void result_text_title(const struct result_view *view, const char *title)
{
    out_format(view->out, "\n%s%s%s\n", view->colors.bold, title, view->colors.off);
}

static void put_word(struct out *out, const struct result_column *column, const char *word,
                     bool begins)
{
    out_format(out, "%s%*s", column->width <= 0 && !begins ? "  " : "", column->width, word);
}

/* The first column of a part has the part's title above its own. */
static bool heads_part(const struct result_layout *layout, unsigned i)
{
    const struct result_column *part = layout->columns[i].part;
    return part && part->title && (i == 0 || layout->columns[i - 1].part != part);
}

void result_text_titles(const struct result_view *view, const struct result_layout *layout)
{
    unsigned below = 0;
    out_text(view->out, view->colors.dim);
    for (unsigned i = 0; i < layout->count; i++) {
        const struct result_place *place = &layout->columns[i];
        const char *title = place->column->title;
        bool heads = heads_part(layout, i);
        if (heads && title)
            below = i + 1;
        put_word(view->out, place->column, heads ? place->part->title : title ? title : "", i == 0);
    }
    out_text(view->out, below ? "\n" : "");
    for (unsigned i = 0; i < below; i++)
        put_word(view->out, layout->columns[i].column,
                 heads_part(layout, i) && layout->columns[i].column->title
                     ? layout->columns[i].column->title
                     : "",
                 i == 0);
    out_format(view->out, "%s\n", view->colors.off);
}

/* ---- rows ------------------------------------------------------------------------------- */

void result_text_name(const struct result_view *view, struct trace_text text)
{
    out_text(view->out, "  ");
    text_name(view->out, text.text ? text.text : "", text.bytes);
}

/* The last of a line, of which so many columns are taken. */
static void last_name(const struct result_view *view, unsigned taken, struct trace_text text)
{
    unsigned left = view->width > taken + 2 + RESULT_NAME_COLUMNS ? view->width - taken - 2
                                                                  : RESULT_NAME_COLUMNS;
    if (!view->shorten) {
        result_text_name(view, text);
        return;
    }
    out_text(view->out, "  ");
    (void)text_name_fit(view->out, text.text ? text.text : "", text.bytes,
                        left < TEXT_COLUMNS_MAX ? left : TEXT_COLUMNS_MAX);
}

static void result_text_put_cell(const struct result_view *view, const struct result_column *column,
                                 const struct result_cell *cell, bool begins)
{
    struct out *out = view->out;
    int width = column->width;
    if (cell->kind == RESULT_NOTHING || cell->hidden)
        put_word(out, column, "-", begins);
    else if (cell->kind == RESULT_BYTES && width < 0) {
        out_text(out, begins ? "" : "  ");
        text_name_column(out, cell->text, cell->bytes, (unsigned)-width);
    } else if (cell->kind == RESULT_BYTES)
        out_format(out, "%*.*s", width, (int)cell->bytes, cell->text);
    else if (column->unit == RESULT_COUNT)
        out_format(out, "%*s", width, GROUPED(cell->u64));
    else if (column->unit == RESULT_NS || column->unit == RESULT_ROUGH_NS)
        out_format(out, " %*s", width - 1, ROUGH(cell->u64, column->unit == RESULT_NS ? 4 : 3));
    else if (column->unit == RESULT_MICROS)
        out_format(out, " %*" PRIu64 ".%03u", width - 5, cell->u64 / 1000,
                   (unsigned)(cell->u64 % 1000));
    else if (column->unit == RESULT_TIME)
        out_format(out, "%*s", width, SINCE_ZERO(cell->i64, view->zero_ns));
    else if (column->unit == RESULT_SHARE)
        out_format(out, "%s%*.1f%%", begins ? "" : " ", width - (begins ? 1 : 2), 100 * cell->f64);
    else if (column->unit == RESULT_RATIO)
        out_format(out, "%*.3f", width, cell->f64);
    else if (column->unit == RESULT_REAL)
        out_format(out, "%*.6g", width, cell->f64);
    else if (column->unit == RESULT_CHOICE)
        put_word(out, column, column->words[cell->u64], begins);
    else
        out_format(out, "%*" PRIu64, width, cell->u64);
}

/* Without the end of the line. */
static void result_text_row(const struct result_view *view, const struct result_layout *layout,
                            const struct result_at *at)
{
    for (unsigned i = 0; i < layout->count; i++) {
        const struct result_place *place = &layout->columns[i];
        if (place->column->show) {
            out_text(view->out, place->column->width < 0 && i ? "  " : "");
            place->column->show(view->out, at);
            continue;
        }
        struct result_cell cell = result_place_cell(place, at);
        if (place->column->width) {
            result_text_put_cell(view, place->column, &cell, i == 0);
            out_text(view->out, place->column->after ? place->column->after : "");
        } else
            last_name(view, layout->taken, (struct trace_text){cell.text, cell.bytes});
    }
}

void result_text_rows(const struct result_view *view, const struct result_layout *layout,
                      const struct result_rows *rows, const void *all, const void *parent,
                      void (*after)(const struct result_view *view, const struct result_at *at))
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct result_at at = result_row(rows, all, parent, i);
        const char *color = layout->color ? layout->color(&view->colors, at.row) : "";
        out_text(view->out, color);
        result_text_row(view, layout, &at);
        if (after)
            after(view, &at);
        out_format(view->out, "%s\n", *color ? view->colors.off : "");
    }
}

void result_text(const struct result_view *view, const struct result_table *table,
                 const struct result_layout *layout, const struct result_rows *rows,
                 const void *all,
                 void (*after)(const struct result_view *view, const struct result_at *at))
{
    if (rows->count && table->title)
        result_text_title(view, table->title);
    if (rows->count)
        result_text_titles(view, layout);
    struct result_rows shown = *rows;
    if (table->shown && shown.count > table->shown)
        shown.count = table->shown;
    result_text_rows(view, layout, &shown, all, NULL, after);
    result_text_more(view, rows->count, table->shown, "");
}

void result_text_more(const struct result_view *view, uint32_t count, uint32_t shown,
                      const char *what)
{
    if (shown && count > shown)
        out_format(view->out, "  ... and %" PRIu32 " more%s (--json has all)\n", count - shown,
                   what);
}
