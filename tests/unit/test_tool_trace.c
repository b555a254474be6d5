/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: numbers, kept texts, unique process names. */
#include "trace.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

struct told {
    uint32_t names;
    struct trace_text first;
};

static void take_name(void *context, uint32_t number, struct trace_text name)
{
    struct told *told = context;
    assert_int_equal(number, told->names++);
    if (number == 0)
        told->first = name;
}

/* Equal texts have one number, told once; texts stay where they are however many follow. */
static void names_are_told_once(void **state)
{
    (void)state;
    enum { NAMES = 20000 };
    struct told told = {0};
    struct trace *trace = trace_new(&(struct trace_sink){.context = &told, .name = take_name}, 0);
    assert_non_null(trace);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < NAMES; i++) {
            char text[32];
            uint32_t bytes = (uint32_t)snprintf(text, sizeof text, "name %u", (unsigned)i);
            assert_int_equal(trace_add_name(trace, text, bytes), i);
        }
    assert_int_equal(told.names, NAMES);
    assert_int_equal(trace_add_name(trace, "a\0b", 3), NAMES);
    assert_int_equal(trace_add_name(trace, "a\0c", 3), NAMES + 1); /* bytes, not C strings */
    assert_int_equal(trace_add_name(trace, "", 0), NAMES + 2);
    assert_int_equal(trace_add_name(trace, "", 0), NAMES + 2);
    assert_memory_equal(told.first.text, "name 0", 6);
    assert_int_equal(trace_name_of(trace, 777).bytes, 8);
    assert_memory_equal(trace_name_of(trace, 777).text, "name 777", 8);
    trace_free(trace);
}

static void expect_process(struct trace *trace, const char *name, const char *becomes)
{
    uint32_t number = trace_add_process(trace, (struct trace_process){.name = trace_text(name)});
    struct trace_text made = trace_process_of(trace, number)->name;
    assert_int_equal(made.bytes, strlen(becomes));
    assert_memory_equal(made.text, becomes, made.bytes);
}

/* Guards: names of processes are found by a hash. Compared with each other, these take minutes. */
static void many_processes_are_named(void **state)
{
    (void)state;
    enum { PROCESSES = 120000 };
    struct trace *trace = trace_new(&(struct trace_sink){0}, 0);
    assert_non_null(trace);
    char name[40], last[40];
    for (unsigned i = 0; i < PROCESSES; i++) {
        snprintf(name, sizeof name, "child %u", i);
        (void)trace_add_process(trace, (struct trace_process){.name = trace_text(name)});
        (void)trace_add_process(trace, (struct trace_process){.name = trace_text("same")});
    }
    snprintf(last, sizeof last, "same (%d)", PROCESSES + 1);
    expect_process(trace, "same", last);
    expect_process(trace, "child 7", "child 7 (2)");
    trace_free(trace);
}

/* Viewers join processes of equal names, so no two have one, also when the second name is taken. */
static void process_names_are_unique(void **state)
{
    (void)state;
    struct trace *trace = trace_new(&(struct trace_sink){0}, 0);
    assert_non_null(trace);
    expect_process(trace, "node 0", "node 0");
    expect_process(trace, "node 0 (2)", "node 0 (2)");
    expect_process(trace, "node 0", "node 0 (3)");
    expect_process(trace, "node 1", "node 1");
    char name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    trace_add_process(trace, (struct trace_process){.name = trace_text(name)});
    uint32_t second = trace_add_process(trace, (struct trace_process){.name = trace_text(name)});
    assert_true(trace_process_of(trace, second)->name.bytes > 0);
    assert_memory_not_equal(trace_process_of(trace, second)->name.text,
                            trace_process_of(trace, second - 1)->name.text,
                            trace_process_of(trace, second)->name.bytes);
    trace_free(trace);
}

static void take_link(void *context, const struct trace_link *link)
{
    uint64_t *links = context;
    assert_int_equal(link->id, ++*links);
}

/* The totals span all spans, in whatever order they come; links are counted, from 1. */
static void totals(void **state)
{
    (void)state;
    static const struct trace_span spans[] = {{.start_ns = 500, .stop_ns = 600},
                                              {.start_ns = 400, .stop_ns = 450},
                                              {.start_ns = 450, .stop_ns = 900},
                                              {.start_ns = 300, .stop_ns = 310}};
    uint64_t links = 0;
    struct trace *trace = trace_new(&(struct trace_sink){.context = &links, .link = take_link}, 0);
    assert_non_null(trace);
    assert_int_equal(trace_totals(trace)->last_ns, 0);
    trace_add_spans(trace, spans, 2, NULL);
    trace_add_link(trace, (struct trace_link){.from_ns = 1});
    assert_int_equal(trace_totals(trace)->first_ns, 400);
    assert_int_equal(trace_totals(trace)->last_ns, 600);
    trace_add_spans(trace, spans + 2, 2, NULL);
    trace_add_link(trace, (struct trace_link){.from_ns = 1});
    assert_int_equal(trace_totals(trace)->first_ns, 300);
    assert_int_equal(trace_totals(trace)->last_ns, 900);
    assert_int_equal(trace_totals(trace)->spans, 4);
    assert_int_equal(trace_totals(trace)->links, 2);
    assert_int_equal(links, 2);
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_told_once),
        cmocka_unit_test(process_names_are_unique),
        cmocka_unit_test(many_processes_are_named),
        cmocka_unit_test(totals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
