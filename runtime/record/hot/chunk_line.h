/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_line.h - the chunks of a recording thread: the one that it fills, and those before it that
 * are held back until the fate of the open item is known.
 *
 * While an item is open, full chunks that hold its begin or later events are
 * held back instead of published. An end that keeps the item publishes them;
 * one that does not puts them back and rewinds the oldest to the begin. Only at
 * the cap is an open item's data published early; then it is "kept".
 *
 * Ends have a reserve in each chunk, so that at the cap a begin that was
 * recorded can still be ended.
 *
 * All by the thread itself, in a recording call, or by who may touch its state (thread_registry.h).
 */
#ifndef CHUNK_LINE_H
#define CHUNK_LINE_H

#include "thread_registry.h"

/*
 * Makes room for an event of so many words at *ticks, which is moved forward if it lies before the
 * chunk: time never runs backwards on a thread. Only a counter that was set back ends the chunk.
 * NO_LOSS, or the cause why there is none.
 */
enum rbwp_loss_cause chunk_line_make_room(struct rbwp_self_ *self, struct thread *thread,
                                          uint32_t words, uint64_t *ticks);
/* Words with events in the chunk that the thread fills. */
uint32_t chunk_line_words(const struct rbwp_self_ *self, const struct chunk *chunk);

/* When the open item began, and its slot. */
uint64_t chunk_line_item_ticks(const struct rbwp_self_ *self, const struct thread *thread);
static inline unsigned chunk_line_item_slot(const struct rbwp_self_ *self)
{
    return (unsigned)(*self->item >> RBWP_EVENT_KIND_BITS_) & (RBWP_SLOTS_MAX - 1);
}
/* The open item stays: what is held goes to the writer. */
void chunk_line_publish_held(struct thread *thread);
/* The open item has GPU work in it. It is not kept. */
bool chunk_line_item_has_gpu_work(const struct rbwp_self_ *self, const struct thread *thread);
/* The open item, which is not kept, leaves no trace. */
void chunk_line_take_back(struct rbwp_self_ *self, struct thread *thread);

/*
 * True as long as the thread has begun no item in a session that it was there before, or since the
 * level was changed: what it ends may have begun earlier. The hot side keeps no account of that, so
 * its events are looked at.
 */
bool chunk_line_has_begun_none(const struct rbwp_self_ *self, struct thread *thread);

/* The thread's inlined call goes no further: its chunk and item become what whole events say. */
void chunk_line_leave_call(struct rbwp_self_ *self, const struct thread *thread);

/* All that the thread has goes to the writer. */
void chunk_line_hand_over(struct rbwp_self_ *self, struct thread *thread);

#endif /* CHUNK_LINE_H */
