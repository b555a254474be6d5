/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_record.c - what recording costs: on the recording thread, in all, in
 * bytes, at the end, and in the worst case.
 *
 * What is to be compared is measured in turns within one run. Thread and
 * process CPU time where possible: a shared machine disturbs them less.
 *
 *     bench_record [ROUNDS]
 */
#include "bench.h"
#include "rbwp_reader.h"
#include "rbwp_record.h"
#include "rbwp_writer.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS_DEFAULT 7
#define ROUNDS_MAX 99
#define PAIRS 1000000
#define SLOTS 16
#define FINE_PER_ITEM 3 /* eight records in all */

static unsigned rounds = ROUNDS_DEFAULT;
static unsigned slot[SLOTS], fine;

/* ---- loops ------------------------------------------------------------------------ */

static void bare_reads(long pairs)
{
    for (long i = 0; i < pairs; i++) {
        uint64_t a = rbwp_now_ticks();
        __asm__ volatile("" : : "r"(a) : "memory");
        uint64_t b = rbwp_now_ticks();
        __asm__ volatile("" : : "r"(b) : "memory");
    }
}

static void empty_loop(long pairs)
{
    for (long i = 0; i < pairs; i++)
        __asm__ volatile("" : : "r"(slot[i % SLOTS]) : "memory");
}

static void record_pairs(long pairs)
{
    for (long i = 0; i < pairs; i++) {
        rbwp_begin(slot[i % SLOTS]);
        rbwp_end();
    }
}

static void record_fine(long pairs)
{
    for (long i = 0; i < pairs; i++) {
        rbwp_begin(slot[i % SLOTS]);
        for (int k = 0; k < FINE_PER_ITEM; k++) {
            rbwp_fine_begin(fine);
            rbwp_fine_end();
        }
        rbwp_end();
    }
}

static void record_empty(long pairs)
{
    for (long i = 0; i < pairs; i++) {
        rbwp_begin(slot[i % SLOTS]);
        rbwp_set_worked(false);
        rbwp_end();
    }
}

static double thread_ns_per_pair(void (*loop)(long), long pairs)
{
    double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    loop(pairs);
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)pairs;
}

/* ---- cost on the recording thread ---------------------------------------------------- */

static double with_session(int level, void (*loop)(long))
{
    struct rbwp_session *session = start_session(level);
    loop(PAIRS / 10); /* the first chunks */
    double ns = thread_ns_per_pair(loop, PAIRS);
    stop_session(session);
    return ns;
}

static void hot_path(void)
{
    double bare[ROUNDS_MAX], off[ROUNDS_MAX], coarse[ROUNDS_MAX], eight[ROUNDS_MAX],
        empty[ROUNDS_MAX];
    for (unsigned r = 0; r < rounds; r++) {
        bare[r] = thread_ns_per_pair(bare_reads, PAIRS);
        off[r] = thread_ns_per_pair(record_pairs, PAIRS) - thread_ns_per_pair(empty_loop, PAIRS);
        coarse[r] = with_session(1, record_pairs);
        eight[r] = with_session(2, record_fine);
        empty[r] = with_session(2, record_empty);
    }
    double two = median(bare, rounds), pair = median(coarse, rounds), all = median(eight, rounds),
           none = median(empty, rounds);
    printf("two bare clock reads          %6.1f ns\n", two);
    printf("level 0, begin + end          %6.2f ns\n", median(off, rounds));
    printf("level 1, begin + end          %6.1f ns  %.2f x two reads\n", pair, pair / two);
    printf("level 2, each of %d records    %6.1f ns  %.2f x one read\n", 2 + 2 * FINE_PER_ITEM,
           all / (2 + 2 * FINE_PER_ITEM), all / (2 + 2 * FINE_PER_ITEM) / (two / 2));
    printf("an empty call, taken back     %6.1f ns  %.2f x two reads\n", none, none / two);
}

/* ---- several threads at a small cap --------------------------------------------------- */

struct recorder {
    pthread_t thread;
    long pairs;
    double ns_per_pair;
};

static void *recorder_main(void *argument)
{
    struct recorder *recorder = argument;
    require(rbwp_thread_attach(NULL) == RBWP_OK, "rbwp_thread_attach");
    recorder->ns_per_pair = thread_ns_per_pair(record_pairs, recorder->pairs);
    return NULL;
}

