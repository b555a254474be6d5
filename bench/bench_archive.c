/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_archive.c - what archives come to: bytes a pair against the entropy of what is in the
 * records, and records a second of thread CPU time, written and read.
 *
 * The entropy of a file of one sequence of items is that of its time differences alone, by kind of
 * record: order-0, all else can be foreseen. Of another file it is that and the order-0 entropies
 * of slots, of sub-items and of the numbers of GPU work as SPEC.md, 16.3, has them (differences of
 * processors, of stops and of starts), and kinds by the kind before in the block: no code that
 * knows the whole file's counts and nothing of the order does with less.
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
#define COUNTED (1u << 20)

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

/* How often each value came; long ones, of which there are next to none, are not counted. */
struct counts {
    uint32_t *of;
    double all;
};
enum { SLOT_COUNTS = KINDS, SUB_COUNTS, PROCESSOR_COUNTS, STOP_COUNTS, START_COUNTS, KIND_COUNTS };
enum { COLUMNS = KIND_COUNTS + KINDS }; /* kinds by the kind before */

struct counted {
    struct counts column[COLUMNS]; /* times by kind first */
    uint64_t pairs, records;
};

/* What a pass over a block remembers. */
struct before {
    unsigned kind;
    int64_t time_ns;
    uint64_t processor;
};

static unsigned kind_number(unsigned kind)
{
    return kind == RBWP_GPU_WORK ? 4 : (kind >= RBWP_FINE_BEGIN ? 2 : 0) + (kind & 0x0f) - 1;
}

static void count_value(struct counts *counts, uint64_t value)
{
    if (value >= COUNTED)
        return;
    counts->of[value]++;
    counts->all++;
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t) - (int64_t)(difference >> 63);
}

static void count_gpu_work(struct counts *column, const struct rbwp_record *record,
                           struct before *before)
{
    uint64_t stop = (uint64_t)record->stop_ns;
    count_value(&column[PROCESSOR_COUNTS], zigzag(record->proc_id - before->processor));
    count_value(&column[STOP_COUNTS], zigzag((uint64_t)record->time_ns - stop));
    count_value(&column[START_COUNTS], zigzag(stop - (uint64_t)record->start_ns));
    before->processor = record->proc_id;
}

static void count_record(struct counted *counted, const struct rbwp_record *record, bool first,
                         struct before *before)
{
    struct counts *column = counted->column;
    unsigned kind = kind_number(record->kind);
    if (!first)
        count_value(&column[kind], (uint64_t)record->time_ns - (uint64_t)before->time_ns);
    count_value(&column[KIND_COUNTS + before->kind], kind);
    if (record->kind == RBWP_COARSE_BEGIN)
        count_value(&column[SLOT_COUNTS], record->slot);
    if (record->kind == RBWP_FINE_BEGIN)
        count_value(&column[SUB_COUNTS], record->sub_item);
    if (record->kind == RBWP_GPU_WORK)
        count_gpu_work(column, record, before);
    before->kind = kind;
    before->time_ns = record->time_ns;
    counted->pairs += record->kind == RBWP_COARSE_BEGIN;
    counted->records++;
}

static void count_block(struct counted *counted, const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    struct before before = {.kind = 1};
    rbwp_record_first(block, &iterator);
    for (bool first = true; rbwp_record_next(&iterator, &record); first = false)
        count_record(counted, &record, first, &before);
}

static double bits_of(const struct counts *counts)
{
    double bits = 0;
    for (unsigned i = 0; i < COUNTED; i++)
        if (counts->of[i])
            bits -= counts->of[i] * log2(counts->of[i] / counts->all);
    return bits;
}

/* Bytes a pair, over the whole file: of its times alone, and of all columns. */
static double entropy(const char *path, struct counted *counted, double *all_out)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    double times = 0, others = 0;
    *counted = (struct counted){0};
    for (int i = 0; i < COLUMNS; i++)
        require((counted->column[i].of = calloc(COUNTED, sizeof(uint32_t))) != NULL, "memory");
    require(rbwp_reader_open(path, NULL, &reader, NULL) == RBWP_OK, "reading the file");
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        count_block(counted, &block);
    rbwp_reader_close(reader);
    for (int i = 0; i < COLUMNS; i++) {
        double bits = bits_of(&counted->column[i]);
        *(i < KINDS ? &times : &others) += bits;
        free(counted->column[i].of);
    }
    *all_out = (times + others) / 8 / (double)counted->pairs;
    return times / 8 / (double)counted->pairs;
}

/* ---- what is --------------------------------------------------------------------------------- */

static double write_ns(const char *path, struct archive_result *result)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = open(archive_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(from >= 0 && to >= 0, "opening the files");
    struct rbwp_sink sink = rbwp_sink_fd(&to);
    double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    require(archive_pack(from, &sink, NULL, result, NULL) == RBWP_OK, "archiving");
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

/* times: all else can be foreseen in it. */
static void one_file(const char *what, const char *path, bool times)
{
    struct counted counted;
    struct archive_result result;
    double writing[ROUNDS], reading[ROUNDS], all, least = entropy(path, &counted, &all);
    for (int i = 0; i < ROUNDS; i++) {
        writing[i] = write_ns(path, &result);
        reading[i] = read_ns(result.records);
    }
    const double pairs = (double)counted.pairs, records = (double)counted.records;
    const double bytes = (double)result.bytes / pairs;
    const double written = 1e3 * records / median(writing, ROUNDS);
    const double read = 1e3 * records / median(reading, ROUNDS);
    char name[3][200];
    printf("%s: %.3f bytes a pair, %.3f in the file; order-0 entropy of its times by kind %.3f, "
           "with kinds, slots and all numbers %.3f\n",
           what, bytes, (double)result.bytes_before / pairs, least, all);
    static const char *const figures[] = {"bytes", "written", "read"};
    for (int i = 0; i < 3; i++)
        snprintf(name[i], sizeof name[i], "archive of %s, %s", what, figures[i]);
    figure_at_most(name[0], bytes / (times ? least : all), "x the entropy", TARGET_ENTROPY);
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
