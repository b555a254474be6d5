/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races in the way of a chunk, each with one thread held in the middle of it:
 * inside a call while stop waits, before and after a chunk is queued, with a
 * job taken, inside a pop of the free list, inside detach, cancelled at the
 * cap, in the middle of a stop while the process exits.
 *
 * Calls carry a number, so a lost, doubled or moved one shows in the file.
 */
#include "race_hold.h"

#include "chunk_pool.h"
#include "record_support.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_S 240

/* ---- what is recorded ------------------------------------------------------------------- */

/* An item with its number, which the file gives back. */
static void record_item(uint64_t number)
{
    rbwp_begin(7);
    rbwp_gpu_work(number, 7, 0, 0);
    rbwp_end();
}

struct recording_thread {
    pthread_t thread;
    const char *name;
    unsigned items;
    bool may_be_held, detaches;
    atomic_bool recorded, go_on, detached;
};

static void *record(void *argument)
{
    struct recording_thread *me = argument;
    may_be_held = me->may_be_held;
    (void)rbwp_thread_attach(me->name);
    for (unsigned i = 1; i <= me->items; i++)
        record_item(i);
    atomic_store(&me->recorded, true);
    while (!me->detaches && !atomic_load(&me->go_on))
        sched_yield();
    (void)rbwp_thread_detach();
    atomic_store(&me->detached, true);
    return NULL;
}

static void start_thread(struct recording_thread *thread)
{
    assert_int_equal(pthread_create(&thread->thread, NULL, record, thread), 0);
}

static void join_thread(struct recording_thread *thread)
{
    atomic_store(&thread->go_on, true);
    pthread_join(thread->thread, NULL);
}

/* The thread's items are in the file, all, once, in order. */
static void assert_items(const struct recorded *recorded, const char *name, unsigned items)
{
    uint64_t id = thread_named(recorded, name)->thread_id, last = 0;
    assert_matched(recorded);
    for (size_t i = 0; i < recorded->events; i++) {
        const struct rbwp_record *event = &recorded->event[i].record;
        if (recorded->event[i].thread_id != id || event->kind != RBWP_GPU_WORK)
            continue;
        assert_int_equal(event->proc_id, last + 1);
        last = event->proc_id;
    }
    assert_int_equal(last, items);
}

static void assert_file(const struct recording_thread *thread)
{
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_items(&recorded, thread->name, thread->items);
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
}

/* ---- stop, on a thread of its own --------------------------------------------------------- */

static struct stopper {
    pthread_t thread;
    struct rbwp_session *session;
    bool may_be_held;
    enum rbwp_status status;
    atomic_bool stopped;
} stopper;

static void *stop_session(void *argument)
{
    (void)argument;
    may_be_held = stopper.may_be_held;
    stopper.status = rbwp_session_stop(stopper.session, NULL);
    atomic_store(&stopper.stopped, true);
    return NULL;
}

static void start_to_stop(struct rbwp_session *session, bool held)
{
    stopper.session = session;
    stopper.may_be_held = held;
    atomic_store(&stopper.stopped, false);
    assert_int_equal(pthread_create(&stopper.thread, NULL, stop_session, NULL), 0);
}

static void join_stopper(void)
{
    pthread_join(stopper.thread, NULL);
    assert_int_equal(stopper.status, RBWP_OK);
}

/* A session whose chunks hold a few hundred events. Nobody gives up at the cap. */
static struct rbwp_session *start_small(void)
{
    struct rbwp_session_config config = small_chunks(1);
    config.stall_ns = UINT64_C(3600) * 1000000000;
    return start(&config);
}

enum { ONE_CHUNK = 100, SEVERAL_CHUNKS = 2000 }; /* items */

/* ---- tests ---------------------------------------------------------------------------------- */

/*
 * Stop waits for a call that is under way, here one that hands its full chunk over; that call's
 * event is in the file. Stop must not touch the thread's state before.
 */
