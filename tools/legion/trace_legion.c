/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legion Prof logs as a source of a trace.
 *
 * The log is read twice: opening it takes the names, the zero time and the
 * quickest messages, which may stand anywhere in it; reading makes spans of
 * the rows. Rows are in no order, so all go through a span_sorter; waits and
 * the places of copies are joined with what they belong to.
 *
 * A wait is two spans inside its task, "NAME (waiting)" and "NAME (ready)", as
 * Legion Prof names them.
 */
#include "legion_ids.h"
#include "legion_tracks.h"
#include "message.h"
#include "event_spans.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- when and where a Legion Prof log was made, and how quick its messages were -------------- */

#define LEGION_TIME_MAX (UINT64_C(1) << 61) /* 73 years: a later one is no time */

enum { LEGION_LATENCIES_MAX = 4096 };

struct legion_facts {
    uint64_t os_id;
    char host[256];
    int64_t calibration_error_ns;
    struct trace_latency latencies[LEGION_LATENCIES_MAX];
    uint32_t latency_count;
    uint64_t first, last; /* times in the file; first > last without */
};

/* The node that made an event; false for none and for kinds that do not say. */
static bool event_node(uint64_t event, uint32_t *node_out)
{
    bool barrier = event >> 60 == 2;
    *node_out = (uint32_t)(event >> (barrier ? 44 : 47) & 0xffff);
    return barrier || event >> 63;
}

static void note_message(struct legion_facts *noted, const struct trace_facts *facts,
                         const struct legion_record *record)
{
    uint32_t from;
    uint64_t spawn = record->value[LEGION_SPAWN], create = record->value[LEGION_CREATE];
    if (spawn == 0 || spawn >= LEGION_TIME_MAX || create >= LEGION_TIME_MAX ||
        !event_node(record->value[LEGION_CREATOR], &from) ||
        (facts->has_node && from == facts->node))
        return;
    int64_t latency_ns = (int64_t)(create - spawn);
    uint32_t i = 0;
    while (i < noted->latency_count && noted->latencies[i].from_node != from)
        i++;
    if (i == LEGION_LATENCIES_MAX)
        return;
    if (i == noted->latency_count)
        noted->latencies[noted->latency_count++] = (struct trace_latency){from, latency_ns};
    if (latency_ns < noted->latencies[i].least_ns)
        noted->latencies[i].least_ns = latency_ns;
}

static void note_machine(struct legion_facts *noted, struct trace_facts *facts,
                         const struct legion_record *record)
{
    facts->has_node = true;
    facts->node = (uint32_t)record->value[LEGION_NODE_ID];
    facts->nodes = (uint32_t)record->value[LEGION_NUM_NODES];
    noted->os_id = record->value[LEGION_PROCESS_ID];
    snprintf(noted->host, sizeof noted->host, "%.*s", (int)record->text.bytes, record->text.text);
}

static void note_times(struct legion_facts *noted, const struct legion_record *record)
{
    uint64_t start = record->value[LEGION_START], stop = record->value[LEGION_STOP];
    if (record->kind < LEGION_TASK || start > stop || stop >= LEGION_TIME_MAX || stop == 0)
        return;
    noted->first = start < noted->first ? start : noted->first;
    noted->last = stop > noted->last ? stop : noted->last;
}

static void legion_facts_note(struct legion_facts *noted, struct trace_facts *facts,
                              const struct legion_record *record)
{
    if (record->kind == LEGION_MACHINE)
        note_machine(noted, facts, record);
    else if (record->kind == LEGION_ZERO_TIME)
        facts->run_zero_ns = (int64_t)record->value[LEGION_VALUE];
    else if (record->kind == LEGION_CALIBRATION_ERROR)
        noted->calibration_error_ns = (int64_t)record->value[LEGION_VALUE];
    else if (record->kind == LEGION_MESSAGE)
        note_message(noted, facts, record);
    note_times(noted, record);
}

/*
 * What noted has is facts' as long as it lasts. Zero times that leave no room for times behind
 * them are none.
 */
