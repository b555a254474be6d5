/* SPDX-License-Identifier: Apache-2.0 */
#include "waiter.h"

#include "known_tables.h"
#include "rbwp_record.h"
#include "rbwp_rows.h"
#include "record_extend.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

/* ---- who signalled whom ---------------------------------------------------------------------- */
/*
 * Objects that threads wait for (mutexes, condition variables ...) share the buckets of a table by
 * their address. A thread that waits says so in its bucket; who signals looks there first, so that
 * it costs a load where nobody waits, and else leaves a note: object, time, thread. Who runs again
 * looks for the note that was meant for it. A bucket keeps the last few notes; one that comes too
 * late, or that another thread took, is a wake-up whose waker is not known.
 *
 * No call blocks or allocates; all may be made from signal handlers.
 */

struct wakeup_bucket wakeup_buckets[WAKES_BUCKETS];

enum { FOR_ALL = 1, TAKEN = 2 }; /* of a note's state */

void wakeup_note(struct wakeup_bucket *bucket, uint64_t object, enum wakeup_whose whose)
{
    uint32_t number = atomic_fetch_add_explicit(&bucket->next, 1, memory_order_relaxed);
    struct wake *note = &bucket->notes[number % WAKES_KEPT];
    atomic_store_explicit(&note->state, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&note->object, object, memory_order_relaxed);
    atomic_store_explicit(&note->ticks, rbwp_now_ticks(), memory_order_relaxed);
    atomic_store_explicit(&note->thread_id, waiter_thread_id(), memory_order_relaxed);
    atomic_store_explicit(&note->state,
                          4 * ((uint64_t)number + 1) | (whose == WAKES_ALL ? FOR_ALL : 0),
                          memory_order_release);
}

/* A note as it was at one moment. */
struct seen {
    struct wake *note;
    uint64_t state, object, ticks, thread_id;
};

