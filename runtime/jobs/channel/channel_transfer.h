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

#include "channel_move.h"

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
