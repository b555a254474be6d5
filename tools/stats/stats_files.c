/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_files.h"

#include "message.h"
#include "progress.h"
#include "stats_fill.h"
#include "stats_tables.h"
#include "trace_axis.h"

#include <stdlib.h>

/* So many of the longest calls of each file are kept at least, for whoever wants them next. */
enum { TOP_LEAST = 200 };

struct file_job {
    struct trace_source *source;
    const char *cache; /* NULL: none */
    struct stats_options options;
    struct stats stats;
    struct trace_axis axis; /* that the file is read on */
    int64_t shift_ns;       /* of what was read, when it is put to the others */
    enum exit_code code;
    struct message_held messages;
};

/* ---- one file, on any thread --------------------------------------------------------- */

static void add_up(struct file_job *job)
{
    struct trace_sink sink = stats_sink(&job->stats);
    struct trace *trace = trace_new(&sink, 0);
    if (!trace) {
        message("out of memory");
        job->code = EXIT_BAD_DATA;
    } else if (!trace_source_wake(job->source)) {
        job->code = EXIT_BAD_DATA;
    } else {
        job->code = trace_source_read(
            job->source, trace, &(struct trace_read_options){.axis = job->axis, .clip = true});
        trace_finish(trace);
        if (trace_failed(trace))
            job->code = exit_worse(job->code, EXIT_PARTIAL);
        job->code = exit_worse(job->code, trace_source_close(job->source));
    }
    stats_finish(&job->stats);
    trace_free(trace);
}

/* What sums depend on, beside the file. */
static uint64_t question(const struct file_job *job)
{
    uint64_t hash = text_hash(TEXT_HASH_FIRST, &job->options.top, sizeof job->options.top);
    for (uint32_t i = 0; i < job->axis.point_count; i++) {
        const struct trace_axis_point *point = &job->axis.points[i];
        hash = text_hash(hash, &point->time_ns, sizeof point->time_ns);
        hash = text_hash(hash, &point->shift_ns, sizeof point->shift_ns);
    }
    return hash;
}

static void files_run(void *context)
{
    struct file_job *job = context;
    struct summary_cache cache = {job->cache, job->source->name, question(job)};
    message_hold(&job->messages);
    job->code = EXIT_GOOD;
    stats_start(&job->stats, &job->options);
    if (!job->cache || !summary_cache_read(&cache, &job->stats)) {
        stats_free(&job->stats);
        stats_start(&job->stats, &job->options);
        add_up(job);
        /* What there was to be said of a file is said each time. */
        if (job->cache && job->code == EXIT_GOOD && !job->stats.failed && !job->messages.bytes)
            summary_cache_write(&cache, &job->stats);
    }
    message_hold(NULL);
}

/* ---- all of them ------------------------------------------------------------------------ */

static enum exit_code files_take(struct file_job *job, struct stats *all)
{
    message_tell(&job->messages);
    if (!all->failed)
        (void)stats_merge(all, &job->stats, job->shift_ns);
    stats_free(&job->stats);
    return job->code;
}

bool stats_files_wanted(const struct reading_options *reading, struct operands files,
                        const char *cache)
{
    return (cache || files.count > STATS_FILES_MANY) && !filter_is_set(&reading->filter) &&
           !reading->live && !reading->raw_times;
}

enum exit_code stats_files_read(struct trace_pass *pass, const struct trace_sources *sources,
                                const char *cache, struct stats *all)
{
    struct ordered_jobs *jobs = ordered_jobs_new(pass->threads, sizeof(struct file_job), files_run);
    enum exit_code code = EXIT_GOOD;
    struct file_job *job;
    struct stats_options options = all->options;
    if (options.top < TOP_LEAST)
        options.top = TOP_LEAST;
    if (!jobs)
        return message_bad_data("out of memory");
    for (int i = 0; i < sources->count && !all->failed; i++) {
        if (!shard_has(pass->options->inputs.shard, sources->list[i].number))
            continue;
        while (!(job = ordered_jobs_next(jobs)))
            code = exit_worse(code, files_take(ordered_jobs_take(jobs), all));
        *job = (struct file_job){
            .source = &sources->list[i],
            .cache = sources->list[i].path && !sources->list[i].earlier_count ? cache : NULL,
            .options = options,
        };
        /* A file is read as it is, and what was read is shifted, so that its sums hold whatever it
         * lies beside; but for one whose clock drifted, which another place gives other sums. */
        if (sources->alignments[i].axis.point_count)
            job->axis = sources->alignments[i].axis;
        else
            job->shift_ns = sources->alignments[i].axis.shift_ns;
        ordered_jobs_submit(jobs);
        progress_at("files", (uint64_t)i, (uint64_t)sources->count);
    }
    while ((job = ordered_jobs_take(jobs)))
        code = exit_worse(code, files_take(job, all));
    ordered_jobs_free(jobs, NULL);
    return code;
}

