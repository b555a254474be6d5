/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_copy.c - what the three drivers' copies have in common: bounds, pitches, and splitting. */
#include "gpu_backend.h"

/* Sets pitches that were left 0 and says whether the side's rows and slices hold what is copied. */
static bool complete_side(struct gpu_copy_side *side, const struct gpu_copy *copy)
{
    uint64_t last, end;
    if (copy->height > 1 || copy->depth > 1) {
        if (side->row_bytes < copy->width_bytes && copy->height > 1)
            return false;
    }
    if (copy->height == 1)
        side->row_bytes = copy->width_bytes;
    uint64_t slice;
    if (__builtin_mul_overflow(side->row_bytes, copy->height, &slice))
        return false;
    if (copy->depth == 1)
        side->slice_bytes = slice;
    if (side->slice_bytes < slice - (side->row_bytes - copy->width_bytes))
        return false;
    bool fits =
        !__builtin_mul_overflow(side->slice_bytes, copy->depth - 1, &last) &&
        !__builtin_add_overflow(last, slice - (side->row_bytes - copy->width_bytes), &end) &&
        !__builtin_add_overflow(end, side->offset_bytes, &end);
    return fits && (!side->device || end <= side->device->bytes);
}

static bool whole_rows(const struct gpu_copy_side *side, const struct gpu_copy *copy)
{
    return copy->depth == 1 || (side->slice_bytes % side->row_bytes == 0 &&
                                side->slice_bytes / side->row_bytes >= copy->height);
}

/* Rows without gaps are longer rows, slices without gaps more rows. */
static void join_rows(struct gpu_copy *copy)
{
    if (copy->depth > 1 && copy->dst.slice_bytes == copy->dst.row_bytes * copy->height &&
        copy->src.slice_bytes == copy->src.row_bytes * copy->height) {
        copy->height *= copy->depth;
        copy->depth = 1;
    }
    if (copy->depth == 1 && copy->dst.row_bytes == copy->width_bytes &&
        copy->src.row_bytes == copy->width_bytes) {
        copy->width_bytes *= copy->height;
        copy->height = 1;
        copy->dst.row_bytes = copy->src.row_bytes = copy->width_bytes;
    }
}

int gpu_copy(struct gpu_context *context, const struct gpu_copy *copy, void *stream)
{
    const struct gpu_backend *backend = context->backend;
    struct gpu_copy whole = *copy;
    if (!whole.dst.device && !whole.src.device)
        return GPU_INVALID;
    if (whole.width_bytes == 0 || whole.height == 0 || whole.depth == 0)
        return GPU_OK;
    if (!complete_side(&whole.dst, &whole) || !complete_side(&whole.src, &whole))
        return GPU_INVALID;
    join_rows(&whole);
    if (whole_rows(&whole.dst, &whole) && whole_rows(&whole.src, &whole))
        return backend->copy_part(context, &whole, whole.height == 1 && whole.depth == 1, stream);
    struct gpu_copy slice = whole;
    slice.depth = 1;
    slice.dst.slice_bytes = whole.dst.row_bytes * whole.height;
    slice.src.slice_bytes = whole.src.row_bytes * whole.height;
    int code = GPU_OK;
    for (uint64_t i = 0; i < whole.depth && code == GPU_OK; i++) {
        code = backend->copy_part(context, &slice, slice.height == 1, stream);
        slice.dst.offset_bytes += whole.dst.slice_bytes;
        slice.src.offset_bytes += whole.src.slice_bytes;
    }
    return code;
}
