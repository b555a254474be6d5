/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - the work item: what came is handled, what was kept is sent. */
#include "message_endpoint.h"
#include "work_extend.h"

#include <stdlib.h>

#define LINGERS_MAX 4 /* after the last message, LINGER_NS each */

/* ---- packets that have come ----------------------------------------------------- */

static void take_short(struct rbwp_endpoint *endpoint, const struct inbox_entry *entry,
                       const struct packet_head *head, const uint8_t *rest, uint32_t rest_bytes)
{
    const uint32_t filled = packet_filled(head->header_bytes);
    if (rest_bytes < filled || rest_bytes - filled != head->bytes) {
        endpoint_tell(endpoint, RBWP_MESSAGE_BROKEN, entry->node, 0, "a message of another size");
        return;
    }
    const struct message_handler *handler = endpoint_find_handler(endpoint, head->handler);
    if (handler) {
        const struct rbwp_message message = {.endpoint = endpoint,
                                             .node = entry->node,
                                             .header_bytes = head->header_bytes,
                                             .payload_bytes = head->bytes,
                                             .header = rest,
                                             .payload = rest + filled,
                                             .key = head->key};
        endpoint_handle(endpoint, handler, &message, entry->arrived_ticks);
    } else {
        outbox_tell(endpoint, entry->node,
                    (struct packet_head){.kind = PACKET_REFUSED,
                                         .reason = RBWP_MESSAGE_NO_HANDLER,
                                         .handler = head->handler});
    }
    endpoint_count_handled(endpoint, !handler);
}

/* How many of this node's messages the peer has taken; it only grows, and wraps around. */
static void take_window(struct rbwp_endpoint *endpoint, uint32_t node, uint32_t taken)
{
    struct message_peer *peer = &endpoint->peers[node];
    const uint32_t before = atomic_load_explicit(&peer->taken, memory_order_relaxed);
    if (taken == before || taken - before > atomic_load(&peer->sent) - before)
        return; /* nothing new, or less than is known already */
    atomic_store(&peer->taken, taken);
    rbwp_transport_room(endpoint);
}

/* A message has left the inbox; informs its sender now and then. */
static void count_taken(struct rbwp_endpoint *endpoint, uint32_t node)
{
    struct message_peer *peer = &endpoint->peers[node];
    const uint32_t came = atomic_load_explicit(&peer->came, memory_order_relaxed) + 1;
    atomic_store_explicit(&peer->came, came, memory_order_relaxed);
    if (came - atomic_load_explicit(&peer->told, memory_order_relaxed) > (endpoint->window - 1) / 2)
        outbox_tell(endpoint, node, (struct packet_head){.kind = PACKET_WINDOW});
}

static bool take_control(struct rbwp_endpoint *endpoint, uint32_t node,
                         const struct packet_head *head)
{
    if (head->reason > RBWP_MESSAGE_NO_MEMORY)
        return false;
    switch (head->kind) {
    case PACKET_GRANT:
        long_granted(endpoint, node, head);
        return true;
    case PACKET_OVER:
        long_over(endpoint, node, head);
        return true;
    case PACKET_REFUSED:
        if (head->reason)
            endpoint_tell(endpoint, head->reason, node, head->handler, "");
        return head->reason != 0;
    case PACKET_WINDOW:
        return true;
    case PACKET_LEAVING:
        endpoint_lose(endpoint, node, "it has left before the job was quiet");
        return true;
    case PACKET_GONE:
        endpoint_lose(endpoint, node, NULL);
        return true;
    default:
        return quiesce_take(endpoint, node, head);
    }
}

static void serve_take_entry(struct rbwp_endpoint *endpoint, const struct inbox_entry *entry)
{
    const struct packet_head *head = (const struct packet_head *)(entry + 1);
    const uint32_t node = entry->node;
    const bool windowed = endpoint->window && node != endpoint->node;
    if (entry->packet_bytes < sizeof *head || head->header_bytes > RBWP_MESSAGE_HEADER_BYTES_MAX) {
        endpoint_tell(endpoint, RBWP_MESSAGE_BROKEN, node, 0, "too short, or too long a header");
        return;
    }
    const uint8_t *rest = (const uint8_t *)(head + 1);
    const uint32_t rest_bytes = entry->packet_bytes - (uint32_t)sizeof *head;
    if (windowed)
        take_window(endpoint, node, head->taken);
    if (head->kind == PACKET_SHORT)
        take_short(endpoint, entry, head, rest, rest_bytes);
    else if (head->kind == PACKET_OFFER)
        long_offered(endpoint, node, head, rest, rest_bytes, entry->arrived_ticks);
    else if (!take_control(endpoint, node, head))
        endpoint_tell(endpoint, RBWP_MESSAGE_BROKEN, node, 0, "of no known kind");
    if (windowed && (head->kind == PACKET_SHORT || head->kind == PACKET_OFFER))
        count_taken(endpoint, node);
}

