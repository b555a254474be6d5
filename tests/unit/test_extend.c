/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what parts built upon the recorder may ask of a session: losses are counted where they
 * happened, hooks are called in order.
 */
#include "record_extend.h"
#include "record_support.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static enum rbwp_extend_moment moments[4];
static unsigned moment_count, level_seen[4];

static void note_moment(enum rbwp_extend_moment moment)
{
    level_seen[moment_count] = (unsigned)rbwp_level_;
    moments[moment_count++] = moment;
    rbwp_extend_loss(RBWP_LOSS_GPU_PENDING, 5); /* only the first finds a session */
}

/* A hook runs before the end, when recording works, and after it; losses it counts are in the file.
 */
static void test_hooks(void **state)
{
    (void)state;
    assert_int_equal(rbwp_extend_at_end(note_moment), RBWP_OK);
    assert_int_equal(rbwp_extend_at_end(note_moment), RBWP_OK); /* once is enough */
    struct rbwp_session_config config = test_config(1);
    assert_int_equal(rbwp_thread_attach("extends"), RBWP_OK);
    stop(start(&config));
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    assert_int_equal(moment_count, 2);
    assert_int_equal(moments[0], RBWP_EXTEND_STOPPING);
    assert_int_equal(moments[1], RBWP_EXTEND_STOPPED);
    assert_int_equal(level_seen[0], 1);
    assert_int_equal(level_seen[1], 0);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_PENDING), 5);
    assert_int_equal(all_losses(&recorded), 5);
    recorded_free(&recorded);
    moment_count = 0;
}

enum { LOSSES = 500, STRAYS = 2 };

static void *lose(void *unused)
{
    for (int i = 0; i < LOSSES; i++)
        rbwp_extend_loss(i % 2 ? RBWP_LOSS_ROWS : RBWP_LOSS_GPU_FAILED, 3);
    return unused;
}

/* What threads lose that are not attached, as those of drivers are not, is counted by its cause,
 * too, and as of no thread. */
static void test_strays(void **state)
{
    (void)state;
    pthread_t threads[STRAYS];
    struct rbwp_session_config config = test_config(1);
    rbwp_extend_loss(RBWP_LOSS_ROWS, 1000); /* no session */
    struct rbwp_session *session = start(&config);
    for (int i = 0; i < STRAYS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, lose, NULL), 0);
    for (int i = 0; i < STRAYS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(rbwp_thread_attach("extends"), RBWP_OK);
    lose(NULL);
    uint64_t self = rbwp_extend_thread();
    stop(session);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, self, RBWP_LOSS_ROWS), 3 * LOSSES / 2);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_ROWS), (STRAYS + 1) * 3 * LOSSES / 2);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_GPU_FAILED), (STRAYS + 1) * 3 * LOSSES / 2);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_NOT_ATTACHED), 0);
    recorded_free(&recorded);
    moment_count = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strays),
        cmocka_unit_test(test_hooks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
