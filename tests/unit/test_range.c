/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that programs give to intervals of their threads' time. Guards: a range is in the file
 * once, with its times on the line of the records, its thread, and the range around it; also when
 * it is so long that its row had gone before it ended, when the process is killed inside it, and
 * when another thread goes on with it or stops it; ends without a begin, or with one of another
 * session, do no harm and are counted where they are misuse.
 */
#include "rbwp_range.h"
#include "record_support.h"
#include "rows_support.h"
#include "sanitized.h"
#include "test_point.h"
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START, STOP, THREAD, NAME, RANGE, ID, PARENT, KIND, TYPE, PAYLOAD };

static struct read_table stop_and_read(struct rbwp_session *session)
{
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
    return read_table(test_path("test.bin"), "range");
}

static void assert_named(const struct read_table *table, const uint64_t *row, const char *name)
{
    struct rbwp_text text = rbwp_catalog_name(table->catalog, row[NAME]);
    assert_int_equal(text.bytes, strlen(name));
    assert_memory_equal(text.text, name, text.bytes);
}

/* The last row with this id; fails the test if there is none. */
static const uint64_t *row_of(const struct read_table *table, uint64_t id)
{
    const uint64_t *found = NULL;
    for (size_t i = 0; i < table->rows; i++)
        if (read_table_row(table, i)[ID] == id)
            found = read_table_row(table, i);
    assert_non_null(found);
    return found;
}

static struct rbwp_session *start_session(int level)
{
    const struct rbwp_session_config config = test_config(level);
    return start(&config);
}

/* ---- what a range is ---------------------------------------------------------------- */

static void test_nested(void **state)
{
    (void)state;
    struct rbwp_session *session = start_session(1);
    const int64_t before_ns = rbwp_now_ns();
    rbwp_range_push(rbwp_range_name("outer"), UINT64_MAX - 1);
    const uint64_t outer = rbwp_range_current();
    rbwp_range_push_with(rbwp_range_name("inner"), 2, rbwp_payload_f64(0.5));
    assert_int_not_equal(rbwp_range_current(), outer);
    rbwp_range_mark(rbwp_range_name("mark"), 3, rbwp_payload_i64(-7));
    rbwp_range_pop();
    assert_int_equal(rbwp_range_current(), outer);
    rbwp_range_push(0, 4);
    rbwp_range_pop();
    rbwp_range_pop();
    assert_int_equal(rbwp_range_current(), 0);
    const int64_t after_ns = rbwp_now_ns();
    struct read_table table = stop_and_read(session);
    assert_int_equal(table.rows, 4);
    const uint64_t *a = row_of(&table, UINT64_MAX - 1), *b = row_of(&table, 2);
    const uint64_t *mark = row_of(&table, 3), *d = row_of(&table, 4);
    assert_named(&table, a, "outer");
    assert_named(&table, b, "inner");
    assert_named(&table, mark, "mark");
    assert_int_equal(d[NAME], 0);
    /* The two clocks are compared now and then; what lies between is within their error. */
    assert_in_range((int64_t)a[START] - before_ns + 1000000, 0, 60000000000);
    assert_in_range(after_ns + 1000000 - (int64_t)a[STOP], 0, 60000000000);
    assert_true(a[START] <= b[START] && b[START] <= mark[START] && mark[START] == mark[STOP]);
    assert_true(mark[STOP] <= b[STOP] && b[STOP] <= d[START] && d[STOP] <= a[STOP]);
    assert_int_equal(a[PARENT], 0);
    assert_int_equal(b[PARENT], outer);
    assert_int_equal(a[RANGE], outer);
    assert_int_equal(mark[PARENT], b[RANGE]);
    assert_int_equal(d[PARENT], outer);
    assert_int_equal(mark[KIND], RBWP_RANGE_MARK);
    assert_int_equal(mark[TYPE], RBWP_PAYLOAD_I64);
    assert_int_equal((int64_t)mark[PAYLOAD], -7);
    assert_int_equal(b[PAYLOAD], rbwp_cell_f64(0.5));
    assert_int_equal(a[TYPE], RBWP_PAYLOAD_NONE);
    assert_int_equal(a[THREAD], table.threads[0]);
    assert_int_not_equal(a[THREAD], 0);
    read_table_free(&table);
}

