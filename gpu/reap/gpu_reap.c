/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_reap.c - the reaping side: asks the driver for the oldest event of each stream, and finishes
 * what has completed.
 *
 * Polling, because the drivers' own callbacks stall the stream, and because
 * asking costs less than being called (docs/design/gpu.md). Times are read
 * right after the driver's answer, or inferred where many brackets end in a short
 * time; how long nobody had looked before that is kept beside each record.
 */
#include "gpu_stream.h"

#include "record_extend.h"
#include "rbwp_record.h"

/* ---- who reaps ------------------------------------------------------------------ */

bool gpu_reaping_begin(struct rbwp_gpu_device *device, bool wait)
{
    pthread_t self = pthread_self();
    pthread_mutex_lock(&device->lock);
    bool inside = device->reaping && pthread_equal(device->reaper, self);
    while (wait && !inside && device->reaping)
        pthread_cond_wait(&device->reaping_ended, &device->lock);
    bool mine = !device->reaping;
    if (mine) {
        device->reaping = true;
        device->reaper = self;
    }
    pthread_mutex_unlock(&device->lock);
    return mine;
}

void gpu_reaping_end(struct rbwp_gpu_device *device)
{
    pthread_mutex_lock(&device->lock);
    device->reaping = false;
    pthread_cond_signal(&device->reaping_ended);
    pthread_mutex_unlock(&device->lock);
}

/* ---- completions --------------------------------------------------------------------- */

