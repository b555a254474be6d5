/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome Trace JSON, the object form.
 *
 * Times are microseconds from the origin of the trace with three decimals, so
 * that a reader with doubles keeps the nanoseconds, and ends keep their order
 * when it adds up (chrome_ends.h). Each lane of a track is a
 * thread of its own: viewers drop what partly overlaps within one. Ids of 64
 * bits are strings, for JavaScript keeps only 53; process and thread numbers
 * fit 31 bits. An arrow (a flow) leads from the launching call to the span,
 * whose number is the arrow's.
 */
#include "chrome_ends.h"
#include "export.h"
#include "json_text.h"
#include "linked_spans.h"
#include "message.h"
#include "thread_map.h"
#include "utf8.h"
#include "viewer_ids.h"
#include "viewer_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { EVENT_BYTES_MAX = 256 }; /* of one without its name, more than 10 numbers */

struct lane {
    uint32_t tid; /* 0: not told yet */
    struct chrome_lane_ends ends;
};

struct row {
    uint32_t pid;
    uint32_t lane_count;
    struct lane *lanes;
    bool has_spans;
};

/* Told in the midst of events, written behind them. */
struct kept_fact {
    struct kept_fact *next;
    struct trace_text key, value;
    char bytes[];
};

struct chrome {
    struct trace_pass *pass;
    struct row *rows; /* by track */
    uint32_t row_count, pid_count, name_count;
    uint32_t *pids;           /* by process */
    struct trace_text *names; /* by number, in UTF-8 */
    struct kept_fact *facts, **last_fact;
    struct viewer_ids ids;
    struct viewer_text text;
    struct linked_spans linked;
    uint16_t *steps; /* of the spans of a batch, by which they are shorter */
    uint32_t step_room;
    uint64_t events;
    bool failed;
};

static void fail(struct chrome *chrome)
{
    if (!chrome->failed)
        message("out of memory; the rest is left out");
    chrome->failed = true;
}

/* ---- pieces of events ---------------------------------------------------------------- */

#define PUT(at, literal) ((char *)memcpy(at, literal, sizeof(literal) - 1) + sizeof(literal) - 1)

/* Microseconds with three decimals. */
static char *put_us(char *at, uint64_t ns)
{
    at = put_u64(at, ns / 1000);
    uint32_t rest = (uint32_t)(ns % 1000);
    *at++ = '.';
    *at++ = (char)('0' + rest / 100);
    return put_2_digits(at, rest % 100);
}

static char *put_duration(const struct chrome *chrome, char *at, const struct trace_span *span,
                          uint16_t steps)
{
    uint64_t duration_ns = trace_duration_ns(span);
    at = PUT(at, ",\"dur\":");
    if (!steps)
        return put_us(at, duration_ns);
    uint64_t stop_ns = (uint64_t)span->stop_ns - (uint64_t)trace_origin_ns(chrome->pass->trace);
    uint32_t rest = 1000 - chrome_ends_shorter((int64_t)stop_ns, steps);
    at = put_us(at, duration_ns - 1);
    *at++ = (char)('0' + rest / 100);
    return put_2_digits(at, rest % 100);
}

static char *put_time(const struct chrome *chrome, char *at, int64_t time_ns)
{
    int64_t origin_ns = trace_origin_ns(chrome->pass->trace);
    at = PUT(at, ",\"ts\":");
    if (time_ns >= origin_ns)
        return put_us(at, (uint64_t)time_ns - (uint64_t)origin_ns);
    *at++ = '-';
    return put_us(at, (uint64_t)origin_ns - (uint64_t)time_ns);
}

static char *put_place(char *at, uint32_t pid, uint32_t tid)
{
    at = PUT(at, ",\"pid\":");
    at = put_u64(at, pid);
    at = PUT(at, ",\"tid\":");
    return put_u64(at, tid);
}

static char *put_id(char *at, uint64_t id)
{
    static const char digits[] = "0123456789abcdef";
    int shift = 60;
    at = PUT(at, ",\"id\":\"0x");
    while (shift > 0 && id >> shift == 0)
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *at++ = digits[id >> shift & 15];
    *at++ = '"';
    return at;
}

static void separate(struct chrome *chrome)
{
    out_text(&chrome->pass->out, chrome->events++ ? ",\n" : "\n");
}

static void text_value(struct chrome *chrome, const char *key, struct trace_text text)
{
    struct trace_text made = viewer_text(&chrome->text, text);
    json_key(&chrome->pass->out, key);
    json_string(&chrome->pass->out, made.text, made.bytes);
}

