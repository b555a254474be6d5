/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_shape.c - the loops of a transfer, checked and simplified.
 *
 * The steps: check the fields, give every stride its value, bring both sides
 * into one order of loops, check what they reach, then simplify: drop loops of
 * one element, put the target's fastest loop inside, join loops that continue
 * each other. A file is packed in its dimensions' order and read or written
 * front to back, so with one the order of loops is the file's and stays.
 */
#include "channel_transfer.h"

#define DIMENSIONS RBWP_TRANSFER_DIMENSIONS_MAX

/* Bytes of one number of a reduction; 0 if there is no such type. */
static uint32_t channel_number_bytes(enum rbwp_reduce_type type)
{
    switch (type) {
    case RBWP_REDUCE_I32:
    case RBWP_REDUCE_U32:
    case RBWP_REDUCE_F32:
        return 4;
    case RBWP_REDUCE_I64:
    case RBWP_REDUCE_U64:
    case RBWP_REDUCE_F64:
        return 8;
    }
    return 0;
}

static const char *check_reduction(const struct rbwp_transfer *transfer)
{
    const uint32_t number_bytes = channel_number_bytes(transfer->reduce_type);
    if (number_bytes == 0)
        return "reduce_type is not one of enum rbwp_reduce_type";
    if (transfer->reduce_op < RBWP_REDUCE_SUM || transfer->reduce_op > RBWP_REDUCE_MAX)
        return "reduce_op is not one of enum rbwp_reduce_op";
    if (transfer->element_bytes != 0 && transfer->element_bytes != number_bytes)
        return "element_bytes is not the size of reduce_type";
    return NULL;
}

static const char *check_place(const struct rbwp_transfer_place *place)
{
    if (!place->is_file)
        return NULL;
    if (place->fd < 0)
        return "fd is negative";
    for (unsigned d = 0; d < DIMENSIONS; d++)
        if (place->stride_bytes[d] != 0)
            return "strides of a file are not 0 (a file is always packed)";
    return NULL;
}

static const char *check_fields(const struct rbwp_transfer *transfer)
{
    if (transfer->kind < RBWP_TRANSFER_COPY || transfer->kind > RBWP_TRANSFER_REDUCE)
        return "kind is not one of enum rbwp_transfer_kind";
    if (transfer->dimensions < 1 || transfer->dimensions > DIMENSIONS)
        return "dimensions is not 1, 2 or 3";
    if (transfer->kind == RBWP_TRANSFER_REDUCE)
        return check_reduction(transfer);
    if (transfer->element_bytes < 1 || transfer->element_bytes > RBWP_TRANSFER_ELEMENT_BYTES_MAX)
        return "element_bytes is not 1 to 65536";
    if (transfer->kind == RBWP_TRANSFER_FILL && !transfer->fill)
        return "fill is NULL";
    return NULL;
}

static const char *check_sides(const struct rbwp_transfer *transfer)
{
    const bool has_source = transfer->kind != RBWP_TRANSFER_FILL;
    const char *reason = check_place(&transfer->target);
    if (!reason && has_source)
        reason = check_place(&transfer->source);
    if (!reason && has_source && transfer->source.is_file && transfer->target.is_file)
        reason = "source and target are both files";
    return reason;
}

/* Fills order with the source dimension that each target dimension runs along. */
static const char *resolve_order(const struct rbwp_transfer *transfer, unsigned order[DIMENSIONS])
{
    const unsigned dimensions = transfer->dimensions;
    const bool transpose = transfer->kind == RBWP_TRANSFER_TRANSPOSE;
    const bool reversed =
        transpose && transfer->order[0] == 0 && transfer->order[1] == 0 && transfer->order[2] == 0;
    unsigned seen = 0;
    for (unsigned d = 0; d < dimensions; d++) {
        order[d] = reversed ? dimensions - 1 - d : transpose ? transfer->order[d] : d;
        seen |= order[d] < dimensions ? 1u << order[d] : 0u;
    }
    return seen == (1u << dimensions) - 1 ? NULL : "order is not a permutation of the dimensions";
}

/* Gives each stride its value: packed where it is 0, 0 where it is fixed. */
static const char *resolve_strides(const struct rbwp_transfer_place *place,
                                   const uint64_t extent[DIMENSIONS], unsigned dimensions,
                                   uint32_t element_bytes, int64_t stride_out[DIMENSIONS])
{
    int64_t packed = element_bytes;
    for (unsigned d = 0; d < dimensions; d++) {
        if (place->stride_bytes[d] == RBWP_STRIDE_FIXED) {
            stride_out[d] = 0;
            continue;
        }
        stride_out[d] = place->stride_bytes[d] ? place->stride_bytes[d] : packed;
        const int64_t length = stride_out[d] < 0 ? -stride_out[d] : stride_out[d];
        if (__builtin_mul_overflow(length, extent[d], &packed))
            return "extent times stride does not fit in 63 bits";
    }
    return NULL;
}

