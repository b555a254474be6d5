/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: the values of its options. What a filter takes is tested on whole files (cli). */
#include "filter.h"
#include "unit.h"

#include <string.h>

static bool store(struct filter_options *options, const char *name, const char *text)
{
    const struct option *option = filter_option_table;
    while (strcmp(option->name, name) != 0)
        option++;
    struct option_error error;
    return option->store((char *)options + option->offset, text, &error);
}

/* Times are exact to the nanosecond, in every unit, to the ends of the range. */
static void exact_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
        bool relative;
    } times[] = {{"0", 0, false},
                 {"+1500ns", 1500, true},
                 {"+1.5ms", 1500000, true},
                 {"+.000000001s", 1, true},
                 {"-0.500000001s", -500000001, true},
                 {"+2.s", 2000000000, true},
                 {"+0.001us", 1, true},
                 {"1795197261s", 1795197261000000000, false},
                 {"1795197261283835351", 1795197261283835351, false},
                 {"9223372036854775807", INT64_MAX, false},
                 {"9223372036.854775807s", INT64_MAX, false}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct filter_options options = {0};
        assert_true(store(&options, "from", times[i].text));
        assert_true(options.from.set);
        assert_int_equal(options.from.ns, times[i].ns);
        assert_int_equal(options.from.relative, times[i].relative);
    }
}

/* Nothing is rounded, cut, or taken for something else, as a time since the start for one in 1970.
 */
static void wrong_times(void **state)
{
    (void)state;
    static const char *const times[] = {"",
                                        "+",
                                        ".",
                                        "-",
                                        "-+1",
                                        "1 ms",
                                        "2s",
                                        "1500ns",
                                        "1e9",
                                        "0x10",
                                        "1.2.3s",
                                        "1m",
                                        "++1",
                                        "0.5",
                                        "0.0001us",
                                        "1.0000ns",
                                        "1MS",
                                        "1ms ",
                                        "9223372036854775808",
                                        "9223372036.854775808s",
                                        "18446744073709551616"};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct filter_options options = {0};
        assert_false(store(&options, "to", times[i]));
    }
    struct filter_options options = {0};
    assert_false(store(&options, "min-duration", "+1ms"));
}

/* What is not wholly a number is a name. */
static void numbers_and_names(void **state)
{
    (void)state;
    struct filter_options options = {0};
    assert_true(store(&options, "thread", "18446744073709551615"));
    assert_true(store(&options, "thread", "0xFfffffffffffffff"));
    assert_true(store(&options, "thread", "18446744073709551616"));
    assert_true(store(&options, "thread", "12*"));
    assert_true(store(&options, "thread", "0x"));
    assert_int_equal(options.threads.count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(options.threads.list[i].is_number, i < 2);
    assert_true(options.threads.list[0].number == UINT64_MAX);
    assert_true(options.threads.list[1].number == UINT64_MAX);
    assert_true(filter_needs_names(&options));
}

/* The list of patterns has an end. */
static void too_many_patterns(void **state)
{
    (void)state;
    struct filter_options options = {0};
    for (int i = 0; i < FILTER_PATTERNS_MAX; i++)
        assert_true(store(&options, "slot", "1"));
    assert_false(store(&options, "slot", "1"));
    assert_int_equal(options.slots.count, FILTER_PATTERNS_MAX);
    assert_false(filter_needs_names(&options));
    assert_true(filter_is_set(&options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact_times), cmocka_unit_test(wrong_times),
                                       cmocka_unit_test(numbers_and_names),
                                       cmocka_unit_test(too_many_patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
