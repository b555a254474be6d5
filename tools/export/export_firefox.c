/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile for the Firefox Profiler, in its processed format.
 *
 * A lane of a track is a thread of it. Each span is an interval marker, with
 * its times to the nanosecond and all that is known of it. The call tree
 * needs samples: there is one wherever what runs on the lane changes, whose
 * weight is how long it stays so. Tables are columns, so the values of each lie
 * in a stream of a spool until the end. Counters hold differences.
 */
#include "firefox_profile.h"

#include "json_text.h"
#include "message.h"
#include "span_value.h"
#include "trace_axis.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMN_PIECE_BYTES = 8 << 10 }; /* seven streams a lane */
#define EXACT_MAX (INT64_C(1) << 53)   /* integers that JavaScript has all of */

/* ---- columns --------------------------------------------------------------------- */

static uint32_t add_streams(struct firefox *firefox, int count)
{
    uint32_t first = spool_add_stream(&firefox->spool);
    for (int i = 1; i < count && first != SPOOL_NONE; i++)
        if (spool_add_stream(&firefox->spool) == SPOOL_NONE)
            first = SPOOL_NONE;
    return first;
}

/* Viewers show no counter outside of the times of the profile. */
static void firefox_reach(struct firefox *firefox, int64_t first_ns, int64_t last_ns)
{
    trace_widen(firefox->timed, &firefox->first_ns, &firefox->last_ns, first_ns, last_ns);
    firefox->timed = true;
}

/* ---- samples --------------------------------------------------------------------- */

static void put_sample(struct firefox *firefox, const struct firefox_lane *lane, int64_t until_ns)
{
    uint32_t streams = lane->streams;
    int64_t weight_ns;
    if (__builtin_sub_overflow(until_ns, lane->since_ns, &weight_ns))
        weight_ns = INT64_MAX;
    spool_put_number(&firefox->spool, streams + SAMPLE_STACK, lane->stack);
    spool_put_near(&firefox->spool, streams + SAMPLE_TIME, lane->since_ns);
    spool_put_number(&firefox->spool, streams + SAMPLE_WEIGHT, (uint64_t)weight_ns);
}

static void firefox_enter(struct firefox *firefox, struct firefox_lane *lane, int64_t time_ns,
                          uint32_t stack)
{
    if (lane->started && time_ns > lane->since_ns) {
        put_sample(firefox, lane, time_ns);
        lane->samples++;
    }
    lane->started = true;
    lane->since_ns = time_ns;
    lane->stack = stack;
}

static void firefox_close_frames(struct firefox *firefox, struct firefox_lane *lane,
                                 int64_t until_ns)
{
    while (lane->depth && lane->open[lane->depth - 1].stop_ns <= until_ns) {
        int64_t stop_ns = lane->open[--lane->depth].stop_ns;
        firefox_enter(firefox, lane, stop_ns,
                      lane->depth ? lane->open[lane->depth - 1].stack : FIREFOX_NONE);
    }
}

/* What comes too late, or does not nest in its lane, is a marker alone. */
static void take_stack(struct firefox *firefox, struct firefox_lane *lane,
                       const struct trace_span *span)
{
    firefox_close_frames(firefox, lane, span->start_ns);
    const struct firefox_open *around = lane->depth ? &lane->open[lane->depth - 1] : NULL;
    uint32_t stack = FIREFOX_NONE;
    if (!(lane->started && span->start_ns < lane->since_ns) &&
        !(around && around->stop_ns < span->stop_ns))
        stack = firefox_stack_of(firefox, around ? around->stack : FIREFOX_NONE, span->name,
                                 span->category);
    if (stack == FIREFOX_NONE) {
        firefox->misfits++;
        return;
    }
    if (!trace_pass_grow(firefox->pass, &lane->open, &lane->room, lane->depth + 1,
                         sizeof *lane->open))
        return;
    lane->open[lane->depth++] = (struct firefox_open){span->stop_ns, stack};
    firefox_enter(firefox, lane, span->start_ns, stack);
}

/* ---- data of markers --------------------------------------------------------------- */

static void to_tail(struct out *out, const char *bytes, size_t count)
{
    struct firefox *firefox = out->layer_state;
    buffer_append(&firefox->tail, bytes, count);
}

