/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TSC is trusted if CPUID says "invariant" and the kernel still lists it
 * as a clock source (it drops one that it has seen to be wrong). RBWP_CLOCK=monotonic
 * in the environment overrules that.
 */
#include "clock.h"

#include "rbwp_record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>
#if RBWP_HAVE_TSC_
#include <cpuid.h>
#endif

#define NS_PER_S 1000000000
#define SAMPLE_TRIES 5

int rbwp_clock_tsc_;
static _Atomic(uint64_t (*)(void)) replaced_clock;
#define NO_LINE INT64_MIN
static _Atomic int64_t line_offset_ns = NO_LINE;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    uint64_t ticks;
    int64_t monotonic_ns;
} origin; /* set once by decide */

static int64_t system_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

#if RBWP_HAVE_TSC_
static bool kernel_lists_tsc(void)
{
    char list[256];
    int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; /* a sandbox without sysfs: the CPU's word stands */
    ssize_t n = read(fd, list, sizeof list - 1);
    close(fd);
    list[n > 0 ? n : 0] = 0;
    return strstr(list, "tsc") != NULL;
}

static bool tsc_is_invariant(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx & 1u << 8) != 0;
}
#endif

static void decide(void)
{
#if RBWP_HAVE_TSC_
    const char *choice = getenv("RBWP_CLOCK");
    bool wanted = !choice || strcmp(choice, "monotonic") != 0;
    bool usable = wanted && tsc_is_invariant() && kernel_lists_tsc();
    __atomic_store_n(&rbwp_clock_tsc_, usable, __ATOMIC_RELAXED);
#endif
    origin.monotonic_ns = system_ns(CLOCK_MONOTONIC);
    origin.ticks = rbwp_now_ticks();
}

void clock_prepare(void)
{
    pthread_once(&once, decide);
}

enum rbwp_clock_kind clock_kind(void)
{
    clock_prepare();
    if (atomic_load_explicit(&replaced_clock, memory_order_relaxed))
        return RBWP_CLOCK_USER;
    return rbwp_clock_tsc_ ? RBWP_CLOCK_TSC : RBWP_CLOCK_MONOTONIC;
}

void clock_replace(uint64_t (*read_ticks)(void))
{
    clock_prepare();
    atomic_store_explicit(&replaced_clock, read_ticks, memory_order_relaxed);
    __atomic_store_n(&rbwp_clock_tsc_, 0, __ATOMIC_RELAXED);
    if (!read_ticks)
        decide();
}

/* Ticks when the inline read of the TSC is not for this machine. */
uint64_t rbwp_clock_read_(void)
{
    uint64_t (*replaced)(void) = atomic_load_explicit(&replaced_clock, memory_order_relaxed);
    return replaced ? replaced() : (uint64_t)system_ns(CLOCK_MONOTONIC);
}

uint64_t rbwp_ticks_per_second(void)
{
    if (clock_kind() != RBWP_CLOCK_TSC)
        return NS_PER_S;
    int64_t elapsed_ns;
    uint64_t ticks;
    do { /* right after the start there is no base to measure over yet: wait for a millisecond */
        elapsed_ns = system_ns(CLOCK_MONOTONIC) - origin.monotonic_ns;
        ticks = rbwp_now_ticks() - origin.ticks;
    } while (elapsed_ns < NS_PER_S / 1000);
    return (uint64_t)((double)ticks * NS_PER_S / (double)elapsed_ns + 0.5);
}

uint64_t rbwp_ticks_from_ns(uint64_t duration_ns)
{
    double ticks = (double)duration_ns * (double)rbwp_ticks_per_second() / NS_PER_S;
    return ticks >= (double)(UINT64_MAX / 2) ? UINT64_MAX / 2 : (uint64_t)ticks;
}

uint64_t rbwp_ns_from_ticks(uint64_t duration_ticks)
{
    double ns = (double)duration_ticks * NS_PER_S / (double)rbwp_ticks_per_second();
    return ns >= (double)(UINT64_MAX / 2) ? UINT64_MAX / 2 : (uint64_t)ns;
}

