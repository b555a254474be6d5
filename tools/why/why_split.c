/* SPDX-License-Identifier: Apache-2.0 */
/* Means of the ordinary calls first, then each slow call by itself; causes that are alike are one.
 */
#include "why_split.h"
#include "sorted.h"

#include "why_causes.h"

#include <stdlib.h>

enum { FAULTS_LEAST = 16, FAULT_MOST_NS = 10000, FAULT_NS = 2000, LATE_PART = 10 };
#define LATE_NS UINT64_C(10000000)

#define WHY_CAUSE_WORD(cause, word) word,
const char *const why_cause_words[WHY_CAUSES] = {WHY_CAUSE_LIST(WHY_CAUSE_WORD)};

/* ---- what ordinary calls have ---------------------------------------------------------------- */

static struct usual_part *usual_of(struct usual *usual, uint8_t kind, uint32_t name, bool make)
{
    for (uint32_t i = 0; i < usual->count; i++)
        if (usual->parts[i].kind == kind && usual->parts[i].name == name)
            return &usual->parts[i];
    if (!make || usual->count == USUAL_PARTS)
        return NULL;
    usual->parts[usual->count] = (struct usual_part){.kind = kind, .name = name};
    return &usual->parts[usual->count++];
}

static double usual_part_ns(struct usual *usual, const struct why_part *part)
{
    const struct usual_part *known = usual_of(usual, part->kind, part->name, false);
    return known && usual->calls > 0 ? known->ns / usual->calls : 0;
}

static uint64_t total_ns(const struct why_call *call)
{
    return (uint64_t)call->end_ns - (uint64_t)call->queued_ns;
}

static double gpu_tail_ns(const struct why_call *call)
{
    return call->gpu_until_ns && call->gpu_until_ns < call->end_ns
               ? (double)(call->end_ns - call->gpu_until_ns)
               : 0;
}

SORTED_COMPARE(by_size, uint64_t, *it)

static void add_usual(struct usual *usual, const struct why_calls *calls,
                      const struct why_call *call)
{
    usual->totals[(uint32_t)usual->calls] = total_ns(call);
    usual->calls++;
    usual->queue_ns += (double)(call->begin_ns - call->queued_ns);
    usual->tail_ns += gpu_tail_ns(call);
    if (call->has_cpu) {
        usual->with_cpu++;
        usual->running_ns += (double)call->cpu.running_ns;
        usual->runnable_ns += (double)call->cpu.runnable_ns;
        usual->waiting_ns += (double)call->cpu.waiting_ns;
        usual->faults += call->minor_faults;
    }
    for (uint32_t at = call->parts; at; at = calls->parts[at - 1].next) {
        const struct why_part *part = &calls->parts[at - 1];
        struct usual_part *known = usual_of(usual, part->kind, part->name, true);
        if (known)
            known->ns += (double)part->ns;
    }
}

static bool make_usual(struct usual *usual, const struct why_calls *calls)
{
    usual->totals = calloc(calls->count + 1u, sizeof *usual->totals);
    if (!usual->totals)
        return false;
    for (uint32_t i = 0; i < calls->count; i++)
        if (calls->list[i].seen && !calls->list[i].slow)
            add_usual(usual, calls, &calls->list[i]);
    const uint32_t count = (uint32_t)usual->calls;
    qsort(usual->totals, count, sizeof *usual->totals, by_size);
    usual->median_ns = count && !calls->name->lock ? usual->totals[count / 2] : 0;
    if (usual->with_cpu > 0) {
        usual->running_ns /= usual->with_cpu;
        usual->runnable_ns /= usual->with_cpu;
        usual->waiting_ns /= usual->with_cpu;
        usual->faults /= usual->with_cpu;
    }
    if (calls->name->lock) /* most of the times that it was taken nobody waited, and left no row */
        usual->calls = 0;
    if (usual->calls > 0) {
        usual->queue_ns /= usual->calls;
        usual->tail_ns /= usual->calls;
    }
    return true;
}

/* ---- handing out ------------------------------------------------------------------------------
 */

