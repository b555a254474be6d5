/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_lanes RBWP [MILLIONS]: what reading a kernel's buffer of lanes costs.
 *
 * A buffer of 16 M records (MILLIONS), of 132 blocks with 4 groups, each with three events that
 * take turns and last 32 ns to 8 us, log-uniform. Records a second of CPU time on one core: to
 * counts alone, to the table of durations with exact percentiles, and by the command to Chrome
 * JSON, reading and writing included. Beside each stands what it is meant to reach.
 */
#include "bench.h"
#include "bench_random.h"
#include "bench_command.h"
#include "rbwp_durations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 132, GROUPS = 4, LANES = BLOCKS * GROUPS, ROUNDS = 3 };

/* Version 1, with a timer that steps by 32 ns. */
static uint64_t *make_buffer(size_t rows)
{
    uint64_t *words = malloc((1 + rows * LANES) * sizeof *words);
    uint32_t *now = calloc(LANES, sizeof *now);
    require(words && now, "memory for the buffer");
    words[0] = (uint64_t)GROUPS << 32 | BLOCKS;
    for (size_t row = 0; row < rows; row++)
        for (uint32_t lane = 0; lane < LANES; lane++) {
            now[lane] += (uint32_t)exp2(5 + 8 * random_uniform()) & ~31u;
            words[1 + row * LANES + lane] = (uint64_t)(now[lane] + 32 * lane) << 32 | lane << 12 |
                                            (uint32_t)(row / 2 % 3) << 2 | (row & 1);
        }
    free(now);
    return words;
}

struct result {
    double counts_s, durations_s;
    uint64_t records;
};

static void decode(const uint64_t *words, size_t bytes, rbwp_lane_spans_fn take, void *context,
                   struct result *result)
{
    struct rbwp_lanes_stats stats;
    require(rbwp_lanes_decode(words, bytes, NULL, take, context, &stats, NULL) == RBWP_OK,
            "decoding");
    require(rbwp_lanes_damage(&stats) == 0, "a sound buffer");
    result->records = stats.records;
}

static void measure(const uint64_t *words, size_t bytes, struct result *best)
{
    struct result now = {0};
    size_t count;
    double start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    decode(words, bytes, NULL, NULL, &now);
    double middle_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct rbwp_durations *durations = rbwp_durations_new();
    require(durations, "memory");
    decode(words, bytes, rbwp_durations_take_lanes, durations, &now);
    require(rbwp_durations_rows(durations, &count) && count == 3 * GROUPS, "twelve rows");
    double stop_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    rbwp_durations_free(durations);
    now.counts_s = (middle_ns - start_ns) / 1e9;
    now.durations_s = (stop_ns - middle_ns) / 1e9;
    best->records = now.records;
    if (best->counts_s == 0 || now.counts_s < best->counts_s)
        best->counts_s = now.counts_s;
    if (best->durations_s == 0 || now.durations_s < best->durations_s)
        best->durations_s = now.durations_s;
}

static double command_s(char *rbwp, const uint64_t *words, size_t bytes, double *output_bytes)
{
    static char path[] = "/tmp/bench_lanes-XXXXXX", lanes[] = "lanes", to[] = "--to",
                form[] = "warpscope";
    char *argv[] = {rbwp, lanes, to, form, path, NULL};
    int fd = mkstemp(path);
    require(fd >= 0, "a scratch file");
    for (size_t done = 0; done < bytes;) {
        ssize_t wrote = write(fd, (const char *)words + done, bytes - done);
        require(wrote > 0, "room for the scratch file");
        done += (size_t)wrote;
    }
    close(fd);
    double best_s = command_measure(argv).cpu_s;
    *output_bytes = command_output_bytes(argv);
    unlink(path);
    return best_s;
}

static void print_rate(const char *what, uint64_t records, double seconds, double target)
{
    figure_at_least(what, (double)records / 1e6 / seconds, "M records/s", target);
}

int main(int argc, char **argv)
{
    double millions = argc > 2 ? strtod(argv[2], NULL) : 16;
    if (argc < 2 || !(millions >= 0.01 && millions <= 4000)) {
        fprintf(stderr, "usage: bench_lanes RBWP [MILLIONS]\n");
        return 2;
    }
    size_t rows = (size_t)(millions * 1048576 / LANES) / 2 * 2;
    size_t bytes = (1 + rows * LANES) * sizeof(uint64_t);
    uint64_t *words = make_buffer(rows);
    struct result best = {0};
    double written;
    for (int round = 0; round < ROUNDS; round++)
        measure(words, bytes, &best);
    double json_s = command_s(argv[1], words, bytes, &written);
    printf("lane records, %.1f M of %d lanes:\n", (double)best.records / 1e6, LANES);
    print_rate("lane records to counts", best.records, best.counts_s, 30);
    print_rate("lane records to durations", best.records, best.durations_s, 30);
    print_rate("lane records to Chrome JSON", best.records, json_s, 10);
    printf("  JSON: %.1f bytes a record\n", written / (double)best.records);
    free(words);
    return 0;
}
