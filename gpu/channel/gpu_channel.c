/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_channel.c - GPU channels: the queue of transfers and the work item that launches them.
 *
 * Submitting checks, plans and queues. The work item takes transfers from the front of the queue
 * and launches them part by part until its slice is over or enough is under way; each batch of
 * launches is followed by a notification, and the one behind a transfer's last part ends it, on
 * the thread that reaps. A work item with enough under way sleeps; the next notification wakes it.
 *
 * A job belongs to the queue (lock) until the work item takes it out, then to the work item until
 * its last notification is asked for, then to that notification. Since a stream completes in
 * order, jobs end in the order of submission.
 */
#include "channel_launch.h"
#include "gpu_device.h"
#include "rbwp_gpu_channel.h"
#include "rbwp_record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a caller asks of a GPU channel, checked, as a plan --------------------------------- */
/*
 * All that is hostile in a transfer is refused here: the shape by the runtime's own check, which
 * wants host addresses and gets nominal ones for device memory; then elements outside their
 * buffers. What comes out may be launched without further checks.
 */

/* Stands for the start of a device buffer where a shape is checked: far from both ends. */
#define NOMINAL_ADDRESS ((uint8_t *)((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 2)))

struct side {
    const struct rbwp_gpu_buffer *buffer;
    uint64_t offset_bytes;
    i64 low, high; /* from the start of the buffer, or host address */
};

/* Elements of a side that is device memory must lie in it. */
static bool is_inside(struct side *side, const struct rbwp_transfer_shape *shape, const i64 *stride)
{
    channel_plan_reach(shape, stride, &side->low, &side->high);
    if (!side->buffer->native)
        return true;
    if (side->offset_bytes > INT64_MAX || side->buffer->bytes > INT64_MAX ||
        __builtin_add_overflow(side->low, (i64)side->offset_bytes, &side->low) ||
        __builtin_add_overflow(side->high, (i64)side->offset_bytes, &side->high))
        return false;
    return side->low >= 0 && side->high <= (i64)side->buffer->bytes;
}

/* Low bits of an element's address. A cl_mem's start is aligned for every type. */
static uint64_t address_bits(enum gpu_api api, const struct side *side)
{
    const bool is_address = api != GPU_OPENCL;
    return side->offset_bytes + (is_address ? (uintptr_t)side->buffer->native : 0);
}

static enum rbwp_status gpu_channel_refuse(struct rbwp_error *error, enum rbwp_status status,
                                           const char *reason)
{
    return gpu_failure(error, status, "channel: %s", reason);
}

/* The shape of what was asked, checked. Device memory has no host address: it gets a nominal one.
 */
static enum rbwp_status make_shape(const struct rbwp_gpu_transfer *transfer,
                                   struct rbwp_transfer_shape *shape, struct rbwp_error *error)
{
    struct rbwp_transfer what = transfer->what;
    if (what.source.is_file || what.target.is_file)
        return gpu_channel_refuse(error, RBWP_E_INVALID, "files are for the host's channels");
    if (transfer->source.native)
        what.source.memory = NOMINAL_ADDRESS;
    if (transfer->target.native)
        what.target.memory = NOMINAL_ADDRESS;
    return rbwp_transfer_shape_make(&what, shape, error);
}

/* The context of a side's memory if it is another one than the channel's, else NULL. */
static const struct gpu_context *channel_peer_of(const struct rbwp_gpu_buffer *buffer,
                                                 struct rbwp_gpu_device *device,
                                                 const struct gpu_context *context)
{
    const struct gpu_context *its =
        device && buffer->native ? rbwp_extend_gpu_context(device) : context;
    return gpu_is_peer(its, context) ? its : NULL;
}

/* NULL, or why no copy goes between the two. */
static const char *why_no_peer(const struct gpu_context *peer, const struct gpu_context *context)
{
    if (!peer)
        return NULL;
    if (peer->backend != context->backend)
        return "the devices are of two APIs: copy through memory of the host";
    return context->backend->api == GPU_OPENCL
               ? "OpenCL's devices do not share memory: copy through memory of the host"
               : NULL;
}

