/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink that adds up. The row of a span is found by its name's number
 * first, which is right but for names that several items share; a hash table
 * finds the others.
 */
#include "stats.h"
#include "message.h"
#include "sorted.h"
#include "span_sums.h"
#include "stats_fill.h"
#include "trace_axis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stats_fail(struct stats *stats)
{
    message_once(&stats->failed, "out of memory; the rest is dropped");
}

bool stats_grow(struct stats *stats, void *array, uint32_t *room, uint32_t count, size_t bytes)
{
    bool grown = grow_zeroed32(array, room, count, bytes);
    if (!grown)
        stats_fail(stats);
    return grown;
}

/* Nearly always there is room. */
static inline bool grow(struct stats *stats, void *array, uint32_t *room, uint32_t count,
                        size_t bytes)
{
    return count <= *room || stats_grow(stats, array, room, count, bytes);
}

static struct trace_text copy_text(struct stats *stats, struct trace_text text)
{
    char *copy = malloc(text.bytes + 1);
    if (!copy) {
        stats_fail(stats);
        return (struct trace_text){NULL, 0};
    }
    memcpy(copy, text.text, text.bytes);
    copy[text.bytes] = '\0';
    return (struct trace_text){copy, text.bytes};
}

static void stats_free_text(struct trace_text text)
{
    free((char *)(uintptr_t)text.text);
}

/* ---- rows ------------------------------------------------------------------------------ */

uint32_t stats_add_row(struct stats *stats, uint8_t category, uint32_t item, struct trace_text name)
{
    if (stats->row_count >= STATS_ROWS_MAX - 1)
        category = TRACE_OTHER, item = 0, name = trace_text("(others)");
    uint64_t hash =
        text_hash(TEXT_HASH_FIRST ^ (uint64_t)category << 32 ^ item, name.text, name.bytes);
    for (uint32_t step = 0, i; (i = index_map_next(&stats->places, hash, &step)) != INDEX_NONE;) {
        const struct stats_row *row = &stats->rows[i];
        if (row->category == category && row->item == item && trace_text_same(row->name, name))
            return i;
    }
    if (!grow(stats, &stats->rows, &stats->row_room, stats->row_count + 1, sizeof *stats->rows))
        return TRACE_NONE;
    struct trace_text copy = copy_text(stats, name);
    if (!copy.text)
        return TRACE_NONE;
    if (!index_map_add(&stats->places, hash, stats->row_count)) {
        stats_free_text(copy);
        stats_fail(stats);
        return TRACE_NONE;
    }
    stats->rows[stats->row_count] =
        (struct stats_row){.category = category, .item = item, .name = copy, .min_ns = UINT64_MAX};
    return stats->row_count++;
}

void stats_name_kind(struct stats *stats, uint32_t row, struct trace_text kind)
{
    if (kind.bytes && !stats->rows[row].kind.bytes)
        stats->rows[row].kind = copy_text(stats, kind);
}

/* Of spans of our own recordings: others' categories say how, not what. */
static void take_kind(struct stats *stats, const struct trace_span *span, uint32_t row,
                      const struct trace_detail *detail)
{
    if (!detail || !detail->category || detail->category > stats->name_room ||
        stats->rows[row].kind.bytes ||
        (span->category != TRACE_CALL && span->category != TRACE_WAITING &&
         span->category != TRACE_SUB_ITEM))
        return;
    stats_name_kind(stats, row, stats->names[detail->category - 1]);
}

static uint32_t row_of(struct stats *stats, const struct trace_span *span)
{
    if (!grow(stats, &stats->row_of_name, &stats->row_of_name_room, span->name + 1,
              sizeof *stats->row_of_name))
        return TRACE_NONE;
    uint32_t *known = &stats->row_of_name[span->name];
    if (*known) {
        const struct stats_row *row = &stats->rows[*known - 1];
        if (row->category == span->category && row->item == span->item)
            return *known - 1;
    }
    struct trace_text name =
        span->name < stats->name_room ? stats->names[span->name] : (struct trace_text){"", 0};
    uint32_t row = stats_add_row(stats, span->category, span->item, name);
    if (row != TRACE_NONE)
        *known = row + 1;
    return row;
}