/* Its row goes to the file while it is open: a second one has the stop. */
static void test_long_range(void **state)
{
    (void)state;
    enum { INNER = 5000 };
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    rbwp_range_push(rbwp_range_name("long"), INNER + 1);
    for (uint64_t i = 1; i <= INNER; i++) {
        rbwp_range_push(0, i);
        rbwp_range_pop();
    }
    rbwp_range_pop();
    struct read_table table = stop_and_read(session);
    assert_int_equal(table.rows, INNER + 2);
    const uint64_t *first = read_table_row(&table, 0), *last = row_of(&table, INNER + 1);
    assert_int_equal(first[STOP], 0);
    assert_int_equal(first[KIND], RBWP_RANGE_PUSHED);
    assert_int_equal(last[KIND], RBWP_RANGE_PUSHED | RBWP_RANGE_STOP_);
    assert_int_equal(last[RANGE], first[RANGE]);
    assert_int_equal(last[START], first[START]);
    assert_named(&table, last, "long");
    for (size_t i = 1; i <= INNER; i++) {
        const uint64_t *row = read_table_row(&table, i);
        assert_true(row[ID] == i && row[PARENT] == first[RANGE]);
        assert_true(first[START] <= row[START] && row[START] <= row[STOP]);
        assert_true(row[STOP] && row[STOP] <= last[STOP]);
    }
    read_table_free(&table);
}

/* What is open when its rows go keeps what they say: for its stop, for what is inside, and for who
 * carries it. */
static void test_open_rows_go(void **state)
{
    (void)state;
    enum { DEPTH = 3, INNER = 3000 };
    static const uint64_t payloads[] = {0, 7, 0};
    struct rbwp_session_config config = small_chunks(1);
    struct rbwp_session *session = start(&config);
    uint64_t range[DEPTH];
    rbwp_range_mark(0, 1, rbwp_payload_u64(1)); /* makes the place, so that pushes are in line */
    for (uint64_t i = 0; i < DEPTH; i++) {
        rbwp_range_push_with(rbwp_range_name("outer"), 10 + i, rbwp_payload_u64(payloads[i]));
        range[i] = rbwp_range_current();
    }
    for (uint64_t i = 0; i < INNER; i++) {
        rbwp_range_push(0, 2);
        const struct rbwp_range_carried carried = rbwp_range_carry();
        assert_int_equal(carried.id, 2);
        rbwp_range_pop();
    }
    const struct rbwp_range_carried carried = rbwp_range_carry();
    assert_int_equal(carried.range, range[DEPTH - 1]);
    assert_int_equal(carried.id, 10 + DEPTH - 1);
    assert_int_equal(carried.name, rbwp_range_name("outer"));
    for (uint64_t i = 0; i < DEPTH; i++) {
        assert_int_equal(rbwp_range_current(), range[DEPTH - 1 - i]);
        rbwp_range_pop();
    }
    assert_int_equal(rbwp_range_current(), 0);
    struct read_table table = stop_and_read(session);
    assert_int_equal(table.rows, 1 + DEPTH + INNER + DEPTH);
    for (uint64_t i = 0; i < DEPTH; i++) {
        const uint64_t *start = read_table_row(&table, 1 + i), *stop = row_of(&table, 10 + i);
        assert_int_equal(start[KIND], RBWP_RANGE_PUSHED);
        assert_int_equal(stop[KIND], RBWP_RANGE_PUSHED | RBWP_RANGE_STOP_);
        assert_int_equal(start[PAYLOAD], payloads[i]);
        assert_named(&table, stop, "outer");
        assert_int_equal(stop[RANGE], range[i]);
        assert_int_equal(stop[START], start[START]);
        assert_int_equal(stop[PARENT], i ? range[i - 1] : 0);
        assert_true(stop[STOP] >= stop[START]);
    }
    read_table_free(&table);
}

/* ---- sessions -------------------------------------------------------------------------- */

