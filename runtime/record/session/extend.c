/* SPDX-License-Identifier: Apache-2.0 */
/* extend.c - hooks, known to the whole process. */
#include "extend.h"

#include "drain.h"
#include "in_process.h"
#include "helper_thread.h"
#include "recording.h"
#include "running.h"

#include <errno.h>
#include <pthread.h>

const struct session_control *_Atomic session_control;

static pthread_mutex_t extend_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below; innermost */
static rbwp_extend_hook_fn hooks[RBWP_EXTEND_HOOKS_MAX];
static unsigned hook_count;

/* A fork waits for who holds the lock, so that the child finds it free. It is innermost, and its
 * handler before a fork is the last to be called: those run in the reverse order of their
 * registration. */
static void lock_before_fork(void)
{
    pthread_mutex_lock(&extend_lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&extend_lock);
}

ON_FORK(0, lock_before_fork, unlock_after_fork, unlock_after_fork)

enum rbwp_status rbwp_extend_at_end(rbwp_extend_hook_fn hook)
{
    enum rbwp_status status = RBWP_OK;
    pthread_mutex_lock(&extend_lock);
    unsigned i = 0;
    while (i < hook_count && hooks[i] != hook)
        i++;
    if (i == RBWP_EXTEND_HOOKS_MAX)
        status = RBWP_E_LIMIT;
    else if (i == hook_count)
        hooks[hook_count++] = hook;
    pthread_mutex_unlock(&extend_lock);
    return status;
}

void extend_tell(enum rbwp_extend_moment moment)
{
    pthread_mutex_lock(&extend_lock);
    unsigned count = hook_count; /* hooks are never taken out */
    pthread_mutex_unlock(&extend_lock);
    for (unsigned i = 0; i < count; i++)
        hooks[i](moment);
}

/* ---- threads of our own ---------------------------------------------------------- */

void rbwp_extend_begin_threads(const struct rbwp_session_config *config)
{
    struct rbwp_error error;
    const int host_errno = errno, host_cancel = cancel_hold();
    helper_threads_begin();
    if (session_control)
        (void)session_control->begin(config, &error); /* else recording goes on without */
    cancel_release(host_cancel);
    errno = host_errno;
}

void rbwp_extend_look_at_clock(void)
{
    if (recording_now && helper_threads_are_held())
        drain_look(recording_now->drain);
}

/* ---- recording ------------------------------------------------------------------ */

uint64_t rbwp_extend_thread(void)
{
    const struct thread *thread = rbwp_self_.thread;
    return thread ? thread->thread_id : 0;
}
