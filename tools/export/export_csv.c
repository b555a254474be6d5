/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as lines: CSV (RFC 4180), TSV and NDJSON, one columns table for all.
 *
 * Times are integers in nanoseconds: start counts from 1970, so that lines
 * of several exports can be joined. Texts are cells (cell_text.h).
 */
#include "cell_text.h"
#include "export.h"
#include "json_text.h"
#include "message.h"

#include <stdlib.h>

enum shape { CSV, TSV, NDJSON };

struct lines {
    struct trace_pass *pass;
    enum shape shape;
    bool first; /* of the line */
};

/* ---- columns ---------------------------------------------------------------------- */

static void key(struct lines *lines, const char *name)
{
    struct out *out = &lines->pass->out;
    if (!lines->first)
        out_bytes(out, lines->shape == TSV ? "\t" : ",", 1);
    lines->first = false;
    if (lines->shape == NDJSON)
        json_key(out, name);
}

static void text_column(struct lines *lines, const char *name, struct trace_text text)
{
    struct out *out = &lines->pass->out;
    if (lines->shape == NDJSON) {
        if (!lines->first)
            out_bytes(out, ",", 1);
        lines->first = false;
        json_name(out, name, text.text, text.bytes);
        return;
    }
    key(lines, name);
    if (lines->shape == CSV)
        cell_csv(out, text, export_options_of(lines->pass)->raw_text);
    else
        cell_tsv(out, text, export_options_of(lines->pass)->raw_text);
}

static void u64_column(struct lines *lines, const char *name, uint64_t value)
{
    key(lines, name);
    out_u64(&lines->pass->out, value);
}

static void i64_column(struct lines *lines, const char *name, int64_t value)
{
    key(lines, name);
    out_i64(&lines->pass->out, value);
}

/* Databases read 0 and 1 as a truth value from text, JSON has words for it. */
static void bool_column(struct lines *lines, const char *name, bool value)
{
    key(lines, name);
    if (lines->shape == NDJSON)
        out_text(&lines->pass->out, value ? "true" : "false");
    else
        out_u64(&lines->pass->out, value);
}

static const char header[] = "start_ns duration_ns process track track_kind category name depth "
                             "lane item id parent finished open";

static void write_header(struct lines *lines)
{
    struct out *out = &lines->pass->out;
    for (const char *at = header; *at; at++)
        out_bytes(out, *at != ' ' ? at : lines->shape == TSV ? "\t" : ",", 1);
    out_bytes(out, "\n", 1);
}

static void write_span(struct lines *lines, const struct trace_track *track,
                       struct trace_text process, const struct trace_span *span)
{
    struct out *out = &lines->pass->out;
    lines->first = true;
    if (lines->shape == NDJSON)
        out_bytes(out, "{", 1);
    i64_column(lines, "start_ns", span->start_ns);
    u64_column(lines, "duration_ns", trace_duration_ns(span));
    text_column(lines, "process", process);
    text_column(lines, "track", track->name);
    text_column(lines, "track_kind", trace_text(trace_track_kind_name[track->kind]));
    text_column(lines, "category", trace_text(trace_category_name[span->category]));
    text_column(lines, "name", trace_name_of(lines->pass->trace, span->name));
    u64_column(lines, "depth", span->depth);
    u64_column(lines, "lane", span->row);
    u64_column(lines, "item", span->item);
    u64_column(lines, "id", span->id);
    u64_column(lines, "parent", span->parent);
    bool_column(lines, "finished", !(span->flags & TRACE_UNFINISHED));
    bool_column(lines, "open", span->flags & TRACE_OPEN);
    out_bytes(out, lines->shape == NDJSON ? "}\n" : "\n", lines->shape == NDJSON ? 2 : 1);
}

/* ---- the sink --------------------------------------------------------------------- */

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct lines *lines = context;
    (void)details;
    const struct trace_track *track = trace_track_of(lines->pass->trace, spans[0].track);
    struct trace_text process = trace_process_of(lines->pass->trace, track->process)->name;
    for (size_t i = 0; i < count; i++)
        write_span(lines, track, process, &spans[i]);
}

static bool is_full(void *context)
{
    const struct lines *lines = context;
    return out_failed(&lines->pass->out);
}

static bool begin(struct trace_pass *pass, enum shape shape)
{
    struct lines *lines = malloc(sizeof *lines);
    if (!lines) {
        message("out of memory");
        return false;
    }
    *lines = (struct lines){.pass = pass, .shape = shape};
    pass->state = lines;
    pass->sink = (struct trace_sink){.context = lines, .spans = take_spans, .full = is_full};
    if (shape != NDJSON)
        write_header(lines);
    return true;
}

static bool begin_csv(struct trace_pass *pass)
{
    return begin(pass, CSV);
}
static bool begin_tsv(struct trace_pass *pass)
{
    return begin(pass, TSV);
}
static bool begin_ndjson(struct trace_pass *pass)
{
    return begin(pass, NDJSON);
}

static enum exit_code end(struct trace_pass *pass)
{
    free(pass->state);
    return EXIT_GOOD;
}

const struct exporter exporter_csv = {
    .name = "csv",
    .suffixes = ".csv",
    .summary = "one line a span, comma separated",
    .maker.begin = begin_csv,
    .maker.end = end,
};
const struct exporter exporter_tsv = {
    .name = "tsv",
    .suffixes = ".tsv",
    .summary = "one line a span, tab separated",
    .maker.begin = begin_tsv,
    .maker.end = end,
};
const struct exporter exporter_ndjson = {
    .name = "ndjson",
    .suffixes = ".ndjson .jsonl",
    .summary = "one JSON object a line and span",
    .maker.begin = begin_ndjson,
    .maker.end = end,
};
