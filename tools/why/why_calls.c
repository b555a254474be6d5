/* SPDX-License-Identifier: Apache-2.0 */
/* Calls are found by thread and time; of those of other threads what is long enough to matter. */
#include "why_calls.h"
#include "sorted.h"

#include "arg_text.h"
#include "trace_span.h"
#include "why_stack.h"

#include <stdlib.h>
#include <sys/syscall.h>

enum { ROUNDING_NS = 1, LEAST_PARTS = 8, CELLS_MOST = 1 << 22 };

/* ---- which calls ----------------------------------------------------------------------------- */

static int by_begin(const void *left, const void *right)
{
    const struct why_call *a = left, *b = right;
    SORTED_BY(a, b, thread);
    SORTED_BY(a, b, begin_ns);
    return (b->slow > a->slow) - (b->slow < a->slow);
}

static void add_picks(struct why_calls *calls, const struct why_picks *picks,
                      const struct why_bounds *bounds, bool queued, bool slow)
{
    for (uint32_t i = 0; i < picks->count; i++) {
        const struct why_pick *pick = &picks->list[i];
        const uint64_t length_ns = (uint64_t)pick->stop_ns - (uint64_t)pick->start_ns;
        if (bounds->threshold_ns && (length_ns > bounds->threshold_ns) != slow)
            continue;
        calls->list[calls->count++] =
            (struct why_call){.thread = pick->thread,
                              .slow = slow,
                              .queued_ns = pick->start_ns,
                              .begin_ns = queued ? pick->stop_ns : pick->start_ns,
                              .end_ns = pick->stop_ns};
    }
}

/* One that is slow in its queue and in itself, or is in the sample as well, is one. */
static void merge_same(struct why_calls *calls)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < calls->count; i++) {
        struct why_call *call = &calls->list[i], *last = left ? &calls->list[left - 1] : NULL;
        if (!last || last->thread != call->thread ||
            (uint64_t)call->begin_ns - (uint64_t)last->begin_ns > ROUNDING_NS) {
            calls->list[left++] = *call;
            continue;
        }
        last->slow |= call->slow;
        last->queued_ns = last->queued_ns < call->queued_ns ? last->queued_ns : call->queued_ns;
        last->end_ns = last->end_ns > call->end_ns ? last->end_ns : call->end_ns;
    }
    calls->count = left;
}

SORTED_COMPARE(by_queued, struct why_window, it->queued_ns)

static bool make_windows(struct why_calls *calls)
{
    calls->windows = calloc(calls->count + 1u, sizeof *calls->windows);
    if (!calls->windows)
        return false;
    for (uint32_t i = 0; i < calls->count; i++)
        if (calls->list[i].slow)
            calls->windows[calls->kept_slow++] =
                (struct why_window){calls->list[i].queued_ns, calls->list[i].end_ns, i};
    qsort(calls->windows, calls->kept_slow, sizeof *calls->windows, by_queued);
    for (uint32_t i = 1; i < calls->kept_slow; i++)
        if (calls->windows[i].until_ns < calls->windows[i - 1].until_ns)
            calls->windows[i].until_ns = calls->windows[i - 1].until_ns;
    return true;
}

