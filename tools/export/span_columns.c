/* SPDX-License-Identifier: Apache-2.0 */
#include "span_columns.h"
#include "export.h"
#include "grow.h"
#include "message.h"
#include "thread_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a span of the group has beyond its struct trace_span. */
struct span_known {
    struct span_facts facts;
    uint32_t category;         /* a label */
    uint32_t args, args_bytes; /* where its arguments are */
};

/* Puts the numbers of a column into columns->values, of all rows of the group. */
typedef void fill_fn(struct span_columns *columns);

/* Where a column's texts come from. Of an optional column number 0 is none. */
struct text_source {
    fill_fn *numbers;
    struct trace_text (*text)(const struct span_columns *columns, uint32_t number);
};

/* Rows behind each other that are of one track. */
struct span_run {
    uint32_t track, rows;
};

static void fail(struct span_columns *columns)
{
    if (!columns->failed)
        message("out of memory; columns of spans cannot be finished");
    columns->failed = true;
}

static const struct span_known *known_of(const struct span_columns *columns,
                                         const struct trace_span *span)
{
    return span->detail ? &columns->known[span->detail - 1] : NULL;
}

/* One of a span's own: loops over rows that are as many as columns, hence without calls. */
#define FILL(function, number)                                                                     \
    static void function(struct span_columns *columns)                                             \
    {                                                                                              \
        const struct trace_span *span = columns->rows;                                             \
        int64_t *values = columns->values;                                                         \
        for (size_t i = 0; i < columns->count; i++, span++)                                        \
            values[i] = (int64_t)(number);                                                         \
    }

/* The same of all rows of a run. */
static void fill_runs(struct span_columns *columns,
                      uint32_t (*number)(const struct trace *trace, uint32_t track))
{
    size_t row = 0;
    for (uint32_t i = 0; i < columns->run_count; i++) {
        int64_t value = number(columns->pass->trace, columns->runs[i].track);
        for (size_t end = row + columns->runs[i].rows; row < end; row++)
            columns->values[row] = value;
    }
}

/* ---- columns of texts ----------------------------------------------------------------- */

static uint32_t process_of(const struct trace *trace, uint32_t track)
{
    return trace_track_of(trace, track)->process;
}
static void process_numbers(struct span_columns *columns)
{
    fill_runs(columns, process_of);
}
static struct trace_text process_text(const struct span_columns *columns, uint32_t number)
{
    return trace_process_of(columns->pass->trace, number)->name;
}
static uint32_t itself(const struct trace *trace, uint32_t track)
{
    (void)trace;
    return track;
}
static void track_numbers(struct span_columns *columns)
{
    fill_runs(columns, itself);
}
static struct trace_text track_text(const struct span_columns *columns, uint32_t number)
{
    return trace_track_of(columns->pass->trace, number)->name;
}
static uint32_t kind_of(const struct trace *trace, uint32_t track)
{
    return trace_track_of(trace, track)->kind;
}
static void kind_numbers(struct span_columns *columns)
{
    fill_runs(columns, kind_of);
}
static struct trace_text kind_text(const struct span_columns *columns, uint32_t number)
{
    (void)columns;
    return trace_text(trace_track_kind_name[number]);
}
FILL(category_numbers, span->category)
static struct trace_text category_text(const struct span_columns *columns, uint32_t number)
{
    (void)columns;
    return trace_text(trace_category_name[number]);
}
FILL(name_numbers, span->name)
static struct trace_text name_text(const struct span_columns *columns, uint32_t number)
{
    return trace_name_of(columns->pass->trace, number);
}
static uint32_t own_number(const struct span_known *known)
{
    return known ? known->category : 0;
}
FILL(own_numbers, own_number(known_of(columns, span)))
static struct trace_text own_text(const struct span_columns *columns, uint32_t number)
{
    return trace_label_of(columns->pass->trace, number);
}
static bool has_args(const struct span_known *known)
{
    return known && known->args_bytes;
}
FILL(args_numbers, has_args(known_of(columns, span)) ? span->detail : 0)
static struct trace_text args_text(const struct span_columns *columns, uint32_t number)
{
    const struct span_known *known = &columns->known[number - 1];
    return (struct trace_text){(const char *)columns->arguments.bytes + known->args,
                               known->args_bytes};
}

