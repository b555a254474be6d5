/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadlock [FLAGS...] - two threads that wait for each other's mutex, for good. Prints of each
 * "mutex ADDRESS THREAD": who holds it, by the system's number. RECORDS: it records itself, each
 * thread in a call; else it knows nothing of RBWP.
 */
#ifdef RECORDS
#include <rbwp_record.h>
#include <rbwp_session.h>
#endif

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t both[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t have_one;

static void begin_call(void)
{
#ifdef RECORDS
    unsigned slot;
    if (rbwp_work_item_register("locks both", &slot) != RBWP_OK ||
        rbwp_thread_attach("locks both") != RBWP_OK)
        abort();
    rbwp_begin(slot);
#endif
}

static void *lock_both(void *argument)
{
    const int first = *(int *)argument;
    begin_call();
    pthread_mutex_lock(&both[first]);
    printf("mutex %llu %ld\n", (unsigned long long)(uintptr_t)&both[first], syscall(SYS_gettid));
    fflush(stdout);
    pthread_barrier_wait(&have_one);
    pthread_mutex_lock(&both[!first]);
    abort();
}

int main(int argc, char **argv)
{
    static int firsts[2] = {0, 1};
    pthread_t threads[2];
#ifdef RECORDS
    struct rbwp_session *session;
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_error error;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
#endif
    (void)argc;
    (void)argv;
    pthread_barrier_init(&have_one, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, lock_both, &firsts[i]);
    pthread_join(threads[0], NULL);
}
