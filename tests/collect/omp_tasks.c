/* SPDX-License-Identifier: Apache-2.0 */
/*
 * omp_tasks - a program with OpenMP that knows nothing of RBWP, and counts what it begins in FILE:
 * parts of regions (one a thread), parts of regions inside of regions, tasks, tasks made by those,
 * sections under a lock that have 2 ms and more to wait for.
 *
 *     omp_tasks FILE ROUNDS [kill|idle|untied]      kill: itself, in the middle of the last round;
 *                                                   idle: 250 ms without a region at the end;
 *                                                   untied: tasks that make tasks may be anybody's
 */
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 3, PARENTS = 20, LEAVES = 4 };
static struct {
    _Atomic long parts, nested, parents, leaves;
} * counts;
static long last;
static bool kills, idles, untied;

static void work(long turns)
{
    volatile double sum = 0;
    for (long i = 0; i < turns; i++)
        sum += 1;
}

static void parent(void)
{
    counts->parents++;
    for (int i = 0; i < LEAVES; i++) {
#pragma omp task
        {
            if (++counts->leaves > LEAVES * PARENTS * (2 * last - 1) / 2 && kills)
                kill(getpid(), SIGKILL);
            work(300);
        }
    }
#pragma omp taskwait
}

static void tasks(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        counts->parts++;
#pragma omp single
        for (int i = 0; i < PARENTS; i++) {
            if (untied) {
#pragma omp task untied
                parent();
            } else {
#pragma omp task
                parent();
            }
        }
#pragma omp critical
        usleep(2000); /* so long that who is woken at the barrier finds it taken */
    }
}

static void nested(void)
{
#pragma omp parallel num_threads(2)
    {
        counts->parts++;
#pragma omp parallel num_threads(2)
        counts->nested++;
    }
}

int main(int argc, char **argv)
{
    const int fd = argc < 3 ? -1 : open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *counts) != 0)
        return 1;
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED)
        return 1;
    last = atol(argv[2]);
    const char *how = argc > 3 ? argv[3] : "";
    kills = strcmp(how, "kill") == 0;
    idles = strcmp(how, "idle") == 0;
    untied = strcmp(how, "untied") == 0;
    omp_set_max_active_levels(2);
    for (long round = 0; round < last; round++) {
        nested();
        tasks();
    }
    if (idles)
        usleep(250000);
    return 0;
}
