/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_transfer.c - one transfer, carried out a piece at a time.
 *
 * Memory to memory is a walk. With a file, the elements go piece by piece
 * through a buffer in the file's order: read the piece, walk it into memory;
 * or walk memory into the buffer, write the piece; a reduction into a file
 * reads, walks and writes. A copy whose memory is one run skips the buffer.
 * Every system call and every walk is one step, so the clock is looked at in
 * between.
 */
#include "channel_transfer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- channel move ---------------------------------------------------------------------------- */
/*
 * Walk the loops of a transfer, a little at a time.
 *
 * Two ways of walking. By rows: as much of loop 0 as the cost allows, then the
 * next row. By tiles, where source and target are contiguous along different
 * loops: squares that are gathered line by line into a small buffer and handed
 * on from there. Without the buffer the lines of a matrix whose width is a
 * power of two push each other out of the first-level cache (2.8 times slower,
 * measured with 2048 by 2048 four-byte elements).
 *
 * memmove, not memcpy, for runs: overlapping sides give unspecified contents
 * by contract, but never undefined behaviour.
 */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* loops over elements: worth unrolling in every build type */
#endif

#define ROW_COST 16u    /* to begin a row */
#define STRIDE_COST 12u /* to visit an element on its own, on top of its bytes */
#define TILE_LINE_BYTES 128u
#define TILE_EDGE_MAX 64u
#define TILE_BYTES_MAX (TILE_EDGE_MAX * TILE_LINE_BYTES) /* elements of 1 or 2 bytes */

#define ANY_ADDRESS __attribute__((aligned(1), may_alias))
typedef uint16_t element_2 ANY_ADDRESS;
typedef uint32_t element_4 ANY_ADDRESS;
typedef uint64_t element_8 ANY_ADDRESS;
typedef uint64_t element_16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint8_t element_1;

struct row {
    uint8_t *target;
    const uint8_t *source;
    int64_t target_stride, source_stride;
    uint64_t count;
};

