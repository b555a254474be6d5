/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi_job.h"

#include "failure.h"
#include "rbwp_job.h"
#include "rbwp_record.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* ---- the thread that looks at MPI while no worker does --------------------------------------- */
/*
 * MPI has nothing to wait on, so somebody has to look. A worker does while messages come; when the
 * work item sleeps, this thread looks from time to time, the more seldom the longer nothing has
 * come, and what it finds wakes the item. It also compares clocks and watches the nodes.
 */

#define JOINED_SPIN_NS 20000 /* after something came, as the next may follow at once */
#define SHORTEST_NS 20000    /* then sleeps between looks, each a quarter longer */
#define LONGEST_NS 1000000
#define WORKER_LOOKS_NS 200000 /* who looked so lately will look again */

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_nsec = (long)ns}; /* below a second */
    nanosleep(&time, NULL);
}

/* True if something had come, which a worker that looks anyway finds sooner. */
static bool mpi_job_look(struct rbwp_mpi *mpi, uint64_t now_ticks, bool worker_looks)
{
    if (pthread_mutex_trylock(&mpi->polling) != 0)
        return false;
    clocks_tick(mpi, now_ticks);
    watch_tick(mpi, now_ticks);
    bool had = !worker_looks && mpi_job_poll(mpi);
    if (had)
        atomic_store_explicit(&mpi->background_had, true, memory_order_relaxed);
    pthread_mutex_unlock(&mpi->polling);
    return had;
}

static void *mpi_job_run(void *argument)
{
    struct rbwp_mpi *mpi = argument;
    prctl(PR_SET_TIMERSLACK, 1000ul); /* ns; the default adds 50 us to each sleep */
    uint64_t sleep = SHORTEST_NS, had_ticks = 0;
    while (!atomic_load(&mpi->stopping)) {
        uint64_t polled_ticks = atomic_load_explicit(&mpi->polled_ticks, memory_order_relaxed);
        uint64_t now_ticks = rbwp_now_ticks();
        bool worker_looks = now_ticks - polled_ticks < rbwp_ticks_from_ns(WORKER_LOOKS_NS);
        if (mpi_job_look(mpi, now_ticks, worker_looks)) {
            had_ticks = now_ticks;
            sleep = SHORTEST_NS;
        }
        if (!worker_looks && now_ticks - had_ticks < rbwp_ticks_from_ns(JOINED_SPIN_NS)) {
            sched_yield();
            continue;
        }
        sleep_ns(worker_looks ? WORKER_LOOKS_NS : sleep);
        sleep = worker_looks ? SHORTEST_NS : sleep + sleep / 4;
        sleep = sleep < LONGEST_NS ? sleep : LONGEST_NS;
    }
    return NULL;
}

static enum rbwp_status background_start(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    sigset_t all, before;
    sigfillset(&all); /* the program's handlers are for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&mpi->background, NULL, mpi_job_run, mpi);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    mpi->has_background = code == 0;
    return code == 0 ? RBWP_OK : failure(error, RBWP_E_IO, code, "no thread for MPI");
}

static void background_stop(struct rbwp_mpi *mpi)
{
    atomic_store(&mpi->stopping, true);
    if (mpi->has_background)
        pthread_join(mpi->background, NULL);
    mpi->has_background = false;
}

/* ---- joined ---------------------------------------------------------------------------------- */

#define SECOND_NS 1000000000ull

uint32_t rbwp_mpi_node(const struct rbwp_mpi *mpi)
{
    return mpi->node;
}

uint32_t rbwp_mpi_nodes(const struct rbwp_mpi *mpi)
{
    return mpi->nodes;
}

enum rbwp_status rbwp_mpi_lost(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    return watch_all_are_here(mpi, error) ? RBWP_OK : RBWP_E_IO;
}

/* ---- joining ---------------------------------------------------------------------------- */

static pthread_mutex_t one_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_joined; /* one_lock guards it */

static bool take_the_one(bool take)
{
    pthread_mutex_lock(&one_lock);
    bool changed = is_joined != take;
    is_joined = take;
    pthread_mutex_unlock(&one_lock);
    return changed;
}

static enum rbwp_status initialise(struct rbwp_mpi *mpi, int *argc, char ***argv,
                                   struct rbwp_error *error)
{
    int is_initialised = 0, is_finalised = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_finalised);
    if (is_finalised)
        return failure(error, RBWP_E_STATE, 0, "MPI is finalised already, and starts only once");
    if (is_initialised) {
        MPI_Query_thread(&level);
    } else {
        int code = MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
        if (code != MPI_SUCCESS)
            return mpi_job_failure(error, "MPI_Init_thread", code);
        mpi->initialised = true;
    }
    if (level == MPI_THREAD_MULTIPLE)
        return RBWP_OK;
    return failure(error, RBWP_E_UNSUPPORTED, 0,
                   is_initialised ? "MPI was initialised without MPI_THREAD_MULTIPLE; call "
                                    "MPI_Init_thread with it, or leave it to rbwp_mpi_start"
                                  : "this MPI cannot be used by several threads "
                                    "(MPI_THREAD_MULTIPLE)");
}