/* What rbwp_gpu_channel_submit answers, but for kernels that are not there. context: the channel's.
 */
static enum rbwp_status channel_check(const struct rbwp_gpu_transfer *transfer,
                                      const struct gpu_context *context,
                                      struct channel_plan *plan_out, struct rbwp_error *error)
{
    const enum gpu_api api = context->backend->api;
    const struct gpu_context *source_peer =
        channel_peer_of(&transfer->source, transfer->source_device, context);
    const struct gpu_context *target_peer =
        channel_peer_of(&transfer->target, transfer->target_device, context);
    struct rbwp_transfer_shape shape;
    const char *reason = NULL;
    enum rbwp_status status = make_shape(transfer, &shape, error);
    if (status != RBWP_OK)
        return status;
    const bool fills = transfer->what.kind == RBWP_TRANSFER_FILL;
    struct side source = {&transfer->source, transfer->source_offset_bytes, 0, 0};
    struct side target = {&transfer->target, transfer->target_offset_bytes, 0, 0};
    if (shape.elements != 0 && (!is_inside(&target, &shape, shape.target_stride) ||
                                (!fills && !is_inside(&source, &shape, shape.source_stride))))
        return gpu_channel_refuse(error, RBWP_E_INVALID, "elements lie outside their buffer");
    reason = why_no_peer(source_peer, context);
    reason = reason ? reason : why_no_peer(target_peer, context);
    if (reason)
        return gpu_channel_refuse(error, RBWP_E_UNSUPPORTED, reason);
    const struct channel_sides sides = {
        .on_two_devices = source_peer || target_peer,
        .source_on_device = transfer->source.native != NULL,
        .target_on_device = transfer->target.native != NULL,
        .source_address = address_bits(api, &source),
        .target_address = address_bits(api, &target),
        .may_share = transfer->source.native == transfer->target.native &&
                     source.low < target.high && target.low < source.high,
    };
    status = channel_plan_make(&transfer->what, &shape, &sides, plan_out, &reason);
    return status == RBWP_OK ? RBWP_OK : gpu_channel_refuse(error, status, reason);
}

/* ---- gpu channel ----------------------------------------------------------------------------- */

#define UNDER_WAY_MAX 16u /* notifications */
#define LAUNCHES_PER_NOTIFICATION 32u
#define BLOCKS_PER_MULTIPROCESSOR 16u

struct gpu_job {
    struct gpu_job *next; /* in the queue; then of those that end with one notification */
    struct rbwp_gpu_channel *channel;
    struct channel_flight flight;
    bool independent;
    enum rbwp_status status; /* what went wrong while it was launched */
    uint64_t id;
    rbwp_transfer_done_fn done;
    void *argument;
    uint8_t fill[]; /* the element to fill with */
};

struct rbwp_gpu_channel {
    /* Never change between new and free. */
    struct rbwp_gpu_device *device;
    struct rbwp_work_manager *manager;
    struct rbwp_work_handle handle;
    struct rbwp_error no_code; /* why code is NULL */

    pthread_mutex_t lock; /* guards this group; innermost, but for make_active */
    struct gpu_job *first, **last;
    uint64_t last_id;
    bool closing;

    /* The work item's. */
    struct channel_target target;
    struct gpu_job *current; /* taken out of the queue, not launched to its end */
    unsigned launches;       /* since the last notification was asked for */
    uint64_t launched_bytes; /* likewise */

    atomic_uint under_way;  /* notifications that have not come */
    atomic_bool lost;       /* one came because the stream was given up */
    _Atomic uint64_t ended; /* transfers */
};

/* Set while a done of ours runs on this thread. */
static _Thread_local bool inside_done;

