/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - what docs/production.md looks into: three workers take requests from a queue, a
 * cleaner tidies pages. service [SECONDS]. Each 1009th request writes the journal to a disk that
 * takes 40 ms. SIGUSR1 asks for a compaction, which takes two locks in another order than the
 * cleaner: soon everybody waits. Recording is some 30 lines, all in the first half.
 */
#include <pthread.h>
#include <rbwp_args.h>
#include <rbwp_queue.h>
#include <rbwp_session.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, QUEUE_MAX = 4096, SLOW_EVERY = 1009, MS = 1000000 };

/* ---- recording ---- */

static unsigned request_slot, cleaner_slot, parse, look_up, write_journal, want_index, want_journal;
static uint64_t number_key;
static struct rbwp_session *session;

static bool start_recording(int *argc, char **argv)
{
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_error error = {.text = "no slot left"};
    enum rbwp_sub_item_type step, lock; /* kinds of our own; who waits for a lock is not busy */
    number_key = rbwp_arg_key("number");
    if (rbwp_work_item_register("request", &request_slot) == RBWP_OK &&
        rbwp_work_item_register("page cleaner", &cleaner_slot) == RBWP_OK &&
        rbwp_sub_item_kind_register("step", 0, &step) == RBWP_OK &&
        rbwp_sub_item_kind_register("lock", RBWP_KIND_WAITS, &lock) == RBWP_OK &&
        rbwp_sub_item_register(step, "parse", &parse) == RBWP_OK &&
        rbwp_sub_item_register(step, "look up", &look_up) == RBWP_OK &&
        rbwp_sub_item_register(step, "write journal", &write_journal) == RBWP_OK &&
        rbwp_sub_item_register(lock, "wait for index", &want_index) == RBWP_OK &&
        rbwp_sub_item_register(lock, "wait for journal", &want_journal) == RBWP_OK &&
        rbwp_session_parse(&config, argc, argv, &error) == RBWP_OK &&
        rbwp_session_start(&config, &session, &error) == RBWP_OK)
        return true;
    fprintf(stderr, "service: %s\n", error.text);
    return false;
}

/* ---- the service ---- */

struct request {
    struct rbwp_ticket ticket;
    unsigned number; /* 0: that was the last */
};

static struct request queue[QUEUE_MAX];
static unsigned put_count, taken_count;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool compaction_wanted, over;

static void on_signal(int number)
{
    (void)number;
    compaction_wanted = true;
}

static void nap(long ns)
{
    nanosleep(&(struct timespec){ns / (1000L * MS), ns % (1000L * MS)}, NULL);
}

static void compute(unsigned steps)
{
    volatile unsigned x = steps;
    for (unsigned i = 0; i < steps; i++)
        x = x * 1664525u + 1013904223u;
}

static void lock(pthread_mutex_t *mutex, unsigned sub_item)
{
    if (pthread_mutex_trylock(mutex) == 0)
        return;
    rbwp_fine_begin(sub_item);
    pthread_mutex_lock(mutex);
    rbwp_fine_end();
}

static void put(unsigned number)
{
    pthread_mutex_lock(&queue_lock);
    if (put_count - taken_count < QUEUE_MAX) {
        struct request *request = &queue[put_count++ % QUEUE_MAX];
        request->number = number;
        rbwp_enqueue(request_slot, &request->ticket);
        pthread_cond_signal(&queue_filled);
    }
    pthread_mutex_unlock(&queue_lock);
}

static struct request take(void)
{
    pthread_mutex_lock(&queue_lock);
    while (put_count == taken_count)
        pthread_cond_wait(&queue_filled, &queue_lock);
    const struct request request = queue[taken_count++ % QUEUE_MAX];
    pthread_mutex_unlock(&queue_lock);
    return request;
}

static void answer(unsigned number)
{
    const bool compacts = atomic_exchange(&compaction_wanted, false);
    const bool writes = compacts || number % SLOW_EVERY == 0;
    rbwp_fine_begin(parse);
    compute(20000);
    rbwp_fine_end();
    if (writes && !compacts)
        lock(&journal_lock, want_journal);
    lock(&index_lock, want_index);
    rbwp_fine_begin(look_up);
    compute(60000);
    rbwp_fine_end();
    if (compacts) { /* the mistake: the index first, then the journal */
        nap(50 * MS);
        lock(&journal_lock, want_journal);
    }
    if (writes) {
        rbwp_fine_begin(write_journal);
        nap(40 * MS);
        rbwp_fine_end();
        pthread_mutex_unlock(&journal_lock);
    }
    pthread_mutex_unlock(&index_lock);
}

static void *work(void *argument)
{
    char name[16];
    snprintf(name, sizeof name, "worker %u", (unsigned)(size_t)argument);
    (void)rbwp_thread_attach(name);
    for (struct request request; (request = take()).number != 0;) {
        rbwp_begin_with(request_slot, request.ticket);
        rbwp_arg_u64(number_key, request.number);
        answer(request.number);
        rbwp_end();
    }
    return NULL;
}

/* Some 4000 times a second there is next to nothing to tidy; each hundredth time there is. */
static void *clean(void *argument)
{
    (void)rbwp_thread_attach("cleaner");
    for (unsigned i = 1; !over; i++) {
        rbwp_begin(cleaner_slot);
        compute(500);
        if (i % 100 == 0) { /* the journal first, then the index */
            lock(&journal_lock, want_journal);
            nap(2 * MS);
            lock(&index_lock, want_index);
            compute(30000);
            pthread_mutex_unlock(&index_lock);
            pthread_mutex_unlock(&journal_lock);
        }
        rbwp_end();
        nap(MS / 5);
    }
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS + 1];
    if (!start_recording(&argc, argv) || signal(SIGUSR1, on_signal) == SIG_ERR)
        return 1;
    const unsigned ticks = 1000 * (argc > 1 ? (unsigned)atoi(argv[1]) : 10);
    for (size_t i = 0; i <= WORKERS; i++)
        if (pthread_create(&threads[i], NULL, i < WORKERS ? work : clean, (void *)i) != 0)
            return 1;
    for (unsigned number = 1; number <= ticks; number++) {
        put(number);
        nap(MS);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        put(0);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    over = true;
    pthread_join(threads[WORKERS], NULL);
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
