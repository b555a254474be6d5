/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_work.c - what the work manager costs, and what profiling adds to it.
 *
 * Prints one line per measurement. Absolute times depend on the machine and its
 * load; what is to be compared stands in one line and was measured in turns, a
 * round of each, and the line gives medians over the rounds. Where a worker is
 * busy all the time its CPU time is used, which a shared machine disturbs less.
 *
 *     bench_work [ROUNDS [scaling]]    (two workers against one, alone)
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "rbwp_record.h"
#include "rbwp_work.h"

#define ROUNDS_DEFAULT 7
#define ROUNDS_MAX 99
#define LEVELS 3
#define ITEMS_MAX 256

static unsigned rounds = ROUNDS_DEFAULT;

/* ---- small things ----------------------------------------------------------- */

static void busy_ns(double duration_ns)
{
    uint64_t end = rbwp_now_ticks() + rbwp_ticks_from_ns((uint64_t)duration_ns);
    while (rbwp_now_ticks() < end) {
    }
}

static struct rbwp_work_manager *start_manager(uint32_t workers, bool no_workers)
{
    struct rbwp_work_config config = {
        .size = sizeof config, .workers = workers, .no_workers = no_workers};
    struct rbwp_work_manager *manager;
    require(rbwp_work_start(&config, &manager, NULL) == RBWP_OK, "rbwp_work_start");
    return manager;
}

