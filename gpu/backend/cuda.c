/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - the CUDA Driver API as a backend: devices, contexts, streams, events, memory.
 *
 * Code and launches are code_loader's. The primary context is shared with the
 * CUDA runtime and everybody else in the process; a stream of another context is
 * used in that one, since an event must be of its stream's context.
 */
#include "code_loader.h"
#include "cuda_abi.h"
#include "gpu_copy.h"
#include "gpu_failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(GPU_NOT_READY == CUDA_ERROR_CODE_NOT_READY, "codes are shared");
_Static_assert(GPU_UNSUPPORTED == CUDA_ERROR_CODE_NOT_SUPPORTED, "codes are shared");
_Static_assert(GPU_CAPTURING == CUDA_ERROR_CODE_CAPTURE_UNSUPPORTED &&
                   GPU_CAPTURING_LAST == CUDA_ERROR_CODE_CAPTURE_IMPLICIT,
               "codes are shared");

struct cuda_driver {
    struct code_driver code; /* first, as struct gpu_driver is its first */
    struct cuda_functions functions;
};

struct cuda_context_box {
    struct gpu_context base;
    cuda_device device;
    bool retained; /* the primary context, which we hold */
};

static const char *const library_names[] = {"libcuda.so.1", NULL};

static const struct gpu_symbol symbols[] = {
#define CUDA_SYMBOL(symbol, parameters) {#symbol, offsetof(struct cuda_functions, symbol), false},
    CUDA_FUNCTIONS(CUDA_SYMBOL)
#undef CUDA_SYMBOL
        {NULL, 0, false}};

static const struct cuda_functions *cuda_of(const struct gpu_driver *driver)
{
    return &((const struct cuda_driver *)driver)->functions;
}

/* ---- driver and devices ---------------------------------------------------- */

static enum rbwp_status describe(const struct gpu_driver *driver, int code, const char *what,
                                 struct rbwp_error *error)
{
    const char *name = NULL;
    if (cuda_of(driver)->cuGetErrorName(code, &name) != GPU_OK)
        name = NULL;
    return gpu_describe(driver, code, name, what, error);
}

static struct code_functions functions_of(const struct code_driver *driver)
{
    const struct cuda_functions *cu = cuda_of(&driver->base);
    return (struct code_functions){
        .init = cu->cuInit,
        .count = cu->cuDeviceGetCount,
        .version = cu->cuDriverGetVersion,
        .load = cu->cuModuleLoadData,
        .unload = cu->cuModuleUnload,
        .get = cu->cuModuleGetFunction,
        .launch = cu->cuLaunchKernel,
    };
}

static enum rbwp_status open_driver(const struct gpu_libraries *libraries,
                                    struct gpu_driver **driver_out, struct rbwp_error *error)
{
    static const struct code_driver_kind kind = {
        .backend = &gpu_cuda_backend,
        .so_names = library_names,
        .symbols = symbols,
        .driver_bytes = sizeof(struct cuda_driver),
        .functions_offset = offsetof(struct cuda_driver, functions),
        .init_name = "cuInit",
        .count_name = "cuDeviceGetCount",
        .functions = functions_of,
        .compiler_kind = RTC_NVRTC,
        .takes_ptx = true,
        .names_arch = true,
    };
    return code_driver_open(&kind, libraries, driver_out, error);
}

static uint32_t attribute(const struct cuda_functions *cu, cuda_device device, int which)
{
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, which, device) == GPU_OK && value > 0 ? (uint32_t)value
                                                                                  : 0;
}

