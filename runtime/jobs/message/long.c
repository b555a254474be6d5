/* SPDX-License-Identifier: Apache-2.0 */
#include "message_endpoint.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVE_TOKEN (UINT64_C(1) << 63) /* of a payload that comes: and its tag */
#define RECEIVES_MAX 256u                 /* payloads that come at once */

/* ---- loans ------------------------------------------------------------------ */

static struct message_loan *loan_new(const void *payload)
{
    struct message_loan *loan = malloc(sizeof *loan);
    if (!loan)
        return NULL;
    atomic_init(&loan->state, LOAN_OFFERED);
    atomic_init(&loan->holders, 2);
    loan->payload = payload;
    return loan;
}

static void loan_release(struct message_loan *loan)
{
    if (loan && atomic_fetch_sub(&loan->holders, 1) == 1)
        free(loan);
}

static bool loan_begin_read(struct message_loan *loan)
{
    int offered = LOAN_OFFERED;
    return atomic_compare_exchange_strong(&loan->state, &offered, LOAN_BEING_READ);
}

/* Nobody reads the payload any more. Waits for who does: a handler. */
static void loan_revoke(struct message_loan *loan)
{
    int state = LOAN_OFFERED;
    while (!atomic_compare_exchange_weak(&loan->state, &state, LOAN_OVER) && state != LOAN_OVER) {
        if (state == LOAN_BEING_READ)
            sched_yield();
        state = LOAN_OFFERED;
    }
}

/* ---- make and unmake ---------------------------------------------------------- */

enum rbwp_status long_make(struct rbwp_endpoint *endpoint, uint32_t long_max)
{
    struct message_longs *longs = &endpoint->longs;
    const uint32_t tags = endpoint->transport->tags;
    longs->send_max = long_max;
    longs->receive_max = tags < RECEIVES_MAX ? tags : RECEIVES_MAX;
    longs->through_last = &longs->through;
    longs->last = &longs->first;
    longs->sends = calloc(long_max, sizeof *longs->sends);
    longs->receives = calloc(longs->receive_max, sizeof *longs->receives);
    if (!longs->sends || !longs->receives || pthread_mutex_init(&longs->lock, NULL) != 0) {
        free(longs->sends);
        free(longs->receives);
        return RBWP_E_MEMORY;
    }
    for (uint32_t i = 0; i < long_max; i++) {
        longs->sends[i].next_free = i + 1;
        longs->sends[i].generation = 1;
    }
    return RBWP_OK;
}

static void end_send(struct long_send *send, enum rbwp_status status)
{
    loan_release(send->loan);
    free(send->copy);
    if (send->done)
        send->done(send->argument, status);
}

static void free_receive(struct rbwp_endpoint *endpoint, struct long_receive *receive)
{
    if (receive->allocated) {
        endpoint->longs.incoming_bytes -= receive->bytes;
        free(receive->payload);
    }
    free(receive);
}

void long_unmake(struct rbwp_endpoint *endpoint)
{
    struct message_longs *longs = &endpoint->longs;
    for (uint32_t i = 0; i < longs->send_max; i++) {
        if (longs->sends[i].state == LONG_FREE)
            continue;
        if (longs->sends[i].loan)
            loan_revoke(longs->sends[i].loan);
        end_send(&longs->sends[i], RBWP_E_STATE);
    }
    for (uint32_t i = 0; i < longs->receive_max; i++)
        if (longs->receives[i])
            free_receive(endpoint, longs->receives[i]);
    while (longs->first) {
        struct long_receive *receive = longs->first;
        longs->first = receive->next;
        free_receive(endpoint, receive);
    }
    free(longs->sends);
    free(longs->receives);
    pthread_mutex_destroy(&longs->lock);
}

/* ---- the sender's side ---------------------------------------------------------- */

static uint64_t long_number_of(const struct message_longs *longs, const struct long_send *send)
{
    return (uint64_t)send->generation << 32 | (uint64_t)(send - longs->sends);
}

/* Locked. NULL: there is none of that number that goes to the node. */
static struct long_send *find_send(struct message_longs *longs, uint64_t number, uint32_t node)
{
    const uint32_t index = (uint32_t)number;
    if (index >= longs->send_max)
        return NULL;
    struct long_send *send = &longs->sends[index];
    return send->state != LONG_FREE && long_number_of(longs, send) == number && send->node == node
               ? send
               : NULL;
}