static bool is_same_by(const struct why_by *a, const struct why_by *b)
{
    return a->name == b->name && (a->name != TRACE_NONE || a->thread == b->thread);
}

/* A lock is one cause, whoever held it; one who was waited for, whatever signals the end. */
static struct why_cause *cause_like(struct why_split *split, const struct why_cause *like)
{
    for (uint32_t i = 0; i < split->count; i++) {
        struct why_cause *cause = &split->list[i];
        const bool object = cause->object == like->object;
        if (cause->cause != like->cause || cause->name != like->name || cause->kind != like->kind ||
            cause->system_call != like->system_call ||
            !(object || (like->cause == WHY_CAUSE_WAIT && like->by.thread != TRACE_NONE)) ||
            !(like->cause == WHY_CAUSE_LOCK || is_same_by(&cause->by, &like->by)))
            continue;
        if (!object) {
            cause->object = 0;
            cause->object_name = (struct trace_text){0};
        }
        return cause;
    }
    if (!grow_array32(&split->list, &split->room, split->count + 1, sizeof *split->list)) {
        split->failed = true;
        return NULL;
    }
    struct why_cause *cause = &split->list[split->count++];
    *cause = *like;
    cause->faults = 0;
    return cause;
}

/* Who has more than all others together is left in the end. */
static void vote(struct why_cause *cause, const struct why_by *by, uint64_t ns)
{
    if (!is_same_by(&cause->by, by) || cause->by.holder != by->holder) {
        const bool less = cause->by_ns < ns;
        if (less)
            cause->by = *by;
        cause->by_ns = less ? ns - cause->by_ns : cause->by_ns - ns;
        return;
    }
    cause->by_ns += ns;
    if (cause->by.thread != by->thread)
        cause->by.thread = TRACE_NONE;
}

static void vote_thread(struct why_cause *cause, uint32_t thread, uint64_t ns)
{
    const bool less = cause->thread_ns < ns;
    cause->others |= cause->calls && cause->thread != thread;
    if (cause->calls && cause->thread == thread) {
        cause->thread_ns += ns;
        return;
    }
    if (less)
        cause->thread = thread;
    cause->thread_ns = less ? ns - cause->thread_ns : cause->thread_ns - ns;
}

static void add_evidence(struct why_cause *cause, const struct why_call *call, uint64_t ns)
{
    struct why_evidence evidence = {call->thread, call->queued_ns,
                                    (uint64_t)call->end_ns - (uint64_t)call->queued_ns, ns};
    for (uint32_t i = 0; i < cause->evidence_count; i++)
        if (cause->evidence[i].excess_ns < evidence.excess_ns) {
            const struct why_evidence less = cause->evidence[i];
            cause->evidence[i] = evidence;
            evidence = less;
        }
    if (cause->evidence_count < WHY_EVIDENCE)
        cause->evidence[cause->evidence_count++] = evidence;
}

/* Whose stacks are the cause's; a cause gets several times of one call at once. */
static void note_taken(struct handing *handing, struct why_cause *cause)
{
    struct why_split *split = handing->split;
    const struct why_calls *calls = handing->calls;
    const uint32_t call = calls ? (uint32_t)(handing->call - calls->list) : 0;
    if (!calls || !calls->stacks.look_count ||
        (cause->taken && split->taken[cause->taken - 1].call == call))
        return;
    split->failed |= !grow_array32(&split->taken, &split->taken_room, split->taken_count + 1,
                                   sizeof *split->taken);
    if (split->failed)
        return;
    split->taken[split->taken_count++] = (struct why_taken){cause->taken, call};
    cause->taken = split->taken_count;
}

/* Of what is left of the call's excess at most that much. What it got. */
static uint64_t hand_out(struct handing *handing, struct why_cause like, double ns)
{
    if (ns < 1 || !handing->left_ns)
        return 0;
    const uint64_t got = ns < (double)handing->left_ns ? (uint64_t)ns : handing->left_ns;
    struct why_cause *cause = cause_like(handing->split, &like);
    if (!cause)
        return 0;
    vote_thread(cause, handing->call->thread, got);
    vote(cause, &like.by, got);
    cause->excess_ns += got;
    cause->calls++;
    cause->faults += like.faults;
    add_evidence(cause, handing->call, got);
    note_taken(handing, cause);
    handing->left_ns -= got;
    return got;
}