static void legion_facts_finish(struct legion_facts *noted, struct trace_facts *facts,
                                const char *name)
{
    if (facts->run_zero_ns < 0 || (uint64_t)facts->run_zero_ns > 3 * LEGION_TIME_MAX / 2) {
        message("%s: its zero time is impossible; it is taken for unknown", name);
        facts->run_zero_ns = 0;
    }
    facts->has_zero = facts->run_zero_ns != 0;
    facts->from_run_zero = !facts->has_zero;
    facts->zero_ns = facts->run_zero_ns;
    facts->first_ns = facts->zero_ns;
    facts->last_ns = noted->first <= noted->last ? facts->zero_ns + (int64_t)noted->last : 0;
    facts->host = trace_text(noted->host);
    facts->latencies = noted->latencies;
    facts->latency_count = noted->latency_count;
}

/* ---- trace legion ---------------------------------------------------------------------------- */

enum { GROUP_ROWS = 64 }; /* that a later row of the same key may belong to */

/* The rows of one hash that came last. */
struct groups {
    struct trace_span rows[GROUP_ROWS];
    uint64_t count;
    uint32_t track;
};

struct legion_source {
    const char *name;
    struct legion_names names;
    struct legion_tracks tracks;
    struct legion_facts facts;

    /* While it is read. */
    struct trace *trace;
    int64_t zero_ns; /* of the file's times on the trace's axis */
    struct trace_filter filter;
    struct span_sorter spans;
    struct span_sorter joined; /* rows that wait for what they belong to */
    struct groups *groups;     /* while these come out */
    uint64_t lone_waits;       /* whose task is not in the log, or that lie outside of it */
    uint32_t process;
    bool has_launches; /* by tasks of the log */
    uint64_t backwards, impossible;
};

static bool recognises(const uint8_t *head, size_t bytes)
{
    return bytes >= strlen(LEGION_MAGIC) && memcmp(head, LEGION_MAGIC, strlen(LEGION_MAGIC)) == 0;
}

/* ---- opening --------------------------------------------------------------------- */

/* Our own logs have a host part of GPU work only because Legion must have one. */
static bool is_own_work(const struct legion_record *record)
{
    return record->kind == LEGION_GPU_TASK && legion_is_own_task(record->value[LEGION_TASK_ID]);
}

static bool open_legion(struct trace_source *opened)
{
    struct legion_record record;
    struct legion_log log;
    bool ours = false;
    struct legion_source *source = calloc(1, sizeof *source);
    if (!source)
        return message_fail("out of memory");
    if (!legion_log_open(&log, opened->fd, opened->name)) {
        free(source);
        return false;
    }
    source->name = source->tracks.name = opened->name;
    source->facts.first = UINT64_MAX;
    while (legion_log_next(&log, &record)) {
        legion_facts_note(&source->facts, &opened->facts, &record);
        legion_names_note(&source->names, &record);
        legion_tracks_note(&source->tracks, &record);
        ours |= legion_is_own_task(record.value[LEGION_TASK_ID]);
        source->has_launches |= is_own_work(&record) && record.value[LEGION_CREATOR];
    }
    legion_log_close(&log);
    legion_facts_finish(&source->facts, &opened->facts, opened->name);
    if (ours)
        made_of_add(&opened->facts.made_of, recording_id_of(&opened->facts));
    opened->state = source;
    return true;
}

static enum exit_code close_legion(struct trace_source *opened)
{
    struct legion_source *source = opened->state;
    legion_names_free(&source->names);
    legion_tracks_free(&source->tracks);
    free(source);
    return EXIT_GOOD;
}

/* ---- rows ------------------------------------------------------------------------ */

/* False for times that cannot be; what runs backwards is a point in time. */
static bool set_times(struct legion_source *source, struct trace_span *span, uint64_t start,
                      uint64_t stop)
{
    if (start >= LEGION_TIME_MAX || stop >= LEGION_TIME_MAX) {
        source->impossible++;
        return false;
    }
    source->backwards += stop < start;
    span->start_ns = source->zero_ns + (int64_t)start;
    span->stop_ns = source->zero_ns + (int64_t)(stop < start ? start : stop);
    return true;
}

static bool legion_make_span(struct legion_source *source, const struct legion_record *record,
                             struct trace_span *span)
{
    if (!set_times(source, span, record->value[LEGION_START], record->value[LEGION_STOP]))
        return false;
    span->id = trace_new_ids(source->trace, 1);
    span->name = legion_names_row(&source->names, source->trace, record);
    return true;
}

/* False if it is not wanted. */
static bool add_with(struct legion_source *source, struct trace_span *span,
                     const struct trace_detail *detail)
{
    if (!trace_filter_takes(&source->filter, source->trace, span) ||
        !trace_filter_clip(&source->filter, span))
        return false;
    if (span->id == 0)
        span->id = trace_new_ids(source->trace, 1);
    span_sorter_add(&source->spans, span, detail);
    return true;
}

