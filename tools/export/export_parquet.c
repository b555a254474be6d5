/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as a Parquet file: one row a span, in the order in which they come.
 *
 * A group of rows (span_columns.h) is a row group, which is all that memory holds. Times are in
 * UTC, but not marked as such: DuckDB has nanoseconds for unmarked times alone and would round
 * marked ones to microseconds. Names become UTF-8 (utf8_repair.h). Of a column that is null all
 * over a row group only that is written. Counters, and links other than launches, have no place in
 * one table of spans: the SQLite export has them.
 */
#include "export.h"
#include "left_out.h"
#include "message.h"
#include "parquet_file.h"
#include "parquet_tables.h"
#include "span_columns.h"
#include "thread_map.h"
#include "utf8.h"
#include "utf8_repair.h"

#include <stdlib.h>
#include <unistd.h>

/* Which texts a row group has, by the trace's numbers of them. */
struct numbered {
    uint32_t *places;  /* of a number in the dictionary, plus 1; 0: not in it */
    uint32_t *numbers; /* of a place */
    uint32_t count, place_room, number_room;
};

struct table {
    struct trace_pass *pass;
    struct span_columns columns;
    struct parquet parquet;
    struct parquet_column column_list[SPAN_COLUMNS_MAX]; /* those that are wanted */
    uint32_t *places;                                    /* of a column of text */
    struct numbered *numbered;                           /* by column */
    struct trace_text *texts;                            /* of a dictionary */
    uint32_t text_room;
    struct parquet_bytes repaired; /* those of them that are not UTF-8 */
    struct parquet_tables tables;  /* a program's own */
    struct left_out left_out;
    uint64_t losses;
    bool failed;
};

static void fail(struct table *table)
{
    if (!table->failed)
        message("out of memory; the Parquet file cannot be finished");
    table->failed = true;
}

/* ---- columns --------------------------------------------------------------------------- */

/* The place of a number that is not in the dictionary yet, plus 1; 0 without memory. */
static uint32_t add_number(struct numbered *numbered, uint32_t number)
{
    if (!thread_array_grow(&numbered->places, &numbered->place_room, number + 1,
                           sizeof *numbered->places) ||
        !thread_array_grow(&numbered->numbers, &numbered->number_room, numbered->count + 1,
                           sizeof *numbered->numbers))
        return 0;
    numbered->numbers[numbered->count++] = number;
    return numbered->places[number] = numbered->count;
}

/* Places of the values that are there. *found_out: how many these are. */
static bool find_places(struct table *table, struct numbered *numbered,
                        const struct span_column_part *part, bool optional, size_t *found_out)
{
    size_t found = 0;
    for (size_t i = 0; i < table->columns.count; i++) {
        uint32_t number = (uint32_t)part->values[i];
        if (optional && !number)
            continue;
        uint32_t place = number < numbered->place_room ? numbered->places[number] : 0;
        if (!place && !(place = add_number(numbered, number)))
            return false;
        table->places[found++] = place - 1;
    }
    *found_out = found;
    return true;
}

/* Room for all of them first, so that none of them moves. */
static bool repair_texts(struct table *table, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += UTF8_REPAIR_GROWTH * (size_t)table->texts[i].bytes;
    table->repaired.count = 0;
    char *to = (char *)bytes_room(&table->repaired, bytes);
    for (uint32_t i = 0; to && i < count; i++) {
        struct trace_text *text = &table->texts[i];
        if (utf8_valid(text->text, text->bytes))
            continue;
        text->bytes = (uint32_t)utf8_repair(text->text, text->bytes, NULL, to);
        text->text = to;
        to += text->bytes;
    }
    return to != NULL;
}

static void put_texts(struct table *table, int column, const struct span_column_part *part)
{
    struct numbered *numbered = &table->numbered[column];
    size_t found;
    if (!find_places(table, numbered, part, span_column(column)->optional, &found) ||
        !thread_array_grow(&table->texts, &table->text_room, numbered->count,
                           sizeof *table->texts)) {
        fail(table);
        return;
    }
    for (uint32_t i = 0; i < numbered->count; i++) {
        table->texts[i] = span_columns_text(&table->columns, column, numbered->numbers[i]);
        numbered->places[numbered->numbers[i]] = 0; /* for the next row group */
    }
    if (repair_texts(table, numbered->count))
        parquet_texts(&table->parquet, table->places,
                      (struct parquet_dictionary){table->texts, numbered->count}, part->there);
    else
        fail(table);
    numbered->count = 0;
}

/* By the arrays that the columns gather values in. */
static void put_numbers(struct table *table, const struct span_column_part *part)
{
    struct span_columns *columns = &table->columns;
    struct parquet_arrays arrays = {columns->values, columns->there, SPAN_GROUP_ROWS};
    parquet_take_integers(&table->parquet, &arrays, part->there);
    columns->values = arrays.values;
    columns->there = arrays.there;
}

static void put_column(struct table *table, int column)
{
    struct span_column_part part = span_columns_part(&table->columns, column);
    if (part.form == SPAN_COLUMN_NULLS)
        parquet_nulls(&table->parquet);
    else if (part.form == SPAN_COLUMN_CONSTANT)
        parquet_constant(&table->parquet, part.constant);
    else if (span_column(column)->type == SPAN_COLUMN_TEXT)
        put_texts(table, column, &part);
    else
        put_numbers(table, &part);
}