/* ---- names of the sub-items --------------------------------------------------- */

static unsigned sub_item_of[CHANNEL_WAYS];
static enum rbwp_status sub_items_status;
static pthread_once_t sub_items_once = PTHREAD_ONCE_INIT;

static void register_sub_items(void)
{
    static const char *const names[CHANNEL_WAYS] = {
        [CHANNEL_WAY_ENGINE] = "gpu memcpy channel",
        [CHANNEL_WAY_PEER] = "gpu peer copy channel",
        [CHANNEL_WAY_COPY] = "gpu copy kernel channel",
        [CHANNEL_WAY_FILL] = "gpu memfill channel",
        [CHANNEL_WAY_TRANSPOSE] = "gpu transpose channel",
        [CHANNEL_WAY_REDUCE] = "gpu memreduce channel",
    };
    for (unsigned w = CHANNEL_WAY_ENGINE; w < CHANNEL_WAYS && sub_items_status == RBWP_OK; w++)
        sub_items_status = rbwp_sub_item_register(RBWP_XFER_CHANNEL, names[w], &sub_item_of[w]);
    sub_item_of[CHANNEL_WAY_NOTHING] = sub_item_of[CHANNEL_WAY_ENGINE];
}

/* ---- ends ---------------------------------------------------------------------- */

/* Jobs of devices that hang: OpenCL may still read the element of a fill, whenever it goes on. */
static _Atomic(struct gpu_job *) left_to_devices;

static void leave_to_device(struct gpu_job *job)
{
    job->next = atomic_load(&left_to_devices);
    while (!atomic_compare_exchange_weak(&left_to_devices, &job->next, job))
        ;
}

/* Ends a chain of jobs, each with the first failure that concerns it. */
static void end_jobs(struct gpu_job *job, enum rbwp_status outcome, bool may_be_read)
{
    while (job) {
        struct gpu_job *next = job->next;
        const enum rbwp_status status = job->status != RBWP_OK ? job->status : outcome;
        const struct rbwp_transfer_result result = {
            .id = job->id,
            .status = status,
            .bytes = status == RBWP_OK ? job->flight.plan.bytes : 0,
        };
        atomic_fetch_add_explicit(&job->channel->ended, 1, memory_order_relaxed);
        const bool outside = inside_done;
        inside_done = true;
        if (job->done)
            job->done(job->argument, &result);
        inside_done = outside;
        if (may_be_read && job->flight.fill)
            leave_to_device(job);
        else
            free(job);
        job = next;
    }
}

/* Whoever frees the channel waits for the reaping, so it stays until this has returned. */
static void landed(struct rbwp_gpu_channel *channel, enum rbwp_status outcome)
{
    if (outcome == RBWP_E_STATE)
        atomic_store(&channel->lost, true);
    if (atomic_fetch_sub(&channel->under_way, 1) == UNDER_WAY_MAX)
        (void)rbwp_work_make_active(channel->manager, channel->handle); /* fails while freeing */
}

static void jobs_landed(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    (void)seen_ns;
    struct gpu_job *jobs = argument;
    struct rbwp_gpu_channel *channel = jobs->channel;
    end_jobs(jobs, outcome, outcome == RBWP_E_STATE);
    landed(channel, outcome);
}

static void part_landed(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    (void)seen_ns;
    landed(argument, outcome);
}

/* Asks to be called when all that was launched has completed. jobs: those that end with it. */
static void ask_notification(struct rbwp_gpu_channel *channel, struct gpu_job *jobs)
{
    struct channel_target *target = &channel->target;
    channel->launches = 0;
    channel->launched_bytes = 0;
    atomic_fetch_add(&channel->under_way, 1);
    const enum rbwp_status status = jobs ? rbwp_gpu_notify(target->stream, jobs_landed, jobs)
                                         : rbwp_gpu_notify(target->stream, part_landed, channel);
    if (status == RBWP_OK)
        return;
    /* Nobody will report it. What runs may still use the jobs' memory, so wait for it. */
    struct gpu_context *context = target->context;
    struct gpu_attached saved;
    if (context->backend->attach(context, &saved) == GPU_OK) {
        (void)context->backend->stream_wait(context, target->native_stream);
        context->backend->detach(context, &saved);
    }
    atomic_fetch_sub(&channel->under_way, 1);
    end_jobs(jobs, status, false);
}

