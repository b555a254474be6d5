/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_registry.h"

#include "chunk_encoder.h"
#include "chunk_pool.h"
#include "clock.h"
#include "grow.h"
#include "live.h"
#include "in_process.h"
#include "slot_limits.h"
#include "thread_rows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* begin_ns holds ticks until the whole chunk has been passed. */
static void ring_open_push(struct ring_open *open, uint16_t kind, uint64_t word)
{
    if (open->count == LIVE_RING_OPEN_MAX) {
        open->deeper++;
        return;
    }
    open->open[open->count++] = (struct live_ring_open){
        .begin_ns = (int64_t)live_event_ticks(word), .kind = kind, .id = live_event_id(word)};
}

/* An item's end ends its sub-items, too; ends without a begin are none of ours. */
static void ring_open_pop(struct ring_open *open, uint16_t kind)
{
    uint32_t count = open->count;
    if (kind == RBWP_FINE_BEGIN && open->deeper) {
        open->deeper--;
        return;
    }
    if (kind == RBWP_COARSE_BEGIN)
        while (count > 0 && open->open[count - 1].kind != kind)
            count--;
    if (count > 0 && open->open[count - 1].kind == kind) {
        open->count = count - 1;
        open->deeper = 0;
    }
}

bool ring_open_pass(struct ring_open *open, const struct chunk *chunk,
                    struct shared_timeline *timeline)
{
    uint32_t older = open->count;
    bool has_fine = false;
    for (uint32_t i = 0; i < chunk->used; i++) {
        uint64_t word = __atomic_load_n(&chunk->words[i], __ATOMIC_RELAXED);
        switch (live_event_record_kind(word)) {
        case RBWP_COARSE_BEGIN:
        case RBWP_FINE_BEGIN:
            ring_open_push(open, live_event_record_kind(word), word);
            break;
        case RBWP_COARSE_END:
            ring_open_pop(open, RBWP_COARSE_BEGIN);
            break;
        case RBWP_FINE_END:
            ring_open_pop(open, RBWP_FINE_BEGIN);
            break;
        case RBWP_GPU_WORK:
            i += LIVE_GPU_EVENT_WORDS - 1;
            break;
        default:
            i = chunk->used - 1;
        }
        has_fine |= live_event_record_kind(word) == RBWP_FINE_BEGIN;
        older = open->count < older ? open->count : older;
    }
    for (uint32_t i = older; i < open->count; i++)
        open->open[i].begin_ns = shared_timeline_ns(
            timeline, chunk->epoch, chunk->base_ticks + (uint64_t)open->open[i].begin_ns);
    return has_fine;
}

const uint64_t rbwp_seat_none_ = 0;
RBWP_TLS_ struct rbwp_self_ rbwp_self_ = SELF_NONE;

/* Guards the list and the entries' fields that say so. Taken inside no other lock but the
 * session's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *first;                                   /* attached ones */
static struct thread *first_ended, **ended_end = &first_ended; /* in the order of their ends */
static struct thread
    *of_parent; /* threads that a forked child does not have; freed by its session */
static _Atomic int orphans;
static uint64_t last_number;
static uint64_t left_threads_told;      /* to the live file: retired ones that were dropped */
static bool all_settled;                /* the file is being finished */
static bool thread_registry_in_session; /* detached ones are kept, news go to the live file */

#define SETTLED_AT_ONCE 8 /* by one call of attach or detach: more than it adds */

void thread_registry_lock(void)
{
    pthread_mutex_lock(&lock);
}
bool thread_registry_try_lock(void)
{
    return pthread_mutex_trylock(&lock) == 0;
}
void thread_registry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
struct thread *thread_registry_first(void)
{
    return first;
}
struct thread *thread_registry_first_ended(void)
{
    return first_ended;
}

static void forget_session(struct thread *entry)
{
    entry->records = entry->unwritten = entry->unwritten_rows = entry->overwritten = 0;
    entry->floor_ns = 0;
    entry->open = (struct ring_open){0};
    entry->seen = (struct open_seen){0};
    memset(entry->loss, 0, sizeof entry->loss);
    atomic_store_explicit(&entry->refused, 0, memory_order_relaxed);
}

