/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of work.c and worker.c: the documented errors, and the promises: no wake-up is lost, no
 * item runs twice at once, an activation in a run is remembered, no item starves, removal waits,
 * stale handles are refused, stop hands back or finishes.
 *
 * Most tests lend their own thread, so that what runs when is up to them. Where threads must meet
 * in a race, a test point holds one of them (test_point.h). A wake-up that is lost would hang a
 * test: the alarm in main ends it.
 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rbwp_record.h"
#include "rbwp_work.h"
#include "test_point.h"
#include "worker.h"

#define TIMEOUT_S 240

_Atomic(test_point_fn) test_point_hook;

/* ---- managers and items ---------------------------------------------------------- */

static struct rbwp_work_manager *start(struct rbwp_work_config config)
{
    struct rbwp_work_manager *manager;
    struct rbwp_error error;
    config.size = sizeof config;
    if (rbwp_work_start(&config, &manager, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return manager;
}

static struct rbwp_work_manager *start_workers(uint32_t workers)
{
    return start((struct rbwp_work_config){.workers = workers, .no_spin = true});
}

static struct rbwp_work_manager *start_without_workers(void)
{
    return start((struct rbwp_work_config){.no_workers = true});
}

static void stop(struct rbwp_work_manager *manager)
{
    assert_int_equal(rbwp_work_stop(manager, false, NULL), RBWP_OK);
}

/* An item that counts its runs and does what its fields say. */
struct item {
    struct rbwp_work_manager *manager;
    struct rbwp_work_handle handle;
    _Atomic unsigned runs;
    unsigned requeues; /* asks for requeue so many times */
    struct item *then; /* made active by each run */
    void (*body)(struct item *item);
    enum rbwp_status status; /* of what body tried */
    void *context;
};

static bool run_item(void *argument, struct rbwp_deadline deadline)
{
    (void)deadline;
    struct item *item = argument;
    unsigned runs = atomic_fetch_add(&item->runs, 1) + 1;
    if (item->body)
        item->body(item);
    if (item->then)
        rbwp_work_make_active(item->manager, item->then->handle);
    return runs <= item->requeues;
}

static void add(struct rbwp_work_manager *manager, struct item *item)
{
    item->manager = manager;
    assert_int_equal(rbwp_work_add(manager, "test item", run_item, item, -1, &item->handle),
                     RBWP_OK);
}

static void make_active(struct item *item)
{
    assert_int_equal(rbwp_work_make_active(item->manager, item->handle), RBWP_OK);
}

/* A gate that threads wait at until it is opened. */
struct gate {
    _Atomic bool open;
};

static void gate_open(struct gate *gate)
{
    atomic_store(&gate->open, true);
}

static void gate_wait(struct gate *gate)
{
    while (!atomic_load(&gate->open))
        sched_yield();
}

static void yield_often(void)
{
    for (int i = 0; i < 1000; i++)
        sched_yield();
}

/* ---- errors ----------------------------------------------------------------------- */

static void assert_start_refuses(struct rbwp_work_config config, const char *part)
{
    struct rbwp_work_manager *manager = (struct rbwp_work_manager *)&config;
    struct rbwp_error error = {0};
    assert_int_equal(rbwp_work_start(&config, &manager, &error), RBWP_E_INVALID);
    assert_null(manager);
    assert_non_null(strstr(error.text, part));
}

/* Each value that no manager can be made of is refused, with its reason. */
static void test_start_errors(void **state)
{
    (void)state;
    const size_t size = sizeof(struct rbwp_work_config);
    assert_start_refuses((struct rbwp_work_config){.size = 0}, "size");
    assert_start_refuses((struct rbwp_work_config){.size = size, .workers = 1025}, "1025 workers");
    assert_start_refuses((struct rbwp_work_config){.size = size, .stack_bytes = 1}, "stack");
    assert_start_refuses((struct rbwp_work_config){.size = size, .slice_ns = UINT64_MAX}, "slice");
    assert_start_refuses((struct rbwp_work_config){.size = size, .spin_ns = UINT64_MAX}, "spin");
}

static void test_add_errors(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    struct rbwp_work_handle handle = {9, 9};
    assert_int_equal(rbwp_work_add(manager, NULL, run_item, NULL, -1, &handle), RBWP_E_INVALID);
    assert_int_equal(handle.slot, 0);
    assert_int_equal(handle.generation, 0);
    assert_int_equal(rbwp_work_add(manager, "x", NULL, NULL, -1, &handle), RBWP_E_INVALID);
    assert_int_equal(rbwp_work_add(manager, "x", run_item, NULL, -2, &handle), RBWP_E_INVALID);
    static char name[RBWP_NAME_BYTES_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    assert_int_equal(rbwp_work_add(manager, name, run_item, NULL, -1, &handle), RBWP_E_LIMIT);
    stop(manager);
}

/* Handles that name no item. */
static void test_handle_errors(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item item = {0};
    add(manager, &item);
    const struct rbwp_work_handle bad[] = {
        {0, 0},
        {item.handle.slot, 0},
        {item.handle.slot, item.handle.generation + 1},
        {(uint16_t)(item.handle.slot + 1), item.handle.generation},
        {256, 1},
        {65535, 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(rbwp_work_make_active(manager, bad[i]), RBWP_E_INVALID);
        assert_int_equal(rbwp_work_remove(manager, bad[i]), RBWP_E_INVALID);
    }
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_AGAIN);
    stop(manager);
}

static void try_remove_self(struct item *item)
{
    item->status = rbwp_work_remove(item->manager, item->handle);
}
static void try_stop(struct item *item)
{
    item->status = rbwp_work_stop(item->manager, true, NULL);
}
static void try_run(struct item *item)
{
    item->status = rbwp_work_run(item->manager, 0);
}
static void try_drain(struct item *item)
{
    rbwp_work_drain(item->manager); /* returns at once */
    item->status = RBWP_E_STATE;
}

/* What a do_work must not do is refused, not a deadlock; the item goes on to be usable. */
static void test_refused_inside_do_work(void **state)
{
    (void)state;
    void (*const bodies[])(struct item *) = {try_remove_self, try_stop, try_run, try_drain};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct rbwp_work_manager *manager = start_workers(1);
        struct item item = {.body = bodies[i]};
        add(manager, &item);
        make_active(&item);
        rbwp_work_drain(manager);
        assert_int_equal(item.status, RBWP_E_STATE);
        assert_int_equal(item.runs, 1);
        make_active(&item);
        rbwp_work_drain(manager);
        assert_int_equal(item.runs, 2);
        stop(manager);
    }
}

/* A do_work may add, arm and remove others. */
static void add_and_remove(struct item *item)
{
    struct rbwp_work_handle other;
    assert_int_equal(rbwp_work_add(item->manager, "other", run_item, item->context, -1, &other),
                     RBWP_OK);
    assert_int_equal(rbwp_work_make_active(item->manager, other), RBWP_OK);
    assert_int_equal(rbwp_work_remove(item->manager, other), RBWP_OK);
}

static void test_allowed_inside_do_work(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item other = {0}, item = {.body = add_and_remove, .context = &other};
    add(manager, &item);
    make_active(&item);
    rbwp_work_drain(manager);
    assert_int_equal(item.runs, 1);
    assert_int_equal(other.runs, 0); /* removed before anybody could run it */
    stop(manager);
}

/* ---- running ------------------------------------------------------------------------ */

/* One round runs each active item once, requeued or not; with nothing active it says so. */
static void test_run_one_round(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item idle = {0}, once = {0}, again = {.requeues = 2}, self = {0};
    add(manager, &idle);
    add(manager, &once);
    add(manager, &again);
    add(manager, &self);
    self.then = &self;
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_AGAIN);
    make_active(&once);
    make_active(&again);
    make_active(&self);
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_OK);
    assert_int_equal(idle.runs, 0);
    assert_int_equal(once.runs, 1);
    assert_int_equal(again.runs, 1);
    assert_int_equal(self.runs, 1);
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_OK);
    assert_int_equal(once.runs, 1);
    assert_int_equal(again.runs, 2);
    self.then = NULL;
    assert_int_equal(rbwp_work_run(manager, UINT64_MAX), RBWP_OK);
    assert_int_equal(again.runs, 3);
    assert_int_equal(rbwp_work_run(manager, UINT64_MAX), RBWP_AGAIN);
    stop(manager);
}