static void streaming(unsigned threads, uint64_t cap_mb, long pairs_each)
{
    struct recorder recorder[8];
    double own[ROUNDS_MAX], total[ROUNDS_MAX];
    struct rbwp_session_summary summary = {0};
    for (unsigned r = 0; r < rounds; r++) {
        struct rbwp_session_config config;
        rbwp_session_defaults(&config);
        config.level = 1;
        config.cap_bytes = cap_mb ? cap_mb << 20 : RBWP_CAP_NONE;
        struct rbwp_session *session = start_with(config);
        double begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID), sum = 0;
        for (unsigned i = 0; i < threads; i++) {
            recorder[i].pairs = pairs_each;
            require(pthread_create(&recorder[i].thread, NULL, recorder_main, &recorder[i]) == 0,
                    "pthread_create");
        }
        for (unsigned i = 0; i < threads; i++) {
            pthread_join(recorder[i].thread, NULL);
            sum += recorder[i].ns_per_pair;
        }
        summary = stop_session(session);
        own[r] = sum / threads;
        total[r] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)(threads * pairs_each);
    }
    printf("%u threads, cap %4llu MB: %5.1f ns a pair on the thread, %5.1f in all; %llu of %llu MB "
           "used, %llu lost\n",
           threads, (unsigned long long)cap_mb, median(own, rounds), median(total, rounds),
           (unsigned long long)summary.peak_bytes >> 20, (unsigned long long)cap_mb,
           (unsigned long long)summary.lost_records);
}

/* ---- all CPU, and the stop --------------------------------------------------------------- */

static void whole_cost(int level, bool stored, void (*loop)(long), long pairs, double at_most)
{
    double total[ROUNDS_MAX], stop[ROUNDS_MAX], bare[ROUNDS_MAX];
    unsigned few = rounds < 3 ? rounds : 3;
    for (unsigned r = 0; r < few; r++) {
        struct rbwp_session_config config;
        rbwp_session_defaults(&config);
        config.level = level;
        config.stored = stored;
        bare[r] = thread_ns_per_pair(bare_reads, PAIRS);
        double begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        struct rbwp_session *session = start_with(config);
        loop(pairs);
        stop[r] = (double)stop_session(session).stop_ns / 1e9;
        total[r] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)pairs;
    }
    double ns = median(total, few), reads = ns / median(bare, few);
    printf("level %d, %ld M pairs%s: %6.1f ns of CPU a pair in all, stop takes %.3f s; %.2f x two "
           "reads",
           level, pairs / 1000000, stored ? ", not compressed" : "", ns, median(stop, few), reads);
    if (at_most > 0)
        printf(": at most %.1f, %s", at_most, reads <= at_most ? "met" : "missed");
    printf("\n");
}

/* ---- size -------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static uint64_t xorshift(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void busy_gap(void)
{
    for (volatile uint64_t n = (xorshift() >> 20) % 100; n > 0;)
        n = n - 1;
}

/* Median 300 ns, sigma 0.9, at most 20 us. */
static void log_normal_gap(void)
{
    double u = ((double)(xorshift() >> 11) + 1) * 0x1p-53, v = (double)(xorshift() >> 11) * 0x1p-53;
    double gap_ns = 300 * exp(0.9 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
    uint64_t end = rbwp_now_ticks() + rbwp_ticks_from_ns((uint64_t)fmin(gap_ns, 20000));
    while (rbwp_now_ticks() < end) {
    }
}

static void (*gap)(void);

static void record_with_gaps(int level, long pairs)
{
    for (long i = 0; i < pairs; i++) {
        gap();
        rbwp_begin(slot[i % SLOTS]);
        for (int k = 0; level == 2 && k < FINE_PER_ITEM; k++) {
            gap();
            rbwp_fine_begin(fine);
            gap();
            rbwp_fine_end();
        }
        if (gap == busy_gap)
            gap();
        rbwp_end();
    }
}

/* CPU ns per pair and bytes per pair of the scratch file's records, encoded anew. */
static void reencode(const char *name, uint32_t block_bytes, int level, long pairs)
{
    struct rbwp_reader *reader;
    struct rbwp_block_encoder *encoder;
    struct rbwp_block block;
    struct rbwp_sealed_block sealed;
    require(rbwp_reader_open(scratch_file(), NULL, &reader, NULL) == RBWP_OK, "reading the file");
    require(rbwp_block_encoder_new(block_bytes, level, &encoder) == RBWP_OK, "an encoder");
    uint64_t bytes = 0;
    double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        struct rbwp_record_iterator iterator;
        struct rbwp_record record;
        rbwp_record_first(&block, &iterator);
        while (rbwp_record_next(&iterator, &record)) {
            while (rbwp_block_encoder_add(encoder, &record) == RBWP_AGAIN)
                if (rbwp_block_encoder_seal(encoder, 1, 0, &sealed) == RBWP_OK)
                    bytes += sealed.bytes_count;
        }
    }
    if (rbwp_block_encoder_seal(encoder, 1, 0, &sealed) == RBWP_OK)
        bytes += sealed.bytes_count;
    double ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    printf("    %-34s %6.3f bytes a pair  %7.1f ns a pair to read, encode and compress\n", name,
           (double)bytes / (double)pairs, ns / (double)pairs);
    rbwp_block_encoder_free(encoder);
    rbwp_reader_close(reader);
}

