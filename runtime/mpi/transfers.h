/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfers.h - long payloads, from one node's memory into another's.
 */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "rbwp_format.h"

#include <mpi.h>
#include <stdatomic.h>
#include <pthread.h>

struct rbwp_mpi;

struct transfers {
    pthread_mutex_t lock;
    struct transfer *first; /* under way; lock guards it */
    _Atomic(bool) any;      /* there are some */
};

/* What one is of. */
struct transfer_end {
    uint32_t node; /* the other one */
    int tag;
    bool sends;
    unsigned char *payload;
    uint64_t bytes;
    uint64_t token; /* for rbwp_transport_payload_done */
};

/* Begins one end of a payload's way. Never blocks. RBWP_E_MEMORY; RBWP_E_IO: the node is lost. */
enum rbwp_status transfers_begin(struct rbwp_mpi *mpi, const struct transfer_end *end);

/* Tells of those that are through or never will be; true if there were any. mpi->polling is held.
 */
bool transfers_poll(struct rbwp_mpi *mpi);

/* Gives all up, without telling. mpi->polling is held. */
void transfers_drop(struct rbwp_mpi *mpi);

#endif /* TRANSFERS_H */
