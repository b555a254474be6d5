/* SPDX-License-Identifier: Apache-2.0 */

#include "failure.h"
#include "mpi_job.h"
#include "rbwp_job.h"
#include "rbwp_record.h"

#include <sched.h>
#include <string.h>

#define IN_VAIN_TOGETHER 64     /* when all nodes compare and do nothing else */
#define IN_VAIN_MEANWHILE 16    /* in the background; the first wakes both sides */
#define PATIENCE_NS 1000000000u /* for the answers to all of them */

struct question {
    uint32_t burst;
    uint32_t unused;
    int64_t asked_ns; /* on the asking node's clock */
};

struct answer {
    struct question question;
    int64_t came_ns, went_ns; /* on node 0's clock */
};

/* If no slot is free the answers stay away, and the next comparison is as good. */
static void clocks_ask(struct rbwp_mpi *mpi)
{
    struct question question = {.burst = mpi->clocks.burst};
    question.asked_ns = rbwp_now_ns();
    (void)slots_send_bytes(mpi, 0, TAG_PING, &question, sizeof question);
}

void clocks_answer(struct rbwp_mpi *mpi, uint32_t from, const void *packet, size_t bytes)
{
    struct answer answer = {.came_ns = rbwp_now_ns()};
    if (bytes != sizeof answer.question)
        return;
    memcpy(&answer.question, packet, bytes);
    answer.went_ns = rbwp_now_ns();
    (void)slots_send_bytes(mpi, from, TAG_PONG, &answer, sizeof answer);
}

/* A comparison ends when in_vain answers in a row have not made the bound clearly better. */
static void clocks_begin(struct clocks *clocks, unsigned in_vain)
{
    clocks->burst++;
    clocks->in_vain = clocks->missing = in_vain;
    clocks->has_best = false;
}

static void keep_if_better(struct clocks *clocks, const struct answer *answer, int64_t now_ns)
{
    int64_t round_trip_ns =
        now_ns - answer->question.asked_ns - (answer->went_ns - answer->came_ns);
    if (round_trip_ns < 0) /* a clock was set back meanwhile */
        return;
    uint64_t bound_ns = (uint64_t)round_trip_ns / 2 + 1;
    if (clocks->has_best && clocks->best.bound_ns <= bound_ns)
        return;
    if (clocks->has_best && bound_ns < clocks->best.bound_ns - clocks->best.bound_ns / 8)
        clocks->missing = clocks->in_vain + 1; /* this one counts, too */
    int64_t here_ns = answer->question.asked_ns + (now_ns - answer->question.asked_ns) / 2;
    int64_t there_ns = answer->came_ns + (answer->went_ns - answer->came_ns) / 2;
    clocks->best = (struct clock_sample){here_ns, there_ns - here_ns, bound_ns};
    clocks->has_best = true;
}

/* Writes the outcome down; without a session nobody needs it. */
static void clocks_end(struct clocks *clocks)
{
    clocks->missing = 0;
    if (!clocks->has_best)
        return;
    clocks->last = clocks->best;
    clocks->has_last = true;
    (void)rbwp_clock_offset_add(clocks->last.local_ns, clocks->last.offset_ns,
                                clocks->last.bound_ns);
}

void clocks_take(struct rbwp_mpi *mpi, const void *packet, size_t bytes)
{
    int64_t now_ns = rbwp_now_ns();
    struct clocks *clocks = &mpi->clocks;
    struct answer answer;
    if (bytes != sizeof answer)
        return;
    memcpy(&answer, packet, bytes);
    if (answer.question.burst != clocks->burst || clocks->missing == 0)
        return;
    keep_if_better(clocks, &answer, now_ns);
    if (--clocks->missing > 0)
        clocks_ask(mpi);
    else
        clocks_end(clocks);
}

void clocks_tick(struct rbwp_mpi *mpi, uint64_t now_ticks)
{
    struct clocks *clocks = &mpi->clocks;
    if (!clocks->compares || mpi->node == 0 || now_ticks < clocks->due_ticks)
        return;
    if (clocks->missing > 0 && clocks->has_best) /* some answers got lost on the way */
        clocks_end(clocks);
    clocks->due_ticks = now_ticks + rbwp_ticks_from_ns(mpi->config.clock_every_ns);
    clocks_begin(clocks, IN_VAIN_MEANWHILE);
    clocks_ask(mpi);
}

