/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_session.c - the end of a session, seen from the GPUs.
 *
 * When a session stops, no new bracket begins, what is pending is waited for up
 * to each device's limit, and what is left is counted as lost: a bracket is
 * recorded in the session in which it began, or nowhere. At the exit of the
 * process drivers may be gone already, so nobody asks them any more.
 */
#include "gpu_stream.h"

#include "rbwp_extend.h"
#include "rbwp_record.h"

/* Guards the list, and is held while callbacks run, which may open further devices: recursive. */
static pthread_mutex_t list_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct rbwp_gpu_device *devices;

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
        pthread_mutex_lock(&stream->lock);
        bool open = stream->begun != atomic_load(&stream->done);
        pthread_mutex_unlock(&stream->lock);
        if (open)
            return true;
    }
    return false;
}

/* Reaps until all brackets are finished, or the limit. */
static void finish_brackets(struct rbwp_gpu_device *device)
{
    uint64_t limit = rbwp_now_ticks() + rbwp_ticks_from_ns(device->drain_limit_ns);
    while (brackets_open(device) && rbwp_now_ticks() < limit)
        (void)gpu_reap(device, true, limit);
}

static void stop(struct rbwp_gpu_device *device)
{
    if (!gpu_reaping_begin(device, true))
        return; /* a callback stops the session: it can't wait for itself */
    finish_brackets(device);
    gpu_extras_flush(device);
    rbwp_extend_loss(RBWP_LOSS_GPU_PENDING, write_off(device));
    gpu_reaping_end(device);
}

/* At exit: what was recorded is told, and what is pending counted, without the driver. */
static void give_up(struct rbwp_gpu_device *device)
{
    if (gpu_reaping_begin(device, false)) {
        gpu_extras_flush(device);
        gpu_reaping_end(device);
    }
    rbwp_extend_loss(RBWP_LOSS_GPU_PENDING, write_off(device));
}

static void at_end(enum rbwp_extend_moment moment)
{
    if (moment == RBWP_EXTEND_STOPPED) {
        gpu_brackets_refuse(false);
        return;
    }
    gpu_brackets_refuse(true);
    pthread_mutex_lock(&list_lock);
    bool stranger = false; /* a thread that does not record: what it reaps would be lost */
    for (struct rbwp_gpu_device *device = devices; device; device = device->next) {
        if (rbwp_extend_thread() == 0 && brackets_open(device))
            stranger = rbwp_thread_attach("GPU drain") == RBWP_OK;
        if (moment == RBWP_EXTEND_EXITING)
            give_up(device);
        else
            stop(device);
    }
    if (stranger)
        (void)rbwp_thread_detach();
    pthread_mutex_unlock(&list_lock);
}

enum rbwp_status gpu_session_join(struct rbwp_gpu_device *device)
{
    enum rbwp_status status = rbwp_extend_at_end(at_end);
    if (status != RBWP_OK)
        return status;
    pthread_mutex_lock(&list_lock);
    device->next = devices;
    devices = device;
    pthread_mutex_unlock(&list_lock);
    return RBWP_OK;
}

void gpu_session_leave(struct rbwp_gpu_device *device)
{
    pthread_mutex_lock(&list_lock);
    for (struct rbwp_gpu_device **link = &devices; *link; link = &(*link)->next)
        if (*link == device) {
            *link = device->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
}