/* Locked. Its number is of no use from here on. */
static struct long_send remove_send(struct message_longs *longs, struct long_send *send)
{
    const struct long_send removed = *send;
    const uint32_t generation = (send->generation + 1) & (UINT32_MAX >> 1); /* RECEIVE_TOKEN */
    *send = (struct long_send){.generation = generation, .next_free = longs->free_send};
    longs->free_send = (uint32_t)(send - longs->sends);
    atomic_fetch_sub(&longs->sending, 1);
    return removed;
}

/* True if there was one; it is *send_out's now. */
static bool take_send(struct message_longs *longs, uint64_t number, uint32_t node,
                      struct long_send *send_out)
{
    pthread_mutex_lock(&longs->lock);
    struct long_send *send = find_send(longs, number, node);
    if (send)
        *send_out = remove_send(longs, send);
    pthread_mutex_unlock(&longs->lock);
    return send != NULL;
}

/* A number for it. False: too many are under way. */
static bool put_send(struct message_longs *longs, const struct long_send *put, uint64_t *number_out)
{
    pthread_mutex_lock(&longs->lock);
    const bool has_room = longs->free_send < longs->send_max;
    if (has_room) {
        struct long_send *send = &longs->sends[longs->free_send];
        const uint32_t generation = send->generation;
        longs->free_send = send->next_free;
        *send = *put;
        send->generation = generation;
        *number_out = long_number_of(longs, send);
        atomic_fetch_add(&longs->sending, 1);
    }
    pthread_mutex_unlock(&longs->lock);
    return has_room;
}

enum rbwp_status long_begin(struct rbwp_endpoint *endpoint, const struct rbwp_send *given,
                            struct packet_head *head_inout, struct message_loan **loan_out)
{
    struct long_send send = {.state = LONG_BEGUN,
                             .node = given->node,
                             .payload = given->payload,
                             .bytes = given->payload_bytes,
                             .done = given->done,
                             .argument = given->argument};
    if (!given->done) {
        send.copy = malloc((size_t)given->payload_bytes);
        if (!send.copy)
            return RBWP_E_MEMORY;
        memcpy(send.copy, given->payload, (size_t)given->payload_bytes);
        send.payload = send.copy;
    }
    if (endpoint_shares_memory(endpoint, given->node))
        send.loan = loan_new(send.payload);
    *loan_out = send.loan;
    enum rbwp_status status = RBWP_E_MEMORY;
    if (send.loan || !endpoint_shares_memory(endpoint, given->node))
        status = put_send(&endpoint->longs, &send, &head_inout->word) ? RBWP_OK : RBWP_AGAIN;
    if (status != RBWP_OK) {
        free(send.loan);
        free(send.copy);
    }
    return status;
}

void long_went(struct rbwp_endpoint *endpoint, uint64_t number, uint32_t node)
{
    struct message_longs *longs = &endpoint->longs;
    struct long_send lost;
    pthread_mutex_lock(&longs->lock);
    struct long_send *send = find_send(longs, number, node);
    if (send && send->state == LONG_BEGUN) /* else it has been answered already */
        send->state = LONG_OFFERED;
    /* Who loses the node ends what is offered to it; before this he passed it over. */
    const bool is_lost =
        send && send->state == LONG_OFFERED && atomic_load(&endpoint->peers[node].lost);
    if (is_lost)
        lost = remove_send(longs, send);
    pthread_mutex_unlock(&longs->lock);
    if (!is_lost)
        return;
    if (lost.loan)
        loan_revoke(lost.loan);
    end_send(&lost, RBWP_E_IO);
    endpoint_wake(endpoint);
}

void long_cancel(struct rbwp_endpoint *endpoint, uint64_t number, uint32_t node)
{
    struct long_send send;
    if (!take_send(&endpoint->longs, number, node, &send))
        return;
    free(send.loan); /* nobody else has heard of it */
    free(send.copy);
    outbox_changed(endpoint);
    endpoint_wake(endpoint);
}

