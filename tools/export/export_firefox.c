/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile for the Firefox Profiler, in its processed format.
 *
 * A lane of a track is a thread of it. Each span is an interval marker, with
 * its times to the nanosecond and all that is known of it. The call tree
 * needs samples: there is one wherever what runs on the lane changes, whose
 * weight is how long it stays so. Tables are columns, so each column lies
 * in a stream of a spool until the end. Counters hold differences.
 */
#include "firefox_profile.h"

#include "args_json.h"
#include "json_text.h"
#include "message.h"
#include "span_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMN_PIECE_BYTES = 8 << 10, VALUE_BYTES_MAX = 48 }; /* nine columns a lane */
#define EXACT_MAX (INT64_C(1) << 53) /* integers that JavaScript has all of */

void firefox_fail(struct firefox *firefox)
{
    if (!firefox->failed)
        message("out of memory; the rest is left out");
    firefox->failed = true;
}

/* ---- columns --------------------------------------------------------------------- */

static uint32_t add_streams(struct firefox *firefox, int count)
{
    uint32_t first = spool_add_stream(&firefox->spool);
    for (int i = 1; i < count && first != SPOOL_NONE; i++)
        if (spool_add_stream(&firefox->spool) == SPOOL_NONE)
            first = SPOOL_NONE;
    return first;
}

/* Room for the next value of a column, behind a comma. NULL when it failed. */
static char *begin_value(struct firefox *firefox, uint32_t stream, uint64_t values)
{
    char *at = spool_room(&firefox->spool, stream, VALUE_BYTES_MAX);
    if (at && values)
        *at++ = ',';
    return at;
}

static void put_number(struct firefox *firefox, uint32_t stream, uint64_t values, int64_t value)
{
    char *at = begin_value(firefox, stream, values);
    if (at)
        spool_end(&firefox->spool, stream, put_i64(at, value));
}

static void put_null(struct firefox *firefox, uint32_t stream, uint64_t values)
{
    char *at = begin_value(firefox, stream, values);
    if (at)
        spool_end(&firefox->spool, stream, PUT(at, "null"));
}

char *firefox_put_ms(char *at, int64_t ns)
{
    uint64_t many = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        *at++ = '-';
    at = put_u64(at, many / 1000000);
    *at++ = '.';
    uint32_t rest = (uint32_t)(many % 1000000);
    return put_4_digits(put_2_digits(at, rest / 10000), rest % 10000);
}

static void put_ms(struct firefox *firefox, uint32_t stream, uint64_t values, int64_t ns)
{
    char *at = begin_value(firefox, stream, values);
    if (at)
        spool_end(&firefox->spool, stream, firefox_put_ms(at, ns));
}

static void put_time(struct firefox *firefox, uint32_t stream, uint64_t values, int64_t time_ns)
{
    put_ms(firefox, stream, values, viewer_time(firefox->pass->trace, time_ns));
}

/* Viewers show no counter outside of the times of the profile. */
static void reach(struct firefox *firefox, int64_t first_ns, int64_t last_ns)
{
    if (!firefox->timed || first_ns < firefox->first_ns)
        firefox->first_ns = first_ns;
    if (!firefox->timed || last_ns > firefox->last_ns)
        firefox->last_ns = last_ns;
    firefox->timed = true;
}

/* ---- samples --------------------------------------------------------------------- */

static void put_sample(struct firefox *firefox, struct firefox_lane *lane, int64_t until_ns)
{
    uint32_t streams = lane->streams;
    uint64_t number = lane->samples++;
    if (lane->stack == FIREFOX_NONE)
        put_null(firefox, streams + SAMPLE_STACK, number);
    else
        put_number(firefox, streams + SAMPLE_STACK, number, lane->stack);
    put_time(firefox, streams + SAMPLE_TIME, number, lane->since_ns);
    int64_t weight_ns;
    if (__builtin_sub_overflow(until_ns, lane->since_ns, &weight_ns))
        weight_ns = INT64_MAX;
    put_ms(firefox, streams + SAMPLE_WEIGHT, number, weight_ns);
}

static void enter(struct firefox *firefox, struct firefox_lane *lane, int64_t time_ns,
                  uint32_t stack)
{
    if (lane->started && time_ns > lane->since_ns)
        put_sample(firefox, lane, time_ns);
    lane->started = true;
    lane->since_ns = time_ns;
    lane->stack = stack;
}

