/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_seen.h"
#include "importers.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void put(struct seen *seen, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes =
        vsnprintf(seen->text + seen->used, sizeof seen->text - seen->used, format, arguments);
    va_end(arguments);
    seen->used += (size_t)bytes;
    assert_true(seen->used < sizeof seen->text);
}

static void put_text(struct seen *seen, const char *before, struct trace_text text)
{
    put(seen, "%s%.*s", before, (int)text.bytes, text.text);
}

static void put_track(struct seen *seen, const char *before, uint32_t track)
{
    if (!seen->places)
        return;
    const struct trace_track *shown = trace_track_of(seen->trace, track);
    put_text(seen, before, shown->name);
    if (shown->parent != TRACE_NONE)
        put_text(seen, "<", trace_track_of(seen->trace, shown->parent)->name);
}

static void put_arg(struct seen *seen, const struct trace_detail *detail,
                    const struct trace_arg *arg)
{
    static const char *const types[] = {"u64",      "i64",  "f64",  "bool", "time",
                                        "duration", "name", "text", "json"};
    put_text(seen, " ", trace_name_of(seen->trace, arg->key));
    put(seen, ":%s=", types[arg->type]);
    if (arg->type == TRACE_ARG_TEXT || arg->type == TRACE_ARG_JSON)
        put_text(seen, "", trace_arg_text(detail, arg));
    else if (arg->type == TRACE_ARG_NAME)
        put_text(seen, "", trace_name_of(seen->trace, (uint32_t)arg->value.u64));
    else if (arg->type == TRACE_ARG_F64)
        put(seen, "%g", arg->value.f64);
    else
        put(seen, "%" PRId64, arg->value.i64);
}

static void put_place(struct seen *seen, const struct trace_span *span)
{
    static const char *const flags[] = {"unfinished", "late",  "instant", "open",
                                        "cut",        "waits", "",        "ran"};
    put_track(seen, " @", span->track);
    put(seen, " %" PRId64 "-%" PRId64 " %" PRIu64, span->start_ns, span->stop_ns, span->id);
    if (span->parent)
        put(seen, "<%" PRIu64, span->parent);
    put(seen, " item %" PRIu32, span->item);
    for (unsigned bit = 0; bit < sizeof flags / sizeof *flags; bit++)
        if (span->flags >> bit & 1)
            put(seen, " %s", flags[bit]);
}

static void see_spans(void *context, const struct trace_span *spans, size_t count,
                      const struct trace_details *details)
{
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++) {
        const struct trace_detail *detail = trace_detail_of(details, &spans[i]);
        put_text(seen, "", trace_name_of(seen->trace, spans[i].name));
        put(seen, " %s", trace_category_name[spans[i].category]);
        if (detail && detail->category)
            put_text(seen, "/", trace_label_of(seen->trace, detail->category));
        if (detail && detail->correlation)
            put(seen, " #%" PRIu64, detail->correlation);
        if (seen->places)
            put_place(seen, &spans[i]);
        for (uint32_t arg = 0; detail && arg < detail->arg_count; arg++)
            put_arg(seen, detail, &trace_args_of(detail)[arg]);
        put(seen, "\n");
    }
}

static void see_samples(void *context, uint32_t track, const struct trace_sample *samples,
                        size_t count)
{
    struct seen *seen = context;
    const struct trace_track *counter = trace_track_of(seen->trace, track);
    assert_int_equal(counter->kind, TRACE_COUNTER);
    put_text(seen, "", counter->name);
    for (size_t i = 0; i < count; i++)
        put(seen, samples[i].whole ? " %" PRId64 ":%.0f" : " %" PRId64 ":%.2f", samples[i].time_ns,
            trace_sample_value(&samples[i]));
    if (seen->places)
        put_text(seen, " ", counter->unit);
    put(seen, "\n");
}

static void see_link(void *context, const struct trace_link *link)
{
    struct seen *seen = context;
    put(seen, "%s %" PRId64 "-%" PRId64, trace_link_kind_name[link->kind], link->from_ns,
        link->to_ns);
    put_text(seen, " ", trace_label_of(seen->trace, link->label));
    put_track(seen, " @", link->from_track);
    put_track(seen, " @", link->to_track);
    put(seen, "\n");
}

static void see_table(void *context, const struct trace_table *table)
{
    struct seen *seen = context;
    if (seen->places)
        put(seen, "table %" PRIu32 ": %.*s\n", table->number, table->schema->name_bytes,
            table->schema->name);
}

static void see_rows(void *context, const struct trace_rows *rows)
{
    struct seen *seen = context;
    if (seen->places)
        put(seen, "table %" PRIu32 ": %" PRIu32 " rows\n", rows->table, rows->rows->rows);
}

static void see_loss(void *context, const struct trace_loss *loss)
{
    struct seen *seen = context;
    char name[96];
    if (!seen->places)
        return;
    trace_loss_name(loss, name, sizeof name);
    put(seen, "%s", name);
    if (loss->track != TRACE_NONE)
        put_track(seen, " @", loss->track);
    put(seen, "\n");
}

/* How many spans were unfinished, open, or had an end alone. */
static void see_fact(void *context, const char *key, struct trace_text value)
{
    struct seen *seen = context;
    const char *of = strncmp(key, "process.0.", 10) == 0 ? key + 10 : "";
    const bool of_pairing = strcmp(of, "unfinished_spans") == 0 || strcmp(of, "open_spans") == 0 ||
                            strcmp(of, "ends_without_begin") == 0;
    if (seen->places && of_pairing && !trace_text_is(value, "0"))
        put(seen, "%s %.*s\n", of, (int)value.bytes, value.text);
}

enum exit_code see_file(struct seen *seen, int fd, bool places,
                        const struct trace_read_options *options)
{
#define ADD(name) trace_formats_add(&trace_format_##name);
    IMPORTERS(ADD)
#undef ADD
    struct trace_source source;
    char path[32];
    const struct trace_sink sink = {.context = seen,
                                    .spans = see_spans,
                                    .samples = see_samples,
                                    .link = see_link,
                                    .table = see_table,
                                    .rows = see_rows,
                                    .loss = see_loss,
                                    .fact = see_fact};
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_true(trace_source_open(&source, path, false));
    *seen = (struct seen){.trace = trace_new(&sink, 0), .places = places};
    enum exit_code code = trace_source_read(&source, seen->trace, options);
    trace_finish(seen->trace);
    const uint64_t unjudged_rows = trace_totals(seen->trace)->unjudged_rows;
    if (places && unjudged_rows)
        put(seen, "%" PRIu64 " unjudged rows\n", unjudged_rows);
    enum exit_code closed = trace_source_close(&source);
    trace_free(seen->trace);
    return exit_worse(code, closed);
}
