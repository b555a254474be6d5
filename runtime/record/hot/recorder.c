/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow sides of the recording calls: the first event of a session, a full
 * chunk, misuse, and an item whose records may have to be elided after its
 * chunk was full (chunk_line.h). A taking back that comes too late, for the item
 * was kept at the cap, is counted as a loss cause of its own (RBWP_LOSS_KEPT_EMPTY).
 */
#include "in_process.h"
#include "chunk_line.h"
#include "chunk_pool.h"
#include "loss_text.h"
#include "on_cpu.h"
#include "record_extend.h"
#include "recording.h"
#include "rows.h"
#include "slot_limits.h"
#include "thread_registry.h"

#define EVENT_TICKS_MAX ((UINT64_C(1) << RBWP_EVENT_TIME_BITS_) - 1)

/* ---- losses ------------------------------------------------------------------- */

static void count_loss(struct thread *thread, enum rbwp_loss_cause cause, uint64_t ticks)
{
    thread_lose(thread, cause, 1, ticks);
}

/*
 * A begin that is not recorded: its end will not be either. As a record it counts for the same
 * cause; a call that was refused has been counted. So it is with what begins inside a sub-item that
 * is missing, for ends must match.
 */
static void lose_item(struct thread *thread, enum rbwp_loss_cause cause, uint64_t ticks)
{
    thread->nest.lost_item = cause;
    count_loss(thread, cause, ticks);
}

static void lose_fine(struct thread *thread, enum rbwp_loss_cause cause, uint64_t ticks)
{
    if (thread->nest.lost_fine++ == 0)
        thread->nest.lost_fine_cause = cause;
    count_loss(thread, thread->nest.lost_fine_cause, ticks);
}

static void count_lost_end(struct thread *thread, enum rbwp_loss_cause cause, uint64_t ticks)
{
    if (!loss_is_refused(cause))
        count_loss(thread, cause, ticks);
}

/* Records an end in the chunk that the thread has, in its reserve if need be. The reserve's last
 * word is the item's. What finds no room is counted for the cause. */
static void put_end_here(struct rbwp_self_ *self, struct thread *thread, unsigned kind,
                         uint64_t ticks, enum rbwp_loss_cause cause)
{
    uint32_t room = chunk_words(recording_now->pool) - (kind == RBWP_EVENT_FINE_END_);
    if (!thread->chunk || chunk_line_words(self, thread->chunk) >= room) {
        count_loss(thread, cause, ticks);
        return;
    }
    uint64_t since = ticks - self->base_ticks;
    if ((int64_t)since < 0)
        since = 0; /* the counter was set back */
    if (since > EVENT_TICKS_MAX)
        since = EVENT_TICKS_MAX;
    rbwp_put_(self, kind, 0, since);
}

/*
 * Records an end of what was recorded, in the chunk's reserve if there is no room elsewhere: there,
 * and at the latest time that the chunk can hold.
 */
static void put_end(struct rbwp_self_ *self, struct thread *thread, unsigned kind, uint64_t ticks)
{
    enum rbwp_loss_cause cause = chunk_line_make_room(self, thread, 1, &ticks);
    if (cause == NO_LOSS)
        rbwp_put_(self, kind, 0, ticks - self->base_ticks);
    else
        put_end_here(self, thread, kind, ticks, cause);
}

/* ---- pending -------------------------------------------------------------------- */

static uint32_t open_fine(const struct rbwp_self_ *self)
{
    return self->pending & RBWP_PENDING_DEPTH_;
}

/* Sets the count of open sub-items and whether the slow side is needed, by all calls or by the
 * item's end; keeps "empty". */
static void set_pending(struct rbwp_self_ *self, const struct thread *thread, uint32_t depth)
{
    const struct nest *nest = &thread->nest;
    bool slow = nest->outer_fine || nest->outer_lost_fine || nest->nested_items ||
                nest->lost_fine || nest->lost_item;
    self->pending = (self->pending & RBWP_PENDING_EMPTY_) | depth |
                    (slow ? RBWP_PENDING_SLOW_ : 0) |
                    (thread->held_first || thread->kept ? RBWP_PENDING_HELD_ : 0);
}