bool why_calls_start(struct why_calls *calls, const struct why_names *names, struct why_name *name)
{
    const struct why_bounds *own = &name->own.bounds, *queued = &name->queued.bounds;
    const uint64_t run_ns = (uint64_t)names->last_ns - (uint64_t)names->first_ns;
    const uint64_t far_ns = name->own.slow ? own->threshold_ns - own->median_ns
                                           : queued->threshold_ns - queued->median_ns;
    const uint64_t most =
        (uint64_t)name->own.longest.count + name->queued.longest.count + name->sample.count;
    calls->trace = names->trace;
    calls->name = name;
    calls->first_ns = names->first_ns;
    calls->least_ns = far_ns / LEAST_PARTS + 1;
    calls->cell_ns = far_ns / LEAST_PARTS + run_ns / CELLS_MOST + 1000;
    calls->cell_count = run_ns / calls->cell_ns + 2;
    calls->list = calloc(most + 1, sizeof *calls->list);
    if (!calls->list)
        return false;
    if (name->own.slow)
        add_picks(calls, &name->own.longest, own, false, true);
    if (name->queued.slow)
        add_picks(calls, &name->queued.longest, queued, true, true);
    add_picks(calls, &name->sample, own, false, false);
    qsort(calls->list, calls->count, sizeof *calls->list, by_begin);
    merge_same(calls);
    return make_windows(calls);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The last call of the thread that began until then; NULL: none. */
static struct why_call *call_before(const struct why_calls *calls, uint32_t thread, int64_t time_ns)
{
    uint32_t at;
    SORTED_FIND(at, calls->count,
                calls->list[at].thread < thread ||
                    (calls->list[at].thread == thread && calls->list[at].begin_ns <= time_ns));
    return at && calls->list[at - 1].thread == thread ? &calls->list[at - 1] : NULL;
}

static struct why_call *call_at(const struct why_calls *calls, uint32_t thread, int64_t begin_ns)
{
    struct why_call *call = call_before(calls, thread, begin_ns + ROUNDING_NS);
    return call && (uint64_t)begin_ns - (uint64_t)call->begin_ns + ROUNDING_NS <= 2 * ROUNDING_NS
               ? call
               : NULL;
}

/* Of one of which the end is not known yet, what comes next may be taken for a part: why_split
 * leaves out what lies behind the end. */
static struct why_call *call_around(const struct why_calls *calls, uint32_t thread, int64_t time_ns)
{
    struct why_call *call = call_before(calls, thread, time_ns);
    return call && (time_ns < call->end_ns || call->end_ns == call->begin_ns) ? call : NULL;
}

/* So many of the windows, from the first on, began before that time. */
static uint32_t windows_until(const struct why_calls *calls, int64_t stop_ns)
{
    uint32_t at;
    SORTED_FIND(at, calls->kept_slow, calls->windows[at].queued_ns < stop_ns);
    return at;
}

static bool is_in_window(const struct why_calls *calls, int64_t start_ns, int64_t stop_ns)
{
    const uint32_t count = windows_until(calls, stop_ns);
    return count && calls->windows[count - 1].until_ns > start_ns;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* 1 + the place of the part; 0: there are too many, or no memory. */
static uint32_t part_of(struct why_calls *calls, struct why_call *call, const struct why_part *like)
{
    uint32_t count = 0, at = call->parts;
    for (; at; at = calls->parts[at - 1].next, count++) {
        const struct why_part *part = &calls->parts[at - 1];
        if (part->kind == like->kind && part->name == like->name && part->object == like->object &&
            part->waker == like->waker)
            return at;
    }
    if (count == WHY_PARTS)
        return 0;
    if (!grow_array32(&calls->parts, &calls->part_room, calls->part_count + 1,
                      sizeof *calls->parts)) {
        calls->failed = true;
        return 0;
    }
    calls->parts[calls->part_count] = *like;
    calls->parts[calls->part_count].delay_ns = 0;
    calls->parts[calls->part_count].next = call->parts;
    return call->parts = ++calls->part_count;
}

static uint32_t add_part(struct why_calls *calls, struct why_call *call, struct why_part like,
                         const struct trace_span *span)
{
    const uint64_t delay_ns = like.delay_ns;
    const uint64_t length_ns = trace_duration_ns(span);
    const uint32_t at = part_of(calls, call, &like);
    if (!at)
        return 0;
    struct why_part *part = &calls->parts[at - 1];
    part->ns += (int64_t)length_ns;
    part->delay_ns += delay_ns < length_ns ? delay_ns : length_ns;
    if (length_ns >= part->longest_ns) {
        part->longest_ns = length_ns;
        part->start_ns = span->start_ns;
        part->stop_ns = span->stop_ns;
    }
    return at;
}

/* Its time is no longer that of the sub-item around it. */
static void take_sub_item(struct why_calls *calls, uint32_t thread, const struct trace_span *span)
{
    struct why_call *call = call_around(calls, thread, span->start_ns);
    if (!call || span->depth >= WHY_DEPTH)
        return;
    if (!grow_zeroed32(&calls->lanes, &calls->lane_room, thread + 1, sizeof *calls->lanes)) {
        calls->failed = true;
        return;
    }
    struct why_lane *lane = &calls->lanes[thread];
    const uint32_t number = (uint32_t)(call - calls->list) + 1;
    if (lane->call != number)
        *lane = (struct why_lane){.call = number};
    lane->parts[span->depth] =
        add_part(calls, call,
                 (struct why_part){.kind = trace_is_waiting(span) ? WHY_WAITING_ITEM : WHY_SUB_ITEM,
                                   .name = span->name,
                                   .waker = TRACE_NONE},
                 span);
    const uint32_t around = lane->parts[span->depth - 1];
    if (span->depth > 1 && around)
        calls->parts[around - 1].ns -= (int64_t)trace_duration_ns(span);
}

/* ---- waits ----------------------------------------------------------------------------------- */

uint32_t why_calls_thread_of_id(const struct why_calls *calls, uint32_t thread, uint64_t os_id)
{
    const uint32_t process = calls->tracks.list[thread].track.process;
    for (uint32_t i = calls->tracks.count; os_id && i-- > 0;) {
        const struct why_track *track = &calls->tracks.list[i];
        if (track->track.kind == TRACE_THREAD && track->track.os_id == os_id &&
            track->track.process == process)
            return track->thread;
    }
    return TRACE_NONE;
}

static void keep_meanwhile(struct why_calls *calls, struct why_meanwhile meanwhile)
{
    if ((uint64_t)meanwhile.stop_ns - (uint64_t)meanwhile.start_ns < calls->least_ns ||
        !is_in_window(calls, meanwhile.start_ns, meanwhile.stop_ns))
        return;
    if (calls->meanwhile_count == WHY_MEANWHILE) {
        calls->meanwhile_dropped++;
        return;
    }
    if (grow_array32(&calls->meanwhile, &calls->meanwhile_room, calls->meanwhile_count + 1,
                     sizeof *calls->meanwhile))
        calls->meanwhile[calls->meanwhile_count++] = meanwhile;
    else
        calls->failed = true;
}

/* It is looked at only if it is part of a call that matters, or long. */
static void take_wait(struct why_calls *calls, const struct why_track *track,
                      const struct trace_span *span, const struct trace_detail *detail)
{
    struct why_call *call = call_around(calls, track->thread, span->start_ns);
    if (!call && trace_duration_ns(span) < calls->least_ns)
        return;
    const uint32_t waker = why_tracks_thread(&calls->tracks, track->track.process,
                                             why_argument(detail, calls->waker_key));
    const uint64_t object = why_argument(detail, calls->object_key);
    const uint64_t delay_ns = why_argument(detail, calls->delay_key),
                   all_ns = trace_duration_ns(span);
    if (call)
        add_part(calls, call,
                 (struct why_part){.kind = WHY_WAIT,
                                   .name = span->name,
                                   .waker = waker,
                                   .delay_ns = delay_ns,
                                   .object = object},
                 span);
    if (call && calls->name->wait && call->begin_ns == span->start_ns)
        call->seen = true;
    keep_meanwhile(calls,
                   (struct why_meanwhile){.start_ns = span->start_ns,
                                          .stop_ns = span->stop_ns,
                                          .runnable_ns = delay_ns < all_ns ? delay_ns : all_ns,
                                          .object = object,
                                          .thread = track->thread,
                                          .name = span->name,
                                          .waker = waker,
                                          .kind = WHY_WAIT});
}

/* ---- the GPU work of calls ------------------------------------------------------------------- */

static void keep_work(struct why_calls *calls, const struct why_work *work)
{
    struct why_work *oldest = &calls->works[0];
    for (unsigned i = 1; i < WHY_WORKS; i++)
        if (calls->works[i].stop_ns < oldest->stop_ns)
            oldest = &calls->works[i];
    if (work->stop_ns > oldest->stop_ns)
        *oldest = *work;
}

/* Whose work the GPU had most of that time, work of the own stream counting twice; NULL: nobody's
 * that is known. */
static const struct why_work *work_before(const struct why_calls *calls,
                                          const struct why_work *work, int64_t from_ns)
{
    const struct why_work *best = NULL;
    double best_ns = 0;
    for (unsigned i = 0; i < WHY_WORKS; i++) {
        double ns = 0;
        const struct why_work *one = &calls->works[i];
        for (unsigned j = 0; one->stop_ns > from_ns && j < WHY_WORKS; j++) {
            const struct why_work *other = &calls->works[j];
            if (other->track == work->track && other->name == one->name &&
                other->thread == one->thread)
                ns += (double)why_overlap_ns(other->start_ns, other->stop_ns, from_ns,
                                             work->start_ns) *
                      (other->stream == work->stream ? 2 : 1);
        }
        if (ns > best_ns) {
            best = one;
            best_ns = ns;
        }
    }
    return best;
}

static void add_gpu_part(struct why_calls *calls, struct why_call *call, struct why_part like,
                         int64_t from_ns, int64_t to_ns)
{
    const struct trace_span span = {.start_ns = from_ns,
                                    .stop_ns = to_ns < call->end_ns ? to_ns : call->end_ns};
    if (span.stop_ns > from_ns)
        add_part(calls, call, like, &span);
}

/* It comes by the GPU's order of starts, so each time is looked at once. */
static void add_work(struct why_calls *calls, struct why_call *call, const struct why_work *work,
                     int64_t launch_ns, int64_t launched_ns)
{
    const int64_t until_ns = call->gpu_until_ns;
    int64_t from_ns = launched_ns < work->start_ns ? launched_ns : work->start_ns;
    if (until_ns && from_ns > until_ns &&
        gpu_use_is_launching((uint64_t)from_ns - (uint64_t)until_ns,
                             (uint64_t)why_overlap_ns(launch_ns, from_ns, until_ns, from_ns)))
        add_gpu_part(
            calls, call,
            (struct why_part){.kind = WHY_LAUNCH, .name = calls->name->number, .waker = TRACE_NONE},
            until_ns, from_ns);
    from_ns = from_ns > until_ns ? from_ns : until_ns;
    if (from_ns < work->start_ns) {
        const struct why_work *before = work_before(calls, work, from_ns);
        add_gpu_part(calls, call,
                     (struct why_part){.kind = WHY_GPU_QUEUE,
                                       .name = before ? before->name : TRACE_NONE,
                                       .waker = before ? before->thread : TRACE_NONE},
                     from_ns, work->start_ns);
    }
    add_gpu_part(calls, call,
                 (struct why_part){.kind = WHY_GPU, .name = work->name, .waker = TRACE_NONE},
                 work->start_ns > until_ns ? work->start_ns : until_ns, work->stop_ns);
    call->gpu_until_ns = work->stop_ns > until_ns ? work->stop_ns : until_ns;
}

static void take_gpu_work(struct why_calls *calls, const struct trace_span *span,
                          const struct trace_detail *detail)
{
    const struct why_track *thread =
        detail ? why_tracks_of(&calls->tracks, detail->launch_track) : NULL;
    const struct why_work work = {.start_ns = span->start_ns,
                                  .stop_ns = span->stop_ns,
                                  .stream = why_argument(detail, calls->stream_key),
                                  .track = span->track,
                                  .thread = thread ? thread->thread : TRACE_NONE,
                                  .name = span->name};
    if (thread && (detail->flags & (TRACE_HAS_LAUNCH | TRACE_INFERRED)) == TRACE_HAS_LAUNCH) {
        const int64_t launched_ns = (int64_t)why_argument(detail, calls->launched_key);
        struct why_call *call = call_around(calls, work.thread, detail->launch_ns);
        if (call)
            add_work(calls, call, &work, detail->launch_ns,
                     launched_ns > detail->launch_ns ? launched_ns : detail->launch_ns);
    }
    keep_work(calls, &work);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void take_args(struct why_calls *calls, struct why_call *call,
                      const struct trace_detail *detail)
{
    for (uint32_t i = 0; detail && i < detail->arg_count; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        struct arg_text made;
        const bool is_name = arg->type == TRACE_ARG_NAME;
        const struct trace_text name = is_name
                                           ? trace_name_of(*calls->trace, (uint32_t)arg->value.u64)
                                           : (struct trace_text){0};
        if (is_name)
            made.text = name;
        else if (!arg_text_make(&made, detail, arg, NULL, 0))
            continue;
        const uint32_t value = slow_texts_number(&calls->texts, made.text);
        if (value == UINT32_MAX || !grow_array32(&calls->args, &calls->arg_room,
                                                 calls->arg_count + 1, sizeof *calls->args)) {
            calls->failed = true;
            return;
        }
        calls->args[calls->arg_count] = (struct why_arg){call->args, arg->key, value};
        call->args = ++calls->arg_count;
    }
}

static void take_call(struct why_calls *calls, uint32_t thread, const struct trace_span *span,
                      const struct trace_detail *detail)
{
    const struct trace_cpu cpu = trace_cpu_of(span, detail);
    struct why_call *call = span->name == calls->name->number && !calls->name->wait
                                ? call_at(calls, thread, span->start_ns)
                                : NULL;
    if (call && !call->seen) {
        call->seen = true;
        call->end_ns = span->stop_ns;
        call->cpu = cpu;
        call->has_cpu = trace_cpu_is_known(&cpu);
        call->minor_faults = detail ? detail->minor_faults : 0;
        call->major_faults = detail ? detail->major_faults : 0;
        take_args(calls, call, detail);
    }
    keep_meanwhile(calls, (struct why_meanwhile){.start_ns = span->start_ns,
                                                 .stop_ns = span->stop_ns,
                                                 .running_ns = cpu.running_ns,
                                                 .runnable_ns = cpu.runnable_ns,
                                                 .thread = thread,
                                                 .name = span->name,
                                                 .waker = TRACE_NONE,
                                                 .kind = WHY_SUB_ITEM,
                                                 .has_cpu = trace_cpu_is_known(&cpu)});
}

static void take_queued(struct why_calls *calls, uint32_t thread, const struct trace_span *span)
{
    struct why_call *call = call_at(calls, thread, span->stop_ns);
    if (call && span->name == calls->name->number && span->start_ns < call->queued_ns)
        call->queued_ns = span->start_ns;
}

/* ---- when threads did something -------------------------------------------------------------- */

static void mark(struct why_calls *calls, uint64_t *cells, struct why_activity *activity,
                 int64_t time_ns)
{
    const uint64_t cell = ((uint64_t)time_ns - (uint64_t)calls->first_ns) / calls->cell_ns;
    if (cell < calls->cell_count)
        cells[cell / 64] |= UINT64_C(1) << cell % 64;
    if (!activity->events++ || time_ns < activity->first_ns)
        activity->first_ns = time_ns;
    if (time_ns > activity->last_ns)
        activity->last_ns = time_ns;
}

static void take_events(struct why_calls *calls, const struct why_track *track,
                        const struct trace_span *spans, size_t count)
{
    const uint32_t process = track->track.process;
    if (!grow_zeroed32(&calls->cells, &calls->process_room, process + 1, sizeof *calls->cells) ||
        !grow_zeroed32(&calls->activity, &calls->activity_room, track->thread + 1,
                       sizeof *calls->activity) ||
        (!calls->cells[process] &&
         !(calls->cells[process] = calloc(calls->cell_count / 64 + 1, 8)))) {
        calls->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const bool unknown = spans[i].flags & TRACE_UNFINISHED;
        mark(calls, calls->cells[process], &calls->activity[track->thread], spans[i].start_ns);
        if (!unknown)
            mark(calls, calls->cells[process], &calls->activity[track->thread], spans[i].stop_ns);
    }
}

/* ---- looks ----------------------------------------------------------------------------------- */

static bool is_io(uint64_t system_call)
{
    static const long calls[] = {SYS_read,     SYS_write,   SYS_pread64, SYS_pwrite64,
                                 SYS_readv,    SYS_writev,  SYS_fsync,   SYS_fdatasync,
                                 SYS_preadv,   SYS_pwritev, SYS_openat,  SYS_fallocate,
                                 SYS_ftruncate};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (system_call == (uint64_t)calls[i] + 1)
            return true;
    return false;
}

struct trace_text why_calls_object(const struct why_calls *calls, uint32_t thread, uint64_t address)
{
    const struct why_track *track = why_tracks_of(&calls->tracks, thread);
    for (uint32_t i = 0; track && i < calls->object_count; i++)
        if (calls->objects[i].address == address &&
            calls->objects[i].process == track->track.process)
            return calls->objects[i].name;
    return (struct trace_text){0};
}

static void note_object(struct why_calls *calls, const struct trace_stack *stack)
{
    const struct why_track *track = why_tracks_of(&calls->tracks, stack->track);
    if (!track || !stack->object_name.bytes || calls->object_count == WHY_OBJECTS ||
        why_calls_object(calls, stack->track, stack->object).bytes)
        return;
    calls->failed |= !grow_array32(&calls->objects, &calls->object_room, calls->object_count + 1,
                                   sizeof *calls->objects);
    if (!calls->failed)
        calls->objects[calls->object_count++] =
            (struct why_object){stack->object, track->track.process, stack->object_name};
}

static bool calls_wants_frames(void *context, const struct trace_stack *stack)
{
    return is_in_window(context, stack->since_ns, stack->time_ns);
}

static void calls_on_stack(void *context, const struct trace_stack *stack)
{
    struct why_calls *calls = context;
    const struct why_track *track = why_tracks_of(&calls->tracks, stack->track);
    struct why_call *call =
        track && track->thread != TRACE_NONE && trace_stack_is_call(stack) != calls->name->wait
            ? call_at(calls, track->thread, stack->since_ns)
            : NULL;
    note_object(calls, stack);
    if (track && stack->frame_count && calls_wants_frames(calls, stack))
        why_stack_take(calls, stack, track->thread);
    if (!call)
        return;
    struct why_look *look = &call->look;
    look->looks++;
    look->locked += stack->object && stack->holder;
    look->in_io += is_io(stack->system_call);
    look->in_call += stack->system_call != 0;
    if (stack->system_call) {
        look->system_call = stack->system_call;
        look->system_call_name = stack->system_call_name;
    }
    if (stack->object && stack->holder) {
        look->object = stack->object;
        look->holder = stack->holder;
    }
}

/* ---- the sink -------------------------------------------------------------------------------- */

static void calls_on_track(void *context, const struct trace_track *track)
{
    struct why_calls *calls = context;
    why_tracks_add(&calls->tracks, *calls->trace, track);
    calls->failed |= calls->tracks.failed;
}

static void calls_on_name(void *context, uint32_t number, struct trace_text name)
{
    struct why_calls *calls = context;
    if (trace_text_same(name, calls->name->name)) /* names of frames come before it */
        calls->name->number = number;
    if (trace_text_is(name, "object"))
        calls->object_key = number + 1;
    else if (trace_text_is(name, "waker"))
        calls->waker_key = number + 1;
    else if (trace_text_is(name, "delay"))
        calls->delay_key = number + 1;
    else if (trace_text_is(name, "launched"))
        calls->launched_key = number + 1;
    else if (trace_text_is(name, "stream"))
        calls->stream_key = number + 1;
}

static void calls_on_spans(void *context, const struct trace_span *spans, size_t count,
                           const struct trace_details *details)
{
    struct why_calls *calls = context;
    const struct why_track *track = count ? why_tracks_of(&calls->tracks, spans[0].track) : NULL;
    if (track && track->track.kind == TRACE_GPU)
        for (size_t i = 0; i < count && !calls->failed; i++)
            if (spans[i].category == TRACE_GPU_WORK)
                take_gpu_work(calls, &spans[i],
                              details ? trace_detail_of(details, &spans[i]) : NULL);
    if (!track || track->thread == TRACE_NONE || calls->failed)
        return;
    const bool thread = track->track.kind == TRACE_THREAD;
    if (thread || track->waits)
        take_events(calls, track, spans, count);
    for (size_t i = 0; i < count && !calls->failed; i++) {
        const struct trace_span *span = &spans[i];
        if (span->category == TRACE_QUEUED)
            take_queued(calls, track->thread, span);
        else if (why_is_wait(track, span))
            take_wait(calls, track, span, trace_detail_of(details, span));
        else if (thread && span->category == TRACE_CALL && span->depth == 0)
            take_call(calls, track->thread, span, details ? trace_detail_of(details, span) : NULL);
        else if (thread && span->depth > 0 && span->category != TRACE_GPU_WORK)
            take_sub_item(calls, track->thread, span);
    }
}

static bool calls_are_full(void *context)
{
    const struct why_calls *calls = context;
    return calls->failed;
}

/* ---- messages ---------------------------------------------------------------------------------
 */

enum { SHARP = 10 }; /* times are to be as good as that part of a wait */

static bool is_near(int64_t a, int64_t b, uint64_t most_ns)
{
    return (a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a) <= most_ns;
}

/* No table says which message ended a wait: it is the one to the process whose handler ended with
 * it, or before it by as long as the call had no CPU. Where clocks are not known well enough,
 * nobody is said to be late. */
static bool message_ended(const struct why_call *call, const struct why_part *part,
                          const struct trace_message *message)
{
    const uint64_t sharp_ns = part->longest_ns / SHARP;
    const bool before = message->handled.stop_ns < part->stop_ns;
    const bool sharp = message->from_process == message->to_process ||
                       (message->bounded && message->bound_ns <= sharp_ns);
    return (part->kind == WHY_WAIT || part->kind == WHY_WAITING_ITEM) && sharp &&
           message->handled.start_ns <= part->stop_ns &&
           is_near(message->handled.stop_ns, part->stop_ns,
                   sharp_ns + (before ? call->cpu.runnable_ns : 0));
}

static bool is_within(int64_t time_ns, int64_t from_ns, int64_t to_ns)
{
    return time_ns >= from_ns && time_ns <= to_ns;
}

/* A message whose handler sent another one did not end the wait itself. */
static void note_message(struct why_part *part, const struct trace_message *message,
                         uint32_t sender, uint32_t handler)
{
    struct why_message *known = &part->message;
    const struct why_message made = {.count = known->count + 1,
                                     .sender = sender,
                                     .handler = handler,
                                     .name = message->handled.name,
                                     .in = TRACE_NONE,
                                     .sent_ns = message->sent.start_ns,
                                     .arrived_ns = message->handled.arrived_ns,
                                     .handled_ns = message->handled.start_ns,
                                     .ended_ns = message->handled.stop_ns};
    const bool any = known->count != 0;
    const bool sends = any && handler == known->sender &&
                       is_within(known->sent_ns, made.handled_ns, made.ended_ns);
    const bool sent = any && sender == known->handler &&
                      is_within(made.sent_ns, known->handled_ns, known->ended_ns);
    const struct why_message first = sends ? made : *known;
    if (!sends)
        *known = made;
    if (!sends && !sent)
        return;
    known->count = made.count - 1;
    if ((uint64_t)first.ended_ns - (uint64_t)first.handled_ns > part->longest_ns / 2)
        known->in = first.name;
}

static void why_calls_on_message(void *context, const struct trace_message *message)
{
    struct why_calls *calls = context;
    const struct why_track *sender = why_tracks_of(&calls->tracks, message->sent.track);
    const struct why_track *handler = why_tracks_of(&calls->tracks, message->handled.track);
    uint32_t i = windows_until(calls, message->handled.stop_ns);
    while (sender && handler && i-- > 0 &&
           calls->windows[i].until_ns >= message->handled.start_ns) {
        const struct why_call *call = &calls->list[calls->windows[i].call];
        if (calls->tracks.list[call->thread].track.process != message->to_process ||
            message->handled.start_ns > call->end_ns)
            continue;
        for (uint32_t at = call->parts; at; at = calls->parts[at - 1].next) {
            struct why_part *part = &calls->parts[at - 1];
            if (message_ended(call, part, message))
                note_message(part, message, sender->thread, handler->thread);
        }
    }
}

struct trace_sink why_calls_sink(struct why_calls *calls)
{
    return (struct trace_sink){.context = calls,
                               .track = calls_on_track,
                               .name = calls_on_name,
                               .spans = calls_on_spans,
                               .frames = calls_wants_frames,
                               .stack = calls_on_stack,
                               .message = why_calls_on_message,
                               .full = calls_are_full};
}

/* ---- the end --------------------------------------------------------------------------------- */

static int by_thread(const void *left, const void *right)
{
    const struct why_meanwhile *a = left, *b = right;
    SORTED_BY(a, b, thread);
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

void why_calls_finish(struct why_calls *calls)
{
    if (calls->meanwhile_count)
        qsort(calls->meanwhile, calls->meanwhile_count, sizeof *calls->meanwhile, by_thread);
    why_stack_finish(calls);
}

const struct why_meanwhile *why_calls_of_thread(const struct why_calls *calls, uint32_t thread,
                                                uint32_t *count_out)
{
    uint32_t first, end;
    SORTED_FIND(first, calls->meanwhile_count, calls->meanwhile[first].thread < thread);
    SORTED_FIND(end, calls->meanwhile_count, calls->meanwhile[end].thread <= thread);
    *count_out = end - first;
    return calls->meanwhile + first;
}

void why_calls_free(struct why_calls *calls)
{
    for (uint32_t i = 0; i < calls->process_room; i++)
        free(calls->cells[i]);
    free(calls->cells);
    free(calls->activity);
    free(calls->lanes);
    free(calls->windows);
    free(calls->list);
    free(calls->parts);
    free(calls->args);
    free(calls->meanwhile);
    free(calls->tracks.list);
    slow_texts_free(&calls->texts);
    slow_stacks_free(&calls->stacks);
    free(calls->objects);
    *calls = (struct why_calls){0};
}
