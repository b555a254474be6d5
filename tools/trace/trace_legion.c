/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legion Prof logs as a source of a trace.
 *
 * The log is read twice: opening it takes the names, the zero time and the
 * quickest messages, which may stand anywhere in it; reading makes spans of
 * the rows. Rows are in no order, so all go through a span_sorter; waits and
 * the places of copies are joined with what they belong to (legion_join.h).
 *
 * A processor is a track. A GPU has two: where the host launches, and the
 * device. A wait is two spans inside its task, "NAME (waiting)" and "NAME
 * (ready)", as Legion Prof names them.
 */
#include "id_texts.h"
#include "legion_join.h"
#include "legion_log.h"
#include "message.h"
#include "thread_map.h"
#include "trace_filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum table { TASKS = 1, VARIANTS, METAS, RUNTIME_CALLS, MAPPER_CALLS, PROVENANCES, MEMORIES };
enum { LATENCIES_MAX = 4096 };
/* In place of a destination: the channel of partitioning. */
#define PARTITIONING (LEGION_NO_MEMORY - 1)
#define TIME_MAX (UINT64_C(1) << 61) /* 73 years: a later one is no time */

struct proc {
    uint64_t id;
    uint32_t kind;
    bool host_used, device_used;
    uint32_t host_track, device_track;
};

struct legion_source {
    const char *name;
    struct id_texts texts;
    struct thread_map proc_map, memory_map;
    struct proc *procs;
    uint32_t proc_room, version;
    uint64_t os_id;
    char host[256];
    int64_t calibration_error_ns;
    struct trace_latency latencies[LATENCIES_MAX];
    uint32_t latency_count;
    uint64_t first, last; /* times in the file; first > last without */

    /* While it is read. */
    struct trace *trace;
    int64_t zero_ns; /* of the file's times on the trace's axis */
    struct trace_filter filter;
    struct span_sorter spans;
    struct legion_join join;
    struct thread_map channel_map;
    uint32_t *channel_tracks;
    uint32_t channel_room, process;
    uint64_t backwards, impossible;
    bool failed;
};

static bool recognises(const uint8_t *head, size_t bytes)
{
    return bytes >= strlen(LEGION_MAGIC) && memcmp(head, LEGION_MAGIC, strlen(LEGION_MAGIC)) == 0;
}

static void fail(struct legion_source *source)
{
    if (!source->failed)
        message("%s: too many processors or out of memory; spans are missing", source->name);
    source->failed = true;
}

/* ---- opening: names, processors, facts ------------------------------------------- */

/* NULL when there is no room. */
static struct proc *find_proc(struct legion_source *source, uint64_t id)
{
    uint32_t number = thread_map_place(&source->proc_map, id, &source->procs, &source->proc_room,
                                       sizeof *source->procs);
    if (number == THREAD_NONE) {
        fail(source);
        return NULL;
    }
    source->procs[number].id = id;
    return &source->procs[number];
}

/* The node that made an event; false for none and for kinds that do not tell. */
static bool event_node(uint64_t event, uint32_t *node_out)
{
    bool barrier = event >> 60 == 2;
    *node_out = (uint32_t)(event >> (barrier ? 44 : 47) & 0xffff);
    return barrier || event >> 63;
}

static void note_message(struct legion_source *source, const struct trace_facts *facts,
                         const struct legion_record *record)
{
    uint32_t from;
    uint64_t spawn = record->value[LEGION_SPAWN], create = record->value[LEGION_CREATE];
    if (spawn == 0 || spawn >= TIME_MAX || create >= TIME_MAX ||
        !event_node(record->value[LEGION_CREATOR], &from) ||
        (facts->has_node && from == facts->node))
        return;
    int64_t latency_ns = (int64_t)(create - spawn);
    uint32_t i = 0;
    while (i < source->latency_count && source->latencies[i].from_node != from)
        i++;
    if (i == LATENCIES_MAX)
        return;
    if (i == source->latency_count)
        source->latencies[source->latency_count++] = (struct trace_latency){from, latency_ns};
    if (latency_ns < source->latencies[i].least_ns)
        source->latencies[i].least_ns = latency_ns;
}