/* ---- nodes that are lost ----------------------------------------------------------- */

static void endpoint_on_loss(struct rbwp_endpoint *endpoint, const struct lost_note *note)
{
    _Atomic uint32_t *first = note->in_order ? &endpoint->left_node : &endpoint->lost_node;
    uint32_t none = endpoint->nodes;
    (void)atomic_compare_exchange_strong(first, &none, note->node);
    if (note->in_order)
        quiesce_gone(endpoint, note->node);
    if (long_lose_node(endpoint, note->node) || !note->in_order)
        endpoint_tell(endpoint, RBWP_MESSAGE_NODE_LOST, note->node, 0,
                      note->in_order ? "it left before it took what was sent to it" : note->text);
}

/* The item. True: there was one. */
static bool endpoint_take_losses(struct rbwp_endpoint *endpoint)
{
    if (!atomic_load_explicit(&endpoint->lost_notes, memory_order_relaxed))
        return false;
    struct lost_note *notes = atomic_exchange(&endpoint->lost_notes, NULL);
    while (notes) {
        struct lost_note *note = notes;
        notes = note->next;
        endpoint_on_loss(endpoint, note);
        free(note);
    }
    outbox_changed(endpoint);
    return true;
}

/* ---- the item -------------------------------------------------------------------- */

/* Dropped entries become room, and who was turned away hears of it. */
static void give_back(struct rbwp_endpoint *endpoint)
{
    if (inbox_dropped_bytes(&endpoint->inbox) == 0)
        return;
    inbox_give_back(&endpoint->inbox);
    if (!atomic_load(&endpoint->turned_away))
        return;
    atomic_store(&endpoint->turned_away, false);
    rbwp_transport_room(endpoint); /* for what it sends to itself */
    if (endpoint->transport->ops->room)
        endpoint->transport->ops->room(endpoint->transport);
}

/* True: the slice is over, and there may be more. */
static bool take_inbox(struct rbwp_endpoint *endpoint, struct rbwp_deadline deadline, bool *worked)
{
    const struct inbox_entry *entry = inbox_peek(&endpoint->inbox);
    while (entry) {
        serve_take_entry(endpoint, entry);
        inbox_drop(&endpoint->inbox);
        *worked = true;
        if (inbox_dropped_bytes(&endpoint->inbox) > endpoint->inbox.capacity / 8)
            give_back(endpoint);
        entry = inbox_peek(&endpoint->inbox);
        if (entry &&
            rbwp_deadline_passed(deadline)) /* a message alone costs no look at the clock */
            return true;
    }
    return false;
}

/*
 * Whoever writes the inbox's next entry is disturbed by each look at it, and has to wake the item
 * once it is idle: with a look as soon as the inbox is empty both sides would take turns. So the
 * item waits a little for several messages to come, while the manager has nothing else to do. A
 * transport that polls has no such writer.
 */
static bool linger(const struct rbwp_endpoint *endpoint, unsigned *lingers)
{
    if (*lingers == 0 || endpoint->transport->ops->poll ||
        rbwp_extend_work_waiting(endpoint->manager))
        return false;
    (*lingers)--;
    const uint64_t end_ticks = rbwp_now_ticks() + endpoint->linger_ticks;
    while (rbwp_now_ticks() < end_ticks)
        work_relax();
    return true;
}

bool endpoint_serve(void *argument, struct rbwp_deadline deadline)
{
    struct rbwp_endpoint *endpoint = argument;
    struct rbwp_transport *transport = endpoint->transport;
    bool worked = false, polled, more;
    unsigned lingers = 0;
    if (atomic_load_explicit(&endpoint->phase, memory_order_acquire) == ENDPOINT_NEW) {
        rbwp_set_worked(false);
        return false;
    }
    inbox_be_busy(&endpoint->inbox);
    do {
        polled = transport->ops->poll && transport->ops->poll(transport, deadline);
        worked |= endpoint_take_losses(endpoint);
        worked |= long_progress(endpoint);
        worked |= outbox_flush(endpoint);
        bool took = false;
        more = take_inbox(endpoint, deadline, &took);
        worked |= took;
        if (took)
            lingers = LINGERS_MAX;
        if (!more && !long_is_busy(endpoint) && outbox_is_empty(endpoint))
            worked |= quiesce_idle(endpoint);
        give_back(endpoint);
    } while (!more && (linger(endpoint, &lingers) || !inbox_go_idle(&endpoint->inbox)) &&
             !rbwp_deadline_passed(deadline));
    rbwp_set_worked(worked);
    return more || polled || !atomic_load_explicit(&endpoint->inbox.idle, memory_order_relaxed);
}