/* {"ph":"M",...,"args":{: metadata, up to the arguments. */
static void begin_metadata(struct chrome *chrome, const char *what, uint32_t pid, uint32_t tid)
{
    struct out *out = &chrome->pass->out;
    separate(chrome);
    out_format(out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu32, what, pid);
    if (tid)
        out_format(out, ",\"tid\":%" PRIu32, tid);
    out_text(out, ",\"args\":{");
}
static void end_event(struct chrome *chrome)
{
    out_text(&chrome->pass->out, "}}");
}

static void sort_index(struct chrome *chrome, const char *what, uint32_t pid, uint32_t tid,
                       uint64_t index)
{
    begin_metadata(chrome, what, pid, tid);
    json_u64(&chrome->pass->out, "sort_index", index);
    end_event(chrome);
}

/* ---- processes, tracks, names --------------------------------------------------------- */

static void take_process(void *context, const struct trace_process *process)
{
    struct chrome *chrome = context;
    if (!thread_array_grow(&chrome->pids, &chrome->pid_count, process->number + 1,
                           sizeof *chrome->pids)) {
        fail(chrome);
        return;
    }
    uint32_t pid = viewer_pid(&chrome->ids, process->os_id);
    chrome->pids[process->number] = pid;
    begin_metadata(chrome, "process_name", pid, 0);
    text_value(chrome, "name", process->name);
    end_event(chrome);
    if (process->host.bytes) {
        begin_metadata(chrome, "process_labels", pid, 0);
        text_value(chrome, "labels", process->host);
        end_event(chrome);
    }
    sort_index(chrome, "process_sort_index", pid, 0, process->number);
}

static void take_track(void *context, const struct trace_track *track)
{
    struct chrome *chrome = context;
    if (!thread_array_grow(&chrome->rows, &chrome->row_count, track->number + 1,
                           sizeof *chrome->rows))
        fail(chrome);
    else
        chrome->rows[track->number].pid = chrome->pids[track->process];
}

static void take_name(void *context, uint32_t number, struct trace_text name)
{
    struct chrome *chrome = context;
    if (!thread_array_grow(&chrome->names, &chrome->name_count, number + 1,
                           sizeof *chrome->names)) {
        fail(chrome);
        return;
    }
    struct trace_text made = viewer_text(&chrome->text, name);
    if (made.text == chrome->text.text)
        chrome->text = (struct viewer_text){0}; /* it stays the name's */
    chrome->names[number] = made;
}

static void name_lane(struct chrome *chrome, const struct trace_track *track, uint32_t lane)
{
    struct out *out = &chrome->pass->out;
    struct row *row = &chrome->rows[track->number];
    uint32_t tid = row->lanes[lane].tid;
    struct trace_text name = viewer_text(&chrome->text, track->name);
    begin_metadata(chrome, "thread_name", row->pid, tid);
    json_key(out, "name");
    json_string(out, name.text, name.bytes);
    if (lane) {
        out->used--; /* the name goes on inside its quotes */
        out_format(out, " / %" PRIu32 "\"", lane);
    }
    out_format(out, ",\"rbwp_id\":\"0x%" PRIx64 "\"", track->id);
    end_event(chrome);
    sort_index(chrome, "thread_sort_index", row->pid, tid,
               (uint64_t)track->number << 8 | (lane < 255 ? lane : 255));
}

/* 0 without memory. */
static uint32_t lane_tid(struct chrome *chrome, uint32_t track_number, uint32_t lane)
{
    struct row *row = &chrome->rows[track_number];
    if (lane < row->lane_count && row->lanes[lane].tid)
        return row->lanes[lane].tid;
    if (!thread_array_grow(&row->lanes, &row->lane_count, lane + 1, sizeof *row->lanes)) {
        fail(chrome);
        return 0;
    }
    const struct trace_track *track = trace_track_of(chrome->pass->trace, track_number);
    row->lanes[lane].tid = viewer_tid(&chrome->ids, lane ? 0 : track->os_id);
    name_lane(chrome, track, lane);
    return row->lanes[lane].tid;
}

/* ---- spans and links ------------------------------------------------------------------- */

static char *put_arguments(char *at, const struct trace_span *span)
{
    if (!(span->flags & TRACE_UNFINISHED) && span->category != TRACE_GPU_WORK)
        return at;
    at = PUT(at, ",\"args\":{");
    if (span->flags & TRACE_UNFINISHED)
        at = PUT(at, "\"unfinished\":true,");
    if (span->flags & TRACE_OPEN)
        at = PUT(at, "\"open\":true,");
    if (span->category == TRACE_GPU_WORK) {
        at = PUT(at, "\"slot\":");
        at = put_u64(at, span->item);
        *at++ = ',';
    }
    at[-1] = '}';
    return at;
}

