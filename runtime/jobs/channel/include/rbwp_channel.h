/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_channel.h - transfers as background work.
 *
 * A channel is a work item of a manager (rbwp_work.h) with a queue of
 * transfers. A transfer copies, fills, transposes or reduces a 1-D, 2-D or 3-D
 * array of elements from memory to memory, from a file to memory or from
 * memory to a file. Workers carry the transfers of a channel out one after the
 * other, in the order in which they were submitted; each gets on as far as the
 * time slice allows and is taken up again in the next. Several channels run
 * side by side.
 *
 *     struct rbwp_channel *channel;
 *     rbwp_channel_new(manager, "halo exchange", -1, &channel, &error);
 *     struct rbwp_transfer t = {.size = sizeof t, .kind = RBWP_TRANSFER_COPY,
 *                               .dimensions = 2, .element_bytes = 8, .extent = {64, 100},
 *                               .source = {.memory = from, .stride_bytes = {0, 4096}},
 *                               .target = {.memory = to}, .done = arrived, .argument = me};
 *     rbwp_channel_submit(channel, &t, NULL, &error);      any thread, any time
 *     ...
 *     rbwp_channel_free(channel);                          before rbwp_work_stop
 *
 * In a profile the channel is the work item, under its own name, and each
 * slice that a transfer got is a level-2 sub-item of type RBWP_XFER_CHANNEL:
 * "memcpy channel", "memfill channel", "transpose channel", "memreduce
 * channel", "file read channel" or "file write channel".
 *
 * Elements of source and target, and elements of the target among themselves,
 * should not share bytes; where they do the target's contents are unspecified
 * (nothing outside the target is touched). Two exceptions: a reduction may have
 * source and target that are the same elements in the same order, and any
 * source may hold elements that share bytes among themselves. Alignment is
 * never required.
 */
#ifndef RBWP_CHANNEL_H
#define RBWP_CHANNEL_H

#include "rbwp_work.h"

RBWP_C_BEGIN_

#define RBWP_TRANSFER_DIMENSIONS_MAX 3
#define RBWP_TRANSFER_ELEMENT_BYTES_MAX 65536u

enum rbwp_transfer_kind {
    RBWP_TRANSFER_COPY = 1,      /* target[i] = source[i] */
    RBWP_TRANSFER_FILL = 2,      /* target[i] = *fill; source is not looked at */
    RBWP_TRANSFER_TRANSPOSE = 3, /* target[i permuted] = source[i]; see order */
    RBWP_TRANSFER_REDUCE = 4     /* target[i] = target[i] op source[i] */
};

/* Integers wrap around. */
enum rbwp_reduce_op {
    RBWP_REDUCE_SUM = 1,
    RBWP_REDUCE_PROD = 2,
    RBWP_REDUCE_MIN = 3, /* source < target ? source : target; so a NaN in the source is passed over
                            and one in the target stays */
    RBWP_REDUCE_MAX = 4  /* likewise with > */
};

enum rbwp_reduce_type {
    RBWP_REDUCE_I32 = 1,
    RBWP_REDUCE_I64 = 2,
    RBWP_REDUCE_U32 = 3,
    RBWP_REDUCE_U64 = 4,
    RBWP_REDUCE_F32 = 5,
    RBWP_REDUCE_F64 = 6
};

/*
 * As a stride: stay in place along this dimension. In a source it repeats the
 * elements; in the target of a reduction it folds the dimension into one
 * element (of floating-point numbers, in an order that depends on the shape
 * alone, never on timing). Not for other targets.
 */
#define RBWP_STRIDE_FIXED INT64_MIN

/* Where one side of a transfer is. */
struct rbwp_transfer_place {
    /*
     * Memory: the address of element [0,0,0], and for each dimension the distance in bytes from
     * an element to the next; it may be negative. Stride 0 means packed: element_bytes for the
     * first dimension, extent times stride of the dimension before for the others (passing over
     * fixed ones). A source is only read. Must stay valid until done is called.
     */
    void *memory;
    int64_t stride_bytes[RBWP_TRANSFER_DIMENSIONS_MAX];
    /*
     * File: elements lie packed in dimension order from offset_bytes on; strides are 0. The
     * descriptor stays the caller's and must stay open until done is called; it has to allow
     * pread or pwrite (both for a reduction into a file), so no pipe. With O_APPEND Linux ignores
     * the offset. The worker waits for the disk, one piece of at most 64 KiB at a time.
     */
    bool is_file;
    int fd;
    uint64_t offset_bytes;
};

/* How a transfer ended. */
struct rbwp_transfer_result {
    uint64_t id;             /* from rbwp_channel_submit */
    enum rbwp_status status; /* RBWP_OK: all of it.
                                RBWP_E_TRUNCATED: the source file ended before.
                                RBWP_E_IO: the system refused; os_errno says why (ENOSPC, EIO ...).
                                RBWP_E_STATE: cancelled, or the channel was freed. */
    int os_errno;            /* 0 unless status is RBWP_E_IO */
    uint64_t bytes;          /* that reached the target, counted in the order of the walk: the
                                file's, if there is one, and unspecified between memory and
                                memory. A piece that failed half-way may have left more. */
};