/* A limit ends lending although an item requeues for ever. */
static void test_run_limit(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item item = {.requeues = UINT32_MAX};
    add(manager, &item);
    make_active(&item);
    assert_int_equal(rbwp_work_run(manager, 1000000), RBWP_OK);
    assert_true(item.runs > 1);
    stop(manager);
}

static void arm_self_five_times(struct item *item)
{
    for (int i = 0; i < 5 && item->runs == 1; i++)
        make_active(item);
}

/* Activations during a run are remembered, as one; so are several before it. */
static void test_activation_in_a_run(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item item = {.body = arm_self_five_times};
    add(manager, &item);
    make_active(&item);
    make_active(&item);
    rbwp_work_drain(manager);
    assert_int_equal(item.runs, 2);
    stop(manager);
}

#define SEQUENCE 300
static struct item *sequence[SEQUENCE];
static unsigned sequence_count;

static void note_sequence(struct item *item)
{
    if (sequence_count < SEQUENCE)
        sequence[sequence_count++] = item;
    else
        item->requeues = 0;
}

/* Items that ask for requeue for ever starve neither each other nor one that is armed. */
static void test_requeue_is_fair(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item items[12];
    for (size_t i = 0; i < 12; i++) {
        items[i] = (struct item){.requeues = UINT32_MAX, .body = note_sequence};
        add(manager, &items[i]);
        make_active(&items[i]);
    }
    sequence_count = 0;
    rbwp_work_drain(manager);
    assert_int_equal(sequence_count, SEQUENCE);
    for (size_t i = 12; i < SEQUENCE; i++)
        assert_ptr_equal(sequence[i], sequence[i - 12]);
    stop(manager);
}

static bool check_deadline(void *argument, struct rbwp_deadline deadline)
{
    uint64_t *slice_ticks_out = argument;
    uint64_t now = rbwp_now_ticks();
    *slice_ticks_out = deadline.ticks > now ? deadline.ticks - now : 0;
    while (!rbwp_deadline_passed(deadline)) {
    }
    return false;
}

/* The deadline is one slice after the begin, and passes. */
static void test_deadline(void **state)
{
    (void)state;
    assert_true(rbwp_deadline_passed((struct rbwp_deadline){0}));
    assert_false(rbwp_deadline_passed((struct rbwp_deadline){UINT64_MAX}));
    const uint64_t slice_ns = 50 * 1000000;
    struct rbwp_work_manager *manager =
        start((struct rbwp_work_config){.no_workers = true, .slice_ns = slice_ns});
    struct rbwp_work_handle handle;
    uint64_t left_ticks = 0;
    assert_int_equal(rbwp_work_add(manager, "slice", check_deadline, &left_ticks, -1, &handle),
                     RBWP_OK);
    assert_int_equal(rbwp_work_make_active(manager, handle), RBWP_OK);
    uint64_t begin = rbwp_now_ticks();
    rbwp_work_drain(manager);
    assert_true(left_ticks > 0);
    /* The rate is measured anew each time, at first over a millisecond. */
    assert_true(left_ticks <= 2 * rbwp_ticks_from_ns(slice_ns));
    assert_true(rbwp_now_ticks() - begin >= left_ticks);
    stop(manager);
}

/* ---- slots --------------------------------------------------------------------------- */

