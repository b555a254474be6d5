/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.c - how recording ends, on one thread and on all. The other half of the handshake is
 * rbwp_enter_ (rbwp_record.h).
 */
#include "recording.h"

#include "chunk_line.h"
#include "clock.h"
#include "drain.h"
#include "on_cpu.h"
#include "record_extend.h"
#include "rows.h"
#include "test_point.h"
#include "thread_rows.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void recording_hand_over(struct thread *thread)
{
    struct rbwp_self_ *self = thread->self;
    if (!recording_now || !self)
        return;
    chunk_line_hand_over(self, thread);
    rows_hand_over(thread);
    drain_count_discarded(recording_now->drain, self->discarded);
    thread_forget_calls(thread);
    on_cpu_stop(self, thread);
    self->next = self->limit = NULL;
    rbwp_set_item_(self, NULL);
    self->pending = 0;
    self->discarded = 0;
}

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void recording_prepare_end(void)
{
    (void)membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/* Every CPU has seen the cleared level when this returns. */
static void fence_all_cpus(void)
{
    static const struct timespec store_buffers_drain = {0, 20 * 1000 * 1000};
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
        (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
         membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)))
        return;
    /* No such call here (an old kernel, a sandbox): a store leaves its CPU within microseconds. */
    nanosleep(&store_buffers_drain, NULL);
}

/* False if the thread does not leave the call that it is in. At the cap, the writer releases it.
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

/* Clears the level and waits until no recording call is under way. A thread that stays in one is
 * returned, and the level as it was. */
static const struct thread *hold_all(int *level_out)
{
    int level = __atomic_exchange_n(&rbwp_level_, 0, __ATOMIC_SEQ_CST);
    TEST_POINT("recording end: level cleared");
    fence_all_cpus();
    *level_out = level;
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        if (thread->self && !call_ends(thread)) {
            __atomic_store_n(&rbwp_level_, level, __ATOMIC_SEQ_CST);
            return thread;
        }
    return NULL;
}

static void hand_over_all(void)
{
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        if (thread->self)
            recording_hand_over(thread);
    rows_hand_over_strays();
}

/* The fence: a thread that has looked for rules before it has also stored its room by then, and
 * that is taken away here. */
void recording_slow_rows(enum rule_watch watch)
{
    sigset_t all, old;
    fence_all_cpus();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    thread_registry_lock();
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        thread_rows_slow(thread, watch);
    thread_registry_unlock();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static rbwp_extend_until_fn *until;

static uint64_t to_the_end(uint64_t thread_id, uint64_t now_ticks)
{
    (void)thread_id;
    return now_ticks;
}

void rbwp_extend_end_items(rbwp_extend_until_fn *until_of)
{
    until = until_of ? until_of : to_the_end;
}

static void change_all(int before, int level, rbwp_extend_until_fn *until_of)
{
    const uint64_t now_ticks = rbwp_now_ticks();
    for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
        if (thread->self)
            recorder_change_level(thread, before, level, until_of(thread->thread_id, now_ticks));
}

const struct thread *recording_end(void)
{
    int level;
    const struct thread *stuck = hold_all(&level);
    if (stuck)
        return stuck;
    if (until)
        change_all(level, 0, until);
    hand_over_all();
    return NULL;
}

const struct thread *recording_set_level(int level)
{
    int before = __atomic_load_n(&rbwp_level_, __ATOMIC_RELAXED);
    if (before == 1 && level == 2) { /* items go on: nothing has to stand still */
        for (struct thread *thread = thread_registry_first(); thread; thread = thread->next)
            if (thread->self)
                recorder_raise_level(thread);
        __atomic_store_n(&rbwp_level_, level, __ATOMIC_SEQ_CST);
        return NULL;
    }
    const struct thread *stuck = hold_all(&before);
    if (stuck)
        return stuck;
    change_all(before, level, to_the_end);
    if (level == 0)
        hand_over_all();
    __atomic_store_n(&rbwp_level_, level, __ATOMIC_SEQ_CST);
    return NULL;
}
