/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows about GPUs, of what the driver says to a thread that launches and CUPTI's thread writes; and
 * the clock by which the times of calls get there.
 */
#include "clock.h"
#include "inject_library.h"
#include "inject_names.h"
#include "inject_rows.h"
#include "inject_session.h"
#include "rbwp_rows.h"
#include "record_support.h"
#include "rows_support.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- the rest of the library ------------------------------------------------------------------
 */

struct inject_functions cu;

uint64_t inject_name(const char *text)
{
    uint64_t number;
    assert_int_equal(rbwp_name_intern(text, strlen(text), &number), RBWP_OK);
    return number;
}

uint64_t inject_kernel_name(const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "kernel %s", text);
    return inject_name(name);
}

uint64_t inject_call_name(const char *called, const void *function)
{
    (void)called;
    (void)function;
    return 0;
}

static int64_t line_offset_ns;

int64_t inject_line_offset_ns(void)
{
    return line_offset_ns;
}

uint64_t inject_range_now(void)
{
    return 5;
}

uint64_t inject_thread(void)
{
    return 6;
}

/* ---- the driver ---------------------------------------------------------------------------------
 */

static int get_name(char *name, int bytes, driver_device device)
{
    assert_true(bytes > 4);
    strcpy(name, device == 1 ? "x" : "fake");
    return device < 2 ? DRIVER_OK : DRIVER_OK + 1;
}

static int get_memory(size_t *bytes, driver_device device)
{
    *bytes = 80;
    return device == 0 ? DRIVER_OK : DRIVER_OK + 1;
}

static int get_attribute(int *value, driver_attribute attribute, driver_device device)
{
    (void)attribute;
    *value = 132;
    return device == 0 ? DRIVER_OK : DRIVER_OK + 1;
}

static void assert_name(const struct read_table *table, uint64_t number, const char *name)
{
    struct rbwp_text text = rbwp_catalog_name(table->catalog, number);
    assert_int_equal(text.bytes, strlen(name));
    assert_memory_equal(text.text, name, text.bytes);
}

static _Atomic int has_looked;

static void *look(void *unused)
{
    inject_rows_look();
    atomic_store_explicit(&has_looked, 1, memory_order_relaxed);
    return unused;
}

/* For ThreadSanitizer: what one thread found is told by another, ordered in time alone (as in
 * test_locks.c). */
static void device_of_another_thread(void **state)
{
    (void)state;
    static const struct inject_call call = {0};
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    pthread_t thread;
    cu.cuDeviceGetName = get_name;
    cu.cuDeviceGetAttribute = get_attribute;
    cu.cuDeviceTotalMem_v2 = get_memory;
    inject_rows_prepare();
    for (uint32_t device = 0; device < 3; device++)
        inject_rows_work(&(struct inject_work){.kind = WORK_COPY, .name = "copy", .device = device},
                         &call);
    inject_rows_work(&(struct inject_work){.kind = WORK_COPY, .name = "copy", .device = 64}, &call);
    assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
    while (!atomic_load_explicit(&has_looked, memory_order_relaxed))
        sched_yield();
    inject_rows_devices();
    inject_rows_devices(); /* they have been told */
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)stop(session);
    struct read_table table = read_table(config.logfile, "gpu_device");
    assert_int_equal(table.rows, 3);
    /* processor, name, api, what is known of a bias (nothing), multiprocessors, memory */
    static const char *const names[] = {"fake", "x", ""};
    for (uint64_t device = 0; device < 3; device++) {
        const uint64_t *cells = read_table_row(&table, device);
        const uint64_t expected[] = {
            UINT64_C(1) << 32 | device, cells[1], 0, 0, 0, 0, 0, 0, 0, device == 0 ? 132 : 0,
            device == 0 ? 80 : 0};
        assert_memory_equal(cells, expected, sizeof expected);
        assert_name(&table, cells[1], names[device]);
        assert_int_equal(cells[1] != 0, device < 2);
    }
    read_table_free(&table);
}

