/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_packets.h - the packets of a Perfetto trace, also those that are packed in others.
 *
 * A file is packets behind each other, plain or gzip; a cut one gives what is
 * whole. Memory is one packet of at most PERFETTO_PACKET_MAX bytes and what it
 * unpacks to; larger ones are skipped and counted.
 */
#ifndef PERFETTO_PACKETS_H
#define PERFETTO_PACKETS_H

#include "perfetto_wire.h"
#include "unpack.h"

#define PERFETTO_PACKET_MAX (16u << 20)

struct perfetto_packets {
    struct unpack bytes;
    uint8_t *packet, *inflated;
    uint32_t packet_room, inflated_room;
    struct wire_message packed; /* the rest of a packet of packets */
    uint64_t too_large;         /* packets */
    uint64_t broken;            /* whose packed data are damaged or packed in another way */
    bool failed;                /* out of memory */
    char problem[128];          /* why it ended too early; empty: it did not */
};

/* Whether these are the first bytes of such a trace. */
bool perfetto_packets_recognise(const uint8_t *head, size_t bytes);
/* False when out of memory; perfetto_packets_stop only after true. */
bool perfetto_packets_start(struct perfetto_packets *packets, int fd);
void perfetto_packets_stop(struct perfetto_packets *packets);
/* The next one, valid until the one after it; false at the end. */
bool perfetto_packets_next(struct perfetto_packets *packets, struct wire_message *packet_out);

#endif /* PERFETTO_PACKETS_H */
