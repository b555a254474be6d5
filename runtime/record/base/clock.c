/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TSC is trusted if CPUID says "invariant" and the kernel still lists it
 * as a clock source (it drops one that it has seen to be wrong). RBWP_CLOCK=monotonic
 * in the environment overrules that.
 */
#include "clock.h"

#include "rbwp_record.h"
#include "read_clock.h"

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

static _Atomic(const char *) replaced_list;

static _Atomic uint32_t epoch;
static _Atomic uint64_t latest_ticks; /* somebody has seen these in this epoch */

bool clock_list_has(const char *list, const char *word)
{
    static const char blanks[] = " \n";
    size_t bytes = strlen(word);
    for (list += strspn(list, blanks); *list; list += strspn(list, blanks)) {
        size_t next = strcspn(list, blanks);
        if (next == bytes && memcmp(list, word, bytes) == 0)
            return true;
        list += next;
    }
    return false;
}

#if RBWP_HAVE_TSC_
static const char sources_list[] =
    "/sys/devices/system/clocksource/clocksource0/available_clocksource";

static bool kernel_lists_tsc(void)
{
    char list[256];
    const char *replaced = atomic_load_explicit(&replaced_list, memory_order_relaxed);
    int fd = open(replaced ? replaced : sources_list, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; /* a sandbox without sysfs: the CPU's word stands */
    ssize_t n = read(fd, list, sizeof list - 1);
    close(fd);
    list[n > 0 ? n : 0] = 0;
    return clock_list_has(list, "tsc");
}

static bool tsc_is_invariant(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx & 1u << 8) != 0;
}
#endif

/* ---- the rate of the counter ------------------------------------------------------ */

/*
 * Measured from a base on. A rate that differs from the known one by more than any clock may says
 * that the counter or the system's clock was moved: the known one stands, and is measured from now
 * on. If the next one says the same, the known one was wrong.
 */
static pthread_mutex_t rate_lock = PTHREAD_MUTEX_INITIALIZER; /* nothing is taken inside it */
static struct {
    uint64_t base_ticks;
    int64_t base_ns;
    _Atomic uint64_t known_hz; /* 0: none; may be read without the lock */
    uint64_t doubtful_hz;      /* 0: none */
} rate;                        /* guarded by rate_lock */

#define RATE_NS_MIN 1000000 /* to measure over */

static bool differ(uint64_t a_hz, uint64_t b_hz)
{
    uint64_t apart = a_hz > b_hz ? a_hz - b_hz : b_hz - a_hz;
    return apart > b_hz / 200;
}

static void measure_rate_from_now(void)
{
    rate.base_ns = read_clock_ns(CLOCK_MONOTONIC);
    rate.base_ticks = rbwp_now_ticks();
}

/* False if it is too early. Locked. */
static bool measure_rate(void)
{
    int64_t elapsed_ns = read_clock_ns(CLOCK_MONOTONIC) - rate.base_ns;
    uint64_t ticks = rbwp_now_ticks() - rate.base_ticks;
    if (elapsed_ns < RATE_NS_MIN)
        return rate.known_hz != 0 && elapsed_ns >= 0;
    double hz_measured = (double)ticks * NS_PER_S / (double)elapsed_ns + 0.5;
    uint64_t hz = hz_measured < 1 ? 1 : hz_measured > 1e12 ? (uint64_t)1e12 : (uint64_t)hz_measured;
    if (rate.known_hz == 0 || !differ(hz, rate.known_hz)) {
        rate.known_hz = hz;
        rate.doubtful_hz = 0;
        return true;
    }
    if (rate.doubtful_hz != 0 && !differ(hz, rate.doubtful_hz))
        rate.known_hz = hz;
    rate.doubtful_hz = hz;
    measure_rate_from_now();
    return true;
}

static void unlock_in_child(void)
{
    pthread_mutex_init(&rate_lock, NULL); /* whoever held it does not exist here */
}

