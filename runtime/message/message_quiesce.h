/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_quiesce.h - finding out that the whole job is quiet.
 *
 * Nodes are a tree; node 0 is its root. A round: ASK goes down, and COUNTED comes up with the sums
 * of messages sent and handled. A node answers when it has entered this epoch, is idle, and all
 * below it have answered. The job is quiet when two rounds in a row have the same sums, sent equal
 * to handled: what was sent up to the second round had been handled by the end of the first. Then
 * QUIET goes down.
 *
 * That nodes answer only when idle keeps rounds few: while somebody works, the round waits for him.
 *
 * Who leaves in order says so to the nodes next to it in the tree (GONE). One of these that has
 * entered an epoch, or does so later, then knows that this epoch will never be over, unless it is
 * so already: what the one that has gone had to pass on came before. NEVER spreads that over the
 * tree. Whoever waits is told once all nodes between have entered, too, or gone.
 */
#ifndef MESSAGE_QUIESCE_H
#define MESSAGE_QUIESCE_H

#include "message_packet.h"

#include <stdatomic.h>

#define QUIESCE_FAN 8u /* children of a node */

#define QUIESCE_NODE_BITS 24
#define QUIESCE_NEVER(epoch, node) ((uint64_t)(epoch) << QUIESCE_NODE_BITS | (node))

struct quiesce {
    _Atomic uint64_t entered; /* epochs; writer: who calls rbwp_endpoint_quiesce */
    bool is_waited_for;       /* by the caller: the epoch entered is not over for it */
    _Atomic uint64_t reached; /* epochs that are over; writer: the item */
    /* The item alone. */
    uint64_t epoch, round;            /* of the round that is being counted */
    bool asked;                       /* and not answered yet */
    uint32_t missing;                 /* children that have not */
    uint64_t sent, handled;           /* sums of the children */
    uint64_t last_sent, last_handled; /* the root's, of the round before */
    bool has_last;
    uint64_t quiet_sent, quiet_handled; /* this node's, when the last epoch was over */
    uint32_t gone;                      /* next to this one, in order; nodes: none */
    uint64_t never_spread;              /* the last never that was passed on */
    /* The first epoch that will never be over, and the node that is missing: QUIESCE_NEVER of
     * them. It only shrinks. */
    _Atomic uint64_t never;
};

void quiesce_init(struct rbwp_endpoint *endpoint);
/* A node has left in order. The item. */
void quiesce_gone(struct rbwp_endpoint *endpoint, uint32_t node);
/* This node leaves in order. */
void quiesce_say_gone(struct rbwp_endpoint *endpoint);

/* Packets that have come. The item. False: it is none that a node may send. */
bool quiesce_take(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *head);
/* The item is idle: answers, if it is asked. True: it said something. */
bool quiesce_idle(struct rbwp_endpoint *endpoint);
/* Every message was handled everywhere since the last send here, as far as this node knows. */
bool quiesce_is_over(const struct rbwp_endpoint *endpoint);

#endif /* MESSAGE_QUIESCE_H */
