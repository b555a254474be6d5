/* SPDX-License-Identifier: Apache-2.0 */
/* Progress is shown on a terminal, from a second on, at most ten times a second. */
#include "progress.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t passed_ms;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){1000 + passed_ms / 1000, passed_ms % 1000 * 1000000};
    return 0;
}

static int terminal, error_output;

/* Standard error is a terminal, of which we see the other end. */
static int open_terminal(void **state)
{
    (void)state;
    terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    const char *name = terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0
                           ? ptsname(terminal)
                           : NULL;
    int other = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    error_output = dup(STDERR_FILENO);
    return other < 0 || error_output < 0 || dup2(other, STDERR_FILENO) < 0 || close(other) != 0;
}

static int close_terminal(void **state)
{
    (void)state;
    return dup2(error_output, STDERR_FILENO) < 0 || close(error_output) != 0 ||
           close(terminal) != 0;
}

static void assert_shown(const char *expected)
{
    char shown[200];
    ssize_t count = read(terminal, shown, sizeof shown - 1);
    shown[count > 0 ? count : 0] = '\0';
    assert_string_equal(shown, expected);
}

static void percent_and_bytes(void **state)
{
    (void)state;
    const struct terminal_options options = {0};
    progress_allow(&options);
    passed_ms = 999;
    progress_at("a.bin", 1, 4);
    assert_shown("");
    passed_ms = 1000;
    progress_at("a.bin", 1, 4);
    assert_shown("\r\033[Ka.bin: 25 %");
    passed_ms = 1099;
    progress_at("a.bin", 2, 4);
    assert_shown("");
    passed_ms = 1100;
    progress_at("a.bin", UINT64_MAX / 2, UINT64_MAX);
    assert_shown("\r\033[Ka.bin: 50 %");
    passed_ms = 1200;
    progress_at("pipe", 7999999, 0);
    assert_shown("\r\033[Kpipe: 7 MB");
    progress_clear();
    progress_clear();
    assert_shown("\r\033[K");
}

static void not_wanted(void **state)
{
    (void)state;
    const struct terminal_options options = {.no_progress = true};
    progress_allow(&options);
    passed_ms += 5000;
    progress_at("a.bin", 1, 4);
    assert_shown("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percent_and_bytes),
        cmocka_unit_test(not_wanted),
    };
    return cmocka_run_group_tests(tests, open_terminal, close_terminal);
}