/* All 256 slots can be in use and run; there is no 257th; a released one can be had again. */
static void test_all_slots(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_workers(2);
    static struct item items[RBWP_SLOTS_MAX], extra;
    bool taken[RBWP_SLOTS_MAX] = {false};
    for (size_t i = 0; i < RBWP_SLOTS_MAX; i++) {
        items[i] = (struct item){0};
        add(manager, &items[i]);
        assert_true(items[i].handle.slot < RBWP_SLOTS_MAX);
        assert_false(taken[items[i].handle.slot]);
        taken[items[i].handle.slot] = true;
    }
    assert_int_equal(rbwp_work_add(manager, "257th", run_item, &extra, -1, &extra.handle),
                     RBWP_E_LIMIT);
    for (size_t i = 0; i < RBWP_SLOTS_MAX; i++)
        make_active(&items[i]);
    rbwp_work_drain(manager);
    for (size_t i = 0; i < RBWP_SLOTS_MAX; i++)
        assert_int_equal(items[i].runs, 1);
    assert_int_equal(rbwp_work_remove(manager, items[100].handle), RBWP_OK);
    add(manager, &extra);
    assert_int_equal(extra.handle.slot, items[100].handle.slot);
    stop(manager);
}

/* The next user of a slot inherits no activation, and old handles do not name it. */
static void test_slot_reuse(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item old = {0}, new = {0};
    add(manager, &old);
    make_active(&old);
    assert_int_equal(rbwp_work_remove(manager, old.handle), RBWP_OK);
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_AGAIN); /* what was queued is dropped */
    add(manager, &new);
    assert_int_equal(new.handle.slot, old.handle.slot);
    assert_int_not_equal(new.handle.generation, old.handle.generation);
    assert_int_equal(rbwp_work_make_active(manager, old.handle), RBWP_E_INVALID);
    assert_int_equal(rbwp_work_remove(manager, old.handle), RBWP_E_INVALID);
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_AGAIN);
    make_active(&new);
    rbwp_work_drain(manager);
    assert_int_equal(old.runs, 0);
    assert_int_equal(new.runs, 1);
    stop(manager);
}

/* ---- removal during a run --------------------------------------------------------------- */

static struct gate in_do_work, slot_emptied;
static _Atomic bool do_work_over;

static void open_when_emptied(const char *place)
{
    if (strcmp(place, "remove: slot emptied") == 0)
        gate_open(&slot_emptied);
}

static void stay_until_removed(struct item *item)
{
    make_active(item); /* would run again, were it not removed */
    gate_open(&in_do_work);
    gate_wait(&slot_emptied);
    assert_int_equal(rbwp_work_make_active(item->manager, item->handle), RBWP_E_INVALID);
    yield_often(); /* a remover that does not wait has the time to be wrong */
    atomic_store(&do_work_over, true);
}

/* Removal waits for the do_work that runs, and drops the activation and requeue that it left. */
static void test_remove_during_run(void **state)
{
    (void)state;
    in_do_work = slot_emptied = (struct gate){false};
    do_work_over = false;
    struct rbwp_work_manager *manager = start_workers(2);
    struct item item = {.body = stay_until_removed, .requeues = 5}, next = {0};
    add(manager, &item);
    make_active(&item);
    gate_wait(&in_do_work);
    atomic_store(&test_point_hook, open_when_emptied);
    assert_int_equal(rbwp_work_remove(manager, item.handle), RBWP_OK);
    atomic_store(&test_point_hook, NULL);
    assert_true(do_work_over);
    add(manager, &next);
    assert_int_equal(next.handle.slot, item.handle.slot);
    rbwp_work_drain(manager);
    assert_int_equal(item.runs, 1);
    assert_int_equal(next.runs, 0);
    stop(manager);
}

/* The worker need not fall idle for the remover to be told: here another item keeps it busy. */
static void test_remove_with_busy_worker(void **state)
{
    (void)state;
    in_do_work = slot_emptied = (struct gate){false};
    struct rbwp_work_manager *manager = start_workers(1);
    struct item item = {.body = stay_until_removed}, busy = {.requeues = UINT32_MAX};
    add(manager, &item);
    add(manager, &busy);
    make_active(&busy);
    make_active(&item);
    gate_wait(&in_do_work);
    atomic_store(&test_point_hook, open_when_emptied);
    assert_int_equal(rbwp_work_remove(manager, item.handle), RBWP_OK);
    atomic_store(&test_point_hook, NULL);
    assert_int_equal(rbwp_work_remove(manager, busy.handle), RBWP_OK);
    stop(manager);
}

static struct gate slot_claimed, go_on;

static void hold_claimer(const char *place)
{
    if (strcmp(place, "run: slot claimed") == 0) {
        gate_open(&slot_claimed);
        gate_wait(&go_on);
    } else if (strcmp(place, "remove: slot emptied") == 0) {
        gate_open(&go_on);
    }
}

/* A worker that has claimed the slot but not entered do_work sees the removal, or is waited for. */
static void test_remove_after_claim(void **state)
{
    (void)state;
    slot_claimed = go_on = (struct gate){false};
    struct rbwp_work_manager *manager = start_workers(1);
    struct item item = {0};
    add(manager, &item);
    atomic_store(&test_point_hook, hold_claimer);
    make_active(&item);
    gate_wait(&slot_claimed);
    assert_int_equal(rbwp_work_remove(manager, item.handle), RBWP_OK);
    atomic_store(&test_point_hook, NULL);
    assert_int_equal(item.runs, 0);
    stop(manager);
}

static void hold_claimer_until_remover_waits(const char *place)
{
    if (strcmp(place, "run: slot claimed") == 0) {
        gate_open(&slot_claimed);
        gate_wait(&go_on);
    } else if (strcmp(place, "wait: not yet") == 0) {
        gate_open(&go_on);
    }
}

/*
 * A worker that has claimed the slot finds it emptied: it tells the remover, who waits already,
 * that its claim is over, although it goes on with another item and never falls idle.
 */
static void test_remove_after_claim_with_busy_worker(void **state)
{
    (void)state;
    slot_claimed = go_on = (struct gate){false};
    struct rbwp_work_manager *manager = start_workers(1);
    struct item item = {0}, busy = {.requeues = UINT32_MAX};
    add(manager, &item);
    add(manager, &busy);
    atomic_store(&test_point_hook, hold_claimer_until_remover_waits);
    make_active(&item);
    gate_wait(&slot_claimed);
    make_active(&busy);
    assert_int_equal(rbwp_work_remove(manager, item.handle), RBWP_OK);
    atomic_store(&test_point_hook, NULL);
    assert_int_equal(item.runs, 0);
    assert_int_equal(rbwp_work_remove(manager, busy.handle), RBWP_OK);
    stop(manager);
}

