/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sorted streams. Calls and messages go forward once: that says which messages a process waited
 * for. Spans, links and these messages go back once, from the end of the run (critical_walk.c).
 */
#include "critical_path.h"
#include "critical_walk.h"
#include "message.h"
#include "name_pattern.h"
#include "sorted.h"
#include "trace_span.h"

#include <stdlib.h>

enum { SLOTS = 256, WAIT_DEPTH = UINT16_MAX };

/* At one time: what ends has ended, what begins has not begun. */
enum event_kind { CALL_ENDS, ARRIVED, CALL_BEGINS, HANDLED };

struct event {
    int64_t time_ns;
    _Alignas(8) uint64_t key; /* of a message */
    uint32_t kind, process;   /* where it happens */
    uint32_t thread, item;    /* track; slot of a call */
    uint32_t name;            /* of a handler */
    uint32_t from_thread;
    int64_t sent_ns, arrived_ns, start_ns, stop_ns;
};
_Static_assert(sizeof(struct event) % 8 == 0, "as the sorter wants it");

struct critical_track {
    uint32_t thread; /* the track that its spans are walked on; TRACE_NONE: none */
    bool works, waits, waits_for_gpu;
    uint32_t item; /* of the outermost call that came last */
    int64_t stop_ns;
};

struct critical_process {
    bool handles[SLOTS]; /* slots in whose calls messages are handled */
    uint32_t busy;       /* threads that work, not counting those */
    uint64_t begins;     /* calls that have begun */
};

/* Of a message that has arrived and was not handled yet. */
struct flight {
    uint64_t key;
    uint64_t begins;
    uint32_t next_free; /* of one that was handled: index + 1 */
    bool found_idle;
};

struct walk {
    struct critical_path *path;
    struct flight *flights;
    uint32_t flight_room, flight_count, free_flight; /* index + 1 */
    struct index_map flight_places;
    bool failed;
};

/* ---- events ------------------------------------------------------------------------------- */

