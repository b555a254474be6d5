/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attach and detach block signals: a handler that records in the middle of
 * them would find half an entry. Thread exit detaches through a thread-specific
 * key's destructor.
 */
#include "thread_registry.h"

#include "clock.h"
#include "live.h"
#include "test_point.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

RBWP_TLS_ struct rbwp_self_ rbwp_self_;

/* Guards the list and the entries' fields that say so. Taken inside no other lock but the
 * session's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *first;
static uint64_t last_number;
static bool in_session; /* detached ones are kept, news go to the live file */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static bool have_exit_key;

static void at_thread_exit(void *entry)
{
    (void)entry;
    (void)rbwp_thread_detach();
}

void thread_registry_lock(void)
{
    pthread_mutex_lock(&lock);
}
void thread_registry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
struct thread *thread_registry_first(void)
{
    return first;
}

static void lock_without_signals(sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, old);
    pthread_mutex_lock(&lock);
}

static void unlock_with_signals(const sigset_t *old)
{
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

static void forget_session(struct thread *entry)
{
    entry->records = entry->unwritten = 0;
    entry->floor_ns = 0;
    memset(entry->loss, 0, sizeof entry->loss);
    atomic_store_explicit(&entry->refused, 0, memory_order_relaxed);
}

void thread_forget_calls(struct thread *thread)
{
    thread->chunk = thread->held_first = thread->held_last = NULL;
    thread->nested_items = thread->lost_fine = 0;
    thread->outer_fine = thread->outer_lost_fine = 0;
    thread->lost_item = NO_LOSS;
    thread->kept = false;
    atomic_store_explicit(&thread->waits, false, memory_order_relaxed);
}

/* Frees the entries of detached threads, clears the others. Locked. */
static void forget(void)
{
    for (struct thread **link = &first; *link;) {
        struct thread *entry = *link;
        if (entry->self) {
            forget_session(entry);
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        free(entry->name);
        free(entry);
    }
}

/* ---- the live file. Locked. ------------------------------------------------------------- */

struct __attribute__((packed)) thread_entry {
    uint64_t thread_id, os_id;
    int64_t attached_ns;
};

static void log_thread(const struct thread *thread)
{
    struct thread_entry entry = {thread->thread_id, thread->os_id, thread->attached_monotonic_ns};
    live_log(LIVE_THREAD, &entry, sizeof entry, thread->name, strlen(thread->name));
}

static void log_thread_end(const struct thread *thread)
{
    struct {
        uint64_t thread_id;
        int64_t detached_ns;
    } entry = {thread->thread_id, thread->detached_monotonic_ns};
    live_log(LIVE_THREAD_END, &entry, sizeof entry, NULL, 0);
}

void thread_registry_begin_session(void)
{
    in_session = true;
    for (const struct thread *thread = first; thread; thread = thread->next)
        log_thread(thread);
}

void thread_registry_end_session(void)
{
    in_session = false;
    forget();
}

/* In a forked child only the calling thread is left, with nothing recorded. */
static void forget_in_child(void)
{
    pthread_mutex_init(&lock, NULL); /* whoever held it does not exist here */
    for (struct thread *entry = first; entry; entry = entry->next)
        if (entry->self != &rbwp_self_)
            entry->self = NULL;
    struct thread *mine = rbwp_self_.thread;
    if (mine) {
        uint64_t keep_ticks = rbwp_self_.keep_ticks;
        memset(&rbwp_self_, 0, sizeof rbwp_self_);
        rbwp_self_.keep_ticks = keep_ticks;
        rbwp_self_.thread = mine;
        thread_forget_calls(mine);
        atomic_store_explicit(&mine->chunks, 0, memory_order_relaxed);
        mine->os_id = (uint64_t)syscall(SYS_gettid);
        mine->thread_id = (mine->thread_id >> 32) << 32 | (mine->os_id & UINT32_MAX);
    }
    thread_registry_end_session();
}

static void prepare(void)
{
    have_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
    pthread_atfork(NULL, NULL, forget_in_child);
}

static char *name_for(const char *name, uint64_t os_id)
{
    char automatic[40];
    if (!name) {
        snprintf(automatic, sizeof automatic, "thread %llu", (unsigned long long)os_id);
        name = automatic;
    }
    return strndup(name, RBWP_NAME_BYTES_MAX);
}

enum rbwp_status rbwp_thread_attach(const char *name)
{
    clock_prepare();
    pthread_once(&once, prepare);
    struct rbwp_self_ *self = &rbwp_self_;
    uint64_t os_id = (uint64_t)syscall(SYS_gettid);
    struct thread *entry = self->thread ? NULL : calloc(1, sizeof *entry);
    char *copy = name_for(name, os_id);
    if (!copy || (!entry && !self->thread) || !have_exit_key ||
        (entry && pthread_setspecific(exit_key, entry) != 0)) {
        free(copy);
        free(entry);
        return RBWP_E_MEMORY;
    }
    sigset_t signals;
    lock_without_signals(&signals);
    if (entry) {
        entry->thread_id = ++last_number << 32 | (os_id & UINT32_MAX);
        entry->os_id = os_id;
        entry->attached_monotonic_ns = clock_now_ns(0);
        entry->self = self;
        entry->next = first;
        first = entry;
        memset(self, 0, sizeof *self);
        self->keep_ticks = UINT64_MAX;
        self->thread = entry;
    }
    struct thread *mine = self->thread;
    free(mine->name);
    mine->name = copy;
    if (in_session)
        log_thread(mine);
    unlock_with_signals(&signals);
    return RBWP_OK;
}

enum rbwp_status rbwp_thread_detach(void)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!self->thread)
        return RBWP_E_STATE;
    sigset_t signals;
    lock_without_signals(&signals);
    struct thread *entry = self->thread;
    record_hand_over(entry);
    TEST_POINT("detach: handed over");
    entry->self = NULL;
    entry->detached_monotonic_ns = clock_now_ns(0);
    memset(self, 0, sizeof *self);
    pthread_setspecific(exit_key, NULL);
    if (in_session)
        log_thread_end(entry);
    else
        forget();
    unlock_with_signals(&signals);
    return RBWP_OK;
}