/* ---- what is inside what ----------------------------------------------------------------- */

static uint32_t *lane_row(struct stats *stats, struct stats_track *track, uint16_t lane,
                          uint16_t depth)
{
    if (!grow(stats, &track->lanes, &track->lane_count, lane + 1u, sizeof *track->lanes))
        return NULL;
    struct stats_lane *at = &track->lanes[lane];
    if (depth >= at->room) {
        uint32_t room = depth + 4u;
        uint32_t *rows = realloc(at->rows, room * sizeof *rows);
        if (!rows) {
            stats_fail(stats);
            return NULL;
        }
        for (uint32_t i = at->room; i < room; i++)
            rows[i] = TRACE_NONE;
        at->rows = rows;
        at->room = room;
    }
    return &at->rows[depth];
}

static struct stats_late *find_late(struct stats_track *track, uint64_t id, bool make)
{
    for (unsigned i = 0; i < STATS_LATE; i++)
        if (track->late[i].id == id)
            return &track->late[i];
    if (!make)
        return NULL;
    struct stats_late *late = &track->late[track->next_late++ % STATS_LATE];
    *late = (struct stats_late){.id = id, .row = TRACE_NONE};
    return late;
}

/* The enclosing span has come already, or will come late, or never. */
static void nest_in_late(struct stats *stats, struct stats_track *track,
                         const struct trace_span *span)
{
    struct stats_late *late = find_late(track, span->parent, true);
    if (late->row == TRACE_NONE)
        late->nested_ns = stats_sum(late->nested_ns, trace_duration_ns(span));
    else
        stats->rows[late->row].nested_ns =
            stats_sum(stats->rows[late->row].nested_ns, trace_duration_ns(span));
}

static void come_late(struct stats *stats, struct stats_track *track, const struct trace_span *span,
                      uint32_t row)
{
    struct stats_late *late = find_late(track, span->id, true);
    if (!stats_is_timed(span))
        return;
    late->row = row;
    stats->rows[row].nested_ns = stats_sum(stats->rows[row].nested_ns, late->nested_ns);
}

static void nest(struct stats *stats, struct stats_track *track, const struct trace_span *span,
                 uint32_t row)
{
    bool timed = stats_is_timed(span);
    uint32_t *here = lane_row(stats, track, span->row, span->depth);
    if (!here)
        return;
    *here = timed ? row : TRACE_NONE;
    if (span->flags & TRACE_LATE)
        come_late(stats, track, span, row);
    if (!timed)
        return;
    if (span->depth == 0 && span->parent)
        nest_in_late(stats, track, span);
    if (span->depth > 0 && here[-1] != TRACE_NONE)
        stats->rows[here[-1]].nested_ns =
            stats_sum(stats->rows[here[-1]].nested_ns, trace_duration_ns(span));
}

/* ---- tracks ---------------------------------------------------------------------------- */

static bool is_outermost(struct stats *stats, struct stats_track *track,
                         const struct trace_span *span)
{
    bool outermost = work_depth_take(&track->depth, span);
    if (track->depth.failed)
        stats_fail(stats);
    return outermost && (span->depth > 0 || span->parent == 0 || stats->options.orphans);
}

static void count_launch(struct stats *stats, struct stats_track *track,
                         const struct trace_span *span, const struct trace_detail *detail)
{
    if (span->category != TRACE_GPU_WORK || !detail)
        return;
    if (!track->launches && !(track->launches = calloc(1, sizeof *track->launches)))
        stats_fail(stats);
    if (track->launches && !launch_sums_add(track->launches, span, detail))
        stats_fail(stats);
}

/* A worker was busy. */
static void count_piece(struct stats *stats, const struct stats_track *track, int64_t from_ns,
                        int64_t until_ns)
{
    if (!stats_is_worker(track))
        return;
    if (!stats->options.no_concurrency)
        concurrency_add(&stats->ends, from_ns, until_ns);
    if (stats->options.cells &&
        !busy_cells_add(&stats->processes[track->track.process].cells, from_ns, until_ns,
                        (uint64_t)until_ns - (uint64_t)from_ns))
        stats_fail(stats);
}

