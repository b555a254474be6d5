/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as a Parquet file: one row a span, in the order in which they come.
 *
 * Rows are gathered until a row group is full; then each column is taken out
 * of them in turn. So memory is that of one row group. Times are in UTC, but
 * not marked as such: DuckDB has nanoseconds for unmarked times alone and would
 * round marked ones to microseconds. Names become UTF-8
 * (utf8_repair.h). Links have no place in one table of spans: the SQLite
 * export has them.
 */
#include "export.h"
#include "message.h"
#include "parquet_file.h"
#include "thread_map.h"
#include "utf8.h"
#include "utf8_repair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GROUP_ROWS = 128 << 10 };

/* ---- columns of text ------------------------------------------------------------------ */

/* Which texts a row group has, by the trace's numbers of them. */
struct numbered {
    uint32_t *places;  /* of a number in the dictionary, plus 1; 0: not in it */
    uint32_t *numbers; /* of a place */
    uint32_t count, place_room, number_room;
};

/* Where a column's texts come from. */
struct text_source {
    uint32_t (*number)(const struct trace *trace, const struct trace_span *span);
    struct trace_text (*text)(const struct trace *trace, uint32_t number);
};

static uint32_t process_number(const struct trace *trace, const struct trace_span *span)
{
    return trace_track_of(trace, span->track)->process;
}
static struct trace_text process_text(const struct trace *trace, uint32_t number)
{
    return trace_process_of(trace, number)->name;
}
static uint32_t track_number(const struct trace *trace, const struct trace_span *span)
{
    (void)trace;
    return span->track;
}
static struct trace_text track_text(const struct trace *trace, uint32_t number)
{
    return trace_track_of(trace, number)->name;
}
static uint32_t kind_number(const struct trace *trace, const struct trace_span *span)
{
    return trace_track_of(trace, span->track)->kind;
}
static struct trace_text kind_text(const struct trace *trace, uint32_t number)
{
    (void)trace;
    return trace_text(trace_track_kind_name[number]);
}
static uint32_t category_number(const struct trace *trace, const struct trace_span *span)
{
    (void)trace;
    return span->category;
}
static struct trace_text category_text(const struct trace *trace, uint32_t number)
{
    (void)trace;
    return trace_text(trace_category_name[number]);
}
static uint32_t name_number(const struct trace *trace, const struct trace_span *span)
{
    (void)trace;
    return span->name;
}

/* ---- columns of numbers --------------------------------------------------------------- */

static int64_t start_value(const struct trace_span *span)
{
    return span->start_ns;
}
static int64_t duration_value(const struct trace_span *span)
{
    return trace_signed_duration_ns(span);
}
static int64_t depth_value(const struct trace_span *span)
{
    return span->depth;
}
static int64_t lane_value(const struct trace_span *span)
{
    return span->row;
}
static int64_t item_value(const struct trace_span *span)
{
    return span->item;
}
static int64_t id_value(const struct trace_span *span)
{
    return (int64_t)span->id;
}
static int64_t parent_value(const struct trace_span *span)
{
    return (int64_t)span->parent;
}
static int64_t finished_value(const struct trace_span *span)
{
    return !(span->flags & TRACE_UNFINISHED);
}
static int64_t open_value(const struct trace_span *span)
{
    return (span->flags & TRACE_OPEN) != 0;
}
static int64_t instant_value(const struct trace_span *span)
{
    return (span->flags & TRACE_INSTANT) != 0;
}

/* ---- the columns ---------------------------------------------------------------------- */

