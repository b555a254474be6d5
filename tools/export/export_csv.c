/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as lines: CSV (RFC 4180), TSV and NDJSON, with the columns of span_columns.h.
 *
 * Times are integers in nanoseconds: start counts from 1970, so that lines
 * of several exports can be joined. Texts are cells (result_print.h).
 *
 * Lines know nothing of each other: they are made in chunks, on all threads, and written in order.
 */
#include "export.h"
#include "json_text.h"
#include "message.h"
#include "span_value.h"

#include <stdio.h>
#include <stdlib.h>

/* How a line is put together. */
struct shape {
    const char *name;
    char between[2];
    bool has_keys; /* and then no cells for what is not known; and words for truth values, which
                      databases read from text as 0 and 1 */
    const char *begin, *end;
};
static const struct shape csv = {"csv", ",", false, "", "\n"};
static const struct shape tsv = {"tsv", "\t", false, "", "\n"};
static const struct shape ndjson = {"ndjson", ",", true, "{", "}\n"};

/* A column that lines have, and what stands before its value. */
struct line_column {
    struct span_column column;
    char before[31]; /* copied as a whole: that is faster than by its length */
    uint8_t before_bytes;
    bool is_plain_number; /* without sign, of the span alone */
};

/* Those of a track follow each other, and behind the last of a span alone all are of its detail:
 * lines of a track without one have them in common. */
struct line_columns {
    struct line_column list[SPAN_COLUMNS_MAX];
    int count, track_first, track_end, detail_first;
};

/* Text that lines of a track have in common, in the shape of the lines. */
struct common {
    char text[1024];
    uint32_t bytes; /* 0: it is not known, or too long */
};

/* Puts lines together, on any thread. */
struct writer {
    const struct trace *trace;
    struct out *out;
    const struct shape *shape;
    const struct line_columns *columns;
    bool raw_text;
    struct args_json args;
    uint32_t track; /* that came last; TRACE_NONE: there was none */
    struct span_facts facts;
    struct common place, end; /* what is in the middle of a line, and its end without a detail */
};

enum { CHUNK_SPANS = 4096 };

/* Spans that become lines together. */
struct csv_chunk {
    struct writer writer;
    struct trace_span spans[CHUNK_SPANS];
    uint32_t count;
    struct trace_details details; /* of all of them */
    struct out out;               /* into memory: what its buffer does not hold goes to text */
    struct buffer text;
};

struct lines {
    struct trace_pass *pass;
    const struct shape *shape;
    struct line_columns columns;
    struct ordered_jobs *jobs;
    struct csv_chunk *chunk; /* being filled; NULL: none */
    bool failed;             /* arguments are dropped */
    bool cut;                /* lines are */
    struct dropped dropped;
};

/* ---- columns ---------------------------------------------------------------------- */

static bool is_of_track(const struct line_column *column)
{
    return column->column.source == SPAN_COLUMN_OF_TRACK;
}

static void find_columns(struct line_columns *columns, const struct shape *shape,
                         const struct trace_pass *pass)
{
    for (int c = 0; c < span_column_count(); c++) {
        struct line_column *made = &columns->list[columns->count];
        const struct span_column *column = span_column(c);
        if (!column->line_name || !span_column_is_there(c, pass))
            continue;
        *made = (struct line_column){.column = *column};
        made->before_bytes = (uint8_t)snprintf(
            made->before, sizeof made->before, shape->has_keys ? "%s\"%s\":" : "%s",
            columns->count ? shape->between : shape->begin, column->line_name);
        made->is_plain_number =
            column->source == SPAN_COLUMN_OF_SPAN &&
            (column->type == SPAN_COLUMN_ID || column->type == SPAN_COLUMN_NUMBER);
        columns->count++;
        if (column->source < SPAN_COLUMN_OF_PROCESS)
            columns->detail_first = columns->count;
    }
    while (!is_of_track(&columns->list[columns->track_first]))
        columns->track_first++;
    columns->track_end = columns->track_first;
    while (is_of_track(&columns->list[columns->track_end]))
        columns->track_end++;
}

