/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - packets that go: each is copied into a slot, which is free again once MPI has taken it.
 *
 * Any thread sends, without a lock of ours. Most packets are through when MPI_Isend returns, so
 * few slots are ever busy.
 */
#ifndef SLOTS_H
#define SLOTS_H

#include "rbwp_transport.h"

#include "ring.h"

#include <stdatomic.h>

#define SLOT_WORDS 4
#define SLOTS (64 * SLOT_WORDS)

struct slot {
    MPI_Request request;
    uint32_t node;
    unsigned char packet[PACKET_BYTES_MAX];
};

struct slots {
    struct slot *slot;
    _Atomic(uint64_t) free[SLOT_WORDS];      /* a bit each */
    _Atomic(uint64_t) under_way[SLOT_WORDS]; /* not free, and MPI has it */
    _Atomic(bool) wanted;                    /* a send found none free */
};

enum rbwp_status slots_open(struct rbwp_mpi *mpi, struct rbwp_error *error);
void slots_close(struct rbwp_mpi *mpi);

/* Sends a packet. Never blocks. RBWP_OK, it is copied; RBWP_AGAIN: no slot is free; RBWP_E_IO: the
 * node is lost or has left. */
enum rbwp_status slots_send(struct rbwp_mpi *mpi, uint32_t node, int tag,
                            const struct rbwp_packet *packet);
/* The same for bytes in one piece. */
enum rbwp_status slots_send_bytes(struct rbwp_mpi *mpi, uint32_t node, int tag, const void *bytes,
                                  size_t count);

/* Frees slots of packets that are through; true if there were any. mpi->polling is held. */
bool slots_poll(struct rbwp_mpi *mpi);

/* True if MPI still has packets of ours. */
bool slots_are_busy(const struct rbwp_mpi *mpi);

#endif /* SLOTS_H */
