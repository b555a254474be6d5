/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread does, from its spans and links in the order of time. */
#include "replay_parts.h"
#include "sorted.h"

#include <stdlib.h>

#define TIME_MAX (INT64_C(1) << 62)

struct inner {
    uint32_t span;
    bool woken; /* what is left of it is no time of its own */
};

/* Of a link, its departure or its arrival. */
struct link_end {
    int64_t time_ns;
    uint32_t track, link;
};

/* One track. */
struct making {
    struct replay *replay;
    const struct replay_ask *ask;
    struct replay_lane *lane;
    struct inner *open;
    uint32_t open_count, open_room, work_count;
    uint32_t span, span_end; /* the next one that begins */
    uint32_t call;           /* the next call, at span or later */
    const struct link_end *departs, *departs_end, *wakes, *wakes_end;
    int64_t at_ns;   /* up to there it is made */
    int64_t busy_ns; /* when it did something last */
};

/* ---- what is given ------------------------------------------------------------------------------
 */

/* Two of them have a difference. */
static bool is_in_range(int64_t time_ns)
{
    return time_ns > -TIME_MAX && time_ns < TIME_MAX;
}

void replay_add(struct replay *replay, const struct critical_step *step)
{
    if (step->what == STEP_HANDLED || replay->failed || replay->full ||
        (step->what == STEP_LINK && step->kind == STEP_HANDLER_ENDS))
        return;
    if (replay->span_count >= REPLAY_SPANS || replay->link_count >= REPLAY_SPANS ||
        !is_in_range(step->from_ns) || !is_in_range(step->time_ns)) {
        replay->full = true;
    } else if (step->what == STEP_SPAN) {
        replay->failed |= !grow_array32(&replay->spans, &replay->span_room, replay->span_count + 1,
                                        sizeof *replay->spans);
        if (!replay->failed)
            replay->spans[replay->span_count++] =
                (struct replay_span){step->from_ns, step->time_ns, step->track, step->name,
                                     step->other,   step->kind,    false,       0};
    } else {
        replay->launches += step->kind == TRACE_LAUNCH;
        replay->failed |= !grow_array32(&replay->links, &replay->link_room, replay->link_count + 1,
                                        sizeof *replay->links);
        if (!replay->failed)
            replay->links[replay->link_count++] = (struct replay_link){
                step->from_ns, step->time_ns, step->other, step->track, step->kind, 0};
    }
}

static int in_order(const void *left, const void *right)
{
    const struct replay_span *a = left, *b = right;
    SORTED_BY(a, b, track);
    SORTED_BY(a, b, start_ns);
    SORTED_BY(b, a, stop_ns);
    return (a->depth > b->depth) - (a->depth < b->depth);
}

static int by_stop(const void *left, const void *right)
{
    const struct replay_kernel *a = left, *b = right;
    SORTED_BY(a, b, stop_ns);
    return (a->span > b->span) - (a->span < b->span);
}

/* Which spans are calls, and which are kernels. */
static bool mark_spans(struct replay *replay)
{
    const struct replay_span *call = NULL;
    replay->kernels = calloc(replay->span_count + 1u, sizeof *replay->kernels);
    if (!replay->kernels)
        return false;
    if (replay->span_count)
        qsort(replay->spans, replay->span_count, sizeof *replay->spans, in_order);
    for (uint32_t i = 0; i < replay->span_count; i++) {
        struct replay_span *span = &replay->spans[i];
        if (!walk_is_work(span->kind))
            continue;
        span->is_call = !call || call->track != span->track || span->start_ns >= call->stop_ns;
        if (span->is_call)
            call = span;
        if (span->kind == WALK_GPU)
            replay->kernels[replay->kernel_count++] = (struct replay_kernel){span->stop_ns, i};
    }
    if (replay->kernel_count)
        qsort(replay->kernels, replay->kernel_count, sizeof *replay->kernels, by_stop);
    return true;
}

