/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_dump RBWP [PAIRS]: how fast rbwp reads a file and writes text.
 *
 * Prints for each shape the JSON written and the records read per second of
 * CPU time, and the largest memory.
 */
#include "bench_command.h"
#include "bench_figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* MB/s of text. */
static double measure_shape(const char *label, char **argv, double records)
{
    struct command_cost best = command_measure(argv);
    double bytes = command_output_bytes(argv);
    printf("%-34s %8.0f MB/s of text %7.1f M records/s %7ld KiB resident\n", label,
           bytes / 1e6 / best.cpu_s, records / 1e6 / best.cpu_s, best.memory_kib);
    return bytes / 1e6 / best.cpu_s;
}

int main(int argc, char **argv)
{
    uint64_t pairs = argc > 2 ? strtoull(argv[2], NULL, 10) : 500000;
    if (argc < 2 || pairs == 0) {
        fprintf(stderr, "usage: bench_dump RBWP [PAIRS]\n");
        return 2;
    }
    char path[] = "/tmp/bench_dump-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    static char dump[] = "dump", info[] = "info", ndjson[] = "--ndjson", spans[] = "--spans";
    double records = (double)pairs * COMMAND_RECORDS_A_PAIR;
    for (int level = 0; level <= 1; level++) {
        command_make_file(path, pairs, level);
        printf("%s blocks, %.1f M records:\n", level ? "compressed" : "stored", records / 1e6);
        double text = measure_shape("  dump", (char *[]){argv[1], dump, path, NULL}, records);
        figure(level ? "dump of compressed blocks" : "dump of stored blocks", text, "MB/s of JSON");
        measure_shape("  dump --ndjson", (char *[]){argv[1], dump, ndjson, path, NULL}, records);
        measure_shape("  dump --spans --ndjson",
                      (char *[]){argv[1], dump, spans, ndjson, path, NULL}, records);
        measure_shape("  info", (char *[]){argv[1], info, path, NULL}, records);
    }
    unlink(path);
    return 0;
}
