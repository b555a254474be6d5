/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_record.c - what recording costs: on the recording thread, in all, in
 * bytes, at the end, and in the worst case.
 *
 * What is to be compared is measured in turns within one run. Thread and
 * process CPU time where possible: a shared machine disturbs them less.
 *
 *     bench_record [ROUNDS [stalls [disks|cap]|cpu|on_cpu|stacks]]
 *
 * One of them alone: the worst case, all CPU, calls that were switched out, looks at long calls.
 */
#include "bench.h"
#include "rbwp_reader.h"
#include "rbwp_record.h"
#include "rbwp_writer.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
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

/* Each call is switched out once. */
static void record_waits(long pairs)
{
    const struct timespec least = {0, 1};
    for (long i = 0; i < pairs; i++) {
        rbwp_begin(slot[i % SLOTS]);
        nanosleep(&least, NULL);
        rbwp_end();
    }
}

/* The thread waits between its calls. */
static void wait_for_calls(long pairs)
{
    const struct timespec least = {0, 1};
    for (long i = 0; i < pairs; i++) {
        rbwp_begin(slot[i % SLOTS]);
        rbwp_end();
        nanosleep(&least, NULL);
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
    figure("two bare clock reads", two, "ns");
    figure("a pair without a session", median(off, rounds), "ns");
    printf("level 1, begin + end          %6.1f ns\n", pair);
    figure("a pair at level 1", pair / two, "x two bare clock reads");
    figure("a record at level 2", all / (2 + 2 * FINE_PER_ITEM) / (two / 2),
           "x one bare clock read");
    figure("an empty call, taken back", none / two, "x two bare clock reads");
}

static double with_flags(bool cpu, uint64_t stacks_ns, void (*loop)(long), long pairs)
{
    struct rbwp_session *session =
        start_with((struct rbwp_session_config){.size = sizeof(struct rbwp_session_config),
                                                .level = 1,
                                                .no_cpu = !cpu,
                                                .stacks_ns = stacks_ns});
    loop(pairs / 10);
    double ns = thread_ns_per_pair(loop, pairs);
    stop_session(session);
    return ns;
}

static double with_cpu(bool cpu, void (*loop)(long), long pairs)
{
    return with_flags(cpu, 0, loop, pairs);
}

/* What it costs that a thread of ours looks for long calls, every millisecond. */
static void stacks(void)
{
    double without[ROUNDS_MAX], with[ROUNDS_MAX];
    for (unsigned r = 0; r < rounds; r++) {
        without[r] = with_flags(false, 0, record_pairs, PAIRS);
        with[r] = with_flags(false, 4000000, record_pairs, PAIRS);
    }
    figure("a pair with -bgworkprofile_stacks 4ms", median(with, rounds) / median(without, rounds),
           "x a pair without");
}

/* What it costs to know whether calls ran. */
static void on_cpu(void)
{
    double pair[ROUNDS_MAX], waits[ROUNDS_MAX], between[ROUNDS_MAX];
    for (unsigned r = 0; r < rounds; r++) {
        pair[r] = with_cpu(true, record_pairs, PAIRS) - with_cpu(false, record_pairs, PAIRS);
        waits[r] =
            with_cpu(true, record_waits, PAIRS / 50) - with_cpu(false, record_waits, PAIRS / 50);
        between[r] = with_cpu(true, wait_for_calls, PAIRS / 50) -
                     with_cpu(false, wait_for_calls, PAIRS / 50);
    }
    figure("a pair that ran: more for -bgworkprofile_cpu", median(pair, rounds), "ns");
    figure_at_most("a call that was switched out, more", median(waits, rounds), "ns", 2000);
    figure_at_most("a call after a wait, more", median(between, rounds), "ns", 2000);
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
        total[r] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / (threads * (double)pairs_each);
    }
    printf("%u threads, cap %4llu MB: %5.1f ns a pair on the thread, %5.1f in all; %llu of %llu MB "
           "used, %llu lost\n",
           threads, (unsigned long long)cap_mb, median(own, rounds), median(total, rounds),
           (unsigned long long)summary.peak_bytes >> 20, (unsigned long long)cap_mb,
           (unsigned long long)summary.lost_records);
}

/* ---- all CPU, and the stop --------------------------------------------------------------- */

static void whole_cost(int level, bool stored, void (*loop)(long), long pairs, double target)
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
    char name[100];
    int used = snprintf(name, sizeof name, "level %d%s, ", level, stored ? ", not compressed" : "");
    char *what = name + used;
    const size_t room = sizeof name - (size_t)used;
    snprintf(what, room, "stop after %ld million pairs", pairs / 1000000);
    figure(name, median(stop, few), "s");
    snprintf(what, room, "all CPU of a pair");
    figure(name, ns, "ns");
    snprintf(what, room, "all CPU of a pair beside two bare reads");
    if (target > 0)
        figure_at_most(name, reads, "x", target);
    else
        figure(name, reads, "x");
}

