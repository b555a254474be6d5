/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from full chunks to the file when the sink is slow or stands still,
 * and when chunks of one thread are encoded at the same time. Test points hold
 * the writer thread where the test wants it.
 */
#include "record_support.h"

#include "clock.h"
#include "drain.h"
#include "helper_thread.h"
#include "recording.h"
#include "ring.h"
#include "running.h"
#include "sanitized.h"
#include "test_point.h"
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Atomic(test_point_fn) test_point_hook;

/* Words of a 4 KiB chunk that a begin may use. */
enum { CHUNK_EVENTS = (4096 - 64) / 8 - 32 };

/* Rows of call_cpu would take chunks of the cap. */
static struct rbwp_session_config chunks_counted(int level)
{
    struct rbwp_session_config config = small_chunks(level);
    config.no_cpu = true;
    return config;
}

static const int64_t second_ns = 1000000000;

/* ---- a place where the first thread that comes is held ----------------------------------------
 */

static const char *held_place;
static atomic_bool hold;
static sem_t arrived, let_go;

static void hold_here(const char *place)
{
    bool wanted = true;
    if (strcmp(place, held_place) != 0 || !atomic_compare_exchange_strong(&hold, &wanted, false))
        return;
    sem_post(&arrived);
    sem_wait(&let_go);
}

static void hold_at(const char *place)
{
    sem_init(&arrived, 0, 0);
    sem_init(&let_go, 0, 0);
    held_place = place;
    atomic_store(&hold, true);
    atomic_store(&test_point_hook, hold_here);
}

static void release(void)
{
    sem_post(&let_go);
}

static void hold_nothing(void)
{
    atomic_store(&test_point_hook, NULL);
    sem_destroy(&arrived);
    sem_destroy(&let_go);
}

/* A session whose writer thread stands in a write of its first block. */
static struct rbwp_session *start_with_stalled_sink(const struct rbwp_session_config *config,
                                                    unsigned *records_out)
{
    struct rbwp_session *session = start(config);
    hold_at("output: before a write");
    for (*records_out = 0; *records_out < 2 * CHUNK_EVENTS; *records_out += 2) {
        rbwp_begin(200);
        rbwp_end();
    }
    sem_wait(&arrived);
    return session;
}

static struct rbwp_session_summary stop_after_release(struct rbwp_session *session)
{
    release();
    struct rbwp_session_summary summary = stop(session);
    hold_nothing();
    return summary;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * second_ns + now.tv_nsec;
}

/* ---- another level --------------------------------------------------------------------------- */

static void (*call_of_the_moment)(void);

static void call_then(const char *place)
{
    if (strcmp(place, "recording end: level cleared") == 0)
        call_of_the_moment();
}

/* Changes the level; the call comes at the moment at which nobody records. */
static void change_level(int level, void (*call)(void))
{
    call_of_the_moment = call;
    atomic_store(&test_point_hook, call_then);
    assert_int_equal(running_set_level(level, NULL), RBWP_OK);
    atomic_store(&test_point_hook, NULL);
}

static void end_call(void)
{
    rbwp_end();
}

static void no_call(void)
{
    fail_msg("the level was cleared");
}

/* An item whose end came while the level was lowered has ended, at that time: it does not stay
 * open, with all that follow taken for nested ones. From 1 to 2 there is no such moment. */
static void test_calls_while_the_level_changes(void **state)
{
    (void)state;
    const struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    rbwp_begin(1);
    change_level(1, end_call);
    const int64_t changed_ns = rbwp_now_ns();
    rbwp_begin(2);
    rbwp_end();
    change_level(2, no_call);
    rbwp_begin(3);
    rbwp_fine_begin(4);
    rbwp_fine_end();
    rbwp_end();
    stop(session);
    assert_calls("B1 E B2 E B3 F4 f E");
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(all_losses(&recorded), 0);
    assert_true(recorded.event[1].record.time_ns <= changed_ns);
    recorded_free(&recorded);
}

static void begin_call(void)
{
    rbwp_begin(2);
}

/* The end of an item whose begin came while the level was lowered is no misuse; the next one is. */
static void test_begin_while_the_level_changes(void **state)
{
    (void)state;
    const struct rbwp_session_config config = test_config(2);
    for (unsigned more = 0; more < 2; more++) {
        struct rbwp_session *session = start(&config);
        rbwp_begin(1);
        rbwp_end();
        change_level(1, begin_call);
        rbwp_end();
        if (more)
            rbwp_end();
        rbwp_begin(3);
        rbwp_end();
        assert_int_equal(stop(session).misuse_calls, more);
        assert_calls("B1 E B3 E");
    }
}

