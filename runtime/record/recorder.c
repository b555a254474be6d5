/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow sides of the recording calls: the first event of a session, a full
 * chunk, misuse, an item whose records may have to be taken back after its
 * chunk was full, and the cap on memory.
 *
 * Taking back. While an item is open, full chunks that hold its begin or later
 * events are held back instead of published. An end that keeps the item
 * publishes them; one that does not puts them back and rewinds the oldest to
 * the begin. Only at the cap is an open item's data published early; then it
 * is "kept", and an end that wants to take it back is counted as a loss cause
 * of its own (RBWP_LOSS_KEPT_EMPTY).
 *
 * Ends have a reserve in each chunk, so that at the cap a begin that was
 * recorded can still be ended.
 */
#include "recording.h"

#include "cancel.h"
#include "chunk_pool.h"
#include "clock.h"
#include "drain.h"
#include "live.h"
#include "rbwp_extend.h"
#include "test_point.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RESERVE_WORDS 32u
#define EVENT_TICKS_MAX ((UINT64_C(1) << RBWP_EVENT_TIME_BITS_) - 1)
/* A thread may always have this many chunks, whatever the cap: one to fill, one being written. */
#define CHUNKS_OWN 2u
/* Threads that come and go leave chunks to be written behind. With more than so many, a new thread
 * has no chunk beyond the cap, and lets the writer catch up for a moment before it takes its first.
 */
#define ORPHANS_MAX 64
#define CROWD_WAITS_MAX 4

int rbwp_level_;
struct recording *recording_now;
struct recording_strays recording_strays;

/* ---- losses ------------------------------------------------------------------- */

static void log_loss(const struct thread *thread, enum rbwp_loss_cause cause)
{
    const struct loss_tally *tally = &thread->loss[cause];
    struct __attribute__((packed)) {
        uint64_t thread_id, count, first_ticks, last_ticks;
        uint32_t cause;
    } entry = {thread->thread_id, tally->count, tally->first_ticks, tally->last_ticks, cause};
    live_try_log(LIVE_LOSS, &entry, sizeof entry);
}

static void count_losses(struct thread *thread, enum rbwp_loss_cause cause, uint64_t count,
                         uint64_t ticks)
{
    struct loss_tally *tally = &thread->loss[cause];
    uint64_t before = tally->count;
    tally->count += count;
    if (before == 0)
        tally->first_ticks = ticks;
    tally->last_ticks = ticks;
    live_count_lost(cause, count);
    if ((before ^ tally->count) > before) /* at 1, 2, 4 ...: whose they were, roughly, and when */
        log_loss(thread, cause);
}

static void count_loss(struct thread *thread, enum rbwp_loss_cause cause, uint64_t ticks)
{
    count_losses(thread, cause, 1, ticks);
}

/*
 * A begin that is not recorded: its end will not be either, and counts for the same cause. So does
 * what begins inside a sub-item that is missing, for ends must match.
 */
static void lose_item(struct thread *thread, enum rbwp_loss_cause cause, uint64_t ticks)
{
    thread->lost_item = cause;
    count_loss(thread, cause, ticks);
}

static void lose_fine(struct thread *thread, enum rbwp_loss_cause cause, uint64_t ticks)
{
    if (thread->lost_fine++ == 0)
        thread->lost_fine_cause = cause;
    count_loss(thread, thread->lost_fine_cause, ticks);
}

static void count_stray(uint64_t ticks)
{
    if (atomic_fetch_add_explicit(&recording_strays.count, 1, memory_order_relaxed) == 0)
        atomic_store_explicit(&recording_strays.first_ticks, ticks, memory_order_relaxed);
    atomic_store_explicit(&recording_strays.last_ticks, ticks, memory_order_relaxed);
}

void rbwp_refuse_(void)
{
    struct thread *thread = rbwp_self_.thread;
    if (thread)
        atomic_fetch_add_explicit(&thread->refused, 1, memory_order_relaxed);
    else
        count_stray(rbwp_now_ticks());
}

/* ---- chunks --------------------------------------------------------------------- */

static uint32_t words_used(const struct rbwp_self_ *self, const struct chunk *chunk)
{
    return (uint32_t)(self->next - chunk->words);
}

static unsigned kind_of(uint64_t word)
{
    return (unsigned)(word & ((1u << RBWP_EVENT_KIND_BITS_) - 1));
}

/* Of the event that begins with the word. */
static uint32_t words_of_event(uint64_t word)
{
    return kind_of(word) == RBWP_EVENT_GPU_ ? 4 : 1;
}

