/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - the worker loop, its threads, and lending a thread.
 *
 * One clock read per run: the time at which a do_work returned ends its record,
 * begins the next item's record, and is the base of the next deadline. Only a
 * worker that had to look for work reads the clock anew. Each do_work has a
 * record of its own, also when the same item runs again at once: an empty call
 * can then be elided without its neighbours, and a requeue costs no more
 * than two stores.
 */
#include "worker.h"

#include "failure.h"
#include "test_point.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- whether a group's further workers are worth having -------------------------------------- */
/*
 * Items of some ten nanoseconds are run faster by one worker than by two: each claim moves cache
 * lines from core to core. So a group's first worker always works, and the others measure what
 * they bring. A worker whose runs take much longer than the first one's did while it was alone
 * steps aside: it pauses for a moment, looks, and pauses for longer as long as the first goes on
 * running items. Nobody has measured yet: it steps aside once, so that the first one can.
 *
 * A worker that is aside is like one that is in an item: it is in no count of the doorbell, so
 * nobody makes a system call to wake it, and it comes back to what there is, after PAUSE_NS_MAX at
 * the latest. So nothing waits for longer than that behind an item that turns out to be long. Items
 * whose runs take longer than a microsecond are run by all.
 *
 * Where the process has no more CPUs than the manager has workers, further workers also step aside
 * instead of looking for work, as long as the first one finds some: whoever arms it needs a CPU.
 *
 * measuring and stepping aside.
 */

#define RUN_NS_MAX 2000 /* counted of one run: more is a long item, or somebody else's turn */
#define SHORT_NS 1000   /* on average: longer ones are worth each worker's while */
#define FRESH_NS 200000 /* so long a measurement is about what is running now */
#define AGAIN_NS 10000000
#define PAUSE_NS_MIN 50000
#define PAUSE_NS_MAX 1000000
#define TIGHT_PAUSE_NS_MAX 250000

static void crowd_set_times(struct crowd_times *times, unsigned workers, unsigned cpus)
{
    times->run_max = rbwp_ticks_from_ns(RUN_NS_MAX);
    times->fresh = rbwp_ticks_from_ns(FRESH_NS);
    times->again = rbwp_ticks_from_ns(AGAIN_NS);
    times->is_tight = cpus <= workers;
}

static uint64_t runs_of(const struct work_runner *runner)
{
    return atomic_load_explicit(&runner->runs, memory_order_relaxed);
}

/* Until there is something to run, or the first worker has come to rest. */
static void step_aside(struct work_runner *runner, uint64_t most_ns)
{
    struct crowd *crowd = &runner->group->crowd;
    struct crowd_share *share = &runner->crowd;
    if (share->pause_ns < PAUSE_NS_MIN || share->pause_ns > most_ns)
        share->pause_ns = PAUSE_NS_MIN;
    /* Relaxed: all of this only decides who works, not what is seen. */
    atomic_fetch_add_explicit(&crowd->aside, 1, memory_order_relaxed);
    for (uint64_t before = runs_of(crowd->first) - 1, now;
         !work_is_closed(runner->manager) && (now = runs_of(crowd->first)) != before;
         before = now) {
        TEST_POINT("crowd: aside");
        const struct timespec pause = {0, (long)share->pause_ns};
        nanosleep(&pause, NULL);
        share->pause_ns = share->pause_ns < most_ns / 2 ? share->pause_ns * 2 : most_ns;
        if (work_mask_has_candidate(&runner->manager->mask, &runner->group->filter))
            break;
    }
    atomic_fetch_sub_explicit(&crowd->aside, 1, memory_order_relaxed);
}

/* Two do hardly more than one. */
static bool is_in_the_way(uint64_t ticks, uint64_t alone_ticks)
{
    return ticks > alone_ticks / 4 * 7;
}