#define DEFINE_COPY_STRIDED(bytes)                                                                 \
    static void copy_strided_##bytes(struct row row)                                               \
    {                                                                                              \
        for (uint64_t i = 0; i < row.count; i++)                                                   \
            *(element_##bytes *)(row.target + (int64_t)i * row.target_stride) =                    \
                *(const element_##bytes *)(row.source + (int64_t)i * row.source_stride);           \
    }
DEFINE_COPY_STRIDED(1)
DEFINE_COPY_STRIDED(2)
DEFINE_COPY_STRIDED(4)
DEFINE_COPY_STRIDED(8)
DEFINE_COPY_STRIDED(16)

static void copy_strided(struct row row, uint32_t element_bytes)
{
    switch (element_bytes) {
    case 1:
        copy_strided_1(row);
        return;
    case 2:
        copy_strided_2(row);
        return;
    case 4:
        copy_strided_4(row);
        return;
    case 8:
        copy_strided_8(row);
        return;
    case 16:
        copy_strided_16(row);
        return;
    default:
        for (uint64_t i = 0; i < row.count; i++)
            memmove(row.target + (int64_t)i * row.target_stride,
                    row.source + (int64_t)i * row.source_stride, element_bytes);
    }
}

/* Doubles what is there already: the copies are long whatever the element's size. */
static void fill_run(uint8_t *target, const struct channel_action *action, uint32_t element_bytes,
                     uint64_t count)
{
    const size_t bytes = (size_t)(count * element_bytes); /* a run in memory */
    if (action->fill_is_byte) {
        memset(target, action->fill[0], bytes);
        return;
    }
    memcpy(target, action->fill, element_bytes);
    for (size_t done = element_bytes; done < bytes;) {
        const size_t next = done < bytes - done ? done : bytes - done;
        memcpy(target + done, target, next);
        done += next;
    }
}

static void move_row(const struct rbwp_transfer_shape *shape, const struct channel_action *action,
                     struct row row)
{
    const uint32_t element_bytes = shape->element_bytes;
    if (action->kind == RBWP_TRANSFER_REDUCE)
        action->reduce(row.target, row.target_stride, row.source, row.source_stride,
                       (size_t)row.count);
    else if (action->kind != RBWP_TRANSFER_FILL && channel_shape_is_run(shape))
        memmove(row.target, row.source, (size_t)(row.count * element_bytes));
    else if (action->kind == RBWP_TRANSFER_FILL && row.target_stride == (int64_t)element_bytes)
        fill_run(row.target, action, element_bytes, row.count);
    else
        copy_strided(row, element_bytes);
}

/* Elements of loop 0 visited one after the other cost their bytes, others more. */
static uint64_t element_cost(const struct rbwp_transfer_shape *shape,
                             const struct channel_action *action)
{
    const int64_t element_bytes = shape->element_bytes;
    const bool target_runs = shape->target_stride[0] == element_bytes ||
                             (action->kind == RBWP_TRANSFER_REDUCE && shape->target_stride[0] == 0);
    const bool source_runs =
        action->kind == RBWP_TRANSFER_FILL || shape->source_stride[0] == element_bytes;
    return shape->element_bytes + (target_runs && source_runs ? 0 : STRIDE_COST);
}

static int64_t offset_of(const int64_t stride[RBWP_TRANSFER_DIMENSIONS_MAX],
                         const struct channel_walk *walk, unsigned loops)
{
    int64_t offset = 0;
    for (unsigned d = 0; d < loops; d++)
        offset += (int64_t)walk->index[d] * stride[d];
    return offset;
}

static uint8_t *address_of(struct channel_side side, int64_t offset)
{
    return side.base + (offset - side.origin);
}

/* step[d] elements of loop d were done; loops below a finished one start again. */
static void advance(struct channel_walk *walk, const struct rbwp_transfer_shape *shape,
                    const uint64_t step[RBWP_TRANSFER_DIMENSIONS_MAX])
{
    for (unsigned d = 0; d < shape->loops; d++) {
        walk->index[d] += step[d];
        if (walk->index[d] < shape->extent[d])
            return;
        walk->index[d] = 0;
    }
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t step_rows(struct channel_walk *walk, const struct rbwp_transfer_shape *shape,
                          const struct channel_action *action, struct channel_side target,
                          struct channel_side source, uint64_t elements_max, uint64_t cost)
{
    const uint64_t each = element_cost(shape, action);
    uint64_t moved = 0, spent = 0;
    while (moved < elements_max && spent < cost) {
        uint64_t count = (cost - spent) / each;
        count = smaller(count ? count : 1, shape->extent[0] - walk->index[0]);
        count = smaller(count, elements_max - moved);
        const int64_t to = offset_of(shape->target_stride, walk, shape->loops);
        const int64_t from = offset_of(shape->source_stride, walk, shape->loops);
        const bool fill = action->kind == RBWP_TRANSFER_FILL;
        move_row(shape, action,
                 (struct row){.target = address_of(target, to),
                              .source = fill ? action->fill : address_of(source, from),
                              .target_stride = shape->target_stride[0],
                              .source_stride = shape->source_stride[0],
                              .count = count});
        advance(walk, shape, (uint64_t[]){count, 1, 1});
        moved += count;
        spent += ROW_COST + count * each;
    }
    return moved;
}

static uint64_t tile_edge(uint32_t element_bytes)
{
    const uint64_t edge = TILE_LINE_BYTES / element_bytes;
    return edge == 0 ? 1 : smaller(edge, TILE_EDGE_MAX);
}

/* One tile, in lines along the source into the buffer, then in lines along the target. */
static void copy_tile(const struct rbwp_transfer_shape *shape, struct row tile, uint64_t rows)
{
    const uint32_t element_bytes = shape->element_bytes;
    const int64_t line_bytes = (int64_t)(rows * element_bytes);
    uint8_t lines[TILE_BYTES_MAX];
    for (uint64_t c = 0; c < tile.count; c++) {
        const struct row line = {.target = lines + (int64_t)c * line_bytes,
                                 .source = tile.source + (int64_t)c * shape->source_stride[0],
                                 .target_stride = element_bytes,
                                 .source_stride = shape->source_stride[1],
                                 .count = rows};
        if (line.source_stride == line.target_stride)
            memcpy(line.target, line.source, (size_t)line_bytes);
        else
            copy_strided(line, element_bytes);
    }
    for (uint64_t r = 0; r < rows; r++)
        copy_strided((struct row){.target = tile.target + (int64_t)r * shape->target_stride[1],
                                  .source = lines + r * element_bytes,
                                  .target_stride = shape->target_stride[0],
                                  .source_stride = line_bytes,
                                  .count = tile.count},
                     element_bytes);
}

static uint64_t step_tiles(struct channel_walk *walk, const struct rbwp_transfer_shape *shape,
                           struct channel_side target, struct channel_side source, uint64_t cost)
{
    const uint64_t edge = tile_edge(shape->element_bytes);
    uint64_t moved = 0, spent = 0;
    while (moved < walk->left && spent < cost) {
        const uint64_t columns = smaller(edge, shape->extent[0] - walk->index[0]);
        const uint64_t rows = smaller(edge, shape->extent[1] - walk->index[1]);
        uint8_t *to = address_of(target, offset_of(shape->target_stride, walk, shape->loops));
        const uint8_t *from =
            address_of(source, offset_of(shape->source_stride, walk, shape->loops));
        const struct row tile = {.target = to,
                                 .source = from,
                                 .target_stride = shape->target_stride[0],
                                 .source_stride = shape->source_stride[0],
                                 .count = columns};
        if (edge == 1) /* large elements: a tile is one */
            copy_strided(tile, shape->element_bytes);
        else
            copy_tile(shape, tile, rows);
        advance(walk, shape, (uint64_t[]){edge, edge, 1});
        moved += columns * rows;
        spent += columns * rows * (shape->element_bytes + STRIDE_COST);
    }
    return moved;
}

void channel_walk_begin(struct channel_walk *walk, const struct rbwp_transfer_shape *shape)
{
    *walk = (struct channel_walk){.left = shape->elements};
}

uint64_t channel_walk_step(struct channel_walk *walk, const struct rbwp_transfer_shape *shape,
                           const struct channel_action *action, struct channel_side target,
                           struct channel_side source, uint64_t elements_max, uint64_t cost)
{
    const uint64_t moved = shape->tiled ? step_tiles(walk, shape, target, source, cost)
                                        : step_rows(walk, shape, action, target, source,
                                                    smaller(elements_max, walk->left), cost);
    walk->left -= moved;
    return moved;
}

/* ---- reductions ------------------------------------------------------------------------------ */
/*
 * The arithmetic of reductions.
 *
 * Each pair of operation and type gets the same three loops: both sides
 * contiguous, the target in place, and any strides. The first two are written
 * so that a compiler makes vector code of them. A fold keeps LANES partial
 * results, number i going to lane i % LANES, because floating-point addition
 * may not be reordered by the compiler; so the order is fixed here, and the
 * same on every machine.
 *
 * Numbers may lie at any address, hence the types of alignment 1. Signed sums
 * and products are computed unsigned, where wrapping around is defined.
 */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* gcc 12 makes vector code of these loops at -O3 only */
#endif

#define LANES 16

#define ANY_ADDRESS __attribute__((aligned(1), may_alias))
typedef int32_t number_i32 ANY_ADDRESS;
typedef int64_t number_i64 ANY_ADDRESS;
typedef uint32_t number_u32 ANY_ADDRESS;
typedef uint64_t number_u64 ANY_ADDRESS;
typedef float number_f32 ANY_ADDRESS;
typedef double number_f64 ANY_ADDRESS;

/*
 * apply(a, s) is the operation; start(t) is what a lane begins with when the target holds t:
 * a number that changes nothing.
 */
#define DEFINE_REDUCE(name, number, apply, start)                                                  \
    static void fold_##name(uint8_t *target, const uint8_t *source, int64_t stride, size_t count)  \
    {                                                                                              \
        number *const t = (number *)target;                                                        \
        number lane[LANES];                                                                        \
        for (size_t l = 0; l < LANES; l++)                                                         \
            lane[l] = start(*t);                                                                   \
        size_t i = 0;                                                                              \
        if (stride == (int64_t)sizeof(number)) {                                                   \
            const number *const s = (const number *)source;                                        \
            for (; i + LANES <= count; i += LANES)                                                 \
                for (size_t l = 0; l < LANES; l++)                                                 \
                    lane[l] = (number)apply(lane[l], s[i + l]);                                    \
        }                                                                                          \
        for (; i < count; i++) {                                                                   \
            const number s = *(const number *)(source + (int64_t)i * stride);                      \
            lane[i % LANES] = (number)apply(lane[i % LANES], s);                                   \
        }                                                                                          \
        for (size_t half = LANES / 2; half > 0; half /= 2)                                         \
            for (size_t l = 0; l < half; l++)                                                      \
                lane[l] = (number)apply(lane[l], lane[l + half]);                                  \
        *t = (number)apply(*t, lane[0]);                                                           \
    }                                                                                              \
    static void reduce_##name(uint8_t *target, int64_t target_stride, const uint8_t *source,       \
                              int64_t source_stride, size_t count)                                 \
    {                                                                                              \
        if (target_stride == 0) {                                                                  \
            fold_##name(target, source, source_stride, count);                                     \
        } else if (target_stride == (int64_t)sizeof(number) &&                                     \
                   source_stride == (int64_t)sizeof(number)) {                                     \
            number *const t = (number *)target;                                                    \
            const number *const s = (const number *)source;                                        \
            for (size_t i = 0; i < count; i++)                                                     \
                t[i] = (number)apply(t[i], s[i]);                                                  \
        } else {                                                                                   \
            for (size_t i = 0; i < count; i++) {                                                   \
                number *const t = (number *)(target + (int64_t)i * target_stride);                 \
                const number s = *(const number *)(source + (int64_t)i * source_stride);           \
                *t = (number)apply(*t, s);                                                         \
            }                                                                                      \
        }                                                                                          \
    }

#define ADD(a, s) ((a) + (s))
#define ADD_32(a, s) ((uint32_t)(a) + (uint32_t)(s))
#define ADD_64(a, s) ((uint64_t)(a) + (uint64_t)(s))
#define MULTIPLY(a, s) ((a) * (s))
#define MULTIPLY_32(a, s) ((uint32_t)(a) * (uint32_t)(s))
#define MULTIPLY_64(a, s) ((uint64_t)(a) * (uint64_t)(s))
#define SMALLER(a, s) ((s) < (a) ? (s) : (a))
#define LARGER(a, s) ((s) > (a) ? (s) : (a))
#define ZERO(t) 0
#define MINUS_ZERO(t) (-0.0f) /* +0 would turn a sum of -0 into +0 */
#define ONE(t) 1
#define ITSELF(t) (t)

#define DEFINE_TYPE(name, add, zero, multiply)                                                     \
    DEFINE_REDUCE(sum_##name, number_##name, add, zero)                                            \
    DEFINE_REDUCE(prod_##name, number_##name, multiply, ONE)                                       \
    DEFINE_REDUCE(min_##name, number_##name, SMALLER, ITSELF)                                      \
    DEFINE_REDUCE(max_##name, number_##name, LARGER, ITSELF)

DEFINE_TYPE(i32, ADD_32, ZERO, MULTIPLY_32)
DEFINE_TYPE(i64, ADD_64, ZERO, MULTIPLY_64)
DEFINE_TYPE(u32, ADD_32, ZERO, MULTIPLY_32)
DEFINE_TYPE(u64, ADD_64, ZERO, MULTIPLY_64)
DEFINE_TYPE(f32, ADD, MINUS_ZERO, MULTIPLY)
DEFINE_TYPE(f64, ADD, MINUS_ZERO, MULTIPLY)

#define OPS(name)                                                                                  \
    {                                                                                              \
        [RBWP_REDUCE_SUM] = reduce_sum_##name, [RBWP_REDUCE_PROD] = reduce_prod_##name,            \
        [RBWP_REDUCE_MIN] = reduce_min_##name, [RBWP_REDUCE_MAX] = reduce_max_##name               \
    }

static const channel_reduce_fn reductions[RBWP_REDUCE_F64 + 1][RBWP_REDUCE_MAX + 1] = {
    [RBWP_REDUCE_I32] = OPS(i32), [RBWP_REDUCE_I64] = OPS(i64), [RBWP_REDUCE_U32] = OPS(u32),
    [RBWP_REDUCE_U64] = OPS(u64), [RBWP_REDUCE_F32] = OPS(f32), [RBWP_REDUCE_F64] = OPS(f64),
};

channel_reduce_fn channel_reduce_find(enum rbwp_reduce_op op, enum rbwp_reduce_type type)
{
    if ((unsigned)type > RBWP_REDUCE_F64 || (unsigned)op > RBWP_REDUCE_MAX)
        return NULL;
    return reductions[type][op];
}

/* ---- channel transfer ------------------------------------------------------------------------ */

static enum channel_class class_of(const struct rbwp_transfer *transfer)
{
    if (transfer->target.is_file)
        return CHANNEL_FILE_WRITE;
    switch (transfer->kind) {
    case RBWP_TRANSFER_FILL:
        return CHANNEL_FILL;
    case RBWP_TRANSFER_COPY:
    case RBWP_TRANSFER_TRANSPOSE:
    case RBWP_TRANSFER_REDUCE:
        break;
    }
    if (transfer->source.is_file)
        return CHANNEL_FILE_READ;
    return transfer->kind == RBWP_TRANSFER_TRANSPOSE ? CHANNEL_TRANSPOSE
           : transfer->kind == RBWP_TRANSFER_REDUCE  ? CHANNEL_REDUCE
                                                     : CHANNEL_COPY;
}

static void set_action(struct channel_transfer *t, const struct rbwp_transfer *transfer,
                       uint8_t *fill_copy)
{
    t->action.kind = transfer->kind;
    t->action.reduce = channel_reduce_find(transfer->reduce_op, transfer->reduce_type);
    if (transfer->kind != RBWP_TRANSFER_FILL)
        return;
    memcpy(fill_copy, transfer->fill, transfer->element_bytes);
    t->action.fill = fill_copy;
    t->action.fill_is_byte = memcmp(fill_copy, fill_copy + 1, transfer->element_bytes - 1) == 0;
}

size_t channel_transfer_fill_bytes(const struct rbwp_transfer *transfer)
{
    const bool fill = transfer->kind == RBWP_TRANSFER_FILL &&
                      transfer->element_bytes <= RBWP_TRANSFER_ELEMENT_BYTES_MAX;
    return fill ? transfer->element_bytes : 0;
}

enum rbwp_status channel_transfer_begin(struct channel_transfer *t,
                                        const struct rbwp_transfer *transfer, uint8_t *fill_copy,
                                        const char **reason_out)
{
    struct rbwp_transfer_shape shape;
    const enum rbwp_status status = channel_shape_make(transfer, &shape, reason_out);
    if (status != RBWP_OK)
        return status;
    const bool has_source = transfer->kind != RBWP_TRANSFER_FILL;
    *t = (struct channel_transfer){
        .shape = shape,
        .class = class_of(transfer),
        .target = {.base = transfer->target.memory},
        .source = {.base = has_source ? transfer->source.memory : NULL},
        .writes_file = transfer->target.is_file,
        .reads_file = (has_source && transfer->source.is_file) ||
                      (transfer->kind == RBWP_TRANSFER_REDUCE && transfer->target.is_file),
        .fd = transfer->target.is_file ? transfer->target.fd : transfer->source.fd,
        .file_offset = transfer->target.is_file ? transfer->target.offset_bytes
                                                : transfer->source.offset_bytes,
        .status = RBWP_AGAIN,
    };
    set_action(t, transfer, fill_copy);
    channel_walk_begin(&t->walk, &t->shape);
    return RBWP_OK;
}

/* ---- files ------------------------------------------------------------------ */

static bool skips_buffer(const struct channel_transfer *t)
{
    return t->shape.loops == 1 && t->action.kind != RBWP_TRANSFER_REDUCE &&
           t->action.kind != RBWP_TRANSFER_FILL && channel_shape_is_run(&t->shape);
}

/* The memory that the piece is read into or written from. */
static uint8_t *piece_memory(const struct channel_transfer *t, uint8_t *buffer)
{
    if (!skips_buffer(t))
        return buffer;
    return (t->writes_file ? t->source.base : t->target.base) + t->piece_at;
}

static enum rbwp_status channel_transfer_fail(struct channel_transfer *t, enum rbwp_status status,
                                              int os_errno)
{
    const bool reached_target = t->phase == CHANNEL_WRITING || skips_buffer(t);
    t->bytes_done = t->piece_at + (reached_target ? t->piece_done : 0);
    t->os_errno = os_errno;
    return status;
}

/* Reads or writes what is left of the piece, or some of it. */
static enum rbwp_status move_piece(struct channel_transfer *t, uint8_t *buffer, bool writes)
{
    uint8_t *memory = piece_memory(t, buffer) + t->piece_done;
    const size_t left = (size_t)(t->piece_bytes - t->piece_done);
    const off_t at = (off_t)(t->file_offset + t->piece_at + t->piece_done);
    const ssize_t moved = writes ? pwrite(t->fd, memory, left, at) : pread(t->fd, memory, left, at);
    if (moved < 0)
        return errno == EINTR ? RBWP_AGAIN : channel_transfer_fail(t, RBWP_E_IO, errno);
    if (moved == 0) /* writes: not for regular files; others must not keep us here for ever */
        return writes ? channel_transfer_fail(t, RBWP_E_IO, ENOSPC)
                      : channel_transfer_fail(t, RBWP_E_TRUNCATED, 0);
    t->piece_done += (uint64_t)moved;
    if (t->piece_done == t->piece_bytes)
        t->phase = writes ? CHANNEL_NEXT_PIECE : CHANNEL_WALKING;
    return RBWP_AGAIN;
}

static void begin_piece(struct channel_transfer *t, uint8_t *buffer)
{
    const uint64_t elements_max = CHANNEL_FILE_PIECE_BYTES / t->shape.element_bytes;
    const uint64_t elements = t->walk.left < elements_max ? t->walk.left : elements_max;
    t->piece_at += t->piece_bytes;
    t->piece_bytes = elements * t->shape.element_bytes;
    t->piece_done = 0;
    t->piece_walked = 0;
    t->phase = t->reads_file ? CHANNEL_READING : CHANNEL_WALKING;
    if (skips_buffer(t))
        return;
    struct channel_side *const file_side = t->writes_file ? &t->target : &t->source;
    *file_side = (struct channel_side){.base = buffer, .origin = (int64_t)t->piece_at};
}

static void walk_piece(struct channel_transfer *t, uint64_t cost)
{
    const uint64_t elements = t->piece_bytes / t->shape.element_bytes;
    if (skips_buffer(t)) {
        t->walk.left -= elements;
        t->piece_walked = elements;
    } else {
        t->piece_walked += channel_walk_step(&t->walk, &t->shape, &t->action, t->target, t->source,
                                             elements - t->piece_walked, cost);
    }
    if (t->piece_walked < elements)
        return;
    t->piece_done = 0;
    t->phase = t->writes_file ? CHANNEL_WRITING : CHANNEL_NEXT_PIECE;
}

static enum rbwp_status step_file(struct channel_transfer *t, uint8_t *buffer, uint64_t cost)
{
    enum rbwp_status status = RBWP_AGAIN;
    switch (t->phase) {
    case CHANNEL_NEXT_PIECE:
        begin_piece(t, buffer);
        break;
    case CHANNEL_READING:
        status = move_piece(t, buffer, false);
        break;
    case CHANNEL_WALKING:
        walk_piece(t, cost);
        break;
    case CHANNEL_WRITING:
        status = move_piece(t, buffer, true);
        break;
    }
    if (t->phase == CHANNEL_NEXT_PIECE && status == RBWP_AGAIN) {
        t->bytes_done = t->piece_at + t->piece_bytes;
        if (t->walk.left == 0)
            return RBWP_OK;
        begin_piece(t, buffer);
    }
    return status;
}

/* ---- both ------------------------------------------------------------------- */

static enum rbwp_status step_memory(struct channel_transfer *t, uint64_t cost)
{
    const uint64_t moved =
        channel_walk_step(&t->walk, &t->shape, &t->action, t->target, t->source, UINT64_MAX, cost);
    t->bytes_done += moved * t->shape.element_bytes;
    return t->walk.left == 0 ? RBWP_OK : RBWP_AGAIN;
}

enum rbwp_status channel_transfer_step(struct channel_transfer *t, uint8_t *buffer, uint64_t cost)
{
    if (t->status != RBWP_AGAIN)
        return t->status;
    if (t->shape.elements == 0)
        t->status = RBWP_OK;
    else if (t->reads_file || t->writes_file)
        t->status = step_file(t, buffer, cost);
    else
        t->status = step_memory(t, cost);
    return t->status;
}
