/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_check.c - what a caller asks of a GPU channel, checked, as a plan.
 *
 * All that is hostile in a transfer is refused here: the shape by the runtime's own check, which
 * wants host addresses and gets nominal ones for device memory; then elements outside their
 * buffers. What comes out may be launched without further checks.
 */
#include "channel_check.h"

#include "gpu_device.h"
#include "gpu_failure.h"

/* Stands for the start of a device buffer where a shape is checked: far from both ends. */
#define NOMINAL_ADDRESS ((uint8_t *)((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 2)))

struct side {
    const struct rbwp_gpu_buffer *buffer;
    uint64_t offset_bytes;
    i64 low, high; /* from the start of the buffer, or host address */
};

/* Elements of a side that is device memory must lie in it. */
static bool is_inside(struct side *side, const struct rbwp_transfer_shape *shape, const i64 *stride)
{
    channel_plan_reach(shape, stride, &side->low, &side->high);
    if (!side->buffer->native)
        return true;
    if (side->offset_bytes > INT64_MAX || side->buffer->bytes > INT64_MAX ||
        __builtin_add_overflow(side->low, (i64)side->offset_bytes, &side->low) ||
        __builtin_add_overflow(side->high, (i64)side->offset_bytes, &side->high))
        return false;
    return side->low >= 0 && side->high <= (i64)side->buffer->bytes;
}

/* Low bits of an element's address. A cl_mem's start is aligned for every type. */
static uint64_t address_bits(enum gpu_api api, const struct side *side)
{
    const bool is_address = api != GPU_OPENCL;
    return side->offset_bytes + (is_address ? (uintptr_t)side->buffer->native : 0);
}

static enum rbwp_status refuse(struct rbwp_error *error, enum rbwp_status status,
                               const char *reason)
{
    return gpu_failure(error, status, "channel: %s", reason);
}

/* The shape of what was asked, checked. Device memory has no host address: it gets a nominal one.
 */
static enum rbwp_status make_shape(const struct rbwp_gpu_transfer *transfer,
                                   struct rbwp_transfer_shape *shape, struct rbwp_error *error)
{
    struct rbwp_transfer what = transfer->what;
    if (what.source.is_file || what.target.is_file)
        return refuse(error, RBWP_E_INVALID, "files are for the host's channels");
    if (transfer->source.native)
        what.source.memory = NOMINAL_ADDRESS;
    if (transfer->target.native)
        what.target.memory = NOMINAL_ADDRESS;
    return rbwp_transfer_shape_make(&what, shape, error);
}

const struct gpu_context *channel_peer_of(const struct rbwp_gpu_buffer *buffer,
                                          struct rbwp_gpu_device *device,
                                          const struct gpu_context *context)
{
    const struct gpu_context *its = device && buffer->native ? gpu_device_context(device) : context;
    return gpu_is_peer(its, context) ? its : NULL;
}

/* NULL, or why no copy goes between the two. */
static const char *why_no_peer(const struct gpu_context *peer, const struct gpu_context *context)
{
    if (!peer)
        return NULL;
    if (peer->backend != context->backend)
        return "the devices are of two APIs: copy through memory of the host";
    return context->backend->api == GPU_OPENCL
               ? "OpenCL's devices do not share memory: copy through memory of the host"
               : NULL;
}

enum rbwp_status channel_check(const struct rbwp_gpu_transfer *transfer,
                               const struct gpu_context *context, struct channel_plan *plan_out,
                               struct rbwp_error *error)
{
    const enum gpu_api api = context->backend->api;
    const struct gpu_context *source_peer =
        channel_peer_of(&transfer->source, transfer->source_device, context);
    const struct gpu_context *target_peer =
        channel_peer_of(&transfer->target, transfer->target_device, context);
    struct rbwp_transfer_shape shape;
    const char *reason = NULL;
    enum rbwp_status status = make_shape(transfer, &shape, error);
    if (status != RBWP_OK)
        return status;
    const bool fills = transfer->what.kind == RBWP_TRANSFER_FILL;
    struct side source = {&transfer->source, transfer->source_offset_bytes, 0, 0};
    struct side target = {&transfer->target, transfer->target_offset_bytes, 0, 0};
    if (shape.elements != 0 && (!is_inside(&target, &shape, shape.target_stride) ||
                                (!fills && !is_inside(&source, &shape, shape.source_stride))))
        return refuse(error, RBWP_E_INVALID, "elements lie outside their buffer");
    reason = why_no_peer(source_peer, context);
    reason = reason ? reason : why_no_peer(target_peer, context);
    if (reason)
        return refuse(error, RBWP_E_UNSUPPORTED, reason);
    const struct channel_sides sides = {
        .on_two_devices = source_peer || target_peer,
        .source_on_device = transfer->source.native != NULL,
        .target_on_device = transfer->target.native != NULL,
        .source_address = address_bits(api, &source),
        .target_address = address_bits(api, &target),
        .may_share = transfer->source.native == transfer->target.native &&
                     source.low < target.high && target.low < source.high,
    };
    status = channel_plan_make(&transfer->what, &shape, &sides, plan_out, &reason);
    return status == RBWP_OK ? RBWP_OK : refuse(error, status, reason);
}