static void close_frames(struct firefox *firefox, struct firefox_lane *lane, int64_t until_ns)
{
    while (lane->depth && lane->open[lane->depth - 1].stop_ns <= until_ns) {
        int64_t stop_ns = lane->open[--lane->depth].stop_ns;
        enter(firefox, lane, stop_ns,
              lane->depth ? lane->open[lane->depth - 1].stack : FIREFOX_NONE);
    }
}

/* What comes too late, or does not nest in its lane, is a marker alone. */
static void take_stack(struct firefox *firefox, struct firefox_lane *lane,
                       const struct trace_span *span)
{
    close_frames(firefox, lane, span->start_ns);
    const struct firefox_open *around = lane->depth ? &lane->open[lane->depth - 1] : NULL;
    uint32_t stack = FIREFOX_NONE;
    if (!(lane->started && span->start_ns < lane->since_ns) &&
        !(around && around->stop_ns < span->stop_ns))
        stack = firefox_stack_of(firefox, around ? around->stack : FIREFOX_NONE, span);
    if (stack == FIREFOX_NONE) {
        firefox->misfits++;
        return;
    }
    if (!thread_array_grow(&lane->open, &lane->room, lane->depth + 1, sizeof *lane->open)) {
        firefox_fail(firefox);
        return;
    }
    lane->open[lane->depth++] = (struct firefox_open){span->stop_ns, stack};
    enter(firefox, lane, span->start_ns, stack);
}

/* ---- data of markers --------------------------------------------------------------- */

static void to_stream(struct out *out, const char *bytes, size_t count)
{
    struct firefox *firefox = out->layer_state;
    char *at = spool_room(&firefox->spool, firefox->data_stream, count);
    if (at) {
        memcpy(at, bytes, count);
        spool_end(&firefox->spool, firefox->data_stream, at + count);
    }
}

/* What nearly all spans have. */
static void put_plain_data(struct firefox *firefox, const struct firefox_lane *lane,
                           const struct trace_span *span, const char *close)
{
    enum { PLAIN_BYTES_MAX = 128 };
    uint32_t stream = lane->streams + MARKER_DATA;
    char *at = spool_room(&firefox->spool, stream, PLAIN_BYTES_MAX);
    if (!at)
        return;
    if (lane->markers)
        *at++ = ',';
    at = PUT(at, "\n{\"type\":\"span\"");
    if (span->category == TRACE_CALL || span->category == TRACE_GPU_WORK)
        at = put_u64(PUT(at, ",\"slot\":"), span->item);
    else if (span->category <= TRACE_SUB_ITEM || span->item)
        at = put_u64(PUT(at, ",\"item\":"), span->item);
    if (span->flags & TRACE_UNFINISHED)
        at = span->flags & TRACE_OPEN ? PUT(at, ",\"end\":\"open\"")
                                      : PUT(at, ",\"end\":\"unknown\"");
    spool_end(&firefox->spool, stream, stpcpy(at, close));
}

