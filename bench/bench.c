/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char file[64];

void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench: %s failed\n", what);
    exit(1);
}

double clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *values, size_t count, double q)
{
    qsort(values, count, sizeof *values, compare);
    size_t index = (size_t)(q * (double)count);
    return values[index < count ? index : count - 1];
}

double median(double *values, size_t count)
{
    return quantile(values, count, 0.5);
}

static void remove_scratch(void)
{
    unlink(file);
}

const char *scratch_file(void)
{
    if (!file[0]) {
        snprintf(file, sizeof file, "/tmp/rbwp_bench.XXXXXX");
        int fd = mkstemp(file);
        require(fd >= 0, "making a scratch file");
        close(fd);
        atexit(remove_scratch);
    }
    return file;
}

struct rbwp_session *start_with(struct rbwp_session_config config)
{
    struct rbwp_session *session;
    struct rbwp_error error = {0};
    config.logfile = scratch_file();
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "bench: %s\n", error.text);
        exit(1);
    }
    return session;
}

struct rbwp_session *start_session(int level)
{
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = level;
    return start_with(config);
}

struct rbwp_session_summary stop_session(struct rbwp_session *session)
{
    struct rbwp_session_summary summary;
    if (rbwp_session_stop(session, &summary) != RBWP_OK) {
        fprintf(stderr, "bench: %s\n", summary.error.text);
        exit(1);
    }
    return summary;
}
