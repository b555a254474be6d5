/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of tables that programs write: each one is in the file of its session once, as it was
 * given, in the order of its thread, with schema and names before it; or it is counted as lost.
 * Nothing of it is in files of sessions without rows.
 */
#include "record_extend.h"
#include "rbwp_rows.h"
#include "record_support.h"
#include "rows_support.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rbwp_column columns[] = {
    RBWP_COLUMN(TIME, START, "time", ""),
    RBWP_COLUMN(NAME, LABEL, "queue", ""),
    RBWP_COLUMN(U64, COUNTER, "depth", "jobs"),
};
static const struct rbwp_schema schema = RBWP_SCHEMA("depth", 1, columns);
static unsigned table, other_table;

static int register_tables(void **state)
{
    struct rbwp_schema other = schema;
    unsigned again;
    (void)state;
    other.name = "other";
    assert_int_equal(rbwp_table_register(&schema, &table), RBWP_OK);
    assert_int_equal(rbwp_table_register(&other, &other_table), RBWP_OK);
    assert_int_not_equal(table, other_table);
    assert_int_equal(rbwp_table_register(&schema, &again), RBWP_OK);
    assert_int_equal(again, table);
    return 0;
}

static uint64_t number_of(const char *name)
{
    uint64_t number;
    assert_int_equal(rbwp_name_intern(name, strlen(name), &number), RBWP_OK);
    return number;
}

static void add(unsigned to, uint64_t time, uint64_t name, uint64_t depth)
{
    const uint64_t cells[] = {time, name, depth};
    rbwp_row_add(to, cells);
}

/* Many, in bulk: depths from `from` on. */
static void add_bulk(unsigned to, uint64_t from, uint32_t count)
{
    for (uint32_t done = 0; done < count;) {
        struct rbwp_row_room room;
        rbwp_rows_reserve(to, count - done, &room);
        assert_true(room.rows > 0);
        for (uint32_t i = 0; i < room.rows; i++) {
            room.cells[0][i] = 1000 + done + i;
            room.cells[1][i] = 0;
            room.cells[2][i] = from + done + i;
        }
        rbwp_rows_commit(to, room.rows);
        done += room.rows;
    }
}

static struct read_table stop_and_read(struct rbwp_session *session, const char *path)
{
    stop(session);
    struct recorded recorded = read_back(path);
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
    return read_table(path, "depth");
}

/* ---- what is known to the process ------------------------------------------------------------ */

static void test_register_refuses(void **state)
{
    static const struct rbwp_column wide[] = {RBWP_COLUMN(TIME, START, "time", "")};
    static const struct rbwp_column bytes[] = {RBWP_COLUMN(BYTES, NONE, "note", "")};
    static const struct rbwp_column row[] = {
        {.type = RBWP_COLUMN_ROW, .table = 1, .name = "in", .name_bytes = 2}};
    static char long_name[RBWP_NAME_BYTES_MAX + 1];
    const struct rbwp_schema changed = RBWP_SCHEMA("depth", 1, wide),
                             with_bytes = RBWP_SCHEMA("b", 1, bytes),
                             with_row = RBWP_SCHEMA("r", 1, row);
    struct rbwp_schema too_long = RBWP_SCHEMA("", 1, wide);
    unsigned number;
    uint64_t name;
    (void)state;
    assert_int_equal(rbwp_table_register(&changed, &number), RBWP_E_BUSY);
    assert_int_equal(number, 0);
    assert_int_equal(rbwp_table_register(&with_bytes, &number), RBWP_E_UNSUPPORTED);
    assert_int_equal(rbwp_table_register(&with_row, &number), RBWP_E_UNSUPPORTED);
    too_long.name = long_name;
    too_long.name_bytes = RBWP_NAME_BYTES_MAX;
    assert_int_equal(rbwp_table_register(&too_long, &number), RBWP_E_LIMIT);
    assert_int_equal(rbwp_name_intern(long_name, sizeof long_name, &name), RBWP_E_LIMIT);
    assert_int_equal(name, 0);
}

