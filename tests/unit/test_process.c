/* SPDX-License-Identifier: Apache-2.0 */
/* job.h and the trailer's PROC section: a file says which process it is of, also when the
 * process died, and no two processes look the same. */
#include "job.h"
#include "record_support.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void assert_is_of_this_machine(const struct rbwp_process_info *info)
{
    char text[64] = "", made[40] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    for (int i = 0; i < 16; i++)
        sprintf(made + strlen(made), i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                info->boot_id[i]);
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(made, text);
}

/* The start lies before now, and not before the machine's. */
static void assert_started(const struct rbwp_process_info *info)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    assert_true(info->start_ns > 0);
    assert_true(info->start_ns <= (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

static void assert_title(const struct rbwp_process_info *info, const char *title)
{
    assert_int_equal(info->title_bytes, strlen(title));
    assert_memory_equal(info->title, title, info->title_bytes);
}

/* Also when the process's name has what parts the fields of /proc/self/stat. */
static void test_looks_at_itself(void **state)
{
    (void)state;
    struct process_facts before, after;
    process_look(&before);
    char name[16];
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_int_equal(prctl(PR_SET_NAME, ") 1 (2 3)"), 0);
    process_look(&after);
    assert_int_equal(prctl(PR_SET_NAME, name), 0);
    assert_true(before.info.start_ns == after.info.start_ns);
    assert_started(&before.info);
    assert_is_of_this_machine(&before.info);
    assert_title(&before.info, "test_process");
}

static void test_the_file_tells_its_process(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct process_facts facts;
    process_look(&facts);
    (void)stop(start(&config));
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.trailer->process_count, 1);
    const struct rbwp_process_info *info = &recorded.trailer->processes[0];
    assert_true(info->start_ns == facts.info.start_ns);
    assert_memory_equal(info->boot_id, facts.info.boot_id, sizeof info->boot_id);
    assert_title(info, "test_process");
    recorded_free(&recorded);
}

/* Its live file has what the process did not get to write: process and host. */
static void test_a_process_that_died_is_known(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
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
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct recorded recorded = read_recovered(config.logfile);
    const struct rbwp_trailer *trailer = recorded.trailer;
    assert_int_equal(trailer->process_id, child);
    assert_int_equal(trailer->host_bytes, strlen(host));
    assert_memory_equal(trailer->host, host, trailer->host_bytes);
    assert_int_equal(trailer->process_count, 1);
    assert_started(&trailer->processes[0]);
    assert_is_of_this_machine(&trailer->processes[0]);
    assert_title(&trailer->processes[0], "test_process");
    recorded_free(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks_at_itself),
        cmocka_unit_test(test_the_file_tells_its_process),
        cmocka_unit_test(test_a_process_that_died_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