static void note_use(struct legion_source *source, const struct legion_record *record)
{
    static const uint64_t on_processor =
        UINT64_C(1) << LEGION_TASK | 1 << LEGION_IMPLICIT_TASK | 1 << LEGION_GPU_TASK |
        1 << LEGION_META_TASK | 1 << LEGION_MESSAGE | 1 << LEGION_PROF_TASK |
        1 << LEGION_RUNTIME_CALL | 1 << LEGION_MAPPER_CALL | 1 << LEGION_APPLICATION_CALL;
    uint64_t start = record->value[LEGION_START], stop = record->value[LEGION_STOP];
    if (on_processor >> record->kind & 1) {
        struct proc *proc = find_proc(source, record->value[LEGION_PROC_ID]);
        if (proc)
            proc->host_used = true;
        if (proc && record->kind == LEGION_GPU_TASK)
            proc->device_used = true;
    }
    if (record->kind < LEGION_TASK || start > stop || stop >= TIME_MAX || stop == 0)
        return;
    source->first = start < source->first ? start : source->first;
    source->last = stop > source->last ? stop : source->last;
}

static void note_name(struct legion_source *source, const struct legion_record *record)
{
    static const uint8_t tables[LEGION_OTHER + 1] = {[LEGION_TASK_KIND] = TASKS,
                                                     [LEGION_TASK_VARIANT] = VARIANTS,
                                                     [LEGION_META] = METAS,
                                                     [LEGION_RUNTIME_CALL_KIND] = RUNTIME_CALLS,
                                                     [LEGION_MAPPER_CALL_KIND] = MAPPER_CALLS,
                                                     [LEGION_PROVENANCE] = PROVENANCES};
    bool by_task = record->kind == LEGION_TASK_KIND || record->kind == LEGION_TASK_VARIANT;
    uint64_t id = record->value[by_task                             ? LEGION_TASK_ID
                                : record->kind == LEGION_PROVENANCE ? LEGION_VALUE
                                                                    : LEGION_KIND];
    if (tables[record->kind])
        id_texts_set(&source->texts, tables[record->kind], id, record->value[LEGION_VARIANT_ID],
                     record->text);
}

static void note_memory(struct legion_source *source, const struct legion_record *record)
{
    static const char *const kinds[] = {"no memory", "Global",      "System",      "Registered",
                                        "Socket",    "Zero-copy",   "Framebuffer", "Disk",
                                        "HDF5",      "File",        "L3",          "L2",
                                        "L1",        "GPU managed", "GPU dynamic"};
    char name[64];
    uint64_t id = record->value[LEGION_MEM_ID], kind = record->value[LEGION_KIND];
    const char *kind_name = kind < sizeof kinds / sizeof kinds[0] ? kinds[kind] : "Memory";
    if (id >> 56 == 0x1e)
        snprintf(name, sizeof name, "%s %u.%u", kind_name, (unsigned)(id >> 40 & 0xffff),
                 (unsigned)(id & 0xff));
    else
        snprintf(name, sizeof name, "%s 0x%" PRIx64, kind_name, id);
    id_texts_set(&source->texts, MEMORIES, id, 0, trace_text(name));
}

static void note_machine(struct legion_source *source, struct trace_facts *facts,
                         const struct legion_record *record)
{
    facts->has_node = true;
    facts->node = (uint32_t)record->value[LEGION_NODE_ID];
    facts->nodes = (uint32_t)record->value[LEGION_NUM_NODES];
    source->os_id = record->value[LEGION_PROCESS_ID];
    snprintf(source->host, sizeof source->host, "%.*s", (int)record->text.bytes, record->text.text);
}

static void note_record(struct legion_source *source, struct trace_facts *facts,
                        const struct legion_record *record)
{
    struct proc *proc;
    switch (record->kind) {
    case LEGION_MACHINE:
        note_machine(source, facts, record);
        break;
    case LEGION_ZERO_TIME:
        facts->run_zero_ns = (int64_t)record->value[LEGION_VALUE];
        break;
    case LEGION_CALIBRATION_ERROR:
        source->calibration_error_ns = (int64_t)record->value[LEGION_VALUE];
        break;
    case LEGION_PROC:
        proc = find_proc(source, record->value[LEGION_PROC_ID]);
        if (proc)
            proc->kind = (uint32_t)record->value[LEGION_KIND];
        break;
    case LEGION_MEM:
        note_memory(source, record);
        break;
    case LEGION_MESSAGE:
        note_message(source, facts, record);
        break;
    default:
        note_name(source, record);
    }
    note_use(source, record);
}