/* ---- the work -------------------------------------------------------------------- */

static struct gpu_job *queue_take(struct rbwp_gpu_channel *channel)
{
    pthread_mutex_lock(&channel->lock);
    struct gpu_job *job = channel->first;
    if (job) {
        channel->first = job->next;
        if (!channel->first)
            channel->last = &channel->first;
        job->next = NULL;
    }
    pthread_mutex_unlock(&channel->lock);
    return job;
}

/* Takes the next job too if it may be a piece of `first`'s launch. */
static struct gpu_job *queue_take_joining(struct rbwp_gpu_channel *channel,
                                          const struct gpu_job *first)
{
    pthread_mutex_lock(&channel->lock);
    const struct gpu_job *next = channel->first;
    const bool joins =
        next && next->independent && channel_flight_joins(&first->flight, &next->flight);
    pthread_mutex_unlock(&channel->lock);
    return joins ? queue_take(channel) : NULL; /* nobody else takes */
}

/* Launches a job that is one launch, and those behind it that may join. */
static void launch_together(struct rbwp_gpu_channel *channel, struct gpu_job *first)
{
    struct channel_flight *flights[TRANSFER_PIECES] = {&first->flight};
    struct gpu_job *last = first;
    unsigned count = 1;
    while (count < TRANSFER_PIECES && (last->next = queue_take_joining(channel, first))) {
        last = last->next;
        flights[count++] = &last->flight;
    }
    const int code = channel_flights_launch(&channel->target, flights, count);
    if (code != GPU_OK)
        for (struct gpu_job *job = first; job; job = job->next)
            job->status = channel->target.context->backend->status_of(code);
    ask_notification(channel, first);
}

/* Launches one part of the current job. */
static void gpu_channel_launch_part(struct rbwp_gpu_channel *channel)
{
    struct gpu_job *job = channel->current;
    int code;
    uint64_t bytes;
    const enum rbwp_status status =
        channel_flight_step(&channel->target, &job->flight, &code, &bytes);
    channel->launches++;
    channel->launched_bytes += bytes;
    if (code != GPU_OK)
        job->status = channel->target.context->backend->status_of(code);
    if (status != RBWP_AGAIN) {
        channel->current = NULL;
        ask_notification(channel, job);
    } else if (channel->launches >= LAUNCHES_PER_NOTIFICATION ||
               channel->launched_bytes >= CHANNEL_LAUNCH_BYTES) {
        ask_notification(channel, NULL);
    }
}

static bool has_room(struct rbwp_gpu_channel *channel)
{
    return atomic_load(&channel->under_way) < UNDER_WAY_MAX;
}

/* Launches parts of one job, or a batch of small ones, inside one sub-item. */
static void serve_job(struct rbwp_gpu_channel *channel, struct rbwp_deadline deadline)
{
    struct gpu_job *job = channel->current;
    rbwp_fine_begin(sub_item_of[job->flight.plan.way]);
    if (channel_flight_is_single(&job->flight)) {
        channel->current = NULL;
        launch_together(channel, job);
    } else {
        do
            gpu_channel_launch_part(channel);
        while (channel->current && has_room(channel) && !rbwp_deadline_passed(deadline));
    }
    rbwp_fine_end();
}

