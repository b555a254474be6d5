/* SPDX-License-Identifier: Apache-2.0 */
/* Names of slots over time and of sub-items, as the registry gives them and as a file has them. */
#include "names.h"

#include "record_support.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void release_all(void)
{
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        (void)rbwp_work_item_release(slot);
}

/* The lowest free slot; the 257th is refused; a slot of one's own choice; a released one again. */
static void test_slots(void **state)
{
    (void)state;
    unsigned slot = 999;
    assert_int_equal(rbwp_work_item_register_at(5, "five"), RBWP_OK);
    assert_int_equal(rbwp_work_item_register_at(5, "again"), RBWP_E_BUSY);
    assert_int_equal(rbwp_work_item_register_at(256, "beyond"), RBWP_E_INVALID);
    for (unsigned i = 0; i < RBWP_SLOTS_MAX - 1; i++) {
        assert_int_equal(rbwp_work_item_register("item", &slot), RBWP_OK);
        assert_int_equal(slot, i + (i >= 5));
    }
    slot = 999;
    assert_int_equal(rbwp_work_item_register("the 257th", &slot), RBWP_E_LIMIT);
    assert_int_equal(slot, 999);
    assert_int_equal(rbwp_work_item_release(77), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(77), RBWP_E_STATE);
    assert_int_equal(rbwp_work_item_release(256), RBWP_E_STATE);
    assert_int_equal(rbwp_work_item_register("new", &slot), RBWP_OK);
    assert_int_equal(slot, 77);
    release_all();
    struct names_snapshot names;
    assert_int_equal(names_take(&names), RBWP_OK);
    assert_int_equal(names.work_item_count, 0); /* without a session nothing of them is kept */
    assert_int_equal(names.slot_use_count, 0);
    names_release(&names);
}

/* 65535 bytes of any kind are a name, one more is not; no name is an error, not a crash. */
static void test_lengths(void **state)
{
    (void)state;
    char *name = malloc(RBWP_NAME_BYTES_MAX + 2);
    unsigned slot, id;
    memset(name, 0xff, RBWP_NAME_BYTES_MAX + 1);
    name[RBWP_NAME_BYTES_MAX + 1] = 0;
    assert_int_equal(rbwp_work_item_register(name, &slot), RBWP_E_LIMIT);
    assert_int_equal(rbwp_work_item_register_at(0, name), RBWP_E_LIMIT);
    assert_int_equal(rbwp_sub_item_register(RBWP_AM_HANDLER, name, &id), RBWP_E_LIMIT);
    assert_int_equal(rbwp_work_item_register(NULL, &slot), RBWP_E_INVALID);
    assert_int_equal(rbwp_work_item_register_at(0, NULL), RBWP_E_INVALID);
    assert_int_equal(rbwp_sub_item_register(RBWP_AM_HANDLER, NULL, &id), RBWP_E_INVALID);
    assert_int_equal(rbwp_sub_item_register((enum rbwp_sub_item_type)256, "x", &id),
                     RBWP_E_INVALID);
    name[RBWP_NAME_BYTES_MAX] = 0;

    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_work_item_register(name, &slot), RBWP_OK);
    assert_int_equal(rbwp_sub_item_register(RBWP_GPU_REAP, name, &id), RBWP_OK);
    assert_int_equal(rbwp_work_item_register_at(200, ""), RBWP_OK);
    (void)stop(session);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.tables->work_item_count, 2);
    assert_int_equal(recorded.tables->work_items[0].name_bytes, RBWP_NAME_BYTES_MAX);
    assert_memory_equal(recorded.tables->work_items[0].name, name, RBWP_NAME_BYTES_MAX);
    assert_int_equal(recorded.tables->work_items[1].slot, 200);
    assert_int_equal(recorded.tables->work_items[1].name_bytes, 0);
    assert_memory_equal(recorded.tables->sub_items[id].name, name, RBWP_NAME_BYTES_MAX);
    recorded_free(&recorded);
    free(name);
    release_all();
}

