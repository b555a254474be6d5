/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk_line.h"

#include "in_process.h"
#include "chunk_pool.h"
#include "clock.h"
#include "drain.h"
#include "recording.h"
#include "test_point.h"

#include <errno.h>

/* What inlined calls write is what a recovery reads. */
_Static_assert(RBWP_EVENT_KIND_BITS_ == LIVE_EVENT_KIND_BITS &&
                   RBWP_EVENT_TIME_SHIFT_ == LIVE_EVENT_TIME_SHIFT &&
                   RBWP_EVENT_TIME_BITS_ == LIVE_EVENT_TIME_BITS,
               "one event word");
_Static_assert((int)RBWP_EVENT_BEGIN_ == LIVE_EVENT_BEGIN &&
                   (int)RBWP_EVENT_END_ == LIVE_EVENT_END &&
                   (int)RBWP_EVENT_FINE_BEGIN_ == LIVE_EVENT_FINE_BEGIN &&
                   (int)RBWP_EVENT_FINE_END_ == LIVE_EVENT_FINE_END &&
                   (int)RBWP_EVENT_GPU_ == LIVE_EVENT_GPU,
               "one numbering of events");

#define RESERVE_WORDS 32u
/* A thread may always have this many chunks, whatever the cap: one to fill, one being written. */
#define CHUNKS_OWN 2u
/* Threads that come and go leave chunks to be written behind. With more than so many, a new thread
 * has no chunk beyond the cap, and lets the writer catch up for a moment before it takes its first.
 */
#define ORPHANS_MAX 64
#define CROWD_WAITS_MAX 4

uint32_t chunk_line_words(const struct rbwp_self_ *self, const struct chunk *chunk)
{
    return (uint32_t)(self->next - chunk->words);
}

static unsigned chunk_line_kind_of(uint64_t word)
{
    return (unsigned)(word & ((1u << RBWP_EVENT_KIND_BITS_) - 1));
}

/* Of the event that begins with the word. */
static uint32_t words_of_event(uint64_t word)
{
    return chunk_line_kind_of(word) == RBWP_EVENT_GPU_ ? 4 : 1;
}

bool chunk_line_has_begun_none(const struct rbwp_self_ *self, struct thread *thread)
{
    const struct chunk *chunk = thread->chunk;
    if (self->discarded)
        thread->nest.may_end_earlier = false;
    for (uint32_t i = 0; thread->nest.may_end_earlier && chunk && i < chunk_line_words(self, chunk);
         i += words_of_event(chunk->words[i]))
        if (chunk_line_kind_of(chunk->words[i]) == RBWP_EVENT_BEGIN_ &&
            self->base_ticks + (chunk->words[i] >> RBWP_EVENT_TIME_SHIFT_) >
                thread->nest.changed_ticks)
            thread->nest.may_end_earlier = false;
    return thread->nest.may_end_earlier;
}

static void chunk_line_publish(struct chunk *chunk)
{
    TEST_POINT("publish: chunk not yet in the queue");
    drain_publish(recording_now->drain, chunk);
}

void chunk_line_publish_held(struct thread *thread)
{
    for (struct chunk *chunk = thread->held_first, *next; chunk; chunk = next) {
        next = chunk->next;
        chunk_line_publish(chunk);
    }
    thread->held_first = thread->held_last = NULL;
}

static void discard_chunk(struct thread *thread, struct chunk *chunk, uint32_t used)
{
    chunk_put(recording_now->pool, chunk, used);
    thread_chunk_done(thread);
}

/* Items that have begun in what was recorded, and not ended. */
static uint32_t count_open(const struct rbwp_self_ *self, const struct thread *thread)
{
    return (self->item != NULL) + (self->pending & RBWP_PENDING_DEPTH_) + thread->nest.outer_fine;
}