static void give_back(struct rbwp_gpu_stream *stream, struct gpu_node *node)
{
    node->next = atomic_load_explicit(&stream->returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&stream->returned, &node->next, node,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

/*
 * Where a stream is idle, the start's event is complete before the call that launches has got
 * anything to the device: what was seen is that the stream was free. The work starts, within the
 * device's latency, when it has been launched; what lies before is launching, not work. (A stream
 * that is free only after the launch starts the work at once.)
 */
static struct gpu_times times_of(const struct gpu_node *end, int64_t seen_ns)
{
    struct gpu_times times = {end->start_ns < seen_ns ? end->start_ns : seen_ns, seen_ns, 0, false};
    times.idle = times.start_ns < end->launched_ns;
    if (times.idle) {
        const int64_t free_ns = times.start_ns;
        times.start_ns = end->launched_ns < seen_ns ? end->launched_ns : seen_ns;
        times.launching_ns = times.start_ns - free_ns;
    }
    return times;
}

static void record_work(struct rbwp_gpu_stream *stream, const struct gpu_node *end,
                        enum rbwp_status outcome, int64_t seen_ns)
{
    struct rbwp_gpu_device *device = stream->device;
    if (outcome != RBWP_OK || end->start_ns == INT64_MAX) {
        rbwp_extend_loss(outcome == RBWP_OK    ? RBWP_LOSS_GPU_FAILED
                         : outcome == RBWP_END ? RBWP_LOSS_GPU_PENDING
                                               : RBWP_LOSS_GPU_FAILED,
                         1);
        return;
    }
    const struct gpu_times times = times_of(end, seen_ns);
    rbwp_gpu_work(device->facts.proc_id, end->slot, times.start_ns, times.stop_ns);
    if (rbwp_extend_thread()) /* else there is no record either */
        gpu_rows_activity(stream, end, &times, gpu_pace_gap_ns(&stream->pace, end->launch_ns));
}

static void finish_end(struct rbwp_gpu_stream *stream, struct gpu_node *end,
                       enum rbwp_status outcome, int64_t seen_ns)
{
    gpu_pace_ended(&stream->pace, seen_ns);
    if (end->session == atomic_load_explicit(&stream->session, memory_order_relaxed)) {
        if (end->kind == GPU_NODE_END && !end->measured)
            record_work(stream, end, outcome, seen_ns);
        atomic_fetch_add_explicit(&stream->done, 1, memory_order_relaxed);
    }
    gpu_measured_fn measured = end->measured;
    void *argument = end->argument;
    const struct gpu_times times = times_of(end, seen_ns);
    if (end->kind == GPU_NODE_CANCEL && outcome == RBWP_OK)
        outcome = RBWP_E_IO;
    if (outcome == RBWP_OK && end->start_look == stream->pace.looks)
        outcome = RBWP_AGAIN;
    give_back(stream, end);
    if (measured)
        measured(argument, outcome, times.stop_ns - times.start_ns, times.idle);
}

/* The bracket of this end begins now. */
static void note_start(struct rbwp_gpu_stream *stream, struct gpu_node *end, int64_t seen_ns)
{
    end->start_ns = seen_ns;
    end->start_look = stream->pace.looks;
    end->start_gap_ns = gpu_pace_gap_ns(&stream->pace, end->launch_ns);
}

/* outcome: of the driver's answer; RBWP_END if it is not waited for any more. */
static void gpu_reap_finish(struct rbwp_gpu_stream *stream, struct gpu_node *node,
                            enum rbwp_status outcome, int64_t seen_ns)
{
    switch (node->kind) {
    case GPU_NODE_START:
        if (outcome == RBWP_OK)
            note_start(stream, node->end, seen_ns);
        give_back(stream, node);
        return;
    case GPU_NODE_END:
    case GPU_NODE_CANCEL:
        finish_end(stream, node, outcome, seen_ns);
        return;
    case GPU_NODE_NOTIFY:
        break;
    }
    rbwp_gpu_callback_fn notify = node->notify;
    void *argument = node->argument;
    give_back(stream, node);
    notify(argument,
           outcome == RBWP_OK                               ? RBWP_OK
           : outcome == RBWP_END || outcome == RBWP_E_STATE ? RBWP_E_STATE
                                                            : RBWP_E_IO,
           seen_ns);
}

/* ---- streams -------------------------------------------------------------------------- */

/* Clocks of two processors may be a little apart. */
static int64_t age_ns(uint64_t then_ticks, uint64_t now_ticks)
{
    return then_ticks < now_ticks ? (int64_t)rbwp_ns_from_ticks(now_ticks - then_ticks) : 0;
}

/* Moves what was pushed to the end of the FIFO. */
static void gpu_reap_collect(struct rbwp_gpu_stream *stream)
{
    if (!atomic_load_explicit(&stream->pushed, memory_order_relaxed))
        return;
    struct gpu_node *newest = atomic_exchange(&stream->pushed, NULL), *oldest = NULL;
    uint64_t now_ticks = rbwp_now_ticks();
    int64_t now_ns = rbwp_now_ns();
    for (struct gpu_node *node = newest, *next; node; node = next) {
        next = node->next;
        node->next = oldest;
        oldest = node;
        if (node->kind == GPU_NODE_START)
            node->end->launch_ns = now_ns - age_ns(node->end->launch_ticks, now_ticks);
        else if (node->kind != GPU_NODE_NOTIFY)
            node->launched_ns = now_ns - age_ns(node->ended_ticks, now_ticks);
        if (gpu_node_is_whole(node))
            node->launch_ns = now_ns - age_ns(node->launch_ticks, now_ticks);
    }
    *(stream->first ? &stream->last->next : &stream->first) = oldest;
    stream->last = newest;
    stream->flushed = false;
}

static struct gpu_node *gpu_reap_pop(struct rbwp_gpu_stream *stream)
{
    struct gpu_node *node = stream->first;
    stream->first = node->next;
    gpu_pace_next(&stream->pace);
    return node;
}

static int query(const struct rbwp_gpu_stream *stream, const struct gpu_node *node)
{
    return stream->context->backend->event_query(stream->context, &node->event);
}

/* The oldest is not complete: an OpenCL queue may have to be flushed before it begins. */
static void note_wait(struct rbwp_gpu_stream *stream, const struct gpu_run *run)
{
    gpu_pace_wait(&stream->pace, run->asked_ns, run->refused_ns);
    if (!stream->flushed)
        (void)stream->context->backend->stream_flush(stream->context, stream->native);
    stream->flushed = true;
}

/* One look at a stream. */
struct look {
    uint64_t begin_ticks;
    int64_t looked_ns; /* nothing is known of a time after it but by asking */
    struct gpu_ahead ahead;
    uint64_t nodes; /* finished */
    bool fine;      /* as a sub-item; of threads that are not attached those would be losses */
};

/* A busy stream is asked for many at once. False: it is too early for that. */
static bool look_ahead(struct rbwp_gpu_stream *stream, struct look *look)
{
    struct gpu_pace *pace = &stream->pace;
    const struct gpu_node *node =
        gpu_pace_choose(pace, stream->first, look->looked_ns, &look->ahead);
    if (!node || query(stream, node) != GPU_OK)
        look->ahead.nodes = 0;
    gpu_pace_let_age(pace, stream->first, look->begin_ticks, look->looked_ns);
    return look->ahead.nodes != 0 || !gpu_pace_rests(pace, look->begin_ticks);
}

/* The oldest was complete at that time. */
static void finish_oldest(struct rbwp_gpu_stream *stream, struct look *look, int code,
                          int64_t seen_ns)
{
    stream->pace.seen_ns = seen_ns;
    if (look->nodes++ == 0 && look->fine)
        rbwp_fine_begin_at(stream->device->sub_item[stream->use], look->begin_ticks);
    gpu_reap_finish(stream, gpu_reap_pop(stream), stream->context->backend->status_of(code),
                    seen_ns);
}

/* One that needs no node for its start begins when what is before it has ended. */
static void start_whole(struct rbwp_gpu_stream *stream)
{
    struct gpu_node *end = stream->first;
    struct gpu_pace *pace = &stream->pace;
    if (!gpu_node_is_whole(end))
        return;
    pace->seen_ns = pace->seen_ns > end->launch_ns ? pace->seen_ns : end->launch_ns;
    note_start(stream, end, pace->seen_ns);
}

/* All that is known to be complete without being asked for. */
static void finish_ahead(struct rbwp_gpu_stream *stream, struct look *look)
{
    struct gpu_pace *pace = &stream->pace;
    pace->batch_ns = look->ahead.to_ns;
    while (look->ahead.nodes_done < look->ahead.nodes) {
        start_whole(stream);
        finish_oldest(stream, look, GPU_OK, gpu_pace_infer_ns(pace, &look->ahead, stream->first));
    }
    pace->batch_ns = 0;
    gpu_pace_batch_done(pace, &look->ahead, look->begin_ticks);
}

/* Asks for the oldest ones until one is not complete. What is notified is not kept waiting for what
 * comes behind it. */
static void gpu_reap_ask(struct rbwp_gpu_stream *stream, struct gpu_run *run)
{
    const struct gpu_node *node = stream->first;
    run->nodes = 0;
    run->waits = false;
    for (bool more = true; node && more && run->nodes < GPU_RUN_NODES; node = node->next) {
        struct gpu_answer answer = {GPU_OK, 0, 0};
        if (node->kind != GPU_NODE_CANCEL && !gpu_node_is_joined(node)) {
            answer.asked_ns = rbwp_now_ns();
            answer.code = query(stream, node);
            answer.told_ns = rbwp_now_ns();
        }
        if (answer.code == GPU_NOT_READY) {
            run->waits = true;
            run->asked_ns = answer.asked_ns;
            run->refused_ns = answer.told_ns;
            break;
        }
        run->answer[run->nodes++] = answer;
        more = node->kind != GPU_NODE_NOTIFY;
    }
    gpu_pace_run(&stream->pace, stream->first, run);
}

static void finish_run(struct rbwp_gpu_stream *stream, struct look *look, struct gpu_run *run)
{
    while (run->nodes_done < run->nodes) {
        const int code = run->answer[run->nodes_done].code;
        start_whole(stream);
        finish_oldest(stream, look, code, gpu_pace_run_ns(&stream->pace, run, stream->first));
    }
    if (run->waits)
        note_wait(stream, run);
}

static void finish_complete(struct rbwp_gpu_stream *stream, struct look *look,
                            uint64_t deadline_ticks)
{
    if (look->ahead.nodes) {
        finish_ahead(stream, look);
        return;
    }
    while (stream->first) {
        struct gpu_run run;
        gpu_reap_ask(stream, &run);
        finish_run(stream, look, &run);
        if (run.waits || rbwp_now_ticks() >= deadline_ticks)
            return;
        if (!stream->first)
            gpu_reap_collect(stream);
    }
}

struct gpu_reaped gpu_reap_stream(struct rbwp_gpu_stream *stream, bool patient,
                                  uint64_t deadline_ticks)
{
    struct look look = {.begin_ticks = rbwp_now_ticks()};
    /* Before anything that launching threads write is looked at: that, too, would cost them time.
     */
    if (patient && stream->first && gpu_pace_rests(&stream->pace, look.begin_ticks))
        return (struct gpu_reaped){0, true};
    stream->pace.looks++;
    gpu_reap_collect(stream);
    if (!stream->first)
        return (struct gpu_reaped){0, false};
    look.looked_ns = rbwp_now_ns();
    if (patient && gpu_pace_is_busy(&stream->pace, stream->first) && !look_ahead(stream, &look))
        return (struct gpu_reaped){0, true};
    look.fine = rbwp_extend_thread() != 0;
    finish_complete(stream, &look, deadline_ticks);
    if (look.nodes && look.fine)
        rbwp_fine_end();
    return (struct gpu_reaped){look.nodes, stream->first || atomic_load(&stream->pushed)};
}

void gpu_abandon(struct rbwp_gpu_stream *stream)
{
    /* What callbacks add now is given up with the rest; those that add for ever are left alone. */
    for (unsigned round = 0; round < 1000; round++) {
        gpu_reap_collect(stream);
        if (!stream->first)
            return;
        while (stream->first)
            gpu_reap_finish(stream, gpu_reap_pop(stream), RBWP_END, rbwp_now_ns());
    }
}

/* ---- devices ----------------------------------------------------------------------------- */

static struct rbwp_gpu_stream *first_stream(struct rbwp_gpu_device *device)
{
    pthread_mutex_lock(&device->lock);
    struct rbwp_gpu_stream *stream = device->streams;
    pthread_mutex_unlock(&device->lock);
    return stream;
}

struct gpu_reaped gpu_reap(struct rbwp_gpu_device *device, bool patient, uint64_t deadline_ticks)
{
    struct gpu_reaped all = {0, false};
    for (struct rbwp_gpu_stream *stream = first_stream(device); stream; stream = stream->next) {
        struct gpu_reaped one = gpu_reap_stream(stream, patient, deadline_ticks);
        all.nodes += one.nodes;
        all.pending |= one.pending;
    }
    return all;
}

void gpu_wake(struct rbwp_gpu_device *device)
{
    if (atomic_load(&device->idle) && atomic_exchange(&device->idle, false))
        (void)rbwp_work_make_active(device->manager, device->work);
}

static bool anything_pushed(struct rbwp_gpu_device *device)
{
    for (struct rbwp_gpu_stream *stream = first_stream(device); stream; stream = stream->next)
        if (stream->first || atomic_load(&stream->pushed))
            return true;
    return false;
}

/* Goes to sleep, unless something has come meanwhile that nobody woke us for. */
static bool stays_awake(struct rbwp_gpu_device *device)
{
    atomic_store(&device->idle, true);
    return anything_pushed(device) && atomic_exchange(&device->idle, false);
}

bool gpu_reap_work(void *argument, struct rbwp_deadline deadline)
{
    struct rbwp_gpu_device *device = argument;
    if (!gpu_reaping_begin(device, false)) { /* somebody polls or closes; it may leave work */
        rbwp_set_worked(false);
        return true;
    }
    uint64_t nodes = 0;
    struct gpu_reaped reaped;
    do { /* a look that finds nothing lets the worker's other items have their turn */
        reaped = gpu_reap(device, true, deadline.ticks);
        nodes += reaped.nodes;
    } while (reaped.nodes && reaped.pending && rbwp_now_ticks() < deadline.ticks);
    bool again = reaped.pending || stays_awake(device);
    gpu_reaping_end(device);
    rbwp_set_worked(nodes > 0);
    return again;
}