void thread_forget_calls(struct thread *thread)
{
    const struct nest nest = thread->nest;
    thread->chunk = thread->held_first = thread->held_last = NULL;
    thread_rows_forget(thread);
    thread->nest = (struct nest){.may_end_earlier = nest.may_end_earlier,
                                 .ended_earlier_item = nest.ended_earlier_item,
                                 .may_end_earlier_fine = nest.may_end_earlier_fine};
    thread->kept = false;
    atomic_store_explicit(&thread->waits, false, memory_order_relaxed);
}

/* ---- threads that have ended ----------------------------------------------------------------- */

/* In the file. It has room for 64 MiB of all tables, and tools read them whole. */
#define THREAD_BYTES_MAX (4u << 20)
#define THREAD_ENTRY_BYTES 48u
#define LOSSES_MAX 32768u

static struct retired_threads retired; /* guarded by the registry's lock */

static size_t retired_bytes_of(const char *name)
{
    return THREAD_ENTRY_BYTES + strlen(name);
}

/* ---- threads -------------------------------------------------------------------------- */

/* Those to drop first come first. */
static int by_records_and_age(const void *left, const void *right)
{
    const struct retired_thread *a = left, *b = right;
    if (a->records != b->records)
        return a->records < b->records ? -1 : 1;
    return a->thread_id < b->thread_id ? -1 : a->thread_id > b->thread_id;
}

static void leave_half_out(void)
{
    uint32_t out = 0;
    qsort(retired.threads, retired.thread_count, sizeof *retired.threads, by_records_and_age);
    for (; retired.bytes > THREAD_BYTES_MAX / 2; out++) {
        struct retired_thread *thread = &retired.threads[out];
        retired.bytes -= retired_bytes_of(thread->name);
        retired.left_threads++;
        retired.left_records += thread->records;
        free(thread->name);
    }
    retired.thread_count -= out;
    memmove(retired.threads, retired.threads + out, retired.thread_count * sizeof *retired.threads);
}

/* ---- losses --------------------------------------------------------------------------- */

void thread_each_loss(const struct thread *thread,
                      void (*visit)(void *context, const struct retired_loss *loss), void *context)
{
    struct retired_loss loss = {.thread_id = thread->thread_id};
    for (loss.cause = 1; loss.cause < LOSS_CAUSES; loss.cause++) {
        const struct loss_tally *tally = &thread->loss[loss.cause];
        loss.count = tally->count;
        loss.first = tally->first_ticks;
        loss.last = tally->last_ticks;
        if (loss.count)
            visit(context, &loss);
    }
    const struct retired_loss others[] = {
        {thread->thread_id, thread->unwritten, (uint64_t)thread->unwritten_first_ns,
         (uint64_t)thread->unwritten_last_ns, RBWP_LOSS_IO},
        {.thread_id = thread->thread_id,
         .count = thread->unwritten_rows,
         .cause = RBWP_LOSS_ROWS_IO},
        {.thread_id = thread->thread_id,
         .count = thread->overwritten,
         .cause = RBWP_LOSS_OVERWRITTEN},
        {.thread_id = thread->thread_id,
         .count = atomic_load_explicit(&thread->refused, memory_order_relaxed),
         .cause = RBWP_LOSS_SIGNAL},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].count)
            visit(context, &others[i]);
}

/* Into the sum of its cause. */
static void add_up(const struct retired_loss *loss)
{
    struct retired_loss *all = &retired.all_losses[loss->cause];
    if (all->count == 0 || loss->first < all->first)
        all->first = loss->first;
    if (loss->last > all->last)
        all->last = loss->last;
    all->cause = loss->cause;
    all->count += loss->count;
    retired.left_losses++;
}

static void retired_on_loss(void *context, const struct retired_loss *loss)
{
    (void)context;
    if (retired.loss_count < LOSSES_MAX &&
        grow_array32(&retired.losses, &retired.loss_room, retired.loss_count + 1,
                     sizeof *retired.losses))
        retired.losses[retired.loss_count++] = *loss;
    else
        add_up(loss);
}

/* ---- all of it ------------------------------------------------------------------------ */

/* Takes over what is known of the thread, its name too. False without memory: nothing has changed.
 */
static bool retired_take(struct thread *thread)
{
    if (!grow_array32(&retired.threads, &retired.thread_room, retired.thread_count + 1,
                      sizeof *retired.threads))
        return false;
    retired.threads[retired.thread_count++] = (struct retired_thread){
        .thread_id = thread->thread_id,
        .os_id = thread->os_id,
        .attached_monotonic_ns = thread->attached_monotonic_ns,
        .detached_monotonic_ns = thread->detached_monotonic_ns,
        .records = thread->records,
        .name = thread->name,
    };
    retired.bytes += retired_bytes_of(thread->name);
    thread->name = NULL;
    thread_each_loss(thread, retired_on_loss, NULL);
    if (retired.bytes > THREAD_BYTES_MAX)
        leave_half_out();
    return true;
}