/*
 * True as long as the thread has begun no item in a session that it was there before: what it ends
 * may have begun earlier. The hot side keeps no account of that, so its events are looked at.
 */
static bool has_begun_none(const struct rbwp_self_ *self, struct thread *thread)
{
    const struct chunk *chunk = thread->chunk;
    if (self->discarded)
        thread->may_end_earlier = false;
    for (uint32_t i = 0; thread->may_end_earlier && chunk && i < words_used(self, chunk);
         i += words_of_event(chunk->words[i]))
        if (kind_of(chunk->words[i]) == RBWP_EVENT_BEGIN_)
            thread->may_end_earlier = false;
    return thread->may_end_earlier;
}

static void publish(struct chunk *chunk)
{
    TEST_POINT("publish: chunk not yet in the queue");
    drain_publish(recording_now->drain, chunk);
}

static void publish_held(struct thread *thread)
{
    for (struct chunk *chunk = thread->held_first, *next; chunk; chunk = next) {
        next = chunk->next;
        publish(chunk);
    }
    thread->held_first = thread->held_last = NULL;
}

static void discard_chunk(struct thread *thread, struct chunk *chunk, uint32_t used)
{
    chunk_put(recording_now->pool, chunk, used);
    thread_chunk_done(thread);
}

/* The full chunk goes to the writer, or waits for the open item. The next one begins at ticks. */
static void retire_chunk(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks,
                         uint32_t epoch)
{
    struct chunk *chunk = thread->chunk;
    (void)has_begun_none(self, thread); /* looks at the chunk as long as it is there */
    chunk->used = words_used(self, chunk);
    chunk->end_ticks = ticks;
    chunk->end_epoch = (uint16_t)epoch;
    thread->chunk = NULL;
    if (!self->item || thread->kept) {
        publish(chunk);
        return;
    }
    chunk->next = NULL;
    if (thread->held_last)
        thread->held_last->next = chunk;
    else
        thread->held_first = chunk;
    thread->held_last = chunk;
}

static const struct chunk *chunk_of_item(const struct thread *thread)
{
    return thread->held_first ? thread->held_first : thread->chunk;
}

static uint64_t item_begin_ticks(const struct rbwp_self_ *self, const struct thread *thread)
{
    if (thread->kept)
        return thread->kept_begin_ticks;
    return chunk_of_item(thread)->base_ticks + (*self->item >> RBWP_EVENT_TIME_SHIFT_);
}

/* At the cap the open item's chunks must be written to make room: it can't be taken back any more.
 */
static void keep_item(struct rbwp_self_ *self, struct thread *thread)
{
    if (!thread->held_first)
        return;
    thread->kept_begin_ticks = item_begin_ticks(self, thread);
    thread->kept = true;
    self->item = &thread->kept_word;
    publish_held(thread);
}

static enum rbwp_status try_chunk(struct thread *thread, struct chunk **chunk_out)
{
    bool beyond_cap = atomic_load_explicit(&thread->chunks, memory_order_relaxed) < CHUNKS_OWN &&
                      thread_registry_orphans() <= ORPHANS_MAX;
    return chunk_get(recording_now->pool, beyond_cap, chunk_out);
}

static enum rbwp_status wait_for_chunk(struct thread *thread, struct chunk **chunk_out)
{
    struct drain *drain = recording_now->drain;
    enum rbwp_status status = RBWP_AGAIN;
    int64_t waiting_since = 0;
    atomic_store_explicit(&thread->waits, true, memory_order_relaxed);
    while (status == RBWP_AGAIN && (drain_help(drain) || drain_wait(drain, &waiting_since)))
        status = try_chunk(thread, chunk_out);
    atomic_store_explicit(&thread->waits, false, memory_order_relaxed);
    return status;
}

/* Not for long: a disk that stands still is a matter of the cap. */
static void let_writer_catch_up(struct thread *thread)
{
    struct drain *drain = recording_now->drain;
    int64_t waiting_since = 0;
    if (atomic_load_explicit(&thread->chunks, memory_order_relaxed) > 0 ||
        recording_now->at_cap != RBWP_AT_CAP_WAIT)
        return;
    for (int waits = 0; waits < CROWD_WAITS_MAX && thread_registry_orphans() > ORPHANS_MAX;)
        if (!drain_help(drain))
            waits += drain_wait(drain, &waiting_since) ? 1 : CROWD_WAITS_MAX;
}

