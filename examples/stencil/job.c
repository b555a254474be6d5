/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - where the other nodes are: in this process, or in those of an MPI job. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- MPI ---------------------------------------------------------------------------------- */

bool job_is_mpi(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return true;
    return false;
}

#ifdef STENCIL_WITH_MPI

#include "rbwp_mpi.h"

static struct rbwp_mpi *mpi;

bool job_mpi_begin(int *argc, char ***argv, struct rbwp_error *error)
{
    return rbwp_mpi_start(NULL, argc, argv, &mpi, error) == RBWP_OK;
}

unsigned job_mpi_node(void)
{
    return rbwp_mpi_node(mpi);
}

bool job_mpi_compare_clocks(struct rbwp_error *error)
{
    return rbwp_mpi_compare_clocks(mpi, error) == RBWP_OK;
}

bool job_mpi_transport(struct rbwp_transport **transport_out, struct rbwp_error *error)
{
    return rbwp_mpi_transport(mpi, transport_out, error) == RBWP_OK;
}

bool job_mpi_end(struct rbwp_error *error)
{
    return rbwp_mpi_stop(mpi, error) == RBWP_OK;
}

#else

static bool no_mpi(struct rbwp_error *error)
{
    *error = (struct rbwp_error){
        .status = RBWP_E_UNSUPPORTED,
        .text = "a launcher of MPI jobs started this, but it was built without librbwp-mpi"};
    return false;
}

bool job_mpi_begin(int *argc, char ***argv, struct rbwp_error *error)
{
    (void)argc, (void)argv;
    return no_mpi(error);
}

unsigned job_mpi_node(void)
{
    return 0;
}

bool job_mpi_compare_clocks(struct rbwp_error *error)
{
    return no_mpi(error);
}

bool job_mpi_transport(struct rbwp_transport **transport_out, struct rbwp_error *error)
{
    *transport_out = NULL;
    return no_mpi(error);
}

bool job_mpi_end(struct rbwp_error *error)
{
    return no_mpi(error);
}

#endif

/* ---- in this process ---------------------------------------------------------------------- */

struct here {
    pthread_t thread;
    struct node *node;
    unsigned number;
    struct rbwp_transport *transport;
    const struct node_config *config;
    bool runs, good;
};

static void *run_node(void *argument)
{
    struct here *here = argument;
    here->good = node_run(here->node, here->number, here->transport, here->config);
    return NULL;
}

bool job_run_here(struct node *nodes, unsigned count, const struct node_config *config)
{
    struct rbwp_transport **transports = calloc(count, sizeof(struct rbwp_transport *));
    struct here *here = calloc(count, sizeof *here);
    struct rbwp_error error = {.status = RBWP_E_MEMORY, .text = "no memory for the nodes"};
    bool good = transports && here && rbwp_loopback_new(count, transports, &error) == RBWP_OK;
    if (!good)
        nodes[0].error = error;
    for (unsigned i = 0; good && i < count; i++) {
        here[i] = (struct here){
            .node = &nodes[i], .number = i, .transport = transports[i], .config = config};
        here[i].runs = pthread_create(&here[i].thread, NULL, run_node, &here[i]) == 0;
        if (!here[i].runs) { /* then the others cannot get on either */
            fprintf(stderr, "stencil: no thread for node %u\n", i);
            exit(EXIT_FAILURE);
        }
    }
    for (unsigned i = 0; good && i < count; i++)
        pthread_join(here[i].thread, NULL);
    for (unsigned i = 0; good && i < count; i++)
        node_free(&nodes[i]);
    for (unsigned i = count; good && i-- > 0;)
        if (!here[i].good) {
            nodes[0].error = nodes[i].error;
            good = false;
        }
    free(transports);
    free(here);
    return good;
}
