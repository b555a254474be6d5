/* SPDX-License-Identifier: Apache-2.0 */
#include "why_stack.h"

#include "sorted.h"

#include <stdlib.h>

enum { LOOKED_LEAST = 3 }; /* looks stand for that part of the calls' time */

/* ---- frames of a look ------------------------------------------------------------------------ */

static bool is_of(const struct trace_frame *frame, const char *library)
{
    return trace_text_begins(trace_path_end(frame->file), library);
}

static bool is_libc(const struct trace_frame *frame)
{
    return is_of(frame, "libc.") || is_of(frame, "libc-") || is_of(frame, "libpthread");
}

/* Before the last parentheses: those of a namespace without a name are not the last ones. */
static uint32_t bytes_without_arguments(struct trace_text name)
{
    const char *end = name.bytes ? memrchr(name.text, ')', name.bytes) : NULL;
    int32_t depth = 0;
    for (uint32_t at = end ? (uint32_t)(end + 1 - name.text) : 0; at-- > 1;) {
        depth += (name.text[at] == ')') - (name.text[at] == '(');
        if (!depth)
            return at;
    }
    return name.bytes;
}

uint32_t why_stack_cut(const struct trace_stack *stack, struct trace_frame kept[WHY_FRAMES])
{
    uint32_t count = 0, until = stack->frame_count;
    if (stack->whole && until > 1 && is_libc(&stack->frames[until - 2]))
        until--; /* a program's own _start, or libc's first one */
    while (stack->whole && until && is_libc(&stack->frames[until - 1]))
        until--;
    for (uint32_t i = 0; i < until && count < WHY_FRAMES; i++) {
        struct trace_frame frame = stack->frames[i];
        if (is_of(&frame, "librbwp"))
            continue;
        if (count == 1 && is_libc(&frame) && is_libc(&kept[0]))
            count = 0;
        if (!frame.python)
            frame.function.bytes = bytes_without_arguments(frame.function);
        if (count && frame.function.bytes &&
            trace_text_same(frame.function, kept[count - 1].function))
            continue;
        kept[count++] = frame;
    }
    return count;
}

void why_stack_take(struct why_calls *calls, const struct trace_stack *stack, uint32_t thread)
{
    struct trace_frame kept[WHY_FRAMES];
    struct trace_stack cut = *stack;
    cut.track = thread;
    cut.frames = kept;
    cut.frame_count = why_stack_cut(stack, kept);
    slow_stacks_on_stack(&calls->stacks, &cut);
    calls->failed |= calls->stacks.failed;
}

static int by_look(const void *left, const void *right)
{
    const struct slow_look *a = left, *b = right;
    SORTED_BY(a, b, track);
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

void why_stack_finish(struct why_calls *calls)
{
    struct slow_stacks *stacks = &calls->stacks;
    if (!stacks->look_count)
        return;
    slow_stacks_measure(stacks);
    qsort(stacks->looks, stacks->look_count, sizeof *stacks->looks, by_look);
}

/* ---- what most of the time shares ------------------------------------------------------------ */

struct trace_text why_hot_path(struct why_path *paths, uint32_t count)
{
    struct trace_text hot = {0};
    uint64_t all_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        all_ns += paths[i].ns;
    for (;;) {
        const struct why_path *best = NULL;
        uint64_t votes = 0, sum_ns = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct why_path *path = &paths[i];
            path->ns = path->ns && slow_stacks_next(&path->left, &path->frame) ? path->ns : 0;
            const bool same = best && trace_text_same(path->frame, best->frame);
            const bool more = path->ns > votes;
            best = more && !same ? path : best;
            votes = same ? votes + path->ns : more ? path->ns - votes : votes - path->ns;
        }
        for (uint32_t i = 0; i < count; i++) {
            paths[i].ns = best && trace_text_same(paths[i].frame, best->frame) ? paths[i].ns : 0;
            sum_ns += paths[i].ns;
        }
        if (sum_ns <= all_ns / 2)
            return hot;
        hot.text = best->frames.text;
        hot.bytes = (uint32_t)(best->frame.text + best->frame.bytes - hot.text);
    }
}

/* The thread ran, or was blocked; a call's time in the queue is none of its looks. */
static bool fits(uint32_t cause, const struct slow_look *look)
{
    const bool blocked = look->blocked || !look->is_call;
    if (cause == WHY_CAUSE_SELF || cause == WHY_CAUSE_PAGE_FAULTS)
        return !blocked;
    if (cause == WHY_CAUSE_LOCK || cause == WHY_CAUSE_WAIT || cause == WHY_CAUSE_IO)
        return blocked;
    return cause != WHY_CAUSE_QUEUE && cause != WHY_CAUSE_BEHIND;
}

bool why_stack_of(const struct why_calls *calls, const struct why_split *split,
                  const struct why_cause *cause, uint32_t thread, struct trace_text *hot_out)
{
    const struct slow_stacks *stacks = &calls->stacks;
    const bool own = thread == TRACE_NONE;
    struct why_path *paths = cause->taken ? malloc(stacks->look_count * sizeof *paths) : NULL;
    uint64_t looked_ns = 0, all_ns = 0;
    uint32_t count = 0, look;
    for (uint32_t at = cause->taken; at && paths; at = split->taken[at - 1].next) {
        const struct why_call *call = &calls->list[split->taken[at - 1].call];
        const struct slow_look from = {.track = own ? call->thread : thread,
                                       .time_ns = call->begin_ns};
        all_ns += (uint64_t)call->end_ns - (uint64_t)call->begin_ns;
        SORTED_FIND(look, stacks->look_count, by_look(&stacks->looks[look], &from) < 0);
        for (; look < stacks->look_count && count < stacks->look_count; look++) {
            const struct slow_look *it = &stacks->looks[look];
            if (it->track != from.track || it->time_ns > call->end_ns)
                break;
            const struct trace_text frames = stacks->texts.list[it->stack];
            const uint64_t ns = (uint64_t)why_overlap_ns(it->time_ns - it->new_ns, it->time_ns,
                                                         call->begin_ns, call->end_ns);
            paths[count] = (struct why_path){frames, ns, frames, {0}};
            count += !own || fits(cause->cause, it);
            looked_ns += ns;
        }
    }
    *hot_out = why_hot_path(paths, looked_ns < all_ns / LOOKED_LEAST ? 0 : count);
    free(paths);
    return paths || !cause->taken;
}
