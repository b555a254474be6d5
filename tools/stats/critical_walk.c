/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk back. It is on one track at a time, and comes by what ended there and what led there in
 * the order of time. Of each track it knows the spans that are open at that time, as they have
 * ended later and not begun; so a step to another track needs no search.
 */
#include "critical_walk.h"
#include "sorted.h"

#include <stdlib.h>

struct walk_open {
    int64_t start_ns;
    uint32_t name, kind;
};

struct walk_lane {
    struct walk_open *open; /* the innermost last */
    uint32_t count, room;
};

struct back {
    struct critical_path *path;
    struct walk_lane *lanes; /* by track */
    uint32_t lane_room;
    uint32_t track;
    int64_t at_ns;      /* what is later has been walked */
    int64_t entered_ns; /* when it came to this track */
    int64_t until_ns;   /* when the message of the path after that was sent, or the run ended */
    uint32_t after;     /* name of the work that comes after a gap */
    /* What led to the work after a gap: the latest. */
    bool led;
    uint32_t led_from, led_kind;
    int64_t led_ns;
    struct critical_piece latest;
    struct index_map share_places;
    uint32_t hop_room;
    bool failed;
};

static int compare_steps(const void *left, const void *right)
{
    const struct critical_step *a = left, *b = right;
    SORTED_BY(b, a, time_ns);
    SORTED_BY(a, b, what);
    SORTED_BY(a, b, other);
    return (a->track > b->track) - (a->track < b->track);
}

const struct merge_order critical_steps_order = {
    "spans, links and messages", sizeof(struct critical_step),
    offsetof(struct critical_step, payload), compare_steps};

/* ---- pieces ------------------------------------------------------------------------------------
 */

static void add_share(struct back *back, const struct critical_piece *piece, bool goes_on)
{
    struct critical_path *path = back->path;
    const uint64_t hash = hash_pair((uint64_t)piece->track << 32 | piece->name, piece->kind);
    struct critical_share *share = NULL;
    for (uint32_t step = 0, i;
         !share && (i = index_map_next(&back->share_places, hash, &step)) != INDEX_NONE;)
        if (path->shares[i].sum.track == piece->track && path->shares[i].sum.name == piece->name &&
            path->shares[i].sum.kind == piece->kind)
            share = &path->shares[i];
    if (!share) {
        if (!grow_array32(&path->shares, &path->share_room, path->share_count + 1,
                          sizeof *path->shares) ||
            !index_map_add(&back->share_places, hash, path->share_count)) {
            back->failed = true;
            return;
        }
        share = &path->shares[path->share_count++];
        *share = (struct critical_share){.sum = *piece};
        share->sum.duration_ns = 0;
    }
    share->sum.duration_ns = stats_sum(share->sum.duration_ns, piece->duration_ns);
    share->pieces += !goes_on;
}

/* From there to at_ns, on the track. */
static void walk_to(struct back *back, int64_t to_ns, uint32_t name, unsigned kind)
{
    struct critical_path *path = back->path;
    if (to_ns < path->first_ns)
        to_ns = path->first_ns;
    if (to_ns >= back->at_ns)
        return;
    const struct critical_piece piece = {to_ns, stats_between_ns(to_ns, back->at_ns), back->track,
                                         name, kind};
    const struct critical_piece *before = &back->latest;
    const bool goes_on = before->start_ns == back->at_ns && before->duration_ns &&
                         before->track == piece.track && before->name == name &&
                         before->kind == kind;
    back->at_ns = to_ns;
    back->latest = piece;
    if (goes_on && path->pieces_dropped == 0) {
        path->pieces[path->piece_count - 1].start_ns = to_ns;
        path->pieces[path->piece_count - 1].duration_ns += piece.duration_ns;
    } else if (!goes_on && path->piece_count == CRITICAL_PIECES) {
        path->pieces_dropped++;
    } else if (!goes_on && grow_array32(&path->pieces, &path->piece_room, path->piece_count + 1,
                                        sizeof *path->pieces)) {
        path->pieces[path->piece_count++] = piece;
    } else {
        back->failed |= !goes_on;
    }
    add_share(back, &piece, goes_on);
}

/* ---- where it is -------------------------------------------------------------------------------
 */

static struct walk_lane *lane_of(struct back *back, uint32_t track)
{
    if (!grow_zeroed32(&back->lanes, &back->lane_room, track + 1, sizeof *back->lanes)) {
        back->failed = true;
        return NULL;
    }
    return &back->lanes[track];
}

