/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call was about, and counters. Guards: each argument is a row that names the call by thread
 * and begin, texts come back whole from their pieces, also where a chunk of rows or of records ends
 * between; what is given without an open item, or below level 2, is no row and no loss; a counter's
 * rows come from any thread, with its unit, and an id that nobody registered is misuse.
 */
#include "rbwp_args.h"
#include "rbwp_counter.h"
#include "record_support.h"
#include "rows_support.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BEGUN, THREAD, KEY, TYPE, VALUE };
enum { TIME, COUNTER, COUNTED, UNIT };

static unsigned slot, sub_item;
static uint64_t bytes_key, path_key;

static struct rbwp_session *start_session(int level)
{
    const struct rbwp_session_config config = test_config(level);
    return start(&config);
}

static void assert_name(const struct read_table *table, uint64_t number, const char *wanted)
{
    struct rbwp_text name = rbwp_catalog_name(table->catalog, number);
    assert_int_equal(name.bytes, strlen(wanted));
    assert_memory_equal(name.text, wanted, name.bytes);
}

static void test_each_type(void **state)
{
    (void)state;
    const double third = 1.0 / 3;
    uint64_t bits;
    memcpy(&bits, &third, sizeof bits);
    struct rbwp_session *session = start_session(2);
    rbwp_begin(slot);
    rbwp_arg_u64(bytes_key, UINT64_MAX);
    rbwp_fine_begin(sub_item); /* of the item all the same */
    rbwp_arg_i64(bytes_key, -5);
    rbwp_fine_end();
    rbwp_arg_f64(bytes_key, third);
    rbwp_arg_name(path_key, bytes_key);
    rbwp_end();
    rbwp_begin(slot);
    rbwp_arg_u64(bytes_key, 7);
    rbwp_end();
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(all_losses(&recorded), 0);
    struct read_table table = read_table(test_path("test.bin"), "argument");
    const uint64_t values[] = {UINT64_MAX, (uint64_t)-5, bits, bytes_key, 7};
    assert_int_equal(table.rows, 5);
    for (size_t i = 0; i < 5; i++) {
        const uint64_t *row = read_table_row(&table, i);
        int64_t begun_ns = recorded.event[i < 4 ? 0 : 4].record.time_ns;
        assert_in_range((int64_t)row[BEGUN] - begun_ns + 2, 0, 4);
        assert_int_equal(row[THREAD], table.threads[i]);
        assert_name(&table, row[KEY], i == 3 ? "path" : "bytes");
        assert_int_equal(row[TYPE], i < 4 ? RBWP_ARG_U64 + i : RBWP_ARG_U64);
        assert_int_equal(row[VALUE], values[i]);
    }
    read_table_free(&table);
    recorded_free(&recorded);
}

/* As a reader does it: the text that begins in the row; how many rows it has. */
static size_t text_at(const struct read_table *table, size_t at, char *text)
{
    const uint64_t *first = read_table_row(table, at), *row = first;
    size_t rows = 0, bytes = 0;
    assert_int_equal(first[TYPE], RBWP_ARG_TEXT);
    do {
        assert_memory_equal(row, first, 3 * sizeof *row);
        for (unsigned i = 0; i < 8; i++)
            text[bytes++] = (char)(row[VALUE] >> 8 * i);
        rows++;
        row = at + rows < table->rows ? read_table_row(table, at + rows) : NULL;
    } while (row && row[TYPE] == RBWP_ARG_TEXT_MORE);
    text[bytes] = '\0';
    return rows;
}

static void test_texts(void **state)
{
    (void)state;
    char text[RBWP_ARG_TEXT_BYTES_MAX + 1], longest[RBWP_ARG_TEXT_BYTES_MAX + 10];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const char *texts[] = {"", "8 bytes.", "and nine:", "/var/lib/leveldb/000123.ldb", longest};
    const size_t rows[] = {1, 1, 2, 4, RBWP_ARG_TEXT_BYTES_MAX / 8};
    struct rbwp_session *session = start_session(2);
    rbwp_begin(slot);
    rbwp_arg_text(path_key, NULL); /* none */
    for (size_t i = 0; i < 5; i++)
        rbwp_arg_text(path_key, texts[i]);
    rbwp_end();
    stop(session);
    struct read_table table = read_table(test_path("test.bin"), "argument");
    for (size_t i = 0, at = 0; i < 5; at += rows[i++]) {
        assert_int_equal(text_at(&table, at, text), rows[i]);
        assert_int_equal(strncmp(text, texts[i], RBWP_ARG_TEXT_BYTES_MAX), 0);
    }
    read_table_free(&table);
}

/* Texts of every length, with no memory before and behind them: no byte of that is looked at, and
 * each piece has its own bytes. */
static void test_text_alone(void **state)
{
    (void)state;
    enum { LENGTHS = RBWP_ARG_TEXT_BYTES_MAX + 2 };
    char text[RBWP_ARG_TEXT_BYTES_MAX + 1];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at = 0;
    char *room = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    assert_int_equal(mprotect(room + page, page, PROT_READ | PROT_WRITE), 0);
    struct rbwp_session *session = start_session(2);
    rbwp_begin(slot);
    for (size_t length = 0; length < LENGTHS; length++) {
        char *first = room + page, *last = room + 2 * page - length - 1;
        for (size_t i = 0; i < length; i++)
            first[i] = last[i] = (char)('0' + (length + i) % 64);
        first[length] = last[length] = '\0';
        rbwp_arg_text(path_key, first);
        rbwp_arg_text(path_key, last);
    }
    rbwp_end();
    stop(session);
    struct read_table table = read_table(test_path("test.bin"), "argument");
    for (size_t i = 0; i < 2 * LENGTHS; i++) {
        size_t length = i / 2 < RBWP_ARG_TEXT_BYTES_MAX ? i / 2 : RBWP_ARG_TEXT_BYTES_MAX;
        at += text_at(&table, at, text);
        assert_int_equal(strlen(text), length);
        for (size_t j = 0; j < length; j++)
            assert_int_equal(text[j], '0' + (i / 2 + j) % 64);
    }
    assert_int_equal(at, table.rows);
    read_table_free(&table);
    assert_int_equal(munmap(room, 3 * page), 0);
}

