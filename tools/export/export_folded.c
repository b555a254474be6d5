/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collapsed stacks for flame graphs: "node 0;worker 1;compact;copy 1234", one
 * line a stack, with the nanoseconds spent in its innermost span itself.
 *
 * Ranges and waits in queues of threads are no work: they would count the time of the calls in them
 * again. They are shown where there is nothing else. What lanes note inside kernels is always
 * shown.
 *
 * With --stacks the lines are the stacks of slow calls and waits instead (slow_stacks.h), behind
 * what was called: "compact;main;work;lock 1234".
 *
 * Stacks are nodes of a tree (stack_tree.h) that is kept until the end: STACKS_MAX of them.
 * Spans that overlap partly are not inside each other, so lanes do not appear.
 */
#include "export.h"
#include "message.h"
#include "slow_stacks.h"
#include "stack_tree.h"
#include "text_name.h"
#include "trace_span.h"
#include "dropped_report.h"

#include <stdlib.h>

enum { STACKS_MAX = 1 << 20 };

struct folded {
    struct trace_pass *pass;
    struct stack_tree stacks; /* groups are tracks, and what is in them are names */
    struct slow_stacks slow;
    bool has_work; /* stacks are of work; else of ranges and the like */
    struct dropped dropped;
};

/* ---- spans --------------------------------------------------------------------------- */

static bool is_work(const struct folded *folded, const struct trace_span *span)
{
    if (span->category == TRACE_RANGE)
        return trace_track_of(folded->pass->trace, span->track)->kind == TRACE_LANE;
    return span->category != TRACE_ANNOTATION && span->category != TRACE_QUEUED;
}

static void folded_on_spans(void *context, const struct trace_span *spans, size_t count,
                            const struct trace_details *details)
{
    struct folded *folded = context;
    if (export_options_of(folded->pass)->stacks) {
        slow_stacks_on_spans(&folded->slow, spans, count);
        return;
    }
    folded->dropped.details += trace_count_arguments(spans, count, details);
    for (size_t i = 0; i < count && !folded->stacks.failed; i++)
        if (spans[i].flags & TRACE_INSTANT) {
            folded->dropped.points++;
        } else {
            const bool works = is_work(folded, &spans[i]);
            folded->dropped.no_work += !works;
            /* The first span of work takes the place of all ranges so far. */
            if (works && !folded->has_work) {
                stack_tree_free(&folded->stacks);
                if (!stack_tree_start(&folded->stacks, STACKS_MAX))
                    folded->stacks.failed = true;
                folded->has_work = true;
            }
            if (works || !folded->has_work)
                stack_tree_add(&folded->stacks, &spans[i], spans[i].track, spans[i].name);
        }
    if (folded->stacks.failed)
        trace_pass_fail(folded->pass);
}

/* ---- lines --------------------------------------------------------------------------- */

/* A name within a line: no semicolon, no line end; a blank would do, but for the last one. */
static void folded_write_name(struct folded *folded, struct trace_text name)
{
    struct out *out = &folded->pass->out;
    for (uint32_t done = 0; done < name.bytes;) {
        const char *text = name.text + done, *end = memchr(text, ';', name.bytes - done);
        uint32_t bytes = end ? (uint32_t)(end - text) : name.bytes - done;
        text_name(out, text, bytes);
        if (end)
            out_bytes(out, ",", 1);
        done += bytes + (end != NULL);
    }
}

static void write_stack(struct folded *folded, uint32_t number)
{
    const struct trace *trace = folded->pass->trace;
    const struct stack_node *nodes = folded->stacks.nodes, *stack = &nodes[number];
    uint32_t path[STACK_DEPTH_MAX + 1], depth = 0;
    for (; number != STACK_NONE && depth <= STACK_DEPTH_MAX; number = nodes[number].parent)
        path[depth++] = number;
    const struct trace_track *track = trace_track_of(trace, stack->group);
    folded_write_name(folded, trace_process_of(trace, track->process)->name);
    out_text(&folded->pass->out, ";");
    folded_write_name(folded, track->name);
    while (depth > 0) {
        out_text(&folded->pass->out, ";");
        folded_write_name(folded, trace_name_of(trace, nodes[path[--depth]].what));
    }
    out_text(&folded->pass->out, " ");
    out_u64(&folded->pass->out, stack->self_ns);
    out_text(&folded->pass->out, "\n");
}

static void folded_on_stack(void *context, const struct trace_stack *stack)
{
    struct folded *folded = context;
    slow_stacks_on_stack(&folded->slow, stack);
}

static void write_slow(struct folded *folded)
{
    struct out *out = &folded->pass->out;
    slow_stacks_finish(&folded->slow, folded->pass->trace);
    for (uint32_t i = 0; i < folded->slow.count; i++) {
        const struct slow_stack *stack = &folded->slow.list[i];
        struct trace_text left = stack->frames, frame;
        folded_write_name(folded, stack->name);
        while (slow_stacks_next(&left, &frame)) {
            out_text(out, ";");
            folded_write_name(folded, frame);
        }
        out_text(out, " ");
        out_u64(out, stack->total_ns);
        out_text(out, "\n");
    }
    if (folded->slow.failed)
        message("out of memory; stacks are missing");
    folded->stacks.failed |= folded->slow.failed;
}

/* ---- begin and end --------------------------------------------------------------------- */

static bool folded_begin(struct trace_pass *pass)
{
    struct folded *folded = calloc(1, sizeof *folded);
    if (!folded || !stack_tree_start(&folded->stacks, STACKS_MAX)) {
        message("out of memory");
        free(folded);
        return false;
    }
    folded->pass = pass;
    pass->state = folded;
    pass->sink = (struct trace_sink){
        .context = folded, .spans = folded_on_spans, .full = trace_pass_is_full};
    pass->stacks = export_options_of(pass)->stacks ? TRACE_ALL_STACKS : TRACE_NO_STACKS;
    pass->sink.stack = pass->stacks ? folded_on_stack : NULL;
    return true;
}

static enum exit_code folded_end(struct trace_pass *pass)
{
    struct folded *folded = pass->state;
    if (pass->stacks)
        write_slow(folded);
    for (uint32_t i = 1; i < folded->stacks.count; i++)
        if ((int64_t)folded->stacks.nodes[i].self_ns > 0)
            write_stack(folded, i);
    if (folded->stacks.cut)
        message("more than %d different stacks; the time of others is in those around them",
                STACKS_MAX);
    folded->dropped.no_work *= folded->has_work;
    dropped_report(pass, "folded", folded->dropped);
    bool whole = !folded->stacks.failed && !folded->stacks.cut;
    stack_tree_free(&folded->stacks);
    slow_stacks_free(&folded->slow);
    free(folded);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

const struct exporter exporter_folded = {
    .name = "folded",
    .suffixes = ".folded .collapsed",
    .summary = "collapsed stacks with their own time, for flame graphs",
    .maker.begin = folded_begin,
    .maker.end = folded_end,
};