/* ---- wake-ups ---------------------------------------------------------------------------- */

static struct gate looked, armed;

static void hold_looker(const char *place)
{
    if (strcmp(place, "look: nothing found") == 0) {
        gate_open(&looked);
        gate_wait(&armed);
    }
}

/* Starts a worker and holds it where it has looked for the last time, but still is a looker. */
static struct rbwp_work_manager *start_held_looker(void)
{
    looked = armed = (struct gate){false};
    atomic_store(&test_point_hook, hold_looker);
    struct rbwp_work_manager *manager = start_workers(1);
    gate_wait(&looked);
    return manager;
}

/* Armed after the worker's last look, when it needs no ring yet: it must not sleep over it. */
static void test_armed_before_lying_down(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_held_looker();
    struct item item = {0};
    add(manager, &item);
    make_active(&item);
    gate_open(&armed);
    rbwp_work_drain(manager);
    assert_int_equal(item.runs, 1);
    atomic_store(&test_point_hook, NULL);
    stop(manager);
}

static void rearm_and_let_sleep(struct item *item)
{
    if (item->runs > 1)
        return;
    make_active(item);
    gate_open(&armed);
    yield_often(); /* the worker falls asleep: the item runs, it is no candidate */
}

/* A lent thread that leaves an item active wakes somebody for it. */
static void test_lender_leaves_work(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_held_looker();
    struct item item = {.body = rearm_and_let_sleep};
    add(manager, &item);
    make_active(&item);
    assert_int_equal(rbwp_work_run(manager, 0), RBWP_OK);
    rbwp_work_drain(manager);
    assert_int_equal(item.runs, 2);
    atomic_store(&test_point_hook, NULL);
    stop(manager);
}

static _Atomic unsigned held_armers;

static void hold_armer(const char *place)
{
    if (strcmp(place, "make active: bit set, nobody woken") == 0 &&
        atomic_fetch_add(&held_armers, 1) == 0)
        gate_wait(&go_on);
}

static void *arm_in_thread(void *argument)
{
    make_active(argument);
    return NULL;
}

/* An armer that has set the bit but rung nobody yet: the item runs once, now or when it rings. */
static void test_armer_held_before_ring(void **state)
{
    (void)state;
    go_on = (struct gate){false};
    held_armers = 0;
    atomic_store(&test_point_hook, hold_armer);
    struct rbwp_work_manager *manager = start_workers(2);
    struct item item = {0}, other = {0};
    add(manager, &item);
    add(manager, &other);
    pthread_t armer;
    assert_int_equal(pthread_create(&armer, NULL, arm_in_thread, &item), 0);
    while (held_armers == 0)
        sched_yield();
    make_active(&other); /* not held; wakes a worker, which may take both */
    while (other.runs == 0)
        sched_yield();
    gate_open(&go_on);
    pthread_join(armer, NULL);
    rbwp_work_drain(manager);
    assert_int_equal(item.runs, 1);
    assert_int_equal(other.runs, 1);
    atomic_store(&test_point_hook, NULL);
    stop(manager);
}

static struct gate partner_ran;

static void open_partner(struct item *item)
{
    (void)item;
    gate_open(&partner_ran);
}
static void wait_for_partner(struct item *item)
{
    (void)item;
    gate_wait(&partner_ran);
}

static void assert_both_run(struct rbwp_work_manager *manager, unsigned rounds)
{
    struct item waits = {.body = wait_for_partner}, opens = {.body = open_partner};
    add(manager, &waits);
    add(manager, &opens);
    for (unsigned round = 0; round < rounds; round++) {
        partner_ran = (struct gate){false};
        make_active(&waits);
        make_active(&opens);
        rbwp_work_drain(manager);
        assert_int_equal(waits.runs, round + 1);
        assert_int_equal(opens.runs, round + 1);
    }
    assert_int_equal(manager->settled.waiters, 0); /* nobody waits: signals need no system call */
    stop(manager);
}

/*
 * Two workers, two items armed at once, of which one ends only when the other has run: so both must
 * be running, whoever was awake, asleep or looking. Catches a looker that leaves work behind.
 */
static void test_both_workers_wake(void **state)
{
    (void)state;
    assert_both_run(start_workers(2), 3000);
}

/* The same, where idle workers spin or, on few CPUs, step aside. */
static void test_both_workers_come_back(void **state)
{
    (void)state;
    assert_both_run(start((struct rbwp_work_config){.workers = 2}), 200);
}

/* ---- more workers than pay ----------------------------------------------------------------- */

static unsigned times_aside;

static void count_aside(const char *place)
{
    times_aside += strcmp(place, "crowd: aside") == 0;
}

/* How often a worker of that manager steps aside which took so many ns for each run of its last
 * ones. Nobody runs anything meanwhile, so each time ends after one pause. */
static unsigned judge(struct work_runner *runner, uint64_t ns_per_run, uint64_t now)
{
    times_aside = 0;
    runner->crowd.runs = CROWD_RUNS;
    runner->crowd.ticks = rbwp_ticks_from_ns(CROWD_RUNS * ns_per_run);
    crowd_judge(runner, now);
    assert_int_equal(runner->crowd.runs, 0);
    assert_int_equal(runner->group->crowd.aside, 0);
    return times_aside;
}

/* Each worker that has company measures its runs, and one that is alone does not. */
static void test_runs_are_measured(void **state)
{
    (void)state;
    enum { RUNS = CROWD_RUNS - 1 };
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct rbwp_work_manager *manager = start_workers(workers);
        struct item item = {.requeues = RUNS - 1};
        unsigned measured = 0;
        add(manager, &item);
        make_active(&item);
        rbwp_work_drain(manager);
        while (atomic_load(&manager->groups[0].bell.counts) != workers) /* all sleep */
            sched_yield();
        for (uint32_t i = 0; i < workers; i++)
            measured += manager->workers[i].crowd.runs;
        assert_int_equal(item.runs, RUNS);
        assert_int_equal(measured, workers > 1 ? RUNS : 0);
        stop(manager);
    }
}

