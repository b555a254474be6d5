/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.cl - the transfer kernels: affine copy, transpose by tiles, reduction, fold.
 *
 * One text in the common part of CUDA C++, HIP C++ and OpenCL C, behind a few macros. No header is
 * needed: where clang compiles for a device its builtins are used, else what nvcc and NVRTC bring.
 * A fill is a copy from one element that stays in place.
 *
 * The host chooses the unit of a copy so that every address is a multiple of its size; numbers of
 * a reduction that are not so aligned are put together from bytes.
 */
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef long i64;
typedef ulong2 u128;
#define KERNEL __kernel void
#define DEVICE inline static
#define GLOBAL __global
#define LOCAL __local
#define THREAD ((u32)get_local_id(0))
#define BLOCK_X ((u32)get_group_id(0))
#define BLOCK_Y ((u32)get_group_id(1))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HAS_F64 1
#endif
#else
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define GLOBAL
#define HAS_F64 1
#if defined(__clang__)
typedef u64 u128 __attribute__((ext_vector_type(2)));
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static __attribute__((device)) inline
#define LOCAL __attribute__((shared)) static
#if defined(__AMDGCN__)
#define THREAD __builtin_amdgcn_workitem_id_x()
#define BLOCK_X __builtin_amdgcn_workgroup_id_x()
#define BLOCK_Y __builtin_amdgcn_workgroup_id_y()
#define BARRIER()                                                                                  \
    do {                                                                                           \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                     \
        __builtin_amdgcn_s_barrier();                                                              \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                     \
    } while (0)
#else
#define THREAD ((u32)__nvvm_read_ptx_sreg_tid_x())
#define BLOCK_X ((u32)__nvvm_read_ptx_sreg_ctaid_x())
#define BLOCK_Y ((u32)__nvvm_read_ptx_sreg_ctaid_y())
#define BARRIER() __syncthreads()
#endif
#else
struct __attribute__((aligned(16))) u128 {
    u64 low, high;
};
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ inline
#define LOCAL __shared__
#define THREAD threadIdx.x
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define BARRIER() __syncthreads()
#endif
#endif

#include "transfer_layout.h"

/* Adds the offsets of index `rest` in loops begin to end - 1 to from and to. */
#define ADD_OFFSETS(piece, rest, begin, end, from, to)                                             \
    for (u32 loop = 0; loop < TRANSFER_LOOPS; loop++)                                              \
        if (loop + 1 > (begin) && loop < (end)) {                                                  \
            u64 at = (rest);                                                                       \
            if (loop + 1 < (end)) {                                                                \
                (rest) = at / (piece).extent[loop];                                                \
                at -= (rest) * (piece).extent[loop];                                               \
            }                                                                                      \
            (from) += (i64)at * (piece).source_stride[loop];                                       \
            (to) += (i64)at * (piece).target_stride[loop];                                         \
        }

/* ---- copy: an index is a unit --------------------------------------------------- */

#define DEFINE_COPY(name, unit)                                                                    \
    KERNEL name(GLOBAL u8 *target, GLOBAL const u8 *source, const struct transfer_launch launch)   \
    {                                                                                              \
        const struct transfer_piece piece = launch.piece[BLOCK_Y];                                 \
        for (u64 i = (u64)BLOCK_X * TRANSFER_THREADS + THREAD; i < piece.count;                    \
             i += (u64)launch.blocks * TRANSFER_THREADS) {                                         \
            i64 from = piece.source_offset, to = piece.target_offset;                              \
            u64 rest = piece.first + i;                                                            \
            ADD_OFFSETS(piece, rest, 0, piece.loops, from, to)                                     \
            *(GLOBAL unit *)(target + to) = *(GLOBAL const unit *)(source + from);                 \
        }                                                                                          \
    }
DEFINE_COPY(rbwp_copy_1, u8)
DEFINE_COPY(rbwp_copy_2, u16)
DEFINE_COPY(rbwp_copy_4, u32)
DEFINE_COPY(rbwp_copy_8, u64)
DEFINE_COPY(rbwp_copy_16, u128)

/* ---- transpose: an index is a tile of loops 0 and 1 ----------------------------------- */

/*
 * The target runs along loop 0, the source along loop 1. A tile is read in lines along the source
 * and written in lines along the target; a column more keeps the lines of a tile in different
 * banks.
 */
