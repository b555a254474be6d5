/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows whose call had returned survive the death of their process, each once, with names and
 * schema, wherever it is killed; those of a forked parent stay the parent's.
 */
#include "record_support.h"
#include "rows_support.h"

#include "rbwp_rows.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS (UINT64_C(100) * 1000000000) /* nobody gives up because threads do not run */

enum { WRITERS = 3, BULK = 40 };

static const struct rbwp_column columns[] = {
    RBWP_COLUMN(U64, TRACK, "writer", ""),
    RBWP_COLUMN(U64, COUNTER, "number", ""),
    RBWP_COLUMN(NAME, LABEL, "name", ""),
};
static const struct rbwp_schema schema = RBWP_SCHEMA("survivors", 1, columns);

/* Shared with the child: rows whose call has returned, by writer. */
static _Atomic uint64_t *returned;

/* A name now and then, so that some come after the first rows. */
static uint64_t name_of_row(uint64_t number)
{
    char text[32];
    uint64_t name;
    snprintf(text, sizeof text, "name %llu", (unsigned long long)(number / 1000));
    assert_int_equal(rbwp_name_intern(text, strlen(text), &name), RBWP_OK);
    return name;
}

static uint64_t add_one(unsigned table, uint64_t writer, uint64_t number)
{
    const uint64_t cells[] = {writer, number, name_of_row(number)};
    rbwp_row_add(table, cells);
    return 1;
}

static uint64_t add_many(unsigned table, uint64_t writer, uint64_t number)
{
    struct rbwp_row_room room;
    rbwp_rows_reserve(table, BULK, &room);
    for (uint32_t i = 0; i < room.rows; i++) {
        room.cells[0][i] = writer;
        room.cells[1][i] = number + i;
        room.cells[2][i] = name_of_row(number + i);
    }
    rbwp_rows_commit(table, room.rows);
    return room.rows;
}

/* One is not attached, the others write one by one, or one of them in bulk. */
static bool in_bulk;

static void *write_for_ever(void *argument)
{
    uint64_t writer = (uint64_t)(uintptr_t)argument;
    unsigned table;
    assert_int_equal(rbwp_table_register(&schema, &table), RBWP_OK);
    if (writer)
        assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
    for (uint64_t number = 0;;) {
        number += in_bulk && writer == 2 ? add_many(table, writer, number)
                                         : add_one(table, writer, number);
        atomic_store(&returned[writer], number);
    }
    return NULL;
}

static pid_t start_victim(const struct rbwp_session_config *config)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    pthread_t thread;
    (void)start(config);
    for (uintptr_t i = 1; i < WRITERS; i++)
        assert_int_equal(pthread_create(&thread, NULL, write_for_ever, (void *)i), 0);
    (void)write_for_ever(NULL);
    _exit(1);
}

static void assert_survived(const struct read_table *read)
{
    uint64_t next[WRITERS] = {0};
    for (size_t row = 0; row < read->rows; row++) {
        const uint64_t *cells = read_table_row(read, row);
        struct rbwp_text text = rbwp_catalog_name(read->catalog, cells[2]);
        char expected[32];
        assert_true(cells[0] < WRITERS);
        assert_int_equal(cells[1], next[cells[0]]++);
        snprintf(expected, sizeof expected, "name %llu", (unsigned long long)(cells[1] / 1000));
        assert_int_equal(text.bytes, strlen(expected));
        assert_memory_equal(text.text, expected, text.bytes);
        assert_int_equal(read->threads[row] == 0, cells[0] == 0);
    }
    for (int i = 0; i < WRITERS; i++)
        assert_in_range(next[i], atomic_load(&returned[i]), atomic_load(&returned[i]) + BULK);
}

/* When each writer has come so far. */
static void kill_at(const struct rbwp_session_config *config, uint64_t rows)
{
    for (int i = 0; i < WRITERS; i++)
        atomic_store(&returned[i], 0);
    pid_t victim = start_victim(config);
    for (int i = 0; i < WRITERS; i++)
        while (atomic_load(&returned[i]) < rows && waitpid(victim, NULL, WNOHANG) == 0)
            sched_yield();
    assert_int_equal(kill(victim, SIGKILL), 0);
    assert_int_equal(waitpid(victim, NULL, 0), victim);
    struct recorded recorded = read_recovered(config->logfile);
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
    struct read_table read = read_table(test_path("recovered.bin"), "survivors");
    assert_survived(&read);
    read_table_free(&read);
}

/* Before anything is in the file, and when most of it is. */
static void test_kill(void **state)
{
    struct rbwp_session_config small = small_chunks(1), usual = test_config(1);
    (void)state;
    small.stall_ns = usual.stall_ns = PATIENCE_NS;
    for (uint64_t rows = 1; rows <= 20000; rows = rows * 4) {
        in_bulk = false;
        kill_at(&small, rows);
        in_bulk = true;
        kill_at(&usual, 2 * rows);
    }
}

/* A child of a fork writes nothing into its parent's file, and starts with a place of its own. */
static void test_fork(void **state)
{
    struct rbwp_session_config config = test_config(1), own = test_config(1);
    unsigned table;
    (void)state;
    own.logfile = test_path("child.bin");
    assert_int_equal(rbwp_table_register(&schema, &table), RBWP_OK);
    assert_int_equal(rbwp_thread_attach("forks"), RBWP_OK);
    struct rbwp_session *session = start(&config);
    (void)add_one(table, 1, 1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)add_one(table, 1, 2); /* no session here */
        struct rbwp_session *mine = start(&own);
        (void)add_one(table, 1, 3);
        (void)add_many(table, 1, 4);
        stop(mine);
        _exit(0);
    }
    int outcome;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
    (void)add_one(table, 1, 5);
    stop(session);
    struct read_table parents = read_table(config.logfile, "survivors"),
                      childs = read_table(own.logfile, "survivors");
    assert_int_equal(parents.rows, 2);
    assert_int_equal(read_table_row(&parents, 1)[1], 5);
    assert_int_equal(childs.rows, 1 + BULK);
    assert_int_equal(read_table_row(&childs, 0)[1], 3);
    read_table_free(&parents);
    read_table_free(&childs);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill), cmocka_unit_test(test_fork)};
    returned = mmap(NULL, WRITERS * sizeof *returned, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (returned == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