static void judge_company(struct work_runner *runner, uint64_t ticks, uint64_t now)
{
    const struct crowd *crowd = &runner->group->crowd;
    const struct crowd_times *times = &runner->manager->crowd_times;
    struct crowd_share *share = &runner->crowd;
    uint64_t alone_ticks = atomic_load_explicit(&crowd->alone_ticks, memory_order_relaxed);
    uint64_t age = now - atomic_load_explicit(&crowd->alone_at, memory_order_relaxed);
    if (alone_ticks > 0 && (age < times->fresh || (int64_t)age < 0)) {
        if (is_in_the_way(ticks, alone_ticks))
            step_aside(runner, PAUSE_NS_MAX);
        else
            share->pause_ns = PAUSE_NS_MIN;
    } else if (now - share->tried_at > times->again) {
        share->tried_at = now;
        share->pause_ns = PAUSE_NS_MIN;
        step_aside(runner, PAUSE_NS_MAX);
    }
}

void crowd_judge(struct work_runner *runner, uint64_t now)
{
    struct crowd *crowd = &runner->group->crowd;
    struct crowd_share *share = &runner->crowd;
    const uint64_t ticks = share->ticks;
    const bool is_alone = work_is_alone(runner->group), was_alone = share->was_alone;
    const bool is_short =
        ticks < runner->manager->crowd_times.run_max * CROWD_RUNS * SHORT_NS / RUN_NS_MAX;
    share->runs = 0;
    share->ticks = 0;
    share->was_alone = is_alone;
    if (runner == crowd->first) {
        if (!is_short || (is_alone && was_alone)) {
            atomic_store_explicit(&crowd->alone_ticks, is_short ? ticks : 0, memory_order_relaxed);
            atomic_store_explicit(&crowd->alone_at, now, memory_order_relaxed);
        }
    } else if (is_short) {
        judge_company(runner, ticks, now);
    }
}

/* A worker that may spin found nothing to do. May step aside; then it looks and sleeps as usual. */
static void crowd_wait(struct work_runner *runner)
{
    if (!runner->manager->crowd_times.is_tight || runner == runner->group->crowd.first)
        return;
    const uint64_t runs = runs_of(runner->group->crowd.first);
    if (runs == runner->crowd.first_runs)
        return;
    step_aside(runner, TIGHT_PAUSE_NS_MAX);
    runner->crowd.first_runs = runs_of(runner->group->crowd.first);
}

/* ---- what is in a slot ----------------------------------------------------------------------- */
/*
 * An item's function, and its generation.
 *
 * A slot is free (generation 0) or holds an item (its generation, never 0, one
 * more each time the slot is filled). A handle is slot and generation, so a
 * handle to a removed item is recognised even after the slot's reuse.
 *
 * Who may write. The slot's number is claimed in the recorder's registry, so at
 * any time one caller owns it: it fills the slot, writing the plain fields first
 * and the generation last. The one caller that changes the generation back to 0
 * (work_slot_empty; others find the handle stale) owns the slot from then on,
 * but must wait until no run is under way before it lets the number go.
 *
 * Who may read the plain fields: a thread that has claimed the slot's bit
 * (work_mask.h) and then saw a generation other than 0. Removal and run agree
 * like this, all four sequentially consistent:
 *
 *     run:     set running;      look at the generation: 0 -> leave the item alone
 *     removal: generation = 0;   look at running: set -> wait for the run's end
 *
 * At least one of them sees the other. The end of a run is announced likewise: the
 * runner clears running, then looks at the generation, and if it has changed,
 * or was 0 already, signals the event that the remover waits for.
 *
 * An activation that races with the removal of the same item may be left over
 * in the mask. It is dropped by the next claimer, or when the slot is filled
 * again; if it comes later still, the new item is called once with nothing to do.
 *
 * filling and emptying a slot. The protocol is described in worker.h.
 */