/* ---- columns of numbers --------------------------------------------------------------- */

FILL(start_values, span->start_ns)
FILL(duration_values, trace_signed_duration_ns(span))
FILL(depth_values, span->depth)
FILL(lane_values, span->row)
FILL(item_values, span->item)
FILL(id_values, span->id)
FILL(parent_values, span->parent)

/* Those of a track mostly follow each other. */
static const struct span_place *place_of(struct span_columns *columns, uint32_t number)
{
    const struct trace *trace = columns->pass->trace;
    struct span_place *place = &columns->place;
    if (number != place->track) {
        const struct trace_track *track = trace_track_of(trace, number);
        const struct trace_process *process = trace_process_of(trace, track->process);
        *place = (struct span_place){.track = number,
                                     .node = process->node,
                                     .process_id = (int64_t)process->os_id,
                                     .thread_id = (int64_t)track->os_id};
        span_facts_of_track(trace, number, &place->facts);
    }
    return place;
}

static bool node_value(const struct span_place *place, int64_t *value_out)
{
    *value_out = place->node;
    return true;
}
static bool pid_value(const struct span_place *place, int64_t *value_out)
{
    *value_out = place->process_id;
    return *value_out;
}
static bool tid_value(const struct span_place *place, int64_t *value_out)
{
    *value_out = place->thread_id;
    return *value_out;
}
static bool thread_value(const struct span_place *place, int64_t *value_out)
{
    *value_out = (int64_t)place->facts.value[FACT_THREAD];
    return span_facts_has(&place->facts, FACT_THREAD);
}
static bool processor_value(const struct span_place *place, int64_t *value_out)
{
    *value_out = (int64_t)place->facts.value[FACT_PROCESSOR];
    return span_facts_has(&place->facts, FACT_PROCESSOR);
}

/* ---- the columns ---------------------------------------------------------------------- */

/* One of them; without any other it is the fact. */
struct column_source {
    fill_fn *values;                                                      /* 0 may be null */
    bool (*of_track)(const struct span_place *place, int64_t *value_out); /* false: null */
    struct text_source text;
    uint8_t flag;  /* enum trace_flag: whether a span has it, */
    bool lacks_it; /* or lacks it */
    enum span_fact fact;
};

/* clang-format off */
#define REQUIRED(name, type, from) {{name, type, false}, {.values = from}}
#define OPTIONAL(name, type, from) {{name, type, true}, {.values = from}}
#define OF_TRACK(name, type, maybe, from) {{name, type, maybe}, {.of_track = from}}
#define FLAG(name, which, not) {{name, SPAN_COLUMN_YES_OR_NO, false}, {.flag = which, .lacks_it = not}}
#define FACT(name, type, from) {{name, type, true}, {.fact = from}}
#define TEXT(name, maybe, from, of) {{name, SPAN_COLUMN_TEXT, maybe}, {.text = {from, of}}}
/* clang-format on */

