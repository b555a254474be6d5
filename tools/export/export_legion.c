/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legion Prof logs: one file a node, to be loaded beside Legion's own.
 *
 * A track is a processor. Its outermost spans, calls of work items and other
 * profilers' tasks are tasks; what is nested in one on the same lane is a
 * runtime call of it. Legion Prof stops with a failed assertion at an event
 * used twice, a call that is not inside its task or overlaps another, or an id
 * without a description: none of these can come out of here. Ids of kinds are
 * hashes of names, so that logs of several nodes that were exported apart
 * agree.
 */
#include "export.h"
#include "legion_file.h"
#include "legion_ids.h"
#include "message.h"
#include "pending_links.h"
#include "trace_span.h"
#include "dropped_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 1 << 16, FIRST_WORKER = 0xC00, LAST_WORKER = 0xFFF, LEAST_WORKER = 0x400 };
#define SALT_MASK UINT32_C(0x3fff)
#define FIRST_CALL_KIND UINT32_C(0x1000)

/* What a node's file has described: keys are DESCRIBED_... and a number. */
enum described { DESCRIBED_TASK = 1, DESCRIBED_CALL, DESCRIBED_VARIANT /* and which one */ };

struct legion_node {
    struct legion_file file;
    uint32_t node;
    uint32_t salt; /* distinguishes what was exported of this node at other times */
    uint32_t workers;
    struct thread_map procs, kinds;
};

struct open_task {
    int64_t stop_ns;
    uint64_t event; /* of the innermost task from here outwards */
};
struct open_lane {
    struct open_task *open;
    uint32_t depth, room;
};

struct legion_track {
    uint32_t node; /* index in nodes */
    bool known;
    uint64_t proc;
    enum trace_track_kind kind;
    struct open_lane *lanes;
    uint32_t lane_room;
};

struct legion_export {
    struct trace_pass *pass;
    struct gzip_pieces *pieces; /* of all nodes */
    struct legion_node **nodes;
    uint32_t node_room, node_count;
    struct legion_track *tracks;
    uint32_t track_room;
    uint32_t *name_ids; /* by name number: id + 1 */
    uint32_t name_room;
    struct thread_map ids;     /* those that are taken */
    struct linked_spans tasks; /* spans that were written as such */
    struct dropped dropped;
    uint64_t clamped;
    uint64_t launches, creators; /* links that came, those of them that are written */
    bool crowded;
};

static void legion_fail(struct legion_export *legion, const char *why)
{
    message_once(&legion->pass->failed, "%s; the rest is dropped", why);
}

/* ---- nodes ----------------------------------------------------------------------- */

/* The % of the output's name is the node. False with the message given. */
static bool make_path(const struct legion_export *legion, uint32_t node, char *path, size_t room)
{
    const char *name = legion->pass->options->output.path;
    const char *percent = strchr(name, '%');
    int bytes = percent ? snprintf(path, room, "%.*s%" PRIu32 "%s", (int)(percent - name), name,
                                   node, percent + 1)
                        : snprintf(path, room, "%s", name);
    if (bytes < 0 || (size_t)bytes >= room)
        message("%s: too long a name", name);
    else if (!percent && legion->node_count > 0)
        message("%s: there are several nodes: put a %% where the node's number goes", name);
    else
        return true;
    return false;
}

static bool open_node(struct legion_export *legion, struct legion_node *made,
                      const struct trace_process *process)
{
    const struct export_options *options = export_options_of(legion->pass);
    if (process->node >= NODES_MAX)
        return message_fail("node %" PRIu32 ": Legion has nodes 0 to 65535", process->node);
    made->node = process->node;
    /* Legion Prof stops at an event that it knows from another file. So events of a file are those
     * of its process: of two that were exported apart they meet once in 16384 times. */
    uint32_t hash = 0x811c9dc5 ^ (uint32_t)process->os_id;
    for (uint32_t i = 0; i < process->source.bytes; i++)
        hash = (hash ^ (uint8_t)process->source.text[i]) * 0x01000193;
    made->salt = (hash ^ hash >> 14 ^ hash >> 28) & SALT_MASK;
    if (!make_path(legion, process->node, made->file.path, sizeof made->file.path))
        return false;
    const struct out_options file = {.path = made->file.path,
                                     .force = options->reading.output.force};
    const struct legion_output output = {&file, legion->pass->inputs, legion->pieces};
    struct legion_machine machine = {.node = process->node,
                                     .nodes = legion->pass->nodes,
                                     .version =
                                         options->legion_version ? options->legion_version : 1008,
                                     .process_id = process->os_id,
                                     .host = process->host,
                                     .zero_ns = trace_origin_ns(legion->pass->trace)};
    return legion_file_open(&made->file, &output, &machine);
}

