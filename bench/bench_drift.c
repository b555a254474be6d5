/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_drift.c - do the times of a long session stay with the system's clock?
 *
 *     bench_drift [SECONDS]
 *
 * One thread records a few calls a second, so that its chunk is converted long after; one a
 * hundred; one bursts, so that the clock is compared often. The first two read CLOCK_MONOTONIC
 * before and after each begin: its record's time has to lie between. Prints how far beyond it lay,
 * and whether that is within the bound that the file states. 10 s by default; the exit status is 1
 * if a time was not within the bound.
 */
#include "bench.h"
#include "rbwp_reader.h"
#include "rbwp_record.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOMENTS_A_SECOND 120u
#define TARGET_NS 1000
#define NARROW_NS 300.0 /* reads so close together say where between them it was */

static const struct rhythm {
    const char *name;
    unsigned period_ms, calls;
    bool measured;
} rhythms[] = {{"seldom", 250, 1, true}, {"steady", 10, 1, true}, {"bursts", 50, 100, false}};
#define RHYTHMS (sizeof rhythms / sizeof rhythms[0])

struct moment {
    int64_t before_ns, after_ns;
};

static struct drift {
    pthread_t thread;
    unsigned slot;
    uint64_t until_ns;
    struct moment *moments;
    size_t count, room, next;
} drifts[RHYTHMS];

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *live(void *argument)
{
    struct drift *drift = argument;
    const struct rhythm *rhythm = &rhythms[drift->slot];
    const struct timespec pause = {0, (long)rhythm->period_ms * 1000000};
    require(rbwp_thread_attach(rhythm->name) == RBWP_OK, "attach");
    while ((uint64_t)now_ns() < drift->until_ns && drift->count < drift->room) {
        for (unsigned call = 0; call < rhythm->calls; call++) {
            struct moment *moment = &drift->moments[drift->count];
            moment->before_ns = now_ns();
            rbwp_begin(drift->slot);
            moment->after_ns = now_ns();
            rbwp_end();
        }
        drift->count++;
        nanosleep(&pause, NULL);
    }
    (void)rbwp_thread_detach();
    return NULL;
}

/* ---- what was recorded ----------------------------------------------------------------------- */

struct found {
    int64_t offset_ns; /* of record times, against the monotonic clock */
    uint64_t bound_ns;
    double *beyond_ns, *off_ns; /* of all; from the middle, of those that were narrow */
    size_t count, narrow, held;
};

static void take(struct found *found, const struct rbwp_record *record)
{
    if (record->kind != RBWP_COARSE_BEGIN || record->slot >= RHYTHMS ||
        !rhythms[record->slot].measured)
        return;
    struct drift *drift = &drifts[record->slot];
    require(drift->next < drift->count, "as many records as calls");
    const struct moment *moment = &drift->moments[drift->next++];
    const int64_t time_ns = record->time_ns - found->offset_ns;
    const double early = (double)(moment->before_ns - time_ns),
                 late = (double)(time_ns - moment->after_ns);
    const double beyond = early > late ? early : late;
    found->beyond_ns[found->count++] = beyond > 0 ? beyond : 0;
    found->held += beyond <= (double)found->bound_ns;
    if ((double)(moment->after_ns - moment->before_ns) <= NARROW_NS)
        found->off_ns[found->narrow++] = (late > early ? late - early : early - late) / 2;
}

static void read_all(struct found *found)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct rbwp_record record;
    struct rbwp_record_iterator iterator;
    require(rbwp_reader_open(scratch_file(), NULL, &reader, NULL) == RBWP_OK, "reading back");
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(reader);
    require(trailer && trailer->sample_count, "the clock's samples");
    found->offset_ns = trailer->samples[0].time_ns - trailer->samples[0].monotonic_ns;
    found->bound_ns = trailer->clock_error_ns;
    const uint32_t samples = trailer->sample_count;
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK) {
        if (block.header.records == 0)
            continue;
        rbwp_record_first(&block, &iterator);
        while (rbwp_record_next(&iterator, &record))
            take(found, &record);
    }
    rbwp_reader_close(reader);
    for (size_t i = 0; i < RHYTHMS; i++)
        require(!rhythms[i].measured || drifts[i].next == drifts[i].count,
                "as many records as calls");
    printf("%zu calls, %u samples of the clock\n", found->count, samples);
}

static void run(unsigned seconds)
{
    struct rbwp_session *session = start_session(1);
    const uint64_t until_ns = (uint64_t)now_ns() + seconds * UINT64_C(1000000000);
    for (unsigned i = 0; i < RHYTHMS; i++) {
        const size_t room = (size_t)seconds * MOMENTS_A_SECOND + 16;
        drifts[i] = (struct drift){.slot = i, .until_ns = until_ns, .room = room};
        drifts[i].moments = calloc(room, sizeof *drifts[i].moments);
        require(drifts[i].moments != NULL, "memory");
        require(pthread_create(&drifts[i].thread, NULL, live, &drifts[i]) == 0, "thread");
    }
    for (unsigned i = 0; i < RHYTHMS; i++)
        pthread_join(drifts[i].thread, NULL);
    stop_session(session);
}

int main(int argc, char **argv)
{
    const int seconds = argc > 1 ? atoi(argv[1]) : 10;
    if (seconds <= 0) {
        fprintf(stderr, "usage: bench_drift [SECONDS]\n");
        return 2;
    }
    run((unsigned)seconds);
    const size_t most = 2 * ((size_t)seconds * MOMENTS_A_SECOND + 16);
    struct found found = {.beyond_ns = calloc(most, sizeof(double)),
                          .off_ns = calloc(most, sizeof(double))};
    require(found.beyond_ns && found.off_ns, "memory");
    read_all(&found);
    printf(
        "from the middle of two reads that are close together, ns: median %.0f, p99.9 %.0f, most "
        "%.0f\n",
        median(found.off_ns, found.narrow), quantile(found.off_ns, found.narrow, 0.999),
        quantile(found.off_ns, found.narrow, 1));
    const double most_ns = quantile(found.beyond_ns, found.count, 1);
    figure_at_most("clock, furthest from the system's", most_ns, "ns", TARGET_NS);
    figure_at_least("clock, times within the file's bound",
                    100.0 * (double)found.held / (double)found.count, "%", 100);
    figure("clock, the file's bound", (double)found.bound_ns, "ns");
    return found.held == found.count ? 0 : 1;
}