/* False: it is being written. */
static inline bool waiter_look_at(struct wake *note, struct seen *seen)
{
    seen->note = note;
    seen->state = atomic_load_explicit(&note->state, memory_order_acquire);
    seen->object = atomic_load_explicit(&note->object, memory_order_relaxed);
    seen->ticks = atomic_load_explicit(&note->ticks, memory_order_relaxed);
    seen->thread_id = atomic_load_explicit(&note->thread_id, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return seen->state && atomic_load_explicit(&note->state, memory_order_relaxed) == seen->state;
}

/* Of one thread's it is nobody else's after this. */
static inline bool waiter_take(struct seen *seen)
{
    return seen->state & FOR_ALL || atomic_compare_exchange_strong_explicit(
                                        &seen->note->state, &seen->state, seen->state | TAKEN,
                                        memory_order_relaxed, memory_order_relaxed);
}

/* From the newest back to the first that was left before: taken or not, about whatever object, it
 * ends the search. */
bool wakeup_take(struct wakeup_bucket *bucket, uint64_t object, uint64_t since, uint64_t until,
                 enum wakeup_which which, struct wakeup_found *found_out)
{
    uint32_t next = atomic_load_explicit(&bucket->next, memory_order_acquire);
    struct seen seen, best = {0};
    for (uint32_t back = 1; back <= WAKES_KEPT; back++) {
        if (!waiter_look_at(&bucket->notes[(next - back) % WAKES_KEPT], &seen))
            continue;
        if (seen.ticks < since)
            break;
        if (seen.object != object || seen.state & TAKEN || seen.ticks > until)
            continue;
        best = seen;
        if (which == WAKES_LATEST)
            break;
    }
    if (!best.note || !waiter_take(&best))
        return false;
    *found_out = (struct wakeup_found){best.ticks, best.thread_id};
    return true;
}

/* ---- waiter ---------------------------------------------------------------------------------- */

enum { WAITERS_MAX = 4096 };

_Thread_local struct waiter *waiter_mine;
static struct waiter *waiters;        /* WAITERS_MAX, in pages that a child finds wiped */
static _Atomic uint32_t waiters_used; /* no place from here on was ever used */

static const char *const kind_names[WAIT_KINDS] = {
    [WAIT_START] = "start",
    [WAIT_CONDITION] = "condition variable",
    [WAIT_MUTEX] = "mutex",
    [WAIT_RWLOCK] = "rwlock",
    [WAIT_BARRIER] = "barrier",
    [WAIT_SEMAPHORE] = "semaphore",
    [WAIT_FUTEX] = "futex",
    [WAIT_JOIN] = "join",
    [WAIT_SLEEP] = "sleep",
    [WAIT_EPOLL] = "epoll",
    [WAIT_POLL] = "poll",
    [WAIT_SELECT] = "select",
    [WAIT_CHILD] = "child process",
    [WAIT_READ] = "read",
    [WAIT_WRITE] = "write",
    [WAIT_FSYNC] = "fsync",
    [WAIT_ACCEPT] = "accept",
    [WAIT_CONNECT] = "connect",
    [WAIT_SIGNAL] = "signal",
    [WAIT_FILE_LOCK] = "file lock",
    [WAIT_SEMAPHORE_SET] = "semaphore set",
};

static struct {
    unsigned slot; /* of the interval that comes behind such a wait */
    uint64_t name; /* number of the kind's name */
} kinds[WAIT_KINDS];
uint64_t waiter_least_ticks[WAIT_KINDS];
static unsigned table, mpi_table;
static double ns_per_tick;
static uint64_t look_ticks; /* when the only thread is to look at the clock again */

/* ---- once ------------------------------------------------------------------------------------ */

static const struct rbwp_schema schema = KNOWN_SCHEMA(wait);
static const struct rbwp_schema mpi_schema = KNOWN_SCHEMA(mpi_wait);

#define LONG_NS 100000000u /* what takes longer is on record before it is over */

/* A call that looks whether there is something, and one that moves data, may take this long without
 * having waited. Of the others those that need not wait were not begun. */
static uint64_t least_ns(enum wait_kind kind, uint64_t least_io_ns)
{
    if (kind >= WAIT_READ)
        return least_io_ns;
    return kind >= WAIT_SLEEP ? 5000 : 0;
}

static struct waiter *make_places(void)
{
    const size_t bytes = WAITERS_MAX * sizeof *waiters;
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    (void)madvise(made, bytes, MADV_WIPEONFORK);
    return made;
}

/* By another thread, for one that may have gone. */
static bool waiter_show(const void *place, uint64_t thread_id, struct rbwp_extend_wait *wait_out)
{
    const struct waiter *waiter = place;
    const uint32_t kind = atomic_load_explicit(&waiter->kind, memory_order_relaxed);
    if (kind == WAIT_NONE || kind >= WAIT_KINDS ||
        atomic_load_explicit(&waiter->thread_id, memory_order_relaxed) != thread_id)
        return false;
    *wait_out = (struct rbwp_extend_wait){
        .since_ticks = atomic_load_explicit(&waiter->since_ticks, memory_order_relaxed),
        .object = atomic_load_explicit(&waiter->object, memory_order_relaxed),
        .kind = kinds[kind].name,
        .lock = kind == WAIT_MUTEX    ? RBWP_EXTEND_MUTEX
                : kind == WAIT_RWLOCK ? RBWP_EXTEND_RWLOCK
                                      : RBWP_EXTEND_NO_LOCK};
    return true;
}

static bool prepare_kind(enum wait_kind kind, const char *text, uint64_t least_io_ns)
{
    char name[64] = "after ";
    strcpy(name + 6, text);
    waiter_least_ticks[kind] = rbwp_ticks_from_ns(least_ns(kind, least_io_ns));
    return rbwp_work_item_register(name, &kinds[kind].slot) == RBWP_OK &&
           rbwp_name_intern(text, strlen(text), &kinds[kind].name) == RBWP_OK;
}

bool waiter_prepare_mpi(const char *const names[WAIT_MPI_KINDS])
{
    if (rbwp_extend_row_register(&mpi_schema, &mpi_table) != RBWP_OK)
        return false;
    for (unsigned i = 0; i < WAIT_MPI_KINDS; i++)
        if (!prepare_kind((enum wait_kind)(WAIT_MPI + i), names[i], 0))
            return false;
    return true;
}

bool waiter_prepare(uint64_t least_io_ns)
{
    rbwp_extend_ask_seldom();
    rbwp_extend_show_waits(waiter_show, LONG_NS);
    if (!(waiters = make_places()) || rbwp_extend_row_register(&schema, &table) != RBWP_OK)
        return false;
    for (unsigned i = WAIT_START; i < WAIT_KINDS; i++) {
        if (kind_names[i] && !prepare_kind((enum wait_kind)i, kind_names[i], least_io_ns))
            return false;
    }
    return true;
}

/* ---- times of rows ----------------------------------------------------------------------------
 */

void waiter_start_clock(void)
{
    ns_per_tick = 1e9 / (double)rbwp_ticks_per_second();
    look_ticks = 0;
}

void waiter_has_company(void)
{
    look_ticks = UINT64_MAX;
}

/* What is known of the rate by then is good enough for what is short. */
static uint64_t ns_of(uint64_t duration_ticks)
{
    if (__builtin_expect(duration_ticks >> 32 != 0, 0))
        return rbwp_ns_from_ticks(duration_ticks);
    return (uint64_t)((double)(int64_t)duration_ticks * ns_per_tick);
}

/* ---- intervals --------------------------------------------------------------------------------
 */

/* The interval goes on as if it had not ended. False: its end lies in another chunk. */
static bool take_end_back(const struct wait *wait)
{
    struct rbwp_self_ *self = &rbwp_self_;
    bool mine = false;
    if (!wait->item || wait->rest_slot || !rbwp_is_on_(1) || !rbwp_enter_(self, 1))
        return false;
    if (self->next == wait->mark + 1 && !self->item && !self->pending) {
        /* Relaxed: who finds 0 reads no further, and the next event is stored to the same word. */
        __atomic_store_n(wait->mark, (uint64_t)0, __ATOMIC_RELAXED);
        self->next = wait->mark;
        rbwp_set_item_(self, wait->item);
        mine = true;
    }
    rbwp_leave_(self);
    return mine;
}

/* ---- waits --------------------------------------------------------------------------------------
 */

/* By what lies on the stack above all that records. */
static void set_busy(struct waiter *waiter, const void *by)
{
    atomic_store_explicit(&waiter->busy, (uintptr_t)by, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static void set_kind(struct waiter *waiter, enum wait_kind kind)
{
    atomic_store_explicit(&waiter->kind, kind, memory_order_relaxed);
}

static void hold_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static void begin_in_child(struct wait *wait);

/* What a record finds no room for changes more than a jump out of it could leave as it is. */
static __attribute__((noinline, cold)) void put_undisturbed(bool begins, unsigned slot,
                                                            uint64_t ticks)
{
    sigset_t signals;
    hold_signals(&signals);
    if (begins) {
        rbwp_extend_ask_cpu(ticks);
        rbwp_put_begin_(&rbwp_self_, slot, ticks);
    } else {
        rbwp_put_end_(&rbwp_self_, rbwp_limit_of_item_(&rbwp_self_), ticks);
    }
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
}

static inline bool is_plain(const struct rbwp_self_ *self, uint64_t ticks)
{
    return rbwp_has_room_(self, ticks - self->base_ticks) && !self->pending;
}

static inline void begin_stretch(struct rbwp_self_ *self, unsigned slot, uint64_t ticks)
{
    if (__builtin_expect(is_plain(self, ticks) && !self->item && rbwp_extend_stays(ticks), 1))
        rbwp_put_begin_(self, slot, ticks);
    else
        put_undisturbed(true, slot, ticks);
}

/* ran: all the time, as was seen when it was over. False: it may have a row, so that the end cannot
 * be taken back. */
static inline bool end_stretch(uint64_t ticks, bool ran)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!rbwp_is_on_(1) || !self->item || !rbwp_enter_(self, 1))
        return true;
    if (ran)
        rbwp_extend_ran_to(ticks);
    const bool stayed = rbwp_has_stayed_(self);
    if (__builtin_expect(stayed && is_plain(self, ticks), 1))
        rbwp_put_end_(self, rbwp_limit_of_item_(self), ticks);
    else
        put_undisturbed(false, 0, ticks);
    rbwp_leave_(self);
    return stayed;
}

void waiter_end_stretch(struct wait *wait)
{
    struct rbwp_self_ *self = &rbwp_self_;
    set_busy(wait->waiter, wait);
    if (__builtin_expect(!wait->waiter->begun, 0))
        begin_in_child(wait);
    wait->item = self->item;
    wait->mark = self->next;
    wait->ended = true;
    const uint64_t begin = self->item ? *self->item : 0;
    const unsigned slot = (unsigned)(begin >> RBWP_EVENT_KIND_BITS_) & (RBWP_SLOTS_MAX - 1);
    wait->rest_slot = end_stretch(wait->since_ticks, false) || !begin ? 0 : 1 + slot;
    set_busy(wait->waiter, NULL);
}

/* To find it touches less memory than to look the table up. After a sleep that memory is far. */
static _Thread_local struct rbwp_place_ waits_place RBWP_TLS_MODEL_ = ROW_PLACE_NONE;
/* Its times are ticks, as those of the intervals. */
static inline void put_cells(uint64_t *cells, uint64_t thread_id, const struct wait *wait,
                             enum wait_outcome outcome, uint64_t stop_ticks,
                             const struct wakeup_found *waker)
{
    bool is_known = waker->ticks && waker->ticks < stop_ticks;
    cells[0] = wait->since_ticks;
    cells[1] = stop_ticks;
    cells[2] = thread_id;
    cells[3] = kinds[wait->kind].name;
    cells[4] = wait->object;
    cells[5] = waker->thread_id;
    cells[6] = is_known ? ns_of(stop_ticks - waker->ticks) : 0;
    cells[7] = outcome;
}

static void add_mpi_row(uint64_t thread_id, const struct wait *wait, enum wait_outcome outcome,
                        uint64_t stop_ticks)
{
    const uint64_t cells[COLUMNS_mpi_wait] = {
        [AT_mpi_wait_start] = wait->since_ticks,   [AT_mpi_wait_stop] = stop_ticks,
        [AT_mpi_wait_thread] = thread_id,          [AT_mpi_wait_kind] = kinds[wait->kind].name,
        [AT_mpi_wait_peer] = (uint64_t)wait->peer, [AT_mpi_wait_bytes] = wait->bytes,
        [AT_mpi_wait_outcome] = outcome,
    };
    sigset_t signals;
    hold_signals(&signals);
    rbwp_row_add(mpi_table, cells);
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
}

/* The thread's first one of a chunk, those of others, and those of MPI. */
static __attribute__((noinline)) void waiter_add_row(uint64_t thread_id, const struct wait *wait,
                                                     enum wait_outcome outcome, uint64_t stop_ticks,
                                                     const struct wakeup_found *waker)
{
    struct rbwp_self_ *self = &rbwp_self_;
    uint64_t cells[COLUMNS_wait];
    sigset_t signals;
    if (wait_is_mpi(wait->kind)) {
        add_mpi_row(thread_id, wait, outcome, stop_ticks);
        return;
    }
    hold_signals(&signals);
    put_cells(cells, thread_id, wait, outcome, stop_ticks, waker);
    rbwp_row_add(table, cells);
    if (self->thread && rbwp_enter_(self, 1)) {
        row_hold_keep(table, &waits_place, RULE_WATCH_NONE, NULL);
        rbwp_leave_(self);
    }
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
}

/* The only thread does it for the writer's, which there is not. */
static __attribute__((noinline, cold)) void look_at_clock(uint64_t now_ticks)
{
    sigset_t signals;
    hold_signals(&signals);
    rbwp_extend_look_at_clock();
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    look_ticks = now_ticks + rbwp_ticks_per_second();
}

/* The wait is over: its row, and the interval behind it. */
static inline void waiter_report(struct waiter *waiter, const struct wait *wait,
                                 enum wait_outcome outcome, uint64_t stop_ticks,
                                 const struct wakeup_found *waker)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct rbwp_place_ *place = &waits_place;
    const uint64_t thread_id = atomic_load_explicit(&waiter->thread_id, memory_order_relaxed);
    if (!rbwp_enter_(self, 1))
        return;
    if (__builtin_expect(stop_ticks >= look_ticks, 0))
        look_at_clock(stop_ticks);
    begin_stretch(self, kinds[wait->kind].slot, stop_ticks);
    const bool has_room = !wait_is_mpi(wait->kind) && rbwp_place_has_room_(place);
    if (has_room) {
        put_cells(rbwp_place_take_(place, COLUMNS_wait), thread_id, wait, outcome, stop_ticks,
                  waker);
        rbwp_place_count_(place, 1);
    }
    rbwp_leave_(self);
    if (!has_room)
        waiter_add_row(thread_id, wait, outcome, stop_ticks, waker);
}

