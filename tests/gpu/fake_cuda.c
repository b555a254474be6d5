/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver as CUDA. A context is its device's number plus one. With
 * FAKE_OLD a function that the backend needs is missing.
 */
#include "cuda_each.h"
#include "fake.h"
#include "fake_execute.h"
#include "fake_inject.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INVALID 1
#define GONE 4
#define DEPTH 8

static _Thread_local cuda_context stack[DEPTH];
static _Thread_local int depth;

#define CUDA_EACH(symbol, parameters) FAKE_API driver_result symbol parameters;
CUDA_EACH_OF_ALL

#define FAKE_CUDA_UNSAFE(operation)                                                                \
    do {                                                                                           \
        int code_ = fake_unsafe_call(operation);                                                   \
        if (code_)                                                                                 \
            return code_;                                                                          \
    } while (0)
#define FAKE_CUDA_CALL(operation)                                                                  \
    do {                                                                                           \
        int code_ = fake_call(operation);                                                          \
        if (code_)                                                                                 \
            return code_;                                                                          \
    } while (0)

driver_result cuInit(unsigned flags)
{
    (void)flags;
    return fake_call("init");
}
driver_result cuDriverGetVersion(int *version)
{
    *version = 13000;
    return fake_call("driver_version");
}
driver_result cuGetErrorName(driver_result code, const char **name)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "FAKE_ERROR_%d", code);
    *name = text;
    return 0;
}
driver_result cuDeviceGetCount(int *count)
{
    *count = fake_device_count();
    return 0;
}
driver_result cuDeviceGet(driver_device *device, int ordinal)
{
    *device = ordinal;
    return ordinal < fake_device_count() ? 0 : INVALID;
}
driver_result cuDeviceGetName(char *name, int bytes, driver_device device)
{
    snprintf(name, (size_t)bytes, "fake %d", device);
    return fake_call("device_info");
}
driver_result cuDeviceTotalMem_v2(size_t *bytes, driver_device device)
{
    (void)device;
    *bytes = 1 << 20;
    return 0;
}
driver_result cuDeviceGetAttribute(int *value, driver_attribute attribute, driver_device device)
{
    (void)device;
    *value = attribute;
    return fake_call("attribute");
}
driver_result cuDevicePrimaryCtxRetain(cuda_context *context, driver_device device)
{
    FAKE_CUDA_CALL("context_open");
    *context = (void *)(intptr_t)(device + 1);
    return 0;
}
driver_result cuDevicePrimaryCtxRelease_v2(driver_device device)
{
    (void)device;
    return fake_call("context_close");
}
/* As the driver, from its start on, is taken apart when the process exits. */
static atomic_bool fake_cuda_gone;
static void fake_cuda_take_apart(void)
{
    atomic_store(&fake_cuda_gone, true);
}
driver_result cuCtxPushCurrent_v2(cuda_context context)
{
    static atomic_flag used = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&used))
        (void)atexit(fake_cuda_take_apart);
    if (atomic_load(&fake_cuda_gone))
        return GONE;
    FAKE_CUDA_CALL("attach");
    if (depth == DEPTH)
        abort();
    stack[depth++] = context;
    return 0;
}
driver_result cuCtxPopCurrent_v2(cuda_context *context)
{
    if (depth == 0)
        return 201;
    *context = stack[--depth];
    return 0;
}
driver_result cuCtxGetDevice(driver_device *device)
{
    *device = depth ? (int)(intptr_t)stack[depth - 1] - 1 : -1;
    return depth ? 0 : 201;
}
#ifndef FAKE_OLD
driver_result cuStreamGetCtx(driver_stream stream, cuda_context *context)
{
    *context = (void *)(intptr_t)(fake_device_of(stream) + 1);
    return 0;
}
#endif
driver_result cuStreamCreate(driver_stream *stream, unsigned flags)
{
    (void)flags;
    FAKE_CUDA_UNSAFE("stream_create");
    sched_yield(); /* who would make another one meanwhile does */
    *stream = fake_stream_new(depth ? (int)(intptr_t)stack[depth - 1] - 1 : 0);
    return 0;
}
driver_result cuStreamDestroy_v2(driver_stream stream)
{
    fake_cupti_resource(CUPTI_STREAM_GOES, fake_context(), stream);
    fake_stream_free(stream);
    return 0;
}
driver_result cuStreamSynchronize(driver_stream stream)
{
    FAKE_CUDA_UNSAFE("stream_wait");
    fake_cupti_call(CUPTI_ENTER, CUPTI_CALL_cuStreamSynchronize, NULL, NULL, NULL);
    fake_complete(stream, UINT32_MAX);
    fake_cupti_call(CUPTI_EXIT, CUPTI_CALL_cuStreamSynchronize, NULL, NULL, NULL);
    return 0;
}
driver_result cuStreamIsCapturing(driver_stream stream, driver_capture_status *status)
{
    return fake_is_capturing(stream, status);
}
driver_result cuThreadExchangeStreamCaptureMode(driver_capture_mode *mode)
{
    fake_exchange_mode(mode);
    return 0;
}
driver_result cuEventCreate(driver_event *event, unsigned flags)
{
    if (depth == 0)
        return 201;
    FAKE_CUDA_CALL("event_create");
    *event = fake_event_new(flags != DRIVER_EVENT_DISABLE_TIMING);
    return 0;
}
driver_result cuEventDestroy_v2(driver_event event)
{
    fake_event_free(event);
    return 0;
}
driver_result cuEventRecord(driver_event event, driver_stream stream)
{
    FAKE_CUDA_CALL("event_record");
    return fake_event_mark(event, stream);
}
driver_result cuEventQuery(driver_event event)
{
    FAKE_CUDA_CALL("event_query");
    return fake_event_query(event);
}
driver_result cuMemAlloc_v2(cuda_pointer *address, size_t bytes)
{
    FAKE_CUDA_UNSAFE("memory_alloc");
    *address = (uintptr_t)fake_memory_alloc(bytes);
    return *address ? 0 : 2;
}
driver_result cuMemFree_v2(cuda_pointer address)
{
    FAKE_CUDA_UNSAFE("memory_free");
    fake_memory_free((void *)(uintptr_t)address);
    return 0;
}
driver_result cuMemAllocHost_v2(void **host, size_t bytes)
{
    FAKE_CUDA_UNSAFE("host_alloc");
    *host = malloc(bytes);
    return 0;
}
driver_result cuMemFreeHost(void *host)
{
    free(host);
    return 0;
}
static driver_result fake_cuda_move(void *to, const void *from, size_t bytes, driver_stream stream)
{
    FAKE_CUDA_CALL("copy");
    fake_work_call(CUPTI_CALL_cuMemcpyHtoDAsync_v2, CUPTI_COPY, bytes, stream);
    memcpy(to, from, bytes);
    fake_enqueue(stream);
    return 0;
}
driver_result cuMemcpyHtoDAsync_v2(cuda_pointer to, const void *from, size_t bytes,
                                   driver_stream stream)
{
    return fake_cuda_move((void *)(uintptr_t)to, from, bytes, stream);
}
driver_result cuMemcpyDtoHAsync_v2(void *to, cuda_pointer from, size_t bytes, driver_stream stream)
{
    return fake_cuda_move(to, (void *)(uintptr_t)from, bytes, stream);
}
driver_result cuMemcpyDtoDAsync_v2(cuda_pointer to, cuda_pointer from, size_t bytes,
                                   driver_stream stream)
{
    return fake_cuda_move((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes, stream);
}
static driver_result move_box(const cuda_copy *copy, driver_stream stream)
{
    char *to =
        copy->dst_type == CUDA_MEMORY_HOST ? copy->dst_host : (char *)(uintptr_t)copy->dst_device;
    const char *from =
        copy->src_type == CUDA_MEMORY_HOST ? copy->src_host : (char *)(uintptr_t)copy->src_device;
    if (copy->dst_pitch < copy->width || copy->src_pitch < copy->width)
        return INVALID;
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memcpy(to + (z * copy->dst_height + y) * copy->dst_pitch,
                   from + (z * copy->src_height + y) * copy->src_pitch, copy->width);
    fake_enqueue(stream);
    return 0;
}
driver_result cuMemcpy3DAsync_v2(const cuda_copy *copy, driver_stream stream)
{
    FAKE_CUDA_CALL("copy");
    return copy->src_context || copy->dst_context ? INVALID : move_box(copy, stream);
}

/* ---- other devices, other processes ---- */

static bool is_context(cuda_context context)
{
    const intptr_t number = (intptr_t)context;
    return number >= 1 && number <= fake_device_count();
}
driver_result cuDeviceCanAccessPeer(int *can, driver_device device, driver_device peer)
{
    FAKE_CUDA_CALL("peer_ask");
    *can = device != peer && fake_peers();
    return device < fake_device_count() && peer < fake_device_count() ? 0 : INVALID;
}
driver_result cuCtxEnablePeerAccess(cuda_context peer, unsigned flags)
{
    static _Atomic bool enabled[DEPTH + 1][DEPTH + 1];
    const intptr_t own = (intptr_t)fake_context();
    FAKE_CUDA_CALL("peer_enable");
    if (flags || !is_context(peer) || !is_context(fake_context()) || own > DEPTH ||
        (intptr_t)peer > DEPTH || own == (intptr_t)peer)
        return INVALID;
    const bool was = enabled[own][(intptr_t)peer];
    enabled[own][(intptr_t)peer] = true;
    return was ? DRIVER_PEER_ENABLED : 0;
}
/* Between two contexts, of which both have to be told. */
static driver_result between(cuda_context to, cuda_context from)
{
    FAKE_CUDA_CALL("copy");
    FAKE_CUDA_CALL("peer_copy");
    return is_context(to) && is_context(from) && to != from ? 0 : INVALID;
}
driver_result cuMemcpyPeerAsync(cuda_pointer to, cuda_context to_context, cuda_pointer from,
                                cuda_context from_context, size_t bytes, driver_stream stream)
{
    const int code = between(to_context, from_context);
    if (code)
        return code;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    fake_enqueue(stream);
    return 0;
}
driver_result cuMemcpy3DPeerAsync(const cuda_copy_peer *copy, driver_stream stream)
{
    const int code = between(copy->dst_context, copy->src_context);
    return code ? code : move_box(copy, stream);
}
driver_result cuIpcGetMemHandle(driver_share *share, cuda_pointer address)
{
    FAKE_CUDA_UNSAFE("memory_share");
    return fake_memory_share((void *)(uintptr_t)address, share->reserved) ? 0 : INVALID;
}
driver_result cuIpcOpenMemHandle_v2(cuda_pointer *address, driver_share share, unsigned flags)
{
    FAKE_CUDA_UNSAFE("memory_map");
    *address = (uintptr_t)fake_memory_map(share.reserved);
    return *address && flags == DRIVER_SHARE_LAZY_PEER ? 0 : INVALID;
}
driver_result cuIpcCloseMemHandle(cuda_pointer address)
{
    FAKE_CUDA_UNSAFE("memory_unmap");
    fake_memory_unmap((void *)(uintptr_t)address);
    return 0;
}
driver_result cuModuleLoadData(driver_module *module, const void *image)
{
    FAKE_CUDA_UNSAFE("module_load");
    *module = strdup(image);
    fake_module_loaded(*module);
    return 0;
}
driver_result cuModuleUnload(driver_module module)
{
    fake_cupti_call(CUPTI_ENTER, CUPTI_CALL_cuModuleUnload, &module, NULL, NULL);
    fake_module_gone(module);
    free(module);
    return 0;
}
driver_result cuModuleGetFunction(driver_function *function, driver_module module, const char *name)
{
    const struct cuda_get_params params = {function, module};
    *function = fake_function(module, name);
    int code = *function ? 0 : 500;
    fake_cupti_call(CUPTI_EXIT, CUPTI_CALL_cuModuleGetFunction, &params, NULL, &code);
    return code;
}
driver_result cuLaunchKernel(driver_function function, unsigned grid_x, unsigned grid_y,
                             unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, driver_stream stream, void **arguments,
                             void **extra)
{
    (void)extra;
    struct cuda_launch_params params = {function, grid_x,  grid_y,       grid_z, block_x,
                                        block_y,  block_z, shared_bytes, stream, arguments};
    return fake_traced_launch(CUPTI_CALL_cuLaunchKernel, &params, &params);
}
void *fake_context(void)
{
    return depth ? stack[depth - 1] : NULL;
}
