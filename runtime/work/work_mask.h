/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_mask.h - which slots are active and which are running, for all slots.
 *
 * The state of a work item is two bits of one word, so that each step of its
 * life is one atomic operation:
 *
 *     active running
 *       0      0      idle
 *       1      0      a candidate: any worker may claim it      -> 0 1
 *       0      1      its do_work runs on the thread that claimed it
 *       1      1      the same, and it was made active meanwhile: it becomes a
 *                     candidate again when the run is over
 *
 * Anybody sets active. Only a claim sets running, and it clears active in the
 * same step; only the claimer clears running. So an item never runs twice at
 * once, and an activation during a run is neither lost nor run too early.
 *
 * Slots are dealt out over eight words, each on a cache line of its own: slot s
 * is lane s / 8 of word s % 8. A few items then share no line at all, and two
 * workers seldom meet. (One line for all 256 slots costs a line transfer
 * between cores at every step of every item.)
 *
 * What this does not know: who sleeps (doorbell.h), and whether a slot is in
 * use (worker.h).
 */
#ifndef WORK_MASK_H
#define WORK_MASK_H

#include <stdatomic.h>

#include "rbwp_format.h"

#define WORK_MASK_WORDS 8u
#define WORK_MASK_LANES (RBWP_SLOTS_MAX / WORK_MASK_WORDS)
#define WORK_LINE_BYTES 64 /* cache line */

_Static_assert(WORK_MASK_LANES == 32, "a word holds two bits for each of 32 lanes");

/* Low half: active, high half: running; bit L of each is lane L. */
struct work_mask_word {
    _Alignas(WORK_LINE_BYTES) _Atomic uint64_t bits;
};

struct work_mask {
    struct work_mask_word words[WORK_MASK_WORDS];
    /* Words with a slot that holds an item, or held one: a claim looks at no others. Only grows. */
    _Alignas(WORK_LINE_BYTES) _Atomic uint32_t used;
};

/* Slots that somebody may run, one bit a slot. Changes when items come and go. */
struct work_filter {
    _Atomic uint32_t lanes[WORK_MASK_WORDS];
};

static inline unsigned work_mask_word_of(unsigned slot)
{
    return slot % WORK_MASK_WORDS;
}

static inline unsigned work_mask_lane_of(unsigned slot)
{
    return slot / WORK_MASK_WORDS;
}

static inline uint64_t work_mask_active_bit(unsigned slot)
{
    return UINT64_C(1) << work_mask_lane_of(slot);
}

static inline uint64_t work_mask_running_bit(unsigned slot)
{
    return UINT64_C(1) << (work_mask_lane_of(slot) + 32);
}

/* Lanes of a word that are active and not running. */
static inline uint32_t work_mask_candidates(uint64_t bits)
{
    return (uint32_t)bits & ~(uint32_t)(bits >> 32);
}

static inline bool work_filter_has(const struct work_filter *filter, unsigned slot)
{
    return (atomic_load_explicit(&filter->lanes[work_mask_word_of(slot)], memory_order_relaxed) >>
            work_mask_lane_of(slot)) &
           1;
}

static inline void work_filter_fill(struct work_filter *filter)
{
    for (unsigned word = 0; word < WORK_MASK_WORDS; word++)
        atomic_init(&filter->lanes[word], UINT32_MAX);
}

static inline void work_filter_set(struct work_filter *filter, unsigned slot, bool allowed)
{
    /* Relaxed: comes before the activation of the item, which a scan reads first. A worker that
     * acts on an older filter runs an item outside its domain, no more. */
    uint32_t lane = UINT32_C(1) << work_mask_lane_of(slot);
    if (allowed)
        atomic_fetch_or_explicit(&filter->lanes[work_mask_word_of(slot)], lane,
                                 memory_order_relaxed);
    else
        atomic_fetch_and_explicit(&filter->lanes[work_mask_word_of(slot)], ~lane,
                                  memory_order_relaxed);
}

/* The slot gets an item: before it is first made active. */
static inline void work_mask_use(struct work_mask *mask, unsigned slot)
{
    /* Relaxed: a claim that does not see it yet finds nothing, and before the claimer sleeps it
     * looks at all words (work_mask_has_candidate). */
    atomic_fetch_or_explicit(&mask->used, UINT32_C(1) << work_mask_word_of(slot),
                             memory_order_relaxed);
}

/*
 * Sets active. True if that made the slot a candidate, so that somebody may have to be woken;
 * false if it was one already, or runs: then its claimer comes back to it.
 *
 * Sequentially consistent: release, so that the claimer sees what the caller wrote for it, also
 * when the bit was set already (the claim reads from this operation); and before the caller's look
 * at the doorbell (doorbell.h).
 */
static inline bool work_mask_activate(struct work_mask *mask, unsigned slot)
{
    uint64_t bits = atomic_fetch_or_explicit(&mask->words[work_mask_word_of(slot)].bits,
                                             work_mask_active_bit(slot), memory_order_seq_cst);
    return (bits & (work_mask_active_bit(slot) | work_mask_running_bit(slot))) == 0;
}

