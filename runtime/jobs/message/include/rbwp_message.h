/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_message.h - active messages between the nodes of a job, as background work.
 *
 * A job has nodes 0 to n-1, mostly one a process. An endpoint is one node's side of it: a work item
 * of a manager (rbwp_work.h) with a queue of messages that have arrived. A message names a node and
 * a handler; it is handled there by a worker, which calls the handler's function. How messages get
 * from node to node is a transport's business (rbwp_transport.h): in-process loopback, which is in
 * here, or MPI (rbwp_mpi.h, in librbwp-mpi).
 *
 *     rbwp_endpoint_new(manager, NULL, NULL, &endpoint, &error);     loopback, one node
 *     rbwp_handler_register(endpoint, &(struct rbwp_handler_config){
 *         .size = sizeof(struct rbwp_handler_config), .name = "halo", .handle = halo,
 *         .argument = me}, &halo_handler, &error);
 *     rbwp_endpoint_start(endpoint, &error);                         from here on it handles
 *     rbwp_message_send(endpoint, node, halo_handler, &row, sizeof row, RBWP_WAIT, &error);
 *     ...
 *     rbwp_endpoint_quiesce(endpoint, RBWP_WAIT, &error);            on every node
 *     rbwp_endpoint_free(endpoint);                                  before rbwp_work_stop
 *
 * Names: a handler is known to all nodes by its name; nodes may register them in any order. A
 * message for a name that its node has not registered is not handled; its sender learns it
 * (RBWP_MESSAGE_NO_HANDLER).
 *
 * Long and short: a message whose header and payload together are at most
 * rbwp_endpoint_short_bytes goes at once, by copy. A longer one goes by rendezvous: the other node
 * is asked first, and the payload follows when it has room for it, from the sender's memory right
 * into the receiver's. Within a process it is not copied at all.
 *
 * Order: short messages that a thread sends to one node are handled there in the order of the
 * sends, whatever their handlers. A long one is handled when all of it has come, and may be
 * overtaken by others. Messages of several threads, or of several nodes, have no order among each
 * other.
 *
 * Handlers of one endpoint run one at a time, inside its work item; a slice ends between two of
 * them. So they share an endpoint's state without locks, and a long one holds up the others:
 * give what takes long to a work item of its own.
 *
 * Back-pressure: what a node has not yet handled is bounded (inbox_bytes, window). A send that
 * finds no room says RBWP_AGAIN, at once or after the time that it was given. Inside a do_work, and
 * so inside handlers, a send never waits: given a time, it is kept in memory and goes when there
 * is room, in its order. That memory is not bounded; given none, it says RBWP_AGAIN.
 *
 * In a profile the endpoint is the work item ("message"). Each call of a handler is a level-2
 * sub-item of type RBWP_AM_HANDLER, named after the handler, and has a row in the table
 * message_handled; each send at level 2 has one in message_sent, joined to it by a key (SPEC.md,
 * 9.3).
 *
 * Threads: any, any time, handlers included, unless a call says otherwise. No call blocks but those
 * that are given a time to wait. Not in a forked child.
 */
#ifndef RBWP_MESSAGE_H
#define RBWP_MESSAGE_H

#include "rbwp_work.h"

RBWP_C_BEGIN_

#define RBWP_WAIT UINT64_MAX /* as a time to wait: as long as it takes */

#define RBWP_MESSAGE_NODES_MAX (1u << 24)
#define RBWP_MESSAGE_HEADER_BYTES_MAX 1024u
#define RBWP_HANDLERS_MAX 1024u /* of an endpoint */

struct rbwp_endpoint;  /* opaque */
struct rbwp_transport; /* rbwp_transport.h */

/* ---- problems --------------------------------------------------------------------- */

/* What can become of messages that were sent. */
enum rbwp_message_problem_kind {
    RBWP_MESSAGE_NO_HANDLER = 1, /* node has no handler of that name; the message was dropped */
    RBWP_MESSAGE_TOO_LONG = 2,   /* more than node takes (its payload_bytes_max); it was dropped */
    RBWP_MESSAGE_NO_MEMORY = 3,  /* node had none for the payload; it was dropped */
    RBWP_MESSAGE_NODE_LOST =
        4,                  /* node has left or cannot be reached: nothing gets there any more */
    RBWP_MESSAGE_BROKEN = 5 /* what came from node is no message; it was dropped */
};

struct rbwp_message_problem {
    enum rbwp_message_problem_kind kind;
    uint32_t node;
    const char *handler;     /* name, "" if none is concerned; valid during the call */
    struct rbwp_error error; /* the line to show */
};

/* Called once for each handler and node (NO_HANDLER, TOO_LONG, NO_MEMORY), or node. Runs inside
 * the endpoint's work item. */