static void legion_add_span(struct legion_source *source, struct trace_span *span)
{
    (void)add_with(source, span, NULL);
}

static void add_work(struct legion_source *source, struct trace_span *work,
                     const struct trace_detail *launch)
{
    if (add_with(source, work, launch) && launch->launch_track != TRACE_NONE)
        trace_add_link(source->trace, (struct trace_link){.kind = TRACE_LAUNCH,
                                                          .from_track = launch->launch_track,
                                                          .from_ns = launch->launch_ns,
                                                          .from_span = launch->launch_span,
                                                          .to_track = work->track,
                                                          .to_ns = work->start_ns,
                                                          .to_span = work->id});
}

/* ---- rows of a Legion Prof log that are about one thing -------------------------------------- */
/*
 * A task's waits, the memories between which a copy goes, and the task that
 * launched work of a GPU are rows of their own, anywhere in the log: what
 * they share is an operation or an event. Both sides are put into a span_sorter with the key in
 * place of the track, and come out side by side: memory does not grow with the number of tasks.
 *
 * Rows are trace_spans of a made-up track, the key's hash. What each field
 * holds:
 *   id      the key's low 63 bits, and 1 for a wait, so that it follows its task
 *   flags   enum row
 *   parent  its own id; of a wait, when it was ready
 *   item    a task's, launcher's or work's track; a place's source
 *   name    a task's or copy's name; a place's destination
 *   detail  of work: when it was launched, and as correlation its item
 * A place or launcher begins before all times, so that it stands before its copy or work.
 */

enum row { ROW_TASK, ROW_WAIT, ROW_COPY, ROW_PLACE, ROW_LAUNCHER, ROW_WORK };
static void legion_add(struct legion_source *source, uint64_t key, enum row row,
                       struct trace_span span, const struct trace_detail *detail)
{
    span.track = (uint32_t)id_hash(key);
    span.id = key << 1 | (row == ROW_WAIT);
    span.flags = (uint8_t)row;
    span_sorter_add(&source->joined, &span, detail);
}

/* key: what both sides have. */
static void legion_join_task(struct legion_source *source, uint64_t key,
                             const struct trace_span *task)
{
    struct trace_span row = *task;
    row.parent = task->id;
    row.item = task->track;
    legion_add(source, key, ROW_TASK, row, NULL);
}

static void legion_join_copy(struct legion_source *source, uint64_t key,
                             const struct trace_span *copy)
{
    struct trace_span row = *copy;
    row.parent = copy->id;
    legion_add(source, key, ROW_COPY, row, NULL);
}

static void legion_join_launched(struct legion_source *source, uint64_t key,
                                 const struct trace_span *work, int64_t launch_ns)
{
    struct trace_detail detail = {.words = sizeof detail / sizeof(uint64_t),
                                  .correlation = work->item,
                                  .launch_ns = launch_ns};
    struct trace_span row = *work;
    row.parent = work->id;
    row.item = work->track;
    legion_add(source, key, ROW_WORK, row, &detail);
}

/* ---- coming out ------------------------------------------------------------------ */

static const struct trace_span *find_row(const struct groups *groups, enum row row,
                                         const struct trace_span *like)
{
    for (uint64_t i = groups->count; i-- > 0 && groups->count - i <= GROUP_ROWS;) {
        const struct trace_span *span = &groups->rows[i % GROUP_ROWS];
        bool holds = row != ROW_TASK || span->stop_ns >= like->stop_ns;
        if (span->flags == row && span->id >> 1 == like->id >> 1 && holds)
            return span;
    }
    return NULL;
}

static void found_part(struct legion_source *source, const struct trace_span *task,
                       const char *state, int64_t start_ns, int64_t stop_ns)
{
    char name[512];
    struct trace_text text = trace_name_of(source->trace, task->name);
    int bytes = snprintf(name, sizeof name, "%.*s (%s)", text.bytes < 480 ? (int)text.bytes : 480,
                         text.text, state);
    struct trace_span span = {
        .start_ns = start_ns,
        .stop_ns = stop_ns,
        .parent = task->parent,
        .track = task->item,
        .name = trace_add_name(source->trace, name, (uint32_t)bytes),
        .category = TRACE_WAIT,
    };
    legion_add_span(source, &span);
}

