/* SPDX-License-Identifier: Apache-2.0 */
#include "waiter.h"

#include "record_extend.h"
#include "rbwp_rows.h"

#include <errno.h>
#include <string.h>

enum { WAITERS_MAX = 4096 };
#define CLOCK_GOOD_NS 10000000 /* so long a thread takes its clock to be right */

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
static struct waiter_clock first_clock;

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
    if (rbwp_table_register(&schema, &table) != RBWP_OK)
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

/* Both clocks are read again: as close to each other as a few tries get them. */
static void set_clock(struct waiter_clock *clock)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 4 && least > 2000; i++) {
        uint64_t before = rbwp_now_ticks();
        int64_t ns = rbwp_now_ns();
        uint64_t passed = rbwp_now_ticks() - before;
        if (passed >= least)
            continue;
        least = passed;
        clock->ticks = before + passed / 2;
        clock->ns = ns;
    }
    int64_t since_ns = clock->ns - first_clock.ns;
    clock->ns_per_tick = first_clock.ns_per_tick;
    if (since_ns > CLOCK_GOOD_NS)
        clock->ns_per_tick = (double)since_ns / (double)(clock->ticks - first_clock.ticks);
}

void waiter_start_clock(void)
{
    first_clock.ns_per_tick = 1e9 / (double)rbwp_ticks_per_second();
    set_clock(&first_clock);
}

static int64_t line_ns(const struct waiter_clock *clock, uint64_t ticks)
{
    return clock->ns + (int64_t)((double)(int64_t)(ticks - clock->ticks) * clock->ns_per_tick);
}

/* Of a moment that has just been. */
static int64_t time_of(struct waiter *waiter, uint64_t ticks)
{
    int64_t ns = line_ns(&waiter->clock, ticks);
    if (ns - waiter->clock.ns < CLOCK_GOOD_NS)
        return ns;
    set_clock(&waiter->clock);
    return line_ns(&waiter->clock, ticks);
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

static void add_row(struct waiter *waiter, enum wait_kind kind, const struct wait *wait,
                    enum wait_outcome outcome, uint64_t stop_ticks, const struct wakes_found *waker)
{
    int64_t stop_ns = time_of(waiter, stop_ticks);
    int64_t start_ns = line_ns(&waiter->clock, wait->since_ticks);
    int64_t signal_ns = waker->ticks ? line_ns(&waiter->clock, waker->ticks) : stop_ns;
    const uint64_t cells[] = {(uint64_t)start_ns,
                              (uint64_t)stop_ns,
                              atomic_load_explicit(&waiter->thread_id, memory_order_relaxed),
                              kinds[kind].name,
                              wait->object,
                              waker->thread_id,
                              signal_ns < stop_ns ? (uint64_t)(stop_ns - signal_ns) : 0,
                              outcome};
    rbwp_row_add(table, cells);
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
    if (was_long(waiter, wait, stop_ticks)) {
        rbwp_begin_at(kinds[wait->kind].slot, stop_ticks);
        add_row(waiter, wait->kind, wait, outcome, stop_ticks, &waker);
    }
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
        struct waiter *waiter = &waiters[i], here = {.used = 1};
        uint32_t kind = atomic_load_explicit(&waiter->kind, memory_order_relaxed);
        here.thread_id = waiter->thread_id;
        if (!kind || kind >= WAIT_KINDS || !here.thread_id)
            continue;
        const struct wait wait = {.object = waiter->object, .since_ticks = waiter->since_ticks};
        set_clock(&here.clock);
        if ((int64_t)(now_ticks - wait.since_ticks) >= 0)
            add_row(&here, (enum wait_kind)kind, &wait, WAIT_GOES_ON, now_ticks,
                    &(struct wakes_found){0});
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
    set_clock(&waiter->clock);
    waiter_mine = waiter;
    uint64_t now_ticks = rbwp_now_ticks();
    rbwp_begin_at(kinds[WAIT_START].slot, now_ticks);
    const struct wait wait = {.since_ticks = made_ticks ? made_ticks : now_ticks};
    add_row(waiter, WAIT_START, &wait, WAIT_WOKEN, now_ticks,
            &(struct wakes_found){made_ticks, maker});
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