/* Zero times that leave no room for times behind them are none. */
static void finish_facts(struct legion_source *source, struct trace_facts *facts)
{
    if (facts->run_zero_ns < 0 || (uint64_t)facts->run_zero_ns > 3 * TIME_MAX / 2) {
        message("%s: its zero time is impossible; it is taken for unknown", source->name);
        facts->run_zero_ns = 0;
    }
    facts->has_zero = facts->run_zero_ns != 0;
    facts->from_run_zero = !facts->has_zero;
    facts->zero_ns = facts->run_zero_ns;
    facts->first_ns = facts->zero_ns;
    facts->last_ns = source->first <= source->last ? facts->zero_ns + (int64_t)source->last : 0;
    facts->host = trace_text(source->host);
    facts->latencies = source->latencies;
    facts->latency_count = source->latency_count;
}

static bool open_legion(struct trace_source *opened)
{
    struct legion_record record;
    struct legion_log log;
    struct legion_source *source = calloc(1, sizeof *source);
    if (!source) {
        message("out of memory");
        return false;
    }
    if (!legion_log_open(&log, opened->fd, opened->name)) {
        free(source);
        return false;
    }
    source->name = opened->name;
    source->first = UINT64_MAX;
    while (legion_log_next(&log, &record))
        note_record(source, &opened->facts, &record);
    source->version = log.version;
    legion_log_close(&log);
    finish_facts(source, &opened->facts);
    opened->state = source;
    return true;
}

static enum exit_code close_legion(struct trace_source *opened)
{
    struct legion_source *source = opened->state;
    id_texts_free(&source->texts);
    thread_map_free(&source->proc_map);
    thread_map_free(&source->memory_map);
    free(source->procs);
    free(source);
    return EXIT_GOOD;
}

/* ---- tracks ---------------------------------------------------------------------- */

static const char *proc_kind_name(uint32_t kind)
{
    static const char *const kinds[] = {"Processor", "GPU", "CPU",    "Utility", "IO",
                                        "Group",     "Set", "OpenMP", "Python"};
    return kinds[kind < sizeof kinds / sizeof kinds[0] ? kind : 0];
}

static uint32_t add_proc_track(struct legion_source *source, const struct proc *proc,
                               enum trace_track_kind kind)
{
    char name[96];
    const char *suffix = kind == TRACE_PROCESSOR && proc->kind == 1 ? " host" : "";
    if (proc->id >> 56 == 0x1d)
        snprintf(name, sizeof name, "%s %u.%u%s", proc_kind_name(proc->kind),
                 (unsigned)(proc->id >> 40 & 0xffff), (unsigned)(proc->id & 0xfff), suffix);
    else
        snprintf(name, sizeof name, "%s 0x%" PRIx64 "%s", proc_kind_name(proc->kind), proc->id,
                 suffix);
    return trace_add_track(source->trace, (struct trace_track){.process = source->process,
                                                               .kind = kind,
                                                               .id = proc->id,
                                                               .name = trace_text(name)});
}

static int proc_order(const struct proc *proc)
{
    static const uint8_t order[] = {8, 1, 0, 4, 5, 6, 7, 2, 3};
    return proc->kind < sizeof order ? order[proc->kind] : 9;
}

static int by_kind_and_id(const void *a, const void *b)
{
    const struct proc *left = *(struct proc *const *)a, *right = *(struct proc *const *)b;
    if (proc_order(left) != proc_order(right))
        return proc_order(left) - proc_order(right);
    return left->id < right->id ? -1 : left->id > right->id;
}

