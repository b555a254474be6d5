/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sums RBWP MAKE_PROFILE [MILLIONS]: what stats, timeline and report take of a profile of 100
 * million records with GPUs, and of a time window of it.
 *
 * Measured once on MILLIONS of them (100 if not given), and scaled; a report has parts that do not
 * grow with the records, so that fewer show too much. The window is 10 ms.
 * The targets are times on the clock of two CPUs that have nothing else to do: CPU time is what
 * counts here, at most twice as much.
 */
#include "bench_command.h"
#include "bench_figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MILLIONS = 100, CPUS = 2 };

static char rbwp[4096], file[] = "/tmp/bench_sums-XXXXXX";

static void measure(const char *what, double scale, double target_s)
{
    static char jobs[] = "-j", two[] = "2", to[] = "-fo", nowhere[] = "/dev/null";
    char command[32], name[64];
    snprintf(command, sizeof command, "%s", what);
    struct command_cost cost = command_measure_runs(
        (char *[]){rbwp, command, jobs, two, to, nowhere, file, NULL}, 1, NULL);
    printf("  %-10s %6.1f ns of CPU a record, -j 2 %6.2f s of CPU, %6.2f s, %7ld KiB resident\n",
           what, cost.cpu_s * scale * 1e9 / (MILLIONS * 1e6), cost.cpu_s, cost.wall_s,
           cost.memory_kib);
    snprintf(name, sizeof name, "%s of 100 M records, CPU", what);
    figure_at_most(name, cost.cpu_s * scale, "s", target_s * CPUS);
}

static void measure_window(double scale)
{
    static char stats[] = "stats", jobs[] = "-j", two[] = "2", from[] = "--from", to[] = "--to";
    static char begin[] = "+1s", end[] = "+1.01s";
    struct command_cost cost =
        command_measure((char *[]){rbwp, stats, jobs, two, from, begin, to, end, file, NULL});
    figure_at_most("stats of a window of 100 M records, CPU", cost.cpu_s * scale, "s", 0.2 * CPUS);
}

int main(int argc, char **argv)
{
    double millions = argc > 3 ? strtod(argv[3], NULL) : 100;
    char line[2 * 4096 + 200];
    if (argc < 3 || millions <= 0) {
        fprintf(stderr, "usage: bench_sums RBWP MAKE_PROFILE [MILLIONS]\n");
        return 2;
    }
    snprintf(rbwp, sizeof rbwp, "%s", argv[1]);
    int fd = mkstemp(file);
    if (fd < 0)
        return 1;
    close(fd);
    snprintf(line, sizeof line, "'%s' '%s' %f >/dev/null", argv[2], file, millions);
    if (system(line) != 0) {
        unlink(file);
        return 1;
    }
    printf("a profile of %.1f M records:\n", millions);
    measure("stats", MILLIONS / millions, 4);
    measure("timeline", MILLIONS / millions, 4);
    measure("report", MILLIONS / millions, 8);
    measure_window(MILLIONS / millions);
    unlink(file);
    return 0;
}
