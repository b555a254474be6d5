/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that is behind most does its next operation; so what a queue gets comes in order. */
#include "replay_parts.h"

#include <stdlib.h>

struct runner {
    int64_t now_ns;
    uint32_t op, end;
    uint32_t pool;   /* whose jobs it does; TRACE_NONE: nobody's */
    uint32_t waiter; /* 1 + the next one that waits for the same signal, or for a job */
};

struct pool {
    uint32_t first_job, last_job; /* queued, 1 + number; 0: none */
    uint32_t idle;                /* 1 + a runner that waits for one */
};

struct run {
    const struct replay *replay;
    unsigned which; /* of op.ns */
    bool pinned;
    struct runner *runners;
    uint32_t *heap; /* the one that is behind most first */
    uint32_t runner_count, heap_count;
    struct pool *pools; /* by their lane */
    uint32_t *next_job; /* 1 + job */
    int64_t *signals, *queued_ns;
    uint32_t *waiters; /* of signals, 1 + runner */
    uint64_t left;     /* operations */
    int64_t last_ns;
};

static void go_on(struct runner *runner, int64_t ns)
{
    if (__builtin_add_overflow(runner->now_ns, ns, &runner->now_ns))
        runner->now_ns = INT64_MAX;
}

/* ---- who is next --------------------------------------------------------------------------------
 */

static bool is_behind(const struct run *run, uint32_t a, uint32_t b)
{
    const int64_t x = run->runners[a].now_ns, y = run->runners[b].now_ns;
    return x != y ? x < y : a < b;
}

