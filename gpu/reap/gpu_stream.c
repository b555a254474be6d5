/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_stream.c - the launching side: brackets and notifications of a stream.
 *
 * Nodes come in batches with their events and are used again in the order in
 * which they came back, so a stream that is in its stride allocates nothing.
 */
#include "gpu_stream.h"

#include "gpu_backend.h"
#include "rbwp_range.h"
#include "record_extend.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- gpu pace -------------------------------------------------------------------------------- */
/*
 * How often the driver is asked for the events of a stream, and when that was complete for which
 * nobody asked.
 *
 * The driver's answers cost the launching threads time, for they wait for the same lock of the
 * driver. So it is left alone for a while after a "not yet"; and where brackets end in quick
 * succession one is asked for, whose launch is some time ago, and what is before it is complete
 * with it. How uncertain times become by that is kept as a gap: how long nobody had looked.
 */

/*
 * How long the driver is left alone after it said "not yet": a part of the wait so far, between
 * these.
 */
#define PAUSE_NS_MIN 500u
#define PAUSE_NS_MAX 1000u
#define PAUSE_SHARE 16u
/*
 * Where brackets end faster than BUSY_NS after each other, asking for each would cost the launching
 * thread more than it is worth. There one bracket is asked for whose launch is AHEAD_NS ago, every
 * AHEAD_PAUSE_NS. When it is complete, all before it are: their times are spread over the time in
 * which nobody looked, and the gap beside each record says how uncertain they are.
 */
#define BUSY_NS 8000
#define AHEAD_NS 20000
#define AHEAD_PAUSE_NS 100000
#define AHEAD_NODES_MIN 3u
#define SPACING_NS_MAX INT64_C(1000000)
#define SPACING_SHARE 8

/* All 0, then this: a stream is not busy until it is seen to be. */
static void gpu_pace_begin(struct gpu_pace *pace)
{
    pace->spacing_ns = SPACING_NS_MAX;
}

bool gpu_pace_rests(const struct gpu_pace *pace, uint64_t now_ticks)
{
    return now_ticks < pace->next_look_ticks;
}

void gpu_pace_wait(struct gpu_pace *pace, int64_t asked_ns, int64_t refused_ns)
{
    uint64_t now = rbwp_now_ticks(), least = rbwp_ticks_from_ns(PAUSE_NS_MIN),
             most = rbwp_ticks_from_ns(PAUSE_NS_MAX);
    pace->looked_ns = asked_ns;
    pace->refused_ns = refused_ns;
    if (pace->wait_ticks == 0)
        pace->wait_ticks = now;
    uint64_t pause = (now - pace->wait_ticks) / PAUSE_SHARE;
    pace->next_look_ticks = now + (pause < least ? least : pause > most ? most : pause);
}

void gpu_pace_next(struct gpu_pace *pace)
{
    pace->wait_ticks = 0;
    pace->next_look_ticks = 0;
    pace->refused_ns = 0;
}

void gpu_pace_ended(struct gpu_pace *pace, int64_t seen_ns)
{
    int64_t spacing_ns = seen_ns - pace->ends_ns; /* a long pause counts like a short one */
    if (spacing_ns > SPACING_NS_MAX)
        spacing_ns = SPACING_NS_MAX;
    pace->spacing_ns += (spacing_ns - pace->spacing_ns) / SPACING_SHARE;
    pace->ends_ns = seen_ns;
}