static void close_item(struct rbwp_self_ *self, struct thread *thread)
{
    rbwp_set_item_(self, NULL);
    self->pending = 0;
    uint32_t depth = thread->nest.outer_fine;
    thread->nest.lost_fine = thread->nest.outer_lost_fine;
    thread->nest.outer_fine = thread->nest.outer_lost_fine = 0;
    thread->kept = false;
    thread->nest.lost_item = NO_LOSS;
    set_pending(self, thread, depth);
}

/* ---- the calls ------------------------------------------------------------------ */

static void end_item(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks);

/* While the level was changed nobody recorded, not the end of an item either: whoever begins
 * another one has ended that. Where nothing was recorded since its begin it has ended by then. */
static void end_unseen(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks)
{
    const bool is_last = self->next == self->item + 1;
    end_item(self, thread, is_last ? thread->nest.changed_ticks : ticks);
}

void rbwp_begin_slow_(unsigned slot, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (!thread) {
        stray_calls_begin(self, ticks);
        return;
    }
    thread->nest.may_end_earlier = false;
    if (self->item && !thread->nest.nested_items &&
        chunk_line_item_ticks(self, thread) <= thread->nest.changed_ticks)
        end_unseen(self, thread, ticks);
    if (self->item || thread->nest.lost_item) {
        count_loss(thread, RBWP_LOSS_NESTED_BEGIN, ticks);
        if (thread->nest.nested_items++ == 0)
            thread->nest.outer_empty = self->pending & RBWP_PENDING_EMPTY_;
        set_pending(self, thread, open_fine(self));
        return;
    }
    thread->nest.outer_fine = open_fine(self);
    thread->nest.outer_lost_fine = thread->nest.lost_fine;
    thread->nest.lost_fine = 0;
    self->pending = 0;
    const uint64_t *asked_at = self->next;
    enum rbwp_loss_cause cause =
        slot < RBWP_SLOTS_MAX ? chunk_line_make_room(self, thread, 1, &ticks) : RBWP_LOSS_RANGE;
    if (cause != NO_LOSS) {
        lose_item(thread, cause, ticks);
    } else {
        rbwp_set_item_(self, self->next);
        if (thread->on_cpu.asked_at == asked_at) /* it is in another chunk */
            thread->on_cpu.asked_at = self->item;
        rbwp_put_(self, RBWP_EVENT_BEGIN_, slot, ticks - self->base_ticks);
    }
    set_pending(self, thread, 0);
}

/* The end of a begin that was ignored. What was said of its work was not said of the open item. */
static void end_nested(struct rbwp_self_ *self, struct thread *thread)
{
    if (--thread->nest.nested_items == 0)
        self->pending = (self->pending & ~RBWP_PENDING_EMPTY_) | thread->nest.outer_empty;
    set_pending(self, thread, open_fine(self));
}

/* Whether the open item, whose chunks the thread still has, is too short for its slot. */
static bool is_brief(const struct rbwp_self_ *self, const struct thread *thread, uint64_t ticks)
{
    uint64_t begin = chunk_line_item_ticks(self, thread);
    return slot_limits_is_brief(chunk_line_item_slot(self), ticks > begin ? ticks - begin : 0) &&
           !chunk_line_item_has_gpu_work(self, thread);
}

static bool outran(const struct rbwp_self_ *self, const struct thread *thread, uint64_t ticks)
{
    uint64_t begin = chunk_line_item_ticks(self, thread);
    return ticks >= begin && ticks - begin >= self->keep_ticks;
}

static void close_fine(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks)
{
    uint32_t open = open_fine(self) + thread->nest.lost_fine;
    if (open)
        count_loss(thread, RBWP_LOSS_UNCLOSED_FINE, ticks);
    for (; open_fine(self) > 0; self->pending--)
        put_end(self, thread, RBWP_EVENT_FINE_END_, ticks);
}

