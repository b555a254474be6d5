/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions as a whole: what starts and what does not, what the file says of
 * the session, that every block size and compression level gives the same
 * records, and that a full disk costs records but neither the file nor the
 * host program.
 */
#include "record_support.h"
#include "sanitized.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- starting ------------------------------------------------------------------------------ */

static enum rbwp_status try_start(const struct rbwp_session_config *config,
                                  struct rbwp_error *error)
{
    struct rbwp_session *session = (void *)1;
    memset(error, 0, sizeof *error);
    enum rbwp_status status = rbwp_session_start(config, &session, error);
    assert_null(session);
    assert_int_equal(error->status, status);
    assert_true(strlen(error->text) > 0);
    assert_null(strchr(error->text, '\n'));
    return status;
}

/* Every wrong value is refused by itself, and no file appears. */
static void test_wrong_configurations(void **state)
{
    (void)state;
    const struct rbwp_session_config good = test_config(1);
    struct rbwp_error error;
    struct rbwp_session_config wrong[11];
    size_t count = sizeof wrong / sizeof wrong[0];
    for (size_t i = 0; i < count; i++) {
        wrong[i] = good;
        wrong[i].logfile = test_path("never.bin");
    }
    wrong[0].level = 3;
    wrong[1].level = -1;
    wrong[2].block_bytes = 1023;
    wrong[3].block_bytes = RBWP_BLOCK_BYTES_MAX + 1;
    wrong[4].compression = 10;
    wrong[5].compression = -1;
    wrong[6].logfile = "";
    wrong[7].node = -1;
    wrong[7].own_node = true;
    wrong[8].at_cap = (enum rbwp_at_cap)2;
    wrong[9].node = (int64_t)UINT32_MAX + 1;
    wrong[10].nodes = 2; /* and the name has no place for the node */
    for (size_t i = 0; i < count; i++)
        assert_int_equal(try_start(&wrong[i], &error), RBWP_E_USAGE);
    wrong[0] = good;
    wrong[0].size = 0;
    assert_int_equal(try_start(&wrong[0], &error), RBWP_E_INVALID);
    assert_non_null(strstr(error.text, "sizeof"));
    assert_int_equal(access(test_path("never.bin"), F_OK), -1);

    struct rbwp_session *session = start(&good); /* none of them has left anything behind */
    (void)stop(session);
}

/* Of several nodes each must have a name of its own: the node's or the process's id makes it one.
 */
static void test_names_of_several_nodes(void **state)
{
    (void)state;
    char process[40];
    snprintf(process, sizeof process, "%ld.bin", (long)getpid());
    struct rbwp_session_config config = test_config(1);
    config.nodes = 2;
    config.logfile = test_path("%p.bin");
    struct rbwp_session *session = start(&config);
    struct rbwp_session_summary summary = stop(session);
    assert_string_equal(strrchr(summary.path, '/') + 1, process);
    struct rbwp_error error;
    config.logfile = test_path("%h.bin");
    assert_int_equal(try_start(&config, &error), RBWP_E_USAGE);
    assert_non_null(strstr(error.text, "%p"));
}

/* A file that cannot be had: the program runs on, and the message names it. */
static void test_unwritable(void **state)
{
    (void)state;
    static const char *const paths[] = {"/nonexistent/directory/x.bin", "/tmp", "/dev/full"};
    for (size_t i = 0; i < 3; i++) {
        struct rbwp_session_config config = test_config(2);
        struct rbwp_error error;
        config.logfile = paths[i];
        assert_int_equal(try_start(&config, &error), RBWP_E_IO);
        assert_non_null(strstr(error.text, paths[i]));
        assert_int_not_equal(error.os_errno, 0);
        rbwp_begin(1); /* level 0 */
        rbwp_end();
    }
}

/* One session at a time; the one that runs is not disturbed, and its file not emptied. */
static void test_busy(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    struct rbwp_error error;
    rbwp_begin(1);
    assert_int_equal(try_start(&config, &error), RBWP_E_BUSY);
    rbwp_end();
    (void)stop(session);
    assert_calls("B1 E");
}

