/* SPDX-License-Identifier: Apache-2.0 */
/* The profiler's flags: each with good and wrong values, and the defaults. */
#include "session_config.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct case_of {
    const char *flag;
    const char *good, *wrong[6];
    size_t offset, size;
    uint64_t value; /* of the field after `good` */
};
#define FIELD(name)                                                                                \
    offsetof(struct rbwp_session_config, name), sizeof(((struct rbwp_session_config *)0)->name)

static const struct case_of cases[] = {
    {"bgworkprofile", "2", {"3", "-1", "x", "", "1.5", "99999999999999999999"}, FIELD(level), 2},
    {"bgworkprofile_bufsize", "7", {"-1", "7M", "", "99999999999"}, FIELD(cap_bytes), 7 << 20},
    {"bgworkprofile_bufsize", "0", {"-1"}, FIELD(cap_bytes), RBWP_CAP_NONE},
    {"bgworkprofile_compress", "9", {"10", "-1", "fast"}, FIELD(compression), 9},
    {"bgworkprofile_live", "0", {"3", "yes", "-1"}, FIELD(no_live), 1},
    {"bgworkprofile_live", "2", {"3"}, FIELD(live_in_memory), 1},
    {"bgworkprofile_cpu", "0", {"2", "yes", "-1"}, FIELD(no_cpu), 1},
    {"bgworkprofile_cpu", "1", {""}, FIELD(no_cpu), 0},
    {"bgworkprofile_block", "16384", {"16385", "0", "-4", "64k"}, FIELD(block_bytes), 16 << 20},
    {"bgworkprofile_drop", "1", {"2", "yes", "-1"}, FIELD(at_cap), RBWP_AT_CAP_DROP},
    {"bgworkprofile_strict", "1", {"2", "true"}, FIELD(strict), 1},
    {"bgworkprofile_follow", "1", {"2", "yes", "-1"}, FIELD(follow), 1},
    {"bgworkprofile_ctl", "0", {"2", "yes", "-1"}, FIELD(control), RBWP_CONTROL_NONE},
    {"bgworkprofile_ctl", "1", {""}, FIELD(control), RBWP_CONTROL_ALWAYS},
    {"bgworkprofile_stall", "250", {"-1", "3600001", "1s"}, FIELD(stall_ns), 250000000},
    {"bgworkprofile_node", "4294967295", {"4294967296", "-1", "n"}, FIELD(node), 4294967295},
};

static uint64_t field(const struct rbwp_session_config *config, const struct case_of *with)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)config + with->offset, with->size); /* little-endian or whole */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value >>= 64 - 8 * with->size;
#endif
    return value;
}

/* Not as memory: a compiler leaves what it likes between the fields. */
static void assert_same(const struct rbwp_session_config *a, const struct rbwp_session_config *b)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(field(a, &cases[i]), field(b, &cases[i]));
    assert_int_equal(a->size, b->size);
    assert_ptr_equal(a->logfile, b->logfile);
    assert_int_equal(a->stored, b->stored);
    assert_int_equal(a->sync_ns, b->sync_ns);
    assert_int_equal(a->nodes, b->nodes);
}

static enum rbwp_status parse(struct rbwp_session_config *config, const char *flag,
                              const char *value, struct rbwp_error *error, int *argc_out)
{
    char *argv[] = {(char *)"program", (char *)(uintptr_t)flag, (char *)(uintptr_t)value,
                    (char *)"other", NULL};
    *argc_out = 4;
    enum rbwp_status status = rbwp_session_parse(config, argc_out, argv, error);
    if (status == RBWP_OK) {
        assert_string_equal(argv[1], "other");
        assert_null(argv[2]);
    }
    return status;
}

/* What a zero in each field stands for; one size, whoever compiled the caller (failure.h). */
static void test_defaults(void **state)
{
    (void)state;
    struct rbwp_session_config config;
    struct session_settings settings;
    struct rbwp_error error;
    rbwp_session_defaults(&config);
    assert_int_equal(config.size, sizeof config);
    assert_int_equal(session_config_read(&config, &settings, &error), RBWP_OK);
    assert_int_equal(settings.level, 0);
    assert_string_equal(settings.logfile, "bgwork_%.bin");
    assert_int_equal(settings.cap_bytes, UINT64_C(1024) << 20);
    assert_int_equal(settings.compression, 1);
    assert_int_equal(settings.block_bytes, 65536);
    assert_int_equal(settings.at_cap, RBWP_AT_CAP_WAIT);
    assert_int_equal(settings.stall_ns, 1000000000);
    assert_true(settings.live);
    assert_false(settings.strict || settings.follow || settings.has_node);
    assert_int_equal(settings.nodes, 0);
}