static void heap_add(struct run *run, uint32_t runner)
{
    uint32_t at = run->heap_count++;
    while (at && is_behind(run, runner, run->heap[(at - 1) / 2])) {
        run->heap[at] = run->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    run->heap[at] = runner;
}

static uint32_t heap_take(struct run *run)
{
    const uint32_t first = run->heap[0], moved = run->heap[--run->heap_count];
    uint32_t at = 0;
    for (uint32_t next; (next = 2 * at + 1) < run->heap_count; at = next) {
        if (next + 1 < run->heap_count && is_behind(run, run->heap[next + 1], run->heap[next]))
            next++;
        if (!is_behind(run, run->heap[next], moved))
            break;
        run->heap[at] = run->heap[next];
    }
    run->heap[at] = moved;
    return first;
}

/* ---- jobs ---------------------------------------------------------------------------------------
 */

static void begin_job(struct run *run, struct runner *runner, uint32_t job)
{
    const struct replay_job *taken = &run->replay->jobs[job];
    if (run->queued_ns[job] > runner->now_ns)
        runner->now_ns = run->queued_ns[job];
    go_on(runner, run->replay->ops[taken->await].ns[run->which]);
    runner->op = taken->await + 1;
    runner->end = taken->end;
    run->left--; /* it has not awaited */
}

static void queue_job(struct run *run, uint32_t job, int64_t now_ns)
{
    struct pool *pool = &run->pools[run->replay->jobs[job].pool];
    run->queued_ns[job] = now_ns;
    if (pool->idle) {
        const uint32_t idle = pool->idle - 1;
        pool->idle = run->runners[idle].waiter;
        begin_job(run, &run->runners[idle], job);
        heap_add(run, idle);
        return;
    }
    if (pool->last_job)
        run->next_job[pool->last_job - 1] = job + 1;
    else
        pool->first_job = job + 1;
    pool->last_job = job + 1;
}

/* What it had to do is done. */
static void next_of(struct run *run, uint32_t number)
{
    struct runner *runner = &run->runners[number];
    if (runner->pool == TRACE_NONE)
        return;
    struct pool *pool = &run->pools[runner->pool];
    if (!pool->first_job) {
        runner->waiter = pool->idle;
        pool->idle = number + 1;
        return;
    }
    const uint32_t job = pool->first_job - 1;
    pool->first_job = run->next_job[job];
    if (!pool->first_job)
        pool->last_job = 0;
    begin_job(run, runner, job);
    heap_add(run, number);
}

/* ---- operations ---------------------------------------------------------------------------------
 */

static void give_signal(struct run *run, uint32_t signal, int64_t now_ns)
{
    const struct replay *replay = run->replay;
    run->signals[signal] = now_ns;
    for (uint32_t waiter = run->waiters[signal]; waiter;) {
        struct runner *runner = &run->runners[waiter - 1];
        const uint32_t next = runner->waiter;
        heap_add(run, waiter - 1);
        waiter = next;
    }
    if (!run->pinned && signal < replay->link_count && replay->links[signal].job)
        queue_job(run, replay->links[signal].job - 1, now_ns);
}

/* False: it waits. */
static bool await(struct run *run, uint32_t number, const struct replay_op *op)
{
    struct runner *runner = &run->runners[number];
    const int64_t signal_ns = run->signals[op->signal];
    if (op->what == OP_WOKEN && op->ns[run->which] < 0)
        return true;
    if (signal_ns == INT64_MIN) {
        runner->waiter = run->waiters[op->signal];
        run->waiters[op->signal] = number + 1;
        return false;
    }
    if (op->what == OP_AWAIT || signal_ns > runner->now_ns) {
        runner->now_ns = signal_ns > runner->now_ns ? signal_ns : runner->now_ns;
        go_on(runner, op->ns[run->which]);
    }
    return true;
}

static void do_next(struct run *run, uint32_t number)
{
    struct runner *runner = &run->runners[number];
    if (runner->op == runner->end) {
        next_of(run, number);
        return;
    }
    const struct replay_op *op = &run->replay->ops[runner->op];
    if (op->what == OP_RUN)
        go_on(runner, op->ns[run->which]);
    else if (op->what == OP_SIGNAL)
        give_signal(run, op->signal, runner->now_ns);
    else if (!await(run, number, op))
        return;
    runner->op++;
    run->left--;
    if (runner->now_ns > run->last_ns)
        run->last_ns = runner->now_ns;
    heap_add(run, number);
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

/* Threads of the pool beyond the number asked for take no jobs; new ones do nothing else. */
static void begin(struct run *run, const struct replay_ask *ask)
{
    const struct replay *replay = run->replay;
    uint32_t workers = 0;
    const uint32_t wanted = run->which && ask->workers ? ask->workers : replay->workers;
    for (uint32_t i = 0; i < replay->lane_count; i++) {
        const struct replay_lane *lane = &replay->lanes[i];
        struct runner *runner = &run->runners[run->runner_count];
        const bool works = !run->pinned && lane->job_count;
        *runner = (struct runner){lane->start_ns, lane->first, lane->end, TRACE_NONE, 0};
        if (works) {
            runner->end = replay->jobs[lane->first_job].await;
            runner->pool = replay->jobs[lane->first_job].pool;
            if (runner->pool == replay->pool && workers++ >= wanted)
                runner->pool = TRACE_NONE;
            if (runner->op == runner->end)
                runner->now_ns = replay->first_ns;
        }
        heap_add(run, run->runner_count++);
    }
    for (; !run->pinned && replay->pool != TRACE_NONE && workers < wanted; workers++) {
        run->runners[run->runner_count] = (struct runner){replay->first_ns, 0, 0, replay->pool, 0};
        heap_add(run, run->runner_count++);
    }
}

bool replay_run(const struct replay *replay, const struct replay_ask *ask, bool changed,
                bool pinned, uint64_t *ns_out)
{
    const size_t signals = (size_t)replay->link_count + replay->kernel_count + 1;
    const size_t lanes = (size_t)replay->lane_count + ask->workers + 1;
    struct run run = {.replay = replay,
                      .which = changed,
                      .pinned = pinned,
                      .runners = calloc(lanes, sizeof *run.runners),
                      .heap = calloc(lanes, sizeof *run.heap),
                      .pools = calloc(lanes, sizeof *run.pools),
                      .next_job = calloc(replay->job_count + 1u, sizeof *run.next_job),
                      .queued_ns = calloc(replay->job_count + 1u, sizeof *run.queued_ns),
                      .signals = calloc(signals, sizeof *run.signals),
                      .waiters = calloc(signals, sizeof *run.waiters),
                      .left = replay->op_count,
                      .last_ns = replay->first_ns};
    const bool good = run.runners && run.heap && run.pools && run.next_job && run.queued_ns &&
                      run.signals && run.waiters;
    for (size_t i = 0; good && i < signals; i++)
        run.signals[i] = INT64_MIN;
    if (good)
        begin(&run, ask);
    while (good && run.heap_count)
        do_next(&run, heap_take(&run));
    *ns_out = (uint64_t)run.last_ns - (uint64_t)replay->first_ns;
    free(run.runners);
    free(run.heap);
    free(run.pools);
    free(run.next_job);
    free(run.queued_ns);
    free(run.signals);
    free(run.waiters);
    return good && run.left == 0;
}