static void put_group(void *context)
{
    struct table *table = context;
    parquet_group_begin(&table->parquet, table->columns.count);
    for (int c = 0; c < span_column_count() && !table->failed; c++)
        if (span_columns_wants(&table->columns, c))
            put_column(table, c);
}

/* ---- the sink ------------------------------------------------------------------------- */

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct table *table = context;
    span_columns_take(&table->columns, spans, count, details);
}

/* Launches are columns of what was launched. */
static void take_link(void *context, const struct trace_link *link)
{
    struct table *table = context;
    table->left_out.links += link->kind != TRACE_LAUNCH;
}

static void take_table(void *context, const struct trace_table *told)
{
    struct table *table = context;
    parquet_tables_add(&table->tables, told);
}

static void take_rows(void *context, const struct trace_rows *rows)
{
    struct table *table = context;
    parquet_tables_take(&table->tables, rows);
}

static void take_fact(void *context, const char *key, struct trace_text value)
{
    struct table *table = context;
    char *repaired = malloc(UTF8_REPAIR_GROWTH * (size_t)value.bytes + 1);
    if (!repaired) {
        fail(table);
        return;
    }
    uint32_t bytes = (uint32_t)utf8_repair(value.text, value.bytes, NULL, repaired);
    parquet_fact(&table->parquet, key, (struct trace_text){repaired, bytes});
    free(repaired);
}

static void take_loss(void *context, const struct trace_loss *loss)
{
    struct table *table = context;
    struct span_loss_text text;
    span_loss_text(&text, loss, table->losses++);
    take_fact(table, text.key, trace_text(text.value));
}

static bool is_full(void *context)
{
    const struct table *table = context;
    return table->failed || table->columns.failed || parquet_failed(&table->parquet) ||
           out_failed(&table->pass->out);
}

static void free_table(struct table *table)
{
    for (int c = 0; table->numbered && c < span_column_count(); c++) {
        free(table->numbered[c].places);
        free(table->numbered[c].numbers);
    }
    free(table->numbered);
    span_columns_free(&table->columns);
    parquet_free(&table->parquet);
    bytes_free(&table->repaired);
    free(table->texts);
    free(table->places);
    free(table);
}

/* Those that are wanted, as Parquet has them; how many. */
static int list_columns(struct table *table)
{
    static const enum parquet_type type[] = {
        [SPAN_COLUMN_TEXT] = PARQUET_TEXT,     [SPAN_COLUMN_TIME] = PARQUET_TIME,
        [SPAN_COLUMN_LENGTH] = PARQUET_LENGTH, [SPAN_COLUMN_ID] = PARQUET_ID,
        [SPAN_COLUMN_NUMBER] = PARQUET_NUMBER, [SPAN_COLUMN_YES_OR_NO] = PARQUET_YES_OR_NO};
    int count = 0;
    for (int c = 0; c < span_column_count(); c++) {
        const struct span_column *column = span_column(c);
        if (span_columns_wants(&table->columns, c))
            table->column_list[count++] =
                (struct parquet_column){column->name, type[column->type], column->optional};
    }
    return count;
}

static struct table *make_table(struct trace_pass *pass)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->pass = pass;
    table->tables.pass = pass;
    table->numbered = calloc((size_t)span_column_count(), sizeof *table->numbered);
    table->places = malloc(SPAN_GROUP_ROWS * sizeof *table->places);
    if (table->places && table->numbered &&
        span_columns_make(&table->columns, pass, put_group, table) &&
        parquet_start(&table->parquet, &pass->out, table->column_list, list_columns(table),
                      pass->threads))
        return table;
    free_table(table);
    return NULL;
}

static bool begin(struct trace_pass *pass)
{
    if (isatty(pass->out.fd)) {
        message("Parquet is no text for a terminal: give -o FILE");
        return false;
    }
    struct table *table = make_table(pass);
    if (!table) {
        message("out of memory");
        return false;
    }
    pass->state = table;
    pass->sink = (struct trace_sink){.context = table,
                                     .spans = take_spans,
                                     .link = take_link,
                                     .table = take_table,
                                     .rows = take_rows,
                                     .loss = take_loss,
                                     .fact = take_fact,
                                     .full = is_full};
    return true;
}

/* Without its footer a file is none, so that what failed is not taken for whole. */
static enum exit_code end(struct trace_pass *pass)
{
    struct table *table = pass->state;
    span_columns_finish(&table->columns);
    table->failed |= table->columns.failed; /* the user was told */
    if (!table->failed)
        parquet_finish(&table->parquet);
    if (parquet_failed(&table->parquet))
        fail(table);
    enum exit_code code = parquet_tables_finish(&table->tables);
    table->left_out.rows = table->tables.left_out;
    left_out_tell(pass, "parquet", table->left_out);
    code = table->failed ? EXIT_BAD_DATA : code;
    free_table(table);
    return code;
}

const struct exporter exporter_parquet = {
    .name = "parquet",
    .suffixes = ".parquet",
    .summary = "typed columns for DuckDB, pandas, Spark",
    .binary = true,
    .has_columns = true,
    .has_parts = true,
    .maker.begin = begin,
    .maker.end = end,
};
