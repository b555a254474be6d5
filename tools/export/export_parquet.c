/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as a Parquet file: one row a span, in the order in which they come.
 *
 * Rows are gathered until a row group is full; then each column is taken out
 * of them in turn. So memory is that of one row group. Times are in UTC, but
 * not marked as such: DuckDB has nanoseconds for unmarked times alone and would
 * round marked ones to microseconds. Names become UTF-8
 * (utf8_repair.h). What only some spans have (span_facts.h, arguments) is null
 * where it is not known; of a column that has none of it in a row group only that is written.
 * Counters, and links other than launches, have no place in one table of spans: the
 * SQLite export has them.
 */
#include "args_json.h"
#include "export.h"
#include "grow.h"
#include "left_out.h"
#include "message.h"
#include "parquet_file.h"
#include "parquet_tables.h"
#include "span_facts.h"
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

/* What a span of the row group has beyond its struct trace_span. */
struct known {
    struct span_facts facts;
    uint32_t category;         /* a label */
    uint32_t args, args_bytes; /* where its arguments are */
};

struct table;

/* Where a column's texts come from. Of an optional column number 0 is none. */
struct text_source {
    uint32_t (*number)(const struct table *table, const struct trace_span *span);
    struct trace_text (*text)(const struct table *table, uint32_t number);
};

/* What all spans of a track share. */
struct place {
    uint32_t track, node;
    int64_t process_id, thread_id; /* of the system */
    struct span_facts facts;
};

/* Rows behind each other that are of one track. */
struct track_run {
    uint32_t track, rows;
};

enum { COLUMNS_MAX = 32 };

struct table {
    struct trace_pass *pass;
    struct parquet parquet;
    struct parquet_column column_list[COLUMNS_MAX];
    struct trace_span *rows; /* GROUP_ROWS; detail is the number of its known, from 1 */
    size_t count;
    struct track_run *runs; /* of the row group */
    uint32_t run_count, run_room;
    uint8_t some_flags, all_flags; /* what any and what all rows of the row group have */
    struct known *known;
    uint32_t known_count, known_room;
    struct parquet_bytes arguments; /* of all known */
    struct args_json args;
    uint32_t facts;            /* bits of those that any of the row group has */
    struct place place;        /* that was asked for last */
    int64_t *values;           /* of a column */
    int64_t *there;            /* which of them are not null */
    uint32_t *places;          /* of a column of text */
    struct numbered *numbered; /* by column */
    struct trace_text *texts;  /* of a dictionary */
    uint32_t text_room;
    struct parquet_bytes repaired; /* those of them that are not UTF-8 */
    struct parquet_tables tables;  /* a program's own */
    struct left_out left_out;
    uint64_t losses;
    bool failed;
};

static const struct known *known_of(const struct table *table, const struct trace_span *span)
{
    return span->detail ? &table->known[span->detail - 1] : NULL;
}

static uint32_t process_number(const struct table *table, const struct trace_span *span)
{
    return trace_track_of(table->pass->trace, span->track)->process;
}
static struct trace_text process_text(const struct table *table, uint32_t number)
{
    return trace_process_of(table->pass->trace, number)->name;
}
static uint32_t track_number(const struct table *table, const struct trace_span *span)
{
    (void)table;
    return span->track;
}
static struct trace_text track_text(const struct table *table, uint32_t number)
{
    return trace_track_of(table->pass->trace, number)->name;
}
static uint32_t kind_number(const struct table *table, const struct trace_span *span)
{
    return trace_track_of(table->pass->trace, span->track)->kind;
}
static struct trace_text kind_text(const struct table *table, uint32_t number)
{
    (void)table;
    return trace_text(trace_track_kind_name[number]);
}
static uint32_t category_number(const struct table *table, const struct trace_span *span)
{
    (void)table;
    return span->category;
}
static struct trace_text category_text(const struct table *table, uint32_t number)
{
    (void)table;
    return trace_text(trace_category_name[number]);
}
static uint32_t name_number(const struct table *table, const struct trace_span *span)
{
    (void)table;
    return span->name;
}
static struct trace_text name_text(const struct table *table, uint32_t number)
{
    return trace_name_of(table->pass->trace, number);
}
static uint32_t own_number(const struct table *table, const struct trace_span *span)
{
    const struct known *known = known_of(table, span);
    return known ? known->category : 0;
}
static struct trace_text own_text(const struct table *table, uint32_t number)
{
    return trace_label_of(table->pass->trace, number);
}
static uint32_t args_number(const struct table *table, const struct trace_span *span)
{
    const struct known *known = known_of(table, span);
    return known && known->args_bytes ? span->detail : 0;
}
static struct trace_text args_text(const struct table *table, uint32_t number)
{
    const struct known *known = &table->known[number - 1];
    return (struct trace_text){(const char *)table->arguments.bytes + known->args,
                               known->args_bytes};
}