static const struct parquet_column columns[] = {
    {"start", PARQUET_TIME},
    {"duration_ns", PARQUET_LENGTH},
    {"process", PARQUET_TEXT},
    {"track", PARQUET_TEXT},
    {"track_kind", PARQUET_TEXT},
    {"category", PARQUET_TEXT},
    {"name", PARQUET_TEXT},
    {"depth", PARQUET_NUMBER},
    {"lane", PARQUET_NUMBER},
    {"item", PARQUET_NUMBER},
    {"id", PARQUET_ID},
    {"parent", PARQUET_ID_OR_0},
    {"finished", PARQUET_YES_OR_NO},
    {"instant", PARQUET_YES_OR_NO},
    {"open", PARQUET_YES_OR_NO},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* Of the same places. */
static const struct column_source {
    int64_t (*value)(const struct trace_span *span);
    struct text_source text;
} sources[COLUMNS] = {
    {.value = start_value},
    {.value = duration_value},
    {.text = {process_number, process_text}},
    {.text = {track_number, track_text}},
    {.text = {kind_number, kind_text}},
    {.text = {category_number, category_text}},
    {.text = {name_number, trace_name_of}},
    {.value = depth_value},
    {.value = lane_value},
    {.value = item_value},
    {.value = id_value},
    {.value = parent_value},
    {.value = finished_value},
    {.value = instant_value},
    {.value = open_value},
};

struct table {
    struct trace_pass *pass;
    struct parquet parquet;
    struct trace_span *rows; /* GROUP_ROWS */
    size_t count;
    int64_t *values;  /* of a column */
    uint32_t *places; /* of a column of text */
    struct numbered numbered[COLUMNS];
    struct trace_text *texts; /* of a dictionary */
    uint32_t text_room;
    struct parquet_bytes repaired; /* those of them that are not UTF-8 */
    uint64_t losses;
    bool failed;
};

static void fail(struct table *table)
{
    if (!table->failed)
        message("out of memory; the Parquet file cannot be finished");
    table->failed = true;
}

/* ---- from rows to columns ------------------------------------------------------------- */

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

static bool find_places(struct table *table, struct numbered *numbered,
                        const struct text_source *source)
{
    const struct trace *trace = table->pass->trace;
    for (size_t i = 0; i < table->count; i++) {
        uint32_t number = source->number(trace, &table->rows[i]);
        uint32_t place = number < numbered->place_room ? numbered->places[number] : 0;
        if (!place && !(place = add_number(numbered, number)))
            return false;
        table->places[i] = place - 1;
    }
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

static void put_texts(struct table *table, struct numbered *numbered,
                      const struct text_source *source)
{
    if (!find_places(table, numbered, source) ||
        !thread_array_grow(&table->texts, &table->text_room, numbered->count,
                           sizeof *table->texts)) {
        fail(table);
        return;
    }
    for (uint32_t i = 0; i < numbered->count; i++) {
        table->texts[i] = source->text(table->pass->trace, numbered->numbers[i]);
        numbered->places[numbered->numbers[i]] = 0; /* for the next row group */
    }
    if (repair_texts(table, numbered->count))
        parquet_texts(&table->parquet, table->places,
                      (struct parquet_dictionary){table->texts, numbered->count});
    else
        fail(table);
    numbered->count = 0;
}

static void put_group(struct table *table)
{
    parquet_group_begin(&table->parquet, table->count);
    for (int c = 0; c < COLUMNS && !table->failed; c++) {
        const struct column_source *source = &sources[c];
        if (!source->value) {
            put_texts(table, &table->numbered[c], &source->text);
            continue;
        }
        for (size_t i = 0; i < table->count; i++)
            table->values[i] = source->value(&table->rows[i]);
        parquet_integers(&table->parquet, table->values);
    }
    parquet_group_end(&table->parquet);
    table->count = 0;
}

/* ---- the sink ------------------------------------------------------------------------- */

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct table *table = context;
    (void)details;
    while (count > 0 && !table->failed) {
        size_t room = GROUP_ROWS - table->count, many = count < room ? count : room;
        memcpy(table->rows + table->count, spans, many * sizeof *spans);
        table->count += many;
        spans += many;
        count -= many;
        if (table->count == GROUP_ROWS)
            put_group(table);
    }
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
    char key[64], value[256];
    snprintf(key, sizeof key, "loss.%" PRIu64, table->losses++);
    const char *what = loss->count || !loss->bytes ? "records" : "bytes of the file";
    snprintf(value, sizeof value, "%" PRIu64 " %s, process %" PRIu32 ", %.*s",
             loss->count ? loss->count : loss->bytes, what, loss->process, (int)loss->cause.bytes,
             loss->cause.text);
    take_fact(table, key, trace_text(value));
}

static bool is_full(void *context)
{
    const struct table *table = context;
    return table->failed || parquet_failed(&table->parquet) || out_failed(&table->pass->out);
}

static void free_table(struct table *table)
{
    for (int c = 0; c < COLUMNS; c++) {
        free(table->numbered[c].places);
        free(table->numbered[c].numbers);
    }
    parquet_free(&table->parquet);
    bytes_free(&table->repaired);
    free(table->texts);
    free(table->places);
    free(table->values);
    free(table->rows);
    free(table);
}

static struct table *make_table(struct trace_pass *pass)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->pass = pass;
    table->rows = malloc(GROUP_ROWS * sizeof *table->rows);
    table->values = malloc(GROUP_ROWS * sizeof *table->values);
    table->places = malloc(GROUP_ROWS * sizeof *table->places);
    if (table->rows && table->values && table->places &&
        parquet_start(&table->parquet, &pass->out, columns, COLUMNS))
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
                                     .loss = take_loss,
                                     .fact = take_fact,
                                     .full = is_full};
    return true;
}

/* Without its footer a file is none, so that what failed is not taken for whole. */
static enum exit_code end(struct trace_pass *pass)
{
    struct table *table = pass->state;
    if (table->count && !table->failed)
        put_group(table);
    if (!table->failed)
        parquet_finish(&table->parquet);
    if (parquet_failed(&table->parquet))
        fail(table);
    enum exit_code code = table->failed ? EXIT_BAD_DATA : EXIT_GOOD;
    free_table(table);
    return code;
}

const struct exporter exporter_parquet = {
    .name = "parquet",
    .suffixes = ".parquet",
    .summary = "typed columns for DuckDB, pandas, Spark",
    .binary = true,
    .maker.begin = begin,
    .maker.end = end,
};
