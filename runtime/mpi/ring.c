/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#include "failure.h"
#include "joined.h"
#include "transport.h"

#include <stdlib.h>

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
    return code == MPI_SUCCESS ? RBWP_OK : joined_failure(error, "MPI_Irecv", code);
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
    joined_failure(&error, call, code);
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

bool ring_poll(struct rbwp_mpi *mpi)
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