static void decide(void)
{
#if RBWP_HAVE_TSC_
    const char *choice = secure_getenv("RBWP_CLOCK");
    bool wanted = !choice || strcmp(choice, "monotonic") != 0;
    bool usable = wanted && tsc_is_invariant() && kernel_lists_tsc();
    __atomic_store_n(&rbwp_clock_tsc_, usable, __ATOMIC_RELAXED);
#endif
    measure_rate_from_now();
}

static void prepare(void)
{
    pthread_atfork(NULL, NULL, unlock_in_child);
    decide();
}

void clock_prepare(void)
{
    pthread_once(&once, prepare);
}

enum rbwp_clock_kind clock_kind(void)
{
    clock_prepare();
    if (atomic_load_explicit(&replaced_clock, memory_order_relaxed))
        return RBWP_CLOCK_USER;
    return rbwp_clock_tsc_ ? RBWP_CLOCK_TSC : RBWP_CLOCK_MONOTONIC;
}

bool clock_is_doubted(void)
{
#if RBWP_HAVE_TSC_
    return clock_kind() == RBWP_CLOCK_TSC && !kernel_lists_tsc();
#else
    return false;
#endif
}

void clock_replace_list(const char *path)
{
    atomic_store_explicit(&replaced_list, path, memory_order_relaxed);
}

void clock_replace(uint64_t (*read_ticks)(void))
{
    clock_prepare();
    atomic_store_explicit(&replaced_clock, read_ticks, memory_order_relaxed);
    __atomic_store_n(&rbwp_clock_tsc_, 0, __ATOMIC_RELAXED);
    if (!read_ticks)
        decide();
    atomic_store_explicit(&latest_ticks, rbwp_now_ticks(), memory_order_relaxed);
}

/* Ticks when the inline read of the TSC is not for this machine. */
uint64_t rbwp_clock_read_(void)
{
    uint64_t (*replaced)(void) = atomic_load_explicit(&replaced_clock, memory_order_relaxed);
    return replaced ? replaced() : (uint64_t)read_clock_ns(CLOCK_MONOTONIC);
}

uint64_t rbwp_ticks_per_second(void)
{
    if (clock_kind() != RBWP_CLOCK_TSC)
        return NS_PER_S;
    for (;;) { /* right after the start there is no base to measure over yet: wait for a millisecond
                */
        pthread_mutex_lock(&rate_lock);
        bool known = measure_rate();
        uint64_t hz = rate.known_hz;
        pthread_mutex_unlock(&rate_lock);
        if (known)
            return hz;
    }
}

uint64_t rbwp_ticks_from_ns(uint64_t duration_ns)
{
    double ticks = (double)duration_ns * (double)rbwp_ticks_per_second() / NS_PER_S;
    return ticks >= (double)(UINT64_MAX / 2) ? UINT64_MAX / 2 : (uint64_t)ticks;
}

static uint64_t ns_at(uint64_t hz, uint64_t ticks)
{
    double ns = (double)ticks * NS_PER_S / (double)hz;
    return ns >= (double)(UINT64_MAX / 2) ? UINT64_MAX / 2 : (uint64_t)ns;
}

uint64_t rbwp_ns_from_ticks(uint64_t duration_ticks)
{
    return ns_at(rbwp_ticks_per_second(), duration_ticks);
}

uint64_t clock_ns_from_ticks(uint64_t duration_ticks)
{
    uint64_t hz = __atomic_load_n(&rbwp_clock_tsc_, __ATOMIC_RELAXED)
                      ? atomic_load_explicit(&rate.known_hz, memory_order_relaxed)
                      : NS_PER_S;
    return ns_at(hz ? hz : rbwp_ticks_per_second(), duration_ticks);
}

void clock_set_line(const struct timeline *line)
{
    atomic_store_explicit(&line_offset_ns, line ? line->offset_ns : NO_LINE, memory_order_relaxed);
}

