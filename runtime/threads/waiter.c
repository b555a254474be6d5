/* SPDX-License-Identifier: Apache-2.0 */
#include "waiter.h"

#include "record_extend.h"
#include "rbwp_rows.h"
#include "row_hold.h"

#include <errno.h>
#include <string.h>

enum { WAITERS_MAX = 4096 };

_Thread_local struct waiter *waiter_mine;
static struct waiter waiters[WAITERS_MAX];
static _Atomic uint32_t waiters_used; /* no place from here on was ever used */

static const char *const kind_names[WAIT_KINDS] = {
    [WAIT_START] = "start",         [WAIT_CONDITION] = "condition variable",
    [WAIT_MUTEX] = "mutex",         [WAIT_RWLOCK] = "rwlock",
    [WAIT_BARRIER] = "barrier",     [WAIT_SEMAPHORE] = "semaphore",
    [WAIT_FUTEX] = "futex",         [WAIT_JOIN] = "join",
    [WAIT_SLEEP] = "sleep",         [WAIT_EPOLL] = "epoll",
    [WAIT_POLL] = "poll",           [WAIT_SELECT] = "select",
    [WAIT_CHILD] = "child process", [WAIT_READ] = "read",
    [WAIT_WRITE] = "write",         [WAIT_FSYNC] = "fsync",
    [WAIT_ACCEPT] = "accept",       [WAIT_CONNECT] = "connect",
};

static struct {
    unsigned slot; /* of the stretch that comes behind such a wait */
    uint64_t name; /* number of the kind's name */
} kinds[WAIT_KINDS];
uint64_t waiter_least_ticks[WAIT_KINDS];
static unsigned table;
static double ns_per_tick;

/* ---- once ------------------------------------------------------------------------------------ */

static const struct rbwp_column columns[] = {
    RBWP_COLUMN(TIME, START, "start", ""),      RBWP_COLUMN(TIME, STOP, "stop", ""),
    RBWP_COLUMN(U64, THREAD, "thread", ""),     RBWP_COLUMN(NAME, LABEL, "kind", ""),
    RBWP_COLUMN(U64, NONE, "object", ""),       RBWP_COLUMN(U64, NONE, "waker", ""),
    RBWP_COLUMN(DURATION, NONE, "delay", "ns"), RBWP_COLUMN(U64, NONE, "outcome", ""),
};
static const struct rbwp_schema schema = RBWP_SCHEMA("wait", 1, columns);

/* A call that looks whether there is something, and one that moves data, may take this long without
 * having waited. Of the others those that need not wait were not begun. */
static uint64_t least_ns(enum wait_kind kind, uint64_t least_io_ns)
{
    if (kind >= WAIT_READ)
        return least_io_ns;
    return kind >= WAIT_SLEEP ? 5000 : 0;
}

bool waiter_prepare(uint64_t least_io_ns)
{
    char name[64] = "after ";
    if (row_hold_register(&schema, &table) != RBWP_OK)
        return false;
    for (unsigned i = WAIT_START; i < WAIT_KINDS; i++) {
        strcpy(name + 6, kind_names[i]);
        if (rbwp_work_item_register(name, &kinds[i].slot) != RBWP_OK ||
            rbwp_name_intern(kind_names[i], strlen(kind_names[i]), &kinds[i].name) != RBWP_OK)
            return false;
        waiter_least_ticks[i] = rbwp_ticks_from_ns(least_ns((enum wait_kind)i, least_io_ns));
    }
    return true;
}

/* ---- times of rows ----------------------------------------------------------------------------
 */

void waiter_start_clock(void)
{
    ns_per_tick = 1e9 / (double)rbwp_ticks_per_second();
}

/* What is known of the rate by then is good enough for what is short. */
static uint64_t ns_of(uint64_t duration_ticks)
{
    if (__builtin_expect(duration_ticks >> 32 != 0, 0))
        return rbwp_ns_from_ticks(duration_ticks);
    return (uint64_t)((double)(int64_t)duration_ticks * ns_per_tick);
}

