/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the table is two numbers, so that one comparison of unsigned ones says whether a
 * duration is at least the one and less than their sum. A thread that reads an entry which is being
 * set may find an old number beside a new one: then one item is judged by the slow side that need
 * not be, or as it was a moment ago.
 */
#include "slot_limits.h"

#include "in_process.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Items last less than 2^45 ticks in a chunk, and no clock counts to these. */
#define NEVER_TICKS (UINT64_C(1) << 62)
#define UNLIMITED_TICKS (UINT64_C(1) << 63)

/* Entries are written with the registry locked, and read by threads as long as a slot has limits.
 */
static struct rbwp_slot_limit_ table[RBWP_SLOTS_MAX];
/* Guarded by the registry's lock: what is set, of slots that have limits, and how many have. */
static struct slot_limits set[RBWP_SLOTS_MAX];
static bool has_limits[RBWP_SLOTS_MAX];
static _Atomic unsigned slots_with_limits;
static _Atomic bool ever;

static slot_limits_ring_fn _Atomic ringer;
static _Atomic uint64_t left_out[RBWP_SLOTS_MAX]; /* of threads that ended or have no counts */

static const struct slot_limits no_limits = {.alarm_ns = SLOT_LIMITS_NONE};

static uint64_t ticks_of(uint64_t ns)
{
    uint64_t ticks = rbwp_ticks_from_ns(ns);
    return ticks < NEVER_TICKS ? ticks : NEVER_TICKS;
}

static void slot_limits_enter(unsigned slot, const struct slot_limits *limits)
{
    uint64_t least = limits->disabled ? NEVER_TICKS : ticks_of(limits->least_ns);
    uint64_t alarm =
        limits->alarm_ns == SLOT_LIMITS_NONE ? UNLIMITED_TICKS : ticks_of(limits->alarm_ns);
    uint64_t span = alarm > least ? alarm - least : 0;
    __atomic_store_n(&table[slot].least_ticks, least, __ATOMIC_RELAXED);
    __atomic_store_n(&table[slot].span_ticks, span, __ATOMIC_RELAXED);
}

const struct rbwp_slot_limit_ *slot_limits_table(void)
{
    return atomic_load_explicit(&slots_with_limits, memory_order_relaxed) ? table : NULL;
}

/* All threads look into the table, or none does. Those that read an old pointer for a moment find
 * entries that are good at any time. */
static void tell_threads(void)
{
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        if (thread->self)
            __atomic_store_n(&thread->self->limits, slot_limits_table(), __ATOMIC_RELEASE);
}

static void enter_all_unlimited(void)
{
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        slot_limits_enter(slot, &no_limits);
}

static bool is_limited(const struct slot_limits *limits)
{
    return limits->disabled || limits->least_ns > 0 || limits->alarm_ns != SLOT_LIMITS_NONE;
}

/* Both with the registry locked. */
static struct slot_limits limits_now(unsigned slot)
{
    return has_limits[slot] ? set[slot] : no_limits;
}

static void apply_limits(unsigned slot, const struct slot_limits *limits)
{
    unsigned before = atomic_load_explicit(&slots_with_limits, memory_order_relaxed);
    unsigned now = before - has_limits[slot] + is_limited(limits);
    if (before == 0 && now == 0)
        return;
    if (before == 0)
        enter_all_unlimited();
    atomic_store_explicit(&ever, true, memory_order_relaxed);
    set[slot] = *limits;
    has_limits[slot] = is_limited(limits);
    slot_limits_enter(slot, limits);
    atomic_store_explicit(&slots_with_limits, now, memory_order_relaxed);
    if ((before == 0) != (now == 0))
        tell_threads();
}

bool slot_limits_ever(void)
{
    return atomic_load_explicit(&ever, memory_order_relaxed);
}

struct slot_limits slot_limits_of(unsigned slot)
{
    thread_registry_lock();
    struct slot_limits limits = limits_now(slot);
    thread_registry_unlock();
    return limits;
}

#define SETS_LIMIT(of, type, member)                                                               \
    void slot_limits_set_##of(unsigned slot, type member)                                          \
    {                                                                                              \
        thread_registry_lock();                                                                    \
        struct slot_limits limits = limits_now(slot);                                              \
        limits.member = member;                                                                    \
        apply_limits(slot, &limits);                                                               \
        thread_registry_unlock();                                                                  \
    }
SETS_LIMIT(least, uint64_t, least_ns)
SETS_LIMIT(disabled, bool, disabled)
SETS_LIMIT(alarm, uint64_t, alarm_ns)

void slot_limits_clear(unsigned slot)
{
    if (!slot_limits_table())
        return;
    thread_registry_lock();
    apply_limits(slot, &no_limits);
    thread_registry_unlock();
}

void slot_limits_on_alarm(slot_limits_ring_fn ring)
{
    atomic_store_explicit(&ringer, ring, memory_order_release);
}

/* ---- an end ------------------------------------------------------------------------------ */

static uint64_t least_of(unsigned slot)
{
    return __atomic_load_n(&table[slot].least_ticks, __ATOMIC_RELAXED);
}