static struct why_cause new_cause(const struct handing *handing, enum why_cause_number which)
{
    return (struct why_cause){.cause = which,
                              .name = handing->calls ? handing->calls->name->number : TRACE_NONE,
                              .thread = TRACE_NONE,
                              .kind = TRACE_NONE,
                              .key = TRACE_NONE,
                              .value = TRACE_NONE,
                              .by = {TRACE_NONE, TRACE_NONE, TRACE_NONE, false, 0}};
}

/* Calls that its worker was in while it was in the queue. */
static void hand_out_queue(struct handing *handing)
{
    const struct why_call *call = handing->call;
    const double queued_ns = (double)(call->begin_ns - call->queued_ns);
    const double excess_ns = queued_ns - handing->usual->queue_ns;
    if (queued_ns <= 0 || excess_ns <= 0)
        return;
    uint32_t count;
    const struct why_meanwhile *list = why_calls_of_thread(handing->calls, call->thread, &count);
    double left_ns = excess_ns;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t ns =
            why_overlap_ns(list[i].start_ns, list[i].stop_ns, call->queued_ns, call->begin_ns);
        if (list[i].kind != WHY_SUB_ITEM || !ns)
            continue;
        struct why_cause behind = new_cause(handing, WHY_CAUSE_BEHIND);
        behind.by.name = list[i].name;
        behind.by.thread = call->thread;
        left_ns -= (double)hand_out(handing, behind, (double)ns < left_ns ? (double)ns : left_ns);
    }
    hand_out(handing, new_cause(handing, WHY_CAUSE_QUEUE), left_ns);
}

/* ---- waits ------------------------------------------------------------------------------------
 */

/* A row's time without the delay is the wait, the delay is time without a CPU. What a sub-item
 * waits for looks may say, and rows say it more exactly. */
static void hand_out_wait(struct handing *handing, const struct why_part *part, double rows_ns)
{
    const struct why_call *call = handing->call;
    struct why_cause cause = new_cause(handing, why_cause_of_wait(handing->calls, call, part));
    double ns = (double)part->ns - usual_part_ns(handing->usual, part);
    const double delay_ns = (double)part->delay_ns < ns ? (double)part->delay_ns : ns;
    if (part->kind == WHY_WAITING_ITEM)
        ns -= rows_ns;
    const double gpu_ns = ns > handing->gpu_ns ? handing->gpu_ns : ns > 0 ? ns : 0;
    ns -= gpu_ns;
    handing->gpu_ns -= gpu_ns;
    if (ns <= 0)
        return;
    cause.kind = part->name;
    cause.object = part->object;
    cause.object_name = why_calls_object(handing->calls, call->thread, part->object);
    cause.by = why_by_of(handing->calls, call, part);
    if ((cause.cause == WHY_CAUSE_LOCK || cause.cause == WHY_CAUSE_WAIT) && cause.by.starved)
        cause.cause = WHY_CAUSE_PREEMPTED;
    struct why_by sender;
    if (cause.cause == WHY_CAUSE_WAIT && why_message_of(handing->calls, part, &sender)) {
        cause.cause = WHY_CAUSE_MESSAGE;
        cause.by = sender;
    }
    handing->located_ns += (double)part->ns - gpu_ns;
    hand_out(handing, new_cause(handing, WHY_CAUSE_PREEMPTED), delay_ns);
    hand_out(handing, cause, ns - (delay_ns > 0 ? delay_ns : 0));
}

