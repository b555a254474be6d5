/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as lines: CSV (RFC 4180), TSV and NDJSON, one columns table for all.
 *
 * Times are integers in nanoseconds: start counts from 1970, so that lines
 * of several exports can be joined. Texts are cells (cell_text.h).
 *
 * Lines know nothing of each other: they are made in chunks, on all threads, and written in order.
 */
#include "args_json.h"
#include "cell_text.h"
#include "export.h"
#include "grow.h"
#include "json_text.h"
#include "left_out.h"
#include "message.h"
#include "parquet_bytes.h"
#include "span_facts.h"

#include <stdlib.h>

enum shape { CSV, TSV, NDJSON };

/* Text that lines of a track have in common, in the shape of the lines. */
struct common {
    char text[1024];
    uint32_t bytes; /* 0: it is not known, or too long */
};

/* Puts lines together, on any thread. */
struct writer {
    const struct trace *trace;
    struct out *out;
    enum shape shape;
    bool raw_text;
    bool first; /* of the line */
    struct args_json args;
    /* Of the track that came last. */
    uint32_t number; /* TRACE_NONE: there was none */
    const struct trace_track *track;
    struct trace_text process;
    struct span_facts facts;
    struct common place, end; /* what is in the middle of a line, and its end without a detail */
};

enum { CHUNK_SPANS = 4096 };

/* Spans that become lines together. */
struct chunk {
    struct writer writer;
    struct trace_span spans[CHUNK_SPANS];
    uint32_t count;
    struct trace_details details; /* of all of them */
    struct out out;               /* into memory: what its buffer does not hold goes to text */
    struct parquet_bytes text;
};

struct lines {
    struct trace_pass *pass;
    enum shape shape;
    struct ordered_jobs *jobs;
    struct chunk *chunk; /* being filled; NULL: none */
    bool failed;         /* arguments are left out */
    bool cut;            /* lines are */
    struct left_out left_out;
};

/* ---- columns ---------------------------------------------------------------------- */

static void key(struct writer *writer, const char *name)
{
    struct out *out = writer->out;
    if (!writer->first)
        out_bytes(out, writer->shape == TSV ? "\t" : ",", 1);
    writer->first = false;
    if (writer->shape == NDJSON)
        json_key(out, name);
}

static void text_column(struct writer *writer, const char *name, struct trace_text text)
{
    struct out *out = writer->out;
    if (writer->shape == NDJSON) {
        if (!writer->first)
            out_bytes(out, ",", 1);
        writer->first = false;
        json_name(out, name, text.text, text.bytes);
        return;
    }
    key(writer, name);
    if (writer->shape == CSV)
        cell_csv(out, text, writer->raw_text);
    else
        cell_tsv(out, text, writer->raw_text);
}

static void u64_column(struct writer *writer, const char *name, uint64_t value)
{
    key(writer, name);
    out_u64(writer->out, value);
}

static void i64_column(struct writer *writer, const char *name, int64_t value)
{
    key(writer, name);
    out_i64(writer->out, value);
}

/* Databases read 0 and 1 as a truth value from text, JSON has words for it. */
static void bool_column(struct writer *writer, const char *name, bool value)
{
    key(writer, name);
    if (writer->shape == NDJSON)
        out_text(writer->out, value ? "true" : "false");
    else
        out_u64(writer->out, value);
}

static const char header[] = "start_ns duration_ns process track track_kind category name depth "
                             "lane item id parent finished open";
/* Behind them those of span_facts.h and these. */
static const char last_columns[] = " own_category args";

static void write_words(struct writer *writer, const char *words)
{
    struct out *out = writer->out;
    for (const char *at = words; *at; at++)
        out_bytes(out, *at != ' ' ? at : writer->shape == TSV ? "\t" : ",", 1);
}

static void write_header(struct writer *writer)
{
    write_words(writer, header);
    for (int i = 0; i < SPAN_FACTS; i++) {
        write_words(writer, " ");
        write_words(writer, span_fact_name[i]);
    }
    write_words(writer, last_columns);
    out_bytes(writer->out, "\n", 1);
}

