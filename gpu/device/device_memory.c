/* SPDX-License-Identifier: Apache-2.0 */
#include "device_memory.h"
#include "gpu_failure.h"

#include <string.h>

static enum rbwp_status device_memory_describe(const struct gpu_context *context, int code,
                                               const char *what, struct rbwp_error *error)
{
    return code == GPU_OK ? RBWP_OK
                          : context->backend->describe(context->driver, code, what, error);
}

/* Attached. */
static int device_memory_allocate(struct device_memory *memory, uint64_t bytes)
{
    const struct gpu_backend *backend = memory->context->backend;
    int code = backend->stream_create(memory->context, &memory->stream);
    if (code == GPU_OK)
        code = backend->host_alloc(memory->context, bytes, &memory->host);
    if (code == GPU_OK)
        code = backend->memory_alloc(memory->context, bytes, &memory->memory);
    memory->memory.bytes = bytes;
    return code;
}

enum rbwp_status device_memory_new(struct device_memory *memory, struct rbwp_gpu_device *device,
                                   uint64_t bytes, struct rbwp_error *error)
{
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_attached saved;
    *memory = (struct device_memory){.context = context};
    if (context->backend->api == GPU_OPENCL)
        return gpu_failure(error, RBWP_E_UNSUPPORTED,
                           "OpenCL gives memory no address that a kernel could keep");
    if (bytes > SIZE_MAX / 2)
        return gpu_failure(error, RBWP_E_MEMORY, "no address for %llu bytes",
                           (unsigned long long)bytes);
    int code = context->backend->attach(context, &saved);
    if (code == GPU_OK) {
        code = device_memory_allocate(memory, bytes);
        context->backend->detach(context, &saved);
    }
    enum rbwp_status status =
        device_memory_describe(context, code, "memory for what kernels note", error);
    if (status == RBWP_OK) {
        memset(memory->host, 0, (size_t)bytes);
        status = device_memory_write(memory, 0, bytes, error);
    }
    if (status != RBWP_OK)
        device_memory_free(memory);
    return status;
}

void device_memory_free(struct device_memory *memory)
{
    struct gpu_attached saved;
    struct gpu_context *context = memory->context;
    if (!context || context->backend->attach(context, &saved) != GPU_OK)
        return; /* a lost context took its memory along */
    if (memory->memory.native)
        context->backend->memory_free(context, &memory->memory);
    if (memory->host)
        context->backend->host_free(context, memory->host);
    if (memory->stream)
        (void)context->backend->stream_destroy(context, memory->stream);
    context->backend->detach(context, &saved);
    *memory = (struct device_memory){0};
}

static enum rbwp_status move(struct device_memory *memory, bool to_device, uint64_t offset_bytes,
                             uint64_t bytes, void *stream, struct rbwp_error *error)
{
    struct gpu_context *context = memory->context;
    const struct gpu_copy_side device = {.device = &memory->memory, .offset_bytes = offset_bytes};
    const struct gpu_copy_side host = {.host = (char *)memory->host + offset_bytes};
    const struct gpu_copy copy = {.dst = to_device ? device : host,
                                  .src = to_device ? host : device,
                                  .width_bytes = bytes,
                                  .height = 1,
                                  .depth = 1};
    struct gpu_attached saved;
    int code = context->backend->attach(context, &saved);
    if (code == GPU_OK) {
        code = gpu_copy(context, &copy, stream);
        if (code == GPU_OK)
            code = context->backend->stream_wait(context, stream);
        context->backend->detach(context, &saved);
    }
    return device_memory_describe(context, code,
                                  to_device ? "copy to the device" : "copy from the device", error);
}

enum rbwp_status device_memory_write(struct device_memory *memory, uint64_t offset_bytes,
                                     uint64_t bytes, struct rbwp_error *error)
{
    return move(memory, true, offset_bytes, bytes, memory->stream, error);
}

enum rbwp_status device_memory_read(struct device_memory *memory, uint64_t offset_bytes,
                                    uint64_t bytes, struct rbwp_gpu_stream *stream,
                                    struct rbwp_error *error)
{
    void *native = stream ? gpu_stream_native(stream) : memory->stream;
    return move(memory, false, offset_bytes, bytes, native, error);
}