void long_granted(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *grant)
{
    struct message_longs *longs = &endpoint->longs;
    const void *payload = NULL;
    uint64_t bytes = 0;
    pthread_mutex_lock(&longs->lock);
    struct long_send *send = find_send(longs, grant->word, node);
    const bool goes = send && send->state != LONG_GOING && !send->loan &&
                      grant->bytes < endpoint->transport->tags;
    if (goes) {
        send->state = LONG_GOING;
        payload = send->payload;
        bytes = send->bytes;
    }
    pthread_mutex_unlock(&longs->lock);
    if (!goes) {
        endpoint_tell(endpoint, RBWP_MESSAGE_BROKEN, node, 0, "it asks for a payload that is none");
        return;
    }
    struct rbwp_transport *transport = endpoint->transport;
    struct long_send failed;
    if (transport->ops->send_payload(transport, node, (uint32_t)grant->bytes, payload, bytes,
                                     grant->word) == RBWP_OK)
        return;
    endpoint_lose(endpoint, node, "the transport does not take a payload to it");
    if (take_send(longs, grant->word, node, &failed))
        end_send(&failed, RBWP_E_IO);
}

void long_over(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *over)
{
    struct long_send send;
    if (!take_send(&endpoint->longs, over->word, node, &send))
        return; /* given up meanwhile */
    if (over->reason)
        endpoint_tell(endpoint, over->reason, node, over->handler, "");
    end_send(&send, over->reason ? RBWP_E_INVALID : RBWP_OK);
    outbox_changed(endpoint);
}

bool long_lose_node(struct rbwp_endpoint *endpoint, uint32_t node)
{
    struct message_longs *longs = &endpoint->longs;
    bool any = false;
    for (uint32_t i = 0; i < longs->send_max; i++) {
        struct long_send send;
        pthread_mutex_lock(&longs->lock);
        const bool is_one = longs->sends[i].state == LONG_OFFERED && longs->sends[i].node == node;
        if (is_one)
            send = remove_send(longs, &longs->sends[i]);
        pthread_mutex_unlock(&longs->lock);
        if (!is_one)
            continue;
        if (send.loan)
            loan_revoke(send.loan);
        end_send(&send, RBWP_E_IO);
        any = true;
    }
    return any;
}

/* ---- the receiver's side ---------------------------------------------------------- */

static struct rbwp_message message_of(struct rbwp_endpoint *endpoint,
                                      const struct long_receive *receive)
{
    return (struct rbwp_message){.endpoint = endpoint,
                                 .node = receive->node,
                                 .header_bytes = receive->header_bytes,
                                 .payload_bytes = receive->bytes,
                                 .header = receive->header,
                                 .payload = receive->payload,
                                 .key = receive->key};
}

static void say_over(struct rbwp_endpoint *endpoint, uint32_t node, uint64_t number, uint64_t hash,
                     int reason)
{
    outbox_tell(
        endpoint, node,
        (struct packet_head){
            .kind = PACKET_OVER, .reason = (uint8_t)reason, .handler = hash, .word = number});
    if (reason)
        endpoint_count_handled(endpoint, true);
}

/* Why the payload cannot come; 0: it can. */
static int prepare_payload(struct rbwp_endpoint *endpoint, struct long_receive *receive)
{
    const struct message_handler *handler = receive->handler;
    const struct rbwp_message message = message_of(endpoint, receive);
    receive->payload = handler->place ? handler->place(handler->argument, &message) : NULL;
    if (receive->payload)
        return 0;
    receive->payload = malloc((size_t)receive->bytes);
    if (!receive->payload)
        return RBWP_MESSAGE_NO_MEMORY;
    receive->allocated = true;
    endpoint->longs.incoming_bytes += receive->bytes;
    return 0;
}

/* Locked or not: the item alone takes tags. */
static uint32_t free_tag(const struct message_longs *longs)
{
    uint32_t tag = 0;
    while (tag < longs->receive_max && longs->receives[tag])
        tag++;
    return tag;
}

static void set_receive(struct message_longs *longs, uint32_t tag, struct long_receive *receive)
{
    pthread_mutex_lock(&longs->lock);
    longs->receives[tag] = receive;
    longs->receive_count = longs->receive_count + (receive ? 1 : 0) - (receive ? 0 : 1);
    pthread_mutex_unlock(&longs->lock);
}

