/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mill.h - matrices that go through a lane: up, transposed and summed there, down, checked.
 */
#ifndef MILL_H
#define MILL_H

#include "lane.h"

#include <pthread.h>

#define MILL_PLACES 3 /* matrices on their way at the same time */

struct mill;

/* A matrix on its way. */
struct mill_place {
    struct mill *mill;
    struct mill_place *next; /* waits to be checked */
    uint64_t number;         /* of the matrix */
    unsigned awaited;        /* transfers of this step that have not ended */
    bool failed;
    float *matrix, *transposed, *sums; /* host */
    struct rbwp_gpu_buffer on_matrix, on_transposed, on_sums;
    void (*next_step)(struct mill_place *place);
};

struct mill {
    struct lane *lane;
    struct rbwp_work_manager *manager;
    struct rbwp_work_handle checker;
    uint64_t rows, columns;
    struct mill_place place[MILL_PLACES];

    pthread_mutex_t lock; /* guards what follows */
    struct mill_place *arrived;
    uint64_t wanted, begun, checked, wrong, failed;
    struct rbwp_error error; /* of the first that failed */
};

/* Puts `matrices` matrices on their way; rbwp_work_drain of the manager waits for them. False, with
 * the reason in mill->error, and then mill_end has to be called all the same. */
bool mill_begin(struct mill *mill, struct lane *lane, struct rbwp_work_manager *manager,
                uint64_t rows, uint64_t columns, uint64_t matrices);
void mill_end(struct mill *mill);

#endif /* MILL_H */