/* A further worker steps aside if its runs take 7/4 as long as the first one's did alone,
 * and for a moment if that is not known; never from long runs, and not by what was true long ago.
 */
static void test_who_brings_nothing_steps_aside(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_workers(2);
    struct work_group *group = &manager->groups[0];
    struct work_runner further = {.manager = manager, .group = group};
    struct work_runner first = further, *worker = group->crowd.first;
    const uint64_t ms = rbwp_ticks_from_ns(1000000);
    uint64_t now = rbwp_now_ticks();
    while (doorbell_sleepers(&group->bell) < 2) /* its own workers: they measure nothing now */
        sched_yield();
    group->crowd.first = &first;
    atomic_store(&test_point_hook, count_aside);

    assert_int_equal(judge(&further, 50, now), 1);        /* not known: once */
    assert_int_equal(judge(&further, 50, now + ms), 0);   /* and not soon again */
    assert_int_equal(judge(&first, 50, now + 2 * ms), 0); /* alone at its end */
    assert_int_equal(group->crowd.alone_ticks, 0);        /* but at its beginning? */
    assert_int_equal(judge(&first, 50, now + 2 * ms), 0);
    assert_int_not_equal(group->crowd.alone_ticks, 0);
    assert_int_equal(judge(&further, 80, now + 2 * ms), 0);   /* two do more than one */
    assert_int_equal(judge(&further, 90, now + 2 * ms), 1);   /* not enough */
    assert_int_equal(judge(&further, 1500, now + 2 * ms), 0); /* long runs */
    assert_int_equal(judge(&further, 90, now + 3 * ms), 0);   /* no longer known */
    assert_int_equal(judge(&first, 1500, now + 3 * ms), 0);
    assert_int_equal(group->crowd.alone_ticks, 0); /* it runs long ones: all are welcome */

    atomic_store(&test_point_hook, NULL);
    group->crowd.first = worker;
    stop(manager);
}

/* ---- spinning ---------------------------------------------------------------------------- */

static _Atomic unsigned useless_spins;
static _Atomic uint64_t next_spin_ticks;

static void note_spin(const char *place)
{
    if (strcmp(place, "look: nothing found") != 0)
        return;
    atomic_store(&next_spin_ticks, work_runner_here()->spin_ticks);
    atomic_fetch_add(&useless_spins, 1);
}

/* A spin that found nothing halves the next one, but each 16th is as long as allowed. */
static void test_useless_spins_get_shorter(void **state)
{
    (void)state;
    useless_spins = 0;
    atomic_store(&test_point_hook, note_spin);
    struct rbwp_work_manager *manager = start((struct rbwp_work_config){.workers = 1});
    struct item item = {0};
    add(manager, &item);
    uint64_t expected_ticks = manager->spin_ticks;
    assert_true(expected_ticks > 0);
    for (unsigned spins = 1; spins <= 40; spins++) {
        while (useless_spins < spins) /* one for each time that the worker falls idle */
            sched_yield();
        expected_ticks = spins % 16 == 0 ? manager->spin_ticks : expected_ticks / 2;
        assert_true(next_spin_ticks == expected_ticks);
        make_active(&item);
    }
    atomic_store(&test_point_hook, NULL);
    stop(manager);
}

static void note_spin_of_runner(struct item *item)
{
    (void)item;
    atomic_store(&next_spin_ticks, work_runner_here()->spin_ticks);
}

/* A spin that found work makes the next one as long as allowed. */
static void test_useful_spins_stay_long(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager =
        start((struct rbwp_work_config){.workers = 1, .spin_ns = UINT64_C(3600) * 1000000000});
    struct item item = {.body = note_spin_of_runner};
    add(manager, &item);
    for (unsigned spins = 1; spins <= 3; spins++) {
        while (!doorbell_is_watched(&manager->groups[0].bell))
            sched_yield();
        make_active(&item);
        rbwp_work_drain(manager);
        assert_true(next_spin_ticks == manager->spin_ticks);
    }
    stop(manager);
}

/* ---- drain --------------------------------------------------------------------------------- */

/* Chains of items that arm each other and end at once: drain is not fooled between two links. */
static void test_drain_follows_chains(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_workers(2);
    enum { LINKS = 40 };
    struct item links[LINKS];
    for (size_t i = 0; i < LINKS; i++) {
        links[i] = (struct item){.then = i + 1 < LINKS ? &links[i + 1] : NULL};
        add(manager, &links[i]);
    }
    for (unsigned round = 1; round <= 300; round++) {
        make_active(&links[0]);
        rbwp_work_drain(manager);
        assert_int_equal(links[LINKS - 1].runs, round);
    }
    stop(manager);
}

static struct gate word_read, first_released;
static _Atomic bool second_done;

static void hold_between_words(const char *place)
{
    if (strcmp(place, "quiet: a word read") == 0) {
        if (!atomic_load(&word_read.open)) {
            gate_open(&word_read);
            gate_wait(&first_released);
        }
    } else if (strcmp(place, "run: slot released") == 0) {
        gate_open(&first_released);
    }
}

static void end_between_words(struct item *item)
{
    (void)item;
    gate_wait(&word_read);
}

static void end_late(struct item *item)
{
    (void)item;
    yield_often();
    atomic_store(&second_done, true);
}

/*
 * An item makes another active, in a part of the mask at which drain has looked already, and ends
 * before drain looks at its own part: drain must look again.
 */
static void test_drain_looks_again(void **state)
{
    (void)state;
    word_read = first_released = (struct gate){false};
    second_done = false;
    struct rbwp_work_manager *manager = start_workers(1);
    struct item second = {.body = end_late}; /* in the lowest slot, so in the word read first */
    struct item first = {.body = end_between_words, .then = &second};
    add(manager, &second);
    add(manager, &first);
    assert_int_equal(second.handle.slot % 8, 0);
    make_active(&first);
    while (first.runs == 0)
        sched_yield();
    atomic_store(&test_point_hook, hold_between_words);
    rbwp_work_drain(manager);
    assert_true(second_done);
    atomic_store(&test_point_hook, NULL);
    stop(manager);
}

static struct gate drainer_waits;

