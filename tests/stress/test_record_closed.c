/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host program does to descriptors, to its directory and to its root while it records.
 * A daemon closes all descriptors and gets their numbers for files of its own, and goes to "/": its
 * files stay as they are, nothing is lost, and FILE, dumps and parts are where they would have
 * been.
 */
#include "record_support.h"

#include "sanitized.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
/* It sees close(), but neither closefrom() nor openat(), and takes closing a number that is in use
 * anew for a race. A copy of memory is made while threads record, as a reader of FILE.live sees it.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:^move_above$\nrace:^give_all_back$\nrace:^put_mapping$\n";
}
#endif

enum { PAIRS = 20000, FILES = 40, PART_BYTES = 2 << 20 };

static void record(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        rbwp_begin(1);
        rbwp_end();
    }
}

static uint64_t events_of(const char *path)
{
    struct recorded recorded = read_back(path);
    uint64_t events = recorded.events;
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
    return events;
}

static char *beside(const char *path, const char *more)
{
    static char paths[4][4200]; /* in turns */
    static unsigned next;
    char *text = paths[next++ % 4];
    assert_true(snprintf(text, sizeof paths[0], "%s%s", path, more) < (int)sizeof paths[0]);
    return text;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int theirs[FILES];

static void take_all_numbers(void)
{
    for (int i = 0; i < FILES; i++) {
        char path[] = "/tmp/rbwp_closed.XXXXXX";
        theirs[i] = mkstemp(path);
        assert_true(theirs[i] >= 0);
        unlink(path);
    }
}

/* Open, and nobody has written to them. */
static void give_all_back(void)
{
    for (int i = 0; i < FILES; i++) {
        struct stat file;
        assert_int_equal(fstat(theirs[i], &file), 0);
        assert_int_equal(file.st_size, 0);
        assert_int_equal(file.st_blocks, 0);
        assert_int_equal(close(theirs[i]), 0);
    }
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all))
        count++;
    closedir(all);
    return count;
}

/* What it comes to when all descriptors are closed twice, with and without others in their place.
 */
static struct rbwp_session_summary closed_under(struct rbwp_session_config config)
{
    int before = count_descriptors();
    struct rbwp_session *session = start(&config);
    record(PAIRS);
    closefrom(3);
    record(PAIRS);
    closefrom(3);
    take_all_numbers();
    record(PAIRS);
    if (config.keep_bytes) {
        assert_int_equal(rbwp_session_dump(session, NULL, 0, NULL), RBWP_OK);
        assert_int_equal(events_of(beside(config.logfile, ".dump-1")), 6 * PAIRS);
        unlink(beside(config.logfile, ".dump-1"));
    }
    record(PAIRS);
    struct rbwp_session_summary summary = stop(session);
    give_all_back();
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(access(beside(config.logfile, ".live"), F_OK), -1);
    return summary;
}

static void test_file_is_opened_again(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(1);
    config.sync_ns = 1;
    assert_int_equal(closed_under(config).records, 8 * PAIRS);
    assert_int_equal(events_of(config.logfile), 8 * PAIRS);
    config.no_live = true;
    assert_int_equal(closed_under(config).records, 8 * PAIRS);
    assert_int_equal(events_of(config.logfile), 8 * PAIRS);
}

/* The one that is missing may be one end of two, or be waited at. */
static void test_any_one_is_closed(void **state)
{
    (void)state;
    const int before = count_descriptors();
    int ours = 1;
    for (int closed = 0; closed < ours; closed++) {
        struct rbwp_session_config config = small_chunks(1);
        config.signals = "USR1=start"; /* in vain */
        struct rbwp_session *session = start(&config);
        ours = count_descriptors() - before;
        close(3 + closed);
        for (int i = 0; i < 10; i++) {
            raise(SIGUSR1);
            record(PAIRS / 10);
        }
        assert_int_equal(stop(session).records, 2 * PAIRS);
        assert_int_equal(events_of(config.logfile), 2 * PAIRS);
        while (count_descriptors() != before) /* a thread that nobody could wake leaves by itself */
            sched_yield();
    }
}

/* What is kept is in FILE.live, or in memory that has no name at all. */
static void test_ring_is_opened_again(void **state)
{
    (void)state;
    for (int no_live = 0; no_live < 2; no_live++) {
        struct rbwp_session_config config = small_chunks(1);
        config.keep_bytes = 16 << 20;
        config.no_live = no_live;
        assert_int_equal(closed_under(config).records, 8 * PAIRS);
        assert_int_equal(events_of(config.logfile), 8 * PAIRS);
    }
}

