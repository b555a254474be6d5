/* SPDX-License-Identifier: Apache-2.0 */

#include "failure.h"
#include "mpi_job.h"
#include "rbwp_record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- where a process is, so that others on the same machine can watch it --------------------- */

/* Travels between nodes as it is. */
struct place {
    char boot[40];      /* id of the machine's last start; "" unknown */
    uint64_t pid_space; /* number of the PID namespace; 0 unknown */
    int64_t pid;
    char host[64]; /* its name, for people */
};

static void place_of_self(struct place *place)
{
    *place = (struct place){.pid = getpid()};
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, place->boot, sizeof place->boot - 1) < 0)
            place->boot[0] = 0;
        close(fd);
    }
    struct stat space;
    if (stat("/proc/self/ns/pid", &space) == 0)
        place->pid_space = space.st_ino;
    gethostname(place->host, sizeof place->host - 1);
}

/* Whether a process of one can watch one of the other: same machine, same process ids. */
static bool places_are_near(const struct place *a, const struct place *b)
{
    return a->boot[0] && a->pid_space && a->pid_space == b->pid_space &&
           memcmp(a->boot, b->boot, sizeof a->boot) == 0;
}

/* A descriptor that can be read from once the process has ended; -1 if there is none to be had. */
static int place_handle(const struct place *place)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, (pid_t)place->pid, 0u);
#else
    (void)place;
    return -1;
#endif
}

/* For want of a handle: whether there is no such process any more. */
static bool place_is_empty(const struct place *place)
{
    return kill((pid_t)place->pid, 0) < 0 && errno == ESRCH;
}

/* ---- watch ----------------------------------------------------------------------------------- */

#define WATCH_LOOK_NS 100000000u /* at handles, so often */
#define SIGNS_A_PATIENCE 4       /* signs of life in the time after which a node is lost */
#define HANDLES_MAX 256          /* the others are asked for each time */

enum state { HERE = 0, LEFT = 1, LOST = 2 };

struct watched {
    _Atomic(uint8_t) state;
    _Atomic(int) suspect_code; /* what MPI said; MPI_SUCCESS if nothing */
    bool heard;                /* since the last look */
    uint64_t heard_ticks;      /* neighbours: time of the look that found it heard */
    struct place place;
};

struct lost_note {
    uint32_t node;
    char text[sizeof((struct rbwp_error *)0)->text];
};

bool watch_is_here(const struct rbwp_mpi *mpi, uint32_t node)
{
    return atomic_load_explicit(&mpi->watch.node[node].state, memory_order_relaxed) == HERE;
}

bool watch_is_lost(const struct rbwp_mpi *mpi, uint32_t node)
{
    return atomic_load_explicit(&mpi->watch.node[node].state, memory_order_relaxed) == LOST;
}

bool watch_all_are_here(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    struct watch *watch = &mpi->watch;
    pthread_mutex_lock(&watch->lock);
    bool any_lost = watch->any_lost;
    if (any_lost && error)
        *error = watch->first;
    pthread_mutex_unlock(&watch->lock);
    return !any_lost;
}

/* ---- who is where ------------------------------------------------------------------- */

static enum rbwp_status watch_gather(struct rbwp_mpi *mpi, struct place *places,
                                     struct rbwp_error *error)
{
    struct place own;
    place_of_self(&own);
    MPI_Request request;
    int bytes = (int)sizeof own;
    int code = MPI_Iallgather(&own, bytes, MPI_BYTE, places, bytes, MPI_BYTE, mpi->calls, &request);
    if (code != MPI_SUCCESS)
        return mpi_job_failure(error, "MPI_Iallgather", code);
    return mpi_job_wait(mpi, &request, NULL, error);
}

/* Whether two nodes need signs of life must look the same from both: so it goes by their places. */
static bool needs_signs(const struct rbwp_mpi *mpi, uint32_t node)
{
    const struct watched *nodes = mpi->watch.node;
    return mpi->config.signs_only || !places_are_near(&nodes[node].place, &nodes[mpi->node].place);
}

