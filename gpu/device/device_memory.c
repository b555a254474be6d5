/* SPDX-License-Identifier: Apache-2.0 */
#include "device_memory.h"

#include "gpu_backend.h"
#include "grow.h"
#include "rbwp_rows.h"

#include <stdlib.h>
#include <string.h>

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
    *memory = (struct device_memory){.context = context};
    if (context->backend->api == GPU_OPENCL)
        return gpu_failure(error, RBWP_E_UNSUPPORTED,
                           "OpenCL gives memory no address that a kernel could keep");
    if (bytes > SIZE_MAX / 2)
        return gpu_failure(error, RBWP_E_MEMORY, "no address for %llu bytes",
                           (unsigned long long)bytes);
    int code;
    GPU_ATTACHED(context, code, device_memory_allocate(memory, bytes));
    enum rbwp_status status = gpu_came_to(context, code, "memory for what kernels note", error);
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
    return gpu_came_to(context, code, to_device ? "copy to the device" : "copy from the device",
                       error);
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

/* In the order of ids, so that a buffer with thousands of them is no slower. */

/* Where the id is, or would be. */
static uint32_t device_names_place_of(const struct device_names *names, int64_t id)
{
    uint32_t low = 0, high = names->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (names->names[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum rbwp_status device_names_set(struct device_names *names, int64_t id, uint64_t number)
{
    uint32_t at = device_names_place_of(names, id);
    if (at < names->count && names->names[at].id == id) {
        names->names[at].number = number;
        return RBWP_OK;
    }
    if (!grow_array32(&names->names, &names->room, names->count + 1, sizeof *names->names))
        return RBWP_E_MEMORY;
    memmove(names->names + at + 1, names->names + at, (names->count - at) * sizeof *names->names);
    names->names[at] = (struct device_name){id, number};
    names->count++;
    return RBWP_OK;
}

enum rbwp_status device_names_add(struct device_names *names, const struct rbwp_device_name *given,
                                  uint32_t count, struct rbwp_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number;
        enum rbwp_status status = RBWP_E_INVALID;
        if (given[i].name)
            status = rbwp_name_intern(given[i].name, strlen(given[i].name), &number);
        if (status == RBWP_OK)
            status = device_names_set(names, given[i].id, number);
        if (status != RBWP_OK)
            return gpu_failure(error, status, "the name of id %lld cannot be kept",
                               (long long)given[i].id);
    }
    return RBWP_OK;
}

uint64_t device_names_find(const struct device_names *names, int64_t id)
{
    uint32_t at = device_names_place_of(names, id);
    return at < names->count && names->names[at].id == id ? names->names[at].number : 0;
}

uint64_t device_names_number(struct device_names *names, int64_t id, const char *text)
{
    uint64_t number = device_names_find(names, id);
    if (number || rbwp_name_intern(text, strlen(text), &number) != RBWP_OK)
        return number;
    (void)!device_names_set(names, id, number); /* else it is asked for again */
    return number;
}

void device_names_free(struct device_names *names)
{
    free(names->names);
    *names = (struct device_names){0};
}
