/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what happens beside the reaping, against the fake driver: threads that share a stream,
 * forks, sessions that stop while callbacks open devices, and sessions that could not be stopped.
 * Run once for each API: test_gpu_ends cuda|hip|opencl (fake_support.h).
 */
#include "extend.h"
#include "fake_support.h"
#include "sanitized.h"
#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANGS_S 20u /* a child that takes so long hangs */

/* A callback that is held until the test lets it go. */
struct held {
    sem_t inside, go;
    struct rbwp_gpu_device *device;
    struct rbwp_gpu_device *opened;
};

static void hold_reaper(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    struct held *held = argument;
    (void)outcome, (void)seen_ns;
    sem_post(&held->inside);
    sem_wait(&held->go);
}

static void *poll_once(void *argument)
{
    struct held *held = argument;
    assert_int_equal(rbwp_gpu_poll(held->device), RBWP_OK);
    return NULL;
}

#ifndef SANITIZED
/* In the forked child: everything a program may do with what it had from its parent, and a session
 * of its own. The exit status says what went wrong. */
static int live_on_in_child(struct rbwp_gpu_device *device, struct rbwp_gpu_stream *stream,
                            struct rbwp_gpu_bracket *open)
{
    const unsigned queries = fake_count("event_query"), records = fake_count("event_record");
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session;
    struct rbwp_session_summary summary;
    struct heard heard = {0};
    struct rbwp_gpu_stream *another;
    config.logfile = test_path("child.bin");
    alarm(HANGS_S);
    if (rbwp_session_start(&config, &session, NULL) != RBWP_OK)
        return 10;
    (void)!rbwp_thread_attach("child");
    rbwp_gpu_bracket_end(open);
    bracket(stream, 5);
    if (rbwp_gpu_notify(stream, hear, &heard) != RBWP_E_STATE)
        return 11;
    if (rbwp_gpu_stream_open(device, NULL, RBWP_GPU_USE_STREAM, &another, NULL) != RBWP_E_STATE)
        return 12;
    if (rbwp_gpu_poll(device) != RBWP_END || rbwp_gpu_drain(device, 1) != RBWP_OK)
        return 13;
    if (rbwp_session_stop(session, &summary) != RBWP_OK)
        return 14;
    if (summary.lost_records != 1) /* the bracket */
        return 15;
    if (rbwp_gpu_stream_close(stream) != RBWP_OK || rbwp_gpu_device_close(device) != RBWP_OK)
        return 16;
    return fake_count("event_query") == queries && fake_count("event_record") == records ? 0 : 17;
}

/*
 * A child that is forked while another thread reaps, with the device's and the list's locks in use,
 * does not wait for that thread, and asks its parent's driver nothing.
 */
static void test_fork_beside_a_reaper(void **state)
{
    (void)state;
    struct held held = {.device = open_device(NULL)};
    struct rbwp_gpu_stream *stream = open_stream(held.device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    struct rbwp_gpu_bracket open;
    pthread_t reaper;
    sem_init(&held.inside, 0, 0);
    sem_init(&held.go, 0, 0);
    assert_int_equal(rbwp_gpu_notify(stream, hold_reaper, &held), RBWP_OK);
    rbwp_gpu_bracket_begin(&open, stream, 1);
    assert_int_equal(pthread_create(&reaper, NULL, poll_once, &held), 0);
    sem_wait(&held.inside);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(live_on_in_child(held.device, stream, &open));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    sem_post(&held.go);
    pthread_join(reaper, NULL);
    rbwp_gpu_bracket_end(&open);
    poll_all(held.device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 1);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(held.device), RBWP_OK);
}
#endif

#ifndef __SANITIZE_THREAD__ /* lets no forked child start threads */
/* Exits with a session, and with some of its GPU work reaped and some not. */
static void exit_in_the_middle(const char *path)
{
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session;
    config.logfile = path;
    alarm(HANGS_S);
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_REAP_STREAM);
    if (rbwp_session_start(&config, &session, NULL) != RBWP_OK)
        _exit(10);
    (void)!rbwp_thread_attach("child");
    bracket(stream, 1);
    bracket(stream, 2);
    poll_all(device);
    fake_hold(true);
    bracket(stream, 3);
    exit(0);
}

/* At exit the facts beside the records that there are get into the file, and what is pending is
 * counted. */