/* Not at the same time as another one, nor behind the waits inside it. */
static void count_off_cpu(struct stats *stats, struct stats_track *track,
                          const struct trace_span *span, const struct trace_cpu *cpu)
{
    uint64_t off_ns = cpu->runnable_ns + cpu->waiting_ns;
    const struct trace_sum *sum = &track->track.sum;
    if (!stats_is_worker(track) || span->flags & TRACE_LATE || span->start_ns < track->split_to_ns)
        return;
    track->split_to_ns = span->stop_ns;
    stats_cpu_add(&track->cpu, cpu);
    if (sum->from_ns >= sum->to_ns || span->stop_ns <= sum->from_ns || span->start_ns >= sum->to_ns)
        track->ran_ns = stats_sum(track->ran_ns, cpu->running_ns);
    track->waiting_ns = stats_sum(track->waiting_ns, cpu->waiting_ns);
    track->busy.busy_ns -= off_ns < track->busy.busy_ns ? off_ns : track->busy.busy_ns;
    if (off_ns && !stats->options.no_concurrency)
        concurrency_take_off(&stats->ends, span->stop_ns - (int64_t)off_ns, span->stop_ns);
    if (off_ns && stats->options.cells &&
        !busy_cells_take_off(&stats->processes[track->track.process].cells, span->start_ns,
                             span->stop_ns, off_ns))
        stats_fail(stats);
}

static void count_busy(struct stats *stats, struct stats_track *track,
                       const struct trace_span *span, const struct trace_cpu *cpu)
{
    int64_t from_ns, until_ns;
    track->calls++;
    if (busy_add(&track->busy, span->start_ns, span->stop_ns, &from_ns, &until_ns))
        count_piece(stats, track, from_ns, until_ns);
    if (trace_cpu_is_known(cpu))
        count_off_cpu(stats, track, span, cpu);
}

/* A worker waited, inside its work or outside of it. Waits inside waits count once. */
static void count_waiting(struct stats *stats, struct stats_track *track,
                          const struct trace_span *span, bool inside)
{
    int64_t from_ns = span->start_ns, to_ns = span->stop_ns;
    if (inside && from_ns < track->split_to_ns) /* it is among what the call was blocked */
        return;
    if (!waits_again(track->waited_to_ns, track->waited_to_ns, &from_ns, to_ns) ||
        !stats_is_worker(track))
        return;
    uint64_t waited_ns = (uint64_t)to_ns - (uint64_t)from_ns;
    track->waiting_ns = stats_sum(track->waiting_ns, waited_ns);
    track->waited_to_ns = to_ns;
    if (!inside)
        return;
    track->busy.busy_ns -= waited_ns < track->busy.busy_ns ? waited_ns : track->busy.busy_ns;
    if (!stats->options.no_concurrency)
        concurrency_take_off(&stats->ends, from_ns, to_ns);
    if (stats->options.cells && !busy_cells_take_off(&stats->processes[track->track.process].cells,
                                                     from_ns, to_ns, waited_ns))
        stats_fail(stats);
}

/* ---- the longest calls: a heap with the shortest of them on top --------------------------- */

static bool is_shorter(const struct stats_call *a, const struct stats_call *b)
{
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns < b->duration_ns;
    return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->id > b->id;
}

/* Will it stay, for now? */
static bool stats_is_kept(const struct stats_call *heap, uint32_t count, uint32_t most,
                          const struct stats_call *call)
{
    return count < most || (most && is_shorter(&heap[0], call));
}

