/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the threshold lies: quartiles say how far ordinary calls spread, and up to a quarter of
 * slow ones does not move them. Where more are slow, the lower half says it, and a gap must
 * lie between both.
 */
#include "why_names.h"

#include "name_pattern.h"
#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPREADS = 8,
    GAP_PART = 8,
    HEAVY_PART = 10,
    FAR_RATIO = 8,
    RATIO_MOST = 4,
    APART_LEAST = 3,
    RUN_PART = 100
};
#define FLOOR_NS UINT64_C(10000)         /* nobody is slow by less */
#define SLICE_NS 5e6                     /* a scheduler makes calls late by less everywhere */
#define LOCK_FLOOR_NS UINT64_C(10000000) /* two slices: of who waits, and of who holds it */
#define MANY_SLOW 0.4                    /* of all: more are no exception */

/* ---- the threshold --------------------------------------------------------------------------- */

static uint64_t bucket_middle(const struct histogram *values, uint32_t i)
{
    const uint64_t low = histogram_low(values->first + i);
    return low + (histogram_high(values->first + i) - low) / 2;
}

/* The value of that rank, from 1 on. */
static double at_rank(const struct histogram *values, uint64_t zeros, double rank)
{
    uint64_t seen = zeros;
    if ((double)seen >= rank)
        return 0;
    for (uint32_t i = 0; i < values->buckets; i++) {
        seen += values->counts[i];
        if ((double)seen >= rank)
            return (double)bucket_middle(values, i);
    }
    return 0;
}

static uint64_t count_above(const struct histogram *values, double least, double most)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < values->buckets; i++) {
        const double value = (double)bucket_middle(values, i);
        count += value > least && value <= most ? values->counts[i] : 0;
    }
    return count;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Above `high` by several times the way from `low` to it, as a difference and as a ratio. */
static double beyond(double low, double high, double median)
{
    const double ratio = low <= 0 ? 1 : high / low < RATIO_MOST ? high / low : RATIO_MOST;
    return larger(larger(high + SPREADS * (high - low), high * ratio * ratio),
                  larger(median * 1.25, median + FLOOR_NS));
}

/* Where ordinary calls spread much, as a ratio, some may be far all the same: they lie beyond the
 * spread as a difference, and few lie in the half below that. */
static double least_gap(const struct histogram *values, double threshold, double spread)
{
    const uint64_t far = count_above(values, spread, 1e300);
    return far >= APART_LEAST && 2 * count_above(values, spread / 2, spread) <= far &&
                   spread < threshold
               ? spread
               : threshold;
}

static double find_threshold(const struct histogram *values, uint64_t zeros)
{
    const double count = (double)(values->total + zeros);
    const double p10 = at_rank(values, zeros, count * 0.1);
    const double p25 = at_rank(values, zeros, count * 0.25);
    const double p50 = at_rank(values, zeros, count * 0.5);
    const double p75 = at_rank(values, zeros, count * 0.75);
    const double by_quartiles = least_gap(values, beyond(p25, p75, p50),
                                          larger(p75 + SPREADS * (p75 - p25), p50 + FLOOR_NS));
    const double by_half = beyond(p10, p50, p50);
    const uint64_t slow = count_above(values, by_half, 1e300);
    const bool gap = count_above(values, by_half, 2 * by_half) * GAP_PART <= slow;
    return by_half < by_quartiles && gap && (double)slow <= count * MANY_SLOW ? by_half
                                                                              : by_quartiles;
}

/* By how much calls beyond the threshold are above the median: half of them, and those that half
 * of it all is in. */
static double usual_above(const struct histogram *values, double median, double threshold)
{
    const uint64_t half = count_above(values, threshold, 1e300) / 2;
    uint64_t seen = 0;
    for (uint32_t i = values->buckets; i-- > 0;) {
        seen += values->counts[i];
        if (seen > half)
            return (double)bucket_middle(values, i) - median;
    }
    return 0;
}

static double heavy_above(const struct histogram *values, double median, double threshold)
{
    double all = 0, seen = 0;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = values->buckets; i-- > 0;) {
            const double above = (double)bucket_middle(values, i) - median;
            if (above + median <= threshold)
                break;
            *(round ? &seen : &all) += above * (double)values->counts[i];
            if (round && 2 * seen >= all)
                return above;
        }
    return 0;
}

/* On a busy machine many calls are a little late. Far from the others are those that are late by
 * more than that, and not by less than a tenth of what most of the excess is made of. */
