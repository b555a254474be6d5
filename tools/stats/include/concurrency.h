/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concurrency.h - how many were busy at the same time, and for how long.
 *
 * Takes intervals in any order, as threads hand them in block by block, and
 * sweeps over their ends in the order of time when all have come. The ends
 * are kept as one number each; CONCURRENCY_ENDS at a time are sorted and kept
 * as the steps between them, some two bytes each, from CONCURRENCY_KEPT_BYTES
 * on in a temporary file, so memory is bounded and the result is exact.
 */
#ifndef CONCURRENCY_H
#define CONCURRENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONCURRENCY_ENDS (1u << 20)
#define CONCURRENCY_KEPT_BYTES (64u << 20)
#define CONCURRENCY_STEPS 100 /* of the course over time */

/* Sorted ends, as steps. */
struct concurrency_piece {
    uint8_t *kept;       /* NULL: in the file */
    uint64_t begin, end; /* there; of one that is kept 0 and how many bytes it has */
};

struct concurrency {
    int64_t *ends; /* the time, and what happened then */
    int64_t *spare;
    size_t count, room;
    int fd; /* of the temporary file, -1 none yet */
    struct concurrency_piece *pieces;
    uint32_t piece_count, piece_room;
    uint64_t kept_bytes, file_bytes;
    uint64_t kept_most; /* bytes: CONCURRENCY_KEPT_BYTES after start */
    bool failed;        /* a message was given */
};

struct concurrency_result {
    uint64_t *level_ns; /* by number of busy ones: time during which it was so */
    uint32_t levels;    /* 0 when it failed */
    int64_t first_ns, step_ns;
    /* Busy time of all in each step of step_ns from first_ns. */
    uint64_t step_busy_ns[CONCURRENCY_STEPS];
};

void concurrency_start(struct concurrency *concurrency);
void concurrency_add(struct concurrency *concurrency, int64_t start_ns, int64_t stop_ns);
/* It was not busy all of that time: a part of what was added, or will be, goes. */
void concurrency_take_off(struct concurrency *concurrency, int64_t start_ns, int64_t stop_ns);
/* All between first_ns and last_ns, in which all intervals lie; frees what was kept. */
void concurrency_finish(struct concurrency *concurrency, int64_t first_ns, int64_t last_ns,
                        struct concurrency_result *result_out);
/* Without a result. */
void concurrency_stop(struct concurrency *concurrency);
void concurrency_free(struct concurrency_result *result);

#endif /* CONCURRENCY_H */
