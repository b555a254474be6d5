/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_attach.c - a thread joins those that record, and leaves them.
 *
 * Both block signals: a handler that records in the middle of them would find
 * half an entry. Thread exit detaches through a thread-specific key's destructor.
 */
#include "clock.h"
#include "live.h"
#include "on_cpu.h"
#include "record_extend.h"
#include "recording.h"
#include "slot_limits.h"
#include "test_point.h"
#include "thread_rows.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_once_t thread_attach_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_attach_exit_key;
static bool have_exit_key;

static void thread_attach_at_thread_exit(void *entry)
{
    (void)entry;
    (void)rbwp_thread_detach();
}

static void thread_attach_prepare(void)
{
    have_exit_key = pthread_key_create(&thread_attach_exit_key, thread_attach_at_thread_exit) == 0;
}

static void lock_without_signals(sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, old);
    thread_registry_lock();
}

static void unlock_with_signals(const sigset_t *old)
{
    thread_registry_unlock();
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

static char *name_for(const char *name, uint64_t os_id)
{
    char *automatic;
    if (name)
        return strndup(name, RBWP_NAME_BYTES_MAX);
    /* No strndup of a local array: with a bound beyond its end gcc 12 may drop what is in it. */
    return asprintf(&automatic, "thread %llu", (unsigned long long)os_id) < 0 ? NULL : automatic;
}

static void thread_attach_join(struct rbwp_self_ *self, struct thread *entry, uint64_t os_id)
{
    entry->os_id = os_id;
    entry->self = self;
    thread_registry_add(entry);
    *self = (struct rbwp_self_){.keep_ticks = UINT64_MAX,
                                .limits = slot_limits_table(),
                                .thread = entry,
                                .seat = &rbwp_seat_none_,
                                .seated = SEATED_ASK,
                                .long_ticks = UINT64_MAX};
    on_cpu_attach(entry);
}

enum rbwp_status rbwp_thread_attach(const char *name)
{
    clock_prepare();
    on_cpu_prepare();
    pthread_once(&thread_attach_once, thread_attach_prepare);
    struct rbwp_self_ *self = &rbwp_self_;
    uint64_t os_id = (uint64_t)syscall(SYS_gettid);
    struct thread *entry = self->thread ? NULL : calloc(1, sizeof *entry);
    char *copy = name_for(name, os_id);
    if (!copy || (!entry && !self->thread) || !have_exit_key ||
        (entry && pthread_setspecific(thread_attach_exit_key, entry) != 0)) {
        free(copy);
        free(entry);
        return RBWP_E_MEMORY;
    }
    sigset_t signals;
    lock_without_signals(&signals);
    if (entry)
        thread_attach_join(self, entry, os_id);
    thread_registry_name(self->thread, copy);
    unlock_with_signals(&signals);
    live_relog_if_due();
    return RBWP_OK;
}

static struct thread *find_attached(uint64_t thread_id)
{
    struct thread *entry = thread_registry_first();
    while (entry && entry->thread_id != thread_id)
        entry = entry->next;
    return entry;
}

enum rbwp_status rbwp_extend_name_thread(uint64_t thread_id, const char *name)
{
    char *copy = name_for(name, 0);
    sigset_t signals;
    if (!copy)
        return RBWP_E_MEMORY;
    lock_without_signals(&signals);
    struct thread *entry = find_attached(thread_id);
    if (entry)
        thread_registry_name(entry, copy);
    unlock_with_signals(&signals);
    if (!entry)
        free(copy);
    live_relog_if_due();
    return entry ? RBWP_OK : RBWP_E_STATE;
}

enum rbwp_status rbwp_thread_detach(void)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!self->thread)
        return RBWP_E_STATE;
    sigset_t signals;
    lock_without_signals(&signals);
    struct thread *entry = self->thread;
    recording_hand_over(entry);
    TEST_POINT("detach: handed over");
    *self = (struct rbwp_self_)SELF_NONE;
    on_cpu_detach(entry);
    thread_rows_hide(entry);
    pthread_setspecific(thread_attach_exit_key, NULL);
    thread_registry_remove(entry);
    unlock_with_signals(&signals);
    live_relog_if_due();
    return RBWP_OK;
}