uint32_t work_slot_fill(struct work_slot *slot, rbwp_do_work_fn do_work, void *argument)
{
    slot->do_work = do_work;
    slot->argument = argument;
    slot->last_generation++;
    if (slot->last_generation == 0)
        slot->last_generation = 1;
    /* Release: pairs with the acquire in work_slot_generation. */
    atomic_store_explicit(&slot->generation, slot->last_generation, memory_order_release);
    return slot->last_generation;
}

bool work_slot_empty(struct work_slot *slot, uint32_t generation)
{
    /* Sequentially consistent: before the look at running. */
    return generation != 0 &&
           atomic_compare_exchange_strong_explicit(&slot->generation, &generation, 0,
                                                   memory_order_seq_cst, memory_order_relaxed);
}

void work_slot_enqueue(struct work_slot *slot, unsigned number)
{
    struct rbwp_ticket ticket;
    if (work_slot_has_ticket(slot))
        return;
    rbwp_enqueue(number, &ticket);
    atomic_store_explicit(&slot->enqueued_by, ticket.thread, memory_order_relaxed);
    atomic_store_explicit(&slot->enqueued_ticks, ticket.ticks, memory_order_release);
}

static struct rbwp_ticket work_slot_take_ticket(struct work_slot *slot, unsigned number)
{
    struct rbwp_ticket ticket = {.slot = number};
    ticket.ticks = atomic_exchange_explicit(&slot->enqueued_ticks, 0, memory_order_acquire);
    ticket.thread = atomic_load_explicit(&slot->enqueued_by, memory_order_relaxed);
    return ticket;
}

/* ---- worker ---------------------------------------------------------------------------------- */

/*
 * Polls before an idle worker announces itself as a looker. Between items that come close upon
 * each other this keeps the doorbell's line out of the workers' and wakers' way.
 */
#define UNANNOUNCED_POLLS 32

/*
 * How long an idle worker spins adapts to what spinning brings: a spin that found work makes the
 * next the longest one allowed, one that found none halves it, and each 16th is the longest again,
 * to find out. So a worker that is armed seldom soon sleeps at once, and so do workers that keep
 * those who would arm them from the CPU.
 */
#define SPINS_PER_TRIAL 16

static _Thread_local struct work_runner *runner_here;

struct work_runner *work_runner_here(void)
{
    return runner_here;
}

bool rbwp_extend_work_inside(void)
{
    return runner_here && runner_here->slot >= 0;
}

bool rbwp_extend_work_lent_only(const struct rbwp_work_manager *manager)
{
    return manager->is_lent_only;
}

bool rbwp_extend_work_waiting(const struct rbwp_work_manager *manager)
{
    struct work_filter all;
    work_filter_fill(&all);
    return work_mask_has_candidate(&manager->mask, &all);
}

bool work_is_closed(const struct rbwp_work_manager *manager)
{
    /* Sequentially consistent: a worker looks after it has lain down (doorbell.h, 5), and who
     * closes rings after. */
    return atomic_load_explicit(&manager->phase, memory_order_seq_cst) == WORK_CLOSED;
}

/* ---- waking ----------------------------------------------------------------- */

void work_wake_for(struct rbwp_work_manager *manager, unsigned slot)
{
    if (manager->is_lent_only) {
        event_signal(&manager->settled);
        return;
    }
    if (manager->group_count == 1) {
        doorbell_ring(&manager->groups[0].bell);
        return;
    }
    for (unsigned i = 0; i < manager->group_count; i++) {
        struct work_group *group = &manager->groups[i];
        if (work_filter_has(&group->filter, slot) && doorbell_is_watched(&group->bell))
            return;
    }
    for (unsigned i = 0; i < manager->group_count; i++) {
        struct work_group *group = &manager->groups[i];
        if (work_filter_has(&group->filter, slot) && doorbell_ring(&group->bell))
            return;
    }
}