/* Room for a number behind it. */
static char *put_before(struct out *out, const struct line_column *column)
{
    char *at = out_room(out, sizeof column->before + DIGITS_MAX);
    memcpy(at, column->before, sizeof column->before);
    return at + column->before_bytes;
}

static void write_before(struct out *out, const struct line_column *column)
{
    out_end(out, put_before(out, column));
}

static void csv_write_text(struct writer *writer, const struct line_column *column,
                           struct trace_text text)
{
    struct out *out = writer->out;
    if (writer->shape == &ndjson) {
        out_bytes(out, ",", 1);
        json_name(out, column->column.line_name, text.text, text.bytes);
        return;
    }
    write_before(writer->out, column);
    if (writer->shape == &csv)
        cell_csv(out, text, writer->raw_text);
    else
        cell_tsv(out, text, writer->raw_text);
}

static inline void write_unsigned(struct out *out, const struct line_column *column, uint64_t value)
{
    char *at = put_before(out, column);
    if (value < 10) /* nearly all */
        *at++ = (char)('0' + value);
    else
        at = put_u64(at, value);
    out_end(out, at);
}

static void write_number(struct writer *writer, const struct line_column *column, uint64_t value)
{
    if (column->column.type == SPAN_COLUMN_TIME) {
        write_before(writer->out, column);
        out_i64(writer->out, (int64_t)value);
    } else if (column->column.type == SPAN_COLUMN_YES_OR_NO && writer->shape->has_keys) {
        write_before(writer->out, column);
        out_text(writer->out, value ? "true" : "false");
    } else {
        write_unsigned(writer->out, column, value);
    }
}

static void write_detail(struct writer *writer, const struct line_column *column,
                         const struct trace_detail *detail)
{
    bool is_label = column->column.source == SPAN_COLUMN_LABEL;
    struct trace_text text = is_label ? trace_label_of(writer->trace, detail ? detail->category : 0)
                                      : args_json_make(&writer->args, writer->trace, detail);
    if (!text.bytes && writer->shape->has_keys)
        return;
    if (is_label) {
        csv_write_text(writer, column, text);
        return;
    }
    write_before(writer->out, column);
    if (writer->shape == &csv)
        cell_csv(writer->out, text, true); /* JSON is safe to show, and one line */
    else
        out_bytes(writer->out, text.text, text.bytes);
}

/* What is not known is empty, in JSON not there; of a span's own number it is 0. */
static void write_columns(struct writer *writer, int first, int end, const struct trace_span *span,
                          const struct trace_detail *detail, const struct span_facts *facts)
{
    for (int c = first; c < end; c++) {
        const struct line_column *made = &writer->columns->list[c];
        const struct span_column *column = &made->column;
        uint64_t value;
        if (made->is_plain_number) { /* the quickest way for most of them */
            write_unsigned(writer->out, made, span_column_member(column, span));
            continue;
        }
        if (column->source >= SPAN_COLUMN_LABEL) {
            write_detail(writer, made, detail);
            continue;
        }
        bool known = span_column_value(column, writer->trace, span, facts, &value);
        if (column->text)
            csv_write_text(writer, made, column->text(writer->trace, (uint32_t)value));
        else if (known || column->source == SPAN_COLUMN_OF_SPAN)
            write_number(writer, made, value);
        else if (!writer->shape->has_keys)
            write_before(writer->out, made);
    }
    if (end == writer->columns->count)
        out_text(writer->out, writer->shape->end);
}

/* From a column on, which all lines of the track have in common: it is made once, and so that it
 * lies in one piece. */
static void write_common(struct writer *writer, struct common *common, int first, int end,
                         const struct trace_span *span)
{
    struct out *out = writer->out;
    if (common->bytes) {
        out_bytes(out, common->text, common->bytes);
        return;
    }
    out_end(out, out_room(out, sizeof common->text));
    size_t begin = out->used;
    write_columns(writer, first, end, span, NULL, &writer->facts);
    size_t bytes = out->used - begin;
    common->bytes = out->used >= begin && bytes <= sizeof common->text ? (uint32_t)bytes : 0;
    if (common->bytes)
        memcpy(common->text, out->buffer + begin, bytes);
}