const struct retired_threads *retired_threads(void)
{
    return &retired;
}

/* In a forked child: empty, whatever state it was in; its memory is given up. */
static void retired_abandon(void)
{
    retired = (struct retired_threads){0};
}

static void retired_forget(void)
{
    for (uint32_t i = 0; i < retired.thread_count; i++)
        free(retired.threads[i].name);
    free(retired.threads);
    free(retired.losses);
    retired_abandon();
}

/* ---- ends. Locked, but for counting. ---------------------------------------------------- */

static void link_first(struct thread *entry)
{
    entry->next = first;
    entry->link = &first;
    if (first)
        first->link = &entry->next;
    first = entry;
}

static void unlink_attached(struct thread *entry)
{
    *entry->link = entry->next;
    if (entry->next)
        entry->next->link = entry->link;
}

static void free_entry(struct thread *entry)
{
    thread_rows_free(entry);
    free(atomic_load_explicit(&entry->left_out, memory_order_relaxed));
    free(entry->name);
    free(entry);
}

static struct thread *pop_ended(void)
{
    struct thread *entry = first_ended;
    first_ended = entry->next;
    if (!first_ended)
        ended_end = &first_ended;
    return entry;
}

void thread_chunk_done(struct thread *thread)
{
    /* release: what the writer noted of the thread, for whoever settles it */
    uint32_t before = atomic_fetch_sub_explicit(&thread->chunks, 1, memory_order_release);
    if (before == (THREAD_ENDED | 1))
        atomic_fetch_sub_explicit(&orphans, 1, memory_order_relaxed);
}

void thread_row_chunk_done(struct thread *thread)
{
    atomic_fetch_sub_explicit(&thread->row_chunks, 1, memory_order_relaxed);
    thread_chunk_done(thread);
}

int thread_registry_orphans(void)
{
    return atomic_load_explicit(&orphans, memory_order_relaxed);
}

/* What a detached thread recorded is on its way to the file. */
static void add_ended(struct thread *entry)
{
    unlink_attached(entry);
    entry->next = NULL;
    *ended_end = entry;
    ended_end = &entry->next;
    if (atomic_fetch_add_explicit(&entry->chunks, THREAD_ENDED, memory_order_relaxed) != 0)
        atomic_fetch_add_explicit(&orphans, 1, memory_order_relaxed);
}

/* Chunks are written in the order in which threads handed them over, so the first to end is the
 * first to settle. */
static void thread_registry_settle(uint32_t most)
{
    for (; most > 0 && first_ended && !all_settled; most--) {
        if (atomic_load_explicit(&first_ended->chunks, memory_order_acquire) != THREAD_ENDED ||
            !retired_take(first_ended))
            return;
        free_entry(pop_ended());
    }
}

void thread_registry_settle_last(void)
{
    thread_registry_settle(UINT32_MAX);
    all_settled = true;
}

/* Frees what is kept of detached threads, clears the others. */
static void forget(void)
{
    while (first_ended)
        free_entry(pop_ended());
    forget_session(&thread_rows_strays);
    retired_forget();
    atomic_store_explicit(&orphans, 0, memory_order_relaxed);
    for (struct thread *entry = first; entry; entry = entry->next)
        forget_session(entry);
}

/* ---- the live file. Locked. ------------------------------------------------------------- */

struct __attribute__((packed)) thread_entry {
    uint64_t thread_id, os_id;
    int64_t attached_ns;
};

static void log_begin(uint64_t thread_id, uint64_t os_id, int64_t attached_ns, const char *name)
{
    struct thread_entry entry = {thread_id, os_id, attached_ns};
    live_log(LIVE_THREAD, &entry, sizeof entry, name, strlen(name));
}

static void log_end(uint64_t thread_id, int64_t detached_ns)
{
    struct {
        uint64_t thread_id;
        int64_t detached_ns;
    } entry = {thread_id, detached_ns};
    live_log(LIVE_THREAD_END, &entry, sizeof entry, NULL, 0);
}

static void log_thread(const struct thread *thread)
{
    log_begin(thread->thread_id, thread->os_id, thread->attached_monotonic_ns, thread->name);
}

