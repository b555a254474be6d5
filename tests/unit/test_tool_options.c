/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: parsing, help and suggestions from one table. */
#include "options.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

struct part {
    bool all;
    const char *name;
};
struct config {
    long padding;
    struct part first, second;
};

static const struct option table_a[] = {
    {"all", 'a', NULL, NULL, "take all", offsetof(struct part, all), NULL},
    {"name", 'n', "NAME", NULL, "the name", offsetof(struct part, name), NULL},
    {0},
};
static const struct option table_b[] = {
    {"brief", 'b', NULL, NULL, "be brief", offsetof(struct part, all), NULL},
    {"long-name-of-an-option", 0, "WORD", NULL, "far", offsetof(struct part, name), NULL},
    {0},
};
static const struct option_group groups[] = {{"One", table_a, offsetof(struct config, first)},
                                             {"Two", table_b, offsetof(struct config, second)},
                                             {0}};

struct parsed {
    enum option_result result;
    struct config config;
    char *words[8];
    int count;
    struct option_error error;
};

/* Parses a line of words with one blank between. */
static struct parsed parse(const char *line)
{
    static char text[256];
    struct parsed parsed = {.count = 0};
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        parsed.words[parsed.count++] = word;
    parsed.result =
        options_parse(groups, &parsed.config, parsed.words, &parsed.count, &parsed.error);
    return parsed;
}

/* All spellings of an option mean the same, in both groups, each in its part of the config. */
static void spellings(void **state)
{
    (void)state;
    static const char *const lines[] = {"--all --name x -b file", "-a --name=x --brief file",
                                        "file -abn x", "-nx file -ba", "-a file -n x -b"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct parsed parsed = parse(lines[i]);
        assert_int_equal(parsed.result, OPTIONS_DONE);
        assert_true(parsed.config.first.all && parsed.config.second.all);
        assert_string_equal(parsed.config.first.name, "x");
        assert_null(parsed.config.second.name);
        assert_int_equal(parsed.count, 1);
        assert_string_equal(parsed.words[0], "file");
    }
}

/* A value may look like an option; "-" and what follows "--" are operands, in order. */
static void operands_and_values(void **state)
{
    (void)state;
    struct parsed parsed = parse("one - --name -a -- --all -b --");
    assert_int_equal(parsed.result, OPTIONS_DONE);
    assert_string_equal(parsed.config.first.name, "-a");
    assert_false(parsed.config.first.all || parsed.config.second.all);
    assert_int_equal(parsed.count, 5);
    static const char *const want[] = {"one", "-", "--all", "-b", "--"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(parsed.words[i], want[i]);
}

/* What is wrong is said with the option's name. */
static void mistakes(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        {"--al", "unknown option '--al', did you mean '--all'?"},
        {"--zzzzzzzz", "unknown option '--zzzzzzzz'"},
        {"--ayz", "unknown option '--ayz'"}, /* one letter less like --all than a mistake is */
        {"--all=1", "option '--all' takes no value"},
        {"--name", "option '--name' needs a value: NAME"},
        {"-n", "option '-n' needs a value: NAME"},
        {"-ax", "unknown option '-x'"},
        {"--name=", "--name '' is empty"},
        {"--hlep", "unknown option '--hlep', did you mean '--help'?"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct parsed parsed = parse(lines[i][0]);
        assert_int_equal(parsed.result, OPTIONS_WRONG);
        assert_string_equal(parsed.error.text, lines[i][1]);
    }
}

static void help_and_version(void **state)
{
    (void)state;
    assert_int_equal(parse("file --help --nonsense").result, OPTIONS_HELP);
    assert_int_equal(parse("-h").result, OPTIONS_HELP);
    assert_int_equal(parse("--version").result, OPTIONS_VERSION);
    assert_int_equal(parse("-- --help").result, OPTIONS_DONE);
}

static void collect(void *context, const char *text)
{
    strcat(context, text);
    strcat(context, "\n");
}

/* Help has every option once, under its group, with the texts in one column. */
static void help_from_the_table(void **state)
{
    (void)state;
    char help[4096] = "";
    options_help(groups, collect, help);
    assert_string_equal(help, "\nOne:\n"
                              "  -a, --all               take all\n"
                              "  -n, --name NAME         the name\n"
                              "\nTwo:\n"
                              "  -b, --brief             be brief\n"
                              "      --long-name-of-an-option WORD\n"
                              "                          far\n"
                              "\nOther:\n"
                              "  -h, --help              show this help and exit\n"
                              "      --version           show the version and exit\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings), cmocka_unit_test(operands_and_values),
        cmocka_unit_test(mistakes), cmocka_unit_test(help_and_version),
        cmocka_unit_test(help_from_the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
