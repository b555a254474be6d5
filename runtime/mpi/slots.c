/* SPDX-License-Identifier: Apache-2.0 */
#include "slots.h"

#include "failure.h"
#include "joined.h"

#include <stdlib.h>
#include <string.h>

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

void slots_close(struct rbwp_mpi *mpi)
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

static void fill(struct slot *slot, const struct rbwp_packet *packet)
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
    fill(slot, packet);
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
            release(slots, at);
            any = true;
        }
    }
    if (atomic_load_explicit(&slots->wanted, memory_order_relaxed) && some_are_free(slots) &&
        atomic_exchange(&slots->wanted, false) && mpi->endpoint)
        rbwp_transport_room(mpi->endpoint);
    return any;
}

bool slots_are_busy(const struct rbwp_mpi *mpi)
{
    for (unsigned word = 0; word < SLOT_WORDS; word++) {
        if (atomic_load(&mpi->slots.under_way[word]))
            return true;
    }
    return false;
}
