/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_plan.c - how a GPU carries a transfer out.
 *
 * The units of a copy are as wide as all addresses allow, at most 16 bytes: a run is cut into such
 * units, an element of another size becomes a loop of its own inside. A fill is a copy from one
 * element that stays in place. A reduction that folds many elements into few is cut into chunks,
 * one block each, whose results a second kernel folds; how it is cut depends on the shape alone, so
 * the result does not depend on the device.
 */
#include "channel_plan.h"

#define UNIT_BYTES_MAX 16u
#define FOLD_CHUNK_MIN 8192u
#define PARTIAL_RESULTS_MAX (CHANNEL_SCRATCH_BYTES / 8u)
#define TILE_WORTH 8u /* shorter edges leave most of a tile's threads without work */

static u64 length_of(i64 stride)
{
    return stride < 0 ? (u64)-stride : (u64)stride;
}

static u64 lowest_bit(u64 bits)
{
    const u64 lowest = bits & (~bits + 1);
    return lowest == 0 || lowest > UNIT_BYTES_MAX ? UNIT_BYTES_MAX : lowest;
}

static unsigned log2_of(u64 power)
{
    return (unsigned)__builtin_ctzll(power);
}

void channel_plan_reach(const struct rbwp_transfer_shape *shape, const i64 *stride, i64 *low_out,
                        i64 *high_out)
{
    *low_out = 0;
    *high_out = shape->element_bytes;
    for (unsigned d = 0; d < shape->loops; d++) {
        const i64 reach = stride[d] * (i64)(shape->extent[d] - 1);
        *(reach < 0 ? low_out : high_out) += reach;
    }
}

/* ---- the copy engine ----------------------------------------------------------------- */

static bool is_run(const struct rbwp_transfer_shape *shape)
{
    const i64 bytes = shape->element_bytes;
    return shape->extent[0] == 1 ||
           (shape->source_stride[0] == bytes && shape->target_stride[0] == bytes);
}

/* How many inner loops one call takes: rows that lie behind each other, slices likewise. */
static unsigned engine_loops(const struct rbwp_transfer_shape *shape)
{
    i64 source_end = (i64)(shape->extent[0] * shape->element_bytes), target_end = source_end;
    unsigned d = 1;
    while (d < shape->loops && shape->source_stride[d] >= source_end &&
           shape->target_stride[d] >= target_end) {
        source_end += shape->source_stride[d] * (i64)(shape->extent[d] - 1);
        target_end += shape->target_stride[d] * (i64)(shape->extent[d] - 1);
        d++;
    }
    if (d == 3 && (shape->source_stride[2] % shape->source_stride[1] != 0 ||
                   shape->target_stride[2] % shape->target_stride[1] != 0))
        return 2; /* drivers want slices of whole rows */
    return d;
}

static void plan_engine(struct channel_plan *plan, enum channel_way way)
{
    plan->way = way;
    plan->engine_loops = engine_loops(&plan->shape);
    plan->engine_calls = 1;
    for (unsigned d = plan->engine_loops; d < plan->shape.loops; d++)
        plan->engine_calls *= plan->shape.extent[d];
}

void channel_plan_engine_call(const struct channel_plan *plan, u64 i, i64 *source_out,
                              i64 *target_out, struct gpu_copy *copy_out)
{
    const struct rbwp_transfer_shape *shape = &plan->shape;
    const unsigned loops = plan->engine_loops;
    *source_out = *target_out = 0;
    for (unsigned d = loops; d < shape->loops; d++) {
        const i64 at = (i64)(i % shape->extent[d]);
        i /= shape->extent[d];
        *source_out += at * shape->source_stride[d];
        *target_out += at * shape->target_stride[d];
    }
    *copy_out = (struct gpu_copy){
        .width_bytes = shape->extent[0] * shape->element_bytes, .height = 1, .depth = 1};
    if (loops > 1) {
        copy_out->height = shape->extent[1];
        copy_out->src.row_bytes = (u64)shape->source_stride[1];
        copy_out->dst.row_bytes = (u64)shape->target_stride[1];
    }
    if (loops > 2) {
        copy_out->depth = shape->extent[2];
        copy_out->src.slice_bytes = (u64)shape->source_stride[2];
        copy_out->dst.slice_bytes = (u64)shape->target_stride[2];
    }
}

