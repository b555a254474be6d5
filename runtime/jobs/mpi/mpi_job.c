/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi_job.h"

#include "failure.h"
#include "rbwp_format.h"
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

/* ---- packets that go ------------------------------------------------------------------------- */
/*
 * Each is copied into a slot, which is free again once MPI has taken it.
 *
 * Any thread sends, without a lock of ours. Most packets are through when MPI_Isend returns, so
 * few slots are ever busy.
 */

static bool slots_are_busy(const struct rbwp_mpi *mpi);

enum rbwp_status slots_open(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    struct slots *slots = &mpi->slots;
    slots->slot = malloc(sizeof *slots->slot * SLOTS);
    if (!slots->slot)
        return failure(error, RBWP_E_MEMORY, 0, "no memory to send messages from");
    for (unsigned word = 0; word < SLOT_WORDS; word++)
        atomic_store(&slots->free[word], UINT64_MAX);
    return RBWP_OK;
}

static void slots_close(struct rbwp_mpi *mpi)
{
    /* What a lost node never took stays MPI's, and so does the memory. */
    if (!slots_are_busy(mpi))
        free(mpi->slots.slot);
    mpi->slots.slot = NULL;
}

/* A free slot, which is the caller's then; NULL if there is none. */
static struct slot *claim(struct slots *slots)
{
    for (unsigned word = 0; word < SLOT_WORDS; word++) {
        uint64_t free = atomic_load_explicit(&slots->free[word], memory_order_relaxed);
        while (free) {
            uint64_t taken = free & (free - 1);
            if (atomic_compare_exchange_weak_explicit(&slots->free[word], &free, taken,
                                                      memory_order_acquire, memory_order_relaxed))
                return &slots->slot[word * 64 + (unsigned)__builtin_ctzll(free)];
        }
    }
    return NULL;
}

static void release(struct slots *slots, unsigned at)
{
    atomic_fetch_or_explicit(&slots->free[at / 64], 1ull << at % 64, memory_order_release);
}

/* With none free, says that one is wanted, and looks once more: one may have become free between.
 */
static struct slot *claim_or_want(struct slots *slots)
{
    struct slot *slot = claim(slots);
    if (!slot) {
        atomic_store(&slots->wanted, true);
        slot = claim(slots);
    }
    return slot;
}

static void mpi_job_fill(struct slot *slot, const struct rbwp_packet *packet)
{
    size_t filled = 0;
    for (uint32_t i = 0; i < packet->count; i++) {
        if (packet->piece[i].bytes)
            memcpy(slot->packet + filled, packet->piece[i].data, packet->piece[i].bytes);
        filled += packet->piece[i].bytes;
    }
}

enum rbwp_status slots_send(struct rbwp_mpi *mpi, uint32_t node, int tag,
                            const struct rbwp_packet *packet)
{
    struct slots *slots = &mpi->slots;
    /* Where no endpoint is any more there still is somebody whose clock can be asked. */
    if (tag == TAG_PACKET ? !watch_is_here(mpi, node) : watch_is_lost(mpi, node))
        return RBWP_E_IO;
    struct slot *slot = claim_or_want(slots);
    if (!slot)
        return RBWP_AGAIN;
    unsigned at = (unsigned)(slot - slots->slot);
    slot->node = node;
    mpi_job_fill(slot, packet);
    int code = MPI_Isend(slot->packet, (int)packet->bytes, MPI_BYTE, (int)node, tag, mpi->packets,
                         &slot->request);
    int is_through = 0;
    if (code == MPI_SUCCESS)
        code = MPI_Test(&slot->request, &is_through, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) {
        watch_suspect(mpi, node, code);
        release(slots, at);
        return RBWP_E_IO;
    }
    if (is_through)
        release(slots, at);
    else
        atomic_fetch_or_explicit(&slots->under_way[at / 64], 1ull << at % 64, memory_order_release);
    return RBWP_OK;
}

enum rbwp_status slots_send_bytes(struct rbwp_mpi *mpi, uint32_t node, int tag, const void *bytes,
                                  size_t count)
{
    struct rbwp_packet packet = {.count = 1, .bytes = (uint32_t)count, .piece = {{bytes, count}}};
    return slots_send(mpi, node, tag, &packet);
}

/* True if the packet in this slot is through, or never will be. */
static bool is_through(struct rbwp_mpi *mpi, unsigned at)
{
    struct slot *slot = &mpi->slots.slot[at];
    int done = 0;
    int code = MPI_Test(&slot->request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS)
        watch_suspect(mpi, slot->node, code);
    return done || code != MPI_SUCCESS;
}

