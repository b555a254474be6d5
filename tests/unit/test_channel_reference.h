/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_channel_reference.h - what a transfer should do, said in the plainest way.
 *
 * Naive loops over the caller's own description, one element at a time, for
 * comparison with the channels; and random descriptions over random layouts.
 * Shares no code with the runtime. A file is given as the bytes from its
 * offset on.
 */
#ifndef TEST_CHANNEL_REFERENCE_H
#define TEST_CHANNEL_REFERENCE_H

#include "rbwp_channel.h"

#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---------------------------------------------------------- */

struct dice {
    uint64_t state;
};

static inline uint64_t roll(struct dice *dice)
{
    dice->state += 0x9e3779b97f4a7c15u;
    uint64_t z = dice->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t roll_below(struct dice *dice, uint64_t end)
{
    return roll(dice) % end;
}

/* ---- the reference ------------------------------------------------------------- */

static inline void reference_strides(const struct rbwp_transfer_place *place,
                                     const uint64_t *extent, unsigned dimensions, uint32_t bytes,
                                     int64_t *stride)
{
    int64_t packed = (int64_t)bytes;
    for (unsigned d = 0; d < dimensions; d++) {
        const int64_t given = place->stride_bytes[d];
        stride[d] = given == RBWP_STRIDE_FIXED ? 0 : given != 0 ? given : packed;
        if (given != RBWP_STRIDE_FIXED)
            packed = (int64_t)extent[d] * (stride[d] < 0 ? -stride[d] : stride[d]);
    }
}

#define REFERENCE_APPLY(type, wrapping)                                                            \
    do {                                                                                           \
        type a, s;                                                                                 \
        memcpy(&a, target, sizeof a);                                                              \
        memcpy(&s, source, sizeof s);                                                              \
        switch (op) {                                                                              \
        case RBWP_REDUCE_SUM:                                                                      \
            a = (type)((wrapping)a + (wrapping)s);                                                 \
            break;                                                                                 \
        case RBWP_REDUCE_PROD:                                                                     \
            a = (type)((wrapping)a * (wrapping)s);                                                 \
            break;                                                                                 \
        case RBWP_REDUCE_MIN:                                                                      \
            if (s < a)                                                                             \
                a = s;                                                                             \
            break;                                                                                 \
        case RBWP_REDUCE_MAX:                                                                      \
            if (s > a)                                                                             \
                a = s;                                                                             \
            break;                                                                                 \
        }                                                                                          \
        memcpy(target, &a, sizeof a);                                                              \
    } while (0)

static inline void reference_reduce(enum rbwp_reduce_op op, enum rbwp_reduce_type type,
                                    uint8_t *target, const uint8_t *source)
{
    switch (type) {
    case RBWP_REDUCE_I32:
        REFERENCE_APPLY(int32_t, uint32_t);
        break;
    case RBWP_REDUCE_I64:
        REFERENCE_APPLY(int64_t, uint64_t);
        break;
    case RBWP_REDUCE_U32:
        REFERENCE_APPLY(uint32_t, uint32_t);
        break;
    case RBWP_REDUCE_U64:
        REFERENCE_APPLY(uint64_t, uint64_t);
        break;
    case RBWP_REDUCE_F32:
        REFERENCE_APPLY(float, float);
        break;
    case RBWP_REDUCE_F64:
        REFERENCE_APPLY(double, double);
        break;
    }
}

static inline uint32_t reference_number_bytes(enum rbwp_reduce_type type)
{
    return type == RBWP_REDUCE_I32 || type == RBWP_REDUCE_U32 || type == RBWP_REDUCE_F32 ? 4 : 8;
}

/* target and source are the addresses of element [0,0,0]. */
static inline void reference_transfer(const struct rbwp_transfer *t, uint8_t *target,
                                      const uint8_t *source)
{
    const unsigned n = t->dimensions;
    const uint32_t bytes =
        t->kind == RBWP_TRANSFER_REDUCE ? reference_number_bytes(t->reduce_type) : t->element_bytes;
    uint64_t extent[3] = {1, 1, 1}, target_extent[3] = {1, 1, 1};
    unsigned order[3] = {0, 1, 2};
    const bool reversed = t->order[0] == 0 && t->order[1] == 0 && t->order[2] == 0;
    for (unsigned d = 0; d < n; d++) {
        extent[d] = t->extent[d];
        if (t->kind == RBWP_TRANSFER_TRANSPOSE)
            order[d] = reversed ? n - 1 - d : t->order[d];
    }
    for (unsigned d = 0; d < n; d++)
        target_extent[d] = extent[order[d]];
    int64_t from[3] = {0}, to[3] = {0};
    reference_strides(&t->source, extent, n, bytes, from);
    reference_strides(&t->target, target_extent, n, bytes, to);

    for (uint64_t z = 0; z < extent[2]; z++)
        for (uint64_t y = 0; y < extent[1]; y++)
            for (uint64_t x = 0; x < extent[0]; x++) {
                const uint64_t at[3] = {x, y, z};
                int64_t source_at = 0, target_at = 0;
                for (unsigned d = 0; d < n; d++) {
                    source_at += (int64_t)at[d] * from[d];
                    target_at += (int64_t)at[order[d]] * to[d];
                }
                if (t->kind == RBWP_TRANSFER_REDUCE)
                    reference_reduce(t->reduce_op, t->reduce_type, target + target_at,
                                     source + source_at);
                else
                    memcpy(target + target_at,
                           t->kind == RBWP_TRANSFER_FILL ? t->fill : source + source_at, bytes);
            }
}

/* ---- random transfers ------------------------------------------------------------ */

/* A transfer with its memory. The sides' buffers hold every byte it may reach, and some around. */
struct random_transfer {
    struct rbwp_transfer transfer;
    uint8_t *source, *target;          /* whole buffers */
    size_t source_bytes, target_bytes; /* of the buffers */
    size_t source_first, target_first; /* of element [0,0,0] in them */
    uint64_t elements;
    uint8_t fill[256];
};

enum { RANDOM_MARGIN = 64 };

/* Lays the dimensions out in a random order, with gaps and directions. Returns the bytes spanned.
 */
static inline size_t random_layout(struct dice *dice, const uint64_t *extent, unsigned dimensions,
                                   uint32_t bytes, bool may_fix, int64_t *stride, size_t *first_out)
{
    unsigned order[3] = {0, 1, 2};
    for (unsigned d = dimensions - 1; d > 0; d--) {
        const unsigned other = (unsigned)roll_below(dice, d + 1), swap = order[d];
        order[d] = order[other];
        order[other] = swap;
    }
    const bool packed = roll_below(dice, 4) == 0;
    size_t span = bytes;
    *first_out = 0;
    for (unsigned i = 0; i < dimensions; i++) {
        const unsigned d = packed ? i : order[i];
        if (!packed && may_fix && roll_below(dice, 6) == 0) {
            stride[d] = RBWP_STRIDE_FIXED;
            continue;
        }
        const size_t step =
            span + (size_t)(packed || roll_below(dice, 2) ? 0 : roll_below(dice, 9));
        const bool backwards = !packed && roll_below(dice, 4) == 0;
        stride[d] = packed ? 0 : backwards ? -(int64_t)step : (int64_t)step;
        if (backwards)
            *first_out += (size_t)((extent[d] - 1) * step);
        span = (size_t)(extent[d] * step);
    }
    return span;
}

/* Bytes that make numbers whose sums and products are exact in every order. */
static inline void random_bytes(struct dice *dice, const struct rbwp_transfer *t, uint8_t *bytes,
                                size_t count, size_t first)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)roll(dice);
    if (t->kind != RBWP_TRANSFER_REDUCE || t->reduce_type < RBWP_REDUCE_F32)
        return;
    static const double values[] = {1, 2, -1, 1};
    const uint32_t size = reference_number_bytes(t->reduce_type);
    for (size_t i = first % size; i + size <= count; i += size) {
        const double value = t->reduce_op == RBWP_REDUCE_PROD
                                 ? values[roll_below(dice, 4)]
                                 : (double)(int64_t)roll_below(dice, 1000) - 500;
        const float small = (float)value;
        memcpy(bytes + i, size == 4 ? (const void *)&small : (const void *)&value, size);
    }
}