static int duplicate(MPI_Comm from, MPI_Comm *to)
{
    int code = MPI_Comm_dup(from, to);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(*to, MPI_ERRORS_RETURN);
    return code;
}

static enum rbwp_status take_communicators(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    MPI_Comm given = MPI_COMM_WORLD;
    if (mpi->config.communicator)
        memcpy(&given, mpi->config.communicator, sizeof given);
    int node = 0, nodes = 0;
    int code = duplicate(given, &mpi->packets);
    if (code == MPI_SUCCESS)
        code = duplicate(given, &mpi->payloads);
    if (code == MPI_SUCCESS)
        code = duplicate(given, &mpi->calls);
    if (code != MPI_SUCCESS)
        return mpi_job_failure(error, "MPI_Comm_dup", code);
    MPI_Comm_rank(mpi->calls, &node);
    MPI_Comm_size(mpi->calls, &nodes);
    mpi->node = (uint32_t)node;
    mpi->nodes = (uint32_t)nodes;
    return RBWP_OK;
}

/* An MPI that was not started by its own launcher makes each process a job of its own, and says so
 * in the environment; facts are from before. */
static enum rbwp_status check_launcher(const struct rbwp_mpi *mpi,
                                       const struct rbwp_job_facts *facts, struct rbwp_error *error)
{
    if (mpi->nodes > 1 || mpi->config.communicator || facts->ranks <= 1 || !mpi->initialised)
        return RBWP_OK;
    return failure(error, RBWP_E_USAGE, 0,
                   "%s says that the job has %u processes, but MPI sees this one alone: the "
                   "program is linked with another MPI than its launcher's",
                   facts->launcher, facts->ranks);
}

static void fill_in(struct rbwp_mpi_config *config, const struct rbwp_mpi_config *given)
{
    *config = (struct rbwp_mpi_config){.size = sizeof *config};
    if (given)
        memcpy(config, given, given->size < sizeof *config ? given->size : sizeof *config);
    if (config->clock_every_ns == 0)
        config->clock_every_ns = SECOND_NS;
    if (config->lost_after_ns == 0)
        config->lost_after_ns = 30 * SECOND_NS;
}

/* ---- what all nodes agree on -------------------------------------------------------------- */

struct agreed {
    int64_t zero_ns; /* on node 0's clock */
    char job[128];   /* id, if the launcher says none */
};

static enum rbwp_status mpi_job_spread(struct rbwp_mpi *mpi, struct agreed *agreed,
                                       struct rbwp_error *error)
{
    agreed->zero_ns = rbwp_now_ns();
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    snprintf(agreed->job, sizeof agreed->job, "%s-%ld-%lld", host, (long)getpid(),
             (long long)(agreed->zero_ns / (int64_t)SECOND_NS));
    MPI_Request request;
    int code = MPI_Ibcast(agreed, (int)sizeof *agreed, MPI_BYTE, 0, mpi->calls, &request);
    if (code != MPI_SUCCESS)
        return mpi_job_failure(error, "MPI_Ibcast", code);
    return mpi_job_wait(mpi, &request, NULL, error);
}

/* The comparison of clocks ends with a barrier; right behind it is the time that all call 0. */
static enum rbwp_status agree(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    enum rbwp_status status = clocks_compare(mpi, error);
    if (status != RBWP_OK)
        return status;
    struct agreed agreed;
    status = mpi_job_spread(mpi, &agreed, error);
    if (status != RBWP_OK)
        return status;
    int64_t offset_ns = 0;
    uint64_t bound_ns;
    (void)rbwp_mpi_clock_offset(mpi, &offset_ns, &bound_ns);
    struct rbwp_job_facts facts;
    rbwp_job_get(&facts);
    struct rbwp_job job = {
        .size = sizeof job,
        .id = facts.id[0] ? NULL : agreed.job,
        .launcher = "MPI",
        .rank = mpi->node,
        .ranks = mpi->nodes,
        .zero_ns = agreed.zero_ns - offset_ns,
    };
    return rbwp_job_set(&job, error);
}

/* ---- start and stop ------------------------------------------------------------------------ */