static void hold_looker_and_tell_of_drainer(const char *place)
{
    hold_looker(place);
    if (strcmp(place, "wait: not yet") == 0)
        gate_open(&drainer_waits);
}

static _Atomic int drainer_id;

static void *drain_in_thread(void *manager)
{
    atomic_store(&drainer_id, gettid());
    rbwp_work_drain(manager);
    return NULL;
}

/* A removal that drops an activation leaves nothing to do: a drainer who waits is told, although no
 * worker falls idle by it. */
static void test_drain_ends_with_dropped_activation(void **state)
{
    (void)state;
    drainer_waits = (struct gate){false};
    struct rbwp_work_manager *manager = start_held_looker();
    atomic_store(&test_point_hook, hold_looker_and_tell_of_drainer);
    struct item item = {0};
    pthread_t drainer;
    add(manager, &item);
    make_active(&item);
    assert_int_equal(pthread_create(&drainer, NULL, drain_in_thread, manager), 0);
    gate_wait(&drainer_waits);
    assert_int_equal(rbwp_work_remove(manager, item.handle), RBWP_OK);
    gate_open(&armed);
    pthread_join(drainer, NULL);
    assert_int_equal(item.runs, 0);
    atomic_store(&test_point_hook, NULL);
    stop(manager);
}

static bool is_asleep(int thread_id)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread_id);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    return strstr(text, ") S ") != NULL;
}

static void *run_in_thread(void *manager)
{
    assert_int_equal(rbwp_work_run(manager, UINT64_MAX), RBWP_OK);
    return NULL;
}

/*
 * Without workers a drainer sleeps while a lent thread has the only work, wakes to run what is made
 * active meanwhile, though the lent thread may wait for that, and returns when the last run is
 * over.
 */
static void test_drain_without_workers_sleeps(void **state)
{
    (void)state;
    partner_ran = (struct gate){false};
    drainer_id = 0;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item waits = {.body = wait_for_partner}, opens = {.body = open_partner};
    pthread_t lent, drainer;
    add(manager, &waits);
    add(manager, &opens);
    make_active(&waits);
    assert_int_equal(pthread_create(&lent, NULL, run_in_thread, manager), 0);
    while (waits.runs == 0)
        sched_yield();
    assert_int_equal(pthread_create(&drainer, NULL, drain_in_thread, manager), 0);
    while (drainer_id == 0 || !is_asleep(drainer_id))
        sched_yield();
    make_active(&opens); /* who sleeps must run it: the lent thread waits for it */
    pthread_join(drainer, NULL);
    pthread_join(lent, NULL);
    assert_int_equal(opens.runs, 1);
    stop(manager);
}

/* ---- stop ------------------------------------------------------------------------------------ */

static void test_stop_of_nothing(void **state)
{
    (void)state;
    struct rbwp_slot_set set = {{1, 2, 3, 4}};
    assert_int_equal(rbwp_work_stop(NULL, true, &set), RBWP_OK);
    for (size_t i = 0; i < RBWP_SLOTS_MAX / 64; i++)
        assert_int_equal(set.bits[i], 0);
}

static bool is_in(const struct rbwp_slot_set *set, unsigned slot)
{
    return (set->bits[slot / 64] >> (slot % 64) & 1) != 0;
}

/* Handed back is exactly what was active or asked for requeue; slots are free afterwards. */
static void test_stop_hands_back(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_without_workers();
    enum { COUNT = 100 };
    static struct item items[COUNT];
    struct rbwp_slot_set expected = {{0}}, queued;
    for (unsigned i = 0; i < COUNT; i++) {
        items[i] = (struct item){.requeues = i % 5 == 0 ? 10 : 0};
        add(manager, &items[i]);
    }
    for (unsigned i = 0; i < COUNT; i += 5)
        make_active(&items[i]);
    rbwp_work_run(manager, 0); /* each has run once and wants to run again */
    for (unsigned i = 0; i < COUNT; i += 3)
        make_active(&items[i]);
    assert_int_equal(rbwp_work_remove(manager, items[3].handle), RBWP_OK);
    for (unsigned i = 0; i < COUNT; i++)
        if (i != 3 && (i % 5 == 0 || i % 3 == 0))
            expected.bits[items[i].handle.slot / 64] |= UINT64_C(1) << (items[i].handle.slot % 64);
    assert_int_equal(rbwp_work_stop(manager, false, &queued), RBWP_OK);
    assert_memory_equal(&queued, &expected, sizeof queued);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(items[i].runs, i % 5 == 0);
    manager = start_without_workers();
    struct item again = {0};
    add(manager, &again);
    assert_int_equal(again.handle.slot, items[0].handle.slot);
    stop(manager);
}

static void arm_until_refused(struct item *item)
{
    while ((item->status = rbwp_work_make_active(item->manager, item->handle)) == RBWP_OK) {
        gate_open(&in_do_work);
        sched_yield();
    }
}

/* Stop lets the do_work that runs finish; what it armed before is handed back; then it is told. */
static void test_stop_during_run(void **state)
{
    (void)state;
    in_do_work = (struct gate){false};
    struct rbwp_work_manager *manager = start_workers(2);
    struct item item = {.body = arm_until_refused};
    add(manager, &item);
    make_active(&item);
    gate_wait(&in_do_work);
    struct rbwp_slot_set queued;
    assert_int_equal(rbwp_work_stop(manager, false, &queued), RBWP_OK);
    assert_int_equal(item.status, RBWP_E_STATE);
    assert_int_equal(item.runs, 1);
    assert_true(is_in(&queued, item.handle.slot));
}

static void add_until_refused(struct item *item)
{
    struct rbwp_work_handle handle;
    gate_open(&in_do_work);
    for (;;) {
        item->status = rbwp_work_add(item->manager, "late", run_item, NULL, -1, &handle);
        if (item->status != RBWP_OK)
            break;
        assert_int_equal(rbwp_work_remove(item->manager, handle), RBWP_OK);
        sched_yield();
    }
}