/* ---- losses
 * -------------------------------------------------------------------------------------- */

/* Each begin that is in the file has its end, inside each item fine begins and ends match, and the
 * numbers of items only ascend. */
static void assert_whole_items(const struct recorded *recorded)
{
    int depth = 0;
    assert_matched(recorded);
    for (size_t i = 0; i < recorded->events; i++) {
        const struct rbwp_record *record = &recorded->event[i].record;
        depth += (record->kind == RBWP_FINE_BEGIN) - (record->kind == RBWP_FINE_END);
        assert_true(depth >= 0);
        if (record->kind == RBWP_COARSE_END)
            assert_int_equal(depth, 0);
    }
    assert_int_equal(depth, 0);
}

/* Records until far beyond the cap; returns how many records were asked for. */
static uint64_t record_beyond_cap(void)
{
    uint64_t made = 0;
    for (unsigned i = 0; i < 30000; i++) {
        rbwp_begin(i % 100);
        for (unsigned j = 0; j < i % 5; j++)
            rbwp_fine_begin(j);
        if (i % 50 == 0)
            rbwp_gpu_work(1, 2, 3, 4);
        for (unsigned j = 0; j < i % 5; j++)
            rbwp_fine_end();
        rbwp_end();
        made += 2 + 2 * (i % 5) + (i % 50 == 0);
    }
    return made;
}

/* ---- who gives way -------------------------------------------------------------------------- */

static int policy_of_writer(void)
{
    int policy = -1;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && strcmp(name, "rbwp-writer\n") == 0)
            policy = (int)syscall(SYS_sched_getscheduler, atoi(task->d_name));
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return policy;
}

/* Guards: the writer thread gives way while little waits for it, as the host's own threads have a
 * policy that allows that, no longer so when a quarter of the cap is in use, and never where the
 * cap is small. */
static void test_writer_gives_way(void **state)
{
    (void)state;
    const int own = (int)syscall(SYS_sched_getscheduler, 0);
    const bool usual = own == SCHED_OTHER || own == SCHED_BATCH;
    struct rbwp_session_config config = chunks_counted(1);
    unsigned records;
    struct rbwp_session *session = start_with_stalled_sink(&config, &records);
    assert_int_equal(policy_of_writer(), own);
    stop_after_release(session);

    config.cap_bytes = 64u << 20;
    session = start(&config);
    hold_at("output: before a write");
    for (unsigned i = 0; i < (192u << 10) / 16; i++) { /* a chunk and a half */
        rbwp_begin(200);
        rbwp_end();
    }
    sem_wait(&arrived);
    assert_int_equal(policy_of_writer(), usual ? SCHED_BATCH : own);
    for (unsigned i = 0; i < (17u << 20) / 16; i++) {
        rbwp_begin(200);
        rbwp_end();
    }
    atomic_store(&hold, true); /* at the next one */
    release();
    sem_wait(&arrived);
    assert_int_equal(policy_of_writer(), usual ? SCHED_OTHER : own);
    struct rbwp_session_summary summary = stop_after_release(session);
    assert_int_equal(summary.lost_records, 0);
}

static struct quiet_scheduling scheduling_now(void)
{
    struct quiet_scheduling now = {0};
    if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0)
        now.policy = SCHED_IDLE; /* not to be known here */
    return now;
}

/* Guards: the rank of a thread is its policy and its slice, where the kernel has such, and nothing
 * else; and none is left behind. */
static void test_rank(void **state)
{
    (void)state;
    const struct quiet_scheduling before = scheduling_now();
    if (before.policy != SCHED_OTHER)
        skip();
    helper_thread_rank(QUIET_URGENT);
    struct quiet_scheduling now = scheduling_now();
    assert_true(now.slice_ns == 100000 || now.slice_ns == before.slice_ns);
    assert_int_equal(now.policy, SCHED_OTHER);
    assert_int_equal(now.nice, before.nice);
    helper_thread_rank(QUIET_GIVES_WAY);
    now = scheduling_now();
    assert_int_equal(now.policy, SCHED_BATCH);
    assert_true(now.slice_ns == before.slice_ns);
    helper_thread_rank(QUIET_USUAL);
    now = scheduling_now();
    assert_memory_equal(&now, &before, sizeof now);
}

