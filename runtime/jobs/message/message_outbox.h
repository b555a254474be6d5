/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_outbox.h - the way to the transport, and what there is when it has no room.
 *
 * A packet that may not be lost and cannot wait is kept: what the item itself has to say, and sends
 * inside a do_work. The item sends what is kept, in order for each node. While a node has something
 * kept nothing else goes to it, so that the order stays.
 *
 * Who may wait sleeps until something changes: there is room, the job is quiet, a node is lost.
 */
#ifndef MESSAGE_OUTBOX_H
#define MESSAGE_OUTBOX_H

#include "message_endpoint.h"

RBWP_MUST_USE enum rbwp_status outbox_make(struct rbwp_endpoint *endpoint);
void outbox_unmake(struct rbwp_endpoint *endpoint);

/* Sends a message's packet, whose first piece is head. RBWP_OK, RBWP_AGAIN; RBWP_E_IO: the node is
 * lost, and the endpoint knows. */
RBWP_MUST_USE enum rbwp_status outbox_send(struct rbwp_endpoint *endpoint, uint32_t node,
                                           const struct rbwp_packet *packet,
                                           struct packet_head *head);
/* The same, but keeps it where there is no room. RBWP_OK, RBWP_E_IO, RBWP_E_MEMORY. */
RBWP_MUST_USE enum rbwp_status outbox_send_or_keep(struct rbwp_endpoint *endpoint, uint32_t node,
                                                   const struct rbwp_packet *packet,
                                                   struct packet_head *head);
/* For what endpoints tell each other: a head alone. Without memory the node counts as lost. */
void outbox_tell(struct rbwp_endpoint *endpoint, uint32_t node, struct packet_head head);

/* Sends what is kept, as far as there is room. The item. True: something went. */
bool outbox_flush(struct rbwp_endpoint *endpoint);

static inline bool outbox_is_empty(const struct rbwp_endpoint *endpoint)
{
    return atomic_load_explicit(&endpoint->kept, memory_order_acquire) == 0;
}

/* Wakes all who wait. */
void outbox_changed(struct rbwp_endpoint *endpoint);

/* A wait for a condition that the caller tries between the calls:
 *
 *     outbox_wait_begin(endpoint, wait_ns, &wait);
 *     while (not true yet && outbox_wait(endpoint, &wait))
 *         ;
 *     outbox_wait_end(endpoint);
 */
struct outbox_wait {
    uint64_t changes; /* before the condition was tried */
    int64_t until_ns; /* CLOCK_MONOTONIC; INT64_MAX: without end */
};
void outbox_wait_begin(struct rbwp_endpoint *endpoint, uint64_t wait_ns, struct outbox_wait *wait);
/* Sleeps until something has changed since the last call. False: the time is over. */
bool outbox_wait(struct rbwp_endpoint *endpoint, struct outbox_wait *wait);
/* For who has something better to do than to sleep. */
bool outbox_wait_is_over(const struct outbox_wait *wait);
void outbox_wait_end(struct rbwp_endpoint *endpoint);

#endif /* MESSAGE_OUTBOX_H */
