/* SPDX-License-Identifier: Apache-2.0 */
#include "message_wire_support.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WIRE_NODES_MAX = 16, LATE_MAX = 8 };

struct wire_packet {
    uint32_t bytes;
    uint8_t data[WIRE_PACKET_BYTES];
};

/* One end of a payload, or a completion to tell. */
struct wire_payload {
    bool there;
    void *memory;
    uint64_t bytes, token;
};

/* From one node to another. */
struct wire_pair {
    struct wire_packet packets[WIRE_PACKETS];
    uint32_t first, count;
    bool starved; /* its sender was turned away */
    struct wire_payload receives[WIRE_TAGS], sends[WIRE_TAGS];
    uint64_t late[LATE_MAX]; /* payloads whose sender is told in another round */
    uint32_t late_count;
};

struct wire_node {
    struct rbwp_transport transport; /* first */
    struct wire *wire;
    struct rbwp_endpoint *endpoint;
    bool cut;
};

struct wire {
    pthread_mutex_t lock;    /* guards all; not held while endpoints are called */
    pthread_mutex_t calling; /* held while they are: close waits for it */
    uint32_t count, open, most;
    bool senders_wait;
    atomic_bool running;
    pthread_t thread;
    struct wire_node nodes[WIRE_NODES_MAX];
    struct wire_pair pairs[WIRE_NODES_MAX][WIRE_NODES_MAX]; /* from, to */
};

static struct wire_pair *pair_of(struct rbwp_transport *transport, uint32_t to)
{
    struct wire_node *node = (struct wire_node *)transport;
    return &node->wire->pairs[transport->node][to];
}

static enum rbwp_status wire_open(struct rbwp_transport *transport, struct rbwp_endpoint *endpoint,
                                  struct rbwp_error *error)
{
    (void)error;
    struct wire_node *node = (struct wire_node *)transport;
    pthread_mutex_lock(&node->wire->lock);
    node->endpoint = endpoint;
    pthread_mutex_unlock(&node->wire->lock);
    return RBWP_OK;
}

static enum rbwp_status wire_send(struct rbwp_transport *transport, uint32_t node,
                                  const struct rbwp_packet *packet)
{
    struct wire *wire = ((struct wire_node *)transport)->wire;
    struct wire_pair *pair = pair_of(transport, node);
    enum rbwp_status status = RBWP_OK;
    assert_int_not_equal(node, transport->node);
    assert_true(packet->bytes <= WIRE_PACKET_BYTES && packet->count <= RBWP_PACKET_PIECES_MAX);
    pthread_mutex_lock(&wire->lock);
    if (wire->nodes[node].cut) {
        status = RBWP_E_IO;
    } else if (pair->count == WIRE_PACKETS) {
        pair->starved = true;
        status = RBWP_AGAIN;
    } else {
        struct wire_packet *put = &pair->packets[(pair->first + pair->count++) % WIRE_PACKETS];
        put->bytes = 0;
        for (uint32_t i = 0; i < packet->count; i++) {
            memcpy(put->data + put->bytes, packet->piece[i].data, packet->piece[i].bytes);
            put->bytes += (uint32_t)packet->piece[i].bytes;
        }
        assert_int_equal(put->bytes, packet->bytes);
        wire->most = pair->count > wire->most ? pair->count : wire->most;
    }
    pthread_mutex_unlock(&wire->lock);
    return status;
}

static enum rbwp_status put_payload(struct wire *wire, struct wire_payload *end,
                                    struct wire_payload payload)
{
    pthread_mutex_lock(&wire->lock);
    assert_false(end->there);
    *end = payload;
    pthread_mutex_unlock(&wire->lock);
    return RBWP_OK;
}

