/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what the work manager records, read back from the session's file: one span per
 * activation, spans without gaps while items follow each other, nothing of empty calls, and the
 * names of the slots.
 *
 * The thread is lent, so what runs in which order is known.
 */
#include "record_support.h"
#include "rows_support.h"
#include "unit.h"

#include <string.h>

#include "rbwp_work.h"

#define SLICE_NS 100000
#define NEVER_OUTRUN_NS UINT64_C(3600000000000) /* however long a busy machine takes */

struct item {
    struct rbwp_work_handle handle;
    unsigned runs, requeues;
    bool is_empty;      /* says that it found nothing to do */
    bool outruns_slice; /* before it returns */
};

static bool run_item(void *argument, struct rbwp_deadline deadline)
{
    struct item *item = argument;
    rbwp_set_worked(!item->is_empty);
    while (item->outruns_slice && !rbwp_deadline_passed(deadline)) {
    }
    return ++item->runs <= item->requeues;
}

static struct rbwp_work_manager *start_lent(uint64_t slice_ns)
{
    struct rbwp_work_config config = {
        .size = sizeof config, .no_workers = true, .slice_ns = slice_ns};
    struct rbwp_work_manager *manager;
    assert_int_equal(rbwp_work_start(&config, &manager, NULL), RBWP_OK);
    return manager;
}

static void add(struct rbwp_work_manager *manager, const char *name, struct item *item)
{
    assert_int_equal(rbwp_work_add(manager, name, run_item, item, -1, &item->handle), RBWP_OK);
}

/* Arms the items, runs all that comes of it in a session, and reads that back. */
static struct recorded record_at(int level, struct rbwp_work_manager *manager, struct item *items,
                                 size_t count)
{
    struct rbwp_session_config config = test_config(level);
    assert_int_equal(rbwp_thread_attach("lent"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rbwp_work_make_active(manager, items[i].handle), RBWP_OK);
    rbwp_work_run(manager, UINT64_MAX);
    stop(session);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    return read_back(config.logfile);
}

static struct recorded record(struct rbwp_work_manager *manager, struct item *items, size_t count)
{
    return record_at(1, manager, items, count);
}

/* Spans of a slot. */
static unsigned spans_of(const struct recorded *recorded, unsigned slot)
{
    unsigned count = 0;
    for (size_t i = 0; i < recorded->events; i++)
        count += recorded->event[i].record.kind == RBWP_COARSE_BEGIN &&
                 recorded->event[i].record.slot == slot;
    return count;
}

/* Each activation and each requeue has a span of its own, and one begins when the one before it
 * ends: the same time, not a later one. */
static void test_spans_follow_each_other(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_lent(NEVER_OUTRUN_NS);
    struct item items[3] = {{.requeues = 0}, {.requeues = 40}, {.requeues = 7}};
    for (size_t i = 0; i < 3; i++)
        add(manager, "follows", &items[i]);
    struct recorded recorded = record(manager, items, 3);
    assert_matched(&recorded);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(spans_of(&recorded, items[i].handle.slot), items[i].requeues + 1);
    assert_int_equal(recorded.events, 2 * (1 + 41 + 8));
    for (size_t i = 2; i < recorded.events; i += 2)
        assert_true(recorded.event[i].record.time_ns == recorded.event[i - 1].record.time_ns);
    recorded_free(&recorded);
    assert_int_equal(rbwp_work_stop(manager, false, NULL), RBWP_OK);
}

/* An empty call leaves nothing, and takes nothing of its neighbours with it. */
static void test_empty_calls_leave_nothing(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_lent(NEVER_OUTRUN_NS);
    struct item items[3] = {{.requeues = 5}, {.requeues = 9, .is_empty = true}, {.requeues = 5}};
    for (size_t i = 0; i < 3; i++)
        add(manager, "maybe empty", &items[i]);
    struct recorded recorded = record(manager, items, 3);
    assert_matched(&recorded);
    assert_int_equal(items[1].runs, 10);
    assert_int_equal(spans_of(&recorded, items[0].handle.slot), 6);
    assert_int_equal(spans_of(&recorded, items[1].handle.slot), 0);
    assert_int_equal(spans_of(&recorded, items[2].handle.slot), 6);
    recorded_free(&recorded);
    assert_int_equal(rbwp_work_stop(manager, false, NULL), RBWP_OK);
}

/* An empty call that exceeded_time_limit its slice is kept, and is that long. */
static void test_long_empty_call_is_kept(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_lent(SLICE_NS);
    struct item items[1] = {{.is_empty = true, .outruns_slice = true}};
    add(manager, "long and empty", &items[0]);
    struct recorded recorded = record(manager, items, 1);
    assert_matched(&recorded);
    assert_int_equal(recorded.events, 2);
    /* The clock's rate is known to a part in thousands. */
    assert_true(recorded.event[1].record.time_ns - recorded.event[0].record.time_ns >=
                SLICE_NS * 99 / 100);
    recorded_free(&recorded);
    assert_int_equal(rbwp_work_stop(manager, false, NULL), RBWP_OK);
}

static void assert_name(const struct recorded *recorded, const struct item *item, const char *name)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < recorded->tables->work_item_count; i++) {
        const struct rbwp_work_item_name *entry = &recorded->tables->work_items[i];
        if (entry->slot != item->handle.slot)
            continue;
        assert_int_equal(entry->name_bytes, strlen(name));
        assert_memory_equal(entry->name, name, strlen(name));
        found++;
    }
    assert_int_equal(found, 1);
}