/* A forked child's session begins with what it records first. */
static __attribute__((noinline, cold)) void begin_in_child(struct wait *wait)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct waiter *waiter = wait->waiter;
    sigset_t signals;
    waiter->begun = true;
    hold_signals(&signals);
    if (rbwp_enter_(self, 1)) {
        wait->since_ticks = rbwp_extend_begin_ticks(wait->since_ticks);
        rbwp_leave_(self);
        atomic_store_explicit(&waiter->since_ticks, wait->since_ticks, memory_order_relaxed);
        const struct wait start = {.kind = WAIT_START, .since_ticks = wait->since_ticks};
        waiter_report(waiter, &start, WAIT_WOKEN, wait->since_ticks, &(struct wakeup_found){0});
    }
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
}

/* It has an end for good, and may have a row that says so (on_cpu.h): the rest is another of its
 * name. */
static bool go_on_anew(const struct wait *wait)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!wait->rest_slot || !rbwp_is_on_(1) || !rbwp_enter_(self, 1))
        return false;
    begin_stretch(self, wait->rest_slot - 1, wait->since_ticks);
    rbwp_leave_(self);
    return true;
}

/* Whether the wait is worth a row; else the interval goes on. What moved data for long and left the
 * thread on its CPU was no wait. */
static bool was_long(struct waiter *waiter, struct wait *wait, uint64_t stop_ticks)
{
    uint64_t bit = UINT64_C(1) << wait->kind;
    const uint64_t least = waiter_least_ticks[wait->kind];
    const bool is_short = stop_ticks - wait->since_ticks < least ||
                          (wait->kind >= WAIT_READ && least && rbwp_extend_ran());
    waiter->short_kinds = is_short ? waiter->short_kinds | bit : waiter->short_kinds & ~bit;
    if (is_short && (!wait->ended || take_end_back(wait) || go_on_anew(wait)))
        return false;
    if (!wait->ended)
        end_stretch(wait->since_ticks, wait->ran);
    return true;
}

