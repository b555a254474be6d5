/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip.c - the HIP runtime as a backend: devices, memory.
 *
 * Streams, events, code and launches are code_loader's. HIP has no contexts to speak of: a thread
 * has a current device, which attach sets and detach puts back.
 */
#include "code_loader.h"
#include "hip_abi.h"

#include <stdlib.h>
#include <string.h>

struct hip_driver {
    struct code_driver code; /* first, as struct gpu_driver is its first */
    struct hip_functions functions;
};

static const char *const hip_library_names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                                "libamdhip64.so.5", "libamdhip64.so", NULL};

static const struct gpu_symbol hip_symbols[] = {
#define HIP_SHARED_SYMBOL(member, parameters, cuda, hip, in_hip, in_inject)                        \
    {#hip, offsetof(struct hip_driver, code.calls.member), DRIVER_MAY_LACK_##in_hip},
#define HIP_SYMBOL(result, symbol, parameters, use)                                                \
    {#symbol, offsetof(struct hip_driver, functions.symbol), DRIVER_MAY_LACK_##use},
    DRIVER_CALLS(HIP_SHARED_SYMBOL) HIP_CALLS(HIP_SYMBOL){NULL, 0, false}};

static const struct hip_functions *hip_of(const struct gpu_driver *driver)
{
    return &((const struct hip_driver *)driver)->functions;
}

/* ---- driver and devices ---------------------------------------------------- */

static enum rbwp_status hip_describe(const struct gpu_driver *driver, int code, const char *what,
                                     struct rbwp_error *error)
{
    return gpu_describe(driver, code, hip_of(driver)->hipGetErrorName(code), what, error);
}

static enum rbwp_status hip_open(const struct gpu_libraries *libraries,
                                 struct gpu_driver **driver_out, struct rbwp_error *error)
{
    static const struct code_driver_kind kind = {
        .backend = &gpu_hip_backend,
        .so_names = hip_library_names,
        .symbols = hip_symbols,
        .driver_bytes = sizeof(struct hip_driver),
        .init_name = "hipInit",
        .count_name = "hipGetDeviceCount",
        .multiprocessors = HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        .warp_threads = HIP_ATTRIBUTE_WARP_SIZE,
        .block_threads_max = HIP_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        .shared_bytes_max = HIP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        .compiler_kind = RTC_HIPRTC,
        .may_have_compiler = true,
    };
    return code_driver_open(&kind, libraries, driver_out, error);
}

static int hip_device_info(struct gpu_driver *driver, unsigned ordinal,
                           struct gpu_device_info *info_out)
{
    *info_out = (struct gpu_device_info){0};
    return ordinal < driver->devices ? code_device_info(driver, (int)ordinal, info_out)
                                     : GPU_INVALID;
}

/* ---- contexts ------------------------------------------------------------------ */

static int hip_attach(struct gpu_context *context, struct gpu_attached *saved_out)
{
    const struct hip_functions *hip = hip_of(context->driver);
    *saved_out = (struct gpu_attached){.device = -1};
    int code = hip->hipGetDevice(&saved_out->device);
    if (code == GPU_OK)
        code = hip->hipSetDevice((int)context->ordinal);
    if (code == GPU_OK)
        saved_out->capture_mode = code_spare_captures(context->driver);
    return code;
}

static void hip_detach(struct gpu_context *context, const struct gpu_attached *saved)
{
    code_restore_captures(context->driver, saved->capture_mode);
    if (saved->device >= 0 && saved->device != (int)context->ordinal)
        (void)hip_of(context->driver)->hipSetDevice(saved->device);
}

static int hip_context_open(struct gpu_driver *driver, unsigned ordinal, void *stream,
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

static void hip_context_close(struct gpu_context *context)
{
    free(context);
}

/* ---- memory ---------------------------------------------------------------------------- */

static int hip_memory_alloc(struct gpu_context *context, uint64_t bytes,
                            struct gpu_memory *memory_out)
{
    void *address = NULL;
    int code = hip_of(context->driver)->hipMalloc(&address, bytes);
    *memory_out = (struct gpu_memory){address, code == GPU_OK ? bytes : 0};
    return code;
}

static void hip_memory_free(struct gpu_context *context, struct gpu_memory *memory)
{
    if (memory->native)
        (void)hip_of(context->driver)->hipFree(memory->native);
    *memory = (struct gpu_memory){0};
}

static int hip_host_alloc(struct gpu_context *context, uint64_t bytes, void **host_out)
{
    *host_out = NULL;
    return hip_of(context->driver)->hipHostMalloc(host_out, bytes, HIP_HOST_DEFAULT);
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
static int hip_copy_part(struct gpu_context *context, const struct gpu_copy *part, bool is_flat,
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

static int hip_peer_enable(struct gpu_context *context, struct gpu_context *peer, bool *direct_out)
{
    const int own = (int)context->ordinal, other = (int)peer->ordinal;
    int can = 0;
    *direct_out = own == other;
    if (*direct_out)
        return GPU_OK;
    int code = code_calls(context->driver)->device_can_reach(&can, own, other);
    if (code != GPU_OK || !can)
        return code;
    code = hip_of(context->driver)->hipDeviceEnablePeerAccess(other, 0);
    *direct_out = code == GPU_OK || code == DRIVER_PEER_ENABLED;
    return *direct_out ? GPU_OK : code;
}

static int hip_memory_share(struct gpu_context *context, const struct gpu_memory *memory,
                            uint8_t words[GPU_SHARE_BYTES])
{
    driver_share share;
    int code = hip_of(context->driver)->hipIpcGetMemHandle(&share, memory->native);
    if (code == GPU_OK)
        memcpy(words, &share, sizeof share);
    return code;
}

static int hip_memory_map(struct gpu_context *context, const uint8_t words[GPU_SHARE_BYTES],
                          uint64_t bytes, struct gpu_memory *memory_out)
{
    driver_share share;
    void *address = NULL;
    memcpy(&share, words, sizeof share);
    int code =
        hip_of(context->driver)->hipIpcOpenMemHandle(&address, share, DRIVER_SHARE_LAZY_PEER);
    *memory_out = (struct gpu_memory){address, code == GPU_OK ? bytes : 0};
    return code;
}

static void hip_memory_unmap(struct gpu_context *context, struct gpu_memory *memory)
{
    (void)hip_of(context->driver)->hipIpcCloseMemHandle(memory->native);
    *memory = (struct gpu_memory){0};
}

static uint64_t hip_timer_hz(struct gpu_context *context)
{
    return UINT64_C(1000) *
           code_attribute(context->driver, (int)context->ordinal, HIP_ATTRIBUTE_WALL_CLOCK_RATE);
}

const struct gpu_backend gpu_hip_backend = GPU_BACKEND(hip, code, GPU_HIP, gpu_status_of);