/* Its index; false when it cannot be made. */
static bool find_node(struct legion_export *legion, const struct trace_process *process,
                      uint32_t *index_out)
{
    uint32_t i = 0;
    while (i < legion->node_count && legion->nodes[i]->node != process->node)
        i++;
    *index_out = i;
    if (i < legion->node_count)
        return true;
    struct legion_node *made = calloc(1, sizeof *made);
    if (!made || !GROW_ZEROED(legion->nodes, legion->node_room, i + 1)) {
        free(made);
        return message_fail("out of memory");
    }
    if (!open_node(legion, made, process)) {
        free(made);
        return false;
    }
    legion->nodes[legion->node_count++] = made;
    return true;
}

static void legion_on_process(void *context, const struct trace_process *process)
{
    struct legion_export *legion = context;
    uint32_t index;
    if (!legion->pass->failed && !find_node(legion, process, &index))
        legion->pass->failed = true; /* with the message given */
}

/* ---- processors ------------------------------------------------------------------ */

/* True the first time for this node. */
static bool is_new(struct legion_export *legion, struct thread_map *map, uint64_t key)
{
    uint32_t known = map->count, number = thread_map_number(map, key);
    if (number == THREAD_NONE)
        legion_fail(legion, "too many names or processors, or out of memory");
    return number == known;
}

/* Numbers that Realm does not come to: from a place behind 0xC00 that is the process's own, round
 * to it, then downwards from 0xC00. */
static uint64_t worker_id(struct legion_export *legion, struct legion_node *node)
{
    enum { UPPER = LAST_WORKER - FIRST_WORKER + 1, STEP = 16 };
    uint64_t base = UINT64_C(0x1d) << 56 | (uint64_t)node->node << 40;
    uint32_t number = node->workers, first = node->salt % (UPPER / STEP) * STEP;
    if (number < LAST_WORKER - LEAST_WORKER)
        node->workers++;
    else
        legion->crowded = true;
    return base | (number < UPPER ? FIRST_WORKER + (first + number) % UPPER
                                  : (uint32_t)LAST_WORKER - number);
}

static bool is_device(enum trace_track_kind kind)
{
    return kind == TRACE_GPU || kind == TRACE_STREAM || kind == TRACE_SM || kind == TRACE_LANE;
}

static uint32_t proc_kind(const struct trace_track *track)
{
    static const struct {
        const char *start;
        uint32_t kind;
    } kinds[] = {{"GPU", 1}, {"CPU", 2}, {"Utility", 3}, {"IO", 4}, {"OpenMP", 7}, {"Python", 8}};
    if (is_device(track->kind))
        return LEGION_GPU;
    if (track->kind != TRACE_PROCESSOR)
        return LEGION_UTILITY;
    for (int i = 0; i < 6; i++)
        if (track->name.bytes >= strlen(kinds[i].start) &&
            memcmp(track->name.text, kinds[i].start, strlen(kinds[i].start)) == 0)
            return kinds[i].kind;
    return LEGION_CPU;
}

static void legion_on_track(void *context, const struct trace_track *track)
{
    struct legion_export *legion = context;
    const struct trace_process *process = trace_process_of(legion->pass->trace, track->process);
    struct legion_track made = {.known = true, .kind = track->kind};
    if (legion->pass->failed || !find_node(legion, process, &made.node))
        return;
    struct legion_node *node = legion->nodes[made.node];
    bool real =
        track->id >> 56 == 0x1d && (track->kind == TRACE_GPU || track->kind == TRACE_PROCESSOR);
    made.proc = real ? track->id : worker_id(legion, node);
    if (!trace_pass_grow(legion->pass, &legion->tracks, &legion->track_room, track->number + 1,
                         sizeof *legion->tracks))
        return;
    legion->tracks[track->number] = made;
    if (is_new(legion, &node->procs, made.proc))
        legion_file_proc(&node->file, made.proc, proc_kind(track));
}

/* ---- names ----------------------------------------------------------------------- */

/* A hash of the name; the next free number when another name has it. */
static uint32_t name_id(struct legion_export *legion, uint32_t name)
{
    if (!trace_pass_grow(legion->pass, &legion->name_ids, &legion->name_room, name + 1,
                         sizeof *legion->name_ids))
        return 0;
    if (legion->name_ids[name])
        return legion->name_ids[name] - 1;
    struct trace_text text = trace_name_of(legion->pass->trace, name);
    uint32_t id = 0x811c9dc5;
    for (uint32_t i = 0; i < text.bytes; i++)
        id = (id ^ (uint8_t)text.text[i]) * 0x01000193;
    id = (id ^ id >> 28) & LEGION_OWN_MASK;
    while (!legion->pass->failed && !is_new(legion, &legion->ids, id))
        id = (id + 1) & LEGION_OWN_MASK;
    legion->name_ids[name] = id + 1;
    return id;
}