enum { LATE_LEAST_NS = 1000000 }; /* less is a timer's slack */

/* When a sleep was to end that ended late; 0: it did not. */
static uint64_t due_ticks(const struct wait *wait, uint64_t stop_ticks)
{
    const int64_t late_ns = (int64_t)ns_of(stop_ticks - wait->since_ticks) - wait->for_ns;
    return wait->for_ns <= 0 || late_ns < LATE_LEAST_NS
               ? 0
               : stop_ticks - (uint64_t)((double)late_ns * (double)rbwp_ticks_per_second() / 1e9);
}

void waiter_ended(struct wait *wait, enum wait_outcome outcome, enum wakeup_which which,
                  uint64_t stop_ticks)
{
    struct waiter *waiter = wait->waiter;
    struct wakeup_found waker = {0};
    if (waiter->kind != wait->kind || waiter->since_ticks != wait->since_ticks)
        return; /* somebody has jumped out of it, as it seemed, or this is a forked child */
    set_busy(waiter, wait);
    set_kind(waiter, WAIT_RUNS);
    if (wait->bucket) {
        wakeup_leave(wait->bucket);
        if (outcome == WAIT_WOKEN)
            (void)wakeup_take(wait->bucket, wait->object, wait->since_ticks, stop_ticks, which,
                              &waker);
    }
    if (wait->kind == WAIT_SLEEP)
        waker.ticks = due_ticks(wait, stop_ticks);
    if (was_long(waiter, wait, stop_ticks))
        waiter_report(waiter, wait, outcome, stop_ticks, &waker);
    set_busy(waiter, NULL);
}