/*
 * Runs once for each submitted transfer: on the worker that ended it, outside all locks and
 * outside the sub-item but inside the channel's work item; for transfers that
 * rbwp_channel_free finds in the queue, on the thread that frees. It may submit and cancel
 * transfers, also on this channel, but not free this channel. It should be short: it runs inside
 * the time slice.
 */
typedef void (*rbwp_transfer_done_fn)(void *argument, const struct rbwp_transfer_result *result);

/* A transfer. Set size, leave what is not needed 0. */
struct rbwp_transfer {
    size_t size; /* sizeof(struct rbwp_transfer) */
    enum rbwp_transfer_kind kind;
    uint32_t dimensions;    /* 1 to 3 */
    uint32_t element_bytes; /* 1 to RBWP_TRANSFER_ELEMENT_BYTES_MAX; a reduction's may be 0 */
    uint64_t extent[RBWP_TRANSFER_DIMENSIONS_MAX]; /* elements in each dimension of the source;
                                                      [0] is the one that varies fastest; with 0 in
                                                      it the transfer ends at once */
    /*
     * RBWP_TRANSFER_TRANSPOSE: dimension d of the target runs along dimension order[d] of the
     * source; a permutation of 0 .. dimensions - 1. All 0 means reversed, in two dimensions the
     * usual transpose. The target's strides are by the target's dimensions.
     */
    uint8_t order[RBWP_TRANSFER_DIMENSIONS_MAX];
    struct rbwp_transfer_place source, target; /* at most one is a file */
    const void *fill;                          /* one element; copied by submit */
    enum rbwp_reduce_op reduce_op;
    enum rbwp_reduce_type reduce_type;
    rbwp_transfer_done_fn done; /* may be NULL */
    void *argument;             /* for done */
};

struct rbwp_channel; /* opaque */

/*
 * Makes a channel: adds a work item called name to the manager, for workers of NUMA domain domain
 * (-1 any). The manager must outlive it. *channel_out is the caller's until rbwp_channel_free, and
 * NULL on failure. RBWP_E_LIMIT, RBWP_E_STATE and RBWP_E_INVALID as rbwp_work_add says;
 * RBWP_E_MEMORY. error may be NULL. Never blocks.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_channel_new(struct rbwp_work_manager *manager,
                                                         const char *name, int domain,
                                                         struct rbwp_channel **channel_out,
                                                         struct rbwp_error *error);

/*
 * Queues a transfer. Everything in *transfer is copied. Any thread, do_work and done included;
 * takes no lock and never blocks, allocates once. On RBWP_OK done will be called exactly once,
 * perhaps before this call returns; *id_out (may be NULL) names the transfer within the channel,
 * counting from 1. Otherwise nothing was queued, *id_out is 0, and error (may be NULL) says why:
 * RBWP_E_INVALID for a field out of its range, sizes or strides that overflow, a target stride
 * smaller than an element; RBWP_E_MEMORY; RBWP_E_STATE when the channel is being freed.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_channel_submit(struct rbwp_channel *channel,
                                                            const struct rbwp_transfer *transfer,
                                                            uint64_t *id_out,
                                                            struct rbwp_error *error);

/*
 * Asks for an early end. The transfer's done says what came of it: RBWP_E_STATE, or another
 * status if it had ended before the request was seen. An id that is not queued any more is ignored.
 * Any thread, done included; never blocks. RBWP_OK; RBWP_E_MEMORY, or RBWP_E_STATE when the
 * channel is being freed: nothing was asked.
 */
RBWP_API enum rbwp_status rbwp_channel_cancel(struct rbwp_channel *channel, uint64_t id);

/*
 * Removes the work item, waiting for a slice of it that runs now, ends all transfers that are left
 * with RBWP_E_STATE, calling their done on this thread, and frees the channel. To finish what is
 * queued first, rbwp_work_drain the manager. No other thread may submit or cancel meanwhile; a done
 * that does is refused with RBWP_E_STATE. RBWP_OK, NULL included; RBWP_E_STATE, and nothing was
 * done, from inside the channel's own work item.
 */
RBWP_API enum rbwp_status rbwp_channel_free(struct rbwp_channel *channel);

/* ---- for other transfer engines --------------------------------------------------- */

/*
 * The shortest nest of loops that visits the elements of a transfer. Loop 0 is the innermost.
 * Strides are bytes; a loop that stays in place has stride 0. Loops that fold a target come first,
 * then they go by the target's strides.
 */
struct rbwp_transfer_shape {
    unsigned loops; /* 1 to 3 */
    uint32_t element_bytes;
    uint64_t extent[RBWP_TRANSFER_DIMENSIONS_MAX];
    int64_t source_stride[RBWP_TRANSFER_DIMENSIONS_MAX];
    int64_t target_stride[RBWP_TRANSFER_DIMENSIONS_MAX];
    uint64_t elements;
    bool tiled; /* source and target are contiguous along different loops, which are 0 and 1 */
};

/*
 * Checks a transfer as rbwp_channel_submit does and gives its loops; no sum or product of their
 * numbers overflows. Looks at no memory but fill's address. RBWP_OK; RBWP_E_INVALID with the reason
 * in error (may be NULL).
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_transfer_shape_make(const struct rbwp_transfer *transfer,
                         struct rbwp_transfer_shape *shape_out, struct rbwp_error *error);

RBWP_C_END_
#endif /* RBWP_CHANNEL_H */