void clock_set_line(const struct timeline *line)
{
    atomic_store_explicit(&line_offset_ns, line ? line->offset_ns : NO_LINE, memory_order_relaxed);
}

int64_t rbwp_now_ns(void)
{
    int64_t offset_ns = atomic_load_explicit(&line_offset_ns, memory_order_relaxed);
    return offset_ns == NO_LINE ? system_ns(CLOCK_REALTIME) : clock_now_ns(offset_ns);
}

int64_t clock_now_ns(int64_t offset_ns)
{
    return system_ns(CLOCK_MONOTONIC) + offset_ns;
}

/* ---- the time line ------------------------------------------------------------ */

/*
 * Ticks, monotonic and real time of one moment: the narrowest of a few tries, for the thread may
 * lose its CPU between any two of these reads.
 */
static struct rbwp_clock_sample take_sample(uint64_t *window_ticks_out)
{
    struct rbwp_clock_sample best = {0};
    *window_ticks_out = UINT64_MAX;
    for (int i = 0; i < SAMPLE_TRIES; i++) {
        uint64_t before = rbwp_now_ticks();
        int64_t real = system_ns(CLOCK_REALTIME);
        int64_t monotonic = system_ns(CLOCK_MONOTONIC);
        uint64_t after = rbwp_now_ticks();
        uint64_t window = after > before ? after - before : 0;
        if (window <= *window_ticks_out) {
            *window_ticks_out = window;
            best = (struct rbwp_clock_sample){before + window / 2, 0, monotonic, real};
        }
    }
    if (clock_kind() == RBWP_CLOCK_MONOTONIC)
        best.ticks = (uint64_t)best.monotonic_ns; /* it is the same clock */
    return best;
}

static void add_sample(struct timeline *line)
{
    uint64_t window;
    struct rbwp_clock_sample sample = take_sample(&window);
    uint64_t error_ns = rbwp_ns_from_ticks(window) / 2 + 1;
    if (error_ns > line->error_ns)
        line->error_ns = error_ns;
    sample.time_ns = sample.monotonic_ns + line->offset_ns;
    if (line->samples) {
        const struct rbwp_clock_sample *last = &line->sample[line->samples - 1];
        if (sample.ticks <= last->ticks)
            return;
        if (sample.time_ns < last->time_ns)
            sample.time_ns = last->time_ns;
    }
    line->sample[line->samples++] = sample;
}

void timeline_start(struct timeline *line)
{
    line->samples = 0;
    line->error_ns = 0;
    line->offset_ns = 0;
    add_sample(line);
    struct rbwp_clock_sample *first = &line->sample[0];
    line->offset_ns = first->realtime_ns - first->monotonic_ns;
    first->time_ns = first->realtime_ns;
}

/* When full, every second sample of the older half goes: old times are rarely asked for again. */
static void thin_out(struct timeline *line)
{
    uint32_t kept = 0, half = line->samples / 2;
    for (uint32_t i = 0; i < line->samples; i++)
        if (i >= half || i % 2 == 0)
            line->sample[kept++] = line->sample[i];
    line->samples = kept;
}

void timeline_sample(struct timeline *line)
{
    if (line->samples == TIMELINE_SAMPLES_MAX)
        thin_out(line);
    add_sample(line);
}

struct timeline_piece timeline_find(const struct timeline *line, uint64_t ticks)
{
    uint32_t low = 0,
             high = line->samples - 1; /* sample[low].ticks <= ticks < sample[high].ticks */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (line->sample[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    const struct rbwp_clock_sample *a = &line->sample[low], *b = &line->sample[high];
    double ns_per_tick = a == b ? 1e9 / (double)rbwp_ticks_per_second()
                                : (double)(b->time_ns - a->time_ns) / (double)(b->ticks - a->ticks);
    return (struct timeline_piece){
        .base_ticks = a->ticks,
        .end_ticks = high + 1 == line->samples ? UINT64_MAX : b->ticks,
        .base_ns = a->time_ns,
        .ns_per_tick = ns_per_tick,
    };
}

int64_t timeline_ns(const struct timeline *line, uint64_t ticks)
{
    struct timeline_piece piece = timeline_find(line, ticks);
    return timeline_piece_ns(&piece, ticks);
}
