/* SPDX-License-Identifier: Apache-2.0 */
/* send.c - the way out: a message becomes a packet, or an offer of one. */
#include "failure.h"
#include "message_endpoint.h"
#include "work_extend.h"

#include <string.h>

static const uint8_t filling[8];

static void add_piece(struct rbwp_packet *packet, const void *data, uint32_t bytes)
{
    if (bytes == 0)
        return;
    packet->piece[packet->count].data = data;
    packet->piece[packet->count++].bytes = bytes;
    packet->bytes += bytes;
}

/* head, header, payload (or the loan); all have to stay. Pieces that there are not stay as they
 * are: to clear them takes longer than all else here. */
static void packet_make(struct rbwp_packet *packet, const struct packet_head *head,
                        const void *header, const void *behind, uint32_t behind_bytes)
{
    packet->count = packet->bytes = 0;
    add_piece(packet, head, sizeof *head);
    add_piece(packet, header, head->header_bytes);
    add_piece(packet, filling, packet_filled(head->header_bytes) - head->header_bytes);
    add_piece(packet, behind, behind_bytes);
}

/* Outside any do_work: sleeps until there is room. */
static enum rbwp_status send_waiting(struct rbwp_endpoint *endpoint, uint32_t node,
                                     const struct rbwp_packet *packet, struct packet_head *head,
                                     uint64_t wait_ns)
{
    struct outbox_wait wait;
    outbox_wait_begin(endpoint, wait_ns, &wait);
    enum rbwp_status status;
    do
        status = outbox_send(endpoint, node, packet, head);
    while (status == RBWP_AGAIN && outbox_wait(endpoint, &wait));
    outbox_wait_end(endpoint);
    return status;
}

static enum rbwp_status send_packet(struct rbwp_endpoint *endpoint, uint32_t node,
                                    const struct rbwp_packet *packet, struct packet_head *head,
                                    uint64_t wait_ns)
{
    /* Before it can be handled anywhere: a sum of what was sent may be too large for a moment,
     * never too small. */
    atomic_fetch_add_explicit(&endpoint->sent, 1, memory_order_relaxed);
    enum rbwp_status status = outbox_send(endpoint, node, packet, head);
    if (status == RBWP_AGAIN && wait_ns > 0) {
        if (rbwp_extend_work_inside()) {
            atomic_fetch_add_explicit(&endpoint->kept_ever, 1, memory_order_relaxed);
            status = outbox_send_or_keep(endpoint, node, packet, head);
        } else {
            status = send_waiting(endpoint, node, packet, head, wait_ns);
        }
    }
    if (status != RBWP_OK)
        atomic_fetch_sub_explicit(&endpoint->sent, 1, memory_order_relaxed);
    return status;
}

static enum rbwp_status send_short(struct rbwp_endpoint *endpoint, const struct rbwp_send *send,
                                   struct packet_head *head)
{
    head->kind = PACKET_SHORT;
    struct rbwp_packet packet;
    packet_make(&packet, head, send->header, send->payload, (uint32_t)send->payload_bytes);
    enum rbwp_status status = send_packet(endpoint, send->node, &packet, head, send->wait_ns);
    if (status == RBWP_OK && send->done)
        send->done(send->argument, RBWP_OK);
    return status;
}

/* Waits for one of the long messages that are under way to end. */
static enum rbwp_status begin_waiting(struct rbwp_endpoint *endpoint, const struct rbwp_send *send,
                                      struct packet_head *head, struct message_loan **loan_out)
{
    enum rbwp_status status = long_begin(endpoint, send, head, loan_out);
    if (status != RBWP_AGAIN || send->wait_ns == 0 || rbwp_extend_work_inside())
        return status;
    struct outbox_wait wait;
    outbox_wait_begin(endpoint, send->wait_ns, &wait);
    do
        status = long_begin(endpoint, send, head, loan_out);
    while (status == RBWP_AGAIN && outbox_wait(endpoint, &wait));
    outbox_wait_end(endpoint);
    return status;
}

static enum rbwp_status send_long(struct rbwp_endpoint *endpoint, const struct rbwp_send *send,
                                  struct packet_head *head)
{
    struct message_loan *loan = NULL;
    head->kind = PACKET_OFFER;
    enum rbwp_status status = begin_waiting(endpoint, send, head, &loan);
    if (status != RBWP_OK)
        return status;
    struct rbwp_packet packet;
    packet_make(&packet, head, send->header, &loan, loan ? (uint32_t)sizeof loan : 0);
    status = send_packet(endpoint, send->node, &packet, head, send->wait_ns);
    if (status == RBWP_OK) {
        atomic_fetch_add_explicit(&endpoint->long_sent, 1, memory_order_relaxed);
        long_went(endpoint, head->word, send->node);
    } else {
        long_cancel(endpoint, head->word, send->node);
    }
    return status;
}