static const struct {
    struct span_column column;
    struct column_source source;
} list[] = {
    REQUIRED("start", SPAN_COLUMN_TIME, start_values),
    REQUIRED("duration_ns", SPAN_COLUMN_LENGTH, duration_values),
    TEXT("process", false, process_numbers, process_text),
    TEXT("track", false, track_numbers, track_text),
    TEXT("track_kind", false, kind_numbers, kind_text),
    TEXT("category", false, category_numbers, category_text),
    TEXT("name", false, name_numbers, name_text),
    REQUIRED("depth", SPAN_COLUMN_NUMBER, depth_values),
    REQUIRED("lane", SPAN_COLUMN_NUMBER, lane_values),
    REQUIRED("item", SPAN_COLUMN_NUMBER, item_values),
    REQUIRED("id", SPAN_COLUMN_ID, id_values),
    OPTIONAL("parent", SPAN_COLUMN_ID, parent_values),
    FLAG("finished", TRACE_UNFINISHED, true),
    FLAG("instant", TRACE_INSTANT, false),
    FLAG("open", TRACE_OPEN, false),
    OF_TRACK("node", SPAN_COLUMN_NUMBER, false, node_value),
    OF_TRACK("process_id", SPAN_COLUMN_ID, true, pid_value),
    OF_TRACK("os_thread_id", SPAN_COLUMN_ID, true, tid_value),
    OF_TRACK("thread_id", SPAN_COLUMN_ID, true, thread_value),
    OF_TRACK("proc_id", SPAN_COLUMN_ID, true, processor_value),
    FACT("stream", SPAN_COLUMN_ID, FACT_STREAM),
    FACT("correlation", SPAN_COLUMN_ID, FACT_CORRELATION),
    FACT("launch", SPAN_COLUMN_TIME, FACT_LAUNCH),
    FACT("launch_thread_id", SPAN_COLUMN_ID, FACT_LAUNCH_THREAD),
    FACT("launch_span", SPAN_COLUMN_ID, FACT_LAUNCH_SPAN),
    FACT("launch_inferred", SPAN_COLUMN_YES_OR_NO, FACT_LAUNCH_INFERRED),
    FACT("start_uncertain_ns", SPAN_COLUMN_ID, FACT_START_UNCERTAIN),
    FACT("stop_uncertain_ns", SPAN_COLUMN_ID, FACT_STOP_UNCERTAIN),
    FACT("certain_ns", SPAN_COLUMN_ID, FACT_CERTAIN),
    TEXT("own_category", true, own_numbers, own_text),
    TEXT("args", true, args_numbers, args_text),
};
enum { COLUMNS = sizeof list / sizeof list[0] };
_Static_assert((int)COLUMNS <= (int)SPAN_COLUMNS_MAX, "they have room");

const struct span_column *span_column(int number)
{
    return &list[number].column;
}

int span_column_count(void)
{
    return COLUMNS;
}

int span_column_named(const char *name, size_t bytes)
{
    for (int c = 0; c < COLUMNS; c++)
        if (strlen(list[c].column.name) == bytes && memcmp(list[c].column.name, name, bytes) == 0)
            return c;
    return -1;
}

bool span_column_lasts(int column)
{
    return list[column].source.text.numbers != args_numbers;
}

struct trace_text span_columns_text(const struct span_columns *columns, int column, uint32_t number)
{
    return list[column].source.text.text(columns, number);
}

/* ---- from rows to columns ------------------------------------------------------------- */

static struct span_column_part constant_part(int64_t value)
{
    return (struct span_column_part){.form = SPAN_COLUMN_CONSTANT, .constant = value};
}

static struct span_column_part values_part(struct span_columns *columns, const int64_t *there)
{
    return (struct span_column_part){
        .form = SPAN_COLUMN_VALUES, .values = columns->values, .there = there};
}

static const struct span_column_part no_values = {.form = SPAN_COLUMN_NULLS};

static struct span_column_part numbers_of_texts(struct span_columns *columns, int column)
{
    const struct text_source *source = &list[column].source.text;
    if (list[column].column.optional && columns->known_count == 0)
        return no_values;
    int64_t any = 0;
    source->numbers(columns);
    for (size_t i = 0; i < columns->count; i++)
        any |= columns->values[i];
    return list[column].column.optional && !any ? no_values : values_part(columns, columns->values);
}

static const struct span_facts *facts_of(struct span_columns *columns,
                                         const struct trace_span *span)
{
    const struct span_known *known = known_of(columns, span);
    return known ? &known->facts : &place_of(columns, span->track)->facts;
}