/* Processors that do something, by kind and index: CPUs, GPUs, then what serves them. */
static void add_proc_tracks(struct legion_source *source)
{
    uint32_t count = source->proc_map.count;
    struct proc **sorted = malloc((count + 1) * sizeof(struct proc *));
    if (!sorted || count > source->proc_room) {
        free(sorted);
        fail(source);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &source->procs[i];
    qsort(sorted, count, sizeof(struct proc *), by_kind_and_id);
    for (uint32_t i = 0; i < count; i++) {
        if (sorted[i]->host_used)
            sorted[i]->host_track = add_proc_track(source, sorted[i], TRACE_PROCESSOR);
        if (sorted[i]->device_used)
            sorted[i]->device_track = add_proc_track(source, sorted[i], TRACE_GPU);
    }
    free(sorted);
}

static struct trace_text memory_name(const struct legion_source *source, uint32_t number,
                                     char *made, size_t room)
{
    if (number == LEGION_NO_MEMORY)
        return trace_text("");
    uint64_t id = source->memory_map.ids[number];
    struct trace_text name = id_texts_get(&source->texts, MEMORIES, id, 0);
    if (name.bytes)
        return name;
    snprintf(made, room, "Memory 0x%" PRIx64, id);
    return trace_text(made);
}

/* A fill has no source; LEGION_NO_MEMORY as destination: not known. */
static uint32_t add_channel(struct legion_source *source, uint64_t key, uint32_t src, uint32_t dst)
{
    char name[256], made[2][64];
    bool known = dst != LEGION_NO_MEMORY && dst != PARTITIONING;
    struct trace_text from = memory_name(source, src, made[0], sizeof made[0]);
    struct trace_text to = known ? memory_name(source, dst, made[1], sizeof made[1]) : from;
    if (!known)
        snprintf(name, sizeof name, dst == PARTITIONING ? "partitioning" : "copies");
    else if (src == LEGION_NO_MEMORY)
        snprintf(name, sizeof name, "fill %.*s", (int)to.bytes, to.text);
    else
        snprintf(name, sizeof name, "%.*s to %.*s", (int)from.bytes, from.text, (int)to.bytes,
                 to.text);
    return trace_add_track(source->trace, (struct trace_track){.process = source->process,
                                                               .kind = TRACE_CHANNEL,
                                                               .id = key,
                                                               .name = trace_text(name)});
}

static uint32_t channel_track(void *context, uint32_t src, uint32_t dst)
{
    struct legion_source *source = context;
    uint64_t key = (uint64_t)src << 32 | dst;
    uint32_t known = source->channel_map.count;
    uint32_t number = thread_map_place(&source->channel_map, key, &source->channel_tracks,
                                       &source->channel_room, sizeof *source->channel_tracks);
    if (number == THREAD_NONE) {
        fail(source);
        return 0;
    }
    if (number == known)
        source->channel_tracks[number] = add_channel(source, key, src, dst);
    return source->channel_tracks[number];
}

static uint32_t memory_number(struct legion_source *source, uint64_t id)
{
    return id ? thread_map_number(&source->memory_map, id) : LEGION_NO_MEMORY;
}

/* ---- names ----------------------------------------------------------------------- */

static uint32_t add_text(struct legion_source *source, struct trace_text text, const char *kind,
                         uint64_t id)
{
    char made[64];
    if (text.bytes)
        return trace_add_name(source->trace, text.text, text.bytes);
    int bytes = snprintf(made, sizeof made, "%s %" PRIu64, kind, id);
    return trace_add_name(source->trace, made, (uint32_t)bytes);
}

/* A variant is told when its name is not that of its task. */
static uint32_t task_name(struct legion_source *source, const struct legion_record *record)
{
    char made[512];
    uint64_t id = record->value[LEGION_TASK_ID];
    struct trace_text task = id_texts_get(&source->texts, TASKS, id, 0);
    struct trace_text variant =
        id_texts_get(&source->texts, VARIANTS, id, record->value[LEGION_VARIANT_ID]);
    if (!task.bytes || !variant.bytes ||
        (task.bytes == variant.bytes && memcmp(task.text, variant.text, task.bytes) == 0))
        return add_text(source, task.bytes ? task : variant, "task", id);
    int bytes = snprintf(made, sizeof made, "%.*s [%.*s]", task.bytes < 240 ? (int)task.bytes : 240,
                         task.text, variant.bytes < 240 ? (int)variant.bytes : 240, variant.text);
    return trace_add_name(source->trace, made, (uint32_t)bytes);
}

static uint32_t row_name(struct legion_source *source, const struct legion_record *record)
{
    const struct id_texts *texts = &source->texts;
    uint64_t kind = record->value[LEGION_KIND], lg_id = record->value[LEGION_LG_ID];
    uint64_t provenance = record->value[LEGION_PROVENANCE_ID];
    switch (record->kind) {
    case LEGION_META_TASK:
    case LEGION_MESSAGE:
        return add_text(source, id_texts_get(texts, METAS, lg_id, 0), "meta task", lg_id);
    case LEGION_PROF_TASK:
        return trace_add_name(source->trace, "profiling response", 18);
    case LEGION_RUNTIME_CALL:
        return add_text(source, id_texts_get(texts, RUNTIME_CALLS, kind, 0), "runtime call", kind);
    case LEGION_MAPPER_CALL:
        return add_text(source, id_texts_get(texts, MAPPER_CALLS, kind, 0), "mapper call", kind);
    case LEGION_APPLICATION_CALL:
        return add_text(source, id_texts_get(texts, PROVENANCES, provenance, 0), "application call",
                        provenance);
    case LEGION_COPY:
        return trace_add_name(source->trace, "copy", 4);
    case LEGION_FILL:
        return trace_add_name(source->trace, "fill", 4);
    case LEGION_PARTITION:
        return trace_add_name(source->trace, "partition", 9);
    default:
        return task_name(source, record);
    }
}

/* ---- rows ------------------------------------------------------------------------ */

/* False for times that cannot be; what runs backwards is a point in time. */
static bool set_times(struct legion_source *source, struct trace_span *span, uint64_t start,
                      uint64_t stop)
{
    if (start >= TIME_MAX || stop >= TIME_MAX) {
        source->impossible++;
        return false;
    }
    source->backwards += stop < start;
    span->start_ns = source->zero_ns + (int64_t)start;
    span->stop_ns = source->zero_ns + (int64_t)(stop < start ? start : stop);
    return true;
}

static bool make_span(struct legion_source *source, const struct legion_record *record,
                      struct trace_span *span)
{
    if (!set_times(source, span, record->value[LEGION_START], record->value[LEGION_STOP]))
        return false;
    span->id = trace_new_ids(source->trace, 1);
    span->name = row_name(source, record);
    return true;
}

static void add_span(void *context, struct trace_span *span)
{
    struct legion_source *source = context;
    if (!trace_filter_takes(&source->filter, source->trace, span) ||
        !trace_filter_clip(&source->filter, span))
        return;
    if (span->id == 0)
        span->id = trace_new_ids(source->trace, 1);
    span_sorter_add(&source->spans, span, NULL);
}

static void add_device_part(struct legion_source *source, const struct legion_record *record,
                            const struct proc *proc, const struct trace_span *host)
{
    struct trace_span device = *host;
    if (!set_times(source, &device, record->value[LEGION_GPU_START],
                   record->value[LEGION_GPU_STOP]))
        return;
    device.id = trace_new_ids(source->trace, 1);
    device.track = proc->device_track;
    device.category = TRACE_GPU_WORK;
    bool taken = trace_filter_takes(&source->filter, source->trace, &device);
    add_span(source, &device);
    if (taken && trace_filter_takes(&source->filter, source->trace, host))
        trace_add_link(source->trace, (struct trace_link){.from_track = proc->host_track,
                                                          .from_ns = host->start_ns,
                                                          .to_track = device.track,
                                                          .to_ns = device.start_ns,
                                                          .to_span = device.id});
}

/* What two kinds of waits are told apart by: tasks wait as an operation, meta tasks as a part. */
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
    const struct proc *proc = find_proc(source, record->value[LEGION_PROC_ID]);
    if (!proc || !make_span(source, record, &span))
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
    if (!call && record->kind != LEGION_PROF_TASK)
        legion_join_task(&source->join, wait_key(record), &span);
    add_span(source, &span);
    if (record->kind == LEGION_GPU_TASK)
        add_device_part(source, record, proc, &span);
}