/* The outermost span that is open; NULL: in a gap, where it may wait all the same. */
static const struct walk_open *work_of(const struct walk_lane *lane)
{
    for (uint32_t i = 0; i < lane->count; i++)
        if (walk_is_work(lane->open[i].kind))
            return &lane->open[i];
    return NULL;
}

static void close_later(struct walk_lane *lane, int64_t time_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lane->count; i++)
        if (lane->open[i].start_ns < time_ns)
            lane->open[kept++] = lane->open[i];
    lane->count = kept;
}

static void go_to(struct back *back, uint32_t track, int64_t time_ns)
{
    if (time_ns > back->at_ns)
        time_ns = back->at_ns; /* clocks err */
    back->track = track;
    back->at_ns = back->entered_ns = time_ns;
    back->after = TRACE_NONE;
    back->led = false;
    struct walk_lane *lane = lane_of(back, track);
    if (lane)
        close_later(lane, time_ns);
}

/* Down to time_ns in a gap, or in the innermost span. */
static void walk_inside(struct back *back, const struct walk_lane *lane, int64_t time_ns)
{
    if (lane->count)
        walk_to(back, time_ns, lane->open[lane->count - 1].name, lane->open[lane->count - 1].kind);
    else
        walk_to(back, time_ns, back->after,
                !back->led                       ? WALK_IDLE
                : back->led_kind == TRACE_LAUNCH ? WALK_LAUNCH
                                                 : WALK_QUEUE);
}

/* Past what began at time_ns or later, and along what led to the work after a gap, if that departed
 * then. */
static void walk_past(struct back *back, int64_t time_ns)
{
    struct walk_lane *lane;
    if (time_ns < back->path->first_ns)
        time_ns = back->path->first_ns;
    while ((lane = lane_of(back, back->track)) && back->at_ns > time_ns) {
        const struct walk_open *inner = lane->count ? &lane->open[lane->count - 1] : NULL;
        const bool gap = !work_of(lane);
        if (gap && back->led && back->led_ns >= time_ns &&
            (!inner || inner->start_ns <= back->led_ns)) {
            walk_inside(back, lane, back->led_ns);
            go_to(back, back->led_from, back->led_ns);
        } else if (inner && inner->start_ns >= time_ns) {
            walk_inside(back, lane, inner->start_ns);
            if (walk_is_work(inner->kind))
                back->after = inner->name;
            lane->count--;
        } else {
            walk_inside(back, lane, time_ns);
        }
    }
    if (lane)
        close_later(lane, time_ns);
}

/* ---- steps -------------------------------------------------------------------------------------
 */

/* Work on a GPU that a call of the walk's process waits for ended last in it. */
static bool is_waited_for(const struct back *back, const struct critical_step *step)
{
    const struct trace *trace = *back->path->trace;
    const struct walk_lane *here = &back->lanes[back->track];
    return step->kind == WALK_GPU && here->count &&
           here->open[here->count - 1].kind == WALK_GPU_WAIT &&
           trace_track_of(trace, step->track)->process ==
               trace_track_of(trace, back->track)->process;
}

static void take_span(struct back *back, const struct critical_step *step)
{
    struct walk_lane *lane = lane_of(back, step->track);
    if (!lane)
        return;
    close_later(lane, step->time_ns);
    if (!grow_array32(&lane->open, &lane->room, lane->count + 1, sizeof *lane->open)) {
        back->failed = true;
        return;
    }
    lane->open[lane->count++] = (struct walk_open){step->from_ns, step->name, step->kind};
    if (step->time_ns > back->at_ns)
        return;
    if (step->track == back->track && walk_is_work(lane->open[lane->count - 1].kind))
        back->led = false; /* the track was busy then */
    else if (is_waited_for(back, step))
        go_to(back, step->track, step->time_ns);
}

/* A wake leads on from wherever its thread waited; others to the beginning of work, whose time may
 * be off by a nanosecond. */
static void take_link(struct back *back, const struct critical_step *step)
{
    const struct walk_open *work = work_of(&back->lanes[back->track]);
    const struct trace *trace = *back->path->trace;
    if (step->time_ns > back->at_ns)
        return;
    if (step->kind == STEP_HANDLER_ENDS) {
        if (!work && trace_track_of(trace, step->track)->process ==
                         trace_track_of(trace, back->track)->process)
            go_to(back, step->track, step->time_ns);
        return;
    }
    if (step->track != back->track)
        return;
    if (step->kind == TRACE_WAKE) {
        go_to(back, step->other, step->from_ns);
    } else if ((!work || stats_between_ns(work->start_ns, step->time_ns) < 2) &&
               (!back->led || step->from_ns > back->led_ns)) {
        back->led = true;
        back->led_from = step->other;
        back->led_kind = step->kind;
        back->led_ns = step->from_ns;
    }
}