/* The open sub-items end now: their ends will not be recorded. Where they are is what is open. */
static void cut_fine(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks)
{
    for (uint32_t depth = open_fine(self); depth > 0; depth--)
        put_end_here(self, thread, RBWP_EVENT_FINE_END_, ticks, RBWP_LOSS_UNCLOSED_FINE);
    thread->nest.lost_fine = 0;
    set_pending(self, thread, 0);
}

/* The item leaves no trace: it did no work, or was too short. */
static void take_back(struct rbwp_self_ *self, struct thread *thread, bool empty)
{
    if (empty)
        self->discarded++;
    else
        slot_limits_count(thread, chunk_line_item_slot(self));
    chunk_line_take_back(self, thread);
    close_item(self, thread);
}

/* The open item, which was recorded, ends. */
static void end_item(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks)
{
    bool empty = (self->pending & RBWP_PENDING_EMPTY_) != 0 && !outran(self, thread, ticks);
    if (!thread->kept && (empty || is_brief(self, thread, ticks))) {
        take_back(self, thread, empty);
        return;
    }
    if (empty)
        count_loss(thread, RBWP_LOSS_KEPT_EMPTY, ticks);
    close_fine(self, thread, ticks);
    const unsigned slot = chunk_line_item_slot(self);
    const uint64_t begin_ticks = chunk_line_item_ticks(self, thread), *item = self->item;
    put_end(self, thread, RBWP_EVENT_END_, ticks);
    chunk_line_publish_held(thread);
    close_item(self, thread);
    on_cpu_end(self, thread, item, slot, begin_ticks, ticks);
    if (open_fine(self) && !rbwp_is_on_(2))
        cut_fine(self, thread, ticks); /* it began inside of them, when the level was 2 */
    slot_limits_ring(slot, begin_ticks, ticks);
}

void rbwp_end_slow_(uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (!thread) {
        stray_calls_end(self, ticks);
        return;
    }
    if (thread->nest.nested_items) {
        end_nested(self, thread);
        return;
    }
    if (thread->nest.lost_item) {
        count_lost_end(thread, thread->nest.lost_item, ticks);
        close_fine(self, thread, ticks);
        close_item(self, thread);
        return;
    }
    if (!self->item) {
        if (thread->nest.ended_earlier_item || !chunk_line_has_begun_none(self, thread))
            count_loss(thread, RBWP_LOSS_STRAY_END, ticks);
        thread->nest.ended_earlier_item = true;
        return;
    }
    end_item(self, thread, ticks);
}

void rbwp_fine_begin_slow_(unsigned id, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (!thread) {
        stray_calls_add(ticks);
        return;
    }
    self->pending &= ~RBWP_PENDING_EMPTY_;
    uint32_t depth = open_fine(self);
    bool refused =
        id >= RBWP_SUB_ITEMS_MAX || depth == RBWP_PENDING_DEPTH_ || thread->nest.lost_fine;
    enum rbwp_loss_cause cause =
        refused ? RBWP_LOSS_RANGE : chunk_line_make_room(self, thread, 1, &ticks);
    if (cause != NO_LOSS) {
        lose_fine(thread, cause, ticks);
    } else {
        rbwp_put_(self, RBWP_EVENT_FINE_BEGIN_, id, ticks - self->base_ticks);
        depth++;
    }
    set_pending(self, thread, depth);
}

void rbwp_fine_end_slow_(uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (!thread)
        return; /* its begin was counted */
    uint32_t depth = open_fine(self);
    if (thread->nest.lost_fine) {
        count_lost_end(thread, thread->nest.lost_fine_cause, ticks);
        thread->nest.lost_fine--;
    } else if (depth == 0) {
        if (!__atomic_load_n(&thread->nest.may_end_earlier_fine, __ATOMIC_RELAXED) &&
            !chunk_line_has_begun_none(self, thread))
            count_loss(thread, RBWP_LOSS_STRAY_END, ticks);
    } else {
        put_end(self, thread, RBWP_EVENT_FINE_END_, ticks);
        depth--;
    }
    set_pending(self, thread, depth);
}