static void take_wait(struct legion_source *source, const struct legion_record *record)
{
    struct trace_span before, behind;
    uint64_t ready = record->value[LEGION_WAIT_READY];
    if (set_times(source, &before, record->value[LEGION_WAIT_START], ready) &&
        set_times(source, &behind, ready, record->value[LEGION_WAIT_END]))
        legion_join_wait(&source->join, wait_key(record), before.start_ns, before.stop_ns,
                         behind.stop_ns < before.stop_ns ? before.stop_ns : behind.stop_ns);
}

static void take_copy(struct legion_source *source, const struct legion_record *record)
{
    struct trace_span span = {.category = TRACE_COPY};
    if (!make_span(source, record, &span))
        return;
    if (record->kind != LEGION_PARTITION) {
        legion_join_copy(&source->join, record->value[LEGION_FEVENT], &span);
        return;
    }
    span.category = TRACE_OTHER;
    span.track = channel_track(source, LEGION_NO_MEMORY, PARTITIONING);
    add_span(source, &span);
}

static void take_record(struct legion_source *source, const struct legion_record *record)
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
    case LEGION_FILL_INST:
        legion_join_place(&source->join, value[LEGION_FEVENT],
                          memory_number(source, value[LEGION_SRC]),
                          memory_number(source, value[LEGION_DST]));
        break;
    default:
        if (record->kind >= LEGION_TASK && record->kind < LEGION_OTHER)
            take_on_processor(source, record);
    }
}