/* Wakes sleepers that could run what is a candidate now. */
static void work_wake_for_rest(struct rbwp_work_manager *manager)
{
    if (manager->is_lent_only)
        event_signal(&manager->settled);
    for (unsigned i = 0; i < manager->group_count; i++) {
        struct work_group *group = &manager->groups[i];
        if (doorbell_is_useful(&group->bell) &&
            work_mask_has_candidate(&manager->mask, &group->filter))
            doorbell_ring(&group->bell);
    }
}

/* ---- running ---------------------------------------------------------------- */

/* A run's result. */
struct run {
    uint64_t end_ticks;
    bool left_candidate; /* the slot is to be run again */
};

/* Runs the item in a slot that the runner has claimed. */
static struct run run_claimed(struct work_runner *runner, unsigned slot, uint64_t begin_ticks)
{
    struct rbwp_work_manager *manager = runner->manager;
    struct work_slot *entry = &manager->slots[slot];
    struct run run = {begin_ticks, false};
    bool requeue = false;

    TEST_POINT("run: slot claimed");
    uint32_t generation = work_slot_generation(entry); /* after the claim: worker.h */
    if (generation != 0) {
        struct rbwp_deadline deadline = {begin_ticks + manager->slice_ticks};
        runner->slot = (int)slot;
        /* A ticket is built only where there is one: below level 2 storing and reading it back
         * would cost more than the rest of the loop. */
        if (work_slot_has_ticket(entry))
            rbwp_begin_with_at(slot, work_slot_take_ticket(entry, slot), begin_ticks);
        else
            rbwp_begin_at(slot, begin_ticks);
        requeue = entry->do_work(entry->argument, deadline);
        run.end_ticks = rbwp_now_ticks();
        if (run.end_ticks >= deadline.ticks)
            rbwp_set_worked(true); /* an empty call that exceeded its slice is worth seeing */
        rbwp_end_at(run.end_ticks);
        runner->slot = -1;
    }
    /* Before the release, which orders it; pairs with the acquire in sum_of_runs. */
    uint64_t runs = atomic_load_explicit(&runner->runs, memory_order_relaxed);
    atomic_store_explicit(&runner->runs, runs + 1, memory_order_release);
    run.left_candidate = work_mask_release(&manager->mask, slot, requeue);
    TEST_POINT("run: slot released");
    /* After the release (worker.h). A removal that came before the claim's look left 0 then and
     * now, and its remover waits all the same. */
    if (generation == 0 || work_slot_generation(entry) != generation)
        event_signal(&manager->settled);
    return run;
}

/*
 * A slot that became a candidate again with its last run had nobody woken for it: its runner comes
 * back to it. One that runs something else now leaves it to others.
 */
static void wake_for_left(struct rbwp_work_manager *manager, struct run last, int last_slot,
                          int slot)
{
    if (last.left_candidate && slot != last_slot)
        work_wake_for_rest(manager);
}

static int claim_slot(struct work_runner *runner)
{
    return work_mask_claim(&runner->manager->mask, &runner->group->filter, &runner->cursor);
}

bool work_is_alone(const struct work_group *group)
{
    uint32_t aside = atomic_load_explicit(&group->crowd.aside, memory_order_relaxed);
    return doorbell_sleepers(&group->bell) + aside + 1 >= group->worker_count;
}

/*
 * Looks for work as a looker for the runner's spin time. The slot claimed, or -1.
 *
 * One worker that spins alone keeps its CPU: the next item armed is its. While others are awake as
 * well it lets a thread that waits for this CPU go first, now and then: it may be the one that has
 * work for us. That can take a while, so it does not count as a looker meanwhile.
 */
static int worker_look(struct work_runner *runner)
{
    struct rbwp_work_manager *manager = runner->manager;
    uint64_t now = rbwp_now_ticks();
    uint64_t end_ticks = now + runner->spin_ticks, yield_ticks = now + manager->yield_ticks;
    for (;;) {
        if (work_is_closed(manager))
            return -1;
        int slot = claim_slot(runner);
        if (slot >= 0)
            return slot;
        now = rbwp_now_ticks();
        if (now >= end_ticks)
            return -1;
        if (now < yield_ticks || work_is_alone(runner->group)) {
            work_relax();
            continue;
        }
        doorbell_lie_down(&runner->group->bell);
        sched_yield();
        doorbell_get_up(&runner->group->bell);
        yield_ticks = rbwp_now_ticks() + manager->yield_ticks;
    }
}

