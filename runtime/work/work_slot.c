/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_slot.c - filling and emptying a slot. The protocol is told in work_slot.h.
 */
#include "work_slot.h"

uint32_t work_slot_fill(struct work_slot *slot, rbwp_do_work_fn do_work, void *argument)
{
    slot->do_work = do_work;
    slot->argument = argument;
    slot->last_generation++;
    if (slot->last_generation == 0)
        slot->last_generation = 1;
    /* Release: pairs with the acquire in work_slot_generation. */
    atomic_store_explicit(&slot->generation, slot->last_generation, memory_order_release);
    return slot->last_generation;
}

bool work_slot_empty(struct work_slot *slot, uint32_t generation)
{
    /* Sequentially consistent: before the look at running. */
    return generation != 0 &&
           atomic_compare_exchange_strong_explicit(&slot->generation, &generation, 0,
                                                   memory_order_seq_cst, memory_order_relaxed);
}

void work_slot_enqueue(struct work_slot *slot, unsigned number)
{
    struct rbwp_ticket ticket;
    if (work_slot_has_ticket(slot))
        return;
    rbwp_enqueue(number, &ticket);
    atomic_store_explicit(&slot->enqueued_by, ticket.thread, memory_order_relaxed);
    atomic_store_explicit(&slot->enqueued_ticks, ticket.ticks, memory_order_release);
}

struct rbwp_ticket work_slot_take_ticket(struct work_slot *slot, unsigned number)
{
    struct rbwp_ticket ticket = {.slot = number};
    ticket.ticks = atomic_exchange_explicit(&slot->enqueued_ticks, 0, memory_order_acquire);
    ticket.thread = atomic_load_explicit(&slot->enqueued_by, memory_order_relaxed);
    return ticket;
}
