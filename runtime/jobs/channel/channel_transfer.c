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