static struct span_column_part facts_part(struct span_columns *columns, enum span_fact fact)
{
    if (!(columns->facts >> fact & 1))
        return no_values;
    for (size_t i = 0; i < columns->count; i++) {
        const struct span_facts *facts = facts_of(columns, &columns->rows[i]);
        columns->there[i] = span_facts_has(facts, fact);
        columns->values[i] = columns->there[i] ? (int64_t)facts->value[fact] : 0;
    }
    return values_part(columns, columns->there);
}

/* Optional ones are null where they are 0. */
static struct span_column_part numbers_part(struct span_columns *columns, int column)
{
    list[column].source.values(columns);
    int64_t first = columns->values[0], differing = 0;
    for (size_t i = 0; i < columns->count; i++)
        differing |= first ^ columns->values[i];
    if (differing)
        return values_part(columns, columns->values);
    return list[column].column.optional && !first ? no_values : constant_part(first);
}

static struct span_column_part flags_part(struct span_columns *columns, uint8_t flag, bool lacks_it)
{
    if (!((columns->some_flags ^ columns->all_flags) & flag))
        return constant_part(((columns->all_flags & flag) != 0) != lacks_it);
    for (size_t i = 0; i < columns->count; i++)
        columns->values[i] = ((columns->rows[i].flags & flag) != 0) != lacks_it;
    return values_part(columns, NULL);
}

/* Mostly all runs say the same, and no row is looked at. */
static struct span_column_part track_part(struct span_columns *columns,
                                          const struct column_source *source)
{
    int64_t first, value;
    bool there = source->of_track(place_of(columns, columns->runs[0].track), &first), same = true;
    for (uint32_t i = 1; same && i < columns->run_count; i++) {
        bool here = source->of_track(place_of(columns, columns->runs[i].track), &value);
        same = here == there && (!here || value == first);
    }
    if (same)
        return there ? constant_part(first) : no_values;
    size_t row = 0;
    for (uint32_t i = 0; i < columns->run_count; i++) {
        there = source->of_track(place_of(columns, columns->runs[i].track), &value);
        for (size_t end = row + columns->runs[i].rows; row < end; row++) {
            columns->there[row] = there;
            columns->values[row] = value;
        }
    }
    return values_part(columns, columns->there);
}

struct span_column_part span_columns_part(struct span_columns *columns, int number)
{
    const struct column_source *source = &list[number].source;
    if (source->text.numbers)
        return numbers_of_texts(columns, number);
    if (source->values)
        return numbers_part(columns, number);
    if (source->of_track)
        return track_part(columns, source);
    if (source->flag)
        return flags_part(columns, source->flag, source->lacks_it);
    return facts_part(columns, source->fact);
}

static void put_group(struct span_columns *columns)
{
    columns->put(columns->context);
    columns->count = columns->known_count = columns->facts = columns->run_count = 0;
    columns->arguments.count = 0;
}

/* ---- gathering ------------------------------------------------------------------------ */

/* The number of what is known of the span; 0 without memory. */
static uint32_t keep_known(struct span_columns *columns, const struct trace_detail *detail,
                           const struct span_facts *of_track)
{
    const struct trace *trace = columns->pass->trace;
    if (!thread_array_grow(&columns->known, &columns->known_room, columns->known_count + 1,
                           sizeof *columns->known)) {
        fail(columns);
        return 0;
    }
    struct span_known *known = &columns->known[columns->known_count];
    struct trace_text args = columns->wants_args ? args_json_make(&columns->args, trace, detail)
                                                 : (struct trace_text){0};
    if (args.bytes > UINT32_MAX - columns->arguments.count)
        args.bytes = 0;
    known->facts = *of_track;
    span_facts_of_detail(trace, detail, &known->facts);
    known->category = detail->category;
    known->args = (uint32_t)columns->arguments.count;
    known->args_bytes = args.bytes;
    bytes_put(&columns->arguments, args.text, args.bytes);
    if (columns->arguments.failed || columns->args.failed)
        fail(columns);
    columns->facts |= known->facts.known;
    return ++columns->known_count;
}

