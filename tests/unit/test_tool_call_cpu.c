/* SPDX-License-Identifier: Apache-2.0 */
/* call_cpu.h: a call gets its own row, though its begin was rounded otherwise; a call without a row
 * ran all the time from where that is known, and not where rows may be missing. */
#include "call_cpu.h"
#include "unit.h"

enum { THREAD = 7 };

static void add(struct call_cpu *cpu, enum early_table table, const uint64_t *values,
                unsigned columns)
{
    const uint64_t *cells[COLUMNS_call_cpu];
    for (unsigned i = 0; i < columns; i++)
        cells[i] = &values[i];
    assert_true(call_cpu_add_rows(cpu, table, cells, 1));
}

static void add_call(struct call_cpu *cpu, uint64_t start, int64_t running, int64_t runnable)
{
    const uint64_t values[COLUMNS_call_cpu] = {[AT_call_cpu_start] = start,
                                               [AT_call_cpu_thread] = THREAD,
                                               [AT_call_cpu_running] = (uint64_t)running,
                                               [AT_call_cpu_runnable] = (uint64_t)runnable};
    add(cpu, EARLY_CALL_CPU, values, COLUMNS_call_cpu);
}

static void add_sum(struct call_cpu *cpu, uint64_t since, uint64_t time, int64_t ran)
{
    const uint64_t values[COLUMNS_thread_cpu] = {[AT_thread_cpu_time] = time,
                                                 [AT_thread_cpu_thread] = THREAD,
                                                 [AT_thread_cpu_known] = true,
                                                 [AT_thread_cpu_since] = since,
                                                 [AT_thread_cpu_ran] = (uint64_t)ran};
    add(cpu, EARLY_THREAD_CPU, values, COLUMNS_thread_cpu);
}

/* As version 1 has it. */
static void add_state(struct call_cpu *cpu, uint64_t time, bool known)
{
    const uint64_t values[] = {time, THREAD, known};
    const uint64_t *cells[COLUMNS_thread_cpu] = {&values[0], &values[1], &values[2]};
    assert_true(call_cpu_add_rows(cpu, EARLY_THREAD_CPU, cells, 1));
}

/* From 100 on calls are known, from 500 on not; of those at 200, 300 and 301 there are rows. */
static struct call_cpu made(bool has_losses)
{
    struct call_cpu cpu = {0};
    call_cpu_begin_file(&cpu, INT64_MIN, INT64_MAX);
    add_state(&cpu, 100, true);
    add_call(&cpu, 200, 10, 20);
    add_call(&cpu, 900, 1, 1);
    call_cpu_forget(&cpu);
    add_state(&cpu, 100, true);
    add_call(&cpu, 300, 30, -1); /* not in order */
    add_call(&cpu, 200, 10, 20);
    add_call(&cpu, 303, 33, 0);
    add_state(&cpu, 500, false);
    call_cpu_end_file(&cpu, has_losses);
    return cpu;
}

static enum call_ran of(struct call_cpu *cpu, int64_t begin, struct trace_detail *detail)
{
    *detail = (struct trace_detail){0};
    const enum call_ran ran = call_cpu_of(cpu, THREAD, begin, detail);
    assert_int_equal(detail->flags & TRACE_HAS_CPU, ran == CALL_HAS_ROW ? TRACE_HAS_CPU : 0);
    return ran;
}

static void assert_row(struct call_cpu *cpu, int64_t begin, int64_t running, int64_t runnable)
{
    struct trace_detail detail;
    assert_int_equal(of(cpu, begin, &detail), CALL_HAS_ROW);
    assert_int_equal(detail.running_ns, running);
    assert_int_equal(detail.runnable_ns, runnable);
}

static void test_own_rows(void **state)
{
    struct call_cpu cpu = made(false);
    (void)state;
    for (int64_t off = -1; off <= 1; off++)
        assert_row(&cpu, 200 + off, 10, 20);
    assert_row(&cpu, 303, 33, 0);
    assert_row(&cpu, 300, 30, -1); /* backwards, too */
    call_cpu_free(&cpu);
}

static void test_without_rows(void **state)
{
    struct call_cpu cpu = made(false);
    struct trace_detail detail;
    (void)state;
    assert_int_equal(of(&cpu, 50, &detail), CALL_NOT_KNOWN);
    assert_int_equal(of(&cpu, 100, &detail), CALL_RAN);
    assert_int_equal(of(&cpu, 202, &detail), CALL_RAN);
    assert_int_equal(of(&cpu, 900, &detail), CALL_NOT_KNOWN);
    call_cpu_free(&cpu);
}

static void test_losses(void **state)
{
    struct call_cpu cpu = made(true);
    struct trace_detail detail;
    (void)state;
    assert_int_equal(of(&cpu, 202, &detail), CALL_NOT_KNOWN);
    assert_row(&cpu, 200, 10, 20);
    call_cpu_free(&cpu);
}

/* Of two files with the same data each gives its part. */
static void test_limits(void **state)
{
    struct call_cpu cpu = {0};
    (void)state;
    call_cpu_begin_file(&cpu, INT64_MIN, 250);
    add_call(&cpu, 200, 1, 0);
    add_call(&cpu, 300, 2, 0);
    call_cpu_end_file(&cpu, false);
    call_cpu_begin_file(&cpu, 250, INT64_MAX);
    add_call(&cpu, 200, 3, 0);
    add_call(&cpu, 300, 4, 0);
    call_cpu_end_file(&cpu, false);
    assert_row(&cpu, 200, 1, 0);
    assert_row(&cpu, 300, 4, 0);
    call_cpu_free(&cpu);
}

static void assert_sum(const struct call_cpu *cpu, int64_t from_ns, int64_t to_ns, uint64_t ran_ns)
{
    const struct trace_sum sum = call_cpu_sum(cpu, THREAD);
    assert_int_equal(sum.from_ns, from_ns);
    assert_int_equal(sum.to_ns, to_ns);
    assert_int_equal(sum.ran_ns, ran_ns);
}

/* Rows in any order, some that say nothing; never more than the time that they are of. */
static void test_sums(void **state)
{
    struct call_cpu cpu = {.sums_from_ns = 100};
    (void)state;
    call_cpu_begin_file(&cpu, INT64_MIN, INT64_MAX);
    assert_sum(&cpu, 0, 0, 0); /* of a thread that is not known */
    add_state(&cpu, 50, true);
    add_sum(&cpu, 90, 100, 5); /* from before on */
    add_sum(&cpu, 150, 150, -1);
    add_sum(&cpu, 150, 160, -1);
    add_sum(&cpu, 160, 150, 5);
    assert_sum(&cpu, 0, 0, 0);
    add_sum(&cpu, 200, 300, 30);
    add_sum(&cpu, 100, 200, 7);
    assert_sum(&cpu, 100, 300, 37);
    call_cpu_end_file(&cpu, false);
    call_cpu_begin_file(&cpu, INT64_MIN, INT64_MAX);
    add_sum(&cpu, 300, 400, INT64_MAX);
    add_sum(&cpu, 400, 450, INT64_MAX);
    add_sum(&cpu, 450, 500, INT64_MAX);
    assert_sum(&cpu, 100, 500, 400);
    call_cpu_forget(&cpu);
    add_sum(&cpu, 300, 400, 1);
    assert_sum(&cpu, 100, 400, 38);
    call_cpu_end_file(&cpu, true); /* of lost rows nothing is known */
    assert_sum(&cpu, 0, 0, 0);
    call_cpu_free(&cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_rows), cmocka_unit_test(test_without_rows),
        cmocka_unit_test(test_losses),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