/* One end of an arrow. */
static void write_arrow(struct chrome *chrome, bool end, uint64_t id, int64_t time_ns, uint32_t pid,
                        uint32_t tid)
{
    struct out *out = &chrome->pass->out;
    separate(chrome);
    char *at = out_room(out, EVENT_BYTES_MAX);
    at = PUT(at, "{\"name\":\"launch\",\"cat\":\"link\",\"ph\":");
    at = end ? PUT(at, "\"f\",\"bp\":\"e\"") : PUT(at, "\"s\"");
    at = put_id(at, id);
    at = put_time(chrome, at, time_ns);
    at = put_place(at, pid, tid);
    *at++ = '}';
    out_end(out, at);
}

static void write_span(struct chrome *chrome, const struct trace_span *span, uint16_t steps,
                       uint32_t pid, uint32_t tid)
{
    struct out *out = &chrome->pass->out;
    const char *category = trace_category_name[span->category];
    const struct trace_text *name = &chrome->names[span->name];
    separate(chrome);
    out_text(out, "{\"name\":");
    json_string(out, name->text, name->bytes);
    char *at = out_room(out, EVENT_BYTES_MAX);
    at = PUT(at, ",\"cat\":\"");
    at = stpcpy(at, category);
    if (span->flags & TRACE_INSTANT) {
        at = PUT(at, "\",\"ph\":\"i\",\"s\":\"t\"");
        at = put_time(chrome, at, span->start_ns);
    } else {
        at = PUT(at, "\",\"ph\":\"X\"");
        at = put_time(chrome, at, span->start_ns);
        at = put_duration(chrome, at, span, steps);
    }
    at = put_arguments(put_place(at, pid, tid), span);
    *at++ = '}';
    out_end(out, at);
    if (linked_spans_has(&chrome->linked, span->id))
        write_arrow(chrome, true, span->id, span->start_ns, pid, tid);
}

/* Which spans of the batch are to be shorter. */
static void find_steps(struct chrome *chrome, struct row *row, const struct trace_span *spans,
                       uint32_t count)
{
    if (!thread_array_grow(&chrome->steps, &chrome->step_room, count, sizeof *chrome->steps))
        fail(chrome);
    for (uint32_t i = 0; i < count && !chrome->failed; i++)
        if (!lane_tid(chrome, spans[i].track, spans[i].row) ||
            !chrome_ends_take(&row->lanes[spans[i].row].ends, &spans[i], i, chrome->steps))
            fail(chrome);
    for (uint32_t i = 0; i < row->lane_count; i++)
        chrome_ends_finish_batch(&row->lanes[i].ends, chrome->steps);
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct chrome *chrome = context;
    struct row *row = &chrome->rows[spans[0].track];
    (void)details;
    row->has_spans = true;
    find_steps(chrome, row, spans, (uint32_t)count);
    for (size_t i = 0; i < count && !chrome->failed; i++)
        write_span(chrome, &spans[i], chrome->steps[i], row->pid, row->lanes[spans[i].row].tid);
}

static void take_link(void *context, const struct trace_link *link)
{
    struct chrome *chrome = context;
    const struct row *to = &chrome->rows[link->to_track];
    write_arrow(chrome, false, link->to_span, link->from_ns, chrome->rows[link->from_track].pid,
                lane_tid(chrome, link->from_track, 0));
    if (to->has_spans)
        write_arrow(chrome, true, link->to_span, link->to_ns, to->pid,
                    lane_tid(chrome, link->to_track, 0));
    else if (!linked_spans_add(&chrome->linked, link->to_span))
        fail(chrome);
}

/* ---- losses and facts ------------------------------------------------------------------- */

