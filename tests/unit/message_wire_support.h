/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_wire_support.h - a transport between nodes that share no memory, inside the test.
 *
 * Packets lie on the wire until they are delivered: by the test, one round at a time, or by a
 * thread. A pair of nodes has room for WIRE_PACKETS. Payloads go when both ends are there.
 */
#ifndef MESSAGE_WIRE_SUPPORT_H
#define MESSAGE_WIRE_SUPPORT_H

#include "rbwp_transport.h"

#define WIRE_PACKETS 16u
#define WIRE_PACKET_BYTES 2048u
#define WIRE_TAGS 2u

struct wire;

/* transports_out has one for each node. Freed when the last one is closed. */
struct wire *wire_new(uint32_t nodes, struct rbwp_transport **transports_out);

/* Everything that is on the wire now, once. False: there was nothing. */
bool wire_deliver(struct wire *wire);

/* A thread that delivers, until it is stopped. */
void wire_start(struct wire *wire);
void wire_stop(struct wire *wire);

/* Whether those who sent payloads are told that they are through, or later. */
void wire_tell_senders(struct wire *wire, bool now);

/* From here on sends to the node fail. */
void wire_cut(struct wire *wire, uint32_t node);

/* The most packets of one pair that were on the wire. */
uint32_t wire_most(const struct wire *wire);

#endif /* MESSAGE_WIRE_SUPPORT_H */