/* ---- kernels: copy, fill, transpose ------------------------------------------------------ */

static void set_loops(struct transfer_piece *piece, const struct rbwp_transfer_shape *shape)
{
    *piece = (struct transfer_piece){.loops = shape->loops, .chunks = 1};
    for (unsigned d = 0; d < TRANSFER_LOOPS; d++)
        piece->extent[d] = 1;
    for (unsigned d = 0; d < shape->loops; d++) {
        piece->extent[d] = shape->extent[d];
        piece->source_stride[d] = shape->source_stride[d];
        piece->target_stride[d] = shape->target_stride[d];
    }
}

static u64 index_count(const struct transfer_piece *piece)
{
    u64 count = 1;
    for (unsigned d = 0; d < piece->loops; d++)
        count *= piece->extent[d];
    return count;
}

/* Bits that every address of the loops from `loop` on is a sum of multiples of. */
static u64 stride_bits(const struct transfer_piece *piece, unsigned loop)
{
    u64 bits = 0;
    for (unsigned d = loop; d < piece->loops; d++)
        bits |= length_of(piece->source_stride[d]) | length_of(piece->target_stride[d]);
    return bits;
}

/* A loop of `units` units inside all others. */
static void insert_loop(struct transfer_piece *piece, u64 units, i64 unit)
{
    for (unsigned d = piece->loops; d > 0; d--) {
        piece->extent[d] = piece->extent[d - 1];
        piece->source_stride[d] = piece->source_stride[d - 1];
        piece->target_stride[d] = piece->target_stride[d - 1];
    }
    piece->loops++;
    piece->extent[0] = units;
    piece->source_stride[0] = piece->target_stride[0] = unit;
}

/* Cuts elements, or runs of them, into units. addresses: of both sides, their bits together. */
static u64 cut_into_units(struct channel_plan *plan, struct transfer_piece *piece, u64 addresses)
{
    const u32 element = plan->shape.element_bytes;
    const bool fills = plan->way == CHANNEL_WAY_FILL;
    if (piece->target_stride[0] == element && (fills || piece->source_stride[0] == element)) {
        const u64 run = piece->extent[0] * element;
        const u64 unit = lowest_bit(run | stride_bits(piece, 1) | addresses);
        const bool whole = UNIT_BYTES_MAX % element == 0 && unit >= element;
        if (!fills || whole) { /* of a fill, a unit holds whole elements */
            piece->extent[0] = run / unit;
            piece->target_stride[0] = (i64)unit;
            piece->source_stride[0] = fills ? 0 : (i64)unit;
            return unit;
        }
    }
    const u64 unit = lowest_bit(element | stride_bits(piece, 0) | addresses);
    if (unit < element)
        insert_loop(piece, element / unit, (i64)unit);
    return unit;
}

static void plan_copy(struct channel_plan *plan, const struct channel_sides *sides)
{
    struct channel_stage *stage = &plan->stage[0];
    set_loops(&stage->piece, &plan->shape);
    const bool fills = plan->way == CHANNEL_WAY_FILL;
    const u64 addresses = sides->target_address | (fills ? 0 : sides->source_address);
    const u64 unit = cut_into_units(plan, &stage->piece, addresses);
    stage->piece.count = index_count(&stage->piece);
    stage->kernel = CHANNEL_KERNEL_COPY + log2_of(unit);
    stage->threads_per_index = 1;
    stage->index_bytes = unit;
    stage->from_scratch = fills;
    plan->stages = 1;
    if (fills)
        plan->fill_bytes = UNIT_BYTES_MAX % plan->shape.element_bytes == 0
                               ? UNIT_BYTES_MAX
                               : plan->shape.element_bytes;
}