static int critical_path_compare(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    SORTED_BY(a, b, time_ns);
    SORTED_BY(a, b, kind);
    SORTED_BY(a, b, key);
    SORTED_BY(a, b, process);
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static const struct merge_order events_order = {"calls and messages", sizeof(struct event),
                                                MERGE_SORTER_NO_PAYLOAD, critical_path_compare};

static void critical_path_fail(struct critical_path *path)
{
    message_once(&path->failed, "out of memory: no critical path is known");
}

static void critical_path_on_process(void *context, const struct trace_process *process)
{
    struct critical_path *path = context;
    if (!grow_zeroed32(&path->processes, &path->process_room, process->number + 1,
                       sizeof *path->processes))
        critical_path_fail(path);
}

/* Where work is, and below threads the waits of a table. */
static struct critical_track track_of(const struct trace *trace, const struct trace_track *track)
{
    struct critical_track made = {.thread = TRACE_NONE, .stop_ns = INT64_MIN};
    const bool below = track->kind == TRACE_TABLE && track->parent != TRACE_NONE;
    made.works = track->kind <= TRACE_STREAM;
    made.waits_for_gpu = below && trace_text_is(track->name, "gpu_call");
    made.waits = below && (trace_text_is(track->name, "wait") ||
                           trace_text_is(track->name, "mpi_wait") || made.waits_for_gpu);
    if (made.works)
        made.thread = track->number;
    else if (made.waits && trace_track_of(trace, track->parent)->kind == TRACE_THREAD)
        made.thread = track->parent;
    return made;
}

static void critical_path_on_track(void *context, const struct trace_track *track)
{
    struct critical_path *path = context;
    if (!grow_zeroed32(&path->tracks, &path->track_room, track->number + 1, sizeof *path->tracks))
        critical_path_fail(path);
    else
        path->tracks[track->number] = track_of(*path->trace, track);
}

/* The run: calls that handle messages alone are around handlers, and are none of it. */
static void critical_path_widen(struct critical_path *path, int64_t start_ns, int64_t stop_ns,
                                uint32_t track)
{
    if (!path->any || start_ns < path->first_ns)
        path->first_ns = start_ns;
    if (!path->any || stop_ns > path->last_ns) {
        path->last_ns = stop_ns;
        path->last_track = track;
    }
    path->any = true;
}

static void add_call(struct critical_path *path, uint32_t process, const struct trace_span *span)
{
    struct event event = {.time_ns = span->start_ns,
                          .kind = CALL_BEGINS,
                          .process = process,
                          .thread = span->track,
                          .item = span->item};
    merge_sorter_add(&path->events, &event, NULL);
    event.time_ns = span->stop_ns;
    event.kind = CALL_ENDS;
    merge_sorter_add(&path->events, &event, NULL);
}

/* What a span is on the path; WALK_KINDS: nothing. */
static unsigned kind_of(const struct critical_track *track, const struct trace_span *span)
{
    if (track->thread == TRACE_NONE || span->start_ns >= span->stop_ns)
        return WALK_KINDS;
    if (track->waits)
        return span->category != TRACE_RANGE ? WALK_KINDS
               : span->depth                 ? WALK_READY
               : track->waits_for_gpu        ? WALK_GPU_WAIT
                                             : WALK_WAIT;
    if (span->category == TRACE_GPU_WORK)
        return WALK_GPU;
    return span->category == TRACE_REAP                             ? WALK_GPU_WAIT
           : span->category >= TRACE_RANGE                          ? WALK_KINDS
           : span->category == TRACE_WAIT || trace_is_waiting(span) ? WALK_WAIT
                                                                    : WALK_WORK;
}

static void add_step(struct critical_path *path, const struct critical_track *track,
                     const struct trace_span *span)
{
    const unsigned kind = kind_of(track, span);
    const uint32_t depth = track->waits ? WAIT_DEPTH : 0;
    if (kind == WALK_KINDS)
        return;
    const struct critical_step step = {.time_ns = span->stop_ns,
                                       .from_ns = span->start_ns,
                                       .what = STEP_SPAN,
                                       .kind = (uint8_t)kind,
                                       .track = track->thread,
                                       .name = span->name,
                                       .other = depth + span->depth};
    merge_sorter_add(&path->steps, &step, NULL);
    if (span->category != TRACE_CALL && track->works && span->depth == 0)
        critical_path_widen(path, span->start_ns, span->stop_ns, span->track);
}

/* Handlers are sub-items: the call around one is known by then. */
static void critical_path_on_span(struct critical_path *path, const struct trace_span *span)
{
    struct critical_track *track = &path->tracks[span->track];
    uint32_t process = trace_track_of(*path->trace, span->track)->process;
    add_step(path, track, span);
    if (span->category == TRACE_AM && span->start_ns <= track->stop_ns && track->item < SLOTS)
        path->processes[process].handles[track->item] = true;
    if (span->category != TRACE_CALL || span->depth > 0 || !track->works)
        return;
    track->item = span->item;
    track->stop_ns = span->stop_ns;
    const struct trace_text name = trace_name_of(*path->trace, span->name);
    const uint64_t duration_ns = trace_duration_ns(span);
    if (path->of && duration_ns > path->longest.duration_ns &&
        name_matches(path->of, name.text, name.bytes))
        path->longest = (struct critical_piece){span->start_ns, duration_ns, span->track,
                                                span->name, WALK_WORK};
    if (span->start_ns < span->stop_ns)
        add_call(path, process, span);
}

static void critical_path_on_spans(void *context, const struct trace_span *spans, size_t count,
                                   const struct trace_details *details)
{
    struct critical_path *path = context;
    (void)details;
    for (size_t i = 0; i < count && !path->failed; i++)
        critical_path_on_span(path, &spans[i]);
}

static void critical_path_on_link(void *context, const struct trace_link *link)
{
    struct critical_path *path = context;
    const uint32_t to = path->tracks[link->to_track].thread;
    const uint32_t from = path->tracks[link->from_track].thread;
    if (to == TRACE_NONE || from == TRACE_NONE || (to == from && link->kind != TRACE_WAIT_FOR) ||
        link->from_ns > link->to_ns || link->kind == TRACE_MESSAGE ||
        link->kind == TRACE_LINKED_RANGE)
        return;
    const struct critical_step step = {.time_ns = link->to_ns,
                                       .from_ns = link->from_ns,
                                       .what = STEP_LINK,
                                       .kind = (uint8_t)link->kind,
                                       .track = to,
                                       .other = from};
    path->links++;
    merge_sorter_add(&path->steps, &step, NULL);
}

/* The thread below which the row stands; of a row without one its own track. */
static uint32_t thread_of(const struct critical_path *path, uint32_t track)
{
    uint32_t above = trace_track_of(*path->trace, track)->parent;
    return above == TRACE_NONE ? track : above;
}

static void critical_path_take_message(void *context, const struct trace_message *message)
{
    struct critical_path *path = context;
    const struct trace_message_end *sent = &message->sent, *handled = &message->handled;
    /* Clocks err: it comes in this order all the same. */
    const int64_t behind_ns = sent->start_ns < INT64_MAX ? sent->start_ns + 1 : INT64_MAX;
    struct event event = {.time_ns =
                              handled->arrived_ns > behind_ns ? handled->arrived_ns : behind_ns,
                          .key = handled->key,
                          .kind = ARRIVED,
                          .process = message->to_process,
                          .thread = thread_of(path, handled->track),
                          .name = handled->name,
                          .from_thread = thread_of(path, sent->track),
                          .sent_ns = sent->start_ns,
                          .arrived_ns = handled->arrived_ns,
                          .start_ns = handled->start_ns,
                          .stop_ns = handled->stop_ns};
    path->messages++;
    merge_sorter_add(&path->events, &event, NULL);
    event.kind = HANDLED;
    event.time_ns = handled->start_ns > event.time_ns ? handled->start_ns : event.time_ns;
    merge_sorter_add(&path->events, &event, NULL);
    critical_path_widen(path, sent->start_ns, handled->stop_ns, event.thread);
}

static bool critical_path_is_full(void *context)
{
    const struct critical_path *path = context;
    return path->failed;
}

void critical_path_start(struct critical_path *path, struct trace *const *trace, const char *of)
{
    *path = (struct critical_path){.trace = trace, .of = of};
    merge_sorter_start(&path->events, &events_order);
    merge_sorter_start(&path->steps, &critical_steps_order);
}

struct trace_sink critical_path_sink(struct critical_path *path)
{
    return (struct trace_sink){
        .context = path,
        .process = critical_path_on_process,
        .track = critical_path_on_track,
        .spans = critical_path_on_spans,
        .link = critical_path_on_link,
        .message = critical_path_take_message,
        .full = critical_path_is_full,
    };
}

/* ---- messages under way ------------------------------------------------------------------- */

/* NULL: times of strangers, where nothing is behind the last one. */
static struct flight *critical_path_find(const struct walk *walk, uint64_t key)
{
    for (uint32_t step = 0, i;
         (i = index_map_next(&walk->flight_places, key, &step)) != INDEX_NONE;)
        if (walk->flights[i].key == key)
            return &walk->flights[i];
    return NULL;
}

/* Without memory NULL. */
static struct flight *add_flight(struct walk *walk, uint64_t key)
{
    const uint32_t free_one = walk->free_flight;
    const uint32_t at = free_one ? free_one - 1 : walk->flight_count;
    if (!grow_array32(&walk->flights, &walk->flight_room, at + 1, sizeof *walk->flights) ||
        !index_map_add(&walk->flight_places, key, at))
        return NULL;
    if (free_one)
        walk->free_flight = walk->flights[at].next_free;
    else
        walk->flight_count++;
    return &walk->flights[at];
}

static struct flight take_flight(struct walk *walk, struct flight *flight)
{
    const struct flight taken = *flight;
    const uint32_t at = (uint32_t)(flight - walk->flights);
    index_map_remove(&walk->flight_places, flight->key, at);
    *flight = (struct flight){.next_free = walk->free_flight};
    walk->free_flight = at + 1;
    return taken;
}

/* ---- the walk ------------------------------------------------------------------------------ */

static void arrive(struct walk *walk, const struct event *event)
{
    const struct critical_process *process = &walk->path->processes[event->process];
    struct flight *flight = add_flight(walk, event->key);
    walk->failed |= !flight;
    if (flight)
        *flight = (struct flight){
            .key = event->key, .begins = process->begins, .found_idle = process->busy == 0};
}

static void handle(struct walk *walk, const struct event *event)
{
    const struct critical_process *process = &walk->path->processes[event->process];
    struct flight *found = critical_path_find(walk, event->key);
    if (!found)
        return;
    const struct flight flight = take_flight(walk, found);
    const bool waited = flight.found_idle && flight.begins == process->begins;
    const struct critical_step end = {.time_ns = event->stop_ns,
                                      .what = STEP_LINK,
                                      .kind = STEP_HANDLER_ENDS,
                                      .track = event->thread};
    const struct critical_step step = {.time_ns = event->time_ns,
                                       .from_ns = event->sent_ns,
                                       .what = STEP_HANDLED,
                                       .kind = waited,
                                       .track = event->thread,
                                       .other = event->from_thread,
                                       .name = event->name};
    const struct critical_message message = {sizeof message / 8, event->key, event->arrived_ns,
                                             event->start_ns, event->stop_ns};
    merge_sorter_add(&walk->path->steps, &step, (const uint64_t *)&message);
    if (waited)
        merge_sorter_add(&walk->path->steps, &end, NULL);
}

static bool take_event(void *context, const void *item, const uint64_t *payload)
{
    struct walk *walk = context;
    const struct event *event = item;
    struct critical_process *process = &walk->path->processes[event->process];
    const bool counts = event->item >= SLOTS || !process->handles[event->item];
    (void)payload;
    if (event->kind == ARRIVED) {
        arrive(walk, event);
    } else if (event->kind == HANDLED) {
        handle(walk, event);
    } else if (counts) {
        process->busy += event->kind == CALL_BEGINS ? 1 : -1u;
        process->begins += event->kind == CALL_BEGINS;
        critical_path_widen(walk->path, event->time_ns, event->time_ns, event->thread);
    }
    return !walk->failed;
}

void critical_path_finish(struct critical_path *path)
{
    struct walk walk = {.path = path};
    merge_sorter_finish(&path->events, take_event, &walk);
    if (walk.failed)
        critical_path_fail(path);
    path->failed |= path->events.failed; /* a message was given */
    free(walk.flights);
    index_map_free(&walk.flight_places);
    free(path->processes);
    free(path->tracks);
    path->processes = NULL;
    path->tracks = NULL;
    path->process_room = path->track_room = 0;
    if (path->of && path->longest.duration_ns) {
        path->last_track = path->longest.track;
        path->last_ns = (int64_t)((uint64_t)path->longest.start_ns + path->longest.duration_ns);
    }
    path->any &= !path->of || path->longest.duration_ns;
    if (path->any && !path->failed && !critical_walk_back(path))
        critical_path_fail(path);
    path->failed |= path->steps.failed;
}

void critical_path_free(struct critical_path *path)
{
    merge_sorter_stop(&path->events);
    merge_sorter_stop(&path->steps);
    free(path->hops);
    free(path->pieces);
    free(path->shares);
    free(path->processes);
    free(path->tracks);
    *path = (struct critical_path){0};
}