static void all_cpu(void)
{
    whole_cost(1, false, record_pairs, 10000000, 2.6);
    whole_cost(1, true, record_pairs, 10000000, 1.5);
    whole_cost(2, false, record_fine, 10000000, 0);
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

/* CPU ns per pair and bytes per pair, which are returned, of the scratch file's records, encoded
 * anew. */
static double reencode(const char *name, uint32_t block_bytes, int level, long pairs)
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
    return (double)bytes / (double)pairs;
}

static void sizes(const char *what, void (*gaps)(void), int level, long pairs)
{
    gap = gaps;
    struct rbwp_session *session = start_session(level);
    record_with_gaps(level, pairs);
    struct rbwp_session_summary summary = stop_session(session);
    char name[100];
    snprintf(name, sizeof name, "%s, level %d, file", what, level);
    figure(name, (double)summary.bytes / (double)pairs, "bytes a pair");
    printf("the same events:\n");
    reencode("stored, 16 KiB blocks", 16384, 0, pairs);
    snprintf(name, sizeof name, "%s, level %d, zlib -6 in 16 KiB blocks", what, level);
    figure(name, reencode("zlib -6, 16 KiB (as Realm's writer)", 16384, 6, pairs), "bytes a pair");
    reencode("ours, 16 KiB", 16384, 1, pairs);
    reencode("ours, 64 KiB (the default)", 65536, 1, pairs);
    reencode("ours, level 2, 64 KiB", 65536, 2, pairs);
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

enum { HELPER_THREADS = 2, PAIRS_PER_LOOK = 20000 };

/* The session's own threads: how long they have run, in ns, and on which CPU they did last. */
struct quiet {
    double ns[HELPER_THREADS];
    int cpu[HELPER_THREADS];
};

static FILE *open_of_task(const char *task, const char *what)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, what);
    return fopen(path, "r");
}

static void look_at_quiet(const char *task, int which, struct quiet *quiet)
{
    FILE *file = open_of_task(task, "schedstat");
    if (file && fscanf(file, "%lf", &quiet->ns[which]) != 1)
        quiet->ns[which] = 0;
    if (file)
        fclose(file);
    file = open_of_task(task, "stat");
    char line[1000] = "";
    if (file && fgets(line, sizeof line, file)) {
        const char *at = strrchr(line, ')');
        for (int field = 2; at && field < 39; field++)
            at = strchr(at + 1, ' ');
        quiet->cpu[which] = at ? atoi(at) : -1;
    }
    if (file)
        fclose(file);
}

static struct quiet quiet_now(void)
{
    static const char *const names[HELPER_THREADS] = {"rbwp-writer\n", "rbwp-memory\n"};
    struct quiet quiet = {.cpu = {-1, -1}};
    DIR *tasks = opendir("/proc/self/task");
    require(tasks != NULL, "/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        char name[32] = "";
        FILE *file = task->d_name[0] == '.' ? NULL : open_of_task(task->d_name, "comm");
        if (file && !fgets(name, sizeof name, file))
            name[0] = 0;
        if (file)
            fclose(file);
        for (int i = 0; i < HELPER_THREADS; i++)
            if (strcmp(name, names[i]) == 0)
                look_at_quiet(task->d_name, i, &quiet);
    }
    closedir(tasks);
    return quiet;
}

/* One of them ran here for most of that time. */
static bool was_pushed(const struct quiet *before, const struct quiet *now, double ns)
{
    const int cpu = sched_getcpu();
    for (int i = 0; i < HELPER_THREADS; i++)
        if (now->cpu[i] == cpu && now->ns[i] - before->ns[i] > ns / 2)
            return true;
    return false;
}

struct staller {
    pthread_t thread;
    long pairs;
    double *ns;
    double own_ns,
        pushed_ns; /* the worst pair without a switch, and with one to a thread of ours */
};

/* Wall time of single pairs. The worst ones are looked at: with an involuntary switch it was
 * somebody else who ran: one of ours if it ran on this CPU, for most of that time since the last
 * look. */
static void *record_stalls(void *argument)
{
    struct staller *staller = argument;
    const double per_tick = 1e9 / (double)rbwp_ticks_per_second();
    require(rbwp_thread_attach("staller") == RBWP_OK, "rbwp_thread_attach");
    long switched = switches();
    struct quiet quiet = quiet_now();
    for (long i = 0; i < staller->pairs; i++) {
        uint64_t begin = rbwp_now_ticks();
        rbwp_begin(slot[i % SLOTS]);
        rbwp_end();
        const double ns = staller->ns[i] = (double)(rbwp_now_ticks() - begin) * per_tick;
        if (ns <= 50000 && i % PAIRS_PER_LOOK != 0)
            continue;
        const long now = switches();
        const struct quiet now_quiet = quiet_now();
        double *worst = now == switched ? &staller->own_ns : &staller->pushed_ns;
        if (ns > *worst && (now == switched || was_pushed(&quiet, &now_quiet, ns)))
            *worst = ns;
        switched = switches();
        quiet = quiet_now();
    }
    rbwp_thread_detach();
    return NULL;
}

