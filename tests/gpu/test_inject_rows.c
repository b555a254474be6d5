/* SPDX-License-Identifier: Apache-2.0 */
/* Rows about GPUs, of what the driver says to a thread that launches and CUPTI's thread writes. */
#include "inject_library.h"
#include "inject_names.h"
#include "inject_rows.h"
#include "inject_session.h"
#include "inject_started.h"
#include "rbwp_rows.h"
#include "record_support.h"
#include "rows_support.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

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
    return inject_name(text);
}

uint64_t inject_call_name(const char *called, const void *function)
{
    (void)called;
    (void)function;
    return 0;
}

int64_t inject_line_offset_ns(void)
{
    return 0;
}

uint64_t inject_range_now(void)
{
    return 0;
}

uint64_t inject_thread(void)
{
    return 0;
}

/* ---- the driver ---------------------------------------------------------------------------------
 */

static int get_name(char *name, int bytes, driver_device device)
{
    assert_true(bytes > 4);
    strcpy(name, "fake");
    return device == 0 ? DRIVER_OK : DRIVER_OK + 1;
}

static int get_memory(size_t *bytes, driver_device device)
{
    (void)device;
    *bytes = 80;
    return DRIVER_OK;
}

static int get_attribute(int *value, driver_attribute attribute, driver_device device)
{
    (void)attribute;
    (void)device;
    *value = 132;
    return DRIVER_OK;
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
    static const struct inject_work work = {.kind = WORK_COPY, .name = "copy"};
    static const struct inject_call call = {0};
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    pthread_t thread;
    cu.cuDeviceGetName = get_name;
    cu.cuDeviceGetAttribute = get_attribute;
    cu.cuDeviceTotalMem_v2 = get_memory;
    inject_rows_prepare();
    inject_rows_work(&work, &call);
    assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
    while (!atomic_load_explicit(&has_looked, memory_order_relaxed))
        sched_yield();
    inject_rows_devices();
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)stop(session);
    struct read_table table = read_table(config.logfile, "gpu_device");
    assert_int_equal(table.rows, 1);
    /* processor, name, api, what is known of a bias (nothing), multiprocessors, memory */
    const uint64_t expected[] = {UINT64_C(1) << 32, 0, 0, 0, 0, 0, 0, 0, 0, 132, 80};
    const uint64_t *cells = read_table_row(&table, 0);
    struct rbwp_text name = rbwp_catalog_name(table.catalog, cells[1]);
    for (size_t c = 0; c < sizeof expected / sizeof *expected; c++)
        assert_true(c == 1 || cells[c] == expected[c]);
    assert_int_equal(name.bytes, 4);
    assert_memory_equal(name.text, "fake", 4);
    read_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(device_of_another_thread)};
    return cmocka_run_group_tests_name("inject rows", tests, NULL, NULL);
}