static _Atomic unsigned times_let_run;

static void count_let_run(const char *place)
{
    times_let_run += strcmp(place, "quiet: lets others run") == 0;
}

/* Guards: a yield_hook lets others run when the last time is long ago, and then not at once again.
 */
static void test_pace(void **state)
{
    (void)state;
    struct helper_pace pace;
    const int64_t hour_ns = 3600 * second_ns;
    times_let_run = 0;
    atomic_store(&test_point_hook, count_let_run);
    for (int shared = 0; shared < 2; shared++) {
        quiet_pace_start(&pace, 1000);
        pace.looked_ns += hour_ns; /* is_shared is what we say */
        pace.is_shared = shared;
        pace.rested_ns += hour_ns;
        yield_hook_run(&pace.yield_hook);
        assert_int_equal(times_let_run, shared);
        pace.rested_ns -= 2 * hour_ns;
        const int64_t before_ns = pace.rested_ns;
        yield_hook_run(&pace.yield_hook);
        assert_int_equal(times_let_run, shared + 1);
        assert_true(pace.rested_ns - before_ns >= hour_ns);
    }
    yield_hook_run(NULL);
    atomic_store(&test_point_hook, NULL);
}

/* ---- the cap ------------------------------------------------------------------------------- */

/* Policy "drop": nobody waits, and what is in the file and what is counted make up all. */
static void test_drop(void **state)
{
    (void)state;
    struct rbwp_session_config config = chunks_counted(2);
    config.at_cap = RBWP_AT_CAP_DROP;
    config.stall_ns = (uint64_t)(3600 * second_ns); /* if it waited, it would wait for ever */
    unsigned records;
    struct rbwp_session *session = start_with_stalled_sink(&config, &records);
    uint64_t made = records + record_beyond_cap();
    struct rbwp_session_summary summary = stop_after_release(session);
    struct recorded recorded = read_back(config.logfile);
    uint64_t lost =
        losses(&recorded, thread_named(&recorded, "main")->thread_id, RBWP_LOSS_DROPPED);
    assert_true(lost > 0 && recorded.events > records);
    assert_int_equal(recorded.events + lost, made);
    assert_int_equal(all_losses(&recorded), lost);
    assert_int_equal(summary.lost_records, lost);
    assert_whole_items(&recorded);
    recorded_free(&recorded);
}

/* A sink that stands still is waited for once, for the stall time, and then no more. */
static void test_stall(void **state)
{
    (void)state;
    struct rbwp_session_config config = chunks_counted(2);
    config.stall_ns = (uint64_t)second_ns / 5;
    unsigned records;
    struct rbwp_session *session = start_with_stalled_sink(&config, &records);
    int64_t begin_ns = now_ns();
    uint64_t made = records + record_beyond_cap();
    int64_t waited_ns = now_ns() - begin_ns;
    (void)stop_after_release(session);
    struct recorded recorded = read_back(config.logfile);
    uint64_t lost = losses(&recorded, 0, RBWP_LOSS_STALLED);
    assert_true(lost > 0);
    assert_int_equal(recorded.events + lost, made);
    assert_int_equal(all_losses(&recorded), lost);
    assert_whole_items(&recorded);
    recorded_free(&recorded);
    assert_true(waited_ns >= second_ns / 5);
    assert_true(waited_ns < 60 * second_ns); /* tens of thousands of calls were made in it */
}

static unsigned times_helped, times_waited;
static pthread_t who_records;

static void count_help(const char *place)
{
    if (!pthread_equal(pthread_self(), who_records))
        return;
    times_helped += strcmp(place, "drain: job taken") == 0;
    times_waited += strcmp(place, "drain: a thread waits at the cap") == 0;
}

/* Guards: who records encodes chunks itself when half of a small cap is in use, so that it does not
 * come to sleep at the cap; but not if it is to lose records rather than time. */
static void test_helps_near_the_cap(void **state)
{
    (void)state;
    enum { CHUNKS = 13 }; /* of 16 */
    for (int drops = 0; drops < 2; drops++) {
        struct rbwp_session_config config = chunks_counted(1);
        config.at_cap = drops ? RBWP_AT_CAP_DROP : RBWP_AT_CAP_WAIT;
        unsigned records;
        struct rbwp_session *session = start_with_stalled_sink(&config, &records);
        who_records = pthread_self();
        times_helped = times_waited = 0;
        atomic_store(&test_point_hook, count_help);
        for (; records < CHUNKS * CHUNK_EVENTS; records += 2) {
            rbwp_begin(200);
            rbwp_end();
            if (records < 7 * CHUNK_EVENTS)
                assert_int_equal(times_helped, 0);
        }
        assert_int_equal(times_waited, 0);
        assert_true(drops ? times_helped == 0 : times_helped >= 3);
        struct rbwp_session_summary summary = stop_after_release(session);
        assert_int_equal(summary.lost_records, 0);
    }
}