bool slot_limits_is_brief(unsigned slot, uint64_t duration_ticks)
{
    return slot_limits_table() && duration_ticks < least_of(slot);
}

void slot_limits_ring(unsigned slot, uint64_t begin_ticks, uint64_t end_ticks)
{
    if (!slot_limits_table())
        return;
    uint64_t beyond = end_ticks - begin_ticks - least_of(slot);
    if (end_ticks < begin_ticks || beyond >= UNLIMITED_TICKS ||
        beyond < __atomic_load_n(&table[slot].span_ticks, __ATOMIC_RELAXED))
        return;
    slot_limits_ring_fn ring = atomic_load_explicit(&ringer, memory_order_acquire);
    if (ring)
        ring(slot, begin_ticks, end_ticks);
}

/* ---- what was dropped --------------------------------------------------------------------- */

/* A thread that has something to count gets its counts once: no cache line that others write. */
static _Atomic uint64_t *counts_of(struct thread *thread)
{
    _Atomic uint64_t *counts = atomic_load_explicit(&thread->left_out, memory_order_relaxed);
    if (counts)
        return counts;
    counts = calloc(RBWP_SLOTS_MAX, sizeof *counts);
    atomic_store_explicit(&thread->left_out, counts, memory_order_release);
    return counts;
}

void slot_limits_count(struct thread *thread, unsigned slot)
{
    _Atomic uint64_t *counts = counts_of(thread);
    if (!counts) {
        atomic_fetch_add_explicit(&left_out[slot], 1, memory_order_relaxed);
        return;
    }
    uint64_t count = atomic_load_explicit(&counts[slot], memory_order_relaxed);
    atomic_store_explicit(&counts[slot], count + 1, memory_order_relaxed);
}

static uint64_t count_of(struct thread *thread, unsigned slot)
{
    /* acquire: pairs with their making; they are all 0 then */
    _Atomic uint64_t *counts = atomic_load_explicit(&thread->left_out, memory_order_acquire);
    return counts ? atomic_load_explicit(&counts[slot], memory_order_relaxed) : 0;
}

uint64_t slot_limits_left_out(unsigned slot)
{
    uint64_t sum = atomic_load_explicit(&left_out[slot], memory_order_relaxed);
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        sum += count_of(thread, slot);
    return sum;
}

void slot_limits_forget(struct thread *thread)
{
    _Atomic uint64_t *counts = atomic_load_explicit(&thread->left_out, memory_order_relaxed);
    for (unsigned slot = 0; counts && slot < RBWP_SLOTS_MAX; slot++)
        atomic_store_explicit(&counts[slot], 0, memory_order_relaxed);
}

void slot_limits_take_over(struct thread *thread)
{
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++) {
        uint64_t count = count_of(thread, slot);
        if (count)
            atomic_fetch_add_explicit(&left_out[slot], count, memory_order_relaxed);
    }
    free(atomic_exchange_explicit(&thread->left_out, NULL, memory_order_relaxed));
}

void slot_limits_forget_all(void)
{
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        atomic_store_explicit(&left_out[slot], 0, memory_order_relaxed);
}

/* ---- limits for slots that are not there yet ------------------------------------------------- */

struct wish {
    char *name;
    enum slot_wish wish;
    uint64_t least_ns;
};

/* Guards the list. slot_limits' calls are made inside it. */
static pthread_mutex_t slot_limits_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wish wishes[SLOT_WISHES_MAX];
static _Atomic unsigned count; /* read without the lock as well: mostly there are none */

static void slot_limits_forget_in_child(void)
{
    pthread_mutex_init(&slot_limits_lock, NULL);
}

ON_FORK(6, NULL, NULL, slot_limits_forget_in_child)

bool slot_wishes_add(const char *name, enum slot_wish wish, uint64_t least_ns)
{
    char *copy = strdup(name);
    pthread_mutex_lock(&slot_limits_lock);
    bool added = copy && count < SLOT_WISHES_MAX;
    if (added)
        wishes[count++] = (struct wish){copy, wish, least_ns};
    pthread_mutex_unlock(&slot_limits_lock);
    if (!added)
        free(copy);
    return added;
}

void slot_wishes_lift(void (*lift)(const char *name, enum slot_wish wish))
{
    pthread_mutex_lock(&slot_limits_lock);
    while (count > 0) {
        const struct wish *last = &wishes[--count];
        if (lift)
            lift(last->name, last->wish);
        free(last->name);
    }
    pthread_mutex_unlock(&slot_limits_lock);
}

void slot_wishes_forget(void)
{
    slot_wishes_lift(NULL);
}

void slot_wishes_named(unsigned slot, const char *name)
{
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&slot_limits_lock);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(wishes[i].name, name) == 0) {
            if (wishes[i].wish == SLOT_WISH_LEAST)
                slot_limits_set_least(slot, wishes[i].least_ns);
            else
                slot_limits_set_disabled(slot, wishes[i].wish == SLOT_WISH_DISABLED);
        }
    pthread_mutex_unlock(&slot_limits_lock);
}