static uint64_t raise_threshold(const struct histogram *values, uint64_t zeros, double threshold)
{
    const double median = at_rank(values, zeros, (double)(values->total + zeros) / 2);
    const double usual = HEAVY_PART * usual_above(values, median, threshold);
    double far = FAR_RATIO * median < SLICE_NS ? FAR_RATIO * median : SLICE_NS;
    far = usual < far ? usual : far;
    if (!zeros)
        threshold = larger(threshold, median + far);
    return (uint64_t)larger(threshold,
                            median + heavy_above(values, median, threshold) / HEAVY_PART);
}

bool why_bounds_find(const struct histogram *values, uint64_t zeros, uint64_t given_ns,
                     struct why_bounds *bounds_out)
{
    *bounds_out = (struct why_bounds){.threshold_ns = given_ns};
    if (values->total + zeros < WHY_LEAST)
        return false;
    if (!given_ns)
        bounds_out->threshold_ns = (uint64_t)find_threshold(values, zeros);
    if (zeros && !given_ns && bounds_out->threshold_ns < LOCK_FLOOR_NS)
        bounds_out->threshold_ns = LOCK_FLOOR_NS;
    if (!given_ns)
        bounds_out->threshold_ns = raise_threshold(values, zeros, (double)bounds_out->threshold_ns);
    const double threshold = (double)bounds_out->threshold_ns;
    bounds_out->slow = count_above(values, threshold, 1e300);
    bounds_out->ordinary = values->total + zeros - bounds_out->slow;
    bounds_out->median_ns = (uint64_t)at_rank(values, zeros, (double)bounds_out->ordinary / 2);
    for (uint32_t i = 0; i < values->buckets; i++)
        if ((double)bucket_middle(values, i) > threshold)
            bounds_out->excess_ns +=
                values->counts[i] * (bucket_middle(values, i) - bounds_out->median_ns);
    return bounds_out->slow > 0 && bounds_out->ordinary > 0;
}

/* ---- tracks ---------------------------------------------------------------------------------- */

/* A process of the system may be several here: its own recording, and that of its threads. */
static bool is_same_thread(const struct trace *trace, const struct trace_track *a,
                           const struct trace_track *b)
{
    const struct trace_process *one = trace_process_of(trace, a->process);
    const struct trace_process *other = trace_process_of(trace, b->process);
    return a->process != b->process && a->kind == TRACE_THREAD && b->kind == TRACE_THREAD &&
           a->os_id && a->os_id == b->os_id && one->os_id && one->os_id == other->os_id &&
           one->node == other->node && trace_text_same(one->host, other->host);
}

static uint32_t thread_of(const struct why_tracks *tracks, const struct trace *trace,
                          const struct trace_track *track)
{
    if (track->kind != TRACE_THREAD)
        return track->parent < tracks->count ? tracks->list[track->parent].thread : TRACE_NONE;
    for (uint32_t i = 0; i < tracks->count; i++)
        if (is_same_thread(trace, &tracks->list[i].track, track))
            return tracks->list[i].thread;
    return track->number;
}

void why_tracks_add(struct why_tracks *tracks, const struct trace *trace,
                    const struct trace_track *track)
{
    if (!grow_zeroed32(&tracks->list, &tracks->room, track->number + 1, sizeof *tracks->list)) {
        tracks->failed = true;
        return;
    }
    const uint32_t thread = thread_of(tracks, trace, track);
    const bool below = track->kind == TRACE_TABLE && track->parent != TRACE_NONE;
    const bool mpi = below && trace_text_is(track->name, "mpi_wait");
    tracks->list[track->number] =
        (struct why_track){.track = *track,
                           .thread = thread,
                           .waits = mpi || (below && trace_text_is(track->name, "wait"))};
    if (mpi && thread < tracks->count)
        tracks->list[thread].mpi = true;
    if (tracks->count <= track->number)
        tracks->count = track->number + 1;
}

bool why_is_wait(const struct why_track *track, const struct trace_span *span)
{
    return track->waits && span->category == TRACE_RANGE && span->depth == 0;
}

