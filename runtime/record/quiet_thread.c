/* SPDX-License-Identifier: Apache-2.0 */
#include "quiet_thread.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REST_NS 50000 /* what a wake-up takes comes on top */

_Thread_local bool quiet_thread_starting;

int quiet_thread_start(pthread_t *thread_out, const char *name, void *(*run)(void *),
                       void *argument)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    quiet_thread_starting = true;
    int error = pthread_create(thread_out, NULL, run, argument);
    quiet_thread_starting = false;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error == 0)
        pthread_setname_np(*thread_out, name);
    return error;
}

/* Not by the C library: musl has these calls and refuses them. */
void quiet_thread_give_way(bool gives_way)
{
    static const struct sched_param none = {.sched_priority = 0};
    const long policy = syscall(SYS_sched_getscheduler, 0);
    if (policy == SCHED_OTHER || policy == SCHED_BATCH)
        syscall(SYS_sched_setscheduler, 0, gives_way ? SCHED_BATCH : SCHED_OTHER, &none);
}

void quiet_thread_rest(void)
{
    static const struct timespec moment = {0, REST_NS};
    nanosleep(&moment, NULL);
}
