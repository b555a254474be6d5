/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and messages are events that are sorted by time and walked through once. Each process has
 * the message that it waited for last; each message keeps the one that its sender had then. So
 * chains grow as trees whose branches are given back when nothing refers to them any more.
 */
#include "critical_path.h"
#include "grow.h"
#include "index_map.h"
#include "message.h"
#include "stats_row.h"
#include "trace_span.h"

#include <stdlib.h>

enum { SLOTS = 256, HANDLERS_KEPT = 8 };

/* At one time: what ends has ended, what begins has not begun. */
enum event_kind { CALL_ENDS, ARRIVED, SENT, CALL_BEGINS, HANDLED };

struct event {
    int64_t time_ns;
    _Alignas(8) uint64_t key; /* of a message */
    uint32_t kind, process;   /* where it happens */
    uint32_t thread, item;    /* track; slot of a call */
    uint32_t name;            /* of a handler */
    uint32_t from_process, to_process;
    int64_t sent_ns, arrived_ns, start_ns, stop_ns;
};
_Static_assert(sizeof(struct event) % 8 == 0, "as the sorter wants it");

struct critical_track {
    bool is_thread;
    uint32_t item; /* of the outermost call that came last */
    int64_t stop_ns;
};

/* A handler's run, and the message behind which the sender of its own message was. */
struct link {
    struct link *before; /* NULL: none */
    uint64_t refs;
    struct event event; /* HANDLED */
};

struct critical_process {
    bool handles[SLOTS]; /* slots in whose calls messages are handled */
    uint32_t busy;       /* threads that work, not counting those */
    uint64_t begins;     /* calls that have begun */
    struct link *waited; /* the message that it waited for last */
    struct link *recent[HANDLERS_KEPT];
    uint32_t next_recent;
};

/* Of a message that was sent and not handled yet. */
struct flight {
    uint64_t key;
    uint64_t begins;
    struct link *before; /* NULL: none */
    uint32_t next_free;  /* of one that was handled: index + 1 */
    bool found_idle;
};

struct walk {
    struct critical_path *path;
    struct flight *flights;
    uint32_t flight_room, flight_count, free_flight; /* index + 1 */
    struct index_map flight_places;
    struct link *last; /* the handler that ended last */
    bool failed;
};

/* ---- events ------------------------------------------------------------------------------- */

