/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_session.c - the end of a session, seen from the GPUs.
 *
 * When a session stops, no new bracket begins, what is pending is waited for up
 * to each device's limit, and what is left is counted as lost: a bracket is
 * recorded in the session in which it began, or nowhere. At the exit of the
 * process drivers may be gone already, so nobody asks them any more.
 *
 * Callbacks run while a device is waited for, here or on another thread, and may
 * open and close devices: the list's lock is not held meanwhile. A device that is
 * visited stays in the list until the visit is over.
 *
 * A forked child has none of its parent's devices: their driver does not work in
 * it, and whoever reaped them or held their locks is not there.
 */
#include "gpu_stream.h"

#include "record_extend.h"
#include "rbwp_record.h"

#include <sched.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and visited */
static pthread_cond_t visit_ended = PTHREAD_COND_INITIALIZER;
static struct rbwp_gpu_device *gpu_session_devices, *visited;

/* ---- forks ----------------------------------------------------------------------- */

static void gpu_session_forget_in_child(void)
{
    gpu_owner_forked();
    gpu_session_devices = visited = NULL;
    pthread_mutex_init(&list_lock, NULL);
    pthread_cond_init(&visit_ended, NULL);
    gpu_brackets_refuse(false);
    gpu_rows_session_ended();
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, gpu_session_forget_in_child);
}

void gpu_device_claim(struct rbwp_gpu_device *device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    device->forks = gpu_owner_forks();
}

/* ---- ends ------------------------------------------------------------------------ */

static uint64_t write_off(struct rbwp_gpu_device *device)
{
    uint64_t lost = 0;
    for (struct rbwp_gpu_stream *stream = device->streams; stream; stream = stream->next)
        lost += gpu_stream_write_off(stream);
    return lost;
}

static bool brackets_open(const struct rbwp_gpu_device *device)
{
    for (struct rbwp_gpu_stream *stream = device->streams; stream; stream = stream->next) {
        gpu_turn_take(&stream->turn);
        bool open = stream->begun != atomic_load(&stream->done);
        gpu_turn_give(&stream->turn);
        if (open)
            return true;
    }
    return false;
}

/* Reaps until all brackets are finished, or the limit. What has ended by then is taken, also by one
 * that was kept from looking, or let the driver rest. */
static void finish_brackets(struct rbwp_gpu_device *device)
{
    uint64_t limit = rbwp_now_ticks() + rbwp_ticks_from_ns(device->drain_limit_ns);
    while (brackets_open(device) && rbwp_now_ticks() < limit)
        (void)gpu_reap(device, true, limit);
    if (brackets_open(device))
        (void)gpu_reap(device, false, 0);
}

static void gpu_session_stop(struct rbwp_gpu_device *device)
{
    if (!gpu_reaping_begin(device, true))
        return; /* a callback stops the session: it can't wait for itself */
    finish_brackets(device);
    rbwp_extend_loss(RBWP_LOSS_GPU_PENDING, write_off(device));
    gpu_reaping_end(device);
}

/* At exit: what is pending is counted, without the driver. */
static void give_up(struct rbwp_gpu_device *device)
{
    rbwp_extend_loss(RBWP_LOSS_GPU_PENDING, write_off(device));
}

/* The next one to be visited after the present one; NULL: there is none. */
static struct rbwp_gpu_device *visit_next(void)
{
    pthread_mutex_lock(&list_lock);
    visited = visited ? visited->next : gpu_session_devices;
    struct rbwp_gpu_device *device = visited;
    pthread_cond_broadcast(&visit_ended);
    pthread_mutex_unlock(&list_lock);
    return device;
}

static void end_brackets(enum rbwp_extend_moment moment)
{
    bool stranger = false; /* a thread that does not record: what it reaps would be lost */
    for (struct rbwp_gpu_device *device = visit_next(); device; device = visit_next()) {
        if (rbwp_extend_thread() == 0 && brackets_open(device))
            stranger = rbwp_thread_attach("GPU drain") == RBWP_OK;
        gpu_rows_device(device);
        if (moment == RBWP_EXTEND_EXITING)
            give_up(device);
        else
            gpu_session_stop(device);
    }
    if (stranger)
        (void)rbwp_thread_detach();
}

/* Sessions end one at a time, so there is one visitor. */
static void at_end(enum rbwp_extend_moment moment)
{
    const bool ends = moment == RBWP_EXTEND_STOPPING || moment == RBWP_EXTEND_EXITING;
    gpu_brackets_refuse(ends);
    if (ends)
        end_brackets(moment);
    if (moment == RBWP_EXTEND_STOPPED)
        gpu_rows_session_ended();
}

