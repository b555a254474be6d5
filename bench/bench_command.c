/* SPDX-License-Identifier: Apache-2.0 */
/* A file, and the command on it. */
#include "bench_command.h"
#include "bench.h"
#include "rbwp_writer.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 16, SUB_ITEMS = 4 };

static void must(enum rbwp_status status, const char *what)
{
    if (status == RBWP_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, rbwp_status_text(status));
    exit(1);
}

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
    for (int i = 0; i < COMMAND_RECORDS_A_PAIR / 2 - 1; i++) {
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

void command_make_file(const char *path, uint64_t pairs, int level)
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

static struct command_cost run_once(char **argv, const char *output)
{
    struct rusage usage;
    int status;
    double start_ns = clock_ns(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
            execv(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "bench: %s does not run\n", argv[0]);
        exit(1);
    }
    double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    double wall_s = (clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e9;
    return (struct command_cost){cpu_s, wall_s, usage.ru_maxrss};
}

/* Bytes that the command writes, counted through a pipe so that no disk is filled. */
double command_output_bytes(char **argv)
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

struct command_cost command_measure_runs(char **argv, int runs, const char *output)
{
    struct command_cost best = {0};
    for (int i = 0; i < runs; i++) {
        if (output)
            unlink(output);
        struct command_cost again = run_once(argv, "/dev/null");
        best.wall_s = i == 0 || again.wall_s < best.wall_s ? again.wall_s : best.wall_s;
        if (i == 0 || again.cpu_s < best.cpu_s) {
            best.cpu_s = again.cpu_s;
            best.memory_kib = again.memory_kib;
        }
    }
    return best;
}

struct command_cost command_measure(char **argv)
{
    return command_measure_runs(argv, COMMAND_RUNS, NULL);
}
