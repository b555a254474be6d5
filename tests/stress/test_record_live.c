/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FILE.live from the outside: how much disk it holds, who may look into it, that it does not grow
 * while nothing happens, that it takes up its log again, and that whoever writes into it does not
 * reach the process that records.
 */
#include "record_support.h"

#include "folder.h"
#include "live.h"
#include "rbwp_recover.h"
#include "rbwp_verify.h"
#include "rules.h"
#include "test_point.h"
#include "unit.h"
#include "wrapped.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Atomic(test_point_fn) test_point_hook; /* none is held here */

/* The disk has no room for what begins behind this; -1: it has. */
static _Atomic int64_t disk_ends = -1;

int REAL_(fallocate)(int fd, int mode, off_t offset, off_t bytes);
int WRAP_(fallocate)(int fd, int mode, off_t offset, off_t bytes);
int WRAP_(fallocate)(int fd, int mode, off_t offset, off_t bytes)
{
    int64_t end = atomic_load(&disk_ends);
    if (end >= 0 && offset >= end) {
        errno = ENOSPC;
        return -1;
    }
    return REAL_(fallocate)(fd, mode, offset, bytes);
}

static const char *live_path(void)
{
    static char path[160];
    snprintf(path, sizeof path, "%s.live", test_path("test.bin"));
    return path;
}

static uint64_t disk_bytes(const char *path)
{
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    return (uint64_t)file.st_blocks * 512;
}

static void record_pairs(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        rbwp_begin(1);
        rbwp_end();
    }
}

/* Guards: an idle session holds at most 1.5 MB of disk, with what a thread records now and then, a
 * row of a call that lost its CPU among it; it holds more when there is more to hold. */
static void test_idle_session_is_small(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    record_pairs(10);
    assert_in_range(disk_bytes(config.logfile) + disk_bytes(live_path()), 1, 1500000);
    record_pairs(1000000);
    assert_in_range(disk_bytes(config.logfile) + disk_bytes(live_path()), 1500001, 100 << 20);
    assert_int_equal(stop(session).records, 2000020);
}

/* Guards: what is in FILE.live is for its owner alone, whatever the umask. */
static void test_is_private(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct stat file;
    mode_t mask = umask(0);
    struct rbwp_session *session = start(&config);
    umask(mask);
    assert_int_equal(stat(live_path(), &file), 0);
    assert_int_equal(file.st_mode & 07777, 0600);
    stop(session);
}

/* ---- the parts of it, without a session -------------------------------------------------- */