static const struct rbwp_slot_use *use_named(const struct recorded *recorded, const char *name)
{
    const struct rbwp_trailer *trailer = recorded->trailer;
    for (uint32_t i = 0; i < trailer->slot_use_count; i++)
        if (trailer->slot_uses[i].name_bytes == strlen(name) &&
            memcmp(trailer->slot_uses[i].name, name, strlen(name)) == 0)
            return &trailer->slot_uses[i];
    return NULL;
}

/*
 * A slot that is used by several items in turn: the file says which had it when, so that each
 * record gets its own name; the table has the last one.
 */
static void test_reuse(void **state)
{
    (void)state;
    assert_int_equal(rbwp_thread_attach("main"), RBWP_OK);
    assert_int_equal(rbwp_work_item_register_at(3, "always"), RBWP_OK);
    assert_int_equal(rbwp_work_item_register_at(4, "before"), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(4), RBWP_OK); /* over before the session: not in it */
    assert_int_equal(rbwp_work_item_register_at(4, "one"), RBWP_OK);
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    static const char *const names[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            assert_int_equal(rbwp_work_item_register_at(4, names[i]), RBWP_OK);
        rbwp_begin(4);
        rbwp_end();
        if (i < 2)
            assert_int_equal(rbwp_work_item_release(4), RBWP_OK);
    }
    assert_int_equal(rbwp_work_item_register_at(9, "released"), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(9), RBWP_OK);
    (void)stop(session);

    struct recorded recorded = read_back(config.logfile);
    assert_null(use_named(&recorded, "always"));
    assert_null(use_named(&recorded, "before"));
    for (size_t i = 0; i < 3; i++) {
        const struct rbwp_slot_use *use = use_named(&recorded, names[i]);
        assert_non_null(use);
        assert_int_equal(use->slot, 4);
        assert_true(use->from_ns <= recorded.event[2 * i].record.time_ns);
        assert_true(i == 2 ? use->to_ns == 0
                           : use->to_ns >= recorded.event[2 * i + 1].record.time_ns);
        assert_true(i == 2 || use->to_ns <= use_named(&recorded, names[i + 1])->from_ns);
    }
    const struct rbwp_slot_use *released = use_named(&recorded, "released");
    assert_non_null(released);
    assert_true(released->from_ns <= released->to_ns &&
                released->to_ns <= recorded.trailer->stop_ns);
    const struct rbwp_tables *tables = recorded.tables;
    assert_int_equal(tables->work_item_count, 3);
    assert_int_equal(tables->work_items[1].slot, 4);
    assert_memory_equal(tables->work_items[1].name, "three", 5);
    assert_memory_equal(tables->work_items[2].name, "released", 8);
    recorded_free(&recorded);

    session = start(&config); /* the next session knows nothing of the past uses */
    (void)stop(session);
    recorded = read_back(config.logfile);
    assert_int_equal(recorded.trailer->slot_use_count, 0);
    assert_int_equal(recorded.tables->work_item_count, 2);
    recorded_free(&recorded);
    release_all();
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* Where names of the past need more room than there is, uses of one name in a row are one, which
 * ends when the last of them does. */
static void test_much_reuse(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    char *name = malloc(RBWP_NAME_BYTES_MAX + 1);
    memset(name, 'x', RBWP_NAME_BYTES_MAX);
    name[RBWP_NAME_BYTES_MAX] = 0;
    assert_int_equal(rbwp_work_item_register_at(9, "same"), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(9), RBWP_OK);
    assert_int_equal(rbwp_work_item_register_at(9, "same"), RBWP_OK);
    for (unsigned i = 0; i < 70; i++) {
        memcpy(name, (char[]){(char)('0' + i / 10), (char)('0' + i % 10)}, 2);
        assert_int_equal(rbwp_work_item_register_at(4, name), RBWP_OK);
        assert_int_equal(rbwp_work_item_release(4), RBWP_OK);
    }
    assert_int_equal(rbwp_work_item_release(9), RBWP_OK);
    assert_int_equal(rbwp_work_item_register_at(9, "next"), RBWP_OK);
    (void)stop(session);
    struct recorded recorded = read_back(config.logfile);
    const struct rbwp_slot_use *same = use_named(&recorded, "same");
    const struct rbwp_slot_use *next = use_named(&recorded, "next");
    assert_true(recorded.trailer->slot_use_count < 70);
    assert_non_null(same);
    assert_non_null(next);
    assert_in_range(same->to_ns, same->from_ns, next->from_ns);
    recorded_free(&recorded);
    free(name);
    release_all();
}

enum { THREADS = 8, EACH = 200 };

static void *register_many(void *number)
{
    for (unsigned i = 0; i < EACH; i++) {
        unsigned slot, id;
        char name[40];
        snprintf(name, sizeof name, "%u/%u", (unsigned)(uintptr_t)number, i);
        assert_int_equal(rbwp_sub_item_register(RBWP_XFER_CHANNEL, name, &id), RBWP_OK);
        if (rbwp_work_item_register(name, &slot) == RBWP_OK && i % 3 != 0)
            assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
    }
    return NULL;
}

/* Many threads at once: each slot and id is given once, and all names arrive, in a running session.
 */
static void test_many_threads(void **state)
{
    (void)state;
    struct names_snapshot before;
    assert_int_equal(names_take(&before), RBWP_OK);
    uint32_t old = before.sub_item_count;
    names_release(&before);
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, register_many, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    (void)stop(session);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.tables->sub_item_count, old + THREADS * EACH);
    unsigned next[THREADS] = {0};
    for (uint32_t i = old; i < recorded.tables->sub_item_count; i++) {
        const struct rbwp_sub_item_name *item = &recorded.tables->sub_items[i];
        char name[40] = "";
        memcpy(name, item->name, item->name_bytes);
        unsigned thread, number;
        assert_int_equal(sscanf(name, "%u/%u", &thread, &number), 2);
        assert_int_equal(number, next[thread]++);
        assert_int_equal(item->id, i);
    }
    recorded_free(&recorded);
    release_all();
}

