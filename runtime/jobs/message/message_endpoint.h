/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_endpoint.h - an endpoint's inside, for the files of this folder.
 *
 *     message_inbox.c    packets that have come
 *     wake.c             what a transport reports, who waits, who is woken
 *     outbox.c           packets that found no room to go
 *     handle.c           calls of handlers, and problems
 *     long.c             rendezvous
 *     quiesce.c          when the whole job is quiet
 *     message_rows.c     what the profile says
 *     send.c, serve.c    the way out, and the work item
 *
 * "The item" is the endpoint's do_work, which never runs twice at once: what is the item's alone
 * needs no lock. Once it is removed it is the thread's that frees.
 */
#ifndef MESSAGE_ENDPOINT_H
#define MESSAGE_ENDPOINT_H

#include "index_map.h"
#include "message_packet.h"
#include "rbwp_rows.h"
#include "rbwp_transport.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- message inbox --------------------------------------------------------------------------- */
/*
 * Packets that have arrived and wait: a bounded queue of bytes.
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

/* ---- message endpoint ------------------------------------------------------------------------ */

/* What a profile says of messages: the tables message_sent and message_handled
 * (SPEC.md, 9.3), and the sub-items of handlers. */

/* What the profile knows a handler by. */
struct message_label {
    unsigned sub_item;
    uint64_t name; /* interned */
};

/* The same name has the same label in all endpoints of the process. RBWP_E_LIMIT, RBWP_E_MEMORY. */
RBWP_MUST_USE enum rbwp_status message_label_find(const char *name,
                                                  struct message_label *label_out);

/* Are rows written now? */
static inline bool message_rows_are_on(void)
{
    return rbwp_is_on_(2);
}

/* The next key: this node in the upper 24 bits, a count from 1 on in the lower 40. */
uint64_t message_key_new(uint32_t node);

struct message_row {
    uint64_t start_ticks, stop_ticks; /* of the send, or of the handler */
    uint64_t arrived_ticks;           /* handled ones */
    uint64_t name, key, bytes;
    uint32_t peer;
};

void message_row_sent(const struct message_row *row);
void message_row_handled(const struct message_row *row);

/* ---- finding out that the whole job is quiet ------------------------------------------------- */
/*
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
 * tree. Whoever waits is woken once all nodes between have entered, too, or gone.
 */

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

/* ---- long messages --------------------------------------------------------------------------- */
/*
 * Rendezvous:
 *
 *     sender                          receiver
 *     OFFER number, header   ------>  place or memory, and a tag, are given to the transport
 *     the transport sends    <------  GRANT number, tag
 *     done(RBWP_OK)                   when all is there: the handler
 *
 *     in one process:
 *     OFFER loan             ------>  the handler, with the sender's payload itself
 *     done(RBWP_OK)          <------  OVER number
 *
 * A loan is what both sides of one process hold of a payload: who frees first finds the other.
 */

struct message_handler;

/* A payload that is through, as the transport reported: waits for the item. */
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

/* The node is lost: offers to it are given up. The item. True: there was one. */
bool long_lose_node(struct rbwp_endpoint *endpoint, uint32_t node);
/* Carries on with what the transport has reported. The item. True: there was something. */
bool long_progress(struct rbwp_endpoint *endpoint);
/* Payloads are coming, or lent. The item, which is woken when there is none any more. */
bool long_is_busy(const struct rbwp_endpoint *endpoint);

/* ---- message endpoint ------------------------------------------------------------------------ */

struct message_handler {
    uint64_t hash; /* of the name: what packets say; the same on all nodes */
    rbwp_handle_fn handle;
    rbwp_place_fn place;
    void *argument;
    struct message_label label;
    char *name;
};

struct kept_packet;

struct lost_note {
    struct lost_note *next;
    uint32_t node;
    bool in_order;
    char text[160];
};

/* What an endpoint knows of another node, or of its own. */
struct message_peer {
    /* Any thread. Messages under way: at most window more were sent than it has said that it took.
     */
    _Atomic uint32_t sent, taken;
    /* Its messages that have left the inbox (writer: the item), and what it was sent about them. */
    _Atomic uint32_t came, told;
    _Atomic uint32_t kept; /* packets in its part of the outbox */
    atomic_bool lost;
    /* Guarded by the outbox's lock. */
    struct kept_packet *first, **last;
    struct message_peer *next_kept;
    bool listed; /* in kept_peers */
};

enum endpoint_phase { ENDPOINT_NEW, ENDPOINT_STARTED, ENDPOINT_CLOSING };

#define PROBLEMS_REPORTED_MAX 64
struct problem_reported {
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
    uint32_t handler_count, handler_room;
    struct index_map places; /* of handlers, by hash */
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
    struct problem_reported
        reported[PROBLEMS_REPORTED_MAX]; /* guarded by problem_lock, with what follows */
    uint32_t reported_count;
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

/* ---- what went wrong ------------------------------------------------------------ */

/* Reports a problem, if it was not reported before. hash 0: of no handler. detail may be "". The
 * item.
 */
void endpoint_tell(struct rbwp_endpoint *endpoint, int kind, uint32_t node, uint64_t hash,
                   const char *detail);
/* Nothing gets to the node from here on; the item does the rest. text NULL: it left in order. Any
 * thread. */
void endpoint_lose(struct rbwp_endpoint *endpoint, uint32_t node, const char *text);
/* Those that nobody takes any more. */
void endpoint_forget_losses(struct rbwp_endpoint *endpoint);

/* The way to the transport, and what there is when it has no room.
 *
 * A packet that may not be lost and cannot wait is kept: what the item itself has to say, and sends
 * inside a do_work. The item sends what is kept, in order for each node. While a node has something
 * kept nothing else goes to it, so that the order stays.
 *
 * Who may wait sleeps until something changes: there is room, the job is quiet, a node is lost. */

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
/* For what endpoints send each other: a head alone. Without memory the node counts as lost. */
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

#endif /* MESSAGE_ENDPOINT_H */
