/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_message [ROUNDS]: messages of 8 bytes, one way, over loopback.
 *
 * This thread sends to a node whose handlers a worker runs; beside it, in turns, a plain queue of
 * the same 8 bytes with a mutex and a condition variable, which a thread empties by calling a
 * function for each. Rates by the clock on the wall, medians of the rounds; the target is 5 M/s.
 * Beside them the CPU that one takes, which holds on a busy machine too (a worker that looks for
 * work counts as well), and both with a session at level 2.
 */
#include "bench.h"
#include "rbwp_message.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 500000, ROUNDS_MAX = 1000, QUEUE_ROOM = 8192 };

#define TARGET_M_PER_S 5.0

static uint64_t sum;

static void add(const void *payload)
{
    uint64_t value;
    memcpy(&value, payload, sizeof value);
    sum += value;
}

static void handle(void *argument, const struct rbwp_message *message)
{
    (void)argument;
    add(message->payload);
}

/* ---- messages --------------------------------------------------------------- */

struct pair {
    struct rbwp_work_manager *manager;
    struct rbwp_endpoint *endpoint[2];
    unsigned handler;
};

static struct pair pair_new(void)
{
    const struct rbwp_work_config work = {.size = sizeof work};
    const struct rbwp_handler_config handler = {
        .size = sizeof handler, .name = "add", .handle = handle};
    struct rbwp_transport *transports[2];
    struct pair pair;
    require(rbwp_work_start(&work, &pair.manager, NULL) == RBWP_OK, "no manager");
    require(rbwp_loopback_new(2, transports, NULL) == RBWP_OK, "no loopback");
    for (int i = 0; i < 2; i++)
        require(rbwp_endpoint_new(pair.manager, transports[i], NULL, &pair.endpoint[i], NULL) ==
                        RBWP_OK &&
                    rbwp_handler_register(pair.endpoint[i], &handler, &pair.handler, NULL) ==
                        RBWP_OK &&
                    rbwp_endpoint_start(pair.endpoint[i], NULL) == RBWP_OK,
                "no endpoint");
    return pair;
}

static uint64_t handled(const struct pair *pair)
{
    struct rbwp_endpoint_counts counts = {.size = sizeof counts};
    rbwp_endpoint_count(pair->endpoint[1], &counts);
    return counts.handled;
}

static double messages_ns(struct pair *pair)
{
    const uint64_t all = handled(pair) + MESSAGES;
    const double begin_ns = clock_ns(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < MESSAGES; i++)
        require(rbwp_message_send(pair->endpoint[0], 1, pair->handler, &i, sizeof i, RBWP_WAIT,
                                  NULL) == RBWP_OK,
                "not sent");
    while (handled(pair) < all)
        rbwp_work_drain(pair->manager);
    return (clock_ns(CLOCK_MONOTONIC) - begin_ns) / MESSAGES;
}

static void pair_free(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        require(rbwp_endpoint_free(pair->endpoint[i]) == RBWP_OK, "not freed");
    require(rbwp_work_stop(pair->manager, true, NULL) == RBWP_OK, "not stopped");
}

/* ---- a plain queue ------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t put, taken;
    uint64_t room[QUEUE_ROOM];
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *take_all(void *argument)
{
    (void)argument;
    for (int i = 0; i < MESSAGES; i++) {
        pthread_mutex_lock(&queue.lock);
        while (queue.taken == queue.put)
            pthread_cond_wait(&queue.changed, &queue.lock);
        const uint64_t value = queue.room[queue.taken++ % QUEUE_ROOM];
        if (queue.put - queue.taken == QUEUE_ROOM - 1)
            pthread_cond_signal(&queue.changed);
        pthread_mutex_unlock(&queue.lock);
        add(&value);
    }
    return NULL;
}

static double queue_ns(void)
{
    pthread_t taker;
    require(pthread_create(&taker, NULL, take_all, NULL) == 0, "no thread");
    const double begin_ns = clock_ns(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        pthread_mutex_lock(&queue.lock);
        while (queue.put - queue.taken == QUEUE_ROOM)
            pthread_cond_wait(&queue.changed, &queue.lock);
        queue.room[queue.put++ % QUEUE_ROOM] = i;
        if (queue.put - queue.taken == 1)
            pthread_cond_signal(&queue.changed);
        pthread_mutex_unlock(&queue.lock);
    }
    pthread_join(taker, NULL);
    return (clock_ns(CLOCK_MONOTONIC) - begin_ns) / MESSAGES;
}

/* ---- both ----------------------------------------------------------------------- */

struct result {
    double wall_ns[ROUNDS_MAX], cpu_ns[ROUNDS_MAX], sender_ns[ROUNDS_MAX];
};

static void measure(struct result *result, long round, struct pair *pair)
{
    const double cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const double sender_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    result->wall_ns[round] = pair ? messages_ns(pair) : queue_ns();
    result->sender_ns[round] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - sender_ns) / MESSAGES;
    result->cpu_ns[round] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) / MESSAGES;
}

static double show(const char *what, struct result *result, size_t rounds)
{
    const double wall_ns = median(result->wall_ns, rounds);
    printf("%-24s %6.2f M/s  CPU each %6.1f ns, the sender's %6.1f\n", what, 1e3 / wall_ns,
           median(result->cpu_ns, rounds), median(result->sender_ns, rounds));
    return 1e9 / wall_ns;
}

int main(int argc, char **argv)
{
    static struct result plain, messages, recorded;
    const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 11;
    require(rounds > 0 && rounds <= ROUNDS_MAX, "1 to 1000 rounds");
    struct pair pair = pair_new();
    for (long i = 0; i < rounds; i++) {
        measure(&plain, i, NULL);
        measure(&messages, i, &pair);
    }
    struct rbwp_session *session = start_session(2);
    for (long i = 0; i < rounds; i++)
        measure(&recorded, i, &pair);
    const struct rbwp_session_summary summary = stop_session(session);
    pair_free(&pair);
    const size_t count = (size_t)rounds;
    (void)show("a queue with a mutex", &plain, count);
    const double rate = show("messages", &messages, count);
    (void)show("messages, level 2", &recorded, count);
    printf("%-24s %6.1f bytes a message\n", "in the file",
           (double)summary.bytes / (double)rounds / MESSAGES);
    figure_at_least("messages in one process, one way", rate / 1e6, "M/s", TARGET_M_PER_S);
    return 0;
}