/* Neither FILE nor FILE.live is where it was: that is reported, and nobody else is blamed. */
static void test_file_is_not_there_any_more(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    struct rbwp_session_summary summary;
    record(PAIRS);
    assert_int_equal(rename(config.logfile, beside(config.logfile, ".moved")), 0);
    assert_int_equal(rename(beside(config.logfile, ".live"), beside(config.logfile, ".moved.live")),
                     0);
    closefrom(3);
    take_all_numbers();
    record(PAIRS);
    assert_int_equal(rbwp_session_stop(session, &summary), RBWP_E_IO);
    give_all_back();
    assert_non_null(strstr(summary.error.text, "the program closed the profile's descriptor"));
    unlink(beside(config.logfile, ".moved"));
    unlink(beside(config.logfile, ".moved.live"));
}

/* A file that has its name by now is not ours. */
static void test_another_file_has_the_name(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    struct stat file;
    record(PAIRS);
    assert_int_equal(unlink(config.logfile), 0);
    closefrom(3);
    int fd = open(config.logfile, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    record(PAIRS);
    assert_int_equal(rbwp_session_stop(session, NULL), RBWP_E_IO);
    assert_int_equal(fstat(fd, &file), 0);
    assert_int_equal(file.st_size, 0);
    close(fd);
    unlink(config.logfile);
    unlink(beside(config.logfile, ".live"));
}

/* The program closes all just before a call of ours that was to use one. */
static atomic_int calls_until_closed = -1;

static void close_just_before(int fd)
{
    if (fd > 2 && atomic_fetch_sub(&calls_until_closed, 1) == 0)
        closefrom(3);
}

#define CLOSED_BEFORE(result, name, parameters, fd, arguments)                                     \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        close_just_before(fd);                                                                     \
        return __real_##name arguments;                                                            \
    }
CLOSED_BEFORE(ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off_t at), fd,
              (fd, bytes, count, at))
CLOSED_BEFORE(int, fallocate64, (int fd, int mode, off_t at, off_t bytes), fd,
              (fd, mode, at, bytes))
CLOSED_BEFORE(int, ftruncate64, (int fd, off_t bytes), fd, (fd, bytes))
CLOSED_BEFORE(int, fdatasync, (int fd), fd, (fd))
CLOSED_BEFORE(int, openat64, (int folder, const char *name, int flags), folder,
              (folder, name, flags))
CLOSED_BEFORE(void *, mmap64, (void *at, size_t bytes, int prot, int flags, int fd, off_t from), fd,
              (at, bytes, prot, flags, fd, from))

static void test_all_are_closed_before_any_call(void **state)
{
    (void)state;
    for (int call = 0;; call++) {
        struct rbwp_session_config config = small_chunks(1);
        struct rbwp_session *session = start(&config);
        atomic_store(&calls_until_closed, call);
        record(PAIRS / 4);
        assert_int_equal(stop(session).records, PAIRS / 2);
        bool was_closed = atomic_exchange(&calls_until_closed, -1) < 0;
        assert_int_equal(events_of(config.logfile), PAIRS / 2);
        if (!was_closed)
            break;
    }
}

/* ---- directories ----------------------------------------------------------------------------- */

static char folder[200], elsewhere[200]; /* the process is in the first one, for a while */

static void enter(void)
{
    snprintf(folder, sizeof folder, "%s", test_path("here"));
    snprintf(elsewhere, sizeof elsewhere, "%s", test_path("there"));
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(chdir(folder), 0);
}

static void leave(void)
{
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else is in them */
    assert_int_equal(rmdir(elsewhere), 0);
}

static struct rbwp_session_config relative_config(void)
{
    struct rbwp_session_config config = small_chunks(1);
    config.logfile = "run.bin";
    return config;
}

static void test_process_goes_elsewhere(void **state)
{
    (void)state;
    for (int and_closes = 0; and_closes < 2; and_closes++) {
        struct rbwp_session_config config = relative_config();
        enter();
        struct rbwp_session *session = start(&config);
        record(PAIRS);
        assert_int_equal(chdir(elsewhere), 0);
        if (and_closes)
            closefrom(3);
        record(PAIRS);
        struct rbwp_session_summary summary = stop(session);
        assert_string_equal(summary.path, beside(folder, "/run.bin"));
        assert_int_equal(events_of(summary.path), 4 * PAIRS);
        unlink(summary.path);
        leave();
    }
}