/* What is known of work, and of the call that launched it, is in its row, by the session's line. */
static void rows_of_work(void **state)
{
    (void)state;
    static const struct inject_work kernel = {.kind = WORK_KERNEL,
                                              .name = "k",
                                              .device = 3,
                                              .correlation = 21,
                                              .stream = 22,
                                              .start_ns = 1000,
                                              .end_ns = 2000,
                                              .bytes = 23,
                                              .graph_node = 24,
                                              .bound_ns = 30,
                                              .start_bound_ns = 12,
                                              .launching_ns = 25,
                                              .idle = true,
                                              .shape = {1, 2, 3}};
    struct inject_call call = {.begin_ns = 990, .end_ns = 995, .thread = 26, .range = 27};
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    line_offset_ns = 100000;
    inject_rows_work(&kernel, &call); /* bound: what it says */
    call.begin_ns = 1042;
    inject_rows_work(&kernel, &call); /* the same */
    call.begin_ns = 1043;
    inject_rows_work(&kernel, &call); /* by so much it cannot be true */
    struct inject_work copy = kernel;
    copy.kind = WORK_COPY;
    copy.idle = false;
    inject_rows_work(&copy, &(struct inject_call){0});
    inject_rows_wait(NULL, 3000, 3500, 77);
    inject_rows_wait("sync", 4000, 4500, 78);
    line_offset_ns = 0;
    (void)stop(session);
    struct read_table table = read_table(config.logfile, "gpu_activity");
    assert_int_equal(table.rows, 4);
    static const uint64_t begins[] = {100990, 101042, 101043, 101000}, bounds[] = {42, 42, 43, 42};
    for (size_t i = 0; i < 4; i++) {
        const uint64_t *cells = read_table_row(&table, i);
        const bool is_copy = i == 3;
        const uint64_t expected[] = {101000,
                                     102000,
                                     UINT64_C(1) << 32 | 3,
                                     22,
                                     is_copy ? 0 : 26,
                                     cells[5],
                                     begins[i],
                                     is_copy ? 0 : 100995,
                                     bounds[i],
                                     30,
                                     cells[10],
                                     21,
                                     25,
                                     !is_copy,
                                     is_copy ? 0 : 27,
                                     is_copy ? WORK_COPY : WORK_KERNEL,
                                     23,
                                     24,
                                     is_copy ? 0 : 1,
                                     0};
        assert_memory_equal(cells, expected, sizeof expected);
        assert_name(&table, cells[10], is_copy ? "k" : "kernel k");
    }
    read_table_free(&table);
    table = read_table(config.logfile, "gpu_call");
    assert_int_equal(table.rows, 2);
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t *cells = read_table_row(&table, i);
        const uint64_t expected[] = {103000 + 1000 * i, 103500 + 1000 * i, 6, cells[3], 77 + i, 5};
        assert_memory_equal(cells, expected, sizeof expected);
        assert_name(&table, cells[3], i ? "sync" : "wait");
    }
    read_table_free(&table);
}

/* A shape is reported once, and of very many the first few thousand. */
static void many_shapes(void **state)
{
    (void)state;
    enum { SHAPES_KEPT = 4096, SHAPES = SHAPES_KEPT + 5 };
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    for (int twice = 0; twice < 2; twice++)
        for (uint64_t i = 0; i < SHAPES; i++) {
            const struct inject_work work = {.kind = WORK_KERNEL, .name = "k", .shape = {i, 7, i}};
            inject_rows_work(&work, &(struct inject_call){0});
        }
    (void)stop(session);
    struct read_table works = read_table(config.logfile, "gpu_activity");
    struct read_table shapes = read_table(config.logfile, "gpu_shape");
    assert_int_equal(works.rows, 2 * SHAPES);
    assert_int_equal(shapes.rows, SHAPES_KEPT - 1); /* one is from before */
    for (uint64_t i = 0; i < 2 * SHAPES; i++) {
        const uint64_t number = read_table_row(&works, i)[18];
        const uint64_t place = i % SHAPES;
        assert_int_equal(number, place < SHAPES_KEPT - 1 ? place + 2 : 0);
        if (number == 0)
            continue;
        const uint64_t *cells = read_table_row(&shapes, place);
        const uint64_t expected[] = {number, place, 7, place, 0, 0, 0, 0, 0};
        assert_memory_equal(cells, expected, sizeof expected);
    }
    read_table_free(&works);
    read_table_free(&shapes);
}

/* ---- the clock -------------------------------------------------------------------------------
 */

/* Both clocks show the same time, which each reading of one moves by the next of these steps: what
 * lies between three readings of a look is of one length once, and never so short. */
static const uint64_t steps[] = {100, 500, 9000, 100, 200, 200, 100, 4000, 10, 100, 300, 300};
static bool is_stepping; /* else the system's clock is read */
static uint64_t stepping_ns = 1000000, readings;

static uint64_t step(void)
{
    return stepping_ns += steps[readings++ % (sizeof steps / sizeof *steps)];
}

int __real_clock_gettime(clockid_t clock, struct timespec *time);
/* Visible: some linkers have shared libraries refer to it too. */
__attribute__((visibility("default"))) int __wrap_clock_gettime(clockid_t clock,
                                                                struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!is_stepping || clock != CLOCK_MONOTONIC)
        return __real_clock_gettime(clock, time);
    const uint64_t now_ns = step();
    *time = (struct timespec){(time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000)};
    return 0;
}

/* The line between ticks and time goes through the middle of the closest readings. */
static void clocks_are_looked_at_together(void **state)
{
    (void)state;
    clock_replace(step);
    is_stepping = true;
    readings = 0;
    for (int i = 0; i < 2; i++) {
        inject_ticks_look();
        assert_int_equal(readings % (sizeof steps / sizeof *steps), 0);
    }
    const uint64_t ticks[] = {0, 1000, 1000000, stepping_ns, 2 * stepping_ns};
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        assert_int_equal(inject_ticks_ns(ticks[i]), ticks[i]);
    is_stepping = false;
    clock_replace(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_of_another_thread), cmocka_unit_test(rows_of_work),
        cmocka_unit_test(many_shapes), cmocka_unit_test(clocks_are_looked_at_together)};
    return cmocka_run_group_tests_name("inject rows", tests, NULL, NULL);
}
