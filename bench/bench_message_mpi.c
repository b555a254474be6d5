/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpirun -n 2 bench_message_mpi [ROUNDS]: messages of 8 bytes to and fro, on one machine.
 *
 * In turns within one run: MPI_Isend and MPI_Irecv that the main threads wait for, and active
 * messages whose handlers send the answer (once both sides' workers are awake). Medians of the
 * rounds; the target is 60 % of plain MPI's rate. Both under MPI_THREAD_MULTIPLE, which is what
 * several threads need. The best tenth is for machines that have other work: two processes have to
 * run at the same time here.
 */
#include "bench.h"
#include "rbwp_message.h"
#include "rbwp_mpi.h"

#include <mpi.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 200, ROUND_TRIPS = 1000, ROUNDS_MAX = 1000 };

#define TARGET 0.6

static struct {
    uint32_t node;
    struct rbwp_endpoint *endpoint;
    unsigned handler;
    uint64_t left; /* round trips of this round; the handlers' */
    double begin_ns;
    sem_t done;
} bench;

static void send_one(uint32_t node)
{
    const uint64_t value = 1;
    require(rbwp_message_send(bench.endpoint, node, bench.handler, &value, sizeof value, RBWP_WAIT,
                              NULL) == RBWP_OK,
            "sending");
}

static void handle(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    if (bench.node == 0 && bench.left == ROUND_TRIPS)
        bench.begin_ns = clock_ns(CLOCK_MONOTONIC);
    if (bench.node == 1 || --bench.left > 0)
        send_one(message->node);
    else
        sem_post(&bench.done);
}

static double messages_ns(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench.node == 0) {
        bench.left = WARM_UP + ROUND_TRIPS;
        send_one(1);
        while (sem_wait(&bench.done) != 0)
            ;
    }
    const double ns = clock_ns(CLOCK_MONOTONIC) - bench.begin_ns;
    char through = 0; /* node 1 waits for it asleep: a barrier would take a CPU */
    MPI_Request request;
    int is_through = 0;
    if (bench.node == 0)
        MPI_Isend(&through, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(&through, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &is_through, MPI_STATUS_IGNORE) == MPI_SUCCESS && !is_through)
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    return ns / ROUND_TRIPS;
}

static double plain_ns(void)
{
    const int other = bench.node == 0 ? 1 : 0;
    uint64_t out = 1, in = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_ns = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        MPI_Request requests[2];
        MPI_Irecv(&in, sizeof in, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
        if (bench.node == 1)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Isend(&out, sizeof out, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        if (bench.node == 0)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    return (clock_ns(CLOCK_MONOTONIC) - begin_ns) / ROUND_TRIPS;
}

static struct rbwp_work_manager *start(struct rbwp_mpi *mpi)
{
    const struct rbwp_work_config work = {.size = sizeof work};
    const struct rbwp_handler_config handler = {
        .size = sizeof handler, .name = "to and fro", .handle = handle};
    struct rbwp_work_manager *manager;
    struct rbwp_transport *transport;
    require(rbwp_work_start(&work, &manager, NULL) == RBWP_OK, "a manager");
    require(rbwp_mpi_transport(mpi, &transport, NULL) == RBWP_OK, "a transport");
    require(rbwp_endpoint_new(manager, transport, NULL, &bench.endpoint, NULL) == RBWP_OK &&
                rbwp_handler_register(bench.endpoint, &handler, &bench.handler, NULL) == RBWP_OK &&
                rbwp_endpoint_start(bench.endpoint, NULL) == RBWP_OK,
            "an endpoint");
    return manager;
}

static void compare(int rounds)
{
    /* Each process has a scratch file of its own. */
    const struct rbwp_session_config own = {
        .size = sizeof own, .level = 2, .own_node = true, .nodes = 1};
    static double plain[ROUNDS_MAX], messages[ROUNDS_MAX], recorded[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++) {
        plain[i] = plain_ns();
        messages[i] = messages_ns();
        struct rbwp_session *session = start_with(own);
        recorded[i] = messages_ns();
        stop_session(session);
    }
    if (bench.node != 0)
        return;
    const size_t count = (size_t)rounds;
    const double ratio = median(plain, count) / median(messages, count);
    printf(
        "round trip of 8 bytes   plain MPI %.0f ns, active messages %.0f ns, at level 2 %.0f ns\n",
        median(plain, count), median(messages, count), median(recorded, count));
    printf(
        "  the best tenth        plain MPI %.0f ns, active messages %.0f ns, at level 2 %.0f ns\n",
        quantile(plain, count, 0.1), quantile(messages, count, 0.1),
        quantile(recorded, count, 0.1));
    figure_at_least("messages over " RBWP_MPI_FLAVOUR, 100 * ratio, "% of plain MPI's rate",
                    100 * TARGET);
}

int main(int argc, char **argv)
{
    struct rbwp_mpi *mpi;
    struct rbwp_error error = {0};
    const int rounds = argc > 1 ? atoi(argv[1]) : 100;
    require(rounds > 0 && rounds <= ROUNDS_MAX, "as many rounds");
    if (rbwp_mpi_start(NULL, &argc, &argv, &mpi, &error) != RBWP_OK || rbwp_mpi_nodes(mpi) != 2) {
        fprintf(stderr, "bench: mpirun -n 2 bench_message_mpi [ROUNDS]: %s\n", error.text);
        return 1;
    }
    bench.node = rbwp_mpi_node(mpi);
    sem_init(&bench.done, 0, 0);
    struct rbwp_work_manager *manager = start(mpi);
    compare(rounds);
    require(rbwp_endpoint_quiesce(bench.endpoint, RBWP_WAIT, NULL) == RBWP_OK, "quiescence");
    rbwp_endpoint_free(bench.endpoint);
    rbwp_work_stop(manager, true, NULL);
    return rbwp_mpi_stop(mpi, NULL) == RBWP_OK ? 0 : 1;
}
