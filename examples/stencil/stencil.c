/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stencil.c - a stencil on a grid that is spread over nodes, computed in the background.
 *
 * The stencil of the Parallel Research Kernels: a star of radius 2 over a
 * square grid of doubles, with 1 added to every cell after each iteration; the
 * result is known, so it is verified. The program around the nodes: options,
 * the profiling session, the verdict.
 */
#include "job.h"
#include "rbwp_session.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_GOOD = 0, EXIT_TROUBLE = 1, EXIT_USAGE = 2, NODES_HERE_MAX = 16, TILES_MAX = 64 };

static const char help[] =
    "usage: stencil [options]\n"
    "       mpirun -n NODES stencil [options]\n"
    "\n"
    "Computes a star stencil of radius 2 on a square grid that is cut into tiles; every piece of\n"
    "it is background work of the nodes' workers. The result is verified.\n"
    "\n"
    "  --side N          the grid has N x N cells, 5 to 65536; default 1000\n"
    "  --iterations N    that are timed, after a first one; default 10\n"
    "  --tiles N         of each node, up to 64; default: as many as it has workers\n"
    "  --nodes N         so many nodes in this process, up to 16, without MPI; default 1\n"
    "  --gpu API         cells on GPUs: cuda, hip, opencl, or any of them; pieces go from one to\n"
    "                    another directly where they reach each other, between processes too\n"
    "  --gpus N          of each node, up to 8; default: its share of those that there are\n"
    "  --wait SECONDS    for nodes that are late; default 60\n"
    "  --kill NODE       that node's process kills itself half-way: see what the others leave\n"
    "  -h, --help, --version\n"
    "\n"
    "Workers of each node: -bgwork N -bgnuma 0|1 -bgworkpin 0|1 -bgnumapin 0|1 -bgstack KB\n"
    "  -bgspin US -bgslice US\n"
    "Profile, a file for each process: -bgworkprofile 0|1|2 -bgworkprofile_logfile PATH\n"
    "  -bgworkprofile_bufsize MB -bgworkprofile_compress 0..9 -bgworkprofile_block KB\n"
    "  -bgworkprofile_drop 0|1 -bgworkprofile_strict 0|1 -bgworkprofile_node N\n"
    "\n"
    "Exit status: 0 the result is right, 1 something is wrong, 2 wrong usage.\n";

struct options {
    struct node_config node;
    unsigned nodes_here;
    struct rbwp_session_config session;
};

static bool complain(const char *text)
{
    fprintf(stderr, "stencil: %s\n", text);
    return false;
}

/* ---- options ---------------------------------------------------------------------- */

static bool take_number(const char *text, uint64_t least, uint64_t most, uint64_t *number_out)
{
    char *rest;
    if (!text || text[0] < '0' || text[0] > '9')
        return false;
    *number_out = strtoull(text, &rest, 10);
    return *rest == 0 && *number_out >= least && *number_out <= most;
}

static bool take_gpu(struct options *options, const char *name)
{
    options->node.gpu = -1;
    for (unsigned api = RBWP_GPU_CUDA; name && api <= RBWP_GPU_OPENCL; api++)
        if (strcmp(name, rbwp_gpu_api_name(api)) == 0)
            options->node.gpu = (int)api;
    return name && (options->node.gpu >= 0 || strcmp(name, "any") == 0);
}

static bool take_option(struct options *options, const char *name, const char *value)
{
    uint64_t number;
    if (strcmp(name, "--side") == 0 && take_number(value, 2 * RADIUS + 1, 65536, &number))
        options->node.side = (int64_t)number;
    else if (strcmp(name, "--iterations") == 0 && take_number(value, 1, 100000000, &number))
        options->node.iterations = (unsigned)number;
    else if (strcmp(name, "--tiles") == 0 && take_number(value, 1, TILES_MAX, &number))
        options->node.tiles_each = (unsigned)number;
    else if (strcmp(name, "--nodes") == 0 && take_number(value, 1, NODES_HERE_MAX, &number))
        options->nodes_here = (unsigned)number;
    else if (strcmp(name, "--gpus") == 0 && take_number(value, 1, STORES_MAX, &number))
        options->node.gpus = (unsigned)number;
    else if (strcmp(name, "--wait") == 0 && take_number(value, 1, 1000000, &number))
        options->node.wait_ns = number * 1000000000u;
    else if (strcmp(name, "--kill") == 0 && take_number(value, 0, UINT32_MAX, &number))
        options->node.dies = (int64_t)number;
    else
        return strcmp(name, "--gpu") == 0 && take_gpu(options, value);
    return true;
}

/* False, with a message, on wrong usage. */
static bool take_options(struct options *options, int *argc, char **argv)
{
    struct rbwp_error error;
    *options = (struct options){.nodes_here = 1};
    options->node = (struct node_config){
        .side = 1000, .iterations = 10, .wait_ns = 60000000000u, .dies = -1, .gpu = -2};
    options->node.work.size = sizeof options->node.work;
    rbwp_session_defaults(&options->session);
    if (rbwp_session_parse(&options->session, argc, argv, &error) != RBWP_OK ||
        rbwp_work_parse(&options->node.work, argc, argv, &error) != RBWP_OK)
        return complain(error.text);
    if (options->node.work.no_workers)
        return complain("-bgwork 0: a node needs a worker");
    if (options->node.work.workers == 0)
        options->node.work.workers = 1;
    for (int i = 1; i < *argc; i += 2)
        if (!take_option(options, argv[i], argv[i + 1])) {
            fprintf(stderr, "stencil: %s %s: not an option with a right value; see --help\n",
                    argv[i], argv[i + 1] ? argv[i + 1] : "");
            return false;
        }
    if (options->node.tiles_each == 0 && options->node.gpus > options->node.work.workers)
        options->node.tiles_each = options->node.gpus;
    if (options->node.tiles_each == 0)
        options->node.tiles_each =
            options->node.work.workers < TILES_MAX ? options->node.work.workers : TILES_MAX;
    return true;
}

