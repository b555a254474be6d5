/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: numbers, kept texts, unique process names, sinks on another thread; trace_cpu_of. */
#include "ordered_jobs.h"
#include "trace.h"
#include "trace_span.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

struct names_seen {
    uint32_t names;
    struct trace_text first;
};

static void take_name(void *context, uint32_t number, struct trace_text name)
{
    struct names_seen *names_seen = context;
    assert_int_equal(number, names_seen->names++);
    if (number == 0)
        names_seen->first = name;
}

/* Equal texts have one number, announced once; texts stay where they are however many follow. */
static void names_are_told_once(void **state)
{
    (void)state;
    enum { NAMES = 20000 };
    struct names_seen names_seen = {0};
    struct trace *trace =
        trace_new(&(struct trace_sink){.context = &names_seen, .name = take_name}, 0);
    assert_non_null(trace);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < NAMES; i++) {
            char text[32];
            uint32_t bytes = (uint32_t)snprintf(text, sizeof text, "name %u", (unsigned)i);
            assert_int_equal(trace_add_name(trace, text, bytes), i);
        }
    assert_int_equal(names_seen.names, NAMES);
    assert_int_equal(trace_add_name(trace, "a\0b", 3), NAMES);
    assert_int_equal(trace_add_name(trace, "a\0c", 3), NAMES + 1); /* bytes, not C strings */
    assert_int_equal(trace_add_name(trace, "", 0), NAMES + 2);
    assert_int_equal(trace_add_name(trace, "", 0), NAMES + 2);
    assert_memory_equal(names_seen.first.text, "name 0", 6);
    assert_int_equal(trace_name_of(trace, 777).bytes, 8);
    assert_memory_equal(trace_name_of(trace, 777).text, "name 777", 8);
    trace_free(trace);
}

/* ---- a sink behind the reader ---------------------------------------------------------- */

/* What came is written down as text; room for all of it. */
struct witness {
    const struct trace *trace;
    size_t bytes;
    char text[1 << 20];
    unsigned calls, full_after; /* of spans; 0 never */
};

static void note(struct witness *witness, const char *format, uint64_t a, uint64_t b)
{
    size_t room = sizeof witness->text - witness->bytes;
    witness->bytes += (size_t)snprintf(witness->text + witness->bytes, room, format,
                                       (unsigned long long)a, (unsigned long long)b);
}

/* The name is looked up while the reader goes on. */
static void witness_spans(void *context, const struct trace_span *spans, size_t count,
                          const struct trace_details *details)
{
    struct witness *witness = context;
    witness->calls++;
    note(witness, "spans %llu of %llu\n", count, spans[0].track);
    for (size_t i = 0; i < count; i++) {
        const struct trace_detail *detail = details ? trace_detail_of(details, &spans[i]) : NULL;
        note(witness, "%llu %llu\n", spans[i].id,
             trace_name_of(witness->trace, spans[i].name).bytes);
        if (detail)
            note(witness, "detail %llu %llu\n", detail->correlation, detail->words);
    }
}

static void witness_samples(void *context, uint32_t track, const struct trace_sample *samples,
                            size_t count)
{
    note(context, "samples %llu of %llu", count, track);
    note(context, " %llu to %llu\n", (uint64_t)samples[0].value.i64,
         (uint64_t)samples[count - 1].value.i64);
}

static void witness_link(void *context, const struct trace_link *link)
{
    note(context, "link %llu %llu\n", link->id, link->from_span);
}

static void witness_name(void *context, uint32_t number, struct trace_text name)
{
    note(context, "name %llu %llu\n", number, name.bytes);
}

static void witness_track(void *context, const struct trace_track *track)
{
    note(context, "track %llu %llu\n", track->number, track->name.bytes);
}

static void witness_fact(void *context, const char *key, struct trace_text value)
{
    note(context, "fact %llu %llu\n", strlen(key), value.bytes);
}

static bool witness_full(void *context)
{
    const struct witness *witness = context;
    return witness->full_after && witness->calls >= witness->full_after;
}

