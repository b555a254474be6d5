/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_archive.c - what archives come to: bytes a pair against the order-0 entropy of the time
 * differences by kind of record, and records a second of thread CPU time, written and read.
 *
 *     bench_archive [FILE...]    (further files: what they come to)
 */
#include "archive.h"
#include "bench.h"
#include "rbwp_reader.h"
#include "rbwp_record.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 16
#define PAIRS 1000000
#define ROUNDS 5
#define TARGET_ENTROPY 1.15
#define TARGET_WRITTEN 20
#define TARGET_READ 40
#define COUNTED (1u << 20) /* longer differences are not counted: there are next to none */

enum { KINDS = 5 };

static unsigned slot[SLOTS], fine;
static char archive_path[64];

/* ---- what is recorded ------------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252;

static uint64_t xorshift(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Median 300 ns, sigma 0.9, at most 20 us: as bench_record's. */
static void log_normal_gap(void)
{
    double u = ((double)(xorshift() >> 11) + 1) * 0x1p-53, v = (double)(xorshift() >> 11) * 0x1p-53;
    double gap_ns = 300 * exp(0.9 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
    uint64_t end = rbwp_now_ticks() + rbwp_ticks_from_ns((uint64_t)fmin(gap_ns, 20000));
    while (rbwp_now_ticks() < end) {
    }
}

static void record_pairs(int level)
{
    struct rbwp_session *session = start_session(level);
    for (long i = 0; i < PAIRS; i++) {
        log_normal_gap();
        rbwp_begin(slot[i % SLOTS]);
        if (level == 2) {
            rbwp_fine_begin(fine);
            rbwp_fine_end();
        }
        rbwp_end();
    }
    stop_session(session);
}

/* ---- what could be --------------------------------------------------------------------------- */

struct counted {
    uint32_t *times[KINDS];
    double count[KINDS];
    uint64_t pairs, records;
};

static unsigned kind_number(unsigned kind)
{
    return kind == RBWP_GPU_WORK ? 4 : (kind >= RBWP_FINE_BEGIN ? 2 : 0) + (kind & 0x0f) - 1;
}

static void count_block(struct counted *counted, const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    int64_t before_ns = 0;
    rbwp_record_first(block, &iterator);
    for (bool first = true; rbwp_record_next(&iterator, &record); first = false) {
        int64_t difference_ns = record.time_ns - before_ns;
        unsigned kind = kind_number(record.kind);
        before_ns = record.time_ns;
        counted->pairs += record.kind == RBWP_COARSE_BEGIN;
        counted->records++;
        if (first || difference_ns < 0 || difference_ns >= COUNTED)
            continue;
        counted->times[kind][difference_ns]++;
        counted->count[kind]++;
    }
}

/* Bytes a pair, of the whole file's differences. */
static double entropy(const char *path, struct counted *counted)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    double bits = 0;
    *counted = (struct counted){0};
    for (int i = 0; i < KINDS; i++)
        require((counted->times[i] = calloc(COUNTED, sizeof **counted->times)) != NULL, "memory");
    require(rbwp_reader_open(path, NULL, &reader, NULL) == RBWP_OK, "reading the file");
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        count_block(counted, &block);
    rbwp_reader_close(reader);
    for (int i = 0; i < KINDS; i++) {
        for (unsigned k = 0; k < COUNTED; k++)
            if (counted->times[i][k])
                bits -= counted->times[i][k] * log2(counted->times[i][k] / counted->count[i]);
        free(counted->times[i]);
    }
    return bits / 8 / (double)counted->pairs;
}

/* ---- what is --------------------------------------------------------------------------------- */

static double write_ns(const char *path, struct archive_result *result)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = open(archive_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(from >= 0 && to >= 0, "opening the files");
    struct rbwp_sink sink = rbwp_sink_fd(&to);
    double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    require(archive_pack(from, &sink, result, NULL) == RBWP_OK, "archiving");
    double ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    close(from);
    close(to);
    return ns;
}

/* All blocks, checked as ever; their records are for who wants them. */
static double read_ns(uint64_t records)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    require(rbwp_reader_open(archive_path, NULL, &reader, NULL) == RBWP_OK, "reading the archive");
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        records -= block.header.records;
    rbwp_reader_close(reader);
    require(records == 0, "all records");
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

/* whole: what is to be reached is known of it. */
static void one_file(const char *what, const char *path, bool whole)
{
    struct counted counted;
    struct archive_result result;
    double writing[ROUNDS], reading[ROUNDS], least = entropy(path, &counted);
    for (int i = 0; i < ROUNDS; i++) {
        writing[i] = write_ns(path, &result);
        reading[i] = read_ns(result.records);
    }
    const double pairs = (double)counted.pairs, records = (double)counted.records;
    const double bytes = (double)result.bytes / pairs;
    const double written = 1e3 * records / median(writing, ROUNDS);
    const double read = 1e3 * records / median(reading, ROUNDS);
    char name[3][200];
    printf("%s: %.3f bytes a pair, %.3f in the file; order-0 entropy of its times by kind %.3f\n",
           what, bytes, (double)result.bytes_before / pairs, least);
    static const char *const figures[] = {"bytes", "written", "read"};
    for (int i = 0; i < 3; i++)
        snprintf(name[i], sizeof name[i], "archive of %s, %s", what, figures[i]);
    if (whole)
        figure_at_most(name[0], bytes / least, "x the entropy", TARGET_ENTROPY);
    else
        figure(name[0], bytes / least, "x the entropy");
    figure_at_least(name[1], written, "M records/s", TARGET_WRITTEN);
    figure_at_least(name[2], read, "M records/s", TARGET_READ);
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < SLOTS; i++)
        require(rbwp_work_item_register("item", &slot[i]) == RBWP_OK, "rbwp_work_item_register");
    require(rbwp_sub_item_register(RBWP_AM_HANDLER, "handler", &fine) == RBWP_OK,
            "rbwp_sub_item_register");
    require(rbwp_thread_attach("bench") == RBWP_OK, "rbwp_thread_attach");
    snprintf(archive_path, sizeof archive_path, "%s.rbwa", scratch_file());
    record_pairs(1);
    one_file("log-normal gaps", scratch_file(), true);
    record_pairs(2);
    one_file("log-normal gaps with a sub-item", scratch_file(), true);
    for (int i = 1; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        one_file(slash ? slash + 1 : argv[i], argv[i], false);
    }
    unlink(archive_path);
    return 0;
}
