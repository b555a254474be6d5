/* SPDX-License-Identifier: Apache-2.0 */
#include "wakes.h"
#include "waiter.h"
#include "rbwp_record.h"

struct wakes_bucket wakes_buckets[WAKES_BUCKETS];

enum { FOR_ALL = 1, TAKEN = 2 }; /* of a note's state */

void wakes_note(struct wakes_bucket *bucket, uint64_t object, enum wakes_whose whose)
{
    uint32_t number = atomic_fetch_add_explicit(&bucket->next, 1, memory_order_relaxed);
    struct wake *note = &bucket->notes[number % WAKES_KEPT];
    atomic_store_explicit(&note->state, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&note->object, object, memory_order_relaxed);
    atomic_store_explicit(&note->ticks, rbwp_now_ticks(), memory_order_relaxed);
    atomic_store_explicit(&note->thread_id, waiter_thread_id(), memory_order_relaxed);
    atomic_store_explicit(&note->state,
                          4 * ((uint64_t)number + 1) | (whose == WAKES_ALL ? FOR_ALL : 0),
                          memory_order_release);
}

/* A note as it was at one moment. */
struct seen {
    struct wake *note;
    uint64_t state, object, ticks, thread_id;
};

/* False: it is being written. */
static inline bool look_at(struct wake *note, struct seen *seen)
{
    seen->note = note;
    seen->state = atomic_load_explicit(&note->state, memory_order_acquire);
    seen->object = atomic_load_explicit(&note->object, memory_order_relaxed);
    seen->ticks = atomic_load_explicit(&note->ticks, memory_order_relaxed);
    seen->thread_id = atomic_load_explicit(&note->thread_id, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return seen->state && atomic_load_explicit(&note->state, memory_order_relaxed) == seen->state;
}

/* Of one thread's it is nobody else's after this. */
static inline bool take(struct seen *seen)
{
    return seen->state & FOR_ALL || atomic_compare_exchange_strong_explicit(
                                        &seen->note->state, &seen->state, seen->state | TAKEN,
                                        memory_order_relaxed, memory_order_relaxed);
}

/* From the newest back to the first that was left before: taken or not, about whatever object, it
 * ends the search. */
bool wakes_take(struct wakes_bucket *bucket, uint64_t object, uint64_t since, uint64_t until,
                enum wakes_which which, struct wakes_found *found_out)
{
    uint32_t next = atomic_load_explicit(&bucket->next, memory_order_acquire);
    struct seen seen, best = {0};
    for (uint32_t back = 1; back <= WAKES_KEPT; back++) {
        if (!look_at(&bucket->notes[(next - back) % WAKES_KEPT], &seen))
            continue;
        if (seen.ticks < since)
            break;
        if (seen.object != object || seen.state & TAKEN || seen.ticks > until)
            continue;
        best = seen;
        if (which == WAKES_LATEST)
            break;
    }
    if (!best.note || !take(&best))
        return false;
    *found_out = (struct wakes_found){best.ticks, best.thread_id};
    return true;
}
