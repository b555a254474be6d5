/* SPDX-License-Identifier: Apache-2.0 */
/* A job of two ranks that knows nothing of the library: rank 1 is late by 100 ms before each call
 * of rank 0, or the other way round. With "never" it never sends, and both are killed. With a
 * number, what a round trip of 8 bytes takes, the least of 100 blocks of so many. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 1000, TAG = 7 };
static int rank;
static double numbers[NUMBERS], others[2 * NUMBERS];

static void late(int who)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == who)
        usleep(100000);
}

static void pass(int from)
{
    MPI_Status status;
    if (rank == from)
        MPI_Send(numbers, NUMBERS, MPI_DOUBLE, 1 - from, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(numbers, NUMBERS, MPI_DOUBLE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
}

static void take_from_anybody(void)
{
    if (rank == 1)
        MPI_Send(numbers, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(numbers, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pass_later(int way)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(others, 3, MPI_DOUBLE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[0]);
    late(1);
    MPI_Isend(numbers, 3, MPI_DOUBLE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[1]);
    int which, done = 0;
    if (way == 0)
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    else if (way == 1)
        MPI_Waitany(1, requests, &which, MPI_STATUS_IGNORE);
    if (way < 2)
        while (!done)
            MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
    else
        MPI_Waitall(2, requests, statuses);
}

static void collect(void)
{
    late(1);
    MPI_Bcast(numbers, NUMBERS, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    late(1);
    MPI_Allreduce(numbers, others, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    late(1);
    MPI_Alltoall(numbers, 10, MPI_DOUBLE, others, 10, MPI_DOUBLE, MPI_COMM_WORLD);
    late(1);
    MPI_Reduce(numbers, others, 10, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    late(1);
    MPI_Sendrecv(numbers, 4, MPI_INT, 1 - rank, TAG, others, 4, MPI_INT, 1 - rank, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    late(1);
    if (rank == 0) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
    }
    pass(1);
}

static void play(int rounds)
{
    char data[8] = "";
    double least = 1;
    for (int block = 0; block < 100; block++) {
        const double begin = MPI_Wtime();
        for (int i = 0; i < 2 * rounds; i++)
            if (i % 2 == rank)
                MPI_Send(data, 8, MPI_CHAR, 1 - rank, TAG, MPI_COMM_WORLD);
            else
                MPI_Recv(data, 8, MPI_CHAR, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double each = (MPI_Wtime() - begin) / rounds;
        least = each < least ? each : least;
    }
    if (rank == 0)
        printf("%.0f ns\n", least * 1e9);
}

int main(int argument_count, char **arguments)
{
    MPI_Init(&argument_count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argument_count == 2 && strcmp(arguments[1], "never") == 0) {
        if (rank == 0)
            MPI_Recv(numbers, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(400000);
        kill(getpid(), SIGKILL);
    } else if (argument_count == 2) {
        play(atoi(arguments[1]));
    } else {
        late(1);
        pass(1);
        late(1);
        take_from_anybody();
        for (int way = 0; way < 3; way++)
            pass_later(way);
        collect();
        late(0);
        pass(0);
    }
    MPI_Finalize();
    return 0;
}
