/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_keep [ROUNDS]: what the flight recorder costs.
 *
 * A pair with the newest 64 MiB kept beside one in an ordinary session, and beside one whose slots
 * have a duration below which calls are dropped, a session each in turns, by CPU time of the
 * recording thread; and how long a dump of the full ring takes, on this thread's clock and by its
 * CPU time. Medians.
 */
#include "bench.h"
#include "rbwp_record.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAIRS = 2000000, RUN_PAIRS = 2000, SLOTS = 8, DUMPS = 9, ROUNDS_MAX = 1000 };
#define KEEP_BYTES (UINT64_C(64) << 20)
#define TARGET_TIMES 1.03
#define TARGET_DUMP_MS 50.0
#define TARGET_LIMITS_NS 2.0

static void pairs(long count)
{
    for (long i = 0; i < count; i++) {
        rbwp_begin((unsigned)i % SLOTS);
        rbwp_end();
    }
}

/* What is said of slots holds until something else is. */
static void say_least(const char *path, const char *duration)
{
    FILE *file = fopen(path, "w");
    require(file && fprintf(file, "least job %s\n", duration) > 0 && fclose(file) == 0, path);
}

/* Of short runs, as those in between in which somebody else had the machine do not matter then. */
static double run_ns(void)
{
    static double ns[PAIRS / RUN_PAIRS];
    for (int run = 0; run < PAIRS / RUN_PAIRS; run++) {
        double begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        pairs(RUN_PAIRS);
        ns[run] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / RUN_PAIRS;
    }
    return median(ns, PAIRS / RUN_PAIRS);
}

/* least: what calls must last to be recorded. */
static double pair_ns(uint64_t keep_bytes, const char *least, double *bytes_out)
{
    char settings[4200];
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = 1;
    config.keep_bytes = keep_bytes;
    snprintf(settings, sizeof settings, "%s.settings", scratch_file());
    config.settings = settings;
    say_least(settings, least);
    struct rbwp_session *session = start_with(config);
    require(unlink(settings) == 0, settings);
    pairs(PAIRS / 10);
    double ns = run_ns();
    struct rbwp_session_summary summary = stop_session(session);
    *bytes_out = 2.0 * (double)summary.bytes / (double)summary.records;
    return ns;
}

/* Like work that takes its time, so that the writer keeps up. */
static void fill(void)
{
    for (long i = 0; i < 40; i++) {
        pairs(PAIRS / 2);
        usleep(60000);
    }
}

static void dumps(void)
{
    double wall[DUMPS], cpu[DUMPS];
    char path[4200];
    struct rbwp_error error = {0};
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = 1;
    config.keep_bytes = KEEP_BYTES;
    config.stored = true;
    struct rbwp_session *session = start_with(config);
    fill();
    snprintf(path, sizeof path, "%s.dumped", scratch_file());
    for (int i = 0; i < DUMPS; i++) {
        double begin_ns = clock_ns(CLOCK_MONOTONIC), begin_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        require(rbwp_session_dump(session, path, 0, &error) == RBWP_OK, error.text);
        wall[i] = (clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6;
        cpu[i] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu) / 1e6;
        if (i + 1 < DUMPS)
            require(unlink(path) == 0, "unlink");
    }
    FILE *file = fopen(path, "r");
    require(file && fseek(file, 0, SEEK_END) == 0, path);
    double ms = median(wall, DUMPS);
    printf("a dump of %.1f MB            %6.1f ms, of which %.1f on the CPU\n",
           (double)ftell(file) / 1e6, ms, median(cpu, DUMPS));
    figure_at_most("a dump of the flight recorder's 64 MiB", ms, "ms", TARGET_DUMP_MS);
    fclose(file);
    require(unlink(path) == 0, "unlink");
    (void)stop_session(session);
}

int main(int argc, char **argv)
{
    static double plain[ROUNDS_MAX], kept[ROUNDS_MAX], more[ROUNDS_MAX];
    double plain_bytes = 0, kept_bytes = 0, limited_bytes = 0;
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 15;
    require(rounds > 0 && rounds <= ROUNDS_MAX, "1 to 1000 rounds");
    require(rbwp_thread_attach("bench") == RBWP_OK, "attach");
    for (unsigned slot = 0; slot < SLOTS; slot++)
        require(rbwp_work_item_register_at(slot, "job") == RBWP_OK, "register");
    for (long i = 0; i < rounds; i++) {
        plain[i] = pair_ns(0, "0", &plain_bytes);
        kept[i] = pair_ns(KEEP_BYTES, "0", &kept_bytes);
        more[i] = pair_ns(KEEP_BYTES, "1ns", &limited_bytes) - kept[i];
    }
    size_t count = (size_t)rounds;
    double before = median(plain, count), now = median(kept, count);
    printf("a pair, all is kept        %8.2f ns, %.3f bytes\n", before, plain_bytes);
    printf("a pair, the newest is kept %8.2f ns, %.3f bytes\n", now, kept_bytes);
    figure_at_most("a pair with the flight recorder", now / before, "x one without", TARGET_TIMES);
    figure_at_most("limits of slots, more each pair", median(more, count), "ns", TARGET_LIMITS_NS);
    dumps();
    return 0;
}
