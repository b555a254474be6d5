/* SPDX-License-Identifier: Apache-2.0 */
/* served.c - modes of faults.c whose calls wait for others: in a queue, or for another node's
 * answer. */
#include "faults.h"

#include <rbwp_message.h>
#include <rbwp_queue.h>
#include <rbwp_work.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- a queue --------------------------------------------------------------------------------- */

#define QUEUE 1024
struct job {
    struct rbwp_ticket ticket;
    unsigned slot;
    int64_t takes_ns, put_ns;
};
static struct {
    struct job jobs[QUEUE];
    unsigned put, taken;
} queue;

static void put(unsigned slot, int64_t takes_ns)
{
    struct job job = {.slot = slot, .takes_ns = takes_ns, .put_ns = now_ns()};
    rbwp_enqueue(slot, &job.ticket);
    pthread_mutex_lock(&lock);
    queue.jobs[queue.put++ % QUEUE] = job;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void *serve(void *unused)
{
    must(rbwp_thread_attach("worker"));
    for (;;) {
        pthread_mutex_lock(&lock);
        while (queue.put == queue.taken)
            pthread_cond_wait(&changed, &lock);
        const struct job job = queue.jobs[queue.taken++ % QUEUE];
        pthread_mutex_unlock(&lock);
        if (job.takes_ns == 0)
            return unused;
        const struct begun begun = measure_begin();
        rbwp_begin_with(job.slot, job.ticket);
        if (job.takes_ns > MS)
            sleep_ns(job.takes_ns);
        else
            spin_ns(job.takes_ns);
        rbwp_end();
        if (job.slot == request)
            measure_end(begun, job.put_ns);
    }
}

/* Of so many jobs one is of this slot, and slow. */
static void run_queue(unsigned slot_of_slow)
{
    pthread_t thread;
    pthread_create(&thread, NULL, serve, NULL);
    for (unsigned number = 1; !is_over(number); number++) {
        sleep_until(began_ns + number * 4 * MS);
        if (number % 64 == 20)
            put(slot_of_slow, with_fault ? 40 * MS : CALL_NS);
        else
            put(request, CALL_NS);
    }
    put(request, 0);
    pthread_join(thread, NULL);
}

void behind_call(void)
{
    request = item("request");
    run_queue(item("report"));
}

void behind_same(void)
{
    request = item("request");
    run_queue(request);
}

static _Atomic int64_t active_since_ns;

static bool clean(void *unused, struct rbwp_deadline deadline)
{
    (void)unused, (void)deadline;
    const struct begun begun = measure_begin();
    const int64_t since_ns = atomic_exchange(&active_since_ns, 0);
    rbwp_set_worked(true);
    spin_ns(CALL_NS);
    measure_end(begun, since_ns ? since_ns : begun.since_ns);
    return false;
}

static bool checkpoint(void *unused, struct rbwp_deadline deadline)
{
    (void)unused, (void)deadline;
    rbwp_set_worked(true);
    if (with_fault)
        sleep_ns(80 * MS);
    else
        spin_ns(CALL_NS);
    return false;
}

static struct rbwp_work_manager *manager_new(void)
{
    const struct rbwp_work_config config = {.size = sizeof config, .workers = 1};
    struct rbwp_work_manager *manager;
    struct rbwp_error error;
    must(rbwp_work_start(&config, &manager, &error));
    return manager;
}

void behind_manager(void)
{
    struct rbwp_work_manager *manager = manager_new();
    struct rbwp_work_handle cleaner, writer;
    must(rbwp_work_add(manager, "page cleaner", clean, NULL, -1, &cleaner));
    must(rbwp_work_add(manager, "checkpoint", checkpoint, NULL, -1, &writer));
    for (unsigned number = 1; !is_over(number); number++) {
        sleep_until(began_ns + number * 4 * MS);
        if (number % 50 == 20) {
            must(rbwp_work_make_active(manager, writer));
            continue;
        }
        if (atomic_load(&active_since_ns) == 0)
            atomic_store(&active_since_ns, now_ns());
        must(rbwp_work_make_active(manager, cleaner));
    }
    must(rbwp_work_stop(manager, true, NULL));
}

/* ---- a peer that is late --------------------------------------------------------------------- */

static struct {
    struct rbwp_endpoint *asks, *answers; /* node 0, node 1 */
    unsigned ask, answer;                 /* handlers */
    unsigned wait;                        /* the step that waits for the answer */
    unsigned asked, answered;
    bool is_slow; /* handlers, that is, or another call on the peer's worker */
} job;

static void handle_ask(void *unused, const struct rbwp_message *message)
{
    unsigned number;
    (void)unused;
    memcpy(&number, message->payload, sizeof number);
    if (job.is_slow && is_slow(number, 50))
        sleep_ns(60 * MS);
    must(rbwp_message_send(job.answers, 0, job.answer, &number, sizeof number, RBWP_WAIT, NULL));
}

static void handle_answer(void *unused, const struct rbwp_message *message)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    memcpy(&job.answered, message->payload, sizeof job.answered);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static bool solve(void *unused, struct rbwp_deadline deadline)
{
    (void)unused, (void)deadline;
    rbwp_set_worked(true);
    if (with_fault)
        sleep_ns(60 * MS);
    else
        spin_ns(CALL_NS);
    return false;
}

static struct rbwp_endpoint *endpoint_new(struct rbwp_work_manager *manager,
                                          struct rbwp_transport *transport, unsigned *ask_out,
                                          unsigned *answer_out)
{
    struct rbwp_handler_config ask = {.size = sizeof ask, .name = "ask", .handle = handle_ask};
    struct rbwp_handler_config answer = {
        .size = sizeof answer, .name = "answer", .handle = handle_answer};
    struct rbwp_endpoint *endpoint;
    must(rbwp_endpoint_new(manager, transport, NULL, &endpoint, NULL));
    must(rbwp_handler_register(endpoint, &ask, ask_out, NULL));
    must(rbwp_handler_register(endpoint, &answer, answer_out, NULL));
    return endpoint;
}

/* A step of node 0: it asks node 1, and goes on with the answer. */
static void step_of_job(unsigned number)
{
    must(rbwp_message_send(job.asks, 1, job.ask, &number, sizeof number, RBWP_WAIT, NULL));
    rbwp_fine_begin(job.wait);
    pthread_mutex_lock(&lock);
    while (job.answered != number)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    rbwp_fine_end();
}

static void run_job(bool is_peer_slow)
{
    struct rbwp_work_manager *managers[2] = {manager_new(), manager_new()};
    struct rbwp_transport *transports[2];
    struct rbwp_work_handle solver;
    job.is_slow = !is_peer_slow;
    job.wait = step("message", RBWP_KIND_WAITS, "wait for the answer");
    must(rbwp_work_add(managers[1], "solve", solve, NULL, -1, &solver));
    must(rbwp_loopback_new(2, transports, NULL));
    unsigned unused;
    job.asks = endpoint_new(managers[0], transports[0], &job.ask, &unused);
    job.answers = endpoint_new(managers[1], transports[1], &unused, &job.answer);
    must(rbwp_endpoint_start(job.asks, NULL));
    must(rbwp_endpoint_start(job.answers, NULL));
    request = item("request");
    must(rbwp_thread_attach("rank 0"));
    for (unsigned number = 1; !is_over(number); number++) {
        if (is_peer_slow && number % 50 == 25) {
            must(rbwp_work_make_active(managers[1], solver));
            sleep_ns(MS);
        }
        const struct begun begun = measure_begin();
        rbwp_begin(request);
        step_of_job(number);
        rbwp_end();
        measure_end(begun, begun.since_ns);
        sleep_ns(3 * MS);
    }
    rbwp_endpoint_free(job.asks);
    rbwp_endpoint_free(job.answers);
    for (unsigned i = 0; i < 2; i++)
        must(rbwp_work_stop(managers[i], false, NULL));
}

void late_handler(void)
{
    run_job(false);
}

void late_rank(void)
{
    run_job(true);
}