typedef void (*rbwp_message_problem_fn)(void *argument, const struct rbwp_message_problem *problem);

/* ---- endpoints ---------------------------------------------------------------------- */

/* Zero in a field means its default. */
struct rbwp_endpoint_config {
    size_t size;          /* sizeof(struct rbwp_endpoint_config) */
    const char *name;     /* of the work item; default "message" */
    bool in_domain;       /* for workers of one NUMA domain: */
    int domain;           /* this one */
    uint64_t inbox_bytes; /* of messages that wait for their handlers; default 1 MiB */
    uint32_t window;      /* short messages under way to one node, and not handled there; default
                             1024. Not for nodes in this process: the inbox bounds them. */
    uint32_t long_max;    /* long messages under way, of this endpoint's; default 1024 */
    uint64_t payload_bytes_max;  /* of one message, to send and to take; default 1 GiB */
    uint64_t incoming_bytes_max; /* payloads of long messages on their way here, in memory that the
                                    endpoint allocates; default 256 MiB. One alone may be more. */
    rbwp_message_problem_fn problem; /* may be NULL: rbwp_endpoint_problem keeps the first */
    void *argument;                  /* for problem */
};

/*
 * Makes an endpoint on a transport, or with transport NULL as the only node of a loopback of its
 * own. The transport is the endpoint's from here on, also on failure: it is closed with it. The
 * manager must outlive it. config may be NULL. RBWP_E_UNSUPPORTED: the transport was built with the
 * header of another version; RBWP_E_INVALID, RBWP_E_MEMORY, RBWP_E_LIMIT,
 * RBWP_E_STATE as rbwp_work_add says. *endpoint_out is NULL on failure.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_endpoint_new(struct rbwp_work_manager *manager,
                                                          struct rbwp_transport *transport,
                                                          const struct rbwp_endpoint_config *config,
                                                          struct rbwp_endpoint **endpoint_out,
                                                          struct rbwp_error *error);

RBWP_API uint32_t rbwp_endpoint_node(const struct rbwp_endpoint *endpoint);
RBWP_API uint32_t rbwp_endpoint_nodes(const struct rbwp_endpoint *endpoint);
/* The longest message, header and payload, that goes at once and in order. */
RBWP_API uint32_t rbwp_endpoint_short_bytes(const struct rbwp_endpoint *endpoint);

/* ---- handlers ------------------------------------------------------------------------ */

/* A message, as its handler sees it. Everything is valid during the call alone. */
struct rbwp_message {
    struct rbwp_endpoint *endpoint; /* that it came to */
    uint32_t node;                  /* that sent it */
    uint32_t header_bytes;
    uint64_t payload_bytes;
    const void *header;  /* aligned to 8 bytes */
    const void *payload; /* likewise; where place said, if it was asked */
    uint64_t key;        /* the profile's, 0 if the sender did not record */
};

typedef void (*rbwp_handle_fn)(void *argument, const struct rbwp_message *message);

/*
 * Where the payload of a long message is to go: memory of message->payload_bytes, which stays valid
 * until its handler has been called. message->payload is NULL. NULL: the endpoint allocates it.
 * Runs inside the endpoint's work item.
 */
typedef void *(*rbwp_place_fn)(void *argument, const struct rbwp_message *message);

struct rbwp_handler_config {
    size_t size;      /* sizeof(struct rbwp_handler_config) */
    const char *name; /* 1 to 255 bytes; copied */
    rbwp_handle_fn handle;
    rbwp_place_fn place; /* may be NULL */
    void *argument;      /* for both */
};

/*
 * Makes a handler known to this node; only before rbwp_endpoint_start (RBWP_E_STATE). *handler_out
 * is this endpoint's number for it, to send with; a node that only sends registers it with handle
 * NULL, and messages that come for it are refused as unknown. RBWP_E_BUSY: it is there already;
 * RBWP_E_INVALID, RBWP_E_LIMIT, RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_handler_register(struct rbwp_endpoint *endpoint, const struct rbwp_handler_config *config,
                      unsigned *handler_out, struct rbwp_error *error);

/*
 * From here on messages are handled and may be sent. For a node that has not started there is no
 * room yet. RBWP_E_STATE: started already; else what the transport says.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_endpoint_start(struct rbwp_endpoint *endpoint,
                                                            struct rbwp_error *error);

/* ---- sending -------------------------------------------------------------------------- */