static void make_locks(struct rbwp_mpi *mpi)
{
    mpi->packets = mpi->payloads = mpi->calls = MPI_COMM_NULL;
    pthread_mutex_init(&mpi->polling, NULL);
    pthread_mutex_init(&mpi->transfers.lock, NULL);
    pthread_mutex_init(&mpi->watch.lock, NULL);
}

static void free_communicator(MPI_Comm *communicator)
{
    if (*communicator != MPI_COMM_NULL)
        MPI_Comm_free(communicator);
}

/* With a node lost, nothing that waits for it can be called: MPI keeps what it has then. */
static void mpi_job_leave(struct rbwp_mpi *mpi, bool all_are_here)
{
    background_stop(mpi);
    if (all_are_here) {
        ring_close(mpi);
        slots_close(mpi);
        free_communicator(&mpi->packets);
        free_communicator(&mpi->payloads);
        free_communicator(&mpi->calls);
        if (mpi->initialised)
            MPI_Finalize();
    }
    watch_close(mpi);
    pthread_mutex_destroy(&mpi->polling);
    pthread_mutex_destroy(&mpi->transfers.lock);
    pthread_mutex_destroy(&mpi->watch.lock);
    free(mpi->told_left);
    free(mpi);
    take_the_one(false);
}

static enum rbwp_status mpi_job_join(struct rbwp_mpi *mpi, int *argc, char ***argv,
                                     struct rbwp_error *error)
{
    struct rbwp_job_facts facts;
    rbwp_job_get(&facts);
    enum rbwp_status status = initialise(mpi, argc, argv, error);
    if (status == RBWP_OK)
        status = take_communicators(mpi, error);
    if (status == RBWP_OK)
        status = check_launcher(mpi, &facts, error);
    if (status == RBWP_OK)
        status = slots_open(mpi, error);
    if (status == RBWP_OK)
        status = watch_open(mpi, error);
    if (status == RBWP_OK) {
        mpi->told_left = calloc(mpi->nodes, sizeof *mpi->told_left);
        if (!mpi->told_left)
            status = failure(error, RBWP_E_MEMORY, 0, "no memory for %u nodes", mpi->nodes);
    }
    if (status == RBWP_OK)
        status = ring_open(mpi, error);
    if (status == RBWP_OK)
        status = background_start(mpi, error);
    if (status == RBWP_OK)
        status = agree(mpi, error);
    return status;
}

enum rbwp_status rbwp_mpi_start(const struct rbwp_mpi_config *config, int *argc, char ***argv,
                                struct rbwp_mpi **mpi_out, struct rbwp_error *error)
{
    if (!mpi_out || (config && config->size == 0))
        return failure(error, RBWP_E_INVALID, 0, "no place for the job, or a config without size");
    *mpi_out = NULL;
    if (!take_the_one(true))
        return failure(error, RBWP_E_BUSY, 0, "this process has joined a job already");
    struct rbwp_mpi *mpi = calloc(1, sizeof *mpi);
    if (!mpi) {
        take_the_one(false);
        return failure(error, RBWP_E_MEMORY, 0, "no memory to join a job");
    }
    fill_in(&mpi->config, config);
    make_locks(mpi);
    (void)rbwp_ticks_per_second(); /* decides what rbwp_now_ticks counts */
    enum rbwp_status status = mpi_job_join(mpi, argc, argv, error);
    if (status == RBWP_OK)
        *mpi_out = mpi;
    else
        mpi_job_leave(mpi, mpi->nodes <= 1);
    return status;
}

/* Answers of node 0 that are under way to here still have to come. */
static void finish_clocks(struct rbwp_mpi *mpi)
{
    for (unsigned tries = 0; tries < 100; tries++) {
        pthread_mutex_lock(&mpi->polling);
        mpi->clocks.compares = false;
        bool is_over = mpi->clocks.missing == 0 && !slots_are_busy(mpi);
        pthread_mutex_unlock(&mpi->polling);
        if (is_over)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

enum rbwp_status rbwp_mpi_stop(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    if (!mpi)
        return RBWP_OK;
    if (mpi->transport)
        return failure(error, RBWP_E_BUSY, 0, "the job's transport is open");
    finish_clocks(mpi);
    MPI_Request request;
    int code = MPI_Ibarrier(mpi->calls, &request);
    enum rbwp_status status = code == MPI_SUCCESS ? mpi_job_wait(mpi, &request, NULL, error)
                                                  : mpi_job_failure(error, "MPI_Ibarrier", code);
    atomic_store(&mpi->watch.off, true);
    mpi_job_leave(mpi, status == RBWP_OK);
    return status;
}
