/* SPDX-License-Identifier: Apache-2.0 */
#include "message_endpoint.h"

#include <stdlib.h>
#include <string.h>

struct kept_packet {
    struct kept_packet *next;
    uint32_t bytes;
    struct packet_head head; /* the packet begins with it; more is behind */
};

enum rbwp_status outbox_make(struct rbwp_endpoint *endpoint)
{
    pthread_condattr_t monotonic;
    for (uint32_t i = 0; i < endpoint->nodes; i++)
        endpoint->peers[i].last = &endpoint->peers[i].first;
    if (pthread_condattr_init(&monotonic) != 0)
        return RBWP_E_MEMORY;
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&endpoint->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return failed ? RBWP_E_MEMORY : RBWP_OK;
}

static void drop_kept(struct rbwp_endpoint *endpoint, struct message_peer *peer)
{
    while (peer->first) {
        struct kept_packet *kept = peer->first;
        const struct packet_head *head = &kept->head;
        peer->first = kept->next;
        if (head->kind == PACKET_OFFER)
            long_drop_offer(endpoint, (uint32_t)(peer - endpoint->peers), head,
                            (const uint8_t *)(head + 1), kept->bytes - (uint32_t)sizeof *head);
        free(kept);
        atomic_fetch_sub(&peer->kept, 1);
        atomic_fetch_sub(&endpoint->kept, 1);
    }
    peer->last = &peer->first;
}

void outbox_unmake(struct rbwp_endpoint *endpoint)
{
    for (uint32_t i = 0; i < endpoint->nodes; i++)
        drop_kept(endpoint, &endpoint->peers[i]);
    pthread_cond_destroy(&endpoint->changed);
}

/* ---- sending ---------------------------------------------------------------- */

/* The window is for messages: what endpoints have to send each other always goes. */
static bool is_windowed(const struct rbwp_endpoint *endpoint, uint32_t node,
                        const struct packet_head *head)
{
    return endpoint->window && node != endpoint->node &&
           (head->kind == PACKET_SHORT || head->kind == PACKET_OFFER);
}

static bool enter_window(const struct rbwp_endpoint *endpoint, struct message_peer *peer)
{
    /* Sequentially consistent, both: before them the caller said that it waits, or will look again
     * after it has. */
    uint32_t sent = atomic_fetch_add(&peer->sent, 1);
    if (sent - atomic_load(&peer->taken) < endpoint->window)
        return true;
    atomic_fetch_sub(&peer->sent, 1);
    return false;
}

/* Past what is kept. */
static enum rbwp_status outbox_try_send(struct rbwp_endpoint *endpoint, uint32_t node,
                                        const struct rbwp_packet *packet, struct packet_head *head)
{
    struct message_peer *peer = &endpoint->peers[node];
    if (atomic_load_explicit(&peer->lost, memory_order_acquire))
        return RBWP_E_IO;
    if (node == endpoint->node)
        return rbwp_transport_arrived(endpoint, node, packet);
    const bool windowed = is_windowed(endpoint, node, head);
    if (windowed && !enter_window(endpoint, peer))
        return RBWP_AGAIN;
    head->taken = atomic_load_explicit(&peer->came, memory_order_relaxed);
    enum rbwp_status status = endpoint->transport->ops->send(endpoint->transport, node, packet);
    if (status == RBWP_OK)
        atomic_store_explicit(&peer->told, head->taken, memory_order_relaxed);
    else if (windowed)
        atomic_fetch_sub(&peer->sent, 1);
    if (status == RBWP_E_IO)
        endpoint_lose(endpoint, node, "the transport does not reach it");
    return status;
}

enum rbwp_status outbox_send(struct rbwp_endpoint *endpoint, uint32_t node,
                             const struct rbwp_packet *packet, struct packet_head *head)
{
    if (atomic_load_explicit(&endpoint->peers[node].kept, memory_order_acquire) != 0)
        return RBWP_AGAIN;
    return outbox_try_send(endpoint, node, packet, head);
}

/* ---- keeping ---------------------------------------------------------------- */

