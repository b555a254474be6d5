/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - packets that come: a ring of receives that are posted ahead.
 *
 * MPI fills them in the order in which they were posted, so only the head is looked at. A look that
 * finds nothing and a post cost as much as a handler, so a packet that comes alone is handed on
 * before either: the ring is filled up by the next look, and only who found as many as he was
 * allowed to looks for more.
 */
#ifndef RING_H
#define RING_H

#include "rbwp_format.h"

#include <mpi.h>

#define PACKET_BYTES_MAX                                                                           \
    4032 /* with MPI's own header it still goes at once through shared memory */
#define RING_RECEIVES 64

struct rbwp_mpi;

struct ring {
    MPI_Request request[RING_RECEIVES];
    unsigned posted; /* of them, from the head on */
    unsigned head;
    unsigned at_a_time; /* packets that the next look takes at most */
    bool is_broken;     /* MPI failed in it: nothing can be received any more */
    bool held;          /* the head has come, and who it is for has no room yet */
    MPI_Status status;  /* of the held one */
    unsigned char (*packet)[PACKET_BYTES_MAX];
};

enum rbwp_status ring_open(struct rbwp_mpi *mpi, struct rbwp_error *error);
void ring_close(struct rbwp_mpi *mpi);

#endif /* RING_H */