/* Numbers stay, however many names there are; the bytes tell names apart, not their length. */
static void test_names_have_one_number(void **state)
{
    uint64_t numbers[3000], again;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        char name[24];
        snprintf(name, sizeof name, "many %d", i);
        numbers[i] = number_of(name);
        assert_int_equal(numbers[i], numbers[0] + (uint64_t)i);
    }
    assert_int_equal(number_of("many 7"), numbers[7]);
    assert_int_equal(rbwp_name_intern("many 7\0", 7, &again), RBWP_OK);
    assert_int_not_equal(again, numbers[7]);
    assert_int_equal(rbwp_name_intern(NULL, 0, &again), RBWP_OK);
    assert_int_equal(number_of(""), again);
}

/* ---- rows -------------------------------------------------------------------------------------
 */

static void assert_row(const struct read_table *read, size_t row, uint64_t time, const char *name,
                       uint64_t depth)
{
    const uint64_t *cells = read_table_row(read, row);
    struct rbwp_text text = rbwp_catalog_name(read->catalog, cells[1]);
    assert_int_equal(cells[0], time);
    assert_int_equal(cells[2], depth);
    assert_int_equal(text.bytes, strlen(name));
    assert_memory_equal(text.text, name, text.bytes);
}

/* In two sessions, with names from before, between and within; and what is not in either. */
static void test_rows_come_back(void **state)
{
    struct rbwp_session_config config = test_config(1);
    uint64_t early = number_of("early");
    (void)state;
    add(table, 1, early, 1); /* no session: nobody wants it */
    assert_int_equal(rbwp_thread_attach("writes"), RBWP_OK);
    for (uint64_t round = 0; round < 2; round++) {
        struct rbwp_session *session = start(&config);
        uint64_t self = rbwp_extend_thread();
        uint64_t late = number_of(round ? "late 1" : "late 0");
        add(table, 10, early, round);
        add(table, 20, late, UINT64_MAX);
        add(table, 30, late + 1, 5); /* no name has that number */
        struct read_table read = stop_and_read(session, config.logfile);
        assert_int_equal(read.rows, 3);
        assert_row(&read, 0, 10, "early", round);
        assert_row(&read, 1, 20, round ? "late 1" : "late 0", UINT64_MAX);
        assert_row(&read, 2, 30, "", 5);
        assert_int_equal(read_table_row(&read, 2)[1], 0);
        assert_int_equal(read.threads[0], self);
        read_table_free(&read);
    }
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* What an empty item takes back is no row, and rows do not end its being empty. */
static void test_empty_items_keep_rows(void **state)
{
    struct rbwp_session_config config = small_chunks(1);
    (void)state;
    assert_int_equal(rbwp_thread_attach("idle"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    for (uint64_t i = 0; i < 1000; i++) {
        rbwp_begin(1);
        add(table, i, 0, i);
        rbwp_discard();
    }
    struct read_table read = stop_and_read(session, config.logfile);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.events, 0);
    assert_int_equal(read.rows, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_row(&read, i, i, "", i);
    recorded_free(&recorded);
    read_table_free(&read);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* Reserved rows are the thread's own: a session that stops meanwhile does not get them, and the
 * next one that is there when they are committed does. */
static void test_stop_between_reserve_and_commit(void **state)
{
    struct rbwp_session_config config = test_config(1);
    struct rbwp_row_room room;
    (void)state;
    assert_int_equal(rbwp_thread_attach("bulk"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    rbwp_rows_reserve(table, UINT32_MAX, &room);
    assert_true(room.rows >= 2);
    stop(session);
    for (uint64_t i = 0; i < 2; i++)
        room.cells[0][i] = room.cells[1][i] = 0, room.cells[2][i] = 8 + i;
    rbwp_rows_commit(table, 2);
    struct read_table read = read_table(config.logfile, "depth");
    assert_int_equal(read.rows, 0);
    read_table_free(&read);
    session = start(&config);
    rbwp_rows_commit(table, 2);
    read = stop_and_read(session, config.logfile);
    assert_int_equal(read.rows, 2);
    assert_row(&read, 1, 0, "", 9);
    read_table_free(&read);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* A session that writes nothing beyond version 1 takes none, and calls that no loss. */
static void test_strict_takes_none(void **state)
{
    struct rbwp_session_config config = test_config(1);
    (void)state;
    config.strict = true;
    struct rbwp_session *session = start(&config);
    add(table, 1, 0, 1);
    struct rbwp_session_summary summary = stop(session);
    assert_int_equal(summary.lost_records, 0);
    struct read_table read = read_table(config.logfile, "depth");
    assert_int_equal(read.rows, 0);
    assert_int_equal(rbwp_catalog_schema_count(read.catalog), 0);
    read_table_free(&read);
}

/* ---- losses ------------------------------------------------------------------------------------
 */

/* Rows have half of the memory. Who finds it in the hands of others loses rows, waits for nobody,
 * and his records go on. */
static void test_no_room_is_counted(void **state)
{
    struct rbwp_session_config config = test_config(1);
    struct rbwp_row_room room;
    (void)state;
    config.cap_bytes = 2 * 4096;
    struct rbwp_session *session = start(&config);
    add(table, 1, 0, 1); /* not attached: the one chunk is everybody's now */
    assert_int_equal(rbwp_thread_attach("late"), RBWP_OK);
    rbwp_begin(1);
    for (uint64_t i = 0; i < 5; i++)
        add(table, 2, 0, 2);
    rbwp_rows_reserve(other_table, 7, &room);
    assert_int_equal(room.rows, 7);
    memset(room.cells[1], 0, 7 * sizeof(uint64_t));
    rbwp_rows_commit(other_table, 7);
    add(12345, 1, 0, 1); /* no such table */
    rbwp_end();
    stop(session);
    struct recorded recorded = read_back(config.logfile);
    struct read_table read = read_table(config.logfile, "depth");
    uint64_t self = thread_named(&recorded, "late")->thread_id;
    assert_int_equal(losses(&recorded, self, RBWP_LOSS_ROWS), 12);
    assert_int_equal(losses(&recorded, self, RBWP_LOSS_RANGE), 1);
    assert_int_equal(recorded.events, 2);
    assert_int_equal(read.rows, 1);
    assert_int_equal(read.threads[0], 0);
    read_table_free(&read);
    recorded_free(&recorded);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* Rows in bulk that find room for some of them: what was not written is counted, row by row. */
static void test_bulk_without_room(void **state)
{
    enum { COMMITS = 20, ROWS = 500 };
    struct rbwp_session_config config = test_config(1);
    struct rbwp_row_room room;
    (void)state;
    config.cap_bytes = 2 * 4096;
    assert_int_equal(rbwp_thread_attach("bulk"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    for (unsigned i = 0; i < COMMITS; i++) {
        rbwp_rows_reserve(other_table, ROWS, &room);
        assert_int_equal(room.rows, ROWS);
        for (unsigned column = 0; column < 3; column++)
            memset(room.cells[column], 0, ROWS * sizeof(uint64_t));
        rbwp_rows_commit(other_table, ROWS);
    }
    stop(session);
    struct recorded recorded = read_back(config.logfile);
    struct read_table read = read_table(config.logfile, "other");
    assert_true(read.rows > 0);
    assert_int_equal(read.rows + losses(&recorded, 0, RBWP_LOSS_ROWS), COMMITS * ROWS);
    read_table_free(&read);
    recorded_free(&recorded);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* A thread gives up what it has begun for what it needs: more tables than there are chunks. */
static void test_more_tables_than_chunks(void **state)
{
    struct rbwp_session_config config = test_config(1);
    (void)state;
    config.cap_bytes = 2 * 4096;
    assert_int_equal(rbwp_thread_attach("both"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    for (uint64_t i = 0; i < 200; i++)
        add(i % 2 ? other_table : table, i, 0, i);
    stop(session);
    struct recorded recorded = read_back(config.logfile);
    struct read_table read = read_table(config.logfile, "depth"),
                      other = read_table(config.logfile, "other");
    assert_true(other.rows > 0);
    assert_int_equal(read.rows + other.rows + losses(&recorded, 0, RBWP_LOSS_ROWS), 200);
    read_table_free(&read);
    read_table_free(&other);
    recorded_free(&recorded);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

/* ---- threads -----------------------------------------------------------------------------------
 */

enum { THREADS = 6, ROWS_EACH = 12000 };
static bool in_bulk; /* the odd ones */

/* The first one is never attached. */
static void *write_rows(void *argument)
{
    uint64_t number = (uint64_t)(uintptr_t)argument, first = number << 32;
    bool bulk = in_bulk && number % 2;
    if (number)
        assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
    if (bulk)
        add_bulk(table, first, ROWS_EACH);
    for (uint64_t i = 0; !bulk && i < ROWS_EACH; i++)
        add(table, i, 0, first | i);
    return NULL;
}

static void assert_all_threads(const struct read_table *read)
{
    uint64_t next[THREADS] = {0}, ids[THREADS] = {0};
    assert_int_equal(read->rows, THREADS * ROWS_EACH);
    for (size_t row = 0; row < read->rows; row++) {
        uint64_t depth = read_table_row(read, row)[2], number = depth >> 32;
        assert_true(number < THREADS);
        assert_int_equal(depth & UINT32_MAX, next[number]++);
        if (next[number] == 1)
            ids[number] = read->threads[row];
        assert_int_equal(read->threads[row], ids[number]);
        assert_int_equal(ids[number] == 0, number == 0);
    }
}

/* Threads that end hand their rows over; those of each are in its order. With little memory those
 * that write one by one wait for the writer. */
static void test_threads(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct rbwp_session_config config = round ? small_chunks(1) : test_config(1);
        struct rbwp_session *session = start(&config);
        in_bulk = round == 0;
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, write_rows, (void *)i), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        struct read_table read = stop_and_read(session, config.logfile);
        assert_all_threads(&read);
        read_table_free(&read);
    }
}

static atomic_bool over;
static _Atomic uint64_t rounds;

static void *write_always(void *argument)
{
    uint64_t attached = (uint64_t)(uintptr_t)argument, i = 0;
    if (attached)
        assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
    for (; !atomic_load(&over); i++) {
        struct rbwp_row_room room = {.rows = 0};
        add(table, i, number_of("always"), attached);
        if (attached)
            rbwp_rows_reserve(other_table, 3, &room);
        for (uint32_t row = 0; row < room.rows; row++)
            room.cells[0][row] = room.cells[1][row] = 0, room.cells[2][row] = attached;
        rbwp_rows_commit(other_table, room.rows);
        atomic_fetch_add(&rounds, 1);
    }
    return NULL;
}

/* Sessions that come and go under threads which write on get whole rows, and files without fault.
 */
static void test_sessions_change(void **state)
{
    struct rbwp_session_config config = test_config(1);
    pthread_t threads[2];
    (void)state;
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_always, (void *)i), 0);
    for (int round = 0; round < 20; round++) {
        struct rbwp_session *session = start(&config);
        uint64_t before = atomic_load(&rounds);
        while (atomic_load(&rounds) < before + 200)
            sched_yield();
        struct read_table read = stop_and_read(session, config.logfile);
        assert_true(read.rows > 0);
        for (size_t row = 0; row < read.rows; row++)
            assert_int_equal(read_table_row(&read, row)[2] == 0, read.threads[row] == 0);
        read_table_free(&read);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register_refuses),
        cmocka_unit_test(test_names_have_one_number),
        cmocka_unit_test(test_rows_come_back),
        cmocka_unit_test(test_empty_items_keep_rows),
        cmocka_unit_test(test_stop_between_reserve_and_commit),
        cmocka_unit_test(test_strict_takes_none),
        cmocka_unit_test(test_no_room_is_counted),
        cmocka_unit_test(test_bulk_without_room),
        cmocka_unit_test(test_more_tables_than_chunks),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_sessions_change),
    };
    return cmocka_run_group_tests(tests, register_tables, NULL);
}
