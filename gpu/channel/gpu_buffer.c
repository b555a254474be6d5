/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_buffer.c - memory for programs that have none of their own from the driver, and memory of
 * other devices and processes.
 *
 * The driver's calls, between attach and detach.
 */
#include "gpu_device.h"
#include "rbwp_gpu_channel.h"

#include <stdio.h>
#include <string.h>

enum rbwp_status rbwp_gpu_buffer_alloc(struct rbwp_gpu_device *device, uint64_t bytes,
                                       struct rbwp_gpu_buffer *buffer_out, struct rbwp_error *error)
{
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_memory memory = {0};
    *buffer_out = (struct rbwp_gpu_buffer){0};
    int code;
    GPU_ATTACHED(context, code,
                 context->backend->memory_alloc(context, bytes ? bytes : 1, &memory));
    if (code == GPU_OK)
        *buffer_out = (struct rbwp_gpu_buffer){memory.native, bytes};
    return gpu_came_to(context, code, "device memory", error);
}

void rbwp_gpu_buffer_free(struct rbwp_gpu_device *device, struct rbwp_gpu_buffer *buffer)
{
    if (!device || !buffer->native)
        return;
    struct gpu_context *context = rbwp_extend_gpu_context(device);
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
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    *host_out = NULL;
    int code;
    GPU_ATTACHED(context, code, context->backend->host_alloc(context, bytes ? bytes : 1, host_out));
    return gpu_came_to(context, code, "host memory", error);
}

void rbwp_gpu_host_free(struct rbwp_gpu_device *device, void *host)
{
    struct gpu_attached saved;
    if (!device || !host)
        return;
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    if (context->backend->attach(context, &saved) != GPU_OK)
        return;
    context->backend->host_free(context, host);
    context->backend->detach(context, &saved);
}

/* ---- other devices ------------------------------------------------------------------------ */

enum rbwp_status rbwp_gpu_peer_enable(struct rbwp_gpu_device *device, struct rbwp_gpu_device *peer,
                                      bool *direct_out, struct rbwp_error *error)
{
    struct gpu_context *context = rbwp_extend_gpu_context(device),
                       *other = rbwp_extend_gpu_context(peer);
    bool direct = false;
    if (direct_out)
        *direct_out = false;
    if (context->backend != other->backend)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "%s and %s do not reach each other's memory",
                           context->backend->name, other->backend->name);
    int code;
    GPU_ATTACHED(context, code, context->backend->peer_enable(context, other, &direct));
    if (code == GPU_OK && direct_out)
        *direct_out = direct;
    return gpu_came_to(context, code, "memory of another device", error);
}

/* ---- other processes ---------------------------------------------------------------------- */

_Static_assert(sizeof((struct rbwp_gpu_share){0}.words) == GPU_SHARE_BYTES, "all of it");
_Static_assert(sizeof(struct rbwp_gpu_share) == 128, "the same in all processes");

/* Which machine this is, and since which start; zeros where it is not known. */
static void name_machine(uint8_t name[48])
{
    memset(name, 0, 48);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        return;
    (void)!fread(name, 1, 36, file);
    (void)fclose(file);
}

enum rbwp_status rbwp_gpu_buffer_share(struct rbwp_gpu_device *device,
                                       const struct rbwp_gpu_buffer *buffer,
                                       struct rbwp_gpu_share *share_out, struct rbwp_error *error)
{
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    const struct gpu_memory memory = {buffer->native, buffer->bytes};
    *share_out = (struct rbwp_gpu_share){.bytes = buffer->bytes, .api = context->backend->api};
    if (!buffer->native)
        return gpu_failure(error, RBWP_E_INVALID, "no memory to share");
    name_machine(share_out->machine);
    int code;
    GPU_ATTACHED(context, code, context->backend->memory_share(context, &memory, share_out->words));
    return gpu_came_to(context, code, "sharing memory", error);
}

enum rbwp_status rbwp_gpu_buffer_open(struct rbwp_gpu_device *device,
                                      const struct rbwp_gpu_share *share,
                                      struct rbwp_gpu_buffer *buffer_out, struct rbwp_error *error)
{
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_memory memory = {0};
    uint8_t machine[48];
    *buffer_out = (struct rbwp_gpu_buffer){0};
    name_machine(machine);
    if (share->api != (uint32_t)context->backend->api)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "memory of another API was shared");
    if (memcmp(share->machine, machine, sizeof machine) != 0)
        return gpu_failure(error, RBWP_E_UNSUPPORTED, "memory of another machine was shared");
    int code;
    GPU_ATTACHED(context, code,
                 context->backend->memory_map(context, share->words, share->bytes, &memory));
    if (code == GPU_OK)
        *buffer_out = (struct rbwp_gpu_buffer){memory.native, memory.bytes};
    return gpu_came_to(context, code, "memory of another process", error);
}

void rbwp_gpu_buffer_close(struct rbwp_gpu_device *device, struct rbwp_gpu_buffer *buffer)
{
    struct gpu_attached saved;
    if (!device || !buffer->native)
        return;
    struct gpu_context *context = rbwp_extend_gpu_context(device);
    struct gpu_memory memory = {buffer->native, buffer->bytes};
    *buffer = (struct rbwp_gpu_buffer){0};
    if (context->backend->attach(context, &saved) != GPU_OK)
        return;
    context->backend->memory_unmap(context, &memory);
    context->backend->detach(context, &saved);
}
