/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_export RBWP [PAIRS [FILE]]: what each exporter costs.
 *
 * For each: records read per second of CPU time with one thread (reading and
 * inflating included), bytes written a span, the largest memory, and how much
 * sooner -j 2 is done than -j 1. FILE is exported instead of one that is made
 * here; PAIRS then is a quarter of its spans.
 */
#include "bench_command.h"
#include "bench_figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const exporters[] = {"perfetto", "chrome",  "folded", "csv",        "ndjson",
                                        "sqlite",   "parquet", "legion", "speedscope", "firefox"};

#define TWO_JOBS_TARGET 1.7
#define SQLITE_ROWS_TARGET 4 /* millions a second */

static char rbwp[4096], input[4096] = "/tmp/bench_export-XXXXXX", output[4200];

/* The command that exports with this many threads. */
static char **command(const char *exporter, char *threads)
{
    static char export[] = "export", to[] = "--to", name[32], into[] = "-fo", jobs[] = "-j";
    static char *words[] = {rbwp, export, to, name, into, output, jobs, NULL, input, NULL};
    snprintf(name, sizeof name, "%s", exporter);
    words[7] = threads;
    return words;
}

/* True when this rbwp has the exporter. */
static int has(const char *exporter)
{
    char line[2 * 4096 + 4200 + 80];
    snprintf(line, sizeof line, "'%s' export --to %s -fo '%s' '%s' >/dev/null 2>&1", rbwp, exporter,
             output, input);
    return system(line) == 0;
}

static void measure(const char *exporter, double pairs)
{
    static char one[] = "1", two[] = "2";
    struct stat status;
    if (!has(exporter)) {
        printf("  %-10s not in this build\n", exporter);
        return;
    }
    struct command_cost alone = command_measure_runs(command(exporter, one), COMMAND_RUNS, output);
    struct command_cost both = command_measure_runs(command(exporter, two), COMMAND_RUNS, output);
    double bytes = stat(output, &status) == 0 ? (double)status.st_size : 0;
    printf("  %-10s %7.1f M records/s %8.2f bytes a span %8ld KiB resident, -j 2 %4.2f x -j 1\n",
           exporter, pairs * COMMAND_RECORDS_A_PAIR / 1e6 / alone.cpu_s,
           bytes / (pairs * COMMAND_RECORDS_A_PAIR / 2), both.memory_kib,
           alone.wall_s / both.wall_s);
    char name[100];
    snprintf(name, sizeof name, "export to %s", exporter);
    figure(name, pairs * COMMAND_RECORDS_A_PAIR / 1e6 / alone.cpu_s, "M records a second of CPU");
    snprintf(name, sizeof name, "export to %s, -j 2", exporter);
    figure_at_least(name, alone.wall_s / both.wall_s, "x -j 1", TWO_JOBS_TARGET);
    if (strcmp(exporter, "sqlite") == 0)
        figure_at_least("rows of spans in SQLite",
                        pairs * COMMAND_RECORDS_A_PAIR / 2 / 1e6 / alone.cpu_s, "M a second of CPU",
                        SQLITE_ROWS_TARGET);
}

int main(int argc, char **argv)
{
    double pairs = argc > 2 ? strtod(argv[2], NULL) : 500000;
    if (argc < 2 || pairs < 1) {
        fprintf(stderr, "usage: bench_export RBWP [PAIRS [FILE]]\n");
        return 2;
    }
    snprintf(rbwp, sizeof rbwp, "%s", argv[1]);
    if (argc > 3) {
        snprintf(input, sizeof input, "%s", argv[3]);
        snprintf(output, sizeof output, "/tmp/bench_export-%d.out", (int)getpid());
    } else {
        int fd = mkstemp(input);
        if (fd < 0)
            return 1;
        close(fd);
        snprintf(output, sizeof output, "%s.out", input);
        command_make_file(input, (uint64_t)pairs, 1);
    }
    printf("exports of %.1f M records:\n", pairs * COMMAND_RECORDS_A_PAIR / 1e6);
    for (size_t i = 0; i < sizeof exporters / sizeof exporters[0]; i++)
        measure(exporters[i], pairs);
    if (argc <= 3)
        unlink(input);
    unlink(output);
    return 0;
}