/* When the sink goes on, so does recording: after the loss all is whole again. */
static void test_recovers_from_stall(void **state)
{
    (void)state;
    struct rbwp_session_config config = chunks_counted(1);
    config.stall_ns = 1000000;
    unsigned records;
    struct rbwp_session *session = start_with_stalled_sink(&config, &records);
    (void)record_beyond_cap();
    release();
    uint64_t lost_before = 0, lost_now;
    do { /* until a thousand calls in a row were recorded */
        lost_now = lost_before;
        for (unsigned i = 0; i < 1000; i++) {
            rbwp_begin(255);
            rbwp_end();
        }
        lost_before = ((struct thread *)rbwp_self_.thread)->loss[RBWP_LOSS_STALLED].count;
    } while (lost_before != lost_now);
    (void)stop(session);
    hold_nothing();
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.event[recorded.events - 2].record.slot, 255);
    assert_matched(&recorded);
    recorded_free(&recorded);
}

/* An item with more records than the cap has room for is written before its end; if it then says
 * that it was empty, it stays, and that is counted. Its begin, end and records are all there. */
static void test_empty_item_beyond_the_cap(void **state)
{
    (void)state;
    for (int policy = RBWP_AT_CAP_WAIT; policy <= RBWP_AT_CAP_DROP; policy++) {
        struct rbwp_session_config config = chunks_counted(2);
        config.at_cap = (enum rbwp_at_cap)policy;
        struct rbwp_session *session = start(&config);
        uint64_t made = 2;
        rbwp_begin(1);
        for (unsigned i = 0; i < 40000; i++, made += 2) {
            rbwp_fine_begin(i % 65536);
            rbwp_fine_end();
        }
        rbwp_discard();
        if (policy == RBWP_AT_CAP_WAIT) { /* the next one is elided as ever */
            rbwp_begin(2);
            rbwp_discard();
        }
        assert_int_equal(stop(session).discarded, policy == RBWP_AT_CAP_WAIT);
        struct recorded recorded = read_back(config.logfile);
        uint64_t dropped = losses(&recorded, 0, RBWP_LOSS_DROPPED);
        assert_int_equal(recorded.events + dropped, made);
        assert_true(dropped == 0 || policy == RBWP_AT_CAP_DROP);
        assert_int_equal(losses(&recorded, 0, RBWP_LOSS_KEPT_EMPTY), 1);
        assert_int_equal(recorded.event[0].record.kind, RBWP_COARSE_BEGIN);
        assert_int_equal(recorded.event[recorded.events - 1].record.kind, RBWP_COARSE_END);
        assert_whole_items(&recorded);
        recorded_free(&recorded);
    }
}

/* At the cap, with more sub-items open than a chunk has words in reserve: those without an end are
 * counted, the item's own end is there. */
static void test_deep_item_at_the_cap(void **state)
{
    (void)state;
    /* So that the cap falls everywhere. */
    for (unsigned depth = 1; depth < 500; depth += PART_UNDER_TSAN(36, 9)) {
        struct rbwp_session_config config = chunks_counted(2);
        config.at_cap = RBWP_AT_CAP_DROP;
        unsigned records;
        struct rbwp_session *session = start_with_stalled_sink(&config, &records);
        uint64_t made = records;
        for (; made < 20 * CHUNK_EVENTS; made += 2 + 2 * depth) {
            rbwp_begin(1);
            for (unsigned j = 0; j < depth; j++)
                rbwp_fine_begin(j);
            for (unsigned j = 0; j < depth; j++)
                rbwp_fine_end();
            rbwp_end();
        }
        (void)stop_after_release(session);
        struct recorded recorded = read_back(config.logfile);
        uint64_t lost = losses(&recorded, 0, RBWP_LOSS_DROPPED);
        assert_true(lost > 0);
        assert_int_equal(recorded.events + lost, made);
        assert_matched(&recorded);
        assert_int_equal(recorded.event[recorded.events - 1].record.kind, RBWP_COARSE_END);
        recorded_free(&recorded);
    }
}