static void add_many(struct trace *trace, uint32_t round)
{
    enum { SPANS = 700 };
    static struct trace_span spans[SPANS];
    static uint64_t words[2 + 2 * sizeof(struct trace_detail) / sizeof(uint64_t)];
    struct trace_details details = {words, sizeof words / sizeof words[0], 0};
    struct trace_detail detail = {.words = sizeof detail / sizeof(uint64_t), .correlation = round};
    memcpy(words + 1, &detail, sizeof detail);
    char name[32];
    uint32_t bytes = (uint32_t)snprintf(name, sizeof name, "name of %u", (unsigned)(round % 40));
    uint32_t number = trace_add_name(trace, name, bytes), count = 1 + round * 37 % SPANS;
    for (uint32_t i = 0; i < count; i++)
        spans[i] = (struct trace_span){.id = trace_new_ids(trace, 1),
                                       .track = round % 3,
                                       .name = number,
                                       .detail = i == 5 && round % 4 == 0};
    trace_add_spans(trace, spans, count, round % 4 == 0 ? &details : NULL);
    trace_add_link(trace, (struct trace_link){.from_span = round});
    struct trace_sample samples[3] = {{.whole = true, .value.i64 = round},
                                      {.whole = true},
                                      {.whole = true, .value.i64 = 2 * round}};
    if (round % 5 == 0)
        trace_add_samples(trace, 2, samples, 3);
    if (round % 70 == 0)
        trace_add_fact(trace, "round", "%u", (unsigned)round);
}

static void fill(struct witness *witness, unsigned count, unsigned full_after)
{
    struct job_threads *threads = job_threads_new(count);
    const struct trace_sink sink = {.context = witness,
                                    .name = witness_name,
                                    .track = witness_track,
                                    .spans = witness_spans,
                                    .samples = witness_samples,
                                    .link = witness_link,
                                    .fact = witness_fact,
                                    .full = witness_full};
    struct trace *trace = trace_new(&sink, 0);
    assert_non_null(trace);
    *witness = (struct witness){.trace = trace, .full_after = full_after};
    trace_work_behind(trace, threads);
    (void)trace_add_process(trace, (struct trace_process){.name = trace_text("process")});
    for (int i = 0; i < 3; i++)
        (void)trace_add_track(trace, (struct trace_track){.name = trace_text("track")});
    for (uint32_t round = 0; round < 200 && !trace_is_full(trace); round++)
        add_many(trace, round);
    trace_finish(trace);
    assert_int_equal(trace_is_full(trace), full_after > 0);
    trace_free(trace);
    job_threads_free(threads);
}

/* Guards: a sink gets the same in the same order whether it works behind the reader or not, and
 * nothing once it is full. */
static void a_sink_behind_gets_the_same(void **state)
{
    (void)state;
    static struct witness alone, behind;
    for (unsigned full_after = 0; full_after <= 30; full_after += 15) {
        fill(&alone, 1, full_after);
        assert_true(alone.bytes > 1000 && alone.bytes < sizeof alone.text);
        for (unsigned threads = 2; threads <= 4; threads++) {
            fill(&behind, threads, full_after);
            assert_true(behind.bytes <= alone.bytes || full_after);
            assert_memory_equal(alone.text, behind.text,
                                full_after ? full_after * 100 : alone.bytes + 1);
            assert_int_equal(behind.calls, alone.calls);
        }
    }
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

/* A row that says more than the call was long: the parts never add up to more. */
static void parts_of_a_call_fit(void **state)
{
    (void)state;
    const struct trace_span span = {.start_ns = 200, .stop_ns = 250};
    const struct trace_detail long_one = {
        .flags = TRACE_HAS_CPU, .running_ns = 45, .runnable_ns = 1000};
    const struct trace_detail half = {.flags = TRACE_HAS_CPU, .running_ns = 30, .runnable_ns = -1};
    struct trace_cpu cpu = trace_cpu_of(&span, &long_one);
    assert_int_equal(cpu.running_ns, 45);
    assert_int_equal(cpu.runnable_ns, 5);
    assert_int_equal(cpu.waiting_ns, 0);
    cpu = trace_cpu_of(&span, &half);
    assert_int_equal(cpu.running_ns, 30);
    assert_int_equal(cpu.runnable_ns + cpu.waiting_ns, 0); /* of the rest nothing is known */
    assert_false(trace_cpu_is_known(&(struct trace_cpu){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_told_once),
        cmocka_unit_test(a_sink_behind_gets_the_same),
        cmocka_unit_test(process_names_are_unique),
        cmocka_unit_test(many_processes_are_named),
        cmocka_unit_test(totals),
        cmocka_unit_test(parts_of_a_call_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
