/* SPDX-License-Identifier: Apache-2.0 */
/* wake.c - what changes from outside, and who is woken by it: the item, and who waits. */
#include "message_endpoint.h"

#include "read_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- waiting ---------------------------------------------------------------- */

void outbox_changed(struct rbwp_endpoint *endpoint)
{
    /* Sequentially consistent: after what changed. Either this sees the waiter, or his next look
     * sees the change. */
    if (atomic_load(&endpoint->waiters) == 0)
        return;
    pthread_mutex_lock(&endpoint->wait_lock);
    endpoint->changes++;
    pthread_cond_broadcast(&endpoint->changed);
    pthread_mutex_unlock(&endpoint->wait_lock);
}

void outbox_wait_begin(struct rbwp_endpoint *endpoint, uint64_t wait_ns, struct outbox_wait *wait)
{
    const int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
    atomic_fetch_add(&endpoint->waiters, 1);
    wait->until_ns =
        wait_ns > (uint64_t)(INT64_MAX - now_ns) ? INT64_MAX : now_ns + (int64_t)wait_ns;
    pthread_mutex_lock(&endpoint->wait_lock);
    wait->changes = endpoint->changes;
    pthread_mutex_unlock(&endpoint->wait_lock);
}

bool outbox_wait(struct rbwp_endpoint *endpoint, struct outbox_wait *wait)
{
    const struct timespec until = {.tv_sec = (time_t)(wait->until_ns / 1000000000),
                                   .tv_nsec = (long)(wait->until_ns % 1000000000)};
    int result = 0;
    pthread_mutex_lock(&endpoint->wait_lock);
    while (endpoint->changes == wait->changes && result != ETIMEDOUT)
        result = wait->until_ns == INT64_MAX
                     ? pthread_cond_wait(&endpoint->changed, &endpoint->wait_lock)
                     : pthread_cond_timedwait(&endpoint->changed, &endpoint->wait_lock, &until);
    const bool changed = endpoint->changes != wait->changes;
    wait->changes = endpoint->changes;
    pthread_mutex_unlock(&endpoint->wait_lock);
    return changed;
}

bool outbox_wait_is_over(const struct outbox_wait *wait)
{
    return read_clock_ns(CLOCK_MONOTONIC) >= wait->until_ns;
}

void outbox_wait_end(struct rbwp_endpoint *endpoint)
{
    atomic_fetch_sub(&endpoint->waiters, 1);
}

/* ---- the item -------------------------------------------------------------------- */

void endpoint_wake(struct rbwp_endpoint *endpoint)
{
    /* Fails only while the endpoint is being freed. */
    (void)rbwp_work_make_active(endpoint->manager, endpoint->work);
    if (endpoint->is_lent_only) /* who waits does the work */
        outbox_changed(endpoint);
}

/* ---- nodes that are lost --------------------------------------------------------- */

/* Without memory for the note the item gives no reason. */
void endpoint_lose(struct rbwp_endpoint *endpoint, uint32_t node, const char *text)
{
    if (atomic_exchange(&endpoint->peers[node].lost, true))
        return;
    struct lost_note *note = malloc(sizeof *note);
    if (note) {
        note->node = node;
        note->in_order = !text;
        snprintf(note->text, sizeof note->text, "%s", text ? text : "");
        note->next = atomic_load_explicit(&endpoint->lost_notes, memory_order_relaxed);
        while (!atomic_compare_exchange_weak(&endpoint->lost_notes, &note->next, note))
            ;
    }
    endpoint_wake(endpoint);
    outbox_changed(endpoint);
}

void endpoint_forget_losses(struct rbwp_endpoint *endpoint)
{
    struct lost_note *notes = atomic_exchange(&endpoint->lost_notes, NULL);
    while (notes) {
        struct lost_note *note = notes;
        notes = note->next;
        free(note);
    }
}

/* ---- what a transport says ---------------------------------------------------------- */

enum rbwp_status rbwp_transport_arrived(struct rbwp_endpoint *endpoint, uint32_t node,
                                        const struct rbwp_packet *packet)
{
    if (packet->bytes > inbox_packet_bytes_max(&endpoint->inbox))
        return RBWP_E_LIMIT;
    if (atomic_load_explicit(&endpoint->phase, memory_order_relaxed) == ENDPOINT_CLOSING)
        return RBWP_AGAIN; /* it stays the transport's, which knows what to do without endpoint */
    const uint64_t ticks = message_rows_are_on() ? rbwp_now_ticks() : 0;
    enum inbox_put_result result = inbox_put(&endpoint->inbox, node, ticks, packet);
    if (result == INBOX_FULL) {
        /* Either this look sees room, or who makes room sees that somebody was turned away. */
        atomic_store(&endpoint->turned_away, true);
        result = inbox_put(&endpoint->inbox, node, ticks, packet);
    }
    if (result == INBOX_PUT_TO_IDLE)
        endpoint_wake(endpoint);
    return result == INBOX_FULL ? RBWP_AGAIN : RBWP_OK;
}

void rbwp_transport_room(struct rbwp_endpoint *endpoint)
{
    outbox_changed(endpoint);
    if (!outbox_is_empty(endpoint))
        endpoint_wake(endpoint);
}

void rbwp_transport_lost(struct rbwp_endpoint *endpoint, uint32_t node, const char *text)
{
    endpoint_lose(endpoint, node, text);
}
