/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_held [FLAGS...] COUNT - so many calls that stand still for 3 ms while they hold malloc's
 * lock, and the calls of another thread that waits for it. Prints "stalls COUNT HOLDER WAITER
 * KEPT": the system's numbers of the two threads, and how often another one, which is the
 * recorder's, had to wait for the lock.
 */
#include "allocator.h"

#include <rbwp_record.h>
#include <rbwp_session.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STALL_NS 3000000

static unsigned holds, waits;
static atomic_bool done;
static long holder, waiter, count;

static void begin_thread(const char *name, long *number_out)
{
    allocator_may_wait = true;
    *number_out = syscall(SYS_gettid);
    if (rbwp_thread_attach(name) != RBWP_OK)
        abort();
}

static void *hold(void *unused)
{
    begin_thread("holds", &holder);
    for (long i = 0; i < count; i++) {
        struct timespec left = {0, STALL_NS};
        allocator_lock();
        rbwp_begin(holds);
        while (nanosleep(&left, &left) != 0 && errno == EINTR)
            ;
        rbwp_end();
        pthread_mutex_unlock(&allocator);
    }
    atomic_store(&done, true);
    return unused;
}

static void *wait_for_it(void *unused)
{
    begin_thread("waits", &waiter);
    while (!atomic_load(&done)) {
        rbwp_begin(waits);
        void *volatile memory = malloc(1);
        free(memory);
        rbwp_end();
    }
    return unused;
}

int main(int argc, char **argv)
{
    struct rbwp_session *session = NULL;
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_error error;
    pthread_t threads[2];
    allocator_may_wait = true;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK ||
        rbwp_work_item_register("holds", &holds) != RBWP_OK ||
        rbwp_work_item_register("waits", &waits) != RBWP_OK)
        return 1;
    count = argc > 1 ? atol(argv[1]) : 1000;
    pthread_create(&threads[0], NULL, hold, NULL);
    pthread_create(&threads[1], NULL, wait_for_it, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("stalls %ld %ld %ld %ld\n", count, holder, waiter, atomic_load(&allocator_kept));
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