/* Sessions follow each other; no thread, count or record of one is in the next. */
static void test_one_after_the_other(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct rbwp_session_config config = test_config(i % 2 + 1);
        struct rbwp_session *session = start(&config);
        for (unsigned j = 0; j <= i; j++) {
            rbwp_begin(i);
            rbwp_end();
            rbwp_begin(9);
            rbwp_discard();
            rbwp_end();
        }
        struct rbwp_session_summary summary = stop(session);
        assert_int_equal(summary.records, 2 * (i + 1));
        assert_int_equal(summary.discarded, i + 1);
        assert_int_equal(summary.misuse_calls, i + 1);
        struct stat file;
        assert_int_equal(stat(summary.path, &file), 0);
        assert_int_equal(summary.bytes, file.st_size);
        struct recorded recorded = read_back(summary.path);
        assert_int_equal(recorded.events, 2 * (i + 1));
        assert_int_equal(recorded.blocks, summary.blocks);
        assert_int_equal(recorded.trailer->discarded, i + 1);
        assert_int_equal(losses(&recorded, 0, RBWP_LOSS_STRAY_END), i + 1);
        recorded_free(&recorded);
    }
}

static void test_stop_of_nothing(void **state)
{
    (void)state;
    struct rbwp_session_summary summary = {.records = 5};
    assert_int_equal(rbwp_session_stop(NULL, &summary), RBWP_OK);
    assert_int_equal(summary.records, 0);
    assert_int_equal(rbwp_session_stop(NULL, NULL), RBWP_OK);
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_session_stop((struct rbwp_session *)&config, &summary), RBWP_E_STATE);
    (void)stop(session);
}

/* ---- what the file says --------------------------------------------------------------------- */

static void *named_thread(void *name)
{
    assert_int_equal(rbwp_thread_attach(name), RBWP_OK);
    rbwp_begin(1);
    rbwp_end();
    assert_int_equal(rbwp_thread_attach("renamed"), RBWP_OK);
    rbwp_begin(1);
    rbwp_end();
    return NULL; /* detached by its end */
}

static void test_facts(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    config.node = 3;
    config.logfile = test_path("node%.bin");
    int64_t before = rbwp_now_ns();
    struct rbwp_session *session = start(&config);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, named_thread, (char *)"first"), 0);
    pthread_join(thread, NULL);
    rbwp_begin(2);
    int64_t inside = rbwp_now_ns();
    rbwp_end();
    struct rbwp_session_summary summary = stop(session);
    int64_t after = rbwp_now_ns();
    assert_string_equal(summary.path, test_path("node3.bin"));

    struct recorded recorded = read_back(summary.path);
    const struct rbwp_trailer *trailer = recorded.trailer;
    assert_int_equal(recorded.header.node, 3);
    assert_int_equal(recorded.header.flags, RBWP_FLAG_LEVEL2);
    assert_int_equal(recorded.header.zero_time_ns, trailer->start_ns);
    assert_int_equal(trailer->level, 2);
    assert_int_equal(trailer->process_id, getpid());
    assert_int_equal(trailer->cap_bytes, UINT64_C(1) << 30);
    assert_true(trailer->clock_hz > 0 && trailer->clock_kind > 0);
    assert_true(trailer->command_bytes > 0);
    const int64_t second = 1000000000;
    assert_true(trailer->start_ns > before - second && trailer->stop_ns < after + second);
    assert_true(trailer->start_ns < trailer->stop_ns);

    const struct rbwp_thread_info *other = thread_named(&recorded, "renamed");
    const struct rbwp_thread_info *self = thread_named(&recorded, "main");
    assert_int_equal(trailer->thread_count, 2);
    assert_int_equal(other->records, 4);
    assert_int_equal(self->records, 2);
    assert_int_equal(self->os_id, getpid());
    assert_int_equal(self->detached_ns, 0);
    assert_true(other->os_id != self->os_id && other->thread_id != self->thread_id);
    assert_true(other->attached_ns > trailer->start_ns && other->detached_ns > other->attached_ns &&
                other->detached_ns < trailer->stop_ns);

    /* rbwp_now_ns and the records are on one time line. */
    char *calls = calls_of(&recorded, self->thread_id);
    assert_string_equal(calls, "B2 E");
    free(calls);
    size_t last = recorded.events - 1;
    const int64_t slack = 1000;
    assert_true(recorded.event[last - 1].record.time_ns <= inside + slack);
    assert_true(recorded.event[last].record.time_ns >= inside - slack);
    recorded_free(&recorded);
}

