/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_slot.h - what is in a slot: an item's function, and its generation.
 *
 * A slot is free (generation 0) or holds an item (its generation, never 0, one
 * more each time the slot is filled). A handle is slot and generation, so a
 * handle to a removed item is recognised even after the slot's reuse.
 *
 * Who may write. The slot's number is claimed in the recorder's registry, so at
 * any time one caller owns it: it fills the slot, writing the plain fields first
 * and the generation last. The one caller that changes the generation back to 0
 * (work_slot_empty; others find the handle stale) owns the slot from then on,
 * but must wait until no run is under way before it lets the number go.
 *
 * Who may read the plain fields: a thread that has claimed the slot's bit
 * (work_mask.h) and then saw a generation other than 0. Removal and run agree
 * like this, all four sequentially consistent:
 *
 *     run:     set running;      look at the generation: 0 -> leave the item alone
 *     removal: generation = 0;   look at running: set -> wait for the run's end
 *
 * At least one of them sees the other. The end of a run is told likewise: the
 * runner clears running, then looks at the generation, and if it has changed,
 * or was 0 already, signals the event that the remover waits for.
 *
 * An activation that races with the removal of the same item may be left over
 * in the mask. It is dropped by the next claimer, or when the slot is filled
 * again; if it comes later still, the new item is called once with nothing to do.
 */
#ifndef WORK_SLOT_H
#define WORK_SLOT_H

#include "rbwp_queue.h"
#include "rbwp_work.h"
#include "work_mask.h"

struct work_slot {
    /* writer: the owner; readers: all, see above */
    _Alignas(WORK_LINE_BYTES) _Atomic uint32_t generation;
    uint32_t last_generation; /* owner only */
    rbwp_do_work_fn do_work;  /* writer: the owner while generation is 0 */
    void *argument;           /* likewise */
    /* When the item was made active, for the first time since it was last run, and by which thread
     * (rbwp_queue.h); 0: not known. Of two that make it active at once either may be told. */
    _Atomic uint64_t enqueued_ticks, enqueued_by;
};

/* The generation of the item in the slot; 0 if free. */
static inline uint32_t work_slot_generation(const struct work_slot *slot)
{
    /* Acquire: pairs with the release in fill. Sequentially consistent: see above. */
    return atomic_load_explicit(&slot->generation, memory_order_seq_cst);
}

static inline bool work_slot_is_named_by(const struct work_slot *slot, uint32_t generation)
{
    return generation != 0 && work_slot_generation(slot) == generation;
}

/* Whether the item was handed over at level 2 and not taken up since. The level may have changed
 * meanwhile, so the ticket is to be taken at any level. */
static inline bool work_slot_has_ticket(const struct work_slot *slot)
{
    return atomic_load_explicit(&slot->enqueued_ticks, memory_order_relaxed) != 0;
}

/* Hands the item over, and takes up the ticket of that. */
void work_slot_enqueue(struct work_slot *slot, unsigned number);
struct rbwp_ticket work_slot_take_ticket(struct work_slot *slot, unsigned number);

/* Puts an item into a free slot. Its generation. */
uint32_t work_slot_fill(struct work_slot *slot, rbwp_do_work_fn do_work, void *argument);

/* Frees the slot of the item of that generation. False if the item is not in it (any more). */
bool work_slot_empty(struct work_slot *slot, uint32_t generation);

#endif /* WORK_SLOT_H */