static int device_info(struct gpu_driver *driver, unsigned ordinal,
                       struct gpu_device_info *info_out)
{
    const struct cuda_functions *cu = cuda_of(driver);
    *info_out = (struct gpu_device_info){0};
    cuda_device device;
    int code = cu->cuDeviceGet(&device, (int)ordinal);
    if (code == GPU_OK)
        code = cu->cuDeviceGetName(info_out->name, sizeof info_out->name - 1, device);
    if (code != GPU_OK)
        return code;
    size_t memory_bytes = 0;
    if (cu->cuDeviceTotalMem_v2(&memory_bytes, device) == GPU_OK)
        info_out->memory_bytes = memory_bytes;
    info_out->multiprocessors = attribute(cu, device, CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info_out->warp_threads = attribute(cu, device, CUDA_ATTRIBUTE_WARP_SIZE);
    info_out->block_threads_max = attribute(cu, device, CUDA_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info_out->shared_bytes_max = attribute(cu, device, CUDA_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    snprintf(info_out->arch, sizeof info_out->arch, "sm_%u%u",
             attribute(cu, device, CUDA_ATTRIBUTE_CAPABILITY_MAJOR),
             attribute(cu, device, CUDA_ATTRIBUTE_CAPABILITY_MINOR));
    return GPU_OK;
}

/* ---- contexts ------------------------------------------------------------------ */

/* From here on this thread's calls leave captures alone. Returns what was. */
static cuda_capture_mode spare_captures(const struct cuda_functions *cu)
{
    cuda_capture_mode mode = CUDA_CAPTURE_RELAXED;
    (void)cu->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static void restore_captures(const struct cuda_functions *cu, cuda_capture_mode mode)
{
    (void)cu->cuThreadExchangeStreamCaptureMode(&mode);
}

static int attach(struct gpu_context *context, struct gpu_attached *saved_out)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    *saved_out = (struct gpu_attached){0};
    int code = cu->cuCtxPushCurrent_v2(context->native); /* the driver keeps a stack of them */
    if (code == GPU_OK)
        saved_out->capture_mode = spare_captures(cu);
    return code;
}

static void detach(struct gpu_context *context, const struct gpu_attached *saved)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    cuda_context popped;
    restore_captures(cu, saved->capture_mode);
    (void)cu->cuCtxPopCurrent_v2(&popped);
}

/* The context of a stream, if it is of the device of this ordinal. */
static int context_of_stream(const struct cuda_functions *cu, cuda_device device, void *stream,
                             cuda_context *native_out)
{
    cuda_device of_stream = -1;
    cuda_context popped;
    int code = cu->cuStreamGetCtx(stream, native_out);
    if (code == GPU_OK)
        code = cu->cuCtxPushCurrent_v2(*native_out);
    if (code != GPU_OK)
        return code;
    code = cu->cuCtxGetDevice(&of_stream);
    (void)cu->cuCtxPopCurrent_v2(&popped);
    return code == GPU_OK && of_stream != device ? GPU_INVALID : code;
}

static int context_open(struct gpu_driver *driver, unsigned ordinal, void *stream,
                        struct gpu_context **context_out)
{
    const struct cuda_functions *cu = cuda_of(driver);
    *context_out = NULL;
    struct cuda_context_box *box = calloc(1, sizeof *box);
    if (!box)
        return GPU_NO_MEMORY;
    box->base = (struct gpu_context){&gpu_cuda_backend, driver, ordinal, NULL};
    cuda_capture_mode mode = spare_captures(cu);
    int code = cu->cuDeviceGet(&box->device, (int)ordinal);
    if (code == GPU_OK && stream) {
        code = context_of_stream(cu, box->device, stream, &box->base.native);
    } else if (code == GPU_OK) {
        code = cu->cuDevicePrimaryCtxRetain(&box->base.native, box->device);
        box->retained = code == GPU_OK;
    }
    restore_captures(cu, mode);
    if (code != GPU_OK) {
        free(box);
        return code;
    }
    *context_out = &box->base;
    return GPU_OK;
}

static void context_close(struct gpu_context *context)
{
    struct cuda_context_box *box = (struct cuda_context_box *)context;
    if (box && box->retained) {
        const struct cuda_functions *cu = cuda_of(context->driver);
        cuda_capture_mode mode = spare_captures(cu);
        (void)cu->cuDevicePrimaryCtxRelease_v2(box->device);
        restore_captures(cu, mode);
    }
    free(box);
}

/* ---- streams and events -------------------------------------------------------------- */

static int stream_create(struct gpu_context *context, void **stream_out)
{
    return cuda_of(context->driver)->cuStreamCreate(stream_out, CUDA_STREAM_NON_BLOCKING);
}

static int stream_destroy(struct gpu_context *context, void *stream)
{
    return cuda_of(context->driver)->cuStreamDestroy_v2(stream);
}

static int stream_flush(struct gpu_context *context, void *stream)
{
    (void)context, (void)stream; /* the driver submits at once */
    return GPU_OK;
}

static int stream_wait(struct gpu_context *context, void *stream)
{
    return cuda_of(context->driver)->cuStreamSynchronize(stream);
}

/* The default stream answers with an error while a stream that waits for it is captured. */
static bool stream_capturing(struct gpu_context *context, void *stream)
{
    cuda_capture_status status = CUDA_CAPTURE_NONE;
    int code = cuda_of(context->driver)->cuStreamIsCapturing(stream, &status);
    return code == GPU_OK ? status != CUDA_CAPTURE_NONE : gpu_is_capturing(code);
}

static int event_create(struct gpu_context *context, struct gpu_event *event_out)
{
    return cuda_of(context->driver)->cuEventCreate(&event_out->native, CUDA_EVENT_DISABLE_TIMING);
}

static void event_destroy(struct gpu_context *context, struct gpu_event *event)
{
    if (event->native)
        (void)cuda_of(context->driver)->cuEventDestroy_v2(event->native);
    event->native = NULL;
}

static int event_record(struct gpu_context *context, struct gpu_event *event, void *stream)
{
    return cuda_of(context->driver)->cuEventRecord(event->native, stream);
}

static int event_query(struct gpu_context *context, const struct gpu_event *event)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    cuda_capture_mode mode = spare_captures(cu);
    int code = cu->cuEventQuery(event->native);
    restore_captures(cu, mode);
    return gpu_is_capturing(code) ? GPU_NOT_READY : code;
}

/* ---- memory ---------------------------------------------------------------------------- */

static int memory_alloc(struct gpu_context *context, uint64_t bytes, struct gpu_memory *memory_out)
{
    cuda_pointer address = 0;
    int code = cuda_of(context->driver)->cuMemAlloc_v2(&address, bytes);
    *memory_out = (struct gpu_memory){(void *)(uintptr_t)address, code == GPU_OK ? bytes : 0};
    return code;
}

static void memory_free(struct gpu_context *context, struct gpu_memory *memory)
{
    if (memory->native)
        (void)cuda_of(context->driver)->cuMemFree_v2((uintptr_t)memory->native);
    *memory = (struct gpu_memory){0};
}

static int host_alloc(struct gpu_context *context, uint64_t bytes, void **host_out)
{
    *host_out = NULL;
    return cuda_of(context->driver)->cuMemAllocHost_v2(host_out, bytes);
}

static void host_free(struct gpu_context *context, void *host)
{
    if (host)
        (void)cuda_of(context->driver)->cuMemFreeHost(host);
}

static cuda_context context_of(const struct gpu_copy_side *side, const struct gpu_context *own)
{
    return side->context ? side->context->native : own->native;
}

static bool is_between_contexts(const struct gpu_copy *part)
{
    return part->src.context || part->dst.context;
}

static int copy_flat(const struct gpu_context *context, const struct gpu_copy *part, void *stream)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    char *dst = gpu_copy_address(&part->dst), *src = gpu_copy_address(&part->src);
    if (is_between_contexts(part))
        return cu->cuMemcpyPeerAsync((uintptr_t)dst, context_of(&part->dst, context),
                                     (uintptr_t)src, context_of(&part->src, context),
                                     part->width_bytes, stream);
    if (!part->src.device)
        return cu->cuMemcpyHtoDAsync_v2((uintptr_t)dst, src, part->width_bytes, stream);
    if (!part->dst.device)
        return cu->cuMemcpyDtoHAsync_v2(dst, (uintptr_t)src, part->width_bytes, stream);
    return cu->cuMemcpyDtoDAsync_v2((uintptr_t)dst, (uintptr_t)src, part->width_bytes, stream);
}

