/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_transpose.c - background work items move, transpose and sum matrices on every GPU found.
 *
 * The program around the mills: flags, the profiling session, the manager, the search for devices,
 * the summary. Each device is a lane of its own, all at the same time. Without any GPU the
 * host's channels do the same work.
 */
#include "mill.h"
#include "rbwp_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_GOOD = 0, EXIT_TROUBLE = 1, EXIT_USAGE = 2, LANES_MAX = 16, APIS = 3 };

static const char help[] =
    "usage: gpu_transpose [options]\n"
    "\n"
    "Moves matrices to every GPU found, transposes them and sums their columns there, moves\n"
    "the results back and checks them; all as background work. Without a GPU the host does it.\n"
    "\n"
    "  --api NAME         only cuda, hip or opencl; or host: no GPU at all\n"
    "  --driver PATH      library of the driver, with --api\n"
    "  --compiler PATH    library of the driver's compiler, with --api\n"
    "  --size ROWSxCOLUMNS  of a matrix, each up to 65536; default 1000x1500\n"
    "  --matrices N       on each device; default 8\n"
    "  -h, --help, --version\n"
    "\n"
    "Workers: -bgwork N -bgnuma 0|1 -bgworkpin 0|1 -bgnumapin 0|1 -bgstack KB -bgspin US\n"
    "  -bgslice US\n"
    "Profile: -bgworkprofile 0|1|2 -bgworkprofile_logfile PATH\n"
    "  -bgworkprofile_bufsize MB -bgworkprofile_compress 0..9 -bgworkprofile_block KB\n"
    "  -bgworkprofile_drop 0|1 -bgworkprofile_strict 0|1 -bgworkprofile_node N\n"
    "\n"
    "Exit status: 0 all results are right, 1 something is wrong, 2 wrong usage.\n";

struct options {
    unsigned first_api, end_api; /* end_api 0: the host */
    const char *driver, *compiler;
    uint64_t rows, columns, matrices;
    struct rbwp_session_config session;
    struct rbwp_work_config work;
};

struct run {
    struct lane lane[LANES_MAX];
    struct mill mill[LANES_MAX];
    unsigned lanes;
};

static void complain(const char *text)
{
    fprintf(stderr, "gpu_transpose: %s\n", text);
}

/* ---- options ---------------------------------------------------------------------- */

static bool take_number(const char *text, char end, uint64_t most, uint64_t *number_out,
                        const char **rest_out)
{
    char *rest;
    if (!text || text[0] < '0' || text[0] > '9')
        return false;
    *number_out = strtoull(text, &rest, 10);
    *rest_out = rest + 1;
    return *rest == end && *number_out >= 1 && *number_out <= most;
}

static bool take_api(struct options *options, const char *name)
{
    if (name && strcmp(name, "host") == 0) {
        options->first_api = options->end_api = 0;
        return true;
    }
    for (unsigned api = 0; api < APIS; api++)
        if (name && strcmp(name, rbwp_gpu_api_name(api)) == 0) {
            options->first_api = api;
            options->end_api = api + 1;
            return true;
        }
    return false;
}

static bool take_option(struct options *options, const char *name, const char *value)
{
    const char *rest;
    if (strcmp(name, "--api") == 0)
        return take_api(options, value);
    if (strcmp(name, "--driver") == 0)
        return (options->driver = value) != NULL;
    if (strcmp(name, "--compiler") == 0)
        return (options->compiler = value) != NULL;
    if (strcmp(name, "--size") == 0)
        return take_number(value, 'x', 65536, &options->rows, &rest) &&
               take_number(rest, 0, 65536, &options->columns, &rest);
    if (strcmp(name, "--matrices") == 0)
        return take_number(value, 0, 1000000, &options->matrices, &rest);
    return false;
}

/* False, with a message, on wrong usage. */
static bool take_options(struct options *options, int *argc, char **argv)
{
    struct rbwp_error error;
    *options = (struct options){.end_api = APIS, .rows = 1000, .columns = 1500, .matrices = 8};
    rbwp_session_defaults(&options->session);
    options->work = (struct rbwp_work_config){.size = sizeof options->work, .workers = 2};
    if (rbwp_session_parse(&options->session, argc, argv, &error) != RBWP_OK ||
        rbwp_work_parse(&options->work, argc, argv, &error) != RBWP_OK) {
        complain(error.text);
        return false;
    }
    for (int i = 1; i < *argc; i += 2)
        if (!take_option(options, argv[i], argv[i + 1])) {
            fprintf(stderr, "gpu_transpose: %s %s: not an option with a right value; see --help\n",
                    argv[i], argv[i + 1] ? argv[i + 1] : "");
            return false;
        }
    if ((options->driver || options->compiler) && options->end_api - options->first_api != 1) {
        complain("--driver and --compiler want --api");
        return false;
    }
    return true;
}

