/* SPDX-License-Identifier: Apache-2.0 */
#include "transfers.h"

#include "failure.h"
#include "joined.h"

#include <stdlib.h>

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
static enum rbwp_status look(struct rbwp_mpi *mpi, struct transfer *transfer)
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
        enum rbwp_status status = look(mpi, transfer);
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

bool transfers_poll(struct rbwp_mpi *mpi)
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
