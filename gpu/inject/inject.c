/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.c - librbwp-inject.so: what the driver loads into an unmodified program.
 *
 * The driver looks for InitializeInjection in the library of CUDA_INJECTION64_PATH, in cuInit. Each
 * source of records is asked for by its variable of the environment (RBWP_PTX_DIR: kernels with
 * probes; RBWP_INJECT_FILE: what GPUs did, inject_session.h) and says which of the driver's calls
 * it wants to see; CUPTI calls back on the program's threads, around these. Without CUPTI, work of
 * GPUs is timed by events where the library is preloaded (inject_events.h). Whatever is missing,
 * the program goes on, and one line says what is not recorded. Ranges come another way
 * (inject_nvtx.c).
 *
 * Nothing of ours ends with the process: at its end, and in a forked child, the callbacks just do
 * nothing more.
 */
#include "inject_buffers.h"
#include "inject_session.h"
#include "inject_events.h"
#include "inject_names.h"
#include "inject_ptx.h"
#include "inject_log.h"
#include "rbwp_record.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What CUPTI reports of finished kernels, copies and sets.
 *
 * CUPTI asks for buffers and gives them back filled, on threads of its own or in a flush. The GPU's
 * times are CLOCK_MONOTONIC's, which CUPTI reads by a callback of ours. Where the program makes
 * work faster than it can be written, CUPTI finds no buffer and drops records; they are counted. */

extern const struct inject_source inject_activity;

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
    if (!work->start_ns) { /* it had not run when all that there was had to be reported */
        inject_lost(LOST_NOT_ENDED, 1);
        return;
    }
    (void)inject_call_find(work->correlation, &call);
    if (work->end_ns < work->start_ns)
        work->end_ns = work->start_ns;
    inject_rows_work(work, &call);
}

/* What all records have. */
#define FINISHED(record)                                                                           \
    .device = (record)->device, .stream = (record)->stream, .start_ns = (record)->start,           \
    .end_ns = (record)->end

static void take_kernel(const struct cupti_kernel *kernel)
{
    struct inject_work work = {.kind = WORK_KERNEL,
                               .name = kernel->name,
                               FINISHED(kernel),
                               .correlation = kernel->correlation,
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
                                        FINISHED(copy),
                                        .correlation = correlation,
                                        .bytes = copy->bytes,
                                        .graph_node = graph_node});
}