static void find_neighbours(struct rbwp_mpi *mpi)
{
    struct watch *watch = &mpi->watch;
    uint32_t next = (mpi->node + 1) % mpi->nodes;
    uint32_t before = (mpi->node + mpi->nodes - 1) % mpi->nodes;
    if (next != mpi->node && needs_signs(mpi, next))
        watch->neighbour[watch->neighbour_count++] = next;
    if (before != next && before != mpi->node && needs_signs(mpi, before))
        watch->neighbour[watch->neighbour_count++] = before;
    for (unsigned i = 0; i < watch->neighbour_count; i++)
        watch->node[watch->neighbour[i]].heard_ticks = rbwp_now_ticks();
}

static void take_near(struct rbwp_mpi *mpi, uint32_t node)
{
    struct watch *watch = &mpi->watch;
    int handle = watch->near_count < HANDLES_MAX ? place_handle(&watch->node[node].place) : -1;
    watch->near[watch->near_count] = (struct pollfd){.fd = handle, .events = POLLIN};
    watch->near_node[watch->near_count++] = node;
}

static enum rbwp_status watch_make_room(struct rbwp_mpi *mpi, struct place **places_out,
                                        struct rbwp_error *error)
{
    struct watch *watch = &mpi->watch;
    watch->node = calloc(mpi->nodes, sizeof *watch->node);
    watch->near = calloc(mpi->nodes, sizeof *watch->near);
    watch->near_node = calloc(mpi->nodes, sizeof *watch->near_node);
    *places_out = calloc(mpi->nodes, sizeof **places_out);
    if (watch->node && watch->near && watch->near_node && *places_out)
        return RBWP_OK;
    return failure(error, RBWP_E_MEMORY, 0, "no memory for %u nodes", mpi->nodes);
}

enum rbwp_status watch_open(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    struct place *places = NULL;
    enum rbwp_status status = watch_make_room(mpi, &places, error);
    if (status == RBWP_OK)
        status = watch_gather(mpi, places, error);
    if (status == RBWP_OK) {
        for (uint32_t node = 0; node < mpi->nodes; node++)
            mpi->watch.node[node].place = places[node];
        for (uint32_t node = 0; node < mpi->nodes; node++) {
            if (node != mpi->node && !needs_signs(mpi, node))
                take_near(mpi, node);
        }
        find_neighbours(mpi);
    }
    free(places);
    return status;
}

void watch_close(struct rbwp_mpi *mpi)
{
    struct watch *watch = &mpi->watch;
    for (uint32_t i = 0; i < watch->near_count; i++) {
        if (watch->near[i].fd >= 0)
            close(watch->near[i].fd);
    }
    free(watch->near);
    free(watch->near_node);
    free(watch->node);
}

/* ---- what is lost --------------------------------------------------------------------- */

/* The first that was lost is what errors name. */
static void watch_note(struct watch *watch, const char *text)
{
    pthread_mutex_lock(&watch->lock);
    if (!watch->any_lost)
        failure(&watch->first, RBWP_E_IO, 0, "%s", text);
    watch->any_lost = true;
    pthread_mutex_unlock(&watch->lock);
}

void watch_lose(struct rbwp_mpi *mpi, uint32_t node, const char *text)
{
    struct watch *watch = &mpi->watch;
    if (node >= mpi->nodes || node == mpi->node || atomic_load(&watch->off) ||
        atomic_exchange(&watch->node[node].state, LOST) == LOST)
        return;
    watch_note(watch, text);
    if (mpi->endpoint)
        rbwp_transport_lost(mpi->endpoint, node, text);
    if (mpi->config.lost)
        mpi->config.lost(mpi->config.argument, node, text);
}

/* Those that cannot have seen it themselves; a word that finds no slot is said by others. */
static void tell_others(struct rbwp_mpi *mpi, uint32_t lost, const char *text)
{
    const struct watched *nodes = mpi->watch.node;
    struct lost_note word = {.node = lost};
    snprintf(word.text, sizeof word.text, "%s", text);
    for (uint32_t node = 0; node < mpi->nodes; node++) {
        bool sees_it =
            !mpi->config.signs_only && places_are_near(&nodes[node].place, &nodes[lost].place);
        if (node != mpi->node && node != lost && !sees_it)
            (void)slots_send_bytes(mpi, node, TAG_LOST, &word, sizeof word);
    }
}

static void find_lost(struct rbwp_mpi *mpi, uint32_t node, const char *what)
{
    if (atomic_load(&mpi->watch.node[node].state) == LOST)
        return;
    const struct place *place = &mpi->watch.node[node].place;
    struct rbwp_error error;
    failure(&error, RBWP_E_IO, 0, "node %u (process %lld on %s) is lost: %s", node,
            (long long)place->pid, place->host, what);
    tell_others(mpi, node, error.text);
    watch_lose(mpi, node, error.text);
}