int64_t rbwp_now_ns(void)
{
    int64_t offset_ns = atomic_load_explicit(&line_offset_ns, memory_order_relaxed);
    return offset_ns == NO_LINE ? read_clock_ns(CLOCK_REALTIME) : clock_now_ns(offset_ns);
}

int64_t clock_now_ns(int64_t offset_ns)
{
    return read_clock_ns(CLOCK_MONOTONIC) + offset_ns;
}

/* As pthread_getcpuclockid has it, which wants a thread that is known to live. */
int64_t clock_thread_ran_ns(uint64_t os_id)
{
    struct timespec ran;
    if (clock_gettime((clockid_t)(~(unsigned)os_id << 3 | 6), &ran) != 0)
        return -1;
    return ran.tv_sec * INT64_C(1000000000) + ran.tv_nsec;
}

/* The clocks were moved apart: what passed before says nothing of the rate. */
static void forget_rate_base(void)
{
    pthread_mutex_lock(&rate_lock);
    measure_rate_from_now();
    pthread_mutex_unlock(&rate_lock);
}

/* ---- epochs --------------------------------------------------------------------------- */

uint32_t clock_epoch(void)
{
    /* acquire: the counter is read after it, and so is later on a counter that does not go back */
    uint32_t current = atomic_load_explicit(&epoch, memory_order_acquire);
    uint64_t latest = atomic_load_explicit(&latest_ticks, memory_order_acquire);
    uint64_t now = rbwp_now_ticks();
    bool back = clock_steps_back(latest, now);
    if (!back && now <= latest)
        return current;
    if (atomic_compare_exchange_strong_explicit(&latest_ticks, &latest, now, memory_order_acq_rel,
                                                memory_order_acquire) &&
        back)
        return atomic_fetch_add_explicit(&epoch, 1, memory_order_acq_rel) + 1;
    return atomic_load_explicit(&epoch, memory_order_acquire);
}

/* ---- the time line ------------------------------------------------------------ */

/*
 * Ticks, monotonic and real time of one moment: the narrowest of a few tries, for the thread may
 * lose its CPU between any two of these reads.
 */
static struct rbwp_clock_sample clock_take_sample(uint64_t *window_ticks_out)
{
    struct rbwp_clock_sample best = {0};
    *window_ticks_out = UINT64_MAX;
    for (int i = 0; i < SAMPLE_TRIES; i++) {
        uint64_t before = rbwp_now_ticks();
        int64_t real = read_clock_ns(CLOCK_REALTIME);
        int64_t monotonic = read_clock_ns(CLOCK_MONOTONIC);
        uint64_t after = rbwp_now_ticks();
        uint64_t window = after > before ? after - before : before - after;
        if (window <= *window_ticks_out) {
            *window_ticks_out = window;
            best = (struct rbwp_clock_sample){before + window / 2, 0, monotonic, real};
        }
    }
    if (clock_kind() == RBWP_CLOCK_MONOTONIC)
        best.ticks = (uint64_t)best.monotonic_ns; /* it is the same clock */
    return best;
}

/* What time and counter disagree by, beyond what a clock's rate may: they were moved apart. */
static bool moved_apart(const struct rbwp_clock_sample *a, const struct rbwp_clock_sample *b)
{
    double expected_ns = (double)(b->ticks - a->ticks) * 1e9 / (double)rbwp_ticks_per_second();
    double off_ns = expected_ns - (double)(b->time_ns - a->time_ns);
    double allowed_ns = 1e6 + expected_ns / 100;
    return off_ns > allowed_ns || off_ns < -allowed_ns;
}

/* Of the piece from sample a to the one behind it. Where the clocks were moved nothing is known but
 * that the time lies between the two. */
static uint64_t moved_error(const struct timeline *line, uint32_t a)
{
    const struct rbwp_clock_sample *from = &line->sample[a], *to = from + 1;
    bool known = line->epoch[a] == line->epoch[a + 1] && !moved_apart(from, to);
    return known ? 0 : (uint64_t)(to->time_ns - from->time_ns);
}

