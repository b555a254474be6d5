/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collapsed stacks for flame graphs: "node 0;worker 1;compact;copy 1234", one
 * line a stack, with the nanoseconds spent in its innermost span itself.
 *
 * Spans come outer ones first, so the time that a span spends in others is
 * taken off again as they come. Stacks are nodes of a tree that is kept until
 * the end: STACKS_MAX of them, DEPTH_MAX deep; beyond, times stay in the stack
 * around.
 * Spans that overlap partly are not inside each other, so lanes do not appear.
 */
#include "export.h"
#include "left_out.h"
#include "message.h"
#include "thread_map.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdlib.h>

enum { STACKS_MAX = 1 << 20, NO_STACK = 0, DEPTH_MAX = 256 };

struct stack {
    uint32_t parent; /* NO_STACK: directly on the track */
    uint32_t track, name;
    uint64_t self_ns; /* may be below 0 on the way */
};

struct open_stack {
    int64_t stop_ns;
    uint32_t stack;
};

struct lane_state {
    struct open_stack *open; /* outermost first */
    uint32_t depth, room;
};

struct row {
    uint32_t lane_count;
    struct lane_state *lanes;
};

struct folded {
    struct trace_pass *pass;
    struct stack *stacks; /* the first is not used */
    uint32_t *cells;      /* hash table of stack numbers; 0 is a free cell */
    uint32_t count, room, cell_count;
    struct row *rows; /* by track */
    uint32_t row_count;
    struct left_out left_out;
    bool failed, cut;
};

static void fail(struct folded *folded)
{
    if (!folded->failed)
        message("out of memory; the rest is left out");
    folded->failed = true;
}

/* ---- the tree ------------------------------------------------------------------------ */

static bool same(const struct stack *a, const struct stack *b)
{
    return a->parent == b->parent && a->track == b->track && a->name == b->name;
}

static uint32_t *find_cell(const struct folded *folded, const struct stack *wanted)
{
    uint64_t hash = ((uint64_t)wanted->parent << 32 | wanted->name) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ wanted->track) * UINT64_C(0xff51afd7ed558ccd);
    for (uint64_t at = hash >> 24;; at++) {
        uint32_t *cell = &folded->cells[at & (folded->cell_count - 1)];
        if (*cell == 0 || same(&folded->stacks[*cell], wanted))
            return cell;
    }
}

static bool grow_cells(struct folded *folded)
{
    uint32_t count = folded->cell_count ? folded->cell_count * 2 : 1024;
    uint32_t *cells = calloc(count, sizeof *cells);
    if (!cells)
        return false;
    free(folded->cells);
    folded->cells = cells;
    folded->cell_count = count;
    for (uint32_t i = 1; i < folded->count; i++)
        *find_cell(folded, &folded->stacks[i]) = i;
    return true;
}

/* The number of this stack; its parent's when there is no room. */
static uint32_t stack_number(struct folded *folded, struct stack wanted)
{
    if (folded->count * 2 >= folded->cell_count && !grow_cells(folded)) {
        fail(folded);
        return wanted.parent;
    }
    uint32_t *cell = find_cell(folded, &wanted);
    if (*cell)
        return *cell;
    if (folded->count == STACKS_MAX) {
        folded->cut = true;
        return wanted.parent;
    }
    if (!thread_array_grow(&folded->stacks, &folded->room, folded->count + 1,
                           sizeof *folded->stacks)) {
        fail(folded);
        return wanted.parent;
    }
    folded->stacks[folded->count] = wanted;
    *cell = folded->count;
    return folded->count++;
}

/* ---- spans --------------------------------------------------------------------------- */

static struct lane_state *lane_of(struct folded *folded, uint32_t track, uint32_t lane)
{
    struct row *row = &folded->rows[track];
    if (lane < row->lane_count ||
        thread_array_grow(&row->lanes, &row->lane_count, lane + 1, sizeof *row->lanes))
        return &row->lanes[lane];
    return NULL;
}

