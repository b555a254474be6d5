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