/* ---- the verdict ----------------------------------------------------------------------- */

static void print_stores(const struct node *node)
{
    static const char *const ways[WAYS] = {
        [WAY_NEAR] = "within one",
        [WAY_PEER] = "from one to another",
        [WAY_STAGED] = "likewise, but by way of the host",
        [WAY_SHARED] = "into another process's memory",
        [WAY_HOST] = "through memory of the host",
    };
    printf("cells on  ");
    for (unsigned i = 0; i < node->stores_count; i++)
        printf("%s%s", i ? ", " : "", node->stores[i].name);
    if (node->config->gpu != -2)
        printf("\npieces    of GPUs, in an iteration:");
    for (unsigned w = 0, printed = 0; w < WAYS && node->config->gpu != -2; w++)
        if (node->outcome.ways[w])
            printf("%s %" PRIu64 " %s", printed++ ? "," : "", node->outcome.ways[w], ways[w]);
    printf("\n");
}

/* Of node 0, which has heard of all. */
static bool judge(const struct options *options, const struct node *node)
{
    const struct node_outcome *outcome = &node->outcome;
    const double active = pow((double)(options->node.side - 2 * RADIUS), 2);
    const double norm = outcome->sum / active;
    const double wanted = (double)(options->node.iterations + 1) * (COEFFICIENT_X + COEFFICIENT_Y);
    const double seconds = (double)outcome->time_ns / 1e9 / options->node.iterations;
    const double operations = (2.0 * (4 * RADIUS + 1) + 1) * active;
    const bool good = outcome->reports == node->nodes && fabs(norm - wanted) <= 1e-8 * wanted;
    printf("grid      %" PRId64 " x %" PRId64 ", star of radius %d, %u iterations\n",
           options->node.side, options->node.side, RADIUS, options->node.iterations);
    printf("nodes     %u with %u tiles and %u workers each; %" PRIu64
           " pieces an iteration, %" PRIu64 " of them messages\n",
           node->nodes, options->node.tiles_each, options->node.work.workers, outcome->pieces,
           outcome->messages);
    print_stores(node);
    printf("plan      %.3f ms\n", (double)outcome->plan_ns / 1e6);
    printf("time      %.6f s an iteration, %.1f MFlops/s\n", seconds,
           seconds > 0 ? operations / seconds / 1e6 : 0.0);
    printf("norm      %.12g, wanted %.12g: %s\n", norm, wanted,
           good ? "solution validates" : "WRONG");
    return good;
}

/* ---- the job ---------------------------------------------------------------------------- */

static bool work_here(const struct options *options)
{
    static struct node nodes[NODES_HERE_MAX];
    if (!job_run_here(nodes, options->nodes_here, &options->node))
        return complain(nodes[0].error.text);
    return judge(options, &nodes[0]);
}

static bool work_with_mpi(const struct options *options)
{
    static struct node node;
    struct rbwp_transport *transport;
    struct rbwp_error error;
    if (!job_mpi_compare_clocks(&error) || !job_mpi_transport(&transport, &error))
        return complain(error.text);
    const bool ran = node_run(&node, job_mpi_node(), transport, &options->node);
    node_free(&node);
    if (!ran)
        return complain(node.error.text);
    const bool good = node.number != 0 || judge(options, &node);
    return job_mpi_compare_clocks(&error) ? good : complain(error.text);
}

static bool end_session(struct rbwp_session *session)
{
    struct rbwp_session_summary summary;
    if (rbwp_session_stop(session, &summary) != RBWP_OK)
        return complain(summary.error.text);
    if (session)
        printf("profile   %s: %" PRIu64 " records in %" PRIu64 " bytes; lost %" PRIu64 "\n",
               summary.path, summary.records, summary.bytes, summary.lost_records);
    return true;
}

int main(int argc, char **argv)
{
    struct options options;
    struct rbwp_session *session = NULL;
    struct rbwp_error error;
    const bool with_mpi = job_is_mpi();

    if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0))
        return fputs(help, stdout), EXIT_GOOD;
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return printf("stencil %s\n", rbwp_version()), EXIT_GOOD;
    if (with_mpi && !job_mpi_begin(&argc, &argv, &error))
        return complain(error.text), EXIT_TROUBLE;
    if (!take_options(&options, &argc, argv))
        return EXIT_USAGE;

    options.node.one_process = !with_mpi;
    /* Without a profile the job is still done. */
    if (rbwp_session_start(&options.session, &session, &error) != RBWP_OK)
        complain(error.text);
    bool good = with_mpi ? work_with_mpi(&options) : work_here(&options);
    good = end_session(session) && good;
    if (with_mpi && !job_mpi_end(&error))
        good = complain(error.text);
    return good ? EXIT_GOOD : EXIT_TROUBLE;
}