static void legion_join_take_wait(struct legion_source *source, const struct trace_span *wait)
{
    const struct trace_span *task = find_row(source->groups, ROW_TASK, wait);
    int64_t ready_ns = (int64_t)wait->parent;
    if (!task) {
        source->lone_waits++;
        return;
    }
    found_part(source, task, "waiting", wait->start_ns, ready_ns);
    if (ready_ns < wait->stop_ns)
        found_part(source, task, "ready", ready_ns, wait->stop_ns);
}

static void legion_join_take_copy(struct legion_source *source, const struct trace_span *row)
{
    const struct trace_span *place = find_row(source->groups, ROW_PLACE, row);
    struct trace_span copy = *row;
    copy.id = row->parent;
    copy.parent = 0;
    copy.flags = 0;
    copy.track = legion_tracks_channel(&source->tracks, place ? place->item : LEGION_NO_MEMORY,
                                       place ? place->name : LEGION_NO_MEMORY);
    legion_add_span(source, &copy);
}

static void take_work(struct legion_source *source, const struct trace_span *row,
                      const struct trace_detail *launched)
{
    const struct trace_span *launcher = find_row(source->groups, ROW_LAUNCHER, row);
    struct trace_detail launch = {.words = sizeof launch / sizeof(uint64_t),
                                  .flags = TRACE_HAS_LAUNCH,
                                  .launch_ns = launched ? launched->launch_ns : row->start_ns,
                                  .launch_span = launcher ? launcher->parent : 0,
                                  .launch_track = launcher ? launcher->item : TRACE_NONE};
    struct trace_span work = *row;
    work.id = row->parent;
    work.parent = 0;
    work.flags = 0;
    work.track = row->item;
    work.item = launched ? (uint32_t)launched->correlation : 0;
    add_work(source, &work, &launch);
}

static void legion_on_rows(void *context, const struct trace_span *rows, size_t count,
                           const struct trace_details *details)
{
    struct legion_source *source = context;
    struct groups *groups = source->groups;
    for (size_t i = 0; i < count; i++) {
        if (groups->track != rows[i].track)
            groups->count = 0, groups->track = rows[i].track;
        if (rows[i].flags == ROW_WAIT)
            legion_join_take_wait(source, &rows[i]);
        else if (rows[i].flags == ROW_COPY)
            legion_join_take_copy(source, &rows[i]);
        else if (rows[i].flags == ROW_WORK)
            take_work(source, &rows[i], details ? trace_detail_of(details, &rows[i]) : NULL);
        else
            groups->rows[groups->count++ % GROUP_ROWS] = rows[i];
    }
}

/* Adds all. False when rows were lost, with the message given. */
static bool legion_join_finish(struct legion_source *source)
{
    struct trace_sink sink = {.context = source, .spans = legion_on_rows};
    struct trace *rows = trace_new(&sink, 0);
    source->groups = calloc(1, sizeof *source->groups);
    bool good = rows && source->groups;
    if (good)
        span_sorter_finish(&source->joined, rows);
    else
        message("out of memory; waits and copies are missing");
    trace_free(rows);
    free(source->groups);
    return good && !source->joined.failed;
}

/* ---- from records ---------------------------------------------------------------- */

/* The device's part of a row; false without a time. */
static bool make_work(struct legion_source *source, const struct legion_record *record,
                      const struct legion_proc *proc, struct trace_span *work)
{
    if (!set_times(source, work, record->value[LEGION_GPU_START], record->value[LEGION_GPU_STOP]))
        return false;
    work->id = trace_new_ids(source->trace, 1);
    work->track = proc->device_track;
    work->category = TRACE_GPU_WORK;
    return true;
}

static void add_device_part(struct legion_source *source, const struct legion_record *record,
                            const struct legion_proc *proc, const struct trace_span *host)
{
    struct trace_span work = *host;
    bool host_taken = trace_filter_takes(&source->filter, source->trace, host);
    const struct trace_detail launch = {.words = sizeof launch / sizeof(uint64_t),
                                        .flags = TRACE_HAS_LAUNCH,
                                        .launch_ns = host->start_ns,
                                        .launch_span = host_taken ? host->id : 0,
                                        .launch_track = host_taken ? proc->host_track : TRACE_NONE};
    if (make_work(source, record, proc, &work))
        add_work(source, &work, &launch);
}

