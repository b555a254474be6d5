/* SPDX-License-Identifier: Apache-2.0 */
/* transfers.c - what goes: packets and payloads; and waiting for MPI. */
#include "mpi_job.h"

#include "failure.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- waiting for MPI ------------------------------------------------------------------------- */

enum rbwp_status mpi_job_failure(struct rbwp_error *error, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    return failure(error, RBWP_E_IO, 0, "%s failed: %s", call, text);
}

enum rbwp_status mpi_job_wait(struct rbwp_mpi *mpi, MPI_Request *request,
                              bool (*poll)(struct rbwp_mpi *mpi), struct rbwp_error *error)
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
        if (poll) {
            pthread_mutex_lock(&mpi->polling);
            poll(mpi);
            pthread_mutex_unlock(&mpi->polling);
            sched_yield();
            continue;
        }
        nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
        sleep_ns = sleep_ns < 200000 ? sleep_ns * 2 : 200000;
    }
}

/* ---- packets that go ------------------------------------------------------------------------- */
/*
 * Each is copied into a slot, which is free again once MPI has taken it.
 *
 * Any thread sends, without a lock of ours. Most packets are through when MPI_Isend returns, so
 * few slots are ever busy.
 */

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

bool slots_are_busy(const struct rbwp_mpi *mpi)
{
    for (unsigned word = 0; word < SLOT_WORDS; word++) {
        if (atomic_load(&mpi->slots.under_way[word]))
            return true;
    }
    return false;
}

void slots_close(struct rbwp_mpi *mpi)
{
    /* What a lost node never took stays MPI's, and so does the memory. */
    if (!slots_are_busy(mpi))
        free(mpi->slots.slot);
    mpi->slots.slot = NULL;
}

/* A free slot, which is the caller's then; NULL if there is none. */
static struct slot *claim_transfer(struct slots *slots)
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

static void release_transfer(struct slots *slots, unsigned at)
{
    atomic_fetch_or_explicit(&slots->free[at / 64], 1ull << at % 64, memory_order_release);
}

/* With none free, says that one is wanted, and looks once more: one may have become free between.
 */
static struct slot *claim_or_want(struct slots *slots)
{
    struct slot *slot = claim_transfer(slots);
    if (!slot) {
        atomic_store(&slots->wanted, true);
        slot = claim_transfer(slots);
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
        release_transfer(slots, at);
        return RBWP_E_IO;
    }
    if (is_through)
        release_transfer(slots, at);
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

bool slots_poll(struct rbwp_mpi *mpi)
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
            release_transfer(slots, at);
            any = true;
        }
    }
    if (atomic_load_explicit(&slots->wanted, memory_order_relaxed) && some_are_free(slots) &&
        atomic_exchange(&slots->wanted, false) && mpi->endpoint)
        rbwp_transport_room(mpi->endpoint);
    return any;
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

/* Takes those that are over out of the list; returns a list of them, with is_good set.
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