static void open_live(void)
{
    static const struct live_facts facts = {.zero_time_ns = 1,
                                            .chunk_bytes = 4096,
                                            .chunk_head_bytes = 64,
                                            .ticks_per_second = 1000000000};
    static struct folder folder = {.held = {.fd = -1}};
    int fd = open(live_path(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    folder_close(&folder);
    assert_true(fd >= 0 && folder_open(&folder, live_path()) &&
                live_open(fd, &folder.held, folder_name(live_path())));
    live_begin(&facts);
}

static struct rbwp_live *look(void)
{
    struct rbwp_live *live;
    struct rbwp_error error = {.text = ""};
    if (rbwp_live_open(live_path(), &live, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return live;
}

/* Guards: clock samples take no more room after a year of them than after a minute, and those that
 * are left lie close together near the end, and not too far apart before. */
static void test_samples_do_not_grow(void **state)
{
    (void)state;
    enum { YEAR = 365 * 86400 };
    open_live();
    uint64_t before = disk_bytes(live_path());
    for (uint64_t second = 1; second <= YEAR; second++)
        live_sample(&(struct rbwp_clock_sample){second, (int64_t)second, 0, 0});
    assert_int_equal(disk_bytes(live_path()), before);
    struct rbwp_live *live = look();
    const struct rbwp_trailer *trailer = rbwp_live_trailer(live);
    assert_in_range(trailer->sample_count, 200, 256);
    uint64_t next = trailer->samples[trailer->sample_count - 1].ticks;
    assert_int_equal(next, YEAR);
    for (uint32_t i = trailer->sample_count; i-- > 0;) {
        uint64_t ticks = trailer->samples[i].ticks, age = YEAR - next;
        assert_in_range(next - ticks, 0, 2 + age / 3);
        next = ticks;
    }
    assert_in_range(next, 1, YEAR / 4);
    rbwp_live_close(live);
    live_close(true);
}

static void log_slot(uint16_t slot, const char *name)
{
    struct __attribute__((packed)) {
        int64_t time_ns;
        uint16_t slot;
    } entry = {1, slot};
    live_log(LIVE_SLOT_BEGIN, &entry, sizeof entry, name, strlen(name));
}

/* Guards: a disk that was full for a while costs the names of that while, and they are counted. */
static void test_log_goes_on(void **state)
{
    (void)state;
    char long_name[40001];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    open_live();
    log_slot(0, long_name);
    atomic_store(&disk_ends, 0);
    log_slot(1, long_name); /* no second one in the first segment */
    log_slot(2, long_name);
    log_slot(3, "short"); /* but this */
    atomic_store(&disk_ends, -1);
    log_slot(4, long_name);
    log_slot(5, long_name);
    struct rbwp_live *live = look();
    const struct rbwp_tables *tables = rbwp_live_tables(live);
    static const unsigned slots[] = {0, 3, 4, 5};
    assert_int_equal(tables->work_item_count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(tables->work_items[i].slot, slots[i]);
    assert_int_equal(rbwp_live_count_missing(live).unlogged_names, 2);
    assert_int_equal(rbwp_live_trailer(live)->left_count, 1);
    assert_int_equal(rbwp_live_trailer(live)->left[0].kind, RBWP_LEFT_LIVE_LOG);
    assert_int_equal(rbwp_live_trailer(live)->left[0].entries, 2);
    rbwp_live_close(live);
    live_close(true);
}

/* Guards: memory without room in FILE.live is counted while it is in use, and no longer. */
static void test_unprotected_is_counted(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    config.no_cpu = true; /* whose rows have chunks until the stop */
    atomic_store(&disk_ends, LIVE_HEAD_BYTES + LIVE_UNIT_BYTES); /* room for the log alone */
    struct rbwp_session *session = start(&config);
    record_pairs(10);
    struct rbwp_live *live = look();
    struct rbwp_live_missing missing = rbwp_live_count_missing(live);
    assert_int_equal(missing.unprotected_bytes, 128 << 10);
    assert_in_range(missing.unprotected_records_most, 20, 16384);
    rbwp_live_close(live);
    rbwp_thread_detach();
    while (missing.unprotected_bytes) { /* until the writer has it */
        live = look();
        missing = rbwp_live_count_missing(live);
        rbwp_live_close(live);
    }
    assert_int_equal(stop(session).records, 20);
    atomic_store(&disk_ends, -1);
    assert_int_equal(rbwp_thread_attach("main"), RBWP_OK);
}

/* ---- somebody writes into it -------------------------------------------------------------- */

static _Atomic bool scribbling;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16 | *state << 48;
}

/* Words of every sort over all of the file but its holes, which would need disk, again and again.
 */
static void *scribble(void *argument)
{
    uint64_t random = 20261122;
    int fd = open(argument, O_RDWR | O_CLOEXEC);
    struct stat file = {0};
    assert_true(fd >= 0 && fstat(fd, &file) == 0);
    while (atomic_load(&scribbling)) {
        uint64_t words[16];
        for (size_t i = 0; i < 16; i++) {
            uint64_t word = next_random(&random);
            words[i] = i % 3 ? word : word % 2 ? UINT64_MAX : word & 0x7ffff;
        }
        off_t at = (off_t)(next_random(&random) % (uint64_t)file.st_size) & ~(off_t)7;
        if (next_random(&random) % 8 == 0)
            at &= 4095; /* the head, and what lies first */
        if (lseek(fd, at, SEEK_DATA) == at)
            (void)!pwrite(fd, words, sizeof words, at);
    }
    close(fd);
    return NULL;
}

static void *record_all_sorts(void *argument)
{
    (void)argument;
    assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
    for (unsigned i = 0; i < 60000; i++) {
        rbwp_begin(i % 9);
        rbwp_fine_begin(i % 77);
        if (i % 5 == 0)
            rbwp_gpu_work(i, i % 9, 1, 2);
        rbwp_set_worked(i % 3 != 0);
        rbwp_fine_end();
        rbwp_end();
    }
    return NULL;
}

/* Garbage may break what a decoder cannot see: turns, and the level. */
static bool only_garbage(void *context, const struct rbwp_problem *problem)
{
    unsigned rule = problem->error.rule;
    (void)context;
    if (rule != RULE_TURNS && rule != RULE_FINE_LEVEL)
        fail_msg("%s", problem->error.text);
    return true;
}

/*
 * Guards: whoever can write to FILE.live cannot crash the process, lead it to other memory, or make
 * it write a file that cannot be read; what was overwritten is reported. Chunks of all sizes.
 */
static void test_scribbling(void **state)
{
    (void)state;
    static const uint64_t caps[] = {64 << 10, 1 << 20, RBWP_CAP_NONE};
    uint64_t overwritten = 0;
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        struct rbwp_session_config config = test_config(2);
        struct rbwp_verify_result verified;
        pthread_t writer, thread[2];
        config.cap_bytes = caps[i];
        struct rbwp_session *session = start(&config);
        atomic_store(&scribbling, true);
        assert_int_equal(pthread_create(&writer, NULL, scribble, (void *)live_path()), 0);
        for (int t = 0; t < 2; t++)
            assert_int_equal(pthread_create(&thread[t], NULL, record_all_sorts, NULL), 0);
        for (int t = 0; t < 2; t++)
            pthread_join(thread[t], NULL);
        struct rbwp_session_summary summary = stop(session);
        atomic_store(&scribbling, false);
        pthread_join(writer, NULL);
        assert_true(summary.records > 0);
        assert_int_equal(rbwp_verify(config.logfile, only_garbage, NULL, &verified, NULL), RBWP_OK);
        assert_true(verified.finalised && !verified.cut);
        overwritten += summary.lost_records;
    }
    assert_true(overwritten > 0);
}

static int attach(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_session_is_small),  cmocka_unit_test(test_is_private),
        cmocka_unit_test(test_samples_do_not_grow),    cmocka_unit_test(test_log_goes_on),
        cmocka_unit_test(test_unprotected_is_counted), cmocka_unit_test(test_scribbling),
    };
    return cmocka_run_group_tests_name("record_live", tests, attach, NULL);
}