uint32_t why_tracks_thread(const struct why_tracks *tracks, uint32_t process, uint64_t number)
{
    for (uint32_t i = 0; number && i < tracks->count; i++) {
        const struct why_track *track = &tracks->list[i];
        if (track->track.kind == TRACE_THREAD && track->track.id == number &&
            track->track.process == process)
            return track->thread;
    }
    return TRACE_NONE;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Kinds of waits that are no waiting for work. */
static const char *const lock_kinds[] = {"mutex", "rwlock", "file lock", "semaphore set"};
static const char *const other_kinds[] = {"write", "fsync", "barrier"};
#define KINDS(list) (sizeof(list) / sizeof(list)[0])

static bool is_among(struct trace_text name, const char *const *words, unsigned count)
{
    return trace_word_number(words, count, name) < count;
}

static struct why_name *name_of(struct why_names *names, uint32_t number, bool wait)
{
    uint32_t **places = &names->of_number[wait];
    if (number < names->number_room[wait] && (*places)[number])
        return &names->list[(*places)[number] - 1];
    if (!grow_zeroed32(places, &names->number_room[wait], number + 1, sizeof **places) ||
        !grow_zeroed32(&names->list, &names->room, names->count + 1, sizeof *names->list)) {
        names->failed = true;
        return NULL;
    }
    (*places)[number] = ++names->count;
    names->list[names->count - 1] = (struct why_name){.number = number, .wait = wait};
    return &names->list[names->count - 1];
}

static void name_begins(struct why_names *names, const struct trace *trace, struct why_name *name)
{
    const struct trace_text text = trace_name_of(trace, name->number);
    char *copy = malloc(text.bytes + (size_t)1);
    names->failed |= !copy;
    if (copy)
        memcpy(copy, text.text, text.bytes);
    name->name = (struct trace_text){copy, copy ? text.bytes : 0};
    name->lock = name->wait && is_among(text, lock_kinds, KINDS(lock_kinds));
    name->work = name->wait && why_awaited_is(text);
    name->run = !name->wait && why_is_run(text);
    names->any_call |= !name->wait && !name->run;
}

static uint64_t pick_ns(const struct why_pick *pick)
{
    return (uint64_t)pick->stop_ns - (uint64_t)pick->start_ns;
}

static void sink_down(struct why_picks *picks, uint32_t at)
{
    const struct why_pick moved = picks->list[at];
    for (uint32_t child; (child = 2 * at + 1) < picks->count; at = child) {
        if (child + 1 < picks->count &&
            pick_ns(&picks->list[child + 1]) < pick_ns(&picks->list[child]))
            child++;
        if (pick_ns(&moved) <= pick_ns(&picks->list[child]))
            break;
        picks->list[at] = picks->list[child];
    }
    picks->list[at] = moved;
}

static bool keep(struct why_picks *picks, struct why_pick pick, uint32_t most)
{
    if (picks->count < most) {
        if (!grow_array32(&picks->list, &picks->room, picks->count + 1, sizeof *picks->list))
            return false;
        picks->list[picks->count++] = pick;
        for (uint32_t at = picks->count / 2; picks->count == WHY_LONGEST && at-- > 0;)
            sink_down(picks, at);
    } else if (pick_ns(&pick) > pick_ns(&picks->list[0])) {
        picks->list[0] = pick;
        sink_down(picks, 0);
    }
    return true;
}

/* Each call has the same chance to be in it. */
static bool take_sample(struct why_names *names, struct why_name *name, struct why_pick pick)
{
    if (name->sample.count < WHY_SAMPLE)
        return keep(&name->sample, pick, WHY_SAMPLE);
    names->random = names->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t place = (names->random >> 11) % name->own.values.total;
    if (place < WHY_SAMPLE)
        name->sample.list[place] = pick;
    return true;
}

static void count(struct why_names *names, struct why_name *name, const struct why_pick *pick,
                  bool queued)
{
    struct why_times *times = queued ? &name->queued : &name->own;
    names->failed |=
        !histogram_add(&times->values, pick_ns(pick)) || !keep(&times->longest, *pick, WHY_LONGEST);
    if (queued)
        return;
    name->total_ns += pick_ns(pick);
    names->calls += !name->wait;
    names->failed |= !take_sample(names, name, *pick);
}

static void take_mpi(struct why_names *names, uint32_t process, const struct trace_span *span)
{
    if (!grow_zeroed32(&names->jobs, &names->job_room, process + 1, sizeof *names->jobs)) {
        names->failed = true;
        return;
    }
    struct why_job *job = &names->jobs[process];
    if (!job->first_ns || span->start_ns < job->first_ns)
        job->first_ns = span->start_ns;
    if (span->stop_ns > job->last_ns)
        job->last_ns = span->stop_ns;
}

static void take_span(struct why_names *names, const struct trace *trace,
                      const struct why_track *track, const struct trace_span *span,
                      const struct trace_detail *detail)
{
    const bool wait = why_is_wait(track, span), queued = span->category == TRACE_QUEUED;
    const bool call = span->category == TRACE_CALL && span->depth == 0;
    if (!names->first_ns || span->start_ns < names->first_ns)
        names->first_ns = span->start_ns;
    if (span->stop_ns > names->last_ns)
        names->last_ns = span->stop_ns;
    if (!(wait || queued || call) || track->thread == TRACE_NONE)
        return;
    names->open += call && span->flags & TRACE_OPEN;
    if (span->flags & (TRACE_UNFINISHED | TRACE_OPEN | TRACE_CUT) || span->flags & TRACE_WAITS)
        return;
    struct why_pick pick = {span->start_ns, span->stop_ns, track->thread, 0, 0};
    struct why_name *name = name_of(names, span->name, wait);
    if (name && !name->name.text)
        name_begins(names, trace, name);
    if (name && (name->work || name->lock))
        why_awaited_add(names, name, detail, &pick);
    if (name)
        count(names, name, &pick, queued);
    if (name && wait && why_is_mpi(name->name))
        take_mpi(names, track->track.process, span);
}

/* What says of threads and GPUs when they ran. */
static void take_running(struct why_names *names, const struct why_track *track,
                         const struct trace_span *span, const struct trace_detail *detail)
{
    const bool known =
        detail && (detail->flags & (TRACE_HAS_LAUNCH | TRACE_INFERRED)) == TRACE_HAS_LAUNCH;
    const struct why_track *launcher =
        known ? why_tracks_of(&names->tracks, detail->launch_track) : NULL;
    const struct trace_cpu cpu = trace_cpu_of(span, detail);
    if (track->track.kind == TRACE_GPU && span->category == TRACE_GPU_WORK)
        why_gpus_work(&names->gpus, span, detail, launcher ? launcher->thread : TRACE_NONE);
    else if (why_is_wait(track, span))
        why_gpus_wait(&names->gpus, track->thread, span, trace_duration_ns(span));
    else if (track->track.kind == TRACE_THREAD && span->category == TRACE_CALL &&
             span->depth == 0 && trace_cpu_is_known(&cpu))
        why_gpus_wait(&names->gpus, track->thread, span, cpu.runnable_ns + cpu.waiting_ns);
    names->failed |= names->gpus.failed;
}

/* ---- the sink -------------------------------------------------------------------------------- */

static void names_on_track(void *context, const struct trace_track *track)
{
    struct why_names *names = context;
    why_tracks_add(&names->tracks, *names->trace, track);
    stalls_on_track(&names->stalls, track);
    names->failed |= names->tracks.failed || names->stalls.failed;
}

static void names_on_spans(void *context, const struct trace_span *spans, size_t count,
                           const struct trace_details *details)
{
    struct why_names *names = context;
    const struct why_track *track = count ? why_tracks_of(&names->tracks, spans[0].track) : NULL;
    stalls_on_spans(&names->stalls, spans, count);
    for (size_t i = 0; track && i < count && !names->failed; i++) {
        const struct trace_detail *detail = details ? trace_detail_of(details, &spans[i]) : NULL;
        take_span(names, *names->trace, track, &spans[i], detail);
        take_running(names, track, &spans[i], detail);
    }
}

static void names_on_name(void *context, uint32_t number, struct trace_text name)
{
    struct why_names *names = context;
    if (trace_text_is(name, "launched"))
        names->gpus.launched_key = number + 1;
    else if (trace_text_is(name, "waker"))
        names->waker_key = number + 1;
    else if (trace_text_is(name, "object"))
        names->object_key = number + 1;
}

static void names_on_loss(void *context, const struct trace_loss *loss)
{
    struct why_names *names = context;
    *(loss->refused ? &names->refused : &names->lost) += loss->count;
}

/* What was looked at has tracks, that come first then: both passes number them alike. */
static void names_on_stack(void *context, const struct trace_stack *stack)
{
    struct why_names *names = context;
    stalls_on_stack(&names->stalls, stack);
    names->failed |= names->stalls.failed;
}

static bool names_are_full(void *context)
{
    const struct why_names *names = context;
    return names->failed;
}

struct trace_sink why_names_sink(struct why_names *names)
{
    return (struct trace_sink){.context = names,
                               .track = names_on_track,
                               .name = names_on_name,
                               .spans = names_on_spans,
                               .stack = names_on_stack,
                               .loss = names_on_loss,
                               .full = names_are_full};
}

/* ---- the end ------------------------------------------------------------------------------- */

bool why_is_idle(struct trace_text kind)
{
    return !is_among(kind, lock_kinds, KINDS(lock_kinds)) &&
           !is_among(kind, other_kinds, KINDS(other_kinds)) &&
           (!why_is_mpi(kind) || trace_text_is(kind, "MPI_Probe"));
}

/* So its length says nothing. The reaper, a work item of ours, has what the GPU gives it. */
static bool waits_for_work(const struct why_name *name)
{
    const struct trace_text text = name->name;
    return name->wait ? why_is_idle(text)
                      : text.bytes > 9 && memcmp(text.text, "gpu reap ", 9) == 0;
}

/* What a process does before its first call of MPI and behind its last is the start and the end of
 * the job, and comes once: it is not compared with what comes in between, if that is most of the
 * run. */
static bool is_start_or_end(const struct why_names *names, const struct why_pick *pick)
{
    const uint64_t run_ns = (uint64_t)names->last_ns - (uint64_t)names->first_ns;
    const uint32_t process = names->tracks.list[pick->thread].track.process;
    const struct why_job job =
        process < names->job_room ? names->jobs[process] : (struct why_job){0, 0};
    return (pick->stop_ns < job.first_ns || pick->start_ns > job.last_ns) &&
           (uint64_t)job.last_ns - (uint64_t)job.first_ns >= run_ns / 2;
}

/* A thread that begins by a wait for a lock, and lasts, is held back until it is needed. */
static bool is_first_wait(const struct why_names *names, const struct why_pick *pick)
{
    const struct why_worker *worker = &names->workers[pick->thread];
    return pick->start_ns == worker->first_ns &&
           (uint64_t)worker->last_ns - (uint64_t)worker->first_ns >=
               ((uint64_t)names->last_ns - (uint64_t)names->first_ns) / 2;
}

static void drop(const struct why_names *names, struct why_times *times,
                 bool (*is_apart)(const struct why_names *, const struct why_pick *))
{
    struct why_picks *picks = &times->longest;
    uint32_t left = 0;
    for (uint32_t i = 0; i < picks->count; i++) {
        const struct why_pick *pick = &picks->list[i];
        if (is_apart(names, pick))
            histogram_remove(&times->values, pick_ns(pick));
        else
            picks->list[left++] = *pick;
    }
    picks->count = left;
}

void why_names_finish(struct why_names *names, const char *wanted, uint64_t given_ns)
{
    names->noise_ns = ((uint64_t)names->last_ns - (uint64_t)names->first_ns) / RUN_PART;
    why_gpus_finish(&names->gpus, *names->trace, names->noise_ns);
    names->failed |= names->gpus.failed;
    stalls_finish(&names->stalls);
    for (uint32_t i = 0; i < names->count; i++) {
        struct why_name *name = &names->list[i];
        const bool idle = waits_for_work(name);
        const bool is_wanted = wanted ? name_matches(wanted, name->name.text, name->name.bytes)
                                      : !idle && !(names->any_call && (name->wait || name->run));
        name->awaited = !wanted && !given_ns && !names->any_call && name->work;
        if (!is_wanted)
            continue;
        names->matched = true;
        if (name->run && names->job_room)
            drop(names, &name->own, is_start_or_end);
        if (name->lock && !wanted && !given_ns)
            drop(names, &name->own, is_first_wait);
        const uint64_t zeros = name->lock ? 3 * name->own.values.total + WHY_LEAST : 0;
        name->own.slow = why_bounds_find(&name->own.values, zeros, given_ns, &name->own.bounds);
        name->queued.slow =
            why_bounds_find(&name->queued.values, 0, given_ns, &name->queued.bounds);
        name->excess_ns = (name->own.slow ? name->own.bounds.excess_ns : 0) +
                          (name->queued.slow ? name->queued.bounds.excess_ns : 0);
        if (!given_ns && name->excess_ns < names->noise_ns)
            name->excess_ns = 0;
    }
    why_awaited_finish(names);
}

unsigned why_names_worst(const struct why_names *names, struct why_name **list, unsigned most)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < names->count; i++) {
        struct why_name *name = &names->list[i];
        unsigned at = count;
        if (!name->excess_ns)
            continue;
        for (; at > 0 && list[at - 1]->excess_ns < name->excess_ns; at--)
            if (at < most)
                list[at] = list[at - 1];
        if (at < most)
            list[at] = name;
        count += count < most;
    }
    return count;
}

static void free_times(struct why_times *times)
{
    histogram_free(&times->values);
    free(times->longest.list);
}

void why_names_free(struct why_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        free((char *)(uintptr_t)names->list[i].name.text);
        free_times(&names->list[i].own);
        free_times(&names->list[i].queued);
        free(names->list[i].sample.list);
    }
    free(names->list);
    free(names->of_number[0]);
    free(names->of_number[1]);
    free(names->tracks.list);
    free(names->jobs);
    free(names->workers);
    why_gpus_free(&names->gpus);
    stalls_free(&names->stalls);
    *names = (struct why_names){0};
}