static void adapt_spin(struct work_runner *runner, bool was_useful)
{
    runner->spins++;
    if (was_useful || runner->spins % SPINS_PER_TRIAL == 0)
        runner->spin_ticks = runner->manager->spin_ticks;
    else
        runner->spin_ticks /= 2;
}

/* The loop drawn in doorbell.h. The slot claimed, or -1 when the manager is closed. */
static int wait_for_work(struct work_runner *runner)
{
    struct rbwp_work_manager *manager = runner->manager;
    struct doorbell *bell = &runner->group->bell;

    event_signal(&manager->settled);
    if (manager->spin_ticks > 0 && runner->crowd.has_company)
        crowd_wait(runner);
    for (int i = 0; i < UNANNOUNCED_POLLS && manager->spin_ticks > 0; i++) {
        work_relax();
        int slot = claim_slot(runner);
        if (slot >= 0)
            return slot;
    }
    doorbell_start_look(bell);
    for (bool slept = false;; slept = true) {
        int slot = worker_look(runner);
        if (!slept)
            adapt_spin(runner, slot >= 0);
        if (slot >= 0 || work_is_closed(manager)) {
            doorbell_end_look(bell);
            if (slot >= 0)
                work_wake_for_rest(manager);
            return slot;
        }
        TEST_POINT("look: nothing found");
        doorbell_lie_down(bell);
        if (work_mask_has_candidate(&manager->mask, &runner->group->filter) ||
            work_is_closed(manager))
            doorbell_get_up(bell);
        else
            doorbell_sleep(bell);
    }
}

/* A run has ended: begin to end, with the claim before it. */
static void count_run(struct work_runner *runner, uint64_t begin_ticks, uint64_t end_ticks)
{
    struct crowd_share *share = &runner->crowd;
    const uint64_t ticks = end_ticks - begin_ticks, most = runner->manager->crowd_times.run_max;
    share->ticks += ticks < most ? ticks : most;
    if (++share->runs == CROWD_RUNS)
        crowd_judge(runner, end_ticks);
}

static void run_worker(struct work_runner *runner)
{
    struct rbwp_work_manager *manager = runner->manager;
    struct run last = {rbwp_now_ticks(), false};
    int last_slot = -1;

    while (!work_is_closed(manager)) {
        int slot = claim_slot(runner);
        if (slot < 0) {
            slot = wait_for_work(runner);
            if (slot < 0)
                return;
            rbwp_look_at_cpu_(RBWP_NOT_READ_);
            last.end_ticks = rbwp_now_ticks();
        } else {
            wake_for_left(manager, last, last_slot, slot);
        }
        const uint64_t begin_ticks = last.end_ticks;
        last = run_claimed(runner, (unsigned)slot, begin_ticks);
        last_slot = slot;
        if (runner->crowd.has_company)
            count_run(runner, begin_ticks, last.end_ticks);
    }
}

/* ---- who is there ----------------------------------------------------------- */

static void runner_enter(struct work_runner *runner)
{
    struct rbwp_work_manager *manager = runner->manager; /* lock is held */
    runner->next = manager->runners;
    manager->runners = runner;
}

static void runner_leave(struct work_runner *runner)
{
    struct rbwp_work_manager *manager = runner->manager; /* lock is held */
    struct work_runner **place = &manager->runners;
    while (*place != runner)
        place = &(*place)->next;
    *place = runner->next;
    manager->runs_of_gone += atomic_load_explicit(&runner->runs, memory_order_relaxed);
}