static void log_thread_end(const struct thread *thread)
{
    log_end(thread->thread_id, thread->detached_monotonic_ns);
}

void thread_registry_log(void)
{
    if (!thread_registry_in_session)
        return;
    for (const struct thread *thread = first; thread; thread = thread->next)
        log_thread(thread);
    for (const struct thread *thread = first_ended; thread; thread = thread->next) {
        log_thread(thread);
        log_thread_end(thread);
    }
    for (uint32_t i = 0; i < retired.thread_count; i++) {
        const struct retired_thread *thread = &retired.threads[i];
        log_begin(thread->thread_id, thread->os_id, thread->attached_monotonic_ns, thread->name);
        log_end(thread->thread_id, thread->detached_monotonic_ns);
    }
    live_count_unlogged(LIVE_THREAD, retired.left_threads - left_threads_told);
    left_threads_told = retired.left_threads;
}

void thread_registry_begin_session(void)
{
    for (struct thread *entry; (entry = of_parent);) {
        of_parent = entry->next;
        free_entry(entry);
    }
    thread_registry_in_session = true;
    left_threads_told = 0;
    for (struct thread *thread = first; thread; thread = thread->next) {
        thread->nest.may_end_earlier = true;
        thread->nest.ended_earlier_item = thread->nest.may_end_earlier_fine = false;
    }
    thread_registry_log();
}

void thread_registry_end_session(void)
{
    thread_registry_in_session = all_settled = false;
    forget();
}

/* In a forked child only the calling thread is left, with nothing recorded. */
static void thread_registry_forget_in_child(void)
{
    pthread_mutex_init(&lock, NULL); /* whoever held it does not exist here */
    slot_limits_forget_all();
    struct thread *mine = rbwp_self_.thread;
    for (struct thread *entry = first, *next; entry; entry = next) {
        next = entry->next;
        if (entry != mine) {
            entry->row_places = NULL; /* given up: the thread may have been at it */
            entry->row_place_count = 0;
            entry->next = of_parent;
            of_parent = entry;
        }
    }
    first = NULL;
    /* Given up: another thread may have been in the middle of these. */
    first_ended = NULL;
    ended_end = &first_ended;
    retired_abandon();
    if (mine)
        link_first(mine);
    if (mine) {
        rbwp_self_ = (struct rbwp_self_){.keep_ticks = rbwp_self_.keep_ticks,
                                         .limits = rbwp_self_.limits,
                                         .thread = mine,
                                         .seat = &rbwp_seat_none_,
                                         .seated = SEATED_ASK,
                                         .long_ticks = UINT64_MAX};
        thread_forget_calls(mine);
        slot_limits_forget(mine);
        atomic_store_explicit(&mine->chunks, 0, memory_order_relaxed);
        atomic_store_explicit(&mine->row_chunks, 0, memory_order_relaxed);
        mine->os_id = (uint64_t)syscall(SYS_gettid);
        mine->thread_id = (mine->thread_id >> 32) << 32 | (mine->os_id & UINT32_MAX);
    }
    thread_registry_end_session();
}

ON_FORK(9, NULL, NULL, thread_registry_forget_in_child)

void thread_registry_add(struct thread *entry)
{
    entry->thread_id = ++last_number << 32 | (entry->os_id & UINT32_MAX);
    entry->attached_monotonic_ns = clock_now_ns(0);
    link_first(entry);
}

void thread_registry_name(struct thread *entry, char *name)
{
    free(entry->name);
    entry->name = name;
    if (!thread_registry_in_session)
        return;
    log_thread(entry);
    thread_registry_settle(SETTLED_AT_ONCE);
}

void thread_registry_remove(struct thread *entry)
{
    entry->self = NULL;
    slot_limits_take_over(entry);
    entry->detached_monotonic_ns = clock_now_ns(0);
    thread_rows_free(entry);
    if (thread_registry_in_session) {
        log_thread_end(entry);
        add_ended(entry);
        thread_registry_settle(SETTLED_AT_ONCE);
    } else {
        unlink_attached(entry);
        free_entry(entry);
    }
}

/* ---- losses ---------------------------------------------------------------------------------- */

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

void rbwp_refuse_(void)
{
    struct thread *thread = rbwp_self_.thread;
    if (thread)
        atomic_fetch_add_explicit(&thread->refused, 1, memory_order_relaxed);
    else
        stray_calls_add(rbwp_now_ticks());
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
