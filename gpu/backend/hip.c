/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip.c - the HIP runtime as a backend: devices, streams, events, memory.
 *
 * Code and launches are code_loader's. HIP has no contexts to speak of: a thread
 * has a current device, which attach sets and detach puts back.
 */
#include "code_loader.h"
#include "gpu_copy.h"
#include "gpu_failure.h"
#include "hip_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(GPU_NOT_READY == HIP_ERROR_CODE_NOT_READY, "codes are shared");
_Static_assert(GPU_UNSUPPORTED == HIP_ERROR_CODE_NOT_SUPPORTED, "codes are shared");
_Static_assert(GPU_CAPTURING == HIP_ERROR_CODE_CAPTURE_UNSUPPORTED &&
                   GPU_CAPTURING_LAST == HIP_ERROR_CODE_CAPTURE_IMPLICIT,
               "codes are shared");

struct hip_driver {
    struct code_driver code; /* first, as struct gpu_driver is its first */
    struct hip_functions functions;
};

static const char *const library_names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                            "libamdhip64.so.5", "libamdhip64.so", NULL};

static const struct gpu_symbol symbols[] = {
#define HIP_SYMBOL(result, symbol, parameters)                                                     \
    {#symbol, offsetof(struct hip_functions, symbol), false},
#define HIP_OPTIONAL(result, symbol, parameters)                                                   \
    {#symbol, offsetof(struct hip_functions, symbol), true},
    HIP_FUNCTIONS(HIP_SYMBOL) HIP_OPTIONAL_FUNCTIONS(HIP_OPTIONAL)
#undef HIP_SYMBOL
#undef HIP_OPTIONAL
        {NULL, 0, false}};

static const struct hip_functions *hip_of(const struct gpu_driver *driver)
{
    return &((const struct hip_driver *)driver)->functions;
}

/* ---- driver and devices ---------------------------------------------------- */

static enum rbwp_status describe(const struct gpu_driver *driver, int code, const char *what,
                                 struct rbwp_error *error)
{
    return gpu_describe(driver, code, hip_of(driver)->hipGetErrorName(code), what, error);
}

static struct code_functions functions_of(const struct code_driver *driver)
{
    const struct hip_functions *hip = hip_of(&driver->base);
    return (struct code_functions){
        .init = hip->hipInit,
        .count = hip->hipGetDeviceCount,
        .version = hip->hipDriverGetVersion,
        .load = hip->hipModuleLoadData,
        .unload = hip->hipModuleUnload,
        .get = hip->hipModuleGetFunction,
        .launch = hip->hipModuleLaunchKernel,
    };
}

static enum rbwp_status open_driver(const struct gpu_libraries *libraries,
                                    struct gpu_driver **driver_out, struct rbwp_error *error)
{
    static const struct code_driver_kind kind = {
        .backend = &gpu_hip_backend,
        .so_names = library_names,
        .symbols = symbols,
        .driver_bytes = sizeof(struct hip_driver),
        .functions_offset = offsetof(struct hip_driver, functions),
        .init_name = "hipInit",
        .count_name = "hipGetDeviceCount",
        .functions = functions_of,
        .compiler_kind = RTC_HIPRTC,
        .may_have_compiler = true,
    };
    return code_driver_open(&kind, libraries, driver_out, error);
}

static uint32_t attribute(const struct hip_functions *hip, unsigned ordinal, int which)
{
    int value = 0;
    int code = hip->hipDeviceGetAttribute(&value, which, (int)ordinal);
    return code == GPU_OK && value > 0 ? (uint32_t)value : 0;
}

static int device_info(struct gpu_driver *driver, unsigned ordinal,
                       struct gpu_device_info *info_out)
{
    const struct hip_functions *hip = hip_of(driver);
    *info_out = (struct gpu_device_info){0};
    if (ordinal >= driver->devices)
        return GPU_INVALID;
    int code = hip->hipDeviceGetName(info_out->name, sizeof info_out->name - 1, (int)ordinal);
    if (code != GPU_OK)
        return code;
    size_t memory_bytes = 0;
    if (hip->hipDeviceTotalMem(&memory_bytes, (int)ordinal) == GPU_OK)
        info_out->memory_bytes = memory_bytes;
    info_out->multiprocessors = attribute(hip, ordinal, HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info_out->warp_threads = attribute(hip, ordinal, HIP_ATTRIBUTE_WARP_SIZE);
    info_out->block_threads_max = attribute(hip, ordinal, HIP_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info_out->shared_bytes_max = attribute(hip, ordinal, HIP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    return GPU_OK;
}

/* ---- contexts ------------------------------------------------------------------ */

/* From here on this thread's calls leave captures alone. Returns what was. */
static hip_capture_mode spare_captures(const struct hip_functions *hip)
{
    hip_capture_mode mode = HIP_CAPTURE_RELAXED;
    if (hip->hipThreadExchangeStreamCaptureMode)
        (void)hip->hipThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static void restore_captures(const struct hip_functions *hip, hip_capture_mode mode)
{
    if (hip->hipThreadExchangeStreamCaptureMode)
        (void)hip->hipThreadExchangeStreamCaptureMode(&mode);
}

static int attach(struct gpu_context *context, struct gpu_attached *saved_out)
{
    const struct hip_functions *hip = hip_of(context->driver);
    *saved_out = (struct gpu_attached){.device = -1};
    int code = hip->hipGetDevice(&saved_out->device);
    if (code == GPU_OK)
        code = hip->hipSetDevice((int)context->ordinal);
    if (code == GPU_OK)
        saved_out->capture_mode = spare_captures(hip);
    return code;
}

static void detach(struct gpu_context *context, const struct gpu_attached *saved)
{
    restore_captures(hip_of(context->driver), saved->capture_mode);
    if (saved->device >= 0 && saved->device != (int)context->ordinal)
        (void)hip_of(context->driver)->hipSetDevice(saved->device);
}

static int context_open(struct gpu_driver *driver, unsigned ordinal, void *stream,
                        struct gpu_context **context_out)
{
    const struct hip_functions *hip = hip_of(driver);
    *context_out = NULL;
    if (ordinal >= driver->devices ||
        (stream && hip->hipGetStreamDeviceId && hip->hipGetStreamDeviceId(stream) != (int)ordinal))
        return GPU_INVALID;
    struct gpu_context *context = calloc(1, sizeof *context);
    if (!context)
        return GPU_NO_MEMORY;
    *context = (struct gpu_context){&gpu_hip_backend, driver, ordinal, NULL};
    *context_out = context;
    return GPU_OK;
}

static void context_close(struct gpu_context *context)
{
    free(context);
}

/* ---- streams and events -------------------------------------------------------------- */

static int stream_create(struct gpu_context *context, void **stream_out)
{
    return hip_of(context->driver)->hipStreamCreateWithFlags(stream_out, HIP_STREAM_NON_BLOCKING);
}

static int stream_destroy(struct gpu_context *context, void *stream)
{
    return hip_of(context->driver)->hipStreamDestroy(stream);
}

static int stream_flush(struct gpu_context *context, void *stream)
{
    (void)context, (void)stream; /* hipEventQuery submits what it waits for */
    return GPU_OK;
}

static int stream_wait(struct gpu_context *context, void *stream)
{
    return hip_of(context->driver)->hipStreamSynchronize(stream);
}

/* The default stream answers with an error while a stream that waits for it is captured. */
static bool stream_capturing(struct gpu_context *context, void *stream)
{
    const struct hip_functions *hip = hip_of(context->driver);
    hip_capture_status status = HIP_CAPTURE_NONE;
    int code = hip->hipStreamIsCapturing ? hip->hipStreamIsCapturing(stream, &status) : GPU_OK;
    return code == GPU_OK ? status != HIP_CAPTURE_NONE : gpu_is_capturing(code);
}

static int event_create(struct gpu_context *context, struct gpu_event *event_out)
{
    return hip_of(context->driver)
        ->hipEventCreateWithFlags(&event_out->native, HIP_EVENT_DISABLE_TIMING);
}

static void event_destroy(struct gpu_context *context, struct gpu_event *event)
{
    if (event->native)
        (void)hip_of(context->driver)->hipEventDestroy(event->native);
    event->native = NULL;
}

static int event_record(struct gpu_context *context, struct gpu_event *event, void *stream)
{
    return hip_of(context->driver)->hipEventRecord(event->native, stream);
}

static int event_query(struct gpu_context *context, const struct gpu_event *event)
{
    const struct hip_functions *hip = hip_of(context->driver);
    hip_capture_mode mode = spare_captures(hip);
    int code = hip->hipEventQuery(event->native);
    restore_captures(hip, mode);
    return gpu_is_capturing(code) ? GPU_NOT_READY : code;
}

/* ---- memory ---------------------------------------------------------------------------- */

static int memory_alloc(struct gpu_context *context, uint64_t bytes, struct gpu_memory *memory_out)
{
    void *address = NULL;
    int code = hip_of(context->driver)->hipMalloc(&address, bytes);
    *memory_out = (struct gpu_memory){address, code == GPU_OK ? bytes : 0};
    return code;
}

static void memory_free(struct gpu_context *context, struct gpu_memory *memory)
{
    if (memory->native)
        (void)hip_of(context->driver)->hipFree(memory->native);
    *memory = (struct gpu_memory){0};
}

static int host_alloc(struct gpu_context *context, uint64_t bytes, void **host_out)
{
    *host_out = NULL;
    return hip_of(context->driver)->hipHostMalloc(host_out, bytes, HIP_HOST_DEFAULT);
}

static void host_free(struct gpu_context *context, void *host)
{
    if (host)
        (void)hip_of(context->driver)->hipHostFree(host);
}

static struct hip_pitched pitched(const struct gpu_copy_side *side)
{
    return (struct hip_pitched){gpu_copy_address(side), side->row_bytes, side->row_bytes,
                                side->slice_bytes / side->row_bytes};
}

static int device_of(const struct gpu_copy_side *side, const struct gpu_context *own)
{
    return (int)(side->context ? side->context : own)->ordinal;
}

/* Addresses say which device's memory it is: a pitched copy between two needs no other call. */
static int copy_part(struct gpu_context *context, const struct gpu_copy *part, bool is_flat,
                     void *stream)
{
    const struct hip_functions *hip = hip_of(context->driver);
    hip_copy_kind kind = !part->src.device   ? HIP_HOST_TO_DEVICE
                         : !part->dst.device ? HIP_DEVICE_TO_HOST
                                             : HIP_DEVICE_TO_DEVICE;
    if (is_flat && (part->src.context || part->dst.context))
        return hip->hipMemcpyPeerAsync(gpu_copy_address(&part->dst), device_of(&part->dst, context),
                                       gpu_copy_address(&part->src), device_of(&part->src, context),
                                       part->width_bytes, stream);
    if (is_flat)
        return hip->hipMemcpyAsync(gpu_copy_address(&part->dst), gpu_copy_address(&part->src),
                                   part->width_bytes, kind, stream);
    struct hip_copy_3d copy = {
        .src = pitched(&part->src),
        .dst = pitched(&part->dst),
        .extent = {part->width_bytes, part->height, part->depth},
        .kind = kind,
    };
    return hip->hipMemcpy3DAsync(&copy, stream);
}

/* ---- other devices, other processes --------------------------------------------------- */

_Static_assert(sizeof(hip_share) == GPU_SHARE_BYTES, "all of it");

static int peer_enable(struct gpu_context *context, struct gpu_context *peer, bool *direct_out)
{
    const struct hip_functions *hip = hip_of(context->driver);
    const int own = (int)context->ordinal, other = (int)peer->ordinal;
    int can = 0;
    *direct_out = own == other;
    if (*direct_out)
        return GPU_OK;
    int code = hip->hipDeviceCanAccessPeer(&can, own, other);
    if (code != GPU_OK || !can)
        return code;
    code = hip->hipDeviceEnablePeerAccess(other, 0);
    *direct_out = code == GPU_OK || code == HIP_ERROR_CODE_PEER_ENABLED;
    return *direct_out ? GPU_OK : code;
}

static int memory_share(struct gpu_context *context, const struct gpu_memory *memory,
                        uint8_t words[GPU_SHARE_BYTES])
{
    hip_share share;
    int code = hip_of(context->driver)->hipIpcGetMemHandle(&share, memory->native);
    if (code == GPU_OK)
        memcpy(words, &share, sizeof share);
    return code;
}

static int memory_map(struct gpu_context *context, const uint8_t words[GPU_SHARE_BYTES],
                      uint64_t bytes, struct gpu_memory *memory_out)
{
    hip_share share;
    void *address = NULL;
    memcpy(&share, words, sizeof share);
    int code = hip_of(context->driver)->hipIpcOpenMemHandle(&address, share, HIP_SHARE_LAZY_PEER);
    *memory_out = (struct gpu_memory){address, code == GPU_OK ? bytes : 0};
    return code;
}

static void memory_unmap(struct gpu_context *context, struct gpu_memory *memory)
{
    (void)hip_of(context->driver)->hipIpcCloseMemHandle(memory->native);
    *memory = (struct gpu_memory){0};
}

static uint64_t timer_hz(struct gpu_context *context)
{
    return UINT64_C(1000) *
           attribute(hip_of(context->driver), context->ordinal, HIP_ATTRIBUTE_WALL_CLOCK_RATE);
}

const struct gpu_backend gpu_hip_backend = {
    .name = "hip",
    .api = GPU_HIP,
    .open = open_driver,
    .close = code_driver_close,
    .device_info = device_info,
    .context_open = context_open,
    .context_close = context_close,
    .attach = attach,
    .detach = detach,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_flush = stream_flush,
    .stream_wait = stream_wait,
    .stream_capturing = stream_capturing,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .copy_part = copy_part,
    .peer_enable = peer_enable,
    .memory_share = memory_share,
    .memory_map = memory_map,
    .memory_unmap = memory_unmap,
    .module_load = code_module_load,
    .module_unload = code_module_unload,
    .kernel_get = code_kernel_get,
    .launch = code_launch,
    .timer_hz = timer_hz,
    .status_of = gpu_status_of,
    .describe = describe,
};
