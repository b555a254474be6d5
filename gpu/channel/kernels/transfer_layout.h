/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_layout.h - what a launch of a transfer kernel gets.
 *
 * One text for both sides: included by the host's C, and by transfer.cl, which is compiled for
 * devices. The includer defines u32, u64 and i64. All members have the same size
 * and place on every side. With the two pointers a launch fits in the 1024 bytes of arguments that
 * every OpenCL device takes.
 */
#ifndef RBWP_TRANSFER_LAYOUT_H
#define RBWP_TRANSFER_LAYOUT_H

#define TRANSFER_THREADS 256u /* of a block */
#define TRANSFER_TILE 32u     /* units along each edge */
#define TRANSFER_LOOPS 4u
#define TRANSFER_PIECES 6u

/* The numbers are those of enum rbwp_reduce_op. */
#define TRANSFER_SUM 1u
#define TRANSFER_PROD 2u
#define TRANSFER_MIN 3u
#define TRANSFER_MAX 4u

/*
 * A nest of loops, loop 0 innermost, and the part of it that this launch does: indices first to
 * first + count - 1. What an index counts is the kernel's: an element, a tile, or a chunk of a
 * fold. Strides and offsets are bytes.
 */
struct transfer_piece {
    u64 extent[TRANSFER_LOOPS];
    i64 source_stride[TRANSFER_LOOPS];
    i64 target_stride[TRANSFER_LOOPS];
    i64 source_offset, target_offset;
    u64 first, count;
    u64 chunks, chunk_length; /* fold: of each target element's sources */
    u32 loops;                /* in use */
    u32 folds;                /* fold: so many inner loops stay in place in the target */
    u32 aligned;              /* reductions: numbers lie at multiples of their size */
    u32 to_scratch;           /* fold: results are partial ones; number i goes to place i */
};

struct transfer_launch {
    u32 blocks; /* that share a piece */
    u32 op;
    struct transfer_piece piece[TRANSFER_PIECES]; /* piece i is for the blocks whose y is i */
};

#endif /* RBWP_TRANSFER_LAYOUT_H */