/* ---- where the line was going ---------------------------------------------------------- */

/* A rate that changes by more than this shows that it is being changed; and what reading the clocks
 * may be off. */
#define UNREST_RATE 0.5e-6
#define UNREST_NS 150u
#define UNREST_SAMPLES 40u
#define PAUSE_NS 1000000000
#define PAUSE_UNREST_NS 50000000

static double slope_of(const struct rbwp_clock_sample *from, const struct rbwp_clock_sample *to)
{
    return (double)(to->time_ns - from->time_ns) / (double)(to->ticks - from->ticks);
}

/* How far a piece's end is from where it would be at this slope. */
static uint64_t off_slope_ns(const struct rbwp_clock_sample *from,
                             const struct rbwp_clock_sample *to, double slope)
{
    double off_ns =
        (double)(to->ticks - from->ticks) * slope - (double)(to->time_ns - from->time_ns);
    return (uint64_t)((off_ns < 0 ? -off_ns : off_ns) + 0.9);
}

/* True if the clocks were moved in the piece that begins at a sample. */
static bool is_doubtful(const struct timeline *line, uint32_t a)
{
    int64_t long_ns = line->sample[a + 1].time_ns - line->sample[a].time_ns;
    return line->epoch[a] != line->epoch[a + 1] || line->piece_error_ns[a] >= (uint64_t)long_ns;
}

/* How far a sample is from where the line was going until sample a, by what it did for as long as
 * the new piece. False: it has not been there for so long. */
static bool off_past(const struct timeline *line, uint32_t a, const struct rbwp_clock_sample *to,
                     uint64_t *off_ns_out)
{
    const struct rbwp_clock_sample *at = &line->sample[a];
    const uint64_t ticks = to->ticks - at->ticks;
    uint32_t from = a;
    while (from > 0 && at->ticks - line->sample[from].ticks < ticks && !is_doubtful(line, from - 1))
        from--;
    if (from == a || at->ticks - line->sample[from].ticks < ticks)
        return false;
    *off_ns_out = off_slope_ns(at, to, slope_of(&line->sample[from], at));
    return true;
}

/* The clocks' rates change: see to it that samples come often. */
static void note_unrest(struct timeline *line, uint64_t off_ns, int64_t long_ns)
{
    if (off_ns > UNREST_NS && (double)off_ns > (double)long_ns * UNREST_RATE)
        line->unrest = UNREST_SAMPLES;
    else if (line->unrest > 0)
        line->unrest--;
}

/* Pieces without a past are compared with what came after them. They may have been used already. */
static void judge_by_future(struct timeline *line)
{
    const struct rbwp_clock_sample *last = &line->sample[line->samples - 1];
    while (line->unjudged + 2 < line->samples) {
        const struct rbwp_clock_sample *from = &line->sample[line->unjudged], *to = from + 1;
        if (last->ticks - to->ticks < to->ticks - from->ticks)
            return;
        uint64_t off_ns = off_slope_ns(from, to, slope_of(to, last));
        uint64_t *error_ns = &line->piece_error_ns[line->unjudged++];
        *error_ns = off_ns > *error_ns ? off_ns : *error_ns;
        line->deviation_ns = *error_ns > line->deviation_ns ? *error_ns : line->deviation_ns;
    }
}

/* The piece that ends at the last sample. */
static void judge_last(struct timeline *line)
{
    const uint32_t a = line->samples - 2;
    const struct rbwp_clock_sample *from = &line->sample[a], *to = from + 1;
    uint64_t off_ns;
    line->piece_error_ns[a] = moved_error(line, a);
    if (line->piece_error_ns[a] != 0) {
        line->unjudged = a + 1;
        forget_rate_base();
    } else if (off_past(line, a, to, &off_ns)) {
        line->piece_error_ns[a] = off_ns;
        note_unrest(line, off_ns, to->time_ns - from->time_ns);
        judge_by_future(line);
        line->unjudged = line->unjudged == a ? a + 1 : line->unjudged;
    } else {
        judge_by_future(line);
    }
}