static void add_hop(struct back *back, const struct critical_step *step,
                    const struct critical_message *message)
{
    struct critical_path *path = back->path;
    const int64_t until_ns = back->until_ns, stop_ns = message->stop_ns;
    const int64_t done_ns = stop_ns < until_ns ? stop_ns : until_ns;
    if (!grow_array32(&path->hops, &back->hop_room, path->hop_count + 1, sizeof *path->hops)) {
        back->failed = true;
        return;
    }
    path->hops[path->hop_count++] = (struct critical_hop){
        .key = message->key,
        .from_process = trace_track_of(*path->trace, step->other)->process,
        .to_process = trace_track_of(*path->trace, step->track)->process,
        .name = step->name,
        .sent_ns = step->from_ns,
        .network_ns = stats_between_ns(step->from_ns, message->arrived_ns),
        .queue_ns = stats_between_ns(message->arrived_ns, message->start_ns),
        .handling_ns = stats_between_ns(message->start_ns, done_ns),
        .work_ns = stats_between_ns(done_ns, until_ns),
    };
    back->until_ns = step->from_ns;
}

static void take_message(struct back *back, const struct critical_step *step,
                         const struct critical_message *message)
{
    const struct trace *trace = *back->path->trace;
    const bool inside = step->track == back->track && back->entered_ns <= message->stop_ns;
    const bool waited = step->kind && trace_track_of(trace, step->track)->process ==
                                          trace_track_of(trace, back->track)->process;
    if (step->time_ns >= back->entered_ns || !(inside || waited))
        return;
    add_hop(back, step, message);
    back->track = step->track;
    walk_to(back, message->arrived_ns, step->name, WALK_QUEUE);
    walk_to(back, step->from_ns, step->name, WALK_NETWORK);
    go_to(back, step->other, step->from_ns);
}

static bool take_step(void *context, const void *item, const uint64_t *payload)
{
    struct back *back = context;
    const struct critical_step *step = item;
    if (back->path->step)
        back->path->step(back->path->step_context, step);
    walk_past(back, step->time_ns);
    if (back->failed)
        return false;
    if (step->what == STEP_SPAN)
        take_span(back, step);
    else if (step->what == STEP_LINK)
        take_link(back, step);
    else
        take_message(back, step, (const void *)payload);
    return !back->failed;
}

/* ---- the result --------------------------------------------------------------------------------
 */

static int walk_by_length(const void *left, const void *right)
{
    const struct critical_share *a = left, *b = right;
    const struct critical_piece *x = &a->sum, *y = &b->sum;
    SORTED_BY(y, x, duration_ns);
    SORTED_BY(x, y, track);
    SORTED_BY(x, y, name);
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static void turn_round(struct critical_path *path)
{
    for (uint32_t i = 0; i < path->piece_count / 2; i++) {
        const struct critical_piece piece = path->pieces[i];
        path->pieces[i] = path->pieces[path->piece_count - 1 - i];
        path->pieces[path->piece_count - 1 - i] = piece;
    }
    for (uint32_t i = 0; i < path->hop_count / 2; i++) {
        const struct critical_hop hop = path->hops[i];
        path->hops[i] = path->hops[path->hop_count - 1 - i];
        path->hops[path->hop_count - 1 - i] = hop;
    }
    if (path->share_count)
        qsort(path->shares, path->share_count, sizeof *path->shares, walk_by_length);
}

bool critical_walk_back(struct critical_path *path)
{
    struct back back = {.path = path, .at_ns = path->last_ns, .until_ns = path->last_ns};
    go_to(&back, path->last_track, path->last_ns);
    merge_sorter_finish(&path->steps, take_step, &back);
    if (!back.failed)
        walk_past(&back, path->first_ns);
    path->first_process = trace_track_of(*path->trace, back.track)->process;
    path->last_process = trace_track_of(*path->trace, path->last_track)->process;
    path->first_work_ns = stats_between_ns(path->first_ns, back.until_ns);
    turn_round(path);
    for (uint32_t i = 0; i < back.lane_room; i++)
        free(back.lanes[i].open);
    free(back.lanes);
    index_map_free(&back.share_places);
    return !back.failed;
}
