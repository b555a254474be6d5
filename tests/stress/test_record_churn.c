/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes and goes in a session takes no more room for coming often: threads, and names of
 * slots. The file is finished whatever there was, what its tables drop is counted in it, and
 * nothing that is dropped gives a record another's name.
 */
#include "record_support.h"
#include "sanitized.h"

#include "live_layout.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Memory that a sanitizer adds is not ours. */
#ifdef SANITIZED
#define COUNTS_MEMORY 0
#else
#define COUNTS_MEMORY 1
#endif

enum { THREADS = 100000, NAMES = 300000, NAMES_RECORDED = 500 };

static const struct rbwp_left *left_out(const struct recorded *recorded, enum rbwp_left_kind kind)
{
    for (uint32_t i = 0; i < recorded->trailer->left_count; i++)
        if (recorded->trailer->left[i].kind == kind)
            return &recorded->trailer->left[i];
    return NULL;
}

static uint64_t live_bytes(const struct rbwp_session_config *config)
{
    char path[200];
    struct stat status;
    snprintf(path, sizeof path, "%s.live", config->logfile);
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_blocks * 512;
}

/* Guards: memory, disk and tables stay bounded while threads come and go, each with a record, and
 * some with a loss of their own; all of them are in the table or counted as left out of it. */
static void test_threads(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    config.cap_bytes = 16 << 20; /* a writer that gets no processor is waited for */
    struct rbwp_session *session = start(&config);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
        rbwp_begin(i % 256);
        rbwp_end();
        if (i % 2)
            rbwp_end(); /* stray */
        assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    }
    assert_true(live_bytes(&config) < UINT64_C(32) << 20);
    (void)stop(session);
    assert_true(!COUNTS_MEMORY || most_memory_kb() < 64 << 10);

    struct recorded recorded = read_back(config.logfile);
    const struct rbwp_left *left = left_out(&recorded, RBWP_LEFT_THREADS);
    assert_non_null(left);
    assert_int_equal(left->entries + recorded.trailer->thread_count, THREADS);
    assert_int_equal(left->records + 2 * recorded.trailer->thread_count, 2 * THREADS);
    assert_int_equal(recorded.events, 2 * THREADS);
    uint64_t strays = 0;
    for (uint32_t i = 0; i < recorded.trailer->loss_count; i++)
        strays += recorded.trailer->losses[i].count;
    assert_int_equal(strays, THREADS / 2);
    assert_int_equal(left_out(&recorded, RBWP_LEFT_LOSSES)->entries,
                     THREADS / 2 - (recorded.trailer->loss_count - 1));
    recorded_free(&recorded);
}

/* Guards: of threads that ended, those with the most records keep their entries. */
static void test_busy_threads_stay(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    for (unsigned i = 0; i < THREADS; i++) {
        bool busy = i % 1000 == 7;
        assert_int_equal(rbwp_thread_attach(busy ? "busy" : "idle, with a name that takes room"),
                         RBWP_OK);
        for (unsigned j = 0; busy && j < 3; j++) {
            rbwp_begin(1);
            rbwp_end();
        }
        assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    }
    (void)stop(session);
    struct recorded recorded = read_back(config.logfile);
    unsigned busy = 0;
    for (uint32_t i = 0; i < recorded.trailer->thread_count; i++)
        busy += recorded.trailer->threads[i].records == 6;
    assert_int_equal(busy, THREADS / 1000);
    assert_int_equal(left_out(&recorded, RBWP_LEFT_THREADS)->records, 0);
    recorded_free(&recorded);
}

/* The name that the file gives a slot at that time. */
static const struct rbwp_slot_use *use_at(const struct recorded *recorded, unsigned slot,
                                          int64_t time_ns)
{
    const struct rbwp_slot_use *found = NULL;
    for (uint32_t i = 0; i < recorded->trailer->slot_use_count; i++) {
        const struct rbwp_slot_use *use = &recorded->trailer->slot_uses[i];
        if (use->slot == slot && use->from_ns <= time_ns &&
            (use->to_ns == 0 || time_ns < use->to_ns)) {
            assert_null(found);
            found = use;
        }
    }
    assert_non_null(found);
    return found;
}

static bool is_named(const struct rbwp_slot_use *use, const char *name)
{
    return use->name_bytes == strlen(name) && memcmp(use->name, name, use->name_bytes) == 0;
}

/* Guards: a slot that had more names than there is room for gives each record its name, or says
 * that it was not kept; never another one. */
