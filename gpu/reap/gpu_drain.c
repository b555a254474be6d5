/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_drain.c - reaping with an end: by a program that polls, until nothing is pending, and of
 * streams that go.
 *
 * A stream that goes is reaped up to the device's limit; what is pending then is given up.
 */
#include "gpu_stream.h"

#include "record_extend.h"
#include "rbwp_record.h"

#include <sched.h>

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