static void csv_write_span(struct writer *writer, const struct trace_span *span,
                           const struct trace_detail *detail)
{
    const struct line_columns *columns = writer->columns;
    if (writer->track != span->track) {
        writer->track = span->track;
        span_facts_of_track(writer->trace, span->track, &writer->facts);
        writer->place.bytes = writer->end.bytes = 0;
    }
    write_columns(writer, 0, columns->track_first, span, detail, NULL);
    write_common(writer, &writer->place, columns->track_first, columns->track_end, span);
    write_columns(writer, columns->track_end, columns->detail_first, span, detail, NULL);
    if (span_facts_any(span, detail)) {
        struct span_facts facts = writer->facts;
        span_facts_of_span(writer->trace, span, detail, &facts);
        write_columns(writer, columns->detail_first, columns->count, span, detail, &facts);
    } else {
        write_common(writer, &writer->end, columns->detail_first, columns->count, span);
    }
}

/* ---- chunks ----------------------------------------------------------------------- */

static void keep_text(struct out *out, const char *bytes, size_t count)
{
    buffer_append(out->layer_state, bytes, count);
}

static void csv_run_chunk(void *job)
{
    struct csv_chunk *chunk = job;
    struct writer *writer = &chunk->writer;
    writer->track = TRACE_NONE;
    for (uint32_t i = 0; i < chunk->count; i++)
        csv_write_span(writer, &chunk->spans[i],
                       trace_detail_of(&chunk->details, &chunk->spans[i]));
}

static void csv_stop_chunk(void *job)
{
    struct csv_chunk *chunk = job;
    args_json_free(&chunk->writer.args);
    buffer_free(&chunk->text);
    free(chunk->details.words);
    free(chunk->out.buffer);
}

static struct writer make_writer(const struct lines *lines, struct out *out)
{
    return (struct writer){.trace = lines->pass->trace,
                           .out = out,
                           .shape = lines->shape,
                           .columns = &lines->columns,
                           .raw_text = export_options_of(lines->pass)->raw_text};
}

static bool csv_start_chunk(struct lines *lines, struct csv_chunk *chunk)
{
    chunk->count = chunk->details.count = 0;
    chunk->text.count = chunk->out.used = 0;
    if (chunk->out.buffer)
        return true;
    chunk->out = (struct out){.fd = -1, .layer = keep_text, .layer_state = &chunk->text};
    chunk->out.buffer = malloc(OUT_BUFFER_BYTES);
    chunk->writer = make_writer(lines, &chunk->out);
    return chunk->out.buffer;
}

static void csv_write_chunk(struct lines *lines, const struct csv_chunk *chunk)
{
    struct out *out = &lines->pass->out;
    lines->failed |= chunk->writer.args.failed;
    lines->cut |= chunk->text.failed;
    if (chunk->text.count)
        out_bytes(out, (const char *)chunk->text.bytes, chunk->text.count);
    out_bytes(out, chunk->out.buffer, chunk->out.used);
}

static void submit_chunk(struct lines *lines)
{
    if (lines->chunk && lines->chunk->count)
        ordered_jobs_submit(lines->jobs);
    lines->chunk = NULL;
}

/* NULL without memory. */
static struct csv_chunk *chunk_to_fill(struct lines *lines)
{
    if (lines->chunk && lines->chunk->count == CHUNK_SPANS)
        submit_chunk(lines);
    if (lines->chunk)
        return lines->chunk;
    while (!(lines->chunk = ordered_jobs_next(lines->jobs)))
        csv_write_chunk(lines, ordered_jobs_take(lines->jobs));
    if (!csv_start_chunk(lines, lines->chunk)) {
        lines->cut = true;
        lines->chunk = NULL;
    }
    return lines->chunk;
}

/* ---- the sink --------------------------------------------------------------------- */

/* The details of a batch behind those that the chunk has. */
static bool add_details(struct csv_chunk *chunk, const struct trace_details *details)
{
    struct trace_details *all = &chunk->details;
    if (details->count > UINT32_MAX - all->count ||
        !GROW_ARRAY(all->words, all->room, all->count + details->count))
        return false;
    memcpy(all->words + all->count, details->words, details->count * sizeof *all->words);
    all->count += details->count;
    return true;
}