/* Where things of the part are in all. */
struct placed {
    int64_t shift_ns;
    uint32_t first_process, first_track;
    uint32_t *rows; /* by the part's number */
};

static int64_t shifted(const struct placed *placed, int64_t time_ns)
{
    return trace_shifted(time_ns, placed->shift_ns);
}

/* Times of things of which there may be none. */
static void shift(const struct placed *placed, bool any, int64_t *time_ns)
{
    if (any)
        *time_ns = shifted(placed, *time_ns);
}

/* ---- what stands for itself: it moves ----------------------------------------------- */

static bool take_processes(struct stats *all, struct stats *part, const struct placed *placed)
{
    if (!stats_grow(all, &all->processes, &all->process_room,
                    placed->first_process + part->process_count, sizeof *all->processes))
        return false;
    for (uint32_t i = 0; i < part->process_count; i++) {
        struct stats_process *process = &all->processes[placed->first_process + i];
        struct busy_cells cells = part->processes[i].cells;
        *process = part->processes[i];
        process->cells = (struct busy_cells){0};
        if (!busy_cells_merge(&process->cells, &cells, placed->shift_ns))
            stats_fail(all);
        busy_cells_free(&cells);
    }
    all->process_count = placed->first_process + part->process_count;
    part->process_count = 0;
    return true;
}

static void shift_busy(struct busy *busy, const struct placed *placed)
{
    shift(placed, busy->any, &busy->first_ns);
    shift(placed, busy->any, &busy->from_ns);
    shift(placed, busy->any, &busy->until_ns);
    shift(placed, busy->gaps > 0, &busy->longest_gap_at_ns);
}

static void shift_track(struct stats_track *track, const struct placed *placed)
{
    track->track.number += placed->first_track;
    track->track.process += placed->first_process;
    if (track->track.parent != TRACE_NONE)
        track->track.parent += placed->first_track;
    shift_busy(&track->busy, placed);
    shift(placed, track->spans > 0, &track->first_ns);
    shift(placed, track->spans > 0, &track->last_ns);
    if (track->launches)
        shift_busy(&track->launches->certain, placed);
    if (track->counter) {
        shift(placed, track->counter->count > 0, &track->counter->first_ns);
        shift(placed, track->counter->count > 0, &track->counter->last_ns);
    }
}

static bool take_tracks(struct stats *all, struct stats *part, const struct placed *placed)
{
    uint32_t count = placed->first_track + part->track_count;
    if (!stats_grow(all, &all->tracks, &all->track_room, count, sizeof *all->tracks))
        return false;
    for (uint32_t i = 0; i < part->track_count; i++) {
        struct stats_track *track = &all->tracks[placed->first_track + i];
        *track = part->tracks[i];
        shift_track(track, placed);
    }
    all->track_count = count;
    part->track_count = 0;
    return true;
}

static void take_losses(struct stats *all, struct stats *part, const struct placed *placed)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < part->loss_count; i++) {
        struct stats_loss loss = part->losses[i];
        if (all->loss_count == STATS_LOSSES_MAX) {
            part->losses[kept++] = loss;
            continue;
        }
        bool timed = loss.first_ns || loss.last_ns;
        loss.process += placed->first_process;
        loss.track = loss.track == TRACE_NONE ? TRACE_NONE : loss.track + placed->first_track;
        shift(placed, timed, &loss.first_ns);
        shift(placed, timed, &loss.last_ns);
        all->losses[all->loss_count++] = loss;
    }
    part->loss_count = kept;
}

/* ---- what comes together ---------------------------------------------------------------- */

static bool merge_rows(struct stats *all, const struct stats *part, struct placed *placed)
{
    placed->rows = malloc((part->row_count + 1) * sizeof *placed->rows);
    if (!placed->rows)
        return false;
    for (uint32_t i = 0; i < part->row_count; i++) {
        const struct stats_row *row = &part->rows[i];
        uint32_t number = stats_add_row(all, row->category, row->item, row->name);
        if (number == TRACE_NONE ||
            !result_merge(stats_row_columns, &all->rows[number], row, false))
            return false;
        stats_name_kind(all, number, row->kind);
        placed->rows[i] = number;
    }
    return true;
}

static void merge_calls(struct stats_call *heap, uint32_t *count, uint32_t most,
                        struct stats_call *calls, uint32_t call_count, const struct placed *placed)
{
    for (uint32_t i = 0; i < call_count; i++) {
        struct stats_call call = calls[i];
        calls[i].args = (struct trace_text){NULL, 0}; /* they go along */
        call.start_ns = shifted(placed, call.start_ns);
        call.track += placed->first_track;
        call.row = placed->rows[call.row];
        stats_keep_longest(heap, count, most, call);
    }
}