static enum rbwp_status send_refuse(struct rbwp_endpoint *endpoint, const struct rbwp_send *send,
                                    enum rbwp_status status, struct rbwp_error *error)
{
    /* Before the start another thread may register handlers. */
    const char *name = status != RBWP_E_STATE && send->handler < endpoint->handler_count
                           ? endpoint->handlers[send->handler].name
                           : "";
    switch (status) {
    case RBWP_AGAIN:
        atomic_fetch_add_explicit(&endpoint->refused, 1, memory_order_relaxed);
        return failure(error, status, 0, "message: no room for \"%.100s\" to node %u now", name,
                       send->node);
    case RBWP_E_IO:
        return failure(error, status, 0, "message: node %u is lost: \"%.100s\" was not sent to it",
                       send->node, name);
    case RBWP_E_LIMIT:
        return failure(error, status, 0,
                       "message: %llu bytes for \"%.100s\" are more than payload_bytes_max (%llu)",
                       (unsigned long long)send->payload_bytes, name,
                       (unsigned long long)endpoint->payload_bytes_max);
    case RBWP_E_STATE:
        return failure(error, status, 0, "message: the endpoint is not started, or being freed");
    case RBWP_E_INVALID:
        return failure(error, status, 0,
                       "message: there is no node %u of %u, no handler %u here, or the header has "
                       "more than %u bytes",
                       send->node, endpoint->nodes, send->handler, RBWP_MESSAGE_HEADER_BYTES_MAX);
    default:
        return failure(error, status, 0, "message: no memory to send \"%.100s\"", name);
    }
}

static enum rbwp_status check(const struct rbwp_endpoint *endpoint, const struct rbwp_send *send)
{
    if (atomic_load_explicit(&endpoint->phase, memory_order_acquire) != ENDPOINT_STARTED)
        return RBWP_E_STATE;
    if (send->node >= endpoint->nodes || send->handler >= endpoint->handler_count ||
        send->header_bytes > RBWP_MESSAGE_HEADER_BYTES_MAX)
        return RBWP_E_INVALID;
    return send->payload_bytes > endpoint->payload_bytes_max ? RBWP_E_LIMIT : RBWP_OK;
}

static enum rbwp_status send_checked(struct rbwp_endpoint *endpoint, const struct rbwp_send *send)
{
    const struct message_handler *handler = &endpoint->handlers[send->handler];
    const bool recorded = message_rows_are_on();
    struct message_row row;
    struct packet_head head = {.header_bytes = (uint16_t)send->header_bytes,
                               .handler = handler->hash,
                               .bytes = send->payload_bytes};
    if (recorded) {
        head.key = message_key_new(endpoint->node);
        row = (struct message_row){.start_ticks = rbwp_now_ticks(),
                                   .name = handler->label.name,
                                   .key = head.key,
                                   .bytes = send->payload_bytes,
                                   .peer = send->node};
    }
    const bool is_short =
        send->payload_bytes + packet_filled(send->header_bytes) <= endpoint->short_bytes;
    enum rbwp_status status =
        is_short ? send_short(endpoint, send, &head) : send_long(endpoint, send, &head);
    if (recorded && status == RBWP_OK) {
        row.stop_ticks = rbwp_now_ticks();
        message_row_sent(&row);
    }
    return status;
}

static enum rbwp_status send_any(struct rbwp_endpoint *endpoint, const struct rbwp_send *send,
                                 struct rbwp_error *error)
{
    enum rbwp_status status = check(endpoint, send);
    if (status == RBWP_OK)
        status = send_checked(endpoint, send);
    return status == RBWP_OK ? status : send_refuse(endpoint, send, status, error);
}

enum rbwp_status rbwp_message_send(struct rbwp_endpoint *endpoint, uint32_t node, unsigned handler,
                                   const void *payload, uint64_t bytes, uint64_t wait_ns,
                                   struct rbwp_error *error)
{
    const struct rbwp_send send = {.node = node,
                                   .handler = handler,
                                   .payload = payload,
                                   .payload_bytes = bytes,
                                   .wait_ns = wait_ns};
    return send_any(endpoint, &send, error);
}

enum rbwp_status rbwp_message_send_from(struct rbwp_endpoint *endpoint,
                                        const struct rbwp_send *given, struct rbwp_error *error)
{
    struct rbwp_send send;
    enum rbwp_status status = sized_take(&send, sizeof send, given, "rbwp_send", error);
    return status == RBWP_OK ? send_any(endpoint, &send, error) : status;
}