static uint64_t sum_of_runs(const struct rbwp_work_manager *manager)
{
    uint64_t sum = manager->runs_of_gone; /* lock is held */
    for (struct work_runner *runner = manager->runners; runner; runner = runner->next)
        sum += atomic_load_explicit(&runner->runs, memory_order_acquire);
    return sum;
}

/*
 * The words are read one after the other, while an item may make another active in a word already
 * read, and end. But then a run has ended between the two sums: what it made active is there before
 * its count, and its count before its running bit goes.
 */
bool work_is_quiet(struct rbwp_work_manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    uint64_t runs = sum_of_runs(manager), bits = 0;
    for (unsigned word = 0; word < WORK_MASK_WORDS; word++) {
        bits |= atomic_load_explicit(&manager->mask.words[word].bits, memory_order_seq_cst);
        TEST_POINT("quiet: a word read");
    }
    bool quiet = bits == 0 && sum_of_runs(manager) == runs;
    pthread_mutex_unlock(&manager->lock);
    return quiet;
}

/* ---- worker threads --------------------------------------------------------- */

static void *worker_main(void *argument)
{
    struct work_runner *runner = argument;
    struct rbwp_work_manager *manager = runner->manager;
    char name[32];
    snprintf(name, sizeof name, "worker %u", runner->number);
    pthread_setname_np(pthread_self(), name);
    int unpinned = runner->cpu_count ? numa_pin(runner->cpus, runner->cpu_count) : 0;
    enum rbwp_status status = unpinned ? RBWP_E_IO : rbwp_thread_attach(name);
    runner_here = runner;

    pthread_mutex_lock(&manager->lock);
    runner_enter(runner);
    manager->workers_ready++;
    if (manager->worker_status == RBWP_OK) {
        manager->worker_status = status;
        manager->worker_errno = unpinned;
    }
    pthread_cond_broadcast(&manager->changed);
    pthread_mutex_unlock(&manager->lock);

    run_worker(runner);
    if (status == RBWP_OK)
        rbwp_thread_detach();
    return NULL;
}

/* The CPUs that a worker, the index-th of its domain, is to run on. */
static void set_cpus(struct work_runner *runner, const struct rbwp_work_config *config,
                     const struct numa_domain *domain, unsigned index)
{
    if (config->pin && index < domain->cpu_count) {
        runner->cpus = &domain->cpus[index];
        runner->cpu_count = 1;
    } else if (config->numa && config->numa_pin) {
        runner->cpus = domain->cpus;
        runner->cpu_count = domain->cpu_count;
    }
}

/* Signals are the host's: none is delivered to a worker but those that its own code causes. */
static sigset_t block_signals(void)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    return before;
}