/* The strict form has the same records and tables, and nothing behind the tables. */
static void test_strict(void **state)
{
    (void)state;
    unsigned slot, id;
    assert_int_equal(rbwp_work_item_register("strict item", &slot), RBWP_OK);
    assert_int_equal(rbwp_sub_item_register(RBWP_DEPPART_OP, "strict sub-item", &id), RBWP_OK);
    struct rbwp_session_config config = test_config(2);
    config.strict = true;
    struct rbwp_session *session = start(&config);
    rbwp_begin(slot);
    rbwp_fine_begin(id);
    rbwp_end();
    assert_int_equal(stop(session).misuse_calls, 1);
    struct recorded recorded = read_back(config.logfile);
    assert_null(recorded.trailer);
    assert_int_equal(recorded.events, 4);
    assert_int_equal(recorded.tables->work_item_count, 1);
    assert_int_equal(recorded.tables->sub_item_count, id + 1);
    assert_memory_equal(recorded.tables->work_items[0].name, "strict item", 11);
    assert_int_equal(recorded.tables->sub_items[id].type, RBWP_DEPPART_OP);
    recorded_free(&recorded);
    assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
}

/* Kinds of the program's own: version 1 sees a type that it knows, the trailer what it is. */
static void test_own_kinds(void **state)
{
    (void)state;
    enum rbwp_sub_item_type waits, works, again;
    char too_long[RBWP_KIND_NAME_BYTES_MAX + 2];
    unsigned ids[3];
    memset(too_long, 'x', sizeof too_long);
    too_long[sizeof too_long - 1] = '\0';
    assert_int_equal(rbwp_sub_item_kind_register("", 0, &again), RBWP_E_INVALID);
    assert_int_equal(rbwp_sub_item_kind_register("flags", 2, &again), RBWP_E_INVALID);
    assert_int_equal(rbwp_sub_item_kind_register(too_long, 0, &again), RBWP_E_LIMIT);
    assert_int_equal(rbwp_sub_item_kind_register("stall", RBWP_KIND_WAITS, &waits), RBWP_OK);
    assert_int_equal(rbwp_sub_item_kind_register("stall", 0, &works), RBWP_OK);
    assert_int_equal(rbwp_sub_item_kind_register("stall", RBWP_KIND_WAITS, &again), RBWP_OK);
    assert_int_equal(again, waits);
    assert_int_not_equal(works, waits);
    assert_int_equal(rbwp_sub_item_register(waits, "before", &ids[0]), RBWP_OK);
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_sub_item_register(works, "inside", &ids[1]), RBWP_OK);
    assert_int_equal(rbwp_sub_item_register(RBWP_GPU_REAP, "known", &ids[2]), RBWP_OK);
    unsigned slot;
    assert_int_equal(rbwp_work_item_register("waits for all", &slot), RBWP_OK);
    assert_int_equal(rbwp_work_item_set_kind(slot, RBWP_GPU_REAP), RBWP_E_INVALID);
    assert_int_equal(rbwp_work_item_set_kind(RBWP_SLOTS_MAX, waits), RBWP_E_INVALID);
    assert_int_equal(rbwp_work_item_set_kind(slot, works), RBWP_OK);
    assert_int_equal(rbwp_work_item_set_kind(slot, waits), RBWP_OK);
    stop(session);
    assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
    assert_int_equal(rbwp_work_item_set_kind(slot, waits), RBWP_E_STATE);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.tables->sub_items[ids[0]].type, RBWP_AM_HANDLER);
    assert_int_equal(recorded.tables->sub_items[ids[1]].type, RBWP_AM_HANDLER);
    assert_int_equal(recorded.tables->sub_items[ids[2]].type, RBWP_GPU_REAP);
    const struct rbwp_sub_item_kind *kinds = recorded.trailer->sub_item_kinds;
    assert_int_equal(recorded.trailer->sub_item_kind_count, 3);
    assert_int_equal(kinds[2].id, slot);
    assert_int_equal(kinds[2].flags, RBWP_KIND_WAITS | RBWP_KIND_OF_SLOT);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(kinds[i].id, ids[i]);
        assert_int_equal(kinds[i].flags, i == 0 ? RBWP_KIND_WAITS : 0);
        assert_int_equal(kinds[i].name_bytes, 5);
        assert_memory_equal(kinds[i].name, "stall", 5);
    }
    recorded_free(&recorded);
}

