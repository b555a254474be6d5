/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wakes.h - who signalled whom.
 *
 * Objects that threads wait for (mutexes, condition variables ...) share the buckets of a table by
 * their address. A thread that waits says so in its bucket; who signals looks there first, so that
 * it costs a load where nobody waits, and else leaves a note: object, time, thread. Who runs again
 * looks for the note that was meant for it. A bucket keeps the last few notes; one that comes too
 * late, or that another thread took, is a wake-up whose waker is not known.
 *
 * No call blocks or allocates; all may be made from signal handlers.
 */
#ifndef WAKES_H
#define WAKES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WAKES_BUCKETS = 1024, WAKES_KEPT = 8 };

struct wake {
    _Atomic uint64_t state; /* 0: being written; else 4 x (number + 1), and flags (wakes.c) */
    _Atomic uint64_t object, ticks, thread_id;
};

struct wakes_bucket {
    _Atomic uint32_t waiting;                                   /* threads */
    _Atomic uint32_t next;                                      /* number of the next note */
    struct wake notes[WAKES_KEPT] __attribute__((aligned(32))); /* none lies in two lines */
} __attribute__((aligned(64)));

extern struct wakes_bucket wakes_buckets[WAKES_BUCKETS];

static inline struct wakes_bucket *wakes_bucket_of(uint64_t object)
{
    return &wakes_buckets[(object >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

enum wakes_whose { WAKES_ONE, WAKES_ALL };
__attribute__((hot)) void wakes_note(struct wakes_bucket *bucket, uint64_t object,
                                     enum wakes_whose whose);

/* Before the object is signalled. */
static inline void wakes_tell(uint64_t object, enum wakes_whose whose)
{
    struct wakes_bucket *bucket = wakes_bucket_of(object);
    if (__builtin_expect(atomic_load_explicit(&bucket->waiting, memory_order_relaxed) != 0, 0))
        wakes_note(bucket, object, whose);
}

static inline void wakes_join(struct wakes_bucket *bucket)
{
    atomic_fetch_add_explicit(&bucket->waiting, 1, memory_order_seq_cst);
}
static inline void wakes_leave(struct wakes_bucket *bucket)
{
    atomic_fetch_sub_explicit(&bucket->waiting, 1, memory_order_relaxed);
}

struct wakes_found {
    uint64_t ticks, thread_id;
};
/* Which of several notes: threads that were signalled one by one run in that order; a lock came
 * from whoever released it last. */
enum wakes_which { WAKES_OLDEST, WAKES_LATEST };
/* A note about the object that was left in [since, until]. False: there is none. */
__attribute__((hot)) bool wakes_take(struct wakes_bucket *bucket, uint64_t object, uint64_t since,
                                     uint64_t until, enum wakes_which which,
                                     struct wakes_found *found_out);

#endif /* WAKES_H */