static int usable_cpus(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

/* ---- items ------------------------------------------------------------------ */

/* One item of a bench, on a cache line of its own. */
struct item {
    _Alignas(64) struct rbwp_work_manager *manager;
    struct rbwp_work_handle handle;
    double work_ns;              /* busy time of a run */
    uint64_t runs_max;           /* re-arms itself until then */
    _Atomic uint64_t runs;       /* ended */
    _Atomic uint64_t begun_tick; /* of the last run */
};

static struct item items[ITEMS_MAX];

static void add_items(struct rbwp_work_manager *manager, unsigned count, rbwp_do_work_fn do_work)
{
    for (unsigned i = 0; i < count; i++) {
        items[i] = (struct item){.manager = manager};
        require(rbwp_work_add(manager, "bench item", do_work, &items[i], -1, &items[i].handle) ==
                    RBWP_OK,
                "rbwp_work_add");
    }
}

static bool count_run(struct item *item)
{
    uint64_t runs = atomic_load_explicit(&item->runs, memory_order_relaxed) + 1;
    atomic_store_explicit(&item->runs, runs, memory_order_release);
    return runs < item->runs_max;
}

static bool rearming_do_work(void *argument, struct rbwp_deadline deadline)
{
    (void)deadline;
    struct item *item = argument;
    if (item->work_ns > 0)
        busy_ns(item->work_ns);
    if (count_run(item))
        rbwp_work_make_active(item->manager, item->handle);
    return false;
}

static bool requeueing_do_work(void *argument, struct rbwp_deadline deadline)
{
    (void)deadline;
    return count_run(argument);
}

static bool plain_do_work(void *argument, struct rbwp_deadline deadline)
{
    (void)deadline;
    struct item *item = argument;
    if (item->work_ns > 0)
        busy_ns(item->work_ns);
    count_run(item);
    return false;
}

static bool stamping_do_work(void *argument, struct rbwp_deadline deadline)
{
    (void)deadline;
    struct item *item = argument;
    atomic_store_explicit(&item->begun_tick, rbwp_now_ticks(), memory_order_release);
    return false;
}

/* ---- activations of items that arm themselves -------------------------------- */

/*
 * CPU time per activation with one thread running them. The thread is this one, lent: the same
 * loop as a worker's, and its CPU clock is at hand.
 */
static double activation_ns(rbwp_do_work_fn do_work, unsigned count, uint64_t runs, double work_ns)
{
    struct rbwp_work_manager *manager = start_manager(0, true);
    add_items(manager, count, do_work);
    for (unsigned i = 0; i < count; i++) {
        items[i].runs_max = runs / count;
        items[i].work_ns = work_ns;
        rbwp_work_make_active(manager, items[i].handle);
    }
    double start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    rbwp_work_run(manager, UINT64_MAX);
    double ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
    require(rbwp_work_stop(manager, false, NULL) == RBWP_OK, "rbwp_work_stop");
    return ns / (double)(runs / count * count);
}

static void bench_levels(const char *title, rbwp_do_work_fn do_work, unsigned count, uint64_t runs,
                         double work_ns)
{
    double ns[LEVELS][ROUNDS_MAX];
    for (unsigned round = 0; round < rounds; round++)
        for (int level = 0; level < LEVELS; level++) {
            struct rbwp_session *session = start_session(level);
            ns[level][round] = activation_ns(do_work, count, runs, work_ns);
            stop_session(session);
        }
    double off = median(ns[0], rounds), on = median(ns[1], rounds), fine = median(ns[2], rounds);
    printf("%-34s %3u items: %6.1f ns (%5.1f M/s) at level 0; level 1 %+5.1f ns (%+.1f %%), "
           "level 2 %+5.1f ns\n",
           title, count, off, 1e3 / off, on - off, 100 * (on - off) / off, fine - off);
    char name[100];
    snprintf(name, sizeof name, "work manager, %u items %s, level 0", count, title);
    figure(name, 1e3 / off, "M/s");
    snprintf(name, sizeof name, "work manager, %u items %s, level 1 adds", count, title);
    figure(name, on - off, "ns");
}

/* ---- one worker against two ----------------------------------------------------- */

/* Who arms and two workers have no CPU each. */
static bool is_tight;

static void print_scaling(const char *title, double work_ns, unsigned count, double *one,
                          double *two, double *ratio)
{
    printf("%-30s %4.0f ns of work, %3u items: 1 worker %6.2f M/s, 2 workers %6.2f M/s\n", title,
           work_ns, count, median(one, rounds) / 1e6, median(two, rounds) / 1e6);
    char name[100];
    snprintf(name, sizeof name, "two workers, %s, %u items of %.0f ns", title, count, work_ns);
    figure_at_least(name, median(ratio, rounds), "x one", is_tight ? 0.9 : 1);
    fflush(stdout);
}

/* ---- items armed from outside ------------------------------------------------ */

struct armer {
    unsigned first, count; /* of items */
    _Atomic bool *stop;
    pthread_t thread;
};

/* Arms each of its items whenever it has run. With nothing to arm it lets others have the CPU. */
static void *armer_main(void *argument)
{
    struct armer *armer = argument;
    uint64_t armed[ITEMS_MAX] = {0};
    while (!atomic_load_explicit(armer->stop, memory_order_relaxed)) {
        bool idle = true;
        for (unsigned i = armer->first; i < armer->first + armer->count; i++) {
            if (atomic_load_explicit(&items[i].runs, memory_order_acquire) < armed[i])
                continue;
            armed[i]++;
            rbwp_work_make_active(items[i].manager, items[i].handle);
            idle = false;
        }
        if (idle)
            sched_yield();
    }
    return NULL;
}

/* Activations per second. */
static double outside_rate(unsigned workers, unsigned armer_count, unsigned count, double work_ns,
                           double duration_ns)
{
    struct rbwp_work_manager *manager = start_manager(workers, false);
    add_items(manager, count, plain_do_work);
    for (unsigned i = 0; i < count; i++)
        items[i].work_ns = work_ns;
    _Atomic bool stop = false;
    struct armer armers[4];
    double start_ns = clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < armer_count; i++) {
        armers[i] = (struct armer){
            .first = i * (count / armer_count), .count = count / armer_count, .stop = &stop};
        require(pthread_create(&armers[i].thread, NULL, armer_main, &armers[i]) == 0,
                "pthread_create");
    }
    struct timespec duration = {0, (long)duration_ns};
    nanosleep(&duration, NULL);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < armer_count; i++)
        pthread_join(armers[i].thread, NULL);
    rbwp_work_drain(manager);
    double ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
    uint64_t runs = 0;
    for (unsigned i = 0; i < count; i++)
        runs += items[i].runs;
    require(rbwp_work_stop(manager, true, NULL) == RBWP_OK, "rbwp_work_stop");
    return (double)runs * 1e9 / ns;
}

static void bench_outside(unsigned armer_count, double work_ns)
{
    static const unsigned counts[] = {4, 16, 64, 256};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        double one[ROUNDS_MAX], two[ROUNDS_MAX], ratio[ROUNDS_MAX];
        for (unsigned round = 0; round < rounds; round++) {
            one[round] = outside_rate(1, armer_count, counts[c], work_ns, 100e6);
            two[round] = outside_rate(2, armer_count, counts[c], work_ns, 100e6);
            ratio[round] = two[round] / one[round];
        }
        char title[40];
        snprintf(title, sizeof title, "armed by %u outside", armer_count);
        print_scaling(title, work_ns, counts[c], one, two, ratio);
    }
}

/* ---- bursts: armed from outside, then waited for ------------------------------- */