int64_t timeline_pause_ns(const struct timeline *line)
{
    return line->unrest > 0 ? PAUSE_UNREST_NS : PAUSE_NS;
}

/* ---- fewer samples --------------------------------------------------------------------- */

/* What is allowed at first. If too many samples are further off it becomes more, up to so much:
 * then a sample shows something that happened to the clock, and stays. */
#define ALLOWED_NS 100u
#define ALLOWED_NS_MAX 10000000u

/* How far the line would be from what is dropped if it went straight from a over b to c. */
static uint64_t mpi_job_off(const struct timeline *line, uint32_t a, uint32_t b,
                            const struct rbwp_clock_sample *c)
{
    const struct rbwp_clock_sample *from = &line->sample[a], *over = &line->sample[b];
    uint64_t off_ns = off_slope_ns(from, over, slope_of(from, c));
    uint64_t one = line->piece_dropped_ns[a], other = line->piece_dropped_ns[b];
    return off_ns + (one > other ? one : other);
}

/* Drops samples that are closer to the one before than gap_ns, but for an epoch's first and
 * last, and those that matter. */
static void drop_near(struct timeline *line)
{
    uint32_t kept = 0, last = line->samples - 1;
    for (uint32_t i = 1; i <= last; i++) {
        const struct rbwp_clock_sample *sample = &line->sample[i];
        bool inside = i < last && line->epoch[kept] == line->epoch[i] &&
                      line->epoch[i] == line->epoch[i + 1] &&
                      line->piece_error_ns[kept] <= ALLOWED_NS_MAX &&
                      line->piece_error_ns[i] <= ALLOWED_NS_MAX &&
                      sample->time_ns - line->sample[kept].time_ns < line->gap_ns;
        uint64_t off_ns = inside ? mpi_job_off(line, kept, i, sample + 1) : 0;
        if (inside && off_ns <= line->allowed_ns) {
            line->piece_dropped_ns[kept] = off_ns;
            if (line->piece_error_ns[i] > line->piece_error_ns[kept])
                line->piece_error_ns[kept] = line->piece_error_ns[i];
            continue;
        }
        kept++;
        line->sample[kept] = *sample;
        line->epoch[kept] = line->epoch[i];
        line->piece_error_ns[kept] = line->piece_error_ns[i];
        line->piece_dropped_ns[kept] = line->piece_dropped_ns[i];
    }
    line->samples = kept + 1;
}

#define ENOUGH_SAMPLES (TIMELINE_SAMPLES_MAX / 4 * 3)

static void thin_out(struct timeline *line)
{
    int64_t span_ns = line->sample[line->samples - 1].time_ns - line->sample[0].time_ns;
    int64_t gap_ns = span_ns / (TIMELINE_SAMPLES_MAX / 2) + 1;
    line->gap_ns = gap_ns > line->gap_ns ? gap_ns : line->gap_ns;
    drop_near(line);
    while (line->samples > ENOUGH_SAMPLES && line->allowed_ns < ALLOWED_NS_MAX) {
        line->allowed_ns *= 10;
        drop_near(line);
    }
    line->unjudged = line->samples - 1;
    line->swing.from_ticks = 0;
}

/* A clock that was moved all the time: the older half of what is known of it goes, but for the
 * start. */
static void forget_older_half(struct timeline *line)
{
    uint32_t from = line->samples / 2, count = line->samples - from;
    memmove(line->sample + 1, line->sample + from, count * sizeof line->sample[0]);
    memmove(line->epoch + 1, line->epoch + from, count * sizeof line->epoch[0]);
    memmove(line->piece_error_ns + 1, line->piece_error_ns + from,
            count * sizeof line->piece_error_ns[0]);
    memmove(line->piece_dropped_ns + 1, line->piece_dropped_ns + from,
            count * sizeof line->piece_dropped_ns[0]);
    line->samples = count + 1;
    line->unjudged = count;
    line->piece_error_ns[0] = (uint64_t)(line->sample[1].time_ns - line->sample[0].time_ns);
}

