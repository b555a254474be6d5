/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_transport.h - for those who write a transport: how packets get from node to node.
 *
 * A transport moves packets (short, bounded, in order for each pair of nodes) and payloads (long,
 * matched by a tag that the receiver chose). What is in a packet is the endpoint's affair; it also
 * does rendezvous, windows and quiescence. A transport knows nothing of handlers.
 *
 * Calls down (struct rbwp_transport_ops) come from any thread at any time between start and close,
 * several at once, except that poll comes from one thread at a time. Calls up
 * (rbwp_transport_arrived ...) are for any thread, also the transport's own, but not inside send,
 * send_payload and receive_payload; poll may call up.
 */
#ifndef RBWP_TRANSPORT_H
#define RBWP_TRANSPORT_H

#include "rbwp_message.h"

RBWP_C_BEGIN_

/* A packet's bytes lie in up to so many pieces, one behind the other. */
#define RBWP_PACKET_PIECES_MAX 4
struct rbwp_packet_piece {
    const void *data;
    size_t bytes;
};
struct rbwp_packet {
    uint32_t count; /* of pieces */
    uint32_t bytes; /* in them, at most packet_bytes_max */
    struct rbwp_packet_piece piece[RBWP_PACKET_PIECES_MAX];
};

struct rbwp_transport_ops {
    size_t size; /* sizeof(struct rbwp_transport_ops) */

    /*
     * The endpoint can be called from here on. May block until all nodes are there. Packets may
     * arrive from other nodes before their endpoints' start has returned on this one.
     */
    enum rbwp_status (*start)(struct rbwp_transport *transport, struct rbwp_endpoint *endpoint,
                              struct rbwp_error *error);

    /*
     * Sends a packet to another node, never to its own; copies what it needs. Never blocks. Packets
     * that one thread sends to one node arrive in the order of the calls. RBWP_OK; RBWP_AGAIN: no
     * room now: rbwp_transport_room will be called once there may be some; RBWP_E_IO: the node is
     * lost.
     */
    enum rbwp_status (*send)(struct rbwp_transport *transport, uint32_t node,
                             const struct rbwp_packet *packet);

    /*
     * The two ends of a long payload. The receiver has chosen the tag (0 to tags - 1), is ready for
     * it before the sender begins, and uses it for nothing else from that node meanwhile. The end
     * of either goes to rbwp_transport_payload_done with the token, exactly once, if it
     * returned RBWP_OK. Never blocks. RBWP_E_IO, RBWP_E_MEMORY. NULL where shares_memory.
     */
    enum rbwp_status (*send_payload)(struct rbwp_transport *transport, uint32_t node, uint32_t tag,
                                     const void *payload, uint64_t bytes, uint64_t token);
    enum rbwp_status (*receive_payload)(struct rbwp_transport *transport, uint32_t node,
                                        uint32_t tag, void *payload, uint64_t bytes,
                                        uint64_t token);

    /*
     * Looks for what has come and what has gone out, until the deadline at most; NULL if the
     * transport has threads for all that. The endpoint's work item calls it whenever it runs. True:
     * it did something, or will soon: the item runs again, so that it is polled again. False: not
     * before a call up, or a send, has woken the item. Called once more before close.
     */
    bool (*poll)(struct rbwp_transport *transport, struct rbwp_deadline deadline);

    /* There is room in the inbox again, after rbwp_transport_arrived said RBWP_AGAIN. May be NULL:
     * the transport tries again by itself. */
    void (*room)(struct rbwp_transport *transport);

    /*
     * The end: no call up after it has returned. Frees the transport. Payloads under way are given
     * up, without a report. in_order: this node has nothing to say any more and nothing to hear;
     * else it leaves others in the lurch (they have been sent a packet that says so). Called once;
     * without a start before, too.
     */
    void (*close)(struct rbwp_transport *transport, bool in_order);
};

/* To be the first member of a transport's own struct. Never changes after rbwp_endpoint_new. */
struct rbwp_transport {
    size_t size; /* sizeof(struct rbwp_transport) */
    const struct rbwp_transport_ops *ops;
    uint32_t node, nodes;
    uint32_t packet_bytes_max; /* at least RBWP_PACKET_BYTES_MIN */
    uint32_t tags;             /* of payloads; at least 1 */
    bool shares_memory;        /* the other nodes are in this process: pointers are sent */
};

#define RBWP_PACKET_BYTES_MIN 2048u /* room for a header, and for what the endpoint adds */

/* ---- calls up -------------------------------------------------------------------------- */

/*
 * A packet has come from a node. Copies it. Never blocks. RBWP_OK; RBWP_AGAIN: no room: keep it,
 * and take no further one from that node before it; ops->room says when it may be tried again.
 */
RBWP_API enum rbwp_status rbwp_transport_arrived(struct rbwp_endpoint *endpoint, uint32_t node,
                                                 const struct rbwp_packet *packet);

/* There may be room for packets again, after ops->send has said RBWP_AGAIN. */
RBWP_API void rbwp_transport_room(struct rbwp_endpoint *endpoint);

/* A payload is through (RBWP_OK), or will never be (RBWP_E_IO). */
RBWP_API void rbwp_transport_payload_done(struct rbwp_endpoint *endpoint, uint64_t token,
                                          enum rbwp_status status);

/* A node has left, or cannot be reached; text, one line, says why. NULL: it has left in order,
 * which is a problem for those alone who still send to it. Its payloads under way are still the
 * transport's to report. */
RBWP_API void rbwp_transport_lost(struct rbwp_endpoint *endpoint, uint32_t node, const char *text);

/* Closes a transport that was given to no endpoint. NULL is fine. */
RBWP_API void rbwp_transport_close(struct rbwp_transport *transport);

RBWP_C_END_
#endif /* RBWP_TRANSPORT_H */