/* So many more rows of the track. */
static void add_run(struct span_columns *columns, uint32_t track, uint32_t rows)
{
    struct span_run *last = columns->run_count ? &columns->runs[columns->run_count - 1] : NULL;
    if (last && last->track == track)
        last->rows += rows;
    else if (grow_array32(&columns->runs, &columns->run_room, columns->run_count + 1,
                          sizeof *columns->runs))
        columns->runs[columns->run_count++] = (struct span_run){track, rows};
    else
        fail(columns);
}

static void add_rows(struct span_columns *columns, const struct trace_span *spans, size_t count,
                     const struct trace_details *details)
{
    struct trace_span *rows = columns->rows + columns->count;
    uint8_t some = columns->count ? columns->some_flags : 0;
    uint8_t all = columns->count ? columns->all_flags : UINT8_MAX;
    struct span_facts of_track;
    span_facts_of_track(columns->pass->trace, spans[0].track, &of_track);
    columns->facts |= of_track.known;
    add_run(columns, spans[0].track, (uint32_t)count);
    memcpy(rows, spans, count * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        rows[i].detail = detail ? keep_known(columns, detail, &of_track) : 0;
        some |= rows[i].flags;
        all &= rows[i].flags;
    }
    columns->some_flags = some;
    columns->all_flags = all;
    columns->count += count;
}

void span_columns_take(struct span_columns *columns, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    while (count && !columns->failed) {
        size_t room = SPAN_GROUP_ROWS - columns->count, taken = count < room ? count : room;
        add_rows(columns, spans, taken, details);
        spans += taken;
        count -= taken;
        if (columns->count == SPAN_GROUP_ROWS && !columns->failed)
            put_group(columns);
    }
}

void span_columns_finish(struct span_columns *columns)
{
    if (columns->count && !columns->failed)
        put_group(columns);
}

bool span_columns_make(struct span_columns *columns, const struct trace_pass *pass,
                       void (*put)(void *context), void *context)
{
    uint32_t chosen = export_options_of(pass)->columns;
    *columns = (struct span_columns){.pass = pass, .put = put, .context = context};
    columns->chosen = chosen ? chosen : (uint32_t)((UINT64_C(1) << COLUMNS) - 1);
    for (int c = 0; c < COLUMNS; c++)
        columns->wants_args |= span_columns_wants(columns, c) && !span_column_lasts(c);
    columns->place.track = TRACE_NONE;
    columns->there = malloc(SPAN_GROUP_ROWS * sizeof *columns->there);
    columns->rows = malloc(SPAN_GROUP_ROWS * sizeof *columns->rows);
    columns->values = malloc(SPAN_GROUP_ROWS * sizeof *columns->values);
    return columns->there && columns->rows && columns->values;
}

void span_columns_free(struct span_columns *columns)
{
    args_json_free(&columns->args);
    bytes_free(&columns->arguments);
    free(columns->known);
    free(columns->runs);
    free(columns->there);
    free(columns->values);
    free(columns->rows);
}

void span_loss_text(struct span_loss_text *text, const struct trace_loss *loss, uint64_t number)
{
    snprintf(text->key, sizeof text->key, "loss.%" PRIu64, number);
    const char *what = loss->refused                 ? "calls refused"
                       : loss->count || !loss->bytes ? "records"
                                                     : "bytes of the file";
    snprintf(text->value, sizeof text->value, "%" PRIu64 " %s, process %" PRIu32 ", %.*s",
             loss->count ? loss->count : loss->bytes, what, loss->process, (int)loss->cause.bytes,
             loss->cause.text);
}