void wait_left(struct wait *wait)
{
    wait_end(wait, WAIT_FAILED);
}

void waiter_jumps(void)
{
    struct waiter *waiter = waiter_mine;
    if (waiter && waiter->busy)
        waiter->jumps = true;
    if (!waiter || waiter->busy || waiter->kind == WAIT_NONE || waiter->kind == WAIT_RUNS)
        return;
    bool is_woken = waiter->kind >= WAIT_CONDITION && waiter->kind <= WAIT_JOIN;
    struct wait wait = {.waiter = waiter,
                        .kind = waiter->kind,
                        .ended = !rbwp_self_.item,
                        .bucket = is_woken ? wakeup_bucket_of(waiter->object) : NULL,
                        .object = waiter->object,
                        .since_ticks = waiter->since_ticks};
    wait_end(&wait, WAIT_FAILED);
}

/* Its recording call will not go on. */
static void leave_recording(struct waiter *waiter)
{
    if (!waiter->busy)
        return;
    rbwp_extend_leave_call();
    waiter->jumps = false;
    set_kind(waiter, WAIT_RUNS);
    set_busy(waiter, NULL);
}

/* Who jumps may stay inside the handler. Whoever is above the interrupted call on its stack has
 * left it; another stack says nothing. */
bool waiter_is_back(struct waiter *waiter, const struct wait *wait)
{
    stack_t stack;
    if (!waiter->busy || !waiter->jumps || (uintptr_t)wait < waiter->busy ||
        sigaltstack(NULL, &stack) != 0 || stack.ss_flags & SS_ONSTACK)
        return false;
    leave_recording(waiter);
    return true;
}