/* Losses of a session that recorded nothing, and of ticks that were read before it: in its time. */
static void test_times_of_losses(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        uint64_t stale = rbwp_now_ticks();
        struct rbwp_session_config config = test_config(1);
        struct rbwp_session *session = start(&config);
        rbwp_begin_at(256, stale);
        rbwp_end_at(rbwp_now_ticks() + rbwp_ticks_from_ns(1000000000));
        rbwp_end_at(stale);
        (void)stop(session);
        struct recorded recorded = read_back(config.logfile);
        assert_int_equal(losses(&recorded, 0, RBWP_LOSS_STRAY_END), 1);
        assert_int_equal(losses(&recorded, 0, RBWP_LOSS_RANGE), 1);
        recorded_free(&recorded);
    }
}

/* ---- encodings --------------------------------------------------------------------------------
 */

static void record_a_little_of_everything(void)
{
    for (unsigned i = 0; i < 6000; i++) {
        rbwp_begin(i % 7);
        for (unsigned j = 0; j < i % 4; j++) {
            rbwp_fine_begin(i * 31 % 65536);
            rbwp_fine_end();
        }
        if (i % 100 == 0)
            rbwp_gpu_work(i, i % 256, i, -(int64_t)i);
        rbwp_end();
    }
}

static void test_encodings(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1024, 1025, 4096, 65536, 1 << 20, 16 << 20};
    char *first = NULL;
    for (int level = 0; level <= 9; level += PART_UNDER_TSAN(3, 1)) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct rbwp_session_config config = test_config(2);
            config.compression = level;
            config.stored = level == 0;
            config.block_bytes = sizes[i];
            if (level > 3 && i % 3 != 1)
                continue;
            struct rbwp_session *session = start(&config);
            record_a_little_of_everything();
            struct rbwp_session_summary summary = stop(session);
            assert_int_equal(summary.lost_records + summary.misuse_calls, 0);
            struct recorded recorded = read_back(config.logfile);
            char *calls = calls_of(&recorded, 0);
            recorded_free(&recorded);
            if (first)
                assert_string_equal(calls, first);
            if (first)
                free(calls);
            else
                first = calls;
        }
    }
    assert_int_equal(strncmp(first, "B0 G0 E B1 F31 f E", 18), 0);
    free(first);
}

/* ---- the cap ----------------------------------------------------------------------------------
 */

enum { CAP_THREADS = 4, CAP_ITEMS = PART_UNDER_TSAN(20000, 60000) };

static void *record_items(void *slot)
{
    assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
    for (unsigned i = 0; i < CAP_ITEMS; i++) {
        rbwp_begin((unsigned)(uintptr_t)slot);
        rbwp_fine_begin(i % 65536);
        rbwp_fine_end();
        rbwp_end();
    }
    return NULL;
}

/* The sub-items of the thread that used this slot are counted through, without a hole. */
static void assert_items_in_order(const struct recorded *recorded, unsigned slot)
{
    size_t i = 0;
    while (recorded->event[i].record.kind != RBWP_COARSE_BEGIN ||
           recorded->event[i].record.slot != slot)
        i++;
    uint64_t thread_id = recorded->event[i].thread_id;
    unsigned next = 0;
    for (; i < recorded->events; i++) {
        const struct event *event = &recorded->event[i];
        if (event->thread_id == thread_id && event->record.kind == RBWP_FINE_BEGIN)
            assert_int_equal(event->record.sub_item, next++ % 65536);
    }
    assert_int_equal(next, CAP_ITEMS);
}

/* Several threads far beyond a cap of 1 MB: with the policy "wait" nothing is lost or out of order,
 * and memory stays at the cap, but for what each thread may always have. */
static void test_wait_at_the_cap(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    config.cap_bytes = 1 << 20;
    config.stall_ns = UINT64_C(60) * 1000000000;
    struct rbwp_session *session = start(&config);
    pthread_t threads[CAP_THREADS];
    for (uintptr_t i = 0; i < CAP_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_items, (void *)i), 0);
    for (int i = 0; i < CAP_THREADS; i++)
        pthread_join(threads[i], NULL);
    struct rbwp_session_summary summary = stop(session);
    assert_int_equal(summary.records, CAP_THREADS * CAP_ITEMS * 4);
    assert_true(summary.peak_bytes <= (1 << 20) + 2 * CAP_THREADS * (64 << 10));

    struct recorded recorded = read_back(config.logfile);
    assert_matched(&recorded);
    assert_int_equal(all_losses(&recorded), 0);
    for (unsigned slot = 0; slot < CAP_THREADS; slot++)
        assert_items_in_order(&recorded, slot);
    recorded_free(&recorded);
}

