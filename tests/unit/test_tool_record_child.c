/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent to rbwp record goes on to its program, and to nobody who has that number after it.
 */
#include "record_child.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>

static pid_t reaped; /* its number may be anybody's */
static unsigned handed_on;

pid_t __wrap_waitpid(pid_t pid, int *status, int options);
pid_t __real_waitpid(pid_t pid, int *status, int options);
int __wrap_kill(pid_t pid, int number);

/* A signal comes just then. */
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    reaped = __real_waitpid(pid, status, options);
    (void)raise(SIGTERM);
    return reaped;
}

int __wrap_kill(pid_t pid, int number)
{
    (void)number;
    handed_on += pid == reaped;
    return 0;
}

static void signal_after_the_end(void **state)
{
    (void)state;
    static char word[] = "true", *words[] = {word, NULL};
    const struct record_environment environment = {0};
    assert_int_equal(record_run(words, &environment), 0);
    assert_true(reaped > 0);
    assert_int_equal(handed_on, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(signal_after_the_end)};
    return cmocka_run_group_tests_name("record_child", tests, NULL, NULL);
}