static void test_stop_waits_for_a_call(void **state)
{
    (void)state;
    struct rbwp_session *session = start_small();
    struct hold *in_call = hold_at(0, "publish: chunk not yet in the queue");
    struct hold *stopping = hold_at(1, "recording end: level cleared");
    struct recording_thread thread = {.name = "held", .items = 400, .may_be_held = true};
    start_thread(&thread);
    hold_wait(in_call);
    start_to_stop(session, true);
    hold_wait(stopping);
    hold_release(stopping);
    assert_true(stays_false(&stopper.stopped));
    hold_release(in_call);
    join_stopper();
    hold_nothing();
    join_thread(&thread);

    /* What it recorded after the call that stop waited for is not of the session. */
    struct recorded recorded = read_back(test_path("test.bin"));
    uint64_t id = thread_named(&recorded, "held")->thread_id;
    unsigned events = 0;
    for (size_t i = 0; i < recorded.events; i++)
        events += recorded.event[i].thread_id == id;
    size_t words = 0; /* of a chunk that a begin may use, and the call that found it full */
    struct chunk_pool *pool = chunk_pool_new(64 << 10);
    words = chunk_words(pool) - 32;
    chunk_pool_free(pool);
    assert_true(events > words / 2 && events <= words + 1);
    recorded_free(&recorded);
}

/* A chunk that stop has taken from its thread but not queued is not forgotten by the writer, which
 * has nothing to do meanwhile. */
static void test_stop_held_before_it_queues(void **state)
{
    (void)state;
    struct recording_thread thread = {.name = "recorder", .items = 10};
    struct rbwp_session *session = start_small();
    start_thread(&thread);
    while (!thread.recorded)
        sched_yield();
    struct hold *publishing = hold_at(0, "publish: chunk not yet in the queue");
    start_to_stop(session, true);
    hold_wait(publishing);
    assert_true(stays_false(&stopper.stopped));
    hold_release(publishing);
    join_stopper();
    hold_nothing();
    join_thread(&thread);
    assert_file(&thread);
}

/* A chunk is on the stack, and its thread does not come to wake the writer: another chunk's wake-up
 * takes it along, and the late one does no harm. */
static void test_publisher_held_before_it_wakes(void **state)
{
    (void)state;
    struct rbwp_session *session = start_small();
    struct hold *queued = hold_at(0, "publish: queued, writer not woken");
    struct hold *written = count_at(1, "drain: job written, chunk not yet free");
    struct recording_thread held = {.name = "held", .items = SEVERAL_CHUNKS, .may_be_held = true};
    struct recording_thread other = {.name = "other", .items = SEVERAL_CHUNKS};
    start_thread(&held);
    hold_wait(queued);
    start_thread(&other);
    while (written->passed < 2) /* one of them is the held thread's: it was there first */
        sched_yield();
    hold_release(queued);
    while (!held.recorded || !other.recorded)
        sched_yield();
    stop(session);
    hold_nothing();
    join_thread(&held);
    join_thread(&other);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_items(&recorded, "held", held.items);
    assert_items(&recorded, "other", other.items);
    recorded_free(&recorded);
}

/*
 * A recording thread at the cap has taken a chunk's job and loses its CPU; the writer encodes later
 * chunks meanwhile. They must wait for their turn in the file. To get to the cap, the writer is
 * held before it writes the first block, which is another thread's: were the held thread to come to
 * the cap before, it would keep the first turn, and there would be no write to hold.
 */