void stats_keep_longest(struct stats_call *heap, uint32_t *count, uint32_t most,
                        struct stats_call call)
{
    if (!stats_is_kept(heap, *count, most, &call)) {
        stats_free_text(call.args);
    } else if (*count < most) {
        uint32_t at = (*count)++;
        for (; at > 0 && is_shorter(&call, &heap[(at - 1) / 2]); at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
        heap[at] = call;
    } else {
        stats_free_text(heap[0].args);
        heap[0] = call;
        HEAP_SIFT(heap, most, 0, is_shorter(a, b));
    }
}

/* Few calls stay, so what they were about is looked at last. */
static void stats_keep(struct stats *stats, struct stats_call *heap, uint32_t *count, uint32_t most,
                       struct stats_call call, const struct trace_detail *detail)
{
    if (!stats_is_kept(heap, *count, most, &call))
        return;
    if (stats->rows[call.row].category == TRACE_CALL &&
        !arg_list_make(detail, stats->names, stats->name_room, &call.args))
        stats->failed = true;
    stats_keep_longest(heap, count, most, call);
}

static void keep_call(struct stats *stats, const struct trace_span *span, uint32_t row,
                      const struct trace_detail *detail, const struct trace_cpu *cpu)
{
    const uint64_t duration_ns = trace_duration_ns(span);
    /* Nearly all are shorter than the longest ones so far. */
    if (!(span->flags & TRACE_OPEN) && stats->longest_count == stats->options.top &&
        stats->longest_count && duration_ns < stats->longest[0].duration_ns)
        return;
    struct stats_call call = {.start_ns = span->start_ns,
                              .duration_ns = duration_ns,
                              .id = span->id,
                              .track = span->track,
                              .row = row,
                              .cpu = *cpu};
    if (span->flags & TRACE_OPEN) {
        stats->open_spans++;
        stats_keep(stats, stats->open, &stats->open_count, STATS_OPEN_MAX, call, detail);
    } else if (stats_is_call(span->category) && !(span->flags & TRACE_UNFINISHED)) {
        stats_keep(stats, stats->longest, &stats->longest_count, stats->options.top, call, detail);
    }
}

/* Takes the shortest off the heap and puts it behind the others, until all are in order. */
static void order_longest(struct stats_call *heap, uint32_t count)
{
    for (; count > 1; count--) {
        struct stats_call shortest = heap[0];
        heap[0] = heap[count - 1];
        heap[count - 1] = shortest;
        HEAP_SIFT(heap, count - 1, 0, is_shorter(a, b));
    }
}

/* ---- the sink -------------------------------------------------------------------------- */

static void stats_on_process(void *context, const struct trace_process *process)
{
    struct stats *stats = context;
    if (!grow(stats, &stats->processes, &stats->process_room, process->number + 1,
              sizeof *stats->processes))
        return;
    stats->processes[process->number] =
        (struct stats_process){.node = process->node,
                               .began_before = process->began_before,
                               .has_gap = process->has_gap,
                               .ended = process->ended,
                               .name = copy_text(stats, process->name),
                               .source = copy_text(stats, process->source)};
    stats->process_count = process->number + 1;
}

static void stats_on_track(void *context, const struct trace_track *track)
{
    struct stats *stats = context;
    if (!grow(stats, &stats->tracks, &stats->track_room, track->number + 1, sizeof *stats->tracks))
        return;
    stats->tracks[track->number] =
        (struct stats_track){.track = *track, .ran_ns = track->sum.ran_ns};
    stats->tracks[track->number].track.name = copy_text(stats, track->name);
    stats->tracks[track->number].track.unit = copy_text(stats, track->unit);
    stats->track_count = track->number + 1;
    if (stats->options.stalls)
        stalls_on_track(&stats->stalls, track);
    if (stats->stalls.failed)
        stats_fail(stats);
    if (stats->options.inside && !stats->failed)
        inside_kernels_track(&stats->inside, &stats->tracks[track->number].track);
}

static void stats_on_name(void *context, uint32_t number, struct trace_text name)
{
    struct stats *stats = context;
    if (grow(stats, &stats->names, &stats->name_room, number + 1, sizeof *stats->names))
        stats->names[number] = name;
    if (stats->args.key)
        arg_sums_name(&stats->args, number, name);
    if (stats->options.inside) {
        inside_kernels_name(&stats->inside, number, name);
        kernel_lines_name(&stats->lines, number, name);
    }
}

static void stats_on_span(struct stats *stats, struct stats_track *track,
                          const struct trace_span *span, const struct trace_detail *detail)
{
    uint32_t row = row_of(stats, span);
    if (row == TRACE_NONE)
        return;
    const struct trace_cpu cpu = trace_cpu_of(span, detail);
    if (!stats_row_count(&stats->rows[row], span, &cpu))
        stats_fail(stats);
    if (trace_cpu_is_known(&cpu))
        stats->processes[track->track.process].knows_cpu = true;
    take_kind(stats, span, row, detail);
    nest(stats, track, span, row);
    stats->spans++;
    stats->cut += (span->flags & TRACE_CUT) != 0;
    track->unfinished += (span->flags & TRACE_UNFINISHED) != 0;
    if (trace_is_waiting(span))
        count_waiting(stats, track, span, work_depth_is_inside(&track->depth, span));
    if (is_outermost(stats, track, span))
        count_busy(stats, track, span, &cpu);
    keep_call(stats, span, row, detail, &cpu);
    if (stats->options.turns && span->category == TRACE_CALL && !trace_is_waiting(span) &&
        stats_is_worker(track) && !(span->flags & TRACE_UNFINISHED) &&
        !slot_turns_add(&stats->turns, row, span))
        stats_fail(stats);
    trace_widen(track->spans++, &track->first_ns, &track->last_ns, span->start_ns, span->stop_ns);
}

static void take_inside(struct stats *stats, const struct trace_span *spans, size_t count,
                        const struct trace_details *details)
{
    for (size_t i = 0; i < count; i++) {
        const struct trace_detail *detail = details ? trace_detail_of(details, &spans[i]) : NULL;
        inside_kernels_span(&stats->inside, &spans[i], detail);
        kernel_lines_span(&stats->lines, &spans[i], detail,
                          inside_kernels_gpu(&stats->inside, spans[i].track));
    }
}

/* All of one track. */
static void stats_on_spans(void *context, const struct trace_span *spans, size_t count,
                           const struct trace_details *details)
{
    struct stats *stats = context;
    if (count && stats->tracks[spans->track].track.kind == TRACE_LIFE)
        return;
    for (size_t i = 0; i < count && !stats->failed; i++)
        stats_on_span(stats, &stats->tracks[spans->track], &spans[i],
                      details ? trace_detail_of(details, &spans[i]) : NULL);
    stalls_on_spans(&stats->stalls, spans, count);
    slow_stacks_on_spans(&stats->slow, spans, count);
    for (size_t i = 0; stats->args.key && i < count; i++)
        arg_sums_span(&stats->args, &spans[i], details ? trace_detail_of(details, &spans[i]) : NULL,
                      stats->names, stats->name_room);
    for (size_t i = 0; details && i < count && !stats->failed; i++)
        count_launch(stats, &stats->tracks[spans->track], &spans[i],
                     trace_detail_of(details, &spans[i]));
    if (stats->options.inside && count &&
        (details || inside_kernels_takes(&stats->inside, spans->track)))
        take_inside(stats, spans, count, details);
}

static void stats_on_samples(void *context, uint32_t number, const struct trace_sample *samples,
                             size_t count)
{
    struct stats *stats = context;
    struct stats_track *track = &stats->tracks[number];
    stats->samples += count;
    if (!track->counter && !(track->counter = calloc(1, sizeof *track->counter)))
        stats_fail(stats);
    if (track->counter)
        counter_sums_add(track->counter, samples, count);
}

static void stats_on_rows(void *context, const struct trace_rows *rows)
{
    struct stats *stats = context;
    stats->table_rows += rows->rows->rows;
}

static void stats_on_link(void *context, const struct trace_link *link)
{
    struct stats *stats = context;
    (void)link;
    stats->links++;
}

static void stats_take_message(void *context, const struct trace_message *message)
{
    struct stats *stats = context;
    if (!message_sums_add(&stats->messages, message))
        stats_fail(stats);
}

static void stats_on_loss(void *context, const struct trace_loss *loss)
{
    struct stats *stats = context;
    uint64_t *sum = loss->refused ? &stats->refused[loss->refused] : &stats->lost_records;
    *sum = stats_sum(*sum, loss->count);
    stats->skipped_bytes = stats_sum(stats->skipped_bytes, loss->count ? 0 : loss->bytes);
    if (loss->track < stats->track_count && !loss->refused)
        stats->tracks[loss->track].lost_records =
            stats_sum(stats->tracks[loss->track].lost_records, loss->count);
    if (stats->loss_count == STATS_LOSSES_MAX)
        return;
    stats->losses[stats->loss_count++] = (struct stats_loss){
        .process = loss->process,
        .track = loss->track,
        .cause = copy_text(stats, loss->cause),
        .refused = loss->refused,
        .count = loss->count,
        .bytes = loss->bytes,
        .first_ns = loss->first_ns,
        .last_ns = loss->last_ns,
    };
}

/* Of all facts only the count of empty polls, "process.0.discarded", and what had the file written.
 */
static void stats_on_fact(void *context, const char *key, struct trace_text value)
{
    struct stats *stats = context;
    unsigned number;
    int end = 0;
    if (sscanf(key, "process.%u.%n", &number, &end) != 1 || !end || number >= stats->process_count)
        return;
    struct stats_process *process = &stats->processes[number];
    if (strcmp(key + end, "discarded") == 0)
        process->empty_polls = strtoull(value.text, NULL, 10);
    else if (strcmp(key + end, "kept.why") == 0)
        process->by_rule = strcmp(value.text, rbwp_kept_why_name(RBWP_KEPT_RULE)) == 0;
    else if (strcmp(key + end, "kept.text") == 0 && process->by_rule && !process->rule.text)
        process->rule = copy_text(stats, value);
}

static bool stats_is_full(void *context)
{
    const struct stats *stats = context;
    return stats->failed;
}

static void stats_on_stack(void *context, const struct trace_stack *stack)
{
    struct stats *stats = context;
    stalls_on_stack(&stats->stalls, stack);
    slow_stacks_on_stack(&stats->slow, stack);
    if (stats->stalls.failed || stats->slow.failed)
        stats_fail(stats);
}

struct trace_sink stats_sink(struct stats *stats)
{
    return (struct trace_sink){
        .context = stats,
        .process = stats_on_process,
        .track = stats_on_track,
        .name = stats_on_name,
        .spans = stats_on_spans,
        .samples = stats_on_samples,
        .link = stats_on_link,
        .message = stats_take_message,
        .stack = stats->options.stalls ? stats_on_stack : NULL,
        .rows = stats_on_rows,
        .loss = stats_on_loss,
        .fact = stats_on_fact,
        .full = stats_is_full,
    };
}

/* ---- begin and end --------------------------------------------------------------------- */

void stats_start(struct stats *stats, const struct stats_options *options)
{
    *stats = (struct stats){.options = *options,
                            .args.key = options->arg_key,
                            .args.fold_literals = options->fold_literals};
    if (stats->options.top > STATS_TOP_MAX)
        stats->options.top = STATS_TOP_MAX;
    concurrency_start(&stats->ends);
    inside_kernels_start(&stats->inside);
    kernel_lines_start(&stats->lines);
    stats->losses = calloc(STATS_LOSSES_MAX, sizeof *stats->losses);
    stats->longest = calloc(stats->options.top + 1, sizeof *stats->longest);
    stats->open = calloc(STATS_OPEN_MAX, sizeof *stats->open);
    if (!stats->losses || !stats->longest || !stats->open)
        stats_fail(stats);
}

static void stats_free_filling(struct stats *stats)
{
    for (uint32_t i = 0; i < stats->track_count; i++) {
        struct stats_track *track = &stats->tracks[i];
        for (uint32_t lane = 0; lane < track->lane_count; lane++)
            free(track->lanes[lane].rows);
        free(track->lanes);
        work_depth_free(&track->depth);
        track->lanes = NULL;
        track->lane_count = 0;
    }
    free(stats->names);
    free(stats->row_of_name);
    index_map_free(&stats->places);
    stats->names = NULL;
    stats->row_of_name = NULL;
    stats->name_room = stats->row_of_name_room = 0;
}

static void stats_widen(int64_t *first_ns, int64_t *last_ns, bool *any,
                        const struct stats_track *track)
{
    if (track->spans == 0)
        return;
    trace_widen(*any, first_ns, last_ns, track->first_ns, track->last_ns);
    *any = true;
}

void stats_set_run(struct stats *stats, const struct trace_totals *totals)
{
    stats->run_set = totals->saw;
    stats->run_first_ns = totals->saw_first_ns;
    stats->run_last_ns = totals->saw_last_ns;
}

static void find_run(struct stats *stats)
{
    bool any = false, any_worker = stats->run_set;
    for (uint32_t i = 0; i < stats->track_count; i++) {
        const struct stats_track *track = &stats->tracks[i];
        stats_widen(&stats->first_ns, &stats->last_ns, &any, track);
        if (stats_is_worker(track))
            stats_widen(&stats->run_first_ns, &stats->run_last_ns, &any_worker, track);
    }
    if (!any_worker) {
        stats->run_first_ns = stats->first_ns;
        stats->run_last_ns = stats->last_ns;
    }
}

void stats_finish(struct stats *stats)
{
    find_run(stats);
    for (uint32_t i = 0; i < stats->track_count; i++) {
        const struct stats_track *track = &stats->tracks[i];
        if (!stats_is_worker(track))
            continue;
        stats->workers++;
        stats->worker_busy_ns = stats_sum(stats->worker_busy_ns, track->busy.busy_ns);
        stats->worker_waiting_ns = stats_sum(stats->worker_waiting_ns, track->waiting_ns);
        stats->worker_runnable_ns = stats_sum(stats->worker_runnable_ns, track->cpu.runnable_ns);
        stats->has_sums |= stats_outside_ns(stats, track) > 0;
        if (track->busy.any && !stats->merged)
            count_piece(stats, track, track->busy.from_ns, track->busy.until_ns);
    }
    if (!stats->options.no_concurrency)
        concurrency_finish(&stats->ends, stats->run_first_ns, stats->run_last_ns,
                           &stats->concurrency);
    order_longest(stats->longest, stats->longest_count);
    order_longest(stats->open, stats->open_count);
    arg_sums_finish(&stats->args);
    if (stats->args.failed)
        stats_fail(stats);
    if (!message_sums_finish(&stats->messages, stats->names, stats->name_room))
        stats_fail(stats);
    if (stats->options.inside) {
        inside_kernels_finish(&stats->inside, stats->names, stats->name_room);
        kernel_lines_finish(&stats->lines, stats->names, stats->name_room);
    }
    stats_free_filling(stats);
}

void stats_free(struct stats *stats)
{
    stats_free_filling(stats);
    concurrency_stop(&stats->ends);
    concurrency_free(&stats->concurrency);
    inside_kernels_free(&stats->inside);
    kernel_lines_free(&stats->lines);
    message_sums_free(&stats->messages);
    slot_turns_free(&stats->turns);
    stalls_free(&stats->stalls);
    slow_stacks_free(&stats->slow);
    for (uint32_t i = 0; i < stats->row_count; i++) {
        stats_free_text(stats->rows[i].name), stats_free_text(stats->rows[i].kind);
        histogram_free(&stats->rows[i].durations);
    }
    for (uint32_t i = 0; i < stats->track_count; i++) {
        struct stats_track *track = &stats->tracks[i];
        stats_free_text(track->track.name);
        stats_free_text(track->track.unit);
        if (track->launches)
            histogram_free(&track->launches->latencies);
        free(track->launches);
        free(track->counter);
    }
    for (uint32_t i = 0; i < stats->process_count; i++) {
        stats_free_text(stats->processes[i].name);
        stats_free_text(stats->processes[i].source);
        stats_free_text(stats->processes[i].rule);
        busy_cells_free(&stats->processes[i].cells);
    }
    for (uint32_t i = 0; i < stats->loss_count; i++)
        stats_free_text(stats->losses[i].cause);
    for (uint32_t i = 0; i < stats->longest_count; i++)
        stats_free_text(stats->longest[i].args);
    for (uint32_t i = 0; i < stats->open_count; i++)
        stats_free_text(stats->open[i].args);
    arg_sums_free(&stats->args);
    free(stats->rows);
    free(stats->tracks);
    free(stats->processes);
    free(stats->losses);
    free(stats->longest);
    free(stats->open);
}

/* ---- derived --------------------------------------------------------------------------- */

bool stats_is_gpu(const struct stats_track *track)
{
    switch (track->track.kind) {
    case TRACE_GPU:
    case TRACE_CHANNEL:
        return true;
    case TRACE_STREAM: /* on some there are ranges alone, whose work is the GPU's */
        return track->calls > 0;
    default: /* SMs and lanes, of which there are thousands, are about the inside of work */
        return false;
    }
}

bool stats_is_call(unsigned category)
{
    return category == TRACE_CALL || category == TRACE_TASK || category == TRACE_OTHER;
}

uint64_t stats_extent_ns(const struct stats *stats)
{
    return (uint64_t)stats->run_last_ns - (uint64_t)stats->run_first_ns;
}

uint64_t stats_self_ns(const struct stats_row *row)
{
    return row->total_ns > row->nested_ns ? row->total_ns - row->nested_ns : 0;
}

uint64_t stats_mean_ns(const struct stats_row *row)
{
    return row->count ? (row->total_ns - row->open_ns) / row->count : 0;
}

uint64_t stats_quantile_ns(const struct stats_row *row, unsigned permille)
{
    uint64_t value = histogram_quantile(&row->durations, permille);
    if (row->count == 0)
        return 0;
    value = value < row->min_ns ? row->min_ns : value;
    return value > row->max_ns ? row->max_ns : value;
}

uint64_t stats_idle_ns(const struct stats *stats, const struct stats_track *track)
{
    uint64_t extent_ns = stats_extent_ns(stats);
    uint64_t used_ns = stats_sum(track->busy.busy_ns, track->waiting_ns);
    used_ns = stats_sum(used_ns, track->cpu.runnable_ns);
    return extent_ns > used_ns ? extent_ns - used_ns : 0;
}

bool stats_knows_cpu(const void *stats)
{
    const struct stats *all = stats;
    uint32_t known = 0;
    while (all && known < all->process_count && !all->processes[known].knows_cpu)
        known++;
    return all && known < all->process_count;
}

bool stats_knows_sums(const void *stats)
{
    return stats && ((const struct stats *)stats)->has_sums;
}

uint64_t stats_ran_ns(const struct stats *stats, const struct stats_track *track)
{
    const uint64_t extent_ns = stats_extent_ns(stats);
    return track->ran_ns < extent_ns ? track->ran_ns : extent_ns;
}

uint64_t stats_outside_ns(const struct stats *stats, const struct stats_track *track)
{
    const uint64_t ran_ns = stats_ran_ns(stats, track);
    return ran_ns > track->cpu.running_ns ? ran_ns - track->cpu.running_ns : 0;
}

static const struct stats_process *process_of_track(const struct stats *stats,
                                                    const struct stats_track *track)
{
    static const struct stats_process nobody;
    const uint32_t process = track->track.process;
    return process < stats->process_count ? &stats->processes[process] : &nobody;
}

bool stats_is_helper(const struct stats *stats, const struct stats_track *track)
{
    return track->track.kind == TRACE_THREAD && process_of_track(stats, track)->knows_cpu &&
           track->busy.busy_ns < stats_extent_ns(stats) / STATS_HELPER_PART;
}

bool stats_is_hung(const struct stats *stats, const struct stats_call *call)
{
    const struct stats_row *row = &stats->rows[call->row];
    const struct stats_process *process = process_of_track(stats, &stats->tracks[call->track]);
    const bool goes_on = process->by_rule;
    if (process->knows_cpu &&
        (process->ended || call->cpu.running_ns > call->duration_ns / STATS_HELPER_PART))
        return false;
    bool longest = !goes_on && row->count && call->duration_ns > row->max_ns;
    return call->duration_ns >= STATS_HUNG_NS || (longest && call->duration_ns >= STATS_NEWS_NS);
}

uint64_t stats_after_run_ns(const struct stats *stats, const struct stats_call *call)
{
    uint64_t until_end_ns = (uint64_t)stats->run_last_ns - (uint64_t)call->start_ns;
    if (call->start_ns > stats->run_last_ns)
        until_end_ns = 0;
    return call->duration_ns > until_end_ns ? call->duration_ns - until_end_ns : 0;
}

const struct stats_track *stats_thread_of(const struct stats *stats, const struct stats_call *call)
{
    const struct stats_track *track = &stats->tracks[call->track];
    const uint32_t above = track->track.parent;
    return track->track.kind == TRACE_TABLE && above < stats->track_count ? &stats->tracks[above]
                                                                          : track;
}

double stats_share(const struct stats *stats, uint64_t time_ns)
{
    double all = (double)stats_extent_ns(stats) * stats->workers;
    return all > 0 ? (double)time_ns / all : 0;
}