/* ---- devices ------------------------------------------------------------------------- */

static void find_devices(const struct options *options, struct rbwp_work_manager *manager,
                         struct run *run)
{
    struct rbwp_error error;
    for (unsigned api = options->first_api; api < options->end_api; api++) {
        unsigned devices = 0;
        struct rbwp_gpu_config config = {.size = sizeof config,
                                         .api = (enum rbwp_gpu_api)api,
                                         .manager = manager,
                                         .driver_library = options->driver,
                                         .compiler_library = options->compiler};
        if (rbwp_gpu_count(config.api, options->driver, &devices, &error) != RBWP_OK)
            printf("no GPU    %s\n", error.text);
        for (; config.ordinal < devices && run->lanes < LANES_MAX; config.ordinal++) {
            if (lane_open_gpu(&run->lane[run->lanes], &config, &error))
                run->lanes++;
            else
                printf("no GPU    %s:%u: %s\n", rbwp_gpu_api_name(api), config.ordinal, error.text);
        }
    }
    if (run->lanes > 0)
        return;
    if (options->end_api > 0)
        printf("no GPU    none was found: the host's channels do the work\n");
    if (lane_open_host(&run->lane[0], manager, &error))
        run->lanes = 1;
    else
        complain(error.text);
}

/* ---- the job ---------------------------------------------------------------------------- */

/* True if all matrices of a lane came back right. */
static bool print_lane(const struct options *options, const struct lane *lane,
                       const struct mill *mill)
{
    const struct rbwp_gpu_channel_launches counts = lane_counts(lane);
    printf("device    %s%s\n", lane->name,
           lane->on_cpu && lane->device ? " (runs on the host's processors)" : "");
    printf("          %" PRIu64 " matrices of %" PRIu64 " x %" PRIu64
           " moved, transposed, summed; wrong %" PRIu64 ", failed %" PRIu64 "\n",
           mill->checked, options->rows, options->columns, mill->wrong, mill->failed);
    if (lane->device)
        printf("          %" PRIu64 " transfers, %" PRIu64 " copies, %" PRIu64
               " kernels; processor %" PRIx64 " in the profile\n",
               counts.transfers, counts.copies, counts.kernels, lane->proc_id);
    if (mill->error.status != RBWP_OK)
        fprintf(stderr, "gpu_transpose: %s: %s\n", lane->name, mill->error.text);
    return mill->error.status == RBWP_OK && mill->wrong == 0 && mill->checked == mill->wanted;
}

static bool work(const struct options *options, struct rbwp_work_manager *manager)
{
    static struct run run;
    find_devices(options, manager, &run);
    bool good = run.lanes > 0;
    for (unsigned i = 0; i < run.lanes; i++)
        (void)mill_begin(&run.mill[i], &run.lane[i], manager, options->rows, options->columns,
                         options->matrices);
    rbwp_work_drain(manager);
    for (unsigned i = 0; i < run.lanes; i++) {
        good = print_lane(options, &run.lane[i], &run.mill[i]) && good;
        mill_end(&run.mill[i]);
        lane_close(&run.lane[i]);
    }
    return good;
}

int main(int argc, char **argv)
{
    struct options options;
    struct rbwp_session *session = NULL;
    struct rbwp_session_summary summary;
    struct rbwp_work_manager *manager;
    struct rbwp_error error;

    if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0))
        return fputs(help, stdout), EXIT_GOOD;
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return printf("gpu_transpose %s\n", rbwp_version()), EXIT_GOOD;
    if (!take_options(&options, &argc, argv))
        return EXIT_USAGE;

    /* Without a profile the job is still done. */
    if (rbwp_session_start(&options.session, &session, &error) != RBWP_OK)
        complain(error.text);
    if (rbwp_work_start(&options.work, &manager, &error) != RBWP_OK) {
        complain(error.text);
        (void)rbwp_session_stop(session, NULL);
        return EXIT_TROUBLE;
    }
    bool good = work(&options, manager);
    (void)rbwp_work_stop(manager, true, NULL);
    if (rbwp_session_stop(session, &summary) != RBWP_OK) {
        complain(summary.error.text);
        good = false;
    }
    if (session)
        printf("profile   %s: %" PRIu64 " records in %" PRIu64 " bytes; lost %" PRIu64 "\n",
               summary.path, summary.records, summary.bytes, summary.lost_records);
    return good ? EXIT_GOOD : EXIT_TROUBLE;
}