static void hand_out_waits(struct handing *handing)
{
    const struct why_call *call = handing->call;
    const struct why_part *parts = handing->calls->parts;
    double rows_ns = 0;
    for (uint32_t at = call->parts; at; at = parts[at - 1].next)
        rows_ns += parts[at - 1].kind == WHY_WAIT ? (double)parts[at - 1].ns : 0;
    for (uint32_t at = call->parts; at; at = parts[at - 1].next)
        if ((parts[at - 1].kind == WHY_WAIT || parts[at - 1].kind == WHY_WAITING_ITEM) &&
            parts[at - 1].start_ns < call->end_ns)
            hand_out_wait(handing, &parts[at - 1], rows_ns);
}

/* Blocked time of which no row says for what. */
static double blocked_above(const struct handing *handing)
{
    const double ns =
        (double)handing->call->cpu.waiting_ns - handing->located_ns - handing->usual->waiting_ns;
    return handing->call->has_cpu && ns > 0 ? ns : 0;
}

/* The sub-item that has nearly all of that time; the call's own name: none has. */
static uint32_t place_of(const struct handing *handing, double ns)
{
    for (uint32_t at = handing->call->parts; at; at = handing->calls->parts[at - 1].next) {
        const struct why_part *part = &handing->calls->parts[at - 1];
        if (part->kind == WHY_SUB_ITEM && (double)part->ns > NEARLY * ns)
            return part->name;
    }
    return handing->calls->name->number;
}

/* ---- the GPU -----------------------------------------------------------------------------------
 */

static double sum_of(const struct handing *handing, enum why_part_kind kind, bool usual)
{
    const struct why_part *parts = handing->calls->parts;
    double sum_ns = 0;
    for (uint32_t at = handing->call->parts; at && !usual; at = parts[at - 1].next)
        sum_ns += parts[at - 1].kind == kind ? (double)parts[at - 1].ns : 0;
    for (uint32_t i = 0; usual && i < handing->usual->count; i++)
        sum_ns += handing->usual->parts[i].kind == kind ? handing->usual->parts[i].ns : 0;
    return usual && handing->usual->calls > 0 ? sum_ns / handing->usual->calls : sum_ns;
}

/* The thread waited that long, or the call went on no longer behind the GPU's end than others do:
 * then what its GPU work took is part of its time. Else it may have done something else meanwhile.
 */
static bool waited_for_gpu(const struct handing *handing, double ns)
{
    const struct why_call *call = handing->call;
    const double waited_ns =
        call->has_cpu ? blocked_above(handing)
                      : sum_of(handing, WHY_WAITING_ITEM, false) + sum_of(handing, WHY_WAIT, false);
    return waited_ns >= NEARLY * ns || gpu_tail_ns(call) - handing->usual->tail_ns <= ns / 10;
}

/* At most `most_ns` of what the call's parts of that kind have above the usual ones. */
static double hand_out_gpu_parts(struct handing *handing, enum why_part_kind kind,
                                 enum why_cause_number which, double most_ns)
{
    double got_ns = 0;
    for (uint32_t at = handing->call->parts; at; at = handing->calls->parts[at - 1].next) {
        const struct why_part *part = &handing->calls->parts[at - 1];
        const double above_ns = (double)part->ns - usual_part_ns(handing->usual, part);
        const double left_ns = most_ns - got_ns;
        struct why_cause cause = new_cause(handing, which);
        if (part->kind != kind)
            continue;
        if (kind == WHY_GPU)
            cause.name = part->name;
        else if (kind == WHY_GPU_QUEUE)
            cause.by = (struct why_by){part->waker, part->name, TRACE_NONE, false, 0};
        got_ns += (double)hand_out(handing, cause, above_ns < left_ns ? above_ns : left_ns);
    }
    return got_ns;
}