/* Of our own logs: who launched it is named by its event. */
static void take_own_work(struct legion_source *source, const struct legion_record *record)
{
    const struct legion_proc *proc =
        legion_tracks_proc(&source->tracks, record->value[LEGION_PROC_ID]);
    struct trace_span work = {.item = (uint32_t)record->value[LEGION_TASK_ID]};
    uint64_t create = record->value[LEGION_CREATE];
    if (!proc || !make_work(source, record, proc, &work))
        return;
    work.name = legion_names_row(&source->names, source->trace, record);
    if (record->value[LEGION_CREATOR] && create < LEGION_TIME_MAX)
        legion_join_launched(source, record->value[LEGION_CREATOR], &work,
                             source->zero_ns + (int64_t)create);
    else
        legion_add_span(source, &work);
}

/* What two kinds of waits are distinguished by: tasks wait as an operation, meta tasks as a part.
 */
static uint64_t wait_key(const struct legion_record *record)
{
    bool meta = record->kind == LEGION_META_TASK || record->kind == LEGION_MESSAGE ||
                record->kind == LEGION_META_WAIT;
    uint64_t op = record->value[LEGION_OP_ID];
    return meta ? id_hash(op) + record->value[LEGION_LG_ID] + 1 : op;
}

static void take_on_processor(struct legion_source *source, const struct legion_record *record)
{
    struct trace_span span = {.category = TRACE_TASK};
    const struct legion_proc *proc =
        legion_tracks_proc(&source->tracks, record->value[LEGION_PROC_ID]);
    if (!proc || !legion_make_span(source, record, &span))
        return;
    span.track = proc->host_track;
    span.item = (uint32_t)record->value[LEGION_TASK_ID];
    bool call = record->kind == LEGION_RUNTIME_CALL || record->kind == LEGION_MAPPER_CALL ||
                record->kind == LEGION_APPLICATION_CALL;
    if (call) {
        span.category = TRACE_CALLED;
        span.item = (uint32_t)record->value[LEGION_KIND];
    } else if (record->kind == LEGION_META_TASK || record->kind == LEGION_MESSAGE) {
        span.item = (uint32_t)record->value[LEGION_LG_ID];
    }
    if (legion_names_is_call(&source->names, record))
        span.category = TRACE_CALL;
    if (!call && record->kind != LEGION_PROF_TASK)
        legion_join_task(source, wait_key(record), &span);
    if (!call && source->has_launches && trace_filter_takes(&source->filter, source->trace, &span))
        legion_add(
            source, record->value[LEGION_FEVENT], ROW_LAUNCHER,
            (struct trace_span){
                .start_ns = INT64_MIN, .stop_ns = INT64_MIN, .parent = span.id, .item = span.track},
            NULL);
    legion_add_span(source, &span);
    if (record->kind == LEGION_GPU_TASK)
        add_device_part(source, record, proc, &span);
}

static void take_wait(struct legion_source *source, const struct legion_record *record)
{
    struct trace_span before, behind;
    uint64_t ready = record->value[LEGION_WAIT_READY];
    if (set_times(source, &before, record->value[LEGION_WAIT_START], ready) &&
        set_times(source, &behind, ready, record->value[LEGION_WAIT_END]))
        legion_add(source, wait_key(record), ROW_WAIT,
                   (struct trace_span){.start_ns = before.start_ns,
                                       .stop_ns = behind.stop_ns < before.stop_ns ? before.stop_ns
                                                                                  : behind.stop_ns,
                                       .parent = (uint64_t)before.stop_ns},
                   NULL);
}

static void take_copy(struct legion_source *source, const struct legion_record *record)
{
    struct trace_span span = {.category = TRACE_COPY};
    if (!legion_make_span(source, record, &span))
        return;
    if (record->kind != LEGION_PARTITION) {
        legion_join_copy(source, record->value[LEGION_FEVENT], &span);
        return;
    }
    span.category = TRACE_OTHER;
    span.track = legion_tracks_channel(&source->tracks, LEGION_NO_MEMORY, LEGION_PARTITIONING);
    legion_add_span(source, &span);
}

