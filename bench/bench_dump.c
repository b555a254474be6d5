/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_dump RBWP [PAIRS]: how fast rbwp reads a file and writes text.
 *
 * Makes a file of level-2 records with realistic gaps (log-normal, median
 * 300 ns), then runs the command on it into /dev/null, best of three, and
 * prints for each shape the JSON written and the records read per second of
 * CPU time, and the largest memory. A stored file shows the speed of
 * formatting alone, a compressed one that with inflating.
 */
#include "rbwp_writer.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 16, SUB_ITEMS = 4, RECORDS_A_PAIR = 8, RUNS = 3 };

static void must(enum rbwp_status status, const char *what)
{
    if (status == RBWP_OK)
        return;
    fprintf(stderr, "bench_dump: %s: %s\n", what, rbwp_status_text(status));
    exit(1);
}

/* ---- the file ----------------------------------------------------------- */

struct generator {
    uint64_t random;
    int64_t time_ns;
    uint32_t sequence;
    struct rbwp_writer *writer;
    struct rbwp_block_encoder *encoder;
};

static double uniform(struct generator *generator)
{
    generator->random ^= generator->random << 13;
    generator->random ^= generator->random >> 7;
    generator->random ^= generator->random << 17;
    return ((double)(generator->random >> 11) + 1) / 9007199254740993.0;
}

static int64_t gap_ns(struct generator *generator)
{
    double normal =
        sqrt(-2 * log(uniform(generator))) * cos(2 * 3.141592653589793 * uniform(generator));
    return (int64_t)fmin(300 * exp(0.9 * normal), 20000);
}

static void seal(struct generator *generator)
{
    struct rbwp_sealed_block block;
    if (rbwp_block_encoder_seal(generator->encoder, 1000, generator->sequence++, &block) == RBWP_OK)
        must(rbwp_writer_add_block(generator->writer, &block), "write");
}

static void add(struct generator *generator, struct rbwp_record record)
{
    generator->time_ns += gap_ns(generator);
    record.time_ns = generator->time_ns;
    if (rbwp_block_encoder_add(generator->encoder, &record) == RBWP_OK)
        return;
    seal(generator);
    must(rbwp_block_encoder_add(generator->encoder, &record), "encode");
}

static void add_pair(struct generator *generator, uint64_t number)
{
    add(generator,
        (struct rbwp_record){.kind = RBWP_COARSE_BEGIN, .slot = (uint8_t)(number % SLOTS)});
    for (int i = 0; i < RECORDS_A_PAIR / 2 - 1; i++) {
        uint16_t id = (uint16_t)((number + (unsigned)i) % SUB_ITEMS);
        add(generator, (struct rbwp_record){.kind = RBWP_FINE_BEGIN, .sub_item = id});
        add(generator, (struct rbwp_record){.kind = RBWP_FINE_END});
    }
    add(generator, (struct rbwp_record){.kind = RBWP_COARSE_END});
}

static void finish(struct generator *generator)
{
    struct rbwp_work_item_name items[SLOTS];
    struct rbwp_sub_item_name sub_items[SUB_ITEMS];
    for (uint16_t i = 0; i < SLOTS; i++)
        items[i] = (struct rbwp_work_item_name){i, 14, "page compactor"};
    for (uint16_t i = 0; i < SUB_ITEMS; i++)
        sub_items[i] = (struct rbwp_sub_item_name){i, RBWP_XFER_CHANNEL, 12, "copy channel"};
    seal(generator);
    must(rbwp_writer_finish(generator->writer, items, SLOTS, sub_items, SUB_ITEMS, NULL), "finish");
}

static void make_file(const char *path, uint64_t pairs, int level)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    struct generator generator = {.random = 88172645463325252u, .time_ns = 1795197261283835351};
    must(fd < 0 ? RBWP_E_IO : RBWP_OK, path);
    must(rbwp_writer_new(&sink, 0, generator.time_ns, true, &generator.writer), "writer");
    must(rbwp_block_encoder_new(0, level, &generator.encoder), "encoder");
    for (uint64_t i = 0; i < pairs; i++)
        add_pair(&generator, i);
    finish(&generator);
    rbwp_writer_free(generator.writer);
    rbwp_block_encoder_free(generator.encoder);
    close(fd);
}

/* ---- measuring ---------------------------------------------------------- */

struct measure {
    double cpu_s;
    long memory_kib;
};

static struct measure run_once(char **argv, const char *output)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
            execv(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "bench_dump: %s does not run\n", argv[0]);
        exit(1);
    }
    double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return (struct measure){cpu_s, usage.ru_maxrss};
}

/* Bytes that the command writes, counted through a pipe so that no disk is filled. */
static double output_bytes(char **argv)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    static char buffer[1 << 16];
    double total = 0;
    for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
        total += (double)count;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return total;
}

static void measure_shape(const char *label, char **argv, double records)
{
    struct measure best = run_once(argv, "/dev/null");
    for (int i = 1; i < RUNS; i++) {
        struct measure again = run_once(argv, "/dev/null");
        if (again.cpu_s < best.cpu_s)
            best = again;
    }
    double bytes = output_bytes(argv);
    printf("%-34s %8.0f MB/s of text %7.1f M records/s %7ld KiB resident\n", label,
           bytes / 1e6 / best.cpu_s, records / 1e6 / best.cpu_s, best.memory_kib);
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
    double records = (double)pairs * RECORDS_A_PAIR;
    for (int level = 0; level <= 1; level++) {
        make_file(path, pairs, level);
        printf("%s blocks, %.1f M records:\n", level ? "compressed" : "stored", records / 1e6);
        measure_shape("  dump", (char *[]){argv[1], dump, path, NULL}, records);
        measure_shape("  dump --ndjson", (char *[]){argv[1], dump, ndjson, path, NULL}, records);
        measure_shape("  dump --spans --ndjson",
                      (char *[]){argv[1], dump, spans, ndjson, path, NULL}, records);
        measure_shape("  info", (char *[]){argv[1], info, path, NULL}, records);
    }
    unlink(path);
    return 0;
}