static bool suits_tiles(const struct channel_plan *plan, const struct channel_sides *sides)
{
    const struct rbwp_transfer_shape *shape = &plan->shape;
    u64 bits = sides->source_address | sides->target_address | shape->element_bytes;
    for (unsigned d = 0; d < shape->loops; d++)
        bits |= length_of(shape->source_stride[d]) | length_of(shape->target_stride[d]);
    return shape->tiled && shape->extent[0] >= TILE_WORTH && shape->extent[1] >= TILE_WORTH &&
           shape->element_bytes <= UNIT_BYTES_MAX && lowest_bit(bits) == shape->element_bytes;
}

static void plan_transpose(struct channel_plan *plan)
{
    struct channel_stage *stage = &plan->stage[0];
    const u32 element = plan->shape.element_bytes;
    set_loops(&stage->piece, &plan->shape);
    stage->piece.count = (plan->shape.extent[0] + TRANSFER_TILE - 1) / TRANSFER_TILE *
                         ((plan->shape.extent[1] + TRANSFER_TILE - 1) / TRANSFER_TILE);
    for (unsigned d = 2; d < plan->shape.loops; d++)
        stage->piece.count *= plan->shape.extent[d];
    stage->kernel = CHANNEL_KERNEL_TRANSPOSE + log2_of(element);
    stage->threads_per_index = TRANSFER_THREADS;
    stage->index_bytes = (u64)TRANSFER_TILE * TRANSFER_TILE * element;
    plan->stages = 1;
}

/* ---- kernels: reduction ---------------------------------------------------------------------- */

static u64 divide_up(u64 a, u64 b)
{
    return a / b + (a % b != 0);
}

/* The second kernel: folds the partial results, which lie packed in scratch, into the target. */
static void plan_partial_results(struct channel_plan *plan, u32 aligned)
{
    const struct channel_stage *first = &plan->stage[0];
    struct channel_stage *second = &plan->stage[1];
    *second = *first;
    second->from_scratch = true;
    second->to_scratch = false;
    struct transfer_piece *piece = &second->piece;
    const unsigned kept = first->piece.loops - first->piece.folds;
    piece->loops = 1 + kept;
    piece->folds = 1;
    piece->aligned = aligned;
    piece->to_scratch = 0;
    piece->extent[0] = first->piece.chunks;
    piece->source_stride[0] = plan->shape.element_bytes;
    piece->target_stride[0] = 0;
    i64 packed = (i64)first->piece.chunks * plan->shape.element_bytes;
    for (unsigned d = 0; d < kept; d++) {
        const unsigned from = first->piece.folds + d;
        piece->extent[1 + d] = first->piece.extent[from];
        piece->target_stride[1 + d] = first->piece.target_stride[from];
        piece->source_stride[1 + d] = packed;
        packed *= (i64)piece->extent[1 + d];
    }
    piece->count = first->piece.count / first->piece.chunks;
    piece->chunks = 1;
    piece->chunk_length = first->piece.chunks;
    second->index_bytes = piece->chunk_length * plan->shape.element_bytes;
    plan->stages = 2;
}

static void plan_fold(struct channel_plan *plan, u64 folded, unsigned kernel)
{
    struct channel_stage *stage = &plan->stage[0];
    struct transfer_piece *piece = &stage->piece;
    const u64 targets = plan->shape.elements / folded;
    piece->chunk_length = folded;
    if (targets <= PARTIAL_RESULTS_MAX / 2 && folded > FOLD_CHUNK_MIN) {
        const u64 length = divide_up(folded, PARTIAL_RESULTS_MAX / targets);
        piece->chunk_length = length < FOLD_CHUNK_MIN ? FOLD_CHUNK_MIN : length;
    }
    piece->chunks = divide_up(folded, piece->chunk_length);
    piece->count = targets * piece->chunks;
    stage->kernel = kernel;
    stage->threads_per_index = TRANSFER_THREADS;
    stage->index_bytes = piece->chunk_length * plan->shape.element_bytes;
    if (piece->chunks > 1) {
        const u32 aligned = piece->aligned;
        stage->to_scratch = true;
        piece->to_scratch = 1;
        plan_partial_results(plan, aligned);
    }
}