/* What the thread waited for its GPU work it was blocked, or on the CPU asking for it. */
static void hand_out_gpu(struct handing *handing)
{
    const double queue_ns =
        sum_of(handing, WHY_GPU_QUEUE, false) - sum_of(handing, WHY_GPU_QUEUE, true);
    const double own_ns = sum_of(handing, WHY_GPU, false) - sum_of(handing, WHY_GPU, true);
    const double blocked_ns = blocked_above(handing);
    if (!handing->call->gpu_until_ns ||
        !waited_for_gpu(handing, (queue_ns > 0 ? queue_ns : 0) + (own_ns > 0 ? own_ns : 0)))
        return;
    const double got_ns =
        hand_out_gpu_parts(handing, WHY_GPU_QUEUE, WHY_CAUSE_GPU_QUEUE, queue_ns) +
        hand_out_gpu_parts(handing, WHY_GPU, WHY_CAUSE_GPU, own_ns);
    handing->gpu_ns = got_ns;
    handing->located_ns += got_ns < blocked_ns ? got_ns : blocked_ns;
    handing->running_ns -= got_ns < blocked_ns ? 0 : got_ns - blocked_ns;
}

/* The GPU was idle between works of the call while the thread was on the CPU. */
static void hand_out_launches(struct handing *handing)
{
    const double ns = sum_of(handing, WHY_LAUNCH, false) - sum_of(handing, WHY_LAUNCH, true);
    const double most_ns =
        handing->call->has_cpu && handing->running_ns < ns ? handing->running_ns : ns;
    const double got_ns = hand_out_gpu_parts(handing, WHY_LAUNCH, WHY_CAUSE_LAUNCH, most_ns);
    handing->gpu_ns += got_ns;
    handing->running_ns -= got_ns;
}

/* ---- what looks say ----------------------------------------------------------------------------
 */

/* At a lock, or in a file: looks say it, or major faults do. */
static void hand_out_looks(struct handing *handing)
{
    const struct why_call *call = handing->call;
    const struct why_look *look = &call->look;
    const double ns = blocked_above(handing);
    struct why_cause cause = new_cause(handing, WHY_CAUSE_IO);
    if (look->locked && 2 * look->locked >= look->in_call) {
        cause.cause = WHY_CAUSE_LOCK;
        cause.object = look->object;
        cause.object_name = why_calls_object(handing->calls, call->thread, look->object);
        cause.by = why_by_of_look(handing->calls, call, call->begin_ns, call->end_ns);
    } else if (2 * look->in_io > look->in_call || call->major_faults) {
        cause.system_call = look->in_io ? look->system_call : 0;
        cause.system_call_name = look->system_call_name;
    } else {
        return;
    }
    cause.name = place_of(handing, ns);
    handing->located_ns += (double)hand_out(handing, cause, ns);
}

/* ---- its own time ------------------------------------------------------------------------------
 */

static double sub_items_above(const struct handing *handing)
{
    double sum_ns = 0;
    for (uint32_t at = handing->call->parts; at; at = handing->calls->parts[at - 1].next) {
        const struct why_part *part = &handing->calls->parts[at - 1];
        const double ns = (double)part->ns - usual_part_ns(handing->usual, part);
        sum_ns += part->kind == WHY_SUB_ITEM && ns > 0 ? ns : 0;
    }
    return sum_ns;
}

/* What is left, to its sub-items by what they have above the usual; of that the GPU had some. */
static void hand_out_sub_items(struct handing *handing, double sum_ns)
{
    const double own_ns = sum_ns > handing->gpu_ns ? sum_ns - handing->gpu_ns : 0;
    const double left_ns = (double)handing->left_ns;
    const double scale = (own_ns > left_ns ? left_ns : own_ns) / (sum_ns > 0 ? sum_ns : 1);
    for (uint32_t at = handing->call->parts; at && sum_ns > 0;
         at = handing->calls->parts[at - 1].next) {
        const struct why_part *part = &handing->calls->parts[at - 1];
        const double ns = (double)part->ns - usual_part_ns(handing->usual, part);
        if (part->kind != WHY_SUB_ITEM || ns <= 0)
            continue;
        struct why_cause cause = new_cause(handing, WHY_CAUSE_SUB_ITEM);
        cause.name = part->name;
        hand_out(handing, cause, ns * scale);
    }
}

/* Page faults' own time is not recorded: it is at most the CPU time that calls with more of them
 * took, and no more than so many faults can take. */
