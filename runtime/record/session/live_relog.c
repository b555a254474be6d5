/* SPDX-License-Identifier: Apache-2.0 */
#include "session_parts.h"

#include "job.h"
#include "live.h"
#include "names.h"
#include "tables.h"
#include "thread_registry.h"

#include <signal.h>

/* The registry's lock makes this one thread at a time; signals are blocked as wherever it is held.
 */
void live_relog(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    thread_registry_lock();
    if (live_relog_begin()) {
        thread_registry_log();
        names_log();
        tables_log();
        process_log();
        job_log();
        live_relog_end();
    }
    thread_registry_unlock();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