/* ---- columns of numbers --------------------------------------------------------------- */

static int64_t start_value(struct table *table, const struct trace_span *span)
{
    (void)table;
    return span->start_ns;
}
static int64_t duration_value(struct table *table, const struct trace_span *span)
{
    (void)table;
    return trace_signed_duration_ns(span);
}
static int64_t depth_value(struct table *table, const struct trace_span *span)
{
    (void)table;
    return span->depth;
}
static int64_t lane_value(struct table *table, const struct trace_span *span)
{
    (void)table;
    return span->row;
}
static int64_t item_value(struct table *table, const struct trace_span *span)
{
    (void)table;
    return span->item;
}
static int64_t id_value(struct table *table, const struct trace_span *span)
{
    (void)table;
    return (int64_t)span->id;
}
static int64_t parent_value(struct table *table, const struct trace_span *span)
{
    (void)table;
    return (int64_t)span->parent;
}

/* Those of a track mostly follow each other. */
static const struct place *place_of(struct table *table, uint32_t number)
{
    const struct trace *trace = table->pass->trace;
    struct place *place = &table->place;
    if (number != place->track) {
        const struct trace_track *track = trace_track_of(trace, number);
        const struct trace_process *process = trace_process_of(trace, track->process);
        *place = (struct place){.track = number,
                                .node = process->node,
                                .process_id = (int64_t)process->os_id,
                                .thread_id = (int64_t)track->os_id};
        span_facts_of_track(trace, number, &place->facts);
    }
    return place;
}

static bool node_value(const struct place *place, int64_t *value_out)
{
    *value_out = place->node;
    return true;
}
static bool pid_value(const struct place *place, int64_t *value_out)
{
    *value_out = place->process_id;
    return *value_out;
}
static bool tid_value(const struct place *place, int64_t *value_out)
{
    *value_out = place->thread_id;
    return *value_out;
}
static bool thread_value(const struct place *place, int64_t *value_out)
{
    *value_out = (int64_t)place->facts.value[FACT_THREAD];
    return span_facts_has(&place->facts, FACT_THREAD);
}
static bool processor_value(const struct place *place, int64_t *value_out)
{
    *value_out = (int64_t)place->facts.value[FACT_PROCESSOR];
    return span_facts_has(&place->facts, FACT_PROCESSOR);
}

/* ---- the columns ---------------------------------------------------------------------- */

/* One of them; without any other it is the fact. */
struct column_source {
    int64_t (*value)(struct table *table, const struct trace_span *span); /* 0 may be null */
    bool (*of_track)(const struct place *place, int64_t *value_out);      /* false: null */
    struct text_source text;
    uint8_t flag;  /* enum trace_flag: whether a span has it, */
    bool lacks_it; /* or lacks it */
    enum span_fact fact;
};

/* clang-format off */
#define REQUIRED(name, type, from) {{name, type, false}, {.value = from}}
#define OPTIONAL(name, type, from) {{name, type, true}, {.value = from}}
#define OF_TRACK(name, type, maybe, from) {{name, type, maybe}, {.of_track = from}}
#define FLAG(name, which, not) {{name, PARQUET_YES_OR_NO, false}, {.flag = which, .lacks_it = not}}
#define FACT(name, type, from) {{name, type, true}, {.fact = from}}
#define TEXT(name, maybe, from, of) {{name, PARQUET_TEXT, maybe}, {.text = {from, of}}}
/* clang-format on */

static const struct {
    struct parquet_column column;
    struct column_source source;
} columns[] = {
    REQUIRED("start", PARQUET_TIME, start_value),
    REQUIRED("duration_ns", PARQUET_LENGTH, duration_value),
    TEXT("process", false, process_number, process_text),
    TEXT("track", false, track_number, track_text),
    TEXT("track_kind", false, kind_number, kind_text),
    TEXT("category", false, category_number, category_text),
    TEXT("name", false, name_number, name_text),
    REQUIRED("depth", PARQUET_NUMBER, depth_value),
    REQUIRED("lane", PARQUET_NUMBER, lane_value),
    REQUIRED("item", PARQUET_NUMBER, item_value),
    REQUIRED("id", PARQUET_ID, id_value),
    OPTIONAL("parent", PARQUET_ID, parent_value),
    FLAG("finished", TRACE_UNFINISHED, true),
    FLAG("instant", TRACE_INSTANT, false),
    FLAG("open", TRACE_OPEN, false),
    OF_TRACK("node", PARQUET_NUMBER, false, node_value),
    OF_TRACK("process_id", PARQUET_ID, true, pid_value),
    OF_TRACK("os_thread_id", PARQUET_ID, true, tid_value),
    OF_TRACK("thread_id", PARQUET_ID, true, thread_value),
    OF_TRACK("proc_id", PARQUET_ID, true, processor_value),
    FACT("stream", PARQUET_ID, FACT_STREAM),
    FACT("correlation", PARQUET_ID, FACT_CORRELATION),
    FACT("launch", PARQUET_TIME, FACT_LAUNCH),
    FACT("launch_thread_id", PARQUET_ID, FACT_LAUNCH_THREAD),
    FACT("launch_span", PARQUET_ID, FACT_LAUNCH_SPAN),
    FACT("launch_inferred", PARQUET_YES_OR_NO, FACT_LAUNCH_INFERRED),
    FACT("start_uncertain_ns", PARQUET_ID, FACT_START_UNCERTAIN),
    FACT("stop_uncertain_ns", PARQUET_ID, FACT_STOP_UNCERTAIN),
    FACT("certain_ns", PARQUET_ID, FACT_CERTAIN),
    TEXT("own_category", true, own_number, own_text),
    TEXT("args", true, args_number, args_text),
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };
_Static_assert((int)COLUMNS <= (int)COLUMNS_MAX, "they have room");

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