static void legion_on_record(struct legion_source *source, const struct legion_record *record)
{
    const uint64_t *value = record->value;
    switch (record->kind) {
    case LEGION_TASK_WAIT:
    case LEGION_META_WAIT:
        take_wait(source, record);
        break;
    case LEGION_COPY:
    case LEGION_FILL:
    case LEGION_PARTITION:
        take_copy(source, record);
        break;
    case LEGION_COPY_INST:
    case LEGION_FILL_INST: {
        uint32_t src = legion_tracks_memory(&source->tracks, value[LEGION_SRC]);
        uint32_t dst = legion_tracks_memory(&source->tracks, value[LEGION_DST]);
        legion_add(source, value[LEGION_FEVENT], ROW_PLACE,
                   (struct trace_span){
                       .start_ns = INT64_MIN, .stop_ns = INT64_MIN, .item = src, .name = dst},
                   NULL);
        break;
    }
    default:
        if (is_own_work(record))
            take_own_work(source, record);
        else if (record->kind >= LEGION_TASK && record->kind < LEGION_OTHER)
            take_on_processor(source, record);
    }
}

/* ---- reading --------------------------------------------------------------------- */

static void add_process(struct legion_source *source, const struct trace_source *opened)
{
    char name[64];
    snprintf(name, sizeof name, "node %" PRIu32 " Legion", opened->facts.node);
    source->process = trace_add_process(
        source->trace, (struct trace_process){.node = opened->facts.node,
                                              .os_id = source->facts.os_id,
                                              .name = trace_text(name),
                                              .host = trace_text(source->facts.host),
                                              .source = trace_text(opened->name)});
}

static enum exit_code legion_report(const struct legion_source *source,
                                    const struct legion_log *log)
{
    if (*log->problem)
        message("%s: %s", source->name, log->problem);
    legion_log_report(log);
    message_count(source->name, source->impossible, "rows have impossible times and are dropped");
    message_count(source->name, source->backwards,
                  "rows end before they start; they are shown as points");
    message_count(source->name, source->lone_waits, "waits are outside of their task and dropped");
    if (source->names.texts.full)
        message("%s: too many names, or out of memory; some are shown as numbers", source->name);
    bool whole = !*log->problem && !source->impossible && !source->backwards &&
                 !source->tracks.failed && !source->names.texts.full && !source->spans.failed &&
                 !source->lone_waits;
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

static void legion_add_facts(const struct legion_source *source, const struct trace_facts *facts,
                             const struct legion_log *log, const struct trace_read_options *options)
{
#define FACT(...) trace_add_process_fact(source->trace, source->process, __VA_ARGS__)
    FACT("file", "%s", source->name);
    FACT("format", "Legion Prof %" PRIu32, log->version);
    FACT("zero_time_ns", "%" PRId64, facts->run_zero_ns);
    FACT("shift_ns", "%" PRId64, options->axis.shift_ns);
    FACT("records", "%" PRIu64, log->records);
    FACT("skipped_records", "%" PRIu64, log->skipped);
    FACT("cut_bytes", "%" PRIu64, log->cut_bytes);
    FACT("calibration_error_ns", "%" PRId64, source->facts.calibration_error_ns);
#undef FACT
}

static void start_reading(struct legion_source *source, const struct trace_source *opened,
                          struct trace *trace, const struct trace_read_options *options)
{
    source->trace = trace;
    source->zero_ns = opened->facts.zero_ns + options->axis.shift_ns;
    trace_filter_start(&source->filter, options, source->zero_ns);
    span_sorter_start(&source->spans);
    span_sorter_start(&source->joined);
    source->lone_waits = 0;
    add_process(source, opened);
    legion_tracks_start(&source->tracks, trace, &source->names, source->process);
}

static enum exit_code read_legion(struct trace_source *opened, struct trace *trace,
                                  const struct trace_read_options *options)
{
    struct legion_source *source = opened->state;
    struct legion_log log;
    struct legion_record record;
    if (!legion_log_open(&log, opened->fd, opened->name))
        return EXIT_BAD_DATA;
    start_reading(source, opened, trace, options);
    while (!source->tracks.failed && !trace_is_full(trace) && legion_log_next(&log, &record))
        legion_on_record(source, &record);
    if (!legion_join_finish(source))
        source->tracks.failed = true;
    span_sorter_finish(&source->spans, trace);
    enum exit_code code = legion_report(source, &log);
    legion_add_facts(source, &opened->facts, &log, options);
    legion_log_close(&log);
    span_sorter_stop(&source->spans);
    span_sorter_stop(&source->joined);
    legion_tracks_stop(&source->tracks);
    return code;
}

const struct trace_format trace_format_legion = {
    .name = "Legion Prof",
    .files = "Legion Prof logs",
    .recognises = recognises,
    .open = open_legion,
    .read = read_legion,
    .close = close_legion,
};
