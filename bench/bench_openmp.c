/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_openmp - a loop that makes tasks of one length, after EPCC's task benchmark.
 *
 *     bench_openmp TURNS TASKS      prints ns a task, of each thread's: the least of 20 rounds
 *
 * Every thread makes TASKS tasks, each of which adds TURNS numbers, and waits for them.
 * openmp_cost.py runs it plain and recorded in turns.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static void delay(long turns)
{
    volatile double sum = 0;
    for (long i = 0; i < turns; i++)
        sum += (double)i;
}

static void make_tasks(long tasks, long turns)
{
#pragma omp parallel
    {
        for (long i = 0; i < tasks; i++) {
#pragma omp task
            delay(turns);
        }
    }
}

int main(int argc, char **argv)
{
    enum { ROUNDS = 20 };
    if (argc < 3)
        return 1;
    const long turns = atol(argv[1]), tasks = atol(argv[2]);
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const double from = omp_get_wtime();
        make_tasks(tasks, turns);
        const double took = omp_get_wtime() - from;
        least = took < least ? took : least;
    }
    printf("%.2f\n", least * 1e9 / (double)tasks);
    return 0;
}