static int copy_part(struct gpu_context *context, const struct gpu_copy *part, bool is_flat,
                     void *stream)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    if (is_flat)
        return copy_flat(context, part, stream);
    const struct gpu_copy_side *dst = &part->dst, *src = &part->src;
    struct cuda_copy_3d copy = {
        .src_type = src->device ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST,
        .src_host = gpu_copy_address(src),
        .src_device = (uintptr_t)gpu_copy_address(src),
        .src_pitch = src->row_bytes,
        .src_height = src->slice_bytes / src->row_bytes,
        .dst_type = dst->device ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST,
        .dst_host = gpu_copy_address(dst),
        .dst_device = (uintptr_t)gpu_copy_address(dst),
        .dst_pitch = dst->row_bytes,
        .dst_height = dst->slice_bytes / dst->row_bytes,
        .width = part->width_bytes,
        .height = part->height,
        .depth = part->depth,
    };
    if (!is_between_contexts(part))
        return cu->cuMemcpy3DAsync_v2(&copy, stream);
    copy.src_context = context_of(src, context);
    copy.dst_context = context_of(dst, context);
    return cu->cuMemcpy3DPeerAsync(&copy, stream);
}

/* ---- other devices, other processes --------------------------------------------------- */

_Static_assert(sizeof(cuda_share) == GPU_SHARE_BYTES, "all of it");