static uint32_t task_kind(struct legion_export *legion, struct legion_node *node,
                          const struct trace_span *span, enum legion_variant variant)
{
    uint32_t kind = LEGION_OWN_TASK + name_id(legion, span->name);
    struct trace_text name = trace_name_of(legion->pass->trace, span->name);
    if (is_new(legion, &node->kinds, (uint64_t)DESCRIBED_TASK << 32 | kind))
        legion_file_task_kind(&node->file, kind, name);
    if (is_new(legion, &node->kinds, ((uint64_t)DESCRIBED_VARIANT + variant) << 32 | kind))
        legion_file_variant(&node->file, kind, variant,
                            variant == LEGION_DEVICE_VARIANT ? trace_text(LEGION_GPU_VARIANT)
                            : variant == LEGION_HOST_VARIANT ? trace_text(LEGION_CALL_VARIANT)
                                                             : name);
    return kind;
}

static uint32_t call_kind(struct legion_export *legion, struct legion_node *node,
                          const struct trace_span *span)
{
    uint32_t kind = FIRST_CALL_KIND + name_id(legion, span->name);
    if (is_new(legion, &node->kinds, (uint64_t)DESCRIBED_CALL << 32 | kind))
        legion_file_call_kind(&node->file, kind, trace_name_of(legion->pass->trace, span->name));
    return kind;
}

/* ---- spans ----------------------------------------------------------------------- */

/* From the zero time; Legion's times have no sign. */
static uint64_t relative(struct legion_export *legion, int64_t time_ns)
{
    int64_t origin_ns = trace_origin_ns(legion->pass->trace);
    if (time_ns < origin_ns) {
        legion->clamped++;
        return 0;
    }
    return (uint64_t)time_ns - (uint64_t)origin_ns;
}

/* Of a span, so that who was launched by it can name it. */
static uint64_t event_of(const struct legion_node *node, uint64_t span)
{
    uint64_t index = 0x4000000 + (span & 0x3ffffff);
    uint64_t generation = (uint64_t)node->salt << 6 | (1 + (span >> 26)) % 64;
    return UINT64_C(1) << 63 | (uint64_t)node->node << 47 | index << 20 | generation;
}

static uint64_t op_of(const struct legion_node *node, uint64_t span)
{
    return UINT64_C(1) << 62 | (uint64_t)(node->salt & 0x3f) << 56 | (uint64_t)node->node << 40 |
           (span & ((UINT64_C(1) << 40) - 1));
}

/* Who launched it, as far as that is a task that was written. */
static void add_launch(struct legion_export *legion, const struct trace_detail *detail,
                       struct legion_task *task)
{
    if (!detail || !(detail->flags & TRACE_HAS_LAUNCH))
        return;
    int64_t origin_ns = trace_origin_ns(legion->pass->trace);
    uint64_t launch =
        detail->launch_ns < origin_ns ? 0 : (uint64_t)detail->launch_ns - (uint64_t)origin_ns;
    task->create = launch < task->start ? launch : task->start;
    if (detail->launch_track >= legion->track_room ||
        !linked_spans_has(&legion->tasks, detail->launch_span))
        return;
    task->creator =
        event_of(legion->nodes[legion->tracks[detail->launch_track].node], detail->launch_span);
    legion->creators++;
}

static uint64_t write_task(struct legion_export *legion, const struct legion_track *track,
                           const struct trace_span *span, const struct trace_detail *detail)
{
    struct legion_node *node = legion->nodes[track->node];
    enum legion_variant variant = is_device(track->kind)         ? LEGION_DEVICE_VARIANT
                                  : span->category == TRACE_CALL ? LEGION_HOST_VARIANT
                                                                 : LEGION_OTHER_VARIANT;
    struct legion_task task = {
        .op = op_of(node, span->id),
        .proc = track->proc,
        .event = event_of(node, span->id),
        .kind = task_kind(legion, node, span, variant),
        .variant = variant,
        .start = relative(legion, span->start_ns),
        .stop = relative(legion, span->stop_ns),
    };
    task.create = task.start;
    add_launch(legion, detail, &task);
    if (!linked_spans_add(&legion->tasks, span->id))
        trace_pass_fail(legion->pass);
    legion_file_task(&node->file, &task);
    return task.event;
}

static struct open_lane *find_lane(struct legion_export *legion, struct legion_track *track,
                                   const struct trace_span *span)
{
    if (!trace_pass_grow(legion->pass, &track->lanes, &track->lane_room, span->row + 1u,
                         sizeof *track->lanes))
        return NULL;
    struct open_lane *lane = &track->lanes[span->row];
    while (lane->depth && lane->open[lane->depth - 1].stop_ns <= span->start_ns)
        lane->depth--;
    return lane;
}

