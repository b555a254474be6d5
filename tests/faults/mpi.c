/* SPDX-License-Identifier: Apache-2.0 */
/* mpi MODE with|without FOLDER - as plain.c, of a job of two ranks that wait for each other; each
 * rank prints what it measured. */
#include "measure.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { STEPS = 200, STALL_EACH = 50 };
static int rank;

static void exchange(void)
{
    static double mine[64], others[64];
    MPI_Sendrecv(mine, 64, MPI_DOUBLE, 1 - rank, 0, others, 64, MPI_DOUBLE, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void agree(void)
{
    double mine = rank, sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void run(void (*meet)(void))
{
    for (int i = 1; i <= STEPS; i++) {
        sleep_ns(2 * MS); /* the step's work */
        if (with_fault && rank == 1 && i % STALL_EACH == STALL_EACH / 2)
            sleep_ns(60 * MS);
        const struct begun begun = measure_begin();
        meet();
        measure_end(begun, begun.since_ns);
    }
}

static void late_in_step(void)
{
    run(exchange);
}

static void late_for_all(void)
{
    run(agree);
}

static const struct mode modes[] = {
    {"mpi_late", late_in_step, "wait", "MPI_Sendrecv", "rank 1", .fault_ns = 60 * MS},
    {"mpi_collective", late_for_all, "wait", "MPI_Allreduce", "rank 1", .fault_ns = 60 * MS},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    char name[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "rank %d", rank);
    pthread_setname_np(pthread_self(), name);
    const struct mode *mode = measure_mode(modes, argc, argv);
    if (mode)
        measure_run(mode);
    fflush(stdout);
    MPI_Finalize();
    return mode ? 0 : 2;
}