static void test_encoder_held(void **state)
{
    (void)state;
    struct rbwp_session *session = start_small();
    struct hold *writing = hold_anyone_at(0, "output: before a write");
    struct recording_thread first = {.name = "first", .items = ONE_CHUNK};
    struct recording_thread thread = {
        .name = "recorder", .items = SEVERAL_CHUNKS, .may_be_held = true};
    start_thread(&first);
    hold_wait(writing);
    struct hold *taken = hold_at(1, "drain: job taken");
    start_thread(&thread);
    hold_wait(taken);
    unsigned before = taken->passed;
    hold_release(writing);
    while (taken->passed < before + 2)
        sched_yield();
    hold_release(taken);
    while (!thread.recorded || !first.recorded)
        sched_yield();
    stop(session);
    hold_nothing();
    join_thread(&thread);
    join_thread(&first);
    assert_file(&thread);
    assert_file(&first);
}

/* The thread that finishes a stop has taken a chunk's job and loses its CPU: the writer, with
 * nothing else to do, does not end before that is written. */
static void test_stop_held_with_a_job(void **state)
{
    (void)state;
    struct rbwp_session *session = start_small();
    struct hold *writing = hold_anyone_at(0, "output: before a write");
    struct hold *written = count_at(1, "drain: job written, chunk not yet free");
    struct recording_thread thread = {.name = "recorder", .items = ONE_CHUNK};
    start_thread(&thread);
    hold_wait(writing);
    while (!thread.recorded)
        sched_yield();
    struct hold *taken = hold_anyone_at(2, "drain: job taken"); /* the writer is held already */
    start_to_stop(session, true);
    hold_wait(taken);
    hold_release(writing);
    while (written->passed < 1)
        sched_yield();
    assert_true(stays_false(&stopper.stopped));
    hold_release(taken);
    join_stopper();
    hold_nothing();
    join_thread(&thread);
    assert_file(&thread);
}

/* Detach is inside the registry's lock when stop comes: one of them hands over. */
static void test_detach_held_while_stop_comes(void **state)
{
    (void)state;
    struct rbwp_session *session = start_small();
    struct hold *detaching = hold_at(0, "detach: handed over");
    struct recording_thread thread = {
        .name = "leaves", .items = 10, .may_be_held = true, .detaches = true};
    start_thread(&thread);
    hold_wait(detaching);
    start_to_stop(session, false);
    assert_true(stays_false(&stopper.stopped));
    hold_release(detaching);
    join_stopper();
    hold_nothing();
    join_thread(&thread);
    assert_file(&thread);
}

/* The same the other way round: stop has cleared the level when detach comes. */
static void test_stop_held_while_detach_comes(void **state)
{
    (void)state;
    struct rbwp_session *session = start_small();
    struct recording_thread thread = {.name = "leaves", .items = 10};
    start_thread(&thread);
    while (!thread.recorded)
        sched_yield();
    struct hold *stopping = hold_at(0, "recording end: level cleared");
    start_to_stop(session, true);
    hold_wait(stopping);
    atomic_store(&thread.go_on, true);
    assert_true(stays_false(&thread.detached));
    record_item(1); /* the session is over for everybody */
    hold_release(stopping);
    join_stopper();
    hold_nothing();
    join_thread(&thread);
    assert_file(&thread);
}

/* A session that follows at once begins with clean threads: a thread that was inside a call at the
 * first one's end has its later calls in the second, numbered on. */
static void test_restart_after_held_call(void **state)
{
    (void)state;
    struct rbwp_session *session = start_small();
    struct hold *in_call = hold_at(0, "publish: chunk not yet in the queue");
    struct hold *stopping = hold_at(1, "recording end: level cleared");
    struct recording_thread thread = {
        .name = "goes on", .items = SEVERAL_CHUNKS, .may_be_held = true};
    start_thread(&thread);
    hold_wait(in_call);
    start_to_stop(session, true);
    hold_wait(stopping);
    hold_release(stopping);
    struct hold *next_call = hold_at(2, "publish: queued, writer not woken");
    hold_release(in_call);
    hold_wait(next_call); /* it is still in its call: stop waits on */
    assert_false(stopper.stopped);
    hold_release(next_call);
    join_stopper();
    hold_nothing();
    session = start_small();
    while (!thread.recorded)
        sched_yield();
    stop(session);
    join_thread(&thread);
    struct recorded recorded = read_back(test_path("test.bin"));
    uint64_t last = 0;
    for (size_t i = 0; i < recorded.events; i++) {
        const struct rbwp_record *event = &recorded.event[i].record;
        if (event->kind != RBWP_GPU_WORK)
            continue;
        assert_true(last == 0 || event->proc_id == last + 1);
        last = event->proc_id;
    }
    assert_true(last == 0 || last == thread.items); /* it may have been done before the restart */
    recorded_free(&recorded);
}