static void sizes(const char *what, void (*gaps)(void), int level, long pairs)
{
    gap = gaps;
    struct rbwp_session *session = start_session(level);
    record_with_gaps(level, pairs);
    struct rbwp_session_summary summary = stop_session(session);
    printf("%s, level %d: %.3f bytes a pair in the file; the same events\n", what, level,
           (double)summary.bytes / (double)pairs);
    reencode("stored, 16 KiB blocks", 16384, 0, pairs);
    reencode("zlib -6, 16 KiB (as Realm's writer)", 16384, 6, pairs);
    reencode("ours, 16 KiB", 16384, 1, pairs);
    reencode("ours, 64 KiB (the default)", 65536, 1, pairs);
    reencode("zlib -2, 64 KiB", 65536, 2, pairs);
    reencode("zlib -6, 64 KiB", 65536, 6, pairs);
    reencode("zlib -9, 64 KiB", 65536, 9, pairs);
}

/* ---- the worst pair while the disk is slow --------------------------------------------------- */

static long disk_delay_us;
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset);

/* Stands in for the C library's: a disk that takes its time. */
__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *bytes, size_t count,
                                                        off64_t offset)
{
    if (disk_delay_us)
        usleep((useconds_t)disk_delay_us);
    return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

/* Wall time of single pairs; the worst ones are checked for a context switch that is not ours. */
static void stalls(const char *what, uint64_t cap_mb, long delay_us, long pairs)
{
    double *ns = malloc((size_t)pairs * sizeof *ns);
    require(ns != NULL, "malloc");
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = 1;
    config.cap_bytes = cap_mb ? cap_mb << 20 : RBWP_CAP_NONE;
    struct rbwp_session *session = start_with(config);
    disk_delay_us = delay_us;
    double worst_own = 0, per_tick = 1e9 / (double)rbwp_ticks_per_second();
    long switched = switches();
    for (long i = 0; i < pairs; i++) {
        uint64_t begin = rbwp_now_ticks();
        rbwp_begin(slot[i % SLOTS]);
        rbwp_end();
        ns[i] = (double)(rbwp_now_ticks() - begin) * per_tick;
        if (ns[i] > 20000) {
            long now = switches();
            if (now == switched && ns[i] > worst_own)
                worst_own = ns[i];
            switched = now;
        }
    }
    disk_delay_us = 0;
    struct rbwp_session_summary summary = stop_session(session);
    double p50 = quantile(ns, (size_t)pairs, 0.5);
    printf("%-42s p50 %.0f ns, p99.9 %.0f ns, worst %.3f ms, worst without a context switch %.3f "
           "ms; peak %llu MB, %llu lost\n",
           what, p50, ns[(size_t)(0.999 * (double)pairs)], ns[pairs - 1] / 1e6, worst_own / 1e6,
           (unsigned long long)summary.peak_bytes >> 20, (unsigned long long)summary.lost_records);
    free(ns);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (unsigned)strtoul(argv[1], NULL, 10);
    require(rounds >= 1 && rounds <= ROUNDS_MAX, "ROUNDS between 1 and 99");
    for (unsigned i = 0; i < SLOTS; i++)
        require(rbwp_work_item_register("item", &slot[i]) == RBWP_OK, "rbwp_work_item_register");
    require(rbwp_sub_item_register(RBWP_AM_HANDLER, "handler", &fine) == RBWP_OK,
            "rbwp_sub_item_register");
    require(rbwp_thread_attach("bench") == RBWP_OK, "rbwp_thread_attach");

    hot_path();
    streaming(1, 64, 10000000);
    streaming(2, 64, 5000000);
    streaming(4, 64, 2500000);
    whole_cost(1, false, record_pairs, 10000000, 2.6);
    whole_cost(1, true, record_pairs, 10000000, 1.5);
    whole_cost(2, false, record_fine, 10000000, 0);
    sizes("busy gaps", busy_gap, 1, 1000000);
    sizes("busy gaps", busy_gap, 2, 300000);
    sizes("log-normal gaps", log_normal_gap, 1, 1000000);
    sizes("log-normal gaps", log_normal_gap, 2, 150000);
    stalls("good disk, cap 1024 MB:", 1024, 0, 5000000);
    stalls("disk takes 20 ms a write, cap 1024 MB:", 1024, 20000, 5000000);
    stalls("good disk, cap 4 MB:", 4, 0, 5000000);
    return 0;
}
