/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - finds nodes that are lost.
 *
 * Processes on this machine (one boot, one PID namespace) by a handle of the kernel's, which tells
 * of their end whatever it was. Of the nodes on other machines, those next to this one in the
 * job's order by signs of life; who finds one lost tells all others.
 */
#ifndef WATCH_H
#define WATCH_H

#include "rbwp_format.h"

#include <pthread.h>
#include <stdatomic.h>

struct rbwp_mpi;

struct watch {
    struct watched *node; /* one a node */
    uint32_t *near_node;  /* nodes on this machine */
    struct pollfd *near;  /* the kernel's handles of them */
    uint32_t near_count;
    uint64_t due_ticks, sign_due_ticks;
    uint32_t neighbour[2]; /* nodes that exchange signs of life with this one */
    unsigned neighbour_count;
    _Atomic(bool) off;    /* all have come to the end: who goes now is not lost */
    pthread_mutex_t lock; /* guards the rest */
    bool any_lost;
    struct rbwp_error first; /* if so */
    _Atomic(bool) any_suspect;
};

/* Tells each other who is where. Collective. */
enum rbwp_status watch_open(struct rbwp_mpi *mpi, struct rbwp_error *error);
void watch_close(struct rbwp_mpi *mpi);

/* False: the node is lost, or no endpoint is there any more. */
bool watch_is_here(const struct rbwp_mpi *mpi, uint32_t node);
bool watch_is_lost(const struct rbwp_mpi *mpi, uint32_t node);
/* False, and error names it, once any node is lost. */
bool watch_all_are_here(struct rbwp_mpi *mpi, struct rbwp_error *error);

/* From the background: looks for what was lost, and shows that this node lives. polling is held. */
void watch_tick(struct rbwp_mpi *mpi, uint64_t now_ticks);

/* A node is lost: tells whom it concerns, once. polling is held. */
void watch_lose(struct rbwp_mpi *mpi, uint32_t node, const char *text);
/* MPI failed with this code in something with a node: it will be lost at the next tick. For calls
 * that must not call up. */
void watch_suspect(struct rbwp_mpi *mpi, uint32_t node, int code);

/* What came from other nodes. polling is held. */
void watch_heard(struct rbwp_mpi *mpi, uint32_t from);
void watch_left(struct rbwp_mpi *mpi, uint32_t from, bool in_order);
void watch_told(struct rbwp_mpi *mpi, const void *packet, size_t bytes);

#endif /* WATCH_H */