static void start_receive(struct rbwp_endpoint *endpoint, struct long_receive *receive)
{
    struct message_longs *longs = &endpoint->longs;
    struct rbwp_transport *transport = endpoint->transport;
    const uint32_t node = receive->node, tag = free_tag(longs);
    const uint64_t number = receive->number;
    int reason = prepare_payload(endpoint, receive);
    if (!reason) {
        set_receive(longs, tag, receive); /* before the transport can report it */
        if (transport->ops->receive_payload(transport, node, tag, receive->payload, receive->bytes,
                                            RECEIVE_TOKEN | tag) == RBWP_OK) {
            outbox_tell(endpoint, node,
                        (struct packet_head){.kind = PACKET_GRANT, .word = number, .bytes = tag});
            return;
        }
        set_receive(longs, tag, NULL);
        reason = RBWP_MESSAGE_NO_MEMORY;
    }
    say_over(endpoint, node, number, receive->handler->hash, reason);
    free_receive(endpoint, receive);
}

/* Those that wait, in their order, as far as there is room. */
static void start_waiting(struct rbwp_endpoint *endpoint)
{
    struct message_longs *longs = &endpoint->longs;
    while (longs->first && longs->receive_count < longs->receive_max) {
        struct long_receive *receive = longs->first;
        if (longs->incoming_bytes > 0 &&
            longs->incoming_bytes + receive->bytes > endpoint->incoming_bytes_max)
            return;
        longs->first = receive->next;
        if (!longs->first)
            longs->last = &longs->first;
        start_receive(endpoint, receive);
    }
}

static void read_loan(struct rbwp_endpoint *endpoint, struct long_receive *receive,
                      struct message_loan *loan)
{
    const struct message_handler *handler = receive->handler;
    if (!loan_begin_read(loan)) { /* its sender has gone */
        endpoint_count_handled(endpoint, true);
        return;
    }
    struct rbwp_message message = message_of(endpoint, receive);
    void *place = handler->place ? handler->place(handler->argument, &message) : NULL;
    if (place)
        memcpy(place, loan->payload, (size_t)receive->bytes);
    message.payload = place ? place : loan->payload;
    endpoint_handle(endpoint, handler, &message, receive->arrived_ticks);
    atomic_store(&loan->state, LOAN_OVER);
    endpoint_count_handled(endpoint, false);
    say_over(endpoint, receive->node, receive->number, handler->hash, 0);
}

static struct message_loan *loan_in(const uint8_t *rest, uint32_t header_bytes)
{
    struct message_loan *loan;
    memcpy(&loan, rest + packet_filled(header_bytes), sizeof loan);
    return loan;
}

/* The receive, made of an offer. NULL: refused, and the sender informed. */
static struct long_receive *receive_new(struct rbwp_endpoint *endpoint, uint32_t node,
                                        const struct packet_head *offer, const uint8_t *header)
{
    const struct message_handler *handler = endpoint_find_handler(endpoint, offer->handler);
    struct long_receive *receive = NULL;
    int reason = 0;
    if (!handler)
        reason = RBWP_MESSAGE_NO_HANDLER;
    else if (offer->bytes > endpoint->payload_bytes_max)
        reason = RBWP_MESSAGE_TOO_LONG;
    else if (!(receive = malloc(sizeof *receive + packet_filled(offer->header_bytes))))
        reason = RBWP_MESSAGE_NO_MEMORY;
    if (!receive) {
        say_over(endpoint, node, offer->word, offer->handler, reason);
        return NULL;
    }
    *receive = (struct long_receive){.handler = handler,
                                     .number = offer->word,
                                     .key = offer->key,
                                     .bytes = offer->bytes,
                                     .node = node,
                                     .header_bytes = offer->header_bytes};
    memcpy(receive->header, header, offer->header_bytes);
    return receive;
}