/* Activations per second. */
static double burst_rate(unsigned workers, unsigned count, double work_ns, double duration_ns)
{
    struct rbwp_work_manager *manager = start_manager(workers, false);
    add_items(manager, count, plain_do_work);
    for (unsigned i = 0; i < count; i++)
        items[i].work_ns = work_ns;
    double start_ns = clock_ns(CLOCK_MONOTONIC), ns;
    uint64_t runs = 0;
    do {
        for (unsigned i = 0; i < count; i++)
            rbwp_work_make_active(manager, items[i].handle);
        rbwp_work_drain(manager);
        runs += count;
        ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
    } while (ns < duration_ns);
    require(rbwp_work_stop(manager, true, NULL) == RBWP_OK, "rbwp_work_stop");
    return (double)runs * 1e9 / ns;
}

/* Activations per second of items that re-arm themselves, once armed from outside. */
static double rearming_rate(unsigned workers, unsigned count, double work_ns, uint64_t runs)
{
    struct rbwp_work_manager *manager = start_manager(workers, false);
    add_items(manager, count, rearming_do_work);
    double start_ns = clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < count; i++) {
        items[i].work_ns = work_ns;
        items[i].runs_max = runs / count;
        rbwp_work_make_active(manager, items[i].handle);
    }
    rbwp_work_drain(manager);
    double ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
    require(rbwp_work_stop(manager, true, NULL) == RBWP_OK, "rbwp_work_stop");
    return (double)(runs / count * count) * 1e9 / ns;
}

static void bench_rearming(double work_ns, uint64_t runs)
{
    static const unsigned counts[] = {4, 16, 64, 256};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        double one[ROUNDS_MAX], two[ROUNDS_MAX], ratio[ROUNDS_MAX];
        for (unsigned round = 0; round < rounds; round++) {
            one[round] = rearming_rate(1, counts[c], work_ns, runs);
            two[round] = rearming_rate(2, counts[c], work_ns, runs);
            ratio[round] = two[round] / one[round];
        }
        print_scaling("re-arm themselves", work_ns, counts[c], one, two, ratio);
    }
}

static void bench_bursts(double work_ns)
{
    static const unsigned counts[] = {4, 16, 64, 256};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        double one[ROUNDS_MAX], two[ROUNDS_MAX], ratio[ROUNDS_MAX];
        for (unsigned round = 0; round < rounds; round++) {
            one[round] = burst_rate(1, counts[c], work_ns, 50e6);
            two[round] = burst_rate(2, counts[c], work_ns, 50e6);
            ratio[round] = two[round] / one[round];
        }
        print_scaling("armed in bursts, then drained", work_ns, counts[c], one, two, ratio);
    }
}

static void bench_scaling(void)
{
    bench_rearming(0, 1000000);
    bench_rearming(500, 100000);
    bench_outside(1, 0);
    bench_outside(1, 500);
    bench_bursts(0);
    bench_bursts(500);
}

/* ---- wake-up ------------------------------------------------------------------ */

#define WAKE_UPS 1000

/* From make_active to do_work. */
static double wake_item_ns(void)
{
    atomic_store(&items[0].begun_tick, 0);
    uint64_t armed_tick = rbwp_now_ticks(), begun_tick;
    rbwp_work_make_active(items[0].manager, items[0].handle);
    while ((begun_tick = atomic_load_explicit(&items[0].begun_tick, memory_order_acquire)) == 0)
        __builtin_ia32_pause();
    return begun_tick > armed_tick ? (double)rbwp_ns_from_ticks(begun_tick - armed_tick) : 0;
}

static void print_wake_up(const char *title, uint32_t workers, double *ns, size_t count)
{
    printf("wake-up, %-31s %u workers: p50 %6.2f us, p99 %7.2f us\n", title, workers,
           quantile(ns, count, 0.5) / 1e3, quantile(ns, count, 0.99) / 1e3);
    fflush(stdout);
}

/* With pauses in which the workers spin. */
static void bench_wake_up(const char *title, uint32_t workers, double pause_ns)
{
    struct rbwp_work_manager *manager = start_manager(workers, false);
    add_items(manager, 1, stamping_do_work);
    static double ns[WAKE_UPS * ROUNDS_MAX];
    size_t count = (size_t)WAKE_UPS * rounds / 4;
    for (size_t i = 0; i < count; i++) {
        busy_ns(pause_ns);
        ns[i] = wake_item_ns();
    }
    print_wake_up(title, workers, ns, count);
    require(rbwp_work_stop(manager, true, NULL) == RBWP_OK, "rbwp_work_stop");
}

/* ---- wake-up from sleep, and the kernel's part of it: a bare futex ------------------- */

static struct {
    _Alignas(64) _Atomic uint32_t word; /* wake-ups asked for */
    _Alignas(64) _Atomic uint64_t awake_tick;
    _Atomic uint32_t asleep; /* wake-ups seen, when it goes to sleep */
    uint32_t last;
} bare;