#define DEFINE_TRANSPOSE(name, unit)                                                               \
    KERNEL name(GLOBAL u8 *target, GLOBAL const u8 *source, const struct transfer_launch launch)   \
    {                                                                                              \
        LOCAL unit tile[TRANSFER_TILE][TRANSFER_TILE + 1];                                         \
        const struct transfer_piece piece = launch.piece[BLOCK_Y];                                 \
        const u32 lane = THREAD % TRANSFER_TILE, line = THREAD / TRANSFER_TILE;                    \
        const u64 wide = (piece.extent[0] + TRANSFER_TILE - 1) / TRANSFER_TILE;                    \
        const u64 high = (piece.extent[1] + TRANSFER_TILE - 1) / TRANSFER_TILE;                    \
        for (u64 i = BLOCK_X; i < piece.count; i += launch.blocks) {                               \
            i64 from = piece.source_offset, to = piece.target_offset;                              \
            u64 rest = piece.first + i;                                                            \
            const u64 at_0 = rest % wide * TRANSFER_TILE;                                          \
            rest /= wide;                                                                          \
            const u64 at_1 = rest % high * TRANSFER_TILE;                                          \
            rest /= high;                                                                          \
            ADD_OFFSETS(piece, rest, 2, piece.loops, from, to)                                     \
            for (u32 l = line; l < TRANSFER_TILE; l += TRANSFER_THREADS / TRANSFER_TILE)           \
                if (at_0 + l < piece.extent[0] && at_1 + lane < piece.extent[1])                   \
                    tile[l][lane] =                                                                \
                        *(GLOBAL const unit *)(source + from +                                     \
                                               (i64)(at_0 + l) * piece.source_stride[0] +          \
                                               (i64)(at_1 + lane) * piece.source_stride[1]);       \
            BARRIER();                                                                             \
            for (u32 l = line; l < TRANSFER_TILE; l += TRANSFER_THREADS / TRANSFER_TILE)           \
                if (at_0 + lane < piece.extent[0] && at_1 + l < piece.extent[1])                   \
                    *(GLOBAL unit *)(target + to + (i64)(at_0 + lane) * piece.target_stride[0] +   \
                                     (i64)(at_1 + l) * piece.target_stride[1]) = tile[lane][l];    \
            BARRIER();                                                                             \
        }                                                                                          \
    }
DEFINE_TRANSPOSE(rbwp_transpose_1, u8)
DEFINE_TRANSPOSE(rbwp_transpose_2, u16)
DEFINE_TRANSPOSE(rbwp_transpose_4, u32)
DEFINE_TRANSPOSE(rbwp_transpose_8, u64)
DEFINE_TRANSPOSE(rbwp_transpose_16, u128)

/* ---- reductions -------------------------------------------------------------------------- */

/* wrap: the type in which sums and products are computed, so that integers wrap around. */
#define DEFINE_NUMBER(name, number, bits, wrap, zero, least, greatest)                             \
    DEVICE number load_##name(GLOBAL const u8 *at, u32 aligned)                                    \
    {                                                                                              \
        union {                                                                                    \
            bits raw;                                                                              \
            number value;                                                                          \
        } both;                                                                                    \
        if (aligned)                                                                               \
            return *(GLOBAL const number *)at;                                                     \
        both.raw = 0;                                                                              \
        for (u32 i = 0; i < sizeof(bits); i++)                                                     \
            both.raw |= (bits)at[i] << (8 * i);                                                    \
        return both.value;                                                                         \
    }                                                                                              \
    DEVICE void store_##name(GLOBAL u8 *at, u32 aligned, number value)                             \
    {                                                                                              \
        union {                                                                                    \
            bits raw;                                                                              \
            number value;                                                                          \
        } both;                                                                                    \
        if (aligned) {                                                                             \
            *(GLOBAL number *)at = value;                                                          \
            return;                                                                                \
        }                                                                                          \
        both.value = value;                                                                        \
        for (u32 i = 0; i < sizeof(bits); i++)                                                     \
            at[i] = (u8)(both.raw >> (8 * i));                                                     \
    }                                                                                              \
    DEVICE number apply_##name(u32 op, number a, number s)                                         \
    {                                                                                              \
        if (op == TRANSFER_SUM)                                                                    \
            return (number)((wrap)a + (wrap)s);                                                    \
        if (op == TRANSFER_PROD)                                                                   \
            return (number)((wrap)a * (wrap)s);                                                    \
        if (op == TRANSFER_MIN)                                                                    \
            return s < a ? s : a;                                                                  \
        return s > a ? s : a;                                                                      \
    }                                                                                              \
    DEVICE number neutral_##name(u32 op)                                                           \
    {                                                                                              \
        union {                                                                                    \
            bits raw;                                                                              \
            number value;                                                                          \
        } both;                                                                                    \
        if (op == TRANSFER_PROD)                                                                   \
            return (number)1;                                                                      \
        both.raw = op == TRANSFER_SUM ? zero : op == TRANSFER_MIN ? greatest : least;              \
        return both.value;                                                                         \
    }