enum rbwp_status gpu_session_join(struct rbwp_gpu_device *device)
{
    enum rbwp_status status = rbwp_extend_at_end(at_end);
    if (status != RBWP_OK)
        return status;
    pthread_mutex_lock(&list_lock);
    device->next = gpu_session_devices;
    gpu_session_devices = device;
    pthread_mutex_unlock(&list_lock);
    return RBWP_OK;
}

void gpu_session_leave(struct rbwp_gpu_device *device)
{
    pthread_mutex_lock(&list_lock);
    while (visited == device)
        pthread_cond_wait(&visit_ended, &list_lock);
    for (struct rbwp_gpu_device **link = &gpu_session_devices; *link; link = &(*link)->next)
        if (*link == device) {
            *link = device->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
}

/* ---- reaping with an end --------------------------------------------------------------------- */

/*
 * By a program that polls, until nothing is pending, and of streams that go.
 *
 * A stream that goes is reaped up to the device's limit; what is pending then is given up.
 */

enum rbwp_status rbwp_gpu_poll(struct rbwp_gpu_device *device)
{
    if (!device || !gpu_device_is_ours(device))
        return RBWP_END;
    if (!gpu_reaping_begin(device, false))
        return RBWP_E_BUSY;
    struct gpu_reaped reaped = gpu_reap(device, false, UINT64_MAX);
    gpu_reaping_end(device);
    return reaped.nodes ? RBWP_OK : reaped.pending ? RBWP_AGAIN : RBWP_END;
}

/* Reaps one stream, or all, until nothing is pending or time is up. Under the reaping. */
static bool reap_all(struct rbwp_gpu_device *device, struct rbwp_gpu_stream *only,
                     uint64_t limit_ns)
{
    uint64_t until = rbwp_now_ticks() + rbwp_ticks_from_ns(limit_ns);
    struct gpu_reaped reaped;
    do {
        reaped = only ? gpu_reap_stream(only, true, until) : gpu_reap(device, true, until);
        if (reaped.pending && reaped.nodes == 0)
            sched_yield(); /* the device may be this very processor */
    } while (reaped.pending && rbwp_now_ticks() < until);
    return !reaped.pending;
}

enum rbwp_status rbwp_gpu_drain(struct rbwp_gpu_device *device, uint64_t limit_ns)
{
    if (!device || !gpu_device_is_ours(device))
        return RBWP_OK;
    if (!gpu_reaping_begin(device, true))
        return RBWP_E_STATE;
    bool done = reap_all(device, NULL, limit_ns);
    gpu_reaping_end(device);
    return done ? RBWP_OK : RBWP_AGAIN;
}

/* ---- streams that go ------------------------------------------------------------------ */

static void unlink_stream(struct rbwp_gpu_stream *stream)
{
    struct rbwp_gpu_device *device = stream->device;
    pthread_mutex_lock(&device->lock);
    for (struct rbwp_gpu_stream **link = &device->streams; *link; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    pthread_mutex_unlock(&device->lock);
}

/* Under the reaping. Those of its threads go with it. */
static void close_stream(struct rbwp_gpu_stream *stream)
{
    for (struct rbwp_gpu_stream *child = stream->child, *next; child; child = next) {
        next = child->sibling;
        close_stream(child);
    }
    struct rbwp_gpu_device *device = stream->device;
    if (!reap_all(device, stream, device->drain_limit_ns))
        gpu_abandon(stream);
    rbwp_extend_loss(RBWP_LOSS_GPU_PENDING, gpu_stream_write_off(stream));
    unlink_stream(stream);
    gpu_stream_free(stream);
}

enum rbwp_status rbwp_gpu_stream_close(struct rbwp_gpu_stream *stream)
{
    if (!stream || !gpu_device_is_ours(stream->device))
        return RBWP_OK;
    struct rbwp_gpu_device *device = stream->device;
    if (!gpu_reaping_begin(device, true))
        return RBWP_E_STATE;
    close_stream(stream);
    gpu_reaping_end(device);
    return RBWP_OK;
}

/* One that the program opened: threads' own ones go with it. Under the reaping. */
static struct rbwp_gpu_stream *opened_stream(struct rbwp_gpu_device *device)
{
    struct rbwp_gpu_stream *stream = device->streams;
    while (stream->thread)
        stream = stream->next;
    return stream;
}

void gpu_drain_streams(struct rbwp_gpu_device *device)
{
    while (device->streams)
        close_stream(opened_stream(device));
}