/* Whole numbers are texts: what they stand for may be above what JavaScript has. */
static void firefox_put_facts(struct firefox *firefox, const struct trace_span *span,
                              const struct trace_detail *detail)
{
    struct span_facts facts = {0};
    struct out *out = &firefox->data;
    span_facts_of_span(firefox->pass->trace, span, detail, &facts);
    for (int c = 0; c < span_column_count(); c++) {
        const struct span_column *column = span_column(c);
        uint64_t value;
        if (column->source != SPAN_COLUMN_FACT ||
            !span_column_value(column, firefox->pass->trace, NULL, &facts, &value))
            continue;
        out_text(out, ",");
        json_key(out, column->type == SPAN_COLUMN_TIME ? "launch_ms" : column->line_name);
        if (column->type == SPAN_COLUMN_TIME) {
            int64_t since_ns = viewer_time(firefox->pass->trace, (int64_t)value);
            out_end(out, firefox_put_ms(out_room(out, FIREFOX_MS_MAX), since_ns));
        } else if (column->type == SPAN_COLUMN_YES_OR_NO) {
            out_text(out, value ? "\"yes\"" : "\"no\"");
        } else {
            out_format(out, "\"%" PRIu64 "\"", value);
        }
    }
}

static bool is_exact(const struct trace_arg *arg)
{
    if (arg->type == TRACE_ARG_U64 || arg->type == TRACE_ARG_DURATION)
        return arg->value.u64 <= EXACT_MAX;
    if (arg->type == TRACE_ARG_I64 || arg->type == TRACE_ARG_TIME)
        return arg->value.i64 <= EXACT_MAX && arg->value.i64 >= -EXACT_MAX;
    return true;
}

struct trace_text firefox_field_key(struct firefox *firefox, uint32_t name)
{
    enum { PREFIX_BYTES = 4 };
    struct trace_text text = viewer_text(&firefox->text, trace_name_of(firefox->pass->trace, name));
    if (!trace_pass_grow(firefox->pass, &firefox->key, &firefox->key_room,
                         PREFIX_BYTES + text.bytes, 1))
        return trace_text("");
    memcpy(firefox->key, "arg.", PREFIX_BYTES);
    memcpy(firefox->key + PREFIX_BYTES, text.text, text.bytes);
    return (struct trace_text){firefox->key, PREFIX_BYTES + text.bytes};
}

static void firefox_put_arg(struct firefox *firefox, const struct trace_detail *detail,
                            const struct trace_arg *arg)
{
    struct out *out = &firefox->data;
    if (thread_map_number(&firefox->fields, arg->key) == THREAD_NONE)
        trace_pass_fail(firefox->pass);
    struct trace_text key = firefox_field_key(firefox, arg->key);
    out_text(out, ",");
    json_string(out, key.text, key.bytes);
    out_text(out, ":");
    if (arg->type == TRACE_ARG_JSON) {
        struct trace_text text = viewer_text(&firefox->text, trace_arg_text(detail, arg));
        json_string(out, text.text, text.bytes);
        return;
    }
    const char *quote = is_exact(arg) ? "" : "\"";
    out_text(out, quote);
    args_json_value(out, &firefox->text, firefox->pass->trace, detail, arg);
    out_text(out, quote);
}

static void firefox_put_text(struct firefox *firefox, const char *key, struct trace_text text)
{
    struct out *out = &firefox->data;
    text = viewer_text(&firefox->text, text);
    out_text(out, ",");
    json_key(out, key);
    json_string(out, text.text, text.bytes);
}

/* What only this span has, into tail. */
static void make_tail(struct firefox *firefox, const struct trace_span *span,
                      const struct trace_detail *detail)
{
    firefox->tail.count = 0;
    if (detail->category)
        firefox_put_text(firefox, "own_category",
                         trace_label_of(firefox->pass->trace, detail->category));
    firefox_put_facts(firefox, span, detail);
    for (uint32_t i = 0; i < detail->arg_count; i++)
        firefox_put_arg(firefox, detail, &trace_args_of(detail)[i]);
    out_flush(&firefox->data);
    if (firefox->tail.failed)
        trace_pass_fail(firefox->pass);
}

/* ---- the sink ---------------------------------------------------------------------- */