/* What is not known is empty, in JSON not there. */
static void write_facts(struct writer *writer, const struct span_facts *facts)
{
    for (int i = 0; i < SPAN_FACTS; i++) {
        bool known = span_facts_has(facts, (enum span_fact)i);
        if (!known && writer->shape == NDJSON)
            continue;
        if (!known)
            key(writer, NULL);
        else if (i == FACT_LAUNCH)
            i64_column(writer, span_fact_name[i], (int64_t)facts->value[i]);
        else if (i == FACT_LAUNCH_INFERRED)
            bool_column(writer, span_fact_name[i], facts->value[i]);
        else
            u64_column(writer, span_fact_name[i], facts->value[i]);
    }
}

static void write_detail(struct writer *writer, const struct trace_detail *detail)
{
    const struct trace *trace = writer->trace;
    struct trace_text own = trace_label_of(trace, detail ? detail->category : 0);
    if (writer->shape != NDJSON || own.bytes)
        text_column(writer, "own_category", own);
    struct trace_text args = args_json_make(&writer->args, trace, detail);
    if (!args.bytes && writer->shape == NDJSON)
        return;
    key(writer, "args");
    if (writer->shape == CSV)
        cell_csv(writer->out, args, true); /* JSON is safe to show, and one line */
    else
        out_bytes(writer->out, args.text, args.bytes);
}

/* What was written from here on, to be written again. */
static void keep_common(struct common *common, const struct out *out, size_t begin)
{
    size_t bytes = out->used - begin;
    common->bytes = out->used >= begin && bytes <= sizeof common->text ? (uint32_t)bytes : 0;
    if (common->bytes)
        memcpy(common->text, out->buffer + begin, bytes);
}

static void write_place(struct writer *writer)
{
    struct out *out = writer->out;
    if (writer->place.bytes) {
        out_bytes(out, writer->place.text, writer->place.bytes);
        return;
    }
    out_end(out, out_room(out, sizeof writer->place.text)); /* so that it lies in one piece */
    size_t begin = out->used;
    text_column(writer, "process", writer->process);
    text_column(writer, "track", writer->track->name);
    text_column(writer, "track_kind", trace_text(trace_track_kind_name[writer->track->kind]));
    keep_common(&writer->place, out, begin);
}

static void write_line_end(struct writer *writer, const struct trace_detail *detail)
{
    struct out *out = writer->out;
    if (!detail && writer->end.bytes) {
        out_bytes(out, writer->end.text, writer->end.bytes);
        return;
    }
    struct span_facts facts = writer->facts;
    out_end(out, out_room(out, sizeof writer->end.text));
    size_t begin = out->used;
    span_facts_of_detail(writer->trace, detail, &facts);
    write_facts(writer, &facts);
    write_detail(writer, detail);
    out_bytes(out, writer->shape == NDJSON ? "}\n" : "\n", writer->shape == NDJSON ? 2 : 1);
    if (!detail)
        keep_common(&writer->end, out, begin);
}

static void find_track(struct writer *writer, uint32_t number)
{
    writer->number = number;
    writer->track = trace_track_of(writer->trace, number);
    writer->process = trace_process_of(writer->trace, writer->track->process)->name;
    span_facts_of_track(writer->trace, number, &writer->facts);
    writer->place.bytes = writer->end.bytes = 0;
}

static void write_span(struct writer *writer, const struct trace_span *span,
                       const struct trace_detail *detail)
{
    if (writer->number != span->track)
        find_track(writer, span->track);
    writer->first = true;
    if (writer->shape == NDJSON)
        out_bytes(writer->out, "{", 1);
    i64_column(writer, "start_ns", span->start_ns);
    u64_column(writer, "duration_ns", trace_duration_ns(span));
    write_place(writer);
    text_column(writer, "category", trace_text(trace_category_name[span->category]));
    text_column(writer, "name", trace_name_of(writer->trace, span->name));
    u64_column(writer, "depth", span->depth);
    u64_column(writer, "lane", span->row);
    u64_column(writer, "item", span->item);
    u64_column(writer, "id", span->id);
    u64_column(writer, "parent", span->parent);
    bool_column(writer, "finished", !(span->flags & TRACE_UNFINISHED));
    bool_column(writer, "open", span->flags & TRACE_OPEN);
    write_line_end(writer, detail);
}