static void test_names(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_thread_attach("main"), RBWP_OK);
    assert_int_equal(rbwp_work_item_register_at(6, "first"), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(6), RBWP_OK); /* a slot's last name stays */
    for (unsigned i = 0; i < NAMES; i++) {
        char name[20];
        snprintf(name, sizeof name, "%u", i);
        assert_int_equal(rbwp_work_item_register_at(5, name), RBWP_OK);
        if (i % (NAMES / NAMES_RECORDED) == 0) {
            rbwp_begin(5);
            rbwp_end();
        }
        assert_int_equal(rbwp_work_item_release(5), RBWP_OK);
    }
    (void)stop(session);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.events, 2 * NAMES_RECORDED);
    unsigned kept = 0;
    for (unsigned i = 0; i < NAMES_RECORDED; i++) {
        char name[20];
        snprintf(name, sizeof name, "%u", i * (NAMES / NAMES_RECORDED));
        const struct rbwp_slot_use *use =
            use_at(&recorded, 5, recorded.event[2 * i].record.time_ns);
        kept += is_named(use, name);
        assert_true(is_named(use, name) || is_named(use, "(name not kept)"));
    }
    assert_true(kept >= NAMES_RECORDED / 10);
    assert_memory_equal(recorded.tables->work_items[1].name, "first", 5);
    /* One of the uses in the file stands for all that were dropped, one is slot 6's. */
    assert_int_equal(left_out(&recorded, RBWP_LEFT_SLOT_USES)->entries +
                         recorded.trailer->slot_use_count - 2,
                     NAMES);
    recorded_free(&recorded);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* Guards: a slot that has the same name again and again needs no room for it. */
static void test_same_name(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    for (unsigned i = 0; i < NAMES; i++) {
        assert_int_equal(rbwp_work_item_register_at(5, "the same"), RBWP_OK);
        assert_int_equal(rbwp_work_item_release(5), RBWP_OK);
    }
    assert_int_equal(rbwp_work_item_register_at(5, "the same"), RBWP_OK);
    (void)stop(session);
    struct recorded recorded = read_back(config.logfile);
    assert_null(left_out(&recorded, RBWP_LEFT_SLOT_USES));
    assert_true(is_named(use_at(&recorded, 5, recorded.trailer->stop_ns), "the same"));
    recorded_free(&recorded);
    assert_int_equal(rbwp_work_item_release(5), RBWP_OK);
}

/* What a process that dies leaves after its log was written anew. Exit status 0. */
static void die_after_churn(const struct rbwp_session_config *config)
{
    unsigned id = 0;
    (void)start(config);
    bool good = rbwp_thread_attach("main") == RBWP_OK &&
                rbwp_work_item_register_at(9, "stays") == RBWP_OK &&
                rbwp_sub_item_register(RBWP_XFER_CHANNEL, "part", &id) == RBWP_OK;
    rbwp_begin(9);
    rbwp_fine_begin(id);
    for (unsigned i = 0; good && i < NAMES; i++)
        good = rbwp_work_item_register_at(5, "the same") == RBWP_OK &&
               rbwp_work_item_release(5) == RBWP_OK;
    rbwp_fine_end();
    rbwp_end();
    good = good && rbwp_work_item_register_at(5, "the last") == RBWP_OK;
    _exit(good && live_bytes(config) < UINT64_C(20) << 20 ? 0 : 1);
}

/* Guards: the live file's log is written anew before it grows for ever, and says all that the old
 * one said that still counts. */
static void test_log(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    config.logfile = test_path("log.bin");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        die_after_churn(&config);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    char path[200];
    struct live_head head;
    snprintf(path, sizeof path, "%s.live", config.logfile);
    FILE *live = fopen(path, "rb");
    assert_int_equal(fread(&head, sizeof head, 1, live), 1);
    fclose(live);
    assert_true(head.log_first > 0);

    struct recorded recorded = read_recovered(config.logfile);
    char *calls = calls_of(&recorded, thread_named(&recorded, "main")->thread_id);
    assert_int_equal(strncmp(calls, "B9 F", 4), 0);
    free(calls);
    assert_int_equal(recorded.tables->work_item_count, 2);
    assert_memory_equal(recorded.tables->work_items[0].name, "the last", 8);
    assert_memory_equal(recorded.tables->work_items[1].name, "stays", 5);
    assert_int_equal(recorded.tables->sub_item_count, 1);
    assert_true(
        is_named(use_at(&recorded, 5, recorded.event[1].record.time_ns + 1000000), "the same"));
    recorded_free(&recorded);
}

/* Guards: names that the file has no room for are cut, and the file is finished. (Last: sub-items
 * are never given back.) */
static void test_long_names(void **state)
{
    (void)state;
    char *name = malloc(RBWP_NAME_BYTES_MAX + 1);
    memset(name, 'n', RBWP_NAME_BYTES_MAX);
    name[RBWP_NAME_BYTES_MAX] = 0;
    for (unsigned i = 0, id; i < (64u << 20) / RBWP_NAME_BYTES_MAX + 1; i++)
        assert_int_equal(rbwp_sub_item_register(RBWP_AM_HANDLER, name, &id), RBWP_OK);
    struct rbwp_session_config config = test_config(1);
    config.no_live = true;
    (void)stop(start(&config));
    struct recorded recorded = read_back(config.logfile);
    assert_true(recorded.tables->sub_items[0].name_bytes >= 100);
    assert_memory_equal(recorded.tables->sub_items[0].name, name, 100);
    recorded_free(&recorded);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads), cmocka_unit_test(test_busy_threads_stay),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_same_name),
        cmocka_unit_test(test_log),     cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests_name("record churn", tests, NULL, NULL);
}
