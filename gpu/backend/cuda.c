/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - the CUDA Driver API as a backend: devices, contexts, memory.
 *
 * Streams, events, code and launches are code_loader's. The primary context is shared with the
 * CUDA runtime and everybody else in the process; a stream of another context is
 * used in that one, since an event must be of its stream's context.
 */
#include "code_loader.h"
#include "cuda_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_driver {
    struct code_driver code; /* first, as struct gpu_driver is its first */
    struct cuda_functions {
#define CUDA_MEMBER(symbol, parameters, in_backend, in_inject)                                     \
    DRIVER_IF_##in_backend(driver_result(*symbol) parameters;)
        CUDA_CALLS(CUDA_MEMBER)
    } functions;
};

struct cuda_context_box {
    struct gpu_context base;
    driver_device device;
    bool retained; /* the primary context, which we hold */
};

static const char *const cuda_library_names[] = {"libcuda.so.1", NULL};

static const struct gpu_symbol cuda_symbols[] = {
#define CUDA_SHARED_SYMBOL(member, parameters, cuda, hip, in_hip, in_inject)                       \
    {#cuda, offsetof(struct cuda_driver, code.calls.member), false},
#define CUDA_SYMBOL(symbol, parameters, in_backend, in_inject)                                     \
    DRIVER_IF_##in_backend({#symbol, offsetof(struct cuda_driver, functions.symbol), false}, )
    DRIVER_CALLS(CUDA_SHARED_SYMBOL) CUDA_CALLS(CUDA_SYMBOL){NULL, 0, false}};

static const struct cuda_functions *cuda_of(const struct gpu_driver *driver)
{
    return &((const struct cuda_driver *)driver)->functions;
}

/* ---- driver and devices ---------------------------------------------------- */

static enum rbwp_status cuda_describe(const struct gpu_driver *driver, int code, const char *what,
                                      struct rbwp_error *error)
{
    const char *name = NULL;
    if (cuda_of(driver)->cuGetErrorName(code, &name) != GPU_OK)
        name = NULL;
    return gpu_describe(driver, code, name, what, error);
}

static enum rbwp_status cuda_open(const struct gpu_libraries *libraries,
                                  struct gpu_driver **driver_out, struct rbwp_error *error)
{
    static const struct code_driver_kind kind = {
        .backend = &gpu_cuda_backend,
        .so_names = cuda_library_names,
        .symbols = cuda_symbols,
        .driver_bytes = sizeof(struct cuda_driver),
        .init_name = "cuInit",
        .count_name = "cuDeviceGetCount",
        .multiprocessors = CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        .warp_threads = CUDA_ATTRIBUTE_WARP_SIZE,
        .block_threads_max = CUDA_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        .shared_bytes_max = CUDA_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        .compiler_kind = RTC_NVRTC,
        .takes_ptx = true,
        .names_arch = true,
    };
    return code_driver_open(&kind, libraries, driver_out, error);
}

static int cuda_device_info(struct gpu_driver *driver, unsigned ordinal,
                            struct gpu_device_info *info_out)
{
    *info_out = (struct gpu_device_info){0};
    driver_device device;
    int code = cuda_of(driver)->cuDeviceGet(&device, (int)ordinal);
    if (code == GPU_OK)
        code = code_device_info(driver, device, info_out);
    if (code == GPU_OK)
        snprintf(info_out->arch, sizeof info_out->arch, "sm_%u%u",
                 code_attribute(driver, device, CUDA_ATTRIBUTE_CAPABILITY_MAJOR),
                 code_attribute(driver, device, CUDA_ATTRIBUTE_CAPABILITY_MINOR));
    return code;
}

/* ---- contexts ------------------------------------------------------------------ */

static int cuda_attach(struct gpu_context *context, struct gpu_attached *saved_out)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    *saved_out = (struct gpu_attached){0};
    int code = cu->cuCtxPushCurrent_v2(context->native); /* the driver keeps a stack of them */
    if (code == GPU_OK)
        saved_out->capture_mode = code_spare_captures(context->driver);
    return code;
}

static void cuda_detach(struct gpu_context *context, const struct gpu_attached *saved)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    cuda_context popped;
    code_restore_captures(context->driver, saved->capture_mode);
    (void)cu->cuCtxPopCurrent_v2(&popped);
}