/* True while there is something left to launch and room for it. */
static bool serve_attached(struct rbwp_gpu_channel *channel, struct rbwp_deadline deadline,
                           bool *worked_out)
{
    for (;;) {
        if (!has_room(channel)) /* the notification that makes room makes it active */
            return false;
        if (!channel->current && !(channel->current = queue_take(channel)))
            return false;
        *worked_out = true;
        serve_job(channel, deadline);
        if (rbwp_deadline_passed(deadline))
            return true;
    }
}

static bool gpu_channel_serve(void *argument, struct rbwp_deadline deadline)
{
    struct rbwp_gpu_channel *const channel = argument;
    struct gpu_context *context = channel->target.context;
    struct gpu_attached saved;
    bool worked = false;
    const bool attached = context->backend->attach(context, &saved) == GPU_OK;
    /* If that fails the context is lost: each job learns it from its first launch. */
    const bool more = serve_attached(channel, deadline, &worked);
    if (attached)
        context->backend->detach(context, &saved);
    if (!worked)
        rbwp_set_worked(false);
    return more;
}

/* ---- new and free ------------------------------------------------------------------ */

/* The stream, scratch memory and kernels. Attached. What was made is for release_target. */
static enum rbwp_status make_target(struct rbwp_gpu_channel *channel,
                                    const struct rbwp_gpu_channel_config *config,
                                    struct rbwp_error *error)
{
    struct channel_target *target = &channel->target;
    struct gpu_context *context = target->context;
    int code = context->backend->stream_create(context, &target->native_stream);
    if (code != GPU_OK)
        return context->backend->describe(context->driver, code, "a channel's stream", error);
    enum rbwp_status status = rbwp_gpu_stream_open(channel->device, target->native_stream,
                                                   config->use, &target->stream, error);
    if (status != RBWP_OK)
        return status;
    code = context->backend->memory_alloc(context, CHANNEL_SCRATCH_BYTES, &target->scratch);
    if (code != GPU_OK)
        return context->backend->describe(context->driver, code, "a channel's memory", error);
    if (channel_code_acquire(context, config->compile, &target->code, &channel->no_code) != RBWP_OK)
        target->code = NULL;
    struct rbwp_gpu_facts facts;
    rbwp_gpu_device_facts(channel->device, &facts);
    target->blocks_max =
        (facts.multiprocessors ? facts.multiprocessors : 16) * BLOCKS_PER_MULTIPROCESSOR;
    return RBWP_OK;
}

/* Attached. True if the device has not done all that was put on the stream. */
static bool still_runs(const struct channel_target *target)
{
    struct gpu_context *context = target->context;
    struct gpu_event event;
    if (context->backend->event_create(context, &event) != GPU_OK)
        return false; /* a lost context runs nothing */
    const bool runs =
        context->backend->event_record(context, &event, target->native_stream) == GPU_OK &&
        context->backend->event_query(context, &event) == GPU_NOT_READY;
    context->backend->event_destroy(context, &event);
    return runs;
}

/* Attached. What a hanging device still uses is left to it: freeing would wait for it, for ever. */
static void release_target(struct rbwp_gpu_channel *channel)
{
    struct channel_target *target = &channel->target;
    struct gpu_context *context = target->context;
    if (target->stream)
        (void)rbwp_gpu_stream_close(target->stream);
    const bool in_use = atomic_load(&channel->lost) && still_runs(target);
    channel_code_release(target->code, in_use);
    if (in_use)
        return;
    context->backend->memory_free(context, &target->scratch);
    if (target->native_stream)
        (void)context->backend->stream_destroy(context, target->native_stream);
}

static void destroy(struct rbwp_gpu_channel *channel)
{
    struct gpu_context *context = channel->target.context;
    struct gpu_attached saved;
    const bool attached = context->backend->attach(context, &saved) == GPU_OK;
    release_target(channel);
    if (attached)
        context->backend->detach(context, &saved);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
}

