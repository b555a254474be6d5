/* SPDX-License-Identifier: Apache-2.0 */
/* align.h: what relates two files
 * places the second one, by how much, and with which bound. */
#include "align.h"
#include "unit.h"

#include <string.h>

static const struct trace_format kind = {.name = "test"}, other_kind = {.name = "other"};

/* Two files that have all relations: each case takes some away. */
struct pair {
    struct trace_source sources[2];
    struct alignment made[2];
    struct align_options options;
    bool good, usage;
};

static struct pair two_files(void)
{
    struct pair pair = {.options.quiet = true};
    for (int i = 0; i < 2; i++) {
        struct trace_source *source = &pair.sources[i];
        *source = (struct trace_source){.format = i ? &other_kind : &kind, .name = i ? "b" : "a"};
        source->facts = (struct trace_facts){.has_node = true,
                                             .node = (uint32_t)i,
                                             .has_zero = true,
                                             .zero_ns = 1000000,
                                             .run_zero_ns = 1000000,
                                             .has_monotonic = true,
                                             .monotonic_shift_ns = i ? 700 : 1000,
                                             .monotonic_error_ns = i ? 7 : 10,
                                             .error_ns = i ? 200 : 100,
                                             .first_ns = 1000000,
                                             .last_ns = 2000000,
                                             .identity.has_boot = true};
        memset(source->facts.identity.boot_id, 5, sizeof source->facts.identity.boot_id);
    }
    return pair;
}

static const struct alignment *placed(struct pair *pair)
{
    pair->good = align_sources(pair->sources, 2, &pair->options, pair->made, &pair->usage);
    assert_false(pair->usage);
    return &pair->made[1];
}

static void one_machine_s_clock_places_it(void **state)
{
    (void)state;
    struct pair pair = two_files();
    const struct alignment *made = placed(&pair);
    assert_true(pair.good && made->placed && made->bounded);
    assert_string_equal(made->method, "MONOTONIC pairs");
    assert_int_equal(made->axis.shift_ns, 700 - 1000);
    assert_int_equal(made->error_ns, 200 + 100 + 10 + 7);
}

/* Of each file: without its comparison, without its boot, or with another boot there is no such
 * clock. */
static void without_one_machine_s_clock_the_zero_decides(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int lacks = 0; lacks < 3; lacks++) {
            struct pair pair = two_files();
            struct trace_facts *facts = &pair.sources[i].facts;
            if (lacks == 0)
                facts->has_monotonic = false;
            else if (lacks == 1)
                facts->identity.has_boot = false;
            else
                facts->identity.boot_id[15] ^= 1;
            /* A name of the host alone does not say that it was not started anew between. */
            pair.sources[0].facts.host = pair.sources[1].facts.host = (struct trace_text){"h", 1};
            const struct alignment *made = placed(&pair);
            assert_true(pair.good && made->placed);
            assert_string_equal(made->method, "equal zero time");
            assert_int_equal(made->axis.shift_ns, 0);
            assert_int_equal(made->bounded, lacks != 2); /* the same host's clock, or not known */
        }
}

static void other_runs_are_refused(void **state)
{
    (void)state;
    struct pair pair = two_files();
    pair.sources[1].facts.has_monotonic = false;
    pair.sources[1].facts.run_zero_ns++;
    const struct alignment *made = placed(&pair);
    assert_false(pair.good || made->placed);
    pair.options.force = true;
    made = placed(&pair);
    assert_true(pair.good && made->placed && !made->bounded);
    assert_string_equal(made->method, "force");
}

/* Wall clocks may be wrong: they place a file only beside one that ran at the same time. */
static void wall_clocks_want_time_in_common(void **state)
{
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        struct pair pair = two_files();
        for (int i = 0; i < 2; i++) {
            struct trace_facts *facts = &pair.sources[i].facts;
            facts->has_monotonic = false;
            facts->run_zero_ns = 0;
            facts->has_realtime = true;
            facts->realtime_shift_ns = i ? 50 : 20;
            facts->realtime_error_ns = i ? 3 : 2;
        }
        pair.sources[1].facts.first_ns += apart ? 1000000 - 29 : 1000000 - 30;
        pair.sources[1].facts.last_ns += 1000000;
        const struct alignment *made = placed(&pair);
        assert_int_equal(made->placed, !apart);
        if (!made->placed)
            continue;
        assert_string_equal(made->method, "REALTIME pairs");
        assert_int_equal(made->axis.shift_ns, 50 - 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_machine_s_clock_places_it),
        cmocka_unit_test(without_one_machine_s_clock_the_zero_decides),
        cmocka_unit_test(other_runs_are_refused),
        cmocka_unit_test(wall_clocks_want_time_in_common),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