/* 0 or an errno value. */
static int start_worker(struct work_runner *runner, const struct rbwp_work_config *config)
{
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    size_t stack_bytes = (size_t)config->stack_bytes;
    if (stack_bytes != config->stack_bytes)
        failed = EINVAL;
    else if (stack_bytes > 0)
        failed = pthread_attr_setstacksize(&attributes, stack_bytes);
    if (!failed) {
        sigset_t before = block_signals();
        failed = pthread_create(&runner->thread, &attributes, worker_main, runner);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return failed;
}

static enum rbwp_status wait_until_ready(struct rbwp_work_manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    while (manager->workers_ready < manager->worker_count)
        pthread_cond_wait(&manager->changed, &manager->lock);
    enum rbwp_status status = manager->worker_status;
    pthread_mutex_unlock(&manager->lock);
    return status;
}

enum rbwp_status work_start_workers(struct rbwp_work_manager *manager,
                                    const struct rbwp_work_config *config,
                                    const struct numa_map *map, struct rbwp_error *error)
{
    size_t count = (size_t)config->workers * map->count;
    manager->workers = aligned_alloc(WORK_LINE_BYTES, count * sizeof *manager->workers);
    if (!manager->workers)
        return failure(error, RBWP_E_MEMORY, 0, "no memory for %zu workers", count);
    unsigned cpus = 0;
    for (unsigned i = 0; i < map->count; i++)
        cpus += map->domains[i].cpu_count;
    crowd_set_times(&manager->crowd_times, (unsigned)count, cpus);
    for (unsigned number = 0; number < count; number++) {
        unsigned group = number % map->count, index = number / map->count;
        struct work_runner *runner = &manager->workers[number];
        *runner = (struct work_runner){.manager = manager,
                                       .group = &manager->groups[group],
                                       .cursor = work_cursor_at(number % RBWP_SLOTS_MAX),
                                       .slot = -1,
                                       .spin_ticks = manager->spin_ticks,
                                       .crowd.has_company = config->workers > 1,
                                       .number = number};
        if (index == 0)
            manager->groups[group].crowd.first = runner;
        set_cpus(runner, config, &map->domains[group], index);
        int failed = start_worker(runner, config);
        if (failed)
            return failure(error, RBWP_E_IO, failed, "worker thread %u of %zu cannot be started",
                           number, count);
        manager->worker_count++;
    }
    enum rbwp_status status = wait_until_ready(manager);
    if (status != RBWP_OK)
        return failure(error, status, manager->worker_errno,
                       manager->worker_errno ? "a worker thread cannot be put on its CPUs"
                                             : "a worker thread cannot attach to the recorder");
    return RBWP_OK;
}

void work_stop_workers(struct rbwp_work_manager *manager)
{
    for (unsigned i = 0; i < manager->group_count; i++)
        doorbell_ring_all(&manager->groups[i].bell);
    for (unsigned i = 0; i < manager->worker_count; i++)
        pthread_join(manager->workers[i].thread, NULL);
    free(manager->workers);
    manager->workers = NULL;
    manager->worker_count = 0;
}

/* ---- lending a thread ------------------------------------------------------- */

static bool lender_enter(struct work_runner *lender)
{
    struct rbwp_work_manager *manager = lender->manager;
    pthread_mutex_lock(&manager->lock);
    bool open = !work_is_closed(manager);
    if (open) {
        runner_enter(lender);
        manager->lent++;
        runner_here = lender;
    }
    pthread_mutex_unlock(&manager->lock);
    return open;
}

static void lender_leave(struct work_runner *lender)
{
    struct rbwp_work_manager *manager = lender->manager;
    work_wake_for_rest(manager); /* for what became active while we ran it */
    event_signal(&manager->settled);
    runner_here = NULL;
    pthread_mutex_lock(&manager->lock);
    runner_leave(lender);
    manager->lent--;
    pthread_cond_broadcast(&manager->changed); /* the last use of the manager but the unlock */
    pthread_mutex_unlock(&manager->lock);
}

enum rbwp_status work_lend(struct rbwp_work_manager *manager, uint64_t limit_ticks, bool one_round)
{
    struct work_runner lender = {.manager = manager, .slot = -1};
    struct work_filter filter; /* the slots that may still be run */
    work_filter_fill(&filter);
    if (!lender_enter(&lender))
        return RBWP_E_STATE;
    enum rbwp_status status = RBWP_AGAIN;
    rbwp_look_at_cpu_(RBWP_NOT_READ_);
    struct run last = {rbwp_now_ticks(), false};
    int last_slot = -1;
    while (!work_is_closed(manager) && (last.end_ticks < limit_ticks || one_round)) {
        int slot = work_mask_claim(&manager->mask, &filter, &lender.cursor);
        if (slot < 0)
            break;
        wake_for_left(manager, last, last_slot, slot);
        last = run_claimed(&lender, (unsigned)slot, last.end_ticks);
        last_slot = slot;
        status = RBWP_OK;
        if (one_round)
            work_filter_set(&filter, (unsigned)slot, false);
    }
    lender_leave(&lender);
    return status;
}