/* ---- all nodes ---------------------------------------------------------------------- */

/* This node's turn. */
static void compare_now(struct rbwp_mpi *mpi)
{
    struct clocks *clocks = &mpi->clocks;
    uint64_t end_ticks = rbwp_now_ticks() + rbwp_ticks_from_ns(PATIENCE_NS);
    pthread_mutex_lock(&mpi->polling);
    clocks_begin(clocks, IN_VAIN_TOGETHER);
    clocks_ask(mpi);
    while (clocks->missing > 0 && rbwp_now_ticks() < end_ticks && !watch_is_lost(mpi, 0)) {
        bool had = mpi_job_poll(mpi);
        pthread_mutex_unlock(&mpi->polling);
        if (!had)
            sched_yield();
        pthread_mutex_lock(&mpi->polling);
    }
    if (clocks->missing > 0)
        clocks_end(clocks);
    pthread_mutex_unlock(&mpi->polling);
}

/* The word that it is a node's turn goes from node to node. */
static enum rbwp_status take_turn(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    MPI_Request request;
    char turn = 0;
    enum rbwp_status status = RBWP_OK;
    if (mpi->node > 1) {
        int code =
            MPI_Irecv(&turn, 1, MPI_BYTE, (int)mpi->node - 1, TAG_PING, mpi->calls, &request);
        if (code != MPI_SUCCESS)
            return mpi_job_failure(error, "MPI_Irecv", code);
        status = mpi_job_wait(mpi, &request, NULL, error);
    }
    if (status != RBWP_OK)
        return status;
    compare_now(mpi);
    if (mpi->node + 1 == mpi->nodes)
        return RBWP_OK;
    int code = MPI_Isend(&turn, 1, MPI_BYTE, (int)mpi->node + 1, TAG_PING, mpi->calls, &request);
    if (code != MPI_SUCCESS)
        return mpi_job_failure(error, "MPI_Isend", code);
    return mpi_job_wait(mpi, &request, NULL, error);
}

enum rbwp_status clocks_compare(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    if (mpi->node > 0) {
        enum rbwp_status status = take_turn(mpi, error);
        if (status != RBWP_OK)
            return status;
    }
    MPI_Request request;
    int code = MPI_Ibarrier(mpi->calls, &request);
    if (code != MPI_SUCCESS)
        return mpi_job_failure(error, "MPI_Ibarrier", code);
    return mpi_job_wait(mpi, &request, mpi->node == 0 ? mpi_job_poll : NULL, error);
}

enum rbwp_status rbwp_mpi_compare_clocks(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    if (!mpi)
        return failure(error, RBWP_E_INVALID, 0, "clocks of no job are to be compared");
    int records = rbwp_level_ > 0;
    int anybody = 0;
    MPI_Request request;
    int code = MPI_Iallreduce(&records, &anybody, 1, MPI_INT, MPI_MAX, mpi->calls, &request);
    if (code != MPI_SUCCESS)
        return mpi_job_failure(error, "MPI_Iallreduce", code);
    enum rbwp_status status = mpi_job_wait(mpi, &request, NULL, error);
    if (status != RBWP_OK || !anybody)
        return status;
    status = clocks_compare(mpi, error);
    pthread_mutex_lock(&mpi->polling);
    mpi->clocks.compares = mpi->config.clock_every_ns != RBWP_MPI_NEVER;
    mpi->clocks.due_ticks = rbwp_now_ticks() + rbwp_ticks_from_ns(mpi->config.clock_every_ns);
    pthread_mutex_unlock(&mpi->polling);
    return status;
}

enum rbwp_status rbwp_mpi_clock_offset(struct rbwp_mpi *mpi, int64_t *offset_ns_out,
                                       uint64_t *bound_ns_out)
{
    pthread_mutex_lock(&mpi->polling);
    bool known = mpi->clocks.has_last || mpi->node == 0;
    struct clock_sample last = mpi->clocks.last; /* of node 0: all 0 */
    pthread_mutex_unlock(&mpi->polling);
    if (!known)
        return RBWP_AGAIN;
    *offset_ns_out = last.offset_ns;
    *bound_ns_out = last.bound_ns;
    return RBWP_OK;
}