/*
 * Sends bytes at payload, which are copied whatever their number, to a handler of a node (its own
 * included). wait_ns: how long it may wait for room: 0 not at all, RBWP_WAIT without end. RBWP_OK:
 * it is on its way, and will be handled unless the endpoint reports a problem. Else nothing was
 * sent: RBWP_AGAIN: there was no room all that time; RBWP_E_INVALID: no such node or handler here;
 * RBWP_E_LIMIT: more than payload_bytes_max; RBWP_E_IO: the node is lost; RBWP_E_MEMORY;
 * RBWP_E_STATE: not started, or being freed. error may be NULL.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_message_send(struct rbwp_endpoint *endpoint, uint32_t node, unsigned handler,
                  const void *payload, uint64_t bytes, uint64_t wait_ns, struct rbwp_error *error);

/*
 * The payload may be written to again: RBWP_OK: it has been taken over by the other node; else it
 * was not: RBWP_E_IO: that node is lost; RBWP_E_INVALID: it refused it, the endpoint reports the
 * problem; RBWP_E_STATE: the endpoint is being freed. Inside the endpoint's work item, on the
 * thread that frees it, or, for a short message always, inside rbwp_message_send_from.
 */
typedef void (*rbwp_message_done_fn)(void *argument, enum rbwp_status status);

/* A message with all there is to say. Set size, leave what is not needed 0. */
struct rbwp_send {
    size_t size; /* sizeof(struct rbwp_send) */
    uint32_t node;
    unsigned handler;
    const void *header;    /* copied */
    uint32_t header_bytes; /* at most RBWP_MESSAGE_HEADER_BYTES_MAX */
    const void *payload;   /* with done: not copied if long, and must stay until done is called */
    uint64_t payload_bytes;
    uint64_t wait_ns;
    rbwp_message_done_fn done; /* called exactly once if the send says RBWP_OK; NULL: payload is
                                  copied */
    void *argument;            /* for done */
};

/* As rbwp_message_send. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_message_send_from(struct rbwp_endpoint *endpoint,
                                                               const struct rbwp_send *send,
                                                               struct rbwp_error *error);

/* ---- the end ---------------------------------------------------------------------------- */

/*
 * Waits until the whole job is quiet: every node has come here, every message sent has been
 * handled, those that handlers sent meanwhile included, none is under way, and done has been called
 * for every payload. What handlers left to other work items is not known: drain that first. All
 * nodes call it, the same number of times; it is a barrier. Messages that threads outside handlers
 * send meanwhile may be counted or not.
 *
 * RBWP_OK: it is quiet. RBWP_AGAIN: not within wait_ns; call it again, with wait_ns 0 to look
 * only: inside a do_work it looks only, and in a manager without workers whoever waits runs what is
 * active. RBWP_E_IO: a node is lost, or has left after an earlier quiet time, and error names it;
 * the job will not be quiet any more.
 * RBWP_E_STATE: not started. One thread of a node at a time.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_endpoint_quiesce(struct rbwp_endpoint *endpoint, uint64_t wait_ns, struct rbwp_error *error);

/* What an endpoint has done so far. */
struct rbwp_endpoint_counts {
    size_t size;
    uint64_t sent;          /* that were on their way */
    uint64_t handled;       /* that came, dropped ones included */
    uint64_t dropped;       /* that came, and no handler was called */
    uint64_t refused;       /* sends that said RBWP_AGAIN */
    uint64_t kept;          /* sends that were kept until there was room */
    uint64_t long_sent;     /* of those sent */
    uint64_t waiting_bytes; /* now, in the inbox */
};
RBWP_API void rbwp_endpoint_count(const struct rbwp_endpoint *endpoint,
                                  struct rbwp_endpoint_counts *counts_out);

/* The first problem there was: its kind, with the line in error (may be NULL); 0: none. */
RBWP_API int rbwp_endpoint_problem(struct rbwp_endpoint *endpoint, struct rbwp_error *error);

/*
 * Removes the work item, waiting for a handler that runs now, closes the transport and frees the
 * endpoint. Messages that wait are dropped; done is called with RBWP_E_STATE for payloads that are
 * not through. Other nodes find this one lost, if they still send to it: quiesce first. No other
 * call on the endpoint may be under way or follow. RBWP_OK, NULL included; RBWP_E_STATE, and
 * nothing was done, from inside its own work item.
 */
RBWP_API enum rbwp_status rbwp_endpoint_free(struct rbwp_endpoint *endpoint);

/* ---- loopback: nodes of one process ------------------------------------------------------ */

/*
 * Makes a loopback of count nodes: transports_out[i] is node i's, for rbwp_endpoint_new. The
 * endpoints may have different managers. One that gets no endpoint is closed by
 * rbwp_transport_close. RBWP_E_INVALID: count is 0 or above RBWP_MESSAGE_NODES_MAX; RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_loopback_new(uint32_t count, struct rbwp_transport **transports_out, struct rbwp_error *error);

RBWP_C_END_
#endif /* RBWP_MESSAGE_H */
