/* SPDX-License-Identifier: Apache-2.0 */
#include "stalls.h"
#include "grow.h"
#include "quantity.h"
#include "slow_stacks.h"
#include "sorted.h"
#include "text_name.h"
#include "trace_span.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- stacks of slow calls -------------------------------------------------------------------- */
/* Looks come before the spans of their source, which say what was called. */

#define ROUNDING_NS 1 /* of a call's begin, in its record and in the row */

/* ---- columns --------------------------------------------------------------------------------- */

#define SLOW(field) RESULT_FIELD(struct slow_stack, field)
static const struct result_column slow_columns[] = {
    {"samples", "samples", 9, RESULT_COUNT, SLOW(samples)},
    {"total", "total", 11, RESULT_NS, SLOW(total_ns)},
    {"oldest", "oldest", 11, RESULT_NS, SLOW(oldest_ns)},
    {"call", "call", -16, RESULT_TEXT, SLOW(name)},
    {"frames", "frames", 0, RESULT_TEXT, SLOW(frames)},
    RESULT_LAST};
const struct result_table slow_stacks_table = {"slow_stacks", "Stacks of slow calls",
                                               slow_columns,  "samples,total,oldest,call,frames",
                                               NULL,          20};

/* ---- looks ----------------------------------------------------------------------------------- */

enum { FRAMES_FOLDED = 256, FOLDED_BYTES = FRAMES_FOLDED * TRACE_FRAME_BYTES };

/* Names hold any bytes: what would separate them becomes a comma. */
static uint32_t fold(const struct trace_stack *stack, char *to)
{
    char name[TRACE_FRAME_BYTES];
    uint32_t bytes = 0;
    uint32_t from = stack->frame_count < FRAMES_FOLDED ? stack->frame_count : FRAMES_FOLDED;
    while (from-- > 0) {
        const struct trace_text frame = trace_frame_name(&stack->frames[from], name);
        if (bytes)
            to[bytes++] = ';';
        for (uint32_t i = 0; i < frame.bytes; i++)
            to[bytes++] = frame.text[i];
        for (uint32_t i = bytes - frame.bytes; i < bytes; i++)
            if (to[i] == ';')
                to[i] = ',';
    }
    return bytes;
}

uint32_t slow_texts_number(struct slow_texts *texts, struct trace_text text)
{
    const uint64_t hash = text_hash(TEXT_HASH_FIRST, text.text, text.bytes);
    for (uint32_t step = 0, i; (i = index_map_next(&texts->places, hash, &step)) != INDEX_NONE;)
        if (trace_text_same(texts->list[i], text))
            return i;
    char *copy = malloc(text.bytes + 1);
    if (!copy || !GROW_ARRAY(texts->list, texts->room, texts->count + 1) ||
        !index_map_add(&texts->places, hash, texts->count)) {
        free(copy);
        return UINT32_MAX;
    }
    memcpy(copy, text.bytes ? text.text : "", text.bytes);
    texts->list[texts->count] = (struct trace_text){copy, text.bytes};
    return texts->count++;
}

void slow_texts_free(struct slow_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
        free((void *)(uintptr_t)texts->list[i].text);
    free(texts->list);
    index_map_free(&texts->places);
}

void slow_stacks_on_stack(struct slow_stacks *slow, const struct trace_stack *stack)
{
    if (!stack->frame_count || stack->before)
        return;
    char *folded = malloc(FOLDED_BYTES);
    const uint32_t text =
        folded ? slow_texts_number(&slow->texts, (struct trace_text){folded, fold(stack, folded)})
               : UINT32_MAX;
    free(folded);
    if (text == UINT32_MAX || !GROW_ARRAY(slow->looks, slow->look_room, slow->look_count + 1)) {
        slow->failed = true;
        return;
    }
    slow->looks[slow->look_count++] = (struct slow_look){.since_ns = stack->since_ns,
                                                         .time_ns = stack->time_ns,
                                                         .track = stack->track,
                                                         .stack = text,
                                                         .name = stack->kind,
                                                         .called = TRACE_NONE,
                                                         .is_call = trace_stack_is_call(stack),
                                                         .blocked = stack->system_call != 0};
}

/* ---- what was called ------------------------------------------------------------------------- */