static void test_sessions(void **state)
{
    (void)state;
    rbwp_range_push(0, 1);
    struct rbwp_session *session = start_session(1);
    rbwp_range_pop(); /* of no session: not counted */
    rbwp_range_push(0, 2);
    struct read_table table = stop_and_read(session);
    assert_int_equal(table.rows, 1);
    assert_int_equal(read_table_row(&table, 0)[STOP], 0);
    read_table_free(&table);
    assert_int_equal(rbwp_range_current(), 0);
    session = start_session(1);
    assert_int_equal(rbwp_range_current(), 0);
    rbwp_range_pop(); /* of the session before */
    rbwp_range_push(0, 3);
    rbwp_range_pop();
    table = stop_and_read(session);
    assert_int_equal(table.rows, 1);
    assert_int_equal(read_table_row(&table, 0)[PARENT], 0);
    assert_int_not_equal(read_table_row(&table, 0)[STOP], 0);
    read_table_free(&table);
}

/* Misuse is counted, and the ranges around it stay as they are. */
static void test_misuse(void **state)
{
    (void)state;
    struct rbwp_session *session = start_session(1);
    rbwp_range_push(0, 1);
    rbwp_range_pop();
    rbwp_range_pop();
    rbwp_range_stop(UINT64_C(1) << 60);
    uint64_t range = rbwp_range_start(0, 2);
    rbwp_range_stop(range);
    rbwp_range_stop(range);
    rbwp_range_stop(0);
    for (uint64_t i = 0; i < RBWP_RANGES_NESTED_MAX; i++)
        rbwp_range_push(0, 10 + i);
    const uint64_t last = rbwp_range_current();
    for (int i = 0; i < 2; i++) {
        rbwp_range_push(0, 9);
        assert_int_equal(rbwp_range_current(), last);
    }
    for (uint64_t i = 0; i < RBWP_RANGES_NESTED_MAX + 2; i++)
        rbwp_range_pop();
    stop(session);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_STRAY_END), 3);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_ROWS), 2);
    assert_int_equal(all_losses(&recorded), 5);
    recorded_free(&recorded);
    struct read_table table = read_table(test_path("test.bin"), "range");
    assert_int_equal(table.rows, 2 + RBWP_RANGES_NESTED_MAX);
    for (size_t i = 0; i < table.rows; i++)
        assert_int_not_equal(read_table_row(&table, i)[STOP], 0);
    read_table_free(&table);
}

/* A mark and a range that is started inside another recording call, as a signal handler may make
 * them, are refused: no rows, and that call goes on as it was. */
static void test_inside_another_call(void **state)
{
    (void)state;
    struct rbwp_session *session = start_session(1);
    rbwp_range_mark(0, 1, (struct rbwp_payload){0});
    rbwp_self_.in_call = 1;
    rbwp_range_mark(0, 2, (struct rbwp_payload){0});
    assert_int_equal(rbwp_self_.in_call, 1);
    assert_int_equal(rbwp_range_start(0, 3), 0);
    assert_int_equal(rbwp_self_.in_call, 1);
    rbwp_self_.in_call = 0;
    rbwp_range_mark(0, 4, (struct rbwp_payload){0});
    assert_int_equal(stop(session).misuse_calls, 2);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_SIGNAL), 2);
    recorded_free(&recorded);
    struct read_table table = read_table(test_path("test.bin"), "range");
    assert_int_equal(table.rows, 2);
    assert_int_equal(read_table_row(&table, 0)[ID], 1);
    assert_int_equal(read_table_row(&table, 1)[ID], 4);
    read_table_free(&table);
}

/* ---- threads ----------------------------------------------------------------------------- */

struct handed {
    struct rbwp_range_carried carried, nothing;
    uint64_t started;
};

static void *go_on(void *context)
{
    const struct handed *handed = context;
    rbwp_range_enter(&handed->carried);
    rbwp_range_push(0, 20);
    rbwp_range_pop();
    rbwp_range_pop();
    rbwp_range_stop(handed->started);
    rbwp_range_enter(&handed->nothing);
    rbwp_range_pop();
    return NULL;
}