/* A chunk, or the cause why there is none. The host program's errno stays as it is. */
static struct chunk *obtain_chunk(struct rbwp_self_ *self, struct thread *thread,
                                  enum rbwp_loss_cause *cause_out)
{
    int host_errno = errno, host_cancel = cancel_hold();
    struct chunk *chunk;
    let_writer_catch_up(thread);
    enum rbwp_status status = try_chunk(thread, &chunk);
    if (status != RBWP_OK)
        keep_item(self, thread);
    if (status == RBWP_AGAIN && recording_now->at_cap == RBWP_AT_CAP_WAIT)
        status = wait_for_chunk(thread, &chunk);
    cancel_release(host_cancel);
    errno = host_errno;
    if (status != RBWP_OK) {
        *cause_out = status == RBWP_E_MEMORY                     ? RBWP_LOSS_MEMORY
                     : recording_now->at_cap == RBWP_AT_CAP_DROP ? RBWP_LOSS_DROPPED
                                                                 : RBWP_LOSS_STALLED;
        return NULL;
    }
    atomic_fetch_add_explicit(&thread->chunks, 1, memory_order_relaxed);
    chunk->thread = thread;
    return chunk;
}

static void install_chunk(struct rbwp_self_ *self, struct thread *thread, struct chunk *chunk,
                          uint64_t ticks, uint32_t epoch)
{
    uint32_t words = chunk_words(recording_now->pool);
    chunk_begin(chunk, thread->thread_id, ticks);
    chunk->end_ticks = UINT64_MAX;
    chunk->epoch = (uint16_t)epoch;
    thread->chunk = chunk;
    self->base_ticks = ticks;
    self->next = chunk->words;
    self->limit = chunk->words + words - RESERVE_WORDS;
}

/* True if the chunk's beginning is of an epoch of the clock that has ended. */
static bool was_set_back(const struct rbwp_self_ *self, const struct thread *thread, uint64_t ticks)
{
    return clock_steps_back(self->base_ticks, ticks) &&
           (uint16_t)clock_epoch() != thread->chunk->epoch;
}

/*
 * Makes room for an event of so many words at *ticks, which is moved forward if it lies before the
 * chunk: time never runs backwards on a thread. Only a counter that was set back ends the chunk.
 * NO_LOSS, or the cause why there is none.
 */
static enum rbwp_loss_cause make_room(struct rbwp_self_ *self, struct thread *thread,
                                      uint32_t words, uint64_t *ticks)
{
    if (thread->chunk && !was_set_back(self, thread, *ticks)) {
        if ((int64_t)(*ticks - self->base_ticks) < 0)
            *ticks = self->base_ticks;
        if ((*ticks - self->base_ticks) >> RBWP_EVENT_TIME_BITS_ == 0 && self->next < self->limit &&
            (size_t)(self->limit - self->next) >= words)
            return NO_LOSS;
    }
    enum rbwp_loss_cause cause = NO_LOSS;
    struct chunk *fresh = obtain_chunk(self, thread, &cause);
    if (!fresh)
        return cause;
    uint32_t epoch = clock_epoch();
    if (thread->chunk)
        retire_chunk(self, thread, *ticks, epoch);
    install_chunk(self, thread, fresh, *ticks, epoch);
    return NO_LOSS;
}

/*
 * Records an end of what was recorded, in the chunk's reserve if need be: there, and at the latest
 * time that the chunk can hold. The reserve's last word is the item's. What finds no room is
 * counted.
 */
static void put_end(struct rbwp_self_ *self, struct thread *thread, unsigned kind, uint64_t ticks)
{
    enum rbwp_loss_cause cause = make_room(self, thread, 1, &ticks);
    uint64_t since = ticks - self->base_ticks;
    if (cause != NO_LOSS) {
        uint32_t room = chunk_words(recording_now->pool) - (kind == RBWP_EVENT_FINE_END_);
        if (!thread->chunk || words_used(self, thread->chunk) >= room) {
            count_loss(thread, cause, ticks);
            return;
        }
        if ((int64_t)since < 0)
            since = 0; /* the counter was set back */
        if (since > EVENT_TICKS_MAX)
            since = EVENT_TICKS_MAX;
    }
    rbwp_put_(self, kind, 0, since);
}

/* ---- pending -------------------------------------------------------------------- */

static uint32_t open_fine(const struct rbwp_self_ *self)
{
    return self->pending & RBWP_PENDING_DEPTH_;
}

/* Sets the count of open sub-items and whether the slow side is needed; keeps "empty". */
static void set_pending(struct rbwp_self_ *self, const struct thread *thread, uint32_t depth)
{
    bool slow = thread->held_first || thread->outer_fine || thread->outer_lost_fine ||
                thread->nested_items || thread->lost_fine || thread->lost_item || thread->kept;
    self->pending = (self->pending & RBWP_PENDING_EMPTY_) | depth | (slow ? RBWP_PENDING_SLOW_ : 0);
}

