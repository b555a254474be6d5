/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_inbox.h - packets that have arrived and wait: a bounded queue of bytes.
 *
 * Any thread puts, one takes. A put reserves its bytes by moving the tail, writes them, and commits
 * them by storing their length in front, which was 0 until then; so a put that is overtaken by
 * later ones holds up the taker, not the putters. The taker clears what it has read, so that each
 * length is 0 again before its bytes are given back.
 *
 * The taker says when it is going away (idle); the first put after that is to fetch it. Length
 * and idle are sequentially consistent: either the taker's last look sees the packet, or the put
 * sees it idle.
 */
#ifndef MESSAGE_INBOX_H
#define MESSAGE_INBOX_H

#include "rbwp_transport.h"

#include <stdatomic.h>

struct inbox_entry {
    _Atomic uint64_t length; /* of the entry; 0: not there yet; INBOX_SKIP_ in it: no packet */
    uint64_t arrived_ticks;
    uint32_t node;         /* it came from */
    uint32_t packet_bytes; /* that follow */
};

#define INBOX_BYTES_MIN (UINT64_C(64) << 10)
#define INBOX_BYTES_MAX (UINT64_C(1) << 40)

struct inbox {
    uint8_t *bytes;
    uint64_t capacity;
    /* Putters; a line of its own. free_until: what they know of head. */
    _Alignas(64) _Atomic uint64_t tail;
    _Atomic uint64_t free_until;
    /* The taker writes these. */
    _Alignas(64) _Atomic uint64_t head; /* given back up to here */
    uint64_t next;                      /* read up to here; the taker alone */
    _Alignas(64) _Atomic bool idle;
};

/* capacity is raised to a power of two and to INBOX_BYTES_MIN. RBWP_E_MEMORY. */
RBWP_MUST_USE enum rbwp_status inbox_make(struct inbox *inbox, uint64_t capacity);
void inbox_unmake(struct inbox *inbox);

/* The longest packet. */
uint32_t inbox_packet_bytes_max(const struct inbox *inbox);

enum inbox_put_result { INBOX_FULL, INBOX_PUT, INBOX_PUT_TO_IDLE };
/* INBOX_PUT_TO_IDLE: the taker is to be fetched, by this caller alone. */
enum inbox_put_result inbox_put(struct inbox *inbox, uint32_t node, uint64_t arrived_ticks,
                                const struct rbwp_packet *packet);

/* The taker's calls. The entry stays until inbox_drop; the packet is behind it. NULL: none. */
const struct inbox_entry *inbox_peek(struct inbox *inbox);
void inbox_drop(struct inbox *inbox);
/* Bytes that were dropped and can be given back. */
static inline uint64_t inbox_dropped_bytes(const struct inbox *inbox)
{
    return inbox->next - atomic_load_explicit(&inbox->head, memory_order_relaxed);
}
/* Sequentially consistent: before the caller's look at who was turned away. */
void inbox_give_back(struct inbox *inbox);
/* The taker goes. False: something has come: go on. */
bool inbox_go_idle(struct inbox *inbox);
/* The taker is there: nobody need fetch it. */
void inbox_be_busy(struct inbox *inbox);

/* Bytes that wait. A glance. */
uint64_t inbox_used(const struct inbox *inbox);

#endif /* MESSAGE_INBOX_H */