/* The full chunk goes to the writer, or waits for the open item. The next one begins at ticks. */
static void retire_chunk(struct rbwp_self_ *self, struct thread *thread, uint64_t ticks,
                         uint32_t epoch)
{
    struct chunk *chunk = thread->chunk;
    (void)chunk_line_has_begun_none(self, thread); /* looks at the chunk as long as it is there */
    chunk->used = chunk_line_words(self, chunk);
    chunk->open = count_open(self, thread);
    chunk->end_ticks = ticks;
    chunk->end_epoch = (uint16_t)epoch;
    thread->chunk = NULL;
    if (!self->item || thread->kept) {
        chunk_line_publish(chunk);
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

uint64_t chunk_line_item_ticks(const struct rbwp_self_ *self, const struct thread *thread)
{
    if (thread->kept)
        return thread->kept_begin_ticks;
    return chunk_of_item(thread)->base_ticks + (*self->item >> RBWP_EVENT_TIME_SHIFT_);
}

static bool has_gpu_work(const uint64_t *word, const uint64_t *end)
{
    while (word < end && chunk_line_kind_of(*word) != RBWP_EVENT_GPU_)
        word++; /* an event of another kind is one word */
    return word < end;
}

bool chunk_line_item_has_gpu_work(const struct rbwp_self_ *self, const struct thread *thread)
{
    const uint64_t *from = self->item;
    for (const struct chunk *held = thread->held_first; held; held = held->next) {
        if (has_gpu_work(from, held->words + held->used))
            return true;
        from = held->next ? held->next->words : thread->chunk->words;
    }
    return has_gpu_work(from, self->next);
}

/* At the cap the open item's chunks must be written to make room: it can't be elided any more.
 */
static void keep_item(struct rbwp_self_ *self, struct thread *thread)
{
    if (!thread->held_first)
        return;
    __atomic_store_n(&thread->kept_begin_ticks, chunk_line_item_ticks(self, thread),
                     __ATOMIC_RELAXED);
    thread->kept_word = *self->item;
    thread->kept = true;
    rbwp_set_item_(self, &thread->kept_word);
    chunk_line_publish_held(thread);
}

static enum rbwp_status try_chunk(struct thread *thread, struct chunk **chunk_out)
{
    uint32_t chunks = atomic_load_explicit(&thread->chunks, memory_order_relaxed);
    uint32_t of_rows = atomic_load_explicit(&thread->row_chunks, memory_order_relaxed);
    /* Both move meanwhile: one too many is let pass. */
    bool beyond_cap = (chunks < of_rows || chunks - of_rows < CHUNKS_OWN) &&
                      thread_registry_orphans() <= ORPHANS_MAX;
    return chunk_get(recording_now->pool, beyond_cap, chunk_out);
}

static enum rbwp_status chunk_line_wait_for_chunk(struct thread *thread, struct chunk **chunk_out)
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

/* For each chunk that is taken near the cap one is encoded: who records does not get there, where
 * it would sleep, and be woken while others have the CPUs. */
static void help_near_cap(void)
{
    if (recording_now->at_cap == RBWP_AT_CAP_WAIT && chunk_pool_is_near_cap(recording_now->pool))
        (void)drain_help(recording_now->drain);
}

/* A chunk, or the cause why there is none. The host program's errno stays as it is. What a forked
 * child records first begins with its session: who speaks of it later means that moment. */
static struct chunk *chunk_line_obtain_chunk(struct rbwp_self_ *self, struct thread *thread,
                                             uint64_t *ticks, enum rbwp_loss_cause *cause_out)
{
    int host_errno = errno, host_cancel = cancel_hold();
    struct chunk *chunk;
    *ticks = recording_ticks(*ticks);
    if (!recording_is_there()) {
        cancel_release(host_cancel);
        errno = host_errno;
        *cause_out = RBWP_LOSS_DROPPED;
        return NULL;
    }
    let_writer_catch_up(thread);
    help_near_cap();
    enum rbwp_status status = try_chunk(thread, &chunk);
    if (status != RBWP_OK)
        keep_item(self, thread);
    if (status == RBWP_AGAIN && recording_now->at_cap == RBWP_AT_CAP_WAIT)
        status = chunk_line_wait_for_chunk(thread, &chunk);
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

enum rbwp_loss_cause chunk_line_make_room(struct rbwp_self_ *self, struct thread *thread,
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
    struct chunk *fresh = chunk_line_obtain_chunk(self, thread, ticks, &cause);
    if (!fresh)
        return cause;
    uint32_t epoch = clock_epoch();
    if (thread->chunk)
        retire_chunk(self, thread, *ticks, epoch);
    install_chunk(self, thread, fresh, *ticks, epoch);
    return NO_LOSS;
}

/* ---- the fate of what is held ------------------------------------------------------ */

/* Clears the words from `from` to next, the first one first: who reads events stops there, so that
 * what is left is always a whole prefix, and no event is seen that has lost a part. */
static void clear_words(struct rbwp_self_ *self, uint64_t *from)
{
    for (uint64_t *word = from, *next = self->next; word < next; word++) {
        __atomic_store_n(word, (uint64_t)0, __ATOMIC_RELEASE);
        TEST_POINT("take back: a word cleared");
    }
    self->next = from;
}

void chunk_line_take_back(struct rbwp_self_ *self, struct thread *thread)
{
    struct chunk *begin_chunk = thread->held_first;
    if (begin_chunk) {
        discard_chunk(thread, thread->chunk, chunk_line_words(self, thread->chunk));
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
}

/* ---- the end of a session ------------------------------------------------------------ */

/* The words of whole events, for a thread that a signal handler took out of a call (longjmp): its
 * last event may have its place but not its word. */
static uint32_t words_of_whole_events(const struct chunk *chunk, uint32_t used)
{
    uint32_t at = 0;
    while (at < used && chunk->words[at] != 0)
        at += words_of_event(chunk->words[at]);
    return at < used ? at : used;
}

void chunk_line_leave_call(struct rbwp_self_ *self, const struct thread *thread)
{
    const struct chunk *chunk = thread->chunk;
    if (!chunk)
        return;
    self->next = chunk->words + words_of_whole_events(chunk, chunk_line_words(self, chunk));
    if (self->next < chunk->words + chunk_words(recording_now->pool))
        __atomic_store_n(self->next, (uint64_t)0, __ATOMIC_RELEASE);
    if (self->item == self->next)
        rbwp_set_item_(self, NULL);
    else if (!self->item && self->next > chunk->words &&
             chunk_line_kind_of(self->next[-1]) == RBWP_EVENT_BEGIN_)
        rbwp_set_item_(self, self->next - 1);
}

void chunk_line_hand_over(struct rbwp_self_ *self, struct thread *thread)
{
    chunk_line_publish_held(thread);
    struct chunk *chunk = thread->chunk;
    if (!chunk)
        return;
    chunk->used = chunk_line_words(self, chunk);
    chunk->open = count_open(self, thread);
    if (__atomic_load_n(&self->in_call, __ATOMIC_RELAXED)) {
        chunk->used = words_of_whole_events(chunk, chunk->used);
        chunk->open = CHUNK_OPEN_UNKNOWN;
    }
    if (chunk->used)
        chunk_line_publish(chunk);
    else
        discard_chunk(thread, chunk, 0);
}
