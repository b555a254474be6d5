/* SPDX-License-Identifier: Apache-2.0 */
#include "message_endpoint.h"

#include "test_point.h"

#include <stdlib.h>
#include <string.h>

#define SKIP (UINT64_C(1) << 63)
#define FETCH_AHEAD_BYTES 512u

_Static_assert(sizeof(struct inbox_entry) % 8 == 0, "entries are aligned to 8 bytes");

enum rbwp_status inbox_make(struct inbox *inbox, uint64_t capacity)
{
    uint64_t power = INBOX_BYTES_MIN;
    while (power < capacity && power < INBOX_BYTES_MAX)
        power *= 2;
    inbox->bytes = calloc(1, (size_t)power); /* what is not used is not touched */
    if (!inbox->bytes)
        return RBWP_E_MEMORY;
    inbox->capacity = power;
    inbox->next = 0;
    atomic_init(&inbox->tail, 0);
    atomic_init(&inbox->free_until, power);
    atomic_init(&inbox->head, 0);
    atomic_init(&inbox->idle, true);
    return RBWP_OK;
}

void inbox_unmake(struct inbox *inbox)
{
    free(inbox->bytes);
    inbox->bytes = NULL;
}

/* So that several fit, and a skip at the end of the bytes does not take most of them. */
uint32_t inbox_packet_bytes_max(const struct inbox *inbox)
{
    uint64_t quarter = inbox->capacity / 4 - sizeof(struct inbox_entry);
    return quarter < UINT32_MAX / 2 ? (uint32_t)quarter : UINT32_MAX / 2;
}

static struct inbox_entry *entry_at(const struct inbox *inbox, uint64_t place)
{
    return (struct inbox_entry *)(void *)(inbox->bytes + (place & (inbox->capacity - 1)));
}

/* ---- putting ---------------------------------------------------------------- */

static bool has_room(struct inbox *inbox, uint64_t until)
{
    /* Acquire, both: what is given back is clear. */
    if (until <= atomic_load_explicit(&inbox->free_until, memory_order_acquire))
        return true;
    /* Sequentially consistent: who was turned away says so, and looks again. */
    uint64_t free_until =
        atomic_load_explicit(&inbox->head, memory_order_seq_cst) + inbox->capacity;
    /* Another may store an older one meanwhile: it only looks again the sooner. */
    atomic_store_explicit(&inbox->free_until, free_until, memory_order_release);
    return until <= free_until;
}

/* Reserves length bytes in a row. UINT64_MAX: there is no room. */
static uint64_t message_inbox_reserve(struct inbox *inbox, uint64_t length)
{
    uint64_t tail = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
    for (;;) {
        uint64_t to_end = inbox->capacity - (tail & (inbox->capacity - 1));
        uint64_t skip = to_end < length ? to_end : 0;
        if (!has_room(inbox, tail + skip + length))
            return UINT64_MAX;
        if (!atomic_compare_exchange_weak_explicit(&inbox->tail, &tail, tail + skip + length,
                                                   memory_order_relaxed, memory_order_relaxed))
            continue;
        if (skip)
            atomic_store_explicit(&entry_at(inbox, tail)->length, skip | SKIP,
                                  memory_order_release);
        return tail + skip;
    }
}

/*
 * A put's locked operations wait until the line that the put before wrote has come from the taker's
 * CPU, who cleared it last: with nothing else, a trip between CPUs a message. So lines are fetched
 * before they are needed; not too far ahead, where the taker's own prefetching ends.
 */
static void fetch_ahead(const struct inbox *inbox, uint64_t place)
{
    const void *line = entry_at(inbox, place + FETCH_AHEAD_BYTES);
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line)); /* the builtin only reads */
#else
    __builtin_prefetch(line, 1);
#endif
}

static void copy_pieces(uint8_t *target, const struct rbwp_packet *packet)
{
    for (uint32_t i = 0; i < packet->count; i++) {
        if (packet->piece[i].bytes)
            memcpy(target, packet->piece[i].data, packet->piece[i].bytes);
        target += packet->piece[i].bytes;
    }
}

enum inbox_put_result inbox_put(struct inbox *inbox, uint32_t node, uint64_t arrived_ticks,
                                const struct rbwp_packet *packet)
{
    uint64_t length = sizeof(struct inbox_entry) + ((packet->bytes + UINT64_C(7)) & ~UINT64_C(7));
    uint64_t place = message_inbox_reserve(inbox, length);
    if (place == UINT64_MAX)
        return INBOX_FULL;
    struct inbox_entry *entry = entry_at(inbox, place);
    fetch_ahead(inbox, place);
    entry->arrived_ticks = arrived_ticks;
    entry->node = node;
    entry->packet_bytes = packet->bytes;
    copy_pieces((uint8_t *)(entry + 1), packet);
    atomic_store_explicit(&entry->length, length, memory_order_seq_cst);
    if (!atomic_load_explicit(&inbox->idle, memory_order_seq_cst))
        return INBOX_PUT;
    TEST_POINT("inbox: the taker was idle");
    return atomic_exchange_explicit(&inbox->idle, false, memory_order_seq_cst) ? INBOX_PUT_TO_IDLE
                                                                               : INBOX_PUT;
}

/* ---- taking ----------------------------------------------------------------- */

static void clear_entry(struct inbox *inbox, struct inbox_entry *entry, uint64_t length)
{
    memset((void *)entry, 0, (size_t)length);
    inbox->next += length;
}

const struct inbox_entry *inbox_peek(struct inbox *inbox)
{
    for (;;) {
        struct inbox_entry *entry = entry_at(inbox, inbox->next);
        uint64_t length = atomic_load_explicit(&entry->length, memory_order_acquire);
        if (!(length & SKIP))
            return length ? entry : NULL;
        clear_entry(inbox, entry, length & ~SKIP);
    }
}

void inbox_drop(struct inbox *inbox)
{
    struct inbox_entry *entry = entry_at(inbox, inbox->next);
    clear_entry(inbox, entry, atomic_load_explicit(&entry->length, memory_order_relaxed));
}

void inbox_give_back(struct inbox *inbox)
{
    atomic_store_explicit(&inbox->head, inbox->next, memory_order_seq_cst);
}

bool inbox_go_idle(struct inbox *inbox)
{
    atomic_store_explicit(&inbox->idle, true, memory_order_seq_cst);
    if (atomic_load_explicit(&entry_at(inbox, inbox->next)->length, memory_order_seq_cst) == 0)
        return true;
    /* False: a put has seen the taker idle and fetches it. */
    return !atomic_exchange_explicit(&inbox->idle, false, memory_order_seq_cst);
}

void inbox_be_busy(struct inbox *inbox)
{
    /* Where it was idle all putters need to know, no more than that. */
    if (atomic_load_explicit(&inbox->idle, memory_order_relaxed))
        atomic_store_explicit(&inbox->idle, false, memory_order_seq_cst);
}

uint64_t inbox_used(const struct inbox *inbox)
{
    uint64_t head = atomic_load_explicit(&inbox->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
    return tail - head;
}
