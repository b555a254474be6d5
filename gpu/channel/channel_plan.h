/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_plan.h - how a GPU carries a transfer out.
 *
 * Turns a checked transfer into kernels with their pieces, or into calls of the
 * copy engine. Numbers only: knows nothing of drivers, queues and workers.
 */
#ifndef RBWP_CHANNEL_PLAN_H
#define RBWP_CHANNEL_PLAN_H

#include "gpu_backend.h"
#include "rbwp_gpu_channel.h"

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;
#include "kernels/transfer_layout.h"

/* Memory of the channel's own: the element of a fill, or the partial results of a reduction. */
#define CHANNEL_SCRATCH_BYTES 65536u

enum channel_way {
    CHANNEL_WAY_NOTHING, /* no elements */
    CHANNEL_WAY_ENGINE,
    CHANNEL_WAY_PEER, /* the engine, between two devices */
    CHANNEL_WAY_COPY,
    CHANNEL_WAY_FILL,
    CHANNEL_WAY_TRANSPOSE,
    CHANNEL_WAY_REDUCE,
    CHANNEL_WAYS
};

/* The kernels of transfer.cl, in the order of its names. */
enum channel_kernel {
    CHANNEL_KERNEL_COPY = 0,      /* + log2 of the unit's bytes */
    CHANNEL_KERNEL_TRANSPOSE = 5, /* likewise */
    CHANNEL_KERNEL_REDUCE = 10,   /* + type - 1 */
    CHANNEL_KERNEL_FOLD = 16,     /* + type - 1 */
    CHANNEL_KERNELS = 22
};

/* One kernel over all its indices. */
struct channel_stage {
    unsigned kernel;
    u32 threads_per_index; /* 1, or a block of them */
    u64 index_bytes;       /* about what an index moves */
    bool from_scratch, to_scratch;
    struct transfer_piece piece;
};

struct channel_plan {
    enum channel_way way;
    u32 op;
    unsigned stages; /* of kernels: 0 to 2 */
    struct channel_stage stage[2];

    /* CHANNEL_WAY_ENGINE, CHANNEL_WAY_PEER: each call does engine_loops inner loops of the shape.
     */
    unsigned engine_loops;
    u64 engine_calls;

    /* CHANNEL_WAY_FILL: the element, repeated to 16 bytes where it is that small. */
    uint32_t fill_bytes;

    struct rbwp_transfer_shape shape;
    u64 bytes; /* that reach the target */
};

/* What has to be known of the two sides besides the transfer. */
struct channel_sides {
    bool source_on_device, target_on_device;
    bool on_two_devices; /* one of them, or both, is another one than the channel's */
    /* Low bits of the addresses of element [0,0,0]; only those below 16 matter. */
    uint64_t source_address, target_address;
    bool may_share; /* both are in one buffer and reach over each other */
};

/* RBWP_OK; RBWP_E_UNSUPPORTED with a reason (static text). The transfer is of this shape. */
enum rbwp_status channel_plan_make(const struct rbwp_transfer *transfer,
                                   const struct rbwp_transfer_shape *shape,
                                   const struct channel_sides *sides, struct channel_plan *plan_out,
                                   const char **reason_out);

static inline bool channel_plan_is_engine(const struct channel_plan *plan)
{
    return plan->way == CHANNEL_WAY_ENGINE || plan->way == CHANNEL_WAY_PEER;
}

/* Call number i of the engine: offsets of its first byte on both sides, and its size. The sides'
 * memory is the caller's to fill in. */
void channel_plan_engine_call(const struct channel_plan *plan, u64 i, i64 *source_out,
                              i64 *target_out, struct gpu_copy *copy_out);

/* The bytes that a side reaches, from its first element: from low to high. */
void channel_plan_reach(const struct rbwp_transfer_shape *shape, const i64 *stride, i64 *low_out,
                        i64 *high_out);

#endif /* RBWP_CHANNEL_PLAN_H */