static void add_span(struct folded *folded, const struct trace_span *span)
{
    struct lane_state *lane = lane_of(folded, span->track, span->row);
    while (lane && lane->depth && lane->open[lane->depth - 1].stop_ns <= span->start_ns)
        lane->depth--;
    if (lane && lane->depth == DEPTH_MAX)
        return;
    if (!lane ||
        !thread_array_grow(&lane->open, &lane->room, lane->depth + 1, sizeof *lane->open)) {
        fail(folded);
        return;
    }
    uint32_t around = lane->depth ? lane->open[lane->depth - 1].stack : NO_STACK;
    uint32_t number = stack_number(
        folded, (struct stack){.parent = around, .track = span->track, .name = span->name});
    folded->stacks[around].self_ns -= trace_duration_ns(span);
    folded->stacks[number].self_ns += trace_duration_ns(span);
    lane->open[lane->depth++] = (struct open_stack){span->stop_ns, number};
}

static void take_spans(void *context, const struct trace_span *spans, size_t count,
                       const struct trace_details *details)
{
    struct folded *folded = context;
    folded->left_out.details += left_out_arguments(spans, count, details);
    for (size_t i = 0; i < count && !folded->failed; i++)
        if (spans[i].flags & TRACE_INSTANT)
            folded->left_out.points++;
        else
            add_span(folded, &spans[i]);
}

static void take_track(void *context, const struct trace_track *track)
{
    struct folded *folded = context;
    if (!thread_array_grow(&folded->rows, &folded->row_count, track->number + 1,
                           sizeof *folded->rows))
        fail(folded);
}

/* ---- lines --------------------------------------------------------------------------- */

/* A name within a line: no semicolon, no line end; a blank would do, but for the last one. */
static void write_name(struct folded *folded, struct trace_text name)
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
    const struct stack *stack = &folded->stacks[number];
    uint32_t path[DEPTH_MAX + 1], depth = 0;
    for (; number != NO_STACK && depth <= DEPTH_MAX; number = folded->stacks[number].parent)
        path[depth++] = number;
    const struct trace_track *track = trace_track_of(trace, stack->track);
    write_name(folded, trace_process_of(trace, track->process)->name);
    out_text(&folded->pass->out, ";");
    write_name(folded, track->name);
    while (depth > 0) {
        out_text(&folded->pass->out, ";");
        write_name(folded, trace_name_of(trace, folded->stacks[path[--depth]].name));
    }
    out_text(&folded->pass->out, " ");
    out_u64(&folded->pass->out, stack->self_ns);
    out_text(&folded->pass->out, "\n");
}

/* ---- begin and end --------------------------------------------------------------------- */

static bool is_full(void *context)
{
    const struct folded *folded = context;
    return folded->failed || out_failed(&folded->pass->out);
}

static bool begin(struct trace_pass *pass)
{
    struct folded *folded = calloc(1, sizeof *folded);
    if (!folded || !thread_array_grow(&folded->stacks, &folded->room, 1, sizeof *folded->stacks)) {
        message("out of memory");
        free(folded);
        return false;
    }
    folded->count = 1;
    folded->pass = pass;
    pass->state = folded;
    pass->sink = (struct trace_sink){
        .context = folded, .track = take_track, .spans = take_spans, .full = is_full};
    return true;
}

static enum exit_code end(struct trace_pass *pass)
{
    struct folded *folded = pass->state;
    for (uint32_t i = 1; i < folded->count; i++)
        if ((int64_t)folded->stacks[i].self_ns > 0)
            write_stack(folded, i);
    if (folded->cut)
        message("more than %d different stacks; the time of others is in those around them",
                STACKS_MAX);
    left_out_tell(pass, "folded", folded->left_out);
    bool whole = !folded->failed && !folded->cut;
    for (uint32_t i = 0; i < folded->row_count; i++) {
        for (uint32_t lane = 0; lane < folded->rows[i].lane_count; lane++)
            free(folded->rows[i].lanes[lane].open);
        free(folded->rows[i].lanes);
    }
    free(folded->rows);
    free(folded->cells);
    free(folded->stacks);
    free(folded);
    return whole ? EXIT_GOOD : EXIT_PARTLY;
}

const struct exporter exporter_folded = {
    .name = "folded",
    .suffixes = ".folded .collapsed",
    .summary = "collapsed stacks with their own time, for flame graphs",
    .maker.begin = begin,
    .maker.end = end,
};