/* A late span comes behind what it encloses: it can have no calls. What sticks out of its lane,
 * where lanes ran out, is no call. */
static void legion_on_span(struct legion_export *legion, struct legion_track *track,
                           const struct trace_span *span, const struct trace_detail *detail)
{
    struct open_lane *lane = span->flags & TRACE_LATE ? NULL : find_lane(legion, track, span);
    const struct open_task *outer = lane && lane->depth ? &lane->open[lane->depth - 1] : NULL;
    bool task = !outer || outer->stop_ns < span->stop_ns || is_device(track->kind) ||
                span->category == TRACE_CALL || span->category == TRACE_TASK;
    uint64_t event = task ? write_task(legion, track, span, detail) : outer->event;
    struct legion_node *node = legion->nodes[track->node];
    if (!task)
        legion_file_call(&node->file, call_kind(legion, node, span),
                         relative(legion, span->start_ns), relative(legion, span->stop_ns),
                         track->proc, event);
    if (lane) {
        if (GROW_ZEROED(lane->open, lane->room, lane->depth + 1))
            lane->open[lane->depth++] = (struct open_task){span->stop_ns, event};
        else
            trace_pass_fail(legion->pass);
    }
}

static void legion_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    struct legion_export *legion = context;
    legion->dropped.details += trace_count_arguments(spans, count, details);
    struct legion_track *track =
        spans[0].track < legion->track_room ? &legion->tracks[spans[0].track] : NULL;
    for (size_t i = 0; track && track->known && i < count && !legion->pass->failed; i++)
        legion_on_span(legion, track, &spans[i], trace_detail_of(details, &spans[i]));
}

/* Launches are creators, where the work says who launched it. */
static void legion_on_link(void *context, const struct trace_link *link)
{
    struct legion_export *legion = context;
    legion->launches += link->kind == TRACE_LAUNCH;
    legion->dropped.links += link->kind != TRACE_LAUNCH;
}

/* ---- the exporter ---------------------------------------------------------------- */

static bool legion_begin(struct trace_pass *pass)
{
    const char *path = pass->options->output.path;
    if (!path || strcmp(path, "-") == 0)
        return message_fail(
            "a Legion Prof log is a file a node: give -o NAME, with %% for the node's number");
    struct legion_export *legion = calloc(1, sizeof *legion);
    if (legion)
        legion->pieces = gzip_pieces_new(pass->threads);
    if (!legion || !legion->pieces) {
        message("out of memory");
        free(legion);
        return false;
    }
    legion->pass = pass;
    pass->state = legion;
    pass->sink = (struct trace_sink){.context = legion,
                                     .process = legion_on_process,
                                     .track = legion_on_track,
                                     .spans = legion_on_spans,
                                     .link = legion_on_link,
                                     .full = trace_pass_is_full};
    return true;
}

static enum exit_code close_nodes(struct legion_export *legion)
{
    enum exit_code code = EXIT_GOOD;
    for (uint32_t i = 0; i < legion->node_count; i++) {
        if (legion->pass->nothing)
            out_discard(&legion->nodes[i]->file.out);
        code = exit_worse(code, legion_file_close(&legion->nodes[i]->file));
        thread_map_free(&legion->nodes[i]->procs);
        thread_map_free(&legion->nodes[i]->kinds);
        free(legion->nodes[i]);
    }
    gzip_pieces_free(legion->pieces);
    return code;
}

static enum exit_code legion_end(struct trace_pass *pass)
{
    struct legion_export *legion = pass->state;
    enum exit_code code = close_nodes(legion);
    if (legion->clamped)
        message("%" PRIu64 " times before the run's zero time were moved to it", legion->clamped);
    if (legion->crowded)
        message("more than 3072 threads on a node: the last share a processor");
    if (legion->pass->failed)
        code = EXIT_BAD_DATA;
    if (legion->launches > legion->creators)
        legion->dropped.links += legion->launches - legion->creators;
    if (!legion->pass->failed)
        dropped_report(pass, "legion", legion->dropped);
    for (uint32_t i = 0; i < legion->track_room; i++) {
        for (uint32_t lane = 0; lane < legion->tracks[i].lane_room; lane++)
            free(legion->tracks[i].lanes[lane].open);
        free(legion->tracks[i].lanes);
    }
    free(legion->tracks);
    free(legion->nodes);
    free(legion->name_ids);
    thread_map_free(&legion->ids);
    linked_spans_free(&legion->tasks);
    free(legion);
    return code;
}

const struct exporter exporter_legion = {
    .name = "legion",
    .suffixes = "%.gz .legion .legion.gz",
    .summary = "Legion Prof logs, one a node (% in the output's name)",
    .maker.own_output = true,
    .maker.begin = legion_begin,
    .maker.end = legion_end,
};