static enum rbwp_status open_channel(struct rbwp_gpu_channel *channel,
                                     const struct rbwp_gpu_channel_config *config,
                                     struct rbwp_error *error)
{
    struct gpu_context *context = channel->target.context;
    struct gpu_attached saved;
    const int code = context->backend->attach(context, &saved);
    if (code != GPU_OK)
        return context->backend->describe(context->driver, code, "a channel's context", error);
    enum rbwp_status status = make_target(channel, config, error);
    context->backend->detach(context, &saved);
    if (status != RBWP_OK)
        return status;
    status = rbwp_work_add(config->manager, config->name, gpu_channel_serve, channel,
                           config->one_domain ? config->domain : -1, &channel->handle);
    if (status != RBWP_OK)
        return gpu_failure(error, status, "the manager does not take another work item");
    channel->target.slot = channel->handle.slot;
    return RBWP_OK;
}

enum rbwp_status rbwp_gpu_channel_new(const struct rbwp_gpu_channel_config *given,
                                      struct rbwp_gpu_channel **channel_out,
                                      struct rbwp_error *error)
{
    struct rbwp_gpu_channel_config own;
    const struct rbwp_gpu_channel_config *const config = &own;
    *channel_out = NULL;
    enum rbwp_status status = sized_take(&own, sizeof own, given, "rbwp_gpu_channel_config", error);
    if (status != RBWP_OK)
        return status;
    if (!config->device || !config->manager || !config->name)
        return gpu_failure(error, RBWP_E_INVALID,
                           "channel: device, manager and name have to be set");
    pthread_once(&sub_items_once, register_sub_items);
    if (sub_items_status != RBWP_OK)
        return gpu_failure(error, sub_items_status,
                           "channel: no sub-item ids left to name transfers with");
    struct rbwp_gpu_channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return gpu_failure(error, RBWP_E_MEMORY, "no memory for a channel");
    channel->device = config->device;
    channel->manager = config->manager;
    channel->target.context = rbwp_extend_gpu_context(config->device);
    channel->last = &channel->first;
    pthread_mutex_init(&channel->lock, NULL);
    status = open_channel(channel, config, error);
    if (status != RBWP_OK) {
        destroy(channel);
        return status;
    }
    *channel_out = channel;
    return RBWP_OK;
}

enum rbwp_status rbwp_gpu_channel_free(struct rbwp_gpu_channel *channel)
{
    if (!channel)
        return RBWP_OK;
    if (inside_done)
        return RBWP_E_STATE;
    const enum rbwp_status status = rbwp_work_remove(channel->manager, channel->handle);
    if (status != RBWP_OK)
        return status;
    pthread_mutex_lock(&channel->lock);
    channel->closing = true;
    pthread_mutex_unlock(&channel->lock);
    struct gpu_job *rest = NULL, **link = &rest;
    if (channel->current) /* parts of it may run: it ends when they have */
        channel->current->status = RBWP_E_STATE, ask_notification(channel, channel->current);
    while ((*link = queue_take(channel)))
        link = &(*link)->next;
    (void)rbwp_gpu_stream_close(channel->target.stream);
    channel->target.stream = NULL;
    end_jobs(rest, RBWP_E_STATE, false);
    destroy(channel);
    return RBWP_OK;
}

void rbwp_gpu_channel_counts_sized(const struct rbwp_gpu_channel *channel,
                                   struct rbwp_gpu_channel_launches *counts_out,
                                   size_t counts_bytes)
{
    const struct rbwp_gpu_channel_launches counts = {
        .transfers = atomic_load_explicit(&channel->ended, memory_order_relaxed),
        .copies = atomic_load_explicit(&channel->target.copies, memory_order_relaxed),
        .kernels = atomic_load_explicit(&channel->target.kernels, memory_order_relaxed),
        .peers = atomic_load_explicit(&channel->target.peers, memory_order_relaxed),
    };
    sized_give(counts_out, counts_bytes, &counts, sizeof counts);
}

/* ---- submit ---------------------------------------------------------------------------- */

