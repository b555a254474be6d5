/* SPDX-License-Identifier: Apache-2.0 */
#include "kineto_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- marks ----------------------------------------------------------------------------------- */
/* Counters, losses and facts, and the end: what all that is written as Chrome JSON shares. */

/* ---- counters, losses, facts ----------------------------------------------------------- */

static void write_sample(struct chrome *chrome, const struct trace_track *track, uint32_t tid,
                         const struct trace_sample *sample)
{
    struct out *out = &chrome->pass->out;
    const struct chrome_row *row = &chrome->rows[track->number];
    chrome_separate(chrome);
    out_text(out, "{");
    chrome_text(chrome, "name", track->name);
    char *at = out_room(out, CHROME_EVENT_BYTES_MAX);
    at = PUT(at, ",\"cat\":\"counter\",\"ph\":\"C\"");
    if (row->repeats) {
        at = PUT(at, ",\"id\":");
        at = chrome_put_hex(at, track->number);
    }
    at = chrome_put_time(chrome, at, sample->time_ns);
    at = chrome_put_place(at, row->pid, tid);
    out_end(out, PUT(at, ",\"args\":{\"value\":"));
    if (sample->whole)
        out_i64(out, sample->value.i64);
    else
        json_f64(out, sample->value.f64);
    out_text(out, "}}");
}

void chrome_take_samples(void *context, uint32_t number, const struct trace_sample *samples,
                         size_t count)
{
    struct chrome *chrome = context;
    const struct trace_track *track = trace_track_of(chrome->pass->trace, number);
    uint32_t tid = chrome_tid(chrome, number, 0);
    for (size_t i = 0; i < count && !chrome->pass->failed; i++)
        write_sample(chrome, track, tid, &samples[i]);
}

void chrome_take_loss(void *context, const struct trace_loss *loss)
{
    struct chrome *chrome = context;
    struct out *out = &chrome->pass->out;
    bool timed = loss->first_ns || loss->last_ns, one = loss->track != TRACE_NONE;
    int64_t time_ns = timed ? loss->last_ns : trace_totals(chrome->pass->trace)->last_ns;
    char name[256];
    trace_loss_name(loss, name, sizeof name);
    uint32_t tid = one ? chrome_tid(chrome, loss->track, 0) : 0;
    chrome_separate(chrome);
    out_text(out, "{");
    chrome_text(chrome, "name", trace_text(name));
    out_text(out, ",\"cat\":\"loss\",\"ph\":\"i\",\"cname\":\"terrible\",\"s\":");
    out_text(out, one ? "\"t\"" : "\"p\"");
    char *at = chrome_put_time(chrome, out_room(out, CHROME_EVENT_BYTES_MAX), time_ns);
    out_end(out, chrome_put_place(at, chrome->pids[loss->process], tid));
    out_text(out, ",\"args\":{");
    json_u64(out, "records", loss->refused ? 0 : loss->count);
    if (loss->refused)
        out_format(out, ",\"calls\":%" PRIu64, loss->count);
    if (loss->bytes)
        out_format(out, ",\"bytes\":%" PRIu64, loss->bytes);
    if (timed)
        out_format(out, ",\"first_ns\":\"%" PRId64 "\",\"last_ns\":\"%" PRId64 "\"", loss->first_ns,
                   loss->last_ns);
    out_text(out, "}}");
}

void chrome_take_fact(void *context, const char *key, struct trace_text value)
{
    struct chrome *chrome = context;
    if (!kept_facts_add(&chrome->facts, key, value))
        trace_pass_fail(chrome->pass);
}

void chrome_write_facts(struct chrome *chrome)
{
    struct out *out = &chrome->pass->out;
    const struct trace *trace = chrome->pass->trace;
    out_text(out, "\"otherData\":{\n");
    out_format(out, "\"lost_records\":\"%" PRIu64 "\"",
               trace ? trace_totals(trace)->lost_records : 0);
    for (const struct kept_fact *fact = chrome->facts.first; fact; fact = fact->next) {
        struct trace_text value = viewer_text(&chrome->text, fact->value);
        out_text(out, ",\n");
        json_string(out, fact->key.text, fact->key.bytes);
        out_text(out, ":");
        json_string(out, value.text, value.bytes);
    }
    out_text(out, "}");
}