static int critical_path_compare(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static const struct merge_order events_order = {.what = "calls and messages",
                                                .item_bytes = sizeof(struct event),
                                                .payload_at = MERGE_SORTER_NO_PAYLOAD,
                                                .compare = critical_path_compare};

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

static void critical_path_on_track(void *context, const struct trace_track *track)
{
    struct critical_path *path = context;
    if (!grow_zeroed32(&path->tracks, &path->track_room, track->number + 1, sizeof *path->tracks))
        critical_path_fail(path);
    else
        path->tracks[track->number] =
            (struct critical_track){.is_thread = track->kind == TRACE_THREAD, .stop_ns = INT64_MIN};
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

/* Handlers are sub-items: the call around one is known by then. */
static void critical_path_on_span(struct critical_path *path, const struct trace_span *span)
{
    struct critical_track *track = &path->tracks[span->track];
    uint32_t process = trace_track_of(*path->trace, span->track)->process;
    if (span->category == TRACE_AM && span->start_ns <= track->stop_ns && track->item < SLOTS)
        path->processes[process].handles[track->item] = true;
    if (span->category != TRACE_CALL || span->depth > 0)
        return;
    track->item = span->item;
    track->stop_ns = span->stop_ns;
    if (span->start_ns < span->stop_ns)
        add_call(path, process, span);
}

static void critical_path_on_spans(void *context, const struct trace_span *spans, size_t count,
                                   const struct trace_details *details)
{
    struct critical_path *path = context;
    (void)details;
    for (size_t i = 0; i < count && !path->failed; i++)
        if (path->tracks[spans[i].track].is_thread)
            critical_path_on_span(path, &spans[i]);
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
    struct event event = {.time_ns = sent->start_ns,
                          .key = handled->key,
                          .kind = SENT,
                          .process = message->from_process,
                          .thread = thread_of(path, sent->track),
                          .name = handled->name,
                          .from_process = message->from_process,
                          .to_process = message->to_process,
                          .sent_ns = sent->start_ns,
                          .arrived_ns = handled->arrived_ns,
                          .start_ns = handled->start_ns,
                          .stop_ns = handled->stop_ns};
    path->messages++;
    merge_sorter_add(&path->events, &event, NULL);
    /* Clocks err: it comes in this order all the same. */
    event.process = message->to_process;
    event.thread = thread_of(path, handled->track);
    event.kind = ARRIVED;
    event.time_ns = sent->start_ns < INT64_MAX ? sent->start_ns + 1 : INT64_MAX;
    if (handled->arrived_ns > event.time_ns)
        event.time_ns = handled->arrived_ns;
    merge_sorter_add(&path->events, &event, NULL);
    event.kind = HANDLED;
    event.time_ns = handled->start_ns > event.time_ns ? handled->start_ns : event.time_ns;
    merge_sorter_add(&path->events, &event, NULL);
}

static bool critical_path_is_full(void *context)
{
    const struct critical_path *path = context;
    return path->failed;
}

void critical_path_start(struct critical_path *path, struct trace *const *trace)
{
    *path = (struct critical_path){.trace = trace};
    merge_sorter_start(&path->events, &events_order);
}

struct trace_sink critical_path_sink(struct critical_path *path)
{
    return (struct trace_sink){
        .context = path,
        .process = critical_path_on_process,
        .track = critical_path_on_track,
        .spans = critical_path_on_spans,
        .message = critical_path_take_message,
        .full = critical_path_is_full,
    };
}

/* ---- chains ------------------------------------------------------------------------------- */

static struct link *hold(struct link *link)
{
    if (link)
        link->refs++;
    return link;
}

static void drop(struct link *link)
{
    while (link && --link->refs == 0) {
        struct link *before = link->before;
        free(link);
        link = before;
    }
}

static void critical_path_put(struct link **place, struct link *link)
{
    struct link *old = *place;
    *place = hold(link);
    drop(old);
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

/* The handler inside which it was sent, or else the message that its sender had waited for. */
static struct link *cause_of(const struct critical_process *process, const struct event *sent)
{
    for (uint32_t i = 0; i < HANDLERS_KEPT; i++) {
        struct link *link = process->recent[i];
        if (link && link->event.thread == sent->thread && link->event.start_ns <= sent->time_ns &&
            sent->time_ns <= link->event.stop_ns)
            return link;
    }
    return process->waited;
}

static void send(struct walk *walk, const struct event *event)
{
    struct flight *flight = add_flight(walk, event->key);
    if (!flight) {
        walk->failed = true;
        return;
    }
    *flight = (struct flight){
        .key = event->key,
        .before = hold(cause_of(&walk->path->processes[event->process], event)),
    };
}

static void arrive(struct walk *walk, const struct event *event)
{
    const struct critical_process *process = &walk->path->processes[event->process];
    struct flight *flight = critical_path_find(walk, event->key);
    if (!flight)
        return;
    flight->found_idle = process->busy == 0;
    flight->begins = process->begins;
}

static void handle(struct walk *walk, const struct event *event)
{
    struct critical_process *process = &walk->path->processes[event->process];
    struct flight *found = critical_path_find(walk, event->key);
    if (!found)
        return;
    const struct flight flight = take_flight(walk, found);
    struct link *link = malloc(sizeof *link);
    if (!link) {
        drop(flight.before);
        walk->failed = true;
        return;
    }
    *link = (struct link){.before = flight.before, .refs = 1, .event = *event};
    if (flight.found_idle && flight.begins == process->begins)
        critical_path_put(&process->waited, link);
    critical_path_put(&process->recent[process->next_recent++ % HANDLERS_KEPT], link);
    if (!walk->last || event->stop_ns > walk->last->event.stop_ns)
        critical_path_put(&walk->last, link);
    drop(link);
}

/* The run: calls that handle messages alone are around handlers, and are none of it. */
static void critical_path_widen(struct critical_path *path, int64_t start_ns, int64_t stop_ns,
                                uint32_t process)
{
    if (!path->any || start_ns < path->first_ns)
        path->first_ns = start_ns;
    if (!path->any || stop_ns > path->last_ns) {
        path->last_ns = stop_ns;
        path->last_process = process;
    }
    path->any = true;
}

static void count_call(struct critical_path *path, struct critical_process *process,
                       const struct event *event)
{
    bool begins = event->kind == CALL_BEGINS;
    process->busy += begins ? 1 : -1u;
    process->begins += begins;
    critical_path_widen(path, event->time_ns, event->time_ns, event->process);
}

static bool take_event(void *context, const void *item, const uint64_t *payload)
{
    struct walk *walk = context;
    const struct event *event = item;
    struct critical_process *process = &walk->path->processes[event->process];
    bool counts = event->item >= SLOTS || !process->handles[event->item];
    (void)payload;
    switch (event->kind) {
    case CALL_BEGINS:
    case CALL_ENDS:
        if (counts)
            count_call(walk->path, process, event);
        break;
    case SENT:
        critical_path_widen(walk->path, event->sent_ns, event->stop_ns, event->to_process);
        send(walk, event);
        break;
    case ARRIVED:
        arrive(walk, event);
        break;
    default:
        handle(walk, event);
    }
    return !walk->failed;
}

/* ---- the result ----------------------------------------------------------------------------- */

/* until_ns: when its receiver sent the next message, or the run ended. */
static struct critical_hop hop_of(const struct event *event, int64_t until_ns)
{
    int64_t done_ns = event->stop_ns < until_ns ? event->stop_ns : until_ns;
    return (struct critical_hop){
        .key = event->key,
        .from_process = event->from_process,
        .to_process = event->process,
        .name = event->name,
        .sent_ns = event->sent_ns,
        .network_ns = stats_between_ns(event->sent_ns, event->arrived_ns),
        .queue_ns = stats_between_ns(event->arrived_ns, event->start_ns),
        .handling_ns = stats_between_ns(event->start_ns, done_ns),
        .work_ns = stats_between_ns(done_ns, until_ns),
    };
}

/* What the run ended with: a handler, or work that its node did behind what it waited for. */
static const struct link *end_of(const struct walk *walk)
{
    const struct critical_path *path = walk->path;
    const struct link *last = walk->last;
    if (last && last->event.process == path->last_process && last->event.stop_ns == path->last_ns)
        return last;
    return path->processes[path->last_process].waited;
}

static void note_chain(struct critical_path *path, const struct link *last)
{
    int64_t until_ns = path->last_ns;
    uint32_t count = 0;
    for (const struct link *link = last; link; link = link->before)
        count++;
    path->hops = calloc(count + 1u, sizeof *path->hops);
    path->first_process = path->last_process;
    if (!path->hops) {
        critical_path_fail(path);
        return;
    }
    path->hop_count = count;
    for (const struct link *link = last; link; link = link->before) {
        path->hops[--count] = hop_of(&link->event, until_ns);
        path->first_process = link->event.from_process;
        until_ns = link->event.sent_ns;
    }
    path->first_work_ns = stats_between_ns(path->first_ns, until_ns);
}

static void free_walk(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->flight_count; i++)
        drop(walk->flights[i].before);
    free(walk->flights);
    index_map_free(&walk->flight_places);
    drop(walk->last);
    for (uint32_t i = 0; i < walk->path->process_room; i++) {
        drop(walk->path->processes[i].waited);
        for (uint32_t j = 0; j < HANDLERS_KEPT; j++)
            drop(walk->path->processes[i].recent[j]);
    }
}

void critical_path_finish(struct critical_path *path)
{
    struct walk walk = {.path = path};
    merge_sorter_finish(&path->events, take_event, &walk);
    if (walk.failed)
        critical_path_fail(path);
    path->failed |= path->events.failed; /* a message was given */
    if (path->any && !path->failed)
        note_chain(path, end_of(&walk));
    free_walk(&walk);
    free(path->processes);
    free(path->tracks);
    path->processes = NULL;
    path->tracks = NULL;
    path->process_room = path->track_room = 0;
}

void critical_path_free(struct critical_path *path)
{
    merge_sorter_stop(&path->events);
    free(path->hops);
    free(path->processes);
    free(path->tracks);
    *path = (struct critical_path){0};
}