/* Whole numbers are texts: what they stand for may be above what JavaScript has. */
static void put_facts(struct firefox *firefox, const struct trace_detail *detail)
{
    struct span_facts facts = {0};
    struct out *out = &firefox->data;
    span_facts_of_detail(firefox->pass->trace, detail, &facts);
    for (int i = 0; i < SPAN_FACTS; i++) {
        if (!span_facts_has(&facts, (enum span_fact)i))
            continue;
        out_text(out, ",");
        json_key(out, i == FACT_LAUNCH ? "launch_ms" : span_fact_name[i]);
        if (i == FACT_LAUNCH) {
            int64_t since_ns = viewer_time(firefox->pass->trace, (int64_t)facts.value[i]);
            out_end(out, firefox_put_ms(out_room(out, VALUE_BYTES_MAX), since_ns));
        } else if (i == FACT_LAUNCH_INFERRED) {
            out_text(out, facts.value[i] ? "\"yes\"" : "\"no\"");
        } else {
            out_format(out, "\"%" PRIu64 "\"", facts.value[i]);
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
    if (!thread_array_grow(&firefox->key, &firefox->key_room, PREFIX_BYTES + text.bytes, 1)) {
        firefox_fail(firefox);
        return trace_text("");
    }
    memcpy(firefox->key, "arg.", PREFIX_BYTES);
    memcpy(firefox->key + PREFIX_BYTES, text.text, text.bytes);
    return (struct trace_text){firefox->key, PREFIX_BYTES + text.bytes};
}

static void put_arg(struct firefox *firefox, const struct trace_detail *detail,
                    const struct trace_arg *arg)
{
    struct out *out = &firefox->data;
    if (thread_map_number(&firefox->fields, arg->key) == THREAD_NONE)
        firefox_fail(firefox);
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

static void put_text(struct firefox *firefox, const char *key, struct trace_text text)
{
    struct out *out = &firefox->data;
    text = viewer_text(&firefox->text, text);
    out_text(out, ",");
    json_key(out, key);
    json_string(out, text.text, text.bytes);
}

static void put_data(struct firefox *firefox, const struct firefox_lane *lane,
                     const struct trace_span *span, const struct trace_detail *detail)
{
    struct out *out = &firefox->data;
    put_plain_data(firefox, lane, span, detail ? "" : "}");
    if (!detail)
        return;
    firefox->data_stream = lane->streams + MARKER_DATA;
    if (detail->category)
        put_text(firefox, "own_category", trace_label_of(firefox->pass->trace, detail->category));
    put_facts(firefox, detail);
    for (uint32_t i = 0; i < detail->arg_count; i++)
        put_arg(firefox, detail, &trace_args_of(detail)[i]);
    out_text(out, "}");
    out_flush(out);
}

/* ---- the sink ---------------------------------------------------------------------- */

static void put_marker(struct firefox *firefox, struct firefox_lane *lane,
                       const struct trace_span *span, const struct trace_detail *detail)
{
    enum { PHASE_INSTANT, PHASE_INTERVAL };
    bool instant = span->flags & TRACE_INSTANT;
    reach(firefox, span->start_ns, instant ? span->start_ns : span->stop_ns);
    put_data(firefox, lane, span, detail);
    uint64_t number = lane->markers++;
    put_number(firefox, lane->streams + MARKER_NAME, number, span->name);
    put_time(firefox, lane->streams + MARKER_START, number, span->start_ns);
    if (instant)
        put_null(firefox, lane->streams + MARKER_END, number);
    else
        put_time(firefox, lane->streams + MARKER_END, number, span->stop_ns);
    put_number(firefox, lane->streams + MARKER_PHASE, number,
               instant ? PHASE_INSTANT : PHASE_INTERVAL);
    put_number(firefox, lane->streams + MARKER_CATEGORY, number, span->category);
}

static struct firefox_lane *lane_of(struct firefox *firefox, struct firefox_row *row,
                                    uint32_t number)
{
    if (number < row->lane_count && row->lanes[number].begun)
        return &row->lanes[number];
    uint32_t streams = add_streams(firefox, LANE_COLUMNS);
    if (streams == SPOOL_NONE)
        return NULL;
    if (!thread_array_grow(&row->lanes, &row->lane_count, number + 1, sizeof *row->lanes)) {
        firefox_fail(firefox);
        return NULL;
    }
    row->lanes[number] =
        (struct firefox_lane){.begun = true, .streams = streams, .stack = FIREFOX_NONE};
    return &row->lanes[number];
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct firefox *firefox = context;
    struct firefox_row *row = &firefox->rows[spans[0].track];
    for (size_t i = 0; i < count && !firefox->failed; i++) {
        struct firefox_lane *lane = lane_of(firefox, row, spans[i].row);
        if (!lane)
            return;
        put_marker(firefox, lane, &spans[i], trace_detail_of(details, &spans[i]));
        if (!(spans[i].flags & TRACE_INSTANT))
            take_stack(firefox, lane, &spans[i]);
    }
}

static void put_change(struct firefox *firefox, struct firefox_row *row,
                       const struct trace_sample *sample)
{
    uint32_t stream = row->streams + COUNTER_CHANGE;
    int64_t change;
    if (sample->whole && (row->samples == 0 || row->last.whole) &&
        !__builtin_sub_overflow(sample->value.i64, row->last.value.i64, &change)) {
        put_number(firefox, stream, row->samples, change);
        return;
    }
    double before = row->samples ? trace_sample_value(&row->last) : 0;
    char *at = begin_value(firefox, stream, row->samples);
    if (at)
        spool_end(&firefox->spool, stream,
                  at + snprintf(at, 32, "%.17g", trace_sample_value(sample) - before));
}

/* JSON has no numbers for what is none. */
static void take_samples(void *context, uint32_t track, const struct trace_sample *samples,
                         size_t count)
{
    struct firefox *firefox = context;
    struct firefox_row *row = &firefox->rows[track];
    if (row->samples == 0 && row->streams == SPOOL_NONE)
        row->streams = add_streams(firefox, COUNTER_COLUMNS);
    for (size_t i = 0; i < count && row->streams != SPOOL_NONE; i++) {
        if (!isfinite(trace_sample_value(&samples[i]))) {
            firefox->left_out.counters++;
            continue;
        }
        put_time(firefox, row->streams + COUNTER_TIME, row->samples, samples[i].time_ns);
        put_change(firefox, row, &samples[i]);
        reach(firefox, samples[i].time_ns, samples[i].time_ns);
        row->last = samples[i];
        row->samples++;
    }
}

static void take_process(void *context, const struct trace_process *process)
{
    struct firefox *firefox = context;
    firefox->process_count = process->number + 1;
}

static void take_track(void *context, const struct trace_track *track)
{
    struct firefox *firefox = context;
    if (!thread_array_grow(&firefox->rows, &firefox->row_room, track->number + 1,
                           sizeof *firefox->rows)) {
        firefox_fail(firefox);
        return;
    }
    firefox->rows[track->number] = (struct firefox_row){.track = *track, .streams = SPOOL_NONE};
    firefox->row_count = track->number + 1;
}

static void take_name(void *context, uint32_t number, struct trace_text name)
{
    struct firefox *firefox = context;
    (void)name;
    firefox->name_count = number + 1;
}

/* A launch is told with what was launched. */
static void take_link(void *context, const struct trace_link *link)
{
    struct firefox *firefox = context;
    firefox->left_out.links += link->kind != TRACE_LAUNCH;
}

static void take_loss(void *context, const struct trace_loss *loss)
{
    struct firefox *firefox = context;
    char key[256], value[64];
    snprintf(key, sizeof key, "%.*s", (int)loss->cause.bytes, loss->cause.text);
    snprintf(value, sizeof value, "%" PRIu64 " records", loss->count);
    if (!kept_facts_add(&firefox->losses, key, trace_text(value)))
        firefox_fail(firefox);
}

static void take_fact(void *context, const char *key, struct trace_text value)
{
    struct firefox *firefox = context;
    if (!kept_facts_add(&firefox->facts, key, value))
        firefox_fail(firefox);
}

static bool is_full(void *context)
{
    const struct firefox *firefox = context;
    return firefox->failed || firefox->spool.failed || out_failed(&firefox->pass->out);
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
    free(firefox->data.buffer);
    free(firefox);
}

static bool begin(struct trace_pass *pass)
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
    firefox->data.layer = to_stream;
    firefox->data.layer_state = firefox;
    firefox->spool = SPOOL_EMPTY;
    firefox->spool.piece_bytes = COLUMN_PIECE_BYTES;
    pass->state = firefox;
    pass->sink = (struct trace_sink){.context = firefox,
                                     .process = take_process,
                                     .track = take_track,
                                     .name = take_name,
                                     .spans = take_spans,
                                     .samples = take_samples,
                                     .link = take_link,
                                     .loss = take_loss,
                                     .fact = take_fact,
                                     .full = is_full};
    return true;
}

/* The last that is known of it: it ends. */
static void end_samples(struct firefox *firefox, struct firefox_row *row)
{
    for (uint32_t i = 0; i < row->lane_count; i++) {
        struct firefox_lane *lane = &row->lanes[i];
        close_frames(firefox, lane, INT64_MAX);
        if (lane->started)
            put_sample(firefox, lane, lane->since_ns);
    }
}

static enum exit_code end(struct trace_pass *pass)
{
    struct firefox *firefox = pass->state;
    for (uint32_t i = 0; i < firefox->row_count; i++)
        end_samples(firefox, &firefox->rows[i]);
    firefox_write(firefox);
    left_out_tell(pass, "firefox", firefox->left_out);
    if (firefox->misfits)
        message("firefox: %" PRIu64 " spans are markers, but not in the call tree",
                firefox->misfits);
    if (firefox->text.failed)
        firefox_fail(firefox);
    bool whole = !firefox->failed && !firefox->spool.failed;
    free_firefox(firefox);
    return whole ? EXIT_GOOD : EXIT_PARTLY;
}

const struct exporter exporter_firefox = {
    .name = "firefox",
    .suffixes = ".firefox.json .firefox",
    .summary = "a profile for the Firefox Profiler",
    .maker = {.begin = begin, .end = end},
};
