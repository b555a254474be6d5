/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp_job.h and the trailer's sections JOBM and NCLK: a file says which job it is of, as the
 * launcher or the program says it, and how far other nodes' clocks were; also when the process
 * died. */
#include "rbwp_job.h"
#include "job.h"
#include "record_support.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int as_launched(void **state)
{
    (void)state;
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("SLURM_STEP_ID", "2", 1);
    unsetenv("SLURMD_NODENAME");
    return rbwp_job_set(NULL, NULL);
}

static int alone(void **state)
{
    (void)state;
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    return rbwp_job_set(NULL, NULL);
}

/* The first of a kind, NULL if there is none. */
static const struct rbwp_job_fact *fact(const struct rbwp_trailer *trailer, unsigned what)
{
    for (uint32_t i = 0; i < trailer->job_fact_count; i++)
        if (trailer->job_facts[i].what == what)
            return &trailer->job_facts[i];
    return NULL;
}

static void assert_text(const struct rbwp_trailer *trailer, unsigned what, const char *text)
{
    const struct rbwp_job_fact *found = fact(trailer, what);
    assert_non_null(found);
    assert_int_equal(found->text_bytes, strlen(text));
    assert_memory_equal(found->text, text, found->text_bytes);
}

static void assert_number(const struct rbwp_trailer *trailer, unsigned what, int64_t number)
{
    assert_non_null(fact(trailer, what));
    assert_true(fact(trailer, what)->number == number);
}

/* The process was started before now, and not long before: tests are short. */
static void assert_started(const struct rbwp_trailer *trailer)
{
    int64_t now_ns = (int64_t)time(NULL) * 1000000000;
    assert_non_null(fact(trailer, RBWP_JOB_STARTED));
    int64_t started_ns = fact(trailer, RBWP_JOB_STARTED)->number;
    assert_true(started_ns < now_ns + 2000000000);
    assert_true(started_ns > now_ns - INT64_C(86400000000000));
}

static void assert_as_launched(const struct recorded *recorded)
{
    const struct rbwp_trailer *trailer = recorded->trailer;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    assert_int_equal(recorded->header.node, 3);
    assert_text(trailer, RBWP_JOB_ID, "4711");
    assert_text(trailer, RBWP_JOB_STEP, "2");
    assert_text(trailer, RBWP_JOB_NODE_NAME, host);
    assert_text(trailer, RBWP_JOB_LAUNCHER, "Open MPI");
    assert_number(trailer, RBWP_JOB_RANK, 3);
    assert_number(trailer, RBWP_JOB_RANKS, 8);
    assert_non_null(fact(trailer, RBWP_JOB_HARDWARE));
    assert_true(fact(trailer, RBWP_JOB_HARDWARE)->text_bytes > 8); /* "x, 1 CPU, 1.0 GiB" */
    assert_started(trailer);
}

static void test_the_launchers_word(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    config.logfile = test_path("launched_%n.bin");
    struct rbwp_session_summary summary = stop(start(&config));
    struct recorded recorded = read_back(summary.path);
    assert_as_launched(&recorded);
    assert_int_equal(recorded.trailer->node_clock_count, 0);
    recorded_free(&recorded);
}

/* What the program says goes before the launcher's word: rank, job, and what all nodes call 0. */
static void test_the_programs_word(void **state)
{
    (void)state;
    const struct rbwp_job job = {.size = sizeof job,
                                 .id = "a/b",
                                 .launcher = "MPI",
                                 .hardware = "toaster",
                                 .rank = 5,
                                 .ranks = 6,
                                 .zero_ns = 1234567890};
    assert_int_equal(rbwp_job_set(&job, NULL), RBWP_OK);
    struct rbwp_session_config config = test_config(1);
    config.logfile = test_path("%j_%r_%n.bin");
    struct rbwp_session_summary summary = stop(start(&config));
    assert_string_equal(summary.path, test_path("a_b_5_5.bin"));
    struct recorded recorded = read_back(summary.path);
    assert_int_equal(recorded.header.node, 5);
    assert_true(recorded.header.zero_time_ns == 1234567890);
    assert_true(recorded.trailer->start_ns > 1234567890);
    assert_int_equal(recorded.trailer->nodes, 6);
    assert_text(recorded.trailer, RBWP_JOB_ID, "a/b");
    assert_text(recorded.trailer, RBWP_JOB_STEP, "2");
    assert_text(recorded.trailer, RBWP_JOB_LAUNCHER, "MPI");
    assert_text(recorded.trailer, RBWP_JOB_HARDWARE, "toaster");
    assert_number(recorded.trailer, RBWP_JOB_RANK, 5);
    assert_number(recorded.trailer, RBWP_JOB_RANKS, 6);
    recorded_free(&recorded);
    struct rbwp_job_facts facts;
    rbwp_job_get(&facts);
    assert_int_equal(facts.rank, 5);
    assert_string_equal(facts.id, "a/b");
    assert_int_equal(rbwp_job_set(NULL, NULL), RBWP_OK);
    rbwp_job_get(&facts);
    assert_int_equal(facts.rank, 3);
    assert_string_equal(facts.id, "4711");
}

