/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others do to the file while it is written, and folders that cannot be written to: the host
 * program goes on, what can be kept is kept, and the rest is reported.
 */
#include "record_support.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAIRS = 20000, BLOCK_BYTES = 4096 };

static struct rbwp_session *start_at(const char *path)
{
    struct rbwp_session_config config = small_chunks(1);
    config.logfile = path;
    config.block_bytes = BLOCK_BYTES;
    return start(&config);
}

/* Most of it is written when this returns: the cap is far below its size. */
static void record(void)
{
    for (int i = 0; i < PAIRS; i++) {
        rbwp_begin(1);
        rbwp_end();
    }
}

static void assert_no_live(const char *path)
{
    char live[200];
    snprintf(live, sizeof live, "%s.live", path);
    assert_int_not_equal(access(live, F_OK), 0);
}

/* As log rotation does it. */
static void test_renamed(void **state)
{
    (void)state;
    const char *path = test_path("test.bin"), *renamed = test_path("renamed.bin");
    struct rbwp_session *session = start_at(path);
    record();
    assert_int_equal(rename(path, renamed), 0);
    record();
    assert_int_equal(stop(session).records, 4 * PAIRS);
    struct recorded recorded = read_back(renamed);
    assert_int_equal(recorded.events, 4 * PAIRS);
    recorded_free(&recorded);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_no_live(path);
}

static void test_removed(void **state)
{
    (void)state;
    const char *path = test_path("test.bin");
    struct rbwp_session *session = start_at(path);
    struct rbwp_session_summary summary;
    record();
    assert_int_equal(unlink(path), 0);
    record();
    assert_int_equal(rbwp_session_stop(session, &summary), RBWP_E_IO);
    assert_non_null(strstr(summary.error.text, "somebody removed the profile"));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_no_live(path);
}

/* Cut to nothing, and in the middle: what comes later is read, and nothing that was not recorded.
 */
static void cut(const char *path, off_t bytes)
{
    struct rbwp_session *session = start_at(path);
    struct rbwp_session_summary summary;
    record();
    assert_int_equal(truncate(path, bytes), 0);
    record();
    assert_int_equal(rbwp_session_stop(session, &summary), RBWP_E_IO);
    assert_non_null(strstr(summary.error.text, "somebody cut the profile"));

    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct rbwp_error error;
    uint64_t records = 0;
    assert_int_equal(rbwp_reader_open(path, NULL, &reader, &error), RBWP_OK);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        records += block.header.records;
    assert_true(rbwp_reader_problem_count(reader) > 0);
    assert_true(records > PAIRS && records < 4 * PAIRS);
    rbwp_reader_close(reader);
    assert_no_live(path);
}

static void test_cut(void **state)
{
    (void)state;
    const char *path = test_path("test.bin");
    cut(path, 0);
    cut(path, 3 * BLOCK_BYTES / 2);
}

/* ---- folders ------------------------------------------------------------------------------------
 */

/* Root may write everywhere, so be somebody else meanwhile. */
static void lock_folder(const char *folder)
{
    assert_int_equal(chmod(folder, 0555), 0);
    if (geteuid() == 0)
        assert_int_equal(seteuid(65534), 0);
}

static void unlock_folder(const char *folder)
{
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
}

static void test_no_folder(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session;
    struct rbwp_error error = {.text = ""};
    config.logfile = test_path("nowhere/test.bin");
    assert_int_equal(rbwp_session_start(&config, &session, &error), RBWP_E_IO);
    assert_non_null(strstr(error.text, "cannot open the profile"));
    assert_null(session);
    record(); /* nothing happens */
    assert_int_equal(rbwp_level_, 0);
}

/* A new file can't be made. An old one can be written to, but has no live file beside it. */
static void test_read_only_folder(void **state)
{
    (void)state;
    char path[160];
    const char *folder = test_path("folder");
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session;
    struct rbwp_error error = {.text = ""};
    assert_int_equal(mkdir(folder, 0755), 0);
    snprintf(path, sizeof path, "%s/..", folder);
    assert_int_equal(chmod(path, 0711), 0); /* for whom we are meanwhile */
    snprintf(path, sizeof path, "%s/test.bin", folder);
    config.logfile = path;

    lock_folder(folder);
    enum rbwp_status status = rbwp_session_start(&config, &session, &error);
    unlock_folder(folder);
    assert_int_equal(status, RBWP_E_IO);
    assert_non_null(strstr(error.text, "cannot open the profile"));

    FILE *old = fopen(path, "w");
    assert_non_null(old);
    fclose(old);
    assert_int_equal(chmod(path, 0666), 0);
    lock_folder(folder);
    status = rbwp_session_start(&config, &session, &error);
    unlock_folder(folder);
    assert_int_equal(status, RBWP_OK);
    assert_non_null(strstr(error.text, "a crash loses what is not written yet"));
    record();
    assert_true(stop(session).unprotected_bytes > 0);
    struct recorded recorded = read_back(path);
    assert_int_equal(recorded.events, 2 * PAIRS);
    recorded_free(&recorded);
    assert_no_live(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static int attach(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_renamed),
        cmocka_unit_test(test_removed),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_read_only_folder),
    };
    return cmocka_run_group_tests_name("record_trouble", tests, attach, NULL);
}
