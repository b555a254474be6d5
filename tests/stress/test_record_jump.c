/* SPDX-License-Identifier: Apache-2.0 */
/*
 * longjmp. Out of a do_work it leaves the item open, and rbwp_end at the landing ends it. Out of a
 * recording call, which only a signal handler can do, it leaves the thread inside: its calls are
 * refused and counted, stop says so instead of waiting for ever, and nothing is freed, so that the
 * live file has all; detach mends it.
 *
 * The handler is played by a test point; the time until stop gives up is short here.
 */
#include "record_extend.h"
#include "record_support.h"
#include "test_point.h"

#include "unit.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

_Atomic(test_point_fn) test_point_hook;
static jmp_buf landing;

static void do_work(bool gives_up)
{
    rbwp_fine_begin(1);
    if (gives_up)
        longjmp(landing, 1);
    rbwp_fine_end();
}

/* The landing ends the item, and its sub-items with it. What follows is recorded as ever. */
static void test_out_of_do_work(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    static volatile unsigned call;
    for (call = 0; call < 3; call++) {
        rbwp_begin(2 + call);
        if (setjmp(landing) == 0)
            do_work(call == 1);
        rbwp_end();
    }
    stop(session);
    assert_calls("B2 F1 f E B3 F1 f E B4 F1 f E");
}

static void jump(const char *place)
{
    if (strcmp(place, "publish: chunk not yet in the queue") == 0) {
        atomic_store(&test_point_hook, NULL);
        longjmp(landing, 1);
    }
}

static unsigned record_until_jump(void)
{
    static volatile unsigned items;
    items = 0;
    atomic_store(&test_point_hook, jump);
    if (setjmp(landing) == 0)
        for (;;) {
            rbwp_begin(1);
            rbwp_end();
            items++;
        }
    return items;
}

static enum rbwp_extend_moment moments[8];
static unsigned moment_count;

static void note_moment(enum rbwp_extend_moment moment)
{
    moments[moment_count++ % 8] = moment;
}

/* Stop tells, and the session goes on, for the other threads too, and whoever was told that it ends
 * is told that it does not; once the thread has detached and
 * attached again, both go on as if nothing had been. */
static void test_out_of_a_recording_call(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_extend_at_end(note_moment), RBWP_OK);
    assert_true(record_until_jump() > 0);
    rbwp_begin(1); /* refused */
    struct rbwp_session_summary summary;
    assert_int_equal(rbwp_session_stop(session, &summary), RBWP_E_BUSY);
    assert_non_null(strstr(summary.error.text, "\"jumps\" does not leave a recording call"));
    assert_int_equal(rbwp_level_, 1);
    assert_int_equal(moment_count, 2);
    assert_int_equal(moments[1], RBWP_EXTEND_GOES_ON);

    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    assert_int_equal(rbwp_thread_attach("jumps"), RBWP_OK);
    rbwp_begin(9);
    rbwp_end();
    assert_int_equal(stop(session).misuse_calls, 1);
    struct recorded recorded = read_back(config.logfile);
    const struct event *last = &recorded.event[recorded.events - 2];
    assert_int_equal(last->record.slot, 9);
    assert_int_equal(recorded.events, 2);
    recorded_free(&recorded);
}

/* A process that ends with such a thread leaves all records in the live file. */
static void test_exit_after_it(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(1);
    const char *path = config.logfile = test_path("left.bin");
    fflush(NULL);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rbwp_session *session;
        if (rbwp_session_start(&config, &session, NULL) != RBWP_OK)
            _exit(20);
        unsigned done = record_until_jump();
        if (write(pipes[1], &done, sizeof done) != (ssize_t)sizeof done)
            _exit(21);
        exit(0);
    }
    int status;
    unsigned done = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipes[0], &done, sizeof done), sizeof done);
    close(pipes[0]);
    close(pipes[1]);
    struct recorded recorded = read_recovered(path);
    assert_in_range(recorded.events, 2 * done, 2 * done + 1);
    recorded_free(&recorded);
    char live[160];
    snprintf(live, sizeof live, "%s.live", path);
    assert_int_equal(unlink(live), 0);
}

static int attach(void **state)
{
    (void)state;
    return rbwp_thread_attach("jumps") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_do_work),
        cmocka_unit_test(test_out_of_a_recording_call),
        cmocka_unit_test(test_exit_after_it),
    };
    return cmocka_run_group_tests_name("record_jump", tests, attach, NULL);
}
