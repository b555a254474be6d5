/* SPDX-License-Identifier: Apache-2.0 */
#include "quiet_thread.h"

#include <signal.h>

int quiet_thread_start(pthread_t *thread_out, const char *name, void *(*run)(void *),
                       void *argument)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(thread_out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error == 0)
        pthread_setname_np(*thread_out, name);
    return error;
}
