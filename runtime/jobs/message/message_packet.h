/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_packet.h - what endpoints write to each other.
 *
 * A head, the message's header (filled up to 8 bytes), and the payload. All nodes of a job have the
 * same byte order and library; what comes is checked all the same.
 */
#ifndef MESSAGE_PACKET_H
#define MESSAGE_PACKET_H

#include "rbwp_transport.h"

enum packet_kind {
    PACKET_SHORT = 1, /* a message */
    PACKET_OFFER, /* a long one's header; word: the sender's number for it. Where memory is shared
                     a struct message_loan's address is behind the header */
    PACKET_GRANT, /* its payload may come; word: that number; bytes: tag */
    PACKET_OVER,  /* an offer needs no payload (any more): shared and read, or reason says why not;
                     word: that number */
    PACKET_REFUSED, /* a short one was dropped; reason; handler */
    PACKET_WINDOW,  /* nothing but what every head has */
    PACKET_ASK,     /* quiescence: key: epoch, word: round */
    PACKET_COUNTED, /* word: round, key: sent, bytes: handled, of the nodes below */
    PACKET_QUIET,   /* key: epoch */
    PACKET_LEAVING, /* before the job was quiet */
    PACKET_GONE,    /* after it was; to the next nodes in the tree */
    PACKET_NEVER,   /* epochs from key on will never be over: node word has gone */
    PACKET_KINDS
};

struct packet_head {
    uint8_t kind;
    uint8_t reason;        /* enum rbwp_message_problem_kind, 0 none */
    uint16_t header_bytes; /* of the message */
    uint32_t taken;        /* messages of the receiver's that have left the sender's inbox */
    uint64_t handler;      /* its name's hash */
    uint64_t key;
    uint64_t bytes; /* of the payload */
    uint64_t word;
};

/* A packet that is a head alone; the head has to stay. */
static inline struct rbwp_packet packet_of_head(const struct packet_head *head)
{
    return (struct rbwp_packet){.count = 1, .bytes = sizeof *head, .piece = {{head, sizeof *head}}};
}

static inline uint32_t packet_filled(uint32_t header_bytes)
{
    return (header_bytes + 7u) & ~7u;
}

#endif /* MESSAGE_PACKET_H */
