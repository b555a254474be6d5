/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long work waited. Guards: a begin with a ticket is a record like any other, and a row that
 * says when the work was handed over, by whom, when it began and where; what is no ticket, another
 * slot's, or of a begin that was not recorded is no row, and misuse is counted.
 */
#include "rbwp_queue.h"
#include "record_support.h"
#include "rows_support.h"
#include "unit.h"

#include <pthread.h>

enum { ENQUEUED, BEGUN, THREAD, SLOT, FROM };

static unsigned slot, other_slot;

static struct rbwp_session *start_session(void)
{
    const struct rbwp_session_config config = test_config(1);
    return start(&config);
}

static void *enqueue_elsewhere(void *ticket)
{
    assert_int_equal(rbwp_thread_attach("producer"), RBWP_OK);
    rbwp_enqueue(slot, ticket);
    rbwp_thread_detach();
    return NULL;
}

static void *enqueue_unattached(void *ticket)
{
    rbwp_enqueue(slot, ticket);
    return NULL;
}

static void in_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    pthread_join(thread, NULL);
}

static void run(struct rbwp_ticket ticket)
{
    rbwp_begin_with(slot, ticket);
    rbwp_end();
}

static void test_rows_and_records(void **state)
{
    (void)state;
    struct rbwp_ticket own, producers, strays;
    struct rbwp_session *session = start_session();
    const int64_t before_ns = rbwp_now_ns();
    rbwp_enqueue(slot, &own);
    in_thread(enqueue_elsewhere, &producers);
    in_thread(enqueue_unattached, &strays);
    run(own);
    run(producers);
    run(strays);
    run(own); /* one that is handed over once and runs twice */
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(all_losses(&recorded), 0);
    struct read_table table = read_table(test_path("test.bin"), "queued");
    assert_int_equal(table.rows, 4);
    const uint64_t *row[4];
    for (size_t i = 0; i < 4; i++) {
        row[i] = read_table_row(&table, i);
        assert_int_equal(row[i][SLOT], slot);
        assert_int_equal(row[i][THREAD], table.threads[i]);
        assert_true(row[i][ENQUEUED] < row[i][BEGUN]);
        assert_in_range((int64_t)row[i][ENQUEUED] - before_ns + 1000000, 0, 60000000000);
        /* Of the record and of the row: the same reading of the clock. */
        assert_in_range((int64_t)row[i][BEGUN] - recorded.event[2 * i].record.time_ns + 2, 0, 4);
    }
    assert_int_equal(row[0][FROM], row[0][THREAD]);
    assert_int_not_equal(row[1][FROM], 0);
    assert_int_not_equal(row[1][FROM], row[1][THREAD]);
    assert_int_equal(row[2][FROM], 0);
    assert_int_equal(row[3][ENQUEUED], row[0][ENQUEUED]);
    read_table_free(&table);
    recorded_free(&recorded);
}

/* More than a chunk has room for, taken over by the next; the clock is read once for several. */
static void test_many(void **state)
{
    (void)state;
    enum { ITEMS = 3000, AT_ONCE = 3 };
    const struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    for (int i = 0; i < ITEMS; i += AT_ONCE) {
        struct rbwp_ticket tickets[AT_ONCE];
        const uint64_t ticks = rbwp_now_ticks();
        for (int k = 0; k < AT_ONCE; k++)
            rbwp_enqueue_at(slot, ticks, &tickets[k]);
        for (int k = 0; k < AT_ONCE; k++)
            run(tickets[k]);
    }
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(all_losses(&recorded), 0);
    assert_int_equal(recorded.events, 2 * ITEMS);
    struct read_table table = read_table(test_path("test.bin"), "queued");
    assert_int_equal(table.rows, ITEMS);
    for (size_t i = 0; i < ITEMS; i++) {
        const uint64_t *row = read_table_row(&table, i);
        assert_true(row[SLOT] == slot && row[THREAD] == table.threads[i] &&
                    row[FROM] == row[THREAD]);
        assert_in_range(row[ENQUEUED] - read_table_row(&table, i - i % AT_ONCE)[ENQUEUED] + 2, 0,
                        4);
        assert_in_range((int64_t)row[BEGUN] - recorded.event[2 * i].record.time_ns + 2, 0, 4);
    }
    read_table_free(&table);
    recorded_free(&recorded);
}

/* Four items. */
static void run_without_row(struct rbwp_ticket early, struct rbwp_ticket others)
{
    struct rbwp_ticket none = {0}, ticket;
    run(early);
    run(none);
    run(others); /* misuse */
    rbwp_begin(slot);
    rbwp_enqueue(slot, &ticket);
    run(ticket); /* nested: misuse of the begin */
    rbwp_end();
}

/* Before the thread's first row, and where there is room for another. */
static void test_no_ticket(void **state)
{
    (void)state;
    struct rbwp_ticket early = {1, 1, 1}, others, good;
    rbwp_enqueue(slot, &early); /* no session: emptied */
    assert_int_equal(early.ticks, 0);
    struct rbwp_session *session = start_session();
    rbwp_enqueue(other_slot, &others);
    rbwp_enqueue(slot, &good);
    run_without_row(early, others);
    run(good);
    run_without_row(early, others);
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(recorded.events, 18);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_RANGE), 2);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_NESTED_BEGIN), 2);
    struct read_table table = read_table(test_path("test.bin"), "queued");
    assert_int_equal(table.rows, 1);
    read_table_free(&table);
    recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_records),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_ticket),
    };
    assert_int_equal(rbwp_work_item_register("jobs", &slot), RBWP_OK);
    assert_int_equal(rbwp_work_item_register("other jobs", &other_slot), RBWP_OK);
    assert_int_equal(rbwp_thread_attach("consumer"), RBWP_OK);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