/* Whether a straight piece to `to` is near enough to all that is dropped from it, sample b now. */
static bool swings(struct timeline *line, uint32_t a, uint32_t b,
                   const struct rbwp_clock_sample *to)
{
    const struct rbwp_clock_sample *from = &line->sample[a], *over = &line->sample[b];
    struct timeline_swing swing = {from->ticks, -1e9, 1e9};
    if (line->swing.from_ticks == from->ticks)
        swing = line->swing;
    const double slope = slope_of(from, over), ticks = (double)(over->ticks - from->ticks);
    const double least = slope - (double)line->allowed_ns / ticks;
    const double most = slope + (double)line->allowed_ns / ticks;
    swing.least = least > swing.least ? least : swing.least;
    swing.most = most < swing.most ? most : swing.most;
    const double next = slope_of(from, to);
    const bool near = next >= swing.least && next <= swing.most;
    if (near)
        line->swing = swing;
    return near;
}

/* The last sample is only there to be the last; a new one takes its place if it is too close to the
 * one before. */
static bool replaces_last(struct timeline *line, const struct rbwp_clock_sample *sample)
{
    uint32_t last = line->samples - 1, a = last - 1;
    uint64_t off_ns = 0;
    if (last < 2 || line->epoch[a] != line->epoch[last] ||
        line->sample[last].time_ns - line->sample[a].time_ns >= line->gap_ns ||
        line->piece_error_ns[a] > ALLOWED_NS_MAX || moved_apart(&line->sample[last], sample))
        return false;
    (void)off_past(line, last, sample, &off_ns);
    if (off_ns > ALLOWED_NS_MAX || !swings(line, a, last, sample))
        return false;
    note_unrest(line, off_ns, sample->time_ns - line->sample[last].time_ns);
    if (off_ns > line->piece_error_ns[a])
        line->piece_error_ns[a] = off_ns;
    line->piece_dropped_ns[a] = line->allowed_ns;
    line->sample[last] = *sample;
    return true;
}

static void clock_append(struct timeline *line, const struct rbwp_clock_sample *sample,
                         uint32_t sample_epoch)
{
    if (line->samples == TIMELINE_SAMPLES_MAX) {
        thin_out(line);
        if (line->samples > ENOUGH_SAMPLES)
            forget_older_half(line);
    }
    uint32_t at = line->samples++;
    line->sample[at] = *sample;
    line->epoch[at] = sample_epoch;
    line->piece_error_ns[at] = line->piece_dropped_ns[at] = 0;
    if (at > 0)
        judge_last(line);
}

static void add_sample(struct timeline *line)
{
    uint64_t window;
    uint32_t sample_epoch = clock_epoch();
    struct rbwp_clock_sample sample = clock_take_sample(&window);
    uint64_t error_ns = rbwp_ns_from_ticks(window) / 2 + 1;
    if (error_ns > line->error_ns)
        line->error_ns = error_ns;
    sample.time_ns = sample.monotonic_ns + line->offset_ns;
    if (line->samples) {
        uint32_t at = line->samples - 1;
        const struct rbwp_clock_sample *last = &line->sample[at];
        if (sample.time_ns < last->time_ns)
            sample.time_ns = last->time_ns;
        if (line->epoch[at] == sample_epoch &&
            (sample.ticks <= last->ticks || replaces_last(line, &sample)))
            return;
    }
    clock_append(line, &sample, sample_epoch);
}

void timeline_begin(struct timeline *line)
{
    line->samples = line->unjudged = line->unrest = 0;
    line->gap_ns = 0;
    line->allowed_ns = ALLOWED_NS;
    line->swing.from_ticks = 0;
    line->error_ns = line->deviation_ns = 0;
    line->offset_ns = 0;
    add_sample(line);
    struct rbwp_clock_sample *first = &line->sample[0];
    line->offset_ns = first->realtime_ns - first->monotonic_ns;
    first->time_ns = first->realtime_ns;
}

