/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loopback.c - the transport between nodes of one process: a send puts the packet into the other's
 * inbox.
 *
 * Nodes come and go while others send: who uses another's endpoint is counted there first, and
 * then looks whether it is open; who closes it says so, and then waits until nobody is counted.
 */
#include "failure.h"
#include "message_packet.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LOOPBACK_PACKET_BYTES (4096u + (uint32_t)sizeof(struct packet_head))

enum loopback_state { LOOPBACK_NEW, LOOPBACK_OPEN, LOOPBACK_CLOSED };

struct loopback_hub;

struct loopback_node {
    struct rbwp_transport transport; /* first: what endpoints know it by */
    struct loopback_hub *hub;
    struct rbwp_endpoint *endpoint; /* set before it is open */
    _Atomic int state;              /* enum loopback_state */
    atomic_bool starved;            /* was turned away and is to hear of room */
    _Alignas(64) _Atomic uint32_t users;
};

struct loopback_hub {
    _Atomic uint32_t open_transports;
    uint32_t count;
    struct loopback_node nodes[];
};

/* NULL: it is not open. Else to be given back by leave. */
static struct rbwp_endpoint *loopback_enter(struct loopback_node *node)
{
    atomic_fetch_add(&node->users, 1);
    if (atomic_load(&node->state) == LOOPBACK_OPEN)
        return node->endpoint;
    atomic_fetch_sub(&node->users, 1);
    return NULL;
}

static void loopback_leave(struct loopback_node *node)
{
    atomic_fetch_sub_explicit(&node->users, 1, memory_order_release);
}

static enum rbwp_status loopback_try_send(struct loopback_node *from, struct loopback_node *to,
                                          const struct rbwp_packet *packet)
{
    struct rbwp_endpoint *endpoint = loopback_enter(to);
    if (!endpoint)
        return atomic_load(&to->state) == LOOPBACK_CLOSED ? RBWP_E_IO : RBWP_AGAIN;
    enum rbwp_status status = rbwp_transport_arrived(endpoint, from->transport.node, packet);
    loopback_leave(to);
    return status;
}

static enum rbwp_status loopback_send(struct rbwp_transport *transport, uint32_t node,
                                      const struct rbwp_packet *packet)
{
    struct loopback_node *from = (struct loopback_node *)transport;
    struct loopback_node *to = &from->hub->nodes[node];
    enum rbwp_status status = loopback_try_send(from, to, packet);
    if (status != RBWP_AGAIN)
        return status;
    /* Either this try finds room, or who makes room finds a starved one. */
    atomic_store(&from->starved, true);
    return loopback_try_send(from, to, packet);
}

/* A node has room, or has opened: all that were turned away, wherever, try again. */
static void loopback_room(struct rbwp_transport *transport)
{
    struct loopback_hub *hub = ((struct loopback_node *)transport)->hub;
    for (uint32_t i = 0; i < hub->count; i++) {
        struct loopback_node *node = &hub->nodes[i];
        if (!atomic_load(&node->starved) || !atomic_exchange(&node->starved, false))
            continue;
        struct rbwp_endpoint *endpoint = loopback_enter(node);
        if (endpoint) {
            rbwp_transport_room(endpoint);
            loopback_leave(node);
        }
    }
}

static enum rbwp_status loopback_start(struct rbwp_transport *transport,
                                       struct rbwp_endpoint *endpoint, struct rbwp_error *error)
{
    (void)error;
    struct loopback_node *node = (struct loopback_node *)transport;
    node->endpoint = endpoint;
    atomic_store(&node->state, LOOPBACK_OPEN);
    loopback_room(transport);
    return RBWP_OK;
}

static void tell_others(struct loopback_node *gone, bool in_order)
{
    struct loopback_hub *hub = gone->hub;
    for (uint32_t i = 0; i < hub->count; i++) {
        struct rbwp_endpoint *endpoint = loopback_enter(&hub->nodes[i]);
        if (!endpoint)
            continue;
        rbwp_transport_lost(endpoint, gone->transport.node,
                            in_order ? NULL : "it has left before the job was quiet");
        loopback_leave(&hub->nodes[i]);
    }
}

static void loopback_close(struct rbwp_transport *transport, bool in_order)
{
    struct loopback_node *node = (struct loopback_node *)transport;
    struct loopback_hub *hub = node->hub;
    const int state = atomic_exchange(&node->state, LOOPBACK_CLOSED);
    while (atomic_load(&node->users) > 0)
        sched_yield();
    if (state == LOOPBACK_OPEN || !in_order)
        tell_others(node, in_order);
    loopback_room(transport); /* who waits for it waits in vain */
    if (atomic_fetch_sub(&hub->open_transports, 1) == 1)
        free(hub);
}

static const struct rbwp_transport_ops loopback_ops = {.size = sizeof(struct rbwp_transport_ops),
                                                       .start = loopback_start,
                                                       .send = loopback_send,
                                                       .room = loopback_room,
                                                       .close = loopback_close};

enum rbwp_status rbwp_loopback_new(uint32_t count, struct rbwp_transport **transports_out,
                                   struct rbwp_error *error)
{
    if (count == 0 || count > RBWP_MESSAGE_NODES_MAX)
        return failure(error, RBWP_E_INVALID, 0, "loopback: %u nodes; there are 1 to %u", count,
                       RBWP_MESSAGE_NODES_MAX);
    struct loopback_hub *hub = aligned_alloc(64, sizeof *hub + count * sizeof hub->nodes[0]);
    if (!hub)
        return failure(error, RBWP_E_MEMORY, 0, "loopback: no memory for %u nodes", count);
    atomic_init(&hub->open_transports, count);
    hub->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct loopback_node *node = &hub->nodes[i];
        node->transport = (struct rbwp_transport){.size = sizeof node->transport,
                                                  .ops = &loopback_ops,
                                                  .node = i,
                                                  .nodes = count,
                                                  .packet_bytes_max = LOOPBACK_PACKET_BYTES,
                                                  .tags = 1,
                                                  .shares_memory = true};
        node->hub = hub;
        node->endpoint = NULL;
        atomic_init(&node->state, LOOPBACK_NEW);
        atomic_init(&node->starved, false);
        atomic_init(&node->users, 0);
        transports_out[i] = &node->transport;
    }
    return RBWP_OK;
}

void rbwp_transport_close(struct rbwp_transport *transport)
{
    if (transport)
        transport->ops->close(transport, true);
}