/* Places of the values that are there. *found_out: how many these are. */
static bool find_places(struct table *table, struct numbered *numbered,
                        const struct text_source *source, bool optional, size_t *found_out)
{
    size_t found = 0;
    for (size_t i = 0; i < table->count; i++) {
        uint32_t number = source->number(table, &table->rows[i]);
        if (optional && !(table->there[i] = number != 0))
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

static void put_texts(struct table *table, int column)
{
    const struct text_source *source = &columns[column].source.text;
    struct numbered *numbered = &table->numbered[column];
    size_t found;
    if (columns[column].column.optional && table->known_count == 0) {
        parquet_nulls(&table->parquet);
        return;
    }
    if (!find_places(table, numbered, source, columns[column].column.optional, &found) ||
        !thread_array_grow(&table->texts, &table->text_room, numbered->count,
                           sizeof *table->texts)) {
        fail(table);
        return;
    }
    for (uint32_t i = 0; i < numbered->count; i++) {
        table->texts[i] = source->text(table, numbered->numbers[i]);
        numbered->places[numbered->numbers[i]] = 0; /* for the next row group */
    }
    if (found == 0)
        parquet_nulls(&table->parquet);
    else if (repair_texts(table, numbered->count))
        parquet_texts(&table->parquet, table->places,
                      (struct parquet_dictionary){table->texts, numbered->count}, table->there);
    else
        fail(table);
    numbered->count = 0;
}

static const struct span_facts *facts_of(struct table *table, const struct trace_span *span)
{
    const struct known *known = known_of(table, span);
    return known ? &known->facts : &place_of(table, span->track)->facts;
}

static void put_fact(struct table *table, enum span_fact fact)
{
    if (!(table->facts >> fact & 1)) {
        parquet_nulls(&table->parquet);
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct span_facts *facts = facts_of(table, &table->rows[i]);
        table->there[i] = span_facts_has(facts, fact);
        table->values[i] = table->there[i] ? (int64_t)facts->value[fact] : 0;
    }
    parquet_integers(&table->parquet, table->values, table->there);
}

/* Optional ones are null where they are 0. */
static void put_values(struct table *table, int column)
{
    int64_t (*value)(struct table *, const struct trace_span *) = columns[column].source.value;
    int64_t first = value(table, &table->rows[0]), differing = 0;
    for (size_t i = 0; i < table->count; i++)
        differing |= first ^ (table->values[i] = value(table, &table->rows[i]));
    if (differing)
        parquet_integers(&table->parquet, table->values, table->values);
    else if (columns[column].column.optional && !first)
        parquet_nulls(&table->parquet);
    else
        parquet_constant(&table->parquet, first);
}

static void put_flag(struct table *table, uint8_t flag, bool lacks_it)
{
    if (!((table->some_flags ^ table->all_flags) & flag)) {
        parquet_constant(&table->parquet, ((table->all_flags & flag) != 0) != lacks_it);
        return;
    }
    for (size_t i = 0; i < table->count; i++)
        table->values[i] = ((table->rows[i].flags & flag) != 0) != lacks_it;
    parquet_integers(&table->parquet, table->values, NULL);
}

/* Mostly all runs say the same, and no row is looked at. */
static void put_of_track(struct table *table, const struct column_source *source)
{
    int64_t first, value;
    bool there = source->of_track(place_of(table, table->runs[0].track), &first), same = true;
    for (uint32_t i = 1; same && i < table->run_count; i++) {
        bool here = source->of_track(place_of(table, table->runs[i].track), &value);
        same = here == there && (!here || value == first);
    }
    if (same) {
        if (there)
            parquet_constant(&table->parquet, first);
        else
            parquet_nulls(&table->parquet);
        return;
    }
    size_t row = 0;
    for (uint32_t i = 0; i < table->run_count; i++) {
        there = source->of_track(place_of(table, table->runs[i].track), &value);
        for (size_t end = row + table->runs[i].rows; row < end; row++) {
            table->there[row] = there;
            table->values[row] = value;
        }
    }
    parquet_integers(&table->parquet, table->values, table->there);
}

static void put_group(struct table *table)
{
    parquet_group_begin(&table->parquet, table->count);
    for (int c = 0; c < COLUMNS && !table->failed; c++) {
        const struct column_source *source = &columns[c].source;
        if (source->text.number)
            put_texts(table, c);
        else if (source->value)
            put_values(table, c);
        else if (source->of_track)
            put_of_track(table, source);
        else if (source->flag)
            put_flag(table, source->flag, source->lacks_it);
        else
            put_fact(table, source->fact);
    }
    parquet_group_end(&table->parquet);
    table->count = table->known_count = table->facts = table->run_count = 0;
    table->arguments.count = 0;
}

/* ---- the sink ------------------------------------------------------------------------- */

/* The number of what is known of the span; 0 without memory. */
static uint32_t keep_known(struct table *table, const struct trace_detail *detail,
                           const struct span_facts *of_track)
{
    const struct trace *trace = table->pass->trace;
    if (!thread_array_grow(&table->known, &table->known_room, table->known_count + 1,
                           sizeof *table->known)) {
        fail(table);
        return 0;
    }
    struct known *known = &table->known[table->known_count];
    struct trace_text args = args_json_make(&table->args, trace, detail);
    if (args.bytes > UINT32_MAX - table->arguments.count)
        args.bytes = 0;
    known->facts = *of_track;
    span_facts_of_detail(trace, detail, &known->facts);
    known->category = detail->category;
    known->args = (uint32_t)table->arguments.count;
    known->args_bytes = args.bytes;
    bytes_put(&table->arguments, args.text, args.bytes);
    if (table->arguments.failed || table->args.failed)
        fail(table);
    table->facts |= known->facts.known;
    return ++table->known_count;
}

/* So many more rows of the track. */
static void add_run(struct table *table, uint32_t track, uint32_t rows)
{
    struct track_run *last = table->run_count ? &table->runs[table->run_count - 1] : NULL;
    if (last && last->track == track)
        last->rows += rows;
    else if (grow_array32(&table->runs, &table->run_room, table->run_count + 1,
                          sizeof *table->runs))
        table->runs[table->run_count++] = (struct track_run){track, rows};
    else
        fail(table);
}

static void add_rows(struct table *table, const struct trace_span *spans, size_t count,
                     const struct trace_details *details)
{
    struct trace_span *rows = table->rows + table->count;
    uint8_t some = table->count ? table->some_flags : 0;
    uint8_t all = table->count ? table->all_flags : UINT8_MAX;
    struct span_facts of_track;
    span_facts_of_track(table->pass->trace, spans[0].track, &of_track);
    table->facts |= of_track.known;
    add_run(table, spans[0].track, (uint32_t)count);
    memcpy(rows, spans, count * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        rows[i].detail = detail ? keep_known(table, detail, &of_track) : 0;
        some |= rows[i].flags;
        all &= rows[i].flags;
    }
    table->some_flags = some;
    table->all_flags = all;
    table->count += count;
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct table *table = context;
    while (count && !table->failed) {
        size_t room = GROUP_ROWS - table->count, taken = count < room ? count : room;
        add_rows(table, spans, taken, details);
        spans += taken;
        count -= taken;
        if (table->count == GROUP_ROWS && !table->failed)
            put_group(table);
    }
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
    for (int c = 0; table->numbered && c < COLUMNS; c++) {
        free(table->numbered[c].places);
        free(table->numbered[c].numbers);
    }
    free(table->numbered);
    args_json_free(&table->args);
    bytes_free(&table->arguments);
    free(table->known);
    free(table->runs);
    free(table->there);
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
    table->place.track = TRACE_NONE;
    table->tables.pass = pass;
    for (int c = 0; c < COLUMNS; c++)
        table->column_list[c] = columns[c].column;
    table->numbered = calloc(COLUMNS, sizeof *table->numbered);
    table->there = malloc(GROUP_ROWS * sizeof *table->there);
    table->rows = malloc(GROUP_ROWS * sizeof *table->rows);
    table->values = malloc(GROUP_ROWS * sizeof *table->values);
    table->places = malloc(GROUP_ROWS * sizeof *table->places);
    if (table->rows && table->values && table->places && table->numbered && table->there &&
        parquet_start(&table->parquet, &pass->out, table->column_list, COLUMNS))
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
    if (table->count && !table->failed)
        put_group(table);
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
    .maker.begin = begin,
    .maker.end = end,
};
