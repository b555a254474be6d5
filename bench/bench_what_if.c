/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_what_if.c - programs that are really changed, to hold the predictions of
 * `rbwp why --what-if` against (what_if.py).
 *
 *     bench_what_if MODE base|changed
 *
 * Work sleeps, so that it takes as long on a machine with other load; in the modes that compute it
 * is CPU time, of two threads at most. Prints the nanoseconds from the first job's queueing until
 * the last one was done.
 */
#include <rbwp_queue.h>
#include <rbwp_record.h>
#include <rbwp_session.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MS = 1000000, QUEUE = 1024, LOCKS = 8, THREADS = 64 };

struct job {
    struct rbwp_ticket ticket;
    int stage, number; /* stage -1: the thread is to end */
};
struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct job jobs[QUEUE];
    unsigned put, taken;
};

/* What a mode is made of, in microseconds; a second stage gets each job when the first is done. */
struct plan {
    const char *name;
    int jobs, workers[2];
    long own[2], part[2], other, hold; /* other: of each third job; part: a sub-item */
    int locks;
    int turns; /* 1: the main thread waits for each job before it queues the next; 2: for two */
};
static const struct plan base[] = {
    {"item", 90, {3, 0}, {8000, 0}, {0, 0}, 18000, 0, 1, 0},
    {"sub_item", 90, {3, 0}, {3000, 0}, {8000, 0}, 0, 0, 1, 0},
    {"worker", 90, {3, 0}, {8000, 0}, {0, 0}, 14000, 0, 1, 0},
    {"pipeline", 50, {2, 1}, {18000, 7000}, {0, 0}, 0, 0, 1, 0},
    {"pipeline_worker", 50, {1, 1}, {14000, 9000}, {0, 0}, 0, 0, 1, 0},
    {"lock", 60, {4, 0}, {8000, 0}, {0, 0}, 0, 6000, 1, 0},
    {"queue", 48, {4, 0}, {30000, 0}, {0, 0}, 90000, 0, 1, 0},
    {"turns", 50, {1, 1}, {12000, 8000}, {0, 0}, 0, 0, 1, 1},
    {"cpu_item", 30, {1, 0}, {2000, 0}, {0, 0}, 6000, 0, 1, 0},
    {"cpu_sub_item", 30, {2, 0}, {1000, 0}, {4000, 0}, 0, 0, 1, 0},
    {"cpu_worker", 30, {1, 0}, {4000, 0}, {0, 0}, 7000, 0, 1, 0},
    {"cpu_pipeline", 30, {1, 1}, {5000, 2000}, {0, 0}, 0, 0, 1, 0},
    {"cpu_lock", 30, {2, 0}, {2000, 0}, {0, 0}, 0, 3000, 1, 0},
    {"cpu_queue", 30, {1, 0}, {3000, 0}, {0, 0}, 5000, 0, 1, 2},
};
static struct plan plan;
static bool computes;
static struct queue queues[3];
static pthread_mutex_t locks[LOCKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static unsigned slots[3], other, part, waits, holds;
static const char *const stage_names[] = {"encode", "write", "reply"};

static void must(enum rbwp_status status)
{
    if (status != RBWP_OK)
        abort();
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void work(long us)
{
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    if (us && !computes)
        nanosleep(&time, NULL);
    for (const int64_t end = cpu_ns() + us * 1000; computes && cpu_ns() < end;)
        ;
}

static unsigned slot_of(const struct job *job)
{
    return plan.other && job->number % 3 == 0 && job->stage == 0 ? other : slots[job->stage];
}

static void put(int stage, int number, bool ends)
{
    struct queue *queue = &queues[stage];
    struct job job = {.stage = ends ? -1 : stage, .number = number};
    if (!ends)
        rbwp_enqueue(slot_of(&job), &job.ticket);
    pthread_mutex_lock(&queue->mutex);
    queue->jobs[queue->put++ % QUEUE] = job;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

static struct job take(int stage)
{
    struct queue *queue = &queues[stage];
    pthread_mutex_lock(&queue->mutex);
    while (queue->put == queue->taken)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    const struct job job = queue->jobs[queue->taken++ % QUEUE];
    pthread_mutex_unlock(&queue->mutex);
    return job;
}

static void under_lock(int number)
{
    pthread_mutex_t *lock = &locks[number % plan.locks];
    rbwp_fine_begin(waits);
    pthread_mutex_lock(lock);
    rbwp_fine_end();
    rbwp_fine_begin(holds);
    work(plan.hold);
    rbwp_fine_end();
    pthread_mutex_unlock(lock);
}

static void do_job(const struct job *job)
{
    const unsigned slot = slot_of(job);
    rbwp_begin_with(slot, job->ticket);
    work(slot == other ? plan.other : plan.own[job->stage]);
    if (plan.part[job->stage]) {
        rbwp_fine_begin(part);
        work(plan.part[job->stage]);
        rbwp_fine_end();
    }
    if (plan.hold)
        under_lock(job->number);
    if (plan.workers[1] && job->stage == 0)
        put(1, job->number, false);
    else
        put(2, job->number, false);
    rbwp_end();
}

static void *worker(void *stage)
{
    must(rbwp_thread_attach("worker"));
    for (;;) {
        const struct job job = take(*(int *)stage);
        if (job.stage < 0)
            return NULL;
        do_job(&job);
    }
}

static void change(void)
{
    const char *const name = plan.name + (computes ? strlen("cpu_") : 0);
    plan.other /= strcmp(name, "item") == 0 ? 2 : 1;
    plan.part[0] /= strcmp(name, "sub_item") == 0 ? 2 : 1;
    plan.workers[0] += strcmp(name, "worker") == 0 || strcmp(name, "pipeline_worker") == 0;
    plan.own[0] /= strcmp(name, "pipeline") == 0 ? 2 : 1;
    plan.locks = strcmp(name, "lock") == 0 ? LOCKS : 1;
    if (strcmp(name, "queue") == 0)
        plan.workers[0] = plan.turns ? plan.turns : plan.jobs;
    plan.own[1] /= strcmp(name, "turns") == 0 ? 2 : 1;
}

static void registered(void)
{
    enum rbwp_sub_item_type step, wait;
    for (int i = 0; i < 3; i++)
        must(rbwp_work_item_register(stage_names[i], &slots[i]));
    must(rbwp_work_item_register("report", &other));
    must(rbwp_sub_item_kind_register("step", 0, &step));
    must(rbwp_sub_item_kind_register("lock", RBWP_KIND_WAITS, &wait));
    must(rbwp_sub_item_register(step, "index", &part));
    must(rbwp_sub_item_register(step, "hold", &holds));
    must(rbwp_sub_item_register(wait, "lock", &waits));
}

/* The main thread gets a reply for each job, which is a call of it. */
static void reply(void)
{
    const struct job job = take(2);
    rbwp_begin_with(slot_of(&job), job.ticket);
    rbwp_end();
}

static int64_t run(void)
{
    static int stages[] = {0, 1};
    pthread_t threads[THREADS];
    int count = 0;
    for (int stage = 0; stage < 2; stage++)
        for (int i = 0; i < plan.workers[stage]; i++)
            pthread_create(&threads[count++], NULL, worker, &stages[stage]);
    work(20000); /* they wait */
    const int64_t began_ns = now_ns();
    for (int i = 0; i < plan.jobs; i++) {
        put(0, i, false);
        for (int answers = 0; plan.turns && (i + 1) % plan.turns == 0 && answers < plan.turns;
             answers++)
            reply();
    }
    for (int i = 0; i < plan.jobs && !plan.turns; i++)
        reply();
    const int64_t ns = now_ns() - began_ns;
    for (int stage = 0; stage < 2; stage++)
        for (int i = 0; i < plan.workers[stage]; i++)
            put(stage, 0, true);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return ns;
}

int main(int argc, char **argv)
{
    struct rbwp_error error;
    struct rbwp_session *session = NULL;
    struct rbwp_session_config config = {.size = sizeof config};
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK || argc != 3 ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK)
        return 2;
    for (size_t i = 0; i < sizeof base / sizeof base[0]; i++)
        if (strcmp(base[i].name, argv[1]) == 0)
            plan = base[i];
    computes = plan.name && strncmp(plan.name, "cpu_", 4) == 0;
    if (!plan.name)
        return 2;
    if (strcmp(argv[2], "changed") == 0)
        change();
    for (int i = 0; i < 3; i++) {
        pthread_mutex_init(&queues[i].mutex, NULL);
        pthread_cond_init(&queues[i].changed, NULL);
    }
    registered();
    must(rbwp_thread_attach("main"));
    printf("%lld\n", (long long)run());
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