static bool some_are_free(const struct slots *slots)
{
    uint64_t free = 0;
    for (unsigned word = 0; word < SLOT_WORDS; word++)
        free |= atomic_load_explicit(&slots->free[word], memory_order_relaxed);
    return free != 0;
}

/* Frees slots of packets that are through; true if there were any. mpi->polling is held. */
static bool slots_poll(struct rbwp_mpi *mpi)
{
    struct slots *slots = &mpi->slots;
    bool any = false;
    for (unsigned word = 0; word < SLOT_WORDS; word++) {
        uint64_t bits = atomic_load_explicit(&slots->under_way[word], memory_order_acquire);
        for (; bits; bits &= bits - 1) {
            unsigned at = word * 64 + (unsigned)__builtin_ctzll(bits);
            if (!is_through(mpi, at))
                continue;
            atomic_fetch_and(&slots->under_way[word], ~(1ull << at % 64));
            release(slots, at);
            any = true;
        }
    }
    if (atomic_load_explicit(&slots->wanted, memory_order_relaxed) && some_are_free(slots) &&
        atomic_exchange(&slots->wanted, false) && mpi->endpoint)
        rbwp_transport_room(mpi->endpoint);
    return any;
}

/* True if MPI still has packets of ours. */
static bool slots_are_busy(const struct rbwp_mpi *mpi)
{
    for (unsigned word = 0; word < SLOT_WORDS; word++) {
        if (atomic_load(&mpi->slots.under_way[word]))
            return true;
    }
    return false;
}

/* ---- long payloads, from one node's memory into another's ------------------------------------ */

#define PIECE_BYTES (1ull << 30) /* MPI counts in ints */

struct transfer {
    struct transfer *next;
    struct transfer_end end; /* its payload and bytes: what is not through yet */
    MPI_Request request;     /* of the piece that is under way */
    uint64_t piece_bytes;
    bool is_good; /* once it is over: all of it is through */
};

/* Pieces of one payload go one after the other, so they cannot be taken for each other. */
static int begin_piece(struct rbwp_mpi *mpi, struct transfer *transfer)
{
    const struct transfer_end *end = &transfer->end;
    transfer->piece_bytes = end->bytes < PIECE_BYTES ? end->bytes : PIECE_BYTES;
    int count = (int)transfer->piece_bytes;
    if (end->sends)
        return MPI_Isend(end->payload, count, MPI_BYTE, (int)end->node, end->tag, mpi->payloads,
                         &transfer->request);
    return MPI_Irecv(end->payload, count, MPI_BYTE, (int)end->node, end->tag, mpi->payloads,
                     &transfer->request);
}

enum rbwp_status transfers_begin(struct rbwp_mpi *mpi, const struct transfer_end *end)
{
    struct transfers *transfers = &mpi->transfers;
    if (!watch_is_here(mpi, end->node))
        return RBWP_E_IO;
    struct transfer *transfer = malloc(sizeof *transfer);
    if (!transfer)
        return RBWP_E_MEMORY;
    *transfer = (struct transfer){.end = *end};
    int code = begin_piece(mpi, transfer);
    if (code != MPI_SUCCESS) {
        watch_suspect(mpi, end->node, code);
        free(transfer);
        return RBWP_E_IO;
    }
    pthread_mutex_lock(&transfers->lock);
    transfer->next = transfers->first;
    transfers->first = transfer;
    atomic_store(&transfers->any, true);
    pthread_mutex_unlock(&transfers->lock);
    return RBWP_OK;
}

/* The other end is gone. What it might still read of ours stays as it is; what it would have
 * written here must not come any more. */
static void give_up(struct transfer *transfer)
{
    if (!transfer->end.sends)
        MPI_Cancel(&transfer->request);
    MPI_Request_free(&transfer->request);
}

/* RBWP_AGAIN while it is under way. */
static enum rbwp_status transfers_look(struct rbwp_mpi *mpi, struct transfer *transfer)
{
    int is_through = 0;
    int code = MPI_Test(&transfer->request, &is_through, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !is_through) {
        if (watch_is_here(mpi, transfer->end.node))
            return RBWP_AGAIN;
        give_up(transfer);
        return RBWP_E_IO;
    }
    transfer->end.bytes -= transfer->piece_bytes;
    if (code == MPI_SUCCESS && transfer->end.bytes > 0) {
        transfer->end.payload += transfer->piece_bytes;
        code = begin_piece(mpi, transfer);
        if (code == MPI_SUCCESS)
            return RBWP_AGAIN;
    }
    if (code != MPI_SUCCESS)
        watch_suspect(mpi, transfer->end.node, code);
    return code == MPI_SUCCESS ? RBWP_OK : RBWP_E_IO;
}