static enum rbwp_status outbox_keep(struct rbwp_endpoint *endpoint, uint32_t node,
                                    const struct rbwp_packet *packet, bool in_front)
{
    struct message_peer *peer = &endpoint->peers[node];
    struct kept_packet *kept = malloc(offsetof(struct kept_packet, head) + (size_t)packet->bytes);
    if (!kept)
        return RBWP_E_MEMORY;
    kept->bytes = packet->bytes;
    uint8_t *target = (uint8_t *)kept + offsetof(struct kept_packet, head);
    for (uint32_t i = 0; i < packet->count; i++) {
        if (packet->piece[i].bytes)
            memcpy(target, packet->piece[i].data, packet->piece[i].bytes);
        target += packet->piece[i].bytes;
    }
    pthread_mutex_lock(&endpoint->outbox_lock);
    struct kept_packet **at = in_front ? &peer->first : peer->last;
    kept->next = *at;
    *at = kept;
    if (at == peer->last)
        peer->last = &kept->next;
    if (!peer->listed) {
        peer->listed = true;
        peer->next_kept = endpoint->kept_peers;
        endpoint->kept_peers = peer;
    }
    atomic_fetch_add(&peer->kept, 1);
    atomic_fetch_add(&endpoint->kept, 1);
    pthread_mutex_unlock(&endpoint->outbox_lock);
    /* There may have been room in between: the item tries once, and hears of room from then on.
     */
    endpoint_wake(endpoint);
    return RBWP_OK;
}

enum rbwp_status outbox_send_or_keep(struct rbwp_endpoint *endpoint, uint32_t node,
                                     const struct rbwp_packet *packet, struct packet_head *head)
{
    enum rbwp_status status = outbox_send(endpoint, node, packet, head);
    return status == RBWP_AGAIN ? outbox_keep(endpoint, node, packet, false) : status;
}

void outbox_tell(struct rbwp_endpoint *endpoint, uint32_t node, struct packet_head head)
{
    const struct rbwp_packet packet = packet_of_head(&head);
    /* What is kept for a node waits for room there, and so may that node for room here: behind it,
     * both would wait for ever. */
    const bool goes_past = head.kind == PACKET_WINDOW;
    enum rbwp_status status = goes_past ? outbox_try_send(endpoint, node, &packet, &head)
                                        : outbox_send(endpoint, node, &packet, &head);
    if (status == RBWP_AGAIN)
        status = outbox_keep(endpoint, node, &packet, goes_past);
    if (status != RBWP_OK)
        endpoint_lose(endpoint, node, "no memory for a packet to it");
}

/* Locked. What the transport says of the peer's first packet that did not go; RBWP_OK: all went. */
static enum rbwp_status flush_peer(struct rbwp_endpoint *endpoint, struct message_peer *peer,
                                   bool *sent_out)
{
    const uint32_t node = (uint32_t)(peer - endpoint->peers);
    while (peer->first) {
        struct kept_packet *kept = peer->first;
        const struct rbwp_packet packet = {
            .count = 1, .bytes = kept->bytes, .piece = {{&kept->head, kept->bytes}}};
        enum rbwp_status status = outbox_try_send(endpoint, node, &packet, &kept->head);
        if (status != RBWP_OK)
            return status;
        peer->first = kept->next;
        if (!peer->first)
            peer->last = &peer->first;
        free(kept);
        atomic_fetch_sub(&peer->kept, 1);
        atomic_fetch_sub(&endpoint->kept, 1);
        *sent_out = true;
    }
    return RBWP_OK;
}

bool outbox_flush(struct rbwp_endpoint *endpoint)
{
    bool sent = false;
    if (outbox_is_empty(endpoint))
        return false;
    pthread_mutex_lock(&endpoint->outbox_lock);
    for (struct message_peer **at = &endpoint->kept_peers; *at;) {
        struct message_peer *peer = *at;
        enum rbwp_status status = flush_peer(endpoint, peer, &sent);
        if (status == RBWP_AGAIN) {
            at = &peer->next_kept;
            continue;
        }
        drop_kept(endpoint, peer); /* of a node that is lost */
        *at = peer->next_kept;
        peer->listed = false;
    }
    pthread_mutex_unlock(&endpoint->outbox_lock);
    outbox_changed(endpoint);
    return sent;
}
