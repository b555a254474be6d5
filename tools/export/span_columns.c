/* SPDX-License-Identifier: Apache-2.0 */
#include "span_columns.h"

#include "span_value.h"

#include "export.h"
#include "message.h"

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

/* Rows behind each other that are of one track. */
struct span_run {
    uint32_t track, rows;
};

static void span_columns_fail(struct span_columns *columns)
{
    message_once(&columns->failed, "out of memory; columns of spans cannot be finished");
}

static const struct span_known *known_of(const struct span_columns *columns,
                                         const struct trace_span *span)
{
    return span->detail ? &columns->known[span->detail - 1] : NULL;
}

/* ---- the columns ---------------------------------------------------------------------- */

static struct trace_text process_text(const struct trace *trace, uint32_t number)
{
    return trace_process_of(trace, number)->name;
}
static struct trace_text track_text(const struct trace *trace, uint32_t number)
{
    return trace_track_of(trace, number)->name;
}
static struct trace_text kind_text(const struct trace *trace, uint32_t number)
{
    (void)trace;
    return trace_text(trace_track_kind_name[number]);
}
static struct trace_text category_text(const struct trace *trace, uint32_t number)
{
    (void)trace;
    return trace_text(trace_category_name[number]);
}

/* clang-format off */
#define MEMBER(source, of, member) SPAN_COLUMN_##source, offsetof(struct of, member), sizeof((struct of){0}.member)
#define SPAN(member) MEMBER(OF_SPAN, trace_span, member)
#define TRACK(member) MEMBER(OF_TRACK, trace_track, member)
#define PROCESS(member) MEMBER(OF_PROCESS, trace_process, member)
#define SOURCE(source, at) SPAN_COLUMN_##source, at, 0
#define SPAN_COLUMNS_COLUMN(name, line, type, optional, from) {name, line, SPAN_COLUMN_##type, optional, from, NULL, false}
#define OF_CPU(name, fact) {name, name, SPAN_COLUMN_ID, true, SOURCE(FACT, fact), NULL, true}
#define TEXT(name, optional, from, text) {name, name, SPAN_COLUMN_TEXT, optional, from, text, false}

static const struct span_column list[] = {
    SPAN_COLUMNS_COLUMN("start", "start_ns", TIME, false, SPAN(start_ns)),
    SPAN_COLUMNS_COLUMN("duration_ns", "duration_ns", LENGTH, false, SOURCE(DURATION, 0)),
    TEXT("process", false, TRACK(process), process_text),
    TEXT("track", false, TRACK(number), track_text),
    TEXT("track_kind", false, TRACK(kind), kind_text),
    TEXT("category", false, SPAN(category), category_text),
    TEXT("name", false, SPAN(name), trace_name_of),
    SPAN_COLUMNS_COLUMN("depth", "depth", NUMBER, false, SPAN(depth)),
    SPAN_COLUMNS_COLUMN("lane", "lane", NUMBER, false, SPAN(row)),
    SPAN_COLUMNS_COLUMN("item", "item", NUMBER, false, SPAN(item)),
    SPAN_COLUMNS_COLUMN("id", "id", ID, false, SPAN(id)),
    SPAN_COLUMNS_COLUMN("parent", "parent", ID, true, SPAN(parent)),
    SPAN_COLUMNS_COLUMN("finished", "finished", YES_OR_NO, false, SOURCE(FLAG_LACKS, TRACE_UNFINISHED)),
    SPAN_COLUMNS_COLUMN("instant", NULL, YES_OR_NO, false, SOURCE(FLAG, TRACE_INSTANT)),
    SPAN_COLUMNS_COLUMN("open", "open", YES_OR_NO, false, SOURCE(FLAG, TRACE_OPEN)),
    SPAN_COLUMNS_COLUMN("node", NULL, NUMBER, false, PROCESS(node)),
    SPAN_COLUMNS_COLUMN("process_id", NULL, ID, true, PROCESS(os_id)),
    SPAN_COLUMNS_COLUMN("os_thread_id", NULL, ID, true, TRACK(os_id)),
    SPAN_COLUMNS_COLUMN("thread_id", "thread_id", ID, true, SOURCE(TRACK_FACT, FACT_THREAD)),
    SPAN_COLUMNS_COLUMN("proc_id", "proc_id", ID, true, SOURCE(TRACK_FACT, FACT_PROCESSOR)),
    SPAN_COLUMNS_COLUMN("stream", "stream", ID, true, SOURCE(FACT, FACT_STREAM)),
    SPAN_COLUMNS_COLUMN("correlation", "correlation", ID, true, SOURCE(FACT, FACT_CORRELATION)),
    SPAN_COLUMNS_COLUMN("launch", "launch_ns", TIME, true, SOURCE(FACT, FACT_LAUNCH)),
    SPAN_COLUMNS_COLUMN("launch_thread_id", "launch_thread_id", ID, true, SOURCE(FACT, FACT_LAUNCH_THREAD)),
    SPAN_COLUMNS_COLUMN("launch_span", "launch_span", ID, true, SOURCE(FACT, FACT_LAUNCH_SPAN)),
    SPAN_COLUMNS_COLUMN("launch_inferred", "launch_inferred", YES_OR_NO, true, SOURCE(FACT, FACT_LAUNCH_INFERRED)),
    SPAN_COLUMNS_COLUMN("start_uncertain_ns", "start_uncertain_ns", ID, true, SOURCE(FACT, FACT_START_UNCERTAIN)),
    SPAN_COLUMNS_COLUMN("stop_uncertain_ns", "stop_uncertain_ns", ID, true, SOURCE(FACT, FACT_STOP_UNCERTAIN)),
    SPAN_COLUMNS_COLUMN("certain_ns", "certain_ns", ID, true, SOURCE(FACT, FACT_CERTAIN)),
    OF_CPU("running_ns", FACT_RUNNING),
    OF_CPU("runnable_ns", FACT_RUNNABLE),
    OF_CPU("waiting_ns", FACT_WAITING),
    TEXT("own_category", true, SOURCE(LABEL, 0), trace_label_of),
    TEXT("args", true, SOURCE(ARGS, 0), NULL),
};
/* clang-format on */
enum { COLUMNS = sizeof list / sizeof list[0] };
_Static_assert((int)COLUMNS <= (int)SPAN_COLUMNS_MAX, "they have room");