/* ---- the end ---------------------------------------------------------------------------- */

enum exit_code chrome_end(struct chrome *chrome, const char *format)
{
    dropped_report(chrome->pass, format, chrome->dropped);
    if (chrome->text.failed)
        trace_pass_fail(chrome->pass);
    bool whole = !chrome->pass->failed;
    chrome_rows_free(chrome);
    kept_facts_free(&chrome->facts);
    pending_links_free(&chrome->links);
    free(chrome->steps);
    free(chrome);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

/* Durations that add up: a stack a lane of the spans around the next one. */

enum { EARLIER_BATCH = UINT32_MAX };

struct chrome_open_end {
    int64_t stop_ns;
    uint32_t at;    /* in the batch, or EARLIER_BATCH */
    uint16_t inner; /* steps more than the outermost of those that stop with it */
};

static uint16_t one_more(uint16_t steps)
{
    return (uint16_t)(steps < UINT16_MAX ? steps + 1 : steps);
}

static void chrome_ends_pop(struct chrome_lane_ends *lane, int64_t start_ns, uint16_t *steps)
{
    while (lane->depth && lane->open[lane->depth - 1].stop_ns <= start_ns) {
        const struct chrome_open_end *end = &lane->open[--lane->depth];
        if (end->stop_ns == start_ns && end->at != EARLIER_BATCH)
            steps[end->at] = one_more(end->inner);
    }
}

bool chrome_ends_take(struct chrome_lane_ends *lane, int64_t start_ns, int64_t stop_ns, uint32_t at,
                      uint16_t *steps)
{
    struct chrome_open_end made = {.stop_ns = stop_ns, .at = at};
    chrome_ends_pop(lane, start_ns, steps);
    steps[at] = 0;
    if (start_ns == stop_ns)
        return true;
    const struct chrome_open_end *outer = lane->depth ? &lane->open[lane->depth - 1] : NULL;
    if (outer && outer->stop_ns == stop_ns)
        made.inner = one_more(outer->inner);
    steps[at] = made.inner;
    if (lane->depth == lane->room && !GROW_ZEROED(lane->open, lane->room, lane->depth + 1))
        return false;
    lane->open[lane->depth++] = made;
    return true;
}

void chrome_ends_finish_batch(struct chrome_lane_ends *lane, uint16_t *steps)
{
    for (uint32_t i = 0; i < lane->depth; i++) {
        struct chrome_open_end *end = &lane->open[i];
        if (end->at == EARLIER_BATCH)
            continue;
        steps[end->at] = end->inner = one_more(end->inner);
        end->at = EARLIER_BATCH;
    }
}

/* A step is at least four times the distance of two doubles at stop_ns. From the thirteenth day on
 * doubles of microseconds do not keep nanoseconds, whatever is written. */
uint32_t chrome_ends_shorter(int64_t stop_ns, uint16_t steps)
{
    enum { MOST = 400 };
    uint64_t us = (stop_ns < 0 ? 0 - (uint64_t)stop_ns : (uint64_t)stop_ns) / 1000;
    uint32_t step = us < UINT64_C(1) << 31   ? 1
                    : us < UINT64_C(1) << 34 ? 10
                    : us < UINT64_C(1) << 37 ? 100
                                             : MOST;
    return steps < MOST / step ? steps * step : steps ? MOST : 0;
}

/* ---- processes and tracks -------------------------------------------------------------------- */
/*
 * Processes and tracks as viewers of Chrome JSON have them: metadata events.
 *
 * Viewers show the name alone; members that begin with rbwp_ give a reader of
 * ours what the track was: its number in the trace and its parent's, its kind
 * and id, its unit, which of its rows a thread is, and the name without that.
 */

#define NS_PER_S INT64_C(1000000000)
#define KINETO_GRID_NS (INT64_C(7889238) * NS_PER_S) /* a quarter of a year */

/* Of Kineto's files: its rank is a node here. It stands before the events, for who reads the text.
 */
void kineto_write_head(struct chrome *chrome)
{
    struct out *out = &chrome->pass->out;
    const struct trace *trace = chrome->pass->trace;
    int64_t origin_ns = trace ? trace_origin_ns(trace) : 0;
    bool any = trace && chrome->pid_count;
    uint32_t node = any ? trace_process_of(trace, 0)->node : 0;
    chrome->base_ns = origin_ns > 0 ? origin_ns / KINETO_GRID_NS * KINETO_GRID_NS : 0;
    out_text(out, "{\n\"schemaVersion\": 1,\n");
    out_format(out, "\"distributedInfo\": {\"rank\": %" PRIu32 ", \"world_size\": %" PRIu32 "},\n",
               node, chrome->pass->nodes);
    out_text(out, "\"displayTimeUnit\": \"ns\",\n");
    out_format(out, "\"baseTimeNanoseconds\": %" PRId64 ",\n\"traceEvents\": [", chrome->base_ns);
}

void chrome_text(struct chrome *chrome, const char *key, struct trace_text text)
{
    struct trace_text made = viewer_text(&chrome->text, text);
    json_key(&chrome->pass->out, key);
    json_string(&chrome->pass->out, made.text, made.bytes);
}

/* ,"KEY":"text", unless it is empty. */
static void text_if_any(struct chrome *chrome, const char *key, struct trace_text text)
{
    if (!text.bytes)
        return;
    out_text(&chrome->pass->out, ",");
    chrome_text(chrome, key, text);
}

void chrome_begin_metadata(struct chrome *chrome, const char *what, uint32_t pid, uint32_t tid)
{
    struct out *out = &chrome->pass->out;
    chrome_separate(chrome);
    out_format(out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu32, what, pid);
    if (tid != CHROME_NO_THREAD)
        out_format(out, ",\"tid\":%" PRIu32, tid);
    if (chrome->kineto)
        chrome_time(chrome, trace_origin_ns(chrome->pass->trace));
    out_text(out, ",\"args\":{");
}
static void chrome_rows_end_event(struct chrome *chrome)
{
    out_text(&chrome->pass->out, "}}");
}

void chrome_sort_index(struct chrome *chrome, const char *what, uint32_t pid, uint32_t tid,
                       uint64_t index)
{
    chrome_begin_metadata(chrome, what, pid, tid);
    json_u64(&chrome->pass->out, "sort_index", index);
    chrome_rows_end_event(chrome);
}

/* ---- processes and names ------------------------------------------------------------- */

void chrome_take_process(void *context, const struct trace_process *process)
{
    struct chrome *chrome = context;
    struct out *out = &chrome->pass->out;
    if (!trace_pass_grow(chrome->pass, &chrome->pids, &chrome->pid_count, process->number + 1,
                         sizeof *chrome->pids))
        return;
    uint32_t pid = viewer_pid(&chrome->ids, process->os_id);
    chrome->pids[process->number] = pid;
    chrome_begin_metadata(chrome, "process_name", pid, CHROME_NO_THREAD);
    chrome_text(chrome, "name", process->name);
    out_format(out, ",\"rbwp_node\":%" PRIu32, process->node);
    if (process->os_id)
        out_format(out, ",\"rbwp_os_id\":\"%" PRIu64 "\"", process->os_id);
    text_if_any(chrome, "rbwp_command", process->command);
    text_if_any(chrome, "rbwp_source", process->source);
    if (chrome->kineto) { /* whose labels say what kind of processor it is */
        out_text(out, ",");
        chrome_text(chrome, "rbwp_host", process->host);
    }
    chrome_rows_end_event(chrome);
    if (process->host.bytes || chrome->kineto) {
        chrome_begin_metadata(chrome, "process_labels", pid, CHROME_NO_THREAD);
        chrome_text(chrome, "labels", chrome->kineto ? trace_text("CPU") : process->host);
        chrome_rows_end_event(chrome);
    }
    chrome_sort_index(chrome, "process_sort_index", pid, CHROME_NO_THREAD,
                      chrome->kineto ? pid : process->number);
}

void chrome_take_name(void *context, uint32_t number, struct trace_text name)
{
    struct chrome *chrome = context;
    if (!trace_pass_grow(chrome->pass, &chrome->names, &chrome->name_count, number + 1,
                         sizeof *chrome->names))
        return;
    struct trace_text made = viewer_text(&chrome->text, name);
    if (made.text == chrome->text.text)
        chrome->text =
            (struct viewer_text){.failed = chrome->text.failed}; /* it stays the name's */
    chrome->names[number] = (struct chrome_name){made, made.bytes <= CHROME_PLAIN_BYTES_MAX &&
                                                           json_is_plain(made.text, made.bytes)};
}

/* ---- tracks -------------------------------------------------------------------------- */

/* Viewers join counters of a process that have the same name. */
static bool counter_repeats(struct chrome *chrome, const struct trace_track *track)
{
    uint64_t hash =
        text_hash(TEXT_HASH_FIRST ^ track->process, track->name.text, track->name.bytes);
    uint32_t before = chrome->counters.count, number = thread_map_number(&chrome->counters, hash);
    if (number == THREAD_NONE)
        trace_pass_fail(chrome->pass);
    return number != before;
}

/* Below "lanes" of a GPU. */
static bool is_block(const struct chrome *chrome, const struct trace_track *track)
{
    if (!export_options_of(chrome->pass)->block_processes || track->parent == TRACE_NONE)
        return false;
    const struct trace_track *lanes = trace_track_of(chrome->pass->trace, track->parent);
    return lanes->kind == TRACE_LANE && lanes->parent != TRACE_NONE &&
           trace_text_is(lanes->name, "lanes") &&
           trace_track_of(chrome->pass->trace, lanes->parent)->kind == TRACE_GPU;
}

static void chrome_rows_on_block(struct chrome *chrome, struct chrome_row *row,
                                 const struct trace_track *track)
{
    const struct trace *trace = chrome->pass->trace;
    const struct trace_track *lanes = trace_track_of(trace, track->parent);
    row->is_block = true;
    row->pid = viewer_block_pid(&chrome->ids, track->id);
    chrome_begin_metadata(chrome, "process_name", row->pid, CHROME_NO_THREAD);
    chrome_text(chrome, "name", track->name);
    chrome_rows_end_event(chrome);
    chrome_begin_metadata(chrome, "process_labels", row->pid, CHROME_NO_THREAD);
    chrome_text(chrome, "labels", trace_track_of(trace, lanes->parent)->name);
    chrome_rows_end_event(chrome);
    chrome_sort_index(chrome, "process_sort_index", row->pid, CHROME_NO_THREAD,
                      (uint64_t)chrome->pid_count + track->number);
}

/* Groups have the same numbers in all blocks. */
static void take_group(struct chrome *chrome, struct chrome_row *row,
                       const struct trace_track *track)
{
    uint32_t number = thread_map_number(&chrome->groups, track->id);
    row->pid = chrome->rows[track->parent].pid;
    row->group = number == THREAD_NONE ? 0 : number + 1;
}

void chrome_take_track(void *context, const struct trace_track *track)
{
    struct chrome *chrome = context;
    if (!trace_pass_grow(chrome->pass, &chrome->rows, &chrome->row_count, track->number + 1,
                         sizeof *chrome->rows))
        return;
    struct chrome_row *row = &chrome->rows[track->number];
    row->pid = chrome->pids[track->process];
    if (is_block(chrome, track))
        chrome_rows_on_block(chrome, row, track);
    else if (track->parent != TRACE_NONE && chrome->rows[track->parent].is_block)
        take_group(chrome, row, track);
    if (track->kind == TRACE_COUNTER)
        row->repeats = counter_repeats(chrome, track);
}

/* Kineto's "thread 900 (worker)". */
static void write_kineto_name(struct chrome *chrome, const struct trace_track *track, uint32_t tid)
{
    char name[320];
    int bytes = track->name.bytes < 256 ? (int)track->name.bytes : 256;
    snprintf(name, sizeof name, "thread %" PRIu32 " (%.*s)", tid, bytes, track->name.text);
    chrome_text(chrome, "name", trace_text(name));
}

static void name_lane(struct chrome *chrome, const struct trace_track *track, uint32_t lane)
{
    struct out *out = &chrome->pass->out;
    const struct chrome_row *row = &chrome->rows[track->number];
    uint32_t tid = row->lanes[lane].tid;
    bool has_row = !chrome->kineto || kineto_has_row(chrome, track, lane);
    chrome_begin_metadata(chrome, has_row ? "thread_name" : "thread_sort_index", row->pid, tid);
    if (chrome->kineto && track->kind == TRACE_THREAD && track->os_id)
        write_kineto_name(chrome, track, tid);
    else
        chrome_text(chrome, "name", track->name);
    if (lane) {
        out->used--; /* the name goes on inside its quotes */
        out_format(out, " / %" PRIu32 "\"", lane);
    }
    out_format(out, ",\"rbwp_id\":\"0x%" PRIx64 "\",\"rbwp_track\":%" PRIu32, track->id,
               track->number);
    out_format(out, ",\"rbwp_kind\":\"%s\"", trace_track_kind_name[track->kind]);
    if (track->parent != TRACE_NONE)
        out_format(out, ",\"rbwp_parent\":%" PRIu32, track->parent);
    if (track->os_id)
        out_format(out, ",\"rbwp_os_id\":\"%" PRIu64 "\"", track->os_id);
    text_if_any(chrome, "rbwp_unit", track->unit);
    if (lane)
        out_format(out, ",\"rbwp_row\":%" PRIu32, lane);
    if (lane || chrome->kineto)
        text_if_any(chrome, "rbwp_name", track->name);
    if (!has_row) /* of a thread without events, which viewers do not show */
        out_format(out, ",\"sort_index\":%" PRIu32, tid);
    chrome_rows_end_event(chrome);
    if (chrome->kineto && has_row)
        chrome_sort_index(chrome, "thread_sort_index", row->pid, tid, tid);
    if (chrome->kineto)
        return;
    chrome_sort_index(chrome, "thread_sort_index", row->pid, tid,
                      (uint64_t)track->number << 8 | (lane < 255 ? lane : 255));
}

/* A parent is written, too, though it may have no events. */
uint32_t chrome_tid(struct chrome *chrome, uint32_t number, uint32_t lane)
{
    struct chrome_row *row = &chrome->rows[number];
    if (lane < row->lane_count && row->lanes[lane].place_bytes)
        return row->lanes[lane].tid;
    if (!trace_pass_grow(chrome->pass, &row->lanes, &row->lane_count, lane + 1, sizeof *row->lanes))
        return 0;
    const struct trace_track *track = trace_track_of(chrome->pass->trace, number);
    if (track->parent != TRACE_NONE)
        (void)chrome_tid(chrome, track->parent, 0);
    struct chrome_lane *made = &row->lanes[lane];
    made->tid =
        row->group && !lane ? row->group - 1 : viewer_tid(&chrome->ids, lane ? 0 : track->os_id);
    made->place_bytes =
        (uint32_t)(chrome_put_place(made->place, row->pid, made->tid) - made->place);
    name_lane(chrome, track, lane);
    return made->tid;
}

void chrome_rows_free(struct chrome *chrome)
{
    const struct trace *trace = chrome->pass->trace;
    for (uint32_t i = 0; i < chrome->row_count; i++) {
        for (uint32_t lane = 0; lane < chrome->rows[i].lane_count; lane++)
            free(chrome->rows[i].lanes[lane].ends.open);
        free(chrome->rows[i].lanes);
    }
    for (uint32_t i = 0; i < chrome->name_count && trace; i++)
        if (chrome->names[i].text.text != trace_name_of(trace, i).text &&
            chrome->names[i].text.bytes)
            free((char *)(uintptr_t)chrome->names[i].text.text);
    viewer_ids_free(&chrome->ids);
    viewer_text_free(&chrome->text);
    thread_map_free(&chrome->counters);
    thread_map_free(&chrome->groups);
    free(chrome->rows);
    free(chrome->pids);
    free(chrome->names);
}