static enum rbwp_status wire_send_payload(struct rbwp_transport *transport, uint32_t node,
                                          uint32_t tag, const void *payload, uint64_t bytes,
                                          uint64_t token)
{
    struct wire *wire = ((struct wire_node *)transport)->wire;
    assert_true(tag < WIRE_TAGS);
    return put_payload(wire, &pair_of(transport, node)->sends[tag],
                       (struct wire_payload){true, (void *)(uintptr_t)payload, bytes, token});
}

static enum rbwp_status wire_receive_payload(struct rbwp_transport *transport, uint32_t node,
                                             uint32_t tag, void *payload, uint64_t bytes,
                                             uint64_t token)
{
    struct wire *wire = ((struct wire_node *)transport)->wire;
    assert_true(tag < WIRE_TAGS);
    return put_payload(wire, &wire->pairs[node][transport->node].receives[tag],
                       (struct wire_payload){true, payload, bytes, token});
}

static void wire_close(struct rbwp_transport *transport, bool in_order)
{
    struct wire_node *node = (struct wire_node *)transport;
    struct wire *wire = node->wire;
    (void)in_order;
    pthread_mutex_lock(&wire->calling);
    pthread_mutex_lock(&wire->lock);
    node->endpoint = NULL;
    const bool is_last = --wire->open == 0;
    pthread_mutex_unlock(&wire->lock);
    pthread_mutex_unlock(&wire->calling);
    if (!is_last)
        return;
    wire_stop(wire);
    pthread_mutex_destroy(&wire->lock);
    pthread_mutex_destroy(&wire->calling);
    free(wire);
}

static const struct rbwp_transport_ops wire_ops = {.size = sizeof(struct rbwp_transport_ops),
                                                   .start = wire_open,
                                                   .send = wire_send,
                                                   .send_payload = wire_send_payload,
                                                   .receive_payload = wire_receive_payload,
                                                   .close = wire_close};

struct wire *wire_new(uint32_t nodes, struct rbwp_transport **transports_out)
{
    struct wire *wire = calloc(1, sizeof *wire);
    assert_non_null(wire);
    assert_true(nodes <= WIRE_NODES_MAX);
    pthread_mutex_init(&wire->lock, NULL);
    pthread_mutex_init(&wire->calling, NULL);
    wire->count = wire->open = nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        wire->nodes[i].wire = wire;
        wire->nodes[i].transport = (struct rbwp_transport){.size = sizeof(struct rbwp_transport),
                                                           .ops = &wire_ops,
                                                           .node = i,
                                                           .nodes = nodes,
                                                           .packet_bytes_max = WIRE_PACKET_BYTES,
                                                           .tags = WIRE_TAGS};
        transports_out[i] = &wire->nodes[i].transport;
    }
    return wire;
}

/* ---- delivering; wire->calling is held ---------------------------------------------- */

/* The pair's first packet, left on the wire. NULL: there is none, or nobody to take it. */
static struct rbwp_endpoint *first_packet(struct wire *wire, uint32_t from, uint32_t to,
                                          struct wire_packet *packet_out)
{
    struct rbwp_endpoint *endpoint = NULL;
    pthread_mutex_lock(&wire->lock);
    const struct wire_pair *pair = &wire->pairs[from][to];
    if (pair->count) {
        *packet_out = pair->packets[pair->first];
        endpoint = wire->nodes[to].endpoint;
    }
    pthread_mutex_unlock(&wire->lock);
    return endpoint;
}

/* It is off the wire; who was turned away is told. */
static void drop_first(struct wire *wire, uint32_t from, uint32_t to)
{
    struct wire_pair *pair = &wire->pairs[from][to];
    pthread_mutex_lock(&wire->lock);
    pair->first = (pair->first + 1) % WIRE_PACKETS;
    pair->count--;
    struct rbwp_endpoint *starved = pair->starved ? wire->nodes[from].endpoint : NULL;
    pair->starved = false;
    pthread_mutex_unlock(&wire->lock);
    if (starved)
        rbwp_transport_room(starved);
}

