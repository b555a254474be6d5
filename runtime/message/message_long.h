/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_long.h - long messages: rendezvous.
 *
 *     sender                          receiver
 *     OFFER number, header   ------>  place or memory for it; a tag; the transport is told to
 * receive the transport sends    <------  GRANT number, tag done(RBWP_OK)                   when
 * all is there: the handler
 *
 *     in one process:
 *     OFFER loan             ------>  the handler, with the sender's payload itself
 *     done(RBWP_OK)          <------  OVER number
 *
 * A loan is what both sides of one process hold of a payload: who frees first finds the other.
 */
#ifndef MESSAGE_LONG_H
#define MESSAGE_LONG_H

#include "message_inbox.h"
#include "message_packet.h"

#include <pthread.h>

struct message_handler;

/* A payload that is through, as the transport told: waits for the item. */
struct long_through {
    struct long_through *next;
    uint64_t token;
    enum rbwp_status status;
    uint64_t ticks;
};

enum loan_state { LOAN_OFFERED, LOAN_BEING_READ, LOAN_OVER };

struct message_loan {
    _Atomic int state; /* enum loan_state */
    _Atomic int holders;
    const void *payload;
    uint64_t bytes;
};

/* Begun: the offer may not have gone yet; who sends it ends it, if it does not go. */
enum long_state { LONG_FREE, LONG_BEGUN, LONG_OFFERED, LONG_GOING };

/* A long message of this endpoint's. Guarded by longs.lock. */
struct long_send {
    enum long_state state;
    uint32_t generation; /* of the number */
    uint32_t node;
    uint32_t next_free;
    const void *payload;
    uint64_t bytes;
    void *copy; /* the endpoint's own of the payload, NULL if it is the caller's */
    struct message_loan *loan;
    rbwp_message_done_fn done;
    void *argument;
    struct long_through through;
};

/* One that is offered to this endpoint. The item alone, but for what the lock guards. */
struct long_receive {
    struct long_receive *next; /* among those that wait for room */
    const struct message_handler *handler;
    uint64_t number, key, bytes, arrived_ticks;
    uint32_t node, header_bytes;
    void *payload;
    bool allocated;
    struct long_through through; /* guarded by longs.lock */
    uint64_t header[];           /* bytes, aligned */
};

struct message_longs {
    pthread_mutex_t lock;
    struct long_send *sends;
    uint32_t send_max, free_send; /* a list; send_max: none is free */
    _Atomic uint32_t sending;     /* that are not free; writer: under the lock */
    struct long_through *through, **through_last;
    atomic_bool has_through;
    struct long_receive **receives; /* by tag; guarded by the lock */
    /* The item. */
    uint32_t receive_max, receive_count;
    uint64_t incoming_bytes;            /* allocated for them */
    struct long_receive *first, **last; /* that wait */
};

RBWP_MUST_USE enum rbwp_status long_make(struct rbwp_endpoint *endpoint, uint32_t long_max);
/* Nothing comes up from the transport any more: ends all with RBWP_E_STATE. */
void long_unmake(struct rbwp_endpoint *endpoint);

/*
 * Begins a long message: *head_inout is for its offer, whose number, and loan if there is one, are
 * put in. RBWP_AGAIN: too many are under way. RBWP_E_MEMORY.
 */
RBWP_MUST_USE enum rbwp_status long_begin(struct rbwp_endpoint *endpoint,
                                          const struct rbwp_send *send,
                                          struct packet_head *head_inout,
                                          struct message_loan **loan_out);
/* The offer has gone. */
void long_went(struct rbwp_endpoint *endpoint, uint64_t number, uint32_t node);
/* The offer did not go: forgets it, and calls no done. */
void long_cancel(struct rbwp_endpoint *endpoint, uint64_t number, uint32_t node);

/* Packets that have come. The item. offer: its header and, behind it, the rest of rest_bytes. */
void long_offered(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *offer,
                  const uint8_t *rest, uint32_t rest_bytes, uint64_t arrived_ticks);
void long_granted(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *grant);
void long_over(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *over);
/* An offer that nobody will read: in the inbox when its endpoint was freed, or kept for a node that
 * is lost. node: the other one. */
void long_drop_offer(const struct rbwp_endpoint *endpoint, uint32_t node,
                     const struct packet_head *offer, const uint8_t *rest, uint32_t rest_bytes);
/* What the transport told of a payload. Any thread. */
void long_note_through(struct rbwp_endpoint *endpoint, uint64_t token, enum rbwp_status status);

/* The node is lost: offers to it are given up. The item. True: there was one. */
bool long_lose_node(struct rbwp_endpoint *endpoint, uint32_t node);
/* Carries on with what the transport has told. The item. True: there was something. */
bool long_progress(struct rbwp_endpoint *endpoint);
/* Payloads are coming, or lent. The item, which is woken when there is none any more. */
bool long_is_busy(const struct rbwp_endpoint *endpoint);

#endif /* MESSAGE_LONG_H */