static void take_loss(void *context, const struct trace_loss *loss)
{
    struct chrome *chrome = context;
    struct out *out = &chrome->pass->out;
    bool timed = loss->first_ns || loss->last_ns, one = loss->track != TRACE_NONE;
    int64_t time_ns = timed ? loss->last_ns : trace_totals(chrome->pass->trace)->last_ns;
    char name[256];
    snprintf(name, sizeof name, "%" PRIu64 " records lost: %.*s", loss->count,
             (int)loss->cause.bytes, loss->cause.text);
    uint32_t tid = one ? lane_tid(chrome, loss->track, 0) : 0;
    separate(chrome);
    out_text(out, "{");
    text_value(chrome, "name", trace_text(name));
    out_text(out, ",\"cat\":\"loss\",\"ph\":\"i\",\"cname\":\"terrible\",\"s\":");
    out_text(out, one ? "\"t\"" : "\"p\"");
    char *at = put_time(chrome, out_room(out, EVENT_BYTES_MAX), time_ns);
    out_end(out, put_place(at, chrome->pids[loss->process], tid));
    out_text(out, ",\"args\":{");
    json_u64(out, "records", loss->count);
    if (timed)
        out_format(out, ",\"first_ns\":\"%" PRId64 "\",\"last_ns\":\"%" PRId64 "\"", loss->first_ns,
                   loss->last_ns);
    end_event(chrome);
}

static void take_fact(void *context, const char *key, struct trace_text value)
{
    struct chrome *chrome = context;
    size_t key_bytes = strlen(key);
    struct kept_fact *fact = malloc(sizeof *fact + key_bytes + value.bytes);
    if (!fact) {
        fail(chrome);
        return;
    }
    memcpy(fact->bytes, key, key_bytes);
    memcpy(fact->bytes + key_bytes, value.text, value.bytes);
    fact->next = NULL;
    fact->key = (struct trace_text){fact->bytes, (uint32_t)key_bytes};
    fact->value = (struct trace_text){fact->bytes + key_bytes, value.bytes};
    *chrome->last_fact = fact;
    chrome->last_fact = &fact->next;
}

static void write_facts(struct chrome *chrome)
{
    struct out *out = &chrome->pass->out;
    const struct trace *trace = chrome->pass->trace;
    out_text(out, "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\n");
    out_format(out, "\"lost_records\":\"%" PRIu64 "\"",
               trace ? trace_totals(trace)->lost_records : 0);
    for (const struct kept_fact *fact = chrome->facts; fact; fact = fact->next) {
        struct trace_text value = viewer_text(&chrome->text, fact->value);
        out_text(out, ",\n");
        json_string(out, fact->key.text, fact->key.bytes);
        out_text(out, ":");
        json_string(out, value.text, value.bytes);
    }
    out_text(out, "}}\n");
}

/* ---- begin and end ------------------------------------------------------------------------ */

static bool is_full(void *context)
{
    const struct chrome *chrome = context;
    return chrome->failed || out_failed(&chrome->pass->out);
}

static bool begin(struct trace_pass *pass)
{
    struct chrome *chrome = calloc(1, sizeof *chrome);
    if (!chrome) {
        message("out of memory");
        return false;
    }
    chrome->pass = pass;
    chrome->last_fact = &chrome->facts;
    pass->state = chrome;
    pass->sink = (struct trace_sink){
        .context = chrome,
        .process = take_process,
        .track = take_track,
        .name = take_name,
        .spans = take_spans,
        .link = take_link,
        .loss = take_loss,
        .fact = take_fact,
        .full = is_full,
    };
    out_text(&pass->out, "{\"traceEvents\":[");
    return true;
}

static void free_chrome(struct chrome *chrome)
{
    const struct trace *trace = chrome->pass->trace;
    for (uint32_t i = 0; i < chrome->row_count; i++) {
        for (uint32_t lane = 0; lane < chrome->rows[i].lane_count; lane++)
            chrome_ends_free(&chrome->rows[i].lanes[lane].ends);
        free(chrome->rows[i].lanes);
    }
    for (uint32_t i = 0; i < chrome->name_count && trace; i++)
        if (chrome->names[i].text != trace_name_of(trace, i).text && chrome->names[i].bytes)
            free((char *)(uintptr_t)chrome->names[i].text);
    for (struct kept_fact *fact = chrome->facts, *next; fact; fact = next) {
        next = fact->next;
        free(fact);
    }
    viewer_ids_free(&chrome->ids);
    viewer_text_free(&chrome->text);
    linked_spans_free(&chrome->linked);
    free(chrome->steps);
    free(chrome->rows);
    free(chrome->pids);
    free(chrome->names);
    free(chrome);
}

static enum exit_code end(struct trace_pass *pass)
{
    struct chrome *chrome = pass->state;
    write_facts(chrome);
    bool whole = !chrome->failed;
    free_chrome(chrome);
    return whole ? EXIT_GOOD : EXIT_PARTLY;
}

const struct exporter exporter_chrome = {
    .name = "chrome",
    .suffixes = ".json",
    .summary = "Chrome Trace JSON, for Perfetto, chrome://tracing, speedscope",
    .maker.begin = begin,
    .maker.end = end,
};
