/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_session.h"

#include "rbwp_range.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_MAX = 1024 }; /* further ones are nobody's */

static pthread_mutex_t started_lock = PTHREAD_MUTEX_INITIALIZER; /* guards ranges */
static struct {
    uint64_t range;
    pthread_t thread;
} ranges[OPEN_MAX]; /* in the order in which they were started */
static _Atomic uint32_t open_count;

static enum { OF_THREAD, OF_ALL, OF_NONE } started_wanted;

static void started_read_wish(void)
{
    const char *text = secure_getenv("RBWP_INJECT_STARTED");
    started_wanted = text && strcmp(text, "all") == 0    ? OF_ALL
                     : text && strcmp(text, "none") == 0 ? OF_NONE
                                                         : OF_THREAD;
}

void inject_started(uint64_t range)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, started_read_wish);
    if (!range || started_wanted == OF_NONE)
        return;
    pthread_mutex_lock(&started_lock);
    uint32_t count = atomic_load_explicit(&open_count, memory_order_relaxed);
    if (count < OPEN_MAX) {
        ranges[count].range = range;
        ranges[count].thread = pthread_self();
        atomic_store(&open_count, count + 1);
    }
    pthread_mutex_unlock(&started_lock);
}

void inject_started_ended(uint64_t range)
{
    if (!range || !atomic_load_explicit(&open_count, memory_order_relaxed))
        return;
    pthread_mutex_lock(&started_lock);
    uint32_t count = atomic_load_explicit(&open_count, memory_order_relaxed), at = 0;
    while (at < count && ranges[at].range != range)
        at++;
    if (at < count) {
        memmove(&ranges[at], &ranges[at + 1], (count - at - 1) * sizeof *ranges);
        atomic_store(&open_count, count - 1);
    }
    pthread_mutex_unlock(&started_lock);
}

static uint64_t last_started(void)
{
    uint64_t range = 0;
    pthread_mutex_lock(&started_lock);
    for (uint32_t i = atomic_load_explicit(&open_count, memory_order_relaxed); i-- > 0 && !range;)
        if (started_wanted == OF_ALL || pthread_equal(ranges[i].thread, pthread_self()))
            range = ranges[i].range;
    pthread_mutex_unlock(&started_lock);
    return range;
}

uint64_t inject_range_now(void)
{
    uint64_t pushed = rbwp_range_current();
    if (pushed || !atomic_load_explicit(&open_count, memory_order_relaxed))
        return pushed;
    return last_started();
}

void inject_started_forget(void)
{
    pthread_mutex_init(&started_lock, NULL);
    atomic_store(&open_count, 0);
}