void waiter_tell_waiting(void)
{
    uint64_t now_ticks = rbwp_now_ticks();
    if (waiter_mine)
        leave_recording(waiter_mine); /* a handler that ends the process does not return */
    uint32_t count = atomic_load_explicit(&waiters_used, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        struct waiter *waiter = &waiters[i];
        uint32_t kind = atomic_load_explicit(&waiter->kind, memory_order_relaxed);
        uint64_t thread_id = waiter->thread_id;
        if (!kind || kind >= WAIT_KINDS || !thread_id)
            continue;
        const struct wait wait = {.kind = (enum wait_kind)kind,
                                  .object = waiter->object,
                                  .since_ticks = waiter->since_ticks,
                                  .peer = (int64_t)waiter->object - 1};
        if ((int64_t)(now_ticks - wait.since_ticks) >= 0)
            waiter_add_row(thread_id, &wait, WAIT_GOES_ON, now_ticks, &(struct wakeup_found){0});
    }
}

/* ---- threads -----------------------------------------------------------------------------------
 */

static struct waiter *claim_place(void)
{
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        uint32_t is_free = 0, used = atomic_load_explicit(&waiters_used, memory_order_relaxed);
        if (!atomic_compare_exchange_strong(&waiters[i].used, &is_free, 1))
            continue;
        while (used <= i && !atomic_compare_exchange_weak(&waiters_used, &used, i + 1)) {
        }
        return &waiters[i];
    }
    return NULL;
}

static void take_place(struct waiter *waiter)
{
    waiter->thread = pthread_self();
    atomic_store_explicit(&waiter->thread_id, rbwp_extend_thread(),
                          memory_order_release); /* who renames has both */
    waiter->begun = waiter->jumps = false;
    waiter->short_kinds = waiter->ready_kinds = 0;
    set_kind(waiter, WAIT_RUNS);
    set_busy(waiter, NULL);
    waiter_mine = waiter;
    rbwp_extend_show_wait(waiter);
}

void waiter_attach(const char *name, uint64_t maker, uint64_t made_ticks)
{
    struct waiter *waiter = claim_place();
    int error = errno;
    if (!waiter || rbwp_thread_attach(name) != RBWP_OK) {
        if (waiter)
            atomic_store(&waiter->used, 0);
        return;
    }
    take_place(waiter);
    uint64_t now_ticks = rbwp_now_ticks();
    const struct wait wait = {.kind = WAIT_START,
                              .since_ticks = made_ticks ? made_ticks : now_ticks};
    set_busy(waiter, &wait);
    waiter_report(waiter, &wait, WAIT_WOKEN, now_ticks, &(struct wakeup_found){made_ticks, maker});
    waiter->begun = true;
    set_busy(waiter, NULL);
    errno = error;
}

void waiter_detach(void)
{
    struct waiter *waiter = waiter_mine;
    if (!waiter)
        return;
    leave_recording(waiter);
    waiter_mine = NULL;
    if (waiter->kind != WAIT_NONE)
        rbwp_end();
    set_kind(waiter, WAIT_NONE);
    atomic_store_explicit(&waiter->thread_id, 0, memory_order_relaxed);
    atomic_store(&waiter->used, 0);
}

void waiter_rename(pthread_t thread, const char *name)
{
    uint32_t count = atomic_load_explicit(&waiters_used, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (waiters[i].used && waiters[i].thread_id && pthread_equal(waiters[i].thread, thread))
            (void)rbwp_extend_name_thread(waiters[i].thread_id, name);
}

/* Where the kernel is too old to wipe them. */
static void wipe_places(void)
{
    memset(waiters, 0, atomic_load(&waiters_used) * sizeof *waiters);
    atomic_store(&waiters_used, 0);
}

void waiter_forked(void)
{
    struct waiter *waiter = NULL;
    look_ticks = 0;
    wipe_places();
    if (waiter_mine && rbwp_is_on_(1))
        waiter = claim_place();
    waiter_mine = NULL;
    if (waiter)
        take_place(waiter);
}
