/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_stream.c - the launching side: brackets and notifications of a stream.
 *
 * Nodes come in batches with their events and are used again in the order in
 * which they came back, so a stream that is in its stride allocates nothing.
 */
#include "gpu_stream.h"

#include "gpu_failure.h"
#include "rbwp_range.h"
#include "rbwp_record.h"
#include "record_extend.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
static void let_go(struct rbwp_gpu_stream *stream)
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
static void push(struct rbwp_gpu_stream *stream, struct gpu_node *node)
{
    if (stream->held == node)
        stream->held = NULL;
    else if (stream->held)
        let_go(stream);
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
static int begin(struct rbwp_gpu_stream *stream, const struct gpu_node *facts,
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
        push(stream, start);
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
        code = begin(stream, facts, &end);
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
    push(stream, end);
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
        push(stream, node);
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