/* ---- chunks ----------------------------------------------------------------------- */

static void keep_text(struct out *out, const char *bytes, size_t count)
{
    bytes_put(out->layer_state, bytes, count);
}

static void run_chunk(void *job)
{
    struct chunk *chunk = job;
    struct writer *writer = &chunk->writer;
    writer->number = TRACE_NONE;
    for (uint32_t i = 0; i < chunk->count; i++)
        write_span(writer, &chunk->spans[i], trace_detail_of(&chunk->details, &chunk->spans[i]));
}

static void stop_chunk(void *job)
{
    struct chunk *chunk = job;
    args_json_free(&chunk->writer.args);
    bytes_free(&chunk->text);
    free(chunk->details.words);
    free(chunk->out.buffer);
}

static struct writer make_writer(const struct lines *lines, struct out *out)
{
    return (struct writer){.trace = lines->pass->trace,
                           .out = out,
                           .shape = lines->shape,
                           .raw_text = export_options_of(lines->pass)->raw_text,
                           .number = TRACE_NONE};
}

static bool start_chunk(struct lines *lines, struct chunk *chunk)
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

static void write_chunk(struct lines *lines, const struct chunk *chunk)
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
static struct chunk *chunk_to_fill(struct lines *lines)
{
    if (lines->chunk && lines->chunk->count == CHUNK_SPANS)
        submit_chunk(lines);
    if (lines->chunk)
        return lines->chunk;
    while (!(lines->chunk = ordered_jobs_next(lines->jobs)))
        write_chunk(lines, ordered_jobs_take(lines->jobs));
    if (!start_chunk(lines, lines->chunk)) {
        lines->cut = true;
        lines->chunk = NULL;
    }
    return lines->chunk;
}

/* ---- the sink --------------------------------------------------------------------- */

/* The details of a batch behind those that the chunk has. */
static bool add_details(struct chunk *chunk, const struct trace_details *details)
{
    struct trace_details *all = &chunk->details;
    if (details->count > UINT32_MAX - all->count ||
        !grow_array32(&all->words, &all->room, all->count + details->count, sizeof *all->words))
        return false;
    memcpy(all->words + all->count, details->words, details->count * sizeof *all->words);
    all->count += details->count;
    return true;
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct lines *lines = context;
    struct chunk *chunk;
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
static void settle(void *context)
{
    struct lines *lines = context;
    struct chunk *chunk;
    submit_chunk(lines);
    while ((chunk = ordered_jobs_take(lines->jobs)))
        write_chunk(lines, chunk);
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
    return lines->cut || out_failed(&lines->pass->out);
}

static bool begin(struct trace_pass *pass, enum shape shape)
{
    struct lines *lines = malloc(sizeof *lines);
    struct ordered_jobs *jobs = ordered_jobs_new(pass->threads, sizeof(struct chunk), run_chunk);
    if (!lines || !jobs) {
        message("out of memory");
        ordered_jobs_free(jobs, NULL);
        free(lines);
        return false;
    }
    *lines = (struct lines){.pass = pass, .shape = shape, .jobs = jobs};
    pass->state = lines;
    pass->sink = (struct trace_sink){.context = lines,
                                     .spans = take_spans,
                                     .link = take_link,
                                     .settle = settle,
                                     .full = is_full};
    struct writer writer = make_writer(lines, &pass->out);
    if (shape != NDJSON)
        write_header(&writer);
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
    settle(lines);
    bool whole = !lines->failed && !lines->cut;
    if (!whole)
        message(lines->cut ? "out of memory; lines are left out"
                           : "out of memory; some arguments are left out");
    left_out_tell(pass, names[lines->shape], lines->left_out);
    ordered_jobs_free(lines->jobs, stop_chunk);
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