/* Stop with finish runs what is queued, and what that arms, but takes no new items. */
static void test_stop_finishes(void **state)
{
    (void)state;
    for (int with_workers = 0; with_workers <= 1; with_workers++) {
        struct rbwp_work_manager *manager =
            with_workers ? start_workers(2) : start_without_workers();
        struct item last = {0}, middle = {.then = &last};
        struct item first = {.then = &middle, .requeues = 20};
        struct item adds = {.body = with_workers ? add_until_refused : NULL};
        add(manager, &first);
        add(manager, &middle);
        add(manager, &last);
        add(manager, &adds);
        in_do_work = (struct gate){false};
        if (with_workers) {
            make_active(&adds);
            gate_wait(&in_do_work);
        }
        make_active(&first);
        struct rbwp_slot_set queued;
        assert_int_equal(rbwp_work_stop(manager, true, &queued), RBWP_OK);
        for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
            assert_false(is_in(&queued, slot));
        assert_int_equal(first.runs, 21);
        assert_true(middle.runs >= 1);
        assert_true(last.runs >= 1);
        if (with_workers)
            assert_int_equal(adds.status, RBWP_E_STATE);
    }
}

static void leave_when_closed(struct item *item)
{
    gate_open(&in_do_work);
    while (rbwp_work_make_active(item->manager, item->handle) != RBWP_E_STATE)
        sched_yield();
    yield_often();
    atomic_store(&do_work_over, true);
}

static void *lend_once(void *argument)
{
    rbwp_work_run(argument, UINT64_MAX);
    return NULL;
}

/* Stop waits for a lent thread that is in a do_work. */
static void test_stop_waits_for_lent(void **state)
{
    (void)state;
    in_do_work = (struct gate){false};
    do_work_over = false;
    struct rbwp_work_manager *manager = start_without_workers();
    struct item item = {.body = leave_when_closed};
    add(manager, &item);
    make_active(&item);
    pthread_t lent;
    assert_int_equal(pthread_create(&lent, NULL, lend_once, manager), 0);
    gate_wait(&in_do_work);
    struct rbwp_slot_set queued;
    assert_int_equal(rbwp_work_stop(manager, false, &queued), RBWP_OK);
    assert_true(do_work_over);
    assert_true(is_in(&queued, item.handle.slot));
    pthread_join(lent, NULL);
}

/* ---- worker threads ----------------------------------------------------------------------- */

/* What a worker finds about itself. */
struct seen {
    int cpus, cpu;
    size_t stack_bytes;
    sigset_t blocked;
    char name[16];
};

static void look_around(struct item *item)
{
    struct seen *seen = item->context;
    cpu_set_t set;
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof set, &set), 0);
    seen->cpus = CPU_COUNT(&set);
    for (seen->cpu = 0; !CPU_ISSET((size_t)seen->cpu, &set); seen->cpu++) {
    }
    pthread_attr_t attributes;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_getstacksize(&attributes, &seen->stack_bytes);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
}

static struct seen look_at_worker(struct rbwp_work_config config)
{
    struct rbwp_work_manager *manager = start(config);
    struct seen seen = {0};
    struct item item = {.body = look_around, .context = &seen};
    add(manager, &item);
    make_active(&item);
    rbwp_work_drain(manager);
    stop(manager);
    return seen;
}

static int cpus_allowed(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

/* Pinned, a worker has one CPU; else all that the process has. */
static void test_pin(void **state)
{
    (void)state;
    assert_int_equal(look_at_worker((struct rbwp_work_config){.pin = true}).cpus, 1);
    assert_int_equal(look_at_worker((struct rbwp_work_config){.workers = 1}).cpus, cpus_allowed());
}

/* More workers than CPUs: the rest is not pinned, and start does not fail. */
static void test_pin_more_than_cpus(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start((struct rbwp_work_config){
        .pin = true, .workers = (uint32_t)cpus_allowed() + 2, .no_spin = true});
    struct item item = {0};
    add(manager, &item);
    make_active(&item);
    rbwp_work_drain(manager);
    assert_int_equal(item.runs, 1);
    stop(manager);
}

/* The stack is as large as asked; the host's signals are not delivered to workers. */
static void test_worker_thread(void **state)
{
    (void)state;
    struct seen seen = look_at_worker((struct rbwp_work_config){.stack_bytes = 64 << 20});
    assert_true(seen.stack_bytes >= 64 << 20); /* more than any system's default */
    assert_true(sigismember(&seen.blocked, SIGTERM));
    assert_true(sigismember(&seen.blocked, SIGUSR1));
    assert_false(sigismember(&seen.blocked, SIGSEGV));
    assert_string_equal(seen.name, "worker 0");
    sigset_t here;
    pthread_sigmask(SIG_SETMASK, NULL, &here);
    assert_false(sigismember(&here, SIGTERM));
}

/* ---- NUMA: this test's build reads the domains from a folder it makes up -----------------------
 */

static void write_text(const char *path, const char *content)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void make_two_domains(int first_cpu, int second_cpu)
{
    char list[32];
    mkdir(NUMA_NODE_FOLDER, 0700);
    mkdir(NUMA_NODE_FOLDER "/node3", 0700);
    mkdir(NUMA_NODE_FOLDER "/node5", 0700);
    write_text(NUMA_NODE_FOLDER "/online", "3,5\n");
    snprintf(list, sizeof list, "%d\n", first_cpu);
    write_text(NUMA_NODE_FOLDER "/node3/cpulist", list);
    snprintf(list, sizeof list, "%d\n", second_cpu);
    write_text(NUMA_NODE_FOLDER "/node5/cpulist", list);
}

static void remove_domains(void)
{
    unlink(NUMA_NODE_FOLDER "/node3/cpulist");
    unlink(NUMA_NODE_FOLDER "/node5/cpulist");
    unlink(NUMA_NODE_FOLDER "/online");
    rmdir(NUMA_NODE_FOLDER "/node3");
    rmdir(NUMA_NODE_FOLDER "/node5");
    rmdir(NUMA_NODE_FOLDER);
}

static int nth_cpu(int n)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    int cpu = 0;
    for (;; cpu++)
        if (CPU_ISSET((size_t)cpu, &set) && n-- == 0)
            return cpu;
}

/* Items of a domain run on its workers, and wake them; others, and those of a domain without
 * workers, run on any. */