/* What zero cannot say, since it is the default, is said otherwise, and flags say it for 0. */
static void test_said_by_zero(void **state)
{
    (void)state;
    struct rbwp_session_config config = {.size = sizeof config};
    struct session_settings settings;
    setenv("RBWP_FLAGS",
           "-bgworkprofile_bufsize 0 -bgworkprofile_compress 0 -bgworkprofile_stall 0 "
           "-bgworkprofile_live 0 -bgworkprofile_node 0",
           1);
    assert_int_equal(rbwp_session_parse(&config, NULL, NULL, NULL), RBWP_OK);
    unsetenv("RBWP_FLAGS");
    assert_int_equal(session_config_read(&config, &settings, NULL), RBWP_OK);
    assert_int_equal(settings.cap_bytes, 0); /* as the file says: unlimited */
    assert_int_equal(settings.compression, 0);
    assert_int_equal(settings.stall_ns, 1);
    assert_false(settings.live);
    assert_true(settings.has_node);
    assert_int_equal(settings.node, 0);
}

/* A good value sets its field and no other, with both prefixes and from the environment. */
static void test_good_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int way = 0; way < 3; way++) {
            struct rbwp_session_config config, defaults;
            struct rbwp_error error;
            char flag[60];
            int argc;
            rbwp_session_defaults(&config);
            rbwp_session_defaults(&defaults);
            snprintf(flag, sizeof flag, "%s%s", way == 1 ? "-ll:" : "-", cases[i].flag);
            if (way == 2) {
                char line[100];
                snprintf(line, sizeof line, " %s\t%s ", flag, cases[i].good);
                setenv("RBWP_FLAGS", line, 1);
                assert_int_equal(rbwp_session_parse(&config, NULL, NULL, &error), RBWP_OK);
                unsetenv("RBWP_FLAGS");
            } else {
                assert_int_equal(parse(&config, flag, cases[i].good, &error, &argc), RBWP_OK);
                assert_int_equal(argc, 2);
            }
            assert_int_equal(field(&config, &cases[i]), cases[i].value);
            memcpy((char *)&config + cases[i].offset, (char *)&defaults + cases[i].offset,
                   cases[i].size);
            assert_same(&config, &defaults);
        }
    }
}

/* A wrong value changes nothing; the message is one line and names the flag. */
static void test_wrong_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t j = 0; j < 6 && cases[i].wrong[j]; j++) {
            struct rbwp_session_config config, defaults;
            struct rbwp_error error = {.text = ""};
            char flag[60];
            int argc;
            rbwp_session_defaults(&config);
            rbwp_session_defaults(&defaults);
            snprintf(flag, sizeof flag, "-%s", cases[i].flag);
            assert_int_equal(parse(&config, flag, cases[i].wrong[j], &error, &argc), RBWP_E_USAGE);
            assert_int_equal(argc, 4);
            assert_same(&config, &defaults);
            assert_non_null(strstr(error.text, cases[i].flag));
            assert_null(strchr(error.text, '\n'));
        }
    }
}

static void test_logfile(void **state)
{
    (void)state;
    struct rbwp_session_config config;
    struct rbwp_error error;
    int argc;
    rbwp_session_defaults(&config);
    assert_int_equal(parse(&config, "-bgworkprofile_logfile", "a b%n", &error, &argc), RBWP_OK);
    assert_string_equal(config.logfile, "a b%n");
    assert_int_equal(parse(&config, "-bgworkprofile_logfile", "", &error, &argc), RBWP_E_USAGE);
    assert_string_equal(config.logfile, "a b%n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_said_by_zero),
        cmocka_unit_test(test_good_values), cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_logfile),
    };
    unsetenv("RBWP_FLAGS");
    return cmocka_run_group_tests_name("session_config", tests, NULL, NULL);
}
