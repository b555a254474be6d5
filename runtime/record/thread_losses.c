/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_losses.h"

#include "live.h"

struct stray_calls stray_calls;

static void log_loss(const struct thread *thread, enum rbwp_loss_cause cause)
{
    const struct loss_tally *tally = &thread->loss[cause];
    struct __attribute__((packed)) {
        uint64_t thread_id, count, first_ticks, last_ticks;
        uint32_t cause, part;
    } entry = {thread->thread_id,
               tally->count - tally->before,
               tally->part_ticks,
               tally->last_ticks,
               cause,
               tally->part};
    live_try_log(LIVE_LOSS, &entry, sizeof entry);
}

void thread_lose(struct thread *thread, enum rbwp_loss_cause cause, uint64_t count, uint64_t ticks)
{
    struct loss_tally *tally = &thread->loss[cause];
    uint32_t part = live_part();
    if (tally->count == 0)
        tally->first_ticks = ticks;
    if (tally->count == 0 || tally->part != part) {
        tally->part = part;
        tally->part_ticks = ticks;
        tally->before = tally->count;
    }
    uint64_t before = tally->count - tally->before, after = before + count;
    tally->count += count;
    tally->last_ticks = ticks;
    live_count_lost(cause, count);
    if ((before ^ after) > before) /* at 1, 2, 4 ...: whose they were, roughly, and when */
        log_loss(thread, cause);
}

void stray_calls_add(uint64_t ticks)
{
    if (rbwp_self_.pending & RBWP_PENDING_SLOW_)
        return;
    if (atomic_fetch_add_explicit(&stray_calls.count, 1, memory_order_relaxed) == 0)
        atomic_store_explicit(&stray_calls.first_ticks, ticks, memory_order_relaxed);
    atomic_store_explicit(&stray_calls.last_ticks, ticks, memory_order_relaxed);
}

void stray_calls_begin(struct rbwp_self_ *self, uint64_t ticks)
{
    self->pending = 0;
    stray_calls_add(ticks);
    self->pending = RBWP_PENDING_SLOW_;
}

void stray_calls_end(struct rbwp_self_ *self, uint64_t ticks)
{
    stray_calls_add(ticks);
    self->pending = 0;
}