/* ---- a disk that fills up ---------------------------------------------------------------------
 */

/* More than `limit` bytes, uncompressed; losses and all must add up, and the file be whole. */
static void fill_disk(const char *path, uint64_t limit_bytes)
{
    enum { ITEMS = PART_UNDER_TSAN(200000, 400000) };
    struct rbwp_session_config config = test_config(1);
    config.logfile = path;
    config.stored = true;
    config.no_cpu = true;      /* whose rows may be lost, too */
    config.block_bytes = 1024; /* fill it to the last kilobyte; the tables need more */
    char name[8192] = "";
    memset(name, 'x', sizeof name - 1);
    assert_int_equal(rbwp_work_item_register_at(0, name), RBWP_OK);
    struct rbwp_session *session = start(&config);
    for (unsigned i = 0; i < ITEMS; i++) {
        rbwp_begin(i % 256);
        rbwp_end();
    }
    struct rbwp_session_summary summary;
    assert_int_equal(rbwp_session_stop(session, &summary), RBWP_E_IO);
    assert_int_equal(summary.error.status, RBWP_E_IO);
    assert_true(summary.error.os_errno == EFBIG || summary.error.os_errno == ENOSPC);
    assert_true(summary.lost_records > 0 && summary.records > 0);
    assert_int_equal(summary.records + summary.lost_records, 2 * ITEMS);

    struct recorded recorded = read_back(path);
    assert_int_equal(recorded.events, summary.records);
    assert_int_equal(losses(&recorded, thread_named(&recorded, "main")->thread_id, RBWP_LOSS_IO),
                     summary.lost_records);
    assert_true(rbwp_reader_size(recorded.reader) <= limit_bytes);
    assert_int_equal(recorded.event[0].record.slot, 0);
    assert_int_equal(recorded.tables->work_items[0].name_bytes, sizeof name - 1);
    recorded_free(&recorded);
    assert_int_equal(rbwp_work_item_release(0), RBWP_OK);
}

/* The limit's signal, deadly by default, does not reach the host program. */
static void test_file_size_limit(void **state)
{
    (void)state;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fill_disk(test_path("limit.bin"), 1 << 20);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* The descriptor of a disk of 1 MiB that is mounted nowhere; -1: no right to have one. */
static int small_disk(void)
{
    enum { SET_STRING = 1, CREATE = 6 }; /* of linux/mount.h, which does not go with sys/mount.h */
    int disk = -1, maker = (int)syscall(SYS_fsopen, "tmpfs", 0);
    if (maker < 0)
        return -1;
    if (syscall(SYS_fsconfig, maker, SET_STRING, "size", "1m", 0) == 0 &&
        syscall(SYS_fsconfig, maker, CREATE, NULL, NULL, 0) == 0)
        disk = (int)syscall(SYS_fsmount, maker, 0, 0);
    close(maker);
    return disk;
}

static void test_full_disk(void **state)
{
    (void)state;
    const int disk = small_disk();
    if (disk < 0)
        skip();
    char file[64];
    snprintf(file, sizeof file, "/proc/self/fd/%d/full.bin", disk);
    fill_disk(file, 1 << 20);
    close(disk);
}

static int attach_main(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

/* "disk": what needs the right to make a small disk; a test of its own, so that the others count
 * as passed where it is skipped. */
int main(int argc, char **argv)
{
    (void)argv;
    const struct CMUnitTest disk[] = {cmocka_unit_test(test_full_disk)};
    if (argc > 1)
        return cmocka_run_group_tests_name("disk", disk, attach_main, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_configurations),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_names_of_several_nodes),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_stop_of_nothing),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_own_kinds),
        cmocka_unit_test(test_times_of_losses),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_wait_at_the_cap),
        cmocka_unit_test(test_file_size_limit),
    };
    return cmocka_run_group_tests_name("session", tests, attach_main, NULL);
}