/* ---- reading --------------------------------------------------------------------- */

static void add_process(struct legion_source *source, const struct trace_source *opened)
{
    char name[64];
    snprintf(name, sizeof name, "node %" PRIu32 " Legion", opened->facts.node);
    source->process = trace_add_process(source->trace,
                                        (struct trace_process){.node = opened->facts.node,
                                                               .os_id = source->os_id,
                                                               .name = trace_text(name),
                                                               .host = trace_text(source->host),
                                                               .source = trace_text(opened->name)});
}

static void tell_count(const struct legion_source *source, uint64_t count, const char *what)
{
    if (count)
        message("%s: %" PRIu64 " %s", source->name, count, what);
}

static enum exit_code report(const struct legion_source *source, const struct legion_log *log)
{
    if (*log->problem)
        message("%s: %s", source->name, log->problem);
    tell_count(source, source->impossible, "rows have impossible times and are left out");
    tell_count(source, source->backwards, "rows end before they start; they are shown as points");
    tell_count(source, source->join.lone_waits, "waits are outside of their task and left out");
    if (source->texts.full)
        message("%s: too many names, or out of memory; some are shown as numbers", source->name);
    bool whole = !*log->problem && !source->impossible && !source->backwards && !source->failed &&
                 !source->texts.full && !source->spans.failed && !source->join.lone_waits;
    return whole ? EXIT_GOOD : EXIT_PARTLY;
}

static void add_facts(const struct legion_source *source, const struct trace_facts *facts,
                      const struct legion_log *log, const struct trace_read_options *options)
{
    char key[64];
#define FACT(what, ...)                                                                            \
    do {                                                                                           \
        snprintf(key, sizeof key, "process.%" PRIu32 "." what, source->process);                   \
        trace_add_fact(source->trace, key, __VA_ARGS__);                                           \
    } while (0)
    FACT("file", "%s", source->name);
    FACT("format", "Legion Prof %" PRIu32, log->version);
    FACT("zero_time_ns", "%" PRId64, facts->run_zero_ns);
    FACT("shift_ns", "%" PRId64, options->shift_ns);
    FACT("records", "%" PRIu64, log->records);
    FACT("skipped_records", "%" PRIu64, log->skipped);
    FACT("cut_bytes", "%" PRIu64, log->cut_bytes);
    FACT("calibration_error_ns", "%" PRId64, source->calibration_error_ns);
#undef FACT
}

static void start_reading(struct legion_source *source, const struct trace_source *opened,
                          struct trace *trace, const struct trace_read_options *options)
{
    source->trace = trace;
    source->zero_ns = opened->facts.zero_ns + options->shift_ns;
    trace_filter_start(&source->filter, options, source->zero_ns);
    span_sorter_start(&source->spans);
    source->join = (struct legion_join){
        .trace = trace, .context = source, .found = add_span, .channel = channel_track};
    legion_join_start(&source->join);
    add_process(source, opened);
    add_proc_tracks(source);
}

static void stop_reading(struct legion_source *source)
{
    span_sorter_stop(&source->spans);
    legion_join_stop(&source->join);
    thread_map_free(&source->channel_map);
    free(source->channel_tracks);
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
    while (!source->failed && !trace_is_full(trace) && legion_log_next(&log, &record))
        take_record(source, &record);
    if (!legion_join_finish(&source->join))
        source->failed = true;
    span_sorter_finish(&source->spans, trace);
    enum exit_code code = report(source, &log);
    add_facts(source, &opened->facts, &log, options);
    legion_log_close(&log);
    stop_reading(source);
    return code;
}

const struct trace_format trace_format_legion = {
    .name = "Legion Prof",
    .recognises = recognises,
    .open = open_legion,
    .read = read_legion,
    .close = close_legion,
};