static void take_set(const struct cupti_set *set)
{
    char name[48];
    snprintf(name, sizeof name, "Memset (%s)", memory_name(set->memory));
    activity_take(&(struct inject_work){.kind = WORK_SET,
                                        .name = name,
                                        FINISHED(set),
                                        .correlation = set->correlation,
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
            inject_log_once("kernels are not recorded: CUPTI does not report them");
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

/* False with the line said: this CUPTI reports no finished work. probes: launches are watched
 * for these, too. */
static bool inject_activity_open(cupti_subscriber subscriber, bool probes)
{
    activity_subscribed = subscriber;
    probes_watch = probes;
    inject_rows_prepare();
    if (!cupti.cuptiActivityRegisterTimestampCallback || !cupti.cuptiActivityRegisterCallbacks ||
        !cupti.cuptiActivityEnable || !cupti.cuptiActivityDisable || !cupti.cuptiActivityFlushAll ||
        !cupti.cuptiActivityGetNextRecord || !cupti.cuptiActivityGetNumDroppedRecords) {
        inject_log_no_cupti("this CUPTI does not report finished ones");
        return false;
    }
    give_cleared_buffers();
    if (!inject_calls_open() || !inject_calls_watch(subscriber, true) ||
        cupti.cuptiActivityRegisterTimestampCallback(inject_now_ns) != CUPTI_OK ||
        cupti.cuptiActivityRegisterCallbacks(buffer_wanted, buffer_filled) != CUPTI_OK) {
        inject_log_no_cupti("CUPTI refused, or there is no memory");
        return false;
    }
    if (!probes) /* until the window opens */
        (void)inject_calls_watch(subscriber, false);
    return true;
}

/* In a forked child nothing more is taken. */
static void inject_activity_forget(void)
{
    inject_buffers_forget();
    pthread_mutex_init(&records_lock, NULL);
}

static atomic_bool on;            /* probes */
static atomic_bool inject_opened; /* by this process */
static bool probes, gpu;          /* what is wanted */
/* Our own calls of the driver are none of the program's. */
static _Thread_local bool inside RBWP_TLS_MODEL_;

/* ---- calls ----------------------------------------------------------------------------- */

static bool per_thread(uint32_t id)
{
    return id == CUPTI_CALL_cuLaunchKernel_ptsz || id == CUPTI_CALL_cuLaunchKernelEx_ptsz ||
           id == CUPTI_CALL_cuLaunchCooperativeKernel_ptsz;
}

/* The context of a stream is that of its launches, whichever is current. */
static void *inject_context_of(void *stream, void *current)
{
    cuda_context context;
    bool named = (uintptr_t)stream > (uintptr_t)CUDA_STREAM_PER_THREAD;
    return named && cu.cuStreamGetCtx(stream, &context) == DRIVER_OK && context ? context : current;
}

static struct inject_launch launch_of(uint32_t id, const struct cupti_call *call)
{
    struct inject_launch launch = {.symbol = call->symbol, .correlation = call->correlation};
    if (id == CUPTI_CALL_cuLaunchKernelEx || id == CUPTI_CALL_cuLaunchKernelEx_ptsz) {
        const struct cuda_launch_ex_params *params = call->params;
        const struct cuda_launch_config *config = params->config;
        if (!config)
            return launch;
        launch.function = params->function;
        launch.stream = config->stream;
        memcpy(launch.grid, &config->grid_x, sizeof launch.grid);
        memcpy(launch.block, &config->block_x, sizeof launch.block);
    } else {
        const struct cuda_launch_params *params = call->params;
        launch.function = params->function;
        launch.stream = params->stream;
        memcpy(launch.grid, &params->grid_x, sizeof launch.grid);
        memcpy(launch.block, &params->block_x, sizeof launch.block);
    }
    if (!launch.stream && per_thread(id))
        launch.stream = CUDA_STREAM_PER_THREAD;
    launch.context = inject_context_of(launch.stream, call->context);
    return launch;
}

static void launch_call(uint32_t id, const struct cupti_call *call)
{
    if (call->site == CUPTI_EXIT) {
        inject_ptx_exit(call->result ? *(const driver_result *)call->result : DRIVER_OK);
        return;
    }
    struct inject_launch launch = launch_of(id, call);
    if (launch.function && launch.context && atomic_load(&on))
        inject_ptx_enter(&launch);
}

static void got(enum inject_handle_kind kind, const struct cupti_call *call)
{
    const struct cuda_get_params *params = call->params;
    if (call->site != CUPTI_EXIT || !call->result || *(const driver_result *)call->result ||
        !params->made)
        return;
    inject_handle_made((struct inject_handle){kind, *params->made, params->from});
    inject_sites_again();
}

/* A module, or a library. */
static void unloaded(bool module, const struct cupti_call *call)
{
    void *handle = *(void *const *)call->params;
    if (call->site != CUPTI_ENTER)
        return;
    inject_handles_gone(handle);
    inject_sites_module_gone(module ? handle : NULL);
}

static void driver_call(uint32_t id, const struct cupti_call *call)
{
    switch (id) {
    case CUPTI_CALL_cuModuleGetFunction:
        got(HANDLE_FUNCTION, call);
        break;
    case CUPTI_CALL_cuLibraryGetKernel:
        got(HANDLE_KERNEL, call);
        break;
    case CUPTI_CALL_cuKernelGetFunction:
        got(HANDLE_KERNELS_FUNCTION, call);
        break;
    case CUPTI_CALL_cuModuleUnload:
    case CUPTI_CALL_cuLibraryUnload:
        unloaded(id == CUPTI_CALL_cuModuleUnload, call);
        break;
    case CUPTI_CALL_cuLaunchKernel:
    case CUPTI_CALL_cuLaunchKernel_ptsz:
    case CUPTI_CALL_cuLaunchKernelEx:
    case CUPTI_CALL_cuLaunchKernelEx_ptsz:
    case CUPTI_CALL_cuLaunchCooperativeKernel:
    case CUPTI_CALL_cuLaunchCooperativeKernel_ptsz:
        launch_call(id, call);
        break;
    default:
        break;
    }
}

static void resource(uint32_t id, const struct cupti_resource *resource)
{
    if (id == CUPTI_CONTEXT_GOES) {
        inject_device_gone(resource->context);
        inject_sites_again();
    } else if (id == CUPTI_STREAM_GOES) {
        inject_sites_stream_gone(resource->handle);
    }
}

static void called(void *context, cupti_domain domain, uint32_t id, const void *data)
{
    (void)context;
    if (inside || !atomic_load(&inject_opened))
        return;
    int kept = errno;
    inside = true;
    if (domain == CUPTI_DOMAIN_RESOURCE)
        resource(id, data);
    if (domain == CUPTI_DOMAIN_DRIVER && probes)
        driver_call(id, data);
    if (domain != CUPTI_DOMAIN_RESOURCE && gpu)
        inject_calls_told(domain, id, data);
    inside = false;
    errno = kept;
}

/* ---- beginning and end ----------------------------------------------------------------- */

static bool subscribe(cupti_subscriber *subscriber)
{
    int code = cupti.cuptiSubscribe(subscriber, called, NULL);
    if (code == CUPTI_TAKEN)
        inject_log_no_cupti("another tool has CUPTI already");
    else if (code != CUPTI_OK)
        inject_log_no_cupti("CUPTI says %d", code);
    return code == CUPTI_OK;
}

static bool subscribe_probes(cupti_subscriber subscriber)
{
    static const struct {
        int domain;
        uint32_t id;
    } wanted[] = {
#define WANTED(symbol, id) {CUPTI_DOMAIN_DRIVER, id},
        CUPTI_CALLS(WANTED){CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_GOES},
        {CUPTI_DOMAIN_RESOURCE, CUPTI_STREAM_GOES}};
#undef WANTED
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        /* Calls that this CUPTI does not know are none that its driver has. */
        if (cupti.cuptiEnableCallback(1, subscriber, wanted[i].domain, wanted[i].id) != CUPTI_OK &&
            i == 0) {
            return inject_log_once("kernels are not recorded: CUPTI does not report launches");
        }
    return true;
}

static void inject_in_child(void)
{
    atomic_store(&on, false);
    atomic_store(&inject_opened, false);
    inject_activity_forget();
    inject_events_forget();
    inject_names_forked();
}

/* False: nothing of what is wanted comes by CUPTI. */
static bool begin_cupti(const char *folder)
{
    cupti_subscriber subscriber;
    if (!inject_cupti_open() || (probes && !inject_ptx_open(folder)) || !subscribe(&subscriber))
        return false;
    atomic_store(&on, probes);
    gpu = gpu && inject_activity_open(subscriber, probes);
    atomic_store(&inject_opened, true);
    if (probes && !subscribe_probes(subscriber))
        probes = false;
    if (gpu)
        inject_session_begin(&inject_activity);
    if (probes || gpu)
        return true;
    atomic_store(&on, false);
    atomic_store(&inject_opened, false);
    (void)cupti.cuptiUnsubscribe(subscriber);
    return false;
}

static void inject_begin(void)
{
    const char *folder = getenv("RBWP_PTX_DIR");
    const bool want_gpu = inject_wanted() & INJECT_GPU;
    const bool events = want_gpu && inject_hooks_stand();
    probes = folder && *folder;
    gpu = want_gpu && !(events && inject_events_wish() == EVENTS_ALWAYS);
    if ((!probes && !want_gpu) || !inject_driver_open())
        return;
    pthread_atfork(NULL, NULL, inject_in_child);
    if (events && !probes)
        inject_without_cupti = "kernels are timed by events around their launches, to some "
                               "microseconds";
    if (((probes || gpu) && begin_cupti(folder) && gpu) || !events || !inject_events_open())
        return;
    gpu = false;
    inject_session_begin(&inject_events);
}

__attribute__((destructor)) static void inject_end(void)
{
    if (atomic_exchange(&on, false))
        inject_ptx_close();
}

/* The driver calls it; what it returns changes nothing for the program. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&begun)) {
        inside = true;
        inject_begin();
        inside = false;
    }
    return 1;
}