/* Takes those that are over out of the list; returns a list of them, with is_good told.
 */
static struct transfer *take_over(struct rbwp_mpi *mpi)
{
    struct transfer *over = NULL;
    for (struct transfer **link = &mpi->transfers.first; *link;) {
        struct transfer *transfer = *link;
        enum rbwp_status status = transfers_look(mpi, transfer);
        if (status == RBWP_AGAIN) {
            link = &transfer->next;
            continue;
        }
        *link = transfer->next;
        transfer->is_good = status == RBWP_OK;
        transfer->next = over;
        over = transfer;
    }
    return over;
}

/* Tells of those that are through or never will be; true if there were any. mpi->polling is held.
 */
static bool transfers_poll(struct rbwp_mpi *mpi)
{
    struct transfers *transfers = &mpi->transfers;
    if (!atomic_load_explicit(&transfers->any, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&transfers->lock);
    struct transfer *over = take_over(mpi);
    atomic_store(&transfers->any, transfers->first != NULL);
    pthread_mutex_unlock(&transfers->lock);
    bool any = over != NULL;
    while (over) {
        struct transfer *transfer = over;
        over = over->next;
        if (mpi->endpoint)
            rbwp_transport_payload_done(mpi->endpoint, transfer->end.token,
                                        transfer->is_good ? RBWP_OK : RBWP_E_IO);
        free(transfer);
    }
    return any;
}

void transfers_drop(struct rbwp_mpi *mpi)
{
    pthread_mutex_lock(&mpi->transfers.lock);
    while (mpi->transfers.first) {
        struct transfer *transfer = mpi->transfers.first;
        mpi->transfers.first = transfer->next;
        give_up(transfer);
        free(transfer);
    }
    atomic_store(&mpi->transfers.any, false);
    pthread_mutex_unlock(&mpi->transfers.lock);
}

/* ---- the thread that looks at MPI while no worker does --------------------------------------- */
/*
 * MPI has nothing to wait on, so somebody has to look. A worker does while messages come; when the
 * work item sleeps, this thread looks from time to time, the more seldom the longer nothing has
 * come, and what it finds wakes the item. It also compares clocks and watches the nodes.
 */

struct rbwp_mpi;

enum rbwp_status background_start(struct rbwp_mpi *mpi, struct rbwp_error *error);

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

enum rbwp_status background_start(struct rbwp_mpi *mpi, struct rbwp_error *error)
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

/* ---- for all files of the room -------------------------------------------------------- */

enum rbwp_status mpi_job_failure(struct rbwp_error *error, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    return failure(error, RBWP_E_IO, 0, "%s failed: %s", call, text);
}

bool mpi_job_poll(struct rbwp_mpi *mpi)
{
    bool sent = slots_poll(mpi);
    bool moved = transfers_poll(mpi);
    bool came = ring_poll(mpi);
    return sent || moved || came;
}

/* A look at the others' messages while all wait for each other. */
static void poll_once(struct rbwp_mpi *mpi)
{
    pthread_mutex_lock(&mpi->polling);
    if (mpi->ring.packet && mpi->slots.slot)
        mpi_job_poll(mpi);
    pthread_mutex_unlock(&mpi->polling);
}

enum rbwp_status mpi_job_wait(struct rbwp_mpi *mpi, MPI_Request *request, bool busy,
                              struct rbwp_error *error)
{
    long sleep_ns = 1000;
    for (;;) {
        int is_done = 0;
        int code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            return mpi_job_failure(error, "MPI_Test", code);
        if (is_done)
            return RBWP_OK;
        if (!watch_all_are_here(mpi, error))
            return RBWP_E_IO; /* the request is MPI's for ever: one of all nodes cannot be freed */
        if (busy) {
            poll_once(mpi);
            sched_yield();
            continue;
        }
        nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
        sleep_ns = sleep_ns < 200000 ? sleep_ns * 2 : 200000;
    }
}

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
    return mpi_job_wait(mpi, &request, false, error);
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
    enum rbwp_status status = code == MPI_SUCCESS ? mpi_job_wait(mpi, &request, false, error)
                                                  : mpi_job_failure(error, "MPI_Ibarrier", code);
    atomic_store(&mpi->watch.off, true);
    mpi_job_leave(mpi, status == RBWP_OK);
    return status;
}