static void test_dumps_and_parts_stay_beside_file(void **state)
{
    (void)state;
    struct rbwp_session_config config = relative_config();
    config.keep_bytes = 16 << 20;
    enter();
    struct rbwp_session *session = start(&config);
    record(PAIRS);
    assert_int_equal(chdir(elsewhere), 0);
    assert_int_equal(rbwp_session_dump(session, NULL, 0, NULL), RBWP_OK);
    (void)stop(session);
    assert_int_equal(unlink(beside(folder, "/run.bin")), 0);
    assert_int_equal(unlink(beside(folder, "/run.bin.dump-1")), 0);
    assert_int_equal(chdir(folder), 0);

    config.keep_bytes = 0;
    config.rotate_bytes = PART_BYTES;
    config.stored = true;
    session = start(&config);
    assert_int_equal(chdir(elsewhere), 0);
    record(1500000);
    (void)stop(session);
    uint64_t events = events_of(beside(folder, "/run.bin.part-1"));
    unlink(beside(folder, "/run.bin.part-1"));
    for (unsigned part = 2; part < 100; part++) {
        char name[40];
        snprintf(name, sizeof name, "/run.bin.part-%u", part);
        if (access(beside(folder, name), F_OK) == 0)
            events += events_of(beside(folder, name));
        unlink(beside(folder, name));
    }
    assert_true(events >= 3000000 && events < 3000100); /* an item open at a cut is in both */
    leave();
}

static void test_folder_is_renamed(void **state)
{
    (void)state;
    struct rbwp_session_config config = relative_config();
    enter();
    char *file = strdup(beside(folder, "/run.bin"));
    config.logfile = file;
    config.keep_bytes = 16 << 20;
    struct rbwp_session *session = start(&config);
    record(PAIRS);
    assert_int_equal(rmdir(elsewhere), 0);
    assert_int_equal(rename(folder, elsewhere), 0);
    assert_int_equal(rbwp_session_dump(session, NULL, 0, NULL), RBWP_OK);
    struct rbwp_session_summary summary = stop(session);
    assert_string_equal(summary.path, beside(elsewhere, "/run.bin"));
    assert_int_equal(events_of(summary.path), 2 * PAIRS);
    assert_int_equal(unlink(beside(summary.path, ".dump-1")), 0);
    assert_int_equal(unlink(summary.path), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    free(file);
    leave();
}

/* Without /proc there. Only root may; who else runs this test goes elsewhere in vain. */
static void test_process_gets_another_root(void **state)
{
    (void)state;
    struct rbwp_session_config config = relative_config();
    config.keep_bytes = 16 << 20;
    int root = open("/", O_PATH | O_DIRECTORY);
    enter();
    struct rbwp_session *session = start(&config);
    record(PAIRS);
    assert_int_equal(chroot(elsewhere), geteuid() == 0 ? 0 : -1);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rbwp_session_dump(session, NULL, 0, NULL), RBWP_OK);
    (void)stop(session);
    if (geteuid() == 0)
        assert_true(fchdir(root) == 0 && chroot(".") == 0);
    close(root);
    assert_int_equal(events_of(beside(folder, "/run.bin")), 2 * PAIRS);
    assert_int_equal(events_of(beside(folder, "/run.bin.dump-1")), 2 * PAIRS);
    assert_int_equal(unlink(beside(folder, "/run.bin")), 0);
    assert_int_equal(unlink(beside(folder, "/run.bin.dump-1")), 0);
    leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_is_opened_again),
        cmocka_unit_test(test_any_one_is_closed),
        cmocka_unit_test(test_all_are_closed_before_any_call),
        cmocka_unit_test(test_ring_is_opened_again),
        cmocka_unit_test(test_file_is_not_there_any_more),
        cmocka_unit_test(test_another_file_has_the_name),
        cmocka_unit_test(test_process_goes_elsewhere),
        cmocka_unit_test(test_dumps_and_parts_stay_beside_file),
        cmocka_unit_test(test_folder_is_renamed),
        cmocka_unit_test(test_process_gets_another_root),
    };
    closefrom(3); /* what the test was started with */
    if (rbwp_thread_attach("test") != RBWP_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