void timeline_sample(struct timeline *line)
{
    add_sample(line);
}

static bool is_after(const struct timeline *line, uint32_t at, uint32_t epoch_of, uint64_t ticks)
{
    return line->epoch[at] > epoch_of ||
           (line->epoch[at] == epoch_of && line->sample[at].ticks > ticks);
}

bool timeline_is_beyond(const struct timeline *line, uint32_t epoch_of, uint64_t ticks)
{
    return !is_after(line, line->samples - 1, epoch_of, ticks);
}

uint32_t timeline_epoch_after(const struct timeline *line, uint32_t epoch_of)
{
    for (uint32_t i = 0; i < line->samples; i++)
        if (line->epoch[i] > epoch_of)
            return line->epoch[i];
    return epoch_of;
}

/* From a sample on at the counter's own rate: where the line has no next one in that epoch. */
static struct timeline_piece open_piece(const struct timeline *line, uint32_t at)
{
    return (struct timeline_piece){
        .base_ticks = line->sample[at].ticks,
        .end_ticks = UINT64_MAX,
        .base_ns = line->sample[at].time_ns,
        .ns_per_tick = 1e9 / (double)rbwp_ticks_per_second(),
        .least_ns = INT64_MIN,
        .most_ns = INT64_MAX,
    };
}

/* Between the last sample of an epoch, at, and the first of the next one. */
static struct timeline_piece piece_between(const struct timeline *line, uint32_t at,
                                           uint32_t epoch_of)
{
    bool before = line->epoch[at] == epoch_of; /* the counter was moved */
    struct timeline_piece piece = open_piece(line, before ? at : at + 1);
    piece.end_ticks = before ? UINT64_MAX : piece.base_ticks;
    piece.least_ns = line->sample[at].time_ns;
    piece.most_ns = line->sample[at + 1].time_ns;
    piece.error_ns = line->piece_error_ns[at] + line->piece_dropped_ns[at];
    return piece;
}

struct timeline_piece timeline_find(const struct timeline *line, uint32_t epoch_of, uint64_t ticks)
{
    uint32_t low = 0,
             high = line->samples; /* sample[low] is not after ticks, or the first; high is */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (is_after(line, middle, epoch_of, ticks))
            high = middle;
        else
            low = middle;
    }
    bool beyond = high == line->samples;
    if (beyond && low > 0 && line->epoch[low - 1] == line->epoch[low])
        low--;
    else if (beyond)
        return open_piece(line, low);
    if (line->epoch[low] != line->epoch[low + 1])
        return piece_between(line, low, epoch_of);
    const struct rbwp_clock_sample *a = &line->sample[low], *b = a + 1;
    return (struct timeline_piece){
        .base_ticks = a->ticks,
        .end_ticks = beyond ? UINT64_MAX : b->ticks,
        .base_ns = a->time_ns,
        .ns_per_tick = (double)(b->time_ns - a->time_ns) / (double)(b->ticks - a->ticks),
        .least_ns = INT64_MIN,
        .most_ns = INT64_MAX,
        .error_ns = line->piece_error_ns[low] + line->piece_dropped_ns[low],
    };
}

int64_t timeline_ns(const struct timeline *line, uint64_t ticks)
{
    uint32_t last = line->samples - 1, epoch_of = line->epoch[last];
    /* Ticks that the last epoch has not reached are of the one before. */
    if (epoch_of != line->epoch[0] && clock_steps_back(ticks, line->sample[last].ticks))
        while (last > 0 && line->epoch[last] == epoch_of)
            last--;
    struct timeline_piece piece = timeline_find(line, line->epoch[last], ticks);
    return timeline_piece_ns(&piece, ticks);
}
