/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_activity.h"
#include "inject_buffers.h"
#include "inject_calls.h"
#include "inject_clock.h"
#include "inject_library.h"
#include "inject_rows.h"
#include "inject_say.h"

#include "rbwp_record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* Guards names, shapes, devices and looks at clocks, too. */
static pthread_mutex_t records_lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_subscriber activity_subscribed;
static bool probes_watch;
static const int kinds[] = {CUPTI_KERNEL, CUPTI_COPY, CUPTI_PEER_COPY, CUPTI_SET};

/* ---- buffers -------------------------------------------------------------------------------- */

/* At the first one all is made that CUPTI takes apart when the process ends: the session must end
 * before. */
static void buffer_wanted(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
    static atomic_flag asked = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&asked))
        (void)inject_session_end_before();
    *buffer = inject_buffer_take(bytes);
    *records_max = 0;
}

/* ---- records -------------------------------------------------------------------------------- */

static void activity_take(struct inject_work *work)
{
    struct inject_call call;
    if (!work->start_ns) { /* it had not run when all that there was had to be told */
        inject_lost(LOST_NOT_ENDED, 1);
        return;
    }
    (void)inject_call_find(work->correlation, &call);
    if (work->end_ns < work->start_ns)
        work->end_ns = work->start_ns;
    inject_rows_work(work, &call);
}

static void take_kernel(const struct cupti_kernel *kernel)
{
    struct inject_work work = {.kind = WORK_KERNEL,
                               .name = kernel->name,
                               .device = kernel->device,
                               .stream = kernel->stream,
                               .correlation = kernel->correlation,
                               .start_ns = kernel->start,
                               .end_ns = kernel->end,
                               .graph_node = kernel->graph_node};
    for (int i = 0; i < 3; i++) {
        work.shape[i] = (uint32_t)kernel->grid[i];
        work.shape[3 + i] = (uint32_t)kernel->block[i];
    }
    work.shape[6] = kernel->registers;
    work.shape[7] = (uint64_t)(uint32_t)kernel->static_shared + (uint32_t)kernel->dynamic_shared;
    activity_take(&work);
}

static const char *memory_name(unsigned kind)
{
    static const char *const names[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device Static", "Managed Static"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : names[0];
}

static const char *way_name(unsigned way)
{
    static const char *const names[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    return way < sizeof names / sizeof names[0] ? names[way] : names[0];
}

/* Both kinds of copies have the same up to their stream. */
static void take_copy(const struct cupti_copy *copy, uint32_t correlation, uint64_t graph_node)
{
    char name[80];
    snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", way_name(copy->way),
             memory_name(copy->from), memory_name(copy->to));
    activity_take(&(struct inject_work){.kind = WORK_COPY,
                                        .name = name,
                                        .device = copy->device,
                                        .stream = copy->stream,
                                        .correlation = correlation,
                                        .start_ns = copy->start,
                                        .end_ns = copy->end,
                                        .bytes = copy->bytes,
                                        .graph_node = graph_node});
}

static void take_set(const struct cupti_set *set)
{
    char name[48];
    snprintf(name, sizeof name, "Memset (%s)", memory_name(set->memory));
    activity_take(&(struct inject_work){.kind = WORK_SET,
                                        .name = name,
                                        .device = set->device,
                                        .stream = set->stream,
                                        .correlation = set->correlation,
                                        .start_ns = set->start,
                                        .end_ns = set->end,
                                        .bytes = set->bytes,
                                        .graph_node = set->graph_node});
}

static void activity_on_record(const void *record)
{
    const struct cupti_peer_copy *peer = record;
    const struct cupti_copy *copy = record;
    switch (*(const uint32_t *)record) {
    case CUPTI_KERNEL:
        take_kernel(record);
        break;
    case CUPTI_COPY:
        take_copy(copy, copy->correlation, copy->graph_node);
        break;
    case CUPTI_PEER_COPY:
        take_copy(record, peer->correlation, peer->graph_node);
        break;
    case CUPTI_SET:
        take_set(record);
        break;
    default:
        break;
    }
}

static void buffer_filled(cuda_context context, uint32_t stream, uint8_t *buffer, size_t bytes,
                          size_t valid_bytes)
{
    cupti_record *record = NULL;
    size_t dropped = 0;
    (void)bytes;
    if (!buffer)
        return;
    pthread_mutex_lock(&records_lock);
    inject_ticks_look();
    if (rbwp_is_on_(1)) /* work of the window may end behind it */
        while (valid_bytes &&
               cupti.cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_OK)
            activity_on_record(record);
    inject_rows_devices();
    if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK && dropped)
        inject_lost(LOST_NO_ROOM, dropped);
    pthread_mutex_unlock(&records_lock);
    inject_buffer_give(buffer);
}

/* ---- the source ----------------------------------------------------------------------------- */

/* Else CUPTI clears them, on the thread that launches. */
static void give_cleared_buffers(void)
{
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    if (cupti.cuptiActivitySetAttribute)
        (void)cupti.cuptiActivitySetAttribute(CUPTI_CLEARED_BUFFERS, &bytes, &yes);
}

static void activity_open_source(void)
{
    inject_buffers_prepare();
    inject_calls_prepare();
    (void)inject_calls_watch(activity_subscribed, true);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (cupti.cuptiActivityEnable(kinds[i]) != CUPTI_OK && kinds[i] == CUPTI_KERNEL)
            inject_say("kernels are not recorded: CUPTI does not tell of them");
}

/* A launch costs what it did. (With probes in kernels, their launches are watched on.) */
static void activity_close_source(void)
{
    if (!probes_watch)
        (void)inject_calls_watch(activity_subscribed, false);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        (void)cupti.cuptiActivityDisable(kinds[i]);
}

static void activity_flush(bool all)
{
    (void)cupti.cuptiActivityFlushAll(all ? CUPTI_FLUSH_FORCED : 0);
}

const struct inject_source inject_activity = {activity_open_source, activity_close_source,
                                              activity_flush};

bool inject_activity_open(cupti_subscriber subscriber, bool probes)
{
    activity_subscribed = subscriber;
    probes_watch = probes;
    inject_rows_prepare();
    if (!cupti.cuptiActivityRegisterTimestampCallback || !cupti.cuptiActivityRegisterCallbacks ||
        !cupti.cuptiActivityEnable || !cupti.cuptiActivityDisable || !cupti.cuptiActivityFlushAll ||
        !cupti.cuptiActivityGetNextRecord || !cupti.cuptiActivityGetNumDroppedRecords) {
        inject_say_no_cupti("this CUPTI does not tell of finished ones");
        return false;
    }
    give_cleared_buffers();
    if (!inject_calls_open() || !inject_calls_watch(subscriber, true) ||
        cupti.cuptiActivityRegisterTimestampCallback(inject_now_ns) != CUPTI_OK ||
        cupti.cuptiActivityRegisterCallbacks(buffer_wanted, buffer_filled) != CUPTI_OK) {
        inject_say_no_cupti("CUPTI refused, or there is no memory");
        return false;
    }
    if (!probes) /* until the window opens */
        (void)inject_calls_watch(subscriber, false);
    return true;
}

void inject_activity_forget(void)
{
    inject_buffers_forget();
    pthread_mutex_init(&records_lock, NULL);
}