/* A snapshot's names stay as long as it does, whatever is released and ends meanwhile. */
static void test_snapshot_outlives_names(void **state)
{
    (void)state;
    static const char long_name[] = "a name that is too long to be left as it is when it is freed";
    struct rbwp_session_config config = test_config(1);
    struct names_snapshot idle, recording;
    unsigned slot;
    release_all();
    assert_int_equal(rbwp_work_item_register(long_name, &slot), RBWP_OK);
    assert_int_equal(names_take(&idle), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_work_item_register(long_name, &slot), RBWP_OK);
    assert_int_equal(names_take(&recording), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
    (void)stop(session);
    assert_int_equal(idle.work_item_count, 1);
    assert_string_equal(idle.work_items[0].name, long_name);
    assert_int_equal(recording.work_item_count, 1);
    assert_string_equal(recording.work_items[0].name, long_name);
    names_release(&idle);
    names_release(&recording);
    assert_int_equal(names_take(&idle), RBWP_OK);
    assert_int_equal(idle.work_item_count, 0);
    names_release(&idle);
}

/* 65536 sub-items, and no 65537th. (Last: ids are never given back.) */
static void test_sub_item_limit(void **state)
{
    (void)state;
    unsigned id = 0;
    while (id < RBWP_SUB_ITEMS_MAX - 1)
        assert_int_equal(rbwp_sub_item_register(RBWP_AM_HANDLER, "s", &id), RBWP_OK);
    assert_int_equal(rbwp_sub_item_register(RBWP_AM_HANDLER, "s", &id), RBWP_E_LIMIT);
    struct rbwp_session_config config = test_config(2);
    (void)stop(start(&config));
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.tables->sub_item_count, RBWP_SUB_ITEMS_MAX);
    recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),          cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_reuse),          cmocka_unit_test(test_much_reuse),
        cmocka_unit_test(test_many_threads),   cmocka_unit_test(test_snapshot_outlives_names),
        cmocka_unit_test(test_sub_item_limit),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