/* By how many of a node's workers were busy at the same time. */
static bool merge_levels(struct concurrency_result *all, const struct concurrency_result *part)
{
    uint32_t room = all->levels;
    if (part->levels > room && !GROW_ZEROED(all->level_ns, room, part->levels))
        return false;
    all->levels = part->levels > all->levels ? part->levels : all->levels;
    for (uint32_t i = 0; i < part->levels; i++)
        all->level_ns[i] = stats_sum(all->level_ns[i], part->level_ns[i]);
    return true;
}

static void merge_run(struct stats *all, const struct stats *part, const struct placed *placed)
{
    if (!part->run_set)
        return;
    int64_t first_ns = shifted(placed, part->run_first_ns);
    int64_t last_ns = shifted(placed, part->run_last_ns);
    trace_widen(all->run_set, &all->run_first_ns, &all->run_last_ns, first_ns, last_ns);
    all->run_set = true;
}

bool stats_merge(struct stats *all, struct stats *part, int64_t shift_ns)
{
    struct placed placed = {shift_ns, all->process_count, all->track_count, NULL};
    bool good = take_processes(all, part, &placed) && take_tracks(all, part, &placed) &&
                merge_rows(all, part, &placed) &&
                merge_levels(&all->concurrency, &part->concurrency);
    if (good) {
        merge_calls(all->longest, &all->longest_count, all->options.top, part->longest,
                    part->longest_count, &placed);
        merge_calls(all->open, &all->open_count, STATS_OPEN_MAX, part->open, part->open_count,
                    &placed);
        take_losses(all, part, &placed);
        merge_run(all, part, &placed);
        (void)result_merge(stats_columns, all, part, false); /* no histogram: nothing can fail */
        for (uint32_t cause = 0; cause <= RBWP_LOSS_CAUSE_MAX; cause++)
            all->refused[cause] = stats_sum(all->refused[cause], part->refused[cause]);
        all->failed |= part->failed;
    } else {
        stats_fail(all);
    }
    free(placed.rows);
    return good;
}

/* ---- the end ------------------------------------------------------------------------------ */

/* While a node has no worker busy, it has none; also before its own first span. */
static void finish_levels(struct stats *all)
{
    struct concurrency_result *result = &all->concurrency;
    uint64_t some_ns = 0, all_ns = 0;
    for (uint32_t i = 1; i < result->levels; i++)
        some_ns = stats_sum(some_ns, result->level_ns[i]);
    if (__builtin_mul_overflow(stats_extent_ns(all), all->process_count, &all_ns))
        all_ns = UINT64_MAX;
    if (result->levels)
        result->level_ns[0] = all_ns > some_ns ? all_ns - some_ns : 0;
}

static void finish_steps(struct stats *all)
{
    struct concurrency_result *result = &all->concurrency;
    result->first_ns = all->run_first_ns;
    result->step_ns = (int64_t)(stats_extent_ns(all) / CONCURRENCY_STEPS) + 1;
    for (uint32_t i = 0; i < all->process_count; i++)
        for (int64_t step = 0; step < CONCURRENCY_STEPS; step++)
            result->step_busy_ns[step] += busy_cells_between(
                &all->processes[i].cells, result->first_ns + step * result->step_ns,
                result->first_ns + (step + 1) * result->step_ns);
}

void stats_merge_finish(struct stats *all)
{
    all->merged = true;
    all->options.no_concurrency = true;
    stats_finish(all);
    finish_levels(all);
    finish_steps(all);
}

/* Sums of one pass over files. */

static struct stats_load *load_of(struct trace_pass *pass)
{
    return (struct stats_load *)(uintptr_t)pass->asked;
}

static bool load_begin(struct trace_pass *pass)
{
    struct stats_load *load = load_of(pass);
    stats_start(&load->stats, &load->options);
    load->loaded = true;
    pass->sink = stats_sink(&load->stats);
    return true;
}

static enum exit_code load_end(struct trace_pass *pass)
{
    struct stats_load *load = load_of(pass);
    stats_finish(&load->stats);
    return load->stats.failed ? EXIT_PARTIAL : EXIT_GOOD;
}

enum exit_code stats_load(struct stats_load *load, struct operands files)
{
    static const struct trace_maker maker = {
        .own_output = true, .begin = load_begin, .end = load_end};
    load->options.orphans = load->reading.filter.kinds != 0;
    struct operands found;
    bool usage;
    enum exit_code code = EXIT_BAD_DATA;
    if (input_list_open(&load->reading.inputs, files, &found, &usage))
        code = trace_pass(&maker, load, &load->reading, found);
    input_list_close(&found);
    return code;
}