/* ---- order -------------------------------------------------------------------------------------
 */

/*
 * Two chunks of a thread, encoded at the same time, of a clock that ran backwards within the
 * first: the second is encoded before the first, stands behind it in the file, and its times are
 * not before the first one's.
 */
static void test_time_across_chunks(void **state)
{
    (void)state;
    fake_now = UINT64_C(1) << 40;
    fake_step = 0;
    clock_replace(fake_clock);
    struct rbwp_session_config config = chunks_counted(1);
    struct rbwp_session *session = start(&config);
    hold_at("drain: job taken");
    for (unsigned i = 0; i < CHUNK_EVENTS; i += 2) {
        fake_now += i < CHUNK_EVENTS / 2 ? 2000 : 0;
        fake_now -= i == CHUNK_EVENTS / 2 ? 100000 : 0;
        rbwp_begin(1);
        rbwp_end();
    }
    rbwp_begin(2); /* in the next chunk; the first is published */
    rbwp_end();
    sem_wait(&arrived); /* the writer has taken it */
    for (unsigned i = 2; i < CHUNK_EVENTS; i += 2) {
        fake_now += 10;
        rbwp_begin(2);
        rbwp_end();
    }
    rbwp_begin(3); /* publishes the second */
    rbwp_end();
    assert_true(drain_help(recording_now->drain));
    assert_false(drain_help(recording_now->drain));
    assert_int_equal(stop_after_release(session).records, 2 * CHUNK_EVENTS + 2);
    clock_replace(NULL);
    struct recorded recorded = read_back(config.logfile); /* looks at the times */
    for (size_t i = 1; i < recorded.events; i++)
        if (recorded.event[i].record.kind == RBWP_COARSE_BEGIN)
            assert_int_equal(recorded.event[i].record.slot,
                             1 + (i >= CHUNK_EVENTS) + (i >= 2 * CHUNK_EVENTS));
    recorded_free(&recorded);
}

/* The writer thread takes no signals from the host program. */
static void on_signal(int number)
{
    (void)number;
}

static void test_writer_takes_no_signals(void **state)
{
    (void)state;
    struct sigaction old, action = {.sa_handler = on_signal};
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    kill(getpid(), SIGUSR1); /* stays pending: no thread is left that would take it */
    for (int i = 0; i < 1000; i++) {
        sigset_t pending;
        sigpending(&pending);
        assert_true(sigismember(&pending, SIGUSR1));
        sched_yield();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)stop(session);
    sigaction(SIGUSR1, &old, NULL);
}

/* ---- the ring --------------------------------------------------------------------------------
 */

static _Atomic int reader_id, has_begun_to_read;

static void *begin_to_read(void *ring)
{
    atomic_store(&reader_id, (int)syscall(SYS_gettid));
    ring_read_begin(ring);
    atomic_store(&has_begun_to_read, 1);
    return NULL;
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

/* Who begins to read what is kept waits for what is being added: it sleeps, and does not go on
 * while another thread holds the ring. */
static void test_reader_of_a_ring(void **state)
{
    (void)state;
    struct ring *ring;
    pthread_t thread;
    int id;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    assert_int_equal(ring_new(UINT64_C(4) << 20, 0, &ring), RBWP_OK);
    ring_hold(ring, true);
    assert_int_equal(pthread_create(&thread, NULL, begin_to_read, ring), 0);
    while ((id = atomic_load(&reader_id)) == 0)
        sched_yield();
    while (!atomic_load(&has_begun_to_read) && !is_asleep(id))
        sched_yield();
    assert_false(atomic_load(&has_begun_to_read));
    ring_hold(ring, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&has_begun_to_read));
    ring_read_end(ring);
    (void)stop(session);
    ring_free(ring);
}

static int attach_main(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writer_gives_way),
        cmocka_unit_test(test_rank),
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_calls_while_the_level_changes),
        cmocka_unit_test(test_begin_while_the_level_changes),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_helps_near_the_cap),
        cmocka_unit_test(test_recovers_from_stall),
        cmocka_unit_test(test_empty_item_beyond_the_cap),
        cmocka_unit_test(test_deep_item_at_the_cap),
        cmocka_unit_test(test_time_across_chunks),
        cmocka_unit_test(test_writer_takes_no_signals),
        cmocka_unit_test(test_reader_of_a_ring),
    };
    return cmocka_run_group_tests_name("drain", tests, attach_main, NULL);
}