static void csv_on_spans(void *context, const struct trace_span *spans, size_t count,
                         const struct trace_details *details)
{
    struct lines *lines = context;
    struct csv_chunk *chunk;
    while (count > 0 && !lines->cut && (chunk = chunk_to_fill(lines))) {
        uint32_t room = CHUNK_SPANS - chunk->count, base = chunk->details.count;
        uint32_t part = count < room ? (uint32_t)count : room;
        struct trace_span *to = chunk->spans + chunk->count;
        memcpy(to, spans, part * sizeof *to);
        bool kept = !details || !details->count || add_details(chunk, details);
        for (uint32_t i = 0; (base || !kept) && i < part; i++)
            to[i].detail = kept && to[i].detail ? to[i].detail + base : 0;
        lines->failed |= !kept;
        chunk->count += part;
        spans += part;
        count -= part;
    }
}

/* What is under way looks up names and tracks. */
static void csv_settle(void *context)
{
    struct lines *lines = context;
    struct csv_chunk *chunk;
    submit_chunk(lines);
    while ((chunk = ordered_jobs_take(lines->jobs)))
        csv_write_chunk(lines, chunk);
}

/* Launches are columns of what was launched. */
static void csv_on_link(void *context, const struct trace_link *link)
{
    struct lines *lines = context;
    lines->dropped.links += link->kind != TRACE_LAUNCH;
}

static bool csv_is_full(void *context)
{
    const struct lines *lines = context;
    return lines->cut || out_failed(&lines->pass->out);
}

static bool csv_begin(struct trace_pass *pass, const struct shape *shape)
{
    struct lines *lines = malloc(sizeof *lines);
    struct ordered_jobs *jobs =
        ordered_jobs_new(pass->threads, sizeof(struct csv_chunk), csv_run_chunk);
    if (!lines || !jobs) {
        message("out of memory");
        ordered_jobs_free(jobs, NULL);
        free(lines);
        return false;
    }
    *lines = (struct lines){.pass = pass, .shape = shape, .jobs = jobs};
    find_columns(&lines->columns, shape, pass);
    pass->state = lines;
    pass->sink = (struct trace_sink){.context = lines,
                                     .spans = csv_on_spans,
                                     .link = csv_on_link,
                                     .settle = csv_settle,
                                     .full = csv_is_full};
    struct writer writer = make_writer(lines, &pass->out);
    if (!shape->has_keys) {
        for (int c = 0; c < writer.columns->count; c++) {
            out_text(writer.out, c ? writer.shape->between : "");
            out_text(writer.out, writer.columns->list[c].column.line_name);
        }
        out_text(writer.out, "\n");
    }
    return true;
}

static bool begin_csv(struct trace_pass *pass)
{
    return csv_begin(pass, &csv);
}
static bool begin_tsv(struct trace_pass *pass)
{
    return csv_begin(pass, &tsv);
}
static bool begin_ndjson(struct trace_pass *pass)
{
    return csv_begin(pass, &ndjson);
}

static enum exit_code csv_end(struct trace_pass *pass)
{
    struct lines *lines = pass->state;
    csv_settle(lines);
    bool whole = !lines->failed && !lines->cut;
    if (!whole)
        message(lines->cut ? "out of memory; lines are dropped"
                           : "out of memory; some arguments are dropped");
    dropped_report(pass, lines->shape->name, lines->dropped);
    ordered_jobs_free(lines->jobs, csv_stop_chunk);
    free(lines);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

const struct exporter exporter_csv = {
    .name = "csv",
    .suffixes = ".csv",
    .summary = "one line a span, comma separated",
    .maker.begin = begin_csv,
    .maker.end = csv_end,
};
const struct exporter exporter_tsv = {
    .name = "tsv",
    .suffixes = ".tsv",
    .summary = "one line a span, tab separated",
    .maker.begin = begin_tsv,
    .maker.end = csv_end,
};
const struct exporter exporter_ndjson = {
    .name = "ndjson",
    .suffixes = ".ndjson .jsonl",
    .summary = "one JSON object a line and span",
    .maker.begin = begin_ndjson,
    .maker.end = csv_end,
};
