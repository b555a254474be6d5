/* SPDX-License-Identifier: Apache-2.0 */
#include "quiet_thread.h"

#include <signal.h>

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