/* A duration as it is stored beside a record. */
static uint32_t gpu_pace_u32(int64_t ns)
{
    return ns < 0 ? 0 : ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

uint32_t gpu_pace_gap_ns(const struct gpu_pace *pace, int64_t launch_ns)
{
    const int64_t since = pace->looked_ns > launch_ns ? pace->looked_ns : launch_ns;
    const int64_t until = pace->batch_ns ? pace->batch_ns : pace->told_ns;
    const int64_t early = pace->seen_ns - since, late = until - pace->seen_ns;
    return gpu_pace_u32(early > late ? early : late);
}

static int64_t launch_ns(const struct gpu_node *node)
{
    return node->kind == GPU_NODE_NOTIFY  ? INT64_MAX /* not known, and worth a look of its own */
           : node->kind == GPU_NODE_START ? node->end->launch_ns
                                          : node->launch_ns;
}

/* It was on the stream by then, and not complete before. */
static int64_t first_ns(const struct gpu_node *node)
{
    return node->kind == GPU_NODE_NOTIFY  ? 0
           : node->kind == GPU_NODE_START ? launch_ns(node)
                                          : node->launched_ns;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- one after the other ----------------------------------------------------------------- */

/*
 * A start that was never seen to wait, on a stream that had nothing to do when it came: it
 * was complete at once. Who reaps may have slept then.
 */
static bool was_free(const struct gpu_pace *pace, const struct gpu_node *node)
{
    return node->kind == GPU_NODE_START && !node->joined && pace->refused_ns == 0 &&
           pace->seen_ns <= launch_ns(node);
}

/*
 * The answer "complete" takes the driver a while, but it is of the time when it was asked. Between
 * the last "not yet" and then any time is as good as another: the middle is wrong by least. Several
 * in one go are spread over that time, and half a part is left for the next one, which has begun.
 */
void gpu_pace_run(const struct gpu_pace *pace, const struct gpu_node *oldest, struct gpu_run *run)
{
    const bool waited = pace->refused_ns != 0;
    const struct gpu_node *node = oldest;
    unsigned events = 0;
    run->from_ns = run->to_ns = waited ? pace->refused_ns : pace->seen_ns;
    run->nodes_done = run->parts_done = 0;
    for (unsigned i = 0; i < run->nodes; i++, node = node->next) {
        if (run->answer[i].asked_ns == 0 || (i == 0 && was_free(pace, node)))
            continue;
        if (events++ == 0)
            run->from_ns = later(run->from_ns, first_ns(node));
        run->to_ns = run->answer[i].asked_ns;
    }
    run->parts = events == 1 && waited ? 4 : 2 * events + 1;
}

int64_t gpu_pace_run_ns(struct gpu_pace *pace, struct gpu_run *run, const struct gpu_node *node)
{
    const struct gpu_answer *answer = &run->answer[run->nodes_done++];
    int64_t time_ns = pace->seen_ns;
    if (answer->asked_ns)
        pace->told_ns = answer->told_ns;
    if (node->kind == GPU_NODE_NOTIFY)
        return answer->told_ns;
    if (answer->asked_ns && !was_free(pace, node)) {
        run->parts_done += 2;
        time_ns = run->from_ns + (run->to_ns - run->from_ns) * run->parts_done / run->parts;
        time_ns = time_ns < answer->asked_ns ? time_ns : answer->asked_ns;
    }
    return later(later(time_ns, pace->seen_ns), first_ns(node));
}

/* ---- many at once ------------------------------------------------------------------------ */

bool gpu_pace_is_busy(const struct gpu_pace *pace, const struct gpu_node *oldest)
{
    return pace->spacing_ns < BUSY_NS && launch_ns(oldest) != INT64_MAX;
}

const struct gpu_node *gpu_pace_choose(const struct gpu_pace *pace, const struct gpu_node *oldest,
                                       int64_t now_ns, struct gpu_ahead *ahead_out)
{
    struct gpu_ahead ahead = {.from_ns = pace->looked_ns, .to_ns = now_ns};
    const struct gpu_node *candidate = NULL;
    uint64_t nodes = 0;
    int64_t events = 0;
    if (ahead.from_ns < pace->seen_ns)
        ahead.from_ns = pace->seen_ns;
    if (ahead.from_ns < launch_ns(oldest)) /* after a pause: nothing ran before it */
        ahead.from_ns = launch_ns(oldest);
    for (const struct gpu_node *node = oldest; node; node = node->next) {
        if (launch_ns(node) > now_ns - AHEAD_NS)
            break;
        nodes++;
        events += !gpu_node_is_joined(node);
        if (node->kind == GPU_NODE_END) {
            candidate = node;
            ahead.nodes = nodes;
            ahead.events = events;
        }
    }
    *ahead_out = ahead;
    return ahead.nodes < AHEAD_NODES_MIN ? NULL : candidate;
}

void gpu_pace_let_age(struct gpu_pace *pace, const struct gpu_node *oldest, uint64_t now_ticks,
                      int64_t now_ns)
{
    int64_t old_ns = now_ns - launch_ns(oldest);
    int64_t wait_ns = old_ns < AHEAD_NS ? AHEAD_NS - old_ns : 0;
    pace->next_look_ticks = now_ticks + rbwp_ticks_from_ns((uint64_t)wait_ns);
}

int64_t gpu_pace_infer_ns(const struct gpu_pace *pace, struct gpu_ahead *ahead,
                          const struct gpu_node *node)
{
    int64_t time_ns = pace->seen_ns;
    if (ahead->nodes_done < ahead->nodes) {
        ahead->nodes_done++;
        ahead->events_done += !gpu_node_is_joined(node);
        int64_t spread_ns =
            ahead->from_ns + (ahead->to_ns - ahead->from_ns) * ahead->events_done / ahead->events;
        time_ns = spread_ns > time_ns ? spread_ns : time_ns;
    }
    return later(time_ns, first_ns(node));
}

void gpu_pace_batch_done(struct gpu_pace *pace, const struct gpu_ahead *ahead, uint64_t begin_ticks)
{
    pace->looked_ns = pace->told_ns = ahead->to_ns;
    pace->next_look_ticks = begin_ticks + rbwp_ticks_from_ns(AHEAD_PAUSE_NS);
}

/* ---- whose turn it is on a stream ------------------------------------------------------------ */
/*
 * A lock for the few instructions of a bracket's begin and end.
 *
 * Nearly always one thread launches on a stream, and what it pays for the lock it pays twice a
 * bracket. A mutex takes two atomic exchanges, one of them to learn whether somebody waits; this
 * takes one, and gives the turn back with a plain store. Who waits must look for that: a while at
 * once, then between naps, since the driver may hold a turn for milliseconds where its queue is
 * full.
 */

#define LOOKS_AT_ONCE 200 /* some 100 ns, as long as a driver's call that does not wait */
#define YIELDS 20
#define NAP_NS 50000 /* who has the turn may be of lower priority, and need this CPU */

void gpu_turn_wait(struct gpu_turn *turn)
{
    for (int look = 0; atomic_load_explicit(&turn->taken, memory_order_relaxed); look++) {
        if (look < LOOKS_AT_ONCE)
            continue;
        if (look < LOOKS_AT_ONCE + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    }
}

/* ---- gpu stream ------------------------------------------------------------------------------ */

#define NODES_IN_BATCH 32u
#define LAUNCH_BITS 40 /* of a bracket's id: which of its stream; above it the stream */

struct gpu_node_batch {
    struct gpu_node_batch *next;
    struct gpu_node node[NODES_IN_BATCH];
};

static _Atomic bool refused;
static _Atomic uint32_t streams; /* that were opened */

void *gpu_lines_alloc(size_t bytes)
{
    void *lines = aligned_alloc(GPU_LINE_BYTES, bytes);
    return lines ? memset(lines, 0, bytes) : NULL;
}

struct gpu_context *gpu_stream_context(struct rbwp_gpu_stream *stream)
{
    return stream->context;
}

void *gpu_stream_native(struct rbwp_gpu_stream *stream)
{
    return stream->native;
}

/* ---- nodes ------------------------------------------------------------------- */

/* Makes a batch of nodes with events. What could be made is used. Locked. */
static int add_batch(struct rbwp_gpu_stream *stream)
{
    struct gpu_context *context = stream->context;
    struct gpu_attached saved;
    struct gpu_node_batch *batch = gpu_lines_alloc(sizeof *batch);
    if (!batch)
        return GPU_NO_MEMORY;
    batch->next = stream->batch;
    stream->batch = batch;
    int code = context->backend->attach(context, &saved);
    if (code != GPU_OK)
        return code;
    for (unsigned i = 0; i < NODES_IN_BATCH; i++) {
        struct gpu_node *node = &batch->node[i];
        code = context->backend->event_create(context, &node->event);
        if (code != GPU_OK)
            break;
        node->next = stream->spare;
        stream->spare = node;
    }
    context->backend->detach(context, &saved);
    return code;
}

/* The reaper had the node last: its lines are on the way while something else is done. NULL does
 * no harm: an address is computed, but not used. */
static void fetch_ahead(const struct gpu_node *node)
{
    __builtin_prefetch(node, 1);
    __builtin_prefetch((const void *)((uintptr_t)node + GPU_LINE_BYTES / 2), 1);
}

/* A node, or NULL and why there is none. Locked. */
static struct gpu_node *take_node(struct rbwp_gpu_stream *stream, int *code_out)
{
    *code_out = GPU_OK;
    if (!stream->spare) /* acquire: what the reaper did with them, pairs with give_back */
        stream->spare = atomic_exchange_explicit(&stream->returned, NULL, memory_order_acquire);
    if (!stream->spare)
        *code_out = add_batch(stream);
    struct gpu_node *node = stream->spare;
    if (node)
        stream->spare = node->next;
    return node;
}

static void put_node(struct rbwp_gpu_stream *stream, struct gpu_node *node)
{
    if (!node)
        return;
    node->next = stream->spare;
    stream->spare = node;
}

static void push_one(struct rbwp_gpu_stream *stream, struct gpu_node *node)
{
    node->next = atomic_load_explicit(&stream->pushed, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&stream->pushed, &node->next, node))
        ;
}

/* Something comes before the end of a bracket that joins: its start is a node after all. Without
 * memory for that it is lost. Locked. */
static void gpu_stream_let_go(struct rbwp_gpu_stream *stream)
{
    int code;
    struct gpu_node *end = stream->held, *start = take_node(stream, &code);
    stream->held = NULL;
    end->joined = false;
    if (!start)
        return;
    start->kind = GPU_NODE_START;
    start->joined = true;
    start->end = end;
    push_one(stream, start);
}

/* Locked. */
static void gpu_stream_push(struct rbwp_gpu_stream *stream, struct gpu_node *node)
{
    if (stream->held == node)
        stream->held = NULL;
    else if (stream->held)
        gpu_stream_let_go(stream);
    push_one(stream, node);
}

/* An event that is recorded during a capture becomes part of the graph, and asking for it destroys
 * the capture. */
static int try_record(struct rbwp_gpu_stream *stream, struct gpu_node *node)
{
    struct gpu_context *context = stream->context;
    if (context->backend->stream_capturing(context, stream->native))
        return GPU_CAPTURING;
    return context->backend->event_record(context, &node->event, stream->native);
}

/* Records the node's event. A thread that has not launched yet may lack the context. Locked. */
static int record(struct rbwp_gpu_stream *stream, struct gpu_node *node)
{
    struct gpu_context *context = stream->context;
    const struct gpu_backend *backend = context->backend;
    struct gpu_attached saved;
    int code = try_record(stream, node);
    if (code == GPU_OK || backend->status_of(code) != RBWP_E_STATE ||
        backend->attach(context, &saved) != GPU_OK)
        return code;
    code = try_record(stream, node);
    backend->detach(context, &saved);
    return code;
}

/* ---- streams of threads --------------------------------------------------------- */

static enum rbwp_status make_stream(struct rbwp_gpu_device *device, void *native,
                                    enum rbwp_gpu_use use, struct rbwp_gpu_stream **stream_out,
                                    struct rbwp_error *error);

/* The calling thread's own. A thread that comes later may get that of one which has ended, at the
 * same address. NULL: no memory. */
static struct rbwp_gpu_stream *stream_of_thread(struct rbwp_gpu_stream *stream)
{
    static _Thread_local char self;
    gpu_turn_take(&stream->turn);
    struct rbwp_gpu_stream *own = stream->child;
    while (own && own->thread != &self)
        own = own->sibling;
    gpu_turn_give(&stream->turn);
    if (own || make_stream(stream->device, stream->native, (enum rbwp_gpu_use)stream->use, &own,
                           NULL) != RBWP_OK)
        return own;
    own->thread = &self;
    gpu_turn_take(&stream->turn);
    own->sibling = stream->child;
    stream->child = own;
    gpu_turn_give(&stream->turn);
    return own;
}

/* ---- brackets ------------------------------------------------------------------ */

static void lose(const struct rbwp_gpu_stream *stream, int code)
{
    enum rbwp_status status = stream->context->backend->status_of(code);
    rbwp_extend_loss(status == RBWP_E_MEMORY ? RBWP_LOSS_MEMORY
                     : status == RBWP_E_BUSY ? RBWP_LOSS_GPU_CAPTURE
                                             : RBWP_LOSS_GPU_FAILED,
                     1);
}

/* The start needs no event of its own. Locked. */
static bool joins(const struct rbwp_gpu_stream *stream, const struct gpu_node *facts)
{
    return stream->ended_ticks && facts->launch_ticks - stream->ended_ticks <= stream->join_ticks;
}

static void note_facts(struct rbwp_gpu_stream *stream, struct gpu_node *end,
                       const struct gpu_node *facts)
{
    end->slot = facts->slot;
    end->thread = facts->thread;
    end->launch_ticks = facts->launch_ticks;
    end->range = facts->range;
    end->measured = facts->measured;
    end->argument = facts->argument;
    end->session = stream->session;
    end->correlation = (uint64_t)stream->number << LAUNCH_BITS | ++stream->launches;
    end->start_ns = INT64_MAX;
    stream->begun++;
}

/* Takes the nodes, notes the facts in the end, and sets the start on its way, or holds it. Locked.
 */
static int gpu_stream_begin(struct rbwp_gpu_stream *stream, const struct gpu_node *facts,
                            struct gpu_node **end_out)
{
    int code;
    const bool joined = joins(stream, facts);
    struct gpu_node *end = take_node(stream, &code);
    struct gpu_node *start = end && !joined ? take_node(stream, &code) : NULL;
    stream->ended_ticks = 0; /* joined: asked at the end whether the stream is captured */
    const bool taken = end && (joined || start);
    if (taken)
        code = start ? record(stream, start) : GPU_OK;
    if (!taken || code != GPU_OK) {
        put_node(stream, start);
        put_node(stream, end);
        return code;
    }
    note_facts(stream, end, facts);
    end->joined = joined;
    *end_out = end;
    if (joined) {
        stream->held = end;
    } else {
        start->kind = GPU_NODE_START;
        start->joined = false;
        start->end = end;
        gpu_stream_push(stream, start);
    }
    fetch_ahead(stream->spare);
    return GPU_OK;
}

static void begin_bracket(struct rbwp_gpu_bracket *bracket, struct rbwp_gpu_stream *stream,
                          const struct gpu_node *facts)
{
    struct gpu_node *end = NULL;
    int code = GPU_OK;
    if (!gpu_device_is_ours(stream->device)) {
        rbwp_extend_loss(RBWP_LOSS_GPU_FAILED, 1);
        return;
    }
    if (stream->per_thread && !(stream = stream_of_thread(stream))) {
        rbwp_extend_loss(RBWP_LOSS_MEMORY, 1);
        return;
    }
    gpu_turn_take(&stream->turn);
    /* Looked at under the lock: whoever refused counts what has begun under it too. */
    bool stopping = !facts->measured && atomic_load_explicit(&refused, memory_order_relaxed);
    if (!stopping)
        code = gpu_stream_begin(stream, facts, &end);
    gpu_turn_give(&stream->turn);
    if (end) {
        *bracket = (struct rbwp_gpu_bracket){stream, end};
        gpu_wake(stream->device);
    } else if (stopping) {
        rbwp_extend_loss(RBWP_LOSS_GPU_STOPPING, 1);
    } else {
        lose(stream, code);
    }
}

void rbwp_gpu_bracket_begin(struct rbwp_gpu_bracket *bracket, struct rbwp_gpu_stream *stream,
                            unsigned slot)
{
    *bracket = (struct rbwp_gpu_bracket){NULL, NULL};
    if (!rbwp_is_on_(1) || !stream)
        return;
    const uint64_t launch_ticks =
        rbwp_now_ticks(); /* first: how soon after another it comes counts */
    const struct gpu_node facts = {
        .slot = slot,
        .thread = rbwp_extend_thread(),
        .range = rbwp_range_current(),
        .launch_ticks = launch_ticks,
    };
    begin_bracket(bracket, stream, &facts);
}

void gpu_bracket_measure(struct rbwp_gpu_bracket *bracket, struct rbwp_gpu_stream *stream,
                         gpu_measured_fn measured, void *argument)
{
    const struct gpu_node facts = {
        .measured = measured,
        .argument = argument,
        .launch_ticks = rbwp_now_ticks(),
    };
    *bracket = (struct rbwp_gpu_bracket){NULL, NULL};
    begin_bracket(bracket, stream, &facts);
}

static void finish_bracket(struct rbwp_gpu_bracket *bracket, enum gpu_node_kind kind)
{
    struct rbwp_gpu_stream *stream = bracket->stream;
    struct gpu_node *end = bracket->end;
    if (!stream)
        return;
    bracket->stream = NULL;
    const uint64_t ended_ticks = rbwp_now_ticks(); /* the driver may take long to record an event */
    if (!gpu_device_is_ours(stream->device)) /* the work is the parent's, and so is its record */
        return;
    gpu_turn_take(&stream->turn);
    int code = kind == GPU_NODE_END ? record(stream, end) : GPU_OK;
    end->kind = code == GPU_OK ? kind : GPU_NODE_CANCEL;
    end->ended_ticks = ended_ticks;
    const bool ended = end->kind == GPU_NODE_END;
    gpu_stream_push(stream, end);
    if (stream->spare) /* it has come since the bracket began */
        fetch_ahead(stream->spare->next);
    gpu_wake(stream->device); /* what takes time is done before the end of the bracket's time */
    stream->ended_ticks = ended ? rbwp_now_ticks() : 0;
    gpu_turn_give(&stream->turn);
    if (code != GPU_OK)
        lose(stream, code);
}

void rbwp_gpu_bracket_end(struct rbwp_gpu_bracket *bracket)
{
    finish_bracket(bracket, GPU_NODE_END);
}

void rbwp_gpu_bracket_cancel(struct rbwp_gpu_bracket *bracket)
{
    finish_bracket(bracket, GPU_NODE_CANCEL);
}

uint64_t rbwp_gpu_bracket_launch(const struct rbwp_gpu_bracket *bracket)
{
    const struct gpu_node *end = bracket->stream ? bracket->end : NULL;
    return end ? end->correlation : 0;
}

void gpu_brackets_refuse(bool refuse)
{
    atomic_store(&refused, refuse);
}

uint64_t gpu_stream_write_off(struct rbwp_gpu_stream *stream)
{
    gpu_turn_take(&stream->turn);
    uint64_t lost = stream->begun - atomic_load(&stream->done);
    stream->begun = 0;
    atomic_store(&stream->done, 0);
    stream->session++;
    gpu_turn_give(&stream->turn);
    return lost;
}

/* ---- notifications ----------------------------------------------------------------- */

enum rbwp_status rbwp_gpu_notify(struct rbwp_gpu_stream *stream, rbwp_gpu_callback_fn callback,
                                 void *argument)
{
    int code;
    if (!gpu_device_is_ours(stream->device))
        return RBWP_E_STATE;
    if (stream->per_thread && !(stream = stream_of_thread(stream)))
        return RBWP_E_MEMORY;
    gpu_turn_take(&stream->turn);
    struct gpu_node *node = take_node(stream, &code);
    if (node && (code = record(stream, node)) == GPU_OK) {
        node->kind = GPU_NODE_NOTIFY;
        stream->ended_ticks = 0;
        node->notify = callback;
        node->argument = argument;
        gpu_stream_push(stream, node);
    } else {
        put_node(stream, node);
    }
    gpu_turn_give(&stream->turn);
    if (code != GPU_OK)
        return stream->context->backend->status_of(code);
    gpu_wake(stream->device);
    return RBWP_OK;
}

/* ---- life ---------------------------------------------------------------------------- */

static enum rbwp_status make_stream(struct rbwp_gpu_device *device, void *native,
                                    enum rbwp_gpu_use use, struct rbwp_gpu_stream **stream_out,
                                    struct rbwp_error *error)
{
    *stream_out = NULL;
    struct rbwp_gpu_stream *stream = gpu_lines_alloc(sizeof *stream);
    if (!stream)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for a stream");
    const struct gpu_backend *backend = device->driver->backend;
    int code =
        backend->context_open(device->driver, device->context->ordinal, native, &stream->context);
    if (code != GPU_OK) {
        free(stream);
        return backend->describe(device->driver, code, "a stream that can't be used", error);
    }
    stream->device = device;
    stream->native = native;
    stream->use = use;
    stream->number = atomic_fetch_add(&streams, 1) + 1;
    stream->join_ticks = rbwp_ticks_from_ns(GPU_JOIN_NS);
    gpu_pace_begin(&stream->pace);
    pthread_mutex_lock(&device->lock);
    stream->next = device->streams;
    device->streams = stream;
    pthread_mutex_unlock(&device->lock);
    *stream_out = stream;
    return RBWP_OK;
}

enum rbwp_status rbwp_gpu_stream_open(struct rbwp_gpu_device *device, void *native,
                                      enum rbwp_gpu_use use, struct rbwp_gpu_stream **stream_out,
                                      struct rbwp_error *error)
{
    *stream_out = NULL;
    if (!gpu_device_is_ours(device))
        return gpu_failure(error, RBWP_E_STATE, "%s: the device was opened before a fork",
                           device->driver->backend->name);
    if ((unsigned)use > RBWP_GPU_USE_DEVICE_TO_DEVICE ||
        (!native && device->api == RBWP_GPU_OPENCL))
        return gpu_failure(error, RBWP_E_INVALID, "%s: not a stream, or not a use of one",
                           device->driver->backend->name);
    enum rbwp_status status = make_stream(device, native, use, stream_out, error);
    if (status == RBWP_OK)
        (*stream_out)->per_thread =
            device->api != RBWP_GPU_OPENCL && native == GPU_STREAM_PER_THREAD;
    return status;
}

void gpu_stream_free(struct rbwp_gpu_stream *stream)
{
    struct gpu_context *context = stream->context;
    struct gpu_attached saved;
    bool attached = context->backend->attach(context, &saved) == GPU_OK;
    for (struct gpu_node_batch *batch = stream->batch, *next; batch; batch = next) {
        next = batch->next;
        for (unsigned i = 0; i < NODES_IN_BATCH && attached; i++)
            context->backend->event_destroy(context, &batch->node[i].event);
        free(batch);
    }
    if (attached)
        context->backend->detach(context, &saved);
    context->backend->context_close(context);
    free(stream);
}
