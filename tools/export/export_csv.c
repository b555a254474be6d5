/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as lines: CSV (RFC 4180), TSV and NDJSON, one columns table for all.
 *
 * Times are integers in nanoseconds: start counts from 1970, so that lines
 * of several exports can be joined. Texts are cells (cell_text.h).
 */
#include "args_json.h"
#include "cell_text.h"
#include "export.h"
#include "json_text.h"
#include "left_out.h"
#include "message.h"
#include "span_facts.h"

#include <stdlib.h>

enum shape { CSV, TSV, NDJSON };

struct lines {
    struct trace_pass *pass;
    enum shape shape;
    bool first; /* of the line */
    struct args_json args;
    struct left_out left_out;
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
/* Behind them those of span_facts.h and these. */
static const char last_columns[] = " own_category args";

static void write_words(struct lines *lines, const char *words)
{
    struct out *out = &lines->pass->out;
    for (const char *at = words; *at; at++)
        out_bytes(out, *at != ' ' ? at : lines->shape == TSV ? "\t" : ",", 1);
}

static void write_header(struct lines *lines)
{
    write_words(lines, header);
    for (int i = 0; i < SPAN_FACTS; i++) {
        write_words(lines, " ");
        write_words(lines, span_fact_name[i]);
    }
    write_words(lines, last_columns);
    out_bytes(&lines->pass->out, "\n", 1);
}

/* What is not known is empty, in JSON not there. */
static void write_facts(struct lines *lines, const struct span_facts *facts)
{
    for (int i = 0; i < SPAN_FACTS; i++) {
        bool known = span_facts_has(facts, (enum span_fact)i);
        if (!known && lines->shape == NDJSON)
            continue;
        if (!known)
            key(lines, NULL);
        else if (i == FACT_LAUNCH)
            i64_column(lines, span_fact_name[i], (int64_t)facts->value[i]);
        else if (i == FACT_LAUNCH_INFERRED)
            bool_column(lines, span_fact_name[i], facts->value[i]);
        else
            u64_column(lines, span_fact_name[i], facts->value[i]);
    }
}

static void write_detail(struct lines *lines, const struct trace_detail *detail)
{
    const struct trace *trace = lines->pass->trace;
    struct trace_text own = trace_label_of(trace, detail ? detail->category : 0);
    if (lines->shape != NDJSON || own.bytes)
        text_column(lines, "own_category", own);
    struct trace_text args = args_json_make(&lines->args, trace, detail);
    if (!args.bytes && lines->shape == NDJSON)
        return;
    key(lines, "args");
    if (lines->shape == CSV)
        cell_csv(&lines->pass->out, args, true); /* JSON is safe to show, and one line */
    else
        out_bytes(&lines->pass->out, args.text, args.bytes);
}

static void write_span(struct lines *lines, const struct trace_track *track,
                       struct trace_text process, const struct trace_span *span,
                       const struct span_facts *facts, const struct trace_detail *detail)
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
    write_facts(lines, facts);
    write_detail(lines, detail);
    out_bytes(out, lines->shape == NDJSON ? "}\n" : "\n", lines->shape == NDJSON ? 2 : 1);
}

/* ---- the sink --------------------------------------------------------------------- */

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct lines *lines = context;
    struct span_facts of_track, facts;
    span_facts_of_track(lines->pass->trace, spans[0].track, &of_track);
    const struct trace_track *track = trace_track_of(lines->pass->trace, spans[0].track);
    struct trace_text process = trace_process_of(lines->pass->trace, track->process)->name;
    for (size_t i = 0; i < count; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        facts = of_track;
        span_facts_of_detail(lines->pass->trace, detail, &facts);
        write_span(lines, track, process, &spans[i], &facts, detail);
    }
}

/* Launches are columns of what was launched. */
static void take_link(void *context, const struct trace_link *link)
{
    struct lines *lines = context;
    lines->left_out.links += link->kind != TRACE_LAUNCH;
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
    pass->sink = (struct trace_sink){
        .context = lines, .spans = take_spans, .link = take_link, .full = is_full};
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
    static const char *const names[] = {[CSV] = "csv", [TSV] = "tsv", [NDJSON] = "ndjson"};
    struct lines *lines = pass->state;
    bool whole = !lines->args.failed;
    if (!whole)
        message("out of memory; some arguments are left out");
    left_out_tell(pass, names[lines->shape], lines->left_out);
    args_json_free(&lines->args);
    free(lines);
    return whole ? EXIT_GOOD : EXIT_PARTLY;
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