static void close_item(struct rbwp_self_ *self, struct thread *thread)
{
    self->item = NULL;
    self->pending = 0;
    uint32_t depth = thread->outer_fine;
    thread->lost_fine = thread->outer_lost_fine;
    thread->outer_fine = thread->outer_lost_fine = 0;
    thread->kept = false;
    thread->lost_item = NO_LOSS;
    set_pending(self, thread, depth);
}

/* ---- the calls ------------------------------------------------------------------ */

void rbwp_begin_slow_(unsigned slot, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (!thread) {
        count_stray(ticks);
        return;
    }
    thread->may_end_earlier = false;
    if (self->item || thread->lost_item) {
        count_loss(thread, RBWP_LOSS_NESTED_BEGIN, ticks);
        if (thread->nested_items++ == 0)
            thread->outer_empty = self->pending & RBWP_PENDING_EMPTY_;
        set_pending(self, thread, open_fine(self));
        return;
    }
    thread->outer_fine = open_fine(self);
    thread->outer_lost_fine = thread->lost_fine;
    thread->lost_fine = 0;
    self->pending = 0;
    enum rbwp_loss_cause cause =
        slot < RBWP_SLOTS_MAX ? make_room(self, thread, 1, &ticks) : RBWP_LOSS_RANGE;
    if (cause != NO_LOSS) {
        lose_item(thread, cause, ticks);
    } else {
        self->item = self->next;
        rbwp_put_(self, RBWP_EVENT_BEGIN_, slot, ticks - self->base_ticks);
    }
    set_pending(self, thread, 0);
}

/* The end of a begin that was ignored. What was said of its work was not said of the open item. */
static void end_nested(struct rbwp_self_ *self, struct thread *thread)
{
    if (--thread->nested_items == 0)
        self->pending = (self->pending & ~RBWP_PENDING_EMPTY_) | thread->outer_empty;
    set_pending(self, thread, open_fine(self));
}

/* Clears the words from `from` to next, last first, so that what is left is always a whole prefix.
 */
static void clear_words(struct rbwp_self_ *self, uint64_t *from)
{
    uint64_t *next = self->next;
    while (next > from)
        __atomic_store_n(--next, (uint64_t)0, __ATOMIC_RELEASE);
    self->next = next;
}

static void take_back(struct rbwp_self_ *self, struct thread *thread)
{
    struct chunk *begin_chunk = thread->held_first;
    if (begin_chunk) {
        discard_chunk(thread, thread->chunk, words_used(self, thread->chunk));
        for (struct chunk *chunk = begin_chunk->next, *next; chunk; chunk = next) {
            next = chunk->next;
            discard_chunk(thread, chunk, chunk->used);
        }
        thread->held_first = thread->held_last = NULL;
        uint32_t used = begin_chunk->used;
        install_chunk(self, thread, begin_chunk, begin_chunk->base_ticks, begin_chunk->epoch);
        self->next = begin_chunk->words + used;
    }
    clear_words(self, self->item);
    self->discarded++;
}

static bool outran(const struct rbwp_self_ *self, const struct thread *thread, uint64_t ticks)
{
    uint64_t begin = item_begin_ticks(self, thread);
    return ticks >= begin && ticks - begin >= self->keep_ticks;
}

static void close_fine(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks)
{
    uint32_t open = open_fine(self) + thread->lost_fine;
    if (open)
        count_loss(thread, RBWP_LOSS_UNCLOSED_FINE, ticks);
    for (uint32_t depth = open_fine(self); depth > 0; depth--)
        put_end(self, thread, RBWP_EVENT_FINE_END_, ticks);
}

void rbwp_end_slow_(uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (!thread) {
        count_stray(ticks);
        return;
    }
    if (thread->nested_items) {
        end_nested(self, thread);
        return;
    }
    if (thread->lost_item) {
        count_loss(thread, thread->lost_item, ticks);
        close_fine(self, thread, ticks);
        close_item(self, thread);
        return;
    }
    if (!self->item) {
        if (thread->ended_earlier_item || !has_begun_none(self, thread))
            count_loss(thread, RBWP_LOSS_STRAY_END, ticks);
        thread->ended_earlier_item = true;
        return;
    }
    bool empty = (self->pending & RBWP_PENDING_EMPTY_) != 0 && !outran(self, thread, ticks);
    if (empty && !thread->kept) {
        take_back(self, thread);
        close_item(self, thread);
        return;
    }
    if (empty)
        count_loss(thread, RBWP_LOSS_KEPT_EMPTY, ticks);
    close_fine(self, thread, ticks);
    put_end(self, thread, RBWP_EVENT_END_, ticks);
    publish_held(thread);
    close_item(self, thread);
}