/* ---- stretches --------------------------------------------------------------------------------
 */

/* The stretch goes on as if it had not ended. False: its end lies in another chunk. */
static bool take_end_back(const struct wait *wait)
{
    struct rbwp_self_ *self = &rbwp_self_;
    bool mine = false;
    if (!wait->item || !rbwp_is_on_(1) || !rbwp_enter_(self, 1))
        return false;
    if (self->next == wait->mark + 1 && !self->item && !self->pending) {
        __atomic_store_n(wait->mark, (uint64_t)0, __ATOMIC_RELEASE);
        self->next = wait->mark;
        self->item = wait->item;
        mine = true;
    }
    rbwp_leave_(self);
    return mine;
}

/* ---- waits --------------------------------------------------------------------------------------
 */

static void set_busy(struct waiter *waiter, bool busy)
{
    atomic_store_explicit(&waiter->busy, busy, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static void set_kind(struct waiter *waiter, enum wait_kind kind)
{
    atomic_store_explicit(&waiter->kind, kind, memory_order_relaxed);
}

void waiter_end_stretch(struct wait *wait)
{
    struct rbwp_self_ *self = &rbwp_self_;
    set_busy(wait->waiter, true);
    wait->item = self->item;
    wait->mark = self->next;
    wait->ended = true;
    rbwp_end_at(wait->since_ticks);
    set_busy(wait->waiter, false);
}

/* Nothing else of this library has rows that inlined calls write: a wait's row goes where they
 * would find it, which touches less memory than to look it up. After a sleep that memory is far. */
#define WAITS_PLACE RBWP_PLACE_QUEUED_
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* Its times are ticks, as those of the stretches. */
static inline void put_cells(uint64_t *cells, uint64_t thread_id, const struct wait *wait,
                             enum wait_outcome outcome, uint64_t stop_ticks,
                             const struct wakes_found *waker)
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

/* The thread's first one of a chunk, and those of others. */
static __attribute__((noinline)) void add_row(uint64_t thread_id, const struct wait *wait,
                                              enum wait_outcome outcome, uint64_t stop_ticks,
                                              const struct wakes_found *waker)
{
    struct rbwp_self_ *self = &rbwp_self_;
    uint64_t cells[COLUMNS];
    put_cells(cells, thread_id, wait, outcome, stop_ticks, waker);
    rbwp_row_add(table, cells);
    if (!self->thread || !rbwp_enter_(self, 1))
        return;
    row_hold_keep(table, WAITS_PLACE, NULL);
    rbwp_leave_(self);
}

/* The wait is over: its row, and the stretch behind it. */
static inline void tell(struct waiter *waiter, const struct wait *wait, enum wait_outcome outcome,
                        uint64_t stop_ticks, const struct wakes_found *waker)
{
    struct rbwp_self_ *self = &rbwp_self_;
    struct rbwp_place_ *place = &rbwp_own_places_.place[WAITS_PLACE];
    const uint64_t thread_id = atomic_load_explicit(&waiter->thread_id, memory_order_relaxed);
    if (!rbwp_enter_(self, 1))
        return;
    rbwp_put_begin_(self, kinds[wait->kind].slot, stop_ticks);
    const bool has_room = rbwp_place_has_room_(place);
    if (has_room) {
        put_cells(rbwp_place_take_(place, COLUMNS), thread_id, wait, outcome, stop_ticks, waker);
        rbwp_place_count_(place, 1);
    }
    rbwp_leave_(self);
    if (!has_room)
        add_row(thread_id, wait, outcome, stop_ticks, waker);
}

/* Whether the wait is worth telling; else the stretch goes on. */
static bool was_long(struct waiter *waiter, struct wait *wait, uint64_t stop_ticks)
{
    uint32_t bit = UINT32_C(1) << wait->kind;
    bool is_short = stop_ticks - wait->since_ticks < waiter_least_ticks[wait->kind];
    waiter->short_kinds = is_short ? waiter->short_kinds | bit : waiter->short_kinds & ~bit;
    if (is_short && (!wait->ended || take_end_back(wait)))
        return false;
    if (!wait->ended)
        rbwp_end_at(wait->since_ticks);
    return true;
}

void waiter_ended(struct wait *wait, enum wait_outcome outcome, enum wakes_which which,
                  uint64_t stop_ticks)
{
    struct waiter *waiter = wait->waiter;
    struct wakes_found waker = {0};
    if (waiter->kind == WAIT_NONE || waiter->since_ticks != wait->since_ticks)
        return; /* somebody has jumped out of it, as it seemed */
    set_busy(waiter, true);
    set_kind(waiter, WAIT_NONE);
    if (wait->bucket) {
        wakes_leave(wait->bucket);
        if (outcome == WAIT_WOKEN)
            (void)wakes_take(wait->bucket, wait->object, wait->since_ticks, stop_ticks, which,
                             &waker);
    }
    if (was_long(waiter, wait, stop_ticks))
        tell(waiter, wait, outcome, stop_ticks, &waker);
    set_busy(waiter, false);
}

void wait_left(struct wait *wait)
{
    wait_end(wait, WAIT_FAILED);
}

void waiter_jumps(void)
{
    struct waiter *waiter = waiter_mine;
    if (!waiter || waiter->busy || waiter->kind == WAIT_NONE)
        return;
    bool is_woken = waiter->kind >= WAIT_CONDITION && waiter->kind <= WAIT_JOIN;
    struct wait wait = {.waiter = waiter,
                        .kind = waiter->kind,
                        .ended = !rbwp_self_.item,
                        .bucket = is_woken ? wakes_bucket_of(waiter->object) : NULL,
                        .object = waiter->object,
                        .since_ticks = waiter->since_ticks};
    wait_end(&wait, WAIT_FAILED);
}

void waiter_tell_waiting(void)
{
    uint64_t now_ticks = rbwp_now_ticks();
    if (waiter_mine && !waiter_mine->kind)
        rbwp_end_at(now_ticks);
    uint32_t count = atomic_load_explicit(&waiters_used, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        struct waiter *waiter = &waiters[i];
        uint32_t kind = atomic_load_explicit(&waiter->kind, memory_order_relaxed);
        uint64_t thread_id = waiter->thread_id;
        if (!kind || kind >= WAIT_KINDS || !thread_id)
            continue;
        const struct wait wait = {.kind = (enum wait_kind)kind,
                                  .object = waiter->object,
                                  .since_ticks = waiter->since_ticks};
        if ((int64_t)(now_ticks - wait.since_ticks) >= 0)
            add_row(thread_id, &wait, WAIT_GOES_ON, now_ticks, &(struct wakes_found){0});
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

void waiter_attach(const char *name, uint64_t maker, uint64_t made_ticks)
{
    struct waiter *waiter = claim_place();
    int error = errno;
    if (!waiter || rbwp_thread_attach(name) != RBWP_OK) {
        if (waiter)
            atomic_store(&waiter->used, 0);
        return;
    }
    atomic_store_explicit(&waiter->thread_id, rbwp_extend_thread(), memory_order_relaxed);
    waiter->thread = pthread_self();
    set_kind(waiter, WAIT_NONE);
    set_busy(waiter, true);
    waiter_mine = waiter;
    uint64_t now_ticks = rbwp_now_ticks();
    const struct wait wait = {.kind = WAIT_START,
                              .since_ticks = made_ticks ? made_ticks : now_ticks};
    tell(waiter, &wait, WAIT_WOKEN, now_ticks, &(struct wakes_found){made_ticks, maker});
    set_busy(waiter, false);
    errno = error;
}

void waiter_detach(void)
{
    struct waiter *waiter = waiter_mine;
    if (!waiter)
        return;
    waiter_mine = NULL;
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

void waiter_forget(void)
{
    waiter_mine = NULL;
}