/* Strides of floating-point arrays keep to whole numbers, so that every element is one of ours. */
static inline void align_strides(struct rbwp_transfer *t, int64_t *stride)
{
    if (t->kind != RBWP_TRANSFER_REDUCE || t->reduce_type < RBWP_REDUCE_F32)
        return;
    for (unsigned d = 0; d < t->dimensions; d++)
        if (stride[d] != RBWP_STRIDE_FIXED)
            stride[d] *= (int64_t)reference_number_bytes(t->reduce_type);
}

static inline void random_transfer_make(struct dice *dice, enum rbwp_transfer_kind kind,
                                        uint64_t extent_max, struct random_transfer *random)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 8, 8, 12, 16, 24, 50, 130};
    struct rbwp_transfer *const t = &random->transfer;
    *t = (struct rbwp_transfer){.size = sizeof *t, .kind = kind};
    t->dimensions = 1 + (uint32_t)roll_below(dice, 3);
    t->element_bytes = sizes[roll_below(dice, sizeof sizes / sizeof sizes[0])];
    uint32_t unit = 1;
    if (kind == RBWP_TRANSFER_REDUCE) {
        t->reduce_op = (enum rbwp_reduce_op)(1 + roll_below(dice, RBWP_REDUCE_MAX));
        t->reduce_type = (enum rbwp_reduce_type)(1 + roll_below(dice, RBWP_REDUCE_F64));
        t->element_bytes = reference_number_bytes(t->reduce_type);
        unit = t->reduce_type >= RBWP_REDUCE_F32 ? t->element_bytes : 1;
    }
    random->elements = 1;
    for (unsigned d = 0; d < t->dimensions; d++) {
        t->extent[d] = 1 + roll_below(dice, roll_below(dice, 3) ? 9 : extent_max);
        random->elements *= t->extent[d];
    }
    uint64_t target_extent[3] = {t->extent[0], t->extent[1], t->extent[2]};
    if (kind == RBWP_TRANSFER_TRANSPOSE) {
        static const uint8_t orders[6][3] = {{0, 0, 0}, {0, 1, 2}, {1, 2, 0},
                                             {2, 0, 1}, {2, 1, 0}, {1, 0, 2}};
        const unsigned d = t->dimensions;
        const unsigned pick = (unsigned)roll_below(dice, 6);
        if (d == 3)
            memcpy(t->order, orders[pick], 3);
        else if (d == 2)
            memcpy(t->order, orders[pick % 2 ? 5 : 0], 2);
        for (unsigned i = 0; i < d; i++) {
            const bool reversed = !t->order[0] && !t->order[1] && !t->order[2];
            target_extent[i] = t->extent[reversed ? d - 1 - i : t->order[i]];
        }
    }
    /* In units of whole numbers where those matter, in bytes otherwise. */
    const uint32_t bytes = t->element_bytes / unit;
    size_t first;
    random->source_bytes =
        RANDOM_MARGIN * 2 + unit * random_layout(dice, t->extent, t->dimensions, bytes, true,
                                                 t->source.stride_bytes, &first);
    random->source_first = RANDOM_MARGIN + first * unit;
    random->target_bytes =
        RANDOM_MARGIN * 2 + unit * random_layout(dice, target_extent, t->dimensions, bytes,
                                                 kind == RBWP_TRANSFER_REDUCE,
                                                 t->target.stride_bytes, &first);
    random->target_first = RANDOM_MARGIN + first * unit;
    align_strides(t, t->source.stride_bytes);
    align_strides(t, t->target.stride_bytes);
    random->source = malloc(random->source_bytes);
    random->target = malloc(random->target_bytes);
    random_bytes(dice, t, random->source, random->source_bytes, random->source_first);
    random_bytes(dice, t, random->target, random->target_bytes, random->target_first);
    for (size_t i = 0; i < sizeof random->fill; i++)
        random->fill[i] = (uint8_t)roll(dice);
    if (roll_below(dice, 4) == 0)
        memset(random->fill, 7, sizeof random->fill);
    t->source.memory = random->source + random->source_first;
    t->target.memory = random->target + random->target_first;
    t->fill = random->fill;
}

static inline void random_transfer_free(struct random_transfer *random)
{
    free(random->source);
    free(random->target);
}

#endif /* TEST_CHANNEL_REFERENCE_H */