/* ---- cancelled and exiting ---------------------------------------------------------------------
 */

static _Atomic uint64_t items_done;

static void *record_until_cancelled(void *argument)
{
    (void)argument;
    (void)rbwp_thread_attach("cancelled");
    for (uint64_t i = 1;; i++) {
        record_item(i);
        atomic_store(&items_done, i);
        pthread_testcancel();
    }
    return NULL;
}

/* A thread that is cancelled while it waits at the cap ends after its call: nothing it recorded is
 * lost, no lock stays behind, and stop does not wait for it. */
static void test_cancelled_at_the_cap(void **state)
{
    (void)state;
    struct rbwp_session *session = start_small();
    struct hold *writing = hold_anyone_at(0, "output: before a write");
    struct hold *waiting = count_at(1, "drain: a thread waits at the cap");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, record_until_cancelled, NULL), 0);
    while (waiting->passed < 2)
        sched_yield();
    assert_int_equal(pthread_cancel(thread), 0);
    unsigned before = waiting->passed;
    while (waiting->passed < before + 2) /* the cancellation finds it in its wait */
        sched_yield();
    hold_release(writing);
    void *result;
    pthread_join(thread, &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    stop(session);
    hold_nothing();
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_items(&recorded, "cancelled", (unsigned)items_done);
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
}

static void *release_at_exit_hold(void *stopping)
{
    struct hold *exiting = &holds[1];
    while (exiting->passed == 0)
        sched_yield();
    hold_release(stopping);
    return NULL;
}

/* In a child: main exits while a thread that stops the session is held at the place. */
static void exit_during_stop(const char *place, const char *path)
{
    struct rbwp_session_config config = small_chunks(1);
    config.logfile = path;
    if (rbwp_thread_attach("exits") != RBWP_OK ||
        rbwp_session_start(&config, &stopper.session, NULL) != RBWP_OK)
        _exit(20);
    struct hold *writing = hold_anyone_at(2, "output: before a write");
    for (unsigned i = 1; i <= ONE_CHUNK; i++)
        record_item(i);
    hold_wait(writing);
    pthread_t releaser;
    struct hold *stopping = hold_anyone_at(0, place); /* the stopper, or what finishes for it */
    (void)count_at(1, "exit: another thread stops the session");
    stopper.may_be_held = true;
    if (pthread_create(&stopper.thread, NULL, stop_session, NULL) != 0)
        _exit(21);
    if (strcmp(place, "drain: job taken") == 0) /* else the writer takes all before stop comes */
        hold_wait(stopping);
    hold_release(writing);
    hold_wait(stopping);
    if (pthread_create(&releaser, NULL, release_at_exit_hold, stopping) != 0)
        _exit(22);
    pthread_detach(stopper.thread); /* nobody joins who exits */
    pthread_detach(releaser);
    exit(0);
}

/* The process does not end before the file is whole, however far the other thread has come. */
static void test_exit_while_another_stops(void **state)
{
    (void)state;
    static const char *const places[] = {
        "recording end: level cleared",
        "drain: job taken",
        "stop: session freed, not yet told",
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *path = test_path("exit.bin");
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            exit_during_stop(places[i], path);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        struct recorded recorded = read_back(path);
        assert_items(&recorded, "exits", ONE_CHUNK);
        recorded_free(&recorded);
    }
}

/* ---- the free list --------------------------------------------------------------------------- */