/* The first span of a track that begins at that time or later. */
static uint32_t span_from(const struct replay *replay, uint32_t track, int64_t time_ns)
{
    uint32_t low = 0, high = replay->span_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct replay_span *span = &replay->spans[middle];
        if (span->track < track || (span->track == track && span->start_ns < time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A call that begins where a link arrives, but for rounding, waited for it; for the latest of
 * several. */
static void mark_links(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->link_count; i++) {
        const struct replay_link *link = &replay->links[i];
        if (link->kind == TRACE_WAKE)
            continue;
        for (uint32_t at = span_from(replay, link->to, link->to_ns - 1);
             at < replay->span_count && replay->spans[at].track == link->to &&
             replay->spans[at].start_ns <= link->to_ns + 1;
             at++) {
            struct replay_span *span = &replay->spans[at];
            if (span->is_call &&
                (!span->link || replay->links[span->link - 1].from_ns < link->from_ns))
                span->link = i + 1;
        }
    }
}

/* ---- operations ---------------------------------------------------------------------------------
 */

static void add_op(struct making *making, struct replay_op op, int64_t start_ns)
{
    struct replay *replay = making->replay;
    if (!grow_array32(&replay->ops, &replay->op_room, replay->op_count + 1, sizeof *replay->ops)) {
        replay->failed = true;
        return;
    }
    if (replay->op_count == making->lane->first)
        making->lane->start_ns = start_ns;
    replay->ops[replay->op_count++] = op;
}

static double factor_of(const struct making *making)
{
    const struct replay_span *spans = making->replay->spans;
    const struct replay_ask *ask = making->ask;
    if (making->open_count == 0)
        return 1;
    for (uint32_t i = 0; i < ask->change_count; i++) {
        const struct replay_change *change = &ask->changes[i];
        bool inside = change->outer == TRACE_NONE;
        if (spans[making->open[making->open_count - 1].span].name != change->name)
            continue;
        for (uint32_t j = 0; j + 1 < making->open_count && !inside; j++)
            inside = spans[making->open[j].span].name == change->outer;
        if (inside)
            return change->factor;
    }
    return 1;
}

static int64_t scaled(int64_t ns, double factor)
{
    const double time_ns = (double)ns * factor + 0.5;
    return factor == 1 ? ns : time_ns < (double)TIME_MAX ? (int64_t)time_ns : TIME_MAX;
}

static bool gap_is_no_time(const struct making *making)
{
    return making->work_count == 0 &&
           (making->call == making->span_end || making->replay->spans[making->call].link);
}

/* The time up to there, unless it is a wait for what a link leads to. */
static void run_to(struct making *making, int64_t time_ns, bool departs)
{
    const struct inner *inner = making->open_count ? &making->open[making->open_count - 1] : NULL;
    const int64_t from_ns = making->at_ns, ns = time_ns - from_ns;
    if (time_ns <= from_ns)
        return;
    making->at_ns = time_ns;
    if ((inner && (inner->woken || making->replay->spans[inner->span].kind == WALK_READY)) ||
        (gap_is_no_time(making) && !departs))
        return;
    add_op(making, (struct replay_op){{ns, scaled(ns, factor_of(making))}, OP_RUN, 0}, from_ns);
}

static void begin_handed_over(struct making *making, const struct replay_span *span)
{
    struct replay *replay = making->replay;
    struct replay_link *link = &replay->links[span->link - 1];
    const int64_t could_ns = link->from_ns > making->busy_ns ? link->from_ns : making->busy_ns;
    const int64_t after_ns = span->start_ns > could_ns ? span->start_ns - could_ns : 0;
    const double factor = link->kind == TRACE_LAUNCH ? making->ask->launch : 1;
    if (link->kind == TRACE_WAIT_FOR) {
        if (!grow_array32(&replay->jobs, &replay->job_room, replay->job_count + 1,
                          sizeof *replay->jobs)) {
            replay->failed = true;
            return;
        }
        link->job = replay->job_count + 1;
        making->lane->job_count++;
        replay->jobs[replay->job_count++] =
            (struct replay_job){replay->op_count, 0, TRACE_NONE, span->name};
    }
    add_op(making,
           (struct replay_op){{after_ns, scaled(after_ns, factor)}, OP_AWAIT, span->link - 1},
           replay->first_ns);
}

/* The kernel that ended last in a call that waits for it; kernel_count: none. */
static uint32_t kernel_in(const struct replay *replay, const struct replay_span *wait)
{
    uint32_t low = 0, high = replay->kernel_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (replay->kernels[middle].stop_ns <= wait->stop_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && replay->kernels[low - 1].stop_ns > wait->start_ns ? low - 1
                                                                    : replay->kernel_count;
}

static void add_woken(struct making *making, uint32_t signal, int64_t after_ns)
{
    const int64_t changed_ns = factor_of(making) > 0 ? after_ns : -1;
    making->open[making->open_count - 1].woken = true;
    add_op(making, (struct replay_op){{after_ns, changed_ns}, OP_WOKEN, signal}, making->at_ns);
}

static void begin_span(struct making *making)
{
    struct replay *replay = making->replay;
    struct replay_span *span = &replay->spans[making->span];
    run_to(making, span->start_ns, false);
    if (span->is_call && span->link)
        begin_handed_over(making, span);
    if (!grow_array32(&making->open, &making->open_room, making->open_count + 1,
                      sizeof *making->open)) {
        replay->failed = true;
        return;
    }
    making->open[making->open_count++] = (struct inner){making->span++, false};
    making->work_count += walk_is_work(span->kind);
    while (making->call < making->span_end &&
           (making->call < making->span || !replay->spans[making->call].is_call))
        making->call++;
    const uint32_t kernel =
        span->kind == WALK_GPU_WAIT ? kernel_in(replay, span) : replay->kernel_count;
    if (kernel < replay->kernel_count)
        add_woken(making, replay->link_count + kernel,
                  span->stop_ns - replay->kernels[kernel].stop_ns);
}

static void end_span(struct making *making)
{
    struct replay *replay = making->replay;
    const uint32_t number = making->open[making->open_count - 1].span;
    const struct replay_span *span = &replay->spans[number];
    run_to(making, span->stop_ns, false);
    making->open_count--;
    if (!walk_is_work(span->kind))
        return;
    making->work_count--;
    making->busy_ns = span->stop_ns;
    if (span->stop_ns > replay->last_ns)
        replay->last_ns = span->stop_ns;
    if (span->kind != WALK_GPU)
        return;
    const struct replay_kernel key = {span->stop_ns, number};
    const struct replay_kernel *kernel =
        bsearch(&key, replay->kernels, replay->kernel_count, sizeof key, by_stop);
    add_op(making,
           (struct replay_op){
               {0, 0}, OP_SIGNAL, replay->link_count + (uint32_t)(kernel - replay->kernels)},
           span->stop_ns);
}

static void wake(struct making *making, const struct replay_link *link)
{
    struct replay *replay = making->replay;
    const struct replay_span *span =
        making->open_count ? &replay->spans[making->open[making->open_count - 1].span] : NULL;
    if (!span || span->kind != WALK_WAIT || gap_is_no_time(making))
        return;
    add_woken(making, (uint32_t)(link - replay->links), span->stop_ns - link->to_ns);
    making->at_ns = link->to_ns;
}

static void depart(struct making *making, uint32_t number)
{
    const int64_t from_ns = making->replay->links[number].from_ns;
    run_to(making, from_ns, true);
    making->busy_ns = from_ns;
    add_op(making, (struct replay_op){{0, 0}, OP_SIGNAL, number}, from_ns);
}

static void make_lane(struct making *making)
{
    struct replay *replay = making->replay;
    making->open_count = making->work_count = 0;
    making->busy_ns = INT64_MIN;
    making->call = making->span;
    while (making->call < making->span_end && !replay->spans[making->call].is_call)
        making->call++;
    making->at_ns = INT64_MAX;
    if (making->span < making->span_end)
        making->at_ns = replay->spans[making->span].start_ns;
    if (making->departs < making->departs_end && making->departs->time_ns < making->at_ns)
        making->at_ns = making->departs->time_ns;
    for (;;) {
        const struct replay_span *inner =
            making->open_count ? &replay->spans[making->open[making->open_count - 1].span] : NULL;
        const int64_t end_ns = inner ? inner->stop_ns : INT64_MAX;
        const int64_t wake_ns =
            making->wakes < making->wakes_end ? making->wakes->time_ns : INT64_MAX;
        const int64_t depart_ns =
            making->departs < making->departs_end ? making->departs->time_ns : INT64_MAX;
        const int64_t begin_ns =
            making->span < making->span_end ? replay->spans[making->span].start_ns : INT64_MAX;
        if (replay->failed)
            return;
        if (inner && end_ns <= wake_ns && end_ns <= depart_ns && end_ns <= begin_ns)
            end_span(making);
        else if (making->wakes < making->wakes_end && wake_ns <= depart_ns && wake_ns <= begin_ns)
            wake(making, &replay->links[making->wakes++->link]);
        else if (making->departs < making->departs_end && depart_ns <= begin_ns)
            depart(making, making->departs++->link);
        else if (making->span < making->span_end)
            begin_span(making);
        else
            return;
    }
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static int by_track_and_time(const void *left, const void *right)
{
    const struct link_end *a = left, *b = right;
    SORTED_BY(a, b, track);
    SORTED_BY(a, b, time_ns);
    return (a->link > b->link) - (a->link < b->link);
}

static const struct link_end *behind_track(const struct link_end *end, const struct link_end *last,
                                           uint32_t track)
{
    while (end < last && end->track == track)
        end++;
    return end;
}

/* Its jobs end where the next one of the lane begins to wait. */
static void end_lane(struct replay *replay, struct replay_lane *lane)
{
    lane->end = replay->op_count;
    for (uint32_t i = 0; i < lane->job_count; i++) {
        const uint32_t job = lane->first_job + i;
        replay->jobs[job].end =
            i + 1 < lane->job_count ? replay->jobs[job + 1].await : replay->op_count;
    }
}

/* Each track that has spans, departures or both, in the order of their numbers. */
static void make_lanes(struct making *making, const struct link_end *departs,
                       const struct link_end *wakes)
{
    struct replay *replay = making->replay;
    const struct link_end *const departs_last = departs + replay->link_count;
    const struct link_end *const wakes_last = wakes + replay->link_count;
    while ((making->span < replay->span_count || departs < departs_last) && !replay->failed) {
        uint32_t track = TRACE_NONE;
        if (making->span < replay->span_count)
            track = replay->spans[making->span].track;
        if (departs < departs_last && departs->track < track)
            track = departs->track;
        while (wakes < wakes_last && wakes->track < track)
            wakes++;
        if (!grow_array32(&replay->lanes, &replay->lane_room, replay->lane_count + 1,
                          sizeof *replay->lanes)) {
            replay->failed = true;
            return;
        }
        struct replay_lane *lane = &replay->lanes[replay->lane_count++];
        *lane = (struct replay_lane){track, TRACE_NONE,      replay->op_count, 0, replay->job_count,
                                     0,     replay->first_ns};
        making->lane = lane;
        making->span_end = making->span;
        while (making->span_end < replay->span_count &&
               replay->spans[making->span_end].track == track)
            making->span_end++;
        making->departs = departs;
        making->departs_end = departs = behind_track(departs, departs_last, track);
        making->wakes = wakes;
        making->wakes_end = wakes = behind_track(wakes, wakes_last, track);
        make_lane(making);
        end_lane(replay, lane);
    }
}

static uint32_t root_of(const struct replay *replay, uint32_t lane)
{
    while (replay->lanes[lane].pool != lane)
        lane = replay->lanes[lane].pool;
    return lane;
}

static int by_name(const void *left, const void *right)
{
    const struct replay_job *a = left, *b = right;
    SORTED_BY(a, b, name);
    return (a->pool > b->pool) - (a->pool < b->pool);
}

/* Lanes that took up jobs of one name are one pool. */
static bool find_pools(struct replay *replay)
{
    struct replay_job *sorted = calloc(replay->job_count + 1u, sizeof *sorted);
    uint64_t *busy = calloc(replay->lane_count + 1u, sizeof *busy); /* of each pool, by its root */
    for (uint32_t i = 0; i < replay->lane_count; i++) {
        struct replay_lane *lane = &replay->lanes[i];
        lane->pool = i;
        for (uint32_t j = 0; j < lane->job_count; j++)
            replay->jobs[lane->first_job + j].pool = i;
    }
    for (uint32_t i = 0; sorted && i < replay->job_count; i++)
        sorted[i] = replay->jobs[i];
    if (sorted)
        qsort(sorted, replay->job_count, sizeof *sorted, by_name);
    for (uint32_t i = 1; sorted && i < replay->job_count; i++)
        if (sorted[i].name == sorted[i - 1].name)
            replay->lanes[root_of(replay, sorted[i].pool)].pool =
                root_of(replay, sorted[i - 1].pool);
    replay->pool = TRACE_NONE;
    for (uint32_t i = 0; busy && i < replay->job_count; i++) {
        struct replay_job *job = &replay->jobs[i];
        job->pool = root_of(replay, job->pool);
        for (uint32_t j = job->await + 1; j < job->end; j++)
            busy[job->pool] += replay->ops[j].what == OP_RUN ? (uint64_t)replay->ops[j].ns[0] : 0;
        if (replay->pool == TRACE_NONE || busy[job->pool] > busy[replay->pool])
            replay->pool = job->pool;
    }
    for (uint32_t i = 0; i < replay->lane_count; i++)
        replay->workers += replay->lanes[i].job_count && root_of(replay, i) == replay->pool;
    const bool good = sorted && busy;
    free(sorted);
    free(busy);
    return good;
}

bool replay_make(struct replay *replay, const struct replay_ask *ask)
{
    struct making making = {.replay = replay, .ask = ask};
    struct link_end *departs = calloc(2 * (size_t)replay->link_count + 1, sizeof *departs);
    struct link_end *wakes = departs + replay->link_count;
    replay->failed |= !departs || !mark_spans(replay);
    replay->first_ns = INT64_MAX;
    replay->last_ns = INT64_MIN;
    for (uint32_t i = 0; i < replay->span_count; i++)
        if (walk_is_work(replay->spans[i].kind) && replay->spans[i].start_ns < replay->first_ns)
            replay->first_ns = replay->spans[i].start_ns;
    for (uint32_t i = 0; i < replay->link_count && !replay->failed; i++) {
        const struct replay_link *link = &replay->links[i];
        departs[i] = (struct link_end){link->from_ns, link->from, i};
        wakes[i] =
            (struct link_end){link->to_ns, link->kind == TRACE_WAKE ? link->to : TRACE_NONE, i};
        if (link->from_ns < replay->first_ns)
            replay->first_ns = link->from_ns;
    }
    if (!replay->failed) {
        mark_links(replay);
        qsort(departs, replay->link_count, sizeof *departs, by_track_and_time);
        qsort(wakes, replay->link_count, sizeof *wakes, by_track_and_time);
        make_lanes(&making, departs, wakes);
    }
    replay->failed = replay->failed || !find_pools(replay);
    free(making.open);
    free(departs);
    return !replay->failed;
}

void replay_free(struct replay *replay)
{
    free(replay->spans);
    free(replay->links);
    free(replay->ops);
    free(replay->jobs);
    free(replay->lanes);
    free(replay->kernels);
    *replay = (struct replay){0};
}
