/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#include "failure.h"
#include "mpi_job.h"
#include "rbwp_record.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- the endpoint's side --------------------------------------------------------------------- */
/* rbwp_transport.h by MPI. */

#define RING_LOOK_NS                                                                               \
    100000 /* a worker looks so long after the last packet: longer than it takes the               \
              background to find one and wake a worker, or they never meet */
#define RING_SPIN_NS 5000 /* of that, without letting the manager's other items run */
#define HAD_PER_TIME 8    /* polls that find something, for each that reads the clock */

struct transport {
    struct rbwp_transport base;
    struct rbwp_mpi *mpi;
    uint64_t spin_ticks, look_ticks;
    /* Poll's alone. */
    uint64_t had_ticks; /* about when something was last found */
    unsigned had_since; /* polls in a row that found something */
};

static struct transport *of(struct rbwp_transport *base)
{
    return (struct transport *)base;
}

/* Packets that came before the others' endpoints were there stay in the ring until this one is. */
static enum rbwp_status ring_start(struct rbwp_transport *base, struct rbwp_endpoint *endpoint,
                                   struct rbwp_error *error)
{
    struct rbwp_mpi *mpi = of(base)->mpi;
    pthread_mutex_lock(&mpi->polling);
    mpi->endpoint = endpoint;
    pthread_mutex_unlock(&mpi->polling);
    MPI_Request request;
    int code = MPI_Ibarrier(mpi->calls, &request);
    if (code != MPI_SUCCESS)
        return mpi_job_failure(error, "MPI_Ibarrier", code);
    return mpi_job_wait(mpi, &request, NULL, error);
}

static enum rbwp_status send(struct rbwp_transport *base, uint32_t node,
                             const struct rbwp_packet *packet)
{
    return slots_send(of(base)->mpi, node, TAG_PACKET, packet);
}

static enum rbwp_status send_payload(struct rbwp_transport *base, uint32_t node, uint32_t tag,
                                     const void *payload, uint64_t bytes, uint64_t token)
{
    struct transfer_end end = {.node = node, .tag = (int)tag, .sends = true, .bytes = bytes};
    end.payload = (unsigned char *)(uintptr_t)payload; /* is only read */
    end.token = token;
    return transfers_begin(of(base)->mpi, &end);
}

static enum rbwp_status receive_payload(struct rbwp_transport *base, uint32_t node, uint32_t tag,
                                        void *payload, uint64_t bytes, uint64_t token)
{
    struct transfer_end end = {
        .node = node, .tag = (int)tag, .payload = payload, .bytes = bytes, .token = token};
    return transfers_begin(of(base)->mpi, &end);
}

/* True: the background has found something, which waits in the inbox. */
static bool was_woken(struct rbwp_mpi *mpi)
{
    return atomic_load_explicit(&mpi->background_had, memory_order_relaxed) &&
           atomic_exchange_explicit(&mpi->background_had, false, memory_order_relaxed);
}

static bool ring_look(struct rbwp_mpi *mpi)
{
    pthread_mutex_lock(&mpi->polling);
    bool had = mpi_job_poll(mpi);
    pthread_mutex_unlock(&mpi->polling);
    return had;
}

/* Something is there, and its handler is waited for on another node: the clock can wait. */
static bool go_and_handle(struct transport *transport)
{
    if (++transport->had_since % HAD_PER_TIME == 0) /* the background is informed now and then */
        atomic_store_explicit(&transport->mpi->polled_ticks, rbwp_now_ticks(),
                              memory_order_relaxed);
    return true;
}

/* Goes on looking for a while after the last packet: the answer to what a handler sent comes soon.
 * From false on it is the background that looks; what that found waits in the inbox for its
 * handler, so there is no spinning then. The deadline is far behind what this takes. */