/* Takes back an activation that nobody has claimed yet. True if there was one. */
static inline bool work_mask_deactivate(struct work_mask *mask, unsigned slot)
{
    uint64_t bits = atomic_fetch_and_explicit(&mask->words[work_mask_word_of(slot)].bits,
                                              ~work_mask_active_bit(slot), memory_order_seq_cst);
    return (bits & work_mask_active_bit(slot)) != 0;
}

/* Sequentially consistent, for those who wait for a run to end (worker.h). */
static inline bool work_mask_is_running(const struct work_mask *mask, unsigned slot)
{
    uint64_t bits =
        atomic_load_explicit(&mask->words[work_mask_word_of(slot)].bits, memory_order_seq_cst);
    return (bits & work_mask_running_bit(slot)) != 0;
}

/*
 * The scan order is: the lanes of the word after the last claim, the next words, and at the end the
 * lanes up to the last claim. So each candidate is passed over at most once by each claim of
 * another, and one that asks for requeue again and again starves nobody.
 */
struct work_cursor {
    unsigned word, lane; /* of the last claim */
};

static inline struct work_cursor work_cursor_at(unsigned slot)
{
    return (struct work_cursor){work_mask_word_of(slot), work_mask_lane_of(slot)};
}

/* Claims a candidate among these lanes of a word, if there still is one. The slot, or -1. */
static inline int work_mask_claim_in(struct work_mask *mask, unsigned word, uint32_t lanes)
{
    _Atomic uint64_t *place = &mask->words[word].bits;
    uint64_t bits = atomic_load_explicit(place, memory_order_relaxed);
    uint32_t found;
    while ((found = work_mask_candidates(bits) & lanes) != 0) {
        unsigned lane = (unsigned)__builtin_ctz(found);
        uint64_t claimed = (bits & ~(UINT64_C(1) << lane)) | UINT64_C(1) << (lane + 32);
        /* Acquire: pairs with the release in activate and in release, so that do_work sees what
         * was written before. Sequentially consistent: before the claimer's look at the slot's
         * generation (worker.h). */
        if (atomic_compare_exchange_weak_explicit(place, &bits, claimed, memory_order_seq_cst,
                                                  memory_order_relaxed))
            return (int)(lane * WORK_MASK_WORDS + word);
    }
    return -1;
}

/* Claims the next candidate that the filter allows and moves the cursor to it. The slot, or -1. */
static inline int work_mask_claim(struct work_mask *mask, const struct work_filter *filter,
                                  struct work_cursor *cursor)
{
    uint32_t ahead = (UINT32_MAX << 1) << cursor->lane; /* lanes after the last claim */
    uint32_t used = atomic_load_explicit(&mask->used, memory_order_relaxed);
    /* Bit n: the n-th word of the scan is used. The first is also the last. */
    uint32_t steps = (used | used << WORK_MASK_WORDS) >> cursor->word;
    steps = (steps & ((1u << WORK_MASK_WORDS) - 1)) | (steps & 1) << WORK_MASK_WORDS;
    for (; steps; steps &= steps - 1) {
        unsigned step = (unsigned)__builtin_ctz(steps);
        unsigned word = (cursor->word + step) % WORK_MASK_WORDS;
        uint32_t lanes = step == 0 ? ahead : step == WORK_MASK_WORDS ? ~ahead : UINT32_MAX;
        lanes &= atomic_load_explicit(&filter->lanes[word], memory_order_relaxed);
        int slot = work_mask_claim_in(mask, word, lanes);
        if (slot >= 0) {
            *cursor = work_cursor_at((unsigned)slot);
            return slot;
        }
    }
    return -1;
}

/*
 * Ends the run of a slot that the caller claimed; with requeue it is active again. True if that
 * leaves it a candidate: asked for requeue, or made active during the run.
 *
 * Release: what do_work wrote is seen by the next claimer and by those who wait for the run to end.
 * Sequentially consistent: before the look at the slot's generation (worker.h).
 */
static inline bool work_mask_release(struct work_mask *mask, unsigned slot, bool requeue)
{
    _Atomic uint64_t *place = &mask->words[work_mask_word_of(slot)].bits;
    uint64_t running = work_mask_running_bit(slot), active = work_mask_active_bit(slot);
    if (!requeue)
        return (atomic_fetch_and_explicit(place, ~running, memory_order_seq_cst) & active) != 0;
    uint64_t bits = atomic_load_explicit(place, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(place, &bits, (bits & ~running) | active,
                                                  memory_order_seq_cst, memory_order_relaxed)) {
    }
    return true;
}

/* Is there a candidate that the filter allows? Sequentially consistent: see doorbell.h. */
static inline bool work_mask_has_candidate(const struct work_mask *mask,
                                           const struct work_filter *filter)
{
    for (unsigned word = 0; word < WORK_MASK_WORDS; word++) {
        uint64_t bits = atomic_load_explicit(&mask->words[word].bits, memory_order_seq_cst);
        uint32_t lanes = atomic_load_explicit(&filter->lanes[word], memory_order_relaxed);
        if (work_mask_candidates(bits) & lanes)
            return true;
    }
    return false;
}

#endif /* WORK_MASK_H */