struct popper {
    pthread_t thread;
    struct chunk_pool *pool;
    struct chunk *chunk;
};

static void *pop(void *argument)
{
    struct popper *me = argument;
    may_be_held = true;
    (void)chunk_get(me->pool, true, &me->chunk);
    return NULL;
}

static struct chunk *get(struct chunk_pool *pool)
{
    struct chunk *chunk;
    assert_int_equal(chunk_get(pool, true, &chunk), RBWP_OK);
    return chunk;
}

/* A pool whose free list is top, middle, bottom. */
static struct chunk_pool *pool_of_three(struct chunk *chunks[3])
{
    struct chunk_pool *pool = chunk_pool_new(0);
    assert_non_null(pool);
    for (int i = 0; i < 3; i++)
        chunks[i] = get(pool);
    for (int i = 2; i >= 0; i--)
        chunk_put(pool, chunks[i], 0);
    return pool;
}

/*
 * ABA: a thread has read the top and the chunk below; before it swaps the head both are taken, and
 * the top comes back. The head looks as before, but the chunk below is in another's hand.
 */
static void test_overtaken_pop(void **state)
{
    (void)state;
    struct chunk *chunks[3];
    struct popper popper = {.pool = pool_of_three(chunks)};
    struct hold *popping = hold_at(0, "pop: next read");
    assert_int_equal(pthread_create(&popper.thread, NULL, pop, &popper), 0);
    hold_wait(popping);
    struct chunk *top = get(popper.pool), *middle = get(popper.pool);
    assert_ptr_equal(top, chunks[0]);
    assert_ptr_equal(middle, chunks[1]);
    chunk_put(popper.pool, top, 0);
    hold_release(popping);
    pthread_join(popper.thread, NULL);
    hold_nothing();
    assert_ptr_equal(popper.chunk, top);
    assert_ptr_equal(get(popper.pool), chunks[2]);
    chunk_pool_free(popper.pool);
}

/* Two threads are about to take the same chunk: one gets it, the other the next. */
static void test_two_pops_of_one_chunk(void **state)
{
    (void)state;
    struct chunk *chunks[3];
    struct chunk_pool *pool = pool_of_three(chunks);
    struct popper poppers[2] = {{.pool = pool}, {.pool = pool}};
    struct hold *popping[2];
    for (unsigned i = 0; i < 2; i++) {
        popping[i] = hold_at(i, "pop: next read");
        assert_int_equal(pthread_create(&poppers[i].thread, NULL, pop, &poppers[i]), 0);
        hold_wait(popping[i]);
    }
    for (unsigned i = 0; i < 2; i++)
        hold_release(popping[i]);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(poppers[i].thread, NULL);
    hold_nothing();
    assert_true(poppers[0].chunk == chunks[0] || poppers[0].chunk == chunks[1]);
    assert_true(poppers[1].chunk == chunks[0] || poppers[1].chunk == chunks[1]);
    assert_ptr_not_equal(poppers[0].chunk, poppers[1].chunk);
    assert_ptr_equal(get(pool), chunks[2]);
    chunk_pool_free(pool);
}

int main(void)
{
    alarm(TIMEOUT_S);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_waits_for_a_call),
        cmocka_unit_test(test_stop_held_before_it_queues),
        cmocka_unit_test(test_publisher_held_before_it_wakes),
        cmocka_unit_test(test_encoder_held),
        cmocka_unit_test(test_stop_held_with_a_job),
        cmocka_unit_test(test_detach_held_while_stop_comes),
        cmocka_unit_test(test_stop_held_while_detach_comes),
        cmocka_unit_test(test_restart_after_held_call),
        cmocka_unit_test(test_cancelled_at_the_cap),
        cmocka_unit_test(test_exit_while_another_stops),
        cmocka_unit_test(test_overtaken_pop),
        cmocka_unit_test(test_two_pops_of_one_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