const struct span_column *span_column(int number)
{
    return &list[number];
}

int span_column_count(void)
{
    return COLUMNS;
}

bool span_column_is_there(int number, const struct trace_pass *pass)
{
    return pass->knows_cpu || !list[number].of_cpu;
}

uint64_t span_columns_of(const struct trace_pass *pass)
{
    uint64_t all = 0;
    for (int c = 0; c < COLUMNS; c++)
        all |= (uint64_t)span_column_is_there(c, pass) << c;
    return all;
}

int span_column_named(const char *name, size_t bytes)
{
    for (int c = 0; c < COLUMNS; c++)
        if (strlen(list[c].name) == bytes && memcmp(list[c].name, name, bytes) == 0)
            return c;
    return -1;
}

bool span_column_lasts(int column)
{
    return list[column].source != SPAN_COLUMN_ARGS;
}

struct trace_text span_columns_text(const struct span_columns *columns, int column, uint32_t number)
{
    if (list[column].text)
        return list[column].text(columns->pass->trace, number);
    const struct span_known *known = &columns->known[number - 1];
    return (struct trace_text){(const char *)columns->arguments.bytes + known->args,
                               known->args_bytes};
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

/* Those of a track mostly follow each other. */
static const struct span_facts *facts_of_track(struct span_columns *columns, uint32_t track)
{
    if (track != columns->track)
        span_facts_of_track(columns->pass->trace, track, &columns->of_track);
    columns->track = track;
    return &columns->of_track;
}

/* What all rows of a run have. */
static bool value_of_run(struct span_columns *columns, const struct span_column *column,
                         uint32_t run, int64_t *value_out)
{
    const struct trace_span span = {.track = columns->runs[run].track};
    const struct span_facts *facts =
        column->source == SPAN_COLUMN_TRACK_FACT ? facts_of_track(columns, span.track) : NULL;
    uint64_t value;
    bool there = span_column_value(column, columns->pass->trace, &span, facts, &value);
    *value_out = (int64_t)value;
    return there;
}

static void fill_runs(struct span_columns *columns, const struct span_column *column)
{
    size_t row = 0;
    for (uint32_t i = 0; i < columns->run_count; i++) {
        int64_t value;
        bool there = value_of_run(columns, column, i, &value);
        for (size_t end = row + columns->runs[i].rows; row < end; row++) {
            columns->values[row] = value;
            if (column->optional)
                columns->there[row] = there;
        }
    }
}

/* One of a span's own: loops over rows that are as many as columns, hence without calls. */
#define FILL(number)                                                                               \
    for (size_t i = 0; i < columns->count; i++, span++)                                            \
    values[i] = (int64_t)(number)
#define FILL_MEMBER(type) FILL(*(const type *)(const void *)((const char *)span + column->at))

static void fill_members(struct span_columns *columns, const struct span_column *column)
{
    const struct trace_span *span = columns->rows;
    int64_t *values = columns->values;
    if (column->bytes == sizeof(uint8_t))
        FILL_MEMBER(uint8_t);
    else if (column->bytes == sizeof(uint16_t))
        FILL_MEMBER(uint16_t);
    else if (column->bytes == sizeof(uint32_t))
        FILL_MEMBER(uint32_t);
    else
        FILL_MEMBER(uint64_t);
}

static uint32_t own_number(const struct span_known *known)
{
    return known ? known->category : 0;
}

static bool has_args(const struct span_known *known)
{
    return known && known->args_bytes;
}

static void span_columns_fill(struct span_columns *columns, const struct span_column *column)
{
    const struct trace_span *span = columns->rows;
    int64_t *values = columns->values;
    if (column->source == SPAN_COLUMN_OF_SPAN)
        fill_members(columns, column);
    else if (column->source == SPAN_COLUMN_OF_TRACK)
        fill_runs(columns, column);
    else if (column->source == SPAN_COLUMN_DURATION)
        FILL(trace_signed_duration_ns(span));
    else if (column->source == SPAN_COLUMN_LABEL)
        FILL(own_number(known_of(columns, span)));
    else
        FILL(has_args(known_of(columns, span)) ? span->detail : 0);
}

static struct span_column_part texts_part(struct span_columns *columns,
                                          const struct span_column *column)
{
    if (column->optional && columns->known_count == 0)
        return no_values;
    int64_t any = 0;
    span_columns_fill(columns, column);
    for (size_t i = 0; i < columns->count; i++)
        any |= columns->values[i];
    return column->optional && !any ? no_values : values_part(columns, columns->values);
}

static struct span_column_part facts_part(struct span_columns *columns, enum span_fact fact)
{
    if (!(columns->facts >> fact & 1))
        return no_values;
    for (size_t i = 0; i < columns->count; i++) {
        const struct trace_span *span = &columns->rows[i];
        const struct span_known *known = known_of(columns, span);
        const struct span_facts *facts =
            known ? &known->facts : facts_of_track(columns, span->track);
        columns->there[i] = span_facts_has(facts, fact);
        columns->values[i] = columns->there[i] ? (int64_t)facts->value[fact] : 0;
    }
    return values_part(columns, columns->there);
}

/* Optional ones are null where they are 0. */
static struct span_column_part numbers_part(struct span_columns *columns,
                                            const struct span_column *column)
{
    span_columns_fill(columns, column);
    int64_t first = columns->values[0], differing = 0;
    for (size_t i = 0; i < columns->count; i++)
        differing |= first ^ columns->values[i];
    if (differing)
        return values_part(columns, columns->values);
    return column->optional && !first ? no_values : constant_part(first);
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
static struct span_column_part runs_part(struct span_columns *columns,
                                         const struct span_column *column)
{
    int64_t first, value;
    bool there = value_of_run(columns, column, 0, &first), same = true;
    for (uint32_t i = 1; same && i < columns->run_count; i++) {
        bool here = value_of_run(columns, column, i, &value);
        same = here == there && (!here || value == first);
    }
    if (same)
        return there ? constant_part(first) : no_values;
    fill_runs(columns, column);
    return values_part(columns, columns->there);
}

struct span_column_part span_columns_part(struct span_columns *columns, int number)
{
    const struct span_column *column = &list[number];
    if (column->type == SPAN_COLUMN_TEXT)
        return texts_part(columns, column);
    switch (column->source) {
    case SPAN_COLUMN_FLAG:
    case SPAN_COLUMN_FLAG_LACKS:
        return flags_part(columns, column->at, column->source == SPAN_COLUMN_FLAG_LACKS);
    case SPAN_COLUMN_OF_TRACK:
    case SPAN_COLUMN_OF_PROCESS:
    case SPAN_COLUMN_TRACK_FACT:
        return runs_part(columns, column);
    case SPAN_COLUMN_FACT:
        return facts_part(columns, column->at);
    default:
        return numbers_part(columns, column);
    }
}

static void span_columns_put_group(struct span_columns *columns)
{
    columns->user.put(columns->user.context);
    columns->count = columns->known_count = columns->facts = columns->run_count = 0;
    columns->arguments.count = 0;
}

/* ---- gathering ------------------------------------------------------------------------ */

/* The number of what is known of the span; 0 without memory. */
static uint32_t keep_known(struct span_columns *columns, const struct trace_span *span,
                           const struct trace_detail *detail, const struct span_facts *of_track)
{
    const struct trace *trace = columns->pass->trace;
    if (!GROW_ZEROED(columns->known, columns->known_room, columns->known_count + 1)) {
        span_columns_fail(columns);
        return 0;
    }
    struct span_known *known = &columns->known[columns->known_count];
    struct trace_text args = columns->wants_args ? args_json_make(&columns->args, trace, detail)
                                                 : (struct trace_text){0};
    if (args.bytes > UINT32_MAX - columns->arguments.count)
        args.bytes = 0;
    known->facts = *of_track;
    span_facts_of_span(trace, span, detail, &known->facts);
    known->category = detail ? detail->category : 0;
    known->args = (uint32_t)columns->arguments.count;
    known->args_bytes = args.bytes;
    buffer_append(&columns->arguments, args.text, args.bytes);
    if (columns->arguments.failed || columns->args.failed)
        span_columns_fail(columns);
    columns->facts |= known->facts.known;
    return ++columns->known_count;
}

/* So many more rows of the track. */
static void add_run(struct span_columns *columns, uint32_t track, uint32_t rows)
{
    struct span_run *last = columns->run_count ? &columns->runs[columns->run_count - 1] : NULL;
    if (last && last->track == track)
        last->rows += rows;
    else if (GROW_ARRAY(columns->runs, columns->run_room, columns->run_count + 1))
        columns->runs[columns->run_count++] = (struct span_run){track, rows};
    else
        span_columns_fail(columns);
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
        rows[i].detail = span_facts_any(&spans[i], detail)
                             ? keep_known(columns, &spans[i], detail, &of_track)
                             : 0;
        some |= rows[i].flags;
        all &= rows[i].flags;
    }
    columns->some_flags = some;
    columns->all_flags = all;
    columns->count += count;
}

static void span_columns_on_spans(void *context, const struct trace_span *spans, size_t count,
                                  const struct trace_details *details)
{
    struct span_columns *columns = context;
    while (count && !columns->failed) {
        size_t room = SPAN_GROUP_ROWS - columns->count, taken = count < room ? count : room;
        add_rows(columns, spans, taken, details);
        spans += taken;
        count -= taken;
        if (columns->count == SPAN_GROUP_ROWS && !columns->failed)
            span_columns_put_group(columns);
    }
}

void span_columns_finish(struct span_columns *columns)
{
    if (columns->count && !columns->failed)
        span_columns_put_group(columns);
}

static void span_columns_on_link(void *context, const struct trace_link *link)
{
    struct span_columns *columns = context;
    columns->dropped.links += link->kind != TRACE_LAUNCH;
}

static void span_columns_on_fact(void *context, const char *key, struct trace_text value)
{
    const struct span_columns *columns = context;
    columns->user.fact(columns->user.context, key, value);
}

static void span_columns_on_loss(void *context, const struct trace_loss *loss)
{
    struct span_columns *columns = context;
    char key[32], value[256];
    const char *what = loss->refused                 ? "calls refused"
                       : loss->count || !loss->bytes ? "records"
                                                     : "bytes of the file";
    snprintf(key, sizeof key, "loss.%" PRIu64, columns->losses++);
    snprintf(value, sizeof value, "%" PRIu64 " %s, process %" PRIu32 ", %.*s",
             loss->count ? loss->count : loss->bytes, what, loss->process, (int)loss->cause.bytes,
             loss->cause.text);
    span_columns_on_fact(columns, key, trace_text(value));
}

static bool span_columns_is_full(void *context)
{
    const struct span_columns *columns = context;
    return columns->failed || columns->user.failed(columns->user.context) ||
           out_failed(&columns->pass->out);
}

struct trace_sink span_columns_sink(struct span_columns *columns)
{
    return (struct trace_sink){.context = columns,
                               .spans = span_columns_on_spans,
                               .link = span_columns_on_link,
                               .loss = span_columns_on_loss,
                               .fact = span_columns_on_fact,
                               .full = span_columns_is_full};
}

bool span_columns_make(struct span_columns *columns, const struct trace_pass *pass,
                       const struct span_columns_user *user)
{
    const uint64_t chosen = export_options_of(pass)->columns;
    *columns = (struct span_columns){.pass = pass, .user = *user};
    columns->chosen = chosen ? chosen : span_columns_of(pass);
    for (int c = 0; c < COLUMNS; c++)
        columns->wants_args |= span_columns_wants(columns, c) && !span_column_lasts(c);
    columns->track = TRACE_NONE;
    columns->there = malloc(SPAN_GROUP_ROWS * sizeof *columns->there);
    columns->rows = malloc(SPAN_GROUP_ROWS * sizeof *columns->rows);
    columns->values = malloc(SPAN_GROUP_ROWS * sizeof *columns->values);
    return columns->there && columns->rows && columns->values;
}

void span_columns_free(struct span_columns *columns)
{
    args_json_free(&columns->args);
    buffer_free(&columns->arguments);
    free(columns->known);
    free(columns->runs);
    free(columns->there);
    free(columns->values);
    free(columns->rows);
}

static void span_facts_set(struct span_facts *facts, enum span_fact fact, uint64_t value)
{
    facts->known |= 1u << fact;
    facts->value[fact] = value;
}

void span_facts_of_track(const struct trace *trace, uint32_t number, struct span_facts *facts)
{
    facts->known = 0;
    while (number != TRACE_NONE) {
        const struct trace_track *track = trace_track_of(trace, number);
        if (track->kind == TRACE_THREAD)
            span_facts_set(facts, FACT_THREAD, track->id);
        else if (track->kind == TRACE_GPU || track->kind == TRACE_PROCESSOR)
            span_facts_set(facts, FACT_PROCESSOR, track->id);
        else if (track->kind == TRACE_STREAM)
            span_facts_set(facts, FACT_STREAM, track->id);
        number = track->parent;
    }
}

static void facts_of_cpu(const struct trace_span *span, const struct trace_detail *detail,
                         struct span_facts *facts)
{
    const struct trace_cpu cpu = trace_cpu_of(span, detail);
    const bool ran = span->flags & TRACE_RAN, has = detail && detail->flags & TRACE_HAS_CPU;
    if (ran || (has && detail->running_ns >= 0))
        span_facts_set(facts, FACT_RUNNING, cpu.running_ns);
    if (ran || (has && detail->runnable_ns >= 0))
        span_facts_set(facts, FACT_RUNNABLE, cpu.runnable_ns);
    if (ran || (has && detail->running_ns >= 0 && detail->runnable_ns >= 0))
        span_facts_set(facts, FACT_WAITING, cpu.waiting_ns);
}

bool span_facts_any(const struct trace_span *span, const struct trace_detail *detail)
{
    return detail || span->flags & TRACE_RAN;
}

void span_facts_of_span(const struct trace *trace, const struct trace_span *span,
                        const struct trace_detail *detail, struct span_facts *facts)
{
    facts_of_cpu(span, detail, facts);
    if (!detail)
        return;
    /* A stream that is no track is an argument. */
    if (!span_facts_has(facts, FACT_STREAM) && !span_facts_has(facts, FACT_THREAD)) {
        for (uint32_t i = 0; i < detail->arg_count; i++) {
            const struct trace_arg *arg = &trace_args_of(detail)[i];
            struct trace_text key = trace_name_of(trace, arg->key);
            if (arg->type == TRACE_ARG_U64 && trace_text_is(key, "stream"))
                span_facts_set(facts, FACT_STREAM, arg->value.u64);
        }
    }
    if (detail->correlation)
        span_facts_set(facts, FACT_CORRELATION, detail->correlation);
    if (detail->thread_id)
        span_facts_set(facts, FACT_LAUNCH_THREAD, detail->thread_id);
    if (detail->launch_span)
        span_facts_set(facts, FACT_LAUNCH_SPAN, detail->launch_span);
    if (detail->flags & TRACE_HAS_LAUNCH) {
        span_facts_set(facts, FACT_LAUNCH, (uint64_t)detail->launch_ns);
        span_facts_set(facts, FACT_LAUNCH_INFERRED, (detail->flags & TRACE_INFERRED) != 0);
    }
    if (detail->flags & TRACE_HAS_BOUNDS) {
        span_facts_set(facts, FACT_START_UNCERTAIN, detail->start_uncertain_ns);
        span_facts_set(facts, FACT_STOP_UNCERTAIN, detail->stop_uncertain_ns);
        span_facts_set(facts, FACT_CERTAIN, detail->certain_ns);
    }
}