void rbwp_gpu_work_slow_(uint64_t proc_id, unsigned slot, int64_t start_ns, int64_t stop_ns)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    uint64_t ticks = rbwp_now_ticks();
    if (!thread) {
        stray_calls_add(ticks);
        return;
    }
    enum rbwp_loss_cause cause =
        slot < RBWP_SLOTS_MAX ? chunk_line_make_room(self, thread, 4, &ticks) : RBWP_LOSS_RANGE;
    if (cause != NO_LOSS) {
        count_loss(thread, cause, ticks);
    } else {
        /* The word that makes the event comes last. */
        uint64_t *word = self->next;
        word[1] = proc_id;
        word[2] = (uint64_t)start_ns;
        word[3] = (uint64_t)stop_ns;
        rbwp_put_(self, RBWP_EVENT_GPU_, slot, ticks - self->base_ticks);
        self->next = word + 4;
    }
    set_pending(self, thread, open_fine(self));
}

/* ---- another level -------------------------------------------------------------------- */

/* So does the open item, with what lies around it. */
static void cut_item(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks)
{
    if (!self->item)
        return;
    const unsigned slot = chunk_line_item_slot(self);
    const uint64_t begin_ticks = chunk_line_item_ticks(self, thread), *item = self->item;
    put_end_here(self, thread, RBWP_EVENT_END_, ticks, RBWP_LOSS_DROPPED);
    chunk_line_publish_held(thread);
    close_item(self, thread);
    on_cpu_end(self, thread, item, slot, begin_ticks, ticks);
    cut_fine(self, thread, ticks);
}

void recorder_change_level(struct thread *thread, int before, int level, uint64_t ticks)
{
    struct rbwp_self_ *self = thread->self;
    if (before == 2 && level < 2)
        cut_fine(self, thread, ticks);
    if (before > 0 && level == 0)
        cut_item(self, thread, ticks);
    thread->nest.may_end_earlier = true; /* nobody recorded until now */
    thread->nest.ended_earlier_item = false;
    thread->nest.changed_ticks = ticks;
    recorder_raise_level(thread);
}

void recorder_raise_level(struct thread *thread)
{
    __atomic_store_n(&thread->nest.may_end_earlier_fine, true, __ATOMIC_RELAXED);
}

void rbwp_extend_loss(enum rbwp_loss_cause cause, uint64_t count)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (count == 0 || !rbwp_is_on_(1))
        return;
    if (!self->thread) {
        rows_lose_stray(cause, count);
        return;
    }
    if (!rbwp_enter_(self, 1))
        return;
    thread_lose(self->thread, cause, count, rbwp_now_ticks());
    rbwp_leave_(self);
}

/* Between two stores of an inlined call there may be a place without its word, and an end whose
 * word is missing has closed its item. */
void rbwp_extend_leave_call(void)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!self->in_call || !self->thread)
        return;
    rows_leave_call(self->thread);
    chunk_line_leave_call(self, self->thread);
    rbwp_leave_(self);
}

uint64_t rbwp_extend_item_ticks(void)
{
    return chunk_line_item_ticks(&rbwp_self_, rbwp_self_.thread);
}

uint64_t rbwp_extend_begin_ticks(uint64_t ticks)
{
    int host_cancel = cancel_hold();
    ticks = recording_ticks(ticks);
    cancel_release(host_cancel);
    return ticks;
}

void rbwp_set_time_limit(uint64_t limit_ns)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (self->thread)
        self->keep_ticks = limit_ns == UINT64_MAX ? UINT64_MAX : rbwp_ticks_from_ns(limit_ns);
}