static void test_domains(void **state)
{
    (void)state;
    if (cpus_allowed() < 2)
        skip();
    make_two_domains(nth_cpu(0), nth_cpu(1));
    struct rbwp_work_manager *manager =
        start((struct rbwp_work_config){.numa = true, .numa_pin = true, .no_spin = true});
    const int domains[] = {3, 5, -1, 99};
    struct item items[4];
    struct seen seen[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        items[i] = (struct item){.manager = manager, .body = look_around, .context = &seen[i]};
        assert_int_equal(rbwp_work_add(manager, "domain item", run_item, &items[i], domains[i],
                                       &items[i].handle),
                         RBWP_OK);
    }
    for (unsigned round = 1; round <= 300; round++) {
        for (size_t i = 0; i < 4; i++)
            make_active(&items[(i + round) % 4]);
        rbwp_work_drain(manager);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(items[i].runs, round);
            assert_int_equal(seen[i].cpus, 1);
        }
        assert_int_equal(seen[0].cpu, nth_cpu(0));
        assert_int_equal(seen[1].cpu, nth_cpu(1));
    }
    stop(manager);
    remove_domains();
}

/* Domains whose workers are not pinned: each item runs on its domain's worker, which has all of the
 * process's CPUs. */
static void test_domains_without_pins(void **state)
{
    (void)state;
    if (cpus_allowed() < 2)
        skip();
    make_two_domains(nth_cpu(0), nth_cpu(1));
    struct rbwp_work_manager *manager =
        start((struct rbwp_work_config){.numa = true, .no_spin = true});
    const int domains[] = {3, 5};
    struct item items[2];
    struct seen seen[2] = {0};
    for (size_t i = 0; i < 2; i++) {
        items[i] = (struct item){.manager = manager, .body = look_around, .context = &seen[i]};
        assert_int_equal(rbwp_work_add(manager, "domain item", run_item, &items[i], domains[i],
                                       &items[i].handle),
                         RBWP_OK);
        make_active(&items[i]);
    }
    rbwp_work_drain(manager);
    assert_int_equal(seen[0].cpus, cpus_allowed());
    assert_int_equal(seen[1].cpus, cpus_allowed());
    assert_string_not_equal(seen[0].name, seen[1].name);
    stop(manager);
    remove_domains();
}

/* Two items that block their domain's worker until the roaming one has run again. */
static struct item roaming, blocking[2];

static void arm_blocker_here(struct item *item)
{
    struct seen seen;
    item->context = &seen;
    look_around(item);
    if (item->runs % 2 == 1)
        make_active(&blocking[seen.cpu == nth_cpu(0) ? 0 : 1]);
    item->requeues = item->runs % 2 == 1 ? UINT32_MAX : 0;
}

static void wait_for_second_run(struct item *item)
{
    (void)item;
    while (roaming.runs % 2 != 0)
        sched_yield();
}

/* A worker that requeues an item and takes up one that only its domain may run wakes the other
 * domain's worker for the first. */
static void test_requeue_wakes_other_domain(void **state)
{
    (void)state;
    if (cpus_allowed() < 2)
        skip();
    make_two_domains(nth_cpu(0), nth_cpu(1));
    struct rbwp_work_manager *manager =
        start((struct rbwp_work_config){.numa = true, .numa_pin = true, .no_spin = true});
    roaming = (struct item){.body = arm_blocker_here};
    add(manager, &roaming);
    for (int i = 0; i < 2; i++) {
        blocking[i] = (struct item){.manager = manager, .body = wait_for_second_run};
        assert_int_equal(rbwp_work_add(manager, "blocking", run_item, &blocking[i], i == 0 ? 3 : 5,
                                       &blocking[i].handle),
                         RBWP_OK);
    }
    for (unsigned round = 1; round <= 200; round++) {
        make_active(&roaming);
        rbwp_work_drain(manager);
        assert_int_equal(roaming.runs, 2 * round);
        yield_often(); /* the other worker falls asleep, mostly */
    }
    stop(manager);
    remove_domains();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_errors),
        cmocka_unit_test(test_add_errors),
        cmocka_unit_test(test_handle_errors),
        cmocka_unit_test(test_refused_inside_do_work),
        cmocka_unit_test(test_allowed_inside_do_work),
        cmocka_unit_test(test_run_one_round),
        cmocka_unit_test(test_run_limit),
        cmocka_unit_test(test_activation_in_a_run),
        cmocka_unit_test(test_requeue_is_fair),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_all_slots),
        cmocka_unit_test(test_slot_reuse),
        cmocka_unit_test(test_remove_during_run),
        cmocka_unit_test(test_remove_with_busy_worker),
        cmocka_unit_test(test_remove_after_claim),
        cmocka_unit_test(test_remove_after_claim_with_busy_worker),
        cmocka_unit_test(test_armed_before_lying_down),
        cmocka_unit_test(test_lender_leaves_work),
        cmocka_unit_test(test_armer_held_before_ring),
        cmocka_unit_test(test_both_workers_wake),
        cmocka_unit_test(test_both_workers_come_back),
        cmocka_unit_test(test_runs_are_measured),
        cmocka_unit_test(test_who_brings_nothing_steps_aside),
        cmocka_unit_test(test_useless_spins_get_shorter),
        cmocka_unit_test(test_useful_spins_stay_long),
        cmocka_unit_test(test_drain_follows_chains),
        cmocka_unit_test(test_drain_looks_again),
        cmocka_unit_test(test_drain_ends_with_dropped_activation),
        cmocka_unit_test(test_drain_without_workers_sleeps),
        cmocka_unit_test(test_stop_of_nothing),
        cmocka_unit_test(test_stop_hands_back),
        cmocka_unit_test(test_stop_during_run),
        cmocka_unit_test(test_stop_finishes),
        cmocka_unit_test(test_stop_waits_for_lent),
        cmocka_unit_test(test_pin),
        cmocka_unit_test(test_pin_more_than_cpus),
        cmocka_unit_test(test_worker_thread),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_domains_without_pins),
        cmocka_unit_test(test_requeue_wakes_other_domain),
    };
    alarm(TIMEOUT_S);
    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