/* The other thread is not attached. */
static void test_other_thread(void **state)
{
    (void)state;
    pthread_t thread;
    struct rbwp_session *session = start_session(1);
    struct handed handed = {.nothing = rbwp_range_carry()};
    assert_int_equal(handed.nothing.range, 0);
    rbwp_range_push(rbwp_range_name("forward"), 10);
    handed.carried = rbwp_range_carry();
    handed.started = rbwp_range_start_with(0, 30, rbwp_payload_u64(9));
    assert_int_equal(pthread_create(&thread, NULL, go_on, &handed), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    rbwp_range_pop();
    struct read_table table = stop_and_read(session);
    assert_int_equal(table.rows, 5);
    const uint64_t *carried = NULL, *forward = NULL, *started = NULL, *stopped = NULL;
    for (size_t i = 0; i < table.rows; i++) {
        const uint64_t *row = read_table_row(&table, i);
        if (row[ID] == 10)
            *(row[KIND] == RBWP_RANGE_CARRIED ? &carried : &forward) = row;
        if (row[ID] == 30)
            *(row[KIND] == RBWP_RANGE_STARTED ? &started : &stopped) = row;
    }
    assert_true(carried && forward && started && stopped);
    assert_int_equal(carried[PARENT], forward[RANGE]);
    assert_int_not_equal(carried[RANGE], forward[RANGE]);
    assert_int_not_equal(carried[THREAD], forward[THREAD]);
    assert_named(&table, carried, "forward");
    assert_int_equal(row_of(&table, 20)[PARENT], carried[RANGE]);
    assert_int_equal(started[STOP], 0);
    assert_int_equal(started[PAYLOAD], 9);
    assert_int_equal(started[PARENT], forward[RANGE]);
    assert_int_equal(stopped[KIND], RBWP_RANGE_STARTED | RBWP_RANGE_STOP_);
    assert_int_equal(stopped[RANGE], started[RANGE]);
    assert_int_equal(stopped[THREAD], carried[THREAD]);
    assert_true(stopped[STOP] >= started[START]);
    read_table_free(&table);
}

static void *start_range(void *context)
{
    *(uint64_t *)context = rbwp_range_start(0, 40);
    return NULL;
}

/* The first row that a thread writes in a session may be the stop of another one's range: what it
 * had open in the session before is around nothing. */
static void test_first_row_is_a_stop(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t started = 0;
    struct rbwp_session *session = start_session(1);
    rbwp_range_push(0, 1);
    stop(session);
    session = start_session(1);
    assert_int_equal(pthread_create(&thread, NULL, start_range, &started), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    rbwp_range_stop(started);
    rbwp_range_push(0, 2);
    rbwp_range_pop();
    struct read_table table = stop_and_read(session);
    assert_int_equal(table.rows, 3);
    assert_int_equal(row_of(&table, 2)[PARENT], 0);
    read_table_free(&table);
}

_Atomic(test_point_fn) test_point_hook;
static _Atomic unsigned walks;

static void count_walks(const char *place)
{
    walks += strcmp(place, "range: looks through all that were started") == 0;
}

/* With as many ranges started as there may be, those of earlier sessions make room, once; a start
 * beyond that is lost, and looks through nothing again. */
static void test_started_limit(void **state)
{
    (void)state;
    enum { EARLIER = 10 };
    uint64_t started = 0, beyond = 0;
    atomic_store(&test_point_hook, count_walks);
    struct rbwp_session *session = start_session(1);
    for (unsigned i = 0; i < EARLIER; i++)
        assert_true(rbwp_range_start(0, i) != 0);
    stop(session);
    session = start_session(1);
    for (unsigned i = 0; i < RBWP_RANGES_STARTED_MAX; i++)
        started += rbwp_range_start(0, i) != 0;
    for (unsigned i = 0; i < EARLIER; i++)
        beyond += rbwp_range_start(0, i) != 0;
    stop(session);
    atomic_store(&test_point_hook, NULL);
    assert_int_equal(started, RBWP_RANGES_STARTED_MAX);
    assert_int_equal(beyond, 0);
    assert_int_equal(walks, 1);
    struct recorded recorded = read_back(test_path("test.bin"));
    assert_int_equal(all_losses(&recorded), EARLIER);
    recorded_free(&recorded);
}

/* Once a thread has pushed a range, the next push finds a place and a number for its row and calls
 * nothing of the library. */
static void test_second_push_is_inline(void **state)
{
    (void)state;
    const struct rbwp_place_ *place = &rbwp_own_ranges_.place;
    struct rbwp_session *session = start_session(1);
    rbwp_range_push(0, 1);
    rbwp_range_pop();
    assert_true(rbwp_place_has_room_(place));
    const uint64_t room = rbwp_place_room_(place);
    rbwp_range_push(0, 2);
    assert_int_equal(rbwp_place_room_(place), room - 1);
    rbwp_range_pop();
    stop(session);
}

/* A thread that is attached again is another one to the file, where a range that it had open goes
 * on. */
static void test_attached_again(void **state)
{
    (void)state;
    struct rbwp_session *session = start_session(1);
    for (uint64_t i = 0; i < 4; i++) {
        rbwp_range_push(0, 1);
        rbwp_range_push(0, 2);
        rbwp_range_pop();
        assert_int_equal(rbwp_thread_detach(), RBWP_OK);
        assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
        rbwp_range_pop();
        rbwp_range_push(0, 3 + i);
        rbwp_range_pop();
    }
    struct read_table table = stop_and_read(session);
    assert_int_equal(table.rows, 16);
    for (uint64_t i = 0; i < 4; i++) {
        const uint64_t *again = row_of(&table, 3 + i);
        assert_int_equal(again[PARENT], 0);
        assert_int_not_equal(again[STOP], 0);
        assert_true(i == 0 || again[THREAD] != row_of(&table, 2 + i)[THREAD]);
    }
    for (size_t i = 0; i < table.rows; i++)
        assert_int_equal(read_table_row(&table, i)[THREAD], table.threads[i]);
    read_table_free(&table);
}

/* The same between sessions, where the memory of the thread that was is used anew. */
static void test_attached_between_sessions(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rbwp_session *session = start_session(1);
        rbwp_range_push(0, 1);
        rbwp_range_push(0, 2);
        rbwp_range_pop();
        rbwp_range_pop();
        struct read_table table = stop_and_read(session);
        assert_int_equal(table.rows, 2);
        for (size_t row = 0; row < table.rows; row++)
            assert_int_equal(read_table_row(&table, row)[THREAD], table.threads[row]);
        read_table_free(&table);
        for (int again = 0; again < 20; again++) {
            assert_int_equal(rbwp_thread_detach(), RBWP_OK);
            assert_int_equal(rbwp_thread_attach(NULL), RBWP_OK);
        }
    }
}

/* ---- the end of the process ---------------------------------------------------------------- */

/* The program that test_killed starts: it records to the file and kills itself inside a range. */
static int kill_inside(char *file)
{
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session;
    config.logfile = file;
    if (rbwp_session_start(&config, &session, NULL) != RBWP_OK)
        return 1;
    rbwp_range_push(rbwp_range_name("open"), 1);
    rbwp_range_push(0, 2);
    rbwp_range_pop();
    kill(getpid(), SIGKILL);
    return 1;
}

/* Killed inside a range: that is there, open, and so are those that had ended. The program is
 * executed: TSan lets no forked child start threads. */
static void test_killed(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_range", test_path("test.bin"), (char *)NULL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    struct recorded recorded = read_recovered(test_path("test.bin"));
    const int64_t first_ns = recorded.header.zero_time_ns;
    recorded_free(&recorded);
    struct read_table table = read_table(test_path("recovered.bin"), "range");
    assert_int_equal(table.rows, 2);
    const uint64_t *open = read_table_row(&table, 0), *inner = read_table_row(&table, 1);
    assert_named(&table, open, "open");
    assert_int_equal(open[STOP], 0);
    assert_int_equal(inner[PARENT], open[RANGE]);
    assert_in_range((int64_t)open[START] - first_ns + 1000000, 0, 60000000000);
    assert_true(open[START] <= inner[START] && inner[START] <= inner[STOP]);
    assert_in_range(inner[STOP] - open[START], 0, 60000000000);
    read_table_free(&table);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return kill_inside(argv[1]);
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested),         cmocka_unit_test(test_long_range),
        cmocka_unit_test(test_open_rows_go),   cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_misuse),         cmocka_unit_test(test_inside_another_call),
        cmocka_unit_test(test_other_thread),   cmocka_unit_test(test_first_row_is_a_stop),
        cmocka_unit_test(test_started_limit),  cmocka_unit_test(test_second_push_is_inline),
        cmocka_unit_test(test_attached_again), cmocka_unit_test(test_attached_between_sessions),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