/* The bytes that a side reaches, from its first element on, must be addresses. */
static const char *check_reach(const struct rbwp_transfer_place *place,
                               const struct rbwp_transfer_shape *shape,
                               const int64_t stride[DIMENSIONS])
{
    int64_t low = 0, high = shape->element_bytes;
    for (unsigned d = 0; d < shape->loops; d++) {
        int64_t reach;
        int64_t *end = stride[d] < 0 ? &low : &high;
        if (__builtin_mul_overflow(stride[d], shape->extent[d] - 1, &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return "the strides reach further than 63 bits";
    }
    if (place->is_file) {
        int64_t end;
        return __builtin_add_overflow(place->offset_bytes, high, &end)
                   ? "offset_bytes and the size of the data do not fit in 63 bits"
                   : NULL;
    }
    if (!place->memory)
        return "memory is NULL";
    const uintptr_t base = (uintptr_t)place->memory;
    uintptr_t end;
    if (base < (uint64_t)-low || __builtin_add_overflow(base, high, &end))
        return "the strides reach beyond the address space";
    return NULL;
}

static const char *check_target_strides(const struct rbwp_transfer *transfer,
                                        const struct rbwp_transfer_shape *shape)
{
    for (unsigned d = 0; d < shape->loops; d++) {
        const int64_t stride = shape->target_stride[d];
        if (shape->extent[d] < 2 || (stride == 0 && transfer->kind == RBWP_TRANSFER_REDUCE))
            continue;
        if (stride < (int64_t)shape->element_bytes && -stride < (int64_t)shape->element_bytes)
            return "a stride of the target is smaller than an element";
    }
    return NULL;
}

static void swap_loops(struct rbwp_transfer_shape *shape, unsigned a, unsigned b)
{
    const uint64_t extent = shape->extent[a];
    const int64_t source = shape->source_stride[a], target = shape->target_stride[a];
    shape->extent[a] = shape->extent[b];
    shape->source_stride[a] = shape->source_stride[b];
    shape->target_stride[a] = shape->target_stride[b];
    shape->extent[b] = extent;
    shape->source_stride[b] = source;
    shape->target_stride[b] = target;
}

static void drop_loop(struct rbwp_transfer_shape *shape, unsigned loop)
{
    for (unsigned d = loop; d + 1 < DIMENSIONS; d++)
        swap_loops(shape, d, d + 1);
    shape->loops--;
}

static void drop_single_loops(struct rbwp_transfer_shape *shape)
{
    for (unsigned d = shape->loops; d-- > 0 && shape->loops > 1;)
        if (shape->extent[d] == 1)
            drop_loop(shape, d);
}

static uint64_t length_of(int64_t stride)
{
    return stride < 0 ? (uint64_t)-stride : (uint64_t)stride;
}

/* Order of the loops: those that fold first, then by the target's stride. */
static void sort_loops(struct rbwp_transfer_shape *shape)
{
    for (unsigned end = shape->loops; end > 1; end--)
        for (unsigned d = 0; d + 1 < end; d++)
            if (length_of(shape->target_stride[d]) > length_of(shape->target_stride[d + 1]))
                swap_loops(shape, d, d + 1);
}

/* The extents are checked: no product of them with a stride overflows. */
static bool continues(const struct rbwp_transfer_shape *shape, unsigned loop)
{
    const int64_t extent = (int64_t)shape->extent[loop];
    return shape->source_stride[loop + 1] == extent * shape->source_stride[loop] &&
           shape->target_stride[loop + 1] == extent * shape->target_stride[loop];
}

static void join_loops(struct rbwp_transfer_shape *shape)
{
    for (unsigned d = shape->loops - 1; d-- > 0;)
        if (continues(shape, d)) {
            shape->extent[d + 1] *= shape->extent[d];
            shape->source_stride[d + 1] = shape->source_stride[d];
            shape->target_stride[d + 1] = shape->target_stride[d];
            drop_loop(shape, d);
        }
}

/* Where another loop than 0 is the source's fastest, makes it loop 1 and asks for tiles. */
static void choose_tiles(struct rbwp_transfer_shape *shape)
{
    unsigned fastest = 0;
    for (unsigned d = 1; d < shape->loops; d++)
        if (length_of(shape->source_stride[d]) < length_of(shape->source_stride[fastest]))
            fastest = d;
    if (fastest == 0 || shape->source_stride[fastest] == 0)
        return;
    swap_loops(shape, 1, fastest);
    shape->tiled = true;
}

static void simplify(const struct rbwp_transfer *transfer, struct rbwp_transfer_shape *shape)
{
    const bool has_file = transfer->source.is_file || transfer->target.is_file;
    drop_single_loops(shape);
    if (!has_file)
        sort_loops(shape);
    join_loops(shape);
    if (!has_file &&
        (transfer->kind == RBWP_TRANSFER_COPY || transfer->kind == RBWP_TRANSFER_TRANSPOSE))
        choose_tiles(shape);
}

/* Strides of both sides, the loops in the order of the dimensions of the source. */
static const char *lay_out(const struct rbwp_transfer *transfer, const unsigned order[DIMENSIONS],
                           struct rbwp_transfer_shape *shape)
{
    uint64_t target_extent[DIMENSIONS];
    int64_t target_stride[DIMENSIONS];
    for (unsigned d = 0; d < shape->loops; d++) {
        shape->extent[d] = transfer->extent[d];
        target_extent[d] = transfer->extent[order[d]];
    }
    const char *reason = resolve_strides(&transfer->target, target_extent, shape->loops,
                                         shape->element_bytes, target_stride);
    if (!reason && transfer->kind != RBWP_TRANSFER_FILL)
        reason = resolve_strides(&transfer->source, shape->extent, shape->loops,
                                 shape->element_bytes, shape->source_stride);
    if (reason)
        return reason;
    for (unsigned d = 0; d < shape->loops; d++)
        shape->target_stride[order[d]] = target_stride[d];
    return NULL;
}

static const char *check_space(const struct rbwp_transfer *transfer,
                               const struct rbwp_transfer_shape *shape)
{
    const char *reason = check_reach(&transfer->target, shape, shape->target_stride);
    if (!reason && transfer->kind != RBWP_TRANSFER_FILL)
        reason = check_reach(&transfer->source, shape, shape->source_stride);
    return reason ? reason : check_target_strides(transfer, shape);
}

/* A file's loops go in its own order: the target's dimensions, if it is the target. */
static void follow_target(struct rbwp_transfer_shape *shape, const unsigned order[DIMENSIONS])
{
    const struct rbwp_transfer_shape by_source = *shape;
    for (unsigned d = 0; d < shape->loops; d++) {
        shape->extent[d] = by_source.extent[order[d]];
        shape->source_stride[d] = by_source.source_stride[order[d]];
        shape->target_stride[d] = by_source.target_stride[order[d]];
    }
}

static const char *count_elements(struct rbwp_transfer_shape *shape)
{
    int64_t bytes = shape->element_bytes;
    shape->elements = 1;
    for (unsigned d = 0; d < shape->loops; d++)
        shape->elements *= shape->extent[d] != 0;
    for (unsigned d = 0; d < shape->loops && shape->elements != 0; d++)
        if (__builtin_mul_overflow(bytes, shape->extent[d], &bytes))
            return "the extents make more than 63 bits of bytes";
    shape->elements *= (uint64_t)bytes / shape->element_bytes;
    return NULL;
}

enum rbwp_status channel_shape_make(const struct rbwp_transfer *transfer,
                                    struct rbwp_transfer_shape *shape_out, const char **reason_out)
{
    struct rbwp_transfer_shape shape = {.loops = 1};
    unsigned order[DIMENSIONS] = {0};
    *reason_out = check_fields(transfer);
    if (!*reason_out)
        *reason_out = check_sides(transfer);
    if (!*reason_out)
        *reason_out = resolve_order(transfer, order);
    if (*reason_out)
        return RBWP_E_INVALID;

    shape.loops = transfer->dimensions;
    shape.element_bytes = transfer->kind == RBWP_TRANSFER_REDUCE
                              ? channel_number_bytes(transfer->reduce_type)
                              : transfer->element_bytes;
    *reason_out = lay_out(transfer, order, &shape);
    if (!*reason_out)
        *reason_out = count_elements(&shape);
    if (!*reason_out && shape.elements != 0)
        *reason_out = check_space(transfer, &shape);
    if (*reason_out)
        return RBWP_E_INVALID;

    if (shape.elements != 0) {
        if (transfer->target.is_file)
            follow_target(&shape, order);
        simplify(transfer, &shape);
    }
    *shape_out = shape;
    return RBWP_OK;
}