static int by_call(const void *left, const void *right)
{
    const struct slow_look *a = left, *b = right;
    SORTED_BY(a, b, track);
    SORTED_BY(a, b, since_ns);
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void put_in_order(struct slow_stacks *slow)
{
    if (slow->look_count && slow->sorted != slow->look_count)
        qsort(slow->looks, slow->look_count, sizeof *slow->looks, by_call);
    slow->sorted = slow->look_count;
}

static void see_call(struct slow_stacks *slow, const struct trace_span *span)
{
    const struct slow_look key = {
        .track = span->track, .since_ns = span->start_ns - ROUNDING_NS, .time_ns = INT64_MIN};
    uint32_t at;
    SORTED_FIND(at, slow->look_count, by_call(&slow->looks[at], &key) < 0);
    for (; at < slow->look_count && slow->looks[at].track == span->track &&
           slow->looks[at].since_ns <= span->start_ns + ROUNDING_NS;
         at++)
        if (slow->looks[at].is_call)
            slow->looks[at].called = span->name;
}

void slow_stacks_on_spans_(struct slow_stacks *slow, const struct trace_span *spans, size_t count)
{
    put_in_order(slow);
    for (size_t i = 0; i < count; i++)
        if (spans[i].category == TRACE_CALL)
            see_call(slow, &spans[i]);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int by_sum(const void *left, const void *right)
{
    const struct slow_look *a = left, *b = right;
    const int name = trace_text_compare(a->name, b->name);
    return name ? name : (a->stack > b->stack) - (a->stack < b->stack);
}

static int most_first(const void *left, const void *right)
{
    const struct slow_stack *a = left, *b = right;
    SORTED_BY(b, a, total_ns);
    const int name = trace_text_compare(a->name, b->name);
    return name ? name : trace_text_compare(a->frames, b->frames);
}

/* What is new of each: the rest is of the look before. */
void slow_stacks_measure(struct slow_stacks *slow)
{
    put_in_order(slow);
    for (uint32_t i = slow->look_count; i-- > 0;) {
        struct slow_look *look = &slow->looks[i];
        const struct slow_look *before = i ? look - 1 : NULL;
        const bool same = before && before->track == look->track &&
                          before->since_ns == look->since_ns && before->is_call == look->is_call;
        look->new_ns = look->time_ns - (same ? before->time_ns : look->since_ns);
        look->new_ns = look->new_ns > 0 ? look->new_ns : 0;
    }
}

void slow_stacks_finish(struct slow_stacks *slow, const struct trace *trace)
{
    if (!slow->look_count)
        return;
    slow_stacks_measure(slow);
    for (uint32_t i = 0; i < slow->look_count; i++)
        if (slow->looks[i].called != TRACE_NONE)
            slow->looks[i].name = trace_name_of(trace, slow->looks[i].called);
    slow->list = calloc(slow->look_count, sizeof *slow->list);
    if (!slow->list) {
        slow->failed = true;
        return;
    }
    qsort(slow->looks, slow->look_count, sizeof *slow->looks, by_sum);
    for (uint32_t i = 0; i < slow->look_count; i++) {
        const struct slow_look *look = &slow->looks[i];
        if (i == 0 || by_sum(look - 1, look) != 0)
            slow->list[slow->count++] =
                (struct slow_stack){.name = look->name, .frames = slow->texts.list[look->stack]};
        struct slow_stack *sum = &slow->list[slow->count - 1];
        const uint64_t age_ns =
            look->time_ns > look->since_ns ? (uint64_t)look->time_ns - (uint64_t)look->since_ns : 0;
        sum->samples++;
        sum->total_ns += (uint64_t)look->new_ns;
        sum->oldest_ns = age_ns > sum->oldest_ns ? age_ns : sum->oldest_ns;
    }
    qsort(slow->list, slow->count, sizeof *slow->list, most_first);
}

bool slow_stacks_next(struct trace_text *left, struct trace_text *frame_out)
{
    const char *end = left->bytes ? memchr(left->text, ';', left->bytes) : NULL;
    const uint32_t bytes = end ? (uint32_t)(end - left->text) : left->bytes;
    if (!left->bytes)
        return false;
    *frame_out = (struct trace_text){left->text, bytes};
    left->text += bytes + (end != NULL);
    left->bytes -= bytes + (end != NULL);
    return true;
}

void slow_stacks_free(struct slow_stacks *slow)
{
    slow_texts_free(&slow->texts);
    free(slow->looks);
    free(slow->list);
    *slow = (struct slow_stacks){0};
}

/* ---- threads by their number of the operating system ----------------------------------------- */

/* The first track of that number in the process; TRACE_NONE: there is none. */
static uint32_t find_first(const struct stalls *stalls, uint64_t os_id, uint32_t process)
{
    for (uint32_t step = 0, i;
         (i = index_map_next(&stalls->by_os_id, hash_pair(os_id, process), &step)) != INDEX_NONE;)
        if (stalls->tracks[i].os_id == os_id && stalls->tracks[i].process == process)
            return i;
    return TRACE_NONE;
}

static uint32_t holder_of(const struct stalls *stalls, const struct trace_stack *stack)
{
    const uint32_t process = stalls->tracks[stack->track].process;
    const uint32_t first = stack->holder ? find_first(stalls, stack->holder, process) : TRACE_NONE;
    return first == TRACE_NONE ? TRACE_NONE : stalls->tracks[first].last_of_id;
}

/* ---- coming in ------------------------------------------------------------------------------- */

void stalls_on_track(struct stalls *stalls, const struct trace_track *track)
{
    if (!GROW_ZEROED(stalls->tracks, stalls->track_room, track->number + 1)) {
        stalls->failed = true;
        return;
    }
    const bool below = track->kind == TRACE_TABLE && track->parent < stalls->track_count;
    stalls->tracks[track->number] =
        (struct stalls_track){.thread = track->kind == TRACE_THREAD ? track->number
                                        : below ? stalls->tracks[track->parent].thread
                                                : TRACE_NONE,
                              .process = track->process,
                              .os_id = track->kind == TRACE_THREAD ? track->os_id : 0};
    stalls->track_count = track->number + 1;
    /* Of those that had a number one after the other, the last counts. */
    if (stalls->tracks[track->number].os_id) {
        const struct stalls_track *noted = &stalls->tracks[track->number];
        const uint32_t first = find_first(stalls, noted->os_id, noted->process);
        if (first == TRACE_NONE &&
            !index_map_add(&stalls->by_os_id, hash_pair(noted->os_id, noted->process),
                           track->number))
            stalls->failed = true;
        stalls->tracks[first == TRACE_NONE ? track->number : first].last_of_id = track->number;
    }
}

/* A thread is in one call and one wait: in another one it has left the one before. NULL without
 * memory. */
static struct stall *place_of(struct stalls *stalls, uint32_t track, enum stall_kind kind)
{
    uint32_t *place = &stalls->tracks[track].stalls[kind];
    if (*place)
        return &stalls->list[*place - 1];
    if (!GROW_ZEROED(stalls->list, stalls->room, stalls->count + 1))
        return NULL;
    *place = ++stalls->count;
    return &stalls->list[*place - 1];
}

static void keep_frames(struct stalls *stalls, struct trace_stack *stack)
{
    const size_t bytes = stack->frame_count * sizeof *stack->frames;
    struct trace_frame *frames = bytes ? malloc(bytes) : NULL;
    if (frames)
        memcpy(frames, stack->frames, bytes);
    stalls->failed |= bytes && !frames;
    stack->frame_count = frames ? stack->frame_count : 0;
    stack->frames = frames;
}

static struct stall *take_look(struct stalls *stalls, enum stall_kind kind,
                               const struct trace_stack *stack)
{
    struct stall *stall = place_of(stalls, stack->track, kind);
    if (!stall) {
        stalls->failed = true;
        return NULL;
    }
    const struct trace_stack before = stall->stack;
    const bool same =
        before.since_ns == stack->since_ns && trace_text_same(before.kind, stack->kind);
    stall->stack = *stack;
    stall->of_call = stall->over = false;
    if (!stack->frame_count && same) { /* of the same call: the stack that was seen last */
        stall->stack.frames = before.frames;
        stall->stack.frame_count = before.frame_count;
        stall->stack.whole = before.whole;
    } else {
        free((void *)(uintptr_t)before.frames);
        keep_frames(stalls, &stall->stack);
    }
    return stall;
}

/* A call in a futex system call waits: at least since the first look that found it at that one, of
 * those that follow each other. Where the wait itself was looked at, that says more. */
static void take_futex(struct stalls *stalls, const struct trace_stack *call)
{
    const uint32_t place = stalls->tracks[call->track].stalls[STALL_WAIT];
    struct stall *known = place ? &stalls->list[place - 1] : NULL;
    if (known && !known->of_call && known->stack.object == call->object)
        return;
    if (known && known->of_call && !call->object)
        known->over = true;
    if (!call->object)
        return;
    const bool same = known && known->of_call && !known->over && known->call_ns == call->since_ns &&
                      known->stack.object == call->object && known->stack.holder == call->holder;
    struct trace_stack wait = *call;
    wait.kind = trace_text("futex");
    wait.since_ns = same ? known->stack.since_ns : call->time_ns;
    wait.frame_count = 0;
    struct stall *stall = take_look(stalls, STALL_WAIT, &wait);
    if (stall) {
        stall->of_call = true;
        stall->call_ns = call->since_ns;
    }
}

void stalls_on_stack(struct stalls *stalls, const struct trace_stack *stack)
{
    const bool call = trace_stack_is_call(stack);
    if ((stack->before && !stalls->any_look) || stack->track >= stalls->track_count)
        return;
    (void)take_look(stalls, call ? STALL_CALL : STALL_WAIT, stack);
    if (call)
        take_futex(stalls, stack);
}

static bool is_since(const struct stall *stall, int64_t start_ns)
{
    const uint64_t apart_ns = (uint64_t)start_ns - (uint64_t)stall->stack.since_ns;
    return apart_ns + ROUNDING_NS <= 2 * ROUNDING_NS;
}

/* An end, or a begin: its thread did something then. What still waited at the end of the recording
 * has not ended. */
static void see_span(struct stalls *stalls, struct stalls_track *thread,
                     const struct trace_span *span)
{
    const bool unfinished = span->flags & TRACE_UNFINISHED;
    const int64_t seen_ns = unfinished ? span->start_ns : span->stop_ns;
    struct stall *call =
        thread->stalls[STALL_CALL] ? &stalls->list[thread->stalls[STALL_CALL] - 1] : NULL;
    if (call && span->category == TRACE_CALL && span->flags & TRACE_OPEN)
        call->has_span |= is_since(call, span->start_ns);
    if (!thread->any || seen_ns > thread->last_ns)
        thread->last_ns = seen_ns;
    thread->any = true;
}

void stalls_on_spans_(struct stalls *stalls, const struct trace_span *spans, size_t count)
{
    const uint32_t track = count ? spans[0].track : TRACE_NONE;
    const uint32_t thread = track < stalls->track_count ? stalls->tracks[track].thread : TRACE_NONE;
    if (thread == TRACE_NONE)
        return;
    for (size_t i = 0; i < count; i++)
        if (!(spans[i].flags & TRACE_INSTANT))
            see_span(stalls, &stalls->tracks[thread], &spans[i]);
}

/* ---- what is open ---------------------------------------------------------------------------- */

static bool is_open(const struct stalls *stalls, const struct stall *stall)
{
    const struct stalls_track *track = &stalls->tracks[stall->stack.track];
    if (stall->over)
        return false;
    if (trace_stack_is_call(&stall->stack))
        return stall->has_span;
    return !track->any || track->last_ns <= stall->stack.time_ns;
}

const struct stall *stalls_of(const struct stalls *stalls, uint32_t track, enum stall_kind kind)
{
    const uint32_t at = track < stalls->track_count ? stalls->tracks[track].stalls[kind] : 0;
    return at && stalls->list[at - 1].open ? &stalls->list[at - 1] : NULL;
}

/* The wait of who holds what this one waits for, if it waited already. */
static struct stall *held_up_by(const struct stalls *stalls, const struct stall *stall)
{
    const struct stall *next = stalls_of(stalls, stall->holder, STALL_WAIT);
    return next && stall->stack.time_ns >= next->stack.since_ns ? (struct stall *)(uintptr_t)next
                                                                : NULL;
}

/* Each has one next: a walk that meets itself is in a cycle. */
static void find_cycle(struct stalls *stalls, struct stall *from, uint32_t walk)
{
    struct stall *at = from;
    while (at && !at->walk) {
        at->walk = walk;
        at = held_up_by(stalls, at);
    }
    if (!at || at->walk != walk)
        return;
    for (stalls->cycles++; !at->cycle; at = held_up_by(stalls, at))
        at->cycle = stalls->cycles;
}

void stalls_finish(struct stalls *stalls)
{
    for (uint32_t i = 0; i < stalls->count; i++) {
        stalls->list[i].open = is_open(stalls, &stalls->list[i]);
        stalls->list[i].holder = holder_of(stalls, &stalls->list[i].stack);
    }
    for (uint32_t i = 0; i < stalls->count; i++)
        if (stalls->list[i].open && !trace_stack_is_call(&stalls->list[i].stack))
            find_cycle(stalls, &stalls->list[i], i + 1);
}

void stalls_free(struct stalls *stalls)
{
    for (uint32_t i = 0; i < stalls->count; i++)
        free((void *)(uintptr_t)stalls->list[i].stack.frames);
    free(stalls->list);
    free(stalls->tracks);
    index_map_free(&stalls->by_os_id);
    *stalls = (struct stalls){0};
}

/* ---- in words -------------------------------------------------------------------------------- */

/* Addresses as debuggers print them, descriptors and processes as numbers. */
static void write_object(struct out *out, const struct trace_stack *stack)
{
    text_name(out, stack->kind.text, stack->kind.bytes);
    if (stack->object_name.bytes) {
        out_text(out, " ");
        text_name(out, stack->object_name.text, stack->object_name.bytes);
    } else if (stack->object)
        out_format(out, stack->object < 1 << 20 ? " %" PRIu64 : " 0x%" PRIx64, stack->object);
}

void stalls_write_object(struct out *out, const struct trace_stack *stack)
{
    write_object(out, stack);
    if (stack->system_call_name.bytes) {
        out_text(out, " in ");
        text_name(out, stack->system_call_name.text, stack->system_call_name.bytes);
    }
}

static void write_thread(struct out *out, const struct trace *trace, uint32_t track)
{
    const struct trace_track *thread = trace_track_of(trace, track);
    text_name(out, thread->name.text, thread->name.bytes);
    if (thread->os_id)
        out_format(out, " (%" PRIu64 ")", thread->os_id);
}

void stalls_write_cycle(struct out *out, const struct stalls *stalls, const struct trace *trace,
                        uint32_t cycle)
{
    const struct stall *first = stalls->list, *at, *next;
    while (first < stalls->list + stalls->count && first->cycle != cycle)
        first++;
    out_text(out, "deadlock: ");
    for (at = first; at == first || at != NULL; at = next == first ? NULL : next) {
        /* What it holds is what the one waits for whom it holds up. */
        const struct stall *before = first;
        while (before->cycle != cycle || held_up_by(stalls, before) != at)
            before++;
        next = held_up_by(stalls, at);
        out_text(out, at == first ? "" : "; ");
        write_thread(out, trace, at->stack.track);
        out_text(out, " holds ");
        write_object(out, &before->stack);
        out_text(out, " and waits for ");
        if (next == at) {
            out_text(out, "it");
            break;
        }
        write_object(out, &at->stack);
        out_text(out, ", held by ");
        write_thread(out, trace, at->holder);
    }
}

bool stalls_write_worst(struct out *out, const struct stalls *stalls, const struct trace *trace)
{
    const struct stall *worst = NULL;
    if (stalls->cycles) {
        stalls_write_cycle(out, stalls, trace, 1);
        return true;
    }
    for (uint32_t i = 0; i < stalls->count; i++) {
        const struct stall *stall = &stalls->list[i];
        if (stall->open && !trace_stack_is_call(&stall->stack) && stall->holder != TRACE_NONE &&
            (!worst || stall_for_ns(stall) > stall_for_ns(worst)))
            worst = stall;
    }
    if (!worst)
        return false;
    write_thread(out, trace, worst->stack.track);
    out_text(out, " waits for ");
    stalls_write_object(out, &worst->stack);
    out_format(out, " for %s, held by ", DURATION(stall_for_ns(worst)));
    write_thread(out, trace, worst->holder);
    return true;
}