/* Through the ends of chunks: each text whole, each of the call that it was given in. */
static void test_many(void **state)
{
    (void)state;
    enum { CALLS = 1500, FINE = 20 };
    char text[RBWP_ARG_TEXT_BYTES_MAX + 1], wanted[64];
    struct rbwp_session *session = start_session(2);
    for (int i = 0; i < CALLS; i++) {
        rbwp_begin(slot);
        for (int j = 0; j < FINE; j++) {
            rbwp_fine_begin(sub_item);
            rbwp_fine_end();
        }
        snprintf(wanted, sizeof wanted, "the %dth call of %d", i, CALLS);
        rbwp_arg_text(path_key, wanted);
        rbwp_end();
    }
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    struct read_table table = read_table(test_path("test.bin"), "argument");
    size_t at = 0;
    for (size_t i = 0; i < CALLS; i++) {
        int64_t begun_ns = recorded.event[i * (2 * FINE + 2)].record.time_ns;
        assert_in_range((int64_t)read_table_row(&table, at)[BEGUN] - begun_ns + 2, 0, 4);
        at += text_at(&table, at, text);
        snprintf(wanted, sizeof wanted, "the %zuth call of %d", i, CALLS);
        assert_string_equal(text, wanted);
    }
    assert_int_equal(at, table.rows);
    read_table_free(&table);
    recorded_free(&recorded);
}

static void test_nothing_to_belong_to(void **state)
{
    (void)state;
    rbwp_arg_u64(bytes_key, 1); /* no session */
    for (int level = 1; level <= 2; level++) {
        struct rbwp_session *session = start_session(level);
        rbwp_arg_u64(bytes_key, 1); /* no item */
        rbwp_begin(slot);
        if (level == 1)
            rbwp_arg_text(bytes_key, "not at this level");
        rbwp_end();
        stop(session);
        struct recorded recorded = read_back(test_path("test.bin"));
        assert_int_equal(recorded.events, 2);
        assert_int_equal(all_losses(&recorded), 0);
        struct read_table table = read_table(test_path("test.bin"), "argument");
        assert_int_equal(table.rows, 0);
        read_table_free(&table);
        recorded_free(&recorded);
    }
}

static void *count_elsewhere(void *id)
{
    rbwp_counter(*(unsigned *)id, -3); /* not attached */
    return NULL;
}

static void test_counters(void **state)
{
    (void)state;
    unsigned jobs, same, plain;
    assert_int_equal(rbwp_counter_register("waiting", "jobs", &jobs), RBWP_OK);
    assert_int_equal(rbwp_counter_register("waiting", "jobs", &same), RBWP_OK);
    assert_int_equal(rbwp_counter_register("waiting", NULL, &plain), RBWP_OK);
    assert_int_not_equal(plain, jobs);
    assert_int_equal(rbwp_counter_register("waiting", NULL, &same), RBWP_OK);
    assert_int_equal(same, plain);
    assert_int_equal(rbwp_counter_register("", NULL, &same), RBWP_E_INVALID);
    assert_int_equal(same, 0);
    struct rbwp_session *session = start_session(2);
    pthread_t thread;
    rbwp_counter(jobs, INT64_MAX);
    rbwp_counter(plain, 12);
    rbwp_counter(jobs, 0);
    assert_int_equal(pthread_create(&thread, NULL, count_elsewhere, &jobs), 0);
    pthread_join(thread, NULL);
    rbwp_counter(0, 1); /* nobody's */
    rbwp_counter(plain + 1, 1);
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(all_losses(&recorded), 2);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_RANGE), 2);
    struct read_table table = read_table(test_path("test.bin"), "counter");
    int64_t sum = 0;
    assert_int_equal(table.rows, 4);
    for (size_t i = 0; i < 4; i++) {
        const uint64_t *row = read_table_row(&table, i);
        assert_name(&table, row[COUNTER], "waiting");
        if ((int64_t)row[COUNTED] == 12)
            assert_int_equal(row[UNIT], 0);
        else
            assert_name(&table, row[UNIT], "jobs");
        sum += (int64_t)row[COUNTED] % 1000;
    }
    assert_int_equal(sum, INT64_MAX % 1000 + 12 - 3);
    read_table_free(&table);
    recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_type),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_text_alone),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_nothing_to_belong_to),
        cmocka_unit_test(test_counters),
    };
    bytes_key = rbwp_arg_key("bytes");
    path_key = rbwp_arg_key("path");
    assert_int_equal(rbwp_work_item_register("jobs", &slot), RBWP_OK);
    assert_int_equal(rbwp_sub_item_register(RBWP_XFER_CHANNEL, "part", &sub_item), RBWP_OK);
    assert_int_equal(rbwp_thread_attach("worker"), RBWP_OK);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
