/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_threads - what calls that may block cost, for librbwp-threads.so.
 *
 *     bench_threads                                          as they are
 *     LD_PRELOAD=librbwp-threads.so bench_threads            called through it
 *     RBWP_THREADS_FILE=FILE LD_PRELOAD=... bench_threads    and recorded
 *     bench_threads messages SECONDS                         four threads that pass messages
 *
 * Prints ns a call, the least of several rounds; messages: their rate, and CPU time for each.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, CALLS = 20000, SLOW_CALLS = 500 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int full[2];
static const struct timespec past;

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- calls that do not block
 * --------------------------------------------------------------------- */

/* What recording cannot be cheaper than, where there is the counter. */
static void read_twice(void)
{
#if defined(__x86_64__) || defined(__i386__)
    static volatile unsigned long long between;
    between = __builtin_ia32_rdtsc();
    between = __builtin_ia32_rdtsc() - between;
#endif
}

static void lock_free(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void signal_nobody(void)
{
    pthread_cond_signal(&cond);
}

static void post_and_wait(void)
{
    sem_post(&semaphore);
    sem_wait(&semaphore);
}

static void semaphore_expired(void)
{
    (void)sem_timedwait(&semaphore, &past);
}

static void condition_expired(void)
{
    pthread_mutex_lock(&mutex);
    (void)pthread_cond_timedwait(&cond, &mutex, &past);
    pthread_mutex_unlock(&mutex);
}

static void poll_ready(void)
{
    struct pollfd file = {.fd = full[0], .events = POLLIN};
    (void)poll(&file, 1, -1);
}

static void read_and_write(void)
{
    char byte = 0;
    if (read(full[0], &byte, 1) != 1 || write(full[1], &byte, 1) != 1)
        exit(1);
}

/* The C library takes its locks another way where there is one thread. */
static void *be_there(void *unused)
{
    pause();
    return unused;
}

static double least_ns(void (*call)(void), int calls)
{
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < calls; i++)
            call();
        double ns = (seconds_of(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / calls;
        least = ns < least ? ns : least;
    }
    return least;
}

static void measure_calls(void)
{
    static const struct {
        const char *name;
        void (*call)(void);
        int calls;
    } calls[] = {{"two readings of the time-stamp counter", read_twice, CALLS},
                 {"lock and unlock a free mutex", lock_free, CALLS},
                 {"signal a condition nobody waits for", signal_nobody, CALLS},
                 {"post and wait for a semaphore", post_and_wait, CALLS},
                 {"wait for a semaphore, time is over", semaphore_expired, SLOW_CALLS},
                 {"wait for a condition, time is over", condition_expired, SLOW_CALLS},
                 {"poll, ready", poll_ready, CALLS},
                 {"read and write a byte of a pipe", read_and_write, CALLS}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        printf("%8.1f ns  %s\n", least_ns(calls[i].call, calls[i].calls), calls[i].name);
}

/* ---- messages
 * ------------------------------------------------------------------------------------- */

/* Four threads in a ring, one message a time slot and thread. */
enum { THREADS = 4, RATE = 20000 };

static struct box {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    unsigned messages;
    int last;
} boxes[THREADS];
static unsigned long passed;

static void put(struct box *box, int last)
{
    pthread_mutex_lock(&box->lock);
    box->messages++;
    box->last |= last;
    pthread_cond_signal(&box->filled);
    pthread_mutex_unlock(&box->lock);
}

static int take(struct box *box)
{
    pthread_mutex_lock(&box->lock);
    while (box->messages == 0 && !box->last)
        pthread_cond_wait(&box->filled, &box->lock);
    int last = box->messages == 0;
    box->messages -= !last;
    pthread_mutex_unlock(&box->lock);
    return last;
}

static void *pass_on(void *context)
{
    struct box *mine = context, *next = mine + 1;
    int last = 0;
    while (!last) {
        last = take(mine);
        if (!last)
            __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
        if (next != boxes + THREADS)
            put(next, last);
    }
    return NULL;
}

static void measure_messages(double seconds)
{
    pthread_t threads[THREADS];
    struct timespec next;
    for (int i = 0; i < THREADS; i++) {
        pthread_mutex_init(&boxes[i].lock, NULL);
        pthread_cond_init(&boxes[i].filled, NULL);
        pthread_create(&threads[i], NULL, pass_on, &boxes[i]);
    }
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long i = 0; i < (long)(seconds * RATE / THREADS); i++) {
        put(&boxes[0], 0);
        next.tv_nsec += 1000000000L * THREADS / RATE;
        next.tv_sec += next.tv_nsec / 1000000000L;
        next.tv_nsec %= 1000000000L;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    put(&boxes[0], 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%lu messages, %.3f us of CPU time each\n", passed,
           seconds_of(CLOCK_PROCESS_CPUTIME_ID) * 1e6 / (double)passed);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "messages") == 0) {
        measure_messages(atof(argv[2]));
        return 0;
    }
    pthread_t other;
    sem_init(&semaphore, 0, 0);
    if (pthread_create(&other, NULL, be_there, NULL) != 0)
        return 1;
    if (pipe(full) != 0 || write(full[1], "x", 1) != 1)
        return 1;
    measure_calls();
    return 0;
}
