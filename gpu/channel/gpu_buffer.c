/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_buffer.c - memory for programs that have none of their own from the driver.
 *
 * The driver's calls, between attach and detach.
 */
#include "gpu_device.h"
#include "gpu_failure.h"
#include "rbwp_gpu_channel.h"

enum rbwp_status rbwp_gpu_buffer_alloc(struct rbwp_gpu_device *device, uint64_t bytes,
                                       struct rbwp_gpu_buffer *buffer_out, struct rbwp_error *error)
{
    struct gpu_context *context = gpu_device_context(device);
    struct gpu_memory memory = {0};
    struct gpu_attached saved;
    *buffer_out = (struct rbwp_gpu_buffer){0};
    int code = context->backend->attach(context, &saved);
    if (code == GPU_OK) {
        code = context->backend->memory_alloc(context, bytes ? bytes : 1, &memory);
        context->backend->detach(context, &saved);
    }
    if (code != GPU_OK)
        return context->backend->describe(context->driver, code, "device memory", error);
    *buffer_out = (struct rbwp_gpu_buffer){memory.native, bytes};
    return RBWP_OK;
}

void rbwp_gpu_buffer_free(struct rbwp_gpu_device *device, struct rbwp_gpu_buffer *buffer)
{
    if (!device || !buffer->native)
        return;
    struct gpu_context *context = gpu_device_context(device);
    struct gpu_memory memory = {buffer->native, buffer->bytes};
    struct gpu_attached saved;
    *buffer = (struct rbwp_gpu_buffer){0};
    if (context->backend->attach(context, &saved) != GPU_OK)
        return; /* a lost context took its memory along */
    context->backend->memory_free(context, &memory);
    context->backend->detach(context, &saved);
}

enum rbwp_status rbwp_gpu_host_alloc(struct rbwp_gpu_device *device, uint64_t bytes,
                                     void **host_out, struct rbwp_error *error)
{
    struct gpu_context *context = gpu_device_context(device);
    struct gpu_attached saved;
    *host_out = NULL;
    int code = context->backend->attach(context, &saved);
    if (code == GPU_OK) {
        code = context->backend->host_alloc(context, bytes ? bytes : 1, host_out);
        context->backend->detach(context, &saved);
    }
    return code == GPU_OK ? RBWP_OK
                          : context->backend->describe(context->driver, code, "host memory", error);
}

void rbwp_gpu_host_free(struct rbwp_gpu_device *device, void *host)
{
    struct gpu_attached saved;
    if (!device || !host)
        return;
    struct gpu_context *context = gpu_device_context(device);
    if (context->backend->attach(context, &saved) != GPU_OK)
        return;
    context->backend->host_free(context, host);
    context->backend->detach(context, &saved);
}