void watch_suspect(struct rbwp_mpi *mpi, uint32_t node, int code)
{
    atomic_store(&mpi->watch.node[node].suspect_code, code);
    atomic_store(&mpi->watch.any_suspect, true);
}

void watch_heard(struct rbwp_mpi *mpi, uint32_t from)
{
    mpi->watch.node[from].heard = true;
}

/* Its process is there, and so it is not lost to the job. */
void watch_left(struct rbwp_mpi *mpi, uint32_t from, bool in_order)
{
    uint8_t here = HERE;
    if (!atomic_compare_exchange_strong(&mpi->watch.node[from].state, &here, LEFT) ||
        !mpi->endpoint)
        return;
    char text[64];
    snprintf(text, sizeof text, "node %u has left: its endpoint is closed", from);
    rbwp_transport_lost(mpi->endpoint, from, in_order ? NULL : text);
}

void watch_told(struct rbwp_mpi *mpi, const void *packet, size_t bytes)
{
    struct lost_note word;
    if (bytes != sizeof word)
        return;
    memcpy(&word, packet, bytes);
    word.text[sizeof word.text - 1] = 0;
    watch_lose(mpi, word.node, word.text);
}

/* ---- looking ---------------------------------------------------------------------------- */

static void look_at_near(struct rbwp_mpi *mpi)
{
    struct watch *watch = &mpi->watch;
    if (poll(watch->near, watch->near_count, 0) < 0)
        return;
    for (uint32_t i = 0; i < watch->near_count; i++) {
        struct pollfd *near = &watch->near[i];
        uint32_t node = watch->near_node[i];
        if (near->fd >= 0 ? near->revents != 0 : place_is_empty(&watch->node[node].place))
            find_lost(mpi, node, "it ended without leaving the job");
    }
}

static void look_at_neighbours(struct rbwp_mpi *mpi, uint64_t now_ticks)
{
    struct watch *watch = &mpi->watch;
    uint64_t patience_ticks = rbwp_ticks_from_ns(mpi->config.lost_after_ns);
    for (unsigned i = 0; i < watch->neighbour_count; i++) {
        struct watched *node = &watch->node[watch->neighbour[i]];
        if (node->heard)
            node->heard_ticks = now_ticks;
        node->heard = false;
        if (now_ticks - node->heard_ticks < patience_ticks)
            continue;
        char text[64];
        snprintf(text, sizeof text, "it gave no sign of life for %.1f s",
                 (double)mpi->config.lost_after_ns / 1e9);
        find_lost(mpi, watch->neighbour[i], text);
    }
}

static void look_at_suspects(struct rbwp_mpi *mpi)
{
    if (!atomic_exchange(&mpi->watch.any_suspect, false))
        return;
    for (uint32_t node = 0; node < mpi->nodes; node++) {
        int code = atomic_exchange(&mpi->watch.node[node].suspect_code, MPI_SUCCESS);
        if (code == MPI_SUCCESS)
            continue;
        struct rbwp_error error;
        mpi_job_failure(&error, "a send", code);
        find_lost(mpi, node, error.text);
    }
}

static void give_signs(struct rbwp_mpi *mpi)
{
    struct watch *watch = &mpi->watch;
    for (unsigned i = 0; i < watch->neighbour_count; i++)
        (void)slots_send_bytes(mpi, watch->neighbour[i], TAG_SIGN, "", 1);
}

void watch_tick(struct rbwp_mpi *mpi, uint64_t now_ticks)
{
    struct watch *watch = &mpi->watch;
    if (atomic_load(&watch->off))
        return;
    look_at_suspects(mpi);
    if (now_ticks >= watch->due_ticks) {
        watch->due_ticks = now_ticks + rbwp_ticks_from_ns(WATCH_LOOK_NS);
        look_at_near(mpi);
    }
    if (now_ticks < watch->sign_due_ticks || mpi->config.lost_after_ns == RBWP_MPI_NEVER)
        return;
    watch->sign_due_ticks =
        now_ticks + rbwp_ticks_from_ns(mpi->config.lost_after_ns / SIGNS_A_PATIENCE);
    give_signs(mpi);
    look_at_neighbours(mpi, now_ticks);
}