void rbwp_fine_begin_slow_(unsigned id, uint64_t ticks)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct thread *thread = self->thread;
    if (!thread) {
        count_stray(ticks);
        return;
    }
    self->pending &= ~RBWP_PENDING_EMPTY_;
    uint32_t depth = open_fine(self);
    bool refused = id >= RBWP_SUB_ITEMS_MAX || depth == RBWP_PENDING_DEPTH_ || thread->lost_fine;
    enum rbwp_loss_cause cause = refused ? RBWP_LOSS_RANGE : make_room(self, thread, 1, &ticks);
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
    if (!thread) {
        count_stray(ticks);
        return;
    }
    uint32_t depth = open_fine(self);
    if (thread->lost_fine) {
        count_loss(thread, thread->lost_fine_cause, ticks);
        thread->lost_fine--;
    } else if (depth == 0) {
        if (!has_begun_none(self, thread))
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
        count_stray(ticks);
        return;
    }
    enum rbwp_loss_cause cause =
        slot < RBWP_SLOTS_MAX ? make_room(self, thread, 4, &ticks) : RBWP_LOSS_RANGE;
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

void rbwp_extend_loss(enum rbwp_loss_cause cause, uint64_t count)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (count == 0 || !rbwp_is_on_(1) || !rbwp_enter_(self, 1))
        return;
    if (self->thread)
        count_losses(self->thread, cause, count, rbwp_now_ticks());
    else
        count_stray(rbwp_now_ticks());
    rbwp_leave_(self);
}

void rbwp_set_time_limit(uint64_t limit_ns)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (self->thread)
        self->keep_ticks = limit_ns == UINT64_MAX ? UINT64_MAX : rbwp_ticks_from_ns(limit_ns);
}

/* ---- the end of a session --------------------------------------------------------- */

/* The words of whole events, for a thread that a signal handler took out of a call (longjmp): its
 * last event may have its place but not its word. */
static uint32_t words_of_whole_events(const struct chunk *chunk, uint32_t used)
{
    uint32_t at = 0;
    while (at < used && chunk->words[at] != 0)
        at += words_of_event(chunk->words[at]);
    return at < used ? at : used;
}

void record_hand_over(struct thread *thread)
{
    struct rbwp_self_ *self = thread->self;
    if (!recording_now || !self)
        return;
    publish_held(thread);
    if (thread->chunk) {
        uint32_t used = words_used(self, thread->chunk);
        if (__atomic_load_n(&self->in_call, __ATOMIC_RELAXED))
            used = words_of_whole_events(thread->chunk, used);
        thread->chunk->used = used;
        if (used)
            publish(thread->chunk);
        else
            discard_chunk(thread, thread->chunk, 0);
    }
    drain_count_discarded(recording_now->drain, self->discarded);
    thread_forget_calls(thread);
    self->next = self->limit = self->item = NULL;
    self->pending = 0;
    self->discarded = 0;
}

/* Every CPU has seen the cleared level when this returns. */
static void fence_all_cpus(void)
{
    static const struct timespec store_buffers_drain = {0, 20 * 1000 * 1000};
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    /* No such call here (an old kernel, a sandbox): a store leaves its CPU within microseconds. */
    nanosleep(&store_buffers_drain, NULL);
}

/* False if the thread does not leave the call that it is in. At the cap it is let go by the writer.
 */
static bool call_ends(const struct thread *thread)
{
    int64_t since_ns = 0;
    /* acquire: pairs with rbwp_leave_ */
    while (__atomic_load_n(&thread->self->in_call, __ATOMIC_ACQUIRE)) {
        int64_t now_ns = clock_now_ns(0);
        if (since_ns == 0 || atomic_load_explicit(&thread->waits, memory_order_relaxed))
            since_ns = now_ns;
        if (now_ns - since_ns >= RECORDING_STUCK_NS)
            return false;
        sched_yield();
    }
    return true;
}

const struct thread *recording_end(void)
{
    int level = __atomic_exchange_n(&rbwp_level_, 0, __ATOMIC_SEQ_CST);
    TEST_POINT("recording end: level cleared");
    fence_all_cpus();
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        if (thread->self && !call_ends(thread)) {
            __atomic_store_n(&rbwp_level_, level, __ATOMIC_SEQ_CST);
            return thread;
        }
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        if (thread->self)
            record_hand_over(thread);
    return NULL;
}