static void plan_reduce(struct channel_plan *plan, const struct rbwp_transfer *transfer,
                        const struct channel_sides *sides)
{
    struct channel_stage *stage = &plan->stage[0];
    struct transfer_piece *piece = &stage->piece;
    const u32 number = plan->shape.element_bytes;
    const unsigned type = (unsigned)transfer->reduce_type - 1;
    set_loops(piece, &plan->shape);
    const u64 bits = stride_bits(piece, 0) | sides->source_address | sides->target_address;
    piece->aligned = bits % number == 0;
    plan->op = (u32)transfer->reduce_op;
    plan->stages = 1;
    u64 folded = 1;
    while (piece->folds < piece->loops && piece->target_stride[piece->folds] == 0)
        folded *= piece->extent[piece->folds++];
    if (piece->folds > 0) {
        plan_fold(plan, folded, CHANNEL_KERNEL_FOLD + type);
        return;
    }
    piece->count = plan->shape.elements;
    stage->kernel = CHANNEL_KERNEL_REDUCE + type;
    stage->threads_per_index = 1;
    stage->index_bytes = number;
}

/* ---- the choice
 * ---------------------------------------------------------------------------------- */

static bool is_copy(const struct rbwp_transfer *transfer)
{
    return transfer->kind == RBWP_TRANSFER_COPY || transfer->kind == RBWP_TRANSFER_TRANSPOSE;
}

static enum rbwp_status plan_host_side(struct channel_plan *plan,
                                       const struct rbwp_transfer *transfer,
                                       const struct channel_sides *sides, const char **reason_out)
{
    if (!is_copy(transfer))
        *reason_out = "a fill or a reduction wants its sides in device memory";
    else if (!sides->source_on_device && !sides->target_on_device)
        *reason_out = "neither side is in device memory";
    else if (!is_run(&plan->shape))
        *reason_out = "a copy to or from host memory wants runs of bytes: rearrange on the device";
    if (*reason_out)
        return RBWP_E_UNSUPPORTED;
    plan_engine(plan, CHANNEL_WAY_ENGINE);
    return RBWP_OK;
}

static enum rbwp_status plan_two_devices(struct channel_plan *plan,
                                         const struct rbwp_transfer *transfer,
                                         const char **reason_out)
{
    if (!is_copy(transfer))
        *reason_out = "a fill or a reduction wants its sides in memory of the channel's device";
    else if (!is_run(&plan->shape))
        *reason_out = "a copy between devices wants runs of bytes: rearrange on one of them";
    if (*reason_out)
        return RBWP_E_UNSUPPORTED;
    plan_engine(plan, CHANNEL_WAY_PEER);
    return RBWP_OK;
}

enum rbwp_status channel_plan_make(const struct rbwp_transfer *transfer,
                                   const struct rbwp_transfer_shape *shape,
                                   const struct channel_sides *sides, struct channel_plan *plan_out,
                                   const char **reason_out)
{
    *reason_out = NULL;
    *plan_out =
        (struct channel_plan){.shape = *shape, .bytes = shape->elements * shape->element_bytes};
    if (shape->elements == 0)
        return RBWP_OK;
    const bool fills = transfer->kind == RBWP_TRANSFER_FILL;
    if (!sides->target_on_device || (!fills && !sides->source_on_device))
        return plan_host_side(plan_out, transfer, sides, reason_out);
    if (sides->on_two_devices)
        return plan_two_devices(plan_out, transfer, reason_out);
    if (transfer->kind == RBWP_TRANSFER_REDUCE) {
        plan_out->way = CHANNEL_WAY_REDUCE;
        plan_reduce(plan_out, transfer, sides);
        return RBWP_OK;
    }
    if (!fills && !sides->may_share && is_run(shape) && engine_loops(shape) == shape->loops) {
        plan_engine(plan_out, CHANNEL_WAY_ENGINE);
        return RBWP_OK;
    }
    if (!fills && suits_tiles(plan_out, sides)) {
        plan_out->way = CHANNEL_WAY_TRANSPOSE;
        plan_transpose(plan_out);
        return RBWP_OK;
    }
    plan_out->way = fills ? CHANNEL_WAY_FILL : CHANNEL_WAY_COPY;
    plan_copy(plan_out, sides);
    return RBWP_OK;
}