static bool poll_by_worker(struct rbwp_transport *base, struct rbwp_deadline deadline)
{
    struct transport *transport = of(base);
    struct rbwp_mpi *mpi = transport->mpi;
    (void)deadline;
    const bool found = ring_look(mpi), woken = was_woken(mpi); /* both are asked */
    if (found || woken)
        return go_and_handle(transport);
    const uint64_t begin_ticks = rbwp_now_ticks();
    if (transport->had_since > 0)
        transport->had_ticks = begin_ticks;
    transport->had_since = 0;
    bool looks_on = begin_ticks - transport->had_ticks < transport->look_ticks;
    for (uint64_t now_ticks = begin_ticks; looks_on; now_ticks = rbwp_now_ticks()) {
        atomic_store_explicit(&mpi->polled_ticks, now_ticks, memory_order_relaxed);
        if (now_ticks - begin_ticks >= transport->spin_ticks)
            break;
        if (ring_look(mpi))
            return go_and_handle(transport);
        looks_on = now_ticks - transport->had_ticks < transport->look_ticks;
    }
    if (looks_on)
        sched_yield(); /* who sends may need this CPU */
    else
        atomic_store_explicit(&mpi->polled_ticks, 0, memory_order_relaxed);
    return looks_on;
}

/* The others are informed when they still send here: most never do. */
static void close_transport(struct rbwp_transport *base, bool in_order)
{
    struct rbwp_mpi *mpi = of(base)->mpi;
    pthread_mutex_lock(&mpi->polling);
    mpi->endpoint = NULL;
    mpi->transport = NULL;
    mpi->left_in_order = in_order;
    transfers_drop(mpi);
    pthread_mutex_unlock(&mpi->polling);
    free(base);
}

static const struct rbwp_transport_ops ops = {
    .size = sizeof ops,
    .start = ring_start,
    .send = send,
    .send_payload = send_payload,
    .receive_payload = receive_payload,
    .poll = poll_by_worker,
    .close = close_transport,
};

static uint32_t tags_of(MPI_Comm communicator)
{
    int *highest = NULL, is_set = 0;
    MPI_Comm_get_attr(communicator, MPI_TAG_UB, &highest, &is_set);
    return is_set && highest ? (uint32_t)*highest : 32767; /* what the standard promises */
}

enum rbwp_status rbwp_mpi_transport(struct rbwp_mpi *mpi, struct rbwp_transport **transport_out,
                                    struct rbwp_error *error)
{
    if (!mpi || !transport_out)
        return failure(error, RBWP_E_INVALID, 0, "a transport needs a job and a place to go");
    *transport_out = NULL;
    struct transport *transport = calloc(1, sizeof *transport);
    if (!transport)
        return failure(error, RBWP_E_MEMORY, 0, "no memory for a transport");
    transport->base = (struct rbwp_transport){
        .size = sizeof transport->base,
        .ops = &ops,
        .node = mpi->node,
        .nodes = mpi->nodes,
        .packet_bytes_max = PACKET_BYTES_MAX,
        .tags = tags_of(mpi->payloads),
    };
    transport->mpi = mpi;
    transport->spin_ticks = rbwp_ticks_from_ns(RING_SPIN_NS);
    transport->look_ticks = rbwp_ticks_from_ns(RING_LOOK_NS);
    pthread_mutex_lock(&mpi->polling);
    bool is_free = !mpi->transport;
    if (is_free)
        mpi->transport = &transport->base;
    pthread_mutex_unlock(&mpi->polling);
    if (!is_free) {
        free(transport);
        return failure(error, RBWP_E_BUSY, 0, "the job has a transport already");
    }
    *transport_out = &transport->base;
    return RBWP_OK;
}

/*
 * An endpoint's packet has come. False: it has no room now. mpi->polling is held. Who sends to a
 * closed endpoint is reported, by the first such packet. One that is to come yet (no transport was
 * made here so far) has its packets kept.
 */
static bool transport_take(struct rbwp_mpi *mpi, uint32_t from, const void *packet, uint32_t bytes)
{
    if (mpi->endpoint) {
        struct rbwp_packet whole = {.count = 1, .bytes = bytes, .piece = {{packet, bytes}}};
        return rbwp_transport_arrived(mpi->endpoint, from, &whole) != RBWP_AGAIN;
    }
    if (mpi->transport)
        return false;
    if (!mpi->told_left[from]) {
        unsigned char in_order = mpi->left_in_order;
        mpi->told_left[from] =
            slots_send_bytes(mpi, from, TAG_LEFT, &in_order, sizeof in_order) == RBWP_OK;
    }
    return true;
}

/* ---- ring ------------------------------------------------------------------------------------ */

#define AT_A_TIME_MAX 32 /* of the ring, so that senders always find receives that are posted */