/* The kernels that the plan wants are there. */
static enum rbwp_status check_code(const struct rbwp_gpu_channel *channel,
                                   const struct channel_plan *plan, struct rbwp_error *error)
{
    if (plan->stages == 0)
        return RBWP_OK;
    if (!channel->target.code)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "channel: no kernels: %s",
                           channel->no_code.text);
    for (unsigned i = 0; i < plan->stages; i++)
        if (!channel->target.code->kernel[plan->stage[i].kernel])
            return gpu_failure(
                error, RBWP_E_UNSUPPORTED,
                "channel: this device lacks the arithmetic for that (64-bit floating point?)");
    return RBWP_OK;
}

static void set_places(struct channel_flight *flight, const struct rbwp_gpu_transfer *transfer,
                       const struct gpu_context *context)
{
    const struct rbwp_gpu_buffer *source = &transfer->source, *target = &transfer->target;
    flight->source =
        (struct channel_place){.memory = {source->native, source->bytes},
                               .peer = channel_peer_of(source, transfer->source_device, context),
                               .host = transfer->what.source.memory,
                               .offset_bytes = transfer->source_offset_bytes};
    flight->target =
        (struct channel_place){.memory = {target->native, target->bytes},
                               .peer = channel_peer_of(target, transfer->target_device, context),
                               .host = transfer->what.target.memory,
                               .offset_bytes = transfer->target_offset_bytes};
}

/* The element, over and over where it is small. */
static void copy_fill(struct gpu_job *job, const struct rbwp_transfer *what)
{
    for (uint32_t at = 0; at < job->flight.plan.fill_bytes; at += what->element_bytes)
        memcpy(job->fill + at, what->fill, what->element_bytes);
    job->flight.fill = job->fill;
}

/* False when the channel takes no more. */
static bool queue_put(struct rbwp_gpu_channel *channel, struct gpu_job *job, uint64_t *id_out)
{
    pthread_mutex_lock(&channel->lock);
    const bool open = !channel->closing;
    if (open) {
        job->id = ++channel->last_id;
        if (id_out)
            *id_out = job->id;
        *channel->last = job;
        channel->last = &job->next;
    }
    pthread_mutex_unlock(&channel->lock);
    return open;
}

enum rbwp_status rbwp_gpu_channel_submit(struct rbwp_gpu_channel *channel,
                                         const struct rbwp_gpu_transfer *given, uint64_t *id_out,
                                         struct rbwp_error *error)
{
    struct rbwp_gpu_transfer own;
    const struct rbwp_gpu_transfer *const transfer = &own;
    struct channel_plan plan;
    if (id_out)
        *id_out = 0;
    enum rbwp_status status = sized_take(&own, sizeof own, given, "rbwp_gpu_transfer", error);
    if (status == RBWP_OK)
        status = sized_take(&own.what, sizeof own.what, &given->what, "rbwp_transfer", error);
    if (status == RBWP_OK)
        status = channel_check(transfer, channel->target.context, &plan, error);
    if (status == RBWP_OK)
        status = check_code(channel, &plan, error);
    if (status != RBWP_OK)
        return status;
    struct gpu_job *job = malloc(sizeof *job + plan.fill_bytes);
    if (!job)
        return gpu_failure(error, RBWP_E_MEMORY, "channel: no memory to queue a transfer");
    const struct rbwp_transfer *what = &transfer->what;
    *job = (struct gpu_job){
        .channel = channel,
        .flight = {.plan = plan},
        .independent = transfer->independent,
        .done = what->done,
        .argument = what->argument,
    };
    set_places(&job->flight, transfer, channel->target.context);
    copy_fill(job, what);
    if (!queue_put(channel, job, id_out)) {
        free(job);
        return gpu_failure(error, RBWP_E_STATE,
                           "channel: it is being freed and takes no more transfers");
    }
    (void)rbwp_work_make_active(channel->manager, channel->handle); /* fails while freeing */
    return RBWP_OK;
}
