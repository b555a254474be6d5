/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_endpoint.h - an endpoint's inside, for the files of this folder.
 *
 *     message_inbox.h    packets that have come
 *     message_outbox.h   packets that found no room to go, and who waits for room
 *     message_long.h     rendezvous
 *     message_quiesce.h  when the whole job is quiet
 *     message_rows.h     what the profile says
 *     send.c, serve.c    the way out, and the work item
 *
 * "The item" is the endpoint's do_work, which never runs twice at once: what is the item's alone
 * needs no lock. Once it is removed it is the thread's that frees.
 */
#ifndef MESSAGE_ENDPOINT_H
#define MESSAGE_ENDPOINT_H

#include "message_inbox.h"
#include "message_long.h"
#include "message_packet.h"
#include "message_quiesce.h"
#include "message_rows.h"

#include <pthread.h>

struct message_handler {
    uint64_t hash; /* of the name: what packets say; the same on all nodes */
    rbwp_handle_fn handle;
    rbwp_place_fn place;
    void *argument;
    struct message_label label;
    char *name;
};

struct kept_packet;
struct lost_note;

/* What an endpoint knows of another node, or of its own. */
struct message_peer {
    /* Any thread. Messages under way: at most window more were sent than it has said that it took.
     */
    _Atomic uint32_t sent, taken;
    /* Its messages that have left the inbox (writer: the item), and what it was told of them. */
    _Atomic uint32_t came, told;
    _Atomic uint32_t kept; /* packets in its part of the outbox */
    atomic_bool lost;
    /* Guarded by the outbox's lock. */
    struct kept_packet *first, **last;
    struct message_peer *next_kept;
    bool listed; /* in kept_peers */
};

enum endpoint_phase { ENDPOINT_NEW, ENDPOINT_STARTED, ENDPOINT_CLOSING };

#define PROBLEMS_TOLD_MAX 64
struct problem_told {
    uint64_t handler;
    uint32_t node;
    int kind;
};

struct rbwp_endpoint {
    /* Never change after start. */
    struct rbwp_work_manager *manager;
    struct rbwp_transport *transport;
    struct rbwp_work_handle work;
    bool is_lent_only;  /* the manager has no workers */
    bool shares_memory; /* as the transport, which is closed first */
    struct message_handler *handlers;
    uint32_t *places; /* of handlers, by hash; handler count at an empty one */
    uint32_t handler_count, place_mask;
    uint32_t node, nodes;
    uint32_t short_bytes;
    uint32_t window; /* 0: the inbox is all there is */
    uint64_t linger_ticks;
    uint64_t payload_bytes_max, incoming_bytes_max;
    rbwp_message_problem_fn problem;
    void *problem_argument;
    struct message_peer *peers;
    _Atomic int phase; /* enum endpoint_phase */

    struct inbox inbox;
    atomic_bool turned_away; /* somebody found the inbox full */

    _Alignas(64) _Atomic uint64_t sent; /* any thread */
    _Atomic uint64_t refused, kept_ever, long_sent;

    /* Written by the item alone. */
    _Alignas(64) _Atomic uint64_t handled;
    _Atomic uint64_t dropped;
    struct quiesce quiesce;

    /* Guards what is kept. Held while packets are sent. */
    pthread_mutex_t outbox_lock;
    _Atomic uint32_t kept;           /* packets, of all nodes */
    struct message_peer *kept_peers; /* a list of those that have some */

    /* For who waits for room, or for quiet. Innermost: nothing is taken or called inside it. */
    pthread_mutex_t wait_lock;
    pthread_cond_t changed;
    uint64_t changes; /* of what may be waited for; guarded by it */
    _Atomic uint32_t waiters;

    struct message_longs longs;

    _Atomic uint32_t lost_node,
        left_node; /* the first that is lost, or left in order; nodes: none */

    _Atomic(struct lost_note *) lost_notes; /* the newest first; the item takes them all at once */
    pthread_mutex_t problem_lock;
    struct problem_told told[PROBLEMS_TOLD_MAX]; /* guarded by problem_lock, with what follows */
    uint32_t told_count;
    int first_problem;
    struct rbwp_error first_error;
};

/* Of its own process: a pointer is as good there as here. */
static inline bool endpoint_shares_memory(const struct rbwp_endpoint *endpoint, uint32_t node)
{
    return node == endpoint->node || endpoint->shares_memory;
}

/* There is something for the item to do. */
void endpoint_wake(struct rbwp_endpoint *endpoint);

/* NULL: there is none, or none that handles. */
const struct message_handler *endpoint_find_handler(const struct rbwp_endpoint *endpoint,
                                                    uint64_t hash);

/* The item's do_work. */
bool endpoint_serve(void *argument, struct rbwp_deadline deadline);

/* Calls a handler, with all that the profile says of it. The item. */
void endpoint_handle(struct rbwp_endpoint *endpoint, const struct message_handler *handler,
                     const struct rbwp_message *message, uint64_t arrived_ticks);
/* One more that came is done with; was_dropped: no handler was called. The item. */
void endpoint_count_handled(struct rbwp_endpoint *endpoint, bool was_dropped);

/* ---- problem.c ------------------------------------------------------------------ */

/* Tells of a problem, if it was not told before. hash 0: of no handler. detail may be "". The item.
 */
void endpoint_tell(struct rbwp_endpoint *endpoint, int kind, uint32_t node, uint64_t hash,
                   const char *detail);
/* Nothing gets to the node from here on; the item does the rest. text NULL: it left in order. Any
 * thread. */
void endpoint_lose(struct rbwp_endpoint *endpoint, uint32_t node, const char *text);
/* The item. True: there was one. */
bool endpoint_take_losses(struct rbwp_endpoint *endpoint);
/* Those that nobody takes any more. */
void endpoint_forget_losses(struct rbwp_endpoint *endpoint);

#endif /* MESSAGE_ENDPOINT_H */