static void hand_out_faults(struct handing *handing, double running_ns)
{
    const struct why_call *call = handing->call;
    const double faults = (double)call->minor_faults - handing->usual->faults;
    if (running_ns <= 0 || faults < FAULTS_LEAST || faults < 4 * handing->usual->faults)
        return;
    struct why_cause cause = new_cause(handing, WHY_CAUSE_PAGE_FAULTS);
    cause.faults = call->minor_faults;
    hand_out(handing, cause, running_ns / faults <= FAULT_MOST_NS ? running_ns : faults * FAULT_NS);
}

static void hand_out_call(struct handing *handing)
{
    const struct why_call *call = handing->call;
    const struct usual *usual = handing->usual;
    const double sub_items_ns = sub_items_above(handing);
    handing->running_ns = call->has_cpu ? (double)call->cpu.running_ns - usual->running_ns : 0;
    hand_out_queue(handing);
    hand_out_gpu(handing);
    hand_out_waits(handing);
    hand_out_looks(handing);
    const double stood_ns = call->look.in_call ? 0 : (double)why_stood_still(handing->calls, call);
    const double most_ns = call->has_cpu ? blocked_above(handing) : (double)handing->left_ns;
    handing->located_ns += (double)hand_out(handing, new_cause(handing, WHY_CAUSE_EVERYONE),
                                            stood_ns < most_ns ? stood_ns : most_ns);
    if (call->has_cpu)
        hand_out(handing, new_cause(handing, WHY_CAUSE_PREEMPTED),
                 (double)call->cpu.runnable_ns - usual->runnable_ns);
    const double blocked_ns = blocked_above(handing) - sub_items_ns;
    hand_out_launches(handing);
    hand_out_faults(handing, handing->running_ns);
    hand_out_sub_items(handing, sub_items_ns);
    hand_out(handing, new_cause(handing, WHY_CAUSE_SELF), handing->running_ns);
    struct why_cause in_call = new_cause(handing, WHY_CAUSE_WAIT);
    in_call.system_call = call->look.system_call;
    if (in_call.system_call) {
        in_call.by = why_by_of_blocked(handing->calls, call);
        hand_out(handing, in_call, blocked_ns);
    }
    if (blocked_ns > 0)
        handing->split->blocked_ns +=
            blocked_ns < (double)handing->left_ns ? (uint64_t)blocked_ns : handing->left_ns;
    handing->split->unknown_ns +=
        hand_out(handing, new_cause(handing, WHY_CAUSE_UNKNOWN), (double)handing->left_ns);
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static int by_excess(const void *left, const void *right)
{
    const struct why_cause *a = left, *b = right;
    SORTED_BY(b, a, excess_ns);
    return (a->cause > b->cause) - (a->cause < b->cause);
}

void why_split_make(struct why_split *split, const struct why_calls *calls)
{
    struct usual usual = {0};
    split->failed |= !make_usual(&usual, calls);
    split->median_ns = usual.median_ns;
    split->ordinary = (uint32_t)usual.calls;
    for (uint32_t i = 0; i < calls->count && !split->failed; i++) {
        const struct why_call *call = &calls->list[i];
        if (!call->seen || !call->slow || total_ns(call) <= usual.median_ns ||
            (calls->name->awaited && !why_is_awaited(calls, call)))
            continue;
        struct handing handing = {.split = split,
                                  .calls = calls,
                                  .call = call,
                                  .usual = &usual,
                                  .left_ns = total_ns(call) - usual.median_ns};
        split->slow++;
        split->excess_ns += handing.left_ns;
        hand_out_call(&handing);
    }
    free(usual.totals);
    why_find_argument(split, calls, usual.median_ns);
    why_find_period(split, calls);
    uint32_t left = 0;
    for (uint32_t i = 0; i < split->count; i++)
        if (split->list[i].cause != WHY_CAUSE_UNKNOWN)
            split->list[left++] = split->list[i];
    split->count = left;
    if (split->count)
        qsort(split->list, split->count, sizeof *split->list, by_excess);
    why_find_bounds(split, calls);
}

void why_split_of_gpu(struct why_split *split, const struct why_gpu *gpu)
{
    const struct handing nobody = {0};
    struct why_cause cause = new_cause(&nobody, WHY_CAUSE_LAUNCH);
    cause.thread = gpu->use.thread;
    cause.calls = gpu->use.launches < UINT32_MAX ? (uint32_t)gpu->use.launches : UINT32_MAX;
    cause.excess_ns = cause.bound_ns = split->excess_ns = gpu->running_ns;
    if (grow_array32(&split->list, &split->room, 1, sizeof *split->list))
        split->list[split->count++] = cause;
    else
        split->failed = true;
}

void why_split_of_stalls(struct why_split *split, const struct stalls *stalls)
{
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < stalls->count; i++) {
        const struct stall *stall = &stalls->list[i];
        const struct trace_stack *stack = &stall->stack;
        const uint64_t ns = stall_for_ns(stall);
        const struct why_call call = {
            .thread = stack->track, .begin_ns = stack->since_ns, .end_ns = stack->alive_ns};
        struct handing handing = {.split = split, .call = &call, .left_ns = ns};
        struct why_cause cause = new_cause(&handing, WHY_CAUSE_LOCK);
        if (!stall->open || trace_stack_is_call(stack) || stall->holder == TRACE_NONE ||
            ns < LATE_NS)
            continue;
        cause.object = stack->object;
        cause.object_name = stack->object_name;
        cause.by.thread = stall->holder;
        split->slow++;
        split->excess_ns += hand_out(&handing, cause, (double)ns);
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    if (split->count)
        qsort(split->list, split->count, sizeof *split->list, by_excess);
    for (uint32_t i = 0; i < split->count; i++)
        split->list[i].bound_ns =
            split->list[i].excess_ns < longest_ns ? split->list[i].excess_ns : longest_ns;
}

bool why_is_scheduling(uint64_t excess_ns, uint64_t calls, uint64_t run_ns)
{
    return excess_ns / calls < LATE_NS && excess_ns < run_ns / LATE_PART;
}

/* Then its slow calls say more than the waits for it. */
static bool is_slow_itself(const struct why_names *names, const struct why_cause *cause)
{
    if (cause->by.name == TRACE_NONE)
        return false;
    const struct trace_text by = trace_name_of(*names->trace, cause->by.name);
    for (uint32_t i = 0; i < names->count; i++)
        if (names->list[i].excess_ns && !names->list[i].wait &&
            trace_text_same(names->list[i].name, by))
            return true;
    return false;
}

bool why_split_is_news(const struct why_split *split, const struct why_names *names,
                       const struct why_name *name)
{
    const uint64_t run_ns = (uint64_t)names->last_ns - (uint64_t)names->first_ns;
    /* Threads of a pool that nobody wrapped wait for work in run intervals, also blocked. */
    const uint64_t waited_ns = name->run ? split->blocked_ns : 0;
    uint64_t news_ns =
        split->unknown_ns - (waited_ns < split->unknown_ns ? waited_ns : split->unknown_ns);
    for (uint32_t i = 0; i < split->count; i++) {
        const struct why_cause *cause = &split->list[i];
        const bool nobody = cause->by.thread == TRACE_NONE && cause->by.name == TRACE_NONE;
        const bool late = cause->cause == WHY_CAUSE_PREEMPTED || cause->cause == WHY_CAUSE_QUEUE ||
                          (cause->cause == WHY_CAUSE_WAIT && nobody) ||
                          (cause->cause == WHY_CAUSE_MESSAGE && cause->by.starved);
        if ((name->run && cause->cause == WHY_CAUSE_WAIT && cause->system_call) ||
            (name->awaited && is_slow_itself(names, cause)))
            continue;
        if (!late || !why_is_scheduling(cause->excess_ns, cause->calls, run_ns))
            news_ns += cause->excess_ns;
    }
    return news_ns >= names->noise_ns;
}

void why_split_free(struct why_split *split)
{
    free(split->list);
    free(split->taken);
    *split = (struct why_split){0};
}