static void test_exit(void **state)
{
    (void)state;
    const char *path = test_path("exit.bin");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exit_in_the_middle(path);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct recorded recorded = read_back(path);
    struct works works = read_works(path);
    assert_int_equal(works.works, 2);
    assert_works_whole(&works);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_PENDING), 1);
    works_free(&works);
    recorded_free(&recorded);
}
#endif

static void open_another(void *argument, enum rbwp_status outcome, int64_t seen_ns)
{
    struct held *held = argument;
    hold_reaper(argument, outcome, seen_ns);
    held->opened = open_device(NULL);
}

static void *stop_it(void *session)
{
    stop(session);
    return NULL;
}

/* The list's lock is not held while a session's stop waits for a callback: a callback may open
 * devices, and their brackets belong to the next session. */
static void test_callback_opens_a_device_during_stop(void **state)
{
    (void)state;
    struct held held = {.device = open_device(NULL)};
    struct rbwp_gpu_stream *stream = open_stream(held.device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    pthread_t reaper, stopper;
    sem_init(&held.inside, 0, 0);
    sem_init(&held.go, 0, 0);
    assert_int_equal(rbwp_gpu_notify(stream, open_another, &held), RBWP_OK);
    assert_int_equal(pthread_create(&reaper, NULL, poll_once, &held), 0);
    sem_wait(&held.inside);
    assert_int_equal(pthread_create(&stopper, NULL, stop_it, session), 0);
    struct rbwp_gpu_bracket refused;
    do { /* until the stop has got to the GPUs */
        rbwp_gpu_bracket_begin(&refused, stream, 1);
        rbwp_gpu_bracket_cancel(&refused);
    } while (refused.end);
    sem_post(&held.go);
    pthread_join(reaper, NULL);
    pthread_join(stopper, NULL);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    assert_non_null(held.opened);
    assert_int_equal(rbwp_gpu_device_close(held.opened), RBWP_OK);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(held.device), RBWP_OK);
}

/* A bracket that begins while a session is being stopped is counted, not passed over; and when the
 * session turns out to go on, brackets are recorded again. */
static void test_session_goes_on(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    bracket(stream, 1);
    extend_tell(RBWP_EXTEND_STOPPING);
    bracket(stream, 2);
    extend_tell(RBWP_EXTEND_GOES_ON);
    bracket(stream, 3);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, 2);
    work_of_slot(&works, 1);
    work_of_slot(&works, 3);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_STOPPING), 1);
    assert_int_equal(all_losses(&recorded), 1);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

/* ---- one stream, several threads --------------------------------------------------- */

#define LAUNCHERS 3
#define LAUNCHES 400u

static void *launch_many(void *stream)
{
    (void)rbwp_thread_attach("launcher");
    for (unsigned i = 0; i < LAUNCHES; i++)
        bracket(stream, 1);
    rbwp_thread_detach();
    return NULL;
}

/* Threads that launch on one stream at the same time are in turn: no bracket is lost, none is told
 * twice. */
static void test_threads_share_a_stream(void **state)
{
    (void)state;
    struct rbwp_gpu_device *device = open_device(NULL);
    struct rbwp_gpu_stream *stream = open_stream(device, RBWP_GPU_USE_STREAM);
    struct rbwp_session *session = start_session(1);
    pthread_t launcher[LAUNCHERS];
    for (int i = 0; i < LAUNCHERS; i++)
        assert_int_equal(pthread_create(&launcher[i], NULL, launch_many, stream), 0);
    for (int i = 0; i < LAUNCHERS; i++)
        pthread_join(launcher[i], NULL);
    poll_all(device);
    struct recorded recorded;
    struct works works = finish_session(session, &recorded);
    assert_int_equal(works.works, LAUNCHERS * LAUNCHES);
    assert_works_whole(&works);
    assert_int_equal(all_losses(&recorded), 0);
    works_free(&works);
    recorded_free(&recorded);
    close_stream(stream);
    assert_int_equal(rbwp_gpu_device_close(device), RBWP_OK);
}

int main(int argc, char **argv)
{
    if (!fake_main(argc, argv))
        return 2;
    const struct CMUnitTest tests[] = {
#ifndef SANITIZED
        cmocka_unit_test_setup(test_fork_beside_a_reaper, fake_setup),
#endif
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test_setup(test_exit, fake_setup),
#endif
        cmocka_unit_test_setup(test_callback_opens_a_device_during_stop, fake_setup),
        cmocka_unit_test_setup(test_session_goes_on, fake_setup),
        cmocka_unit_test_setup(test_threads_share_a_stream, fake_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