static void *sleep_bare(void *argument)
{
    (void)argument;
    for (uint32_t seen = 0; seen < bare.last;) {
        atomic_store(&bare.asleep, seen);
        while (atomic_load(&bare.word) == seen)
            syscall(SYS_futex, &bare.word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        seen++;
        atomic_store(&bare.awake_tick, rbwp_now_ticks());
    }
    return NULL;
}

/* From before the call that wakes to when the woken thread has read the clock: below it no manager
 * can be whose workers sleep. */
static double wake_bare_ns(uint32_t number)
{
    while (atomic_load(&bare.asleep) != number)
        sched_yield();
    atomic_store(&bare.awake_tick, 0);
    uint64_t asked_tick = rbwp_now_ticks(), awake_tick;
    atomic_store(&bare.word, number + 1);
    syscall(SYS_futex, &bare.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while ((awake_tick = atomic_load_explicit(&bare.awake_tick, memory_order_acquire)) == 0)
        __builtin_ia32_pause();
    return awake_tick > asked_tick ? (double)rbwp_ns_from_ticks(awake_tick - asked_tick) : 0;
}

/* In turns: what a sleeping CPU takes to wake changes from one moment to the next. */
static void bench_sleepers(uint32_t workers)
{
    struct rbwp_work_manager *manager = start_manager(workers, false);
    add_items(manager, 1, stamping_do_work);
    static double item_ns[WAKE_UPS * ROUNDS_MAX], bare_ns[WAKE_UPS * ROUNDS_MAX];
    const uint32_t count = WAKE_UPS * rounds / 4;
    const struct timespec pause = {0, 100000};
    pthread_t sleeper;
    bare.last = count;
    atomic_store(&bare.word, 0);
    atomic_store(&bare.asleep, 0);
    require(pthread_create(&sleeper, NULL, sleep_bare, NULL) == 0, "pthread_create");
    for (uint32_t i = 0; i < count; i++) {
        nanosleep(&pause, NULL);
        item_ns[i] = wake_item_ns();
        nanosleep(&pause, NULL);
        bare_ns[i] = wake_bare_ns(i);
    }
    pthread_join(sleeper, NULL);
    print_wake_up("armed after 200 us of sleep", workers, item_ns, count);
    print_wake_up("a bare futex, in turns with it", workers, bare_ns, count);
    const double p50 = quantile(item_ns, count, 0.5), p99 = quantile(item_ns, count, 0.99);
    char name[100];
    snprintf(name, sizeof name, "wake-up of %u from sleep, p50", workers);
    figure_at_most(name, p50 / 1e3, "us", 1.5);
    snprintf(name, sizeof name, "wake-up of %u from sleep, p99", workers);
    figure_at_most(name, p99 / 1e3, "us", 10);
    /* Beside it, what the kernel takes alone: more than the target where a sleeping CPU halts. */
    snprintf(name, sizeof name, "bare futex beside the wake-up of %u, p50", workers);
    figure(name, quantile(bare_ns, count, 0.5) / 1e3, "us");
    snprintf(name, sizeof name, "bare futex beside the wake-up of %u, p99", workers);
    figure(name, quantile(bare_ns, count, 0.99) / 1e3, "us");
    snprintf(name, sizeof name, "wake-up of %u from sleep, p50, more than a bare futex", workers);
    figure(name, (p50 - quantile(bare_ns, count, 0.5)) / 1e3, "us");
    require(rbwp_work_stop(manager, true, NULL) == RBWP_OK, "rbwp_work_stop");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (unsigned)atoi(argv[1]);
    require(rounds >= 1 && rounds <= ROUNDS_MAX, "number of rounds, 1 to 99,");
    require(rbwp_thread_attach("bench") == RBWP_OK, "rbwp_thread_attach");

    is_tight = usable_cpus() < 3;
    if (argc > 2 && strcmp(argv[2], "scaling") == 0) {
        bench_scaling();
        return 0;
    }
    bench_levels("re-arm themselves", rearming_do_work, 1, 1000000, 0);
    bench_levels("re-arm themselves", rearming_do_work, 16, 1000000, 0);
    bench_levels("re-arm themselves", rearming_do_work, 256, 1000000, 0);
    bench_levels("requeue", requeueing_do_work, 1, 1000000, 0);
    bench_levels("requeue", requeueing_do_work, 16, 1000000, 0);
    bench_levels("1 us of work, re-arm themselves", rearming_do_work, 16, 100000, 1000);
    bench_scaling();
    bench_wake_up("armed every 5 us", 1, 5e3);
    bench_wake_up("armed every 5 us", 2, 5e3);
    bench_sleepers(1);
    bench_sleepers(2);
    rbwp_thread_detach();
    return 0;
}
