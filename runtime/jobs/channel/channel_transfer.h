/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_transfer.h - one transfer, carried out a piece at a time.
 *
 * Knows how the loops, the arithmetic and the files of a transfer go together.
 * Knows nothing of queues, workers and clocks: whoever steps it decides when
 * to stop.
 */
#ifndef CHANNEL_TRANSFER_H
#define CHANNEL_TRANSFER_H

#include "rbwp_channel.h"

/* ---- channel move ---------------------------------------------------------------------------- */
/*
 * Walk the loops of a transfer, a little at a time, and do what it says.
 *
 * A walk remembers which element comes next, so that it can be left and taken
 * up again between any two pieces. Both sides are memory here; a file's side
 * is the buffer that its present piece lies in.
 */

/* ---- channel shape --------------------------------------------------------------------------- */
/*
 * The loops of a transfer, checked and simplified.
 *
 * Turns what a caller wrote (extents, strides, order, defaults) into the
 * shortest nest of loops that visits the same elements. All arithmetic on the
 * caller's numbers happens here, with every overflow refused; what comes out
 * may be added up without further checks.
 */

/* RBWP_OK, or RBWP_E_INVALID with *reason_out saying what is wrong (static text). */
enum rbwp_status channel_shape_make(const struct rbwp_transfer *transfer,
                                    struct rbwp_transfer_shape *shape_out, const char **reason_out);

/* True when both sides are one run of bytes along loop 0. */
static inline bool channel_shape_is_run(const struct rbwp_transfer_shape *shape)
{
    return shape->source_stride[0] == (int64_t)shape->element_bytes &&
           shape->target_stride[0] == (int64_t)shape->element_bytes;
}

/* ---- channel move ---------------------------------------------------------------------------- */

/* ---- the arithmetic of reductions ------------------------------------------------------------ */

/* target[i] = target[i] op source[i] for count numbers, strides in bytes; target_stride 0 folds. */
typedef void (*channel_reduce_fn)(uint8_t *target, int64_t target_stride, const uint8_t *source,
                                  int64_t source_stride, size_t count);

/* NULL for an operation or type that does not exist. */
channel_reduce_fn channel_reduce_find(enum rbwp_reduce_op op, enum rbwp_reduce_type type);

/* ---- walks ----------------------------------------------------------------------------------- */

/* What is done to each element. */
struct channel_action {
    enum rbwp_transfer_kind kind;
    channel_reduce_fn reduce; /* RBWP_TRANSFER_REDUCE */
    const uint8_t *fill;      /* RBWP_TRANSFER_FILL: one element */
    bool fill_is_byte;        /* all bytes of it are the same */
};

/* One side: the byte at distance d from its first element is base[d - origin]. */
struct channel_side {
    uint8_t *base;
    int64_t origin;
};

struct channel_walk {
    uint64_t index[RBWP_TRANSFER_DIMENSIONS_MAX]; /* of the next element, or tile */
    uint64_t left;                                /* elements */
};

/*
 * Work between two looks at the clock: about so many contiguous bytes, or their worth in time
 * where elements are visited one by one. A few microseconds.
 */
#define CHANNEL_PIECE_COST 16384u

void channel_walk_begin(struct channel_walk *walk, const struct rbwp_transfer_shape *shape);

/*
 * Goes on for about cost, at least one element or tile and at most elements_max elements (more
 * than that only in a tiled shape, which takes no limit). Returns the elements moved; 0 when
 * none is left.
 */
uint64_t channel_walk_step(struct channel_walk *walk, const struct rbwp_transfer_shape *shape,
                           const struct channel_action *action, struct channel_side target,
                           struct channel_side source, uint64_t elements_max, uint64_t cost);

/* ---- channel transfer ------------------------------------------------------------------------ */

/* Largest piece of a file; also the size of the buffer that strided file transfers go through. */
#define CHANNEL_FILE_PIECE_BYTES 65536u

/* What a profile calls a transfer. */
enum channel_class {
    CHANNEL_COPY,
    CHANNEL_FILL,
    CHANNEL_TRANSPOSE,
    CHANNEL_REDUCE,
    CHANNEL_FILE_READ,
    CHANNEL_FILE_WRITE,
    CHANNEL_CLASSES
};

/* What a file transfer does next with its piece. */
enum channel_phase { CHANNEL_NEXT_PIECE, CHANNEL_READING, CHANNEL_WALKING, CHANNEL_WRITING };

struct channel_transfer {
    struct rbwp_transfer_shape shape;
    struct channel_action action;
    struct channel_walk walk;
    struct channel_side target, source; /* the side of a file: set per piece */
    enum channel_class class;

    bool reads_file, writes_file;
    int fd;
    uint64_t file_offset; /* of the transfer's first element */

    /* The piece of a file that is under way. */
    enum channel_phase phase;
    uint64_t piece_at;     /* bytes of the transfer before it */
    uint64_t piece_bytes;  /* its size */
    uint64_t piece_done;   /* bytes read, or written, of it */
    uint64_t piece_walked; /* elements of it */

    uint64_t bytes_done;
    enum rbwp_status status; /* once ended */
    int os_errno;
};

/* Bytes that channel_transfer_begin wants for a copy of the element to fill with. */
size_t channel_transfer_fill_bytes(const struct rbwp_transfer *transfer);

/*
 * Fills *t. fill_copy stays the caller's and has to stay valid as long as *t is used. RBWP_OK, or
 * RBWP_E_INVALID and a reason (static text).
 */
enum rbwp_status channel_transfer_begin(struct channel_transfer *t,
                                        const struct rbwp_transfer *transfer, uint8_t *fill_copy,
                                        const char **reason_out);

/*
 * Does one piece. buffer: CHANNEL_FILE_PIECE_BYTES of memory that keeps its contents from step to
 * step of this transfer. RBWP_AGAIN while there is more to do; otherwise how it ended, which
 * t->status repeats.
 */
enum rbwp_status channel_transfer_step(struct channel_transfer *t, uint8_t *buffer, uint64_t cost);

#endif /* CHANNEL_TRANSFER_H */