/* The context of a stream, if it is of the device of this ordinal. */
static int context_of_stream(const struct cuda_functions *cu, driver_device device, void *stream,
                             cuda_context *native_out)
{
    driver_device of_stream = -1;
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

static int cuda_context_open(struct gpu_driver *driver, unsigned ordinal, void *stream,
                             struct gpu_context **context_out)
{
    const struct cuda_functions *cu = cuda_of(driver);
    *context_out = NULL;
    struct cuda_context_box *box = calloc(1, sizeof *box);
    if (!box)
        return GPU_NO_MEMORY;
    box->base = (struct gpu_context){&gpu_cuda_backend, driver, ordinal, NULL};
    driver_capture_mode mode = code_spare_captures(driver);
    int code = cu->cuDeviceGet(&box->device, (int)ordinal);
    if (code == GPU_OK && stream) {
        code = context_of_stream(cu, box->device, stream, &box->base.native);
    } else if (code == GPU_OK) {
        code = cu->cuDevicePrimaryCtxRetain(&box->base.native, box->device);
        box->retained = code == GPU_OK;
    }
    code_restore_captures(driver, mode);
    if (code != GPU_OK) {
        free(box);
        return code;
    }
    *context_out = &box->base;
    return GPU_OK;
}

static void cuda_context_close(struct gpu_context *context)
{
    struct cuda_context_box *box = (struct cuda_context_box *)context;
    if (box && box->retained) {
        driver_capture_mode mode = code_spare_captures(context->driver);
        (void)cuda_of(context->driver)->cuDevicePrimaryCtxRelease_v2(box->device);
        code_restore_captures(context->driver, mode);
    }
    free(box);
}

/* ---- memory ---------------------------------------------------------------------------- */

static int cuda_memory_alloc(struct gpu_context *context, uint64_t bytes,
                             struct gpu_memory *memory_out)
{
    cuda_pointer address = 0;
    int code = cuda_of(context->driver)->cuMemAlloc_v2(&address, bytes);
    *memory_out = (struct gpu_memory){(void *)(uintptr_t)address, code == GPU_OK ? bytes : 0};
    return code;
}

static void cuda_memory_free(struct gpu_context *context, struct gpu_memory *memory)
{
    if (memory->native)
        (void)cuda_of(context->driver)->cuMemFree_v2((uintptr_t)memory->native);
    *memory = (struct gpu_memory){0};
}

static int cuda_host_alloc(struct gpu_context *context, uint64_t bytes, void **host_out)
{
    *host_out = NULL;
    return cuda_of(context->driver)->cuMemAllocHost_v2(host_out, bytes);
}

static cuda_context context_of(const struct gpu_copy_side *side, const struct gpu_context *own)
{
    return side->context ? side->context->native : own->native;
}

static bool is_between_contexts(const struct gpu_copy *part)
{
    return part->src.context || part->dst.context;
}

static int cuda_copy_flat(const struct gpu_context *context, const struct gpu_copy *part,
                          void *stream)
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

static int cuda_copy_part(struct gpu_context *context, const struct gpu_copy *part, bool is_flat,
                          void *stream)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    if (is_flat)
        return cuda_copy_flat(context, part, stream);
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

static int cuda_peer_enable(struct gpu_context *context, struct gpu_context *peer, bool *direct_out)
{
    const struct cuda_functions *cu = cuda_of(context->driver);
    const struct cuda_context_box *own = (const struct cuda_context_box *)context;
    const struct cuda_context_box *other = (const struct cuda_context_box *)peer;
    int can = 0;
    *direct_out = own->device == other->device;
    if (*direct_out)
        return GPU_OK;
    int code = code_calls(context->driver)->device_can_reach(&can, own->device, other->device);
    if (code != GPU_OK || !can)
        return code;
    code = cu->cuCtxEnablePeerAccess(peer->native, 0);
    *direct_out = code == GPU_OK || code == DRIVER_PEER_ENABLED;
    return *direct_out ? GPU_OK : code;
}

static int cuda_memory_share(struct gpu_context *context, const struct gpu_memory *memory,
                             uint8_t words[GPU_SHARE_BYTES])
{
    driver_share share;
    int code = cuda_of(context->driver)->cuIpcGetMemHandle(&share, (uintptr_t)memory->native);
    if (code == GPU_OK)
        memcpy(words, &share, sizeof share);
    return code;
}

static int cuda_memory_map(struct gpu_context *context, const uint8_t words[GPU_SHARE_BYTES],
                           uint64_t bytes, struct gpu_memory *memory_out)
{
    driver_share share;
    cuda_pointer address = 0;
    memcpy(&share, words, sizeof share);
    int code =
        cuda_of(context->driver)->cuIpcOpenMemHandle_v2(&address, share, DRIVER_SHARE_LAZY_PEER);
    *memory_out = (struct gpu_memory){(void *)(uintptr_t)address, code == GPU_OK ? bytes : 0};
    return code;
}

static void cuda_memory_unmap(struct gpu_context *context, struct gpu_memory *memory)
{
    (void)cuda_of(context->driver)->cuIpcCloseMemHandle((uintptr_t)memory->native);
    *memory = (struct gpu_memory){0};
}

static uint64_t cuda_timer_hz(struct gpu_context *context)
{
    (void)context; /* %globaltimer counts nanoseconds */
    return 1000000000;
}

const struct gpu_backend gpu_cuda_backend = GPU_BACKEND(cuda, code, GPU_CUDA, gpu_status_of);