static void put_marker(struct firefox *firefox, struct firefox_lane *lane,
                       const struct trace_span *span, const struct trace_detail *detail)
{
    bool instant = span->flags & TRACE_INSTANT;
    struct spool *spool = &firefox->spool;
    firefox_reach(firefox, span->start_ns, instant ? span->start_ns : span->stop_ns);
    if (detail)
        make_tail(firefox, span, detail);
    firefox_keep_data(spool, lane->streams + MARKER_DATA, span, detail ? &firefox->tail : NULL);
    firefox_keep_what(spool, lane->streams + MARKER_WHAT, span);
    spool_put_near(spool, lane->streams + MARKER_START, span->start_ns);
    firefox_keep_end(spool, lane->streams + MARKER_END, span->stop_ns, !instant);
    lane->markers++;
}

static struct firefox_lane *lane_of(struct firefox *firefox, struct firefox_row *row,
                                    uint32_t number)
{
    if (number < row->lane_count && row->lanes[number].begun)
        return &row->lanes[number];
    uint32_t streams = add_streams(firefox, LANE_STREAMS);
    if (streams == SPOOL_NONE)
        return NULL;
    if (!trace_pass_grow(firefox->pass, &row->lanes, &row->lane_count, number + 1,
                         sizeof *row->lanes))
        return NULL;
    row->lanes[number] =
        (struct firefox_lane){.begun = true, .streams = streams, .stack = FIREFOX_NONE};
    return &row->lanes[number];
}

static void firefox_on_spans(void *context, const struct trace_span *spans, size_t count,
                             const struct trace_details *details)
{
    struct firefox *firefox = context;
    struct firefox_row *row = &firefox->rows[spans[0].track];
    for (size_t i = 0; i < count && !firefox->pass->failed; i++) {
        struct firefox_lane *lane = lane_of(firefox, row, spans[i].row);
        if (!lane)
            return;
        put_marker(firefox, lane, &spans[i], trace_detail_of(details, &spans[i]));
        if (!(spans[i].flags & TRACE_INSTANT))
            take_stack(firefox, lane, &spans[i]);
    }
}

/* As text. */
static void put_change(struct firefox *firefox, struct firefox_row *row,
                       const struct trace_sample *sample)
{
    enum { CHANGE_BYTES_MAX = 48 };
    uint32_t stream = row->streams + COUNTER_CHANGE;
    char *at = spool_room(&firefox->spool, stream, CHANGE_BYTES_MAX);
    int64_t change;
    if (!at)
        return;
    if (row->samples)
        *at++ = ',';
    if (sample->whole && (row->samples == 0 || row->last.whole) &&
        !__builtin_sub_overflow(sample->value.i64, row->last.value.i64, &change)) {
        at = put_i64(at, change);
    } else {
        double before = row->samples ? trace_sample_value(&row->last) : 0;
        at += snprintf(at, 32, "%.17g", trace_sample_value(sample) - before);
    }
    spool_end(&firefox->spool, stream, at);
}

/* JSON has no numbers for what is none. */
static void firefox_on_samples(void *context, uint32_t track, const struct trace_sample *samples,
                               size_t count)
{
    struct firefox *firefox = context;
    struct firefox_row *row = &firefox->rows[track];
    if (row->samples == 0 && row->streams == SPOOL_NONE)
        row->streams = add_streams(firefox, COUNTER_STREAMS);
    for (size_t i = 0; i < count && row->streams != SPOOL_NONE; i++) {
        if (!isfinite(trace_sample_value(&samples[i]))) {
            firefox->dropped.counters++;
            continue;
        }
        spool_put_near(&firefox->spool, row->streams + COUNTER_TIME, samples[i].time_ns);
        put_change(firefox, row, &samples[i]);
        firefox_reach(firefox, samples[i].time_ns, samples[i].time_ns);
        row->last = samples[i];
        row->samples++;
    }
}

static void firefox_on_process(void *context, const struct trace_process *process)
{
    struct firefox *firefox = context;
    firefox->process_count = process->number + 1;
}

static void firefox_on_track(void *context, const struct trace_track *track)
{
    struct firefox *firefox = context;
    if (!trace_pass_grow(firefox->pass, &firefox->rows, &firefox->row_room, track->number + 1,
                         sizeof *firefox->rows))
        return;
    firefox->rows[track->number] = (struct firefox_row){.track = *track, .streams = SPOOL_NONE};
    firefox->row_count = track->number + 1;
}

static void firefox_on_name(void *context, uint32_t number, struct trace_text name)
{
    struct firefox *firefox = context;
    (void)name;
    firefox->name_count = number + 1;
}