/* Posts receives that are missing at the end of the ring. */
static int fill_up(struct rbwp_mpi *mpi)
{
    struct ring *ring = &mpi->ring;
    while (ring->posted < RING_RECEIVES) {
        unsigned at = (ring->head + ring->posted) % RING_RECEIVES;
        int code = MPI_Irecv(ring->packet[at], PACKET_BYTES_MAX, MPI_BYTE, MPI_ANY_SOURCE,
                             MPI_ANY_TAG, mpi->packets, &ring->request[at]);
        if (code != MPI_SUCCESS)
            return code;
        ring->posted++;
    }
    return MPI_SUCCESS;
}

enum rbwp_status ring_open(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    struct ring *ring = &mpi->ring;
    ring->at_a_time = 1;
    ring->packet = malloc(sizeof *ring->packet * RING_RECEIVES);
    if (!ring->packet)
        return failure(error, RBWP_E_MEMORY, 0, "no memory to receive messages in");
    int code = fill_up(mpi);
    return code == MPI_SUCCESS ? RBWP_OK : mpi_job_failure(error, "MPI_Irecv", code);
}

void ring_close(struct rbwp_mpi *mpi)
{
    struct ring *ring = &mpi->ring;
    for (; ring->posted > 0; ring->posted--) {
        MPI_Request *request = &ring->request[ring->head];
        ring->head = (ring->head + 1) % RING_RECEIVES;
        if (*request == MPI_REQUEST_NULL)
            continue;
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    free(ring->packet);
    ring->packet = NULL;
}

/* False: there is no room for it now. */
static bool hand_on(struct rbwp_mpi *mpi, const MPI_Status *status, const void *packet)
{
    uint32_t from = (uint32_t)status->MPI_SOURCE;
    int bytes = 0;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    watch_heard(mpi, from);
    switch (status->MPI_TAG) {
    case TAG_PACKET:
        return transport_take(mpi, from, packet, (uint32_t)bytes);
    case TAG_PING:
        clocks_answer(mpi, from, packet, (size_t)bytes);
        return true;
    case TAG_PONG:
        clocks_take(mpi, packet, (size_t)bytes);
        return true;
    case TAG_LEFT:
        watch_left(mpi, from, bytes == 1 && *(const unsigned char *)packet == 1);
        return true;
    case TAG_LOST:
        watch_told(mpi, packet, (size_t)bytes);
        return true;
    default:
        return true;
    }
}

/* A receive of anybody's failed: nothing can be received any more. */
static void broken(struct rbwp_mpi *mpi, const char *call, int code)
{
    struct rbwp_error error;
    mpi_job_failure(&error, call, code);
    for (uint32_t node = 0; node < mpi->nodes; node++) {
        if (node != mpi->node)
            watch_lose(mpi, node, error.text);
    }
    mpi->ring.is_broken = true;
}

/* True if the head has come. */
static bool head_is_here(struct rbwp_mpi *mpi)
{
    struct ring *ring = &mpi->ring;
    if (ring->held)
        return true;
    int is_here = 0;
    int code = MPI_Test(&ring->request[ring->head], &is_here, &ring->status);
    if (code != MPI_SUCCESS)
        broken(mpi, "MPI_Test", code);
    return code == MPI_SUCCESS && is_here;
}

/* Hands on what has come; true if something had. mpi->polling is held. */
static bool ring_poll(struct rbwp_mpi *mpi)
{
    struct ring *ring = &mpi->ring;
    if (ring->is_broken)
        return false;
    int code = fill_up(mpi);
    if (code != MPI_SUCCESS)
        broken(mpi, "MPI_Irecv", code);
    unsigned count = 0;
    while (count < ring->at_a_time && !ring->is_broken && head_is_here(mpi)) {
        ring->held = !hand_on(mpi, &ring->status, ring->packet[ring->head]);
        if (ring->held)
            break;
        ring->head = (ring->head + 1) % RING_RECEIVES;
        ring->posted--;
        count++;
    }
    bool all = count == ring->at_a_time;
    ring->at_a_time = !all ? 1 : count < AT_A_TIME_MAX ? 2 * count : count;
    return count > 0;
}

bool mpi_job_poll(struct rbwp_mpi *mpi)
{
    bool sent = slots_poll(mpi);
    bool moved = transfers_poll(mpi);
    bool came = ring_poll(mpi);
    return sent || moved || came;
}