static void stalls(const char *what, uint64_t cap_mb, long delay_us, unsigned threads, long pairs)
{
    struct staller staller[2] = {{.pairs = pairs}, {.pairs = pairs}};
    double *ns = malloc((size_t)pairs * threads * sizeof *ns), own_ns = 0, pushed_ns = 0;
    require(ns != NULL, "malloc");
    memset(ns, 0, (size_t)pairs * threads * sizeof *ns); /* its pages, now */
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = 1;
    config.cap_bytes = cap_mb ? cap_mb << 20 : RBWP_CAP_NONE;
    struct rbwp_session *session = start_with(config);
    disk_delay_us = delay_us;
    for (unsigned i = 0; i < threads; i++) {
        staller[i].ns = ns + (size_t)i * (size_t)pairs;
        require(pthread_create(&staller[i].thread, NULL, record_stalls, &staller[i]) == 0,
                "pthread_create");
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(staller[i].thread, NULL);
        own_ns = staller[i].own_ns > own_ns ? staller[i].own_ns : own_ns;
        pushed_ns = staller[i].pushed_ns > pushed_ns ? staller[i].pushed_ns : pushed_ns;
    }
    disk_delay_us = 0;
    struct rbwp_session_summary summary = stop_session(session);
    const size_t count = (size_t)pairs * threads;
    const double worst_ns = own_ns > pushed_ns ? own_ns : pushed_ns;
    const double target_ns = cap_mb <= 4 ? 1e6 : 0.2e6;
    double p50 = quantile(ns, count, 0.5);
    printf("%s, %u threads: p50 %.0f ns, p99.9 %.0f ns, worst %.3f ms; by itself %.3f ms, pushed "
           "aside by the session's threads %.3f ms; peak %llu MB, %llu lost\n",
           what, threads, p50, ns[(size_t)(0.999 * (double)count)], ns[count - 1] / 1e6,
           own_ns / 1e6, pushed_ns / 1e6, (unsigned long long)summary.peak_bytes >> 20,
           (unsigned long long)summary.lost_records);
    char name[100];
    snprintf(name, sizeof name, "worst pair, %s, %u threads", what, threads);
    figure_at_most(name, worst_ns / 1e6, "ms", target_ns / 1e6);
    free(ns);
}

static void stalls_of_disks(unsigned threads)
{
    stalls("good disk", 1024, 0, threads, 5000000);
    stalls("disk that takes 20 ms a write", 1024, 20000, threads, 5000000);
}

static void stalls_at_the_cap(unsigned threads)
{
    stalls("cap of 4 MB", 4, 0, threads, 5000000);
}

/* which: with two threads, on disks or at the cap, as often as there are rounds; NULL: each once.
 */
static void all_stalls(const char *which)
{
    for (unsigned r = 0; which && r < rounds; r++)
        if (strcmp(which, "cap") == 0)
            stalls_at_the_cap(2);
        else
            stalls_of_disks(2);
    for (unsigned threads = 1; !which && threads <= 2; threads++) {
        stalls_of_disks(threads);
        stalls_at_the_cap(threads);
    }
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
    if (argc > 2 && strcmp(argv[2], "stalls") == 0) {
        all_stalls(argc > 3 ? argv[3] : NULL);
        return 0;
    }
    require(rbwp_thread_attach("bench") == RBWP_OK, "rbwp_thread_attach");
    if (argc > 2 && strcmp(argv[2], "cpu") == 0) {
        all_cpu();
        return 0;
    }
    if (argc > 2 && strcmp(argv[2], "on_cpu") == 0) {
        on_cpu();
        return 0;
    }
    if (argc > 2 && strcmp(argv[2], "stacks") == 0) {
        stacks();
        return 0;
    }

    hot_path();
    on_cpu();
    stacks();
    streaming(1, 64, 10000000);
    streaming(2, 64, 5000000);
    streaming(4, 64, 2500000);
    all_cpu();
    sizes("busy gaps", busy_gap, 1, 1000000);
    sizes("busy gaps", busy_gap, 2, 300000);
    sizes("log-normal gaps", log_normal_gap, 1, 1000000);
    sizes("log-normal gaps", log_normal_gap, 2, 150000);
    all_stalls(NULL);
    return 0;
}
