/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver as HIP.
 */
#include "fake.h"
#include "fake_execute.h"
#include "hip_abi.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_DECLARE(member, parameters, cuda, hip, in_hip, in_inject)                           \
    FAKE_API driver_result hip parameters;
#define HIP_DECLARE(result, symbol, parameters, use) FAKE_API result symbol parameters;
DRIVER_CALLS(SHARED_DECLARE)
HIP_CALLS(HIP_DECLARE)

static _Thread_local int current;

#define FAKE_HIP_UNSAFE(operation)                                                                 \
    do {                                                                                           \
        int code_ = fake_unsafe_call(operation);                                                   \
        if (code_)                                                                                 \
            return code_;                                                                          \
    } while (0)
#define FAKE_HIP_CALL(operation)                                                                   \
    do {                                                                                           \
        int code_ = fake_call(operation);                                                          \
        if (code_)                                                                                 \
            return code_;                                                                          \
    } while (0)

driver_result hipInit(unsigned flags)
{
    (void)flags;
    return fake_call("init");
}
driver_result hipDriverGetVersion(int *version)
{
    *version = 50200;
    return 0;
}
hip_text hipGetErrorName(driver_result code)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "FAKE_ERROR_%d", code);
    return text;
}
driver_result hipGetDeviceCount(int *count)
{
    *count = fake_device_count();
    return *count ? 0 : 100;
}
driver_result hipDeviceGetName(char *name, int bytes, driver_device device)
{
    snprintf(name, (size_t)bytes, "fake %d", device);
    return fake_call("device_info");
}
driver_result hipDeviceTotalMem(size_t *bytes, driver_device device)
{
    (void)device;
    *bytes = 1 << 20;
    return 0;
}
driver_result hipDeviceGetAttribute(int *value, driver_attribute attribute, int device)
{
    (void)device;
    *value = attribute == HIP_ATTRIBUTE_WALL_CLOCK_RATE ? 1000000 : attribute; /* as fake_timer */
    return fake_call("attribute");
}
driver_result hipGetDevice(int *device)
{
    *device = current;
    return 0;
}
driver_result hipSetDevice(int device)
{
    FAKE_HIP_CALL("attach");
    current = device;
    return 0;
}
driver_result hipStreamCreateWithFlags(driver_stream *stream, unsigned flags)
{
    (void)flags;
    FAKE_HIP_UNSAFE("stream_create");
    *stream = fake_stream_new(current);
    return 0;
}
driver_result hipStreamDestroy(driver_stream stream)
{
    fake_stream_free(stream);
    return 0;
}
driver_result hipStreamSynchronize(driver_stream stream)
{
    FAKE_HIP_UNSAFE("stream_wait");
    fake_complete(stream, UINT32_MAX);
    return 0;
}
#ifndef FAKE_PLAIN
int hipGetStreamDeviceId(driver_stream stream)
{
    return fake_device_of(stream);
}
#endif
#ifndef FAKE_PLAIN
driver_result hipStreamIsCapturing(driver_stream stream, driver_capture_status *status)
{
    return fake_is_capturing(stream, status);
}
driver_result hipThreadExchangeStreamCaptureMode(driver_capture_mode *mode)
{
    fake_exchange_mode(mode);
    return 0;
}
#endif
driver_result hipEventCreateWithFlags(driver_event *event, unsigned flags)
{
    if (flags != DRIVER_EVENT_DISABLE_TIMING)
        return 1;
    FAKE_HIP_CALL("event_create");
    *event = fake_event_new(false);
    return 0;
}
driver_result hipEventDestroy(driver_event event)
{
    fake_event_free(event);
    return 0;
}
driver_result hipEventRecord(driver_event event, driver_stream stream)
{
    FAKE_HIP_CALL("event_record");
    return fake_event_mark(event, stream);
}
#ifndef FAKE_OLD
driver_result hipEventQuery(driver_event event)
{
    FAKE_HIP_CALL("event_query");
    return fake_event_query(event);
}
#endif
driver_result hipMalloc(void **address, size_t bytes)
{
    FAKE_HIP_UNSAFE("memory_alloc");
    *address = fake_memory_alloc(bytes);
    return *address ? 0 : 2;
}
driver_result hipFree(void *address)
{
    FAKE_HIP_UNSAFE("memory_free");
    fake_memory_free(address);
    return 0;
}
driver_result hipHostMalloc(void **host, size_t bytes, unsigned flags)
{
    (void)flags;
    FAKE_HIP_UNSAFE("host_alloc");
    *host = malloc(bytes);
    return 0;
}
driver_result hipHostFree(void *host)
{
    free(host);
    return 0;
}
driver_result hipMemcpyAsync(void *to, const void *from, size_t bytes, hip_copy_kind kind,
                             driver_stream stream)
{
    (void)kind;
    FAKE_HIP_CALL("copy");
    memcpy(to, from, bytes);
    fake_enqueue(stream);
    return 0;
}
driver_result hipMemcpy3DAsync(const hip_copy *copy, driver_stream stream)
{
    FAKE_HIP_CALL("copy");
    char *to = copy->dst.pointer;
    const char *from = copy->src.pointer;
    if (copy->dst.pitch < copy->extent.width || copy->src.pitch < copy->extent.width)
        return 1;
    for (size_t z = 0; z < copy->extent.depth; z++)
        for (size_t y = 0; y < copy->extent.height; y++)
            memcpy(to + (z * copy->dst.height + y) * copy->dst.pitch,
                   from + (z * copy->src.height + y) * copy->src.pitch, copy->extent.width);
    fake_enqueue(stream);
    return 0;
}
driver_result hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    FAKE_HIP_CALL("peer_ask");
    *can = device != peer && fake_peers();
    return device < fake_device_count() && peer < fake_device_count() ? 0 : 1;
}
driver_result hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    static _Atomic bool enabled[16][16];
    FAKE_HIP_CALL("peer_enable");
    if (flags || peer < 0 || peer > 15 || current > 15 || peer == current)
        return 1;
    const bool was = enabled[current][peer];
    enabled[current][peer] = true;
    return was ? DRIVER_PEER_ENABLED : 0;
}
driver_result hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                 size_t bytes, driver_stream stream)
{
    FAKE_HIP_CALL("copy");
    FAKE_HIP_CALL("peer_copy");
    if (to_device == from_device || to_device >= fake_device_count() ||
        from_device >= fake_device_count())
        return 1;
    memcpy(to, from, bytes);
    fake_enqueue(stream);
    return 0;
}
driver_result hipIpcGetMemHandle(driver_share *share, void *address)
{
    FAKE_HIP_UNSAFE("memory_share");
    return fake_memory_share(address, share->reserved) ? 0 : 1;
}
driver_result hipIpcOpenMemHandle(void **address, driver_share share, unsigned flags)
{
    FAKE_HIP_UNSAFE("memory_map");
    *address = fake_memory_map(share.reserved);
    return *address && flags == DRIVER_SHARE_LAZY_PEER ? 0 : 1;
}
driver_result hipIpcCloseMemHandle(void *address)
{
    FAKE_HIP_UNSAFE("memory_unmap");
    fake_memory_unmap(address);
    return 0;
}
driver_result hipModuleLoadData(driver_module *module, const void *image)
{
    FAKE_HIP_UNSAFE("module_load");
    *module = strdup(image);
    return 0;
}
driver_result hipModuleUnload(driver_module module)
{
    free(module);
    return 0;
}
driver_result hipModuleGetFunction(driver_function *function, driver_module module,
                                   const char *name)
{
    *function = fake_function(module, name);
    return *function ? 0 : 500;
}
driver_result hipModuleLaunchKernel(driver_function function, unsigned grid_x, unsigned grid_y,
                                    unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned shared_bytes, driver_stream stream,
                                    void **arguments, void **extra)
{
    (void)shared_bytes, (void)extra;
    if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z)
        return 1;
    return fake_launch(function, stream, arguments);
}