/* A launch is written with what was launched. */
static void firefox_on_link(void *context, const struct trace_link *link)
{
    struct firefox *firefox = context;
    firefox->dropped.links += link->kind != TRACE_LAUNCH;
}

static void firefox_on_loss(void *context, const struct trace_loss *loss)
{
    struct firefox *firefox = context;
    char key[256], value[64];
    snprintf(key, sizeof key, "%.*s", (int)loss->cause.bytes, loss->cause.text);
    snprintf(value, sizeof value, "%" PRIu64 " %s", loss->count,
             loss->refused ? "calls refused" : "records");
    if (!kept_facts_add(&firefox->losses, key, trace_text(value)))
        trace_pass_fail(firefox->pass);
}

static void firefox_on_fact(void *context, const char *key, struct trace_text value)
{
    struct firefox *firefox = context;
    if (!kept_facts_add(&firefox->facts, key, value))
        trace_pass_fail(firefox->pass);
}

static bool firefox_is_full(void *context)
{
    const struct firefox *firefox = context;
    return firefox->pass->failed || firefox->spool.failed || out_failed(&firefox->pass->out);
}

/* ---- begin and end ----------------------------------------------------------------- */

static void free_firefox(struct firefox *firefox)
{
    for (uint32_t i = 0; i < firefox->row_count; i++) {
        for (uint32_t lane = 0; lane < firefox->rows[i].lane_count; lane++)
            free(firefox->rows[i].lanes[lane].open);
        free(firefox->rows[i].lanes);
    }
    spool_free(&firefox->spool);
    viewer_text_free(&firefox->text);
    kept_facts_free(&firefox->facts);
    kept_facts_free(&firefox->losses);
    thread_map_free(&firefox->frames);
    thread_map_free(&firefox->stacks);
    thread_map_free(&firefox->fields);
    free(firefox->stack_list);
    free(firefox->rows);
    free(firefox->key);
    buffer_free(&firefox->tail);
    free(firefox->data.buffer);
    free(firefox);
}

static bool firefox_begin(struct trace_pass *pass)
{
    struct firefox *firefox = calloc(1, sizeof *firefox);
    if (firefox)
        firefox->data.buffer = malloc(OUT_BUFFER_BYTES);
    if (!firefox || !firefox->data.buffer) {
        message("out of memory");
        free(firefox);
        return false;
    }
    firefox->pass = pass;
    firefox->data.layer = to_tail;
    firefox->data.layer_state = firefox;
    firefox->spool = SPOOL_EMPTY;
    firefox->spool.piece_bytes = COLUMN_PIECE_BYTES;
    pass->state = firefox;
    pass->sink = (struct trace_sink){.context = firefox,
                                     .process = firefox_on_process,
                                     .track = firefox_on_track,
                                     .name = firefox_on_name,
                                     .spans = firefox_on_spans,
                                     .samples = firefox_on_samples,
                                     .link = firefox_on_link,
                                     .loss = firefox_on_loss,
                                     .fact = firefox_on_fact,
                                     .full = firefox_is_full};
    return true;
}

/* The last that is known of it: it ends. */
static void end_samples(struct firefox *firefox, struct firefox_row *row)
{
    for (uint32_t i = 0; i < row->lane_count; i++) {
        struct firefox_lane *lane = &row->lanes[i];
        firefox_close_frames(firefox, lane, INT64_MAX);
        if (lane->started) {
            put_sample(firefox, lane, lane->since_ns);
            lane->samples++;
        }
    }
}

static enum exit_code firefox_end(struct trace_pass *pass)
{
    struct firefox *firefox = pass->state;
    for (uint32_t i = 0; i < firefox->row_count; i++)
        end_samples(firefox, &firefox->rows[i]);
    firefox_write(firefox);
    dropped_report(pass, "firefox", firefox->dropped);
    if (firefox->misfits)
        message("firefox: %" PRIu64 " spans are markers, but not in the call tree",
                firefox->misfits);
    if (firefox->text.failed)
        trace_pass_fail(firefox->pass);
    bool whole = !firefox->pass->failed && !firefox->spool.failed;
    free_firefox(firefox);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

const struct exporter exporter_firefox = {
    .name = "firefox",
    .suffixes = ".firefox.json .firefox",
    .summary = "a profile for the Firefox Profiler",
    .maker = {.begin = firefox_begin, .end = firefox_end},
};
