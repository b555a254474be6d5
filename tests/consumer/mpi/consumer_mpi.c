/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses librbwp-mpi, and nothing of MPI: a job of one node. */
#include <rbwp_mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct rbwp_error error;
    struct rbwp_mpi *mpi;
    if (rbwp_mpi_start(NULL, &argc, &argv, &mpi, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("node %u of %u\n", rbwp_mpi_node(mpi), rbwp_mpi_nodes(mpi));
    return rbwp_mpi_stop(mpi, &error) == RBWP_OK ? 0 : 1;
}