/* The file names each slot after the item that was in it. */
static void test_names(void **state)
{
    (void)state;
    struct rbwp_work_manager *manager = start_lent(NEVER_OUTRUN_NS);
    struct item items[2] = {{.runs = 0}, {.runs = 0}};
    add(manager, "page cleaner", &items[0]);
    add(manager, "log flusher", &items[1]);
    struct recorded recorded = record(manager, items, 2);
    assert_int_not_equal(items[0].handle.slot, items[1].handle.slot);
    assert_name(&recorded, &items[0], "page cleaner");
    assert_name(&recorded, &items[1], "log flusher");
    recorded_free(&recorded);
    assert_int_equal(rbwp_work_stop(manager, false, NULL), RBWP_OK);
}

/* At level 2 an activation is recorded with the time at which it was made, and the run that a
 * requeue asks for has none; at level 1 neither, and a run at any level takes the ticket up: the
 * next activation at level 2 has its own time. */
static void test_queue_delay(void **state)
{
    (void)state;
    enum { ENQUEUED, BEGUN, THREAD, SLOT, FROM };
    struct rbwp_work_manager *manager = start_lent(NEVER_OUTRUN_NS);
    struct item items[2] = {{.requeues = 3}, {.requeues = 0}};
    for (size_t i = 0; i < 2; i++)
        add(manager, "waits", &items[i]);
    struct recorded recorded = record_at(2, manager, items, 2);
    struct read_table table = read_table(test_path("test.bin"), "queued");
    assert_int_equal(table.rows, 2);
    for (size_t i = 0; i < 2; i++) {
        const uint64_t *row = read_table_row(&table, i);
        assert_true(row[ENQUEUED] <= row[BEGUN]);
        assert_int_equal(row[THREAD], table.threads[i]);
        assert_int_equal(row[FROM], row[THREAD]);
    }
    const uint64_t slots =
        (uint64_t)items[0].handle.slot + items[1].handle.slot; /* in whichever order */
    assert_int_equal(read_table_row(&table, 0)[SLOT] + read_table_row(&table, 1)[SLOT], slots);
    read_table_free(&table);
    recorded_free(&recorded);
    recorded = record(manager, items, 2);
    table = read_table(test_path("test.bin"), "queued");
    assert_int_equal(table.rows, 0);
    read_table_free(&table);
    recorded_free(&recorded);

    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_work_make_active(manager, items[1].handle), RBWP_OK);
    stop(session);
    recorded = record(manager, items, 1); /* runs both */
    recorded_free(&recorded);
    const int64_t before_ns = rbwp_now_ns();
    recorded = record_at(2, manager, &items[1], 1);
    table = read_table(test_path("test.bin"), "queued");
    assert_int_equal(table.rows, 1);
    assert_true((int64_t)read_table_row(&table, 0)[ENQUEUED] >= before_ns);
    read_table_free(&table);
    recorded_free(&recorded);
    assert_int_equal(rbwp_work_stop(manager, false, NULL), RBWP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans_follow_each_other),
        cmocka_unit_test(test_empty_calls_leave_nothing),
        cmocka_unit_test(test_long_empty_call_is_kept),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_queue_delay),
    };
    return cmocka_run_group_tests_name("work_session", tests, NULL, NULL);
}