/* An index is an element of the target, and of the source. */
#define DEFINE_REDUCE(name, number)                                                                \
    KERNEL rbwp_reduce_##name(GLOBAL u8 *target, GLOBAL const u8 *source,                          \
                              const struct transfer_launch launch)                                 \
    {                                                                                              \
        const struct transfer_piece piece = launch.piece[BLOCK_Y];                                 \
        for (u64 i = (u64)BLOCK_X * TRANSFER_THREADS + THREAD; i < piece.count;                    \
             i += (u64)launch.blocks * TRANSFER_THREADS) {                                         \
            i64 from = piece.source_offset, to = piece.target_offset;                              \
            u64 rest = piece.first + i;                                                            \
            ADD_OFFSETS(piece, rest, 0, piece.loops, from, to)                                     \
            const number t = load_##name(target + to, piece.aligned);                              \
            const number s = load_##name(source + from, piece.aligned);                            \
            store_##name(target + to, piece.aligned, apply_##name(launch.op, t, s));               \
        }                                                                                          \
    }

/*
 * An index is a chunk: chunk_length of the source elements that one element of the target is the
 * result of. A block folds a chunk; which thread adds which elements depends on the chunk alone.
 */
#define DEFINE_FOLD(name, number)                                                                  \
    KERNEL rbwp_fold_##name(GLOBAL u8 *target, GLOBAL const u8 *source,                            \
                            const struct transfer_launch launch)                                   \
    {                                                                                              \
        LOCAL number lanes[TRANSFER_THREADS];                                                      \
        const struct transfer_piece piece = launch.piece[BLOCK_Y];                                 \
        u64 folded = 1;                                                                            \
        for (u32 loop = 0; loop < TRANSFER_LOOPS; loop++)                                          \
            if (loop < piece.folds)                                                                \
                folded *= piece.extent[loop];                                                      \
        for (u64 i = BLOCK_X; i < piece.count; i += launch.blocks) {                               \
            i64 base = piece.source_offset, to = piece.target_offset;                              \
            const u64 chunk = piece.first + i;                                                     \
            u64 rest = chunk / piece.chunks;                                                       \
            const u64 begin = (chunk - rest * piece.chunks) * piece.chunk_length;                  \
            const u64 left = begin < folded ? folded - begin : 0;                                  \
            const u64 end = begin + (left < piece.chunk_length ? left : piece.chunk_length);       \
            ADD_OFFSETS(piece, rest, piece.folds, piece.loops, base, to)                           \
            number sum = neutral_##name(launch.op);                                                \
            for (u64 s = begin + THREAD; s < end; s += TRANSFER_THREADS) {                         \
                i64 from = base, unused = 0;                                                       \
                rest = s;                                                                          \
                ADD_OFFSETS(piece, rest, 0, piece.folds, from, unused)                             \
                sum = apply_##name(launch.op, sum, load_##name(source + from, piece.aligned));     \
            }                                                                                      \
            lanes[THREAD] = sum;                                                                   \
            BARRIER();                                                                             \
            for (u32 width = TRANSFER_THREADS / 2; width > 0; width /= 2) {                        \
                if (THREAD < width)                                                                \
                    lanes[THREAD] = apply_##name(launch.op, lanes[THREAD], lanes[THREAD + width]); \
                BARRIER();                                                                         \
            }                                                                                      \
            if (THREAD == 0 && piece.to_scratch)                                                   \
                store_##name(target + chunk * sizeof(number), 1, lanes[0]);                        \
            else if (THREAD == 0)                                                                  \
                store_##name(                                                                      \
                    target + to, piece.aligned,                                                    \
                    apply_##name(launch.op, load_##name(target + to, piece.aligned), lanes[0]));   \
            BARRIER();                                                                             \
        }                                                                                          \
    }

#define DEFINE_TYPE(name, number, bits, wrap, zero, least, greatest)                               \
    DEFINE_NUMBER(name, number, bits, wrap, zero, least, greatest)                                 \
    DEFINE_REDUCE(name, number)                                                                    \
    DEFINE_FOLD(name, number)

/* Of floating-point numbers: minus zero, which changes no sum, and the infinities. */
DEFINE_TYPE(i32, int, u32, u32, 0, 0x80000000u, 0x7fffffffu)
DEFINE_TYPE(i64, i64, u64, u64, 0, 0x8000000000000000u, 0x7fffffffffffffffu)
DEFINE_TYPE(u32, u32, u32, u32, 0, 0, 0xffffffffu)
DEFINE_TYPE(u64, u64, u64, u64, 0, 0, 0xffffffffffffffffu)
DEFINE_TYPE(f32, float, u32, float, 0x80000000u, 0xff800000u, 0x7f800000u)
#if defined(HAS_F64)
DEFINE_TYPE(f64, double, u64, double, 0x8000000000000000u, 0xfff0000000000000u, 0x7ff0000000000000u)
#endif