/* A job that cannot be changes nothing. */
static void test_refused(void **state)
{
    (void)state;
    char text[RBWP_JOB_TEXT_BYTES_MAX + 2];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct rbwp_error error;
    struct rbwp_job job = {.size = sizeof job, .rank = 4, .ranks = 4};
    assert_int_equal(rbwp_job_set(&job, &error), RBWP_E_USAGE);
    assert_non_null(strstr(error.text, "rank 4"));
    job.ranks = 0;
    assert_int_equal(rbwp_job_set(&job, NULL), RBWP_E_USAGE);
    job = (struct rbwp_job){.size = sizeof job, .hardware = text};
    assert_int_equal(rbwp_job_set(&job, &error), RBWP_E_LIMIT);
    job.hardware = text + 1;
    assert_int_equal(rbwp_job_set(&job, &error), RBWP_OK);
    job.size = 0;
    assert_int_equal(rbwp_job_set(&job, &error), RBWP_E_INVALID);
    struct rbwp_job_facts facts;
    rbwp_job_get(&facts);
    assert_string_equal(facts.hardware, text + 1);
    assert_int_equal(facts.rank, 3);
}

/* Comparisons of clocks are those of the session that runs, in order, each as it was given. */
static void test_clocks(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    assert_int_equal(rbwp_clock_offset_add(1, 2, 3), RBWP_E_STATE);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_clock_offset_add(-10, -2, 3), RBWP_OK);
    assert_int_equal(rbwp_clock_offset_add(-10, -2, 3), RBWP_E_INVALID);
    assert_int_equal(rbwp_clock_offset_add(INT64_MAX, 4, UINT64_C(1) << 63), RBWP_E_INVALID);
    assert_int_equal(rbwp_clock_offset_add(INT64_MAX, 4, INT64_MAX), RBWP_OK);
    (void)stop(session);
    assert_int_equal(rbwp_clock_offset_add(1, 2, 3), RBWP_E_STATE);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.trailer->node_clock_count, 2);
    const struct rbwp_node_clock *clocks = recorded.trailer->node_clocks;
    assert_true(clocks[0].time_ns == -10 && clocks[0].offset_ns == -2 && clocks[0].bound_ns == 3);
    assert_true(clocks[1].time_ns == INT64_MAX && clocks[1].offset_ns == 4);
    assert_int_equal(clocks[0].reference, 0);
    recorded_free(&recorded);
    (void)stop(start(&config)); /* the next session's file has none of them */
    recorded = read_back(config.logfile);
    assert_int_equal(recorded.trailer->node_clock_count, 0);
    recorded_free(&recorded);
    config.strict = true;
    session = start(&config);
    assert_int_equal(rbwp_clock_offset_add(1, 2, 3), RBWP_E_STATE);
    (void)stop(session);
}

/* Of too many, the first and the last are kept, and those between them are equally far apart. */
static void test_clocks_are_thinned(void **state)
{
    (void)state;
    enum { MANY = 5 * NODE_CLOCKS_MAX + 7 };
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(rbwp_clock_offset_add(i, i, 1), RBWP_OK);
    (void)stop(session);
    struct recorded recorded = read_back(config.logfile);
    uint32_t count = recorded.trailer->node_clock_count;
    const struct rbwp_node_clock *clocks = recorded.trailer->node_clocks;
    assert_true(count > NODE_CLOCKS_MAX / 2 && count <= NODE_CLOCKS_MAX);
    assert_int_equal(clocks[0].time_ns, 0);
    assert_int_equal(clocks[count - 1].time_ns, MANY - 1);
    for (uint32_t i = 1; i + 1 < count; i++)
        assert_int_equal(clocks[i].time_ns - clocks[i - 1].time_ns, 8);
    recorded_free(&recorded);
}

/* The live file has what the process did not get to write. */
static void test_a_process_that_died_tells_its_job(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    config.logfile = test_path("died_%n.bin");
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rbwp_session *session;
        if (rbwp_thread_attach("main") != RBWP_OK ||
            rbwp_session_start(&config, &session, NULL) != RBWP_OK)
            _exit(1);
        rbwp_begin(1);
        rbwp_end();
        for (int i = 1; i <= 2000; i++)
            (void)rbwp_clock_offset_add(i, -i, 7);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct recorded recorded = read_recovered(test_path("died_3.bin"));
    assert_as_launched(&recorded);
    const struct rbwp_trailer *trailer = recorded.trailer;
    assert_true(trailer->node_clock_count > 100);
    assert_int_equal(trailer->node_clocks[0].time_ns, 1);
    const struct rbwp_node_clock *last = &trailer->node_clocks[trailer->node_clock_count - 1];
    assert_true(last->time_ns == 2000 && last->offset_ns == -2000 && last->bound_ns == 7);
    recorded_free(&recorded);
}

/* The processor is known also to a program without standard input, whose first file is number 0. */
static void test_hardware_without_standard_input(void **state)
{
    (void)state;
    struct rbwp_job_facts with, without;
    int standard_input = dup(STDIN_FILENO);
    job_look(&with);
    (void)close(STDIN_FILENO);
    job_look(&without);
    if (standard_input >= 0)
        assert_int_equal(dup2(standard_input, STDIN_FILENO), STDIN_FILENO);
    (void)close(standard_input);
    assert_string_equal(without.hardware, with.hardware);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_launchers_word, as_launched),
        cmocka_unit_test_setup(test_the_programs_word, as_launched),
        cmocka_unit_test_setup(test_refused, as_launched),
        cmocka_unit_test_setup(test_clocks, alone),
        cmocka_unit_test_setup(test_clocks_are_thinned, alone),
        cmocka_unit_test_setup(test_a_process_that_died_tells_its_job, as_launched),
        cmocka_unit_test_setup(test_hardware_without_standard_input, alone),
    };
    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