void long_offered(struct rbwp_endpoint *endpoint, uint32_t node, const struct packet_head *offer,
                  const uint8_t *rest, uint32_t rest_bytes, uint64_t arrived_ticks)
{
    const bool shared = endpoint_shares_memory(endpoint, node);
    const uint32_t wanted =
        packet_filled(offer->header_bytes) + (shared ? (uint32_t)sizeof(struct message_loan *) : 0);
    if (rest_bytes != wanted || offer->bytes == 0) {
        endpoint_tell(endpoint, RBWP_MESSAGE_BROKEN, node, 0, "an offer of another size");
        return;
    }
    struct long_receive *receive = receive_new(endpoint, node, offer, rest);
    if (receive)
        receive->arrived_ticks = arrived_ticks;
    if (shared) {
        struct message_loan *loan = loan_in(rest, offer->header_bytes);
        if (receive)
            read_loan(endpoint, receive, loan);
        loan_release(loan);
        free(receive);
    } else if (receive) {
        *endpoint->longs.last = receive;
        endpoint->longs.last = &receive->next;
        start_waiting(endpoint);
    }
}

void long_drop_offer(const struct rbwp_endpoint *endpoint, uint32_t node,
                     const struct packet_head *offer, const uint8_t *rest, uint32_t rest_bytes)
{
    if (endpoint_shares_memory(endpoint, node) &&
        rest_bytes == packet_filled(offer->header_bytes) + sizeof(struct message_loan *))
        loan_release(loan_in(rest, offer->header_bytes));
}

/* ---- what the transport reports ---------------------------------------------------- */

void rbwp_transport_payload_done(struct rbwp_endpoint *endpoint, uint64_t token,
                                 enum rbwp_status status)
{
    struct message_longs *longs = &endpoint->longs;
    struct long_through *through = NULL;
    pthread_mutex_lock(&longs->lock);
    const uint32_t index = (uint32_t)token;
    if (token & RECEIVE_TOKEN)
        through = index < longs->receive_max && longs->receives[index]
                      ? &longs->receives[index]->through
                      : NULL;
    else if (index < longs->send_max && longs->sends[index].state == LONG_GOING)
        through = &longs->sends[index].through;
    if (through) {
        *through = (struct long_through){.token = token,
                                         .status = status,
                                         .ticks = message_rows_are_on() ? rbwp_now_ticks() : 0};
        *longs->through_last = through;
        longs->through_last = &through->next;
        atomic_store_explicit(&longs->has_through, true, memory_order_release);
    }
    pthread_mutex_unlock(&longs->lock);
    if (through)
        endpoint_wake(endpoint);
}

static bool take_through(struct message_longs *longs, struct long_through *through_out)
{
    pthread_mutex_lock(&longs->lock);
    const struct long_through *first = longs->through;
    if (first) {
        *through_out = *first;
        longs->through = first->next;
        if (!first->next)
            longs->through_last = &longs->through;
    }
    atomic_store_explicit(&longs->has_through, longs->through != NULL, memory_order_relaxed);
    pthread_mutex_unlock(&longs->lock);
    return first != NULL;
}

static void end_receive(struct rbwp_endpoint *endpoint, const struct long_through *through)
{
    struct message_longs *longs = &endpoint->longs;
    const uint32_t tag = (uint32_t)through->token;
    struct long_receive *receive = longs->receives[tag];
    set_receive(longs, tag, NULL);
    if (through->status == RBWP_OK) {
        const struct rbwp_message message = message_of(endpoint, receive);
        endpoint_handle(endpoint, receive->handler, &message, through->ticks);
    }
    endpoint_count_handled(endpoint, through->status != RBWP_OK);
    free_receive(endpoint, receive);
}

static void end_going(struct rbwp_endpoint *endpoint, const struct long_through *through)
{
    struct message_longs *longs = &endpoint->longs;
    pthread_mutex_lock(&longs->lock);
    struct long_send send = remove_send(longs, &longs->sends[(uint32_t)through->token]);
    pthread_mutex_unlock(&longs->lock);
    end_send(&send, through->status);
    outbox_changed(endpoint);
}

bool long_progress(struct rbwp_endpoint *endpoint)
{
    struct message_longs *longs = &endpoint->longs;
    if (!atomic_load_explicit(&longs->has_through, memory_order_acquire))
        return false;
    struct long_through through;
    while (take_through(longs, &through)) {
        if (through.token & RECEIVE_TOKEN)
            end_receive(endpoint, &through);
        else
            end_going(endpoint, &through);
    }
    start_waiting(endpoint);
    return true;
}

bool long_is_busy(const struct rbwp_endpoint *endpoint)
{
    return endpoint->longs.receive_count > 0 || endpoint->longs.first ||
           atomic_load(&endpoint->longs.sending) > 0;
}