static int peer_enable(struct gpu_context *context, struct gpu_context *peer, bool *direct_out)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    const struct cuda_context_box *own = (const struct cuda_context_box *)context;
    const struct cuda_context_box *other = (const struct cuda_context_box *)peer;
    int can = 0;
    *direct_out = own->device == other->device;
    if (*direct_out)
        return GPU_OK;
    int code = cu->cuDeviceCanAccessPeer(&can, own->device, other->device);
    if (code != GPU_OK || !can)
        return code;
    code = cu->cuCtxEnablePeerAccess(peer->native, 0);
    *direct_out = code == GPU_OK || code == CUDA_ERROR_CODE_PEER_ENABLED;
    return *direct_out ? GPU_OK : code;
}

static int memory_share(struct gpu_context *context, const struct gpu_memory *memory,
                        uint8_t words[GPU_SHARE_BYTES])
{
    cuda_share share;
    int code = cuda_of(context->driver)->cuIpcGetMemHandle(&share, (uintptr_t)memory->native);
    if (code == GPU_OK)
        memcpy(words, &share, sizeof share);
    return code;
}

static int memory_map(struct gpu_context *context, const uint8_t words[GPU_SHARE_BYTES],
                      uint64_t bytes, struct gpu_memory *memory_out)
{
    cuda_share share;
    cuda_pointer address = 0;
    memcpy(&share, words, sizeof share);
    int code =
        cuda_of(context->driver)->cuIpcOpenMemHandle_v2(&address, share, CUDA_SHARE_LAZY_PEER);
    *memory_out = (struct gpu_memory){(void *)(uintptr_t)address, code == GPU_OK ? bytes : 0};
    return code;
}

static void memory_unmap(struct gpu_context *context, struct gpu_memory *memory)
{
    (void)cuda_of(context->driver)->cuIpcCloseMemHandle((uintptr_t)memory->native);
    *memory = (struct gpu_memory){0};
}

static uint64_t timer_hz(struct gpu_context *context)
{
    (void)context; /* %globaltimer counts nanoseconds */
    return 1000000000;
}

const struct gpu_backend gpu_cuda_backend = {
    .name = "cuda",
    .api = GPU_CUDA,
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
