/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_reduce.c - the arithmetic of reductions.
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
#include "channel_reduce.h"

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
