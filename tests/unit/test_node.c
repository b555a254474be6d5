/* SPDX-License-Identifier: Apache-2.0 */
/* Which node this is, by every launcher's variables, and the keys in file names. */
#include "node.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are asked. */
static const char *const launchers[][2] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMIX_RANK", "PMIX_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"PALS_RANKID", "PALS_SIZE"},
    {"ALPS_APP_PE", "ALPS_APP_SIZE"},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"RANK", "WORLD_SIZE"},
};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };
enum { JOB_IDS = 6 }; /* the first of these, in the order in which they are asked */
static const char *const others[] = {"SLURM_JOB_ID",  "PBS_JOBID",      "LSB_JOBID",
                                     "FLUX_JOB_ID",   "PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID",
                                     "RBWP_TEST_NAME"};

static int clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < LAUNCHERS; i++) {
        unsetenv(launchers[i][0]);
        unsetenv(launchers[i][1]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        unsetenv(others[i]);
    return 0;
}

static void assert_node(uint32_t node, uint32_t nodes)
{
    uint32_t node_found = 99, nodes_found = 99;
    node_from_launcher(&node_found, &nodes_found);
    assert_int_equal(node_found, node);
    assert_int_equal(nodes_found, nodes);
}

/* Each launcher alone; and with all later ones set too, the earlier one counts. */
static void test_launchers(void **state)
{
    (void)state;
    assert_node(0, 1);
    for (uint32_t i = LAUNCHERS; i-- > 0;) {
        char rank[12], size[12];
        snprintf(rank, sizeof rank, "%u", 10 + i);
        snprintf(size, sizeof size, "%u", 100 + i);
        setenv(launchers[i][0], rank, 1);
        setenv(launchers[i][1], size, 1);
        assert_node(10 + i, 100 + i);
    }
    for (size_t i = 0; i < LAUNCHERS; i++) {
        clean(NULL);
        setenv(launchers[i][0], "7", 1);
        assert_node(7, 8); /* no size, but there must be so many */
        setenv(launchers[i][1], "3", 1);
        assert_node(7, 8);
    }
}

/* A variable that holds no number is as good as none. */
static void test_nonsense(void **state)
{
    (void)state;
    static const char *const nonsense[] = {"",   "x",   "-1",         "3x",
                                           " 3", "0x3", "4294967296", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        clean(NULL);
        setenv("PMI_RANK", nonsense[i], 1);
        assert_node(0, 1);
        setenv("RANK", "2", 1);
        assert_node(2, 3);
        setenv("WORLD_SIZE", nonsense[i], 1);
        assert_node(2, 3);
    }
    clean(NULL);
    setenv("RANK", "4294967294", 1);
    assert_node(4294967294u, 4294967295u);
    setenv("WORLD_SIZE", "4294967295", 1); /* the largest there is */
    assert_node(4294967294u, 4294967295u);
    setenv("RANK", "3", 1);
    assert_node(3, 4294967295u);
}

static void assert_name(const char *pattern, const char *expected, bool expected_own)
{
    char name[64];
    bool is_own;
    struct rbwp_error error = {.text = ""};
    const struct node_keys keys = {.node = 42, .rank = 7, .part = 3, .job = node_job_id()};
    enum rbwp_status status = node_file_name(pattern, &keys, name, sizeof name, &is_own, &error);
    if (!expected) {
        assert_int_equal(status, RBWP_E_USAGE);
        assert_int_equal(error.status, RBWP_E_USAGE);
        assert_non_null(strstr(error.text, pattern));
        return;
    }
    assert_int_equal(status, RBWP_OK);
    assert_string_equal(name, expected);
    assert_int_equal(is_own, expected_own);
}

static void test_keys(void **state)
{
    (void)state;
    char expected[300], host[256] = "";
    assert_name("plain.bin", "plain.bin", false);
    assert_name("a_%.bin", "a_42.bin", true);
    assert_name("%", "42", true);
    assert_name("%n", "42", true);
    assert_name("%n_%n", "42_42", true);
    assert_name("100%%", "100%", false);
    assert_name("%%n", "%n", false);
    assert_name("%r.bin", "7.bin", true); /* the launcher's rank, whatever node the file is of */
    assert_name("%t.bin", "3.bin", false);
    assert_name("%_", "42_", true);
    assert_name("%node", "42node", true); /* several letters are no key */
    snprintf(expected, sizeof expected, "%ld.bin", (long)getpid());
    assert_name("%p.bin", expected, true); /* of a host's processes one has it */
    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "%.50s-42", host);
    if (strlen(host) <= 50)
        assert_name("%h-%n", expected, true);
    snprintf(expected, sizeof expected, "%.50s.bin", host);
    if (strlen(host) <= 50)
        assert_name("%h.bin", expected, false); /* a host may run several */
    assert_name("%j", "0", false);
    for (size_t i = JOB_IDS; i-- > 0;) {
        setenv(others[i], others[i], 1);
        assert_name("%j", others[i], false);
    }
    setenv(others[0], "a/b", 1); /* no folder */
    assert_name("%j", "a_b", false);
    setenv("RBWP_TEST_NAME", "value", 1);
    assert_name("x%{RBWP_TEST_NAME}y", "xvaluey", false);
    setenv("RBWP_TEST_NAME", "", 1);
    assert_name("x%{RBWP_TEST_NAME}y", "xy", false);
    unsetenv("RBWP_TEST_NAME");
    assert_name("%{RBWP_TEST_NAME}", NULL, false);
    assert_name("%{RBWP_TEST_NAME", NULL, false);
    assert_name("%{}", NULL, false);
    assert_name("%z", NULL, false);
    assert_name("%N.bin", NULL, false);
}

/* A name that fills the room is good, one byte more is an error, whatever makes it long. */
static void test_too_long(void **state)
{
    (void)state;
    char pattern[70];
    memset(pattern, 'x', sizeof pattern);
    pattern[63] = 0;
    assert_name(pattern, pattern, false);
    pattern[63] = 'x', pattern[64] = 0;
    assert_name(pattern, NULL, false);
    memcpy(pattern + 62, "%", 2);
    assert_name(pattern, NULL, false);
    char value[200] = {0};
    memset(value, 'y', sizeof value - 1);
    setenv("RBWP_TEST_NAME", value, 1);
    assert_name("%{RBWP_TEST_NAME}", NULL, false);
    char variable[200] = "%{";
    memset(variable + 2, 'V', 150);
    strcpy(variable + 152, "}");
    assert_name(variable, NULL, false);
}

static void assert_beside(const char *pattern, const char *expected)
{
    char made[64];
    node_file_with(pattern, "-2", made, sizeof made);
    assert_string_equal(made, expected);
}

/* Names for files beside that one, and whether a forked child has another one already. */
static void test_beside(void **state)
{
    (void)state;
    assert_beside("a.b/run_%.bin", "a.b/run_%-2.bin");
    assert_beside("a.b/run", "a.b/run-2");
    assert_beside(NULL, "bgwork_%-2.bin");
    assert_true(node_file_has_process("run_%p.bin"));
    assert_true(node_file_has_process("%%%p"));
    assert_false(node_file_has_process("100%%p.bin"));
    assert_false(node_file_has_process("run_%part_%"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_launchers, clean, clean),
        cmocka_unit_test_setup_teardown(test_nonsense, clean, clean),
        cmocka_unit_test_setup_teardown(test_keys, clean, clean),
        cmocka_unit_test_setup_teardown(test_too_long, clean, clean),
        cmocka_unit_test(test_beside),
    };
    return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