static bool deliver_packets(struct wire *wire, uint32_t from, uint32_t to)
{
    struct wire_packet packet;
    bool any = false;
    struct rbwp_endpoint *endpoint;
    while ((endpoint = first_packet(wire, from, to, &packet))) {
        const struct rbwp_packet whole = {
            .count = 1, .bytes = packet.bytes, .piece = {{packet.data, packet.bytes}}};
        if (rbwp_transport_arrived(endpoint, from, &whole) == RBWP_AGAIN)
            break;
        drop_first(wire, from, to);
        any = true;
    }
    return any;
}

static bool deliver_payload(struct wire *wire, uint32_t from, uint32_t to, uint32_t tag)
{
    struct wire_pair *pair = &wire->pairs[from][to];
    pthread_mutex_lock(&wire->lock);
    const struct wire_payload send = pair->sends[tag], receive = pair->receives[tag];
    struct rbwp_endpoint *sender = wire->nodes[from].endpoint;
    struct rbwp_endpoint *receiver = wire->nodes[to].endpoint;
    const bool goes = send.there && receive.there && sender && receiver;
    if (goes) {
        pair->sends[tag].there = pair->receives[tag].there = false;
        assert_true(pair->late_count < LATE_MAX);
        pair->late[pair->late_count++] = send.token;
    }
    pthread_mutex_unlock(&wire->lock);
    if (!goes)
        return false;
    assert_int_equal(send.bytes, receive.bytes);
    memcpy(receive.memory, send.memory, (size_t)send.bytes);
    rbwp_transport_payload_done(receiver, receive.token, RBWP_OK);
    return true;
}

static bool tell_senders(struct wire *wire, uint32_t from, uint32_t to)
{
    struct wire_pair *pair = &wire->pairs[from][to];
    pthread_mutex_lock(&wire->lock);
    const uint32_t count = wire->senders_wait ? 0 : pair->late_count;
    uint64_t tokens[LATE_MAX];
    memcpy(tokens, pair->late, sizeof tokens);
    struct rbwp_endpoint *sender = wire->nodes[from].endpoint;
    pair->late_count -= count;
    pthread_mutex_unlock(&wire->lock);
    for (uint32_t i = 0; sender && i < count; i++)
        rbwp_transport_payload_done(sender, tokens[i], RBWP_OK);
    return count > 0;
}

bool wire_deliver(struct wire *wire)
{
    bool any = false;
    pthread_mutex_lock(&wire->calling);
    for (uint32_t from = 0; from < wire->count; from++)
        for (uint32_t to = 0; to < wire->count; to++) {
            any |= tell_senders(wire, from, to);
            any |= deliver_packets(wire, from, to);
            for (uint32_t tag = 0; tag < WIRE_TAGS; tag++)
                any |= deliver_payload(wire, from, to, tag);
        }
    pthread_mutex_unlock(&wire->calling);
    return any;
}

static void *deliver_all_the_time(void *argument)
{
    struct wire *wire = argument;
    while (atomic_load(&wire->running))
        if (!wire_deliver(wire))
            sched_yield();
    return NULL;
}

void wire_start(struct wire *wire)
{
    atomic_store(&wire->running, true);
    assert_int_equal(pthread_create(&wire->thread, NULL, deliver_all_the_time, wire), 0);
}

void wire_stop(struct wire *wire)
{
    if (atomic_exchange(&wire->running, false))
        pthread_join(wire->thread, NULL);
}

void wire_tell_senders(struct wire *wire, bool now)
{
    pthread_mutex_lock(&wire->lock);
    wire->senders_wait = !now;
    pthread_mutex_unlock(&wire->lock);
}

void wire_cut(struct wire *wire, uint32_t node)
{
    pthread_mutex_lock(&wire->lock);
    wire->nodes[node].cut = true;
    pthread_mutex_unlock(&wire->lock);
}

uint32_t wire_most(const struct wire *wire)
{
    return wire->most;
}
